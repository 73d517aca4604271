//! Which adversaries is a release protected against, and does the protection hold?
//!
//! One folder per adversary: its keys in a policy, how they are read and written, and its test while groups are split.
//! [`adversaries`] is the only file that tells the adversaries apart; everything above asks [`Model`](adversaries::Model) or [`Policy`].
//!
//! Invariant: two policies with the same canonical text are equal except for the location of their file, so
//! comments and the order of keys cannot change a release.

pub mod adversaries;
mod bare_values;
pub mod beliefs;
pub mod counted_group;
pub mod finding;
pub mod group_sizes;
pub mod implications;
pub mod judge;
pub mod obstacle;
pub mod policy;
pub mod privacy;
pub mod protection;
pub mod published;
mod relaxation;
pub mod remembering;
pub mod robust;
pub mod several;
pub mod shares;
pub mod skyline;
pub mod split;
pub mod suppression;

pub use adversaries::{Grouping, Needs};
pub use policy::Policy;
pub use privacy::{Privacy, Target};

#[cfg(test)]
mod split_tests;
#[cfg(test)]
mod tests;
