//! Which cut of this node is safe, and best?
//!
//! Cuts are compared only by their [`CutStanding`], and the best one that the criterion admits is proposed.

use super::candidates::{Candidates, SweepRoom};
use super::count::{CountRows, Counted};
use super::frontier::OpenNode;
use super::join::judge_parts;
use super::plan::SplitPlan;
use super::rank::CutStanding;
use super::triples::Counter;
use crate::encode::group_counts::Part;
use crate::encode::rows::Rows;
use crate::group::tree::Cut;
use crate::math::beliefs::group::Passes;
use crate::model::split::SplitTest;
use rayon::prelude::*;
use std::cmp::Ordering;

/// A cut that the criterion admits, with the counts that its parts would publish.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedCut {
    /// The cut.
    pub cut: Cut,
    /// Its parts, in order.
    pub parts: Vec<Part>,
    pub(super) standing: CutStanding,
}

impl ProposedCut {
    /// The better of the two; on a tie, the one of the earlier column.
    pub fn better(self, other: ProposedCut) -> ProposedCut {
        match self.preference(&other) {
            Ordering::Less => other,
            _ => self,
        }
    }

    /// Compares two cuts; the better one is the greater.
    pub fn preference(&self, other: &ProposedCut) -> Ordering {
        self.standing.cmp(&other.standing)
    }
}

/// A cut, and whether each of its parts may be a group judged by its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedCut {
    /// The cut.
    pub proposal: ProposedCut,
    /// For each part; empty if rows are not judged.
    pub passes: Vec<Passes>,
}

impl JudgedCut {
    fn unjudged(proposal: ProposedCut) -> Self {
        JudgedCut { proposal, passes: Vec::new() }
    }

    /// The one with the better proposal.
    pub(super) fn better(self, other: JudgedCut) -> JudgedCut {
        match self.proposal.preference(&other.proposal) {
            Ordering::Less => other,
            _ => self,
        }
    }
}

/// Memory that is reused from one node to the next.
#[derive(Debug, Default)]
pub(super) struct ProposalRoom {
    pub(super) counter: Counter,
    pub(super) sweep: SweepRoom,
    bounds: Vec<CutStanding>,
}

