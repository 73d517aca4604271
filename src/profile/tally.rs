//! How many different things are there, and how often does each occur?
//!
//! All are counted while their number is within a limit; beyond it, a [`HashSample`] of them, each with its exact
//! count.
//!
//! Memory: `limit` counters of 17 bytes, in a table that may be less than half full.
//! Invariant: the result depends on what was added, not on the order.

use crate::math::hash_sample::HashSample;

/// Counts of different things, or of a sample of them.
#[derive(Debug)]
pub struct DistinctTally(HashSample<u64, u64>);

/// The result of a tally.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DistinctEstimate {
    /// Different things; estimated if `error` is not 0.
    pub distinct: u64,
    /// Things that occur once; estimated likewise.
    pub once: u64,
    /// How often the most frequent one occurs; `None` if not all were counted.
    pub most: Option<u64>,
    /// Three standard deviations of `distinct` as a share of it; 0 if it is exact.
    pub error: f64,
}

impl DistinctTally {
    /// Counts at most `limit` things at a time.
    pub fn new(limit: usize) -> Self {
        DistinctTally(HashSample::new(limit.max(1), usize::MAX))
    }

    /// Adds `times` occurrences of the thing with this id.
    #[inline]
    pub fn add(&mut self, id: u64, times: u64) {
        self.0.upsert(id, || times, |count| *count += times);
    }

    /// Whether everything was counted.
    pub fn is_exact(&self) -> bool {
        self.0.is_exact()
    }

    /// The counted things with their counts, in no particular order.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.entries().iter().map(|(&id, &count)| (id, count))
    }

    /// The numbers of different things.
    pub fn counted(&self) -> DistinctEstimate {
        let whole =
            |kept: usize| (kept as u64).saturating_mul(1u64.checked_shl(self.0.level()).unwrap_or(u64::MAX));
        let counts = self.0.entries();
        let once = counts.values().filter(|&&count| count == 1).count();
        DistinctEstimate {
            distinct: whole(counts.len()),
            once: whole(once),
            most: self.is_exact().then(|| counts.values().copied().max().unwrap_or(0)),
            error: if self.is_exact() { 0.0 } else { 3.0 / (counts.len().max(1) as f64).sqrt() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(limit: usize, ids: impl Iterator<Item = u64>) -> DistinctTally {
        let mut tally = DistinctTally::new(limit);
        ids.for_each(|id| tally.add(id, 1));
        tally
    }

    #[test]
    fn few_things_are_counted_exactly() {
        let counted = tally(100, (0..1000).map(|i| if i < 950 { i % 50 } else { i })).counted();
        assert_eq!(counted, DistinctEstimate { distinct: 100, once: 50, most: Some(19), error: 0.0 });
        assert_eq!(
            DistinctTally::new(5).counted(),
            DistinctEstimate { distinct: 0, once: 0, most: Some(0), error: 0.0 }
        );
    }

    #[test]
    fn many_things_are_estimated_within_the_error_that_is_told() {
        // 50,000 things twice, 50,000 once.
        let ids = || (0..150_000u64).map(|i| (i % 100_000).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let counted = tally(4096, ids()).counted();
        let off = |told: u64, true_: f64| (told as f64 - true_).abs() / true_;
        assert!(counted.error > 0.0 && counted.error < 0.1 && counted.most.is_none());
        assert!(off(counted.distinct, 100_000.0) < counted.error, "{counted:?}");
        assert!(off(counted.once, 50_000.0) < 2.0 * counted.error, "{counted:?}");
        let mut backwards: Vec<u64> = ids().collect();
        backwards.reverse();
        assert_eq!(tally(4096, backwards.into_iter()).counted(), counted);
    }
}
