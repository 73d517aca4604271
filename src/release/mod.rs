//! What may the public see?
//!
//! Groups become labels ([`label`], parsed by [`reader`]) and rows ([`rows`]); columns that are kept travel as
//! [payload](crate::encode::payload) and are put in group order by [a sorter](crate::resources::sorter). Files
//! ([`part_writer`]) are created in a staging directory ([`staging`]) and bound together by a manifest ([`manifest`]).
//! Nothing from the source is written except what the policy allows.

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
