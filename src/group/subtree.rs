//! Which groups does a node that fits in memory fall into?
//!
//! Level by level: proposals are computed in parallel against the criterion as it stood when the level began,
//! and committed one after the other in the order of the nodes. What was refused then is refused now, so
//! a node without a proposal is a group; what was proposed then is asked again, and if it is refused now
//! the node proposes anew. So the result depends on the rows alone, not on the number of threads.
//!
//! A criterion that judges groups by their rows is asked of every part of the best cut of each column, the columns in
//! the order of preference. A cut with a part that fails is not made; one with a part of which that is not known is
//! made if no other has only parts that pass, in the hope that smaller ones will. In the end a group that does not
//! pass is joined with its siblings, up to the lowest node that passes as one group. So every group passes; that no
//! smaller ones would is not said.
//!
//! Memory: the rows' codes, 4 bytes per row to move them, the packed counts of a level and of the groups, and per
//! thread the triples of one column and the counts of one node.

use super::packed::Packed;
use super::propose::{Candidates, Order, Proposal};
use super::tree::{CutTree, NodeId};
use super::triples::Counter;
use crate::encode::codes::Codes;
use crate::encode::column::{Column, Width};
use crate::encode::group_counts::GroupCounts;
use crate::encode::rows::{Rows, Sensitive};
use crate::math::beliefs::group::Passes;
use crate::model::split::{Effort, Scratch, SplitTest};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A finished group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its node in the tree of cuts.
    pub node: NodeId,
    /// The codes between the cuts, per column.
    pub extent: Vec<Range<u32>>,
    /// The codes that occur, per column.
    pub present: Vec<Present>,
    /// What it publishes.
    pub part: GroupCounts,
}

/// The codes of one column that occur in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// Least and greatest.
    pub ends: (u32, u32),
    /// All of them, for columns whose width counts them; empty for others.
    pub codes: Vec<u16>,
}

#[derive(Clone)]
struct Node {
    id: NodeId,
    rows: Range<usize>,
    extent: Vec<Range<u32>>,
    part: Packed,
    /// Whether it may be a group, by its rows.
    passes: Passes,
}

/// The groups of a node in order, unpacked one after the other.
pub struct Groups(std::vec::IntoIter<Finished>);

struct Finished {
    node: NodeId,
    extent: Vec<Range<u32>>,
    present: Vec<Present>,
    part: Packed,
}

impl Iterator for Groups {
    type Item = Group;

    fn next(&mut self) -> Option<Group> {
        let Finished { node, extent, present, part } = self.0.next()?;
        Some(Group { node, extent, present, part: part.unpack() })
    }
}

/// A cut, and whether each of its parts may be a group, by its rows.
struct Judged {
    proposal: Proposal,
    passes: Vec<Passes>,
}

/// A proposal whose parts wait, packed, until it is committed.
struct Waiting {
    judged: Judged,
    parts: Vec<Packed>,
}

impl Waiting {
    fn new(mut judged: Judged) -> Self {
        let parts = std::mem::take(&mut judged.proposal.parts).into_iter().map(Packed::new).collect();
        Waiting { judged, parts }
    }

    fn resume(self) -> Judged {
        let mut judged = self.judged;
        judged.proposal.parts = self.parts.into_iter().map(Packed::unpack).collect();
        judged
    }
}

/// What stays the same for every node.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The quasi-identifiers.
    pub columns: &'a [Column],
    /// Which safe cut is preferred.
    pub order: Order,
}

