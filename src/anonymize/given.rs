//! Which generalization function can be published so that the choice itself reveals nothing?
//!
//! The audit decides; this module writes the groups of the chosen function in the common release layout, and
//! has the written files checked. The check may veto a release but never make one: its verdict depends only
//! on what would be published, so it reveals nothing more to an adversary who replays the strategy.
//!
//! The receipt describes the released function only: the sets of other functions depend on multisets that are
//! not published. The manifest does not even name the function: several may publish the same rows.
//!
//! Memory: that of the audit; at most 20,000 people.

use super::job::{Anonymize, Outcome, Workplace};
use super::lints::Lints;
use super::written::{Attempt, Written};
use crate::encode::attribute::Attribute;
use crate::encode::combination::SensitiveColumns;
use crate::encode::payload::Payload;
use crate::error::{Error, Lint, Result};
use crate::group::given::{
    CandidateFunction, CodedPeople, GivenFunctions, GroupedPeople, PublishedAttributes, ReadFor,
};
use crate::math::disclosure_sets::{self, AuditFinding, AuditedRelease, Limits, SharesSummary};
use crate::model::protection::Protection;
use crate::policy::{Ranges, Strategy};
use crate::release::label::Labels;
use crate::release::manifest::ReleaseStyle;
use crate::release::output::{Output, ReleaseShape};
use crate::release::penalty::{Measure, Utility};
use serde_json::{Value, json};

/// Writes the groups of the generalization function that a strategy chooses.
pub(super) fn write_groups(
    job: &Anonymize<'_>,
    strategy: Strategy,
    workplace: &Workplace<'_>,
) -> Result<Attempt> {
    if job.policy.publish.ranges == Ranges::Bounds {
        return Err(Error::input(
            "publish.ranges = \"bounds\" has no meaning with a strategy: functions give labels",
            "write ranges = \"label\"",
        ));
    }
    // An estimate never decides anything, so none is drawn.
    let limits = Limits { steps: job.limit_steps, samples: 0, ..Limits::default() };
    let given = GivenFunctions {
        table: job.table,
        policy: job.policy,
        functions: job.functions,
        limits,
        resources: &workplace.resources,
    };
    workplace.resources.progress.start("auditing", None);
    let case = GroupedPeople::read(&given, ReadFor::AuditedRelease)?;
    let accepted = accepted(job, &case.people)?;
    let chosen = match chosen(&case, strategy) {
        Ok(chosen) => chosen,
        Err(reason) => return Ok(Attempt::Nothing(Outcome::Withheld(reason))),
    };
    let candidate = &case.candidates[chosen.function - 1];
    let (style, utility) = write_tables(job, &case.people, candidate, workplace)?;
    let (input_rows, fingerprint) = workplace.fingerprint(job)?;
    Ok(Attempt::Written(Box::new(Written {
        style,
        people: case.people.len() as u64,
        input_rows,
        fingerprint,
        veto: Some(format!(
            "function {} is safe against a replay, but its groups alone do not satisfy the policy",
            chosen.function
        )),
        audit: Some(audit(&chosen)),
        utility,
        binds: Vec::new(),
        searched: None,
        tree: None,
        distributions: None,
        suppressed: None,
        accepted,
        night: None,
        by_tasks: None,
    })))
}

/// The risks of publishing these people that the policy accepts by name.
fn accepted(job: &Anonymize<'_>, people: &CodedPeople) -> Result<Vec<Lint>> {
    let sensitive = SensitiveColumns::one(people.sensitive.clone());
    let whole = people.rows.total(sensitive.len());
    let findings = Protection::new(job.policy)?.judge_whole(&whole, &sensitive)?;
    let mut lints = Lints::of_findings(&findings);
    lints.add_values(job.policy, job.table, &sensitive, &whole)?;
    lints.add_repeated_ids(&people.ids_of_rows);
    // Functions of the policy give labels of their own; groups from a table get ranges.
    if job.functions.is_some() {
        lints.add_ends(job.policy, &people.attributes, whole.people);
    }
    lints.accepted(job.policy)
}

