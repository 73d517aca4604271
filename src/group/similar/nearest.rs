//! Which ungrouped tuple fits a group best?
//!
//! Tuples with the same priors and value form a class, and only the lowest ungrouped index of a class can be the
//! answer. The classes of each value are kept in a tree that fixes the priors of one attribute set after another,
//! starting with the set that has the most distributions; if a set has many, boxes of similar ones are placed above
//! them. The search opens nodes in the order of (lower bound of the spread, most ungrouped occurrences, lowest index),
//! so its answer is that of a scan over all tuples.
//! Memory: about 200 B per class and 12 B per tuple, 16 B per signature.
//! Invariant: the bound of a node holds for all classes below it, taken or not; its `first` is the lowest ungrouped
//! index.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::classes::{Classes, NOBODY};
use crate::math::robust::{PriorLevels, PriorRanges, Priors, Rank, Spread, Tuples};

/// This many classes are compared one by one; small in tests, so that small tables already make trees.
const LEAF: usize = if cfg!(test) { 1 } else { 4 };
/// Up to this many distributions of a set need no box around them.
const FEW: usize = if cfg!(test) { 2 } else { 8 };
/// How many classes are sampled to choose where to cut a box.
const SAMPLE: usize = 32;

/// The ungrouped tuples.
pub(super) struct Ungrouped<'a> {
    priors: &'a Priors,
    classes: Classes,
    occurrences: Vec<u32>,
    tree: Tree,
    widest: PriorRanges,
    costs: Costs,
}

/// One tree per value.
struct Tree {
    roots: Vec<Option<u32>>,
    nodes: Vec<Node>,
    /// The classes of leaves and the children of other nodes.
    below: Vec<u32>,
    leaf_of: Vec<u32>,
    /// The lowest and highest priors of boxes, value by value.
    boxes: Vec<(Rank, Rank)>,
}

struct Node {
    first: u32,
    parent: u32,
    bound: Bound,
    below: Below,
    start: u32,
    end: u32,
}

/// What all classes below a node have in common.
#[derive(Clone, Copy)]
enum Bound {
    /// Nothing new.
    Nothing,
    /// The priors of one attribute set: those of this signature.
    Row { set: u32, signature: u32 },
    /// The priors of one attribute set lie in this box.
    Box { set: u32, number: u32 },
}

#[derive(Clone, Copy, PartialEq)]
enum Below {
    Nodes,
    Classes,
}

/// A group that is still growing.
pub(super) struct Growing {
    pub(super) ranges: PriorRanges,
    pub(super) values: Vec<u32>,
    pub(super) signatures: Vec<u32>,
}

/// A node or class, in the order in which tuples are preferred.
#[derive(Clone, Copy)]
struct Entry<'a> {
    levels: &'a PriorLevels,
    spread: Spread,
    occurrences: u32,
    first: u32,
    at: u32,
    value: u32,
}

impl Ord for Entry<'_> {
    /// The greatest entry is the most preferred one.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_spread = self.levels.order(&other.spread, &self.spread);
        by_spread.then(self.occurrences.cmp(&other.occurrences)).then(other.first.cmp(&self.first))
    }
}

impl PartialOrd for Entry<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry<'_> {}

/// The cost of adding a signature to the growing group, over the values it has.
struct Costs {
    /// The group's values that some tuple could make the widest, for each set.
    sides: Vec<Vec<Side>>,
    /// The costs found in this search, for each set and signature.
    known: Vec<Vec<(u32, Spread)>>,
    search: u32,
}

/// One value with the group's range of priors.
#[derive(Clone, Copy)]
struct Side {
    value: u32,
    low: Rank,
    high: Rank,
}

impl Costs {
    fn new(priors: &Priors) -> Costs {
        let known = (0..priors.sets()).map(|set| vec![(0, Spread::NONE); priors.signatures(set)]).collect();
        Costs { sides: vec![Vec::new(); priors.sets()], known, search: 0 }
    }

    /// Starts the search for a group; returns its spread.
    fn begin(&mut self, priors: &Priors, group: &Growing, widest: &PriorRanges) -> Spread {
        let levels = &priors.levels;
        if self.search == u32::MAX {
            self.known.iter_mut().flatten().for_each(|known| known.0 = 0);
            self.search = 0;
        }
        self.search += 1;
        let mut spread = Spread::NONE;
        for (set, sides) in self.sides.iter_mut().enumerate() {
            sides.clear();
            for &value in &group.values {
                let side =
                    Side { value, low: group.ranges.low(set, value), high: group.ranges.high(set, value) };
                spread = levels.wider(spread, levels.spread(side.low, side.high));
                sides.push(side);
            }
        }
        // A side that no tuple of the table could widen beyond the present spread has no effect.
        for (set, sides) in self.sides.iter_mut().enumerate() {
            sides.retain(|side| {
                let (low, high) = (widest.low(set, side.value), widest.high(set, side.value));
                levels.order(&levels.spread(side.low.min(low), side.high.max(high)), &spread).is_gt()
            });
        }
        spread
    }

