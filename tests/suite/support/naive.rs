//! The breach probability by the formulas, one group after the other, without optimizations.

use super::library::{Rational, Values, ratio};
use std::collections::BTreeMap;

/// A row: the person, the group, the values of the person.
pub type Row = (u64, i64, Vec<&'static str>);

/// People and counts of each group.
pub type Groups = BTreeMap<i64, (u64, BTreeMap<&'static str, u64>)>;

/// Counts people and values by group.
pub fn groups(rows: &[Row], values: Values) -> Groups {
    let mut groups = Groups::new();
    for (_, group, own) in rows {
        let (people, counts) = groups.entry(*group).or_default();
        *people += 1;
        let mut own = own.clone();
        if values == Values::Set {
            own.sort();
            own.dedup();
        }
        for value in own {
            *counts.entry(value).or_default() += 1;
        }
    }
    groups
}

/// BP of a value at (l, k, m).
pub fn breach(groups: &Groups, values: Values, value: &str, [l, k, m]: [u64; 3]) -> Rational {
    let mut least: [Option<Rational>; 5] = [const { None }; 5];
    for (people, counts) in groups.values() {
        let Some(&own) = counts.get(value) else { continue };
        let mut others: Vec<u64> =
            counts.iter().filter(|(other, _)| **other != value).map(|(_, count)| *count).collect();
        others.sort_by(|a, b| b.cmp(a));
        others.truncate(l as usize);
        let t = |k| t_ratio(values, *people, own, &others, k);
        let v = |k| v_ratio(values, *people, own, m, k);
        for (least, ratio) in least.iter_mut().zip([t(k) * v(k + 1), t(0), t(k), v(0), v(k)]) {
            *least = Some(least.take().map_or(ratio.clone(), |known| known.min(ratio)));
        }
    }
    let [Some(a), Some(b), Some(c), Some(d), Some(e)] = least else { return Rational::ZERO };
    let minimum = a.min(b * e).min(c * d);
    Rational::ONE / (Rational::ONE + minimum)
}

fn power(base: Rational, exponent: u64) -> Rational {
    (0..exponent).fold(Rational::ONE, |product, _| product * &base)
}

fn t_ratio(values: Values, n: u64, own: u64, top: &[u64], k: u64) -> Rational {
    let sum: u64 = top.iter().sum();
    let signed = |a: u64, b: u64| a as i64 - b as i64;
    match values {
        Values::Single => match signed(n, own + sum + k) {
            ..=0 => Rational::ZERO,
            a => ratio(a as u64, own),
        },
        Values::Set => match signed(n, own + k) {
            ..=0 => Rational::ZERO,
            a => top.iter().fold(ratio(a as u64, own), |product, c| product * ratio(n - c, n)),
        },
        Values::Multiset => match signed(n, k + 1) {
            ..=0 => Rational::ZERO,
            a => {
                let escape = power(ratio(a as u64, n - k), own);
                &escape / (Rational::ONE - &escape) * power(ratio(n - 1, n), sum)
            }
        },
    }
}

fn v_ratio(values: Values, n: u64, own: u64, m: u64, k: u64) -> Rational {
    if m == 0 {
        return Rational::ONE;
    }
    let left = |less: u64| n as i64 - less as i64;
    match values {
        Values::Single | Values::Set if left(own + k + m - 1) <= 0 => Rational::ZERO,
        Values::Single | Values::Set => {
            (0..m).fold(Rational::ONE, |product, i| product * ratio(n - own - k - i, n - k - i))
        }
        Values::Multiset if left(k + m) <= 0 => Rational::ZERO,
        Values::Multiset => power(ratio(n - k - m, n - k), own),
    }
}

/// How near numbers are: by their difference, or by a share of the one nearer to 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Width {
    Absolute(i64),
    Percent(i64),
}

impl Width {
    /// As a policy and a flag write it.
    pub fn text(self) -> String {
        match self {
            Width::Absolute(width) => width.to_string(),
            Width::Percent(share) => format!("{share}%"),
        }
    }

    /// Whether the window that starts at a number holds another one.
    pub fn holds(self, start: i64, other: i64) -> bool {
        match self {
            Width::Absolute(width) => start <= other && other <= start + width,
            Width::Percent(share) if start > 0 => start <= other && 100 * other <= start * (100 + share),
            Width::Percent(share) if start < 0 => other <= start && 100 * other >= start * (100 + share),
            Width::Percent(_) => other == start,
        }
    }
}

/// BP of "the value lies in the window that starts here" at (l, k, m), where `None` is a value that is no number.
pub fn near_breach(
    groups: &[Vec<Option<i64>>],
    width: Width,
    start: Option<i64>,
    [l, k, m]: [u64; 3],
) -> Rational {
    let holds = |start: Option<i64>, other: Option<i64>| match (start, other) {
        (Some(start), Some(other)) => width.holds(start, other),
        (start, other) => start == other,
    };
    let mut least: [Option<Rational>; 5] = [const { None }; 5];
    for group in groups {
        let (inside, outside): (Vec<_>, Vec<_>) = group.iter().copied().partition(|&own| holds(start, own));
        if inside.is_empty() {
            continue;
        }
        let (n, own) = (group.len() as u64, inside.len() as u64);
        let top = [most_held(&outside, &holds, l)];
        let t = |k| t_ratio(Values::Single, n, own, &top, k);
        let v = |k| v_ratio(Values::Single, n, own, m, k);
        for (least, ratio) in least.iter_mut().zip([t(k) * v(k + 1), t(0), t(k), v(0), v(k)]) {
            *least = Some(least.take().map_or(ratio.clone(), |known| known.min(ratio)));
        }
    }
    let [Some(a), Some(b), Some(c), Some(d), Some(e)] = least else { return Rational::ZERO };
    Rational::ONE / (Rational::ONE + a.min(b * e).min(c * d))
}

/// The most of these values that l windows hold, whichever values they start at.
fn most_held(values: &[Option<i64>], holds: &dyn Fn(Option<i64>, Option<i64>) -> bool, l: u64) -> u64 {
    if l == 0 {
        return 0;
    }
    let held = |&start: &Option<i64>| {
        let left: Vec<_> = values.iter().copied().filter(|&own| !holds(start, own)).collect();
        (values.len() - left.len()) as u64 + most_held(&left, holds, l - 1)
    };
    values.iter().map(held).max().unwrap_or(0)
}
