//! How much do the judges of a scan hold?
//!
//! What a judge remembers grows with the values that it sees. Workers judge on their own, and hand over what they
//! remember before it is large; evidence merges in any order.
//!
//! Memory: what the values seen take is reserved before they are added; at most [`WORKER_BYTES`] per worker are not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::model::counted_group::CountedGroup;
use crate::model::judge::{Charge, Judge, STATISTICS};
use crate::resources::budget::{Budget, Reservation};

/// A worker hands over evidence of more than this.
const WORKER_BYTES: u64 = 2 << 20;

/// The evidence of all workers.
pub(super) struct Evidence {
    judge: Judge,
    /// At most so much is held; less than is reserved.
    bytes: u64,
    reserved: Reservation,
}

impl Evidence {
    /// Nothing observed yet.
    pub fn new(charge: &Arc<Charge>, budget: &Arc<Budget>) -> Result<Self> {
        let reserved = budget.reserve(STATISTICS, 0)?;
        Ok(Evidence { judge: Judge::new(charge), bytes: 0, reserved })
    }

    /// Adds a group.
    pub fn observe(&mut self, group: &CountedGroup, number: u64) -> Result<()> {
        self.make_room(self.judge.most_bytes(group))?;
        self.judge.observe(group, number);
        Ok(())
    }

    /// Adds what a worker remembers, which takes so many bytes.
    fn merge(&mut self, other: Judge, bytes: u64) -> Result<()> {
        self.make_room(bytes)?;
        self.judge.merge(other);
        Ok(())
    }

    /// Reserves so many bytes more. Most values were seen before and need none, so what is held is measured again once all
    /// of this could be used up; a quarter more is reserved, if there is room, so that this happens rarely.
    fn make_room(&mut self, more: u64) -> Result<()> {
        self.bytes += more;
        if self.bytes > self.reserved.bytes() {
            self.bytes = self.judge.bytes() + more;
            let ample = self.bytes + self.bytes / 4 + WORKER_BYTES;
            if self.reserved.resize(STATISTICS, ample).is_err() {
                self.reserved.resize(STATISTICS, self.bytes)?;
            }
        }
        Ok(())
    }

    /// The judge of all groups, with the reservation for what it holds.
    pub fn finish(mut self) -> Result<(Judge, Reservation)> {
        self.reserved.resize(STATISTICS, self.judge.bytes())?;
        Ok((self.judge, self.reserved))
    }
}

/// A worker that judges groups for the evidence that all share.
pub(super) struct Worker<'e> {
    charge: &'e Arc<Charge>,
    shared: &'e Mutex<Evidence>,
    judge: Judge,
    /// At most so much is held here.
    bytes: u64,
    /// What is held before the first group.
    empty: u64,
}

impl<'e> Worker<'e> {
    /// Nothing observed yet.
    pub fn new(charge: &'e Arc<Charge>, shared: &'e Mutex<Evidence>) -> Self {
        let judge = Judge::new(charge);
        let empty = judge.bytes();
        Worker { charge, shared, judge, bytes: empty, empty }
    }

    /// Adds a group.
    pub fn observe(&mut self, group: &CountedGroup, number: u64) -> Result<()> {
        let more = self.judge.most_bytes(group);
        if more > WORKER_BYTES / 2 {
            return self.shared().observe(group, number);
        }
        if self.bytes + more > self.empty + WORKER_BYTES {
            self.bytes = self.judge.bytes();
            if self.bytes > self.empty + WORKER_BYTES / 2 {
                self.hand_over()?;
            }
        }
        self.bytes += more;
        self.judge.observe(group, number);
        Ok(())
    }

    /// Adds what is remembered here to the evidence of all workers.
    pub fn hand_over(&mut self) -> Result<()> {
        let judge = std::mem::replace(&mut self.judge, Judge::new(self.charge));
        let bytes = std::mem::replace(&mut self.bytes, self.empty).min(judge.bytes());
        self.shared().merge(judge, bytes)
    }

    fn shared(&self) -> MutexGuard<'e, Evidence> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
