//! What is in each group of a table whose rows are scattered, several per person, or split over two tables?
//!
//! Rows go into a [`Tally`], which brings related rows together out of core: by group, or first by person and
//! then by group. Memory: the tallies' shares of the budget, and one buffer per worker.
//!
//! Invariant: no fingerprint decides anything here; keys, and persons, are compared byte by byte.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};

use super::cells::{Cells, Gaps};
use super::clustered::CountedRows;
use super::evidence::SharedEvidence;
use super::job::{Buckets, ColumnRoles};
use super::values::ValueCodes;
use crate::error::{Error, Result, Setting, number_of};
use crate::math::skyline::Values;
use crate::model::counted_group::CountedGroup;
use crate::model::judge::{Charge, Judge};
use crate::resources::Resources;
use crate::resources::budget::Reservation;
use crate::resources::spill::Spill;
use crate::resources::tally::Tally;
use crate::table::ColumnKind;
use crate::table::group_keys::{KeyConverter, integer_of_key};
use crate::table::read::{ColumnRequest, Table};

/// The item of a group that counts its people; no value has this code.
const PERSON: u32 = u32::MAX;

/// Counts a table by group; each row is a person.
pub(super) fn by_group(
    table: &Table,
    columns: &ColumnRoles,
    charge: &Arc<Charge>,
    codes: &ValueCodes,
    spill: &Arc<Spill>,
    resources: &Resources<'_>,
) -> Result<CountedRows> {
    let numbers = Numbers::of(table, columns)?;
    let mut groups = Tally::new(spill, &resources.budget, 2)?;
    let shared = Mutex::new(&mut groups);
    let mut counts = (0, Gaps::default());
    scan(table, &columns.counting_requests(), "counting by group", resources, &mut counts, |batches| {
        let mut cells = Cells::new(columns, codes)?;
        let mut rows = 0;
        let mut count = CountedGroup::default();
        let mut buffer = Vec::new();
        for batch in batches {
            let batch = batch?;
            let (group_columns, value_columns) = batch.columns().split_at(columns.groups.len());
            let runs = KeyConverter::new(group_columns.iter().map(|column| column.data_type()))?
                .runs(group_columns)?;
            let batch_cells = cells.open(value_columns)?;
            let mut start = 0;
            buffer.clear();
            for (run, &end) in runs.ends.iter().enumerate() {
                cells.count(&batch_cells, start..end, &mut count);
                buffer.push((run, PERSON, count.people));
                buffer.extend(count.counts().map(|(code, times)| (run, code, times)));
                count.clear();
                start = end;
            }
            rows += batch_cells.rows(batch.num_rows());
            let mut groups = lock(&shared);
            for &(run, code, times) in &buffer {
                groups.add(runs.key(run), &code.to_be_bytes(), times)?;
            }
        }
        Ok((rows, cells.gaps))
    })?;
    let (rows, gaps) = counts;
    let JudgedGroups { judge, room, .. } = judge(groups, charge, numbers, resources)?;
    Ok(CountedRows { judge, rows, gaps, room })
}

