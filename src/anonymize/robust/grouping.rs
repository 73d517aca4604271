//! Which groups do the people of each part form?
//!
//! Parts come out of the sorter one behind the other; a few are gathered, grouped in parallel and handed on in order. If
//! there is more than one part, those whom no group of their part can take are sorted into parts anew and tried once
//! more; who is still left is suppressed.
//!
//! Memory: [`Grouping::room`], the records of the gathered parts and what grouping takes of each.
//! Invariant: groups leave in an order fixed by the table and the policy; within a part by the contents of the columns
//! that travel, which tell nothing about how a group came about.

use std::sync::Arc;

use rayon::prelude::*;

use super::output::Output;
use super::tuples::Person;
use crate::error::Result;
use crate::math::robust::{Published, Requirement, Test, Tuples, delta_claims, group_part, parts};
use crate::model::robust::judge::{DeltaClaims, DeltaInstead, judged};
use crate::model::robust::{Bound, Known};
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use crate::resources::sorter::Sorter;
use crate::resources::spill::Spill;

/// What grouping takes per person, beside the record.
const PERSON_BYTES: u64 = 768;
/// Parts of the first round that are also grouped by the printed condition, for comparison.
const COMPARED: u32 = 2;

/// How people are grouped.
pub(super) struct Grouping<'a> {
    pub(super) known: &'a Known,
    pub(super) bound: &'a Bound,
    pub(super) requirement: &'a Requirement,
    pub(super) test: Test,
    /// The most people of a part.
    pub(super) part_people: u64,
    /// Parts that are grouped at once.
    pub(super) at_once: usize,
    pub(super) pool: &'a rayon::ThreadPool,
    pub(super) budget: &'a Arc<Budget>,
    pub(super) spill: &'a Spill,
    pub(super) progress: &'a Progress,
}

/// A group that is to be published.
pub(super) struct Finished<'a> {
    /// The columns that travel, ascending.
    pub(super) people: Vec<&'a [u8]>,
    /// The sensitive codes, ascending.
    pub(super) values: Vec<u16>,
}

/// The records of a part, one behind the other.
#[derive(Default)]
struct GroupCounts {
    number: u32,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// What became of a part: its groups and who is left, by place.
struct Grouped {
    groups: Vec<Vec<u32>>,
    left: Vec<u32>,
    compared: Option<DeltaInstead>,
}

impl GroupCounts {
    fn push(&mut self, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        self.ends.push(self.bytes.len());
    }

    fn record(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }

    fn person(&self, at: u32) -> Person<'_> {
        Person::read(self.record(at as usize))
    }
}

