//! What is the utility of a release? Group sizes, the width of labels, and how far it is from its original.

use maud::{Markup, html};

use super::binds::PolicyChange;
use super::contents::{ColumnPenalties, Compared, Contents, Origin};
use super::front::facts;
use crate::error::number_of;
use crate::report::beside::{DiverseMondrian, MOST_PEOPLE};
use crate::report::chart::{bar, histogram, marginals};
use crate::report::comparison::Comparison;
use crate::report::digits::{grouped, grouped_digits};
use crate::report::html::with_code;
use crate::report::utility::{Divergence, QueryErrors};

/// Columns that are shown before the rest is folded.
const MOST_COLUMNS: usize = 8;
/// Relative errors above this are set apart: most readers would not accept them unseen.
const LARGE_ERROR: f64 = 0.1;

/// What a reader must see first: sizes, labels, errors.
pub(super) fn card(contents: &Contents<'_>) -> Markup {
    let first = contents.verdict.first();
    let average = first.individuals as f64 / first.groups.max(1) as f64;
    html! {
        @if let Compared::Measured(comparison) = &contents.compared {
            p.big.large-error[comparison.errors.median > LARGE_ERROR] { (percent(comparison.errors.median)) }
            p.soft { "median relative error of count queries, answered from the release (" (percent(comparison.errors.mean)) " on average)" }
        }
        @if let Some(penalties) = &contents.penalties {
            (facts(&[
                ("certainty penalty as published", format!("{:.3}", penalties.published)),
                ("certainty penalty, tightest labels", format!("{:.3}", penalties.tight)),
            ]))
        }
        p.big { (format!("{average:.1}")) }
        p.soft { "people in a group, on average" }
        figure {
            (histogram("Groups by size", &first.sizes.bars()))
            figcaption.soft { "groups by number of people, on a logarithmic scale" }
        }
    }
}

/// The details.
pub(super) fn section(contents: &Contents<'_>) -> Markup {
    let first = contents.verdict.first();
    let why_not = match contents.origin {
        Origin::Release { .. } => {
            "it depends on values that are not published, and is in the owner's receipt"
        }
        Origin::Table { .. } => "only a release says what its labels stand for",
    };
    html! {
        h2 { "What is it still worth?" }
        @match &contents.penalties {
            Some(penalties) => {
                h3 { "Certainty penalty by column" }
                p.soft {
                    "The average width of labels, from 0 (exact) to 1 (nothing is known). "
                    @match &contents.tried {
                        None => {
                            code { "skyveil anonymize TABLE --policy FILE --dry-run" }
                            " estimates what a finer grid would gain."
                        }
                        Some(tried) if tried.policies.iter().any(PolicyChange::changes_a_grid) => {
                            "What a finer grid would gain is below."
                        }
                        Some(_) => "",
                    }
                }
                (penalty_table(&penalties.columns))
            }
            None => p.soft { "Not computed, because " (why_not) ": the certainty penalty, the average width of labels." },
        }
        (distance(contents))
        p.soft {
            "Discernibility (sum of squared group sizes): " (grouped_digits(&first.sizes.squares().to_string())) "."
        }
    }
}

/// The widest columns first; the rest folded.
fn penalty_table(columns: &[ColumnPenalties]) -> Markup {
    let mut sorted: Vec<&ColumnPenalties> = columns.iter().collect();
    sorted.sort_by(|a, b| b.published.total_cmp(&a.published));
    let row = |column: &&ColumnPenalties| {
        html! {
            tr {
                th scope="row" { bdi { (column.column) } }
                td { (bar(column.published)) }
                td { (format!("{:.3}", column.published)) }
                td.soft { (format!("{:.3}", column.tight)) }
            }
        }
    };
    folded(&sorted, "columns", |rows| {
        html! {
            table.bars {
                thead { tr { th { "column" } th {} th { "as published" } th { "tightest labels" } } }
                tbody { @for column in rows { (row(column)) } }
            }
        }
    })
}

/// The first rows, and the others where a reader asks for them.
fn folded<T>(rows: &[T], what: &str, table: impl Fn(&[T]) -> Markup) -> Markup {
    let (shown, rest) = rows.split_at(rows.len().min(MOST_COLUMNS));
    html! {
        div.scroll { (table(shown)) }
        @if !rest.is_empty() {
            details {
                summary { (grouped(rest.len() as u64)) " more " (what) ", none of them worse" }
                div.scroll { (table(rest)) }
            }
        }
    }
}

