//! What was required beside skyline points, and what was found?
//!
//! A table with a row for each requirement: the sizes of groups, criteria of other tools, implications and beliefs. What is
//! measured is rounded up where more is worse. How far beliefs move is not told: that depends on the original and not
//! on the release alone.
//!
//! Memory: a row per requirement.

use std::fmt::Write;

use super::svg::{escape, grouped};
use crate::check::CheckReport;
use crate::error::number_of;
use crate::math::exact::decimal_at_least;
use crate::model::beliefs::{BeliefBound, BeliefsModel};

/// Digits after the point of a risk.
const PLACES: usize = 4;

/// How beliefs were judged that nobody looks at now.
const JUDGED_BEFORE: &str =
    "judged when it was made; <code>skyveil check RELEASE --original TABLE</code> judges it again";

/// The verdict on a requirement.
#[derive(Clone, Copy)]
enum Verdict {
    Holds,
    Fails,
    NotJudged,
}

impl From<bool> for Verdict {
    fn from(holds: bool) -> Self {
        if holds { Verdict::Holds } else { Verdict::Fails }
    }
}

/// The table as HTML, or nothing if nothing was required; `beliefs` are those of the policy, if it has that model.
pub fn table(report: &CheckReport, beliefs: Option<&BeliefsModel>) -> String {
    let mut rows: Vec<(String, String, String, Verdict)> = Vec::new();
    for (what, has, least) in [
        ("people in the smallest group", report.smallest_group, report.minimum_group_size),
        ("fewest different values in a group", report.fewest_values, report.minimum_distinct_values),
    ] {
        if least > 1 {
            let limit = format!("at least {}", grouped(least));
            rows.push((what.to_string(), grouped(has), limit, (has >= least).into()));
        }
    }
    for share in &report.shares {
        let measured = decimal_at_least(&share.measured, PLACES);
        rows.push((
            share.criterion.to_string(),
            measured,
            format!("at most {}", share.most),
            share.safe.into(),
        ));
    }
    if let Some(disclosure) = &report.disclosure
        && let (Some(confidence), Some(last)) = (&disclosure.confidence, disclosure.points.last())
    {
        let known = number_of(last.k as u64, "implication", "implications");
        let measured = decimal_at_least(&last.disclosure, PLACES);
        let limit = format!("below {}", confidence.value());
        rows.push((format!("disclosure to whoever knows {known}"), measured, limit, disclosure.safe.into()));
    }
    for point in beliefs.into_iter().flat_map(|beliefs| &beliefs.points) {
        let (measured, verdict) = match &report.beliefs {
            None => (JUDGED_BEFORE.to_string(), Verdict::NotJudged),
            Some(found) => ("not told".to_string(), found.is_private().into()),
        };
        rows.push((adversary(point), measured, format!("at most {}", point.t), verdict));
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut page = String::from(
        "<div class=\"scroll few\"><table><thead><tr><th>required</th><th>verdict</th><th>found</th><th>limit</th></tr>\
         </thead><tbody>\n",
    );
    for (what, measured, limit, verdict) in rows {
        let (class, verdict) = match verdict {
            Verdict::Holds => ("", "safe"),
            Verdict::Fails => (" class=\"bad\"", "unsafe"),
            Verdict::NotJudged => ("", "not judged here"),
        };
        let _ = writeln!(
            page,
            "<tr{class}><td>{}</td><td>{verdict}</td><td>{measured}</td><td>{limit}</td></tr>",
            escape(&what)
        );
    }
    page.push_str("</tbody></table></div>\n");
    if report.beliefs.is_some() {
        page.push_str(
            "<p class=\"note\">How far beliefs move is not told: that depends on the original and not on the release \
             alone.</p>\n",
        );
    }
    page
}

/// One adversary with kernel priors in words.
fn adversary(point: &BeliefBound) -> String {
    let mut widths: Vec<String> = point.bandwidth.values().map(ToString::to_string).collect();
    widths.dedup();
    let bandwidth = match &widths[..] {
        [one] => one.clone(),
        _ => {
            let named = point.bandwidth.iter().map(|(name, width)| format!("{name} {width}"));
            named.collect::<Vec<_>>().join(", ")
        }
    };
    format!("how far a belief moves, bandwidth {bandwidth}")
}
