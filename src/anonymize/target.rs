//! What does the policy ask of the groups?

use crate::encode::sensitive::SensitiveCoding;
use crate::error::{Error, Result};
use crate::plan::criterion::{Minimum, Part, SkylineCriterion};
use crate::policy::{self, Model, Policy, Protected, Requirement};
use crate::skyline::{Breach, Confidence, Knowledge, Point, SkylineState, Target, Values, Verdict};

/// Why the whole table in one group is not safe.
#[derive(Debug, Clone, PartialEq)]
pub enum Obstacle {
    /// A skyline point does not hold.
    Breach {
        /// The sensitive value.
        value: String,
        /// The skyline point.
        point: Point,
        /// The breach probability.
        breach: Breach,
    },
    /// The table has fewer people or fewer different values than a group must have.
    TooSmall {
        /// What there is too little of.
        what: &'static str,
        /// How many there are.
        has: u64,
        /// How many there must be.
        needs: u64,
    },
}

/// The one protected column of a policy, with what must hold for it.
pub struct Protection<'a> {
    target: &'a policy::Target,
    minimum: Minimum,
    requirements: &'a [Requirement],
}

impl<'a> Protection<'a> {
    /// Of a policy that protects one column by the skyline.
    pub fn new(policy: &'a Policy) -> Result<Self> {
        let [target] = policy.privacy.targets.as_slice() else {
            return Err(Error::input(
                "anonymize protects one sensitive column",
                "drop the other sensitive columns, or join them into one column first",
            ));
        };
        let Model::Skyline(requirements) = &target.model else {
            return Err(Error::input(
                "anonymize knows the model \"skyline\" only",
                "set privacy.model = \"skyline\"",
            ));
        };
        if target.columns.len() != 1 || !target.criteria.is_empty() {
            return Err(Error::input(
                "anonymize knows no joint columns and no criteria beside the skyline",
                "leave them out of the policy",
            ));
        }
        let distinct = target.minimum_distinct as usize;
        let minimum = Minimum { people: policy.privacy.minimum_group_size, distinct };
        Ok(Protection { target, minimum, requirements })
    }

    /// How many sensitive values a person may have.
    pub fn values(&self) -> Values {
        match self.target.values {
            policy::Values::Single => Values::Single,
            policy::Values::Set => Values::Set,
            policy::Values::Multiset => Values::Multiset,
        }
    }

    fn point(requirement: &Requirement) -> Result<Point> {
        let confidence = Confidence::new(requirement.confidence.clone()).ok_or_else(|| {
            Error::input("a confidence of privacy.skyline is not in (0, 1]", "give one above 0 and at most 1")
        })?;
        let knowledge = Knowledge { l: requirement.l, k: requirement.k, m: requirement.m };
        Ok(Point { knowledge, confidence })
    }

    /// The criterion that the planner asks.
    pub fn criterion(&self, sensitive: &SensitiveCoding) -> Result<SkylineCriterion> {
        let code = |text: &String| {
            sensitive.code_of_text(text).map(u32::from).ok_or_else(|| {
                Error::input(
                    format!("a value in `for` of privacy.skyline does not occur in {:?}", sensitive.name),
                    "check its spelling, or leave it out: what does not occur needs no protection",
                )
            })
        };
        let mut skyline = Vec::new();
        for requirement in self.requirements {
            let target = match &requirement.values {
                Protected::Every => Target::Every,
                Protected::These(texts) => Target::These(texts.iter().map(code).collect::<Result<_>>()?),
            };
            skyline.push((target, Self::point(requirement)?));
        }
        let state = SkylineState::new(self.values(), sensitive.len(), &skyline);
        Ok(SkylineCriterion::new(state, self.minimum, sensitive.len()))
    }

    /// Why the whole table cannot be one group.
    pub fn obstacles(
        &self,
        criterion: &SkylineCriterion,
        whole: &Part,
        sensitive: &SensitiveCoding,
    ) -> Vec<Obstacle> {
        let (people, distinct) = (whole.people, whole.distinct() as u64);
        let minima = [
            ("people", people, self.minimum.people),
            ("different sensitive values", distinct, self.minimum.distinct as u64),
        ];
        let too_small = minima.into_iter().filter(|(_, has, needs)| has < needs);
        let too_small = too_small.map(|(what, has, needs)| Obstacle::TooSmall { what, has, needs });
        let mut state = criterion.state().clone();
        state.observe(&mut Default::default(), whole.people, &whole.counts, 0);
        let texts = sensitive.texts();
        let breaches = state.entries().iter().filter(|entry| entry.verdict() == Verdict::Unsafe);
        let breaches = breaches.map(|entry| Obstacle::Breach {
            value: texts[entry.code as usize].clone(),
            point: entry.point.clone(),
            breach: entry.statistics.breach(),
        });
        too_small.chain(breaches).collect()
    }
}
