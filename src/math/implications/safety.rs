//! May this bucket be replaced by these parts?
//!
//! Memory: that of one [`Disclosure`], O(k^2), regardless of the number of buckets. Invariant: the state is
//! safe, and holds the minima over all buckets ever admitted. It accepts exactly the splits that the live
//! buckets alone would accept, and a refusal is permanent; the module's header has the proof. Safety itself
//! does not depend on it: more buckets only lower minima.

use super::bars::PeopleNeeded;
use super::bucket::{Bucket, Placements, sum};
use super::disclosure::Disclosure;
use super::product;
use crate::math::confidence::{Confidence, ThresholdVerdict};
use std::cmp::Ordering;

/// No bound on people needs to be larger, and twice this still fits.
const MOST: u64 = 1 << 40;

/// Memory that is reused from one question to the next: the placements of the most parts that were asked about at once.
#[derive(Debug, Clone, Default)]
pub struct SafetyRoom {
    parts: Vec<Placements>,
}

/// Guards the splits of a partitioning: first the whole table is admitted, then the parts of each split.
#[derive(Debug, Clone)]
pub struct Safety {
    confidence: Confidence,
    admitted: Disclosure,
    needed: PeopleNeeded,
}

impl Safety {
    /// Against `k` implications, with no buckets yet.
    pub fn new(k: usize, confidence: Confidence) -> Self {
        let admitted = Disclosure::new(k);
        let needed = PeopleNeeded::new(confidence.ratio_rounded(), &admitted.least_products());
        Safety { confidence, admitted, needed }
    }

    /// The same threshold, with no buckets yet.
    pub fn afresh(&self) -> Self {
        Safety::new(self.admitted.up_to(), self.confidence.clone())
    }

    /// The fewest people that a bucket can have without being unsafe on its own.
    ///
    /// k + 1 atoms about one person, of n, leave a ratio of at most n - k - 1: the k + 1 values cover at least
    /// the most frequent one's f people and k more, and (n - f - k) / f is largest for f = 1. So n must
    /// exceed k + 1 + (1 - c) / c.
    pub fn least_people(&self) -> u64 {
        let atoms = self.admitted.up_to() as u64 + 2;
        let ratio = u64::try_from(self.confidence.ratio().floor()).unwrap_or(MOST);
        atoms.saturating_add(ratio).min(MOST)
    }

    /// Whether an admitted bucket may be replaced by parts with these counts of values; not if a part is empty, or has too
    /// many people for exact arithmetic. O(k^2 log k) for each part.
    ///
    /// Which bucket is replaced does not matter, as its parts disclose at least as much.
    pub fn allows<C: Iterator<Item = u64> + Clone>(
        &self,
        parts: impl IntoIterator<Item = C>,
        room: &mut SafetyRoom,
    ) -> ThresholdVerdict {
        let Some(parts) = self.place(parts, room) else { return ThresholdVerdict::Unsafe };
        // Parts that change nothing leave the state as safe as it was.
        if !parts.iter().any(|own| self.admitted.could_change(own)) {
            return ThresholdVerdict::Safe;
        }
        let clear = self.admitted.clear_verdict_with(parts, &self.confidence);
        clear.unwrap_or_else(|| self.with(parts).0.verdict(&self.confidence))
    }

    /// As [`Safety::allows`]; safe parts are admitted, unsafe parts change nothing. Also returns whether the state
    /// changed.
    ///
    /// Admit the whole table first: if it is unsafe, so is every partitioning of it.
    pub fn admit<C: Iterator<Item = u64> + Clone>(
        &mut self,
        parts: impl IntoIterator<Item = C>,
        room: &mut SafetyRoom,
    ) -> (ThresholdVerdict, bool) {
        let Some(parts) = self.place(parts, room) else { return (ThresholdVerdict::Unsafe, false) };
        if !parts.iter().any(|own| self.admitted.could_change(own)) {
            return (ThresholdVerdict::Safe, false);
        }
        let (after, changed) = self.with(parts);
        if !changed {
            return (ThresholdVerdict::Safe, false);
        }
        let verdict = after.verdict(&self.confidence);
        if verdict == ThresholdVerdict::Safe {
            self.admitted = after;
            self.needed = PeopleNeeded::new(self.confidence.ratio_rounded(), &self.admitted.least_products());
        }
        (verdict, verdict == ThresholdVerdict::Safe)
    }

    /// No bucket that contains one with these counts and has fewer people is allowed, now or later.
    pub fn least_people_with(&self, counts: impl Iterator<Item = u64>) -> u64 {
        self.needed.least_people_with(&self.needed.top(counts))
    }

    /// The placements in parts with these counts; `None` if one of them is no bucket, or clearly unsafe whatever the others
    /// are.
    fn place<'r, C: Iterator<Item = u64> + Clone>(
        &self,
        parts: impl IntoIterator<Item = C>,
        room: &'r mut SafetyRoom,
    ) -> Option<&'r [Placements]> {
        let atoms = self.admitted.up_to() + 1;
        let mut many = 0;
        for counts in parts {
            let top = self.needed.top(counts.clone());
            // Most parts that are refused have too few people for one value or a few.
            if sum(counts.clone()).is_some_and(|people| people < self.needed.least_people_with(&top)) {
                return None;
            }
            if room.parts.get(many).is_none_or(|own| own.atoms() != atoms) {
                room.parts.truncate(many);
                room.parts.push(Placements::new(atoms, &Bucket::default()));
            }
            let own = &mut room.parts[many];
            if !own.recount(counts, &top) || self.is_clearly_unsafe(own) {
                return None;
            }
            many += 1;
        }
        Some(&room.parts[..many])
    }

    /// The bytes that the minima take, about.
    pub fn bytes(&self) -> u64 {
        let levels = 3 * self.admitted.up_to() as u64 + 2;
        levels * (256 + 24 * (self.admitted.up_to() as u64 + 1))
    }

    /// The disclosure of all buckets ever admitted.
    #[cfg(test)]
    pub fn disclosure(&self) -> &Disclosure {
        &self.admitted
    }

    /// Whether all atoms in this single bucket already disclose too much.
    fn is_clearly_unsafe(&self, placements: &Placements) -> bool {
        let k = self.admitted.up_to();
        let clear_factor = product::clear_factor(k.saturating_add(2));
        let ratio = placements.with_rounded(k);
        let order = product::compare_rounded(ratio, self.confidence.ratio_rounded(), clear_factor);
        order == Some(Ordering::Less)
    }

    /// The disclosure with these parts, and whether they change it.
    fn with(&self, parts: &[Placements]) -> (Disclosure, bool) {
        let (mut disclosure, mut changed) = (self.admitted.clone(), false);
        for part in parts {
            changed |= disclosure.observe(part.bucket(), part, 0);
        }
        (disclosure, changed)
    }
}
