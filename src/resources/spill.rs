//! Where are bytes stored that do not fit in memory?
//!
//! One unnamed file per run: it contains personal data, so it has no path that others could open, and the
//! operating system removes it however the run ends. What it held stays on the device, so it is encrypted with a key
//! that exists in the memory of the run only. The store only knows blobs and their sizes; callers know what they mean.
//!
//! The cipher is ChaCha20, and the place in its keystream is the place in the file. No part of a keystream is used
//! twice: every place is written once, because the file only grows, and every spill has a key of its own. Changes by
//! others are not detected; only the superuser could make them.

use super::disk::DiskFile;
use super::secret::secret;
use crate::error::{Error, Result};
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How data that does not fit in memory is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpillForm {
    /// With a key that only this process knows, and that is gone when it ends.
    #[default]
    Encrypted,
    /// As it is, for a disk that nobody else will ever read.
    Plain,
}

/// A file of blobs; may be shared between threads.
#[derive(Debug)]
pub struct Spill {
    directory: PathBuf,
    file: DiskFile,
    end: AtomicU64,
    keystream: Option<Keystream>,
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
    /// An empty, encrypted spill in `directory`, which must exist and be writable.
    pub fn create(directory: &Path) -> Result<Self> {
        Spill::with(directory, SpillForm::Encrypted)
    }

    /// An empty spill in `directory`, which must exist and be writable.
    pub fn with(directory: &Path, form: SpillForm) -> Result<Self> {
        let file = DiskFile::nameless(directory)
            .map_err(|source| Error::Spill { directory: directory.to_owned(), source })?;
        let keystream = match form {
            SpillForm::Encrypted => {
                Some(Keystream::new().map_err(|source| Error::io("random numbers", source))?)
            }
            SpillForm::Plain => None,
        };
        Ok(Spill { directory: directory.to_owned(), file, end: AtomicU64::new(0), keystream })
    }

    /// Appends a blob.
    pub fn append(&self, blob: &[u8]) -> Result<Extent> {
        let length = blob.len() as u64;
        let offset = self.end.fetch_add(length, Ordering::Relaxed);
        self.write(offset, blob).map_err(|source| self.error(source))?;
        Ok(Extent { offset, length })
    }

    /// Reads a part of the file, given by its offset and the length of `buffer`.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(buffer, offset).map_err(|source| self.error(source))?;
        if let Some(keystream) = &self.keystream {
            keystream.apply(offset, buffer);
        }
        Ok(())
    }

    fn write(&self, offset: u64, blob: &[u8]) -> std::io::Result<()> {
        let Some(keystream) = &self.keystream else { return self.file.write_all_at(blob, offset) };
        let mut room = vec![0; blob.len().min(CHUNK)];
        for (part, at) in blob.chunks(CHUNK).zip((offset..).step_by(CHUNK)) {
            let sealed = &mut room[..part.len()];
            sealed.copy_from_slice(part);
            keystream.apply(at, sealed);
            self.file.write_all_at(sealed, at)?;
        }
        Ok(())
    }

    /// The number of bytes appended.
    pub fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    fn error(&self, source: std::io::Error) -> Error {
        Error::Spill { directory: self.directory.clone(), source }
    }
}

/// Bytes that are encrypted at a time; a thread that writes holds so much besides the blob.
const CHUNK: usize = 1 << 16;

/// Bytes of the file with one nonce: a quarter of what ChaCha20 allows.
const SEGMENT: u64 = 1 << 36;

/// Encrypts and decrypts by the place in a file. No two files may have the same key.
pub struct Keystream {
    key: [u8; 32],
}

impl Keystream {
    fn new() -> std::io::Result<Self> {
        secret().map(Keystream::of)
    }

    /// The keystream of a key.
    pub fn of(key: [u8; 32]) -> Self {
        Keystream { key }
    }

    /// Encrypts or decrypts the bytes at this place of the file.
    pub fn apply(&self, mut offset: u64, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let (segment, place) = (offset / SEGMENT, offset % SEGMENT);
            let here = (bytes.len() as u64).min(SEGMENT - place);
            let (now, later) = bytes.split_at_mut(here as usize);
            let mut nonce = [0; 12];
            nonce[..8].copy_from_slice(&segment.to_le_bytes());
            let mut cipher = ChaCha20::new(&self.key.into(), &nonce.into());
            cipher.seek(place);
            cipher.apply_keystream(now);
            bytes = later;
            offset += here;
        }
    }
}

impl fmt::Debug for Keystream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keystream")
    }
}

#[cfg(test)]
impl Spill {
    /// The bytes on the disk.
    pub(crate) fn stored(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes() as usize];
        self.file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holds(bytes: &[u8], text: &[u8]) -> bool {
        bytes.windows(text.len()).any(|window| window == text)
    }

    #[test]
    fn the_disk_never_holds_what_was_written() {
        let directory = tempfile::tempdir().unwrap();
        for (form, found) in [(SpillForm::Encrypted, false), (SpillForm::Plain, true)] {
            let spill = Spill::with(directory.path(), form).unwrap();
            spill.append(&[0; 100]).unwrap();
            let secret = spill.append(b"Ada Lovelace has influenza").unwrap();
            assert_eq!(holds(&spill.stored(), b"Lovelace"), found, "{form:?}");
            assert_eq!(holds(&spill.stored(), &[0; 20]), found, "{form:?}");
            let mut back = vec![0; secret.length as usize];
            spill.read(secret.offset, &mut back).unwrap();
            assert_eq!(back, b"Ada Lovelace has influenza");
        }
    }

    #[test]
    fn equal_blobs_differ_on_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let spills = [(); 2].map(|()| Spill::create(directory.path()).unwrap());
        for spill in &spills {
            spill.append(&[7; 64]).unwrap();
            spill.append(&[7; 64]).unwrap();
        }
        let stored = spills.each_ref().map(Spill::stored);
        assert_ne!(stored[0][..64], stored[0][64..]);
        assert_ne!(stored[0], stored[1]);
    }

    #[test]
    fn the_keystream_does_not_depend_on_how_a_place_is_reached() {
        let keystream = Keystream::new().unwrap();
        let start = SEGMENT - 100;
        let mut whole = [0; 300];
        keystream.apply(start, &mut whole);
        for cut in [1, 99, 100, 101, 164, 299] {
            let mut parts = [0; 300];
            let (first, second) = parts.split_at_mut(cut);
            keystream.apply(start, first);
            keystream.apply(start + cut as u64, second);
            assert_eq!(parts, whole, "{cut}");
        }
        let mut elsewhere = [0; 300];
        keystream.apply(0, &mut elsewhere);
        assert_ne!(whole[100..], elsewhere[..200]);
    }

    proptest! {
        #[test]
        fn any_part_of_any_blob_comes_back(
            blobs in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..6),
            large in 0usize..3,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let spill = Spill::create(directory.path()).unwrap();
            for mut blob in blobs {
                blob.resize(blob.len() + large * (CHUNK - 10), 3);
                let extent = spill.append(&blob).unwrap();
                let from = blob.len() / 3;
                let mut part = vec![0; blob.len() - from];
                spill.read(extent.offset + from as u64, &mut part).unwrap();
                prop_assert_eq!(&part[..], &blob[from..]);
            }
        }
    }

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
