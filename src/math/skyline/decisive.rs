//! Which groups decide the breach of a value, whatever an adversary knows?
//!
//! For one l, T depends on people, target and top counts, and V on people and target alone: a group is needed only if no
//! other one covers it ([`covering`](super::covering)) at that l. So [`DecisiveGroups`] keeps, for each l up to
//! [`MOST_RULED_OUT`], the groups that no other one covers there: the five statistics over them are those over all
//! groups, for every k and m and every confidence. From the l on at which one group alone makes certain, nothing is
//! needed.
//!
//! Memory: at most [`MOST_DECISIVE`] groups for each l, 40 bytes each, and 20 bytes x (different values) for each group
//! that some value keeps. Invariant: the groups do not depend on the order in which they are seen, as long as no level
//! holds too many.

use super::covering::Seen;
use super::group::RankedGroup;
use super::levels::{KnowledgeSkyline, Level, LevelSearch, Reach, UpTo, maximal};
use super::shape::{GroupShape, Values};
use crate::math::confidence::Confidence;
use std::sync::Arc;

/// The largest l that is kept.
pub const MOST_RULED_OUT: usize = 20;

/// If more groups than this differ at some l, this l and those above are dropped.
const MOST_DECISIVE: usize = if cfg!(test) { 300 } else { 5_000 };

/// What an allocation takes besides its contents.
const ALLOCATION: usize = 16;

/// The groups that decide about one value.
#[derive(Debug, Clone)]
pub struct DecisiveGroups {
    values: Values,
    occurrences: u64,
    /// From this l on, some group alone makes an adversary certain.
    certain_from: usize,
    /// From this l on, nothing is known.
    unknown_from: usize,
    levels: Vec<Vec<DecisiveGroup>>,
}

/// A group that no other one covers at some l.
#[derive(Debug, Clone)]
pub struct DecisiveGroup {
    /// Its number.
    pub number: u64,
    /// People.
    pub people: u64,
    target: u64,
    counts: Arc<Counts>,
}

/// Shared by all values that keep the group.
#[derive(Debug)]
struct Counts {
    prefix: Box<[u64]>,
    by_code: Box<[(u32, u64)]>,
}

/// A group while values are asked about it: its counts are copied only if some value keeps it.
pub struct OfferedGroup<'g> {
    ranked: &'g RankedGroup<'g>,
    number: u64,
    by_code: &'g dyn Fn() -> Box<[(u32, u64)]>,
    shared: Option<Arc<Counts>>,
}

impl<'g> OfferedGroup<'g> {
    /// The group with this number; `by_code` lists the count of each value.
    pub fn new(ranked: &'g RankedGroup<'g>, number: u64, by_code: &'g dyn Fn() -> Box<[(u32, u64)]>) -> Self {
        OfferedGroup { ranked, number, by_code, shared: None }
    }

    fn share(&mut self) -> Arc<Counts> {
        let new = || Arc::new(Counts { prefix: self.ranked.prefix().into(), by_code: (self.by_code)() });
        self.shared.get_or_insert_with(new).clone()
    }
}

impl DecisiveGroup {
    fn seen(&self) -> Seen<'_> {
        let prefix = &self.counts.prefix;
        Seen { people: self.people, target: self.target, levels: prefix.len() - 2, prefix }
    }

    /// How often each value occurs in the group.
    pub fn counts(&self) -> &[(u32, u64)] {
        &self.counts.by_code
    }
}

impl DecisiveGroups {
    /// No groups yet.
    pub fn new(values: Values) -> Self {
        DecisiveGroups {
            values,
            occurrences: 0,
            certain_from: usize::MAX,
            unknown_from: MOST_RULED_OUT + 1,
            levels: Vec::new(),
        }
    }

    /// How often the value occurs.
    pub fn occurrences(&self) -> u64 {
        self.occurrences
    }

    /// The first l at which the release makes certain someone who knows nothing else.
    pub fn certain_from(&self) -> Option<u64> {
        (self.certain_from < usize::MAX).then_some(self.certain_from as u64)
    }

    /// The first l about which nothing is known.
    pub fn unknown_from(&self) -> u64 {
        self.unknown_from as u64
    }

    /// Adds what a scan found that does not follow from the groups it kept; they were observed here.
    pub fn amend(&mut self, occurrences: u64, certain_from: Option<u64>, unknown_from: u64) {
        let level = |l: u64| usize::try_from(l).unwrap_or(usize::MAX);
        self.occurrences = occurrences;
        self.certain_from = self.certain_from.min(certain_from.map_or(usize::MAX, level));
        self.unknown_from = self.unknown_from.min(level(unknown_from));
        self.levels.truncate(self.end());
    }

    /// All groups that decide for some l, possibly several times.
    pub fn groups(&self) -> impl Iterator<Item = &DecisiveGroup> {
        self.levels.iter().flatten()
    }

    /// The groups that decide for this l.
    pub fn at(&self, l: usize) -> &[DecisiveGroup] {
        self.levels.get(l).map_or(&[], Vec::as_slice)
    }

