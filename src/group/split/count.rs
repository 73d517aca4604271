//! How many people in a node have which values?
//!
//! Rows in memory are counted exactly, column by column, when a node is examined. Rows on pages are counted for many
//! nodes in one pass, first in coarse bins; a node without a coarse cut is counted again, one column at a time.
//! Memory: [`Counter`] in memory; on pages see [`OnPages`].

use super::binning::{Binning, Bins};
use super::frontier::OpenNode;
use super::rank::{ColumnHistogram, Run};
use super::rows::{InMemory, OnPages};
use super::triples::{Counter, Triple};
use super::walk::{Walk, WalkRoom};
use crate::encode::codes::Codes;
use crate::encode::column::Column;
use crate::encode::page::{Lists, PAGE_ROWS, PageStore};
use crate::encode::rows::{People, Rows, Sensitive};
use crate::error::Result;
use crate::group::tree::{Cut, CutTree};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bins per column when the nodes of a level are counted together.
pub(super) const COARSE_BINS: u32 = 256;

/// Counters of one column when a node without a coarse cut is counted again.
pub(super) const FINE_CELLS: usize = 1 << 20;

/// Nodes in memory for which cuts are proposed at once: enough for all threads, and the counts of the parts stay few.
const NODES_AT_ONCE: usize = 1 << 12;

/// Rows that can be counted node by node.
pub trait CountRows: Sync {
    /// The result of counting a batch of nodes.
    type Counts: Sync;

    /// How many nodes can be counted at once.
    fn nodes_at_once(&self) -> usize;

    /// Counts a batch of nodes.
    fn count(&self, tree: &CutTree, nodes: &[OpenNode]) -> Result<Self::Counts>;

    /// Counts one column of one node as finely as possible; `None` if the counts of the batch are already as fine.
    fn count_finely(&self, tree: &CutTree, node: &OpenNode, column: usize) -> Result<Option<Self::Counts>>;

    /// How the people of a node are spread over the codes of a column.
    fn spread<'c>(
        &'c self,
        node: Counted<'c, Self>,
        column: usize,
        counter: &'c mut Counter,
    ) -> ColumnHistogram<'c>;

    /// The counts of one column of a node.
    fn column<'c>(
        &'c self,
        node: Counted<'c, Self>,
        column: usize,
        counter: &'c mut Counter,
    ) -> ColumnCounts<'c>;

    /// How people are counted.
    fn people(&self) -> People;

    /// The rows themselves, if they are in memory.
    fn in_memory(&self) -> Option<&Rows>;
}

/// A node of a batch that was counted.
pub struct Counted<'c, R: CountRows + ?Sized> {
    /// The counts of the batch.
    pub counts: &'c R::Counts,
    /// The position of the node in the batch.
    pub place: usize,
    /// The node.
    pub node: &'c OpenNode,
}

impl<R: CountRows + ?Sized> Clone for Counted<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: CountRows + ?Sized> Copy for Counted<'_, R> {}

/// The counts of one column of a node.
#[derive(Debug, Clone, Copy)]
pub struct ColumnCounts<'c> {
    /// The column as it was counted; its codes may be bins.
    pub column: &'c Column,
    /// The counts.
    pub triples: &'c [Triple],
    /// The codes that occur.
    pub runs: &'c [Run],
    /// The number of the first triple of each run.
    pub first_triples: &'c [usize],
    binning: Option<&'c Binning>,
}

impl Counter {
    /// What was counted last; there are `values` sensitive values.
    fn counted<'c>(
        &'c mut self,
        column: &'c Column,
        binning: Option<&'c Binning>,
        values: usize,
        people: People,
    ) -> ColumnCounts<'c> {
        let (triples, runs, first_triples) = self.runs_of_triples(|triple| match people {
            People::Listed if usize::from(triple.value) < values => 0,
            People::Listed | People::Valued => u64::from(triple.count),
        });
        ColumnCounts { column, triples, runs, first_triples, binning }
    }
}

