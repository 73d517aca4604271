//! What does an adversary learn from knowing how the release was chosen?
//!
//! A sequence of generalization functions (partitions of the people) is tried in order, and the first one
//! that passes a check is published. An adversary who knows this rules out every table for which an earlier
//! function would have been published; what remains is the disclosure set (mathematics 5). [`Audit`]
//! computes, for every function, the rearrangements of its publication (PER), and what remains of them under
//! three strategies: naive (check PER, unsafe), inclusive (check the disclosure set, continue if it fails)
//! and exclusive (stop at the first PER that passes, publish only if its disclosure set passes too).
//!
//! The results are exact: instances are counted, by the values per cell of the functions' common refinement,
//! never listed. Memory: at most [`Limits::states`] counting states (about 200 bytes each) at a time, plus
//! O(people x 2^functions); independent of the number of instances. Beyond the [`Limits`] a set is refused
//! and sampled; a sample never makes anything safe. Not here: reading tables, building partitions from
//! hierarchies, printing.

mod arrangements;
mod audit;
mod estimate;
mod failing;
mod filling;
mod inclusive;
mod partition;
mod property;
#[cfg(test)]
mod replay_tests;
#[cfg(test)]
mod tests;

pub use audit::{Audit, AuditFinding, AuditedRelease, Limits, ReplayStrategy, Sequence};
pub use partition::Partition;
pub use property::{Property, SharesSummary, SkylinePoint};
