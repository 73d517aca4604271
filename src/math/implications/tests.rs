use super::bucket::Placements;
use super::disclosure::Disclosure;
use super::reference::{self, Counts, Worlds};
use super::*;
use crate::math::exact::{Rational, parse_fraction, ratio};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

fn bucket(counts: &[u64], up_to: usize) -> Bucket {
    Bucket::from_counts(counts.iter().copied(), up_to).unwrap()
}

fn each(counts: &Counts) -> impl Iterator<Item = u64> + Clone {
    counts.iter().copied()
}

fn scan<'a>(buckets: impl IntoIterator<Item = (usize, &'a Counts)>, up_to: usize) -> Disclosure {
    let mut scanner = Scanner::new(up_to);
    for (position, counts) in buckets {
        scanner.observe(&bucket(counts, up_to), position as u64);
    }
    scanner.finish()
}

fn disclosure(buckets: &[Counts], up_to: usize) -> Disclosure {
    scan(buckets.iter().enumerate(), up_to)
}

fn fraction(text: &Value) -> Rational {
    parse_fraction(text.as_str().unwrap()).unwrap()
}

fn confidence(value: Rational) -> Option<Confidence> {
    Confidence::new(value)
}

/// The disclosures by implications and by negated atoms, for 0, 1, ... of them.
fn curves(buckets: &[Counts], up_to: usize) -> (Vec<String>, Vec<String>) {
    let curve = disclosure(buckets, up_to).curve();
    let text = |value: &Rational| value.to_string();
    (curve.iter().map(|p| text(&p.disclosure)).collect(), curve.iter().map(|p| text(&p.negated)).collect())
}

#[test]
fn vectors_hold_exactly() {
    let vectors: Value = serde_json::from_str(include_str!("../../../tests/vectors/martin.json")).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 150);
    for case in cases {
        let counts = |bucket: &Value| -> Counts {
            bucket.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).collect()
        };
        let buckets: Vec<Counts> = case["buckets"].as_array().unwrap().iter().map(counts).collect();
        let k = case["k"].as_u64().unwrap() as usize;
        let disclosure = disclosure(&buckets, k);
        let curve = disclosure.curve();
        assert_eq!(curve.len(), k + 1);
        assert_eq!(curve[k].min_ratio, fraction(&case["min_ratio"]), "{case}");
        assert_eq!(curve[k].disclosure, fraction(&case["max_disclosure"]), "{case}");
        assert_eq!(curve[k].negated, fraction(&case["max_disclosure_negated_atoms"]), "{case}");
        for (counts, expected) in buckets.iter().zip(case["minimize1_k_atoms_per_bucket"].as_array().unwrap())
        {
            let least = Placements::new(k + 1, &bucket(counts, k)).without(k).exact();
            assert_eq!(least, fraction(expected), "{case}");
        }
        for decision in case["decisions"].as_array().unwrap() {
            let verdict = disclosure.verdict(&confidence(fraction(&decision["c"])).unwrap());
            assert_eq!(verdict == ThresholdVerdict::Safe, decision["safe"].as_bool().unwrap(), "{case}");
        }
    }
}

#[test]
fn worked_examples_hold() {
    let (md, negated) = curves(&[vec![2, 2, 1], vec![2, 1, 1, 1]], 4);
    assert_eq!(md, ["2/5", "2/3", "1", "1", "1"]);
    assert_eq!(negated, ["2/5", "2/3", "1", "1", "1"]);
    let (md, negated) = curves(&[vec![3, 2, 2, 1, 1], vec![2, 2, 1, 1, 1]], 5);
    assert_eq!(md, ["1/3", "4/9", "3/5", "3/4", "1", "1"]);
    assert_eq!(negated, ["1/3", "3/7", "3/5", "3/4", "1", "1"]);
    assert_eq!(curves(&[vec![2, 1, 1]], 2).0, ["1/2", "3/4", "1"]);
    let placements = Placements::new(6, &bucket(&[3, 2, 2, 1, 1], 5));
    let least: Vec<String> = (0..=5).map(|j| placements.without(j).exact().to_string()).collect();
    assert_eq!(least, ["1", "2/3", "5/12", "2/9", "1/9", "0"]);
}

