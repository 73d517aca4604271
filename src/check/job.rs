//! Which table is to be checked, and how is it counted?

use std::sync::Arc;

use super::clustered::{self, Counted, Outcome};
use super::counted;
use super::criterion::{Asked, Findings, Requirements};
use super::knowledge::Sought;
use super::report::{CheckReport, GroupSizes, Order};
use super::shares;
use super::values::Codes;
use crate::error::{Error, Result, number_of};
use crate::math::skyline::{KeptGroups, Values};
use crate::resources::Resources;
use crate::resources::spill::Spill;
use crate::table::read::{Kind, RowCounts, Table};

/// What the columns of the table mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// Rows that agree in all of these are a group.
    pub groups: Vec<String>,
    /// The sensitive values; a list column where a person may have several. If there are `parts`, their name.
    pub sensitive: String,
    /// The columns whose combination is the sensitive value; empty where that is one column.
    pub parts: Vec<Part>,
    /// How many sensitive values a person may have.
    pub values: Values,
    /// Tells people apart where they have several rows; without it each row is a person.
    pub individual: Option<String>,
    /// The value that a null stands for; without it a null is an error where values are single.
    pub null_is: Option<String>,
    /// Says for how many equal rows a row stands; without it each row stands for itself.
    pub count: Option<String>,
}

/// A column of a combination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The column.
    pub name: String,
    /// The value that a null stands for.
    pub null_is: Option<String>,
}

impl Columns {
    /// For these groups of people with one value each, in a row of their own.
    pub fn single(groups: Vec<String>, sensitive: String) -> Self {
        let (parts, individual, null_is, count) = (Vec::new(), None, None, None);
        Columns { groups, sensitive, parts, values: Values::Single, individual, null_is, count }
    }

    /// The same columns in a release, whose rows are people, whatever the rows of the source were.
    pub fn of_release(self) -> Self {
        Columns { individual: None, count: None, ..self }
    }

    /// The columns that are read for the sensitive value of a row, and after them its count, if there is one.
    pub(super) fn of_value(&self) -> impl Iterator<Item = &str> + Clone {
        let only = self.parts.is_empty().then_some(self.sensitive.as_str());
        let parts = self.parts.iter().map(|part| part.name.as_str());
        only.into_iter().chain(parts).chain(self.count.as_deref())
    }
}

/// A release whose people and values stand in two tables.
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

/// A check, and what was kept on its way.
pub struct Survey {
    /// The verdict.
    pub report: CheckReport,
    /// The groups that the knowledge skyline of each sought value needs, by value.
    pub kept: Vec<(String, KeptGroups)>,
    /// How large the groups are.
    pub sizes: GroupSizes,
}

/// Whether a table fulfils the requirements.
///
/// A clustered table is scanned once; a scattered one is counted out of core in a second scan, and
/// [`CheckReport::order`] says so.
pub fn check(
    subject: &Subject<'_>,
    columns: &Columns,
    requirements: &Requirements,
    resources: &Resources<'_>,
) -> Result<CheckReport> {
    requirements.validate()?;
    survey(subject, columns, requirements, &Sought::NOTHING, resources).map(|survey| survey.report)
}

/// As [`check`], and keeps in the same scan what the knowledge skylines of some values need.
pub fn survey(
    subject: &Subject<'_>,
    columns: &Columns,
    requirements: &Requirements,
    sought: &Sought,
    resources: &Resources<'_>,
) -> Result<Survey> {
    validate(subject, columns, requirements)?;
    let codes = Codes::new(subject, columns, &resources.budget)?;
    let rules = shares::rules(&requirements.shares, subject, columns, &codes, resources)?;
    let asked = Arc::new(Asked::new(columns.values, requirements, rules, sought, &codes)?);
    let spill = || Spill::create(&resources.temp).map(Arc::new);
    let (counted, order, spilled_bytes) = match (subject, &columns.individual) {
        (Subject::Buckets(buckets), _) => {
            let spill = spill()?;
            let counted = counted::by_bucket(buckets, columns, &asked, &codes, &spill, resources)?;
            (counted, Order::Bucketized, spill.bytes())
        }
        (Subject::Table(table), Some(individual)) => {
            let spill = spill()?;
            let counted = counted::by_person(table, columns, individual, &asked, &codes, &spill, resources)?;
            (counted, Order::ByPerson, spill.bytes())
        }
        (Subject::Table(table), None) => match clustered::count(table, columns, &asked, &codes, resources)? {
            Outcome::Counted(counted) => (*counted, Order::Clustered, 0),
            Outcome::Scattered => {
                let spill = spill()?;
                let counted = counted::by_group(table, columns, &asked, &codes, &spill, resources)?;
                (counted, Order::Scattered, spill.bytes())
            }
        },
    };
    report(counted, columns, requirements, &codes, order, spilled_bytes)
}

