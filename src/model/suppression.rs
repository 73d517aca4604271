//! How many people may a release leave out?
//!
//! Somebody is left out because of their values, so the owner must allow it, and only models that say what it tells may do it.

use crate::math::exact::{Rational, decimal_at_least, parse_fraction};
use crate::policy::{Item, Mistakes};

/// The key below `[privacy]`.
pub(super) const KEY: &str = "suppress";

/// The largest share of the people that a release may leave out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuppressedShare(Rational);

impl SuppressedShare {
    /// Nobody may be left out.
    pub const NOBODY: SuppressedShare = SuppressedShare(Rational::ZERO);

    /// Reads `"1%"`, `0.01` or `"1/100"`.
    pub(super) fn read(item: &Item, mistakes: &mut Mistakes) -> Self {
        let percent = item.as_text().and_then(|text| text.trim().strip_suffix('%'));
        let share = match percent {
            Some(percent) => parse_fraction(percent.trim_end()).map(|percent| percent / Rational::from(100)),
            None => item.fraction("\"1%\"", mistakes),
        };
        let allowed = |share: &Rational| *share >= Rational::ZERO && *share < Rational::ONE;
        match share {
            Some(share) if allowed(&share) => SuppressedShare(share),
            None if percent.is_none() => Self::NOBODY,
            _ => {
                let rule = "a share of the people is at least 0% and less than 100%: write \"1%\"";
                item.wrong("is no share of the people", rule, mistakes);
                Self::NOBODY
            }
        }
    }

    /// The exact share.
    pub fn exact(&self) -> &Rational {
        &self.0
    }

    /// Whether somebody may be left out.
    pub fn allows_some(&self) -> bool {
        self.0 > Rational::ZERO
    }

    /// Whether so many of these people may be left out.
    pub fn allows(&self, left_out: u64, people: u64) -> bool {
        Rational::from(left_out) <= &self.0 * Rational::from(people)
    }

    /// As a percentage.
    pub fn in_words(&self) -> String {
        percentage(&self.0)
    }

    /// A share that allows so many of these people to be left out, as a percentage.
    pub fn needed(left_out: u64, people: u64) -> String {
        percentage(&(Rational::from(left_out) / Rational::from(people.max(1))))
    }
}

/// A share as a percentage with at most two digits after the point, rounded up.
fn percentage(share: &Rational) -> String {
    let text = decimal_at_least(&(share * Rational::from(100)), 2);
    let short = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{short}%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;

    #[test]
    fn the_share_is_exact() {
        let percent = SuppressedShare(ratio(1, 100));
        assert!(percent.allows(1, 100) && !percent.allows(1, 99) && percent.allows(0, 0));
        assert!(!SuppressedShare::NOBODY.allows(1, 1_000_000) && SuppressedShare::NOBODY.allows(0, 5));
    }

    #[test]
    fn a_percentage_is_rounded_up() {
        assert_eq!(SuppressedShare(ratio(1, 100)).in_words(), "1%");
        assert_eq!(SuppressedShare::needed(1, 3), "33.34%");
        assert_eq!(SuppressedShare::needed(1, 1_000_000), "0.01%");
        assert_eq!(SuppressedShare::needed(20, 100), "20%");
    }
}
