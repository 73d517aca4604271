//! How sure could an adversary become? A table of all values, and one of them in detail.
//!
//! Without scripts: the values with the smallest margins, and the knowledge skyline of the tightest one. With scripts,
//! `explore.js` fills the same places: every value, any point, any confidence, and the worst case as a story.

use maud::{Markup, html};

use super::values::{ValueRow, ValueRows};
use crate::math::confidence::Confidence;
use crate::math::skyline::{KnowledgeSkyline, UpTo};
use crate::report::chart::{GridMarks, skyline_grid};
use crate::report::digits::grouped;

/// How far the skyline is searched without scripts.
const UP_TO: UpTo = UpTo { l: 15, k: u64::MAX, m: 15 };

/// Whether the data of the column is on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Explored {
    /// At this position.
    At(usize),
    /// It would be too large, or there is nothing to explore.
    Not,
}

/// The section of one column; `None` if no claim is about a single value.
pub(super) fn section(rows: &ValueRows<'_>, explored: Explored) -> Option<Markup> {
    let first = rows.rows.first()?;
    let position = match explored {
        Explored::At(position) => Some(position),
        Explored::Not => None,
    };
    Some(html! {
        div.explorer data-explorer=[position] {
            div.list {
                p.live {
                    label {
                        span.soft { "Find one of " (grouped(rows.rows.len() as u64)) " values" }
                        input type="search" data-part="search" autocomplete="off";
                    }
                }
                div.scroll.window { (rows.table()) }
                p.soft {
                    "How sure someone can become at the point of the policy that is closest to its limit. The small chart: \
                     how many others may be known (upwards) for each number of values ruled out (to the right), all on the \
                     same axes; a diamond marks what the policy requires."
                }
            }
            div.detail {
                h3 data-part="chosen" { bdi { (first.name) } }
                @if position.is_some() { (controls()) }
                div data-part="readout" {}
                figure {
                    div.scroll data-part="grid" { (skyline(first, rows)) }
                    figcaption.soft data-part="caption" {
                        "Each cell: how many others (k) may be known besides, below "
                        (rows.points[first.tightest].confidence) ". Hatched: unsafe, whatever k. Diamonds: the policy."
                    }
                }
                div.story data-part="story" aria-live="polite" {}
            }
        }
    })
}

fn controls() -> Markup {
    let knowledge = [
        ("l", "values ruled out", "Values that the person is known not to have"),
        ("k", "others known", "Other people whose values are known"),
        ("m", "of the family", "Members of the family: if one of them has the value, so does the person"),
    ];
    html! {
        form.controls.live {
            @for (name, short, long) in knowledge {
                label title=(long) {
                    span { strong { (name) } " " (short) }
                    input type="range" min="0" max="20" value="0" data-part={ (name) "-slider" };
                    input type="number" min="0" step="1" value="0" inputmode="numeric" aria-label=(long)
                        data-part={ (name) "-number" };
                }
            }
            label title="How sure nobody may become" {
                span { strong { "c" } " confidence" }
                input type="range" min="1" max="100" value="50" data-part="confidence-slider";
                input type="text" value="1/2" inputmode="decimal" aria-label="Confidence, a decimal or a fraction"
                    data-part="confidence-text";
            }
        }
        p.actions.live {
            span data-part="points" {}
            button type="button" data-part="edge" { "Largest safe k" }
            button type="button" data-part="reset" { "Tightest point" }
        }
    }
}

/// The skyline of a value at its tightest confidence.
fn skyline(row: &ValueRow<'_>, rows: &ValueRows<'_>) -> Markup {
    let point = &rows.points[row.tightest];
    let found = row.decisive.zip(Confidence::new(point.confidence.clone()));
    let Some((decisive, confidence)) = found else {
        return html! { p.soft { "The knowledge skyline was not computed: too many groups differ too much." } };
    };
    let KnowledgeSkyline { points, levels, always_safe, .. } = decisive.skyline(&confidence, UP_TO);
    let required = row.points.iter().map(|&point| rows.points[point].size).collect();
    html! {
        @if always_safe {
            p { "Nobody in the release has this value." }
        } @else if points.is_empty() {
            p { "Not even the release alone stays below " (point.confidence) "." }
        } @else {
            (skyline_grid(&format!("Knowledge skyline of {}", row.name), &levels, &GridMarks { required }))
        }
    }
}
