//! Which group is a row in?
//!
//! The tree of cuts is plain data: the planner grows it, it is saved with the release, and it is applied to rows.
//! Memory: 8 bytes per node, two nodes per group; some 40 bytes more for a cut into more than two parts.

use crate::resources::byte_form::{ByteForm, ByteReader};
use std::collections::BTreeMap;

/// A cut of one column into the codes below the first boundary, those from the first to the second, and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Which column.
    pub column: usize,
    /// First code of each part except the first, ascending.
    pub boundaries: Box<[u32]>,
}

impl Cut {
    /// The part that a code falls in.
    #[inline]
    pub fn part(&self, code: u16) -> usize {
        match *self.boundaries {
            [boundary] => usize::from(u32::from(code) >= boundary),
            ref many => many.partition_point(|&boundary| boundary <= u32::from(code)),
        }
    }
}

impl Cut {
    /// The codes of each part, given the codes of the whole.
    pub fn ranges(&self, whole: std::ops::Range<u32>) -> Vec<std::ops::Range<u32>> {
        let starts = std::iter::once(whole.start).chain(self.boundaries.iter().copied());
        let ends = self.boundaries.iter().copied().chain([whole.end]);
        starts.zip(ends).map(|(start, end)| start..end).collect()
    }
}

/// A group or a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Node {
    /// The number of a group, once it is published; the first of the children, which are consecutive; or the place of a
    /// wide cut.
    next: u32,
    /// The column that is cut, or [`GROUP`].
    column: u16,
    /// The first code of the second of two parts, or [`WIDE`].
    boundary: u16,
}

impl Node {
    /// The same node in a tree that has so many nodes and wide cuts before it.
    fn moved(self, nodes: u32, wide: u32) -> Node {
        match self {
            Node { column: GROUP, .. } => self,
            Node { boundary: WIDE, .. } => Node { next: self.next + wide, ..self },
            _ => Node { next: self.next + nodes, ..self },
        }
    }
}

/// Marks a group.
const GROUP: u16 = u16::MAX;
/// Marks a cut into more than two parts. No second part begins at code 0.
const WIDE: u16 = 0;

const NEW_GROUP: Node = Node { next: 0, column: GROUP, boundary: WIDE };

/// The tree of cuts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutTree {
    nodes: Vec<Node>,
    /// The first child and the boundaries of every cut into more than two parts.
    wide: Vec<(NodeId, Box<[u32]>)>,
}

/// A node of the tree.
pub type NodeId = u32;

impl Default for CutTree {
    fn default() -> Self {
        CutTree { nodes: vec![NEW_GROUP], wide: vec![] }
    }
}

impl CutTree {
    /// The whole table.
    pub const ROOT: NodeId = 0;

    /// Splits a group; the new groups have consecutive ids from the one returned.
    pub fn split(&mut self, node: NodeId, cut: Cut) -> NodeId {
        let first = self.nodes.len() as NodeId;
        self.nodes.extend(std::iter::repeat_n(NEW_GROUP, cut.boundaries.len() + 1));
        let column = cut.column as u16;
        self.nodes[node as usize] = match *cut.boundaries {
            [boundary] if (1..=u32::from(u16::MAX)).contains(&boundary) => {
                Node { next: first, column, boundary: boundary as u16 }
            }
            _ => {
                self.wide.push((first, cut.boundaries));
                Node { next: self.wide.len() as u32 - 1, column, boundary: WIDE }
            }
        };
        first
    }

    /// A tree of one group, which has the number 1.
    pub fn numbered() -> Self {
        let mut tree = CutTree::default();
        tree.number(Self::ROOT, 1);
        tree
    }

    /// Replaces a group by a tree of which it is the root.
    pub fn graft(&mut self, node: NodeId, below: CutTree) {
        // The root takes the place of the group, the others follow the nodes that are here.
        let (first, wide) = (self.nodes.len() as NodeId - 1, self.wide.len() as u32);
        self.nodes[node as usize] = below.nodes[0].moved(first, wide);
        self.nodes.extend(below.nodes[1..].iter().map(|own| own.moved(first, wide)));
        self.wide.extend(below.wide.into_iter().map(|(child, boundaries)| (child + first, boundaries)));
    }

