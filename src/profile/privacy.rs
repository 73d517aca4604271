//! What can be required of a release of this table?
//!
//! A requirement that the table as a whole violates is violated by every release of it. So a point is proposed only if
//! the whole table in one group stays below its confidence, which is decided by the formulas of the skyline, and so
//! does an eighth of it with the same shares of values; otherwise there would hardly be more than one group.

use super::column::ColumnProfile;
use super::robust::ProposedRobust;
use crate::error::{Error, Result};
use crate::math::confidence::{Confidence, ThresholdVerdict};
use crate::math::skyline::{Knowledge, Point, ProtectedCodes, SkylineState, Values};

/// The proposed requirements for a release.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedProtection {
    /// The minimum number of people in a group.
    pub group_size: u64,
    /// How many values a person may have.
    pub values: Values,
    /// The point that is proposed; `None` if the table allows none of them, or if there were too many values to count.
    pub point: Option<Feasible>,
    /// In place of a point, the requirement against an adversary who knows distributions.
    pub robust: Option<ProposedRobust>,
}

impl ProposedProtection {
    /// The protection against an adversary who knows distributions instead.
    pub(super) fn robust(self, column: &ColumnProfile, people: u64) -> Result<Self> {
        if self.values != Values::Single {
            return Err(Error::input(
                format!(
                    "people have several values in column {:?}, and the model robust takes one",
                    column.name
                ),
                "propose a policy for another column, or for the model skyline",
            ));
        }
        let robust = ProposedRobust::of(column, people)?;
        Ok(ProposedProtection { point: None, robust: Some(robust), ..self })
    }
}

/// A skyline point that the whole table in one group satisfies.
#[derive(Debug, Clone, PartialEq)]
pub struct Feasible {
    /// Values that the target is known not to have.
    pub l: u64,
    /// Other people whose values are known.
    pub k: u64,
    /// People of the target's family.
    pub m: u64,
    /// No adversary may become as certain as this; a decimal.
    pub confidence: &'static str,
    /// How certain someone with this knowledge becomes who sees the whole table as one group.
    pub whole_table: f64,
}

/// From strong to weak: l, k, m and the confidence. The first is only tried, never proposed.
pub(super) const POINTS: [(u64, u64, u64, &str); 8] = [
    (2, 5, 2, "0.5"),
    (1, 5, 1, "0.8"),
    (1, 3, 1, "0.9"),
    (0, 3, 1, "0.8"),
    (0, 3, 1, "0.9"),
    (0, 1, 0, "0.9"),
    (0, 1, 0, "0.95"),
    (0, 0, 0, "0.99"),
];

/// The number of groups, each with the value shares of the whole table, into which a split should be possible.
const GROUPS: u64 = 8;

pub(super) fn protection(column: &ColumnProfile, people: u64, values: Values) -> ProposedProtection {
    let group_size = match people {
        0..100 => 2,
        100..1000 => 5,
        _ => 10,
    };
    let counts = column.counts.as_ref().map(|counts| {
        let mut counts = counts.clone();
        // If a person has one value, null is counted as a value.
        if values == Values::Single && column.nulls > 0 {
            counts.push(column.nulls);
        }
        counts
    });
    let point = counts.and_then(|counts| proposed(&counts, people, values));
    ProposedProtection { group_size: group_size.min(people), values, point, robust: None }
}

fn proposed(counts: &[u64], people: u64, values: Values) -> Option<Feasible> {
    let part: Vec<u64> = counts.iter().map(|count| (count + GROUPS / 2) / GROUPS).collect();
    let part_people = people.div_ceil(GROUPS);
    POINTS.into_iter().skip(1).find_map(|(l, k, m, confidence)| {
        let point = Point { knowledge: Knowledge { l, k, m }, confidence: Confidence::parse(confidence)? };
        let observed = |counts: &[u64], people: u64| {
            let mut state =
                SkylineState::new(values, counts.len(), &[(ProtectedCodes::Every, point.clone())]);
            state.observe(&mut Default::default(), people, counts, 0);
            state
        };
        let whole = observed(counts, people);
        let breaches = whole.entries().iter().map(|entry| entry.statistics.breach().at_least());
        let whole_table = breaches.fold(0.0, f64::max);
        let splits = || {
            part.iter().sum::<u64>() > 1 && observed(&part, part_people).verdict() == ThresholdVerdict::Safe
        };
        let last = (l, k, m) == (0, 0, 0);
        let allowed = whole.verdict() == ThresholdVerdict::Safe && (last || splits());
        allowed.then_some(Feasible { l, k, m, confidence, whole_table })
    })
}
