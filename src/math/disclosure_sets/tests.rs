//! Every number against the definition: all instances of all people, listed.

use std::collections::HashMap;

use dashu_int::UBig;
use proptest::prelude::*;

use super::arrangements::Work;
use super::failing::{Failing, KnownRegions};
use super::property::PropertyJudge;
use super::{
    Audit, AuditFinding, AuditedRelease, Limits, Partition, Property, Sequence, SharesSummary, SkylinePoint,
};
use crate::math::exact::{Rational, parse_fraction, ratio};

/// Mathematics 5.1 taken literally, over the list of all instances with the table's values.
struct Reference {
    functions: Vec<Partition>,
    instances: Vec<Vec<u32>>,
    property: Property,
    inclusive: HashMap<(usize, usize), bool>,
    /// For each function, instances by publication.
    publication: Vec<Vec<usize>>,
}

impl Reference {
    fn new(functions: &[Partition], table: &[u32], property: &Property) -> Self {
        let mut instances = vec![];
        let mut sorted = table.to_vec();
        sorted.sort_unstable();
        each_permutation(&mut sorted, &mut |instance| instances.push(instance.to_vec()));
        let publication = functions
            .iter()
            .map(|function| {
                let mut number = HashMap::new();
                let published = instances.iter().map(|x| {
                    let next = number.len();
                    *number.entry(function.publish(x)).or_insert(next)
                });
                published.collect()
            })
            .collect();
        let (functions, property) = (functions.to_vec(), property.clone());
        Reference { functions, instances, property, inclusive: HashMap::new(), publication }
    }

    fn per(&self, function: usize, publication: usize) -> Vec<usize> {
        (0..self.instances.len()).filter(|&x| self.publication[function][x] == publication).collect()
    }

    fn inclusive_set(&mut self, function: usize, publication: usize) -> Vec<usize> {
        let mut set = self.per(function, publication);
        set.retain(|&x| (0..function).all(|j| !self.inclusive_holds(j, self.publication[j][x])));
        set
    }

    fn inclusive_holds(&mut self, function: usize, publication: usize) -> bool {
        if let Some(&known) = self.inclusive.get(&(function, publication)) {
            return known;
        }
        let set = self.inclusive_set(function, publication);
        let holds = self.holds(&set);
        self.inclusive.insert((function, publication), holds);
        holds
    }

    fn exclusive_set(&self, function: usize, publication: usize) -> Vec<usize> {
        let mut set = self.per(function, publication);
        set.retain(|&x| (0..function).all(|j| !self.holds(&self.per(j, self.publication[j][x]))));
        set
    }

    fn naive(&self, x: usize) -> Option<usize> {
        (0..self.functions.len()).find(|&j| self.holds(&self.per(j, self.publication[j][x])))
    }

    fn shares(&self, set: &[usize], person: usize) -> Vec<(u32, Rational)> {
        let mut counts: HashMap<u32, u64> = HashMap::new();
        set.iter().for_each(|&x| *counts.entry(self.instances[x][person]).or_insert(0) += 1);
        counts.into_iter().map(|(value, count)| (value, ratio(count, set.len() as u64))).collect()
    }

    fn largest(&self, set: &[usize]) -> Option<Rational> {
        let people = 0..self.instances[0].len();
        people.flat_map(|person| self.shares(set, person)).map(|(_, share)| share).max()
    }

    fn holds(&self, set: &[usize]) -> bool {
        !set.is_empty()
            && (0..self.instances[0].len()).all(|person| satisfies(&self.property, self.shares(set, person)))
    }
}

