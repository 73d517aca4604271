//! Which sensitive values do the rows of a batch have?
//!
//! One array increment per row where groups are not much smaller than the dictionary; no allocation and no
//! hashing per row. Memory: O(entries of the batch's dictionary).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, RunEndBuffer};
use arrow_schema::DataType;

use super::job::{ColumnRoles, JointColumn, ValuedRows};
use super::values::{Translation, ValueCodes};
use crate::error::Result;
use crate::math::skyline::Values;
use crate::model::counted_group::CountedGroup;
use crate::policy::joint_value;
use crate::table::RowCounts;
use crate::table::read::ByteCodes;

/// Reads the sensitive column, batch by batch.
pub(super) struct Cells<'a> {
    codes: &'a ValueCodes,
    values: Values,
    valued: ValuedRows,
    parts: &'a [JointColumn],
    /// The name of the value that a null represents in each part.
    null_parts: Vec<Option<String>>,
    /// The code that a null represents in a single-valued table.
    null_code: Option<u32>,
    translation: Translation,
    /// Counts by dictionary entry; all zero between two calls.
    by_entry: Vec<u32>,
    /// The same for codes of one byte, so that each has a counter.
    by_byte: Box<[u32; 256]>,
    /// The values of a dictionary and their names, kept while batches share the dictionary.
    named: Option<(ArrayRef, ArrayRef)>,
    /// Values and counts that are missing from rows.
    pub gaps: Gaps,
}

/// Rows with something missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Gaps {
    /// Rows without a value in a single-valued table.
    pub values: u64,
    /// Rows without a usable count.
    pub counts: u64,
}

impl Gaps {
    /// Adds the gaps of other rows.
    pub fn add(&mut self, other: Gaps) {
        self.values += other.values;
        self.counts += other.counts;
    }
}

/// The sensitive column of one batch.
pub(super) struct BatchCells<'b> {
    items: DictionaryArray<Int32Type>,
    /// The items of each row, if they are codes of one byte; then `items` has the names of their values alone.
    bytes: Option<&'b [u8]>,
    /// The row at which each item ends, if items are runs of equal rows.
    ends: Option<RunEndBuffer<i32>>,
    /// For a list column, where each row's items lie.
    lists: Option<(OffsetBuffer<i32>, Option<NullBuffer>)>,
    /// The number of rows that each row represents, if there is a count column.
    counts: Option<Vec<u64>>,
}

impl BatchCells<'_> {
    /// The number of rows that the rows of the batch represent.
    pub fn rows(&self, rows: usize) -> u64 {
        self.counts.as_ref().map_or(rows as u64, |counts| counts.iter().sum())
    }

    /// The number of rows that this row represents.
    pub fn times(&self, row: usize) -> u64 {
        self.counts.as_ref().map_or(1, |counts| counts[row])
    }
}

impl<'a> Cells<'a> {
    /// For the sensitive column of `columns`.
    pub fn new(columns: &'a ColumnRoles, codes: &'a ValueCodes) -> Result<Self> {
        // Where other columns have rows of their own, a null is no value of this one.
        let meant =
            |null_is: &'a Option<String>| null_is.as_deref().filter(|_| columns.valued == ValuedRows::Every);
        let null_code = meant(&columns.null_is).map(|name| codes.named(name)).transpose()?;
        let null_part = |(i, part): (usize, &'a JointColumn)| {
            meant(&part.null_is).map(|meaning| codes.part_name_of(i, meaning))
        };
        Ok(Cells {
            codes,
            values: columns.values,
            valued: columns.valued,
            parts: &columns.parts,
            null_parts: columns.parts.iter().enumerate().map(null_part).collect(),
            null_code,
            translation: Translation::default(),
            by_entry: Vec::new(),
            by_byte: Box::new([0; 256]),
            named: None,
            gaps: Gaps::default(),
        })
    }

