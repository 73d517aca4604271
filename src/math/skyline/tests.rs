use super::program::Program;
use super::statistics::Breach;
use super::*;
use crate::math::confidence::ThresholdVerdict;
use crate::math::exact::{Rational, parse_fraction, ratio};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;

const MODES: [Values; 3] = [Values::Single, Values::Set, Values::Multiset];

/// A group as written in the vectors: people, and a count per value; the target's count comes first.
#[derive(Debug, Clone)]
struct Sample {
    people: u64,
    counts: Vec<u64>,
}

fn statistics(values: Values, groups: &[Sample], size: Knowledge) -> Statistics {
    let mut ranking = Ranking::default();
    let mut statistics = Statistics::new(values, size);
    for (number, sample) in groups.iter().enumerate() {
        let group = ranking.rank(sample.people, sample.counts.iter().copied());
        statistics.observe(&group, sample.counts[0], number as u64);
    }
    statistics
}

fn breach(values: Values, groups: &[Sample], (l, k, m): (u64, u64, u64)) -> Rational {
    match statistics(values, groups, Knowledge { l, k, m }).breach() {
        Breach::Exact(exact) => exact,
        Breach::AtMost(_) => panic!("small groups are exact"),
    }
}

fn programmed(values: Values, groups: &[Sample], size: Knowledge) -> Rational {
    let mut ranking = Ranking::default();
    let mut program = Program::<Rational>::new(values, size);
    for sample in groups {
        let group = ranking.rank(sample.people, sample.counts.iter().copied());
        program.observe(&group, sample.counts[0]);
    }
    let infinite = Rational::ZERO;
    program.min_negated_ratio().map_or(infinite, |least| Rational::ONE / (Rational::ONE + least))
}

fn vectors(file: &str) -> Value {
    let path = format!("{}/tests/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn samples(groups: &Value, target: &str) -> Vec<Sample> {
    let sample = |group: &Value| {
        let counts = group["counts"].as_object().unwrap();
        let count = |value: &Value| value.as_u64().unwrap();
        let mut all = vec![counts.get(target).map_or(0, count)];
        all.extend(counts.iter().filter(|(value, _)| *value != target).map(|(_, n)| count(n)));
        Sample { people: group["n"].as_u64().unwrap(), counts: all }
    };
    groups.as_array().unwrap().iter().map(sample).collect()
}

fn mode(name: &str) -> Values {
    match name {
        "svpi" => Values::Single,
        "set" => Values::Set,
        "multiset" => Values::Multiset,
        other => panic!("{other}"),
    }
}

fn fraction(value: &Value) -> Rational {
    parse_fraction(value.as_str().unwrap()).unwrap()
}

#[test]
fn the_vectors_pass_exactly() {
    let file = vectors("skyline.json");
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 456);
    for case in cases {
        let groups = samples(&case["groups"], case["sigma"].as_str().unwrap());
        let number = |key: &str| case[key].as_u64().unwrap();
        let size = Knowledge { l: number("l"), k: number("k"), m: number("m") };
        let values = mode(case["mode"].as_str().unwrap());
        let statistics = statistics(values, &groups, size);
        assert_eq!(statistics.breach(), Breach::Exact(fraction(&case["breach"])), "{case}");
        match statistics.exact() {
            Some(five) => {
                for (own, expected) in five.iter().zip(case["ss"].as_array().unwrap()) {
                    assert_eq!(own.as_ref().unwrap(), &fraction(expected), "{case}");
                }
                assert_eq!(statistics.min_negated_ratio().unwrap(), fraction(&case["min_nr"]), "{case}");
            }
            None => assert_eq!(case["min_nr"], "inf"),
        }
        assert_eq!(programmed(values, &groups, size), fraction(&case["breach"]), "{case}");
        for decision in case["decisions"].as_array().unwrap() {
            let confidence = Confidence::parse(decision["c"].as_str().unwrap()).unwrap();
            let safe = statistics.verdict(&confidence) == ThresholdVerdict::Safe;
            assert_eq!(safe, decision["safe"].as_bool().unwrap(), "{decision} of {case}");
        }
    }
}

