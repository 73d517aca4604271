//! Which rearrangements of a publication fail all of the given earlier functions?
//!
//! A function fails for an instance iff one of its groups fails the property, because its PER is a product
//! over groups. Inclusion-exclusion over the sets T of earlier functions inverts this:
//!
//!   failing all = sum over T of (-1)^|T| x (arrangements in which every group of every function of T passes)
//!
//! and "every group passes" is a product over regions: the connected components of the overlap between the
//! published groups and the groups of T. A function that refines another earlier one is left out: if it passes, so
//! does the coarser one (the properties are linear in the shares), hence failing the coarser one is enough.
//!
//! Memory: O(people x 2^functions) plus one region's states.
//! Not here: counting within a region (`arrangements`).

use std::rc::Rc;

use dashu_int::{IBig, UBig};
use std::collections::HashMap;

use super::arrangements::{Arrangements, Region, TooLarge, Work, free_group};
use super::filling::FillCell;
use super::partition::{Counts, Partition, Value, tally};
use super::property::{Kind, PropertyJudge, SharesSummary, Summarizer};

/// The set of rearrangements that fail all earlier functions.
pub(super) struct Failing<'a> {
    published: &'a Partition,
    counts: &'a [Counts],
    size: UBig,
    terms: Vec<Term>,
    /// The published groups by regions of all earlier functions together.
    order: Vec<Vec<u32>>,
    finest: Partition,
}

/// The arrangements in which every group of a set of functions passes.
struct Term {
    sign: IBig,
    total: UBig,
    regions: Vec<Rc<Arrangements>>,
    /// For each person its region and its cell there.
    place: Vec<(u32, u32)>,
}

/// A region by its published groups, its test groups and the multisets of the published groups.
type RegionKey = (Vec<u32>, Vec<(usize, u32)>, Vec<Counts>);

/// Regions that were counted, for the terms of one set and for further sets of the same partitions.
#[derive(Default)]
pub(super) struct KnownRegions(HashMap<RegionKey, Option<Rc<Arrangements>>>);

impl<'a> Failing<'a> {
    /// `counts` are the multisets of the groups of `published`; `known` belongs to these partitions.
    pub(super) fn new(
        judge: &'a PropertyJudge,
        published: &'a Partition,
        counts: &'a [Counts],
        earlier: &[&Partition],
        known: &mut KnownRegions,
        work: &mut Work,
    ) -> Result<Self, TooLarge> {
        let tests = without_finer(earlier);
        let mut builder = Builder { judge, published, counts, tests, known, terms: Vec::new() };
        builder.add_terms(&mut Vec::new(), 0, work)?;
        let Builder { tests, terms, .. } = builder;
        let size = terms.iter().map(|term| &term.sign * IBig::from(term.total.clone())).sum::<IBig>();
        let size = UBig::try_from(size).unwrap_or(UBig::ZERO);
        let finest = tests.iter().fold(published.clone(), |cells, test| cells.meet(test));
        let order = linked_groups(published, &tests);
        Ok(Failing { published, counts, size, terms, order, finest })
    }

    pub(super) fn size(&self) -> &UBig {
        &self.size
    }

    /// Visits each cell of indistinguishable people: the people, and for each value of their group the number
    /// of instances of the set in which one of them has it.
    pub(super) fn each_cell(&self, mut visit: impl FnMut(&[u32], &[(Value, UBig)])) {
        let mut cells_of: Vec<Vec<u32>> = vec![Vec::new(); self.counts.len()];
        for (cell, people) in self.finest.groups().iter().enumerate() {
            cells_of[self.published.group_of(people[0]) as usize].push(cell as u32);
        }
        for groups in &self.order {
            let mut factors: HashMap<(usize, u32), IBig> = HashMap::new();
            for &group in groups {
                for &cell in &cells_of[group as usize] {
                    let people = &self.finest.groups()[cell as usize];
                    visit(people, &self.holders(people[0], &self.counts[group as usize], &mut factors));
                }
            }
        }
    }

    /// For a term and one of its regions, `factors` caches the signed arrangements of all other regions.
    fn holders(
        &self,
        person: u32,
        counts: &Counts,
        factors: &mut HashMap<(usize, u32), IBig>,
    ) -> Vec<(Value, UBig)> {
        let mut sums = vec![IBig::ZERO; counts.len()];
        for (at, term) in self.terms.iter().enumerate() {
            let (number, cell) = term.place[person as usize];
            let region = &term.regions[number as usize];
            let others = factors
                .entry((at, number))
                .or_insert_with(|| &term.sign * IBig::from(&term.total / &region.count));
            for (sum, &(value, _)) in sums.iter_mut().zip(counts) {
                *sum += &*others * IBig::from(region.holders(cell as usize, value));
            }
        }
        let count = |sum: IBig| UBig::try_from(sum).unwrap_or(UBig::ZERO);
        counts.iter().zip(sums).map(|(&(value, _), sum)| (value, count(sum))).collect()
    }

