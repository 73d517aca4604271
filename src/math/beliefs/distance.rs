//! How far apart are two values of a column?
//!
//! Distances lie in [0, 1] and are exact: [`Metric::steps`] over [`Metric::range`]. Numbers: difference
//! over the range of the column. Categories: height of the lowest common ancestor over the height of the
//! hierarchy. A missing number is at distance 1 from every number, and so are categories without a common
//! ancestor.
//!
//! Memory: 16 B per code of a numeric column, 4 B per code and 8 B per node of a hierarchy; never a matrix.
//! Invariant: steps are at most the range, and 0 for equal codes. Not here: the weight of a distance
//! (`kernel`).

use dashu_base::{Gcd, UnsignedAbs};
use dashu_int::UBig;

use crate::math::exact::Rational;
use crate::{Error, Result};

/// What the caller knows about the values of a column, by code.
#[derive(Debug, Clone)]
pub enum Distance {
    /// Numbers; `None` is a missing value.
    Numeric(Vec<Option<Rational>>),
    /// Categories of a hierarchy.
    Hierarchy {
        /// The parent of each node; `None` for a root.
        parents: Vec<Option<u32>>,
        /// The node of each code, usually a leaf.
        nodes: Vec<u32>,
    },
    /// This many categories, all at distance 1 from each other.
    Flat(usize),
}

/// The exact distances of one column.
#[derive(Debug, Clone)]
pub struct Metric {
    range: u128,
    shape: Shape,
}

#[derive(Debug, Clone)]
enum Shape {
    Line(Vec<Option<u128>>),
    Tree { parents: Vec<u32>, heights: Vec<u32>, nodes: Vec<u32> },
}

const ROOT: u32 = u32::MAX;
/// Larger numbers would overflow when they are multiplied by a bandwidth.
const LARGEST: u128 = 1 << 100;

impl Metric {
    /// The metric of the column called `column`, which names it in errors.
    pub fn new(distance: &Distance, column: &str) -> Result<Self> {
        match distance {
            Distance::Numeric(values) => line(values, column),
            Distance::Hierarchy { parents, nodes } => tree(parents, nodes.clone(), column),
            Distance::Flat(codes) => {
                let root = u32::try_from(*codes).map_err(|_| too_many(column))?;
                let mut parents = vec![Some(root); *codes];
                parents.push(None);
                tree(&parents, (0..root).collect(), column)
            }
        }
    }

    /// The number of codes.
    pub fn codes(&self) -> usize {
        match &self.shape {
            Shape::Line(positions) => positions.len(),
            Shape::Tree { nodes, .. } => nodes.len(),
        }
    }

    /// The denominator of every distance; at least 1.
    pub fn range(&self) -> u128 {
        self.range
    }

    /// The numerator of the distance between two codes.
    pub fn steps(&self, a: u32, b: u32) -> u128 {
        if a == b {
            return 0;
        }
        match &self.shape {
            Shape::Line(positions) => match (positions[a as usize], positions[b as usize]) {
                (Some(a), Some(b)) => a.abs_diff(b),
                (None, None) => 0,
                _ => self.range,
            },
            Shape::Tree { parents, heights, nodes } => {
                let (mut a, mut b) = (nodes[a as usize], nodes[b as usize]);
                // Heights grow strictly towards the root, so the lower one is never the common ancestor.
                while a != b && a != ROOT && b != ROOT {
                    let (above_a, above_b) = (heights[a as usize], heights[b as usize]);
                    if above_a <= above_b {
                        a = parents[a as usize];
                    }
                    if above_b <= above_a {
                        b = parents[b as usize];
                    }
                }
                if a == b && a != ROOT { heights[a as usize].into() } else { self.range }
            }
        }
    }

    /// Whether many pairs of codes are at the full distance 1, as in a hierarchy.
    pub fn is_tree(&self) -> bool {
        matches!(self.shape, Shape::Tree { .. })
    }

    /// A lower bound of the steps between two different codes; `None` if there are no two codes.
    pub fn least_steps(&self) -> Option<u128> {
        if self.codes() < 2 {
            return None;
        }
        match &self.shape {
            Shape::Line(positions) => {
                let mut sorted: Vec<u128> = positions.iter().flatten().copied().collect();
                sorted.sort_unstable();
                let missing = positions.len() - sorted.len();
                let closest = sorted.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(self.range);
                Some(if missing > 1 { 0 } else { closest })
            }
            Shape::Tree { nodes, .. } => {
                let mut sorted = nodes.clone();
                sorted.sort_unstable();
                let twice = sorted.windows(2).any(|pair| pair[0] == pair[1]);
                Some(u128::from(!twice))
            }
        }
    }

    /// The distance between two codes.
    #[cfg(test)]
    pub fn between(&self, a: u32, b: u32) -> Rational {
        Rational::from_parts(dashu_int::IBig::from(self.steps(a, b)), UBig::from(self.range))
    }
}

