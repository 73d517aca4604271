//! The groups that changed what split tests remember merge in any order, and stand for all groups.

use proptest::prelude::*;

use super::implications::split::ImplicationsTest;
use super::remembering::Remembering;
use super::shares::SharesTest;
use super::skyline::split::SkylineTest;
use super::split::{MinimumSizes, Scratch, SplitTest};
use crate::encode::group_counts::{GroupCounts, Part};
use crate::math::confidence::Confidence;
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

/// Accepts the admitted groups, one after another; returns all of them, and those that changed what is remembered.
fn grown(test: impl SplitTest, groups: &[Part]) -> (Vec<Part>, Vec<Part>) {
    let mut test = Remembering::new(test.fork());
    let mut accepted = Vec::new();
    for group in groups {
        let part = std::slice::from_ref(group);
        if test.admits(part, &mut Scratch::default()) {
            test.accept(part);
            accepted.push(group.clone());
        }
    }
    (accepted, test.into_changes())
}

/// Whether the groups that changed what three tests remember merge in any order, and stand for all their groups.
///
/// `measures` are exact: they change with every group that discloses more than the others.
fn merges<T: SplitTest + Clone>(
    fresh: impl Fn() -> T,
    measures: impl Fn(&T) -> Vec<Rational>,
    groups: [&[Part]; 3],
) -> Result<(), TestCaseError> {
    let [a, b, c] = groups.map(|groups| grown(fresh(), groups));
    let joined = |parts: [&[Part]; 3]| {
        let mut all = fresh();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            if !all.admits(part, &mut Scratch::default()) {
                return None;
            }
            all.accept(part);
        }
        Some(measures(&all))
    };
    let expected = joined([&a.0, &b.0, &c.0]);
    prop_assert_eq!(&expected, &joined([&a.1, &b.1, &c.1]));
    prop_assert_eq!(&expected, &joined([&c.1, &a.1, &b.1]));
    prop_assert_eq!(&expected, &joined([&b.1, &c.1, &a.1]));
    prop_assert_eq!(&expected, &joined([&[a.1, b.1, c.1].concat(), &[], &[]]));
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
    fn what_the_skyline_remembers_merges(a in groups(), b in groups(), c in groups()) {
        merges(skyline, breaches, [&a, &b, &c])?;
    }

    #[test]
    fn what_implications_remember_merges(a in groups(), b in groups(), c in groups()) {
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
