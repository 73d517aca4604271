//! What is the range of the priors in a group, for every attribute set and value?
//!
//! Memory: 8 B x attribute sets x values of the table for the one group that is growing, 8 B x attribute sets
//! x own values for a finished one.

use super::priors::Priors;
use super::spread::{PriorLevels, Rank, Spread};

/// The lowest and highest prior of a group's members, for every attribute set and every value of the table.
#[derive(Debug, Clone)]
pub(crate) struct PriorRanges {
    values: usize,
    low: Vec<Rank>,
    high: Vec<Rank>,
}

impl PriorRanges {
    /// The ranges of an empty group.
    pub(crate) fn new(priors: &Priors) -> PriorRanges {
        let cells = priors.sets() * priors.values();
        PriorRanges { values: priors.values(), low: vec![Rank::MAX; cells], high: vec![0; cells] }
    }

    pub(crate) fn clear(&mut self) {
        self.low.fill(Rank::MAX);
        self.high.fill(0);
    }

    /// Adds a member with these signatures, one per attribute set.
    pub(crate) fn add(&mut self, priors: &Priors, signatures: &[u32]) {
        for (set, &signature) in signatures.iter().enumerate() {
            self.add_one(priors, set, signature);
        }
    }

    /// Adds one signature of one attribute set.
    pub(crate) fn add_one(&mut self, priors: &Priors, set: usize, signature: u32) {
        let cells = set * self.values..(set + 1) * self.values;
        let (low, high) = (&mut self.low[cells.clone()], &mut self.high[cells]);
        let mut next = 0;
        for (value, rank) in priors.row(set, signature) {
            let value = value as usize;
            low[next..value].fill(0);
            low[value] = low[value].min(rank);
            high[value] = high[value].max(rank);
            next = value + 1;
        }
        low[next..].fill(0);
    }

    pub(crate) fn low(&self, set: usize, value: u32) -> Rank {
        self.low[set * self.values + value as usize]
    }

    pub(crate) fn high(&self, set: usize, value: u32) -> Rank {
        self.high[set * self.values + value as usize]
    }

    /// The ranges over the values of a group only.
    pub(crate) fn of_group(&self, priors: &Priors, values: &[u32], signatures: &[u32]) -> GroupPriors {
        let cells = (0..priors.sets()).flat_map(|set| values.iter().map(move |&value| (set, value)));
        GroupPriors {
            values: values.to_vec(),
            signatures: signatures.to_vec(),
            low: cells.clone().map(|(set, value)| self.low(set, value)).collect(),
            high: cells.map(|(set, value)| self.high(set, value)).collect(),
        }
    }
}

/// A group of tuples with distinct values: its members, and the ranges of the priors of its own values.
#[derive(Debug, Clone)]
pub(crate) struct GroupPriors {
    /// The values, one per member.
    pub(crate) values: Vec<u32>,
    /// The members' signatures, one per attribute set, member by member.
    pub(crate) signatures: Vec<u32>,
    low: Vec<Rank>,
    high: Vec<Rank>,
}

impl GroupPriors {
    /// A group of `signatures` (one per attribute set, member by member) over the distinct `values`.
    pub(crate) fn new(priors: &Priors, values: Vec<u32>, signatures: Vec<u32>) -> GroupPriors {
        let sets = priors.sets();
        let mut low = vec![Rank::MAX; sets * values.len()];
        let mut high = vec![0; sets * values.len()];
        for member in signatures.chunks_exact(sets) {
            for (set, &signature) in member.iter().enumerate() {
                for (at, &value) in values.iter().enumerate() {
                    let rank = priors.rank(set, signature, value);
                    let cell = set * values.len() + at;
                    low[cell] = low[cell].min(rank);
                    high[cell] = high[cell].max(rank);
                }
            }
        }
        GroupPriors { values, signatures, low, high }
    }

    /// The group with one more tuple.
    pub(crate) fn with(&self, priors: &Priors, value: u32, signatures: &[u32]) -> GroupPriors {
        let values = self.values.iter().copied().chain([value]).collect();
        let members = self.signatures.iter().chain(signatures).copied().collect();
        GroupPriors::new(priors, values, members)
    }

    /// The (low, high) ranks of every value, for one attribute set.
    pub(crate) fn ranges(&self, set: usize) -> impl Iterator<Item = (Rank, Rank)> + Clone + '_ {
        let cells = set * self.values.len()..(set + 1) * self.values.len();
        self.low[cells.clone()].iter().copied().zip(self.high[cells].iter().copied())
    }

    /// The (low, high) ranks of any value over all members, for one attribute set.
    pub(crate) fn range_of(&self, priors: &Priors, set: usize, value: u32) -> (Rank, Rank) {
        let members = self.signatures.chunks_exact(priors.sets());
        let ranks = members.map(|member| priors.rank(set, member[set], value));
        ranks.fold((Rank::MAX, 0), |(low, high), rank| (low.min(rank), high.max(rank)))
    }

    /// The largest difference of priors over all attribute sets and values.
    pub(crate) fn spread(&self, levels: &PriorLevels) -> Spread {
        let ranges = self.low.iter().zip(&self.high);
        ranges.fold(Spread::NONE, |widest, (&low, &high)| levels.wider(widest, levels.spread(low, high)))
    }
}