impl ColumnCounts<'_> {
    /// Converts a cut between the counted codes into a cut between codes of the column.
    pub fn cut_of_codes(&self, cut: Cut) -> Cut {
        match self.binning {
            Some(binning) => binning.cut_of_codes(cut),
            None => cut,
        }
    }
}

impl CountRows for InMemory<'_> {
    type Counts = ();

    fn nodes_at_once(&self) -> usize {
        NODES_AT_ONCE
    }

    fn count(&self, _tree: &CutTree, _nodes: &[OpenNode]) -> Result<()> {
        Ok(())
    }

    fn count_finely(&self, _tree: &CutTree, _node: &OpenNode, _column: usize) -> Result<Option<()>> {
        Ok(None)
    }

    fn spread<'c>(
        &'c self,
        of: Counted<'c, Self>,
        column: usize,
        counter: &'c mut Counter,
    ) -> ColumnHistogram<'c> {
        let (rows, extent) = (of.node.rows.clone(), of.node.extent[column].clone());
        let people = rows.len() as u64;
        let runs = match &self.rows.columns[column] {
            Codes::Narrow(codes) => counter.runs(extent, codes[rows].iter().map(|&code| u16::from(code))),
            Codes::Wide(codes) => counter.runs(extent, codes[rows].iter().copied()),
        };
        ColumnHistogram { column: &self.columns[column], runs, people }
    }

    fn column<'c>(
        &'c self,
        of: Counted<'c, Self>,
        column: usize,
        counter: &'c mut Counter,
    ) -> ColumnCounts<'c> {
        count_node(&self.rows, column, of.node, counter);
        counter.counted(&self.columns[column], None, of.node.part.values(), self.people())
    }

    fn people(&self) -> People {
        self.rows.people()
    }

    fn in_memory(&self) -> Option<&Rows> {
        Some(&self.rows)
    }
}

fn count_node(rows: &Rows, column: usize, node: &OpenNode, counter: &mut Counter) {
    let (extent, values) = (node.extent[column].clone(), node.part.values());
    match (&rows.columns[column], &rows.sensitive) {
        (Codes::Narrow(codes), Sensitive::Single(Codes::Narrow(own))) => {
            let (codes, own) = (&codes[node.rows.clone()], &own[node.rows.clone()]);
            let pairs = codes.iter().zip(own).map(|(&code, &value)| (u16::from(code), u16::from(value)));
            counter.count(extent, values, pairs)
        }
        (Codes::Wide(codes), Sensitive::Single(Codes::Narrow(own))) => {
            let (codes, own) = (&codes[node.rows.clone()], &own[node.rows.clone()]);
            counter.count(
                extent,
                values,
                codes.iter().zip(own).map(|(&code, &value)| (code, u16::from(value))),
            )
        }
        (codes, Sensitive::Single(own)) => {
            counter.count(extent, values, node.rows.clone().map(|row| (codes.get(row), own.get(row))))
        }
        (codes, Sensitive::Lists { lists, offsets, values: all }) => {
            let mut pairs = Vec::new();
            for row in node.rows.clone() {
                let (code, list) = (codes.get(row), lists[row] as usize);
                let own = &all[offsets[list] as usize..offsets[list + 1] as usize];
                pairs.push((code, values as u16));
                pairs.extend(own.iter().map(|&value| (code, value)));
            }
            counter.count(extent, values + 1, pairs.iter().copied())
        }
    }
}

/// Counts of some nodes by column, bin and sensitive value.
///
/// Memory: 8 bytes x nodes x bins x sensitive values, independent of the number of rows; while counting, also 4 bytes
/// for each thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Histograms {
    binnings: Arc<[Binning]>,
    slots: usize,
    /// Cells of one node.
    stride: usize,
    cells: Vec<u64>,
}

