//! What does a release show of one group?

use std::ops::Range;

use crate::encode::column::{Column, Splitting, Width};
use crate::group::groups::Group;
pub use crate::release::covers::Cover;

/// A group as a reader of the release sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Released {
    /// People.
    pub people: u64,
    /// What the label covers, per quasi-identifier.
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

    /// A group of the planner: ordered columns cover what lies between their cuts, others their node or
    /// the codes that occur.
    pub fn of_group(group: &Group, columns: &[Column]) -> Self {
        let cover = |(column, (extent, present)): (
            &Column,
            (&Range<u32>, &crate::group::groups::Present),
        )| match (&column.splitting, &column.width) {
            (Splitting::Tree(tree), _) => Cover::Range(tree.codes(tree.smallest_cover(present.ends))),
            (_, Width::Span(_)) => Cover::Range(extent.clone()),
            (_, Width::Share) => Cover::Listed(present.codes.iter().map(|&code| code.into()).collect()),
        };
        let covers = columns.iter().zip(group.extent.iter().zip(&group.present)).map(cover).collect();
        Released::new(group.part.people, covers, &group.part.counts)
    }
}
