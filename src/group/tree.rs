//! Which group is a row in?
//!
//! The tree of cuts is plain data: the planner grows it, it is saved with the release, and it is applied to rows.
//! Memory: about 40 bytes per node, two nodes per group.

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

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    /// A group; it gets its number when it is published.
    Group(u64),
    /// The first of its children, which are consecutive.
    Inner(Cut, u32),
}

/// The tree of cuts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutTree {
    nodes: Vec<Node>,
}

/// A node of the tree.
pub type NodeId = u32;

impl Default for CutTree {
    fn default() -> Self {
        CutTree { nodes: vec![Node::Group(0)] }
    }
}

impl CutTree {
    /// The whole table.
    pub const ROOT: NodeId = 0;

    /// Splits a group; the new groups have consecutive ids from the one returned.
    pub fn split(&mut self, node: NodeId, cut: Cut) -> NodeId {
        let first = self.nodes.len() as NodeId;
        self.nodes.extend((0..=cut.boundaries.len()).map(|_| Node::Group(0)));
        self.nodes[node as usize] = Node::Inner(cut, first);
        first
    }

    /// Turns a node back into a single group; everything below it is discarded.
    pub fn join(&mut self, node: NodeId) {
        self.nodes[node as usize] = Node::Group(0);
    }

    /// Gives a group its number.
    pub fn number(&mut self, node: NodeId, group: u64) {
        self.nodes[node as usize] = Node::Group(group);
    }

    /// The node that a row ends in, given the code of each column.
    #[inline]
    pub fn find(&self, code: impl Fn(usize) -> u16) -> NodeId {
        let mut node = Self::ROOT;
        while let Node::Inner(cut, first) = &self.nodes[node as usize] {
            node = first + cut.part(code(cut.column)) as NodeId;
        }
        node
    }

    /// The number of the group at a node; 0 if the node is not a group.
    pub fn group(&self, node: NodeId) -> u64 {
        match self.nodes[node as usize] {
            Node::Group(group) => group,
            Node::Inner(..) => 0,
        }
    }

    /// The cut of a node and its children's ids; `None` for a group.
    pub fn cut(&self, node: NodeId) -> Option<(&Cut, std::ops::Range<NodeId>)> {
        match &self.nodes[node as usize] {
            Node::Group(_) => None,
            Node::Inner(cut, first) => Some((cut, *first..first + cut.boundaries.len() as NodeId + 1)),
        }
    }

    /// The groups below a node, in order.
    pub fn groups_below(&self, node: NodeId) -> Vec<NodeId> {
        let (mut open, mut groups) = (vec![node], vec![]);
        while let Some(node) = open.pop() {
            match self.cut(node) {
                None => groups.push(node),
                Some((_, children)) => open.extend(children.rev()),
            }
        }
        groups
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
}
