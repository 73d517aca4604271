//! Which rows are encoded together?
//!
//! Page boundaries of Parquet files and batches of Arrow files follow the calls to the encoder, so the encoder is
//! always called with slabs: [`SLAB_ROWS`] rows, fewer only at the end of a row group or of the table.
//! Memory: the batches that hold the rows of one slab.

use arrow_array::ArrayRef;
use arrow_schema::ArrowError;
use arrow_select::concat::concat;

/// The most rows that are encoded together.
pub const SLAB_ROWS: usize = 1 << 16;

/// What follows a slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlabEnd {
    /// More rows of the same row group may follow.
    Open,
    /// The row group is full.
    RowGroup,
}

/// Rows that are encoded together.
pub(super) struct Slab {
    pub rows: usize,
    pub end: SlabEnd,
    pieces: Vec<Vec<ArrayRef>>,
}

impl Slab {
    /// One column of the slab as a single array.
    pub fn column(&self, index: usize) -> Result<ArrayRef, ArrowError> {
        match self.pieces.as_slice() {
            [piece] => Ok(piece[index].clone()),
            pieces => concat(&pieces.iter().map(|piece| piece[index].as_ref()).collect::<Vec<_>>()),
        }
    }
}

/// Cuts batches of any size into slabs.
pub(super) struct Cutter {
    row_group_rows: usize,
    rows_in_group: usize,
    rows_pending: usize,
    pending: Vec<Vec<ArrayRef>>,
}

impl Cutter {
    /// `row_group_rows` is at least 1.
    pub fn new(row_group_rows: usize) -> Self {
        Cutter { row_group_rows, rows_in_group: 0, rows_pending: 0, pending: Vec::new() }
    }

    /// Takes rows from `columns`, starting at `*offset`, until a slab is full or no rows are left; returns the slab if
    /// it is full. Call it until it returns none.
    pub fn take(&mut self, columns: &[ArrayRef], rows: usize, offset: &mut usize) -> Option<Slab> {
        let slab_rows = SLAB_ROWS.min(self.row_group_rows - self.rows_in_group);
        let taken = (slab_rows - self.rows_pending).min(rows - *offset);
        if taken > 0 {
            self.pending.push(columns.iter().map(|column| column.slice(*offset, taken)).collect());
            self.rows_pending += taken;
            *offset += taken;
        }
        if self.rows_pending < slab_rows { None } else { self.cut() }
    }

    /// The rows that are left, if any; call at the end of the table.
    pub fn cut(&mut self) -> Option<Slab> {
        if self.rows_pending == 0 {
            return None;
        }
        let rows = std::mem::take(&mut self.rows_pending);
        self.rows_in_group += rows;
        let end = if self.rows_in_group == self.row_group_rows { SlabEnd::RowGroup } else { SlabEnd::Open };
        if end == SlabEnd::RowGroup {
            self.rows_in_group = 0;
        }
        Some(Slab { rows, end, pieces: std::mem::take(&mut self.pending) })
    }
}
