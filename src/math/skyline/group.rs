//! What is publicly known about one group?

/// One published group: how many people it has and how often each sensitive value occurs in it.
///
/// Invariants: `ranked` holds the positive counts in descending order, `prefix[i]` the sum of the first
/// `i` of them.
#[derive(Debug, Clone, Copy)]
pub struct RankedGroup<'a> {
    /// Number of people, not rows; people without a value count.
    pub people: u64,
    ranked: &'a [u64],
    prefix: &'a [u64],
}

/// Counts below this are tallied, the rest are sorted.
const TALLIED: usize = 64;

/// Buffers for ranking the counts of one group after another without allocating; O(distinct values).
#[derive(Debug)]
pub struct Ranking {
    ranked: Vec<u64>,
    prefix: Vec<u64>,
    /// How many values have each small count; all zero between two groups.
    tally: Box<[u32; TALLIED]>,
}

impl Default for Ranking {
    fn default() -> Self {
        Ranking { ranked: Vec::new(), prefix: Vec::new(), tally: Box::new([0; TALLIED]) }
    }
}

/// The largest counts of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LargestCounts {
    /// The largest one; 0 in a group without values.
    pub largest: u64,
    /// The sum of as many as were asked for.
    pub sum: u64,
}

impl Ranking {
    /// The largest of these counts and the sum of the `values` largest ones, without ranking them; `None` if a count is
    /// not small.
    pub fn largest(&mut self, counts: impl IntoIterator<Item = u64>, values: u64) -> Option<LargestCounts> {
        let (mut tallied, mut small) = (0u64, true);
        for count in counts {
            let place = count % TALLIED as u64;
            small &= place == count;
            self.tally[place as usize] += 1;
            tallied |= 1 << place;
        }
        let largest = u64::from(tallied.checked_ilog2().unwrap_or(0));
        let (mut sum, mut left) = (0, values);
        while tallied > 1 && left > 0 {
            let count = tallied.ilog2();
            tallied ^= 1 << count;
            let times = u64::from(self.tally[count as usize]).min(left);
            sum += times * u64::from(count);
            left -= times;
        }
        self.tally.fill(0);
        small.then_some(LargestCounts { largest, sum })
    }

    /// The group with these counts; zeros are allowed and the order does not matter.
    ///
    /// Most counts of a group are small, and many are equal: a tally ranks them faster than comparisons do.
    pub fn rank(&mut self, people: u64, counts: impl IntoIterator<Item = u64>) -> RankedGroup<'_> {
        self.ranked.clear();
        let mut tallied = 0u64;
        for count in counts {
            if count < TALLIED as u64 {
                self.tally[count as usize] += 1;
                tallied |= 1 << count;
            } else {
                self.ranked.push(count);
            }
        }
        self.ranked.sort_unstable_by(|a, b| b.cmp(a));
        while tallied > 1 {
            let count = tallied.ilog2();
            tallied ^= 1 << count;
            let times = std::mem::take(&mut self.tally[count as usize]);
            (0..times).for_each(|_| self.ranked.push(u64::from(count)));
        }
        self.tally[0] = 0;
        self.prefix.clear();
        self.prefix.push(0);
        let mut sum = 0u64;
        self.prefix.extend(self.ranked.iter().map(|&count| {
            sum = sum.saturating_add(count);
            sum
        }));
        RankedGroup { people, ranked: &self.ranked, prefix: &self.prefix }
    }
}

impl<'a> RankedGroup<'a> {
    /// Number of distinct values.
    pub fn distinct(&self) -> usize {
        self.ranked.len()
    }

    /// At i: the sum of the i largest counts.
    pub(super) fn prefix(&self) -> &'a [u64] {
        self.prefix
    }

    /// The counts, descending.
    pub fn counts(&self) -> &'a [u64] {
        self.ranked
    }

    /// The people who have one of the `values` most frequent values, if each person has a single one.
    pub fn most_with(&self, values: u64) -> u64 {
        self.prefix[values.min(self.distinct() as u64) as usize]
    }

    /// The largest count; 0 in a group without values.
    pub fn largest(&self) -> u64 {
        self.ranked.first().copied().unwrap_or(0)
    }

    /// Sum of the `l` largest counts among the values other than one that occurs `target` times.
    pub fn top_sum(&self, l: u64, target: u64) -> u64 {
        let others = self.distinct().saturating_sub(1) as u64;
        let l = l.min(others) as usize;
        match self.ranked.get(l) {
            Some(&next) if target < next => self.prefix[l],
            Some(_) => self.prefix[l + 1] - target,
            None => 0,
        }
    }

    /// The counts whose sum [`RankedGroup::top_sum`] is, in descending order.
    pub fn top(&self, l: u64, target: u64) -> impl Iterator<Item = u64> + use<'a> {
        let l = usize::try_from(l).unwrap_or(usize::MAX);
        let own = self.ranked.partition_point(|&count| count > target);
        let (before, from) = self.ranked.split_at(own);
        before.iter().chain(from.iter().skip(1)).copied().take(l)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_left_out_once() {
        let mut ranking = Ranking::default();
        let group = ranking.rank(20, [3, 0, 5, 3, 1]);
        for (l, target, expected) in [
            (0, 5, 0),
            (1, 5, 3),
            (2, 5, 6),
            (1, 3, 5),
            (2, 3, 8),
            (2, 1, 8),
            (3, 1, 11),
            (9, 1, 11),
            (9, 5, 7),
        ] {
            assert_eq!(group.top_sum(l, target), expected, "l {l} target {target}");
            assert_eq!(group.top(l, target).sum::<u64>(), expected, "l {l} target {target}");
        }
        assert_eq!(ranking.rank(4, []).top_sum(3, 0), 0);
    }

    #[test]
    fn the_largest_counts_are_those_of_the_ranking() {
        let mut ranking = Ranking::default();
        for counts in [vec![], vec![0, 0], vec![3, 0, 5, 3, 1], vec![7; 5], vec![1, 63, 62, 63, 2, 2, 2]] {
            for values in [0, 1, 2, 3, 4, 5, 9, u64::MAX] {
                let found = ranking.largest(counts.iter().copied(), values).unwrap();
                let ranked = ranking.rank(99, counts.iter().copied());
                let expected = LargestCounts { largest: ranked.largest(), sum: ranked.most_with(values) };
                assert_eq!(found, expected, "{counts:?}, {values}");
            }
        }
        assert_eq!(ranking.largest([1, TALLIED as u64], 2), None);
        assert_eq!(ranking.rank(9, [4, 5]).counts(), [5, 4]);
    }

    #[test]
    fn small_and_large_counts_are_ranked_together() {
        let mut ranking = Ranking::default();
        let edge = TALLIED as u64;
        for counts in [vec![0, edge, 1, edge - 1, 1, 900, edge + 1], vec![0, 0], vec![7; 5]] {
            let group = ranking.rank(9_999, counts.iter().copied());
            let mut sorted: Vec<u64> = counts.into_iter().filter(|&count| count > 0).collect();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            assert_eq!(group.ranked, sorted);
            assert_eq!(group.prefix.last(), Some(&sorted.iter().sum()));
        }
    }
}
