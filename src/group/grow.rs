//! Which groups does a table fall into that may not fit in memory?
//!
//! Nodes above a fixed number of rows are split level by level, counted in one pass over the code pages for
//! as many nodes as the budget holds; then the rows are sorted into the nodes that are left, and each of
//! these is finished in memory, one after the other in the order of the tree. The order of decisions
//! depends on the table and the policy alone; memory and threads only change how counts are made.
//!
//! Memory: [`Limits::room`]: 8 bytes x nodes counted at once x bins x sensitive values per thread, then one node of
//! at most [`SUBTREE_BYTES`] of codes with its triples.

use crate::encode::codes::Codes;
use crate::encode::column::Column;
use crate::encode::group_counts::GroupCounts;
use crate::encode::page::{Layout, Lists, PAGE_ROWS, Page, PageStore, Travelling};
use crate::encode::rows::People;
use crate::encode::rows::{Rows, Sensitive};
use crate::error::Result;
use crate::group::binning::Binning;
use crate::group::propose::{Candidates, Order, Proposal};
use crate::group::subtree::{Group, Plan, Present};
use crate::group::tree::{CutTree, NodeId};
use crate::group::triples::Triple;
use crate::model::split::{Scratch, SplitTest};
use crate::resources::budget::{Budget, release_freed};
use crate::resources::spill::Spill;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A node whose codes take at most this many bytes is finished in memory.
pub const SUBTREE_BYTES: usize = if cfg!(feature = "force-spill") { 1 << 12 } else { 8 << 20 };

/// A node with more rows than this is not finished in memory, however narrow they are.
const SUBTREE_ROWS: usize = 1 << 19;

/// Scratch of a thread per row of a node: keys sorted twice over, dense counters and triples.
const SCRATCH_PER_ROW: usize = 32;

/// Bins per column when the nodes of a level are counted together.
const COARSE_BINS: u32 = 256;

/// Counters of one column when a node without a coarse cut is counted again.
const FINE_CELLS: usize = 1 << 20;

/// Rows of a node that a thread collects before they become a page, if the budget has room for so many.
const WAITING_ROWS: u64 = 1 << 10;

/// While pages are emptied into others, freed memory goes back this often.
const PAGES_BETWEEN_RELEASES: usize = 64;

/// Everything that the growth of the tree needs and does not change.
pub struct Growth<'a> {
    /// The quasi-identifiers.
    pub columns: &'a [Column],
    /// Which safe cut is preferred.
    pub order: Order,
    /// Threads to count and propose on.
    pub pool: &'a rayon::ThreadPool,
    /// Bytes that may grow.
    pub budget: &'a Arc<Budget>,
    /// Where rows go that do not fit.
    pub spill: &'a Spill,
    /// How much a node may have to be finished in memory.
    pub limits: Limits,
    /// What becomes of the pages.
    pub pages: Pages,
}

/// How much a node may have to be finished in memory. It depends on the table and the policy alone, since it
/// shapes the order of decisions.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    bytes: usize,
    rows: usize,
}

impl Limits {
    /// For rows of this layout; `subtree_bytes` is [`SUBTREE_BYTES`] except in tests.
    pub fn new(layout: &Layout, subtree_bytes: usize) -> Self {
        let rows = (subtree_bytes / layout.row_bytes()).clamp(1, SUBTREE_ROWS);
        Limits { bytes: rows * layout.row_bytes(), rows }
    }

    /// The working room that growing a tree takes beside its pages.
    pub fn room(&self, columns: &[Column], slots: usize, threads: usize) -> u64 {
        let coarse: usize = columns.iter().map(|column| column.codes.min(COARSE_BINS) as usize * slots).sum();
        let fine = columns.iter().map(|column| (column.codes as usize * slots).min(FINE_CELLS)).max();
        let counting = threads * 8 * coarse.max(fine.unwrap_or(0));
        // The rows of a node, their copy while they move, and as much again for what is being written meanwhile.
        let finishing = 4 * self.bytes + threads * SCRATCH_PER_ROW * self.rows;
        counting.max(finishing) as u64
    }

    /// Bytes for the rows of a table that wait until a page for their node is full, a third of it, and for the directory of
    /// these pages. Small pages would make the directory large; half of the budget must do.
    pub fn waiting_room(&self, rows: u64, threads: usize, budget: u64) -> u64 {
        // Nodes are at least half as large as they may be, but for the few that a small cut leaves.
        let nodes = rows.div_ceil((self.rows as u64 / 2).max(1));
        let row_bytes = (self.bytes / self.rows) as u64;
        let bytes = nodes.saturating_mul(3 * threads as u64 * WAITING_ROWS * row_bytes);
        bytes.min(budget / 2).max(3 * self.bytes as u64)
    }

