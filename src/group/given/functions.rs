//! Which groups does each generalization function make?

use super::generalize;
use super::people::{CodedPeople, read_all, texts};
use crate::error::{Error, Result};
use crate::math::disclosure_sets::Partition;
use crate::model::Policy;
use crate::policy::Function;
use crate::resources::Resources;
use crate::table::read::{ColumnRequest, Table};
use std::collections::HashMap;

/// Counting keeps a cell for every combination of groups, so sequences must be short.
pub const MOST_FUNCTIONS: usize = 16;

/// A generalization function applied to the people of a table.
pub struct CandidateFunction {
    /// The function as the policy describes it, or the column with the group numbers.
    pub name: String,
    /// The groups.
    pub partition: Partition,
    /// The label of each code, by column in table order; `None` if group numbers were given.
    pub labels: Option<Vec<Vec<String>>>,
}

impl CandidateFunction {
    /// The number of people in the smallest group.
    pub fn smallest_group(&self) -> u64 {
        self.partition.groups().iter().map(Vec::len).min().unwrap_or(0) as u64
    }
}

/// Fails if there are no functions, or too many.
pub(super) fn expect_some(policy: &Policy, groups: Option<&GroupNumbers>) -> Result<()> {
    match groups.map_or(policy.functions.len(), |groups| groups.functions.len()) {
        0 => Err(Error::input(
            "no generalization function is given",
            "add [[audit.function]] to the policy, from fine to coarse, or give a table of group numbers",
        )),
        many if many > MOST_FUNCTIONS => Err(Error::input(
            format!("{many} generalization functions are given, the most is {MOST_FUNCTIONS}"),
            "leave out those that would not be published anyway",
        )),
        _ => Ok(()),
    }
}

/// The functions of a policy.
pub(super) fn candidates(policy: &Policy, people: &CodedPeople) -> Result<Vec<CandidateFunction>> {
    let candidate = |function: &Function| {
        let coarse = people.places.iter().map(|&place| &function[place]);
        let labels = people.attributes.iter().zip(coarse);
        let labels: Vec<Vec<String>> =
            labels.map(|(attribute, coarse)| generalize::labels(attribute, coarse)).collect::<Result<_>>()?;
        let name = people.places.iter().map(|&place| {
            let column = &policy.columns.quasi[place];
            format!("{} {}", column.name, function[place].name(&column.shape))
        });
        let name = name.collect::<Vec<_>>().join(", ");
        Ok(CandidateFunction { name, partition: people.grouped(&labels), labels: Some(labels) })
    };
    policy.functions.iter().map(candidate).collect()
}

/// A table of group numbers.
pub(super) struct GroupNumbers {
    /// The column that identifies the person; `None` if people are in table order.
    pub id: Option<String>,
    /// The name and the groups of each function.
    pub functions: Vec<(String, Vec<String>)>,
    ids: Option<Vec<Option<String>>>,
    rows: usize,
}

impl GroupNumbers {
    /// Reads the table: columns g1, g2, ... hold the groups; at most one other column identifies the person.
    pub fn read(table: &Table, resources: &Resources<'_>) -> Result<Self> {
        let names: Vec<&str> = table.schema().fields().iter().map(|field| field.name().as_str()).collect();
        let number = |name: &str| name.strip_prefix('g').and_then(|digits| digits.parse::<usize>().ok());
        let mut numbered: Vec<(usize, &str)> =
            names.iter().filter_map(|name| Some((number(name)?, *name))).collect();
        numbered.sort_unstable();
        if !numbered.iter().map(|&(at, _)| at).eq(1..=numbered.len()) || numbered.is_empty() {
            return Err(Error::input(
                "the functions are not numbered g1, g2, ... without a gap",
                "name the columns of the table of group numbers in release order: g1, g2, g3",
            ));
        }
        let others: Vec<&str> = names.iter().copied().filter(|name| number(name).is_none()).collect();
        let id = match others[..] {
            [] => None,
            [id] => Some(id.to_string()),
            _ => {
                return Err(Error::input(
                    format!("the table of group numbers has other columns: {}", others.join(", ")),
                    "leave g1, g2, ... and at most one column that names the person",
                ));
            }
        };
        let columns: Vec<ColumnRequest> = numbered
            .iter()
            .map(|&(_, name)| name)
            .chain(id.as_deref())
            .map(ColumnRequest::canonical)
            .collect();
        let (batches, _room) = read_all(table, &columns, resources)?;
        let column =
            |at: usize| texts(table, &columns[at].name, batches.iter().map(|batch| batch.column(at)));
        let mut functions = Vec::new();
        for (at, &(_, name)) in numbered.iter().enumerate() {
            let groups: Option<Vec<String>> = column(at)?.into_iter().collect();
            let groups = groups.ok_or_else(|| {
                Error::input(
                    format!("column {name:?} of the group numbers has empty cells"),
                    "every function must give a group to every person",
                )
            })?;
            functions.push((name.to_string(), groups));
        }
        let ids = id.as_ref().map(|_| column(numbered.len())).transpose()?;
        let rows = batches.iter().map(|batch| batch.num_rows()).sum();
        Ok(GroupNumbers { id, functions, ids, rows })
    }

    /// Applies the functions to these people.
    pub fn candidates(&self, people: &CodedPeople) -> Result<Vec<CandidateFunction>> {
        let rows = self.rows_of(people)?;
        let candidate = |(name, groups): &(String, Vec<String>)| CandidateFunction {
            name: name.clone(),
            partition: Partition::by_label(rows.iter().map(|&row| &groups[row])),
            labels: None,
        };
        Ok(self.functions.iter().map(candidate).collect())
    }

    /// For each person, their row in the table of group numbers.
    fn rows_of(&self, people: &CodedPeople) -> Result<Vec<usize>> {
        if self.rows != people.len() {
            return Err(Error::input(
                format!("the group numbers are for {} people, the table has {}", self.rows, people.len()),
                "every function must give a group to every person of the table, and to nobody else",
            ));
        }
        let (Some(id), Some(ids), Some(wanted)) = (&self.id, &self.ids, &people.ids) else {
            return Ok((0..self.rows).collect());
        };
        let mut places = HashMap::new();
        for (row, name) in ids.iter().enumerate() {
            let unique = name.as_ref().is_some_and(|name| places.insert(name.as_str(), row).is_none());
            if !unique {
                return Err(no_match(id, "the group numbers", row));
            }
        }
        let found = |(person, name): (usize, &Option<String>)| {
            let row = name.as_ref().and_then(|name| places.remove(name.as_str()));
            row.ok_or_else(|| no_match(id, "the table", person))
        };
        wanted.iter().enumerate().map(found).collect()
    }
}

fn no_match(id: &str, whose: &str, row: usize) -> Error {
    Error::input(
        format!("column {id:?}: row {} of {whose} is empty, stands twice or has no partner", row + 1),
        "name every person once in both tables, or leave the column out of the group numbers",
    )
}
