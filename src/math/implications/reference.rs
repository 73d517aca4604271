//! The literal definitions, to test the fast form against: the printed recursions in exact fractions, and
//! enumeration of all tables that a release leaves possible.

use super::{Atoms, DisclosureWitness};
use crate::math::exact::{Rational, ratio};

/// The counts of one bucket, in any order.
pub(super) type Counts = Vec<u64>;

fn descending(counts: &Counts) -> Counts {
    let mut sorted = counts.clone();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    sorted
}

/// MINIMIZE1(i, cap, k).
fn minimize1(counts: &[u64], i: u64, cap: usize, k: usize) -> Rational {
    let n: u64 = counts.iter().sum();
    if k == 0 {
        return Rational::ONE;
    }
    if i >= n {
        return Rational::ZERO;
    }
    let mut best = Rational::ONE;
    for j in 1..=cap.min(k) {
        let covered: u64 = counts.iter().take(j).sum();
        let product = match (n - i).checked_sub(covered) {
            None | Some(0) => Rational::ZERO,
            Some(a) => ratio(a, n - i) * minimize1(counts, i + 1, j, k - j),
        };
        best = best.min(product);
    }
    best
}

/// The least chance that none of k atoms in the bucket is true.
pub(super) fn m1(counts: &Counts, k: usize) -> Rational {
    minimize1(&descending(counts), 0, k, k)
}

#[derive(Clone, Copy, PartialEq)]
enum Target {
    Placed,
    Open,
}

/// MINIMIZE2; `None` is infinite.
fn minimize2(tables: &[(Vec<Rational>, Rational)], h: usize, target: Target) -> Option<Rational> {
    let Some(((m1, odds), later)) = tables.split_first() else {
        return (target == Target::Placed).then_some(Rational::ONE);
    };
    let mut options = Vec::new();
    for j in 0..=h {
        match target {
            Target::Placed => options.extend(minimize2(later, h - j, Target::Placed).map(|r| &m1[j] * r)),
            Target::Open => {
                options.extend(minimize2(later, h - j, Target::Placed).map(|r| &m1[j + 1] * odds * r));
                options.extend(minimize2(later, h - j, Target::Open).map(|r| &m1[j] * r));
            }
        }
    }
    options.into_iter().min()
}

/// R(k) over different buckets.
pub(super) fn min_ratio(buckets: &[Counts], k: usize) -> Rational {
    let table = |counts: &Counts| {
        let most = *counts.iter().max().unwrap();
        ((0..=k + 1).map(|j| m1(counts, j)).collect(), ratio(counts.iter().sum(), most))
    };
    let tables: Vec<_> = buckets.iter().map(table).collect();
    minimize2(&tables, k, Target::Open).unwrap()
}

/// MD(k) by the recursions.
pub(super) fn disclosure(buckets: &[Counts], k: usize) -> Rational {
    Rational::ONE / (Rational::ONE + min_ratio(buckets, k))
}

/// MD of k negated atoms by the formula.
pub(super) fn negated(buckets: &[Counts], k: usize) -> Rational {
    let one = |counts: &Counts| {
        let counts = descending(counts);
        let others: u64 = counts.iter().skip(1).take(k).sum();
        ratio(counts[0], counts.iter().sum::<u64>() - others)
    };
    buckets.iter().map(one).max().unwrap()
}

/// All tables that a tiny release leaves possible; a set of them is a bit mask.
pub(super) struct Worlds {
    all: u128,
    /// By bucket, person and value.
    atoms: Vec<Vec<Vec<u128>>>,
}

impl Worlds {
    /// `None` if there are more than 128.
    pub(super) fn new(buckets: &[Counts]) -> Option<Self> {
        let mut worlds: Vec<Vec<Vec<usize>>> = vec![Vec::new()];
        for counts in buckets {
            let ways = arrangements(&descending(counts));
            if worlds.len() * ways.len() > 128 {
                return None;
            }
            let extend = |world: &Vec<Vec<usize>>| {
                let world = world.clone();
                ways.iter()
                    .map(move |way| [world.as_slice(), std::slice::from_ref(way)].concat())
                    .collect::<Vec<_>>()
            };
            worlds = worlds.iter().flat_map(extend).collect();
        }
        let mask = |bucket: usize, person: usize, value: usize| {
            let holds = |(_, world): &(usize, &Vec<Vec<usize>>)| world[bucket][person] == value;
            worlds.iter().enumerate().filter(holds).fold(0, |mask, (i, _)| mask | 1 << i)
        };
        let people = |counts: &Counts| counts.iter().sum::<u64>() as usize;
        let values = buckets.iter().map(Vec::len).max()?;
        let atoms = (0..buckets.len())
            .map(|b| (0..people(&buckets[b])).map(|p| (0..values).map(|v| mask(b, p, v)).collect()).collect())
            .collect();
        Some(Worlds { all: u128::MAX >> (128 - worlds.len()), atoms })
    }

    fn atoms(&self) -> Vec<u128> {
        self.atoms.iter().flatten().flatten().copied().collect()
    }

    fn most_likely(&self, known: u128) -> Rational {
        let chance = |atom: &u128| ratio((atom & known).count_ones().into(), known.count_ones().into());
        self.atoms().iter().map(chance).max().unwrap()
    }

    /// The maximum over all choices of at most k pieces of knowledge that do not contradict the release.
    fn maximum(&self, pieces: &[u128], k: usize, known: u128) -> Rational {
        let mut best = self.most_likely(known);
        if k > 0 {
            for (i, piece) in pieces.iter().enumerate() {
                if known & piece != 0 && known & piece != known {
                    best = best.max(self.maximum(&pieces[i + 1..], k - 1, known & piece));
                }
            }
        }
        best
    }

    /// MD over all sets of k implications between two atoms.
    pub(super) fn by_implications(&self, k: usize) -> Rational {
        let atoms = self.atoms();
        let mut pieces: Vec<u128> =
            atoms.iter().flat_map(|a| atoms.iter().map(move |b| self.all & (!a | b))).collect();
        pieces.sort_unstable();
        pieces.dedup();
        self.maximum(&pieces, k, self.all)
    }

    /// MD over all sets of k negated atoms.
    pub(super) fn by_negations(&self, k: usize) -> Rational {
        let pieces: Vec<u128> = self.atoms().iter().map(|a| self.all & !a).collect();
        self.maximum(&pieces, k, self.all)
    }

    /// The chance of A given that each other atom of the witness implies it, and the number of those atoms.
    pub(super) fn of_witness(&self, witness: &DisclosureWitness) -> (Rational, usize) {
        let masks = |atoms: &Atoms| -> Vec<u128> {
            let people = self.atoms[atoms.position as usize].iter().zip(&atoms.people);
            people.flat_map(|(values, &named)| values[..named].iter().copied()).collect()
        };
        let antecedents: Vec<u128> =
            [&witness.target].into_iter().chain(&witness.others).flat_map(masks).collect();
        let target = self.atoms[witness.target.position as usize][0][0];
        let known = antecedents.iter().fold(self.all, |known, atom| known & (!atom | target));
        (ratio((known & target).count_ones().into(), known.count_ones().into()), antecedents.len() - 1)
    }
}

/// All ways to assign the values to the people, by the rank of the value.
fn arrangements(counts: &[u64]) -> Vec<Vec<usize>> {
    if counts.iter().all(|&count| count == 0) {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for value in (0..counts.len()).filter(|&value| counts[value] > 0) {
        let mut left = counts.to_vec();
        left[value] -= 1;
        all.extend(arrangements(&left).into_iter().map(|rest| [vec![value], rest].concat()));
    }
    all
}
