//! Where are bytes stored that do not fit in memory?
//!
//! One unnamed file per run: it contains personal data, so it has no path that others could open, and the
//! operating system removes it however the run ends. The store only knows blobs and their sizes; callers know
//! what they mean.

use crate::error::{Error, Result};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file of blobs; may be shared between threads.
#[derive(Debug)]
pub struct Spill {
    directory: PathBuf,
    file: File,
    end: AtomicU64,
}

/// The location of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First byte in the file.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

impl Spill {
    /// An empty spill in `directory`, which must exist and be writable.
    pub fn create(directory: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(directory)
            .map_err(|source| Error::Spill { directory: directory.to_owned(), source })?;
        Ok(Spill { directory: directory.to_owned(), file, end: AtomicU64::new(0) })
    }

    /// Appends a blob.
    pub fn append(&self, blob: &[u8]) -> Result<Extent> {
        let length = blob.len() as u64;
        let offset = self.end.fetch_add(length, Ordering::Relaxed);
        write_all_at(&self.file, blob, offset).map_err(|source| self.error(source))?;
        Ok(Extent { offset, length })
    }

    /// Reads a part of the file, given by its offset and the length of `buffer`.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        read_exact_at(&self.file, buffer, offset).map_err(|source| self.error(source))
    }

    /// The number of bytes appended.
    pub fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    fn error(&self, source: std::io::Error) -> Error {
        Error::Spill { directory: self.directory.clone(), source }
    }
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        if written == 0 {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
        offset += written as u64;
    }
    Ok(())
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[read..];
        offset += read as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_come_back_and_no_name_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let spill = Spill::create(directory.path()).unwrap();
        let first = spill.append(b"first").unwrap();
        let second = spill.append(b"second!").unwrap();
        let mut buffer = [0; 7];
        spill.read(second.offset, &mut buffer).unwrap();
        assert_eq!(&buffer, b"second!");
        spill.read(first.offset, &mut buffer[..5]).unwrap();
        assert_eq!(&buffer[..5], b"first");
        assert_eq!(spill.bytes(), 12);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert!(spill.read(100, &mut buffer).is_err());
    }

    #[test]
    fn a_missing_directory_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        assert!(Spill::create(&missing).unwrap_err().to_string().contains("missing"));
    }
}
