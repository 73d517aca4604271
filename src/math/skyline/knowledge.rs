//! How much knowledge can a release withstand?
//!
//! One pass over all groups is enough, regardless of the number of points tried: [`KeptGroups`] keeps the
//! groups that can attain the worst case at some point, then the search runs over them in memory, with the
//! verdicts of [`Statistics`](super::Statistics).
//!
//! A group that another one covers ([`covering`](super::covering)) is dropped. Levels l at which one group alone reaches
//! the confidence are cut off, which makes more groups equal. If there are still too many, the upper half of the levels is
//! dropped: they count as unsafe, which may overstate the risk, and the skyline reports that more may be safe.
//!
//! Memory: at most [`MOST_KEPT`] kept groups of [`KEPT_BYTES`] each, and 8 bytes x (different values) for each group
//! that some value keeps: all values share its ranked counts. Invariant: no kept group covers another one; the kept
//! groups do not depend on the order of the groups.

use super::covering::Seen;
use super::group::RankedGroup;
use super::levels::{KnowledgeSkyline, Level, LevelSearch, MaximalPoint, Reach, UpTo, maximal};
use super::point::Knowledge;
use super::shape::{GroupShape, Ratio, Values};
use crate::math::confidence::Confidence;
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

/// A group that is kept; as [`Seen`].
#[derive(Debug, Clone)]
struct Kept {
    people: u64,
    target: u64,
    levels: usize,
    prefix: Arc<[u64]>,
}

impl Kept {
    fn seen(&self) -> Seen<'_> {
        Seen { people: self.people, target: self.target, levels: self.levels, prefix: &self.prefix }
    }
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
    #[cfg(test)]
    pub(super) fn number(&self) -> usize {
        self.groups.len()
    }

    /// Whether there were more than [`MOST_KEPT`] groups to keep at l = 0 alone, so that no answer can be given.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// About the most bytes that a group adds for one value, without the counts that it shares with other values.
    pub const BYTES_OF_GROUP: u64 = (2 * KEPT_BYTES + size_of::<Self>()) as u64;

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
            let mut search = LevelSearch::new(self.values, confidence, l as u64, self.shapes(l));
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
        assert!(many.shortened && !many.overflowed() && many.groups.len() == 1);
        let up_to = UpTo { l: 5, k: 50, m: 5 };
        let (few, many) = (few.skyline(up_to), many.skyline(up_to));
        assert!(many.ended && many.levels.len() < few.levels.len() && !many.levels.is_empty());
        for (wide, narrow) in few.levels.iter().zip(&many.levels) {
            assert!((0..=5).all(|m| narrow.largest_k(m) <= wide.largest_k(m)));
        }
    }
}
