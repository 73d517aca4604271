//! Synthetic tables.
//!
//! Every cell is a pure function of (generator, seed, row number): any part of a table can be generated on its own, and
//! the number of threads only affects the time.
//! Memory: a few chunks of [`CHUNK_ROWS`](synthetic::CHUNK_ROWS) rows per thread, and what [`crate::table::write`]
//! needs.
//! Not here: file formats (`write`), the command line (`cli`).

mod agrawal;
mod census;
mod draw;
mod groups;
mod marginals;
mod synthetic;

#[cfg(test)]
mod tests;

pub use synthetic::{Generator, SyntheticTable, write};
