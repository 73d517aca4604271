//! What is r, and is it out of reach for a table?

use std::fmt;

use dashu_base::UnsignedAbs;

use crate::error::{Error, Result};
use crate::math::exact::Rational;

/// The requirement that no posterior exceeds 1/r.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    r: Rational,
    threshold: Rational,
    excess: Rational,
    excess_near: f64,
    parts: Option<(u32, u32)>,
    minimum: u64,
    distinct: u64,
}

impl Requirement {
    /// The requirement for `r`, which must be greater than 1.
    pub fn new(r: Rational) -> Result<Self> {
        if r <= Rational::ONE {
            return Err(Error::input(
                "privacy.r: r must be greater than 1, since 1/r bounds a probability",
                "give r = 2 or more, or a fraction such as \"5/2\"",
            ));
        }
        let threshold = Rational::ONE / &r;
        let excess = &r - Rational::ONE;
        let excess_near = excess.to_f64().value();
        let parts = u32::try_from(r.numerator()).ok().zip(u32::try_from(r.denominator()).ok());
        Ok(Requirement { r, threshold, excess, excess_near, parts, minimum: 1, distinct: 1 })
    }

    /// The same requirement for groups of at least `minimum` tuples.
    pub fn with_minimum_group(self, minimum: u64) -> Self {
        Requirement { minimum, ..self }
    }

    /// The same requirement for groups of at least `distinct` different values.
    pub fn with_minimum_distinct(self, distinct: u64) -> Self {
        Requirement { distinct, ..self }
    }

    /// Whether people with these values are enough, and different enough, to be a group.
    pub fn admits(&self, values: impl Iterator<Item = u32>) -> bool {
        let mut values: Vec<u32> = values.collect();
        let people = values.len() as u64;
        values.sort_unstable();
        values.dedup();
        people >= self.smallest_group() && values.len() as u64 >= self.distinct
    }

    /// Whether a value that `count` of `people` have is at most as frequent as 1/r.
    pub fn allows_share(&self, count: u64, people: u64) -> bool {
        match self.parts {
            Some((above, below)) => {
                u128::from(count) * u128::from(above) <= u128::from(people) * u128::from(below)
            }
            None => Rational::from(count) * &self.r <= Rational::from(people),
        }
    }

    /// The required r.
    pub fn r(&self) -> &Rational {
        &self.r
    }

    /// 1/r, the largest posterior that is still safe.
    pub fn threshold(&self) -> &Rational {
        &self.threshold
    }

    /// r - 1, and its correctly rounded value.
    pub(crate) fn excess(&self) -> (&Rational, f64) {
        (&self.excess, self.excess_near)
    }

    /// r as a fraction of two small numbers, if it is one.
    pub(crate) fn parts(&self) -> Option<(u32, u32)> {
        self.parts
    }

    /// The fewest tuples of a group: r rounded up, or the configured minimum.
    pub fn smallest_group(&self) -> u64 {
        u64::try_from(self.r.ceil().unsigned_abs()).unwrap_or(u64::MAX).max(self.minimum)
    }

    /// Whether a table with these value counts can be grouped without suppression; if not, the numbers that
    /// show why.
    pub fn check_feasible(&self, value_counts: &[u64]) -> Result<(), Infeasible> {
        let tuples: u64 = value_counts.iter().sum();
        let Some((value, &frequency)) = value_counts.iter().enumerate().rev().max_by_key(|&(_, count)| count)
        else {
            return Ok(());
        };
        let smallest_group = self.smallest_group();
        if u128::from(frequency) * u128::from(smallest_group) > u128::from(tuples) {
            return Err(Infeasible { value, frequency, smallest_group, tuples });
        }
        Ok(())
    }
}

/// Why no grouping can keep r: every group holds at most one of each value and at least ceil(r) tuples, or
/// the configured minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Infeasible {
    /// The code of the most frequent value, the lowest if there are several; it may be named only if that
    /// does not leak anything.
    pub value: usize,
    /// How often it occurs.
    pub frequency: u64,
    /// The fewest tuples of a group.
    pub smallest_group: u64,
    /// How many tuples there are.
    pub tuples: u64,
}

impl fmt::Display for Infeasible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Infeasible { frequency, smallest_group, tuples, .. } = *self;
        let needed = u128::from(frequency) * u128::from(smallest_group);
        write!(
            f,
            "the most frequent sensitive value occurs {frequency} times and needs a group of at least \
             {smallest_group} tuples each time: {frequency} x {smallest_group} = {needed} > {tuples} tuples"
        )
    }
}

impl Infeasible {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self.tuples / self.frequency.max(1) {
            most @ 2.. => format!("give r, and a minimum group size, of at most {most}"),
            _ => "no r greater than 1 is possible".to_string(),
        }
    }
}

impl From<Infeasible> for Error {
    fn from(infeasible: Infeasible) -> Self {
        Error::input(format!("privacy.r: {infeasible}"), infeasible.remedy())
    }
}
