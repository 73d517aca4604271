//! What is published unchanged? Kept columns, and how many people they single out.

use maud::{Markup, html};

use super::contents::{Contents, Origin};
use crate::report::digits::grouped;
use crate::report::kept::{Distinct, KeptColumn};

/// Warnings at the top: columns that are as good as a name.
pub(super) fn warnings(contents: &Contents<'_>) -> Markup {
    let people = contents.verdict.first().individuals;
    html! {
        @for column in contents.kept {
            @if let Some(share) = column.identifies(people) {
                div.warning {
                    strong { "The kept column " code { (column.name) } " points at people:" }
                    " " (share) " of them have a value in it that nobody else in their group has. The verdict does not \
                    take that into account."
                }
            }
        }
    }
}

pub(super) fn section(contents: &Contents<'_>) -> Markup {
    let people = contents.verdict.first().individuals;
    html! {
        h2 { "What is published as it is?" }
        @if let Origin::Release { style: "bucketized", .. } = contents.origin {
            p {
                "The quasi-identifiers. Someone who knows a person's quasi-identifiers finds the person's group; the verdict \
                 takes that into account."
            }
        }
        @if contents.kept.is_empty() {
            p { "No column is kept besides the quasi-identifiers and the sensitive values." }
        }
        @for column in contents.kept { (one_column(column, people)) }
        @if contents.kept.len() > 1 {
            p.soft { "Columns together single out more people than each of them alone." }
        }
    }
}

fn one_column(column: &KeptColumn, people: u64) -> Markup {
    let distinct = match column.distinct {
        Distinct::Exactly(1) => "1 value".to_string(),
        Distinct::Exactly(values) => format!("{} different values", grouped(values)),
        Distinct::MoreThan(values) => format!("more than {} different values", grouped(values)),
    };
    html! {
        div.warning {
            strong { code { (column.name) } } " is published unchanged, row by row: " (distinct) ". "
            @match column.alone {
                None => "How many people it singles out within their group was not computed: the rows of a group are not \
                         stored together, or there are too many of them.",
                Some(0) => "Nobody has a value that no other person in the same group has.",
                Some(alone) => {
                    strong {
                        (grouped(alone)) " people (" (format!("{:.1}", 100.0 * alone as f64 / people.max(1) as f64)) " %)"
                    }
                    " have a value that nobody else in their group has: someone who knows it finds their row."
                }
            }
            " No other number on this page takes that into account."
        }
    }
}
