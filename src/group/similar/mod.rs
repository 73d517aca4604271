//! Which similar people form groups that keep every posterior at most 1/r?
//!
//! | module | question |
//! |---|---|
//! | `people` | which people are similar, and in which order are they sorted? |
//! | `parts` | which tuples are grouped together, if there are too many for one pass? |
//! | `rounds` | which groups do the people of each part form? |
//! | `art` | which tuples go together? |
//! | `classes` | which tuples are alike? |
//! | `nearest` | which ungrouped tuple fits a group best? |
//! | `leftover` | which finished group can accept a left-over tuple? |
//! | `exposed_first` | who hides the people whose own value is likely? |
//! | `larger` | which larger groups can hold the people who are left over? |
//! | `mixing` | which groups are dissolved to take in the people whom no group could hold? |
//! | `kept_back` | which finished groups may still be dissolved? |
//!
//! Invariant: the condition is per group, so tables may be processed in parts.
//! Not here: the conditions themselves (`crate::math::robust`), what the adversary knows (`crate::model::robust`).

mod art;
mod classes;
mod exposed_first;
mod kept_back;
mod larger;
mod leftover;
mod mixing;
mod nearest;
mod parts;
mod people;
mod rounds;
#[cfg(test)]
mod tests;

pub use art::group;
pub use parts::parts;
pub use people::{PersonColumns, read_people};
pub use rounds::{PlacedPeople, SimilarPeople};
