//! Figures 1 to 6: what does an adversary who knows the correlations in Adult learn, and what does it cost to stop
//! them?
//!
//! Memory: the codes of Adult, one adversary's priors for each bandwidth, one group's posterior.

mod adversary;
mod cost;
mod decided;
mod trees;

use std::time::Instant;

use super::adult::{self, Coded};
use super::mondrian::{CodedRows, Groups};
use super::{ExperimentFindings, ExperimentSetting, ResultTable};
use crate::error::{Error, Result};
use crate::math::beliefs::comparison::BeliefComparison;
use crate::math::beliefs::divergence::Threshold;
use crate::math::beliefs::group::Passes;
use crate::math::exact::parse_fraction;
use crate::math::random::Random;
use crate::math::shares::{Ground, is_close, is_distinct_diverse, is_probabilistic_diverse};
use crate::report::chart::{Axis, Chart, Series};
use adversary::{Attack, PaperAdversary, Posterior, comparison};

const QUASI: [&str; 6] = ["age", "workclass", "education", "marital-status", "race", "sex"];
/// Number of rows in the paper's table: the first part of Adult without missing values.
const PAPER_ROWS: usize = 30_162;
/// The adversaries of Figures 1 and 3.
const BANDWIDTHS: [&str; 4] = ["0.2", "0.3", "0.4", "0.5"];
/// The bandwidth of Table V.
const B: &str = "0.3";

/// A row of the paper's Table V.
struct Parameters {
    name: &'static str,
    k: usize,
    l: u64,
    t: &'static str,
}

const TABLE_V: [Parameters; 4] = [
    Parameters { name: "para1", k: 3, l: 3, t: "0.25" },
    Parameters { name: "para2", k: 4, l: 4, t: "0.2" },
    Parameters { name: "para3", k: 5, l: 5, t: "0.15" },
    Parameters { name: "para4", k: 6, l: 6, t: "0.1" },
];

impl Parameters {
    fn t(&self) -> f64 {
        self.t.parse().unwrap_or(0.0)
    }

    fn threshold(&self) -> Result<Threshold> {
        let t = parse_fraction(self.t).ok_or_else(|| Error::input("t is not a number", "give 0.25"))?;
        Ok(Threshold::new(t))
    }
}

/// The releases that are compared.
const MODELS: [&str; 5] = [
    "distinct l-diversity",
    "probabilistic l-diversity",
    "t-closeness",
    "(B,t)-privacy, estimated",
    "(B,t)-privacy, proved",
];
/// The place of the paper's release, which is tested by an estimate, and of the proved one.
const ESTIMATED: usize = 3;
const PROVED: usize = 4;

/// A release, and how long it took.
struct Release {
    groups: Groups,
    seconds: f64,
}

/// The data shared by the figures.
struct Study<'a> {
    setting: &'a ExperimentSetting<'a>,
    rows: CodedRows<'a>,
    /// One adversary for each of [`BANDWIDTHS`].
    adversaries: Vec<PaperAdversary>,
    comparison: BeliefComparison,
    findings: ExperimentFindings,
}

pub fn run(setting: &ExperimentSetting<'_>) -> Result<ExperimentFindings> {
    let names: Vec<&str> = QUASI.into_iter().chain([adult::OCCUPATION]).collect();
    let mut all = adult::read(setting.adult, &names)?;
    let step = setting.scale.pick(1, 40, 3);
    let mut columns = all.clone();
    for (all, first) in all.iter_mut().zip(&mut columns) {
        all.codes = all.codes.iter().copied().step_by(step).collect();
        first.codes = first.codes.iter().copied().take(PAPER_ROWS).step_by(step).collect();
    }
    let mut study = Study::new(setting, &columns)?;
    study.describe();
    let releases = study.releases()?;
    study.figure_one(&releases)?;
    study.decided()?;
    let whole = Study::new(setting, &all)?.whole_table()?;
    study.findings.tables.push(whole);
    study.figure_two();
    study.figure_three()?;
    study.figure_four(&releases)?;
    study.figure_five(&releases);
    study.figure_six(&releases)?;
    Ok(study.findings)
}

