//! What must a reader know to compute the breach of every value at every point on their own?
//!
//! The groups that decide, as the table shows them: their labels and the counts of their values. Groups that can never
//! be the worst are left out, so a large table needs few.
//!
//! Memory: at most [`MOST_COUNTS`] counts, and the decisive groups of every value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_cast::display::array_value_to_string;

use super::job::{ColumnRoles, Subject};
use super::verdict::Order;
use crate::error::{Error, Result};
use crate::math::skyline::DecisiveGroups;
use crate::resources::Resources;
use crate::table::read::{ColumnRequest, Morsel, Table};

/// The counts of values that the groups may hold together, so that a page with all of them stays small.
const MOST_COUNTS: usize = 120_000;
/// The groups, likewise.
const MOST_GROUPS: usize = 8_000;
/// The groups of all values together, likewise.
const MOST_LINKS: usize = 120_000;

/// Values that can be explored, and the groups that decide about them.
#[derive(Debug, Clone, Default)]
pub struct Explorable {
    /// By name.
    pub values: Vec<ExplorableValue>,
    /// In the order of their numbers.
    pub groups: Vec<ExplorableGroup>,
    /// The largest l for which the groups decide; `None` if there are none.
    pub most_ruled_out: Option<u64>,
}

/// A value with the groups that decide about it.
#[derive(Debug, Clone)]
pub struct ExplorableValue {
    /// The value.
    pub name: String,
    /// The groups that no other one covers, by l.
    pub decisive: DecisiveGroups,
    /// The positions of these groups for all l that are shown.
    pub groups: Vec<usize>,
}

/// A group as the table shows it.
#[derive(Debug, Clone)]
pub struct ExplorableGroup {
    /// The number in the evidence of the check.
    pub number: u64,
    /// People.
    pub people: u64,
    /// The group columns with their texts; empty if the rows of the group do not stand together.
    pub label: Vec<(String, String)>,
    /// How often each value occurs, most frequent first, then by name.
    pub counts: Vec<(Arc<str>, u64)>,
}

impl Explorable {
    /// Collects the decisive groups for as many l as leave the page small.
    pub(super) fn new(decisive: Vec<(String, DecisiveGroups)>, names: &[Arc<str>]) -> Self {
        let known = decisive.iter().map(|(_, own)| own.unknown_from()).min().unwrap_or(0);
        let most = (0..known).rev().find(|&l| fits(&decisive, l as usize));
        let Some(most) = most else { return Explorable::default() };
        let mut found: BTreeMap<u64, ExplorableGroup> = BTreeMap::new();
        for group in decisive.iter().flat_map(|(_, own)| up_to(own, most as usize)) {
            found.entry(group.number).or_insert_with(|| {
                let name = |&(code, count): &(u32, u64)| (names[code as usize].clone(), count);
                let mut counts: Vec<_> = group.counts().iter().map(name).collect();
                counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
                ExplorableGroup { number: group.number, people: group.people, label: Vec::new(), counts }
            });
        }
        let groups: Vec<ExplorableGroup> = found.into_values().collect();
        let place = |number: u64| groups.partition_point(|group| group.number < number);
        let value = |(name, decisive): (String, DecisiveGroups)| {
            let own: BTreeSet<usize> =
                up_to(&decisive, most as usize).map(|group| place(group.number)).collect();
            ExplorableValue { name, groups: own.into_iter().collect(), decisive }
        };
        let values = decisive.into_iter().map(value).collect();
        Explorable { values, groups, most_ruled_out: Some(most) }
    }

    /// Reads the labels of the groups, if their numbers are the rows at which they begin.
    pub(super) fn read_labels(
        &mut self,
        subject: &Subject<'_>,
        columns: &ColumnRoles,
        order: Order,
        resources: &Resources<'_>,
    ) -> Result<()> {
        let (Subject::Table(table), Order::Clustered) = (subject, order) else { return Ok(()) };
        if self.groups.is_empty() {
            return Ok(());
        }
        let rows: Vec<u64> = self.groups.iter().map(|group| group.number).collect();
        let mut at = 0;
        read_rows(table, columns, &rows, resources, |label| {
            if let Some(group) = self.groups.get_mut(at) {
                group.label = label;
            }
            at += 1;
        })
    }
}

/// Whether the groups that decide for all numbers up to `l` are few enough.
fn fits(decisive: &[(String, DecisiveGroups)], l: usize) -> bool {
    let (mut seen, mut counts, mut links) = (BTreeSet::new(), 0, 0);
    for (_, own) in decisive {
        let numbers: BTreeSet<u64> = up_to(own, l)
            .map(|group| {
                counts += if seen.insert(group.number) { group.counts().len() } else { 0 };
                group.number
            })
            .collect();
        links += numbers.len();
        if seen.len() > MOST_GROUPS || counts > MOST_COUNTS || links > MOST_LINKS {
            return false;
        }
    }
    true
}

fn up_to(decisive: &DecisiveGroups, l: usize) -> impl Iterator<Item = &crate::math::skyline::DecisiveGroup> {
    (0..=l).flat_map(|l| decisive.at(l))
}

/// Texts of the group columns.
type LabelTexts = Vec<(String, String)>;

/// Hands over the texts of the group columns at these rows, which ascend; batches without any of them are not decoded
/// where a file allows it.
fn read_rows(
    table: &Table,
    columns: &ColumnRoles,
    rows: &[u64],
    resources: &Resources<'_>,
    mut hand_over: impl FnMut(LabelTexts),
) -> Result<()> {
    let wanted: Vec<ColumnRequest> = columns.groups.iter().map(ColumnRequest::in_runs).collect();
    let read = |morsel: Morsel<'_>| {
        let mut first = morsel.first_row();
        let end = first + morsel.rows();
        let mut rows =
            &rows[rows.partition_point(|&row| row < first)..rows.partition_point(|&row| row < end)];
        let mut found: Vec<LabelTexts> = Vec::with_capacity(rows.len());
        for batch in morsel {
            if rows.is_empty() {
                break;
            }
            let batch = batch?;
            let next = first + batch.num_rows() as u64;
            let (here, later) = rows.split_at(rows.partition_point(|&row| row < next));
            for row in here {
                found.push(label_texts(&batch, batch.num_columns(), (row - first) as usize)?);
            }
            (rows, first) = (later, next);
        }
        Ok(found)
    };
    table.scan(&wanted, resources, read, |found| {
        found.into_iter().for_each(&mut hand_over);
        Ok(())
    })
}

/// The texts of the first `columns` columns of a row.
pub(super) fn label_texts(batch: &RecordBatch, columns: usize, row: usize) -> Result<LabelTexts> {
    let schema = batch.schema();
    let named = schema.fields().iter().map(|field| field.name()).zip(batch.columns());
    let text = |(name, column): (&String, &Arc<dyn Array>)| {
        let text = match column.is_null(row) {
            true => "null".to_string(),
            false => array_value_to_string(column, row)
                .map_err(|_| Error::input(format!("column `{name}` cannot be shown"), "leave it out"))?,
        };
        Ok((name.clone(), text))
    };
    named.take(columns).map(text).collect()
}