#[test]
fn the_witness_names_groups_people_and_values() {
    let curve = disclosure(&[vec![2, 1, 1, 1], vec![2, 2, 1]], 2).curve();
    let one = |people: &[usize]| DisclosureWitness {
        target: Atoms { position: 1, people: people.to_vec() },
        others: Vec::new(),
    };
    assert_eq!(curve[0].witness.target.people, [1]);
    // Ed does not have the other frequent value.
    assert_eq!(curve[1].witness, one(&[2]));
    assert_eq!(curve[2].witness, one(&[3]));
    assert_eq!(curve[1].negated_position, 1);
}

#[test]
fn the_target_and_the_antecedents_may_sit_apart() {
    // A is most likely where 6 of 10 share a value, two atoms are best where two values cover nearly all.
    let buckets = [vec![6, 1, 1, 1, 1], vec![59, 59, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]];
    let curve = disclosure(&buckets, 2).curve();
    assert_eq!(curve[2].min_ratio, reference::min_ratio(&buckets, 2));
    let witness = DisclosureWitness {
        target: Atoms { position: 0, people: vec![1] },
        others: vec![Atoms { position: 1, people: vec![2] }],
    };
    assert_eq!(curve[2].witness, witness);
}

#[test]
fn nothing_seen_discloses_nothing() {
    let nothing = Disclosure::new(3);
    assert!(nothing.curve().is_empty());
    assert_eq!(nothing.verdict(&Confidence::parse("0.1").unwrap()), ThresholdVerdict::Safe);
    let mut some = disclosure(&[vec![1, 1]], 3);
    let before = some.curve();
    some.merge(&nothing);
    assert_eq!(some.curve(), before);
}

#[test]
fn bad_buckets_and_thresholds_are_refused() {
    assert_eq!(Bucket::from_counts([], 3), None);
    assert_eq!(Bucket::from_counts([0, 0], 3), None);
    assert_eq!(Bucket::from_counts([1 << 52, 1 << 52], 3), None);
    assert_eq!(Bucket::from_counts([u64::MAX, 1], 3), None);
    for bad in ["0", "-1", "1.01"] {
        assert!(Confidence::parse(bad).is_none());
    }
}

#[test]
fn certainty_is_unsafe_even_for_threshold_1() {
    let one = Confidence::parse("1").unwrap();
    assert_eq!(disclosure(&[vec![5, 5]], 0).verdict(&one), ThresholdVerdict::Safe);
    assert_eq!(disclosure(&[vec![5, 5]], 1).verdict(&one), ThresholdVerdict::Unsafe);
    assert_eq!(disclosure(&[vec![5]], 0).verdict(&one), ThresholdVerdict::Unsafe);
    // More atoms than people.
    assert_eq!(disclosure(&[vec![1]], 9).verdict(&one), ThresholdVerdict::Unsafe);
}

#[test]
fn a_threshold_that_underflows_is_not_taken_for_1() {
    // R(30) is about 1e-380, 1 - c is 1e-350.
    let counts: Vec<u64> = [(1 << 52) - 1000].into_iter().chain([1; 1000]).collect();
    let nearly_one = Confidence::parse(&format!("0.{}", "9".repeat(350))).unwrap();
    let one = Confidence::parse("1").unwrap();
    let seen = disclosure(&[counts], 30);
    assert_eq!(seen.verdict(&nearly_one), ThresholdVerdict::Unsafe);
    assert_eq!(seen.verdict(&one), ThresholdVerdict::Safe);
}

#[test]
fn a_bucket_made_for_fewer_implications_is_not_understated() {
    let counts = [4, 3, 2, 2, 1, 1];
    for j in 1..=6 {
        let whole = Placements::new(6, &bucket(&counts, 5)).without(j).exact();
        let short = Placements::new(6, &bucket(&counts, 1)).without(j).exact();
        assert!(short <= whole);
    }
}

