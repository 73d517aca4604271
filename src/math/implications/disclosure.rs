//! What is the maximum disclosure of all buckets observed, and which atoms attain it?
//!
//! Memory: 3K + 2 buckets with K + 1 counts each, for up to K implications; never O(buckets). Invariant: each
//! minimum is exact, and among equal ones the bucket with the first position is kept, so merging in any order
//! gives the same result and the same witness.

use super::bars::LeastProducts;
use super::bucket::{Bucket, Placements};
use super::product::{self, Product};
use crate::math::confidence::{Confidence, ThresholdVerdict};
use crate::math::exact::Rational;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The minima that decide the maximum disclosure for 0, 1, ... implications.
#[derive(Debug, Clone)]
pub struct Disclosure {
    up_to: usize,
    /// `None` before the first bucket.
    minima: Option<Minima>,
}

#[derive(Debug, Clone)]
struct Minima {
    /// At j - 1: the least chance that none of j atoms in one bucket is true.
    without: Vec<Minimum>,
    /// At j: the same for A and j antecedents, over the chance of A.
    with: Vec<Minimum>,
    /// At k: the least 1 / MD of k negated atoms.
    negated: Vec<Minimum>,
}

#[derive(Debug, Clone)]
struct Minimum {
    value: Product,
    position: u64,
    bucket: Bucket,
}

/// The disclosure for one number of implications.
#[derive(Debug, Clone, PartialEq)]
pub struct DisclosureMaximum {
    /// The number of implications.
    pub k: usize,
    /// R(k), the least ratio Pr(no atom is true) / Pr(A).
    pub min_ratio: Rational,
    /// MD(k) = 1 / (1 + R(k)).
    pub disclosure: Rational,
    /// Knowledge that attains it.
    pub witness: DisclosureWitness,
    /// The maximum disclosure by k negated atoms.
    pub negated: Rational,
    /// The bucket that attains it: its most frequent value is disclosed, the k next ones are negated.
    pub negated_position: u64,
}

/// Atoms that attain the maximum disclosure: each implies A, "the first person of the target's bucket has its
/// most frequent value". There may be fewer than k if fewer give certainty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisclosureWitness {
    /// The atoms in the target's bucket. The first of the first person is A itself.
    pub target: Atoms,
    /// The atoms in other buckets, in the order of their positions.
    pub others: Vec<Atoms>,
}

/// Atoms about the people of one bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atoms {
    /// The position of the bucket.
    pub position: u64,
    /// For each person used, the number of atoms: they name the most frequent values in turn.
    pub people: Vec<usize>,
}

impl Minimum {
    fn beats(&self, other: &Minimum) -> bool {
        let order = self.value.compare(&other.value);
        order.then(self.position.cmp(&other.position)) == Ordering::Less
    }

    /// Replaces the minimum unless `rounded`, a rounding of the value, shows that it is larger. Returns whether it did.
    fn offer(&mut self, rounded: f64, clear_factor: f64, candidate: impl FnOnce() -> Minimum) -> bool {
        let order = product::compare_rounded(rounded, self.value.rounded(), clear_factor);
        if order == Some(Ordering::Greater) {
            return false;
        }
        let candidate = candidate();
        let better = candidate.beats(self);
        if better {
            *self = candidate;
        }
        better
    }
}

impl Minima {
    fn levels(&mut self) -> impl Iterator<Item = &mut Minimum> {
        self.without.iter_mut().chain(&mut self.with).chain(&mut self.negated)
    }
}

impl Disclosure {
    /// No buckets yet, for 0 to `up_to` implications.
    pub fn new(up_to: usize) -> Self {
        Disclosure { up_to, minima: None }
    }

    /// The largest number of implications.
    pub fn up_to(&self) -> usize {
        self.up_to
    }

    /// Adds a bucket whose placements have been computed. Returns whether a minimum that decides about safety changed.
    pub(super) fn observe(&mut self, bucket: &Bucket, placements: &Placements, position: u64) -> bool {
        let minimum = |value: Product| Minimum { value, position, bucket: bucket.clone() };
        let without = |j: usize| minimum(placements.without(j));
        let with = |j: usize| minimum(placements.with(j));
        let negated = |k: usize| minimum(Product::of([bucket.negated(k)]));
        let Some(minima) = &mut self.minima else {
            self.minima = Some(Minima {
                without: (1..=self.up_to).map(without).collect(),
                with: (0..=self.up_to).map(with).collect(),
                negated: (0..=self.up_to).map(negated).collect(),
            });
            return true;
        };
        let mut changed = false;
        // With A, one more fraction: people / most frequent.
        let clear_factor = product::clear_factor(self.up_to.saturating_add(2));
        for (j, level) in (1..).zip(&mut minima.without) {
            changed |= level.offer(placements.without_rounded(j), clear_factor, || without(j));
        }
        for (j, level) in minima.with.iter_mut().enumerate() {
            changed |= level.offer(placements.with_rounded(j), clear_factor, || with(j));
        }
        for (k, level) in minima.negated.iter_mut().enumerate() {
            let (above, below) = bucket.negated(k);
            level.offer(above as f64 / below as f64, clear_factor, || negated(k));
        }
        changed
    }

