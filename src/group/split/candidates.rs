//! Which cut of this column is safe, and best?
//!
//! Nearly all cuts of a small node are refused because one of their parts alone is unsafe. So the lower part is grown
//! from one end and the upper part from the other until they may be safe: what a growing part already contains says how
//! many people it needs at least, and the cuts in between are skipped. Of the remaining cuts the best few are tried
//! first; only if all of them fail is every cut tried, in one sweep over the triples. Removing people from a part may
//! make it safe or unsafe, so nothing is concluded from a part that shrinks.

use super::count::ColumnCounts;
use super::propose::ProposedCut;
use super::rank::{ColumnHistogram, CutOrder, CutStanding, RankedCut};
use super::triples::Triple;
use crate::encode::column::Splitting;
use crate::encode::group_counts::{GrowingPart, Part};
use crate::group::tree::Cut;
use crate::model::obstacle::Objection;
use crate::model::split::{Scratch, SplitTest};
use std::cmp::Ordering;
use std::ops::Range;

/// This many of the best cuts are tried one by one before all are tried in a sweep.
const TRIED_FIRST: usize = 3;

/// The cuts of one column of one node.
#[derive(Debug, Clone, Copy)]
pub struct Candidates<'a> {
    /// Which column.
    pub number: usize,
    /// How its people are spread.
    pub spread: ColumnHistogram<'a>,
    /// The node's counts in that column, in the order of codes.
    pub triples: &'a [Triple],
    /// The number of the first triple of each run.
    pub first_triples: &'a [usize],
    /// The counts of the whole node.
    pub total: &'a Part,
}

/// Memory that is reused from one column to the next.
#[derive(Debug, Default)]
pub struct SweepRoom {
    lower: GrowingPart,
    upper: GrowingPart,
    swept: GrowingPart,
    cuts: Vec<RankedCut>,
    parts: [Part; 2],
    scratch: Scratch,
}

impl SweepRoom {
    /// What tests reuse.
    pub(super) fn scratch(&mut self) -> &mut Scratch {
        &mut self.scratch
    }
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
        candidates.take(more, people - self.part.people(), self.part);
        self.least = self.criterion.least_people_with(self.part, scratch);
        people >= self.least
    }
}

impl<'a> Candidates<'a> {
    /// The cuts of column `number` of a node with these counts.
    pub(super) fn of(counts: &ColumnCounts<'a>, number: usize, total: &'a Part) -> Self {
        let spread = ColumnHistogram { column: counts.column, runs: counts.runs, people: total.people };
        Candidates { number, spread, triples: counts.triples, first_triples: counts.first_triples, total }
    }
}

