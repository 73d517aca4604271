//! Which sensitive values count as nearly the same?
//!
//! Kernel smoothing over the sensitive domain (mathematics 4.3): each value gets the weighted mean of its
//! neighbours, and the result is divided by its total, because in general the means do not add up to 1.
//!
//! The domain may have values that do not occur. They get a share of the smoothed belief like all others, and count
//! in every mean, so the smoothing does not depend on which values happen to occur.
//!
//! Memory: 8 B x domain x values, and the same number of exact fractions. Invariant: the weights of a row add up to 1
//! over the domain; a bandwidth equal to a distance gives it no weight.

use dashu_int::{IBig, UBig};

use super::distance::Distance;
use super::divergence::LARGEST_RELATIVE_ERROR;
use super::kernel::Kernel;
use super::roundings::relative_error;
use crate::math::exact::Rational;
use crate::{Error, Result};

/// A larger domain takes too long to smooth over: all of its pairs are compared.
const LARGEST_DOMAIN: usize = 4096;

/// The smoothing matrix of a sensitive domain.
#[derive(Debug, Clone)]
pub struct Smoothing {
    /// The values that occur: the columns of the matrix. Its rows are the domain.
    values: usize,
    domain: usize,
    exact: Vec<Rational>,
    floats: Vec<f64>,
}

impl Smoothing {
    /// The smoothing with a distance and a bandwidth, where every value of the domain may occur; `column` names the
    /// sensitive column in errors.
    pub fn new(distance: &Distance, bandwidth: &Rational, column: &str) -> Result<Self> {
        let kernel = Kernel::new(distance, bandwidth, column)?;
        Smoothing::with_kernel(&kernel, kernel.codes(), column)
    }

    /// The smoothing over a domain of which only the first `values` values occur.
    pub fn among(distance: &Distance, values: usize, bandwidth: &Rational, column: &str) -> Result<Self> {
        Smoothing::with_kernel(&Kernel::new(distance, bandwidth, column)?, values, column)
    }

    fn with_kernel(kernel: &Kernel, values: usize, column: &str) -> Result<Self> {
        let domain = kernel.codes();
        if domain > LARGEST_DOMAIN {
            return Err(Error::input(
                format!(
                    "column `{column}`: beliefs cannot be smoothed over {domain} values, only over {LARGEST_DOMAIN}"
                ),
                "group the values first, list fewer, or leave out smooth",
            ));
        }
        let codes = 0..domain as u32;
        let mut exact = Vec::with_capacity(domain * values);
        for value in codes.clone() {
            let weights: Vec<UBig> = codes.clone().map(|other| kernel.exact(value, other)).collect();
            let total: UBig = weights.iter().sum();
            let occurring = weights.into_iter().take(values);
            exact.extend(occurring.map(|w| Rational::from_parts(IBig::from(w), total.clone())));
        }
        let floats = exact.iter().map(|weight| weight.to_f64().value()).collect();
        Ok(Smoothing { values, domain, exact, floats })
    }

    /// The number of values that occur: the length of a belief.
    pub fn values(&self) -> usize {
        self.values
    }

    /// The number of values in the domain: the length of a smoothed belief.
    pub fn domain(&self) -> usize {
        self.domain
    }

    /// The weighted means, which need not add up to 1.
    pub fn exact_raw(&self, distribution: &[Rational]) -> Vec<Rational> {
        let row = |weights: &[Rational]| {
            weights.iter().zip(distribution).fold(Rational::ZERO, |sum, (w, p)| sum + w * p)
        };
        self.exact.chunks(self.values.max(1)).map(row).collect()
    }

    /// The smoothed distribution.
    pub fn exact(&self, distribution: &[Rational]) -> Vec<Rational> {
        let raw = self.exact_raw(distribution);
        let total = raw.iter().fold(Rational::ZERO, |sum, mean| sum + mean);
        if total == Rational::ZERO { raw } else { raw.into_iter().map(|mean| mean / &total).collect() }
    }

    /// The smoothed distribution in floats, written to `smoothed`.
    pub fn apply(&self, distribution: &[f64], smoothed: &mut Vec<f64>) {
        smoothed.clear();
        let row = |weights: &[f64]| -> f64 { weights.iter().zip(distribution).map(|(w, p)| w * p).sum() };
        smoothed.extend(self.floats.chunks(self.values.max(1)).map(row));
        let total: f64 = smoothed.iter().sum();
        for mean in smoothed {
            *mean /= total;
        }
    }

