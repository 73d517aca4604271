//! The adversary who knows implications: "if this person has this value, then that person has that value".

pub mod judge;
mod policy;
pub mod split;

pub use policy::ImplicationsModel;
pub(super) use policy::KEYS;