/// Counts a table in which the rows of a person are those with the same value of the individual column.
pub(super) fn by_person(
    table: &Table,
    columns: &ColumnRoles,
    individual: &str,
    charge: &Arc<Charge>,
    codes: &ValueCodes,
    spill: &Arc<Spill>,
    resources: &Resources<'_>,
) -> Result<CountedRows> {
    let numbers = Numbers::of(table, columns)?;
    let mut people = Tally::new(spill, &resources.budget, 2)?;
    let shared = Mutex::new(&mut people);
    let mut counts = (0, Gaps::default());
    let nameless = Mutex::new(0u64);
    let wanted = columns.requests(Some(individual));
    scan(table, &wanted, "counting by person", resources, &mut counts, |batches| {
        let mut cells = Cells::new(columns, codes)?;
        let mut rows = 0;
        let mut item = Vec::new();
        for batch in batches {
            let batch = batch?;
            let (group_columns, rest) = batch.columns().split_at(columns.groups.len());
            let Some((person, value_columns)) = rest.split_first() else { continue };
            let groups = KeyConverter::new(group_columns.iter().map(|column| column.data_type()))?
                .runs(group_columns)?;
            let persons = KeyConverter::new([person.data_type()])?.rows(std::slice::from_ref(person))?;
            *lock(&nameless) += person.logical_null_count() as u64;
            let batch_cells = cells.open(value_columns)?;
            rows += batch.num_rows() as u64;
            let mut start = 0;
            let mut people = lock(&shared);
            for (run, &end) in groups.ends.iter().enumerate() {
                for row in start..end {
                    let code = cells.cell(&batch_cells, row).unwrap_or(PERSON);
                    item.clear();
                    item.extend_from_slice(groups.key(run));
                    item.extend_from_slice(&code.to_be_bytes());
                    people.add(persons.key(row), &item, 1)?;
                }
                start = end;
            }
        }
        Ok((rows, cells.gaps))
    })?;
    let nameless = nameless.into_inner().unwrap_or_else(PoisonError::into_inner);
    if nameless > 0 {
        return Err(Error::input(
            format!(
                "column `{individual}` is null in {}, so nobody knows whose they are",
                number_of(nameless, "row", "rows")
            ),
            "give every row its person",
        ));
    }
    let mut groups = Tally::new(spill, &resources.budget, 2)?;
    let mut faults = Faults::default();
    people.finish(&mut |_, items| add_person(&mut groups, columns.values, items, &mut faults))?;
    faults.report(individual, columns)?;
    let (rows, gaps) = counts;
    let JudgedGroups { judge, room, .. } = judge(groups, charge, numbers, resources)?;
    Ok(CountedRows { judge, rows, gaps, room })
}

/// How many people of the whole table have each value; the rows of a person are those with the same value of the
/// individual column. Reports nothing about the table: [`by_person`] does.
pub(super) fn whole_by_person(
    table: &Table,
    columns: &ColumnRoles,
    individual: &str,
    codes: &ValueCodes,
    spill: &Arc<Spill>,
    resources: &Resources<'_>,
) -> Result<CountedGroup> {
    let mut people = Tally::new(spill, &resources.budget, 2)?;
    let shared = Mutex::new(&mut people);
    let names = [individual].into_iter().chain(columns.of_value());
    let wanted: Vec<ColumnRequest> = names.map(ColumnRequest::canonical).collect();
    let mut counts = (0, Gaps::default());
    scan(table, &wanted, "counting the whole table by person", resources, &mut counts, |batches| {
        let mut cells = Cells::new(columns, codes)?;
        for batch in batches {
            let batch = batch?;
            let Some((person, value_columns)) = batch.columns().split_first() else { continue };
            let persons = KeyConverter::new([person.data_type()])?.rows(std::slice::from_ref(person))?;
            let batch_cells = cells.open(value_columns)?;
            let mut people = lock(&shared);
            for row in 0..batch.num_rows() {
                if let Some(code) = cells.cell(&batch_cells, row) {
                    people.add(persons.key(row), &code.to_be_bytes(), 1)?;
                }
            }
        }
        Ok((0, cells.gaps))
    })?;
    let mut whole = CountedGroup::default();
    people.finish(&mut |_, items| {
        let own = items.iter().filter_map(|(code, _)| code.first_chunk::<4>());
        own.for_each(|code| whole.add(u32::from_be_bytes(*code), 1));
        Ok(())
    })?;
    Ok(whole)
}

/// People who contradict what was declared about the table.
#[derive(Default)]
struct Faults {
    in_two_groups: u64,
    with_several_values: u64,
}

impl Faults {
    fn report(&self, individual: &str, columns: &ColumnRoles) -> Result<()> {
        if self.in_two_groups > 0 {
            return Err(Error::input(
                format!(
                    "column `{individual}`: there are rows in more than one group for {}",
                    number_of(self.in_two_groups, "person", "people")
                ),
                "all rows of a person must be in one group",
            ));
        }
        if self.with_several_values > 0 {
            let people = number_of(self.with_several_values, "person", "people");
            return Err(Error::missing(
                format!(
                    "column `{}`: values are single, but there are several for {people}",
                    columns.sensitive
                ),
                "declare the values as a set or a multiset, or give every person one value",
                Setting::Values,
            ));
        }
        Ok(())
    }
}

