//! `skyveil attack`: how many people does each of several attacks on a release affect?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::flags::{ResourceFlags, open_table, read_confidence, read_delimiter, read_options};
use super::receipt::ReceiptFlags;
use super::suite::Suite;
use super::terminal::{print, visible, with_progress};
use super::verdict::aligned;
use super::{Answer, attack_several, replay};
use crate::anonymize::ReplayedCuts;
use crate::check::Subject;
use crate::check::beliefs::{Exposure, GroupTables, Membership, attack};
use crate::check::release::{self, is_release};
use crate::error::{Error, Result, Setting, number_of};
use crate::math::confidence::Confidence;
use crate::math::exact::{Rational, decimal_at_least, parse_fraction, ratio};
use crate::math::replay::ReplayEffort;
use crate::math::skyline::Values;
use crate::model::beliefs::judge::{AttackReport, PointReport, moved_text};
use crate::model::beliefs::{KernelAdversary, Question, Roles};
use crate::model::{Policy, Target};
use crate::release::receipt::Receipt;
use crate::table::read::Table;

/// How many people does each of several attacks on a release affect?
///
/// One line for each attack: what the adversary needs, whom it affects, and whether that is sure or estimated. An
/// adversary who knows the correlations in the data is followed if a bandwidth is given: their belief about each person
/// is estimated from the original table, as finely as --bandwidth allows, and compared before and after the release. A person is vulnerable at t if it moves by more than t:
/// 0 is no move at all, 1 is from one certainty to another. Works for any release, including those of other
/// tools, as long as a column identifies the groups. Memory grows with the number of distinct combinations of
/// quasi-identifiers.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil attack release
  skyveil attack release --original people.parquet
  skyveil attack release --original people.parquet --bandwidth 0.3 --t 0.2
  skyveil attack release --original people.parquet --replay
  skyveil attack release --original people.parquet --replay --receipt release.receipt.json --record
  skyveil attack theirs.csv --group class --quasi age,sex --sensitive disease --bandwidth 0.2 --t 0.1,0.25")]
