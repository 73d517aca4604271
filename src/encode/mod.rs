//! Which code is each value?
//!
//! The first scan finds the distinct values of every column ([`column_values`]), of ordered columns the cells of a grid
//! ([`grid`]), which become codes that follow their order or their hierarchy ([`quasi`], [`sensitive`]); the last scan
//! turns rows into codes ([`encoder`], [`page`]). Often one scan is enough ([`draft`]). [`source`] is the only place that
//! knows this sequence; [`elsewhere`] lets an engine run it on parts of the table. Codes, and all that follows from them,
//! depend on the set of rows alone.

pub mod attribute;
pub mod byte_forms;
mod cell_table;
pub mod cells;
pub mod codes;
pub mod column;
pub mod column_values;
pub mod combination;
pub mod distinct;
pub mod draft;
pub mod elsewhere;
pub mod encoder;
pub mod fingerprint;
pub mod grid;
pub mod group_counts;
mod long_table;
pub mod numbering;
pub mod page;
#[cfg(test)]
mod page_tests;
pub mod payload;
pub mod person;
pub mod quasi;
pub mod repeated_ids;
pub mod rows;
pub mod scale;
pub mod sealed_pages;
pub mod sensitive;
mod sip;
pub mod source;
pub mod source_columns;
