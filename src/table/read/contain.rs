//! What if a decoder panics on a damaged file?
//!
//! The panic ends here as an error that names the file. Its message is dropped: it could quote a cell.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::error::{Error, Result};

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// True while this thread decodes bytes of a file, so that a panic becomes an error of that file.
/// A panic hook prints nothing while this is true.
pub fn panic_is_contained() -> bool {
    CONTAINED.get()
}

/// Runs a decoder; a panic in it is a damaged file. What `decode` borrows must not be used after an error.
pub(super) fn contain<T>(path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    let before = CONTAINED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(decode));
    CONTAINED.set(before);
    outcome.unwrap_or_else(|_| Err(damaged(path, "the decoder gave up")))
}

/// The error of a file that cannot be decoded.
pub(super) fn damaged(path: &Path, problem: impl Into<String>) -> Error {
    Error::Format { path: path.into(), problem: problem.into() }
}
