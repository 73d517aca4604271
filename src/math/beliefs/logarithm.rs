//! What is the natural logarithm of a rational, to any number of bits?
//!
//! ln m = 2 atanh z with z = (m-1)/(m+1), by its series in fixed point with F = bits + 32 places. Let one
//! unit be 2^-F and |z| <= 1/3, which holds for m in [1/2, 2]. z is off by at most 1 unit, z^2 by at most 2.
//! A power z^(2k+1) is computed from the one before by a product and a floor: its error is at most 1/9 of
//! the one before, plus |z| x 2 units, plus 1 unit and a product of two errors far below one, so it never
//! exceeds 2.5 units. A term divides it by 2k+1 and floors: at most 3.5 units. The series stops at
//! the first power of at most 3 units, truly 5.5 at most, so all terms left out are below 7 units. After T
//! terms atanh is off by at most 4T + 8 units.
//!
//! Memory: O(bits).

use dashu_base::Sign;
use dashu_int::{IBig, UBig};

use crate::math::exact::Rational;

const GUARD: usize = 32;

/// Integers that enclose 2^bits ln(m); m must lie in [1/2, 2].
pub(super) fn enclose_ln(m: &Rational, bits: usize) -> (IBig, IBig) {
    let places = bits + GUARD;
    let (above, below) = (m.numerator(), IBig::from(m.denominator().clone()));
    let z = ((above - &below) << places) / (above + &below);
    let square = (&z * &z) >> places;
    let (mut power, mut sum, mut terms) = (z, IBig::ZERO, 0u32);
    while power.clone().into_parts().1 > UBig::from(3u8) {
        sum += &power / IBig::from(2 * terms + 1);
        power = (power * &square) >> places;
        terms += 1;
    }
    let error = IBig::from(2 * (4 * terms + 8));
    let twice = sum * IBig::from(2u8);
    let low = floor_shift(&twice - &error);
    let high = -floor_shift(-(twice + error));
    (low, high)
}

/// The largest integer that is at most `number` / 2^GUARD.
fn floor_shift(number: IBig) -> IBig {
    let (sign, magnitude) = number.into_parts();
    match sign {
        Sign::Positive => IBig::from(magnitude >> GUARD),
        Sign::Negative => -IBig::from((magnitude + (UBig::ONE << GUARD) - UBig::ONE) >> GUARD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;

    #[test]
    fn the_logarithm_of_two() {
        // 2^100 ln 2 = 878668212...: checked through its leading decimals.
        let (low, high) = enclose_ln(&ratio(2, 1), 100);
        let digits = |n: &IBig| {
            (Rational::from(n.clone()) * Rational::from(UBig::from(10u8).pow(25))
                / Rational::from(UBig::ONE << 100))
            .floor()
            .to_string()
        };
        assert_eq!(digits(&low), "6931471805599453094172321");
        assert_eq!(digits(&high), "6931471805599453094172321");
        assert!(high - low <= IBig::from(2u8));
    }

    #[test]
    fn enclosures_nest_and_add_up() {
        for (a, b) in [(2, 3), (4, 3), (1, 2), (2, 1), (1, 1), (999, 1000), (1001, 1000)] {
            let (low, high) = enclose_ln(&ratio(a, b), 80);
            let (closer_low, closer_high) = enclose_ln(&ratio(a, b), 200);
            assert!(&low << 120 <= closer_low && closer_low <= closer_high && closer_high <= &high << 120);
            let (inverse_low, inverse_high) = enclose_ln(&ratio(b, a), 80);
            assert!(-&inverse_high <= high && low <= -inverse_low);
            assert!(
                (a as f64 / b as f64).ln() * 80f64.exp2() <= high.to_f64().value() * (1.0 + 1e-12) + 1e12
            );
        }
    }
}
