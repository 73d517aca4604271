//! `skyveil attack --replay`: how many people would somebody be sure of who repeats the choice of groups?

use serde_json::{Value, json};
use std::path::Path;

use super::Answer;
use super::attack::AttackArgs;
use super::flags::{open_table, read_options};
use super::terminal::{print, with_progress};
use super::verdict::aligned;
use crate::anonymize::{ReplayReport, TrialTable};
use crate::check::release::{Release, is_release};
use crate::error::{Error, Result, Setting, number_of};
use crate::math::exact::{decimal_at_least, ratio};
use crate::math::replay::ReplayEffort;
use crate::model::Policy;

/// Replays the choice of a release's groups, and prints what it gives away.
pub(super) fn run(args: &AttackArgs) -> Result<Answer> {
    let [directory] = &args.paths[..] else { return Err(not_a_release()) };
    if !is_release(directory) {
        return Err(not_a_release());
    }
    let release = Release::open(directory)?;
    let policy = args.policy.as_ref().map(Policy::read).transpose()?;
    let policy = policy.map_or_else(|| release.policy(), Ok)?;
    let Some(report) = replay(args, directory, &release, &policy)? else { return Ok(Answer::No) };
    match args.json {
        true => print(&format!("{}\n", to_json(&report)))?,
        false => print(&to_text(&report))?,
    }
    Ok(Answer::Yes)
}

fn not_a_release() -> Error {
    Error::input(
        "a replay repeats the choice of the groups of a release of this program",
        "give the directory of the release, and the table that it was made from",
    )
}

/// `None` if the receipt says that the table is another one.
fn replay(
    args: &AttackArgs,
    directory: &Path,
    release: &Release,
    policy: &Policy,
) -> Result<Option<ReplayReport>> {
    if args.original.is_empty() {
        return Err(Error::missing(
            "a release does not say who is in which group",
            "give the table that it was made from",
            Setting::Original,
        ));
    }
    let options = read_options(args.delimiter, Some(policy), args.resources.spool());
    let original = open_table(&args.original, &options)?;
    let effort = ReplayEffort { enumerated: args.samples, drawn: args.samples, odds: 20 };
    with_progress(|progress| {
        let resources = args.resources.all(progress);
        let bound = args.receipt.compare(directory, policy, Some(&original), &resources)?;
        args.receipt.complain(bound.as_ref(), Some(&original));
        if bound.is_some_and(|bound| !bound.holds()) {
            return Ok(None);
        }
        let report = TrialTable::read(&original, policy, u64::MAX, &resources)?.replay(policy, effort)?;
        let published = release.manifest();
        if (report.people, report.groups) != (published.individuals, published.groups) {
            return Err(Error::input(
                "this table and policy give other groups than the release has",
                "give the table that the release was made from, and the version that made it",
            ));
        }
        Ok(Some(report))
    })
}

fn to_text(report: &ReplayReport) -> String {
    let share = |people: u64| decimal_at_least(&ratio(people, report.people.max(1)), 4);
    let row = |name: &str, people: u64| [name.to_string(), people.to_string(), share(people)];
    let reached = report.reached;
    let rows = [
        ["a replay brings them to a confidence".to_string(), "people".to_string(), "share".to_string()],
        row("surely", reached.surely),
        row("by estimate", reached.estimated),
        row("at most", reached.at_most),
        row("with certainty", report.certain),
    ];
    format!(
        "{} in {}\n\n{}\n\
         an estimate        from the cuts that each group refused; cuts refused before them could tell more\n\
         groups             {} rule something out; all arrangements of {} were tried, {} of each other one were drawn\n\
         undecided          {}: nothing that was drawn is possible\n\
         intervals          all of them hold with a probability of {}\n",
        number_of(report.people, "person", "people"),
        number_of(report.groups, "group", "groups"),
        aligned(&rows),
        report.telling,
        report.exhaustive,
        report.effort.drawn,
        number_of(report.undecided, "group", "groups"),
        1.0 - 1.0 / report.effort.odds as f64,
    )
}

/// The report for programs.
pub(super) fn to_json(report: &ReplayReport) -> Value {
    json!({
        "people": report.people,
        "groups": report.groups,
        "estimate": report.exhaustive < report.groups,
        "reached": {
            "surely": report.reached.surely,
            "estimated": report.reached.estimated,
            "at_most": report.reached.at_most,
        },
        "certain": report.certain,
        "groups_that_tell": report.telling,
        "groups_exhaustive": report.exhaustive,
        "groups_undecided": report.undecided,
        "arrangements_drawn": report.effort.drawn,
    })
}
