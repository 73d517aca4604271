//! The people of a table as records, sorted by part.
//!
//! A person is a record of bytes: the part, the combination of known values, the sensitive value, the columns that
//! travel and the row number. Sorting the records brings parts together and gives everybody in a part an index that
//! depends only on content; among equal people, the one with the lower row number comes first.
//!
//! Memory: one batch per thread; the sorter holds the records.

use std::sync::{Mutex, PoisonError};

use super::parts::PartRange;
use crate::encode::page::Travelling;
use crate::encode::payload::Payload;
use crate::encode::source::{Source, SourceBatches};
use crate::error::{Error, Result};
use crate::math::random::mix;
use crate::model::Policy;
use crate::model::robust::RobustModel;
use crate::model::robust::census::Census;
use crate::model::robust::dictionary::{Dictionary, RowCoder, changed};
use crate::policy::Role;
use crate::resources::sorter::Sorter;
use crate::table::read::Table;

/// Bytes before and after the columns that travel.
const HEAD: usize = 10;
const TAIL: usize = 8;

/// The decoded record of a person.
#[derive(Debug, Clone, Copy)]
pub(super) struct PersonRecord<'a> {
    pub(super) part: u32,
    pub(super) combination: u32,
    pub(super) value: u16,
    pub(super) travelling: &'a [u8],
    pub(super) row: u64,
}

impl<'a> PersonRecord<'a> {
    pub(super) fn read(record: &'a [u8]) -> Self {
        let number = |bytes: &[u8]| bytes.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
        let (rest, row) = record.split_at(record.len() - TAIL);
        PersonRecord {
            part: number(&rest[..4]) as u32,
            combination: number(&rest[4..8]) as u32,
            value: number(&rest[8..HEAD]) as u16,
            travelling: &rest[HEAD..],
            row: number(row),
        }
    }

    pub(super) fn push(&self, sorter: &mut Sorter<'_>) -> Result<()> {
        sorter.push(&[&self.record()])
    }

    /// The bytes of the record.
    pub(super) fn record(&self) -> Vec<u8> {
        let (part, combination) = (self.part.to_be_bytes(), self.combination.to_be_bytes());
        let (value, row) = (self.value.to_be_bytes(), self.row.to_be_bytes());
        [&part[..], &combination, &value, self.travelling, &row].concat()
    }

    /// Assigns the person to a part.
    pub(super) fn dealt(self, places: &[PartRange]) -> Self {
        let PartRange { first, parts } = places[self.combination as usize];
        let part = if parts == 1 { first } else { first + (hash(self.travelling) % u64::from(parts)) as u32 };
        PersonRecord { part, ..self }
    }
}

/// A hash of bytes that is the same on every machine.
fn hash(bytes: &[u8]) -> u64 {
    let word = |chunk: &[u8]| chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks(8).fold(bytes.len() as u64, |hash, chunk| mix(hash ^ word(chunk)))
}

/// The columns of a table, by how they are used.
pub struct PersonColumns {
    /// The columns whose distributions the adversary knows.
    pub known: Vec<String>,
    /// The sensitive column.
    pub sensitive: String,
    /// The columns that are published unchanged.
    pub travelling: Vec<String>,
}

impl PersonColumns {
    /// Binds the columns of a table to the roles given in the policy.
    pub fn bind(table: &Table, policy: &Policy, robust: &RobustModel) -> Result<Self> {
        let names: Vec<&str> = table.schema().fields().iter().map(|field| field.name().as_str()).collect();
        let (mut sensitive, mut travelling) = (None, Vec::new());
        for (name, role) in names.iter().zip(policy.bind(&names)?) {
            match role {
                Role::Quasi(_) | Role::Keep => travelling.push(name.to_string()),
                Role::Sensitive(_) => sensitive = Some(name.to_string()),
                Role::Drop => {}
                Role::Individual | Role::Count => {
                    return Err(Error::input(
                        format!("column {name:?}: the model \"robust\" takes one row per person"),
                        "give a table with one row and one sensitive value per person",
                    ));
                }
            }
        }
        let sensitive = sensitive.ok_or_else(|| {
            Error::input("the policy names no sensitive column", "name one in columns.sensitive")
        })?;
        Ok(PersonColumns { known: crate::model::robust::known_columns(robust), sensitive, travelling })
    }
}

/// Reads the table once more and passes its people to the sorter, each with their part.
pub fn read_people(
    source: &Source<'_>,
    census: &Census,
    payload: &Payload,
    places: &[PartRange],
    sorter: &mut Sorter<'_>,
) -> Result<()> {
    let values = Dictionary::of_sensitive(&census.sensitive);
    let known = census.columns.len();
    let shared = Mutex::new(sorter);
    let work = |batches: SourceBatches<'_>| {
        let columns = census.columns.iter().map(String::as_str).zip(&census.dictionaries);
        let columns = columns.chain([(census.sensitive.name.as_str(), &values)]);
        let mut coder = RowCoder::new(source.table, columns)?;
        let mut payloads = Travelling::default();
        let mut key = vec![0; known + 1];
        let mut row = batches.first_row();
        let first = row;
        for batch in batches {
            let batch = batch?;
            coder.read(batch.judged())?;
            payloads.lengths.clear();
            payloads.bytes.clear();
            payload.append(batch.travelling(), &mut payloads.lengths, &mut payloads.bytes)?;
            let mut sorter = shared.lock().unwrap_or_else(PoisonError::into_inner);
            for (at, travelling) in payloads.rows().enumerate() {
                coder.row(at, &mut key);
                let combination = census.find(&key[..known]).ok_or_else(changed)?;
                let person = PersonRecord { part: 0, combination, value: key[known] as u16, travelling, row };
                person.dealt(places).push(&mut sorter)?;
                row += 1;
            }
        }
        Ok(row - first)
    };
    let mut rows = 0;
    source.scan("sorting people", work, |part| {
        rows += part;
        Ok(())
    })?;
    if rows == census.rows { Ok(()) } else { Err(changed()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::budget::Budget;
    use crate::resources::spill::Spill;

    #[test]
    fn records_come_back_in_the_order_of_parts_and_contents() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::create(folder.path()).unwrap();
        let mut sorter = Sorter::new(&Budget::new(1 << 20), &spill).unwrap();
        let person = |combination, value, travelling: &'static [u8], row| PersonRecord {
            part: 0,
            combination,
            value,
            travelling,
            row,
        };
        let places = [PartRange { first: 1, parts: 1 }, PartRange { first: 0, parts: 1 }];
        let people =
            [person(0, 1, b"b", 3), person(0, 1, b"b", 2), person(0, 0, b"c", 1), person(1, 9, b"z", 0)];
        people.iter().for_each(|person| person.dealt(&places).push(&mut sorter).unwrap());
        let mut rows = vec![];
        sorter
            .finish(|record| {
                let person = PersonRecord::read(record);
                rows.push((person.part, person.row, person.travelling.to_vec()));
                Ok(())
            })
            .unwrap();
        let expected: [(u32, u64, &[u8]); 4] = [(0, 0, b"z"), (1, 1, b"c"), (1, 2, b"b"), (1, 3, b"b")];
        assert!(rows.iter().map(|(part, row, bytes)| (*part, *row, &bytes[..])).eq(expected));
    }
}
