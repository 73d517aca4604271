//! How far can a belief have moved if the group is too large for the exact posterior?
//!
//! A group has rows i with priors f_i and holds value v n_v times. Z_i(c) is the total weight of the
//! assignments of a multiset c to the rows other than i, so the posterior of row i is proportional to
//! f_i(x) Z_i(c - x), c being the group's multiset.
//!
//! **Exchange.** Let A be the assignments of c - y and B those of c - x to the other rows. Turning one x of
//! an assignment in A into y gives one of B; each of A has n_x such neighbours and each of B has n_y, and
//! the weight changes by g_w = f_w(y)/f_w(x) at the row w that was changed. Counting pairs,
//! n_y Z(c-x) = sum over a in A of weight(a) x (sum of g_w over the n_x rows with x). So
//! R = n_y Z(c-x) / (n_x Z(c-y)) is a mean of means of n_x of the g_w: it lies between the mean of the n_x
//! smallest and of the n_x largest g. Turning B into A instead, 1/R is a mean of means of n_y of the 1/g_w:
//! R lies between the harmonic means of the n_y smallest and of the n_y largest g. Row i itself may be
//! counted among the g, which only widens the range. A row with f_w(x) = f_w(y) = 0 can hold neither and is
//! left out; f_w(x) = 0 alone makes g infinite, f_w(y) = 0 alone makes it 0, and all four bounds stay true in the
//! form n_y Z(c-x) <= R_max n_x Z(c-y), also where a Z is 0. Identical priors give R = g: the bound is exact.
//!
//! **Intervals.** p_i(y)/p_i(x) = f_i(y) n_y / (f_i(x) n_x R), so p_i(x) = 1/(1 + sum over y != x of these)
//! lies between the values at the least and the greatest R. Only the group's own multiset must be possible.
//!
//! **Distance.** Jensen-Shannon is a sum over coordinates of convex functions phi(q). On an interval phi is
//! below its chord, and with sum q = 1, for any number m: sum phi(q) <= m + sum of
//! max(phi(low) - m low, phi(high) - m high). The best m is the slope at which filling the steepest chords
//! first uses up the mass; a badly rounded m is still sound. Smoothing: the means are linear in q, their
//! extremes follow from the same inequality, and dividing by the extremes of the total gives intervals for
//! the smoothed distribution, which again adds up to 1.
//!
//! **From below.** Summing up the values of a set A cannot raise the divergence (data processing), and that of two
//! distributions over {A, not A} grows as P(A) and Q(A) part. With A the values whose interval lies above their prior, or
//! below it, P(A) and the nearest possible Q(A) give a distance that every posterior in the intervals has at least.
//!
//! **Floats.** Priors off by e relatively make g off by 2.01 e, the odds by 4.02 e; a mean over N different priors,
//! each with its number of rows, and a sum over D values add at most 2N + D + 20 roundings. Intervals are widened by
//! 1.2 times the sum.
//!
//! Memory: 16 B x values^2 and 16 B x different priors for a group; O(values) for a row.
//! Not here: exact posteriors.

use super::capacity::Capacity;
use super::divergence::{LARGEST_RELATIVE_ERROR, part};
use super::refinement::Large;
use super::roundings::{UNIT, relative_error};
use super::smoothing::Smoothing;

/// 2^-200: with smaller positive priors, products of ratios could leave the range of binary64, so no bound is
/// given.
const LEAST_PRIOR: f64 = f64::from_bits((1023 - 200) << 52);

/// What is known about the posteriors of a group without computing them.
#[derive(Debug, Clone)]
pub struct Ceiling {
    counts: Vec<u64>,
    /// The range of R for every pair (x, y), by x x values + y.
    ranges: Vec<(f64, f64)>,
    /// Ranges that depend on the row, if they were computed.
    capacity: Option<Capacity>,
    /// The relative error of the odds; infinite if nothing is known.
    error: f64,
    prior_error: f64,
}

impl Ceiling {
    /// The group with these priors, each shared by a number of rows and off by at most `prior_error`
    /// relatively, and how often it holds each value.
    pub fn new(priors: &[(&[f64], u64)], counts: &[u64], prior_error: f64) -> Self {
        let values = counts.len();
        let sane = (0.0..=LARGEST_RELATIVE_ERROR).contains(&prior_error)
            && priors.iter().all(|(prior, _)| {
                prior.len() == values && prior.iter().all(|p| *p == 0.0 || (LEAST_PRIOR..=1.1).contains(p))
            });
        let error = if sane {
            1.2 * (4.02 * prior_error + relative_error(2 * priors.len() as u64 + values as u64 + 20))
        } else {
            f64::INFINITY
        };
        let mut ceiling = Ceiling {
            counts: counts.to_vec(),
            ranges: vec![(0.0, f64::INFINITY); values * values],
            capacity: None,
            error,
            prior_error,
        };
        if error <= LARGEST_RELATIVE_ERROR {
            ceiling.compare(priors, 0);
        }
        ceiling
    }

