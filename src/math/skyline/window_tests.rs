//! Windows of numbers against enumeration, vectors and brute force.

use super::shape::Outline;
use super::*;
use crate::math::confidence::ThresholdVerdict;
use crate::math::exact::{Rational, parse_fraction, ratio};
use proptest::prelude::*;
use std::sync::Arc;

fn number(value: i64) -> Rational {
    Rational::from(value)
}

/// Groups of numbers, and their windows; the code of a value is its position among the distinct ones.
struct Case {
    values: Vec<i64>,
    windows: Arc<Windows>,
    groups: Vec<NearGroup>,
}

impl Case {
    fn new(within: Within, groups: &[Vec<i64>]) -> Self {
        let mut values: Vec<i64> = groups.iter().flatten().copied().collect();
        values.sort_unstable();
        values.dedup();
        // Codes in no particular order.
        values.sort_by_key(|value| value.rem_euclid(7));
        let coded = (0u32..).zip(&values).map(|(code, &value)| (code, Some(number(value))));
        let windows = Arc::new(Windows::new(within, coded));
        let read = |group: &Vec<i64>| {
            let count = |value: &i64| group.iter().filter(|own| *own == value).count() as u64;
            let mut near = NearGroup::default();
            near.read(&windows, group.len() as u64, (0u32..).zip(values.iter().map(count)));
            near
        };
        let groups = groups.iter().map(read).collect();
        Case { values, windows, groups }
    }

    fn starting_at(&self, value: i64) -> Window {
        let code = self.values.iter().position(|own| *own == value).unwrap();
        self.windows.starting_at(code as u32).unwrap()
    }

    fn statistics(&mut self, window: Window, size: Knowledge) -> Statistics {
        let mut statistics = Statistics::new(Values::Single, size);
        for (group, at) in self.groups.iter_mut().zip(0..) {
            group.place_windows(size.l);
            let (target, top_sum) = (group.inside(window), group.ruled_out(window, size.l));
            statistics.observe_outline(Outline { people: group.people, target, top_sum }, at);
        }
        statistics
    }

    fn breach(&mut self, window: Window, size: Knowledge) -> Rational {
        self.statistics(window, size).breach().upper_bound()
    }
}

#[test]
fn the_vectors_pass_exactly() {
    let path = format!("{}/tests/vectors/closeness.json", env!("CARGO_MANIFEST_DIR"));
    let file: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 200);
    for vector in cases {
        let groups: Vec<Vec<i64>> = serde_json::from_value(vector["groups"].clone()).unwrap();
        let within = Within::parse(&vector["within"].to_string()).unwrap();
        let [l, k, m] = ["l", "k", "m"].map(|key| vector[key].as_u64().unwrap());
        let mut case = Case::new(within, &groups);
        let window = case.starting_at(vector["from"].as_i64().unwrap());
        let expected = parse_fraction(vector["breach"].as_str().unwrap()).unwrap();
        assert_eq!(case.breach(window, Knowledge { l, k, m }), expected, "{vector}");
    }
}

#[test]
fn negations_exclude_windows() {
    let mut case = Case::new(Within::Absolute(number(5)), &[vec![-4, 9, 4, 4, 7, 7]]);
    let window = case.starting_at(-4);
    assert_eq!(case.breach(window, Knowledge { l: 1, k: 0, m: 2 }), Rational::ONE);
}

#[test]
fn relative_windows_keep_signs_apart_and_grow_away_from_zero() {
    let within = Within::parse("5%").unwrap();
    for (low, high, near) in [
        (100, 105, true),
        (100, 106, false),
        (-105, -100, true),
        (-106, -100, false),
        (0, 0, true),
        (0, 1, false),
        (-1, 0, false),
        (-1, 1, false),
    ] {
        assert_eq!(within.holds(&number(low), &number(high)), near, "{low} {high}");
    }
    let case = Case::new(within, &[vec![-105, -104, -100, -1, 0, 1, 100, 104, 105, 106]]);
    let of = |value| case.windows.ends(case.starting_at(value));
    let value = |code: u32| case.values[code as usize];
    for (start, first, last) in
        [(-100, -105, -100), (-104, -105, -104), (0, 0, 0), (100, 100, 105), (104, 104, 106), (-1, -1, -1)]
    {
        let (from, to) = of(start);
        assert_eq!((value(from), value(to)), (first, last), "{start}");
    }
    let targets: Vec<(i64, i64)> = case
        .windows
        .targets()
        .iter()
        .map(|window| case.windows.ends(*window))
        .map(|(a, b)| (value(a), value(b)))
        .collect();
    assert_eq!(targets, [(-105, -100), (-1, -1), (0, 0), (1, 1), (100, 105), (104, 106)]);
}

