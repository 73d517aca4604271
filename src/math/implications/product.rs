//! Which of two products of fractions is smaller?
//!
//! Binary64 distinguishes values that are clearly apart, integers the rest, so every comparison is exact.
//! Invariant: the rounded value is 0 only if the product is 0; underflow never makes it 0.

use crate::math::exact::Rational;
use dashu_base::UnsignedAbs;
use dashu_int::{IBig, UBig};
use std::cmp::Ordering;

/// A non-negative product of fractions of integers below 2^53, of which at most one exceeds 1.
///
/// Memory: 16 B per fraction.
#[derive(Debug, Clone)]
pub(super) struct Product {
    rounded: f64,
    fractions: Vec<(u64, u64)>,
}

/// 2^-53.
const UNIT: f64 = f64::EPSILON / 2.0;

/// 2^-960: below it a rounded value may have lost digits to underflow and decides nothing.
pub(super) const SMALL: f64 = f64::from_bits((1023 - 960) << 52);

/// Positive values whose rounded values differ by more than this factor differ in the same direction, if
/// each is made of at most `fractions` fractions with a division and a product for each.
pub(super) fn clear_factor(fractions: usize) -> f64 {
    let bound = 1.01 * (2.0 * fractions as f64 + 8.0) * UNIT;
    if bound <= 1.0 / 1024.0 { 1.0 + 2.0 * bound } else { f64::INFINITY }
}

/// The order of two products by their rounded values, if those are conclusive.
#[inline]
pub(super) fn compare_rounded(left: f64, right: f64, clear_factor: f64) -> Option<Ordering> {
    if left == 0.0 || right == 0.0 {
        // Both are exact: a 0 is never the result of underflow.
        return left.partial_cmp(&right);
    }
    let conclusive = left > SMALL && right > SMALL;
    if conclusive && left * clear_factor < right {
        Some(Ordering::Less)
    } else if conclusive && right * clear_factor < left {
        Some(Ordering::Greater)
    } else {
        None
    }
}

/// The order of two products by integers.
pub(super) fn compare_exactly<L, R>(left: L, right: R) -> Ordering
where
    L: Iterator<Item = (u64, u64)> + Clone,
    R: Iterator<Item = (u64, u64)> + Clone,
{
    let above = left.clone().map(|f| f.0).chain(right.clone().map(|f| f.1));
    let below = right.map(|f| f.0).chain(left.map(|f| f.1));
    match (narrow(above.clone()), narrow(below.clone())) {
        (Some(above), Some(below)) => above.cmp(&below),
        _ => wide(above).cmp(&wide(below)),
    }
}

fn narrow(mut numbers: impl Iterator<Item = u64>) -> Option<u128> {
    numbers.try_fold(1u128, |product, number| product.checked_mul(u128::from(number)))
}

fn wide(numbers: impl Iterator<Item = u64>) -> UBig {
    numbers.fold(UBig::ONE, |product, number| product * UBig::from(number))
}

/// A rounded product of two values, kept above 0 if both are.
#[inline]
pub(super) fn multiply(left: f64, right: f64) -> f64 {
    let product = left * right;
    if product < f64::MIN_POSITIVE && left > 0.0 && right > 0.0 { f64::MIN_POSITIVE } else { product }
}

impl Product {
    /// The empty product.
    pub(super) fn one() -> Self {
        Product { rounded: 1.0, fractions: Vec::new() }
    }

    /// The product of these fractions; no denominator may be 0.
    pub(super) fn of(fractions: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let fractions: Vec<_> = fractions.into_iter().collect();
        let quotients = fractions.iter().map(|&(above, below)| above as f64 / below as f64);
        let rounded = quotients.fold(1.0, multiply);
        Product { rounded, fractions }
    }

    /// The product of both.
    pub(super) fn times(&self, other: &Product) -> Self {
        let fractions = [self.fractions.as_slice(), other.fractions.as_slice()].concat();
        Product { rounded: multiply(self.rounded, other.rounded), fractions }
    }

    /// The value with at most two roundings for each fraction.
    pub(super) fn rounded(&self) -> f64 {
        self.rounded
    }

    /// The value in lowest terms.
    pub(super) fn exact(&self) -> Rational {
        let above = wide(self.fractions.iter().map(|f| f.0));
        let below = wide(self.fractions.iter().map(|f| f.1));
        Rational::from_parts(IBig::from(above), below)
    }

    /// How the value compares with a fraction that is not negative.
    pub(super) fn compare_ratio(&self, ratio: &Rational) -> Ordering {
        let above = wide(self.fractions.iter().map(|f| f.0)) * ratio.denominator();
        let below = wide(self.fractions.iter().map(|f| f.1)) * ratio.numerator().clone().unsigned_abs();
        above.cmp(&below)
    }

    /// The exact order of the values.
    pub(super) fn compare(&self, other: &Product) -> Ordering {
        let factor = clear_factor(self.fractions.len().max(other.fractions.len()));
        compare_rounded(self.rounded, other.rounded, factor).unwrap_or_else(|| {
            compare_exactly(self.fractions.iter().copied(), other.fractions.iter().copied())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;

    #[test]
    fn neighbours_are_told_apart_by_integers() {
        let large = (1u64 << 52) + 1;
        let left = Product::of([(large - 1, large)]);
        let right = Product::of([(large, large + 1)]);
        assert_eq!(left.rounded(), right.rounded());
        assert_eq!(left.compare(&right), Ordering::Less);
        let many = |product: &Product| (0..40).fold(Product::one(), |all, _| all.times(product));
        assert_eq!(many(&left).compare(&many(&right)), Ordering::Less);
        assert_eq!(many(&right).compare(&many(&left)), Ordering::Greater);
        assert_eq!(many(&left).compare(&many(&left)), Ordering::Equal);
    }

    #[test]
    fn equal_values_of_different_fractions_are_equal() {
        let left = Product::of([(1, 3), (2, 5), (7, 9)]);
        let right = Product::of([(14, 135)]);
        assert_eq!(left.compare(&right), Ordering::Equal);
        assert_eq!(left.exact(), ratio(14, 135));
        let orders = [(13, Ordering::Greater), (14, Ordering::Equal), (15, Ordering::Less)];
        for (above, order) in orders {
            assert_eq!(left.compare_ratio(&ratio(above, 135)), order);
        }
    }

    #[test]
    fn underflow_is_not_zero() {
        let tiny = Product::of([(1, (1 << 53) - 1); 30]);
        let tinier = tiny.times(&Product::of([(1, 2)]));
        let zero = Product::of([(1, (1 << 53) - 1), (0, 7)]);
        assert!(tiny.rounded() > 0.0 && tinier.rounded() > 0.0);
        assert_eq!(zero.rounded(), 0.0);
        assert_eq!(tinier.compare(&tiny), Ordering::Less);
        assert_eq!(zero.compare(&tinier), Ordering::Less);
        assert_eq!(zero.compare(&zero.times(&tiny)), Ordering::Equal);
    }
}
