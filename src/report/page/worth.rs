//! What is the utility of a release? Group sizes, and how far it is from its original.

use maud::{Markup, html};

use super::contents::{ColumnPenalties, Compared, Contents, Origin, Penalties};
use super::front::facts;
use crate::error::number_of;
use crate::report::chart::{Axis, Cases, Chart, Series};
use crate::report::comparison::Comparison;
use crate::report::digits::{grouped, grouped_digits};
use crate::report::html::with_code;

pub(super) fn sizes(contents: &Contents<'_>) -> Markup {
    let bars = contents.verdict.first().sizes.bars();
    let name = |&(from, to, _): &(u64, u64, u64)| match from == to {
        true => grouped(from),
        false => format!("{}+", grouped(from)),
    };
    let chart = Chart {
        title: "Groups by size".to_string(),
        horizontal: Axis::of_cases("people in the group, on a logarithmic scale", bars.iter().map(name)),
        vertical: Axis::whole("groups"),
        series: vec![Series::bars("", Cases::Across, bars.iter().map(|bar| bar.2 as f64))],
    };
    html! {
        h2 { "How large are the groups?" }
        figure { (chart.to_element()) }
    }
}

pub(super) fn utility(contents: &Contents<'_>) -> Markup {
    let first = contents.verdict.first();
    let average = first.individuals as f64 / first.groups.max(1) as f64;
    let why_not = match contents.origin {
        Origin::Release { .. } => {
            "it depends on values that are not published, and is in the owner's receipt"
        }
        Origin::Table { .. } => "only a release says what its labels stand for",
    };
    html! {
        h2 { "What is it still worth?" }
        (facts(&[
            ("people in a group, on average", format!("{average:.1}")),
            ("discernibility (sum of squared group sizes)", grouped_digits(&first.sizes.squares().to_string())),
        ]))
        @match &contents.penalties {
            Some(penalties) => {
                (facts(&[
                    ("certainty penalty as published", format!("{:.3}", penalties.published)),
                    ("certainty penalty, tightest labels", format!("{:.3}", penalties.tight)),
                ]))
                figure { (chart(penalties).to_element()) }
            }
            None => p.note { "Not computed, because " (why_not) ": the certainty penalty, the average width of labels." },
        }
    }
}

/// Two bars per column.
fn chart(penalties: &Penalties) -> Chart {
    let bars = |name: &str, of: fn(&ColumnPenalties) -> f64| {
        Series::bars(
            name,
            Cases::Down,
            penalties.columns.iter().map(move |column| of(column).clamp(0.0, 1.0)),
        )
    };
    Chart {
        title: "Certainty penalty by column".to_string(),
        horizontal: Axis::unit("penalty (0: exact, 1: nothing is known)"),
        vertical: Axis::of_cases("", penalties.columns.iter().map(|column| column.column.clone())),
        series: vec![
            bars("as published", |column| column.published),
            bars("tightest labels", |column| column.tight),
        ],
    }
}

fn is_bucketized(origin: &Origin<'_>) -> bool {
    matches!(origin, Origin::Release { style: "bucketized", .. })
}

pub(super) fn distance(contents: &Contents<'_>) -> Markup {
    html! {
        h2 { "How far is it from the original?" }
        @match &contents.compared {
            Compared::Measured(comparison) => {
                (compared(comparison, &contents.origin))
                @if contents.verdict.columns.len() > 1 {
                    p.note {
                        "Of the sensitive columns, the queries ask about " code { (comparison.sensitive) } " only."
                    }
                }
            }
            Compared::Not(why) => p.note {
                "Not computed, because " (with_code(why)) ": the divergence of the marginals and the error of count queries."
            },
        }
    }
}

fn compared(comparison: &Comparison, origin: &Origin<'_>) -> Markup {
    let assumption = match is_bucketized(origin) {
        true => "as if the values of a group were spread evenly over its people",
        false => "as if the people of a group were spread evenly over what its label covers",
    };
    let Comparison { divergences, sensitive, design, errors } = comparison;
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    html! {
        (facts(&[
            ("median relative error of count queries", percent(errors.median)),
            ("mean relative error of count queries", percent(errors.mean)),
        ]))
        p.note {
            (grouped(design.queries as u64)) " random queries (seed " (design.seed) ") count the people in a range of "
            (design.dimension) " quasi-identifiers and of " code { (sensitive) } ", at an expected selectivity of "
            (percent(design.selectivity)) ". They are answered from the release " (assumption)
            ". An error is relative to the true count, or to " (grouped(errors.least)) " people where that is less ("
            (number_of(errors.below_least as u64, "query", "queries")) ")."
        }
        div.scroll.few {
            table {
                thead { tr { th { "column" } th { "divergence (bits)" } } }
                tbody {
                    @for (name, divergence) in divergences {
                        tr {
                            td { (name) }
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
        }
        p.note {
            "Kullback-Leibler divergence of the released from the original distribution of each column alone: 0 if the \
             column alone is published exactly."
        }
    }
}
