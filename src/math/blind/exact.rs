//! Which counts of which node fail, by counting all arrangements.
//!
//! For every node and every vector of counts: in how many arrangements does no child fail? Children are independent
//! once their counts are known, so these numbers are the coefficients of a product of polynomials in the values. The
//! same product with some people's values fixed gives the joint law of those people.
//!
//! Memory: [`MOST_VECTORS`] vectors of counts per node, and once more for each set of fixed people while a node is
//! judged.

use super::point::BlindPoint;
use super::tree::CandidateTree;
use crate::math::exact::Rational;
use dashu_int::UBig;
use std::collections::{BTreeMap, BTreeSet};

/// The most people of a tree that is counted: their arrangements fit into 128 bits.
const MOST_PEOPLE: u64 = 24;
/// The most vectors of counts below those of the root.
const MOST_VECTORS: u64 = 1_000;
/// The most sets of fixed people per node.
const MOST_FIXED: u64 = 2_000;

/// How many people have each value.
type Vector = Vec<u8>;
/// How many arrangements there are for each vector of counts.
type Polynomial = BTreeMap<Vector, u128>;
/// People whose values are fixed, as leaf and value, sorted.
type Fixed = Vec<(usize, usize)>;

/// The counts with which each node of a tree fails, or would if a child did.
pub(super) struct ExactRule<'a> {
    tree: &'a CandidateTree,
    points: &'a [BlindPoint],
    values: usize,
    vectors: Vec<Vec<Vector>>,
    /// Per node, the leaves below it.
    leaves: Vec<Vec<usize>>,
    /// Per node, the counts that may not be published.
    bad: Vec<BTreeSet<Vector>>,
    /// Per node, the arrangements for which it does not fail.
    passing: Vec<Polynomial>,
}

impl<'a> ExactRule<'a> {
    /// The rule for a tree whose root has these counts; `None` if there are too many arrangements to count.
    pub(super) fn new(tree: &'a CandidateTree, root: &[u64], points: &'a [BlindPoint]) -> Option<Self> {
        let people: u64 = root.iter().sum();
        let occurring = root.iter().filter(|&&count| count > 0).count() as u64;
        let vectors = root.iter().try_fold(1u64, |all, &count| all.checked_mul(count + 1))?;
        let leaves = tree.leaves().len() as u64;
        let fixed = points.iter().map(|point| point.k as u32 + 1 + point.m as u32).max().unwrap_or(1);
        let sets = (leaves * occurring).checked_pow(fixed)?;
        if people > MOST_PEOPLE || vectors > MOST_VECTORS || sets > MOST_FIXED {
            return None;
        }
        let bound: Vector = root.iter().map(|&count| count as u8).collect();
        let mut below: Vec<Vec<usize>> = Vec::with_capacity(tree.nodes().len());
        for (at, node) in tree.nodes().iter().enumerate() {
            let own = match &node.children[..] {
                [] => vec![at],
                children => children.iter().flat_map(|&child| below[child].clone()).collect(),
            };
            below.push(own);
        }
        let vectors = tree.nodes().iter().map(|node| vectors_of(node.people as u8, &bound)).collect();
        let mut rule = ExactRule {
            tree,
            points,
            values: root.len(),
            vectors,
            leaves: below,
            bad: vec![],
            passing: vec![],
        };
        (0..tree.nodes().len()).for_each(|node| rule.decide(node));
        Some(rule)
    }

    /// Whether a node with these counts may not publish itself.
    pub(super) fn is_bad(&self, node: usize, counts: &[u64]) -> bool {
        let counts: Vector = counts.iter().map(|&count| count as u8).collect();
        self.bad[node].contains(&counts)
    }

    fn is_leaf(&self, node: usize) -> bool {
        self.tree.nodes()[node].children.is_empty()
    }

    /// Decides a node whose children are decided.
    fn decide(&mut self, node: usize) {
        let mut laws = Laws { rule: self, node, untouched: BTreeMap::new() };
        let bad: BTreeSet<Vector> =
            self.vectors[node].iter().filter(|counts| !laws.is_safe(counts)).cloned().collect();
        let untouched = laws.untouched(&vec![]).clone();
        let passing = self.vectors[node].iter().map(|counts| {
            let ways = match bad.contains(counts) {
                true if self.is_leaf(node) => 0,
                true => untouched.get(counts).copied().unwrap_or(0),
                false => self.all_ways(node, counts, &vec![]),
            };
            (counts.clone(), ways)
        });
        let passing = passing.filter(|(_, ways)| *ways > 0).collect();
        self.passing.push(passing);
        self.bad.push(bad);
    }

