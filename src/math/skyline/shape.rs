//! What do the ratios T and V depend on, and how large are they?
//!
//! T and V grow with the number of people and fall with the target's count and with each of the top
//! counts. So a shape with no fewer people, a target no more frequent and top counts no larger than
//! another's never attains a smaller minimum: most groups are dismissed by comparing integers
//! ([`GroupShape::dominates`]).

use super::group::RankedGroup;
use super::point::Knowledge;
use crate::math::exact::{Rational, ratio};
use dashu_int::{IBig, UBig};
use std::cmp::Ordering;

/// How many sensitive values a person may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Values {
    /// Exactly one.
    Single,
    /// A possibly empty set.
    Set,
    /// A possibly empty multiset.
    Multiset,
}

impl Values {
    /// All of them with their names in a policy.
    pub const NAMES: [(&'static str, Values); 3] =
        [("single", Values::Single), ("set", Values::Set), ("multiset", Values::Multiset)];

    /// The name in a policy.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}

/// Everything that T and V depend on for a group that contains the target value.
///
/// Invariant: `target` is at least 1. `top` lists the top counts in set mode only; elsewhere their sum
/// is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupShape {
    /// People in the group.
    pub people: u64,
    /// Occurrences of the target value.
    pub target: u64,
    /// Sum of the l largest counts of other values.
    pub top_sum: u64,
    top: Box<[u64]>,
}

/// What T and V depend on if each person has a single value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outline {
    /// People in the group.
    pub people: u64,
    /// People with the target value.
    pub target: u64,
    /// The most people whose values can be ruled out.
    pub top_sum: u64,
}

/// Which of the five statistics a ratio belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ratio {
    /// T(l, k) V(m, k+1): target, others and family in one group.
    Together,
    /// T(l, 0): the target alone.
    TargetAlone,
    /// T(l, k): the target with the others.
    TargetWithOthers,
    /// V(m, 0): the family alone.
    FamilyAlone,
    /// V(m, k): the family with the others.
    FamilyWithOthers,
}

impl Ratio {
    /// In the order SS1 to SS5.
    pub const ALL: [Ratio; 5] = [
        Ratio::Together,
        Ratio::TargetAlone,
        Ratio::TargetWithOthers,
        Ratio::FamilyAlone,
        Ratio::FamilyWithOthers,
    ];
}

/// A computed ratio and how many roundings it may carry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounded {
    /// The binary64 value; 0 if a guard shows that it is 0.
    pub value: f64,
    /// At most this many factors (1 + d), |d| <= 2^-53, lie between `value` and the truth.
    pub roundings: u64,
}

impl Rounded {
    /// Exactly 0 by a guard, without rounding.
    pub const ZERO: Rounded = Rounded { value: 0.0, roundings: 0 };
    /// The neutral factor.
    pub const ONE: Rounded = Rounded { value: 1.0, roundings: 0 };

    /// The product; an exact 0 stays exact.
    pub fn times(self, other: Rounded) -> Rounded {
        if self == Self::ZERO || other == Self::ZERO {
            return Self::ZERO;
        }
        let roundings = self.roundings.saturating_add(other.roundings).saturating_add(1);
        Rounded { value: self.value * other.value, roundings }
    }
}

/// The people with neither the target value nor one of the top values, if each person has a single value.
#[inline]
pub(super) fn left_over(people: u64, target: u64, top_sum: u64) -> u64 {
    people.saturating_sub(target.saturating_add(top_sum))
}

/// Big integers with more bits than this are not formed; callers must use a bound instead.
const MAX_BITS: u64 = 1 << 26;

impl GroupShape {
    /// The shape of `group` for a value that occurs `target` >= 1 times in it.
    pub fn new(values: Values, group: &RankedGroup<'_>, l: u64, target: u64) -> Self {
        debug_assert!(target > 0);
        let top = match values {
            Values::Set => group.top(l, target).collect(),
            Values::Single | Values::Multiset => Box::default(),
        };
        GroupShape { people: group.people, target, top_sum: group.top_sum(l, target), top }
    }

