//! skyveil publishes tables larger than memory that stay safe against an adversary whose knowledge the
//! data owner states.

pub mod error;
pub mod exact;
pub mod generate;
pub mod write;

pub mod memory;
pub mod plan;
pub mod skyline;
pub mod spill;

pub use error::{Error, Result};