impl Histograms {
    fn new(binnings: &Arc<[Binning]>, slots: usize, nodes: usize) -> Self {
        let stride = stride(binnings, slots);
        Histograms { binnings: binnings.clone(), slots, stride, cells: vec![0; stride * nodes] }
    }

    /// The binning of a column and its cells for one node.
    fn column(&self, place: usize, column: usize) -> (&Binning, &[u64]) {
        let binning = &self.binnings[column];
        let start = place * self.stride + stride(&self.binnings[..column], self.slots);
        (binning, &self.cells[start..start + binning.column.codes as usize * self.slots])
    }

    /// Moves the counts of some rows here, taken for the same nodes in the same bins.
    fn take(&mut self, counted: &mut PageCounts) {
        for (own, cell) in self.cells.iter_mut().zip(&mut counted.cells) {
            *own += u64::from(std::mem::take(cell));
        }
        counted.rows = 0;
    }
}

/// Counts of fewer than 2^32 rows, in narrow cells.
struct PageCounts {
    binnings: Arc<[Binning]>,
    slots: usize,
    stride: usize,
    cells: Vec<u32>,
    rows: usize,
}

/// The place of a row whose node is not counted.
const NOWHERE: u32 = u32::MAX;

impl PageCounts {
    fn new(binnings: &Arc<[Binning]>, slots: usize, nodes: usize) -> Self {
        let stride = stride(binnings, slots);
        PageCounts { binnings: binnings.clone(), slots, stride, cells: vec![0; stride * nodes], rows: 0 }
    }

    /// Whether a cell may overflow if `more` rows are added.
    fn is_full(&self, more: usize) -> bool {
        self.rows + more > u32::MAX as usize
    }

    /// Adds the rows of a page; `place` is the position of each row's node, or [`NOWHERE`].
    fn add_page(&mut self, rows: &Rows, place: &[u32]) {
        self.rows += rows.len();
        let mut base = 0;
        for (codes, binning) in rows.columns.iter().zip(&*self.binnings) {
            let page = PageColumn { place, stride: self.stride, slots: self.slots };
            if binning.column.codes > 1 {
                let cells = &mut self.cells[base..];
                match (codes, &rows.sensitive) {
                    (Codes::Narrow(codes), Sensitive::Single(Codes::Narrow(values))) => {
                        page.count(codes, values, &binning.bins, cells);
                    }
                    (Codes::Narrow(codes), Sensitive::Single(Codes::Wide(values))) => {
                        page.count(codes, values, &binning.bins, cells);
                    }
                    (Codes::Wide(codes), Sensitive::Single(Codes::Narrow(values))) => {
                        page.count(codes, values, &binning.bins, cells);
                    }
                    (Codes::Wide(codes), Sensitive::Single(Codes::Wide(values))) => {
                        page.count(codes, values, &binning.bins, cells);
                    }
                    (codes, Sensitive::Lists { .. }) => page.count_lists(codes, rows, &binning.bins, cells),
                }
            }
            base += binning.column.codes as usize * self.slots;
        }
    }
}

fn stride(binnings: &[Binning], slots: usize) -> usize {
    binnings.iter().map(|binning| binning.column.codes as usize * slots).sum()
}

/// One column of a page: where its rows are counted.
struct PageColumn<'p> {
    place: &'p [u32],
    stride: usize,
    slots: usize,
}

