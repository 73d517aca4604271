//! Which cut of this node is safe, and best?
//!
//! Cuts are compared only by their [`Rank`], and the best one that the criterion admits is proposed. The best few are
//! tried first; only if all of them fail is every cut tried, in one sweep over the triples.

use super::count::CountRows;
use super::frontier::OpenNode;
use super::join::judge_parts;
use super::packed::Packed;
use super::plan::SplitPlan;
use super::triples::{Counter, Triple};
use crate::encode::column::{Column, Splitting};
use crate::encode::group_counts::GroupCounts;
use crate::encode::rows::{People, Rows};
use crate::group::tree::Cut;
use crate::math::beliefs::group::Passes;
use crate::model::split::{Scratch, SplitTest};
use rayon::prelude::*;
use std::cmp::Ordering;

/// In which order safe cuts are preferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutOrder {
    /// The widest column, cut nearest to its median.
    Mondrian,
    /// The cut that most reduces the certainty penalty of the column that it cuts.
    Gain,
}

/// How good a cut is; greater is better.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rank {
    major: f64,
    minor: f64,
}

impl Rank {
    fn cmp(&self, other: &Rank) -> Ordering {
        self.major.total_cmp(&other.major).then(self.minor.total_cmp(&other.minor))
    }
}

/// A cut that the criterion admits, with the counts that its parts would publish.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedCut {
    /// The cut.
    pub cut: Cut,
    /// Its parts, in order.
    pub parts: Vec<GroupCounts>,
    rank: Rank,
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
        self.rank.cmp(&other.rank).then(other.cut.column.cmp(&self.cut.column))
    }
}

/// A cut, and whether each of its parts may be a group judged by its rows; always true if rows are not judged.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedCut {
    /// The cut.
    pub proposal: ProposedCut,
    /// For each part.
    pub passes: Vec<Passes>,
}

impl JudgedCut {
    fn unjudged(proposal: ProposedCut) -> Self {
        let passes = vec![Passes::Yes; proposal.parts.len()];
        JudgedCut { proposal, passes }
    }

    /// The one with the better proposal.
    pub(super) fn better(self, other: JudgedCut) -> JudgedCut {
        match self.proposal.preference(&other.proposal) {
            Ordering::Less => other,
            _ => self,
        }
    }
}

/// A cut whose parts are packed until it is committed.
pub(super) struct WaitingCut {
    judged: JudgedCut,
    parts: Vec<Packed>,
}

impl WaitingCut {
    pub(super) fn new(mut judged: JudgedCut) -> Self {
        let parts = std::mem::take(&mut judged.proposal.parts).into_iter().map(Packed::new).collect();
        WaitingCut { judged, parts }
    }

    pub(super) fn resume(self) -> JudgedCut {
        let mut judged = self.judged;
        judged.proposal.parts = self.parts.into_iter().map(Packed::unpack).collect();
        judged
    }
}

impl SplitPlan<'_> {
    /// The best cut of the node at position `place` in its batch, by the batch's counts.
    pub(super) fn propose<R: CountRows>(
        &self,
        rows: &R,
        counts: &R::Counts,
        place: usize,
        node: &OpenNode,
        criterion: &dyn SplitTest,
    ) -> Option<JudgedCut> {
        if node.part.people() < 2 * criterion.least_people() {
            return None;
        }
        let (total, people) = (node.part.clone().unpack(), rows.people());
        let of_column = |counter: &mut Counter, number: usize| {
            let counted = rows.column(counts, place, node, number, counter);
            let (column, triples) = (counted.column, counted.triples);
            let candidates = Candidates { number, column, triples, total: &total, people };
            let proposal = candidates.propose(self.order, criterion)?;
            Some(ProposedCut { cut: counted.cut_of_codes(proposal.cut), ..proposal })
        };
        let proposals =
            (0..self.columns.len()).into_par_iter().map_init(Counter::default, of_column).flatten();
        match rows.in_memory() {
            Some(rows) if criterion.asks_for_rows() => {
                let mut proposals: Vec<ProposedCut> = proposals.collect();
                proposals.sort_by(|a, b| b.preference(a));
                first_that_passes(rows, node, proposals, criterion)
            }
            _ => proposals.reduce_with(ProposedCut::better).map(JudgedCut::unjudged),
        }
    }
}

