//! What is the posterior, exactly or in binary64 with a proven bound?

use dashu_base::{Gcd, Signed, UnsignedAbs};
use dashu_int::{IBig, UBig};

use super::Refusal;
use super::lattice::Lattice;
use crate::math::exact::Rational;

/// Binary64 weights below this are refused: their products could leave the range of the error bound.
const SMALLEST: f64 = f64::from_bits((1023 - 900) << 52);

/// A non-negative number that weights are made of.
trait Weight: Clone {
    const ZERO: Self;
    const ONE: Self;
    /// The product; refused if its relative error would not be bounded.
    fn times(&self, other: &Self) -> Result<Self, Refusal>;
    fn add(&mut self, other: Self);
    /// Scales one layer by a common power of two, so that long groups stay in range.
    fn rescale(weights: &mut [Self], layer: impl Iterator<Item = usize> + Clone);
}

impl Weight for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;

    fn times(&self, other: &f64) -> Result<f64, Refusal> {
        let product = self * other;
        if product < SMALLEST && *self != 0.0 && *other != 0.0 {
            return Err(Refusal::Underflow);
        }
        Ok(product)
    }

    fn add(&mut self, other: f64) {
        *self += other;
    }

    fn rescale(weights: &mut [f64], layer: impl Iterator<Item = usize> + Clone) {
        let largest = layer.clone().map(|state| weights[state]).fold(0.0, f64::max);
        if largest == 0.0 {
            return;
        }
        // Every non-zero weight is a normal number in [2^-900, 2^64], so this is 2^-floor(log2 largest), exactly.
        let exponent = largest.to_bits() >> 52;
        let scale = f64::from_bits((2046 - exponent) << 52);
        layer.for_each(|state| weights[state] *= scale);
    }
}

impl Weight for UBig {
    const ZERO: UBig = UBig::ZERO;
    const ONE: UBig = UBig::ONE;

    fn times(&self, other: &UBig) -> Result<UBig, Refusal> {
        Ok(self * other)
    }

    fn add(&mut self, other: UBig) {
        *self += other;
    }

    fn rescale(_: &mut [UBig], _: impl Iterator<Item = usize> + Clone) {}
}

/// For every tuple and value the weight of the assignments that join them, up to a factor per tuple.
fn weights<W: Weight + PartialEq>(lattice: &Lattice, priors: &[W]) -> Result<Vec<W>, Refusal> {
    let (tuples, values) = (lattice.tuples(), lattice.values());
    let mut forward = vec![W::ZERO; lattice.len()];
    forward[0] = W::ONE;
    for (tuple, row) in priors.chunks_exact(values).enumerate() {
        for state in lattice.layer(tuple) {
            for (value, prior) in row.iter().enumerate() {
                if let Some(next) = lattice.after(state, value) {
                    let step = forward[state].times(prior)?;
                    forward[next].add(step);
                }
            }
        }
        W::rescale(&mut forward, lattice.layer(tuple + 1).collect::<Vec<_>>().into_iter());
    }
    if forward[lattice.len() - 1] == W::ZERO {
        return Err(Refusal::Contradiction);
    }
    let mut backward = vec![W::ZERO; lattice.len()];
    backward[lattice.len() - 1] = W::ONE;
    let mut joined = vec![W::ZERO; tuples * values];
    for (tuple, row) in priors.chunks_exact(values).enumerate().rev() {
        for state in lattice.layer(tuple) {
            for (value, prior) in row.iter().enumerate() {
                if let Some(next) = lattice.after(state, value) {
                    let rest = prior.times(&backward[next])?;
                    joined[tuple * values + value].add(forward[state].times(&rest)?);
                    backward[state].add(rest);
                }
            }
        }
        W::rescale(&mut backward, lattice.layer(tuple).collect::<Vec<_>>().into_iter());
    }
    Ok(joined)
}

