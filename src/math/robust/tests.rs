use super::conditions::ratio_condition;
use super::requirement::Infeasible;
use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::reference::{self, Named, Tuple};
use super::*;
use crate::math::exact::{Rational, parse_fraction, ratio};
use crate::math::posterior;

pub(crate) fn fraction(text: &str) -> Rational {
    parse_fraction(text).unwrap()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

pub(crate) fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../tests/vectors/robust.json")).unwrap()
}

pub(crate) fn requirement(r: &Rational) -> Requirement {
    Requirement::new(r.clone()).unwrap()
}

/// A table in which every tuple has its own signature in every attribute set.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) tuples: Vec<Tuple>,
    pub(crate) priors: Priors,
    pub(crate) values: Vec<u32>,
    pub(crate) signatures: Vec<Vec<u32>>,
}

impl Table {
    /// Tuples by value and signature; `distributions[set][signature][value]`.
    pub(crate) fn new(
        values: &[usize],
        signatures: &[Vec<u32>],
        distributions: &[Vec<Vec<Rational>>],
    ) -> Table {
        let width = distributions[0][0].len();
        let mut builder = PriorsBuilder::new(width as u32);
        for set in distributions {
            let entries = set.iter().enumerate().flat_map(|(signature, row)| {
                row.iter()
                    .enumerate()
                    .map(move |(value, prior)| (signature as u32, value as u32, prior.clone()))
            });
            builder.given(set.len() as u32, entries.collect()).unwrap();
        }
        let tuple = |at: usize| Tuple {
            value: values[at],
            priors: (0..signatures.len())
                .map(|set| distributions[set][signatures[set][at] as usize].clone())
                .collect(),
        };
        Table {
            tuples: (0..values.len()).map(tuple).collect(),
            priors: builder.build(),
            values: values.iter().map(|&value| value as u32).collect(),
            signatures: signatures.to_vec(),
        }
    }

    pub(crate) fn of_rows(values: &[usize], rows: Vec<Vec<Rational>>) -> Table {
        Table::new(values, &[(0..values.len() as u32).collect()], &[rows])
    }

    /// All tuples as one published group: signatures tuple by tuple, values with counts.
    fn published(&self) -> (Vec<u32>, Vec<(u32, u32)>) {
        let mut counts = BTreeMap::new();
        self.values.iter().for_each(|&value| *counts.entry(value).or_insert(0u32) += 1);
        let members = (0..self.values.len()).flat_map(|at| self.signatures.iter().map(move |set| set[at]));
        (members.collect(), counts.into_iter().collect())
    }

    fn assess(&self, r: &Rational, states: u64) -> Assessment {
        let (signatures, values) = self.published();
        let group = PublishedGroup { signatures: &signatures, values: &values };
        assess(&self.priors, &requirement(r), group, states).unwrap()
    }

    fn delta_claims(&self, r: &Rational) -> bool {
        let (signatures, values) = self.published();
        delta_claims(
            &self.priors,
            &requirement(r),
            PublishedGroup { signatures: &signatures, values: &values },
        )
        .unwrap()
    }

    /// The ratio condition, for all attribute sets.
    fn ratio_holds(&self, r: &Rational) -> bool {
        let (signatures, values) = self.published();
        let (requirement, alone) = (requirement(r), values.iter().all(|&(_, count)| count == 1));
        let values: Vec<u32> = values.into_iter().map(|(value, _)| value).collect();
        let enough = values.len() as u64 >= requirement.smallest_group();
        let group = GroupPriors::new(&self.priors, values, signatures);
        let holds = |set| ratio_condition(&requirement, &self.priors.levels, &group, set);
        alone && enough && (0..self.priors.sets()).all(holds)
    }

    /// The largest exact posterior; `None` for a contradiction.
    pub(crate) fn worst(&self) -> Option<Rational> {
        self.posteriors(0).map(|all| all.into_iter().max().unwrap())
    }

    fn posteriors(&self, set: usize) -> Option<Vec<Rational>> {
        let (_, values) = self.published();
        let counts: Vec<u32> = values.iter().map(|&(_, count)| count).collect();
        let rows = self.tuples.iter().map(|tuple| &tuple.priors[set]);
        let priors: Vec<Rational> =
            rows.flat_map(|row| values.iter().map(|&(value, _)| row[value as usize].clone())).collect();
        posterior::exact(&counts, &priors, 1 << 20).ok()
    }
}

