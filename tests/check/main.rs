//! Does `skyveil check` answer as the definitions say, whatever the form of the table, and does it refuse
//! what it cannot answer?

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod answers;
mod bad_input;
mod naive;
mod random_tables;
mod releases;
mod tables;
