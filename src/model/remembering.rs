//! What must whoever goes on from here know of the groups that were accepted?

use super::obstacle::Objection;
use super::split::{Effort, Scratch, SplitTest};
use super::suppression::SuppressedShare;
use crate::encode::group_counts::{GrowingPart, Part};
use crate::encode::rows::Rows;
use crate::math::beliefs::group::Passes;

/// A test that also keeps the parts that changed what it remembers.
///
/// A test of the same requirements that accepts these parts, in any order, remembers the same: minima over all parts are
/// minima over those that lowered one (mathematics 12).
///
/// Memory: the test, and the parts that lowered a minimum, with 2^18 counts more than are needed, or twice as many.
pub struct Remembering {
    test: Box<dyn SplitTest>,
    changes: Vec<Part>,
    /// Counts of the parts.
    counts: usize,
    /// With more counts, parts are looked for that others took the place of.
    most_counts: usize,
}

/// Fewer counts are not worth looking at again.
const FEW_COUNTS: usize = if cfg!(any(test, feature = "force-spill")) { 1 << 4 } else { 1 << 18 };

impl Remembering {
    /// Goes on from a test.
    pub fn new(test: Box<dyn SplitTest>) -> Self {
        Remembering { test, changes: Vec::new(), counts: 0, most_counts: FEW_COUNTS }
    }

    /// The parts accepted here that changed what is remembered.
    pub fn changes(&self) -> &[Part] {
        &self.changes
    }

    /// Accepts parts that were accepted elsewhere, unless they are not safe together with everything accepted here.
    pub fn merge(&mut self, changes: &[Part]) -> bool {
        let safe = changes.is_empty() || self.test.admits(changes, &mut Scratch::default());
        if safe {
            self.accept(changes);
        }
        safe
    }

    /// Leaves out parts whose minima were all lowered by parts accepted after them: those are smaller.
    fn tidy(&mut self) {
        let mut needed = self.test.afresh();
        self.changes.reverse();
        self.changes.retain(|part| needed.accept(std::slice::from_ref(part)));
        self.changes.reverse();
        self.counts = self.changes.iter().map(|part| part.counts().len()).sum();
        self.most_counts = (2 * self.counts).max(FEW_COUNTS);
    }

    /// The same, for whoever merges them.
    pub fn into_changes(self) -> Vec<Part> {
        self.changes
    }
}

impl SplitTest for Remembering {
    fn admits(&self, parts: &[Part], scratch: &mut Scratch) -> bool {
        self.test.admits(parts, scratch)
    }

    fn accept(&mut self, parts: &[Part]) -> bool {
        let mut changed = false;
        // One after the other: a part that changes nothing beside those before it is not needed.
        for part in parts {
            if self.test.accept(std::slice::from_ref(part)) {
                changed = true;
                self.counts += part.counts().len();
                self.changes.push(part.clone());
            }
        }
        if self.counts > self.most_counts {
            self.tidy();
        }
        changed
    }

    fn least_people(&self) -> u64 {
        self.test.least_people()
    }

    fn least_people_with(&self, part: &GrowingPart, scratch: &mut Scratch) -> u64 {
        self.test.least_people_with(part, scratch)
    }

    fn fork(&self) -> Box<dyn SplitTest> {
        self.test.fork()
    }

    fn afresh(&self) -> Box<dyn SplitTest> {
        self.test.afresh()
    }

    fn bytes(&self) -> u64 {
        self.test.bytes()
    }

    fn objection(&self, parts: &[Part], scratch: &mut Scratch) -> Option<Objection> {
        self.test.objection(parts, scratch)
    }

    fn asks_for_rows(&self) -> bool {
        self.test.asks_for_rows()
    }

    fn suppress(&self) -> Option<&SuppressedShare> {
        self.test.suppress()
    }

    fn judge(&self, rows: &Rows, of: &[u32], part: &Part, effort: Effort) -> Passes {
        self.test.judge(rows, of, part, effort)
    }
}