impl Candidates<'_> {
    /// The best cut of this column that the criterion admits, if it is better than `best` of another column.
    pub(super) fn propose(
        &self,
        order: CutOrder,
        criterion: &dyn SplitTest,
        best: Option<CutStanding>,
        room: &mut SweepRoom,
    ) -> Option<ProposedCut> {
        if self.total.people < 2 * criterion.least_people() {
            return None;
        }
        match &self.spread.column.splitting {
            Splitting::Ordered => self.propose_ordered(order, criterion, best, room),
            Splitting::Tree(_) => self.propose_parts(order, criterion, best, room),
        }
    }

    fn is_better(&self, rank: super::rank::Rank, best: Option<CutStanding>) -> bool {
        let own = CutStanding { rank, column: self.number };
        best.is_none_or(|best| own.cmp(&best) == Ordering::Greater)
    }

    /// Adds the values of some triples, which represent this many people, to a part.
    fn take(&self, triples: Range<usize>, people: u64, part: &mut GrowingPart) {
        let values = self.total.values();
        for triple in &self.triples[triples] {
            // One past the last value represents the person.
            if usize::from(triple.value) < values {
                part.add_value(triple.value, u64::from(triple.count));
            }
        }
        part.add_people(people);
    }

    fn growing<'a>(
        &'a self,
        side: Side,
        criterion: &'a dyn SplitTest,
        part: &'a mut GrowingPart,
    ) -> GrowingSide<'a> {
        part.empty(self.total.values());
        let edge = if side == Side::Lower { 0 } else { self.triples.len() };
        GrowingSide { candidates: self, criterion, side, part, edge, least: criterion.least_people() }
    }

    fn propose_ordered(
        &self,
        order: CutOrder,
        criterion: &dyn SplitTest,
        best: Option<CutStanding>,
        room: &mut SweepRoom,
    ) -> Option<ProposedCut> {
        let SweepRoom { lower, upper, swept, cuts, parts, scratch } = room;
        let least = criterion.least_people();
        let ranked = self.spread.cuts(order, least, least);
        cuts.clear();
        cuts.extend(ranked.filter(|cut| self.is_better(cut.rank, best)));
        let mut lower = self.growing(Side::Lower, criterion, lower);
        let first = cuts.iter().position(|cut| lower.may_hold(cut.start, scratch))?;
        let mut upper = self.growing(Side::Upper, criterion, upper);
        let last = cuts[first..].iter().rposition(|cut| upper.may_hold(cut.start, scratch))?;
        cuts.truncate(first + last + 1);
        cuts.drain(..first);
        for _ in 0..TRIED_FIRST {
            let place = (0..cuts.len()).max_by(|&a, &b| cuts[a].cmp(&cuts[b]))?;
            let cut = cuts.remove(place);
            self.parts_at(cut, swept, parts);
            if criterion.admits(parts, scratch) {
                return Some(self.proposal(cut, parts));
            }
        }
        cuts.retain(|cut| lower.may_hold(cut.start, scratch));
        cuts.reverse();
        cuts.retain(|cut| upper.may_hold(cut.start, scratch));
        cuts.reverse();
        let cut = self.sweep(cuts, criterion, swept, parts, scratch)?;
        self.parts_at(cut, swept, parts);
        Some(self.proposal(cut, parts))
    }

    /// Tries all `cuts` in code order and returns the best one that is admitted.
    fn sweep(
        &self,
        cuts: &[RankedCut],
        criterion: &dyn SplitTest,
        lower: &mut GrowingPart,
        parts: &mut [Part; 2],
        scratch: &mut Scratch,
    ) -> Option<RankedCut> {
        lower.empty(self.total.values());
        let mut done = 0;
        let mut best: Option<RankedCut> = None;
        for cut in cuts {
            if best.is_some_and(|best| cut.cmp(&best) != Ordering::Greater) {
                continue;
            }
            self.grow(lower, std::mem::replace(&mut done, cut.start)..cut.start);
            lower.divide(self.total, parts);
            if criterion.admits(parts, scratch) {
                best = Some(*cut);
            }
        }
        best
    }

    /// Adds these runs to a part that contains all lower ones.
    fn grow(&self, lower: &mut GrowingPart, runs: Range<usize>) {
        let triples = self.first_triples[runs.start]..self.first_triples[runs.end];
        self.take(triples, self.spread.runs[runs.end].people_below - lower.people(), lower);
    }

    /// The parts of a cut.
    fn parts_at(&self, cut: RankedCut, lower: &mut GrowingPart, parts: &mut [Part; 2]) {
        lower.empty(self.total.values());
        self.grow(lower, 0..cut.start);
        lower.divide(self.total, parts);
    }

    fn proposal(&self, cut: RankedCut, parts: &[Part]) -> ProposedCut {
        let runs = self.spread.runs;
        let boundary = runs[cut.start].code;
        let standing = CutStanding { rank: cut.rank, column: self.number };
        let cut = Cut { column: self.number, boundaries: [boundary].into() };
        ProposedCut { cut, parts: parts.to_vec(), standing }
    }

    /// The parts before, between and after the runs with these numbers.
    fn parts_between(&self, starts: &[usize], growing: &mut GrowingPart) -> Vec<Part> {
        let mut from = 0;
        let part = |to: usize| {
            let start = std::mem::replace(&mut from, to);
            let triple = |run: usize| self.first_triples.get(run).copied().unwrap_or(self.triples.len());
            growing.empty(self.total.values());
            let people = self.spread.people_to(to) - self.spread.people_to(start);
            self.take(triple(start)..triple(to), people, growing);
            growing.part()
        };
        starts.iter().copied().chain([self.spread.runs.len()]).map(part).collect()
    }

    /// What stands in the way of the best cut whose parts have at least `least` people.
    pub(super) fn objection(
        &self,
        order: CutOrder,
        least: u64,
        criterion: &dyn SplitTest,
        room: &mut SweepRoom,
    ) -> Option<Objection> {
        let SweepRoom { swept, parts, scratch, .. } = room;
        match &self.spread.column.splitting {
            Splitting::Ordered => {
                let ranked = self.spread.cuts(order, least, criterion.least_people());
                self.parts_at(ranked.max_by(RankedCut::cmp)?, swept, parts);
                criterion.objection(parts, scratch)
            }
            Splitting::Tree(_) => {
                let (starts, _) = self.spread.children()?;
                criterion.objection(&self.parts_between(&starts, swept), scratch)
            }
        }
    }

    /// The one cut of a hierarchy: every child with people becomes a part.
    fn propose_parts(
        &self,
        order: CutOrder,
        criterion: &dyn SplitTest,
        best: Option<CutStanding>,
        room: &mut SweepRoom,
    ) -> Option<ProposedCut> {
        let (starts, boundaries) = self.spread.children()?;
        let rank = self.spread.rank(&starts, order, criterion.least_people());
        if !self.is_better(rank, best) {
            return None;
        }
        let cut = Cut { column: self.number, boundaries };
        let parts = self.parts_between(&starts, &mut room.swept);
        let standing = CutStanding { rank, column: self.number };
        criterion.admits(&parts, &mut room.scratch).then_some(ProposedCut { cut, parts, standing })
    }
}
