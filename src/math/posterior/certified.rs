//! Is every posterior of a group certainly at most a threshold?

use super::{Refusal, approximate, exact};
use crate::math::exact::{Rational, f64_at_least};

/// Where the largest posterior of a group lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// Every posterior is at most the threshold.
    AtMost,
    /// Some posterior is above it.
    Above,
}

/// Compares the largest posterior with `threshold`; equality is [`Against::AtMost`].
///
/// `priors` and `limit` are those of [`approximate`]; `exact_priors` gives the same priors as fractions and is
/// called only if binary64 cannot decide.
pub fn compare(
    counts: &[u32],
    priors: &[f64],
    exact_priors: impl FnOnce() -> Vec<Rational>,
    threshold: &Rational,
    limit: u64,
) -> Result<Against, Refusal> {
    judge(counts, priors, || false, exact_priors, threshold, limit).map(|(against, _)| against)
}

/// As [`compare`], with an upper bound of every posterior, tuple by tuple, in the order of the counts.
///
/// `proven` says whether another argument shows that no posterior is above the threshold; it is called only
/// when binary64 cannot decide, before exact arithmetic.
pub fn judge(
    counts: &[u32],
    priors: &[f64],
    proven: impl FnOnce() -> bool,
    exact_priors: impl FnOnce() -> Vec<Rational>,
    threshold: &Rational,
    limit: u64,
) -> Result<(Against, Vec<f64>), Refusal> {
    match approximate(counts, priors, limit) {
        Ok(posteriors) => {
            let margin = 1.01 * (posteriors.roundings + 8) as f64 * (f64::EPSILON / 2.0);
            let near = threshold.to_f64().value();
            if margin <= 1.0 / 1024.0 && near > 1e-280 {
                let above = |p: &f64| (p * (1.0 + 2.0 * margin)).next_up().min(1.0);
                let bounds = || posteriors.posteriors.iter().map(above).collect();
                if posteriors.worst() <= near * (1.0 - 2.0 * margin) {
                    return Ok((Against::AtMost, bounds()));
                }
                if posteriors.worst() >= near * (1.0 + 2.0 * margin) {
                    return Ok((Against::Above, bounds()));
                }
                if proven() {
                    return Ok((Against::AtMost, bounds()));
                }
            }
        }
        Err(Refusal::Underflow) => {}
        Err(refusal) => return Err(refusal),
    }
    let posteriors = exact(counts, &exact_priors(), limit)?;
    let above = posteriors.iter().any(|posterior| posterior > threshold);
    let bounds = posteriors.iter().map(f64_at_least).collect();
    Ok((if above { Against::Above } else { Against::AtMost }, bounds))
}
