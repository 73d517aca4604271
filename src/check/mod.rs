//! Is what was written really safe?
//!
//! [`check`] counts the groups of a table and judges them. It shares nothing with the code that makes
//! releases except the formulas of privacy, so it can catch a planner that lies.
//!
//! The way of the rows: [`keys`] finds where groups begin, [`values`] gives each sensitive value a code,
//! [`cells`] counts the codes of some rows, [`clustered`] counts a table whose groups stand together in one scan, [`returns`] notices that they do
//! not, [`tally`] then counts by group out of core, and [`criterion`] judges one counted group after
//! another, by skyline points or by [`implications`], beside them by [`shares`]; [`mod@robust`] judges groups by known
//! distributions; [`knowledge`] keeps beside it what the knowledge skyline
//! needs. [`mod@groups`] looks at a few groups again. [`policy`] and [`release`] say what is asked of which table.
//!
//! Memory: one group, the distinct sensitive values and five statistics for each of them and each skyline
//! point; what grows beyond that is taken from the budget and spills.
//!
//! Not here: the mathematics (`skyline`, `implications`), decoding (`read`), printing (`cli`).

pub mod beliefs;
mod cells;
mod clustered;
mod counted;
mod criterion;
mod groups;
mod implications;
mod job;
mod knowledge;
pub mod policy;
pub mod release;
mod report;
mod returns;
pub(crate) mod robust;
mod shares;
#[cfg(test)]
mod tests;
mod values;

pub use criterion::{Absent, Implications, Requirements};
pub use groups::{GroupDetail, SAMPLE, groups};
pub use job::{Buckets, Columns, Part, Subject, Survey, check, survey};
pub use knowledge::Sought;
pub use report::{
    Atom, CheckReport, DisclosurePoint, DisclosureReport, GroupSizes, Order, PointReport, ShareReport,
    Statements,
};
pub use robust::{DeltaClaims, DeltaInstead, RobustReport, Robustness, robust};
pub use shares::ShareRequirement;
