//! `skyveil check`: is this table safe?

use std::path::PathBuf;

use clap::Args;

use super::Answer;
use super::flags::{read_count, read_point};
use super::robust;
use super::subject::{Opened, SubjectFlags};
use super::terminal::{complain, print, with_progress};
use super::verdict::{self, Detail};
use crate::check::beliefs;
use crate::check::policy::Task;
use crate::check::release::GROUP;
use crate::check::{Absent, CheckReport, Order, Requirements, check};
use crate::error::{Error, Result};
use crate::math::skyline::Point;
use crate::model::Policy;
use crate::resources::Resources;

/// Is a release, or any table of groups, safe?
///
/// Exit code 0 if it is, 1 if it is not, 2 if that cannot be told. A table in which the rows of each group
/// stand together is read once, in memory that does not grow with its rows; any other is counted by group
/// out of core.
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    subject: SubjectFlags,
    /// The table that the release was made from, where the adversary's knowledge is estimated from it. May be
    /// given several times.
    #[arg(long, value_name = "TABLE")]
    pub original: Vec<PathBuf>,
    /// A skyline point: whoever knows L values that the target lacks, the values of K others and M members of
    /// the target's family must stay less sure than C. May be given several times.
    #[arg(long, value_name = "L,K,M,C", value_parser = read_point, allow_hyphen_values = true)]
    pub point: Vec<Point>,
    /// A sensitive value to protect; all of them unless told. May be given several times.
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    pub value: Vec<String>,
    /// The fewest people that a group may have.
    #[arg(long, value_name = "N", value_parser = read_count)]
    pub minimum_group_size: Option<u64>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Show every value and point, not only the worst.
    #[arg(long)]
    pub all: bool,
}

/// Checks, and prints the verdict.
pub fn run(args: &CheckArgs) -> Result<Answer> {
    let opened = args.subject.open_tables()?;
    if let Opened::Release(release) = &opened {
        // The verdict is about the data as they are.
        let changes = with_progress(|progress| release.0.changes(progress))?;
        changes.iter().for_each(|change| complain("warning", change));
    }
    if let Some(policy) = opened.policy().filter(|policy| policy.robust().is_some()) {
        return tell(args, &[robust_report(args, policy, &opened)?]);
    }
    let tasks = match args.subject.tasks(&opened)? {
        Some(tasks) => adapted(args, tasks)?,
        None => vec![task(args)?],
    };
    tell(args, &checked(args, &opened, &tasks)?)
}

fn tell(args: &CheckArgs, reports: &[(String, CheckReport)]) -> Result<Answer> {
    warn(reports);
    if args.json {
        print(&format!("{}\n", verdict::to_json(reports)))?;
    } else {
        let detail = if args.all { Detail::All } else { Detail::Worst };
        print(&verdict::to_text(reports, detail))?;
    }
    let safe = reports.iter().all(|(_, report)| report.safe);
    Ok(if safe { Answer::Yes } else { Answer::No })
}

/// Checks against an adversary who knows distributions; flags that name another one are refused.
fn robust_report(args: &CheckArgs, policy: &Policy, opened: &Opened) -> Result<(String, CheckReport)> {
    if !args.point.is_empty() || !args.value.is_empty() || args.minimum_group_size.is_some() {
        return Err(Error::input(
            "--point, --value and --minimum-group-size have no meaning for the model \"robust\"",
            "leave them out: the policy says what must hold",
        ));
    }
    args.subject.refuse_for_robust(policy)?;
    let groups = args.subject.groups(opened);
    let (column, survey) = with_progress(|progress| {
        let resources = args.subject.resources(progress);
        robust::check(policy, &opened.subject(), &groups, &args.original, &resources)
    })?;
    Ok((column, survey.report))
}

/// The report on each task, with its sensitive column.
fn checked(args: &CheckArgs, opened: &Opened, tasks: &[Task]) -> Result<Vec<(String, CheckReport)>> {
    with_progress(|progress| {
        let one = |task: &Task| {
            let resources = args.subject.resources(progress);
            let report = check(&opened.subject(), &task.columns, &task.requirements, &resources)?;
            let report = match &task.requirements.beliefs {
                None => report,
                Some(question) => report.with_beliefs(followed(args, opened, question, &resources)?),
            };
            Ok((task.columns.sensitive.clone(), report))
        };
        tasks.iter().map(one).collect()
    })
}

/// How far beliefs move in a release, or in a table that holds original values and groups.
fn followed(
    args: &CheckArgs,
    opened: &Opened,
    question: &crate::model::beliefs::Question,
    resources: &Resources<'_>,
) -> Result<crate::model::beliefs::judge::AttackReport> {
    let original = args.subject.open_beside(&args.original, opened)?;
    let subject = opened.subject();
    match opened {
        Opened::Release(_) => {
            let original = original.ok_or_else(|| {
                Error::input(
                    "the model \"beliefs\" is judged by what the original table tells",
                    "give the table that the release was made from with --original",
                )
            })?;
            let groups = [GROUP.to_string()];
            let folder = args.subject.paths.first().map(PathBuf::as_path);
            beliefs::attack(&original, &beliefs::Release::of(&subject, folder, &groups), question, resources)
        }
        Opened::Table(..) if args.subject.group.is_empty() => Err(Error::input(
            "the model \"beliefs\" needs to know who is in which group",
            "name a group column with --group, of a table that holds the quasi-identifiers as they were",
        )),
        Opened::Table(table, _) => {
            let groups = &args.subject.group[..];
            let published = beliefs::Published::Rows(table, groups);
            let tables = beliefs::Release { people: Some((table, groups)), folder: None, published };
            beliefs::attack(original.as_ref().unwrap_or(table), &tables, question, resources)
        }
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
    let columns = args.subject.stated()?;
    if !args.value.is_empty() && args.point.is_empty() {
        return Err(Error::input(
            "--value is given, but no point that its values must fulfil",
            "add --point L,K,M,C, such as --point 1,10,1,0.5",
        ));
    }
    Ok(Task {
        columns,
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

/// The tasks of a policy as the flags change them: points take the place of its points.
fn adapted(args: &CheckArgs, mut tasks: Vec<Task>) -> Result<Vec<Task>> {
    if !args.value.is_empty() && args.point.is_empty() {
        return Err(Error::input(
            "--value is given, but no point that its values must fulfil",
            "add --point L,K,M,C, or leave out --value: the policy says what it protects",
        ));
    }
    for Task { requirements, .. } in &mut tasks {
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
