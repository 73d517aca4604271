//! skyveil publishes tables larger than memory that stay safe against an adversary whose knowledge the
//! data owner states.

pub mod error;
pub mod exact;
pub mod posterior;
pub mod robust;

pub use error::{Error, Result};
