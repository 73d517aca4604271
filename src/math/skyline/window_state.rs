//! Do all skyline points that protect windows of numbers hold at once?
//!
//! For one window its values count as one, so T, V and the statistics are those of single values (mathematics 10).
//! Memory: 16 B per window, and five statistics per point for each window that held somebody. Invariant: the statistics
//! only ever fall.

use std::sync::Arc;

use super::near::{NearGroup, Window, Windows};
use super::point::{Point, without_dominated};
use super::shape::{Outline, Values};
use super::statistics::{Statistics, holds_alone};
use crate::math::confidence::ThresholdVerdict;

/// The statistics of every window that lies in no other one, at every point that is not dominated.
#[derive(Debug, Clone)]
pub struct WindowState {
    windows: Arc<Windows>,
    points: Vec<Point>,
    /// By window, then by point; `None` as long as nobody was in the window.
    statistics: Vec<Option<Box<[Statistics]>>>,
    /// No group, by point.
    untouched: Box<[Statistics]>,
    /// Whether a group had a value of which the windows know nothing.
    saw_foreign: bool,
}

impl WindowState {
    /// The same windows and points, with no group yet.
    pub fn afresh(&self) -> Self {
        WindowState::new(self.windows.clone(), &self.points)
    }

    /// With no group yet.
    pub fn new(windows: Arc<Windows>, points: &[Point]) -> Self {
        let points = without_dominated(points);
        let untouched = points.iter().map(|point| Statistics::new(Values::Single, point.knowledge)).collect();
        let statistics = vec![None; windows.targets().len()];
        WindowState { windows, points, statistics, untouched, saw_foreign: false }
    }

    /// The windows.
    pub fn windows(&self) -> &Arc<Windows> {
        &self.windows
    }

    /// Adds a group that was read with the same windows. Returns whether that changed anything.
    pub fn observe(&mut self, group: &mut NearGroup, number: u64) -> bool {
        let mut changed = group.is_foreign() && !self.saw_foreign;
        self.saw_foreign |= group.is_foreign();
        let WindowState { windows, points, statistics, untouched, .. } = self;
        for (i, point) in points.iter().enumerate() {
            group.outlines(windows, point.knowledge.l, |targets, outline| {
                for own in &mut statistics[targets] {
                    let own = own.get_or_insert_with(|| untouched.clone());
                    changed |= own[i].observe_outline(outline, number);
                }
            });
        }
        changed
    }

    /// Adds the statistics of other groups, gathered with the same windows and points.
    pub fn merge(&mut self, other: &WindowState) {
        debug_assert_eq!(self.statistics.len(), other.statistics.len());
        self.saw_foreign |= other.saw_foreign;
        for (own, other) in self.statistics.iter_mut().zip(&other.statistics) {
            match (&mut *own, other) {
                (_, None) => {}
                (None, Some(other)) => *own = Some(other.clone()),
                (Some(own), Some(other)) => {
                    own.iter_mut().zip(other).for_each(|(own, other)| own.merge(other))
                }
            }
        }
    }

    /// Whether everything would still hold with these groups added, given that it holds without them.
    ///
    /// First each group on its own, which is enough without a family and costs O(values of the group); then the windows
    /// whose statistics would fall.
    pub fn admits(&self, groups: &mut [NearGroup]) -> bool {
        if self.saw_foreign || groups.iter().any(NearGroup::is_foreign) {
            return false;
        }
        (0..self.points.len()).all(|i| {
            let point = &self.points[i];
            let mut falling: Vec<(usize, Outline)> = Vec::new();
            for group in groups.iter_mut() {
                let mut holds = true;
                group.outlines(&self.windows, point.knowledge.l, |targets, outline| {
                    holds = holds && holds_alone(outline, point);
                    if holds && point.knowledge.m > 0 {
                        let falls = |target: &usize| self.of(*target, i).would_change_by(outline);
                        falling.extend(targets.filter(falls).map(|target| (target, outline)));
                    }
                });
                if !holds {
                    return false;
                }
            }
            falling.sort_unstable_by_key(|(target, _)| *target);
            falling.chunk_by(|(one, _), (other, _)| one == other).all(|outlines| {
                let mut statistics = self.of(outlines[0].0, i).clone();
                for (_, outline) in outlines {
                    statistics.observe_outline(*outline, 0);
                }
                statistics.verdict(&point.confidence) == ThresholdVerdict::Safe
            })
        })
    }

    fn of(&self, target: usize, point: usize) -> &Statistics {
        &self.statistics[target].as_ref().unwrap_or(&self.untouched)[point]
    }

    /// A lower bound of the people in any group that holds.
    ///
    /// Of a safe group's people at least one is in a window, l can be ruled out (if fewer can, everybody else is ruled
    /// out, and it is not safe), k are known, and more than (1 - c)/c must be left.
    pub fn least_people(&self) -> u64 {
        let least = |point: &Point| {
            let left = (point.confidence.ratio_rounded() * (1.0 - 1e-6)).min(1e9) as u64;
            1 + point.knowledge.l.saturating_add(point.knowledge.k).saturating_add(left)
        };
        self.points.iter().map(least).max().unwrap_or(1)
    }

    /// Every window at every point, in ascending order.
    pub fn entries(&self) -> impl Iterator<Item = (Window, &Point, &Statistics)> {
        let targets = self.windows.targets().iter();
        targets.enumerate().flat_map(move |(target, window)| {
            let points = self.points.iter().enumerate();
            points.map(move |(i, point)| (*window, point, self.of(target, i)))
        })
    }

    /// Whether a group had a value of which the windows know nothing.
    pub fn saw_foreign(&self) -> bool {
        self.saw_foreign
    }

    /// The statistics by point of each window that held somebody, with its place among the windows.
    pub fn touched(&self) -> impl Iterator<Item = (usize, &[Statistics])> {
        self.statistics.iter().enumerate().filter_map(|(place, own)| Some((place, own.as_deref()?)))
    }

    /// The statistics of no group, by point.
    pub fn untouched(&self) -> &[Statistics] {
        &self.untouched
    }

    /// The same windows and points after other groups: what [`WindowState::touched`] and [`WindowState::saw_foreign`]
    /// returned. `None` if there is no such window or point.
    pub fn after(
        &self,
        touched: impl IntoIterator<Item = (usize, Box<[Statistics]>)>,
        saw_foreign: bool,
    ) -> Option<Self> {
        let mut state = WindowState { saw_foreign, ..self.afresh() };
        for (place, own) in touched {
            if own.len() != state.points.len() {
                return None;
            }
            *state.statistics.get_mut(place)? = Some(own);
        }
        Some(state)
    }

    /// Whether a point holds for the groups observed, by its statistics; never if a group could not be understood.
    pub fn verdict(&self, point: &Point, statistics: &Statistics) -> ThresholdVerdict {
        if self.saw_foreign { ThresholdVerdict::Unsafe } else { statistics.verdict(&point.confidence) }
    }

    /// Bytes of evidence for a window that held somebody.
    pub fn bytes_of_window(&self) -> u64 {
        (self.points.len() * size_of::<Statistics>()) as u64
    }

    /// Bytes of evidence.
    pub fn bytes(&self) -> u64 {
        let touched = self.statistics.iter().flatten().count() * self.points.len();
        (self.statistics.len() * 16 + touched * size_of::<Statistics>()) as u64
    }
}