#[test]
fn widths_are_read_exactly() {
    assert_eq!(Within::parse("5%"), Some(Within::Relative(ratio(1, 20))));
    assert_eq!(Within::parse(" 0.5 % "), Some(Within::Relative(ratio(1, 200))));
    assert_eq!(Within::parse("1/3"), Some(Within::Absolute(ratio(1, 3))));
    for wrong in ["", "%", "-1", "-5%", "a", "5%%", "inf", "NaN"] {
        assert_eq!(Within::parse(wrong), None, "{wrong}");
    }
    for text in ["5%", "1/3", "1000", "0"] {
        assert_eq!(Within::parse(text).unwrap().to_string(), text);
    }
    // The end of the window of 0.1 is exactly 0.3, which binary64 would miss.
    let [tenth, third] = ["0.1", "0.3"].map(|text| parse_fraction(text).unwrap());
    assert!(Within::parse("0.2").unwrap().holds(&tenth, &third));
    assert!(Within::parse("200%").unwrap().holds(&tenth, &third));
}

#[test]
fn a_value_that_is_no_number_is_near_nothing_and_can_be_ruled_out() {
    let values = [(0, Some(number(1))), (1, None), (2, Some(number(2)))];
    let windows = Windows::new(Within::Absolute(number(5)), values);
    assert_eq!(windows.targets().len(), 2);
    let (numbers, null) = (windows.starting_at(0).unwrap(), windows.starting_at(1).unwrap());
    let mut group = NearGroup::default();
    group.read(&windows, 6, [(0, 1), (1, 3), (2, 2)]);
    group.place_windows(2);
    assert_eq!((group.inside(numbers), group.ruled_out(numbers, 1)), (3, 3));
    assert_eq!((group.inside(null), group.ruled_out(null, 1), group.ruled_out(null, 0)), (3, 3, 0));
}

#[test]
fn a_value_that_is_not_known_is_never_safe() {
    let windows = Arc::new(Windows::new(Within::Absolute(number(5)), [(0, Some(number(1)))]));
    let point =
        Point { knowledge: Knowledge { l: 0, k: 0, m: 0 }, confidence: Confidence::parse("1").unwrap() };
    let mut state = WindowState::new(windows.clone(), std::slice::from_ref(&point));
    let mut group = NearGroup::default();
    for foreign in [1, 9] {
        group.read(&windows, 5, [(0, 1), (foreign, 4)]);
        assert!(!state.admits(std::slice::from_mut(&mut group)));
    }
    state.observe(&mut group, 0);
    let (_, point, statistics) = state.entries().next().unwrap();
    assert_eq!(state.verdict(point, statistics), ThresholdVerdict::Unsafe);
}

/// The most people outside `window` that l intervals of the rule hold, by trying all of them.
fn most_outside(within: &Within, group: &[i64], held: &dyn Fn(i64) -> bool, l: u64) -> u64 {
    let outside: Vec<i64> = group.iter().copied().filter(|value| !held(*value)).collect();
    if l == 0 || outside.is_empty() {
        return 0;
    }
    let mut starts = outside.clone();
    starts.sort_unstable();
    starts.dedup();
    let taken = |start: i64| -> Vec<i64> {
        let near = |value: &i64| *value < start || !within.holds(&number(start), &number(*value));
        outside.iter().copied().filter(near).collect()
    };
    let without = |start: i64| {
        let left = taken(start);
        (outside.len() - left.len()) as u64 + most_outside(within, &left, &|_| false, l - 1)
    };
    starts.into_iter().map(without).max().unwrap_or(0)
}

fn within() -> impl Strategy<Value = Within> {
    prop_oneof![
        (0u64..6).prop_map(|width| Within::Absolute(width.into())),
        prop::sample::select(vec!["0%", "10%", "50%", "100%", "34%"]).prop_map(|w| Within::parse(w).unwrap()),
    ]
}

fn groups() -> impl Strategy<Value = Vec<Vec<i64>>> {
    prop::collection::vec(prop::collection::vec(-6i64..14, 1..9), 1..4)
}

