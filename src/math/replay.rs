//! What does somebody learn who knows which arrangements of a group's values are possible?
//!
//! A predicate says which arrangements a replay of the algorithm leaves. All of them are tried where they are few;
//! otherwise some are drawn, and Hoeffding's inequality says how far the shares can be from those found. A sample never
//! proves that somebody is safe.
//!
//! Memory: 8 bytes per person and value of the group.

use super::exact::Rational;
use super::random::Random;

/// How arrangements are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayEffort {
    /// Groups with at most so many arrangements are enumerated.
    pub enumerated: u64,
    /// So many are drawn otherwise.
    pub drawn: u64,
    /// The chance that any interval of the whole attack is wrong is at most one in so many.
    pub odds: u64,
}

/// Values that are protected, values that can be ruled out, and how sure somebody must not become.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayPoint {
    /// By code of the value.
    pub protected: Vec<bool>,
    /// How many values can be ruled out.
    pub l: usize,
    /// The confidence.
    pub confidence: Rational,
}

/// The arrangements that a replay leaves, counted per person and value.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedGroup {
    /// The values of the group.
    codes: Vec<u16>,
    values: usize,
    /// How often each person had each value.
    counts: Vec<u64>,
    /// Arrangements that were tried.
    pub tried: u64,
    /// Those that the replay leaves.
    pub left: u64,
    /// Whether all were tried.
    pub exhaustive: bool,
}

/// How many people reach a confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reached {
    /// Certainly, or as surely as the intervals are right.
    pub surely: u64,
    /// By the shares that were found.
    pub estimated: u64,
    /// At most.
    pub at_most: u64,
}

impl Reached {
    /// Adds the people of another group.
    pub fn add(&mut self, other: Reached) {
        self.surely += other.surely;
        self.estimated += other.estimated;
        self.at_most += other.at_most;
    }
}

impl ReplayedGroup {
    /// Tries the arrangements of the values of some groups, each within its group; `possible` says which of them, one group
    /// after the other, the replay leaves.
    pub fn new(
        groups: &[Vec<u16>],
        values: usize,
        effort: &ReplayEffort,
        random: &mut Random,
        mut possible: impl FnMut(&[u16]) -> bool,
    ) -> Self {
        let mut groups = groups.to_vec();
        groups.iter_mut().for_each(|codes| codes.sort_unstable());
        let all = groups
            .iter()
            .try_fold(1u64, |all, codes| arrangements(codes).and_then(|own| own.checked_mul(all)));
        let exhaustive = all.is_some_and(|all| all <= effort.enumerated);
        let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
        let codes = groups.concat();
        let mut group = ReplayedGroup {
            counts: vec![0; codes.len() * values],
            codes,
            values,
            tried: 0,
            left: 0,
            exhaustive,
        };
        let mut arranged = group.codes.clone();
        match exhaustive {
            true => loop {
                group.see(&arranged, possible(&arranged));
                if !next_of_groups(&mut arranged, &sizes) {
                    break;
                }
            },
            false => {
                for _ in 0..effort.drawn {
                    in_groups(&mut arranged, &sizes).for_each(|own| shuffle(own, random));
                    group.see(&arranged, possible(&arranged));
                }
            }
        }
        group
    }

    fn see(&mut self, arranged: &[u16], possible: bool) {
        self.tried += 1;
        self.left += u64::from(possible);
        if possible {
            for (person, &code) in arranged.iter().enumerate() {
                self.counts[person * self.values + usize::from(code)] += 1;
            }
        }
    }

    /// Whether the replay rules anything out that was tried.
    pub fn tells_something(&self) -> bool {
        self.left < self.tried
    }

