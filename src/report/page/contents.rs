//! The contents of a page.

use super::binds::{BoundPeople, PolicyChanges};
use crate::check::Verdict;
use crate::model::Policy;
use crate::release::attacks::AttackTable;
use crate::release::receipt::Receipt;
use crate::report::comparison::Comparison;
use crate::report::kept::KeptColumn;
use serde::Deserialize;

/// Why the release was not compared with its original; backticks enclose code.
pub const WITHOUT_ORIGINAL: &str = "it needs the original table (`skyveil report --original TABLE`)";

/// The contents of a page.
pub struct Contents<'a> {
    /// For each protected column, at least one: the verdict, the groups that decide the skylines, and the sizes of
    /// all groups.
    pub verdict: &'a Verdict,
    /// Who set the requirements.
    pub asked: Asked,
    /// Who reads it.
    pub reader: Reader,
    /// Where the groups come from.
    pub origin: Origin<'a>,
    /// The certainty penalties, which only the owner knows.
    pub penalties: Option<Penalties>,
    /// What refuses finer groups, which only the owner knows; empty if it is not known.
    pub binds: Vec<BoundPeople>,
    /// What other policies would give, if they were tried on the original.
    pub tried: Option<PolicyChanges>,
    /// Whom attacks affect, if the owner recorded them.
    pub attacks: Option<AttackTable>,
    /// How far it is from the original.
    pub compared: Compared,
    /// The columns that are published unchanged.
    pub kept: &'a [KeptColumn],
}

impl Contents<'_> {
    /// The policy, if it is known.
    pub fn policy(&self) -> Option<&Policy> {
        match &self.origin {
            Origin::Release { policy, .. } => Some(policy),
            Origin::Table { policy, .. } => *policy,
        }
    }

    /// Whether the policy limits beliefs that were not judged.
    pub fn unjudged(&self) -> bool {
        self.verdict.is_open()
    }
}

/// Who reads the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Everybody: it depends on nothing but the release.
    Public,
    /// Someone who has the original.
    Owner,
}

/// Who set the requirements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The policy.
    Policy,
    /// The person who requested the page, through skyline points.
    Points,
    /// Nobody: the points of the verdict only show how much the groups alone reveal.
    Nothing,
}

/// Where the groups come from.
pub enum Origin<'a> {
    /// A release.
    Release {
        /// What the owner requires.
        policy: &'a Policy,
        /// `generalized` or `bucketized`.
        style: &'a str,
        /// The version that made the release.
        version: &'a str,
    },
    /// Any table of groups.
    Table {
        /// The columns that define a group.
        groups: &'a [String],
        /// What the owner requires, if known.
        policy: Option<&'a Policy>,
    },
}

/// How far a release is from its original.
pub enum Compared {
    /// By this much.
    Measured(Comparison),
    /// Not computed, for this reason; backticks enclose code.
    Not(&'static str),
}

/// Certainty penalties as a receipt states them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Penalties {
    /// As published, over all columns.
    pub published: f64,
    /// With the tightest labels, over all columns.
    pub tight: f64,
    /// Both for each column.
    pub columns: Vec<ColumnPenalties>,
}

/// The certainty penalties of one column.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ColumnPenalties {
    /// The column.
    pub column: String,
    /// As published.
    pub published: f64,
    /// With the tightest labels.
    pub tight: f64,
}

impl Penalties {
    /// The penalties in a receipt, if its release has labels.
    pub fn of(receipt: &Receipt) -> Option<Self> {
        serde_json::from_value(receipt.utility["certainty_penalty"].clone()).ok()
    }
}
