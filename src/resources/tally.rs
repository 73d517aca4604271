//! How often does each item occur with each key, when not all of them fit in memory?
//!
//! Counts are collected in a hash table with a fixed allotment. When it is full, its entries are moved to the
//! spill, into [`FANOUT`] partitions by the hash of the key, and the table starts over. In the end each
//! partition is counted separately, and partitioned further if it is still too large.
//!
//! Memory: the allotment, reserved from the budget, regardless of the number of keys. Invariant: all entries
//! of a key are emitted together, each item once, with its total.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use hashbrown::HashTable;

use crate::error::{Error, Result};
use crate::resources::budget::{Budget, Reservation};
use crate::resources::spill::{Extent, Spill};

/// Partitions per level: 6 bits of the hash.
const FANOUT: usize = 64;
const FANOUT_BITS: u32 = FANOUT.trailing_zeros();
/// The number of levels that the bits of the hash allow.
const LEVELS: u32 = 64 / FANOUT_BITS;
/// The smallest allotment worth starting with.
const SMALLEST_ALLOTMENT: u64 = 64 << 10;

/// Counts of (key, item) pairs.
pub(crate) struct Tally {
    spill: Arc<Spill>,
    allotment: Reservation,
    /// The whole budget, for the error that it is too small.
    budget: u64,
    level: u32,
    entries: HashTable<Entry>,
    /// The bytes of the entries: key, then item.
    bytes: Vec<u8>,
    partitions: Vec<Partition>,
}

/// Handles a key, its items and their counts.
pub(crate) type Emit<'a> = dyn FnMut(&[u8], &[(&[u8], u64)]) -> Result<()> + 'a;

#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    key: u32,
    item: u32,
    count: u64,
}

#[derive(Default)]
struct Partition {
    buffer: Vec<u8>,
    extents: Vec<Extent>,
}

/// The bytes that a record takes in a partition in addition to its content: two lengths and the count.
const RECORD_HEAD: usize = 16;

impl Tally {
    /// Reserves `1 / share` of the remaining budget.
    pub fn new(spill: &Arc<Spill>, budget: &Arc<Budget>, share: u64) -> Result<Self> {
        let bytes = (budget.free() / share).max(SMALLEST_ALLOTMENT);
        let allotment = budget.reserve("counting by group", bytes)?;
        Ok(Tally::with(spill.clone(), allotment, budget.total(), 0))
    }

    fn with(spill: Arc<Spill>, allotment: Reservation, budget: u64, level: u32) -> Self {
        let (entries, bytes, partitions) = (HashTable::new(), Vec::new(), Vec::new());
        Tally { spill, allotment, budget, level, entries, bytes, partitions }
    }

    /// Adds `count` occurrences of an item with a key.
    pub fn add(&mut self, key: &[u8], item: &[u8], count: u64) -> Result<()> {
        let hash = pair_hash(key, item);
        let bytes = &mut self.bytes;
        let same = |entry: &Entry| entry.key(bytes) == key && entry.item(bytes) == item;
        if let Some(entry) = self.entries.find_mut(hash, same) {
            entry.count = entry.count.saturating_add(count);
            return Ok(());
        }
        if !self.has_room(key.len() + item.len()) {
            self.flush()?;
            if !self.has_room(key.len() + item.len()) {
                return Err(self.too_small());
            }
        }
        let entry = Entry { start: self.bytes.len(), key: key.len() as u32, item: item.len() as u32, count };
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(item);
        let bytes = &self.bytes;
        self.entries.insert_unique(hash, entry, |entry| pair_hash(entry.key(bytes), entry.item(bytes)));
        Ok(())
    }

    /// A quarter of the allotment each for the table, the bytes, the order of the entries at the end, and the
    /// temporary copy while the table or the bytes grow.
    fn has_room(&self, more: usize) -> bool {
        let quarter = (self.allotment.bytes() / 4) as usize;
        let slots = (self.entries.len() + 1).next_power_of_two() * 2;
        let moving = slots * (size_of::<Entry>() + 1) <= quarter && self.bytes.len() + more <= quarter / 2;
        moving && more <= u32::MAX as usize
    }

    /// Moves all entries to the partitions of the spill.
    fn flush(&mut self) -> Result<()> {
        if self.level >= LEVELS {
            return Err(self.too_small());
        }
        self.partitions.resize_with(FANOUT, Partition::default);
        let buffer = (self.allotment.bytes() as usize / 4 / FANOUT).clamp(64, 1 << 16);
        let shift = 64 - FANOUT_BITS * (self.level + 1);
        for entry in self.entries.drain() {
            let (key, item) = (entry.key(&self.bytes), entry.item(&self.bytes));
            let place = (key_hash(key) >> shift) as usize % FANOUT;
            let partition = &mut self.partitions[place];
            partition.buffer.extend_from_slice(&entry.key.to_le_bytes());
            partition.buffer.extend_from_slice(&entry.item.to_le_bytes());
            partition.buffer.extend_from_slice(&entry.count.to_le_bytes());
            partition.buffer.extend_from_slice(key);
            partition.buffer.extend_from_slice(item);
            if partition.buffer.len() >= buffer {
                partition.write(&self.spill)?;
            }
        }
        self.bytes.clear();
        for partition in &mut self.partitions {
            partition.write(&self.spill)?;
        }
        Ok(())
    }

    fn too_small(&self) -> Error {
        let needed = self.budget.saturating_mul(4);
        Error::Memory { stage: "counting by group", needed, budget: self.budget }
    }

