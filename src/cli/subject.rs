//! Which table is examined, and what do its columns mean?

use std::path::{Path, PathBuf};

use clap::Args;

use super::flags::{ResourceFlags, open_table, read_delimiter, read_options, read_values};
use crate::check::beliefs::Membership;
use crate::check::policy::{Task, columns, tasks};
use crate::check::release::{Release, is_release, labelled_groups};
use crate::check::{ColumnRoles, Subject};
use crate::error::{Error, Result};
use crate::math::exact::f64_at_least;
use crate::math::skyline::{Confidence, Knowledge, Values};
use crate::model::{Policy, Target};
use crate::release::manifest::Manifest;
use crate::release::rows::GROUP;
use crate::resources::Resources;
use crate::resources::progress::Progress;
use crate::table::read::{ReadOptions, Table};
use serde_json::Value;

/// A release, or any table of groups.
#[derive(Debug, Args)]
pub struct SubjectFlags {
    /// A release directory; or Parquet, Arrow IPC or CSV files, a directory of them, or - for standard input.
    #[arg(required = true, value_name = "RELEASE|TABLE")]
    pub paths: Vec<PathBuf>,
    /// The policy that says what the columns mean and what must hold; a release holds the one it was made with.
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
    /// The column that identifies people, if a person has several rows.
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

/// What the flags refer to.
pub enum Opened {
    /// A release directory, with the policy it was made with.
    Release(Box<(Release, Policy)>),
    /// Any table, and the policy that was named for it.
    Table(Table, Option<Box<Policy>>),
}

impl Opened {
    /// In the form that the check expects.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Opened::Release(opened) => opened.0.subject(),
            Opened::Table(table, _) => Subject::Table(table),
        }
    }

    /// The manifest of a release.
    pub fn manifest(&self) -> Option<&Manifest> {
        match self {
            Opened::Release(opened) => Some(opened.0.manifest()),
            Opened::Table(..) => None,
        }
    }

    /// The policy that says what must hold.
    pub fn policy(&self) -> Option<&Policy> {
        match self {
            Opened::Release(opened) => Some(&opened.1),
            Opened::Table(_, policy) => policy.as_deref(),
        }
    }

    /// The point of a release that is nearest to its limit, for a value if one is given. Tables that are no releases, and
    /// models without points for values, have none.
    pub fn nearest_point(&self, columns: &ColumnRoles, value: Option<&str>) -> Option<NearestPoint> {
        let points = self.manifest()?.points.iter();
        let of_column = points.filter(|point| match point["column"].as_str() {
            Some(column) => column == columns.sensitive,
            None => true,
        });
        let of_value = of_column.filter(|point| value.is_none() || point["value"].as_str() == value);
        let near = of_value.filter_map(NearestPoint::read);
        near.min_by(|one, other| one.margin().total_cmp(&other.margin()))
    }

    /// The columns of the groups' published label.
    pub fn label_columns(&self, columns: &ColumnRoles) -> Vec<String> {
        match (self, self.subject()) {
            (Opened::Table(..), _) | (_, Subject::Buckets(_)) => columns.groups.clone(),
            (Opened::Release(opened), Subject::Table(table)) => {
                let own = labelled_groups(table, &opened.1).into_iter();
                let mut names = columns.groups.clone();
                names.extend(own.filter(|name| name != GROUP && !columns.groups.contains(name)));
                names
            }
        }
    }
}

/// A point of a release for one value, as its manifest has it.
pub struct NearestPoint {
    /// The value.
    pub value: String,
    /// What the adversary knows.
    pub knowledge: Knowledge,
    /// What they must not reach.
    pub confidence: Confidence,
    breach: f64,
}

impl NearestPoint {
    fn read(point: &Value) -> Option<Self> {
        let size = |name: &str| point[name].as_u64();
        Some(NearestPoint {
            value: point["value"].as_str()?.to_string(),
            knowledge: Knowledge { l: size("l")?, k: size("k")?, m: size("m")? },
            confidence: Confidence::parse(point["confidence"].as_str()?)?,
            breach: point["breach"].as_f64()?,
        })
    }

    fn margin(&self) -> f64 {
        f64_at_least(self.confidence.value()) - self.breach
    }
}

impl SubjectFlags {
    /// Opens the tables and determines what their columns mean for one sensitive column.
    pub fn open(&self) -> Result<(Opened, ColumnRoles)> {
        let opened = self.open_tables()?;
        let columns = self.columns(&opened)?;
        Ok((opened, columns))
    }

    fn columns(&self, opened: &Opened) -> Result<ColumnRoles> {
        Ok(match opened {
            Opened::Release(release) => {
                self.with_flags(release.0.columns(&release.1, self.target(&release.1)?)?)
            }
            Opened::Table(_, Some(policy)) => {
                self.with_flags(columns(policy, self.target(policy)?, &quasi_names(policy))?)
            }
            Opened::Table(_, None) => self.flag_columns()?,
        })
    }

    /// What the policy requires of the opened tables; `None` without a policy.
    pub fn tasks(&self, opened: &Opened) -> Result<Option<Vec<Task>>> {
        let tasks = match opened {
            Opened::Release(release) => Some(release.0.tasks(&release.1)?),
            Opened::Table(_, Some(policy)) => Some(tasks(policy, &quasi_names(policy))?),
            Opened::Table(_, None) => None,
        };
        tasks.map(|tasks| self.with_flags_in_all(tasks)).transpose()
    }

