//! Which tuples are grouped together, if there are too many for one pass?
//!
//! Combinations of signatures are cut in two at the median of the prior that varies most, until a part is small enough:
//! a k-d tree over the priors. Combinations that no prior distinguishes share their parts, and the caller distributes
//! their tuples over these parts by content.
//!
//! Memory: 16 B per combination and 16 B per signature. Work: combinations x attribute sets, and the non-zero priors of
//! the signatures that occur, for each doubling of the number of parts.
//! Invariant: the parts depend only on the priors and the weights, in the order of the combinations.

use hashbrown::HashMap;

use crate::math::robust::{Priors, Rank};

/// The parts over which the tuples of a combination are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartRange {
    /// The first of them.
    pub first: u32,
    /// How many there are, at least 1.
    pub parts: u32,
}

/// The parts of every combination, and the total number of parts.
///
/// `signatures` holds one signature per attribute set, combination by combination; `weights` counts the tuples of each
/// combination; parts of more than `most` tuples are cut.
pub fn parts(priors: &Priors, signatures: &[u32], weights: &[u64], most: u64) -> (Vec<PartRange>, u32) {
    let mut places = vec![PartRange { first: 0, parts: 1 }; weights.len()];
    let mut next = 0;
    let all: Vec<u32> = (0..weights.len() as u32).filter(|&at| weights[at as usize] > 0).collect();
    let mut open = vec![all];
    let cutter = Cutter { priors, signatures, weights };
    while let Some(mut members) = open.pop() {
        let weight = cutter.weight(&members);
        let cut = if weight > most { cutter.cut(&mut members) } else { None };
        match cut {
            Some(at) => {
                let right = members.split_off(at);
                open.push(right);
                open.push(members);
            }
            None => {
                let parts = u32::try_from(weight.div_ceil(most.max(1)).max(1)).unwrap_or(u32::MAX);
                members.iter().for_each(|&at| places[at as usize] = PartRange { first: next, parts });
                next += parts;
            }
        }
    }
    (places, next)
}

struct Cutter<'a> {
    priors: &'a Priors,
    signatures: &'a [u32],
    weights: &'a [u64],
}

impl Cutter<'_> {
    fn weight(&self, members: &[u32]) -> u64 {
        members.iter().map(|&at| self.weights[at as usize]).sum()
    }

    fn signature(&self, at: u32, set: usize) -> u32 {
        self.signatures[at as usize * self.priors.sets() + set]
    }

    /// Sorts the members by the prior that varies most, and returns where to cut; `None` if all priors agree.
    fn cut(&self, members: &mut [u32]) -> Option<usize> {
        let (set, value) = self.widest(members)?;
        let rank = |at: u32| self.priors.rank(set, self.signature(at, set), value);
        members.sort_unstable_by_key(|&at| (rank(at), at));
        let half = self.weight(members) / 2;
        let (mut before, mut best): (u64, Option<(u64, usize)>) = (0, None);
        for at in 1..members.len() {
            before += self.weights[members[at - 1] as usize];
            if rank(members[at - 1]) != rank(members[at]) {
                let off = before.abs_diff(half);
                if best.is_none_or(|(least, _)| off < least) {
                    best = Some((off, at));
                }
            }
        }
        best.map(|(_, at)| at)
    }

    /// The attribute set and value whose prior has the largest variance over the members' tuples.
    fn widest(&self, members: &[u32]) -> Option<(usize, u32)> {
        let total = self.weight(members) as f64;
        let mut widest: Option<(f64, usize, u32)> = None;
        for set in 0..self.priors.sets() {
            let mut weights: HashMap<u32, u64, foldhash::fast::FixedState> = HashMap::default();
            for &at in members {
                *weights.entry(self.signature(at, set)).or_insert(0) += self.weights[at as usize];
            }
            if weights.len() < 2 {
                continue;
            }
            let mut weights: Vec<(u32, u64)> = weights.into_iter().collect();
            weights.sort_unstable();
            let mut sums = vec![(0.0f64, 0.0f64); self.priors.values()];
            let mut ends: Vec<(u64, Rank, Rank)> = vec![(0, Rank::MAX, 0); self.priors.values()];
            for &(signature, weight) in &weights {
                for (value, rank) in self.priors.row(set, signature) {
                    let prior = self.priors.levels.near(rank);
                    let (sum, squares) = &mut sums[value as usize];
                    *sum += weight as f64 * prior;
                    *squares += weight as f64 * prior * prior;
                    let (met, low, high) = &mut ends[value as usize];
                    (*met, *low, *high) = (*met + 1, rank.min(*low), rank.max(*high));
                }
            }
            for (value, ((sum, squares), (met, low, high))) in sums.into_iter().zip(ends).enumerate() {
                // A signature without an entry has prior 0.
                let differs = if met < weights.len() as u64 { met > 0 } else { low < high };
                let variance = (squares / total - (sum / total) * (sum / total)).max(0.0);
                if differs && widest.is_none_or(|(most, ..)| variance > most) {
                    widest = Some((variance, set, value as u32));
                }
            }
        }
        widest.map(|(_, set, value)| (set, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::robust::PriorsBuilder;

    #[test]
    fn every_part_is_small_and_holds_neighbours() {
        let mut builder = PriorsBuilder::new(2);
        let counts = (0..64u32).flat_map(|s| [(s, 0, 1 + s), (s, 1, 64 - s)]).collect();
        builder.estimated(64, counts).unwrap();
        let priors = builder.build();
        let signatures: Vec<u32> = (0..64).collect();
        let (places, count) = parts(&priors, &signatures, &[10; 64], 80);
        assert_eq!(count, 8);
        let mut weights = [0; 8];
        places.iter().for_each(|place| weights[place.first as usize] += 10);
        assert!(weights.iter().all(|&weight| weight == 80));
        assert!(places.chunks(8).all(|run| run.iter().all(|place| place == &run[0])));
        let (places, count) = parts(&priors, &signatures, &[10; 64], 640);
        assert!(count == 1 && places.iter().all(|place| *place == PartRange { first: 0, parts: 1 }));
    }

    #[test]
    fn tuples_that_no_prior_tells_apart_are_dealt_out() {
        let mut builder = PriorsBuilder::new(2);
        builder.estimated(2, vec![(0, 0, 1), (0, 1, 1), (1, 0, 2), (1, 1, 2)]).unwrap();
        let (places, count) = parts(&builder.build(), &[0, 1], &[50, 70], 40);
        assert_eq!((places, count), (vec![PartRange { first: 0, parts: 3 }; 2], 3));
    }
}
