//! `skyveil check`: is this table safe?

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::Answer;
use super::flags::{read_count, read_point, read_within};
use super::receipt::{self, ReceiptFlags};
use super::subject::{Opened, SubjectFlags};
use super::terminal::{complain, print, visible, with_progress};
use super::verdict::{self, Detail};
use crate::check::integrity::{self, Alterations};
use crate::check::policy::Task;
use crate::check::receipt::ReceiptFinding;
use crate::check::release::{GROUP, Release, is_release};
use crate::check::{Check, Order, Skylines, Verdict};
use crate::error::{Error, Result, Setting};
use crate::math::skyline::{Point, Within};
use crate::model::Policy;
use crate::model::finding::Consent;
use crate::model::judge::{ColumnCoverage, Coverage, Requirements};
use crate::model::skyline::ProtectedValues;
use crate::model::skyline::judge::SkylinePoints;
use crate::model::skyline::near::NearPoint;
use crate::release::chain::Chain;
use crate::release::manifest::MANIFEST;
use crate::resources::Resources;
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
    #[command(flatten)]
    receipt: ReceiptFlags,
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
    /// Of a release that was continued, check this night alone; the first one is 1. Without it, all nights are judged
    /// together.
    #[arg(long, value_name = "N")]
    pub night: Option<u64>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Show every value and point, not only the worst.
    #[arg(long)]
    pub all: bool,
}

/// Checks, and prints the verdict.
pub fn run(args: &CheckArgs) -> Result<Answer> {
    let mut altered = altered_files(args)?;
    match examine(args, &mut altered) {
        Ok(found) => show(args, &found, &altered),
        // A release that was altered may be impossible to judge.
        Err(error) if !altered.is_empty() => {
            let text = match args.json {
                true => format!("{}\n", json!({"safe": false, "altered": altered})),
                false => in_words(&altered),
            };
            print(&text)?;
            complain("not judged", &error.to_string());
            Ok(Answer::No)
        }
        Err(error) => Err(error),
    }
}

/// The files of a release that are not those of its manifest; nothing for a table.
fn altered_files(args: &CheckArgs) -> Result<Alterations> {
    match &args.subject.paths[..] {
        [directory] if is_release(directory) => {
            let chain = Chain::read(directory)?;
            with_progress(|progress| integrity::nights(chain.nights(), args.night, progress))
        }
        _ => Ok(Vec::new()),
    }
}

/// What a check found out.
struct Examined {
    verdict: Verdict,
    /// What the receipt proves, if one is given.
    bound: Option<ReceiptFinding>,
}

/// Judges the tables, and adds to `altered` in what a release is not the one that was checked.
fn examine(args: &CheckArgs, altered: &mut Alterations) -> Result<Examined> {
    let opened = args.subject.open_night(args.night)?;
    let own = match &opened {
        Opened::Release(release) => Some((&release.0, release.0.policy()?)),
        Opened::Table(..) => None,
    };
    let tasks = match args.subject.tasks(&opened)? {
        Some(tasks) => replaced(args, tasks)?,
        None => vec![task(args)?],
    };
    let original = args.subject.open_original(&args.original, &opened)?;
    let found = with_progress(|progress| {
        let resources = args.subject.resources(progress);
        if let Some((release, policy)) = &own {
            altered.extend(another_policy(args, release));
            altered.extend(release.tables_differ(policy, &resources)?);
        }
        let bound = compare_receipt(args, &opened, original.as_ref(), &resources)?;
        let groups = [GROUP.to_string()];
        let check = Check {
            subject: &opened.subject(),
            tasks: &tasks,
            original: original_of(args, &opened, &tasks, original.as_ref())?,
            distributions: None,
            membership: args.subject.membership(&opened, &groups),
            manifest: opened.manifest(),
            skylines: Skylines::Leave,
            found: None,
        };
        let verdict = check.judge(&resources)?;
        if let Some((release, policy)) = &own {
            // The owner's copy of the same policy may find files that the manifest only names.
            let used = opened.policy().filter(|used| used.hash() == policy.hash()).unwrap_or(policy);
            let promised = release.tasks(used)?;
            if promised == tasks {
                altered.extend(release.statements_differ(policy, &verdict)?);
            } else if original.is_some() || !promised.iter().any(|task| task.requirements.needs_original()) {
                let own_verdict = release.check(original.as_ref(), &resources)?;
                altered.extend(release.statements_differ(policy, &own_verdict)?);
            }
        }
        Ok::<_, Error>(Examined { verdict, bound })
    })?;
    if let Opened::Release(_) = &opened {
        args.receipt.complain(found.bound.as_ref(), original.as_ref());
    }
    Ok(found)
}

