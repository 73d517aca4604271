//! How are rows on pages counted?
//!
//! The nodes of a level are counted together, each column in bins. Counts of some of the pages add up to those of all.
//! Memory: [`Histograms`].

use super::binning::{Binning, Bins};
use super::frontier::OpenNode;
use super::siblings::{DerivedNode, derive_largest};
use super::walk::{CHUNK, Walk, WalkRoom, chunks};
use crate::encode::codes::Codes;
use crate::encode::column::Column;
use crate::encode::page::{Layout, Lists};
use crate::encode::rows::{Rows, Sensitive};
use crate::group::tree::{CutTree, NodeId};
use std::ops::Range;
use std::sync::Arc;

/// Bins per column when the nodes of a level are counted together.
pub(super) const COARSE_BINS: u32 = 256;

/// Counters of one column when a node without a coarse cut is counted again.
const FINE_CELLS: usize = 1 << 20;

/// Counters per code: one for each sensitive value, and one for people if they may have any number of values.
pub(super) fn slots(layout: &Layout) -> usize {
    layout.values as usize + usize::from(layout.lists == Lists::Many)
}

/// The binnings for counting the nodes of a level together.
pub(super) fn coarsely(columns: &[Column]) -> Arc<[Binning]> {
    columns.iter().map(|column| Binning::new(column, COARSE_BINS)).collect()
}

/// The binnings for counting one column of a node as finely as possible.
pub(super) fn finely(columns: &[Column], column: usize, slots: usize) -> Arc<[Binning]> {
    let most = (FINE_CELLS / slots).max(2) as u32;
    let binning = |(number, own)| match number == column {
        true => Binning::new(own, most),
        false => Binning::new(&Column::evenly_spaced(1), 1),
    };
    columns.iter().enumerate().map(binning).collect()
}

/// The most counters of a column that is counted as finely as possible.
pub(super) fn finest_cells(columns: &[Column], slots: usize) -> usize {
    columns.iter().map(|column| (column.codes as usize * slots).min(FINE_CELLS)).max().unwrap_or(0)
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
    pub(super) fn new(binnings: &Arc<[Binning]>, slots: usize, nodes: usize) -> Self {
        let stride = stride(binnings, slots);
        Histograms { binnings: binnings.clone(), slots, stride, cells: vec![0; stride * nodes] }
    }

    /// Counts that were made elsewhere; `None` if they are not those of so many nodes.
    pub(super) fn of_cells(
        binnings: &Arc<[Binning]>,
        slots: usize,
        nodes: usize,
        cells: Vec<u64>,
    ) -> Option<Self> {
        let stride = stride(binnings, slots);
        (cells.len() == stride * nodes).then(|| Histograms {
            binnings: binnings.clone(),
            slots,
            stride,
            cells,
        })
    }

    /// All counts, node after node.
    pub(super) fn into_cells(self) -> Vec<u64> {
        self.cells
    }

    /// The binning of a column and its cells for one node.
    pub(super) fn column(&self, place: usize, column: usize) -> (&Binning, &[u64]) {
        let binning = &self.binnings[column];
        let start = place * self.stride + stride(&self.binnings[..column], self.slots);
        (binning, &self.cells[start..start + binning.column.codes as usize * self.slots])
    }

    /// The bytes that they take.
    pub(super) fn bytes(&self) -> u64 {
        size_of_val(&*self.cells) as u64
    }

    /// Replaces what was counted of a derived node by its own counts.
    pub(super) fn derive(&mut self, derived: &DerivedNode, before: &Histograms) {
        let DerivedNode { place, parent, siblings } = derived;
        let stride = self.stride;
        let of_parent = &before.cells[parent * stride..][..stride];
        for (cell, &all) in (place * stride..).zip(of_parent) {
            let others: u64 =
                siblings.iter().map(|sibling| self.cells[cell - place * stride + sibling * stride]).sum();
            self.cells[cell] = all - self.cells[cell] - others;
        }
    }

    /// Moves the counts of some rows here, taken for the same nodes in the same bins.
    fn take(&mut self, counted: &mut PageCounts) {
        for (own, cell) in self.cells.iter_mut().zip(&mut counted.cells) {
            *own += u64::from(std::mem::take(cell));
        }
        counted.most = 0;
    }
}

/// Counts below 2^32, in narrow cells.
struct PageCounts {
    binnings: Arc<[Binning]>,
    slots: usize,
    stride: usize,
    cells: Vec<u32>,
    /// No cell holds more.
    most: usize,
}

/// The place of a row whose node is not counted.
pub(super) const NOWHERE: u32 = u32::MAX;

/// The most nodes that can be counted at once: the number of a node's first cell has 32 bits.
pub(super) fn most_nodes(binnings: &[Binning], slots: usize) -> usize {
    (u32::MAX as usize / stride(binnings, slots).max(1)).max(1)
}

