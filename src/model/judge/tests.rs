//! Judges that observed different groups merge in any order with the same result.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::math::exact::ratio;
use crate::math::skyline::{Confidence, DecisiveGroup, Knowledge, Point};
use crate::resources::byte_form::ByteReader;

const VALUES: usize = 4;

fn names() -> Vec<Arc<str>> {
    ["a", "b", "c", "d"].map(Arc::from).to_vec()
}

/// A charge whose evidence travels, with other codes.
fn travelling_charge(requirements: &Requirements, names: &[Arc<str>]) -> Arc<Charge> {
    let code = &mut |name: &str| Ok(names.iter().position(|own| **own == *name).unwrap_or(0) as u32);
    let wanted = WantedSkylines::of(requirements.skyline());
    Arc::new(
        Charge::new(Values::Single, requirements, ValueRules::default(), &wanted, code).expect("a charge"),
    )
}

fn charge(requirements: &Requirements) -> Arc<Charge> {
    let names = names();
    let code = &mut |name: &str| Ok(names.iter().position(|own| **own == *name).unwrap_or(0) as u32);
    let shares = vec![ShareRule::LargestShare { most: ratio(1, 2) }];
    let rules = ValueRules { shares, near: Vec::new() };
    let wanted = WantedSkylines { every: Confidence::parse("0.9"), ..WantedSkylines::NOTHING };
    Arc::new(Charge::new(Values::Single, requirements, rules, &wanted, code).expect("a charge"))
}

fn skyline() -> Requirements {
    let point = |l, k, m, confidence| Point {
        knowledge: Knowledge { l, k, m },
        confidence: Confidence::parse(confidence).expect("a confidence"),
    };
    let only = ProtectedValues::These(vec!["b".to_string()]);
    let points = vec![(ProtectedValues::Every, point(1, 1, 1, "0.7")), (only, point(0, 2, 0, "0.5"))];
    Requirements { minimum_group_size: 3, minimum_distinct_values: 2, ..Requirements::points(points) }
}

fn implications() -> Requirements {
    let implications = Implications { up_to: 3, confidence: Confidence::parse("0.8") };
    Requirements { adversary: Adversary::Implications(implications), ..skyline() }
}

fn group(counts: &[u64]) -> CountedGroup {
    let mut group = CountedGroup::of(counts.iter().sum());
    let present = (0u32..).zip(counts).filter(|(_, count)| **count > 0);
    present.for_each(|(code, &count)| group.add(code, count));
    group
}

/// The finding of judges that each observed their share of the groups, merged in that order.
fn merged(charge: &Arc<Charge>, groups: &[Vec<u64>], shares: &[Vec<usize>]) -> Option<Finding> {
    let mut whole = Judge::new(charge);
    for share in shares {
        let mut judge = Judge::new(charge);
        share.iter().for_each(|&number| judge.observe(&group(&groups[number]), number as u64));
        whole.merge(judge);
    }
    whole.finish(&ValueNames { column: "sick", names: &names(), possible: &|_| true }).ok()
}

proptest! {
    #[test]
    fn any_shares_in_any_order_give_the_same_finding(
        groups in prop::collection::vec(prop::collection::vec(0u64..5, VALUES), 1..9),
        judge_of in prop::collection::vec(0usize..3, 9),
        order in Just(vec![0usize, 1, 2]).prop_shuffle(),
    ) {
        for requirements in [skyline(), implications()] {
            let charge = charge(&requirements);
            let all = vec![(0..groups.len()).collect::<Vec<_>>()];
            let shares: Vec<Vec<usize>> = order
                .iter()
                .map(|&judge| (0..groups.len()).rev().filter(|&group| judge_of[group] == judge).collect())
                .collect();
            prop_assert_eq!(merged(&charge, &groups, &all), merged(&charge, &groups, &shares));
        }
    }
}

/// What is left to say about a judge: its finding, and the groups that decide at every point.
fn told(mut judge: Judge, names: &[Arc<str>]) -> Option<(Finding, Sizes, Vec<String>)> {
    let mut finding = judge.finish(&ValueNames { column: "sick", names, possible: &|_| true }).ok()?;
    finding.sort_by_value();
    let sizes = judge.sizes.clone();
    let group = |group: &DecisiveGroup| {
        let count = |&(code, count): &(u32, u64)| (names[code as usize].clone(), count);
        let mut counts: Vec<_> = group.counts().iter().map(count).collect();
        counts.sort();
        format!("{} {} {counts:?}", group.number, group.people)
    };
    let value = |(name, own): (String, DecisiveGroups)| {
        let mut groups: Vec<String> = (0..=own.unknown_from() as usize)
            .flat_map(|l| own.at(l).iter().map(move |kept| (l, kept)))
            .map(|(l, kept)| format!("{l}: {}", group(kept)))
            .collect();
        groups.sort();
        format!("{name} {} {:?} {} {groups:?}", own.occurrences(), own.certain_from(), own.unknown_from())
    };
    Some((finding, sizes, judge.decisive(names).into_iter().map(value).collect()))
}

proptest! {
    /// Each judge has codes of its own, and its evidence travels as bytes.
    #[test]
    fn evidence_that_travels_gives_the_same_finding(
        groups in prop::collection::vec(prop::collection::vec(0u64..5, VALUES), 1..9),
        judge_of in prop::collection::vec(0usize..3, 9),
        order in Just(vec![0usize, 1, 2]).prop_shuffle(),
        codes in Just(vec![0usize, 1, 2, 3]).prop_shuffle(),
        (place, byte) in (any::<prop::sample::Index>(), any::<u8>()),
    ) {
        for requirements in [skyline(), implications()] {
            let names = names();
            let charge = travelling_charge(&requirements, &names);
            prop_assert!(charge.travels());
            let mut alone = Judge::new(&charge);
            (0u64..).zip(&groups).for_each(|(number, counts)| alone.observe(&group(counts), number));
            let mut together = Judge::new(&charge);
            // The value at each place of `codes` has that place as its code.
            let others: Vec<Arc<str>> = codes.iter().map(|&code| names[code].clone()).collect();
            let here: Vec<u32> = codes.iter().map(|&code| code as u32).collect();
            for &own in &order {
                let mut judge = Judge::new(&travelling_charge(&requirements, &others));
                for number in (0..groups.len()).filter(|&number| judge_of[number] == own) {
                    let counts: Vec<u64> = codes.iter().map(|&code| groups[number][code]).collect();
                    judge.observe(&group(&counts), number as u64);
                }
                let mut bytes = Vec::new();
                judge.write(&mut bytes);
                together.merge(Judge::read(&charge, &here, &mut ByteReader::new(&bytes)).expect("evidence"));
                let damaged = place.index(bytes.len());
                bytes[damaged] = byte;
                let _ = Judge::read(&charge, &here, &mut ByteReader::new(&bytes));
                prop_assert!(Judge::read(&charge, &here, &mut ByteReader::new(&bytes[..damaged])).is_none());
            }
            prop_assert_eq!(told(together, &names), told(alone, &names));
        }
    }
}

#[test]
fn a_finding_depends_on_the_groups() {
    let charge = charge(&skyline());
    let found =
        |groups: &[Vec<u64>]| merged(&charge, groups, &[(0..groups.len()).collect()]).expect("a finding");
    let (safe, breached) = (found(&[vec![9, 9, 9, 9]]), found(&[vec![9, 9, 9, 9], vec![0, 1, 0, 0]]));
    assert!(safe.safe, "{safe:?}");
    assert!(!breached.safe);
    // The smallest group, its values, the points of "b" and the largest share.
    assert!(breached.failing().count() >= 4, "{breached:?}");
}
