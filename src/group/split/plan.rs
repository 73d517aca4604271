//! The loop that combines the four questions.
//!
//! Proposals for a batch of nodes are computed in parallel against the state of the criterion at the start of the
//! batch, and committed one after the other in node order. A cut that was rejected then is still rejected now, so a
//! node without a proposal is a leaf. Once the state has changed, a proposed cut is judged again, and if it is now rejected,
//! the node makes a new proposal. So the result depends only on the rows, not on the number of threads or the size of a batch.
//!
//! Memory: the nodes of two levels and the leaves, about 100 bytes plus 16 per column and per sensitive
//! value that occurs in each.

use super::count::{CountRows, Counted};
use super::frontier::{Frontier, OpenNode};
use super::leaf::{PlaceRows, children};
use super::lookahead::Lookahead;
use super::propose::{JudgedCut, ProposalRoom};
use super::rank::CutOrder;
use crate::encode::column::Column;
use crate::error::Result;
use crate::group::tree::CutTree;
use crate::model::split::{Scratch, SplitTest};
use rayon::prelude::*;

/// The settings shared by all nodes.
#[derive(Clone, Copy)]
pub struct SplitPlan<'a> {
    /// The quasi-identifiers.
    pub columns: &'a [Column],
    /// Which safe cut is preferred.
    pub order: CutOrder,
    /// The fewest people that the policy allows in a group.
    pub least_people: u64,
    /// How cuts of small nodes are compared, if not by their gain alone.
    pub lookahead: Option<Lookahead<'a>>,
}

/// The outcome for the nodes below a root.
#[derive(Debug, Default)]
pub struct SplitNodes {
    /// Nodes without a safe cut.
    pub leaves: Vec<OpenNode>,
    /// Nodes that were split, parents before children; kept only if the criterion judges rows that are in memory.
    pub inner: Vec<OpenNode>,
    /// Nodes that are not split with this kind of rows.
    pub left: Vec<OpenNode>,
}

impl SplitPlan<'_> {
    /// Splits a node for as long as there is a safe cut.
    pub fn split<R: CountRows + PlaceRows>(
        &self,
        rows: &mut R,
        root: OpenNode,
        tree: &mut CutTree,
        criterion: &mut dyn SplitTest,
    ) -> Result<SplitNodes> {
        let keeps_inner = criterion.asks_for_rows() && rows.in_memory().is_some();
        let (mut frontier, mut split, mut scratch) =
            (Frontier::default(), SplitNodes::default(), Scratch::default());
        let (threads, mut room) = (rayon::current_num_threads(), ProposalRoom::default());
        open(rows, root, &mut frontier, &mut split.left);
        loop {
            // What next?
            let batch = frontier.batch(rows.nodes_at_once());
            if batch.is_empty() {
                return Ok(split);
            }
            // How many?
            let counts = rows.count(tree, &batch)?;
            // Which cut?
            // Columns are worth a thread each only while there are fewer nodes than threads.
            let at_once = threads.div_ceil(batch.len());
            let propose = |room: &mut ProposalRoom, (place, node)| {
                let counted = Counted { counts: &counts, place, node };
                self.propose(&*rows, counted, &*criterion, at_once, room)
            };
            let proposals: Vec<Option<JudgedCut>> =
                batch.par_iter().enumerate().map_init(ProposalRoom::default, propose).collect();
            let mut as_proposed = true;
            for (place, (node, proposal)) in batch.into_iter().zip(proposals).enumerate() {
                let fresh = match proposal {
                    Some(stale) if !as_proposed && !criterion.admits(&stale.proposal.parts, &mut scratch) => {
                        let counted = Counted { counts: &counts, place, node: &node };
                        self.propose(rows, counted, &*criterion, threads, &mut room)
                    }
                    fresh => fresh,
                };
                let chosen = match fresh {
                    None => self.propose_finely(rows, tree, &node, &*criterion, &mut room)?,
                    fresh => fresh,
                };
                // Which leaf?
                match chosen {
                    None => split.leaves.push(node),
                    Some(chosen) => {
                        as_proposed &= !criterion.accept(&chosen.proposal.parts);
                        split.inner.extend(keeps_inner.then(|| node.clone()));
                        for child in children(node, chosen, tree, rows) {
                            open(rows, child, &mut frontier, &mut split.left);
                        }
                    }
                }
            }
            rows.move_rows();
            rows.keep(counts);
        }
    }

    /// Tries the cuts of a node that has no coarse cut, column by column.
    fn propose_finely<R: CountRows>(
        &self,
        rows: &R,
        tree: &CutTree,
        node: &OpenNode,
        criterion: &dyn SplitTest,
        room: &mut ProposalRoom,
    ) -> Result<Option<JudgedCut>> {
        let mut best: Option<JudgedCut> = None;
        for column in 0..self.columns.len() {
            let Some(counts) = rows.count_finely(tree, node, column)? else { return Ok(None) };
            let counted = Counted { counts: &counts, place: 0, node };
            let proposal = self.propose(rows, counted, criterion, 1, room);
            best = match (best, proposal) {
                (Some(best), Some(proposal)) => Some(best.better(proposal)),
                (best, proposal) => best.or(proposal),
            };
        }
        Ok(best)
    }
}

fn open(rows: &impl PlaceRows, node: OpenNode, frontier: &mut Frontier, left: &mut Vec<OpenNode>) {
    match rows.splits(&node) {
        true => frontier.push(node),
        false => left.push(node),
    }
}
