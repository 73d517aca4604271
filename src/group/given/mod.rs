//! Which of the given generalization functions may be published, and what would a replay reveal?
//!
//! Reads a table into memory, groups its people by every function, and passes the groups to
//! [`disclosure_sets`](crate::math::disclosure_sets). Functions come from `[[audit.function]]` or from a table of group
//! numbers; in both cases they must not depend on the sensitive values.
//!
//! Memory: the columns in use for at most [`MOST_PEOPLE`](people::MOST_PEOPLE) people, and the memory needed for
//! counting. A function with a group below the policy's minimum size is left out beforehand. This is safe: an adversary
//! who knows the quasi-identifiers knows the group sizes anyway.
//! Not here: the counting, the text of the report, publishing.

mod audited;
mod functions;
mod generalize;
mod groups;
mod people;
mod property;

pub use audited::{GivenFunctions, GroupedPeople, ReadFor};
pub use functions::CandidateFunction;
pub use groups::PublishedAttributes;
pub use people::CodedPeople;
pub use property::AuditedPoint;