pub struct AttackArgs {
    /// A release directory; or Parquet, Arrow IPC or CSV files that hold the original quasi-identifiers and a
    /// group.
    #[arg(required = true, value_name = "RELEASE|TABLE")]
    pub paths: Vec<PathBuf>,
    /// The table that the release was made from; may be given several times. Default: what the receipt next to the
    /// release names.
    #[arg(long, value_name = "TABLE", num_args = 1..)]
    pub original: Vec<PathBuf>,
    #[command(flatten)]
    receipt: ReceiptFlags,
    /// Write the table of attacks into the receipt, where the owner's report finds it.
    #[arg(long, requires = "receipt")]
    pub record: bool,
    /// Also repeat the choice of the groups: how many people does somebody become sure of who knows the algorithm
    /// and everybody's quasi-identifiers?
    #[arg(long)]
    pub replay: bool,
    /// Let the replay also use the cuts that were refused where several groups were still one; slower, and for points with
    /// m = 0.
    #[arg(long, requires = "replay")]
    pub above: bool,
    /// Arrangements of each group's values that a replay tries.
    #[arg(long, value_name = "N", default_value_t = 2000, requires = "replay", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub samples: u64,
    /// How finely the adversary knows the table: one number, where 1 is the range of a column, or COL=B for
    /// each; default: as in the policy, if it has the model "beliefs"; without either, correlations are
    /// not attacked.
    #[arg(long, value_name = "B|COL=B,..", value_parser = read_bandwidth)]
    pub bandwidth: Option<Bandwidth>,
    /// Thresholds to compare each move with.
    #[arg(long, value_name = "T,..", value_delimiter = ',', default_value = "0.1,0.2,0.3", value_parser = read_share)]
    pub t: Vec<Rational>,
    /// Sensitive values nearer than this count as similar; the policy defines their distances. Default: the
    /// smoothing of the policy, if it has the model "beliefs"; 0 for no smoothing.
    #[arg(long, value_name = "B", value_parser = read_smooth)]
    pub smooth: Option<Rational>,
    /// The policy that says what the columns mean; a release contains the one it was made with.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Columns that make a group: rows that agree in all of them.
    #[arg(long, value_name = "COL,..", value_delimiter = ',')]
    pub group: Vec<String>,
    /// The columns that the adversary knows.
    #[arg(long, value_name = "COL,..", value_delimiter = ',')]
    pub quasi: Vec<String>,
    /// The sensitive column.
    #[arg(long, value_name = "COL")]
    pub sensitive: Option<String>,
    /// The column that names people. With it, several releases of overlapping people are attacked together: each path is
    /// one of them, and each --original the table that it was made from. A release that was continued stands for all its
    /// nights, each with the table of its newcomers.
    #[arg(long, value_name = "COL", conflicts_with_all = ["bandwidth", "smooth", "quasi", "receipt"])]
    pub person: Option<String>,
    /// For several releases: nobody may be as sure as this of anybody's value; default: 1. The points of their policies
    /// count as well.
    #[arg(long, value_name = "C", value_parser = read_confidence, requires = "person")]
    pub confidence: Option<Confidence>,
    /// The character between the cells of a CSV file.
    #[arg(long, value_name = "CHAR", value_parser = read_delimiter)]
    pub delimiter: Option<u8>,
    #[command(flatten)]
    pub(super) resources: ResourceFlags,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// One bandwidth for all columns, or one for each.
#[derive(Debug, Clone, PartialEq)]
pub enum Bandwidth {
    /// For all.
    All(Rational),
    /// By name.
    Each(BTreeMap<String, Rational>),
}

impl Bandwidth {
    fn of(&self, names: &[&str]) -> Result<BTreeMap<String, Rational>> {
        match self {
            Bandwidth::All(width) => Ok(names.iter().map(|name| (name.to_string(), width.clone())).collect()),
            Bandwidth::Each(widths) => match widths.keys().find(|name| !names.contains(&name.as_str())) {
                None => Ok(widths.clone()),
                Some(name) => Err(Error::input(
                    format!("--bandwidth names `{name}`, which is not a quasi-identifier"),
                    format!("the quasi-identifiers are {}", names.join(", ")),
                )),
            },
        }
    }
}

/// Attacks, and prints who is affected.
pub fn run(args: &AttackArgs) -> Result<Answer> {
    if args.person.is_some() || args.paths.len() > 1 && args.paths.iter().all(|path| is_release(path)) {
        return attack_several::run(args);
    }
    let policy = args.policy.as_ref().map(Policy::read).transpose()?;
    let suite = match &args.paths[..] {
        [directory] if is_release(directory) => {
            let Some(suite) = on_release(args, directory, policy)? else { return Ok(Answer::No) };
            if let (true, Some(receipt)) = (args.record, &args.receipt.receipt) {
                Receipt::record(receipt, directory, suite.table())?;
            }
            suite
        }
        _ => on_table(args, policy)?,
    };
    match args.json {
        true => print(&format!("{}\n", suite.to_json()))?,
        false => print(&suite.to_text(to_text))?,
    }
    Ok(Answer::Yes)
}

/// Attacks a release; nothing is attacked if the receipt says that the table is another one.
fn on_release(args: &AttackArgs, directory: &Path, policy: Option<Policy>) -> Result<Option<Suite>> {
    let release = release::Release::open(directory)?;
    let targets = release.policy()?.privacy.targets;
    if let Some(listed) = targets.iter().find(|target| target.values != Values::Single) {
        return Err(Error::input(
            format!(
                "people have several values of column {:?}, and attacks follow one value of each person",
                listed.name()
            ),
            "look at the worst cases of this release with `skyveil explain`",
        ));
    }
    let policy = policy.map_or_else(|| release.policy(), Ok)?;
    let asked = asked(args, Some(&policy))?;
    let (receipt, files) = match args.original.is_empty() {
        false => (args.receipt.clone(), args.original.clone()),
        true => ReceiptFlags::beside(directory).ok_or_else(|| {
            Error::missing(
                "a release does not say who is in which group, and no receipt next to it names the table",
                "give the table that it was made from",
                Setting::Original,
            )
        })?,
    };
    let original = open_table(&files, &read_options(args.delimiter, Some(&policy), args.resources.spool()))?;
    let bound = with_progress(|progress| {
        receipt.compare(directory, &policy, Some(&original), &args.resources.all(progress))
    })?;
    receipt.complain(bound.as_ref(), Some(&original));
    if bound.is_some_and(|bound| !bound.holds()) {
        return Ok(None);
    }
    let groups = [release::GROUP.to_string()];
    let subject = release.subject();
    let membership = match &subject {
        Subject::Table(_) => Membership::Labels(&groups),
        Subject::Buckets(_) => Membership::Own(&groups),
    };
    let tables =
        GroupTables { subject: &subject, membership: &membership, manifest: Some(release.manifest()) };
    let mut suite = follow(args, &original, &tables, asked)?;
    if args.replay {
        let effort = ReplayEffort { enumerated: args.samples, drawn: args.samples, odds: 20 };
        let cuts = if args.above { ReplayedCuts::AboveGroups } else { ReplayedCuts::OfGroups };
        let report = with_progress(|progress| {
            replay::replay(&original, &release, &policy, cuts, effort, &args.resources.all(progress))
        })?;
        suite.replay = Some(report);
    }
    Ok(Some(suite))
}

fn on_table(args: &AttackArgs, policy: Option<Policy>) -> Result<Suite> {
    let asked = asked(args, policy.as_ref())?;
    if args.group.is_empty() {
        return Err(Error::input("no group columns are given", "name them with --group"));
    }
    if args.receipt.receipt.is_some() {
        return Err(Error::missing(
            "only a release has a receipt",
            "leave the receipt out",
            Setting::Receipt,
        ));
    }
    if args.replay {
        return Err(Error::input(
            "--replay repeats the choice of the groups of a release of this program",
            "give the directory of the release, and the table that it was made from",
        ));
    }
    let options = read_options(args.delimiter, policy.as_ref(), args.resources.spool());
    let table = open_table(&args.paths, &options)?;
    let original = match args.original.is_empty() {
        true => None,
        false => Some(open_table(&args.original, &options)?),
    };
    let (subject, membership) = (Subject::Table(&table), Membership::Own(&args.group));
    let tables = GroupTables { subject: &subject, membership: &membership, manifest: None };
    follow(args, original.as_ref().unwrap_or(&table), &tables, asked)
}

/// What was asked: the roles of the columns, and who knows correlations, if a bandwidth says how finely.
struct Asked {
    roles: Roles,
    correlations: Option<Question>,
}

fn follow(args: &AttackArgs, original: &Table, tables: &GroupTables<'_>, asked: Asked) -> Result<Suite> {
    with_progress(|progress| {
        let resources = args.resources.all(progress);
        let exposure = Exposure::of(original, tables, &asked.roles, &resources)?;
        let correlations =
            asked.correlations.map(|question| attack(original, tables, &question, &resources)).transpose()?;
        Ok(Suite { exposure, correlations, replay: None })
    })
}

/// The requested attack: flags override the policy.
fn asked(args: &AttackArgs, policy: Option<&Policy>) -> Result<Asked> {
    let target = policy.map(|policy| target(policy, args.sensitive.as_deref())).transpose()?;
    let roles = roles(args, policy.zip(target))?;
    let stated = target.and_then(|target| target.model.beliefs());
    let names = roles.names();
    let mut bandwidths = match (&args.bandwidth, stated) {
        (Some(bandwidth), _) => vec![bandwidth.of(&names)?],
        (None, Some(stated)) => {
            let known = |(name, _): &(&String, &Rational)| names.contains(&name.as_str());
            let own = |(name, width): (&String, &Rational)| (name.clone(), width.clone());
            stated
                .points
                .iter()
                .map(|point| point.bandwidth.iter().filter(known).map(own).collect())
                .collect()
        }
        (None, None) => return Ok(Asked { roles, correlations: None }),
    };
    bandwidths.dedup();
    let smooth = match &args.smooth {
        Some(smooth) => Some(smooth.clone()).filter(|smooth| *smooth > Rational::ZERO),
        None => stated.and_then(|stated| stated.smooth.clone()),
    };
    let point = |bandwidth| KernelAdversary { bandwidth, thresholds: args.t.clone() };
    let points = bandwidths.into_iter().map(point).collect();
    let own = self::roles(args, policy.zip(target))?;
    Ok(Asked { roles, correlations: Some(Question { points, smooth, roles: own }) })
}

fn roles(args: &AttackArgs, policy: Option<(&Policy, &Target)>) -> Result<Roles> {
    let mut roles = match policy {
        Some((policy, target)) => Roles::of(policy, target)?,
        None => {
            let sensitive = args.sensitive.as_deref().ok_or_else(|| {
                Error::input("no sensitive column is given", "name it with --sensitive, or give a policy")
            })?;
            Roles::plain(&[], sensitive)
        }
    };
    if !args.quasi.is_empty() {
        let stated = std::mem::take(&mut roles.quasi);
        let plain = Roles::plain(&args.quasi, &roles.sensitive).quasi.into_iter();
        let known = |name: &str| stated.iter().find(|quasi| quasi.name == name).cloned();
        roles.quasi = plain.map(|plain| known(&plain.name).unwrap_or(plain)).collect();
    }
    if roles.quasi.is_empty() {
        return Err(Error::input(
            "no quasi-identifier is given",
            "name the columns that an adversary knows with --quasi, or give a policy",
        ));
    }
    Ok(roles)
}

fn target<'a>(policy: &'a Policy, sensitive: Option<&str>) -> Result<&'a Target> {
    let wanted = |target: &&Target| sensitive.is_none_or(|name| target.name() == name);
    match &policy.privacy.targets.iter().filter(wanted).collect::<Vec<_>>()[..] {
        [target] => Ok(target),
        [] => Err(Error::input(
            "--sensitive does not name a sensitive column of the policy",
            format!("these are: {}", named(&policy.privacy.targets.iter().collect::<Vec<_>>())),
        )),
        several => Err(Error::input(
            "the policy has several sensitive columns",
            format!("name one of them with --sensitive: {}", named(several)),
        )),
    }
}

