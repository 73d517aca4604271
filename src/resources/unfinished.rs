//! What would be left behind if the process ended now?
//!
//! Every file and folder that a run makes is listed here until it is finished or removed. The list belongs to the
//! process, as its signals do, and so it is a static: the command removes what is listed when a signal ends it. The
//! library itself never looks at the list.
//!
//! Invariant: whatever is made is made and listed in one step, and whatever is finished is finished and taken off in
//! one step, as a signal sees it.

use super::disk;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

static LEFT: Mutex<Left> = Mutex::new(Left { unfinished: BTreeSet::new(), published: Vec::new() });

/// How often a folder is removed in which other threads may still be writing.
const ATTEMPTS: u32 = 100;

#[derive(Debug)]
struct Left {
    unfinished: BTreeSet<PathBuf>,
    published: Vec<PathBuf>,
}

fn left() -> MutexGuard<'static, Left> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was found when a signal ended the process.
#[derive(Debug, PartialEq, Eq)]
pub struct Remains {
    /// Files and folders that were removed.
    pub removed: usize,
    /// Releases that had appeared already.
    pub published: Vec<PathBuf>,
}

/// Makes a file or a folder; returns its path and what goes with it.
pub fn make<T, E>(make: impl FnOnce() -> Result<(PathBuf, T), E>) -> Result<(PathBuf, T), E> {
    let mut left = left();
    let (path, made) = make()?;
    left.unfinished.insert(path.clone());
    Ok((path, made))
}

/// A file has its final contents, and stays.
pub fn keep(path: &Path) {
    left().unfinished.remove(path);
}

/// Publishes `target` by `publish`. If that succeeds, everything in `parts` stays.
pub fn publish<E>(target: &Path, parts: &[&Path], publish: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let mut left = left();
    publish()?;
    left.unfinished.retain(|path| !parts.contains(&path.as_path()));
    left.published.push(target.to_path_buf());
    Ok(())
}

/// Removes a file or a folder that will not be finished. If that fails too, there is nobody to report it to.
pub fn remove(path: &Path) {
    let mut left = left();
    let _ = remove_any(path);
    left.unfinished.remove(path);
}

/// Removes all that is unfinished, for a process that is about to end: other threads can make and finish nothing more.
pub fn remove_all() -> Remains {
    let left = left();
    for path in &left.unfinished {
        for _ in 0..ATTEMPTS {
            if remove_any(path).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let remains = Remains { removed: left.unfinished.len(), published: left.published.clone() };
    // Whoever waits for the list waits until the end of the process.
    std::mem::forget(left);
    remains
}

fn remove_any(path: &Path) -> std::io::Result<()> {
    match path.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(metadata) if metadata.is_dir() => disk::remove_dir_all(path),
        Ok(_) => disk::remove_file(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(path: &Path) -> bool {
        left().unfinished.contains(path)
    }

    #[test]
    fn what_is_made_is_listed_until_it_stays_or_goes() {
        let place = tempfile::tempdir().unwrap();
        let create = |name: &str| {
            let path = place.path().join(name);
            let (path, ()) = make(|| std::fs::write(&path, "x").map(|()| (path.clone(), ()))).unwrap();
            assert!(listed(&path));
            path
        };
        let (kept, gone, part) = (create("kept"), create("gone"), create("part"));
        keep(&kept);
        remove(&gone);
        let refused = publish(&place.path().join("out"), &[&part], || Err(()));
        assert!(refused.is_err() && listed(&part));
        publish(&place.path().join("out"), &[&part], || Ok::<(), ()>(())).unwrap();
        assert!(kept.exists() && !gone.exists() && part.exists());
        assert!(!listed(&kept) && !listed(&gone) && !listed(&part));
        let never = place.path().join("never");
        assert!(make(|| Err::<(PathBuf, ()), ()>(())).is_err() && !listed(&never));
    }
}