    /// All arrangements of a node with some people fixed.
    fn all_ways(&self, node: usize, counts: &[u8], fixed: &Fixed) -> u128 {
        let mut rest = counts.to_vec();
        for &(_, value) in fixed {
            match rest[value].checked_sub(1) {
                Some(less) => rest[value] = less,
                None => return 0,
            }
        }
        debug_assert!(fixed.len() as u64 <= self.tree.nodes()[node].people);
        multinomial(&rest)
    }

    /// The arrangements of a node, with some people fixed, for which it does not fail.
    fn passing_with(&self, node: usize, fixed: &Fixed) -> Polynomial {
        if fixed.is_empty() {
            return self.passing[node].clone();
        }
        let untouched = match self.is_leaf(node) {
            true => Polynomial::new(),
            false => self.untouched_with(node, fixed),
        };
        let ways = |counts: &Vector| match self.bad[node].contains(counts) {
            true => untouched.get(counts).copied().unwrap_or(0),
            false => self.all_ways(node, counts, fixed),
        };
        self.vectors[node]
            .iter()
            .map(|counts| (counts.clone(), ways(counts)))
            .filter(|(_, ways)| *ways > 0)
            .collect()
    }

    /// The arrangements of an inner node, with some people fixed, for which no child fails.
    fn untouched_with(&self, node: usize, fixed: &Fixed) -> Polynomial {
        let mut product = Polynomial::from([(vec![0; self.values], 1)]);
        let room: BTreeSet<&Vector> = self.vectors[node].iter().collect();
        let bound = self.vectors[self.tree.root()].first();
        for &child in &self.tree.nodes()[node].children {
            let own = fixed.iter().filter(|(leaf, _)| self.leaves[child].contains(leaf)).copied().collect();
            let factor = self.passing_with(child, &own);
            let mut next = Polynomial::new();
            for (counts, ways) in &product {
                for (more, factor) in &factor {
                    let sum: Vector = counts.iter().zip(more).map(|(a, b)| a + b).collect();
                    if bound.is_some_and(|bound| sum.iter().zip(bound).all(|(sum, bound)| sum <= bound)) {
                        *next.entry(sum).or_default() += ways * factor;
                    }
                }
            }
            product = next;
        }
        product.retain(|counts, _| room.contains(counts));
        product
    }
}

/// The joint laws of people in one node, on the arrangements for which some child fails.
struct Laws<'r, 'a> {
    rule: &'r ExactRule<'a>,
    node: usize,
    /// The arrangements for which no child fails, by fixed people.
    untouched: BTreeMap<Fixed, Polynomial>,
}

impl Laws<'_, '_> {
    fn untouched(&mut self, fixed: &Fixed) -> &Polynomial {
        let (rule, node) = (self.rule, self.node);
        self.untouched.entry(fixed.clone()).or_insert_with(|| match rule.is_leaf(node) {
            true => Polynomial::new(),
            false => rule.untouched_with(node, fixed),
        })
    }

    /// In how many arrangements the fixed people have these values, and some child fails; all arrangements of a leaf.
    fn ways(&mut self, counts: &Vector, fixed: &Fixed) -> u128 {
        let all = self.rule.all_ways(self.node, counts, fixed);
        all - self.untouched(fixed).get(counts).copied().unwrap_or(0)
    }

    fn ways_with(&mut self, counts: &Vector, fixed: &Fixed, more: &[(usize, usize)]) -> u128 {
        let mut fixed = [&fixed[..], more].concat();
        fixed.sort_unstable();
        self.ways(counts, &fixed)
    }

    /// Whether every point holds, or no child can fail.
    fn is_safe(&mut self, counts: &Vector) -> bool {
        if self.ways(counts, &vec![]) == 0 {
            return true;
        }
        let points = self.rule.points;
        points.iter().all(|point| {
            let known = self.sets_of_known(point.k);
            known.iter().all(|known| self.holds(point, counts, known))
        })
    }

