//! How far apart are two distributions, and is that certainly within a threshold?
//!
//! The Jensen-Shannon divergence in base 2 (mathematics 4.3), in floats with a proven bound, and as an exact
//! enclosure when the bound does not decide.
//!
//! Memory: O(values).
//! Invariants: `Threshold::decide` says `Within` only if the distance plus its bound is at most the
//! threshold; a NaN, an infinity or an unknown bound is never within. [`settle`] treats what stays
//! undecided at the highest precision as beyond.

use dashu_base::BitTest;
use dashu_int::{IBig, UBig};

use super::logarithm::enclose_ln;
use super::roundings::UNIT;
use crate::math::exact::{Rational, f64_at_least};

/// Whether a distance is within its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistanceVerdict {
    /// Certainly at most the threshold.
    Within,
    /// Certainly above it, or not decidable.
    Beyond,
    /// The floats do not decide; see [`settle`].
    Undecided,
}

/// A distance in floats, and how far it may be from the true one.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// The computed distance.
    pub distance: f64,
    /// The largest possible error; infinite if nothing is known.
    pub bound: f64,
}

impl Measured {
    /// An upper bound of the true distance; 1 if nothing is known.
    pub fn at_most(&self) -> f64 {
        let sum = (self.distance + self.bound).next_up();
        if (0.0..=1.0).contains(&sum) { sum } else { 1.0 }
    }
}

/// The largest distance that a release may cause, t.
#[derive(Debug, Clone)]
pub struct Threshold {
    exact: Rational,
    /// The neighbouring floats: below <= t <= above.
    below: f64,
    above: f64,
}

impl Threshold {
    /// The exact threshold.
    pub fn new(exact: Rational) -> Self {
        let above = f64_at_least(&exact);
        let below = match Rational::try_from(above) {
            Ok(float) if float == exact => above,
            _ => above.next_down(),
        };
        Threshold { exact, below, above }
    }

    /// The exact threshold.
    pub fn exact(&self) -> &Rational {
        &self.exact
    }

    /// Decides for an interval that contains the true distance.
    pub fn place(&self, low: f64, high: f64) -> DistanceVerdict {
        // Comparisons with a NaN are false, which leaves it undecided.
        if high <= self.below {
            DistanceVerdict::Within
        } else if low > self.above {
            DistanceVerdict::Beyond
        } else {
            DistanceVerdict::Undecided
        }
    }

    /// Decides by floats when that is certain.
    #[cfg(test)]
    pub fn decide(&self, measured: Measured) -> DistanceVerdict {
        let Measured { distance, bound } = measured;
        if !(distance.is_finite() && bound.is_finite() && bound >= 0.0) {
            DistanceVerdict::Undecided
        } else if (distance + bound).next_up() <= self.below {
            DistanceVerdict::Within
        } else if (distance - bound).next_down() > self.above {
            DistanceVerdict::Beyond
        } else {
            DistanceVerdict::Undecided
        }
    }
}

/// Beyond this relative error of the inputs the bound is not proved.
pub(super) const LARGEST_RELATIVE_ERROR: f64 = 1e-3;

/// The divergence of two distributions whose entries are off by at most `relative_error`.
///
/// Bound (mathematics 8.3): (6 D + 16) u for exact inputs of dimension D, and 2 x the relative error: along the
/// way from the true to the given vectors the divergence changes by at most the error times
/// (sum of p |ln r| + q |ln r'|) / (2 ln 2), r = 2p/(p+q), which is below 1.27 for distributions.
pub fn divergence(p: &[f64], q: &[f64], relative_error: f64) -> Measured {
    let mut sum = 0.0;
    for (p, q) in p.iter().zip(q) {
        if p != q {
            sum += part(*p, *q);
        }
    }
    let known = p.len() == q.len() && (0.0..=LARGEST_RELATIVE_ERROR).contains(&relative_error);
    let bound =
        if known { (6.0 * p.len() as f64 + 17.0) * UNIT + 2.0 * relative_error } else { f64::INFINITY };
    Measured { distance: sum / (2.0 * std::f64::consts::LN_2), bound }
}

/// p ln(2p/(p+q)) + q ln(2q/(p+q)); NaN if either is NaN or negative.
pub(super) fn part(p: f64, q: f64) -> f64 {
    let side = |a: f64| if a == 0.0 { 0.0 } else { a * (2.0 * a / (p + q)).ln() };
    side(p) + side(q)
}

/// The divergence if it is rational for a simple reason: in every coordinate the two are equal or one is 0.
pub fn rational_divergence(p: &[Rational], q: &[Rational]) -> Option<Rational> {
    let mut unequal = Rational::ZERO;
    for (p, q) in p.iter().zip(q) {
        if p != q {
            if *p != Rational::ZERO && *q != Rational::ZERO {
                return None;
            }
            unequal += p + q;
        }
    }
    Some(unequal / Rational::from(2u8))
}

