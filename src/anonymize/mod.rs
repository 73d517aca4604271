//! How does a table become a release?
//!
//! The main loop: read the values, give them codes, read the rows as codes, split while it is safe, write the
//! groups, check what was written, make it visible. Nothing calls backwards.
//!
//! Memory: at most the budget for everything that grows, and [`ALLOWANCE`](crate::resources::budget::ALLOWANCE) beside it.

pub mod robust;
pub mod strategy;

use crate::check::beliefs::Membership;
use crate::check::release::labelled_groups;
use crate::check::{self, Check, Skylines, Subject, Verdict};
use crate::encode::attribute::Attribute;
use crate::encode::column::Column;
use crate::encode::source::{Encoded, Source};
use crate::encode::source_columns::SourceColumns;
use crate::error::{Error, Result};
use crate::group::groups::Group;
use crate::group::lattice::LatticeMeasure;
pub use crate::group::lattice::full_domain::Searched;
use crate::group::lattice::full_domain::{self, FullDomain};
use crate::group::split::grow::Growth;
use crate::group::split::leaf::Pages;
use crate::group::split::limits::SubtreeLimits;
use crate::group::split::plan::SplitPlan;
use crate::group::split::propose::CutOrder;
use crate::model::beliefs::TableRows;
use crate::model::finding::Finding;
use crate::model::protection::Protection;
use crate::model::skyline::judge::Absent;
use crate::model::split::Scratch;
use crate::model::{Grouping, Policy};
use crate::policy::Cuts;
use crate::release::label::Labels;
use crate::release::manifest::{self, Evidence, Input, PublishedColumn, ReleaseStyle};
use crate::release::output::{Output, Shape};
use crate::release::penalty;
pub use crate::release::penalty::{Penalty, Utility, rounded_up};
use crate::release::rows::{COUNT, GROUP};
use crate::release::staging::Staging;
use crate::report::REPORT;
use crate::report::kept::{self, KeptColumn, Standing};
use crate::report::page::{Asked, Compared, Contents, Origin, WITHOUT_ORIGINAL, to_html};
use crate::resources::Resources;
use crate::resources::budget::{Budget, release_freed};
use crate::resources::progress::Progress;
use crate::resources::spill::Spill;
use crate::table::read::Table;
use robust::RobustSummary;
use std::path::Path;
use std::sync::Arc;

/// All that a run needs, validated.
pub struct Job<'a> {
    /// The table.
    pub table: &'a Table,
    /// What the owner allows.
    pub policy: &'a Policy,
    /// The directory that the release becomes.
    pub out: &'a Path,
    /// Where rows go that do not fit in memory.
    pub temp: &'a Path,
    /// Bytes that may grow.
    pub memory: u64,
    /// Threads.
    pub threads: usize,
    /// Where groups are looked for.
    pub search: Search,
    /// Normally [`SUBTREE_BYTES`](crate::group::split::limits::SUBTREE_BYTES); tests take less.
    pub subtree_bytes: usize,
    /// Counts what is done.
    pub progress: &'a Progress,
}

impl<'a> Job<'a> {
    fn resources(&self, budget: &Arc<Budget>) -> Resources<'a> {
        let (threads, temp, budget) = (self.threads, self.temp.to_path_buf(), budget.clone());
        Resources { threads, budget, temp, progress: self.progress }
    }
}

/// Where groups are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// Each group is split on its own, as far as it is safe.
    Tree,
    /// All people's values are generalized to the same levels; the best safe choice by a measure is taken.
    Lattice(LatticeMeasure),
}

/// What came of a run.
#[derive(Debug)]
pub enum Outcome {
    /// The release is in place.
    Published(Summary),
    /// Not even the whole table in one group is safe, so nothing can be released: what was found about each sensitive
    /// column of that one group.
    Impossible(Vec<Finding>),
    /// The strategy publishes nothing, for this reason.
    Withheld(String),
}

/// A finished release.
#[derive(Debug)]
pub struct Summary {
    /// People in the release.
    pub records: u64,
    /// Groups.
    pub groups: u64,
    /// Bytes written to the spill.
    pub spilled_bytes: u64,
    /// How often the source was read.
    pub source_scans: u64,
    /// What the release is worth.
    pub utility: Utility,
    /// What the search over the lattice found, if that was asked for.
    pub searched: Option<Searched>,
    /// What kept columns tell.
    pub kept: Vec<KeptColumn>,
    /// What is told of a robust release beside this.
    pub robust: Option<Box<RobustSummary>>,
}

/// Why there is no release although the counts of the whole table would allow one.
const NOBODY_TO_HIDE_WITH: &str = "for some people no group is known in which beliefs move by at most t; raise t, or take a wider bandwidth";

