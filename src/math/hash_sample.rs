//! A sample of distinct keys that depends on the set of keys alone.
//!
//! All keys are kept while they fit; beyond that, those whose hash lies below a threshold that halves
//! whenever the sample is full. The same keys are kept for any order of the rows, any number of threads and
//! any order of merging, and a kept key has been kept since its first occurrence, so its value is exact.
//!
//! Memory: `most_keys` entries, in a table that may be less than half full, and `most_bytes`.

use hashbrown::HashMap;

use super::random::mix;

/// A key that can be sampled.
pub trait SampleKey: Eq + std::hash::Hash {
    /// A hash that is the same on every machine and in every version, since it shapes the release.
    fn stable_hash(&self) -> u64;
    /// Bytes that the key holds in addition to its slot.
    fn bytes(&self) -> usize {
        0
    }
}

impl SampleKey for i64 {
    fn stable_hash(&self) -> u64 {
        mix(*self as u64)
    }
}

impl SampleKey for u64 {
    fn stable_hash(&self) -> u64 {
        mix(*self)
    }
}

impl SampleKey for Box<str> {
    fn stable_hash(&self) -> u64 {
        hash_text(self)
    }
    fn bytes(&self) -> usize {
        self.len()
    }
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

/// Distinct keys with a value each, or a sample of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashSample<K: SampleKey, V> {
    most_keys: usize,
    most_bytes: usize,
    entries: HashMap<K, V, foldhash::fast::FixedState>,
    bytes: usize,
    /// Keys whose hash has this many leading zeros are kept.
    level: u32,
}

impl<K: SampleKey, V> HashSample<K, V> {
    /// Keeps at most `most_keys` keys that hold at most `most_bytes` together.
    pub fn new(most_keys: usize, most_bytes: usize) -> Self {
        HashSample { most_keys, most_bytes, entries: HashMap::default(), bytes: 0, level: 0 }
    }

    /// Whether a key with this hash would be kept.
    #[inline]
    pub fn samples(&self, hash: u64) -> bool {
        self.level == 0 || hash.leading_zeros() >= self.level
    }

    /// Adds a key with the value `first`, or updates the value that it has.
    #[inline]
    pub fn upsert(&mut self, key: K, first: impl FnOnce() -> V, update: impl FnOnce(&mut V)) {
        if self.level > 0 && !self.samples(key.stable_hash()) {
            return;
        }
        self.upsert_sampled(key, first, update);
    }

    /// Few of many keys come here.
    #[inline(never)]
    fn upsert_sampled(&mut self, key: K, first: impl FnOnce() -> V, update: impl FnOnce(&mut V)) {
        if let Some(value) = self.entries.get_mut(&key) {
            return update(value);
        }
        self.bytes += key.bytes();
        self.entries.insert(key, first());
        while self.entries.len() > self.most_keys || self.bytes > self.most_bytes {
            self.raise(self.level + 1);
        }
    }

    /// Keeps only the keys whose hash has at least `level` leading zeros.
    fn raise(&mut self, level: u32) {
        self.level = level;
        self.entries.retain(|key, _| key.stable_hash().leading_zeros() >= level);
        self.bytes = self.entries.keys().map(SampleKey::bytes).sum();
    }

    /// Adds a sample of other rows with the same bounds; `update` joins the values of a key that both have. The level of
    /// the union is at least that of either part.
    pub fn merge(&mut self, other: HashSample<K, V>, mut update: impl FnMut(&mut V, V)) {
        if other.level > self.level {
            self.raise(other.level);
        }
        for (key, value) in other.entries {
            match self.entries.get_mut(&key) {
                Some(own) => update(own, value),
                None => self.upsert(key, || value, |_| ()),
            }
        }
    }

    /// The most keys that are kept, and the most bytes that they hold together.
    pub fn bounds(&self) -> (usize, usize) {
        (self.most_keys, self.most_bytes)
    }

    /// The sample with these entries; `None` if no sample of this level has them.
    pub fn restored(most_keys: usize, most_bytes: usize, level: u32, entries: Vec<(K, V)>) -> Option<Self> {
        let (mut sample, many) = (HashSample::new(most_keys, most_bytes), entries.len());
        sample.level = level;
        entries.into_iter().for_each(|(key, value)| sample.upsert(key, || value, |_| ()));
        (sample.level == level && sample.entries.len() == many).then_some(sample)
    }

    /// Whether every key has been kept.
    pub fn is_exact(&self) -> bool {
        self.level == 0
    }

    /// One of 2^level keys was kept.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// The keys and values, in no order.
    pub fn entries(&self) -> &HashMap<K, V, foldhash::fast::FixedState> {
        &self.entries
    }

    /// The keys and values, in no order.
    pub fn into_entries(self) -> HashMap<K, V, foldhash::fast::FixedState> {
        self.entries
    }

    /// Bytes that the keys hold in addition to their slots.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
