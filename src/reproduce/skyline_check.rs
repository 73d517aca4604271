//! Figure 7: how much faster is SkylineCheck than the dynamic program?
//!
//! Both process the same groups in memory, on one thread, and must agree. Memory: 160 B per group of 100 people.

use std::time::Instant;

use super::{ExperimentFindings, ExperimentSetting, ResultTable, RunSize};
use crate::error::{Error, Result, number_of};
use crate::math::random::Random;
use crate::math::skyline::program::Program;
use crate::math::skyline::{Knowledge, Ranking, Statistics, Values};
use crate::report::chart::{Axis, Chart, Series};

const PEOPLE: u64 = 100;
const VALUES: usize = 20;

type Counts = [u64; VALUES];

/// One point of a figure.
struct Measured {
    /// The value of the varied parameter.
    at: u64,
    size: Knowledge,
    records: u64,
    /// Averages over the runs, in seconds.
    check: f64,
    program: f64,
    /// Average of the runs' ratios.
    ratio: f64,
}

/// A figure: what varies, and over which values.
struct Figure {
    name: &'static str,
    title: &'static str,
    axis: &'static str,
    at: Vec<u64>,
    size: fn(u64) -> Knowledge,
}

pub fn run(setting: &ExperimentSetting<'_>) -> Result<ExperimentFindings> {
    let scale = setting.scale;
    let runs = scale.pick(5, 1, 1);
    let records = scale.pick(1_000_000, 100_000, 1_000);
    let steps =
        |step: usize, last: u64| (0..=last).step_by(scale.pick(step, step * 2, last as usize)).collect();
    let figures = [
        Figure {
            name: "a",
            title: "(a) size of the release, (l, k, m) = (10, 10, 10)",
            axis: "records (million)",
            at: (1..=scale.pick(5, 5, 2)).map(|factor| factor * records).collect(),
            size: |_| Knowledge { l: 10, k: 10, m: 10 },
        },
        Figure {
            name: "b",
            title: "(b) varying l, k = m = 10",
            axis: "l (values)",
            at: steps(2, 16),
            size: |l| Knowledge { l, k: 10, m: 10 },
        },
        Figure {
            name: "c",
            title: "(c) varying k, l = m = 10",
            axis: "k (people)",
            at: steps(4, 32),
            size: |k| Knowledge { l: 10, k, m: 10 },
        },
        Figure {
            name: "d",
            title: "(d) varying m, l = k = 10",
            axis: "m (people)",
            at: steps(2, 16),
            size: |m| Knowledge { l: 10, k: 10, m },
        },
    ];
    let mut findings = ExperimentFindings {
        run: vec![
            format!(
                "Groups of 100 people with 20 values drawn uniformly, single values; {} records in (b) to (d), whose size the \
                 paper does not print.",
                super::findings::rounded(records as f64)
            ),
            format!(
                "Both algorithms on the same groups in memory, on one thread; elapsed time, average of {} on \
                 different groups. Ranking the counts of a group is part of both. They agreed in every run.",
                number_of(runs, "run", "runs")
            ),
            "The program is the paper's without recursion, with rolling tables and the ratios of a group computed once: a \
             faster opponent than a plain one."
                .to_string(),
        ],
        ..ExperimentFindings::default()
    };
    let mut all = Vec::new();
    for figure in figures {
        let mut points = Vec::new();
        for &at in &figure.at {
            let varied = if figure.name == "a" { at } else { records };
            let point = measure(at, (figure.size)(at), varied, runs)?;
            (setting.tell)(&format!("{} {at}: {:.1} times", figure.name, point.ratio));
            points.push(point);
        }
        findings.tables.push(table(&figure, &points));
        findings.charts.push(chart(&figure, &points));
        all.push(points);
    }
    findings.compared = compare(&all, scale);
    Ok(findings)
}

fn groups(records: u64, seed: u64) -> Vec<Counts> {
    let mut random = Random::new(seed);
    let group = |_| {
        let mut counts = [0; VALUES];
        (0..PEOPLE).for_each(|_| counts[random.below(VALUES as u64) as usize] += 1);
        counts
    };
    (0..records / PEOPLE).map(group).collect()
}

fn measure(at: u64, size: Knowledge, records: u64, runs: u64) -> Result<Measured> {
    let (mut check, mut program, mut ratio) = (0.0, 0.0, 0.0);
    for run in 0..runs {
        let groups = groups(records, run + 1);
        let (check_time, program_time) = race(&groups, size)?;
        check += check_time;
        program += program_time;
        ratio += program_time / check_time;
    }
    let average = |sum: f64| sum / runs as f64;
    Ok(Measured {
        at,
        size,
        records,
        check: average(check),
        program: average(program),
        ratio: average(ratio),
    })
}