/// Every partition of at most `most` people, descending.
fn all_counts(most: u64) -> Vec<Counts> {
    fn extend(prefix: &mut Counts, left: u64, all: &mut Vec<Counts>) {
        if !prefix.is_empty() {
            all.push(prefix.clone());
        }
        for next in 1..=left.min(prefix.last().copied().unwrap_or(left)) {
            prefix.push(next);
            extend(prefix, left - next, all);
            prefix.pop();
        }
    }
    let mut all = Vec::new();
    extend(&mut Vec::new(), most, &mut all);
    all
}

fn check_by_enumeration(buckets: &[Counts], most: usize) -> bool {
    let Some(worlds) = Worlds::new(buckets) else { return false };
    let curve = disclosure(buckets, most).curve();
    for point in &curve {
        assert_eq!(worlds.by_implications(point.k), point.disclosure, "{buckets:?} {}", point.k);
        assert_eq!(worlds.by_negations(point.k), point.negated, "{buckets:?} {}", point.k);
        let (chance, atoms) = worlds.of_witness(&point.witness);
        assert_eq!(chance, point.disclosure, "{buckets:?} {:?}", point.witness);
        assert!(atoms <= point.k);
    }
    true
}

#[test]
fn tiny_releases_agree_with_all_simple_implications() {
    let mut checked = 0;
    for first in all_counts(4) {
        checked += u32::from(check_by_enumeration(std::slice::from_ref(&first), 2));
        for second in all_counts(3) {
            checked += u32::from(check_by_enumeration(&[first.clone(), second], 2));
        }
    }
    assert!(checked > 60, "{checked}");
    assert!(check_by_enumeration(&[vec![1, 1, 1, 1]], 3));
    assert!(check_by_enumeration(&[vec![2, 1, 1]], 3));
    assert!(check_by_enumeration(&[vec![3, 2]], 3));
}

fn any_bucket(count: std::ops::Range<u64>) -> impl Strategy<Value = Counts> {
    prop::collection::vec(count, 1..7)
}

fn any_release() -> impl Strategy<Value = Vec<Counts>> {
    prop_oneof![
        prop::collection::vec(any_bucket(1..6), 1..6),
        prop::collection::vec(any_bucket(1..60), 1..6),
        // Counts so large and so close that binary64 cannot distinguish the products.
        prop::collection::vec(any_bucket((1 << 49)..(1 << 49) + 3), 1..4),
    ]
}

/// The bucket of all people of both.
fn union(first: &Counts, second: &Counts, shift: usize) -> Counts {
    let width = first.len().max(second.len() + shift);
    let at = |counts: &Counts, i: Option<usize>| i.and_then(|i| counts.get(i)).copied().unwrap_or(0);
    (0..width).map(|i| at(first, Some(i)) + at(second, i.checked_sub(shift))).collect()
}

