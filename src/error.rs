//! What can go wrong, and what should the user do about it?
//!
//! Every message names a column, file or key and a remedy. No message ever contains the value of a cell.

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of every fallible operation of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The call, the policy or the table is not usable as given.
    #[error("{problem}\n  {remedy}")]
    Input {
        /// What is wrong, naming the column, file or key.
        problem: String,
        /// What to do about it.
        remedy: String,
        /// The setting that helps, which the command line names by its flag.
        setting: Option<Setting>,
    },
    /// The library contradicts itself: its own check rejects what it made. Nothing was released.
    #[error("{problem}\n  this is a defect of skyveil, please report it; nothing was released")]
    Defect {
        /// What was found.
        problem: String,
    },
    /// The policy has mistakes; all of them are listed.
    #[error("{}", list_mistakes(file, mistakes))]
    Policy {
        /// The policy file.
        file: PathBuf,
        /// Every mistake that was found, in the order of the file.
        mistakes: Vec<Mistake>,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A table file is damaged or does not have the format that its name indicates.
    #[error("{}: {problem}\n  the file may be damaged or of another format", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What the reader reported, without cell values.
        problem: String,
    },
    /// The memory budget is too small.
    #[error(
        "{stage} needs at least {needed} bytes of memory, the budget is {budget}\n  \
         give a budget of {} MiB or more",
        needed.div_ceil(1 << 20)
    )]
    Memory {
        /// What needed the memory.
        stage: &'static str,
        /// The smallest sufficient budget in bytes.
        needed: u64,
        /// The budget in bytes.
        budget: u64,
    },
    /// Another run holds the target.
    #[error("another run is writing {}\n  wait for it, or choose another target", target.display())]
    Busy {
        /// What the other run is writing.
        target: PathBuf,
    },
    /// The reader of our output has gone away; there is nothing left to report.
    #[error("the reader of the output closed it")]
    ClosedPipe,
}

/// The setting that an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Setting {
    /// The column that counts equal rows.
    Count,
    /// The character between two cells of a CSV file.
    Delimiter,
    /// How many columns a query covers.
    Dimension,
    /// The columns that define a group.
    Groups,
    /// The column that identifies people.
    Individual,
    /// The key of a fingerprint.
    Key,
    /// The memory budget.
    Memory,
    /// The table that a release was made from.
    Original,
    /// The directory that a release becomes.
    Out,
    /// Skyline points.
    Points,
    /// The policy.
    Policy,
    /// How many queries are drawn.
    Queries,
    /// The private receipt of a release.
    Receipt,
    /// How groups are searched for.
    Search,
    /// The share of the people that a query selects.
    Selectivity,
    /// The sensitive column.
    Sensitive,
    /// The private list of suppressed rows.
    Suppressed,
    /// The directory for data that does not fit in memory.
    Temp,
    /// The number of threads.
    Threads,
    /// How many sensitive values a person may have.
    Values,
}

/// One mistake in a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The line of the file, counted from 1, if it is known.
    pub line: Option<usize>,
    /// The key, such as `privacy.skyline[0].confidence`.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub remedy: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}: {}; {}", self.key, self.problem, self.remedy)
    }
}

/// A count with its noun: `1 row`, `2 rows`.
pub fn number_of(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn list_mistakes(file: &Path, mistakes: &[Mistake]) -> String {
    let mut text = match mistakes.len() {
        1 => format!("{}: 1 mistake in the policy", file.display()),
        many => format!("{}: {many} mistakes in the policy", file.display()),
    };
    for mistake in mistakes {
        text.push_str(&format!("\n  {mistake}"));
    }
    text
}

impl Error {
    /// A mistake in the call or the table, with its remedy.
    pub fn input(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Error::Input { problem: problem.into(), remedy: remedy.into(), setting: None }
    }

    /// As [`Error::input`], with the setting that helps.
    pub fn missing(problem: impl Into<String>, remedy: impl Into<String>, setting: Setting) -> Self {
        Error::Input { problem: problem.into(), remedy: remedy.into(), setting: Some(setting) }
    }

    /// A contradiction within the library.
    pub fn defect(problem: impl Into<String>) -> Self {
        Error::Defect { problem: problem.into() }
    }

    /// The setting that helps, if there is one.
    pub fn setting(&self) -> Option<Setting> {
        match self {
            Error::Input { setting, .. } => *setting,
            Error::Memory { .. } => Some(Setting::Memory),
            Error::Busy { .. } => Some(Setting::Out),
            _ => None,
        }
    }

    /// An operating-system error on a file.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Error::Io { path: path.into(), source }
    }
}
