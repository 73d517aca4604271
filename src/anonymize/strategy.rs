//! Which generalization function is published, so that the choice itself gives nothing away?
//!
//! The audit decides; this writes the groups of the chosen function in the layout of every release, and has the
//! written files checked. The check may veto a release, never make one: its verdict depends on what would be
//! published alone, so for an adversary who replays the strategy nothing changes.
//!
//! The manifest tells of the released function only. The sets of other functions depend on multisets that are not
//! published, and so does a fingerprint of the input: with it each table that a replay leaves could be tested.
//!
//! Memory: that of the audit; at most [`MOST_PEOPLE`](crate::group::given::MOST_PEOPLE) people.

use super::{Job, Outcome, Summary, judge_written, kept_written, published};
use crate::encode::attribute::{Attribute, Coding};
use crate::encode::column::Column;
use crate::encode::combination::SensitiveColumns;
use crate::encode::group_counts::GroupCounts;
use crate::encode::payload::Payload;
use crate::error::{Error, Result};
use crate::group::given::{self as audit, Candidate, Case, People, Purpose};
use crate::group::groups::{Group, Present};
use crate::group::tree::CutTree;
use crate::math::disclosure_sets::{self, Finding, Limits, Release};
use crate::math::skyline::Values;
use crate::policy::{Ranges, Strategy};
use crate::release::label::Labels;
use crate::release::manifest::{self, Chosen, Evidence, Input, ReleaseStyle};
use crate::release::output::{Output, Shape};
use crate::release::penalty::{Measure, Utility};
use crate::release::staging::Staging;
use crate::resources::budget::Budget;
use crate::resources::spill::Spill;
use crate::table::read::Table;
use std::collections::{BTreeSet, HashMap};

/// How the function is chosen.
pub struct Choice<'a> {
    /// Who chooses.
    pub strategy: Strategy,
    /// A table of group numbers; without it the functions of the policy.
    pub functions: Option<&'a Table>,
    /// Steps of counting per disclosure set.
    pub limit_steps: u64,
}

/// Runs a job whose groups are those of a generalization function.
pub fn run(job: &Job<'_>, choice: &Choice<'_>) -> Result<Outcome> {
    if job.policy.publish.ranges == Ranges::Bounds {
        return Err(Error::input(
            "publish.ranges = \"bounds\" has no meaning with a strategy: functions give labels",
            "write ranges = \"label\"",
        ));
    }
    let staging = Staging::create(job.out)?;
    let spill = Spill::create(job.temp)?;
    let budget = Budget::new(job.memory);
    // An estimate never decides, so none is drawn.
    let limits = Limits { steps: choice.limit_steps, samples: 0, ..Limits::default() };
    let audit_job = audit::Job {
        table: job.table,
        policy: job.policy,
        functions: choice.functions,
        limits,
        threads: job.threads,
    };
    job.progress.start("auditing", None);
    let case = Case::read(&audit_job, Purpose::Release)?;
    let chosen = match chosen(&case, choice.strategy) {
        Ok(chosen) => chosen,
        Err(reason) => return Ok(Outcome::Withheld(reason)),
    };

    let people = &case.people;
    let candidate = &case.candidates[chosen.function - 1];
    let told = Told::new(people, candidate);
    let (groups, group_of) = groups(people, candidate, &told);
    let mut labels = labels(job, &told.attributes, people)?;
    if told.codes.is_some() {
        labels = labels.into_iter().map(|(name, labels)| (name, labels.of_labels())).collect();
    }
    let fields: Vec<_> = people.travelling.0.iter().collect();
    let payload = if fields.is_empty() { None } else { Some(Payload::new(&fields)?) };
    let sensitive = SensitiveColumns::one(people.sensitive.clone());
    let shape = Shape {
        style: job.policy.publish.style,
        values: Values::Single,
        ranges: job.policy.publish.ranges,
        labels: &labels,
        sensitive: &sensitive,
        payload: payload.as_ref(),
    };
    let mut output = Output::create(staging.folder(), &shape, &spill, job.threads)?;
    for (number, group) in (1..).zip(&groups) {
        output.push(number, &group.told)?;
    }
    if let Some(payload) = &payload {
        let (mut lengths, mut bytes) = (vec![], vec![]);
        people.travelling.1.iter().try_for_each(|batch| payload.append(batch, &mut lengths, &mut bytes))?;
        let mut rest = &bytes[..];
        let rows = lengths.iter().zip(&group_of).enumerate().map(|(person, (&length, &group))| {
            let (row, after) = rest.split_at(length as usize);
            rest = after;
            (group, people.value(person), row)
        });
        output.push_rows(rows, &budget)?;
    }
    output.finish()?;

    let utility = utility(job, people, &groups)?;
    let verdict = judge_written(job, &shape, staging.folder(), &budget)?;
    if !verdict.is_safe() {
        return Ok(Outcome::Withheld(format!(
            "function {} is safe against a replay, but its groups alone do not satisfy the policy",
            chosen.function
        )));
    }
    let people = staging.folder().join(if shape.is_joined() { "data" } else { "quasi" });
    let kept = kept_written(job, &people)?;
    let evidence = Evidence {
        policy: job.policy,
        style: if shape.is_joined() { ReleaseStyle::Generalized } else { ReleaseStyle::Bucketized },
        input: Input::Chosen(Box::new(chosen)),
        columns: &published(&verdict),
        utility: &utility,
    };
    manifest::write(staging.folder(), &evidence)?;
    staging.publish()?;
    let report = verdict.first();
    Ok(Outcome::Published(Summary {
        records: report.individuals,
        groups: report.groups,
        spilled_bytes: spill.bytes(),
        source_scans: job.table.scans(),
        utility,
        searched: None,
        kept,
        robust: None,
    }))
}

