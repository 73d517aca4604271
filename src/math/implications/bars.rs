//! How many people does a bucket need, given its largest counts and what was admitted before?
//!
//! With a bucket of n people, R(k) is at most every product of one of its placements with minima of other buckets, and
//! buckets may repeat. Let `apart(h)` be the least product of `without` minima with h atoms. So each of these must exceed
//! the threshold r:
//!
//! - (n - F(j + 1)) / f_0 x `apart(k - j)`: A and j antecedents about one person,
//! - (1 - F(j)/n)^m x R(k - mj): j atoms about one person, in m copies of the bucket,
//! - (n - f_0) / f_0 x (1 - f_0/n)^i x `apart(k - i)`: A, and one atom about each of i people in copies of the bucket.
//!
//! Each says that n must exceed a linear function of the largest counts. These only grow as people join, so a bucket needs
//! as many people as any that it contains; and minima only fall, so what is needed only grows.
//!
//! Memory: two numbers for each of at most [`TOP`] values.

use crate::math::top_counts::{TOP, TopCounts};

/// Thresholds and needs are lowered by this share, which is far more than rounding takes.
const SLACK: f64 = 1e-9;

/// The most copies of a bucket that are tried; fewer give lower needs.
const COPIES: usize = TOP;

/// No bound on people needs to be larger.
const MOST: f64 = (1u64 << 60) as f64;

/// What a bucket must pass to be admitted.
#[derive(Debug, Clone)]
pub(super) struct PeopleNeeded {
    /// People for each person with the most frequent value.
    most_frequent: f64,
    /// For 2, 3, ... values.
    several: Vec<ForSeveral>,
}

/// What a bucket needs for people who have one of its most frequent values.
#[derive(Debug, Clone, Copy)]
struct ForSeveral {
    /// People for each of them.
    share: f64,
    /// People without these values, for each person with the most frequent value.
    others: f64,
}

/// R(0), R(1), ... and `apart(0)`, `apart(1)`, ..., rounded up by at most a share of [`SLACK`] / 2.
pub(super) struct LeastProducts {
    pub(super) ratios: Vec<f64>,
    pub(super) apart: Vec<f64>,
}

impl PeopleNeeded {
    /// For a ratio that must exceed `threshold` with all but one of `least.apart` as atoms.
    pub(super) fn new(threshold: f64, least: &LeastProducts) -> Self {
        let LeastProducts { ratios, apart } = least;
        let implications = apart.len() - 1;
        let threshold = threshold * (1.0 - SLACK);
        // The least chance that none of j atoms is true.
        let without = |j: usize| {
            let most_copies = (implications / j).min(COPIES);
            let chance = |m: usize| (threshold / ratios[implications - m * j]).powf(1.0 / m as f64);
            let least = (1..=most_copies).map(chance).fold(0.0, f64::max);
            (least * (1.0 - SLACK)).min(1.0 - SLACK)
        };
        let share = |j: usize| if j <= implications { 1.0 / (1.0 - without(j)) } else { 1.0 };
        let several = (2..=TOP.min(implications + 1)).map(|values| {
            // The largest sum that is kept stands for those of more values.
            let j = if values == TOP { implications } else { values - 1 };
            ForSeveral { share: share(values), others: threshold / apart[implications - j] }
        });
        let copies = |i: usize| least_share(i as i32, threshold / apart[implications - i]);
        let most_frequent = (0..=implications.min(COPIES)).map(copies).fold(share(1), f64::max);
        PeopleNeeded { most_frequent, several: several.collect() }
    }

    /// The largest of these counts, as far as they are needed.
    pub(super) fn top(&self, counts: impl Iterator<Item = u64>) -> TopCounts {
        TopCounts::of(1 + self.several.len(), counts)
    }

    /// A bucket that contains one with these counts needs at least so many people.
    pub(super) fn least_people_with(&self, top: &TopCounts) -> u64 {
        let [first, others @ ..] = top.counts();
        let most_frequent = *first as f64;
        let (mut covered, mut needed) = (*first, self.most_frequent * most_frequent);
        for (count, level) in others.iter().zip(&self.several) {
            covered += count;
            let covered = covered as f64;
            needed = needed.max(covered * level.share).max(covered + level.others * most_frequent);
        }
        // A saturated sum is far above any table.
        ((needed * (1.0 - SLACK)) as u64).saturating_add(u64::from(*first > 0))
    }
}

/// A number x for which (x - 1) (1 - 1/x)^i, which grows with x, does not exceed the bound.
fn least_share(i: i32, bound: f64) -> f64 {
    let exceeds = |x: f64| (x - 1.0) * (1.0 - 1.0 / x).powi(i) > bound * (1.0 - SLACK);
    let (mut low, mut high) = (1.0, 2.0);
    while high < MOST && !exceeds(high) {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > low * SLACK {
        let middle = (low + high) / 2.0;
        if exceeds(middle) { high = middle } else { low = middle }
    }
    low
}
