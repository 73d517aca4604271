//! Which groups should be published?
//!
//! There are six ways to form groups, and each passes its [`groups::Group`]s with their numbers, in order, to a sink:
//! [`split`] cuts the table for as long as it is safe, [`lattice`] generalizes all people alike, [`similar`] collects
//! similar people, [`given`] uses the groups of a given generalization function, [`blind`] cuts without looking at
//! sensitive values, and [`followed`] follows the cuts of another release. They work on codes and counts, and know little
//! about Arrow or files.
//! [`mondrian`] makes groups that are never published, for comparison.

pub mod blind;
mod byte_forms;
pub mod followed;
pub mod given;
pub mod groups;
pub mod lattice;
pub mod mondrian;
pub mod similar;
pub mod split;
pub mod tree;
