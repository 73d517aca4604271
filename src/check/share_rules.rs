//! Which rules do share criteria become for the values of a table?
//!
//! t-closeness compares a group with the whole table, so the values of the whole table are counted in a scan of their own
//! before any group is judged, unless they are known: by people, as in the groups. Memory: O(values) for each criterion.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};

use super::cells::Cells;
use super::job::{ColumnRoles, Subject};
use super::scattered;
use super::values::ValueCodes;
use crate::error::Result;
use crate::math::shares::ShareRule;
use crate::model::counted_group::CountedGroup;
use crate::model::judge::ShareRequirement;
use crate::model::shares::ShareCriterion;
use crate::resources::Resources;
use crate::resources::spill::Spill;
use crate::table::read::ColumnRequest;

/// The rules that the requirements become once the values of the whole table are known; they are counted if they are not.
pub(super) fn rules(
    (required, known): (&[ShareRequirement], Option<&CountedGroup>),
    subject: &Subject<'_>,
    columns: &ColumnRoles,
    codes: &ValueCodes,
    spill: &dyn Fn() -> Result<Arc<Spill>>,
    resources: &Resources<'_>,
) -> Result<Vec<ShareRule>> {
    if required.is_empty() {
        return Ok(Vec::new());
    }
    let needs_table = |asked: &ShareRequirement| matches!(asked.criterion, ShareCriterion::Closeness { .. });
    let counted;
    let whole = match known {
        Some(known) => known,
        None => {
            counted = match (required.iter().any(needs_table), subject, &columns.individual) {
                (false, ..) => CountedGroup::default(),
                (true, Subject::Table(table), Some(individual)) => {
                    scattered::whole_by_person(table, columns, individual, codes, &spill()?, resources)?
                }
                (true, ..) => count_whole(subject, columns, codes, resources)?,
            };
            &counted
        }
    };
    let names = codes.names();
    let mut counts = vec![0; names.len()];
    whole.counts().for_each(|(code, times)| counts[code as usize] = times);
    // A name that another requirement uses may have a code without occurring.
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
    required.iter().map(rule).collect()
}

/// How many people of the whole table have each value, where each row is a person.
pub(super) fn count_whole(
    subject: &Subject<'_>,
    columns: &ColumnRoles,
    codes: &ValueCodes,
    resources: &Resources<'_>,
) -> Result<CountedGroup> {
    let (table, count) = match subject {
        Subject::Table(table) => (*table, None),
        Subject::Buckets(buckets) => (buckets.values, Some(buckets.count.as_str())),
    };
    let wanted: Vec<ColumnRequest> =
        count.into_iter().chain(columns.of_value()).map(ColumnRequest::canonical).collect();
    let mut whole = CountedGroup::default();
    resources.progress.start("counting the whole table", table.rows());
    let outcome = table.scan(
        &wanted,
        resources,
        |morsel| {
            let mut cells = Cells::new(columns, codes)?;
            let mut part = CountedGroup::default();
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
