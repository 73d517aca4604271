//! What may the world see?
pub mod label;
pub mod release;
pub mod staging;
