//! Which tuples are alike?
//!
//! Memory: 4 B per tuple, 12 B and 4 B per attribute set for each class.

use std::cmp::Ordering;

use hashbrown::HashMap;

use crate::math::robust::{Priors, Rank, Tuples};

/// No tuple, no node.
pub(super) const NOBODY: u32 = u32::MAX;

/// Tuples by equal priors and value; inside a class by index. One signature represents all that have the same priors.
pub(super) struct Classes {
    sets: usize,
    values: Vec<u32>,
    signatures: Vec<u32>,
    tuples: Vec<u32>,
    next: Vec<u32>,
    end: Vec<u32>,
}

impl Classes {
    pub(super) fn new(priors: &Priors, tuples: &Tuples<'_>) -> Classes {
        let sets = tuples.signatures.len();
        let same: Vec<Vec<u32>> = (0..sets).map(|set| same_priors(priors, set)).collect();
        let mut order: Vec<u32> = (0..tuples.values.len() as u32).collect();
        let key = |set: usize, tuple: usize| same[set][tuples.signatures[set][tuple] as usize];
        let compare = |&a: &u32, &b: &u32| {
            let (a, b) = (a as usize, b as usize);
            let by_set =
                || (0..sets).rev().map(|set| key(set, a).cmp(&key(set, b))).find(|order| order.is_ne());
            tuples.values[a].cmp(&tuples.values[b]).then_with(|| by_set().unwrap_or(Ordering::Equal))
        };
        order.sort_unstable_by(|a, b| compare(a, b).then(a.cmp(b)));
        let mut classes =
            Classes { sets, values: vec![], signatures: vec![], tuples: vec![], next: vec![], end: vec![] };
        for (at, &tuple) in order.iter().enumerate() {
            if at == 0 || compare(&order[at - 1], &tuple) != Ordering::Equal {
                classes.values.push(tuples.values[tuple as usize]);
                classes.signatures.extend((0..sets).map(|set| key(set, tuple as usize)));
                classes.next.push(at as u32);
                classes.end.push(at as u32);
            }
            if let Some(end) = classes.end.last_mut() {
                *end += 1;
            }
        }
        classes.tuples = order;
        classes
    }

    /// The lowest ungrouped index of a class.
    pub(super) fn first(&self, class: u32) -> u32 {
        let class = class as usize;
        if self.next[class] < self.end[class] { self.tuples[self.next[class] as usize] } else { NOBODY }
    }

    /// How many ungrouped tuples a class has.
    pub(super) fn many(&self, class: u32) -> u32 {
        self.end[class as usize] - self.next[class as usize]
    }

    /// Removes the lowest ungrouped index of a class.
    pub(super) fn take(&mut self, class: u32) {
        self.next[class as usize] += 1;
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The first class after `class` that has another value; classes are in the order of their values.
    pub(super) fn end_of_value(&self, class: u32) -> u32 {
        let from = &self.values[class as usize..];
        class + from.partition_point(|&value| value == from[0]) as u32
    }

    pub(super) fn value(&self, class: u32) -> u32 {
        self.values[class as usize]
    }

    /// The signatures of a class, one per attribute set.
    pub(super) fn signatures(&self, class: u32) -> &[u32] {
        let start = class as usize * self.sets;
        &self.signatures[start..start + self.sets]
    }
}

/// For every signature of a set, the lowest one with the same priors.
fn same_priors(priors: &Priors, set: usize) -> Vec<u32> {
    let mut lowest: HashMap<Vec<(u32, Rank)>, u32, foldhash::fast::FixedState> = HashMap::default();
    let signatures = 0..priors.signatures(set) as u32;
    signatures
        .map(|signature| *lowest.entry(priors.row(set, signature).collect()).or_insert(signature))
        .collect()
}