    pub(super) fn summarize(&self, judge: &PropertyJudge) -> SharesSummary {
        let mut summary = Summarizer::new(judge);
        if self.size != UBig::ZERO {
            self.each_cell(|people, holders| summary.see(people[0], holders, &self.size));
        }
        summary.finish(self.size.clone())
    }
}

/// All rearrangements of a publication.
pub(super) fn summarize_per(
    judge: &PropertyJudge,
    published: &Partition,
    counts: &[Counts],
) -> SharesSummary {
    let mut summary = Summarizer::new(judge);
    let mut size = UBig::ONE;
    for (people, values) in published.groups().iter().zip(counts) {
        let holders: Vec<_> = values.iter().map(|&(value, count)| (value, UBig::from(count))).collect();
        summary.see(people[0], &holders, &UBig::from(people.len()));
        size *= free_group(people, values).count;
    }
    summary.finish(size)
}

struct Builder<'a, 'b> {
    judge: &'a PropertyJudge,
    published: &'a Partition,
    counts: &'a [Counts],
    tests: Vec<&'b Partition>,
    known: &'b mut KnownRegions,
    terms: Vec<Term>,
}

impl Builder<'_, '_> {
    /// Adds the terms of `chosen` with every subset of the tests from `next` on. If no arrangement passes
    /// fewer tests, none passes more, so a zero ends the branch.
    fn add_terms(&mut self, chosen: &mut Vec<usize>, next: usize, work: &mut Work) -> Result<(), TooLarge> {
        let Some(term) = self.term(chosen, work)? else { return Ok(()) };
        self.terms.push(term);
        for test in next..self.tests.len() {
            chosen.push(test);
            self.add_terms(chosen, test + 1, work)?;
            chosen.pop();
        }
        Ok(())
    }

    /// `None` if no arrangement passes.
    fn term(&mut self, chosen: &[usize], work: &mut Work) -> Result<Option<Term>, TooLarge> {
        work.spend(self.published.people() as u64)?;
        let tests: Vec<&Partition> = chosen.iter().map(|&test| self.tests[test]).collect();
        // Groups whose multiset is published: decided at once, without connecting regions.
        for test in &tests {
            for people in test.groups().iter().filter(|people| is_union(people, self.published)) {
                let groups = distinct(people.iter().map(|&person| self.published.group_of(person)));
                let union =
                    tally(groups.iter().flat_map(|&group| self.counts[group as usize].iter().copied()));
                if !passes(self.judge, &union) {
                    return Ok(None);
                }
            }
        }
        let mut regions = Vec::new();
        let mut place = vec![(0, 0); self.published.people()];
        let mut total = UBig::ONE;
        for groups in linked_groups(self.published, &tests) {
            let Some(region) = self.region(groups, chosen, work)? else { return Ok(None) };
            for (cell, people) in region.cells.iter().enumerate() {
                for &person in people {
                    place[person as usize] = (regions.len() as u32, cell as u32);
                }
            }
            total *= &region.count;
            regions.push(region);
        }
        let sign = if chosen.len().is_multiple_of(2) { IBig::ONE } else { IBig::NEG_ONE };
        Ok(Some(Term { sign, total, regions, place }))
    }

    fn region(
        &mut self,
        groups: Vec<u32>,
        chosen: &[usize],
        work: &mut Work,
    ) -> Result<Option<Rc<Arrangements>>, TooLarge> {
        let people = groups.iter().flat_map(|&group| &self.published.groups()[group as usize]).copied();
        let touching = |&test: &usize| {
            let partition = self.tests[test];
            let numbers = distinct(people.clone().map(|person| partition.group_of(person)));
            let undecided = |&number: &u32| !is_union(&partition.groups()[number as usize], self.published);
            numbers.into_iter().filter(undecided).map(move |number| (test, number)).collect::<Vec<_>>()
        };
        let touched = chosen.iter().flat_map(touching).collect();
        let counts = groups.iter().map(|&group| self.counts[group as usize].clone()).collect();
        let key: RegionKey = (groups, touched, counts);
        if let Some(known) = self.known.0.get(&key) {
            return Ok(known.clone());
        }
        let (groups, tests, counts) = &key;
        let arrangements = match (&groups[..], &tests[..]) {
            (&[group], []) => Some(free_group(&self.published.groups()[group as usize], &counts[0])),
            _ => {
                let region = self.overlap(groups, tests, work)?;
                let count = region.count(work)?;
                if count == UBig::ZERO { None } else { Some(region.solve(count, work)?) }
            }
        };
        let arrangements = arrangements.map(Rc::new);
        if self.known.0.len() >= work.states {
            self.known.0.clear();
        }
        self.known.0.insert(key, arrangements.clone());
        Ok(arrangements)
    }

