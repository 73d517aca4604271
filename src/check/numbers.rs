//! Does a column hold numbers, and which windows of them are protected?
//!
//! Windows start at values that occur, so all values are read in a scan of their own before any group is judged, unless they
//! are known.
//! Memory: O(values).

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, RecordBatch};

use super::job::{ColumnRoles, Subject};
use super::share_rules::count_whole;
use super::values::ValueCodes;
use crate::error::{Error, Result};
use crate::math::skyline::WindowState;
use crate::model::counted_group::CountedGroup;
use crate::model::skyline::near::{NearPoint, number_of_cell, states};
use crate::resources::Resources;
use crate::table::ColumnKind;
use crate::table::read::{ColumnRequest, Table};

/// The windows that the points protect, before the first group; the values of the whole table are counted if they are not
/// known.
pub(super) fn windows(
    (points, known): (&[NearPoint], Option<&CountedGroup>),
    subject: &Subject<'_>,
    columns: &ColumnRoles,
    codes: &ValueCodes,
    resources: &Resources<'_>,
) -> Result<Vec<WindowState>> {
    if points.is_empty() {
        return Ok(Vec::new());
    }
    if !columns.parts.is_empty() {
        return Err(Error::input(
            format!("column `{}` holds combinations, and only numbers lie in windows", columns.sensitive),
            "protect windows of one of its columns",
        ));
    }
    let table = match subject {
        Subject::Table(table) => *table,
        Subject::Buckets(buckets) => buckets.values,
    };
    expect_numbers(table, &columns.sensitive, columns.null_is.as_deref(), resources)?;
    let counted;
    let whole = match known {
        Some(known) => known,
        None => {
            counted = count_whole(subject, columns, codes, resources)?;
            &counted
        }
    };
    let names = codes.names();
    let null = columns.null_is.as_deref().map(|name| codes.name_of(name));
    let occurring = whole.counts().map(|(code, _)| (code, &*names[code as usize]));
    let named = |point: &NearPoint| NearPoint {
        from: point.from.as_deref().map(|from| codes.name_of(from)),
        ..point.clone()
    };
    let points: Vec<NearPoint> = points.iter().map(named).collect();
    states(&points, &columns.sensitive, occurring, null.as_deref())
}

/// Fails if a column that windows protect holds something other than numbers and what null means.
pub fn expect_numbers(
    table: &Table,
    column: &str,
    null_is: Option<&str>,
    resources: &Resources<'_>,
) -> Result<()> {
    let holds = match table.kind(column)? {
        ColumnKind::Integer | ColumnKind::Decimal { .. } | ColumnKind::Float => return Ok(()),
        ColumnKind::Text => {
            return match first_text(table, column, null_is, resources)? {
                None => Ok(()),
                Some(row) => Err(Error::input(
                    format!("column `{column}`: row {} is not a number, and within needs numbers", row + 1),
                    "correct the cell, say with null_is what a missing number means, or leave out within",
                )),
            };
        }
        ColumnKind::Boolean => "truth values",
        ColumnKind::Date | ColumnKind::Timestamp { .. } | ColumnKind::Time => "dates or times",
        ColumnKind::List(_) => "lists",
    };
    Err(Error::input(
        format!("column `{column}` holds {holds}, and within needs numbers"),
        "give numbers, such as the days since a fixed date, or leave out within",
    ))
}

/// The first row of a text column that is neither a number nor what null means.
fn first_text(
    table: &Table,
    column: &str,
    null_is: Option<&str>,
    resources: &Resources<'_>,
) -> Result<Option<u64>> {
    let mut first: Option<u64> = None;
    resources.progress.start("reading numbers", table.rows());
    let outcome = table.scan(
        &[ColumnRequest::canonical(column)],
        resources.threads,
        |morsel| {
            let mut row = morsel.first_row();
            for batch in morsel {
                let batch: RecordBatch = batch?;
                let cells = batch.column(0).as_dictionary::<Int32Type>();
                let entries = cells.values().as_string::<i32>().iter();
                let is_text = |text: &str| number_of_cell(text).is_none() && null_is != Some(text);
                let texts: Vec<bool> = entries.map(|entry| entry.is_some_and(is_text)).collect();
                let wrong =
                    |row: &usize| cells.keys().is_valid(*row) && texts[cells.keys().value(*row) as usize];
                if let Some(at) = (0..batch.num_rows()).find(wrong) {
                    return Ok(Some(row + at as u64));
                }
                row += batch.num_rows() as u64;
                resources.progress.advance(batch.num_rows() as u64);
            }
            Ok(None)
        },
        |found: Option<u64>| {
            first = first.into_iter().chain(found).min();
            Ok(())
        },
    );
    resources.progress.finish();
    outcome.map(|()| first)
}