    /// The most threads, up to `threads`, whose working room is at most half of `budget`; at least one.
    pub fn threads(&self, columns: &[Column], slots: usize, threads: usize, budget: u64) -> usize {
        (2..=threads).rev().find(|&many| self.room(columns, slots, many) <= budget / 2).unwrap_or(1)
    }
}

/// What becomes of the pages once their rows are sorted into nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// They are used up.
    Consumed,
    /// They are needed again.
    Kept,
}

/// A node that is not yet finished.
struct Open {
    id: NodeId,
    extent: Vec<Range<u32>>,
    part: GroupCounts,
}

impl Growth<'_> {
    /// Grows the tree from its root, which the criterion must have accepted, and hands every group with its number
    /// to `sink`, in the order of the tree. `None` if the criterion judges rows, and there are people for whom no group
    /// that fits in memory passes.
    pub fn grow(
        &self,
        store: &mut PageStore<'_>,
        whole: GroupCounts,
        criterion: &mut dyn SplitTest,
        mut sink: impl FnMut(u64, Group) -> Result<()>,
    ) -> Result<Option<CutTree>> {
        let mut tree = CutTree::default();
        let extent = self.columns.iter().map(|column| 0..column.codes).collect();
        let most_rows = self.limits.rows as u64;
        let root = Open { id: CutTree::ROOT, extent, part: whole };
        let (mut small, giants) = self.split_large(store, root, most_rows, &mut tree, criterion)?;
        if criterion.asks_for_rows() && !giants.is_empty() {
            return Ok(None);
        }
        small.sort_unstable_by_key(|node| node.id);
        let mut stores = self.distribute(store, &small, &tree)?;
        release_freed();
        let mut giants: BTreeMap<NodeId, Group> =
            giants.into_iter().map(|group| (group.node, group)).collect();
        let mut small: BTreeMap<NodeId, (usize, Open)> =
            small.into_iter().enumerate().map(|(place, node)| (node.id, (place, node))).collect();
        let mut number = 0;
        for node in tree.groups_below(CutTree::ROOT) {
            let groups: Box<dyn Iterator<Item = Group>> = match (giants.remove(&node), small.remove(&node)) {
                (Some(giant), _) => Box::new(std::iter::once(giant)),
                (None, Some((place, open))) => {
                    let room = self.limits.room(self.columns, 1, self.pool.current_num_threads());
                    let _room = self.budget.try_reserve(room);
                    let mut rows = match stores.get_mut(place) {
                        Some(own) => load_all(own, Pages::Consumed)?,
                        None => load_all(store, self.pages)?,
                    };
                    let plan = Plan { columns: self.columns, order: self.order };
                    let groups = self.pool.install(|| {
                        plan.grow(&mut rows, open.id, open.extent, open.part, &mut tree, criterion)
                    });
                    let Some(groups) = groups else { return Ok(None) };
                    Box::new(groups)
                }
                (None, None) => Box::new(std::iter::empty()),
            };
            for group in groups {
                number += 1;
                tree.number(group.node, number);
                sink(number, group)?;
            }
        }
        Ok(Some(tree))
    }

    /// Splits every node above `most_rows` rows; returns the nodes that remain and the groups that are larger and
    /// cannot be split.
    fn split_large(
        &self,
        store: &PageStore<'_>,
        root: Open,
        most_rows: u64,
        tree: &mut CutTree,
        criterion: &mut dyn SplitTest,
    ) -> Result<(Vec<Open>, Vec<Group>)> {
        let coarse: Vec<Binning> =
            self.columns.iter().map(|column| Binning::new(column, COARSE_BINS)).collect();
        let (mut small, mut giants) = (vec![], vec![]);
        let mut level = vec![root];
        while !level.is_empty() {
            let (large, fitting): (Vec<Open>, Vec<Open>) =
                level.into_iter().partition(|node| node.part.people > most_rows);
            small.extend(fitting);
            level = vec![];
            let slots = large.first().map_or(1, |node| node.part.slots(people(store)));
            let at_once = self.nodes_at_once(&coarse, slots);
            let mut large = large.into_iter();
            loop {
                let batch: Vec<Open> = large.by_ref().take(at_once).collect();
                if batch.is_empty() {
                    break;
                }
                let counts = self.count(store, tree, &batch, &coarse)?;
                let proposals: Vec<Option<Proposal>> = self.pool.install(|| {
                    let propose = |(node, slot)| counts.propose(slot, node, &coarse, self.order, &*criterion);
                    batch.par_iter().zip(0..batch.len()).map(propose).collect()
                });
                for (slot, (node, proposal)) in batch.into_iter().zip(proposals).enumerate() {
                    let proposal = match proposal {
                        Some(stale) if !criterion.admits(&stale.parts, &mut Scratch::default()) => {
                            counts.propose(slot, &node, &coarse, self.order, &*criterion)
                        }
                        fresh => fresh,
                    };
                    let proposal = match proposal {
                        None => self.propose_finely(store, tree, &node, &*criterion)?,
                        some => some,
                    };
                    match proposal {
                        Some(proposal) => level.extend(children(node, proposal, tree, criterion)),
                        None => giants.push(self.finish(store, tree, node)?),
                    }
                }
            }
        }
        Ok((small, giants))
    }

    fn nodes_at_once(&self, binnings: &[Binning], slots: usize) -> usize {
        let bytes = cells(binnings, slots) * 8 * self.pool.current_num_threads();
        (self.budget.free() as usize / bytes.max(1)).max(1)
    }

    /// Counts the nodes' rows by bin and sensitive value, in one pass over all pages.
    fn count(
        &self,
        store: &PageStore<'_>,
        tree: &CutTree,
        nodes: &[Open],
        binnings: &[Binning],
    ) -> Result<Counts> {
        let people = people(store);
        let slots = nodes.first().map_or(1, |node| node.part.slots(people));
        let stride = cells(binnings, slots);
        let room = stride as u64 * 8 * (nodes.len() * self.pool.current_num_threads()) as u64;
        let _room = self.budget.reserve("counting the nodes of a level", room)?;
        let mut slot_of = vec![u32::MAX; tree.len()];
        nodes.iter().enumerate().for_each(|(slot, node)| slot_of[node.id as usize] = slot as u32);
        let next = AtomicUsize::new(0);
        let worker = |_| {
            let mut cells = vec![0u64; stride * nodes.len()];
            let mut room = store.layout().empty(0);
            let mut place: Vec<usize> = Vec::with_capacity(PAGE_ROWS);
            loop {
                let page = next.fetch_add(1, Ordering::Relaxed);
                if page >= store.len() {
                    return Ok(cells);
                }
                let rows = store.load(page, &mut room)?;
                place.clear();
                place.extend((0..rows.len()).map(|row| {
                    match slot_of[tree.find(|column| rows.columns[column].get(row)) as usize] {
                        u32::MAX => usize::MAX,
                        slot => slot as usize * stride,
                    }
                }));
                count_page(rows, &place, binnings, slots, &mut cells);
            }
        };
        let add = |mut a: Vec<u64>, b: Vec<u64>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let cells: Result<Option<Vec<u64>>> = self.pool.install(|| {
            let parts: Result<Vec<Vec<u64>>> =
                (0..self.pool.current_num_threads()).into_par_iter().map(worker).collect();
            parts.map(|parts| parts.into_iter().reduce(add))
        });
        Ok(Counts { cells: cells?.unwrap_or_default(), stride, slots, people })
    }

    /// Tries the cuts of a node that has no coarse one, column by column.
    fn propose_finely(
        &self,
        store: &PageStore<'_>,
        tree: &CutTree,
        node: &Open,
        criterion: &dyn SplitTest,
    ) -> Result<Option<Proposal>> {
        let mut best: Option<Proposal> = None;
        for number in 0..self.columns.len() {
            let (counts, binnings) = self.count_finely(store, tree, node, number)?;
            let proposal = counts.propose(0, node, &binnings, self.order, criterion).map(|mut proposal| {
                proposal.cut.column = number;
                proposal
            });
            best = match (best, proposal) {
                (Some(best), Some(proposal)) => Some(best.better(proposal)),
                (best, proposal) => best.or(proposal),
            };
        }
        Ok(best)
    }

    fn count_finely(
        &self,
        store: &PageStore<'_>,
        tree: &CutTree,
        node: &Open,
        number: usize,
    ) -> Result<(Counts, Vec<Binning>)> {
        let most = (FINE_CELLS / node.part.slots(people(store))).max(2) as u32;
        let mut binnings: Vec<Binning> =
            self.columns.iter().map(|_| Binning::new(&Column::evenly_spaced(1), 1)).collect();
        binnings[number] = Binning::new(&self.columns[number], most);
        let only = [Open { id: node.id, extent: node.extent.clone(), part: node.part.clone() }];
        let counts = self.count(store, tree, &only, &binnings)?;
        Ok((counts, binnings))
    }

    /// A group too large for memory that has no safe cut.
    fn finish(&self, store: &PageStore<'_>, tree: &CutTree, node: Open) -> Result<Group> {
        let mut present = vec![];
        for number in 0..self.columns.len() {
            let mut seen = vec![false; self.columns[number].codes as usize];
            let mut room = store.layout().empty(0);
            for page in 0..store.len() {
                let rows = store.load(page, &mut room)?;
                for row in 0..rows.len() {
                    if tree.find(|column| rows.columns[column].get(row)) == node.id {
                        seen[usize::from(rows.columns[number].get(row))] = true;
                    }
                }
            }
            let codes: Vec<u16> =
                (0..seen.len()).filter(|&code| seen[code]).map(|code| code as u16).collect();
            present.push(Present::new(&self.columns[number], codes));
        }
        Ok(Group { node: node.id, extent: node.extent, present, part: node.part })
    }

    /// Sorts the rows into one store per node; no store is needed if the only node is the whole table.
    fn distribute<'s>(
        &'s self,
        store: &mut PageStore<'_>,
        nodes: &[Open],
        tree: &CutTree,
    ) -> Result<Vec<PageStore<'s>>> {
        if nodes.iter().any(|node| node.id == CutTree::ROOT) {
            return Ok(vec![]);
        }
        // Half-filled buffers are not in the stores' account.
        let threads = self.pool.current_num_threads();
        let wanted = self.limits.waiting_room(store.rows(), threads, self.budget.total());
        let reserved = self.budget.try_reserve(wanted);
        let bytes = if reserved.is_some() { wanted as usize } else { 3 * self.limits.bytes };
        let layout = store.layout().clone();
        let new_store = |_: &Open| Mutex::new(PageStore::new(layout.clone(), self.budget, self.spill));
        let stores: Vec<Mutex<PageStore<'s>>> = nodes.iter().map(new_store).collect();
        let mut place_of = vec![u32::MAX; tree.len()];
        nodes.iter().enumerate().for_each(|(place, node)| place_of[node.id as usize] = place as u32);
        let row_bytes = self.limits.bytes / self.limits.rows;
        let buffer_rows = (bytes / 3 / row_bytes / (nodes.len() * threads).max(1)).clamp(64, PAGE_ROWS);
        let flush = |place: usize, rows: Rows| {
            PageStore::push_shared(&stores[place], Page { rows, payload: Travelling::default() })
        };
        let source = Mutex::new((store, 0));
        let worker = |_| -> Result<()> {
            let mut buffers: Vec<Rows> = nodes.iter().map(|_| layout.empty(0)).collect();
            loop {
                let page = {
                    let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
                    let (store, next) = &mut *source;
                    *next += 1;
                    if *next % PAGES_BETWEEN_RELEASES == 0 {
                        release_freed();
                    }
                    next_page(store, *next - 1, self.pages)?
                };
                let Some(rows) = page else { break };
                for row in 0..rows.len() {
                    let node = tree.find(|column| rows.columns[column].get(row));
                    let place = place_of[node as usize] as usize;
                    if let Some(buffer) = buffers.get_mut(place) {
                        buffer.push_row(&rows, row)?;
                        if buffer.len() >= buffer_rows {
                            flush(place, std::mem::replace(buffer, layout.empty(buffer_rows)))?;
                        }
                    }
                }
            }
            let rest = buffers.into_iter().enumerate().filter(|(_, buffer)| !buffer.is_empty());
            rest.into_iter().try_for_each(|(place, buffer)| flush(place, buffer))
        };
        self.pool.install(|| (0..self.pool.current_num_threads()).into_par_iter().try_for_each(worker))?;
        Ok(stores
            .into_iter()
            .map(|store| store.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect())
    }
}

