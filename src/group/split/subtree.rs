//! Which groups does a node fall into whose rows are all in memory?

use super::frontier::OpenNode;
use super::grow::group;
use super::join::{JoinedLeaves, join, settle};
use super::plan::{SplitNodes, SplitPlan};
use super::rows::InMemory;
use crate::encode::group_counts::Part;
use crate::encode::rows::Rows;
use crate::error::Result;
use crate::group::groups::Group;
use crate::group::tree::{CutTree, NodeId};
use crate::model::remembering::Remembering;
use crate::model::split::SplitTest;

/// A node that was split for as long as that was safe.
#[derive(Debug)]
pub struct Subtree {
    /// Its cuts; the node is their root.
    pub tree: CutTree,
    /// The nodes that become groups, in tree order.
    pub leaves: Vec<OpenNode>,
    /// The nodes whose people are left out.
    pub left_out: Vec<OpenNode>,
}

/// A node that was grown against what had been accepted at some time.
pub struct GrownNode<'a> {
    /// Its rows; those of each leaf are contiguous.
    pub rows: InMemory<'a>,
    root: OpenNode,
    /// Its cuts and leaves; `None` if the criterion judges rows and neither any cut nor the node as a whole passes.
    pub subtree: Option<Subtree>,
    /// What was accepted in the node and changed what is remembered.
    pub changes: Vec<Part>,
}

impl<'a> SplitPlan<'a> {
    /// Splits a node that has all these rows for as long as that is safe together with what `accepted` remembers.
    ///
    /// The outcome is a function of the arguments: the same on any thread and any machine.
    pub fn grow(&self, rows: Rows, root: OpenNode, accepted: &dyn SplitTest) -> Result<GrownNode<'a>> {
        let (mut rows, mut test) = (InMemory::new(self.columns, rows), Remembering::new(accepted.fork()));
        let subtree = self.finish(&mut rows, root.clone(), &mut test)?;
        Ok(GrownNode { rows, root, subtree, changes: test.into_changes() })
    }
}

impl GrownNode<'_> {
    /// At the node's turn, makes it what growing it now would give, and adds what it accepted. `accepted` must remember
    /// everything that the test remembered which the node was grown against.
    ///
    /// If the release is safe with everything accepted now and in the node, the node is already that (mathematics 12);
    /// otherwise it is grown again.
    pub fn commit(&mut self, plan: &SplitPlan<'_>, accepted: &mut Remembering) -> Result<Committed> {
        if accepted.merge(&std::mem::take(&mut self.changes)) {
            return Ok(Committed::AsGrown);
        }
        self.subtree = plan.finish(&mut self.rows, self.root.clone(), accepted)?;
        Ok(Committed::GrownAgain)
    }

    /// The cuts of the node, and its groups in tree order; `None` if there are people whom no group passes.
    pub(super) fn into_groups(self) -> Result<Option<(CutTree, Vec<Group>)>> {
        let Some(Subtree { tree, leaves, .. }) = self.subtree else { return Ok(None) };
        let groups = leaves.into_iter().map(|leaf| group(&self.rows, &tree, leaf)).collect::<Result<_>>()?;
        Ok(Some((tree, groups)))
    }

    /// The counts of the whole node.
    pub fn part(&self) -> &Part {
        &self.root.part
    }
}

/// What became of a node that was grown ahead of its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committed {
    /// It is what growing it at its turn would have given.
    AsGrown,
    /// It had to be grown again.
    GrownAgain,
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
        let mut left_out = Vec::new();
        if criterion.asks_for_rows() {
            match join(&rows.rows, leaves, inner, &mut tree, &*criterion) {
                Some(joined) => JoinedLeaves { groups: leaves, left_out } = joined,
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
        Ok(Some(Subtree { tree, leaves, left_out }))
    }
}