impl PageColumn<'_> {
    /// Counts rows that have any number of sensitive values.
    fn count_lists(&self, codes: &Codes, rows: &Rows, bins: &Bins, cells: &mut [u32]) {
        for (row, &place) in self.place.iter().enumerate().filter(|&(_, &place)| place != NOWHERE) {
            let cell = place as usize * self.stride + bins.of(usize::from(codes.get(row))) * self.slots;
            cells[cell + self.slots - 1] += 1;
            rows.list(row).iter().for_each(|&value| cells[cell + usize::from(value)] += 1);
        }
    }

    /// Counts single-valued rows.
    fn count<C: Copy + Into<usize>, V: Copy + Into<usize>>(
        &self,
        codes: &[C],
        values: &[V],
        bins: &Bins,
        cells: &mut [u32],
    ) {
        match bins {
            Bins::Shift(bits) => self.count_bins(codes, values, |code| code >> bits, cells),
            Bins::Table(_) => self.count_bins(codes, values, |code| bins.of(code), cells),
        }
    }

    #[inline]
    fn count_bins<C: Copy + Into<usize>, V: Copy + Into<usize>>(
        &self,
        codes: &[C],
        values: &[V],
        bin: impl Fn(usize) -> usize,
        cells: &mut [u32],
    ) {
        for ((&code, &value), &place) in codes.iter().zip(values).zip(self.place) {
            if place != NOWHERE {
                cells[place as usize * self.stride + bin(code.into()) * self.slots + value.into()] += 1;
            }
        }
    }
}

impl OnPages<'_> {
    /// Counts the nodes' rows in these bins, in one pass over all pages.
    fn histograms(
        &self,
        tree: &CutTree,
        nodes: &[OpenNode],
        binnings: &Arc<[Binning]>,
    ) -> Result<Histograms> {
        let (store, slots, threads) = (self.store, self.slots, rayon::current_num_threads());
        let bytes = counting_bytes(stride(binnings, slots), threads) * nodes.len() as u64;
        let _reserved = self.budget.reserve("counting the nodes of a level", bytes)?;
        let mut place_of = vec![NOWHERE; tree.len()];
        nodes.iter().enumerate().for_each(|(place, node)| place_of[node.id as usize] = place as u32);
        let walk = Walk::new(tree);
        let next = AtomicUsize::new(0);
        let total = Mutex::new(Histograms::new(binnings, slots, nodes.len()));
        let add = |counts: &mut PageCounts| total.lock().unwrap_or_else(PoisonError::into_inner).take(counts);
        let worker = |_| -> Result<()> {
            let mut counts = PageCounts::new(binnings, slots, nodes.len());
            let (mut scratch, mut room) = (store.layout().empty(0), WalkRoom::default());
            let mut place: Vec<u32> = Vec::with_capacity(PAGE_ROWS);
            loop {
                let page = next.fetch_add(1, Ordering::Relaxed);
                if page >= store.len() {
                    add(&mut counts);
                    return Ok(());
                }
                self.progress.go_on()?;
                let rows = store.load(page, &mut scratch)?;
                if counts.is_full(rows.len()) {
                    add(&mut counts);
                }
                place.clear();
                walk.nodes(rows, &mut room, |node| place.push(place_of[node as usize]));
                counts.add_page(rows, &place);
            }
        };
        (0..threads).into_par_iter().try_for_each(worker)?;
        Ok(total.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Bytes for counting one node on this many threads.
pub(super) fn counting_bytes(cells: usize, threads: usize) -> u64 {
    (cells * (8 + 4 * threads)) as u64
}

impl CountRows for OnPages<'_> {
    type Counts = Histograms;

    fn nodes_at_once(&self) -> usize {
        let bytes = counting_bytes(stride(&self.coarse, self.slots), rayon::current_num_threads());
        (self.budget.free() / bytes.max(1)).max(1) as usize
    }

    fn count(&self, tree: &CutTree, nodes: &[OpenNode]) -> Result<Histograms> {
        self.histograms(tree, nodes, &self.coarse)
    }

    fn count_finely(&self, tree: &CutTree, node: &OpenNode, column: usize) -> Result<Option<Histograms>> {
        let most = (FINE_CELLS / self.slots).max(2) as u32;
        let binning = |(number, own)| match number == column {
            true => Binning::new(own, most),
            false => Binning::new(&Column::evenly_spaced(1), 1),
        };
        let binnings: Arc<[Binning]> = self.columns.iter().enumerate().map(binning).collect();
        self.histograms(tree, std::slice::from_ref(node), &binnings).map(Some)
    }

    fn spread<'c>(
        &'c self,
        of: Counted<'c, Self>,
        column: usize,
        counter: &'c mut Counter,
    ) -> ColumnHistogram<'c> {
        let (binning, cells) = of.counts.column(of.place, column);
        let people = |cells: &[u64]| match self.people() {
            People::Valued => cells.iter().sum(),
            People::Listed => cells.last().copied().unwrap_or(0),
        };
        let runs = counter.runs_of(cells.chunks_exact(self.slots).map(people));
        ColumnHistogram { column: &binning.column, runs, people: of.node.part.people }
    }

    fn column<'c>(
        &'c self,
        of: Counted<'c, Self>,
        column: usize,
        counter: &'c mut Counter,
    ) -> ColumnCounts<'c> {
        let (binning, cells) = of.counts.column(of.place, column);
        counter.triples_of(cells, self.slots);
        counter.counted(&binning.column, Some(binning), of.node.part.values(), self.people())
    }

    fn people(&self) -> People {
        people_of(self.store)
    }

    fn in_memory(&self) -> Option<&Rows> {
        None
    }
}

