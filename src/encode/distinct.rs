//! The distinct values of a column, or a sample of them.
//!
//! All values are kept as long as there are at most [`MOST`] of them (and texts take at most [`MOST_TEXT_BYTES`] in
//! total). Beyond that a [`HashSample`] is kept, which is the same for any order of the rows and any number of threads.
//!
//! Memory: at most 2 x [`MOST`] slots of 9 bytes for numbers; for texts, the bytes above plus 24 per text.

use crate::math::hash_sample::{HashSample, SampleKey, hash_text};

/// The number of values that fit in two bytes, leaving one code for null.
pub const MOST: usize = 65_535;

/// Total size of all texts of a column.
pub const MOST_TEXT_BYTES: usize = 4 << 20;

/// The distinct values of a column, or a sample of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistinctValues<K: SampleKey>(HashSample<K, ()>);

impl<K: SampleKey> Default for DistinctValues<K> {
    fn default() -> Self {
        DistinctValues(HashSample::new(MOST, MOST_TEXT_BYTES))
    }
}

impl<K: SampleKey + Ord> DistinctValues<K> {
    /// Whether a value with this hash would be kept.
    #[inline]
    pub fn samples(&self, hash: u64) -> bool {
        self.0.samples(hash)
    }

    /// Whether all values are present.
    pub fn is_exact(&self) -> bool {
        self.0.is_exact()
    }

    /// Number of values held.
    pub fn len(&self) -> usize {
        self.0.entries().len()
    }

    /// The bytes that the values take: a slot each, and their texts.
    pub fn memory(&self) -> u64 {
        (self.0.entries().capacity() * 8 / 7 * (size_of::<K>() + 1) + self.0.bytes() + self.0.bytes() / 4)
            as u64
    }

    /// Whether no value was seen.
    pub fn is_empty(&self) -> bool {
        self.0.entries().is_empty()
    }

    /// Adds a value.
    pub fn insert(&mut self, key: K) {
        self.0.upsert(key, || (), |()| ());
    }

    /// Adds the values of another part of the column; commutative and associative.
    pub fn merge(&mut self, other: DistinctValues<K>) {
        self.0.merge(other.0, |(), ()| ());
    }

    /// The values in ascending order.
    pub fn into_sorted(self) -> Vec<K> {
        let mut keys: Vec<K> = self.0.into_entries().into_keys().collect();
        keys.sort_unstable();
        keys
    }
}

impl<K: SampleKey> DistinctValues<K> {
    /// The values as a sample.
    pub(super) fn sample(&self) -> &HashSample<K, ()> {
        &self.0
    }

    /// The values of a sample; `None` if it has other bounds.
    pub(super) fn of_sample(sample: HashSample<K, ()>) -> Option<Self> {
        (sample.bounds() == (MOST, MOST_TEXT_BYTES)).then_some(DistinctValues(sample))
    }
}

impl DistinctValues<Box<str>> {
    /// The bytes of the texts held. A sample has more than a quarter of [`MOST_TEXT_BYTES`] if it was their length that
    /// left no room for all.
    pub fn text_bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Adds a text, without copying it if it is already present or not sampled.
    pub fn insert_text(&mut self, text: &str) {
        if self.samples(hash_text(text)) && !self.0.entries().contains_key(text) {
            self.insert(text.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(values: impl Iterator<Item = i64>) -> (bool, Vec<i64>) {
        let mut distinct = DistinctValues::default();
        values.for_each(|value| distinct.insert(value));
        (distinct.is_exact(), distinct.into_sorted())
    }

    #[test]
    fn few_values_are_all_kept() {
        let (exact, values) = collect((0..100_000).map(|i| i % MOST as i64));
        assert!(exact);
        assert_eq!(values.len(), MOST);
    }

    #[test]
    fn a_sample_does_not_depend_on_the_order() {
        let forwards = collect(0..200_000);
        let backwards = collect((0..200_000).rev());
        let repeated = collect((0..400_000).map(|i| (i * 7) % 200_000));
        assert!(!forwards.0);
        assert!(forwards.1.len() > MOST / 3, "{}", forwards.1.len());
        assert_eq!(forwards, backwards);
        assert_eq!(forwards, repeated);
    }

    #[test]
    fn samples_merge_into_the_sample_of_the_whole() {
        let part = |range: std::ops::Range<i64>| {
            let mut distinct = DistinctValues::default();
            range.for_each(|value| distinct.insert(value));
            distinct
        };
        let whole = part(0..300_000);
        // Parts of different sizes, and so of different levels, that overlap.
        let parts = [part(0..20_000), part(10_000..250_000), part(100_000..300_000)];
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let mut merged = DistinctValues::default();
            order.iter().for_each(|&at| merged.merge(parts[at].clone()));
            assert!(merged == whole);
        }
        let [first, mut second, third] = parts;
        second.merge(third);
        let mut nested = first;
        nested.merge(second);
        assert!(nested == whole);
    }

    #[test]
    fn long_texts_are_bounded_too() {
        let mut distinct = DistinctValues::default();
        for i in 0..20_000 {
            distinct.insert_text(&format!("{i}{}", "x".repeat(1000)));
        }
        assert!(!distinct.is_exact());
        assert!(distinct.0.bytes() <= MOST_TEXT_BYTES && distinct.len() > 1000);
    }
}
