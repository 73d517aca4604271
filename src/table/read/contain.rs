//! What if a decoder panics on a damaged file?
//!
//! The panic is turned into an error that names the file. Its message is dropped, because it could quote a cell.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::error::{Error, Result};

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// True while this thread decodes a file, when a panic is reported as an error of that file. A panic hook should print
/// nothing while this is true.
pub fn panic_is_contained() -> bool {
    CONTAINED.get()
}

/// Runs a decoder and reports a panic as a damaged file. Anything that `decode` borrows must not be used after an
/// error.
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
