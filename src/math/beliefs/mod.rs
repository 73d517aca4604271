//! How far does a release move the beliefs of an adversary who knows the correlations in the data?
//!
//! (B,t)-privacy: the adversary's prior is a kernel estimate over the table with bandwidth B, the release
//! turns it into a posterior, and no belief may move by more than t. Cut by question:
//!
//! | module | question |
//! |---|---|
//! | [`combinations`] | which combinations of values occur? |
//! | [`distance`], [`kernel`] | how far apart are two values, and what weight does that give? |
//! | [`prior`] | what is believed before the release? |
//! | [`omega`] | what would the paper's estimate of the posterior be? (display only) |
//! | [`ceiling`] | how far can a belief have moved, without the posterior? (proved) |
//! | [`capacity`], [`tilt`] | how closely can the posterior of a large group be enclosed? (proved) |
//! | [`blocks`] | can the values of a group be assigned at all, and which rows have to do with each other? |
//! | [`smoothing`], [`divergence`], [`comparison`] | how far did a belief move, and is that within t? |
//! | [`group`] | how far do all beliefs about a group move? |
//!
//! Invariant: a distance is accepted only with a proven bound or exactly; a NaN is never accepted. Not here:
//! exact posteriors, which [`comparison`] receives; tables, files, threads.

pub mod blocks;
mod capacity;
pub mod ceiling;
pub mod combinations;
pub mod comparison;
pub mod distance;
pub mod divergence;
pub mod group;
pub mod kernel;
mod logarithm;
pub mod omega;
pub mod prior;
mod refinement;
mod roundings;
pub mod smoothing;
#[cfg(test)]
mod tests;
mod tilt;
