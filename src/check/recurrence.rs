//! Has a group recurred?
//!
//! While keys only ascend or only descend, no group can recur. Otherwise a finished group leaves a 64-bit
//! fingerprint of its key, and a fingerprint that is already present means "perhaps". Equal keys have equal
//! fingerprints, so "never" is certain; a false "perhaps" only costs a second scan.
//!
//! Memory: at most [`REMEMBERED`] fingerprints while the order holds; after that they are reserved from the
//! budget, and an exhausted budget also means "perhaps".

use std::cmp::Ordering;
use std::sync::Arc;

use hashbrown::HashSet;

use crate::resources::budget::{Budget, Reservation};
use crate::resources::byte_form::{ByteForm, ByteReader};

/// Fingerprints that are kept in case the order breaks (8 MiB); an ordered table never needs them.
const REMEMBERED: usize = 1 << 20;

/// The direction of a sequence of different keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// At most one key so far.
    Open,
    Ascending,
    Descending,
    Mixed,
}

impl Direction {
    /// The direction after one more step from a key to a different one.
    pub fn step(self, from: &[u8], to: &[u8]) -> Self {
        let step = match from.cmp(to) {
            Ordering::Less => Direction::Ascending,
            Ordering::Greater => Direction::Descending,
            Ordering::Equal => Direction::Mixed,
        };
        self.join(step)
    }

    /// The direction of both sequences, one after the other.
    pub fn join(self, next: Self) -> Self {
        match (self, next) {
            (Direction::Open, other) | (other, Direction::Open) => other,
            (own, other) if own == other => own,
            _ => Direction::Mixed,
        }
    }
}

/// A group's key.
type Key = Box<[u8]>;

/// The keys of consecutive groups.
#[derive(Debug)]
pub(super) struct Trail {
    pub direction: Direction,
    /// The smallest and the largest key.
    pub low: Key,
    pub high: Key,
    /// The first and the last key.
    pub first: Key,
    pub last: Key,
    /// One for each group, in order.
    pub fingerprints: Vec<u64>,
}

impl Trail {
    /// The trail of one group.
    pub fn new(key: &[u8]) -> Self {
        Trail {
            direction: Direction::Open,
            low: key.into(),
            high: key.into(),
            first: key.into(),
            last: key.into(),
            fingerprints: vec![fingerprint(key)],
        }
    }

    /// Adds a group whose key differs from the last one.
    pub fn push(&mut self, key: &[u8]) {
        self.direction = self.direction.step(&self.last, key);
        if *key < *self.low {
            replace(&mut self.low, key);
        }
        if *key > *self.high {
            replace(&mut self.high, key);
        }
        replace(&mut self.last, key);
        self.fingerprints.push(fingerprint(key));
    }
}

impl ByteForm for Trail {
    fn write(&self, bytes: &mut Vec<u8>) {
        let Trail { direction, low, high, first, last, fingerprints } = self;
        (*direction as u8).write(bytes);
        [low, high, first, last].into_iter().for_each(|key| key.write(bytes));
        fingerprints.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let kinds = [Direction::Open, Direction::Ascending, Direction::Descending, Direction::Mixed];
        let trail = Trail {
            direction: *kinds.get(usize::from(u8::read(bytes)?))?,
            low: ByteForm::read(bytes)?,
            high: ByteForm::read(bytes)?,
            first: ByteForm::read(bytes)?,
            last: ByteForm::read(bytes)?,
            fingerprints: ByteForm::read(bytes)?,
        };
        (!trail.fingerprints.is_empty()).then_some(trail)
    }
}

/// Keys mostly have the same length, so their memory can be reused.
fn replace(place: &mut Key, key: &[u8]) {
    if place.len() == key.len() {
        place.copy_from_slice(key);
    } else {
        *place = key.into();
    }
}

/// 64 bits that are equal for equal keys.
pub(super) fn fingerprint(key: &[u8]) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = foldhash::quality::FixedState::with_seed(0).build_hasher();
    hasher.write(key);
    hasher.finish()
}

/// Whether a group may have recurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returned {
    Never,
    Perhaps,
}

/// How a trail begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begins {
    /// With a group other than the last one seen.
    Anew,
    /// With more rows of the last group seen.
    WithMoreOfTheLast,
}

/// All groups of the table so far.
pub(super) struct Finished {
    budget: Arc<Budget>,
    direction: Direction,
    /// Smallest, largest and last key; `None` before the first group.
    keys: Option<[Key; 3]>,
    memory: Memory,
}

enum Memory {
    /// The order still holds; these fingerprints are kept in case it breaks, until there are too many.
    Spare(Option<Vec<u64>>),
    /// The order has broken.
    Needed(Fingerprints),
}

struct Fingerprints {
    /// Keys that left no fingerprint lie between these.
    between: Option<(Key, Key)>,
    seen: HashSet<u64, foldhash::fast::FixedState>,
    reserved: Reservation,
}

impl Finished {
    /// No groups yet.
    pub fn new(budget: &Arc<Budget>) -> Self {
        Finished {
            budget: budget.clone(),
            direction: Direction::Open,
            keys: None,
            memory: Memory::Spare(Some(Vec::new())),
        }
    }

