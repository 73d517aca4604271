//! The contents of a page.

use crate::check::{JudgedColumn, Verdict};
use crate::model::Policy;
use crate::release::manifest::ReleaseStyle;
use crate::release::penalty::{Utility, rounded_up};
use crate::report::comparison::Comparison;
use crate::report::kept::KeptColumn;

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
    /// The utility of the release.
    pub worth: Worth,
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

/// The utility of a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Worth {
    /// Average people per group.
    pub average_group_size: f64,
    /// Sum of the squared group sizes.
    pub discernibility: String,
    /// The certainty penalties; unknown for a table that is not a release.
    pub penalty: Option<Penalties>,
}

/// The certainty penalties of the published labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Penalties {
    /// Over all columns.
    pub published: f64,
    /// For each column.
    pub columns: Vec<(String, f64)>,
}

impl Worth {
    /// What the published labels of a release are worth; a bucketized release has none.
    pub fn of_release(utility: &Utility, style: ReleaseStyle) -> Self {
        let columns = utility.columns.iter();
        Worth {
            average_group_size: utility.average_group_size,
            discernibility: utility.discernibility.to_string(),
            penalty: (style == ReleaseStyle::Generalized).then(|| Penalties {
                published: rounded_up(utility.published_penalty()),
                columns: columns.map(|column| (column.name.clone(), rounded_up(column.published))).collect(),
            }),
        }
    }
}

impl From<&JudgedColumn> for Worth {
    fn from(column: &JudgedColumn) -> Self {
        Worth {
            average_group_size: column.individuals as f64 / column.groups.max(1) as f64,
            discernibility: column.sizes.squares().to_string(),
            penalty: None,
        }
    }
}
