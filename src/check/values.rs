//! Which code does each sensitive value have, and what is it called?
//!
//! Codes are assigned in the order in which workers encounter values, so they mean nothing outside of a run.
//! Memory: O(distinct values), reserved from the budget. A dictionary is looked up once per entry, not once
//! per row. A number, date or time has one name, whatever the type of its column and however it is written.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int64Array, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;

use super::job::{ColumnRoles, Subject};
use crate::encode::scale::Scale;
use crate::error::{Error, Result};
use crate::policy::{joint_parts, joint_value};
use crate::resources::budget::{Budget, Reservation};
use crate::table::ColumnKind;

/// The codes of the sensitive values seen so far; shared by the workers.
pub(super) struct ValueCodes {
    column: String,
    /// The scale of the column, or of each part of it, if its values are not texts.
    scales: Vec<Option<Scale>>,
    state: RwLock<State>,
}

struct State {
    codes: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
    /// Bytes of the names, and the total for them and their two tables.
    text: u64,
    reserved: Reservation,
}

/// What one more value takes in addition to its text: an entry in each table, with space to grow.
const ENTRY_BYTES: u64 = 128;

impl ValueCodes {
    /// No values yet, for the sensitive column or its parts.
    pub fn new(subject: &Subject<'_>, columns: &ColumnRoles, budget: &Arc<Budget>) -> Result<Self> {
        let table = match subject {
            Subject::Table(table) => *table,
            Subject::Buckets(buckets) => buckets.values,
        };
        let scale = |name: &str| {
            Ok(match table.kind(name)? {
                ColumnKind::List(item) => Scale::of(&item),
                kind => Scale::of(&kind),
            })
        };
        let scales = match &columns.parts[..] {
            [] => vec![scale(&columns.sensitive)?],
            parts => parts.iter().map(|part| scale(&part.name)).collect::<Result<_>>()?,
        };
        ValueCodes::with(&columns.sensitive, scales, budget)
    }

    /// No values yet, for a column with this name and these scales.
    pub fn with(column: &str, scales: Vec<Option<Scale>>, budget: &Arc<Budget>) -> Result<Self> {
        let reserved = budget.reserve("the list of sensitive values", 0)?;
        let state = State { codes: HashMap::new(), names: Vec::new(), text: 0, reserved };
        Ok(ValueCodes { column: column.to_string(), scales, state: RwLock::new(state) })
    }

    /// The name of a value as a person writes it.
    pub fn name_of(&self, text: &str) -> String {
        if let [scale] = self.scales[..] {
            return canonical(scale, text);
        }
        let parts = joint_parts(text);
        if parts.len() != self.scales.len() {
            return text.to_string();
        }
        let parts: Vec<String> =
            parts.iter().zip(&self.scales).map(|(part, scale)| canonical(*scale, part)).collect();
        joint_value(&parts.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The name of a value of one of the parts, as a person writes it.
    pub fn part_name_of(&self, part: usize, text: &str) -> String {
        canonical(self.scales.get(part).copied().flatten(), text)
    }

    /// The scale of the column, or of each part of it.
    pub fn scales(&self) -> Vec<Option<Scale>> {
        self.scales.clone()
    }

    /// The code of a value as a person writes it; a new one if it has none.
    pub fn named(&self, text: &str) -> Result<u32> {
        self.code(&self.name_of(text))
    }

    /// The code of a value by its name; a new one if it has none.
    pub fn code(&self, name: &str) -> Result<u32> {
        let known = self.state.read().unwrap_or_else(PoisonError::into_inner).codes.get(name).copied();
        match known {
            Some(code) => Ok(code),
            None => self.state.write().unwrap_or_else(PoisonError::into_inner).add(name),
        }
    }

    /// The names by code.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).names.clone()
    }

    /// The values of an array as a dictionary of their names.
    pub fn pack(&self, array: &ArrayRef) -> Result<DictionaryArray<Int32Type>> {
        let text = dictionary_of(DataType::Utf8);
        // Most types are dictionary-encoded first, so that each distinct value is converted to text once.
        let packed = match array.data_type() {
            DataType::Dictionary(..) => self.cast(array, &text)?,
            DataType::Boolean => self.cast(&self.cast(array, &DataType::Utf8)?, &text)?,
            DataType::Timestamp(unit, Some(_)) => {
                let plain = DataType::Timestamp(*unit, None);
                self.cast(&self.cast(&self.cast(array, &plain)?, &dictionary_of(plain))?, &text)?
            }
            DataType::Int64 if array.null_count() == 0 => {
                let packed: ArrayRef = Arc::new(dictionary_of_integers(array.as_primitive()));
                self.cast(&packed, &text)?
            }
            other => self.cast(&self.cast(array, &dictionary_of(other.clone()))?, &text)?,
        };
        let packed = packed.as_dictionary::<Int32Type>();
        let scale = ColumnKind::of(array.data_type()).and_then(|kind| Scale::of(&kind));
        Ok(match scale {
            Some(Scale::Float | Scale::Decimal(_) | Scale::Timestamp(_)) => {
                let texts = packed.values().as_string::<i32>().iter();
                let names: StringArray = texts.map(|text| text.map(|text| canonical(scale, text))).collect();
                packed.with_values(Arc::new(names))
            }
            // Arrow's text is already the name.
            _ => packed.clone(),
        })
    }

    fn cast(&self, array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        if array.data_type() == to {
            return Ok(array.clone());
        }
        let options = CastOptions { safe: false, ..Default::default() };
        // The text of Arrow's error could quote the value.
        cast_with_options(array, to, &options).map_err(|_| {
            Error::input(
                format!("column `{}` holds a value that cannot be told from others", self.column),
                "store the sensitive column as text, whole numbers or dates",
            )
        })
    }
}

impl State {
    fn add(&mut self, name: &str) -> Result<u32> {
        if let Some(&code) = self.codes.get(name) {
            return Ok(code);
        }
        let code = self.names.len() as u32;
        self.text += name.len() as u64;
        let bytes = self.text + (u64::from(code) + 1) * ENTRY_BYTES;
        if bytes > self.reserved.bytes() {
            // In steps, so that a million values do not cause a million reservations.
            self.reserved.resize("the list of sensitive values", bytes + bytes / 4)?;
        }
        let name: Arc<str> = name.into();
        self.codes.insert(name.clone(), code);
        self.names.push(name);
        Ok(code)
    }
}

/// Whether a text could be a value of a column with these scales, one for each part: in a column of numbers, a number.
pub(super) fn could_hold(scales: &[Option<Scale>], text: &str) -> bool {
    let holds =
        |(scale, text): (&Option<Scale>, &str)| scale.is_none_or(|scale| scale.canonical(text).is_some());
    match scales {
        [scale] => holds((scale, text)),
        scales => {
            let parts = joint_parts(text);
            parts.len() == scales.len() && scales.iter().zip(parts.iter().map(String::as_str)).all(holds)
        }
    }
}

fn canonical(scale: Option<Scale>, text: &str) -> String {
    scale.and_then(|scale| scale.canonical(text)).unwrap_or_else(|| text.to_string())
}

fn dictionary_of(values: DataType) -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(values))
}