/// The names of all values of a case in order, `_rest` left out.
pub(crate) fn names<'a>(rows: impl Iterator<Item = &'a Value>) -> Vec<String> {
    let mut names: Vec<String> = rows
        .flat_map(|row| row.as_object().unwrap().keys().cloned())
        .filter(|name| name != "_rest")
        .collect();
    names.sort();
    names.dedup();
    names
}

pub(crate) fn row(prior: &Value, names: &[String]) -> Vec<Rational> {
    names.iter().map(|name| prior.get(name).map_or(Rational::ZERO, |prior| fraction(text(prior)))).collect()
}

#[test]
fn vectors_of_groups() {
    let vectors = vectors();
    for (number, case) in vectors["cases"].as_array().unwrap().iter().enumerate() {
        let rows = case["prior"].as_array().unwrap();
        let mut names = names(rows.iter());
        let present: Vec<&str> = case["values"].as_array().unwrap().iter().map(text).collect();
        names.extend(
            present
                .iter()
                .filter(|name| !names.iter().any(|other| other == *name))
                .map(|name| name.to_string())
                .collect::<Vec<_>>(),
        );
        let values: Vec<usize> =
            present.iter().map(|value| names.iter().position(|name| name == value).unwrap()).collect();
        let table = Table::of_rows(&values, rows.iter().map(|prior| row(prior, &names)).collect());
        let r = fraction(text(&case["r"]));
        let (_, distinct) = table.published();

        match case["posterior"].as_array() {
            None => assert_eq!(table.worst(), None, "case {number}"),
            Some(expected) => {
                let posteriors = table.posteriors(0).unwrap();
                for (tuple, expected) in expected.iter().enumerate() {
                    for (at, &(value, _)) in distinct.iter().enumerate() {
                        let expected = fraction(text(&expected[&names[value as usize]]));
                        assert_eq!(posteriors[tuple * distinct.len() + at], expected, "case {number}");
                    }
                }
                assert_eq!(table.worst(), Some(fraction(text(&case["max_posterior"]))), "case {number}");
            }
        }
        let robust = case["r_robust"].as_bool().unwrap();
        match table.assess(&r, 1 << 16).verdict {
            RobustVerdict::Robust(_) => assert!(robust, "case {number}"),
            RobustVerdict::Breached { posterior } => {
                assert!(!robust, "case {number}");
                let worst = table.worst().unwrap();
                let shown = Rational::try_from(posterior).unwrap();
                assert!(shown >= worst && shown < worst + ratio(1, 1_000_000_000_000), "case {number}");
            }
            RobustVerdict::Contradiction => assert!(case["posterior"].is_null(), "case {number}"),
            RobustVerdict::NotShown => panic!("case {number} is small"),
        }
        assert_eq!(table.delta_claims(&r), case["delta_condition"].as_bool().unwrap(), "case {number}");
        assert_eq!(table.ratio_holds(&r), case["sound_ratio_condition"].as_bool().unwrap(), "case {number}");
        for (name, expected) in case.get("delta").and_then(Value::as_object).into_iter().flatten() {
            let largest = fraction(text(&expected["fmax"]));
            let value = names.iter().position(|other| other == name).unwrap();
            assert_eq!(table.tuples.iter().map(|tuple| &tuple.priors[0][value]).max(), Some(&largest));
            let ceiling = delta_ceiling(values.len() as u64, &r, &largest);
            assert_eq!(ceiling, fraction(text(&expected["delta_ceil"])), "case {number}");
        }
    }
}

#[test]
fn the_printed_condition_is_wrong_and_the_witness_shows_it() {
    let parse = |rows: &[&[&str]]| rows.iter().map(|row| row.iter().map(|p| fraction(p)).collect()).collect();
    let three = Table::of_rows(
        &[0, 1, 2],
        parse(&[&["1/2", "1/4", "1/4"], &["1/3", "2/5", "4/15"], &["1/3", "4/15", "2/5"]]),
    );
    let two = ratio(2, 1);
    assert!(three.delta_claims(&two));
    assert!(!three.ratio_holds(&two));
    assert_eq!(three.worst(), Some(ratio(26, 51)));
    assert!(
        matches!(three.assess(&two, 1 << 10).verdict, RobustVerdict::Breached { posterior } if posterior > 0.5)
    );

    for (tuples, top, low, worst) in
        [(5, "1/10", "1/37", ratio(1369, 1769)), (10, "1/1000", "", ratio(1263376, 1404001))]
    {
        let top = fraction(top);
        let low = if low.is_empty() { &top - delta_ceiling(tuples, &two, &top) } else { fraction(low) };
        let rows = (0..tuples as usize).map(|tuple| {
            (0..tuples as usize)
                .map(|value| if (tuple == 0) == (value == 0) { top.clone() } else { low.clone() })
                .collect()
        });
        let family = Table::of_rows(&(0..tuples as usize).collect::<Vec<_>>(), rows.collect());
        assert!(family.delta_claims(&two), "{tuples}");
        assert_eq!(family.worst(), Some(worst));
        assert!(!family.ratio_holds(&two));
    }
}

