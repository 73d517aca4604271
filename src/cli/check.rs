//! `skyveil check`: is this table safe?

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::Answer;
use super::flags::{ResourceFlags, read_count, read_delimiter, read_point, read_values};
use super::terminal::{complain, print, visible, with_progress};
use crate::check::{CheckReport, Columns, Order, PointReport, Requirements, Resources, Subject, check};
use crate::error::{Error, Result};
use crate::exact::{Rational, decimal_at_least};
use crate::read::{ReadOptions, Table};
use crate::skyline::{Breach, Point, Values};

/// Is a release, or any table of groups, safe?
///
/// Exit code 0 if it is, 1 if it is not, 2 if that cannot be told. A table in which the rows of each group
/// stand together is read once, in memory that does not grow with its rows; any other is counted by group
/// out of core.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// A release directory; or Parquet, Arrow IPC or CSV files, a directory of them, or - for standard input.
    #[arg(required = true, value_name = "RELEASE|TABLE")]
    pub paths: Vec<PathBuf>,
    /// Columns that make a group: rows that agree in all of them.
    #[arg(long, value_name = "COL,..", value_delimiter = ',')]
    pub group: Vec<String>,
    /// The sensitive column.
    #[arg(long, value_name = "COL")]
    pub sensitive: Option<String>,
    /// A skyline point: whoever knows L values that the target lacks, the values of K others and M members of
    /// the target's family must stay less sure than C. May be given several times.
    #[arg(long, value_name = "L,K,M,C", value_parser = read_point, allow_hyphen_values = true)]
    pub point: Vec<Point>,
    /// A sensitive value to protect; all of them unless told. May be given several times.
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    pub value: Vec<String>,
    /// How many values a person may have: single, set or multiset.
    #[arg(long, value_name = "MODE", value_parser = read_values)]
    pub values: Option<Values>,
    /// The column that tells people apart, where a person has several rows.
    #[arg(long, value_name = "COL")]
    pub individual: Option<String>,
    /// The fewest people that a group may have.
    #[arg(long, value_name = "N", value_parser = read_count)]
    pub minimum_group_size: Option<u64>,
    #[command(flatten)]
    resources: ResourceFlags,
    /// The character between the cells of a CSV file.
    #[arg(long, value_name = "CHAR", value_parser = read_delimiter)]
    pub delimiter: Option<u8>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Show every value and point, not only the worst.
    #[arg(long)]
    pub all: bool,
}

/// Checks, and prints the verdict.
pub fn run(args: &CheckArgs) -> Result<Answer> {
    let (columns, requirements) = job(args)?;
    let options = ReadOptions { delimiter: args.delimiter, ..ReadOptions::default() };
    let table = Table::open(&args.paths, &options)?;
    let report = with_progress(|progress| {
        let resources = Resources {
            threads: args.resources.threads(),
            budget: args.resources.budget(),
            temp: args.resources.temp(),
            progress,
        };
        check(&Subject::Table(&table), &columns, &requirements, &resources)
    })?;
    if report.order == Order::Scattered {
        complain(
            "warning",
            "the rows of some groups do not stand together, so the table was read twice; \
             sorted by its group columns it is checked faster",
        );
    }
    if args.json {
        print(&format!("{}\n", to_json(&report)))?;
    } else {
        print(&to_text(&report, if args.all { usize::MAX } else { SHOWN }))?;
    }
    Ok(if report.safe { Answer::Yes } else { Answer::No })
}

fn job(args: &CheckArgs) -> Result<(Columns, Requirements)> {
    let sensitive = args.sensitive.clone().ok_or_else(|| {
        Error::input("no sensitive column is given", "name it with --sensitive, or give a release directory")
    })?;
    if !args.value.is_empty() && args.point.is_empty() {
        return Err(Error::input(
            "--value is given, but no point that its values must fulfil",
            "add --point L,K,M,C, such as --point 1,10,1,0.5",
        ));
    }
    let columns = Columns {
        groups: args.group.clone(),
        sensitive,
        values: args.values.unwrap_or(Values::Single),
        individual: args.individual.clone(),
        null_is: None,
    };
    let targets = (!args.value.is_empty()).then(|| args.value.clone());
    let requirements = Requirements {
        skyline: args.point.iter().map(|point| (targets.clone(), point.clone())).collect(),
        minimum_group_size: args.minimum_group_size.unwrap_or(1),
        minimum_distinct_values: 0,
    };
    Ok((columns, requirements))
}

