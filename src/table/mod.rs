//! Reading and writing tables: Parquet, Arrow IPC and CSV.

mod formulas;
pub(crate) mod group_keys;
pub mod kind;
pub mod read;
pub mod row_counts;
pub mod write;

pub use formulas::CsvTexts;
pub use kind::ColumnKind;
pub use row_counts::RowCounts;
