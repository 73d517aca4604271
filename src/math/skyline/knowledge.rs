//! How much knowledge can a release withstand?
//!
//! One pass over all groups is enough, regardless of the number of points tried: [`KeptGroups`] keeps the
//! groups that can attain the worst case at some point, then the search runs over them in memory, with the
//! verdicts of [`Statistics`].
//!
//! A group with n people, the target value s times and S_l as the sum of its l largest other counts can be
//! dropped if a kept one has n' <= n, s' >= s and, for every l that still matters,
//!
//! - single values: n' - s' - S'_l <= n - s - S_l, because T is that number less k, over s;
//! - sets: S'_l / n' >= S_l / n. T holds the product of all 1 - c/n over the top counts c, the logarithm of
//!   1 - x is concave and falling, and for such functions larger prefix sums of descending numbers make a
//!   smaller sum (Tomić and Weyl);
//! - multisets: the same, because T holds ((n-1)/n)^S_l and (1 - 1/n)^n grows with n.
//!
//! V needs n' <= n and s' >= s only. Levels l at which one group alone reaches the confidence are cut off,
//! which makes more groups equal. If there are still too many, the upper half of the levels is dropped: they
//! count as unsafe, which may overstate the risk, and the skyline reports that more may be safe.
//!
//! Memory: 8 bytes x (levels that matter) for each kept group, at most [`MOST_KEPT`] of them. Invariant: no
//! kept group covers another one; the kept groups do not depend on the order of the groups.

use super::group::RankedGroup;
use super::point::Knowledge;
use super::shape::{GroupShape, Ratio, Values};
use super::statistics::Statistics;
use crate::math::confidence::{Confidence, ThresholdVerdict};

/// At most this many groups of different shapes are kept; few in tests, so that they exercise this case.
pub const MOST_KEPT: usize = if cfg!(test) { 300 } else { 20_000 };

/// The groups that decide how safe one value is, for one confidence.
#[derive(Debug, Clone)]
pub struct KeptGroups {
    values: Values,
    confidence: Confidence,
    /// All l from here on are certainly unsafe.
    end: usize,
    occurs: bool,
    /// Whether levels that may be safe were dropped.
    shortened: bool,
    overflowed: bool,
    groups: Vec<Kept>,
    /// The sums of the current group.
    sums: Vec<u64>,
}

/// Invariant: `sums[i]` is the sum of the `i + 1` largest counts of other values, as far as levels matter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kept {
    people: u64,
    target: u64,
    sums: Box<[u64]>,
}

/// The sum of the `l` largest counts; all of them if there are fewer.
fn top_sum(sums: &[u64], l: usize) -> u64 {
    match l.min(sums.len()) {
        0 => 0,
        l => sums[l - 1],
    }
}

impl Kept {
    /// Whether the group with these counts can be dropped, as described at the top of this file.
    fn stands_for(&self, values: Values, people: u64, target: u64, sums: &[u64]) -> bool {
        if self.people > people || self.target < target {
            return false;
        }
        let levels = 1..=self.sums.len().max(sums.len());
        match values {
            Values::Single => {
                let left = |n: u64, s: u64, sum: u64| n.saturating_sub(s).saturating_sub(sum);
                let own = |l| left(self.people, self.target, top_sum(&self.sums, l));
                levels.into_iter().all(|l| own(l) <= left(people, target, top_sum(sums, l)))
            }
            Values::Set | Values::Multiset => levels.into_iter().all(|l| {
                let share = u128::from(top_sum(&self.sums, l)) * u128::from(people);
                share >= u128::from(top_sum(sums, l)) * u128::from(self.people)
            }),
        }
    }
}

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