/// The function that the strategy publishes, or why there is none.
fn chosen(case: &Case, strategy: Strategy) -> Result<Chosen, String> {
    let Some(sequence) = &case.sequence else {
        return Err("every function has a group below the minimum size of the policy".to_string());
    };
    let (name, rule) = match strategy {
        Strategy::Inclusive => ("inclusive", disclosure_sets::Strategy::Inclusive),
        Strategy::Exclusive => ("exclusive", disclosure_sets::Strategy::Exclusive),
    };
    let number = |place: usize| case.tried[place] + 1;
    let undecided = |place: usize, finding: &Finding| {
        let reason = match finding {
            Finding::Refused { reason, .. } => reason,
            Finding::Exact(_) => "the limits do not suffice",
        };
        Err(format!("the {name} strategy cannot decide on function {}: {reason}", number(place)))
    };
    match sequence.release(rule) {
        Release::Function(place) => match sequence.left(rule, place) {
            Finding::Exact(left) if left.holds => Ok(Chosen {
                strategy: name,
                function: number(place),
                functions: case.candidates.len(),
                name: case.candidates[case.tried[place]].name.clone(),
                rearrangements: sequence.per(place),
                left,
            }),
            finding => undecided(place, &finding),
        },
        Release::Undecided(place) => undecided(place, &sequence.left(rule, place)),
        Release::Nothing => Err(match (strategy, sequence.release(disclosure_sets::Strategy::Naive)) {
            (Strategy::Exclusive, Release::Function(place)) => format!(
                "function {} looks safe, but not to an adversary who replays the choice",
                number(place)
            ),
            _ => "no function is safe".to_string(),
        }),
    }
}

/// The quasi-identifiers as the release tells them.
struct Told {
    attributes: Vec<Attribute>,
    /// For each column and code of the table the code among the labels; `None` where codes stay as they are.
    codes: Option<Vec<Vec<u16>>>,
}

impl Told {
    fn new(people: &People, candidate: &Candidate) -> Self {
        let Some(labels) = &candidate.labels else {
            return Told { attributes: people.attributes.clone(), codes: None };
        };
        let (mut attributes, mut codes) = (vec![], vec![]);
        for (attribute, labels) in people.attributes.iter().zip(labels) {
            // In the order of the codes, so that groups come in the order of the values.
            let mut values: Vec<Box<str>> = vec![];
            let mut place: HashMap<&str, u16> = HashMap::new();
            codes.push(
                labels
                    .iter()
                    .map(|label| {
                        *place.entry(label).or_insert_with(|| {
                            values.push(label.as_str().into());
                            (values.len() - 1) as u16
                        })
                    })
                    .collect(),
            );
            let coding = Coding::Set { values, other: None };
            attributes.push(Attribute { name: attribute.name.clone(), nulls: false, coding });
        }
        Told { attributes, codes: Some(codes) }
    }
}

