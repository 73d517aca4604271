//! Is a release what its manifest promises, and is it safe?

use super::integrity::{self, Alterations};
use super::release::Release;
use super::verdict::Verdict;
use crate::error::{Error, Result};
use crate::model::finding::Finding;
use crate::release::chain::Chain;
use crate::release::findings;
use crate::resources::Resources;
use crate::table::read::Table;
use serde_json::Value;

/// What was found out about a release.
#[derive(Debug)]
pub struct Examined {
    /// In what the release is not the one that was checked when it was made; a release of ours has nothing here.
    pub altered: Alterations,
    /// The verdict on its tables. A release that was altered may be impossible to judge.
    pub verdict: Result<Verdict>,
}

impl Examined {
    /// Whether it is the release that was made, and every requirement is proven.
    pub fn is_safe(&self) -> bool {
        self.altered.is_empty() && self.verdict.as_ref().is_ok_and(Verdict::is_safe)
    }
}

impl Release {
    /// Compares the files, the tables and the statements of the release with its manifest and its policy, and judges it.
    /// An error of a release that was not altered is returned as such.
    pub fn examine(&self, original: Option<&Table>, resources: &Resources<'_>) -> Result<Examined> {
        let chain = Chain::read(self.directory())?;
        let mut altered = integrity::nights(chain.nights(), None, resources.progress)?;
        match self.judge(original, &mut altered, resources) {
            Err(error) if altered.is_empty() || matches!(error, Error::Stopped) => Err(error),
            verdict => Ok(Examined { altered, verdict }),
        }
    }

    fn judge(
        &self,
        original: Option<&Table>,
        altered: &mut Alterations,
        resources: &Resources<'_>,
    ) -> Result<Verdict> {
        let policy = self.policy()?;
        altered.extend(self.tables_differ(&policy, resources)?);
        let verdict = self.check(original, resources)?;
        altered.extend(self.statements_differ(&policy, &verdict)?);
        Ok(verdict)
    }
}

impl Verdict {
    /// The requirements with their results, in the form of a manifest.
    pub fn points(&self) -> Vec<Value> {
        let several = self.columns.len() > 1;
        let of_column = |finding: &Finding| findings::points(finding, several.then_some(&finding.column));
        self.findings().flat_map(of_column).collect()
    }
}