    /// The most bytes that a group adds for one value, without the counts that it shares with other values: an entry and an
    /// allocation for each l.
    pub const MOST_BYTES_OF_GROUP: u64 = {
        let level = size_of::<Vec<DecisiveGroup>>() + size_of::<DecisiveGroup>() + ALLOCATION;
        (size_of::<Self>() + (MOST_RULED_OUT + 1) * level) as u64
    };

    /// Bytes of the groups; counts that several values share are divided among them.
    pub fn bytes(&self) -> u64 {
        let counts = |group: &DecisiveGroup| {
            let counts = group.counts.prefix.len() * 8 + group.counts.by_code.len() * 16 + 48;
            counts.div_ceil(Arc::strong_count(&group.counts))
        };
        let shared: usize = self.levels.iter().flatten().map(counts).sum();
        let level = |level: &Vec<DecisiveGroup>| level.capacity() * size_of::<DecisiveGroup>() + ALLOCATION;
        let levels: usize = self.levels.iter().map(level).sum();
        let list = self.levels.capacity() * size_of::<Vec<DecisiveGroup>>() + ALLOCATION;
        (size_of::<Self>() + list + levels + shared) as u64
    }

    /// Adds a group in which the value occurs `target` times; 0 changes nothing.
    pub fn observe(&mut self, offered: &mut OfferedGroup<'_>, target: u64) {
        if target == 0 {
            return;
        }
        self.occurrences = self.occurrences.saturating_add(target);
        let (ranked, number) = (offered.ranked, offered.number);
        let levels = ranked.distinct() - 1;
        let seen = Seen { people: ranked.people, target, levels, prefix: ranked.prefix() };
        for l in 0..self.end() {
            if self.is_certain(seen, l) {
                self.certain_from = l;
                self.levels.truncate(l);
                return;
            }
            self.insert(l, seen, number, &mut || offered.share());
        }
    }

    /// Adds the groups of another part.
    pub fn merge(&mut self, other: DecisiveGroups) {
        self.occurrences = self.occurrences.saturating_add(other.occurrences);
        self.certain_from = self.certain_from.min(other.certain_from);
        self.unknown_from = self.unknown_from.min(other.unknown_from);
        self.levels.truncate(self.end());
        for (l, groups) in other.levels.into_iter().enumerate() {
            for group in &groups {
                if l >= self.end() {
                    return;
                }
                self.insert(l, group.seen(), group.number, &mut || group.counts.clone());
            }
        }
    }

    fn end(&self) -> usize {
        self.certain_from.min(self.unknown_from)
    }

    /// Whether T is 0: the group alone makes certain, whatever else is known.
    fn is_certain(&self, seen: Seen<'_>, l: usize) -> bool {
        match self.values {
            Values::Single => seen.left(l) == 0,
            Values::Set => seen.people <= seen.target,
            Values::Multiset => seen.people <= 1,
        }
    }

    fn insert(&mut self, l: usize, seen: Seen<'_>, number: u64, share: &mut dyn FnMut() -> Arc<Counts>) {
        // For sets the individual counts matter, and all prefixes represent them.
        let first = if self.values == Values::Set { 1 } else { l };
        let values = self.values;
        let covers = |one: Seen<'_>, other: Seen<'_>| one.covers_at(values, other, first..=l);
        if self.levels.len() <= l {
            self.levels.resize_with(l + 1, Vec::new);
        }
        let level = &mut self.levels[l];
        let new = |counts| DecisiveGroup { number, people: seen.people, target: seen.target, counts };
        if let Some(at) = level.iter().position(|own| covers(own.seen(), seen)) {
            // Of equal groups the first one stays, whatever the order in which they are seen.
            if number < level[at].number && covers(seen, level[at].seen()) {
                level[at] = new(share());
            }
            // A group that covered one group usually covers the next one too.
            level.swap(at, at / 2);
            return;
        }
        level.retain(|own| !covers(seen, own.seen()));
        // One group decides most levels of most values.
        if level.capacity() == 0 {
            level.reserve_exact(1);
        }
        level.push(new(share()));
        if level.len() > MOST_DECISIVE {
            self.unknown_from = l;
            self.levels.truncate(l);
        }
    }

    /// The shapes that decide for this l.
    pub(super) fn shapes(&self, l: usize) -> Vec<GroupShape> {
        let shape = |group: &DecisiveGroup| match self.values {
            Values::Set => group.seen().shape(self.values, l),
            Values::Single | Values::Multiset => {
                GroupShape::from_sums(self.values, group.people, group.target, &[group.seen().top_sum(l)])
            }
        };
        self.at(l).iter().map(shape).collect()
    }

    /// The largest safe k, at most `most`, for l = 0, 1, ... and this m; ends before the first l without any.
    pub fn profile(&self, confidence: &Confidence, m: u64, most: u64) -> Vec<u64> {
        let (values, mut profile, mut most) = (self.values, Vec::new(), most);
        for l in 0..self.levels.len() {
            let mut search = LevelSearch::new(values, confidence, l as u64, self.shapes(l));
            let Some(largest) = search.largest_k(most, m) else { break };
            profile.push(largest);
            most = largest;
        }
        profile
    }

