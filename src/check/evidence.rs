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

/// A worker hands over evidence before it is more than this, little in tests, so that they exercise this case. The lists of
/// 65,535 values alone take 2.6 MB.
const WORKER_BYTES: u64 = if cfg!(test) { 1 << 16 } else { 8 << 20 };

/// The evidence of all workers.
pub(super) struct SharedEvidence {
    judge: Judge,
    /// At most so much is held; less than is reserved.
    bytes: u64,
    reserved: Reservation,
}

impl SharedEvidence {
    /// Nothing observed yet.
    pub fn new(charge: &Arc<Charge>, budget: &Arc<Budget>) -> Result<Self> {
        let reserved = budget.reserve(STATISTICS, 0)?;
        Ok(SharedEvidence { judge: Judge::new(charge), bytes: 0, reserved })
    }

    /// Adds a group.
    pub fn observe(&mut self, group: &CountedGroup, number: u64) -> Result<()> {
        self.make_room(self.judge.most_bytes(group))?;
        self.judge.observe(group, number);
        Ok(())
    }

    /// Adds what a worker remembers, which takes so many bytes.
    pub fn merge(&mut self, mut other: Judge, bytes: u64) -> Result<()> {
        self.make_room(bytes)?;
        // What is little takes little time to add.
        if other.bytes() > self.judge.bytes() {
            std::mem::swap(&mut self.judge, &mut other);
        }
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
    shared: &'e Mutex<SharedEvidence>,
    judge: Judge,
    /// At most so much is held here.
    bytes: u64,
    /// What is held before the first group.
    empty: u64,
    /// The number of the last group that is remembered here.
    last: Option<u64>,
}

impl<'e> Worker<'e> {
    /// Nothing observed yet.
    pub fn new(charge: &'e Arc<Charge>, shared: &'e Mutex<SharedEvidence>) -> Self {
        let judge = Judge::new(charge);
        let empty = judge.bytes();
        Worker { charge, shared, judge, bytes: empty, empty, last: None }
    }

    /// Adds a group, whose number is larger than those of the groups before.
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
        self.last = Some(number);
        self.judge.observe(group, number);
        Ok(())
    }

    /// Adds what is remembered here to the evidence of all workers.
    pub fn hand_over(&mut self) -> Result<()> {
        let judge = std::mem::replace(&mut self.judge, Judge::new(self.charge));
        self.last = None;
        let bytes = std::mem::replace(&mut self.bytes, self.empty).min(judge.bytes());
        let mut shared = self.shared();
        shared.merge(judge, bytes)?;
        self.judge.explore_like(&shared.judge);
        Ok(())
    }

    fn shared(&self) -> MutexGuard<'e, SharedEvidence> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The workers of a scan, as many as there are threads. They keep what they remember from one part of the table to the
/// next, because most groups are dismissed by the worst ones seen.
///
/// Invariant: a worker sees groups in the order of their numbers, so that of equal ones the first is remembered.
pub(super) struct Workers<'e> {
    charge: &'e Arc<Charge>,
    shared: &'e Mutex<SharedEvidence>,
    idle: Mutex<Vec<Worker<'e>>>,
}

impl<'e> Workers<'e> {
    /// None have begun.
    pub fn new(charge: &'e Arc<Charge>, shared: &'e Mutex<SharedEvidence>) -> Self {
        Workers { charge, shared, idle: Mutex::default() }
    }

