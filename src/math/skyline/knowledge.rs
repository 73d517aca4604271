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
//! Memory: at most [`MOST_KEPT`] kept groups of [`KEPT_BYTES`] each, and 8 bytes x (different values) for each group
//! that some value keeps: all values share its ranked counts. Invariant: no kept group covers another one; the kept
//! groups do not depend on the order of the groups.

use super::group::RankedGroup;
use super::point::Knowledge;
use super::shape::{GroupShape, Ratio, Values};
use super::statistics::Statistics;
use crate::math::confidence::{Confidence, ThresholdVerdict};
use std::cmp::Ordering;
use std::sync::Arc;

/// Bytes of a kept group, without the counts that it shares with other values.
const KEPT_BYTES: usize = size_of::<Kept>();

/// At most this many groups of different shapes are kept; few in tests, so that they exercise this case.
pub const MOST_KEPT: usize = if cfg!(test) { 300 } else { 20_000 };

/// The groups that decide how safe one value is, for one confidence.
#[derive(Debug, Clone)]
pub struct KeptGroups {
    values: Values,
    confidence: Arc<Confidence>,
    /// All l from here on are certainly unsafe.
    end: usize,
    occurs: bool,
    /// Whether levels that may be safe were dropped.
    shortened: bool,
    overflowed: bool,
    groups: Vec<Kept>,
}

/// The ranked counts of a group while values are asked about it: copied only if some value keeps the group.
#[derive(Debug)]
pub struct SharedCounts<'g> {
    group: &'g RankedGroup<'g>,
    prefix: Option<Arc<[u64]>>,
}

impl<'g> SharedCounts<'g> {
    /// Of this group.
    pub fn of(group: &'g RankedGroup<'g>) -> Self {
        SharedCounts { group, prefix: None }
    }

    fn share(&mut self) -> Arc<[u64]> {
        self.prefix.get_or_insert_with(|| self.group.prefix().into()).clone()
    }
}

/// A group in which the target value occurs.
///
/// Invariant: `prefix[i]` is the sum of the `i` largest counts of the group, the target's among them; levels beyond
/// `levels` do not matter.
#[derive(Debug, Clone)]
struct Kept {
    people: u64,
    target: u64,
    levels: usize,
    prefix: Arc<[u64]>,
}

/// The same, before it is kept.
#[derive(Debug, Clone, Copy)]
struct Seen<'g> {
    people: u64,
    target: u64,
    levels: usize,
    prefix: &'g [u64],
}

impl Seen<'_> {
    /// The sum of the `l` largest counts of other values; of all that matter if they are fewer.
    fn top_sum(&self, l: usize) -> u64 {
        let l = l.min(self.levels);
        let next = self.prefix[l + 1] - self.prefix[l];
        if self.target < next { self.prefix[l] } else { self.prefix[l + 1] - self.target }
    }

    /// The people left without the target value and the top values.
    fn left(&self, l: usize) -> u64 {
        self.people.saturating_sub(self.target).saturating_sub(self.top_sum(l))
    }

    fn sums(&self) -> impl Iterator<Item = u64> + '_ {
        (1..=self.levels).map(|l| self.top_sum(l))
    }

    /// Whether another group can be dropped, as described at the top of this file.
    fn stands_for(&self, values: Values, other: Seen<'_>) -> bool {
        self.covers_at(values, other, 1..=self.levels.max(other.levels))
    }

    /// The same if only some levels matter.
    fn covers_at(&self, values: Values, other: Seen<'_>, mut levels: impl Iterator<Item = usize>) -> bool {
        if self.people > other.people || self.target < other.target {
            return false;
        }
        match values {
            Values::Single => levels.all(|l| self.left(l) <= other.left(l)),
            Values::Set | Values::Multiset => levels.all(|l| {
                let share = u128::from(self.top_sum(l)) * u128::from(other.people);
                share >= u128::from(other.top_sum(l)) * u128::from(self.people)
            }),
        }
    }

    fn shape(&self, values: Values, l: usize) -> GroupShape {
        let sums: Vec<u64> = (1..=l.min(self.levels)).map(|l| self.top_sum(l)).collect();
        GroupShape::from_sums(values, self.people, self.target, &sums)
    }

    fn order(&self, other: &Seen<'_>) -> Ordering {
        let sizes = (self.people, self.target).cmp(&(other.people, other.target));
        sizes.then_with(|| self.sums().cmp(other.sums()))
    }
}

impl Kept {
    fn seen(&self) -> Seen<'_> {
        Seen { people: self.people, target: self.target, levels: self.levels, prefix: &self.prefix }
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
    pub fn new(values: Values, confidence: impl Into<Arc<Confidence>>) -> Self {
        KeptGroups {
            values,
            confidence: confidence.into(),
            end: usize::MAX,
            occurs: false,
            shortened: false,
            overflowed: false,
            groups: Vec::new(),
        }
    }

