//! How large can the posteriors of a group be that has too many states, or holds a value several times?
//!
//! The same enclosure as for beliefs ([`ceiling`](crate::math::beliefs::ceiling)), one attribute set after the other: tuples
//! with one signature are alike. Memory: 8 B x different signatures x values of the group.

use super::judge::PublishedGroup;
use super::priors::Priors;
use super::requirement::Requirement;
use super::tuples::Tuples;
use crate::math::beliefs::blocks::blocks;
use crate::math::beliefs::ceiling::Ceiling;
use crate::math::exact::{Rational, f64_at_least};

/// The relative error of a prior that was rounded once.
const ROUNDED: f64 = f64::EPSILON;

/// Upper bounds of the posteriors of a group in one attribute set.
pub(super) struct Enclosure {
    signatures: Vec<u32>,
    /// By signature and value, in the order of the group's values.
    most: Vec<f64>,
}

impl Enclosure {
    /// `None` if the priors contradict the group. Bounds that are not above `enough` are not made closer.
    pub(super) fn new(priors: &Priors, group: PublishedGroup<'_>, set: usize, enough: f64) -> Option<Self> {
        let mut own: Vec<u32> =
            group.signatures.chunks_exact(priors.sets()).map(|tuple| tuple[set]).collect();
        own.sort_unstable();
        let (signatures, rows): (Vec<u32>, Vec<u64>) =
            own.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).unzip();
        let values = group.values.len();
        let near = |signature: u32| {
            let prior =
                move |&(value, _): &(u32, u32)| priors.levels.near(priors.rank(set, signature, value));
            group.values.iter().map(prior)
        };
        let known: Vec<f64> = signatures.iter().flat_map(|signature| near(*signature)).collect();
        let counted: Vec<(&[f64], u64)> = known.chunks_exact(values).zip(rows).collect();
        let counts: Vec<u64> = group.values.iter().map(|&(_, count)| u64::from(count)).collect();
        let found = blocks(&counted, &counts)?;
        let mut most = vec![0.0; known.len()];
        for block in 0..found.many {
            let places: Vec<usize> =
                (0..counted.len()).filter(|place| found.of_priors[*place] == block).collect();
            let members: Vec<(&[f64], u64)> = places.iter().map(|place| counted[*place]).collect();
            let within = |value: usize| found.of_values[value] == Some(block);
            let held: Vec<u64> = counts
                .iter()
                .enumerate()
                .map(|(value, count)| if within(value) { *count } else { 0 })
                .collect();
            let mut fill = |ceiling: &Ceiling| {
                for (place, (prior, _)) in places.iter().zip(&members) {
                    let own = &mut most[place * values..(place + 1) * values];
                    own.iter_mut().zip(ceiling.posterior(prior)).for_each(|(own, (_, high))| *own = high);
                }
                places
                    .iter()
                    .all(|place| most[place * values..(place + 1) * values].iter().all(|p| *p <= enough))
            };
            if !fill(&Ceiling::new(&members, &held, ROUNDED)) {
                fill(&Ceiling::refined(&members, &held, ROUNDED));
            }
        }
        Some(Enclosure { signatures, most })
    }

    /// For each value of the group the largest bound of any tuple.
    pub(super) fn by_value(&self) -> Vec<f64> {
        let values = self.most.len() / self.signatures.len().max(1);
        let mut largest = vec![0.0f64; values];
        for own in self.most.chunks_exact(values.max(1)) {
            largest.iter_mut().zip(own).for_each(|(largest, own)| *largest = largest.max(*own));
        }
        largest
    }

    /// The largest bound of a tuple with this signature.
    fn of(&self, signature: u32) -> f64 {
        let values = self.most.len() / self.signatures.len().max(1);
        match self.signatures.binary_search(&signature) {
            Ok(place) => self.most[place * values..(place + 1) * values].iter().copied().fold(0.0, f64::max),
            Err(_) => 1.0,
        }
    }
}

impl Requirement {
    /// The largest float that is at most 1/r.
    pub(super) fn below(&self) -> f64 {
        let above = f64_at_least(self.threshold());
        match Rational::try_from(above) {
            Ok(float) if float == *self.threshold() => above,
            _ => above.next_down(),
        }
    }
}

/// Which of these tuples may have a posterior above 1/r if they form a group; all of them if its values contradict the
/// priors.
pub fn exposed(priors: &Priors, requirement: &Requirement, tuples: Tuples<'_>, members: &[u32]) -> Vec<bool> {
    let mut held: Vec<u32> = members.iter().map(|&tuple| tuples.values[tuple as usize]).collect();
    held.sort_unstable();
    let values: Vec<(u32, u32)> =
        held.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect();
    let signatures: Vec<u32> = members
        .iter()
        .flat_map(|&tuple| tuples.signatures.iter().map(move |set| set[tuple as usize]))
        .collect();
    let group = PublishedGroup { signatures: &signatures, values: &values };
    let enough = requirement.below();
    let mut exposed = vec![false; members.len()];
    for set in 0..priors.sets() {
        let Some(enclosure) = Enclosure::new(priors, group, set, enough) else {
            return vec![true; members.len()];
        };
        for (exposed, own) in exposed.iter_mut().zip(signatures.chunks_exact(priors.sets())) {
            let most = enclosure.of(own[set]);
            *exposed |= most.is_nan() || most > enough;
        }
    }
    exposed
}