    /// Passes every key to `emit`, with its items in ascending order and their counts.
    pub fn finish(self, emit: &mut Emit<'_>) -> Result<()> {
        self.finish_part(emit).map(drop)
    }

    /// As [`Tally::finish`], and returns the allotment for the next part.
    fn finish_part(mut self, emit: &mut Emit<'_>) -> Result<Reservation> {
        if self.partitions.is_empty() {
            self.emit_all(emit)?;
            return Ok(self.allotment);
        }
        self.flush()?;
        let Tally { spill, mut allotment, budget, level, partitions, .. } = self;
        for partition in partitions {
            let mut part = Tally::with(spill.clone(), allotment, budget, level + 1);
            part.load(&partition)?;
            allotment = part.finish_part(emit)?;
        }
        Ok(allotment)
    }

    fn load(&mut self, partition: &Partition) -> Result<()> {
        let mut blob = Vec::new();
        for extent in &partition.extents {
            self.spill.load(*extent, &mut blob)?;
            let mut rest = &blob[..];
            while let Some((head, tail)) = rest.split_first_chunk::<RECORD_HEAD>() {
                let key = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
                let item = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
                let mut count = [0; 8];
                count.copy_from_slice(&head[8..]);
                let (pair, next) = tail.split_at(key + item);
                self.add(&pair[..key], &pair[key..], u64::from_le_bytes(count))?;
                rest = next;
            }
        }
        Ok(())
    }

    fn emit_all(&mut self, emit: &mut Emit<'_>) -> Result<()> {
        let bytes = &self.bytes;
        let mut entries: Vec<Entry> = self.entries.drain().collect();
        entries.sort_unstable_by(|a, b| {
            a.key(bytes).cmp(b.key(bytes)).then_with(|| a.item(bytes).cmp(b.item(bytes)))
        });
        let mut items = Vec::new();
        for same_key in entries.chunk_by(|a, b| a.key(bytes) == b.key(bytes)) {
            items.clear();
            items.extend(same_key.iter().map(|entry| (entry.item(bytes), entry.count)));
            emit(same_key[0].key(bytes), &items)?;
        }
        Ok(())
    }
}

impl Entry {
    fn key<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.start..self.start + self.key as usize]
    }

    fn item<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let start = self.start + self.key as usize;
        &bytes[start..start + self.item as usize]
    }
}

impl Partition {
    fn write(&mut self, spill: &Spill) -> Result<()> {
        if !self.buffer.is_empty() {
            self.extents.push(spill.append(&self.buffer)?);
            self.buffer = Vec::new();
        }
        Ok(())
    }
}

fn key_hash(key: &[u8]) -> u64 {
    let mut hasher = foldhash::quality::FixedState::with_seed(1).build_hasher();
    hasher.write(key);
    hasher.finish()
}

fn pair_hash(key: &[u8], item: &[u8]) -> u64 {
    let mut hasher = foldhash::quality::FixedState::with_seed(2).build_hasher();
    hasher.write(key);
    hasher.write(item);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    type Counts = BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, u64>>;

    fn tallied(keys: u64, items: u64, adds: u64, budget: u64) -> (Counts, Counts, u64) {
        let directory = tempfile::tempdir().unwrap();
        let spill = Arc::new(Spill::create(directory.path()).unwrap());
        let mut tally = Tally::new(&spill, &Budget::new(budget), 1).unwrap();
        let mut expected = Counts::new();
        let mut state = 3u64;
        for _ in 0..adds {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (key, item) = ((state >> 20) % keys, (state >> 40) % items);
            let (key, item) = (vec![7; key as usize % 5 + 1], item.to_string().into_bytes());
            let key = [key, ((state >> 20) % keys).to_be_bytes().to_vec()].concat();
            tally.add(&key, &item, 1 + (state >> 62)).unwrap();
            *expected.entry(key).or_default().entry(item).or_default() += 1 + (state >> 62);
        }
        let mut counted = Counts::new();
        tally
            .finish(&mut |key, items| {
                let items = items.iter().map(|(item, count)| (item.to_vec(), *count)).collect();
                assert!(counted.insert(key.to_vec(), items).is_none(), "a key came out twice");
                Ok(())
            })
            .unwrap();
        (counted, expected, spill.bytes())
    }

    #[test]
    fn counts_are_exact_in_memory_and_out_of_it() {
        for (budget, spills) in [(64 << 20, false), (100 << 10, true)] {
            let (counted, expected, bytes) = tallied(3000, 20, 60_000, budget);
            assert_eq!(counted, expected);
            assert_eq!(bytes > 0, spills);
        }
    }

    #[test]
    fn a_partition_that_is_too_large_is_cut_again() {
        let (counted, expected, _) = tallied(200_000, 3, 250_000, 64 << 10);
        assert_eq!(counted, expected);
    }

    #[test]
    fn a_key_that_never_fits_is_an_error_and_not_a_loop() {
        let directory = tempfile::tempdir().unwrap();
        let spill = Arc::new(Spill::create(directory.path()).unwrap());
        let mut tally = Tally::new(&spill, &Budget::new(64 << 10), 1).unwrap();
        let outcome = (0..20_000u32).try_for_each(|item| tally.add(b"key", &item.to_be_bytes(), 1));
        let outcome = outcome.and_then(|()| tally.finish(&mut |_, _| Ok(())));
        assert!(matches!(outcome, Err(Error::Memory { .. })));
    }
}