    /// Adds the buckets of another scan; both should be for the same number of implications, otherwise only
    /// the smaller number remains.
    pub fn merge(&mut self, other: &Disclosure) {
        self.keep(other.up_to);
        let Some(mut theirs) = other.minima.clone() else { return };
        theirs.keep(self.up_to);
        match &mut self.minima {
            None => self.minima = Some(theirs),
            Some(own) => {
                for (own, theirs) in own.levels().zip(theirs.levels()) {
                    if theirs.beats(own) {
                        std::mem::swap(own, theirs);
                    }
                }
            }
        }
    }

    /// The positions of the buckets that attain a minimum: no other bucket can be part of a witness.
    pub fn positions(&self) -> BTreeSet<u64> {
        self.levels().map(|level| level.position).collect()
    }

    /// The buckets that attain a minimum, by position: whoever observes these has the same minima.
    pub fn attaining(&self) -> BTreeMap<u64, &Bucket> {
        self.levels().map(|level| (level.position, &level.bucket)).collect()
    }

    /// Whether the bucket at a position attains a minimum.
    pub fn attains(&self, position: u64) -> bool {
        self.levels().any(|level| level.position == position)
    }

    fn levels(&self) -> impl Iterator<Item = &Minimum> {
        self.minima.iter().flat_map(|minima| minima.without.iter().chain(&minima.with).chain(&minima.negated))
    }

    /// Whether a bucket with these placements could lower a minimum; rounding may only cause false positives.
    pub(super) fn could_change(&self, placements: &Placements) -> bool {
        let Some(minima) = &self.minima else { return true };
        let clear_factor = product::clear_factor(self.up_to.saturating_add(2));
        let larger = |rounded: f64, level: &Minimum| {
            let order = product::compare_rounded(rounded, level.value.rounded(), clear_factor);
            order == Some(Ordering::Greater)
        };
        let without =
            (1..).zip(&minima.without).all(|(j, level)| larger(placements.without_rounded(j), level));
        let with = (0..).zip(&minima.with).all(|(j, level)| larger(placements.with_rounded(j), level));
        !(without && with)
    }

    /// The verdict with the buckets of these placements added, if rounded values are conclusive: the least of rounded
    /// values is as near to the least value as they are to theirs.
    pub(super) fn clear_verdict_with(
        &self,
        added: &[Placements],
        confidence: &Confidence,
    ) -> Option<ThresholdVerdict> {
        let minima = self.minima.as_ref()?;
        let least = |level: &Minimum, rounded: &dyn Fn(&Placements) -> f64| {
            added.iter().map(rounded).fold(level.value.rounded(), f64::min)
        };
        let without =
            (1..).zip(&minima.without).map(|(j, level)| least(level, &|own| own.without_rounded(j)));
        let with = (0..).zip(&minima.with).map(|(j, level)| least(level, &|own| own.with_rounded(j)));
        let rounded = least_ratio(&least_apart(&without.collect::<Vec<_>>()), &with.collect::<Vec<_>>());
        let clear_factor = product::clear_factor(self.up_to.saturating_add(2));
        let order = product::compare_rounded(rounded, confidence.ratio_rounded(), clear_factor)?;
        Some((order == Ordering::Greater).into())
    }

    /// The least products for 0 to [`Disclosure::up_to`] implications.
    pub(super) fn least_products(&self) -> LeastProducts {
        let many = self.up_to.saturating_add(1);
        let Some(minima) = &self.minima else {
            return LeastProducts { ratios: vec![f64::INFINITY; many], apart: vec![1.0; many] };
        };
        let (apart, with) = minima.rounded();
        let ratios = (1..=many).map(|many| least_ratio(&apart[..many], &with[..many])).collect();
        LeastProducts { ratios, apart }
    }

    fn keep(&mut self, up_to: usize) {
        self.up_to = self.up_to.min(up_to);
        if let Some(minima) = &mut self.minima {
            minima.keep(self.up_to);
        }
    }

    /// The disclosure for 0, 1, ... implications; empty if there is no bucket.
    pub fn curve(&self) -> Vec<DisclosureMaximum> {
        let Some(minima) = &self.minima else { return Vec::new() };
        let points = minima.combinations().into_iter().zip(&minima.negated).enumerate();
        let point = |(k, (combination, negated)): (usize, (Combination, &Minimum))| {
            let min_ratio = combination.value.exact();
            DisclosureMaximum {
                k,
                disclosure: Rational::ONE / (Rational::ONE + &min_ratio),
                min_ratio,
                witness: minima.witness(&combination),
                negated: Rational::ONE / negated.value.exact(),
                negated_position: negated.position,
            }
        };
        points.map(point).collect()
    }