    /// The cells of a region: people by published group and by all their undecided test groups.
    fn overlap(
        &self,
        groups: &[u32],
        tests: &[(usize, u32)],
        work: &mut Work,
    ) -> Result<Region<'_>, TooLarge> {
        let number: HashMap<(usize, u32), usize> =
            tests.iter().enumerate().map(|(at, &test)| (test, at)).collect();
        let chosen = distinct(tests.iter().map(|&(test, _)| test));
        let mut cells: Vec<FillCell> = Vec::new();
        let mut cell_of: HashMap<(usize, Vec<usize>), usize> = HashMap::new();
        for (published, &group) in groups.iter().enumerate() {
            for &person in &self.published.groups()[group as usize] {
                let test_of = |&test: &usize| number.get(&(test, self.tests[test].group_of(person))).copied();
                let tests: Vec<usize> = chosen.iter().filter_map(test_of).collect();
                let cell = *cell_of.entry((published, tests)).or_insert_with_key(|(published, tests)| {
                    cells.push(FillCell { people: Vec::new(), published: *published, tests: tests.clone() });
                    cells.len() - 1
                });
                cells[cell].people.push(person);
            }
        }
        // Ordering the cells is quadratic in their number.
        work.spend((cells.len() * cells.len()) as u64 / 16)?;
        let counts: Vec<&Counts> = groups.iter().map(|&group| &self.counts[group as usize]).collect();
        Region::new(self.judge, cells, &counts)
    }
}

/// Does a group with this multiset satisfy the property?
pub(super) fn passes(judge: &PropertyJudge, counts: &Counts) -> bool {
    let total: u64 = counts.iter().map(|&(_, count)| u64::from(count)).sum();
    let mut shares: Vec<(Kind, UBig)> =
        counts.iter().map(|&(value, count)| (judge.kind(value), UBig::from(count))).collect();
    judge.holds(&mut shares, &UBig::from(total))
}

/// Drops every partition that refines another one; among equal ones the first is kept.
fn without_finer<'b>(earlier: &[&'b Partition]) -> Vec<&'b Partition> {
    let is_needed = |&(at, partition): &(usize, &&'b Partition)| {
        !earlier.iter().enumerate().any(|(other_at, other)| {
            other_at != at && partition.refines(other) && (other_at < at || !other.refines(partition))
        })
    };
    earlier.iter().enumerate().filter(is_needed).map(|(_, &partition)| partition).collect()
}

/// Is this group of another function a union of published groups?
fn is_union(people: &[u32], published: &Partition) -> bool {
    let groups = distinct(people.iter().map(|&person| published.group_of(person)));
    groups.iter().map(|&group| published.groups()[group as usize].len()).sum::<usize>() == people.len()
}

/// The published groups, joined where undecided groups of the tests overlap them.
fn linked_groups(published: &Partition, tests: &[&Partition]) -> Vec<Vec<u32>> {
    let mut parent: Vec<u32> = (0..published.groups().len() as u32).collect();
    fn root(parent: &mut [u32], mut group: u32) -> u32 {
        while parent[group as usize] != group {
            parent[group as usize] = parent[parent[group as usize] as usize];
            group = parent[group as usize];
        }
        group
    }
    for people in tests.iter().flat_map(|test| test.groups()).filter(|people| !is_union(people, published)) {
        let first = root(&mut parent, published.group_of(people[0]));
        for &person in &people[1..] {
            let other = root(&mut parent, published.group_of(person));
            parent[other as usize] = first;
        }
    }
    let roots: Vec<u32> = (0..parent.len() as u32).map(|group| root(&mut parent, group)).collect();
    Partition::by_label(roots).groups().to_vec()
}

fn distinct<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort_unstable();
    items.dedup();
    items
}
