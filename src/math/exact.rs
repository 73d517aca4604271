//! Which fraction is meant, and which decimal may represent it?
//!
//! Thresholds are read as exact fractions, verdicts near a threshold use exact fractions, and anything
//! printed with fewer digits than it has is rounded up, so that a risk is never understated.

use dashu_base::{Approximation, UnsignedAbs};
use dashu_int::{IBig, UBig};

/// An exact rational number in lowest terms; prints as `p/q`, or `p` if it is whole.
pub type Rational = dashu_ratio::RBig;

/// Reads `"1/5"`, `"0.2"`, `"3"`, `"2e-3"` exactly; `None` if the text is not a number.
pub fn parse_fraction(text: &str) -> Option<Rational> {
    let text = text.trim();
    match text.split_once('/') {
        Some((above, below)) => {
            let below = parse_decimal(below.trim())?;
            if below == Rational::ZERO { None } else { Some(parse_decimal(above.trim())? / below) }
        }
        None => parse_decimal(text),
    }
}

/// The most digits, and the largest power of ten, that a threshold may have; larger ones could exhaust memory.
pub const MOST_DIGITS: i32 = 1000;

fn parse_decimal(text: &str) -> Option<Rational> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, part].concat();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let exponent = exponent.checked_sub(i32::try_from(part.len()).ok()?)?;
    if exponent.abs() > MOST_DIGITS || digits.len() > MOST_DIGITS as usize + 1 {
        return None;
    }
    let digits = UBig::from_str_radix(&digits, 10).ok()?;
    let scale = UBig::from(10u8).pow(exponent.unsigned_abs() as usize);
    let value = if exponent < 0 {
        Rational::from_parts(IBig::from(digits), scale)
    } else {
        Rational::from(IBig::from(digits * scale))
    };
    Some(if negative { -value } else { value })
}

/// A fraction of two counts; `below` must not be 0.
pub fn ratio(above: u64, below: u64) -> Rational {
    Rational::from_parts(IBig::from(above), UBig::from(below))
}

/// The smallest binary64 that is at least `value`, for machine-readable output of a risk.
pub fn f64_at_least(value: &Rational) -> f64 {
    let near = match value.to_f64() {
        Approximation::Exact(exact) => return exact,
        Approximation::Inexact(near, _) => near,
    };
    match Rational::try_from(near) {
        Ok(exact) if exact < *value => near.next_up(),
        _ => near,
    }
}

/// `value` in decimals with `places` digits after the point, rounded down, for what must not be overstated.
pub fn decimal_at_most(value: &Rational, places: usize) -> String {
    if *value < Rational::ZERO {
        return format!("-{}", decimal_at_least(&-value.clone(), places));
    }
    let scale = Rational::from(UBig::from(10u8).pow(places));
    let floor = Rational::from((value * &scale).floor()) / scale;
    decimal_at_least(&floor, places)
}

/// `value` in decimals with `places` digits after the point, rounded up; `value` must not be negative.
pub fn decimal_at_least(value: &Rational, places: usize) -> String {
    let scale = UBig::from(10u8).pow(places);
    let scaled = (value * Rational::from(scale)).ceil().unsigned_abs();
    let digits = format!("{:0>width$}", scaled.to_string(), width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    if places == 0 { whole.to_string() } else { format!("{whole}.{part}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read_exactly() {
        assert_eq!(parse_fraction("0.1"), Some(ratio(1, 10)));
        assert_eq!(parse_fraction(" 1 / 5 "), Some(ratio(1, 5)));
        assert_eq!(parse_fraction("2.50e-1"), Some(ratio(1, 4)));
        assert_eq!(parse_fraction("1e2"), Some(ratio(100, 1)));
        assert_eq!(parse_fraction("-0.5"), Some(-ratio(1, 2)));
        let long = |digits: usize| format!("0.{}", "3".repeat(digits));
        assert!(parse_fraction(&long(1000)).is_some() && parse_fraction(&long(1001)).is_none());
        for bad in ["", "abc", "1/0", ".", "1e999999999", "nan", "inf", "0x10", "1/2/3", "--1"] {
            assert_eq!(parse_fraction(bad), None, "{bad}");
        }
    }

    #[test]
    fn risks_are_never_rounded_down() {
        assert_eq!(decimal_at_least(&ratio(1, 3), 4), "0.3334");
        assert_eq!(decimal_at_least(&ratio(1, 2), 4), "0.5000");
        assert_eq!(decimal_at_least(&ratio(99999, 100000), 2), "1.00");
        assert_eq!(decimal_at_least(&ratio(7, 2), 0), "4");
        for (above, below) in [(1, 3), (2, 3), (1, 10), (1, 7), (123456789, 987654321)] {
            let exact = ratio(above, below);
            let float = Rational::try_from(f64_at_least(&exact)).unwrap();
            assert!(float >= exact);
            assert!(Rational::try_from(f64_at_least(&exact).next_down()).unwrap() < exact);
        }
    }
}
