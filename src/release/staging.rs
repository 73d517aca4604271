//! When does a release become visible?
//!
//! Everything is written to a private directory next to the target. Once it is complete and checked, its files, its
//! folders and the parent are synced in that order around one rename that refuses an existing target. Private files of
//! the owner are in place before that rename, so no release is ever without its receipt. A run that fails
//! or is killed leaves no release behind and never touches an older one.
//!
//! There are two locks, both held by an open file and thus released by the operating system however a run ends:
//! - `.NAME.lock` next to the target admits one run per target at a time. It is held until after the rename.
//! - `NAME.mark` beside the staging directory NAME shows that its run is alive. A directory whose mark nobody holds was
//!   left by a dead run and is swept by the next one; a directory without a mark is not ours and stays. The mark is made
//!   before its directory and goes after it.

use super::exchanged::OlderRelease;
use super::manifest::MANIFEST;
use crate::error::{Error, Result, Setting};
use crate::resources::{disk, unfinished};
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Ends the name of the file that marks a staging directory, and is locked while its run is alive.
const MARK: &str = ".mark";

/// Separates the name of the target from the random suffix in the name of a staging directory.
const UNFINISHED: &str = ".unfinished-";

/// The directory in which a release is prepared; removed on drop unless it was published.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    folder: PathBuf,
    /// Shows other runs that this staging directory is alive; dropped after the directory is gone.
    _mark: Mark,
    /// Keeps other runs away from the target until the release is in place.
    _turn: Arc<Turn>,
}

impl Staging {
    /// Creates a staging directory for `target`, which must not exist yet, and sweeps those of dead runs.
    pub fn create(target: &Path) -> Result<Self> {
        let turn = Turn::take(target)?;
        // Checked under the lock, so a release published meanwhile by another run is seen.
        if target.symlink_metadata().is_ok() {
            return Err(exists(target));
        }
        Staging::beside(Arc::new(turn), target, target)
    }

    /// Creates a staging directory for a night of a release, which stands next to the release until it appears in it.
    pub fn of_night(turn: Arc<Turn>, release: &Path, night: &Path) -> Result<Self> {
        let folder = parent(night);
        if !folder.is_dir() {
            disk::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
            disk::sync_folder(release).map_err(|source| Error::io(release, source))?;
        }
        Staging::beside(turn, release, night)
    }

    /// Creates a staging directory for a release that replaces the one with the same name.
    pub fn replacing(turn: Arc<Turn>, release: &Path, older: OlderRelease) -> Result<Self> {
        expect_release(release)?;
        if let Some(kept) = older.kept_as(release).filter(|kept| kept.symlink_metadata().is_ok()) {
            expect_release(&kept)?;
        }
        Staging::beside(turn, release, release)
    }

    fn beside(turn: Arc<Turn>, release: &Path, target: &Path) -> Result<Self> {
        let name = name_of(release)?;
        sweep(release, name)?;
        let mark = Mark::create(release, name)?;
        let folder = mark.folder();
        let create = || disk::create_private_dir(&folder).map(|()| (folder.clone(), ()));
        let (folder, ()) = unfinished::make(create).map_err(|source| Error::io(parent(release), source))?;
        Ok(Staging { target: target.to_path_buf(), folder, _mark: mark, _turn: turn })
    }

    /// The directory to write to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the finished release durable. What must be in place before it appears is written after this.
    pub fn seal(&self) -> Result<()> {
        open_to_others(&self.folder)?;
        sync_below(&self.folder)
    }

    /// Makes the sealed release visible under its name, together with the private files that are in place for it. When
    /// this returns, it survives a loss of power.
    pub fn publish(self, private: &[&Path]) -> Result<()> {
        let parts = [&[self.folder.as_path()], private].concat();
        unfinished::publish(&self.target, &parts, || rename_into_place(&self.folder, &self.target))?;
        disk::sync_folder(parent(&self.target))
            .map_err(|source| Error::Undurable { path: self.target.clone(), source })
    }
}

