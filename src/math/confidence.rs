//! How sure may an adversary become, and do they stay below that?
//!
//! A risk is 1 / (1 + r), where r is the least ratio of "not so" to "so" that knowledge can reach. It is below c
//! exactly if r exceeds (1 - c) / c, so the models compare ratios and never form the risk.

use crate::math::exact::{Rational, parse_fraction};

/// A threshold in (0, 1]: a risk must stay strictly below it.
#[derive(Debug, Clone)]
pub struct Confidence {
    value: Rational,
    /// (1 - c) / c, which the least ratio of a risk must exceed.
    ratio: Rational,
    /// `ratio` with one rounding, 0 only if it is 0: underflow must not look like a threshold of 1.
    ratio_rounded: f64,
}

impl PartialEq for Confidence {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for Confidence {}

impl Confidence {
    /// `None` outside (0, 1]: at 0 nothing would be safe, above 1 everything would.
    pub fn new(value: Rational) -> Option<Self> {
        if value <= Rational::ZERO || value > Rational::ONE {
            return None;
        }
        let ratio = (Rational::ONE - &value) / &value;
        let near = ratio.to_f64().value();
        let ratio_rounded = if ratio > Rational::ZERO { near.max(f64::MIN_POSITIVE) } else { near };
        Some(Confidence { value, ratio, ratio_rounded })
    }

    /// Reads a decimal or a fraction exactly.
    pub fn parse(text: &str) -> Option<Self> {
        parse_fraction(text).and_then(Self::new)
    }

    /// The exact threshold.
    pub fn value(&self) -> &Rational {
        &self.value
    }

    /// The ratio that the least ratio of a risk must exceed for the risk to stay below the threshold.
    pub(crate) fn ratio(&self) -> &Rational {
        &self.ratio
    }

    /// [`Confidence::ratio`] with one rounding.
    pub(crate) fn ratio_rounded(&self) -> f64 {
        self.ratio_rounded
    }
}

/// Whether a risk is below its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThresholdVerdict {
    /// Certainly below.
    Safe,
    /// Not below, or not certainly below.
    Unsafe,
}

impl From<bool> for ThresholdVerdict {
    fn from(is_safe: bool) -> Self {
        if is_safe { ThresholdVerdict::Safe } else { ThresholdVerdict::Unsafe }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confidence_lies_above_0_and_not_above_1() {
        for bad in ["0", "-0.1", "1.5", "abc", "1.0000000000000000001"] {
            assert_eq!(Confidence::parse(bad), None, "{bad}");
        }
        assert!(Confidence::parse("1").is_some());
    }
}
