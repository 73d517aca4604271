//! `skyveil audit`: what would an adversary learn from knowing how the release was chosen?

use super::Answer;
use super::flags::{open_table, read_delimiter, read_options, read_size};
use super::terminal::{print, visible};
use crate::error::{Result, number_of};
use crate::group::given::{AuditedPoint, GivenFunctions, GroupedPeople, ReadFor};
use crate::math::disclosure_sets::{Audit, AuditFinding, AuditedRelease, Limits, SharesSummary};
use crate::math::exact::{Rational, decimal_at_least, f64_at_least};
use crate::model::Policy;
use crate::model::skyline::ProtectedValues;
use crate::policy::Strategy;
use crate::resources::Resources;
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use crate::table::read::{ReadOptions, SpoolPlace, Table};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

/// What would an adversary learn from knowing how a release is chosen?
///
/// Audits a sequence of generalization functions: for each, how many tables remain possible for someone who
/// sees the release and for someone who replays the naive, inclusive or exclusive choice, and the largest
/// share of a value for any person. Exit code 0 if the strategy of the policy publishes a function (without
/// one: if the inclusive or the exclusive strategy does), 1 if not, 2 for mistakes. The table is read into
/// memory: at most 20,000 people.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil audit people.csv --policy policy.toml
  skyveil audit people.csv --policy policy.toml --functions groups.csv")]
