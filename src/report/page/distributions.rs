//! What does someone who knows distributions learn from a release?
//!
//! The worst posterior of each value, how groups were shown to be robust, and what the printed Delta condition would
//! have claimed. Posteriors are rounded up. Memory: at most [`MOST_VALUES`] rows.

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
        (delta(total, threshold))
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

fn delta(total: &Total, threshold: &str) -> Markup {
    let published = total.field("delta");
    html! {
        h3 { "What the printed Delta condition would have claimed" }
        p {
            "Of the published groups it accepts " (grouped(published.field("accepted").count())) ", "
            (wrong_claims(published, threshold)) "."
        }
        @match total.field("delta_instead") {
            instead @ Datum::Fields(_) => p {
                "Had it made the groups itself, it would have accepted " (grouped(instead.field("accepted").count())) " groups of "
                (grouped(instead.field("people").count())) " people (the first parts of similar people), "
                (wrong_claims(instead, threshold)) ". These groups are not published."
            },
            _ => p.note {
                "The page that was written with the release shows which groups it would have made itself."
            },
        }
    }
}

fn wrong_claims(claims: &Datum, threshold: &str) -> Markup {
    let unknown = claims.field("not_shown").count();
    let worst = if let Datum::Decimal(worst) = claims.field("worst_posterior") { *worst } else { 1.0 };
    html! {
        @match (claims.field("wrong").count(), unknown) {
            (0, 0) => { "and no posterior in them is above " (threshold) }
            (0, _) => { "and no posterior in them is known to be above " (threshold) }
            (wrong, _) => {
                "but in " strong { (grouped(wrong)) } " of them a posterior is above " (threshold) ", the worst is up to "
                strong { (upwards(worst)) }
            }
        }
        @if unknown > 0 { "; " (grouped(unknown)) " are too large to decide" }
    }
}

/// A probability that was rounded up already, in decimals, rounded up again.
fn upwards(probability: f64) -> String {
    Rational::try_from(probability).map_or_else(|_| "1".to_string(), |exact| decimal_at_least(&exact, PLACES))
}
