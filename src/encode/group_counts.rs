//! How many people does a group have, and how often does each sensitive value occur among them?

use super::rows::People;

/// What a group would publish of its sensitive values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupCounts {
    /// Number of people.
    pub people: u64,
    /// Count of every sensitive value, by code.
    pub counts: Vec<u64>,
}

impl GroupCounts {
    /// Adds the counts of other people.
    pub fn add(&mut self, other: &GroupCounts) {
        self.people += other.people;
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, others)| *own += others);
    }

    /// Number of different sensitive values.
    pub fn distinct(&self) -> usize {
        self.counts.iter().filter(|&&count| count > 0).count()
    }

    /// How many people and values the part counts beside its values: what a triple's value may be.
    pub(crate) fn slots(&self, people: People) -> usize {
        self.counts.len() + usize::from(people == People::Listed)
    }
}
