//! Do all skyline points of all sensitive values hold at once?
//!
//! Memory: O(target values x skyline points), five statistics each.
//! Invariant: the statistics only ever fall, so a group that was refused stays refused.

use super::group::{Group, Ranking};
use super::point::{Point, without_dominated};
use super::shape::Values;
use super::statistics::{Statistics, Verdict};

/// Which sensitive values a skyline point protects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Every value of the sensitive column.
    Every,
    /// The values with these codes.
    These(Vec<u32>),
}

/// One target value at one skyline point, with its statistics so far.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetPoint {
    /// Code of the target value.
    pub code: u32,
    /// The skyline point.
    pub point: Point,
    /// The five statistics over the groups observed.
    pub statistics: Statistics,
}

impl TargetPoint {
    /// Whether the point holds for the groups observed.
    pub fn verdict(&self) -> Verdict {
        self.statistics.verdict(&self.point.confidence)
    }
}

/// The statistics of every target value at every skyline point that is not dominated.
#[derive(Debug, Clone, PartialEq)]
pub struct SkylineState {
    entries: Vec<TargetPoint>,
}

impl SkylineState {
    /// For `distinct` sensitive values with codes 0, 1, ...; entries are ordered by code.
    pub fn new(values: Values, distinct: usize, skyline: &[(Target, Point)]) -> Self {
        let protects = |target: &Target, code: u32| match target {
            Target::Every => true,
            Target::These(codes) => codes.contains(&code),
        };
        let entries = (0..distinct as u32).flat_map(|code| {
            let points: Vec<Point> = skyline
                .iter()
                .filter(|(target, _)| protects(target, code))
                .map(|(_, point)| point.clone())
                .collect();
            without_dominated(&points).into_iter().map(move |point| TargetPoint {
                code,
                statistics: Statistics::new(values, point.knowledge),
                point,
            })
        });
        SkylineState { entries: entries.collect() }
    }

    /// Takes in a published group: its people and its count of every sensitive value by code.
    pub fn observe(&mut self, ranking: &mut Ranking, people: u64, counts: &[u64], number: u64) {
        let group = ranking.rank(people, counts.iter().copied());
        self.observe_group(&group, counts, number);
    }

    /// As [`SkylineState::observe`], for a group that is ranked already.
    pub fn observe_group(&mut self, group: &Group<'_>, counts: &[u64], number: u64) {
        for entry in &mut self.entries {
            entry.statistics.observe(group, counts[entry.code as usize], number);
        }
    }

    /// Takes in the statistics of other groups, gathered with the same skyline.
    pub fn merge(&mut self, other: &SkylineState) {
        debug_assert_eq!(self.entries.len(), other.entries.len());
        for (own, others) in self.entries.iter_mut().zip(&other.entries) {
            own.statistics.merge(&others.statistics);
        }
    }

    /// Whether everything would still hold with these groups added, given that it holds without them.
    pub fn admits(&self, parts: &[(Group<'_>, &[u64])]) -> bool {
        self.entries.iter().all(|entry| {
            let code = entry.code as usize;
            let changes =
                |(group, counts): &&(Group<'_>, &[u64])| entry.statistics.would_change(group, counts[code]);
            if !parts.iter().any(|part| changes(&part)) {
                return true;
            }
            let mut statistics = entry.statistics.clone();
            for (group, counts) in parts.iter().filter(changes) {
                statistics.observe(group, counts[code], 0);
            }
            statistics.verdict(&entry.point.confidence) == Verdict::Safe
        })
    }

    /// Every target value at every point that matters, ordered by code.
    pub fn entries(&self) -> &[TargetPoint] {
        &self.entries
    }

    /// Whether every point holds for the groups observed.
    pub fn verdict(&self) -> Verdict {
        let all = self.entries.iter().all(|entry| entry.verdict() == Verdict::Safe);
        if all { Verdict::Safe } else { Verdict::Unsafe }
    }
}
