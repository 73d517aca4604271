//! How is the verdict of a check told to people and to programs?
//!
//! Pure text: no risk is ever rounded down, no margin up.

use serde_json::{Value, json};

use super::attack::{self, moved_text};
use super::robust;
use super::terminal::visible;
use crate::check::{CheckReport, DisclosurePoint, Order, PointReport};
use crate::error::number_of;
use crate::math::confidence::Confidence;
use crate::math::exact::{Rational, decimal_at_least, decimal_at_most, f64_at_least};
use crate::math::skyline::Breach;
use crate::model::beliefs::judge::{AtThreshold, AttackReport, PointReport as BeliefReport};

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
        let beliefs = report.beliefs.as_ref().map(|found| beliefs_table(found, shown)).unwrap_or_default();
        format!("{head}{}{}{posteriors}{beliefs}", verdict(report), table(report, shown))
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
    reasons.extend(report.beliefs.as_ref().map(beliefs_text));
    for share in &report.shares {
        let (measured, most) = (decimal_at_least(&share.measured, PLACES), &share.most);
        reasons
            .push(format!("{}: {measured} in the worst group, at most {most} is required", share.criterion));
    }
    let people = number_of(report.individuals, "person", "people");
    let groups = number_of(report.groups, "group", "groups");
    format!("{word}: {people} in {groups}; {}\n", reasons.join("; "))
}

/// Whether beliefs moved further than they may.
fn beliefs_text(found: &AttackReport) -> String {
    let all = || found.points.iter().flat_map(|point| &point.thresholds);
    let most = |people: fn(&AtThreshold) -> u64| all().map(people).max().unwrap_or(0);
    // Each adversary is told in the table; the people of different ones need not be the same.
    let people = |many: u64| {
        let or_more = if all().count() > 1 { " or more" } else { "" };
        format!("the beliefs about {}{or_more}", number_of(many, "person", "people"))
    };
    match (most(|at| at.vulnerable), most(|at| at.undecided)) {
        (0, 0) => "no belief moves further than it may".to_string(),
        (0, open) => format!("{} may move too far", people(open)),
        (many, _) => format!("{} move too far", people(many)),
    }
}

/// How far beliefs moved, and how far they may, for each adversary.
fn beliefs_table(found: &AttackReport, shown: usize) -> String {
    let points = || found.points.iter().flat_map(|point| point.thresholds.iter().map(move |at| (point, at)));
    let row = |(point, at): (&BeliefReport, &AtThreshold)| {
        [
            bandwidth_text(point),
            at.t.to_string(),
            moved_text(point.worst.moved),
            at.vulnerable.to_string(),
            at.undecided.to_string(),
            match (at.vulnerable, at.undecided) {
                (0, 0) => "safe",
                (0, _) => "estimated",
                _ => "unsafe",
            }
            .to_string(),
        ]
    };
    let head =
        ["bandwidth", "may move by", "largest move", "too far", "undecided", "verdict"].map(str::to_string);
    let rows: Vec<_> = std::iter::once(head).chain(points().take(shown).map(row)).collect();
    let mut text = format!("\n{}", aligned(&rows));
    if points().count() > shown {
        text.push_str(&format!("... and {} more; --all shows them\n", points().count() - shown));
    }
    if let Some(smooth) = &found.smooth {
        let moved = |point: &BeliefReport| moved_text(point.unsmoothed);
        let moves: Vec<String> = found.points.iter().take(shown).map(moved).collect();
        text.push_str(&format!(
            "smoothed by {smooth}; without that the largest move is {}\n",
            moves.join(", ")
        ));
    }
    text
}

/// One number where all columns have the same.
fn bandwidth_text(point: &BeliefReport) -> String {
    let mut widths = point.bandwidth.values();
    match widths.next() {
        Some(first) if widths.all(|width| width == first) => first.to_string(),
        _ => {
            let each = point.bandwidth.iter().map(|(name, width)| format!("{} {width}", visible(name)));
            each.collect::<Vec<_>>().join(", ")
        }
    }
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
    use crate::math::exact::ratio;

    #[test]
    fn beliefs_are_told_in_a_line_and_a_table() {
        use crate::math::beliefs::group::Moved;
        use crate::model::beliefs::judge::Worst;
        let point = |width: [(i64, i64); 2], vulnerable, undecided| BeliefReport {
            bandwidth: [("age", width[0]), ("sex", width[1])]
                .map(|(name, (over, under))| (name.to_string(), Rational::from(over) / Rational::from(under)))
                .into(),
            thresholds: vec![AtThreshold { t: ratio(1, 10), vulnerable, undecided, omega: 0 }],
            certain: 0,
            exact_rows: 9,
            exact_groups: 3,
            worst: Worst { moved: Moved { low: 0.125, high: 0.125 }, group: None, people: 3 },
            unsmoothed: Moved { low: 0.25, high: 0.5 },
            omega: 0.1,
        };
        let report = |smooth, points| AttackReport { rows: 9, groups: 3, combinations: 9, smooth, points };
        let one = report(None, vec![point([(1, 4), (1, 4)], 0, 0)]);
        assert_eq!(beliefs_text(&one), "no belief moves further than it may");
        assert_eq!(
            beliefs_table(&one, 10),
            "\nbandwidth  may move by  largest move  too far  undecided  verdict\n\
             1/4               1/10        0.1250        0          0     safe\n"
        );
        let two =
            report(Some(ratio(1, 5)), vec![point([(1, 4), (2, 1)], 0, 2), point([(1, 2), (1, 2)], 4, 1)]);
        assert_eq!(beliefs_text(&two), "the beliefs about 4 people or more move too far");
        assert_eq!(
            beliefs_table(&two, 10),
            "\nbandwidth       may move by  largest move  too far  undecided    verdict\n\
             age 1/4, sex 2         1/10        0.1250        0          2  estimated\n\
             1/2                    1/10        0.1250        4          1     unsafe\n\
             smoothed by 1/5; without that the largest move is between 0.2500 and 0.5000, between 0.2500 and 0.5000\n"
        );
        assert!(beliefs_table(&two, 1).contains("... and 1 more"));
    }

    #[test]
    fn margins_are_never_rounded_up() {
        assert_eq!(decimal_at_most(&ratio(1, 3), PLACES), "0.333333");
        assert_eq!(decimal_at_most(&ratio(2, 3), PLACES), "0.666666");
        assert_eq!(decimal_at_most(&ratio(0, 1), PLACES), "0.000000");
        assert_eq!(decimal_at_most(&-ratio(1, 3), PLACES), "-0.333334");
    }
}
