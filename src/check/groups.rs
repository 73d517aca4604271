//! What is in a few given groups, and which rows belong to them?
//!
//! A second look at a table, for the groups of a witness. Memory: the counts of the wanted groups and at most
//! [`SAMPLE`] of their rows each, per worker.

use arrow_array::RecordBatch;

use super::cells::Cells;
use super::explorable::label_texts;
use super::job::{ColumnRoles, Subject};
use super::values::ValueCodes;
use super::verdict::Order;
use crate::error::{Error, Result};
use crate::model::counted_group::CountedGroup;
use crate::resources::Resources;
use crate::table::group_keys::{KeyConverter, integer_key};
use crate::table::read::{ColumnRequest, Table};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

/// The number of rows of a group that are remembered.
pub const SAMPLE: usize = 1000;

/// One group of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupDetail {
    /// People.
    pub people: u64,
    /// How often each value occurs, most frequent first, then by name.
    pub counts: Vec<(String, u64)>,
    /// The label columns with their text.
    pub label: Vec<(String, String)>,
    /// The first rows, from 0, with their values; without values if the table does not show which values
    /// belong to which person.
    pub rows: Vec<(u64, Vec<String>)>,
}

impl GroupDetail {
    /// How often a value occurs.
    pub fn count(&self, value: &str) -> u64 {
        self.counts.iter().find(|(name, _)| name == value).map_or(0, |&(_, count)| count)
    }
}

/// A group while it is gathered.
#[derive(Default)]
struct Gathered {
    count: CountedGroup,
    label: Vec<(String, String)>,
    rows: Vec<(u64, Vec<u32>)>,
}

/// The groups with these numbers, as used by the evidence of a check with that order.
pub fn groups(
    subject: &Subject<'_>,
    columns: &ColumnRoles,
    order: Order,
    numbers: &[u64],
    label: &[String],
    resources: &Resources<'_>,
) -> Result<Vec<GroupDetail>> {
    let table = match subject {
        Subject::Table(table) => *table,
        Subject::Buckets(buckets) => buckets.people,
    };
    let keys = match order {
        Order::Clustered => keys_at(table, columns, numbers, resources)?,
        Order::Bucketized | Order::Scattered if super::scattered::numbered_by_value(table, columns)? => {
            numbers.iter().map(|&number| integer_key(number as i64).into()).collect()
        }
        Order::Bucketized | Order::Scattered => {
            return Err(Error::input(
                "the rows of some groups do not stand together, so they cannot be found again",
                "write the table sorted by its group columns, and explain that file",
            ));
        }
        Order::ByPerson => {
            return Err(Error::input(
                "people have several rows, so single rows do not tell who they are",
                "write one row for each person, with a list of values, sorted by its group columns",
            ));
        }
    };
    let codes = ValueCodes::new(subject, columns, &resources.budget)?;
    let mut gathered = match subject {
        Subject::Table(table) => {
            gather(table, columns, &keys, label, Read::PeopleWithValues, &codes, resources)?
        }
        Subject::Buckets(buckets) => {
            let mut people = gather(buckets.people, columns, &keys, label, Read::People, &codes, resources)?;
            let count = Read::Counts(&buckets.count);
            let values = gather(buckets.values, columns, &keys, &[], count, &codes, resources)?;
            for (own, values) in people.iter_mut().zip(values) {
                values.count.counts().for_each(|(code, times)| own.count.add(code, times));
            }
            people
        }
    };
    let names = codes.names();
    let name = |code: &u32| names[*code as usize].to_string();
    let detail = |gathered: &mut Gathered| {
        let mut counts: Vec<_> = gathered.count.counts().map(|(code, times)| (name(&code), times)).collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        GroupDetail {
            people: gathered.count.people,
            counts,
            label: std::mem::take(&mut gathered.label),
            rows: gathered.rows.iter().map(|(row, own)| (*row, own.iter().map(name).collect())).collect(),
        }
    };
    Ok(gathered.iter_mut().map(detail).collect())
}

/// The keys of the groups at these rows.
fn keys_at(
    table: &Table,
    columns: &ColumnRoles,
    rows: &[u64],
    resources: &Resources<'_>,
) -> Result<Vec<Box<[u8]>>> {
    let wanted: Vec<ColumnRequest> = columns.groups.iter().map(ColumnRequest::of_groups).collect();
    let mut keys: Vec<Box<[u8]>> = vec![Box::default(); rows.len()];
    let find = |morsel: crate::table::read::Morsel<'_>| {
        let mut first = morsel.first_row();
        let mut found = Vec::new();
        for batch in morsel {
            let batch = batch?;
            let here = first..first + batch.num_rows() as u64;
            for (i, row) in rows.iter().enumerate().filter(|(_, row)| here.contains(row)) {
                let one = batch.slice((row - first) as usize, 1);
                let types = one.columns().iter().map(|column| column.data_type());
                found.push((i, KeyConverter::new(types)?.rows(one.columns())?.key(0).into()));
            }
            first = here.end;
        }
        Ok(found)
    };
    table.scan(&wanted, resources, find, |found: Vec<(usize, Box<[u8]>)>| {
        found.into_iter().for_each(|(i, key)| keys[i] = key);
        Ok(())
    })?;
    Ok(keys)
}

