//! What are the largest counts of a group?

/// Sums of more of the largest counts than this are not kept: a smaller sum gives a lower bound.
pub const TOP: usize = 8;

/// The largest counts of a group.
#[derive(Debug, Clone, Copy, Default)]
pub struct TopCounts {
    counts: [u64; TOP],
}

impl TopCounts {
    /// The `many` largest of these counts, but no more than [`TOP`].
    #[inline]
    pub fn of(many: usize, counts: impl Iterator<Item = u64>) -> Self {
        let mut top = TopCounts::default();
        let kept = &mut top.counts[..many.min(TOP)];
        for mut count in counts {
            // The order of counts is as good as random, so a branch would cost more than arithmetic.
            for own in &mut *kept {
                (*own, count) = ((*own).max(count), (*own).min(count));
            }
        }
        top
    }

    /// In descending order; 0 for what does not occur or was not kept.
    pub fn counts(&self) -> &[u64; TOP] {
        &self.counts
    }

    /// The count of the most frequent value.
    pub fn largest(&self) -> u64 {
        self.counts[0]
    }

    /// The sum of a value's count and the `l` largest counts of other values, or less.
    pub fn sum_with(&self, l: u64, target: u64) -> u64 {
        let l = l.min(TOP as u64 - 1) as usize;
        let top: u64 = self.counts[..l].iter().sum();
        // A target that is one of the top values is counted there; the next value then takes its place.
        top + target.min(self.counts[l])
    }
}