/// Rows of a page that are counted, at most [`CHUNK`] of them.
#[derive(Default)]
struct CountedRows {
    /// Where they are on the page.
    page_rows: Range<usize>,
    /// Those that are counted, as places in `page_rows`; all of them are, if there are as many.
    rows: Vec<u32>,
    /// For each of these, the cell of its sensitive value in the first bin of the first column.
    first: Vec<u32>,
}

impl CountedRows {
    /// Finds those of these rows whose nodes are counted.
    fn find(
        &mut self,
        chunk: Range<usize>,
        rows: &Rows,
        places: &NodePlaces,
        room: &mut WalkRoom,
        stride: u32,
    ) {
        self.rows.resize(CHUNK, 0);
        self.first.resize(CHUNK, 0);
        let (kept, first, mut many) = (&mut self.rows[..], &mut self.first[..], 0);
        // Without a branch: which rows are counted cannot be predicted.
        for (row, place) in (0..).zip(places.of_rows(rows, chunk.clone(), room)) {
            kept[many] = row;
            first[many] = place.wrapping_mul(stride);
            many += usize::from(place != NOWHERE);
        }
        self.rows.truncate(many);
        self.first.truncate(many);
        self.page_rows = chunk;
        match &rows.sensitive {
            Sensitive::Single(Codes::Narrow(values)) => self.add_values(values),
            Sensitive::Single(Codes::Wide(values)) => self.add_values(values),
            Sensitive::Lists { .. } => {}
        }
    }

    /// Moves the cell of each row to that of its sensitive value.
    fn add_values<V: Copy + Into<u32>>(&mut self, values: &[V]) {
        let values = &values[self.page_rows.clone()];
        let rows = self.first.iter_mut().zip(&self.rows);
        rows.for_each(|(first, &row)| *first += values[row as usize].into());
    }
}

impl PageCounts {
    fn new(binnings: &Arc<[Binning]>, slots: usize, nodes: usize) -> Self {
        let stride = stride(binnings, slots);
        PageCounts { binnings: binnings.clone(), slots, stride, cells: vec![0; stride * nodes], most: 0 }
    }

    /// Whether a cell may overflow if these rows are added.
    fn is_full(&self, rows: &Rows) -> bool {
        self.most + most_in_a_cell(rows) > u32::MAX as usize
    }

    /// Adds rows of a page.
    fn add(&mut self, rows: &Rows, counted: &CountedRows) {
        let slots = self.slots;
        let mut start = 0;
        for (codes, binning) in rows.columns.iter().zip(&*self.binnings) {
            if binning.column.codes > 1 {
                let cells = &mut self.cells[start..];
                match (codes, &rows.sensitive) {
                    (Codes::Narrow(codes), Sensitive::Single(_)) => {
                        count(codes, counted, &binning.bins, slots, cells)
                    }
                    (Codes::Wide(codes), Sensitive::Single(_)) => {
                        count(codes, counted, &binning.bins, slots, cells)
                    }
                    (codes, Sensitive::Lists { .. }) => {
                        count_lists(codes, rows, counted, &binning.bins, slots, cells);
                    }
                }
            }
            start += binning.column.codes as usize * slots;
        }
    }
}

/// The most that these rows can add to a cell: a list may hold a value several times.
fn most_in_a_cell(rows: &Rows) -> usize {
    match rows.sensitive {
        Sensitive::Single(_) => rows.len(),
        Sensitive::Lists { .. } => (0..rows.len()).map(|row| rows.list(row).len().max(1)).sum(),
    }
}

pub(super) fn stride(binnings: &[Binning], slots: usize) -> usize {
    binnings.iter().map(|binning| binning.column.codes as usize * slots).sum()
}

/// Where the rows of some nodes of a tree are counted.
pub(super) struct NodePlaces {
    walk: Walk,
    place_of: Vec<u32>,
    nodes: usize,
}

impl NodePlaces {
    /// The places follow the order of the nodes.
    pub(super) fn new(tree: &CutTree, nodes: &[NodeId]) -> Self {
        let mut place_of = vec![NOWHERE; tree.len()];
        nodes.iter().zip(0..).for_each(|(&node, place)| place_of[node as usize] = place);
        NodePlaces { walk: Walk::new(tree), place_of, nodes: nodes.len() }
    }

    /// Leaves out the nodes whose counts follow from those of the batch before; returns them.
    pub(super) fn derive(
        &mut self,
        tree: &CutTree,
        batch: &[OpenNode],
        before: &[(NodeId, u64)],
    ) -> Vec<DerivedNode> {
        derive_largest(tree, batch, before, &mut self.place_of)
    }

    /// The places of these rows, in order, at most [`CHUNK`] rows; [`NOWHERE`] for the rows of other nodes.
    pub(super) fn of_rows(
        &self,
        rows: &Rows,
        chunk: Range<usize>,
        room: &mut WalkRoom,
    ) -> impl Iterator<Item = u32> {
        self.walk.nodes(rows, chunk, room).iter().map(|&node| self.place_of[node as usize])
    }
}

/// Counts the rows of some nodes, page by page.
pub(super) struct NodeCounter<'p> {
    places: &'p NodePlaces,
    counts: PageCounts,
    counted: CountedRows,
    room: WalkRoom,
}

