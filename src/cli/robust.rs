//! What is shown about releases against an adversary who knows distributions.

use super::terminal::{complain, visible_path};
use crate::anonymize::{Summary, Suppression};
use crate::error::number_of;
use crate::model::finding::Note;

/// Warns if few people are left.
pub fn warn_of_suppression(robust: &Suppression) {
    if robust.suppressed * 2 > robust.input_rows {
        complain(
            "warning",
            &format!(
                "{} of {} rows are suppressed, because no group can hold them; lower r, or state fewer or smaller sets \
                 of columns in privacy.known",
                robust.suppressed, robust.input_rows
            ),
        );
    }
}

/// The outcome of a run, as text.
pub fn published(out: &std::path::Path, summary: &Summary, robust: &Suppression, took: &str) -> String {
    let mut text = format!(
        "r-robust release of {} people in {} groups: {}\n\nsuppressed           {}, listed in {}\n",
        summary.records,
        summary.groups,
        visible_path(out),
        number_of(robust.suppressed, "row", "rows"),
        visible_path(&robust.list)
    );
    text.push_str(&format!("people in a group    {:.1} on average\n", summary.utility.average_group_size));
    for part in robust.finding.summary() {
        text.push_str(&format!("found                {part}\n"));
    }
    for note in &robust.finding.notes {
        if let Note::Remark(remark) = note {
            text.push_str(&format!("                     {remark}\n"));
        }
    }
    text.push_str(took);
    text
}
