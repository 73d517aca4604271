//! How does a table become a release?
//!
//! The main loop: read the values, give them codes, read the rows as codes, split while it is safe, write the
//! groups, check what was written, make it visible. Nothing calls backwards.
//!
//! Memory: at most the budget for everything that grows, and [`ALLOWANCE`](crate::memory::ALLOWANCE) beside it.

pub mod grow;
pub mod prepare;
mod utility;

use crate::encode::attribute::Attribute;
use crate::encode::collect::Collector;
use crate::encode::encoder::{Encoder, Fingerprint};
use crate::encode::page::{Layout, PAGE_ROWS, PageStore};
use crate::encode::sensitive::SensitiveCoding;
use crate::error::{Error, Result};
use crate::memory::Budget;
use crate::plan::column::Column as PlanColumn;
use crate::plan::criterion::{Criterion, Minimum, Part, SkylineCriterion};
use crate::plan::propose::Order;
use crate::plan::subtree::{Group, Rows};
use crate::plan::tree::CutTree;
use crate::policy::{self, Cuts, Model, Policy, Protected, Role};
use crate::progress::Progress;
use crate::publish::label::Labels;
use crate::publish::release::{GroupRows, PartWriter};
use crate::publish::staging::Staging;
use crate::read::{Column, Table};
use crate::skyline::{Breach, Confidence, Knowledge, Point, SkylineState, Target, Values, Verdict};
use crate::spill::Spill;
use crate::write::WriteOptions;
use arrow::array::Array;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
pub use utility::{Penalty, Utility};

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
    /// Normally [`grow::SUBTREE_BYTES`]; tests take less.
    pub subtree_bytes: usize,
    /// Counts what is done.
    pub progress: &'a Progress,
}

/// What came of a run.
#[derive(Debug)]
pub enum Outcome {
    /// The release is in place.
    Published(Summary),
    /// Not even the whole table in one group is safe, so nothing can be released.
    Impossible(Vec<Obstacle>),
}

/// Why the whole table in one group is not safe.
#[derive(Debug, Clone, PartialEq)]
pub enum Obstacle {
    /// A skyline point does not hold.
    Breach {
        /// The sensitive value.
        value: String,
        /// The skyline point.
        point: Point,
        /// The breach probability.
        breach: Breach,
    },
    /// The table has fewer people or fewer different values than a group must have.
    TooSmall {
        /// What there is too little of.
        what: &'static str,
        /// How many there are.
        has: u64,
        /// How many there must be.
        needs: u64,
    },
}

/// A finished release.
#[derive(Debug)]
pub struct Summary {
    /// People (rows) in the release.
    pub records: u64,
    /// Groups.
    pub groups: u64,
    /// Bytes written to the spill.
    pub spilled_bytes: u64,
    /// How often the source was read.
    pub source_scans: u64,
    /// What the release is worth.
    pub utility: Utility,
    /// The files of the release.
    pub files: Vec<PathBuf>,
}

/// The columns of the table by their role, in the order of the table.
struct Roles {
    quasi: Vec<usize>,
    sensitive: usize,
}

