//! What must hold for groups that withstand a replay of their choice?

use super::policy::ProtectedValues;
use crate::encode::combination::SensitiveColumns;
use crate::error::{Error, Result};
use crate::math::blind::{BlindPoint, BlindTargets, ShareLimits};
use crate::math::skyline::Values;
use crate::model::Policy;

/// The requirements of a policy with `publish.cuts = "blind"`.
#[derive(Debug)]
pub struct BlindRequirements {
    /// The skyline, by codes of the values.
    pub points: Vec<BlindPoint>,
    /// How large the share of each value may become.
    pub limits: ShareLimits,
}

impl BlindRequirements {
    /// The requirements; an error if nothing is proved about replays of them. They depend on the policy alone: values
    /// that do not occur get codes beyond those of the table.
    pub fn new(policy: &Policy, sensitive: &SensitiveColumns) -> Result<Self> {
        let refused = |problem: &str, remedy: &str| {
            Err(Error::input(
                format!("cuts = \"blind\" {problem}"),
                format!("{remedy}, or choose cuts = \"best\""),
            ))
        };
        if policy.nights.is_some() {
            return refused("covers a single release, and the policy states nights", "leave them out");
        }
        let ([target], [column]) = (&policy.privacy.targets[..], sensitive.columns()) else {
            return refused("withstands a replay for one sensitive column only", "keep one sensitive column");
        };
        if target.values != Values::Single {
            return refused("needs one value per person", "write values = \"single\"");
        }
        let Some(model) = target.model.skyline() else {
            return refused("is proved for the model \"skyline\" only", "write model = \"skyline\"");
        };
        if target.minimum_distinct > 1 || !target.criteria.is_empty() {
            return refused(
                "covers skyline points and group sizes, and the policy requires more",
                "leave out distinct values, shares and t-closeness",
            );
        }
        let mut names: Vec<&str> = vec![];
        let mut code = |name| {
            let absent = column.len() + names.iter().position(|known| *known == name).unwrap_or(names.len());
            match column.code_of_text(name) {
                Some(code) => usize::from(code),
                None => {
                    if absent == column.len() + names.len() {
                        names.push(name);
                    }
                    absent
                }
            }
        };
        let mut points = vec![];
        for point in &model.points {
            let protected = match &point.values {
                ProtectedValues::Every => BlindTargets::Every,
                ProtectedValues::These(these) => {
                    BlindTargets::These(these.iter().map(|name| code(name)).collect())
                }
                ProtectedValues::Except(others) => {
                    BlindTargets::Except(others.iter().map(|name| code(name)).collect())
                }
                ProtectedValues::Near(_) => {
                    return refused("does not cover windows of numbers", "leave out within");
                }
            };
            let size = [point.l, point.k, point.m].map(|number| number as usize);
            points.push(BlindPoint::new(protected, size, point.confidence.clone())?);
        }
        let shares: Vec<(usize, f64)> =
            policy.publish.shares.iter().map(|(name, share)| (code(name), share.to_f64().value())).collect();
        let mut declared = vec![None; column.len() + names.len()];
        shares.into_iter().for_each(|(code, share)| declared[code] = Some(share));
        let limits = ShareLimits::new(&points, &declared)?;
        Ok(BlindRequirements { points, limits })
    }
}