/// Two rationals that enclose the divergence, about 2^-bits apart.
///
/// ln r = k ln 2 + ln m with m in [2/3, 4/3]; the integer parts add up exactly, the rest is a sum of
/// enclosed logarithms, so the divergence is K/2 + (sum of p ln m + q ln m') / (2 ln 2).
pub fn enclose_divergence(p: &[Rational], q: &[Rational], bits: usize) -> (Rational, Rational) {
    if let Some(exact) = rational_divergence(p, q) {
        return (exact.clone(), exact);
    }
    let two = Rational::from(2u8);
    let mut whole = Rational::ZERO;
    let (mut low, mut high) = (Rational::ZERO, Rational::ZERO);
    let scale = Rational::from(UBig::ONE << bits);
    for (p, q) in p.iter().zip(q).filter(|(p, q)| p != q) {
        let sum = p + q;
        for side in [p, q].into_iter().filter(|side| **side != Rational::ZERO) {
            let (power, mantissa) = split_power(&(&two * side / &sum));
            whole += side * Rational::from(IBig::from(power));
            let (least, most) = enclose_ln(&mantissa, bits);
            // Rounding outward to the grid keeps denominators from growing with every term.
            low += Rational::from((side * Rational::from(least)).floor());
            high += Rational::from((side * Rational::from(most)).ceil());
        }
    }
    let (ln2_low, ln2_high) = enclose_ln(&two, bits);
    let over = |logarithms: &Rational, against: &IBig, with: &IBig| {
        let divisor = if *logarithms < Rational::ZERO { against } else { with };
        logarithms / (Rational::from(divisor.clone()) * &two)
    };
    let outward = |value: Rational| value * &scale;
    let low = (outward(&whole / &two + over(&low, &ln2_low, &ln2_high))).floor();
    let high = (outward(whole / &two + over(&high, &ln2_high, &ln2_low))).ceil();
    (Rational::from(low) / &scale, Rational::from(high) / &scale)
}

/// r = 2^power x mantissa with the mantissa in [2/3, 4/3]; r must be positive.
fn split_power(r: &Rational) -> (i64, Rational) {
    // A first guess from the lengths of numerator and denominator avoids a long loop for tiny numbers.
    let mut power = r.numerator().bit_len() as i64 - r.denominator().bit_len() as i64;
    let shift = Rational::from(UBig::ONE << power.unsigned_abs() as usize);
    let mut mantissa = if power < 0 { r * shift } else { r / shift };
    let two = Rational::from(2u8);
    let (least, most) = (crate::math::exact::ratio(2, 3), crate::math::exact::ratio(4, 3));
    while mantissa < least {
        mantissa *= &two;
        power -= 1;
    }
    while mantissa > most {
        mantissa /= &two;
        power += 1;
    }
    (power, mantissa)
}

