//! Which finished group can accept a left-over tuple, one from a group that got stuck?
//!
//! The groups that share a value are kept in a tree of boxes over the priors of their members. For a tuple, the search
//! opens boxes in the order of (lower bound of the spread with it, lowest group number) and tests groups in the order
//! of their spread, so the first group that passes is the one that a scan over all groups would find.
//! Memory: about 130 B per group for the boxes, in addition to the groups.
//! Invariant: accepting a tuple only widens a group, so the bound of a box remains a lower bound.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use hashbrown::HashMap;

use crate::math::robust::{GroupPriors, PriorLevels, Priors, Rank, Requirement, Spread, Test};

/// No node.
const NOBODY: u32 = u32::MAX;
/// The minimum number of groups in a full leaf; small in tests, so that a few groups already make a tree.
const LEAF: usize = if cfg!(test) { 1 } else { 8 };
/// A leaf holds one group per this many cells of its box, so that the boxes stay small compared with the groups.
const LEAF_SHARE: usize = 8;
/// How many groups are sampled to choose where to cut a box.
const SAMPLE: usize = 32;

/// A group that passed the test.
pub(super) struct FinishedGroup {
    pub(super) tuples: Vec<u32>,
    pub(super) priors: GroupPriors,
}

/// A tuple that needs a group; all tuples of its class are alike.
#[derive(Clone, Copy)]
pub(super) struct LeftoverTuple<'a> {
    pub(super) tuple: u32,
    pub(super) class: u32,
    pub(super) value: u32,
    pub(super) signatures: &'a [u32],
}

/// The finished groups, which can accept left-over tuples.
pub(super) struct AcceptingGroups<'a> {
    priors: &'a Priors,
    requirement: &'a Requirement,
    test: Test,
    finished: Vec<FinishedGroup>,
    /// One tree per value; each group is in the tree of that one of its values which the fewest groups have.
    roots: Vec<Option<u32>>,
    nodes: Vec<Node>,
    order: Vec<u32>,
    leaf_of: Vec<u32>,
    /// For every node, set and value, the highest low and the lowest high prior of the members of its groups.
    boxes: Vec<(Rank, Rank)>,
    /// Every change of a group, in order.
    changed: Vec<u32>,
    /// For each class that fitted nowhere, the number of changes at that time.
    hopeless: HashMap<u32, usize, foldhash::fast::FixedState>,
}

struct Node {
    parent: u32,
    /// The lowest number of a group below.
    first: u32,
    /// The smallest spread of a group below.
    spread: Spread,
    /// The size of the largest group below.
    largest: u32,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Inner(u32, u32),
    /// A part of `order`.
    Leaf(u32, u32),
}

/// A node or group, in the order in which groups are preferred.
#[derive(Clone, Copy)]
struct Entry<'a> {
    levels: &'a PriorLevels,
    spread: Spread,
    number: u32,
    at: Found,
}

#[derive(Clone, Copy)]
enum Found {
    /// A node, with the value that all of its groups have.
    Node(u32, u32),
    Group(u32),
}

