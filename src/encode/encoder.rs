//! Turns batches of rows into codes.
//!
//! Memory: per ordered column a [`CellTable`], if the budget allows. Without it, codes are found by bisection, which is
//! slower and gives the same codes.

use super::attribute::{Attribute, Coding, Leaves};
use super::cell_table::{CellTable, NO_CODE};
use super::cells::{CellKeys, CellTexts, keys};
use super::codes::Codes;
use super::combination::SensitiveColumns;
use super::grid::GridCell;
use super::page::Layout;
use super::rows::{Rows, Sensitive, end_list};
use super::scale::Scale;
use super::sensitive::{SensitiveCoding, SensitiveValues};
use super::source_columns::SourceBatch;
use crate::error::{Error, Result};
use crate::math::skyline::Values;
use crate::resources::budget::Budget;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray};
use std::ops::Range;
use std::sync::Arc;

/// Turns canonical columns into codes.
pub struct Encoder<'a> {
    attributes: &'a [Attribute],
    lookups: Vec<Lookup>,
    sensitive: &'a SensitiveColumns,
}

enum Lookup {
    Table(CellTable),
    Search,
}

impl<'a> Encoder<'a> {
    /// Creates an encoder for these columns, in their order, followed by the sensitive columns.
    pub fn new(attributes: &'a [Attribute], sensitive: &'a SensitiveColumns, budget: &Arc<Budget>) -> Self {
        let lookups = attributes.iter().map(|attribute| Lookup::new(attribute, budget)).collect();
        Encoder { attributes, lookups, sensitive }
    }

    /// Appends the codes of a batch, given its quasi-identifiers and its sensitive columns.
    pub fn append(&self, columns: &[ArrayRef], sensitive: &[ArrayRef], rows: &mut Rows) -> Result<()> {
        self.append_quasi(columns, &mut rows.columns)?;
        match &mut rows.sensitive {
            Sensitive::Single(codes) => self.append_single(sensitive, codes),
            Sensitive::Lists { lists, offsets, values } => {
                self.append_lists(sensitive, lists, offsets, values)
            }
        }
    }

    /// The codes of a batch.
    pub fn rows(&self, batch: &SourceBatch) -> Result<Rows> {
        let mut rows = Layout::of(self.attributes, self.sensitive).empty(batch.len());
        self.append(batch.quasi(), batch.sensitive(), &mut rows)?;
        Ok(rows)
    }

    /// The codes of a batch's quasi-identifiers alone.
    pub fn quasi_codes(&self, columns: &[ArrayRef]) -> Result<Vec<Codes>> {
        let room = |(attribute, array): (&Attribute, &ArrayRef)| {
            Codes::with_capacity(attribute.codes(), array.len())
        };
        let mut codes: Vec<Codes> = self.attributes.iter().zip(columns).map(room).collect();
        self.append_quasi(columns, &mut codes)?;
        Ok(codes)
    }

    /// Appends the codes of the quasi-identifiers of a batch.
    fn append_quasi(&self, columns: &[ArrayRef], rows: &mut [Codes]) -> Result<()> {
        let known = self.attributes.iter().zip(&self.lookups).zip(columns.iter().zip(rows));
        known
            .into_iter()
            .try_for_each(|((attribute, lookup), (array, codes))| encode(attribute, lookup, array, codes))
    }

    /// The sensitive codes of the rows of a table with one value per row and column: those of the single-valued columns
    /// together, if there are any, and then those of each column of which people have several rows, `None` for a row without
    /// a value.
    pub fn values_of_rows(&self, arrays: &[ArrayRef]) -> Result<Vec<Vec<Option<u16>>>> {
        let mut values = Vec::new();
        if self.sensitive.columns().iter().any(SensitiveCoding::is_single) {
            let mut codes = Codes::with_capacity(self.sensitive.len() as u32, arrays[0].len());
            self.append_single(arrays, &mut codes)?;
            values.push((0..codes.len()).map(|row| Some(codes.get(row))).collect());
        }
        for (place, column) in self.lists() {
            let own = sensitive_codes(column, &arrays[place])?.into_iter();
            values.push(own.map(|own| own.map(|own| self.sensitive.code_in_list(own, place))).collect());
        }
        Ok(values)
    }

    /// The columns of which a person may have several values, with their places.
    fn lists(&self) -> impl Iterator<Item = (usize, &SensitiveCoding)> {
        self.sensitive.columns().iter().enumerate().filter(|(_, column)| !column.is_single())
    }

