//! How often does each combination of known columns and sensitive value occur?
//!
//! Two scans of the table: one for the values, one to count. Memory: about 100 B per combination that occurs,
//! taken from the budget; if they do not fit, an error reports it. Invariant: numbers and order depend on the
//! values alone, not on the order of the rows.

use std::sync::{Mutex, PoisonError};

use super::dictionary::{Dictionary, Map, RowCoder};
use crate::encode::sensitive::SensitiveCoding;
use crate::encode::source::{Source, SourceBatches};
use crate::encode::source_columns::{SensitiveSource, SourceColumns};
use crate::error::{Error, Result};
use crate::math::skyline::Values;
use crate::policy::Quasi;
use crate::resources::Resources;
use crate::resources::budget::Reservation;
use crate::table::ColumnKind;
use crate::table::read::Table;

/// The columns of a table that are counted together.
#[derive(Debug, Clone)]
pub struct CountedColumns<'a> {
    /// The known columns.
    pub columns: &'a [String],
    /// The sensitive column.
    pub sensitive: &'a str,
    /// What a null in it means.
    pub null_is: Option<&'a str>,
}

/// The combinations of known values, and how often each sensitive value occurs with them.
#[derive(Debug)]
pub struct Census {
    /// The known columns.
    pub columns: Vec<String>,
    /// Their values.
    pub dictionaries: Vec<Dictionary>,
    /// The sensitive values.
    pub sensitive: SensitiveCoding,
    /// Rows of the table.
    pub rows: u64,
    /// (combination, sensitive value, rows), ascending.
    pub classes: Vec<(u32, u32, u32)>,
    /// The combinations one after another, ascending, one number per known column.
    combinations: Vec<u32>,
    /// The number of combinations, which may have no columns at all.
    count: usize,
    _room: Reservation,
}

/// Rows by combination and, last, sensitive value.
type Counts = Map<Box<[u32]>, u32>;

/// The bytes that a combination takes while it is counted and sorted, excluding its numbers.
const ENTRY_BYTES: u64 = 96;

impl Census {
    /// Reads a table twice.
    pub fn read(table: &Table, counted: &CountedColumns<'_>, resources: &Resources<'_>) -> Result<Self> {
        expect_no_lists(table, counted)?;
        let known: Vec<Quasi> = counted.columns.iter().map(Quasi::plain).collect();
        let column =
            SensitiveSource { name: counted.sensitive, null_is: counted.null_is, values: Values::Single };
        let columns = SourceColumns::of_people(known.iter().collect(), column);
        let source = Source { table, columns, resources };
        let (dictionaries, sensitive, rows) = values(&source)?;
        let mut room = resources.budget.reserve("counting known combinations", 0)?;
        let found = count(&source, &dictionaries, &sensitive, &mut room)?;
        let width = counted.columns.len();
        let mut found: Vec<(Box<[u32]>, u32)> = found.into_iter().collect();
        found.sort_unstable();
        let (mut combinations, mut classes, mut number) = (Vec::new(), Vec::with_capacity(found.len()), 0);
        for (key, rows) in found {
            let (codes, value) = key.split_at(width);
            let same = number > 0 && combinations[combinations.len() - width..] == *codes;
            if !same {
                combinations.extend_from_slice(codes);
                number += 1;
            }
            classes.push((number as u32 - 1, value[0], rows));
        }
        Ok(Census {
            columns: counted.columns.to_vec(),
            dictionaries,
            sensitive,
            rows,
            classes,
            combinations,
            count: number,
            _room: room,
        })
    }

    /// How many combinations occur.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The numbers of a combination, one per known column.
    pub fn combination(&self, at: usize) -> &[u32] {
        let width = self.columns.len();
        &self.combinations[at * width..(at + 1) * width]
    }

    /// The place of a combination.
    pub fn find(&self, codes: &[u32]) -> Option<u32> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            match self.combination(middle).cmp(codes) {
                std::cmp::Ordering::Equal => return Some(middle as u32),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// How many rows have each combination.
    pub fn weights(&self) -> Vec<u64> {
        let mut weights = vec![0; self.count];
        self.classes.iter().for_each(|&(at, _, rows)| weights[at as usize] += u64::from(rows));
        weights
    }

    /// How many rows have each sensitive value.
    pub fn value_counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.sensitive.len()];
        self.classes.iter().for_each(|&(_, value, rows)| counts[value as usize] += u64::from(rows));
        counts
    }
}

fn expect_no_lists(table: &Table, counted: &CountedColumns<'_>) -> Result<()> {
    for name in counted.columns.iter().map(String::as_str).chain([counted.sensitive]) {
        if matches!(table.kind(name)?, ColumnKind::List(_)) {
            return Err(Error::input(
                format!("column {name:?} holds lists, whose distributions are not defined"),
                "give a column with one value per row",
            ));
        }
    }
    Ok(())
}

/// The first scan: the values, and the number of rows.
fn values(source: &Source<'_>) -> Result<(Vec<Dictionary>, SensitiveCoding, u64)> {
    let found = source.find_values()?;
    let sensitive = source.sensitive_columns(found.sensitive)?.columns()[0].clone();
    let dictionary = |(quasi, found): (&Quasi, _)| {
        Dictionary::of(found).ok_or_else(|| {
            Error::input(
                format!(
                    "column {:?} has more than 65,535 different values, too many for distributions",
                    quasi.name
                ),
                "round its values first, or leave the column out of privacy.known",
            )
        })
    };
    let dictionaries = source.quasi().zip(found.quasi).map(dictionary).collect::<Result<_>>()?;
    Ok((dictionaries, sensitive, found.rows))
}

/// The second scan: how many rows have each combination of known values and sensitive value?
fn count(
    source: &Source<'_>,
    dictionaries: &[Dictionary],
    sensitive: &SensitiveCoding,
    room: &mut Reservation,
) -> Result<Counts> {
    let values = Dictionary::of_sensitive(sensitive);
    let width = dictionaries.len() + 1;
    let entry = ENTRY_BYTES + 8 * width as u64;
    let shared: Mutex<(Counts, &mut Reservation)> = Mutex::new((Map::default(), room));
    let work = |batches: SourceBatches<'_>| {
        let known = source.quasi().map(|quasi| quasi.name.as_str()).zip(dictionaries);
        let columns = known.chain([(sensitive.name.as_str(), &values)]);
        let mut coder = RowCoder::new(source.table, columns)?;
        let mut key = vec![0; width];
        for batch in batches {
            let batch = batch?;
            coder.read(batch.judged())?;
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let (map, room) = &mut *shared;
            for row in 0..batch.len() {
                coder.row(row, &mut key);
                match map.get_mut(&key[..]) {
                    Some(rows) => *rows = rows.checked_add(1).ok_or_else(too_many_rows)?,
                    None => {
                        map.insert(key.clone().into(), 1);
                    }
                }
            }
            let needed = map.len() as u64 * entry;
            if needed > room.bytes() {
                room.resize("counting known combinations", needed + needed / 4)?;
            }
        }
        Ok(())
    };
    source.scan("counting", work, |()| Ok(()))?;
    Ok(shared.into_inner().unwrap_or_else(PoisonError::into_inner).0)
}

fn too_many_rows() -> Error {
    Error::input("more than 4,294,967,295 rows agree in all known columns", "give the table in parts")
}