/// A chart with one series for each of the models.
fn by_model(title: &str, horizontal: Axis, vertical: Axis, points: Vec<Vec<(f64, f64)>>) -> Chart {
    let series = MODELS.iter().zip(points).map(|(name, points)| Series::line(*name, points));
    Chart { title: title.to_string(), horizontal, vertical, series: series.collect() }
}

fn parameters_axis() -> Axis {
    Axis { include: vec![1.0, 4.0], ..Axis::whole("parameters of Table V (1: weakest, 4: strictest)") }
}

impl<'a> Study<'a> {
    fn new(setting: &'a ExperimentSetting<'a>, columns: &'a [Coded]) -> Result<Self> {
        let (sensitive, quasi) =
            columns.split_last().ok_or_else(|| Error::input("no columns", "give Adult"))?;
        let rows = CodedRows { quasi: quasi.iter().collect(), sensitive };
        let mut adversaries = Vec::new();
        for bandwidth in BANDWIDTHS {
            adversaries.push(PaperAdversary::new(&rows, &[bandwidth; QUASI.len()])?);
            (setting.tell)(&format!("priors of b = {bandwidth}, {} rows", rows.len()));
        }
        let comparison = comparison(&rows)?;
        Ok(Study { setting, rows, adversaries, comparison, findings: ExperimentFindings::default() })
    }

    fn describe(&mut self) {
        self.findings.run = vec![
            format!(
                "Adult: {} people{}; age, workclass, education, marital status, race and sex; occupation sensitive.",
                self.rows.len(),
                if self.setting.scale == super::RunSize::Full {
                    ", the rows without missing values of its first part, as many as the paper says (about 30K)"
                } else {
                    ", a sample of its first part"
                }
            ),
            "Hierarchies of height 3 for workclass, education and marital status, flat ones for race and sex, of height 2 for occupation \
             with smoothing 0.75; the paper prints the last height and \"at least 0.5\" only. Distances are smoothed Jensen-Shannon \
             divergences to the base 2."
                .to_string(),
            "Mondrian with median cuts and k-anonymity under each of four requirements (t-closeness with equal distances between occupations), with the parameters of Table V; \
             (B,t)-privacy is tested by the Omega-estimate, as the paper does, and once more by exact posteriors and proved bounds: there a \
             part that is not decided may be cut further, and parts that are not proved in the end are joined again. Figure 3 is about the \
             proved tables."
                .to_string(),
            "Attacks use exact posteriors where a group has at most 16,384 states, and proved bounds for the others; rows for which these do \
             not decide are in the table. A row is vulnerable if its belief certainly moves by more than t; a largest distance is one that is \
             certain."
                .to_string(),
        ];
    }

    fn adversary(&self, bandwidth: &str) -> &PaperAdversary {
        let place = BANDWIDTHS.iter().position(|own| *own == bandwidth).unwrap_or(0);
        &self.adversaries[place]
    }

    fn release(
        &mut self,
        model: usize,
        parameters: &Parameters,
        adversary: Option<&PaperAdversary>,
    ) -> Result<Release> {
        let start = Instant::now();
        let threshold = parameters.threshold()?;
        let all: Vec<u32> = (0..self.rows.len() as u32).collect();
        let table = self.rows.counts(&all);
        let (rows, t) = (&self.rows, parameters.t());
        let adversary = adversary.unwrap_or_else(|| {
            let place = BANDWIDTHS.iter().position(|own| *own == B).unwrap_or(0);
            &self.adversaries[place]
        });
        let comparison = &mut self.comparison;
        let proves = |part: &[u32]| match part.len() >= parameters.k {
            true => adversary.proves(rows, part, &threshold, comparison),
            false => Passes::No,
        };
        let groups = match model {
            PROVED => rows.proved(&mut |part| Ok(proves(part)))?,
            _ => rows.mondrian(|part| {
                Ok(part.len() >= parameters.k
                    && match model {
                        0 => is_distinct_diverse(&rows.counts(part), parameters.l),
                        1 => is_probabilistic_diverse(&rows.counts(part), parameters.l),
                        2 => is_close(&rows.counts(part), &table, Ground::Equal, threshold.exact()),
                        _ => adversary.accepts(rows, part, t, comparison),
                    })
            })?,
        };
        Ok(Release { groups, seconds: start.elapsed().as_secs_f64() })
    }

