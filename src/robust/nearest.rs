//! Which ungrouped tuple fits a group best?
//!
//! Tuples of the same signatures and value are one class, and of a class only its lowest ungrouped index can be the
//! answer. The classes of each value stand in a tree of boxes over all priors; the search opens boxes in the order
//! of (a lower bound of the spread, most ungrouped occurrences, lowest index), so its answer is that of a scan over
//! all tuples. Memory: about 150 B per class and 16 B per tuple, see `LEAF_SHARE`.
//! Invariant: a box holds the priors of all classes below it, taken or not; its `first` is that of the ungrouped ones.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::art::Tuples;
use super::priors::Priors;
use super::ranges::Ranges;
use super::spread::{Levels, Rank, Spread};

/// No tuple.
const NOBODY: u32 = u32::MAX;
/// A leaf holds one class per so many cells of its box, so that boxes take 16 x `LEAF_SHARE` bytes per class.
const LEAF_SHARE: usize = 8;
/// The fewest classes of a full leaf; tests make trees of small tables too.
const SMALLEST_LEAF: usize = if cfg!(test) { 1 } else { 8 };
/// How many classes are looked at to choose where to cut a box.
const SAMPLE: usize = 32;

/// The ungrouped tuples.
pub(super) struct Ungrouped<'a> {
    priors: &'a Priors,
    classes: Classes,
    occurrences: Vec<u32>,
    roots: Vec<Option<u32>>,
    order: Vec<u32>,
    leaf_of: Vec<u32>,
    nodes: Vec<Node>,
    low: Vec<Rank>,
    high: Vec<Rank>,
    widest: Ranges,
}

struct Node {
    first: u32,
    parent: u32,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Two boxes.
    Inner(u32, u32),
    /// A part of `order`.
    Leaf(u32, u32),
}

/// Tuples by equal signatures and value; inside a class by index.
pub(super) struct Classes {
    sets: usize,
    values: Vec<u32>,
    signatures: Vec<u32>,
    tuples: Vec<u32>,
    next: Vec<u32>,
    end: Vec<u32>,
}

impl Classes {
    fn new(tuples: &Tuples<'_>) -> Classes {
        let sets = tuples.signatures.len();
        let mut order: Vec<u32> = (0..tuples.values.len() as u32).collect();
        let compare = |&a: &u32, &b: &u32| {
            let (a, b) = (a as usize, b as usize);
            let by_signature = tuples.signatures.iter().rev().map(|set| set[a].cmp(&set[b]));
            tuples.values[a]
                .cmp(&tuples.values[b])
                .then_with(|| by_signature.fold(Ordering::Equal, Ordering::then))
        };
        order.sort_unstable_by(|a, b| compare(a, b).then(a.cmp(b)));
        let mut classes =
            Classes { sets, values: vec![], signatures: vec![], tuples: vec![], next: vec![], end: vec![] };
        for (at, &tuple) in order.iter().enumerate() {
            if at == 0 || compare(&order[at - 1], &tuple) != Ordering::Equal {
                classes.values.push(tuples.values[tuple as usize]);
                classes.signatures.extend(tuples.signatures.iter().map(|set| set[tuple as usize]));
                classes.next.push(at as u32);
                classes.end.push(at as u32);
            }
            if let Some(end) = classes.end.last_mut() {
                *end += 1;
            }
        }
        classes.tuples = order;
        classes
    }

    /// The lowest ungrouped index of a class.
    fn first(&self, class: u32) -> u32 {
        let class = class as usize;
        if self.next[class] < self.end[class] { self.tuples[self.next[class] as usize] } else { NOBODY }
    }

    pub(super) fn value(&self, class: u32) -> u32 {
        self.values[class as usize]
    }

    /// The signatures of a class, one per attribute set.
    pub(super) fn signatures(&self, class: u32) -> &[u32] {
        let start = class as usize * self.sets;
        &self.signatures[start..start + self.sets]
    }
}

/// A group while it grows.
pub(super) struct Growing {
    pub(super) ranges: Ranges,
    pub(super) values: Vec<u32>,
    pub(super) signatures: Vec<u32>,
}

