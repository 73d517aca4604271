//! What does someone who knows distributions learn from a release?
//!
//! The worst posterior of each value, and how groups were shown to be robust.
//! Posteriors are rounded up. Memory: at most [`MOST_VALUES`] rows.

use maud::{Markup, html};

use super::claims::{self, PLACES};
use super::contents::Origin;
use crate::check::JudgedColumn;
use crate::math::exact::{Rational, decimal_at_least};
use crate::model::finding::{Datum, Total, WorstByValue};
use crate::report::digits::grouped;

/// Values that are listed, those with the largest posteriors.
const MOST_VALUES: usize = 40;

pub(super) fn section(column: &JudgedColumn, total: &Total, origin: &Origin<'_>) -> Markup {
    let suppressed = match origin {
        Origin::Release { input_rows, .. } => input_rows.saturating_sub(column.individuals),
        Origin::Table { .. } => 0,
    };
    let count = |name: &str| total.field(name).count();
    let threshold = text(total, "at_most");
    html! {
        h2 { "Is it safe?" }
        @match total.field("r_robust") {
            Datum::Flag(true) => p {
                "Someone who knows the distributions of the policy can believe of no person and no value more than "
                (threshold) ": the release is r-robust for r = " (text(total, "r")) "."
            },
            _ => p { "Not every group is shown to keep posteriors at most " (threshold) "." },
        }
        div.scroll {
            table {
                thead { tr { th { "groups" } th { "number" } } }
                tbody {
                    @for (what, groups) in [
                        ("at most 1/r by their exact posteriors", "groups_by_posterior"),
                        ("at most 1/r by the ratio condition, being too large for posteriors", "groups_by_ratio"),
                        ("with a posterior above 1/r", "groups_above"),
                        ("not shown to be robust", "groups_not_shown"),
                    ] {
                        tr { td { (what) } td { (grouped(count(groups))) } }
                    }
                }
            }
        }
        @match suppressed {
            0 => p { "Nobody had to be left out." },
            1 => p { strong { "1 row" } " of the input fits in no group and is not published." },
            rows => p {
                strong { (grouped(rows)) " rows" } " of the input fit in no group and are not published."
            },
        }
        @if let Some(worst) = &column.finding.worst {
            (values(worst, count("groups_without_posterior")))
        }
        (claims::table(&column.finding))
    }
}

fn text<'a>(total: &'a Total, name: &str) -> &'a str {
    if let Datum::Text(text) = total.field(name) { text } else { "" }
}

fn values(measured: &WorstByValue, unmeasured: u64) -> Markup {
    let mut worst: Vec<&(String, f64)> = measured.values.iter().collect();
    worst.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    html! {
        @if !worst.is_empty() {
            h3 { "The worst posterior of each value" }
            div.scroll {
                table {
                    thead { tr { th { "value" } th { "largest posterior" } } }
                    tbody {
                        @for (value, posterior) in worst.iter().take(MOST_VALUES) {
                            tr { td { (value) } td { (upwards(*posterior)) } }
                        }
                    }
                }
            }
            @if let Some(more @ 1..) = worst.len().checked_sub(MOST_VALUES) {
                p.note { (grouped(more as u64)) " more values are no worse; " code { "manifest.json" } " lists them." }
            }
            @if unmeasured > 0 {
                p.note {
                    "The posteriors of " (grouped(unmeasured)) " larger groups were not computed; the ratio \
                    condition bounds them."
                }
            }
        }
    }
}

/// A probability that was rounded up already, in decimals, rounded up again.
fn upwards(probability: f64) -> String {
    Rational::try_from(probability).map_or_else(|_| "1".to_string(), |exact| decimal_at_least(&exact, PLACES))
}
