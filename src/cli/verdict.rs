//! How is the verdict of a check told to people and to programs?
//!
//! Pure text: no risk is ever rounded down, no margin up.

use serde_json::{Value, json};

use super::attack::{self, moved_text};
use super::robust;
use super::terminal::visible;
use crate::attack::{AtThreshold, AttackReport, PointReport as BeliefReport};
use crate::check::{CheckReport, DisclosurePoint, Order, PointReport};
use crate::confidence::Confidence;
use crate::error::number_of;
use crate::exact::{Rational, decimal_at_least, decimal_at_most, f64_at_least};
use crate::skyline::Breach;

/// How many points are told to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The worst few.
    Worst,
    /// All of them.
    All,
}

/// Points that are shown unless all are asked for.
const SHOWN: usize = 10;
/// Digits after the point.
const PLACES: usize = 6;

/// For people: a verdict in one line for each sensitive column, and a table of its points.
pub fn to_text(reports: &[(String, CheckReport)], detail: Detail) -> String {
    let shown = match detail {
        Detail::Worst => SHOWN,
        Detail::All => usize::MAX,
    };
    let several = reports.len() > 1;
    let one = |(column, report): &(String, CheckReport)| {
        let head = if several { format!("{}: ", visible(column)) } else { String::new() };
        let posteriors =
            report.robust.as_ref().map(|report| robust::table(report, shown)).unwrap_or_default();
        format!("{head}{}{}{posteriors}", verdict(report), table(report, shown))
    };
    reports.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn table(report: &CheckReport, shown: usize) -> String {
    let mut points: Vec<(Rational, &PointReport)> =
        report.points.iter().map(|point| (point.margin(), point)).collect();
    if points.is_empty() {
        return String::new();
    }
    points.sort_by(|a, b| a.0.cmp(&b.0));
    let rows = points.iter().take(shown).map(|(margin, point)| {
        let size = point.point.knowledge;
        [
            visible(&point.value),
            size.l.to_string(),
            size.k.to_string(),
            size.m.to_string(),
            decimal_at_least(&point.breach.upper_bound(), PLACES),
            point.point.confidence.value().to_string(),
            decimal_at_most(margin, PLACES),
            if point.safe { "safe" } else { "unsafe" }.to_string(),
        ]
    });
    let head = ["value", "l", "k", "m", "breach", "below", "margin", "verdict"].map(str::to_string);
    let mut text = "\n".to_string();
    text.push_str(&aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>()));
    if points.len() > shown {
        text.push_str(&format!(
            "... and {} more that are no worse; --all shows them\n",
            points.len() - shown
        ));
    }
    text
}

/// One line.
fn verdict(report: &CheckReport) -> String {
    let estimated = report.beliefs.as_ref().and_then(AttackReport::estimated);
    let word = match (report.safe, estimated) {
        (true, _) => "safe",
        (false, Some(_)) if report.counts_hold() => "estimated",
        (false, _) => "unsafe",
    };
    let unsafe_points = report.points.iter().filter(|point| !point.safe).count();
    let mut reasons = Vec::new();
    let all_points = report.points.len();
    match (all_points, all_points - unsafe_points) {
        (0, _) => {}
        (1, 1) => reasons.push("the point holds".to_string()),
        (_, held) if held == all_points => reasons.push(format!("all {all_points} points hold")),
        (_, held) => reasons.push(format!("{held} of {all_points} points hold")),
    }
    if let Some((point, confidence)) = judged(report) {
        let (k, most) = (point.k, decimal_at_least(&point.disclosure, PLACES));
        let known = number_of(k as u64, "implication", "implications");
        reasons.push(format!("{known} can disclose {most}, less than {} is required", confidence.value()));
    }
    reasons.extend(report.robust.as_ref().map(|report| format!("posteriors {}", robust::posteriors(report))));
    if report.minimum_group_size > 1 {
        let smallest = number_of(report.smallest_group, "person", "people");
        let minimum = report.minimum_group_size;
        reasons.push(format!("the smallest group has {smallest}, {minimum} are required"));
    }
    if report.minimum_distinct_values > 0 {
        let (fewest, minimum) = (report.fewest_values, report.minimum_distinct_values);
        let fewest = number_of(fewest, "different value", "different values");
        reasons.push(format!("some group has {fewest}, {minimum} are required"));
    }
    for point in report.beliefs.iter().flat_map(|beliefs| &beliefs.points) {
        for at in &point.thresholds {
            reasons.push(belief_text(at, point));
        }
    }
    for share in &report.shares {
        let (measured, most) = (decimal_at_least(&share.measured, PLACES), &share.most);
        reasons
            .push(format!("{}: {measured} in the worst group, at most {most} is required", share.criterion));
    }
    let people = number_of(report.individuals, "person", "people");
    let groups = number_of(report.groups, "group", "groups");
    format!("{word}: {people} in {groups}; {}\n", reasons.join("; "))
}

