//! How much memory may the decoders of a scan use together?
//!
//! A worker takes room for its piece before it decodes it, in table order, and waits while the others use it up. Up to
//! [`DECODERS`] bytes are part of the fixed allowance of a run; more is reserved from the budget, of which workers
//! that decode side by side take at most a quarter.
//!
//! Invariant: a piece that fits alone is decoded in the end. Room for the largest piece that is known is reserved
//! before the first one is decoded, so that no other stage can take it.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result, Setting};
use crate::resources::Resources;
use crate::resources::budget::{Budget, Reservation};
use crate::resources::progress::Progress;

/// The bytes that decoders use without a reservation.
const DECODERS: u64 = 12 << 20;

/// A batch ends when its rows take about this many bytes, however few they are.
pub(super) const BATCH_BYTES: usize = 1 << 20;

/// How often a batch is in memory: as decoded, in its canonical form, and in the form of the stage that reads it.
pub(super) const COPIES: u64 = 3;

/// The threads of a scan, and the budget for what its decoders hold.
#[derive(Debug, Clone, Copy)]
pub struct ScanMeans<'b> {
    pub(super) threads: usize,
    pub(super) budget: Option<&'b Arc<Budget>>,
    pub(super) morsel_rows: u64,
    /// Says whether the scan shall go on.
    pub(super) progress: Option<&'b Progress>,
}

impl From<usize> for ScanMeans<'_> {
    /// This many threads, and any amount of memory.
    fn from(threads: usize) -> Self {
        ScanMeans { threads, budget: None, morsel_rows: u64::MAX, progress: None }
    }
}

impl<'b> From<&'b Resources<'_>> for ScanMeans<'b> {
    fn from(resources: &'b Resources<'_>) -> Self {
        ScanMeans {
            threads: resources.threads,
            budget: Some(&resources.budget),
            morsel_rows: u64::MAX,
            progress: Some(resources.progress),
        }
    }
}

impl ScanMeans<'_> {
    /// Cuts large row groups into morsels of about this many rows, for work whose result grows with its rows.
    pub fn with_morsels_of(self, rows: u64) -> Self {
        ScanMeans { morsel_rows: rows.max(1), ..self }
    }
}

/// What decoding a piece takes.
#[derive(Debug, Clone, Default)]
pub(super) struct Need {
    /// Bytes.
    pub bytes: u64,
    /// The column that takes most of them, if the format says.
    pub column: Option<String>,
}

impl Need {
    /// This many bytes, for no column in particular.
    pub fn of(bytes: u64) -> Self {
        Need { bytes, column: None }
    }

    /// The greater of the two.
    pub fn or_larger(self, other: Need) -> Need {
        if other.bytes > self.bytes { other } else { self }
    }
}

/// The memory that the decoders of a scan share.
pub(super) struct DecodeRoom<'b> {
    budget: Option<&'b Arc<Budget>>,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    used: u64,
    /// Pieces that use it.
    pieces: usize,
    reserved: Option<Reservation>,
}

impl<'b> DecodeRoom<'b> {
    /// Room for nothing yet.
    pub fn new(budget: Option<&'b Arc<Budget>>) -> Self {
        DecodeRoom { budget, state: Mutex::default(), freed: Condvar::new() }
    }

    /// Makes sure that a piece with this need can be decoded.
    pub fn expect(&self, path: &Path, need: &Need) -> Result<()> {
        let mut state = self.lock();
        let held = state.held();
        self.grow(&mut state, need.bytes.saturating_sub(held))
            .map_err(|missing| self.refuse(path, need, missing))
    }

    /// Takes room for as long as the result lives; waits while other pieces use it.
    pub fn take(&self, path: &Path, need: &Need) -> Result<RoomTaken<'_>> {
        let mut state = self.lock();
        loop {
            let missing = (state.used + need.bytes).saturating_sub(state.held());
            let alone = state.pieces == 0;
            if missing == 0 {
                break;
            }
            let shared = state.reserved.as_ref().map_or(0, Reservation::bytes) + missing;
            if alone || self.budget.is_none_or(|budget| shared <= budget.total() / 4) {
                match self.grow(&mut state, missing) {
                    Ok(()) => break,
                    Err(missing) if alone => return Err(self.refuse(path, need, missing)),
                    Err(_) => {}
                }
            }
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.used += need.bytes;
        state.pieces += 1;
        Ok(RoomTaken { room: self, bytes: need.bytes, pieces: 1 })
    }

