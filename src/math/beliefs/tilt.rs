//! Which weights of the values make independent rows expect given numbers of them?
//!
//! Rows that choose independently, each value in proportion to its prior times a weight, expect some number of every value.
//! The weights at which these numbers are the ones wanted maximize the entropy of the rows; they are found by Newton's method
//! on a convex function. Nothing relies on how well that succeeds: what is missing is returned with the result.
//!
//! Memory: 8 B x values^2 for a result. Work: rows of different priors x values^2 for a step.

use super::roundings::{UNIT, relative_error};

/// Steps of Newton's method.
const STEPS: usize = 40;
/// Expected numbers that are off by less need no further step.
const CLOSE: f64 = 1e-4;

/// The different priors of a group over the values that occur in it, each with its number of rows.
pub(super) struct Rows {
    values: usize,
    priors: Vec<f64>,
    rows: Vec<f64>,
    /// A bound on the relative error of every prior.
    error: f64,
}

/// Rows that choose independently with weights of the values.
#[derive(Debug, Clone)]
pub(super) struct Tilt {
    /// The weights; 0 for a value that nobody may choose.
    pub weights: Vec<f64>,
    /// Their logarithms; 0 for such a value.
    pub logarithms: Vec<f64>,
    /// The sum over all rows of the logarithm of the total of their weighted priors.
    pub total: f64,
    /// A bound on the error of `total`.
    pub total_error: f64,
    /// How far the expected number of each value is from the wanted one, at most.
    pub missed: Vec<f64>,
    /// The sum over all rows of the product of their probabilities of two values, by u x values + v; 0 for u = v.
    pub shared: Vec<f64>,
    means: Vec<f64>,
}

impl Rows {
    /// The rows of a group whose priors are off by at most `error`, relatively.
    pub(super) fn new(priors: &[(&[f64], u64)], present: &[usize], error: f64) -> Self {
        let rows = priors.iter().map(|(_, rows)| *rows as f64).collect();
        let priors = priors.iter().flat_map(|(prior, _)| present.iter().map(|value| prior[*value])).collect();
        Rows { values: present.len(), priors, rows, error }
    }

    /// How many rows can have a value.
    pub(super) fn able(&self, value: usize) -> f64 {
        let priors = self.priors.chunks_exact(self.values).zip(&self.rows);
        priors.filter(|(prior, _)| prior[value] > 0.0).map(|(_, rows)| rows).sum()
    }

    /// The weights at which the rows expect the `wanted` numbers, starting from given logarithms; `None` if there are no
    /// such weights, or none in the range of binary64. The weight of `fixed` stays 1.
    pub(super) fn tilt(&self, wanted: &[f64], fixed: usize, start: &[f64]) -> Option<Tilt> {
        let mut tilt = self.at(start, wanted)?;
        for _ in 0..STEPS {
            if tilt.distance(wanted) < CLOSE {
                break;
            }
            let step = tilt.newton(wanted, fixed)?;
            let longest = step.iter().fold(0.0f64, |longest, step| longest.max(step.abs()));
            let mut length = (2.0 / longest).min(1.0);
            let objective = |tilt: &Tilt| tilt.total - dot(wanted, &tilt.logarithms);
            let now = objective(&tilt);
            let next = loop {
                let moved: Vec<f64> =
                    tilt.logarithms.iter().zip(&step).map(|(own, step)| own + length * step).collect();
                match self.at(&moved, wanted) {
                    Some(next) if objective(&next) <= now + 1e-9 * now.abs() => break next,
                    _ if length < 1e-3 => return None,
                    _ => length /= 4.0,
                }
            };
            tilt = next;
        }
        // A NaN is not below.
        (tilt.distance(wanted) < 1e-2).then(|| {
            let off = self.rows.iter().sum::<f64>()
                * (2.0 * self.error + relative_error((self.rows.len() + self.values + 16) as u64));
            tilt.missed =
                tilt.means.iter().zip(wanted).map(|(mean, wanted)| (mean - wanted).abs() + off).collect();
            tilt
        })
    }

