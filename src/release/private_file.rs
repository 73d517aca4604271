//! Which files are for the owner alone, and when do they appear?
//!
//! A private file can be read and written by its owner only. It has a temporary name until it is placed, and replaces
//! another file only if it is a newer state of it. Until its release is in place it belongs to the run: a run that fails
//! removes it. What a killed run left under a temporary name is swept by the next run that writes this file; a lock on the
//! open file shows that its run is alive.

use super::manifest::hash;
use super::staging::parent;
use crate::error::{Error, Result, Setting};
use crate::resources::disk::{self, DiskFile};
use crate::resources::unfinished;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// A file for the owner alone, removed on drop unless it was kept.
#[derive(Debug)]
pub struct PrivateFile {
    path: PathBuf,
    /// Its name until its release is in place.
    placed: PathBuf,
    /// What it is, for messages.
    what: &'static str,
    older: Older,
    state: State,
}

/// What becomes of an older file with the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Older {
    /// It belongs to another release.
    Refused,
    /// It is an older state of this file.
    Replaced,
    /// It belongs to a release that is exchanged, and keeps its name until then: this one is placed as `NAME.next`, which
    /// is free.
    Exchanged,
}

/// Ends the name of a file that takes the place of another one as soon as its release is there.
const NEXT: &str = ".next";

#[derive(Debug)]
enum State {
    Nothing,
    /// Under a temporary name; the lock shows that its run is alive.
    Unfinished(PathBuf, #[expect(dead_code, reason = "held until the file is placed")] File),
    Placed,
    Kept,
}

impl PrivateFile {
    /// Fails if the file already exists: it belongs to another release. Nothing is written yet.
    pub fn new(path: &Path, what: &'static str) -> Result<Self> {
        let name = path.file_name().ok_or_else(|| {
            Error::input(format!("{} is no name for a file", path.display()), "choose another name")
        })?;
        if path.symlink_metadata().is_ok() {
            return Err(exists(path, what));
        }
        sweep(path, name)?;
        Ok(PrivateFile::unwritten(path, path.to_path_buf(), what, Older::Refused))
    }

    /// A file beside which there may be an older one.
    pub fn with(path: &Path, what: &'static str, older: Older) -> Result<Self> {
        match older {
            Older::Refused => PrivateFile::new(path, what),
            Older::Replaced => PrivateFile::newer(path, what),
            Older::Exchanged => {
                sweep(path, path.file_name().unwrap_or_default())?;
                Ok(PrivateFile::unwritten(path, next_of(path), what, older))
            }
        }
    }

    /// A newer state of a file that may exist. Whoever writes it holds the turn of its release.
    pub fn newer(path: &Path, what: &'static str) -> Result<Self> {
        sweep(path, path.file_name().unwrap_or_default())?;
        Ok(PrivateFile::unwritten(path, path.to_path_buf(), what, Older::Replaced))
    }

    fn unwritten(path: &Path, placed: PathBuf, what: &'static str, older: Older) -> Self {
        PrivateFile { path: path.to_path_buf(), placed, what, older, state: State::Nothing }
    }

    /// Its name once its release is in place.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name once it is placed.
    pub fn placed(&self) -> &Path {
        &self.placed
    }

    /// Creates the file under a temporary name.
    pub fn create(&mut self) -> Result<DiskFile> {
        let io = |source| Error::io(&self.path, source);
        let prefix = prefix(self.path.file_name().unwrap_or_default());
        let create = || disk::create_named_between(parent(&self.path), &prefix, "");
        let (path, lock) = unfinished::make(|| create().map(|(lock, path)| (path, lock))).map_err(io)?;
        // A failure from here on has something to remove.
        let locked = lock.try_lock();
        let file = DiskFile::create(&path);
        self.state = State::Unfinished(path, lock);
        // Without a lock a sweep takes it for the file of a dead run; a file system without locks has no release.
        locked.map_err(|error| io(error.into()))?;
        file.map_err(io)
    }

    /// The hash of what was written so far.
    pub fn sha256(&self) -> Result<String> {
        match &self.state {
            State::Unfinished(path, _) => hash(path).map(|(_, hash)| hash),
            _ => hash(&self.placed).map(|(_, hash)| hash),
        }
    }

    /// Makes the file durable and gives it its name, which must still be free unless an older file may have it.
    pub fn place(&mut self) -> Result<()> {
        let State::Unfinished(unfinished, _) = &self.state else { return Ok(()) };
        let io = |source| Error::io(&self.path, source);
        let from = unfinished.clone();
        disk::sync_file(&from).map_err(io)?;
        let rename_as: fn(&Path, &Path) -> std::io::Result<()> = match self.older {
            Older::Refused | Older::Exchanged => rename_to_new,
            Older::Replaced => replace,
        };
        let rename = || disk::rename(&from, &self.placed, rename_as).map(|()| (self.placed.clone(), ()));
        unfinished::make(rename).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => exists(&self.placed, self.what),
            _ => io(error),
        })?;
        unfinished::keep(&from);
        self.state = State::Placed;
        disk::sync_folder(parent(&self.path)).map_err(|source| Error::io(&self.path, source))
    }

    /// The release is in place: the file stays.
    pub fn keep(mut self) {
        unfinished::keep(&self.placed);
        self.state = State::Kept;
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        match &self.state {
            State::Unfinished(path, _) => unfinished::remove(path),
            State::Placed => unfinished::remove(&self.placed),
            State::Nothing | State::Kept => {}
        }
    }
}

