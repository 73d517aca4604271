//! What comes of policies that require more, or less, than the proposed one?
//!
//! The proposal is compared with its neighbours in the list of points, and with itself where a word that stands for
//! nothing is declared harmless. All are tried on the same sample; what comes of them is an estimate.

use super::policy::{Harmless, ReadingOptions};
use super::privacy::{Feasible, POINTS, ProposedProtection};
use super::role::PolicyProposal;
use crate::anonymize::{Trial, TrialTable};
use crate::error::Result;
use crate::model::Policy;
use crate::policy::quoted;
use crate::resources::Resources;
use crate::table::read::Table;

/// How a policy stands to the proposed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrictnessRank {
    /// It is the proposed one.
    Proposed,
    /// It requires more, or less.
    Other,
    /// It is the proposed one with a harmless word.
    Harmless,
}

/// A policy that is tried.
#[derive(Debug, Clone)]
pub struct Strictness {
    /// Whether it is the proposed one.
    pub rank: StrictnessRank,
    /// What it requires, in a few words.
    pub label: String,
    /// The policy.
    pub policy: Policy,
}

/// A policy with what came of it.
#[derive(Debug, Clone)]
pub struct TriedPolicy {
    /// What it requires, in a few words.
    pub label: String,
    /// What came of it.
    pub trial: Trial,
}

/// With a larger error of queries than this, a proposal is worth little, and one change that helps is looked for.
const LARGE_ERROR: f64 = 0.1;

/// A word that stands for nothing is worth a trial if this many people in a hundred have it.
const WORTH_A_TRIAL: u64 = 5;

impl PolicyProposal<'_> {
    /// The policies to try, strict ones first. Empty if no point is proposed.
    pub fn strictnesses(&self, reading: &ReadingOptions) -> Result<Vec<Strictness>> {
        let Some(point) = &self.protection.point else { return Ok(Vec::new()) };
        let is_proposed = |(l, k, m, confidence): &(u64, u64, u64, &str)| {
            (*l, *k, *m, *confidence) == (point.l, point.k, point.m, point.confidence)
        };
        let at = POINTS.iter().position(is_proposed).unwrap_or(1);
        let mut tried = Vec::new();
        for &(l, k, m, confidence) in &POINTS[at.saturating_sub(1)..(at + 2).min(POINTS.len())] {
            let point = Feasible { l, k, m, confidence, ..point.clone() };
            let (rank, mark) = match Some(&point) == self.protection.point.as_ref() {
                true => (StrictnessRank::Proposed, " (proposed)"),
                false => (StrictnessRank::Other, ""),
            };
            let label = format!("l = {l}, k = {k}, m = {m}, confidence = {confidence}{mark}");
            let protection = ProposedProtection { point: Some(point), ..self.protection.clone() };
            let policy = self.parsed(reading, &protection, Harmless::Commented)?;
            tried.push(Strictness { rank, label, policy });
        }
        if let Some((word, _)) = self.nothing().filter(|(_, rows)| self.is_worth_a_trial(*rows)) {
            let policy = self.parsed(reading, &self.protection, Harmless::Declared)?;
            let label = format!("as proposed, with {} harmless", quoted(word));
            tried.push(Strictness { rank: StrictnessRank::Harmless, label, policy });
        }
        Ok(tried)
    }

    fn is_worth_a_trial(&self, rows: u64) -> bool {
        rows.saturating_mul(100) >= self.profile.rows.saturating_mul(WORTH_A_TRIAL)
    }

    fn parsed(
        &self,
        reading: &ReadingOptions,
        protection: &ProposedProtection,
        harmless: Harmless,
    ) -> Result<Policy> {
        Policy::parse(&self.text("a table", reading, protection, harmless), "a policy to try")
    }
}

impl Strictness {
    /// Tries policies on the same sample of a table, at most `most` people. They protect the same column.
    pub fn try_all(
        tried: &[Strictness],
        table: &Table,
        most: u64,
        resources: &Resources<'_>,
    ) -> Result<Option<(TrialTable, Vec<TriedPolicy>)>> {
        let Some(first) = tried.first() else { return Ok(None) };
        let sample = TrialTable::read(table, &first.policy, most, resources)?;
        resources.progress.start("trying policies", None);
        let mut outcomes = Vec::new();
        for Strictness { label, policy, .. } in tried {
            outcomes.push(TriedPolicy { label: label.clone(), trial: sample.try_policy(policy)? });
        }
        if let Some(better) = better(&sample, tried, &outcomes)? {
            outcomes.push(better);
        }
        resources.progress.finish();
        Ok(Some((sample, outcomes)))
    }
}

/// The change of one line of the proposed policy that helps most, if the policy is worth little.
fn better(
    sample: &TrialTable,
    tried: &[Strictness],
    outcomes: &[TriedPolicy],
) -> Result<Option<TriedPolicy>> {
    let proposed = tried.iter().zip(outcomes).find(|(own, _)| own.rank == StrictnessRank::Proposed);
    let Some((strictness, outcome)) = proposed else { return Ok(None) };
    let mut same_point = tried.iter().zip(outcomes).filter(|(own, _)| own.rank != StrictnessRank::Other);
    if same_point.any(|(_, own)| own.trial.loss() <= LARGE_ERROR) {
        return Ok(None);
    }
    let relaxed = sample.try_relaxations(&strictness.policy, &outcome.trial.binds)?;
    let best = relaxed.into_iter().next().filter(|best| best.trial.loss() < outcome.trial.loss());
    Ok(best.map(|best| {
        // Values are named by a dry run only.
        let change = match best.change.starts_with("except") {
            true => "one value excepted: a dry run names it",
            false => best.change.as_str(),
        };
        TriedPolicy { label: format!("as proposed, {change}"), trial: best.trial }
    }))
}
