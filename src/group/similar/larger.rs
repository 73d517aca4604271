//! Which larger groups can hold the people who are left over?
//!
//! The groups of [`art`](super::art) hold every value at most once. People for whom there is no such group are cut in two
//! again and again along the prior that varies most, down to a few people, and from there upwards those who are still left are
//! tried together: as one group that may hold values several times, as long as the enclosure of its posteriors stays at most
//! 1/r. Where that fails because of few people, the others form the group. Whoever is left goes up to the neighbours, and is
//! suppressed in the end.
//!
//! Memory: 4 B per person and level. Work: an enclosure for each of the tried groups.

use super::art::SimilarGroups;
use crate::math::exact::f64_at_least;
use crate::math::robust::{Priors, Requirement, Tuples, exposed};

/// How often some of the people are taken out to make a group of the others.
const ROUNDS: usize = 4;
/// People who are looked at to choose a cut.
const SAMPLE: usize = 128;

/// How the people who are left over are grouped.
pub(super) struct LargerGroups<'a> {
    pub priors: &'a Priors,
    pub requirement: &'a Requirement,
    pub tuples: Tuples<'a>,
}

impl LargerGroups<'_> {
    /// Adds groups of the suppressed people to the others.
    pub(super) fn extend(&self, found: &mut SimilarGroups) {
        let mut left = std::mem::take(&mut found.suppressed);
        let first = found.groups.len();
        found.suppressed = self.group(&mut left, &mut found.groups);
        found.suppressed.sort_unstable();
        found.groups[first..].iter_mut().for_each(|group| group.sort_unstable());
    }

    /// Groups these people as far as possible; returns the others.
    fn group(&self, people: &mut [u32], groups: &mut Vec<Vec<u32>>) -> Vec<u32> {
        let few = 2 * (self.requirement.smallest_group() as usize).max(4);
        let mut left = people.to_vec();
        if people.len() > few {
            sort_by_widest(self.priors, self.tuples, people);
            let (below, from) = people.split_at_mut(people.len() / 2);
            left = self.group(below, groups);
            left.extend(self.group(from, groups));
        }
        left.sort_unstable();
        self.together(left, groups)
    }

    /// Makes a group of most of these people, if that is possible; returns the others.
    fn together(&self, people: Vec<u32>, groups: &mut Vec<Vec<u32>>) -> Vec<u32> {
        let (mut within, mut left) = (people.clone(), Vec::new());
        for _ in 0..ROUNDS {
            self.take_surplus(&mut within, &mut left);
            let values = within.iter().map(|&tuple| self.tuples.values[tuple as usize]);
            if within.len() < left.len() || !self.requirement.admits(values) {
                break;
            }
            let exposed = exposed(self.priors, self.requirement, self.tuples, &within);
            if !exposed.contains(&true) {
                groups.push(within);
                return left;
            }
            let mut exposed = exposed.into_iter();
            let mut stays = |tuple: &u32| {
                let exposed = exposed.next().unwrap_or(true);
                left.extend(exposed.then_some(*tuple));
                !exposed
            };
            within.retain(&mut stays);
        }
        people
    }

    /// Takes the last people out who have a value that more than one in r of them have.
    fn take_surplus(&self, within: &mut Vec<u32>, left: &mut Vec<u32>) {
        let r = f64_at_least(self.requirement.r());
        let mut held = vec![0u64; self.priors.values()];
        within.iter().for_each(|&tuple| held[self.tuples.values[tuple as usize] as usize] += 1);
        loop {
            let Some((value, most)) = held.iter().copied().enumerate().max_by_key(|&(_, count)| count) else {
                return;
            };
            if most as f64 * r <= within.len() as f64 {
                return;
            }
            let own = |tuple: &u32| self.tuples.values[*tuple as usize] as usize == value;
            let Some(place) = within.iter().rposition(own) else { return };
            left.push(within.remove(place));
            held[value] -= 1;
        }
    }
}

/// Sorts the people by the prior that varies most among some of them.
pub(super) fn sort_by_widest(priors: &Priors, tuples: Tuples<'_>, people: &mut [u32]) {
    let Tuples { signatures, .. } = tuples;
    let prior = |set: usize, value: u32, tuple: u32| {
        priors.levels.near(priors.rank(set, signatures[set][tuple as usize], value))
    };
    let step = (people.len() / SAMPLE).max(1);
    let mut widest = (0.0, 0, 0);
    for set in 0..priors.sets() {
        for value in 0..priors.values() as u32 {
            let sample = people.iter().step_by(step).map(|tuple| prior(set, value, *tuple));
            let (many, sum, squares) = sample
                .fold((0.0, 0.0, 0.0), |(many, sum, squares), p| (many + 1.0, sum + p, squares + p * p));
            let varies = squares - sum * sum / many;
            if varies > widest.0 {
                widest = (varies, set, value);
            }
        }
    }
    let (_, set, value) = widest;
    people.sort_by(|a, b| prior(set, value, *a).total_cmp(&prior(set, value, *b)).then(a.cmp(b)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;
    use crate::math::robust::PriorsBuilder;

    #[test]
    fn larger_groups_have_enough_different_values() {
        let mut builder = PriorsBuilder::new(3);
        builder.estimated(1, vec![(0, 0, 1), (0, 1, 1), (0, 2, 1)]).unwrap();
        let priors = builder.build();
        let (values, signatures): (Vec<u32>, Vec<u32>) = (0..42).map(|at| (at % 3, 0)).unzip();
        let grouped = |distinct: u64| {
            let requirement = Requirement::new(ratio(2, 1)).unwrap().with_minimum_distinct(distinct);
            let tuples = Tuples { values: &values, signatures: &[&signatures] };
            let mut found = SimilarGroups { groups: vec![], suppressed: (0..42).collect() };
            LargerGroups { priors: &priors, requirement: &requirement, tuples }.extend(&mut found);
            (found.groups.concat().len(), found.suppressed.len())
        };
        assert_eq!(grouped(4), (0, 42));
        assert!(grouped(3).0 > 30, "{:?}", grouped(3));
    }
}
