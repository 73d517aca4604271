//! What does a release show of one group?

use std::ops::Range;

use crate::encode::column::{Column, Splitting, Width};
use crate::group::groups::Group;

/// The codes of a column that a label covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cover {
    /// Neighbouring codes.
    Range(Range<u32>),
    /// These codes, ascending.
    Listed(Vec<u32>),
}

impl Cover {
    /// How many codes are covered.
    pub fn len(&self) -> u64 {
        match self {
            Cover::Range(range) => range.len() as u64,
            Cover::Listed(codes) => codes.len() as u64,
        }
    }

    /// Whether no code is covered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of the codes are in a range.
    pub fn within(&self, range: &Range<u32>) -> u64 {
        match self {
            Cover::Range(own) => u64::from(own.end.min(range.end).saturating_sub(own.start.max(range.start))),
            Cover::Listed(codes) => {
                let below = |end: u32| codes.partition_point(|&code| code < end) as u64;
                below(range.end) - below(range.start)
            }
        }
    }

    /// The least and the greatest code.
    pub fn ends(&self) -> Option<(u32, u32)> {
        match self {
            Cover::Range(range) => (!range.is_empty()).then(|| (range.start, range.end - 1)),
            Cover::Listed(codes) => codes.first().copied().zip(codes.last().copied()),
        }
    }

    /// The codes as ranges of neighbours.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        let (whole, listed) = match self {
            Cover::Range(range) => (Some(range.clone()), &[][..]),
            Cover::Listed(codes) => (None, &codes[..]),
        };
        whole.into_iter().chain(listed.iter().map(|&code| code..code + 1))
    }
}

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
