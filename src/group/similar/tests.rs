use proptest::prelude::*;
use serde_json::Value;

use super::group;
use crate::math::exact::Rational;
use crate::math::robust::reference::{self, Named};
use crate::math::robust::tests::{Table, fraction, names, requirement, row, tables, text, vectors};
use crate::math::robust::{Proof, RobustVerdict, Test, Tuples, verify};

const TESTS: [(Named, Test); 3] = [
    (Named::Delta, Test::Delta),
    (Named::Ratio, Test::Ratio),
    (Named::Exact, Test::Exact { states: 1 << 16 }),
];

fn group_table(table: &Table, r: &Rational, test: Test) -> Option<(Vec<Vec<usize>>, Vec<usize>)> {
    let signatures: Vec<&[u32]> = table.signatures.iter().map(Vec::as_slice).collect();
    let tuples = Tuples { values: &table.values, signatures: &signatures };
    let grouping = group(&table.priors, &requirement(r), test, tuples).ok()?;
    let wide = |all: &Vec<u32>| all.iter().map(|&at| at as usize).collect::<Vec<_>>();
    Some((grouping.groups.iter().map(wide).collect(), wide(&grouping.suppressed)))
}

#[test]
fn vectors_of_art() {
    let vectors = vectors();
    for (number, case) in vectors["art"].as_array().unwrap().iter().enumerate() {
        let prior = case["prior"].as_object().unwrap();
        let names = names(prior.values());
        let rows: Vec<Vec<Rational>> = prior.values().map(|prior| row(prior, &names)).collect();
        let position = |of: &[String], name: &Value| of.iter().position(|other| other == text(name)).unwrap();
        let signature_names: Vec<String> = prior.keys().cloned().collect();
        let signatures: Vec<u32> = case["signatures"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| position(&signature_names, name) as u32)
            .collect();
        let values: Vec<usize> =
            case["values"].as_array().unwrap().iter().map(|name| position(&names, name)).collect();
        let table = Table::new(&values, &[signatures], &[rows]);
        let r = fraction(text(&case["r"]));
        for ((named, test), key) in TESTS.into_iter().zip(["delta", "ratio", "exact"]) {
            let result = &case["result"][key];
            let indices = |list: &Value| -> Vec<usize> {
                list.as_array().unwrap().iter().map(|at| at.as_u64().unwrap() as usize).collect()
            };
            let expected = (!result.is_null()).then(|| {
                (
                    result["groups"].as_array().unwrap().iter().map(indices).collect(),
                    indices(&result["suppressed"]),
                )
            });
            assert_eq!(reference::art(&table.tuples, &r, named), expected, "case {number}, {key}: reference");
            assert_eq!(group_table(&table, &r, test), expected, "case {number}, {key}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn grouping_equals_the_reference((table, r) in tables()) {
        for (named, test) in TESTS {
            prop_assert_eq!(group_table(&table, &r, test), reference::art(&table.tuples, &r, named), "{:?}", named);
        }
    }

    #[test]
    fn what_is_published_is_robust((table, r) in tables()) {
        for test in [Test::Ratio, Test::Exact { states: 64 }] {
            let Some((groups, suppressed)) = group_table(&table, &r, test) else { continue };
            let mut all: Vec<usize> = groups.concat();
            all.extend(&suppressed);
            all.sort_unstable();
            prop_assert_eq!(all, (0..table.values.len()).collect::<Vec<_>>());
            let signatures: Vec<&[u32]> = table.signatures.iter().map(Vec::as_slice).collect();
            let tuples = Tuples { values: &table.values, signatures: &signatures };
            let narrow: Vec<Vec<u32>> =
                groups.iter().map(|group| group.iter().map(|&at| at as u32).collect()).collect();
            let verified = verify(&table.priors, &requirement(&r), tuples, &narrow, 1 << 16).unwrap();
            prop_assert!(verified.iter().all(|group| group.verdict == RobustVerdict::Robust(Proof::Posterior)));
            for group in groups {
                let values: Vec<usize> = group.iter().map(|&at| table.tuples[at].value).collect();
                for set in 0..table.signatures.len() {
                    let rows = group.iter().map(|&at| table.tuples[at].priors[set].clone()).collect();
                    prop_assert!(Table::of_rows(&values, rows).worst().unwrap() * &r <= Rational::ONE);
                }
            }
        }
    }
}