    /// The releases for each set of parameters.
    fn releases(&mut self) -> Result<Vec<Vec<Release>>> {
        let mut all = Vec::new();
        for parameters in &TABLE_V {
            let mut own = Vec::new();
            for (model, name) in MODELS.iter().enumerate() {
                let release = self.release(model, parameters, None)?;
                (self.setting.tell)(&format!(
                    "{}, {name}: {} groups, {:.1} s",
                    parameters.name,
                    release.groups.len(),
                    release.seconds
                ));
                own.push(release);
            }
            all.push(own);
        }
        Ok(all)
    }

    fn attack(&mut self, bandwidth: &str, groups: &Groups, parameters: &Parameters) -> Result<Attack> {
        let place = BANDWIDTHS.iter().position(|own| *own == bandwidth).unwrap_or(0);
        let threshold = parameters.threshold()?;
        Ok(self.adversaries[place].attack(&self.rows, groups, &threshold, &mut self.comparison))
    }

    fn figure_one(&mut self, releases: &[Vec<Release>]) -> Result<()> {
        let columns = [
            "figure",
            "parameters",
            "b'",
            "model",
            "vulnerable rows",
            "by Omega alone",
            "largest distance",
            "undecided rows",
        ];
        let mut table =
            ResultTable::new("1", "Figure 1: rows vulnerable to an adversary of bandwidth b'", &columns);
        let mut first = vec![Vec::new(); MODELS.len()];
        let mut second = first.clone();
        for (model, name) in MODELS.iter().enumerate() {
            let mut push = |figure: &str, parameters: &Parameters, bandwidth: &str, attack: Attack| {
                table.push(vec![
                    figure.into(),
                    parameters.name.into(),
                    bandwidth.into(),
                    (*name).into(),
                    attack.vulnerable.into(),
                    attack.vulnerable_by_omega.into(),
                    ((attack.worst * 1e4).ceil() / 1e4).into(),
                    attack.undecided.into(),
                ]);
            };
            for bandwidth in BANDWIDTHS {
                let attack = self.attack(bandwidth, &releases[0][model].groups, &TABLE_V[0])?;
                push("1a", &TABLE_V[0], bandwidth, attack);
                first[model].push((bandwidth.parse().unwrap_or(0.0), attack.vulnerable as f64));
            }
            for (at, parameters) in TABLE_V.iter().enumerate() {
                let attack = self.attack(B, &releases[at][model].groups, parameters)?;
                push("1b", parameters, B, attack);
                second[model].push((at as f64 + 1.0, attack.vulnerable as f64));
            }
            (self.setting.tell)(&format!("attacks on {name}"));
        }
        let falls = |points: &[(f64, f64)]| points.windows(2).all(|pair| pair[1].1 <= pair[0].1);
        let fewer = |figures: &[Vec<(f64, f64)>]| {
            let places = 0..figures[0].len();
            places.filter(|&at| figures[..2].iter().all(|other| figures[PROVED][at].1 < other[at].1)).count()
        };
        let cases = first[0].len() + second[0].len();
        let at_b = |model: usize| (second[model][0].1, releases[0][model].groups.len());
        let [(distinct, distinct_groups), (probabilistic, probabilistic_groups), (close, close_groups)] =
            [at_b(0), at_b(1), at_b(2)];
        let ((estimated, estimated_groups), (proved, proved_groups)) = (at_b(ESTIMATED), at_b(PROVED));
        self.findings.compared.push(format!(
            "Figure 1: the proved (B,t)-private table has fewer vulnerable rows than both l-diverse ones in {} of {cases} cases (the paper: \
             much fewer than all others in all cases). At b' = b = 0.3 and para1 it has {proved} in {proved_groups} groups, by construction; \
             the one made with the paper's estimate {estimated} in {estimated_groups}, distinct l-diversity {distinct} in {distinct_groups}, \
             probabilistic {probabilistic} in {probabilistic_groups}, t-closeness {close} in {close_groups}.",
            fewer(&first) + fewer(&second),
        ));
        self.findings.compared.push(format!(
            "The rows of the estimated table that are vulnerable at b' = b are those that the Omega-estimate accepts and exact posteriors or \
             proved bounds do not. Vulnerable rows decrease as b' grows for {} of {} tables (the paper: for all).",
            first.iter().filter(|points| falls(points)).count(),
            MODELS.len()
        ));
        self.findings.tables.push(table);
        self.findings.charts.push(by_model(
            "Figure 1(a): vulnerable rows, para1",
            Axis::linear("bandwidth b' of the adversary"),
            Axis::from_zero("vulnerable rows"),
            first,
        ));
        self.findings.charts.push(by_model(
            "Figure 1(b): vulnerable rows, b' = 0.3",
            parameters_axis(),
            Axis::from_zero("vulnerable rows"),
            second,
        ));
        Ok(())
    }

