//! Does every group keep every posterior at most 1/r against an adversary who knows distributions?
//!
//! People and values are brought together by group, out of core, and each group is judged on its own: by its exact
//! posteriors where it is small enough, by the ratio condition otherwise; what neither proves is not shown to be robust,
//! and not safe. Nothing is taken from how the groups were made.
//!
//! Memory: the sorter's share of the budget, the groups of one batch, the states of one group per thread.
//! Invariant: a comparison with 1/r is certain (equality is safe); contradictory distributions are an error.

use std::sync::Mutex;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::criterion::Requirements;
use super::job::{Buckets, Columns, Subject, Survey, survey};
use super::knowledge::Sought;
use crate::encode::scale::Scale;
use crate::error::{Error, Result, number_of};
use crate::math::exact::Rational;
use crate::math::robust::{Assessment, Proof, Published, Requirement, Verdict, assess, delta_claims};
use crate::math::skyline::Values;
use crate::model::robust::Known;
use crate::model::robust::RobustTest;
use crate::model::robust::dictionary::{Coder, UNKNOWN};
use crate::resources::Resources;
use crate::resources::sorter::Sorter;
use crate::resources::spill::Spill;
use crate::table::group_keys::{GroupKeys as Keys, integer_of_key};
use crate::table::read::{Column, Table};

/// Posteriors of groups with up to so many states are always computed: twelve different values.
const STATES: u64 = 1 << 12;
/// Where the ratio condition fails, up to so many: sixteen different values.
const MOST_STATES: u64 = 1 << 16;
/// Numbers of signatures that are judged at once.
const BATCH: usize = 1 << 18;

/// What must hold for the groups, beside their minimum sizes.
pub struct Robustness<'a> {
    /// What the adversary knows.
    pub known: &'a Known,
    /// No posterior may be above 1/r.
    pub requirement: &'a Requirement,
    /// The condition that the policy names.
    pub test: RobustTest,
    /// The fewest people in a group.
    pub minimum_group_size: u64,
    /// The fewest different values in a group.
    pub minimum_distinct_values: u64,
}

/// What was found about posteriors.
#[derive(Debug, Clone, PartialEq)]
pub struct RobustReport {
    /// The demanded r.
    pub r: Rational,
    /// The condition that the policy names.
    pub test: RobustTest,
    /// Groups shown to be robust by their exact posteriors.
    pub by_posterior: u64,
    /// Groups shown to be robust by the ratio condition.
    pub by_ratio: u64,
    /// Groups with a posterior above 1/r.
    pub breached: u64,
    /// Groups of which neither is known.
    pub not_shown: u64,
    /// The largest posterior of each value, rounded up, over the groups whose posteriors were computed; sorted by value.
    pub worst: Vec<(String, f64)>,
    /// Groups whose posteriors were not computed because they are too large.
    pub unmeasured: u64,
    /// What the printed Delta condition says of these groups.
    pub delta: DeltaClaims,
    /// What the printed Delta condition would have made of the table, where that was tried.
    pub delta_instead: Option<DeltaInstead>,
}

/// What the printed Delta condition says of groups.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeltaClaims {
    /// Groups that it accepts.
    pub accepted: u64,
    /// Accepted groups with a posterior above 1/r.
    pub wrong: u64,
    /// The largest posterior of those, rounded up.
    pub worst: f64,
    /// Accepted groups of which it is not known whether they are above 1/r.
    pub unknown: u64,
}

/// Groups made with the printed Delta condition, for comparison; they are not published.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeltaInstead {
    /// People who were grouped so.
    pub people: u64,
    /// What the condition says of their groups, and what is true.
    pub claims: DeltaClaims,
}

impl RobustReport {
    /// Whether every group is shown to be robust.
    pub fn holds(&self) -> bool {
        self.breached == 0 && self.not_shown == 0
    }

