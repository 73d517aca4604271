//! Which node is each row of a page in?
//!
//! A group of a tree of cuts is a box: a range of codes in each column. With few groups, a table per column says which of
//! them a code allows, a bit for each, and only one group is allowed by all codes of a row. With more, the tree is a flat
//! table of two-way steps, walked for many rows together: every row takes a step, then every row the next. Neither has
//! branches. Memory: 8 bytes for each code of the columns that are cut, or 16 per node; and [`CHUNK`] rows.

use crate::encode::codes::Codes;
use crate::encode::rows::Rows;
use crate::group::tree::{Cut, CutTree, NodeId};
use std::collections::BTreeMap;
use std::ops::Range;

/// Rows that are walked together; their codes stay in the cache.
pub const CHUNK: usize = 1024;

/// A tree of cuts, ready to be applied to pages.
#[derive(Debug)]
pub enum Walk {
    /// Few groups.
    Boxes(WalkBoxes),
    /// Any number of groups.
    Steps(WalkSteps),
}

/// The codes of the rows that are walked together, and where they are.
#[derive(Debug, Default)]
pub struct WalkRoom {
    codes: Vec<u16>,
    at: Vec<u32>,
    allowed: Vec<u64>,
    nodes: Vec<NodeId>,
}

impl Walk {
    /// Prepares a tree.
    pub fn new(tree: &CutTree) -> Self {
        match tree.groups_below(CutTree::ROOT).len() <= u64::BITS as usize {
            true => Walk::Boxes(WalkBoxes::new(tree)),
            false => Walk::Steps(WalkSteps::new(tree)),
        }
    }

    /// The nodes of these rows, in order; at most [`CHUNK`] rows.
    pub fn nodes<'r>(&self, rows: &Rows, chunk: Range<usize>, room: &'r mut WalkRoom) -> &'r [NodeId] {
        match self {
            Walk::Boxes(boxes) => boxes.find(rows, chunk, room),
            Walk::Steps(steps) => steps.find(rows, chunk, room),
        }
        &room.nodes
    }
}

/// The groups of a tree as boxes.
#[derive(Debug, Default)]
pub struct WalkBoxes {
    /// In tree order; the number of a group is its bit.
    groups: Vec<NodeId>,
    columns: Vec<AllowedGroups>,
}

/// The groups that a code of a column allows, by code; the last entry is that of all higher codes.
#[derive(Debug)]
struct AllowedGroups {
    column: usize,
    groups: Vec<u64>,
}

impl WalkBoxes {
    fn new(tree: &CutTree) -> Self {
        let mut boxes = WalkBoxes::default();
        boxes.add(tree, CutTree::ROOT, &mut BTreeMap::new());
        boxes
    }

    /// Adds the groups below a node, whose codes are in these ranges.
    fn add(&mut self, tree: &CutTree, node: NodeId, extent: &mut BTreeMap<usize, Range<u32>>) {
        let Some((cut, children)) = tree.cut(node) else {
            let group = 1 << self.groups.len();
            self.groups.push(node);
            return extent.iter().for_each(|(&column, codes)| self.allow_only(column, codes, group));
        };
        let own = extent.get(&cut.column).cloned();
        let whole = own.clone().unwrap_or(0..u32::MAX);
        for (child, codes) in children.zip(cut.ranges(whole.clone())) {
            extent.insert(cut.column, codes.start.max(whole.start)..codes.end.min(whole.end));
            self.add(tree, child, extent);
        }
        match own {
            Some(codes) => drop(extent.insert(cut.column, codes)),
            None => drop(extent.remove(&cut.column)),
        }
    }

    /// Of a column, a group allows these codes only.
    fn allow_only(&mut self, column: usize, codes: &Range<u32>, group: u64) {
        let place = self.columns.iter().position(|own| own.column == column).unwrap_or_else(|| {
            // Every narrow code has an entry.
            self.columns.push(AllowedGroups { column, groups: vec![u64::MAX; 1 << 8] });
            self.columns.len() - 1
        });
        let groups = &mut self.columns[place].groups;
        let border = if codes.end < u32::MAX { codes.end } else { codes.start } as usize;
        let last = groups[groups.len() - 1];
        groups.resize(groups.len().max(border + 1), last);
        for (code, allowed) in (0..).zip(groups) {
            if !codes.contains(&code) {
                *allowed &= !group;
            }
        }
    }

