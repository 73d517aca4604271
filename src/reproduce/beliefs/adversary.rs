//! How far does a release of Adult move the beliefs of an adversary with bandwidth B?
//!
//! Memory: 8 B x values for each combination of quasi-identifiers, and the states of one group's posterior.

use std::time::Instant;

use super::trees;
use crate::error::{Error, Result};
use crate::math::beliefs::combinations::Combinations;
use crate::math::beliefs::comparison::BeliefComparison;
use crate::math::beliefs::distance::Distance;
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
    priors: Vec<Vec<f64>>,
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
    /// Rows whose belief moves by more than t.
    pub vulnerable: u64,
    /// The same, by the paper's estimate alone.
    pub vulnerable_by_omega: u64,
    /// The largest distance.
    pub worst: f64,
    /// Rows in groups whose posterior is only estimated.
    pub estimated: u64,
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
        let priors = PriorPlan::new(&table, &kernels, WORKSPACE)?.run_all();
        let seconds = start.elapsed().as_secs_f64();
        let of_row =
            (0..rows.len()).map(|row| table.find(&codes(row)).map_or(0, |found| found as u32)).collect();
        Ok(PaperAdversary { of_row, priors, seconds })
    }

    /// The belief about a row before the release.
    pub fn prior(&self, row: u32) -> &[f64] {
        &self.priors[self.of_row[row as usize] as usize]
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

    /// Attacks every row of a release.
    pub fn attack(
        &self,
        rows: &CodedRows<'_>,
        groups: &Groups,
        t: f64,
        comparison: &mut BeliefComparison,
    ) -> Attack {
        let mut attack = Attack::default();
        for group in groups {
            let (posteriors, exact) = self.posteriors(rows, group, Posterior::ExactWhereSmall);
            if !exact {
                attack.estimated += group.len() as u64;
            }
            let (omegas, _) = self.posteriors(rows, group, Posterior::Omega);
            for ((&row, posterior), omega) in group.iter().zip(&posteriors).zip(&omegas) {
                let distance = comparison.measure(self.prior(row), posterior, 0.0).distance;
                let within = distance <= t;
                attack.vulnerable += u64::from(!within);
                let estimated = comparison.measure(self.prior(row), omega, 0.0).distance;
                let within = estimated <= t;
                attack.vulnerable_by_omega += u64::from(!within);
                attack.worst = if distance.is_nan() { 1.0 } else { attack.worst.max(distance) };
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
