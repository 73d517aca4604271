//! How far is a release from its original?
//!
//! The original is read twice: first for its values, then for the codes of every row. The release is read once, and its
//! labels are mapped to the codes that they cover. A group may arrive in parts: all sums are linear in its people.
//!
//! Memory: O(distinct values) per column, what [`Workload`] says, per worker one batch and at most 16,384 labels of
//! each column; for a bucketized release also the values of all groups, and beside an r-robust one what [`DiverseMondrian`]
//! says, taken from the budget.
//! Not here: the measures (`utility`), the meaning of labels (`release::reader`).

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use crate::check::{Buckets, ColumnRoles, Subject, ValuedRows};
use crate::encode::attribute::Attribute;
use crate::encode::codes::Codes;
use crate::encode::combination::SensitiveColumns;
use crate::encode::encoder::Encoder;
use crate::encode::page::Layout;
use crate::encode::rows::{Rows, Sensitive};
use crate::encode::source::{DecidedCodes, Source, SourceBatches};
use crate::encode::source_columns::{SensitiveSource, SourceColumns};
use crate::error::Result;
use crate::math::skyline::Values;
use crate::model::Policy;
use crate::policy::Quasi;
use crate::release::covers::{PublishedLabels, unfit};
use crate::release::rows::GROUP;
use crate::report::beside::{DiverseMondrian, OriginalPeople};
use crate::report::utility::queries::Answers;
use crate::report::utility::{Design, Divergence, Marginals, QueryErrors, Released, Workload};
use crate::resources::Resources;
use crate::table::ColumnKind;
use crate::table::read::{ColumnRequest, Morsel, Table};

/// The result of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Each quasi-identifier with its divergence.
    pub divergences: Vec<(String, Divergence)>,
    /// The shares of people before and after, in the order of the quasi-identifiers and of their values.
    pub shares: Vec<Vec<(f64, f64)>>,
    /// The sensitive column that the queries count.
    pub sensitive: String,
    /// The queries that were evaluated.
    pub design: Design,
    /// The errors of their answers.
    pub errors: QueryErrors,
    /// Beside an r-robust release, what is usually made in its place.
    pub beside: Option<DiverseMondrian>,
}

/// The original with its codes.
pub(super) struct CodedOriginal<'a> {
    quasi: Vec<&'a Quasi>,
    kinds: Vec<ColumnKind>,
    pub(super) attributes: Vec<Attribute>,
    name: String,
    pub(super) sensitive: SensitiveColumns,
}

/// Why a release cannot be compared with its original, if that is the case.
pub fn obstacle(policy: &Policy, columns: &ColumnRoles) -> Option<&'static str> {
    if !columns.parts.is_empty() {
        Some("the sensitive value is a combination of columns")
    } else if columns.valued == ValuedRows::OfTheColumn {
        Some("the values of a list stand apart")
    } else if columns.values != Values::Single {
        Some("people may have several sensitive values")
    } else if policy.columns.individual.is_some() || policy.columns.count.is_some() {
        Some("a row of the original is not one person")
    } else {
        None
    }
}

/// Compares a release with its original; see [`obstacle`] for when that is possible.
pub fn compare(
    subject: &Subject<'_>,
    policy: &Policy,
    columns: &ColumnRoles,
    original: &Table,
    design: &Design,
    resources: &Resources<'_>,
) -> Result<Comparison> {
    let mut quasi: Vec<&Quasi> = policy.columns.quasi.iter().collect();
    quasi
        .sort_by_key(|quasi| original.schema().fields().iter().position(|field| *field.name() == quasi.name));
    let sensitive = SensitiveSource {
        name: &columns.sensitive,
        null_is: columns.null_is.as_deref(),
        values: Values::Single,
    };
    let of_people = SourceColumns::of_people(quasi, sensitive);
    let source = Source { table: original, columns: of_people, resources };
    let original = CodedOriginal::read(&source)?;
    let codes: Vec<u32> = original.attributes.iter().map(Attribute::codes).collect();
    let workload = Workload::draw(&codes, original.sensitive.len() as u32, design)?;
    let (counts, mut marginals) = original.count(&source, &workload, &codes)?;
    let mut answers = workload.no_answers();
    match subject {
        Subject::Table(table) => {
            let labels = Labelled::new(&original, table);
            labels.answer(table, &workload, &codes, &mut answers, &mut marginals, resources)?;
        }
        Subject::Buckets(buckets) => {
            original.answer_buckets(buckets, &workload, &codes, &mut answers, &mut marginals, resources)?;
        }
    }
    let people = marginals.original_people();
    let least = QueryErrors::least_of(people);
    let beside = match policy.robust() {
        Some((target, robust)) => {
            let requirement = robust.requirement(&policy.privacy, target)?;
            let all = OriginalPeople { source: &source, original: &original, many: people };
            Some(DiverseMondrian::measure(&all, &requirement, &workload, &counts)?)
        }
        None => None,
    };
    let names = original.quasi.iter().map(|quasi| quasi.name.clone());
    Ok(Comparison {
        divergences: names.zip(marginals.divergences()).collect(),
        shares: marginals.shares(),
        sensitive: columns.sensitive.clone(),
        design: *design,
        errors: QueryErrors::of(&counts, &answers, least),
        beside,
    })
}

