//! Does every group keep every posterior at most 1/r against an adversary who knows distributions?
//!
//! A group is judged by its exact posteriors if it is small enough, and by a bound otherwise; a
//! group that neither proves is not shown to be robust, and is not safe. People who are left out of a release whose
//! distributions come from the table count as a group of their own. Nothing depends on how the groups were made.
//!
//! Memory: the states of one group per thread; one number for each value.
//! Invariant: a comparison with 1/r is certain (equality is safe); contradictory distributions are an error.

use super::remainder::{ByCounts, Subtracted};
use super::{Distributions, KnownDistributions, RobustModel, RobustTest};
use crate::error::{Error, Result, number_of};
use crate::math::exact::{Rational, decimal_at_least};
use crate::math::robust::{Assessment, Proof, PublishedGroup, Requirement, RobustVerdict, assess};
use crate::model::finding::{
    Amount, Claim, ClaimSubject, ClaimVerdict, Datum, Finding, Limit, Measurement, Note, Side, Total,
    WorstByValue,
};
use crate::model::suppression::SuppressedShare;

/// Posteriors of groups with up to this many states (twelve different values) are always computed.
const STATES: u64 = 1 << 12;
/// If the ratio condition fails, those of groups with up to this many (sixteen different values).
const MOST_STATES: u64 = 1 << 16;
/// Digits after the point of a posterior in words.
const PLACES: usize = 6;

/// What must hold against an adversary who knows distributions.
#[derive(Debug, Clone, PartialEq)]
pub struct Robustness {
    /// The model in the policy.
    pub model: RobustModel,
    /// No posterior may be above 1/r.
    pub requirement: Requirement,
    /// How many people the owner allows to be left out, whether or not they pass as a group.
    pub suppress: SuppressedShare,
}

impl Robustness {
    /// Whether the distributions are estimated from the original table.
    pub fn is_estimated(&self) -> bool {
        self.model.distributions == Distributions::Estimated
    }
}

/// Assesses a group, with more effort if necessary; groups are independent, so many can be assessed at once.
pub fn assessed(
    known: &KnownDistributions,
    requirement: &Requirement,
    group: PublishedGroup<'_>,
) -> Result<Assessment> {
    let assessment = assess(known.priors(), requirement, group, STATES)?;
    match assessment.verdict {
        RobustVerdict::NotShown => assess(known.priors(), requirement, group, MOST_STATES),
        _ => Ok(assessment),
    }
}

/// The combined result of all groups observed so far.
#[derive(Debug, Clone, PartialEq)]
pub struct RobustJudge {
    by_posterior: u64,
    by_bound: u64,
    breached: u64,
    not_shown: u64,
    unmeasured: u64,
    /// The largest posterior of each value.
    worst: Vec<Option<f64>>,
    contradictions: u64,
    /// The smallest number of a group that contradicts the distributions.
    contradiction: Option<i64>,
}

impl RobustJudge {
    /// Nothing observed yet, for this number of values.
    pub fn new(values: usize) -> Self {
        RobustJudge {
            by_posterior: 0,
            by_bound: 0,
            breached: 0,
            not_shown: 0,
            unmeasured: 0,
            worst: vec![None; values],
            contradictions: 0,
            contradiction: None,
        }
    }

    /// Adds a group with these values and their counts.
    pub fn observe(&mut self, values: &[(u32, u32)], number: Option<i64>, assessment: &Assessment) {
        match assessment.verdict {
            RobustVerdict::Robust(Proof::Posterior) => self.by_posterior += 1,
            RobustVerdict::Robust(Proof::Bound) => self.by_bound += 1,
            RobustVerdict::Breached { .. } => self.breached += 1,
            RobustVerdict::NotShown => self.not_shown += 1,
            RobustVerdict::Contradiction => {
                self.contradictions += 1;
                self.contradiction = [self.contradiction, number].into_iter().flatten().min();
            }
        }
        match &assessment.worst {
            None => self.unmeasured += 1,
            Some(worst) => {
                for (&(value, _), &posterior) in values.iter().zip(worst) {
                    let own = &mut self.worst[value as usize];
                    *own = Some(own.map_or(posterior, |own| own.max(posterior)));
                }
            }
        }
    }

