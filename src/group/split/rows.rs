//! The rows of open nodes: in memory, or on pages.

use super::binning::Binning;
use super::limits::SubtreeLimits;
use super::page_counts::{coarsely, slots};
use super::part_rows::PartRows;
use super::siblings::KeptCounts;
use crate::encode::column::Column;
use crate::encode::rows::Rows;
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use std::ops::Range;
use std::sync::Arc;

/// Rows in memory; the rows of a node are contiguous.
///
/// Memory: the rows; while a level is moved, also a copy of one column and 4 bytes per row.
pub struct InMemory<'a> {
    pub(super) columns: &'a [Column],
    pub(super) rows: Rows,
    pub(super) moves: Moves,
}

/// Where the rows of the nodes that are split come from.
#[derive(Default)]
pub(super) struct Moves {
    /// The rows of each node, as they lie after the move.
    pub(super) nodes: Vec<Range<usize>>,
    /// The former place of each of these rows, node after node.
    pub(super) sources: Vec<u32>,
}

impl<'a> InMemory<'a> {
    /// Creates a single node with all these rows.
    pub fn new(columns: &'a [Column], rows: Rows) -> Self {
        InMemory { columns, rows, moves: Moves::default() }
    }
}

/// Rows on pages; the tree of cuts says which node a row is in.
///
/// Memory: a page per thread, and 8 bytes x nodes counted at once x bins x sensitive values per thread, which are
/// reserved while they are in use; as many bytes for the counts of the batch before, if there is room.
pub struct OnPages<'a> {
    pub(super) columns: &'a [Column],
    pub(super) rows: &'a PartRows<'a>,
    pub(super) budget: &'a Arc<Budget>,
    /// Says whether to go on, and is told of the rows that were counted, once for each pass.
    pub(super) progress: &'a Progress,
    /// Only larger nodes are split here.
    pub(super) smallest: Smallest,
    /// Counters per code: one for each sensitive value, and one for people if they may have any number of values.
    pub(super) slots: usize,
    pub(super) coarse: Arc<[Binning]>,
    /// The counts of the batch before, if there was room to keep them.
    pub(super) before: Option<KeptCounts>,
}

/// How far nodes are split on pages.
#[derive(Debug, Clone, Copy)]
pub enum Smallest {
    /// Until they can be finished in memory.
    Subtree(SubtreeLimits),
    /// Until they have at most so many rows.
    Part(u64),
}

impl<'a> OnPages<'a> {
    /// Creates it from the pages of a table; nodes that are no larger than `smallest` are not split.
    pub fn new(
        columns: &'a [Column],
        rows: &'a PartRows<'a>,
        budget: &'a Arc<Budget>,
        progress: &'a Progress,
        smallest: Smallest,
    ) -> Self {
        let slots = slots(rows.layout());
        let coarse = coarsely(columns);
        OnPages { columns, rows, budget, progress, smallest, slots, coarse, before: None }
    }
}
