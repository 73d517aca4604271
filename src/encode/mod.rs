//! Which code is each value?
//!
//! The first scan collects the distinct values of every column ([`collect`]), which become codes that follow their
//! order or their hierarchy ([`attribute`], [`sensitive`]); the second scan turns rows into pages of codes
//! ([`encoder`], [`page`]). Codes, and all that follows from them, depend on the set of rows alone.

pub mod attribute;
pub mod codes;
pub mod collect;
pub mod column;
pub mod combination;
pub mod distinct;
pub mod encoder;
pub mod group_counts;
pub mod keys;
mod long_table;
pub mod page;
pub mod payload;
pub mod prepare;
pub mod rows;
pub mod scale;
pub mod sensitive;
pub mod source;
