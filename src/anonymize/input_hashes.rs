//! Which files was the release made from?
//!
//! The receipt names every file of the input with its hash. A hash is found by one thread from the first byte to the last,
//! so the files are hashed while the table is read, and whatever is left when the receipt is written is hashed then.
//!
//! Memory: 64 KiB per thread.

use crate::error::{Error, Result};
use crate::release::receipt::{HashedFile, input_file};
use crate::resources::threads::{start, thread_pool};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The hashes of the files of the input.
pub(super) struct InputHashes {
    files: Arc<Files>,
    threads: usize,
    /// Hashes while others read; none if there is a single thread.
    ahead: Option<JoinHandle<()>>,
}

struct Files {
    paths: Vec<PathBuf>,
    /// The next file that nobody hashes yet.
    next: AtomicUsize,
    /// By the place of the path.
    hashed: Mutex<Vec<(usize, Result<HashedFile>)>>,
    stopped: AtomicBool,
}

impl Files {
    /// Hashes files until none is left.
    fn work(&self) {
        let go_on = || if self.stopped.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) };
        loop {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = self.paths.get(place) else { return };
            let hashed = input_file(path, go_on);
            self.hashed.lock().unwrap_or_else(PoisonError::into_inner).push((place, hashed));
        }
    }
}

impl InputHashes {
    /// Begins with the first of these files, if there is more than one thread.
    pub fn begin(paths: Vec<PathBuf>, threads: usize) -> Result<Self> {
        let (next, hashed, stopped) = (AtomicUsize::new(0), Mutex::default(), AtomicBool::new(false));
        let files = Arc::new(Files { paths, next, hashed, stopped });
        let own = files.clone();
        let ahead = (threads > 1).then(|| start(move || own.work())).transpose()?;
        Ok(InputHashes { files, threads, ahead })
    }

    /// Waits for the hashes of all files, in the order of the paths.
    pub fn finish(&mut self) -> Result<Vec<HashedFile>> {
        thread_pool(self.threads)?.broadcast(|_| self.files.work());
        if let Some(ahead) = self.ahead.take()
            && let Err(panic) = ahead.join()
        {
            std::panic::resume_unwind(panic);
        }
        let mut hashed =
            std::mem::take(&mut *self.files.hashed.lock().unwrap_or_else(PoisonError::into_inner));
        hashed.sort_unstable_by_key(|(place, _)| *place);
        hashed.into_iter().map(|(_, hashed)| hashed).collect()
    }
}

impl Drop for InputHashes {
    /// A run that ends early needs no hashes.
    fn drop(&mut self) {
        self.files.stopped.store(true, Ordering::Relaxed);
        // Whoever panicked there is not needed either.
        let _ = self.ahead.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_its_own_hash_in_the_order_of_the_paths() {
        let folder = tempfile::tempdir().unwrap();
        let path = |number: usize| folder.path().join(format!("{number}.csv"));
        let paths: Vec<PathBuf> = (0..40).map(path).collect();
        paths.iter().enumerate().for_each(|(number, path)| std::fs::write(path, [7].repeat(number)).unwrap());
        let alone: Vec<_> = paths.iter().map(|path| input_file(path, || Ok(())).unwrap()).collect();
        for threads in [1, 2, 5] {
            let hashed = InputHashes::begin(paths.clone(), threads).unwrap().finish().unwrap();
            assert_eq!(format!("{hashed:?}"), format!("{alone:?}"));
        }
    }

    #[test]
    fn a_hash_that_is_not_needed_ends_early() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, [7; 1 << 17]).unwrap();
        let mut pieces = 0;
        let stopped = input_file(&path, || {
            pieces += 1;
            Err(Error::Stopped)
        });
        assert!(matches!(stopped, Err(Error::Stopped)) && pieces == 1);
    }
}