/// Points that are shown unless all are asked for.
const SHOWN: usize = 10;
/// Digits after the point.
const PLACES: usize = 6;

fn to_text(report: &CheckReport, shown: usize) -> String {
    let mut text = verdict(report);
    let mut points: Vec<&PointReport> = report.points.iter().collect();
    if points.is_empty() {
        return text;
    }
    points.sort_by_key(|point| margin(point));
    let rows = points.iter().take(shown).map(|point| {
        let size = point.point.knowledge;
        [
            visible(&point.value),
            size.l.to_string(),
            size.k.to_string(),
            size.m.to_string(),
            decimal_at_least(&upper_bound(&point.breach), PLACES),
            point.point.confidence.value().to_string(),
            signed_decimal_at_most(&margin(point)),
            if point.safe { "safe" } else { "unsafe" }.to_string(),
        ]
    });
    let head = ["value", "l", "k", "m", "breach", "below", "margin", "verdict"].map(str::to_string);
    text.push('\n');
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
    let word = if report.safe { "safe" } else { "unsafe" };
    let unsafe_points = report.points.iter().filter(|point| !point.safe).count();
    let mut reasons = Vec::new();
    if unsafe_points > 0 {
        reasons.push(format!("{unsafe_points} of {} points do not hold", report.points.len()));
    } else if !report.points.is_empty() {
        reasons.push(format!("{} of {} points hold", report.points.len(), report.points.len()));
    }
    if report.minimum_group_size > 1 {
        let (smallest, minimum) = (report.smallest_group, report.minimum_group_size);
        reasons.push(format!("the smallest group has {smallest} people, {minimum} are required"));
    }
    if report.minimum_distinct_values > 0 {
        let (fewest, minimum) = (report.fewest_values, report.minimum_distinct_values);
        reasons.push(format!("some group has {fewest} different values, {minimum} are required"));
    }
    format!("{word}: {} people in {} groups; {}\n", report.individuals, report.groups, reasons.join("; "))
}

/// How far the breach stays below the threshold; 0 or less is unsafe.
fn margin(point: &PointReport) -> Rational {
    point.point.confidence.value() - upper_bound(&point.breach)
}

fn upper_bound(breach: &Breach) -> Rational {
    match breach {
        Breach::Exact(exact) => exact.clone(),
        Breach::AtMost(bound) => Rational::try_from(*bound).unwrap_or(Rational::ONE),
    }
}

/// In decimals, rounded down: a margin is never overstated.
fn signed_decimal_at_most(value: &Rational) -> String {
    if *value < Rational::ZERO {
        return format!("-{}", decimal_at_least(&-value.clone(), PLACES));
    }
    let scale = Rational::from(10u64.pow(PLACES as u32));
    let floor = Rational::from((value * &scale).floor()) / scale;
    decimal_at_least(&floor, PLACES)
}

/// Columns side by side: the first one to the left, the others to the right.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
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

fn to_json(report: &CheckReport) -> Value {
    let points: Vec<Value> = report
        .points
        .iter()
        .map(|point| {
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
        })
        .collect();
    json!({
        "safe": report.safe,
        "model": "skyline",
        "values": report.values.name(),
        "records": report.records,
        "individuals": report.individuals,
        "groups": report.groups,
        "smallest_group": report.smallest_group,
        "minimum_group_size": report.minimum_group_size,
        "fewest_distinct_values": report.fewest_values,
        "minimum_distinct_values": report.minimum_distinct_values,
        "clustered": report.order == Order::Clustered,
        "spilled_bytes": report.spilled_bytes,
        "points": points,
    })
}

/// Digits of a fraction beyond which nobody reads it.
const EXACT_BITS: usize = 1 << 14;

fn exact_text(exact: &Rational) -> Option<String> {
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
        assert_eq!(signed_decimal_at_most(&ratio(1, 3)), "0.333333");
        assert_eq!(signed_decimal_at_most(&ratio(2, 3)), "0.666666");
        assert_eq!(signed_decimal_at_most(&ratio(0, 1)), "0.000000");
        assert_eq!(signed_decimal_at_most(&-ratio(1, 3)), "-0.333334");
    }
}