impl Staging {
    /// Exchanges the sealed release with the one that has its name, in one step, together with the private files that
    /// are in place for it.
    pub fn exchange(self, private: &[&Path], older: OlderRelease) -> Result<()> {
        let kept = older.kept_as(&self.target);
        let undurable = |source| Error::Undurable { path: self.target.clone(), source };
        if let Some(kept) = kept.as_ref().filter(|kept| kept.symlink_metadata().is_ok()) {
            disk::remove_dir_all(kept).map_err(|source| Error::io(kept, source))?;
        }
        unfinished::publish(&self.target, private, || {
            let exchanged = disk::rename(&self.folder, &self.target, exchange_names);
            exchanged.map_err(|source| Error::io(&self.target, source))
        })?;
        if let Some(kept) = &kept {
            disk::rename(&self.folder, kept, |from, to| std::fs::rename(from, to)).map_err(undurable)?;
        }
        disk::sync_folder(parent(&self.target)).map_err(undurable)
    }
}

/// Whatever is replaced is removed, now or by the next run, so it must be a release.
fn expect_release(path: &Path) -> Result<()> {
    // Exchanged, a link would go, and the release that it points to would stay. A slash at the end would be followed.
    if path.components().collect::<PathBuf>().is_symlink() {
        return Err(Error::missing(
            format!("{} is a link, not the directory of a release", path.display()),
            "name the directory that it points to",
            Setting::Out,
        ));
    }
    if !path.join(MANIFEST).is_file() {
        return Err(Error::missing(
            format!("{} is not the directory of a release: it has no {MANIFEST}", path.display()),
            "name another directory, or move this one away",
            Setting::Out,
        ));
    }
    Ok(())
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Gone already if it was published.
        unfinished::remove(&self.folder);
    }
}

/// The file that marks a staging directory; removed on drop.
#[derive(Debug)]
struct Mark {
    path: PathBuf,
    lock: File,
}

impl Mark {
    fn create(target: &Path, name: &OsStr) -> Result<Self> {
        let create = || disk::create_named_between(parent(target), &staging_prefix(name), MARK);
        let made = unfinished::make(|| create().map(|(lock, path)| (path, lock)));
        let (path, lock) = made.map_err(|source| Error::io(parent(target), source))?;
        let mark = Mark { path, lock };
        mark.lock.try_lock().map_err(|error| no_lock(target, error.into()))?;
        Ok(mark)
    }

    /// The directory that it marks.
    fn folder(&self) -> PathBuf {
        self.path.with_extension("")
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        unfinished::remove(&self.path);
    }
}

/// The right to publish to one target, held through a locked file next to it.
#[derive(Debug)]
pub struct Turn {
    path: PathBuf,
    _lock: File,
}

impl Turn {
    /// Takes it, unless another run has it.
    pub fn take(target: &Path) -> Result<Self> {
        let name = name_of(target)?;
        let mut file = OsString::from(".");
        file.push(name);
        file.push(".lock");
        let path = target.with_file_name(file);
        let (path, lock) = unfinished::make(|| Self::lock(target, path))?;
        Ok(Turn { path, _lock: lock })
    }

    fn lock(target: &Path, path: PathBuf) -> Result<(PathBuf, File)> {
        loop {
            let lock = disk::lock_file(&path).map_err(|source| Error::io(&path, source))?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::Busy { target: target.to_path_buf() });
                }
                Err(TryLockError::Error(source)) => return Err(no_lock(target, source)),
            }
            // The run before us may have removed the file between our opening and locking it.
            if is_at(&lock, &path) {
                return Ok((path, lock));
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Removed while locked: anyone who opened it meanwhile finds that it is gone and creates a new one.
        unfinished::remove(&self.path);
    }
}

/// The name of a release.
fn name_of(target: &Path) -> Result<&OsStr> {
    target.file_name().ok_or_else(|| {
        Error::input(
            format!("{} is no name for a release", target.display()),
            "name the directory that the release becomes",
        )
    })
}

/// Whether an open file is the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(own), Ok(named)) = (file.metadata(), std::fs::symlink_metadata(path)) else { return false };
    (own.dev(), own.ino()) == (named.dev(), named.ino())
}

/// An open file cannot be removed there.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

fn exists(target: &Path) -> Error {
    Error::missing(
        format!("{} exists already", target.display()),
        "choose another directory for the release, or move the older release away first",
        Setting::Out,
    )
}