    /// The name of the condition that the policy asks for.
    pub fn test_name(&self) -> &'static str {
        RobustTest::NAMES.into_iter().find(|(_, test)| *test == self.test).map_or("", |(name, _)| name)
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let claims = |claims: &DeltaClaims| {
            let worst = (claims.wrong > 0).then_some(claims.worst);
            json!({
                "accepted": claims.accepted,
                "wrong": claims.wrong,
                "worst_posterior": worst,
                "not_shown": claims.unknown,
            })
        };
        let instead = self.delta_instead.as_ref().map(|instead| {
            let mut told = claims(&instead.claims);
            told["people"] = json!(instead.people);
            told
        });
        let values = self.worst.iter().map(|(value, worst)| json!({"value": value, "posterior": worst}));
        json!({
            "r": self.r.to_string(),
            "at_most": (Rational::ONE / &self.r).to_string(),
            "test": self.test_name(),
            "r_robust": self.holds(),
            "groups_by_posterior": self.by_posterior,
            "groups_by_ratio": self.by_ratio,
            "groups_above": self.breached,
            "groups_not_shown": self.not_shown,
            "groups_without_posterior": self.unmeasured,
            "worst_posterior": self.worst_posterior(),
            "values": values.collect::<Vec<Value>>(),
            "delta": claims(&self.delta),
            "delta_instead": instead,
        })
    }

    /// The largest posterior that was computed, rounded up.
    pub fn worst_posterior(&self) -> Option<f64> {
        self.worst.iter().map(|&(_, posterior)| posterior).reduce(f64::max)
    }
}

impl DeltaClaims {
    /// Takes in one group.
    pub fn add(&mut self, accepted: bool, verdict: &Verdict) {
        if !accepted {
            return;
        }
        self.accepted += 1;
        match verdict {
            Verdict::Breached { posterior } => {
                self.wrong += 1;
                self.worst = self.worst.max(*posterior);
            }
            Verdict::NotShown | Verdict::Contradiction => self.unknown += 1,
            Verdict::Robust(_) => {}
        }
    }

    /// Takes in other groups.
    pub fn merge(&mut self, other: &DeltaClaims) {
        self.accepted += other.accepted;
        self.wrong += other.wrong;
        self.worst = self.worst.max(other.worst);
        self.unknown += other.unknown;
    }
}

/// Checks the groups of a table; the known columns hold their original values.
pub fn robust(
    subject: &Subject<'_>,
    columns: &Columns,
    asked: &Robustness<'_>,
    resources: &Resources<'_>,
) -> Result<Survey> {
    if columns.values != Values::Single || columns.individual.is_some() || columns.count.is_some() {
        return Err(Error::input(
            "the model \"robust\" is defined for one row and one value per person",
            "leave columns.individual, columns.count and privacy.values out of the policy, and give a table with one \
             row for each person",
        ));
    }
    let sizes = Requirements {
        minimum_group_size: asked.minimum_group_size,
        minimum_distinct_values: asked.minimum_distinct_values,
        ..Requirements::nothing()
    };
    let mut survey = survey(subject, columns, &sizes, &Sought::NOTHING, resources)?;
    let report = judge(subject, columns, asked, resources)?;
    survey.report.safe &= report.holds();
    survey.report.robust = Some(Box::new(report));
    Ok(survey)
}