    /// The rows with these logarithms of weights; values of which none is wanted are not chosen.
    fn at(&self, logarithms: &[f64], wanted: &[f64]) -> Option<Tilt> {
        let values = self.values;
        let weight = |(own, wanted): (&f64, &f64)| if *wanted > 0.0 { own.exp() } else { 0.0 };
        let weights: Vec<f64> = logarithms.iter().zip(wanted).map(weight).collect();
        if !weights.iter().all(|weight| (1e-100..1e100).contains(weight) || *weight == 0.0) {
            return None;
        }
        let (mut total, mut size) = (0.0, 0.0);
        let (mut means, mut shared, mut own) =
            (vec![0.0; values], vec![0.0; values * values], vec![0.0; values]);
        for (prior, rows) in self.priors.chunks_exact(values).zip(&self.rows) {
            let mut sum = 0.0;
            for ((own, prior), weight) in own.iter_mut().zip(prior).zip(&weights) {
                *own = prior * weight;
                sum += *own;
            }
            let logarithm = sum.ln();
            if !logarithm.is_finite() {
                return None;
            }
            total += rows * logarithm;
            size += rows * logarithm.abs();
            own.iter_mut().for_each(|own| *own /= sum);
            for (u, one) in own.iter().enumerate().filter(|(_, one)| **one > 0.0) {
                means[u] += rows * one;
                let by = rows * one;
                for (shared, other) in shared[u * values..u * values + u].iter_mut().zip(&own) {
                    *shared += by * other;
                }
            }
        }
        for u in 0..values {
            for v in 0..u {
                shared[v * values + u] = shared[u * values + v];
            }
        }
        let rows: f64 = self.rows.iter().sum();
        let total_error = rows * (self.error + relative_error(values as u64 + 8))
            + size * relative_error(self.rows.len() as u64 + 8);
        let logarithms =
            logarithms.iter().zip(wanted).map(|(own, wanted)| if *wanted > 0.0 { *own } else { 0.0 });
        let logarithms = logarithms.collect();
        Some(Tilt { weights, logarithms, total, total_error, missed: Vec::new(), shared, means })
    }
}

impl Tilt {
    fn distance(&self, wanted: &[f64]) -> f64 {
        let mut distance = 0.0;
        for (mean, wanted) in self.means.iter().zip(wanted) {
            let off = (mean - wanted).abs();
            // A NaN stays.
            distance = if off <= distance { distance } else { off };
        }
        distance
    }

    /// The step of Newton's method towards the wanted numbers.
    fn newton(&self, wanted: &[f64], fixed: usize) -> Option<Vec<f64>> {
        let gap: Vec<f64> = self.means.iter().zip(wanted).map(|(mean, wanted)| wanted - mean).collect();
        self.response(&gap, fixed)
    }

    /// How the logarithms must change to change the expected numbers by `gap`, to first order.
    pub(super) fn response(&self, gap: &[f64], fixed: usize) -> Option<Vec<f64>> {
        let values = gap.len();
        let free: Vec<usize> = (0..values).filter(|v| *v != fixed && self.weights[*v] > 0.0).collect();
        let spread = |u: usize| self.shared[u * values..(u + 1) * values].iter().sum::<f64>();
        // Cholesky of the covariance of the numbers, which is a Laplacian without one row.
        let many = free.len();
        let mut factor = vec![0.0; many * many];
        let mut solved: Vec<f64> = free.iter().map(|v| gap[*v]).collect();
        for row in 0..many {
            for column in 0..=row {
                let (u, v) = (free[row], free[column]);
                let entry = if u == v { spread(u) } else { -self.shared[u * values + v] };
                let inner: f64 =
                    (0..column).map(|k| factor[row * many + k] * factor[column * many + k]).sum();
                factor[row * many + column] = match u == v {
                    true if entry - inner > 1e-13 * entry => (entry - inner).sqrt(),
                    true => return None,
                    false => (entry - inner) / factor[column * many + column],
                };
            }
            let inner: f64 = (0..row).map(|k| factor[row * many + k] * solved[k]).sum();
            solved[row] = (solved[row] - inner) / factor[row * many + row];
        }
        for row in (0..many).rev() {
            let inner: f64 = (row + 1..many).map(|k| factor[k * many + row] * solved[k]).sum();
            solved[row] = (solved[row] - inner) / factor[row * many + row];
        }
        let mut step = vec![0.0; values];
        free.into_iter().zip(solved).for_each(|(v, own)| step[v] = own);
        Some(step)
    }

    /// The probabilities of the values at a row with this prior, and the logarithm of their total before division.
    pub(super) fn choice(&self, prior: impl Iterator<Item = f64>, into: &mut Vec<f64>) -> f64 {
        into.clear();
        into.extend(prior.zip(&self.weights).map(|(prior, weight)| prior * weight));
        let sum: f64 = into.iter().sum();
        into.iter_mut().for_each(|own| *own /= sum);
        sum.ln()
    }
}

/// The scalar product.
pub(super) fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// ln n!, off by at most 8 roundings of itself and 10^-13.
pub(super) fn ln_factorial(n: f64) -> f64 {
    if n < 64.0 {
        return (2..=n as u64).map(|k| (k as f64).ln()).sum();
    }
    // Stirling's series alternates from here on: the next term is below 10^-18.
    let inverse = 1.0 / n;
    n * n.ln() - n
        + 0.5 * (std::f64::consts::TAU * n).ln()
        + inverse / 12.0 * (1.0 - inverse * inverse / 30.0 * (1.0 - inverse * inverse * 2.0 / 7.0))
}

/// A bound on the rounding errors of a few [`ln_factorial`]s of numbers up to `n` together with sums of their terms.
pub(super) fn ln_factorial_error(n: f64, many: usize) -> f64 {
    (many as f64 + 4.0) * (64.0 * UNIT * (n * (n + 2.0).ln() + 64.0) + 1e-12)
}
