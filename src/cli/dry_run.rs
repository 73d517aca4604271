//! `skyveil anonymize --dry-run`: what would a release be like, and which line of the policy costs most?

use super::Answer;
use super::anonymize::bound;
use super::flags::ResourceFlags;
use super::terminal::{print, visible, with_progress};
use crate::anonymize::{PolicyEstimate, Trial};
use crate::error::{Result, number_of};
use crate::model::Policy;
use crate::policy::{quoted, quoted_key};
use crate::release::receipt::binding;
use crate::table::read::Table;
use serde_json::{Value, json};

/// Estimates, and prints the estimates.
pub fn run(table: &Table, policy: &Policy, resources: &ResourceFlags, as_json: bool) -> Result<Answer> {
    let estimate = with_progress(|progress| PolicyEstimate::of(table, policy, &resources.all(progress)))?;
    print(&if as_json { to_json(&estimate) } else { to_text(&estimate, policy) })?;
    Ok(if estimate.as_it_is.groups > 0 { Answer::Yes } else { Answer::No })
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

fn to_text(estimate: &PolicyEstimate, policy: &Policy) -> String {
    let PolicyEstimate { people, sampled: tried, as_it_is, relaxed } = estimate;
    let mut text = format!("{}; nothing is published\n\n", sampled(*tried, *people));
    if let Some(binding) = as_it_is.binds.first() {
        text.push_str(&format!("what binds: {}\n\n", bound(binding, *tried)));
    }
    let changes = relaxed.iter().map(|own| (visible(&own.change), &own.trial));
    let lines: Vec<(String, &Trial)> =
        [("the policy as it is".to_string(), as_it_is)].into_iter().chain(changes).collect();
    text.push_str(&compared(&lines));
    let excepted = relaxed.iter().find_map(|own| own.change.strip_prefix("except = "));
    if let (Some(value), Some(column)) = (excepted, policy.columns.sensitive.first()) {
        text.push_str(&format!(
            "\nan excepted value needs another point; or, if it is harmless, write not_sensitive = {} below\n\
             [columns.sensitive.{}], which takes the place of sensitive = {}\n",
            visible(value),
            visible(&quoted_key(&column.name)),
            visible(&quoted(&column.name))
        ));
    }
    text
}

fn to_json(estimate: &PolicyEstimate) -> String {
    let trial = |trial: &Trial| {
        json!({
            "groups": trial.groups,
            "certainty_penalty": trial.penalty,
            "median_query_error": trial.median_error,
            "binds": trial.binds.iter().map(binding).collect::<Vec<Value>>(),
        })
    };
    let relaxed = estimate.relaxed.iter().map(|own| {
        let mut object = trial(&own.trial);
        object["change"] = json!(own.change);
        object
    });
    let object = json!({
        "estimate": estimate.sampled < estimate.people,
        "people": estimate.people,
        "sampled": estimate.sampled,
        "policy": trial(&estimate.as_it_is),
        "relaxed": relaxed.collect::<Vec<Value>>(),
    });
    format!("{object}\n")
}