fn judge(
    subject: &Subject<'_>,
    columns: &Columns,
    asked: &Robustness<'_>,
    resources: &Resources<'_>,
) -> Result<RobustReport> {
    let spill = Spill::create(&resources.temp)?;
    let sorter = Mutex::new(Sorter::new(&resources.budget, &spill)?);
    match subject {
        Subject::Table(table) => {
            let cells = Cells { people: true, values: true, count: None };
            gather(table, &cells, columns, asked.known, resources, &sorter)?;
        }
        Subject::Buckets(Buckets { people, values, count }) => {
            let cells = Cells { people: true, values: false, count: None };
            gather(people, &cells, columns, asked.known, resources, &sorter)?;
            let cells = Cells { people: false, values: true, count: Some(count) };
            gather(values, &cells, columns, asked.known, resources, &sorter)?;
        }
    }
    let sorter = sorter.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(resources.threads)
        .build()
        .map_err(|_| Error::input("the threads could not be started", "give fewer --threads"))?;
    let mut tally = Tally::new(asked);
    let mut batch = Batch::default();
    resources.progress.start("judging groups", None);
    sorter.finish(|record| {
        let length = usize::from(u16::from_be_bytes([record[0], record[1]]));
        let (key, rest) = record[2..].split_at(length);
        if batch.key != key || batch.groups.is_empty() {
            if batch.numbers >= BATCH {
                let done = pool.install(|| batch.judged(asked))?;
                resources.progress.advance(done.len() as u64);
                tally.add(&batch, done);
                batch = Batch::default();
            }
            batch.key = key.to_vec();
            batch.groups.push(Group { name: integer_of_key(key), ..Group::default() });
        }
        batch.add(rest);
        Ok(())
    })?;
    let done = pool.install(|| batch.judged(asked))?;
    tally.add(&batch, done);
    resources.progress.finish();
    tally.finish()
}

/// What the rows of a table tell.
struct Cells<'a> {
    people: bool,
    values: bool,
    count: Option<&'a String>,
}

