//! A pool of worker threads.

use crate::error::{Error, Result};

/// A pool of this many threads.
pub fn thread_pool(threads: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|_| Error::input("the threads could not be started", "allow fewer threads"))
}
