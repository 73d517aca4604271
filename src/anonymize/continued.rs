//! What does a run find that changes a release that is continued?

use crate::encode::fingerprint::FingerprintKey;
use crate::error::Result;
use crate::release::chain::{ChainEnd, Night};
use crate::release::ledger::LedgerReader;
use crate::release::nightly_files::NightlyFiles;
use crate::release::pending::PendingPeople;
use crate::release::receipt::{ReceiptPaths, read_key};
use crate::release::staging::Turn;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A release whose turn this run has, with its private files.
pub(super) struct ContinuedRelease {
    /// The right to change the release.
    pub turn: Arc<Turn>,
    /// Its last night.
    pub end: ChainEnd,
    /// The ledger and those who wait.
    pub files: NightlyFiles,
    /// The key of both.
    pub key: FingerprintKey,
    /// Where it is.
    pub key_path: PathBuf,
}

impl ContinuedRelease {
    /// Takes the turn of the release, and finishes or undoes what a run left that was killed.
    pub fn open(release: &Path, key: Option<&Path>) -> Result<Self> {
        let turn = Arc::new(Turn::take(release)?);
        let end = ChainEnd::read(release)?;
        let files = NightlyFiles::of(release);
        let key_path = ReceiptPaths::of(release, None, key)?.key;
        let key = read_key(&key_path)?;
        files.recover(&end.last, &key)?;
        Ok(ContinuedRelease { turn, end, files, key, key_path })
    }

    /// The last night.
    pub fn last(&self) -> &Night {
        &self.end.last
    }

    /// Who was published.
    pub fn ledger(&self) -> Result<LedgerReader> {
        self.files.open_ledger(self.last(), &self.key)
    }

    /// Who waits.
    pub fn waiting(&self) -> Result<Option<PendingPeople>> {
        self.files.open_pending(self.last(), &self.key)
    }
}
