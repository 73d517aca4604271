//! Which values does a column have?
//!
//! All of them while they are at most [`MOST`] (and texts at most [`MOST_TEXT_BYTES`] together); beyond that
//! a sample: the values whose hash lies below a threshold that halves whenever the room is full. Whether a
//! value is in the sample depends on the value and on the whole set alone, so the result is the same
//! for any order of the rows and any number of threads.
//!
//! Memory: at most 2 x [`MOST`] slots of 9 bytes for numbers; for texts the bytes above and 24 per text.

use hashbrown::HashSet;

/// As many values as fit two bytes, with room for null.
pub const MOST: usize = 65_535;

/// All texts of a column together.
pub const MOST_TEXT_BYTES: usize = 4 << 20;

/// What can be told apart in a column.
pub trait Key: Eq + std::hash::Hash + Ord {
    /// A hash that is the same on every machine and in every version, since it shapes the release.
    fn stable_hash(&self) -> u64;
    /// Bytes that it holds beside its slot.
    fn bytes(&self) -> usize;
}

impl Key for i64 {
    fn stable_hash(&self) -> u64 {
        mix(*self as u64)
    }
    fn bytes(&self) -> usize {
        0
    }
}

impl Key for Box<str> {
    fn stable_hash(&self) -> u64 {
        hash_text(self)
    }
    fn bytes(&self) -> usize {
        self.len()
    }
}

/// A bijective scrambling of 64 bits (the finalizer of SplitMix64).
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A stable hash of a text: eight bytes at a time, its length last.
pub fn hash_text(text: &str) -> u64 {
    let mut hash = 0x9e37_79b9_7f4a_7c15;
    for chunk in text.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    mix(hash ^ text.len() as u64)
}

/// The distinct values of a column, or a sample of them.
#[derive(Debug)]
pub struct Distinct<K> {
    keys: HashSet<K, foldhash::fast::FixedState>,
    bytes: usize,
    /// Values whose hash has this many leading zeros are kept.
    level: u32,
}

impl<K> Default for Distinct<K> {
    fn default() -> Self {
        Distinct { keys: HashSet::default(), bytes: 0, level: 0 }
    }
}

impl<K: Key> Distinct<K> {
    /// Whether a value with this hash would be kept.
    #[inline]
    pub fn samples(&self, hash: u64) -> bool {
        self.level == 0 || hash.leading_zeros() >= self.level
    }

    /// Whether every value is there.
    pub fn is_exact(&self) -> bool {
        self.level == 0
    }

    /// Number of values held.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no value was seen.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Takes in a value.
    pub fn insert(&mut self, key: K) {
        if !self.samples(key.stable_hash()) {
            return;
        }
        let bytes = key.bytes();
        if self.keys.insert(key) {
            self.bytes += bytes;
            while self.keys.len() > MOST || self.bytes > MOST_TEXT_BYTES {
                self.level += 1;
                let level = self.level;
                self.keys.retain(|key| key.stable_hash().leading_zeros() >= level);
                self.bytes = self.keys.iter().map(Key::bytes).sum();
            }
        }
    }

    /// The values in ascending order.
    pub fn into_sorted(self) -> Vec<K> {
        let mut keys: Vec<K> = self.keys.into_iter().collect();
        keys.sort_unstable();
        keys
    }
}

impl Distinct<Box<str>> {
    /// Takes in a text without copying it if it is known or not sampled.
    pub fn insert_text(&mut self, text: &str) {
        if self.samples(hash_text(text)) && !self.keys.contains(text) {
            self.insert(text.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(values: impl Iterator<Item = i64>) -> (bool, Vec<i64>) {
        let mut distinct = Distinct::default();
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
    fn long_texts_are_bounded_too() {
        let mut distinct = Distinct::default();
        for i in 0..20_000 {
            distinct.insert_text(&format!("{i}{}", "x".repeat(1000)));
        }
        assert!(!distinct.is_exact());
        assert!(distinct.bytes <= MOST_TEXT_BYTES && distinct.len() > 1000);
    }
}
