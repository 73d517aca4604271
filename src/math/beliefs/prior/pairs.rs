//! The prior by definition: one person against every row.
//!
//! Memory: one number per sensitive value.

use dashu_int::{IBig, UBig};

use crate::math::beliefs::combinations::Combinations;
use crate::math::beliefs::kernel::Kernel;
use crate::math::exact::Rational;

/// The exact prior at a combination. Its total is positive, because a row has a weight for itself.
pub fn exact_prior(combinations: &Combinations, kernels: &[Kernel], combination: usize) -> Vec<Rational> {
    let person = combinations.codes(combination);
    let mut sums = vec![UBig::ZERO; combinations.values()];
    'rows: for other in 0..combinations.len() {
        let mut weight = UBig::ONE;
        for ((kernel, a), b) in kernels.iter().zip(person).zip(combinations.codes(other)) {
            weight *= kernel.exact(*a, *b);
            if weight == UBig::ZERO {
                continue 'rows;
            }
        }
        for (value, count) in combinations.histogram(other) {
            sums[value as usize] += &weight * UBig::from(count);
        }
    }
    let total: UBig = sums.iter().sum();
    sums.into_iter().map(|sum| Rational::from_parts(IBig::from(sum), total.clone())).collect()
}

/// The prior at a combination in floats, into `prior`: the plain sum over all pairs, for comparisons.
#[cfg(any(test, feature = "bench-internals"))]
pub fn naive_prior(combinations: &Combinations, kernels: &[Kernel], combination: usize, prior: &mut [f64]) {
    let all: Vec<u32> = (0..combinations.len() as u32).collect();
    self::prior(combinations, kernels, combination, all.iter(), prior);
}

/// The prior at a combination from the given combinations.
pub(super) fn prior<'a>(
    combinations: &Combinations,
    kernels: &[Kernel],
    person: usize,
    rows: impl Iterator<Item = &'a u32>,
    prior: &mut [f64],
) {
    let person = combinations.codes(person);
    prior.fill(0.0);
    for row in rows {
        let codes = person.iter().zip(combinations.codes(*row as usize));
        let weight: f64 = kernels.iter().zip(codes).map(|(kernel, (a, b))| kernel.weight(*a, *b)).product();
        for (value, count) in combinations.histogram(*row as usize) {
            prior[value as usize] += weight * count as f64;
        }
    }
    normalise(prior);
}

/// Divides by the total.
pub(super) fn normalise(sums: &mut [f64]) {
    let total: f64 = sums.iter().sum();
    for sum in sums {
        *sum /= total;
    }
}
