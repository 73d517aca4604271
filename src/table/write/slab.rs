//! Which rows are encoded together?
//!
//! Page boundaries of Parquet files and batches of Arrow files follow the calls to the encoder, so the encoder is
//! always called with slabs: [`SLAB_ROWS`] rows, fewer only if their texts and lists are long, and at the end of a row
//! group or of the table. A row group ends earlier, too, if its texts and lists are long.
//! Memory: the batches that hold the rows of one slab: [`SLAB_BYTES`] of texts and lists, or one row. An encoded row group
//! has at most [`GROUP_BYTES`] of them.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;

/// The most rows that are encoded together.
pub const SLAB_ROWS: usize = 1 << 16;

/// A slab ends when its texts and lists take this many bytes.
const SLAB_BYTES: usize = 2 << 20;

/// A row group ends when its texts and lists, and the dictionaries of its batches, take this many bytes.
const GROUP_BYTES: usize = 16 << 20;

/// What an entry of a dictionary takes besides its text while a row group is encoded.
const ENTRY_BYTES: usize = 48;

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
    bytes_in_group: usize,
    bytes_pending: usize,
    pending: Vec<Vec<ArrayRef>>,
    /// The last dictionary of each column, held so that it is told apart from the next by its place in memory.
    dictionaries: Vec<Option<ArrayRef>>,
}

impl Cutter {
    /// `row_group_rows` is at least 1.
    pub fn new(row_group_rows: usize) -> Self {
        Cutter {
            row_group_rows,
            rows_in_group: 0,
            rows_pending: 0,
            bytes_in_group: 0,
            bytes_pending: 0,
            pending: Vec::new(),
            dictionaries: Vec::new(),
        }
    }

    /// Takes rows from `columns`, starting at `*offset`, until a slab is full or no rows are left; returns the slab if
    /// it is full. Call it until it returns none.
    pub fn take(&mut self, columns: &[ArrayRef], rows: usize, offset: &mut usize) -> Option<Slab> {
        if *offset == 0 {
            self.count_dictionaries(columns);
        }
        let slab_rows = SLAB_ROWS.min(self.row_group_rows - self.rows_in_group);
        let taken = (slab_rows - self.rows_pending).min(rows - *offset);
        let bytes =
            |taken: usize| columns.iter().map(|c| bytes_of(c, *offset..*offset + taken)).sum::<usize>();
        // The fewest rows that fill the slab, or all.
        let (mut taken, mut low) = (taken, 0);
        if self.bytes_pending + bytes(taken) > SLAB_BYTES {
            while low + 1 < taken {
                let middle = low + (taken - low) / 2;
                match self.bytes_pending + bytes(middle) < SLAB_BYTES {
                    true => low = middle,
                    false => taken = middle,
                }
            }
        }
        if taken > 0 {
            self.bytes_pending += bytes(taken);
            self.pending.push(columns.iter().map(|column| column.slice(*offset, taken)).collect());
            self.rows_pending += taken;
            *offset += taken;
        }
        let full = self.rows_pending == slab_rows
            || self.bytes_pending >= SLAB_BYTES
            || self.bytes_in_group + self.bytes_pending >= GROUP_BYTES;
        if full { self.cut() } else { None }
    }

    /// Counts the dictionaries of a batch that the batch before it did not have.
    fn count_dictionaries(&mut self, columns: &[ArrayRef]) {
        self.dictionaries.resize(columns.len(), None);
        for (column, last) in columns.iter().zip(&mut self.dictionaries) {
            let Some(values) = column.as_any_dictionary_opt().map(|column| column.values()) else { continue };
            if !last.as_ref().is_some_and(|last| Arc::ptr_eq(last, values)) {
                self.bytes_in_group += bytes_of(values, 0..values.len()) + ENTRY_BYTES * values.len();
                *last = Some(values.clone());
            }
        }
    }

    /// The rows that are left, if any; call at the end of the table.
    pub fn cut(&mut self) -> Option<Slab> {
        if self.rows_pending == 0 {
            return None;
        }
        let rows = std::mem::take(&mut self.rows_pending);
        self.rows_in_group += rows;
        self.bytes_in_group += std::mem::take(&mut self.bytes_pending);
        let full = self.rows_in_group == self.row_group_rows || self.bytes_in_group >= GROUP_BYTES;
        let end = if full { SlabEnd::RowGroup } else { SlabEnd::Open };
        if full {
            (self.rows_in_group, self.bytes_in_group) = (0, 0);
        }
        Some(Slab { rows, end, pieces: std::mem::take(&mut self.pending) })
    }
}

/// The bytes of the texts and lists in some rows of a column; columns of fixed width have none.
fn bytes_of(array: &ArrayRef, rows: Range<usize>) -> usize {
    fn between<O: arrow_array::OffsetSizeTrait>(offsets: &[O], rows: Range<usize>) -> Range<usize> {
        offsets[rows.start].as_usize()..offsets[rows.end].as_usize()
    }
    let items = |values: &ArrayRef, items: Range<usize>| {
        let width = values.data_type().primitive_width().unwrap_or(4);
        items.len() * width + bytes_of(values, items)
    };
    match array.data_type() {
        DataType::Utf8 => between(array.as_string::<i32>().value_offsets(), rows).len(),
        DataType::LargeUtf8 => between(array.as_string::<i64>().value_offsets(), rows).len(),
        DataType::Binary => between(array.as_binary::<i32>().value_offsets(), rows).len(),
        DataType::LargeBinary => between(array.as_binary::<i64>().value_offsets(), rows).len(),
        // The low half of a view is the length of its value.
        DataType::Utf8View => {
            array.as_string_view().views()[rows].iter().map(|&view| view as u32 as usize).sum()
        }
        DataType::BinaryView => {
            array.as_binary_view().views()[rows].iter().map(|&view| view as u32 as usize).sum()
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            items(list.values(), between(list.value_offsets(), rows))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            items(list.values(), between(list.value_offsets(), rows))
        }
        DataType::FixedSizeList(_, size) => {
            let size = *size as usize;
            items(array.as_fixed_size_list().values(), rows.start * size..rows.end * size)
        }
        DataType::FixedSizeBinary(size) => rows.len() * *size as usize,
        DataType::Struct(_) => {
            array.as_struct().columns().iter().map(|column| bytes_of(column, rows.clone())).sum()
        }
        _ => 0,
    }
}
