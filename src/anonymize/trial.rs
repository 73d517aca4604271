//! What would a release be like, and one that requires a little less?
//!
//! The table is read as codes, and a sample of its people is split in memory, again for every policy that is tried.
//! Nothing is written. A sample has fewer people to hide behind than the table, so its groups are coarser: what is found
//! is an estimate, unless all people are in the sample.
//! Memory: pages of codes in the budget, then the sample, its copy, and its groups.

mod replay;
mod sample;

pub use replay::{ReplayReport, ReplayedCuts, replayed_model};

use super::splitting::plan;
use crate::encode::attribute::{Attribute, Coding};
use crate::encode::codes::Codes;
use crate::encode::column::{Column, Splitting, Width};
use crate::encode::combination::SensitiveColumns;
use crate::encode::fingerprint::FingerprintKey;
use crate::encode::grid::ColumnGrid;
use crate::encode::group_counts::Part;
use crate::encode::rows::{Rows, Sensitive};
use crate::encode::scale::Scale;
use crate::encode::source::{DecidedCodes, Encoded, Source};
use crate::encode::source_columns::SourceColumns;
use crate::error::{Error, Result};
use crate::group::groups::{Group, Present};
use crate::group::split::lookahead::Lookahead;
use crate::model::obstacle::{Binding, ObstacleTally};
use crate::model::protection::Protection;
use crate::model::split::Scratch;
use crate::model::{Grouping, Policy};
use crate::policy::{Cuts, Quasi, QuasiShape, Style};
use crate::release::covers::Cover;
use crate::release::penalty::Measure;
use crate::report::utility::{Design, QueryErrors, Released, Workload};
use crate::resources::Resources;
use crate::resources::threads::thread_pool;
use crate::table::ColumnKind;
use crate::table::read::Table;
use sample::sample;

/// A sample of a table, ready to be split by policies that protect the same columns.
pub struct TrialTable {
    quasi: Vec<(Quasi, ColumnKind, Attribute)>,
    sensitive: SensitiveColumns,
    rows: Rows,
    /// People in the table.
    people: u64,
    threads: usize,
}

/// What came of one policy.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Groups of the sample; 0 if not even the whole sample in one group is safe.
    pub groups: u64,
    /// The average width of labels.
    pub penalty: f64,
    /// The median relative error of count queries; `None` if people may have several values, or several columns are
    /// protected.
    pub median_error: Option<f64>,
    /// What refuses the best cuts.
    pub binds: Vec<Binding>,
}

/// A policy that requires less in one line, and what comes of it.
#[derive(Debug, Clone)]
pub struct RelaxedTrial {
    /// What was changed, as one would write it in the policy.
    pub change: String,
    /// What came of it.
    pub trial: Trial,
}

/// The most people who are split in a trial; more take longer and change the estimates little.
pub const SAMPLED_PEOPLE: u64 = 50_000;

/// The columns of a trial: positions in the table, with their codes.
type TrialColumns<'t> = Vec<(usize, &'t Attribute)>;

impl TrialTable {
    /// Reads a table for a policy: about `most` people of it.
    pub fn read(table: &Table, policy: &Policy, most: u64, resources: &Resources<'_>) -> Result<Self> {
        if let Some(what) = untried(policy)? {
            return Err(Error::input(
                format!("a trial cannot estimate {what}"),
                "make the release, and look at its report",
            ));
        }
        let protection = Protection::new(policy)?;
        let columns = SourceColumns::bound(table, policy, |name| protection.values_of(name))?;
        let source = Source { table, columns, resources };
        let DecidedCodes { mut attributes, sensitive, .. } = source.read_values()?;
        let codes = attributes.iter().map(Attribute::memory).sum();
        let _codes = resources.budget.reserve("the codes of the quasi-identifiers", codes)?;
        let (spill, key) = (resources.new_spill()?, FingerprintKey::random()?);
        let hasher = source.hasher(&key);
        let Encoded { store, whole, .. } =
            source.read_rows(&mut attributes, &sensitive, None, &hasher, &spill)?;
        resources.progress.start("sampling", None);
        let rows = sample(&store, most, &resources.budget)?;
        let quasi = source.quasi().zip(attributes);
        let quasi = quasi.map(|(quasi, own)| Ok((quasi.clone(), table.kind(&quasi.name)?, own)));
        let quasi = quasi.collect::<Result<Vec<_>>>()?;
        resources.progress.finish();
        Ok(TrialTable { quasi, sensitive, rows, people: whole.people, threads: resources.threads })
    }

    /// People in the table.
    pub fn people(&self) -> u64 {
        self.people
    }

