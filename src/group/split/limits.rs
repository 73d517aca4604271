//! How large may a node be to be finished in memory, and how much memory does growing a tree take?

use super::page_counts::{COARSE_BINS, counting_bytes, finest_cells};
use crate::encode::column::Column;
use crate::encode::group_counts::Part;
use crate::encode::page::{Layout, Lists};

/// A node whose codes take at most this many bytes is finished in memory.
pub const SUBTREE_BYTES: usize = if cfg!(feature = "force-spill") { 1 << 12 } else { 8 << 20 };

/// A node with more rows than this is not finished in memory, however narrow the rows are.
const SUBTREE_ROWS: usize = 1 << 19;

/// Scratch memory of a thread per row or listed value of a node: keys sorted twice, dense counters and triples.
const SCRATCH_PER_ROW: usize = 32;

/// Rows of a node that a thread collects before writing a page, if the budget allows.
const WAITING_ROWS: u64 = 1 << 10;

/// The sizes that fix the order of decisions and where published files end. They are the same for every table, memory and
/// machine: other sizes may give other groups and other files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CanonicalSizes {
    /// Bytes of the codes of a node that is finished in memory.
    pub subtree_bytes: usize,
    /// Rows of a part, ascending: a larger node is first split into parts of at most so many rows, and each of them is
    /// then grown on its own.
    pub part_rows: [u64; 2],
    /// A file of a published table ends at the first border between groups after every so many people.
    pub file_people: u64,
}

impl Default for CanonicalSizes {
    fn default() -> Self {
        CanonicalSizes { subtree_bytes: SUBTREE_BYTES, part_rows: [1 << 24, 1 << 31], file_people: 1 << 24 }
    }
}

/// The largest node that is finished in memory, and the largest parts of a table. They depend only on the table and the
/// policy, since they affect the order of decisions.
#[derive(Debug, Clone, Copy)]
pub struct SubtreeLimits {
    /// Bytes of codes.
    pub(super) bytes: usize,
    /// Rows.
    pub(super) rows: usize,
    /// Values in lists; 0 if every row has one value.
    pub(super) values: usize,
    /// Rows of parts, ascending.
    pub(super) part_rows: [u64; 2],
}

impl SubtreeLimits {
    /// Creates the limits for rows of this layout.
    pub fn new(layout: &Layout, sizes: &CanonicalSizes) -> Self {
        let CanonicalSizes { subtree_bytes, part_rows, .. } = *sizes;
        let row_bytes = layout.row_bytes();
        // Lists are counted value by value, so a node of long lists has fewer rows.
        let (rows, values) = match layout.lists {
            Lists::One => (subtree_bytes / row_bytes, 0),
            Lists::Many => (subtree_bytes / 4 / row_bytes, (subtree_bytes / 8 / size_of::<u16>()).max(1)),
        };
        let rows = rows.clamp(1, SUBTREE_ROWS);
        SubtreeLimits { bytes: rows * row_bytes + values * size_of::<u16>(), rows, values, part_rows }
    }

    /// The most rows of the parts that a node with so many people is first split into; `None` if it is no larger than a
    /// part itself.
    pub(super) fn part_rows_of(&self, people: u64) -> Option<u64> {
        self.part_rows.iter().rev().copied().find(|&rows| people > rows)
    }

    /// Whether a node with so many people and sensitive values is finished in memory.
    pub(super) fn fits(&self, part: &Part) -> bool {
        part.people <= self.rows as u64 && (self.values == 0 || part.occurrences() <= self.values as u64)
    }

    /// The working memory for growing a tree, in addition to its pages.
    pub fn working_bytes(&self, columns: &[Column], slots: usize, threads: usize) -> u64 {
        let coarse: usize = columns.iter().map(|column| column.codes.min(COARSE_BINS) as usize * slots).sum();
        let counting = counting_bytes(coarse.max(finest_cells(columns, slots)), threads) as usize;
        // One node grows while another one is written.
        let finishing = 4 * self.bytes as u64 + self.scratch_bytes(threads);
        finishing.max(counting as u64)
    }

    /// The rows of a node that is finished in memory, and their copy while they move or are written.
    pub(super) fn node_bytes(&self, part: &Part) -> u64 {
        match self.values {
            0 => 2 * (self.bytes / self.rows) as u64 * part.people,
            _ => 2 * self.bytes as u64,
        }
    }

    /// The scratch memory of threads that finish nodes.
    pub(super) fn scratch_bytes(&self, threads: usize) -> u64 {
        (threads * SCRATCH_PER_ROW * (self.rows + self.values)) as u64
    }

    /// Bytes for the rows of a table that wait until a page for their node is full (a third of the total), and for the
    /// directory of these pages. Small pages would make the directory large. At most half of the budget.
    pub fn waiting_bytes(&self, rows: u64, threads: usize, budget: u64) -> u64 {
        // Nodes are at least half the maximum size, except for the few that a small cut leaves.
        let nodes = rows.div_ceil((self.rows as u64 / 2).max(1));
        let row_bytes = (self.bytes / self.rows) as u64;
        let bytes = nodes.saturating_mul(3 * threads as u64 * WAITING_ROWS * row_bytes);
        bytes.min(budget / 2).max(3 * self.bytes as u64)
    }

    /// The largest number of threads, up to `threads`, whose working memory is at most half of `budget`; at least one.
    pub fn threads(&self, columns: &[Column], slots: usize, threads: usize, budget: u64) -> usize {
        (2..=threads).rev().find(|&many| self.working_bytes(columns, slots, many) <= budget / 2).unwrap_or(1)
    }
}