    /// How many people reach one of the points; `tests` is the number of intervals of the whole attack.
    pub fn reached(&self, points: &[ReplayPoint], effort: &ReplayEffort, tests: f64) -> Reached {
        let people = self.codes.len();
        // As far as the shares that were found may be from the true ones.
        let radius = match (self.exhaustive, self.left) {
            (true, _) => 0.0,
            (false, 0) => 1.0,
            (false, left) => ((2.0 * tests * effort.odds as f64).ln() / (2.0 * left as f64)).sqrt(),
        };
        let mut reached = Reached::default();
        for person in 0..people {
            let own = &self.counts[person * self.values..(person + 1) * self.values];
            let reaches = |slack: f64| points.iter().any(|point| self.reaches(own, point, slack));
            reached.surely += u64::from(reaches(-radius));
            reached.estimated += u64::from(reaches(0.0));
            reached.at_most += u64::from(reaches(radius));
        }
        reached
    }

    /// Whether share + confidence x (the l largest other shares) + slack reaches the confidence for some protected value.
    fn reaches(&self, own: &[u64], point: &ReplayPoint, slack: f64) -> bool {
        let mut order: Vec<usize> = (0..self.values).collect();
        order.sort_by_key(|&value| std::cmp::Reverse(own[value]));
        (0..self.values).filter(|&value| point.protected[value] && own[value] > 0).any(|value| {
            let others = order.iter().filter(|&&other| other != value).take(point.l);
            let negated: u64 = others.map(|&other| own[other]).sum();
            if slack == 0.0 {
                let reached = Rational::from(own[value]) + &point.confidence * Rational::from(negated);
                return reached >= &point.confidence * Rational::from(self.left);
            }
            let confidence = point.confidence.to_f64().value();
            let mean = (own[value] as f64 + confidence * negated as f64) / self.left.max(1) as f64;
            mean + slack >= confidence
        }) || (slack > 0.0 && self.left == 0)
    }

    /// People who have the same value in every arrangement that is left; an estimate unless all were tried.
    pub fn certain(&self) -> u64 {
        let certain = |person: &usize| {
            let own = &self.counts[person * self.values..(person + 1) * self.values];
            self.left > 0 && own.contains(&self.left)
        };
        (0..self.codes.len()).filter(certain).count() as u64
    }
}

/// How many different arrangements these values have; `None` if there are too many for 64 bits.
fn arrangements(sorted: &[u16]) -> Option<u64> {
    let (mut ways, mut people) = (1u128, 0u128);
    for same in sorted.chunk_by(|a, b| a == b) {
        for place in 1..=same.len() as u128 {
            people += 1;
            ways = ways.checked_mul(people)? / place;
        }
    }
    u64::try_from(ways).ok()
}

/// The codes of each group.
fn in_groups<'a>(codes: &'a mut [u16], sizes: &'a [usize]) -> impl Iterator<Item = &'a mut [u16]> {
    let mut rest = codes;
    sizes.iter().map(move |&size| {
        let (own, later) = std::mem::take(&mut rest).split_at_mut(size);
        rest = later;
        own
    })
}

fn shuffle(codes: &mut [u16], random: &mut Random) {
    for last in (1..codes.len()).rev() {
        codes.swap(last, random.below_unbiased(last as u64 + 1) as usize);
    }
}

/// The next arrangement of the groups, of which the first changes fastest; false after the last one.
fn next_of_groups(codes: &mut [u16], sizes: &[usize]) -> bool {
    for own in in_groups(codes, sizes) {
        if next_arrangement(own) {
            return true;
        }
        own.sort_unstable();
    }
    false
}

