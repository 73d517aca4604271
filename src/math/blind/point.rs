//! What must hold on a set of equally likely tables.

use crate::error::{Error, Result};
use crate::math::exact::Rational;

/// The values that a point protects, by code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlindTargets {
    /// Every value, also those that do not occur.
    Every,
    /// These.
    These(Vec<usize>),
    /// Every value but these.
    Except(Vec<usize>),
}

/// A point (l,k,m) of a skyline, with m at most 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlindPoint {
    /// The protected values.
    pub protected: BlindTargets,
    /// Values that the target is known not to have.
    pub l: usize,
    /// Other people whose values are known.
    pub k: usize,
    /// People who are known to have the value only if the target has it.
    pub m: usize,
    /// The chance of the value must stay below this; above 0, at most 1.
    pub confidence: Rational,
}

impl BlindPoint {
    /// The point; an error if nothing is proved about replays of it.
    pub fn new(protected: BlindTargets, [l, k, m]: [usize; 3], confidence: Rational) -> Result<Self> {
        let refused = |problem: &str, remedy: &str| {
            Err(Error::input(format!("the skyline point ({l},{k},{m}) {problem}"), remedy))
        };
        if confidence <= Rational::ZERO || confidence > Rational::ONE {
            return refused("has a confidence outside (0, 1]", "write a fraction such as 1/2");
        }
        match m {
            0 => {}
            1 if confidence == Rational::ONE => {
                return refused("at confidence 1 has no floor for replays", "lower the confidence");
            }
            1 => {}
            _ => {
                return refused(
                    "is not covered against replays: that is proved for m of at most 1",
                    "write m = 0 or m = 1, or choose cuts = \"best\"",
                );
            }
        }
        Ok(BlindPoint { protected, l, k, m, confidence })
    }

    /// Whether a value is protected.
    pub(super) fn protects(&self, value: usize) -> bool {
        match &self.protected {
            BlindTargets::Every => true,
            BlindTargets::These(these) => these.contains(&value),
            BlindTargets::Except(others) => !others.contains(&value),
        }
    }

    /// The ratio of "not so" to "so" that must be exceeded.
    pub(super) fn ratio(&self) -> Rational {
        (Rational::ONE - &self.confidence) / &self.confidence
    }

    /// The floor that the target's own ratio must exceed if m = 1, so that no group depends on another one: the person
    /// of the implication then lacks the value with chance `ratio / floor` = 1/2 at least.
    pub(super) fn floor(&self) -> Rational {
        self.ratio() * Rational::from(2u8)
    }
}
