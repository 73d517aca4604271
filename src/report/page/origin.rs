//! Where does a release come from? Version, policy, and how to reproduce and check it.

use maud::{Markup, html};

use super::contents::{Contents, Origin};
use crate::model::{Needs, Policy};

pub(super) fn section(contents: &Contents<'_>) -> Markup {
    html! {
        h2 { "Where does it come from?" }
        @match &contents.origin {
            Origin::Release { policy, version, .. } => {
                p {
                    "Made by skyveil " (version) " with the policy below, whose SHA-256 is " code { (policy.hash()) }
                    ". This directory says nothing about the input that the published rows do not show: the same rows, \
                    policy and version give the same bytes. The owner's receipt says from which input it was made; "
                    code { "manifest.json" } " holds the hashes of all files."
                }
                pre {
                    "skyveil anonymize TABLE --policy policy.toml --out RELEASE\n" (check_command(policy))
                }
            }
            Origin::Table { groups, .. } => p {
                "Not a release of skyveil: it is not known who made the table, from what, and how. A group is the rows that \
                 agree in " code { (groups.join(", ")) } "."
            },
        }
        @if let Some(policy) = contents.policy() {
            details {
                summary { "The policy" }
                pre { (policy.canonical().trim()) }
            }
        }
    }
}

/// The command that checks a release with this policy.
fn check_command(policy: &Policy) -> &'static str {
    match policy.needs() {
        Needs::Original => "skyveil check RELEASE --original TABLE",
        Needs::Distributions => "skyveil check RELEASE --policy policy.toml",
        Needs::Counts => "skyveil check RELEASE",
    }
}
