//! What did the check find?

use super::robust::RobustReport;
use crate::math::confidence::Confidence;
use crate::math::exact::Rational;
use crate::math::skyline::{Breach, Point, Statistics, Values};
use crate::model::beliefs::judge::AttackReport;

/// The verdict on a table, with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckReport {
    /// Whether everything that was required holds.
    pub safe: bool,
    /// How many sensitive values a person may have.
    pub values: Values,
    /// Rows of the table.
    pub records: u64,
    /// Different people.
    pub individuals: u64,
    /// Groups.
    pub groups: u64,
    /// People in the smallest group.
    pub smallest_group: u64,
    /// Different sensitive values in the group that has the fewest.
    pub fewest_values: u64,
    /// The smallest group that was required.
    pub minimum_group_size: u64,
    /// The fewest different values that were required.
    pub minimum_distinct_values: u64,
    /// Every value at every point asked of it, sorted by value, then in the order asked.
    pub points: Vec<PointReport>,
    /// What implications disclose, if that was asked.
    pub disclosure: Option<DisclosureReport>,
    /// What whoever knows distributions learns, if that was asked.
    pub robust: Option<Box<RobustReport>>,
    /// How far beliefs move, if that was asked and judged.
    pub beliefs: Option<AttackReport>,
    /// Criteria of other tools, in the order asked.
    pub shares: Vec<ShareReport>,
    /// How the groups stood in the table.
    pub order: Order,
    /// Bytes that did not fit in memory.
    pub spilled_bytes: u64,
}

impl CheckReport {
    /// Whether all that counts tell holds.
    pub fn counts_hold(&self) -> bool {
        self.smallest_group >= self.minimum_group_size
            && self.fewest_values >= self.minimum_distinct_values
            && self.points.iter().all(|point| point.safe)
            && self.shares.iter().all(|share| share.safe)
            && self.disclosure.as_ref().is_none_or(|disclosure| disclosure.safe)
    }

    /// The report with what was found about beliefs.
    pub fn with_beliefs(mut self, found: AttackReport) -> Self {
        self.safe = self.counts_hold() && found.is_private();
        self.beliefs = Some(found);
        self
    }
}

/// One sensitive value at one skyline point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointReport {
    /// The value as the table holds it.
    pub value: String,
    /// The knowledge and the threshold.
    pub point: Point,
    /// How sure an adversary with that knowledge may become.
    pub breach: Breach,
    /// Whether the breach is below the threshold.
    pub safe: bool,
    /// The five statistics. Their groups are numbered by the row, from 0, at which a group begins; in a
    /// table that had to be counted by group, by the value of its one group column if that is a whole
    /// number, and otherwise the numbers only tell groups apart.
    pub statistics: Statistics,
}

/// A criterion over the shares of the values in each group.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareReport {
    /// The criterion in words.
    pub criterion: &'static str,
    /// The largest distance, or share, that a group has.
    pub measured: Rational,
    /// The largest that is allowed.
    pub most: Rational,
    /// The group that has it, numbered as in [`PointReport::statistics`].
    pub group: u64,
    /// Whether all groups are within what is allowed.
    pub safe: bool,
}

/// What implications disclose.
#[derive(Debug, Clone, PartialEq)]
pub struct DisclosureReport {
    /// For 0, 1, ... implications; the last number is the one that was asked for.
    pub points: Vec<DisclosurePoint>,
    /// The threshold of the last point; `None` if it was measured only.
    pub confidence: Option<Confidence>,
    /// Whether the last point is below its threshold, if it has one.
    pub safe: bool,
}

/// What k implications, and k negated atoms, disclose.
#[derive(Debug, Clone, PartialEq)]
pub struct DisclosurePoint {
    /// How many the adversary knows.
    pub k: usize,
    /// The maximum disclosure by k implications.
    pub disclosure: Rational,
    /// Implications that attain it.
    pub implications: Option<Statements>,
    /// The maximum disclosure by k negated atoms.
    pub negated: Rational,
    /// Negated atoms that attain it.
    pub negations: Option<Statements>,
}

/// The worst knowledge: what becomes likely, and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statements {
    /// What is disclosed.
    pub target: Atom,
    /// Each of these implies the target, or is known to be false. Fewer than k if fewer give certainty.
    pub known: Vec<Atom>,
}

