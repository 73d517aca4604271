//! May these groups be published if several sensitive columns are protected at once?
//!
//! The sensitive codes of a part represent combinations of values, and values of lists. Each test judges the values of its
//! own columns: the counts of the codes, added up by what they mean for it. All tests must hold.
//!
//! Memory: that of the tests and, during each test, the projected counts of the parts.

use super::obstacle::{Objection, Obstacle};
use super::split::{Effort, Scratch, SplitTest};
use super::suppression::SuppressedShare;
use crate::encode::group_counts::{GrowingPart, Part};
use crate::encode::rows::Rows;
use crate::math::beliefs::group::Passes;
use std::sync::Arc;

/// One of several tests, and its view of the sensitive codes.
pub struct ProjectedTest {
    /// For this test, the code of each sensitive code; `None` if it is of another column.
    pub code: Arc<[Option<u16>]>,
    /// Number of such codes.
    pub values: usize,
    /// The test.
    pub test: Box<dyn SplitTest>,
}

impl ProjectedTest {
    /// Sets `own` to what the test sees of a part with these people and counts.
    fn project(&self, people: u64, counts: impl Iterator<Item = (u16, u64)>, own: &mut GrowingPart) {
        own.empty(self.values);
        own.add_people(people);
        for (code, count) in counts {
            if let Some(code) = self.code[usize::from(code)] {
                own.add_value(code, count);
            }
        }
    }

    /// Sets `projected` to what the test sees of `parts`.
    fn project_parts(&self, parts: &[Part], own: &mut GrowingPart, projected: &mut Vec<Part>) {
        projected.clear();
        projected.extend(parts.iter().map(|part| {
            self.project(part.people, part.counts().iter().copied(), own);
            own.part()
        }));
    }
}

/// Several tests that must all hold for the same groups.
///
/// A refusal by one of them is permanent, and so is their joint refusal, as [`SplitTest`] requires.
pub struct Several {
    tests: Vec<ProjectedTest>,
}

impl Several {
    /// All of these.
    pub fn new(tests: Vec<ProjectedTest>) -> Self {
        Several { tests }
    }
}

impl Several {
    /// The same projections, each with another test.
    fn with_tests(&self, test: impl Fn(&dyn SplitTest) -> Box<dyn SplitTest>) -> Self {
        let with_test = |judged: &ProjectedTest| ProjectedTest {
            code: judged.code.clone(),
            values: judged.values,
            test: test(&*judged.test),
        };
        Several { tests: self.tests.iter().map(with_test).collect() }
    }
}

impl SplitTest for Several {
    fn admits(&self, parts: &[Part], scratch: &mut Scratch) -> bool {
        let (mut projected, mut own) = (std::mem::take(&mut scratch.projected), GrowingPart::default());
        let large = parts.iter().all(|part| part.people >= self.least_people());
        let admitted = large
            && self.tests.iter().all(|judged| {
                judged.project_parts(parts, &mut own, &mut projected);
                judged.test.admits(&projected, scratch)
            });
        scratch.projected = projected;
        admitted
    }

    fn accept(&mut self, parts: &[Part]) -> bool {
        let (mut projected, mut own, mut changed) = (Vec::new(), GrowingPart::default(), false);
        for judged in &mut self.tests {
            judged.project_parts(parts, &mut own, &mut projected);
            changed |= judged.test.accept(&projected);
        }
        changed
    }

    fn least_people(&self) -> u64 {
        self.tests.iter().map(|judged| judged.test.least_people()).max().unwrap_or(1)
    }

    fn least_people_with(&self, part: &GrowingPart, scratch: &mut Scratch) -> u64 {
        let mut projected = std::mem::take(&mut scratch.projected_part);
        let needed = self.tests.iter().map(|judged| {
            judged.project(part.people(), part.counts(), &mut projected);
            judged.test.least_people_with(&projected, scratch)
        });
        let needed = needed.max().unwrap_or(1);
        scratch.projected_part = projected;
        needed
    }

