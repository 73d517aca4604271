//! Which atoms about the people of one bucket are least likely to be all false?
//!
//! Memory: O(K^2) for the table and O(K^2 log K) for the choices, reused from bucket to bucket. Invariant:
//! every choice is the exact optimum; rounding never decides between close values.

use super::product::{self, Product};
use crate::math::top_counts::TopCounts;
use std::cmp::Ordering;
use std::iter::{once, successors};

/// The people of a bucket and its most frequent values: all that its disclosure depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Bucket {
    people: u64,
    /// The largest counts, descending, without zeros.
    top: Vec<u64>,
}

/// A bucket must have fewer people than this, so that counts are exact in binary64.
const PEOPLE_LIMIT: u64 = 1 << 53;

impl Bucket {
    /// A bucket in which the values occur `counts` times, for up to `up_to` implications.
    ///
    /// `None` if it has no people, or 2^53 of them.
    pub fn from_counts(counts: impl IntoIterator<Item = u64>, up_to: usize) -> Option<Self> {
        let mut bucket = Bucket::default();
        bucket.recount(counts, up_to).then_some(bucket)
    }

    /// Turns into the bucket that [`Bucket::from_counts`] makes, in the same memory. Returns whether there is such a bucket.
    fn recount(&mut self, counts: impl IntoIterator<Item = u64>, up_to: usize) -> bool {
        self.top.clear();
        self.top.extend(counts.into_iter().filter(|&count| count > 0));
        let people = sum(self.top.iter().copied());
        self.top.sort_unstable_by(|a, b| b.cmp(a));
        self.top.truncate(up_to.saturating_add(1));
        self.have(people)
    }

    /// The same if the largest counts are known already, as far as they are needed.
    fn recount_top(&mut self, people: Option<u64>, top: &[u64]) -> bool {
        self.top.clear();
        self.top.extend(top.iter().take_while(|&&count| count > 0));
        self.have(people)
    }

    /// Sets the number of people; `None` stands for more than can be counted.
    fn have(&mut self, people: Option<u64>) -> bool {
        self.people = people.unwrap_or(PEOPLE_LIMIT);
        0 < self.people && self.people < PEOPLE_LIMIT
    }

    /// Turns into the bucket with these counts, descending and without zeros, for up to `up_to` implications; takes no new
    /// memory from bucket to bucket. Returns whether there is such a bucket.
    pub fn refill(&mut self, people: u64, ranked: &[u64], up_to: usize) -> bool {
        self.people = people;
        self.top.clear();
        self.top.extend(ranked.iter().take(up_to.saturating_add(1)));
        0 < people && people < PEOPLE_LIMIT
    }

    /// A bucket with these people and largest counts, descending; `None` if there is no such bucket.
    pub fn of_top(people: u64, top: Vec<u64>) -> Option<Self> {
        let known = sum(top.iter().copied())?;
        let ranked = top.is_sorted_by(|one, next| one >= next) && top.last().is_some_and(|&least| least > 0);
        (ranked && known <= people && people < PEOPLE_LIMIT).then_some(Bucket { people, top })
    }

    /// Its people.
    pub fn people(&self) -> u64 {
        self.people
    }

    /// The largest counts, descending.
    pub fn top(&self) -> &[u64] {
        &self.top
    }

    fn most_frequent(&self) -> u64 {
        self.top.first().copied().unwrap_or(self.people)
    }

    /// The people whose value is among the `values` most frequent ones.
    ///
    /// For a bucket made for fewer implications this is an upper bound, which overstates the risk.
    fn covered(&self, values: usize) -> u64 {
        let known: u64 = self.top.iter().take(values).sum();
        let unknown = values.saturating_sub(self.top.len()) as u64;
        let least = self.top.last().copied().unwrap_or(self.people);
        known.saturating_add(unknown.saturating_mul(least)).min(self.people)
    }