    /// The confidence that must not be reached.
    pub fn confidence(&self) -> &Arc<Confidence> {
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

    /// Bytes of the kept groups; counts that several values share are divided among them.
    pub fn bytes(&self) -> u64 {
        let shared: usize = self
            .groups
            .iter()
            .map(|kept| (kept.prefix.len() * 8 + 16).div_ceil(Arc::strong_count(&kept.prefix)))
            .sum();
        (size_of::<Self>() + self.groups.capacity() * KEPT_BYTES + shared) as u64
    }

    /// Adds a group in which the target value occurs `target` times; 0 changes nothing.
    pub fn observe(&mut self, counts: &mut SharedCounts<'_>, target: u64) {
        if target == 0 {
            return;
        }
        let group = counts.group;
        let levels = (group.distinct() - 1).min(self.end.saturating_sub(1));
        let seen = Seen { people: group.people, target, levels, prefix: group.prefix() };
        self.insert(seen, || counts.share());
    }

    /// Adds the kept groups of another part.
    pub fn merge(&mut self, other: KeptGroups) {
        self.occurs |= other.occurs;
        self.overflowed |= other.overflowed;
        self.shortened |= other.shortened;
        if other.end < self.end {
            self.cut_levels(other.end);
        }
        other.groups.iter().for_each(|kept| self.insert_kept(kept));
    }

    fn insert_kept(&mut self, kept: &Kept) {
        let levels = kept.levels.min(self.end.saturating_sub(1));
        self.insert(Seen { levels, ..kept.seen() }, || kept.prefix.clone());
    }

    /// Invariant: the group has no level at or beyond `end`.
    fn insert(&mut self, seen: Seen<'_>, share: impl FnOnce() -> Arc<[u64]>) {
        self.occurs = true;
        if self.end == 0 || self.overflowed {
            return;
        }
        if let Some(at) = self.groups.iter().position(|kept| kept.seen().stands_for(self.values, seen)) {
            // A kept group that covered one group usually covers the next one too.
            self.groups.swap(at, at / 2);
            return;
        }
        self.groups.retain(|other| !seen.stands_for(self.values, other.seen()));
        let Seen { people, target, levels, .. } = seen;
        self.groups.push(Kept { people, target, levels, prefix: share() });
        if let Some(end) = self.first_unsafe_level(seen) {
            self.cut_levels(end);
        }
        while self.groups.len() > MOST_KEPT {
            match self.groups.iter().map(|kept| kept.levels).max() {
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
    fn first_unsafe_level(&self, seen: Seen<'_>) -> Option<usize> {
        // Far above any rounding error, far below any difference that matters.
        const SLACK: f64 = 1e-6;
        const MOST_ROUNDINGS: u64 = 100_000_000;
        let threshold = self.confidence.ratio_rounded();
        let nothing = Knowledge { l: 0, k: 0, m: 0 };
        (0..=seen.levels).find(|&l| {
            let shape = match self.values {
                Values::Single => GroupShape::single(seen.people, seen.target, seen.top_sum(l)),
                Values::Set | Values::Multiset => seen.shape(self.values, l),
            };
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
        groups.sort_unstable_by(|one, other| one.seen().order(&other.seen()));
        groups.iter().for_each(|kept| self.insert_kept(kept));
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
        let cap = self.groups.iter().map(|kept| kept.levels).max().unwrap_or(0);
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
        // Levels below l no longer matter; for sets the individual counts do, and all prefixes represent them.
        let first = if self.values == Values::Set { 1 } else { l };
        let covers = |one: Seen<'_>, other: Seen<'_>| one.covers_at(self.values, other, first..=l);
        let mut kept: Vec<Seen<'_>> = Vec::new();
        for group in &self.groups {
            let seen = group.seen();
            if !kept.iter().any(|&other| covers(other, seen)) {
                kept.retain(|&other| !covers(seen, other));
                kept.push(seen);
            }
        }
        let shape = |seen: &Seen<'_>| match self.values {
            Values::Set => seen.shape(self.values, l),
            Values::Single | Values::Multiset => {
                GroupShape::from_sums(self.values, seen.people, seen.target, &[seen.top_sum(l)])
            }
        };
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
            let prefix: Arc<[u64]> = Arc::new([0, 2_000 + i, 5_000 - i, 5_005 - i]);
            let seen = Seen { people: 10_000, target: 5, levels: 2, prefix: &prefix };
            kept.insert(seen, || prefix.clone());
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
