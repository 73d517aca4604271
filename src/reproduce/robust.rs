//! Table V; ART against probabilistic l-diverse Mondrian; how often Delta accepts groups that are not robust.
//!
//! Memory: the codes of Adult, and the states of one group's posterior.

use std::time::Instant;

use super::adult::{self, Coded};
use super::left_out;
use super::mondrian::{CodedRows, Errors, Groups};
use super::{ExperimentFindings, ExperimentSetting, ResultCell, ResultTable};
use crate::error::Result;
use crate::group::similar::group;
use crate::math::exact::{Rational, decimal_at_least, f64_at_least, parse_fraction, ratio};
use crate::math::random::Random;
use crate::math::robust::{
    Assessment, Priors, PriorsBuilder, PublishedGroup, Requirement, RobustVerdict, Test, Tuples, assess,
    delta_ceiling, delta_claims, verify,
};
use crate::math::shares::is_probabilistic_diverse;
use crate::report::chart::{Axis, Chart, Series};
use crate::report::utility::{Design, Workload};

/// Maximum number of states of a group's posterior; a larger group is not judged.
const STATES: u64 = 1 << 20;

/// As printed in the paper: N, r, fmax, Dceil.
const TABLE_V: [(u64, u64, &str, &str); 8] = [
    (3, 2, "0.1", "0.0474"),
    (3, 2, "0.3", "0.1235"),
    (3, 2, "0.5", "0.1667"),
    (3, 2, "0.9", "0.0818"),
    (4, 2, "0.3", "0.1750"),
    (6, 2, "0.3", "0.2211"),
    (6, 3, "0.3", "0.1537"),
    (6, 4, "0.3", "0.0955"),
];

const QUASI: [&str; 6] = ["age", "workclass", "education", "marital-status", "race", "sex"];
/// The attribute sets whose distributions the adversary knows.
const SETS: [[&str; 2]; 2] = [["education", "sex"], ["workclass", "sex"]];

pub fn run(setting: &ExperimentSetting<'_>) -> Result<ExperimentFindings> {
    let mut findings = ExperimentFindings::default();
    table_five(&mut findings)?;
    random_groups(setting, &mut findings)?;
    compare_with_mondrian(setting, &mut findings)?;
    left_out::add(setting, &mut findings)?;
    Ok(findings)
}

fn table_five(findings: &mut ExperimentFindings) -> Result<()> {
    let mut table = ResultTable::new(
        "V",
        "Table V: the largest difference that Delta allows",
        &["N", "r", "fmax", "printed", "here", "exact"],
    );
    let mut agree = 0;
    for (tuples, r, largest, printed) in TABLE_V {
        let ceiling = delta_ceiling(tuples, &ratio(r, 1), &parse_fraction(largest).unwrap_or(Rational::ZERO));
        // The paper rounds to nearest.
        let half = ratio(1, 20_000);
        let printed_value = parse_fraction(printed).unwrap_or(Rational::ZERO);
        let difference =
            if ceiling > printed_value { &ceiling - printed_value } else { printed_value - &ceiling };
        agree += usize::from(difference <= half);
        table.push(vec![
            tuples.into(),
            r.into(),
            largest.into(),
            printed.into(),
            f64_at_least(&ceiling).into(),
            ceiling.to_string().into(),
        ]);
    }
    findings
        .compared
        .push(format!("Table V: {agree} of {} values agree in all printed digits.", TABLE_V.len()));
    findings.tables.push(table);
    Ok(())
}

