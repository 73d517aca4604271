//! The adversary who knows the correlations in the data.

pub mod judge;
pub mod original;
mod policy;
pub mod priors;
mod split;

use std::collections::BTreeMap;

pub use original::{Original, Roles, expect_values_apart};
pub(super) use policy::KEYS;
pub use policy::{BeliefBound, BeliefsModel};
pub use priors::KernelPriors;
pub use split::TableRows;

use crate::error::Result;
use crate::math::beliefs::comparison::BeliefComparison;
use crate::math::beliefs::smoothing::Smoothing;
use crate::math::exact::Rational;
use crate::model::{Policy, Target};
use crate::resources::Resources;

/// Which adversaries a release is tested against, and for which columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What the columns mean.
    pub roles: Roles,
    /// The adversaries.
    pub points: Vec<KernelAdversary>,
    /// The bandwidth of smoothing over the sensitive values.
    pub smooth: Option<Rational>,
}

/// An adversary, and how far beliefs may move.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelAdversary {
    /// The bandwidth of every quasi-identifier.
    pub bandwidth: BTreeMap<String, Rational>,
    /// A person is vulnerable at t if the belief moves by more than t.
    pub thresholds: Vec<Rational>,
}

impl Question {
    /// As a policy declares it for one of its targets.
    pub fn of(policy: &Policy, target: &Target, model: &BeliefsModel) -> Result<Self> {
        let point = |belief: &BeliefBound| KernelAdversary {
            bandwidth: belief.bandwidth.clone(),
            thresholds: vec![belief.t.clone()],
        };
        Ok(Question {
            roles: Roles::of(policy, target)?,
            points: model.points.iter().map(point).collect(),
            smooth: model.smooth.clone(),
        })
    }

    /// How beliefs are compared, for the sensitive values of the original.
    pub fn comparison(
        &self,
        sensitive: &crate::encode::sensitive::SensitiveCoding,
    ) -> Result<BeliefComparison> {
        comparison(self.smooth.as_ref(), &self.roles, sensitive)
    }
}

fn comparison(
    smooth: Option<&Rational>,
    roles: &Roles,
    sensitive: &crate::encode::sensitive::SensitiveCoding,
) -> Result<BeliefComparison> {
    let Some(bandwidth) = smooth else { return Ok(BeliefComparison::new(None)) };
    let distance = original::sensitive_domain(&roles.nearness, sensitive)?;
    let smoothing = Smoothing::among(&distance, sensitive.len(), bandwidth, &roles.sensitive)?;
    Ok(BeliefComparison::new(Some(smoothing)))
}

/// The priors of every adversary of a question.
pub fn priors_of(
    known: &Original,
    question: &Question,
    resources: &Resources<'_>,
) -> Result<Vec<KernelPriors>> {
    let roles = &question.roles;
    let distances = known.attributes.iter().zip(&roles.quasi).map(|(a, quasi)| original::distance(a, quasi));
    let distances = distances.collect::<Result<Vec<_>>>()?;
    let means =
        priors::Means { threads: resources.threads, budget: &resources.budget, progress: resources.progress };
    let names = roles.names();
    let compute = |point: &KernelAdversary| {
        let kernels = priors::kernels(&names, &distances, &point.bandwidth)?;
        KernelPriors::compute(&known.combinations, kernels, &means)
    };
    question.points.iter().map(compute).collect()
}