/// A box or the best class so far, in the order in which tuples are preferred.
#[derive(Clone, Copy)]
struct Entry<'a> {
    levels: &'a Levels,
    spread: Spread,
    occurrences: u32,
    first: u32,
    at: u32,
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

/// One attribute set and value, with the range of the group that grows.
#[derive(Clone, Copy)]
struct Side {
    set: usize,
    value: u32,
    low: Rank,
    high: Rank,
}

impl<'a> Ungrouped<'a> {
    /// All tuples, which must fit the priors.
    pub(super) fn new(priors: &'a Priors, tuples: &Tuples<'_>) -> Self {
        let classes = Classes::new(tuples);
        let mut occurrences = vec![0u32; priors.values()];
        tuples.values.iter().for_each(|&value| occurrences[value as usize] += 1);
        let mut widest = Ranges::new(priors);
        for (set, signatures) in tuples.signatures.iter().enumerate() {
            let mut seen = vec![false; priors.signatures(set)];
            for &signature in *signatures {
                if !std::mem::replace(&mut seen[signature as usize], true) {
                    widest.add_one(priors, set, signature);
                }
            }
        }
        let count = classes.values.len();
        let mut ungrouped = Ungrouped {
            priors,
            classes,
            roots: vec![None; priors.values()],
            order: (0..count as u32).collect(),
            leaf_of: vec![0; count],
            nodes: Vec::new(),
            low: Vec::new(),
            high: Vec::new(),
            widest,
            occurrences,
        };
        let weights = ungrouped.weights(tuples.values.len());
        let mut start = 0;
        while start < count {
            let value = ungrouped.classes.values[start];
            let end = start + ungrouped.classes.values[start..].partition_point(|&other| other == value);
            ungrouped.roots[value as usize] = Some(ungrouped.build(start, end, NOBODY, &weights));
            start = end;
        }
        ungrouped
    }

    /// How likely it is that a search asks for a value's priors: a group has a few values, mostly frequent ones.
    fn weights(&self, tuples: usize) -> Vec<f64> {
        let share = |&count: &u32| (3.0 * f64::from(count) / tuples.max(1) as f64).min(1.0);
        self.occurrences.iter().map(share).collect()
    }

    fn build(&mut self, start: usize, end: usize, parent: u32, weights: &[f64]) -> u32 {
        let node = self.nodes.len() as u32;
        let cells = self.priors.sets() * self.priors.values();
        self.low.resize(self.low.len() + cells, Rank::MAX);
        self.high.resize(self.high.len() + cells, 0);
        self.nodes.push(Node { first: NOBODY, parent, kind: Kind::Leaf(start as u32, end as u32) });
        let own = node as usize * cells;
        if end - start <= SMALLEST_LEAF.max(cells / LEAF_SHARE) {
            for at in start..end {
                let class = self.order[at];
                self.leaf_of[class as usize] = node;
                for (set, &signature) in self.classes.signatures(class).iter().enumerate() {
                    for value in 0..self.priors.values() {
                        let rank = self.priors.rank(set, signature, value as u32);
                        let cell = own + set * self.priors.values() + value;
                        self.low[cell] = self.low[cell].min(rank);
                        self.high[cell] = self.high[cell].max(rank);
                    }
                }
                self.nodes[node as usize].first =
                    self.nodes[node as usize].first.min(self.classes.first(class));
            }
            return node;
        }
        let (set, value) = self.widest_side(start, end, weights);
        let (priors, classes) = (self.priors, &self.classes);
        let key = |&class: &u32| (priors.rank(set, classes.signatures(class)[set], value), class);
        let middle = (end - start) / 2;
        self.order[start..end].select_nth_unstable_by_key(middle, key);
        let left = self.build(start, start + middle, node, weights);
        let right = self.build(start + middle, end, node, weights);
        for cell in 0..cells {
            let (left, right) = (left as usize * cells + cell, right as usize * cells + cell);
            self.low[own + cell] = self.low[left].min(self.low[right]);
            self.high[own + cell] = self.high[left].max(self.high[right]);
        }
        self.nodes[node as usize].kind = Kind::Inner(left, right);
        self.nodes[node as usize].first =
            self.nodes[left as usize].first.min(self.nodes[right as usize].first);
        node
    }