pub struct AuditArgs {
    /// Parquet, Arrow IPC or CSV files, or a directory of them; one row per person.
    #[arg(required = true, value_name = "TABLE")]
    pub paths: Vec<PathBuf>,
    /// What must hold, and the functions in release order: [[audit.function]].
    #[arg(long, value_name = "FILE")]
    pub policy: PathBuf,
    /// A table of groups instead: columns g1, g2, ... in release order, people in the order of TABLE or named by
    /// one more column that TABLE has too.
    #[arg(long, value_name = "FILE")]
    pub functions: Option<PathBuf>,
    /// Steps of counting per disclosure set, about a million a second; beyond them a set is only estimated.
    #[arg(long, value_name = "N", default_value_t = Limits::default().steps)]
    pub limit_steps: u64,
    /// Memory for the table and the functions, such as 512MiB.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = read_size)]
    pub memory: u64,
    /// The character between the cells of a CSV file.
    #[arg(long, value_name = "CHAR", value_parser = read_delimiter)]
    pub delimiter: Option<u8>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Audits, and prints what was found.
pub fn run(args: &AuditArgs) -> Result<Answer> {
    let policy = Policy::read(&args.policy)?;
    let options = read_options(args.delimiter, Some(&policy), SpoolPlace::default());
    let table = open_table(&args.paths, &options)?;
    let functions = args.functions.as_ref().map(open_functions).transpose()?;
    let progress = Progress::default();
    let resources = Resources { threads: 1, ..Resources::new(Budget::new(args.memory), &progress) };
    let job = GivenFunctions {
        table: &table,
        policy: &policy,
        functions: functions.as_ref(),
        limits: Limits { steps: args.limit_steps, ..Limits::default() },
        resources: &resources,
    };
    let case = GroupedPeople::read(&job, ReadFor::Report)?;
    let audit = case.audit();
    print(&if args.json { format!("{}\n", to_json(&case, &audit)) } else { to_text(&case, &audit) })?;
    let publishes = |release: AuditedRelease| matches!(release, AuditedRelease::Function(_));
    let safe = match policy.publish.strategy {
        Some(Strategy::Inclusive) => publishes(audit.inclusive),
        Some(Strategy::Exclusive) => publishes(audit.exclusive),
        None => publishes(audit.inclusive) || publishes(audit.exclusive),
    };
    Ok(if safe { Answer::Yes } else { Answer::No })
}

/// Opens a table of group numbers.
pub fn open_functions(path: &PathBuf) -> Result<Table> {
    Table::open(std::slice::from_ref(path), &ReadOptions::default())
}

fn to_json(case: &GroupedPeople, audit: &Audit) -> Value {
    let texts = case.people.sensitive.texts();
    let points = case.points.iter().map(point_json);
    let functions = case.candidates.iter().enumerate().map(|(at, candidate)| {
        let mut entry = json!({
            "function": at + 1,
            "name": candidate.name,
            "groups": candidate.partition.groups().len(),
            "smallest_group": candidate.smallest_group(),
            "left_out": true,
        });
        if let Some(place) = case.tried.iter().position(|&tried| tried == at) {
            let found = &audit.functions[place];
            entry["left_out"] = false.into();
            entry["rearrangements"] = summary_json(&found.per, &texts);
            entry["inclusive"] = finding_json(&found.inclusive, &texts);
            entry["exclusive"] = finding_json(&found.exclusive, &texts);
        }
        entry
    });
    let release = |release: AuditedRelease| match release {
        AuditedRelease::Function(place) => json!({"publishes": case.tried[place] + 1}),
        AuditedRelease::Nothing => json!({"publishes": null}),
        AuditedRelease::Undecided(place) => json!({"publishes": null, "undecided": case.tried[place] + 1}),
    };
    let mut naive = release(audit.naive);
    naive["replay"] = audit.naive_adversary().map_or(Value::Null, |finding| finding_json(finding, &texts));
    json!({
        "people": case.people.len(),
        "points": points.collect::<Vec<_>>(),
        "functions": functions.collect::<Vec<_>>(),
        "naive": naive,
        "inclusive": release(audit.inclusive),
        "exclusive": release(audit.exclusive),
    })
}

fn summary_json(summary: &SharesSummary, texts: &[String]) -> Value {
    let largest = summary.largest.as_ref().map(|worst| {
        json!({
            "share": worst.share.to_string(),
            "share_at_most": f64_at_least(&worst.share),
            "row": worst.person + 1,
            "value": texts[worst.value as usize],
        })
    });
    let risks: Vec<String> = summary.risks.iter().map(Rational::to_string).collect();
    json!({
        "exact": true,
        "size": summary.size.to_string(),
        "largest": largest,
        "risks": risks,
        "holds": summary.holds,
    })
}

fn finding_json(finding: &AuditFinding, texts: &[String]) -> Value {
    let (reason, estimate) = match finding {
        AuditFinding::Exact(summary) => return summary_json(summary, texts),
        AuditFinding::Refused { reason, estimate } => (reason, estimate),
    };
    let estimate = estimate.as_ref().map(|estimate| {
        let largest = estimate.largest.as_ref().map(|largest| {
            json!({
                "share_between": [largest.share.at_least, largest.share.at_most],
                "row": largest.person + 1,
                "value": texts[largest.value as usize],
            })
        });
        json!({
            "samples": estimate.samples,
            "members": estimate.members,
            "seed": estimate.seed,
            "confidence": estimate.confidence,
            "part_of_rearrangements_between": [estimate.part_of_per.at_least, estimate.part_of_per.at_most],
            "largest": largest,
        })
    });
    json!({"exact": false, "holds": null, "refused": reason, "estimate": estimate})
}

fn to_text(case: &GroupedPeople, audit: &Audit) -> String {
    let texts = case.people.sensitive.texts();
    let mut text = format!(
        "{}, {}\n",
        number_of(case.people.len() as u64, "person", "people"),
        number_of(case.candidates.len() as u64, "generalization function", "generalization functions")
    );
    case.points.iter().for_each(|point| text.push_str(&format!("must hold: {}\n", promise(point))));
    for (at, candidate) in case.candidates.iter().enumerate() {
        text.push_str(&format!(
            "\nfunction {}: {}\n  {}, the smallest has {}\n",
            at + 1,
            visible(&candidate.name),
            number_of(candidate.partition.groups().len() as u64, "group", "groups"),
            number_of(candidate.smallest_group(), "person", "people")
        ));
        let Some(place) = case.tried.iter().position(|&tried| tried == at) else {
            text.push_str("  left out: a group is below the minimum size of the policy\n");
            continue;
        };
        let found = &audit.functions[place];
        text.push_str(&line("release alone", &AuditFinding::Exact(found.per.clone()), &texts));
        text.push_str(&line("inclusive", &found.inclusive, &texts));
        text.push_str(&line("exclusive, naive", &found.exclusive, &texts));
    }
    let publishes = |release: AuditedRelease| match release {
        AuditedRelease::Function(place) => format!("publishes function {}", case.tried[place] + 1),
        AuditedRelease::Nothing => "publishes nothing".to_string(),
        AuditedRelease::Undecided(place) => {
            format!("publishes nothing: function {} is too large to count", case.tried[place] + 1)
        }
    };
    text.push_str(&format!("\nnaive      {}\n", publishes(audit.naive)));
    if let Some(learned) = audit.naive_adversary() {
        let verdict = match learned.holds() {
            Some(true) => "what must hold still holds",
            Some(false) => "what must hold does NOT hold any more",
            None => "whether what must hold still holds is NOT known",
        };
        text.push_str(&format!("           to who replays it: {}; {verdict}\n", left(learned, &texts)));
    }
    text.push_str(&format!("inclusive  {}\n", publishes(audit.inclusive)));
    text.push_str(&format!("exclusive  {}\n", publishes(audit.exclusive)));
    text
}

fn point_json(point: &AuditedPoint) -> Value {
    let mut object = json!({"for": null, "l": point.l, "confidence": point.confidence.to_string()});
    match &point.values {
        ProtectedValues::Every => {}
        ProtectedValues::Near(within) => object["within"] = json!(within.to_string()),
        ProtectedValues::These(values) => object["for"] = json!(values),
        ProtectedValues::Except(values) => object["except"] = json!(values),
    }
    object
}

fn promise(point: &AuditedPoint) -> String {
    let named: Vec<String> =
        point.values.named().iter().map(|value| format!("{:?}", visible(value))).collect();
    let values = match &point.values {
        ProtectedValues::Every => "every value".to_string(),
        ProtectedValues::Near(within) => format!("values within {within}"),
        ProtectedValues::These(_) => named.join(", "),
        ProtectedValues::Except(_) => format!("every value but {}", named.join(", ")),
    };
    let knowing = match point.l {
        0 => String::new(),
        l => format!(", given {} that the person lacks", number_of(l, "value", "values")),
    };
    format!("the chance of {values} is below {}{knowing}", point.confidence)
}

fn line(title: &str, finding: &AuditFinding, texts: &[String]) -> String {
    let verdict = match finding.holds() {
        Some(true) => "holds",
        Some(false) => "FAILS",
        None => "NOT KNOWN",
    };
    format!("  {title:<17} {verdict:<9}  {}\n", left(finding, texts))
}

/// The remaining tables, in words.
fn left(finding: &AuditFinding, texts: &[String]) -> String {
    let who =
        |person: usize, value: u32| format!("row {} has {:?}", person + 1, visible(&texts[value as usize]));
    match finding {
        AuditFinding::Exact(SharesSummary { size, largest: Some(worst), .. }) => {
            let tables = shorten(&size.to_string());
            let share = share(&worst.share);
            format!("{tables} tables, largest share {share} ({})", who(worst.person, worst.value))
        }
        AuditFinding::Exact(_) => "no table".to_string(),
        AuditFinding::Refused { reason, estimate: None } => format!("{reason}; no estimate"),
        AuditFinding::Refused { reason, estimate: Some(estimate) } => {
            let estimated = match &estimate.largest {
                None => format!("none of {} sampled tables is left", estimate.samples),
                Some(largest) => format!(
                    "an estimate from {} of {} sampled tables, {}% sure: largest share between {:.4} and {:.4} ({})",
                    estimate.members,
                    estimate.samples,
                    estimate.confidence * 100.0,
                    (largest.share.at_least * 1e4).floor() / 1e4,
                    (largest.share.at_most * 1e4).ceil() / 1e4,
                    who(largest.person, largest.value)
                ),
            };
            format!("{reason}; {estimated}")
        }
    }
}

/// A fraction if it is short, otherwise decimals rounded up.
fn share(share: &Rational) -> String {
    let fraction = share.to_string();
    if fraction.len() <= 12 { fraction } else { decimal_at_least(share, 4) }
}

/// All digits if there are few, otherwise the leading ones and the power of ten.
fn shorten(digits: &str) -> String {
    match digits.len() {
        0..=15 => digits.to_string(),
        many => format!("{}.{}e{}", &digits[..1], &digits[1..4], many - 1),
    }
}
