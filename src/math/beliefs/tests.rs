//! The public vectors and worked values, with a plain reference for posteriors.

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::Value;

use super::ceiling::Ceiling;
use super::combinations::Combinations;
use super::comparison::{BeliefComparison, posterior_error};
use super::distance::Distance;
use super::divergence::{DistanceVerdict, Threshold};
use super::kernel::Kernel;
use super::omega::omega_estimate;
use super::prior::{PriorPlan, exact_prior};
use super::smoothing::Smoothing;
use crate::math::exact::{Rational, parse_fraction, ratio};

/// Weights of assignments of a multiset to rows, by what is left of the multiset: the definition.
fn total_weight(
    priors: &[Vec<Rational>],
    left: &[u64],
    memo: &mut HashMap<(usize, Vec<u64>), Rational>,
) -> Rational {
    let Some((first, rest)) = priors.split_first() else { return ratio(1, 1) };
    if let Some(known) = memo.get(&(priors.len(), left.to_vec())) {
        return known.clone();
    }
    let mut sum = Rational::ZERO;
    for value in (0..left.len()).filter(|value| left[*value] > 0) {
        let mut fewer = left.to_vec();
        fewer[value] -= 1;
        sum += &first[value] * total_weight(rest, &fewer, memo);
    }
    memo.insert((priors.len(), left.to_vec()), sum.clone());
    sum
}

fn exact_posteriors(priors: &[Vec<Rational>], counts: &[u64]) -> Vec<Vec<Rational>> {
    let posterior = |row: usize| {
        let mut others = priors.to_vec();
        let own = others.remove(row);
        let weight = |value: usize| {
            let mut left = counts.to_vec();
            if left[value] == 0 {
                return Rational::ZERO;
            }
            left[value] -= 1;
            &own[value] * total_weight(&others, &left, &mut HashMap::new())
        };
        let weights: Vec<_> = (0..counts.len()).map(weight).collect();
        let total = weights.iter().fold(Rational::ZERO, |sum, weight| sum + weight);
        weights.into_iter().map(|weight| weight / &total).collect()
    };
    (0..priors.len()).map(posterior).collect()
}

fn floats(exact: &[Rational]) -> Vec<f64> {
    exact.iter().map(|value| value.to_f64().value()).collect()
}

fn text(value: &Value) -> Rational {
    parse_fraction(value.as_str().unwrap()).unwrap()
}

/// A hierarchy from a map of parents, for codes by name.
fn hierarchy(parent: &Value, names: &[String]) -> Distance {
    let parent = parent.as_object().unwrap();
    let labels: Vec<&String> = parent.keys().collect();
    let node = |name: &str| labels.iter().position(|label| *label == name).unwrap() as u32;
    Distance::Hierarchy {
        parents: labels.iter().map(|label| parent[*label].as_str().map(node)).collect(),
        nodes: names.iter().map(|name| node(name)).collect(),
    }
}

struct Case {
    domain: Vec<String>,
    kernels: Vec<Kernel>,
    table: Combinations,
    /// The combination and sensitive value of each row.
    rows: Vec<(usize, u32)>,
    smoothing: Option<Smoothing>,
}

fn read(case: &Value) -> Case {
    let names = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_string()).collect()
    };
    let domain = names(&case["domain"]);
    let table = case["table"].as_array().unwrap();
    let attributes = case["attributes"].as_array().unwrap();
    let mut kernels = Vec::new();
    let mut codes = vec![Vec::new(); table.len()];
    for (column, attribute) in attributes.iter().enumerate() {
        let cell = |row: &Value| match &row["qi"][column] {
            Value::String(name) => name.clone(),
            other => other.to_string(),
        };
        let mut values: Vec<String> = table.iter().map(cell).collect();
        values.sort();
        values.dedup();
        for (codes, row) in codes.iter_mut().zip(table) {
            codes.push(values.binary_search(&cell(row)).unwrap() as u32);
        }
        let distance = match attribute["type"].as_str().unwrap() {
            "numeric" => Distance::Numeric(values.iter().map(|value| parse_fraction(value)).collect()),
            _ => hierarchy(&attribute["parent"], &values),
        };
        kernels.push(Kernel::new(&distance, &text(&case["B"][column]), "x").unwrap());
    }
    let value = |row: &Value| domain.iter().position(|name| row["s"] == *name.as_str()).unwrap() as u32;
    let rows: Vec<_> = codes.into_iter().zip(table.iter().map(value)).collect();
    let merged = Combinations::from_rows(attributes.len(), domain.len(), rows.clone()).unwrap();
    let smoothing = (!case["smoothing"].is_null()).then(|| {
        let smoothing = &case["smoothing"];
        let distance = match smoothing["type"].as_str().unwrap() {
            "numeric" => {
                let position = |name: &String| parse_fraction(&smoothing["position"][name].to_string());
                Distance::Numeric(domain.iter().map(position).collect())
            }
            _ => hierarchy(&smoothing["parent"], &domain),
        };
        Smoothing::new(&distance, &text(&smoothing["B"]), "s").unwrap()
    });
    let rows = rows.into_iter().map(|(codes, value)| (merged.find(&codes).unwrap(), value)).collect();
    Case { domain, kernels, table: merged, rows, smoothing }
}

