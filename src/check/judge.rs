//! Is a release, or any table of groups, safe by its policy?
//!
//! [`Check`] is the only way to judge: the anonymizer uses it for what it wrote, the commands for what they
//! are given.
//!
//! Memory: besides counting, [`CLAIM_BYTES`] for each claim about a value, and [`SKYLINE_BYTES`] for each skyline.

use super::beliefs::{self, Membership};
use super::elsewhere::{FilesEvidence, FoundByTasks};
use super::job::{Subject, count_with};
use super::policy::Task;
use super::robust;
use super::verdict::{JudgedColumn, Verdict};
use crate::encode::combination::SensitiveColumns;
use crate::error::{Error, Result};
use crate::math::skyline::Statistics;
use crate::model::Policy;
use crate::model::beliefs::{Question, expect_values_apart};
use crate::model::judge::{Basis, Requirements};
use crate::model::published::PastGroups;
use crate::model::robust::KnownDistributions;
use crate::model::skyline::ProtectedValues;
use crate::model::skyline::decisive::MOST_VALUES;
use crate::model::skyline::knowledge::WantedSkylines;
use crate::release::manifest::Manifest;
use crate::resources::Resources;
use crate::table::read::Table;

/// The input of a check.
pub struct Check<'a> {
    /// The tables of groups.
    pub subject: &'a Subject<'a>,
    /// What must hold for which columns; at least one.
    pub tasks: &'a [Task],
    /// The table that the groups were made from. A requirement that needs it is not judged without it, and so
    /// is not safe.
    pub original: Option<&'a Table>,
    /// The distributions that the adversary knows, if they are already in memory.
    pub distributions: Option<&'a KnownDistributions>,
    /// How people of the original are matched to their groups.
    pub membership: Membership<'a>,
    /// What the manifest of a release says about its original.
    pub manifest: Option<&'a Manifest>,
    /// Whether the groups that decide at every point are kept.
    pub skylines: Skylines,
    /// What the tasks of an engine found in the files of the table.
    pub found: Option<&'a FilesEvidence<'a>>,
}

/// Whether the groups that decide at every point are kept, for a page that explores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skylines {
    /// For all values that have a point.
    Keep,
    /// For none.
    Leave,
}

/// What a claim takes, with the texts and exact numbers in it, until it is printed.
const CLAIM_BYTES: u64 = 1 << 10;

/// What the knowledge skyline of a value takes in addition, until its part of a page is written.
const SKYLINE_BYTES: u64 = 1 << 10;

/// What the claims are called when there is no room for them.
pub const FINDINGS: &str = "the findings about every sensitive value";

/// What the claims about so many values take.
fn findings_bytes(requirements: &Requirements, values: u64, skylines: Skylines) -> u64 {
    let many = |values: &ProtectedValues| !matches!(values, ProtectedValues::These(_));
    let points = requirements.skyline().iter().filter(|(values, _)| many(values)).count() as u64;
    let explored = skylines == Skylines::Keep && points > 0 && values <= MOST_VALUES as u64;
    values * (points * CLAIM_BYTES + if explored { SKYLINE_BYTES } else { 0 })
}

/// What judging a release of these values will take at least, so that a table with too many is refused at once.
pub fn judging_bytes(policy: &Policy, sensitive: &SensitiveColumns) -> Result<u64> {
    let mut bytes = 0;
    for target in &policy.privacy.targets {
        let requirements = Requirements::of(policy, target)?;
        let values = sensitive.projection(&target.columns).map_or(0, |own| own.texts.len()) as u64;
        let points = requirements.skyline().len() as u64;
        bytes += findings_bytes(&requirements, values, Skylines::Keep)
            + values * points * size_of::<Statistics>() as u64;
    }
    Ok(bytes)
}

impl Check<'_> {
    /// Judges the groups by everything that is required.
    pub fn judge(&self, resources: &Resources<'_>) -> Result<Verdict> {
        self.judge_beside(&PastGroups::NONE, resources)
    }

    /// Judges the groups together with others that were published, which count as groups of the table.
    pub fn judge_beside(&self, published: &PastGroups, resources: &Resources<'_>) -> Result<Verdict> {
        self.tasks.iter().try_for_each(|task| task.requirements.validate())?;
        let columns: Vec<JudgedColumn> = self
            .tasks
            .iter()
            .enumerate()
            .map(|(place, task)| self.judge_column((place, task), published, resources))
            .collect::<Result<_>>()?;
        match columns.is_empty() {
            true => Err(Error::input("the policy protects nothing", "name a column in columns.sensitive")),
            false => Ok(Verdict { columns }),
        }
    }

    fn judge_column(
        &self,
        (place, task): (usize, &Task),
        published: &PastGroups,
        resources: &Resources<'_>,
    ) -> Result<JudgedColumn> {
        let Task { columns, requirements } = task;
        let wanted = match self.skylines {
            Skylines::Keep => WantedSkylines::of(requirements.skyline()),
            Skylines::Leave => WantedSkylines::NOTHING,
        };
        let found = self.found.map(|files| FoundByTasks { files, place });
        let of_counts = || {
            let mut counted =
                count_with(self.subject, (columns, found.as_ref()), requirements, &wanted, resources)?;
            counted.add_published(columns, published)?;
            let bytes = findings_bytes(requirements, counted.names.len() as u64, self.skylines);
            counted.expect_findings(FINDINGS, bytes)?;
            let mut judged = counted.finish(columns, requirements)?;
            judged.explorable.read_labels(self.subject, columns, judged.order, resources)?;
            Ok(judged)
        };
        match requirements.basis() {
            Basis::Counts => of_counts(),
            Basis::People(question) => self.with_beliefs(of_counts()?, question, resources),
            Basis::Distributions(robustness) => {
                robust::expect_rows(columns)?;
                let own;
                let known = match self.distributions {
                    Some(known) => known,
                    None => {
                        own = robust::known(robustness, columns, self.original, resources)?;
                        &own
                    }
                };
                let mut judged = of_counts()?;
                robust::add(&mut judged.finding, self.subject, columns, robustness, known, resources)?;
                Ok(judged)
            }
        }
    }

    /// How far beliefs move; left undecided without the original.
    fn with_beliefs(
        &self,
        mut judged: JudgedColumn,
        question: &Question,
        resources: &Resources<'_>,
    ) -> Result<JudgedColumn> {
        match self.original {
            None => judged.finding.add(question.open_claims()),
            Some(original) => {
                let tables = beliefs::GroupTables {
                    subject: self.subject,
                    membership: &self.membership,
                    manifest: self.manifest,
                };
                let roles = &question.roles;
                expect_values_apart(original, &roles.quasi, roles, resources)?;
                beliefs::attack(original, &tables, question, resources)?.add_to(&mut judged.finding);
            }
        }
        Ok(judged)
    }
}
