//! Which finished groups may still be dissolved?
//!
//! Memory: the records of at most as many people as it may hold.

use std::collections::BTreeMap;

use super::people::PersonRecord;
use crate::math::robust::Priors;

/// A finished group: the records of its people.
pub(super) type GroupRecords = Vec<Vec<u8>>;

/// Finished groups that may still be dissolved: those that help most to hide others.
pub(super) struct GroupsKeptBack {
    most: u64,
    held: u64,
    seen: u64,
    /// By how much they help, and by number.
    groups: BTreeMap<(u64, u64), GroupRecords>,
}

impl GroupsKeptBack {
    /// Holds at most so many people.
    pub(super) fn new(most: u64) -> Self {
        GroupsKeptBack { most, held: 0, seen: 0, groups: BTreeMap::new() }
    }

    /// Keeps a group back that helps so much, at least 0, and returns those for which there is no room any more.
    pub(super) fn keep(&mut self, group: GroupRecords, helps: f64) -> Vec<GroupRecords> {
        self.seen += 1;
        self.held += group.len() as u64;
        // Among numbers that are not negative, bits are in the order of the numbers.
        self.groups.insert((helps.max(0.0).to_bits(), self.seen), group);
        let mut returned = Vec::new();
        while self.held > self.most {
            let Some((_, group)) = self.groups.pop_first() else { break };
            self.held -= group.len() as u64;
            returned.push(group);
        }
        returned
    }

    /// The groups that are kept back.
    pub(super) fn into_groups(self) -> Vec<GroupRecords> {
        self.groups.into_values().collect()
    }
}

/// The most likely value of each signature, and how likely it and the next one are; 16 B per signature.
pub(super) struct LikelyValues(Vec<Vec<(u32, f32, f32)>>);

impl LikelyValues {
    pub(super) fn new(priors: &Priors) -> Self {
        let two = |set: usize, signature: u32| {
            let row =
                priors.row(set, signature).map(|(value, rank)| (value, priors.levels.near(rank) as f32));
            row.fold((0, 0.0, 0.0), |(value, most, next), (own, prior)| match prior > most {
                true => (own, prior, most),
                false => (value, most, prior.max(next)),
            })
        };
        let set = |set: usize| (0..priors.signatures(set) as u32).map(|own| two(set, own)).collect();
        LikelyValues((0..priors.sets()).map(set).collect())
    }

    pub(super) fn sets(&self) -> usize {
        self.0.len()
    }

    /// How likely the most likely value other than `value` is for somebody with these signatures.
    pub(super) fn other_than(&self, signatures: &[u32], value: u32) -> f64 {
        let own = self.0.iter().zip(signatures).map(|(set, own)| set[*own as usize]);
        own.map(|(likely, most, next)| f64::from(if likely == value { next } else { most }))
            .fold(0.0, f64::max)
    }
}

/// The payloads and the sensitive codes of a group's people, both ascending.
pub(super) fn published(group: &[Vec<u8>]) -> (Vec<&[u8]>, Vec<u16>) {
    let person = |record: &Vec<u8>| PersonRecord::read(record).value;
    let mut values: Vec<u16> = group.iter().map(person).collect();
    let mut people: Vec<&[u8]> = group.iter().map(|record| PersonRecord::read(record).travelling).collect();
    people.sort_unstable();
    values.sort_unstable();
    (people, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_that_help_most_are_kept_back() {
        let mut kept = GroupsKeptBack::new(9);
        let group = |name: u8| vec![vec![name]; 3];
        let mut returned = Vec::new();
        for (name, helps) in [(1, 0.3), (2, 0.1), (3, 0.9), (4, 0.2), (5, 0.5)] {
            returned.extend(kept.keep(group(name), helps));
        }
        assert_eq!(returned, [group(2), group(4)]);
        assert_eq!(kept.into_groups(), [group(1), group(5), group(3)]);
    }
}