#[test]
fn the_papers_release_has_the_breaches_of_the_specification() {
    let file = vectors("worked_examples.json");
    let example = &file["001_264dd59d0e975ffb.txt"];
    let groups = samples(&example["figure3_groups"], "AIDS");
    for name in ["svpi", "set", "multiset"] {
        for (size, expected) in example[format!("{name}_breach_AIDS")].as_object().unwrap() {
            let size: Vec<u64> = size.split(',').map(|n| n.parse().unwrap()).collect();
            let own = breach(mode(name), &groups, (size[0], size[1], size[2]));
            assert_eq!(own, fraction(expected), "{name} {size:?}");
        }
    }
}

#[test]
fn the_worked_statistics_of_two_groups_come_out() {
    let groups =
        [Sample { people: 10, counts: vec![3, 3, 2, 1, 1] }, Sample { people: 8, counts: vec![1, 4, 3] }];
    for (values, (l, k, m), five, expected) in [
        (Values::Single, (1, 1, 1), "5/8 4/3 1 7/10 2/3", "8/13"),
        (Values::Single, (1, 1, 2), "5/14 4/3 1 7/15 5/12", "14/19"),
        (Values::Single, (2, 1, 2), "0 0 0 7/15 5/12", "1"),
        (Values::Set, (1, 1, 1), "7/8 49/30 7/5 7/10 2/3", "8/15"),
        (Values::Set, (2, 1, 2), "2/5 98/75 28/25 7/15 5/12", "5/7"),
        (
            Values::Multiset,
            (1, 1, 1),
            "35721/31000 531441/271000 46656/27125 729/1000 512/729",
            "31000/66721",
        ),
        (Values::Multiset, (0, 2, 2), "125/169 729/271 343/169 64/125 27/64", "169/294"),
    ] {
        let statistics = statistics(values, &groups, Knowledge { l, k, m });
        let own = statistics.exact().unwrap().map(|value| value.unwrap().to_string()).join(" ");
        assert_eq!(own, five, "{values:?} {l} {k} {m}");
        assert_eq!(breach(values, &groups, (l, k, m)).to_string(), expected);
    }
}

#[test]
fn small_worked_numbers_come_out() {
    let five = [Sample { people: 5, counts: vec![1, 4] }];
    for (k, below) in (0..5).zip([5, 4, 3, 2, 1]) {
        assert_eq!(breach(Values::Single, &five, (0, k, 0)), ratio(1, below));
    }
    let hundred = [Sample { people: 100, counts: vec![20, 80] }];
    assert_eq!(breach(Values::Single, &hundred, (0, 4, 0)), ratio(5, 24));
}

/// A group without the target value must not let its size decide (mathematics 1.5, the literal reading).
#[test]
fn a_group_without_the_value_is_no_threat() {
    let groups = [Sample { people: 2, counts: vec![0, 1, 1] }, Sample { people: 50, counts: vec![1, 49] }];
    assert_eq!(breach(Values::Single, &groups, (0, 3, 1)), ratio(1, 46));
}

/// Numerators are tested one by one: products of two negative factors must not look positive.
#[test]
fn guards_come_before_products() {
    let three = [Sample { people: 3, counts: vec![1, 2] }];
    assert_eq!(breach(Values::Single, &three, (0, 5, 2)), Rational::ONE);
    let multi = [Sample { people: 3, counts: vec![2] }];
    assert_eq!(breach(Values::Multiset, &multi, (0, 1, 3)), Rational::ONE);
}

/// SS5 is updated from its own previous value; the paper's misprint would forget the first group.
#[test]
fn earlier_groups_are_not_forgotten() {
    let mut other = vec![4, 11];
    other.extend([1; 7]);
    let groups = [Sample { people: 6, counts: vec![1; 6] }, Sample { people: 22, counts: other }];
    assert_eq!(breach(Values::Single, &groups, (1, 1, 3)), ratio(10, 17));
}

