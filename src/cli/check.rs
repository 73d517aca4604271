//! `skyveil check`: is this table safe?

use std::path::PathBuf;

use clap::Args;

use super::Answer;
use super::flags::{ResourceFlags, read_count, read_delimiter, read_options, read_point, read_values};
use super::terminal::{complain, print, with_progress};
use super::verdict::{self, Detail};
use crate::attack;
use crate::check::policy::{Task, tasks};
use crate::check::release::{GROUP, Release, is_release};
use crate::check::{Absent, CheckReport, Columns, Order, Requirements, Resources, Subject, check};
use crate::error::{Error, Result};
use crate::policy::Policy;
use crate::read::Table;
use crate::skyline::{Point, Values};

/// Is a release, or any table of groups, safe?
///
/// Exit code 0 if it is, 1 if it is not, 2 if that cannot be told. A table in which the rows of each group
/// stand together is read once, in memory that does not grow with its rows; any other is counted by group
/// out of core.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// A release directory; or Parquet, Arrow IPC or CSV files, a directory of them, or - for standard input.
    #[arg(required = true, value_name = "RELEASE|TABLE")]
    pub paths: Vec<PathBuf>,
    /// The policy that must hold; a release holds the one it was made with.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// The table that the release was made from, where the adversary's knowledge is estimated from it. May be
    /// given several times.
    #[arg(long, value_name = "TABLE")]
    pub original: Vec<PathBuf>,
    /// Columns that make a group: rows that agree in all of them.
    #[arg(long, value_name = "COL,..", value_delimiter = ',')]
    pub group: Vec<String>,
    /// The sensitive column.
    #[arg(long, value_name = "COL")]
    pub sensitive: Option<String>,
    /// A skyline point: whoever knows L values that the target lacks, the values of K others and M members of
    /// the target's family must stay less sure than C. May be given several times.
    #[arg(long, value_name = "L,K,M,C", value_parser = read_point, allow_hyphen_values = true)]
    pub point: Vec<Point>,
    /// A sensitive value to protect; all of them unless told. May be given several times.
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    pub value: Vec<String>,
    /// How many values a person may have: single, set or multiset.
    #[arg(long, value_name = "MODE", value_parser = read_values)]
    pub values: Option<Values>,
    /// The column that tells people apart, where a person has several rows.
    #[arg(long, value_name = "COL")]
    pub individual: Option<String>,
    /// The fewest people that a group may have.
    #[arg(long, value_name = "N", value_parser = read_count)]
    pub minimum_group_size: Option<u64>,
    #[command(flatten)]
    resources: ResourceFlags,
    /// The character between the cells of a CSV file.
    #[arg(long, value_name = "CHAR", value_parser = read_delimiter)]
    pub delimiter: Option<u8>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Show every value and point, not only the worst.
    #[arg(long)]
    pub all: bool,
}

/// Checks, and prints the verdict.
pub fn run(args: &CheckArgs) -> Result<Answer> {
    let policy = args.policy.as_ref().map(Policy::read).transpose()?;
    let reports = match &args.paths[..] {
        [directory] if is_release(directory) => {
            let release = Release::open(directory)?;
            let policy = policy.map_or_else(|| release.policy(), Ok)?;
            let tasks = adapted(args, release.tasks(&policy)?)?;
            let original = original(args, Some(&policy))?;
            let (subject, groups) = (release.subject(), [GROUP.to_string()]);
            let tables = attack::Release::of(&subject, Some(directory), &groups);
            checked(args, &subject, &tasks, original.as_ref(), &tables)?
        }
        paths => {
            let table = Table::open(paths, &read_options(args.delimiter, policy.as_ref()))?;
            let tasks = match &policy {
                Some(policy) => adapted(args, tasks(policy, &quasi_names(policy))?)?,
                None => vec![task(args)?],
            };
            let original = original(args, policy.as_ref())?;
            let believed = tasks.iter().any(|task| task.requirements.beliefs.is_some());
            if believed && args.group.is_empty() {
                return Err(Error::input(
                    "the model \"beliefs\" needs to know who is in which group",
                    "name a group column with --group, of a table that holds the quasi-identifiers as they were",
                ));
            }
            let tables = attack::Release {
                people: Some((&table, &args.group)),
                folder: None,
                published: attack::Published::Rows(&table, &args.group),
            };
            checked(args, &Subject::Table(&table), &tasks, original.as_ref().or(Some(&table)), &tables)?
        }
    };
    warn(&reports);
    if args.json {
        print(&format!("{}\n", verdict::to_json(&reports)))?;
    } else {
        let detail = if args.all { Detail::All } else { Detail::Worst };
        print(&verdict::to_text(&reports, detail))?;
    }
    let safe = reports.iter().all(|(_, report)| report.safe);
    Ok(if safe { Answer::Yes } else { Answer::No })
}

