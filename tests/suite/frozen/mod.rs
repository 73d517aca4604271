//! Releases and answers stay what they are: rows in their order, group numbers, labels, the tree, the fields of the
//! manifest, what `--json` prints, exit codes.
//!
//! Each family of cases has a reference next to this file: a line per field. What is long is kept as a digest, long
//! lists as digests of runs of their elements, so that a failure says which rows, columns and fields differ and what
//! they are now. Not compared: `report.html`, sizes and hashes of files (encodings may change), time and memory.
//!
//! The reference holds for builds with and without `force-spill`. A change that is meant is written down by
//!
//! ```text
//! SKYVEIL_FREEZE=1 cargo test --test suite frozen
//! ```
//!
//! and explained in the commit that contains it.

mod cases;
mod reference;