/// Runs a job.
pub fn run(job: &Job<'_>) -> Result<Outcome> {
    let staging = Staging::create(job.out)?;
    let spill = Spill::create(job.temp)?;
    let budget = Budget::new(job.memory);
    let target = supported(job.policy)?;
    let values = values_of(target);
    let roles = roles(job)?;

    let (attributes, sensitive) = read_values(job, &roles, values)?;
    let columns: Vec<PlanColumn> = attributes.iter().map(Attribute::column).collect();
    let (store, whole, _fingerprint) =
        read_rows(job, &roles, &attributes, &sensitive, values, &budget, &spill)?;

    let mut criterion = criterion(target, job.policy, &sensitive)?;
    if !criterion.admits(std::slice::from_ref(&whole)) {
        return Ok(Outcome::Impossible(obstacles(&criterion, &whole, &sensitive, job.policy, target)));
    }
    criterion.accept(std::slice::from_ref(&whole));

    let labels = labels(job, &roles, &attributes)?;
    let mut measure = utility::Measure::new(&columns, &attributes, &labels);
    let mut rows = GroupRows::new(labels.clone(), job.policy.publish.ranges, &sensitive);
    let options = WriteOptions { threads: job.threads, ..WriteOptions::default() };
    let mut writer = PartWriter::create(&staging.folder().join("data"), rows.schema().clone(), options)?;
    let pool = thread_pool(job.threads)?;
    job.progress.start("splitting", Some(whole.people));
    let growth = grow::Growth {
        columns: &columns,
        order: order(job.policy),
        pool: &pool,
        budget: &budget,
        spill: &spill,
        subtree_bytes: job.subtree_bytes,
        progress: &|_| {},
    };
    let (mut groups, records) = (0, whole.people);
    let _tree: CutTree = growth.grow(store, whole, &mut criterion, |group: Group| {
        groups += 1;
        measure.add(&group);
        job.progress.advance(group.part.people);
        rows.push(groups, &group, |batch| writer.write(batch))
    })?;
    writer.write(rows.finish()?)?;
    let files = vec![writer.finish()?];
    staging.publish()?;
    Ok(Outcome::Published(Summary {
        records,
        groups,
        spilled_bytes: spill.bytes(),
        source_scans: job.table.scans(),
        utility: measure.finish(),
        files,
    }))
}

fn thread_pool(threads: usize) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|_| Error::input("the threads could not be started", "give fewer --threads"))
}

fn order(policy: &Policy) -> Order {
    match policy.publish.cuts {
        Cuts::Mondrian => Order::Mondrian,
        Cuts::Best => Order::Gain,
    }
}

fn values_of(target: &policy::Target) -> Values {
    match target.values {
        policy::Values::Single => Values::Single,
        policy::Values::Set => Values::Set,
        policy::Values::Multiset => Values::Multiset,
    }
}

/// The one protected column that this version can anonymize.
fn supported(policy: &Policy) -> Result<&policy::Target> {
    match policy.privacy.targets.as_slice() {
        [target] if target.columns.len() == 1 => Ok(target),
        _ => Err(Error::input(
            "anonymize protects one sensitive column",
            "drop the other sensitive columns, or join them into one beforehand",
        )),
    }
}

fn roles(job: &Job<'_>) -> Result<Roles> {
    let names: Vec<&str> = job.table.schema().fields().iter().map(|field| field.name().as_str()).collect();
    let roles = job.policy.bind(&names)?;
    let quasi = (0..roles.len()).filter(|&i| matches!(roles[i], Role::Quasi(_))).collect();
    let sensitive = roles.iter().position(|role| matches!(role, Role::Sensitive(_)));
    let sensitive = sensitive.ok_or_else(|| {
        Error::input("the policy names no sensitive column", "name one in columns.sensitive")
    })?;
    Ok(Roles { quasi, sensitive })
}

impl Roles {
    fn columns(&self, table: &Table) -> Vec<Column> {
        let name = |&i: &usize| Column::canonical(table.schema().field(i).name());
        self.quasi.iter().chain([&self.sensitive]).map(name).collect()
    }
}

fn quasi<'a>(job: &Job<'a>, column: usize) -> Result<&'a policy::Quasi> {
    let name = job.table.schema().field(column).name();
    let missing = || Error::input(format!("column {name:?} has no role"), "give it one in the policy");
    job.policy.columns.quasi(name).ok_or_else(missing)
}

