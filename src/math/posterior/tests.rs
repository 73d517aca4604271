use super::lattice::states;
use proptest::prelude::*;

use super::*;
use crate::math::exact::{Rational, parse_fraction, ratio};

const LIMIT: u64 = 1 << 16;

/// Every distinct assignment, straight from the definition; `None` if none has a positive weight.
fn enumerate(counts: &[u32], priors: &[Rational]) -> Option<Vec<Rational>> {
    fn deal(
        tuple: usize,
        weight: Rational,
        left: &mut [u32],
        dealt: &mut Vec<usize>,
        priors: &[Rational],
        sums: &mut [Rational],
    ) {
        let values = left.len();
        if tuple * values == priors.len() {
            for (tuple, &value) in dealt.iter().enumerate() {
                sums[tuple * values + value] += &weight;
            }
            return;
        }
        for value in 0..values {
            if left[value] > 0 {
                left[value] -= 1;
                dealt.push(value);
                deal(tuple + 1, &weight * &priors[tuple * values + value], left, dealt, priors, sums);
                dealt.pop();
                left[value] += 1;
            }
        }
    }
    let mut sums = vec![Rational::ZERO; priors.len()];
    deal(0, Rational::ONE, &mut counts.to_vec(), &mut Vec::new(), priors, &mut sums);
    let total: Rational = sums[..counts.len()].iter().fold(Rational::ZERO, |total, sum| total + sum);
    (total != Rational::ZERO).then(|| sums.iter().map(|sum| sum / &total).collect())
}

fn floats(priors: &[Rational]) -> Vec<f64> {
    priors.iter().map(|prior| prior.to_f64().value()).collect()
}

fn groups() -> impl Strategy<Value = (Vec<u32>, Vec<Rational>)> {
    proptest::collection::vec(1u32..=3, 1..=4)
        .prop_filter("small enough to enumerate", |counts| counts.iter().sum::<u32>() <= 7)
        .prop_flat_map(|counts| {
            let cells = counts.iter().sum::<u32>() as usize * counts.len();
            let prior = prop_oneof![1 => Just(ratio(0, 1)), 6 => (1u64..1000, 1u64..1000).prop_map(|(a, b)| ratio(a, a + b))];
            (Just(counts), proptest::collection::vec(prior, cells))
        })
}

proptest! {
    #[test]
    fn exact_equals_enumeration((counts, priors) in groups()) {
        match enumerate(&counts, &priors) {
            Some(posteriors) => prop_assert_eq!(exact(&counts, &priors, LIMIT), Ok(posteriors)),
            None => prop_assert_eq!(exact(&counts, &priors, LIMIT), Err(Refusal::Contradiction)),
        }
    }

    #[test]
    fn binary64_stays_within_its_bound((counts, priors) in groups()) {
        match (approximate(&counts, &floats(&priors), LIMIT), exact(&counts, &priors, LIMIT)) {
            (Ok(near), Ok(truth)) => {
                let bound = Rational::try_from(near.relative_error()).unwrap();
                prop_assert!(near.relative_error() < 1e-13);
                for (near, truth) in near.posteriors.iter().zip(&truth) {
                    let near = Rational::try_from(*near).unwrap();
                    prop_assert!(near <= truth * (Rational::ONE + &bound));
                    prop_assert!(near >= truth * (Rational::ONE - &bound));
                }
            }
            (near, truth) => prop_assert_eq!(near.map(|_| ()), truth.map(|_| ())),
        }
    }

    #[test]
    fn comparison_is_exact_at_the_worst_posterior((counts, priors) in groups()) {
        if let Ok(truth) = exact(&counts, &priors, LIMIT) {
            let worst = truth.into_iter().max().unwrap();
            let asked = |threshold: &Rational| compare(&counts, &floats(&priors), || priors.clone(), threshold, LIMIT);
            prop_assert_eq!(asked(&worst), Ok(Against::AtMost));
            let hair = ratio(1, 1_000_000_000_000_000_000);
            prop_assert_eq!(asked(&(&worst * (Rational::ONE - &hair))), Ok(Against::Above));
            prop_assert_eq!(asked(&(&worst * (Rational::ONE + &hair))), Ok(Against::AtMost));
        }
    }
}

#[test]
fn a_long_group_does_not_leave_the_range() {
    let tuples = 600usize;
    let counts = [300u32, 300];
    let priors: Vec<f64> =
        (0..tuples).flat_map(|tuple| if tuple % 2 == 0 { [1e-3, 1.2e-3] } else { [1.2e-3, 1e-3] }).collect();
    let near = approximate(&counts, &priors, 1 << 22).unwrap();
    assert!(near.posteriors.iter().all(|p| p.is_finite() && *p > 0.0 && *p < 1.0));
    let mass: f64 = near.posteriors.chunks(2).map(|row| row[0]).sum();
    assert!((mass - 300.0).abs() < 1e-6, "each of the 300 occurrences belongs to somebody: {mass}");
}

#[test]
fn tiny_priors_are_left_to_exact_arithmetic() {
    let tiny = parse_fraction("1e-300").unwrap();
    let priors = vec![tiny.clone(), ratio(1, 1), tiny, ratio(1, 1)];
    let near = floats(&priors);
    assert_eq!(approximate(&[1, 1], &near, LIMIT), Err(Refusal::Underflow));
    assert_eq!(compare(&[1, 1], &near, || priors.clone(), &ratio(1, 2), LIMIT), Ok(Against::AtMost));
}

#[test]
fn nothing_unclear_counts_as_safe() {
    let half = vec![ratio(1, 2); 4];
    assert_eq!(exact(&[1, 1], &half[..2], LIMIT), Err(Refusal::Malformed));
    assert_eq!(exact(&[], &[], LIMIT), Err(Refusal::Malformed));
    assert_eq!(exact(&[1, 1], &half, 3), Err(Refusal::TooManyStates));
    assert_eq!(approximate(&[1, 1], &[f64::NAN, 0.5, 0.5, 0.5], LIMIT), Err(Refusal::Malformed));
    assert_eq!(
        exact(&[1, 1], &[ratio(0, 1), ratio(1, 2), ratio(0, 1), ratio(1, 2)], LIMIT),
        Err(Refusal::Contradiction)
    );
    assert_eq!(states(&[u32::MAX; 3]), None);
}