fn report(
    counted: Counted,
    columns: &Columns,
    requirements: &Requirements,
    codes: &Codes,
    order: Order,
    spilled_bytes: u64,
) -> Result<Survey> {
    let Counted { mut judge, rows, gaps } = counted;
    let missing = gaps.values;
    columns.count.as_ref().map_or(Ok(()), |name| RowCounts::judge(name, gaps.counts))?;
    if missing > 0 {
        return Err(Error::input(
            format!(
                "column `{}` is null in {}, but every person has one value",
                columns.sensitive,
                number_of(missing, "row", "rows")
            ),
            "say what null means with null_is in the policy, or say --values set",
        ));
    }
    if rows == 0 {
        return Err(Error::input("the table has no rows", "give a table that holds people"));
    }
    let Findings { points, disclosure, shares } = judge.findings(requirements, codes, &columns.sensitive)?;
    let sizes = judge.sizes;
    let kept = judge.knowledge.finish(codes);
    let mut report = CheckReport {
        safe: false,
        values: columns.values,
        records: rows,
        individuals: sizes.people,
        groups: sizes.groups,
        smallest_group: sizes.smallest,
        fewest_values: sizes.fewest_values,
        minimum_group_size: requirements.minimum_group_size,
        minimum_distinct_values: requirements.minimum_distinct_values,
        points,
        disclosure,
        robust: None,
        beliefs: None,
        shares,
        order,
        spilled_bytes,
    };
    report.safe = report.counts_hold() && requirements.beliefs.is_none();
    Ok(Survey { report, kept, sizes: sizes.by_size })
}

/// Fails before a row is read.
fn validate(subject: &Subject<'_>, columns: &Columns, requirements: &Requirements) -> Result<()> {
    if columns.groups.is_empty() {
        return Err(Error::input("no group columns are given", "name them with --group"));
    }
    if !requirements.shares.is_empty() && columns.values != Values::Single {
        return Err(Error::input(
            format!(
                "column `{}`: t-closeness and l-diversity are defined for single values only",
                columns.sensitive
            ),
            "say --values single, or leave the criteria out of the policy",
        ));
    }
    if requirements.implications.is_some() {
        if columns.values != Values::Single {
            return Err(Error::input(
                format!("column `{}`: implications are defined for single values only", columns.sensitive),
                "say --values single, or check skyline points",
            ));
        }
        if !requirements.skyline.is_empty() {
            return Err(Error::input(
                "skyline points and implications are asked for at once",
                "check one after the other",
            ));
        }
    }
    let roles = columns.groups.iter().chain(&columns.individual).map(String::as_str);
    let mut names: Vec<&str> = roles.chain(columns.of_value()).collect();
    names.sort();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::input(
            format!("column `{}` is given two roles", twice[0]),
            "a column is a group column, the sensitive column, the individual or the count column",
        ));
    }
    if let Some(count) = &columns.count {
        let Subject::Table(table) = subject else {
            return Err(Error::input(
                format!("column `{count}` cannot count the rows of a release, which holds every person"),
                "leave out --count",
            ));
        };
        if let Some(individual) = &columns.individual {
            return Err(Error::input(
                format!("column `{count}` counts rows, while column `{individual}` tells whose they are"),
                "a long table has one row for each value; leave out --count or --individual",
            ));
        }
        RowCounts::expect(count, &table.kind(count)?)?;
    }
    let (groups, sensitive) = match subject {
        Subject::Table(table) => (*table, *table),
        Subject::Buckets(buckets) => (buckets.people, buckets.values),
    };
    for name in columns.groups.iter().chain(&columns.individual) {
        if matches!(groups.kind(name)?, Kind::List(_)) {
            return Err(Error::input(
                format!("column `{name}` holds lists, which cannot tell groups or people apart"),
                "name a column of numbers, text, dates or times",
            ));
        }
    }
    for part in &columns.parts {
        if matches!(sensitive.kind(&part.name)?, Kind::List(_)) {
            return Err(Error::input(
                format!("column `{}` holds lists, which cannot be part of a joint column", part.name),
                "leave out columns.joint, or give a column with one value per person",
            ));
        }
    }
    if columns.parts.is_empty() && matches!(sensitive.kind(&columns.sensitive)?, Kind::List(_)) {
        let name = &columns.sensitive;
        let (problem, remedy) = match (columns.values, &columns.individual, subject) {
            (Values::Single, ..) => ("every person has one value", "say --values set or multiset"),
            (_, Some(_), _) => ("people have several rows", "leave out --individual: each row is a person"),
            (_, _, Subject::Buckets(_)) => ("values have a count each", "write one value in each row"),
            _ => return Ok(()),
        };
        return Err(Error::input(format!("column `{name}` holds lists, but {problem}"), remedy));
    }
    Ok(())
}

/// Stops a scan whose counts mean nothing.
pub(super) fn scattered() -> Error {
    Error::input(
        "the rows of some group do not stand together",
        "write the table sorted by its group columns, and check that file",
    )
}