    /// As [`Ceiling::new`], with bounds refined by applying them to themselves, and those of [`Capacity`]: tighter
    /// for large groups, at a higher cost.
    pub fn refined(priors: &[(&[f64], u64)], counts: &[u64], prior_error: f64) -> Self {
        let mut ceiling = Ceiling::new(priors, counts, prior_error);
        if ceiling.error <= LARGEST_RELATIVE_ERROR {
            let large = Large { priors, counts, prior_error };
            let plain =
                std::mem::replace(&mut ceiling.ranges, vec![(0.0, f64::INFINITY); counts.len().pow(2)]);
            ceiling.compare(priors, large.rounds());
            let widened = ceiling
                .ranges
                .iter()
                .map(|(low, high)| (low * (1.0 - ceiling.error), high * (1.0 + ceiling.error)));
            let refined = large.refine(widened.collect());
            let closer = |(a, b): (&(f64, f64), &(f64, f64))| (a.0.max(b.0), a.1.min(b.1));
            ceiling.ranges = plain.iter().zip(&refined).map(closer).collect();
            ceiling.capacity = Capacity::new(priors, counts, prior_error);
        }
        ceiling
    }

    /// The ranges of R in every system from which at most `missing` rows and the same number of values were
    /// removed.
    fn compare(&mut self, priors: &[(&[f64], u64)], missing: u64) {
        let values = self.counts.len();
        let mut ratios = Vec::with_capacity(priors.len());
        for x in (0..values).filter(|x| self.counts[*x] > 0).collect::<Vec<_>>() {
            for y in (x + 1..values).filter(|y| self.counts[*y] > 0).collect::<Vec<_>>() {
                ratios.clear();
                let possible = priors.iter().filter(|(prior, _)| prior[x] > 0.0 || prior[y] > 0.0);
                ratios.extend(possible.map(|(prior, rows)| (prior[y] / prior[x], *rows)));
                ratios.sort_unstable_by(|a: &(f64, u64), b| a.0.total_cmp(&b.0));
                let fewest = |value: usize| self.counts[value].saturating_sub(missing).max(1);
                let (low, high) = range(&ratios, fewest(x), fewest(y));
                self.ranges[x * values + y] = (low, high);
                self.ranges[y * values + x] = (1.0 / high, 1.0 / low);
            }
        }
    }

    /// For each value the least and the greatest posterior of a row of the group with this prior.
    pub fn posterior(&self, prior: &[f64]) -> Vec<(f64, f64)> {
        let values = self.counts.len();
        let own = self.capacity.as_ref().map(|capacity| capacity.ranges(prior));
        let range = |pair: usize| {
            let (low, high) = self.ranges[pair];
            own.as_ref().map_or((low, high), |own| (low.max(own[pair].0), high.min(own[pair].1)))
        };
        let unknown = self.error > LARGEST_RELATIVE_ERROR || prior.len() != values;
        let mass = |value: usize| self.counts[value] as f64 * prior[value];
        let interval = |x: usize| {
            if self.counts[x] == 0 {
                return (0.0, 0.0);
            }
            if unknown || prior[x].is_nan() {
                return (0.0, 1.0);
            }
            if mass(x) <= 0.0 {
                return (0.0, 0.0);
            }
            let (mut least, mut greatest) = (0.0, 0.0);
            for y in (0..values).filter(|y| *y != x && mass(*y) > 0.0) {
                let (low, high) = range(x * values + y);
                least += mass(y) / mass(x) / high;
                greatest += mass(y) / mass(x) / low;
            }
            (1.0 / (1.0 + greatest) * (1.0 - self.error), (1.0 / (1.0 + least) * (1.0 + self.error)).min(1.0))
        };
        (0..values).map(interval).collect()
    }

    /// A lower bound of the distance of the belief of a row with this prior; at least 0.
    pub fn least_distance(&self, prior: &[f64], smoothing: Option<&Smoothing>) -> f64 {
        if self.error > LARGEST_RELATIVE_ERROR {
            return 0.0;
        }
        let posterior = self.posterior(prior);
        match smoothing {
            None => divergence_floor(prior, &posterior, self.prior_error),
            Some(smoothing) if smoothing.values() == prior.len() => {
                let mut smoothed = Vec::new();
                smoothing.apply(prior, &mut smoothed);
                let error = smoothing.relative_error(self.prior_error);
                divergence_floor(&smoothed, &smooth(&posterior, smoothing), error)
            }
            Some(_) => 0.0,
        }
    }

