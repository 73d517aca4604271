//! The values of a column by number.
//!
//! Values are distinguished by their text, as labels write it, so that tables of different formats agree.
//! Memory: the texts of the distinct values, at most 65,535 per column; a coder keeps 16 B per number seen.

use arrow_array::ArrayRef;
use hashbrown::HashMap;

use crate::encode::cells::{CellTexts, keys};
use crate::encode::column_values::{ColumnValues, ValueSet};
use crate::encode::scale::Scale;
use crate::encode::sensitive::SensitiveCoding;
use crate::error::{Error, Result};
use crate::table::ColumnKind;
use crate::table::read::Table;

/// A map whose order and hashes do not change from run to run.
pub(super) type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// The number of a value that a dictionary does not hold.
pub const UNKNOWN: u32 = u32::MAX;

/// The distinct values of a column with their numbers: null first, then in the order of the values.
#[derive(Debug, Clone, Default)]
pub struct Dictionary {
    codes: Map<Box<str>, u32>,
    null: Option<u32>,
    next: u32,
}

impl Dictionary {
    /// From the result of the first scan; `None` if there were too many values to keep.
    pub fn of(found: ColumnValues) -> Option<Self> {
        let mut dictionary = Dictionary::default();
        if found.nulls > 0 {
            dictionary.add(None);
        }
        match found.set {
            ValueSet::Numbers(scale, distinct) if distinct.is_exact() => {
                distinct.into_sorted().into_iter().for_each(|key| {
                    dictionary.add(Some(&scale.text(key)));
                });
            }
            ValueSet::Texts(distinct, _) if distinct.is_exact() => {
                distinct.into_sorted().iter().for_each(|text| {
                    dictionary.add(Some(text));
                });
            }
            _ => return None,
        }
        Some(dictionary)
    }

    /// From sensitive values, whose numbers are their codes.
    pub fn of_sensitive(sensitive: &SensitiveCoding) -> Self {
        let mut dictionary = Dictionary::default();
        sensitive.texts().iter().for_each(|text| {
            dictionary.add(Some(text));
        });
        dictionary.null = sensitive.null.map(u32::from);
        dictionary
    }

    /// The number of a value; a new one if it has none.
    pub fn add(&mut self, text: Option<&str>) -> u32 {
        if let Some(code) = self.code(text) {
            return code;
        }
        let code = self.next;
        self.next += 1;
        match text {
            Some(text) => {
                self.codes.insert(text.into(), code);
            }
            None => self.null = Some(code),
        }
        code
    }

    /// The number of a value; `None` represents null.
    pub fn code(&self, text: Option<&str>) -> Option<u32> {
        match text {
            Some(text) => self.codes.get(text).copied(),
            None => self.null,
        }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.next as usize
    }

    /// The text of every value by its number; `None` for null.
    pub fn texts(&self) -> Vec<Option<&str>> {
        let mut texts = vec![None; self.len()];
        self.codes.iter().for_each(|(text, &code)| texts[code as usize] = Some(&**text));
        texts
    }

    /// For each number the number of the same value in another dictionary, or [`UNKNOWN`].
    pub fn translated(&self, other: &Dictionary) -> Vec<u32> {
        self.texts().into_iter().map(|text| other.code(text).unwrap_or(UNKNOWN)).collect()
    }
}

/// Reads one column of a table as numbers of a dictionary.
pub struct Coder<'a> {
    dictionary: &'a Dictionary,
    name: &'a str,
    scale: Option<Scale>,
    seen: Map<i64, u32>,
}

impl<'a> Coder<'a> {
    /// For the column `name` of a table.
    pub fn new(dictionary: &'a Dictionary, table: &Table, name: &'a str) -> Result<Self> {
        let kind = table.kind(name)?;
        if matches!(kind, ColumnKind::List(_)) {
            return Err(Error::input(
                format!("column {name:?} holds lists, whose distributions are not defined"),
                "give a column with one value per row",
            ));
        }
        Ok(Coder { dictionary, name, scale: Scale::of(&kind), seen: Map::default() })
    }

    /// Appends the number of each row of a canonical column; [`UNKNOWN`] if it has none.
    pub fn codes(&mut self, array: &ArrayRef, into: &mut Vec<u32>) -> Result<()> {
        let dictionary = self.dictionary;
        let null = dictionary.null.unwrap_or(UNKNOWN);
        match self.scale {
            Some(scale) => {
                let keys = keys(array, scale, self.name)?;
                let seen = &mut self.seen;
                let mut code = |key: i64| {
                    *seen.entry(key).or_insert_with(|| {
                        dictionary.codes.get(scale.text(key).as_str()).copied().unwrap_or(UNKNOWN)
                    })
                };
                into.extend((0..keys.values.len()).map(|row| keys.get(row).map_or(null, &mut code)));
            }
            None => {
                let texts = CellTexts::new(array);
                let own = |text: Option<&str>| {
                    text.and_then(|text| dictionary.codes.get(text).copied()).unwrap_or(UNKNOWN)
                };
                let entries: Vec<u32> = texts.dictionary.iter().map(own).collect();
                into.extend((0..texts.rows()).map(|row| texts.entry(row).map_or(null, |at| entries[at])));
            }
        }
        Ok(())
    }
}

/// Reads rows of a table as numbers, one per column, each column by its own dictionary.
pub struct RowCoder<'a> {
    coders: Vec<Coder<'a>>,
    /// The numbers of the last batch, column by column.
    codes: Vec<Vec<u32>>,
}

impl<'a> RowCoder<'a> {
    /// For columns of a table, by their names.
    pub fn new(table: &Table, columns: impl IntoIterator<Item = (&'a str, &'a Dictionary)>) -> Result<Self> {
        let coders = columns.into_iter().map(|(name, own)| Coder::new(own, table, name));
        let coders: Vec<Coder<'a>> = coders.collect::<Result<_>>()?;
        let codes = vec![Vec::new(); coders.len()];
        Ok(RowCoder { coders, codes })
    }

    /// Reads a batch of the columns; a value without a number is an error.
    pub fn read(&mut self, arrays: &[ArrayRef]) -> Result<()> {
        for ((coder, codes), array) in self.coders.iter_mut().zip(&mut self.codes).zip(arrays) {
            codes.clear();
            coder.codes(array, codes)?;
            if codes.contains(&UNKNOWN) {
                return Err(changed());
            }
        }
        Ok(())
    }

    /// Copies the numbers of a row of the last batch.
    pub fn row(&self, row: usize, numbers: &mut [u32]) {
        numbers.iter_mut().zip(&self.codes).for_each(|(own, codes)| *own = codes[row]);
    }
}

/// The table holds something that it did not hold when it was read before.
pub(crate) fn changed() -> Error {
    Error::Changed { file: None, column: None }
}