    /// The relative error of [`Smoothing::apply`] on a distribution that is itself off by `error`.
    ///
    /// With D values in the domain, a mean costs the rounding of its weight, one product and at most D additions, the
    /// total D more, the quotient one: 2(D + 2) + D + 1 roundings. The error of the distribution enters mean and total: at most
    /// (1 + e)/(1 - e) <= 1 + 2.01 e.
    pub fn relative_error(&self, error: f64) -> f64 {
        if !(0.0..=LARGEST_RELATIVE_ERROR).contains(&error) {
            return f64::INFINITY;
        }
        2.02 * error + 1.01 * relative_error(3 * self.domain.max(self.values) as u64 + 5)
    }

    /// The weights with which distribution entries enter the mean of a value of the domain.
    pub(super) fn row(&self, value: usize) -> &[f64] {
        &self.floats[value * self.values..(value + 1) * self.values]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;

    fn tree() -> Distance {
        // a, b under L; c under R.
        Distance::Hierarchy {
            parents: vec![Some(3), Some(3), Some(4), Some(5), Some(5), None],
            nodes: vec![0, 1, 2],
        }
    }

    #[test]
    fn worked_values() {
        let p = [ratio(1, 2), ratio(1, 4), ratio(1, 4)];
        let above = Smoothing::new(&tree(), &ratio(3, 4), "s").unwrap();
        assert_eq!(above.exact(&p), [ratio(23, 56), ratio(19, 56), ratio(1, 4)]);
        let numbers = Distance::Numeric([0, 1, 2].map(|n| Some(ratio(n, 1))).to_vec());
        let smoothing = Smoothing::new(&numbers, &ratio(1, 1), "s").unwrap();
        let p = [ratio(1, 1), Rational::ZERO, Rational::ZERO];
        assert_eq!(smoothing.exact_raw(&p), [ratio(4, 7), ratio(3, 10), Rational::ZERO]);
        assert_eq!(smoothing.exact(&p), [ratio(40, 61), ratio(21, 61), Rational::ZERO]);
    }

    #[test]
    fn smoothing_starts_strictly_above_a_distance() {
        let p = [ratio(1, 2), ratio(1, 4), ratio(1, 4)];
        let at = Smoothing::new(&tree(), &ratio(1, 2), "s").unwrap();
        assert_eq!(at.exact(&p), p);
        let just_above = Smoothing::new(&tree(), &ratio(500_000_001, 1_000_000_000), "s").unwrap();
        assert_ne!(just_above.exact(&p), p);
    }

    #[test]
    fn values_that_do_not_occur_belong_to_the_domain() {
        let order = Distance::Numeric([3, 0, 1, 4, 2].map(|place| Some(ratio(place, 1))).to_vec());
        let all = Smoothing::new(&order, &ratio(3, 4), "s").unwrap();
        let some = Smoothing::among(&order, 2, &ratio(3, 4), "s").unwrap();
        let zero = || Rational::ZERO;
        let everywhere = [ratio(2, 3), ratio(1, 3), zero(), zero(), zero()];
        assert_eq!(some.exact(&[ratio(2, 3), ratio(1, 3)]), all.exact(&everywhere));
        assert_eq!((some.values(), some.domain()), (2, 5));
        let mut smoothed = Vec::new();
        some.apply(&[2.0 / 3.0, 1.0 / 3.0], &mut smoothed);
        assert_eq!(smoothed.len(), 5);
        let many = Distance::Flat(LARGEST_DOMAIN + 1);
        assert!(Smoothing::new(&many, &ratio(1, 2), "s").is_err());
    }

    #[test]
    fn floats_keep_their_bound() {
        let numbers = Distance::Numeric([0, 3, 4, 9, 11].map(|n| Some(ratio(n, 7))).to_vec());
        let smoothing = Smoothing::new(&numbers, &ratio(2, 3), "s").unwrap();
        let p = [1, 0, 7, 2, 11].map(|n| ratio(n, 21));
        let mut smoothed = Vec::new();
        smoothing.apply(&p.each_ref().map(|p| p.to_f64().value()), &mut smoothed);
        let bound = Rational::try_from(smoothing.relative_error(super::super::roundings::UNIT)).unwrap();
        for (exact, float) in smoothing.exact(&p).iter().zip(smoothed) {
            let float = Rational::try_from(float).unwrap();
            let off = if float > *exact { &float - exact } else { exact - &float };
            assert!(off <= exact * &bound);
        }
        assert_eq!(smoothing.relative_error(f64::NAN), f64::INFINITY);
    }
}