proptest! {
    #[test]
    fn minima_agree_with_the_printed_recursions(release in any_release(), k in 0usize..6) {
        let curve = disclosure(&release, k).curve();
        for point in &curve {
            prop_assert_eq!(&point.min_ratio, &reference::min_ratio(&release, point.k));
            prop_assert_eq!(&point.negated, &reference::negated(&release, point.k));
            prop_assert!(point.negated <= point.disclosure);
        }
        for counts in &release {
            let placements = Placements::new(k + 1, &bucket(counts, k));
            for j in 0..=k + 1 {
                prop_assert_eq!(placements.without(j).exact(), reference::m1(counts, j));
            }
        }
    }

    #[test]
    fn scans_merge_in_any_order_with_the_same_witness(
        release in any_release(),
        order in prop::collection::vec(any::<Index>(), 6),
        cut in any::<Index>(),
        k in 0usize..6,
    ) {
        let whole = disclosure(&release, k).curve();
        let mut shuffled: Vec<_> = release.iter().enumerate().collect();
        for (i, index) in order.iter().enumerate().take(shuffled.len()) {
            let other = index.index(shuffled.len());
            shuffled.swap(i, other);
        }
        let (left, right) = shuffled.split_at(cut.index(shuffled.len() + 1));
        let (left, right) = (scan(left.iter().copied(), k), scan(right.iter().copied(), k));
        let (mut one, mut other) = (left.clone(), right.clone());
        one.merge(&right);
        other.merge(&left);
        prop_assert_eq!(&one.curve(), &whole);
        prop_assert_eq!(&other.curve(), &whole);
    }

    #[test]
    fn merging_buckets_never_raises_disclosure(
        release in any_release(),
        first in any_bucket(1..20),
        second in any_bucket(1..20),
        shift in 0usize..4,
        k in 0usize..6,
    ) {
        let joined = union(&first, &second, shift);
        let fine = [release.as_slice(), &[first, second]].concat();
        let coarse = [release.as_slice(), std::slice::from_ref(&joined)].concat();
        let both = [fine.as_slice(), &[joined]].concat();
        let [fine, coarse, both] = [&fine, &coarse, &both].map(|buckets| disclosure(buckets, k).curve());
        for k in 0..=k {
            prop_assert!(coarse[k].disclosure <= fine[k].disclosure);
            prop_assert_eq!(&both[k].disclosure, &fine[k].disclosure);
        }
    }

    #[test]
    fn verdicts_are_exact_next_to_the_threshold(release in any_release(), k in 0usize..5) {
        let disclosure = disclosure(&release, k);
        let exact = reference::disclosure(&release, k);
        let little = Rational::ONE / Rational::from(10u64.pow(19));
        for (factor, verdict) in [
            (Rational::ONE - &little, ThresholdVerdict::Unsafe),
            (Rational::ONE, ThresholdVerdict::Unsafe),
            (Rational::ONE + &little, ThresholdVerdict::Safe),
            (ratio(1, 2), ThresholdVerdict::Unsafe),
            (ratio(3, 2), ThresholdVerdict::Safe),
        ] {
            if let Some(confidence) = confidence(&exact * factor) {
                prop_assert_eq!(disclosure.verdict(&confidence), verdict);
            }
        }
    }

    /// The minima over all buckets ever admitted accept what the live buckets accept.
    #[test]
    fn splits_are_judged_as_by_the_live_buckets(
        values in prop::collection::vec(0usize..6, 20..120),
        cuts in prop::collection::vec((any::<Index>(), any::<Index>()), 1..40),
        k in 0usize..4,
        c in 30u64..100,
    ) {
        let confidence = confidence(ratio(c, 100)).unwrap();
        let counts = |people: &[usize]| -> Counts {
            (0..6).map(|value| people.iter().filter(|&&own| own == value).count() as u64).collect()
        };
        let judge = |live: &[&[usize]]| {
            let buckets: Vec<Counts> = live.iter().map(|people| counts(people)).collect();
            disclosure(&buckets, k).verdict(&confidence)
        };
        let mut safety = Safety::new(k, confidence.clone());
        let mut room = SafetyRoom::default();
        let (root, _) = safety.admit([counts(&values)].iter().map(each), &mut room);
        prop_assert_eq!(root, judge(&[&values]));
        let mut live: Vec<&[usize]> = vec![&values];
        let mut refused: Vec<[Counts; 2]> = Vec::new();
        for (which, at) in cuts {
            if root == ThresholdVerdict::Unsafe {
                break;
            }
            let slot = which.index(live.len());
            let people = live[slot];
            if people.len() < 2 {
                continue;
            }
            let (left, right) = people.split_at(1 + at.index(people.len() - 1));
            let parts = [counts(left), counts(right)];
            let mut after = live.clone();
            after[slot] = left;
            after.push(right);
            prop_assert_eq!(safety.allows(parts.iter().map(each), &mut room), judge(&after));
            if safety.admit(parts.iter().map(each), &mut room).0 == ThresholdVerdict::Safe {
                live = after;
            } else {
                refused.push(parts);
            }
        }
        for parts in refused {
            prop_assert_eq!(safety.allows(parts.iter().map(each), &mut room), ThresholdVerdict::Unsafe);
        }
    }
}

