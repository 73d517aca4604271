//! Which finished groups may still be dissolved?
//!
//! Memory: the records of at most as many people as it may hold.

use super::people::PersonRecord;
use crate::math::random::mix;

/// A finished group: the records of its people.
pub(super) type GroupRecords = Vec<Vec<u8>>;

/// Finished groups that may still be dissolved: all of a table of at most `most` people, otherwise a sample by number.
pub(super) struct GroupsKeptBack {
    most: u64,
    /// The people of the table.
    people: u64,
    seen: u64,
    held: u64,
    pub(super) groups: Vec<GroupRecords>,
}

impl GroupsKeptBack {
    pub(super) fn new(most: u64, people: u64) -> Self {
        GroupsKeptBack { most, people, seen: 0, held: 0, groups: Vec::new() }
    }

    /// Keeps a group back, or returns it.
    pub(super) fn keep(&mut self, group: GroupRecords) -> Option<GroupRecords> {
        self.seen += 1;
        let share = (u128::from(mix(self.seen)) * u128::from(self.people)) >> 64;
        if share >= u128::from(self.most) || self.held + group.len() as u64 > self.most {
            return Some(group);
        }
        self.held += group.len() as u64;
        self.groups.push(group);
        None
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

    fn group(people: std::ops::Range<u8>) -> GroupRecords {
        people.map(|person| vec![person]).collect()
    }

    #[test]
    fn a_sample_of_a_large_table_is_kept_back() {
        let mut kept = GroupsKeptBack::new(40, 4000);
        let returned = (0..1000).filter(|_| kept.keep(group(0..4)).is_some()).count();
        assert!((990..1000).contains(&returned), "{returned}");
    }
}