#[test]
fn public_vectors() {
    let file: Value = serde_json::from_str(include_str!("../../../tests/vectors/btprivacy.json")).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 60);
    for (number, expected) in cases.iter().enumerate() {
        let case = read(expected);
        let distribution =
            |value: &Value| -> Vec<Rational> { case.domain.iter().map(|name| text(&value[name])).collect() };
        let mut comparison = BeliefComparison::new(case.smoothing.clone());
        let plan = PriorPlan::new(&case.table, &case.kernels, u64::MAX).unwrap();
        let float_priors = plan.run_all();
        let mut risk = (Rational::ZERO, Rational::ZERO);
        for group in expected["groups"].as_array().unwrap() {
            let rows: Vec<usize> =
                group["rows"].as_array().unwrap().iter().map(|row| row.as_u64().unwrap() as usize).collect();
            let mut counts = vec![0u64; case.domain.len()];
            rows.iter().for_each(|row| counts[case.rows[*row].1 as usize] += 1);
            let prior = |row: &usize| exact_prior(&case.table, &case.kernels, case.rows[*row].0);
            let priors: Vec<_> = rows.iter().map(prior).collect();
            let posteriors = exact_posteriors(&priors, &counts);
            let own: Vec<&[f64]> = rows.iter().map(|row| &float_priors[case.rows[*row].0][..]).collect();
            let counted: Vec<(&[f64], u64)> = own.iter().map(|prior| (*prior, 1)).collect();
            let omega = omega_estimate(&counted, &counts);
            let ceiling = Ceiling::new(&counted, &counts, plan.relative_error());
            for row in 0..rows.len() {
                assert_eq!(priors[row], distribution(&group["prior"][row]), "case {number}");
                assert_eq!(posteriors[row], distribution(&group["posterior_exact"][row]), "case {number}");
                for (estimate, expected) in
                    omega[row].iter().zip(distribution(&group["posterior_omega"][row]))
                {
                    assert!((estimate - expected.to_f64().value()).abs() < 1e-14, "case {number}");
                }
                if let Some(smoothing) = &case.smoothing {
                    assert_eq!(
                        smoothing.exact_raw(&priors[row]),
                        distribution(&group["prior_smoothed_raw"][row])
                    );
                    assert_eq!(smoothing.exact(&priors[row]), distribution(&group["prior_smoothed"][row]));
                    let expected = distribution(&group["posterior_exact_smoothed"][row]);
                    assert_eq!(smoothing.exact(&posteriors[row]), expected);
                }
                let (low, high) = comparison.enclose(&priors[row], &posteriors[row], 90);
                let (least, most) =
                    (text(&group["js_base2_exact"][row][0]), text(&group["js_base2_exact"][row][1]));
                assert!(low <= most && least <= high, "case {number}: the enclosures do not meet");
                assert!(&high - &low <= ratio(1, 1 << 62));
                let error = posterior_error(plan.relative_error(), rows.len(), 2e-16);
                let measured = comparison.measure(own[row], &floats(&posteriors[row]), error);
                assert!(
                    Rational::try_from(measured.distance + measured.bound).unwrap() >= least,
                    "case {number}"
                );
                assert!(
                    Rational::try_from(measured.distance - measured.bound).unwrap() <= most,
                    "case {number}"
                );
                let floor = ceiling.least_distance(own[row], case.smoothing.as_ref());
                assert!(Rational::try_from(floor).unwrap() <= most, "case {number}: floor {floor}");
                let ceiling = ceiling.distance(own[row], case.smoothing.as_ref());
                assert!(Rational::try_from(ceiling).unwrap() >= least, "case {number}: ceiling {ceiling}");
                // The enclosure's ends as thresholds: only the exact path can distinguish them from the
                // distance.
                let tiny = ratio(1, 1 << 60);
                assert_eq!(
                    comparison.settle(&priors[row], &posteriors[row], &(&most + &tiny)),
                    DistanceVerdict::Within
                );
                if least > tiny {
                    let below = &least - &tiny;
                    assert_eq!(
                        comparison.settle(&priors[row], &posteriors[row], &below),
                        DistanceVerdict::Beyond
                    );
                    assert_eq!(Threshold::new(below).decide(measured), DistanceVerdict::Undecided);
                }
                risk = (risk.0.max(low), risk.1.max(high));
            }
        }
        let (least, most) = (text(&expected["risk_exact"][0]), text(&expected["risk_exact"][1]));
        assert!(risk.0 <= most && least <= risk.1, "case {number}: risk");
    }
}

