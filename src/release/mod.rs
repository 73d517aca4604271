//! What may the world see?
//!
//! Groups become labels ([`label`], read again by [`reader`]) and rows ([`rows`]); columns that are kept travel as [payload](crate::encode::payload) and are brought
//! into the order of the groups by [a sorter](crate::resources::sorter). Files ([`part_writer`]) take shape in a staging directory
//! ([`staging`]), bound together by a manifest ([`manifest`]). Nothing of the source but what the policy allows is written.

pub mod covers;
pub mod findings;
pub mod label;
pub mod manifest;
pub mod output;
pub mod part_writer;
pub mod penalty;
pub mod reader;
pub mod rows;
pub mod staging;
