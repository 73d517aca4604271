//! For tests: a disk that fails at its N-th operation, or loses its power there.
//!
//! Faults are armed for everything below a folder, so tests do not disturb each other.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::disk::DiskOperation;

/// What happens at the N-th operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It fails as on a full disk, and all others succeed.
    Once,
    /// It fails and all later ones too; what was not synced is lost.
    PowerLoss,
}

struct Faults {
    folder: PathBuf,
    fault: Fault,
    at: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    operations: u64,
    tripped: bool,
    /// Files with contents that are not synced.
    unsynced: BTreeSet<PathBuf>,
    /// New names in folders that are not synced.
    unnamed: BTreeSet<PathBuf>,
}

static ARMED: Mutex<Vec<Arc<Faults>>> = Mutex::new(Vec::new());

/// A fault, until this is dropped.
pub struct Armed(Arc<Faults>);

/// Lets the `at`-th operation below a folder fail, counted from 1.
pub fn arm(folder: &Path, fault: Fault, at: u64) -> Armed {
    let faults = Arc::new(Faults { folder: folder.to_path_buf(), fault, at, state: Mutex::default() });
    ARMED.lock().unwrap().push(faults.clone());
    Armed(faults)
}

impl Armed {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    /// Whether the operation was reached.
    pub fn tripped(&self) -> bool {
        self.state().tripped
    }

    /// What a loss of power leaves: files that were not synced are empty, names that were not synced are gone. A
    /// rename that was not synced is taken to have happened, which is the worse case.
    pub fn lose_what_was_not_synced(&self) {
        let state = self.state();
        for path in &state.unsynced {
            if path.is_file() {
                File::options().write(true).open(path).unwrap().set_len(0).unwrap();
            }
        }
        for path in state.unnamed.iter().rev() {
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        ARMED.lock().unwrap().retain(|faults| !Arc::ptr_eq(faults, &self.0));
    }
}

/// Fails if a fault is armed for this operation.
pub(super) fn step(operation: DiskOperation<'_>, path: &Path) -> io::Result<()> {
    let armed = ARMED.lock().unwrap().clone();
    armed.iter().filter(|faults| path.starts_with(&faults.folder)).try_for_each(|faults| {
        let mut state = faults.state.lock().unwrap();
        if state.tripped && faults.fault == Fault::PowerLoss {
            return Err(rustix::io::Errno::IO.into());
        }
        state.operations += 1;
        if state.operations == faults.at {
            state.tripped = true;
            return Err(rustix::io::Errno::NOSPC.into());
        }
        state.record(operation, path);
        Ok(())
    })
}

impl State {
    fn record(&mut self, operation: DiskOperation<'_>, path: &Path) {
        match operation {
            DiskOperation::Create => {
                self.unsynced.insert(path.to_path_buf());
                self.unnamed.insert(path.to_path_buf());
            }
            DiskOperation::Write => {
                self.unsynced.insert(path.to_path_buf());
            }
            DiskOperation::Sync => {
                self.unsynced.remove(path);
                self.unnamed.retain(|name| name.parent() != Some(path));
            }
            DiskOperation::Rename(to) => {
                let moved = |paths: &BTreeSet<PathBuf>| -> BTreeSet<PathBuf> {
                    let moved =
                        |own: &PathBuf| own.strip_prefix(path).map_or(own.clone(), |rest| to.join(rest));
                    paths.iter().filter(|own| *own != path).map(moved).collect()
                };
                (self.unsynced, self.unnamed) = (moved(&self.unsynced), moved(&self.unnamed));
            }
            DiskOperation::Remove => {
                self.unsynced.retain(|own| !own.starts_with(path));
                self.unnamed.retain(|own| !own.starts_with(path));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::disk;

    fn rename(from: &Path, to: &Path) -> io::Result<()> {
        disk::rename(from, to, |from, to| std::fs::rename(from, to))
    }

    /// The prover can fail: a release that is renamed before it is synced is found empty.
    #[test]
    fn what_was_not_synced_is_lost() {
        for (sync, left) in [(true, Some("x")), (false, None)] {
            let place = tempfile::tempdir().unwrap();
            let (staging, target) = (place.path().join("staging"), place.path().join("target"));
            let armed = arm(place.path(), Fault::PowerLoss, u64::MAX);
            disk::create_dir_all(&staging).unwrap();
            disk::write(&staging.join("file"), "x").unwrap();
            if sync {
                disk::sync_file(&staging.join("file")).unwrap();
                disk::sync_folder(&staging).unwrap();
            }
            rename(&staging, &target).unwrap();
            armed.lose_what_was_not_synced();
            assert!(target.exists());
            assert_eq!(std::fs::read_to_string(target.join("file")).ok().as_deref(), left);
        }
    }

    #[test]
    fn the_chosen_operation_fails_and_then_none_or_all() {
        for (fault, last) in [(Fault::Once, true), (Fault::PowerLoss, false)] {
            let place = tempfile::tempdir().unwrap();
            let armed = arm(place.path(), fault, 3);
            let written = |name: &str| disk::write(&place.path().join(name), "x").is_ok();
            assert_eq!([written("a"), written("b"), written("c")], [true, false, last], "{fault:?}");
            assert!(armed.tripped());
            let elsewhere = tempfile::tempdir().unwrap();
            assert!(disk::write(&elsewhere.path().join("a"), "x").is_ok());
        }
    }
}