    /// Assigns codes to the values of a batch; the columns are those of [`ColumnRoles::of_value`].
    pub fn open(&mut self, columns: &[ArrayRef]) -> Result<BatchCells<'static>> {
        let (values, counts) = columns.split_at(self.parts.len().max(1));
        let counts = counts.first().map(RowCounts::of);
        self.gaps.counts += counts.as_ref().map_or(0, |counts| counts.wrong);
        let counts = counts.map(|counts| counts.counts);
        let (mut ends, mut lists) = (None, None);
        let items = match (values, values[0].data_type()) {
            ([column], DataType::List(_)) => {
                let list = column.as_list::<i32>();
                lists = Some((list.offsets().clone(), list.nulls().cloned()));
                self.codes.pack(list.values())?
            }
            ([column], DataType::RunEndEncoded(..)) => {
                let runs = column.as_run::<Int32Type>();
                ends = Some(runs.run_ends().clone());
                self.name(runs.values().as_dictionary())?
            }
            ([column], DataType::Dictionary(_, value)) if **value != DataType::Utf8 => {
                self.name(column.as_dictionary())?
            }
            ([column], _) => self.codes.pack(column)?,
            (parts, _) => self.join(parts)?,
        };
        let entries = self.translation.of(self.codes, &items)?.len();
        self.by_entry.resize(entries, 0);
        Ok(BatchCells { items, bytes: None, ends, lists, counts })
    }

    /// Assigns codes to the values of a column that is stored as bytes.
    pub fn open_bytes<'b>(&mut self, stored: &'b ByteCodes) -> Result<BatchCells<'b>> {
        let none = Int32Array::from(Vec::<i32>::new());
        let items = self.name(&DictionaryArray::new(none, stored.entries().clone()))?;
        self.translation.of(self.codes, &items)?;
        Ok(BatchCells { items, bytes: Some(stored.codes()), ends: None, lists: None, counts: None })
    }

    /// The same dictionary of the names of its values, which are texts or whole numbers.
    fn name(&mut self, dictionary: &DictionaryArray<Int32Type>) -> Result<DictionaryArray<Int32Type>> {
        let values = dictionary.values();
        if *values.data_type() == DataType::Utf8 {
            return Ok(dictionary.clone());
        }
        let names = match &self.named {
            Some((known, names)) if Arc::ptr_eq(known, values) => names.clone(),
            _ => {
                let packed = self.codes.pack(values)?;
                let names = packed.values().as_string::<i32>();
                let names = packed.keys().iter().map(|key| key.map(|key| names.value(key as usize)));
                let names: ArrayRef = Arc::new(names.collect::<StringArray>());
                self.named.insert((values.clone(), names)).1.clone()
            }
        };
        Ok(dictionary.with_values(names))
    }

    /// The combinations of several columns as a dictionary of their names; null where a part has no value.
    fn join(&self, columns: &[ArrayRef]) -> Result<DictionaryArray<Int32Type>> {
        let packed: Vec<DictionaryArray<Int32Type>> =
            columns.iter().map(|column| self.codes.pack(column)).collect::<Result<_>>()?;
        let mut known: HashMap<Vec<Option<i32>>, Option<i32>> = HashMap::new();
        let mut names: Vec<String> = Vec::new();
        let mut keys: Vec<Option<i32>> = Vec::with_capacity(columns[0].len());
        for row in 0..columns[0].len() {
            let own: Vec<Option<i32>> =
                packed.iter().map(|part| part.keys().is_valid(row).then(|| part.keys().value(row))).collect();
            let key = *known.entry(own).or_insert_with_key(|own| {
                let value = |(i, key): (usize, &Option<i32>)| match key {
                    Some(key) => Some(packed[i].values().as_string::<i32>().value(*key as usize)),
                    None => self.null_parts[i].as_deref(),
                };
                let values: Option<Vec<&str>> = own.iter().enumerate().map(value).collect();
                values.map(|values| {
                    names.push(joint_value(&values));
                    names.len() as i32 - 1
                })
            });
            keys.push(key);
        }
        Ok(DictionaryArray::new(keys.into(), Arc::new(StringArray::from(names))))
    }

    /// Adds the values of some rows, each of them a person, to a group.
    pub fn count(&mut self, cells: &BatchCells<'_>, rows: Range<usize>, group: &mut CountedGroup) {
        if cells.counts.is_some() {
            for row in rows.filter(|&row| cells.times(row) > 0) {
                group.people += cells.times(row);
                match cells.lists {
                    Some(_) => self.count_list(cells, row, group),
                    None => {
                        if let Some(code) = self.cell(cells, row) {
                            group.add(code, cells.times(row));
                        }
                    }
                }
            }
            return;
        }
        group.people += rows.len() as u64;
        if cells.lists.is_some() {
            for row in rows {
                self.count_list(cells, row, group);
            }
            return;
        }
        if let Some(bytes) = cells.bytes {
            return self.count_bytes(&bytes[rows], group);
        }
        if let Some(ends) = &cells.ends {
            let (codes, keys) = (self.translation.codes(), cells.items.keys().values());
            let mut start = rows.start;
            let first = ends.get_physical_index(start);
            for (&key, &end) in keys.iter().zip(ends.values()).skip(first) {
                let end = rows.end.min(end as usize);
                if start == end {
                    break;
                }
                group.add(codes[key as usize], (end - start) as u64);
                start = end;
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

    fn count_bytes(&mut self, bytes: &[u8], group: &mut CountedGroup) {
        let codes = self.translation.codes();
        if codes.len() > 2 * bytes.len() {
            bytes.iter().for_each(|&byte| group.add(codes[usize::from(byte)], 1));
            return;
        }
        for &byte in bytes {
            self.by_byte[usize::from(byte)] += 1;
        }
        for (times, &code) in self.by_byte.iter_mut().zip(codes) {
            if *times > 0 {
                group.add(code, u64::from(std::mem::take(times)));
            }
        }
    }

    /// The value of one row of a column without lists; a missing value is counted as a gap.
    pub fn cell(&mut self, cells: &BatchCells<'_>, row: usize) -> Option<u32> {
        if let Some(bytes) = cells.bytes {
            return Some(self.translation.codes()[usize::from(bytes[row])]);
        }
        let row = cells.ends.as_ref().map_or(row, |ends| ends.get_physical_index(row));
        if cells.items.keys().is_valid(row) {
            return Some(self.translation.codes()[cells.items.keys().value(row) as usize]);
        }
        match self.values {
            Values::Single if self.valued == ValuedRows::Every => {
                self.gaps.values += u64::from(self.null_code.is_none());
                self.null_code
            }
            Values::Single | Values::Set | Values::Multiset => None,
        }
    }

    fn count_list(&mut self, cells: &BatchCells<'_>, row: usize, group: &mut CountedGroup) {
        let Some((offsets, nulls)) = &cells.lists else { return };
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return;
        }
        let codes = self.translation.codes();
        let keys = cells.items.keys();
        let items = offsets[row] as usize..offsets[row + 1] as usize;
        let valid = items.filter(|&item| keys.is_valid(item));
        let own = valid.map(|item| codes[keys.value(item) as usize]);
        let times = cells.times(row);
        match self.values {
            Values::Multiset | Values::Single => own.for_each(|code| group.add(code, times)),
            Values::Set => group.add_once(own, times),
        }
    }
}
