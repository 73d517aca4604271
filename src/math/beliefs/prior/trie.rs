//! The prior over the pairs (prefix of a person, suffix of rows) that occur.
//!
//! After j columns are contracted for the people with one prefix, the rows are reduced to their suffixes,
//! each with a weighted sum per sensitive value. People are visited as a tree of prefixes, so only one such
//! state per column is alive. Rows outside the support of a prefix are never carried along.
//!
//! Memory: shared, 8 B per distinct suffix and 4 B per combination; per slice at most
//! 16 x (1 + values, rounded up to 4) B per distinct suffix, summed over the columns.
//! Invariant: suffixes of a level are numbered in ascending order of their first code, then the rest.

use std::ops::Range;

use super::layout::{PeopleSlice, PriorLayout};
use super::pairs::normalise;
use crate::math::beliefs::combinations::Combinations;
use crate::math::beliefs::kernel::Kernel;

pub(super) struct Trie {
    /// For j = 1, 2, ..: the distinct suffixes after j columns, the last being the empty one.
    levels: Vec<Level>,
    /// The suffix after one column of each combination, by position.
    first: Vec<u32>,
}

struct Level {
    /// The first code and the remaining suffix (a number of the next level) of each suffix.
    heads: Vec<u32>,
    tails: Vec<u32>,
}

#[derive(Default)]
pub(super) struct TrieScratch {
    states: Vec<State>,
}

/// The rows that remain for one prefix of a person.
#[derive(Default)]
struct State {
    /// The suffixes that are present, with the position of their sums in the lower half; sorted by suffix.
    present: Vec<u64>,
    sums: Vec<f64>,
    /// The sums of the next state that all its people share: everything, weighted by the kernel's floor.
    shared: Vec<f64>,
    /// The place of each suffix, or ABSENT.
    places: Vec<u32>,
    /// Runs of suffixes with one first code.
    runs: Vec<(u32, Range<u32>)>,
}

const ABSENT: u32 = u32::MAX;
/// Sums are padded to whole vector registers, so that adding them needs no remainder loop.
const LANES: usize = 4;

/// target += weight x source, both padded.
#[inline]
fn add(target: &mut [f64], source: &[f64], weight: f64) {
    let (target, _) = target.as_chunks_mut::<LANES>();
    let (source, _) = source.as_chunks::<LANES>();
    for (target, source) in target.iter_mut().zip(source) {
        for lane in 0..LANES {
            target[lane] += weight * source[lane];
        }
    }
}

impl Trie {
    pub fn new(combinations: &Combinations, layout: &PriorLayout) -> Self {
        let count = combinations.len();
        let mut suffixes = vec![0u32; count];
        let mut levels = vec![Level { heads: Vec::new(), tails: vec![0] }];
        for j in (1..layout.columns.len()).rev() {
            let pair = |position: usize| {
                u64::from(layout.code(combinations, position as u32, j)) << 32 | u64::from(suffixes[position])
            };
            let pairs: Vec<u64> = (0..count).map(pair).collect();
            let mut distinct = pairs.clone();
            distinct.sort_unstable();
            distinct.dedup();
            for (suffix, pair) in suffixes.iter_mut().zip(&pairs) {
                *suffix = distinct.partition_point(|other| other < pair) as u32;
            }
            let heads = distinct.iter().map(|pair| (pair >> 32) as u32).collect();
            levels.push(Level { heads, tails: distinct.iter().map(|pair| *pair as u32).collect() });
        }
        levels.reverse();
        Trie { levels, first: suffixes }
    }

    /// The maximum number of bytes in the scratch memory of a slice.
    pub fn bytes(&self, values: usize) -> u64 {
        let suffixes: usize = self.sizes().sum();
        suffixes as u64 * (16 + 16 * values.next_multiple_of(LANES) as u64)
    }

