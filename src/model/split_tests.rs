//! The statistics of split tests merge in any order, and are those of one test over all groups.

use proptest::prelude::*;

use super::implications::split::ImplicationsTest;
use super::shares::SharesTest;
use super::skyline::split::SkylineTest;
use super::split::{MinimumSizes, Scratch, SplitTest};
use crate::encode::group_counts::{GroupCounts, Part};
use crate::math::confidence::{Confidence, ThresholdVerdict};
use crate::math::exact::{Rational, ratio};
use crate::math::shares::{Ground, ShareRule};
use crate::math::skyline::{Knowledge, Point, ProtectedCodes, SkylineState, Values};

const DISTINCT: usize = 4;
const MINIMUM: MinimumSizes = MinimumSizes { people: 2, distinct: 1 };

fn group() -> impl Strategy<Value = Part> {
    let counts = proptest::collection::vec(0u64..9, DISTINCT)
        .prop_filter("people", |counts| counts.iter().any(|n| *n > 0));
    counts.prop_map(|counts| Part::of(&GroupCounts { people: counts.iter().sum(), counts }))
}

fn groups() -> impl Strategy<Value = Vec<Part>> {
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

/// Accepts the admitted groups, one after another, and returns them.
fn grown<T: SplitTest>(mut test: T, groups: &[Part]) -> (T, Vec<Part>) {
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

/// Whether merging is commutative and associative, and agrees with one test that accepted everything.
///
/// `measures` are exact: they change with every group that discloses more than the others.
fn merges<T: SplitTest + Clone>(
    fresh: impl Fn() -> T,
    measures: impl Fn(&T) -> Vec<Rational>,
    [a, b, c]: [&[Part]; 3],
) -> Result<(), TestCaseError> {
    let merge = |own: &mut T, other: &T| own.merge(&other.statistics());
    let [(a, of_a), (b, of_b), (c, of_c)] = [a, b, c].map(|groups| grown(fresh(), groups));
    let joined = |parts: [&T; 3]| {
        let mut all = fresh();
        let verdict = parts.iter().fold(ThresholdVerdict::Safe, |_, part| merge(&mut all, part));
        (verdict, measures(&all))
    };
    let expected = joined([&a, &b, &c]);
    prop_assert_eq!(&expected, &joined([&c, &a, &b]));
    prop_assert_eq!(&expected, &joined([&b, &c, &a]));
    let (mut right, mut left) = (b.clone(), a.clone());
    merge(&mut right, &c);
    let verdict = merge(&mut left, &right);
    prop_assert_eq!(&expected, &(verdict, measures(&left)));
    let all = [of_a, of_b, of_c].concat();
    let mut once = fresh();
    let safe = all.is_empty() || once.admits(&all, &mut Scratch::default());
    prop_assert_eq!(expected.0 == ThresholdVerdict::Safe, safe);
    if safe {
        once.accept(&all);
        prop_assert_eq!(expected.1, measures(&once));
    }
    Ok(())
}

fn breaches(test: &SkylineTest) -> Vec<Rational> {
    test.state.entries().iter().map(|entry| entry.statistics.breach().upper_bound()).collect()
}

fn disclosures(test: &ImplicationsTest) -> Vec<Rational> {
    test.safety.disclosure().curve().into_iter().map(|point| point.disclosure).collect()
}

proptest! {
    #[test]
    fn the_statistics_of_the_skyline_merge(a in groups(), b in groups(), c in groups()) {
        merges(skyline, breaches, [&a, &b, &c])?;
    }

    #[test]
    fn the_statistics_of_implications_merge(a in groups(), b in groups(), c in groups()) {
        merges(implications, disclosures, [&a, &b, &c])?;
    }

    /// Share criteria remember nothing: groups are admitted together if each is.
    #[test]
    fn shares_are_judged_group_by_group(a in groups(), b in groups()) {
        let near = ShareRule::closeness(ratio(1, 4), Ground::Equal, vec![0, 1, 2, 3], DISTINCT, &[5, 5, 5, 5]);
        let test = SharesTest::new(vec![near, ShareRule::LargestShare { most: ratio(3, 5) }]);
        let admits = |parts: &[Part]| test.admits(parts, &mut Scratch::default());
        let each = admits(&a) && admits(&b);
        prop_assert_eq!(each, admits(&[a.clone(), b.clone()].concat()));
        prop_assert_eq!(each, admits(&[b, a].concat()));
    }
}