proptest! {
    /// A bucket with fewer people than one that it contains needs is refused, exactly computed.
    #[test]
    fn buckets_with_fewer_people_than_they_need_are_refused(
        others in prop::collection::vec(prop::collection::vec(0u64..9, 12), 0..4),
        some in prop::collection::vec(0u64..9, 12),
        more in prop::collection::vec(0u64..9, 12),
        values in 1usize..=12,
        k in 0usize..11,
        c in 30u64..=100,
    ) {
        let confidence = confidence(ratio(c, 100)).unwrap();
        let (mut safety, mut room) = (Safety::new(k, confidence.clone()), SafetyRoom::default());
        let mut live: Vec<Counts> = others.into_iter().filter(|counts| counts.iter().any(|&n| n > 0)).collect();
        live.retain(|other| safety.admit([each(other)], &mut room).0 == ThresholdVerdict::Safe);
        let some = &some[..values];
        let least = safety.least_people_with(some.iter().copied());
        for added in [&[0; 12][..], &more] {
            let counts: Counts = some.iter().zip(added).map(|(some, added)| some + added).collect();
            let people: u64 = counts.iter().sum();
            if 0 < people && people < least {
                let after = [&live[..], &[counts]].concat();
                prop_assert_eq!(disclosure(&after, k).verdict(&confidence), ThresholdVerdict::Unsafe);
            }
        }
    }
}

/// Beside another bucket, one with the same largest counts needs more people.
#[test]
fn the_people_that_a_bucket_needs_are_hardly_fewer_than_those_that_it_must_have() {
    let confidence = Confidence::parse("0.75").unwrap();
    let (mut safety, mut live): (_, Vec<Counts>) = (Safety::new(3, confidence.clone()), vec![]);
    let top = [10, 9, 8];
    for (counts, needed, smallest) in [(vec![40; 9], 31, 32), (vec![5, 3, 2, 2, 1, 1, 1], 33, 33)] {
        live.push(counts);
        safety.admit(live.last().map(each), &mut SafetyRoom::default());
        let is_safe = |people: u64| {
            let others = (0..6).map(|i| (people - top.iter().sum::<u64>() + i) / 6);
            let after = [&live[..], &[top.into_iter().chain(others).collect()]].concat();
            disclosure(&after, 3).verdict(&confidence) == ThresholdVerdict::Safe
        };
        let found = (27..).find(|&people| is_safe(people)).unwrap();
        assert_eq!((safety.least_people_with(top.into_iter()), found), (needed, smallest));
    }
}

/// All ways to write n as a sum of descending counts.
fn partitions(n: u64, most: u64) -> Vec<Counts> {
    if n == 0 {
        return vec![vec![]];
    }
    let with =
        |count: u64| partitions(n - count, count).into_iter().map(move |rest| [vec![count], rest].concat());
    (1..=n.min(most)).flat_map(with).collect()
}

#[test]
fn no_bucket_below_the_least_people_is_safe() {
    for k in 0..4 {
        for threshold in ["1/5", "1/3", "0.34", "1/2", "0.7", "1"] {
            let confidence = Confidence::parse(threshold).unwrap();
            let least = Safety::new(k, confidence.clone()).least_people();
            let safe = |n: u64| {
                let buckets = partitions(n, n).into_iter();
                buckets
                    .filter(|counts| {
                        reference::disclosure(std::slice::from_ref(counts), k) < *confidence.value()
                    })
                    .count()
            };
            assert!((1..least).all(|n| safe(n) == 0), "k = {k}, c = {threshold}");
            assert!(safe(least) > 0, "the bound is sharp: k = {k}, c = {threshold}");
        }
    }
    let tiny = Confidence::parse("1e-300").unwrap();
    assert_eq!(Safety::new(2, tiny).least_people(), 1 << 40);
}
