//! Why are groups not finer, and what would help? What the receipt says, for the owner alone.

use maud::{Markup, html};
use serde::Deserialize;

use super::contents::Contents;
use crate::release::receipt::Receipt;
use crate::report::chart::bar;
use crate::report::digits::grouped;

/// Requirements that are listed.
const MOST_LINES: usize = 8;

/// Groups whose best cut one requirement refuses, as a receipt states it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BoundPeople {
    people: u64,
    groups: u64,
    requirement: String,
    value: Option<String>,
    l: Option<u64>,
    k: Option<u64>,
    m: Option<u64>,
    confidence: Option<String>,
    least: Option<u64>,
}

impl BoundPeople {
    /// What the receipt lists, most people first; lines that are written differently are left out.
    pub fn of(receipt: &Receipt) -> Vec<Self> {
        receipt.binds.iter().filter_map(|line| serde_json::from_value(line.clone()).ok()).collect()
    }

    /// The requirement in words.
    fn words(&self) -> String {
        let least = self.least.map_or_else(String::new, |least| format!(" of {}", grouped(least)));
        match (self.requirement.as_str(), self.l, self.k, self.m, &self.confidence) {
            ("point", Some(l), Some(k), Some(m), Some(confidence)) => {
                format!("the point l {l}, k {k}, m {m} below {confidence}")
            }
            ("minimum_group_size", ..) => format!("the minimum group size{least}"),
            ("minimum_distinct", ..) => format!("the minimum number of different values{least}"),
            ("nothing_to_cut", ..) => "nothing: the quasi-identifiers of the group are alike".to_string(),
            ("rest", ..) => "anything else".to_string(),
            (other, ..) => other.replace('_', " "),
        }
    }
}

/// What a policy that differs in one line would give, tried on a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyChange {
    /// The line as one would write it.
    pub change: String,
    /// Groups; 0 if no safe release exists.
    pub groups: u64,
    /// The certainty penalty.
    pub penalty: f64,
    /// The median relative error of count queries, where it can be computed.
    pub median_error: Option<f64>,
}

impl PolicyChange {
    /// Whether only the cells of a column differ.
    pub(super) fn changes_a_grid(&self) -> bool {
        self.change.contains(": grid = ")
    }
}

/// The policy as it is first, then changes of one line each, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyChanges {
    /// People in the sample.
    pub sampled: u64,
    /// People in the table.
    pub people: u64,
    /// What came of each.
    pub policies: Vec<PolicyChange>,
}

pub(super) fn section(contents: &Contents<'_>) -> Markup {
    html! {
        @if !contents.binds.is_empty() { (binding(contents)) }
        @if let Some(tried) = &contents.tried { (gains(tried)) }
    }
}

/// What each change would gain.
fn gains(tried: &PolicyChanges) -> Markup {
    // The best ones, and what is said elsewhere to be here.
    let shown = |(place, policy): &(usize, &PolicyChange)| *place <= MOST_LINES || policy.changes_a_grid();
    html! {
        h2 { "What would a change gain?" }
        p.soft {
            @if tried.sampled < tried.people {
                "Estimated from a sample of " (grouped(tried.sampled)) " of " (grouped(tried.people))
                " people, which has coarser groups than the table. "
            } @else {
                "Tried on all " (grouped(tried.people)) " people. "
            }
            "Each line changes one line of the policy: less is required, a column is left out, or a grid is finer or coarser. \
             A value that is excepted must be protected by another line, or declared harmless."
        }
        div.scroll.few {
            table {
                thead { tr { th { "change" } th { "groups" } th { "penalty" } th { "median error" } } }
                tbody {
                    @for (_, policy) in tried.policies.iter().enumerate().filter(shown) {
                        tr {
                            th scope="row" { bdi { (policy.change) } }
                            @if policy.groups == 0 {
                                td colspan="3" { "no safe release exists" }
                            } @else {
                                td { (grouped(policy.groups)) }
                                td { (format!("{:.4}", policy.penalty)) }
                                td { @if let Some(error) = policy.median_error { (format!("{:.1} %", 100.0 * error)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn binding(contents: &Contents<'_>) -> Markup {
    let people = contents.verdict.first().individuals.max(1);
    html! {
        h2 { "What binds?" }
        p.soft {
            "What refuses the best cut of each group. Another requirement may refuse it, too, so that groups do not always become \
             finer without it. "
            @if contents.tried.is_none() {
                code { "skyveil anonymize TABLE --policy FILE --dry-run" } " estimates what each relaxation would gain."
            }
        }
        div.scroll {
            table.bars.requirements {
                thead { tr { th { "requirement" } th { "share of people" } th { "people" } th { "groups" } } }
                tbody {
                    @for line in contents.binds.iter().take(MOST_LINES) {
                        tr {
                            th scope="row" {
                                (line.words())
                                @if let Some(value) = &line.value { ", for " bdi { strong { (value) } } " alone" }
                            }
                            td { (bar(line.people as f64 / people as f64)) }
                            td { (grouped(line.people)) }
                            td { (grouped(line.groups)) }
                        }
                    }
                }
            }
        }
    }
}
