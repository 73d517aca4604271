//! Do the beliefs about the people of a group stay where they were?
//!
//! The test looks at the rows of a group, not at its counts alone, and it is not monotone: a part of a group that
//! passes may fail, and a part of one that fails may pass. So the planner asks it of every part of a cut, and gives a
//! group that fails back to the next larger one that passes ([`join`](crate::group::split::join)).
//!
//! Memory: the combinations and priors of the table, reserved from the budget; see [`original`].

use std::sync::Arc;

use super::{Priors, Question};
use crate::encode::attribute::Attribute;
use crate::encode::group_counts::GroupCounts;
use crate::encode::page::PageStore;
use crate::encode::rows::Rows;
use crate::encode::sensitive::SensitiveCoding;
use crate::error::{Error, Result};
use crate::math::beliefs::combinations::Combinations;
use crate::math::beliefs::comparison::Comparison;
use crate::math::beliefs::divergence::Threshold;
use crate::math::beliefs::group::{Group, Member, Passes, passes};
use crate::model::beliefs::original::{self, Gatherer};
use crate::model::beliefs::priors::{Means, kernels};
use crate::model::criterion::{Criterion, Effort, Room};
use crate::policy::Quasi;
use crate::resources::Resources;
use crate::resources::budget::Reservation;
use crate::resources::spill::Spill;

/// Groups with more states are not followed exactly while cuts are tried.
const TRIED_STATES: u64 = 1 << 13;
/// Groups of more rows x values^2 are not looked at while cuts are tried.
const TRIED_WORK: usize = 100_000_000;

/// The rows of the table, and what their columns mean.
pub struct Known<'a> {
    /// What the run may use.
    pub resources: &'a Resources<'a>,
    /// The rows.
    pub store: &'a PageStore<'a>,
    /// The quasi-identifiers.
    pub attributes: &'a [Attribute],
    /// What the policy says of each.
    pub quasi: &'a [&'a Quasi],
}

/// The test as a criterion for the planner: what the adversaries of a policy believe of everybody.
pub struct BeliefsCriterion {
    combinations: Combinations,
    adversaries: Vec<(Priors, Threshold)>,
    comparison: Comparison,
    _room: Reservation,
}

impl BeliefsCriterion {
    /// For one sensitive column; `code` tells the value of that column by the sensitive code of a row.
    pub fn new(
        known: &Known<'_>,
        question: &Question,
        sensitive: &SensitiveCoding,
        code: &[u16],
    ) -> Result<Self> {
        let Known { resources, store, attributes, quasi } = known;
        let budget = &resources.budget;
        let spill = Arc::new(Spill::create(&resources.temp)?);
        let distances = attributes.iter().zip(*quasi).map(|(a, quasi)| original::distance(a, quasi));
        let distances = distances.collect::<Result<Vec<_>>>()?;
        let comparison = question.comparison(sensitive)?;
        let gatherer = Gatherer::new(&spill, budget)?;
        let mut room = store.layout().empty(0);
        resources.progress.start("counting combinations", Some(store.rows()));
        for page in 0..store.len() {
            let rows = store.load(page, &mut room)?;
            gatherer.add(rows, |own| code[usize::from(own)])?;
            resources.progress.advance(rows.len() as u64);
        }
        let (combinations, room) = gatherer.finish(attributes.len(), sensitive.len(), budget)?;
        let means = Means { threads: resources.threads, budget, progress: resources.progress };
        let names: Vec<&str> = attributes.iter().map(|attribute| attribute.name.as_str()).collect();
        let mut adversaries = Vec::new();
        for point in &question.points {
            let kernels = kernels(&names, &distances, &point.bandwidth)?;
            let priors = Priors::compute(&combinations, kernels, &means)?;
            let threshold = point.thresholds.iter().min().ok_or_else(|| {
                Error::input("an adversary has no threshold", "write t beside the bandwidth")
            })?;
            adversaries.push((priors, Threshold::new(threshold.clone())));
        }
        Ok(BeliefsCriterion { combinations, adversaries, comparison, _room: room })
    }

    fn judge_group(&self, rows: &Rows, of: &[u32], part: &GroupCounts, effort: Effort) -> Passes {
        if effort == Effort::Try && of.len().saturating_mul(part.counts.len().pow(2)) > TRIED_WORK {
            return Passes::Unknown;
        }
        let mut codes = Vec::with_capacity(rows.columns.len());
        let mut combinations = Vec::with_capacity(of.len());
        for &row in of {
            codes.clear();
            codes.extend(rows.columns.iter().map(|column| u32::from(column.get(row as usize))));
            match self.combinations.find(&codes) {
                Some(combination) => combinations.push(combination),
                None => return Passes::Unknown,
            }
        }
        combinations.sort_unstable();
        let same = combinations.chunk_by(|a, b| a == b);
        let members: Vec<Member> =
            same.map(|same| Member { combination: same[0], rows: same.len() as u64 }).collect();
        let group = Group { members: &members, counts: &part.counts };
        let states = match effort {
            Effort::Try => TRIED_STATES,
            Effort::Settle => crate::math::beliefs::group::MOST_STATES,
        };
        let mut all = Passes::Yes;
        for (priors, threshold) in &self.adversaries {
            let adversary = priors.adversary(&self.combinations, states);
            all = all.and(passes(&adversary, group, &self.comparison, threshold));
            if all == Passes::No {
                break;
            }
        }
        all
    }
}

impl Criterion for BeliefsCriterion {
    fn admits(&self, _parts: &[GroupCounts], _room: &mut Room) -> bool {
        true
    }

    fn accept(&mut self, _parts: &[GroupCounts]) {}

    fn least_people(&self) -> u64 {
        1
    }

    fn asks_for_rows(&self) -> bool {
        true
    }

    fn judge(&self, rows: &Rows, of: &[u32], part: &GroupCounts, effort: Effort) -> Passes {
        self.judge_group(rows, of, part, effort)
    }
}
