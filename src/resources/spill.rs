//! Where are bytes stored that do not fit in memory?
//!
//! One unnamed file per run: it contains personal data, so it has no path that others could open, and the
//! operating system removes it however the run ends. What it held stays on the device, so it is encrypted with a key
//! that exists in the memory of the run only. The store only knows blobs and their sizes; callers know what they mean.
//!
//! The cipher is AES-256 in counter mode, which processors compute in hardware. Every blob has a number of its own, which is its nonce, and every spill a key of its own, so no
//! part of a keystream is used twice, although the space of blobs that are released is written again. Changes by others are
//! not detected; only the superuser could make them.
//!
//! Memory: some 50 bytes for each piece of free space between blobs.

use super::disk::DiskFile;
use super::secret::secret;
use crate::error::{Error, Result};
use aes::Aes256;
use ctr::Ctr64BE;
use ctr::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

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
    file: SpillFile,
    space: Mutex<FileSpace>,
    blobs: AtomicU64,
    appended: AtomicU64,
}

/// The location of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// The number of the blob.
    number: u64,
}

impl Extent {
    /// A blob without bytes, which no spill holds.
    pub const EMPTY: Extent = Extent { offset: 0, length: 0, number: 0 };
}

/// What is free in a file that may grow. Free pieces are never adjacent, so there are at most as many as blobs, and one.
#[derive(Debug, Default)]
struct FileSpace {
    end: u64,
    /// The length of each free piece, by its offset.
    free: BTreeMap<u64, u64>,
    /// The same pieces: length, offset.
    by_length: BTreeSet<(u64, u64)>,
}

impl FileSpace {
    /// A place for so many bytes: in the smallest free piece that is large enough, otherwise at the end.
    fn take(&mut self, length: u64) -> u64 {
        let Some(&(found, offset)) = self.by_length.range((length, 0)..).next() else {
            self.end += length;
            return self.end - length;
        };
        self.remove(offset, found);
        if found > length {
            self.insert(offset + length, found - length);
        }
        offset
    }

    fn give_back(&mut self, mut offset: u64, mut length: u64) {
        if length == 0 {
            return;
        }
        if let Some((&before, &own)) = self.free.range(..offset).next_back()
            && before + own == offset
        {
            self.remove(before, own);
            (offset, length) = (before, own + length);
        }
        if let Some(&own) = self.free.get(&(offset + length)) {
            self.remove(offset + length, own);
            length += own;
        }
        match offset + length == self.end {
            true => self.end = offset,
            false => self.insert(offset, length),
        }
    }

    fn insert(&mut self, offset: u64, length: u64) {
        self.free.insert(offset, length);
        self.by_length.insert((length, offset));
    }

    fn remove(&mut self, offset: u64, length: u64) {
        self.free.remove(&offset);
        self.by_length.remove(&(length, offset));
    }
}

impl Spill {
    /// An empty, encrypted spill in `directory`, which must exist and be writable.
    pub fn create(directory: &Path) -> Result<Self> {
        Spill::with(directory, SpillForm::Encrypted)
    }

    /// An empty spill in `directory`, which must exist and be writable.
    pub fn with(directory: &Path, form: SpillForm) -> Result<Self> {
        let file = SpillFile::with(directory, form)?;
        Ok(Spill { file, space: Mutex::default(), blobs: AtomicU64::new(0), appended: AtomicU64::new(0) })
    }

    /// Adds a blob.
    pub fn append(&self, blob: &[u8]) -> Result<Extent> {
        let length = blob.len() as u64;
        if length == 0 {
            return Ok(Extent::EMPTY);
        }
        let offset = self.space.lock().unwrap_or_else(PoisonError::into_inner).take(length);
        let extent = Extent { offset, length, number: self.blobs.fetch_add(1, Ordering::Relaxed) };
        let encrypt = |keystream: &Keystream, at, part: &mut [u8]| {
            keystream.apply_to_blob(extent.number, at, part);
        };
        self.file.write(offset, blob, encrypt)?;
        self.appended.fetch_add(length, Ordering::Relaxed);
        Ok(extent)
    }