#[test]
fn values_of_the_paper() {
    for (tuples, r, largest, ceiling) in [
        (3, 2, "0.1", "9/190"),
        (3, 2, "0.3", "21/170"),
        (3, 2, "0.5", "1/6"),
        (3, 2, "0.9", "9/110"),
        (4, 2, "0.3", "7/40"),
        (6, 2, "0.3", "21/95"),
        (6, 3, "0.3", "63/410"),
        (6, 4, "0.3", "21/220"),
    ] {
        assert_eq!(delta_ceiling(tuples, &ratio(r, 1), &fraction(largest)), fraction(ceiling));
    }
    assert_eq!(delta_ceiling(5, &ratio(2, 1), &ratio(1, 1)), Rational::ZERO);
    let rows = vec![vec![fraction("0.1"), fraction("0.9")], vec![fraction("0.003"), fraction("0.997")]];
    assert_eq!(Table::of_rows(&[0, 1], rows).worst(), Some(ratio(997, 1024)));
}

#[test]
fn edges_never_pass() {
    let half = || vec![ratio(1, 2), ratio(1, 2)];
    let two = ratio(2, 1);
    assert!(Requirement::new(ratio(1, 1)).is_err());
    assert!(Table::of_rows(&[0, 1], vec![half(), half()]).ratio_holds(&two), "a tie is safe");
    assert!(!Table::of_rows(&[0, 1], vec![half(), half()]).ratio_holds(&ratio(200_001, 100_000)));
    assert!(!Table::of_rows(&[0, 1, 0, 1], vec![half(); 4]).ratio_holds(&two), "values must differ");
    assert_eq!(
        Table::of_rows(&[0, 1, 0, 1], vec![half(); 4]).assess(&two, 9).verdict,
        RobustVerdict::Robust(Proof::Posterior)
    );
    assert_eq!(
        Table::of_rows(&[0, 1, 0, 1], vec![half(); 4]).assess(&two, 8).verdict,
        RobustVerdict::NotShown
    );
    let certain = || vec![ratio(1, 1), ratio(0, 1)];
    let contradiction = Table::of_rows(&[0, 1], vec![certain(), certain()]);
    assert_eq!(contradiction.assess(&two, 9).verdict, RobustVerdict::Contradiction);
    assert!(!contradiction.delta_claims(&two));
    assert_eq!(contradiction.assess(&two, 0).verdict, RobustVerdict::NotShown);
    let mut builder = PriorsBuilder::new(2);
    assert!(builder.given(1, vec![(0, 0, ratio(2, 3)), (0, 1, ratio(1, 2))]).is_err());
    assert!(builder.given(1, vec![(0, 0, -ratio(1, 2))]).is_err());
    assert!(builder.given(1, vec![(0, 2, ratio(1, 2))]).is_err());
    assert!(builder.estimated(1, vec![(1, 0, 1)]).is_err());
    assert!(builder.estimated(1, vec![(0, 0, 1), (0, 0, 2)]).is_err());
}

#[test]
fn an_infeasible_table_is_refused_with_the_arithmetic() {
    let requirement = requirement(&ratio(5, 2));
    let refused = requirement.check_feasible(&[2, 3, 3]).unwrap_err();
    assert_eq!(refused, Infeasible { value: 1, frequency: 3, smallest_group: 3, tuples: 8 });
    assert!(refused.to_string().ends_with("3 x 3 = 9 > 8 tuples"), "{refused}");
    assert!(requirement.check_feasible(&[3, 3, 3]).is_ok());
    assert!(requirement.check_feasible(&[]).is_ok());
}

