//! Which groups do the people of each part form?
//!
//! Parts come out of the sorter one after the other; a few are collected, grouped in parallel and passed on in order.
//! Where a part leaves people, the most exposed choose first who hides them, if that leaves fewer.
//! If there is more than one part, people whom no group of their part can accept are sorted into new parts and tried
//! again, for as long as that helps. Those who are still left form larger groups; who fits in none of these is taken in by
//! groups that are dissolved, or suppressed.
//!
//! Memory: [`SimilarPeople::working_bytes`], the records of the collected parts and the memory for grouping each of
//! them.
//! Invariant: groups are passed on in an order determined by the table and the policy; within a part, by the contents
//! of the columns that travel, which reveal nothing about how a group was formed.

use std::sync::Arc;

use rayon::prelude::*;

use super::art::{SimilarGroups, group_part};
use super::exposed_first::{ExposedFirst, GUIDE_BYTES};
use super::kept_back::{GroupRecords, GroupsKeptBack, published};
use super::larger::LargerGroups;
use super::mixing::{Mixed, Mixing};
use super::parts::parts;
use super::people::PersonRecord;
use crate::encode::group_counts::{GroupCounts, Part};
use crate::error::Result;
use crate::group::groups::Group;
use crate::group::tree::CutTree;
use crate::math::robust::{Requirement, Test, Tuples};
use crate::model::robust::{Bound, KnownDistributions};
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use crate::resources::sorter::Sorter;
use crate::resources::spill::Spill;

/// Memory for grouping per person, in addition to the record.
const PERSON_BYTES: u64 = 768;

/// Memory for a person who is kept back or taken in, in addition to the record.
const KEPT_BYTES: u64 = 512;

/// The most rounds in which people are sorted into new parts.
const ROUNDS: usize = 8;

/// How people are grouped.
pub struct SimilarPeople<'a> {
    /// What the adversary knows.
    pub known: &'a KnownDistributions,
    /// The table, in the numbering of the known distributions.
    pub bound: &'a Bound,
    /// The requirement for every group.
    pub requirement: &'a Requirement,
    /// The condition that decides this while groups grow.
    pub test: Test,
    /// The most people in a part.
    pub part_people: u64,
    /// The number of parts that are grouped in parallel.
    pub at_once: usize,
    /// Threads to group on.
    pub pool: &'a rayon::ThreadPool,
    /// The memory budget.
    pub budget: &'a Arc<Budget>,
    /// Where records go that do not fit in memory.
    pub spill: &'a Spill,
    /// Reports progress.
    pub progress: &'a Progress,
}

/// The outcome for some people.
pub enum PlacedPeople<'a> {
    /// They form a group.
    Group {
        /// Its number, from 1.
        number: u64,
        /// The sensitive values that it publishes; its quasi-identifiers travel.
        group: Group,
        /// The payload of each person, ascending.
        people: &'a [&'a [u8]],
    },
    /// A person is in no group.
    LeftOut {
        /// The number of the row, from 0.
        row: u64,
    },
}

/// What becomes of the people of a part who fit in no group of different values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leftovers {
    AreTriedAgain,
    FormLargerGroups,
}

/// Receives the outcomes, with groups in the order of their numbers.
type Sink<'s> = dyn FnMut(PlacedPeople<'_>) -> Result<()> + 's;

/// The records of a part, one after the other.
#[derive(Default)]
struct PartRecords {
    number: u32,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl PartRecords {
    fn push(&mut self, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        self.ends.push(self.bytes.len());
    }

    fn record(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }

    fn person(&self, at: u32) -> PersonRecord<'_> {
        PersonRecord::read(self.record(at as usize))
    }
}

