//! `skyveil anonymize`: make a safe release of a table.

use super::Answer;
use super::append;
use super::audit::open_functions;
use super::dry_run;
use super::flags::{ResourceFlags, open_table, read_options};
use super::metrics::RunMetrics;
use super::suppression;
use super::terminal::{complain, print, visible, visible_path, with_progress};
use super::verdict;
use crate::anonymize::{Anonymize, OlderRelease, Outcome, Search, Summary};
use crate::error::{Error, Result, number_of};
use crate::group::lattice::LatticeMeasure;
use crate::group::lattice::full_domain::Searched;
use crate::math::disclosure_sets::Limits;
use crate::model::finding::{Finding, Side};
use crate::model::obstacle::Binding;
use crate::model::{Policy, Target};
use crate::policy::Strategy;
use crate::release::findings;
use crate::release::receipt::binding;
use crate::report::scope::in_a_line;
use crate::resources::budget::peak_resident_bytes;
use crate::table::read::Table;
use crate::table::write::OutputFormat;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Make a release of a table that is safe by a policy.
///
/// The table is split into groups as fine as the policy allows, written to a directory that appears only when
/// it is complete and checked, and is the same for any --memory, --threads, row order and file format. Peak
/// memory is at most --memory plus 48 MiB. Exit code 1 if not even the whole table in one group is safe.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil anonymize people.parquet --policy policy.toml --out release
  skyveil anonymize people.csv --policy policy.toml --out release --memory 256MiB --threads 2 --json
  skyveil anonymize people.csv --policy policy.toml --dry-run
  skyveil anonymize 'people-*.csv.gz' --policy policy.toml --out release --format csv.gz
  skyveil anonymize people.csv --policy policy.toml --out release --search lattice")]
pub struct AnonymizeArgs {
    /// Parquet, Arrow IPC or CSV files, CSV also as .csv.gz or .csv.zst; a directory of them, a quoted pattern, or - for
    /// standard input.
    #[arg(required = true, value_name = "TABLE")]
    pub paths: Vec<PathBuf>,
    /// What may be published: a TOML file.
    #[arg(long, value_name = "FILE")]
    pub policy: PathBuf,
    /// The directory that the release becomes; it must not exist.
    #[arg(long, value_name = "DIR", required_unless_present_any = ["dry_run", "append"])]
    pub out: Option<PathBuf>,
    /// Continue this release: the newcomers of the table become groups of their own, and all nights are safe together.
    /// The policy must have a section for nights.
    #[arg(long, value_name = "RELEASE", conflicts_with_all = ["out", "dry_run", "strategy", "format", "functions", "suppressed", "receipt"])]
    pub append: Option<PathBuf>,
    /// Publish nothing: estimate from a sample what a release would be like, and what each relaxation of the policy
    /// would gain, best first.
    #[arg(long, conflicts_with_all = ["strategy", "functions", "suppressed", "receipt", "key", "search"])]
    pub dry_run: bool,
    /// Publish a generalization function chosen so that the choice itself reveals nothing: exclusive or
    /// inclusive. Without it, and without publish.strategy in the policy, groups are split greedily.
    #[arg(long, value_name = "NAME", value_parser = read_strategy)]
    pub strategy: Option<Strategy>,
    /// The format of the files of the release: parquet, arrow, csv or csv.gz. Default: publish.format in the policy, or
    /// parquet.
    #[arg(long, value_name = "NAME", value_parser = read_format)]
    pub format: Option<OutputFormat>,
    /// For a strategy, a table of groups in place of [[audit.function]]; see `skyveil audit`.
    #[arg(long, value_name = "FILE")]
    pub functions: Option<PathBuf>,
    /// For a strategy, counting steps per disclosure set.
    #[arg(long, value_name = "N", default_value_t = Limits::default().steps)]
    pub limit_steps: u64,
    /// How groups are searched for: in a tree each group is split on its own; in a lattice all people's
    /// values are generalized to the same levels.
    #[arg(long, value_enum, default_value_t = SearchName::Tree)]
    search: SearchName,
    /// The loss that the best node of a lattice minimizes: discernibility, group-size, certainty or entropy.
    #[arg(long, value_name = "NAME", value_parser = read_measure, default_value = "discernibility")]
    measure: LatticeMeasure,
    /// Follow the cuts of another release of yours, found in its private tree, so that the labels of both can be compared.
    /// Where a part is not safe, parts are joined up to the next cut above that is; no other cut is tried, so the groups
    /// are not minimal.
    #[arg(long, value_name = "RELEASE", conflicts_with_all = ["append", "dry_run", "strategy", "functions"])]
    pub cuts_from: Option<PathBuf>,
    /// For policies with privacy.suppress, the private list of suppressed rows. Default: OUT.suppressed.csv.
    #[arg(long, value_name = "FILE")]
    pub suppressed: Option<PathBuf>,
    /// The private receipt. Default: OUT.receipt.json. The tree of cuts stands next to it, with .tree in place of
    /// .receipt.json or the last extension.
    #[arg(long, value_name = "FILE")]
    pub receipt: Option<PathBuf>,
    /// The key of the fingerprint in the receipt; made if it does not exist. Default: next to the receipt, with
    /// .receipt.key in place of .receipt.json or the last extension.
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// With --out: exchange an existing release in one step. The older one is kept as OUT.previous, or removed. The policy
    /// must accept "repeated releases". If input, policy and version are the same as before, there is nothing to do.
    #[arg(long, value_enum, value_name = "OLDER", conflicts_with_all = ["append", "dry_run"])]
    replace: Option<ReplaceName>,
    /// Write the numbers of the run to a file in the text format of Prometheus.
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    #[command(flatten)]
    pub(super) resources: ResourceFlags,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// What becomes of the older release, as the command line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReplaceName {
    /// It becomes OUT.previous.
    Keep,
    /// It goes.
    Remove,
}