    /// An upper bound of the distance of the belief of a row with this prior; at most 1.
    pub fn distance(&self, prior: &[f64], smoothing: Option<&Smoothing>) -> f64 {
        if self.error > LARGEST_RELATIVE_ERROR {
            return 1.0;
        }
        let posterior = self.posterior(prior);
        let bound = match smoothing {
            None => divergence_ceiling(prior, &posterior, self.prior_error),
            Some(smoothing) if smoothing.values() == prior.len() => {
                let mut smoothed = Vec::new();
                smoothing.apply(prior, &mut smoothed);
                let intervals = smooth(&posterior, smoothing);
                divergence_ceiling(&smoothed, &intervals, smoothing.relative_error(self.prior_error))
            }
            Some(_) => 1.0,
        };
        // A NaN fails the comparison.
        if (0.0..=1.0).contains(&bound) { bound } else { 1.0 }
    }
}

/// The least and the greatest R from the sorted ratios g, each with its number of rows.
fn range(ratios: &[(f64, u64)], x: u64, y: u64) -> (f64, f64) {
    // `max` and `min` prefer a number to a NaN; no ratios at all mean that nothing is known.
    let low = mean(ratios.iter(), x, |g| g).max(1.0 / mean(ratios.iter(), y, |g| 1.0 / g));
    let high = mean(ratios.iter().rev(), x, |g| g).min(1.0 / mean(ratios.iter().rev(), y, |g| 1.0 / g));
    if low.is_nan() || high.is_nan() { (0.0, f64::INFINITY) } else { (low, high) }
}

/// The mean of a function of the first `count` rows, or of all if there are fewer; NaN if there are none.
fn mean<'a>(ratios: impl Iterator<Item = &'a (f64, u64)>, count: u64, of: impl Fn(f64) -> f64) -> f64 {
    let (mut sum, mut left) = (0.0, count);
    for (ratio, rows) in ratios {
        if left == 0 {
            break;
        }
        let taken = left.min(*rows);
        sum += of(*ratio) * taken as f64;
        left -= taken;
    }
    sum / (count - left) as f64
}

/// A lower bound of the divergence of `p`, off by `error` relatively, from any distribution within the intervals.
///
/// The slack covers the roundings of the four numbers: one of at most 2^-50 changes the divergence by less than
/// 2^-50 (60 + log2 of the number of values), because -x log2 x is below 60 x for x above 2^-60.
fn divergence_floor(p: &[f64], intervals: &[(f64, f64)], error: f64) -> f64 {
    if !(0.0..=LARGEST_RELATIVE_ERROR).contains(&error) {
        return 0.0;
    }
    let (mut above, mut below) = ((0.0, 0.0), (0.0, 0.0));
    for (p, (low, high)) in p.iter().zip(intervals) {
        if *low > p * (1.0 + 2.0 * error) {
            above = (above.0 + p * (1.0 + 2.0 * error), above.1 + low);
        } else if *high < p * (1.0 - 2.0 * error) {
            below = (below.0 + p * (1.0 - 2.0 * error), below.1 + high);
        }
    }
    let parted = |(p, q): (f64, f64)| {
        let (p, q) = (p.clamp(0.0, 1.0), q.clamp(0.0, 1.0));
        (part(p, q) + part(1.0 - p, 1.0 - q)) / (2.0 * std::f64::consts::LN_2) - 1e-12
    };
    // A NaN loses against 0.
    0.0f64.max(parted(above)).max(parted(below))
}

/// An upper bound of sum gain_v(q_v) over q within the intervals that adds up to 1, for gains that are convex on
/// the intervals, given at their ends.
///
/// Slack: gains and q are at most 2, so with D of them the D + 20 roundings on a path are at most
/// (D + 20)(D + 2)(2 + |m|) units together.
fn greatest_sum(intervals: &[(f64, f64)], gains: &[(f64, f64)]) -> f64 {
    let slope = |v: usize| (gains[v].1 - gains[v].0) / (intervals[v].1 - intervals[v].0);
    let mut steepest: Vec<usize> =
        (0..intervals.len()).filter(|v| intervals[*v].1 > intervals[*v].0).collect();
    steepest.sort_by(|a, b| slope(*b).total_cmp(&slope(*a)));
    let mut left = 1.0 - intervals.iter().map(|(low, _)| low).sum::<f64>();
    let mut multiplier = 0.0;
    for v in steepest {
        multiplier = slope(v);
        left -= intervals[v].1 - intervals[v].0;
        if left <= 0.0 {
            break;
        }
    }
    let multiplier = f64::clamp(multiplier, -64.0, 64.0);
    let mut sum = multiplier;
    for ((low, high), (at_low, at_high)) in intervals.iter().zip(gains) {
        sum += f64::max(at_low - multiplier * low, at_high - multiplier * high);
    }
    let values = intervals.len() as f64;
    sum + UNIT * (values + 20.0) * (values + 2.0) * (2.0 + multiplier.abs())
}

