//! The page as a whole: verdict, safety and utility side by side, and all sections in their order.

use std::borrow::Cow;

use maud::{Markup, html};

use super::contents::{Asked, Contents, Origin, Reader};
use super::data::PageData;
use super::explorer::{self, Explored};
use super::values::{ColumnRows, PLACES, ValueRows, size};
use super::{attacks, binds, claims, distributions, origin, scope, unchanged, worth};
use crate::check::JudgedColumn;
use crate::error::number_of;
use crate::math::exact::{Rational, decimal_at_least};
use crate::math::skyline::Knowledge;
use crate::model::finding::ClaimSubject;
use crate::report::chart::{CHART_STYLE, hatching, meter};
use crate::report::digits::{grouped, telling_places};
use crate::report::html::{Attachments, document};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = concat!(include_str!("breach.js"), include_str!("explore.js"));

/// The page as HTML.
pub fn to_html(contents: &Contents<'_>) -> String {
    let names: Vec<&str> = contents.verdict.findings().map(|finding| finding.column.as_str()).collect();
    let (what, style) = match &contents.origin {
        Origin::Release { style, .. } => ("Release", *style),
        Origin::Table { .. } => ("Table", "grouped"),
    };
    let columns: Vec<_> =
        contents.verdict.columns.iter().map(|column| (column, ValueRows::of(column))).collect();
    let data = PageData::of(&columns);
    let body = html! {
        (head(contents, what, style, &names))
        (unchanged::warnings(contents))
        div.cards {
            section.card { h2 { "Safety" } (safety_card(contents, &columns)) }
            section.card { h2 { "Utility" } (worth::card(contents)) }
        }
        (safety(contents, &data, &columns))
        (scope::section(contents))
        (attacks::section(contents))
        (worth::section(contents))
        (binds::section(contents))
        (unchanged::section(contents))
        (origin::section(contents))
    };
    let script = if data.json.is_empty() { "" } else { SCRIPT };
    let style = format!("{CHART_STYLE}{STYLE}");
    let attached = Attachments { style: &style, script, data: &data.json };
    document(&format!("{what} report: {}", names.join(", ")), attached, &body)
}

fn head(contents: &Contents<'_>, what: &str, style: &str, columns: &[&str]) -> Markup {
    let (class, verdict) = verdict(contents);
    let first = contents.verdict.first();
    html! {
        header {
            @if contents.reader == Reader::Owner {
                p.private {
                    strong { "Private." } " This report is for the owner of the original: it shows more than the release does. \
                    Do not publish it."
                }
            }
            h1 {
                (what) " of "
                @for (i, column) in columns.iter().enumerate() {
                    @if i > 0 { ", " }
                    code { bdi { (column) } }
                }
            }
            p.lead {
                span.verdict.(class) { (verdict) } " "
                (grouped(first.individuals)) (if first.individuals == 1 { " person in " } else { " people in " })
                (grouped(first.groups)) (if first.groups == 1 { " group, " } else { " groups, " })
                (style) ", " (first.values.name()) " values"
            }
        }
    }
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

/// The value that is closest to its limit, and the smallest groups.
fn safety_card(contents: &Contents<'_>, columns: &[ColumnRows<'_>]) -> Markup {
    let report = contents.verdict.first();
    let fewest = contents.verdict.columns.iter().map(|column| column.fewest_values).min();
    html! {
        @for (column, rows) in columns { (tightest(column, rows, contents)) }
        (facts(&[
            ("people in the smallest group", grouped(report.smallest_group)),
            ("fewest different values in a group", grouped(fewest.unwrap_or(0))),
        ]))
    }
}

fn tightest(column: &JudgedColumn, rows: &ValueRows<'_>, contents: &Contents<'_>) -> Markup {
    let claims = &column.finding.claims;
    let holding = claims.iter().filter(|claim| claim.is_safe()).count();
    let value = rows.rows.first().map(|row| {
        let point = &rows.points[row.tightest];
        Closest {
            name: row.name,
            kind: "values",
            breach: row.breach.clone(),
            limit: &point.confidence,
            size: point.size,
        }
    });
    let Some(closest) = value.or_else(|| closest_window(column)) else {
        return html! {
            p.big { (holding) " of " (claims.len()) }
            p.soft { (if claims.len() == 1 { "claim about " } else { "claims about " }) code { bdi { (column.finding.column) } } " proven to hold" }
        };
    };
    let Closest { name, kind, breach, limit, size } = closest;
    let places = telling_places(&breach, limit, PLACES);
    html! {
        p.big {
            (decimal_at_least(&breach, places))
            @if contents.asked != Asked::Nothing { span.soft { " of " (limit) } }
        }
        (meter(&breach, Some(limit).filter(|_| contents.asked != Asked::Nothing)))
        p.soft {
            "How sure someone can become of " bdi { strong { (name) } }
            @if size.l + size.k + size.m > 0 {
                " who rules out " (number_of(size.l, "value", "values")) ", knows " (number_of(size.k, "other", "others"))
                " and " (grouped(size.m)) " of the family"
            }
            @if contents.asked == Asked::Nothing {
                " from the groups alone."
            } @else {
                ": the closest of all " (kind) " to its limit. " (grouped(holding as u64)) " of " (grouped(claims.len() as u64))
                " claims hold."
            }
        }
    }
}

/// What is closest to its limit.
struct Closest<'a> {
    name: &'a str,
    kind: &'static str,
    breach: Rational,
    limit: &'a Rational,
    size: Knowledge,
}

fn closest_window(column: &JudgedColumn) -> Option<Closest<'_>> {
    let windows = column.finding.claims.iter().filter_map(|claim| match &claim.subject {
        ClaimSubject::Window(name) => Some((claim, name, claim.measured.amount.upper_bound()?)),
        _ => None,
    });
    let closest = windows.min_by_key(|(claim, _, breach)| claim.limit.value.clone() - breach);
    let (claim, name, breach) = closest?;
    Some(Closest { name, kind: "windows", breach, limit: &claim.limit.value, size: size(claim)? })
}

/// What was required, what was found, and how much more an adversary could know.
fn safety(contents: &Contents<'_>, data: &PageData, columns: &[ColumnRows<'_>]) -> Markup {
    if let [only] = &contents.verdict.columns[..]
        && let Some(total) = only.finding.total("distributions")
    {
        return distributions::section(only, total, contents.reader);
    }
    html! {
        h2 { "How sure could someone become?" }
        @if columns.len() > 1 {
            p.soft {
                "Each column is judged on its own, as if the others were not published. Someone who already knows a person's \
                 value in one of them can use it against the others; a column that others may know should be a \
                 quasi-identifier."
            }
        }
        svg.defs width="0" height="0" aria-hidden="true" { (hatching()) }
        @for (position, (column, rows)) in columns.iter().enumerate() {
            @if columns.len() > 1 { h3 { code { bdi { (column.finding.column) } } } }
            (claims::section(column, contents))
            @let explored = if data.explored[position] { Explored::At(position) } else { Explored::Not };
            @if let Some(section) = explorer::section(rows, explored) { (section) }
        }
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