/// Brings the rows of a table into the order of the groups.
fn gather(
    table: &Table,
    cells: &Cells<'_>,
    columns: &Columns,
    known: &Known,
    resources: &Resources<'_>,
    sorter: &Mutex<Sorter<'_>>,
) -> Result<()> {
    let mut names: Vec<&str> = Vec::new();
    let all = columns.groups.iter().map(String::as_str);
    let all = all.chain(known.columns().iter().map(String::as_str).filter(|_| cells.people));
    let all = all.chain(cells.values.then_some(columns.sensitive.as_str()));
    for name in all.chain(cells.count.map(String::as_str)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let place = |name: &str| names.iter().position(|own| *own == name).unwrap_or(0);
    let wanted: Vec<Column> = names.iter().map(|name| Column::canonical(*name)).collect();
    let group_places: Vec<usize> = columns.groups.iter().map(|name| place(name)).collect();
    let known_places: Vec<usize> = match cells.people {
        true => known.columns().iter().map(|name| place(name)).collect(),
        false => Vec::new(),
    };
    resources.progress.start("reading groups", table.rows());
    let work = |morsel: crate::table::read::Morsel<'_>| {
        let mut coders: Vec<Coder<'_>> = if cells.people { known.coders(table)? } else { Vec::new() };
        let mut value_coder = match cells.values {
            true => Some(Coder::new(known.values(), table, &columns.sensitive)?),
            false => None,
        };
        let null_value = columns.null_is.as_deref().and_then(|name| {
            let scale = table.kind(&columns.sensitive).ok().and_then(|kind| Scale::of(&kind));
            let canonical = scale.and_then(|scale| scale.canonical(name));
            known.values().code(Some(canonical.as_deref().unwrap_or(name)))
        });
        let (mut unknown_rows, mut unknown_values) = (0u64, 0u64);
        let (mut codes, mut values) = (vec![Vec::new(); coders.len()], Vec::new());
        let (mut row_codes, mut key, mut signatures) = (vec![0; coders.len()], Vec::new(), Vec::new());
        for batch in morsel {
            let batch: RecordBatch = batch?;
            let groups: Vec<ArrayRef> = group_places.iter().map(|&at| batch.column(at).clone()).collect();
            let keys = Keys::new(groups.iter().map(|column| column.data_type()))?.rows(&groups)?;
            for ((coder, codes), &at) in coders.iter_mut().zip(&mut codes).zip(&known_places) {
                codes.clear();
                coder.codes(batch.column(at), codes)?;
            }
            if let Some(coder) = &mut value_coder {
                values.clear();
                let column = batch.column(place(&columns.sensitive));
                coder.codes(column, &mut values)?;
                if let (Some(meaning), Some(nulls)) = (null_value, column.logical_nulls()) {
                    (0..column.len()).filter(|&row| nulls.is_null(row)).for_each(|row| values[row] = meaning);
                }
            }
            let counts = match cells.count {
                Some(name) => Some(counts(batch.column(place(name)), name)?),
                None => None,
            };
            let mut sorter = sorter.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            for row in 0..batch.num_rows() {
                let group = keys.key(row);
                let head = u16::try_from(group.len()).map_err(|_| long_key())?.to_be_bytes();
                if cells.people {
                    row_codes.iter_mut().zip(&codes).for_each(|(own, codes)| *own = codes[row]);
                    signatures.clear();
                    match known.signatures(&row_codes, &mut key, &mut signatures) {
                        true => {
                            let bytes: Vec<u8> =
                                signatures.iter().flat_map(|own| own.to_be_bytes()).collect();
                            sorter.push(&[&head, group, &[0], &bytes])?;
                        }
                        false => unknown_rows += 1,
                    }
                }
                if cells.values {
                    unknown_values += u64::from(values[row] == UNKNOWN);
                    let count = counts.as_ref().map_or(1, |counts| counts[row]);
                    let bytes = [values[row].to_be_bytes(), count.to_be_bytes()].concat();
                    sorter.push(&[&head, group, &[1], &bytes])?;
                }
            }
            resources.progress.advance(batch.num_rows() as u64);
        }
        Ok((unknown_rows, unknown_values))
    };
    let (mut unknown_rows, mut unknown_values) = (0, 0);
    table.scan(&wanted, resources.threads, work, |(rows, values)| {
        unknown_rows += rows;
        unknown_values += values;
        Ok(())
    })?;
    resources.progress.finish();
    if unknown_rows > 0 {
        return Err(Error::input(
            format!(
                "{} a combination of {} for which no distribution is known",
                if unknown_rows == 1 {
                    "1 person has".to_string()
                } else {
                    format!("{unknown_rows} people have")
                },
                known.columns().join(", ")
            ),
            "the known columns must hold original values, as in a bucketized release; give the table that it was \
             made from with --original, or distributions for all of them",
        ));
    }
    if unknown_values > 0 {
        return Err(Error::input(
            format!(
                "column `{}`: {} a value for which no distribution is known",
                columns.sensitive,
                if unknown_values == 1 {
                    "1 row has".to_string()
                } else {
                    format!("{unknown_values} rows have")
                }
            ),
            "give the table that the release was made from with --original, or distributions with all values",
        ));
    }
    Ok(())
}

fn counts(column: &ArrayRef, name: &str) -> Result<Vec<u32>> {
    let numbers = column.as_primitive_opt::<Int64Type>().filter(|numbers| numbers.null_count() == 0);
    let counts: Option<Vec<u32>> =
        numbers.and_then(|numbers| numbers.values().iter().map(|&count| u32::try_from(count).ok()).collect());
    counts.ok_or_else(|| {
        Error::input(format!("column `{name}` does not hold counts"), "give a release as skyveil writes it")
    })
}

fn long_key() -> Error {
    Error::input(
        "the group columns hold a very long text",
        "number the groups, and name that column with --group",
    )
}

#[derive(Default)]
struct Group {
    name: Option<i64>,
    signatures: Vec<u32>,
    values: Vec<(u32, u32)>,
}

/// Groups that are judged at once.
#[derive(Default)]
struct Batch {
    key: Vec<u8>,
    groups: Vec<Group>,
    numbers: usize,
}