fn named(targets: &[&Target]) -> String {
    targets.iter().map(|target| target.name()).collect::<Vec<_>>().join(", ")
}

fn to_text(report: &AttackReport) -> String {
    let mut text = format!(
        "{} in {}; {} different combinations of quasi-identifiers\n",
        number_of(report.rows, "person", "people"),
        number_of(report.groups, "group", "groups"),
        report.combinations
    );
    for point in &report.points {
        text.push_str(&point_text(report, point));
    }
    text
}

fn point_text(report: &AttackReport, point: &PointReport) -> String {
    let head = ["moved by more than", "vulnerable", "share", "undecided", "share at most", "by Omega"];
    let share = |people: u64| decimal_at_least(&ratio(people, report.rows.max(1)), 4);
    let rows = point.thresholds.iter().map(|at| {
        [
            at.t.to_string(),
            at.vulnerable.to_string(),
            share(at.vulnerable),
            at.undecided.to_string(),
            share(at.vulnerable + at.undecided),
            at.omega.to_string(),
        ]
    });
    let head = head.map(str::to_string);
    let mut text = format!("\n{}", aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>()));
    let widths: Vec<String> =
        point.bandwidth.iter().map(|(name, width)| format!("{} {width}", visible(name))).collect();
    text.push_str(&format!("\nbandwidth          {}\n", widths.join(", ")));
    let smooth = report.smooth.as_ref().map_or("none".to_string(), Rational::to_string);
    text.push_str(&format!("smoothing          {smooth}\n"));
    text.push_str(&format!(
        "certain before     {}, about whom there is nothing to learn\n",
        number_of(point.certain, "person", "people")
    ));
    text.push_str(&format!(
        "posteriors         exact for {} in {}, proved bounds for {}\n",
        number_of(point.exact_rows, "person", "people"),
        number_of(point.exact_groups, "group", "groups"),
        report.rows - point.exact_rows
    ));
    let group = point.worst.group.map_or("a group".to_string(), |group| format!("group {group}"));
    let people = number_of(point.worst.people, "person", "people");
    text.push_str(&format!("largest move       {}, in {group} of {people}\n", moved_text(point.worst.moved)));
    if report.smooth.is_some() {
        text.push_str(&format!("without smoothing  {}\n", moved_text(point.unsmoothed)));
    }
    text.push_str(&format!(
        "by Omega           {:.4}, an estimate that may understate and decides nothing\n",
        point.omega
    ));
    text
}