    fn fork(&self) -> Box<dyn SplitTest> {
        Box::new(self.with_tests(|test| test.fork()))
    }

    fn afresh(&self) -> Box<dyn SplitTest> {
        Box::new(self.with_tests(|test| test.afresh()))
    }

    fn bytes(&self) -> u64 {
        self.tests.iter().map(|judged| judged.test.bytes()).sum()
    }

    fn objection(&self, parts: &[Part], scratch: &mut Scratch) -> Option<Objection> {
        let (mut projected, mut own) = (std::mem::take(&mut scratch.projected), GrowingPart::default());
        let objections = (0..).zip(&self.tests).filter_map(|(target, judged)| {
            judged.project_parts(parts, &mut own, &mut projected);
            let Objection { obstacle, excess } = judged.test.objection(&projected, scratch)?;
            Some(Objection { obstacle: Obstacle { target, ..obstacle }, excess })
        });
        let furthest = Objection::furthest(objections);
        scratch.projected = projected;
        furthest
    }

    fn asks_for_rows(&self) -> bool {
        self.tests.iter().any(|judged| judged.test.asks_for_rows())
    }

    fn suppress(&self) -> Option<&SuppressedShare> {
        self.tests.iter().find_map(|judged| judged.test.suppress())
    }

    fn judge(&self, rows: &Rows, of: &[u32], part: &Part, effort: Effort) -> Passes {
        let mut own = GrowingPart::default();
        let judged = self.tests.iter().filter(|judged| judged.test.asks_for_rows()).map(|judged| {
            judged.project(part.people, part.counts().iter().copied(), &mut own);
            judged.test.judge(rows, of, &own.part(), effort)
        });
        judged.fold(Passes::Yes, Passes::and)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::group_counts::GroupCounts;

    /// Admits parts in which every value occurs at most `most` times.
    struct AtMost(u64);

    impl SplitTest for AtMost {
        fn admits(&self, parts: &[Part], _scratch: &mut Scratch) -> bool {
            parts.iter().all(|part| part.counts().iter().all(|&(_, count)| count <= self.0))
        }
        fn accept(&mut self, _parts: &[Part]) -> bool {
            false
        }
        fn least_people(&self) -> u64 {
            self.0
        }
        fn fork(&self) -> Box<dyn SplitTest> {
            Box::new(AtMost(self.0))
        }
        fn afresh(&self) -> Box<dyn SplitTest> {
            self.fork()
        }
        fn objection(&self, parts: &[Part], scratch: &mut Scratch) -> Option<Objection> {
            let rule = crate::model::obstacle::ObstructingRule::Adversary;
            (!self.admits(parts, scratch)).then_some(Objection::at_limit(rule))
        }
    }

    #[test]
    fn every_test_sees_its_own_values_and_all_must_hold() {
        // The combinations (0,0), (0,1), (1,0), (1,1).
        let judged = |code: [u16; 4], most| ProjectedTest {
            code: code.map(Some).into(),
            values: 2,
            test: Box::new(AtMost(most)),
        };
        let several = |one, other| Several::new(vec![judged([0, 0, 1, 1], one), judged([0, 1, 0, 1], other)]);
        let parts = [Part::of(&GroupCounts { people: 9, counts: vec![3, 1, 4, 1] })];
        let admits = |one, other| several(one, other).admits(&parts, &mut Scratch::default());
        assert!(admits(5, 7));
        assert!(!admits(4, 7) && !admits(5, 6));
        assert_eq!(several(5, 7).least_people(), 7);
        let objector = |one, other| {
            let objection = several(one, other).objection(&parts, &mut Scratch::default());
            objection.map(|objection| objection.obstacle.target)
        };
        assert_eq!([objector(5, 7), objector(4, 7), objector(5, 6)], [None, Some(0), Some(1)]);
    }
}