proptest! {
    #[test]
    fn what_windows_hold_outside_is_what_brute_force_finds(within in within(), groups in groups(), l in 0u64..4) {
        let case = Case::new(within.clone(), &groups);
        for value in case.values.clone() {
            let window = case.starting_at(value);
            let held = |value: i64| {
                let code = case.values.iter().position(|own| *own == value).unwrap();
                case.windows.holds(window, code as u32)
            };
            // By definition: the values from here on, or from here downwards.
            let by_rule = |other: &i64| match (matches!(within, Within::Relative(_)) && value < 0, *other) {
                (true, other) => other <= value && within.holds(&number(other), &number(value)),
                (false, other) => other >= value && within.holds(&number(value), &number(other)),
            };
            prop_assert!(case.values.iter().all(|other| by_rule(other) == held(*other)));
            for (group, own) in groups.iter().zip(case.groups.clone().iter_mut()) {
                own.place_windows(l);
                let inside = group.iter().filter(|value| held(**value)).count() as u64;
                prop_assert_eq!(own.inside(window), inside);
                prop_assert_eq!(own.ruled_out(window, l), most_outside(&within, group, &held, l));
                // The windows that are named hold exactly these people.
                let named = own.widest_outside(window, l);
                prop_assert!(named.len() as u64 <= l);
                let out = group.iter().filter(|value| {
                    let code = case.values.iter().position(|other| other == *value).unwrap() as u32;
                    named.iter().any(|window| case.windows.holds(*window, code)) && !held(**value)
                });
                prop_assert_eq!(out.count() as u64, own.ruled_out(window, l));
            }
        }
    }

    #[test]
    fn the_widest_windows_decide(within in within(), groups in groups(), l in 0u64..3, k in 0u64..3, m in 0u64..3) {
        let size = Knowledge { l, k, m };
        let mut case = Case::new(within, &groups);
        let windows: Vec<Window> = case.values.clone().into_iter().map(|value| case.starting_at(value)).collect();
        let worst = windows.into_iter().map(|window| case.breach(window, size)).max().unwrap();
        let targets = case.windows.targets().to_vec();
        let found = targets.into_iter().map(|window| case.breach(window, size)).max().unwrap();
        prop_assert_eq!(found, worst);
    }

    #[test]
    fn the_state_gives_the_statistics_of_each_window_and_admits_what_stays_safe(
        within in within(),
        groups in groups(),
        points in prop::collection::vec((0u64..3, 0u64..3, 0u64..3, 1u64..20), 1..4),
    ) {
        let point = |(l, k, m, c): (u64, u64, u64, u64)| Point {
            knowledge: Knowledge { l, k, m },
            confidence: Confidence::new(ratio(c, 19)).unwrap(),
        };
        let points: Vec<Point> = points.into_iter().map(point).collect();
        let mut case = Case::new(within, &groups);
        let empty = WindowState::new(case.windows.clone(), &points);
        let mut state = empty.clone();
        let mut own: Vec<NearGroup> = case.groups.clone();
        let safe = |state: &WindowState| {
            state.entries().all(|(_, point, own)| state.verdict(point, own) == ThresholdVerdict::Safe)
        };
        for (group, number) in own.iter_mut().zip(0..) {
            let mut after = state.clone();
            after.observe(group, number);
            if safe(&state) {
                prop_assert_eq!(state.admits(std::slice::from_mut(group)), safe(&after));
                prop_assert!(!safe(&after) || group.people >= after.least_people());
            }
            state = after;
        }
        prop_assert_eq!(empty.admits(&mut own), safe(&state));
        for (window, point, statistics) in state.entries() {
            prop_assert_eq!(statistics.breach().upper_bound(), case.breach(window, point.knowledge));
        }
        let mut merged = empty.clone();
        for number in (0..own.len()).rev() {
            let mut one = empty.clone();
            one.observe(&mut own[number], number as u64);
            merged.merge(&one);
        }
        let breaches = |state: &WindowState| -> Vec<Breach> {
            state.entries().map(|(.., statistics)| statistics.breach()).collect()
        };
        prop_assert_eq!(breaches(&merged), breaches(&state));
    }

    #[test]
    fn many_windows_are_bounded_from_above(counts in prop::collection::vec(1u64..9, 60..90), l in 60u64..100) {
        let values = (0u32..).zip(&counts).map(|(code, _)| (code, Some(number(i64::from(code) * 10))));
        let windows = Windows::new(Within::Absolute(number(5)), values);
        let mut group = NearGroup::default();
        group.read(&windows, counts.iter().sum(), (0u32..).zip(counts.iter().copied()));
        group.place_windows(l);
        let window = windows.starting_at(0).unwrap();
        let mut others = counts[1..].to_vec();
        others.sort_unstable_by(|a, b| b.cmp(a));
        let exact: u64 = others.iter().take(l as usize).sum();
        let found = group.ruled_out(window, l);
        prop_assert!(found >= exact && found <= others.iter().sum());
        prop_assert!(l > 64 || found == exact);
    }
}
