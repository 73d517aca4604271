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
use crate::group::tree::CutTree;
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

/// The groups of such a node.
#[derive(Debug)]
pub struct NodeGroups {
    /// Its cuts; the node is their root.
    pub tree: CutTree,
    /// In tree order.
    pub groups: Vec<Group>,
    /// The nodes whose people are left out.
    pub left_out: Vec<OpenNode>,
}

impl NodeGroups {
    pub(super) fn of(Subtree { tree, leaves, left_out }: Subtree, rows: &InMemory<'_>) -> Result<Self> {
        let groups = leaves.into_iter().map(|leaf| group(rows, &tree, leaf)).collect::<Result<_>>()?;
        Ok(NodeGroups { tree, groups, left_out })
    }

    /// The bytes that the groups take.
    pub(super) fn bytes(&self) -> u64 {
        self.groups.iter().map(Group::bytes).sum()
    }
}

/// A node that was grown against what had been accepted at some time.
pub struct GrownNode<'a> {
    /// Its rows, in case it must be grown again.
    rows: InMemory<'a>,
    root: OpenNode,
    /// Its groups; `None` if the criterion judges rows and neither any cut nor the node as a whole passes.
    pub groups: Option<NodeGroups>,
    /// What was accepted in the node and changed what is remembered.
    pub changes: Vec<Part>,
}

impl<'a> SplitPlan<'a> {
    /// Splits a node that has all these rows for as long as that is safe together with what `accepted` remembers.
    ///
    /// The outcome is a function of the arguments: the same on any thread and any machine.
    pub fn grow(&self, rows: Rows, root: OpenNode, accepted: Box<dyn SplitTest>) -> Result<GrownNode<'a>> {
        let (rows, mut test) = (InMemory::new(self.columns, rows), Remembering::new(accepted));
        let mut node = GrownNode { rows, root, groups: None, changes: Vec::new() };
        node.grow(self, &mut test)?;
        node.changes = test.into_changes();
        Ok(node)
    }
}

impl GrownNode<'_> {
    /// At the node's turn, adds what it accepted, unless the release is not safe with that and everything accepted now.
    /// `accepted` must remember everything that the test remembered which the node was grown against.
    ///
    /// If it is safe, the node is what growing it now would give (mathematics 12).
    pub fn merge(&mut self, accepted: &mut Remembering) -> bool {
        accepted.merge(&std::mem::take(&mut self.changes))
    }

    /// Grows the node against what is accepted now, and adds what it accepts.
    pub fn grow(&mut self, plan: &SplitPlan<'_>, accepted: &mut Remembering) -> Result<()> {
        let subtree = plan.finish(&mut self.rows, self.root.clone(), accepted)?;
        self.groups = subtree.map(|subtree| NodeGroups::of(subtree, &self.rows)).transpose()?;
        Ok(())
    }
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
        let mut place = vec![0; tree.len()];
        (0u32..).zip(tree.groups_below(CutTree::ROOT)).for_each(|(own, node)| place[node as usize] = own);
        leaves.sort_unstable_by_key(|node| place[node.id as usize]);
        Ok(Some(Subtree { tree, leaves, left_out }))
    }
}