    /// Adds the groups of a trail.
    pub fn add(&mut self, trail: Trail, begins: Begins) -> Returned {
        let mut direction = self.direction;
        if let (Begins::Anew, Some([_, _, last])) = (begins, &self.keys) {
            direction = direction.step(last, &trail.first);
        }
        self.direction = direction.join(trail.direction);
        let new = match begins {
            Begins::Anew => &trail.fingerprints[..],
            Begins::WithMoreOfTheLast => &trail.fingerprints[1..],
        };
        if self.direction == Direction::Mixed
            && let Memory::Spare(spare) = &mut self.memory
        {
            let spare = spare.take();
            match Fingerprints::new(&self.budget, spare, self.keys.as_ref()) {
                Some(fingerprints) => self.memory = Memory::Needed(fingerprints),
                None => return Returned::Perhaps,
            }
        }
        let returned = match &mut self.memory {
            Memory::Spare(spare) => {
                if spare.as_ref().is_some_and(|spare| spare.len() + new.len() > REMEMBERED) {
                    *spare = None;
                }
                if let Some(spare) = spare {
                    spare.extend_from_slice(new);
                }
                Returned::Never
            }
            Memory::Needed(fingerprints) => fingerprints.add(&trail, new),
        };
        let Trail { low, high, last, .. } = trail;
        self.keys = Some(match self.keys.take() {
            None => [low, high, last],
            Some([known_low, known_high, _]) => [known_low.min(low), known_high.max(high), last],
        });
        returned
    }
}

impl Fingerprints {
    /// Starts from what is known about the groups so far; `None` if memory is insufficient.
    fn new(budget: &Arc<Budget>, spare: Option<Vec<u64>>, keys: Option<&[Key; 3]>) -> Option<Self> {
        let mut fingerprints =
            Fingerprints { between: None, seen: HashSet::default(), reserved: budget.try_reserve(0)? };
        match spare {
            Some(spare) => {
                fingerprints.make_room(spare.len())?;
                // Ordered keys differ, but their fingerprints may collide; that is not a recurrence.
                fingerprints.seen.extend(spare);
            }
            None => fingerprints.between = keys.map(|[low, high, _]| (low.clone(), high.clone())),
        }
        Some(fingerprints)
    }

    fn add(&mut self, trail: &Trail, new: &[u64]) -> Returned {
        let overlaps = |(low, high): &(Key, Key)| trail.low <= *high && *low <= trail.high;
        if self.between.as_ref().is_some_and(overlaps) || self.make_room(new.len()).is_none() {
            return Returned::Perhaps;
        }
        if new.iter().all(|&fingerprint| self.seen.insert(fingerprint)) {
            Returned::Never
        } else {
            Returned::Perhaps
        }
    }

    /// Reserves memory for the set with `more` fingerprints, including while it moves to a larger table.
    fn make_room(&mut self, more: usize) -> Option<()> {
        let wanted = self.seen.len() + more;
        if wanted > self.seen.capacity() {
            // 9 bytes per slot, up to 16/7 slots per entry, and the old table next to the new one.
            let bytes = 32 * wanted as u64;
            self.reserved.resize("the fingerprints of the groups", bytes).ok()?;
            self.seen.reserve(more);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail(keys: &[u8]) -> Trail {
        let mut trail = Trail::new(&keys[..1]);
        keys[1..].iter().for_each(|key| trail.push(&[*key]));
        trail
    }

    fn walk(parts: &[&[u8]], budget: u64) -> Returned {
        let mut finished = Finished::new(&Budget::new(budget));
        let mut last = None;
        for part in parts {
            let begins = if last == Some(part[0]) { Begins::WithMoreOfTheLast } else { Begins::Anew };
            if finished.add(trail(part), begins) == Returned::Perhaps {
                return Returned::Perhaps;
            }
            last = part.last().copied();
        }
        Returned::Never
    }

    #[test]
    fn a_return_is_never_missed() {
        assert_eq!(walk(&[&[1, 2, 3], &[3, 4], &[4], &[4, 9]], 0), Returned::Never);
        assert_eq!(walk(&[&[9, 7], &[7, 3], &[1]], 0), Returned::Never);
        assert_eq!(walk(&[&[1, 5], &[3, 2], &[2], &[2, 9]], 1 << 20), Returned::Never);
        assert_eq!(walk(&[&[1, 5], &[3, 2], &[2, 9]], 10), Returned::Perhaps);
        assert_eq!(walk(&[&[1, 5], &[1]], 1 << 20), Returned::Perhaps);
        assert_eq!(walk(&[&[1, 5, 1]], 1 << 20), Returned::Perhaps);
        assert_eq!(walk(&[&[1, 5], &[5, 3], &[3, 4, 5]], 1 << 20), Returned::Perhaps);
        assert_eq!(walk(&[&[3], &[4], &[1], &[4]], 1 << 20), Returned::Perhaps);
    }

    #[test]
    fn forgotten_keys_are_kept_apart_by_their_range() {
        let mut finished = Finished::new(&Budget::new(1 << 20));
        finished.add(trail(&[10, 20, 30]), Begins::Anew);
        finished.memory = Memory::Spare(None);
        assert_eq!(finished.add(trail(&[5]), Begins::Anew), Returned::Never);
        assert_eq!(finished.add(trail(&[40, 50]), Begins::Anew), Returned::Never);
        assert_eq!(finished.add(trail(&[25]), Begins::Anew), Returned::Perhaps);
        assert_eq!(finished.add(trail(&[40]), Begins::Anew), Returned::Perhaps);
    }
}