/// An upper bound of the divergence of `p` from any distribution within the intervals.
///
/// p off by e changes phi by at most e p |log2(2p/(p+q))|, in sum at most e (1 + D), because the larger of
/// p and q contributes at most itself and the smaller at most (p+q)/(2e ln 2).
fn divergence_ceiling(p: &[f64], intervals: &[(f64, f64)], error: f64) -> f64 {
    let phi = |p: f64, q: f64| part(p, q) / (2.0 * std::f64::consts::LN_2);
    let gains: Vec<_> =
        p.iter().zip(intervals).map(|(p, (low, high))| (phi(*p, *low), phi(*p, *high))).collect();
    if gains.iter().any(|(low, high)| low.is_nan() || high.is_nan()) {
        return f64::NAN;
    }
    greatest_sum(intervals, &gains) + error * (1.0 + p.len() as f64)
}

/// Intervals of the smoothed distribution.
fn smooth(intervals: &[(f64, f64)], smoothing: &Smoothing) -> Vec<(f64, f64)> {
    let (values, domain) = (intervals.len(), smoothing.domain());
    let greatest = |weights: &[f64]| {
        let gains: Vec<_> =
            intervals.iter().zip(weights).map(|((low, high), w)| (w * low, w * high)).collect();
        greatest_sum(intervals, &gains)
    };
    let extremes = |weights: &[f64]| {
        let opposite: Vec<f64> = weights.iter().map(|weight| -weight).collect();
        ((-greatest(&opposite)).max(0.0), greatest(weights))
    };
    let mut columns = vec![0.0; values];
    for value in 0..domain {
        for (column, weight) in columns.iter_mut().zip(smoothing.row(value)) {
            *column += weight;
        }
    }
    // Column sums may reach the size of the domain, beyond what the slack of the sums allows for: scale them.
    let scale = domain as f64;
    columns.iter_mut().for_each(|column| *column /= scale);
    let total = extremes(&columns);
    let wider = 1.0 + relative_error(2 * domain.max(values) as u64 + 8);
    let interval = |value: usize| {
        let (least, greatest) = extremes(smoothing.row(value));
        let high = greatest / (total.0 * scale) * wider;
        let low = least / (total.1 * scale) / wider;
        (low.clamp(0.0, 1.0), if high <= 1.0 { high } else { 1.0 })
    };
    (0..domain).map(interval).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_of_priors_that_floats_cannot_compare() {
        let (one, other): (&[f64], &[f64]) = (&[1.0, 1e-177], &[1e-256, 1.0]);
        let priors = [(one, 15), (other, 31)];
        for ceiling in [Ceiling::new(&priors, &[11, 35], 0.0), Ceiling::refined(&priors, &[11, 35], 0.0)] {
            assert_eq!(ceiling.posterior(one), [(0.0, 1.0); 2]);
            assert_eq!(ceiling.distance(one, None), 1.0);
        }
    }

    #[test]
    fn identical_priors_leave_only_the_counts() {
        let prior: &[f64] = &[0.5, 0.25, 0.25];
        let ceiling = Ceiling::new(&[(prior, 3), (prior, 5)], &[4, 2, 2], 0.0);
        for ((low, high), exact) in ceiling.posterior(prior).iter().zip(prior) {
            assert!(low <= exact && exact <= high && high - low < 1e-13);
        }
        assert!(ceiling.distance(prior, None) < 1e-11);
        let ceiling = Ceiling::new(&[(prior, 8)], &[2, 2, 4], 0.0);
        let moved = ceiling.distance(prior, None);
        let exact = (2.0 * part(0.25, 0.5) + part(0.25, 0.25)) / (2.0 * std::f64::consts::LN_2);
        assert!(moved >= exact && moved < exact + 1e-10);
        let least = ceiling.least_distance(prior, None);
        assert!(least <= exact && least > exact / 2.0);
    }

    #[test]
    fn what_is_not_known_is_the_worst() {
        let prior: &[f64] = &[0.5, 0.5];
        for error in [f64::NAN, f64::INFINITY, 0.1] {
            assert_eq!(Ceiling::new(&[(prior, 2)], &[1, 1], error).distance(prior, None), 1.0);
        }
        let bad: &[f64] = &[f64::NAN, 0.5];
        assert_eq!(Ceiling::new(&[(prior, 1), (bad, 1)], &[1, 1], 0.0).distance(bad, None), 1.0);
        assert_eq!(Ceiling::new(&[(prior, 2)], &[1, 1], 0.0).distance(bad, None), 1.0);
    }
}
