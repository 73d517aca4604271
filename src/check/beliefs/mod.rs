//! How many people of a release are vulnerable to an adversary who knows the correlations in the data?
//!
//! The adversary's priors come from the original table ([`original`], [`priors`]), the groups from the release
//! ([`mod@groups`], [`tree`]); the belief about everybody is followed from before to after the release
//! ([`beliefs::group`](crate::math::beliefs::group)). Somebody is vulnerable if it moves by more than t.
//!
//! Memory: the combinations and priors of the table, and some groups at once; see the parts.
//! Invariants: somebody counts as not vulnerable only by an exact distance or a proved bound; sums do not depend on
//! the number of threads.

pub mod groups;
pub mod tree;

use std::path::Path;

use rayon::prelude::*;
use serde::Deserialize;

pub use groups::{People, Published};

use crate::check::Subject;
use crate::error::{Error, Result, number_of};
use crate::math::beliefs::group::{Adversary, MOST_STATES};
use crate::model::beliefs::judge::{AttackReport, Gathered, Watch};
use crate::model::beliefs::original::Original;
use crate::model::beliefs::{Question, priors_of};
use crate::release::manifest::MANIFEST;
use crate::resources::Resources;
use crate::table::read::Table;

/// The tables of a release, or one table that holds original values and groups.
pub struct Release<'a> {
    /// Where people and their groups are found; `None` to read the tree of cuts in the folder.
    pub people: Option<(&'a Table, &'a [String])>,
    /// The folder of a release.
    pub folder: Option<&'a Path>,
    /// Where the values of the groups are found.
    pub published: Published<'a>,
}

impl<'a> Release<'a> {
    /// The tables of a release as the check takes them.
    pub fn of(subject: &'a Subject<'a>, folder: Option<&'a Path>, groups: &'a [String]) -> Self {
        let (people, published) = match subject {
            Subject::Table(table) => (None, Published::Rows(table, groups)),
            Subject::Buckets(buckets) => (Some((buckets.people, groups)), Published::Counts(buckets, groups)),
        };
        Release { people, folder, published }
    }
}

/// Follows the belief about everybody in a release.
pub fn attack(
    original: &Table,
    release: &Release<'_>,
    question: &Question,
    resources: &Resources<'_>,
) -> Result<AttackReport> {
    let roles = &question.roles;
    let known = Original::read(original, roles, resources)?;
    if let Some(folder) = release.folder {
        expect_rows(folder, known.rows())?;
    }
    let comparison = question.comparison(&known.sensitive)?;
    let priors = priors_of(&known, question, resources)?;
    let adversaries: Vec<Adversary<'_>> =
        priors.iter().map(|priors| priors.adversary(&known.combinations, MOST_STATES)).collect();
    let people = match (release.people, release.folder) {
        (Some((table, groups)), _) => People::Grouped(table, groups),
        (None, Some(folder)) => People::Cut(original, tree::read(folder, &known.attributes)?),
        (None, None) => {
            return Err(Error::input("no groups are given", "name their columns with --group"));
        }
    };
    let watch = Watch::new(&adversaries, question, &comparison);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(resources.threads).build();
    let pool = pool.map_err(|_| Error::input("the threads could not be started", "give fewer --threads"))?;
    let mut waiting: Vec<Gathered> = Vec::new();
    let mut members = 0;
    let mut found = watch.nothing();
    let mut flush = |waiting: &mut Vec<Gathered>| {
        let parts = pool.install(|| waiting.par_iter().map(|group| watch.look(group)).collect::<Vec<_>>());
        parts.into_iter().for_each(|part| found.merge(part));
        waiting.clear();
    };
    groups::gather(&known, &people, &release.published, roles, resources, |group| {
        members += group.members.len();
        waiting.push(group);
        if members >= MEMBERS_AT_ONCE {
            flush(&mut waiting);
            members = 0;
        }
        Ok(())
    })?;
    flush(&mut waiting);
    Ok(AttackReport { combinations: known.combinations.len() as u64, ..found })
}

/// What the manifest tells of the table.
#[derive(Deserialize)]
struct Manifest {
    input: Input,
    #[serde(default)]
    suppressed: u64,
}

#[derive(Deserialize)]
struct Input {
    rows: u64,
}

/// The original must have as many rows as the manifest says; a release that is being made has no manifest yet.
fn expect_rows(folder: &Path, rows: u64) -> Result<()> {
    let path = folder.join(MANIFEST);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io(&path, error)),
    };
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| Error::Format {
        path,
        problem: format!("the manifest does not tell how many rows the input had (line {})", error.line()),
    })?;
    if manifest.input.rows != rows {
        let read = number_of(manifest.input.rows, "row", "rows");
        return Err(crate::model::beliefs::original::other_table(&format!(
            "that one had {read}, this one has {rows}"
        )));
    }
    match manifest.suppressed {
        0 => Ok(()),
        many => Err(Error::input(
            format!("the release leaves out {} of its table", number_of(many, "row", "rows")),
            "give a table with the rows that are left, their original values and their group, and name that with --group",
        )),
    }
}

/// Groups are judged in parallel when this many members have come together.
const MEMBERS_AT_ONCE: usize = 1 << 14;
