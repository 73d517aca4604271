//! How are the nodes of a hierarchy arranged above its leaves?

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::math::exact::{Rational, ratio};

/// The number of a node; the root is the smallest, and a parent is smaller than its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub(super) u32);

impl Node {
    /// The number as an index, dense from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The data of one node.
#[derive(Clone)]
pub(super) struct Entry {
    pub name: String,
    pub parent: Option<Node>,
    pub children: Vec<Node>,
    pub range: Range<u32>,
    pub level: u32,
    pub height: u32,
}

/// A tree over the values of a column; leaf codes are dense from 0 in the order of the tree.
///
/// Memory: some 200 bytes per node and twice its name; clones share it.
#[derive(Clone)]
pub struct Hierarchy {
    pub(super) nodes: Arc<Vec<Entry>>,
    pub(super) leaves: Arc<Vec<Node>>,
    pub(super) by_name: Arc<HashMap<String, Node>>,
    pub(super) other: Option<u32>,
}

/// Names are values of a column, and may be values of people: only the size is shown.
impl fmt::Debug for Hierarchy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hierarchy({} leaves, {} nodes)", self.leaves.len(), self.nodes.len())
    }
}

impl PartialEq for Hierarchy {
    fn eq(&self, with: &Self) -> bool {
        let same = |(a, b): (&Entry, &Entry)| a.name == b.name && a.parent == b.parent && a.level == b.level;
        self.other == with.other
            && self.nodes.len() == with.nodes.len()
            && self.nodes.iter().zip(with.nodes.iter()).all(same)
    }
}

impl Eq for Hierarchy {}

impl Hierarchy {
    /// The node that covers everything.
    pub fn root(&self) -> Node {
        Node(0)
    }

    /// All nodes, parents before children.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.nodes.len() as u32).map(Node)
    }

    /// The number of leaves; their codes are `0..leaf_count()`.
    pub fn leaf_count(&self) -> u32 {
        self.leaves.len() as u32
    }

    /// The code of a value: its own leaf, or the `other` leaf if there is one.
    pub fn leaf(&self, value: &str) -> Option<u32> {
        self.own_leaf(value).or(self.other)
    }

    /// The code of the leaf with exactly this name.
    pub fn own_leaf(&self, value: &str) -> Option<u32> {
        let node = self.node(value)?;
        self.children(node).is_empty().then(|| self.range(node).start)
    }

    /// The leaf for values that the hierarchy does not cover.
    pub fn other(&self) -> Option<u32> {
        self.other
    }

    /// The node of a leaf code; `code` must be below [`leaf_count`](Self::leaf_count).
    pub fn leaf_node(&self, code: u32) -> Node {
        self.leaves[code as usize]
    }

    /// The node with this name.
    pub fn node(&self, name: &str) -> Option<Node> {
        self.by_name.get(name).copied()
    }

    /// The published name of a node.
    pub fn name(&self, node: Node) -> &str {
        &self.nodes[node.index()].name
    }

    /// The node above; `None` for the root.
    pub fn parent(&self, node: Node) -> Option<Node> {
        self.nodes[node.index()].parent
    }

    /// The nodes directly below, in leaf order; empty for a leaf.
    pub fn children(&self, node: Node) -> &[Node] {
        &self.nodes[node.index()].children
    }

    /// The leaf codes below a node; a leaf covers its own code.
    pub fn range(&self, node: Node) -> Range<u32> {
        self.nodes[node.index()].range.clone()
    }

    /// The longest path down to a leaf, in steps; 0 for a leaf.
    pub fn height(&self, node: Node) -> u32 {
        self.nodes[node.index()].height
    }

    /// The full-domain level at which a node appears: the field of its row, 0 for a leaf.
    pub fn level(&self, node: Node) -> u32 {
        self.nodes[node.index()].level
    }

    /// The level of the root: levels are `0..=top_level()`.
    pub fn top_level(&self) -> u32 {
        self.level(self.root())
    }

    /// What a leaf becomes at a full-domain level; levels above the top are the top.
    pub fn ancestor_at(&self, code: u32, level: u32) -> Node {
        self.climb(code, |above| self.level(above) <= level)
    }

    /// The lowest node that covers the leaves `low..=high`.
    pub fn smallest_cover(&self, low: u32, high: u32) -> Node {
        let (low, high) = (low.min(high), low.max(high));
        let leaf = self.leaf_node(low);
        if high == low {
            return leaf;
        }
        let mut node = leaf;
        while self.range(node).end <= high {
            match self.parent(node) {
                Some(above) => node = above,
                None => break,
            }
        }
        node
    }

    /// The height of the lowest common ancestor of two leaves as a share of the whole height.
    pub fn distance(&self, one: u32, another: u32) -> Rational {
        match self.height(self.root()) {
            0 => Rational::ZERO,
            whole => ratio(self.height(self.smallest_cover(one, another)).into(), whole.into()),
        }
    }

    /// The rows that rebuild this hierarchy, leaf by leaf: one name for each level.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let levels = 0..=self.top_level();
        let row =
            |code| levels.clone().map(move |level| self.name(self.ancestor_at(code, level)).to_string());
        (0..self.leaf_count()).map(|code| row(code).collect()).collect()
    }

    fn climb(&self, code: u32, goes: impl Fn(Node) -> bool) -> Node {
        let mut node = self.leaf_node(code);
        while let Some(above) = self.parent(node).filter(|&above| goes(above)) {
            node = above;
        }
        node
    }
}
