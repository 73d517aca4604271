//! The groups of a generalization function, as a release shows them.

use super::functions::CandidateFunction;
use super::people::CodedPeople;
use crate::encode::attribute::{Attribute, Coding};
use crate::encode::group_counts::{GroupCounts, Part};
use crate::error::Result;
use crate::group::groups::{Group, Present};
use crate::group::tree::CutTree;
use std::collections::{BTreeSet, HashMap};

/// The quasi-identifiers as a release of a function shows them.
pub struct PublishedAttributes {
    /// By column, in table order.
    pub attributes: Vec<Attribute>,
    /// For each column and code of the table, the code of its label; `None` if codes stay as they are.
    pub codes: Option<Vec<Vec<u16>>>,
}

impl PublishedAttributes {
    /// Creates the attributes for a function applied to these people.
    pub fn new(people: &CodedPeople, candidate: &CandidateFunction) -> Self {
        let Some(labels) = &candidate.labels else {
            return PublishedAttributes { attributes: people.attributes.clone(), codes: None };
        };
        let (mut attributes, mut codes) = (vec![], vec![]);
        for (attribute, labels) in people.attributes.iter().zip(labels) {
            // In code order, so that groups are in the order of the values.
            let mut values: Vec<Box<str>> = vec![];
            let mut place: HashMap<&str, u16> = HashMap::new();
            codes.push(
                labels
                    .iter()
                    .map(|label| {
                        *place.entry(label).or_insert_with(|| {
                            values.push(label.as_str().into());
                            (values.len() - 1) as u16
                        })
                    })
                    .collect(),
            );
            let coding = Coding::Set { values, other: None };
            attributes.push(Attribute { name: attribute.name.clone(), nulls: false, coding });
        }
        PublishedAttributes { attributes, codes: Some(codes) }
    }
}

/// A group of a function.
pub struct FunctionGroup {
    /// In the codes of the release.
    pub published: Group,
    /// In the codes of the table, with the values that occur.
    pub tight: Group,
}

impl CandidateFunction {
    /// Passes every group with its number to `sink`, in the order of the published values, and returns the group number
    /// of each person.
    pub fn groups(
        &self,
        people: &CodedPeople,
        published: &PublishedAttributes,
        mut sink: impl FnMut(u64, FunctionGroup) -> Result<()>,
    ) -> Result<Vec<u64>> {
        let mut groups: Vec<(FunctionGroup, &Vec<u32>)> = Vec::new();
        for members in self.partition.groups() {
            let mut part =
                GroupCounts { people: members.len() as u64, counts: vec![0; people.sensitive.len()] };
            members.iter().for_each(|&person| part.counts[usize::from(people.value(person as usize))] += 1);
            let columns = people.rows.columns.iter();
            let tight: Vec<BTreeSet<u16>> = columns
                .map(|codes| members.iter().map(|&person| codes.get(person as usize)).collect())
                .collect();
            let shown: Vec<BTreeSet<u16>> = match &published.codes {
                None => tight.clone(),
                Some(codes) => tight
                    .iter()
                    .zip(codes)
                    .map(|(tight, codes)| tight.iter().map(|&code| codes[usize::from(code)]).collect())
                    .collect(),
            };
            let group = |codes: &[BTreeSet<u16>]| group(codes, Part::of(&part));
            groups.push((FunctionGroup { published: group(&shown), tight: group(&tight) }, members));
        }
        groups.sort_by(|(one, _), (other, _)| {
            let key = |group: &Group| -> Vec<Vec<u16>> {
                group.present.iter().map(|present| present.codes.clone()).collect()
            };
            key(&one.published)
                .cmp(&key(&other.published))
                .then_with(|| one.published.part.unpack().counts.cmp(&other.published.part.unpack().counts))
        });
        let mut group_of = vec![0; people.len()];
        for (number, (_, members)) in (1..).zip(&groups) {
            members.iter().for_each(|&person| group_of[person as usize] = number);
        }
        (1..).zip(groups).try_for_each(|(number, (group, _))| sink(number, group))?;
        Ok(group_of)
    }
}

fn group(codes: &[BTreeSet<u16>], part: Part) -> Group {
    let present = |codes: &BTreeSet<u16>| {
        let ends = codes.first().zip(codes.last()).unwrap_or((&0, &0));
        let above = codes.iter().find(|&&code| code > 0).copied().unwrap_or(0);
        Present {
            ends: (u32::from(*ends.0), u32::from(*ends.1)),
            least_above: u32::from(above),
            codes: codes.iter().copied().collect(),
        }
    };
    Group { node: CutTree::ROOT, present: codes.iter().map(present).collect(), part, obstacle: None }
}
