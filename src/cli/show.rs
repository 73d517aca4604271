//! `skyveil show`: what do the groups of a release look like?

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::Answer;
use super::flags::ResourceFlags;
use super::terminal::{print, visible, with_progress};
use super::verdict::aligned_by;
use crate::check::release::{GROUP, Release, is_release, labelled_groups};
use crate::check::{ColumnRoles, GroupDetail, Order, Subject, groups};
use crate::error::{Error, Result, number_of};
use crate::model::Policy;

/// Print a few groups of a release as a table.
///
/// Each line is a group: its label, its people, and how often each sensitive value occurs in it, most frequent
/// first. Shows only what the release publishes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil show release
  skyveil show release --from 40 --groups 20 --json")]
pub struct ShowArgs {
    /// A release directory.
    #[arg(value_name = "RELEASE")]
    pub path: PathBuf,
    /// How many groups to print.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub groups: u64,
    /// The number of the first group to print.
    #[arg(long, value_name = "GROUP", default_value_t = 1)]
    pub from: u64,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// A group with the counts of each protected column.
struct Shown {
    number: u64,
    people: u64,
    label: Vec<(String, String)>,
    counts: Vec<(String, Vec<(String, u64)>)>,
}

/// Looks up the groups, and prints them.
pub fn run(args: &ShowArgs) -> Result<Answer> {
    if !is_release(&args.path) {
        return Err(Error::input(
            format!("{} is not a release: it has no manifest.json", args.path.display()),
            "give the directory that skyveil anonymize made",
        ));
    }
    let release = Release::open(&args.path)?;
    let all = release.manifest().groups;
    if !(1..=all).contains(&args.from) {
        return Err(Error::input(
            format!("--from is {}, and the groups are numbered from 1 to {all}", args.from),
            "give the number of a group",
        ));
    }
    let shown = look_up(args, &release, &release.policy()?)?;
    print(&if args.json { to_json(&release, &shown) } else { to_text(&release, &shown) })?;
    Ok(Answer::Yes)
}

fn look_up(args: &ShowArgs, release: &Release, policy: &Policy) -> Result<Vec<Shown>> {
    let numbers: Vec<u64> = (args.from..=release.manifest().groups).take(args.groups as usize).collect();
    let subject = release.subject();
    // The people of a bucketized release keep their own quasi-identifiers: its groups have no label.
    let label: Vec<String> = match &subject {
        Subject::Table(table) => labelled_groups(table, policy).into_iter().filter(|c| c != GROUP).collect(),
        Subject::Buckets(_) => Vec::new(),
    };
    let empty = |number: &u64| Shown { number: *number, people: 0, label: Vec::new(), counts: Vec::new() };
    let mut shown: Vec<Shown> = numbers.iter().map(empty).collect();
    with_progress(|progress| {
        let resources = args.resources.all(progress);
        for target in &policy.privacy.targets {
            let columns = ColumnRoles { groups: vec![GROUP.to_string()], ..release.columns(policy, target)? };
            let found = groups(&subject, &columns, Order::Bucketized, &numbers, &label, &resources)?;
            for (shown, GroupDetail { people, counts, label, .. }) in shown.iter_mut().zip(found) {
                (shown.people, shown.label) = (people, label);
                shown.counts.push((columns.sensitive.clone(), counts));
            }
        }
        Ok(shown)
    })
}

fn to_json(release: &Release, shown: &[Shown]) -> String {
    let group = |group: &Shown| {
        let label: serde_json::Map<String, Value> =
            group.label.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
        let counts = |counts: &Vec<(String, u64)>| -> Vec<Value> {
            counts.iter().map(|(value, count)| json!({"value": value, "count": count})).collect()
        };
        let values: serde_json::Map<String, Value> =
            group.counts.iter().map(|(name, own)| (name.clone(), json!(counts(own)))).collect();
        json!({"group": group.number, "people": group.people, "label": label, "values": values})
    };
    let shown: Vec<Value> = shown.iter().map(group).collect();
    format!("{}\n", json!({"groups": release.manifest().groups, "shown": shown}))
}

/// Longer labels are cut.
const WIDEST: usize = 28;
/// Values of a group that are named.
const MOST_VALUES: usize = 4;

fn to_text(release: &Release, shown: &[Shown]) -> String {
    let manifest = release.manifest();
    let mut text = format!(
        "{} in {}\n\n",
        number_of(manifest.individuals, "person", "people"),
        number_of(manifest.groups, "group", "groups")
    );
    let mut rows: Vec<Vec<String>> = Vec::with_capacity(shown.len() + 1);
    for group in shown {
        if rows.is_empty() {
            let names =
                group.label.iter().map(|(name, _)| name).chain(group.counts.iter().map(|(name, _)| name));
            let head = [GROUP.to_string(), "people".to_string()];
            rows.push(head.into_iter().chain(names.map(|name| cut(name))).collect());
        }
        let mut row = vec![group.number.to_string(), group.people.to_string()];
        row.extend(group.label.iter().map(|(_, label)| cut(label)));
        row.extend(group.counts.iter().map(|(_, counts)| most_frequent(counts)));
        rows.push(row);
    }
    // The number and the people are right-aligned, texts are not.
    text.push_str(&aligned_by(&rows, |column| column > 1));
    text
}

/// The most frequent values with their counts, and how many more there are.
fn most_frequent(counts: &[(String, u64)]) -> String {
    let named = counts.iter().take(MOST_VALUES).map(|(value, count)| format!("{} {count}", cut(value)));
    let mut texts: Vec<String> = named.collect();
    if let Some(more) = counts.len().checked_sub(MOST_VALUES + 1) {
        texts.push(format!("{} more", more + 1));
    }
    texts.join(", ")
}

fn cut(text: &str) -> String {
    let text = visible(text);
    if text.chars().count() <= WIDEST {
        return text;
    }
    text.chars().take(WIDEST - 1).chain(['…']).collect()
}
