//! How much does a row reveal about a person whose value differs in one column?
//!
//! The Epanechnikov weight of mathematics 4.1 in its integer form: with distance s/R and bandwidth B = n/d the
//! weight is (nR)^2 - (ds)^2, clamped at 0, without the constants that cancel in a prior.
//!
//! Memory: the metric, and 16 B x codes^2 for columns of at most 256 codes.
//! Invariants: weights are symmetric, never negative, and largest at distance 0. [`Kernel::weight`] is
//! the exact weight times a fixed power of two, at most 1, with a relative error of at most
//! [`Kernel::roundings`] roundings: (nR - ds)(nR + ds) has exact factors below 2^53, and otherwise each
//! factor is rounded once from an exact integer. The difference never cancels.

use dashu_base::Gcd;
use dashu_int::{IBig, UBig};

use super::distance::{Distance, Metric};
use crate::math::exact::Rational;
use crate::{Error, Result};

/// The weights of one column for one bandwidth.
#[derive(Debug, Clone)]
pub struct Kernel {
    metric: Metric,
    /// n R and d, without their common factor.
    reach: u128,
    unit: u128,
    support: Support,
    /// n R, or d R where the floor is used: the weight above the floor is (far)^2 - (ds)^2.
    far: u128,
    /// A power of two that makes the largest weight at most 1.
    scale: f64,
    /// For small columns, all weights, and their excess over the floor if there is one.
    weights: Vec<f64>,
    above: Vec<f64>,
}

/// How far a row's influence goes in one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Support {
    /// Only equal values have a weight: the column cuts the table into independent blocks.
    Equal,
    Wider,
}

const CACHED_CODES: u32 = 256;

impl Kernel {
    /// The kernel of a column; `column` names it in errors.
    pub fn new(distance: &Distance, bandwidth: &Rational, column: &str) -> Result<Self> {
        let metric = Metric::new(distance, column)?;
        if *bandwidth <= Rational::ZERO {
            return Err(Error::input(
                format!("column `{column}`: the bandwidth is not positive"),
                "give a bandwidth above 0, such as 0.3",
            ));
        }
        let reach = bandwidth.numerator() * IBig::from(metric.range());
        let common = (&reach).gcd(bandwidth.denominator());
        let within = |number: UBig| u128::try_from(number).ok().filter(|number| *number < 1 << 120);
        let unit = within(bandwidth.denominator() / &common);
        let reach = within(UBig::try_from(reach).unwrap_or_default() / &common);
        // No step exceeds the range, so its product with the unit must fit too.
        let (Some(reach), Some(unit)) = (reach, unit.filter(|u| u.checked_mul(metric.range()).is_some()))
        else {
            return Err(Error::input(
                format!("column `{column}`: the bandwidth has too many digits for the range of the column"),
                "give a bandwidth with fewer digits",
            ));
        };
        let full = unit * metric.range();
        let far = if metric.is_tree() && full < reach { full } else { reach };
        let mut kernel = Kernel {
            metric,
            reach,
            unit,
            support: Support::Wider,
            far,
            scale: 1.0,
            weights: Vec::new(),
            above: Vec::new(),
        };
        if kernel.only_equal() {
            (kernel.support, kernel.far) = (Support::Equal, reach);
        }
        kernel.scale = 0.5f64.powi(kernel.bits() as i32);
        let codes = kernel.codes() as u32;
        if codes <= CACHED_CODES {
            let all = |far| {
                let pairs = (0..codes).flat_map(|a| (0..codes).map(move |b| (a, b)));
                pairs.map(|(a, b)| kernel.compute(a, b, far)).collect()
            };
            let above = if kernel.has_floor() { all(kernel.far) } else { Vec::new() };
            (kernel.weights, kernel.above) = (all(reach), above);
        }
        Ok(kernel)
    }

    /// The number of codes of the column.
    pub fn codes(&self) -> usize {
        self.metric.codes()
    }

