//! Against whom is a release protected, and does it hold?
//!
//! The only place where the adversaries are told apart.

pub mod beliefs;
pub mod criterion;
pub mod finding;
pub mod robust;
pub mod several;
pub mod shares;
pub mod target;