#[test]
fn merging_groups_can_raise_the_breach_of_sets_and_multisets() {
    let apart = [Sample { people: 2, counts: vec![1, 0, 0] }, Sample { people: 1, counts: vec![0, 1, 1] }];
    let merged = [Sample { people: 3, counts: vec![1, 1, 1] }];
    assert_eq!(breach(Values::Set, &apart, (2, 0, 0)), ratio(1, 2));
    assert_eq!(breach(Values::Set, &merged, (2, 0, 0)), ratio(9, 17));
}

#[test]
fn huge_knowledge_and_huge_groups_are_decided_without_forming_huge_numbers() {
    let limit = 1_000_000_000;
    let group = [Sample { people: u64::MAX / 4, counts: vec![u64::MAX / 8, u64::MAX / 8] }];
    let all = statistics(
        Values::Multiset,
        &[Sample { people: 1000, counts: vec![100_000_000, 3] }],
        Knowledge { l: 1, k: 1, m: 1 },
    );
    assert_eq!(all.verdict(&Confidence::parse("0.999999").unwrap()), ThresholdVerdict::Unsafe);
    assert!(all.breach().at_least() <= 1.0);
    for (l, k, m) in [(limit, 0, 0), (0, limit, 0)] {
        let statistics = statistics(Values::Single, &group, Knowledge { l, k, m });
        assert!(statistics.breach().at_least() >= 0.5);
    }
    let small = [Sample { people: 4, counts: vec![1, 3] }];
    assert_eq!(breach(Values::Single, &small, (limit, limit, limit)), Rational::ONE);
}

/// "Every group has at least k people" is BP(0, k-2, 0) < 1 with one value per person.
#[test]
fn k_anonymity_is_a_skyline_point() {
    for (people, k) in (1..8).flat_map(|n| (2..8).map(move |k| (n, k))) {
        let group = [Sample { people, counts: vec![1; people as usize] }];
        let statistics = statistics(Values::Single, &group, Knowledge { l: 0, k: k - 2, m: 0 });
        let safe = statistics.verdict(&Confidence::parse("1").unwrap()) == ThresholdVerdict::Safe;
        assert_eq!(safe, people >= k, "people {people} k {k}");
    }
}

prop_compose! {
    fn any_sample(values: Values)(
        counts in prop::collection::vec(0u64..7, 1..5),
        spare in 0u64..6,
    ) -> Sample {
        let sum: u64 = counts.iter().sum();
        let people = match values {
            Values::Single => sum,
            Values::Set => counts.iter().copied().max().unwrap_or(0) + spare,
            Values::Multiset => spare + 1,
        };
        Sample { people: people.max(1), counts: if sum == 0 { vec![1] } else { counts } }
    }
}

fn any_groups() -> impl Strategy<Value = (Values, Vec<Sample>)> {
    prop::sample::select(MODES.to_vec())
        .prop_flat_map(|values| (Just(values), prop::collection::vec(any_sample(values), 1..6)))
}

fn any_size() -> impl Strategy<Value = Knowledge> {
    (0u64..5, 0u64..5, 0u64..5).prop_map(|(l, k, m)| Knowledge { l, k, m })
}