    /// Whether only equal values have a weight.
    pub fn is_identity(&self) -> bool {
        self.support == Support::Equal
    }

    /// The exact weight of a row with code `b` for a person with code `a`.
    pub fn exact(&self, a: u32, b: u32) -> UBig {
        match (self.support, self.gap(a, b)) {
            (Support::Equal, _) => UBig::from(u8::from(a == b)),
            (Support::Wider, Some(gap)) => UBig::from(self.reach - gap) * UBig::from(self.reach + gap),
            (Support::Wider, None) => UBig::ZERO,
        }
    }

    /// The weight as a float: the exact one times 2^-[`Kernel::bits`], rounded; 0 iff the exact one is 0.
    #[inline]
    pub fn weight(&self, a: u32, b: u32) -> f64 {
        match self.weights.get(a as usize * self.metric.codes() + b as usize) {
            Some(weight) => *weight,
            None => self.compute(a, b, self.reach),
        }
    }

    /// A lower bound of the weights of all pairs of codes: in a hierarchy whose bandwidth exceeds the full
    /// distance, the weight at that distance.
    ///
    /// Every exact weight is the sum of the floor and the excess over it; both are rounded like a weight.
    pub fn floor(&self) -> f64 {
        (self.reach - self.far) as f64 * (self.reach + self.far) as f64 * self.scale
    }

    /// The excess of a weight over the floor; 0 for all pairs at the full distance.
    pub fn above_floor(&self, a: u32, b: u32) -> f64 {
        if !self.has_floor() {
            return self.weight(a, b);
        }
        match self.above.get(a as usize * self.metric.codes() + b as usize) {
            Some(above) => *above,
            None => self.compute(a, b, self.far),
        }
    }

    fn has_floor(&self) -> bool {
        self.far < self.reach
    }

    /// The roundings in one weight.
    pub fn roundings(&self) -> u32 {
        match (self.support, self.reach) {
            (Support::Equal, _) => 0,
            (Support::Wider, reach) if u64::try_from(reach).is_ok_and(|reach| reach < 94_906_265) => 0,
            (Support::Wider, reach) if reach < 1 << 52 => 1,
            (Support::Wider, _) => 3,
        }
    }

    /// No exact weight exceeds 2^bits, and the largest one is above 2^(bits-2).
    pub fn bits(&self) -> u32 {
        match self.support {
            Support::Equal => 0,
            Support::Wider => 2 * (128 - (self.reach - 1).leading_zeros()),
        }
    }

    /// The share of codes that have a weight above the floor for a given code, averaged over at most 64
    /// codes: for estimates only.
    pub fn share(&self) -> f64 {
        let codes = self.codes() as u32;
        if codes == 0 {
            return 0.0;
        }
        let stride = codes.div_ceil(64) as usize;
        let asked = (0..codes).step_by(stride);
        let touched: usize =
            asked.clone().map(|a| (0..codes).filter(|b| self.above_floor(a, *b) > 0.0).count()).sum();
        touched as f64 / (asked.count() as f64 * f64::from(codes))
    }

    /// d times the steps between two codes, if that is below the reach.
    fn gap(&self, a: u32, b: u32) -> Option<u128> {
        let gap = self.unit * self.metric.steps(a, b);
        (gap < self.reach).then_some(gap)
    }

    /// far^2 - gap^2, clamped at 0.
    fn compute(&self, a: u32, b: u32, far: u128) -> f64 {
        match (self.support, self.gap(a, b).filter(|gap| *gap < far)) {
            (Support::Equal, _) => f64::from(u8::from(a == b)),
            (Support::Wider, Some(gap)) => (far - gap) as f64 * (far + gap) as f64 * self.scale,
            (Support::Wider, None) => 0.0,
        }
    }

