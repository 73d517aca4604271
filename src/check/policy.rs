//! What does a policy require of a table of groups?

use super::job::{ColumnRoles, JointColumn, ValuedRows};
use crate::error::{Error, Result};
use crate::model::judge::Requirements;
use crate::model::{Policy, Target};

/// One sensitive column, and what must hold for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// What the columns of the table mean.
    pub columns: ColumnRoles,
    /// What must hold.
    pub requirements: Requirements,
}

/// The tasks of a policy, one for each sensitive column, for a table with these group columns.
pub fn tasks(policy: &Policy, groups: &[String]) -> Result<Vec<Task>> {
    policy.privacy.targets.iter().map(|target| task(policy, target, groups)).collect()
}

/// The same for a table of a release, where each row is a person, regardless of the rows of the source.
pub fn release_tasks(policy: &Policy, groups: &[String], valued: ValuedRows) -> Result<Vec<Task>> {
    let of_release = |task: Task| Task { columns: task.columns.of_release(valued), ..task };
    Ok(tasks(policy, groups)?.into_iter().map(of_release).collect())
}

/// Which rows of a release by this policy have a value of a sensitive column: a list stands apart from all other columns.
pub fn valued_rows(policy: &Policy) -> ValuedRows {
    match policy.privacy.stand_apart() {
        true => ValuedRows::OfTheColumn,
        false => ValuedRows::Every,
    }
}

fn task(policy: &Policy, target: &Target, groups: &[String]) -> Result<Task> {
    Ok(Task { columns: columns(policy, target, groups)?, requirements: Requirements::of(policy, target)? })
}

/// What the columns of a table mean for one target of a policy.
pub fn columns(policy: &Policy, target: &Target, groups: &[String]) -> Result<ColumnRoles> {
    let null_is = |name: &String| policy.columns.sensitive(name).and_then(|column| column.null_is.clone());
    let (parts, null) = match &target.columns[..] {
        [] => {
            return Err(Error::input(
                format!("{}: a target of [privacy] names no column", policy.file.display()),
                "name its sensitive columns",
            ));
        }
        [only] => (Vec::new(), null_is(only)),
        several => {
            let part = |name: &String| JointColumn { name: name.clone(), null_is: null_is(name) };
            (several.iter().map(part).collect(), None)
        }
    };
    Ok(ColumnRoles {
        groups: groups.to_vec(),
        sensitive: target.name(),
        parts,
        values: target.values,
        individual: policy.columns.individual.clone(),
        null_is: null,
        count: policy.columns.count.clone(),
        valued: ValuedRows::Every,
    })
}