proptest! {
    #[test]
    fn the_statistics_agree_with_the_dynamic_program((values, groups) in any_groups(), size in any_size()) {
        let Breach::Exact(own) = statistics(values, &groups, size).breach() else { panic!() };
        prop_assert_eq!(own, programmed(values, &groups, size));
    }

    #[test]
    fn statistics_merge_in_any_order((values, groups) in any_groups(), size in any_size(), cut in 0usize..6) {
        let whole = statistics(values, &groups, size);
        let cut = cut.min(groups.len());
        let (mut left, mut right) = (Statistics::new(values, size), Statistics::new(values, size));
        let mut ranking = Ranking::default();
        for (number, sample) in groups.iter().enumerate() {
            let group = ranking.rank(sample.people, sample.counts.iter().copied());
            let part = if number < cut { &mut left } else { &mut right };
            part.observe(&group, sample.counts[0], number as u64);
        }
        let mut backwards = right.clone();
        backwards.merge(&left);
        left.merge(&right);
        prop_assert_eq!(&left.breach(), &whole.breach());
        prop_assert_eq!(&left.exact(), &whole.exact());
        prop_assert_eq!(&backwards, &left);
    }

    /// Knowing more never lowers the breach.
    #[test]
    fn the_breach_grows_with_knowledge((values, groups) in any_groups(), size in any_size()) {
        let Knowledge { l, k, m } = size;
        let at = breach(values, &groups, (l, k, m));
        for more in [(l + 1, k, m), (l, k + 1, m), (l, k, m + 1)] {
            prop_assert!(breach(values, &groups, more) >= at);
        }
    }

    /// Single values: merging two groups never raises the breach (Theorem 4).
    #[test]
    fn merging_single_valued_groups_never_raises_the_breach(
        groups in prop::collection::vec(any_sample(Values::Single), 2..5), size in any_size(),
    ) {
        let width = groups.iter().map(|g| g.counts.len()).max().unwrap();
        let mut merged = groups.clone();
        let (last, mut first) = (merged.pop().unwrap(), merged.pop().unwrap());
        first.people += last.people;
        first.counts.resize(width, 0);
        for (own, other) in first.counts.iter_mut().zip(&last.counts) {
            *own += other;
        }
        merged.push(first);
        let size = (size.l, size.k, size.m);
        prop_assert!(breach(Values::Single, &merged, size) <= breach(Values::Single, &groups, size));
    }

    /// By definition, with enumeration: every reconstruction, every piece of knowledge of at most that size.
    #[test]
    fn the_breach_is_the_maximum_by_definition(
        (values, groups) in tiny_groups(), l in 0usize..3, k in 0usize..3, m in 0usize..3,
    ) {
        let own = breach(values, &groups, (l as u64, k as u64, m as u64));
        prop_assert_eq!(own, enumerated(values, &groups, l, k, m));
    }
}

/// At most 5 people in at most two groups and three values, so that all worlds can be listed.
fn tiny_groups() -> impl Strategy<Value = (Values, Vec<Sample>)> {
    let sample = |values: Values| {
        (1u64..4, prop::collection::vec(0u64..3, 3)).prop_map(move |(people, mut counts)| {
            match values {
                Values::Single => counts = vec![people.min(counts[0]), 0, people - people.min(counts[0])],
                Values::Set => counts.iter_mut().for_each(|count| *count = (*count).min(people)),
                Values::Multiset => counts.iter_mut().for_each(|count| *count = (*count).min(2)),
            }
            if values == Values::Single && counts[2] > 1 {
                counts[1] = 1;
                counts[2] -= 1;
            }
            Sample { people, counts }
        })
    };
    prop::sample::select(MODES.to_vec()).prop_flat_map(move |values| {
        (Just(values), prop::collection::vec(sample(values), 1..3)).prop_filter("small", |(_, groups)| {
            groups.iter().map(|g| g.people).sum::<u64>() <= 5
                && groups.iter().flat_map(|g| &g.counts).sum::<u64>() <= 7
        })
    })
}

/// What each person has, as a bit per value; worlds with equal content are counted together.
type World = Vec<u8>;

/// All reconstructions with their number of labelled assignments.
fn worlds(values: Values, groups: &[Sample]) -> BTreeMap<World, u64> {
    let mut all: BTreeMap<World, u64> = BTreeMap::from([(vec![], 1)]);
    for sample in groups {
        let people = sample.people as usize;
        let mut local: BTreeMap<World, u64> = BTreeMap::from([(vec![0; people], 1)]);
        for (value, &count) in sample.counts.iter().enumerate() {
            for occurrence in 0..count {
                let mut next = BTreeMap::new();
                for (world, &ways) in &local {
                    for person in 0..people {
                        let taken = match values {
                            Values::Single => world[person] != 0,
                            Values::Set => world[person] & (1 << value) != 0,
                            Values::Multiset => false,
                        };
                        if !taken {
                            let mut world = world.clone();
                            world[person] |= 1 << value;
                            *next.entry(world).or_insert(0) += ways;
                        }
                    }
                }
                let _ = occurrence;
                local = next;
            }
        }
        let mut joined = BTreeMap::new();
        for (a, x) in &all {
            for (b, y) in &local {
                *joined.entry([a.as_slice(), b].concat()).or_insert(0) += x * y;
            }
        }
        all = joined;
    }
    all
}

