//! What does a release directory contain, and what was promised about it?
//!
//! Only the written tables are trusted; the manifest says where they are and which policy they must satisfy.

use std::path::{Path, PathBuf};

use super::beliefs::Membership;
use super::job::{Buckets, ColumnRoles, Subject};
use super::judge::{Check, Skylines};
use super::policy::{Task, columns, release_tasks, valued_rows};
use super::verdict::Verdict;
use crate::error::{Error, Result};
use crate::model::{Policy, Target};
use crate::release::chain::{Chain, Night, rewritten_files};
use crate::release::manifest::{MANIFEST, Manifest, ReleaseStyle};
use crate::release::rows::COUNT;
pub use crate::release::rows::GROUP;
use crate::release::tables;
use crate::resources::Resources;
use crate::table::read::Table;

/// An open release, or one of its nights.
pub struct Release {
    directory: PathBuf,
    /// The nights that are open, at least one.
    nights: Vec<Night>,
    /// Whether groups were withdrawn since.
    rewritten: bool,
    tables: Tables,
}

/// The tables of a release.
pub(super) enum Tables {
    Generalized(Table),
    Bucketized { people: Table, values: Table },
}

/// Whether a path is a release directory.
pub fn is_release(path: &Path) -> bool {
    path.join(MANIFEST).is_file()
}

impl Release {
    /// Reads the manifest and opens the tables.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self> {
        let directory = directory.as_ref();
        let nights = Chain::read(directory)?.into_nights();
        let rewritten = nights.iter().any(Night::is_erasure);
        Release::of_nights(directory, nights, rewritten)
    }

    /// Opens one night of a release that was continued.
    pub fn open_night(directory: impl AsRef<Path>, number: u64) -> Result<Self> {
        let directory = directory.as_ref();
        let mut nights = Chain::read(directory)?.into_nights();
        let rewritten = nights.iter().find(|night| night.number == number);
        let rewritten = rewritten.is_some_and(|night| !rewritten_files(&nights, night).is_empty());
        nights.retain(|night| night.number == number && !night.is_erasure());
        if nights.is_empty() {
            return Err(Error::input(
                format!("{} has no night {number}", directory.display()),
                "the first night is 1; an erasure has a number and no rows",
            ));
        }
        Release::of_nights(directory, nights, rewritten)
    }

    fn of_nights(directory: &Path, nights: Vec<Night>, rewritten: bool) -> Result<Self> {
        let open = |name: &str| {
            let with_rows = nights.iter().filter(|night| !night.is_erasure());
            let folders: Vec<PathBuf> = with_rows.map(|night| night.folder.join(name)).collect();
            tables::open_all(&folders)
        };
        let tables = match nights[nights.len() - 1].manifest.style {
            ReleaseStyle::Generalized => Tables::Generalized(open("data")?),
            ReleaseStyle::Bucketized => {
                Tables::Bucketized { people: open("quasi")?, values: open("sensitive")? }
            }
        };
        Ok(Release { directory: directory.to_owned(), nights, rewritten, tables })
    }

    /// Whether groups were withdrawn since these nights were published.
    pub(super) fn is_rewritten(&self) -> bool {
        self.rewritten
    }

    /// The nights that are open, in order; at least one.
    pub fn nights(&self) -> &[Night] {
        &self.nights
    }

    /// The policy that the release was made with.
    pub fn policy(&self) -> Result<Policy> {
        Policy::parse(&self.manifest().policy, self.directory.join(MANIFEST))
    }

    /// The columns whose values define a group of the release: its number and, if people are listed with
    /// their values, the columns of the label.
    fn groups(&self, policy: &Policy) -> Vec<String> {
        match &self.tables {
            Tables::Generalized(table) => labelled_groups(table, policy),
            Tables::Bucketized { .. } => vec![GROUP.to_string()],
        }
    }

    /// The manifest of the last night.
    pub fn manifest(&self) -> &Manifest {
        &self.nights[self.nights.len() - 1].manifest
    }

    /// What a policy requires of the release; each row is a person, regardless of the rows of the source.
    pub fn tasks(&self, policy: &Policy) -> Result<Vec<Task>> {
        release_tasks(policy, &self.groups(policy), valued_rows(&self.policy()?))
    }

    /// What the columns of the release mean for one target of a policy.
    pub fn columns(&self, policy: &Policy, target: &Target) -> Result<ColumnRoles> {
        Ok(columns(policy, target, &self.groups(policy))?.of_release(valued_rows(&self.policy()?)))
    }

    /// The tables by their names: `data`, or `quasi` and `sensitive` if people and values are apart.
    pub fn named_tables(&self) -> Vec<(&'static str, &Table)> {
        match &self.tables {
            Tables::Generalized(table) => vec![("data", table)],
            Tables::Bucketized { people, values } => vec![("quasi", people), ("sensitive", values)],
        }
    }

    /// Its folder.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Judges the release by the policy it was made with.
    ///
    /// A requirement that needs the original table is not judged without it, and so is not safe.
    pub fn check(&self, original: Option<&Table>, resources: &Resources<'_>) -> Result<Verdict> {
        let subject = self.subject();
        let number = [GROUP.to_string()];
        let check = Check {
            subject: &subject,
            tasks: &self.tasks(&self.policy()?)?,
            original,
            distributions: None,
            membership: match subject {
                Subject::Table(_) => Membership::Labels(&number),
                Subject::Buckets(_) => Membership::Own(&number),
            },
            manifest: Some(self.manifest()),
            skylines: Skylines::Leave,
            found: None,
        };
        check.judge(resources)
    }

    /// The tables, in the form that the check expects.
    pub fn subject(&self) -> Subject<'_> {
        match &self.tables {
            Tables::Generalized(table) => Subject::Table(table),
            Tables::Bucketized { people, values } => {
                Subject::Buckets(Buckets { people, values, count: COUNT.to_string() })
            }
        }
    }
}

/// The number of a group and the published columns of its label. Someone who knows a person's
/// quasi-identifiers looks for the label, so a row with a different label is in a different group, whatever
/// its number.
pub fn labelled_groups(table: &Table, policy: &Policy) -> Vec<String> {
    let columns = &policy.columns;
    let label = |name: &String| {
        let base = name.strip_suffix("_from").or(name.strip_suffix("_to"));
        let quasi = columns.quasi(name).or(base.and_then(|base| columns.quasi(base))).is_some();
        quasi && columns.sensitive(name).is_none() && !columns.keep.contains(name)
    };
    let names = table.schema().fields().iter().map(|field| field.name().clone());
    std::iter::once(GROUP.to_string()).chain(names.filter(label).filter(|name| name != GROUP)).collect()
}
