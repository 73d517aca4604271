//! What can go wrong, and what should the user do about it?
//!
//! Every message names a column, file or key and a remedy: the problem on the first line, the remedy indented below it.
//! No message ever contains the value of a cell.

use std::fmt;
use std::io;
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
        /// The column that it is about, if it is about one.
        column: Option<String>,
        /// The file that it is about, if it is about one.
        file: Option<PathBuf>,
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
    /// The release would carry risks that the policy does not accept by name; all of them are listed.
    #[error("{}", list_lints(file, lints))]
    Risks {
        /// The policy file.
        file: PathBuf,
        /// Every risk that was found.
        lints: Vec<Lint>,
    },
    /// A file could not be read or written.
    #[error("{}: {source}{}", path.display(), io_remedy(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Data that does not fit in memory could not be stored in the directory for it.
    #[error("{}: spilling to this directory failed: {source}{}", directory.display(), spill_remedy(source))]
    Spill {
        /// The directory.
        directory: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A table was written to while it was read.
    #[error("{}", tell_change(file.as_deref(), column.as_deref()))]
    Changed {
        /// The file, if it is known which.
        file: Option<PathBuf>,
        /// The column that holds something that it did not hold before, if that is how it was noticed.
        column: Option<String>,
    },
    /// The system starts no more threads.
    #[error("threads could not be started: {source}\n  allow fewer threads, or wait until others have ended")]
    Threads {
        /// What the operating system said.
        source: io::Error,
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
    /// The caller asked for an end ([`Progress::stop`](crate::Progress::stop)).
    #[error("stopped at the caller's request; nothing was released")]
    Stopped,
    /// A release is in place, but the system could not make its name durable.
    #[error("{} is complete, but may not survive a loss of power: {source}\n  check it later, or remove it and run again", path.display())]
    Undurable {
        /// The release.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The answer was found, but could not be written to standard output.
    #[error("standard output: {source}{}", output_remedy(made.as_deref()))]
    Output {
        /// What the operating system said.
        source: io::Error,
        /// The release that was published nevertheless.
        made: Option<PathBuf>,
    },
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

/// A risk that stops a release unless the policy accepts it by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// Its name in `accept`.
    pub name: &'static str,
    /// How many people it concerns, if that can be counted.
    pub people: Option<u64>,
    /// What was found, naming the column.
    pub message: String,
    /// The line of the policy that mends it.
    pub remedy: String,
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)?;
        match self.people {
            Some(people) => write!(f, "; this concerns {}", number_of(people, "person", "people")),
            None => Ok(()),
        }
    }
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

fn list_lints(file: &Path, lints: &[Lint]) -> String {
    let mut text = format!("{}: nothing is published, for the policy leaves ", file.display());
    text.push_str(&number_of(lints.len() as u64, "risk", "risks"));
    for lint in lints {
        text.push_str(&format!("\n  {lint}\n    {}", lint.remedy));
    }
    let mut names: Vec<String> = lints.iter().map(|lint| format!("\"{}\"", lint.name)).collect();
    names.dedup();
    text.push_str(&format!(
        "\n  to accept it, write at the top of the policy: accept = [{}]",
        names.join(", ")
    ));
    text
}

fn tell_change(file: Option<&Path>, column: Option<&str>) -> String {
    let table = file.map_or("the table".to_string(), |file| file.display().to_string());
    let how = column.map_or(String::new(), |column| {
        format!(": column `{column}` holds a value in a later reading that it did not hold in the first")
    });
    format!("{table} changed while it was read{how}\n  run again when nothing writes to it")
}

/// What to do about an error of the operating system, as the second line of a message.
fn io_remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "\n  free some space there, or use another file system"
        }
        io::ErrorKind::FileTooLarge => {
            "\n  raise the limit on the size of a file (ulimit -f), or use another file system"
        }
        io::ErrorKind::NotFound => "\n  check the path: the file or directory must exist",
        io::ErrorKind::PermissionDenied => {
            "\n  give the user who runs this access to it, or choose another path"
        }
        _ if lacks_handles(source) => {
            "\n  raise the limit on open files (ulimit -n), or give fewer files at once"
        }
        _ => "",
    }
}

fn spill_remedy(source: &io::Error) -> &'static str {
    match (source.kind(), io_remedy(source)) {
        (io::ErrorKind::FileTooLarge, remedy) => remedy,
        (_, remedy) if lacks_handles(source) => remedy,
        _ => "\n  free some space there, or choose another directory",
    }
}

fn output_remedy(made: Option<&Path>) -> String {
    match made {
        Some(release) => {
            format!("\n  the release {} exists and is complete: do not make it again", release.display())
        }
        None => "\n  run again with an output that takes the answer".to_string(),
    }
}

fn lacks_handles(source: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(source), Some(Errno::MFILE | Errno::NFILE))
}

/// Whether the operating system may succeed later where it failed now.
fn may_pass(source: &io::Error) -> bool {
    use io::ErrorKind;
    let passing = [
        ErrorKind::StorageFull,
        ErrorKind::QuotaExceeded,
        ErrorKind::WouldBlock,
        ErrorKind::ResourceBusy,
        ErrorKind::OutOfMemory,
        ErrorKind::Interrupted,
        ErrorKind::TimedOut,
        ErrorKind::StaleNetworkFileHandle,
    ];
    passing.contains(&source.kind()) || lacks_handles(source)
}

impl Error {
    /// A mistake in the call or the table, with its remedy.
    pub fn input(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Error::Input {
            problem: problem.into(),
            remedy: remedy.into(),
            setting: None,
            column: None,
            file: None,
        }
    }