/// Runs a job.
pub fn run(job: &Job<'_>) -> Result<Outcome> {
    match job.policy.grouping() {
        Grouping::GivenFunctions(strategy) => {
            let limit_steps = crate::math::disclosure_sets::Limits::default().steps;
            strategy::run(job, &strategy::Choice { strategy, functions: None, limit_steps })
        }
        Grouping::SimilarPeople => {
            let suppressed = robust::default_list(job.out);
            let part_people = robust::PART_PEOPLE;
            robust::run(job, &robust::Options { suppressed: &suppressed, part_people })
        }
        Grouping::Split => split(job),
    }
}

/// Splits the table as long as the parts are safe.
fn split(job: &Job<'_>) -> Result<Outcome> {
    let staging = Staging::create(job.out)?;
    let spill = Spill::create(job.temp)?;
    let budget = Budget::new(job.memory);
    let protection = Protection::new(job.policy)?;
    if job.memory < job.subtree_bytes as u64 * 4 {
        let needed = job.subtree_bytes as u64 * 4;
        return Err(Error::Memory { stage: "splitting the table", needed, budget: job.memory });
    }
    let resources = job.resources(&budget);
    let columns = SourceColumns::bound(job.table, job.policy, protection.values())?;
    let source = Source { table: job.table, columns, resources: &resources };
    let payload = source.payload()?;

    let (mut attributes, sensitive) = source.read_values()?;
    release_freed();
    // A mistake in the labels shows before the rows are read.
    drop(labels(job, &source, &attributes)?);
    let columns: Vec<Column> = attributes.iter().map(Attribute::column).collect();
    let layout = source.layout(&attributes, &sensitive);
    let limits = SubtreeLimits::new(&layout, job.subtree_bytes);
    // Pages must not take the room that splitting will need.
    let slots = sensitive.len() + 1;
    let threads = limits.threads(&columns, slots, job.threads, job.memory);
    let waiting = limits.waiting_bytes(job.table.rows().unwrap_or(0), threads, job.memory);
    let needed = limits.working_bytes(&columns, slots, threads).max(waiting);
    let mut room = budget.reserve("splitting the table", needed)?;
    if protection.judges_rows() && room.bytes() < job.memory / 2 {
        // What is believed of everybody needs room as well.
        room.resize("splitting the table", job.memory / 2)?;
    }
    let Encoded { mut store, whole, fingerprint } =
        source.read_rows(&mut attributes, &sensitive, payload.as_ref(), &spill)?;
    drop(room);
    release_freed();
    let labels = labels(job, &source, &attributes)?;

    if protection.judges_rows() && job.search != Search::Tree {
        return Err(Error::input(
            "a lattice cannot be searched for the model \"beliefs\": a coarser release may be less private",
            "leave out --search lattice",
        ));
    }
    let quasi: Vec<_> = source.quasi().collect();
    let rows = TableRows { resources: &resources, store: &store, attributes: &attributes, quasi: &quasi };
    let mut test = protection.split_test(&sensitive, &whole, Some(&rows))?;
    release_freed();
    if !test.admits(std::slice::from_ref(&whole), &mut Scratch::default()) {
        return Ok(Outcome::Impossible(protection.judge_whole(&whole, &sensitive)?));
    }
    let shape = Shape {
        style: job.policy.publish.style,
        values: protection.values(),
        ranges: job.policy.publish.ranges,
        labels: &labels,
        sensitive: &sensitive,
        payload: payload.as_ref(),
    };
    let mut output = Output::create(staging.folder(), &shape, &spill, job.threads)?;
    let mut measure = penalty::Measure::new(&columns, &attributes, &labels);
    let pool = thread_pool(threads)?;
    job.progress.start("splitting", Some(whole.people));
    let publish = |number: u64, group: Group| {
        job.progress.advance(group.part.people);
        measure.add(&group);
        output.push(number, &group)
    };
    let (tree, searched) = match job.search {
        Search::Tree => {
            let growth = Growth {
                plan: SplitPlan { columns: &columns, order: order(job.policy) },
                pool: &pool,
                budget: &budget,
                spill: &spill,
                limits,
                pages: if payload.is_some() { Pages::Kept } else { Pages::Consumed },
            };
            test.accept(std::slice::from_ref(&whole));
            match growth.grow(&mut store, whole, &mut *test, publish)? {
                Some(tree) => (tree, None),
                None => return Ok(Outcome::Withheld(NOBODY_TO_HIDE_WITH.to_string())),
            }
        }
        Search::Lattice(measure) => {
            let levels = attributes.iter().zip(&columns).map(|(a, c)| full_domain::levels(a, c)).collect();
            let lattice = FullDomain { columns: &columns, levels, measure, budget: &budget };
            let (tree, searched) = lattice.search(
                &store,
                sensitive.len(),
                || protection.split_test(&sensitive, &whole, None),
                publish,
            )?;
            (tree, Some(searched))
        }
    };
    output.push_travelling(&store, &tree, &budget)?;
    drop((store, test));
    output.finish()?;
    release_freed();
    manifest::write_tree(staging.folder(), &tree, &labels)?;

    let utility = measure.finish();
    let verdict = judge_written(job, &shape, staging.folder(), &budget)?;
    if !verdict.is_safe() {
        return Err(unsafe_release());
    }
    let report = verdict.first();
    let style = if shape.is_joined() { ReleaseStyle::Generalized } else { ReleaseStyle::Bucketized };
    let people = staging.folder().join(if shape.is_joined() { "data" } else { "quasi" });
    let kept = kept_written(job, &people)?;
    let page = to_html(&Contents {
        verdict: &verdict,
        asked: Asked::Policy,
        origin: Origin::Release {
            policy: job.policy,
            style: style.name(),
            input_rows: fingerprint.rows,
            fingerprint: Some(fingerprint.text()),
            version: env!("CARGO_PKG_VERSION"),
        },
        worth: (&utility).into(),
        compared: Compared::Not(WITHOUT_ORIGINAL),
        kept: &kept,
    });
    let path = staging.folder().join(REPORT);
    std::fs::write(&path, page).map_err(|source| Error::io(&path, source))?;
    manifest::write(
        staging.folder(),
        &Evidence {
            policy: job.policy,
            style,
            input: Input::Read(fingerprint),
            columns: &published_columns(&verdict),
            utility: &utility,
        },
    )?;
    staging.publish()?;
    Ok(Outcome::Published(Summary {
        records: report.individuals,
        groups: report.groups,
        spilled_bytes: spill.bytes(),
        source_scans: job.table.scans(),
        utility,
        searched,
        kept,
        robust: None,
    }))
}

