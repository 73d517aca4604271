//! Which posteriors can be expected in a large group?
//!
//! In a large group people choose nearly independently, each value in proportion to its prior times a weight of the value, so
//! that the group expects as many of every value as it holds. That says whom a group would expose and by which value, at
//! little cost: people with one signature are alike. It is a guide and proves nothing.
//!
//! Memory: 8 B x signatures x values for each attribute set.

use super::priors::Priors;

/// Steps towards the weights, and how many people may be missing from the expected numbers.
const STEPS: usize = 60;
const CLOSE: f64 = 0.5;

/// The people of a group that changes.
pub struct TiltedGroup {
    values: usize,
    sets: Vec<TiltedSet>,
    held: Vec<f64>,
}

/// One attribute set.
struct TiltedSet {
    /// By signature and value.
    priors: Vec<f64>,
    people: Vec<f64>,
    weights: Vec<f64>,
    /// The largest posterior of each signature, and its value.
    largest: Vec<(f64, u32)>,
}

impl TiltedGroup {
    /// A group of nobody.
    pub fn new(priors: &Priors) -> Self {
        let values = priors.values();
        let set = |set: usize| {
            let signatures = priors.signatures(set);
            let mut known = vec![0.0; signatures * values];
            for signature in 0..signatures {
                for (value, rank) in priors.row(set, signature as u32) {
                    known[signature * values + value as usize] = priors.levels.near(rank);
                }
            }
            TiltedSet {
                priors: known,
                people: vec![0.0; signatures],
                weights: vec![1.0; values],
                largest: vec![(0.0, 0); signatures],
            }
        };
        TiltedGroup { values, sets: (0..priors.sets()).map(set).collect(), held: vec![0.0; values] }
    }

    /// Adds a person with these signatures and this value, or takes one out if `people` is -1.
    pub fn add(&mut self, signatures: impl Iterator<Item = u32>, value: u32, people: f64) {
        self.held[value as usize] += people;
        self.sets.iter_mut().zip(signatures).for_each(|(set, own)| set.people[own as usize] += people);
    }

    /// Finds the weights for the people who are there now.
    pub fn settle(&mut self) {
        let (values, held) = (self.values, &self.held);
        self.sets.iter_mut().for_each(|set| set.settle(values, held));
    }

    /// The largest posterior of somebody with these signatures, and its value.
    pub fn largest(&self, signatures: impl Iterator<Item = u32>) -> (f64, u32) {
        let own = self.sets.iter().zip(signatures).map(|(set, own)| set.largest[own as usize]);
        own.fold((0.0, 0), |most, own| if own.0 > most.0 { own } else { most })
    }

    /// The mean prior of a value over the attribute sets, for somebody with these signatures.
    pub fn prior(&self, signatures: impl Iterator<Item = u32>, value: u32) -> f64 {
        let own = self.sets.iter().zip(signatures);
        let sum: f64 = own.map(|(set, own)| set.priors[own as usize * self.values + value as usize]).sum();
        sum / self.sets.len().max(1) as f64
    }
}

impl TiltedSet {
    fn settle(&mut self, values: usize, held: &[f64]) {
        for (weight, held) in self.weights.iter_mut().zip(held) {
            // A value that was absent begins anew.
            *weight = match (*held > 0.0, *weight > 0.0) {
                (true, true) => *weight,
                (true, false) => 1.0,
                (false, _) => 0.0,
            };
        }
        for _ in 0..STEPS {
            let mut expected = vec![0.0; values];
            for (prior, people) in self.priors.chunks_exact(values).zip(&self.people) {
                if *people > 0.0 {
                    let total: f64 = prior.iter().zip(&self.weights).map(|(p, weight)| p * weight).sum();
                    let each = people / total.max(f64::MIN_POSITIVE);
                    let own = expected.iter_mut().zip(prior.iter().zip(&self.weights));
                    own.for_each(|(expected, (p, weight))| *expected += each * p * weight);
                }
            }
            if expected.iter().zip(held).all(|(expected, held)| (expected - held).abs() < CLOSE) {
                break;
            }
            let mut largest = 0.0f64;
            for ((weight, expected), held) in self.weights.iter_mut().zip(&expected).zip(held) {
                *weight *= held / expected.max(f64::MIN_POSITIVE);
                largest = largest.max(*weight);
            }
            self.weights.iter_mut().for_each(|weight| *weight /= largest.max(f64::MIN_POSITIVE));
        }
        for (prior, largest) in self.priors.chunks_exact(values).zip(&mut self.largest) {
            let own = || (0..).zip(prior.iter().zip(&self.weights).map(|(p, weight)| p * weight));
            let total: f64 = own().map(|(_, share)| share).sum();
            let most = own().fold(
                (0.0, 0),
                |most: (f64, u32), (value, share)| {
                    if share > most.0 { (share, value) } else { most }
                },
            );
            *largest = (most.0 / total.max(f64::MIN_POSITIVE), most.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::priors::PriorsBuilder;
    use super::*;

    #[test]
    fn fewer_people_with_a_value_make_everybody_less_likely_to_have_it() {
        let mut builder = PriorsBuilder::new(2);
        builder.estimated(2, vec![(0, 0, 3), (0, 1, 1), (1, 0, 1), (1, 1, 1)]).unwrap();
        let priors = builder.build();
        let mut group = TiltedGroup::new(&priors);
        let mut largest = |ones: usize| {
            (0..100).for_each(|at| group.add([u32::from(at >= 50)].into_iter(), u32::from(at < ones), 1.0));
            group.settle();
            let found = group.largest([0].into_iter());
            (0..100).for_each(|at| group.add([u32::from(at >= 50)].into_iter(), u32::from(at < ones), -1.0));
            found
        };
        // As many as expected: posteriors are priors.
        let (as_expected, value) = largest(37);
        assert!((as_expected - 0.75).abs() < 0.02 && value == 0, "{as_expected}");
        let (more, value) = largest(60);
        assert!(more < 0.6 && value == 0 || value == 1, "{more}");
    }
}
