//! When does a release become visible?
//!
//! Everything is written to a directory beside the target and renamed into place once it is complete and
//! checked. A run that fails or is killed leaves no release behind and does not touch an older one; what
//! it leaves in the staging directory is swept by the next run to the same target.

use crate::error::{Error, Result};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// The directory in which a release takes shape.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    folder: PathBuf,
    /// Held while the run lives, so that another run can tell a dead staging directory from a live one.
    lock: Option<File>,
}

const LOCK: &str = ".lock";

impl Staging {
    /// Makes the staging directory of `target`, which must not exist yet, sweeping that of a dead run.
    pub fn create(target: &Path) -> Result<Self> {
        if target.exists() {
            return Err(Error::input(
                format!("{} exists already", target.display()),
                "give another --out, or move the older release away first",
            ));
        }
        let name = target.file_name().ok_or_else(|| {
            Error::input(
                format!("{} is no name for a release", target.display()),
                "give --out a directory name",
            )
        })?;
        let mut staged = std::ffi::OsString::from(".");
        staged.push(name);
        staged.push(".unfinished");
        let folder = target.with_file_name(staged);
        if folder.exists() {
            let free = match File::open(folder.join(LOCK)) {
                Ok(lock) => match lock.try_lock() {
                    Ok(()) => true,
                    Err(TryLockError::WouldBlock) => false,
                    Err(TryLockError::Error(source)) => return Err(Error::io(&folder, source)),
                },
                Err(_) => true,
            };
            if !free {
                return Err(Error::input(
                    format!("another run is writing {}", target.display()),
                    "wait for it, or give another --out",
                ));
            }
            std::fs::remove_dir_all(&folder).map_err(|source| Error::io(&folder, source))?;
        }
        create_private(&folder).map_err(|source| Error::io(&folder, source))?;
        let path = folder.join(LOCK);
        let lock = File::create(&path).map_err(|source| Error::io(&path, source))?;
        lock.try_lock().map_err(|_| {
            Error::input(
                format!("another run is writing {}", target.display()),
                "wait for it, or give another --out",
            )
        })?;
        Ok(Staging { target: target.to_path_buf(), folder, lock: Some(lock) })
    }

    /// Where to write.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the release visible under its name.
    pub fn publish(mut self) -> Result<()> {
        let io = |source| Error::io(&self.folder, source);
        std::fs::remove_file(self.folder.join(LOCK)).map_err(io)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&self.folder, std::fs::Permissions::from_mode(0o755)).map_err(io)?;
        }
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(io)?;
        // A directory that appeared meanwhile must not be replaced; rename would replace an empty one.
        if self.target.exists() {
            return Err(Error::input(
                format!("{} appeared while the release was made", self.target.display()),
                "give another --out",
            ));
        }
        std::fs::rename(&self.folder, &self.target).map_err(|source| Error::io(&self.target, source))?;
        self.lock = None;
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.lock.take().is_some() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

#[cfg(unix)]
fn create_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_appears_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("release");
        let staging = Staging::create(&target).unwrap();
        std::fs::write(staging.folder().join("data"), "x").unwrap();
        assert!(Staging::create(&target).unwrap_err().to_string().contains("another run"));
        drop(staging);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
        let staging = Staging::create(&target).unwrap();
        std::fs::write(staging.folder().join("data"), "x").unwrap();
        staging.publish().unwrap();
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 1);
        assert!(Staging::create(&target).unwrap_err().to_string().contains("exists already"));
    }

    #[test]
    fn what_a_dead_run_left_is_swept() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("release");
        let left = place.path().join(".release.unfinished");
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join("part"), "x").unwrap();
        std::fs::write(left.join(LOCK), "").unwrap();
        let staging = Staging::create(&target).unwrap();
        assert!(!staging.folder().join("part").exists());
    }
}
