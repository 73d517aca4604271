//! Do the values of a column that is not published repeat as the ids of people do who have several rows?
//!
//! Memory: [`MOST_IDS`] hashes per column, some 200 KiB; beyond that a sample of the values is counted, which depends on
//! the set of the values alone.

use super::cells::{CellTexts, keys};
use super::scale::{Scale, key_float};
use crate::error::Result;
use crate::math::hash_sample::{HashSample, hash_text};
use crate::math::random::mix;
use crate::table::ColumnKind;
use arrow_array::ArrayRef;

/// The number of different values that are counted exactly.
const MOST_IDS: usize = 1 << 13;

/// The values of a column that is not published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdColumn {
    pub(super) name: String,
    pub(super) scale: Option<Scale>,
    /// Rows with a value.
    pub(super) rows: u64,
    /// Rows by the hash of their value.
    pub(super) counts: HashSample<u64, u64>,
    /// Whether every number is whole; others are measurements.
    pub(super) whole: bool,
}

/// What was found out about a column that is not published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatedIds {
    /// The column.
    pub name: String,
    /// Rows with a value.
    pub rows: u64,
    /// Different values; estimated if there are very many.
    pub values: u64,
    /// Values on several rows; estimated if there are very many values.
    pub repeated: u64,
}

impl IdColumn {
    /// A column of this kind; `None` if its values cannot be ids.
    pub fn new(name: &str, kind: &ColumnKind) -> Option<Self> {
        let scale = match kind {
            ColumnKind::Text => None,
            ColumnKind::Integer | ColumnKind::Float | ColumnKind::Decimal { .. } => Some(Scale::of(kind)?),
            _ => return None,
        };
        let counts = HashSample::new(MOST_IDS, usize::MAX);
        Some(IdColumn { name: name.to_string(), scale, rows: 0, counts, whole: true })
    }

    /// Observes a canonical column.
    pub fn observe(&mut self, array: &ArrayRef) -> Result<()> {
        let Some(scale) = self.scale else {
            let texts = CellTexts::new(array);
            let (used, _) = texts.used(None);
            for (entry, rows) in used.into_iter().enumerate().filter(|(_, rows)| *rows > 0) {
                self.add(hash_text(texts.dictionary.value(entry)), rows);
            }
            return Ok(());
        };
        let keys = keys(array, scale, &self.name)?;
        let present = || (0..keys.values.len()).filter_map(|row| keys.get(row));
        self.whole &= match scale {
            Scale::Float => present().all(|key| key_float(key).fract() == 0.0),
            Scale::Decimal(places) => {
                let unit = u32::try_from(places).ok().and_then(|places| 10i64.checked_pow(places));
                unit.is_none_or(|unit| present().all(|key| key % unit == 0))
            }
            _ => true,
        };
        present().for_each(|key| self.add(mix(key as u64), 1));
        Ok(())
    }

    #[inline]
    fn add(&mut self, hash: u64, rows: u64) {
        self.rows += rows;
        self.counts.upsert(hash, || rows, |own| *own += rows);
    }

    /// Adds what was found out about other rows; commutative and associative.
    pub fn merge(&mut self, other: IdColumn) {
        self.rows += other.rows;
        self.whole &= other.whole;
        self.counts.merge(other.counts, |own, other| *own += other);
    }

    /// What was found out; `None` if the values are measurements.
    pub fn finish(self) -> Option<RepeatedIds> {
        let times = 1u64.checked_shl(self.counts.level()).unwrap_or(u64::MAX);
        let entries = self.counts.entries();
        let repeated = entries.values().filter(|rows| **rows > 1).count() as u64;
        self.whole.then(|| RepeatedIds {
            name: self.name.clone(),
            rows: self.rows,
            values: (entries.len() as u64).saturating_mul(times).min(self.rows),
            repeated: repeated.saturating_mul(times).min(self.rows / 2),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Float64Array, Int64Array};
    use std::sync::Arc;

    fn found(kind: &ColumnKind, parts: &[ArrayRef]) -> Option<RepeatedIds> {
        let mut column = IdColumn::new("id", kind)?;
        parts.iter().for_each(|part| column.observe(part).unwrap());
        column.finish()
    }

    fn numbers(values: impl Iterator<Item = i64>) -> ArrayRef {
        Arc::new(values.collect::<Int64Array>())
    }

    #[test]
    fn few_values_are_counted_exactly() {
        let ids = found(&ColumnKind::Integer, &[numbers(0..100), numbers(50..60)]).unwrap();
        assert_eq!((ids.rows, ids.values, ids.repeated), (110, 100, 10));
        let texts: DictionaryArray<Int32Type> = ["a", "b", "a", "c"].into_iter().collect();
        let ids = found(&ColumnKind::Text, &[Arc::new(texts)]).unwrap();
        assert_eq!((ids.rows, ids.values, ids.repeated), (4, 3, 1));
    }

    #[test]
    fn many_values_are_estimated_in_any_order() {
        let all: Vec<i64> = (0..200_000).map(|i| i % 120_000).collect();
        let forwards = found(&ColumnKind::Integer, &[numbers(all.iter().copied())]).unwrap();
        let (low, high) = all.split_at(70_000);
        let backwards = [numbers(high.iter().rev().copied()), numbers(low.iter().rev().copied())];
        assert_eq!(found(&ColumnKind::Integer, &backwards).unwrap(), forwards);
        let part = |array: &ArrayRef| {
            let mut column = IdColumn::new("id", &ColumnKind::Integer).unwrap();
            column.observe(array).unwrap();
            column
        };
        let mut merged = part(&backwards[0]);
        merged.merge(part(&backwards[1]));
        assert_eq!(merged.finish().unwrap(), forwards);
        assert!(forwards.values.abs_diff(120_000) < 6_000, "{forwards:?}");
        assert!(forwards.repeated.abs_diff(80_000) < 6_000, "{forwards:?}");
    }

    #[test]
    fn measurements_and_dates_are_no_ids() {
        assert_eq!(found(&ColumnKind::Date, &[]), None);
        let floats = |values: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
        assert_eq!(found(&ColumnKind::Float, &[floats(vec![1.0, 2.5])]), None);
        assert!(found(&ColumnKind::Float, &[floats(vec![1.0, 2.0])]).is_some());
    }
}