/// The searches as the command line names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SearchName {
    Tree,
    Lattice,
}

impl AnonymizeArgs {
    /// Where the release goes; a dry run has no use for it.
    fn out(&self) -> &Path {
        self.out.as_deref().unwrap_or(Path::new(""))
    }

    fn search(&self) -> Search {
        match self.search {
            SearchName::Tree => Search::Tree,
            SearchName::Lattice => Search::Lattice(self.measure),
        }
    }
}

fn read_measure(text: &str) -> std::result::Result<LatticeMeasure, String> {
    let known = LatticeMeasure::NAMES.into_iter().find(|(name, _)| *name == text);
    known.map(|(_, measure)| measure).ok_or_else(|| {
        let names: Vec<&str> = LatticeMeasure::NAMES.iter().map(|(name, _)| *name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Anonymizes, and prints the outcome.
pub fn run(args: &AnonymizeArgs) -> Result<Answer> {
    let start = Instant::now();
    let policy = Policy::read(&args.policy)?;
    let table = open_table(&args.paths, &read_options(None, Some(&policy), args.resources.spool()))?;
    if args.dry_run {
        return dry_run::run(&table, &policy, &args.resources, args.json);
    }
    if let Some(release) = &args.append {
        return append::run(args, release, &policy, &table);
    }
    let functions = args.functions.as_ref().map(open_functions).transpose()?;
    let job = job(args, &policy, &table, functions.as_ref())?;
    if job.replace.is_some() && with_progress(|progress| job.is_current(progress))? {
        print(&match args.json {
            true => format!("{}\n", json!({"nothing_to_do": true, "out": args.out()})),
            false => format!(
                "nothing to do: {} is made from this input by this policy\n",
                visible_path(args.out())
            ),
        })?;
        return Ok(Answer::Yes);
    }
    let (outcome, phases) = with_progress(|progress| (job.run(progress), progress.took()));
    let outcome = outcome?;
    let took = Took { seconds: start.elapsed().as_secs_f64(), phases };
    match outcome {
        Outcome::Published(summary) => show_published(args, &policy, &table, &summary, &took),
        Outcome::Impossible(findings) => {
            print(&impossible(args, &findings))?;
            complain(
                "no release",
                "the whole table in one group is not safe, so no part of it can be published",
            );
            Ok(Answer::No)
        }
        Outcome::Withheld(reason) => {
            if args.json {
                print(&format!("{}\n", json!({"safe": false, "withheld": reason})))?;
            }
            complain("no release", &reason);
            Ok(Answer::No)
        }
    }
}

/// The job that the options describe, unless one of them has no use with this policy.
fn job<'a>(
    args: &AnonymizeArgs,
    policy: &'a Policy,
    table: &'a Table,
    functions: Option<&'a Table>,
) -> Result<Anonymize<'a>> {
    if args.strategy.or(policy.publish.strategy).is_none() && functions.is_some() {
        return Err(Error::input(
            "--functions is given, but no strategy that chooses among them",
            "add --strategy exclusive or --strategy inclusive",
        ));
    }
    if policy.robust().is_none() && !policy.privacy.suppress.allows_some() && args.suppressed.is_some() {
        return Err(Error::input(
            "--suppressed is given, but by the policy nobody is left out",
            "leave it out, or write suppress = \"1%\" below [privacy] for the model \"robust\" or \"beliefs\"",
        ));
    }
    Ok(Anonymize {
        temp: args.resources.temp(),
        spill: args.resources.spill(),
        memory: args.resources.memory,
        threads: args.resources.threads(),
        search: args.search(),
        strategy: args.strategy,
        format: args.format,
        functions,
        limit_steps: args.limit_steps,
        suppressed: args.suppressed.clone(),
        receipt: args.receipt.clone(),
        key: args.key.clone(),
        cuts_from: args.cuts_from.clone(),
        replace: args.replace.map(|older| match older {
            ReplaceName::Keep => OlderRelease::Kept,
            ReplaceName::Remove => OlderRelease::Removed,
        }),
        ..Anonymize::new(table, policy, args.out())
    })
}

/// Tells of a release that was made. It stays even if standard output takes no more; the error then says so.
fn show_published(
    args: &AnonymizeArgs,
    policy: &Policy,
    table: &Table,
    summary: &Summary,
    took: &Took,
) -> Result<Answer> {
    let metrics = RunMetrics {
        rows: summary.records,
        groups: summary.groups,
        spilled_bytes: summary.spilled_bytes,
        pending: None,
        penalty: Some(summary.utility.published_penalty()),
        seconds: took.seconds,
        phases: took.phases.clone(),
    };
    metrics.write(args.metrics.as_deref())?;
    let printed = print(&published(args, policy, table, summary, took));
    warn_of_policy(policy, summary);
    if let Some(summary) = &summary.suppression {
        suppression::warn(summary);
    }
    match printed {
        Err(Error::Output { source, .. }) => Err(Error::Output { source, made: args.out.clone() }),
        other => other.map(|()| Answer::Yes),
    }
}

/// Names what the policy protects without need, and accepts without need.
pub(super) fn warn_of_policy(policy: &Policy, summary: &Summary) {
    summary.notes.iter().for_each(|note| complain("warning", note));
    summary.accepted.iter().for_each(|lint| complain("accepted", &lint.to_string()));
    for risk in &policy.accept {
        if !summary.accepted.iter().any(|lint| lint.name == risk.name()) {
            complain("note", &format!("accept: {:?} is not needed for this table", risk.name()));
        }
    }
}

fn read_format(text: &str) -> Result<OutputFormat, String> {
    let known = OutputFormat::NAMES.into_iter().find(|(name, _)| *name == text);
    known.map(|(_, format)| format).ok_or_else(|| "expected parquet, arrow, csv or csv.gz".to_string())
}

fn read_strategy(text: &str) -> Result<Strategy, String> {
    let known = Strategy::NAMES.into_iter().find(|(name, _)| *name == text);
    known.map(|(_, strategy)| strategy).ok_or_else(|| "expected exclusive or inclusive".to_string())
}

/// The names of everything that a policy protects.
fn protected(policy: &Policy) -> Vec<String> {
    policy.privacy.targets.iter().map(Target::name).collect()
}

/// The columns that are dropped because the policy does not name them.
fn dropped_rest<'t>(policy: &Policy, table: &'t Table) -> Vec<&'t str> {
    policy.unnamed(table.schema().fields().iter().map(|field| field.name().as_str()))
}

