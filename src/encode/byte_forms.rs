//! The values of the first stages as bytes: what a table holds, and its rows as codes.
//!
//! Invariant: what is read back is a value that these stages could have made. A sample keeps to its bounds, a list of codes
//! ends where its rows end.

use super::codes::Codes;
use super::column_values::{ColumnValues, ValueSet};
use super::combination::CombinationsFound;
use super::distinct::DistinctValues;
use super::fingerprint::Fingerprint;
use super::page::{Layout, Lists, Page, Travelling};
use super::repeated_ids::IdColumn;
use super::rows::{Rows, Sensitive};
use super::scale::Scale;
use super::source_columns::TableValues;
use crate::math::hash_sample::{HashSample, SampleKey};
use crate::resources::byte_form::{ByteForm, ByteReader, Parcel, read_bytes, write_bytes, write_count};
use arrow_schema::TimeUnit;

impl ByteForm for Scale {
    fn write(&self, bytes: &mut Vec<u8>) {
        let (kind, further) = match self {
            Scale::Integer => (0, 0),
            Scale::Boolean => (1, 0),
            Scale::Float => (2, 0),
            Scale::Decimal(places) => (3, *places),
            Scale::Date => (4, 0),
            Scale::Timestamp(TimeUnit::Second) => (5, 0),
            Scale::Timestamp(TimeUnit::Millisecond) => (5, 1),
            Scale::Timestamp(TimeUnit::Microsecond) => (5, 2),
            Scale::Timestamp(TimeUnit::Nanosecond) => (5, 3),
            Scale::Time => (6, 0),
        };
        (kind as u8).write(bytes);
        further.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        match (u8::read(bytes)?, i8::read(bytes)?) {
            (0, 0) => Some(Scale::Integer),
            (1, 0) => Some(Scale::Boolean),
            (2, 0) => Some(Scale::Float),
            (3, places) => Some(Scale::Decimal(places)),
            (4, 0) => Some(Scale::Date),
            (5, 0) => Some(Scale::Timestamp(TimeUnit::Second)),
            (5, 1) => Some(Scale::Timestamp(TimeUnit::Millisecond)),
            (5, 2) => Some(Scale::Timestamp(TimeUnit::Microsecond)),
            (5, 3) => Some(Scale::Timestamp(TimeUnit::Nanosecond)),
            (6, 0) => Some(Scale::Time),
            _ => None,
        }
    }
}

impl<K: SampleKey + ByteForm + Ord, V: ByteForm> ByteForm for HashSample<K, V> {
    fn write(&self, bytes: &mut Vec<u8>) {
        let (most_keys, most_bytes) = self.bounds();
        (most_keys as u64).write(bytes);
        (most_bytes as u64).write(bytes);
        self.level().write(bytes);
        let mut entries: Vec<(&K, &V)> = self.entries().iter().collect();
        entries.sort_unstable_by(|one, other| one.0.cmp(other.0));
        write_count(entries.len(), bytes);
        for (key, value) in entries {
            key.write(bytes);
            value.write(bytes);
        }
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let (most_keys, most_bytes) = (u64::read(bytes)? as usize, u64::read(bytes)? as usize);
        let level = u32::read(bytes)?;
        HashSample::restored(most_keys, most_bytes, level, Vec::<(K, V)>::read(bytes)?)
    }
}

/// Nothing besides the key.
impl ByteForm for () {
    fn write(&self, _: &mut Vec<u8>) {}

    fn read(_: &mut ByteReader<'_>) -> Option<Self> {
        Some(())
    }
}

impl<K: SampleKey + ByteForm + Ord> ByteForm for DistinctValues<K> {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.sample().write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        HashSample::read(bytes).and_then(DistinctValues::of_sample)
    }
}

impl ByteForm for ColumnValues {
    fn write(&self, bytes: &mut Vec<u8>) {
        match &self.set {
            ValueSet::Numbers(scale, distinct) => {
                0u8.write(bytes);
                scale.write(bytes);
                distinct.write(bytes);
            }
            ValueSet::Texts(distinct, frequencies) => {
                1u8.write(bytes);
                distinct.write(bytes);
                frequencies.write(bytes);
            }
        }
        [self.nulls, self.uncovered, self.outside].iter().for_each(|count| count.write(bytes));
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let set = match u8::read(bytes)? {
            0 => ValueSet::Numbers(Scale::read(bytes)?, DistinctValues::read(bytes)?),
            1 => ValueSet::Texts(DistinctValues::read(bytes)?, ByteForm::read(bytes)?),
            _ => return None,
        };
        let (nulls, uncovered, outside) = (u64::read(bytes)?, u64::read(bytes)?, u64::read(bytes)?);
        Some(ColumnValues { set, nulls, uncovered, outside })
    }
}

impl ByteForm for IdColumn {
    fn write(&self, bytes: &mut Vec<u8>) {
        let IdColumn { name, scale, rows, counts, whole } = self;
        name.write(bytes);
        scale.write(bytes);
        rows.write(bytes);
        counts.write(bytes);
        whole.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some(IdColumn {
            name: String::read(bytes)?,
            scale: ByteForm::read(bytes)?,
            rows: u64::read(bytes)?,
            counts: HashSample::read(bytes)?,
            whole: bool::read(bytes)?,
        })
    }
}

