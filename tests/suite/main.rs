//! Everything that is tested through the command or the public interface, as one binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod architecture;
mod frozen;
mod support;
