//! `skyveil erase`: withdraw the groups of people who leave.

use super::Answer;
use super::flags::{ResourceFlags, open_table};
use super::terminal::{complain, print, visible_path, with_progress};
use crate::anonymize::{Erase, EraseMode, Erasure};
use crate::error::{Result, number_of};
use crate::model::Policy;
use crate::release::chain::ChainEnd;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Withdraw the groups of people who leave a release that is continued.
///
/// Removing somebody from their group would tell their value, so the whole group goes, for good: its other people are
/// not published again. Look at it first with --dry-run, and collect several people for one erasure.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil erase release --people leavers.csv --dry-run
  skyveil erase release --people leavers.csv")]
pub struct EraseArgs {
    /// The release, made by a policy with a section for nights and a column of people.
    #[arg(value_name = "RELEASE")]
    pub release: PathBuf,
    /// A table that names the people: in the same column as the policy, or in its only column.
    #[arg(long, value_name = "FILE")]
    pub people: PathBuf,
    /// Change nothing: say how many people and groups would go.
    #[arg(long)]
    pub dry_run: bool,
    /// The key of the ledger. Default: next to the release.
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    #[command(flatten)]
    resources: ResourceFlags,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Withdraws groups, and says what went.
pub fn run(args: &EraseArgs) -> Result<Answer> {
    let last = ChainEnd::read(&args.release)?.last;
    let policy = Policy::parse(&last.manifest.policy, &args.release)?;
    let person = policy.nights.as_ref().and_then(|nights| nights.person.as_deref());
    let mut options = super::flags::read_options(None, None, args.resources.spool());
    // The names must be read as they were when people were published.
    let declared = person.and_then(|person| Some((person, *policy.columns.types.get(person)?)));
    options.types.extend(declared.map(|(person, kind)| (person.to_string(), kind.into())));
    let people = open_table(std::slice::from_ref(&args.people), &options)?;
    let job = Erase {
        people: &people,
        release: args.release.clone(),
        key: args.key.clone(),
        mode: if args.dry_run { EraseMode::Count } else { EraseMode::Withdraw },
        temp: args.resources.temp(),
        spill: args.resources.spill(),
        memory: args.resources.memory,
        threads: args.resources.threads(),
    };
    let erased = with_progress(|progress| job.run(progress))?;
    print(&match args.json {
        true => format!("{}\n", to_json(args, &erased)),
        false => to_text(args, &erased),
    })?;
    let unknown =
        erased.named - erased.published - erased.waiting.min(erased.named) - erased.withdrawn_before;
    if unknown > 0 {
        let people = number_of(unknown, "person was", "people were");
        complain("note", &format!("{people} never published, and not waiting"));
    }
    Ok(Answer::Yes)
}

fn to_json(args: &EraseArgs, erased: &Erasure) -> serde_json::Value {
    json!({
        "release": args.release,
        "dry_run": args.dry_run,
        "named": erased.named,
        "published": erased.published,
        "waiting": erased.waiting,
        "withdrawn_before": erased.withdrawn_before,
        "groups": erased.groups,
        "replaced": erased.replaced,
        "people": erased.people,
        "night": erased.night,
    })
}

fn to_text(args: &EraseArgs, erased: &Erasure) -> String {
    let people = number_of(erased.people, "person", "people");
    let named = number_of(erased.published, "of them is named", "of them are named");
    let waiting = match erased.waiting {
        0 => String::new(),
        waiting => format!("no longer waiting    {}\n", number_of(waiting, "person", "people")),
    };
    let replaced = match erased.replaced {
        0 => String::new(),
        replaced => format!(
            "replaced             {}, by those who stay; what that tells is not covered\n",
            number_of(replaced, "group", "groups")
        ),
    };
    let release = visible_path(&args.release);
    if erased.groups + erased.replaced == 0 {
        return format!("nothing is published of these people; {release} keeps its rows\n{waiting}");
    }
    let groups = number_of(erased.groups, "group", "groups");
    let what = match (erased.groups, erased.replaced) {
        (0, _) => people,
        (_, 0) => format!("{groups} of {people}"),
        (_, replaced) => format!("{groups}, and people of {replaced} more, together {people},"),
    };
    match args.dry_run {
        true => format!("{what} would go from {release}, for good; {named}\n{replaced}{waiting}"),
        false => {
            let night = erased.night.unwrap_or(0);
            format!(
                "{what} went from {release}, for good; {named}\n\nentry                {night} of the chain\n{replaced}{waiting}"
            )
        }
    }
}
