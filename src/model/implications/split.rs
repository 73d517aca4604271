//! Safety against implications as a split test.

use super::policy::ImplicationsModel;
use crate::encode::group_counts::{GrowingPart, Part};
use crate::error::{Error, Result};
use crate::math::implications::{Confidence, Safety, SafetyRoom, ThresholdVerdict};
use crate::math::skyline::Values;
use crate::model::obstacle::{Objection, ObstructingRule};
use crate::model::protection::{CodedTarget, threshold};
use crate::model::split::{MinimumSizes, Scratch, SplitTest};

/// Safety against k implications; only for single values.
///
/// Minima over all groups ever accepted decide exactly as the live groups would, see
/// [`implications`](crate::math::implications), so nothing has to be undone when a group is replaced by its
/// parts.
#[derive(Debug, Clone)]
pub struct ImplicationsTest {
    minimum: MinimumSizes,
    least_people: u64,
    pub(in crate::model) safety: Safety,
    /// For what is accepted.
    room: SafetyRoom,
}

impl ImplicationsTest {
    /// With no group accepted yet.
    pub fn new(implications: usize, confidence: Confidence, minimum: MinimumSizes) -> Self {
        let safety = Safety::new(implications, confidence);
        let least_people = minimum.people.max(safety.least_people());
        ImplicationsTest { minimum, least_people, safety, room: SafetyRoom::default() }
    }
}

fn counts_of(part: &Part) -> impl Iterator<Item = u64> + Clone {
    part.counts().iter().map(|&(_, count)| count)
}

impl SplitTest for ImplicationsTest {
    fn admits(&self, parts: &[Part], scratch: &mut Scratch) -> bool {
        parts.iter().all(|part| part.people >= self.least_people && self.minimum.holds(part))
            && self.safety.allows(parts.iter().map(counts_of), &mut scratch.safety) == ThresholdVerdict::Safe
    }

    fn accept(&mut self, parts: &[Part]) -> bool {
        let ImplicationsTest { safety, room, .. } = self;
        let (ThresholdVerdict::Safe, changed) = safety.admit(parts.iter().map(counts_of), room) else {
            debug_assert!(false, "only what is admitted may be accepted");
            return true;
        };
        changed
    }

    fn least_people(&self) -> u64 {
        self.least_people
    }

    fn least_people_with(&self, part: &GrowingPart, _scratch: &mut Scratch) -> u64 {
        let known = self.least_people.max(self.minimum.least_people_with(part));
        match known > part.people() {
            true => known,
            false => self.safety.least_people_with(part.counts().map(|(_, count)| count)),
        }
    }

    fn fork(&self) -> Box<dyn SplitTest> {
        Box::new(self.clone())
    }

    fn afresh(&self) -> Box<dyn SplitTest> {
        Box::new(ImplicationsTest { safety: self.safety.afresh(), room: SafetyRoom::default(), ..*self })
    }

    fn bytes(&self) -> u64 {
        self.safety.bytes()
    }

    fn objection(&self, parts: &[Part], scratch: &mut Scratch) -> Option<Objection> {
        let by_size = self.minimum.objection(parts, scratch);
        by_size.or(Some(Objection::at_limit(ObstructingRule::Adversary)))
    }
}

impl ImplicationsModel {
    /// Refuses people with any number of values, for whom implications are not defined.
    pub(in crate::model) fn refuse(&self, values: Values) -> Result<()> {
        if values != Values::Single {
            return Err(Error::input(
                "the model \"implications\" is defined for single values only",
                "set privacy.values = \"single\", or privacy.model = \"skyline\"",
            ));
        }
        threshold(&self.confidence).map(drop)
    }

    fn known(&self) -> usize {
        usize::try_from(self.knows).unwrap_or(usize::MAX)
    }

    pub(in crate::model) fn split_test(&self, coded: &CodedTarget<'_>) -> Result<Box<dyn SplitTest>> {
        let confidence = threshold(&self.confidence)?;
        Ok(Box::new(ImplicationsTest::new(self.known(), confidence, coded.minimum)))
    }
}
