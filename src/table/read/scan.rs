//! How do workers share a table, and how do their results come back in table order?
//!
//! A worker takes a permit, takes the next piece of the table, decodes it, and sends its result; the calling thread
//! puts the results in order, and returns a permit for each result it consumes. Permits are the bound: at most
//! [`AHEAD`] x threads morsels are taken but not yet consumed. What the decoders hold is bounded by [`DecodeRoom`].
//!
//! Invariants: results are consumed in table order. The error that is returned is that of the first failing morsel in
//! this order: a failure stops only the morsels after it.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use arrow_array::RecordBatch;
use crossbeam_channel::{Receiver, Sender, bounded};

use super::batch::Batch;
use super::contain::{contain, damaged};
use super::room::{DecodeRoom, Need, RoomTaken, ScanMeans};
use crate::error::{Error, Result};
use crate::resources::progress::Progress;
use crate::resources::threads::start_in;

/// Morsels per thread that may be taken but not yet consumed.
const AHEAD: usize = 2;

/// The decoded batches of a piece.
pub(super) type Batches<'t> = Box<dyn Iterator<Item = Result<Batch>> + 't>;

/// A run of consecutive rows of a file that one worker can decode independently.
pub(super) struct Piece<'t> {
    /// The number of rows that decoding must produce.
    pub rows: u64,
    /// What decoding takes.
    pub need: Need,
    /// Starts decoding; called by the worker.
    pub decode: Box<dyn FnOnce() -> Result<Batches<'t>> + 't>,
}

/// How a file is cut into pieces.
#[derive(Clone, Copy)]
pub(super) struct Cutting<'r> {
    /// The largest number of rows in a batch.
    pub batch_rows: usize,
    /// About the largest number of rows in a piece, where a format allows to choose.
    pub morsel_rows: u64,
    /// The memory that decoders share.
    pub room: &'r DecodeRoom<'r>,
}

/// The pieces of one file, in order. Taking a piece is cheap or inherently sequential; decoding happens elsewhere.
pub(super) type Pieces<'t> = Box<dyn Iterator<Item = Result<Piece<'t>>> + Send + 't>;

/// A file of the table, ready to be split into pieces.
pub(super) struct FileScan<'t> {
    /// Its name, for errors.
    pub path: &'t Path,
    /// The number of rows that an earlier scan found.
    pub rows_found: &'t OnceLock<u64>,
    /// Opens the file.
    pub open: Box<dyn FnOnce() -> Result<Pieces<'t>> + Send + 't>,
}

/// A run of consecutive rows of the table: an iterator over batches that are decoded on demand.
///
/// If another morsel fails, the iterator may end early; its result is then not consumed.
pub struct Morsel<'s> {
    index: u64,
    first_row: u64,
    rows: u64,
    seen: u64,
    path: &'s Path,
    batches: Option<Batches<'s>>,
    limit: &'s AtomicU64,
    progress: Option<&'s Progress>,
}

impl Morsel<'_> {
    /// The position of the morsel in the table, counted from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The position of its first row in the table, counted from 0.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The batches as they are decoded, for whoever counts codes.
    pub fn decoded(mut self) -> impl Iterator<Item = Result<Batch>> {
        std::iter::from_fn(move || self.next_batch())
    }

    fn next_batch(&mut self) -> Option<Result<Batch>> {
        if self.limit.load(Ordering::Relaxed) <= self.index {
            self.batches = None;
        }
        let batches = self.batches.as_mut()?;
        if let Some(Err(stopped)) = self.progress.map(Progress::go_on) {
            self.batches = None;
            return Some(Err(stopped));
        }
        let batch = contain(self.path, || batches.next().transpose()).and_then(|batch| {
            self.seen += batch.as_ref().map_or(0, |batch| batch.rows.num_rows() as u64);
            let complete = if batch.is_some() { self.seen <= self.rows } else { self.seen == self.rows };
            // A file that contradicts itself about its number of rows must not be counted either way.
            if complete {
                Ok(batch)
            } else {
                Err(damaged(self.path, "it does not hold the rows it announces"))
            }
        });
        if !matches!(batch, Ok(Some(_))) {
            self.batches = None;
        }
        batch.transpose()
    }
}

impl Iterator for Morsel<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().map(|batch| batch.and_then(Batch::into_rows))
    }
}

/// The file that is being split into pieces.
struct OpenFile<'t> {
    path: &'t Path,
    rows_found: &'t OnceLock<u64>,
    /// Rows of the pieces taken so far.
    rows: u64,
    pieces: Pieces<'t>,
}

/// The part of the table that no worker has taken yet.
struct Feed<'t> {
    room: &'t DecodeRoom<'t>,
    files: std::vec::IntoIter<FileScan<'t>>,
    current: Option<OpenFile<'t>>,
    index: u64,
    first_row: u64,
}

struct Taken<'t> {
    path: &'t Path,
    first_row: u64,
    piece: Piece<'t>,
    /// Held until the piece is decoded.
    room: RoomTaken<'t>,
}

impl<'t> Feed<'t> {
    /// The next piece and its index; an error ends the feed.
    fn take(&mut self) -> Option<(u64, Result<Taken<'t>>)> {
        let taken = self.advance().transpose()?;
        let index = self.index;
        self.index += 1;
        match &taken {
            Ok(taken) => self.first_row += taken.piece.rows,
            Err(_) => {
                self.current = None;
                self.files = Vec::new().into_iter();
            }
        }
        Some((index, taken))
    }

