//! Which groups should be published?
//!
//! The planner starts from one group and replaces a group by the parts of a cut as long as the criterion
//! admits it: [`triples`] (how many?), [`propose`] (which cut?), [`criterion`] (is it safe?), [`tree`]
//! (which group is a row in?), [`subtree`] (the loop over nodes that fit in memory).
//! It knows codes and counts; nothing of Arrow or files.

pub mod binning;
pub mod full_domain;
pub mod given;
pub mod grow;
pub mod lattice;
pub mod packed;
pub mod propose;
pub mod subtree;
#[cfg(test)]
mod tests;
pub mod tree;
pub mod triples;
