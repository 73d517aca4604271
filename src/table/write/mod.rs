//! Writing tables.
//!
//! Memory: one slab of raw rows ([`SLAB_ROWS`](slab::SLAB_ROWS), and the batches that hold them) and, for Parquet, one
//! encoded row group; independent of the number of rows and of threads.
//! Invariant: the bytes of a file depend on its rows, its schema and the options that affect the format, never on the
//! number of threads or on how the rows were divided into batches: rows are divided again into slabs by count.
//! Invariant: a file that was not finished is removed.
//! Not here: staging directories and renaming (`release`), reading (`read`).

mod column;
mod csv;
mod hybrid;
mod ipc;
mod parquet;
mod runs;
mod slab;
mod writer;

#[cfg(test)]
mod tests;

pub use csv::stated_types;
pub use writer::{OutputFormat, TableWriter, WriteOptions, WrittenFile};
