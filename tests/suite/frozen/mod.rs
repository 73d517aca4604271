//! Releases and answers do not change: rows in their order, group numbers, labels, the tree, the fields of the
//! manifest, the output of `--json`, exit codes.
//!
//! Each family of cases has a reference next to this file: a line per field. Long texts are stored as a digest, long
//! lists as digests of runs of their elements, so that a failure shows which rows, columns and fields differ and their
//! current contents. Not compared: `report.html`, sizes and hashes of files (encodings may change), what a run was asked for, time and
//! memory.
//!
//! With `force-spill` subtrees are tiny, and their size is part of the canonical order: families that depend on it have
//! a reference `NAME-spilled.txt` of their own. An intended change is recorded, once for each build, with
//!
//! ```text
//! SKYVEIL_FREEZE=1 cargo test --test suite frozen
//! ```
//!
//! and explained in the commit that contains it.

mod cases;
mod reference;