/// The largest probability that a person has value 0 over all knowledge of at most that size.
fn enumerated(values: Values, groups: &[Sample], l: usize, k: usize, m: usize) -> Rational {
    let worlds: Vec<(World, u64)> = worlds(values, groups).into_iter().collect();
    let people: usize = groups.iter().map(|g| g.people as usize).sum();
    let distinct = groups[0].counts.len();
    let mut best = Rational::ZERO;
    for target in 0..people {
        let others: Vec<usize> = (0..people).filter(|&p| p != target).collect();
        for ruled_out in subsets(&(0..distinct).collect::<Vec<_>>(), l) {
            for asked in subsets(&others, k) {
                let left: Vec<usize> = others.iter().copied().filter(|p| !asked.contains(p)).collect();
                for answers in answers(values, distinct, asked.len()) {
                    for family in subsets(&left, m) {
                        let (mut all, mut hit) = (0u64, 0u64);
                        for (world, ways) in &worlds {
                            let has = |person: usize, value: usize| world[person] & (1 << value) != 0;
                            let hits = has(target, 0);
                            let about_target = ruled_out.iter().all(|&value| match values {
                                Values::Single => !has(target, value),
                                _ => !has(target, value) || hits,
                            });
                            let about_others =
                                asked.iter().zip(&answers).all(|(&person, &value)| match values {
                                    Values::Single => has(person, value),
                                    _ => !has(person, 0),
                                });
                            if about_target && about_others && family.iter().all(|&p| !has(p, 0) || hits) {
                                all += ways;
                                hit += if hits { *ways } else { 0 };
                            }
                        }
                        if all > 0 {
                            best = best.max(ratio(hit, all));
                        }
                    }
                }
            }
        }
    }
    best
}

fn subsets(items: &[usize], most: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &item in items {
        let longer: Vec<Vec<usize>> = all.iter().filter(|s| s.len() < most).cloned().collect();
        all.extend(longer.into_iter().map(|mut subset| {
            subset.push(item);
            subset
        }));
    }
    all
}

/// What the known people reveal: in single mode every combination of values, otherwise just "not the value".
fn answers(values: Values, distinct: usize, asked: usize) -> Vec<Vec<usize>> {
    if values != Values::Single {
        return vec![vec![0; asked]];
    }
    let mut all = vec![vec![]];
    for _ in 0..asked {
        all = all.iter().flat_map(|a| (0..distinct).map(move |v| [a.as_slice(), &[v]].concat())).collect();
    }
    all
}

fn kept(values: Values, groups: &[Sample], confidence: &str) -> KeptGroups {
    let mut ranking = Ranking::default();
    let mut kept = KeptGroups::new(values, Confidence::parse(confidence).unwrap());
    for sample in groups {
        let group = ranking.rank(sample.people, sample.counts.iter().copied());
        kept.observe(&mut SharedCounts::of(&group), sample.counts[0]);
    }
    kept
}

fn triple(point: &MaximalPoint) -> Value {
    let number = |reach: Reach| match reach {
        Reach::Number(number) => Value::from(number),
        Reach::Anything => Value::from("inf"),
    };
    Value::from(vec![number(point.l), number(point.k), number(point.m)])
}

#[test]
fn the_knowledge_skylines_of_the_vectors_come_out() {
    let file = vectors("skyline.json");
    let cases = file["knowledge"].as_array().unwrap();
    assert_eq!(cases.len(), 30);
    for case in cases {
        let groups = samples(&case["groups"], case["sigma"].as_str().unwrap());
        let kept = kept(mode(case["mode"].as_str().unwrap()), &groups, case["c"].as_str().unwrap());
        let skyline = kept.skyline(UpTo::ANYTHING);
        let points: Vec<Value> = skyline.points.iter().map(triple).collect();
        assert_eq!(Value::from(points), case["knowledge_skyline"], "{case}");
        assert!(!skyline.ended);
    }
}