    /// Appends the codes of the single-valued columns, of which there is at least one.
    fn append_single(&self, arrays: &[ArrayRef], codes: &mut Codes) -> Result<()> {
        let columns = self.sensitive.columns().iter().zip(arrays).filter(|(column, _)| column.is_single());
        let columns: Vec<(&SensitiveCoding, &ArrayRef)> = columns.collect();
        if let [(column, array)] = columns[..] {
            for code in sensitive_codes(column, array)? {
                codes.push(code.ok_or_else(|| Error::changed(&column.name))?);
            }
            return Ok(());
        }
        let values = columns.iter().map(|(column, array)| single_codes(column, array));
        let values: Vec<Vec<u16>> = values.collect::<Result<_>>()?;
        let mut own = vec![0; columns.len()];
        for row in 0..values.first().map_or(0, Vec::len) {
            own.iter_mut().zip(&values).for_each(|(own, values)| *own = values[row]);
            codes.push(self.sensitive.code(&own).ok_or_else(|| Error::changed(&columns[0].0.name))?);
        }
        Ok(())
    }

    /// Appends the codes of each row in ascending order: that of the single-valued columns, and those of the lists.
    fn append_lists(
        &self,
        arrays: &[ArrayRef],
        lists: &mut Vec<u32>,
        offsets: &mut Vec<u32>,
        values: &mut Vec<u16>,
    ) -> Result<()> {
        let rows = arrays[0].len();
        let mut single = Codes::with_capacity(self.sensitive.len() as u32, rows);
        if self.sensitive.columns().iter().any(SensitiveCoding::is_single) {
            self.append_single(arrays, &mut single)?;
        }
        let columns = self.lists().map(|(place, column)| ListCodes::new(column, place, &arrays[place]));
        let columns: Vec<ListCodes<'_>> = columns.collect::<Result<_>>()?;
        for row in 0..rows {
            if row < single.len() {
                values.push(single.get(row));
            }
            for column in &columns {
                let start = values.len();
                let own = column.items[column.of_row(row)].iter().flatten();
                values.extend(own.map(|&own| self.sensitive.code_in_list(own, column.place)));
                values[start..].sort_unstable();
                if column.per_person == Values::Set {
                    let mut own = values.split_off(start);
                    own.dedup();
                    values.extend(own);
                }
            }
            end_list(lists, offsets, values.len())?;
        }
        Ok(())
    }
}

/// A column of lists, with the codes of all its items.
struct ListCodes<'a> {
    place: usize,
    per_person: Values,
    list: &'a ListArray,
    items: Vec<Option<u16>>,
}

impl<'a> ListCodes<'a> {
    fn new(column: &SensitiveCoding, place: usize, array: &'a ArrayRef) -> Result<Self> {
        let list = array.as_list::<i32>();
        let ends = list.value_offsets();
        let (first, last) = (ends[0] as usize, ends[list.len()] as usize);
        let items = sensitive_codes(column, &list.values().slice(first, last - first))?;
        Ok(ListCodes { place, per_person: column.per_person, list, items })
    }

    /// The places of a row's items; none if the list is null.
    fn of_row(&self, row: usize) -> Range<usize> {
        let ends = self.list.value_offsets();
        let end = |row: usize| (ends[row] - ends[0]) as usize;
        if self.list.is_null(row) { 0..0 } else { end(row)..end(row + 1) }
    }
}

/// The sensitive code of each row or item; `None` for a null that has no meaning.
pub fn sensitive_codes(coding: &SensitiveCoding, array: &ArrayRef) -> Result<Vec<Option<u16>>> {
    match &coding.values {
        SensitiveValues::Numbers(scale, _) => {
            let keys = keys(array, *scale, &coding.name)?;
            let code = |row: usize| match keys.get(row) {
                None => Ok(coding.null),
                Some(key) => coding.number_code(key).map(Some).ok_or_else(|| Error::changed(&coding.name)),
            };
            (0..array.len()).map(code).collect()
        }
        SensitiveValues::Texts(_) if array.as_dictionary_opt::<arrow_array::types::Int32Type>().is_none() => {
            let kind = crate::table::ColumnKind::of(array.data_type());
            let scale = kind.and_then(|kind| Scale::of(&kind)).ok_or_else(|| Error::changed(&coding.name))?;
            let keys = keys(array, scale, &coding.name)?;
            let code = |row: usize| match keys.get(row) {
                None => Ok(coding.null),
                Some(key) => coding
                    .code_of_text(&scale.text(key))
                    .map(Some)
                    .ok_or_else(|| Error::changed(&coding.name)),
            };
            (0..array.len()).map(code).collect()
        }
        SensitiveValues::Texts(_) => {
            let texts = CellTexts::new(array);
            let entries: Vec<Option<u16>> =
                texts.dictionary.iter().map(|text| text.and_then(|text| coding.code_of_text(text))).collect();
            let code = |row: usize| match texts.entry(row) {
                None => Ok(coding.null),
                Some(entry) => entries[entry].map(Some).ok_or_else(|| Error::changed(&coding.name)),
            };
            (0..array.len()).map(code).collect()
        }
    }
}

