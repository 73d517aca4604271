//! Does every row of a table of values hold a value of one list, or one value of each single-valued column?
//!
//! A value of a list next to that of another column would tell that somebody has both. Memory: one batch per thread.

use super::job::ValuedRows;
use super::policy::Task;
use crate::error::Result;
use crate::math::skyline::Values;
use crate::resources::Resources;
use crate::table::read::{ColumnRequest, Morsel, Table};
use arrow_array::{Array, RecordBatch};

/// Whether no row holds values of columns that are published apart, and none is empty; these are the tasks of all columns.
pub fn stand_apart<'t>(
    table: &Table,
    tasks: impl IntoIterator<Item = &'t Task>,
    resources: &Resources<'_>,
) -> Result<bool> {
    let roles = tasks.into_iter().map(|task| &task.columns);
    let apart = roles.filter(|own| own.valued == ValuedRows::OfTheColumn && own.parts.is_empty());
    let columns: Vec<(String, Values)> = apart.map(|own| (own.sensitive.clone(), own.values)).collect();
    if columns.is_empty() {
        return Ok(true);
    }
    let wanted: Vec<ColumnRequest> = columns.iter().map(|(name, _)| ColumnRequest::canonical(name)).collect();
    resources.progress.start("following the values of columns", table.rows());
    let mut apart = true;
    let work = |morsel: Morsel<'_>| {
        for batch in morsel {
            let batch = batch?;
            if !(0..batch.num_rows()).all(|row| stands_alone(&batch, row, &columns)) {
                return Ok(false);
            }
            resources.progress.advance(batch.num_rows() as u64);
        }
        Ok(true)
    };
    table.scan(&wanted, resources.threads, work, |own| {
        apart &= own;
        Ok(())
    })?;
    resources.progress.finish();
    Ok(apart)
}

/// Whether a row holds one value of a list, or one of each single-valued column.
fn stands_alone(batch: &RecordBatch, row: usize, columns: &[(String, Values)]) -> bool {
    let (mut lists, mut singles, mut empty) = (0, 0, 0);
    for (array, (_, values)) in batch.columns().iter().zip(columns) {
        match (array.is_valid(row), values) {
            (true, Values::Single) => singles += 1,
            (true, Values::Set | Values::Multiset) => lists += 1,
            (false, Values::Single) => empty += 1,
            (false, Values::Set | Values::Multiset) => {}
        }
    }
    match lists {
        0 => singles > 0 && empty == 0,
        _ => lists == 1 && singles == 0,
    }
}