impl SplitPlan<'_> {
    /// The best cut of the node at position `place` in its batch, by the batch's counts.
    ///
    /// A histogram of people bounds the rank of every cut of a column. Columns are tried from the highest bound down,
    /// `at_once` together, until a cut is admitted that beats all remaining bounds.
    pub(super) fn propose<R: CountRows>(
        &self,
        rows: &R,
        counted: Counted<'_, R>,
        criterion: &dyn SplitTest,
        at_once: usize,
        room: &mut ProposalRoom,
    ) -> Option<JudgedCut> {
        let least = criterion.least_people();
        if counted.node.part.people < 2 * least {
            return None;
        }
        let mut bounds = std::mem::take(&mut room.bounds);
        self.bound_columns(rows, counted, least, at_once, (&mut bounds, room));
        let proposal = self.propose_within(rows, counted, criterion, at_once, (&bounds, room));
        room.bounds = bounds;
        proposal
    }

    /// For each column that has a cut into parts of at least `least` people, the best standing of such a cut; the best first.
    fn bound_columns<R: CountRows>(
        &self,
        rows: &R,
        counted: Counted<'_, R>,
        least: u64,
        at_once: usize,
        (bounds, room): (&mut Vec<CutStanding>, &mut ProposalRoom),
    ) {
        let bound = |room: &mut ProposalRoom, column: usize| {
            let spread = rows.spread(counted, column, &mut room.counter);
            spread.best(self.order, least, least).map(|rank| CutStanding { rank, column })
        };
        let columns = 0..self.columns.len();
        bounds.clear();
        match at_once {
            0 | 1 => bounds.extend(columns.filter_map(|column| bound(room, column))),
            _ => bounds.par_extend(columns.into_par_iter().map_init(ProposalRoom::default, bound).flatten()),
        }
        bounds.sort_unstable_by(|one, other| other.cmp(one));
    }

    /// The best cut of the node, by the best standing of each column.
    fn propose_within<R: CountRows>(
        &self,
        rows: &R,
        counted: Counted<'_, R>,
        criterion: &dyn SplitTest,
        at_once: usize,
        (bounds, room): (&[CutStanding], &mut ProposalRoom),
    ) -> Option<JudgedCut> {
        let propose = |room: &mut ProposalRoom, bound: &CutStanding, best: Option<CutStanding>| {
            self.propose_column(rows, counted, criterion, bound.column, best, room)
        };
        if let Some(rows) = rows.in_memory().filter(|_| criterion.asks_for_rows()) {
            let mut proposals = on_columns(bounds, at_once, room, &|room, bound| propose(room, bound, None));
            proposals.sort_by(|a, b| b.preference(a));
            return first_that_passes(rows, counted.node, proposals, criterion);
        }
        if let Some(furthest) = self.look_ahead(rows, counted, criterion, bounds, room) {
            return Some(JudgedCut::unjudged(furthest));
        }
        let mut best: Option<ProposedCut> = None;
        for next in bounds.chunks(at_once.max(1)) {
            let standing = best.as_ref().map(|best| best.standing);
            if standing.is_some_and(|best| best.cmp(&next[0]) == Ordering::Greater) {
                break;
            }
            let proposal = match next {
                [bound] => propose(room, bound, standing),
                several => {
                    let proposals =
                        on_columns(several, at_once, room, &|room, bound| propose(room, bound, standing));
                    proposals.into_iter().reduce(ProposedCut::better)
                }
            };
            best = match (best, proposal) {
                (Some(best), Some(proposal)) => Some(best.better(proposal)),
                (best, proposal) => best.or(proposal),
            };
        }
        best.map(JudgedCut::unjudged)
    }

    /// The best cut of one column, if it is better than `best` of another column.
    pub(super) fn propose_column<R: CountRows>(
        &self,
        rows: &R,
        counted: Counted<'_, R>,
        criterion: &dyn SplitTest,
        number: usize,
        best: Option<CutStanding>,
        room: &mut ProposalRoom,
    ) -> Option<ProposedCut> {
        let counts = rows.column(counted, number, &mut room.counter);
        let candidates = Candidates::of(&counts, number, &counted.node.part);
        let proposal = candidates.propose(self.order, criterion, best, &mut room.sweep)?;
        Some(ProposedCut { cut: counts.cut_of_codes(proposal.cut), ..proposal })
    }
}

/// Asks about several columns, in parallel if more than one are asked about at once.
fn on_columns(
    columns: &[CutStanding],
    at_once: usize,
    room: &mut ProposalRoom,
    propose: &(impl Fn(&mut ProposalRoom, &CutStanding) -> Option<ProposedCut> + Sync),
) -> Vec<ProposedCut> {
    match at_once {
        0 | 1 => columns.iter().filter_map(|column| propose(room, column)).collect(),
        _ => columns.par_iter().map_init(ProposalRoom::default, propose).flatten().collect(),
    }
}

/// The first cut whose parts all pass; otherwise, the first cut for which this cannot be decided; and if people may be left
/// out and the node does not pass itself, the first cut, which separates people for whom there is no group from the others.
fn first_that_passes(
    rows: &Rows,
    node: &OpenNode,
    proposals: Vec<ProposedCut>,
    criterion: &dyn SplitTest,
) -> Option<JudgedCut> {
    let (mut perhaps, mut fails) = (None, None);
    for proposal in proposals {
        let passes = judge_parts(rows, node, &proposal, criterion);
        match passes.iter().fold(Passes::Yes, |all, part| all.and(*part)) {
            Passes::Yes => return Some(JudgedCut { proposal, passes }),
            Passes::Unknown if perhaps.is_none() => perhaps = Some(JudgedCut { proposal, passes }),
            Passes::No if fails.is_none() => fails = Some(JudgedCut { proposal, passes }),
            _ => {}
        }
    }
    let separates = criterion.suppress().is_some() && node.passes != Passes::Yes;
    perhaps.or(fails.filter(|_| separates))
}
