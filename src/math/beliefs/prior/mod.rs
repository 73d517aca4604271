//! What does the adversary believe about a person before the release?
//!
//! The Nadaraya-Watson estimate with the Epanechnikov product kernel (mathematics 4.1) at every combination
//! that occurs. The kernel is a product, so the sum over rows is contracted one column at a time. A column in
//! which only equal values have a weight cuts the table into independent blocks and costs nothing. A
//! [`PriorPlan`] orders the columns, estimates the cost of each method and takes the cheapest that fits the
//! memory:
//!
//! | way | what it keeps per slice | when |
//! |---|---|---|
//! | [`PriorMethod::Pairs`] | one vector of values | the reference; tiny tables; no memory |
//! | [`PriorMethod::Trie`] | (person's prefix) x (rows' suffix) pairs that occur, times the values | everything else |
//!
//! A slice is all people of one block with one code of the first contracted column. Slices are independent
//! and may run on any thread, each with its own [`Workspace`]; a slice emits finished priors.
//!
//! **Error.** Floats hold sums of products of non-negative numbers, so every rounding is a factor (1+d),
//! |d| <= u = 2^-53, on some terms, and a sum is off by at most the factors on its worst path. Let column j
//! have n_j codes and a weight of r_j roundings. A term meets, for column j, the r_j roundings of its weight,
//! one product and at most 2 n_j additions (one per code for the floor of the weights, one per code for what
//! is above it, which are separate terms): N = sum over j of (r_j + 1 + 2 n_j). Pairs meet the weights, m
//! products and at most one addition per (combination, value). The total over D values costs D more
//! additions, the quotient one: a prior is off by at most gamma_(2N+D+1) relatively. Nothing over- or
//! underflows: weights are scaled by powers of two to at most 1, sums stay below 2^53 rows, and plans whose
//! smallest positive product could be below 2^-900 report an infinite error, which no decision accepts. If
//! the largest possible total, in the integers of the exact form, is below 2^53 then every sum is exact, N =
//! 0 and D = 0, and only the quotient rounds.
//!
//! Not here: distances and weights (`distance`, `kernel`), threads.

mod layout;
pub mod pairs;
mod plan;
#[cfg(test)]
mod tests;
mod trie;

pub use pairs::exact_prior;
pub use plan::{PriorMethod, PriorPlan, Workspace};
