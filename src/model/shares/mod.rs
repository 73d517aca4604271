//! Criteria of other tools over the shares of the sensitive values in a group: t-closeness, probabilistic l-diversity.

pub mod judge;
mod policy;
mod split;

pub use policy::ShareCriterion;
pub(super) use policy::{KEYS, LARGEST_SHARE, T_CLOSENESS, add, read};
pub use split::SharesTest;