/// The exact posteriors, tuple by tuple, in the order of `counts`.
///
/// `counts` are the occurrences of the group's distinct values, `priors[tuple * counts.len() + value]` is the
/// tuple's prior of that value. Priors need not sum to 1.
pub fn exact(counts: &[u32], priors: &[Rational], limit: u64) -> Result<Vec<Rational>, Refusal> {
    let lattice = lattice(counts, priors.len(), limit)?;
    if priors.iter().any(|prior| prior.is_negative()) {
        return Err(Refusal::Malformed);
    }
    let whole: Vec<UBig> = priors.chunks_exact(counts.len()).flat_map(whole_row).collect();
    let joined = weights(&lattice, &whole)?;
    let mut posteriors = Vec::with_capacity(joined.len());
    for row in joined.chunks_exact(counts.len()) {
        let total: UBig = row.iter().sum();
        posteriors
            .extend(row.iter().map(|weight| Rational::from_parts(IBig::from(weight.clone()), total.clone())));
    }
    Ok(posteriors)
}

/// A row of priors times its common denominator: a factor per tuple cancels in every posterior.
fn whole_row(row: &[Rational]) -> Vec<UBig> {
    let common = row.iter().fold(UBig::ONE, |common, prior| {
        let shared = (&common).gcd(prior.denominator());
        common / shared * prior.denominator()
    });
    row.iter().map(|prior| prior.numerator().unsigned_abs() * (&common / prior.denominator())).collect()
}

/// Posteriors in binary64.
#[derive(Debug, Clone, PartialEq)]
pub struct Approximate {
    /// The posteriors, tuple by tuple, in the order of the counts.
    pub posteriors: Vec<f64>,
    /// The number N of roundings: every posterior is within the factor 1 +- gamma_N of the exact one,
    /// gamma_N = N u / (1 - N u), u = 2^-53.
    pub roundings: u64,
}

impl Approximate {
    /// A bound on the relative error of every posterior; infinite if there is none.
    pub fn relative_error(&self) -> f64 {
        let product = self.roundings as f64 * (f64::EPSILON / 2.0);
        // The small excess covers the roundings of this very formula.
        if product < 0.5 { product / (1.0 - product) * (1.0 + 1e-9) } else { f64::INFINITY }
    }

    /// The largest posterior.
    pub fn worst(&self) -> f64 {
        self.posteriors.iter().copied().fold(0.0, f64::max)
    }
}

/// The posteriors in binary64; `priors` are laid out as in [`exact`] and each is within a relative 2^-53 of
/// the intended prior, 0 only if that is 0.
pub fn approximate(counts: &[u32], priors: &[f64], limit: u64) -> Result<Approximate, Refusal> {
    let lattice = lattice(counts, priors.len(), limit)?;
    for &prior in priors {
        if !(0.0..=1e9).contains(&prior) {
            return Err(Refusal::Malformed);
        }
        if prior != 0.0 && prior < SMALLEST {
            return Err(Refusal::Underflow);
        }
    }
    let mut posteriors = weights(&lattice, priors)?;
    for row in posteriors.chunks_exact_mut(counts.len()) {
        let total: f64 = row.iter().sum();
        // Each layer was scaled by its own largest weight, so the layer's sum can vanish only by rounding.
        if total.is_nan() || total < SMALLEST {
            return Err(Refusal::Underflow);
        }
        row.iter_mut().for_each(|weight| *weight /= total);
    }
    // A layer costs a rounding of the prior, a product and at most values - 1 sums; forward and backward together
    // pass all layers but the tuple's own, which costs the prior, two products and the sum over its states.
    // The denominator adds up one row of such numerators.
    let values = counts.len() as u64;
    let numerator = lattice.tuples() as u64 * (values + 1) + 3 + lattice.widest_layer() as u64;
    Ok(Approximate { posteriors, roundings: 2 * numerator + values + 1 })
}

fn lattice(counts: &[u32], priors: usize, limit: u64) -> Result<Lattice, Refusal> {
    if counts.is_empty() || !priors.is_multiple_of(counts.len()) {
        return Err(Refusal::Malformed);
    }
    Lattice::new(counts, priors / counts.len(), limit)
}
