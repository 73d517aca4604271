//! Which table is checked, and how is it counted?

use std::sync::Arc;

use super::clustered::{self, ClusteredScan, CountedRows};
use super::elsewhere::FoundByTasks;
use super::explorable::Explorable;
use super::values::{ValueCodes, could_hold};
use super::verdict::{JudgedColumn, Order};
use super::{numbers, scattered, share_rules};
use crate::encode::scale::Scale;
use crate::error::{Error, Result, Setting, number_of};
use crate::math::skyline::Values;
use crate::model::counted_group::CountedGroup;
use crate::model::judge::{Charge, Judge, Requirements, STATISTICS, ValueNames, ValueRules};
use crate::model::published::PastGroups;
use crate::model::skyline::knowledge::WantedSkylines;
use crate::resources::Resources;
use crate::resources::budget::Reservation;
use crate::table::read::{ColumnRequest, Table};
use crate::table::{ColumnKind, RowCounts};

/// What the columns of the table mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRoles {
    /// Rows that agree in all of these form a group.
    pub groups: Vec<String>,
    /// The sensitive values; a list column where a person may have several. If there are `parts`, their name.
    pub sensitive: String,
    /// The columns whose combination is the sensitive value; empty if it is a single column.
    pub parts: Vec<JointColumn>,
    /// How many sensitive values a person may have.
    pub values: Values,
    /// Identifies people who have several rows; without it each row is a person.
    pub individual: Option<String>,
    /// The value that a null represents; without it a null is an error in a single-valued table.
    pub null_is: Option<String>,
    /// The number of equal rows that a row represents; without it each row represents itself.
    pub count: Option<String>,
    /// Which rows have a value.
    pub valued: ValuedRows,
}

/// Which rows have a value of a sensitive column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValuedRows {
    /// All of them; those of people who have no value excepted.
    Every,
    /// The values of other columns stand in rows of their own, in which this one is null.
    OfTheColumn,
}

/// A column of a combination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JointColumn {
    /// The column.
    pub name: String,
    /// The value that a null represents.
    pub null_is: Option<String>,
}

impl ColumnRoles {
    /// Columns for these groups, where each person has one row and one value.
    pub fn single(groups: Vec<String>, sensitive: String) -> Self {
        let (parts, individual, null_is, count) = (Vec::new(), None, None, None);
        let (values, valued) = (Values::Single, ValuedRows::Every);
        ColumnRoles { groups, sensitive, parts, values, individual, null_is, count, valued }
    }

    /// The same columns in a release, where each row is a person regardless of the rows of the source.
    pub fn of_release(self, valued: ValuedRows) -> Self {
        ColumnRoles { individual: None, count: None, valued, ..self }
    }

    /// The columns that are read for the sensitive value of a row, followed by its count, if there is one.
    pub(super) fn of_value(&self) -> impl Iterator<Item = &str> + Clone {
        let only = self.parts.is_empty().then_some(self.sensitive.as_str());
        let parts = self.parts.iter().map(|part| part.name.as_str());
        only.into_iter().chain(parts).chain(self.count.as_deref())
    }

    /// The group columns, and those of the value, for counting equal rows that stand together: as codes if each row is a
    /// person with the value of one column.
    pub(super) fn counting_requests(&self) -> Vec<ColumnRequest> {
        if self.values != Values::Single || !self.parts.is_empty() || self.count.is_some() {
            return self.requests(None);
        }
        let groups = self.groups.iter().map(ColumnRequest::in_runs);
        groups.chain([ColumnRequest::in_codes(&self.sensitive)]).collect()
    }

    /// The group columns, another one, and those of the value.
    pub(super) fn requests(&self, between: Option<&str>) -> Vec<ColumnRequest> {
        let others = between.into_iter().chain(self.of_value()).map(ColumnRequest::canonical);
        self.groups.iter().map(ColumnRequest::of_groups).chain(others).collect()
    }
}

/// A release whose people and values are in two tables.
pub struct Buckets<'a> {
    /// One row for each person.
    pub people: &'a Table,
    /// One row for each group and sensitive value.
    pub values: &'a Table,
    /// The column of `values` that says how often a value occurs in its group.
    pub count: String,
}