    /// The shape of a group with single values, given the sum of its l largest other counts.
    pub(super) fn single(people: u64, target: u64, top_sum: u64) -> Self {
        GroupShape { people, target, top_sum, top: Box::default() }
    }

    /// The shape of a group for which only the sums of its 1, 2, ..., l largest other counts are known.
    pub(super) fn from_sums(values: Values, people: u64, target: u64, sums: &[u64]) -> Self {
        let before = std::iter::once(&0).chain(sums);
        let top = match values {
            Values::Set => sums.iter().zip(before).map(|(sum, before)| sum - before).collect(),
            Values::Single | Values::Multiset => Box::default(),
        };
        GroupShape { people, target, top_sum: sums.last().copied().unwrap_or(0), top }
    }

    /// A shape as it was taken apart: what `of` needs, and the top counts in set mode.
    pub fn with_top(outline: Outline, top: Box<[u64]>) -> Self {
        GroupShape { top, ..GroupShape::of(outline) }
    }

    /// The top counts in set mode; empty elsewhere.
    pub fn top(&self) -> &[u64] {
        &self.top
    }

    /// The bytes of the top counts.
    pub(super) fn top_bytes(&self) -> u64 {
        size_of_val::<[u64]>(&self.top) as u64
    }

    /// The shape of a group in which each person has a single value, at least one of them the target.
    pub fn of(outline: Outline) -> Self {
        let Outline { people, target, top_sum } = outline;
        GroupShape { people, target, top_sum, top: Box::default() }
    }

    /// Whether this ratio of another group cannot be below that of `self`, if each person has a single value; as
    /// [`GroupShape::dominates`].
    pub(super) fn dominates_outline(&self, which: Ratio, other: Outline) -> bool {
        let no_smaller = other.people >= self.people;
        let more_left = || {
            left_over(other.people, other.target, other.top_sum)
                >= left_over(self.people, self.target, self.top_sum)
        };
        other.target <= self.target
            && match which {
                Ratio::FamilyAlone | Ratio::FamilyWithOthers => no_smaller,
                Ratio::Together => no_smaller && more_left(),
                Ratio::TargetAlone | Ratio::TargetWithOthers => more_left(),
            }
    }

    /// Whether this ratio of the group for this target cannot be below the ratio of `self`; `top_sum` is the
    /// group's, passed in because callers compare with several shapes.
    ///
    /// V does not depend on the top counts, and with single values T depends on the people outside the target and the
    /// top values only through their number.
    #[inline]
    pub fn dominates(
        &self,
        values: Values,
        which: Ratio,
        group: &RankedGroup<'_>,
        l: u64,
        target: u64,
        top_sum: u64,
    ) -> bool {
        if target > self.target {
            return false;
        }
        let no_smaller = group.people >= self.people;
        match (which, values) {
            (Ratio::FamilyAlone | Ratio::FamilyWithOthers, _) => no_smaller,
            (_, Values::Single) => {
                let more_left = left_over(group.people, target, top_sum)
                    >= left_over(self.people, self.target, self.top_sum);
                more_left && (which != Ratio::Together || no_smaller)
            }
            (_, Values::Multiset) => no_smaller && top_sum <= self.top_sum,
            (_, Values::Set) => {
                let mut own = self.top.iter();
                let mut top = group.top(l, target);
                no_smaller && top.all(|count| own.next().is_some_and(|&largest| count <= largest))
            }
        }
    }