    /// People in the sample.
    pub fn sampled(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Splits the sample by a policy.
    pub fn try_policy(&self, policy: &Policy) -> Result<Trial> {
        let columns = self.quasi.iter().enumerate().map(|(at, (_, _, own))| (at, own)).collect();
        self.split(policy, columns, self.rows.clone())
    }

    /// What one step less of each requirement would gain, best first.
    pub fn try_relaxations(&self, policy: &Policy, binds: &[Binding]) -> Result<Vec<RelaxedTrial>> {
        let mut trials = Vec::new();
        for relaxed in policy.relaxations(binds) {
            trials.push(RelaxedTrial { change: relaxed.change, trial: self.try_policy(&relaxed.policy)? });
        }
        for (at, (quasi, _, _)) in self.quasi.iter().enumerate().filter(|_| self.quasi.len() > 1) {
            let mut rows = self.rows.clone();
            rows.columns.remove(at);
            let others = self.quasi.iter().enumerate().filter(|(other, _)| *other != at);
            let columns = others.map(|(other, (_, _, own))| (other, own)).collect();
            let change = format!("without {}", quasi.name);
            trials.push(RelaxedTrial { change, trial: self.split(policy, columns, rows)? });
        }
        for (at, (quasi, _, own)) in self.quasi.iter().enumerate() {
            let Some((change, coarser)) = coarser(quasi, own)? else { continue };
            let mut rows = self.rows.clone();
            rows.columns[at] = recoded(&rows.columns[at], own, &coarser);
            let columns = self.quasi.iter().enumerate();
            let columns = columns
                .map(|(other, (_, _, own))| (other, if other == at { &coarser } else { own }))
                .collect();
            trials.push(RelaxedTrial { change, trial: self.split(policy, columns, rows)? });
        }
        trials.sort_by(|one, other| one.trial.loss().total_cmp(&other.trial.loss()));
        Ok(trials)
    }

    fn split(&self, policy: &Policy, attributes: TrialColumns<'_>, rows: Rows) -> Result<Trial> {
        let protection = Protection::new(policy)?;
        let whole = rows.total(self.sensitive.len());
        let mut test = protection.split_test(&self.sensitive, &whole, None)?;
        let columns: Vec<Column> = attributes.iter().map(|(_, own)| own.column()).collect();
        let untouched = test.fork();
        let plan = plan(policy, &columns, Lookahead::new(&*untouched, whole.people));
        let workload = self.workload(&columns)?;
        let counts = workload.as_ref().map(|workload| true_counts(workload, &rows));
        let admitted = test.admits(&[Part::of(&whole)], &mut Scratch::default());
        let pool = thread_pool(self.threads)?;
        let groups = match admitted {
            true => pool.install(|| plan.groups(rows, &whole, &mut *test))?.unwrap_or_default(),
            false => Vec::new(),
        };
        let measured = attributes.iter().map(|&(at, own)| (&self.quasi[at].0, self.quasi[at].1.clone(), own));
        let mut measure = Measure::new(measured);
        let mut obstacles = ObstacleTally::default();
        let mut answers = workload.as_ref().map(Workload::no_answers);
        for group in &groups {
            measure.add(group);
            obstacles.add(group.obstacle, group.part.people);
            if let (Some(workload), Some(answers)) = (&workload, &mut answers) {
                workload.answer(&released(group, &attributes, &columns), answers);
            }
        }
        let least = QueryErrors::least_of(whole.people);
        let errors = counts.zip(answers).map(|(counts, answers)| QueryErrors::of(&counts, &answers, least));
        Ok(Trial {
            groups: groups.len() as u64,
            penalty: if groups.is_empty() { 1.0 } else { measure.finish().published_penalty() },
            median_error: errors.map(|errors| errors.median),
            binds: protection.bindings(&obstacles, &self.sensitive)?,
        })
    }

    /// The queries of a report, where they can be counted.
    fn workload(&self, columns: &[Column]) -> Result<Option<Workload>> {
        if self.sensitive.holds_lists() || self.sensitive.columns().len() != 1 {
            return Ok(None);
        }
        let codes: Vec<u32> = columns.iter().map(|column| column.codes).collect();
        let design = Design { dimension: Design::default().dimension.min(codes.len()), ..Design::default() };
        Workload::draw(&codes, self.sensitive.len() as u32, &design).map(Some)
    }
}

/// Why a trial says nothing about the releases of a policy; `None` if it does.
pub fn untried(policy: &Policy) -> Result<Option<&'static str>> {
    // Only tables that are split have a protection of their parts.
    Ok(if policy.grouping() != Grouping::Split || Protection::new(policy)?.judges_rows() {
        Some("a release whose groups are not made by counts")
    } else if policy.publish.cuts == Cuts::Blind {
        Some("a release whose cuts are blind")
    } else if policy.publish.style != Style::Generalized {
        Some("a release that publishes quasi-identifiers exactly")
    } else {
        None
    })
}

/// What a policy gives, and what one step less of each requirement or a finer grid would gain, tried on a sample.
#[derive(Debug, Clone)]
pub struct PolicyEstimate {
    /// People in the table.
    pub people: u64,
    /// People in the sample.
    pub sampled: u64,
    /// The policy as it is.
    pub as_it_is: Trial,
    /// Changes of one line each, best first.
    pub relaxed: Vec<RelaxedTrial>,
}

