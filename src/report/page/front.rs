//! The page as a whole: verdict, facts, and all sections in their order.

use std::borrow::Cow;

use maud::{Markup, html};

use super::contents::{Asked, Contents, Origin};
use super::{claims, distributions, origin, scope, skylines, unchanged, worth};
use crate::report::digits::grouped;
use crate::report::html::document;

const STYLE: &str = include_str!("style.css");

/// The page as HTML.
pub fn to_html(contents: &Contents<'_>) -> String {
    let columns: Vec<&str> = contents.verdict.findings().map(|finding| finding.column.as_str()).collect();
    let (what, style) = match &contents.origin {
        Origin::Release { style, .. } => ("Release", *style),
        Origin::Table { .. } => ("Table", "grouped"),
    };
    let (class, verdict) = verdict(contents);
    let body = html! {
        h1 {
            (what) " of "
            @for (i, column) in columns.iter().enumerate() {
                @if i > 0 { ", " }
                code { (column) }
            }
        }
        p { span.verdict.(class) { (verdict) } }
        (unchanged::warnings(contents))
        (summary(contents, style))
        (scope::section(contents))
        (safety(contents))
        (worth::sizes(contents))
        (worth::utility(contents))
        (worth::distance(contents))
        (unchanged::section(contents))
        (origin::section(contents))
    };
    document(&format!("{what} report: {}", columns.join(", ")), STYLE, &body)
}

/// The class of the badge, and what it says.
fn verdict(contents: &Contents<'_>) -> (&'static str, Cow<'static, str>) {
    let safe = contents.verdict.holds_as_far_as_judged();
    let unprotected = contents.verdict.unprotected();
    let (class, words) = match (contents.asked, safe) {
        (Asked::Policy | Asked::Points, true) if unprotected.is_some() => {
            return ("open", unprotected.unwrap_or_default().into());
        }
        (Asked::Policy, true) if contents.unjudged() => {
            ("open", "no verdict on beliefs, which needs the original; all else is safe by the policy")
        }
        (Asked::Policy, true) => ("safe", "safe by its policy"),
        (Asked::Policy, false) => ("unsafe", "not safe by its policy"),
        (Asked::Points, true) => ("safe", "safe at the requested points"),
        (Asked::Points, false) => ("unsafe", "not safe at the requested points"),
        (Asked::Nothing, _) => ("open", "no verdict: nothing says what must hold"),
    };
    (class, words.into())
}

fn summary(contents: &Contents<'_>, style: &str) -> Markup {
    let report = contents.verdict.first();
    let fewest = contents.verdict.columns.iter().map(|column| column.fewest_values).min();
    facts(&[
        ("people", grouped(report.individuals)),
        ("groups", grouped(report.groups)),
        ("people in the smallest group", grouped(report.smallest_group)),
        ("fewest different values in a group", grouped(fewest.unwrap_or(0))),
        ("style", format!("{style}, {} values", report.values.name())),
    ])
}

/// What was required, what was found, and how much more an adversary could know.
fn safety(contents: &Contents<'_>) -> Markup {
    const MORE: &str = "How much more could an adversary know?";
    if let [only] = &contents.verdict.columns[..]
        && let Some(total) = only.finding.total("distributions")
    {
        return distributions::section(only, total, contents.reader);
    }
    match &contents.verdict.columns[..] {
        [only] => html! {
            h2 { "Is it safe?" }
            (claims::section(only, contents))
            h2 { (MORE) }
            (skylines::section(only))
        },
        several => html! {
            h2 { "Is it safe?" }
            p.note {
                "Each column is judged on its own, as if the others were not published. Someone who already knows a person's \
                 value in one of them can use it against the others; a column that others may know should be a \
                 quasi-identifier."
            }
            @for column in several {
                h2 { "Is " code { (column.finding.column) } " safe?" }
                (claims::section(column, contents))
                h3 { (MORE) }
                (skylines::section(column))
            }
        },
    }
}

/// Named numbers.
pub(super) fn facts(facts: &[(&str, String)]) -> Markup {
    html! {
        dl {
            @for (name, value) in facts {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}
