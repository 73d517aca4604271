//! What had to hold for a column, and what was found?
//!
//! One table for requirements on sizes, shares, implications and beliefs, one for skyline points. What is measured is rounded
//! up where more is worse. How far beliefs move is not shown: that depends on the original and not on the release alone.
//!
//! Memory: a row per requirement, at most [`MOST_POINTS`] for points.

use maud::{Markup, html};

use super::contents::{Asked, Contents};
use crate::check::JudgedColumn;
use crate::math::exact::{Rational, decimal_at_least, decimal_at_most};
use crate::model::finding::{Amount, Claim, ClaimSubject, ClaimVerdict, Datum, Finding};
use crate::report::digits::grouped;
use crate::report::html::with_code;

/// Points that are listed, those with the smallest margins.
const MOST_POINTS: usize = 40;
/// Digits after the point of a risk.
pub(super) const PLACES: usize = 4;

/// How beliefs were judged that this page does not judge.
const JUDGED_BEFORE: &str =
    "judged when it was made; `skyveil check RELEASE --original TABLE` judges it again";

/// One row of the table.
struct Row {
    required: String,
    verdict: ClaimVerdict,
    found: String,
    limit: String,
}

pub(super) fn section(column: &JudgedColumn, contents: &Contents<'_>) -> Markup {
    if contents.asked == Asked::Nothing {
        return groups_alone(&column.finding);
    }
    let (rows, points) = (rows(&column.finding), by_margin(&column.finding));
    let private = |claim: &Claim| matches!(claim.measured.amount, Amount::Between(..));
    html! {
        @if rows.is_empty() && points.is_empty() {
            p { "Nothing is required of this column." }
        }
        (table(&rows))
        @if column.finding.claims.iter().any(private) {
            p.note {
                "How far beliefs move is not shown: that depends on the original and not on the release alone."
            }
        }
        @if !points.is_empty() { (points_table(&points)) }
    }
}

/// The requirements that are not about single values.
pub(super) fn criteria(finding: &Finding) -> Markup {
    table(&rows(finding))
}

