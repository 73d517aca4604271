//! What the tests share.

mod command;
pub mod source;
mod tables;

pub use command::{dataset, run, run_in, shown};
pub use tables::{Decoded, decode};