/// The first cut whose parts all pass; otherwise, the first cut for which this cannot be decided.
fn first_that_passes(
    rows: &Rows,
    node: &OpenNode,
    proposals: Vec<ProposedCut>,
    criterion: &dyn SplitTest,
) -> Option<JudgedCut> {
    let mut perhaps = None;
    for proposal in proposals {
        let passes = judge_parts(rows, node, &proposal, criterion);
        match passes.iter().fold(Passes::Yes, |all, part| all.and(*part)) {
            Passes::Yes => return Some(JudgedCut { proposal, passes }),
            Passes::Unknown if perhaps.is_none() => perhaps = Some(JudgedCut { proposal, passes }),
            _ => {}
        }
    }
    perhaps
}

/// This many of the best cuts are tried one by one before all are tried in a sweep.
const TRIED_FIRST: usize = 3;

/// The cuts of one column of one node.
#[derive(Debug, Clone, Copy)]
pub struct Candidates<'a> {
    /// Which column.
    pub number: usize,
    /// Its cuts and widths.
    pub column: &'a Column,
    /// The node's counts in that column.
    pub triples: &'a [Triple],
    /// The counts of the whole node.
    pub total: &'a GroupCounts,
    /// How people are counted.
    pub people: People,
}

/// The triples of one attribute value.
struct Run {
    code: u32,
    first_triple: usize,
    people_below: u64,
}

