//! Which groups must be joined again, because their rows do not pass?
//!
//! A criterion that judges groups by their rows is applied to every part of the best cut of each column, with the
//! columns in the order of preference. A cut with a part that fails is not made. A cut with a part for which this
//! cannot be decided is made only if no other cut has only parts that pass, in the hope that smaller parts will pass.
//! In the end, a group that does not pass is joined with its siblings, up to the lowest node that passes as one group.
//! So every group passes; nothing is claimed about whether smaller groups would. If people may be left out, groups that do
//! not pass are left out of the lowest node that neither passes nor has too many such people; to separate them, a node that
//! does not pass is cut even if a part fails.

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

/// The nodes of a subtree that are not split.
#[derive(Debug, Default)]
pub(super) struct JoinedLeaves {
    /// They pass, and become groups.
    pub(super) groups: Vec<OpenNode>,
    /// They do not, and their people are left out.
    pub(super) left_out: Vec<OpenNode>,
}

/// Joins leaves that do not pass with their siblings, from the leaves upwards. Returns the nodes that become groups, or
/// `None` if not even their common root passes and nobody may be left out; whether too many are is for the caller to see.
/// `inner` are the nodes that were split, parents before children.
pub(super) fn join(
    rows: &Rows,
    leaves: Vec<OpenNode>,
    inner: Vec<OpenNode>,
    tree: &mut CutTree,
    criterion: &dyn SplitTest,
) -> Option<JoinedLeaves> {
    let suppress = criterion.suppress();
    let passes = |node: &OpenNode| node.passes == Passes::Yes || settle(rows, node, criterion) == Passes::Yes;
    let passing: Vec<bool> = leaves.par_iter().map(passes).collect();
    // The people of the nodes that do not pass.
    let mut failing: BTreeMap<NodeId, u64> = BTreeMap::new();
    let mut kept: BTreeMap<NodeId, OpenNode> = BTreeMap::new();
    for (leaf, passes) in leaves.into_iter().zip(passing) {
        if !passes {
            failing.insert(leaf.id, leaf.part.people);
        }
        kept.insert(leaf.id, leaf);
    }
    let mut settled: BTreeSet<NodeId> = BTreeSet::new();
    for node in inner.into_iter().rev() {
        if failing.is_empty() {
            break;
        }
        let below = tree.groups_below(node.id);
        let open: Vec<NodeId> = below.iter().copied().filter(|group| failing.contains_key(group)).collect();
        if open.is_empty() {
            continue;
        }
        if let Some(share) = suppress {
            let people = open.iter().filter_map(|group| failing.get(group)).sum();
            if share.allows(people, node.part.people) {
                failing.retain(|group, _| !open.contains(group));
                settled.extend(open);
                continue;
            }
        }
        let passes = passes(&node);
        // If somebody may be left out, the groups below stay as they are until a node passes.
        if !passes && suppress.is_some() {
            continue;
        }
        for group in below {
            failing.remove(&group);
            settled.remove(&group);
            kept.remove(&group);
        }
        tree.join(node.id);
        if !passes {
            failing.insert(node.id, node.part.people);
        }
        kept.insert(node.id, node);
    }
    if suppress.is_none() && !failing.is_empty() {
        return None;
    }
    let mut joined = JoinedLeaves::default();
    for (id, node) in kept {
        let left_out = settled.contains(&id) || failing.contains_key(&id);
        if left_out { joined.left_out.push(node) } else { joined.groups.push(node) }
    }
    Some(joined)
}