#[test]
fn groups_that_cannot_be_the_worst_are_not_kept() {
    let same = vec![Sample { people: 6, counts: vec![1, 3, 2] }; 50];
    assert_eq!(kept(Values::Single, &same, "0.9").number(), 1);
    let larger: Vec<Sample> = (0..50).map(|i| Sample { people: 6 + i, counts: vec![1, 3 + i, 2] }).collect();
    assert_eq!(kept(Values::Multiset, &larger[..1], "0.9").number(), 1);
    let grown: Vec<Sample> =
        (1..50).map(|i| Sample { people: 6 * i, counts: vec![1, 3 * i, 2 * i, i - 1] }).collect();
    assert_eq!(kept(Values::Single, &grown, "0.9").number(), 1);
    assert_eq!(kept(Values::Set, &grown[..40], "0.9999").skyline(UpTo::ANYTHING).points.len(), {
        let all: Vec<Sample> = grown[..40].to_vec();
        reference_skyline(Values::Set, &all, "0.9999").len()
    });
}

/// Every point in a box that is safe while none of its three neighbors is, by the breach of all groups.
fn reference_skyline(values: Values, groups: &[Sample], confidence: &str) -> Vec<(u64, u64, u64)> {
    let confidence = Confidence::parse(confidence).unwrap();
    let smallest = groups.iter().filter(|g| g.counts[0] > 0).map(|g| g.people).min().unwrap();
    let others = |g: &Sample| g.counts[1..].iter().filter(|&&c| c > 0).count() as u64;
    let cap = groups.iter().filter(|g| g.counts[0] > 0).map(others).max().unwrap();
    let safe = |l: u64, k: u64, m: u64| {
        l <= cap
            && statistics(values, groups, Knowledge { l, k, m }).verdict(&confidence)
                == ThresholdVerdict::Safe
    };
    let mut points = Vec::new();
    for l in 0..=cap {
        for k in 0..smallest {
            for m in 0..smallest {
                if safe(l, k, m) && !safe(l + 1, k, m) && !safe(l, k + 1, m) && !safe(l, k, m + 1) {
                    points.push((l, k, m));
                }
            }
        }
    }
    points
}

proptest! {
    /// Searching the kept groups gives the same result as trying every point on all groups, in any order and
    /// split.
    #[test]
    fn the_kept_groups_give_the_skyline_of_all_groups(
        (values, groups) in any_groups(), c in prop::sample::select(vec!["1/5", "1/2", "4/5", "0.97", "1"]), cut in 0usize..6,
    ) {
        prop_assume!(groups.iter().any(|g| g.counts[0] > 0));
        let whole = kept(values, &groups, c);
        let skyline = whole.skyline(UpTo::ANYTHING);
        let cut = cut.min(groups.len());
        let mut merged = kept(values, &groups[cut..], c);
        merged.merge(kept(values, &groups[..cut], c));
        prop_assert_eq!(&merged.skyline(UpTo::ANYTHING), &skyline);
        prop_assert_eq!(merged.number(), whole.number());
        let expected = reference_skyline(values, &groups, c);
        let cap = expected.iter().map(|point| point.0).max().unwrap_or(0);
        let number = |reach: Reach| match reach { Reach::Number(n) => n, Reach::Anything => cap };
        let own: Vec<_> = skyline.points.iter().map(|p| (number(p.l), number(p.k), number(p.m))).collect();
        prop_assert_eq!(own, expected);
    }
}

/// The steps of the witness, from all groups.
fn explained(values: Values, groups: &[Sample], size: Knowledge) -> Option<[Rational; 4]> {
    let witness = statistics(values, groups, size).witness()?;
    let (mut a, mut b) = (Ranking::default(), Ranking::default());
    let (target, family) = (&groups[witness.target as usize], &groups[witness.family as usize]);
    let own = a.rank(target.people, target.counts.iter().copied());
    let theirs = b.rank(family.people, family.counts.iter().copied());
    let seats = ((&own, target.counts[0]), (&theirs, family.counts[0]));
    let useful = useful(values, size, witness.seats(), seats.0, seats.1);
    assert!(useful.0 <= size.k && useful.1 <= size.m);
    // The useful people are enough: knowing only them, the last step is the same.
    let less = Knowledge { k: useful.0, m: useful.1, ..size };
    let all = steps(values, size, witness.seats(), seats.0, seats.1).map(Option::unwrap);
    let few = steps(values, less, witness.seats(), seats.0, seats.1).map(Option::unwrap);
    assert_eq!(all, few, "{values:?} {groups:?} {size:?} {useful:?}");
    Some(all)
}