impl<'a> CodedOriginal<'a> {
    /// The first scan: finds the values.
    fn read(source: &Source<'a>) -> Result<Self> {
        let quasi = source.columns.quasi.clone();
        let DecidedCodes { attributes, sensitive, .. } = source.read_values()?;
        let kinds = quasi.iter().map(|quasi| source.table.kind(&quasi.name)).collect::<Result<_>>()?;
        let name = source.columns.sensitive[0].name.to_string();
        Ok(CodedOriginal { quasi, kinds, attributes, name, sensitive })
    }

    /// The columns of a table of these people, and the additional ones requested.
    fn columns<'b>(&self, more: impl IntoIterator<Item = &'b str>) -> Vec<ColumnRequest> {
        let quasi = self.quasi.iter().map(|quasi| ColumnRequest::canonical(quasi.name.as_str()));
        quasi.chain(more.into_iter().map(ColumnRequest::canonical)).collect()
    }

    /// The second scan: finds the true counts and the original's marginals.
    fn count(
        &self,
        source: &Source<'_>,
        workload: &Workload,
        codes: &[u32],
    ) -> Result<(Vec<u64>, Marginals)> {
        let budget = &source.resources.budget;
        let encoder = Encoder::new(&self.attributes, &self.sensitive, budget);
        let (mut counts, mut marginals) = (workload.no_counts(), Marginals::new(codes));
        let count = |batches: SourceBatches<'_>| {
            let (mut counts, mut marginals) = (workload.no_counts(), Marginals::new(codes));
            let mut person = vec![0; codes.len()];
            for batch in batches {
                let rows = encoder.rows(&batch?)?;
                for row in 0..rows.len() {
                    for (column, own) in person.iter_mut().enumerate() {
                        *own = u32::from(rows.columns[column].get(row));
                        marginals.add_person(column, *own);
                    }
                    workload.count(&person, value(&rows, row), &mut counts);
                }
            }
            Ok((counts, marginals))
        };
        source.scan("counting in the original", count, |part| {
            counts.iter_mut().zip(&part.0).for_each(|(own, theirs)| *own += theirs);
            marginals.merge(&part.1);
            Ok(())
        })?;
        Ok((counts, marginals))
    }
}

fn value(rows: &Rows, row: usize) -> u32 {
    match &rows.sensitive {
        Sensitive::Single(codes) => codes.get(row).into(),
        Sensitive::Lists { .. } => 0,
    }
}

/// A generalized release with the labels of its groups.
struct Labelled<'a> {
    original: &'a CodedOriginal<'a>,
    labels: PublishedLabels<'a>,
}

impl<'a> Labelled<'a> {
    fn new(original: &'a CodedOriginal<'a>, table: &Table) -> Self {
        let labels =
            PublishedLabels::new(original.quasi.clone(), &original.kinds, &original.attributes, table);
        Labelled { original, labels }
    }

    fn answer(
        &self,
        table: &Table,
        workload: &Workload,
        codes: &[u32],
        answers: &mut Answers,
        marginals: &mut Marginals,
        resources: &Resources<'_>,
    ) -> Result<()> {
        let sensitive = &self.original.sensitive;
        let names =
            [GROUP.to_string()].into_iter().chain(self.labels.columns()).chain([self.original.name.clone()]);
        let wanted: Vec<ColumnRequest> = names.map(ColumnRequest::canonical).collect();
        let encoder = Encoder::new(&[], sensitive, &resources.budget);
        let layout = Layout::of(&[], sensitive);
        resources.progress.start("answering from the release", table.rows());
        let work = |morsel: Morsel<'_>| {
            let (mut answers, mut marginals) = (workload.no_answers(), Marginals::new(codes));
            let mut known = self.labels.known();
            for batch in morsel {
                let batch = batch?;
                let columns = batch.columns();
                let (labels, last) = (&columns[1..columns.len() - 1], &columns[columns.len() - 1]);
                let mut rows = layout.empty(batch.num_rows());
                encoder.append(&[], std::slice::from_ref(last), &mut rows)?;
                let labels = self.labels.open(labels)?;
                for run in runs(&columns[0])? {
                    let covers = self.labels.covers(&labels, run.start, &mut known)?;
                    let group = Released {
                        people: run.len() as u64,
                        covers: covers.into_iter().map(|label| label.cover).collect(),
                        values: tally(run.map(|row| value(&rows, row))),
                    };
                    workload.answer(&group, &mut answers);
                    marginals.add_group(&group);
                }
                resources.progress.advance(batch.num_rows() as u64);
            }
            Ok((answers, marginals))
        };
        let outcome = table.scan(&wanted, resources, work, |part| {
            answers.merge(&part.0);
            marginals.merge(&part.1);
            Ok(())
        });
        resources.progress.finish();
        outcome
    }
}

