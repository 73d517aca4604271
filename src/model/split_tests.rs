//! The statistics of split tests merge in any order, and say what one test over all groups would say.

use proptest::prelude::*;

use super::implications::ImplicationsTest;
use super::shares::SharesTest;
use super::skyline::SkylineTest;
use super::split::{MinimumSizes, Scratch, SplitTest};
use crate::encode::group_counts::GroupCounts;
use crate::math::confidence::{Confidence, Verdict};
use crate::math::exact::ratio;
use crate::math::shares::{Ground, ShareRule};
use crate::math::skyline::{Knowledge, Point, ProtectedCodes, SkylineState, Values};

const DISTINCT: usize = 4;
const MINIMUM: MinimumSizes = MinimumSizes { people: 2, distinct: 1 };

fn group() -> impl Strategy<Value = GroupCounts> {
    let counts = proptest::collection::vec(0u64..9, DISTINCT)
        .prop_filter("people", |counts| counts.iter().any(|n| *n > 0));
    counts.prop_map(|counts| GroupCounts { people: counts.iter().sum(), counts })
}

fn groups() -> impl Strategy<Value = Vec<GroupCounts>> {
    proptest::collection::vec(group(), 0..4)
}

fn skyline() -> SkylineTest {
    let point = |l, k, m, confidence| {
        (
            ProtectedCodes::Every,
            Point { knowledge: Knowledge { l, k, m }, confidence: Confidence::parse(confidence).unwrap() },
        )
    };
    let points = [point(1, 1, 0, "0.9"), point(0, 2, 1, "0.8")];
    SkylineTest::new(SkylineState::new(Values::Single, DISTINCT, &points), MINIMUM, DISTINCT)
}

fn implications() -> ImplicationsTest {
    ImplicationsTest::new(2, Confidence::parse("0.9").unwrap(), MINIMUM)
}

/// Accepts what is admitted, one group after the other, and returns it.
fn grown<T: SplitTest>(mut test: T, groups: &[GroupCounts]) -> (T, Vec<GroupCounts>) {
    let mut accepted = Vec::new();
    for group in groups {
        let part = std::slice::from_ref(group);
        if test.admits(part, &mut Scratch::default()) {
            test.accept(part);
            accepted.push(group.clone());
        }
    }
    (test, accepted)
}

/// What a test says of every group, if it may still be asked.
fn answers<T: SplitTest>(test: &T, verdict: Verdict, groups: &[GroupCounts]) -> (Verdict, Vec<bool>) {
    let admits = |group: &GroupCounts| test.admits(std::slice::from_ref(group), &mut Scratch::default());
    let answers = groups.iter().filter(|_| verdict == Verdict::Safe).map(admits).collect();
    (verdict, answers)
}

/// Whether merging is commutative and associative, and agrees with one test that accepted everything.
fn merges<T: SplitTest + Clone>(
    fresh: impl Fn() -> T,
    merge: impl Fn(&mut T, &T) -> Verdict,
    [a, b, c]: [&[GroupCounts]; 3],
    asked: &[GroupCounts],
) -> Result<bool, TestCaseError> {
    let [(a, of_a), (b, of_b), (c, of_c)] = [a, b, c].map(|groups| grown(fresh(), groups));
    let joined = |parts: [&T; 3]| {
        let mut all = fresh();
        let verdict = parts.iter().fold(Verdict::Safe, |_, part| merge(&mut all, part));
        answers(&all, verdict, asked)
    };
    let expected = joined([&a, &b, &c]);
    prop_assert_eq!(&expected, &joined([&c, &a, &b]));
    prop_assert_eq!(&expected, &joined([&b, &c, &a]));
    let (mut right, mut left) = (b.clone(), a.clone());
    merge(&mut right, &c);
    let verdict = merge(&mut left, &right);
    prop_assert_eq!(&expected, &answers(&left, verdict, asked));
    let all = [of_a, of_b, of_c].concat();
    let mut once = fresh();
    let safe = all.is_empty() || once.admits(&all, &mut Scratch::default());
    prop_assert_eq!(expected.0 == Verdict::Safe, safe);
    if safe {
        once.accept(&all);
        prop_assert_eq!(expected.1, answers(&once, Verdict::Safe, asked).1);
    }
    Ok(safe)
}

proptest! {
    #[test]
    fn the_statistics_of_the_skyline_merge(a in groups(), b in groups(), c in groups(), asked in groups()) {
        merges(skyline, |own, other| own.merge(other), [&a, &b, &c], &asked)?;
    }

    #[test]
    fn the_statistics_of_implications_merge(a in groups(), b in groups(), c in groups(), asked in groups()) {
        merges(implications, |own, other| own.merge(other), [&a, &b, &c], &asked)?;
    }

    /// Criteria over shares remember nothing: groups are admitted together if each is.
    #[test]
    fn shares_are_judged_group_by_group(a in groups(), b in groups()) {
        let near = ShareRule::closeness(ratio(1, 4), Ground::Equal, vec![0, 1, 2, 3], DISTINCT, &[5, 5, 5, 5]);
        let test = SharesTest::new(vec![near, ShareRule::LargestShare { most: ratio(3, 5) }]);
        let admits = |parts: &[GroupCounts]| test.admits(parts, &mut Scratch::default());
        let each = admits(&a) && admits(&b);
        prop_assert_eq!(each, admits(&[a.clone(), b.clone()].concat()));
        prop_assert_eq!(each, admits(&[b, a].concat()));
    }
}

/// The properties above are about something: groups that are safe alone can be unsafe together.
#[test]
fn safe_groups_can_be_unsafe_together() {
    let part = |counts: [u64; DISTINCT]| GroupCounts { people: counts.iter().sum(), counts: counts.to_vec() };
    let mut unsafe_together = 0;
    let all: Vec<GroupCounts> = (1..9).flat_map(|a| (1..5).map(move |b| part([a, b, 2, 2]))).collect();
    for one in &all {
        for other in &all {
            let [(mut own, of_own), (others, of_others)] =
                [one, other].map(|group| grown(implications(), std::slice::from_ref(group)));
            let both = !of_own.is_empty() && !of_others.is_empty();
            unsafe_together += usize::from(both && own.merge(&others) == Verdict::Unsafe);
        }
    }
    assert!(unsafe_together > 0);
}
