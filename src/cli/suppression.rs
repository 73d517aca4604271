//! What is shown about people who are left out of a release.

use super::terminal::{complain, visible_path};
use crate::anonymize::{Summary, Suppression};
use crate::error::number_of;
use crate::model::finding::Note;
use crate::model::suppression::SuppressedShare;

/// Warns if few people are left.
pub fn warn(missing: &Suppression) {
    if missing.suppressed * 2 > missing.input_rows {
        complain(
            "warning",
            &format!(
                "{} of {} rows are suppressed, because no group can hold them; protect against less, or state less that \
                 the adversary knows",
                missing.suppressed, missing.input_rows
            ),
        );
    }
}

/// How many rows are left out, and where they are listed.
pub fn line(missing: &Suppression) -> String {
    let chosen = match missing.suppressed {
        0 => String::new(),
        some => format!(
            " ({} of the people, chosen by their values)",
            SuppressedShare::needed(some, missing.input_rows)
        ),
    };
    format!(
        "suppressed           {}{chosen}, listed in {}\n",
        number_of(missing.suppressed, "row", "rows"),
        visible_path(&missing.list)
    )
}

/// What the check found, in lines.
pub fn found(missing: &Suppression) -> String {
    missing.finding.summary().map(|part| format!("found                {part}\n")).collect()
}

/// The outcome of a run of the model "robust", as text.
pub fn robust_release(out: &std::path::Path, summary: &Summary, missing: &Suppression, took: &str) -> String {
    let mut text = format!(
        "r-robust release of {} people in {} groups: {}\n\n{}",
        summary.records,
        summary.groups,
        visible_path(out),
        line(missing)
    );
    if let Some(known) = missing.already_known.as_ref().and_then(|own| own.in_words()) {
        text.push_str(&format!("known before         {known}\n"));
    }
    text.push_str(&format!("people in a group    {:.1} on average\n", summary.utility.average_group_size));
    text.push_str(&found(missing));
    for note in &missing.finding.notes {
        if let Note::Remark(remark) = note {
            text.push_str(&format!("                     {remark}\n"));
        }
    }
    text.push_str(took);
    text
}
