//! Which groups must be joined again, because their rows do not pass?
//!
//! A criterion that judges groups by their rows is applied to every part of the best cut of each column, with the
//! columns in the order of preference. A cut with a part that fails is not made. A cut with a part for which this
//! cannot be decided is made only if no other cut has only parts that pass, in the hope that smaller parts will pass.
//! In the end, a group that does not pass is joined with its siblings, up to the lowest node that passes as one group.
//! So every group passes; nothing is claimed about whether smaller groups would.

use super::frontier::OpenNode;
use super::leaf::rows_of_parts;
use super::propose::ProposedCut;
use crate::encode::rows::Rows;
use crate::group::tree::{CutTree, NodeId};
use crate::math::beliefs::group::Passes;
use crate::model::split::{Effort, SplitTest};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Whether a node may be a group, judged by its rows, with full effort.
pub(super) fn settle(rows: &Rows, node: &OpenNode, criterion: &dyn SplitTest) -> Passes {
    let of: Vec<u32> = node.rows.clone().map(|row| row as u32).collect();
    criterion.judge(rows, &of, &node.part, Effort::Settle)
}

/// Whether each part of a cut may be a group, judged by its rows; after the first that fails, the others stay unknown.
pub(super) fn judge_parts(
    rows: &Rows,
    node: &OpenNode,
    proposal: &ProposedCut,
    criterion: &dyn SplitTest,
) -> Vec<Passes> {
    let of_parts = rows_of_parts(rows, node, &proposal.cut, proposal.parts.len());
    let mut passes = vec![Passes::Unknown; of_parts.len()];
    // Small parts are judged faster and fail more often.
    let mut order: Vec<usize> = (0..of_parts.len()).collect();
    order.sort_by_key(|&part| of_parts[part].len());
    for part in order {
        passes[part] = criterion.judge(rows, &of_parts[part], &proposal.parts[part], Effort::Try);
        if passes[part] == Passes::No {
            break;
        }
    }
    passes
}

/// Joins leaves that do not pass with their siblings, from the leaves upwards. Returns the nodes that become groups, or
/// `None` if not even their common root passes. `inner` are the nodes that were split, parents before children.
pub(super) fn join(
    rows: &Rows,
    leaves: Vec<OpenNode>,
    inner: Vec<OpenNode>,
    tree: &mut CutTree,
    criterion: &dyn SplitTest,
) -> Option<Vec<OpenNode>> {
    let passes = |node: &OpenNode| node.passes == Passes::Yes || settle(rows, node, criterion) == Passes::Yes;
    let passing: Vec<bool> = leaves.par_iter().map(passes).collect();
    let mut failing: BTreeSet<NodeId> = BTreeSet::new();
    let mut kept: BTreeMap<NodeId, OpenNode> = BTreeMap::new();
    for (leaf, passes) in leaves.into_iter().zip(passing) {
        if !passes {
            failing.insert(leaf.id);
        }
        kept.insert(leaf.id, leaf);
    }
    for node in inner.into_iter().rev() {
        let children = tree.children(node.id).unwrap_or(0..0);
        if children.clone().all(|child| !failing.contains(&child)) {
            continue;
        }
        for group in tree.groups_below(node.id) {
            failing.remove(&group);
            kept.remove(&group);
        }
        tree.join(node.id);
        if !passes(&node) {
            failing.insert(node.id);
        }
        kept.insert(node.id, node);
    }
    failing.is_empty().then(|| kept.into_values().collect())
}
