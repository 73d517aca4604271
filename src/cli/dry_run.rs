//! `skyveil anonymize --dry-run`: what would a release be like, and which line of the policy costs most?

use super::Answer;
use super::anonymize::bound;
use super::flags::ResourceFlags;
use super::terminal::{print, visible, with_progress};
use crate::anonymize::{RelaxedTrial, Trial, TrialTable, finer_grids};
use crate::error::{Result, number_of};
use crate::model::Policy;
use crate::release::receipt::binding;
use crate::table::read::Table;
use serde_json::{Value, json};

/// The most people who are split in a trial; more take longer and change the estimates little.
pub(super) const MOST_PEOPLE: u64 = 50_000;

/// Estimates, and prints the estimates.
pub fn run(table: &Table, policy: &Policy, resources: &ResourceFlags, as_json: bool) -> Result<Answer> {
    let estimated = with_progress(|progress| -> Result<Estimated> {
        let sample = TrialTable::read(table, policy, MOST_PEOPLE, &resources.all(progress))?;
        progress.start("trying policies", None);
        let as_it_is = sample.try_policy(policy)?;
        let mut relaxed = sample.try_relaxations(policy, &as_it_is.binds)?;
        for (change, finer) in finer_grids(table, policy)? {
            let sample = TrialTable::read(table, &finer, MOST_PEOPLE, &resources.all(progress))?;
            progress.start("trying policies", None);
            relaxed.push(RelaxedTrial { change, trial: sample.try_policy(&finer)? });
        }
        relaxed.sort_by(|one, other| one.trial.loss().total_cmp(&other.trial.loss()));
        progress.finish();
        Ok(Estimated { people: sample.people(), sampled: sample.sampled(), as_it_is, relaxed })
    })?;
    print(&if as_json { estimated.to_json() } else { estimated.to_text() })?;
    Ok(if estimated.as_it_is.groups > 0 { Answer::Yes } else { Answer::No })
}

/// How many people were tried.
pub(super) fn sampled(sampled: u64, people: u64) -> String {
    let all = number_of(people, "person", "people");
    match sampled == people {
        true => format!("tried on all {all}"),
        false => {
            format!("estimated from a sample of {sampled} of {all}, which has coarser groups than the table")
        }
    }
}

/// What came of several policies, one below the other.
pub(super) fn compared(lines: &[(String, &Trial)]) -> String {
    let width = lines.iter().map(|(change, _)| change.chars().count()).max().unwrap_or(0);
    let mut text = format!("{:<width$}  groups  penalty  median query error\n", "");
    for (change, trial) in lines {
        let change = format!("{change}{:<1$}", "", width - change.chars().count());
        text.push_str(&match trial.groups {
            0 => format!("{change}  no safe release exists\n"),
            groups => {
                let error =
                    trial.median_error.map_or("-".to_string(), |error| format!("{:.1} %", 100.0 * error));
                format!("{change}  {groups:>6}  {:>7.4}  {error:>18}\n", trial.penalty)
            }
        });
    }
    text
}

/// What came of the policy and of its relaxations.
struct Estimated {
    people: u64,
    sampled: u64,
    as_it_is: Trial,
    relaxed: Vec<RelaxedTrial>,
}

impl Estimated {
    fn to_text(&self) -> String {
        let mut text = format!("{}; nothing is published\n\n", sampled(self.sampled, self.people));
        if let Some(binding) = self.as_it_is.binds.first() {
            text.push_str(&format!("what binds: {}\n\n", bound(binding, self.sampled)));
        }
        let changes = self.relaxed.iter().map(|own| (visible(&own.change), &own.trial));
        let lines: Vec<(String, &Trial)> =
            [("the policy as it is".to_string(), &self.as_it_is)].into_iter().chain(changes).collect();
        text.push_str(&compared(&lines));
        if self.relaxed.iter().any(|own| own.change.starts_with("except")) {
            text.push_str(
                "\nan excepted value must be protected by another line, or declared harmless with not_sensitive\n",
            );
        }
        text
    }

    fn to_json(&self) -> String {
        let trial = |trial: &Trial| {
            json!({
                "groups": trial.groups,
                "certainty_penalty": trial.penalty,
                "median_query_error": trial.median_error,
                "binds": trial.binds.iter().map(binding).collect::<Vec<Value>>(),
            })
        };
        let relaxed = self.relaxed.iter().map(|own| {
            let mut object = trial(&own.trial);
            object["change"] = json!(own.change);
            object
        });
        let object = json!({
            "estimate": self.sampled < self.people,
            "people": self.people,
            "sampled": self.sampled,
            "policy": trial(&self.as_it_is),
            "relaxed": relaxed.collect::<Vec<Value>>(),
        });
        format!("{object}\n")
    }
}
