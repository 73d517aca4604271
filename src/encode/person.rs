//! Who is in a row, and which value do they have, as only the owner of a key can tell?
//!
//! A mark is a keyed hash of a person and a keyed tag of their sensitive values. It travels with the row of the person
//! until the group is known, and goes to the ledger; it is never published.

use super::fingerprint::{CellHasher, FingerprintKey};
use crate::error::{Error, Result, number_of};
use arrow_array::{Array, ArrayRef};

/// Bytes of the hash of a person.
pub const PERSON_BYTES: usize = 16;

/// Bytes of a mark: the person, and then 8 for the values.
pub const MARK_BYTES: usize = PERSON_BYTES + 8;

/// A keyed tag of the values of a row.
pub type ValueTag = [u8; MARK_BYTES - PERSON_BYTES];

/// The person of a row and the values of the row.
pub type PersonMark = [u8; MARK_BYTES];

/// Marks the rows of a table.
#[derive(Debug, Clone)]
pub struct PersonMarker {
    column: String,
    person: CellHasher,
    value: CellHasher,
    /// The sensitive columns by name, each with its place among them.
    sensitive: Vec<(String, usize)>,
}

impl PersonMarker {
    /// For the people whom `column` names, with these sensitive columns.
    pub fn new<'a>(
        key: &FingerprintKey,
        column: &str,
        sensitive: impl IntoIterator<Item = &'a str>,
    ) -> PersonMarker {
        let mut sensitive: Vec<(String, usize)> =
            sensitive.into_iter().map(str::to_string).zip(0..).collect();
        sensitive.sort();
        PersonMarker {
            column: column.to_string(),
            person: CellHasher::new(key, b"skyveil: a person in a ledger"),
            value: CellHasher::new(key, b"skyveil: a value in a ledger"),
            sensitive,
        }
    }

    /// The hash of each person of a canonical column.
    pub fn people(&self, person: &ArrayRef) -> Result<Vec<[u8; PERSON_BYTES]>> {
        let missing = person.null_count() as u64;
        if missing > 0 {
            return Err(Error::input(
                format!(
                    "column `{}` names people, and is null in {}",
                    self.column,
                    number_of(missing, "row", "rows")
                ),
                "fill it, or remove these rows",
            ));
        }
        // The column has one name here, so that a file of people may call it otherwise.
        let hashes = self.person.rows([("person", person)].into_iter(), person.len())?;
        Ok(hashes.into_iter().map(u128::to_be_bytes).collect())
    }

    /// The marks of rows, given the canonical columns of the person and of the sensitive values.
    pub fn marks(&self, person: &ArrayRef, sensitive: &[ArrayRef]) -> Result<Vec<PersonMark>> {
        let people = self.people(person)?;
        let tags = self.tags(sensitive, person.len())?;
        let mark = |(person, tag): ([u8; PERSON_BYTES], ValueTag)| {
            let mut mark = [0; MARK_BYTES];
            mark[..PERSON_BYTES].copy_from_slice(&person);
            mark[PERSON_BYTES..].copy_from_slice(&tag);
            mark
        };
        Ok(people.into_iter().zip(tags).map(mark).collect())
    }

    /// The tags of the sensitive values of rows, given their canonical columns.
    pub fn tags(&self, sensitive: &[ArrayRef], rows: usize) -> Result<Vec<ValueTag>> {
        let values = self.sensitive.iter().map(|(name, place)| (name.as_str(), &sensitive[*place]));
        let tags = self.value.rows(values, rows)?;
        Ok(tags.into_iter().map(|tag| (tag as u64).to_be_bytes()).collect())
    }
}