    /// Lets a worker judge the groups from this number on.
    pub fn judge<T>(&self, first: u64, work: impl FnOnce(&mut Worker<'e>) -> Result<T>) -> Result<T> {
        let idle = self.idle().pop();
        let mut worker = idle.unwrap_or_else(|| Worker::new(self.charge, self.shared));
        if worker.last.is_some_and(|last| first <= last) {
            worker.hand_over()?;
        }
        let done = work(&mut worker)?;
        self.idle().push(worker);
        Ok(done)
    }

    /// Adds what all remember to the evidence.
    pub fn hand_over(&self) -> Result<()> {
        self.idle().drain(..).try_for_each(|mut worker| worker.hand_over())
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Worker<'e>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::math::skyline::{Confidence, Knowledge, Point, Values};
    use crate::model::finding::Finding;
    use crate::model::judge::{Requirements, ValueNames, ValueRules};
    use crate::model::skyline::ProtectedValues;
    use crate::model::skyline::knowledge::WantedSkylines;

    /// A point for every value, and the groups that decide about it at every point.
    fn charge() -> Arc<Charge> {
        let confidence = Confidence::parse("0.5").unwrap();
        let point = Point { knowledge: Knowledge { l: 1, k: 2, m: 1 }, confidence };
        let requirements = Requirements::points(vec![(ProtectedValues::Every, point)]);
        let (wanted, rules) = (WantedSkylines::of(requirements.skyline()), ValueRules::default());
        let code = &mut |_: &str| unreachable!("no value has a name");
        Arc::new(Charge::new(Values::Single, &requirements, rules, &wanted, code).unwrap())
    }

    /// Each of the values from `first` on occurs once or twice.
    fn group(first: u32, values: u32) -> CountedGroup {
        let times = |code: u32| 1 + u64::from(code % 2);
        let mut group = CountedGroup::of((first..first + values).map(times).sum());
        (first..first + values).for_each(|code| group.add(code, times(code)));
        group
    }

    fn finding(judge: &mut Judge) -> Finding {
        let names: Vec<Arc<str>> = (0..500).map(|code| code.to_string().into()).collect();
        judge.finish(&ValueNames { column: "sick", names: &names, possible: &|_| true }).unwrap()
    }

    #[test]
    fn workers_find_together_what_one_judge_finds() {
        let (charge, budget) = (charge(), Budget::new(1 << 30));
        let mut alone = Judge::new(&charge);
        let evidence = Mutex::new(SharedEvidence::new(&charge, &budget).unwrap());
        let mut workers = [0; 3].map(|_| Worker::new(&charge, &evidence));
        for number in 0..200 {
            // Some groups are larger than what a worker may hold.
            let own = group(number % 7 * 40, if number % 50 == 0 { 200 } else { 3 + number % 40 });
            alone.observe(&own, u64::from(number));
            workers[number as usize % 3].observe(&own, u64::from(number)).unwrap();
            // The lists of all values double.
            let most = WORKER_BYTES + (1 << 14);
            assert!(workers.iter().all(|worker| worker.judge.bytes() <= worker.empty + most));
        }
        workers.iter_mut().for_each(|worker| worker.hand_over().unwrap());
        drop(workers);
        let (mut together, room) = evidence.into_inner().unwrap().finish().unwrap();
        assert_eq!(room.bytes(), together.bytes());
        assert_eq!(finding(&mut together), finding(&mut alone));
        assert_eq!(together.sizes.groups, 200);
    }

    #[test]
    fn of_equal_groups_the_first_is_remembered_whatever_is_judged_first() {
        let (charge, budget) = (charge(), Budget::new(1 << 30));
        let evidence = Mutex::new(SharedEvidence::new(&charge, &budget).unwrap());
        let workers = Workers::new(&charge, &evidence);
        for number in [5, 9, 2, 7] {
            workers.judge(number, |worker| worker.observe(&group(0, 4), number)).unwrap();
        }
        workers.hand_over().unwrap();
        drop(workers);
        let (judge, _room) = evidence.into_inner().unwrap().finish().unwrap();
        let skyline = judge.skyline().unwrap();
        assert!(skyline.evidence().all(|(.., own)| own.witness().is_some_and(|worst| worst.target == 2)));
        assert_eq!((skyline.evidence().count(), judge.sizes.groups), (4, 4));
    }

    #[test]
    fn evidence_is_refused_before_it_exceeds_the_budget() {
        let (charge, budget) = (charge(), Budget::new(1 << 17));
        let mut evidence = SharedEvidence::new(&charge, &budget).unwrap();
        let refused = (0..).find_map(|number| {
            let refused = evidence.observe(&group(number * 10, 10), u64::from(number)).err();
            // The list of all values doubles.
            assert!(evidence.judge.bytes() <= budget.total() + (1 << 14));
            refused
        });
        assert!(matches!(refused, Some(Error::Memory { budget: 131_072, .. })));
        assert!(evidence.judge.sizes.groups > 2);
    }
}
