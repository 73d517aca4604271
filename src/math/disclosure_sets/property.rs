//! Do every person's shares of the values satisfy the privacy property?
//!
//! In a set of equally likely instances, a person's share of a value is the fraction of the instances in
//! which the person has it. Every property here is a list of conditions on the shares of one person: with S
//! the sum of the l largest shares of other values, share / (1 - S) < limit. That is the chance that the
//! person has the value, given l values the person does not have: the point (l,0,0) of the skyline
//! (mathematics 1.2) with the set in place of the reconstructions. Recursive (c,l)-diversity r_1 < c (r_l +
//! ...) is the same condition with l-2 and c/(c+1) (mathematics 1.11).
//!
//! Invariant used by the counting: a condition says share + limit * S < limit for all choices of values, which
//! is linear in the shares; so if it holds in two disjoint groups, or sets, it holds in their union.
//!
//! Not here: skyline points with k or m > 0. On a set of instances they are conditional probabilities given
//! values of other people; these are not a function of the shares per person, and PER would no longer be safe
//! iff each of its groups is.

use std::cmp::Ordering;

use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

use super::partition::Value;
use crate::error::{Error, Result};
use crate::math::exact::Rational;

/// What must hold for the shares of every person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Property {
    /// Recursive (c,l)-diversity, strict: r_1 < c (r_l + r_{l+1} + ...) on the sorted shares.
    RecursiveDiversity {
        /// The factor; above 0, and it may exceed 1.
        c: Rational,
        /// The index of the first share in the sum; at least 1.
        l: usize,
    },
    /// Every share is less than this bound, in (0, 1].
    #[cfg(test)]
    Confidence(Rational),
    /// Every point holds.
    Skyline(Vec<SkylinePoint>),
}

/// A point (l,0,0) of a skyline: l known negations leave every chance below the confidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkylinePoint {
    /// The protected value; `None` protects every value.
    pub target: Option<Value>,
    /// How many values the adversary can rule out for a person.
    pub l: usize,
    /// The confidence that the chance of the target must stay below; in (0, 1].
    pub confidence: Rational,
}

impl SkylinePoint {
    /// The point (l,k,m); an error if k or m is not 0, which shares per person cannot express.
    pub fn new(target: Option<Value>, [l, k, m]: [usize; 3], confidence: Rational) -> Result<Self> {
        if k > 0 || m > 0 {
            return Err(Error::input(
                format!("the skyline point ({l},{k},{m}) depends on more than the shares of each person"),
                "disclosure sets are checked at points with k = 0 and m = 0: give such a point for the audit",
            ));
        }
        Ok(SkylinePoint { target, l, confidence })
    }
}

/// The conditions that protect a value, one bit each; values of one kind are interchangeable.
pub(super) type Kind = u64;

/// share / (1 - the `negations` largest other shares) < limit.
#[derive(Debug, Clone)]
struct Condition {
    target: Option<Value>,
    negations: usize,
    limit: Rational,
}

/// A validated property, ready to judge.
#[derive(Debug, Clone)]
pub(super) struct PropertyJudge {
    conditions: Vec<Condition>,
}

impl PropertyJudge {
    pub(super) fn new(property: &Property) -> Result<Self> {
        let all = |negations, limit| vec![Condition { target: None, negations, limit }];
        let conditions = match property {
            Property::RecursiveDiversity { c, l } => {
                if *c <= Rational::ZERO || *l == 0 {
                    return Err(Error::input(
                        "recursive (c,l)-diversity needs c > 0 and l >= 1",
                        "write for instance c = 2 and l = 2",
                    ));
                }
                match l {
                    1 => all(0, c.clone()),
                    _ => all(l - 2, c / (c + Rational::ONE)),
                }
            }
            #[cfg(test)]
            Property::Confidence(bound) => all(0, in_unit_interval(bound)?),
            Property::Skyline(points) => {
                let condition = |point: &SkylinePoint| {
                    let limit = in_unit_interval(&point.confidence)?;
                    Ok(Condition { target: point.target, negations: point.l, limit })
                };
                points.iter().map(condition).collect::<Result<Vec<_>>>()?
            }
        };
        if conditions.is_empty() || conditions.len() > Kind::BITS as usize {
            return Err(Error::input(
                format!("the property has {} points; 1 to {} can be audited", conditions.len(), Kind::BITS),
                "give at least one point, and drop points that others dominate",
            ));
        }
        Ok(PropertyJudge { conditions })
    }

    /// Which conditions protect this value?
    pub(super) fn kind(&self, value: Value) -> Kind {
        let protects = |(bit, condition): (usize, &Condition)| match condition.target {
            Some(target) if target != value => 0,
            _ => 1 << bit,
        };
        self.conditions.iter().enumerate().map(protects).sum()
    }

    /// Do the shares of one person satisfy every condition? Each share is `count / total`, `total` > 0.
    pub(super) fn holds(&self, shares: &mut [(Kind, UBig)], total: &UBig) -> bool {
        shares.sort_unstable_by(|a, b| b.1.cmp(&a.1));
        self.conditions.iter().enumerate().all(|(bit, condition)| {
            let (above, below) = risk(shares, total, bit, condition.negations);
            below_limit(&above, &below, &condition.limit)
        })
    }
}

