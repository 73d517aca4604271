//! Does the Delta, ratio or exact test hold for a group of distinct values?
//!
//! Invariants: `ratio` and `exact` are sound, `delta` is the printed condition and is not (mathematics 3.2). Every
//! decision is that of exact arithmetic; binary64 only decides what its error bound allows. For r > 1 a test holds
//! only if some assignment has a positive weight, so a contradiction never passes.

use super::priors::Priors;
use super::ranges::GroupPriors;
use super::requirement::Requirement;
use super::spread::{Fraction, PriorLevels, Rank};
use crate::math::exact::{Rational, ratio};
use crate::math::posterior::{self, Against};

/// The test that a group must pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// The condition as printed by Wong et al.; it gives no guarantee and is for comparison only.
    Delta,
    /// The sound ratio condition.
    Ratio,
    /// The exact posterior; a group with more states than this must satisfy the ratio condition instead.
    Exact {
        /// The most states of the posterior's lattice; n distinct values have 2^n.
        states: u64,
    },
}

impl Test {
    pub(crate) fn holds(self, requirement: &Requirement, priors: &Priors, group: &GroupPriors) -> bool {
        if (group.values.len() as u64) < requirement.smallest_group() {
            return false;
        }
        (0..priors.sets()).all(|set| match self {
            Test::Delta => delta(requirement, &priors.levels, group, set),
            Test::Ratio => ratio_condition(requirement, &priors.levels, group, set),
            Test::Exact { states } => {
                ratio_condition(requirement, &priors.levels, group, set)
                    || exact(requirement, priors, group, set, states)
            }
        })
    }
}

/// The largest difference of priors that the printed condition allows in a group of `tuples`, for the largest prior
/// `largest`: Dceil of mathematics 3.2.
pub fn delta_ceiling(tuples: u64, r: &Rational, largest: &Rational) -> Rational {
    let rest = Rational::ONE - largest;
    if rest == Rational::ZERO {
        return Rational::ZERO;
    }
    let below = largest * (r - Rational::ONE) / rest + ratio(tuples.saturating_sub(1), 1);
    if below == Rational::ZERO {
        return Rational::ZERO;
    }
    (ratio(tuples, 1) - r) * largest / below
}

pub(crate) fn delta(
    requirement: &Requirement,
    levels: &PriorLevels,
    group: &GroupPriors,
    set: usize,
) -> bool {
    let tuples = group.values.len() as u64;
    group.ranges(set).all(|(low, high)| {
        if high == 0 {
            return false;
        }
        match small_delta(requirement, levels, tuples, low, high) {
            Some(holds) => holds,
            None => {
                let (low, high) = (levels.exact(low).rational(), levels.exact(high).rational());
                &high - low <= delta_ceiling(tuples, requirement.r(), &high)
            }
        }
    })
}

/// The condition of one value in 128-bit integers, multiplied out; `None` if they overflow.
///
/// high = a/b, low = c/d, r = p/q: (ad - cb) (a(p-q) + (N-1)(b-a)q) <= (Nq - p) a (b-a) d, all factors >= 0.
fn small_delta(
    requirement: &Requirement,
    levels: &PriorLevels,
    tuples: u64,
    low: Rank,
    high: Rank,
) -> Option<bool> {
    let (p, q) = requirement.parts()?;
    let (Fraction::Small { above: a, below: b }, Fraction::Small { above: c, below: d }) =
        (levels.exact(high), levels.exact(low))
    else {
        return None;
    };
    let [a, b, c, d, p, q] = [*a, *b, *c, *d, p, q].map(u128::from);
    let n = u128::from(tuples);
    let odds = a.checked_mul(p - q)?.checked_add((n - 1).checked_mul(b - a)?.checked_mul(q)?)?;
    let left = (a * d - c * b).checked_mul(odds)?;
    let right = n.checked_mul(q)?.checked_sub(p)?.checked_mul(a * (b - a))?.checked_mul(d)?;
    Some(left <= right)
}

/// (N-1) rho_x min_{y != x} rho_y >= r-1 for every x. The tightest x is the smallest or second smallest rho itself, so
/// the product of the two smallest decides.
pub(crate) fn ratio_condition(
    requirement: &Requirement,
    levels: &PriorLevels,
    group: &GroupPriors,
    set: usize,
) -> bool {
    let tuples = group.values.len();
    if tuples < 2 {
        return false;
    }
    let (excess, excess_near) = requirement.excess();
    let mut smallest = [f64::INFINITY; 2];
    let mut in_range = true;
    for (low, high) in group.ranges(set) {
        if low == 0 {
            return false;
        }
        in_range &= levels.near(low) > 1e-100;
        let rho = levels.near(low) / levels.near(high);
        smallest = [smallest[0].min(rho), smallest[1].min(smallest[0].max(rho))];
    }
    // At most nine roundings in all, so a relative distance of 32 of them decides.
    let product = (tuples - 1) as f64 * smallest[0] * smallest[1];
    if in_range && product >= excess_near * (1.0 + 16.0 * f64::EPSILON) {
        return true;
    }
    if in_range && product <= excess_near * (1.0 - 16.0 * f64::EPSILON) {
        return false;
    }
    let mut rhos: Vec<Rational> = group
        .ranges(set)
        .map(|(low, high)| match low == high {
            true => Rational::ONE,
            false => levels.exact(low).rational() / levels.exact(high).rational(),
        })
        .collect();
    rhos.sort_unstable();
    ratio(tuples as u64 - 1, 1) * &rhos[0] * &rhos[1] >= *excess
}

fn exact(requirement: &Requirement, priors: &Priors, group: &GroupPriors, set: usize, states: u64) -> bool {
    let counts = vec![1; group.values.len()];
    let ranks: Vec<Rank> = member_ranks(priors, &group.values, &group.signatures, set).collect();
    let near: Vec<f64> = ranks.iter().map(|&rank| priors.levels.near(rank)).collect();
    let fractions = || ranks.iter().map(|&rank| priors.levels.exact(rank).rational()).collect();
    posterior::compare(&counts, &near, fractions, requirement.threshold(), states) == Ok(Against::AtMost)
}

/// The priors of every member for every value, member by member.
pub(crate) fn member_ranks<'a>(
    priors: &'a Priors,
    values: &'a [u32],
    signatures: &'a [u32],
    set: usize,
) -> impl Iterator<Item = Rank> + 'a {
    let members = signatures.chunks_exact(priors.sets());
    members.flat_map(move |member| values.iter().map(move |&value| priors.rank(set, member[set], value)))
}
