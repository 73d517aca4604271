//! Which policies require a little less?
//!
//! Each differs from the policy in one line. None is proposed: the owner decides what may be given up.

use super::obstacle::{Binding, BindingRequirement};
use super::policy::Policy;
use crate::policy::quoted;

/// A policy that requires less in one respect.
#[derive(Debug, Clone)]
pub struct Relaxation {
    /// What was changed, as one would write it in the policy.
    pub change: String,
    /// The changed policy.
    pub policy: Policy,
}

/// The most values that are excepted, one at a time.
const MOST_VALUES: usize = 3;

impl Policy {
    /// Policies without one of the values that bind, and with one step less of what a requirement asks for.
    pub fn relaxations(&self, binds: &[Binding]) -> Vec<Relaxation> {
        let mut relaxed = Vec::new();
        let mut with = |change: String, adapt: &dyn Fn(&mut Policy)| {
            let mut policy = self.clone();
            adapt(&mut policy);
            relaxed.push(Relaxation { change, policy });
        };
        let values = binds.iter().filter_map(|binding| match &binding.requirement {
            BindingRequirement::Point { column, value: Some(value), .. } => Some((column, value)),
            _ => None,
        });
        let mut seen = Vec::new();
        for (column, value) in values {
            if seen.len() == MOST_VALUES || seen.contains(&(column, value)) {
                continue;
            }
            seen.push((column, value));
            with(format!("except = [{}]", quoted(value)), &|policy| {
                let targets = policy.privacy.targets.iter_mut().filter(|target| target.name() == *column);
                targets.for_each(|target| target.model.except(value));
            });
        }
        for (at, target) in self.privacy.targets.iter().enumerate() {
            for (change, model) in target.model.relaxed() {
                with(change, &|policy| policy.privacy.targets[at].model = model.clone());
            }
            if target.minimum_distinct > 1 {
                let less = target.minimum_distinct - 1;
                with(format!("minimum_distinct = {less}"), &|policy| {
                    policy.privacy.targets[at].minimum_distinct = less;
                });
            }
        }
        if self.privacy.minimum_group_size > 1 {
            let half = self.privacy.minimum_group_size / 2;
            with(format!("k_anonymity = {half}"), &|policy| policy.privacy.minimum_group_size = half);
        }
        relaxed
    }
}
