//! `skyveil report`: what did a release cost, and what risk remains?

use std::path::PathBuf;

use clap::Args;

use super::Answer;
use super::flags::{read_confidence, read_point};
use super::subject::{Opened, SubjectFlags};
use super::terminal::{print, print_file, visible_path, with_progress};
use crate::anonymize::{PolicyEstimate, Trial, untried};
use crate::check::policy::Task;
use crate::check::{Check, JudgedColumn, Order, Skylines, Subject, Verdict};
use crate::error::{Error, Result, number_of};
use crate::math::skyline::{Confidence, Knowledge, Point};
use crate::model::Policy;
use crate::model::judge::{Adversary, Requirements};
use crate::model::skyline::ProtectedValues;
use crate::release::receipt::{Receipt, ReceiptPaths};
use crate::report::beside::DiverseMondrian;
use crate::report::comparison::{compare, obstacle};
use crate::report::kept::{self, KeptColumn, Standing};
use crate::report::page::{
    Asked, BoundPeople, Compared, Contents, Origin, Penalties, PolicyChange, PolicyChanges, Reader,
    WITHOUT_ORIGINAL, to_html,
};
use crate::report::utility::{Design, QueryErrors};
use crate::resources::Resources;
use crate::table::read::Table;

/// Make a page about a release, or any table of groups: its risk, its utility, its policy.
///
/// The groups are checked again for it; the page needs no other file. Exit code 1 if they are not safe by the
/// policy or the points. Beliefs are not judged again, which the page says: `skyveil check --original` does that.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil report release --out page.html
  skyveil report release --original people.parquet --out page.html")]