    /// The number of distinct suffixes after j = 1, 2, .. columns.
    pub fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        self.levels.iter().map(|level| level.tails.len())
    }

    pub fn run(
        &self,
        (combinations, kernels, layout): (&Combinations, &[Kernel], &PriorLayout),
        slice: &PeopleSlice,
        scratch: &mut TrieScratch,
        emit: impl FnMut(usize, &[f64]),
    ) {
        let fits = |state: &State, level: &Level| state.places.len() == level.tails.len();
        if scratch.states.len() != self.levels.len()
            || !scratch.states.iter().zip(&self.levels).all(|(state, level)| fits(state, level))
        {
            let state = |level: &Level| State { places: vec![ABSENT; level.tails.len()], ..State::default() };
            scratch.states = self.levels.iter().map(state).collect();
        }
        let width = combinations.values().next_multiple_of(LANES);
        let state = &mut scratch.states[0];
        state.clear();
        let kernel = &kernels[layout.columns[0]];
        let person = layout.code(combinations, slice.people.start, 0);
        for PeopleSlice { people: rows, .. } in layout.block(slice) {
            let code = layout.code(combinations, rows.start, 0);
            let weight = kernel.weight(person, code);
            if weight > 0.0 {
                for row in rows.clone() {
                    let sums = state.at(self.first[row as usize], width);
                    for (value, count) in combinations.histogram(layout.order[row as usize] as usize) {
                        sums[value as usize] += weight * count as f64;
                    }
                }
            }
        }
        let mut walk = Walk { combinations, kernels, layout, levels: &self.levels, emit };
        walk.descend(0, slice.people.clone(), &mut scratch.states);
    }
}

struct Walk<'a, E> {
    combinations: &'a Combinations,
    kernels: &'a [Kernel],
    layout: &'a PriorLayout,
    levels: &'a [Level],
    emit: E,
}

impl<E: FnMut(usize, &[f64])> Walk<'_, E> {
    /// Contracts the columns after `depth` + 1 for people who share the columns up to there.
    fn descend(&mut self, depth: usize, people: Range<u32>, states: &mut [State]) {
        let Some((state, rest)) = states.split_first_mut() else { return };
        let values = self.combinations.values();
        let width = values.next_multiple_of(LANES);
        if rest.is_empty() {
            let prior = &mut state.sums[..values];
            normalise(prior);
            (self.emit)(self.layout.order[people.start as usize] as usize, prior);
            return;
        }
        let level = &self.levels[depth];
        state.sort(&level.heads);
        let kernel = &self.kernels[self.layout.columns[depth + 1]];
        let floor = if people.len() > 1 { kernel.floor() } else { 0.0 };
        if floor > 0.0 {
            rest[0].clear();
            for present in &state.present {
                rest[0].add(level, *present, &state.sums, floor, width);
            }
            state.shared.clone_from(&rest[0].sums);
        }
        for (person, people) in self.layout.runs(self.combinations, people, depth + 1) {
            let next = &mut rest[0];
            // With a floor every suffix is already in its place, and only the sums are reset.
            if floor > 0.0 {
                next.sums.copy_from_slice(&state.shared)
            } else {
                next.clear()
            }
            for (code, run) in &state.runs {
                let above = if floor > 0.0 {
                    kernel.above_floor(person, *code)
                } else {
                    kernel.weight(person, *code)
                };
                if above > 0.0 {
                    for present in &state.present[run.start as usize..run.end as usize] {
                        next.add(level, *present, &state.sums, above, width);
                    }
                }
            }
            self.descend(depth + 1, people, rest);
        }
    }
}

impl State {
    fn clear(&mut self) {
        for present in self.present.drain(..) {
            self.places[(present >> 32) as usize] = ABSENT;
        }
        self.sums.clear();
    }

    /// Adds the sums of a suffix of the previous state to those of its tail here.
    #[inline]
    fn add(&mut self, level: &Level, present: u64, sums: &[f64], weight: f64, width: usize) {
        let (suffix, place) = ((present >> 32) as usize, present as u32 as usize);
        add(self.at(level.tails[suffix], width), &sums[place * width..][..width], weight);
    }

    /// The sums of a suffix, zero if it is new.
    fn at(&mut self, suffix: u32, width: usize) -> &mut [f64] {
        let place = &mut self.places[suffix as usize];
        if *place == ABSENT {
            *place = self.present.len() as u32;
            self.present.push(u64::from(suffix) << 32 | u64::from(*place));
            self.sums.resize(self.sums.len() + width, 0.0);
        }
        &mut self.sums[*place as usize * width..][..width]
    }

    /// Sorts by suffix and finds the runs with one first code.
    fn sort(&mut self, heads: &[u32]) {
        self.present.sort();
        self.runs.clear();
        for (index, present) in self.present.iter().enumerate() {
            let code = heads[(present >> 32) as usize];
            match self.runs.last_mut() {
                Some((last, run)) if *last == code => run.end = index as u32 + 1,
                _ => self.runs.push((code, index as u32..index as u32 + 1)),
            }
        }
    }
}
