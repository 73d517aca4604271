//! What had to hold for a column, and what was found?
//!
//! One table for requirements on sizes, shares, implications and beliefs, one for skyline points. What is measured is rounded
//! up where more is worse. How far beliefs move is not shown: that depends on the original and not on the release alone.
//!
//! Memory: a row per requirement, at most [`MOST_POINTS`] for points.

use maud::{Markup, html};

use super::contents::{Asked, Contents};
use crate::check::{CheckReport, PointReport, Survey};
use crate::error::number_of;
use crate::math::exact::{Rational, decimal_at_least, decimal_at_most};
use crate::model::beliefs::{BeliefBound, BeliefsModel};
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
    verdict: RowVerdict,
    found: String,
    limit: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RowVerdict {
    Holds,
    Fails,
    NotJudged,
}

impl From<bool> for RowVerdict {
    fn from(holds: bool) -> Self {
        if holds { RowVerdict::Holds } else { RowVerdict::Fails }
    }
}

pub(super) fn section(column: &str, survey: &Survey, contents: &Contents<'_>) -> Markup {
    if contents.asked == Asked::Nothing {
        return groups_alone(survey);
    }
    let rows = rows(&survey.report, contents.beliefs(column));
    html! {
        @if rows.is_empty() && survey.report.points.is_empty() {
            p { "Nothing is required of this column." }
        }
        (table(&rows))
        @if survey.report.beliefs.is_some() {
            p.note {
                "How far beliefs move is not shown: that depends on the original and not on the release alone."
            }
        }
        @if !survey.report.points.is_empty() { (points(survey)) }
    }
}

/// The requirements besides those of the model, for a page that shows the model elsewhere.
pub(super) fn criteria(report: &CheckReport) -> Markup {
    table(&rows(report, None))
}

fn table(rows: &[Row]) -> Markup {
    html! {
        @if !rows.is_empty() {
            div.scroll.few {
                table {
                    thead { tr { th { "required" } th { "verdict" } th { "found" } th { "limit" } } }
                    tbody {
                        @for row in rows {
                            tr.bad[row.verdict == RowVerdict::Fails] {
                                td { (row.required) }
                                td {
                                    @match row.verdict {
                                        RowVerdict::Holds => "safe",
                                        RowVerdict::Fails => "unsafe",
                                        RowVerdict::NotJudged => "not judged here",
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

/// The requirements; `beliefs` are those of the policy, if it has that model.
fn rows(report: &CheckReport, beliefs: Option<&BeliefsModel>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (what, has, least) in [
        ("people in the smallest group", report.smallest_group, report.minimum_group_size),
        ("fewest different values in a group", report.fewest_values, report.minimum_distinct_values),
    ] {
        if least > 1 {
            rows.push(Row {
                required: what.to_string(),
                verdict: (has >= least).into(),
                found: grouped(has),
                limit: format!("at least {}", grouped(least)),
            });
        }
    }
    rows.extend(report.shares.iter().map(|share| Row {
        required: share.criterion.to_string(),
        verdict: share.safe.into(),
        found: decimal_at_least(&share.measured, PLACES),
        limit: format!("at most {}", share.most),
    }));
    if let Some(disclosure) = &report.disclosure
        && let (Some(confidence), Some(last)) = (&disclosure.confidence, disclosure.points.last())
    {
        let known = number_of(last.k as u64, "implication", "implications");
        rows.push(Row {
            required: format!("disclosure to someone who knows {known}"),
            verdict: disclosure.safe.into(),
            found: decimal_at_least(&last.disclosure, PLACES),
            limit: format!("below {}", confidence.value()),
        });
    }
    for point in beliefs.into_iter().flat_map(|beliefs| &beliefs.points) {
        let (found, verdict) = match &report.beliefs {
            None => (JUDGED_BEFORE, RowVerdict::NotJudged),
            Some(found) => ("not shown", found.is_private().into()),
        };
        rows.push(Row {
            required: adversary(point),
            verdict,
            found: found.to_string(),
            limit: format!("at most {}", point.t),
        });
    }
    rows
}

/// One adversary with kernel priors in words.
fn adversary(point: &BeliefBound) -> String {
    let mut widths: Vec<String> = point.bandwidth.values().map(ToString::to_string).collect();
    widths.dedup();
    let bandwidth = match &widths[..] {
        [one] => one.clone(),
        _ => {
            let named = point.bandwidth.iter().map(|(name, width)| format!("{name} {width}"));
            named.collect::<Vec<_>>().join(", ")
        }
    };
    format!("how far a belief moves, bandwidth {bandwidth}")
}

/// The points with their margins, smallest first.
pub(super) fn by_margin(survey: &Survey) -> Vec<(Rational, &PointReport)> {
    let mut margins: Vec<_> = survey.report.points.iter().map(|point| (point.margin(), point)).collect();
    margins.sort_by(|a, b| a.0.cmp(&b.0));
    margins
}

fn points(survey: &Survey) -> Markup {
    let margins = by_margin(survey);
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
                    @for (margin, PointReport { value, point, breach, safe, .. }) in margins.iter().take(MOST_POINTS) {
                        @let size = point.knowledge;
                        tr.bad[!safe] {
                            td { (value) }
                            td { (if *safe { "safe" } else { "unsafe" }) }
                            td { (size.l) ", " (size.k) ", " (size.m) }
                            td { (decimal_at_least(&breach.upper_bound(), PLACES)) }
                            td { (point.confidence.value()) }
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
fn groups_alone(survey: &Survey) -> Markup {
    let margins = by_margin(survey);
    html! {
        p {
            "No verdict: neither a policy nor a point (" code { "--point L,K,M,C" } ") says what must hold. This is how \
             certain the groups alone make someone who knows nothing else."
        }
        div.scroll.few {
            table {
                thead { tr { th { "value" } th { "certain up to" } } }
                tbody {
                    @for (_, point) in margins.iter().take(MOST_POINTS) {
                        tr {
                            td { (point.value) }
                            td { (decimal_at_least(&point.breach.upper_bound(), PLACES)) }
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
