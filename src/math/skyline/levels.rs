//! How far can k and m go together, for one number l of values that are ruled out?

use super::point::Knowledge;
use super::shape::{GroupShape, Values};
use super::statistics::Statistics;
use crate::math::confidence::{Confidence, ThresholdVerdict};

/// The limits of the search, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpTo {
    /// Largest l.
    pub l: u64,
    /// Largest k.
    pub k: u64,
    /// Largest m.
    pub m: u64,
}

impl UpTo {
    /// No limits.
    pub const ANYTHING: UpTo = UpTo { l: u64::MAX, k: u64::MAX, m: u64::MAX };
}

/// How far one kind of knowledge may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// To this number.
    Number(u64),
    /// Without limit: more of it changes nothing.
    Anything,
}

/// A safe point: more of any kind of knowledge is unsafe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MaximalPoint {
    /// Values that the target is known not to have.
    pub l: Reach,
    /// Other people whose values are known.
    pub k: Reach,
    /// Members of the target's family.
    pub m: Reach,
}

/// How far k and m may go together for one l.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// Values that the target is known not to have.
    pub l: Reach,
    /// Pairs (m, k): m ascending, k strictly descending, each pair maximal.
    pub corners: Vec<(u64, u64)>,
}

impl Level {
    /// The largest safe k for this number of family members.
    pub fn largest_k(&self, m: u64) -> Option<u64> {
        let at = self.corners.partition_point(|&(corner, _)| corner < m);
        self.corners.get(at).map(|&(_, k)| k)
    }

    /// The largest safe m.
    pub fn largest_m(&self) -> u64 {
        self.corners.last().map_or(0, |&(m, _)| m)
    }
}

/// All points up to which a release is safe for one value and one confidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeSkyline {
    /// The maximal points, by l, then k, then m; none if nothing at all is safe.
    pub points: Vec<MaximalPoint>,
    /// The same by l, from 0 upwards.
    pub levels: Vec<Level>,
    /// Whether the value does not occur, so that no knowledge reveals it.
    pub always_safe: bool,
    /// Whether the search was ended by [`UpTo`] or because too many groups differ, so that more may be safe.
    pub ended: bool,
}

/// The search for the largest k and m at one l.
///
/// More groups only lower the minima: a point that a few groups make unsafe is unsafe. So each search is one among the few
/// groups that made a point unsafe before, and all groups are asked about what it finds.
pub(super) struct LevelSearch<'a> {
    values: Values,
    confidence: &'a Confidence,
    l: u64,
    /// The groups that can attain a minimum at this l.
    shapes: Vec<GroupShape>,
    /// Those that attained one where a point was unsafe, by their positions.
    worst: Vec<usize>,
}

impl<'a> LevelSearch<'a> {
    /// The search among the groups that can attain a minimum at this l.
    pub fn new(values: Values, confidence: &'a Confidence, l: u64, shapes: Vec<GroupShape>) -> Self {
        LevelSearch { values, confidence, l, shapes, worst: Vec::new() }
    }

    fn statistics(&self, (k, m): (u64, u64), places: impl Iterator<Item = usize>) -> Statistics {
        let mut statistics = Statistics::new(self.values, Knowledge { l: self.l, k, m });
        places.for_each(|place| statistics.observe_shape(&self.shapes[place], place as u64));
        statistics
    }

    fn is_safe_by_worst(&self, k: u64, m: u64) -> bool {
        let statistics = self.statistics((k, m), self.worst.iter().copied());
        statistics.verdict(self.confidence) == ThresholdVerdict::Safe
    }

    /// Whether all groups together are safe; otherwise the worst ones are remembered, so that they say so as well.
    fn is_safe(&mut self, k: u64, m: u64) -> bool {
        let statistics = self.statistics((k, m), 0..self.shapes.len());
        if statistics.verdict(self.confidence) == ThresholdVerdict::Safe {
            return true;
        }
        self.worst.extend(statistics.attained().iter().flatten().map(|(_, place)| *place as usize));
        self.worst.sort_unstable();
        self.worst.dedup();
        false
    }

    /// The corners of [`Level`], and whether the search was ended; `None` if nothing is safe.
    pub fn corners(&mut self, up_to: UpTo) -> Option<(Vec<(u64, u64)>, bool)> {
        // An adversary who knows as many others as the smallest group has people knows all of it.
        let smallest = self.shapes.iter().map(|shape| shape.people).min()?;
        let most_k = (smallest - 1).min(up_to.k);
        let most_m = (smallest - 1).min(up_to.m);
        let mut largest_k = self.largest_k(most_k, 0)?;
        let mut ended = largest_k == up_to.k;
        let mut corners = Vec::new();
        let mut m = 0;
        loop {
            let next = if m < most_m { self.largest_k(largest_k, m + 1) } else { None };
            if next != Some(largest_k) {
                corners.push((m, largest_k));
            }
            match next {
                Some(next) => (m, largest_k) = (m + 1, next),
                None => break,
            }
        }
        ended |= m == up_to.m;
        Some((corners, ended))
    }

    /// The largest safe k up to `most`.
    pub fn largest_k(&mut self, most: u64, m: u64) -> Option<u64> {
        let mut most = most;
        loop {
            let largest = self.largest_k_by_worst(most, m)?;
            if self.is_safe(largest, m) {
                return Some(largest);
            }
            most = largest.checked_sub(1)?;
        }
    }

    fn largest_k_by_worst(&self, most: u64, m: u64) -> Option<u64> {
        if self.is_safe_by_worst(most, m) {
            return Some(most);
        }
        if most == 0 || !self.is_safe_by_worst(0, m) {
            return None;
        }
        let (mut safe, mut not) = (0, most);
        while not - safe > 1 {
            let middle = safe + (not - safe) / 2;
            if self.is_safe_by_worst(middle, m) { safe = middle } else { not = middle }
        }
        Some(safe)
    }
}

/// The corners of all levels that are not covered by a corner of the next level; what is safe at a level is
/// safe below it.
pub(super) fn maximal(levels: &[Level]) -> Vec<MaximalPoint> {
    let mut points = Vec::new();
    for (i, level) in levels.iter().enumerate() {
        for &(m, k) in level.corners.iter().rev() {
            let covered = levels.get(i + 1).and_then(|next| next.largest_k(m)).is_some_and(|most| most >= k);
            if !covered {
                points.push(MaximalPoint { l: level.l, k: Reach::Number(k), m: Reach::Number(m) });
            }
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever was asked before.
        #[test]
        fn the_search_among_the_worst_groups_is_the_one_among_all(
            groups in prop::collection::vec((1u64..9, 0u64..9, 0u64..40), 1..12),
            asked in prop::collection::vec((0u64..30, 0u64..4), 1..6),
            confidence in prop_oneof![Just("1/3"), Just("1/2"), Just("9/10"), Just("1")],
        ) {
            let confidence = Confidence::parse(confidence).unwrap();
            let shape = |&(target, top_sum, left): &(u64, u64, u64)| {
                GroupShape::single(target + top_sum + left, target, top_sum)
            };
            let shapes: Vec<GroupShape> = groups.iter().map(shape).collect();
            let mut search = LevelSearch::new(Values::Single, &confidence, 1, shapes);
            for (most, m) in asked {
                let is_safe = |k: &u64| {
                    let all = search.statistics((*k, m), 0..search.shapes.len());
                    all.verdict(&confidence) == ThresholdVerdict::Safe
                };
                let expected = (0..=most).take_while(is_safe).last();
                prop_assert_eq!(search.largest_k(most, m), expected);
            }
        }
    }
}
