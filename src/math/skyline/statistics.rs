//! What is the worst case over all groups, and is it certainly below the threshold?
//!
//! Each statistic is the exact minimum of a ratio over the groups observed: binary64 distinguishes values
//! that are clearly apart, exact fractions the rest. Minima merge in any order with the same result.

use super::group::{LargestCounts, RankedGroup};
use super::point::{Knowledge, Point};
use super::shape::{GroupShape, Outline, Ratio, Rounded, Values, left_over};
use crate::math::confidence::{Confidence, ThresholdVerdict};
use crate::math::exact::{Rational, f64_at_least};
use std::cmp::Ordering;

/// The smallest value of one ratio, with the shape that attains it.
#[derive(Debug, Clone, PartialEq)]
struct Minimum {
    rounded: Rounded,
    shape: GroupShape,
    group: u64,
}

/// The five statistics of one target value at one knowledge size.
///
/// Memory: five shapes; in set mode each holds l counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    values: Values,
    size: Knowledge,
    minima: [Option<Minimum>; 5],
    harmless: HarmlessGroups,
}

/// With single values, a group whose target is no more frequent, and which has no fewer people and no fewer
/// of them left without the target and the top values, cannot lower any statistic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HarmlessGroups {
    target: u64,
    people: u64,
    left: u64,
}

impl HarmlessGroups {
    /// Excludes no group.
    pub const UNKNOWN: HarmlessGroups = HarmlessGroups { target: 0, people: u64::MAX, left: u64::MAX };
    /// Excludes every group.
    pub const ALL: HarmlessGroups = HarmlessGroups { target: u64::MAX, people: 0, left: 0 };

    /// Excludes what both exclude.
    pub fn and(self, other: HarmlessGroups) -> HarmlessGroups {
        HarmlessGroups {
            target: self.target.min(other.target),
            people: self.people.max(other.people),
            left: self.left.max(other.left),
        }
    }

    /// Whether a group is excluded for each of its values, if at most l others are ruled out, given its largest count and
    /// the sum of the l + 1 largest ones. The fewest people are left if the target is one of these; a smaller l leaves
    /// more.
    pub fn excludes(self, people: u64, of_most_frequent: LargestCounts) -> bool {
        of_most_frequent.largest <= self.target
            && people >= self.people
            && left_over(people, 0, of_most_frequent.sum) >= self.left
    }
}

/// A breach probability.
#[derive(Debug, Clone, PartialEq)]
pub enum Breach {
    /// The exact fraction.
    Exact(Rational),
    /// An upper bound, where the fraction would have too many digits to form.
    AtMost(f64),
}

impl Breach {
    /// The breach, or a bound on it, as a fraction.
    #[cfg(test)]
    pub fn upper_bound(&self) -> Rational {
        match self {
            Breach::Exact(exact) => exact.clone(),
            Breach::AtMost(bound) => Rational::try_from(*bound).unwrap_or(Rational::ONE),
        }
    }

    /// The breach, or a bound on it, rounded up to binary64.
    pub fn at_least(&self) -> f64 {
        match self {
            Breach::Exact(exact) => f64_at_least(exact),
            Breach::AtMost(bound) => *bound,
        }
    }
}

/// The groups of the target, the others and the family in the worst case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Witness {
    /// Group of the target.
    pub target: u64,
    /// Group of the k others.
    pub others: u64,
    /// Group of the m members of the family.
    pub family: u64,
}

/// 2^-53.
const UNIT: f64 = f64::EPSILON / 2.0;

/// The bound E of the decision rule for a value with this many roundings; `None` if it is too coarse.
fn error_bound(roundings: u64) -> Option<f64> {
    let bound = 1.01 * (roundings as f64 + 8.0) * UNIT;
    (bound <= 1.0 / 1024.0).then_some(bound)
}

impl Statistics {
    /// No groups yet: the value does not occur.
    pub fn new(values: Values, size: Knowledge) -> Self {
        Statistics { values, size, minima: [const { None }; 5], harmless: HarmlessGroups::UNKNOWN }
    }

    /// The shape that attains each statistic, with the number of its group.
    pub fn attained(&self) -> [Option<(&GroupShape, u64)>; 5] {
        self.minima.each_ref().map(|own| own.as_ref().map(|own| (&own.shape, own.group)))
    }

    /// The same statistics again.
    pub fn of_attained(values: Values, size: Knowledge, attained: [Option<(GroupShape, u64)>; 5]) -> Self {
        let mut statistics = Statistics::new(values, size);
        for ((own, found), ratio) in statistics.minima.iter_mut().zip(attained).zip(Ratio::ALL) {
            *own = found.map(|(shape, group)| {
                let rounded = shape.rounded(values, ratio, size);
                Minimum { rounded, shape, group }
            });
        }
        statistics.harmless = statistics.find_harmless();
        statistics
    }

