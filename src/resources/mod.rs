//! Which resources may a run use, and how far has it progressed?

pub mod budget;
pub mod byte_form;
pub mod disk;
#[cfg(test)]
pub(crate) mod faults;
pub mod progress;
pub(crate) mod secret;
pub mod sorter;
pub mod spill;
pub mod spill_stream;
pub(crate) mod tally;
pub mod threads;
pub mod unfinished;
pub mod whole_file;

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Result;
use budget::Budget;
use progress::Progress;
use spill::{Spill, SpillForm};
use spill_stream::SpillStream;

/// The resources that a stage may use.
pub struct Resources<'a> {
    /// Worker threads.
    pub threads: usize,
    /// Memory for growing data.
    pub budget: Arc<Budget>,
    /// The directory for data that does not fit in memory.
    pub temp: PathBuf,
    /// How it is stored there.
    pub spill: SpillForm,
    /// Where progress is counted.
    pub progress: &'a Progress,
}

impl<'a> Resources<'a> {
    /// All processors of the system, and its directory for temporary files.
    pub fn new(budget: Arc<Budget>, progress: &'a Progress) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        Resources { threads, budget, temp: std::env::temp_dir(), spill: SpillForm::Encrypted, progress }
    }

    /// An empty spill.
    pub fn new_spill(&self) -> Result<Spill> {
        Spill::with(&self.temp, self.spill)
    }

    /// An empty stream of bytes, stored in the same way.
    pub fn new_spill_stream(&self) -> Result<SpillStream> {
        SpillStream::with(&self.temp, self.spill)
    }
}