/// Random groups of distinct values with similar priors: what does Delta accept?
fn random_groups(setting: &ExperimentSetting<'_>, findings: &mut ExperimentFindings) -> Result<()> {
    let groups = setting.scale.pick(20_000, 1_000, 20);
    let sizes = [3u32, 5, 8];
    let spreads = [0.1, 0.2, 0.4, 0.8];
    findings.run.push(format!(
        "Random groups: {groups} for each N of 3, 5, 8 and each spread s, r = 2. N values, all different; the prior of a value for a \
         tuple is proportional to a weight of the value (uniform 0.2 to 1) times exp(s u), u uniform from -1 to 1. Posteriors are exact."
    ));
    let mut table = ResultTable::new(
        "random",
        "Random groups: what Delta accepts for r = 2",
        &["N", "spread", "groups", "accepted by Delta", "of these above 1/r", "largest posterior of these"],
    );
    let requirement = Requirement::new(ratio(2, 1))?;
    let mut random = Random::new(1);
    let mut series = Vec::new();
    let (mut accepted_all, mut breached_all) = (0u64, 0u64);
    for size in sizes {
        let mut points = Vec::new();
        for spread in spreads {
            let (mut accepted, mut breached, mut largest) = (0u64, 0u64, 0.0f64);
            for _ in 0..groups {
                let priors = similar_priors(size, spread, &mut random)?;
                let signatures: Vec<u32> = (0..size).collect();
                let values: Vec<(u32, u32)> = (0..size).map(|value| (value, 1)).collect();
                let published = PublishedGroup { signatures: &signatures, values: &values };
                if !delta_claims(&priors, &requirement, published)? {
                    continue;
                }
                accepted += 1;
                if let RobustVerdict::Breached { posterior } =
                    assess(&priors, &requirement, published, STATES)?.verdict
                {
                    breached += 1;
                    largest = largest.max(posterior);
                }
            }
            table.push(vec![
                u64::from(size).into(),
                spread.into(),
                ResultCell::Whole(groups),
                accepted.into(),
                breached.into(),
                if breached > 0 { largest.into() } else { "".into() },
            ]);
            points.push((spread, breached as f64 / accepted.max(1) as f64));
            accepted_all += accepted;
            breached_all += breached;
        }
        (setting.tell)(&format!("random groups of {size}"));
        series.push(Series::line(format!("N = {size}"), points));
    }
    findings.compared.push(format!(
        "Random groups: Delta accepts {accepted_all}, and {breached_all} of these ({:.2}%) have a posterior above 1/r. The paper \
         claims that none has; its proof holds for two values only.",
        100.0 * breached_all as f64 / accepted_all.max(1) as f64
    ));
    findings.tables.push(table);
    findings.charts.push(Chart {
        title: "Random groups: accepted by Delta, yet above 1/r".to_string(),
        horizontal: Axis::from_zero("spread s of the priors (natural logarithm)"),
        vertical: Axis::from_zero("share of the accepted groups"),
        series,
    });
    Ok(())
}

/// N signatures over N values, as exact fractions.
fn similar_priors(size: u32, spread: f64, random: &mut Random) -> Result<Priors> {
    let weights: Vec<f64> = (0..size).map(|_| 0.2 + 0.8 * random.unit()).collect();
    let mut priors = Vec::new();
    for signature in 0..size {
        let shares = weights.iter().map(|weight| {
            let factor = (spread * (2.0 * random.unit() - 1.0)).exp();
            (1e6 * weight * factor) as u64 + 1
        });
        let shares: Vec<u64> = shares.collect();
        let total: u64 = shares.iter().sum();
        priors.extend((0..).zip(shares).map(|(value, share)| (signature, value, ratio(share, total))));
    }
    let mut builder = PriorsBuilder::new(size);
    builder.given(size, priors)?;
    Ok(builder.build())
}

/// In the order of the tables and charts.
const METHODS: [&str; 4] = ["ART, Delta", "ART, ratio", "ART, exact", "Mondrian, r-diverse"];

/// The result of one method on the table.
struct Made {
    method: &'static str,
    groups: Groups,
    suppressed: usize,
    seconds: f64,
    style: Style,
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Bucketized,
    Generalized,
}

fn compare_with_mondrian(setting: &ExperimentSetting<'_>, findings: &mut ExperimentFindings) -> Result<()> {
    let names: Vec<&str> = QUASI.into_iter().chain([adult::OCCUPATION]).collect();
    let mut columns = adult::read(setting.adult, &names)?;
    let step = setting.scale.pick(1, 10, 10);
    columns.iter_mut().for_each(|column| column.codes = column.codes.iter().copied().step_by(step).collect());
    let Some((sensitive, quasi)) = columns.split_last() else { return Ok(()) };
    let rows = CodedRows { quasi: quasi.iter().collect(), sensitive };
    let sets: Vec<(u32, Vec<u32>)> = SETS.iter().map(|set| signatures(quasi, set)).collect();
    let values: Vec<u32> = sensitive.codes.iter().map(|&code| code.into()).collect();
    let priors = estimated(&sets, &values, sensitive.texts.len() as u32)?;
    let signatures: Vec<&[u32]> = sets.iter().map(|(_, signatures)| &signatures[..]).collect();
    let tuples = Tuples { values: &values, signatures: &signatures };
    let workload = Workload::draw(&rows.codes(), sensitive.texts.len() as u32, &Design::default())?;
    findings.run.extend(what_is_compared(step, rows.len()));
    let mut comparison = MethodComparison::new();
    for &r in setting.scale.pick(&[2u64, 3, 4, 5, 6][..], &[2, 4], &[2]) {
        let requirement = Requirement::new(ratio(r, 1))?;
        for (method, made) in all_methods(&rows, &priors, &requirement, tuples, r)?.into_iter().enumerate() {
            let answers = match made.style {
                Style::Bucketized => rows.bucketized(&made.groups, &workload),
                Style::Generalized => rows.generalized(&made.groups, &workload),
            };
            let error = rows.errors(&workload, &answers);
            let posteriors =
                Posteriors::new(&verify(&priors, &requirement, tuples, &made.groups, STATES)?, r);
            (setting.tell)(&format!(
                "r = {r}, {}: {} groups, {:.1} s, error {:.3}, {} groups above 1/r",
                made.method,
                made.groups.len(),
                made.seconds,
                error.mean,
                posteriors.above
            ));
            comparison.add(method, r, &made, &error, &posteriors);
        }
    }
    comparison.finish(findings);
    Ok(())
}

