//! `skyveil check`: is this table safe?

use std::path::PathBuf;

use clap::Args;

use super::Answer;
use super::flags::{read_count, read_point, read_within};
use super::subject::{Opened, SubjectFlags};
use super::terminal::{complain, print, with_progress};
use super::verdict::{self, Detail};
use crate::check::policy::Task;
use crate::check::release::GROUP;
use crate::check::{Check, Order, Skylines, Verdict};
use crate::error::{Error, Result, Setting};
use crate::math::skyline::{Point, Within};
use crate::model::finding::Note;
use crate::model::judge::Requirements;
use crate::model::skyline::judge::SkylinePoints;
use crate::model::skyline::near::NearPoint;
use crate::table::read::Table;

/// Is a release, or any table of groups, safe?
///
/// Exit code 0 if it is, 1 if it is not, 2 if this cannot be decided. A table in which the rows of each group
/// stand together is read once, in memory that does not grow with its rows; any other is counted by group out
/// of core.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil check release
  skyveil check release --policy policy.toml --json
  skyveil check groups.csv --group class --sensitive disease --point 2,3,1,0.8")]
pub struct CheckArgs {
    #[command(flatten)]
    subject: SubjectFlags,
    /// The table that the release was made from, where the adversary's knowledge is estimated from it. May be
    /// given several times.
    #[arg(long, value_name = "TABLE")]
    pub original: Vec<PathBuf>,
    /// A skyline point: someone who knows L values that the target lacks, the values of K others and M members of
    /// the target's family must stay less sure than C. May be given several times.
    #[arg(long, value_name = "L,K,M,C", value_parser = read_point, allow_hyphen_values = true)]
    pub point: Vec<Point>,
    /// The points protect windows of numbers that are this near to each other, such as 1000 or 5%, in place of values.
    #[arg(long, value_name = "WIDTH", value_parser = read_within, requires = "point")]
    pub within: Option<Within>,
    /// A sensitive value to protect, or at which the window to protect begins; default: all of them. May be given several
    /// times.
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
        // The verdict is about the data as it is.
        let changes = with_progress(|progress| release.0.changes(progress))?;
        changes.iter().for_each(|change| complain("warning", change));
    }
    let tasks = match args.subject.tasks(&opened)? {
        Some(tasks) => replaced(args, tasks)?,
        None => vec![task(args)?],
    };
    let original = args.subject.open_original(&args.original, &opened)?;
    let verdict = with_progress(|progress| {
        let resources = args.subject.resources(progress);
        let groups = [GROUP.to_string()];
        let check = Check {
            subject: &opened.subject(),
            tasks: &tasks,
            original: original_of(args, &opened, &tasks, original.as_ref())?,
            distributions: None,
            membership: args.subject.membership(&opened, &groups),
            manifest: opened.manifest(),
            skylines: Skylines::Leave,
        };
        check.judge(&resources)
    })?;
    show(args, &verdict)
}

fn show(args: &CheckArgs, verdict: &Verdict) -> Result<Answer> {
    warn(verdict);
    if args.json {
        print(&format!("{}\n", verdict::to_json(verdict)))?;
    } else {
        let detail = if args.all { Detail::All } else { Detail::Worst };
        print(&verdict::to_text(verdict, detail))?;
    }
    Ok(if verdict.is_safe() { Answer::Yes } else { Answer::No })
}

/// The original of the checked table: a table that holds original values and groups is its own original.
fn original_of<'a>(
    args: &CheckArgs,
    opened: &'a Opened,
    tasks: &[Task],
    original: Option<&'a Table>,
) -> Result<Option<&'a Table>> {
    if original.is_some() || !tasks.iter().any(|task| task.requirements.needs_original()) {
        return Ok(original);
    }
    match opened {
        Opened::Release(_) => Err(Error::missing(
            "whether the release is safe depends on the original table, which is not given",
            "give the table that the release was made from",
            Setting::Original,
        )),
        Opened::Table(table, _) if tasks.iter().any(|task| task.requirements.follows_people()) => {
            match args.subject.group.is_empty() {
                false => Ok(Some(table)),
                true => Err(Error::missing(
                    "it must be known who is in which group",
                    "name a group column of a table that holds the quasi-identifiers as they were",
                    Setting::Groups,
                )),
            }
        }
        Opened::Table(..) => Ok(None),
    }
}

fn warn(verdict: &Verdict) {
    if verdict.columns.iter().any(|column| column.order == Order::Scattered) {
        complain(
            "warning",
            "the rows of some groups do not stand together, so the table was read twice; \
             sorted by its group columns it is checked faster",
        );
    }
    for note in verdict.findings().flat_map(|finding| &finding.notes) {
        if let Note::Warning(text) = note {
            complain("warning", text);
        }
    }
}

/// The task that the flags alone describe.
fn task(args: &CheckArgs) -> Result<Task> {
    let columns = args.subject.flag_columns()?;
    if !args.value.is_empty() && args.point.is_empty() {
        return Err(Error::input(
            "--value is given, but no point that its values must fulfil",
            "add --point L,K,M,C, such as --point 1,10,1,0.5",
        ));
    }
    let minimum_group_size = args.minimum_group_size.unwrap_or(1);
    let (points, near) = points(args);
    Ok(Task {
        columns,
        requirements: Requirements { minimum_group_size, near, ..Requirements::points(points) },
    })
}

/// The points for values, and those for windows.
fn points(args: &CheckArgs) -> (SkylinePoints, Vec<NearPoint>) {
    let Some(within) = &args.within else {
        let names = (!args.value.is_empty()).then(|| args.value.clone());
        return (args.point.iter().map(|point| (names.clone(), point.clone())).collect(), Vec::new());
    };
    let starts: Vec<Option<String>> = match &args.value[..] {
        [] => vec![None],
        values => values.iter().cloned().map(Some).collect(),
    };
    let near = |from: &Option<String>, point: &Point| NearPoint {
        within: within.clone(),
        from: from.clone(),
        point: point.clone(),
    };
    let of = |from: &Option<String>| args.point.iter().map(|point| near(from, point)).collect::<Vec<_>>();
    (Vec::new(), starts.iter().flat_map(of).collect())
}

/// The tasks of a policy as modified by the flags: points replace its adversary.
fn replaced(args: &CheckArgs, mut tasks: Vec<Task>) -> Result<Vec<Task>> {
    if !args.value.is_empty() && args.point.is_empty() {
        return Err(Error::input(
            "--value is given, but no point that its values must fulfil",
            "add --point L,K,M,C, or leave out --value: the policy says what it protects",
        ));
    }
    let fixed = tasks.iter().any(|task| task.requirements.is_fixed());
    if fixed && (!args.point.is_empty() || !args.value.is_empty() || args.minimum_group_size.is_some()) {
        return Err(Error::input(
            "--point, --value and --minimum-group-size have no meaning for the model of this policy",
            "leave them out: the policy says what must hold",
        ));
    }
    for Task { requirements, .. } in &mut tasks {
        if !args.point.is_empty() {
            let (points, near) = points(args);
            requirements.replace_adversary(points, near);
        }
        if let Some(size) = args.minimum_group_size {
            requirements.minimum_group_size = size;
        }
    }
    Ok(tasks)
}
