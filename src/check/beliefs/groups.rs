//! Which original rows are in which group, and which sensitive values does it publish?
//!
//! People come with their original quasi-identifiers and a group: from a table that holds both, or from the
//! original and the labels of a release. Values come with a group: from the same table, or from the tables of
//! a release. Everything is brought together by group, out of core.
//!
//! Memory: half of the remaining budget for the tally; then one group at a time. Invariant: everyone in the
//! original is in exactly one group, or left out if so many may be, and a group has as many values as people and none that they cannot have;
//! anything else is an error, because a release must not be judged by a table other than its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};

use super::labels::LabelledGroups;
use crate::check::Buckets;
use crate::encode::combination::SensitiveColumns;
use crate::encode::encoder::Encoder;
use crate::encode::page::{Layout, Lists};
use crate::encode::rows::Sensitive;
use crate::error::{Error, Result};
use crate::math::beliefs::combinations::Combinations;
use crate::math::beliefs::group::Member;
use crate::model::beliefs::Roles;
use crate::model::beliefs::judge::Gathered;
use crate::model::beliefs::original::{Original, codes_of, other_table};
use crate::resources::Resources;
use crate::resources::tally::Tally;
use crate::table::ColumnKind;
use crate::table::group_keys::{KeyConverter, integer_key, integer_of_key};
use crate::table::read::{ColumnRequest, Table};

/// Where people and their groups come from.
pub enum PeopleSource<'a> {
    /// A table with original values and columns that define groups.
    Grouped(&'a Table, &'a [String]),
    /// The original table, by the labels of a release.
    Labelled(&'a Table, LabelledGroups),
}

/// Where the values of the groups come from.
pub enum PublishedValues<'a> {
    /// A table with one row per person.
    Rows(&'a Table, &'a [String]),
    /// The second table of a bucketized release.
    Counts(&'a Buckets<'a>, &'a [String]),
}

/// The first byte of a record of a group.
const PERSON: u8 = 0;
const VALUE: u8 = 1;

/// Brings people and values together and hands every group to `each`. Returns who is left out, of whom there are at most as
/// many as the roles allow.
pub fn gather(
    original: &Original,
    people: &PeopleSource<'_>,
    published: &PublishedValues<'_>,
    roles: &Roles,
    resources: &Resources<'_>,
    mut each: impl FnMut(Gathered) -> Result<()>,
) -> Result<Option<Gathered>> {
    let spill = Arc::new(resources.new_spill()?);
    let tally = Mutex::new(Tally::new(&spill, &resources.budget, 2)?);
    add_people(original, people, roles, &tally, resources)?;
    add_values(original, published, roles, &tally, resources)?;
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    let table = &original.combinations;
    let mut seen = vec![0u64; table.len()];
    let mut held = vec![0u64; original.sensitive.len()];
    let mut wide = Vec::new();
    let numbered = match people {
        PeopleSource::Grouped(table, [group]) => table.kind(group)? == ColumnKind::Integer,
        PeopleSource::Grouped(..) => false,
        PeopleSource::Labelled(..) => true,
    };
    tally.finish(&mut |key, items| {
        let mut group = Gathered {
            number: integer_of_key(key).filter(|_| numbered),
            members: Vec::new(),
            counts: vec![0; original.sensitive.len()],
        };
        for (item, count) in items {
            match item.split_first() {
                Some((&PERSON, codes)) => {
                    wide.clear();
                    let code = |pair: &[u8]| u32::from(u16::from_be_bytes([pair[0], pair[1]]));
                    wide.extend(codes.chunks_exact(2).map(code));
                    let combination = original.combinations.find(&wide).ok_or_else(other_people)?;
                    seen[combination] += count;
                    group.members.push(Member { combination, rows: *count });
                }
                Some((_, code)) => {
                    let code = code.first_chunk().map_or(0, |code| u16::from_be_bytes(*code));
                    let own = &mut group.counts[usize::from(code)];
                    *own = own.saturating_add(*count);
                }
                None => {}
            }
        }
        let people: u64 = group.members.iter().map(|member| member.rows).sum();
        // A saturated sum does not equal any number of people.
        if people != group.counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count)) {
            return Err(other_people());
        }
        if !can_be(&group, table) {
            return Err(other_table("a group has other sensitive values than its people there"));
        }
        held.iter_mut().zip(&group.counts).for_each(|(all, own)| *all = all.saturating_add(*own));
        each(group)
    })?;
    let left = left_out(table, &seen, &held).ok_or_else(other_people)?;
    match left.members.iter().map(|member| member.rows).sum() {
        0 => Ok(None),
        people if roles.suppress.allows(people, original.rows()) && can_be(&left, table) => Ok(Some(left)),
        _ => Err(other_people()),
    }
}

/// The people and values of the original that no group has; `None` if a group has others.
fn left_out(table: &Combinations, seen: &[u64], published: &[u64]) -> Option<Gathered> {
    let mut left = Gathered { number: None, members: Vec::new(), counts: vec![0; published.len()] };
    for (combination, seen) in seen.iter().enumerate() {
        let rows = rows_of(table, combination).checked_sub(*seen)?;
        if rows > 0 {
            left.members.push(Member { combination, rows });
        }
        table.histogram(combination).for_each(|(value, count)| left.counts[value as usize] += count);
    }
    for (own, published) in left.counts.iter_mut().zip(published) {
        *own = own.checked_sub(*published)?;
    }
    Some(left)
}

fn rows_of(table: &Combinations, combination: usize) -> u64 {
    table.histogram(combination).map(|(_, count)| count).sum()
}

