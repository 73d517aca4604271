//! What can be claimed about a published group?
//!
//! Memory: that of the posterior's lattice, within the caller's limit of states. Invariant: a group is called
//! robust only with a proof; nothing depends on how the group was made.

use super::conditions::{delta, member_ranks, ratio_condition};
use super::enclosure::Enclosure;
use super::priors::Priors;
use super::ranges::GroupPriors;
use super::requirement::Requirement;
use super::tuples::Tuples;
use crate::error::{Error, Result};
use crate::math::exact::{Rational, f64_at_least};
use crate::math::posterior::{self, Against, Refusal};

/// A published group: its tuples' signatures and, separately, its values.
#[derive(Debug, Clone, Copy)]
pub struct PublishedGroup<'a> {
    /// One signature per attribute set, tuple by tuple.
    pub signatures: &'a [u32],
    /// The distinct values and how often each occurs.
    pub values: &'a [(u32, u32)],
}

/// How a group was shown to be r-robust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// By its exact posteriors.
    Posterior,
    /// By a bound for at least one attribute set: the ratio condition, or an enclosure of the posteriors.
    Bound,
}

/// What is known about a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RobustVerdict {
    /// No posterior exceeds 1/r.
    Robust(Proof),
    /// Some posterior exceeds 1/r; the largest, rounded up.
    Breached {
        /// The largest posterior, rounded up.
        posterior: f64,
    },
    /// Too large for the posterior, and no bound shows it: not proven to be robust.
    NotShown,
    /// The priors give every assignment weight 0: an input error, and not safe.
    Contradiction,
}

/// A verdict with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// The verdict over all attribute sets.
    pub verdict: RobustVerdict,
    /// For each of the group's values the largest posterior of any tuple, rounded up; `None` if the group is too
    /// large or the priors contradict it.
    pub worst: Option<Vec<f64>>,
}

/// Judges a published group; its posteriors are computed if they need at most `states` states.
pub fn assess(
    priors: &Priors,
    requirement: &Requirement,
    group: PublishedGroup<'_>,
    states: u64,
) -> Result<Assessment> {
    group.check(priors)?;
    let mut worst = Some(vec![0.0f64; group.values.len()]);
    let mut breach: Option<f64> = None;
    let (mut shown, mut proof) = (true, Proof::Posterior);
    let compact = group.distinct(priors);
    for set in 0..priors.sets() {
        let by_ratio = || {
            compact.as_ref().is_some_and(|group| {
                group.values.len() as u64 >= requirement.smallest_group()
                    && ratio_condition(requirement, &priors.levels, group, set)
            })
        };
        match set_posterior(priors, requirement, group, set, states, by_ratio) {
            Ok((against, largest)) => {
                if against == Against::Above {
                    let top = largest.iter().copied().fold(0.0, f64::max);
                    breach = Some(breach.map_or(top, |breach| breach.max(top)));
                }
                if let Some(worst) = &mut worst {
                    worst.iter_mut().zip(largest).for_each(|(worst, largest)| *worst = worst.max(largest));
                }
            }
            Err(Refusal::Contradiction) => {
                return Ok(Assessment { verdict: RobustVerdict::Contradiction, worst: None });
            }
            Err(_) => {
                proof = Proof::Bound;
                let by_ratio = by_ratio();
                let enough = requirement.below();
                let enclosure = if by_ratio { None } else { Enclosure::new(priors, group, set, enough) };
                let most = enclosure.map(|own| own.by_value());
                // A NaN is not at most 1/r.
                shown &=
                    by_ratio || most.as_ref().is_some_and(|most| most.iter().all(|most| *most <= enough));
                worst = worst.zip(most).map(|(mut worst, most)| {
                    worst.iter_mut().zip(most).for_each(|(worst, most)| *worst = worst.max(most));
                    worst
                });
            }
        }
    }
    let verdict = match breach {
        Some(posterior) => RobustVerdict::Breached { posterior },
        None if shown => RobustVerdict::Robust(proof),
        None => RobustVerdict::NotShown,
    };
    Ok(Assessment { verdict, worst })
}

