//! skyveil publishes tables larger than memory that stay safe against an adversary whose knowledge the data owner states.
//!
//! [`Anonymize`] makes a [`Release`] of a [`Table`] by a [`Policy`]; [`Release::check`] proves of what was written that
//! it is safe, without asking whoever wrote it.
//!
//! ```
//! use skyveil::{Anonymize, Budget, Outcome, Policy, Progress, ReadOptions, Release, Resources, Table};
//!
//! # fn main() -> skyveil::Result<()> {
//! # let place = tempfile::tempdir().unwrap();
//! # let out = place.path().join("release");
//! let policy = Policy::read("datasets/census.toml")?;
//! let table = Table::open(&["datasets/census.csv".into()], &ReadOptions::default())?;
//! let progress = Progress::default();
//! match Anonymize::new(&table, &policy, &out).run(&progress)? {
//!     Outcome::Published(summary) => assert_eq!(summary.records, 5_000),
//!     Outcome::Impossible(findings) => panic!("no safe release exists: {findings:?}"),
//!     Outcome::Withheld(reason) => panic!("nothing is published: {reason}"),
//! }
//!
//! let release = Release::open(&out)?;
//! let verdict = release.check(None, &Resources::new(Budget::new(256 << 20), &progress))?;
//! assert!(verdict.is_safe());
//! # Ok(())
//! # }
//! ```
//!
//! Everything that grows with a table is taken from a [`Budget`]; a peak of resident memory is at most the budget and a
//! fixed allowance. The same table and policy give the same bytes for any budget, number of threads, order of rows, split
//! into files and format.

mod anonymize;
mod check;
mod cli;
mod encode;
mod error;
mod generate;
mod group;
mod math;
mod model;
mod policy;
mod profile;
mod release;
mod report;
mod reproduce;
mod resources;
mod table;

pub use anonymize::{
    Anonymize, Append, Appended, Erase, EraseMode, Erasure, OlderRelease, Outcome, Search, Summary,
    Suppression, WaitingFor, WaitingPeople,
};
pub use check::release::Release;
pub use check::{Examined, JudgedColumn, Order, Verdict};
#[doc(hidden)]
pub use cli::main as command;
pub use error::{Error, Lint, Mistake, Result, Setting};
pub use group::lattice::LatticeMeasure;
pub use group::lattice::full_domain::Searched;
pub use group::split::limits::CanonicalSizes;
pub use math::exact::{Rational, parse_fraction};
pub use math::skyline::Values;
pub use model::Policy;
pub use model::finding::{
    Amount, Anonymity, Claim, ClaimSubject, ClaimVerdict, Consent, Datum, Finding, Limit, Measurement, Note,
    Side, Unprotected,
};
pub use policy::{AcceptedRisk, Strategy};
pub use profile::StartingPolicy;
pub use release::findings::obstacles;
pub use release::penalty::{Penalty, Utility};
pub use release::reader::{Cell, Covered, Label, LabelReader};
pub use report::kept::KeptColumn;
pub use report::scope::{ScopeLine, ScopeVerdict};
pub use resources::Resources;
pub use resources::budget::{ALLOWANCE, Budget, parse_size};
pub use resources::progress::{Progress, Snapshot};
pub use resources::spill::SpillForm;
pub use table::read::{
    ColumnRequest, CsvType, Morsel, OrderedCells, ReadOptions, ScanMeans, SpoolPlace, Table,
    panic_is_contained,
};
pub use table::write::{OutputFormat, TableWriter, WriteOptions};
pub use table::{ColumnKind, CsvTexts};

/// For engines whose tasks read the rows of a table, such as the Python package on Spark: [`Anonymize::engine`] makes a
/// release of what [`engine::EngineTask`] makes of parts of the table. Not part of the public interface: run and tasks must have
/// the same version.
#[doc(hidden)]
pub mod engine {
    pub use crate::anonymize::{EngineTask, PageTask};
    pub use crate::encode::elsewhere::{RowEngine, RowSet, SetPlacement};
    pub use crate::encode::sealed_pages::{seal, unseal};
}

/// The charts of the report, for the Python package's view of a release in a notebook. Not part of the public interface.
#[doc(hidden)]
pub mod charts {
    pub use crate::report::chart::{CHART_STYLE, histogram, meter};
}

/// What the benches measure. Not part of the public interface: it may change at any time.
#[cfg(feature = "bench-internals")]
#[doc(hidden)]
pub mod bench {
    pub use crate::math::beliefs::prior::pairs::naive_prior;
    pub use crate::model::beliefs::original::distance;
    pub use crate::model::beliefs::priors::{Means, kernels};
    pub use crate::model::beliefs::{KernelPriors, Original, Roles};
}
