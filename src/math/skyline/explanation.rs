//! How does an adversary reach the worst case, step by step?
//!
//! The worst case is a concrete scenario: a target, values that the target does not have, others whose values
//! are known, and a family. Its steps are exact; the last one is the breach.

use super::group::RankedGroup;
use super::point::Knowledge;
use super::shape::{GroupShape, Ratio, Values};
use super::statistics::Witness;
use crate::math::exact::Rational;

/// The location of the others whose values the adversary knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seats {
    /// In one group with the target and the family.
    Together,
    /// With the family, in a different group from the target.
    WithFamily,
    /// With the target, in a different group from the family.
    WithTarget,
}

impl Witness {
    /// The location of the others.
    pub fn seats(&self) -> Seats {
        match (self.others == self.target, self.others == self.family) {
            (true, true) => Seats::Together,
            (false, _) => Seats::WithFamily,
            (true, false) => Seats::WithTarget,
        }
    }
}

/// A group, and how often the target value occurs in it.
pub type Seat<'a> = (&'a RankedGroup<'a>, u64);

/// How sure the adversary is: from the release alone, then after ruling out l values, then knowing k others,
/// then with the family; `None` where a fraction would have too many digits.
pub fn steps(
    values: Values,
    size: Knowledge,
    seats: Seats,
    target: Seat<'_>,
    family: Seat<'_>,
) -> [Option<Rational>; 4] {
    let bare = GroupShape::new(values, target.0, 0, target.1);
    let ruled = GroupShape::new(values, target.0, size.l, target.1);
    let relatives = GroupShape::new(values, family.0, 0, family.1);
    let alone = |shape: &GroupShape| shape.exact(values, Ratio::TargetAlone, size);
    let asked = match seats {
        Seats::Together | Seats::WithTarget => ruled.exact(values, Ratio::TargetWithOthers, size),
        Seats::WithFamily => alone(&ruled),
    };
    let family = match seats {
        Seats::Together => ruled.exact(values, Ratio::Together, size),
        Seats::WithTarget => {
            asked.clone().zip(relatives.exact(values, Ratio::FamilyAlone, size)).map(|(t, v)| t * v)
        }
        Seats::WithFamily => {
            asked.clone().zip(relatives.exact(values, Ratio::FamilyWithOthers, size)).map(|(t, v)| t * v)
        }
    };
    [alone(&bare), alone(&ruled), asked, family].map(|ratio| Some(Rational::ONE / (Rational::ONE + ratio?)))
}

/// How many others and how many of the family are worth knowing; more of them change nothing.
pub fn useful(
    values: Values,
    size: Knowledge,
    seats: Seats,
    target: Seat<'_>,
    family: Seat<'_>,
) -> (u64, u64) {
    let others_in = |(group, count): Seat<'_>, top: u64| match values {
        Values::Single => group.people.saturating_sub(count).saturating_sub(top),
        Values::Set => group.people.saturating_sub(count),
        Values::Multiset => group.people - 1,
    };
    let room = match seats {
        Seats::Together | Seats::WithTarget => others_in(target, target.0.top_sum(size.l, target.1)),
        Seats::WithFamily => others_in((family.0, family.1), 0),
    };
    let others = size.k.min(room);
    let here = match seats {
        Seats::Together => others + 1,
        Seats::WithFamily => others,
        Seats::WithTarget => 0,
    };
    let relatives = family.0.people.saturating_sub(here);
    let enough = match values {
        Values::Single | Values::Set => relatives.saturating_sub(family.1) + 1,
        Values::Multiset => relatives,
    };
    (others, size.m.min(enough).min(relatives))
}
