//! What does the owner allow?
//!
//! A policy is a TOML file that is read and checked completely before the table is opened: all mistakes are reported at
//! once, each with its line, key and remedy. This folder reads the meaning of the columns and the form of the release
//! ([`TableRules`]) and leaves the `[privacy]` table unread: `model` completes the policy. Nothing above `model` sees
//! TOML. Thresholds are exact fractions, parsed from their text.
//!
//! Memory: O(policy and hierarchy files). No other file is read.
//! Not here: the types of the columns (`encode`), the adversaries (`model`).

mod accept;
mod bind;
mod canonical;
mod columns;
mod document;
pub mod hierarchy;
mod joint;
mod likeness;
mod names;
mod nights;
mod parse;
mod publish;
mod quasi;
mod reading;
mod tree;

pub use accept::AcceptedRisk;
pub use bind::Role;
pub(crate) use canonical::{fraction_text, list_text, name_of};
pub use columns::{ColumnType, Columns, Nearness};
pub use document::TableRules;
pub(crate) use document::{Document, parse_toml};
pub use joint::{joint_parts, joint_value};
pub use likeness::{folded, nearly_the_same};
pub use names::{Hint, Topic, hint, is_id, is_no_id, topic};
pub use nights::{Again, Leaving, Nights};
pub use parse::closest;
pub(crate) use parse::{Item, Mistakes, Section, quoted, quoted_key};
pub use publish::{Coarseness, Cuts, Function, Ranges, Strategy, Style};
pub use quasi::{ClockUnit, End, Grid, Quasi, QuasiShape};
