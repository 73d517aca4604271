//! Who was published, in which group, and what must later nights go on from?
//!
//! `NAME.ledger` is a private file next to a release that is continued. It holds 32 bytes for each person, sorted: a
//! keyed hash of the person, a keyed tag of the values, the group. Its head holds the groups that decide about later
//! nights, and the hash of the manifest that it belongs to; its end is an HMAC of everything before. So a ledger that
//! was lost, changed, or belongs to another release or another night is noticed before anything is published.
//!
//! A night writes the next ledger as `NAME.ledger.next` before it appears, and gives it its name after. A run that finds
//! a next ledger takes it if its night is there, and removes it if it is not.
//!
//! Memory: the head; one buffer of a file.

use super::private_file::PrivateFile;
use crate::encode::fingerprint::FingerprintKey;
use crate::encode::person::{MARK_BYTES, PERSON_BYTES};
use crate::error::{Error, Result, number_of};
use crate::model::published::PastGroups;
use crate::resources::disk::DiskFile;
use crate::resources::sorter::Sorter;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a person in a ledger.
pub const RECORD_BYTES: usize = MARK_BYTES + 8;

/// Added to the number of a group that was withdrawn.
pub const WITHDRAWN: u64 = 1 << 63;

const MAGIC: &[u8; 16] = b"skyveil ledger 2";

/// The longest head; it holds a few groups for each value.
const MOST_HEAD: u32 = 1 << 28;

const SEAL_BYTES: usize = 32;

/// What a ledger says about its release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerHead {
    /// The last night.
    pub night: u64,
    /// The hash of its manifest.
    pub manifest_sha256: String,
    /// People who were ever published.
    pub people: u64,
    /// The types of the columns that were hashed: another type has other hashes.
    pub kinds: BTreeMap<String, String>,
    /// The groups that decide about later nights, those that were withdrawn included.
    pub decisive: PastGroups,
}

/// A person who was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerRecord([u8; RECORD_BYTES]);

impl LedgerRecord {
    /// The keyed hash of the person.
    pub fn person(&self) -> &[u8] {
        &self.0[..PERSON_BYTES]
    }

    /// The keyed tag of the values.
    pub fn tag(&self) -> &[u8] {
        &self.0[PERSON_BYTES..MARK_BYTES]
    }

    /// The group, withdrawn or not.
    pub fn group(&self) -> u64 {
        self.group_bits() & !WITHDRAWN
    }

    /// Whether the group was withdrawn.
    pub fn is_withdrawn(&self) -> bool {
        self.group_bits() & WITHDRAWN != 0
    }

    fn group_bits(&self) -> u64 {
        self.0[MARK_BYTES..].iter().fold(0, |group, &byte| group << 8 | u64::from(byte))
    }

    /// The same person, whose group is withdrawn.
    pub fn withdrawn(mut self) -> Self {
        self.0[MARK_BYTES] |= 0x80;
        self
    }
}

/// Reads a ledger from its head to its end.
pub struct LedgerReader {
    path: PathBuf,
    head: LedgerHead,
    file: BufReader<File>,
    seal: Hmac<Sha256>,
    left: u64,
}

impl LedgerReader {
    /// Opens a ledger and reads its head.
    pub fn open(path: &Path, key: &FingerprintKey) -> Result<Self> {
        let file = File::open(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => Error::input(
                format!("{} is not there: without it nobody knows who was published", path.display()),
                "bring it back from a backup; a release without its ledger cannot be continued",
            ),
            _ => Error::io(path, source),
        })?;
        let mut reader = LedgerReader {
            path: path.to_path_buf(),
            head: LedgerHead {
                night: 0,
                manifest_sha256: String::new(),
                people: 0,
                kinds: BTreeMap::new(),
                decisive: PastGroups::default(),
            },
            file: BufReader::with_capacity(1 << 16, file),
            seal: sealer(key),
            left: 0,
        };
        let mut start = [0; MAGIC.len() + 4];
        reader.fill(&mut start)?;
        let (magic, length) = start.split_at(MAGIC.len());
        let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]);
        if magic != MAGIC || length > MOST_HEAD {
            return Err(reader.damaged());
        }
        let mut text = vec![0; length as usize];
        reader.fill(&mut text)?;
        reader.head = serde_json::from_slice(&text).map_err(|_| reader.damaged())?;
        reader.left = reader.head.people;
        Ok(reader)
    }

    /// What it says about its release.
    pub fn head(&self) -> &LedgerHead {
        &self.head
    }

    /// The next person; at the end, fails if anything was changed.
    pub fn next(&mut self) -> Result<Option<LedgerRecord>> {
        if self.left == 0 {
            return self.finish().map(|()| None);
        }
        self.left -= 1;
        let mut record = [0; RECORD_BYTES];
        self.fill(&mut record)?;
        Ok(Some(LedgerRecord(record)))
    }

    fn finish(&mut self) -> Result<()> {
        let mut stated = [0; SEAL_BYTES];
        match self.file.read_exact(&mut stated) {
            Ok(()) => match self.seal.clone().verify_slice(&stated) {
                Ok(()) => Ok(()),
                Err(_) => Err(self.damaged()),
            },
            Err(_) => Err(self.damaged()),
        }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.file.read_exact(bytes).map_err(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => self.damaged(),
            _ => Error::io(&self.path, source),
        })?;
        self.seal.update(bytes);
        Ok(())
    }

    fn damaged(&self) -> Error {
        Error::input(
            format!("{} is damaged, or was written with another key", self.path.display()),
            "bring the ledger and its key back from a backup; a release without its ledger cannot be continued",
        )
    }
}