/// Whether the original rows of a group's members can have its values: the members of a combination have a
/// value at least as often as the combination's other rows cannot account for it, and at most as often as it
/// occurs. Exact if no combination is in two groups.
fn can_be(group: &Gathered, table: &Combinations) -> bool {
    let (mut least, mut most) = (vec![0u64; group.counts.len()], vec![0u64; group.counts.len()]);
    for member in &group.members {
        let elsewhere = rows_of(table, member.combination).saturating_sub(member.rows);
        for (value, count) in table.histogram(member.combination) {
            least[value as usize] += count.saturating_sub(elsewhere);
            most[value as usize] += count.min(member.rows);
        }
    }
    let bounds = least.iter().zip(&most);
    group.counts.iter().zip(bounds).all(|(count, (least, most))| least <= count && count <= most)
}

fn other_people() -> Error {
    other_table("they do not hold the same people")
}

fn add_people(
    original: &Original,
    people: &PeopleSource<'_>,
    roles: &Roles,
    tally: &Mutex<Tally>,
    resources: &Resources<'_>,
) -> Result<()> {
    let (table, groups): (&Table, &[String]) = match people {
        PeopleSource::Grouped(table, groups) => (table, groups),
        PeopleSource::Labelled(table, _) => (table, &[]),
    };
    let quasi = roles.names().into_iter().map(ColumnRequest::canonical);
    let wanted: Vec<ColumnRequest> = quasi.chain(groups.iter().map(ColumnRequest::of_groups)).collect();
    scan(table, &wanted, "looking up people", resources, |batch| {
        let (quasi, groups) = batch.columns().split_at(roles.quasi.len());
        let rows = original.codes(quasi)?;
        let group = match people {
            PeopleSource::Grouped(..) => KeysOfPeople::Own(keys(groups)?),
            PeopleSource::Labelled(_, labels) => KeysOfPeople::Labels(labels),
        };
        let mut item = Vec::new();
        let (mut codes, mut wide) = (Vec::new(), Vec::new());
        let mut tally = lock(tally);
        for row in 0..batch.num_rows() {
            codes_of(&rows, row, &mut codes);
            item.clear();
            item.push(PERSON);
            item.extend_from_slice(&codes);
            match &group {
                KeysOfPeople::Own(keys) => tally.add(keys.key(row), &item, 1)?,
                KeysOfPeople::Labels(labels) => {
                    wide.clear();
                    wide.extend(rows.columns.iter().map(|codes| u32::from(codes.get(row))));
                    let group = match roles.suppress.allows_some() {
                        true => labels.find(&wide)?,
                        false => Some(labels.group(&wide)?),
                    };
                    group.map_or(Ok(()), |group| tally.add(&integer_key(group), &item, 1))?;
                }
            }
        }
        Ok(())
    })
}

/// How the rows of a batch find their groups.
enum KeysOfPeople<'a> {
    Own(crate::table::group_keys::KeyRuns),
    Labels(&'a LabelledGroups),
}

fn add_values(
    original: &Original,
    published: &PublishedValues<'_>,
    roles: &Roles,
    tally: &Mutex<Tally>,
    resources: &Resources<'_>,
) -> Result<()> {
    let (table, groups, count) = match published {
        PublishedValues::Rows(table, groups) => (*table, *groups, None),
        PublishedValues::Counts(buckets, groups) => (buckets.values, *groups, Some(buckets.count.as_str())),
    };
    let values = [roles.sensitive.as_str()].into_iter().chain(count).map(ColumnRequest::canonical);
    let wanted: Vec<ColumnRequest> = groups.iter().map(ColumnRequest::of_groups).chain(values).collect();
    let sensitive = SensitiveColumns::one(original.sensitive.clone());
    let encoder = Encoder::new(&[], &sensitive, &resources.budget);
    let layout = Layout { columns: vec![], values: original.sensitive.len() as u32, lists: Lists::One };
    scan(table, &wanted, "looking up values", resources, |batch| {
        let (group_columns, rest) = batch.columns().split_at(groups.len());
        let keys = keys(group_columns)?;
        let mut rows = layout.empty(batch.num_rows());
        let foreign = |_| {
            let name = &roles.sensitive;
            other_table(&format!("column `{name}` of the release holds a value that this table does not"))
        };
        encoder.append(&[], &rest[..1], &mut rows).map_err(foreign)?;
        let Sensitive::Single(codes) = &rows.sensitive else { return Ok(()) };
        let times = rest.get(1).and_then(|times: &ArrayRef| times.as_primitive_opt::<Int64Type>().cloned());
        let mut tally = lock(tally);
        for row in 0..batch.num_rows() {
            let times = match (&times, count) {
                (Some(times), _) if times.is_valid(row) => u64::try_from(times.value(row)).ok(),
                (None, None) => Some(1),
                _ => None,
            };
            let times = times.ok_or_else(|| {
                Error::input("the counts of the release are not whole numbers", "check the release first")
            })?;
            let code = codes.get(row).to_be_bytes();
            tally.add(keys.key(row), &[VALUE, code[0], code[1]], times)?;
        }
        Ok(())
    })
}

fn keys(columns: &[ArrayRef]) -> Result<crate::table::group_keys::KeyRuns> {
    KeyConverter::new(columns.iter().map(|column| column.data_type()))?.rows(columns)
}

fn scan(
    table: &Table,
    wanted: &[ColumnRequest],
    phase: &'static str,
    resources: &Resources<'_>,
    work: impl Fn(&RecordBatch) -> Result<()> + Sync,
) -> Result<()> {
    resources.progress.start(phase, table.rows());
    let outcome = table.scan(
        wanted,
        resources,
        |morsel| {
            for batch in morsel {
                let batch = batch?;
                work(&batch)?;
                resources.progress.advance(batch.num_rows() as u64);
            }
            Ok(())
        },
        |()| Ok(()),
    );
    resources.progress.finish();
    outcome
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
