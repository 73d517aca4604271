//! Which code is each value?
//!
//! The first scan collects the distinct values of every column ([`collect`]), which become codes that follow their
//! order or their hierarchy ([`attribute`], [`sensitive`]); the second scan turns rows into pages of codes
//! ([`encoder`], [`page`]). Codes, and all that follows from them, depend on the set of rows alone.

pub mod attribute;
pub mod collect;
pub mod combination;
pub mod distinct;
pub mod encoder;
pub mod keys;
pub mod page;
pub mod scale;
pub mod sensitive;
