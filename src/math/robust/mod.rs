//! Which groups keep every individual's posterior at most 1/r against an adversary who knows distributions?
//!
//! | module | question |
//! |---|---|
//! | `priors` | how likely is each value for each signature? |
//! | `spread` | which group is more alike, exactly? |
//! | `requirement` | what is r, and is it out of reach? |
//! | `ranges` | between which priors does a group lie? |
//! | `conditions` | does the Delta, ratio or exact test hold for a group? |
//! | `judge` | what may be said about a published group? |
//! | `art` | which tuples go together? |
//! | `parts` | which tuples are worked on together, where all are too many? |
//! | `classes` | which tuples are alike? |
//! | `nearest` | which ungrouped tuple fits a group best? |
//! | `shelter` | which finished group can take in a left-over tuple? |
//!
//! Memory: stated in each module; nothing here reads files or starts threads.
//! Invariant: the condition is per group, so tables may be worked on in parts; only `ratio` and `exact` are ever
//! called robust.
//! Not here: posteriors (`crate::math::posterior`), reading priors, writing releases.

mod art;
mod classes;
mod conditions;
mod judge;
mod nearest;
mod parts;
mod priors;
mod ranges;
#[cfg(test)]
mod reference;
mod requirement;
mod shelter;
mod spread;
#[cfg(test)]
mod tests;

pub use art::{SimilarGroups, Tuples, group, group_part};
pub use conditions::{Test, delta_ceiling};
pub use judge::{Assessment, Proof, Published, Verdict, assess, delta_claims, verify};
pub use parts::{Place, parts};
pub use priors::{Priors, PriorsBuilder};
pub use requirement::{Infeasible, Requirement};