    /// Whether the maximum disclosure by [`Disclosure::up_to`] implications is below the threshold.
    pub fn verdict(&self, confidence: &Confidence) -> ThresholdVerdict {
        let Some(minima) = &self.minima else { return ThresholdVerdict::Safe };
        let rounded = minima.rounded_ratio();
        if rounded == 0.0 {
            return ThresholdVerdict::Unsafe;
        }
        let clear_factor = product::clear_factor(self.up_to.saturating_add(2));
        let order = product::compare_rounded(rounded, confidence.ratio_rounded(), clear_factor);
        let order = order.unwrap_or_else(|| match minima.combination(&minima.apart(), self.up_to) {
            Some(last) => last.value.compare_ratio(confidence.ratio()),
            None => Ordering::Less,
        });
        if order == Ordering::Greater { ThresholdVerdict::Safe } else { ThresholdVerdict::Unsafe }
    }
}

/// The least products of 0, 1, ... atoms outside the target's bucket, by rounded minima.
fn least_apart(without: &[f64]) -> Vec<f64> {
    let mut apart = vec![1.0f64];
    for h in 1..=without.len() {
        let choices = (1..=h).map(|j| product::multiply(without[j - 1], apart[h - j]));
        apart.push(choices.fold(f64::INFINITY, f64::min));
    }
    apart
}

/// R(h) for h below the length of `apart`, by rounded minima.
fn least_ratio(apart: &[f64], with: &[f64]) -> f64 {
    let products = with.iter().zip(apart.iter().rev()).map(|(with, apart)| product::multiply(*with, *apart));
    products.fold(f64::INFINITY, f64::min)
}

/// The best choice for some number of implications.
struct Combination {
    value: Product,
    /// Antecedents in the target's bucket.
    target: usize,
    /// Antecedents elsewhere, by the number that share a bucket.
    others: Vec<usize>,
}

impl Minima {
    fn keep(&mut self, up_to: usize) {
        self.without.truncate(up_to);
        self.with.truncate(up_to + 1);
        self.negated.truncate(up_to + 1);
    }

    /// R(K), rounded at most twice for each of its at most K + 1 fractions; 0 only if it is 0.
    fn rounded_ratio(&self) -> f64 {
        let (apart, with) = self.rounded();
        least_ratio(&apart, &with)
    }

    /// The least products outside the target's bucket, and the minima with A.
    fn rounded(&self) -> (Vec<f64>, Vec<f64>) {
        let rounded = |level: &Minimum| level.value.rounded();
        let without: Vec<f64> = self.without.iter().map(rounded).collect();
        (least_apart(&without), self.with.iter().map(rounded).collect())
    }

    /// R(k) for each k, exactly.
    fn combinations(&self) -> Vec<Combination> {
        let apart = self.apart();
        (0..self.with.len()).filter_map(|k| self.combination(&apart, k)).collect()
    }

    /// At h: h antecedents outside the target's bucket, and how many the last bucket holds. Among equal choices the one with
    /// fewer buckets is taken.
    fn apart(&self) -> Vec<(Product, usize)> {
        let mut apart = vec![(Product::one(), 0)];
        for h in 1..=self.without.len() {
            let choices = (1..=h).rev().map(|j| (self.without[j - 1].value.times(&apart[h - j].0), j));
            apart.extend(choices.reduce(smaller));
        }
        apart
    }

    /// R(k), exactly. Among equal choices the one with fewer buckets is taken.
    fn combination(&self, apart: &[(Product, usize)], k: usize) -> Option<Combination> {
        let choices = (0..=k).rev().map(|j| (self.with[j].value.times(&apart[k - j].0), j));
        let (value, target) = choices.reduce(smaller)?;
        let mut left = k - target;
        let mut others = Vec::new();
        while left > 0 {
            others.push(apart[left].1);
            left -= apart[left].1;
        }
        Some(Combination { value, target, others })
    }

    /// A bucket that is used more than once gets the best placement of all its atoms, which is no
    /// larger, and so equal.
    fn witness(&self, combination: &Combination) -> DisclosureWitness {
        let home = &self.with[combination.target];
        let mut uses: BTreeMap<u64, (&Bucket, usize)> = BTreeMap::new();
        for &atoms in &combination.others {
            let minimum = &self.without[atoms - 1];
            uses.entry(minimum.position).or_insert((&minimum.bucket, 0)).1 += atoms;
        }
        let (_, shared) = uses.remove(&home.position).unwrap_or((&home.bucket, 0));
        let atoms = |position: u64, bucket: &Bucket, atoms: usize| Atoms {
            position,
            people: Placements::new(atoms, bucket).people(atoms),
        };
        DisclosureWitness {
            target: atoms(home.position, &home.bucket, combination.target + 1 + shared),
            others: uses
                .into_iter()
                .map(|(position, (bucket, used))| atoms(position, bucket, used))
                .collect(),
        }
    }
}

fn smaller(first: (Product, usize), second: (Product, usize)) -> (Product, usize) {
    if second.0.compare(&first.0) == Ordering::Less { second } else { first }
}