/// A file system that cannot lock cannot keep two runs apart.
fn no_lock(target: &Path, source: std::io::Error) -> Error {
    Error::input(
        format!(
            "{}: files cannot be locked there ({source}), so two runs could not be kept apart",
            parent(target).display()
        ),
        "publish to a file system with locks (flock), and copy the release from there",
    )
}

/// The folder of a file.
pub(super) fn parent(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn staging_prefix(name: &OsStr) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(UNFINISHED);
    prefix
}

/// Removes the staging directories that dead runs to this target left behind.
fn sweep(target: &Path, name: &OsStr) -> Result<()> {
    let prefix = staging_prefix(name);
    let folder = parent(target);
    let entries = std::fs::read_dir(folder).map_err(|source| Error::io(folder, source))?;
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let bytes = name.as_encoded_bytes();
        let ours = bytes.starts_with(prefix.as_encoded_bytes()) && bytes.ends_with(MARK.as_bytes());
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(mark) = File::open(&path) else { continue };
        if mark.try_lock().is_ok() {
            let folder = path.with_extension("");
            if folder.is_dir() {
                disk::remove_dir_all(&folder).map_err(|source| Error::io(&folder, source))?;
            }
            disk::remove_file(&path).map_err(|source| Error::io(&path, source))?;
        }
    }
    Ok(())
}

/// A staging directory is private; a published one has the permissions that the user's umask allows.
#[cfg(unix)]
fn open_to_others(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let io = |source| Error::io(folder, source);
    // The umask cannot be read without changing it, so a directory created under it shows its effect.
    let probe = folder.join(".mask");
    std::fs::create_dir(&probe).map_err(io)?;
    let mode = probe.metadata().map_err(io)?.permissions().mode() & 0o777;
    std::fs::remove_dir(&probe).map_err(io)?;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).map_err(io)
}

#[cfg(not(unix))]
fn open_to_others(_folder: &Path) -> Result<()> {
    Ok(())
}

/// Syncs every file below a folder, then the folder itself.
fn sync_below(folder: &Path) -> Result<()> {
    let io = |source| Error::io(folder, source);
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let path = entry.path();
        if entry.file_type().map_err(io)?.is_dir() {
            sync_below(&path)?;
        } else {
            disk::sync_file(&path).map_err(|source| Error::io(&path, source))?;
        }
    }
    disk::sync_folder(folder).map_err(io)
}

/// Renames without replacing: an existing target is refused in the same step.
fn rename_into_place(folder: &Path, target: &Path) -> Result<()> {
    match disk::rename(folder, target, rename_to_new) {
        Ok(()) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty) => {
            Err(Error::input(
                format!("{} appeared while the release was made", target.display()),
                "name another directory for the release",
            ))
        }
        Err(source) => Err(Error::io(target, source)),
    }
}

/// Two folders get each other's name.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange_names(folder: &Path, target: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, folder, CWD, target, RenameFlags::EXCHANGE) {
        // Not every file system supports the flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => exchange_in_steps(folder, target),
        other => other.map_err(Into::into),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange_names(folder: &Path, target: &Path) -> std::io::Result<()> {
    exchange_in_steps(folder, target)
}

