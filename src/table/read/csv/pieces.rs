//! CSV text in pieces of whole records, which workers read independently of each other.
//!
//! Memory: one piece, [`PIECE_BYTES`], or a longer record up to [`RECORD_BYTES`] for which the budget has room.

use std::io::Read;
use std::path::Path;

use super::record::{Dialect, is_blank, whole_records};
use crate::error::{Error, Result};
use crate::table::read::room::{COPIES, DecodeRoom, Need};

/// The amount of text that a worker gets at a time.
#[cfg(not(test))]
const PIECE_BYTES: usize = 1 << 20;
/// Small in tests, so that small files have several pieces.
#[cfg(test)]
const PIECE_BYTES: usize = 64;

/// The longest record; a longer one probably has an unclosed quote.
const RECORD_BYTES: usize = 64 << 20;

/// What reading and decoding text of this length takes: the text, with space to grow, and batches of its cells.
pub(super) fn need(bytes: usize) -> Need {
    Need::of((2 + COPIES) * bytes as u64)
}

/// A run of whole records.
pub(super) struct CsvPiece {
    /// The records.
    pub bytes: Vec<u8>,
    /// Number of records.
    pub rows: u64,
    /// The position of the first in its file.
    pub first_row: u64,
}

/// The text of a file, in pieces of whole records.
pub(super) struct CsvPieces<'t> {
    path: &'t Path,
    source: Box<dyn Read + Send + 't>,
    dialect: Dialect,
    /// The beginning of a record whose end has not been read yet.
    rest: Vec<u8>,
    rows: u64,
    ended: bool,
    room: &'t DecodeRoom<'t>,
}

impl<'t> CsvPieces<'t> {
    /// The pieces of a source that is positioned after the header.
    pub fn new(
        path: &'t Path,
        source: Box<dyn Read + Send + 't>,
        dialect: Dialect,
        room: &'t DecodeRoom<'t>,
    ) -> Self {
        CsvPieces { path, source, dialect, rest: Vec::new(), rows: 0, ended: false, room }
    }

    fn cut(&mut self) -> Result<Option<CsvPiece>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut goal = PIECE_BYTES.max(2 * bytes.len());
        loop {
            self.fill(&mut bytes, goal)?;
            let (mut rows, mut end) = whole_records(&bytes, self.dialect);
            if self.ended && end < bytes.len() {
                // The text after the last line end is also a record, complete or not; the worker will find out.
                rows += u64::from(!is_blank(&bytes[end..], self.dialect));
                end = bytes.len();
            }
            if end > 0 {
                self.rest = bytes.split_off(end);
                let first_row = self.rows;
                self.rows += rows;
                return Ok(Some(CsvPiece { bytes, rows, first_row }));
            }
            if self.ended {
                return Ok(None);
            }
            if bytes.len() >= RECORD_BYTES {
                return Err(Error::input(
                    format!(
                        "{}: row {} is longer than {RECORD_BYTES} bytes",
                        self.path.display(),
                        self.rows + 1
                    ),
                    "probably a quote is not closed there",
                ));
            }
            goal = (2 * bytes.len()).min(RECORD_BYTES);
            self.room.expect(self.path, &need(goal))?;
        }
    }

    fn fill(&mut self, bytes: &mut Vec<u8>, goal: usize) -> Result<()> {
        let missing = goal.saturating_sub(bytes.len());
        let read = self.source.by_ref().take(missing as u64).read_to_end(bytes);
        self.ended = read.map_err(|error| Error::io(self.path, error))? < missing;
        Ok(())
    }
}

impl Iterator for CsvPieces<'_> {
    type Item = Result<CsvPiece>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended && self.rest.is_empty() {
            return None;
        }
        self.cut().transpose()
    }
}