    /// Turns a node back into a single group; everything below it is discarded.
    pub fn join(&mut self, node: NodeId) {
        self.nodes[node as usize] = NEW_GROUP;
    }

    /// Gives a group its number.
    pub fn number(&mut self, node: NodeId, group: u64) {
        self.nodes[node as usize] = Node { next: group as u32, ..NEW_GROUP };
    }

    /// The node that a row ends in, given the code of each column.
    #[inline]
    pub fn find(&self, code: impl Fn(usize) -> u16) -> NodeId {
        let mut at = Self::ROOT;
        loop {
            let Node { next, column, boundary } = self.nodes[at as usize];
            if column == GROUP {
                return at;
            }
            let code = code(usize::from(column));
            at = match boundary {
                WIDE => {
                    let (first, boundaries) = &self.wide[next as usize];
                    first + boundaries.partition_point(|&boundary| boundary <= u32::from(code)) as NodeId
                }
                boundary => next + NodeId::from(code >= boundary),
            };
        }
    }

    /// The number of the group at a node; 0 if the node is not a group.
    pub fn group(&self, node: NodeId) -> u64 {
        match self.nodes[node as usize] {
            Node { next, column: GROUP, .. } => u64::from(next),
            _ => 0,
        }
    }

    /// The cut of a node and its children's ids; `None` for a group.
    pub fn cut(&self, node: NodeId) -> Option<(Cut, std::ops::Range<NodeId>)> {
        let children = self.children(node)?;
        let Node { next, column, boundary } = self.nodes[node as usize];
        let boundaries = match boundary {
            WIDE => self.wide[next as usize].1.clone(),
            boundary => [u32::from(boundary)].into(),
        };
        Some((Cut { column: usize::from(column), boundaries }, children))
    }

    /// The children of a node; `None` for a group.
    pub fn children(&self, node: NodeId) -> Option<std::ops::Range<NodeId>> {
        match self.nodes[node as usize] {
            Node { column: GROUP, .. } => None,
            Node { next, boundary: WIDE, .. } => {
                let (first, boundaries) = &self.wide[next as usize];
                Some(*first..first + boundaries.len() as NodeId + 1)
            }
            Node { next, .. } => Some(next..next + 2),
        }
    }

    /// The groups below a node, in order.
    pub fn groups_below(&self, node: NodeId) -> Vec<NodeId> {
        let (mut open, mut groups) = (vec![node], vec![]);
        while let Some(node) = open.pop() {
            match self.children(node) {
                None => groups.push(node),
                Some(children) => open.extend(children.rev()),
            }
        }
        groups
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The bytes that the tree takes.
    pub fn bytes(&self) -> u64 {
        let wide: usize = self.wide.iter().map(|(_, boundaries)| 48 + 4 * boundaries.len()).sum();
        (self.nodes.capacity() * size_of::<Node>() + wide) as u64
    }
}

impl ByteForm for Node {
    fn write(&self, bytes: &mut Vec<u8>) {
        let Node { next, column, boundary } = self;
        next.write(bytes);
        column.write(bytes);
        boundary.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some(Node { next: u32::read(bytes)?, column: u16::read(bytes)?, boundary: u16::read(bytes)? })
    }
}

impl ByteForm for CutTree {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.nodes.write(bytes);
        self.wide.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let tree = CutTree { nodes: ByteForm::read(bytes)?, wide: ByteForm::read(bytes)? };
        tree.is_whole().then_some(tree)
    }
}

