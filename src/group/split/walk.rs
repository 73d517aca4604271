//! Which node is each row of a page in?
//!
//! The tree of cuts as a flat table of two-way steps, walked for many rows together: every row takes a step, then every
//! row the next, without branches. Memory: 16 bytes per node, and [`CHUNK`] rows of codes.

use crate::encode::codes::Codes;
use crate::encode::rows::Rows;
use crate::group::tree::{Cut, CutTree, NodeId};

/// Rows that are walked together; their codes stay in the cache.
const CHUNK: usize = 1024;

/// Go to `below` if the code of a column is below `boundary`, otherwise to `from`; a node that is not split stays.
#[derive(Debug, Clone, Copy)]
struct WalkStep {
    column: u32,
    boundary: u32,
    below: u32,
    from: u32,
}

/// A tree of cuts, ready to be applied to pages.
#[derive(Debug)]
pub struct Walk {
    steps: Vec<WalkStep>,
    /// The columns that are cut.
    columns: Vec<usize>,
    /// The node at the end of each step that stays.
    node: Vec<NodeId>,
    depth: usize,
}

/// The codes of the rows that are walked together, and where they are.
#[derive(Debug, Default)]
pub struct WalkRoom {
    codes: Vec<u16>,
    at: Vec<u32>,
}

impl Walk {
    /// Flattens a tree.
    pub fn new(tree: &CutTree) -> Self {
        let mut walk = Walk { steps: vec![], columns: vec![], node: vec![], depth: 0 };
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

    /// Passes the node of every row to `sink`, in order.
    pub fn nodes(&self, rows: &Rows, room: &mut WalkRoom, mut sink: impl FnMut(NodeId)) {
        for first in (0..rows.len()).step_by(CHUNK) {
            let many = CHUNK.min(rows.len() - first);
            room.codes.clear();
            for &column in &self.columns {
                match &rows.columns[column] {
                    Codes::Narrow(codes) => {
                        room.codes.extend(codes[first..first + many].iter().map(|&code| u16::from(code)));
                    }
                    Codes::Wide(codes) => room.codes.extend_from_slice(&codes[first..first + many]),
                }
                room.codes.resize(room.codes.len() + CHUNK - many, 0);
            }
            room.at.clear();
            room.at.resize(many, 0);
            for _ in 0..self.depth {
                for (row, at) in room.at.iter_mut().enumerate() {
                    let step = self.steps[*at as usize];
                    let code = u32::from(room.codes[step.column as usize * CHUNK + row]);
                    *at = if code < step.boundary { step.below } else { step.from };
                }
            }
            room.at.iter().for_each(|&at| sink(self.node[at as usize]));
        }
    }
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
        walk.nodes(rows, room, |node| place.push(place_of[node as usize].min(places as u32)));
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
            cuts in prop::collection::vec((0usize..30, 0usize..2, prop::collection::btree_set(1u32..300, 1..4)), 0..9),
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
            let mut nodes = vec![];
            Walk::new(&tree).nodes(&rows, &mut WalkRoom::default(), |node| nodes.push(node));
            let expected: Vec<NodeId> =
                (0..rows.len()).map(|row| tree.find(|column| rows.columns[column].get(row))).collect();
            prop_assert_eq!(&nodes, &expected);
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
