//! How far has the work progressed?
//!
//! Workers count, and the user interface reads the counts: the library knows nothing about terminals. Memory:
//! O(1).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A counter of the current phase of a run; may be shared between threads.
#[derive(Debug, Default)]
pub struct Progress {
    phase: Mutex<Option<Phase>>,
    done: AtomicU64,
}

#[derive(Debug, Clone, Copy)]
struct Phase {
    name: &'static str,
    total: Option<u64>,
    since: Instant,
}

/// A [`Progress`] at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Snapshot {
    /// What is being done.
    pub phase: &'static str,
    /// The total amount of work, if it is known.
    pub total: Option<u64>,
    /// The amount of work done.
    pub done: u64,
    /// When the phase began.
    pub since: Instant,
}

impl Progress {
    /// Begins a phase with `total` steps, mostly rows.
    pub fn start(&self, phase: &'static str, total: Option<u64>) {
        let mut current = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        self.done.store(0, Ordering::Relaxed);
        *current = Some(Phase { name: phase, total, since: Instant::now() });
    }

    /// Counts `steps` more as done.
    pub fn advance(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// Ends the phase.
    pub fn finish(&self) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The current phase, if there is one.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let phase = (*self.phase.lock().unwrap_or_else(PoisonError::into_inner))?;
        let done = self.done.load(Ordering::Relaxed);
        Some(Snapshot { phase: phase.name, total: phase.total, done, since: phase.since })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_begin_at_zero() {
        let progress = Progress::default();
        assert_eq!(progress.snapshot(), None);
        progress.start("counting", Some(10));
        progress.advance(3);
        progress.advance(4);
        let seen = progress.snapshot().unwrap();
        assert_eq!((seen.phase, seen.total, seen.done), ("counting", Some(10), 7));
        progress.start("sorting", None);
        assert_eq!(progress.snapshot().unwrap().done, 0);
        progress.finish();
        assert_eq!(progress.snapshot(), None);
    }
}
