//! Which groups does a node fall into whose rows are all in memory?

use super::frontier::OpenNode;
use super::join::{join, settle};
use super::plan::{SplitNodes, SplitPlan};
use super::rows::InMemory;
use crate::error::Result;
use crate::group::tree::{CutTree, NodeId};
use crate::model::split::SplitTest;

/// A node that was split for as long as that was safe.
#[derive(Debug)]
pub struct Subtree {
    /// Its cuts; the node is their root.
    pub tree: CutTree,
    /// The nodes that become groups, in tree order.
    pub leaves: Vec<OpenNode>,
}

impl SplitPlan<'_> {
    /// Splits a node that has all these rows; `None` if the criterion judges rows and neither any cut of the node nor
    /// the node as a whole passes.
    pub fn finish(
        &self,
        rows: &mut InMemory<'_>,
        root: OpenNode,
        criterion: &mut dyn SplitTest,
    ) -> Result<Option<Subtree>> {
        let mut root = OpenNode { id: CutTree::ROOT, rows: 0..rows.rows.len(), ..root };
        let mut tree = CutTree::default();
        if criterion.asks_for_rows() {
            root.passes = settle(&rows.rows, &root, &*criterion);
        }
        let SplitNodes { mut leaves, inner, .. } = self.split(rows, root, &mut tree, criterion)?;
        if criterion.asks_for_rows() {
            match join(&rows.rows, leaves, inner, &mut tree, &*criterion) {
                Some(joined) => leaves = joined,
                None => return Ok(None),
            }
        }
        self.find_obstacles(rows, &tree, &mut leaves, &*criterion)?;
        let place: hashbrown::HashMap<NodeId, usize, foldhash::fast::FixedState> = tree
            .groups_below(CutTree::ROOT)
            .into_iter()
            .enumerate()
            .map(|(place, node)| (node, place))
            .collect();
        leaves.sort_unstable_by_key(|node| place[&node.id]);
        Ok(Some(Subtree { tree, leaves }))
    }
}