/// The codes of the next page, taken out of the store if it is not needed again.
fn next_page(store: &mut PageStore<'_>, number: usize, pages: Pages) -> Result<Option<Rows>> {
    match pages {
        Pages::Consumed => store.take(),
        Pages::Kept if number >= store.len() => Ok(None),
        Pages::Kept => {
            let mut room = store.layout().empty(0);
            store.load(number, &mut room).cloned().map(Some)
        }
    }
}

fn people(store: &PageStore<'_>) -> People {
    match store.layout().lists {
        Lists::One => People::Valued,
        Lists::Many => People::Listed,
    }
}

fn load_all(store: &mut PageStore<'_>, pages: Pages) -> Result<Rows> {
    let mut all = store.layout().empty(store.rows() as usize);
    let mut number = 0;
    while let Some(page) = next_page(store, number, pages)? {
        all.append(page)?;
        number += 1;
    }
    Ok(all)
}

fn cells(binnings: &[Binning], slots: usize) -> usize {
    binnings.iter().map(|binning| binning.column.codes as usize * slots).sum()
}

fn count_page(rows: &Rows, place: &[usize], binnings: &[Binning], slots: usize, cells: &mut [u64]) {
    let mut base = 0;
    for (codes, binning) in rows.columns.iter().zip(binnings) {
        if binning.column.codes > 1 {
            let cells = &mut cells[base..];
            match (codes, &rows.sensitive) {
                (Codes::Narrow(codes), Sensitive::Single(Codes::Narrow(values))) => {
                    count_column(codes, values, place, binning, slots, cells);
                }
                (Codes::Narrow(codes), Sensitive::Single(Codes::Wide(values))) => {
                    count_column(codes, values, place, binning, slots, cells);
                }
                (Codes::Wide(codes), Sensitive::Single(Codes::Narrow(values))) => {
                    count_column(codes, values, place, binning, slots, cells);
                }
                (Codes::Wide(codes), Sensitive::Single(Codes::Wide(values))) => {
                    count_column(codes, values, place, binning, slots, cells);
                }
                (codes, Sensitive::Lists { .. }) => {
                    for (row, &place) in place.iter().enumerate().filter(|&(_, &place)| place != usize::MAX) {
                        let cell = place + usize::from(binning.bin[usize::from(codes.get(row))]) * slots;
                        cells[cell + slots - 1] += 1;
                        rows.list(row).iter().for_each(|&value| cells[cell + usize::from(value)] += 1);
                    }
                }
            }
        }
        base += binning.column.codes as usize * slots;
    }
}

