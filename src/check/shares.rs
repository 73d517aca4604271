//! Are the shares of the values in each group as other tools ask for?
//!
//! t-closeness compares a group with the whole table, so the values of the whole table are counted in a scan of their own
//! before any group is judged. Memory: O(values) for each criterion.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;

use super::cells::Cells;
use super::criterion::GroupCount;
use super::job::{Columns, Subject};
use super::report::ShareReport;
use super::values::Codes;
use crate::error::Result;
use crate::math::exact::Rational;
use crate::math::shares::ShareRule;
use crate::model::shares::ShareCriterion;
use crate::policy::Nearness;
use crate::resources::Resources;
use crate::table::read::Column;

/// A criterion over shares, with the order of the values that it may need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareRequirement {
    /// The criterion.
    pub criterion: ShareCriterion,
    /// How far the values are from each other.
    pub nearness: Nearness,
}

/// The rules that the requirements become once the values of the whole table are known.
pub(super) fn rules(
    asked: &[ShareRequirement],
    subject: &Subject<'_>,
    columns: &Columns,
    codes: &Codes,
    resources: &Resources<'_>,
) -> Result<Vec<ShareRule>> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let needs_table = |asked: &ShareRequirement| matches!(asked.criterion, ShareCriterion::Closeness { .. });
    let whole = match asked.iter().any(needs_table) {
        true => count_whole(subject, columns, codes, resources)?,
        false => GroupCount::default(),
    };
    let names = codes.names();
    let mut counts = vec![0; names.len()];
    whole.counts().for_each(|(code, times)| counts[code as usize] = times);
    // A name that is asked for by another requirement may have a code and yet not occur.
    let occurring: Vec<usize> = (0..names.len()).filter(|&code| counts[code] > 0).collect();
    let texts: Vec<&str> = occurring.iter().map(|&code| &*names[code]).collect();
    let times: Vec<u64> = occurring.iter().map(|&code| counts[code]).collect();
    let rule = |asked: &ShareRequirement| {
        let rule = asked.criterion.rule(&asked.nearness, &columns.sensitive, &texts, &times)?;
        Ok(match rule {
            ShareRule::Closeness { t, ground, places, table } => {
                let mut by_code = vec![u32::MAX; names.len()];
                occurring.iter().zip(places).for_each(|(&code, place)| by_code[code] = place);
                ShareRule::Closeness { t, ground, places: by_code, table }
            }
            share => share,
        })
    };
    asked.iter().map(rule).collect()
}

/// How often each value occurs in the whole table.
fn count_whole(
    subject: &Subject<'_>,
    columns: &Columns,
    codes: &Codes,
    resources: &Resources<'_>,
) -> Result<GroupCount> {
    let (table, count) = match subject {
        Subject::Table(table) => (*table, None),
        Subject::Buckets(buckets) => (buckets.values, Some(buckets.count.as_str())),
    };
    let wanted: Vec<Column> = count.into_iter().chain(columns.of_value()).map(Column::canonical).collect();
    let mut whole = GroupCount::default();
    resources.progress.start("counting the whole table", table.rows());
    let outcome = table.scan(
        &wanted,
        resources.threads,
        |morsel| {
            let mut cells = Cells::new(columns, codes)?;
            let mut part = GroupCount::default();
            for batch in morsel {
                let batch: RecordBatch = batch?;
                let (times, values) = batch.columns().split_at(count.iter().len());
                let batch_cells = cells.open(values)?;
                match times.first().and_then(|times| times.as_primitive_opt::<Int64Type>()) {
                    None => cells.count(&batch_cells, 0..batch.num_rows(), &mut part),
                    Some(times) => {
                        for row in (0..batch.num_rows()).filter(|&row| times.is_valid(row)) {
                            if let Some(code) = cells.cell(&batch_cells, row)
                                && times.value(row) > 0
                            {
                                part.add(code, times.value(row) as u64);
                            }
                        }
                    }
                }
                resources.progress.advance(batch.num_rows() as u64);
            }
            Ok(part)
        },
        |part| {
            part.counts().for_each(|(code, times)| whole.add(code, times));
            Ok(())
        },
    );
    resources.progress.finish();
    outcome.map(|()| whole)
}

/// The worst group of each rule so far.
#[derive(Debug, Clone, Default)]
pub(super) struct ShareEvidence {
    worst: Vec<Option<(Rational, u64)>>,
}

impl ShareEvidence {
    /// Takes in a group; `number` tells groups apart.
    pub fn observe(&mut self, rules: &[ShareRule], group: &GroupCount, number: u64) {
        self.worst.resize(rules.len(), None);
        for (worst, rule) in self.worst.iter_mut().zip(rules) {
            worse(worst, (rule.measure(group.counts()), number));
        }
    }

    /// Takes in what another scan observed.
    pub fn merge(&mut self, other: ShareEvidence) {
        self.worst.resize(self.worst.len().max(other.worst.len()), None);
        for (own, others) in self.worst.iter_mut().zip(other.worst) {
            if let Some(others) = others {
                worse(own, others);
            }
        }
    }

    /// What was found.
    pub fn report(&self, rules: &[ShareRule]) -> Vec<ShareReport> {
        let report = |(rule, worst): (&ShareRule, &Option<(Rational, u64)>)| {
            let (measured, group) = worst.clone().unwrap_or((Rational::ONE, 0));
            let safe = measured <= *rule.most();
            ShareReport { criterion: rule.name(), measured, most: rule.most().clone(), group, safe }
        };
        rules.iter().zip(&self.worst).map(report).collect()
    }
}

/// The larger measure; among equals the group with the smaller number, whatever came first.
fn worse(worst: &mut Option<(Rational, u64)>, found: (Rational, u64)) {
    let replaces = match worst {
        None => true,
        Some((measured, number)) => found.0 > *measured || found.0 == *measured && found.1 < *number,
    };
    if replaces {
        *worst = Some(found);
    }
}