    fn find(&self, rows: &Rows, chunk: Range<usize>, room: &mut WalkRoom) {
        let WalkRoom { allowed, nodes, .. } = room;
        allowed.clear();
        allowed.resize(chunk.len(), u64::MAX);
        for AllowedGroups { column, groups } in &self.columns {
            match &rows.columns[*column] {
                Codes::Narrow(codes) => {
                    let groups: &[u64; 1 << 8] =
                        groups.first_chunk().expect("every narrow code has an entry");
                    keep_allowed(allowed, &codes[chunk.clone()], |code| groups[usize::from(code)]);
                }
                Codes::Wide(codes) => {
                    let last = groups.len() - 1;
                    keep_allowed(allowed, &codes[chunk.clone()], |code| groups[usize::from(code).min(last)]);
                }
            }
        }
        nodes.clear();
        // Bits that belong to no group are higher.
        nodes.extend(allowed.iter().map(|allowed| self.groups[allowed.trailing_zeros() as usize]));
    }
}

#[inline]
fn keep_allowed<C: Copy>(allowed: &mut [u64], codes: &[C], groups: impl Fn(C) -> u64) {
    allowed.iter_mut().zip(codes).for_each(|(allowed, &code)| *allowed &= groups(code));
}

/// Go to `below` if the code of a column is below `boundary`, otherwise to `from`; a node that is not split stays.
#[derive(Debug, Clone, Copy)]
struct WalkStep {
    column: u32,
    boundary: u32,
    below: u32,
    from: u32,
}

/// The cuts of a tree as steps.
#[derive(Debug)]
pub struct WalkSteps {
    steps: Vec<WalkStep>,
    /// The columns that are cut.
    columns: Vec<usize>,
    /// The node at the end of each step that stays.
    node: Vec<NodeId>,
    depth: usize,
}

impl WalkSteps {
    fn new(tree: &CutTree) -> Self {
        let mut walk = WalkSteps { steps: vec![], columns: vec![], node: vec![], depth: 0 };
        walk.add(tree, CutTree::ROOT, 0);
        walk
    }

    fn add(&mut self, tree: &CutTree, node: NodeId, depth: usize) -> u32 {
        match tree.cut(node) {
            Some((cut, children)) => {
                let children: Vec<NodeId> = children.collect();
                self.add_parts(tree, &cut, &cut.boundaries, &children, depth)
            }
            None => {
                let own = self.push(node);
                self.depth = self.depth.max(depth);
                own
            }
        }
    }

    fn push(&mut self, node: NodeId) -> u32 {
        let own = self.steps.len() as u32;
        self.steps.push(WalkStep { column: 0, boundary: 0, below: own, from: own });
        self.node.push(node);
        own
    }

    /// A cut into several parts becomes several steps, halved.
    fn add_parts(
        &mut self,
        tree: &CutTree,
        cut: &Cut,
        boundaries: &[u32],
        children: &[NodeId],
        depth: usize,
    ) -> u32 {
        if boundaries.is_empty() {
            return self.add(tree, children[0], depth);
        }
        let place = self.columns.iter().position(|&column| column == cut.column);
        let column = place.unwrap_or_else(|| {
            self.columns.push(cut.column);
            self.columns.len() - 1
        }) as u32;
        let middle = boundaries.len() / 2;
        let own = self.push(children[0]);
        let below = self.add_parts(tree, cut, &boundaries[..middle], &children[..=middle], depth + 1);
        let from = self.add_parts(tree, cut, &boundaries[middle + 1..], &children[middle + 1..], depth + 1);
        self.steps[own as usize] = WalkStep { column, boundary: boundaries[middle], below, from };
        own
    }

    fn find(&self, rows: &Rows, chunk: Range<usize>, room: &mut WalkRoom) {
        let WalkRoom { codes: all, at, nodes, .. } = room;
        all.clear();
        for &column in &self.columns {
            match &rows.columns[column] {
                Codes::Narrow(codes) => all.extend(codes[chunk.clone()].iter().map(|&code| u16::from(code))),
                Codes::Wide(codes) => all.extend_from_slice(&codes[chunk.clone()]),
            }
            all.resize(all.len() + CHUNK - chunk.len(), 0);
        }
        at.clear();
        at.resize(chunk.len(), 0);
        for _ in 0..self.depth {
            for (row, at) in at.iter_mut().enumerate() {
                let step = self.steps[*at as usize];
                let code = u32::from(all[step.column as usize * CHUNK + row]);
                *at = if code < step.boundary { step.below } else { step.from };
            }
        }
        nodes.clear();
        nodes.extend(at.iter().map(|&at| self.node[at as usize]));
    }
}