/// Writes a ledger.
pub struct LedgerWriter {
    path: PathBuf,
    file: BufWriter<DiskFile>,
    seal: Hmac<Sha256>,
    last: Option<[u8; PERSON_BYTES]>,
    left: u64,
    repeated: u64,
}

impl LedgerWriter {
    /// Begins a file that is not in place yet.
    pub fn create(file: &mut PrivateFile, head: &LedgerHead, key: &FingerprintKey) -> Result<Self> {
        let path = file.path().to_path_buf();
        let text = serde_json::to_vec(head).map_err(|source| Error::io(&path, source.into()))?;
        let length =
            u32::try_from(text.len()).ok().filter(|length| *length <= MOST_HEAD).ok_or_else(|| {
                Error::input("the ledger's head is too long", "round or group the sensitive values")
            })?;
        let mut writer = LedgerWriter {
            file: BufWriter::with_capacity(1 << 16, file.create()?),
            path,
            seal: sealer(key),
            last: None,
            left: head.people,
            repeated: 0,
        };
        writer.write(MAGIC)?;
        writer.write(&length.to_be_bytes())?;
        writer.write(&text)?;
        Ok(writer)
    }

    /// Adds the next person.
    pub fn push(&mut self, record: LedgerRecord) -> Result<()> {
        self.repeated += u64::from(self.last.as_ref().is_some_and(|last| last == record.person()));
        let person: Option<&[u8; PERSON_BYTES]> = record.0.first_chunk();
        self.last = person.copied();
        self.left = self.left.wrapping_sub(1);
        self.write(&record.0)
    }

    /// Adds the people of another ledger and those of `newcomers`, in order.
    pub fn merge(&mut self, mut before: Option<LedgerReader>, newcomers: Sorter<'_>) -> Result<()> {
        let mut next = before.as_mut().map_or(Ok(None), LedgerReader::next)?;
        newcomers.finish(|record| {
            let record = record
                .try_into()
                .map(LedgerRecord)
                .map_err(|_| Error::defect("a person of the ledger has no group"))?;
            while let Some(known) = next.filter(|known| known.0 < record.0) {
                self.push(known)?;
                next = before.as_mut().map_or(Ok(None), LedgerReader::next)?;
            }
            self.push(record)
        })?;
        while let Some(known) = next {
            self.push(known)?;
            next = before.as_mut().map_or(Ok(None), LedgerReader::next)?;
        }
        Ok(())
    }

    /// Ends the file; fails if somebody is in it twice.
    pub fn finish(mut self, column: &str) -> Result<()> {
        if self.repeated > 0 {
            return Err(Error::input(
                format!(
                    "column `{column}` names people, and {} in several rows",
                    number_of(self.repeated, "person is", "people are")
                ),
                "give one row for each person: whoever is in two groups can be found by subtracting them",
            ));
        }
        if self.left != 0 {
            return Err(Error::defect("the ledger does not hold everybody who was published"));
        }
        let seal = self.seal.clone().finalize().into_bytes();
        let io = |source| Error::io(&self.path, source);
        self.file.write_all(&seal).map_err(io)?;
        self.file.flush().map_err(io)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.seal.update(bytes);
        self.file.write_all(bytes).map_err(|source| Error::io(&self.path, source))
    }
}

fn sealer(key: &FingerprintKey) -> Hmac<Sha256> {
    let mut block = [0; 64];
    block[..32].copy_from_slice(&key.mac(b"skyveil: seal of a ledger", &[]));
    Hmac::<Sha256>::new(&block.into())
}