impl CutTree {
    /// Whether every cut has all its children, which come after it and belong to no other cut.
    fn is_whole(&self) -> bool {
        let mut has_parent = vec![false; self.nodes.len()];
        let mut takes_children = |(id, node): (NodeId, &Node)| {
            let (first, parts) = match *node {
                Node { column: GROUP, .. } => return true,
                Node { next, boundary: WIDE, .. } => match self.wide.get(next as usize) {
                    Some((first, boundaries)) => (*first, boundaries.len() + 1),
                    None => return false,
                },
                Node { next, .. } => (next, 2),
            };
            let own = has_parent.get_mut(first as usize..first as usize + parts);
            first > id && own.is_some_and(|own| own.iter_mut().all(|taken| !std::mem::replace(taken, true)))
        };
        !self.nodes.is_empty() && (0..).zip(&self.nodes).all(&mut takes_children)
    }

    /// The highest column that is cut.
    pub fn highest_column(&self) -> Option<usize> {
        self.nodes.iter().filter(|node| node.column != GROUP).map(|node| usize::from(node.column)).max()
    }
}

/// The tree of a table or of a part of it, with the numbers of its groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedTree<'t> {
    /// The cuts. The number of a group is counted from the first group of this tree.
    pub tree: &'t CutTree,
    /// Groups before the first one of this tree.
    pub before: u64,
    /// The leaves of a tree that ends in parts; otherwise empty.
    pub leaves: BTreeMap<NodeId, TreeLeaf>,
}

/// Where a tree ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeLeaf {
    /// A group with its number.
    Group(u64),
    /// A part whose tree was written to this line.
    Line(u64),
    /// People who are left out.
    LeftOut,
}

impl NumberedTree<'_> {
    /// The leaf at a node that is not cut.
    pub fn leaf(&self, node: NodeId) -> TreeLeaf {
        let group = || match self.tree.group(node) {
            0 => TreeLeaf::LeftOut,
            number => TreeLeaf::Group(self.before + number),
        };
        self.leaves.get(&node).copied().unwrap_or_else(group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_into_two_and_more_parts_are_kept_and_followed() {
        let mut tree = CutTree::default();
        let cut = |column, boundaries: &[u32]| Cut { column, boundaries: boundaries.into() };
        let halves = tree.split(CutTree::ROOT, cut(1, &[65_535]));
        let parts = tree.split(halves, cut(0, &[2, 5, 9]));
        assert_eq!(tree.cut(CutTree::ROOT), Some((cut(1, &[65_535]), halves..halves + 2)));
        assert_eq!(tree.cut(halves), Some((cut(0, &[2, 5, 9]), parts..parts + 4)));
        assert_eq!(tree.cut(parts), None);
        tree.number(parts + 2, 7);
        fn find(tree: &CutTree, codes: [u16; 2]) -> NodeId {
            tree.find(|column| codes[column])
        }
        let found = |codes| find(&tree, codes);
        assert_eq!(found([0, 65_535]), halves + 1);
        assert_eq!(
            [found([1, 0]), found([2, 0]), found([8, 0]), found([9, 65_534])],
            [0, 1, 2, 3].map(|i| parts + i)
        );
        assert_eq!((tree.group(found([6, 3])), tree.group(parts)), (7, 0));
        assert_eq!(tree.groups_below(CutTree::ROOT), [parts, parts + 1, parts + 2, parts + 3, halves + 1]);
        tree.join(halves);
        assert_eq!(find(&tree, [6, 3]), halves);
    }

    #[test]
    fn a_grafted_tree_stands_where_the_group_was() {
        let cut = |column, boundaries: &[u32]| Cut { column, boundaries: boundaries.into() };
        let mut below = CutTree::default();
        let parts = below.split(CutTree::ROOT, cut(1, &[3, 4]));
        below.split(parts + 1, cut(0, &[7]));
        below.number(parts, 5);
        let mut tree = CutTree::default();
        let halves = tree.split(CutTree::ROOT, cut(0, &[2, 5, 9]));
        tree.graft(halves + 1, below);
        let mut whole = CutTree::default();
        let halves = whole.split(CutTree::ROOT, cut(0, &[2, 5, 9]));
        let parts = whole.split(halves + 1, cut(1, &[3, 4]));
        whole.split(parts + 1, cut(0, &[7]));
        whole.number(parts, 5);
        assert_eq!(tree, whole);
    }
}
