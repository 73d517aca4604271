//! Is a file still the one that was opened?
//!
//! A table is read several times: its values first, then its rows. Between and during these scans nobody may write to
//! its files or put others in their place, or what was counted would not be what is published. The files are not kept
//! open, because a table may have more of them than a process may open. What can be read only once is
//! [copied](super::spool) while it is read, and the copy cannot change.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::spool::{Spool, SpoolPlace, SpoolReader};
use crate::error::{Error, Result};

/// A file that can be opened again, as long as it stays the same.
#[derive(Clone)]
pub(super) struct InputFile {
    path: PathBuf,
    origin: Origin,
}

#[derive(Clone)]
enum Origin {
    Disk(Identity),
    Spooled(Arc<Spool>),
}

impl InputFile {
    /// The file that was opened under this path.
    pub fn new(path: &Path, opened: &Metadata) -> Self {
        InputFile { path: path.to_path_buf(), origin: Origin::Disk(Identity::of(opened)) }
    }

    /// A pipe or a device, which can be read only once.
    pub fn spooled(path: PathBuf, source: Box<dyn Read + Send>, place: &SpoolPlace) -> Result<Self> {
        Ok(InputFile { path, origin: Origin::Spooled(Spool::new(source, place)?) })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it again.
    pub fn open(&self) -> Result<InputBytes> {
        let io = |source| Error::io(&self.path, source);
        match &self.origin {
            Origin::Disk(identity) => {
                let file = File::open(&self.path).map_err(io)?;
                self.compare(identity, &file.metadata().map_err(io)?)?;
                Ok(InputBytes::Disk(PlacedFile { file: Arc::new(file), place: 0 }))
            }
            Origin::Spooled(spool) => Ok(InputBytes::Spooled(spool.reader())),
        }
    }

    /// Fails if it is another file by now, or has been written to.
    pub fn expect_unchanged(&self) -> Result<()> {
        match &self.origin {
            Origin::Disk(identity) => {
                let now = self.path.metadata().map_err(|_| self.changed())?;
                self.compare(identity, &now)
            }
            Origin::Spooled(_) => Ok(()),
        }
    }

    /// The error of a file that was written to while it was read.
    pub fn changed(&self) -> Error {
        Error::Changed { file: Some(self.path.clone()), column: None }
    }

    fn compare(&self, identity: &Identity, now: &Metadata) -> Result<()> {
        if Identity::of(now) == *identity { Ok(()) } else { Err(self.changed()) }
    }
}

/// The bytes of an input file, from a place on.
pub(super) enum InputBytes {
    Disk(PlacedFile),
    Spooled(SpoolReader),
}

/// An open file that is read at a place of its own, whoever else reads it.
#[derive(Clone)]
pub(super) struct PlacedFile {
    file: Arc<File>,
    place: u64,
}

impl PlacedFile {
    #[cfg(unix)]
    fn read_here(&self, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.place)
    }

    #[cfg(windows)]
    fn read_here(&self, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, self.place)
    }
}

impl Read for PlacedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.read_here(buffer)?;
        self.place += read as u64;
        Ok(read)
    }
}

impl Seek for PlacedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(by) => self.place.checked_add_signed(by),
            SeekFrom::End(by) => self.file.metadata()?.len().checked_add_signed(by),
        };
        self.place = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.place)
    }
}

impl InputBytes {
    /// How many there are.
    pub fn length(&self, path: &Path) -> Result<u64> {
        match self {
            InputBytes::Disk(own) => {
                own.file.metadata().map(|own| own.len()).map_err(|source| Error::io(path, source))
            }
            InputBytes::Spooled(reader) => reader.length(path),
        }
    }

    /// The bytes from this place on.
    pub fn at(&self, place: u64) -> io::Result<InputBytes> {
        let mut bytes = match self {
            InputBytes::Disk(file) => InputBytes::Disk(file.clone()),
            InputBytes::Spooled(reader) => InputBytes::Spooled(reader.clone()),
        };
        bytes.seek(SeekFrom::Start(place))?;
        Ok(bytes)
    }
}

impl Read for InputBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            InputBytes::Disk(file) => file.read(buffer),
            InputBytes::Spooled(reader) => reader.read(buffer),
        }
    }
}

impl Seek for InputBytes {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            InputBytes::Disk(file) => file.seek(to),
            InputBytes::Spooled(reader) => reader.seek(to),
        }
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
