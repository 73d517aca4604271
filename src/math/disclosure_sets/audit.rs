//! For each function and strategy: which instances remain, and what is published?
//!
//! The naive release needs no set of its own: naive publishes function i for exactly the instances whose PER
//! passes at i and fails at every earlier function, and that is the exclusive disclosure set of i. The
//! exclusive strategy is the naive one with a veto.

use super::arrangements::{TooLarge, Work};
use super::estimate::{Estimate, estimate};
use super::failing::{Failing, KnownRegions, passes, summarize_per};
use super::inclusive::Inclusive;
use super::partition::{Counts, Partition, Value};
use super::property::{Property, PropertyJudge, SharesSummary};
use crate::error::{Error, Result};

/// How much work each disclosure set may cost, and what happens beyond that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Counting steps per set; roughly a million per second.
    pub steps: u64,
    /// Counting states held at a time, about 200 bytes each.
    pub states: usize,
    /// Instances drawn for an estimate when counting is refused.
    pub samples: usize,
    /// The seed of the estimates.
    pub seed: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { steps: 10_000_000, states: 1_000_000, samples: 10_000, seed: 1 }
    }
}

/// How a function is chosen for publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayStrategy {
    /// The first function whose PER satisfies the property. Unsafe against an adversary who knows this.
    Naive,
    /// The first function whose disclosure set satisfies the property.
    Inclusive,
    /// The first function whose PER satisfies the property, if its disclosure set does too; otherwise
    /// nothing.
    Exclusive,
}

/// What a strategy publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditedRelease {
    /// The publication of this function, counted from 0.
    Function(usize),
    /// Nothing.
    Nothing,
    /// Nothing: the disclosure set of this function would decide, but it was too large to count.
    Undecided(usize),
}

/// A disclosure set, counted or refused.
#[derive(Debug, Clone, PartialEq)]
pub enum AuditFinding {
    /// Counted exactly.
    Exact(SharesSummary),
    /// Too large to count within the limits.
    Refused {
        /// The reason, for display.
        reason: String,
        /// What a sample suggests; `None` if deciding membership in the set was also too costly.
        estimate: Option<Estimate>,
    },
}

impl AuditFinding {
    /// Does the set satisfy the property? `None` if it was not counted, which never counts as a yes.
    pub fn holds(&self) -> Option<bool> {
        match self {
            AuditFinding::Exact(summary) => Some(summary.holds),
            AuditFinding::Refused { .. } => None,
        }
    }
}

/// What remains possible given one function's publication.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionAudit {
    /// All rearrangements: what an adversary who only sees the publication knows.
    pub per: SharesSummary,
    /// What remains under the inclusive strategy.
    pub inclusive: AuditFinding,
    /// What remains under the exclusive strategy, and under the naive one.
    pub exclusive: AuditFinding,
}

/// The audit of a table against a sequence of functions.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// One entry for each function, in release order.
    pub functions: Vec<FunctionAudit>,
    /// What the naive strategy publishes.
    pub naive: AuditedRelease,
    /// What the inclusive strategy publishes.
    pub inclusive: AuditedRelease,
    /// What the exclusive strategy publishes.
    pub exclusive: AuditedRelease,
}

impl Audit {
    /// What remains for an adversary who knows the algorithm after the naive release; `None` without one.
    pub fn naive_adversary(&self) -> Option<&AuditFinding> {
        match self.naive {
            AuditedRelease::Function(function) => Some(&self.functions[function].exclusive),
            AuditedRelease::Nothing | AuditedRelease::Undecided(_) => None,
        }
    }
}

/// A table, the generalization functions in release order, and the required property.
#[derive(Debug)]
pub struct Sequence {
    functions: Vec<Partition>,
    table: Vec<Value>,
    publications: Vec<Vec<Counts>>,
    judge: PropertyJudge,
    limits: Limits,
}

impl Sequence {
    /// `table[person]` is the code of the person's sensitive value.
    pub fn new(
        functions: Vec<Partition>,
        table: Vec<Value>,
        property: &Property,
        limits: Limits,
    ) -> Result<Self> {
        if functions.is_empty() || table.is_empty() {
            return Err(Error::input(
                "an audit needs at least one generalization function and one person",
                "state the functions in the policy or give a table of group numbers",
            ));
        }
        for (at, function) in functions.iter().enumerate() {
            if function.people() != table.len() {
                return Err(Error::input(
                    format!(
                        "generalization function {} groups {} people, the table has {}",
                        at + 1,
                        function.people(),
                        table.len()
                    ),
                    "every function must give a group to every person of the table",
                ));
            }
        }
        let judge = PropertyJudge::new(property)?;
        let publications = functions.iter().map(|function| function.publish(&table)).collect();
        Ok(Sequence { functions, table, publications, judge, limits })
    }

