//! `skyveil attack --replay`: how many people would somebody be sure of who repeats the choice of groups?

use serde_json::{Value, json};

use super::verdict::aligned;
use crate::anonymize::{ReplayReport, ReplayedCuts, TrialTable, replayed_model};
use crate::check::release::Release;
use crate::error::{Error, Result, number_of};
use crate::math::exact::{decimal_at_least, ratio};
use crate::math::replay::ReplayEffort;
use crate::model::Policy;
use crate::resources::Resources;
use crate::table::read::Table;

/// Replays the choice of a release's groups.
pub(super) fn replay(
    original: &Table,
    release: &Release,
    policy: &Policy,
    cuts: ReplayedCuts,
    effort: ReplayEffort,
    resources: &Resources<'_>,
) -> Result<ReplayReport> {
    replayed_model(policy)?;
    // Groups do not depend on whether their people are published with labels or one by one.
    let policy = policy.generalized();
    let report = TrialTable::read(original, &policy, u64::MAX, resources)?.replay(&policy, cuts, effort)?;
    let published = release.manifest();
    match (report.people, report.groups) == (published.individuals, published.groups) {
        true => Ok(report),
        false => Err(Error::input(
            "this table and policy give other groups than the release has",
            "give the table that the release was made from, and the version that made it; groups that were chosen among given \
             functions, by a lattice or night after night are not replayed",
        )),
    }
}

pub(super) fn to_text(report: &ReplayReport) -> String {
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
    let others = match report.knows_others {
        true => {
            "others             what k and m allow to know of others is not used; somebody who has it may reach more\n"
        }
        false => "",
    };
    format!(
        "\n{}\n{others}\
         an estimate        from the cuts that each group refused; cuts refused before them could tell more\n\
         groups             {} rule something out; all arrangements of {} were tried, {} of each other one were drawn\n\
         undecided          {}: nothing that was drawn is possible\n\
         intervals          all of them hold with a probability of {}\n",
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
        "ignores_known_people": report.knows_others,
        "groups_that_tell": report.telling,
        "groups_exhaustive": report.exhaustive,
        "groups_undecided": report.undecided,
        "arrangements_drawn": report.effort.drawn,
    })
}