/// What the rows of a table are.
#[derive(Clone, Copy)]
enum Read<'a> {
    /// People with their values.
    PeopleWithValues,
    /// People, where the table does not show whose values are whose.
    People,
    /// Values, each with the count in that column.
    Counts(&'a str),
}

fn gather(
    table: &Table,
    columns: &ColumnRoles,
    keys: &[Box<[u8]>],
    label: &[String],
    read: Read<'_>,
    codes: &ValueCodes,
    resources: &Resources<'_>,
) -> Result<Vec<Gathered>> {
    let extra: Vec<&String> = label.iter().filter(|name| !columns.groups.contains(name)).collect();
    let last: Vec<&str> = match read {
        Read::PeopleWithValues => columns.of_value().collect(),
        Read::People => vec![],
        Read::Counts(count) => std::iter::once(count).chain(columns.of_value()).collect(),
    };
    let others = extra.iter().map(|name| name.as_str()).chain(last).map(ColumnRequest::canonical);
    let wanted: Vec<ColumnRequest> =
        columns.groups.iter().map(ColumnRequest::of_groups).chain(others).collect();
    let shape = Layout { groups: columns.groups.len(), labels: columns.groups.len() + extra.len(), label };
    let mut all: Vec<Gathered> = keys.iter().map(|_| Gathered::default()).collect();
    resources.progress.start("looking up the groups", table.rows());
    let outcome = table.scan(
        &wanted,
        resources,
        |morsel| {
            let mut own: Vec<Gathered> = keys.iter().map(|_| Gathered::default()).collect();
            let mut cells = Cells::new(columns, codes)?;
            let mut first = morsel.first_row();
            for batch in morsel {
                let batch = batch?;
                shape.gather(&batch, first, keys, read, &mut cells, &mut own)?;
                first += batch.num_rows() as u64;
                resources.progress.advance(batch.num_rows() as u64);
            }
            Ok(own)
        },
        |parts| {
            for (all, part) in all.iter_mut().zip(parts) {
                all.count.join(&part.count);
                if all.label.is_empty() {
                    all.label = part.label;
                }
                let room = SAMPLE - all.rows.len();
                all.rows.extend(part.rows.into_iter().take(room));
            }
            Ok(())
        },
    );
    resources.progress.finish();
    outcome.map(|()| all)
}

/// The positions of the columns of a batch: groups, then other labels, then values.
struct Layout<'a> {
    groups: usize,
    labels: usize,
    label: &'a [String],
}

impl Layout<'_> {
    fn gather(
        &self,
        batch: &RecordBatch,
        first: u64,
        keys: &[Box<[u8]>],
        read: Read<'_>,
        cells: &mut Cells<'_>,
        own: &mut [Gathered],
    ) -> Result<()> {
        let group_columns = &batch.columns()[..self.groups];
        let runs =
            KeyConverter::new(group_columns.iter().map(|column| column.data_type()))?.runs(group_columns)?;
        let mut start = 0;
        for (run, &end) in runs.ends.iter().enumerate() {
            let rows = start..end;
            start = end;
            for (i, _) in keys.iter().enumerate().filter(|(_, key)| key.as_ref() == runs.key(run)) {
                let gathered = &mut own[i];
                if gathered.label.is_empty() {
                    gathered.label = self.text(batch, rows.start)?;
                }
                match read {
                    Read::People => {
                        gathered.count.people += rows.len() as u64;
                        let room = SAMPLE - gathered.rows.len();
                        gathered.rows.extend(rows.clone().take(room).map(|row| (first + row as u64, vec![])));
                    }
                    Read::PeopleWithValues => {
                        let batch_cells = cells.open(&batch.columns()[self.labels..])?;
                        let some = rows.clone().filter(|&row| batch_cells.times(row) > 0);
                        for row in some.take(SAMPLE - gathered.rows.len()) {
                            let mut one = CountedGroup::default();
                            cells.count(&batch_cells, row..row + 1, &mut one);
                            let codes = one.counts().map(|(code, _)| code).collect();
                            gathered.rows.push((first + row as u64, codes));
                        }
                        cells.count(&batch_cells, rows.clone(), &mut gathered.count);
                    }
                    Read::Counts(_) => {
                        let batch_cells = cells.open(&batch.columns()[self.labels + 1..])?;
                        let times = batch.column(self.labels).as_primitive::<Int64Type>();
                        for row in rows.clone() {
                            let times = if times.is_valid(row) { times.value(row).max(0) as u64 } else { 0 };
                            if let (Some(code), true) = (cells.cell(&batch_cells, row), times > 0) {
                                gathered.count.add(code, times);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The label of a row.
    fn text(&self, batch: &RecordBatch, row: usize) -> Result<Vec<(String, String)>> {
        let mut label = label_texts(batch, self.labels, row)?;
        label.retain(|(name, _)| self.label.contains(name));
        Ok(label)
    }
}
