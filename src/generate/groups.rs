//! The clustered table of the scalability experiment of the privacy skyline paper (section 7.1): groups of 100
//! people, each with one of 20 equally likely values.
//!
//! `group` counts from 1 and ascends; `value` is `v01` to `v20`.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Schema};

use super::draw::Draw;
use super::synthetic::ColumnLabels;
use crate::table::kind::text_type;

pub(super) const GROUP_ROWS: u64 = 100;
pub(super) const VALUES: u32 = 20;

pub(super) fn schema() -> Schema {
    Schema::new(vec![Field::new("group", DataType::Int64, false), Field::new("value", text_type(), false)])
}

pub(super) fn values() -> ColumnLabels {
    ColumnLabels::new((1..=VALUES).map(|number| format!("v{number:02}")))
}

pub(super) fn columns(values: &ColumnLabels, seed: u64, rows: Range<u64>) -> Vec<ArrayRef> {
    let codes = rows.clone().map(|row| Draw::of_row(seed, row).below(VALUES) as i32).collect();
    vec![
        Arc::new(Int64Array::from_iter_values(rows.map(|row| (row / GROUP_ROWS) as i64 + 1))),
        values.column(codes),
    ]
}
