use super::pairs::naive_prior;
use proptest::prelude::*;

use super::*;
use crate::math::beliefs::combinations::Combinations;
use crate::math::beliefs::distance::Distance;
use crate::math::beliefs::kernel::Kernel;
use crate::math::exact::{Rational, ratio};

fn kernel(kind: u8, codes: u64, bandwidth: &Rational) -> Kernel {
    let distance = match kind {
        0 => Distance::Numeric((0..codes).map(|code| Some(ratio(code * code + 1, 3))).collect()),
        1 => Distance::Numeric(
            (0..codes)
                .map(|code| (code > 0).then(|| ratio(1_234_567_891_011 * code * code + 3, 1)))
                .collect(),
        ),
        2 => Distance::Flat(codes as usize),
        _ => {
            // Leaves in threes below inner nodes below a root.
            let inner = codes.div_ceil(3);
            let leaves = (0..codes).map(|code| Some((codes + code / 3) as u32));
            let above = (0..inner).map(|_| Some((codes + inner) as u32));
            Distance::Hierarchy {
                parents: leaves.chain(above).chain([None]).collect(),
                nodes: (0..codes as u32).collect(),
            }
        }
    };
    Kernel::new(&distance, bandwidth, "x").unwrap()
}

fn bandwidths() -> impl Strategy<Value = Rational> {
    prop::sample::select(vec![ratio(1, 4), ratio(3, 10), ratio(1, 2), ratio(3, 4), ratio(1, 1), ratio(2, 1)])
}

type Case = (Vec<(u8, u64, Rational)>, Vec<(Vec<u32>, u32)>);

fn cases() -> impl Strategy<Value = Case> {
    let column = (0u8..4, 1u64..6, bandwidths());
    prop::collection::vec(column, 0..4).prop_flat_map(|columns| {
        let codes: Vec<_> = columns.iter().map(|(_, codes, _)| 0..*codes as u32).collect();
        (Just(columns), prop::collection::vec((codes, 0u32..4), 1..24))
    })
}

proptest! {
    #[test]
    fn every_way_is_the_definition_within_its_bound((columns, rows) in cases()) {
        let kernels: Vec<_> = columns.iter().map(|(kind, codes, b)| kernel(*kind, *codes, b)).collect();
        let table = Combinations::from_rows(kernels.len(), 4, rows).unwrap();
        let exact: Vec<_> = (0..table.len()).map(|c| exact_prior(&table, &kernels, c)).collect();
        for method in [PriorMethod::Pairs, PriorMethod::Trie] {
            let plan = PriorPlan::with(&table, &kernels, method).unwrap();
            let bound = Rational::try_from(plan.relative_error()).unwrap();
            let priors = plan.run_all();
            for (exact, prior) in exact.iter().zip(&priors) {
                prop_assert_eq!(prior.len(), 4);
                for (exact, prior) in exact.iter().zip(prior) {
                    let prior = Rational::try_from(*prior).unwrap();
                    let off = if prior > *exact { &prior - exact } else { exact - &prior };
                    prop_assert!(off <= exact * &bound, "{:?}", method);
                }
            }
        }
        let mut naive = vec![0.0; 4];
        naive_prior(&table, &kernels, 0, &mut naive);
        for (naive, exact) in naive.iter().zip(&exact[0]) {
            prop_assert!((naive - exact.to_f64().value()).abs() < 1e-12);
        }
    }
}

#[test]
fn a_small_budget_falls_back_to_less_memory() {
    let kernels: Vec<_> = (0..3).map(|_| kernel(0, 5, &ratio(2, 1))).collect();
    let rows = (0..125).map(|n| (vec![n / 25, n / 5 % 5, n % 5], n % 3)).collect();
    let table = Combinations::from_rows(3, 3, rows).unwrap();
    assert_eq!(PriorPlan::new(&table, &kernels, u64::MAX).unwrap().chosen().method, PriorMethod::Trie);
    assert_eq!(PriorPlan::new(&table, &kernels, 100).unwrap().chosen().method, PriorMethod::Pairs);
}

#[test]
fn enormous_numbers_state_an_infinite_error() {
    let huge = |_| {
        let values = [0, 1, u64::MAX].map(|value| Some(ratio(value, 1))).to_vec();
        Kernel::new(&Distance::Numeric(values), &ratio(99_999_999_989, 100_000_000_000), "x").unwrap()
    };
    let kernels: Vec<_> = (0..8).map(huge).collect();
    let table = Combinations::from_rows(8, 2, vec![(vec![0; 8], 0), (vec![1; 8], 1)]).unwrap();
    assert_eq!(PriorPlan::new(&table, &kernels, u64::MAX).unwrap().relative_error(), f64::INFINITY);
}

#[test]
fn foreign_codes_are_errors() {
    let table = Combinations::from_rows(1, 1, vec![(vec![5], 0)]).unwrap();
    assert!(PriorPlan::new(&table, &[kernel(2, 5, &ratio(1, 1))], u64::MAX).is_err());
    assert!(PriorPlan::new(&table, &[], u64::MAX).is_err());
}