impl Grouping<'_> {
    /// What grouping some parts of `people` people at once takes, with records of `record_bytes`.
    pub(super) fn room(at_once: usize, people: u64, record_bytes: u64) -> u64 {
        at_once as u64 * people * (PERSON_BYTES + record_bytes)
    }

    /// Groups everybody in the sorter; `count` is the number of parts.
    pub(super) fn run(
        &self,
        sorter: Sorter<'_>,
        count: u32,
        weights: &[u64],
        output: &mut Output<'_>,
    ) -> Result<Option<DeltaInstead>> {
        self.progress.start("grouping", Some(weights.iter().sum()));
        if count <= 1 {
            return self.round(sorter, COMPARED, output, |person, output| output.suppress(person.row));
        }
        let mut again = Sorter::new(self.budget, self.spill)?;
        let mut left = vec![0u64; weights.len()];
        let compared = self.round(sorter, COMPARED, output, |person, _| {
            left[person.combination as usize] += 1;
            person.push(&mut again)
        })?;
        let (places, _) = parts(self.known.priors(), &self.bound.signatures, &left, self.part_people);
        let mut sorter = Sorter::new(self.budget, self.spill)?;
        again.finish(|record| Person::read(record).dealt(&places).push(&mut sorter))?;
        self.progress.start("grouping who was left", Some(left.iter().sum()));
        self.round(sorter, 0, output, |person, output| output.suppress(person.row))?;
        self.progress.finish();
        Ok(compared)
    }

    fn round<'o>(
        &self,
        sorter: Sorter<'_>,
        compared: u32,
        output: &mut Output<'o>,
        mut leave: impl FnMut(Person<'_>, &mut Output<'o>) -> Result<()>,
    ) -> Result<Option<DeltaInstead>> {
        let mut waiting: Vec<GroupCounts> = Vec::new();
        let mut instead: Option<DeltaInstead> = None;
        let mut finish = |waiting: &mut Vec<GroupCounts>| -> Result<()> {
            let grouped: Vec<Grouped> = self.pool.install(|| {
                let one = |part: &GroupCounts| self.grouped(part, part.number < compared);
                waiting.par_iter().with_max_len(1).map(one).collect::<Result<_>>()
            })?;
            for (part, grouped) in waiting.iter().zip(&grouped) {
                for group in finished(part, &grouped.groups) {
                    output.group(&group)?;
                }
                grouped.left.iter().try_for_each(|&at| leave(part.person(at), output))?;
                if let Some(DeltaInstead { people, claims }) = grouped.compared {
                    let all = instead.get_or_insert_default();
                    all.people += people;
                    all.claims.merge(&claims);
                }
                self.progress.advance(part.ends.len() as u64);
            }
            waiting.clear();
            Ok(())
        };
        sorter.finish(|record| {
            let number = Person::read(record).part;
            if waiting.last().is_none_or(|part| part.number != number) {
                if waiting.len() == self.at_once {
                    finish(&mut waiting)?;
                }
                waiting.push(GroupCounts { number, ..GroupCounts::default() });
            }
            if let Some(part) = waiting.last_mut() {
                part.push(record);
            }
            Ok(())
        })?;
        finish(&mut waiting)?;
        Ok(instead)
    }

    fn grouped(&self, part: &GroupCounts, compare: bool) -> Result<Grouped> {
        let priors = self.known.priors();
        let sets = priors.sets();
        let mut values = Vec::with_capacity(part.ends.len());
        let mut signatures: Vec<Vec<u32>> = vec![Vec::with_capacity(part.ends.len()); sets];
        for at in 0..part.ends.len() as u32 {
            let person = part.person(at);
            values.push(self.bound.values[usize::from(person.value)]);
            let own = &self.bound.signatures[person.combination as usize * sets..][..sets];
            signatures.iter_mut().zip(own).for_each(|(all, &own)| all.push(own));
        }
        let signatures: Vec<&[u32]> = signatures.iter().map(Vec::as_slice).collect();
        let tuples = Tuples { values: &values, signatures: &signatures };
        let grouping = group_part(priors, self.requirement, self.test, tuples)?;
        let compared = if compare { Some(self.compared(tuples)?) } else { None };
        Ok(Grouped { groups: grouping.groups, left: grouping.suppressed, compared })
    }

    /// What the printed condition would have made of the same people.
    fn compared(&self, tuples: Tuples<'_>) -> Result<DeltaInstead> {
        let grouping = group_part(self.known.priors(), self.requirement, Test::Delta, tuples)?;
        let mut claims = DeltaClaims::default();
        let mut people = 0;
        for group in &grouping.groups {
            people += group.len() as u64;
            let mut values: Vec<(u32, u32)> =
                group.iter().map(|&tuple| (tuples.values[tuple as usize], 1)).collect();
            values.sort_unstable();
            let members = group.iter();
            let signatures: Vec<u32> = members
                .flat_map(|&tuple| tuples.signatures.iter().map(move |set| set[tuple as usize]))
                .collect();
            let published = Published { signatures: &signatures, values: &values };
            let verdict = judged(self.known, self.requirement, published)?.verdict;
            claims.add(delta_claims(self.known.priors(), self.requirement, published)?, &verdict);
        }
        Ok(DeltaInstead { people, claims })
    }
}

/// The groups of a part in the order of what they publish.
fn finished<'a>(part: &'a GroupCounts, groups: &[Vec<u32>]) -> Vec<Finished<'a>> {
    let one = |group: &Vec<u32>| {
        let mut people: Vec<&[u8]> = group.iter().map(|&at| part.person(at).travelling).collect();
        let mut values: Vec<u16> = group.iter().map(|&at| part.person(at).value).collect();
        people.sort_unstable();
        values.sort_unstable();
        Finished { people, values }
    };
    let mut finished: Vec<Finished<'_>> = groups.iter().map(one).collect();
    finished.sort_unstable_by(|a, b| (&a.people, &a.values).cmp(&(&b.people, &b.values)));
    finished
}
