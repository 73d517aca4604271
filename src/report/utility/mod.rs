//! How much of the original can still be learned from a release?
//!
//! Everything is counted in codes: a column has the codes `0..n`, one for each of its values (or bins of values), and
//! the label of a group covers some of them. [`divergence`] compares each column on its own; [`queries`] evaluates
//! random count queries. A reader of the release can assume no more than that the people of a group are spread evenly
//! over the codes that its label covers, independently for each column and of the sensitive values.
//!
//! Memory: O(codes) per column, and what [`queries::Workload`] says; independent of rows and groups.
//! Invariant: sums are kept in whole numbers, so the order of rows and groups does not matter.
//! Not here: the certainty penalty (`anonymize`), files (`report`).

pub mod divergence;
pub mod queries;
mod released;
#[cfg(test)]
mod tests;

pub use divergence::{Divergence, Marginals};
pub use queries::{Design, QueryErrors, Workload};
pub use released::{Cover, Released};