/// The next arrangement in the order of codes; false after the last one.
fn next_arrangement(codes: &mut [u16]) -> bool {
    let Some(rises) = codes.windows(2).rposition(|pair| pair[0] < pair[1]) else { return false };
    let larger = (rises + 1..codes.len()).rev().find(|&at| codes[at] > codes[rises]).unwrap_or(rises);
    codes.swap(rises, larger);
    codes[rises + 1..].reverse();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;

    const EFFORT: ReplayEffort = ReplayEffort { enumerated: 1_000, drawn: 20_000, odds: 20 };

    fn point(l: usize, confidence: Rational) -> ReplayPoint {
        ReplayPoint { protected: vec![true; 3], l, confidence }
    }

    #[test]
    fn every_arrangement_is_tried_once_where_they_are_few() {
        let mut seen = std::collections::BTreeSet::new();
        let mut random = Random::new(1);
        let group = ReplayedGroup::new(&[vec![1, 0, 2, 0, 1]], 3, &EFFORT, &mut random, |codes| {
            assert!(seen.insert(codes.to_vec()));
            codes[0] == codes[1]
        });
        assert_eq!((seen.len(), group.tried, group.left, group.exhaustive), (30, 30, 6, true));
        // The first two have one of two values, the others each value equally often.
        let reached = |l, confidence| group.reached(&[point(l, confidence)], &EFFORT, 1.0);
        assert_eq!(reached(0, ratio(1, 2)), Reached { surely: 2, estimated: 2, at_most: 2 });
        assert_eq!(reached(0, ratio(2, 3)), Reached::default());
        assert_eq!(reached(1, ratio(2, 3)).surely, 2);
        assert_eq!(reached(1, ratio(1, 2)).surely, 5);
        assert_eq!((group.certain(), group.tells_something()), (0, true));
        let sure = ReplayedGroup::new(&[vec![0, 0, 1]], 2, &EFFORT, &mut random, |codes| codes[2] == 1);
        assert_eq!((sure.certain(), sure.left), (3, 1));
    }

    #[test]
    fn values_stay_in_their_groups() {
        let groups = [vec![1, 0, 0], vec![2, 1]];
        let fits = |codes: &[u16]| {
            let [mut first, mut second] = [&codes[..3], &codes[3..]].map(<[u16]>::to_vec);
            first.sort_unstable();
            second.sort_unstable();
            (first, second) == (vec![0, 0, 1], vec![1, 2])
        };
        let mut seen = std::collections::BTreeSet::new();
        let mut random = Random::new(3);
        let all = ReplayedGroup::new(&groups, 3, &EFFORT, &mut random, |codes| {
            assert!(seen.insert(codes.to_vec()) && fits(codes));
            codes[2] == codes[3]
        });
        assert_eq!((all.tried, all.left, all.exhaustive), (6, 1, true));
        let drawn = ReplayEffort { enumerated: 5, ..EFFORT };
        let some = ReplayedGroup::new(&groups, 3, &drawn, &mut random, |codes| {
            assert!(fits(codes));
            codes[2] == codes[3]
        });
        assert!(!some.exhaustive && (some.left as f64 / some.tried as f64 - 1.0 / 6.0).abs() < 0.02);
    }

    #[test]
    fn what_is_drawn_comes_with_an_interval_that_holds() {
        let codes = [(0..20).map(|person| person % 3).collect::<Vec<u16>>()];
        let mut random = Random::new(2);
        let group = ReplayedGroup::new(&codes, 3, &EFFORT, &mut random, |codes| codes[0] == codes[1]);
        assert!(!group.exhaustive && group.left > 3_000);
        // Everybody has each value with about a third.
        let at = |confidence| group.reached(&[point(0, confidence)], &EFFORT, 60.0);
        assert_eq!(at(ratio(1, 2)), Reached::default());
        assert_eq!(at(ratio(1, 4)), Reached { surely: 20, estimated: 20, at_most: 20 });
        let near = at(ratio(36, 100));
        assert!(near.surely == 0 && near.at_most == 20, "{near:?}");
        // Nothing drawn is left: nothing is known.
        let none = ReplayedGroup::new(&codes, 3, &EFFORT, &mut random, |_| false);
        assert_eq!(
            none.reached(&[point(0, ratio(1, 2))], &EFFORT, 60.0),
            Reached { surely: 0, estimated: 0, at_most: 20 }
        );
    }
}
