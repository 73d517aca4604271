//! What does a release show about one group?

pub use crate::release::covers::Cover;

/// A group as a reader of the release sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Released {
    /// Number of people.
    pub people: u64,
    /// The codes that the label covers, per quasi-identifier.
    pub covers: Vec<Cover>,
    /// How often each sensitive value occurs: codes, ascending, and counts.
    pub values: Vec<(u32, u64)>,
}

impl Released {
    /// A group whose label covers these codes, with the count of every sensitive code.
    pub fn new(people: u64, covers: Vec<Cover>, counts: &[u64]) -> Self {
        let values = (0..).zip(counts.iter().copied()).filter(|&(_, count)| count > 0).collect();
        Released { people, covers, values }
    }
}
