//! All ways to give people their values, and how sure somebody becomes over them, by the definitions alone.

use std::collections::BTreeSet;

/// Different sensitive values.
pub(super) const VALUES: usize = 4;

/// A group as it was published at some time: who is in it, and how often each value occurs.
pub(super) type Version = (BTreeSet<usize>, [usize; VALUES]);

/// The worlds in which something holds.
pub(super) type Worlds = Vec<u64>;

/// All ways to give people their values that agree with all versions of all groups: for each person and value, the worlds
/// in which the person has the value.
pub(super) fn worlds(seen: &BTreeSet<Version>) -> Vec<[Worlds; VALUES]> {
    let people: Vec<usize> =
        seen.iter().flat_map(|(own, _)| own).copied().collect::<BTreeSet<_>>().into_iter().collect();
    let mut left: Vec<[usize; VALUES]> = seen.iter().map(|(_, counts)| *counts).collect();
    let groups: Vec<Vec<usize>> = people
        .iter()
        .map(|name| {
            seen.iter().enumerate().filter(|(_, (own, _))| own.contains(name)).map(|(at, _)| at).collect()
        })
        .collect();
    let mut all = Vec::new();
    fn give(
        at: usize,
        groups: &[Vec<usize>],
        left: &mut [[usize; VALUES]],
        own: &mut Vec<usize>,
        all: &mut Vec<Vec<usize>>,
    ) {
        let Some(here) = groups.get(at) else { return all.push(own.clone()) };
        for value in 0..VALUES {
            if here.iter().all(|&group| left[group][value] > 0) {
                here.iter().for_each(|&group| left[group][value] -= 1);
                own.push(value);
                give(at + 1, groups, left, own, all);
                own.pop();
                here.iter().for_each(|&group| left[group][value] += 1);
            }
        }
    }
    give(0, &groups, &mut left, &mut Vec::new(), &mut all);
    let mut has = vec![[const { Vec::new() }; VALUES]; people.len()];
    for (person, own) in has.iter_mut().enumerate() {
        for (value, worlds) in own.iter_mut().enumerate() {
            worlds.resize(all.len().div_ceil(64), 0);
            for (at, _) in all.iter().enumerate().filter(|(_, world)| world[person] == value) {
                worlds[at / 64] |= 1 << (at % 64);
            }
        }
    }
    has
}

fn count(worlds: &[u64]) -> u64 {
    worlds.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Removes worlds, and goes on.
fn without(worlds: &[u64], gone: &[u64], next: &mut dyn FnMut(&[u64])) {
    next(&worlds.iter().zip(gone).map(|(word, gone)| word & !gone).collect::<Vec<_>>());
}

/// The largest chance of the first value, by the definition: all targets, all knowledge of this size.
pub(super) fn breach(has: &[[Worlds; VALUES]], [l, k, m]: [usize; 3]) -> (u64, u64) {
    let everything: Worlds =
        (0..has[0][0].len()).map(|at| has[0].iter().fold(0, |word, worlds| word | worlds[at])).collect();
    let mut most = (0, 1);
    for target in 0..has.len() {
        let mut judge = |worlds: &[u64]| {
            let own = worlds.iter().zip(&has[target][0]).map(|(a, b)| u64::from((a & b).count_ones()));
            let (above, below) = (own.sum::<u64>(), count(worlds));
            if below > 0 && above * most.1 > most.0 * below {
                most = (above, below);
            }
        };
        let knowing = Knowing { has, target };
        knowing.not(l, &everything, &mut |worlds| {
            knowing.others(k, &[], worlds, &mut |known, worlds| knowing.family(m, known, worlds, &mut judge));
        });
    }
    most
}

/// What may be known of a target.
struct Knowing<'a> {
    has: &'a [[Worlds; VALUES]],
    target: usize,
}

impl Knowing<'_> {
    /// Up to `l` values that the target does not have.
    fn not(&self, l: usize, worlds: &[u64], next: &mut dyn FnMut(&[u64])) {
        if l == 0 {
            return next(worlds);
        }
        for other in 1..VALUES {
            without(worlds, &self.has[self.target][other], &mut |worlds| self.not(l - 1, worlds, next));
        }
    }

    /// Up to `k` other people whose values are known.
    fn others(&self, k: usize, known: &[usize], worlds: &[u64], next: &mut dyn FnMut(&[usize], &[u64])) {
        if k == 0 {
            return next(known, worlds);
        }
        for person in (0..self.has.len()).filter(|person| *person != self.target && !known.contains(person)) {
            for value in 0..VALUES {
                let here: Worlds = worlds.iter().zip(&self.has[person][value]).map(|(a, b)| a & b).collect();
                self.others(k - 1, &[known, &[person]].concat(), &here, next);
            }
        }
    }

    /// Up to `m` relatives: if one of them has the value, the target has it.
    fn family(&self, m: usize, known: &[usize], worlds: &[u64], next: &mut dyn FnMut(&[u64])) {
        if m == 0 {
            return next(worlds);
        }
        for person in (0..self.has.len()).filter(|person| *person != self.target && !known.contains(person)) {
            let own = &self.has[self.target][0];
            let gone: Worlds =
                self.has[person][0].iter().zip(own).map(|(has, target)| has & !target).collect();
            without(worlds, &gone, &mut |worlds| self.family(m - 1, known, worlds, next));
        }
    }
}
