//! The table of Agrawal, Imielinski and Swami ("Database mining: a performance perspective", 1993).
//!
//! `record` is the row number from 1, in 64 bits so that the size of tables is not limited; the nine attributes and the
//! class are 32-bit integers. `zipcode` is a number from 1 to 9, and `hvalue` uses it as the factor k. `class` is the
//! first function of the paper: 1 (group A) below 40 years and from 60 on, 0 (group B) between.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array};
use arrow_schema::{DataType, Field, Schema};

use super::draw::Draw;

const ATTRIBUTES: [&str; 10] =
    ["salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan", "class"];

pub(super) fn schema() -> Schema {
    let mut fields = vec![Field::new("record", DataType::Int64, false)];
    fields.extend(ATTRIBUTES.map(|name| Field::new(name, DataType::Int32, false)));
    Schema::new(fields)
}

pub(super) fn columns(seed: u64, rows: Range<u64>) -> Vec<ArrayRef> {
    let count = (rows.end - rows.start) as usize;
    let mut attributes: [Vec<i32>; ATTRIBUTES.len()] = std::array::from_fn(|_| Vec::with_capacity(count));
    for row in rows.clone() {
        for (column, value) in attributes.iter_mut().zip(person(&mut Draw::of_row(seed, row))) {
            column.push(value);
        }
    }
    let record: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.map(|row| row as i64 + 1)));
    std::iter::once(record)
        .chain(attributes.map(|values| Arc::new(Int32Array::from(values)) as ArrayRef))
        .collect()
}

fn person(draw: &mut Draw) -> [i32; ATTRIBUTES.len()] {
    let salary = draw.between(20_000, 150_000);
    let commission = if salary >= 75_000 { 0 } else { draw.between(10_000, 75_000) };
    let age = draw.between(20, 80);
    let elevel = draw.between(0, 4);
    let car = draw.between(1, 20);
    let zipcode = draw.between(1, 9);
    let hvalue = draw.between(zipcode * 50_000, zipcode * 150_000);
    let hyears = draw.between(1, 30);
    let loan = draw.between(0, 500_000);
    let class = i32::from(!(40..60).contains(&age));
    [salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan, class]
}
