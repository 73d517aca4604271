//! What does the owner allow?
//!
//! A policy is a TOML file that is read and checked as a whole before the table is touched: every
//! mistake is reported with its line, key and remedy, all of them at once. The result is a typed value;
//! nothing below sees TOML. Thresholds are exact fractions of their text.
//!
//! Memory: O(policy and hierarchy files). No other file is read.
//! Invariants: two policies with the same canonical text are equal but for the place of their file, so
//! comments and the order of keys cannot change a release.
//! Not here: the types of the columns (`encode`), dominated points and verdicts (the mathematics).

mod bind;
mod canonical;
mod columns;
pub mod hierarchy;
mod models;
mod parse;
mod privacy;
mod publish;
mod quasi;
mod read;
mod tree;

pub use bind::{Role, overlooked_delimiter};
pub use columns::{ColumnType, Columns, Nearness, Sensitive};
pub use parse::closest;
pub(crate) use parse::quoted;
pub use privacy::{
    Belief, Beliefs, Criterion, Distance, Distributions, Model, Privacy, Protected, Requirement, Robust,
    RobustTest, Target, Values, joint_parts, joint_value,
};
pub use publish::{Coarseness, Cuts, Function, Publish, Ranges, Strategy, Style};
pub use quasi::{End, Grid, Quasi, Shape};
pub use read::Policy;

#[cfg(test)]
mod tests;