/// The time of SkylineCheck and of the dynamic program for the first value, in seconds.
fn race(groups: &[Counts], size: Knowledge) -> Result<(f64, f64)> {
    let mut ranking = Ranking::default();
    let start = Instant::now();
    let mut statistics = Statistics::new(Values::Single, size);
    for (number, counts) in groups.iter().enumerate() {
        let group = ranking.rank(PEOPLE, counts.iter().copied());
        statistics.observe(&group, counts[0], number as u64);
    }
    let breach = statistics.breach().at_least();
    let check = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let mut program = Program::<f64>::new(Values::Single, size);
    for counts in groups {
        program.observe(&ranking.rank(PEOPLE, counts.iter().copied()), counts[0]);
    }
    let negated = program.min_negated_ratio();
    let dynamic = start.elapsed().as_secs_f64();
    let expected = negated.map_or(0.0, |ratio| 1.0 / (1.0 + ratio));
    if (breach - expected).abs() > 1e-9 {
        return Err(Error::input(
            "SkylineCheck and the dynamic program disagree",
            "this is a defect of skyveil, please report it",
        ));
    }
    Ok((check, dynamic))
}

fn table(figure: &Figure, points: &[Measured]) -> ResultTable {
    let columns = ["records", "l", "k", "m", "SkylineCheck (s)", "dynamic program (s)", "improvement ratio"];
    let mut table =
        ResultTable::new(&format!("7{}", figure.name), &format!("Figure 7 {}", figure.title), &columns);
    for point in points {
        let Knowledge { l, k, m } = point.size;
        table.push(vec![
            point.records.into(),
            l.into(),
            k.into(),
            m.into(),
            point.check.into(),
            point.program.into(),
            point.ratio.into(),
        ]);
    }
    table
}

fn chart(figure: &Figure, points: &[Measured]) -> Chart {
    let unit = if figure.name == "a" { 1e6 } else { 1.0 };
    let mut series = vec![Series::line(
        "measured here".to_string(),
        points.iter().map(|point| (point.at as f64 / unit, point.ratio)).collect(),
    )];
    // The only two ratios that the paper prints.
    let printed = match figure.name {
        "a" => figure.at.iter().map(|&at| (at as f64 / unit, 140.0)).collect(),
        "c" => vec![(32.0, 1000.0)],
        _ => Vec::new(),
    };
    if !printed.is_empty() {
        series.push(Series::line("printed in the paper (about)", printed));
    }
    Chart {
        title: figure.title.to_string(),
        horizontal: match figure.name {
            "a" => Axis::from_zero(figure.axis),
            _ => Axis::whole(figure.axis),
        },
        vertical: match figure.name {
            "c" => Axis::logarithmic("improvement ratio (times)"),
            _ => Axis::from_zero("improvement ratio (times)"),
        },
        series,
    }
}

fn compare(figures: &[Vec<Measured>], scale: RunSize) -> Vec<String> {
    let ratios = |figure: usize| figures[figure].iter().map(|point| point.ratio);
    let least = ratios(0).fold(f64::INFINITY, f64::min);
    let most = ratios(0).fold(0.0, f64::max);
    let ends =
        |figure: usize| (ratios(figure).next().unwrap_or(0.0), ratios(figure).next_back().unwrap_or(0.0));
    let trend = |figure: usize| {
        let all: Vec<f64> = ratios(figure).collect();
        let (first, last) = ends(figure);
        let steady = all.windows(2).all(|pair| (pair[1] >= pair[0]) == (last >= first));
        let way = if last >= first { "increases" } else { "decreases" };
        format!("{way} from {first:.0} to {last:.0}{}", if steady { "" } else { ", not at every step" })
    };
    let mut compared = vec![
        format!("(a) {least:.0} to {most:.0} times at (10, 10, 10); the paper: about 140."),
        format!("(b) The ratio {} as l grows; the paper: it decreases.", trend(1)),
        format!("(c) It {} as k grows; the paper: it increases, to about 1,000 at k = 32.", trend(2)),
        format!("(d) It {} as m grows; the paper: it increases.", trend(3)),
    ];
    if scale != RunSize::Full {
        compared.push(
            "Small releases: SkylineCheck runs for well below a millisecond, so the ratios are coarse."
                .to_string(),
        );
    }
    compared
}
