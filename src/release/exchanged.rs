//! Which private files belong to a release that is exchanged?
//!
//! Its receipt says so: the receipt and what it names may be replaced, and go with the release. Any other file is
//! somebody else's. Newer files wait as `NAME.next` until the newer release is there, the receipt last: so the receipt
//! that a killed run left names what else it left.

use super::manifest::{MANIFEST, hash};
use super::private_file::{next_of, resolved, settle, with_ending};
use super::receipt::{RECEIPT, Receipt, SUPPRESSED, TREE};
use crate::error::{Error, Result, Setting};
use crate::resources::disk;
use std::path::{Path, PathBuf};

/// What becomes of a release that is exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OlderRelease {
    /// It is kept as `NAME.previous`, in place of what has that name.
    Kept,
    /// It is removed.
    Removed,
}

impl OlderRelease {
    /// The name under which it is kept, if it is.
    pub(super) fn kept_as(self, release: &Path) -> Option<PathBuf> {
        (self == OlderRelease::Kept).then(|| with_ending(release, ".previous"))
    }

    /// What is no longer there after the exchange.
    pub(super) fn gone(self, release: &Path) -> PathBuf {
        self.kept_as(release).unwrap_or_else(|| release.to_path_buf())
    }
}

/// The private files of a release that is exchanged, without its key, which others may have, too.
#[derive(Debug, Clone)]
pub struct ExchangedFiles {
    files: Vec<PathBuf>,
    older: OlderRelease,
}

/// What an exchange takes, and what it must not touch.
pub(super) struct Exchange<'a> {
    pub release: &'a Path,
    pub older: OlderRelease,
    /// The files to be written, the receipt first.
    pub own: &'a [(&'a Path, Setting)],
    /// The files that the run reads.
    pub read: &'a [PathBuf],
}

impl Exchange<'_> {
    /// Finds the files of the older release. What a killed run left around its exchange is finished or undone; fails before
    /// that if a file would be lost that the run reads, and after it if one to be written has the place of another file.
    pub fn files(&self) -> Result<ExchangedFiles> {
        let usual = [RECEIPT, TREE, SUPPRESSED].map(|ending| with_ending(self.release, ending));
        let receipts = [self.own[0].0, &usual[0]];
        self.expect_nothing_read_is_lost(receipts, &usual)?;
        let manifest = hash(&self.release.join(MANIFEST)).ok().map(|(_, sha256)| sha256);
        let belongs = |receipt: &Receipt| manifest.as_ref() == Some(&receipt.manifest_sha256);
        receipts.iter().try_for_each(|receipt| self.finish_or_undo(receipt, belongs))?;
        let found = |path: &&Path| {
            let receipt = Receipt::read(path).ok().filter(&belongs)?;
            Some([receipt.files(path), vec![path.to_path_buf()]].concat())
        };
        let files = receipts.iter().find_map(found).unwrap_or_default();
        // No receipt names these: the run was killed before its receipt was there.
        for path in files.iter().chain(&usual[1..]) {
            settle(&next_of(path), path, false)?;
        }
        for &(path, setting) in self.own {
            let next = next_of(path);
            let place = if contains(&files, path) { None } else { Some(path) };
            if let Some(taken) =
                place.into_iter().chain([&*next]).find(|path| path.symlink_metadata().is_ok())
            {
                return Err(self.foreign(taken, setting));
            }
        }
        Ok(ExchangedFiles { files, older: self.older })
    }

    fn expect_nothing_read_is_lost(&self, receipts: [&Path; 2], usual: &[PathBuf]) -> Result<()> {
        let named = |path: &Path| {
            let receipts = [Receipt::read(path), Receipt::read(&next_of(path))];
            receipts.into_iter().flatten().flat_map(|receipt| receipt.files(path)).collect::<Vec<_>>()
        };
        let mut taken: Vec<PathBuf> = receipts.into_iter().flat_map(named).collect();
        taken.extend(usual.iter().cloned().chain(self.own.iter().map(|(path, _)| path.to_path_buf())));
        let nexts: Vec<PathBuf> = taken.iter().map(|path| next_of(path)).collect();
        let gone = resolved(&self.older.gone(self.release));
        let lost = |path: &&PathBuf| {
            contains(&taken, path) || contains(&nexts, path) || resolved(path).starts_with(&gone)
        };
        match self.read.iter().find(lost) {
            None => Ok(()),
            Some(path) => Err(Error::input(
                format!(
                    "{} is read by this run, and would be lost when the release is exchanged",
                    path.display()
                ),
                "move it away from the release and from its private files",
            )),
        }
    }

    /// Finishes or undoes an exchange whose run was killed.
    fn finish_or_undo(&self, receipt: &Path, belongs: impl Fn(&Receipt) -> bool) -> Result<()> {
        let Ok(next) = Receipt::read(&next_of(receipt)) else { return Ok(()) };
        let exchanged = belongs(&next);
        let own_name = self.release.file_name().is_some_and(|name| name.to_string_lossy() == next.release);
        if !exchanged && !own_name {
            return Ok(());
        }
        let newer = next.files(receipt);
        if let (true, OlderRelease::Removed, Ok(before)) = (exchanged, self.older, Receipt::read(receipt)) {
            let outdated = before.files(receipt).into_iter().filter(|path| !contains(&newer, path));
            outdated.into_iter().try_for_each(|path| remove(&path))?;
        }
        // The receipt last: until then it names the others.
        let mut waiting = newer.iter().map(|path| &**path).chain([receipt]);
        waiting.try_for_each(|path| settle(&next_of(path), path, exchanged))
    }

    fn foreign(&self, path: &Path, setting: Setting) -> Error {
        Error::missing(
            format!(
                "{} exists already, and is no private file of {}",
                path.display(),
                self.release.display()
            ),
            match setting {
                Setting::Receipt => "move it away, or name the receipt of the release, or a new one",
                _ => "move it away, or name another file",
            },
            setting,
        )
    }
}

impl ExchangedFiles {
    /// Those that go with the older release if these were written for the newer one.
    pub fn outdated(&self, written: &[PathBuf]) -> Vec<PathBuf> {
        match self.older {
            OlderRelease::Kept => Vec::new(),
            OlderRelease::Removed => {
                self.files.iter().filter(|path| !contains(written, path)).cloned().collect()
            }
        }
    }
}

/// Removes a file, if it is there.
pub fn remove(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(_) => disk::remove_file(path).map_err(|source| Error::io(path, source)),
        Err(_) => Ok(()),
    }
}

fn contains(paths: &[PathBuf], path: &Path) -> bool {
    let path = resolved(path);
    paths.iter().any(|own| resolved(own) == path)
}
