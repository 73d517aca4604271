//! Which node is a row in after a cut?
//!
//! In memory, the rows of a node are contiguous: they are moved once per level. On pages, rows stay where they are
//! until the nodes fit in memory; then `distribute` sorts them into a store for each node, in one pass.
//! Memory: [`InMemory`]; while rows are distributed, [`SubtreeLimits::waiting_bytes`].

use super::elsewhere;
use super::frontier::OpenNode;
use super::limits::SubtreeLimits;
use super::page_counts::{NOWHERE, NodePlaces};
use super::part_rows::PartRows;
use super::propose::JudgedCut;
use super::rows::{InMemory, Moves, OnPages, Smallest};
use super::walk::{RowsByNode, Walk, WalkRoom, chunks};
use crate::encode::codes::Codes;
use crate::encode::column::Column;
use crate::encode::page::{
    Lists, PAGE_ROWS, PAGES_BETWEEN_RELEASES, Page, PageStore, Travelling, UnreadPage,
};
use crate::encode::rows::{Rows, Sensitive};
use crate::error::Result;
use crate::group::groups::Present;
use crate::group::tree::{Cut, CutTree, NodeId};
use crate::math::beliefs::group::Passes;
use crate::resources::budget::{Budget, release_freed};
use crate::resources::progress::Progress;
use crate::resources::spill::Spill;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows that follow the cuts of their nodes.
pub trait PlaceRows {
    /// Whether a node is split here; otherwise it is left to rows in memory.
    fn splits(&self, node: &OpenNode) -> bool;

    /// Where the rows of each of the `parts` parts of a node will be.
    fn divide(&mut self, node: &OpenNode, cut: &Cut, parts: usize) -> Vec<Range<usize>>;

    /// Moves the rows of all divided nodes.
    fn move_rows(&mut self);

    /// The codes that occur in a node, per column.
    fn present(&self, tree: &CutTree, node: &OpenNode) -> Result<Vec<Present>>;
}

/// Splits a node; returns its parts as new nodes.
pub(super) fn children<R: PlaceRows>(
    node: OpenNode,
    chosen: JudgedCut,
    tree: &mut CutTree,
    rows: &mut R,
) -> impl Iterator<Item = OpenNode> + use<R> {
    let JudgedCut { proposal, passes } = chosen;
    let (cut, last) = (proposal.cut, proposal.parts.len() - 1);
    let ranges = cut.ranges(node.extent[cut.column].clone());
    let places = rows.divide(&node, &cut, proposal.parts.len());
    let column = cut.column;
    let first = tree.split(node.id, cut);
    // Rows that are not judged pass.
    let passes = passes.into_iter().chain(std::iter::repeat(Passes::Yes));
    let parts = proposal.parts.into_iter().zip(passes).zip(ranges).zip(places).enumerate();
    let mut whole = node.extent;
    parts.map(move |(place, (((part, passes), range), rows))| {
        let mut extent = if place == last { std::mem::take(&mut whole) } else { whole.clone() };
        extent[column] = range;
        OpenNode { id: first + place as NodeId, extent, part, rows, passes, obstacle: None }
    })
}

/// The rows of each part of a cut.
pub(super) fn rows_of_parts(rows: &Rows, node: &OpenNode, cut: &Cut, parts: usize) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    let ranges = add_rows_of_parts(rows, node, cut, parts, &mut all);
    ranges.into_iter().map(|range| all[range].to_vec()).collect()
}

/// Adds the rows of a node, part after part of a cut. Returns where those of each part are, counted from the first.
fn add_rows_of_parts(
    rows: &Rows,
    node: &OpenNode,
    cut: &Cut,
    parts: usize,
    all: &mut Vec<u32>,
) -> Vec<Range<usize>> {
    let first = node.rows.start as u32;
    match &rows.columns[cut.column] {
        Codes::Narrow(codes) => add_in_parts(&codes[node.rows.clone()], first, cut, parts, all),
        Codes::Wide(codes) => add_in_parts(&codes[node.rows.clone()], first, cut, parts, all),
    }
}

fn add_in_parts<C: Copy + Into<u16>>(
    codes: &[C],
    first: u32,
    cut: &Cut,
    parts: usize,
    all: &mut Vec<u32>,
) -> Vec<Range<usize>> {
    let start = all.len();
    all.resize(start + codes.len(), 0);
    let sorted = &mut all[start..];
    if let [boundary] = *cut.boundaries {
        let is_below = |code: C| usize::from(u32::from(code.into()) < boundary);
        let below = codes.iter().map(|&code| is_below(code)).sum();
        // Which part a row is in is as good as random, so a branch would cost more than arithmetic.
        let (mut lower, mut upper) = (0, below);
        for (row, &code) in (first..).zip(codes) {
            let is_below = is_below(code);
            sorted[if is_below == 1 { lower } else { upper }] = row;
            lower += is_below;
            upper += 1 - is_below;
        }
        return vec![0..below, below..codes.len()];
    }
    let mut ends = vec![0; parts];
    codes.iter().for_each(|&code| ends[cut.part(code.into())] += 1);
    let mut end = 0;
    let ranges = ends.iter_mut().map(|next| {
        let start = std::mem::replace(next, end);
        end += start;
        *next..end
    });
    let ranges: Vec<Range<usize>> = ranges.collect();
    for (row, &code) in (first..).zip(codes) {
        let next = &mut ends[cut.part(code.into())];
        sorted[*next] = row;
        *next += 1;
    }
    ranges
}