/// The first scan: which values are there?
fn read_values(job: &Job<'_>, roles: &Roles, values: Values) -> Result<(Vec<Attribute>, SensitiveCoding)> {
    let table = job.table;
    let field = |i: usize| table.schema().field(i).name();
    let mut collectors: Vec<Collector<'_>> = Vec::new();
    for &i in &roles.quasi {
        collectors.push(prepare::collector(quasi(job, i)?, &table.kind(field(i))?));
    }
    let name = field(roles.sensitive);
    let kind = table.kind(name)?;
    prepare::expect_values(name, &kind, values)?;
    collectors.push(Collector::new(name, &kind, None));
    job.progress.start("reading values", table.rows());
    let work = |morsel: crate::read::Morsel<'_>| {
        // Workers begin at different columns, so that they seldom wait for each other.
        let first = morsel.index() as usize;
        let mut rows = 0;
        for batch in morsel {
            let batch = batch?;
            for i in 0..collectors.len() {
                let column = (first + i) % collectors.len();
                collectors[column].observe(batch.column(column))?;
            }
            rows += batch.num_rows() as u64;
            job.progress.advance(batch.num_rows() as u64);
        }
        Ok(rows)
    };
    let mut rows = 0;
    table.scan(&roles.columns(table), job.threads, work, |part| {
        rows += part;
        Ok(())
    })?;
    if rows == 0 {
        return Err(Error::input("the table has no rows", "there is nothing to publish; check the input"));
    }
    let mut collected: Vec<_> = collectors.into_iter().map(Collector::finish).collect();
    let found = collected.pop().expect("the sensitive column was collected");
    let stated = job.policy.columns.sensitive(name).and_then(|sensitive| sensitive.null_is.as_deref());
    if values == Values::Single && found.nulls > 0 && stated.is_none() {
        return Err(Error::input(
            format!("the sensitive column {name:?} is null in {} rows", found.nulls),
            "say what that means with columns.null_is = \"a value name\"",
        ));
    }
    let sensitive = SensitiveCoding::new(name, &kind, found, stated)?;
    let attributes = roles.quasi.iter().zip(collected);
    let attributes: Result<Vec<Attribute>> =
        attributes.map(|(&i, found)| prepare::attribute(quasi(job, i)?, found)).collect();
    Ok((attributes?, sensitive))
}

/// The second scan: the rows as pages of codes, and all of them counted together.
fn read_rows<'s>(
    job: &Job<'_>,
    roles: &Roles,
    attributes: &[Attribute],
    sensitive: &SensitiveCoding,
    values: Values,
    budget: &Arc<Budget>,
    spill: &'s Spill,
) -> Result<(PageStore<'s>, Part, Fingerprint)> {
    let layout = Layout {
        columns: attributes.iter().map(Attribute::codes).collect(),
        values: sensitive.len() as u32,
        lists: Encoder::lists(values),
    };
    let encoder = Encoder::new(attributes, sensitive, values, budget);
    let store = Mutex::new(PageStore::new(layout.clone(), budget, spill));
    // Pages that a morsel left half full wait here for the next one.
    let open: Mutex<Vec<Rows>> = Mutex::default();
    let distinct = sensitive.len();
    job.progress.start("reading rows", job.table.rows());
    let work = |morsel: crate::read::Morsel<'_>| {
        let waiting = open.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut page = waiting.unwrap_or_else(|| layout.empty(PAGE_ROWS));
        let mut fingerprint = Fingerprint::default();
        let mut whole = Part { people: 0, counts: vec![0; distinct] };
        for batch in morsel {
            let batch = batch?;
            let (last, quasi) = batch.columns().split_last().expect("the sensitive column is read");
            fingerprint.merge(encoder.append(quasi, last, &mut page)?);
            job.progress.advance(last.len() as u64);
            if page.len() >= PAGE_ROWS {
                whole.add(&page.total(distinct));
                let full = std::mem::replace(&mut page, layout.empty(PAGE_ROWS));
                PageStore::push_shared(&store, full)?;
            }
        }
        open.lock().unwrap_or_else(PoisonError::into_inner).push(page);
        Ok((whole, fingerprint))
    };
    let mut whole = Part { people: 0, counts: vec![0; distinct] };
    let mut fingerprint = Fingerprint::default();
    job.table.scan(&roles.columns(job.table), job.threads, work, |(part, of_part)| {
        whole.add(&part);
        fingerprint.merge(of_part);
        Ok(())
    })?;
    for page in open.into_inner().unwrap_or_else(PoisonError::into_inner) {
        whole.add(&page.total(distinct));
        PageStore::push_shared(&store, page)?;
    }
    Ok((store.into_inner().unwrap_or_else(PoisonError::into_inner), whole, fingerprint))
}

