//! How far has the work progressed, and shall it go on?
//!
//! Workers count, and the user interface reads the counts: the library knows nothing about terminals. The user interface
//! may ask for an end, and whoever works on many rows or groups asks now and then whether to go on. Memory: a few words
//! per phase.

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A counter of the current phase of a run; may be shared between threads.
#[derive(Debug, Default)]
pub struct Progress {
    phases: Mutex<Phases>,
    done: AtomicU64,
    stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct Phases {
    current: Option<Phase>,
    ended: Vec<EndedPhase>,
}

impl Phases {
    /// Ends the phase, and begins the next, or goes on with one of which some steps are done.
    fn begin(&mut self, name: &'static str, total: Option<u64>, done: u64) {
        self.end();
        let began = Instant::now();
        let before = self.ended.iter().find(|own| own.name == name && done > 0);
        self.current = Some(Phase { name, total, since: before.map_or(began, |own| own.since), began });
    }

    fn end(&mut self) {
        let Some(Phase { name, since, began, .. }) = self.current.take() else { return };
        let took = began.elapsed();
        match self.ended.iter_mut().find(|own| own.name == name) {
            Some(own) => *own = EndedPhase { name, since, took: own.took + took },
            None => self.ended.push(EndedPhase { name, since, took }),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Phase {
    name: &'static str,
    total: Option<u64>,
    /// When its first turn began, and when this one did.
    since: Instant,
    began: Instant,
}

#[derive(Debug)]
struct EndedPhase {
    name: &'static str,
    since: Instant,
    took: Duration,
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
    /// When the phase began; for one that takes turns with others, when its first turn did.
    pub since: Instant,
}

impl Progress {
    /// Begins a phase with `total` steps, mostly rows.
    pub fn start(&self, phase: &'static str, total: Option<u64>) {
        let mut phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        phases.begin(phase, total, 0);
        self.done.store(0, Ordering::Relaxed);
    }

    /// Goes on with a phase that takes turns with others, of whose `total` steps `done` are done.
    pub fn resume(&self, phase: &'static str, total: u64, done: u64) {
        let mut phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        phases.begin(phase, Some(total), done);
        self.done.store(done, Ordering::Relaxed);
    }

    /// Counts `steps` more as done.
    pub fn advance(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// Ends the phase.
    pub fn finish(&self) {
        self.phases.lock().unwrap_or_else(PoisonError::into_inner).end();
    }

    /// Asks the work to end soon, with [`Error::Stopped`]; what it made is removed. Work that has just finished stays.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Fails once somebody asked for an end.
    pub fn go_on(&self) -> Result<()> {
        if self.stopped.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }

    /// How long each phase that has ended took, in the order in which they began; phases of the same name together.
    pub fn took(&self) -> Vec<(&'static str, Duration)> {
        let phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        phases.ended.iter().map(|own| (own.name, own.took)).collect()
    }

    /// The current phase, if there is one.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let phase = self.phases.lock().unwrap_or_else(PoisonError::into_inner).current?;
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

    #[test]
    fn turns_of_a_phase_are_counted_together() {
        let progress = Progress::default();
        progress.resume("splitting", 10, 0);
        progress.advance(4);
        let first = progress.snapshot().unwrap();
        progress.start("sorting", None);
        progress.advance(9);
        assert!(progress.snapshot().unwrap().since > first.since);
        progress.resume("splitting", 10, first.done);
        progress.advance(1);
        assert_eq!(progress.snapshot().unwrap(), Snapshot { done: 5, ..first });
        // A phase that starts again has no earlier turn.
        progress.start("splitting", None);
        assert!(progress.snapshot().unwrap().since > first.since);
    }

    #[test]
    fn work_goes_on_until_somebody_stops_it() {
        let progress = Progress::default();
        assert!(progress.go_on().is_ok());
        progress.stop();
        progress.start("counting", None);
        assert!(matches!(progress.go_on(), Err(Error::Stopped)));
    }

    #[test]
    fn phases_that_ended_are_told_once_each() {
        let progress = Progress::default();
        for phase in ["counting", "sorting", "counting"] {
            progress.start(phase, None);
        }
        let names = |progress: &Progress| progress.took().iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names(&progress), ["counting", "sorting"]);
        let before = progress.took()[0].1;
        progress.finish();
        assert_eq!(names(&progress), ["counting", "sorting"]);
        assert!(progress.took()[0].1 >= before);
    }
}
