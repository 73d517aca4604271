//! Everything that is tested through the command or the public interface, as one binary.
//!
//! `architecture` tests the shape of the crate, `frozen` the contents of releases, `documents` the documentation. The
//! other modules are named after what they test. `support::library` is the only place that uses paths of the library.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod altered;
mod anonymize;
mod architecture;
mod attacks;
mod audit;
mod beliefs;
mod beside_lists;
mod blind;
mod check;
mod closeness;
mod columns;
mod corpus;
mod datasets;
mod disclosure;
mod documents;
mod dry_run;
mod engine;
mod explore;
mod fail_closed;
mod failures;
mod followed_cuts;
mod formats;
mod frozen;
mod init;
mod inputs;
mod lattice;
mod limits;
#[cfg(target_os = "linux")]
mod memory;
mod nights;
mod parts;
mod policy_reference;
mod proposals;
#[cfg(unix)]
mod races;
mod receipts;
mod replacing;
mod report;
mod reproduce;
mod robust;
mod several_values;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod starved;
mod support;