    fn row(&mut self, priors: &Priors, set: usize, signature: u32) -> Spread {
        let known = &mut self.known[set][signature as usize];
        if known.0 != self.search {
            let levels = &priors.levels;
            let spreads = self.sides[set].iter().map(|side| {
                let rank = priors.rank(set, signature, side.value);
                levels.spread(side.low.min(rank), side.high.max(rank))
            });
            *known = (self.search, spreads.fold(Spread::NONE, |widest, spread| levels.wider(widest, spread)));
        }
        known.1
    }
}

impl<'a> Ungrouped<'a> {
    /// Creates the index of all tuples, which must match the priors.
    pub(super) fn new(priors: &'a Priors, tuples: &Tuples<'_>) -> Self {
        let classes = Classes::new(priors, tuples);
        let mut occurrences = vec![0u32; priors.values()];
        tuples.values.iter().for_each(|&value| occurrences[value as usize] += 1);
        let mut widest = PriorRanges::new(priors);
        for (set, signatures) in tuples.signatures.iter().enumerate() {
            let mut seen = vec![false; priors.signatures(set)];
            for &signature in *signatures {
                if !std::mem::replace(&mut seen[signature as usize], true) {
                    widest.add_one(priors, set, signature);
                }
            }
        }
        let tree = Planter::plant(priors, &classes, &occurrences);
        Ungrouped { priors, classes, occurrences, tree, widest, costs: Costs::new(priors) }
    }

    pub(super) fn classes(&self) -> &Classes {
        &self.classes
    }

    /// The class of the next seed: the lowest index among the most frequent ungrouped values.
    pub(super) fn seed(&self) -> Option<u32> {
        let most = self.occurrences.iter().copied().max().filter(|&most| most > 0)?;
        let roots = self.tree.roots.iter().zip(&self.occurrences).filter(|&(_, &count)| count == most);
        let mut at =
            roots.filter_map(|(root, _)| *root).min_by_key(|&root| self.tree.nodes[root as usize].first)?;
        while self.tree.nodes[at as usize].below == Below::Nodes {
            at = self
                .tree
                .below(at)
                .iter()
                .copied()
                .min_by_key(|&child| self.tree.nodes[child as usize].first)?;
        }
        self.tree.below(at).iter().copied().min_by_key(|&class| self.classes.first(class))
    }

    /// Removes the lowest index of a class.
    pub(super) fn take(&mut self, class: u32) -> u32 {
        let tuple = self.classes.first(class);
        self.classes.take(class);
        self.occurrences[self.classes.value(class) as usize] -= 1;
        let mut at = self.tree.leaf_of[class as usize];
        while at != NOBODY && self.tree.nodes[at as usize].first == tuple {
            self.tree.nodes[at as usize].first = self.tree.first_below(at, &self.classes);
            at = self.tree.nodes[at as usize].parent;
        }
        tuple
    }

    /// The class whose lowest index the group should take next: the smallest (spread after adding it, minus ungrouped
    /// occurrences, index) among those whose value the group lacks.
    pub(super) fn nearest(&mut self, group: &Growing) -> Option<u32> {
        let levels = &self.priors.levels;
        let present = self.costs.begin(self.priors, group, &self.widest);
        let mut open = BinaryHeap::new();
        let mut best: Option<Entry<'_>> = None;
        for (value, &root) in self.tree.roots.iter().enumerate() {
            let (Some(at), occurrences @ 1..) = (root, self.occurrences[value]) else { continue };
            if !group.values.contains(&(value as u32)) {
                let own = (0..self.priors.sets()).map(|set| {
                    levels.spread(group.ranges.low(set, value as u32), group.ranges.high(set, value as u32))
                });
                let spread = own.fold(present, |widest, spread| levels.wider(widest, spread));
                let first = self.tree.nodes[at as usize].first;
                open.push(Entry { levels, spread, occurrences, first, at, value: value as u32 });
            }
        }
        while let Some(next) = open.pop() {
            if best.is_some_and(|best| best >= next) {
                break;
            }
            let below = self.tree.nodes[next.at as usize].below;
            for at in self.tree.below_range(next.at) {
                let at = self.tree.below[at];
                let entry = match below {
                    Below::Nodes => self.node(at, &next, group),
                    Below::Classes => self.class(at, &next, group, best.as_ref()),
                };
                if let Some(entry) = entry
                    && best.is_none_or(|best| entry > best)
                {
                    match below {
                        Below::Nodes => open.push(entry),
                        Below::Classes => best = Some(entry),
                    }
                }
            }
        }
        best.map(|best| best.at)
    }

