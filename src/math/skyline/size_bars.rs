//! How many people does a group need, given some of its people?
//!
//! With single values and one point for some values, a group on its own is worst for the most frequent of these values
//! v: T = (n - #v - S_l - k) / #v, where #v + S_l and #v only grow as people join, and V falls with #v. So if people
//! are added to a group until it has n of them, T and V are at most those of n people with the counts of today. The
//! smallest n for which these are not certainly too small is a bar that every larger group must pass.

use super::point::Point;
use super::shape::{GroupShape, Ratio, Values};
use super::state::TargetPoint;
use super::statistics::exceeds;
use crate::math::top_counts::{TOP, TopCounts};

/// The points that a group must pass on its own.
///
/// Memory: one byte per value for each different point that protects only some of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SizeBars {
    bars: Vec<SizeBar>,
}

/// A point, and the values that it protects.
#[derive(Debug, Clone, PartialEq)]
struct SizeBar {
    point: Point,
    /// By code; `None` if all values are protected.
    protects: Option<Box<[bool]>>,
}

impl SizeBars {
    /// For points that each protect one of `distinct` values.
    pub(super) fn of_targets(entries: &[TargetPoint], distinct: usize) -> Self {
        let mut bars: Vec<(&Point, Vec<u32>)> = Vec::new();
        for entry in entries {
            match bars.iter_mut().find(|(point, _)| **point == *entry.point) {
                Some((_, codes)) => codes.push(entry.code),
                None => bars.push((&entry.point, vec![entry.code])),
            }
        }
        let bar = |(point, codes): (&Point, Vec<u32>)| {
            let protects = (codes.len() < distinct).then(|| {
                let mut protects = vec![false; distinct].into_boxed_slice();
                codes.iter().for_each(|&code| protects[code as usize] = true);
                protects
            });
            SizeBar { point: point.clone(), protects }
        };
        SizeBars { bars: bars.into_iter().map(bar).collect() }
    }

    /// No group that contains one with `people` people and these counts (code and count, each code once) holds on its
    /// own unless it has at least this many people; more than `people` if that group certainly does not hold itself.
    pub fn least_people_with(&self, people: u64, counts: impl Iterator<Item = (u16, u64)> + Clone) -> u64 {
        // One more than a point names: the target may be one of them.
        let named = self.bars.iter().map(|bar| bar.point.knowledge.l.saturating_add(1)).max().unwrap_or(0);
        let top = TopCounts::of(named.min(TOP as u64) as usize, counts.clone().map(|(_, count)| count));
        let most_frequent = |protects: &[bool]| {
            counts.clone().filter(|&(code, _)| protects[usize::from(code)]).map(|(_, count)| count).max()
        };
        // What one point needs is where the next one begins.
        self.bars.iter().fold(people, |people, bar| {
            let target = match &bar.protects {
                None => top.largest(),
                Some(protects) => most_frequent(protects).unwrap_or(0),
            };
            bar.least_people(people, target, top.sum_with(bar.point.knowledge.l, target))
        })
    }
}

impl SizeBar {
    /// The number of people below which a group certainly breaches the point, if it contains `people` people of whom
    /// `target` have the most frequent protected value; `gone` people have that value or one of the top values.
    fn least_people(&self, people: u64, target: u64, gone: u64) -> u64 {
        if target == 0 || !self.is_breached(people, target, gone) {
            return people;
        }
        let size = self.point.knowledge;
        let ratio = self.point.confidence.ratio_rounded();
        let family = |people: f64| {
            let asked = |i: u64| people - size.k as f64 - 1.0 - i as f64;
            (0..size.m.min(MOST_FACTORS))
                .fold(1.0, |product, i| product * (1.0 - target as f64 / asked(i)).max(0.0))
        };
        // As many people as T needs if V is what it is with `people` of them. V grows with people, so what is needed
        // lies between the two.
        let reach = |people: f64| (gone as f64 + size.k as f64) + target as f64 * ratio / family(people);
        let (mut low, mut high) = (people as f64, reach(people as f64).min(MOST));
        while high - low > (low / PRECISION).max(1.0) {
            let middle = (low + high) / 2.0;
            if middle < reach(middle) { low = middle } else { high = middle }
        }
        // Rounding makes this a guess: what counts is that one person fewer is certainly too few.
        let guess = low as u64;
        match guess > people + 1 && self.is_breached(guess - 1, target, gone) {
            true => guess,
            false => people + 1,
        }
    }

    fn is_breached(&self, people: u64, target: u64, gone: u64) -> bool {
        let shape = GroupShape::single(people, target, gone - target);
        let together = shape.rounded(Values::Single, Ratio::Together, self.point.knowledge);
        exceeds(together, &self.point.confidence) == Some(false)
    }
}

/// A bar is found up to one person, or its share over this.
const PRECISION: f64 = 128.0;

/// Fewer factors of V give a lower bar.
const MOST_FACTORS: u64 = 1000;

/// Far above any table.
const MOST: f64 = (1u64 << 40) as f64;