    /// The chance that person `i` has none of the values that cover `covered` people, given that the people
    /// before have none of at least these; integers guard against division by 0.
    fn fraction(&self, i: usize, covered: u64) -> (u64, u64) {
        match self.people.saturating_sub(i as u64) {
            0 => (0, 1),
            left => (left.saturating_sub(covered), left),
        }
    }

    /// Whether no placement of up to `atoms` atoms in `other` discloses more than the same placement here.
    ///
    /// Each factor is 1 - c / (n - i), where c people are covered. For each number of values, c' (n - i) <= c (n' - i)
    /// must hold for every person i < `atoms`; it is linear in i, so the first and the last one are enough. The first one
    /// of the most frequent value also compares the odds n / f, by which A is divided.
    pub(super) fn discloses_no_less_than(&self, other: &Bucket, atoms: usize) -> bool {
        let last = atoms.saturating_sub(1) as u64;
        if self.people.min(other.people) <= last {
            return false;
        }
        // As in `covered`, one more value at a time.
        let more = |bucket: &Bucket, covered: u64, i: usize| {
            let next = bucket.top.get(i).or(bucket.top.last()).copied().unwrap_or(bucket.people);
            covered.saturating_add(next).min(bucket.people)
        };
        let no_more = |covered: u64, left: u64, other_covered: u64, other_left: u64| {
            u128::from(other_covered) * u128::from(left) <= u128::from(covered) * u128::from(other_left)
        };
        let (mut own, mut others) = (0, 0);
        (0..atoms).all(|i| {
            (own, others) = (more(self, own, i), more(other, others, i));
            no_more(own, self.people, others, other.people)
                && no_more(own, self.people - last, others, other.people - last)
        })
    }

    /// 1 / MD of k negated atoms about one person of this bucket.
    pub(super) fn negated(&self, k: usize) -> (u64, u64) {
        let most = self.most_frequent();
        (self.people - (self.covered(k.saturating_add(1)) - most), most)
    }
}

/// `None` if it is too large.
pub(super) fn sum(mut counts: impl Iterator<Item = u64>) -> Option<u64> {
    counts.try_fold(0u64, |sum, count| sum.checked_add(count))
}

/// The best placements of 1, 2, ... atoms in one bucket: MINIMIZE1 with its choices.
#[derive(Debug, Clone)]
pub(super) struct Placements {
    /// The maximum number of atoms.
    atoms: usize,
    clear_factor: f64,
    bucket: Bucket,
    /// At `i * (atoms + 1) + j`: the best way to give j atoms to person i and the people after.
    best: Vec<Best>,
    choices: Vec<Choice>,
}

#[derive(Debug, Clone, Copy)]
struct Best {
    rounded: f64,
    /// Index of the first choice; `NOBODY` for no atoms.
    first: usize,
}

/// One person gets `atoms` atoms, the next ones as given by `rest`.
#[derive(Debug, Clone, Copy)]
struct Choice {
    atoms: usize,
    rest: usize,
}

const NOBODY: usize = usize::MAX;

impl Placements {
    /// For up to `atoms` atoms in `bucket`.
    pub(super) fn new(atoms: usize, bucket: &Bucket) -> Self {
        let cells = (atoms + 1) * (atoms + 1);
        let mut new = Placements {
            atoms,
            clear_factor: product::clear_factor(atoms.saturating_add(1)),
            bucket: bucket.clone(),
            best: Vec::with_capacity(cells),
            choices: Vec::with_capacity(cells),
        };
        new.place();
        new
    }

    /// Starts over with another bucket.
    pub(super) fn reset(&mut self, bucket: &Bucket) {
        self.bucket.clone_from(bucket);
        self.place();
    }

    /// Starts over with the bucket that has these counts, of which `top` are the largest ones; returns whether there is
    /// such a bucket.
    pub(super) fn recount(&mut self, counts: impl Iterator<Item = u64> + Clone, top: &TopCounts) -> bool {
        let up_to = self.atoms.saturating_sub(1);
        let is_bucket = match top.counts().get(..=up_to) {
            Some(top) => self.bucket.recount_top(sum(counts), top),
            None => self.bucket.recount(counts, up_to),
        };
        if is_bucket {
            self.place();
        }
        is_bucket
    }