    /// Where a sample of classes differs most, weighed by how often searches ask for it.
    fn widest_side(&self, start: usize, end: usize, weights: &[f64]) -> (usize, u32) {
        let own = self.classes.value(self.order[start]);
        let step = ((end - start) / SAMPLE).max(1);
        let mut best = (f64::NEG_INFINITY, 0, 0);
        for set in 0..self.priors.sets() {
            for value in 0..self.priors.values() as u32 {
                let weight = if value == own { 1.0 } else { weights[value as usize] };
                let sample = self.order[start..end].iter().step_by(step).map(|&class| {
                    let signature = self.classes.signatures(class)[set];
                    self.priors.levels.near(self.priors.rank(set, signature, value))
                });
                let (count, sum, squares) =
                    sample.fold((0.0, 0.0, 0.0), |(n, sum, squares), p| (n + 1.0, sum + p, squares + p * p));
                let score = weight * (squares - sum * sum / count);
                if score > best.0 {
                    best = (score, set, value);
                }
            }
        }
        (best.1, best.2)
    }

    pub(super) fn classes(&self) -> &Classes {
        &self.classes
    }

    /// The class of the next seed: of a most frequent ungrouped value, the lowest index.
    pub(super) fn seed(&self) -> Option<u32> {
        let most = self.occurrences.iter().copied().max().filter(|&most| most > 0)?;
        let roots = self.roots.iter().zip(&self.occurrences).filter(|&(_, &count)| count == most);
        let root = roots.filter_map(|(root, _)| *root).min_by_key(|&root| self.nodes[root as usize].first)?;
        let mut node = &self.nodes[root as usize];
        loop {
            match node.kind {
                Kind::Inner(left, right) => {
                    let (left, right) = (&self.nodes[left as usize], &self.nodes[right as usize]);
                    node = if left.first < right.first { left } else { right };
                }
                Kind::Leaf(start, end) => {
                    let leaf = &self.order[start as usize..end as usize];
                    return leaf.iter().copied().min_by_key(|&class| self.classes.first(class));
                }
            }
        }
    }

    /// Takes the lowest index of a class out.
    pub(super) fn take(&mut self, class: u32) -> u32 {
        let tuple = self.classes.first(class);
        self.classes.next[class as usize] += 1;
        self.occurrences[self.classes.value(class) as usize] -= 1;
        let mut at = self.leaf_of[class as usize];
        while at != NOBODY {
            let first = match self.nodes[at as usize].kind {
                Kind::Inner(left, right) => {
                    self.nodes[left as usize].first.min(self.nodes[right as usize].first)
                }
                Kind::Leaf(start, end) => {
                    let leaf = &self.order[start as usize..end as usize];
                    leaf.iter().map(|&class| self.classes.first(class)).min().unwrap_or(NOBODY)
                }
            };
            if self.nodes[at as usize].first == first {
                break;
            }
            self.nodes[at as usize].first = first;
            at = self.nodes[at as usize].parent;
        }
        tuple
    }

