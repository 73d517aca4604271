//! How many people in a node have which values?
//!
//! Rows in memory are counted exactly, column by column, when a node is examined. Rows on pages are counted for many
//! nodes in one pass, first in coarse bins; a node without a coarse cut is counted again, one column at a time.
//! Memory: [`Counter`] in memory; on pages see [`OnPages`].

use super::binning::Binning;
use super::elsewhere;
use super::frontier::OpenNode;
use super::page_counts::{
    Histograms, NodeCounter, NodePlaces, counting_bytes, finely, finest_cells, most_nodes, stride,
};
use super::part_rows::PartRows;
use super::rank::{ColumnHistogram, Run};
use super::rows::{InMemory, OnPages};
use super::siblings::{BatchCounts, KeptCounts};
use super::triples::{Counter, Triple};
use crate::encode::codes::Codes;
use crate::encode::column::Column;
use crate::encode::page::{Layout, Lists};
use crate::encode::rows::{People, Rows, Sensitive};
use crate::error::Result;
use crate::group::tree::{Cut, CutTree, NodeId};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How finely rows on pages are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fineness {
    /// All columns, in coarse bins.
    Coarse,
    /// One column, as finely as possible.
    Finely(u32),
}

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

    /// Keeps the counts of a batch whose nodes are decided, if they help to count the next one.
    fn keep(&mut self, counts: Self::Counts);

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

    fn keep(&mut self, (): ()) {}

    fn count_finely(&self, _tree: &CutTree, _node: &OpenNode, _column: usize) -> Result<Option<()>> {
        Ok(None)
    }

    fn spread<'c>(
        &'c self,
        of: Counted<'c, Self>,
        column: usize,
        counter: &'c mut Counter,
    ) -> ColumnHistogram<'c> {
        let people = of.node.rows.len() as u64;
        let runs =
            counter.runs(of.node.extent[column].clone(), &self.rows.columns[column], of.node.rows.clone());
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

impl OnPages<'_> {
    /// Counts the nodes' rows in these bins, in one pass over all pages.
    fn batch_counts(&self, tree: &CutTree, batch: &[OpenNode], bins: Fineness) -> Result<BatchCounts> {
        let histograms = self.histograms(tree, batch, bins)?;
        Ok(BatchCounts { histograms, nodes: batch.iter().map(|node| (node.id, node.part.people)).collect() })
    }

    fn histograms(&self, tree: &CutTree, batch: &[OpenNode], bins: Fineness) -> Result<Histograms> {
        let store = match self.rows {
            PartRows::Here(store) => store,
            PartRows::Elsewhere(rows) => return elsewhere::histograms(rows, tree, batch, bins, self),
        };
        let (slots, threads, binnings) = (self.slots, rayon::current_num_threads(), self.binnings(bins));
        let bytes = counting_bytes(stride(&binnings, slots), threads) * batch.len() as u64;
        let _reserved = self.budget.reserve("counting the nodes of a level", bytes)?;
        let nodes: Vec<NodeId> = batch.iter().map(|node| node.id).collect();
        let mut places = NodePlaces::new(tree, &nodes);
        let before = self.before.as_ref().filter(|_| bins == Fineness::Coarse).map(|before| &before.batch);
        let derived = before.map_or(vec![], |before| places.derive(tree, batch, &before.nodes));
        let next = AtomicUsize::new(0);
        let total = Mutex::new(Histograms::new(&binnings, slots, nodes.len()));
        let worker = |_| -> Result<()> {
            let mut counter = NodeCounter::new(&places, &binnings, slots);
            let mut scratch = store.layout().empty(0);
            loop {
                let page = next.fetch_add(1, Ordering::Relaxed);
                if page >= store.len() {
                    counter.empty_into(&mut total.lock().unwrap_or_else(PoisonError::into_inner));
                    return Ok(());
                }
                self.progress.go_on()?;
                let rows = store.load(page, &mut scratch)?;
                self.progress.advance(rows.len() as u64);
                if counter.is_full(rows) {
                    counter.empty_into(&mut total.lock().unwrap_or_else(PoisonError::into_inner));
                }
                counter.add(rows);
            }
        };
        (0..threads).into_par_iter().try_for_each(worker)?;
        let mut total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = before {
            derived.iter().for_each(|node| total.derive(node, &before.histograms));
        }
        Ok(total)
    }

    /// The bins of each column.
    pub(super) fn binnings(&self, bins: Fineness) -> Arc<[Binning]> {
        match bins {
            Fineness::Coarse => self.coarse.clone(),
            Fineness::Finely(column) => finely(self.columns, column as usize, self.slots),
        }
    }
}

impl CountRows for OnPages<'_> {
    type Counts = BatchCounts;

    fn nodes_at_once(&self) -> usize {
        let bytes = counting_bytes(stride(&self.coarse, self.slots), rayon::current_num_threads());
        let most = most_nodes(&self.coarse, self.slots) as u64;
        (self.budget.free() / bytes.max(1)).clamp(1, most) as usize
    }

    fn count(&self, tree: &CutTree, nodes: &[OpenNode]) -> Result<BatchCounts> {
        self.batch_counts(tree, nodes, Fineness::Coarse)
    }

    fn keep(&mut self, batch: BatchCounts) {
        self.before = None;
        let threads = rayon::current_num_threads();
        let next = 2 * batch.nodes.len() as u64 * counting_bytes(stride(&self.coarse, self.slots), threads);
        let finely = counting_bytes(finest_cells(self.columns, self.slots), threads);
        let bytes = batch.histograms.bytes();
        // There must be room for counting the next batch, and one of its nodes finely.
        if matches!(self.rows, PartRows::Here(_))
            && bytes + next.max(finely) <= self.budget.free()
            && let Some(_room) = self.budget.try_reserve(bytes)
        {
            self.before = Some(KeptCounts { batch, _room });
        }
    }

    fn count_finely(&self, tree: &CutTree, node: &OpenNode, column: usize) -> Result<Option<BatchCounts>> {
        self.batch_counts(tree, std::slice::from_ref(node), Fineness::Finely(column as u32)).map(Some)
    }

    fn spread<'c>(
        &'c self,
        of: Counted<'c, Self>,
        column: usize,
        counter: &'c mut Counter,
    ) -> ColumnHistogram<'c> {
        let (binning, cells) = of.counts.histograms.column(of.place, column);
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
        let (binning, cells) = of.counts.histograms.column(of.place, column);
        counter.triples_of(cells, self.slots);
        counter.counted(&binning.column, Some(binning), of.node.part.values(), self.people())
    }

    fn people(&self) -> People {
        people_of(self.rows.layout())
    }

    fn in_memory(&self) -> Option<&Rows> {
        None
    }
}

/// How the people of pages are counted.
pub(super) fn people_of(layout: &Layout) -> People {
    match layout.lists {
        Lists::One => People::Valued,
        Lists::Many => People::Listed,
    }
}
