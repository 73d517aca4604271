//! What is in this table, and which policy could be a starting point?
//!
//! One scan counts ([`Profile::of`]), names and counts suggest a role for every column ([`propose`]), and the result is
//! printed as a commented policy ([`PolicyProposal::to_policy`]). No column is ever proposed to be published unchanged:
//! a column that is not recognized is dropped. Three policies of different strictness are tried on a sample
//! ([`Strictness`]).
//!
//! Memory: [`COLUMN_SLOTS`](scan::COLUMN_SLOTS) and [`COMBINATION_SLOTS`](scan::COMBINATION_SLOTS) counters of 17 bytes
//! in tables that may be less than half full, some 60 MiB in addition to what reading needs, regardless of the number
//! of rows and columns.
//! Invariants: the profile does not depend on threads or the order of the rows. No text created here contains the value
//! of a cell. Numbers are shown only as rounded ranges that leave out at least the lowest and the highest hundred rows.
//! Not here: whether the table is safe; `anonymize` and `check` decide that.

mod candidates;
mod column;
mod hierarchy;
mod known;
mod policy;
mod privacy;
mod robust;
mod role;
mod scan;
mod starting_policy;
mod strictness;
mod tally;
#[cfg(test)]
mod tests;

pub use candidates::SensitiveCandidate;
pub use column::ColumnProfile;
pub use hierarchy::hierarchy_of;
pub use policy::ReadingOptions;
pub use role::{OwnerChoices, PolicyProposal, Proposed, ProposedAdversary, propose};
pub use scan::{ColumnCombination, Profile};
pub use starting_policy::StartingPolicy;
pub use strictness::{Strictness, TriedPolicy};