/// Where the rows are.
pub enum Subject<'a> {
    /// In one table.
    Table(&'a Table),
    /// In two.
    Buckets(Buckets<'a>),
}

/// A table whose groups were counted.
pub struct CountedTable {
    /// What judged the groups.
    pub judge: Judge,
    /// The name of each sensitive value, by its code.
    pub names: Vec<Arc<str>>,
    /// The order of the groups in the table.
    pub order: Order,
    rows: u64,
    scales: Vec<Option<Scale>>,
    spilled_bytes: u64,
    /// What the findings will take.
    findings: u64,
    /// The memory of the judge and of the findings.
    room: Reservation,
}

/// Counts the groups of a table and has them judged.
///
/// A clustered table is scanned once; a scattered one is counted out of core in a second scan, as [`Order`]
/// reports. Fails if the table contradicts its declaration, or lacks a value that a point names.
pub fn count(
    subject: &Subject<'_>,
    columns: &ColumnRoles,
    requirements: &Requirements,
    wanted: &WantedSkylines,
    resources: &Resources<'_>,
) -> Result<CountedTable> {
    count_with(subject, (columns, None), requirements, wanted, resources)
}

/// Counts the groups of a table and has them judged; if tasks did so for each file, their evidence is joined instead.
pub(super) fn count_with(
    subject: &Subject<'_>,
    (columns, found): (&ColumnRoles, Option<&FoundByTasks<'_>>),
    requirements: &Requirements,
    wanted: &WantedSkylines,
    resources: &Resources<'_>,
) -> Result<CountedTable> {
    validate(subject, columns, requirements)?;
    let codes = ValueCodes::new(subject, columns, &resources.budget)?;
    let spill = || resources.new_spill().map(Arc::new);
    let whole = match found {
        Some(found) if requirements.depend_on_table() => found.whole_table(&codes)?,
        _ => None,
    };
    // What tasks found is of no use if they judged by other values than those of the table.
    let found = found.filter(|_| whole.is_some() || !requirements.depend_on_table());
    let rules = value_rules(subject, columns, &codes, (requirements, whole.as_ref()), resources)?;
    let code = &mut |name: &str| codes.named(name);
    let charge = Arc::new(Charge::new(columns.values, requirements, rules, wanted, code)?);
    let found = found.filter(|_| charge.travels());
    let (counted, order, spilled_bytes) = match (subject, &columns.individual) {
        (Subject::Buckets(buckets), _) => {
            let joined = found.map(|found| found.join_buckets(&charge, &codes, resources)).transpose()?;
            match joined.flatten() {
                Some(counted) => (counted, Order::Bucketized, 0),
                None => {
                    let spill = spill()?;
                    let found = scattered::by_bucket(buckets, columns, &charge, &codes, &spill, resources)?;
                    (found.counted, Order::Bucketized, spill.bytes())
                }
            }
        }
        (Subject::Table(table), Some(individual)) => {
            let spill = spill()?;
            let counted =
                scattered::by_person(table, columns, individual, &charge, &codes, &spill, resources)?;
            (counted, Order::ByPerson, spill.bytes())
        }
        (Subject::Table(table), None) => {
            let scan = match found {
                Some(found) => found.join(&charge, &codes, resources)?,
                None => clustered::count(table, columns, &charge, &codes, resources)?,
            };
            match scan {
                ClusteredScan::CountedRows(counted) => (*counted, Order::Clustered, 0),
                ClusteredScan::Scattered => {
                    let spill = spill()?;
                    let counted = scattered::by_group(table, columns, &charge, &codes, &spill, resources)?;
                    (counted, Order::Scattered, spill.bytes())
                }
            }
        }
    };
    let CountedRows { mut judge, rows, gaps, room } = counted;
    columns.count.as_ref().map_or(Ok(()), |name| RowCounts::judge(name, gaps.counts))?;
    refuse_gaps(gaps.values, rows, columns)?;
    let (names, scales) = (codes.names(), codes.scales());
    let possible = &|text: &str| could_hold(&scales, text);
    judge.expect_possible(&ValueNames { column: &columns.sensitive, names: &names, possible })?;
    Ok(CountedTable { judge, names, order, rows, scales, spilled_bytes, findings: 0, room })
}

/// The rules that depend on the values of the whole table, which are counted if they are needed and not known.
pub(super) fn value_rules(
    subject: &Subject<'_>,
    columns: &ColumnRoles,
    codes: &ValueCodes,
    (requirements, whole): (&Requirements, Option<&CountedGroup>),
    resources: &Resources<'_>,
) -> Result<ValueRules> {
    let spill = || resources.new_spill().map(Arc::new);
    let required = (&requirements.shares[..], whole);
    let shares = share_rules::rules(required, subject, columns, codes, &spill, resources)?;
    let near = numbers::windows((&requirements.near, whole), subject, columns, codes, resources)?;
    Ok(ValueRules { shares, near })
}

fn refuse_gaps(missing: u64, rows: u64, columns: &ColumnRoles) -> Result<()> {
    if missing > 0 {
        return Err(Error::missing(
            format!(
                "column `{}` is null in {}, but every person has one value",
                columns.sensitive,
                number_of(missing, "row", "rows")
            ),
            "say what null means with null_is in a policy, or declare the values as a set",
            Setting::Values,
        ));
    }
    match rows {
        0 => Err(Error::input("the table has no rows", "give a table that holds people")),
        _ => Ok(()),
    }
}

impl CountedTable {
    /// Adds groups that were published elsewhere.
    pub fn add_published(&mut self, columns: &ColumnRoles, published: &PastGroups) -> Result<()> {
        let own = match columns.parts.is_empty() {
            true => vec![columns.sensitive.clone()],
            false => columns.parts.iter().map(|part| part.name.clone()).collect(),
        };
        let mut texts: Vec<String> = self.names.iter().map(|name| name.to_string()).collect();
        for part in published.parts(&own, &mut texts)? {
            let mut group = CountedGroup::of(part.people);
            part.counts().iter().for_each(|&(code, count)| group.add(u32::from(code), count));
            self.judge.observe(&group, u64::MAX);
        }
        self.names.extend(texts[self.names.len()..].iter().map(|text| Arc::from(text.as_str())));
        Ok(())
    }

    /// Makes room for findings that take so many bytes.
    pub(super) fn expect_findings(&mut self, stage: &'static str, bytes: u64) -> Result<()> {
        self.findings = bytes;
        self.room.resize(stage, self.room.bytes() + bytes)
    }

    /// The findings for the column.
    pub fn finish(mut self, columns: &ColumnRoles, requirements: &Requirements) -> Result<JudgedColumn> {
        let possible = &|text: &str| could_hold(&self.scales, text);
        let values = ValueNames { column: &columns.sensitive, names: &self.names, possible };
        let mut finding = self.judge.finish(&values)?;
        finding.sort_by_value();
        let sizes = self.judge.sizes.clone();
        // The statistics end with the judge.
        self.room.resize(STATISTICS, self.judge.decisive_bytes() + self.findings)?;
        Ok(JudgedColumn {
            _room: Arc::new(self.room),
            finding,
            explorable: Explorable::new(self.judge.decisive(&self.names), &self.names),
            values: columns.values,
            records: self.rows,
            individuals: sizes.people,
            groups: sizes.groups,
            smallest_group: sizes.smallest,
            fewest_values: sizes.fewest_values,
            minimum_group_size: requirements.minimum_group_size,
            minimum_distinct_values: requirements.minimum_distinct_values,
            sizes: sizes.by_size,
            order: self.order,
            spilled_bytes: self.spilled_bytes,
        })
    }
}

/// Fails before any row is read.
pub(super) fn validate(
    subject: &Subject<'_>,
    columns: &ColumnRoles,
    requirements: &Requirements,
) -> Result<()> {
    if columns.groups.is_empty() {
        return Err(Error::missing("no group columns are given", "name them", Setting::Groups));
    }
    requirements.expect_values(&columns.sensitive, columns.values)?;
    let roles = columns.groups.iter().chain(&columns.individual).map(String::as_str);
    let mut names: Vec<&str> = roles.chain(columns.of_value()).collect();
    names.sort();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::input(
            format!("column `{}` is given two roles", twice[0]),
            "a column is a group column, the sensitive column, the individual or the count column",
        ));
    }
    columns.count.as_ref().map_or(Ok(()), |count| expect_counts(subject, columns, count))?;
    refuse_lists(subject, columns)
}

