//! How likely is each value for each signature of each attribute set?
//!
//! Estimated priors are the shares count / total of the table itself; given ones are read by the caller; both
//! are exact. Memory: 8 B per non-zero (signature, value), up to four times that in well-filled rows; 24 B
//! per distinct prior. Invariant: a value without an entry has prior 0.

use std::sync::Arc;

use super::spread::{Fraction, PriorLevels, Rank};
use crate::error::{Error, Result};
use crate::math::exact::Rational;

/// A row with at least this share of all values is stored in full, so that it can be read without a search.
const FULL_SHARE: usize = 4;

/// The priors of every attribute set.
#[derive(Debug, Clone)]
pub struct Priors {
    pub(crate) levels: Arc<PriorLevels>,
    values: u32,
    sets: Vec<SetPriors>,
}

/// The priors of one attribute set: for each signature its non-zero priors, by value, or those of all values.
#[derive(Debug, Clone)]
struct SetPriors {
    starts: Vec<u32>,
    values: Vec<u32>,
    ranks: Vec<Rank>,
}

impl Priors {
    /// How many sensitive values there are.
    pub fn values(&self) -> usize {
        self.values as usize
    }

    /// How many attribute sets there are.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }

    /// How many signatures attribute set `set` has.
    pub fn signatures(&self, set: usize) -> usize {
        self.sets[set].starts.len() - 1
    }

    /// The prior of `value` for a signature; 0 if it has none.
    #[cfg(test)]
    pub fn prior(&self, set: usize, signature: u32, value: u32) -> Rational {
        self.levels.exact(self.rank(set, signature, value)).rational()
    }

    /// The priors of some tuples only, and their signatures renumbered in the same order.
    ///
    /// Working on a part of a table then costs no more than the part.
    pub(crate) fn of_tuples(&self, signatures: &[&[u32]]) -> (Priors, Vec<Vec<u32>>) {
        let (mut sets, mut renumbered) = (Vec::new(), Vec::new());
        for (set, own) in self.sets.iter().zip(signatures) {
            let mut used: Vec<u32> = own.to_vec();
            used.sort_unstable();
            used.dedup();
            let mut part = SetPriors { starts: vec![0], values: Vec::new(), ranks: Vec::new() };
            for &signature in &used {
                let row =
                    set.starts[signature as usize] as usize..set.starts[signature as usize + 1] as usize;
                part.values.extend_from_slice(&set.values[row.clone()]);
                part.ranks.extend_from_slice(&set.ranks[row]);
                part.starts.push(part.values.len() as u32);
            }
            let number = |signature: &u32| used.partition_point(|other| other < signature) as u32;
            renumbered.push(own.iter().map(number).collect());
            sets.push(part);
        }
        (Priors { levels: self.levels.clone(), values: self.values, sets }, renumbered)
    }

    /// Whether `value` is impossible for a signature.
    pub fn is_zero(&self, set: usize, signature: u32, value: u32) -> bool {
        self.rank(set, signature, value) == 0
    }

    /// Whether only one value is possible for a signature, and certain.
    pub fn is_certain(&self, set: usize, signature: u32) -> bool {
        self.row(set, signature).any(|(_, rank)| self.levels.near(rank) == 1.0)
    }

    /// The largest prior of a signature, exactly.
    pub fn largest(&self, set: usize, signature: u32) -> Rational {
        let most = self.row(set, signature).map(|(_, rank)| rank).max().unwrap_or(0);
        self.levels.exact(most).rational()
    }

    pub(crate) fn rank(&self, set: usize, signature: u32, value: u32) -> Rank {
        let set = &self.sets[set];
        let (start, end) =
            (set.starts[signature as usize] as usize, set.starts[signature as usize + 1] as usize);
        if end - start == self.values as usize {
            return set.ranks[start + value as usize];
        }
        match set.values[start..end].binary_search(&value) {
            Ok(at) => set.ranks[start + at],
            Err(_) => 0,
        }
    }

    /// The non-zero priors of a signature, by value.
    pub(crate) fn row(&self, set: usize, signature: u32) -> impl Iterator<Item = (u32, Rank)> + '_ {
        let set = &self.sets[set];
        let row = set.starts[signature as usize] as usize..set.starts[signature as usize + 1] as usize;
        set.values[row.clone()]
            .iter()
            .copied()
            .zip(set.ranks[row].iter().copied())
            .filter(|&(_, rank)| rank > 0)
    }
}

/// Collects priors, one attribute set after another.
#[derive(Debug)]
pub struct PriorsBuilder {
    values: u32,
    sets: Vec<SetPriors>,
    fractions: Vec<Fraction>,
}

impl PriorsBuilder {
    /// Priors over the sensitive values `0..values`.
    pub fn new(values: u32) -> Self {
        PriorsBuilder { values, sets: Vec::new(), fractions: Vec::new() }
    }

