//! Reading tables.
//!
//! A [`Table`] is one or more Parquet, Arrow IPC or CSV files with the same columns ([`paths`] finds them). [`Table::scan`] decodes the
//! requested columns in parallel, and passes on the results of the workers in table order.
//!
//! Memory: a batch of about a mebibyte per thread, plus what a format requires: the footer of every Parquet file, a page
//! and the dictionary of each Parquet column chunk being read, one record batch of an Arrow file per thread, the
//! dictionaries of one Arrow file, 1 MiB of CSV text per thread (4 MiB once, to guess types), the window of one file that
//! is compressed as a whole ([`packing`]). A pipe is copied to the spill ([`spool`]). What goes beyond the fixed
//! allowance is reserved from the budget before it is decoded ([`room`]), or refused with the column that needs it.
//!
//! Invariants: rows come in the order of the paths, then of the file. Every scan reads the same files with the same
//! number of rows, or fails: a file that changes between or during scans is an error. The order and the first error do not depend on
//! the number of threads. No error contains the value of a cell. A damaged file is an error: the decoders of other
//! crates may panic on one, and the panic is caught. The panic hook of the process runs first, so a binary should
//! install one that stays silent while [`panic_is_contained`].
//!
//! Not here: the roles of columns (policy), codes (encode), writing.

mod agree;
mod batch;
#[cfg(test)]
mod changing_tests;
mod code_stream;
mod coded;
#[cfg(test)]
mod coded_tests;
mod contain;
mod csv;
mod files;
mod header;
mod input_file;
mod ipc;
mod keys;
mod open;
mod packing;
mod pages;
mod parquet;
mod paths;
mod plan;
mod room;
mod scan;
#[cfg(test)]
mod source_tests;
mod spool;
#[cfg(test)]
mod tests;

pub use batch::{Batch, ByteCodes};
pub use contain::panic_is_contained;
pub use csv::{CsvType, OrderedCells};
pub use files::{ReadOptions, Table};
pub use header::{looks_like_data, overlooked_delimiter, wrong_delimiter};
pub use plan::ColumnRequest;
pub use room::ScanMeans;
pub use scan::Morsel;
pub use spool::SpoolPlace;
