//! Which property must the shares of every person have?
//!
//! Points (l,0,0) of a skyline, which include recursive (c,l)-diversity and a bound on the confidence. A requirement
//! that depends on more than the shares of each person is rejected: it must not appear to have been audited.

use crate::encode::sensitive::SensitiveCoding;
use crate::error::{Error, Result};
use crate::math::disclosure_sets::{Property, SkylinePoint};
use crate::math::exact::Rational;
use crate::math::skyline::Values;
use crate::model::Policy;
use crate::model::skyline::judge::misspelt;
use crate::model::skyline::{ProtectedValues, SkylineRequirement};
use crate::policy::nearly_the_same;

/// The requirements of a policy, as far as disclosure sets can show them.
pub struct AuditedProperty<'a> {
    requirements: &'a [SkylineRequirement],
}

/// A point that every disclosure set must satisfy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedPoint {
    /// The protected values.
    pub values: ProtectedValues,
    /// How many values the adversary can rule out for a person.
    pub l: u64,
    /// An upper bound on the probability, exclusive.
    pub confidence: Rational,
}

impl<'a> AuditedProperty<'a> {
    /// Creates it from a policy; an error names the first requirement that cannot be audited.
    pub fn new(policy: &'a Policy) -> Result<Self> {
        let cannot = |what: &str, remedy: &str| Err(Error::input(format!("disclosure sets: {what}"), remedy));
        let [target] = &policy.privacy.targets[..] else {
            return cannot(
                "one sensitive column at a time can be audited",
                "name one column in columns.sensitive, and leave out columns.joint",
            );
        };
        if target.values != Values::Single {
            return cannot("every person has one sensitive value", "write values = \"single\"");
        }
        let Some(requirements) = target.model.skyline().map(|model| &model.points[..]) else {
            return cannot(
                "the privacy model depends on more than the shares of each person",
                "give a policy with l_diversity or skyline points (l, 0, 0) for the audit",
            );
        };
        if !target.criteria.is_empty() || target.minimum_distinct > 1 {
            return cannot(
                "t_closeness, probabilistic_l_diversity and distinct values are not judged on them",
                "give a policy with l_diversity or skyline points (l, 0, 0) for the audit",
            );
        }
        if requirements.is_empty() {
            return cannot(
                "the policy requires nothing of sensitive values",
                "add l_diversity = { c = 2, l = 2 }, or [[privacy.skyline]] with a confidence",
            );
        }
        if target.has_closeness_rule() {
            return cannot(
                "windows of numbers (within) are not judged on them",
                "leave out within, or make groups without a strategy",
            );
        }
        for requirement in requirements {
            point(requirement, None)?;
        }
        Ok(AuditedProperty { requirements })
    }

    /// The property in codes, and in words.
    pub fn in_codes(&self, sensitive: &SensitiveCoding) -> Result<(Property, Vec<AuditedPoint>)> {
        let mut skyline = Vec::new();
        for requirement in self.requirements {
            match &requirement.values {
                ProtectedValues::Every | ProtectedValues::Near(_) => skyline.push(point(requirement, None)?),
                ProtectedValues::These(texts) => {
                    for text in texts {
                        match sensitive.code_of_text(text) {
                            Some(code) => skyline.push(point(requirement, Some(code.into()))?),
                            None => self.expect_absent(text, sensitive)?,
                        }
                    }
                }
                ProtectedValues::Except(texts) => {
                    let excepted: Vec<u16> =
                        texts.iter().filter_map(|text| sensitive.code_of_text(text)).collect();
                    let others = (0..sensitive.len() as u16).filter(|code| !excepted.contains(code));
                    for code in others {
                        skyline.push(point(requirement, Some(code.into()))?);
                    }
                }
            }
        }
        let words = |requirement: &SkylineRequirement| AuditedPoint {
            values: requirement.values.clone(),
            l: requirement.l,
            confidence: requirement.confidence.clone(),
        };
        Ok((Property::Skyline(skyline), self.requirements.iter().map(words).collect()))
    }

    /// Fails if a value that does not occur looks like a misspelling of one that does and that the policy does not name.
    fn expect_absent(&self, text: &str, sensitive: &SensitiveCoding) -> Result<()> {
        let named = |other: &String| self.requirements.iter().any(|own| own.values.named().contains(other));
        let near = |other: &String| !named(other) && nearly_the_same(text, other);
        match !sensitive.could_hold(text) || sensitive.texts().iter().any(near) {
            true => Err(misspelt(&sensitive.name, text)),
            false => Ok(()),
        }
    }
}

fn point(requirement: &SkylineRequirement, target: Option<u32>) -> Result<SkylinePoint> {
    // Numbers that exceed a usize also exceed any number of values and people.
    let [l, k, m] = [requirement.l, requirement.k, requirement.m]
        .map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    SkylinePoint::new(target, [l, k, m], requirement.confidence.clone())
}