/// The report on each task, with its sensitive column.
fn checked(
    args: &CheckArgs,
    subject: &Subject<'_>,
    tasks: &[Task],
    original: Option<&Table>,
    tables: &attack::Release<'_>,
) -> Result<Vec<(String, CheckReport)>> {
    with_progress(|progress| {
        let one = |task: &Task| {
            let resources = Resources {
                threads: args.resources.threads(),
                budget: args.resources.budget(),
                temp: args.resources.temp(),
                progress,
            };
            let report = check(subject, &task.columns, &task.requirements, &resources)?;
            let report = match &task.requirements.beliefs {
                None => report,
                Some(question) => {
                    let original = original.ok_or_else(|| {
                        Error::input(
                            "the model \"beliefs\" is judged by what the original table tells",
                            "give the table that the release was made from with --original",
                        )
                    })?;
                    report.with_beliefs(attack::attack(original, tables, question, &resources)?)
                }
            };
            Ok((task.columns.sensitive.clone(), report))
        };
        tasks.iter().map(one).collect()
    })
}

/// The table that a release was made from, if it was given.
fn original(args: &CheckArgs, policy: Option<&Policy>) -> Result<Option<Table>> {
    match args.original.is_empty() {
        true => Ok(None),
        false => Table::open(&args.original, &read_options(args.delimiter, policy)).map(Some),
    }
}

fn warn(reports: &[(String, CheckReport)]) {
    if reports.iter().any(|(_, report)| report.order == Order::Scattered) {
        complain(
            "warning",
            "the rows of some groups do not stand together, so the table was read twice; \
             sorted by its group columns it is checked faster",
        );
    }
    for (column, report) in reports {
        let absent = report.points.iter().filter(|point| !point.statistics.occurs());
        let mut names: Vec<&str> = absent.map(|point| point.value.as_str()).collect();
        names.dedup();
        for name in names {
            let text = format!("the policy protects {name:?}, which column `{column}` does not hold");
            complain("warning", &text);
        }
    }
}

/// The task that the flags alone describe.
fn task(args: &CheckArgs) -> Result<Task> {
    let sensitive = args.sensitive.clone().ok_or_else(|| {
        Error::input(
            "no sensitive column is given",
            "name it with --sensitive, or give a policy or a release",
        )
    })?;
    if !args.value.is_empty() && args.point.is_empty() {
        return Err(Error::input(
            "--value is given, but no point that its values must fulfil",
            "add --point L,K,M,C, such as --point 1,10,1,0.5",
        ));
    }
    Ok(Task {
        columns: Columns {
            groups: args.group.clone(),
            sensitive,
            values: args.values.unwrap_or(Values::Single),
            individual: args.individual.clone(),
            null_is: None,
        },
        requirements: Requirements {
            skyline: points(args),
            implications: None,
            shares: Vec::new(),
            beliefs: None,
            minimum_group_size: args.minimum_group_size.unwrap_or(1),
            minimum_distinct_values: 0,
            absent: Absent::Refuse,
        },
    })
}

fn points(args: &CheckArgs) -> Vec<(Option<Vec<String>>, Point)> {
    let names = (!args.value.is_empty()).then(|| args.value.clone());
    args.point.iter().map(|point| (names.clone(), point.clone())).collect()
}

/// The tasks of a policy as the flags change them: flags win, and points take the place of its points.
fn adapted(args: &CheckArgs, mut tasks: Vec<Task>) -> Result<Vec<Task>> {
    if let Some(sensitive) = &args.sensitive {
        tasks.retain(|task| task.columns.sensitive == *sensitive);
        if tasks.is_empty() {
            return Err(Error::input(
                format!("column `{sensitive}` is not a sensitive column of the policy"),
                "leave out --sensitive: the policy names them",
            ));
        }
    }
    if !args.value.is_empty() && args.point.is_empty() {
        return Err(Error::input(
            "--value is given, but no point that its values must fulfil",
            "add --point L,K,M,C, or leave out --value: the policy says what it protects",
        ));
    }
    for Task { columns, requirements } in &mut tasks {
        if !args.group.is_empty() {
            columns.groups.clone_from(&args.group);
        }
        if let Some(values) = args.values {
            columns.values = values;
        }
        if args.individual.is_some() {
            columns.individual.clone_from(&args.individual);
        }
        if !args.point.is_empty() {
            requirements.skyline = points(args);
            requirements.implications = None;
            requirements.beliefs = None;
            requirements.absent = Absent::Refuse;
        }
        if let Some(size) = args.minimum_group_size {
            requirements.minimum_group_size = size;
        }
    }
    Ok(tasks)
}

/// Where no groups are named, people who agree in all quasi-identifiers are one.
fn quasi_names(policy: &Policy) -> Vec<String> {
    policy.columns.quasi.iter().map(|quasi| quasi.name.clone()).collect()
}
