//! Where is a stream of bytes stored that does not fit in memory?
//!
//! An unnamed, encrypted file as for [blobs](super::spill), in which bytes are read by their place. It only grows, and the
//! place in the keystream is the place in the file, so no part of the keystream is used twice.

use super::spill::{Keystream, SpillFile, SpillForm};
use crate::error::Result;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A growing stream; may be shared between threads.
#[derive(Debug)]
pub struct SpillStream {
    file: SpillFile,
    end: AtomicU64,
}

impl SpillStream {
    /// An empty stream in `directory`, which must exist and be writable.
    pub fn with(directory: &Path, form: SpillForm) -> Result<Self> {
        Ok(SpillStream { file: SpillFile::with(directory, form)?, end: AtomicU64::new(0) })
    }

    /// Appends bytes.
    pub fn append(&self, bytes: &[u8]) -> Result<()> {
        let offset = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.file.write(offset, bytes, |keystream: &Keystream, at, part| keystream.apply(offset + at, part))
    }

    /// Reads the bytes at this place, as many as `buffer` holds.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read(offset, buffer, |keystream, part| keystream.apply(offset, part))
    }

    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_by_their_place_whatever_they_were_appended_with() {
        let folder = tempfile::tempdir().unwrap();
        for form in [SpillForm::Encrypted, SpillForm::Plain] {
            let stream = SpillStream::with(folder.path(), form).unwrap();
            let all: Vec<u8> = (0..300_000).map(|at| (at % 251) as u8).collect();
            let mut rest = &all[..];
            for piece in [0, 3, 100_000, 1, 199_996] {
                stream.append(&rest[..piece]).unwrap();
                rest = &rest[piece..];
            }
            assert_eq!(stream.bytes(), all.len() as u64);
            for from in [0, 2, 3, 99_999, 250_000] {
                let mut back = vec![0; 50_000];
                stream.read(from as u64, &mut back).unwrap();
                assert_eq!(back, all[from..from + 50_000]);
            }
            assert!(stream.read(299_999, &mut [0; 2]).is_err());
        }
    }
}
