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
/// Memory: the test, and every part that lowered a minimum.
pub struct Remembering {
    test: Box<dyn SplitTest>,
    changes: Vec<Part>,
}

impl Remembering {
    /// Goes on from a test.
    pub fn new(test: Box<dyn SplitTest>) -> Self {
        Remembering { test, changes: Vec::new() }
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
        let before = self.changes.len();
        // One after the other: a part that changes nothing beside those before it is not needed.
        for part in parts {
            if self.test.accept(std::slice::from_ref(part)) {
                self.changes.push(part.clone());
            }
        }
        self.changes.len() > before
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
