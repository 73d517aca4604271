//! `skyveil anonymize --append`: continue a release by one more night.

use super::Answer;
use super::anonymize::{AnonymizeArgs, warn_of_policy};
use super::metrics::RunMetrics;
use super::terminal::{complain, print, visible_path, with_progress};
use super::verdict;
use crate::anonymize::{Append, Appended, WaitingFor, WaitingPeople};
use crate::error::{Result, number_of};
use crate::model::Policy;
use crate::model::finding::{Claim, Finding};
use crate::release::receipt::{binding, utility};
use crate::report::scope::in_a_line;
use crate::resources::budget::peak_resident_bytes;
use crate::table::read::Table;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Continues the release, and says who was published or waits.
pub fn run(args: &AnonymizeArgs, release: &Path, policy: &Policy, table: &Table) -> Result<Answer> {
    let start = Instant::now();
    let job = Append {
        key: args.key.clone(),
        temp: args.resources.temp(),
        spill: args.resources.spill(),
        memory: args.resources.memory,
        threads: args.resources.threads(),
        ..Append::new(table, policy, release)
    };
    let (appended, phases) = with_progress(|progress| (job.run(progress), progress.took()));
    let appended = appended?;
    let seconds = start.elapsed().as_secs_f64();
    metrics(&appended, seconds, phases).write(args.metrics.as_deref())?;
    print(&match args.json {
        true => format!("{}\n", to_json(release, &appended, seconds)),
        false => to_text(release, &appended, seconds),
    })?;
    match &appended {
        Appended::Published { summary, .. } => warn_of_policy(policy, summary),
        Appended::Waiting(WaitingPeople { reason: WaitingFor::Safety(_), .. }) => complain(
            "all wait",
            "they are enough, but not safe as one group in addition to what is published, so no part of them is \
             published; that they wait depends on their values, and they are published later only if the policy accepts \
             \"waited by values\"",
        ),
        Appended::Waiting(WaitingPeople { reason: WaitingFor::Acknowledgement, .. }) => complain(
            "all wait",
            "some of them waited because of their values, which tells something of these: publish them with accept = \
             [\"waited by values\"], or move the file away for good",
        ),
        Appended::Waiting(_) | Appended::Nothing { .. } => {}
    }
    Ok(match appended {
        Appended::Waiting(WaitingPeople { reason: WaitingFor::Others, .. })
        | Appended::Published { .. }
        | Appended::Nothing { .. } => Answer::Yes,
        Appended::Waiting(_) => Answer::No,
    })
}

fn metrics(appended: &Appended, seconds: f64, phases: Vec<(&'static str, Duration)>) -> RunMetrics {
    let run = RunMetrics { seconds, phases, ..RunMetrics::default() };
    match appended {
        Appended::Published { summary, .. } => RunMetrics {
            rows: summary.records,
            groups: summary.groups,
            spilled_bytes: summary.spilled_bytes,
            pending: Some(0),
            penalty: Some(summary.utility.published_penalty()),
            ..run
        },
        Appended::Waiting(waiting) => RunMetrics { pending: Some(waiting.people), ..run },
        Appended::Nothing { waiting, .. } => RunMetrics { pending: Some(*waiting), ..run },
    }
}

fn reason(waiting: &WaitingFor) -> &'static str {
    match waiting {
        WaitingFor::Others => "others",
        WaitingFor::Safety(_) => "safety",
        WaitingFor::Acknowledgement => "acknowledgement",
    }
}

fn to_json(release: &Path, appended: &Appended, seconds: f64) -> Value {
    let mut object = match appended {
        Appended::Published { night, known, summary } => json!({
            "night": night,
            "safe": summary.safe,
            "records": summary.records,
            "groups": summary.groups,
            "known": known,
            "waiting": 0,
            "receipt": summary.receipt,
            "spilled_bytes": summary.spilled_bytes,
            "source_scans": summary.source_scans,
            "utility": utility(&summary.utility),
            "binds": summary.binds.iter().map(binding).collect::<Vec<_>>(),
        }),
        Appended::Waiting(waiting) => json!({
            "night": null,
            "records": 0,
            "known": waiting.known,
            "waiting": waiting.people,
            "batch": waiting.batch,
            "since": waiting.since,
            "waiting_for": reason(&waiting.reason),
            "pending": waiting.file,
        }),
        Appended::Nothing { known, waiting } => {
            json!({"night": null, "records": 0, "known": known, "waiting": waiting})
        }
    };
    object["release"] = json!(release);
    object["seconds"] = json!(seconds);
    object["peak_memory_bytes"] = json!(peak_resident_bytes());
    object
}

fn to_text(release: &Path, appended: &Appended, seconds: f64) -> String {
    let known = |known: u64| match known {
        0 => String::new(),
        known => format!("published before     {}, left out\n", number_of(known, "person", "people")),
    };
    match appended {
        Appended::Nothing { known: before, waiting } => {
            let mut text = format!("nobody is new; {} stays as it is\n", visible_path(release));
            text.push_str(&known(*before));
            if *waiting > 0 {
                text.push_str(&format!("waiting              {}\n", number_of(*waiting, "person", "people")));
            }
            text
        }
        Appended::Published { night, known: before, summary } => {
            let safe = summary.unprotected.clone().unwrap_or_else(|| "safe".to_string());
            let people = number_of(summary.records, "newcomer", "newcomers");
            let groups = number_of(summary.groups, "group", "groups");
            let memory = peak_resident_bytes().map_or(String::new(), |peak| format!(", {} MiB", peak >> 20));
            format!(
                "{safe}: night {night} of {}, {people} in {groups}\n\n{}\
                 certainty penalty    {:.4} as published\n\
                 receipt              {}, for you alone\n\
                 took                 {seconds:.1} s{memory}\n{}\n",
                visible_path(release),
                known(*before),
                summary.utility.published_penalty(),
                summary.receipt.display(),
                in_a_line(&summary.scope)
            )
        }
        Appended::Waiting(waiting) => {
            let people = number_of(waiting.people, "person waits", "people wait");
            let mut text = format!(
                "{people} since {}; {} stays as it is\n\n{}a night publishes    at {} people\nheld in              {}, for you alone\n",
                waiting.since,
                visible_path(release),
                known(waiting.known),
                waiting.batch,
                waiting.file.display()
            );
            if let WaitingFor::Safety(findings) = &waiting.reason {
                text.push('\n');
                text.push_str(&binding_claims(findings));
            }
            text
        }
    }
}

/// What refuses the batch as one group.
fn binding_claims(findings: &[Finding]) -> String {
    let failing: Vec<&Claim> = findings.iter().flat_map(Finding::failing).collect();
    match failing.is_empty() {
        true => "alone they would be safe; in addition to what is published they are not\n".to_string(),
        false => failing.iter().map(|claim| format!("{}\n", verdict::sentence(claim))).collect(),
    }
}
