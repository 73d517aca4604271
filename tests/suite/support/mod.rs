//! Code shared by the tests: running the command, folders and files, tables, and a naive model to compare with.

pub mod engine;
pub mod library;
pub mod naive;
pub mod source;

mod command;
mod files;
mod random;
mod tables;

pub use command::{binary, command, dataset, ends_with, json, printed, root, skyveil, skyveil_in, text};
pub use files::{Folder, beside, contents, remove_release, text_file};
pub use random::{draws, scramble};
pub use tables::{Decoded, decode};
