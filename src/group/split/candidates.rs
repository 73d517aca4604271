//! Which cut of this column is safe, and best?
//!
//! Nearly all cuts of a small node are refused because one of their parts alone is unsafe. So the lower part is grown
//! from one end and the upper part from the other until they may be safe: what a growing part already contains says how
//! many people it needs at least, and the cuts in between are skipped. Of the remaining cuts the best few are tried
//! first; only if all of them fail is every cut tried, in one sweep over the triples. Removing people from a part may
//! make it safe or unsafe, so nothing is concluded from a part that shrinks.

use super::propose::ProposedCut;
use super::rank::{CutOrder, RankedCut, Spread, Standing};
use super::triples::Triple;
use crate::encode::column::Splitting;
use crate::encode::group_counts::{GroupCounts, GrowingPart};
use crate::encode::rows::People;
use crate::group::tree::Cut;
use crate::model::split::{Scratch, SplitTest};
use std::cmp::Ordering;

/// This many of the best cuts are tried one by one before all are tried in a sweep.
const TRIED_FIRST: usize = 3;

/// The cuts of one column of one node.
#[derive(Debug, Clone, Copy)]
pub struct Candidates<'a> {
    /// Which column.
    pub number: usize,
    /// How its people are spread.
    pub spread: Spread<'a>,
    /// The node's counts in that column, in the order of codes.
    pub triples: &'a [Triple],
    /// The number of the first triple of each run.
    pub first_triples: &'a [usize],
    /// The counts of the whole node.
    pub total: &'a GroupCounts,
    /// How people are counted.
    pub people: People,
}

/// Memory that is reused from one column to the next.
#[derive(Debug, Default)]
pub struct SweepRoom {
    lower: GrowingPart,
    upper: GrowingPart,
    scratch: Scratch,
}

/// Which part of a cut grows from cut to cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Cuts are asked about in ascending order.
    Lower,
    /// Cuts are asked about in descending order.
    Upper,
}

/// A part that grows from cut to cut.
struct GrowingSide<'a> {
    candidates: &'a Candidates<'a>,
    criterion: &'a dyn SplitTest,
    side: Side,
    part: &'a mut GrowingPart,
    /// The triples that the part contains end, or begin, here.
    edge: usize,
    /// No part that contains this one and has fewer people is admitted.
    least: u64,
}

impl GrowingSide<'_> {
    /// Whether the part of this cut is not refused for what it is.
    fn may_hold(&mut self, start: usize, scratch: &mut Scratch) -> bool {
        let candidates = self.candidates;
        let below = candidates.spread.runs[start].people_below;
        let (people, edge) = match self.side {
            Side::Lower => (below, candidates.first_triples[start]),
            Side::Upper => (candidates.total.people - below, candidates.first_triples[start]),
        };
        if people < self.least {
            return false;
        }
        let more = match self.side {
            Side::Lower => self.edge..edge,
            Side::Upper => edge..self.edge,
        };
        self.edge = edge;
        let values = candidates.total.counts.len();
        for triple in &candidates.triples[more] {
            if usize::from(triple.value) < values {
                self.part.add_value(triple.value, u64::from(triple.count));
            }
        }
        self.part.add_people(people - self.part.people());
        self.least = self.criterion.least_people_with(self.part, scratch);
        people >= self.least
    }
}