    fn advance(&mut self) -> Result<Option<Taken<'t>>> {
        loop {
            if let Some(OpenFile { path, rows_found, rows, pieces }) = &mut self.current {
                if let Some(piece) = contain(path, || pieces.next().transpose())? {
                    *rows += piece.rows;
                    // In table order: a piece never waits for one that comes after it.
                    let room = self.room.take(path, &piece.need)?;
                    return Ok(Some(Taken { path, first_row: self.first_row, piece, room }));
                }
                if rows_found.get_or_init(|| *rows) != rows {
                    return Err(Error::Changed { file: Some(path.to_path_buf()), column: None });
                }
                self.current = None;
            }
            let Some(FileScan { path, rows_found, open }) = self.files.next() else { return Ok(None) };
            self.current = Some(OpenFile { path, rows_found, rows: 0, pieces: contain(path, open)? });
        }
    }
}

enum MorselOutcome {
    Done(Result<()>),
    /// The caller's work panicked: a bug, which is resumed as a panic on the calling thread.
    Panicked(Box<dyn Any + Send>),
}

/// What is done with a morsel, on any thread.
pub(super) type Work<'w> = dyn Fn(Morsel<'_>) -> Result<()> + Sync + 'w;

/// Runs `work` on the morsels of `files`, and `consume` on the index of each in table order.
///
/// Results are the caller's, by index: so this is compiled once, not for each type of result.
pub(super) fn scan<'t>(
    files: Vec<FileScan<'t>>,
    room: &'t DecodeRoom<'t>,
    means: ScanMeans<'_>,
    work: &Work<'_>,
    consume: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    let (threads, progress) = (means.threads.max(1), means.progress);
    let feed = Mutex::new(Feed { room, files: files.into_iter(), current: None, index: 0, first_row: 0 });
    // Morsels from this index on need not be finished.
    let limit = AtomicU64::new(u64::MAX);
    let (give_permit, permits) = bounded(AHEAD * threads);
    let (give_result, results) = bounded(AHEAD * threads);
    for _ in 0..AHEAD * threads {
        // Cannot fail: the channel is large enough, and its other end is alive.
        let _ = give_permit.send(());
    }
    let outcome = std::thread::scope(|scope| {
        let started = (0..threads).try_for_each(|_| {
            let (permits, give_result) = (permits.clone(), give_result.clone());
            let (feed, limit) = (&feed, &limit);
            let worker = start_in(scope, move || {
                while permits.recv().is_ok() {
                    let Some(result) = run_next(feed, limit, progress, work) else { break };
                    if give_result.send(result).is_err() {
                        break;
                    }
                }
            });
            worker.map(drop)
        });
        drop((permits, give_result));
        let outcome = match started {
            Ok(()) => consume_in_order(results, give_permit, consume),
            // Without anyone to take their results, the threads that did start end.
            Err(error) => {
                drop((results, give_permit));
                MorselOutcome::Done(Err(error))
            }
        };
        limit.store(0, Ordering::Relaxed);
        outcome
    });
    match outcome {
        MorselOutcome::Done(result) => result,
        MorselOutcome::Panicked(payload) => resume_unwind(payload),
    }
}

fn run_next(
    feed: &Mutex<Feed<'_>>,
    limit: &AtomicU64,
    progress: Option<&Progress>,
    work: &Work<'_>,
) -> Option<(u64, MorselOutcome)> {
    let (index, taken) = {
        let mut feed = feed.lock().unwrap_or_else(PoisonError::into_inner);
        if limit.load(Ordering::Relaxed) <= feed.index {
            return None;
        }
        feed.take()?
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let Taken { path, first_row, piece, room: _room } = taken?;
        let rows = piece.rows;
        let batches = Some(contain(path, piece.decode)?);
        let morsel = Morsel { index, first_row, rows, seen: 0, path, batches, limit, progress };
        work(morsel).map_err(|error| match error {
            Error::Changed { file: None, .. } => error.of_file(path),
            other => other,
        })
    }));
    let outcome = outcome.map_or_else(MorselOutcome::Panicked, MorselOutcome::Done);
    if !matches!(outcome, MorselOutcome::Done(Ok(_))) {
        limit.fetch_min(index + 1, Ordering::Relaxed);
    }
    Some((index, outcome))
}

/// Owns its ends of the channels, so that returning early stops the workers.
fn consume_in_order(
    results: Receiver<(u64, MorselOutcome)>,
    give_permit: Sender<()>,
    consume: &mut dyn FnMut(u64) -> Result<()>,
) -> MorselOutcome {
    let mut early = BTreeMap::new();
    let mut next = 0;
    for (index, outcome) in results {
        early.insert(index, outcome);
        while let Some(outcome) = early.remove(&next) {
            match outcome {
                MorselOutcome::Done(result) => {
                    if let Err(error) = result.and_then(|()| consume(next)) {
                        return MorselOutcome::Done(Err(error));
                    }
                }
                MorselOutcome::Panicked(payload) => return MorselOutcome::Panicked(payload),
            }
            next += 1;
            // Fails only when all workers have ended, and then nobody is waiting for it.
            let _ = give_permit.send(());
        }
    }
    MorselOutcome::Done(Ok(()))
}