fn exists(path: &Path, what: &str) -> Error {
    Error::input(
        format!("{} exists already: {what} of another release, or of a run that was killed", path.display()),
        "move it away together with its release, or choose another file",
    )
}

fn prefix(name: &OsStr) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".unfinished-");
    prefix
}

/// Removes what dead runs left under temporary names of this file.
fn sweep(path: &Path, name: &OsStr) -> Result<()> {
    let (folder, prefix) = (parent(path), prefix(name));
    let entries = std::fs::read_dir(folder).map_err(|source| Error::io(folder, source))?;
    for entry in entries.flatten() {
        let ours = entry.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes());
        if ours
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            let path = entry.path();
            disk::remove_file(&path).map_err(|source| Error::io(&path, source))?;
        }
    }
    Ok(())
}

/// Gives a file a name that is free; a second name is a step that fails if it is taken.
fn rename_to_new(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::hard_link(from, to)?;
    std::fs::remove_file(from)
}

/// Gives a file a name, whether or not another one has it.
fn replace(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::rename(from, to)
}

/// Gives a file its name for good.
pub fn take(next: &Path, own: &Path) -> Result<()> {
    let io = |source| Error::io(own, source);
    disk::rename(next, own, replace).map_err(io)?;
    disk::sync_folder(parent(own)).map_err(io)
}

/// Finishes or undoes what a run left that was killed around its exchange: a next file takes its place if it belongs to
/// the release that is there, and is removed if it does not.
pub fn settle(next: &Path, own: &Path, belongs: bool) -> Result<()> {
    match belongs {
        _ if !next.exists() => Ok(()),
        true => take(next, own),
        false => disk::remove_file(next).map_err(|source| Error::io(next, source)),
    }
}

/// Where a file waits until its release is there.
pub fn next_of(path: &Path) -> PathBuf {
    with_ending(path, NEXT)
}

/// The path with an ending appended to its name.
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(ending);
    path.with_file_name(name)
}

/// Fails if a private file would be inside of a release.
pub fn refuse_inside(path: &Path, release: &Path, what: &str, setting: Setting) -> Result<()> {
    match resolved(path).starts_with(resolved(release)) {
        true => Err(Error::missing(
            format!("{} is inside the release", path.display()),
            format!("{what} is private: put it elsewhere"),
            setting,
        )),
        false => Ok(()),
    }
}

/// The resolved path, without `.`, `..` and symbolic links, whether or not the file exists.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut place = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => {
                place.pop();
            }
            other => place.push(other),
        }
        place = place.canonicalize().unwrap_or(place);
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_private_from_the_start_and_gone_unless_it_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("own");
        let mut file = PrivateFile::new(&path, "a receipt").unwrap();
        assert!(names(place.path()).is_empty());
        file.create().unwrap().write_all(b"secret").unwrap();
        assert_eq!(names(place.path()).len(), 1);
        file.place().unwrap();
        assert_eq!(names(place.path()), ["own"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        drop(file);
        assert!(names(place.path()).is_empty());
        let mut file = PrivateFile::new(&path, "a receipt").unwrap();
        file.create().unwrap();
        drop(file);
        assert!(names(place.path()).is_empty());
        let mut file = PrivateFile::new(&path, "a receipt").unwrap();
        file.create().unwrap().write_all(b"kept").unwrap();
        file.place().unwrap();
        file.keep();
        assert_eq!(std::fs::read(&path).unwrap(), b"kept");
        let error = PrivateFile::new(&path, "the receipt").unwrap_err().to_string();
        assert!(error.contains("exists already: the receipt of another release"), "{error}");
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_not_replaced() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("own");
        let mut file = PrivateFile::new(&path, "the receipt").unwrap();
        file.create().unwrap().write_all(b"mine").unwrap();
        std::fs::write(&path, "theirs").unwrap();
        assert!(file.place().unwrap_err().to_string().contains("exists already"));
        drop(file);
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        assert_eq!(names(place.path()), ["own"]);
    }

    #[test]
    fn what_a_dead_run_left_is_swept_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("own");
        let mut alive = PrivateFile::new(&path, "the receipt").unwrap();
        alive.create().unwrap();
        std::fs::write(place.path().join(".own.unfinished-dead"), "x").unwrap();
        std::fs::write(place.path().join(".other.unfinished-dead"), "x").unwrap();
        let _other = PrivateFile::new(&path, "the receipt").unwrap();
        let left = names(place.path());
        assert_eq!(left.len(), 2, "{left:?}");
        assert_eq!(left[0], ".other.unfinished-dead");
    }
}