fn write_tables(
    job: &Anonymize<'_>,
    people: &CodedPeople,
    candidate: &CandidateFunction,
    workplace: &Workplace<'_>,
) -> Result<(ReleaseStyle, Utility)> {
    let published = PublishedAttributes::new(people, candidate);
    let mut labels = labels(job, &published.attributes)?;
    if published.codes.is_some() {
        labels = labels.into_iter().map(|(name, labels)| (name, labels.of_labels())).collect();
    }
    let fields: Vec<_> = people.travelling.0.iter().collect();
    let payload = if fields.is_empty() { None } else { Some(Payload::new(&fields)?) };
    let sensitive = SensitiveColumns::one(people.sensitive.clone());
    let shape = ReleaseShape {
        style: job.policy.publish.style,
        ranges: job.policy.publish.ranges,
        labels: &labels,
        sensitive: &sensitive,
        payload: payload.as_ref(),
        groups_before: 0,
    };
    let mut output =
        Output::create(workplace.staging.folder(), &shape, &workplace.spill, job.part_options())?;
    let measured = people.places.iter().zip(&people.attributes).map(|(&place, own)| {
        let quasi = &job.policy.columns.quasi[place];
        Ok((quasi, job.table.kind(&quasi.name)?, own))
    });
    let mut measure = Measure::new(measured.collect::<Result<Vec<_>>>()?);
    let group_of = candidate.groups(people, &published, |number, group| {
        let shown = labels.iter().zip(&group.published.present);
        measure.add_labelled(&group.tight, shown.map(|((_, labels), present)| labels.label(present)));
        output.push(number, &group.published)
    })?;
    if let Some(payload) = &payload {
        let (mut lengths, mut bytes) = (vec![], vec![]);
        people.travelling.1.iter().try_for_each(|batch| payload.append(batch, &mut lengths, &mut bytes))?;
        let mut rest = &bytes[..];
        let rows = lengths.iter().zip(&group_of).enumerate().map(|(person, (&length, &group))| {
            let (row, after) = rest.split_at(length as usize);
            rest = after;
            (group, people.value(person), row)
        });
        output.push_rows(rows, &workplace.resources.budget)?;
    }
    output.finish()?;
    let style = if shape.is_joined() { ReleaseStyle::Generalized } else { ReleaseStyle::Bucketized };
    Ok((style, measure.finish()))
}

/// The generalization function that a strategy chose, and the tables that a replay of the choice leaves.
struct Chosen {
    /// `inclusive` or `exclusive`.
    strategy: &'static str,
    /// The number of the function, counted from 1.
    function: usize,
    /// How many functions there were.
    functions: usize,
    /// What the function does.
    name: String,
    /// All tables with this publication.
    rearrangements: SharesSummary,
    /// Those for which the strategy makes this publication.
    left: SharesSummary,
}

/// The choice as a receipt describes it.
fn audit(chosen: &Chosen) -> Value {
    let set = |set: &SharesSummary| {
        let largest = set.largest.as_ref().map(|worst| worst.share.to_string());
        json!({"size": set.size.to_string(), "largest_share": largest})
    };
    json!({
        "strategy": chosen.strategy,
        "function": chosen.function,
        "functions": chosen.functions,
        "name": chosen.name,
        "rearrangements": set(&chosen.rearrangements),
        "disclosure_set": set(&chosen.left),
    })
}

/// The function that the strategy publishes, or why there is none.
fn chosen(case: &GroupedPeople, strategy: Strategy) -> Result<Chosen, String> {
    let Some(sequence) = &case.sequence else {
        return Err("every function has a group below the minimum size of the policy".to_string());
    };
    let (name, rule) = match strategy {
        Strategy::Inclusive => ("inclusive", disclosure_sets::ReplayStrategy::Inclusive),
        Strategy::Exclusive => ("exclusive", disclosure_sets::ReplayStrategy::Exclusive),
    };
    let number = |place: usize| case.tried[place] + 1;
    let undecided = |place: usize, finding: &AuditFinding| {
        let reason = match finding {
            AuditFinding::Refused { reason, .. } => reason,
            AuditFinding::Exact(_) => "the limits do not suffice",
        };
        Err(format!("the {name} strategy cannot decide on function {}: {reason}", number(place)))
    };
    match sequence.release(rule) {
        AuditedRelease::Function(place) => match sequence.left(rule, place) {
            AuditFinding::Exact(left) if left.holds => Ok(Chosen {
                strategy: name,
                function: number(place),
                functions: case.candidates.len(),
                name: case.candidates[case.tried[place]].name.clone(),
                rearrangements: sequence.per(place),
                left,
            }),
            finding => undecided(place, &finding),
        },
        AuditedRelease::Undecided(place) => undecided(place, &sequence.left(rule, place)),
        AuditedRelease::Nothing => {
            Err(match (strategy, sequence.release(disclosure_sets::ReplayStrategy::Naive)) {
                (Strategy::Exclusive, AuditedRelease::Function(place)) => format!(
                    "function {} looks safe, but not to an adversary who replays the choice",
                    number(place)
                ),
                _ => "no function is safe".to_string(),
            })
        }
    }
}

fn labels<'a>(job: &Anonymize<'_>, attributes: &'a [Attribute]) -> Result<Vec<(String, Labels<'a>)>> {
    let label = |attribute: &'a Attribute| {
        Ok((attribute.name.clone(), Labels::new(attribute, job.table.kind(&attribute.name)?)))
    };
    attributes.iter().map(label).collect()
}
