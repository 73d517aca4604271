//! What does a task of an engine do for a release?
//!
//! Contract: the run and its tasks have the same version and the same policy; the tables of the tasks have the columns and
//! types of the run's table, and together they have its rows. Then the release is the same, byte for byte, as one that is
//! made of the whole table in one place.

use super::job::{Anonymize, write_options};
use super::splitting::{kinds, labels_of, plan};
use crate::check::elsewhere::{FileEvidence, WholeValues};
use crate::check::policy::{release_tasks, valued_rows};
use crate::check::release::labelled_groups;
use crate::check::{Buckets, Subject};
use crate::encode::attribute::Attribute;
use crate::encode::column::Column;
use crate::encode::combination::Projection;
use crate::encode::elsewhere::{self, TaskCodes, TaskRows, merge_totals};
use crate::encode::sealed_pages::damaged;
use crate::encode::source::Source;
use crate::encode::source_columns::SourceColumns;
use crate::error::{Error, Result};
use crate::group::split::elsewhere::{count_pages, grow_pages, merge_counts, requested_table, sort_pages};
use crate::group::split::lookahead::Lookahead;
use crate::model::protection::Protection;
use crate::model::{Grouping, Needs, Policy, Target};
use crate::release::files_elsewhere::{place_pages, write_file};
use crate::release::label::Labels;
use crate::release::output::ReleaseShape;
use crate::release::rows::{COUNT, GROUP};
use crate::release::tables;
use crate::resources::Resources;
use crate::resources::budget::Budget;
use crate::resources::byte_form::PolicyStamp;
use crate::resources::progress::Progress;
use crate::resources::spill::SpillForm;
use crate::table::ColumnKind;
use crate::table::read::Table;
use std::path::PathBuf;

/// The stages of a release that tasks run, for some of the rows.
pub struct EngineTask<'a> {
    /// Some of the rows.
    pub table: &'a Table,
    /// The policy of the release.
    pub policy: &'a Policy,
    /// What the task may use.
    pub resources: &'a Resources<'a>,
}

impl EngineTask<'_> {
    fn rows(&self) -> Result<TaskRows<'_>> {
        let protection = Protection::new(self.policy)?;
        let columns = SourceColumns::bound(self.table, self.policy, |name| protection.values_of(name))?;
        let source = Source { table: self.table, columns, resources: self.resources };
        Ok(TaskRows { source, stamp: stamp(self.policy) })
    }

    /// The values of the rows.
    pub fn observe(&self) -> Result<Vec<u8>> {
        self.rows()?.observe()
    }

    /// The combinations of sensitive values in the rows.
    pub fn combine(&self, order: &[u8]) -> Result<Vec<u8>> {
        self.rows()?.combine(order)
    }

    /// Passes the rows on as encrypted pages, on any thread.
    pub fn encode(&self, order: &[u8], pass: impl Fn(Vec<u8>) -> Result<()> + Sync) -> Result<()> {
        self.rows()?.encode(order, pass)
    }

    /// The values of the rows of two tasks; commutative and associative.
    pub fn merge_values(policy: &Policy, one: &[u8], other: &[u8]) -> Result<Vec<u8>> {
        elsewhere::merge_values(&stamp(policy), one, other)
    }

    /// The combinations in the rows of two tasks; commutative and associative.
    pub fn merge_combinations(policy: &Policy, one: &[u8], other: &[u8]) -> Result<Vec<u8>> {
        elsewhere::merge_combinations(&stamp(policy), one, other)
    }
}

/// The stages of a release whose tasks are given pages, for an order to encode rows.
pub struct PageTask {
    policy: Policy,
    codes: TaskCodes,
    columns: Vec<Column>,
    /// The types of the quasi-identifiers.
    kinds: Vec<ColumnKind>,
    means: TaskMeans,
}

/// What a task that is given pages may use.
struct TaskMeans {
    threads: usize,
    memory: u64,
    temp: PathBuf,
    spill: SpillForm,
}

impl PageTask {
    /// `task` needs no rows.
    pub fn new(task: &EngineTask<'_>, order: &[u8]) -> Result<Self> {
        let codes = task.rows()?.codes(order)?;
        let columns = codes.attributes.iter().map(Attribute::column).collect();
        let kinds = kinds(task.table, &codes.attributes)?;
        let Resources { threads, budget, temp, spill, .. } = task.resources;
        let means =
            TaskMeans { threads: *threads, memory: budget.total(), temp: temp.clone(), spill: *spill };
        Ok(PageTask { policy: task.policy.clone(), codes, columns, kinds, means })
    }