impl PlaceRows for InMemory<'_> {
    fn splits(&self, _node: &OpenNode) -> bool {
        true
    }

    fn divide(&mut self, node: &OpenNode, cut: &Cut, parts: usize) -> Vec<Range<usize>> {
        let Moves { nodes, sources } = &mut self.moves;
        let ranges = add_rows_of_parts(&self.rows, node, cut, parts, sources);
        nodes.push(node.rows.clone());
        let start = node.rows.start;
        ranges.into_iter().map(|range| start + range.start..start + range.end).collect()
    }

    fn move_rows(&mut self) {
        fn gather<T: Copy>(rows: &mut [T], Moves { nodes, sources }: &Moves) {
            let mut moved = Vec::new();
            let mut first = 0;
            for node in nodes {
                let sources = &sources[first..first + node.len()];
                first += node.len();
                moved.clear();
                moved.extend(sources.iter().map(|&source| rows[source as usize]));
                rows[node.clone()].copy_from_slice(&moved);
            }
        }
        let moves = &self.moves;
        let gather_codes = |codes: &mut Codes| match codes {
            Codes::Narrow(codes) => gather(codes, moves),
            Codes::Wide(codes) => gather(codes, moves),
        };
        self.rows.columns.par_iter_mut().for_each(gather_codes);
        match &mut self.rows.sensitive {
            Sensitive::Single(codes) => gather_codes(codes),
            Sensitive::Lists { lists, .. } => gather(lists, moves),
        }
        self.moves.nodes.clear();
        self.moves.sources.clear();
    }

    fn present(&self, _tree: &CutTree, node: &OpenNode) -> Result<Vec<Present>> {
        let of_column = |(column, codes): (_, &Codes)| match codes {
            Codes::Narrow(codes) => {
                Present::of_rows(column, codes[node.rows.clone()].iter().map(|&code| u16::from(code)))
            }
            Codes::Wide(codes) => Present::of_rows(column, codes[node.rows.clone()].iter().copied()),
        };
        Ok(self.columns.iter().zip(&self.rows.columns).map(of_column).collect())
    }
}

impl PlaceRows for OnPages<'_> {
    fn splits(&self, node: &OpenNode) -> bool {
        match self.smallest {
            Smallest::Subtree(limits) => !limits.fits(&node.part),
            Smallest::Part(rows) => node.part.people > rows,
        }
    }

    fn divide(&mut self, _node: &OpenNode, _cut: &Cut, parts: usize) -> Vec<Range<usize>> {
        vec![0..0; parts]
    }

    fn move_rows(&mut self) {}

    fn present(&self, tree: &CutTree, node: &OpenNode) -> Result<Vec<Present>> {
        let seen = match self.rows {
            PartRows::Elsewhere(rows) => elsewhere::codes_seen(rows, self.columns, tree, node.id)?,
            PartRows::Here(store) => {
                let mut seen = CodesSeen::new(self.columns, tree, node.id);
                let mut scratch = store.layout().empty(0);
                (0..store.len())
                    .try_for_each(|page| store.load(page, &mut scratch).map(|rows| seen.add(rows)))?;
                seen.seen
            }
        };
        let codes =
            |seen: Vec<bool>| (0..=u16::MAX).zip(seen).filter(|(_, seen)| *seen).map(|(code, _)| code);
        let present = self.columns.iter().zip(seen);
        Ok(present.map(|(column, seen)| Present::new(column, codes(seen).collect())).collect())
    }
}

/// Finds the codes that occur in a node, page by page.
pub(super) struct CodesSeen {
    place: NodePlaces,
    room: WalkRoom,
    /// By column and code.
    pub(super) seen: Vec<Vec<bool>>,
}

impl CodesSeen {
    pub(super) fn new(columns: &[Column], tree: &CutTree, node: NodeId) -> Self {
        let seen = columns.iter().map(|column| vec![false; column.codes as usize]).collect();
        CodesSeen { place: NodePlaces::new(tree, &[node]), room: WalkRoom::default(), seen }
    }

    pub(super) fn add(&mut self, rows: &Rows) {
        let CodesSeen { place, room, seen } = self;
        for chunk in chunks(rows.len()) {
            for (row, place) in chunk.clone().zip(place.of_rows(rows, chunk, room)) {
                if place != NOWHERE {
                    for (seen, codes) in seen.iter_mut().zip(&rows.columns) {
                        seen[usize::from(codes.get(row))] = true;
                    }
                }
            }
        }
    }
}

/// What happens to the pages once their rows are sorted into nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// They are used up; what travels with the rows goes along.
    Consumed,
    /// They are needed again; only codes go to the nodes.
    Kept,
}