    /// The bucket.
    pub(super) fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// The largest number of atoms.
    pub(super) fn atoms(&self) -> usize {
        self.atoms
    }

    /// Increases the largest number of atoms per person from 1. Everyone before person i has at least as
    /// many, so only states with i * largest + j <= atoms can be reached.
    fn place(&mut self) {
        let width = self.atoms + 1;
        self.choices.clear();
        self.best.clear();
        self.best.resize(width * width, Best { rounded: f64::INFINITY, first: NOBODY });
        for i in 0..width {
            self.best[i * width] = Best { rounded: 1.0, first: NOBODY };
        }
        for largest in 1..=self.atoms {
            let covered = self.bucket.covered(largest);
            for i in (0..self.atoms / largest).rev() {
                let fraction = self.bucket.fraction(i, covered);
                let quotient = fraction.0 as f64 / fraction.1 as f64;
                for j in largest..=self.atoms - i * largest {
                    let rest = self.best[(i + 1) * width + j - largest];
                    let rounded = product::multiply(quotient, rest.rounded);
                    let current = self.best[i * width + j];
                    let order = product::compare_rounded(rounded, current.rounded, self.clear_factor)
                        .unwrap_or_else(|| {
                            let candidate = once(fraction).chain(self.fractions(i + 1, rest.first));
                            product::compare_exactly(candidate, self.fractions(i, current.first))
                        });
                    if order == Ordering::Less {
                        self.best[i * width + j] = Best { rounded, first: self.choices.len() };
                        self.choices.push(Choice { atoms: largest, rest: rest.first });
                    }
                }
            }
        }
    }

    fn shares(&self, first: usize) -> impl Iterator<Item = usize> + Clone {
        successors(self.choices.get(first), |choice| self.choices.get(choice.rest)).map(|choice| choice.atoms)
    }

    fn fractions(&self, person: usize, first: usize) -> impl Iterator<Item = (u64, u64)> + Clone {
        let numbered = (person..).zip(self.shares(first));
        numbered.map(|(i, atoms)| self.bucket.fraction(i, self.bucket.covered(atoms)))
    }

    /// The least chance that none of `atoms` atoms is true, rounded.
    pub(super) fn without_rounded(&self, atoms: usize) -> f64 {
        self.best[atoms].rounded
    }

    /// The least chance that none of `atoms` atoms is true.
    pub(super) fn without(&self, atoms: usize) -> Product {
        Product::of(self.fractions(0, self.best[atoms].first))
    }

    /// The same for A and `antecedents` atoms, over the chance of A, rounded.
    pub(super) fn with_rounded(&self, antecedents: usize) -> f64 {
        let odds = self.bucket.people as f64 / self.bucket.most_frequent() as f64;
        product::multiply(odds, self.best[antecedents + 1].rounded)
    }

    /// The same for A and `antecedents` atoms, over the chance of A.
    pub(super) fn with(&self, antecedents: usize) -> Product {
        let most = self.bucket.most_frequent();
        let fractions = self.fractions(0, self.best[antecedents + 1].first).enumerate();
        // (a / n) * (n / f_0): the first person's denominator is n.
        Product::of(fractions.map(|(i, (above, below))| (above, if i == 0 { most } else { below })))
    }

    /// For each person used, the number of most frequent values that the atoms name; anything after a
    /// certainty is left out.
    pub(super) fn people(&self, atoms: usize) -> Vec<usize> {
        let mut people = Vec::new();
        for (i, share) in self.shares(self.best[atoms].first).enumerate() {
            let certain = |&values: &usize| self.bucket.fraction(i, self.bucket.covered(values)).0 == 0;
            let enough = (1..=share).find(certain);
            people.push(enough.unwrap_or(share));
            if enough.is_some() {
                break;
            }
        }
        people
    }
}