    /// Adds what another judge with the same distributions observed.
    #[cfg_attr(not(test), expect(dead_code, reason = "for engines that split the work"))]
    pub fn merge(&mut self, other: &RobustJudge) {
        self.by_posterior += other.by_posterior;
        self.by_bound += other.by_bound;
        self.breached += other.breached;
        self.not_shown += other.not_shown;
        self.unmeasured += other.unmeasured;
        self.contradictions += other.contradictions;
        self.contradiction = [self.contradiction, other.contradiction].into_iter().flatten().min();
        for (own, others) in self.worst.iter_mut().zip(&other.worst) {
            *own = [*own, *others].into_iter().flatten().reduce(f64::max);
        }
    }

    /// Adds what follows from the people who are left out; if the owner does not allow so many, they must be robust as a
    /// group, and the counts of a small table must give nothing away.
    fn add_subtracted(&mut self, subtracted: &Subtracted, suppress: &SuppressedShare) {
        if subtracted.left_out > 0 && suppress.allows(subtracted.left_out, subtracted.people) {
            return;
        }
        match subtracted.as_group.as_ref().map(|assessment| assessment.verdict) {
            None | Some(RobustVerdict::Robust(_)) => {}
            Some(RobustVerdict::NotShown) => self.not_shown += 1,
            Some(RobustVerdict::Breached { .. } | RobustVerdict::Contradiction) => self.breached += 1,
        }
        self.breached += u64::from(subtracted.by_counts == ByCounts::Breached);
    }

    /// Adds the results to the finding; `texts` are those of the values. `subtracted` is known if the distributions
    /// come from the table.
    pub fn finish(
        mut self,
        robustness: &Robustness,
        texts: &[&str],
        subtracted: Option<&Subtracted>,
        finding: &mut Finding,
    ) -> Result<()> {
        if self.contradictions > 0 {
            let groups = number_of(self.contradictions, "group", "groups");
            let first = self.contradiction.map_or(String::new(), |name| format!(", the first is {name}"));
            return Err(Error::input(
                format!("the distributions contradict the table: they make {groups} impossible{first}"),
                "give the distributions that belong to this table; what contradicts it proves nothing",
            ));
        }
        if let Some(subtracted) = subtracted {
            self.add_subtracted(subtracted, &robustness.suppress);
        }
        let worst = texts.iter().zip(&self.worst);
        let mut worst: Vec<(String, f64)> =
            worst.filter_map(|(text, worst)| Some((text.to_string(), (*worst)?))).collect();
        worst.sort_by(|a, b| a.0.cmp(&b.0));
        let holds = self.breached == 0 && self.not_shown == 0;
        let place = finding.claims.iter().take_while(|claim| claim.is_size()).count();
        finding.claims.insert(place, self.claim(holds));
        finding.safe &= holds;
        finding.notes.insert(0, Note::Summary(format!("posteriors {}", self.posteriors(robustness, &worst))));
        let mut total = self.total(robustness, holds, &worst);
        if let Some(subtracted) = subtracted {
            finding.notes.extend(subtracted.in_words().map(Note::Summary));
            total.fields.extend(subtracted.fields());
        }
        finding.totals.push(total);
        finding.worst = Some(WorstByValue { measured: "posterior", values: worst });
        Ok(())
    }

    fn claim(&self, holds: bool) -> Claim {
        Claim {
            subject: ClaimSubject::Everybody,
            knows: Vec::new(),
            measured: Measurement {
                name: "groups that may disclose more",
                amount: Amount::Count(self.breached + self.not_shown),
            },
            limit: Limit { name: "most", side: Side::AtMost, value: Rational::ZERO },
            group: None,
            verdict: ClaimVerdict::from(holds),
            counts: vec![
                ("by exact posteriors", self.by_posterior),
                ("by a bound", self.by_bound),
                ("above", self.breached),
                ("not shown", self.not_shown),
            ],
            evidence: Vec::new(),
        }
    }