impl Plan<'_> {
    /// Splits a node, given by its rows and the codes between its cuts, and returns its groups in order; `None` if
    /// there is no way to cut it, nor the node as a whole, that passes a criterion which judges rows.
    pub fn grow(
        &self,
        rows: &mut Rows,
        id: NodeId,
        extent: Vec<Range<u32>>,
        part: GroupCounts,
        tree: &mut CutTree,
        criterion: &mut dyn SplitTest,
    ) -> Option<Groups> {
        let part = Packed::new(part);
        let mut root = Node { id, rows: 0..rows.len(), extent, part, passes: Passes::Yes };
        if criterion.asks_for_rows() {
            root.passes = settle(rows, &root, &*criterion);
        }
        let mut level = vec![root];
        let (mut groups, mut leaves, mut inner) = (Vec::new(), Vec::new(), Vec::new());
        let mut room = Scratch::default();
        while !level.is_empty() {
            let propose = |node| self.propose(rows, node, &*criterion).map(Waiting::new);
            let proposals: Vec<Option<Waiting>> = level.par_iter().map(propose).collect();
            let (mut next, mut moves) = (Vec::new(), Vec::new());
            for (node, proposal) in level.into_iter().zip(proposals) {
                let proposal = match proposal.map(Waiting::resume) {
                    Some(stale) if !criterion.admits(&stale.proposal.parts, &mut room) => {
                        self.propose(rows, &node, &*criterion)
                    }
                    fresh => fresh,
                };
                match proposal {
                    None if criterion.asks_for_rows() => leaves.push(node),
                    None => groups.push(self.finish(rows, node)),
                    Some(Judged { proposal, passes }) => {
                        criterion.accept(&proposal.parts);
                        if criterion.asks_for_rows() {
                            inner.push(node.clone());
                        }
                        next.extend(children(node, proposal, &passes, rows, tree, &mut moves));
                    }
                }
            }
            rows.rearrange(&moves);
            level = next;
        }
        let mut groups: Vec<Finished> = match criterion.asks_for_rows() {
            true => self.join(rows, leaves, inner, tree, &*criterion)?,
            false => groups,
        };
        let order = tree.groups_below(id);
        let place: hashbrown::HashMap<NodeId, usize, foldhash::fast::FixedState> =
            order.iter().enumerate().map(|(place, &node)| (node, place)).collect();
        groups.sort_unstable_by_key(|group: &Finished| place[&group.node]);
        Some(Groups(groups.into_iter()))
    }

    /// Joins groups that do not pass with their siblings, from the leaves upwards; `None` if not even the node that all
    /// of them come from passes. `inner` are the nodes that were split, parents before children.
    fn join(
        &self,
        rows: &Rows,
        leaves: Vec<Node>,
        inner: Vec<Node>,
        tree: &mut CutTree,
        criterion: &dyn SplitTest,
    ) -> Option<Vec<Finished>> {
        let passes = |node: &Node| node.passes == Passes::Yes || settle(rows, node, criterion) == Passes::Yes;
        let passing: Vec<bool> = leaves.par_iter().map(passes).collect();
        let mut failing: BTreeSet<NodeId> = BTreeSet::new();
        let mut kept: BTreeMap<NodeId, Node> = BTreeMap::new();
        for (leaf, passes) in leaves.into_iter().zip(passing) {
            if !passes {
                failing.insert(leaf.id);
            }
            kept.insert(leaf.id, leaf);
        }
        for node in inner.into_iter().rev() {
            let children = tree.cut(node.id).map_or(0..0, |(_, children)| children);
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
        failing.is_empty().then(|| kept.into_values().map(|node| self.finish(rows, node)).collect())
    }

    fn propose(&self, rows: &Rows, node: &Node, criterion: &dyn SplitTest) -> Option<Judged> {
        if node.part.people() < 2 * criterion.least_people() {
            return None;
        }
        let total = node.part.clone().unpack();
        let proposals =
            self.columns.par_iter().enumerate().map_init(Counter::default, |counter, (number, column)| {
                let triples = rows.count(number, node, total.counts.len(), counter);
                let candidates = Candidates { number, column, triples, total: &total, people: rows.people() };
                candidates.propose(self.order, criterion)
            });
        if !criterion.asks_for_rows() {
            let best = proposals.flatten().reduce_with(Proposal::better)?;
            let passes = vec![Passes::Yes; best.parts.len()];
            return Some(Judged { proposal: best, passes });
        }
        let mut proposals: Vec<Proposal> = proposals.flatten().collect();
        proposals.sort_by(|a, b| b.preference(a));
        let mut perhaps = None;
        for proposal in proposals {
            let passes = judge_parts(rows, node, &proposal, criterion);
            match passes.iter().fold(Passes::Yes, |all, part| all.and(*part)) {
                Passes::Yes => return Some(Judged { proposal, passes }),
                Passes::Unknown if perhaps.is_none() => {
                    perhaps = Some(Judged { proposal, passes });
                }
                _ => {}
            }
        }
        perhaps
    }

    fn finish(&self, rows: &Rows, node: Node) -> Finished {
        let present = self.columns.iter().zip(&rows.columns).map(|(column, codes)| match codes {
            Codes::Narrow(codes) => {
                present(column, codes[node.rows.clone()].iter().map(|&code| u16::from(code)))
            }
            Codes::Wide(codes) => present(column, codes[node.rows.clone()].iter().copied()),
        });
        Finished { node: node.id, extent: node.extent, present: present.collect(), part: node.part }
    }
}

impl Present {
    /// From the ascending codes that occur; a group has at least one row.
    pub fn new(column: &Column, codes: Vec<u16>) -> Self {
        let end = |code: Option<&u16>| code.map_or(0, |&code| u32::from(code));
        let ends = (end(codes.first()), end(codes.last()));
        Present { ends, codes: if column.width == Width::Share { codes } else { vec![] } }
    }
}

fn present(column: &Column, codes: impl Iterator<Item = u16> + Clone) -> Present {
    let ends = codes.clone().fold((u16::MAX, 0), |(low, high), code| (low.min(code), high.max(code)));
    let codes = match column.width {
        Width::Span(_) => vec![],
        Width::Share => {
            let mut seen = vec![false; usize::from(ends.1.saturating_sub(ends.0)) + 1];
            codes.for_each(|code| seen[usize::from(code - ends.0)] = true);
            (ends.0..=ends.1).filter(|code| seen[usize::from(code - ends.0)]).collect()
        }
    };
    Present { ends: (u32::from(ends.0), u32::from(ends.1)), codes }
}