    fn shape<'a>(&'a self, labels: &'a [(String, Labels<'a>)]) -> Result<ReleaseShape<'a>> {
        Ok(ReleaseShape {
            style: self.policy.publish.style,
            ranges: self.policy.publish.ranges,
            labels,
            sensitive: &self.codes.sensitive,
            payload: self.codes.payload.as_ref(),
            groups_before: 0,
        })
    }

    /// Passes the rows of the pages on, each with the place of its file.
    pub fn place(
        &self,
        request: &[u8],
        pages: impl Iterator<Item = Result<Vec<u8>>>,
        pass: impl FnMut(usize, Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let labels = labels_of(&self.codes.attributes, self.kinds.clone());
        place_pages(&self.codes.pages, &self.shape(&labels)?, request, pages, pass)
    }

    /// Writes a file, reads it back and checks it; passes on what was found, and the file.
    pub fn write(
        &self,
        order: &[Vec<u8>],
        rows: impl Iterator<Item = Result<Vec<u8>>>,
        pass: impl FnMut(Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let TaskMeans { threads, memory, temp, spill } = &self.means;
        let progress = Progress::default();
        let resources = Resources {
            threads: *threads,
            budget: Budget::new(*memory),
            temp: temp.clone(),
            spill: *spill,
            progress: &progress,
        };
        let labels = labels_of(&self.codes.attributes, self.kinds.clone());
        let (shape, sealed) = (self.shape(&labels)?, &self.codes.pages);
        let place = tempfile::tempdir_in(temp).map_err(|source| Error::io(temp, source))?;
        let (order, files) =
            write_file(sealed, &shape, place.path(), (order, rows), (write_options(*threads), &resources))?;
        let hashes = files.hashes()?;
        let open = |table: &str| tables::open(&place.path().join(table));
        let (people, values) = match shape.is_joined() {
            true => (open("data")?, None),
            false => (open("quasi")?, Some(open("sensitive")?)),
        };
        let (subject, groups) = match &values {
            None => (Subject::Table(&people), labelled_groups(&people, &self.policy)),
            Some(values) => {
                let buckets = Buckets { people: &people, values, count: COUNT.to_string() };
                (Subject::Buckets(buckets), vec![GROUP.to_string()])
            }
        };
        let tasks = release_tasks(&self.policy, &groups, valued_rows(&self.policy))?;
        let tasks: Vec<_> = tasks.into_iter().zip(self.whole_values(&order.whole)?).collect();
        let evidence = FileEvidence::of((&subject, order.people_before), &tasks, &sealed.stamp, &resources)?;
        files.pass_on(sealed, hashes, evidence, pass)
    }

    /// For each target of the policy, the values of people whose sensitive codes occur so often.
    fn whole_values(&self, counts: &[u64]) -> Result<Vec<WholeValues>> {
        let sensitive = &self.codes.sensitive;
        let of_target = |target: &Target| {
            let own = sensitive.projection(&target.columns).filter(|_| counts.len() == sensitive.len());
            let Projection { code, texts } =
                own.ok_or_else(|| damaged("a file has other sensitive values"))?;
            let mut values = WholeValues::new();
            let of_column = code.iter().zip(counts).filter_map(|(own, people)| Some(((*own)?, people)));
            for (own, people) in of_column {
                let text = texts.get(usize::from(own)).ok_or_else(|| damaged("a value has no text"))?;
                *values.entry(text.clone()).or_default() += people;
            }
            Ok(values)
        };
        self.policy.privacy.targets.iter().map(of_target).collect()
    }

    /// What the pages hold together.
    pub fn total(&self, pages: impl Iterator<Item = Result<Vec<u8>>>) -> Result<Vec<u8>> {
        self.codes.total(pages)
    }

    /// What the pages of two tasks hold together; commutative and associative.
    pub fn merge_totals(policy: &Policy, one: &[u8], other: &[u8]) -> Result<Vec<u8>> {
        merge_totals(&stamp(policy), one, other)
    }

    /// The counts of the pages.
    pub fn count(&self, request: &[u8], pages: impl Iterator<Item = Result<Vec<u8>>>) -> Result<Vec<u8>> {
        count_pages(&self.codes.pages, &self.columns, request, pages)
    }

    /// The counts of the pages of two tasks; commutative and associative.
    pub fn merge_counts(policy: &Policy, one: &[u8], other: &[u8]) -> Result<Vec<u8>> {
        merge_counts(&stamp(policy), one, other)
    }

    /// Passes the rows of the pages on as pages, each with the place of its set.
    pub fn sort(
        &self,
        request: &[u8],
        pages: impl Iterator<Item = Result<Vec<u8>>>,
        pass: impl FnMut(usize, Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        sort_pages(&self.codes.pages, &self.columns, request, pages, pass)
    }

    /// Grows a node from all its pages.
    pub fn grow(&self, request: &[u8], pages: impl Iterator<Item = Result<Vec<u8>>>) -> Result<Vec<u8>> {
        let protection = Protection::new(&self.policy)?;
        let whole = requested_table(&self.codes.pages, request)?;
        let untouched = protection.split_test(&self.codes.sensitive, &whole, None)?;
        let plan = plan(&self.policy, &self.columns, Lookahead::new(&*untouched, whole.people));
        grow_pages(&self.codes.pages, &plan, untouched.fork(), request, pages)
    }
}

/// What marks everything that belongs to this policy.
pub(super) fn stamp(policy: &Policy) -> PolicyStamp {
    PolicyStamp::new(policy.hash())
}

/// Fails if a release needs more of its rows than tasks pass on.
pub(super) fn expect_codes_to_suffice(job: &Anonymize<'_>) -> Result<()> {
    let refuse = |what: String| {
        Err(Error::input(
            format!("{what}, which an engine does not pass on"),
            "make the release on one machine",
        ))
    };
    if job.grouping() != Grouping::Split || job.policy.needs() != Needs::Counts {
        return refuse("the policy needs more of the people than counts".to_string());
    }
    if job.policy.nights.is_some() {
        return refuse("nights: the ledger needs the names of people".to_string());
    }
    for target in job.policy.privacy.targets.iter().filter(|target| target.has_closeness_rule()) {
        let name = target.name();
        if job.table.kind(&name)? == ColumnKind::Text {
            return refuse(format!(
                "column {name:?} holds numbers as texts, each of which must be looked at"
            ));
        }
    }
    Ok(())
}