    /// One line about posteriors.
    fn posteriors(&self, robustness: &Robustness, worst: &[(String, f64)]) -> String {
        let threshold = Rational::ONE / &robustness.model.r;
        let shown = self.by_posterior + self.by_bound;
        let all = shown + self.breached + self.not_shown;
        let mut text = match (self.breached, self.not_shown) {
            (0, 0) => format!("at most {threshold} in every group"),
            (0, open) => {
                format!("at most {threshold} in {shown} of {all} groups; {open} not shown to be robust")
            }
            (above, 0) => format!("above {threshold} in {above} of {all} groups"),
            (above, open) => {
                format!("above {threshold} in {above} of {all} groups; {open} more not shown to be robust")
            }
        };
        if let Some(worst) = largest(worst) {
            text.push_str(&format!("; the largest is {}", upwards(worst)));
            if self.unmeasured > 0 {
                let groups = number_of(self.unmeasured, "larger group", "larger groups");
                text.push_str(&format!(" where it was computed, besides {groups}"));
            }
        }
        text
    }

    /// The machine-readable total.
    fn total(&self, robustness: &Robustness, holds: bool, worst: &[(String, f64)]) -> Total {
        let test = robustness.model.test;
        let name = RobustTest::NAMES.into_iter().find(|(_, own)| *own == test).map_or("", |(name, _)| name);
        let value = |(value, posterior): &(String, f64)| {
            Datum::fields([("value", Datum::Text(value.clone())), ("posterior", (*posterior).into())])
        };
        Total {
            name: "distributions",
            fields: vec![
                ("r", robustness.model.r.to_string().into()),
                ("at_most", (Rational::ONE / &robustness.model.r).to_string().into()),
                ("test", name.to_string().into()),
                ("r_robust", holds.into()),
                ("groups_by_posterior", self.by_posterior.into()),
                ("groups_by_bound", self.by_bound.into()),
                ("groups_above", self.breached.into()),
                ("groups_not_shown", self.not_shown.into()),
                ("groups_without_posterior", self.unmeasured.into()),
                ("worst_posterior", Datum::of(largest(worst))),
                ("values", Datum::list(worst.iter().map(value))),
            ],
        }
    }
}

fn largest(worst: &[(String, f64)]) -> Option<f64> {
    worst.iter().map(|&(_, posterior)| posterior).reduce(f64::max)
}

/// A probability that is already rounded up, as decimals, rounded up again.
fn upwards(probability: f64) -> String {
    Rational::try_from(probability).map_or_else(|_| "1".to_string(), |exact| decimal_at_least(&exact, PLACES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn group((kind, worst): (u8, [u8; 2])) -> Assessment {
        let posterior = f64::from(worst[0].max(worst[1])) / 8.0;
        let verdict = match kind {
            0 => RobustVerdict::Robust(Proof::Posterior),
            1 => RobustVerdict::Robust(Proof::Bound),
            2 => RobustVerdict::Breached { posterior },
            3 => RobustVerdict::NotShown,
            _ => RobustVerdict::Contradiction,
        };
        let worst = (kind % 2 == 0).then(|| worst.map(|worst| f64::from(worst) / 8.0).to_vec());
        Assessment { verdict, worst }
    }

    proptest! {
        #[test]
        fn judges_merge_in_any_order(
            groups in prop::collection::vec((0u8..5, prop::array::uniform2(0u8..9)), 0..9),
            judge_of in prop::collection::vec(0usize..3, 9),
            order in Just(vec![0usize, 1, 2]).prop_shuffle(),
        ) {
            let judged = |numbers: &mut dyn Iterator<Item = usize>| {
                let mut judge = RobustJudge::new(3);
                let values = |number: usize| [(number as u32 % 2, 1), (2, 1)];
                numbers.for_each(|at| judge.observe(&values(at), Some(at as i64), &group(groups[at])));
                judge
            };
            let mut merged = RobustJudge::new(3);
            for judge in order {
                merged.merge(&judged(&mut (0..groups.len()).filter(|&at| judge_of[at] == judge)));
            }
            prop_assert_eq!(merged, judged(&mut (0..groups.len())));
        }
    }
}