/// Row counts require a table of such rows.
fn expect_counts(subject: &Subject<'_>, columns: &ColumnRoles, count: &str) -> Result<()> {
    let Subject::Table(table) = subject else {
        return Err(Error::missing(
            format!("column `{count}` cannot count the rows of a release, which holds every person"),
            "declare no count column",
            Setting::Count,
        ));
    };
    if let Some(individual) = &columns.individual {
        return Err(Error::missing(
            format!("column `{count}` counts rows, while column `{individual}` says whose they are"),
            "a long table has one row for each value; declare no count column",
            Setting::Count,
        ));
    }
    RowCounts::expect(count, &table.kind(count)?)
}

/// A list must hold the sensitive values of one person.
fn refuse_lists(subject: &Subject<'_>, columns: &ColumnRoles) -> Result<()> {
    let (groups, sensitive) = match subject {
        Subject::Table(table) => (*table, *table),
        Subject::Buckets(buckets) => (buckets.people, buckets.values),
    };
    for name in columns.groups.iter().chain(&columns.individual) {
        if matches!(groups.kind(name)?, ColumnKind::List(_)) {
            return Err(Error::input(
                format!("column `{name}` holds lists, which cannot tell groups or people apart"),
                "name a column of numbers, text, dates or times",
            ));
        }
    }
    for part in &columns.parts {
        if matches!(sensitive.kind(&part.name)?, ColumnKind::List(_)) {
            return Err(Error::input(
                format!("column `{}` holds lists, which cannot be part of a joint column", part.name),
                "leave out columns.joint, or give a column with one value per person",
            ));
        }
    }
    if columns.parts.is_empty() && matches!(sensitive.kind(&columns.sensitive)?, ColumnKind::List(_)) {
        let name = &columns.sensitive;
        let (problem, remedy, setting) = match (columns.values, &columns.individual, subject) {
            (Values::Single, ..) => {
                ("every person has one value", "declare the values as a set or a multiset", Setting::Values)
            }
            (_, Some(_), _) => (
                "people have several rows",
                "name no column that tells people apart: each row is a person",
                Setting::Individual,
            ),
            (_, _, Subject::Buckets(_)) => {
                ("values have a count each", "write one value in each row", Setting::Values)
            }
            _ => return Ok(()),
        };
        return Err(Error::missing(format!("column `{name}` holds lists, but {problem}"), remedy, setting));
    }
    Ok(())
}

/// Stops a scan whose counts are meaningless.
pub(super) fn not_together() -> Error {
    Error::input(
        "the rows of some group do not stand together",
        "write the table sorted by its group columns, and check that file",
    )
}