/// Whole numbers without nulls as a dictionary, in the order in which they first occur: what Arrow does, with a faster hash,
/// and without one for repetitions.
fn dictionary_of_integers(array: &Int64Array) -> DictionaryArray<Int32Type> {
    let mut places: hashbrown::HashMap<i64, i32, foldhash::fast::FixedState> = hashbrown::HashMap::default();
    let mut values = Vec::new();
    let mut last: Option<(i64, i32)> = None;
    let place = |&value: &i64| match last {
        Some((same, place)) if same == value => place,
        _ => {
            let place = *places.entry(value).or_insert_with(|| {
                values.push(value);
                values.len() as i32 - 1
            });
            last = Some((value, place));
            place
        }
    };
    let keys: Vec<i32> = array.values().iter().map(place).collect();
    DictionaryArray::new(keys.into(), Arc::new(Int64Array::from(values)))
}

/// The codes of one dictionary's entries, kept while batches share the dictionary.
#[derive(Default)]
pub(super) struct Translation {
    entries: Option<ArrayRef>,
    codes: Vec<u32>,
}

impl Translation {
    /// The codes of the dictionary that was translated last.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The code of each entry of the dictionary.
    pub fn of(&mut self, codes: &ValueCodes, dictionary: &DictionaryArray<Int32Type>) -> Result<&[u32]> {
        let entries = dictionary.values();
        let known = self.entries.as_ref().is_some_and(|known| same(known, entries));
        if !known {
            self.codes.clear();
            let names = entries.as_string::<i32>();
            for i in 0..names.len() {
                // A null entry is not the value of any row: readers turn it into null rows.
                self.codes.push(if names.is_null(i) { u32::MAX } else { codes.code(names.value(i))? });
            }
            self.entries = Some(entries.clone());
        }
        Ok(&self.codes)
    }
}

/// Whether two arrays are the same memory.
fn same(a: &ArrayRef, b: &ArrayRef) -> bool {
    let (a, b) = (a.as_string::<i32>(), b.as_string::<i32>());
    a.len() == b.len()
        && a.value_data().as_ptr() == b.value_data().as_ptr()
        && a.value_offsets().as_ptr() == b.value_offsets().as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_cast::cast;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_are_packed_as_arrow_packs_them(values in prop::collection::vec(-3i64..40, 0..200)) {
            let array = Int64Array::from(values);
            let packed = dictionary_of_integers(&array);
            let expected = cast(&array, &dictionary_of(DataType::Int64)).unwrap();
            prop_assert_eq!(&(Arc::new(packed) as ArrayRef), &expected);
        }
    }
}
