//! Which of the cuts of a node is preferred?
//!
//! The rank of a cut depends only on how the people are spread over the codes of its column, so a histogram of people is
//! enough to tell how good the best cut of a column can be, before anything is known about sensitive values.

use crate::encode::column::{Column, Splitting, Width};
use std::cmp::Ordering;

/// In which order safe cuts are preferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutOrder {
    /// The widest column, cut nearest to its median.
    Mondrian,
    /// The cut that most reduces the certainty penalty of the column that it cuts.
    Gain,
    /// The same in proportion to how many of the groups of the least size that the node has room for are left.
    GainAndRoom,
}

/// How good a cut is; greater is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rank {
    major: f64,
    minor: f64,
}

impl Rank {
    fn cmp(&self, other: &Rank) -> Ordering {
        self.major.total_cmp(&other.major).then(self.minor.total_cmp(&other.minor))
    }
}

/// The rank of a cut with what decides between equal ranks; greater is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CutStanding {
    pub(super) rank: Rank,
    pub(super) column: usize,
}

impl CutStanding {
    /// Compares two cuts, or bounds of them, of different columns; on a tie, the earlier column is better.
    pub(super) fn cmp(&self, other: &CutStanding) -> Ordering {
        self.rank.cmp(&other.rank).then(other.column.cmp(&self.column))
    }
}

/// A code that occurs in a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The code.
    pub code: u32,
    /// The people with lower codes.
    pub people_below: u64,
}

/// A cut before run number `start`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RankedCut {
    pub(super) start: usize,
    pub(super) rank: Rank,
}

impl RankedCut {
    /// Compares two cuts of the same column; on a tie, the one at the lower code is better.
    pub(super) fn cmp(&self, other: &RankedCut) -> Ordering {
        self.rank.cmp(&other.rank).then(other.start.cmp(&self.start))
    }
}

/// What a cut leads to, for its rank.
#[derive(Debug, Clone, Copy)]
struct CutOutcome {
    /// The certainty penalty of the column.
    penalty: f64,
    /// People in the largest part.
    largest: u64,
    /// Of the groups of the least size that the node has room for, the share that its parts have room for.
    groups_left: f64,
}

fn share(groups: u64, of: u64) -> f64 {
    groups as f64 / of.max(1) as f64
}

/// How the people of a node are spread over the codes of one column.
#[derive(Debug, Clone, Copy)]
pub struct ColumnHistogram<'a> {
    /// The column's cuts and widths.
    pub column: &'a Column,
    /// The codes that occur, ascending.
    pub runs: &'a [Run],
    /// All people of the node.
    pub people: u64,
}