/// A group in the codes of the release, and in those of the table.
struct Groups {
    told: Group,
    /// With the values that occur.
    tight: Group,
    /// With all values that have the label.
    wide: Group,
}

/// The groups in the order of what they tell, and the number of each person's group.
fn groups(people: &People, candidate: &Candidate, told: &Told) -> (Vec<Groups>, Vec<u64>) {
    let mut groups: Vec<(Groups, &Vec<u32>)> = Vec::new();
    for members in candidate.partition.groups() {
        let mut part = GroupCounts { people: members.len() as u64, counts: vec![0; people.sensitive.len()] };
        members.iter().for_each(|&person| part.counts[usize::from(people.value(person as usize))] += 1);
        let columns = people.rows.columns.iter();
        let tight: Vec<BTreeSet<u16>> =
            columns.map(|codes| members.iter().map(|&person| codes.get(person as usize)).collect()).collect();
        let (told, wide) = match &told.codes {
            None => (tight.clone(), tight.clone()),
            Some(codes) => {
                let told: Vec<BTreeSet<u16>> = tight
                    .iter()
                    .zip(codes)
                    .map(|(tight, codes)| tight.iter().map(|&code| codes[usize::from(code)]).collect())
                    .collect();
                let wide = told.iter().zip(codes).map(|(told, codes)| {
                    (0..=u16::MAX)
                        .zip(codes)
                        .filter(|(_, label)| told.contains(label))
                        .map(|(code, _)| code)
                        .collect()
                });
                (told.clone(), wide.collect())
            }
        };
        let group = |codes: &[BTreeSet<u16>]| group(codes, part.clone());
        groups.push((Groups { told: group(&told), tight: group(&tight), wide: group(&wide) }, members));
    }
    groups.sort_by(|(one, _), (other, _)| {
        let key = |group: &Group| -> Vec<Vec<u16>> {
            group.present.iter().map(|present| present.codes.clone()).collect()
        };
        key(&one.told).cmp(&key(&other.told)).then_with(|| one.told.part.counts.cmp(&other.told.part.counts))
    });
    let mut group_of = vec![0; people.len()];
    for (number, (_, members)) in (1..).zip(&groups) {
        members.iter().for_each(|&person| group_of[person as usize] = number);
    }
    (groups.into_iter().map(|(group, _)| group).collect(), group_of)
}

fn group(codes: &[BTreeSet<u16>], part: GroupCounts) -> Group {
    let present = |codes: &BTreeSet<u16>| {
        let ends = codes.first().zip(codes.last()).unwrap_or((&0, &0));
        Present { ends: (u32::from(*ends.0), u32::from(*ends.1)), codes: codes.iter().copied().collect() }
    };
    let present: Vec<Present> = codes.iter().map(present).collect();
    let extent = present.iter().map(|present| present.ends.0..present.ends.1 + 1).collect();
    Group { node: CutTree::ROOT, extent, present, part }
}

fn labels<'a>(
    job: &'a Job<'_>,
    attributes: &'a [Attribute],
    people: &People,
) -> Result<Vec<(String, Labels<'a>)>> {
    let label = |(attribute, &place): (&'a Attribute, &usize)| {
        let kind = job.table.kind(&attribute.name)?;
        Ok((attribute.name.clone(), Labels::new(attribute, &job.policy.columns.quasi[place], kind)?))
    };
    attributes.iter().zip(&people.places).map(label).collect()
}

/// Labels are as wide as the values of the table that they cover.
fn utility(job: &Job<'_>, people: &People, groups: &[Groups]) -> Result<Utility> {
    let columns: Vec<Column> = people.attributes.iter().map(Attribute::column).collect();
    let labels = labels(job, &people.attributes, people)?;
    let measured = |pick: fn(&Groups) -> &Group| {
        let mut measure = Measure::new(&columns, &people.attributes, &labels);
        groups.iter().for_each(|group| measure.add(pick(group)));
        measure.finish()
    };
    let mut utility = measured(|group| &group.wide);
    let tight = measured(|group| &group.tight);
    for (column, tight) in utility.columns.iter_mut().zip(tight.columns) {
        column.tight = tight.tight;
    }
    Ok(utility)
}