    /// How wrong is the Omega-estimate for random groups?
    fn figure_two(&mut self) {
        let times = self.setting.scale.pick(100, 20, 2);
        let mut table = ResultTable::new(
            "2",
            "Figure 2: Omega-estimate against exact posteriors, random groups",
            &[
                "b",
                "N",
                "groups",
                "average distance error",
                "largest error of a row",
                "rows that Omega understates",
            ],
        );
        let mut series = Vec::new();
        let mut worst = 0.0f64;
        for bandwidth in BANDWIDTHS {
            let mut random = Random::new(2);
            let mut points = Vec::new();
            for size in [3usize, 5, 7, 9, 11, 13] {
                let (mut sum, mut largest, mut understated, mut judged) = (0.0, 0.0f64, 0u64, 0u64);
                for _ in 0..times {
                    let group: Vec<u32> =
                        (0..size).map(|_| random.below(self.rows.len() as u64) as u32).collect();
                    let adversary = self.adversary(bandwidth);
                    let (exact, is_exact) =
                        adversary.posteriors(&self.rows, &group, Posterior::ExactWhereSmall);
                    let (omega, _) = adversary.posteriors(&self.rows, &group, Posterior::Omega);
                    if !is_exact {
                        continue;
                    }
                    judged += 1;
                    let mut total = 0.0;
                    for ((&row, exact), omega) in group.iter().zip(&exact).zip(&omega) {
                        let prior = self.adversary(bandwidth).prior(row).to_vec();
                        let exact = self.comparison.measure(&prior, exact, 0.0).distance;
                        let omega = self.comparison.measure(&prior, omega, 0.0).distance;
                        total += (exact - omega).abs();
                        largest = largest.max((exact - omega).abs());
                        understated += u64::from(omega < exact);
                    }
                    sum += total / size as f64;
                }
                let average = sum / judged.max(1) as f64;
                worst = worst.max(average);
                table.push(vec![
                    bandwidth.into(),
                    size.into(),
                    judged.into(),
                    average.into(),
                    largest.into(),
                    understated.into(),
                ]);
                points.push((size as f64, average));
            }
            series.push(Series::line(format!("b = {bandwidth}"), points));
        }
        self.findings.compared.push(format!(
            "Figure 2: the average distance error of the Omega-estimate is at most {worst:.4} (the paper: within 0.1 in all cases)."
        ));
        self.findings.tables.push(table);
        self.findings.charts.push(Chart {
            title: "Figure 2: error of the Omega-estimate".to_string(),
            horizontal: Axis::whole("N (rows of a group)"),
            vertical: Axis::from_zero("average distance error"),
            series,
        });
    }

