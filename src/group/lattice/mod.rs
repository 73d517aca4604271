//! Which full-domain generalizations are safe, and which of them is best?
//!
//! Every column has nested [`ColumnLevels`], from its values up to "all". A node of the lattice chooses a level for
//! each column; all people whose values fall into the same cells are a group. Going up only merges groups, so where
//! merging never raises a risk (single values) everything above a safe node is safe, and the lowest safe nodes
//! tell all of them ([`minimal_safe`]). The counts of the lowest node are taken from the rows once; every other
//! node is rolled up from them ([`LatticeCells`]). [`LatticeMeasure`] says what a node costs.
//!
//! Memory: the cells of the lowest node that hold people, twice.
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