fn table(rows: &[Row]) -> Markup {
    html! {
        @if !rows.is_empty() {
            div.scroll.few {
                table {
                    thead { tr { th { "required" } th { "verdict" } th { "found" } th { "limit" } } }
                    tbody {
                        @for row in rows {
                            tr.bad[matches!(row.verdict, ClaimVerdict::Unsafe | ClaimVerdict::Undecided)] {
                                td { (row.required) }
                                td {
                                    @match row.verdict {
                                        ClaimVerdict::Safe => "safe",
                                        ClaimVerdict::Undecided => "not proven",
                                        ClaimVerdict::Unsafe => "unsafe",
                                        ClaimVerdict::NotJudged => "not judged here",
                                    }
                                }
                                td { (with_code(&row.found)) }
                                td { (row.limit) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The requirements that are not about single values.
fn rows(finding: &Finding) -> Vec<Row> {
    let mut rows = Vec::new();
    for claim in &finding.claims {
        let required = match (&claim.subject, &claim.knows[..]) {
            (ClaimSubject::Value(_), _) => continue,
            (ClaimSubject::Size("people"), _) => "people in the smallest group".to_string(),
            (ClaimSubject::Size(what), _) => format!("fewest {what} in a group"),
            (ClaimSubject::Criterion(name), _) => name.to_string(),
            (ClaimSubject::Everybody, []) => claim.measured.name.to_string(),
            (ClaimSubject::Everybody, knows) => {
                let knows: Vec<String> =
                    knows.iter().map(|(name, datum)| format!("{name} {}", in_words(datum))).collect();
                format!("{}, {}", claim.measured.name, knows.join(", "))
            }
        };
        let found = match &claim.measured.amount {
            Amount::Count(count) => grouped(*count),
            Amount::Between(..) => "not shown".to_string(),
            Amount::Unknown => JUDGED_BEFORE.to_string(),
            Amount::Exact(_) | Amount::AtMost(_) => decimal_at_least(&risk(claim), PLACES),
        };
        let limit = format!("{} {}", claim.limit.side.words(), claim.limit.value);
        rows.push(Row { required, verdict: claim.verdict, found, limit });
    }
    rows
}

/// What an adversary knows; one number where all columns have the same.
fn in_words(datum: &Datum) -> String {
    match datum {
        Datum::Text(text) => text.clone(),
        Datum::Count(count) => grouped(*count),
        Datum::Fields(fields) => {
            let mut values: Vec<String> = fields.iter().map(|(_, datum)| in_words(datum)).collect();
            values.dedup();
            match &values[..] {
                [one] => one.clone(),
                _ => {
                    let named = fields.iter().map(|(name, datum)| format!("{name} {}", in_words(datum)));
                    named.collect::<Vec<_>>().join(", ")
                }
            }
        }
        _ => String::new(),
    }
}

/// The value that a claim is about.
pub(super) fn value(claim: &Claim) -> &str {
    claim.subject.named().map_or("", |(_, name)| name)
}

/// The risk that was found, rounded up.
fn risk(claim: &Claim) -> Rational {
    claim.measured.amount.upper_bound().unwrap_or(Rational::ONE)
}

/// The claims about sensitive values with their margins, smallest first.
pub(super) fn by_margin(finding: &Finding) -> Vec<(Rational, &Claim)> {
    let of_values = finding.claims.iter().filter(|claim| matches!(claim.subject, ClaimSubject::Value(_)));
    let mut margins: Vec<_> =
        of_values.map(|claim| (claim.margin().unwrap_or(Rational::ZERO), claim)).collect();
    margins.sort_by(|a, b| a.0.cmp(&b.0));
    margins
}

fn points_table(margins: &[(Rational, &Claim)]) -> Markup {
    html! {
        p.note {
            "Someone who knows l values that a person does not have, the values of k other people and m members of the \
             person's family can become as certain of the value as the breach says, and no more certain. It must stay below the \
             limit. Breaches are rounded up, margins down."
        }
        div.scroll {
            table {
                thead {
                    tr {
                        th { "value" } th { "verdict" } th { "l, k, m" } th { "breach" } th { "limit" } th { "margin" }
                    }
                }
                tbody {
                    @for (margin, claim) in margins.iter().take(MOST_POINTS) {
                        @let knows: Vec<String> = claim.knows.iter().map(|(_, datum)| in_words(datum)).collect();
                        tr.bad[!claim.is_safe()] {
                            td { (value(claim)) }
                            td { (claim.verdict.word()) }
                            td { (knows.join(", ")) }
                            td { (decimal_at_least(&risk(claim), PLACES)) }
                            td { (claim.limit.value) }
                            td { (decimal_at_most(margin, PLACES)) }
                        }
                    }
                }
            }
        }
        @if let Some(more @ 1..) = margins.len().checked_sub(MOST_POINTS) {
            p.note {
                (grouped(more as u64)) " more points have no smaller margin; " code { "skyveil check --all" } " lists them."
            }
        }
    }
}

/// How certain the groups alone make an adversary, where nothing says what must hold.
fn groups_alone(finding: &Finding) -> Markup {
    let margins = by_margin(finding);
    html! {
        p {
            "No verdict: neither a policy nor a point (" code { "--point L,K,M,C" } ") says what must hold. This is how \
             certain the groups alone make someone who knows nothing else."
        }
        div.scroll.few {
            table {
                thead { tr { th { "value" } th { "certain up to" } } }
                tbody {
                    @for (_, claim) in margins.iter().take(MOST_POINTS) {
                        tr {
                            td { (value(claim)) }
                            td { (decimal_at_least(&risk(claim), PLACES)) }
                        }
                    }
                }
            }
        }
        @if let Some(more @ 1..) = margins.len().checked_sub(MOST_POINTS) {
            p.note { (grouped(more as u64)) " more values are disclosed with less certainty." }
        }
    }
}
