//! What if something that can be read only once must be read again?
//!
//! A pipe is copied to the spill while it is read for the first time; every later reader gets the copy, and continues
//! with the pipe where the copy ends. What never reads twice still pays for the copy on disk, not in memory.
//!
//! Invariant: all readers see the same bytes.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::resources::spill::SpillForm;
use crate::resources::spill_stream::SpillStream;

/// Where the copy of a pipe is stored, and how.
#[derive(Debug, Clone)]
pub struct SpoolPlace {
    /// The directory.
    pub directory: PathBuf,
    /// Encrypted or not.
    pub form: SpillForm,
}

impl Default for SpoolPlace {
    fn default() -> Self {
        SpoolPlace { directory: std::env::temp_dir(), form: SpillForm::Encrypted }
    }
}

/// A source that can be read only once, and the copy of what was read of it.
pub(super) struct Spool {
    copy: SpillStream,
    rest: Mutex<Rest>,
}

struct Rest {
    /// Nothing after the end of the source.
    source: Option<Box<dyn Read + Send>>,
    /// Bytes of the copy.
    copied: u64,
}

impl Spool {
    pub fn new(source: Box<dyn Read + Send>, place: &SpoolPlace) -> Result<Arc<Self>> {
        let copy = SpillStream::with(&place.directory, place.form)?;
        Ok(Arc::new(Spool { copy, rest: Mutex::new(Rest { source: Some(source), copied: 0 }) }))
    }

    /// A reader at the beginning.
    pub fn reader(self: &Arc<Self>) -> SpoolReader {
        SpoolReader { spool: self.clone(), position: 0 }
    }

    /// Reads at this place; 0 bytes at the end.
    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        while rest.copied < position && rest.source.is_some() {
            self.pull(&mut rest, &mut [0; 1 << 13])?;
        }
        if rest.copied <= position {
            return self.pull(&mut rest, buffer);
        }
        let length = usize::try_from(rest.copied - position).unwrap_or(usize::MAX).min(buffer.len());
        drop(rest);
        self.copy.read(position, &mut buffer[..length]).map_err(io::Error::other)?;
        Ok(length)
    }

    /// Reads on in the source, and copies what comes.
    fn pull(&self, rest: &mut Rest, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(source) = &mut rest.source else { return Ok(0) };
        if buffer.is_empty() {
            return Ok(0);
        }
        let read = loop {
            match source.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if read == 0 {
            rest.source = None;
        }
        self.copy.append(&buffer[..read]).map_err(io::Error::other)?;
        rest.copied += read as u64;
        Ok(read)
    }

    /// The number of bytes, once all of them are copied.
    fn length(&self) -> io::Result<u64> {
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = vec![0; 1 << 16];
        while rest.source.is_some() {
            self.pull(&mut rest, &mut buffer)?;
        }
        Ok(rest.copied)
    }
}

/// Reads a spool from the beginning.
#[derive(Clone)]
pub(super) struct SpoolReader {
    spool: Arc<Spool>,
    position: u64,
}

impl SpoolReader {
    /// The number of bytes; waits for the end of the source.
    pub fn length(&self, path: &Path) -> Result<u64> {
        self.spool.length().map_err(|source| Error::io(path, source))
    }
}

impl Read for SpoolReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.spool.read_at(self.position, buffer)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for SpoolReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.spool.length()?.checked_add_signed(by),
        };
        self.position = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives a few bytes at a time.
    struct Pipe(io::Cursor<Vec<u8>>);

    impl Read for Pipe {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(3);
            self.0.read(&mut buffer[..most])
        }
    }

    fn spool(bytes: &[u8]) -> Arc<Spool> {
        Spool::new(Box::new(Pipe(io::Cursor::new(bytes.to_vec()))), &SpoolPlace::default()).unwrap()
    }

    proptest! {
        #[test]
        fn readers_agree_wherever_they_begin(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            starts in proptest::collection::vec(0u64..250, 1..5),
        ) {
            let spool = spool(&bytes);
            for start in starts {
                let mut reader = spool.reader();
                reader.seek(SeekFrom::Start(start)).unwrap();
                let mut rest = Vec::new();
                reader.read_to_end(&mut rest).unwrap();
                prop_assert_eq!(&rest[..], bytes.get(start as usize..).unwrap_or_default());
            }
            let mut reader = spool.reader();
            prop_assert_eq!(reader.seek(SeekFrom::End(0)).unwrap(), bytes.len() as u64);
        }
    }

    #[test]
    fn a_source_that_fails_is_an_error_for_every_reader() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::ConnectionReset.into())
            }
        }
        let spool = Spool::new(Box::new(Broken), &SpoolPlace::default()).unwrap();
        for _ in 0..2 {
            assert!(spool.reader().read_to_end(&mut Vec::new()).is_err());
        }
    }
}