/// How far beliefs moved, and how far they may.
fn belief_text(at: &AtThreshold, point: &BeliefReport) -> String {
    let moved = match (at.vulnerable, at.undecided) {
        (0, 0) => "no belief moves further".to_string(),
        (0, many) => format!("the beliefs about {} may move further", number_of(many, "person", "people")),
        (many, 0) => format!("the beliefs about {} move further", number_of(many, "person", "people")),
        (many, open) => format!(
            "the beliefs about {} move further, and perhaps about {open} more",
            number_of(many, "person", "people")
        ),
    };
    let plain = match point.unsmoothed == point.worst.moved {
        true => String::new(),
        false => format!(", {} without smoothing", moved_text(point.unsmoothed)),
    };
    format!(
        "beliefs may move by {}: {moved}; the largest move is {}{plain}",
        at.t,
        moved_text(point.worst.moved)
    )
}

/// What implications disclose, and the threshold for it.
fn judged(report: &CheckReport) -> Option<(&DisclosurePoint, &Confidence)> {
    let disclosure = report.disclosure.as_ref()?;
    Some((disclosure.points.last()?, disclosure.confidence.as_ref()?))
}

/// Columns side by side: the first one to the left, the others to the right.
pub(super) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let widths: [usize; N] =
        std::array::from_fn(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        for (i, (cell, width)) in row.iter().zip(widths).enumerate() {
            match i {
                0 => text.push_str(&format!("{cell:<width$}")),
                _ => text.push_str(&format!("  {cell:>width$}")),
            }
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// For programs: one object; with several sensitive columns each point names its own.
pub fn to_json(reports: &[(String, CheckReport)]) -> Value {
    let several = reports.len() > 1;
    let mut points: Vec<Value> = Vec::new();
    for (column, report) in reports {
        let disclosed = judged(report).map(|(point, confidence)| {
            json!({
                "implications": point.k,
                "confidence": confidence.value().to_string(),
                "disclosure": f64_at_least(&point.disclosure),
                "disclosure_exact": exact_text(&point.disclosure),
                "safe": report.disclosure.as_ref().is_some_and(|disclosure| disclosure.safe),
            })
        });
        let shares = report.shares.iter().map(|share| {
            json!({
                "criterion": share.criterion,
                "measured": f64_at_least(&share.measured),
                "measured_exact": exact_text(&share.measured),
                "most": share.most.to_string(),
                "group": share.group,
                "safe": share.safe,
            })
        });
        for mut point in report.points.iter().map(point_json).chain(disclosed).chain(shares) {
            if several {
                point["column"] = json!(column);
            }
            points.push(point);
        }
    }
    let Some((_, first)) = reports.first() else { return Value::Null };
    let model = |report: &CheckReport| match (&report.disclosure, &report.beliefs, &report.robust) {
        (Some(_), _, _) => "implications",
        (None, Some(_), _) => "beliefs",
        (None, None, Some(_)) => "robust",
        (None, None, None) => "skyline",
    };
    let beliefs = reports.iter().filter_map(|(column, report)| {
        let mut beliefs = attack::to_json(report.beliefs.as_ref()?);
        beliefs["column"] = json!(column);
        beliefs["private"] = json!(report.beliefs.as_ref()?.is_private());
        beliefs["estimated"] = json!(report.beliefs.as_ref()?.estimated());
        Some(beliefs)
    });
    let beliefs: Vec<Value> = beliefs.collect();
    let mut models: Vec<&str> = reports.iter().map(|(_, report)| model(report)).collect();
    models.dedup();
    let fewest = reports.iter().map(|(_, report)| report.fewest_values).min();
    let mut told = json!({
        "safe": reports.iter().all(|(_, report)| report.safe),
        "model": models.join("+"),
        "values": first.values.name(),
        "records": first.records,
        "individuals": first.individuals,
        "groups": first.groups,
        "smallest_group": first.smallest_group,
        "minimum_group_size": first.minimum_group_size,
        "fewest_distinct_values": fewest,
        "minimum_distinct_values": first.minimum_distinct_values,
        "scattered": first.order == Order::Scattered,
        "spilled_bytes": reports.iter().map(|(_, report)| report.spilled_bytes).sum::<u64>(),
        "points": points,
        "beliefs": beliefs,
    });
    if let Some(report) = reports.iter().find_map(|(_, report)| report.robust.as_ref()) {
        told["distributions"] = report.to_json();
    }
    told
}

fn point_json(point: &PointReport) -> Value {
    let size = point.point.knowledge;
    json!({
        "value": point.value,
        "l": size.l,
        "k": size.k,
        "m": size.m,
        "confidence": point.point.confidence.value().to_string(),
        "breach": point.breach.at_least(),
        "breach_exact": match &point.breach {
            Breach::Exact(exact) => exact_text(exact),
            Breach::AtMost(_) => None,
        },
        "safe": point.safe,
    })
}

/// Bits of a fraction beyond which nobody reads it.
const EXACT_BITS: usize = 1 << 14;

/// A fraction, unless it is too long to read.
pub(super) fn exact_text(exact: &Rational) -> Option<String> {
    use dashu_base::BitTest;
    let bits = exact.numerator().bit_len().max(exact.denominator().bit_len());
    (bits <= EXACT_BITS).then(|| exact.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::ratio;

    #[test]
    fn margins_are_never_rounded_up() {
        assert_eq!(decimal_at_most(&ratio(1, 3), PLACES), "0.333333");
        assert_eq!(decimal_at_most(&ratio(2, 3), PLACES), "0.666666");
        assert_eq!(decimal_at_most(&ratio(0, 1), PLACES), "0.000000");
        assert_eq!(decimal_at_most(&-ratio(1, 3), PLACES), "-0.333334");
    }
}