/// The paper's Table I: age, sex and disease (cancer, emphysema, flu, gastritis) of nine patients.
fn table_one(age: Rational, sex: Rational) -> (Combinations, Vec<Kernel>, Vec<usize>) {
    let rows = [
        (69, 1, 1),
        (45, 0, 0),
        (52, 0, 2),
        (43, 0, 3),
        (42, 0, 2),
        (47, 0, 0),
        (50, 1, 2),
        (56, 1, 1),
        (52, 1, 3),
    ];
    let mut ages: Vec<u64> = rows.iter().map(|row| row.0).collect();
    ages.sort_unstable();
    ages.dedup();
    let coded = rows.map(|(age, sex, s)| (vec![ages.binary_search(&age).unwrap() as u32, sex], s));
    let table = Combinations::from_rows(2, 4, coded.to_vec()).unwrap();
    let numbers = Distance::Numeric(ages.iter().map(|age| Some(ratio(*age, 1))).collect());
    let kernels = vec![
        Kernel::new(&numbers, &age, "age").unwrap(),
        Kernel::new(&Distance::Flat(2), &sex, "sex").unwrap(),
    ];
    let find = |row: &(Vec<u32>, u32)| table.find(&row.0).unwrap();
    let rows = coded.iter().map(find).collect();
    (table, kernels, rows)
}

#[test]
fn worked_priors_and_posterior() {
    let (table, kernels, rows) = table_one(ratio(1, 3), ratio(1, 2));
    let zero = Rational::ZERO;
    let third = [ratio(88, 169), zero.clone(), ratio(81, 169), zero.clone()];
    assert_eq!(exact_prior(&table, &kernels, rows[2]), third);

    let (table, kernels, rows) = table_one(ratio(1, 2), ratio(2, 1));
    let priors: Vec<_> = rows[..3].iter().map(|row| exact_prior(&table, &kernels, *row)).collect();
    assert_eq!(priors[0], [zero.clone(), ratio(1, 1), zero.clone(), zero.clone()]);
    assert_eq!(priors[2], [ratio(664, 2403), ratio(95, 801), ratio(6371, 16821), ratio(141, 623)]);
    let posteriors = exact_posteriors(&priors, &[1, 1, 1, 0]);
    assert_eq!(posteriors[1], [ratio(656_213, 1_219_866), zero.clone(), ratio(563_653, 1_219_866), zero]);
}

#[test]
fn the_estimate_understates_where_the_exact_distance_and_the_ceiling_do_not() {
    let (table, kernels, rows) = table_one(ratio(1, 2), ratio(2, 1));
    let diseases = [1, 0, 2, 3, 2, 0, 2, 1, 3];
    let mut comparison = BeliefComparison::new(None);
    let (mut exact_risk, mut omega_risk, mut highest) = (0.0f64, 0.0f64, 0.0f64);
    for group in [0..3, 3..6, 6..9] {
        let mut counts = [0u64; 4];
        group.clone().for_each(|row| counts[diseases[row]] += 1);
        let priors: Vec<_> = rows[group].iter().map(|row| exact_prior(&table, &kernels, *row)).collect();
        let posteriors = exact_posteriors(&priors, &counts);
        let own: Vec<Vec<f64>> = priors.iter().map(|prior| floats(prior)).collect();
        let own: Vec<(&[f64], u64)> = own.iter().map(|prior| (&prior[..], 1)).collect();
        let ceiling = Ceiling::new(&own, &counts, 2e-16);
        for (((prior, _), posterior), omega) in own.iter().zip(&posteriors).zip(omega_estimate(&own, &counts))
        {
            exact_risk = exact_risk.max(comparison.measure(prior, &floats(posterior), 2e-16).distance);
            omega_risk = omega_risk.max(comparison.measure(prior, &omega, 2e-16).distance);
            highest = highest.max(ceiling.distance(prior, None));
        }
    }
    assert!((exact_risk - 0.19951).abs() < 1e-5 && (omega_risk - 0.14232).abs() < 1e-5);
    assert!(highest >= exact_risk);
}

