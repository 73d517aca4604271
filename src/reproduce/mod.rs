//! What did the papers measure, and what is the result here?
//!
//! One file for each experiment, listed in [`mod@experiment`]. An experiment is a function from an
//! [`ExperimentSetting`] to [`ExperimentFindings`]: tables, charts and sentences that are generated from the numbers.
//! [`mod@run`] adds what the paper shows and the machine, and writes four files: `numbers.csv`, `result.json`,
//! `plot.svg` and `index.html`. [`page::collect`] generates the page of a full run from the JSON files alone, so no
//! number on it is typed by hand.
//!
//! Memory: documented in each experiment; those on Adult hold its 45,222 rows as codes.
//! Invariant: what the paper shows is quoted from the paper; numbers that it does not print are not given.
//! Not here: the mathematics and the anonymizers, which are only called.

mod adult;
mod adult_skyline;
mod beliefs;
mod child;
mod exclusive;
mod experiment;
mod findings;
mod implications;
mod left_out;
mod machine;
mod mondrian;
mod nights;
pub mod page;
mod replay;
mod robust;
mod run;
mod scale_up;
mod setting;
mod skyline_check;
mod theorem4;

pub use experiment::{EXPERIMENTS, Experiment, experiment};
pub use findings::{ExperimentFindings, ResultCell, ResultTable};
pub use machine::Machine;
pub use page::ExperimentResult;
pub use run::run;
pub use setting::{ExperimentSetting, RunSize};