impl KeptGroups {
    /// No groups yet.
    pub fn new(values: Values, confidence: Confidence) -> Self {
        KeptGroups {
            values,
            confidence,
            end: usize::MAX,
            occurs: false,
            shortened: false,
            overflowed: false,
            groups: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// The confidence that must not be reached.
    pub fn confidence(&self) -> &Confidence {
        &self.confidence
    }

    /// Groups kept.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether no group is kept.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Whether there were more than [`MOST_KEPT`] groups to keep at l = 0 alone, so that no answer can be given.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Bytes of the kept groups.
    pub fn bytes(&self) -> u64 {
        let sums: usize = self.groups.iter().map(|kept| kept.sums.len()).sum();
        (self.groups.capacity() * size_of::<Kept>() + sums * 8) as u64
    }

    /// Adds a group in which the target value occurs `target` times; 0 changes nothing.
    pub fn observe(&mut self, group: &RankedGroup<'_>, target: u64) {
        if target == 0 {
            return;
        }
        let mut sums = std::mem::take(&mut self.sums);
        sums.clear();
        let others = (group.distinct() - 1).min(self.end.saturating_sub(1));
        sums.extend((1..=others).map(|l| group.top_sum(l as u64, target)));
        self.insert(group.people, target, &sums);
        self.sums = sums;
    }

    /// Adds the kept groups of another part.
    pub fn merge(&mut self, other: KeptGroups) {
        self.occurs |= other.occurs;
        self.overflowed |= other.overflowed;
        self.shortened |= other.shortened;
        if other.end < self.end {
            self.cut_levels(other.end);
        }
        for kept in &other.groups {
            let levels = kept.sums.len().min(self.end.saturating_sub(1));
            self.insert(kept.people, kept.target, &kept.sums[..levels]);
        }
    }

    /// Invariant: `sums` has no level at or beyond `end`.
    fn insert(&mut self, people: u64, target: u64, sums: &[u64]) {
        self.occurs = true;
        if self.end == 0 || self.overflowed {
            return;
        }
        if let Some(at) =
            self.groups.iter().position(|kept| kept.stands_for(self.values, people, target, sums))
        {
            // A kept group that covered one group usually covers the next one too.
            self.groups.swap(at, at / 2);
            return;
        }
        let kept = Kept { people, target, sums: sums.into() };
        self.groups.retain(|other| !kept.stands_for(self.values, other.people, other.target, &other.sums));
        let end = self.first_unsafe_level(&kept);
        self.groups.push(kept);
        if let Some(end) = end {
            self.cut_levels(end);
        }
        while self.groups.len() > MOST_KEPT {
            match self.groups.iter().map(|kept| kept.sums.len()).max() {
                None | Some(0) => {
                    self.overflowed = true;
                    self.groups = Vec::new();
                }
                Some(levels) => {
                    self.shortened = true;
                    self.cut_levels(levels / 2 + 1);
                }
            }
        }
    }

    /// The first l at which this group alone certainly reaches the confidence.
    fn first_unsafe_level(&self, kept: &Kept) -> Option<usize> {
        // Far above any rounding error, far below any difference that matters.
        const SLACK: f64 = 1e-6;
        const MOST_ROUNDINGS: u64 = 100_000_000;
        let threshold = self.confidence.ratio_rounded();
        let nothing = Knowledge { l: 0, k: 0, m: 0 };
        (0..=kept.sums.len()).find(|&l| {
            let shape = GroupShape::from_sums(self.values, kept.people, kept.target, &kept.sums[..l]);
            let ratio = shape.rounded(self.values, Ratio::TargetAlone, nothing);
            let zero = ratio.value == 0.0 && ratio.roundings == 0;
            let below = threshold > 1e-200 && ratio.value < threshold * (1.0 - SLACK);
            zero || (below && ratio.roundings <= MOST_ROUNDINGS)
        })
    }

    /// Drops the levels from `end` on, and the groups that no longer differ from others.
    fn cut_levels(&mut self, end: usize) {
        if end >= self.end {
            return;
        }
        self.end = end;
        let mut groups = std::mem::take(&mut self.groups);
        groups.sort_unstable();
        for kept in groups {
            let levels = kept.sums.len().min(end.saturating_sub(1));
            self.insert(kept.people, kept.target, &kept.sums[..levels]);
        }
    }

    /// All maximal safe points.
    ///
    /// Takes O(levels x (steps of m) x log k) verdicts over the groups that matter at a level.
    pub fn skyline(&self, up_to: UpTo) -> KnowledgeSkyline {
        self.skyline_at(&self.confidence, up_to)
    }

    fn skyline_at(&self, confidence: &Confidence, up_to: UpTo) -> KnowledgeSkyline {
        let mut found = KnowledgeSkyline {
            points: Vec::new(),
            levels: Vec::new(),
            always_safe: !self.occurs,
            ended: self.shortened,
        };
        if !self.occurs {
            let anything = Reach::Anything;
            found.points.push(MaximalPoint { l: anything, k: anything, m: anything });
            return found;
        }
        let cap = self.groups.iter().map(|kept| kept.sums.len()).max().unwrap_or(0);
        for l in 0..=cap {
            if l >= self.end || l as u64 > up_to.l {
                found.ended |= l < self.end;
                break;
            }
            let search = LevelSearch { values: self.values, confidence, l: l as u64, shapes: self.shapes(l) };
            let Some((corners, ended)) = search.corners(up_to) else { break };
            found.ended |= ended;
            // At the cap more values change nothing, unless the next level was found unsafe and cut off.
            let last = l == cap && self.end == usize::MAX && self.values != Values::Single;
            let reach = if last { Reach::Anything } else { Reach::Number(l as u64) };
            found.levels.push(Level { l: reach, corners });
        }
        found.points = maximal(&found.levels);
        found
    }

    /// The shapes that can attain a minimum at this level.
    fn shapes(&self, l: usize) -> Vec<GroupShape> {
        let mut kept: Vec<Kept> = Vec::new();
        for group in &self.groups {
            let (people, target, sum) = (group.people, group.target, top_sum(&group.sums, l));
            // Levels below l no longer matter; for sets the individual counts do, and all prefixes represent
            // them.
            let sums = match self.values {
                Values::Single | Values::Multiset => vec![sum],
                Values::Set => group.sums[..l.min(group.sums.len())].to_vec(),
            };
            if !kept.iter().any(|other| other.stands_for(self.values, people, target, &sums)) {
                let one = Kept { people, target, sums: sums.into() };
                kept.retain(|other| !one.stands_for(self.values, other.people, other.target, &other.sums));
                kept.push(one);
            }
        }
        let shape = |kept: &Kept| GroupShape::from_sums(self.values, kept.people, kept.target, &kept.sums);
        kept.iter().map(shape).collect()
    }
}

/// The search for the largest k and m at one l.
struct LevelSearch<'a> {
    values: Values,
    confidence: &'a Confidence,
    l: u64,
    shapes: Vec<GroupShape>,
}

impl LevelSearch<'_> {
    fn is_safe(&self, k: u64, m: u64) -> bool {
        let mut statistics = Statistics::new(self.values, Knowledge { l: self.l, k, m });
        for (number, shape) in self.shapes.iter().enumerate() {
            statistics.observe_shape(shape, number as u64);
        }
        statistics.verdict(self.confidence) == ThresholdVerdict::Safe
    }