/// Where the rows of the nodes go, and how many may be buffered on the way.
pub(super) struct Distribution<'a> {
    pub(super) pages: Pages,
    pub(super) limits: SubtreeLimits,
    pub(super) budget: &'a Arc<Budget>,
    pub(super) spill: &'a Spill,
    pub(super) progress: &'a Progress,
}

impl<'a> Distribution<'a> {
    /// Sorts the rows into one store per node; no store is needed if the only node is the whole table.
    pub(super) fn run(
        &self,
        store: &mut PageStore<'_>,
        nodes: &[NodeId],
        tree: &CutTree,
    ) -> Result<Vec<PageStore<'a>>> {
        if nodes.is_empty() || nodes.contains(&CutTree::ROOT) {
            return Ok(vec![]);
        }
        // Partly filled buffers are not included in the stores' budget.
        let threads = rayon::current_num_threads();
        let wanted = self.limits.waiting_bytes(store.rows(), threads, self.budget.total());
        let reserved = self.budget.try_reserve(wanted);
        let bytes = if reserved.is_some() { wanted as usize } else { 3 * self.limits.bytes };
        let layout = store.layout().clone();
        let new_store = |_: &NodeId| Mutex::new(PageStore::new(layout.clone(), self.budget, self.spill));
        let stores: Vec<Mutex<PageStore<'a>>> = nodes.iter().map(new_store).collect();
        let mut place_of = vec![u32::MAX; tree.len()];
        nodes.iter().enumerate().for_each(|(place, &node)| place_of[node as usize] = place as u32);
        let walk = Walk::new(tree);
        let row_bytes = self.limits.bytes / self.limits.rows;
        let buffer_bytes = bytes / 3 / (nodes.len() * threads).max(1);
        let empty = |rows: usize| Page { rows: layout.empty(rows), payload: Travelling::default() };
        let flush = |place: usize, page: Page| PageStore::push_shared(&stores[place], page);
        let source = Mutex::new((store, 0));
        let worker = |_| -> Result<()> {
            let mut buffers: Vec<Page> = nodes.iter().map(|_| empty(0)).collect();
            let mut sorted = RowsByNode::default();
            while let Some(page) = self.next_shared(&source)? {
                self.progress.go_on()?;
                self.progress.advance(page.rows.len() as u64);
                sorted.sort(&walk, &page.rows, &place_of, nodes.len());
                let starts = page.payload.starts();
                let wide = row_bytes + page.payload.bytes.len() / page.rows.len().max(1);
                let buffer_rows = (buffer_bytes / wide).clamp(64, PAGE_ROWS);
                for (place, buffer) in buffers.iter_mut().enumerate() {
                    let mut own = sorted.of(place);
                    while !own.is_empty() {
                        let room = buffer_rows.saturating_sub(buffer.rows.len()).max(1);
                        let (now, later) = own.split_at(own.len().min(room));
                        buffer.rows.extend_rows(&page.rows, now)?;
                        buffer.payload.extend_rows(&page.payload, &starts, now);
                        own = later;
                        let listed = buffer.rows.list_bytes().max(buffer.payload.bytes.len());
                        if buffer.rows.len() >= buffer_rows || listed > buffer_bytes {
                            let room = empty(if layout.lists == Lists::One { buffer_rows } else { 0 });
                            flush(place, std::mem::replace(buffer, room))?;
                        }
                    }
                }
            }
            let rest = buffers.into_iter().enumerate().filter(|(_, buffer)| !buffer.rows.is_empty());
            rest.into_iter().try_for_each(|(place, buffer)| flush(place, buffer))
        };
        (0..threads).into_par_iter().try_for_each(worker)?;
        let unlocked = |store: Mutex<_>| store.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(stores.into_iter().map(unlocked).collect())
    }

    /// The next page of a store that several threads empty; they read from disk side by side.
    fn next_shared(&self, source: &Mutex<(&mut PageStore<'_>, usize)>) -> Result<Option<Page>> {
        let page = {
            let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
            let (store, next) = &mut *source;
            *next += 1;
            if *next % PAGES_BETWEEN_RELEASES == 0 {
                release_freed();
            }
            next_page(store, *next - 1, self.pages)
        };
        page.map(UnreadPage::read).transpose()
    }
}

/// The next page, taken out of the store if it is not needed again; otherwise a copy of its codes.
fn next_page<'s>(store: &mut PageStore<'s>, number: usize, pages: Pages) -> Option<UnreadPage<'s>> {
    match pages {
        Pages::Consumed => store.take_unread(),
        Pages::Kept => store.copy_unread(number),
    }
}

/// All rows of a store.
pub(super) fn load_all(store: &mut PageStore<'_>, pages: Pages) -> Result<Rows> {
    let mut all = store.layout().empty(store.rows() as usize);
    let mut number = 0;
    while let Some(page) = next_page(store, number, pages) {
        all.append(page.read()?.rows)?;
        number += 1;
    }
    Ok(all)
}
