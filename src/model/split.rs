//! May these groups be published in addition to the others?
//!
//! Every adversary has its own test, in its folder; here are the trait and the combinators.

use crate::encode::group_counts::{GrowingPart, Part};
use crate::encode::rows::Rows;
use crate::math::beliefs::group::Passes;
use crate::math::implications::SafetyRoom;
use crate::math::skyline::{GroupCount, NearGroup, Ranking};
use crate::model::obstacle::{Objection, ObstructingRule};
use crate::model::suppression::SuppressedShare;

/// Memory that is reused from one test to the next.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Ranked counts of parts.
    pub(super) rankings: Vec<Ranking>,
    /// Parts in the order of their numbers.
    pub(super) near: Vec<NearGroup>,
    /// The values of all parts, sorted by code.
    pub(super) counts: Vec<GroupCount>,
    /// The placements of atoms in parts.
    pub(super) safety: SafetyRoom,
    /// Parts as one of several tests sees them.
    pub(super) projected: Vec<Part>,
    /// A growing part as one of several tests sees it.
    pub(super) projected_part: GrowingPart,
}

/// A privacy test over all groups of a release, with statistics of those accepted so far.
///
/// Invariant: once [`SplitTest::admits`] refuses something, it always refuses it, whatever is accepted in the
/// meantime. Splitting relies on this: a node without an admissible cut is finished.
pub trait SplitTest: Send + Sync {
    /// Whether a group may be replaced by these parts; `scratch` is reused from one call to the next.
    fn admits(&self, parts: &[Part], scratch: &mut Scratch) -> bool;

    /// Adds parts that were admitted; they become groups. Returns whether that changed what is remembered: if not, no
    /// later answer depends on them.
    fn accept(&mut self, parts: &[Part]) -> bool;

    /// No group with fewer people can be admitted.
    fn least_people(&self) -> u64;

    /// No part that contains `part` and has fewer people than this can be admitted. If `part` has fewer itself, it is
    /// refused for what it is, whatever the other parts are.
    fn least_people_with(&self, _part: &GrowingPart, _scratch: &mut Scratch) -> u64 {
        self.least_people()
    }

    /// A copy that goes its own way: what it accepts changes nothing here.
    fn fork(&self) -> Box<dyn SplitTest>;

    /// The same test as long as nothing was accepted.
    fn afresh(&self) -> Box<dyn SplitTest>;

    /// The bytes that it takes to remember, about.
    fn bytes(&self) -> u64 {
        0
    }

    /// What stands most in the way of these parts, judged without any other group: `None` if there is nothing. No
    /// decision depends on it.
    fn objection(&self, parts: &[Part], scratch: &mut Scratch) -> Option<Objection>;

    /// Whether groups are also judged by their rows, with [`SplitTest::judge`].
    fn asks_for_rows(&self) -> bool {
        false
    }

    /// How many people may be left out for whom no group passes; `None` if nobody may.
    fn suppress(&self) -> Option<&SuppressedShare> {
        None
    }

    /// Whether the rows numbered `of`, which publish `part`, may form a group, regardless of the other
    /// groups. Not monotone: groups that pass may have parts that do not, and vice versa.
    fn judge(&self, _rows: &Rows, _of: &[u32], _part: &Part, _effort: Effort) -> Passes {
        Passes::Yes
    }
}

/// How much work to spend on an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// One of many cuts is tried; "unknown" is an acceptable answer.
    Try,
    /// The answer decides what is published.
    Settle,
}

/// Several tests that must all hold.
pub struct Every {
    tests: Vec<Box<dyn SplitTest>>,
}

impl Every {
    /// All of these; at least one.
    pub fn new(tests: Vec<Box<dyn SplitTest>>) -> Self {
        Every { tests }
    }
}

impl SplitTest for Every {
    fn admits(&self, parts: &[Part], scratch: &mut Scratch) -> bool {
        self.tests.iter().all(|test| test.admits(parts, scratch))
    }

    fn accept(&mut self, parts: &[Part]) -> bool {
        let mut changed = false;
        for test in &mut self.tests {
            changed |= test.accept(parts);
        }
        changed
    }

    fn least_people(&self) -> u64 {
        self.tests.iter().map(|test| test.least_people()).max().unwrap_or(1)
    }

    fn least_people_with(&self, part: &GrowingPart, scratch: &mut Scratch) -> u64 {
        self.tests.iter().map(|test| test.least_people_with(part, scratch)).max().unwrap_or(1)
    }

    fn fork(&self) -> Box<dyn SplitTest> {
        Box::new(Every { tests: self.tests.iter().map(|test| test.fork()).collect() })
    }

    fn afresh(&self) -> Box<dyn SplitTest> {
        Box::new(Every { tests: self.tests.iter().map(|test| test.afresh()).collect() })
    }

    fn bytes(&self) -> u64 {
        self.tests.iter().map(|test| test.bytes()).sum()
    }

    fn objection(&self, parts: &[Part], scratch: &mut Scratch) -> Option<Objection> {
        Objection::furthest(self.tests.iter().filter_map(|test| test.objection(parts, scratch)))
    }

    fn asks_for_rows(&self) -> bool {
        self.tests.iter().any(|test| test.asks_for_rows())
    }

    fn suppress(&self) -> Option<&SuppressedShare> {
        self.tests.iter().find_map(|test| test.suppress())
    }

    fn judge(&self, rows: &Rows, of: &[u32], part: &Part, effort: Effort) -> Passes {
        let judged = self.tests.iter().map(|test| test.judge(rows, of, part, effort));
        judged.fold(Passes::Yes, Passes::and)
    }
}

/// The minimum numbers of people and values of a group, for any model; also a split test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinimumSizes {
    /// People per group.
    pub people: u64,
    /// Different sensitive values per group.
    pub distinct: usize,
}

impl MinimumSizes {
    /// Whether a group is large and diverse enough.
    pub fn holds(&self, part: &Part) -> bool {
        part.people >= self.people && (self.distinct <= 1 || part.distinct() >= self.distinct)
    }

    /// No group that contains `part` and has fewer people holds.
    pub(super) fn least_people_with(&self, part: &GrowingPart) -> u64 {
        self.people.max(part.people() + u64::from(self.distinct > 1 && part.distinct() < self.distinct))
    }
}

impl SplitTest for MinimumSizes {
    fn admits(&self, parts: &[Part], _scratch: &mut Scratch) -> bool {
        parts.iter().all(|part| part.people >= self.least_people() && self.holds(part))
    }

    fn accept(&mut self, _parts: &[Part]) -> bool {
        false
    }

    fn least_people(&self) -> u64 {
        self.people.max(1)
    }

    fn least_people_with(&self, part: &GrowingPart, _scratch: &mut Scratch) -> u64 {
        MinimumSizes::least_people_with(self, part)
    }

    fn fork(&self) -> Box<dyn SplitTest> {
        Box::new(*self)
    }

    fn afresh(&self) -> Box<dyn SplitTest> {
        self.fork()
    }

    fn objection(&self, parts: &[Part], _scratch: &mut Scratch) -> Option<Objection> {
        let rule = match parts.iter().all(|part| part.people >= self.people) {
            false => ObstructingRule::People,
            true if parts.iter().all(|part| self.holds(part)) => return None,
            true => ObstructingRule::Distinct,
        };
        Some(Objection::new(rule, f64::INFINITY))
    }
}