/// The errors of an r-robust release beside those of groups that are usually made.
fn beside_mondrian(errors: &QueryErrors, beside: &DiverseMondrian, contents: &Contents<'_>) -> Markup {
    let not_compared =
        |reason: &str| html! { p.soft { "Not compared with l-diverse Mondrian: " (reason) "." } };
    let (groups, usual) = match beside {
        DiverseMondrian::TooManyPeople => {
            return not_compared(&format!("there are more than {} people", grouped(MOST_PEOPLE)));
        }
        DiverseMondrian::TooLittleMemory => {
            return not_compared("there is too little memory to group the people of the original once more");
        }
        DiverseMondrian::Measured { groups, errors } => (groups, errors),
    };
    let row = |name: &str, groups: u64, errors: &QueryErrors| {
        html! {
            tr {
                th scope="row" { (name) }
                td { (grouped(groups)) }
                td { (percent(errors.median)) }
                td { (percent(errors.mean)) }
            }
        }
    };
    html! {
        h4 { "Compared with l-diverse Mondrian at the same 1/r" }
        div.scroll {
            table {
                thead { tr { th {} th { "groups" } th { "median error" } th { "mean error" } } }
                tbody {
                    (row("this release", contents.verdict.first().groups, errors))
                    (row("Mondrian, no value above 1/r of a group", *groups, usual))
                }
            }
        }
        p.soft {
            "Mondrian cuts all people of the original at medians, and publishes the range of each group. It leaves nobody out, \
             and promises nothing against an adversary who knows distributions."
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

fn distance(contents: &Contents<'_>) -> Markup {
    html! {
        h3 { "How far is it from the original?" }
        @match &contents.compared {
            Compared::Measured(comparison) => {
                (compared(comparison, contents))
                @if contents.verdict.columns.len() > 1 {
                    p.soft {
                        "Of the sensitive columns, the queries ask about " code { (comparison.sensitive) } " only."
                    }
                }
            }
            Compared::Not(why) => p.soft {
                "Not computed, because " (with_code(why)) ": the divergence of the marginals and the error of count queries."
            },
        }
    }
}

fn compared(comparison: &Comparison, contents: &Contents<'_>) -> Markup {
    let assumption = match &contents.origin {
        Origin::Release { style: "bucketized", .. } => {
            "as if the values of a group were spread evenly over its people"
        }
        _ => "as if the people of a group were spread evenly over what its label covers",
    };
    let Comparison { divergences, shares, sensitive, design, errors, beside } = comparison;
    let mut sorted: Vec<_> = divergences.iter().zip(shares).collect();
    let size = |((_, divergence), _): &(&(String, Divergence), _)| match divergence.uncovered {
        0 => divergence.bits,
        _ => f64::INFINITY,
    };
    sorted.sort_by(|a, b| size(b).total_cmp(&size(a)));
    html! {
        (facts(&[
            ("median relative error of count queries", percent(errors.median)),
            ("mean relative error of count queries", percent(errors.mean)),
        ]))
        p.soft {
            (grouped(design.queries as u64)) " random queries (seed " (design.seed) ") count the people in a range of "
            (design.dimension) " quasi-identifiers and of " code { (sensitive) } ", at an expected selectivity of "
            (percent(design.selectivity)) ". They are answered from the release " (assumption)
            ". An error is relative to the true count, or to " (grouped(errors.least)) " people where that is less ("
            (number_of(errors.below_least as u64, "query", "queries")) ")."
        }
        @if let Some(beside) = beside { (beside_mondrian(errors, beside, contents)) }
        (folded(&sorted, "columns", |rows| html! {
            table.bars {
                thead { tr { th { "column" } th { "before and after" } th { "divergence (bits)" } } }
                tbody {
                    @for ((name, divergence), shares) in rows {
                        tr {
                            th scope="row" { bdi { (name) } }
                            td { (marginals(shares)) }
                            td {
                                @match divergence.uncovered {
                                    0 => (format!("{:.4}", divergence.bits)),
                                    people => { "infinite: no label covers the value of " (grouped(people)) " people" }
                                }
                            }
                        }
                    }
                }
            }
        }))
        p.soft {
            "The area is the original, the line is what a reader of the release would draw, in the order of the values. \
             Kullback-Leibler divergence of the released from the original distribution of each column alone: 0 if the \
             column alone is published exactly."
        }
    }
}
