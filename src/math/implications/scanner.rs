//! What do the buckets of one scan disclose?
//!
//! Memory: that of [`Disclosure`], and at most 4096 buckets of K + 1 counts that have been seen before, some of which
//! show at once that most others cannot lower a minimum.

use super::bucket::{Bucket, Placements};
use super::disclosure::Disclosure;
use hashbrown::HashMap;

/// Reads buckets one by one; scans of parts of a release merge by [`Disclosure::merge`].
#[derive(Debug)]
pub struct Scanner {
    disclosure: Disclosure,
    /// The table of the last bucket, kept to reuse its memory.
    placements: Option<Placements>,
    /// The first position of equal buckets: later ones cannot lower a minimum.
    seen: HashMap<Bucket, u64, foldhash::fast::RandomState>,
    /// Buckets that disclose much with their positions, those that were of use most recently first.
    worst: Vec<(Bucket, u64)>,
}

/// Forgetting only costs time, so the memory of seen buckets is cleared when it is full.
const SEEN_LIMIT: usize = 4096;

/// Buckets that others are compared with.
const WORST_LIMIT: usize = 8;

impl Scanner {
    /// For 0 to `up_to` implications.
    pub fn new(up_to: usize) -> Self {
        Scanner {
            disclosure: Disclosure::new(up_to),
            placements: None,
            seen: HashMap::default(),
            worst: Vec::new(),
        }
    }

    /// Adds the bucket at a position that no other bucket of the release has.
    pub fn observe(&mut self, bucket: &Bucket, position: u64) {
        let atoms = self.disclosure.up_to() + 1;
        let shows = |(worse, first): &(Bucket, u64)| {
            *first <= position && worse.discloses_no_less_than(bucket, atoms)
        };
        if let Some(place) = self.worst.iter().position(shows) {
            self.worst[..=place].rotate_right(1);
            return;
        }
        if self.seen.get(bucket).is_some_and(|&first| first <= position) {
            return;
        }
        self.worst.truncate(WORST_LIMIT - 1);
        self.worst.insert(0, (bucket.clone(), position));
        let placements = match &mut self.placements {
            Some(placements) => {
                placements.reset(bucket);
                placements
            }
            none => none.insert(Placements::new(atoms, bucket)),
        };
        self.disclosure.observe(bucket, placements, position);
        if self.seen.len() >= SEEN_LIMIT {
            self.seen.clear();
        }
        self.seen.insert(bucket.clone(), position);
    }

    /// The disclosure of the buckets seen so far.
    pub fn disclosure(&self) -> &Disclosure {
        &self.disclosure
    }

    /// Adds the buckets of another scan.
    pub fn merge(&mut self, other: &Scanner) {
        self.disclosure.merge(&other.disclosure);
    }

    /// The disclosure of all buckets seen.
    pub fn finish(self) -> Disclosure {
        self.disclosure
    }
}