    fn only_equal(&self) -> bool {
        let codes = self.codes() as u32;
        match self.metric.least_steps() {
            Some(steps) => self.unit * steps >= self.reach,
            None => codes <= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;

    #[test]
    fn weights_are_the_integer_form_and_floats_agree() {
        let values = [17, 20, 21, 40, 90].map(|v| Some(ratio(v, 1))).to_vec();
        let kernel = Kernel::new(&Distance::Numeric(values), &ratio(3, 10), "age").unwrap();
        // range 73, reach 219, unit 10
        assert_eq!(kernel.exact(0, 1), UBig::from(219u32 * 219 - 30 * 30));
        assert_eq!(kernel.exact(0, 3), UBig::ZERO);
        assert_eq!(kernel.weight(0, 1) * f64::from(kernel.bits()).exp2(), 47961.0 - 900.0);
        assert_eq!((kernel.roundings(), kernel.is_identity()), (0, false));
    }

    #[test]
    fn the_bandwidth_itself_has_no_weight() {
        let tree = Distance::Hierarchy {
            parents: vec![Some(3), Some(3), Some(4), Some(5), Some(5), None],
            nodes: vec![0, 1, 2],
        };
        let at = |bandwidth| Kernel::new(&tree, &bandwidth, "job").unwrap();
        assert!(at(ratio(1, 2)).is_identity());
        assert!(!at(ratio(51, 100)).is_identity());
        assert_eq!(at(ratio(1, 1)).exact(0, 2), UBig::ZERO);
        assert_eq!(at(ratio(3, 4)).exact(0, 0), UBig::from(9u8));
        assert_eq!(at(ratio(3, 4)).exact(0, 1), UBig::from(5u8));
    }

    #[test]
    fn a_weight_is_its_floor_and_what_is_above() {
        let tree = Distance::Hierarchy {
            parents: vec![Some(3), Some(3), Some(4), Some(5), Some(5), None],
            nodes: vec![0, 1, 2],
        };
        let kernel = Kernel::new(&tree, &ratio(3, 2), "job").unwrap();
        assert_eq!((kernel.above_floor(0, 2), kernel.floor() > 0.0), (0.0, true));
        for (a, b) in [(0, 0), (0, 1), (1, 2)] {
            assert_eq!(kernel.floor() + kernel.above_floor(a, b), kernel.weight(a, b));
        }
        assert_eq!(Kernel::new(&tree, &ratio(1, 1), "job").unwrap().floor(), 0.0);
    }

    #[test]
    fn large_numbers_keep_their_relative_error() {
        let values: Vec<_> = [1u64, 7, u64::MAX - 2, u64::MAX].map(|v| Some(ratio(v, 3))).to_vec();
        let kernel = Kernel::new(&Distance::Numeric(values), &ratio(7, 1), "id").unwrap();
        let scale = Rational::from(UBig::ONE << kernel.bits() as usize);
        let limit = Rational::try_from(f64::from(kernel.roundings()) * f64::EPSILON / 2.0 * 1.001).unwrap();
        for (a, b) in [(0, 0), (0, 1), (0, 2), (1, 3), (0, 3)] {
            let exact = Rational::from(kernel.exact(a, b));
            let float = Rational::try_from(kernel.weight(a, b)).unwrap() * &scale;
            let off = if float > exact { &float - &exact } else { &exact - &float };
            assert!(off <= &exact * &limit, "{a} {b}");
        }
    }

    #[test]
    fn bandwidths_and_numbers_out_of_bounds_are_errors() {
        let flat = Distance::Flat(3);
        assert!(Kernel::new(&flat, &Rational::ZERO, "x").is_err());
        assert!(Kernel::new(&flat, &-ratio(1, 2), "x").is_err());
        let tiny = Rational::from_parts(IBig::ONE, UBig::ONE << 900);
        let wild = Distance::Numeric(vec![Some(tiny), Some(Rational::ZERO), Some(ratio(1, 1))]);
        assert!(Kernel::new(&wild, &ratio(1, 2), "x").is_err());
    }
}