/// The property by its definition, on the shares of one person.
fn satisfies(property: &Property, mut shares: Vec<(u32, Rational)>) -> bool {
    shares.sort_by(|a, b| b.1.cmp(&a.1));
    let sum = |shares: &[(u32, Rational)]| shares.iter().fold(Rational::ZERO, |sum, (_, share)| sum + share);
    match property {
        Property::RecursiveDiversity { c, l } => {
            shares[0].1 < c * sum(shares.get(l - 1..).unwrap_or_default())
        }
        Property::Confidence(bound) => shares[0].1 < *bound,
        Property::Skyline(points) => points.iter().all(|point| {
            shares.iter().filter(|(value, _)| point.target.is_none_or(|target| target == *value)).all(
                |(value, share)| {
                    let others: Vec<_> = shares.iter().filter(|(other, _)| other != value).cloned().collect();
                    share / (Rational::ONE - sum(&others[..point.l.min(others.len())])) < point.confidence
                },
            )
        }),
    }
}

fn each_permutation(sorted: &mut [u32], visit: &mut impl FnMut(&[u32])) {
    loop {
        visit(sorted);
        let Some(pivot) = sorted.windows(2).rposition(|pair| pair[0] < pair[1]) else { return };
        let swap = sorted.iter().rposition(|&value| value > sorted[pivot]).unwrap();
        sorted.swap(pivot, swap);
        sorted[pivot + 1..].reverse();
    }
}

fn two_two() -> Property {
    Property::RecursiveDiversity { c: ratio(2, 1), l: 2 }
}

fn audit(functions: &[Partition], table: &[u32], property: &Property) -> Audit {
    Sequence::new(functions.to_vec(), table.to_vec(), property, Limits::default()).unwrap().audit()
}

fn exact(finding: &AuditFinding) -> &SharesSummary {
    match finding {
        AuditFinding::Exact(summary) => summary,
        AuditFinding::Refused { reason, .. } => panic!("{reason}"),
    }
}

fn agrees_with_definition(functions: &[Partition], table: &[u32], property: &Property) {
    let found = audit(functions, table, property);
    let mut reference = Reference::new(functions, table, property);
    let x = reference.instances.iter().position(|instance| instance == table).unwrap();
    let same = |summary: &SharesSummary, set: &[usize], reference: &Reference, what: &str| {
        assert_eq!(summary.size, UBig::from(set.len()), "{what} {functions:?} {table:?}");
        assert_eq!(summary.holds, reference.holds(set), "{what} {functions:?} {table:?} {property:?}");
        assert_eq!(
            summary.largest.as_ref().map(|worst| worst.share.clone()),
            reference.largest(set),
            "{what}"
        );
        if let Some(worst) = &summary.largest {
            let first = (0..table.len())
                .find_map(|person| {
                    let mut shares = reference.shares(set, person);
                    shares.sort();
                    shares
                        .into_iter()
                        .find(|(_, share)| *share == worst.share)
                        .map(|(value, _)| (person, value))
                })
                .unwrap();
            assert_eq!((worst.person, worst.value), first, "{what} {functions:?} {table:?}");
        }
    };
    let (mut inclusive, mut exclusive) = (AuditedRelease::Nothing, None);
    for (i, step) in found.functions.iter().enumerate() {
        let publication = reference.publication[i][x];
        let per = reference.per(i, publication);
        same(&step.per, &per, &reference, "per");
        let set = reference.exclusive_set(i, publication);
        same(exact(&step.exclusive), &set, &reference, "exclusive");
        if exclusive.is_none() && reference.holds(&per) {
            exclusive = Some(if reference.holds(&set) {
                AuditedRelease::Function(i)
            } else {
                AuditedRelease::Nothing
            });
        }
        let set = reference.inclusive_set(i, publication);
        same(exact(&step.inclusive), &set, &reference, "inclusive");
        if inclusive == AuditedRelease::Nothing && reference.holds(&set) {
            inclusive = AuditedRelease::Function(i);
        }
    }
    assert_eq!(found.inclusive, inclusive);
    assert_eq!(found.exclusive, exclusive.unwrap_or(AuditedRelease::Nothing));
    assert_eq!(found.naive, reference.naive(x).map_or(AuditedRelease::Nothing, AuditedRelease::Function));
    if let AuditedRelease::Function(i) = found.naive {
        let alike: Vec<usize> = (0..reference.instances.len())
            .filter(|&y| {
                reference.naive(y) == Some(i) && reference.publication[i][y] == reference.publication[i][x]
            })
            .collect();
        same(exact(found.naive_adversary().unwrap()), &alike, &reference, "naive adversary");
    }
    let sequence = Sequence::new(functions.to_vec(), table.to_vec(), property, Limits::default()).unwrap();
    assert_eq!(sequence.release(super::ReplayStrategy::Inclusive), found.inclusive);
    assert_eq!(sequence.release(super::ReplayStrategy::Exclusive), found.exclusive);
}

