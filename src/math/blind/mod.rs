//! Which groups of a fixed tree may be published so that replaying the choice tells nothing?
//!
//! The tree comes from quasi-identifiers and sizes alone. A leaf publishes itself if it is safe, an inner node what
//! its children publish, or itself if the arrangements of its values for which some child fails are safe
//! (mathematics 13). Whoever knows the tree and this rule is left with just those arrangements, so the property
//! holds against them as well. A failure at the root means that nothing is published.
//!
//! Small trees are [counted exactly](exact), large ones follow a stricter rule of [`limits`] per value for
//! which safety is proved once for all tables. Which of the two applies depends on the counts of the root alone.

mod exact;
mod known;
mod limits;
mod point;
mod tail;
#[cfg(test)]
mod tests;
mod tree;

pub use limits::{ShareLimits, least_leaf};
pub use point::{BlindPoint, BlindTargets};
pub use tree::{CandidateNode, CandidateTree, Counting};
