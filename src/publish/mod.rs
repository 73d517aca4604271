//! What may the world see?
pub mod label;
