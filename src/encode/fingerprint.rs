//! Is this the input of that run?
//!
//! A fingerprint is the sum of a keyed 128-bit hash (SipHash) of every row, so it does not depend on the order of the
//! rows or on how they are split into files, and parts of a table merge. The sum itself is never shown: it is sealed
//! with HMAC-SHA-256 under the same key. Whoever does not have the key sees a pseudorandom number: the difference of
//! two seals is not the hash of the rows that differ, and no guess about a row can be tested. Whoever has the key can
//! tell whether a table is the input, and two different inputs have the same sum with a probability of about 2^-128.
//!
//! It covers the columns that decide about groups: quasi-identifiers, sensitive columns, and the column that identifies
//! people or counts rows, in canonical form and in the order of their names.
//!
//! Memory: 16 bytes for each row of a batch and column that holds no numbers, and for each entry of its dictionaries.

use super::cells::{CellKeys, CellTexts, keys};
use super::scale::Scale;
use super::sip::{LANES, SipLanes, SipState};
use crate::error::{Error, Result};
use crate::table::ColumnKind;
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The secret under which inputs are fingerprinted; never printed.
pub struct FingerprintKey([u8; FingerprintKey::BYTES]);

impl FingerprintKey {
    /// The length of a key.
    pub const BYTES: usize = 32;

    /// A key of random bytes from the operating system.
    pub fn random() -> Result<Self> {
        let mut bytes = [0; Self::BYTES];
        fill_random(&mut bytes).map_err(|source| Error::io("the random numbers of the system", source))?;
        Ok(FingerprintKey(bytes))
    }

    /// The key with these bytes; `None` if there are more or fewer than [`Self::BYTES`].
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(FingerprintKey)
    }

    /// The bytes, to be stored in a private file.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Tells keys apart without revealing anything about them.
    pub fn name(&self) -> String {
        hex(&self.mac(b"skyveil: name of a key", &[])[..8])
    }

    /// A secret that follows from the key, for one purpose and message.
    pub fn mac(&self, purpose: &[u8], message: &[u8]) -> [u8; 32] {
        // HMAC fills a key up to a block of the hash with zeros.
        let mut block = [0; 64];
        block[..Self::BYTES].copy_from_slice(&self.0);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        // Purposes have no zero bytes, so no two of them continue into the same text.
        [purpose, &[0], message].iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    }
}

#[cfg(target_os = "linux")]
fn fill_random(bytes: &mut [u8]) -> std::io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn fill_random(bytes: &mut [u8]) -> std::io::Result<()> {
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, bytes)
}

/// Hashes the rows of a table.
pub struct RowHasher<'k> {
    key: &'k FingerprintKey,
    cells: CellHasher,
    /// The columns by name, each with its place in a batch.
    columns: Vec<(String, usize)>,
}

/// The rows of a table, or of a part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// Number of rows.
    pub rows: u64,
    /// The wrapping sum of the rows' hashes.
    pub(super) sum: u128,
}

impl Fingerprint {
    /// Adds other rows; commutative and associative.
    pub fn merge(&mut self, other: Fingerprint) {
        self.rows += other.rows;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

impl<'k> RowHasher<'k> {
    /// Hashes rows with these columns.
    pub fn new<'a>(key: &'k FingerprintKey, names: impl IntoIterator<Item = &'a str>) -> Self {
        let cells = CellHasher::new(key, b"skyveil: hash of a row");
        let mut columns: Vec<(String, usize)> = names.into_iter().map(str::to_string).zip(0..).collect();
        columns.sort();
        RowHasher { key, cells, columns }
    }

    /// The fingerprint of the rows of a batch, which begins with the columns in the order of [`RowHasher::new`].
    pub fn hash(&self, batch: &[ArrayRef], rows: usize) -> Result<Fingerprint> {
        let columns = self.columns.iter().map(|(name, place)| (name.as_str(), &batch[*place]));
        let mut sum = 0u128;
        self.cells.each_row(columns, rows, |hash| sum = sum.wrapping_add(hash))?;
        Ok(Fingerprint { rows: rows as u64, sum })
    }

    /// The fingerprint under HMAC-SHA-256, bound to the names of the columns and the number of rows.
    pub fn seal(&self, fingerprint: &Fingerprint) -> String {
        let mut message = Vec::new();
        for (name, _) in &self.columns {
            message.extend_from_slice(&(name.len() as u64).to_le_bytes());
            message.extend_from_slice(name.as_bytes());
        }
        message.extend_from_slice(&fingerprint.rows.to_le_bytes());
        message.extend_from_slice(&fingerprint.sum.to_le_bytes());
        hex(&self.key.mac(b"skyveil: fingerprint of an input", &message))
    }
}

/// Hashes cells of canonical columns under a key.
#[derive(Debug, Clone)]
pub struct CellHasher {
    /// The hash of no words yet.
    start: SipState,
}

impl CellHasher {
    /// Different purposes have unrelated hashes.
    pub fn new(key: &FingerprintKey, purpose: &[u8]) -> Self {
        let mac = key.mac(purpose, &[]);
        let word = |at: usize| mac[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        CellHasher { start: SipState::new(word(0), word(8)) }
    }

    /// The hash of each row of these columns, given with their names.
    pub fn rows<'a>(
        &self,
        columns: impl Iterator<Item = (&'a str, &'a ArrayRef)>,
        rows: usize,
    ) -> Result<Vec<u128>> {
        let mut hashes = Vec::with_capacity(rows);
        self.each_row(columns, rows, |hash| hashes.push(hash))?;
        Ok(hashes)
    }

