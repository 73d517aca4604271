//! skyveil publishes tables larger than memory that stay safe against an adversary whose knowledge the
//! data owner states.

pub mod anonymize;
pub mod check;
pub mod cli;
pub mod encode;
pub mod error;
pub mod generate;
pub mod group;
pub mod math;
pub mod model;
pub mod policy;
pub mod profile;
pub mod release;
pub mod report;
pub mod reproduce;
pub mod resources;
pub mod table;

pub use error::{Error, Result};

/// What the benches measure. Not part of the public interface: it may change at any time.
#[cfg(feature = "bench-internals")]
#[doc(hidden)]
pub mod bench {
    pub use crate::math::beliefs::prior::naive_prior;
    pub use crate::math::exact::parse_fraction;
    pub use crate::model::beliefs::original::distance;
    pub use crate::model::beliefs::priors::{Means, kernels};
    pub use crate::model::beliefs::{KernelPriors, Original, Roles};
    pub use crate::resources::Resources;
    pub use crate::resources::budget::Budget;
    pub use crate::resources::progress::Progress;
    pub use crate::table::read::{ReadOptions, Table};
}
