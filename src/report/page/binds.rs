//! Why are groups not finer, and what would help? What the receipt says, for the owner alone.

use maud::{Markup, html};
use serde::Deserialize;

use super::contents::Contents;
use super::worth::bar;
use crate::release::receipt::Receipt;
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

pub(super) fn section(contents: &Contents<'_>) -> Markup {
    let people = contents.verdict.first().individuals.max(1);
    if contents.binds.is_empty() {
        return html! {};
    }
    html! {
        h2 { "What binds?" }
        p.soft {
            "What refuses the best cut of each group. Without it, the groups of these people could be cut once more. "
            code { "skyveil anonymize TABLE --policy FILE --dry-run" } " estimates what each relaxation would gain."
        }
        div.scroll {
            table.bars {
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