    /// The columns that define a group: those of the flags, or those that the policy gives for the opened
    /// tables.
    pub fn groups(&self, opened: &Opened) -> Vec<String> {
        match opened {
            _ if !self.group.is_empty() => self.group.clone(),
            Opened::Release(_) => vec![GROUP.to_string()],
            Opened::Table(_, policy) => policy.as_deref().map_or_else(Vec::new, quasi_names),
        }
    }

    /// What the flags alone say about the columns.
    pub fn flag_columns(&self) -> Result<ColumnRoles> {
        let sensitive = self.sensitive.clone().ok_or_else(|| {
            Error::input(
                "no sensitive column is given",
                "name it with --sensitive, or give a policy or a release",
            )
        })?;
        Ok(self.with_flags(ColumnRoles::single(self.group.clone(), sensitive)))
    }

    /// Opens the tables.
    pub fn open_tables(&self) -> Result<Opened> {
        self.open_night(None)
    }

    /// Opens the tables of one night of a release that was continued, or of all.
    pub fn open_night(&self, night: Option<u64>) -> Result<Opened> {
        let policy = self.policy.as_ref().map(Policy::read).transpose()?;
        match &self.paths[..] {
            [directory] if is_release(directory) => {
                let release = open_release(directory, night)?;
                let policy = policy.map_or_else(|| release.policy(), Ok)?;
                Ok(Opened::Release(Box::new((release, policy))))
            }
            _ if night.is_some() => Err(Error::input(
                "only a release that was continued has nights",
                "give the directory of the release, or leave out --night",
            )),
            paths => {
                let table = open_table(paths, &self.read_options(policy.as_ref()))?;
                Ok(Opened::Table(table, policy.map(Box::new)))
            }
        }
    }

    /// How people of the original are matched to their groups, which `number` numbers in a release.
    pub fn membership<'a>(&'a self, opened: &Opened, number: &'a [String]) -> Membership<'a> {
        match (opened, opened.subject()) {
            (Opened::Table(..), _) => Membership::Own(&self.group),
            (Opened::Release(_), Subject::Buckets(_)) => Membership::Own(number),
            (Opened::Release(_), Subject::Table(_)) => Membership::Labels(number),
        }
    }

    /// The table that the opened one was made from, read by the same policy; `None` without paths.
    pub fn open_original(&self, paths: &[PathBuf], opened: &Opened) -> Result<Option<Table>> {
        if paths.is_empty() {
            return Ok(None);
        }
        open_table(paths, &self.read_options(opened.policy())).map(Some)
    }

    fn read_options(&self, policy: Option<&Policy>) -> ReadOptions {
        read_options(self.delimiter, policy, self.resources.spool())
    }

    /// The protected column of the policy that the flags select.
    fn target<'a>(&self, policy: &'a Policy) -> Result<&'a Target> {
        let meant = |target: &&Target| self.sensitive.as_ref().is_none_or(|name| target.name() == *name);
        match (&policy.privacy.targets.iter().filter(meant).collect::<Vec<_>>()[..], &self.sensitive) {
            ([target], _) => Ok(target),
            ([], Some(name)) => Err(not_sensitive(name)),
            (several, _) => {
                let names: Vec<String> = several.iter().map(|target| target.name()).collect();
                Err(Error::input(
                    "the policy has several sensitive columns",
                    format!("name one of them with --sensitive: {}", names.join(", ")),
                ))
            }
        }
    }

    fn with_flags_in_all(&self, mut tasks: Vec<Task>) -> Result<Vec<Task>> {
        if let Some(sensitive) = &self.sensitive {
            tasks.retain(|task| task.columns.sensitive == *sensitive);
            if tasks.is_empty() {
                return Err(not_sensitive(sensitive));
            }
        }
        let fixed = tasks.iter().any(|task| task.requirements.is_fixed());
        if fixed && (self.values.is_some() || self.individual.is_some() || self.count.is_some()) {
            return Err(Error::input(
                "--values, --individual and --count have no meaning for the model of this policy",
                "leave them out, and give a table with one row for each person",
            ));
        }
        let with_flags = |task: Task| Task { columns: self.with_flags(task.columns), ..task };
        Ok(tasks.into_iter().map(with_flags).collect())
    }

    /// Flags override the policy.
    fn with_flags(&self, mut columns: ColumnRoles) -> ColumnRoles {
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
        columns
    }

    /// The resources of the scan.
    pub fn resources<'a>(&self, progress: &'a Progress) -> Resources<'a> {
        self.resources.all(progress)
    }
}

/// Opens one night of a release, or all.
pub fn open_release(directory: &Path, night: Option<u64>) -> Result<Release> {
    match night {
        Some(number) => Release::open_night(directory, number),
        None => Release::open(directory),
    }
}

/// If no groups are named, people who agree in all quasi-identifiers form one.
fn quasi_names(policy: &Policy) -> Vec<String> {
    policy.columns.quasi.iter().map(|quasi| quasi.name.clone()).collect()
}

fn not_sensitive(name: &str) -> Error {
    Error::input(
        format!("column `{name}` is not a sensitive column of the policy"),
        "leave out --sensitive: the policy names them",
    )
}