    /// A node under `above`, with the smallest spread that any of its classes could give; `None` if it is empty.
    fn node(&mut self, at: u32, above: &Entry<'a>, group: &Growing) -> Option<Entry<'a>> {
        let node = &self.tree.nodes[at as usize];
        let levels = &self.priors.levels;
        let spread = match node.bound {
            _ if node.first == NOBODY => return None,
            Bound::Nothing => above.spread,
            Bound::Row { set, signature } => self.row(set as usize, signature, above, group),
            Bound::Box { set, number } => {
                let set = set as usize;
                let start = number as usize * self.priors.values();
                let own = Side {
                    value: above.value,
                    low: group.ranges.low(set, above.value),
                    high: group.ranges.high(set, above.value),
                };
                self.costs.sides[set].iter().chain([&own]).fold(above.spread, |widest, side| {
                    let (low, high) = self.tree.boxes[start + side.value as usize];
                    levels.wider(widest, levels.spread(side.low.min(high), side.high.max(low)))
                })
            }
        };
        Some(Entry { spread, first: self.tree.nodes[at as usize].first, at, ..*above })
    }

    /// The spread after adding a signature of one attribute set.
    fn row(&mut self, set: usize, signature: u32, above: &Entry<'a>, group: &Growing) -> Spread {
        let levels = &self.priors.levels;
        let rank = self.priors.rank(set, signature, above.value);
        let low = group.ranges.low(set, above.value).min(rank);
        let high = group.ranges.high(set, above.value).max(rank);
        let spread = levels.wider(above.spread, self.costs.row(self.priors, set, signature));
        levels.wider(spread, levels.spread(low, high))
    }

    /// A class under `above`, with the spread it gives; `None` if it is empty or certainly worse than `best`.
    fn class(
        &mut self,
        class: u32,
        above: &Entry<'a>,
        group: &Growing,
        best: Option<&Entry<'_>>,
    ) -> Option<Entry<'a>> {
        let mut entry = Entry { first: self.classes.first(class), at: class, ..*above };
        if entry.first == NOBODY {
            return None;
        }
        for set in 0..self.priors.sets() {
            entry.spread = self.row(set, self.classes.signatures(class)[set], &entry, group);
            if best.is_some_and(|best| entry < *best) {
                return None;
            }
        }
        Some(entry)
    }
}

impl Tree {
    fn below_range(&self, node: u32) -> std::ops::Range<usize> {
        let node = &self.nodes[node as usize];
        node.start as usize..node.end as usize
    }

    fn below(&self, node: u32) -> &[u32] {
        &self.below[self.below_range(node)]
    }

    fn first_below(&self, node: u32, classes: &Classes) -> u32 {
        let below = self.below(node).iter();
        let firsts: Option<u32> = match self.nodes[node as usize].below {
            Below::Nodes => below.map(|&child| self.nodes[child as usize].first).min(),
            Below::Classes => below.map(|&class| classes.first(class)).min(),
        };
        firsts.unwrap_or(NOBODY)
    }
}

/// Builds the trees.
struct Planter<'a> {
    priors: &'a Priors,
    classes: &'a Classes,
    /// The attribute sets, the one with the most distributions first.
    sets: Vec<usize>,
    /// How likely a search is to need a value's priors: a group has a few values, mostly frequent ones.
    weights: Vec<f64>,
    /// The number of distributions from which boxes are worth their memory.
    few: usize,
    tree: Tree,
}

