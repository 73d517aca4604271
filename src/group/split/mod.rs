//! Which groups does a table fall into if each group is split for as long as that is safe?
//!
//! One loop ([`plan`]) combines four questions, each with its own file:
//!
//! | file | question |
//! |---|---|
//! | [`frontier`] | what next: which nodes are open, in which order are they decided? |
//! | [`count`] | how many people in a node have which values? |
//! | [`propose`] | which cut of a node is safe, and best? ([`candidates`] of one column, by their [`rank`]; in small nodes, by where they lead: [`lookahead`]) |
//! | [`leaf`] | which node is a row in after a cut? |
//!
//! Rows in memory and rows on pages differ only in "how many" and "which leaf". [`grow`] runs the loop over the pages
//! of a whole table, and then over each node that fits in memory ([`subtree`]), several of them at once ([`subtrees`]).

pub mod binning;
pub mod candidates;
#[cfg(test)]
mod choice_tests;
pub mod count;
pub mod elsewhere;
pub mod frontier;
pub mod grow;
#[cfg(test)]
mod grow_tests;
pub mod join;
pub mod leaf;
pub mod limits;
pub mod lookahead;
mod obstacle;
mod page_counts;
pub mod part_rows;
pub mod plan;
pub mod propose;
pub mod rank;
pub mod replay;
pub mod rows;
mod siblings;
pub mod small;
pub mod subtree;
#[cfg(test)]
mod subtree_tests;
mod subtrees;
#[cfg(test)]
mod tests;
pub mod triples;
pub mod walk;
