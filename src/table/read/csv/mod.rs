//! Reading CSV files.
//!
//! One reader splits the text into pieces of whole records ([`pieces`]); the workers read the cells ([`decode`]).

mod cell;
mod decode;
mod file;
mod pieces;
mod record;
#[cfg(test)]
mod tests;

pub use cell::{CsvType, OrderedCells};
pub(super) use cell::{TypeGuess, TypeOrigin};
pub(super) use decode::one_cell;
pub(super) use file::{CsvFile, is_null, settled};