    /// The corners of [`Level`], and whether the search was ended; `None` if nothing is safe.
    fn corners(&self, up_to: UpTo) -> Option<(Vec<(u64, u64)>, bool)> {
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
    fn largest_k(&self, most: u64, m: u64) -> Option<u64> {
        if self.is_safe(most, m) {
            return Some(most);
        }
        if most == 0 || !self.is_safe(0, m) {
            return None;
        }
        let (mut safe, mut not) = (0, most);
        while not - safe > 1 {
            let middle = safe + (not - safe) / 2;
            if self.is_safe(middle, m) { safe = middle } else { not = middle }
        }
        Some(safe)
    }
}

/// The corners of all levels that are not covered by a corner of the next level; what is safe at a level is
/// safe below it.
fn maximal(levels: &[Level]) -> Vec<MaximalPoint> {
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

    /// Groups none of which covers another one: the larger the first sum, the smaller the second.
    fn different(groups: u64) -> KeptGroups {
        let mut kept = KeptGroups::new(Values::Single, Confidence::parse("1/2").unwrap());
        for i in 0..groups {
            kept.insert(10_000, 5, &[2_000 + i, 5_000 - i]);
        }
        kept
    }

    #[test]
    fn too_many_different_groups_give_up_levels_and_never_overstate_safety() {
        let few = different(MOST_KEPT as u64);
        let many = different(MOST_KEPT as u64 + 1);
        assert!(!few.shortened && !few.overflowed());
        assert!(many.shortened && !many.overflowed() && many.len() == 1);
        let up_to = UpTo { l: 5, k: 50, m: 5 };
        let (few, many) = (few.skyline(up_to), many.skyline(up_to));
        assert!(many.ended && many.levels.len() < few.levels.len() && !many.levels.is_empty());
        for (wide, narrow) in few.levels.iter().zip(&many.levels) {
            assert!((0..=5).all(|m| narrow.largest_k(m) <= wide.largest_k(m)));
        }
    }
}
