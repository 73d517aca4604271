//! The risks found so far, and those that the policy accepts.

use crate::error::{Error, Lint, Result};
use crate::model::Policy;
use crate::policy::AcceptedRisk;

/// The risks found so far.
#[derive(Debug, Default)]
pub(in crate::anonymize) struct Lints {
    found: Vec<(AcceptedRisk, Lint)>,
}

impl Lints {
    /// Adds a risk.
    pub fn add(
        &mut self,
        risk: AcceptedRisk,
        people: Option<u64>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let lint = Lint { name: risk.name(), people, message: message.into(), remedy: remedy.into() };
        self.found.push((risk, lint));
    }

    /// The risks, all of which the policy accepts; otherwise fails with the others.
    pub fn accepted(mut self, policy: &Policy) -> Result<Vec<Lint>> {
        self.found.sort_by_key(|(risk, _)| *risk);
        let (accepted, open): (Vec<_>, Vec<_>) =
            self.found.into_iter().partition(|(risk, _)| policy.accept.contains(risk));
        match open.is_empty() {
            true => Ok(accepted.into_iter().map(|(_, lint)| lint).collect()),
            false => Err(Error::Risks {
                file: policy.file.clone(),
                lints: open.into_iter().map(|(_, lint)| lint).collect(),
            }),
        }
    }
}