    /// The ratio in binary64, with integer guards first.
    pub fn rounded(&self, values: Values, which: Ratio, size: Knowledge) -> Rounded {
        match which {
            Ratio::Together => {
                let t = self.target_rounded(values, size.k);
                let v = self.family_rounded(values, size.m, size.k + 1);
                t.times(v)
            }
            Ratio::TargetAlone => self.target_rounded(values, 0),
            Ratio::TargetWithOthers => self.target_rounded(values, size.k),
            Ratio::FamilyAlone => self.family_rounded(values, size.m, 0),
            Ratio::FamilyWithOthers => self.family_rounded(values, size.m, size.k),
        }
    }

    /// The ratio as an exact fraction; `None` if that would take integers of unreasonable size.
    pub fn exact(&self, values: Values, which: Ratio, size: Knowledge) -> Option<Rational> {
        match which {
            Ratio::Together => {
                Some(self.target_exact(values, size.k)? * self.family_exact(values, size.m, size.k + 1)?)
            }
            Ratio::TargetAlone => self.target_exact(values, 0),
            Ratio::TargetWithOthers => self.target_exact(values, size.k),
            Ratio::FamilyAlone => self.family_exact(values, size.m, 0),
            Ratio::FamilyWithOthers => self.family_exact(values, size.m, size.k),
        }
    }

    /// How two exact ratios compare; `None` if that would take integers of unreasonable size.
    pub fn compare(
        &self,
        other: &GroupShape,
        values: Values,
        which: Ratio,
        size: Knowledge,
    ) -> Option<Ordering> {
        let family_only = matches!(which, Ratio::FamilyAlone | Ratio::FamilyWithOthers);
        let alike = self.people == other.people && self.target == other.target;
        if alike && (family_only || self == other) {
            return Some(Ordering::Equal);
        }
        let k = if which == Ratio::TargetAlone { 0 } else { size.k };
        if values == Values::Single && matches!(which, Ratio::TargetAlone | Ratio::TargetWithOthers) {
            let product = |one: &GroupShape, another: &GroupShape| {
                u128::from(one.acceptable(values, k)) * u128::from(another.target)
            };
            return Some(product(self, other).cmp(&product(other, self)));
        }
        Some(self.exact(values, which, size)?.cmp(&other.exact(values, which, size)?))
    }

    /// The people that remain without the target value, the top values (single values) and k others.
    fn acceptable(&self, values: Values, k: u64) -> u64 {
        let gone = match values {
            Values::Single => self.target.saturating_add(self.top_sum).saturating_add(k),
            Values::Set => self.target.saturating_add(k),
            Values::Multiset => k.saturating_add(1),
        };
        self.people.saturating_sub(gone)
    }

    fn target_rounded(&self, values: Values, k: u64) -> Rounded {
        let left = self.acceptable(values, k);
        if left == 0 {
            return Rounded::ZERO;
        }
        let people = self.people as f64;
        match values {
            Values::Single => Rounded { value: left as f64 / self.target as f64, roundings: 1 },
            Values::Set => {
                let share = self.top.iter().fold(left as f64 / self.target as f64, |product, &count| {
                    product * (self.people.saturating_sub(count) as f64 / people)
                });
                Rounded { value: share, roundings: 1 + 2 * self.top.len() as u64 }
            }
            Values::Multiset => {
                let escape = left as f64 / (left + 1) as f64;
                let sum = (1..self.target).fold(1.0, |sum, _| sum * escape + 1.0);
                let odds = (left + 1) as f64 * power(escape, self.target) / sum;
                let others = power((self.people - 1) as f64 / people, self.top_sum);
                let roundings = 5u64.saturating_mul(self.target).saturating_add(2 * self.top_sum);
                Rounded { value: odds * others, roundings }
            }
        }
    }

    fn family_rounded(&self, values: Values, m: u64, k: u64) -> Rounded {
        if m == 0 {
            return Rounded::ONE;
        }
        if self.family_is_cornered(values, m, k) {
            return Rounded::ZERO;
        }
        let asked = self.people - k;
        match values {
            Values::Single | Values::Set => {
                let without = asked - self.target;
                let value =
                    (0..m).fold(1.0, |product, i| product * ((without - i) as f64 / (asked - i) as f64));
                Rounded { value, roundings: 2 * m - 1 }
            }
            Values::Multiset => {
                let value = power((asked - m) as f64 / asked as f64, self.target);
                Rounded { value, roundings: self.target.saturating_mul(2) }
            }
        }
    }

