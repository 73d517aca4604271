//! skyveil publishes tables larger than memory that stay safe against an adversary whose knowledge the
//! data owner states.

pub mod anonymize;
pub mod attack;
pub mod audit;
pub mod beliefs;
pub mod check;
pub mod cli;
pub mod confidence;
pub mod disclosure_sets;
pub mod distributions;
pub mod encode;
pub mod error;
pub mod exact;
pub mod generalize;
pub mod generate;
pub mod hierarchy;
pub mod implications;
pub mod lattice;
pub mod memory;
pub mod plan;
pub mod plot;
pub mod policy;
pub mod posterior;
pub mod profile;
pub mod progress;
pub mod publish;
pub mod read;
pub mod report;
pub mod reproduce;
pub mod robust;
pub mod skyline;
pub mod spill;
pub mod utility;
pub mod write;

pub use error::{Error, Result};
