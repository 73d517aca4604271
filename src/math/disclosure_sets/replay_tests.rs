//! The worked example of docs/explanation/algorithm-knowledge.md, computed: five people in a row of ages, one ordered
//! quasi-identifier, the greedy anonymizer replayed on every table the release leaves possible.

use super::{
    AuditFinding, AuditedRelease, Limits, Partition, Property, ReplayStrategy, Sequence, SkylinePoint,
};
use crate::math::exact::{Rational, ratio};
use std::collections::{BTreeMap, BTreeSet};

const PEOPLE: usize = 5;
/// The values in the order of the ages.
const TABLE: [u32; PEOPLE] = [B, C, A, A, D];
const A: u32 = 0;
const B: u32 = 1;
const C: u32 = 2;
const D: u32 = 3;

/// Groups as ranges of people in the order of their ages.
type Groups = Vec<(usize, usize)>;

#[derive(Clone, Copy)]
enum Cuts {
    /// A cut is made iff every group stays safe: the project's anonymizer on one column.
    IfSafe,
    /// A cut is made iff both parts have at least two people; safety is tested once, on the result.
    BySize,
}

fn below(confidence: &Rational) -> Property {
    Property::Skyline(vec![SkylinePoint::new(None, [0, 0, 0], confidence.clone()).unwrap()])
}

fn is_safe(table: &[u32], confidence: &Rational) -> bool {
    let together = Partition::by_label(vec![0; table.len()]);
    let sequence =
        Sequence::new(vec![together], table.to_vec(), &below(confidence), Limits::default()).unwrap();
    sequence.release(ReplayStrategy::Naive) == AuditedRelease::Function(0)
}

/// Tries the cut nearest the median first, ties by age, and makes the first one that is permitted.
fn greedy(table: &[u32], confidence: &Rational, cuts: Cuts) -> Option<Groups> {
    let takes = |(from, at, to): (usize, usize, usize)| match cuts {
        Cuts::IfSafe => is_safe(&table[from..at], confidence) && is_safe(&table[at..to], confidence),
        Cuts::BySize => at - from >= 2 && to - at >= 2,
    };
    let mut queue = std::collections::VecDeque::from([(0, table.len())]);
    let mut groups = Groups::new();
    while let Some((from, to)) = queue.pop_front() {
        let mut candidates: Vec<usize> = (from + 1..to).collect();
        candidates.sort_by_key(|&at| ((2 * at).abs_diff(from + to), at));
        match candidates.into_iter().find(|&at| takes((from, at, to))) {
            Some(at) => queue.extend([(from, at), (at, to)]),
            None => groups.push((from, to)),
        }
    }
    groups.sort_unstable();
    groups.iter().all(|&(from, to)| is_safe(&table[from..to], confidence)).then_some(groups)
}

fn published(table: &[u32], groups: &Groups) -> Vec<Vec<u32>> {
    let multiset = |&(from, to): &(usize, usize)| {
        let mut values = table[from..to].to_vec();
        values.sort_unstable();
        values
    };
    groups.iter().map(multiset).collect()
}

fn tables() -> BTreeSet<Vec<u32>> {
    let mut all = BTreeSet::from([vec![]]);
    for _ in 0..PEOPLE {
        all = all.iter().flat_map(|start| TABLE.map(|value| [&start[..], &[value]].concat())).collect();
    }
    let sorted = |mut values: Vec<u32>| {
        values.sort_unstable();
        values
    };
    all.into_iter().filter(|table| sorted(table.clone()) == sorted(TABLE.to_vec())).collect()
}

fn share_of(tables: &[Vec<u32>], person: usize, value: u32) -> Rational {
    let having = tables.iter().filter(|table| table[person] == value).count();
    ratio(having as u64, tables.len() as u64)
}

/// The tables with the same publication, and those of them for which the replay ends in the same groups.
fn before_and_after(confidence: &Rational, cuts: Cuts) -> (Groups, Vec<Vec<u32>>, Vec<Vec<u32>>) {
    let groups = greedy(&TABLE, confidence, cuts).unwrap();
    let publication = published(&TABLE, &groups);
    let alike: Vec<_> =
        tables().into_iter().filter(|table| published(table, &groups) == publication).collect();
    let replayed = alike
        .iter()
        .filter(|table| greedy(table, confidence, cuts).as_ref() == Some(&groups))
        .cloned()
        .collect();
    (groups, alike, replayed)
}

#[test]
fn replaying_the_greedy_anonymizer_reveals_a_value() {
    // The margin between 2/3 and 51/100 changes nothing: no group has a share in between.
    for confidence in [ratio(2, 3), ratio(51, 100)] {
        let (groups, alike, replayed) = before_and_after(&confidence, Cuts::IfSafe);
        assert_eq!(groups, [(0, 3), (3, 5)]);
        assert_eq!((alike.len(), replayed.len()), (12, 4));
        assert_eq!(share_of(&alike, 2, A), ratio(1, 3));
        assert_eq!(share_of(&replayed, 2, A), ratio(1, 1));
    }
}

#[test]
fn cuts_by_size_reveal_nothing_beyond_the_release() {
    // At 3/4 the groups that are chosen by size alone are safe for this table.
    let (groups, alike, replayed) = before_and_after(&ratio(3, 4), Cuts::BySize);
    assert_eq!(groups, [(0, 2), (2, 5)]);
    assert_eq!(alike, replayed);
    // At 2/3 they are not, and then nothing is released.
    assert_eq!(greedy(&TABLE, &ratio(2, 3), Cuts::BySize), None);
}

#[test]
fn a_stricter_policy_only_helped_in_this_case() {
    let (groups, alike, replayed) = before_and_after(&ratio(1, 2), Cuts::IfSafe);
    assert_eq!(groups, [(0, 5)]);
    assert_eq!(alike, replayed);
}

#[test]
fn the_audit_sees_it_and_the_strategies_prevent_it() {
    let functions = ["00111", "00011", "00000"].map(|labels| Partition::by_label(labels.bytes()));
    let confidence = ratio(2, 3);
    let sequence =
        Sequence::new(functions.to_vec(), TABLE.to_vec(), &below(&confidence), Limits::default()).unwrap();
    // A group of one is never safe, so the greedy anonymizer can only end in one of the three.
    let ends: BTreeMap<Groups, usize> = tables()
        .iter()
        .filter_map(|table| greedy(table, &confidence, Cuts::IfSafe))
        .fold(BTreeMap::new(), |mut ends, groups| {
            *ends.entry(groups).or_default() += 1;
            ends
        });
    assert_eq!(
        ends.keys().cloned().collect::<Vec<_>>(),
        [vec![(0, 2), (2, 5)], vec![(0, 3), (3, 5)], vec![(0, 5)]]
    );
    let audit = sequence.audit();
    assert_eq!(audit.naive, AuditedRelease::Function(1));
    let Some(AuditFinding::Exact(learned)) = audit.naive_adversary() else {
        panic!("a small set is counted")
    };
    let worst = learned.largest.as_ref().unwrap();
    assert_eq!((worst.share.clone(), worst.person, worst.value), (ratio(1, 1), 2, A));
    assert_eq!(audit.exclusive, AuditedRelease::Nothing);
    assert_eq!(audit.inclusive, AuditedRelease::Function(2));
    let AuditFinding::Exact(left) = &audit.functions[2].inclusive else { panic!("a small set is counted") };
    assert_eq!(
        (left.size.to_string(), left.largest.as_ref().unwrap().share.clone()),
        ("24".to_string(), ratio(1, 2))
    );
}
