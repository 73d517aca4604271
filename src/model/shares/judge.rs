//! Do the shares of the values in each group satisfy the criteria of other tools?
//!
//! Memory: one fraction for each rule.

use crate::math::exact::{Rational, decimal_at_least, parse_fraction};
use crate::math::shares::ShareRule;
use crate::model::counted_group::CountedGroup;
use crate::model::finding::{Amount, Claim, ClaimSubject, ClaimVerdict, Limit, Measurement, Note, Side};
use crate::resources::byte_form::{ByteForm, ByteReader, write_count};

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

    /// Appends the evidence.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        write_count(self.worst.len(), bytes);
        for worst in &self.worst {
            worst.is_some().write(bytes);
            let Some((measured, group)) = worst else { continue };
            measured.to_string().write(bytes);
            group.write(bytes);
        }
    }

    /// Reads the evidence of a judge with so many rules.
    pub fn read(rules: usize, bytes: &mut ByteReader<'_>) -> Option<Self> {
        let many = bytes.count(1)?;
        let mut read = || {
            Some(match bool::read(bytes)? {
                false => None,
                true => Some((parse_fraction(&String::read(bytes)?)?, u64::read(bytes)?)),
            })
        };
        let worst: Option<Vec<_>> = (0..many).map(|_| read()).collect();
        // There is nothing about rules before the first group.
        (many == 0 || many == rules).then(|| Some(SharesJudge { worst: worst? }))?
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
