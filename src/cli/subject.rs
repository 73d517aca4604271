//! Which table is looked at, and what do its columns mean?

use std::path::PathBuf;

use clap::Args;

use super::flags::{ResourceFlags, read_delimiter, read_options, read_values};
use crate::check::policy::{Task, tasks};
use crate::check::release::{Release, is_release};
use crate::check::{Columns, Resources, Subject};
use crate::error::{Error, Result};
use crate::policy::Policy;
use crate::progress::Progress;
use crate::read::Table;
use crate::skyline::Values;

/// A release, or any table of groups.
#[derive(Debug, Args)]
pub struct SubjectFlags {
    /// A release directory; or Parquet, Arrow IPC or CSV files, or a directory of them.
    #[arg(required = true, value_name = "RELEASE|TABLE")]
    pub paths: Vec<PathBuf>,
    /// The policy that says what the columns mean; a release holds the one it was made with.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Columns that make a group: rows that agree in all of them.
    #[arg(long, value_name = "COL,..", value_delimiter = ',')]
    pub group: Vec<String>,
    /// The sensitive column.
    #[arg(long, value_name = "COL")]
    pub sensitive: Option<String>,
    /// How many values a person may have: single, set or multiset.
    #[arg(long, value_name = "MODE", value_parser = read_values)]
    pub values: Option<Values>,
    /// The column that tells people apart, where a person has several rows.
    #[arg(long, value_name = "COL")]
    pub individual: Option<String>,
    /// The column that says for how many equal rows a row stands.
    #[arg(long, value_name = "COL")]
    pub count: Option<String>,
    /// The character between the cells of a CSV file.
    #[arg(long, value_name = "CHAR", value_parser = read_delimiter)]
    pub delimiter: Option<u8>,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// What the flags stand for.
pub enum Opened {
    /// A release directory, with the policy it was made with.
    Release(Box<(Release, Policy)>),
    /// Any table.
    Table(Table),
}

impl Opened {
    /// As the check takes it.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Opened::Release(opened) => opened.0.subject(),
            Opened::Table(table) => Subject::Table(table),
        }
    }

    /// The columns of the groups' published label.
    pub fn label_columns(&self, columns: &Columns) -> Vec<String> {
        match (self, self.subject()) {
            (Opened::Table(_), _) | (_, Subject::Buckets(_)) => columns.groups.clone(),
            (Opened::Release(opened), Subject::Table(table)) => {
                let quasi_columns = &opened.1.columns;
                let quasi = |name: &str| {
                    let base = name.strip_suffix("_from").or(name.strip_suffix("_to"));
                    quasi_columns.quasi(name).or(base.and_then(|base| quasi_columns.quasi(base))).is_some()
                };
                let names = table.schema().fields().iter().map(|field| field.name().clone());
                columns.groups.iter().cloned().chain(names.filter(|name| quasi(name))).collect()
            }
        }
    }
}

impl SubjectFlags {
    /// Opens the tables and settles what their columns mean.
    pub fn open(&self) -> Result<(Opened, Columns)> {
        let policy = self.policy.as_ref().map(Policy::read).transpose()?;
        let (opened, tasks) = match &self.paths[..] {
            [directory] if is_release(directory) => {
                let release = Release::open(directory)?;
                let policy = policy.map_or_else(|| release.policy(), Ok)?;
                let tasks = release.tasks(&policy)?;
                (Opened::Release(Box::new((release, policy))), Some(tasks))
            }
            paths => {
                let table = Table::open(paths, &read_options(self.delimiter, policy.as_ref()))?;
                let quasi = |policy: &Policy| -> Vec<String> {
                    policy.columns.quasi.iter().map(|quasi| quasi.name.clone()).collect()
                };
                let asked = policy.map(|policy| tasks(&policy, &quasi(&policy)));
                (Opened::Table(table), asked.transpose()?)
            }
        };
        Ok((opened, self.columns(tasks)?))
    }

    fn columns(&self, tasks: Option<Vec<Task>>) -> Result<Columns> {
        let mut columns = match (tasks, &self.sensitive) {
            (Some(tasks), sensitive) => {
                let wanted =
                    |task: &&Task| sensitive.as_ref().is_none_or(|name| task.columns.sensitive == *name);
                match &tasks.iter().filter(wanted).collect::<Vec<_>>()[..] {
                    [task] => task.columns.clone(),
                    [] => {
                        return Err(Error::input(
                            "--sensitive does not name a sensitive column of the policy",
                            "leave it out: the policy names them",
                        ));
                    }
                    several => {
                        let names: Vec<&str> =
                            several.iter().map(|task| task.columns.sensitive.as_str()).collect();
                        return Err(Error::input(
                            "the policy has several sensitive columns",
                            format!("name one of them with --sensitive: {}", names.join(", ")),
                        ));
                    }
                }
            }
            (None, Some(sensitive)) => Columns::single(Vec::new(), sensitive.clone()),
            (None, None) => {
                return Err(Error::input(
                    "no sensitive column is given",
                    "name it with --sensitive, or give a policy or a release",
                ));
            }
        };
        if !self.group.is_empty() {
            columns.groups.clone_from(&self.group);
        }
        if let Some(values) = self.values {
            columns.values = values;
        }
        if self.individual.is_some() {
            columns.individual.clone_from(&self.individual);
        }
        if self.count.is_some() {
            columns.count.clone_from(&self.count);
        }
        Ok(columns)
    }

    /// What the scan may use.
    pub fn resources<'a>(&self, progress: &'a Progress) -> Resources<'a> {
        Resources {
            threads: self.resources.threads(),
            budget: self.resources.budget(),
            temp: self.resources.temp(),
            progress,
        }
    }
}