impl PolicyEstimate {
    /// Reads the table once for the policy, and once for each finer grid.
    pub fn of(table: &Table, policy: &Policy, resources: &Resources<'_>) -> Result<Self> {
        let progress = resources.progress;
        let sample = TrialTable::read(table, policy, SAMPLED_PEOPLE, resources)?;
        progress.start("trying policies", None);
        let as_it_is = sample.try_policy(policy)?;
        let mut relaxed = sample.try_relaxations(policy, &as_it_is.binds)?;
        for (change, finer) in finer_grids(table, policy)? {
            let sample = TrialTable::read(table, &finer, SAMPLED_PEOPLE, resources)?;
            progress.start("trying policies", None);
            relaxed.push(RelaxedTrial { change, trial: sample.try_policy(&finer)? });
        }
        relaxed.sort_by(|one, other| one.trial.loss().total_cmp(&other.trial.loss()));
        progress.finish();
        Ok(PolicyEstimate { people: sample.people(), sampled: sample.sampled(), as_it_is, relaxed })
    }
}

/// Policies with a finer grid for one column each, and how one would write it. Such a policy needs a [`TrialTable`] of its
/// own, because the table is read in other cells.
fn finer_grids(table: &Table, policy: &Policy) -> Result<Vec<(String, Policy)>> {
    let mut finer = Vec::new();
    for (at, quasi) in policy.columns.quasi.iter().enumerate() {
        let ordered = quasi.shape == QuasiShape::Plain && (quasi.grid.is_some() || quasi.domain.is_some());
        let Some(scale) = Scale::of(&table.kind(&quasi.name)?).filter(|_| ordered) else { continue };
        let Some(grid) = ColumnGrid::of(quasi, scale)?.finest() else { continue };
        let change = format!("{}: grid = {}", quasi.name, grid.usual_text());
        finer.push((change, policy.with_grid(at, grid)));
    }
    Ok(finer)
}

impl Trial {
    /// What trials are compared by: the error of queries, or else the width of labels.
    pub fn loss(&self) -> f64 {
        match self.groups {
            0 => f64::INFINITY,
            _ => self.median_error.unwrap_or(self.penalty),
        }
    }
}

/// The people of the sample whom each query counts.
fn true_counts(workload: &Workload, rows: &Rows) -> Vec<u64> {
    let mut counts = workload.no_counts();
    let mut person = vec![0; rows.columns.len()];
    for row in 0..rows.len() {
        person.iter_mut().zip(&rows.columns).for_each(|(own, codes)| *own = u32::from(codes.get(row)));
        if let Sensitive::Single(values) = &rows.sensitive {
            workload.count(&person, u32::from(values.get(row)), &mut counts);
        }
    }
    counts
}

/// The group as a reader of its labels sees it.
fn released(group: &Group, attributes: &TrialColumns<'_>, columns: &[Column]) -> Released {
    let covers = group.present.iter().zip(attributes).zip(columns);
    let covers = covers.map(|((present, (_, own)), column)| cover(present, own, column));
    Released::new(group.part.people, covers.collect(), &group.part.unpack().counts)
}

/// The codes that the label of a group covers.
fn cover(present: &Present, attribute: &Attribute, column: &Column) -> Cover {
    let (least, greatest) = present.ends;
    let holds_null = attribute.unshifted(least).is_none() && greatest > least;
    match (&column.width, &column.splitting) {
        (Width::Share, Splitting::Ordered) => {
            Cover::Listed(present.codes.iter().map(|&code| u32::from(code)).collect())
        }
        (Width::Share, Splitting::Tree(tree)) => Cover::Range(tree.codes(tree.smallest_cover(present.ends))),
        (Width::Span(_), _) if holds_null => {
            Cover::Listed([least].into_iter().chain(present.least_above..=greatest).collect())
        }
        (Width::Span(_), _) => Cover::Range(least..greatest + 1),
    }
}

/// The column with the next coarser grid, and how a policy says so; `None` if it has no grid that could be coarser.
fn coarser(quasi: &Quasi, attribute: &Attribute) -> Result<Option<(String, Attribute)>> {
    let Coding::Numbers(cells) = &attribute.coding else { return Ok(None) };
    let Some(grid) = cells.grid().coarser() else { return Ok(None) };
    let change = format!("{}: grid = {}", quasi.name, grid.usual_text());
    let wide = Quasi { grid: Some(grid), ..quasi.clone() };
    let regrouped = cells.regrouped(&wide)?.filter(|regrouped| regrouped.cells().len() > 1);
    Ok(regrouped.map(|cells| (change, Attribute { coding: Coding::Numbers(cells), ..attribute.clone() })))
}

/// The codes of the same people in coarser cells.
fn recoded(codes: &Codes, fine: &Attribute, coarse: &Attribute) -> Codes {
    let Coding::Numbers(cells) = &fine.coding else { return codes.clone() };
    let wide = |code: u32| match fine.unshifted(code) {
        None => 0,
        Some(own) => {
            let key = cells.cells()[own as usize].first;
            coarse.coding.number_code(key).map_or(0, |code| coarse.shifted(code))
        }
    };
    let wide: Vec<u16> = (0..fine.codes()).map(|code| wide(code) as u16).collect();
    let mut recoded = Codes::with_capacity(coarse.codes(), codes.len());
    (0..codes.len()).for_each(|row| recoded.push(wide[usize::from(codes.get(row))]));
    recoded
}
