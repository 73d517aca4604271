//! Which sensitive values do the rows of a batch have?
//!
//! One array increment per row where groups are not much smaller than the dictionary; no allocation and no
//! hashing per row. Memory: O(entries of the batch's dictionary).

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray, DictionaryArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Int32Type};

use super::criterion::GroupCount;
use super::job::Columns;
use super::values::{Codes, Translation};
use crate::error::Result;
use crate::skyline::Values;

/// Reads the sensitive column, batch by batch.
pub(super) struct Cells<'a> {
    codes: &'a Codes,
    values: Values,
    /// The code that a null stands for in a single-valued table.
    null_code: Option<u32>,
    translation: Translation,
    /// Counts by dictionary entry; all zero between two calls.
    by_entry: Vec<u32>,
    /// Rows that should have had a value and had none.
    pub missing: u64,
}

/// The sensitive column of one batch.
pub(super) struct BatchCells {
    items: DictionaryArray<Int32Type>,
    /// Of a list column: where each row's items lie.
    lists: Option<(OffsetBuffer<i32>, Option<NullBuffer>)>,
}

impl<'a> Cells<'a> {
    /// For the sensitive column of `columns`.
    pub fn new(columns: &Columns, codes: &'a Codes) -> Result<Self> {
        let null_code = columns.null_is.as_deref().map(|name| codes.code(name)).transpose()?;
        Ok(Cells {
            codes,
            values: columns.values,
            null_code,
            translation: Translation::default(),
            by_entry: Vec::new(),
            missing: 0,
        })
    }

    /// Gives the values of a batch their codes.
    pub fn open(&mut self, column: &ArrayRef) -> Result<BatchCells> {
        let (items, lists) = match column.data_type() {
            DataType::List(_) => {
                let list = column.as_list::<i32>();
                (self.codes.pack(list.values())?, Some((list.offsets().clone(), list.nulls().cloned())))
            }
            _ => (self.codes.pack(column)?, None),
        };
        let entries = self.translation.of(self.codes, &items)?.len();
        self.by_entry.resize(entries, 0);
        Ok(BatchCells { items, lists })
    }

    /// Adds the values of some rows, each of them a person, to a group.
    pub fn count(&mut self, cells: &BatchCells, rows: Range<usize>, group: &mut GroupCount) {
        group.people += rows.len() as u64;
        if cells.lists.is_some() {
            for row in rows {
                self.count_list(cells, row, group);
            }
            return;
        }
        let keys = cells.items.keys();
        if keys.null_count() > 0 {
            for row in rows {
                if let Some(code) = self.cell(cells, row) {
                    group.add(code, 1);
                }
            }
            return;
        }
        let keys = &keys.values()[rows];
        let codes = self.translation.codes();
        if self.by_entry.len() <= 2 * keys.len() {
            for &key in keys {
                self.by_entry[key as usize] += 1;
            }
            for (times, &code) in self.by_entry.iter_mut().zip(codes) {
                if *times > 0 {
                    group.add(code, u64::from(std::mem::take(times)));
                }
            }
        } else {
            for &key in keys {
                group.add(codes[key as usize], 1);
            }
        }
    }

    /// The value of one row of a column without lists; a missing one is counted.
    pub fn cell(&mut self, cells: &BatchCells, row: usize) -> Option<u32> {
        if cells.items.keys().is_valid(row) {
            return Some(self.translation.codes()[cells.items.keys().value(row) as usize]);
        }
        match self.values {
            Values::Single => {
                self.missing += u64::from(self.null_code.is_none());
                self.null_code
            }
            Values::Set | Values::Multiset => None,
        }
    }

    fn count_list(&mut self, cells: &BatchCells, row: usize, group: &mut GroupCount) {
        let Some((offsets, nulls)) = &cells.lists else { return };
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return;
        }
        let codes = self.translation.codes();
        let keys = cells.items.keys();
        let items = offsets[row] as usize..offsets[row + 1] as usize;
        let valid = items.filter(|&item| keys.is_valid(item));
        let own = valid.map(|item| codes[keys.value(item) as usize]);
        match self.values {
            Values::Multiset | Values::Single => own.for_each(|code| group.add(code, 1)),
            Values::Set => group.add_once(own),
        }
    }
}