/// Counts one column of single-valued rows.
fn count_column<C: Copy + Into<usize>, V: Copy + Into<usize>>(
    codes: &[C],
    values: &[V],
    place: &[usize],
    binning: &Binning,
    slots: usize,
    cells: &mut [u64],
) {
    for ((&code, &value), &place) in codes.iter().zip(values).zip(place) {
        if place != usize::MAX {
            cells[place + usize::from(binning.bin[code.into()]) * slots + value.into()] += 1;
        }
    }
}

fn children(node: Open, proposal: Proposal, tree: &mut CutTree, criterion: &mut dyn SplitTest) -> Vec<Open> {
    criterion.accept(&proposal.parts);
    let ranges = proposal.cut.ranges(node.extent[proposal.cut.column].clone());
    let column = proposal.cut.column;
    let first = tree.split(node.id, proposal.cut);
    let children = proposal.parts.into_iter().zip(ranges).zip(first..);
    let children = children.map(|((part, range), id)| {
        let mut extent = node.extent.clone();
        extent[column] = range;
        Open { id, extent, part }
    });
    children.collect()
}

/// Counts of some nodes by column, bin and sensitive value.
struct Counts {
    cells: Vec<u64>,
    stride: usize,
    slots: usize,
    people: People,
}

impl Counts {
    fn propose(
        &self,
        slot: usize,
        node: &Open,
        binnings: &[Binning],
        order: Order,
        criterion: &dyn SplitTest,
    ) -> Option<Proposal> {
        let bases = binnings.iter().scan(slot * self.stride, |base, binning| {
            let own = *base;
            *base += binning.column.codes as usize * self.slots;
            Some(own)
        });
        let mut best: Option<Proposal> = None;
        for (number, (binning, base)) in binnings.iter().zip(bases).enumerate() {
            let cells = &self.cells[base..base + binning.column.codes as usize * self.slots];
            let triples = triples(cells, self.slots);
            let candidates = Candidates {
                number,
                column: &binning.column,
                triples: &triples,
                total: &node.part,
                people: self.people,
            };
            let proposal = candidates.propose(order, criterion).map(|mut proposal| {
                proposal.cut = binning.cut_of_codes(proposal.cut);
                proposal
            });
            best = match (best, proposal) {
                (Some(best), Some(proposal)) => Some(best.better(proposal)),
                (best, proposal) => best.or(proposal),
            };
        }
        best
    }
}

/// Triples hold 32-bit counts; a larger count becomes several triples of the same pair.
fn triples(cells: &[u64], slots: usize) -> Vec<Triple> {
    let mut triples = vec![];
    for (cell, &count) in cells.iter().enumerate() {
        let mut left = count;
        while left > 0 {
            let part = left.min(u64::from(u32::MAX));
            let (code, value) = ((cell / slots) as u16, (cell % slots) as u16);
            triples.push(Triple { code, value, count: part as u32 });
            left -= part;
        }
    }
    triples
}
