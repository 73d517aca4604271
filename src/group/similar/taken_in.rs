//! Which groups take in the people whom no group could hold?
//!
//! Whoever counts the table subtracts what is published, so people who are left out must pass as a group; then they can be
//! published as one. Finished groups are dissolved and join them until all of them together keep every posterior at most 1/r:
//! the more people there are, the closer posteriors come to priors. Groups are taken evenly from those that were kept back.
//!
//! Memory: the records of at most [`GroupsKeptBack::most`] people.

use super::people::PersonRecord;
use crate::error::Result;
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

    /// Makes one group of the people who are left and a few groups, as many as `passes` needs; the people who are still
    /// left are returned next to the groups.
    pub(super) fn take_in(
        mut self,
        left: GroupRecords,
        passes: &dyn Fn(&[&[u8]]) -> Result<bool>,
    ) -> Result<(Vec<GroupRecords>, GroupRecords)> {
        if left.is_empty() || left.len() as u64 > self.most {
            return Ok((self.groups, left));
        }
        let all = self.groups.len();
        let doubled = std::iter::successors(Some(1), |many| Some(many * 4)).take_while(|many| *many < all);
        for many in std::iter::once(0).chain(doubled).chain(std::iter::once(all)) {
            let dissolved = |at: usize| (at * many) / all != ((at + 1) * many) / all;
            let joining = self.groups.iter().enumerate().filter(|(at, _)| dissolved(*at));
            let records = left.iter().chain(joining.flat_map(|(_, group)| group));
            if passes(&records.map(Vec::as_slice).collect::<Vec<_>>())? {
                let mut joined = left;
                let mut at = 0;
                self.groups.retain_mut(|group| {
                    at += 1;
                    let joins = dissolved(at - 1);
                    if joins {
                        joined.append(group);
                    }
                    !joins
                });
                self.groups.push(joined);
                return Ok((self.groups, Vec::new()));
            }
        }
        Ok((self.groups, left))
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

    fn kept(groups: u8) -> GroupsKeptBack {
        let mut kept = GroupsKeptBack::new(100, 40);
        for number in 0..groups {
            assert_eq!(kept.keep(group(number * 4..number * 4 + 4)), None);
        }
        kept
    }

    #[test]
    fn few_groups_join_the_people_who_are_left() {
        let enough = |needed: usize| move |people: &[&[u8]]| Ok(people.len() >= needed);
        for (needed, groups) in [(2, 11), (6, 10), (7, 7), (18, 7), (42, 1)] {
            let (published, left) = kept(10).take_in(group(200..202), &enough(needed)).unwrap();
            assert_eq!((published.len(), left.len()), (groups, 0), "{needed}");
            let mut people: Vec<u8> = published.concat().concat();
            people.sort_unstable();
            assert!(people.iter().copied().eq((0..40).chain(200..202)));
        }
        let (published, left) = kept(10).take_in(group(200..202), &enough(43)).unwrap();
        assert_eq!((published.len(), left.len()), (10, 2));
    }

    #[test]
    fn a_sample_of_a_large_table_is_kept_back() {
        let mut kept = GroupsKeptBack::new(40, 4000);
        let returned = (0..1000).filter(|_| kept.keep(group(0..4)).is_some()).count();
        assert!((990..1000).contains(&returned), "{returned}");
    }
}