fn line(values: &[Option<Rational>], column: &str) -> Result<Metric> {
    let present = || values.iter().flatten();
    let Some(least) = present().min() else {
        return Ok(Metric { range: 1, shape: Shape::Line(vec![None; values.len()]) });
    };
    let mut scale = UBig::ONE;
    for value in present() {
        let below = value.denominator();
        scale = &scale / (&scale).gcd(below) * below;
    }
    let scale = Rational::from(scale);
    let offset = |value: &Rational| ((value - least) * &scale).numerator().clone().unsigned_abs();
    let mut common = UBig::ZERO;
    for value in present() {
        let offset = offset(value);
        if common != UBig::ZERO || offset != UBig::ZERO {
            common = common.gcd(offset);
        }
    }
    if common == UBig::ZERO {
        common = UBig::ONE;
    }
    let mut positions = Vec::with_capacity(values.len());
    for value in values {
        positions.push(match value {
            None => None,
            Some(value) => {
                let position = u128::try_from(offset(value) / &common).ok().filter(|p| *p < LARGEST);
                Some(position.ok_or_else(|| {
                    Error::input(
                        format!("column `{column}`: its numbers need more than 100 bits in a common unit"),
                        "round the column before it is read, or make it a category",
                    )
                })?)
            }
        });
    }
    // One single number: every distance among numbers is 0, and a missing value is at distance 1.
    let range = positions.iter().flatten().copied().max().unwrap_or(0).max(1);
    Ok(Metric { range, shape: Shape::Line(positions) })
}

fn tree(parents: &[Option<u32>], nodes: Vec<u32>, column: &str) -> Result<Metric> {
    let count = parents.len();
    let broken = |problem: &str| {
        Error::input(format!("column `{column}`: {problem}"), "correct the hierarchy of this column")
    };
    if u32::try_from(count).is_err() {
        return Err(too_many(column));
    }
    if parents.iter().flatten().chain(&nodes).any(|node| *node as usize >= count) {
        return Err(broken("its hierarchy names a node that does not exist"));
    }
    // Heights by peeling leaves; a node that is never peeled lies on a cycle.
    let mut children = vec![0u32; count];
    for parent in parents.iter().flatten() {
        children[*parent as usize] += 1;
    }
    let mut heights = vec![0u32; count];
    let mut ready: Vec<u32> = (0..count as u32).filter(|node| children[*node as usize] == 0).collect();
    let mut peeled = 0;
    while let Some(node) = ready.pop() {
        peeled += 1;
        if let Some(parent) = parents[node as usize] {
            heights[parent as usize] = heights[parent as usize].max(heights[node as usize] + 1);
            children[parent as usize] -= 1;
            if children[parent as usize] == 0 {
                ready.push(parent);
            }
        }
    }
    if peeled != count {
        return Err(broken("its hierarchy has a node that is its own ancestor"));
    }
    let range = u128::from(heights.iter().copied().max().unwrap_or(0)).max(1);
    let parents = parents.iter().map(|parent| parent.unwrap_or(ROOT)).collect();
    Ok(Metric { range, shape: Shape::Tree { parents, heights, nodes } })
}

fn too_many(column: &str) -> Error {
    Error::input(format!("column `{column}` has too many distinct values"), "give the column a coarser type")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;

    #[test]
    fn numbers_by_range() {
        let values = vec![Some(ratio(1, 2)), Some(ratio(3, 4)), None, Some(ratio(3, 2))];
        let metric = Metric::new(&Distance::Numeric(values), "x").unwrap();
        assert_eq!(metric.between(0, 1), ratio(1, 4));
        assert_eq!(metric.between(1, 3), ratio(3, 4));
        assert_eq!(metric.between(0, 2), ratio(1, 1));
        assert_eq!(metric.between(2, 2), Rational::ZERO);
        let same = Metric::new(&Distance::Numeric(vec![Some(ratio(5, 1)); 2]), "x").unwrap();
        assert_eq!((same.between(0, 1), same.least_steps()), (Rational::ZERO, Some(0)));
    }

    #[test]
    fn categories_by_lowest_common_ancestor() {
        // A ragged tree: 0, 1 under 4; 4, 2 under 5; 3 alone under the root 6; 5 under 6.
        let parents = vec![Some(4), Some(4), Some(5), Some(6), Some(5), Some(6), None];
        let metric = Metric::new(&Distance::Hierarchy { parents, nodes: vec![0, 1, 2, 3, 4] }, "x").unwrap();
        assert_eq!(metric.between(0, 1), ratio(1, 3));
        assert_eq!(metric.between(1, 2), ratio(2, 3));
        assert_eq!(metric.between(2, 3), ratio(1, 1));
        assert_eq!(metric.between(0, 4), ratio(1, 3), "an inner node and its leaf meet in the inner node");
        let flat = Metric::new(&Distance::Flat(3), "x").unwrap();
        assert_eq!((flat.between(0, 2), flat.between(1, 1)), (ratio(1, 1), Rational::ZERO));
        let forest = Distance::Hierarchy { parents: vec![None, None], nodes: vec![0, 1] };
        assert_eq!(Metric::new(&forest, "x").unwrap().between(0, 1), ratio(1, 1));
    }

    #[test]
    fn broken_hierarchies_are_errors() {
        for parents in [vec![Some(1), Some(0)], vec![Some(0)], vec![Some(9)]] {
            assert!(Metric::new(&Distance::Hierarchy { parents, nodes: vec![0] }, "x").is_err());
        }
        assert!(Metric::new(&Distance::Hierarchy { parents: vec![None], nodes: vec![3] }, "x").is_err());
    }
}