/// Adds a person to their group; `items` are the group's key and a code, with the number of rows.
fn add_person(groups: &mut Tally, values: Values, items: &[(&[u8], u64)], faults: &mut Faults) -> Result<()> {
    let split = |item: &[u8]| -> Option<(usize, u32)> {
        let (group, code) = item.split_last_chunk::<4>()?;
        Some((group.len(), u32::from_be_bytes(*code)))
    };
    let mut group: Option<&[u8]> = None;
    for &(item, times) in items {
        let Some((length, code)) = split(item) else { continue };
        let own = &item[..length];
        if group.is_some_and(|group| group != own) {
            faults.in_two_groups += 1;
            return Ok(());
        }
        group = Some(own);
        let times = match values {
            Values::Single | Values::Set => 1,
            Values::Multiset => times,
        };
        if code != PERSON {
            groups.add(own, &code.to_be_bytes(), times)?;
        }
    }
    faults.with_several_values += u64::from(values == Values::Single && items.len() > 1);
    match group {
        Some(group) => groups.add(group, &PERSON.to_be_bytes(), 1),
        None => Ok(()),
    }
}

/// A release in which people and values are in two tables.
pub(super) struct CountedBuckets {
    pub counted: CountedRows,
    /// The lowest and the highest number of a group, if every group is identified by its number.
    pub numbers: Option<(u64, u64)>,
}

/// Counts a release in which people and values are in two tables.
pub(super) fn by_bucket(
    buckets: &Buckets<'_>,
    columns: &ColumnRoles,
    charge: &Arc<Charge>,
    codes: &ValueCodes,
    spill: &Arc<Spill>,
    resources: &Resources<'_>,
) -> Result<CountedBuckets> {
    for name in &columns.groups {
        if buckets.people.kind(name)? != buckets.values.kind(name)? {
            return Err(Error::input(
                format!("column `{name}` is of two types in the two tables of the release"),
                "write both with the same type",
            ));
        }
    }
    if buckets.values.kind(&buckets.count)? != ColumnKind::Integer {
        return Err(Error::input(
            format!("column `{}` does not hold whole numbers", buckets.count),
            "it must say how often a value occurs in its group",
        ));
    }
    let numbers = Numbers::of(buckets.people, columns)?;
    let mut groups = Tally::new(spill, &resources.budget, 2)?;
    let shared = Mutex::new(&mut groups);
    let mut people = (0, Gaps::default());
    let wanted: Vec<ColumnRequest> = columns.groups.iter().map(ColumnRequest::of_groups).collect();
    scan(buckets.people, &wanted, "counting people", resources, &mut people, |batches| {
        let mut rows = 0;
        for batch in batches {
            let batch = batch?;
            let columns = batch.columns();
            let runs = KeyConverter::new(columns.iter().map(|column| column.data_type()))?.runs(columns)?;
            let mut groups = lock(&shared);
            let mut start = 0;
            for (run, &end) in runs.ends.iter().enumerate() {
                groups.add(runs.key(run), &PERSON.to_be_bytes(), (end - start) as u64)?;
                start = end;
            }
            rows += batch.num_rows() as u64;
        }
        Ok((rows, Gaps::default()))
    })?;
    let mut values = (0, Gaps::default());
    let wanted = columns.requests(Some(&buckets.count));
    scan(buckets.values, &wanted, "counting values", resources, &mut values, |batches| {
        let mut cells = Cells::new(columns, codes)?;
        for batch in batches {
            let batch = batch?;
            let (group_columns, rest) = batch.columns().split_at(columns.groups.len());
            let Some((times, value_columns)) = rest.split_first() else { continue };
            let keys = KeyConverter::new(group_columns.iter().map(|column| column.data_type()))?
                .rows(group_columns)?;
            let batch_cells = cells.open(value_columns)?;
            let times = times.as_primitive::<Int64Type>();
            let mut groups = lock(&shared);
            for row in 0..batch.num_rows() {
                let times = if times.is_valid(row) { u64::try_from(times.value(row)).ok() } else { None };
                let Some(times) = times else {
                    return Err(Error::input(
                        format!("column `{}` holds a null or a negative number", buckets.count),
                        "it must say how often a value occurs in its group",
                    ));
                };
                if times > 0
                    && let Some(code) = cells.cell(&batch_cells, row)
                {
                    groups.add(keys.key(row), &code.to_be_bytes(), times)?;
                }
            }
        }
        Ok((0, cells.gaps))
    })?;
    let JudgedGroups { judge, room, numbers } = judge(groups, charge, numbers, resources)?;
    Ok(CountedBuckets { counted: CountedRows { judge, rows: people.0, gaps: values.1, room }, numbers })
}