/// So many rows in chunks of at most [`CHUNK`].
pub fn chunks(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(CHUNK).map(move |first| first..rows.min(first + CHUNK))
}

/// The rows of a page, sorted by node.
///
/// Memory: 8 bytes per row of a page, and 4 per node.
#[derive(Debug, Default)]
pub struct RowsByNode {
    place: Vec<u32>,
    starts: Vec<u32>,
    rows: Vec<u32>,
    room: WalkRoom,
}

impl RowsByNode {
    /// Sorts the rows of a page by the place of their node, one of `places` places; rows of other nodes come last.
    pub fn sort(&mut self, walk: &Walk, rows: &Rows, place_of: &[u32], places: usize) {
        let RowsByNode { place, starts, rows: sorted, room } = self;
        place.clear();
        for chunk in chunks(rows.len()) {
            let nodes = walk.nodes(rows, chunk, room);
            place.extend(nodes.iter().map(|&node| place_of[node as usize].min(places as u32)));
        }
        starts.clear();
        starts.resize(places + 2, 0);
        place.iter().for_each(|&place| starts[place as usize + 1] += 1);
        let mut sum = 0;
        for start in starts.iter_mut() {
            sum += *start;
            *start = sum;
        }
        sorted.clear();
        sorted.resize(rows.len(), 0);
        // Filled from the back, so that what was the end of a place becomes its start.
        for (row, &place) in place.iter().enumerate().rev() {
            let end = &mut starts[place as usize + 1];
            *end -= 1;
            sorted[*end as usize] = row as u32;
        }
        starts.push(rows.len() as u32);
        starts.remove(0);
    }

    /// The rows at one of the places, in order.
    pub fn of(&self, place: usize) -> &[u32] {
        &self.rows[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::rows::Sensitive;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_walk_ends_where_the_tree_says(
            cuts in prop::collection::vec((0usize..30, 0usize..2, prop::collection::btree_set(1u32..300, 1..4)), 0..30),
            codes in prop::collection::vec((0u16..300, 0u8..255), 1..2100),
        ) {
            let mut tree = CutTree::default();
            for (at, column, boundaries) in cuts {
                let groups = tree.groups_below(CutTree::ROOT);
                let boundaries = boundaries.into_iter().collect();
                tree.split(groups[at % groups.len()], Cut { column, boundaries });
            }
            let rows = Rows {
                columns: vec![
                    Codes::Wide(codes.iter().map(|codes| codes.0).collect()),
                    Codes::Narrow(codes.iter().map(|codes| codes.1).collect()),
                ],
                sensitive: Sensitive::Single(Codes::Narrow(vec![0; codes.len()])),
            };
            let expected: Vec<NodeId> =
                (0..rows.len()).map(|row| tree.find(|column| rows.columns[column].get(row))).collect();
            let mut room = WalkRoom::default();
            for walk in [Walk::new(&tree), Walk::Steps(WalkSteps::new(&tree))] {
                for chunk in chunks(rows.len()) {
                    prop_assert_eq!(walk.nodes(&rows, chunk.clone(), &mut room), &expected[chunk]);
                }
                let some = rows.len() / 3..(rows.len() - rows.len() / 5).min(rows.len() / 3 + CHUNK);
                prop_assert_eq!(walk.nodes(&rows, some.clone(), &mut room), &expected[some]);
            }
            // Every other group has a place.
            let groups = tree.groups_below(CutTree::ROOT);
            let placed: Vec<NodeId> = groups.into_iter().step_by(2).collect();
            let mut place_of = vec![u32::MAX; tree.len()];
            placed.iter().zip(0..).for_each(|(&node, place)| place_of[node as usize] = place);
            let mut sorted = RowsByNode::default();
            for _ in 0..2 {
                sorted.sort(&Walk::new(&tree), &rows, &place_of, placed.len());
                for (place, &node) in placed.iter().enumerate() {
                    let own: Vec<u32> = (0..).zip(&expected).filter(|(_, of)| **of == node).map(|(row, _)| row).collect();
                    prop_assert_eq!(sorted.of(place), &own[..]);
                }
            }
        }
    }
}