    /// Reads the bytes of a blob from the place `from` on, as many as `buffer` holds.
    pub fn read(&self, extent: Extent, from: u64, buffer: &mut [u8]) -> Result<()> {
        if from + buffer.len() as u64 > extent.length {
            return Err(self.file.error(std::io::ErrorKind::UnexpectedEof.into()));
        }
        let decrypt =
            |keystream: &Keystream, part: &mut [u8]| keystream.apply_to_blob(extent.number, from, part);
        self.file.read(extent.offset + from, buffer, decrypt)
    }

    /// Reads a whole blob.
    pub fn load(&self, extent: Extent, blob: &mut Vec<u8>) -> Result<()> {
        blob.resize(extent.length as usize, 0);
        self.read(extent, 0, blob)
    }

    /// Gives the space of a blob to those that come later; it must not be read again.
    pub fn release(&self, extent: Extent) {
        let mut space = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        space.give_back(extent.offset, extent.length);
    }

    /// The number of bytes appended, also of blobs that were released.
    pub fn bytes(&self) -> u64 {
        self.appended.load(Ordering::Relaxed)
    }
}

/// An unnamed file, and the key of its bytes.
#[derive(Debug)]
pub(super) struct SpillFile {
    directory: PathBuf,
    file: DiskFile,
    keystream: Option<Keystream>,
}

impl SpillFile {
    pub(super) fn with(directory: &Path, form: SpillForm) -> Result<Self> {
        let file = DiskFile::nameless(directory)
            .map_err(|source| Error::Spill { directory: directory.to_owned(), source })?;
        let keystream = match form {
            SpillForm::Encrypted => {
                Some(Keystream::new().map_err(|source| Error::io("random numbers", source))?)
            }
            SpillForm::Plain => None,
        };
        Ok(SpillFile { directory: directory.to_owned(), file, keystream })
    }

    /// Writes bytes at this place of the file; `encrypt` is also told how many of them come before.
    pub(super) fn write(
        &self,
        offset: u64,
        bytes: &[u8],
        encrypt: impl Fn(&Keystream, u64, &mut [u8]),
    ) -> Result<()> {
        let write =
            |bytes: &[u8], offset| self.file.write_all_at(bytes, offset).map_err(|source| self.error(source));
        let Some(keystream) = &self.keystream else { return write(bytes, offset) };
        let mut room = vec![0; bytes.len().min(CHUNK)];
        for (part, at) in bytes.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
            let sealed = &mut room[..part.len()];
            sealed.copy_from_slice(part);
            encrypt(keystream, at, sealed);
            write(sealed, offset + at)?;
        }
        Ok(())
    }

    /// Reads the bytes at this place of the file.
    pub(super) fn read(
        &self,
        offset: u64,
        buffer: &mut [u8],
        decrypt: impl FnOnce(&Keystream, &mut [u8]),
    ) -> Result<()> {
        self.file.read_exact_at(buffer, offset).map_err(|source| self.error(source))?;
        if let Some(keystream) = &self.keystream {
            decrypt(keystream, buffer);
        }
        Ok(())
    }

    fn error(&self, source: std::io::Error) -> Error {
        Error::Spill { directory: self.directory.clone(), source }
    }
}

/// Bytes that are encrypted at a time; a thread that writes holds so much besides the blob.
const CHUNK: usize = 1 << 16;