/// Scans some columns; `counts` adds up the rows and the gaps that `work` returns.
fn scan<W>(
    table: &Table,
    wanted: &[ColumnRequest],
    phase: &'static str,
    resources: &Resources<'_>,
    counts: &mut (u64, Gaps),
    work: W,
) -> Result<()>
where
    W: Fn(&mut dyn Iterator<Item = Result<RecordBatch>>) -> Result<(u64, Gaps)> + Sync,
{
    resources.progress.start(phase, table.rows());
    let outcome = table.scan(
        wanted,
        resources,
        |morsel| {
            work(&mut morsel.inspect(|batch| {
                let rows = batch.as_ref().map_or(0, RecordBatch::num_rows);
                resources.progress.advance(rows as u64);
            }))
        },
        |(rows, gaps)| {
            counts.0 += rows;
            counts.1.add(gaps);
            Ok(())
        },
    );
    resources.progress.finish();
    outcome
}

/// How the evidence identifies the groups of a tally.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// By the number that the table gives them.
    Own,
    /// By the order in which they appear.
    CountedRows,
}

impl Numbers {
    fn of(table: &Table, columns: &ColumnRoles) -> Result<Self> {
        Ok(if numbered_by_value(table, columns)? { Numbers::Own } else { Numbers::CountedRows })
    }
}

/// Whether groups that are not contiguous are numbered by the value of their only column, a whole number.
pub(super) fn numbered_by_value(table: &Table, columns: &ColumnRoles) -> Result<bool> {
    match &columns.groups[..] {
        [only] => Ok(table.kind(only)? == ColumnKind::Integer),
        _ => Ok(false),
    }
}

/// The judge of some groups, with the reservation for it.
struct JudgedGroups {
    judge: Judge,
    room: Reservation,
    /// The lowest and the highest number of a group, if the table numbers each.
    numbers: Option<(u64, u64)>,
}

/// Judges the groups of a tally.
fn judge(
    groups: Tally,
    charge: &Arc<Charge>,
    numbers: Numbers,
    resources: &Resources<'_>,
) -> Result<JudgedGroups> {
    let mut evidence = SharedEvidence::new(charge, &resources.budget)?;
    let mut group = CountedGroup::default();
    let (mut number, mut ends, mut numbered) = (0, None, true);
    groups.finish(&mut |key, items| {
        group.clear();
        for (code, times) in items {
            let code = code.first_chunk::<4>().map_or(PERSON, |code| u32::from_be_bytes(*code));
            if code == PERSON { group.people += times } else { group.add(code, *times) }
        }
        let own = if numbers == Numbers::Own { integer_of_key(key).map(|own| own as u64) } else { None };
        number += 1;
        numbered &= own.is_some();
        if let Some(own) = own {
            let (low, high) = ends.unwrap_or((own, own));
            ends = Some((own.min(low), own.max(high)));
        }
        evidence.observe(&group, own.unwrap_or(number - 1))
    })?;
    let (judge, room) = evidence.finish()?;
    Ok(JudgedGroups { judge, room, numbers: ends.filter(|_| numbered) })
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
