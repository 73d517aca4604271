//! skyveil publishes tables larger than memory that stay safe against an adversary whose knowledge the
//! data owner states.

pub mod check;
pub mod cli;
pub mod error;
pub mod exact;
pub mod hierarchy;
pub mod memory;
pub mod policy;
pub mod progress;
pub mod read;
pub mod skyline;
pub mod spill;

pub use error::{Error, Result};
