//! What does a policy ask of a table of groups?

use super::criterion::{Absent, Requirements};
use super::job::Columns;
use crate::error::{Error, Result};
use crate::policy::{Model, Policy, Protected, Requirement, Target, Values as PolicyValues};
use crate::skyline::{Confidence, Knowledge, Point, Values};

/// One sensitive column, and what must hold for it.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    let unknown = |what: &str| {
        Err(Error::input(
            format!("{}: {what} of column `{}` cannot be checked", policy.file.display(), target.name()),
            "check it with a policy that states skyline points or a minimum group size",
        ))
    };
    let [sensitive] = &target.columns[..] else { return unknown("the joint protection") };
    let requirements = match &target.model {
        Model::Skyline(requirements) => requirements,
        Model::Implications { .. } | Model::Robust(_) | Model::Beliefs(_) => {
            return unknown("the privacy model");
        }
    };
    if !target.criteria.is_empty() {
        return unknown("a criterion beside the skyline");
    }
    if policy.columns.count.is_some() {
        return unknown("the count of rows");
    }
    let columns = Columns {
        groups: groups.to_vec(),
        sensitive: sensitive.clone(),
        values: match target.values {
            PolicyValues::Single => Values::Single,
            PolicyValues::Set => Values::Set,
            PolicyValues::Multiset => Values::Multiset,
        },
        individual: policy.columns.individual.clone(),
        null_is: policy.columns.sensitive(sensitive).and_then(|column| column.null_is.clone()),
    };
    let skyline: Result<Vec<_>> = requirements.iter().map(|asked| skyline_point(policy, asked)).collect();
    Ok(Task {
        columns,
        requirements: Requirements {
            skyline: skyline?,
            minimum_group_size: policy.privacy.minimum_group_size,
            minimum_distinct_values: if target.minimum_distinct > 1 { target.minimum_distinct } else { 0 },
            absent: Absent::Report,
        },
    })
}

fn skyline_point(policy: &Policy, asked: &Requirement) -> Result<(Option<Vec<String>>, Point)> {
    let confidence = Confidence::new(asked.confidence.clone()).ok_or_else(|| {
        Error::input(
            format!("{}: a confidence is not above 0 and at most 1", policy.file.display()),
            "write a decimal or a fraction such as 0.5",
        )
    })?;
    let names = match &asked.values {
        Protected::Every => None,
        Protected::These(names) => Some(names.clone()),
    };
    let knowledge = Knowledge { l: asked.l, k: asked.k, m: asked.m };
    Ok((names, Point { knowledge, confidence }))
}
