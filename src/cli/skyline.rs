//! `skyveil skyline`: up to how much knowledge is a table safe?

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::Answer;
use super::flags::{read_confidence, read_sizes, read_within};
use super::subject::{Opened, SubjectFlags};
use super::terminal::{Canvas, complain, print, print_drawn, visible, with_progress};
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
    if args.json {
        let mut objects = to_json(&found, &asked.confidence);
        let one = !args.all && objects.len() == 1;
        print(&format!("{}\n", if one { objects.remove(0) } else { Value::from(objects) }))?;
        return Ok(Answer::Yes);
    }
    let canvas = Canvas::of_output();
    let texts = found.iter().map(|(value, found)| to_text(value, found, &asked.confidence, canvas));
    print_drawn(&texts.collect::<Vec<_>>().join("\n"))?;
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
fn to_text(value: &str, found: &KnowledgeSkyline, confidence: &Confidence, canvas: Canvas) -> String {
    let value = visible(value);
    let confidence = confidence.value();
    if found.always_safe {
        return format!("{value}: occurs nowhere, so any knowledge stays below {confidence}\n");
    }
    if found.points.is_empty() {
        return format!("{value}: not below {confidence} even for someone who knows nothing\n");
    }
    let mut text = format!("{value}: below {confidence} up to these points\n\n");
    text.push_str(&grid(&found.levels, canvas));
    let name = |reach: Reach| match reach {
        Reach::Number(number) => number.to_string(),
        Reach::Anything => "any".to_string(),
    };
    const START: &str = "  l,k,m:";
    text.push_str(&format!("\n{START}"));
    let mut at = START.len();
    for point in found.points.iter().take(MOST_POINTS) {
        let point = format!("  {},{},{}", name(point.l), name(point.k), name(point.m));
        if at + point.len() > canvas.columns {
            text.push_str(&format!("\n{:at$}", "", at = START.len()));
            at = START.len();
        }
        at += point.len();
        text.push_str(&point);
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

/// The largest k in each cell: l down, m across; a dash where nothing is safe. As many columns as fit the canvas.
fn grid(levels: &[Level], canvas: Canvas) -> String {
    let most = levels.iter().map(Level::largest_m).max().unwrap_or(0);
    let down = thinned(levels.len() as u64 - 1, MOST_CELLS);
    let fitting = (2..=MOST_CELLS).rev().map(|cells| Grid::new(levels, &thinned(most, cells), &down));
    let fits = |grid: &Grid| grid.widths.iter().map(|width| width + 2).sum::<usize>() <= canvas.columns;
    let mut all: Vec<Grid> = fitting.collect();
    let place = all.iter().position(fits).unwrap_or(all.len() - 1);
    all.swap_remove(place).to_text(canvas)
}

/// The cells of a grid as texts.
struct Grid {
    rows: Vec<Vec<GridText>>,
    widths: Vec<usize>,
}

/// A text, with the share of the largest k if it is a number of people.
struct GridText {
    text: String,
    depth: Option<f64>,
}

impl Grid {
    fn new(levels: &[Level], across: &[u64], down: &[u64]) -> Self {
        let plain = |text: String| GridText { text, depth: None };
        let deepest = levels.iter().filter_map(|level| level.largest_k(0)).max().unwrap_or(0);
        let depth = |k: u64| (k as f64 + 1.0).ln() / (deepest as f64 + 2.0).ln();
        let mut rows = vec![vec![plain("largest k".to_string())]];
        rows[0].extend(across.iter().map(|m| plain(format!("m={m}"))));
        for &at in down {
            let level = &levels[at as usize];
            let mut row = vec![plain(match level.l {
                Reach::Number(l) => format!("l={l}"),
                Reach::Anything => format!("l={at} or more"),
            })];
            row.extend(across.iter().map(|&m| match level.largest_k(m) {
                Some(k) => GridText { text: k.to_string(), depth: Some(depth(k)) },
                None => plain("-".to_string()),
            }));
            rows.push(row);
        }
        let width = |i: usize| rows.iter().map(|row| row[i].text.len()).max().unwrap_or(0);
        let widths = (0..rows[0].len()).map(width).collect();
        Grid { rows, widths }
    }

    fn to_text(&self, canvas: Canvas) -> String {
        let mut text = String::new();
        for row in &self.rows {
            text.push_str(&format!("  {:<width$}", row[0].text, width = self.widths[0]));
            for (cell, width) in row.iter().zip(&self.widths).skip(1) {
                let shown = format!("  {:>width$}", cell.text);
                match cell.depth.filter(|_| canvas.colours) {
                    Some(depth) => text.push_str(&shaded(&shown, depth)),
                    None => text.push_str(&shown),
                }
            }
            text.push('\n');
        }
        text
    }
}

/// On a blue ground, the deeper the more may be known. Light and dark differ, so that no colour needs to be told apart.
fn shaded(text: &str, depth: f64) -> String {
    // Colours of the 256 that terminals share: the letters, and the ground.
    const SHADES: [(u8, u8); 6] = [(16, 195), (16, 153), (16, 117), (16, 75), (231, 32), (231, 25)];
    let (letters, ground) = SHADES[((depth * SHADES.len() as f64) as usize).min(SHADES.len() - 1)];
    format!("\x1b[38;5;{letters};48;5;{ground}m{text}\x1b[0m")
}

/// The numbers up to `most`; all of them if they are few, otherwise the first ones and then ever wider steps.
fn thinned(most: u64, cells: usize) -> Vec<u64> {
    if most < cells as u64 {
        return (0..=most).collect();
    }
    let steps = (cells - 1) as f64;
    let at = |i: usize| ((most as f64 + 1.0).powf(i as f64 / steps) - 1.0).round() as u64;
    let mut numbers: Vec<u64> = (0..cells).map(at).collect();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_grids_are_thinned_and_keep_their_ends() {
        assert_eq!(thinned(3, MOST_CELLS), [0, 1, 2, 3]);
        let long = thinned(100_000, MOST_CELLS);
        assert!(long.len() <= MOST_CELLS && long[0] == 0 && *long.last().unwrap() == 100_000);
        assert!(long.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_grid_fits_its_terminal_and_is_coloured_there_only() {
        let corners = (0..40).map(|m| (m, 4000 - 100 * m)).collect();
        let levels =
            [Level { l: Reach::Number(0), corners }, Level { l: Reach::Number(1), corners: vec![(0, 7)] }];
        for columns in [30, 50, 80] {
            let text = grid(&levels, Canvas { columns, colours: false });
            let longest = text.lines().map(str::len).max().unwrap();
            assert!(longest <= columns && longest > columns - 16, "{columns}\n{text}");
            assert!(text.contains("m=0") && text.contains("m=39"), "{text}");
        }
        assert!(!grid(&levels, Canvas::PAPER).contains('\x1b'));
        let coloured = grid(&levels, Canvas { columns: 80, colours: true });
        assert!(
            coloured.contains("\x1b[38;5;231;48;5;25m  4000\x1b[0m") && coloured.contains("  -"),
            "{coloured}"
        );
    }
}
