//! How much may an adversary know, and how sure may they become?

use crate::math::confidence::Confidence;
use std::borrow::Borrow;

/// The size of an adversary's knowledge; each number means "at most".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Knowledge {
    /// Values that the target is known not to have.
    pub l: u64,
    /// Other people whose values are known.
    pub k: u64,
    /// Members of the target's family: if one of them has the value, the target has it too.
    pub m: u64,
}

/// A point of a privacy skyline: this much knowledge must leave the adversary below this confidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// What the adversary knows.
    pub knowledge: Knowledge,
    /// The confidence that they must not reach.
    pub confidence: Confidence,
}

impl Point {
    /// Whether a release that satisfies `self` satisfies `other` as well.
    pub fn dominates(&self, other: &Point) -> bool {
        let (own, others) = (self.knowledge, other.knowledge);
        own.l >= others.l
            && own.k >= others.k
            && own.m >= others.m
            && self.confidence.value() <= other.confidence.value()
    }
}

/// The points that matter, in their original order, without dominated and repeated ones.
pub fn without_dominated<P: Borrow<Point> + Clone>(points: &[P]) -> Vec<P> {
    let matters = |(i, point): &(usize, &P)| {
        let point: &Point = (*point).borrow();
        !points.iter().map(Borrow::borrow).enumerate().any(|(j, other): (usize, &Point)| {
            j != *i && other.dominates(point) && (!point.dominates(other) || j < *i)
        })
    };
    points.iter().enumerate().filter(matters).map(|(_, point)| point.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(l: u64, k: u64, m: u64, confidence: &str) -> Point {
        Point { knowledge: Knowledge { l, k, m }, confidence: Confidence::parse(confidence).unwrap() }
    }

    #[test]
    fn dominated_points_and_repetitions_go() {
        let kept = without_dominated(&[
            point(1, 1, 1, "0.5"),
            point(2, 1, 1, "0.5"),
            point(2, 1, 1, "1/2"),
            point(2, 1, 1, "0.6"),
            point(0, 9, 0, "1"),
        ]);
        assert_eq!(kept, [point(2, 1, 1, "0.5"), point(0, 9, 0, "1")]);
    }
}