    /// Takes room besides that of the pieces, for as long as the result lives. Never waits.
    pub fn hold(&self, path: &Path, need: &Need) -> Result<RoomTaken<'_>> {
        let mut state = self.lock();
        let missing = (state.used + need.bytes).saturating_sub(state.held());
        self.grow(&mut state, missing).map_err(|missing| self.refuse(path, need, missing))?;
        state.used += need.bytes;
        Ok(RoomTaken { room: self, bytes: need.bytes, pieces: 0 })
    }

    /// Takes room until the end of the scan.
    pub fn keep(&self, path: &Path, need: &Need) -> Result<()> {
        self.hold(path, need).map(std::mem::forget)
    }

    /// Reserves more; fails with the number of bytes that are missing.
    fn grow(&self, state: &mut State, more: u64) -> Result<(), u64> {
        let Some(budget) = self.budget.filter(|_| more > 0) else { return Ok(()) };
        let more = budget.try_reserve(more).ok_or_else(|| more.saturating_sub(budget.free()))?;
        match &mut state.reserved {
            Some(reserved) => reserved.join(more),
            None => state.reserved = Some(more),
        }
        Ok(())
    }

    fn refuse(&self, path: &Path, need: &Need, missing: u64) -> Error {
        let total = self.budget.map_or(0, |budget| budget.total());
        let what = match &need.column {
            Some(column) => format!("a part of the table, most of all its column `{column}`"),
            None => "a part of the table".to_string(),
        };
        let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
        Error::missing(
            format!(
                "{}: {what}, takes {} MiB at once, more than is left of the {} MiB of memory",
                path.display(),
                mebibytes(need.bytes),
                mebibytes(total)
            ),
            format!(
                "give a budget of {} MiB or more, or write the file with smaller pages, batches or records",
                mebibytes(total + missing)
            ),
            Setting::Memory,
        )
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The bytes that decoders may use without another reservation.
    fn held(&self) -> u64 {
        DECODERS + self.reserved.as_ref().map_or(0, Reservation::bytes)
    }
}

/// Room of a piece or of something besides, given back on drop.
pub(super) struct RoomTaken<'r> {
    room: &'r DecodeRoom<'r>,
    bytes: u64,
    pieces: usize,
}

impl Drop for RoomTaken<'_> {
    fn drop(&mut self) {
        let mut state = self.room.lock();
        state.used -= self.bytes;
        state.pieces -= self.pieces;
        drop(state);
        self.room.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn workers_wait_for_each_other_and_a_piece_that_fits_alone_is_decoded() {
        let budget = Budget::new(DECODERS);
        let room = DecodeRoom::new(Some(&budget));
        let need = Need::of(DECODERS + (DECODERS / 2));
        room.expect(Path::new("t"), &need).unwrap();
        let (now, most) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let taken = room.take(Path::new("t"), &need).unwrap();
                    let together = now.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(together, Ordering::SeqCst);
                    std::thread::yield_now();
                    now.fetch_sub(1, Ordering::SeqCst);
                    drop(taken);
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
        drop(room);
        assert_eq!(budget.free(), budget.total());
    }

    #[test]
    fn a_piece_that_never_fits_is_refused_with_its_column_and_a_sufficient_budget() {
        let budget = Budget::new(1 << 20);
        let need = Need { bytes: DECODERS + (5 << 20), column: Some("q".into()) };
        let refused = DecodeRoom::new(Some(&budget)).take(Path::new("t"), &need).err().unwrap();
        assert_eq!(refused.setting(), Some(Setting::Memory));
        let text = refused.to_string();
        assert!(text.contains("column `q`") && text.contains("budget of 5 MiB"), "{text}");
        let enough = Budget::new(5 << 20);
        assert!(DecodeRoom::new(Some(&enough)).take(Path::new("t"), &need).is_ok());
    }
}