fn properties() -> impl Strategy<Value = Property> {
    let bounds = prop_oneof![Just("1/2"), Just("2/3"), Just("3/4"), Just("0.6"), Just("1")];
    let bound = bounds.prop_map(|text| parse_fraction(text).unwrap());
    let point = (prop::option::of(0u32..3), 0usize..3, bound.clone())
        .prop_map(|(target, l, c)| SkylinePoint::new(target, [l, 0, 0], c).unwrap());
    prop_oneof![
        Just(two_two()),
        (1u64..4, 1usize..4).prop_map(|(c, l)| Property::RecursiveDiversity { c: ratio(c, 1), l }),
        bound.prop_map(Property::Confidence),
        prop::collection::vec(point, 1..3).prop_map(Property::Skyline),
    ]
}

fn cases() -> impl Strategy<Value = (Vec<Partition>, Vec<u32>)> {
    (4usize..8, 1usize..5).prop_flat_map(|(people, functions)| {
        let labels = prop::collection::vec(0u8..3, people);
        let function = labels.prop_map(Partition::by_label);
        (prop::collection::vec(function, functions), prop::collection::vec(0u32..4, people))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn random_cases_agree_with_the_definition((functions, table) in cases(), property in properties()) {
        agrees_with_definition(&functions, &table, &property);
    }
}

fn paper_functions() -> Vec<Partition> {
    let labels = ["0011223344", "0011122233", "0001111222"];
    labels.map(|labels| Partition::by_label(labels.bytes())).to_vec()
}

const G0: [u32; 10] = [1, 2, 3, 2, 4, 4, 6, 5, 6, 7];
const GA: [u32; 10] = [1, 2, 3, 4, 2, 6, 4, 5, 6, 7];
const GB: [u32; 10] = [1, 3, 2, 2, 4, 4, 6, 6, 5, 7];

fn size_and_share(summary: &SharesSummary) -> (UBig, Rational) {
    (summary.size.clone(), summary.largest.as_ref().unwrap().share.clone())
}

#[test]
fn numbers_of_the_paper() {
    let found = audit(&paper_functions(), &G0, &two_two());
    let pair = |size: u32, above, below| (UBig::from(size), ratio(above, below));
    let per: Vec<_> = found.functions.iter().map(|step| size_and_share(&step.per)).collect();
    assert_eq!(per, [pair(16, 1, 1), pair(144, 1, 2), pair(432, 1, 2)]);
    let second = exact(&found.functions[1].inclusive);
    assert_eq!(size_and_share(second), pair(16, 1, 1));
    assert_eq!(second.largest.as_ref().map(|worst| (worst.person, worst.value)), Some((4, 4)));
    assert_eq!(size_and_share(exact(&found.functions[2].inclusive)), pair(100, 19, 25));
    assert_eq!(size_and_share(exact(&found.functions[2].exclusive)), pair(68, 11, 17));
    assert_eq!(found.naive_adversary(), Some(&found.functions[1].exclusive));

    let releases = |table: &[u32]| {
        let found = audit(&paper_functions(), table, &two_two());
        [found.inclusive, found.exclusive, found.naive]
    };
    use AuditedRelease::{Function, Nothing};
    assert_eq!(releases(&G0), [Nothing, Nothing, Function(1)]);
    assert_eq!(releases(&GA), [Function(0); 3]);
    assert_eq!(releases(&GB), [Nothing, Function(2), Function(2)]);
}

#[test]
fn an_instance_the_paper_overlooks_is_released_at_the_second_function() {
    let found = audit(&paper_functions(), &[1, 3, 2, 6, 4, 4, 2, 6, 5, 7], &two_two());
    assert_eq!(size_and_share(exact(&found.functions[1].inclusive)), (UBig::from(48u8), ratio(1, 2)));
    assert_eq!(found.inclusive, AuditedRelease::Function(1));
}

#[test]
fn the_strategies_are_not_comparable() {
    let functions = ["0001111", "0000111", "0011111"].map(|labels| Partition::by_label(labels.bytes()));
    let found = audit(&functions, &[3, 0, 3, 0, 1, 1, 0], &two_two());
    assert_eq!((found.inclusive, found.exclusive), (AuditedRelease::Nothing, AuditedRelease::Function(2)));
    agrees_with_definition(&functions, &[3, 0, 3, 0, 1, 1, 0], &two_two());
}

#[test]
fn vectors() {
    let text = include_str!("../../../tests/vectors/exclusive.json");
    let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 80);
    for case in cases {
        let table: Vec<u32> = case["instance"]
            .as_array()
            .unwrap()
            .iter()
            .map(|value| u32::from(value.as_str().unwrap().as_bytes()[0]))
            .collect();
        let functions = case["functions"].as_array().unwrap().iter().map(|groups| {
            let mut label = vec![0; table.len()];
            for (number, people) in groups.as_array().unwrap().iter().enumerate() {
                for person in people.as_array().unwrap() {
                    label[person.as_u64().unwrap() as usize] = number;
                }
            }
            Partition::by_label(label)
        });
        let found = audit(&functions.collect::<Vec<_>>(), &table, &two_two());
        for (step, expected) in found.functions.iter().zip(case["steps"].as_array().unwrap()) {
            for (name, summary) in [
                ("per", &step.per),
                ("ds_inclusive", exact(&step.inclusive)),
                ("ds_exclusive", exact(&step.exclusive)),
            ] {
                assert_eq!(
                    summary.size,
                    UBig::from(expected[format!("{name}_size")].as_u64().unwrap()),
                    "{case}"
                );
                let share = summary.largest.as_ref().map(|worst| worst.share.to_string());
                assert_eq!(share.as_deref(), expected[format!("{name}_max_ratio")].as_str(), "{case}");
            }
        }
        for (name, release) in
            [("inclusive", found.inclusive), ("exclusive", found.exclusive), ("naive", found.naive)]
        {
            let expected = case[format!("released_{name}")].as_u64();
            let expected = expected
                .map_or(AuditedRelease::Nothing, |function| AuditedRelease::Function(function as usize));
            assert_eq!(release, expected, "{name} {case}");
        }
    }
}

/// Functions of overlapping intervals over 60 people: far beyond listing.
fn overlapping() -> (Vec<Partition>, Vec<u32>) {
    let functions = [3, 4, 6].map(|width| Partition::by_label((0..60).map(|person| person / width)));
    let table = (0..60u32).map(|person| person * person * 7 % 31 % 5).collect();
    (functions.to_vec(), table)
}

#[test]
fn holders_of_all_values_add_up_to_the_set() {
    let (functions, table) = overlapping();
    let judge = PropertyJudge::new(&two_two()).unwrap();
    let mut work = Work { steps: 10_000_000, states: 100_000 };
    let (published, earlier) = (&functions[2], [&functions[0], &functions[1]]);
    let counts = published.publish(&table);
    let failing =
        Failing::new(&judge, published, &counts, &earlier, &mut KnownRegions::default(), &mut work).unwrap();
    assert!(*failing.size() > UBig::ONE);
    let mut people_seen = 0;
    failing.each_cell(|people, holders| {
        people_seen += people.len();
        assert_eq!(holders.iter().map(|(_, count)| count).sum::<UBig>(), *failing.size());
    });
    assert_eq!(people_seen, 60);
}

#[test]
fn independent_copies_multiply() {
    // Two copies side by side: failing in either copy is failing, and that couples them.
    let functions = ["0011", "0111"].map(|labels| Partition::by_label(labels.bytes()));
    agrees_with_definition(&functions, &[0, 0, 1, 2], &two_two());
    let doubled = ["00112233", "01112333"].map(|labels| Partition::by_label(labels.bytes()));
    agrees_with_definition(&doubled, &[0, 0, 1, 2, 0, 1, 2, 2], &two_two());
}

#[test]
fn beyond_the_limits_a_set_is_refused_and_never_released() {
    let (functions, table) = overlapping();
    let few = Limits { steps: 100, ..Limits::default() };
    let sequence = Sequence::new(functions.clone(), table.clone(), &two_two(), few).unwrap();
    let refused = sequence.audit();
    let counted = count_exclusive(&functions, &table);
    let AuditFinding::Refused { estimate: Some(estimate), .. } = &refused.functions[2].exclusive else {
        panic!("100 steps cannot do")
    };
    assert_eq!((estimate.samples, refused.functions[2].exclusive.holds()), (10_000, None));
    let share = estimate.largest.as_ref().unwrap().share;
    let exact_share = crate::math::exact::f64_at_least(&counted.largest.as_ref().unwrap().share);
    assert!(share.at_least <= exact_share && exact_share <= share.at_most, "{share:?} {exact_share}");
    let part = Rational::from(counted.size.clone()) / Rational::from(refused.functions[2].per.size.clone());
    let part = crate::math::exact::f64_at_least(&part);
    assert!(estimate.part_of_per.at_least <= part && part <= estimate.part_of_per.at_most);
    assert_eq!(sequence.audit(), refused, "the sample is seeded");
    for release in [refused.inclusive, refused.exclusive] {
        assert!(!matches!(release, AuditedRelease::Function(1..)), "{release:?}");
    }
    assert_eq!(sequence.release(super::ReplayStrategy::Inclusive), refused.inclusive);
}

fn count_exclusive(functions: &[Partition], table: &[u32]) -> SharesSummary {
    let judge = PropertyJudge::new(&two_two()).unwrap();
    let mut work = Work { steps: 10_000_000, states: 100_000 };
    let counts = functions[2].publish(table);
    let earlier = [&functions[0], &functions[1]];
    Failing::new(&judge, &functions[2], &counts, &earlier, &mut KnownRegions::default(), &mut work)
        .unwrap()
        .summarize(&judge)
}

#[test]
fn what_cannot_be_audited_is_an_error() {
    let pair = || Partition::by_label([0, 0]);
    let new = |functions, table: &[u32], property: &Property| {
        Sequence::new(functions, table.to_vec(), property, Limits::default()).is_err()
    };
    assert!(!new(vec![pair()], &[0, 1], &two_two()));
    assert!(new(vec![], &[0, 1], &two_two()));
    assert!(new(vec![pair()], &[0, 1, 2], &two_two()));
    assert!(new(vec![pair()], &[0, 1], &Property::Confidence(ratio(3, 2))));
    assert!(new(vec![pair()], &[0, 1], &Property::Confidence(ratio(0, 1))));
    assert!(new(vec![pair()], &[0, 1], &Property::Skyline(vec![])));
    assert!(new(vec![pair()], &[0, 1], &Property::RecursiveDiversity { c: ratio(2, 1), l: 0 }));
    assert!(SkylinePoint::new(None, [1, 1, 0], ratio(1, 2)).is_err());
    assert!(SkylinePoint::new(None, [1, 0, 1], ratio(1, 2)).is_err());
}