#[test]
fn estimated_priors_are_the_shares_of_the_table() {
    let mut builder = PriorsBuilder::new(3);
    builder.estimated(2, vec![(1, 2, 3), (0, 0, 2), (0, 1, 4), (1, 0, 1)]).unwrap();
    builder.estimated(1, vec![(0, 0, u32::MAX), (0, 1, u32::MAX)]).unwrap();
    let priors = builder.build();
    assert_eq!(priors.prior(0, 0, 0), ratio(1, 3));
    assert_eq!(priors.prior(0, 0, 2), Rational::ZERO);
    assert_eq!(priors.prior(0, 1, 2), ratio(3, 4));
    assert_eq!(priors.prior(1, 0, 1), ratio(1, 2));
}

/// A random table with estimated or random distributions for one to three attribute sets.
pub(crate) fn tables() -> impl Strategy<Value = (Table, Rational)> {
    let shape = (4usize..40, 2usize..7, 1usize..4, 1u32..5, any::<bool>());
    shape.prop_flat_map(|(tuples, width, sets, signatures, estimated)| {
        let values = proptest::collection::vec(0..width, tuples);
        let codes = proptest::collection::vec(proptest::collection::vec(0..signatures, tuples), sets);
        let weight = prop_oneof![1 => Just(0u64), 8 => 1u64..9, 3 => Just(4u64)];
        let weights = proptest::collection::vec(weight, sets * signatures as usize * width);
        let r = prop_oneof![Just(ratio(3, 2)), Just(ratio(2, 1)), Just(ratio(5, 2)), Just(ratio(3, 1))];
        (values, codes, weights, r).prop_map(move |(values, codes, weights, r)| {
            let distributions: Vec<Vec<Vec<Rational>>> = (0..sets)
                .map(|set| {
                    let row = |signature: u32| -> Vec<Rational> {
                        let weight = |value: usize| match estimated {
                            true => (0..tuples)
                                .filter(|&at| codes[set][at] == signature && values[at] == value)
                                .count() as u64,
                            false => {
                                weights[(set * signatures as usize + signature as usize) * width + value]
                            }
                        };
                        let total = (0..width).map(weight).sum::<u64>().max(1);
                        (0..width).map(|value| ratio(weight(value), total)).collect()
                    };
                    (0..signatures).map(row).collect()
                })
                .collect();
            (Table::new(&values, &codes, &distributions), r)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_group_accepted_by_ratio_is_never_above_the_threshold((table, _) in tables(), pick in 2usize..6) {
        let mut seen = vec![];
        for (at, tuple) in table.tuples.iter().enumerate() {
            if seen.iter().all(|&other: &usize| table.tuples[other].value != tuple.value) && seen.len() < pick {
                seen.push(at);
            }
        }
        let rows = table.tuples.iter().map(|tuple| tuple.priors[0].clone()).collect();
        let all = Table::of_rows(&table.tuples.iter().map(|tuple| tuple.value).collect::<Vec<_>>(), rows);
        for r in [ratio(6, 5), ratio(3, 2), ratio(2, 1)] {
            let shown = all.assess(&r, 0).verdict == RobustVerdict::Robust(Proof::Bound);
            prop_assert!(!shown || all.worst().unwrap() * &r <= Rational::ONE);
        }
        let values: Vec<usize> = seen.iter().map(|&at| table.tuples[at].value).collect();
        let one = Table::of_rows(&values, seen.iter().map(|&at| table.tuples[at].priors[0].clone()).collect());
        for r in [ratio(6, 5), ratio(3, 2), ratio(2, 1), ratio(3, 1)] {
            if one.ratio_holds(&r) {
                prop_assert!(one.worst().unwrap() * &r <= Rational::ONE);
                prop_assert!(matches!(one.assess(&r, 1 << 10).verdict, RobustVerdict::Robust(Proof::Posterior)));
            }
            // What a bound shows without any state is never above either.
            if one.assess(&r, 0).verdict == RobustVerdict::Robust(Proof::Bound) {
                prop_assert!(one.worst().unwrap() * &r <= Rational::ONE);
            }
            prop_assert_eq!(one.ratio_holds(&r), reference::holds(&one.tuples, &(0..values.len()).collect::<Vec<_>>(), &r, Named::Ratio));
            prop_assert_eq!(one.delta_claims(&r), reference::holds(&one.tuples, &(0..values.len()).collect::<Vec<_>>(), &r, Named::Delta));
        }
    }
}