/// How long the run took, and each phase of it.
struct Took {
    seconds: f64,
    phases: Vec<(&'static str, Duration)>,
}

impl Took {
    fn phases(&self) -> Value {
        let phase = |(name, took): &(&str, Duration)| (name.to_string(), json!(took.as_secs_f64()));
        Value::Object(self.phases.iter().map(phase).collect())
    }
}

/// The names, or the first of them.
fn listed(names: &[&str]) -> String {
    const MOST: usize = 12;
    let mut shown: Vec<String> = names.iter().take(MOST).map(|name| visible(name)).collect();
    if names.len() > MOST {
        shown.push(format!("and {} more", names.len() - MOST));
    }
    shown.join(", ")
}

fn published(args: &AnonymizeArgs, policy: &Policy, table: &Table, summary: &Summary, took: &Took) -> String {
    let rest = dropped_rest(policy, table);
    match args.json {
        true => published_json(args, policy, &rest, summary, took),
        false => published_text(args, policy, &rest, summary, took),
    }
}

fn published_json(
    args: &AnonymizeArgs,
    policy: &Policy,
    rest: &[&str],
    summary: &Summary,
    took: &Took,
) -> String {
    let utility = &summary.utility;
    let columns = utility
        .columns
        .iter()
        .map(|column| json!({"column": column.name, "published": column.published, "tight": column.tight}));
    let penalty = (!utility.columns.is_empty()).then(|| {
        json!({
            "published": utility.published_penalty(),
            "tight": utility.tight_penalty(),
            "columns": columns.collect::<Vec<_>>(),
        })
    });
    let lattice = summary.searched.as_ref().map(|Searched { minimal, chosen, tested }| {
            json!({"levels": chosen, "minimal_safe": minimal, "tested": tested})
        });
    let mut text = json!({
        "safe": summary.safe,
        "sensitive": protected(policy),
        "lattice": lattice,
        "records": summary.records,
        "groups": summary.groups,
        "seconds": took.seconds,
        "phases": took.phases(),
        "peak_memory_bytes": peak_resident_bytes(),
        "spilled_bytes": summary.spilled_bytes,
        "source_scans": summary.source_scans,
        "out": args.out(),
        "receipt": summary.receipt,
        "rest_dropped": rest,
        "average_group_size": utility.average_group_size,
        "discernibility": utility.discernibility.to_string(),
        "certainty_penalty": penalty,
        "binds": summary.binds.iter().map(binding).collect::<Vec<_>>(),
    });
    if let Some(missing) = &summary.suppression {
        if let Some(distributions) = missing.finding.total("distributions") {
            text["distributions"] = findings::total(distributions);
            text["safe"] = text["distributions"]["r_robust"].clone();
        }
        text["input_rows"] = json!(missing.input_rows);
        text["suppressed"] = json!(missing.suppressed);
        text["suppressed_list"] = json!(missing.list);
        if let Some(known) = &missing.already_known {
            text["already_likely"] = json!(known.likelier);
            text["unavoidable"] = json!(known.unavoidable);
        }
    }
    format!("{text}\n")
}

fn published_text(
    args: &AnonymizeArgs,
    policy: &Policy,
    rest: &[&str],
    summary: &Summary,
    took: &Took,
) -> String {
    let utility = &summary.utility;
    let memory = peak_resident_bytes().map_or(String::new(), |peak| format!(", {} MiB", peak >> 20));
    let covered = format!("{}\n", in_a_line(&summary.scope));
    let took = format!(
        "receipt              {}, for you alone\ntook                 {:.1} s{memory}, {} MiB spilled, {} of the source\n",
        summary.receipt.display(),
        took.seconds,
        summary.spilled_bytes >> 20,
        number_of(summary.source_scans, "scan", "scans")
    );
    if let (Some(_), Some(missing)) = (policy.robust(), &summary.suppression) {
        return suppression::robust_release(args.out(), summary, missing, &took) + &covered;
    }
    let (people, groups) =
        (number_of(summary.records, "person", "people"), number_of(summary.groups, "group", "groups"));
    let release = format!("release of {people} in {groups}");
    let mut text = match &summary.unprotected {
        None => format!("safe {release}: {}\n\n", visible_path(args.out())),
        Some(words) => format!("{words}; {release}: {}\n\n", visible_path(args.out())),
    };
    if policy.privacy.targets.len() > 1 {
        let names: Vec<String> = protected(policy).iter().map(|name| visible(name)).collect();
        text.push_str(&format!("protected            {}\n", names.join(", ")));
    }
    text.push_str(&format!(
        "people in a group    {:.1} on average\ncertainty penalty    {:.4} as published, {:.4} with the tightest labels\n",
        utility.average_group_size,
        utility.published_penalty(),
        utility.tight_penalty()
    ));
    let names: Vec<String> = utility.columns.iter().map(|column| visible(&column.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(18);
    for (name, column) in names.iter().zip(&utility.columns) {
        let blanks = width - name.chars().count();
        text.push_str(&format!("  {name}{:<blanks$} {:.4}\n", "", column.published));
    }
    if let Some(Searched { minimal, chosen, tested }) = &summary.searched {
        text.push_str(&format!(
            "levels               {chosen:?}, the best of {} lowest safe nodes, {tested} tested\n",
            minimal.len()
        ));
    }
    if let Some(missing) = &summary.suppression {
        text.push_str(&(suppression::line(missing) + &suppression::found(missing)));
    }
    if let Some(binding) = summary.binds.first() {
        text.push_str(&format!("what binds           {}\n", bound(binding, summary.records)));
    }
    if !rest.is_empty() {
        text.push_str(&format!("not named, dropped   {}\n", listed(rest)));
    }
    text.push_str(&took);
    text.push_str(&covered);
    text
}

/// What refuses the best cuts of some of the people, in words.
pub(super) fn bound(binding: &Binding, people: u64) -> String {
    let share = 100.0 * binding.people as f64 / people.max(1) as f64;
    format!("{share:.0} % of the people: {}", binding.requirement.in_words(visible))
}

/// The obstacles to any release: the claims that do not even hold for the whole table as one group.
fn impossible(args: &AnonymizeArgs, findings: &[Finding]) -> String {
    let failing = || findings.iter().flat_map(|finding| finding.failing().map(move |claim| (finding, claim)));
    if args.json {
        return format!("{}\n", json!({"safe": false, "obstacles": findings::obstacles(findings)}));
    }
    let mut text = String::from("no safe release exists\n\n");
    for (finding, claim) in failing() {
        if findings.len() > 1 {
            text.push_str(&format!("{}: ", visible(&finding.column)));
        }
        text.push_str(&verdict::sentence(claim));
        text.push_str(match claim.limit.side {
            Side::AtLeast => "\n  lower that minimum, or give more rows\n",
            _ => {
                "\n  require protection from less knowledge, raise the limit, or leave the value out of it\n"
            }
        });
    }
    text
}