    /// All maximal points up to which the value stays below a confidence.
    pub fn skyline(&self, confidence: &Confidence, up_to: UpTo) -> KnowledgeSkyline {
        let always_safe = self.occurrences == 0;
        let mut found =
            KnowledgeSkyline { points: Vec::new(), levels: Vec::new(), always_safe, ended: false };
        let end = self.end().min(self.levels.len());
        for l in 0..end {
            if l as u64 > up_to.l {
                break;
            }
            let mut search = LevelSearch::new(self.values, confidence, l as u64, self.shapes(l));
            let Some((corners, ended)) = search.corners(up_to) else { break };
            found.ended |= ended;
            found.levels.push(Level { l: Reach::Number(l as u64), corners });
        }
        let known = (self.certain_from as u64).min(self.unknown_from as u64).min(up_to.l.saturating_add(1));
        found.ended |= found.levels.len() as u64 == known && known < self.certain_from as u64;
        found.points = maximal(&found.levels);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::skyline::{Knowledge, Ranking, Statistics};
    use proptest::prelude::*;

    fn groups() -> impl Strategy<Value = Vec<(u64, Vec<u64>)>> {
        let group = (proptest::collection::vec(0u64..5, 4), 0u64..3);
        let group = group.prop_map(|(counts, more)| (more, counts));
        proptest::collection::vec(group, 1..25)
    }

    fn people(values: Values, more: u64, counts: &[u64]) -> u64 {
        match values {
            Values::Single => counts.iter().sum(),
            Values::Set => counts.iter().copied().max().unwrap_or(0) + more,
            Values::Multiset => more + 1,
        }
    }

    fn observe(decisive: &mut DecisiveGroups, number: usize, (more, counts): &(u64, Vec<u64>)) {
        let mut ranking = Ranking::default();
        let ranked = ranking.rank(people(decisive.values, *more, counts), counts.iter().copied());
        let by_code = || counts.iter().copied().zip(0u32..).map(|(count, code)| (code, count)).collect();
        decisive.observe(&mut OfferedGroup::new(&ranked, number as u64, &by_code), counts[0]);
    }

    proptest! {
        #[test]
        fn the_decisive_groups_decide_every_point(groups in groups(), mode in 0usize..3, cut in 0usize..25) {
            let values = Values::NAMES[mode].1;
            let mut decisive = DecisiveGroups::new(values);
            groups.iter().enumerate().for_each(|(number, group)| observe(&mut decisive, number, group));
            // Another order, in two parts.
            let (mut one, mut other) = (DecisiveGroups::new(values), DecisiveGroups::new(values));
            for (number, group) in groups.iter().enumerate().rev() {
                observe(if number < cut { &mut one } else { &mut other }, number, group);
            }
            one.merge(other);
            for l in 0..7 {
                let numbers = |of: &DecisiveGroups| {
                    let mut numbers: Vec<u64> = of.at(l).iter().map(|group| group.number).collect();
                    numbers.sort_unstable();
                    numbers
                };
                prop_assert_eq!(numbers(&one), numbers(&decisive));
                for (k, m) in [(0, 0), (0, 1), (1, 0), (2, 1), (1, 3), (5, 5), (30, 30)] {
                    let size = Knowledge { l: l as u64, k, m };
                    let mut all = Statistics::new(values, size);
                    let mut ranking = Ranking::default();
                    for (number, (more, counts)) in groups.iter().enumerate() {
                        let ranked = ranking.rank(people(values, *more, counts), counts.iter().copied());
                        all.observe(&ranked, counts[0], number as u64);
                    }
                    let mut few = Statistics::new(values, size);
                    let shapes = decisive.shapes(l);
                    shapes.iter().for_each(|shape| few.observe_shape(shape, 0));
                    match decisive.certain_from() {
                        Some(from) if l as u64 >= from => {
                            prop_assert_eq!(all.breach().upper_bound(), crate::math::exact::Rational::ONE);
                        }
                        _ => prop_assert_eq!(all.breach(), few.breach()),
                    }
                }
            }
        }
    }

    #[test]
    fn a_level_with_too_many_groups_is_not_known() {
        let mut decisive = DecisiveGroups::new(Values::Single);
        for i in 0..=MOST_DECISIVE {
            // More people, and more of them with the value: none covers another one.
            observe(&mut decisive, i, &(0, vec![1 + i as u64, 2_000 + i as u64, 1]));
        }
        assert_eq!((decisive.unknown_from(), decisive.at(0).len()), (0, 0));
        let confidence = Confidence::parse("1/2").unwrap();
        let found = decisive.skyline(&confidence, UpTo::ANYTHING);
        assert!(found.levels.is_empty() && found.ended && !found.always_safe);
    }
}
