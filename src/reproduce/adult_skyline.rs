//! Section 7.3: how much may an adversary know about a (3,6)-diverse release of Adult?
//!
//! The release and its skyline are made with the commands that a data owner would use.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::Value;

use super::{ExperimentFindings, ExperimentSetting, ResultTable, adult, child};
use crate::error::{Error, Result};
use crate::report::chart::{Axis, Chart, Series};

type Point = [u64; 3];

/// As printed in the paper.
const PAPER: [Point; 7] = [[0, 4, 0], [1, 3, 1], [2, 2, 2], [3, 1, 2], [2, 1, 3], [4, 0, 3], [3, 0, 4]];

const VALUE: &str = "Exec-managerial";

/// Columns of Adult that can be quasi-identifiers.
const COLUMNS: [&str; 14] = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
];

/// The quasi-identifiers that are used, and the order in which cuts are tried.
const CHOICES: [(&str, &[&str], &str); 4] = [
    ("4 columns, Mondrian's cuts", &["age", "marital-status", "race", "sex"], "mondrian"),
    ("4 columns, best cuts", &["age", "marital-status", "race", "sex"], "best"),
    (
        "6 columns, Mondrian's cuts",
        &["age", "workclass", "education", "marital-status", "race", "sex"],
        "mondrian",
    ),
    ("6 columns, best cuts", &["age", "workclass", "education", "marital-status", "race", "sex"], "best"),
];

pub fn run(setting: &ExperimentSetting<'_>) -> Result<ExperimentFindings> {
    adult::require(setting.adult)?;
    let work = setting.scratch("adult")?;
    let mut releases = ResultTable::new(
        "releases",
        "The (3,6)-diverse releases",
        &[
            "quasi-identifiers",
            "people",
            "groups",
            "points on the skyline",
            "of the paper's 7 the same",
            "of them safe",
        ],
    );
    let mut points = ResultTable::new(
        "skyline",
        "Knowledge skyline of Exec-managerial at 95%",
        &["release", "l", "k", "m"],
    );
    push_points(&mut points, "the paper", &PAPER);
    let mut charts = vec![chart("The paper's seven points", &PAPER)];
    let mut compared = Vec::new();
    for (number, (name, quasi, cuts)) in CHOICES.into_iter().enumerate() {
        let folder = work.path().join(number.to_string());
        let made = release_and_skyline(setting, &folder, quasi, cuts)?;
        let found = &made.skyline;
        (setting.tell)(&format!("{name}: {} groups, {} points", made.groups, found.len()));
        let same = PAPER.iter().filter(|point| found.contains(point)).count();
        let safe = PAPER.iter().filter(|point| is_safe(found, point)).count();
        releases.push(vec![
            name.into(),
            made.people.into(),
            made.groups.into(),
            found.len().into(),
            same.into(),
            safe.into(),
        ]);
        push_points(&mut points, name, found);
        compared.push(compare(name, found, same, safe));
        charts.push(chart(name, found));
    }
    compared.push(
        "The skyline is the worst over all groups, so it depends on the columns and cuts; its shape does not: a few people's \
         values, or a few known negations and relatives, are enough against an l-diverse release."
            .to_string(),
    );
    Ok(ExperimentFindings { run: what_is_run(), compared, tables: vec![releases, points], charts })
}

fn what_is_run() -> Vec<String> {
    vec![
        "`skyveil anonymize` with l_diversity = { c = 3, l = 6 }, then `skyveil skyline --value Exec-managerial --confidence \
         0.95`."
            .to_string(),
        "Four columns (age, marital status, race, sex) as in the papers on l-diversity that it follows, and six (with \
         workclass and education); no hierarchies: categories are cut between values and published as sets, ages are \
         cut between any two values. Two orders in which cuts are tried."
            .to_string(),
    ]
}

/// A release, and the knowledge skyline of [`VALUE`] in it.
struct Made {
    people: u64,
    groups: u64,
    skyline: Vec<Point>,
}