impl SimilarPeople<'_> {
    /// Memory for grouping `at_once` parts of `people` people in parallel, with records of `record_bytes`, the priors
    /// that guide them, and for the groups that are kept back.
    pub fn working_bytes(at_once: usize, people: u64, record_bytes: u64) -> u64 {
        let grouped = PERSON_BYTES + GUIDE_BYTES + record_bytes;
        people * (at_once as u64 * grouped + 2 * (KEPT_BYTES + record_bytes))
    }

    /// Groups everyone in the sorter; `count` is the number of parts, `weights` counts the people of each combination.
    pub fn group(&self, sorter: Sorter<'_>, count: u32, weights: &[u64], sink: &mut Sink<'_>) -> Result<()> {
        let people = weights.iter().sum();
        self.progress.start("grouping", Some(people));
        let mut finished = FinishedGroups {
            kept: GroupsKeptBack::new(self.part_people.min(people), people),
            number: 0,
            values: self.bound.values.len(),
        };
        let mut left = Vec::new();
        let mut collect = |person: PersonRecord<'_>, sink: &mut Sink<'_>| match left.len() as u64 {
            // More people than a part holds are not tried as one group.
            many if many <= self.part_people => {
                left.push(person.record());
                Ok(())
            }
            _ => sink(PlacedPeople::LeftOut { row: person.row }),
        };
        if count <= 1 {
            self.round(sorter, Leftovers::FormLargerGroups, &mut finished, sink, &mut collect)?;
        } else {
            let (mut sorter, mut waiting) = (sorter, people);
            for _ in 0..ROUNDS {
                let (dealt, open) = self.exchange(sorter, weights.len(), &mut finished, sink)?;
                sorter = dealt;
                self.progress.start("grouping who was left", Some(open));
                // In one part everybody has met, and a few who found a group are not worth a round.
                let helps = open <= waiting - waiting / 16;
                if open <= self.part_people || !helps {
                    break;
                }
                waiting = open;
            }
            self.round(sorter, Leftovers::FormLargerGroups, &mut finished, sink, &mut collect)?;
        }
        let FinishedGroups { kept, mut number, values } = finished;
        let (groups, left) = self.take_in(kept.groups, left)?;
        let mut sorted: Vec<_> = groups.iter().map(|group| published(group)).collect();
        sorted.sort_unstable();
        for (people, held) in &sorted {
            number += 1;
            sink(PlacedPeople::Group { number, group: group_of(held, values), people })?;
        }
        left.iter()
            .try_for_each(|record| sink(PlacedPeople::LeftOut { row: PersonRecord::read(record).row }))?;
        self.progress.finish();
        Ok(())
    }

    /// Whether a distribution says that this person has their value.
    fn is_certain(&self, person: &PersonRecord<'_>) -> bool {
        let priors = self.known.priors();
        let own = &self.bound.signatures[person.combination as usize * priors.sets()..][..priors.sets()];
        own.iter().enumerate().any(|(set, &signature)| priors.is_certain(set, signature))
    }

    /// Groups the parts of a sorter; whoever is left is sorted into new parts. Returns these, and how many people there are.
    fn exchange<'s>(
        &'s self,
        sorter: Sorter<'_>,
        combinations: usize,
        finished: &mut FinishedGroups,
        sink: &mut Sink<'_>,
    ) -> Result<(Sorter<'s>, u64)> {
        let mut again = Sorter::new(self.budget, self.spill)?;
        let mut left = vec![0u64; combinations];
        self.round(sorter, Leftovers::AreTriedAgain, finished, sink, &mut |person, _| {
            left[person.combination as usize] += 1;
            person.push(&mut again)
        })?;
        let (places, _) = parts(self.known.priors(), &self.bound.signatures, &left, self.part_people);
        let mut dealt = Sorter::new(self.budget, self.spill)?;
        again.finish(|record| PersonRecord::read(record).dealt(&places).push(&mut dealt))?;
        Ok((dealt, left.iter().sum()))
    }

    /// Dissolves groups to take in people who are left; returns the groups, and who is still left.
    fn take_in(
        &self,
        groups: Vec<GroupRecords>,
        left: GroupRecords,
    ) -> Result<(Vec<GroupRecords>, GroupRecords)> {
        // Nobody can hide somebody whose value is known before.
        let (mut out, mut records): (GroupRecords, GroupRecords) =
            left.into_iter().partition(|record| self.is_certain(&PersonRecord::read(record)));
        let many = records.len();
        let mut numbers: Vec<Vec<u32>> = Vec::with_capacity(groups.len());
        for group in groups {
            let first = records.len() as u32;
            numbers.push((first..first + group.len() as u32).collect());
            records.extend(group);
        }
        let (values, signatures) = self.tuples(records.iter().map(|record| PersonRecord::read(record)));
        let signatures: Vec<&[u32]> = signatures.iter().map(Vec::as_slice).collect();
        let (priors, signatures) = self.known.priors().of_tuples(&signatures);
        let signatures: Vec<&[u32]> = signatures.iter().map(Vec::as_slice).collect();
        let mixing = Mixing {
            priors: &priors,
            requirement: self.requirement,
            tuples: Tuples { values: &values, signatures: &signatures },
            left: many,
            groups: &numbers,
            go_on: &|| self.progress.go_on(),
        };
        let Mixed { groups: made, dissolved, left } = mixing.mix()?;
        let mut dissolved = dissolved.into_iter().peekable();
        let mut all: Vec<Vec<u32>> = Vec::with_capacity(numbers.len());
        for (number, group) in numbers.into_iter().enumerate() {
            if dissolved.next_if_eq(&number).is_none() {
                all.push(group);
            }
        }
        all.extend(made);
        let mut take = |person: u32| std::mem::take(&mut records[person as usize]);
        out.extend(left.into_iter().map(&mut take));
        let groups = all.into_iter().map(|group| group.into_iter().map(&mut take).collect()).collect();
        Ok((groups, out))
    }

    /// The values of these people, and their signatures in each attribute set.
    fn tuples<'p>(&self, people: impl Iterator<Item = PersonRecord<'p>>) -> (Vec<u32>, Vec<Vec<u32>>) {
        let sets = self.known.priors().sets();
        let (mut values, mut signatures) = (Vec::new(), vec![Vec::new(); sets]);
        for person in people {
            values.push(self.bound.values[usize::from(person.value)]);
            let own = &self.bound.signatures[person.combination as usize * sets..][..sets];
            signatures.iter_mut().zip(own).for_each(|(all, &own): (&mut Vec<u32>, _)| all.push(own));
        }
        (values, signatures)
    }

    /// Groups the parts of a sorter; `leave` receives the people who fit nowhere.
    fn round(
        &self,
        sorter: Sorter<'_>,
        leftovers: Leftovers,
        finished: &mut FinishedGroups,
        sink: &mut Sink<'_>,
        leave: &mut dyn FnMut(PersonRecord<'_>, &mut Sink<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut waiting: Vec<PartRecords> = Vec::new();
        let mut finish = |waiting: &mut Vec<PartRecords>| -> Result<()> {
            self.progress.go_on()?;
            let grouped: Vec<SimilarGroups> = self.pool.install(|| {
                let one = |part: &PartRecords| self.group_records(part, leftovers);
                waiting.par_iter().with_max_len(1).map(one).collect::<Result<_>>()
            })?;
            for (part, grouped) in waiting.iter().zip(&grouped) {
                finished.add(part, &grouped.groups, sink)?;
                grouped.suppressed.iter().try_for_each(|&at| leave(part.person(at), sink))?;
                self.progress.advance(part.ends.len() as u64);
            }
            waiting.clear();
            Ok(())
        };
        sorter.finish(|record| {
            let number = PersonRecord::read(record).part;
            if waiting.last().is_none_or(|part| part.number != number) {
                if waiting.len() == self.at_once {
                    finish(&mut waiting)?;
                }
                waiting.push(PartRecords { number, ..PartRecords::default() });
            }
            if let Some(part) = waiting.last_mut() {
                part.push(record);
            }
            Ok(())
        })?;
        finish(&mut waiting)
    }

    /// Small groups in which the most exposed chose first, and groups of those who found none.
    fn exposed_first(&self, tuples: Tuples<'_>) -> Result<SimilarGroups> {
        let (priors, requirement) = (self.known.priors(), self.requirement);
        let hidden =
            ExposedFirst { priors, requirement, tuples, go_on: &|| self.progress.go_on() }.groups()?;
        let mut grouped = vec![false; tuples.values.len()];
        hidden.iter().flatten().for_each(|&tuple| grouped[tuple as usize] = true);
        let rest: Vec<u32> = (0..).zip(&grouped).filter(|(_, own)| !**own).map(|(tuple, _)| tuple).collect();
        let values: Vec<u32> = rest.iter().map(|&tuple| tuples.values[tuple as usize]).collect();
        let of_rest = |set: &&[u32]| rest.iter().map(|&tuple| set[tuple as usize]).collect();
        let signatures: Vec<Vec<u32>> = tuples.signatures.iter().map(of_rest).collect();
        let signatures: Vec<&[u32]> = signatures.iter().map(Vec::as_slice).collect();
        let of_rest = Tuples { values: &values, signatures: &signatures };
        let SimilarGroups { mut groups, mut suppressed } =
            group_part(priors, requirement, self.test, of_rest)?;
        groups.iter_mut().flatten().chain(&mut suppressed).for_each(|tuple| *tuple = rest[*tuple as usize]);
        groups.extend(hidden);
        Ok(SimilarGroups { groups, suppressed })
    }

    fn group_records(&self, part: &PartRecords, leftovers: Leftovers) -> Result<SimilarGroups> {
        let priors = self.known.priors();
        let (values, signatures) = self.tuples((0..part.ends.len() as u32).map(|at| part.person(at)));
        let signatures: Vec<&[u32]> = signatures.iter().map(Vec::as_slice).collect();
        let tuples = Tuples { values: &values, signatures: &signatures };
        let mut found = group_part(priors, self.requirement, self.test, tuples)?;
        if !found.suppressed.is_empty() {
            let other = self.exposed_first(tuples)?;
            if other.suppressed.len() < found.suppressed.len() {
                found = other;
            }
        }
        if leftovers == Leftovers::FormLargerGroups {
            LargerGroups { priors, requirement: self.requirement, tuples }.extend(&mut found);
        }
        Ok(found)
    }
}