    /// The knowledge that it is about.
    pub fn size(&self) -> Knowledge {
        self.size
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> u64 {
        let top: u64 = self.minima.iter().flatten().map(|minimum| minimum.shape.top_bytes()).sum();
        size_of::<Self>() as u64 + top
    }

    /// The most bytes that it takes for groups of at most so many different values.
    pub fn most_bytes(values: Values, size: Knowledge, distinct: u64) -> u64 {
        let top = match values {
            Values::Set => size.l.min(distinct) * size_of::<u64>() as u64 * Ratio::ALL.len() as u64,
            Values::Single | Values::Multiset => 0,
        };
        size_of::<Self>() as u64 + top
    }

    /// How many values a person may have.
    pub fn values(&self) -> Values {
        self.values
    }

    /// Whether the target value occurs in some group.
    pub fn occurs(&self) -> bool {
        self.minima[0].is_some()
    }

    /// Adds a group in which the target value occurs `target` times; 0 changes nothing. Returns whether a statistic fell.
    #[inline]
    pub fn observe(&mut self, group: &RankedGroup<'_>, target: u64, number: u64) -> bool {
        if !self.would_change(group, target) {
            return false;
        }
        let shape = GroupShape::new(self.values, group, self.size.l, target);
        let mut fell = false;
        for i in 0..Ratio::ALL.len() {
            if !self.is_dominated(i, group, target, shape.top_sum) {
                fell |= self.observe_ratio(i, &shape, number);
            }
        }
        fell
    }

    /// Adds a group by its shape at this size.
    pub(super) fn observe_shape(&mut self, shape: &GroupShape, number: u64) {
        for i in 0..Ratio::ALL.len() {
            self.observe_ratio(i, shape, number);
        }
    }

    /// Adds a group in which each person has a single value, given what decides about it; a target that nobody has
    /// changes nothing. Returns whether a statistic fell.
    pub fn observe_outline(&mut self, outline: Outline, number: u64) -> bool {
        if !self.would_change_by(outline) {
            return false;
        }
        let shape = GroupShape::of(outline);
        let mut fell = false;
        for i in 0..Ratio::ALL.len() {
            if !self.is_dominated_by(i, outline) {
                fell |= self.observe_ratio(i, &shape, number);
            }
        }
        fell
    }

    /// Whether the group could lower any statistic, judged by integers alone.
    pub fn would_change_by(&self, outline: Outline) -> bool {
        outline.target > 0 && !(0..self.ratios()).all(|i| self.is_dominated_by(i, outline))
    }

    fn is_dominated_by(&self, i: usize, outline: Outline) -> bool {
        let minimum = self.minima[i].as_ref();
        minimum.is_some_and(|minimum| minimum.shape.dominates_outline(Ratio::ALL[i], outline))
    }

    fn observe_ratio(&mut self, i: usize, shape: &GroupShape, number: u64) -> bool {
        let rounded = shape.rounded(self.values, Ratio::ALL[i], self.size);
        self.offer(i, &Minimum { rounded, shape: shape.clone(), group: number })
    }

    /// Whether the group cannot lower a statistic, judged by integers alone.
    #[inline]
    fn is_dominated(&self, i: usize, group: &RankedGroup<'_>, target: u64, top_sum: u64) -> bool {
        self.minima[i].as_ref().is_some_and(|minimum| {
            let which = Ratio::ALL[i];
            minimum.shape.dominates(self.values, which, group, self.size.l, target, top_sum)
        })
    }

    /// Whether the group could lower any statistic, judged by integers alone.
    #[inline]
    pub fn would_change(&self, group: &RankedGroup<'_>, target: u64) -> bool {
        if target == 0 {
            return false;
        }
        let top_sum = group.top_sum(self.size.l, target);
        let HarmlessGroups { target: rarely, people, left } = self.harmless;
        if target <= rarely && group.people >= people && left_over(group.people, target, top_sum) >= left {
            return false;
        }
        !(0..self.ratios()).all(|i| self.is_dominated(i, group, target, top_sum))
    }

    /// Without a family V is 1 in every group, so only the three ratios with T can change.
    fn ratios(&self) -> usize {
        if self.size.m == 0 { 3 } else { 5 }
    }

    fn find_harmless(&self) -> HarmlessGroups {
        let minima = &self.minima[..self.ratios()];
        if self.values != Values::Single || minima.iter().any(Option::is_none) {
            return HarmlessGroups::UNKNOWN;
        }
        // As a shape dominates: V depends on no top values, and T on how many are left, not on all people.
        let of_shape = |(shape, which): (&GroupShape, Ratio)| HarmlessGroups {
            target: shape.target,
            people: match which {
                Ratio::TargetAlone | Ratio::TargetWithOthers => 0,
                Ratio::Together | Ratio::FamilyAlone | Ratio::FamilyWithOthers => shape.people,
            },
            left: match which {
                Ratio::FamilyAlone | Ratio::FamilyWithOthers => 0,
                Ratio::Together | Ratio::TargetAlone | Ratio::TargetWithOthers => {
                    left_over(shape.people, shape.target, shape.top_sum)
                }
            },
        };
        let shapes = minima.iter().flatten().map(|minimum| &minimum.shape);
        shapes.zip(Ratio::ALL).map(of_shape).fold(HarmlessGroups::ALL, HarmlessGroups::and)
    }

    /// The groups that cannot lower any of the statistics.
    pub fn harmless(&self) -> HarmlessGroups {
        self.harmless
    }

    /// Whether the group alone, with everybody in it, certainly reaches the threshold: a quick way to refuse it.
    pub fn is_breached_by(&self, group: &RankedGroup<'_>, target: u64, confidence: &Confidence) -> bool {
        let shape = GroupShape::new(self.values, group, self.size.l, target);
        exceeds(shape.rounded(self.values, Ratio::Together, self.size), confidence) == Some(false)
    }

    /// Adds the statistics of other groups.
    pub fn merge(&mut self, other: &Statistics) {
        for (i, minimum) in other.minima.iter().enumerate() {
            if let Some(minimum) = minimum {
                self.offer(i, minimum);
            }
        }
    }

    fn offer(&mut self, i: usize, candidate: &Minimum) -> bool {
        let better = match &self.minima[i] {
            None => true,
            Some(current) => match self.compare(Ratio::ALL[i], candidate, current) {
                Ordering::Less => true,
                Ordering::Equal => candidate.group < current.group,
                Ordering::Greater => false,
            },
        };
        if better {
            self.minima[i] = Some(candidate.clone());
            self.harmless = self.find_harmless();
        }
        better
    }

    fn compare(&self, which: Ratio, a: &Minimum, b: &Minimum) -> Ordering {
        let (x, y) = (a.rounded.value, b.rounded.value);
        if a.shape == b.shape {
            return Ordering::Equal;
        }
        let exact_and_apart = |a: Rounded, b: Rounded| a == Rounded::ZERO && b.value > SMALL;
        if a.rounded.roundings == 0 && b.rounded.roundings == 0
            || exact_and_apart(a.rounded, b.rounded)
            || exact_and_apart(b.rounded, a.rounded)
        {
            return x.total_cmp(&y);
        }
        let apart = match (error_bound(a.rounded.roundings), error_bound(b.rounded.roundings)) {
            (Some(ea), Some(eb)) => 1.0 + 2.0 * (ea + eb),
            _ => f64::INFINITY,
        };
        if x > SMALL && y > SMALL && (x > y * apart || y > x * apart) {
            return x.total_cmp(&y);
        }
        let exact = a.shape.compare(&b.shape, self.values, which, self.size);
        exact.unwrap_or_else(|| lower_bound(a.rounded).total_cmp(&lower_bound(b.rounded)))
    }

    /// SS1 to SS5 as exact fractions; the outer `None` if the value does not occur, the inner one if a
    /// fraction would have too many digits.
    pub fn exact(&self) -> Option<[Option<Rational>; 5]> {
        self.occurs().then(|| {
            std::array::from_fn(|i| {
                let minimum = self.minima[i].as_ref()?;
                minimum.shape.exact(self.values, Ratio::ALL[i], self.size)
            })
        })
    }

    /// The three terms whose minimum is minNR, each as the statistics that it multiplies.
    const TERMS: [&'static [usize]; 3] = [&[0], &[1, 4], &[2, 3]];

    fn term_rounded(&self, term: &[usize]) -> Option<Rounded> {
        let factor = |&i: &usize| self.minima[i].as_ref().map(|minimum| minimum.rounded);
        term.iter().try_fold(Rounded::ONE, |product, i| Some(product.times(factor(i)?)))
    }

    fn term_exact(&self, term: &[usize]) -> Option<Rational> {
        term.iter().try_fold(Rational::ONE, |product, &i| {
            let minimum = self.minima[i].as_ref()?;
            Some(product * minimum.shape.exact(self.values, Ratio::ALL[i], self.size)?)
        })
    }

    /// The exact least negated ratio; `None` if the value does not occur or there are too many digits.
    pub fn min_negated_ratio(&self) -> Option<Rational> {
        let terms: Option<Vec<_>> = Self::TERMS.iter().map(|term| self.term_exact(term)).collect();
        terms?.into_iter().min()
    }

    /// The breach probability.
    pub fn breach(&self) -> Breach {
        if !self.occurs() {
            return Breach::Exact(Rational::ZERO);
        }
        if let Some(least) = self.min_negated_ratio() {
            return Breach::Exact(Rational::ONE / (Rational::ONE + least));
        }
        let least = Self::TERMS.iter().map(|term| self.term_rounded(term).map_or(0.0, lower_bound));
        let least = least.fold(f64::INFINITY, f64::min);
        Breach::AtMost((1.0 / (1.0 + least)).next_up().next_up().min(1.0))
    }

    /// How near the breach is to `confidence`, by odds: about 1 at the threshold, more beyond. For comparisons of values
    /// with each other; [`Statistics::verdict`] decides.
    pub fn excess(&self, confidence: &Confidence) -> f64 {
        if !self.occurs() {
            return 0.0;
        }
        let terms = Self::TERMS.iter().map(|term| self.term_rounded(term).map_or(0.0, |term| term.value));
        let least = terms.fold(f64::INFINITY, f64::min);
        if least > 0.0 { confidence.ratio_rounded() / least } else { f64::INFINITY }
    }

    /// The groups of the worst case; from the first of the three terms that attains it.
    pub fn witness(&self) -> Option<Witness> {
        let group = |i: usize| self.minima[i].as_ref().map(|minimum| minimum.group);
        let values: Vec<_> = Self::TERMS.iter().map(|term| self.term_exact(term)).collect();
        let rounded = |t: usize| self.term_rounded(Self::TERMS[t]).map_or(0.0, lower_bound);
        let least = (0..3).min_by(|&a, &b| match (&values[a], &values[b]) {
            (Some(x), Some(y)) => x.cmp(y),
            _ => rounded(a).total_cmp(&rounded(b)),
        })?;
        Some(match least {
            0 => Witness { target: group(0)?, others: group(0)?, family: group(0)? },
            1 => Witness { target: group(1)?, others: group(4)?, family: group(4)? },
            _ => Witness { target: group(2)?, others: group(2)?, family: group(3)? },
        })
    }

    /// Whether the breach probability is certainly below `confidence`, strictly.
    pub fn verdict(&self, confidence: &Confidence) -> ThresholdVerdict {
        if !self.occurs() {
            return ThresholdVerdict::Safe;
        }
        let safe = Self::TERMS.iter().all(|term| {
            let by_floats = self.term_rounded(term).and_then(|x| exceeds(x, confidence));
            by_floats
                .unwrap_or_else(|| self.term_exact(term).is_some_and(|least| least > *confidence.ratio()))
        });
        if safe { ThresholdVerdict::Safe } else { ThresholdVerdict::Unsafe }
    }
}

/// Whether a point holds for a group on its own, with everybody in it, if each person has a single value. Without a
/// family the point holds for a release exactly if it holds for each of its groups.
pub(super) fn holds_alone(outline: Outline, point: &Point) -> bool {
    let (shape, size) = (GroupShape::of(outline), point.knowledge);
    let rounded = shape.rounded(Values::Single, Ratio::Together, size);
    exceeds(rounded, &point.confidence).unwrap_or_else(|| {
        let exact = shape.exact(Values::Single, Ratio::Together, size);
        exact.is_some_and(|least| least > *point.confidence.ratio())
    })
}

/// Below this a binary64 value may have lost digits to underflow.
const SMALL: f64 = f64::MIN_POSITIVE * (1u64 << 62) as f64;

fn lower_bound(rounded: Rounded) -> f64 {
    match error_bound(rounded.roundings) {
        Some(bound) if rounded.value > SMALL => rounded.value * (1.0 - 2.0 * bound),
        _ => 0.0,
    }
}

/// Whether a computed ratio certainly exceeds the one of the threshold or certainly does not; `None` if it is
/// too close to decide.
pub(super) fn exceeds(x: Rounded, confidence: &Confidence) -> Option<bool> {
    if x == Rounded::ZERO {
        return Some(false);
    }
    let bound = error_bound(x.roundings)?;
    let threshold = confidence.ratio_rounded();
    if x.value <= SMALL || !x.value.is_finite() || !threshold.is_finite() {
        return None;
    }
    if x.value >= threshold * (1.0 + 2.0 * bound) {
        Some(true)
    } else if x.value <= threshold * (1.0 - 2.0 * bound) {
        Some(false)
    } else {
        None
    }
}
