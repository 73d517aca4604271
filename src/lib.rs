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