impl Candidates<'_> {
    /// The best cut of this column that the criterion admits, if it is better than `best` of another column.
    pub(super) fn propose(
        &self,
        order: CutOrder,
        criterion: &dyn SplitTest,
        best: Option<Standing>,
        room: &mut SweepRoom,
    ) -> Option<ProposedCut> {
        if self.total.people < 2 * criterion.least_people() {
            return None;
        }
        match &self.spread.column.splitting {
            Splitting::Ordered { .. } => self.propose_ordered(order, criterion, best, room),
            Splitting::Tree(_) => self.propose_parts(order, criterion, best, room),
        }
    }

    fn is_better(&self, rank: super::rank::Rank, best: Option<Standing>) -> bool {
        let own = Standing { rank, column: self.number };
        best.is_none_or(|best| own.cmp(&best) == Ordering::Greater)
    }

    fn people_of(&self, triple: &Triple) -> u64 {
        match self.people {
            People::Valued => u64::from(triple.count),
            People::Listed if usize::from(triple.value) == self.total.counts.len() => u64::from(triple.count),
            People::Listed => 0,
        }
    }

    fn take(&self, triple: &Triple, part: &mut GroupCounts) {
        part.people += self.people_of(triple);
        if let Some(count) = part.counts.get_mut(usize::from(triple.value)) {
            *count += u64::from(triple.count);
        }
    }

    fn give(&self, triple: &Triple, part: &mut GroupCounts) {
        part.people -= self.people_of(triple);
        if let Some(count) = part.counts.get_mut(usize::from(triple.value)) {
            *count -= u64::from(triple.count);
        }
    }

    fn growing<'a>(
        &'a self,
        side: Side,
        criterion: &'a dyn SplitTest,
        part: &'a mut GrowingPart,
    ) -> GrowingSide<'a> {
        part.empty(self.total.counts.len());
        let edge = if side == Side::Lower { 0 } else { self.triples.len() };
        GrowingSide { candidates: self, criterion, side, part, edge, least: criterion.least_people() }
    }

    fn propose_ordered(
        &self,
        order: CutOrder,
        criterion: &dyn SplitTest,
        best: Option<Standing>,
        room: &mut SweepRoom,
    ) -> Option<ProposedCut> {
        let cuts = self.spread.cuts(order, criterion.least_people());
        let mut cuts: Vec<RankedCut> = cuts.filter(|cut| self.is_better(cut.rank, best)).collect();
        let scratch = &mut room.scratch;
        let mut lower = self.growing(Side::Lower, criterion, &mut room.lower);
        let first = cuts.iter().position(|cut| lower.may_hold(cut.start, scratch))?;
        let mut upper = self.growing(Side::Upper, criterion, &mut room.upper);
        let last = cuts[first..].iter().rposition(|cut| upper.may_hold(cut.start, scratch))?;
        cuts.truncate(first + last + 1);
        cuts.drain(..first);
        let mut parts = vec![GroupCounts::default(), GroupCounts::default()];
        for _ in 0..TRIED_FIRST {
            let place = (0..cuts.len()).max_by(|&a, &b| cuts[a].cmp(&cuts[b]))?;
            let cut = cuts.remove(place);
            self.part_at(cut.start, &mut parts);
            if criterion.admits(&parts, scratch) {
                return Some(self.proposal(cut, parts));
            }
        }
        cuts.retain(|cut| lower.may_hold(cut.start, scratch));
        cuts.reverse();
        cuts.retain(|cut| upper.may_hold(cut.start, scratch));
        cuts.reverse();
        let cut = self.sweep(&cuts, &mut parts, criterion, scratch)?;
        self.part_at(cut.start, &mut parts);
        Some(self.proposal(cut, parts))
    }

    /// Tries all `cuts` in code order and returns the best one that is admitted.
    fn sweep(
        &self,
        cuts: &[RankedCut],
        parts: &mut [GroupCounts],
        criterion: &dyn SplitTest,
        scratch: &mut Scratch,
    ) -> Option<RankedCut> {
        if cuts.is_empty() {
            return None;
        }
        self.part_at(0, parts);
        let mut done = 0;
        let mut best: Option<RankedCut> = None;
        for cut in cuts {
            let end = self.first_triples[cut.start];
            for triple in &self.triples[done..end] {
                self.take(triple, &mut parts[0]);
                self.give(triple, &mut parts[1]);
            }
            done = end;
            let promising = best.is_none_or(|best| cut.cmp(&best) == Ordering::Greater);
            if promising && criterion.admits(parts, scratch) {
                best = Some(*cut);
            }
        }
        best
    }

    /// Sets `parts` to the counts below and from run number `start`.
    fn part_at(&self, start: usize, parts: &mut [GroupCounts]) {
        let mut below = GroupCounts::none(self.total.counts.len());
        for triple in &self.triples[..self.first_triples[start]] {
            self.take(triple, &mut below);
        }
        let counts = self.total.counts.iter().zip(&below.counts).map(|(all, below)| all - below);
        parts[1] = GroupCounts { people: self.total.people - below.people, counts: counts.collect() };
        parts[0] = below;
    }

    fn proposal(&self, cut: RankedCut, parts: Vec<GroupCounts>) -> ProposedCut {
        let runs = self.spread.runs;
        let boundary = self.spread.column.boundary(runs[cut.start - 1].code, runs[cut.start].code);
        let standing = Standing { rank: cut.rank, column: self.number };
        ProposedCut { cut: Cut { column: self.number, boundaries: [boundary].into() }, parts, standing }
    }

    /// The one cut of a hierarchy: every child with people becomes a part.
    fn propose_parts(
        &self,
        order: CutOrder,
        criterion: &dyn SplitTest,
        best: Option<Standing>,
        room: &mut SweepRoom,
    ) -> Option<ProposedCut> {
        let (starts, boundaries) = self.spread.children()?;
        let rank = self.spread.rank(&starts, order);
        if !self.is_better(rank, best) {
            return None;
        }
        let cut = Cut { column: self.number, boundaries };
        let mut parts = vec![GroupCounts::none(self.total.counts.len()); starts.len() + 1];
        for triple in self.triples {
            self.take(triple, &mut parts[cut.part(triple.code)]);
        }
        let standing = Standing { rank, column: self.number };
        criterion.admits(&parts, &mut room.scratch).then_some(ProposedCut { cut, parts, standing })
    }
}
