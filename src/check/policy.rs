//! What does a policy ask of a table of groups?

use super::criterion::{Absent, Implications, Requirements};
use super::job::{Columns, Part};
use super::shares::ShareRequirement;
use crate::error::{Error, Result};
use crate::math::confidence::Confidence;
use crate::math::exact::Rational;
use crate::math::skyline::{Knowledge, Point};
use crate::model::beliefs::Question;
use crate::model::implications::ImplicationsModel;
use crate::model::shares::ShareCriterion;
use crate::model::skyline::{ProtectedValues, SkylineRequirement};
use crate::model::{Model, Policy, Target};
use crate::policy::Nearness;

/// One sensitive column, and what must hold for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// What the columns of the table mean.
    pub columns: Columns,
    /// What must hold.
    pub requirements: Requirements,
}

/// The tasks of a policy, one for each sensitive column, for a table with these group columns.
///
/// What this check cannot judge is an error: it must not look as if it held.
pub fn tasks(policy: &Policy, groups: &[String]) -> Result<Vec<Task>> {
    policy.privacy.targets.iter().map(|target| task(policy, target, groups)).collect()
}

fn task(policy: &Policy, target: &Target, groups: &[String]) -> Result<Task> {
    let unknown = |what: &str| unknown(policy, target, what);
    let columns = columns(policy, target, groups)?;
    let (skyline, implications) = match &target.model {
        Model::Skyline(model) => {
            let skyline = model.points.iter().map(|asked| skyline_point(policy, asked));
            (skyline.collect::<Result<_>>()?, None)
        }
        Model::Implications(ImplicationsModel { knows, confidence }) => {
            let confidence = Some(threshold(policy, confidence)?);
            let up_to = usize::try_from(*knows).unwrap_or(usize::MAX);
            (Vec::new(), Some(Implications { up_to, confidence }))
        }
        Model::Beliefs(_) => (Vec::new(), None),
        Model::Robust(_) => return unknown("the privacy model"),
    };
    let nearness = policy.columns.sensitive(&target.name());
    let nearness = nearness.map_or(Nearness::Equal, |column| column.nearness.clone());
    let share = |criterion: &ShareCriterion| ShareRequirement {
        criterion: criterion.clone(),
        nearness: nearness.clone(),
    };
    let beliefs = match &target.model {
        Model::Beliefs(asked) => Some(Box::new(Question::of(policy, target, asked)?)),
        _ => None,
    };
    Ok(Task {
        columns,
        requirements: Requirements {
            skyline,
            implications,
            shares: target.criteria.iter().map(share).collect(),
            beliefs,
            minimum_group_size: policy.privacy.minimum_group_size,
            minimum_distinct_values: if target.minimum_distinct > 1 { target.minimum_distinct } else { 0 },
            absent: Absent::Report,
        },
    })
}

/// What the columns of a table mean for one target of a policy.
pub fn columns(policy: &Policy, target: &Target, groups: &[String]) -> Result<Columns> {
    let unknown = |what: &str| unknown(policy, target, what);
    let null_is = |name: &String| policy.columns.sensitive(name).and_then(|column| column.null_is.clone());
    let (parts, null) = match &target.columns[..] {
        [] => return unknown("nothing at all"),
        [only] => (Vec::new(), null_is(only)),
        several => {
            let part = |name: &String| Part { name: name.clone(), null_is: null_is(name) };
            (several.iter().map(part).collect(), None)
        }
    };
    Ok(Columns {
        groups: groups.to_vec(),
        sensitive: target.name(),
        parts,
        values: target.values,
        individual: policy.columns.individual.clone(),
        null_is: null,
        count: policy.columns.count.clone(),
    })
}

fn unknown<T>(policy: &Policy, target: &Target, what: &str) -> Result<T> {
    Err(Error::input(
        format!("{}: {what} of column `{}` cannot be checked", policy.file.display(), target.name()),
        "check it with a policy that states skyline points, implications or a minimum group size",
    ))
}

fn threshold(policy: &Policy, confidence: &Rational) -> Result<Confidence> {
    Confidence::new(confidence.clone()).ok_or_else(|| {
        Error::input(
            format!("{}: a confidence is not above 0 and at most 1", policy.file.display()),
            "write a decimal or a fraction such as 0.5",
        )
    })
}

fn skyline_point(policy: &Policy, asked: &SkylineRequirement) -> Result<(Option<Vec<String>>, Point)> {
    let confidence = threshold(policy, &asked.confidence)?;
    let names = match &asked.values {
        ProtectedValues::Every => None,
        ProtectedValues::These(names) => Some(names.clone()),
    };
    let knowledge = Knowledge { l: asked.l, k: asked.k, m: asked.m };
    Ok((names, Point { knowledge, confidence }))
}