/// For a moment nothing has the name.
fn exchange_in_steps(folder: &Path, target: &Path) -> std::io::Result<()> {
    let mut aside = folder.as_os_str().to_owned();
    aside.push(".older");
    std::fs::rename(target, &aside)?;
    std::fs::rename(folder, target)?;
    std::fs::rename(&aside, folder)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename_to_new(folder: &Path, target: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, folder, CWD, target, RenameFlags::NOREPLACE) {
        // Not every file system supports the flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => rename_over_empty(folder, target),
        other => other.map_err(Into::into),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rename_to_new(folder: &Path, target: &Path) -> std::io::Result<()> {
    if cfg!(unix) { rename_over_empty(folder, target) } else { std::fs::rename(folder, target) }
}

/// Claims the name by creating an empty directory, which fails if the name is taken, and then replaces it. Renaming
/// onto a directory that somebody filled in the meantime fails.
#[cfg(unix)]
fn rename_over_empty(folder: &Path, target: &Path) -> std::io::Result<()> {
    std::fs::create_dir(target)?;
    std::fs::rename(folder, target).inspect_err(|_| {
        let _ = std::fs::remove_dir(target);
    })
}

#[cfg(not(unix))]
fn rename_over_empty(folder: &Path, target: &Path) -> std::io::Result<()> {
    std::fs::rename(folder, target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_release_appears_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("release");
        let staging = Staging::create(&target).unwrap();
        std::fs::write(staging.folder().join("data"), "x").unwrap();
        assert!(matches!(Staging::create(&target), Err(Error::Busy { .. })));
        drop(staging);
        assert!(names(place.path()).is_empty());
        let staging = Staging::create(&target).unwrap();
        std::fs::write(staging.folder().join("data"), "x").unwrap();
        staging.seal().unwrap();
        staging.publish(&[]).unwrap();
        assert_eq!(names(&target), ["data"]);
        assert_eq!(names(place.path()), ["release"]);
        assert!(Staging::create(&target).unwrap_err().to_string().contains("exists already"));
        assert_eq!(names(place.path()), ["release"]);
    }

    #[test]
    fn what_a_dead_run_left_is_swept_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("release");
        let dead = place.path().join(".release.unfinished-dead");
        let foreign = place.path().join(".release.unfinished-notes");
        for left in [&dead, &foreign] {
            std::fs::create_dir(left).unwrap();
            std::fs::write(left.join("part"), "x").unwrap();
        }
        std::fs::write(place.path().join(".release.unfinished-dead.mark"), "").unwrap();
        std::fs::write(place.path().join(".release.unfinished-gone.mark"), "").unwrap();
        let alive = place.path().join(".release.unfinished-alive");
        std::fs::create_dir(&alive).unwrap();
        let lock = File::create(place.path().join(".release.unfinished-alive.mark")).unwrap();
        lock.lock().unwrap();
        let staging = Staging::create(&target).unwrap();
        assert!(!dead.exists() && foreign.exists() && alive.exists());
        drop(staging);
        assert!(foreign.join("part").exists());
        let left =
            [".release.unfinished-alive", ".release.unfinished-alive.mark", ".release.unfinished-notes"];
        assert_eq!(names(place.path()), left);
    }

    #[test]
    fn a_target_that_appears_meanwhile_is_not_replaced() {
        for fill in [false, true] {
            let place = tempfile::tempdir().unwrap();
            let target = place.path().join("release");
            let staging = Staging::create(&target).unwrap();
            std::fs::create_dir(&target).unwrap();
            if fill {
                std::fs::write(target.join("theirs"), "x").unwrap();
            }
            let error = staging.publish(&[]).unwrap_err().to_string();
            assert!(error.contains("appeared while"), "{error}");
            assert_eq!(names(&target), if fill { vec!["theirs"] } else { vec![] });
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_empty_directory_claims_the_name_where_the_system_cannot() {
        let place = tempfile::tempdir().unwrap();
        let (folder, target) = (place.path().join("folder"), place.path().join("target"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("own"), "x").unwrap();
        std::fs::create_dir(&target).unwrap();
        assert_eq!(rename_over_empty(&folder, &target).unwrap_err().kind(), ErrorKind::AlreadyExists);
        std::fs::remove_dir(&target).unwrap();
        rename_over_empty(&folder, &target).unwrap();
        assert_eq!(names(&target), ["own"]);
    }

    /// Threads stand in for processes: every lock belongs to an open file, not to a process.
    #[test]
    fn of_several_runs_at_once_exactly_one_publishes() {
        for _ in 0..50 {
            let place = tempfile::tempdir().unwrap();
            let target = place.path().join("release");
            let run = |number: usize| {
                let staging = Staging::create(&target)?;
                std::fs::write(staging.folder().join("run"), number.to_string()).unwrap();
                staging.seal()?;
                staging.publish(&[])
            };
            let published: Vec<bool> = std::thread::scope(|scope| {
                let runs: Vec<_> = (0..3).map(|number| scope.spawn(move || run(number).is_ok())).collect();
                runs.into_iter().map(|run| run.join().unwrap()).collect()
            });
            let winners: Vec<usize> = (0..3).filter(|&number| published[number]).collect();
            assert_eq!(winners.len(), 1, "{published:?}");
            assert_eq!(std::fs::read_to_string(target.join("run")).unwrap(), winners[0].to_string());
            assert_eq!(names(place.path()), ["release"]);
        }
    }
}
