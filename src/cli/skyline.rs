//! `skyveil skyline`: up to how much knowledge is a table safe?

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::Answer;
use super::flags::{read_confidence, read_sizes, read_within};
use super::subject::{Opened, SubjectFlags};
use super::terminal::{complain, print, visible, with_progress};
use crate::check::{ColumnRoles, count};
use crate::error::{Error, Result};
use crate::math::skyline::{
    Confidence, Knowledge, KnowledgeSkyline, Level, MaximalPoint, Point, Reach, UpTo, Within,
};
use crate::model::judge::Requirements;
use crate::model::skyline::ProtectedValues;
use crate::model::skyline::knowledge::WantedSkylines;
use crate::model::skyline::near::NearPoint;
use crate::report::chart::{knowledge_skyline, to_document};

/// Up to how much knowledge is a release, or any table of groups, safe?
///
/// Finds every point L,K,M that keeps an adversary below the confidence while no larger one does. The table is
/// read as `check` reads it, once where the rows of each group stand together, whatever the number of points.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil skyline release
  skyveil skyline release --value HIV --confidence 0.5
  skyveil skyline release --all --confidence 4/5 --json")]
pub struct SkylineArgs {
    #[command(flatten)]
    subject: SubjectFlags,
    /// A sensitive value to look at. May be given several times. Default for a release: the one that is nearest to its limit.
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    pub value: Vec<String>,
    /// Look at every sensitive value.
    #[arg(long, conflicts_with = "value")]
    pub all: bool,
    /// Look at windows of numbers that are this near to each other, such as 1000 or 5%: those that begin at the values.
    #[arg(long, value_name = "WIDTH", value_parser = read_within)]
    pub within: Option<Within>,
    /// The confidence that an adversary must not reach: a decimal or a fraction above 0 and at most 1. Default for a
    /// release: that of its policy for the value.
    #[arg(long, value_name = "C", value_parser = read_confidence, allow_hyphen_values = true)]
    pub confidence: Option<Confidence>,
    /// Search no further than these sizes; very large groups have very long skylines.
    #[arg(long, value_name = "L,K,M", value_parser = read_sizes)]
    pub up_to: Option<Knowledge>,
    /// Print JSON: one object for one value, an array for several.
    #[arg(long)]
    pub json: bool,
    /// Draw the skylines into this file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Searches, and prints the points.
pub fn run(args: &SkylineArgs) -> Result<Answer> {
    let (opened, columns) = args.subject.open()?;
    let asked = Asked::of(args, &opened, &columns)?;
    let (requirements, wanted) = wanted(args, &asked);
    let skylines = with_progress(|progress| {
        let resources = args.subject.resources(progress);
        let counted = count(&opened.subject(), &columns, &requirements, &wanted, &resources)?;
        Ok::<_, Error>(counted.judge.kept(&counted.names))
    })?;
    let up_to = args.up_to.map_or(UpTo::ANYTHING, |size| UpTo { l: size.l, k: size.k, m: size.m });
    let mut found = Vec::new();
    for (value, kept) in &skylines {
        if kept.overflowed() {
            let problem = format!(
                "column `{}`: too many groups differ too much to keep them all, so the skyline of {value:?} was not \
                 computed",
                columns.sensitive
            );
            let remedy = "lower --confidence, or check single points with skyveil check --point";
            if skylines.len() == 1 {
                return Err(Error::input(problem, remedy));
            }
            complain("warning", &format!("{problem}; {remedy}"));
            continue;
        }
        found.push((value.clone(), kept.skyline(up_to)));
    }
    if let Some(path) = &args.svg {
        let confidence = asked.confidence.value();
        let title = |value: &str| format!("{}: below {confidence} up to", visible(value));
        let charts: Vec<_> =
            found.iter().map(|(value, skyline)| knowledge_skyline(&title(value), &skyline.levels)).collect();
        std::fs::write(path, to_document(&charts)).map_err(|source| Error::io(path, source))?;
    }
    let text = match args.json {
        true => {
            let mut objects = to_json(&found, &asked.confidence);
            let one = !args.all && objects.len() == 1;
            format!("{}\n", if one { objects.remove(0) } else { Value::from(objects) })
        }
        false => found
            .iter()
            .map(|(value, found)| to_text(value, found, &asked.confidence))
            .collect::<Vec<_>>()
            .join("\n"),
    };
    print(&text)?;
    Ok(Answer::Yes)
}

/// What the flags or the release ask about.
struct Asked {
    /// Empty if all are looked at.
    values: Vec<String>,
    confidence: Confidence,
}

impl Asked {
    fn of(args: &SkylineArgs, opened: &Opened, columns: &ColumnRoles) -> Result<Self> {
        let unnamed = args.value.is_empty() && !args.all;
        let nearest = opened.nearest_point(columns, args.value.first().map(String::as_str));
        let (values, confidence) = match nearest {
            Some(near) if unnamed => (vec![near.value], Some(near.confidence)),
            near => (args.value.clone(), near.map(|near| near.confidence)),
        };
        if unnamed && values.is_empty() {
            return Err(Error::input(
                "no value is named",
                "name one with --value, or all of them with --all",
            ));
        }
        let confidence = args.confidence.clone().or(confidence);
        let confidence = confidence.ok_or_else(|| {
            Error::input("no confidence is given", "say what nobody must reach, such as --confidence 0.5")
        })?;
        Ok(Asked { values, confidence })
    }
}

/// What is searched. Whether the points hold does not matter: they name values, which must occur, and windows.
fn wanted(args: &SkylineArgs, asked: &Asked) -> (Requirements, WantedSkylines) {
    let point = Point { knowledge: Knowledge { l: 0, k: 0, m: 0 }, confidence: asked.confidence.clone() };
    let confidence = || Some(asked.confidence.clone());
    if let Some(within) = &args.within {
        let near = |from: Option<String>| NearPoint { within: within.clone(), from, point: point.clone() };
        let near = match args.all {
            true => vec![near(None)],
            false => asked.values.iter().cloned().map(Some).map(near).collect(),
        };
        let wanted = WantedSkylines { windows: confidence(), ..WantedSkylines::NOTHING };
        return (Requirements { near, ..Requirements::nothing() }, wanted);
    }
    match args.all {
        true => (Requirements::nothing(), WantedSkylines { every: confidence(), ..WantedSkylines::NOTHING }),
        false => {
            let named = asked.values.iter().map(|value| (value.clone(), Some(asked.confidence.clone())));
            let wanted = WantedSkylines { these: named.collect(), ..WantedSkylines::NOTHING };
            (Requirements::points(vec![(ProtectedValues::These(asked.values.clone()), point)]), wanted)
        }
    }
}

fn to_json(found: &[(String, KnowledgeSkyline)], confidence: &Confidence) -> Vec<Value> {
    let number = |reach: Reach| match reach {
        Reach::Number(number) => json!(number),
        Reach::Anything => json!("inf"),
    };
    let triple = |point: &MaximalPoint| json!([number(point.l), number(point.k), number(point.m)]);
    let object = |(value, skyline): &(String, KnowledgeSkyline)| {
        let mut object = json!({
            "value": value,
            "confidence": confidence.value().to_string(),
            "points": skyline.points.iter().map(triple).collect::<Vec<_>>(),
            "always_safe": skyline.always_safe,
        });
        if skyline.ended {
            object["ended_by_up_to"] = json!(true);
        }
        object
    };
    found.iter().map(object).collect()
}

/// Rows and columns of the grid that are shown.
const MOST_CELLS: usize = 12;
/// Points that are listed.
const MOST_POINTS: usize = 40;

/// As text: the grid, then the points.
fn to_text(value: &str, found: &KnowledgeSkyline, confidence: &Confidence) -> String {
    let value = visible(value);
    let confidence = confidence.value();
    if found.always_safe {
        return format!("{value}: occurs nowhere, so any knowledge stays below {confidence}\n");
    }
    if found.points.is_empty() {
        return format!("{value}: not below {confidence} even for someone who knows nothing\n");
    }
    let mut text = format!("{value}: below {confidence} up to these points\n\n");
    text.push_str(&grid(&found.levels));
    let name = |reach: Reach| match reach {
        Reach::Number(number) => number.to_string(),
        Reach::Anything => "any".to_string(),
    };
    text.push_str("\n  l,k,m:");
    for point in found.points.iter().take(MOST_POINTS) {
        text.push_str(&format!("  {},{},{}", name(point.l), name(point.k), name(point.m)));
    }
    if let Some(more) = found.points.len().checked_sub(MOST_POINTS + 1) {
        text.push_str(&format!("  and {} more; --json lists them", more + 1));
    }
    text.push('\n');
    if found.ended {
        text.push_str("  not searched any further; more may be safe\n");
    }
    text
}

/// The largest k in each cell: l down, m across; a dash where nothing is safe.
fn grid(levels: &[Level]) -> String {
    let most = levels.iter().map(Level::largest_m).max().unwrap_or(0);
    let across = thinned(most);
    let down = thinned(levels.len() as u64 - 1);
    let mut rows = vec![vec!["largest k".to_string()]];
    rows[0].extend(across.iter().map(|m| format!("m={m}")));
    for &at in &down {
        let level = &levels[at as usize];
        let mut row = vec![match level.l {
            Reach::Number(l) => format!("l={l}"),
            Reach::Anything => format!("l={at} or more"),
        }];
        row.extend(across.iter().map(|&m| level.largest_k(m).map_or("-".to_string(), |k| k.to_string())));
        rows.push(row);
    }
    let width = |i: usize| rows.iter().map(|row| row[i].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        text.push_str(&format!("  {:<width$}", row[0], width = widths[0]));
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            text.push_str(&format!("  {cell:>width$}"));
        }
        text.push('\n');
    }
    text
}

/// The numbers up to `most`; all of them if they are few, otherwise the first ones and then ever wider steps.
fn thinned(most: u64) -> Vec<u64> {
    if most < MOST_CELLS as u64 {
        return (0..=most).collect();
    }
    let steps = (MOST_CELLS - 1) as f64;
    let at = |i: usize| ((most as f64 + 1.0).powf(i as f64 / steps) - 1.0).round() as u64;
    let mut numbers: Vec<u64> = (0..MOST_CELLS).map(at).collect();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_grids_are_thinned_and_keep_their_ends() {
        assert_eq!(thinned(3), [0, 1, 2, 3]);
        let long = thinned(100_000);
        assert!(long.len() <= MOST_CELLS && long[0] == 0 && *long.last().unwrap() == 100_000);
        assert!(long.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