/// How the people of pages are counted.
pub(super) fn people_of(store: &PageStore<'_>) -> People {
    match store.layout().lists {
        Lists::One => People::Valued,
        Lists::Many => People::Listed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn binnings() -> Arc<[Binning]> {
        [Binning::new(&Column::evenly_spaced(300), 40), Binning::new(&Column::evenly_spaced(3), 40)].into()
    }

    fn counted(rows: &[(u16, u8, u32)]) -> PageCounts {
        let mut counts = PageCounts::new(&binnings(), 3, 2);
        let page = Rows {
            columns: vec![
                Codes::Wide(rows.iter().map(|row| row.0).collect()),
                Codes::Narrow(rows.iter().map(|row| row.1).collect()),
            ],
            sensitive: Sensitive::Single(Codes::Narrow(rows.iter().map(|row| row.1).collect())),
        };
        let place: Vec<u32> = rows.iter().map(|row| if row.2 < 2 { row.2 } else { NOWHERE }).collect();
        counts.add_page(&page, &place);
        counts
    }

    fn total(parts: &[&[(u16, u8, u32)]]) -> Histograms {
        let mut total = Histograms::new(&binnings(), 3, 2);
        parts.iter().for_each(|rows| total.take(&mut counted(rows)));
        total
    }

    proptest! {
        /// Parts of the rows may be counted in any order and by any number of threads.
        #[test]
        fn counts_add_up_in_any_order(
            rows in prop::collection::vec((0u16..300, 0u8..3, 0u32..3), 0..60), cuts in (0usize..60, 0usize..60),
        ) {
            let (one, two) = (cuts.0.min(cuts.1).min(rows.len()), cuts.0.max(cuts.1).min(rows.len()));
            let (a, b, c) = (&rows[..one], &rows[one..two], &rows[two..]);
            let all = total(&[&rows]);
            prop_assert_eq!(&total(&[a, b, c]), &all);
            prop_assert_eq!(&total(&[c, a, b]), &all);
            let counted: u64 = all.cells.iter().sum();
            prop_assert_eq!(counted as usize, 2 * rows.iter().filter(|row| row.2 < 2).count());
        }
    }

    #[test]
    fn narrow_cells_are_emptied_before_they_overflow() {
        let mut counts = counted(&[(5, 1, 0); 7]);
        assert!(!counts.is_full(u32::MAX as usize - 7) && counts.is_full(u32::MAX as usize - 6));
        let mut total = Histograms::new(&binnings(), 3, 2);
        total.take(&mut counts);
        total.take(&mut counts);
        assert_eq!(total.cells.iter().sum::<u64>(), 14);
        assert!(!counts.is_full(u32::MAX as usize));
    }
}