fn what_is_compared(step: usize, people: usize) -> [String; 2] {
    let who = if step == 1 { "everybody".to_string() } else { format!("every {step}th person") };
    [
        format!(
            "Adult: {who}, {people} in all; occupation sensitive. The adversary knows the distribution of \
             occupations by education and sex, and by workclass and sex, as they are in the table. ART with Delta (as \
             printed), with the ratio condition and with exact posteriors; Mondrian with median cuts, six quasi-identifiers \
             and probabilistic r-diversity (no value above a share 1/r)."
        ),
        "Query error: 1,000 count queries over two quasi-identifiers and the occupation, expected selectivity 5%, relative to \
         at least one person in a thousand. ART keeps quasi-identifiers exact and shuffles values in a group; Mondrian \
         publishes the range of each group. Suppressed people are missing from the answers."
            .to_string(),
    ]
}

/// A summary of the posteriors of all groups.
struct Posteriors {
    /// Number of groups with a posterior above 1/r.
    above: usize,
    /// Number of groups for which this is unknown.
    unknown: usize,
    largest: f64,
}

impl Posteriors {
    fn new(assessments: &[Assessment], r: u64) -> Self {
        let mut all = Posteriors { above: 0, unknown: 0, largest: 0.0 };
        for assessment in assessments {
            match assessment.verdict {
                RobustVerdict::Breached { posterior } => {
                    all.above += 1;
                    all.largest = all.largest.max(posterior);
                }
                RobustVerdict::NotShown | RobustVerdict::Contradiction => all.unknown += 1,
                RobustVerdict::Robust(_) => {
                    // Proved to be at most 1/r; any excess comes from rounding up.
                    let own = assessment.worst.iter().flatten().copied().fold(0.0, f64::max);
                    all.largest = all.largest.max(own.min(1.0 / r as f64));
                }
            }
        }
        all
    }
}

/// The methods side by side, in the order of [`METHODS`].
struct MethodComparison {
    table: ResultTable,
    errors: [Series; 4],
    times: [Series; 4],
    breaches: [Series; 4],
}

impl MethodComparison {
    fn new() -> Self {
        let table = ResultTable::new(
            "ART",
            "ART against probabilistic r-diverse Mondrian on Adult",
            &[
                "r",
                "method",
                "groups",
                "suppressed",
                "time (s)",
                "mean query error",
                "median query error",
                "groups above 1/r",
                "groups not judged",
                "largest posterior",
            ],
        );
        let series = || METHODS.map(|name| Series::line(name, Vec::new()));
        MethodComparison { table, errors: series(), times: series(), breaches: series() }
    }

    fn add(&mut self, method: usize, r: u64, made: &Made, error: &Errors, posteriors: &Posteriors) {
        self.table.push(vec![
            r.into(),
            made.method.into(),
            made.groups.len().into(),
            made.suppressed.into(),
            made.seconds.into(),
            error.mean.into(),
            error.median.into(),
            posteriors.above.into(),
            posteriors.unknown.into(),
            ((posteriors.largest * 1e4).ceil() / 1e4).into(),
        ]);
        let x = r as f64;
        self.errors[method].points.push((x, error.mean));
        self.times[method].points.push((x, made.seconds));
        let share = posteriors.above as f64 / made.groups.len().max(1) as f64;
        self.breaches[method].points.push((x, share));
    }