/// The largest chance of a value under condition `bit`, as a fraction; `shares` descend.
///
/// Among the protected values the most frequent one is the worst, because limits are at most 1 when
/// values are negated.
fn risk(shares: &[(Kind, UBig)], total: &UBig, bit: usize, negations: usize) -> (UBig, UBig) {
    let Some(worst) = shares.iter().position(|(kind, _)| kind >> bit & 1 == 1) else {
        return (UBig::ZERO, UBig::ONE);
    };
    let others = shares.iter().enumerate().filter(|&(at, _)| at != worst).map(|(_, (_, count))| count);
    let rest = total - others.take(negations).sum::<UBig>();
    // If nothing is left, the value itself is absent and the negations contradict the set (mathematics 0).
    if rest == UBig::ZERO { (UBig::ZERO, UBig::ONE) } else { (shares[worst].1.clone(), rest) }
}

fn below_limit(above: &UBig, below: &UBig, limit: &Rational) -> bool {
    IBig::from(above * limit.denominator()) < limit.numerator() * IBig::from(below.clone())
}

fn in_unit_interval(bound: &Rational) -> Result<Rational> {
    if *bound <= Rational::ZERO || *bound > Rational::ONE {
        return Err(Error::input(
            format!("the confidence {bound} is not in (0, 1]"),
            "write a fraction such as 1/2; the bound is strict",
        ));
    }
    Ok(bound.clone())
}

/// The largest share, and who has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorstShare {
    /// The share, exact.
    pub share: Rational,
    /// The first person for whom some value has this share.
    pub person: usize,
    /// The lowest value code with this share for that person.
    pub value: Value,
}

/// A set of equally likely instances, as the adversary sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharesSummary {
    /// How many instances the set has.
    pub size: UBig,
    /// The largest share of any value for any person; `None` if the set is empty.
    pub largest: Option<WorstShare>,
    /// For each condition of the property the largest chance of a protected value; empty if the set is.
    pub risks: Vec<Rational>,
    /// Does the set satisfy the property? An empty set does not.
    pub holds: bool,
}

/// Collects the shares of one person after another into a [`SharesSummary`].
pub(super) struct Summarizer<'a> {
    judge: &'a PropertyJudge,
    largest: Option<(Fraction, u32, Value)>,
    risks: Vec<Fraction>,
}

/// Numerator and denominator, not in lowest terms; most have the same denominator.
type Fraction = (UBig, UBig);

fn compare(one: (&UBig, &UBig), other: &Fraction) -> Ordering {
    if one.1 == &other.1 { one.0.cmp(&other.0) } else { (one.0 * &other.1).cmp(&(&other.0 * one.1)) }
}

impl<'a> Summarizer<'a> {
    pub(super) fn new(judge: &'a PropertyJudge) -> Self {
        let risks = vec![(UBig::ZERO, UBig::ONE); judge.conditions.len()];
        Summarizer { judge, largest: None, risks }
    }

    /// `holders`: for each value, in how many of `total` instances `person` has it.
    pub(super) fn see(&mut self, person: u32, holders: &[(Value, UBig)], total: &UBig) {
        for (value, count) in holders {
            let better = match &self.largest {
                Some((most, at, lowest)) => match compare((count, total), most) {
                    Ordering::Greater => true,
                    Ordering::Equal => (person, *value) < (*at, *lowest),
                    Ordering::Less => false,
                },
                None => true,
            };
            if better {
                self.largest = Some(((count.clone(), total.clone()), person, *value));
            }
        }
        let mut shares: Vec<(Kind, UBig)> =
            holders.iter().map(|(value, count)| (self.judge.kind(*value), count.clone())).collect();
        shares.sort_unstable_by(|a, b| b.1.cmp(&a.1));
        for (bit, condition) in self.judge.conditions.iter().enumerate() {
            let (above, below) = risk(&shares, total, bit, condition.negations);
            if compare((&above, &below), &self.risks[bit]) == Ordering::Greater {
                self.risks[bit] = (above, below);
            }
        }
    }

    /// `size`: the number of instances in the set; if 0, nothing may have been observed.
    pub(super) fn finish(self, size: UBig) -> SharesSummary {
        if size == UBig::ZERO {
            return SharesSummary { size, largest: None, risks: Vec::new(), holds: false };
        }
        let limits = self.judge.conditions.iter().map(|condition| &condition.limit);
        let holds =
            self.risks.iter().zip(limits).all(|((above, below), limit)| below_limit(above, below, limit));
        let fraction = |(above, below): Fraction| RBig::from_parts(above.into(), below);
        let largest = self.largest.map(|(share, person, value)| WorstShare {
            share: fraction(share),
            person: person as usize,
            value,
        });
        let risks = self.risks.into_iter().map(fraction).collect();
        SharesSummary { size, largest, risks, holds }
    }
}