    /// Passes the hash of each row to `sink`, in order. A number is one word; which numbers are missing is a bit for each
    /// column, one word for every 64 of them.
    fn each_row<'a>(
        &self,
        columns: impl Iterator<Item = (&'a str, &'a ArrayRef)>,
        rows: usize,
        mut sink: impl FnMut(u128),
    ) -> Result<()> {
        let columns: Vec<Words<'a>> =
            columns.map(|(name, array)| self.words(name, array)).collect::<Result<_>>()?;
        let (mut lanes, mut next, mut absent) = (SipLanes::EMPTY, [0; LANES], [0; LANES]);
        for first in (0..rows).step_by(LANES) {
            let chunk = first..rows.min(first + LANES);
            lanes.begin(self.start);
            absent.fill(0);
            for (place, words) in columns.iter().enumerate() {
                let bit = 1 << (place % 64);
                if place > 0 && bit == 1 {
                    lanes.absorb(&absent);
                    absent.fill(0);
                }
                match words {
                    Words::One(keys) => {
                        let values = next.iter_mut().zip(&keys.values[chunk.clone()]);
                        values.for_each(|(next, &key)| *next = key as u64);
                        if let Some(nulls) = &keys.nulls {
                            for (row, (next, absent)) in chunk.clone().zip(next.iter_mut().zip(&mut absent)) {
                                if nulls.is_null(row) {
                                    (*next, *absent) = (0, *absent | bit);
                                }
                            }
                        }
                        lanes.absorb(&next);
                    }
                    Words::Two(cells) => {
                        for half in 0..2 {
                            let cells = next.iter_mut().zip(&cells[chunk.clone()]);
                            cells.for_each(|(next, cell)| *next = cell[half]);
                            lanes.absorb(&next);
                        }
                    }
                }
            }
            lanes.absorb(&absent);
            lanes.finish(chunk.len(), &mut sink);
        }
        Ok(())
    }

    fn words<'a>(&self, name: &str, array: &'a ArrayRef) -> Result<Words<'a>> {
        match ColumnKind::of(array.data_type()).as_ref().and_then(Scale::of) {
            Some(scale) if !matches!(scale, Scale::Decimal(_)) => Ok(Words::One(keys(array, scale, name)?)),
            _ => Ok(Words::Two(self.cells(array, name)?)),
        }
    }

    /// Two words for each cell of a canonical column, different for different values.
    fn cells(&self, array: &ArrayRef, column: &str) -> Result<Vec<[u64; 2]>> {
        let kind = ColumnKind::of(array.data_type());
        let rows = 0..array.len();
        Ok(match (kind.as_ref().and_then(Scale::of), &kind) {
            (Some(Scale::Decimal(_)), _) => {
                let decimals = array.as_primitive::<Decimal128Type>();
                let words = |value: i128| [(value >> 64) as u64, value as u64];
                rows.map(|row| if decimals.is_null(row) { NULL } else { words(decimals.value(row)) })
                    .collect()
            }
            (Some(scale), _) => {
                let keys = keys(array, scale, column)?;
                rows.map(|row| keys.get(row).map_or(NULL, |key| [0, key as u64])).collect()
            }
            (None, Some(ColumnKind::List(_))) => {
                let lists = array.as_list::<i32>();
                let items = self.cells(lists.values(), column)?;
                let list = |row: usize| {
                    let range = lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize;
                    self.text(items[range].iter().flatten().flat_map(|word| word.to_le_bytes()))
                };
                rows.map(|row| if lists.is_null(row) { NULL } else { list(row) }).collect()
            }
            (None, _) => {
                let texts = CellTexts::new(array);
                let entries: Vec<[u64; 2]> = texts
                    .dictionary
                    .iter()
                    .map(|text| text.map_or(NULL, |text| self.text(text.bytes())))
                    .collect();
                rows.map(|row| texts.entry(row).map_or(NULL, |entry| entries[entry])).collect()
            }
        })
    }

    /// The hash of a text of any length.
    fn text(&self, bytes: impl Iterator<Item = u8>) -> [u64; 2] {
        let mut state = self.start;
        let (mut word, mut length) = (0u64, 0u64);
        for byte in bytes {
            word |= u64::from(byte) << (8 * (length % 8));
            length += 1;
            if length % 8 == 0 {
                state.absorb(std::mem::take(&mut word));
            }
        }
        state.absorb(word);
        state.absorb(length);
        let hash = state.finish();
        [(hash >> 64) as u64, hash as u64]
    }
}

