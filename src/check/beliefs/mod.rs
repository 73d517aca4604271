//! How many people of a release are vulnerable to an adversary who knows the correlations in the data?
//!
//! The adversary's priors come from the original table ([`original`](crate::model::beliefs::original)), the groups from the release
//! ([`mod@groups`], [`labels`]); the belief about everybody is followed from before to after the release
//! ([`beliefs::group`](crate::math::beliefs::group)). Somebody is vulnerable if it moves by more than t.
//!
//! Memory: the combinations and priors of the table, and several groups at a time; see the parts. Invariants:
//! a person counts as not vulnerable only by an exact distance or a proven bound; sums do not depend on the
//! number of threads.

mod exposure;
pub mod groups;
mod labels;

use rayon::prelude::*;
use std::cmp::Ordering;

pub use exposure::{CLOSE_PERCENT, Exposure};
pub use groups::{PeopleSource, PublishedValues};
pub use labels::LabelledGroups;

use crate::check::Subject;
use crate::error::{Error, Result, Setting, number_of};
use crate::math::beliefs::group::{BeliefAdversary, MOST_STATES};
use crate::model::beliefs::judge::{AttackReport, BeliefsJudge, Gathered};
use crate::model::beliefs::original::{Original, other_table};
use crate::model::beliefs::{Question, Roles, priors_of};
use crate::model::suppression::SuppressedShare;
use crate::release::manifest::Manifest;
use crate::resources::Resources;
use crate::resources::threads::thread_pool;
use crate::table::read::Table;

/// How people of the original are matched to their groups.
#[derive(Debug, Clone, Copy)]
pub enum Membership<'a> {
    /// The table holds people with their original quasi-identifiers, and these columns define the groups.
    Own(&'a [String]),
    /// By the labels of a generalized release, whose groups are numbered by these columns.
    Labels(&'a [String]),
}

/// The tables of groups, and the people in them.
pub struct GroupTables<'a> {
    /// The tables.
    pub subject: &'a Subject<'a>,
    /// Who is in which group.
    pub membership: &'a Membership<'a>,
    /// What the manifest of a release says about its original.
    pub manifest: Option<&'a Manifest>,
}

/// Computes how the belief about each person changes with a release.
pub fn attack(
    original: &Table,
    release: &GroupTables<'_>,
    question: &Question,
    resources: &Resources<'_>,
) -> Result<AttackReport> {
    let roles = &question.roles;
    let known = Original::read(original, roles, resources)?;
    release.manifest.map_or(Ok(()), |manifest| expect_rows(manifest, known.rows(), &roles.suppress))?;
    let comparison = question.comparison(&known.sensitive)?;
    let priors = priors_of(&known, question, resources)?;
    let adversaries: Vec<BeliefAdversary<'_>> =
        priors.iter().map(|priors| priors.adversary(&known.combinations, MOST_STATES)).collect();
    let (people, published) = release.parts(original, &known, roles, resources)?;
    let judge = BeliefsJudge::new(&adversaries, question, &comparison);
    let pool = thread_pool(resources.threads)?;
    let mut waiting: Vec<Gathered> = Vec::new();
    let mut members = 0;
    let mut found = judge.nothing();
    let mut flush = |waiting: &mut Vec<Gathered>| {
        let parts = pool.install(|| waiting.par_iter().map(|group| judge.observe(group)).collect::<Vec<_>>());
        parts.into_iter().for_each(|part| found.merge(part));
        waiting.clear();
    };
    let left_out = groups::gather(&known, &people, &published, roles, resources, |group| {
        members += group.members.len();
        waiting.push(group);
        if members >= MEMBERS_AT_ONCE {
            flush(&mut waiting);
            members = 0;
        }
        Ok(())
    })?;
    flush(&mut waiting);
    let left_out = roles.suppress.allows_some().then(|| judge.left_out(left_out.as_ref()));
    Ok(AttackReport { combinations: known.combinations.len() as u64, left_out, ..found })
}

impl<'a> GroupTables<'a> {
    /// Where people and values come from.
    fn parts(
        &self,
        original: &'a Table,
        known: &Original,
        roles: &Roles,
        resources: &Resources<'_>,
    ) -> Result<(PeopleSource<'a>, PublishedValues<'a>)> {
        let groups = match *self.membership {
            Membership::Own(groups) | Membership::Labels(groups) => groups,
        };
        let people = match (self.subject, *self.membership) {
            (Subject::Buckets(buckets), _) => PeopleSource::Grouped(buckets.people, groups),
            (Subject::Table(table), Membership::Own(_)) => PeopleSource::Grouped(table, groups),
            (Subject::Table(table), Membership::Labels(_)) => PeopleSource::Labelled(
                original,
                LabelledGroups::read(table, original, known, roles, resources)?,
            ),
        };
        let published = match self.subject {
            Subject::Table(table) => PublishedValues::Rows(table, groups),
            Subject::Buckets(buckets) => PublishedValues::Counts(buckets, groups),
        };
        Ok((people, published))
    }
}

/// Fails unless the original has as many rows as the release has people, or a few more if these may be left out.
fn expect_rows(manifest: &Manifest, rows: u64, suppress: &SuppressedShare) -> Result<()> {
    let people = number_of(manifest.individuals, "person", "people");
    match rows.cmp(&manifest.individuals) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(other_table(&format!("the release has {people}, this one has {rows}"))),
        Ordering::Greater if suppress.allows(rows - manifest.individuals, rows) => Ok(()),
        Ordering::Greater => Err(Error::missing(
            format!(
                "this is not the table that the release was made from: the release has {people}, this one has {rows}"
            ),
            "give the table that it was made from; if some rows were suppressed, give one with the rows that are left, \
             their original values and their group, and name that",
            Setting::Groups,
        )),
    }
}

/// Groups are judged in parallel once this many members have accumulated.
const MEMBERS_AT_ONCE: usize = 1 << 14;
