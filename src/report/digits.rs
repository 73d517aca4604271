//! Numbers for people: digits in groups of three, and as many digits as it takes.

use crate::math::exact::Rational;
use dashu_int::UBig;

/// A number with commas between its thousands.
pub fn grouped(number: u64) -> String {
    grouped_digits(&number.to_string())
}

/// The digits of a number, with commas between its thousands.
pub fn grouped_digits(digits: &str) -> String {
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The digits after the point that tell a risk, rounded up, from the limit that it is below: at least `least`, at most 12.
pub fn telling_places(risk: &Rational, limit: &Rational, least: usize) -> usize {
    let tells = |places: &usize| {
        let scale = Rational::from(UBig::from(10u8).pow(*places));
        Rational::from((risk * &scale).ceil()) / scale < *limit
    };
    match risk < limit {
        true => (least..12).find(tells).unwrap_or(12),
        false => least,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::{decimal_at_least, ratio};

    #[test]
    fn thousands_are_apart() {
        let shown = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_risk_just_below_its_limit_does_not_look_like_it() {
        let limit = ratio(4, 5);
        let shown = |risk: &Rational| decimal_at_least(risk, telling_places(risk, &limit, 4));
        assert_eq!(shown(&ratio(119, 149)), "0.7987");
        assert_eq!(shown(&(limit.clone() - ratio(1, 1_000_000))), "0.799999");
        assert_eq!(shown(&limit), "0.8000");
        assert_eq!(shown(&Rational::ONE), "1.0000");
    }
}
