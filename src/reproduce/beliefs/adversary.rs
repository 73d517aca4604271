//! How far does a release of Adult move the beliefs of an adversary with bandwidth B?
//!
//! Memory: 8 B x values for each combination of quasi-identifiers, and the states of one group's posterior.

use std::time::Instant;

use super::trees;
use crate::error::{Error, Result};
use crate::math::beliefs::combinations::Combinations;
use crate::math::beliefs::comparison::BeliefComparison;
use crate::math::beliefs::distance::Distance;
use crate::math::beliefs::divergence::{DistanceVerdict, Threshold};
use crate::math::beliefs::group::{BeliefAdversary, BeliefGroup, Beliefs, Member, Passes, passes};
use crate::math::beliefs::kernel::Kernel;
use crate::math::beliefs::omega::omega_estimate;
use crate::math::beliefs::prior::PriorPlan;
use crate::math::beliefs::smoothing::Smoothing;
use crate::math::exact::parse_fraction;
use crate::math::posterior;
use crate::reproduce::mondrian::{CodedRows, Groups};

/// Posteriors of groups with more states are estimated.
const STATES: u64 = 1 << 14;
/// Workspace for priors, in bytes.
const WORKSPACE: u64 = 256 << 20;
/// Smoothing of occupations: strictly above 1/2, the distance between siblings.
const SMOOTHING: &str = "0.75";

/// The beliefs of an adversary with one bandwidth about every row before the release.
pub struct PaperAdversary {
    of_row: Vec<u32>,
    table: Combinations,
    kernels: Vec<Kernel>,
    priors: Vec<f64>,
    /// No prior is off by more than this, relatively.
    error: f64,
    /// The time to compute the priors, in seconds.
    pub seconds: f64,
}

/// How posteriors are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posterior {
    /// By the paper's estimate, which is too low.
    Omega,
    /// Exactly if the group is small, otherwise by the estimate.
    ExactWhereSmall,
}

/// The result of an attack on a release.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attack {
    /// Rows whose belief certainly moves by more than t.
    pub vulnerable: u64,
    /// The rows that would be vulnerable by the paper's estimate.
    pub vulnerable_by_omega: u64,
    /// The largest distance that is certain.
    pub worst: f64,
    /// Rows for which neither exact posteriors nor proved bounds decide.
    pub undecided: u64,
}

impl PaperAdversary {
    /// Creates the adversary with one bandwidth for each quasi-identifier.
    pub fn new(rows: &CodedRows<'_>, bandwidths: &[&str]) -> Result<Self> {
        let distances: Vec<Distance> =
            rows.quasi.iter().map(|column| trees::distance(column)).collect::<Result<_>>()?;
        let codes =
            |row: usize| rows.quasi.iter().map(|column| u32::from(column.codes[row])).collect::<Vec<u32>>();
        let all: Vec<(Vec<u32>, u32)> =
            (0..rows.len()).map(|row| (codes(row), rows.sensitive.codes[row].into())).collect();
        let start = Instant::now();
        let table = Combinations::from_rows(rows.quasi.len(), rows.sensitive.texts.len(), all)?;
        let mut kernels = Vec::new();
        for ((distance, bandwidth), column) in distances.iter().zip(bandwidths).zip(&rows.quasi) {
            let bandwidth = parse_fraction(bandwidth).ok_or_else(|| missing(&column.name))?;
            kernels.push(Kernel::new(distance, &bandwidth, &column.name)?);
        }
        let plan = PriorPlan::new(&table, &kernels, WORKSPACE)?;
        let (priors, error) = (plan.run_all().concat(), plan.relative_error());
        drop(plan);
        let seconds = start.elapsed().as_secs_f64();
        let of_row =
            (0..rows.len()).map(|row| table.find(&codes(row)).map_or(0, |found| found as u32)).collect();
        Ok(PaperAdversary { of_row, table, kernels, priors, error, seconds })
    }

