//! Reading and writing tables: Parquet, Arrow IPC and CSV.

pub(crate) mod group_keys;
pub mod read;
pub mod write;