/// Encrypts and decrypts by the place in a file, or in a numbered blob. No two files may have the same key, nor a file and
/// blobs.
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
    pub fn apply(&self, offset: u64, bytes: &mut [u8]) {
        self.apply_to_blob(0, offset, bytes);
    }

    /// Encrypts or decrypts the bytes at this place of a blob. No two blobs may have the same number.
    fn apply_to_blob(&self, number: u64, place: u64, bytes: &mut [u8]) {
        // The blocks of a blob are counted in the second half.
        let mut first_block = [0; 16];
        first_block[..8].copy_from_slice(&number.to_be_bytes());
        let mut cipher = Ctr64BE::<Aes256>::new(&self.key.into(), &first_block.into());
        cipher.seek(place);
        cipher.apply_keystream(bytes);
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
        let mut bytes = vec![0; self.space.lock().unwrap().end as usize];
        self.file.file.read_exact_at(&mut bytes, 0).unwrap();
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
            spill.read(secret, 0, &mut back).unwrap();
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
        // Where the counter of blocks has 32 bits and more.
        let start = (1 << 36) - 100;
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
                spill.read(extent, from as u64, &mut part).unwrap();
                prop_assert_eq!(&part[..], &blob[from..]);
            }
        }

        #[test]
        fn released_space_is_used_again_and_harms_no_other_blob(
            steps in proptest::collection::vec((1usize..300, proptest::option::of(any::<proptest::sample::Index>())), 1..60),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let spill = Spill::create(directory.path()).unwrap();
            let mut held: Vec<(Extent, Vec<u8>)> = vec![];
            for (number, (length, released)) in steps.into_iter().enumerate() {
                let blob = vec![number as u8; length];
                held.push((spill.append(&blob).unwrap(), blob));
                if let Some(released) = released {
                    spill.release(held.swap_remove(released.index(held.len())).0);
                }
                for (extent, blob) in &held {
                    let mut back = vec![];
                    spill.load(*extent, &mut back).unwrap();
                    prop_assert_eq!(&back, blob);
                }
                let space = spill.space.lock().unwrap();
                let free: u64 = space.free.values().sum();
                prop_assert_eq!(free + held.iter().map(|(extent, _)| extent.length).sum::<u64>(), space.end);
                let adjacent = space.free.iter().any(|(&at, &length)| space.free.contains_key(&(at + length)));
                prop_assert!(!adjacent, "{:?}", space.free);
                let by_length: BTreeSet<_> = space.free.iter().map(|(&at, &length)| (length, at)).collect();
                prop_assert_eq!(&space.by_length, &by_length);
            }
        }
    }

    #[test]
    fn the_file_is_as_large_as_the_most_that_it_held() {
        let directory = tempfile::tempdir().unwrap();
        let spill = Spill::create(directory.path()).unwrap();
        let mut held: Vec<Extent> = (0..10).map(|_| spill.append(&[1; 100]).unwrap()).collect();
        for _ in 0..100 {
            spill.release(held.remove(3));
            held.push(spill.append(&[2; 100]).unwrap());
        }
        assert_eq!((spill.stored().len(), spill.bytes()), (1000, 11_000));
        spill.release(held[0]);
        // A part of the place of a longer blob.
        spill.append(&[3; 60]).unwrap();
        spill.append(&[4; 40]).unwrap();
        assert_eq!(spill.stored().len(), 1000);
    }

    #[test]
    fn blobs_of_many_lengths_leave_little_space_unused() {
        let (mut space, mut random) = (FileSpace::default(), 1u64);
        let mut length = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            100_000 + (random >> 33) % 1_000_000
        };
        let mut held: Vec<(u64, u64)> = vec![];
        let mut most = 0;
        for step in 0..20_000 {
            if held.len() == 500 {
                let (offset, length) = held.swap_remove(step * 7919 % 500);
                space.give_back(offset, length);
            }
            let length = length();
            held.push((space.take(length), length));
            most = most.max(held.iter().map(|(_, length)| length).sum());
        }
        assert!(space.end < most + most / 4, "{} bytes for {most}", space.end);
    }

    #[test]
    fn a_place_that_is_used_again_has_another_keystream() {
        let directory = tempfile::tempdir().unwrap();
        let spill = Spill::create(directory.path()).unwrap();
        let first = spill.append(&[7; 64]).unwrap();
        let before = spill.stored();
        spill.release(first);
        spill.append(&[7; 64]).unwrap();
        assert_eq!(before.len(), spill.stored().len());
        assert_ne!(before, spill.stored());
    }

    #[test]
    fn blobs_come_back_and_no_name_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let spill = Spill::create(directory.path()).unwrap();
        let first = spill.append(b"first").unwrap();
        let second = spill.append(b"second!").unwrap();
        let mut buffer = [0; 7];
        spill.read(second, 0, &mut buffer).unwrap();
        assert_eq!(&buffer, b"second!");
        spill.read(first, 0, &mut buffer[..5]).unwrap();
        assert_eq!(&buffer[..5], b"first");
        assert_eq!(spill.bytes(), 12);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert!(spill.read(first, 0, &mut buffer).is_err() && spill.read(second, 1, &mut buffer).is_err());
    }

    #[test]
    fn a_missing_directory_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        assert!(Spill::create(&missing).unwrap_err().to_string().contains("missing"));
    }
}