/// The groups that are formed so far, most of them passed on.
struct FinishedGroups {
    kept: GroupsKeptBack,
    number: u64,
    /// How many sensitive values there are.
    values: usize,
}

impl FinishedGroups {
    /// Adds the groups of a part in the order of what they publish.
    fn add(&mut self, part: &PartRecords, groups: &[Vec<u32>], sink: &mut Sink<'_>) -> Result<()> {
        let records = |group: &Vec<u32>| group.iter().map(|&at| part.record(at as usize).to_vec()).collect();
        let mut groups: Vec<Vec<Vec<u8>>> = groups.iter().map(records).collect();
        groups.sort_by(|one, other| published(one).cmp(&published(other)));
        for group in groups {
            let Some(group) = self.kept.keep(group) else { continue };
            let (people, held) = published(&group);
            self.number += 1;
            let group = group_of(&held, self.values);
            sink(PlacedPeople::Group { number: self.number, group, people: &people })?;
        }
        Ok(())
    }
}

/// A group of people with these sensitive codes, out of `values`.
fn group_of(held: &[u16], values: usize) -> Group {
    let mut part = GroupCounts { people: held.len() as u64, counts: vec![0; values] };
    held.iter().for_each(|&value| part.counts[usize::from(value)] += 1);
    Group { node: CutTree::ROOT, present: vec![], part: Part::of(&part), obstacle: None }
}