    /// The class whose lowest index the group should take next: the smallest (spread after adding it, minus ungrouped
    /// occurrences, index) among those whose value the group lacks.
    pub(super) fn nearest(&self, group: &Growing) -> Option<u32> {
        let levels = &self.priors.levels;
        let mut spread = Spread::NONE;
        let mut sides = Vec::with_capacity(self.priors.sets() * (group.values.len() + 1));
        for set in (0..self.priors.sets()).rev() {
            for &value in &group.values {
                let side = Side {
                    set,
                    value,
                    low: group.ranges.low(set, value),
                    high: group.ranges.high(set, value),
                };
                spread = levels.wider(spread, levels.spread(side.low, side.high));
                sides.push(side);
            }
        }
        // A side that no tuple of the table could widen beyond the present spread decides nothing.
        sides.retain(|side| {
            let low = side.low.min(self.widest.low(side.set, side.value));
            let high = side.high.max(self.widest.high(side.set, side.value));
            levels.order(&levels.spread(low, high), &spread) == Ordering::Greater
        });
        let common = sides.len();
        let mut boxes = BinaryHeap::new();
        let mut best: Option<Entry<'_>> = None;
        for (value, &root) in self.roots.iter().enumerate() {
            if let Some(root) = root
                && self.occurrences[value] > 0
                && !group.values.contains(&(value as u32))
            {
                boxes.push(self.boxed(root, value as u32, &mut sides, common, group, spread));
            }
        }
        while let Some(next) = boxes.pop() {
            if best.is_some_and(|best| best >= next) {
                break;
            }
            match self.nodes[next.at as usize].kind {
                Kind::Inner(left, right) => {
                    for node in [left, right] {
                        if self.nodes[node as usize].first != NOBODY {
                            let value = self.value_below(node);
                            let entry = self.boxed(node, value, &mut sides, common, group, spread);
                            if best.is_none_or(|best| entry > best) {
                                boxes.push(entry);
                            }
                        }
                    }
                }
                Kind::Leaf(start, end) => {
                    let value = self.value_below(next.at);
                    self.own_sides(value, &mut sides, common, group);
                    for &class in &self.order[start as usize..end as usize] {
                        if let Some(entry) = self.candidate(class, &sides, spread, best.as_ref())
                            && best.is_none_or(|best| entry > best)
                        {
                            best = Some(entry);
                        }
                    }
                }
            }
        }
        best.map(|best| best.at)
    }

    /// The value of all classes below a node.
    fn value_below(&self, node: u32) -> u32 {
        let mut kind = self.nodes[node as usize].kind;
        while let Kind::Inner(left, _) = kind {
            kind = self.nodes[left as usize].kind;
        }
        match kind {
            Kind::Leaf(start, _) | Kind::Inner(start, _) => self.classes.value(self.order[start as usize]),
        }
    }

    /// Puts the sides of a candidate's own value behind the `common` ones of the group.
    fn own_sides(&self, value: u32, sides: &mut Vec<Side>, common: usize, group: &Growing) {
        sides.truncate(common);
        for set in (0..self.priors.sets()).rev() {
            sides.push(Side {
                set,
                value,
                low: group.ranges.low(set, value),
                high: group.ranges.high(set, value),
            });
        }
    }

    /// A box with the smallest spread that any of its classes could give.
    fn boxed(
        &self,
        node: u32,
        value: u32,
        sides: &mut Vec<Side>,
        common: usize,
        group: &Growing,
        mut spread: Spread,
    ) -> Entry<'a> {
        self.own_sides(value, sides, common, group);
        let levels = &self.priors.levels;
        let values = self.priors.values();
        let base = node as usize * self.priors.sets() * values;
        for side in sides.iter() {
            let cell = base + side.set * values + side.value as usize;
            let low = side.low.min(self.high[cell]);
            let high = side.high.max(self.low[cell]);
            spread = levels.wider(spread, levels.spread(low, high));
        }
        let occurrences = self.occurrences[value as usize];
        Entry { levels, spread, occurrences, first: self.nodes[node as usize].first, at: node }
    }

    /// A class with the spread it gives; `None` if it is empty or surely worse than `best`.
    fn candidate(
        &self,
        class: u32,
        sides: &[Side],
        mut spread: Spread,
        best: Option<&Entry<'_>>,
    ) -> Option<Entry<'a>> {
        let first = self.classes.first(class);
        if first == NOBODY {
            return None;
        }
        let levels = &self.priors.levels;
        let signatures = self.classes.signatures(class);
        for side in sides {
            let rank = self.priors.rank(side.set, signatures[side.set], side.value);
            spread = levels.wider(spread, levels.spread(side.low.min(rank), side.high.max(rank)));
            if best.is_some_and(|best| levels.order(&spread, &best.spread) == Ordering::Greater) {
                return None;
            }
        }
        let occurrences = self.occurrences[self.classes.value(class) as usize];
        Some(Entry { levels, spread, occurrences, first, at: class })
    }
}