    /// The full audit of every function.
    pub fn audit(&self) -> Audit {
        let mut verdicts = Inclusive::new(&self.judge, &self.functions);
        let functions = (0..self.functions.len()).map(|function| FunctionAudit {
            per: self.per(function),
            inclusive: self.inclusive(function, &mut verdicts),
            exclusive: self.exclusive(function),
        });
        let functions: Vec<FunctionAudit> = functions.collect();
        Audit {
            naive: self.release(ReplayStrategy::Naive),
            inclusive: first_that_holds(functions.iter().map(|function| function.inclusive.holds())),
            exclusive: match self.first_safe_per() {
                Some(function) => release_if(function, functions[function].exclusive.holds()),
                None => AuditedRelease::Nothing,
            },
            functions,
        }
    }

    /// What a strategy publishes, computing no more than necessary.
    pub fn release(&self, strategy: ReplayStrategy) -> AuditedRelease {
        match strategy {
            ReplayStrategy::Naive => {
                self.first_safe_per().map_or(AuditedRelease::Nothing, AuditedRelease::Function)
            }
            ReplayStrategy::Inclusive => {
                let mut verdicts = Inclusive::new(&self.judge, &self.functions);
                first_that_holds((0..self.functions.len()).map(|function| {
                    verdicts.holds(function, &self.publications[function], &mut self.work()).ok()
                }))
            }
            ReplayStrategy::Exclusive => match self.first_safe_per() {
                Some(function) => {
                    let counted = self.count_exclusive(function);
                    release_if(function, counted.ok().map(|summary| summary.holds))
                }
                None => AuditedRelease::Nothing,
            },
        }
    }

    /// What remains possible for an adversary who knows a function's publication and the strategy.
    pub fn left(&self, strategy: ReplayStrategy, function: usize) -> AuditFinding {
        match strategy {
            ReplayStrategy::Naive | ReplayStrategy::Exclusive => self.exclusive(function),
            ReplayStrategy::Inclusive => {
                self.inclusive(function, &mut Inclusive::new(&self.judge, &self.functions))
            }
        }
    }

    fn first_safe_per(&self) -> Option<usize> {
        self.publications.iter().position(|groups| groups.iter().all(|group| passes(&self.judge, group)))
    }

    fn work(&self) -> Work {
        Work { steps: self.limits.steps, states: self.limits.states }
    }

    /// All rearrangements of a function's publication.
    pub fn per(&self, function: usize) -> SharesSummary {
        summarize_per(&self.judge, &self.functions[function], &self.publications[function])
    }

    fn count_exclusive(&self, function: usize) -> Result<SharesSummary, TooLarge> {
        let earlier: Vec<&Partition> = self.functions[..function].iter().collect();
        let (published, counts) = (&self.functions[function], &self.publications[function]);
        let failing = Failing::new(
            &self.judge,
            published,
            counts,
            &earlier,
            &mut KnownRegions::default(),
            &mut self.work(),
        )?;
        Ok(failing.summarize(&self.judge))
    }

    fn exclusive(&self, function: usize) -> AuditFinding {
        let earlier = &self.functions[..function];
        self.count_exclusive(function).map(AuditFinding::Exact).unwrap_or_else(|TooLarge| {
            self.refuse(function, |instance| {
                let fails = |partition: &Partition| {
                    partition.publish(instance).iter().any(|group| !passes(&self.judge, group))
                };
                Ok(earlier.iter().all(fails))
            })
        })
    }

    fn inclusive(&self, function: usize, verdicts: &mut Inclusive<'_>) -> AuditFinding {
        let counted = verdicts.summarize(function, &self.publications[function], &mut self.work());
        counted.map(AuditFinding::Exact).unwrap_or_else(|TooLarge| {
            let mut work = self.work();
            self.refuse(function, |instance| verdicts.contains(function, instance, &mut work))
        })
    }

    fn refuse(
        &self,
        function: usize,
        is_member: impl FnMut(&[Value]) -> Result<bool, TooLarge>,
    ) -> AuditFinding {
        let Limits { steps, states, samples, seed } = self.limits;
        let reason = format!(
            "counting the disclosure set of function {} takes more than {steps} steps or {states} states",
            function + 1
        );
        let estimate = estimate(&self.functions[function], &self.table, samples, seed, is_member).ok();
        AuditFinding::Refused { reason, estimate }
    }
}

fn first_that_holds(verdicts: impl Iterator<Item = Option<bool>>) -> AuditedRelease {
    for (function, holds) in verdicts.enumerate() {
        if holds != Some(false) {
            return release_if(function, holds);
        }
    }
    AuditedRelease::Nothing
}

fn release_if(function: usize, holds: Option<bool>) -> AuditedRelease {
    match holds {
        Some(true) => AuditedRelease::Function(function),
        Some(false) => AuditedRelease::Nothing,
        None => AuditedRelease::Undecided(function),
    }
}