    fn beliefs(&self) -> BeliefAdversary<'_> {
        let PaperAdversary { table, kernels, priors, error, .. } = self;
        BeliefAdversary { table, kernels, priors, error: *error, states: STATES }
    }

    /// The combinations of a group, and the place of each row among them.
    fn members(&self, group: &[u32]) -> (Vec<Member>, Vec<usize>) {
        let mut combinations: Vec<u32> = group.iter().map(|&row| self.of_row[row as usize]).collect();
        combinations.sort_unstable();
        let same = combinations.chunk_by(|a, b| a == b);
        let members: Vec<Member> =
            same.map(|same| Member { combination: same[0] as usize, rows: same.len() as u64 }).collect();
        let place = |&row: &u32| {
            let own = self.of_row[row as usize] as usize;
            members.partition_point(|member| member.combination < own)
        };
        let places = group.iter().map(place).collect();
        (members, places)
    }

    /// The belief about a row before the release.
    pub fn prior(&self, row: u32) -> &[f64] {
        let values = self.table.values();
        &self.priors[self.of_row[row as usize] as usize * values..][..values]
    }

    /// The beliefs about the rows of a group after the release, and whether they are exact.
    pub fn posteriors(&self, rows: &CodedRows<'_>, group: &[u32], how: Posterior) -> (Vec<Vec<f64>>, bool) {
        let counts = rows.counts(group);
        if how == Posterior::ExactWhereSmall
            && let Some(exact) = self.exact(group, &counts)
        {
            return (exact, true);
        }
        let priors: Vec<&[f64]> = group.iter().map(|&row| self.prior(row)).collect();
        let counted: Vec<(&[f64], u64)> = priors.iter().map(|prior| (*prior, 1)).collect();
        (omega_estimate(&counted, &counts), false)
    }

    fn exact(&self, group: &[u32], counts: &[u64]) -> Option<Vec<Vec<f64>>> {
        let present: Vec<usize> = (0..counts.len()).filter(|&value| counts[value] > 0).collect();
        let occurrences: Vec<u32> = present.iter().map(|&value| counts[value] as u32).collect();
        let states = occurrences.iter().try_fold(1u64, |all, &count| all.checked_mul(u64::from(count) + 1));
        if states.is_none_or(|states| states > STATES) {
            return None;
        }
        let priors: Vec<f64> =
            group.iter().flat_map(|&row| present.iter().map(move |&value| self.prior(row)[value])).collect();
        let found = posterior::approximate(&occurrences, &priors, STATES).ok()?;
        let full = |own: &[f64]| {
            let mut posterior = vec![0.0; counts.len()];
            present.iter().zip(own).for_each(|(&value, &chance)| posterior[value] = chance);
            posterior
        };
        Some(found.posteriors.chunks_exact(present.len()).map(full).collect())
    }

    /// Whether no belief about a group moves by more than t, by the paper's estimate.
    pub fn accepts(
        &self,
        rows: &CodedRows<'_>,
        group: &[u32],
        t: f64,
        comparison: &mut BeliefComparison,
    ) -> bool {
        let (posteriors, _) = self.posteriors(rows, group, Posterior::Omega);
        let moved = |(&row, posterior): (&u32, &Vec<f64>)| {
            comparison.measure(self.prior(row), posterior, 0.0).distance
        };
        // NaN is not accepted.
        group.iter().zip(&posteriors).map(moved).all(|distance| distance <= t)
    }

    /// Whether certainly no belief about a group moves by more than t.
    pub fn proves(
        &self,
        rows: &CodedRows<'_>,
        group: &[u32],
        threshold: &Threshold,
        comparison: &BeliefComparison,
    ) -> Passes {
        let (members, _) = self.members(group);
        let group = BeliefGroup { members: &members, counts: &rows.counts(group) };
        passes(&self.beliefs(), group, comparison, threshold)
    }

    /// The same by the states of the whole group and the first bound alone.
    pub fn proves_plainly(
        &self,
        rows: &CodedRows<'_>,
        group: &[u32],
        threshold: &Threshold,
        comparison: &BeliefComparison,
    ) -> Passes {
        let (members, _) = self.members(group);
        let (adversary, counts) = (self.beliefs(), rows.counts(group));
        let group = BeliefGroup { members: &members, counts: &counts };
        Beliefs::undivided(&adversary, group).pass(&mut comparison.clone(), threshold)
    }

    /// Attacks every row of a release.
    pub fn attack(
        &self,
        rows: &CodedRows<'_>,
        groups: &Groups,
        threshold: &Threshold,
        comparison: &mut BeliefComparison,
    ) -> Attack {
        let mut attack = Attack::default();
        let adversary = self.beliefs();
        for group in groups {
            let (members, places) = self.members(group);
            let counts = rows.counts(group);
            let mut beliefs = Beliefs::new(&adversary, BeliefGroup { members: &members, counts: &counts });
            let mut verdicts = Vec::new();
            for refined in [false, true] {
                if refined && !verdicts.contains(&DistanceVerdict::Undecided) {
                    break;
                }
                if refined {
                    beliefs.refine();
                }
                verdicts.clear();
                for member in 0..members.len() {
                    let moved = beliefs.moved(member, comparison);
                    attack.worst = attack.worst.max(moved.low);
                    verdicts.push(beliefs.verdict(member, moved, comparison, threshold));
                }
            }
            let omegas = beliefs.omega(comparison);
            for &place in &places {
                attack.vulnerable += u64::from(verdicts[place] == DistanceVerdict::Beyond);
                attack.undecided += u64::from(verdicts[place] == DistanceVerdict::Undecided);
                let beyond =
                    !matches!(threshold.place(omegas[place], omegas[place]), DistanceVerdict::Within);
                attack.vulnerable_by_omega += u64::from(beyond);
            }
        }
        attack
    }
}

/// How beliefs about occupations are compared.
pub fn comparison(rows: &CodedRows<'_>) -> Result<BeliefComparison> {
    let bandwidth = parse_fraction(SMOOTHING).ok_or_else(|| missing(&rows.sensitive.name))?;
    let smoothing = Smoothing::new(&trees::distance(rows.sensitive)?, &bandwidth, &rows.sensitive.name)?;
    Ok(BeliefComparison::new(Some(smoothing)))
}

fn missing(column: &str) -> Error {
    Error::input(format!("column `{column}`: the bandwidth is not a number"), "give a number such as 0.3")
}