/// Decides on exact distributions: by the rational value if there is one, otherwise by ever closer
/// enclosures. Never `Undecided`: what 1024 bits cannot decide counts as beyond.
pub fn settle(p: &[Rational], q: &[Rational], threshold: &Rational) -> DistanceVerdict {
    if p.len() != q.len() {
        return DistanceVerdict::Beyond;
    }
    for bits in [64, 128, 256, 512, 1024] {
        let (low, high) = enclose_divergence(p, q, bits);
        if high <= *threshold {
            return DistanceVerdict::Within;
        }
        if low > *threshold {
            return DistanceVerdict::Beyond;
        }
    }
    DistanceVerdict::Beyond
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;
    use proptest::prelude::*;

    fn pair(p: [(u64, u64); 2], q: [(u64, u64); 2]) -> (Vec<Rational>, Vec<Rational>) {
        (p.map(|(a, b)| ratio(a, b)).to_vec(), q.map(|(a, b)| ratio(a, b)).to_vec())
    }

    fn floats(p: &[Rational]) -> Vec<f64> {
        p.iter().map(|p| p.to_f64().value()).collect()
    }

    #[test]
    fn worked_values() {
        let cases = [
            (pair([(1, 2), (1, 2)], [(9, 10), (1, 10)]), 0.14679310243605),
            (pair([(1, 100), (99, 100)], [(11, 100), (89, 100)]), 0.0370903),
            (pair([(2, 5), (3, 5)], [(1, 2), (1, 2)]), 0.0072991),
        ];
        for ((p, q), expected) in cases {
            let measured = divergence(&floats(&p), &floats(&q), UNIT);
            assert!(
                measured.distance >= expected && measured.distance < expected * (1.0 + 1e-5) + 1e-13,
                "{expected}"
            );
            let (low, high) = enclose_divergence(&p, &q, 100);
            assert!(low < high && (&high - &low) < ratio(1, 1 << 62));
            assert!((low.to_f64().value() - measured.distance).abs() <= measured.bound);
        }
        let (p, q) =
            (vec![ratio(1, 2), ratio(1, 2), Rational::ZERO], vec![Rational::ZERO, ratio(1, 2), ratio(1, 2)]);
        assert_eq!(rational_divergence(&p, &q), Some(ratio(1, 2)));
        let (p, q) = pair([(0, 1), (1, 1)], [(1, 1), (0, 1)]);
        assert_eq!(rational_divergence(&p, &q), Some(ratio(1, 1)));
        assert_eq!(rational_divergence(&p, &p), Some(Rational::ZERO));
    }

    #[test]
    fn ties_are_within_and_the_next_number_below_is_not() {
        let (p, q) =
            (vec![ratio(1, 2), ratio(1, 2), Rational::ZERO], vec![Rational::ZERO, ratio(1, 2), ratio(1, 2)]);
        assert_eq!(settle(&p, &q, &ratio(1, 2)), DistanceVerdict::Within);
        assert_eq!(
            settle(&p, &q, &ratio(499_999_999_999_999_999, 1_000_000_000_000_000_000)),
            DistanceVerdict::Beyond
        );
        let half = Threshold::new(ratio(1, 2));
        assert_eq!(half.decide(divergence(&floats(&p), &floats(&q), 0.0)), DistanceVerdict::Undecided);
        assert_eq!(settle(&p, &p, &Rational::ZERO), DistanceVerdict::Within);
        // An irrational distance, with the threshold at either end of a close enclosure.
        let (p, q) = pair([(1, 2), (1, 2)], [(9, 10), (1, 10)]);
        let (low, high) = enclose_divergence(&p, &q, 200);
        assert_eq!(settle(&p, &q, &high), DistanceVerdict::Within);
        assert_eq!(settle(&p, &q, &low), DistanceVerdict::Beyond);
        assert_eq!(
            Threshold::new(high).decide(divergence(&floats(&p), &floats(&q), UNIT)),
            DistanceVerdict::Undecided
        );
    }

    #[test]
    fn what_is_not_a_number_is_never_within() {
        let one = Threshold::new(ratio(1, 1));
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            let measured = divergence(&[bad, 0.5], &[0.5, 0.5], 0.0);
            assert_ne!(one.decide(measured), DistanceVerdict::Within, "{bad}");
            assert_eq!(measured.at_most(), 1.0);
        }
        let sound = divergence(&[0.5, 0.5], &[0.4, 0.6], f64::NAN);
        assert_eq!(one.decide(sound), DistanceVerdict::Undecided);
        assert_eq!(one.decide(divergence(&[0.5, 0.5], &[0.4, 0.6], 0.1)), DistanceVerdict::Undecided);
        assert_eq!(one.decide(divergence(&[0.5, 0.5], &[1.0], 0.0)), DistanceVerdict::Undecided);
        assert_eq!(one.decide(divergence(&[0.5, 0.5], &[0.4, 0.6], 0.0)), DistanceVerdict::Within);
    }

    fn distribution(weights: &[u64]) -> Vec<Rational> {
        let total: u64 = weights.iter().sum();
        weights.iter().map(|weight| ratio(*weight, total)).collect()
    }

    proptest! {
        #[test]
        fn the_bound_holds_and_enclosures_nest(
            weights in prop::collection::vec((0u64..1000, 0u64..1_000_000_000), 2..9),
            wiggle in prop::collection::vec(-1i8..=1, 9),
        ) {
            let p: Vec<u64> = weights.iter().map(|(p, _)| *p).collect();
            let q: Vec<u64> = weights.iter().map(|(_, q)| *q).collect();
            prop_assume!(p.iter().any(|p| *p > 0) && q.iter().any(|q| *q > 0));
            let (p, q) = (distribution(&p), distribution(&q));
            let (low, high) = enclose_divergence(&p, &q, 120);
            let (wide_low, wide_high) = enclose_divergence(&p, &q, 70);
            prop_assert!(wide_low <= low && low <= high && high <= wide_high);
            let error = 1e-6;
            let bent: Vec<f64> = floats(&p).iter().zip(&wiggle).map(|(p, w)| p * (1.0 + f64::from(*w) * error * 0.99)).collect();
            for (p, rho) in [(floats(&p), UNIT), (bent, error)] {
                let measured = divergence(&p, &floats(&q), rho);
                prop_assert!(measured.distance + measured.bound >= low.to_f64().value());
                prop_assert!(measured.distance - measured.bound <= high.to_f64().value());
            }
        }
    }
}
