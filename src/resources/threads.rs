//! Worker threads. A system that starts no more of them is an error, not a panic.

use crate::error::{Error, Result};
use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// A pool of this many threads.
pub fn thread_pool(threads: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Error::Threads { source: io::Error::other(error) })
}

/// Starts a thread.
pub fn start<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    Builder::new().spawn(work).map_err(|source| Error::Threads { source })
}

/// Starts a thread that may borrow what outlives the scope.
pub fn start_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).map_err(|source| Error::Threads { source })
}
