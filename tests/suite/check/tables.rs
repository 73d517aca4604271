//! Writes small tables and runs the command on them.

use crate::support::{json, printed, skyveil, text};
use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

pub use crate::support::naive::Row;

/// Runs `skyveil check` with a table and additional arguments.
pub fn check(table: &Path, arguments: &[&str]) -> Output {
    skyveil(&[&["check", text(table)], arguments].concat())
}

/// The JSON answer of a check that must produce one.
pub fn answer(table: &Path, arguments: &[&str]) -> Value {
    let output = check(table, &[arguments, &["--json"]].concat());
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{arguments:?}: {code:?}: {}", printed(&output));
    let answer = json(&output);
    assert_eq!(code, Some(if answer["safe"] == false { 1 } else { 0 }));
    answer
}

/// One row for each person: `grp`, `sick`; a person without a value has a null.
pub fn single_batch(rows: &[Row]) -> RecordBatch {
    let groups: Int64Array = rows.iter().map(|row| Some(row.1)).collect();
    let sick: StringArray = rows.iter().map(|row| row.2.first().copied()).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("grp", Arc::new(groups) as ArrayRef, true),
        ("sick", Arc::new(sick) as ArrayRef, true),
    ])
    .unwrap()
}

/// One row for each person: `grp`, and `sick` as a list.
pub fn list_batch(rows: &[Row]) -> RecordBatch {
    let groups: Int64Array = rows.iter().map(|row| Some(row.1)).collect();
    let items: StringArray = rows.iter().flat_map(|row| row.2.iter().copied()).map(Some).collect();
    let offsets = OffsetBuffer::<i32>::from_lengths(rows.iter().map(|row| row.2.len()));
    // Half of the people without a value have a null, half an empty list.
    let present = rows.iter().map(|row| !row.2.is_empty() || row.0 % 2 == 0).collect::<Vec<_>>();
    let item = Arc::new(Field::new("item", DataType::Utf8, true));
    let lists = ListArray::new(item, offsets, Arc::new(items), Some(present.into()));
    RecordBatch::try_from_iter_with_nullable([
        ("grp", Arc::new(groups) as ArrayRef, true),
        ("sick", Arc::new(lists) as ArrayRef, true),
    ])
    .unwrap()
}

/// One row for each value: `who`, `grp`, `sick`; a person without a value has one row with a null.
pub fn long_batch(rows: &[Row]) -> RecordBatch {
    let mut long: Vec<(String, i64, Option<&str>)> = Vec::new();
    for (who, group, values) in rows {
        let who = format!("person {who}");
        match values[..] {
            [] => long.push((who, *group, None)),
            _ => long.extend(values.iter().map(|value| (who.clone(), *group, Some(*value)))),
        }
    }
    let who: StringArray = long.iter().map(|row| Some(row.0.as_str())).collect();
    let groups: Int64Array = long.iter().map(|row| Some(row.1)).collect();
    let sick: StringArray = long.iter().map(|row| row.2).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("who", Arc::new(who) as ArrayRef, true),
        ("grp", Arc::new(groups) as ArrayRef, true),
        ("sick", Arc::new(sick) as ArrayRef, true),
    ])
    .unwrap()
}

/// Writes an Arrow file with batches of a few rows, each read by a single worker.
pub fn arrow_file(path: &Path, batch: &RecordBatch, rows: usize) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
    for start in (0..batch.num_rows()).step_by(rows) {
        writer.write(&batch.slice(start, rows.min(batch.num_rows() - start))).unwrap();
    }
    writer.finish().unwrap();
}

/// Writes a Parquet file.
pub fn parquet_file(path: &Path, batch: &RecordBatch, group_rows: usize) {
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// An empty table with the columns of [`single_batch`].
pub fn empty_batch() -> RecordBatch {
    let fields = vec![Field::new("grp", DataType::Int64, true), Field::new("sick", DataType::Utf8, true)];
    RecordBatch::new_empty(Arc::new(Schema::new(fields)))
}
