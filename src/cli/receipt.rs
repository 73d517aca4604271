//! What does the private receipt of a release prove?

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::terminal::{complain, visible};
use crate::check::receipt::{ReceiptCheck, ReceiptFinding};
use crate::error::Result;
use crate::model::Policy;
use crate::release::receipt::{Receipt, ReceiptPaths};
use crate::resources::Resources;
use crate::table::read::Table;

/// The receipt to compare with.
#[derive(Debug, Clone, Args)]
pub struct ReceiptFlags {
    /// The private receipt of the release: does it belong to this release and, with --original, to this table?
    #[arg(long, value_name = "FILE")]
    pub receipt: Option<PathBuf>,
    /// The key of the receipt. Default: where the receipt says.
    #[arg(long, value_name = "FILE", requires = "receipt")]
    pub key: Option<PathBuf>,
}

impl ReceiptFlags {
    /// The receipt next to a release, and the files that it was made from; nothing if one of them is not there.
    pub fn beside(release: &Path) -> Option<(Self, Vec<PathBuf>)> {
        let path = ReceiptPaths::of(release, None, None).ok()?.receipt;
        let files = Receipt::read_for(&path, release).ok()?.input.files;
        let files: Vec<PathBuf> = files.into_iter().map(|file| file.path).collect();
        // Names of folders may have been columns, which the names of the files alone do not say.
        let alone = |path: &PathBuf| path.is_file() && !path.to_string_lossy().contains('=');
        let receipt = ReceiptFlags { receipt: Some(path), key: None };
        files.iter().all(alone).then_some((receipt, files)).filter(|(_, files)| !files.is_empty())
    }

    /// Compares a release with its receipt, if one is given.
    pub fn compare(
        &self,
        release: &Path,
        policy: &Policy,
        original: Option<&Table>,
        resources: &Resources<'_>,
    ) -> Result<Option<ReceiptFinding>> {
        let Some(path) = &self.receipt else { return Ok(None) };
        let check = ReceiptCheck { path, key: self.key.as_deref(), release, policy, original };
        check.compare(resources).map(Some)
    }

    /// Complains about whatever contradicts the receipt, and about an original without a receipt.
    pub fn complain(&self, finding: Option<&ReceiptFinding>, original: Option<&Table>) {
        match (&self.receipt, finding) {
            (Some(path), Some(finding)) => finding.refuted.iter().for_each(|refuted| {
                complain("not the release of this receipt", &format!("{}: {refuted}", path.display()));
            }),
            _ if original.is_some() => complain(
                "note",
                "nothing proves that the release was made from this table: give its receipt (--receipt FILE)",
            ),
            _ => {}
        }
    }
}

/// The finding as a few lines.
pub fn to_text(finding: &ReceiptFinding) -> String {
    let mut text = String::from("\n");
    let lines = [("receipt", &finding.confirmed), ("not compared", &finding.open)];
    for (name, line) in lines.iter().flat_map(|(name, lines)| lines.iter().map(move |line| (name, line))) {
        text.push_str(&format!("{name:<20} {}\n", visible(line)));
    }
    text
}

/// The finding for programs.
pub fn to_json(finding: &ReceiptFinding) -> Value {
    json!({
        "holds": finding.holds(),
        "confirmed": finding.confirmed,
        "refuted": finding.refuted,
        "not_compared": finding.open,
    })
}
