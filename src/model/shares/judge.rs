//! Do the shares of the values in each group satisfy the criteria of other tools?
//!
//! Memory: one fraction for each rule.

use crate::math::exact::{Rational, decimal_at_least};
use crate::math::shares::ShareRule;
use crate::model::counted_group::CountedGroup;
use crate::model::finding::{Amount, Claim, ClaimSubject, ClaimVerdict, Limit, Measurement, Note, Side};

/// Digits after the point of a measure in words.
const PLACES: usize = 6;

/// The worst group of each rule so far, with its number.
#[derive(Debug, Clone, Default)]
pub struct SharesJudge {
    worst: Vec<Option<(Rational, u64)>>,
}

impl SharesJudge {
    /// Adds a group.
    pub fn observe(&mut self, rules: &[ShareRule], group: &CountedGroup, number: u64) {
        self.worst.resize(rules.len(), None);
        for (worst, rule) in self.worst.iter_mut().zip(rules) {
            keep_worse(worst, (rule.measure(group.counts()), number));
        }
    }

    /// Adds what another judge with the same rules observed.
    pub fn merge(&mut self, other: SharesJudge) {
        self.worst.resize(self.worst.len().max(other.worst.len()), None);
        for (own, others) in self.worst.iter_mut().zip(other.worst) {
            if let Some(others) = others {
                keep_worse(own, others);
            }
        }
    }

    /// The findings: a claim for every rule.
    pub fn finish(&self, rules: &[ShareRule]) -> (Vec<Claim>, Vec<Note>) {
        let found = |(rule, worst): (&ShareRule, &Option<(Rational, u64)>)| {
            let (measured, group) = worst.clone().unwrap_or((Rational::ONE, 0));
            let note = Note::Summary(format!(
                "{}: {} in the worst group, at most {} is required",
                rule.name(),
                decimal_at_least(&measured, PLACES),
                rule.most()
            ));
            let claim = Claim {
                subject: ClaimSubject::Criterion(rule.name()),
                knows: Vec::new(),
                verdict: ClaimVerdict::from(measured <= *rule.most()),
                measured: Measurement { name: "measured", amount: Amount::Exact(measured) },
                limit: Limit { name: "most", side: Side::AtMost, value: rule.most().clone() },
                group: Some(group),
                counts: Vec::new(),
                evidence: Vec::new(),
            };
            (claim, note)
        };
        rules.iter().zip(&self.worst).map(found).unzip()
    }
}

/// Keeps the larger measure; among equals the group with the smaller number, whichever came first.
fn keep_worse(worst: &mut Option<(Rational, u64)>, found: (Rational, u64)) {
    let replaces = match worst {
        None => true,
        Some((measured, number)) => found.0 > *measured || found.0 == *measured && found.1 < *number,
    };
    if replaces {
        *worst = Some(found);
    }
}
