//! How much more could an adversary know? The knowledge skylines of the values with the smallest margins.

use maud::{Markup, html};

use super::claims::values_by_margin;
use crate::check::JudgedColumn;
use crate::math::skyline::{KeptGroups, KnowledgeSkyline, UpTo};
use crate::report::chart::knowledge_skyline;

/// Number of knowledge skylines that are drawn.
const MOST_SKYLINES: usize = 12;
/// How far the skylines are searched: enough for a chart, whatever the size of the groups.
const UP_TO: UpTo = UpTo { l: 20, k: u64::MAX, m: 40 };

pub(super) fn section(column: &JudgedColumn) -> Markup {
    let mut names: Vec<&str> = Vec::new();
    for (value, _) in values_by_margin(&column.finding) {
        if !names.contains(&value) {
            names.push(value);
        }
    }
    if names.is_empty() {
        return html! {
            p {
                "Not computed: no skyline point says how certain an adversary may become. "
                code { "skyveil skyline --value VALUE --confidence C" } " computes it."
            }
        };
    }
    html! {
        p.note {
            "Knowledge on or below a line keeps the adversary below the confidence of the value; one step beyond it does \
             not. Each line is for one number l of values ruled out."
        }
        div.figures {
            @for &name in names.iter().take(MOST_SKYLINES) {
                @let kept = column.kept.iter().find(|(value, _)| value == name).map(|(_, kept)| kept);
                figure { (one_value(name, kept)) }
            }
        }
        @if names.len() > MOST_SKYLINES {
            p.note {
                "Shown are the " (MOST_SKYLINES) " of " (names.len()) " values with the smallest margin; "
                code { "skyveil skyline --all" } " shows the others."
            }
        }
    }
}

/// The skyline of one value, or why there is none.
fn one_value(name: &str, kept: Option<&KeptGroups>) -> Markup {
    let Some(kept) = kept.filter(|kept| !kept.overflowed()) else {
        return html! {
            h3 { (name) }
            p { "Not computed: too many groups differ too much to keep them all." }
        };
    };
    let KnowledgeSkyline { points, levels, always_safe, ended } = kept.skyline(UP_TO);
    let confidence = kept.confidence().value();
    html! {
        h3 { (name) ": below " (confidence) }
        @if always_safe {
            p { "The value does not occur." }
        } @else if points.is_empty() {
            p { "Not even the release alone stays below " (confidence) "." }
        } @else {
            (knowledge_skyline(&format!("Knowledge skyline of {name}"), &levels).to_element())
            @if ended {
                p.note { "Searched up to l = " (UP_TO.l) " and m = " (UP_TO.m) " at most; more may be safe." }
            }
        }
    }
}
