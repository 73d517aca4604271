//! A policy to start from, in one step.

use super::policy::ReadingOptions;
use super::role::{OwnerChoices, propose};
use super::scan::Profile;
use crate::error::Result;
use crate::resources::Resources;
use crate::table::read::Table;

/// A commented policy for a table that nobody has written a policy for yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartingPolicy {
    /// The policy: TOML, with the reason for every line.
    pub text: String,
    /// What the owner should decide before anything else.
    pub warnings: Vec<String>,
}

impl StartingPolicy {
    /// Reads the table once. `name` is what the policy calls it; the column to protect is guessed unless it is given.
    pub fn propose(
        table: &Table,
        name: &str,
        sensitive: Option<&str>,
        resources: &Resources<'_>,
    ) -> Result<Self> {
        let profile = Profile::of(table, resources)?;
        let proposal = propose(
            &profile,
            &OwnerChoices { sensitive: sensitive.map(str::to_string), ..OwnerChoices::default() },
        )?;
        let text = proposal.to_policy(name, &ReadingOptions::default().pinned(table, &proposal))?;
        Ok(StartingPolicy { text, warnings: proposal.warnings })
    }
}