fn published_columns(verdict: &Verdict) -> Vec<PublishedColumn<'_>> {
    verdict.columns.iter().map(PublishedColumn::from).collect()
}

fn unsafe_release() -> Error {
    Error::defect("the check of the finished release found it unsafe, so it is not published")
}

/// Reads the written files back and judges them by the policy, without asking the planner: a verdict for each
/// protected column, at least one.
fn judge_written(job: &Job<'_>, shape: &Shape<'_>, folder: &Path, budget: &Arc<Budget>) -> Result<Verdict> {
    let open = |table: &str| Table::open(&[folder.join(table)], &Default::default());
    let tables = match shape.is_joined() {
        true => (open("data")?, None),
        false => (open("quasi")?, Some(open("sensitive")?)),
    };
    let subject = match &tables {
        (table, None) => Subject::Table(table),
        (people, Some(values)) => {
            Subject::Buckets(check::Buckets { people, values, count: COUNT.to_string() })
        }
    };
    let groups = match &tables {
        (table, None) => labelled_groups(table, job.policy),
        _ => vec![GROUP.to_string()],
    };
    let mut tasks = check::policy::tasks(job.policy, &groups)?;
    for task in &mut tasks {
        // Every value that the policy names occurs, as the planner made sure: one that is not found was not judged.
        task.requirements.absent = Absent::Refuse;
        task.columns = task.columns.clone().of_release();
    }
    let number = [GROUP.to_string()];
    let check = Check {
        subject: &subject,
        tasks: &tasks,
        original: Some(job.table),
        distributions: None,
        membership: Membership::Labels(&number),
        manifest: None,
        skylines: Skylines::Keep,
    };
    check.judge(&job.resources(budget))
}

/// What the kept columns tell beside the groups.
fn kept_written(job: &Job<'_>, people: &Path) -> Result<Vec<KeptColumn>> {
    let table = Table::open(&[people.to_path_buf()], &Default::default())?;
    let resources = job.resources(&Budget::new(job.memory));
    kept::measure(&table, &[GROUP.to_string()], &job.policy.columns.keep, Standing::Together, &resources)
}

fn labels<'a>(
    job: &Job<'_>,
    source: &Source<'a>,
    attributes: &'a [Attribute],
) -> Result<Vec<(String, Labels<'a>)>> {
    let label = |(quasi, attribute): (&'a crate::policy::Quasi, &'a Attribute)| {
        let kind = job.table.kind(&attribute.name)?;
        Ok((attribute.name.clone(), Labels::new(attribute, quasi, kind)?))
    };
    source.quasi().zip(attributes).map(label).collect()
}

fn thread_pool(threads: usize) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|_| Error::input("the threads could not be started", "give fewer --threads"))
}

fn order(policy: &Policy) -> CutOrder {
    match policy.publish.cuts {
        Cuts::Mondrian => CutOrder::Mondrian,
        Cuts::Best => CutOrder::Gain,
    }
}
