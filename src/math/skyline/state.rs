//! Do all skyline points of all sensitive values hold at once?
//!
//! Memory: O(target values x skyline points), five statistics each.
//! Invariant: the statistics only ever fall, so a group that was refused stays refused.

use super::group::{RankedGroup, Ranking};
use super::point::{Knowledge, Point, without_dominated};
use super::shape::Values;
use super::size_bars::SizeBars;
use super::statistics::Statistics;
use crate::math::confidence::ThresholdVerdict;
use std::sync::Arc;

/// Which sensitive values a skyline point protects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtectedCodes {
    /// Every value of the sensitive column.
    Every,
    /// The values with these codes.
    These(Vec<u32>),
    /// Every value but those with these codes.
    Except(Vec<u32>),
}

/// One target value at one skyline point, with its statistics so far.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetPoint {
    /// Code of the target value.
    pub code: u32,
    /// The skyline point; the values that it protects share it.
    pub point: Arc<Point>,
    /// The five statistics over the groups observed.
    pub statistics: Statistics,
}

/// How often a value occurs in one of several groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupCount {
    /// Code of the value.
    pub code: u16,
    /// Number of the group.
    pub group: u32,
    /// How often, at least once.
    pub count: u64,
}

impl TargetPoint {
    /// Whether the point would still hold with the groups in which the target occurs.
    fn admits(&self, groups: &[RankedGroup<'_>], counts: &[GroupCount]) -> bool {
        let group = |of: &GroupCount| &groups[of.group as usize];
        let changes = |of: &&GroupCount| self.statistics.would_change(group(of), of.count);
        if !counts.iter().any(|of| changes(&of)) {
            return true;
        }
        let confidence = &self.point.confidence;
        if counts.iter().any(|of| self.statistics.is_breached_by(group(of), of.count, confidence)) {
            return false;
        }
        let mut statistics = self.statistics.clone();
        for of in counts.iter().filter(changes) {
            statistics.observe(group(of), of.count, 0);
        }
        statistics.verdict(confidence) == ThresholdVerdict::Safe
    }

    /// Whether the point holds for the groups observed.
    pub fn verdict(&self) -> ThresholdVerdict {
        self.statistics.verdict(&self.point.confidence)
    }
}

/// The statistics of every target value at every skyline point that is not dominated.
#[derive(Debug, Clone, PartialEq)]
pub struct SkylineState {
    entries: Vec<TargetPoint>,
    /// Where the entries of each code begin, and where the last end.
    starts: Vec<u32>,
    /// None unless each person has a single value.
    bars: SizeBars,
}

impl SkylineState {
    /// For `distinct` sensitive values with codes 0, 1, ...; entries are ordered by code.
    pub fn new(values: Values, distinct: usize, skyline: &[(ProtectedCodes, Point)]) -> Self {
        let protects = |target: &ProtectedCodes, code: u32| match target {
            ProtectedCodes::Every => true,
            ProtectedCodes::These(codes) => codes.contains(&code),
            ProtectedCodes::Except(codes) => !codes.contains(&code),
        };
        let skyline: Vec<(&ProtectedCodes, Arc<Point>)> =
            skyline.iter().map(|(target, point)| (target, Arc::new(point.clone()))).collect();
        let entries = (0..distinct as u32).flat_map(|code| {
            let protecting = skyline.iter().filter(|(target, _)| protects(target, code));
            let points: Vec<Arc<Point>> = protecting.map(|(_, point)| point.clone()).collect();
            without_dominated(&points).into_iter().map(move |point| TargetPoint {
                code,
                statistics: Statistics::new(values, point.knowledge),
                point,
            })
        });
        let entries: Vec<TargetPoint> = entries.collect();
        let bars = match values {
            Values::Single => SizeBars::of_targets(&entries, distinct),
            Values::Set | Values::Multiset => SizeBars::default(),
        };
        let start = |code: usize| entries.partition_point(|entry| (entry.code as usize) < code) as u32;
        let starts = (0..=distinct).map(start).collect();
        SkylineState { entries, starts, bars }
    }

    /// Adds a published group: its people and its count of every sensitive value by code.
    pub fn observe(&mut self, ranking: &mut Ranking, people: u64, counts: &[u64], number: u64) {
        let group = ranking.rank(people, counts.iter().copied());
        let occurring = (0..).zip(counts.iter().copied()).filter(|&(_, count)| count > 0);
        self.observe_group(&group, &occurring.collect::<Vec<_>>(), number);
    }

    /// As [`SkylineState::observe`], for a group that is already ranked; `counts` are the values that occur. Returns
    /// whether a statistic fell.
    pub fn observe_group(&mut self, group: &RankedGroup<'_>, counts: &[(u16, u64)], number: u64) -> bool {
        let mut fell = false;
        for &(code, count) in counts {
            let own = self.entries_of(code);
            for entry in &mut self.entries[own] {
                fell |= entry.statistics.observe(group, count, number);
            }
        }
        fell
    }

