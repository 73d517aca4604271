//! Which groups does a node that fits in memory fall into?
//!
//! Level by level: proposals are computed in parallel against the criterion as it stood when the level began,
//! and committed one after the other in the order of the nodes. What was refused then is refused now, so
//! a node without a proposal is a group; what was proposed then is asked again, and if it is refused now
//! the node proposes anew. So the result depends on the rows alone, not on the number of threads.
//!
//! Memory: the rows' codes, 4 bytes per row to move them, the packed counts of a level and of the groups, and per
//! thread the triples of one column and the counts of one node.

use super::column::{Column, Width};
use super::criterion::{Criterion, Part, Room};
use super::packed::Packed;
use super::propose::{Candidates, Order, People, Proposal};
use super::tree::{CutTree, NodeId};
use super::triples::{Codes, Counter};
use rayon::prelude::*;
use std::ops::Range;

/// The codes of the rows of a node, column by column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// One per quasi-identifier.
    pub columns: Vec<Codes>,
    /// What the people have.
    pub sensitive: Sensitive,
}

/// The sensitive values of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sensitive {
    /// One code per row.
    Single(Codes),
    /// Any number of codes per row: `lists` says which list a row has, `offsets` where each list ends.
    Lists {
        /// The list of each row.
        lists: Vec<u32>,
        /// List i is `values[offsets[i]..offsets[i + 1]]`.
        offsets: Vec<u32>,
        /// The codes of all lists.
        values: Vec<u16>,
    },
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.sensitive {
            Sensitive::Single(codes) => codes.len(),
            Sensitive::Lists { lists, .. } => lists.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sensitive codes of a row that has a list of them.
    pub fn list(&self, row: usize) -> &[u16] {
        match &self.sensitive {
            Sensitive::Single(_) => &[],
            Sensitive::Lists { lists, offsets, values } => {
                let list = lists[row] as usize;
                &values[offsets[list] as usize..offsets[list + 1] as usize]
            }
        }
    }

    /// Appends a row of rows with the same columns.
    pub fn push_row(&mut self, other: &Rows, row: usize) {
        for (own, others) in self.columns.iter_mut().zip(&other.columns) {
            own.push(others.get(row));
        }
        match (&mut self.sensitive, &other.sensitive) {
            (Sensitive::Single(own), Sensitive::Single(others)) => own.push(others.get(row)),
            (Sensitive::Lists { lists, offsets, values }, _) => {
                values.extend_from_slice(other.list(row));
                lists.push(lists.len() as u32);
                offsets.push(values.len() as u32);
            }
            (Sensitive::Single(_), Sensitive::Lists { .. }) => {}
        }
    }

    /// Appends all rows of rows with the same columns.
    pub fn append(&mut self, other: Rows) {
        if self.is_empty() && matches!(self.sensitive, Sensitive::Lists { .. }) {
            *self = other;
            return;
        }
        for (own, others) in self.columns.iter_mut().zip(&other.columns) {
            own.grow(others.len()).copy_from_slice(others.bytes());
        }
        match (&mut self.sensitive, &other.sensitive) {
            (Sensitive::Single(own), Sensitive::Single(others)) => {
                own.grow(others.len()).copy_from_slice(others.bytes());
            }
            (Sensitive::Lists { lists, offsets, values }, Sensitive::Lists { lists: more, .. }) => {
                for row in 0..more.len() {
                    values.extend_from_slice(other.list(row));
                    lists.push(lists.len() as u32);
                    offsets.push(values.len() as u32);
                }
            }
            _ => {}
        }
    }

    /// How people are counted.
    pub fn people(&self) -> People {
        match self.sensitive {
            Sensitive::Single(_) => People::Valued,
            Sensitive::Lists { .. } => People::Listed,
        }
    }

    /// What all these rows together would publish; there are `values` sensitive values.
    pub fn total(&self, values: usize) -> Part {
        let mut part = Part { people: self.len() as u64, counts: vec![0; values] };
        match &self.sensitive {
            Sensitive::Single(codes) => {
                (0..codes.len()).for_each(|row| part.counts[usize::from(codes.get(row))] += 1);
            }
            Sensitive::Lists { lists, offsets, values } => {
                for &list in lists {
                    let list = list as usize;
                    for &value in &values[offsets[list] as usize..offsets[list + 1] as usize] {
                        part.counts[usize::from(value)] += 1;
                    }
                }
            }
        }
        part
    }
}

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
    pub part: Part,
}