    /// Adds an attribute set whose priors are the shares of the table's counts.
    ///
    /// `counts` holds (signature, value, count) for signatures `0..signatures`, in any order, each pair once.
    pub fn estimated(&mut self, signatures: u32, mut counts: Vec<(u32, u32, u32)>) -> Result<()> {
        counts.retain(|&(_, _, count)| count > 0);
        counts.sort_unstable();
        let mut totals = vec![0u64; signatures as usize];
        for &(signature, _, count) in &counts {
            match totals.get_mut(signature as usize) {
                Some(total) => *total += u64::from(count),
                None => return Err(self.unknown_signature()),
            }
        }
        let mut entries = Vec::with_capacity(counts.len());
        for (signature, value, count) in counts {
            let total = totals[signature as usize];
            let shared = gcd(u64::from(count), total);
            let fraction = match u32::try_from(total / shared) {
                Ok(below) => Fraction::Small { above: (u64::from(count) / shared) as u32, below },
                Err(_) => Fraction::Big(Box::new(crate::math::exact::ratio(u64::from(count), total))),
            };
            entries.push((signature, value, fraction));
        }
        self.add(signatures, entries)
    }

    /// Adds an attribute set whose priors are given, as (signature, value, probability); values that are left
    /// out have prior 0.
    pub fn given(&mut self, signatures: u32, priors: Vec<(u32, u32, Rational)>) -> Result<()> {
        let mut entries = Vec::with_capacity(priors.len());
        let mut sums = vec![Rational::ZERO; signatures as usize];
        for (signature, value, prior) in priors {
            let Some(sum) = sums.get_mut(signature as usize) else { return Err(self.unknown_signature()) };
            *sum += &prior;
            if prior < Rational::ZERO || *sum > Rational::ONE {
                return Err(Error::input(
                    format!(
                        "given distributions: the probabilities of signature {signature} of attribute set {} are \
                             negative or sum to more than 1",
                        self.sets.len()
                    ),
                    "give for each signature probabilities between 0 and 1 that sum to at most 1",
                ));
            }
            if prior == Rational::ZERO {
                continue;
            }
            let small = (u32::try_from(prior.numerator()), u32::try_from(prior.denominator()));
            let fraction = match small {
                (Ok(above), Ok(below)) => Fraction::Small { above, below },
                _ => Fraction::Big(Box::new(prior)),
            };
            entries.push((signature, value, fraction));
        }
        entries.sort_by_key(|&(signature, value, _)| (signature, value));
        self.add(signatures, entries)
    }

    /// The priors of all attribute sets that were added.
    pub fn build(self) -> Priors {
        let (levels, ranks) = PriorLevels::new(self.fractions);
        let mut sets = self.sets;
        let mut next = 0;
        for set in &mut sets {
            set.ranks = ranks[next..next + set.values.len()].to_vec();
            next += set.values.len();
        }
        Priors { levels: Arc::new(levels), values: self.values, sets }
    }

    fn add(&mut self, signatures: u32, entries: Vec<(u32, u32, Fraction)>) -> Result<()> {
        if entries.windows(2).any(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
            return Err(Error::input(
                format!(
                    "distributions: attribute set {} has two entries for one signature and value",
                    self.sets.len()
                ),
                "give each signature and value once",
            ));
        }
        if let Some((_, value, _)) = entries.iter().find(|&&(_, value, _)| value >= self.values) {
            return Err(Error::input(
                format!(
                    "distributions: value code {value} of attribute set {} is out of range",
                    self.sets.len()
                ),
                "number the sensitive values from 0",
            ));
        }
        let mut set = SetPriors { starts: vec![0], values: Vec::new(), ranks: Vec::new() };
        let mut entries = entries.into_iter().peekable();
        for signature in 0..signatures {
            let row: Vec<_> = std::iter::from_fn(|| entries.next_if(|entry| entry.0 == signature)).collect();
            if row.len() >= self.values as usize / FULL_SHARE {
                let mut row = row.into_iter().peekable();
                for value in 0..self.values {
                    let given = row.next_if(|entry| entry.1 == value);
                    set.values.push(value);
                    self.fractions
                        .push(given.map_or(Fraction::Small { above: 0, below: 1 }, |entry| entry.2));
                }
            } else {
                for (_, value, fraction) in row {
                    set.values.push(value);
                    self.fractions.push(fraction);
                }
            }
            let end = u32::try_from(set.values.len()).map_err(|_| {
                Error::input(
                    "distributions: an attribute set has more than 2^32 signatures and values",
                    "use fewer attributes together",
                )
            })?;
            set.starts.push(end);
        }
        self.sets.push(set);
        Ok(())
    }

    fn unknown_signature(&self) -> Error {
        Error::input(
            format!("distributions: attribute set {} has an entry for an unknown signature", self.sets.len()),
            "number the signatures of each attribute set from 0",
        )
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