    /// Does the worst-case risk change continuously with the bandwidth that the release protects against?
    fn figure_three(&mut self) -> Result<()> {
        let scale = self.setting.scale;
        let parameters = &TABLE_V[0];
        let mut table = ResultTable::new(
            "3",
            "Figure 3: largest distance for an adversary b', (B,t)-private tables with t = 0.25, k = 3",
            &["figure", "b1", "b2", "b'", "largest distance", "groups"],
        );
        let protected = scale.pick(
            &["0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.5"][..],
            &BANDWIDTHS,
            &["0.2", "0.4"],
        );
        let mut series: Vec<Series> = BANDWIDTHS
            .iter()
            .map(|bandwidth| Series::line(format!("b' = {bandwidth}"), Vec::new()))
            .collect();
        for bandwidth in protected {
            let own = PaperAdversary::new(&self.rows, &[*bandwidth; QUASI.len()])?;
            let release = self.release(PROVED, parameters, Some(&own))?;
            for (series, attacker) in series.iter_mut().zip(BANDWIDTHS) {
                let worst = self.attack(attacker, &release.groups, parameters)?.worst;
                series.points.push((bandwidth.parse().unwrap_or(0.0), worst));
                table.push(vec![
                    "3a".into(),
                    (*bandwidth).into(),
                    (*bandwidth).into(),
                    attacker.into(),
                    ((worst * 1e4).ceil() / 1e4).into(),
                    release.groups.len().into(),
                ]);
            }
            (self.setting.tell)(&format!("continuity, b = {bandwidth}"));
        }
        let jump = |points: &[(f64, f64)]| {
            points.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs()).fold(0.0, f64::max)
        };
        let largest = series.iter().map(|series| jump(&series.points)).fold(0.0, f64::max);
        self.findings.charts.push(Chart {
            title: "Figure 3(a): worst-case disclosure risk, B = (b, ..., b)".to_string(),
            horizontal: Axis::linear("bandwidth b that is protected against"),
            vertical: Axis::from_zero("largest distance"),
            series,
        });
        let grid = scale.pick(&BANDWIDTHS[..], &["0.2", "0.4"], &["0.2"]);
        let mut series = Vec::new();
        for second in grid {
            let mut points = Vec::new();
            for first in grid {
                let own = PaperAdversary::new(&self.rows, &[first, first, first, second, second, second])?;
                let release = self.release(PROVED, parameters, Some(&own))?;
                let worst = self.attack(B, &release.groups, parameters)?.worst;
                points.push((first.parse().unwrap_or(0.0), worst));
                table.push(vec![
                    "3b".into(),
                    (*first).into(),
                    (*second).into(),
                    B.into(),
                    ((worst * 1e4).ceil() / 1e4).into(),
                    release.groups.len().into(),
                ]);
            }
            (self.setting.tell)(&format!("continuity, b2 = {second}"));
            series.push(Series::line(format!("b2 = {second}"), points));
        }
        self.findings.charts.push(Chart {
            title: "Figure 3(b): the same, 3 x b1 and 3 x b2, b' = 0.3".to_string(),
            horizontal: Axis::linear("bandwidth b1"),
            vertical: Axis::from_zero("largest distance"),
            series,
        });
        self.findings.compared.push(format!(
            "Figure 3: from one b to the next the worst-case risk changes by at most {largest:.4} (the paper: continuously)."
        ));
        self.findings.tables.push(table);
        Ok(())
    }
}