impl<'p> NodeCounter<'p> {
    pub(super) fn new(places: &'p NodePlaces, binnings: &Arc<[Binning]>, slots: usize) -> Self {
        let counts = PageCounts::new(binnings, slots, places.nodes);
        NodeCounter { places, counts, counted: CountedRows::default(), room: WalkRoom::default() }
    }

    /// Whether it must be emptied before these rows are added.
    pub(super) fn is_full(&self, rows: &Rows) -> bool {
        self.counts.is_full(rows)
    }

    /// Adds the rows of a page.
    pub(super) fn add(&mut self, rows: &Rows) {
        let NodeCounter { places, counts, counted, room } = self;
        counts.most += most_in_a_cell(rows);
        // Their cells stay in the cache while one column after the other is counted.
        for chunk in chunks(rows.len()) {
            counted.find(chunk, rows, places, room, counts.stride as u32);
            counts.add(rows, counted);
        }
    }

    /// Moves what was counted.
    pub(super) fn empty_into(&mut self, total: &mut Histograms) {
        total.take(&mut self.counts);
    }
}

/// Counts rows that have any number of sensitive values.
fn count_lists(
    codes: &Codes,
    rows: &Rows,
    counted: &CountedRows,
    bins: &Bins,
    slots: usize,
    cells: &mut [u32],
) {
    for (&row, &first) in counted.rows.iter().zip(&counted.first) {
        let row = counted.page_rows.start + row as usize;
        let cell = first as usize + bins.of(usize::from(codes.get(row))) * slots;
        cells[cell + slots - 1] += 1;
        rows.list(row).iter().for_each(|&value| cells[cell + usize::from(value)] += 1);
    }
}

/// Counts single-valued rows.
fn count<C: Copy + Into<usize>>(
    codes: &[C],
    counted: &CountedRows,
    bins: &Bins,
    slots: usize,
    cells: &mut [u32],
) {
    match bins {
        Bins::Shift(bits) => count_bins(codes, counted, |code| code >> bits, slots, cells),
        Bins::Table(_) => count_bins(codes, counted, |code| bins.of(code), slots, cells),
    }
}

#[inline]
fn count_bins<C: Copy + Into<usize>>(
    codes: &[C],
    counted: &CountedRows,
    bin: impl Fn(usize) -> usize,
    slots: usize,
    cells: &mut [u32],
) {
    let codes = &codes[counted.page_rows.clone()];
    let mut add = |code: C, first: u32| cells[first as usize + bin(code.into()) * slots] += 1;
    if counted.rows.len() == codes.len() {
        codes.iter().zip(&counted.first).for_each(|(&code, &first)| add(code, first));
    } else {
        let rows = counted.rows.iter().zip(&counted.first);
        rows.for_each(|(&row, &first)| add(codes[row as usize], first));
    }
}

/// Bytes for counting one node on this many threads.
pub(super) fn counting_bytes(cells: usize, threads: usize) -> u64 {
    (cells * (8 + 4 * threads)) as u64
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
        let cell = |row: &(u16, u8, u32)| row.2 * counts.stride as u32 + u32::from(row.1);
        let own = (0..).zip(rows).filter(|(_, row)| row.2 < 2);
        let counted = CountedRows {
            page_rows: 0..rows.len(),
            rows: own.clone().map(|(place, _)| place).collect(),
            first: own.map(|(_, row)| cell(row)).collect(),
        };
        counts.add(&page, &counted);
        counts
    }

    /// Rows without columns, with so many values in each list.
    fn lists(many: &[usize]) -> Rows {
        let ends = many.iter().scan(0, |end, many| {
            *end += *many as u32;
            Some(*end)
        });
        let offsets: Vec<u32> = [0].into_iter().chain(ends).collect();
        let values = vec![1; offsets[many.len()] as usize];
        let sensitive = Sensitive::Lists { lists: (0..many.len() as u32).collect(), offsets, values };
        Rows { columns: vec![], sensitive }
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
        let tree = CutTree::default();
        let places = NodePlaces::new(&tree, &[CutTree::ROOT]);
        let mut counter = NodeCounter::new(&places, &Arc::from([]), 2);
        // Two people without a value, and one who has the same value five times.
        let rows = lists(&[0, 5, 0]);
        counter.counts.most = u32::MAX as usize - 7;
        assert!(!counter.is_full(&rows));
        counter.add(&rows);
        assert!(counter.is_full(&lists(&[0])));
        counter.empty_into(&mut Histograms::new(&Arc::from([]), 2, 1));
        assert!(!counter.is_full(&rows));
    }

    #[test]
    fn what_was_counted_is_moved_once() {
        let mut counts = counted(&[(5, 1, 0); 7]);
        let mut total = Histograms::new(&binnings(), 3, 2);
        total.take(&mut counts);
        total.take(&mut counts);
        assert_eq!(total.cells.iter().sum::<u64>(), 14);
    }
}
