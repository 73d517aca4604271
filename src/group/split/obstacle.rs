//! What refuses the best cut of a finished node?
//!
//! The best cut is the one of the highest rank that leaves enough people on either side, whether or not it is safe.
//! Memory: that of a proposal.

use super::candidates::Candidates;
use super::count::{CountRows, Counted};
use super::frontier::OpenNode;
use super::plan::SplitPlan;
use super::propose::ProposalRoom;
use super::rank::CutStanding;
use crate::error::Result;
use crate::group::tree::CutTree;
use crate::model::obstacle::{Obstacle, ObstructingRule};
use crate::model::split::SplitTest;
use rayon::prelude::*;

impl SplitPlan<'_> {
    /// Finds out what refuses the best cut of every leaf. Rows on pages are counted once more, in coarse bins.
    pub(super) fn find_obstacles<R: CountRows>(
        &self,
        rows: &R,
        tree: &CutTree,
        leaves: &mut [OpenNode],
        criterion: &dyn SplitTest,
    ) -> Result<()> {
        for leaves in leaves.chunks_mut(rows.nodes_at_once().max(1)) {
            let counts = rows.count(tree, leaves)?;
            let find = |room: &mut ProposalRoom, (place, node)| {
                self.obstacle(rows, Counted { counts: &counts, place, node }, criterion, room)
            };
            let found: Vec<Obstacle> =
                leaves.par_iter().enumerate().map_init(ProposalRoom::default, find).collect();
            leaves.iter_mut().zip(found).for_each(|(leaf, found)| leaf.obstacle = Some(found));
        }
        Ok(())
    }

    fn obstacle<R: CountRows>(
        &self,
        rows: &R,
        counted: Counted<'_, R>,
        criterion: &dyn SplitTest,
        room: &mut ProposalRoom,
    ) -> Obstacle {
        let mut rule = ObstructingRule::NothingToCut;
        let mut best: Option<CutStanding> = None;
        for column in 0..self.columns.len() {
            let spread = rows.spread(counted, column, &mut room.counter);
            if spread.runs.len() > 1 && rule == ObstructingRule::NothingToCut {
                rule = ObstructingRule::People;
            }
            let own = spread
                .best(self.order, self.least_people, criterion.least_people())
                .map(|rank| CutStanding { rank, column });
            best = match (best, own) {
                (Some(best), Some(own)) if own.cmp(&best).is_gt() => Some(own),
                (best, own) => best.or(own),
            };
        }
        let of_size = Obstacle { target: 0, rule };
        let Some(best) = best else { return of_size };
        let ProposalRoom { counter, sweep, .. } = room;
        let counts = rows.column(counted, best.column, counter);
        let candidates = Candidates::of(&counts, best.column, &counted.node.part);
        let objection = candidates.objection(self.order, self.least_people, criterion, sweep);
        let unnamed = Obstacle { target: 0, rule: ObstructingRule::Adversary };
        objection.map_or(unnamed, |objection| objection.obstacle)
    }
}
