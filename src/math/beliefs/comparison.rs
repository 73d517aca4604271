//! How far did the release move the belief about one row?
//!
//! The only place where smoothing, divergence and threshold meet. Posteriors are given; the code that
//! computes them provides their relative error.
//!
//! Memory: O(values).

use std::sync::Arc;

use super::divergence::{DistanceVerdict, Measured, divergence, enclose_divergence, settle};
use super::roundings::relative_error;
use super::smoothing::Smoothing;
use crate::math::exact::Rational;

/// How beliefs are compared: with or without smoothing. Clones share the smoothing.
#[derive(Debug, Clone, Default)]
pub struct BeliefComparison {
    smoothing: Option<Arc<Smoothing>>,
    prior: Vec<f64>,
    posterior: Vec<f64>,
}

impl BeliefComparison {
    /// A comparison; without smoothing, it compares the beliefs as they are.
    pub fn new(smoothing: Option<Smoothing>) -> Self {
        BeliefComparison { smoothing: smoothing.map(Arc::new), prior: Vec::new(), posterior: Vec::new() }
    }

    /// The smoothing, if there is one.
    pub fn smoothing(&self) -> Option<&Smoothing> {
        self.smoothing.as_deref()
    }

    /// The distance between two beliefs whose entries are off by at most `error` relatively.
    pub fn measure(&mut self, prior: &[f64], posterior: &[f64], error: f64) -> Measured {
        match &self.smoothing {
            None => divergence(prior, posterior, error),
            Some(smoothing) if smoothing.values() == prior.len() && prior.len() == posterior.len() => {
                smoothing.apply(prior, &mut self.prior);
                smoothing.apply(posterior, &mut self.posterior);
                divergence(&self.prior, &self.posterior, smoothing.relative_error(error))
            }
            Some(_) => Measured { distance: f64::NAN, bound: f64::INFINITY },
        }
    }

    /// Decides exactly; never `Undecided`.
    pub fn settle(
        &self,
        prior: &[Rational],
        posterior: &[Rational],
        threshold: &Rational,
    ) -> DistanceVerdict {
        match &self.smoothing {
            None => settle(prior, posterior, threshold),
            Some(smoothing) => settle(&smoothing.exact(prior), &smoothing.exact(posterior), threshold),
        }
    }

    /// Two rationals that enclose the exact distance, about 2^-bits apart.
    pub fn enclose(&self, prior: &[Rational], posterior: &[Rational], bits: usize) -> (Rational, Rational) {
        match &self.smoothing {
            None => enclose_divergence(prior, posterior, bits),
            Some(smoothing) => enclose_divergence(&smoothing.exact(prior), &smoothing.exact(posterior), bits),
        }
    }
}

/// The relative error of the posteriors of a group of `rows`, from that of the priors and the roundings of
/// computing the posteriors.
///
/// A posterior is a quotient of two sums of products of one prior per row, all non-negative: priors off by e
/// make each sum off by at most a factor (1+e)^rows, the quotient by exp(2.01 rows e) <= 1 + 2.03 rows e.
pub fn posterior_error(prior_error: f64, rows: usize, own_error: f64) -> f64 {
    let inherited = 2.03 * prior_error * rows as f64;
    let small = 0.0..=5e-3;
    if !small.contains(&inherited) || !small.contains(&own_error) {
        return f64::INFINITY;
    }
    inherited + 1.01 * own_error + relative_error(4)
}
