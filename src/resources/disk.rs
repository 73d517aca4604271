//! How does a run change the disk?
//!
//! The files and folders of a release, of its staging and of the spill are created, written, synced, renamed and removed
//! through this module, so that tests can let any of these operations fail, and lose what was not synced. In the
//! program it adds nothing to the calls of the operating system.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What is about to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskOperation<'a> {
    /// A new file or folder.
    Create,
    /// Bytes of a file.
    Write,
    /// A file or the names in a folder become durable.
    Sync,
    /// A folder gets this name.
    Rename(&'a Path),
    /// A file or folder goes.
    Remove,
}

/// Asks the tests whether an operation shall fail.
#[cfg(test)]
fn step(operation: DiskOperation<'_>, path: &Path) -> io::Result<()> {
    super::faults::step(operation, path)
}

#[cfg(not(test))]
#[inline(always)]
fn step(_operation: DiskOperation<'_>, _path: &Path) -> io::Result<()> {
    Ok(())
}

/// A file that is being written.
#[derive(Debug)]
pub struct DiskFile {
    file: File,
    #[cfg(test)]
    path: PathBuf,
}

impl DiskFile {
    /// Creates a file, or empties an existing one.
    pub fn create(path: &Path) -> io::Result<Self> {
        step(DiskOperation::Create, path)?;
        File::create(path).map(|file| DiskFile::of(file, path))
    }

    /// An unnamed file in a folder.
    pub fn nameless(folder: &Path) -> io::Result<Self> {
        step(DiskOperation::Write, folder)?;
        tempfile::tempfile_in(folder).map(|file| DiskFile::of(file, folder))
    }

    /// An unnamed file in a folder, which this process finds under `path` as long as it is open; nothing where there are no
    /// such paths.
    pub fn nameless_at(folder: &Path, path: &Path) -> io::Result<Option<Self>> {
        #[cfg(target_os = "linux")]
        {
            let file = DiskFile::nameless(folder)?;
            let open = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file.file));
            if Path::new(&open).exists() {
                step(DiskOperation::Create, path)?;
                std::os::unix::fs::symlink(open, path)?;
                return Ok(Some(file));
            }
        }
        let _ = (folder, path);
        Ok(None)
    }

    fn of(file: File, _path: &Path) -> Self {
        DiskFile {
            file,
            #[cfg(test)]
            path: _path.to_path_buf(),
        }
    }

    /// Only tests know its path, and only they may let it fail.
    #[inline(always)]
    fn step(&self) -> io::Result<()> {
        #[cfg(test)]
        let path = &*self.path;
        #[cfg(not(test))]
        let path = Path::new("");
        step(DiskOperation::Write, path)
    }

    /// Writes all bytes at this place.
    #[cfg(unix)]
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.step()?;
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, offset)
    }

    /// Reads all bytes at this place.
    #[cfg(unix)]
    pub fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, offset)
    }

    /// Writes all bytes at this place.
    #[cfg(windows)]
    pub fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        self.step()?;
        while !bytes.is_empty() {
            let written = std::os::windows::fs::FileExt::seek_write(&self.file, bytes, offset)?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = &bytes[written..];
            offset += written as u64;
        }
        Ok(())
    }

    /// Reads all bytes at this place.
    #[cfg(windows)]
    pub fn read_exact_at(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let read = std::os::windows::fs::FileExt::seek_read(&self.file, bytes, offset)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes = &mut bytes[read..];
            offset += read as u64;
        }
        Ok(())
    }
}

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.step()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a file.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    DiskFile::create(path)?.write_all(contents.as_ref())
}

/// Opens a file for a lock, creating it if it is not there.
pub fn lock_file(path: &Path) -> io::Result<File> {
    step(DiskOperation::Create, path)?;
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

/// Creates a folder and those above it.
pub fn create_dir_all(path: &Path) -> io::Result<()> {
    step(DiskOperation::Create, path)?;
    std::fs::create_dir_all(path)
}

/// Creates a folder for its owner alone.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    step(DiskOperation::Create, path)?;
    let mut folder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder.create(path)
}

/// Creates an empty file for its owner alone, whose name has these ends and is not taken.
pub fn create_named_between(folder: &Path, prefix: &OsStr, suffix: &str) -> io::Result<(File, PathBuf)> {
    step(DiskOperation::Create, &folder.join(prefix))?;
    let made = tempfile::Builder::new().prefix(prefix).suffix(suffix).rand_bytes(12).tempfile_in(folder)?;
    made.keep().map_err(|error| error.error)
}

/// Makes the contents of a file durable.
pub fn sync_file(path: &Path) -> io::Result<()> {
    step(DiskOperation::Sync, path)?;
    File::open(path)?.sync_all()
}

/// Makes the names in a folder durable.
#[cfg(unix)]
pub fn sync_folder(path: &Path) -> io::Result<()> {
    sync_file(path)
}

/// Folders cannot be synced there; the file system journals its names.
#[cfg(not(unix))]
pub fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Gives a folder another name, in the way of `rename`.
pub fn rename(from: &Path, to: &Path, rename: impl FnOnce(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
    step(DiskOperation::Rename(to), from)?;
    rename(from, to)
}

/// Gives a file a second name; where that cannot be, a copy gets it.
pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    step(DiskOperation::Create, to)?;
    std::fs::hard_link(from, to).or_else(|_| std::fs::copy(from, to).map(drop))
}

/// Removes a file.
pub fn remove_file(path: &Path) -> io::Result<()> {
    step(DiskOperation::Remove, path)?;
    std::fs::remove_file(path)
}

/// Removes a folder with everything in it.
pub fn remove_dir_all(path: &Path) -> io::Result<()> {
    step(DiskOperation::Remove, path)?;
    // Listing a folder takes a handle, of which there may be none left; removing an empty one takes none.
    std::fs::remove_dir(path).or_else(|_| std::fs::remove_dir_all(path))
}
