//! Which groups can never be the worst, because another one is at least as bad at every point?
//!
//! A group with n people, the target value s times and S_l as the sum of its l largest other counts can be
//! dropped if another one has n' <= n, s' >= s and, for every l that matters,
//!
//! - single values: n' - s' - S'_l <= n - s - S_l, because T is that number less k, over s;
//! - sets: S'_l / n' >= S_l / n. T holds the product of all 1 - c/n over the top counts c, the logarithm of
//!   1 - x is concave and falling, and for such functions larger prefix sums of descending numbers make a
//!   smaller sum (Tomić and Weyl);
//! - multisets: the same, because T holds ((n-1)/n)^S_l and (1 - 1/n)^n grows with n.
//!
//! V needs n' <= n and s' >= s only.

use super::shape::{GroupShape, Values};
use std::cmp::Ordering;

/// A group in which the target value occurs.
///
/// Invariant: `prefix[i]` is the sum of the `i` largest counts of the group, the target's among them; levels beyond
/// `levels` do not matter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'g> {
    pub people: u64,
    pub target: u64,
    pub levels: usize,
    pub prefix: &'g [u64],
}

impl Seen<'_> {
    /// The sum of the `l` largest counts of other values; of all that matter if they are fewer.
    pub fn top_sum(&self, l: usize) -> u64 {
        let l = l.min(self.levels);
        let next = self.prefix[l + 1] - self.prefix[l];
        if self.target < next { self.prefix[l] } else { self.prefix[l + 1] - self.target }
    }

    /// The people left without the target value and the top values.
    pub fn left(&self, l: usize) -> u64 {
        self.people.saturating_sub(self.target).saturating_sub(self.top_sum(l))
    }

    pub fn sums(&self) -> impl Iterator<Item = u64> + '_ {
        (1..=self.levels).map(|l| self.top_sum(l))
    }

    /// Whether another group can be dropped, if all levels matter.
    pub fn stands_for(&self, values: Values, other: Seen<'_>) -> bool {
        self.covers_at(values, other, 1..=self.levels.max(other.levels))
    }

    /// The same if only some levels matter.
    pub fn covers_at(
        &self,
        values: Values,
        other: Seen<'_>,
        mut levels: impl Iterator<Item = usize>,
    ) -> bool {
        if self.people > other.people || self.target < other.target {
            return false;
        }
        match values {
            Values::Single => levels.all(|l| self.left(l) <= other.left(l)),
            Values::Set | Values::Multiset => levels.all(|l| {
                let share = u128::from(self.top_sum(l)) * u128::from(other.people);
                share >= u128::from(other.top_sum(l)) * u128::from(self.people)
            }),
        }
    }

    pub fn shape(&self, values: Values, l: usize) -> GroupShape {
        let sums: Vec<u64> = (1..=l.min(self.levels)).map(|l| self.top_sum(l)).collect();
        GroupShape::from_sums(values, self.people, self.target, &sums)
    }

    pub fn order(&self, other: &Seen<'_>) -> Ordering {
        let sizes = (self.people, self.target).cmp(&(other.people, other.target));
        sizes.then_with(|| self.sums().cmp(other.sums()))
    }
}
