//! How many people does somebody become sure of who repeats the choice of groups?
//!
//! Memory: the rows of one table as codes, and the tallies of its groups.

use super::{ExperimentFindings, ExperimentSetting, ResultCell, ResultTable};
use crate::anonymize::{ReplayReport, ReplayedCuts, TrialTable};
use crate::error::Result;
use crate::generate::{Generator, SyntheticTable, write};
use crate::math::replay::ReplayEffort;
use crate::model::Policy;
use crate::report::chart::{Axis, Chart, Series};
use crate::report::digits::grouped;
use crate::resources::Resources;
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use crate::table::read::{ReadOptions, Table};
use std::path::Path;

/// The skylines that are tried: l, k, m and the confidence.
const POINTS: [([u64; 3], &str); 4] =
    [([0, 0, 0], "2/3"), ([1, 0, 0], "1/2"), ([1, 0, 0], "4/5"), ([2, 3, 2], "4/5")];

const HEADINGS: [&str; 13] = [
    "table",
    "cuts",
    "(l,k,m)",
    "confidence",
    "people",
    "groups",
    "groups that tell something",
    "tried exhaustively",
    "surely",
    "estimated",
    "at most",
    "estimated share",
    "certain",
];

const CUTS: [&str; 2] = ["best", "mondrian"];

const CENSUS: &str = "[columns]\nsensitive = \"diagnosis\"\nquasi = [\"age\", \"sex\", \"region\", \"education\", \"marital\"]\nrest = \"drop\"\n";
const ADULT: &str = "[columns]\nsensitive = \"occupation\"\nquasi = [\"age\", \"sex\", \"race\", \"marital-status\"]\nrest = \"drop\"\n";

pub fn run(setting: &ExperimentSetting<'_>) -> Result<ExperimentFindings> {
    let people = setting.scale.pick(20_000, 4_000, 150);
    let effort = ReplayEffort { enumerated: 2_000, drawn: setting.scale.pick(4_000, 1_000, 100), odds: 20 };
    let work = setting.scratch("replay")?;
    let census = work.path().join("census.csv");
    let table = SyntheticTable { generator: Generator::Census, rows: people, seed: 1 };
    write(&table, &census, 1, &mut |_| {})?;
    let mut cases = vec![("census", census.as_path(), CENSUS)];
    let mut run = vec![
        format!(
            "`skyveil generate census --rows {people}`: diagnosis sensitive; age, sex, region, education and marital status known. \
             Skyline points for every value, cuts in the order that measures best and in Mondrian's."
        ),
        format!(
            "Every group refused all of its cuts, so an arrangement of its values for which the planner would cut it is ruled \
             out. Groups with at most {} arrangements are tried exhaustively, {} are drawn for each other one. What was refused \
             higher up in the tree is not used. Intervals by Hoeffding's inequality, all of them together at 95 %.",
            grouped(effort.enumerated),
            grouped(effort.drawn)
        ),
    ];
    match setting.adult.is_file() {
        true => {
            run.push("UCI Adult: occupation sensitive; age, sex, race and marital status known.".to_string());
            cases.push(("Adult", setting.adult, ADULT));
        }
        false => run.push("UCI Adult was not fetched, and is left out.".to_string()),
    }
    let mut found = ResultTable::new("replay", "People whom a replay brings to the confidence", &HEADINGS);
    let (mut compared, mut series) = (vec![], vec![]);
    for (name, path, columns) in cases {
        for cuts in CUTS {
            let mut points = vec![];
            for (at, (size, confidence)) in POINTS.into_iter().enumerate() {
                let policy = policy(columns, size, confidence, cuts)?;
                let report = replay(setting, path, &policy, effort)?;
                let share = report.reached.estimated as f64 / report.people.max(1) as f64;
                (setting.tell)(&format!(
                    "{name}, {cuts} cuts, {size:?} at {confidence}: {} of {} people",
                    report.reached.estimated, report.people
                ));
                points.push(((at + 1) as f64, share));
                found.push(row([name, cuts], size, confidence, &report, share));
            }
            let shares = points.iter().map(|(_, share)| share);
            let (least, most) =
                shares.fold((1.0f64, 0.0f64), |(low, high), &share| (low.min(share), high.max(share)));
            compared.push(format!(
                "{name}, {cuts} cuts: a replay of the refused cuts brings between {:.2} % and {:.2} % of the people to the \
                 confidence, depending on the skyline.",
                100.0 * least,
                100.0 * most
            ));
            series.push(Series::line(format!("{name}, {cuts} cuts"), points));
        }
    }
    let charts = vec![Chart {
        title: "People whom a replay brings to the confidence".to_string(),
        horizontal: Axis::of_cases("skyline", POINTS.map(point_name)),
        vertical: Axis::from_zero("share of the people"),
        series,
    }];
    Ok(ExperimentFindings { run, compared, tables: vec![found], charts })
}

fn point_name((size, confidence): ([u64; 3], &str)) -> String {
    let [l, k, m] = size;
    format!("({l},{k},{m}) at {confidence}")
}

fn policy(columns: &str, [l, k, m]: [u64; 3], confidence: &str, cuts: &str) -> Result<Policy> {
    let text = format!(
        "{columns}\n[[privacy.skyline]]\nl = {l}\nk = {k}\nm = {m}\nconfidence = \"{confidence}\"\n\n[publish]\ncuts = \"{cuts}\"\n"
    );
    Policy::parse(&text, "replay.toml")
}

fn replay(
    setting: &ExperimentSetting<'_>,
    path: &Path,
    policy: &Policy,
    effort: ReplayEffort,
) -> Result<ReplayReport> {
    let progress = Progress::default();
    let resources =
        Resources { temp: setting.temp.to_path_buf(), ..Resources::new(Budget::new(1 << 30), &progress) };
    let table = Table::open(&[path.to_path_buf()], &ReadOptions::default())?;
    TrialTable::read(&table, policy, u64::MAX, &resources)?.replay(policy, ReplayedCuts::OfGroups, effort)
}

fn row(
    [table, cuts]: [&str; 2],
    [l, k, m]: [u64; 3],
    confidence: &str,
    report: &ReplayReport,
    share: f64,
) -> Vec<ResultCell> {
    vec![
        table.into(),
        cuts.into(),
        format!("({l},{k},{m})").into(),
        confidence.into(),
        report.people.into(),
        report.groups.into(),
        report.telling.into(),
        report.exhaustive.into(),
        report.reached.surely.into(),
        report.reached.estimated.into(),
        report.reached.at_most.into(),
        share.into(),
        report.certain.into(),
    ]
}