/// Whether a node may be a group, by its rows, with all effort.
fn settle(rows: &Rows, node: &Node, criterion: &dyn SplitTest) -> Passes {
    let of: Vec<u32> = node.rows.clone().map(|row| row as u32).collect();
    criterion.judge(rows, &of, &node.part.clone().unpack(), Effort::Settle)
}

/// Whether each part of a cut may be a group, by its rows; one that fails is enough, others are then unknown.
fn judge_parts(rows: &Rows, node: &Node, proposal: &Proposal, criterion: &dyn SplitTest) -> Vec<Passes> {
    let sources = sources(rows, node, proposal);
    let mut passes = vec![Passes::Unknown; sources.len()];
    // Small parts are judged faster, and fail more often.
    let mut order: Vec<usize> = (0..sources.len()).collect();
    order.sort_by_key(|&part| sources[part].len());
    for part in order {
        passes[part] = criterion.judge(rows, &sources[part], &proposal.parts[part], Effort::Try);
        if passes[part] == Passes::No {
            break;
        }
    }
    passes
}

/// The rows of each part of a cut.
fn sources(rows: &Rows, node: &Node, proposal: &Proposal) -> Vec<Vec<u32>> {
    let codes = &rows.columns[proposal.cut.column];
    let mut sources: Vec<Vec<u32>> = vec![vec![]; proposal.parts.len()];
    for row in node.rows.clone() {
        sources[proposal.cut.part(codes.get(row))].push(row as u32);
    }
    sources
}

/// Where the rows of a node come from once it is split: row i of `rows` is the former row `sources[i]`.
struct Move {
    rows: Range<usize>,
    sources: Vec<u32>,
}

fn children(
    node: Node,
    proposal: Proposal,
    passes: &[Passes],
    rows: &Rows,
    tree: &mut CutTree,
    moves: &mut Vec<Move>,
) -> Vec<Node> {
    let sources = sources(rows, &node, &proposal);
    let Proposal { cut, parts, .. } = proposal;
    let ranges = cut.ranges(node.extent[cut.column].clone());
    let column = cut.column;
    let first = tree.split(node.id, cut);
    let mut start = node.rows.start;
    let children = parts.into_iter().zip(ranges).zip(&sources).enumerate();
    let children = children.map(|(i, ((part, range), sources))| {
        let rows = start..start + sources.len();
        start = rows.end;
        let mut extent = node.extent.clone();
        extent[column] = range;
        Node { id: first + i as NodeId, rows, extent, part: Packed::new(part), passes: passes[i] }
    });
    let children = children.collect();
    moves.push(Move { rows: node.rows, sources: sources.concat() });
    children
}

impl Rows {
    fn count<'c>(
        &self,
        column: usize,
        node: &Node,
        values: usize,
        counter: &'c mut Counter,
    ) -> &'c [super::triples::Triple] {
        let extent = node.extent[column].clone();
        match (&self.columns[column], &self.sensitive) {
            (Codes::Narrow(codes), Sensitive::Single(Codes::Narrow(values_))) => {
                let (codes, own) = (&codes[node.rows.clone()], &values_[node.rows.clone()]);
                counter.count(
                    extent,
                    values,
                    codes.iter().zip(own).map(|(&c, &v)| (u16::from(c), u16::from(v))),
                )
            }
            (Codes::Wide(codes), Sensitive::Single(Codes::Narrow(values_))) => {
                let (codes, own) = (&codes[node.rows.clone()], &values_[node.rows.clone()]);
                counter.count(extent, values, codes.iter().zip(own).map(|(&c, &v)| (c, u16::from(v))))
            }
            (codes, Sensitive::Single(own)) => {
                let pairs = node.rows.clone().map(|row| (codes.get(row), own.get(row)));
                counter.count(extent, values, pairs)
            }
            (codes, Sensitive::Lists { lists, offsets, values: all }) => {
                let mut pairs = Vec::new();
                for row in node.rows.clone() {
                    let (code, list) = (codes.get(row), lists[row] as usize);
                    let own = &all[offsets[list] as usize..offsets[list + 1] as usize];
                    pairs.push((code, values as u16));
                    pairs.extend(own.iter().map(|&value| (code, value)));
                }
                counter.count(extent, values + 1, pairs.into_iter())
            }
        }
    }

    fn rearrange(&mut self, moves: &[Move]) {
        fn gather<T: Copy>(rows: &mut [T], moves: &[Move]) {
            let mut moved = Vec::new();
            for Move { rows: range, sources } in moves {
                moved.clear();
                moved.extend(sources.iter().map(|&source| rows[source as usize]));
                rows[range.clone()].copy_from_slice(&moved);
            }
        }
        let gather_codes = |codes: &mut Codes| match codes {
            Codes::Narrow(codes) => gather(codes, moves),
            Codes::Wide(codes) => gather(codes, moves),
        };
        self.columns.par_iter_mut().for_each(gather_codes);
        match &mut self.sensitive {
            Sensitive::Single(codes) => gather_codes(codes),
            Sensitive::Lists { lists, .. } => gather(lists, moves),
        }
    }
}
