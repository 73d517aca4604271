//! Is what was written really safe?
//!
//! [`Check`] counts the groups of a table and has them judged. It shares nothing with the code that makes
//! releases except the formulas of privacy, so it can catch a planner that lies.
//!
//! The path of the rows: group keys show where groups begin, [`values`] assigns each sensitive value a code,
//! [`cells`] counts the codes of some rows, [`clustered`] counts a table whose groups are contiguous in one
//! scan, [`recurrence`] notices when they are not, [`scattered`] then counts by group out of core, and a
//! [`Judge`](crate::model::judge::Judge) observes one counted group after another. [`share_rules`] counts the
//! whole table first if a criterion compares groups with it, [`numbers`] if windows of numbers are protected; [`mod@robust`] and [`beliefs`] bring people and
//! values together by group for adversaries who know more than counts. [`mod@groups`] looks at a few groups
//! again. [`policy`] and [`release`] determine what is required of which table; [`integrity`] compares a release
//! with its manifest, [`receipt`] with the input that its owner's receipt names. [`mod@together`] follows people through
//! several releases.
//!
//! Memory: one group, the distinct sensitive values and five statistics for each of them and each skyline
//! point; what grows beyond that is taken from the budget and spills.
//!
//! Not here: the mathematics (`math`), what adversaries learn (`model`), decoding (`table`), printing (`cli`).

pub mod beliefs;
mod cells;
mod clustered;
pub mod elsewhere;
mod evidence;
mod examined;
mod explorable;
mod grid_labels;
mod groups;
pub mod integrity;
mod job;
mod judge;
mod numbers;
pub mod policy;
pub mod receipt;
mod recurrence;
pub mod release;
mod robust;
mod scattered;
mod share_rules;
#[cfg(test)]
mod tests;
pub mod together;
pub mod value_rows;
mod values;
mod verdict;

pub use examined::Examined;
pub use explorable::{Explorable, ExplorableGroup, ExplorableValue};
pub use groups::{GroupDetail, groups};
pub use job::{Buckets, ColumnRoles, Subject, ValuedRows, count};
pub use judge::{Check, FINDINGS, Skylines, judging_bytes};
pub use numbers::expect_numbers;
pub use verdict::{JudgedColumn, Order, Verdict};
