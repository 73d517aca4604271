//! How are rows sorted that do not fit in memory?
//!
//! Records are byte strings whose order is the order of the rows. They are sorted in memory as long as they
//! fit; beyond that they are written to the spill as sorted runs, which are merged while they are read.
//!
//! Memory: the arena and 16 bytes per record in it; while merging, one block of [`BLOCK`] bytes per run.

use crate::error::Result;
use crate::resources::budget::{Budget, Reservation};
use crate::resources::spill::{Extent, Spill};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// Bytes of a run that are read at once; a longer record has its own block.
const BLOCK: usize = 1 << 16;

/// Sorts byte strings.
pub struct Sorter<'s> {
    arena: Vec<u8>,
    records: Vec<(usize, usize)>,
    limit: usize,
    runs: VecDeque<Run>,
    spill: &'s Spill,
    room: Reservation,
}

impl<'s> Sorter<'s> {
    /// Reserves up to half of the free memory for its arena.
    pub fn new(budget: &Arc<Budget>, spill: &'s Spill) -> Result<Self> {
        let limit = (budget.free() / 2).clamp(1 << 16, 1 << 28);
        let room = budget.reserve("sorting kept rows", limit)?;
        let limit = if cfg!(feature = "force-spill") { 1 << 10 } else { limit as usize / 2 };
        Ok(Sorter { arena: vec![], records: vec![], limit, runs: VecDeque::new(), spill, room })
    }

    /// Adds a record given in parts.
    pub fn push(&mut self, parts: &[&[u8]]) -> Result<()> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let used = self.arena.len() + self.records.len() * 16;
        if used + length + 16 > self.limit && !self.records.is_empty() {
            self.write_run()?;
        }
        let start = self.arena.len();
        parts.iter().for_each(|part| self.arena.extend_from_slice(part));
        self.records.push((start, self.arena.len()));
        Ok(())
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        self.records.sort_unstable_by(|a, b| arena[a.0..a.1].cmp(&arena[b.0..b.1]));
    }

    fn write_run(&mut self) -> Result<()> {
        self.sort();
        let mut run = RunWriter::new(self.spill);
        self.records.iter().try_for_each(|&(start, end)| run.push(&self.arena[start..end]))?;
        self.runs.push_back(run.finish()?);
        self.arena.clear();
        self.records.clear();
        Ok(())
    }

    /// Calls `each` with every record in ascending order.
    pub fn finish(mut self, each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut each = each;
        if self.runs.is_empty() {
            self.sort();
            return self.records.iter().try_for_each(|&(start, end)| each(&self.arena[start..end]));
        }
        if !self.records.is_empty() {
            self.write_run()?;
        }
        (self.arena, self.records) = (vec![], vec![]);
        // The blocks of the runs being merged use the memory of the arena.
        let at_once = (self.room.bytes() as usize / BLOCK).max(2);
        while self.runs.len() > at_once {
            let mut merged = RunWriter::new(self.spill);
            let some: Vec<Run> = self.runs.drain(..at_once).collect();
            merge(some, self.spill, |record| merged.push(record))?;
            self.runs.push_back(merged.finish()?);
        }
        merge(self.runs.into(), self.spill, each)
    }
}

/// The blocks of a sorted run.
type Run = Vec<Extent>;

/// Writes records block by block.
struct RunWriter<'s> {
    spill: &'s Spill,
    run: Run,
    block: Vec<u8>,
}

impl<'s> RunWriter<'s> {
    fn new(spill: &'s Spill) -> Self {
        RunWriter { spill, run: vec![], block: vec![] }
    }

    fn push(&mut self, record: &[u8]) -> Result<()> {
        if !self.block.is_empty() && self.block.len() + record.len() + 4 > BLOCK {
            self.run.push(self.spill.append(&self.block)?);
            self.block.clear();
        }
        self.block.extend_from_slice(&(record.len() as u32).to_le_bytes());
        self.block.extend_from_slice(record);
        Ok(())
    }

    fn finish(mut self) -> Result<Run> {
        self.run.push(self.spill.append(&self.block)?);
        Ok(self.run)
    }
}

/// Calls `each` with the records of all runs in ascending order.
fn merge(runs: Vec<Run>, spill: &Spill, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut cursors: Vec<Cursor> = runs.into_iter().map(Cursor::new).collect();
    let mut heap = BinaryHeap::new();
    for (number, cursor) in cursors.iter_mut().enumerate() {
        if let Some(record) = cursor.next(spill)? {
            heap.push(Reverse((record, number)));
        }
    }
    while let Some(Reverse((record, number))) = heap.pop() {
        each(&record)?;
        if let Some(record) = cursors[number].next(spill)? {
            heap.push(Reverse((record, number)));
        }
    }
    Ok(())
}

/// A position in a run.
struct Cursor {
    blocks: std::vec::IntoIter<Extent>,
    block: Vec<u8>,
    position: usize,
}

impl Cursor {
    fn new(run: Vec<Extent>) -> Self {
        Cursor { blocks: run.into_iter(), block: vec![], position: 0 }
    }

    fn next(&mut self, spill: &Spill) -> Result<Option<Vec<u8>>> {
        if self.position == self.block.len() {
            let Some(extent) = self.blocks.next() else { return Ok(None) };
            spill.load(extent, &mut self.block)?;
            self.position = 0;
        }
        let (length, rest) = self.block[self.position..].split_at(4);
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let record = rest[..length].to_vec();
        self.position += 4 + length;
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::spill::SpillForm;

    fn sorted(budget: u64, records: &[Vec<u8>]) -> (Vec<Vec<u8>>, u64) {
        let folder = tempfile::tempdir().unwrap();
        sort_with(&Spill::create(folder.path()).unwrap(), budget, records)
    }

    fn sort_with(spill: &Spill, budget: u64, records: &[Vec<u8>]) -> (Vec<Vec<u8>>, u64) {
        let mut sorter = Sorter::new(&Budget::new(budget), spill).unwrap();
        records.iter().for_each(|record| sorter.push(&[&record[..1], &record[1..]]).unwrap());
        let mut out = vec![];
        sorter
            .finish(|record| {
                out.push(record.to_vec());
                Ok(())
            })
            .unwrap();
        (out, spill.bytes())
    }

    #[test]
    fn records_that_were_sorted_on_disk_cannot_be_read_there() {
        let folder = tempfile::tempdir().unwrap();
        let records: Vec<Vec<u8>> = (0..20_000).map(|i| format!("{i} has influenza").into_bytes()).collect();
        for (form, found) in [(SpillForm::Encrypted, false), (SpillForm::Plain, true)] {
            let spill = Spill::with(folder.path(), form).unwrap();
            assert!(sort_with(&spill, 1 << 17, &records).1 > 0);
            let stored = spill.stored();
            assert_eq!(stored.windows(9).any(|window| window == b"influenza"), found, "{form:?}");
        }
    }

    #[test]
    fn runs_merge_to_the_same_order() {
        let record = |i: u64| {
            let hash = crate::math::random::mix(i % 5000);
            vec![hash as u8; 1 + (hash >> 8) as usize % 40]
        };
        let records: Vec<Vec<u8>> = (0..20_000).map(record).collect();
        let mut expected = records.clone();
        expected.sort();
        let (small, spilled) = sorted(1 << 17, &records);
        assert!(spilled > 0);
        assert_eq!(small, expected);
        let (large, spilled) = sorted(1 << 26, &records);
        assert_eq!(spilled, 0);
        assert_eq!(large, expected);
    }
}