/// The runs of equal group numbers.
fn runs(groups: &ArrayRef) -> Result<Vec<Range<usize>>> {
    let numbers = groups.as_primitive_opt::<Int64Type>().ok_or_else(unfit)?.values();
    let mut runs: Vec<Range<usize>> = Vec::new();
    for row in 0..numbers.len() {
        match runs.last_mut() {
            Some(run) if numbers[run.start] == numbers[row] => run.end = row + 1,
            _ => runs.push(row..row + 1),
        }
    }
    Ok(runs)
}

/// How often each code occurs, ascending.
fn tally(codes: impl Iterator<Item = u32>) -> Vec<(u32, u64)> {
    let mut codes: Vec<u32> = codes.collect();
    codes.sort_unstable();
    codes.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).collect()
}

/// The values of one group: codes, ascending, and counts.
type GroupValues = Box<[(u32, u64)]>;

impl CodedOriginal<'_> {
    /// Answers from a release that publishes the quasi-identifiers exactly and the values by group.
    fn answer_buckets(
        &self,
        buckets: &Buckets<'_>,
        workload: &Workload,
        codes: &[u32],
        answers: &mut Answers,
        marginals: &mut Marginals,
        resources: &Resources<'_>,
    ) -> Result<()> {
        let mut room = resources.budget.reserve("the values of all groups", 0)?;
        let mut by_group: HashMap<i64, Vec<(u32, u64)>> = HashMap::new();
        let wanted = [GROUP, self.name.as_str(), buckets.count.as_str()].map(ColumnRequest::canonical);
        let encoder = Encoder::new(&[], &self.sensitive, &resources.budget);
        let layout = Layout::of(&[], &self.sensitive);
        let read = |morsel: Morsel<'_>| {
            let mut found: Vec<(i64, u32, u64)> = Vec::new();
            for batch in morsel {
                let batch = batch?;
                let mut rows = layout.empty(batch.num_rows());
                encoder.append(&[], &batch.columns()[1..2], &mut rows)?;
                let [groups, counts] =
                    [0, 2].map(|i| batch.column(i).as_primitive_opt::<Int64Type>().ok_or_else(unfit));
                let (groups, counts) = (groups?, counts?);
                let count = |row: usize| u64::try_from(counts.value(row)).unwrap_or(0);
                found.extend((0..rows.len()).map(|row| (groups.value(row), value(&rows, row), count(row))));
            }
            Ok(found)
        };
        buckets.values.scan(&wanted, resources, read, |found| {
            room.resize("the values of all groups", room.bytes() + 64 * found.len() as u64)?;
            found.into_iter().for_each(|(group, code, count)| {
                by_group.entry(group).or_default().push((code, count));
            });
            Ok(())
        })?;
        by_group.values_mut().for_each(|values| values.sort_unstable());
        let by_group: HashMap<i64, GroupValues> =
            by_group.into_iter().map(|(group, values)| (group, values.into())).collect();
        let encoder = Encoder::new(&self.attributes, &self.sensitive, &resources.budget);
        resources.progress.start("answering from the release", buckets.people.rows());
        let work = |morsel: Morsel<'_>| {
            let (mut answers, mut marginals) = (workload.no_answers(), Marginals::new(codes));
            for batch in morsel {
                let batch = batch?;
                let (quasi, group) = batch.columns().split_at(codes.len());
                let people = encoder.quasi_codes(quasi)?;
                for run in runs(&group[0])? {
                    let number = group[0].as_primitive::<Int64Type>().value(run.start);
                    let values = by_group.get(&number).ok_or_else(unfit)?;
                    for row in run {
                        let own = |column: &Codes| u32::from(column.get(row));
                        let person: Vec<u32> = people.iter().map(own).collect();
                        workload.answer_person(&person, values, &mut answers);
                        marginals.add_released_person(&person);
                    }
                }
                resources.progress.advance(batch.num_rows() as u64);
            }
            Ok((answers, marginals))
        };
        let outcome = buckets.people.scan(&self.columns([GROUP]), resources, work, |part| {
            answers.merge(&part.0);
            marginals.merge(&part.1);
            Ok(())
        });
        resources.progress.finish();
        outcome
    }
}
