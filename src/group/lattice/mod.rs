//! Which full-domain generalizations are safe, and which of them is best?
//!
//! Every column has nested [`ColumnLevels`], from its values up to "all". A node of the lattice chooses a level for
//! each column; all people whose values fall into the same cells form a group. Going up only merges groups. So where
//! merging never raises a risk (single values), everything above a safe node is safe, and the lowest safe nodes
//! determine all of them ([`minimal_safe`]). The lowest node is counted from the rows once; every other node is rolled
//! up from its counts ([`LatticeCells`]). [`LatticeMeasure`] gives the cost of a node.
//!
//! Memory: twice the cells of the lowest node that contain people.
//! Not here: what is safe (`plan::criterion`), reading and labelling values (`anonymize`).

mod cells;
pub mod full_domain;
mod levels;
mod measure;
mod search;
#[cfg(test)]
mod tests;

pub use cells::LatticeCells;
pub use levels::ColumnLevels;
pub use measure::LatticeMeasure;
pub use search::{LatticeNode, minimal_safe, nodes};