/// Whether the manifest contains another policy than the one that the owner gives.
fn another_policy(args: &CheckArgs, release: &Release) -> Option<String> {
    let path = args.subject.policy.as_ref()?;
    let owners = Policy::read(path).ok()?;
    (owners.hash() != release.manifest().policy_sha256).then(|| {
        let manifest = args.subject.paths[0].join(MANIFEST);
        format!("{}: its policy is not the one of {}", manifest.display(), path.display())
    })
}

/// The alterations of a release, one in each line.
fn in_words(altered: &[String]) -> String {
    let lines: String = altered.iter().map(|altered| format!("  {}\n", visible(altered))).collect();
    format!("not the release that was checked\n\n{lines}")
}

/// Whether the release has this receipt and, if there is an original, comes from it.
fn compare_receipt(
    args: &CheckArgs,
    opened: &Opened,
    original: Option<&Table>,
    resources: &Resources<'_>,
) -> Result<Option<ReceiptFinding>> {
    match opened {
        Opened::Release(release) => {
            args.receipt.compare(&args.subject.paths[0], &release.1, original, resources)
        }
        Opened::Table(..) if args.receipt.receipt.is_some() => Err(Error::missing(
            "only a release has a receipt",
            "give the directory of the release, or leave the receipt out",
            Setting::Receipt,
        )),
        Opened::Table(..) => Ok(None),
    }
}

fn show(args: &CheckArgs, found: &Examined, altered: &Alterations) -> Result<Answer> {
    let Examined { verdict, bound } = found;
    warn(verdict);
    if args.json {
        let mut object = verdict::to_json(verdict);
        if let Some(bound) = bound {
            object["receipt"] = receipt::to_json(bound);
        }
        if !altered.is_empty() {
            object["safe"] = json!(false);
            object["altered"] = json!(altered);
        }
        print(&format!("{object}\n"))?;
    } else {
        let detail = if args.all { Detail::All } else { Detail::Worst };
        let bound = bound.as_ref().map_or_else(String::new, receipt::to_text);
        let verdict_text = verdict::to_text(verdict, detail);
        // What is no release of ours is never called safe.
        print(&match (altered.is_empty(), verdict.stands()) {
            (true, _) => verdict_text + &bound,
            (false, true) => in_words(altered) + &bound,
            (false, false) => format!("{}\n{verdict_text}{bound}", in_words(altered)),
        })?;
    }
    let holds = altered.is_empty() && verdict.stands() && bound.as_ref().is_none_or(ReceiptFinding::holds);
    Ok(if holds { Answer::Yes } else { Answer::No })
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
    verdict.warnings().iter().for_each(|warning| complain("warning", warning));
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
    // Group sizes alone protect no value, and the answer says so.
    let coverage = match args.point.is_empty() {
        true => Coverage::Required { columns: vec![ColumnCoverage::default()], consent: Consent::Given },
        false => Coverage::NotAsked,
    };
    let (points, near) = points(args);
    Ok(Task {
        columns,
        requirements: Requirements { minimum_group_size, near, coverage, ..Requirements::points(points) },
    })
}

/// The points for values, and those for windows.
fn points(args: &CheckArgs) -> (SkylinePoints, Vec<NearPoint>) {
    let Some(within) = &args.within else {
        let protected = match args.value.is_empty() {
            true => ProtectedValues::Every,
            false => ProtectedValues::These(args.value.clone()),
        };
        return (args.point.iter().map(|point| (protected.clone(), point.clone())).collect(), Vec::new());
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
