//! The adversary who knows l values that the target does not have, the values of k other people, and m people who share
//! the target's value.

mod blind;
pub mod decisive;
pub mod judge;
pub mod knowledge;
pub mod near;
mod policy;
pub mod split;

pub use blind::BlindRequirements;
pub(super) use policy::{KEYS, L_DIVERSITY};
pub use policy::{ProtectedValues, SkylineModel, SkylineRequirement};
