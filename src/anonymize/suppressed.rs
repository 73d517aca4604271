//! Which rows were left out?
//!
//! A private file next to the release, never inside it: the row numbers of the input, counted from 1 in the
//! order in which its files were given, and nothing else. It gets its final name only once the release is in
//! place.
//!
//! Memory: a sorter's share of the budget.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::job::Suppression;
use crate::error::{Error, Result};
use crate::model::finding::Finding;
use crate::resources::budget::Budget;
use crate::resources::sorter::Sorter;
use crate::resources::spill::Spill;

/// The rows that are left out, while they are being found.
pub(super) struct Suppressed<'s> {
    rows: Sorter<'s>,
    count: u64,
}

impl<'s> Suppressed<'s> {
    pub(super) fn new(budget: &Arc<Budget>, spill: &'s Spill) -> Result<Self> {
        Ok(Suppressed { rows: Sorter::new(budget, spill)?, count: 0 })
    }

    /// Adds a row, counted from 0.
    pub(super) fn push(&mut self, row: u64) -> Result<()> {
        self.count += 1;
        self.rows.push(&[&row.to_be_bytes()])
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Writes the rows to `list`, in ascending order.
    pub(super) fn write(self, list: &mut SuppressedList) -> Result<()> {
        let path = &list.unfinished;
        let io = |source| Error::io(path, source);
        let mut out = BufWriter::new(create_private(path).map_err(io)?);
        // From here on a failure has something to remove, such as a file truncated by a full disk.
        list.written = true;
        list.rows = self.count;
        out.write_all(b"row\n").map_err(io)?;
        self.rows.finish(|record| {
            let row = record.iter().fold(0u64, |row, &byte| row << 8 | u64::from(byte));
            writeln!(out, "{}", row + 1).map_err(io)
        })?;
        out.flush().map_err(io)
    }
}

/// The file, under a temporary name until it is published; a run that fails leaves nothing behind.
pub(super) struct SuppressedList {
    path: PathBuf,
    unfinished: PathBuf,
    written: bool,
    rows: u64,
}

impl SuppressedList {
    /// Fails if the file already exists: it belongs to another release.
    pub(super) fn new(path: &Path) -> Result<Self> {
        if path.exists() {
            return Err(Error::input(
                format!("{} exists already", path.display()),
                "move the list of the older release away, or choose another file",
            ));
        }
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().ok_or_else(|| {
            Error::input(format!("{} is no name for a file", path.display()), "choose another name")
        })?);
        name.push(".unfinished");
        let unfinished = path.with_file_name(name);
        // What an aborted run left behind is of no use.
        let _ = std::fs::remove_file(&unfinished);
        Ok(SuppressedList { path: path.to_path_buf(), unfinished, written: false, rows: 0 })
    }

    /// Gives the file its final name.
    pub(super) fn publish(mut self, input_rows: u64, finding: Finding) -> Result<Suppression> {
        std::fs::rename(&self.unfinished, &self.path).map_err(|source| Error::io(&self.path, source))?;
        self.written = false;
        let list = std::mem::take(&mut self.path);
        Ok(Suppression { input_rows, suppressed: self.rows, list, finding })
    }
}

impl Drop for SuppressedList {
    fn drop(&mut self) {
        if self.written {
            let _ = std::fs::remove_file(&self.unfinished);
        }
    }
}

fn create_private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
