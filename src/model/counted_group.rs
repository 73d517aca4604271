//! The people of one published group and how often each sensitive value occurs among them.
//!
//! Memory: 8 bytes for every code up to the largest one seen; reused from group to group.

/// A group as a check counts it: values by their codes, of which only those that occur are listed.
#[derive(Debug, Default)]
pub struct CountedGroup {
    /// People, with and without a value.
    pub people: u64,
    counts: Vec<u64>,
    present: Vec<u32>,
    /// The values of one person, while each is counted once.
    person: Vec<u32>,
}

impl CountedGroup {
    /// A group with this number of people, without values yet.
    pub fn of(people: u64) -> Self {
        CountedGroup { people, ..CountedGroup::default() }
    }

    /// Adds `times` > 0 occurrences of a value.
    #[inline]
    pub fn add(&mut self, code: u32, times: u64) {
        let place = code as usize;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        if self.counts[place] == 0 {
            self.present.push(code);
        }
        // A saturated sum does not equal any number of people, so it is refused and never wraps to one that
        // fits.
        self.counts[place] = self.counts[place].saturating_add(times);
    }

    /// Adds the values of `times` people with the same values, each of them once.
    pub fn add_once(&mut self, codes: impl Iterator<Item = u32>, times: u64) {
        let mut person = std::mem::take(&mut self.person);
        person.clear();
        person.extend(codes);
        person.sort_unstable();
        person.dedup();
        person.iter().for_each(|&code| self.add(code, times));
        self.person = person;
    }

    /// Adds the people and values of another part of the same group.
    pub fn join(&mut self, other: &CountedGroup) {
        self.people += other.people;
        other.counts().for_each(|(code, times)| self.add(code, times));
    }

    /// The values that occur, each once, with their counts.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        self.present.iter().map(|&code| (code, self.counts[code as usize]))
    }

    /// Every code is below this.
    pub fn code_limit(&self) -> usize {
        self.counts.len()
    }

    /// How many different values occur.
    pub fn distinct(&self) -> u64 {
        self.present.len() as u64
    }

    /// Resets to an empty group; O(values that occurred).
    pub fn clear(&mut self) {
        self.people = 0;
        for code in self.present.drain(..) {
            self.counts[code as usize] = 0;
        }
    }
}