impl Ord for Entry<'_> {
    /// The greatest entry is the most preferred one.
    fn cmp(&self, other: &Self) -> Ordering {
        self.levels.order(&other.spread, &self.spread).then(other.number.cmp(&self.number))
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

impl<'a> AcceptingGroups<'a> {
    /// Prepares these groups to accept tuples; `wanted` counts the tuples by value.
    pub(super) fn new(
        priors: &'a Priors,
        requirement: &'a Requirement,
        test: Test,
        finished: Vec<FinishedGroup>,
        wanted: &[u32],
    ) -> Self {
        let mut frequency = vec![0u32; priors.values()];
        for group in &finished {
            group.priors.values.iter().for_each(|&value| frequency[value as usize] += 1);
        }
        let rarest = |group: &FinishedGroup| {
            let values = group.priors.values.iter().copied();
            values.min_by_key(|&value| (frequency[value as usize], value)).unwrap_or(0)
        };
        let keys: Vec<u32> = finished.iter().map(rarest).collect();
        let mut order: Vec<u32> = (0..finished.len() as u32).collect();
        order.sort_by_key(|&number| keys[number as usize]);
        let mut groups = AcceptingGroups {
            priors,
            requirement,
            test,
            roots: vec![None; priors.values()],
            nodes: Vec::new(),
            leaf_of: vec![NOBODY; finished.len()],
            boxes: Vec::new(),
            changed: Vec::new(),
            hopeless: HashMap::default(),
            finished,
            order,
        };
        let total: u32 = wanted.iter().sum();
        let weights: Vec<f64> =
            wanted.iter().map(|&count| f64::from(count) / f64::from(total.max(1))).collect();
        let mut start = 0;
        while start < groups.order.len() {
            let key = keys[groups.order[start] as usize];
            let end = start + groups.order[start..].partition_point(|&number| keys[number as usize] == key);
            let mut weights = weights.clone();
            weights[key as usize] = 1.0;
            groups.roots[key as usize] = Some(groups.build(start, end, NOBODY, &weights));
            start = end;
        }
        groups
    }

    /// Returns the groups with all tuples that they accepted.
    pub(super) fn into_groups(self) -> Vec<FinishedGroup> {
        self.finished
    }

    fn build(&mut self, start: usize, end: usize, parent: u32, weights: &[f64]) -> u32 {
        let node = self.nodes.len() as u32;
        let (sets, values) = (self.priors.sets(), self.priors.values());
        let own = self.boxes.len();
        self.boxes.resize(own + sets * values, (0, Rank::MAX));
        let kind = Kind::Leaf(start as u32, end as u32);
        self.nodes.push(Node { parent, first: NOBODY, spread: Spread::NONE, largest: 0, kind });
        let levels = &self.priors.levels;
        if end - start <= LEAF.max(sets * values / LEAF_SHARE) {
            let (mut first, mut largest, mut least) = (NOBODY, 0, None);
            for &number in &self.order[start..end] {
                self.leaf_of[number as usize] = node;
                let group = &self.finished[number as usize].priors;
                for set in 0..sets {
                    for value in 0..values {
                        let (low, high) = group.range_of(self.priors, set, value as u32);
                        let cell = &mut self.boxes[own + set * values + value];
                        *cell = (cell.0.max(low), cell.1.min(high));
                    }
                }
                first = first.min(number);
                largest = largest.max(group.values.len() as u32);
                let spread = group.spread(levels);
                least = Some(least.map_or(spread, |least| levels.narrower(least, spread)));
            }
            let node = &mut self.nodes[node as usize];
            (node.first, node.largest, node.spread) = (first, largest, least.unwrap_or(Spread::NONE));
        } else {
            let (set, value) = self.widest_side(start, end, weights);
            let (priors, finished) = (self.priors, &self.finished);
            let key = |&number: &u32| (finished[number as usize].priors.range_of(priors, set, value), number);
            let middle = (start + end) / 2;
            self.order[start..end].sort_by_cached_key(key);
            let left = self.build(start, middle, node, weights);
            let right = self.build(middle, end, node, weights);
            for cell in 0..sets * values {
                let at = |node: u32| node as usize * sets * values + cell;
                let (left, right) = (self.boxes[at(left)], self.boxes[at(right)]);
                self.boxes[own + cell] = (left.0.max(right.0), left.1.min(right.1));
            }
            let (one, other) = (&self.nodes[left as usize], &self.nodes[right as usize]);
            let first = one.first.min(other.first);
            let largest = one.largest.max(other.largest);
            let spread = levels.narrower(one.spread, other.spread);
            self.nodes[node as usize] =
                Node { parent, first, spread, largest, kind: Kind::Inner(left, right) };
        }
        node
    }

    /// Where a sample of groups differs most, weighted by how often searches need it.
    fn widest_side(&self, start: usize, end: usize, weights: &[f64]) -> (usize, u32) {
        let step = ((end - start) / SAMPLE).max(1);
        let mut best = (f64::NEG_INFINITY, 0, 0);
        for set in 0..self.priors.sets() {
            for (value, weight) in weights.iter().enumerate().filter(|&(_, &weight)| weight > 0.0) {
                let sample = self.order[start..end].iter().step_by(step).map(|&number| {
                    let group = &self.finished[number as usize].priors;
                    self.priors.levels.near(group.range_of(self.priors, set, value as u32).0)
                });
                let (count, sum, squares) =
                    sample.fold((0.0, 0.0, 0.0), |(n, sum, squares), p| (n + 1.0, sum + p, squares + p * p));
                let score = weight * (squares - sum * sum / count);
                if score > best.0 {
                    best = (score, set, value as u32);
                }
            }
        }
        (best.1, best.2)
    }

    /// Adds the tuple to the group for which the test still holds and (spread, number) is smallest; false if there is
    /// none.
    pub(super) fn attach(&mut self, leftover: LeftoverTuple<'_>) -> bool {
        let priors = self.priors;
        let ranks: Vec<Rank> = (leftover.signatures.iter().enumerate())
            .flat_map(|(set, &signature)| {
                (0..priors.values() as u32).map(move |value| priors.rank(set, signature, value))
            })
            .collect();
        let mut open = BinaryHeap::new();
        match self.hopeless.get(&leftover.class) {
            Some(&since) => {
                let changed = self.changed[since..].iter();
                open.extend(changed.filter_map(|&number| self.group_entry(number, &leftover, &ranks)));
            }
            None => {
                for (key, &root) in self.roots.iter().enumerate() {
                    if let Some(root) = root
                        && key as u32 != leftover.value
                        && self.possible(key as u32, &ranks)
                    {
                        open.extend(self.node_entry(root, key as u32, &leftover, &ranks));
                    }
                }
            }
        }
        while let Some(entry) = open.pop() {
            let (node, key) = match entry.at {
                Found::Node(node, key) => (node, key),
                Found::Group(number) => {
                    let group = &self.finished[number as usize].priors;
                    let grown = group.with(self.priors, leftover.value, leftover.signatures);
                    if self.test.holds(self.requirement, self.priors, &grown) {
                        self.take_in(number, grown, leftover.tuple);
                        self.hopeless.remove(&leftover.class);
                        return true;
                    }
                    continue;
                }
            };
            match self.nodes[node as usize].kind {
                Kind::Inner(left, right) => {
                    open.extend(self.node_entry(left, key, &leftover, &ranks));
                    open.extend(self.node_entry(right, key, &leftover, &ranks));
                }
                Kind::Leaf(start, end) => {
                    let numbers = self.order[start as usize..end as usize].iter();
                    open.extend(numbers.filter_map(|&number| self.group_entry(number, &leftover, &ranks)));
                }
            }
        }
        self.hopeless.insert(leftover.class, self.changed.len());
        false
    }

    fn take_in(&mut self, number: u32, grown: GroupPriors, tuple: u32) {
        let size = grown.values.len() as u32;
        let group = &mut self.finished[number as usize];
        group.priors = grown;
        group.tuples.push(tuple);
        self.changed.push(number);
        let mut at = self.leaf_of[number as usize];
        while at != NOBODY {
            let node = &mut self.nodes[at as usize];
            node.largest = node.largest.max(size);
            at = node.parent;
        }
    }

    /// Whether a group with `value` may pass with the tuple: Delta and ratio fail where a prior is 0.
    fn possible(&self, value: u32, ranks: &[Rank]) -> bool {
        match self.test {
            Test::Delta | Test::Ratio => {
                ranks.chunks_exact(self.priors.values()).all(|priors| priors[value as usize] > 0)
            }
            Test::Exact { .. } => true,
        }
    }

    /// The entry of a node, with the smallest spread that the tuple could give any of its groups; `None` if no group
    /// can pass.
    fn node_entry(
        &self,
        node: u32,
        key: u32,
        leftover: &LeftoverTuple<'_>,
        ranks: &[Rank],
    ) -> Option<Entry<'a>> {
        let levels = &self.priors.levels;
        let (sets, values) = (self.priors.sets(), self.priors.values());
        let Node { first, mut spread, largest, .. } = self.nodes[node as usize];
        for set in 0..sets {
            let mut product = f64::from(largest);
            for value in [key, leftover.value] {
                let cell = set * values + value as usize;
                let (low, high) = self.boxes[node as usize * sets * values + cell];
                // Every group here has a prior of at most `low` and one of at least `high`; these may cross.
                let (low, high) = (low.min(ranks[cell]), high.max(ranks[cell]));
                spread = levels.wider(spread, levels.spread(low, high));
                product *= levels.near(low) / levels.near(high);
            }
            // The ratio condition bounds (N-1) times any two ratios; the slack is far larger than all rounding errors.
            let excess = self.requirement.excess().1;
            if self.test == Test::Ratio && product < excess * (1.0 - 1e-9) {
                return None;
            }
        }
        Some(Entry { levels, spread, number: first, at: Found::Node(node, key) })
    }

    /// The entry of a group, with the spread it would have; `None` if it cannot pass.
    fn group_entry(&self, number: u32, leftover: &LeftoverTuple<'_>, ranks: &[Rank]) -> Option<Entry<'a>> {
        let group = &self.finished[number as usize].priors;
        if group.values.iter().any(|&value| value == leftover.value || !self.possible(value, ranks)) {
            return None;
        }
        if self.test == Test::Ratio && !self.ratio_may_hold(group, ranks) {
            return None;
        }
        let levels = &self.priors.levels;
        let values = self.priors.values();
        let mut spread = Spread::NONE;
        for set in 0..self.priors.sets() {
            let rank = |value: u32| ranks[set * values + value as usize];
            for (&value, (low, high)) in group.values.iter().zip(group.ranges(set)) {
                spread = levels.wider(spread, levels.spread(low.min(rank(value)), high.max(rank(value))));
            }
            let (low, high) = group.range_of(self.priors, set, leftover.value);
            let own = rank(leftover.value);
            spread = levels.wider(spread, levels.spread(low.min(own), high.max(own)));
        }
        Some(Entry { levels, spread, number, at: Found::Group(number) })
    }

    /// Whether the group might accept the tuple under the ratio condition of the group's own values; cheap, and never
    /// wrongly false.
    fn ratio_may_hold(&self, group: &GroupPriors, ranks: &[Rank]) -> bool {
        let levels = &self.priors.levels;
        let values = self.priors.values();
        let needed = self.requirement.excess().1 / group.values.len() as f64 * (1.0 - 1e-9);
        (0..self.priors.sets()).all(|set| {
            let mut smallest = [1.0f64; 2];
            for (&value, (low, high)) in group.values.iter().zip(group.ranges(set)) {
                let rank = ranks[set * values + value as usize];
                let rho = levels.near(low.min(rank)) / levels.near(high.max(rank));
                smallest = [smallest[0].min(rho), smallest[1].min(smallest[0].max(rho))];
            }
            smallest[0] * smallest[1] >= needed
        })
    }
}