impl ByteForm for TableValues {
    fn write(&self, bytes: &mut Vec<u8>) {
        let TableValues { rows, people, wrong_counts, quasi, sensitive, ids } = self;
        [rows, people, wrong_counts].iter().for_each(|count| count.write(bytes));
        quasi.write(bytes);
        sensitive.write(bytes);
        ids.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some(TableValues {
            rows: u64::read(bytes)?,
            people: u64::read(bytes)?,
            wrong_counts: u64::read(bytes)?,
            quasi: ByteForm::read(bytes)?,
            sensitive: ByteForm::read(bytes)?,
            ids: ByteForm::read(bytes)?,
        })
    }
}

impl Parcel for TableValues {
    const KIND: u8 = 1;
    const NAME: &'static str = "the values of a table";
}

impl ByteForm for CombinationsFound {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.sorted().write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Option::<Vec<Box<[u16]>>>::read(bytes).map(CombinationsFound::of_sorted)
    }
}

impl Parcel for CombinationsFound {
    const KIND: u8 = 2;
    const NAME: &'static str = "the combinations of sensitive values";
}

impl ByteForm for Fingerprint {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.rows.write(bytes);
        self.sum.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some(Fingerprint { rows: u64::read(bytes)?, sum: u128::read(bytes)? })
    }
}

impl ByteForm for Codes {
    fn write(&self, bytes: &mut Vec<u8>) {
        matches!(self, Codes::Wide(_)).write(bytes);
        write_count(self.len(), bytes);
        match self {
            Codes::Narrow(codes) => bytes.extend_from_slice(codes),
            Codes::Wide(codes) => codes.iter().for_each(|code| code.write(bytes)),
        }
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        if bool::read(bytes)? {
            return wide(bytes).map(Codes::Wide);
        }
        let count = bytes.count(1)?;
        Some(Codes::Narrow(bytes.take(count)?.to_vec()))
    }
}

/// Numbers of two bytes.
fn wide(bytes: &mut ByteReader<'_>) -> Option<Vec<u16>> {
    let count = bytes.count(2)?;
    let pairs = bytes.take(2 * count)?.chunks_exact(2);
    Some(pairs.map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect())
}

/// Numbers of four bytes.
fn wider(bytes: &mut ByteReader<'_>) -> Option<Vec<u32>> {
    let count = bytes.count(4)?;
    let words = bytes.take(4 * count)?.chunks_exact(4);
    Some(words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
}

impl ByteForm for Page {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.rows.columns.write(bytes);
        match &self.rows.sensitive {
            Sensitive::Single(codes) => {
                0u8.write(bytes);
                codes.write(bytes);
            }
            Sensitive::Lists { lists, offsets, values } => {
                1u8.write(bytes);
                lists.write(bytes);
                offsets.write(bytes);
                values.write(bytes);
            }
        }
        self.payload.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let columns = Vec::<Codes>::read(bytes)?;
        let sensitive = match u8::read(bytes)? {
            0 => Sensitive::Single(Codes::read(bytes)?),
            1 => Sensitive::Lists { lists: wider(bytes)?, offsets: wider(bytes)?, values: wide(bytes)? },
            _ => return None,
        };
        Some(Page { rows: Rows { columns, sensitive }, payload: Travelling::read(bytes)? })
    }
}

impl ByteForm for Travelling {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.lengths.write(bytes);
        write_bytes(&self.bytes, bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let travelling = Travelling { lengths: wider(bytes)?, bytes: read_bytes(bytes)? };
        let length: u64 = travelling.lengths.iter().map(|&length| u64::from(length)).sum();
        (length == travelling.bytes.len() as u64).then_some(travelling)
    }
}

impl Page {
    /// Whether the page has this layout: its columns, their codes, and a payload for each row if columns travel.
    pub fn fits(&self, layout: &Layout, travels: Travels) -> bool {
        let (rows, Page { rows: own, payload }) = (self.rows.len(), self);
        let holds = |codes: &Codes, many: u32| {
            let narrow = matches!(codes, Codes::Narrow(_));
            codes.len() == rows && narrow == (many <= 256) && codes.highest().is_none_or(|code| code < many)
        };
        let columns = own.columns.len() == layout.columns.len()
            && own.columns.iter().zip(&layout.columns).all(|(codes, &many)| holds(codes, many));
        let sensitive = match (&own.sensitive, layout.lists) {
            (Sensitive::Single(codes), Lists::One) => holds(codes, layout.values),
            (Sensitive::Lists { lists, offsets, values }, Lists::Many) => {
                let many = offsets.len().saturating_sub(1);
                offsets.first() == Some(&0)
                    && offsets.is_sorted()
                    && offsets.last().is_some_and(|&end| end as usize == values.len())
                    && lists.iter().all(|&list| (list as usize) < many)
                    && values.iter().all(|&value| u32::from(value) < layout.values)
            }
            _ => false,
        };
        let expected = if travels == Travels::Something { rows } else { 0 };
        columns && sensitive && payload.lengths.len() == expected
    }
}

/// Whether columns travel with their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Travels {
    /// Some do.
    Something,
    /// None does.
    Nothing,
}

/// A page, and the fingerprint of the rows of the table that it was made from.
#[derive(Debug)]
pub struct CodedPage {
    /// The rows as codes.
    pub page: Page,
    /// The rows that were read.
    pub fingerprint: Fingerprint,
}

impl ByteForm for CodedPage {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.fingerprint.write(bytes);
        self.page.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let fingerprint = Fingerprint::read(bytes)?;
        Some(CodedPage { page: Page::read(bytes)?, fingerprint })
    }
}

impl Parcel for CodedPage {
    const KIND: u8 = 3;
    const NAME: &'static str = "a page of rows";
}