fn read_bandwidth(text: &str) -> Result<Bandwidth, String> {
    if !text.contains('=') {
        return read_positive(text).map(Bandwidth::All);
    }
    let mut widths = BTreeMap::new();
    for pair in text.split(',') {
        let (name, width) = pair.split_once('=').ok_or("expected COL=B for every column")?;
        if widths.insert(name.trim().to_string(), read_positive(width)?).is_some() {
            return Err(format!("{} is given twice", name.trim()));
        }
    }
    Ok(Bandwidth::Each(widths))
}

fn read_positive(text: &str) -> Result<Rational, String> {
    let number = parse_fraction(text).filter(|number| *number > Rational::ZERO);
    number.ok_or_else(|| "expected a decimal or a fraction above 0, such as 0.3".to_string())
}

fn read_smooth(text: &str) -> Result<Rational, String> {
    let number = parse_fraction(text).filter(|number| *number >= Rational::ZERO);
    number.ok_or_else(|| "expected a decimal or a fraction such as 0.2, or 0 for no smoothing".to_string())
}

fn read_share(text: &str) -> Result<Rational, String> {
    let number = parse_fraction(text).filter(|number| *number >= Rational::ZERO && *number < Rational::ONE);
    number
        .ok_or_else(|| "expected a decimal or a fraction of at least 0 and below 1, such as 0.2".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;

    #[test]
    fn bandwidths_are_read_exactly_or_refused() {
        assert_eq!(read_bandwidth("0.3"), Ok(Bandwidth::All(ratio(3, 10))));
        let each = [("age".to_string(), ratio(1, 3)), ("sex".to_string(), ratio(2, 1))];
        assert_eq!(read_bandwidth("age=1/3, sex=2"), Ok(Bandwidth::Each(each.into())));
        for bad in ["", "0", "-1", "x", "age=", "age=0", "age=1,sex", "age=1,age=2"] {
            assert!(read_bandwidth(bad).is_err(), "{bad}");
        }
        assert!(read_share("1").is_err() && read_share("0").is_ok());
    }
}