    /// As [`Error::input`], with the setting that helps.
    pub fn missing(problem: impl Into<String>, remedy: impl Into<String>, setting: Setting) -> Self {
        let mut error = Error::input(problem, remedy);
        if let Error::Input { setting: of_error, .. } = &mut error {
            *of_error = Some(setting);
        }
        error
    }

    /// The same mistake, with the column that it is about. The message names the column too.
    pub fn of_column(mut self, name: impl Into<String>) -> Self {
        if let Error::Input { column, .. } = &mut self {
            *column = Some(name.into());
        }
        self
    }

    /// The same mistake, with the file that it is about. The message names the file too.
    pub fn of_file(mut self, path: impl Into<PathBuf>) -> Self {
        if let Error::Input { file, .. } | Error::Changed { file, .. } = &mut self {
            *file = Some(path.into());
        }
        self
    }

    /// A column holds a value that it did not hold when the table was read before.
    pub fn changed(column: impl Into<String>) -> Self {
        Error::Changed { file: None, column: Some(column.into()) }
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
            Error::Spill { .. } => Some(Setting::Temp),
            Error::Threads { .. } => Some(Setting::Threads),
            _ => None,
        }
    }

    /// Whether the same call may succeed later: a resource ran out, another run is at work, or the input was changing.
    pub fn may_pass(&self) -> bool {
        match self {
            Error::Busy { .. } | Error::Changed { .. } | Error::Threads { .. } | Error::Stopped => true,
            Error::Io { source, .. } | Error::Spill { source, .. } => may_pass(source),
            // A second run would find the release of the first.
            Error::Output { source, made } => made.is_none() && may_pass(source),
            Error::Input { .. }
            | Error::Defect { .. }
            | Error::Policy { .. }
            | Error::Risks { .. }
            | Error::Format { .. }
            | Error::Undurable { .. }
            | Error::Memory { .. } => false,
        }
    }

    /// The problem and the remedy, if there is one.
    pub fn problem_and_remedy(&self) -> (String, Option<String>) {
        let text = self.to_string();
        match text.split_once("\n  ") {
            Some((problem, remedy)) => (problem.to_string(), Some(remedy.to_string())),
            None => (text, None),
        }
    }

    /// The column that the error is about, if it is about one.
    pub fn column(&self) -> Option<&str> {
        match self {
            Error::Input { column, .. } | Error::Changed { column, .. } => column.as_deref(),
            _ => None,
        }
    }

    /// The file or directory that the error is about, if it is about one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Error::Input { file, .. } | Error::Changed { file, .. } => file.as_deref(),
            Error::Policy { file: path, .. }
            | Error::Risks { file: path, .. }
            | Error::Io { path, .. }
            | Error::Spill { directory: path, .. }
            | Error::Format { path, .. }
            | Error::Undurable { path, .. }
            | Error::Busy { target: path } => Some(path),
            Error::Output { made, .. } => made.as_deref(),
            Error::Defect { .. } | Error::Memory { .. } | Error::Threads { .. } | Error::Stopped => None,
        }
    }

    /// An operating-system error on a file; or the error that a reader of this library wrapped in one.
    pub fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        source.downcast().unwrap_or_else(|source| Error::Io { path: path.into(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    fn io(errno: Errno) -> Error {
        Error::io("there", errno.into())
    }

    #[test]
    fn what_a_retry_may_mend_is_told_from_what_it_will_not() {
        let passing = [Errno::NOSPC, Errno::DQUOT, Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
        for errno in passing {
            assert!(io(errno).may_pass(), "{errno}");
            let spill = Error::Spill { directory: "there".into(), source: errno.into() };
            assert!(spill.may_pass(), "{errno}");
        }
        for errno in [Errno::NOENT, Errno::ACCESS, Errno::ROFS, Errno::FBIG, Errno::IO] {
            assert!(!io(errno).may_pass(), "{errno}");
        }
        assert!(Error::Busy { target: "there".into() }.may_pass());
        assert!(Error::changed("age").may_pass());
        assert!(!Error::Memory { stage: "sorting", needed: 2, budget: 1 }.may_pass());
        assert!(!Error::input("wrong", "mend it").may_pass());
        let output =
            |made: Option<&str>| Error::Output { source: Errno::NOSPC.into(), made: made.map(PathBuf::from) };
        assert!(output(None).may_pass() && !output(Some("release")).may_pass());
    }

    #[test]
    fn limits_of_the_system_have_a_remedy() {
        for (errno, remedy) in [
            (Errno::FBIG, "ulimit -f"),
            (Errno::MFILE, "ulimit -n"),
            (Errno::NOSPC, "space"),
            (Errno::NOENT, "path"),
            (Errno::ACCESS, "access"),
        ] {
            let (problem, told) = io(errno).problem_and_remedy();
            assert!(
                problem.starts_with("there: ") && told.is_some_and(|told| told.contains(remedy)),
                "{errno}"
            );
        }
        assert_eq!(io(Errno::IO).problem_and_remedy().1, None);
    }

    #[test]
    fn a_mistake_may_name_its_column_and_its_file() {
        let error = Error::input("column `age` is odd", "mend it").of_column("age").of_file("t.csv");
        assert_eq!((error.column(), error.file()), (Some("age"), Some(Path::new("t.csv"))));
        assert_eq!(error.problem_and_remedy(), ("column `age` is odd".into(), Some("mend it".into())));
    }
}