pub struct ReportArgs {
    #[command(flatten)]
    pub(super) subject: SubjectFlags,
    /// A skyline point, as in check; replaces those of the policy. May be given several times.
    #[arg(long, value_name = "L,K,M,C", value_parser = read_point, allow_hyphen_values = true)]
    pub point: Vec<Point>,
    /// The confidence of the knowledge skylines, where no point or policy sets one.
    #[arg(long, value_name = "C", value_parser = read_confidence, default_value = "1")]
    pub confidence: Confidence,
    /// The table that the release was made from; the page then shows how far the release is from it, and what a finer
    /// grid or a weaker requirement would gain. May be given several times for several files.
    #[arg(long, value_name = "TABLE")]
    pub original: Vec<PathBuf>,
    /// How many count queries are compared with the original.
    #[arg(long, value_name = "N", requires = "original", default_value_t = Design::default().queries)]
    pub queries: usize,
    /// How many quasi-identifiers each query asks about. Default: two, or one if there is only one.
    #[arg(long, value_name = "D", requires = "original")]
    pub dimension: Option<usize>,
    /// The share of people that a query counts if all columns are independent.
    #[arg(long, value_name = "S", requires = "original", default_value_t = Design::default().selectivity)]
    pub selectivity: f64,
    /// The seed of the random queries.
    #[arg(long, value_name = "X", requires = "original", default_value_t = Design::default().seed)]
    pub seed: u64,
    /// The private receipt of the release; the page then shows certainty penalties and what binds, and is as private.
    /// Default, with --original: the one next to the release, if it is there.
    #[arg(long, value_name = "FILE")]
    pub receipt: Option<PathBuf>,
    /// The HTML file to write. Default: standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Columns whose values are compared, in a table that is not a release.
const MOST_COLUMNS: usize = 20;

/// Checks, and writes the page.
pub fn run(args: &ReportArgs) -> Result<Answer> {
    let made = make(args)?;
    match &args.out {
        None => print_file(&made.html)?,
        Some(path) => {
            std::fs::write(path, &made.html).map_err(|source| Error::io(path, source))?;
            print(&format!("{}: {}\n", visible_path(path), made.in_a_line))?;
        }
    }
    Ok(made.answer)
}

/// A page that was made.
pub(super) struct MadePage {
    pub html: String,
    /// The verdict and the sizes in a few words.
    pub in_a_line: String,
    pub answer: Answer,
}

/// Checks, and makes the page.
pub(super) fn make(args: &ReportArgs) -> Result<MadePage> {
    let opened = args.subject.open_tables()?;
    let (tasks, asked) = asked(args, args.subject.tasks(&opened)?)?;
    if let (Opened::Table(..), false) = (&opened, args.original.is_empty()) {
        return Err(Error::input(
            "only the labels of a release can be compared with an original",
            "leave out --original, or give a directory that skyveil anonymize made",
        ));
    }
    let original = args.subject.open_original(&args.original, &opened)?;
    let receipt = receipt(args, &opened)?;
    let (verdict, kept, compared, tried) = with_progress(|progress| {
        let resources = args.subject.resources(progress);
        let verdict = judge(args, &opened, &tasks, original.as_ref(), &resources)?;
        let groups = args.subject.groups(&opened);
        let kept = kept(&opened, &groups, &tasks, verdict.first(), &resources)?;
        let compared = match &opened {
            Opened::Release(release) => match &original {
                Some(original) => {
                    compared(args, &opened.subject(), &release.1, &tasks, original, &resources)?
                }
                None => Compared::Not(WITHOUT_ORIGINAL),
            },
            Opened::Table(..) => {
                Compared::Not("only the labels of a release can be compared with an original")
            }
        };
        let tried = match (opened.policy(), &original) {
            (Some(policy), Some(original)) if untried(policy)?.is_none() => {
                Some(tried(&PolicyEstimate::of(original, policy, &resources)?))
            }
            _ => None,
        };
        Ok::<_, Error>((verdict, kept, compared, tried))
    })?;
    let origin = match &opened {
        Opened::Release(release) => {
            let manifest = release.0.manifest();
            Origin::Release { policy: &release.1, style: manifest.style.name(), version: &manifest.skyveil }
        }
        Opened::Table(..) => Origin::Table { groups: &tasks[0].columns.groups, policy: opened.policy() },
    };
    let penalties = receipt.as_ref().and_then(Penalties::of);
    let binds = receipt.as_ref().map_or(Vec::new(), BoundPeople::of);
    let reader =
        if args.original.is_empty() && args.receipt.is_none() { Reader::Public } else { Reader::Owner };
    let attacks = receipt.and_then(|receipt| receipt.attacks);
    let contents = Contents {
        verdict: &verdict,
        asked,
        reader,
        origin,
        penalties,
        binds,
        tried,
        attacks,
        compared,
        kept: &kept,
    };
    let safe = verdict.holds_as_far_as_judged();
    Ok(MadePage {
        html: to_html(&contents),
        in_a_line: in_a_line(&contents),
        answer: if safe || asked == Asked::Nothing { Answer::Yes } else { Answer::No },
    })
}

fn judge(
    args: &ReportArgs,
    opened: &Opened,
    tasks: &[Task],
    original: Option<&Table>,
    resources: &Resources<'_>,
) -> Result<Verdict> {
    let groups = args.subject.groups(opened);
    // Beliefs are not judged again, and the page says so.
    let followed = tasks.iter().any(|task| task.requirements.follows_people());
    let check = Check {
        subject: &opened.subject(),
        tasks,
        original: original.filter(|_| !followed),
        distributions: None,
        membership: args.subject.membership(opened, &groups),
        manifest: opened.manifest(),
        skylines: Skylines::Keep,
        found: None,
    };
    check.judge(resources)
}

/// The receipt, if it is that of the release. Whoever has the original may also see the receipt next to the release.
fn receipt(args: &ReportArgs, opened: &Opened) -> Result<Option<Receipt>> {
    let (Opened::Release(_), release) = (opened, &args.subject.paths[0]) else { return Ok(None) };
    match &args.receipt {
        Some(path) => Receipt::read_for(path, release).map(Some),
        None if args.original.is_empty() => Ok(None),
        None => {
            let usual = ReceiptPaths::of(release, None, None);
            Ok(usual.and_then(|paths| Receipt::read_for(&paths.receipt, release)).ok())
        }
    }
}

/// The policy as it is, and each change.
fn tried(estimate: &PolicyEstimate) -> PolicyChanges {
    let policy = |change: &str, trial: &Trial| PolicyChange {
        change: change.to_string(),
        groups: trial.groups,
        penalty: trial.penalty,
        median_error: trial.median_error,
    };
    let relaxed = estimate.relaxed.iter().map(|own| policy(&own.change, &own.trial));
    PolicyChanges {
        sampled: estimate.sampled,
        people: estimate.people,
        policies: [policy("the policy as it is", &estimate.as_it_is)].into_iter().chain(relaxed).collect(),
    }
}

/// The verdict and the sizes in a few words.
fn in_a_line(contents: &Contents<'_>) -> String {
    let verdict = match (contents.asked, contents.verdict.holds_as_far_as_judged()) {
        (Asked::Nothing, _) => "no verdict".to_string(),
        (_, false) => "not safe".to_string(),
        (_, true) if contents.unjudged() => "beliefs not judged, all else safe".to_string(),
        (_, true) => contents.verdict.unprotected().unwrap_or_else(|| "safe".to_string()),
    };
    let first = contents.verdict.first();
    let error = match &contents.compared {
        Compared::Measured(comparison) => {
            let percent = |errors: &QueryErrors| format!("{:.1} %", 100.0 * errors.median);
            let beside = match &comparison.beside {
                Some(DiverseMondrian::Measured { errors, .. }) => {
                    format!(" (l-diverse Mondrian: {})", percent(errors))
                }
                _ => String::new(),
            };
            format!("; median query error {}{beside}", percent(&comparison.errors))
        }
        Compared::Not(_) => String::new(),
    };
    format!(
        "{verdict}, {} in {}{error}",
        number_of(first.individuals, "person", "people"),
        number_of(first.groups, "group", "groups")
    )
}

/// What is required of which columns, and by which source.
fn asked(args: &ReportArgs, tasks: Option<Vec<Task>>) -> Result<(Vec<Task>, Asked)> {
    let every = |point: &Point| (ProtectedValues::Every, point.clone());
    let points: Vec<_> = args.point.iter().map(every).collect();
    let mut asked = if points.is_empty() { Asked::Policy } else { Asked::Points };
    let mut tasks = match tasks {
        Some(tasks) if !tasks.is_empty() => tasks,
        Some(_) => {
            return Err(Error::input("the policy protects nothing", "name a column in columns.sensitive"));
        }
        None => {
            if points.is_empty() {
                asked = Asked::Nothing;
            }
            let alone =
                Point { knowledge: Knowledge { l: 0, k: 0, m: 0 }, confidence: args.confidence.clone() };
            let adversary = Adversary::Skyline(vec![every(&alone)]);
            let requirements = Requirements { adversary, ..Requirements::nothing() };
            vec![Task { columns: args.subject.flag_columns()?, requirements }]
        }
    };
    if asked == Asked::Points && tasks.iter().any(|task| task.requirements.is_fixed()) {
        return Err(Error::input(
            "--point has no meaning for the model of this policy",
            "leave it out: the policy says what must hold",
        ));
    }
    for Task { requirements, .. } in tasks.iter_mut().filter(|_| asked == Asked::Points) {
        requirements.replace_adversary(points.clone(), Vec::new());
    }
    Ok((tasks, asked))
}

/// What is published besides groups and sensitive values.
fn kept(
    opened: &Opened,
    groups: &[String],
    tasks: &[Task],
    judged: &JudgedColumn,
    resources: &Resources<'_>,
) -> Result<Vec<KeptColumn>> {
    let columns = &tasks[0].columns;
    match (opened, opened.subject()) {
        (Opened::Release(release), subject) => {
            let table = match subject {
                Subject::Table(table) => table,
                Subject::Buckets(buckets) => buckets.people,
            };
            kept::measure(table, groups, &release.1.columns.keep, Standing::Together, resources)
        }
        (Opened::Table(table, _), _) => {
            let fields = table.schema().fields().iter().map(|field| field.name());
            let known = |name: &&String| {
                let sensitive = |task: &Task| {
                    task.columns.sensitive == **name
                        || task.columns.parts.iter().any(|part| part.name == **name)
                };
                columns.groups.contains(name)
                    || tasks.iter().any(sensitive)
                    || columns.individual.as_ref() == Some(name)
                    || columns.count.as_ref() == Some(name)
            };
            let names: Vec<String> = fields.filter(|name| !known(name)).take(MOST_COLUMNS).cloned().collect();
            let standing = match judged.order {
                Order::Clustered => Standing::Together,
                _ => Standing::Anywhere,
            };
            kept::measure(table, &columns.groups, &names, standing, resources)
        }
    }
}

/// How far a release is from its original.
fn compared(
    args: &ReportArgs,
    subject: &Subject<'_>,
    policy: &Policy,
    tasks: &[Task],
    original: &Table,
    resources: &Resources<'_>,
) -> Result<Compared> {
    // Queries ask about one sensitive column: the first that holds one value of each person.
    let candidates = tasks.iter().map(|task| (&task.columns, obstacle(policy, &task.columns)));
    let columns = match candidates.min_by_key(|(_, obstacle)| obstacle.is_some()) {
        Some((columns, None)) => columns,
        Some((_, Some(obstacle))) => return Ok(Compared::Not(obstacle)),
        None => return Ok(Compared::Not("nothing is protected")),
    };
    let usual = Design::default().dimension.min(policy.columns.quasi.len());
    let design = Design {
        queries: args.queries,
        dimension: args.dimension.unwrap_or(usual),
        selectivity: args.selectivity,
        seed: args.seed,
    };
    compare(subject, policy, columns, original, &design, resources).map(Compared::Measured)
}