impl Candidates<'_> {
    /// The best cut of this column that the criterion admits.
    pub fn propose(&self, order: CutOrder, criterion: &dyn SplitTest) -> Option<ProposedCut> {
        if self.total.people < 2 * criterion.least_people() {
            return None;
        }
        let runs = self.runs();
        match &self.column.splitting {
            Splitting::Ordered => self.propose_ordered(&runs, order, criterion),
            Splitting::Tree(tree) => {
                let (first, last) = (runs.first()?, runs.last()?);
                let cover = tree.smallest_cover((first.code, last.code));
                let boundaries: Vec<u32> = tree.boundaries(cover).collect();
                self.propose_parts(&runs, &boundaries, order, criterion)
            }
        }
    }

    fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut people = 0;
        for (i, triple) in self.triples.iter().enumerate() {
            if runs.last().is_none_or(|run| run.code != u32::from(triple.code)) {
                runs.push(Run { code: u32::from(triple.code), first_triple: i, people_below: people });
            }
            people += self.people_of(triple);
        }
        runs
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

    /// The rank of splitting `runs` before each of the run numbers in `starts`.
    fn rank(&self, runs: &[Run], starts: &[usize], order: CutOrder) -> Rank {
        let people = self.total.people;
        let width =
            |from: usize, to: usize| self.column.width_of((runs[from].code, runs[to - 1].code), to - from);
        let whole = width(0, runs.len());
        let bounds = || starts.iter().copied().chain([runs.len()]);
        let people_to = |to: usize| runs.get(to).map_or(people, |run| run.people_below);
        let mut from = 0;
        let (mut penalty, mut largest) = (0.0, 0);
        for to in bounds() {
            let size = people_to(to) - runs[from].people_below;
            penalty += size as f64 * width(from, to);
            largest = largest.max(size);
            from = to;
        }
        let imbalance = largest as f64 - people as f64 / 2.0;
        match order {
            CutOrder::Mondrian => Rank { major: whole, minor: -imbalance },
            CutOrder::Gain => Rank { major: people as f64 * whole - penalty, minor: -imbalance },
        }
    }

    fn propose_ordered(
        &self,
        runs: &[Run],
        order: CutOrder,
        criterion: &dyn SplitTest,
    ) -> Option<ProposedCut> {
        let (people, least) = (self.total.people, criterion.least_people());
        let large_enough = |run: &Run| run.people_below >= least && people - run.people_below >= least;
        let mut cuts: Vec<(usize, Rank)> = (1..runs.len())
            .filter(|&start| large_enough(&runs[start]))
            .map(|start| (start, self.rank(runs, &[start], order)))
            .collect();
        let better = |a: &(usize, Rank), b: &(usize, Rank)| b.1.cmp(&a.1).then(a.0.cmp(&b.0));
        let mut parts = vec![GroupCounts::default(), GroupCounts::default()];
        let mut room = Scratch::default();
        for tried in 0..TRIED_FIRST.min(cuts.len()) {
            let best = (tried..cuts.len()).min_by(|&a, &b| better(&cuts[a], &cuts[b]))?;
            cuts.swap(tried, best);
            let (start, rank) = cuts[tried];
            self.part_at(runs, start, &mut parts);
            if criterion.admits(&parts, &mut room) {
                return Some(self.proposal(runs, start, rank, parts));
            }
        }
        let mut rest = cuts.split_off(TRIED_FIRST.min(cuts.len()));
        rest.sort_unstable_by_key(|&(start, _)| start);
        let (start, rank) = self.sweep(runs, &rest, &mut parts, criterion)?;
        self.part_at(runs, start, &mut parts);
        Some(self.proposal(runs, start, rank, parts))
    }

    /// Tries all `cuts` in code order and returns the best one that is admitted.
    fn sweep(
        &self,
        runs: &[Run],
        cuts: &[(usize, Rank)],
        parts: &mut [GroupCounts],
        criterion: &dyn SplitTest,
    ) -> Option<(usize, Rank)> {
        self.part_at(runs, 0, parts);
        let mut room = Scratch::default();
        let mut done = 0;
        let mut best: Option<(usize, Rank)> = None;
        for &(start, rank) in cuts {
            let end = runs[start].first_triple;
            for triple in &self.triples[done..end] {
                self.take(triple, &mut parts[0]);
                self.give(triple, &mut parts[1]);
            }
            done = end;
            let promising = best.is_none_or(|(_, best)| rank.cmp(&best) == Ordering::Greater);
            if promising && criterion.admits(parts, &mut room) {
                best = Some((start, rank));
            }
        }
        best
    }

    /// Sets `parts` to the counts below and from run number `start`.
    fn part_at(&self, runs: &[Run], start: usize, parts: &mut [GroupCounts]) {
        let mut below = GroupCounts { people: 0, counts: vec![0; self.total.counts.len()] };
        for triple in &self.triples[..runs.get(start).map_or(0, |run| run.first_triple)] {
            self.take(triple, &mut below);
        }
        let counts = self.total.counts.iter().zip(&below.counts).map(|(all, below)| all - below);
        parts[1] = GroupCounts { people: self.total.people - below.people, counts: counts.collect() };
        parts[0] = below;
    }

    fn proposal(&self, runs: &[Run], start: usize, rank: Rank, parts: Vec<GroupCounts>) -> ProposedCut {
        let boundaries = [runs[start].code].into();
        ProposedCut { cut: Cut { column: self.number, boundaries }, parts, rank }
    }

    /// The one cut of a hierarchy: every child with people becomes a part.
    fn propose_parts(
        &self,
        runs: &[Run],
        boundaries: &[u32],
        order: CutOrder,
        criterion: &dyn SplitTest,
    ) -> Option<ProposedCut> {
        let mut starts: Vec<usize> = boundaries
            .iter()
            .map(|&boundary| runs.partition_point(|run| run.code < boundary))
            .filter(|&start| start > 0 && start < runs.len())
            .collect();
        starts.dedup();
        if starts.is_empty() {
            return None;
        }
        let child_start = |start: &usize| {
            let code = runs[*start].code;
            boundaries.iter().rev().copied().find(|&boundary| boundary <= code).unwrap_or(code)
        };
        let cut = Cut { column: self.number, boundaries: starts.iter().map(child_start).collect() };
        let empty = GroupCounts { people: 0, counts: vec![0; self.total.counts.len()] };
        let mut parts = vec![empty; starts.len() + 1];
        for triple in self.triples {
            self.take(triple, &mut parts[cut.part(triple.code)]);
        }
        let rank = self.rank(runs, &starts, order);
        criterion.admits(&parts, &mut Scratch::default()).then_some(ProposedCut { cut, parts, rank })
    }
}
