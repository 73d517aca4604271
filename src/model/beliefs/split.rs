//! Bounds on how far beliefs move, as a split test.
//!
//! The test examines the rows of a group, not just its counts, and it is not monotone: a part of a group that
//! passes may fail, and a part of one that fails may pass. So splitting applies it to every part of a cut,
//! and merges a group that fails back into the next larger one that passes.
//!
//! Memory: the combinations and priors of the table, reserved from the budget; see [`super::original`].

use std::sync::Arc;

use super::original::{self, Gatherer};
use super::policy::BeliefsModel;
use super::priors::{Means, kernels};
use super::{KernelPriors, Question};
use crate::encode::attribute::Attribute;
use crate::encode::group_counts::Part;
use crate::encode::page::PageStore;
use crate::encode::rows::Rows;
use crate::encode::sensitive::SensitiveCoding;
use crate::error::{Error, Result};
use crate::math::beliefs::combinations::Combinations;
use crate::math::beliefs::comparison::BeliefComparison;
use crate::math::beliefs::divergence::Threshold;
use crate::math::beliefs::group::{BeliefGroup, Member, Passes, passes};
use crate::model::obstacle::{Objection, ObstructingRule};
use crate::model::protection::CodedTarget;
use crate::model::split::{Effort, Scratch, SplitTest};
use crate::model::suppression::SuppressedShare;
use crate::policy::Quasi;
use crate::resources::Resources;
use crate::resources::budget::Reservation;

/// Groups with more states are not computed exactly while cuts are tried.
const TRIED_STATES: u64 = 1 << 13;
/// Groups with more rows x values^2 are not examined while cuts are tried.
const TRIED_WORK: usize = 100_000_000;

/// The rows of the table, and what their columns mean.
pub struct TableRows<'a> {
    /// The resources of the run.
    pub resources: &'a Resources<'a>,
    /// The rows.
    pub store: &'a PageStore<'a>,
    /// The quasi-identifiers.
    pub attributes: &'a [Attribute],
    /// What the policy declares about each.
    pub quasi: &'a [&'a Quasi],
}

/// What the adversaries of a policy believe about each person; copies share it.
#[derive(Clone)]
pub struct BeliefsTest {
    beliefs: Arc<PriorBeliefs>,
}

struct PriorBeliefs {
    combinations: Combinations,
    adversaries: Vec<(KernelPriors, Threshold)>,
    comparison: BeliefComparison,
    suppress: SuppressedShare,
    _reservation: Reservation,
}

impl BeliefsTest {
    /// For one sensitive column; `code` maps the sensitive code of a row to the value of that column.
    pub fn new(
        known: &TableRows<'_>,
        question: &Question,
        sensitive: &SensitiveCoding,
        code: &[u16],
    ) -> Result<Self> {
        let TableRows { resources, store, attributes, quasi } = known;
        let budget = &resources.budget;
        let spill = Arc::new(resources.new_spill()?);
        let distances = attributes.iter().zip(*quasi).map(|(a, quasi)| original::distance(a, quasi));
        let distances = distances.collect::<Result<Vec<_>>>()?;
        let comparison = question.comparison(sensitive)?;
        let gatherer = Gatherer::new(&spill, budget)?;
        let mut page_rows = store.layout().empty(0);
        resources.progress.start("counting combinations", Some(store.rows()));
        for page in 0..store.len() {
            let rows = store.load(page, &mut page_rows)?;
            gatherer.add(rows, |own| code[usize::from(own)])?;
            resources.progress.advance(rows.len() as u64);
        }
        let (combinations, reservation) = gatherer.finish(attributes.len(), sensitive.len(), budget)?;
        let means = Means { threads: resources.threads, budget, progress: resources.progress };
        let names: Vec<&str> = attributes.iter().map(|attribute| attribute.name.as_str()).collect();
        let mut adversaries = Vec::new();
        for point in &question.points {
            let kernels = kernels(&names, &distances, &point.bandwidth)?;
            let priors = KernelPriors::compute(&combinations, kernels, &means)?;
            let threshold = point.thresholds.iter().min().ok_or_else(|| {
                Error::input("an adversary has no threshold", "write t next to the bandwidth")
            })?;
            adversaries.push((priors, Threshold::new(threshold.clone())));
        }
        let suppress = question.roles.suppress.clone();
        let beliefs =
            PriorBeliefs { combinations, adversaries, comparison, suppress, _reservation: reservation };
        Ok(BeliefsTest { beliefs: Arc::new(beliefs) })
    }
}

impl PriorBeliefs {
    fn judge_group(&self, rows: &Rows, of: &[u32], part: &Part, effort: Effort) -> Passes {
        if effort == Effort::Try && of.len().saturating_mul(part.values().pow(2)) > TRIED_WORK {
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
        let counts = part.unpack().counts;
        let group = BeliefGroup { members: &members, counts: &counts };
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

impl SplitTest for BeliefsTest {
    fn admits(&self, _parts: &[Part], _scratch: &mut Scratch) -> bool {
        true
    }

    fn accept(&mut self, _parts: &[Part]) -> bool {
        false
    }

    fn least_people(&self) -> u64 {
        1
    }

    fn fork(&self) -> Box<dyn SplitTest> {
        Box::new(self.clone())
    }

    fn afresh(&self) -> Box<dyn SplitTest> {
        self.fork()
    }

    fn objection(&self, _parts: &[Part], _scratch: &mut Scratch) -> Option<Objection> {
        Some(Objection::at_limit(ObstructingRule::Adversary))
    }

    fn asks_for_rows(&self) -> bool {
        true
    }

    fn suppress(&self) -> Option<&SuppressedShare> {
        Some(&self.beliefs.suppress).filter(|share| share.allows_some())
    }

    fn judge(&self, rows: &Rows, of: &[u32], part: &Part, effort: Effort) -> Passes {
        self.beliefs.judge_group(rows, of, part, effort)
    }
}

impl BeliefsModel {
    pub(in crate::model) fn split_test(&self, coded: &CodedTarget<'_>) -> Result<Box<dyn SplitTest>> {
        let question = Question::of(coded.policy, coded.target, self)?;
        let (Some(rows), [coding]) = (coded.rows, &coded.values.codings[..]) else {
            return Err(Error::input(
                "the model \"beliefs\" is judged by the rows of a table with one column to protect",
                "choose another model",
            ));
        };
        // Beside this model there are no lists, so every code is of this column.
        let code: Vec<u16> = coded.code.iter().copied().flatten().collect();
        Ok(Box::new(BeliefsTest::new(rows, &question, coding, &code)?))
    }
}