    /// All sets of at most so many people with values.
    fn sets_of_known(&self, most: usize) -> Vec<Fixed> {
        let (mut all, mut last) = (vec![vec![]], vec![vec![]]);
        for _ in 0..most {
            let mut next: Vec<Fixed> = vec![];
            for known in &last {
                for &leaf in &self.rule.leaves[self.node] {
                    for value in 0..self.rule.values {
                        let after = known.last().is_none_or(|&last| last <= (leaf, value));
                        if after && self.has_room(leaf, known, 1) {
                            next.push([&known[..], &[(leaf, value)]].concat());
                        }
                    }
                }
            }
            all.extend(next.iter().cloned());
            last = next;
        }
        all
    }

    /// Whether a leaf has so many people besides the fixed ones.
    fn has_room(&self, leaf: usize, fixed: &Fixed, people: usize) -> bool {
        let taken = fixed.iter().filter(|(other, _)| *other == leaf).count();
        (taken + people) as u64 <= self.rule.tree.nodes()[leaf].people
    }

    /// Whether a point holds for everybody who is left, given people whose values are known.
    fn holds(&mut self, point: &BlindPoint, counts: &Vector, known: &Fixed) -> bool {
        let (leaves, values) = (self.rule.leaves[self.node].clone(), self.rule.values);
        if self.ways(counts, known) == 0 {
            return true;
        }
        for &leaf in &leaves {
            if !self.has_room(leaf, known, 1) {
                continue;
            }
            let ways: Vec<u128> =
                (0..values).map(|value| self.ways_with(counts, known, &[(leaf, value)])).collect();
            let all: u128 = ways.iter().sum();
            for value in (0..values).filter(|&value| point.protects(value) && ways[value] > 0) {
                let rest = remaining(&ways, value, point.l);
                if !exceeds(rest, ways[value], &point.ratio()) {
                    return false;
                }
                if point.m == 0 {
                    continue;
                }
                let lacking = Rational::ONE / Rational::from(2u8);
                if !exceeds(rest, ways[value], &point.floor())
                    || Rational::from(all - ways[value]) < lacking * Rational::from(all)
                {
                    return false;
                }
                for &other in &leaves {
                    let people = 1 + usize::from(other == leaf);
                    if !self.has_room(other, known, people) {
                        continue;
                    }
                    let mut lacking = ways.clone();
                    for (own, lacking) in lacking.iter_mut().enumerate() {
                        *lacking -= self.ways_with(counts, known, &[(leaf, own), (other, value)]);
                    }
                    if !exceeds(remaining(&lacking, value, point.l), ways[value], &point.ratio()) {
                        return false;
                    }
                }
            }
        }
        true
    }
}

/// What is left of all values other than `value` without the `l` most frequent of them.
fn remaining(ways: &[u128], value: usize, l: usize) -> u128 {
    let mut others: Vec<u128> =
        ways.iter().enumerate().filter(|(at, _)| *at != value).map(|(_, &ways)| ways).collect();
    others.sort_unstable();
    others.truncate(others.len().saturating_sub(l));
    others.iter().sum()
}

/// Whether above / below > ratio.
fn exceeds(above: u128, below: u128, ratio: &Rational) -> bool {
    Rational::from(UBig::from(above)) > ratio * Rational::from(UBig::from(below))
}

/// All vectors of so many people that are nowhere above `bound`.
fn vectors_of(people: u8, bound: &[u8]) -> Vec<Vector> {
    let Some((&first, rest)) = bound.split_first() else {
        return if people == 0 { vec![vec![]] } else { vec![] };
    };
    let with = |count: u8| {
        vectors_of(people - count, rest).into_iter().map(move |tail| [&[count][..], &tail].concat())
    };
    (0..=first.min(people)).flat_map(with).collect()
}

/// In how many ways people with these counts can be arranged; they are at most [`MOST_PEOPLE`].
fn multinomial(counts: &[u8]) -> u128 {
    let (mut ways, mut people) = (1u128, 0u128);
    for &count in counts {
        for place in 1..=u128::from(count) {
            people += 1;
            // Exact at every step: a binomial coefficient times what was there before.
            ways = ways * people / place;
        }
    }
    ways
}
