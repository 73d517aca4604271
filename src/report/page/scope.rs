//! What is covered by the policy, and what is not?

use maud::{Markup, html};

use super::contents::Contents;
use crate::report::digits::grouped;
use crate::report::scope::{ReleasedPeople, Replay, ScopeVerdict, scope};

pub(super) fn section(contents: &Contents<'_>) -> Markup {
    let Some(policy) = contents.policy() else { return html! {} };
    // What the page says follows from the rows and the policy alone.
    let replay = match policy.publish.withstands_replay() {
        true => Replay::Withstood,
        false => Replay::NotConsidered,
    };
    let release = ReleasedPeople {
        people: contents.verdict.first().individuals,
        unprotected: contents.verdict.unprotected_people(),
        replay,
        kept: contents.kept,
    };
    html! {
        h2 { "What is covered, and what is not?" }
        div.scroll.few {
            table {
                thead { tr { th { "against" } th { "covered" } th.words { "because" } th { "people" } } }
                tbody {
                    @for line in scope(policy, &release) {
                        tr {
                            td { (line.topic) }
                            td { @if line.covered == ScopeVerdict::Covered { "yes" } @else { strong { "no" } } }
                            td.words { (line.words) }
                            td { @if let Some(people) = line.people { (grouped(people)) } }
                        }
                    }
                }
            }
        }
        p.soft {
            "This is not differential privacy: the guarantee is about the adversary that the policy describes, and about this \
             release alone."
        }
    }
}