/// What the rows of a column add to their hashes.
enum Words<'a> {
    /// Numbers, or nothing.
    One(CellKeys<'a>),
    /// See [`CellHasher::cells`].
    Two(Vec<[u64; 2]>),
}

/// A missing value. No number has these words: whole numbers begin with 0, decimals of 38 digits are smaller.
const NULL: [u64; 2] = [1 << 63, 0];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::{Int32Type, Int64Type};
    use arrow_array::{Decimal128Array, DictionaryArray, Float64Array, Int64Array, ListArray};
    use proptest::prelude::*;
    use std::sync::Arc;

    type Row = (Option<i64>, Option<String>);
    type Change = fn(&mut Vec<Row>);

    fn key(byte: u8) -> FingerprintKey {
        FingerprintKey::from_bytes(&[byte; 32]).unwrap()
    }

    fn columns(rows: &[Row]) -> Vec<ArrayRef> {
        let numbers: Int64Array = rows.iter().map(|row| row.0).collect();
        let texts: DictionaryArray<Int32Type> = rows.iter().map(|row| row.1.as_deref()).collect();
        vec![Arc::new(numbers), Arc::new(texts)]
    }

    fn of(rows: &[Row], key: &FingerprintKey) -> Fingerprint {
        RowHasher::new(key, ["n", "t"]).hash(&columns(rows), rows.len()).unwrap()
    }

    #[test]
    fn every_cell_the_key_and_the_names_count() {
        let rows = vec![(Some(1), Some("ab".to_string())), (None, None)];
        let (one, other) = (key(1), key(2));
        let seal = |rows: &[Row]| RowHasher::new(&one, ["n", "t"]).seal(&of(rows, &one));
        let own = seal(&rows);
        let changes: [Change; 6] = [
            |rows| rows[0].0 = Some(2),
            |rows| rows[0].1 = Some("abc".to_string()),
            |rows| rows[1].0 = Some(0),
            |rows| rows[1].1 = Some(String::new()),
            |rows| rows.push((None, None)),
            |rows| (rows[0].1, rows[1].1) = (rows[1].1.clone(), rows[0].1.clone()),
        ];
        for change in changes {
            let mut changed = rows.clone();
            change(&mut changed);
            assert_ne!(seal(&changed), own);
        }
        let sum = of(&rows, &one);
        assert_ne!(RowHasher::new(&one, ["n", "u"]).seal(&sum), own);
        assert_ne!(RowHasher::new(&other, ["n", "t"]).seal(&of(&rows, &other)), own);
        assert_ne!(one.name(), other.name());
        // Columns count by name, wherever they stand.
        let swapped: Vec<ArrayRef> = columns(&rows).into_iter().rev().collect();
        let hasher = RowHasher::new(&one, ["t", "n"]);
        assert_eq!(hasher.seal(&hasher.hash(&swapped, 2).unwrap()), own);
    }

    #[test]
    fn decimals_floats_and_lists_are_told_apart() {
        let key = key(3);
        let hasher = RowHasher::new(&key, ["c"]);
        let hash = |array: ArrayRef| hasher.hash(std::slice::from_ref(&array), array.len()).unwrap();
        let decimal = |value: Option<i128>| -> ArrayRef { Arc::new(Decimal128Array::from(vec![value])) };
        let mut seen = vec![hash(decimal(None)), hash(decimal(Some(1))), hash(decimal(Some(1 << 64)))];
        seen.extend([0.0, 1.0, 0.5].map(|value| hash(Arc::new(Float64Array::from(vec![value])))));
        let list = |items: &[i64]| -> ArrayRef {
            let items = Some(items.iter().map(|&item| Some(item)).collect::<Vec<_>>());
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([items]))
        };
        seen.extend([&[][..], &[1], &[1, 1], &[0]].map(|items| hash(list(items))));
        let different: std::collections::HashSet<u128> = seen.iter().map(|own| own.sum).collect();
        assert_eq!(different.len(), seen.len());
        assert_eq!(hash(Arc::new(Float64Array::from(vec![-0.0]))), seen[3]);
    }

    proptest! {
        #[test]
        fn parts_merge_in_any_order(
            rows in prop::collection::vec((any::<Option<i64>>(), prop::option::of("[a-c]{0,9}")), 0..40),
            cuts in (0usize..40, 0usize..40),
        ) {
            let (low, high) = (cuts.0.min(cuts.1).min(rows.len()), cuts.0.max(cuts.1).min(rows.len()));
            let key = key(7);
            let [a, b, c] = [&rows[..low], &rows[low..high], &rows[high..]].map(|part| of(part, &key));
            let merged = |mut one: Fingerprint, other: Fingerprint| {
                one.merge(other);
                one
            };
            let whole = of(&rows, &key);
            prop_assert_eq!(merged(merged(a, b), c), whole);
            prop_assert_eq!(merged(c, merged(b, a)), whole);
            prop_assert_eq!(merged(a, merged(b, c)), whole);
        }
    }
}