fn labels<'a>(
    job: &Job<'a>,
    roles: &Roles,
    attributes: &'a [Attribute],
) -> Result<Vec<(String, Labels<'a>)>> {
    let label = |(&i, attribute): (&usize, &'a Attribute)| {
        let kind = job.table.kind(&attribute.name)?;
        Ok((attribute.name.clone(), Labels::new(attribute, quasi(job, i)?, kind)?))
    };
    roles.quasi.iter().zip(attributes).map(label).collect()
}

fn criterion(
    target: &policy::Target,
    policy: &Policy,
    sensitive: &SensitiveCoding,
) -> Result<SkylineCriterion> {
    let Model::Skyline(requirements) = &target.model else {
        return Err(Error::input(
            "anonymize knows the model \"skyline\" only",
            "set privacy.model = \"skyline\"",
        ));
    };
    let mut skyline = Vec::new();
    for requirement in requirements {
        let protected = match &requirement.values {
            Protected::Every => Target::Every,
            Protected::These(texts) => {
                let code = |text: &String| {
                    sensitive.code_of_text(text).map(u32::from).ok_or_else(|| {
                        Error::input(
                            format!(
                                "a value in `for` of privacy.skyline does not occur in {:?}",
                                sensitive.name
                            ),
                            "check its spelling, or leave it out: what does not occur needs no protection",
                        )
                    })
                };
                Target::These(texts.iter().map(code).collect::<Result<_>>()?)
            }
        };
        let confidence = Confidence::new(requirement.confidence.clone()).ok_or_else(|| {
            Error::input("a confidence of privacy.skyline is not in (0, 1]", "give one above 0 and at most 1")
        })?;
        let knowledge = Knowledge { l: requirement.l, k: requirement.k, m: requirement.m };
        skyline.push((protected, Point { knowledge, confidence }));
    }
    let state = SkylineState::new(values_of(target), sensitive.len(), &skyline);
    Ok(SkylineCriterion::new(state, minimum(policy, target), sensitive.len()))
}

fn minimum(policy: &Policy, target: &policy::Target) -> Minimum {
    Minimum { people: policy.privacy.minimum_group_size, distinct: target.minimum_distinct as usize }
}

/// Why the whole table cannot be one group.
fn obstacles(
    criterion: &SkylineCriterion,
    whole: &Part,
    sensitive: &SensitiveCoding,
    policy: &Policy,
    target: &policy::Target,
) -> Vec<Obstacle> {
    let minimum = minimum(policy, target);
    let mut obstacles = Vec::new();
    if whole.people < minimum.people {
        obstacles.push(Obstacle::TooSmall { what: "people", has: whole.people, needs: minimum.people });
    }
    if whole.distinct() < minimum.distinct {
        let (has, needs) = (whole.distinct() as u64, minimum.distinct as u64);
        obstacles.push(Obstacle::TooSmall { what: "different sensitive values", has, needs });
    }
    let mut state = criterion.state().clone();
    state.observe(&mut Default::default(), whole.people, &whole.counts, 0);
    let texts = sensitive.texts();
    let unsafe_points = state.entries().iter().filter(|entry| entry.verdict() == Verdict::Unsafe);
    obstacles.extend(unsafe_points.map(|entry| Obstacle::Breach {
        value: texts[entry.code as usize].clone(),
        point: entry.point.clone(),
        breach: entry.statistics.breach(),
    }));
    obstacles
}