#[test]
fn worked_posteriors_of_three_rows() {
    let certain = |hiv| vec![vec![ratio(0, 1), ratio(1, 1)], vec![ratio(0, 1), ratio(1, 1)], hiv];
    let likely = |hiv| vec![vec![ratio(1, 20), ratio(19, 20)], vec![ratio(1, 20), ratio(19, 20)], hiv];
    let third = vec![ratio(3, 10), ratio(7, 10)];
    assert_eq!(exact_posteriors(&likely(third.clone()), &[1, 2])[2][0], ratio(57, 71));
    assert_eq!(exact_posteriors(&certain(third), &[1, 2])[2][0], ratio(1, 1));
}

/// Groups whose priors are near each other, far apart, or hold zeros, in the proportion of their weights.
fn groups() -> impl Strategy<Value = (Vec<Vec<u64>>, Vec<usize>)> {
    (2usize..5, 1usize..13).prop_flat_map(|(values, rows)| {
        let near = prop::collection::vec(90u64..110, values);
        let far = prop::collection::vec(0u64..50, values);
        let priors = prop::collection::vec(prop_oneof![near, far], rows);
        (priors, prop::collection::vec(0..values, rows))
    })
}

proptest! {
    #[test]
    fn the_ceiling_is_never_below_the_exact_distance((weights, held) in groups()) {
        let values = weights[0].len();
        // A row's own value is possible, as it always is for a kernel prior.
        let prior = |(weights, held): (&Vec<u64>, &usize)| {
            let weights: Vec<u64> = weights.iter().enumerate().map(|(v, w)| w + u64::from(v == *held)).collect();
            let total = weights.iter().sum();
            weights.iter().map(|weight| ratio(*weight, total)).collect::<Vec<_>>()
        };
        let priors: Vec<_> = weights.iter().zip(&held).map(prior).collect();
        let mut counts = vec![0u64; values];
        held.iter().for_each(|value| counts[*value] += 1);
        let posteriors = exact_posteriors(&priors, &counts);
        let own: Vec<Vec<f64>> = priors.iter().map(|prior| floats(prior)).collect();
        let own: Vec<&[f64]> = own.iter().map(|prior| &prior[..]).collect();
        let counted: Vec<(&[f64], u64)> = own.iter().map(|prior| (*prior, 1)).collect();
        let plain = Ceiling::new(&counted, &counts, 1.2e-16);
        let refined = Ceiling::refined(&counted, &counts, 1.2e-16);
        let order = Distance::Numeric((0..values as u64).map(|value| Some(ratio(value * value, 1))).collect());
        let smoothing = Smoothing::new(&order, &ratio(3, 4), "s").unwrap();
        for (ceiling, smoothing) in
            [(&plain, None), (&plain, Some(smoothing.clone())), (&refined, None), (&refined, Some(smoothing))]
        {
            let comparison = BeliefComparison::new(smoothing.clone());
            for (row, (prior, posterior)) in priors.iter().zip(&posteriors).enumerate() {
                for ((low, high), exact) in ceiling.posterior(own[row]).iter().zip(posterior) {
                    prop_assert!(Rational::try_from(*low).unwrap() <= *exact);
                    prop_assert!(*exact <= Rational::try_from(*high).unwrap());
                }
                let (least, most) = comparison.enclose(prior, posterior, 80);
                let floor = ceiling.least_distance(own[row], smoothing.as_ref());
                prop_assert!(Rational::try_from(floor).unwrap() <= most);
                let bound = ceiling.distance(own[row], smoothing.as_ref());
                prop_assert!(Rational::try_from(bound).unwrap() >= least);
            }
        }
    }
}
