//! What does someone who knows distributions learn from a release?
//!
//! What the release guarantees and, for whoever has the original, how: the worst posterior of each value, and how groups
//! were shown to be robust. Both depend on the distributions, so a published page shows neither. Posteriors are rounded
//! up. Memory: at most [`MOST_VALUES`] rows.

use maud::{Markup, html};

use super::claims;
use super::contents::Reader;
use super::values::PLACES;
use crate::check::JudgedColumn;
use crate::math::exact::{Rational, decimal_at_least};
use crate::model::finding::{Datum, Total, WorstByValue};
use crate::report::digits::grouped;

/// Values that are listed, those with the largest posteriors.
const MOST_VALUES: usize = 40;

pub(super) fn section(column: &JudgedColumn, total: &Total, reader: Reader) -> Markup {
    let threshold = text(total, "at_most");
    html! {
        h2 { "How sure could someone become?" }
        @match total.field("r_robust") {
            Datum::Flag(true) => p {
                "Someone who knows the distributions of the policy can believe of no person and no value more than "
                (threshold) ": the release is r-robust for r = " (text(total, "r")) "."
            },
            _ => p { "Not every group is shown to keep posteriors at most " (threshold) "." },
        }
        p {
            "People who fit in no group are not published, and nothing here says how many they are. Covered are adversaries \
             who use the distributions as prior beliefs. Distributions that were counted in the table are more than that: \
             whoever has the counts can subtract what is published, and is left with the values of those who are not."
        }
        @if reader == Reader::Owner {
            (groups(total))
            @if let Some(worst) = &column.finding.worst {
                (values(worst, total.field("groups_without_posterior").count()))
            }
        }
        (claims::table(&column.finding))
    }
}

/// How groups were shown to be robust.
fn groups(total: &Total) -> Markup {
    let count = |name: &str| total.field(name).count();
    html! {
        div.scroll {
            table {
                thead { tr { th { "groups" } th { "number" } } }
                tbody {
                    @for (what, groups) in [
                        ("at most 1/r by their exact posteriors", "groups_by_posterior"),
                        ("at most 1/r by a bound, being too large for posteriors", "groups_by_bound"),
                        ("with a posterior above 1/r", "groups_above"),
                        ("not shown to be robust", "groups_not_shown"),
                    ] {
                        tr { td { (what) } td { (grouped(count(groups))) } }
                    }
                }
            }
        }
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
                p.soft { (grouped(more as u64)) " more values are no worse." }
            }
            @if unmeasured > 0 {
                p.soft {
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