/// The codes of one column that occur in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// Least and greatest.
    pub ends: (u32, u32),
    /// All of them, for columns whose width counts them; empty for others.
    pub codes: Vec<u16>,
}

struct Node {
    id: NodeId,
    rows: Range<usize>,
    extent: Vec<Range<u32>>,
    part: Packed,
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

/// A proposal whose parts wait, packed, until it is committed.
struct Waiting {
    proposal: Proposal,
    parts: Vec<Packed>,
}

impl Waiting {
    fn new(mut proposal: Proposal) -> Self {
        let parts = std::mem::take(&mut proposal.parts).into_iter().map(Packed::new).collect();
        Waiting { proposal, parts }
    }

    fn resume(self) -> Proposal {
        let mut proposal = self.proposal;
        proposal.parts = self.parts.into_iter().map(Packed::unpack).collect();
        proposal
    }
}

impl Part {
    /// How many people and values the part counts beside its values: what a triple's value may be.
    pub(crate) fn slots(&self, people: People) -> usize {
        self.counts.len() + usize::from(people == People::Listed)
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
    /// Splits a node, given by its rows and the codes between its cuts, and returns its groups in order.
    pub fn grow(
        &self,
        rows: &mut Rows,
        id: NodeId,
        extent: Vec<Range<u32>>,
        part: Part,
        tree: &mut CutTree,
        criterion: &mut dyn Criterion,
    ) -> Groups {
        let mut level = vec![Node { id, rows: 0..rows.len(), extent, part: Packed::new(part) }];
        let mut groups = Vec::new();
        let mut room = Room::default();
        while !level.is_empty() {
            let propose = |node| self.propose(rows, node, &*criterion).map(Waiting::new);
            let proposals: Vec<Option<Waiting>> = level.par_iter().map(propose).collect();
            let (mut next, mut moves) = (Vec::new(), Vec::new());
            for (node, proposal) in level.into_iter().zip(proposals) {
                let proposal = match proposal.map(Waiting::resume) {
                    Some(stale) if !criterion.admits(&stale.parts, &mut room) => {
                        self.propose(rows, &node, &*criterion)
                    }
                    fresh => fresh,
                };
                match proposal {
                    None => groups.push(self.finish(rows, node)),
                    Some(proposal) => {
                        criterion.accept(&proposal.parts);
                        next.extend(children(node, proposal, rows, tree, &mut moves));
                    }
                }
            }
            rows.rearrange(&moves);
            level = next;
        }
        let order = tree.groups_below(id);
        let place: hashbrown::HashMap<NodeId, usize, foldhash::fast::FixedState> =
            order.iter().enumerate().map(|(place, &node)| (node, place)).collect();
        groups.sort_unstable_by_key(|group: &Finished| place[&group.node]);
        Groups(groups.into_iter())
    }

    fn propose(&self, rows: &Rows, node: &Node, criterion: &dyn Criterion) -> Option<Proposal> {
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
        proposals.flatten().reduce_with(Proposal::better)
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

/// Where the rows of a node come from once it is split: row i of `rows` is the former row `sources[i]`.
struct Move {
    rows: Range<usize>,
    sources: Vec<u32>,
}

fn children(
    node: Node,
    proposal: Proposal,
    rows: &Rows,
    tree: &mut CutTree,
    moves: &mut Vec<Move>,
) -> Vec<Node> {
    let Proposal { cut, parts, .. } = proposal;
    let codes = &rows.columns[cut.column];
    let mut sources: Vec<Vec<u32>> = vec![vec![]; parts.len()];
    for row in node.rows.clone() {
        sources[cut.part(codes.get(row))].push(row as u32);
    }
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
        Node { id: first + i as NodeId, rows, extent, part: Packed::new(part) }
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