    fn finish(self, findings: &mut ExperimentFindings) {
        findings.compared.push(summary(&self.errors, &self.breaches));
        findings.tables.push(self.table);
        for (title, vertical, series) in [
            ("Adult: mean relative query error", Axis::from_zero("mean relative error"), self.errors),
            ("Adult: run time", Axis::logarithmic("elapsed (s)"), self.times),
            ("Adult: groups with a posterior above 1/r", Axis::unit("share of the groups"), self.breaches),
        ] {
            findings.charts.push(Chart {
                title: title.to_string(),
                horizontal: Axis::whole("r"),
                vertical,
                series: series.into(),
            });
        }
    }
}

fn summary(errors: &[Series; 4], breaches: &[Series; 4]) -> String {
    let range = |series: &Series| {
        let values = || series.points.iter().map(|point| point.1);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        format!("{low:.3} to {high:.3}")
    };
    let percent = |series: &Series| {
        let most = series.points.iter().map(|point| point.1).fold(0.0, f64::max);
        decimal_at_least(&Rational::try_from(most * 100.0).unwrap_or(Rational::ZERO), 2)
    };
    format!(
        "Adult: the mean query error is {} with ART and Delta, {} with exact posteriors, {} with Mondrian (the abstract: higher or \
         comparable utility). At most {}% of ART's groups with Delta exceed 1/r, {}% with exact posteriors, {}% of Mondrian's.",
        range(&errors[0]),
        range(&errors[2]),
        range(&errors[3]),
        percent(&breaches[0]),
        percent(&breaches[2]),
        percent(&breaches[3])
    )
}

fn all_methods(
    rows: &CodedRows<'_>,
    priors: &Priors,
    requirement: &Requirement,
    tuples: Tuples<'_>,
    r: u64,
) -> Result<Vec<Made>> {
    let mut made = Vec::new();
    for (method, test) in
        [(METHODS[0], Test::Delta), (METHODS[1], Test::Ratio), (METHODS[2], Test::Exact { states: STATES })]
    {
        let start = Instant::now();
        let grouping = group(priors, requirement, test, tuples)?;
        made.push(Made {
            method,
            seconds: start.elapsed().as_secs_f64(),
            suppressed: grouping.suppressed.len(),
            groups: grouping.groups,
            style: Style::Bucketized,
        });
    }
    let start = Instant::now();
    let groups = rows.mondrian(|part| Ok(is_probabilistic_diverse(&rows.counts(part), r)))?;
    let seconds = start.elapsed().as_secs_f64();
    made.push(Made { method: METHODS[3], groups, suppressed: 0, seconds, style: Style::Generalized });
    Ok(made)
}

/// The signature of each row in an attribute set, and how many there can be.
fn signatures(quasi: &[Coded], set: &[&str; 2]) -> (u32, Vec<u32>) {
    let columns: Vec<&Coded> = quasi.iter().filter(|column| set.contains(&column.name.as_str())).collect();
    let rows = columns.first().map_or(0, |column| column.codes.len());
    let of_row = |row: usize| {
        columns.iter().fold(0, |sum, column| sum * column.texts.len() as u32 + u32::from(column.codes[row]))
    };
    (columns.iter().map(|column| column.texts.len() as u32).product(), (0..rows).map(of_row).collect())
}

fn estimated(sets: &[(u32, Vec<u32>)], values: &[u32], distinct: u32) -> Result<Priors> {
    let mut builder = PriorsBuilder::new(distinct);
    for (signatures, of_row) in sets {
        let mut counts = std::collections::BTreeMap::<(u32, u32), u32>::new();
        of_row
            .iter()
            .zip(values)
            .for_each(|(&signature, &value)| *counts.entry((signature, value)).or_default() += 1);
        let counts = counts.into_iter().map(|((signature, value), count)| (signature, value, count));
        builder.estimated(*signatures, counts.collect())?;
    }
    Ok(builder.build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_five_is_exact() {
        let mut findings = ExperimentFindings::default();
        table_five(&mut findings).unwrap();
        assert_eq!(findings.compared[0], "Table V: 8 of 8 values agree in all printed digits.");
        let exact: Vec<String> = findings.tables[0].rows.iter().map(|row| row[5].shown()).collect();
        assert_eq!(exact, ["9/190", "21/170", "1/6", "9/110", "7/40", "21/95", "63/410", "21/220"]);
    }
}
