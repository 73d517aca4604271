//! Who is grouped with whom, and what is published about each group?
//!
//! Invariant: groups are numbered without gaps in the order of their first person, so that two partitions
//! are equal iff they group the same people.

use std::collections::HashMap;

/// A value's code; the caller numbers the distinct sensitive values.
pub type Value = u32;

/// The multiset of a group: its values in ascending order, each with its count (never 0).
pub(super) type Counts = Vec<(Value, u32)>;

/// A generalization function: a partition of the people 0..n into groups.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Partition {
    group_of: Vec<u32>,
    groups: Vec<Vec<u32>>,
}

impl Partition {
    /// Groups the people who have equal labels.
    pub fn by_label<L: std::hash::Hash + Eq>(labels: impl IntoIterator<Item = L>) -> Self {
        let mut number: HashMap<L, u32> = HashMap::new();
        let mut partition = Partition { group_of: Vec::new(), groups: Vec::new() };
        for (person, label) in labels.into_iter().enumerate() {
            let next = partition.groups.len() as u32;
            let group = *number.entry(label).or_insert(next);
            if group == next {
                partition.groups.push(Vec::new());
            }
            partition.groups[group as usize].push(person as u32);
            partition.group_of.push(group);
        }
        partition
    }

    /// How many people there are.
    pub fn people(&self) -> usize {
        self.group_of.len()
    }

    /// The groups, each with its people in ascending order.
    pub fn groups(&self) -> &[Vec<u32>] {
        &self.groups
    }

    /// The number of the group of a person.
    pub fn group_of(&self, person: u32) -> u32 {
        self.group_of[person as usize]
    }

    /// Does every group lie within one group of `coarser`?
    pub fn refines(&self, coarser: &Partition) -> bool {
        self.groups.iter().all(|group| {
            let first = coarser.group_of(group[0]);
            group.iter().all(|&person| coarser.group_of(person) == first)
        })
    }

    /// The common refinement: people who are together in both.
    pub(super) fn meet(&self, other: &Partition) -> Partition {
        Partition::by_label(self.group_of.iter().zip(&other.group_of))
    }

    /// The multiset of every group for a table of values.
    pub(super) fn publish(&self, table: &[Value]) -> Vec<Counts> {
        let group_values = |people: &Vec<u32>| tally(people.iter().map(|&p| (table[p as usize], 1)));
        self.groups.iter().map(group_values).collect()
    }
}

/// Adds up counts of values, in ascending order of the values.
pub(super) fn tally(counts: impl IntoIterator<Item = (Value, u32)>) -> Counts {
    let mut sorted: Counts = counts.into_iter().filter(|&(_, count)| count > 0).collect();
    sorted.sort_unstable();
    sorted.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    sorted
}
