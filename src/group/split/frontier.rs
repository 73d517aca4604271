//! What next? Which nodes are open, and in which order are they decided?
//!
//! Level by level, and within a level in the order in which the nodes were created. A batch is a part of one level, so
//! the order of decisions does not depend on how many nodes can be counted at once.
//! Memory: the nodes of two levels; their counts take at most 16 bytes per sensitive value of their rows.

use crate::encode::column::Column;
use crate::encode::group_counts::{GroupCounts, Part};
use crate::group::tree::{CutTree, NodeId};
use crate::math::beliefs::group::Passes;
use crate::model::obstacle::Obstacle;
use std::ops::Range;

/// A node that may still be split.
#[derive(Debug, Clone)]
pub struct OpenNode {
    /// Its position in the tree of cuts.
    pub id: NodeId,
    /// The codes between the cuts, per column.
    pub extent: Vec<Range<u32>>,
    /// The counts that it would publish as a group.
    pub part: Part,
    /// Its rows if they are in memory; empty if they are on pages.
    pub rows: Range<usize>,
    /// Whether it may be a group, for a criterion that judges rows.
    pub passes: Passes,
    /// What refuses its best cut, once it is a leaf.
    pub obstacle: Option<Obstacle>,
}

impl OpenNode {
    /// The whole table.
    pub fn root(columns: &[Column], whole: &GroupCounts) -> Self {
        let extent = columns.iter().map(|column| 0..column.codes).collect();
        let part = Part::of(whole);
        OpenNode { id: CutTree::ROOT, extent, part, rows: 0..0, passes: Passes::Yes, obstacle: None }
    }
}

/// The open nodes.
#[derive(Debug, Default)]
pub struct Frontier {
    level: std::vec::IntoIter<OpenNode>,
    next: Vec<OpenNode>,
}

impl Frontier {
    /// Adds a node of the next level.
    pub fn push(&mut self, node: OpenNode) {
        self.next.push(node);
    }

    /// The next nodes to decide, at least one and at most `most`; none if no node is open.
    pub fn batch(&mut self, most: usize) -> Vec<OpenNode> {
        if self.level.len() == 0 {
            self.level = std::mem::take(&mut self.next).into_iter();
        }
        self.level.by_ref().take(most.max(1)).collect()
    }
}