impl ColumnHistogram<'_> {
    fn width(&self, from: usize, to: usize) -> f64 {
        self.column.width_of((self.runs[from].code, self.runs[to - 1].code), to - from)
    }

    /// The width of all codes that occur.
    pub(super) fn whole_width(&self) -> f64 {
        if self.runs.is_empty() { 0.0 } else { self.width(0, self.runs.len()) }
    }

    /// The people in lower runs than this one; all people for the end.
    pub(super) fn people_to(&self, run: usize) -> u64 {
        self.runs.get(run).map_or(self.people, |run| run.people_below)
    }

    fn rank_of(&self, order: CutOrder, whole: f64, cut: CutOutcome) -> Rank {
        let people = self.people as f64;
        let imbalance = cut.largest as f64 - people / 2.0;
        match order {
            CutOrder::Mondrian => Rank { major: whole, minor: -imbalance },
            CutOrder::Gain => Rank { major: people * whole - cut.penalty, minor: -imbalance },
            CutOrder::GainAndRoom => {
                Rank { major: (people * whole - cut.penalty) * cut.groups_left, minor: -imbalance }
            }
        }
    }

    /// The rank of splitting before each of these runs, if no group has fewer than `group` people.
    pub(super) fn rank(&self, starts: &[usize], order: CutOrder, group: u64) -> Rank {
        let mut from = 0;
        let mut outcome = CutOutcome { penalty: 0.0, largest: 0, groups_left: 0.0 };
        let mut groups = 0;
        for to in starts.iter().copied().chain([self.runs.len()]) {
            let size = self.people_to(to) - self.people_to(from);
            outcome.penalty += size as f64 * self.width(from, to);
            outcome.largest = outcome.largest.max(size);
            groups += size / group.max(1);
            from = to;
        }
        outcome.groups_left = share(groups, self.people / group.max(1));
        self.rank_of(order, self.width(0, self.runs.len()), outcome)
    }

    /// All cuts between two runs that leave at least `least` people on either side, in the order of codes, with their ranks
    /// as in [`Self::rank`].
    pub(super) fn cuts(&self, order: CutOrder, least: u64, group: u64) -> impl Iterator<Item = RankedCut> {
        let (runs, people, each) = (self.runs, self.people, group.max(1));
        let end = runs.len();
        let first = runs.partition_point(|run| run.people_below < least).max(1);
        let last = runs.partition_point(|run| people - run.people_below >= least);
        let whole = if end > 0 { self.width(0, end) } else { 0.0 };
        let coordinates = match &self.column.width {
            Width::Span(coordinates) => Some(&coordinates[..]),
            Width::Share => None,
        };
        let widths = move |start: usize| match coordinates {
            Some(at) => {
                let at = |run: usize| at[runs[run].code as usize];
                (at(start - 1) - at(0), at(end - 1) - at(start))
            }
            None => (self.width(0, start), self.width(start, end)),
        };
        (first..last).map(move |start| {
            // The same sum as in `rank`, for two parts.
            let below = runs[start].people_below;
            let penalty = match order {
                CutOrder::Mondrian => 0.0,
                CutOrder::Gain | CutOrder::GainAndRoom => {
                    let (lower, upper) = widths(start);
                    below as f64 * lower + (people - below) as f64 * upper
                }
            };
            let groups = below / each + (people - below) / each;
            let largest = below.max(people - below);
            let outcome = CutOutcome { penalty, largest, groups_left: share(groups, people / each) };
            RankedCut { start, rank: self.rank_of(order, whole, outcome) }
        })
    }

    /// For a hierarchy: the runs at which the children with people begin, except the first, and for each the first
    /// code of that child. Empty if all people are in one child of every node.
    pub(super) fn children(&self) -> Option<(Vec<usize>, Box<[u32]>)> {
        let Splitting::Tree(tree) = &self.column.splitting else { return None };
        let (first, last) = (self.runs.first()?, self.runs.last()?);
        let boundaries: Vec<u32> = tree.boundaries(tree.smallest_cover((first.code, last.code))).collect();
        let starts = boundaries.iter().map(|&boundary| self.runs.partition_point(|run| run.code < boundary));
        let mut starts: Vec<usize> = starts.filter(|&start| start > 0 && start < self.runs.len()).collect();
        starts.dedup();
        let child_start = |start: &usize| {
            let code = self.runs[*start].code;
            boundaries.iter().rev().copied().find(|&boundary| boundary <= code).unwrap_or(code)
        };
        let codes = starts.iter().map(child_start).collect();
        (!starts.is_empty()).then_some((starts, codes))
    }

    /// The rank of the best cut of which every part has at least `least` people, as in [`Self::rank`].
    pub(super) fn best(&self, order: CutOrder, least: u64, group: u64) -> Option<Rank> {
        match &self.column.splitting {
            Splitting::Ordered => {
                self.cuts(order, least, group).map(|cut| cut.rank).max_by(|one, other| one.cmp(other))
            }
            Splitting::Tree(_) => {
                let (starts, _) = self.children()?;
                let ends = starts.iter().copied().chain([self.runs.len()]);
                let mut from = 0;
                let large = ends.into_iter().all(|to| {
                    let size = self.people_to(to) - self.people_to(std::mem::replace(&mut from, to));
                    size >= least
                });
                large.then(|| self.rank(&starts, order, group))
            }
        }
    }
}