/// The sensitive code of each row of a single-valued column.
pub fn single_codes(column: &SensitiveCoding, array: &ArrayRef) -> Result<Vec<u16>> {
    let codes = sensitive_codes(column, array)?.into_iter();
    codes.map(|code| code.ok_or_else(|| Error::changed(&column.name))).collect()
}

impl Lookup {
    fn new(attribute: &Attribute, budget: &Arc<Budget>) -> Lookup {
        let Coding::Numbers(ordered) = &attribute.coding else { return Lookup::Search };
        if attribute.codes() > u32::from(NO_CODE) {
            return Lookup::Search;
        }
        let table = CellTable::new(ordered.cells(), attribute.shifted(0), budget);
        table.map_or(Lookup::Search, Lookup::Table)
    }
}

/// Appends the codes of one column to `codes`.
pub fn append_codes(attribute: &Attribute, array: &ArrayRef, codes: &mut Codes) -> Result<()> {
    encode(attribute, &Lookup::Search, array, codes)
}

fn encode(attribute: &Attribute, lookup: &Lookup, array: &ArrayRef, codes: &mut Codes) -> Result<()> {
    let scale = match &attribute.coding {
        Coding::Numbers(ordered) => Some(ordered.scale()),
        Coding::Tree { leaves: Leaves::Key(scale, _) | Leaves::Day(scale, _), .. } => Some(*scale),
        _ => None,
    };
    match scale {
        Some(scale) => {
            let keys = keys(array, scale, &attribute.name)?;
            encode_keys(attribute, lookup, &keys, codes)
        }
        None => encode_texts(attribute, array, codes),
    }
}

fn encode_keys(attribute: &Attribute, lookup: &Lookup, keys: &CellKeys<'_>, codes: &mut Codes) -> Result<()> {
    if keys.nulls.is_some()
        && !attribute.nulls
        && keys.nulls.as_ref().is_some_and(|nulls| nulls.null_count() > 0)
    {
        return Err(Error::changed(&attribute.name));
    }
    match lookup {
        Lookup::Table(table) => {
            let mut missing = false;
            let mut code = |key: i64| {
                let code = table.code(key);
                missing |= code == NO_CODE;
                code
            };
            match (&keys.nulls, codes) {
                (None, Codes::Wide(codes)) => codes.extend(keys.values.iter().map(|&key| code(key))),
                (None, Codes::Narrow(codes)) => codes.extend(keys.values.iter().map(|&key| code(key) as u8)),
                (Some(_), codes) => {
                    (0..keys.values.len()).for_each(|row| codes.push(keys.get(row).map_or(0, &mut code)));
                }
            }
            if missing {
                return Err(Error::changed(&attribute.name));
            }
        }
        Lookup::Search => {
            let mut last: Option<(GridCell, u16)> = None;
            for row in 0..keys.values.len() {
                let code = match (keys.get(row), last) {
                    (None, _) => 0,
                    (Some(key), Some((cell, code))) if cell.holds(key) => code,
                    (Some(key), _) => {
                        let own = attribute.coding.number_code(key);
                        let own = own.ok_or_else(|| Error::changed(&attribute.name))?;
                        let cell = match &attribute.coding {
                            Coding::Numbers(ordered) => ordered.cells()[own as usize],
                            _ => GridCell { first: key, last: key },
                        };
                        let code = attribute.shifted(own) as u16;
                        last = Some((cell, code));
                        code
                    }
                };
                codes.push(code);
            }
        }
    }
    Ok(())
}

fn encode_texts(attribute: &Attribute, array: &ArrayRef, codes: &mut Codes) -> Result<()> {
    let texts = CellTexts::new(array);
    let entry_code = |text: Option<&str>| {
        text.and_then(|text| attribute.coding.text_code(text)).map(|code| attribute.shifted(code) as u16)
    };
    let entries: Vec<Option<u16>> = texts.dictionary.iter().map(entry_code).collect();
    for row in 0..texts.rows() {
        let code = match texts.entry(row) {
            None if attribute.nulls => Some(0),
            None => None,
            Some(entry) => entries[entry],
        };
        codes.push(code.ok_or_else(|| Error::changed(&attribute.name))?);
    }
    Ok(())
}