proptest! {
    /// Each step makes the adversary no less sure, and the last one is the breach.
    #[test]
    fn the_steps_of_an_explanation_end_at_the_breach((values, groups) in any_groups(), size in any_size()) {
        let last = match explained(values, &groups, size) {
            None => Rational::ZERO,
            Some(steps) => {
                prop_assert!(steps.windows(2).all(|pair| pair[0] <= pair[1]));
                steps[3].clone()
            }
        };
        prop_assert_eq!(last, breach(values, &groups, (size.l, size.k, size.m)));
    }

    /// On tiny tables the last step is the maximum over every piece of knowledge.
    #[test]
    fn explanations_are_the_maximum_by_definition(
        (values, groups) in tiny_groups(), l in 0usize..3, k in 0usize..3, m in 0usize..3,
    ) {
        let size = Knowledge { l: l as u64, k: k as u64, m: m as u64 };
        let own = explained(values, &groups, size).map_or(Rational::ZERO, |steps| steps[3].clone());
        prop_assert_eq!(own, enumerated(values, &groups, l, k, m));
    }
}

proptest! {
    /// A group below the bar of some of its people breaches a point, exactly computed.
    #[test]
    fn groups_below_the_bar_of_some_of_their_people_breach(
        some in prop::collection::vec(0u64..40, 5), more in prop::collection::vec(0u64..40, 5),
        points in prop::collection::vec(
            ((0u64..12, 0u64..30, 0u64..6), prop::sample::select(vec!["0.3", "1/2", "0.7", "1"]), 0usize..3), 1..4),
    ) {
        let protects = |which: usize| match which {
            0 => ProtectedCodes::Every,
            which => ProtectedCodes::These(vec![which as u32, 4]),
        };
        let skyline: Vec<_> = points.into_iter().map(|((l, k, m), confidence, which)| {
            let confidence = Confidence::parse(confidence).unwrap();
            (protects(which), Point { knowledge: Knowledge { l, k, m }, confidence })
        }).collect();
        let empty = SkylineState::new(Values::Single, 5, &skyline);
        let people: u64 = some.iter().sum();
        let counts = (0u16..).zip(some.iter().copied()).filter(|(_, count)| *count > 0);
        let least = empty.size_bars().least_people_with(people, counts);
        prop_assert!(least >= people);
        for added in [&[0; 5][..], &more] {
            let counts: Vec<u64> = some.iter().zip(added).map(|(some, added)| some + added).collect();
            let mut state = empty.clone();
            state.observe(&mut Ranking::default(), counts.iter().sum(), &counts, 0);
            if counts.iter().sum::<u64>() < least {
                prop_assert_eq!(state.verdict(), ThresholdVerdict::Unsafe);
            }
        }
    }
}

#[test]
fn a_bar_far_above_the_people_of_today_is_found_at_once() {
    let point = Point {
        knowledge: Knowledge { l: 3, k: 1000, m: 10 },
        confidence: Confidence::parse("0.5").unwrap(),
    };
    let state = SkylineState::new(Values::Single, 9, &[(ProtectedCodes::Every, point)]);
    let counts: Vec<u64> = vec![1200, 1100, 1000, 950, 900, 800, 700, 600, 500];
    let people = counts.iter().sum();
    let least = state.size_bars().least_people_with(people, (0u16..).zip(counts.iter().copied()));
    let holds = |people: u64| {
        let mut state = state.clone();
        // The others have values that occur rarely.
        let rare = (people - counts.iter().sum::<u64>()) / 5;
        let counts: Vec<u64> = (0..).zip(&counts).map(|(i, n)| if i > 3 { n + rare } else { *n }).collect();
        state.observe(&mut Ranking::default(), people, &counts, 0);
        state.verdict() == ThresholdVerdict::Safe
    };
    assert!(least > people + 100, "{least} {people}");
    assert!(!holds(least - 1));
}