    /// V(0, k), V(1, k), ... in binary64, each from the previous one if the formula is a product.
    pub(super) fn families_rounded(&self, values: Values, k: u64) -> impl Iterator<Item = f64> + '_ {
        let mut product = 1.0;
        (0..).map(move |m: u64| {
            match values {
                Values::Single | Values::Set if m > 0 && !self.family_is_cornered(values, m, k) => {
                    let asked = self.people - k - (m - 1);
                    product *= (asked - self.target) as f64 / asked as f64;
                }
                _ => product = self.family_rounded(values, m, k).value,
            }
            product
        })
    }

    /// Whether V is 0: some numerator of its product would not be positive.
    fn family_is_cornered(&self, values: Values, m: u64, k: u64) -> bool {
        let gone = match values {
            Values::Single | Values::Set => self.target.saturating_add(k).saturating_add(m - 1),
            Values::Multiset => k.saturating_add(m),
        };
        self.people <= gone
    }

    fn target_exact(&self, values: Values, k: u64) -> Option<Rational> {
        let left = self.acceptable(values, k);
        if left == 0 {
            return Some(Rational::ZERO);
        }
        match values {
            Values::Single => Some(ratio(left, self.target)),
            Values::Set => {
                let below = UBig::from(self.people).pow(self.top.len()) * UBig::from(self.target);
                let above = self.top.iter().fold(UBig::from(left), |product, &count| {
                    product * UBig::from(self.people.saturating_sub(count))
                });
                Some(Rational::from_parts(IBig::from(above), below))
            }
            Values::Multiset => {
                let escaped = big_power(left, self.target)?;
                let caught = big_power(left + 1, self.target)? - &escaped;
                let above = escaped * big_power(self.people - 1, self.top_sum)?;
                Some(Rational::from_parts(IBig::from(above), caught * big_power(self.people, self.top_sum)?))
            }
        }
    }

    fn family_exact(&self, values: Values, m: u64, k: u64) -> Option<Rational> {
        if m == 0 {
            return Some(Rational::ONE);
        }
        if self.family_is_cornered(values, m, k) {
            return Some(Rational::ZERO);
        }
        let asked = self.people - k;
        let (above, below) = match values {
            Values::Single | Values::Set => {
                (falling_factorial(asked - self.target, m)?, falling_factorial(asked, m)?)
            }
            Values::Multiset => (big_power(asked - m, self.target)?, big_power(asked, self.target)?),
        };
        Some(Rational::from_parts(IBig::from(above), below))
    }
}

/// `base` to the power `exponent` by squaring: at most `2 exponent - 1` roundings if `base` has one.
fn power(base: f64, exponent: u64) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

fn fits(factors: u64, largest: u64) -> bool {
    factors.saturating_mul(u64::from(64 - largest.leading_zeros())) <= MAX_BITS
}

fn big_power(base: u64, exponent: u64) -> Option<UBig> {
    fits(exponent, base).then(|| UBig::from(base).pow(exponent as usize))
}

/// n (n-1) ... (n-m+1); m <= n.
fn falling_factorial(n: u64, m: u64) -> Option<UBig> {
    fits(m, n).then(|| product(n - m + 1, n))
}

/// The product of all integers from `low` to `high`, halved recursively so that factors stay balanced.
fn product(low: u64, high: u64) -> UBig {
    if high - low < 16 {
        return (low..=high).fold(UBig::ONE, |product, factor| product * UBig::from(factor));
    }
    let middle = low + (high - low) / 2;
    product(low, middle) * product(middle + 1, high)
}