impl Planter<'_> {
    fn plant(priors: &Priors, classes: &Classes, occurrences: &[u32]) -> Tree {
        let count = classes.len() as u32;
        let distributions = |set: usize| {
            let mut rows: Vec<u32> = (0..count).map(|class| classes.signatures(class)[set]).collect();
            rows.sort_unstable();
            rows.dedup();
            rows.len()
        };
        let mut sets: Vec<usize> = (0..priors.sets()).collect();
        sets.sort_by_cached_key(|&set| std::cmp::Reverse(distributions(set)));
        let tuples: f64 = occurrences.iter().copied().map(f64::from).sum();
        let weights = occurrences.iter().map(|&count| (3.0 * f64::from(count) / tuples).min(1.0)).collect();
        let tree = Tree {
            roots: vec![None; priors.values()],
            nodes: Vec::new(),
            below: Vec::new(),
            leaf_of: vec![NOBODY; classes.len()],
            boxes: Vec::new(),
        };
        let few = FEW.max(priors.values() / 8);
        let mut planter = Planter { priors, classes, sets, weights, few, tree };
        let mut start = 0;
        while start < count {
            let value = classes.value(start);
            let end = classes.end_of_value(start);
            let mut all: Vec<u32> = (start..end).collect();
            let root = planter.node(Bound::Nothing, &mut all, 0);
            planter.tree.roots[value as usize] = Some(root);
            start = end;
        }
        planter.tree
    }

    /// A node over `classes`, which agree on the first `level` attribute sets.
    fn node(&mut self, bound: Bound, classes: &mut [u32], level: usize) -> u32 {
        if classes.len() <= LEAF || level == self.sets.len() {
            return self.close(bound, Below::Classes, classes.to_vec());
        }
        let set = self.sets[level];
        let known = self.classes;
        let row = |&class: &u32| known.signatures(class)[set];
        classes.sort_unstable_by_key(|class| (row(class), *class));
        let rows = classes.chunk_by(|a, b| row(a) == row(b)).count();
        if rows <= self.few {
            let children = classes.chunk_by_mut(|a, b| row(a) == row(b)).map(|part| {
                let signature = row(&part[0]);
                self.node(Bound::Row { set: set as u32, signature }, part, level + 1)
            });
            let children = children.collect();
            return self.close(bound, Below::Nodes, children);
        }
        let value = self.widest_value(set, classes);
        let priors = self.priors;
        classes.sort_by_cached_key(|class| (priors.rank(set, row(class), value), row(class), *class));
        // The cut is moved from the middle to where a distribution begins.
        let starts = (1..classes.len()).filter(|&at| row(&classes[at - 1]) != row(&classes[at]));
        let cut = starts.min_by_key(|&at| at.abs_diff(classes.len() / 2)).unwrap_or(classes.len());
        let (left, right) = classes.split_at_mut(cut);
        let children = vec![self.boxed(set, left, level), self.boxed(set, right, level)];
        self.close(bound, Below::Nodes, children)
    }

    fn boxed(&mut self, set: usize, classes: &mut [u32], level: usize) -> u32 {
        let values = self.priors.values();
        let number = self.tree.boxes.len() / values;
        let mut range = PriorRanges::new(self.priors);
        let mut last = NOBODY;
        for &class in classes.iter() {
            let signature = self.classes.signatures(class)[set];
            if signature != last {
                range.add_one(self.priors, set, signature);
            }
            last = signature;
        }
        self.tree
            .boxes
            .extend((0..values as u32).map(|value| (range.low(set, value), range.high(set, value))));
        self.node(Bound::Box { set: set as u32, number: number as u32 }, classes, level)
    }

    /// Where a sample of classes differs most in this set, weighted by how often searches need it.
    fn widest_value(&self, set: usize, classes: &[u32]) -> u32 {
        let own = self.classes.value(classes[0]);
        let step = (classes.len() / SAMPLE).max(1);
        let mut best = (f64::NEG_INFINITY, 0);
        for value in 0..self.priors.values() as u32 {
            let weight = if value == own { 1.0 } else { self.weights[value as usize] };
            let sample = classes.iter().step_by(step).map(|&class| {
                self.priors.levels.near(self.priors.rank(set, self.classes.signatures(class)[set], value))
            });
            let (count, sum, squares) =
                sample.fold((0.0, 0.0, 0.0), |(n, sum, squares), p| (n + 1.0, sum + p, squares + p * p));
            let score = weight * (squares - sum * sum / count);
            if score > best.0 {
                best = (score, value);
            }
        }
        best.1
    }

    fn close(&mut self, bound: Bound, below: Below, members: Vec<u32>) -> u32 {
        let at = self.tree.nodes.len() as u32;
        for &member in &members {
            match below {
                Below::Nodes => self.tree.nodes[member as usize].parent = at,
                Below::Classes => self.tree.leaf_of[member as usize] = at,
            }
        }
        let start = self.tree.below.len() as u32;
        self.tree.below.extend(members);
        let end = self.tree.below.len() as u32;
        self.tree.nodes.push(Node { first: NOBODY, parent: NOBODY, bound, below, start, end });
        self.tree.nodes[at as usize].first = self.tree.first_below(at, self.classes);
        at
    }
}
