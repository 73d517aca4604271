//! What an experiment may use, and how much of it is run.

use std::path::Path;

use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::resources::unfinished;

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunSize {
    /// The sizes of the paper.
    Full,
    /// Takes less than a minute.
    Quick,
    /// For tests: a second or two without optimization. Says nothing about speed.
    Tiny,
}

impl RunSize {
    /// The value for this scale.
    pub fn pick<T>(self, full: T, quick: T, tiny: T) -> T {
        match self {
            RunSize::Full => full,
            RunSize::Quick => quick,
            RunSize::Tiny => tiny,
        }
    }

    /// Its name in a result.
    pub fn name(self) -> &'static str {
        self.pick("full", "quick", "tiny")
    }
}

/// The resources of an experiment.
pub struct ExperimentSetting<'a> {
    /// How much is run.
    pub scale: RunSize,
    /// UCI Adult with a header, as `scripts/fetch.sh adult` writes it.
    pub adult: &'a Path,
    /// Where generated tables, releases and spills may be stored during the run.
    pub temp: &'a Path,
    /// The command, for measurements in a separate process.
    pub skyveil: &'a Path,
    /// Table sizes in place of those of the paper, for the scale-up.
    pub rows: &'a [u64],
    /// Called with a line of progress.
    pub tell: &'a dyn Fn(&str),
}

impl ExperimentSetting<'_> {
    /// A new directory in `temp`, removed when it goes out of scope.
    pub fn scratch(&self, name: &str) -> Result<TempDir> {
        let prefix = format!("skyveil-{name}-");
        let create = || {
            let made = tempfile::Builder::new().prefix(&prefix).tempdir_in(self.temp)?;
            Ok((made.path().to_path_buf(), made))
        };
        let made = unfinished::make(create);
        made.map(|(_, made)| made).map_err(|source: std::io::Error| Error::io(self.temp, source))
    }
}