impl Batch {
    /// Takes in a record of the last group.
    fn add(&mut self, record: &[u8]) {
        let Some(group) = self.groups.last_mut() else { return };
        let number = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let mut numbers = record[1..].chunks_exact(4).map(number);
        self.numbers += record.len() / 4;
        match record[0] {
            0 => group.signatures.extend(numbers),
            _ => {
                let (value, count) = (numbers.next().unwrap_or(UNKNOWN), numbers.next().unwrap_or(0));
                match group.values.last_mut().filter(|last| last.0 == value) {
                    Some(last) => last.1 = last.1.saturating_add(count),
                    None => group.values.push((value, count)),
                }
            }
        }
    }

    /// The assessment of each group, and whether the Delta condition accepts it.
    fn judged(&self, asked: &Robustness<'_>) -> Result<Vec<(Assessment, bool)>> {
        let judge = |group: &Group| {
            let published = Published { signatures: &group.signatures, values: &group.values };
            let (priors, requirement) = (asked.known.priors(), asked.requirement);
            let assessment = judged(asked.known, requirement, published)?;
            Ok((assessment, delta_claims(priors, requirement, published)?))
        };
        self.groups.par_iter().map(judge).collect()
    }
}

/// The verdict on one group, with more work where less does not decide.
pub(crate) fn judged(known: &Known, requirement: &Requirement, group: Published<'_>) -> Result<Assessment> {
    let assessment = assess(known.priors(), requirement, group, STATES)?;
    match assessment.verdict {
        Verdict::NotShown => assess(known.priors(), requirement, group, MOST_STATES),
        _ => Ok(assessment),
    }
}

/// What all groups together say.
struct Tally<'a> {
    asked: &'a Robustness<'a>,
    report: RobustReport,
    /// The largest posterior of each value.
    worst: Vec<Option<f64>>,
    contradictions: u64,
    first_contradiction: Option<i64>,
}

impl<'a> Tally<'a> {
    fn new(asked: &'a Robustness<'a>) -> Self {
        let report = RobustReport {
            r: asked.requirement.r().clone(),
            test: asked.test,
            by_posterior: 0,
            by_ratio: 0,
            breached: 0,
            not_shown: 0,
            worst: Vec::new(),
            unmeasured: 0,
            delta: DeltaClaims::default(),
            delta_instead: None,
        };
        let worst = vec![None; asked.known.priors().values()];
        Tally { asked, report, worst, contradictions: 0, first_contradiction: None }
    }

    fn add(&mut self, batch: &Batch, judged: Vec<(Assessment, bool)>) {
        for (group, (assessment, accepted)) in batch.groups.iter().zip(judged) {
            let report = &mut self.report;
            match assessment.verdict {
                Verdict::Robust(Proof::Posterior) => report.by_posterior += 1,
                Verdict::Robust(Proof::Ratio) => report.by_ratio += 1,
                Verdict::Breached { .. } => report.breached += 1,
                Verdict::NotShown => report.not_shown += 1,
                Verdict::Contradiction => {
                    self.contradictions += 1;
                    self.first_contradiction = self.first_contradiction.or(group.name);
                }
            }
            report.delta.add(accepted, &assessment.verdict);
            match assessment.worst {
                None => report.unmeasured += 1,
                Some(worst) => {
                    for (&(value, _), posterior) in group.values.iter().zip(worst) {
                        let own = &mut self.worst[value as usize];
                        *own = Some(own.map_or(posterior, |own| own.max(posterior)));
                    }
                }
            }
        }
    }

    fn finish(mut self) -> Result<RobustReport> {
        if self.contradictions > 0 {
            let groups = number_of(self.contradictions, "group", "groups");
            let first =
                self.first_contradiction.map_or(String::new(), |name| format!(", the first is {name}"));
            return Err(Error::input(
                format!("the distributions contradict the table: they make {groups} impossible{first}"),
                "give the distributions that belong to this table; what contradicts it proves nothing",
            ));
        }
        let texts = self.asked.known.value_texts();
        let worst =
            texts.iter().zip(&self.worst).filter_map(|(text, worst)| Some((text.to_string(), (*worst)?)));
        self.report.worst = worst.collect();
        self.report.worst.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(self.report)
    }
}
