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

/// A policy that is tried.
#[derive(Debug, Clone)]
pub struct Strictness {
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
            let same = Some(&point) == self.protection.point.as_ref();
            let label = format!(
                "l = {l}, k = {k}, m = {m}, confidence = {confidence}{}",
                if same { " (proposed)" } else { "" }
            );
            let protection = ProposedProtection { point: Some(point), ..self.protection.clone() };
            tried.push(Strictness { label, policy: self.parsed(reading, &protection, Harmless::Commented)? });
        }
        if let Some((word, _)) = self.nothing().filter(|(_, rows)| self.is_worth_a_trial(*rows)) {
            let policy = self.parsed(reading, &self.protection, Harmless::Declared)?;
            let label = format!("as proposed, with not_sensitive = [{}]", quoted(word));
            tried.push(Strictness { label, policy });
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
        for Strictness { label, policy } in tried {
            outcomes.push(TriedPolicy { label: label.clone(), trial: sample.try_policy(policy)? });
        }
        resources.progress.finish();
        Ok(Some((sample, outcomes)))
    }
}