/// Judges every group of a grouping again, independently of the test that made it.
pub fn verify(
    priors: &Priors,
    requirement: &Requirement,
    tuples: Tuples<'_>,
    groups: &[Vec<u32>],
    states: u64,
) -> Result<Vec<Assessment>> {
    tuples.check(priors)?;
    let judge = |group: &Vec<u32>| {
        if group.iter().any(|&tuple| tuple as usize >= tuples.values.len()) {
            return Err(unmatched());
        }
        let mut values: Vec<u32> = group.iter().map(|&tuple| tuples.values[tuple as usize]).collect();
        values.sort_unstable();
        let counts = values.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32));
        let signatures =
            group.iter().flat_map(|&tuple| tuples.signatures.iter().map(move |set| set[tuple as usize]));
        let (values, signatures): (Vec<_>, Vec<_>) = (counts.collect(), signatures.collect());
        assess(priors, requirement, PublishedGroup { signatures: &signatures, values: &values }, states)
    };
    groups.iter().map(judge).collect()
}

/// Whether the printed Delta condition accepts the group, to show where it is wrong.
pub fn delta_claims(priors: &Priors, requirement: &Requirement, group: PublishedGroup<'_>) -> Result<bool> {
    group.check(priors)?;
    Ok(group.distinct(priors).is_some_and(|group| {
        group.values.len() as u64 >= requirement.smallest_group()
            && (0..priors.sets()).all(|set| delta(requirement, &priors.levels, &group, set))
    }))
}

impl PublishedGroup<'_> {
    fn check(&self, priors: &Priors) -> Result<()> {
        let sets = priors.sets();
        let tuples: u64 = self.values.iter().map(|&(_, count)| u64::from(count)).sum();
        let known_values =
            self.values.iter().all(|&(value, count)| (value as usize) < priors.values() && count > 0);
        let mut values: Vec<u32> = self.values.iter().map(|&(value, _)| value).collect();
        values.sort_unstable();
        let distinct = values.windows(2).all(|pair| pair[0] < pair[1]);
        let fits =
            tuples > 0 && sets > 0 && self.signatures.len() as u64 == tuples.saturating_mul(sets as u64);
        let known_signatures = fits
            && self.signatures.chunks_exact(sets).all(|member| {
                member.iter().enumerate().all(|(set, &at)| (at as usize) < priors.signatures(set))
            });
        if known_values && distinct && known_signatures {
            return Ok(());
        }
        Err(unmatched())
    }

    /// The group as a group of distinct values, if its values are distinct.
    fn distinct(&self, priors: &Priors) -> Option<GroupPriors> {
        self.values.iter().all(|&(_, count)| count == 1).then(|| {
            let values = self.values.iter().map(|&(value, _)| value).collect();
            GroupPriors::new(priors, values, self.signatures.to_vec())
        })
    }
}

/// The largest posterior of each value, rounded up, and where the overall largest lies, for one attribute
/// set; `proven` decides ties if it can, which avoids exact arithmetic.
fn set_posterior(
    priors: &Priors,
    requirement: &Requirement,
    group: PublishedGroup<'_>,
    set: usize,
    states: u64,
    proven: impl FnOnce() -> bool,
) -> Result<(Against, Vec<f64>), Refusal> {
    let counts: Vec<u32> = group.values.iter().map(|&(_, count)| count).collect();
    let values: Vec<u32> = group.values.iter().map(|&(value, _)| value).collect();
    let ranks: Vec<_> = member_ranks(priors, &values, group.signatures, set).collect();
    let near: Vec<f64> = ranks.iter().map(|&rank| priors.levels.near(rank)).collect();
    let fractions =
        || ranks.iter().map(|&rank| priors.levels.exact(rank).rational()).collect::<Vec<Rational>>();
    let (against, bounds) =
        posterior::judge(&counts, &near, proven, fractions, requirement.threshold(), states)?;
    let mut largest = vec![0.0f64; counts.len()];
    for tuple in bounds.chunks_exact(counts.len()) {
        largest.iter_mut().zip(tuple).for_each(|(largest, bound)| *largest = largest.max(*bound));
    }
    if against == Against::AtMost {
        // Both are upper bounds; the certain one is not affected by rounding.
        let most = f64_at_least(requirement.threshold());
        largest.iter_mut().for_each(|largest| *largest = largest.min(most));
    }
    Ok((against, largest))
}

fn unmatched() -> Error {
    Error::input(
        "a group's tuples and values do not match each other or the distributions",
        "check that the release is complete and that the distributions cover all of its signatures",
    )
}
