//! Who went to which group, until the ledger is written?
//!
//! Memory: one block of [`BLOCK`] bytes and 16 bytes for each block that was written.

use super::ledger::RECORD_BYTES;
use crate::encode::person::{MARK_BYTES, PersonMark};
use crate::error::Result;
use crate::resources::budget::Budget;
use crate::resources::sorter::Sorter;
use crate::resources::spill::{Extent, Spill};
use std::sync::Arc;

const BLOCK: usize = 1 << 16;

/// Marks and groups of people, in any order; all of them in the same spill.
#[derive(Debug, Default)]
pub struct PersonLog {
    block: Vec<u8>,
    blocks: Vec<Extent>,
    people: u64,
}

impl PersonLog {
    /// The number of people.
    pub fn people(&self) -> u64 {
        self.people
    }

    /// Adds a person.
    pub fn push(&mut self, mark: &PersonMark, group: u64, spill: &Spill) -> Result<()> {
        self.block.extend_from_slice(mark);
        self.block.extend_from_slice(&group.to_be_bytes());
        self.people += 1;
        if self.block.len() >= BLOCK {
            self.blocks.push(spill.append(&self.block)?);
            self.block.clear();
        }
        Ok(())
    }

    /// The same people, to be sorted by their marks.
    pub fn sorted<'s>(self, budget: &Arc<Budget>, spill: &'s Spill) -> Result<Sorter<'s>> {
        let mut sorter = Sorter::new(budget, spill)?;
        let mut block = Vec::new();
        for extent in &self.blocks {
            spill.load(*extent, &mut block)?;
            block.chunks_exact(RECORD_BYTES).try_for_each(|record| sorter.push(&[record]))?;
        }
        self.block.chunks_exact(RECORD_BYTES).try_for_each(|record| sorter.push(&[record]))?;
        Ok(sorter)
    }
}

const _: () = assert!(MARK_BYTES + 8 == RECORD_BYTES && BLOCK.is_multiple_of(RECORD_BYTES));