fn release_and_skyline(
    setting: &ExperimentSetting<'_>,
    folder: &Path,
    quasi: &[&str],
    cuts: &str,
) -> Result<Made> {
    std::fs::create_dir(folder).map_err(|source| Error::io(folder, source))?;
    let (policy, release) = (folder.join("policy.toml"), folder.join("release"));
    let quoted = |names: &mut dyn Iterator<Item = &&str>| -> String {
        names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    };
    let text = format!(
        "accept = [\"ends of ranges\"]\n[columns]\nsensitive = \"occupation\"\nquasi = [{}]\ndrop = [{}]\n\n[privacy]\nl_diversity = {{ c = 3, l = 6 }}\n\n\
         [publish]\ncuts = \"{cuts}\"\n",
        quoted(&mut quasi.iter()),
        quoted(&mut COLUMNS.iter().filter(|column| !quasi.contains(column)))
    );
    std::fs::write(&policy, text).map_err(|source| Error::io(&policy, source))?;
    let made = child::anonymize(setting.skyveil, setting.adult, &policy, &release, &[])?;
    let skyline: [&OsStr; 7] = [
        "skyline".as_ref(),
        release.as_ref(),
        "--value".as_ref(),
        VALUE.as_ref(),
        "--confidence".as_ref(),
        "0.95".as_ref(),
        "--json".as_ref(),
    ];
    Ok(Made {
        people: made["records"].as_u64().unwrap_or(0),
        groups: made["groups"].as_u64().unwrap_or(0),
        skyline: read_points(&child::json(setting.skyveil, &skyline)?),
    })
}

/// Compares a skyline with that of the paper, in words.
fn compare(name: &str, found: &[Point], same: usize, safe: usize) -> String {
    let people = found.iter().filter(|point| point[0] == 0 && point[2] == 0).map(|point| point[1]).max();
    match people {
        Some(people) => format!(
            "{name}: the values of {} people can be enough for 95% ({} in the paper); {same} of the paper's 7 points are on \
             this skyline, {safe} are safe.",
            people + 1,
            PAPER[0][1] + 1
        ),
        None => format!("{name}: {same} of the paper's 7 points are on this skyline, {safe} are safe."),
    }
}

fn push_points(table: &mut ResultTable, name: &str, points: &[Point]) {
    for [l, k, m] in points {
        table.push(vec![name.into(), (*l).into(), (*k).into(), (*m).into()]);
    }
}

fn read_points(said: &Value) -> Vec<Point> {
    let number = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
    let points = said["points"].as_array().map_or(&[][..], |points| points);
    points.iter().map(|point| [number(&point[0]), number(&point[1]), number(&point[2])]).collect()
}

fn is_safe(skyline: &[Point], point: &Point) -> bool {
    skyline.iter().any(|maximal| maximal.iter().zip(point).all(|(most, own)| own <= most))
}

fn chart(title: &str, points: &[Point]) -> Chart {
    let most = points.iter().map(|point| point[0]).max().unwrap_or(0);
    let corners = |l: u64| corners(points, l).into_iter().map(|(m, k)| (m as f64, k as f64)).collect();
    Chart {
        title: title.to_string(),
        horizontal: Axis::whole("m: members of the family (people)"),
        vertical: Axis::whole("largest safe k (people)"),
        series: (0..=most).map(|l| Series::steps(format!("l = {l}"), corners(l))).collect(),
    }
}

/// The outermost pairs (m, k) that are safe together with `l`: m ascending, k descending.
fn corners(skyline: &[Point], l: u64) -> Vec<(u64, u64)> {
    let safe = |point: &&Point| point[0] >= l;
    let mut pairs: Vec<(u64, u64)> = skyline.iter().filter(safe).map(|&[_, k, m]| (m, k)).collect();
    pairs.sort_unstable();
    let mut outermost: Vec<(u64, u64)> = Vec::new();
    for (m, k) in pairs {
        while outermost.last().is_some_and(|last| last.1 <= k) {
            outermost.pop();
        }
        outermost.push((m, k));
    }
    outermost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_point_is_safe() {
        assert!(PAPER.iter().all(|point| is_safe(&PAPER, point)));
        assert!(is_safe(&PAPER, &[2, 1, 2]) && !is_safe(&PAPER, &[0, 5, 0]));
    }

    #[test]
    fn the_steps_of_a_level_enclose_what_is_safe_with_it() {
        assert_eq!(corners(&PAPER, 0), [(0, 4), (1, 3), (2, 2), (3, 1), (4, 0)]);
        assert_eq!(corners(&PAPER, 3), [(2, 1), (4, 0)]);
        assert_eq!(corners(&PAPER, 4), [(3, 0)]);
    }
}
