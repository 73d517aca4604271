//! How are the counts of a very large number of nodes kept at once?
//!
//! A small node has only a few of the sensitive values: then only those that occur are kept.
//! Memory: 16 bytes per value that occurs, or 8 per value if there are few values; for all nodes of a level together,
//! never more than 16 bytes per sensitive value of their rows, and [`FEW`] counters per node.

use crate::encode::group_counts::GroupCounts;

/// Up to this many counters are kept unpacked.
const FEW: usize = 64;

/// A [`GroupCounts`] that is stored for later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Packed {
    /// All counts.
    Dense(GroupCounts),
    /// The counts above 0, with their codes.
    Sparse {
        /// Number of people.
        people: u64,
        /// Number of sensitive values.
        values: usize,
        /// Code and count.
        counts: Box<[(u16, u64)]>,
    },
}

impl Packed {
    /// Packs the counts.
    pub fn new(part: GroupCounts) -> Self {
        let values = part.counts.len();
        if values <= FEW {
            return Packed::Dense(part);
        }
        let occurring = (0..).zip(&part.counts).filter(|&(_, &count)| count > 0);
        let counts: Vec<(u16, u64)> = occurring.map(|(code, &count)| (code, count)).collect();
        match 2 * counts.len() < values {
            true => Packed::Sparse { people: part.people, values, counts: counts.into() },
            false => Packed::Dense(part),
        }
    }

    /// Number of people.
    pub fn people(&self) -> u64 {
        match self {
            Packed::Dense(part) => part.people,
            Packed::Sparse { people, .. } => *people,
        }
    }

    /// How often sensitive values occur in all.
    pub fn occurrences(&self) -> u64 {
        match self {
            Packed::Dense(part) => part.counts.iter().sum(),
            Packed::Sparse { counts, .. } => counts.iter().map(|(_, count)| count).sum(),
        }
    }

    /// Number of sensitive values.
    pub fn values(&self) -> usize {
        match self {
            Packed::Dense(part) => part.counts.len(),
            Packed::Sparse { values, .. } => *values,
        }
    }

    /// Restores the counts.
    pub fn unpack(self) -> GroupCounts {
        match self {
            Packed::Dense(part) => part,
            Packed::Sparse { people, values, counts } => {
                let mut part = GroupCounts { people, counts: vec![0; values] };
                counts.iter().for_each(|&(code, count)| part.counts[usize::from(code)] = count);
                part
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_as_they_were() {
        for values in [0, 1, FEW, FEW + 1, 1000] {
            for step in [1, 2, 3, 50] {
                let counts = (0..values).map(|code| if code % step == 0 { code as u64 + 1 } else { 0 });
                let part = GroupCounts { people: 7, counts: counts.collect() };
                let packed = Packed::new(part.clone());
                assert_eq!(packed.people(), 7);
                assert_eq!(matches!(packed, Packed::Sparse { .. }), values > FEW && step > 2);
                assert_eq!(packed.unpack(), part);
            }
        }
    }
}
