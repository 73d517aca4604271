//! May this bucket be replaced by these parts?
//!
//! Memory: that of one [`Disclosure`], O(k^2), whatever the number of buckets.
//! Invariant: the state is safe, and holds the minima over all buckets ever admitted. It accepts exactly
//! the splits that the live buckets alone would accept, and what it refuses it refuses ever after; the
//! module's header has the proof. Safety itself does not depend on it: more buckets only lower minima.

use super::bucket::{Bucket, Placements};
use super::disclosure::Disclosure;
use crate::exact::{Rational, parse_fraction};

/// A threshold in (0, 1]: the maximum disclosure must stay strictly below it.
#[derive(Debug, Clone)]
pub struct Confidence {
    value: Rational,
    /// (1 - c) / c, which the least ratio must exceed.
    ratio: Rational,
    /// `ratio` with one rounding.
    ratio_rounded: f64,
}

impl Confidence {
    /// `None` outside (0, 1]: at 0 nothing would be safe, above 1 everything would.
    pub fn new(value: Rational) -> Option<Self> {
        if value <= Rational::ZERO || value > Rational::ONE {
            return None;
        }
        let ratio = (Rational::ONE - &value) / &value;
        let ratio_rounded = ratio.to_f64().value();
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

    pub(super) fn ratio(&self) -> &Rational {
        &self.ratio
    }

    pub(super) fn ratio_rounded(&self) -> f64 {
        self.ratio_rounded
    }
}

/// Whether the maximum disclosure is below the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Certainly below.
    Safe,
    /// Not below.
    Unsafe,
}

/// Guards the splits of a partitioning: first the whole table is admitted, then the parts of each split.
#[derive(Debug, Clone)]
pub struct Safety {
    confidence: Confidence,
    admitted: Disclosure,
}

impl Safety {
    /// Against `k` implications, before any bucket.
    pub fn new(k: usize, confidence: Confidence) -> Self {
        Safety { confidence, admitted: Disclosure::new(k) }
    }

    /// Whether an admitted bucket may be replaced by `parts`. O(k^2 log k) for each part.
    ///
    /// Which bucket is replaced does not matter, as its parts disclose at least as much.
    pub fn allows(&self, parts: &[Bucket]) -> Verdict {
        self.with(parts).verdict(&self.confidence)
    }

    /// As [`Safety::allows`]; parts that are safe are admitted, other parts change nothing.
    ///
    /// Admit the whole table first: if it is unsafe, so is every partitioning of it.
    pub fn admit(&mut self, parts: &[Bucket]) -> Verdict {
        let after = self.with(parts);
        let verdict = after.verdict(&self.confidence);
        if verdict == Verdict::Safe {
            self.admitted = after;
        }
        verdict
    }

    fn with(&self, parts: &[Bucket]) -> Disclosure {
        let mut disclosure = self.admitted.clone();
        for part in parts {
            let placements = Placements::new(disclosure.up_to() + 1, part);
            disclosure.observe(part, &placements, 0);
        }
        disclosure
    }
}
