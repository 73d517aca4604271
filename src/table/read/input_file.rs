//! Is a file still the one that was opened?
//!
//! A table is read several times: its values first, then its rows. Between and during these scans nobody may write to
//! its files or put others in their place, or what was counted would not be what is published. The files are not kept
//! open, because a table may have more of them than a process may open.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A file that can be opened again, as long as it stays the same.
#[derive(Debug, Clone)]
pub(super) struct InputFile {
    path: PathBuf,
    identity: Identity,
}

impl InputFile {
    /// The file that was opened under this path.
    pub fn new(path: &Path, opened: &Metadata) -> Self {
        InputFile { path: path.to_path_buf(), identity: Identity::of(opened) }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it again.
    pub fn open(&self) -> Result<File> {
        let io = |source| Error::io(&self.path, source);
        let file = File::open(&self.path).map_err(io)?;
        self.compare(&file.metadata().map_err(io)?)?;
        Ok(file)
    }

    /// Fails if it is another file by now, or has been written to.
    pub fn expect_unchanged(&self) -> Result<()> {
        let now = self.path.metadata().map_err(|_| self.changed())?;
        self.compare(&now)
    }

    /// The error of a file that was written to while it was read.
    pub fn changed(&self) -> Error {
        Error::Changed { file: Some(self.path.clone()), column: None }
    }

    fn compare(&self, now: &Metadata) -> Result<()> {
        if Identity::of(now) == self.identity { Ok(()) } else { Err(self.changed()) }
    }
}

/// What differs when a file was written to, or replaced by another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg(unix)]
struct Identity {
    device: u64,
    inode: u64,
    length: u64,
    /// Seconds and nanoseconds of the last change of the contents, and of anything else; the second cannot be set back.
    times: [(i64, i64); 2],
}

#[cfg(unix)]
impl Identity {
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            times: [(metadata.mtime(), metadata.mtime_nsec()), (metadata.ctime(), metadata.ctime_nsec())],
        }
    }
}

/// What differs when a file was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg(not(unix))]
struct Identity {
    length: u64,
    modified: Option<std::time::SystemTime>,
}

#[cfg(not(unix))]
impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Identity { length: metadata.len(), modified: metadata.modified().ok() }
    }
}
