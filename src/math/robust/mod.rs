//! Which groups keep every individual's posterior at most 1/r against an adversary who knows distributions?
//!
//! | module | question |
//! |---|---|
//! | `priors` | how likely is each value for each signature? |
//! | `spread` | which group is more alike, exactly? |
//! | `requirement` | what is r, and is it out of reach? |
//! | `ranges` | between which priors does a group lie? |
//! | `conditions` | does the Delta, ratio or exact test hold for a group? |
//! | `enclosure` | how large can the posteriors of a large group be? |
//! | `guided` | which posteriors has a small group, also with somebody else in it? |
//! | `tilted` | which posteriors can be expected in a large group? |
//! | `judge` | what may be said about a published group? |
//! | `unavoidable` | how many people can no grouping hide? |
//! | `counted` | what may be said about all groups, if the counts are known? |
//!
//! Memory: documented in each module; nothing here reads files or starts threads. Invariant: the condition is
//! per group, so tables may be processed in parts; only groups that pass `ratio` or `exact` or
//! whose posteriors are enclosed are ever called robust. Not here: posteriors (`crate::math::posterior`), forming groups (`crate::group::similar`), reading
//! priors.

mod conditions;
mod counted;
mod enclosure;
mod guided;
mod judge;
mod priors;
mod ranges;
#[cfg(test)]
pub(crate) mod reference;
mod requirement;
mod spread;
#[cfg(test)]
pub(crate) mod tests;
mod tilted;
mod tuples;
mod unavoidable;

pub use conditions::{Test, delta_ceiling};
pub use counted::{ArrangedGroup, largest_share};
pub use enclosure::exposed;
pub use guided::{Excess, GuidedGroups, Somebody};
pub use judge::{Assessment, Proof, PublishedGroup, RobustVerdict, assess, delta_claims, verify};
pub use priors::{Priors, PriorsBuilder};
pub(crate) use ranges::{GroupPriors, PriorRanges};
pub use requirement::Requirement;
pub(crate) use spread::{PriorLevels, Rank, Spread};
pub use tilted::TiltedGroup;
pub use tuples::Tuples;
pub use unavoidable::{CELLS, CountedSet, Unavoidable, unavoidable};
