//! Where are the private files of a release that is continued, and are they those of its last night?

use super::chain::Night;
use super::ledger::LedgerReader;
use super::pending::{self, PendingHead, PendingPeople};
use super::private_file::{PrivateFile, next_of, settle, take, with_ending};
use crate::encode::fingerprint::FingerprintKey;
use crate::error::{Error, Result};
use crate::resources::disk;
use crate::resources::spill_stream::SpillStream;
use std::path::{Path, PathBuf};

/// The private files of a release that is continued. Whoever changes them holds the turn of the release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NightlyFiles {
    /// Who was published.
    pub ledger: PathBuf,
    /// The ledger of a night that is about to appear.
    pub next_ledger: PathBuf,
    /// Who waits.
    pub pending: PathBuf,
    /// Who waits after an erasure that is about to appear.
    pub next_pending: PathBuf,
}

impl NightlyFiles {
    /// The files next to a release.
    pub fn of(release: &Path) -> Self {
        let (ledger, pending) = (with_ending(release, ".ledger"), with_ending(release, ".pending"));
        let (next_ledger, next_pending) = (next_of(&ledger), next_of(&pending));
        NightlyFiles { ledger, next_ledger, pending, next_pending }
    }

    /// Finishes or undoes what a run left that was killed: the next ledger is taken if its night is the last one.
    pub fn recover(&self, last: &Night, key: &FingerprintKey) -> Result<()> {
        let last = &last.manifest_sha256;
        let belongs =
            LedgerReader::open(&self.next_ledger, key).is_ok_and(|next| next.head().manifest_sha256 == *last);
        let waits = pending::read(&self.next_pending, key)
            .is_ok_and(|next| next.is_some_and(|next| next.head.after_sha256 == *last));
        settle(&self.next_pending, &self.pending, waits)?;
        settle(&self.next_ledger, &self.ledger, belongs)
    }

    /// Gives the next files their names: their night is there.
    pub fn take_next(&self) -> Result<()> {
        if self.next_pending.exists() {
            take(&self.next_pending, &self.pending)?;
        }
        take(&self.next_ledger, &self.ledger)
    }

    /// Opens the ledger of the last night.
    pub fn open_ledger(&self, last: &Night, key: &FingerprintKey) -> Result<LedgerReader> {
        let ledger = LedgerReader::open(&self.ledger, key)?;
        match ledger.head().manifest_sha256 == last.manifest_sha256 {
            true => Ok(ledger),
            false => Err(Error::input(
                format!(
                    "{} is the ledger of night {} of a release, not of night {} of this one",
                    self.ledger.display(),
                    ledger.head().night,
                    last.number
                ),
                "bring back the ledger that belongs to the release: without it nobody knows who was published",
            )),
        }
    }

    /// The people who wait after the last night.
    pub fn open_pending(&self, last: &Night, key: &FingerprintKey) -> Result<Option<PendingPeople>> {
        let waiting = pending::read(&self.pending, key)?;
        // Another night has published everybody who waited before it.
        Ok(waiting.filter(|waiting| waiting.head.after_sha256 == last.manifest_sha256))
    }

    /// Writes the people who wait after an erasure that is about to appear; nothing is in place yet.
    pub fn next_pending(
        &self,
        head: &PendingHead,
        rows: &SpillStream,
        key: &FingerprintKey,
    ) -> Result<PrivateFile> {
        let mut file = PrivateFile::newer(&self.next_pending, "the people who wait")?;
        pending::write(&mut file, head, rows, key)?;
        Ok(file)
    }

    /// Replaces the people who wait.
    pub fn write_pending(&self, head: &PendingHead, rows: &SpillStream, key: &FingerprintKey) -> Result<()> {
        let mut file = PrivateFile::newer(&self.pending, "the people who wait")?;
        pending::write(&mut file, head, rows, key)?;
        file.place()?;
        file.keep();
        Ok(())
    }

    /// Nobody waits any more.
    pub fn remove_pending(&self) -> Result<()> {
        match self.pending.exists() {
            true => disk::remove_file(&self.pending).map_err(|source| Error::io(&self.pending, source)),
            false => Ok(()),
        }
    }
}
