//! skyveil publishes tables larger than memory that stay safe against an adversary whose knowledge the
//! data owner states.

pub mod beliefs;
pub mod error;
pub mod exact;

pub use error::{Error, Result};
