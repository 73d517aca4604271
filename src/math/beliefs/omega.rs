//! What would the paper's quick estimate say the adversary believes after the release?
//!
//! For display only: it understates risks (mathematics 4.2), so nothing is accepted because of it.
//!
//! Memory: O(members x values) of the group, for the result.

/// The Omega-estimate of the posterior of every row: n_v f_i(v) / sum_j f_j(v), normalized over v.
///
/// Each prior comes with the number of rows that share it.
pub fn omega_estimate(priors: &[(&[f64], u64)], counts: &[u64]) -> Vec<Vec<f64>> {
    let mut factors = vec![0.0; counts.len()];
    for (prior, rows) in priors {
        for (factor, prior) in factors.iter_mut().zip(*prior) {
            *factor += prior * *rows as f64;
        }
    }
    for (factor, count) in factors.iter_mut().zip(counts) {
        *factor = if *count == 0 { 0.0 } else { *count as f64 / *factor };
    }
    let estimate = |(prior, _): &(&[f64], u64)| {
        let mut raw: Vec<f64> =
            prior.iter().zip(&factors).map(|(p, f)| if *p == 0.0 { 0.0 } else { p * f }).collect();
        let total: f64 = raw.iter().sum();
        raw.iter_mut().for_each(|share| *share /= total);
        raw
    };
    priors.iter().map(estimate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_values_that_understate() {
        // Rows of the paper's Tables II and III over (HIV, none); the exact posteriors are 57/71 and 1.
        let second: [&[f64]; 3] = [&[0.05, 0.95], &[0.05, 0.95], &[0.3, 0.7]];
        let posterior = omega_estimate(&second.map(|prior| (prior, 1)), &[1, 2]);
        assert!((posterior[2][0] - 39.0 / 67.0).abs() < 1e-15);
        let third: [&[f64]; 3] = [&[0.0, 1.0], &[0.0, 1.0], &[0.3, 0.7]];
        assert!((omega_estimate(&third.map(|prior| (prior, 1)), &[1, 2])[2][0] - 27.0 / 41.0).abs() < 1e-15);
    }
}