    /// The same points, with no group observed.
    pub fn afresh(&self) -> Self {
        let entry = |entry: &TargetPoint| TargetPoint {
            code: entry.code,
            point: entry.point.clone(),
            statistics: Statistics::new(entry.statistics.values(), entry.point.knowledge),
        };
        SkylineState {
            entries: self.entries.iter().map(entry).collect(),
            starts: self.starts.clone(),
            bars: self.bars.clone(),
        }
    }

    fn entries_of(&self, code: u16) -> std::ops::Range<usize> {
        let code = usize::from(code);
        self.starts[code] as usize..self.starts[code + 1] as usize
    }

    /// How many people a group needs at least, given some of them, to hold on its own.
    pub fn size_bars(&self) -> &SizeBars {
        &self.bars
    }

    /// Whether everything would still hold with these groups added, given that it holds without them. `counts` are the
    /// values that occur in them, sorted by code.
    pub fn admits(&self, groups: &[RankedGroup<'_>], counts: &[GroupCount]) -> bool {
        counts.chunk_by(|one, other| one.code == other.code).all(|same| {
            self.entries[self.entries_of(same[0].code)].iter().all(|entry| entry.admits(groups, same))
        })
    }

    /// For every target value that occurs in these groups, how near it is to what its points allow if there are no other
    /// groups; see [`Statistics::excess`]. `counts` as in [`SkylineState::admits`].
    pub fn excesses<'a>(
        &'a self,
        groups: &'a [RankedGroup<'_>],
        counts: &'a [GroupCount],
    ) -> impl Iterator<Item = (&'a TargetPoint, f64)> {
        counts.chunk_by(|one, other| one.code == other.code).flat_map(move |same| {
            self.entries[self.entries_of(same[0].code)].iter().map(move |entry| {
                let mut alone = Statistics::new(entry.statistics.values(), entry.point.knowledge);
                for of in same {
                    alone.observe(&groups[of.group as usize], of.count, 0);
                }
                (entry, alone.excess(&entry.point.confidence))
            })
        })
    }

    /// The different points, in the order of the values that they protect.
    pub fn points(&self) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        for entry in &self.entries {
            if !points.contains(&*entry.point) {
                points.push(Point::clone(&entry.point));
            }
        }
        points
    }

    /// A lower bound of the people in any group that holds, whatever its values; `distinct` values exist.
    ///
    /// Only for single values, where some value occurs in at least a `1 / distinct` share of a group's
    /// people, and the next `l` values account for the same share each: T and V are largest if the values are
    /// spread this evenly. Otherwise, and for points that protect only some values, the answer is 1.
    pub fn least_people(&self, distinct: usize) -> u64 {
        let mut protected =
            hashbrown::HashMap::<Knowledge, (usize, f64), foldhash::fast::FixedState>::default();
        for entry in self.entries.iter().filter(|entry| entry.statistics.values() == Values::Single) {
            let ratio = entry.point.confidence.ratio_rounded();
            let (values, least) = protected.entry(entry.point.knowledge).or_insert((0, ratio));
            *values += 1;
            *least = least.min(ratio);
        }
        let of_every_value = protected.iter().filter(|(_, (values, _))| *values == distinct);
        of_every_value.map(|(size, (_, ratio))| least_people(*size, distinct, *ratio)).max().unwrap_or(1)
    }

    /// Every target value at every point that matters, ordered by code.
    pub fn entries(&self) -> &[TargetPoint] {
        &self.entries
    }

    /// Whether every point holds for the groups observed.
    pub fn verdict(&self) -> ThresholdVerdict {
        self.entries.iter().all(|entry| entry.verdict() == ThresholdVerdict::Safe).into()
    }

    /// The bytes that the statistics take, about.
    pub fn bytes(&self) -> u64 {
        // In set mode, each entry has the top counts of five shapes.
        let entry = |entry: &TargetPoint| {
            let top = match entry.statistics.values() {
                Values::Set => entry.point.knowledge.l.min(u64::from(u16::MAX)),
                Values::Single | Values::Multiset => 0,
            };
            size_of::<TargetPoint>() as u64 + 40 * top
        };
        self.entries.iter().map(entry).sum::<u64>() + 4 * self.starts.len() as u64
    }
}

/// The fewest people for whom an even spread over `distinct` values exceeds `ratio`, or fewer.
fn least_people(size: Knowledge, distinct: usize, ratio: f64) -> u64 {
    // More than the roundings of the loop below can add up to.
    const SLACK: f64 = 1e-6;
    const MOST: u64 = 1 << 40;
    let share = 1.0 / distinct as f64;
    let exceeds = |people: u64| {
        let people = people as f64;
        let left = people * (1.0 - share * (size.l as f64 + 1.0)) - size.k as f64;
        let target = people * share;
        let mut best = left / target;
        for i in 0..size.m.min(1000) {
            let asked = people - size.k as f64 - 1.0 - i as f64;
            if asked <= target {
                return false;
            }
            best *= (asked - target) / asked;
        }
        left > 0.0 && best > ratio * (1.0 - SLACK)
    };
    let (mut low, mut high) = (0, MOST);
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if exceeds(middle) { high = middle } else { low = middle }
    }
    if exceeds(high) { high } else { 1 }
}