impl Statements {
    /// The first atom is the target.
    pub(super) fn from_atoms(atoms: Vec<Atom>) -> Option<Self> {
        let mut atoms = atoms.into_iter();
        Some(Statements { target: atoms.next()?, known: atoms.collect() })
    }
}

/// "This person has this value."
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atom {
    /// The group of the person, numbered as in [`PointReport::statistics`].
    pub group: u64,
    /// The people of the group.
    pub people: u64,
    /// Tells people of a group apart, from 1; since a group hides who is who, it may be any of them.
    pub person: u64,
    /// The value as the table holds it.
    pub value: String,
    /// How often the value occurs in the group.
    pub count: u64,
}

impl PointReport {
    /// How far the breach stays below the threshold; 0 or less is unsafe.
    pub fn margin(&self) -> Rational {
        self.point.confidence.value() - self.breach.upper_bound()
    }
}

/// How the groups stood in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The rows of each group stood together: one scan was enough.
    Clustered,
    /// A group came back, or memory was too small to rule it out: the table was scanned a second time.
    Scattered,
    /// Rows had to be brought together by person first.
    ByPerson,
    /// People and values came from two tables.
    Bucketized,
}

/// How many groups there are of each size: bars of equal width on a logarithmic scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSizes {
    /// Groups by bar.
    bars: Box<[u64; GroupSizes::BARS]>,
    /// The sum of the squared sizes.
    squares: u128,
}

impl GroupSizes {
    /// Four bars for every doubling; sizes up to 8 have their own.
    const BARS: usize = 4 * 62;

    /// The bar of a size.
    fn bar(people: u64) -> usize {
        let octave = people.max(1).ilog2();
        let quarter = ((u128::from(people.max(1)) * 4) >> octave) as usize - 4;
        if octave < 2 { people as usize } else { (octave as usize - 1) * 4 + quarter }
    }

    /// The smallest size of a bar.
    fn start(bar: usize) -> u64 {
        match bar {
            0..4 => bar as u64,
            _ => (4 + bar as u64 % 4) << (bar / 4 - 1),
        }
    }

    /// The sum of the squared sizes of all groups: the discernibility.
    pub fn squares(&self) -> u128 {
        self.squares
    }

    /// The bars from the first to the last that is not empty: smallest size, largest size, groups.
    pub fn bars(&self) -> Vec<(u64, u64, u64)> {
        let filled = |bar: &usize| self.bars[*bar] > 0;
        let ends = (0..Self::BARS).find(filled).zip((0..Self::BARS).rev().find(filled));
        let Some((first, last)) = ends else { return Vec::new() };
        (first..=last).map(|bar| (Self::start(bar), Self::start(bar + 1) - 1, self.bars[bar])).collect()
    }
}

/// How many groups there are, and how large they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sizes {
    pub groups: u64,
    pub people: u64,
    pub smallest: u64,
    pub fewest_values: u64,
    pub by_size: GroupSizes,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            groups: 0,
            people: 0,
            smallest: u64::MAX,
            fewest_values: u64::MAX,
            by_size: GroupSizes { bars: Box::new([0; GroupSizes::BARS]), squares: 0 },
        }
    }
}

impl Sizes {
    /// Takes in a group.
    pub fn observe(&mut self, people: u64, distinct: u64) {
        self.groups += 1;
        self.by_size.bars[GroupSizes::bar(people)] += 1;
        self.by_size.squares += u128::from(people) * u128::from(people);
        self.people += people;
        self.smallest = self.smallest.min(people);
        self.fewest_values = self.fewest_values.min(distinct);
    }

    /// Takes in other groups.
    pub fn merge(&mut self, other: &Sizes) {
        self.groups += other.groups;
        for (own, others) in self.by_size.bars.iter_mut().zip(other.by_size.bars.iter()) {
            *own += others;
        }
        self.by_size.squares += other.by_size.squares;
        self.people += other.people;
        self.smallest = self.smallest.min(other.smallest);
        self.fewest_values = self.fewest_values.min(other.fewest_values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_lies_between_the_ends_of_its_bar() {
        for people in (1..3000).chain((2..40).flat_map(|i| [1u64 << i, (1 << i) - 1, 5 << i])) {
            let bar = GroupSizes::bar(people);
            assert!(GroupSizes::start(bar) <= people && people < GroupSizes::start(bar + 1), "{people}");
        }
    }
}
