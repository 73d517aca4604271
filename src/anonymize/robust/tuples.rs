//! Which people are similar, and in which order do they stand?
//!
//! A person is a record of bytes: the part, the combination of known values, the sensitive value, the columns that
//! travel and the number of the row. Sorting the records brings parts together and gives everybody in a part an index
//! that depends on content alone; of equal people the one with the lower row number comes first.
//!
//! Memory: one batch per thread; the records are the sorter's.

use std::sync::{Mutex, PoisonError};

use super::Columns;
use crate::anonymize::Job;
use crate::encode::payload::Payload;
use crate::error::Result;
use crate::math::random::mix;
use crate::math::robust::Place;
use crate::model::robust::census::{Census, changed};
use crate::model::robust::dictionary::{Coder, Dictionary, UNKNOWN};
use crate::resources::sorter::Sorter;
use crate::table::read::{Column, Morsel};

/// Bytes before and after the columns that travel.
const HEAD: usize = 10;
const TAIL: usize = 8;

/// A person as a record holds it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Person<'a> {
    pub(super) part: u32,
    pub(super) combination: u32,
    pub(super) value: u16,
    pub(super) travelling: &'a [u8],
    pub(super) row: u64,
}

impl<'a> Person<'a> {
    pub(super) fn read(record: &'a [u8]) -> Self {
        let number = |bytes: &[u8]| bytes.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
        let (rest, row) = record.split_at(record.len() - TAIL);
        Person {
            part: number(&rest[..4]) as u32,
            combination: number(&rest[4..8]) as u32,
            value: number(&rest[8..HEAD]) as u16,
            travelling: &rest[HEAD..],
            row: number(row),
        }
    }

    pub(super) fn push(&self, sorter: &mut Sorter<'_>) -> Result<()> {
        let (part, combination) = (self.part.to_be_bytes(), self.combination.to_be_bytes());
        let (value, row) = (self.value.to_be_bytes(), self.row.to_be_bytes());
        sorter.push(&[&part, &combination, &value, self.travelling, &row])
    }

    /// The part to which the person is dealt out.
    pub(super) fn dealt(self, places: &[Place]) -> Self {
        let Place { first, parts } = places[self.combination as usize];
        let part = if parts == 1 { first } else { first + (hash(self.travelling) % u64::from(parts)) as u32 };
        Person { part, ..self }
    }
}

/// A hash of bytes that is the same everywhere.
fn hash(bytes: &[u8]) -> u64 {
    let word = |chunk: &[u8]| chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks(8).fold(bytes.len() as u64, |hash, chunk| mix(hash ^ word(chunk)))
}

/// Reads the table once more and hands its people to the sorter, each in its part.
pub(super) fn read(
    job: &Job<'_>,
    columns: &Columns,
    census: &Census,
    payload: &Payload,
    places: &[Place],
    sorter: &mut Sorter<'_>,
) -> Result<()> {
    let values = Dictionary::of_sensitive(&census.sensitive);
    let known = columns.known.len();
    let mut wanted: Vec<Column> = columns.known.iter().map(Column::canonical).collect();
    wanted.push(Column::canonical(&columns.sensitive));
    wanted.extend(columns.travelling.iter().map(Column::as_is));
    let shared = Mutex::new(sorter);
    job.progress.start("sorting people", job.table.rows());
    let work = |morsel: Morsel<'_>| {
        let names = columns.known.iter().chain([&columns.sensitive]);
        let own = census.dictionaries.iter().chain([&values]);
        let mut coders: Vec<Coder<'_>> =
            own.zip(names).map(|(own, name)| Coder::new(own, job.table, name)).collect::<Result<_>>()?;
        let mut codes: Vec<Vec<u32>> = vec![Vec::new(); known + 1];
        let (mut lengths, mut bytes, mut key) = (Vec::new(), Vec::new(), vec![0; known]);
        let mut row = morsel.first_row();
        let first = row;
        for batch in morsel {
            let batch = batch?;
            for ((coder, codes), array) in coders.iter_mut().zip(&mut codes).zip(batch.columns()) {
                codes.clear();
                coder.codes(array, codes)?;
            }
            lengths.clear();
            bytes.clear();
            payload.append(&batch.columns()[known + 1..], &mut lengths, &mut bytes)?;
            let mut rest = &bytes[..];
            let mut sorter = shared.lock().unwrap_or_else(PoisonError::into_inner);
            for (at, &length) in lengths.iter().enumerate() {
                let (travelling, after) = rest.split_at(length as usize);
                rest = after;
                key.iter_mut().zip(&codes).for_each(|(own, codes)| *own = codes[at]);
                let (combination, value) = (census.find(&key).ok_or_else(changed)?, codes[known][at]);
                if value == UNKNOWN {
                    return Err(changed());
                }
                let person = Person { part: 0, combination, value: value as u16, travelling, row };
                person.dealt(places).push(&mut sorter)?;
                row += 1;
            }
            job.progress.advance(batch.num_rows() as u64);
        }
        Ok(row - first)
    };
    let mut rows = 0;
    job.table.scan(&wanted, job.threads, work, |part| {
        rows += part;
        Ok(())
    })?;
    job.progress.finish();
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
        let person = |combination, value, travelling: &'static [u8], row| Person {
            part: 0,
            combination,
            value,
            travelling,
            row,
        };
        let places = [Place { first: 1, parts: 1 }, Place { first: 0, parts: 1 }];
        let people =
            [person(0, 1, b"b", 3), person(0, 1, b"b", 2), person(0, 0, b"c", 1), person(1, 9, b"z", 0)];
        people.iter().for_each(|person| person.dealt(&places).push(&mut sorter).unwrap());
        let mut rows = vec![];
        sorter
            .finish(|record| {
                let person = Person::read(record);
                rows.push((person.part, person.row, person.travelling.to_vec()));
                Ok(())
            })
            .unwrap();
        let expected: [(u32, u64, &[u8]); 4] = [(0, 0, b"z"), (1, 1, b"c"), (1, 2, b"b"), (1, 3, b"b")];
        assert!(rows.iter().map(|(part, row, bytes)| (*part, *row, &bytes[..])).eq(expected));
    }
}
