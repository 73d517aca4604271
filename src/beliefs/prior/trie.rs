//! The prior over the pairs (prefix of a person, suffix of rows) that occur.
//!
//! After j columns are contracted for the people with one prefix, what is left of the rows are their
//! suffixes, each with a weighted sum per sensitive value. People are visited as a tree of prefixes, so
//! only one such state per column is alive. Rows outside the support of a prefix are never carried along.
//!
//! Memory: shared, 8 B per distinct suffix and 4 B per combination; per slice at most
//! (12 + 8 x values) B per distinct suffix, summed over the columns, plus 4 B per distinct suffix.
//! Invariant: suffixes of a level are numbered in ascending order of their first code, then the rest.

use std::ops::Range;

use super::grid::add;
use super::layout::{Layout, Slice};
use super::pairs::normalise;
use crate::beliefs::combinations::Combinations;
use crate::beliefs::kernel::Kernel;

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
pub(super) struct Scratch {
    states: Vec<State>,
}

/// What is left of the rows for one prefix of a person.
#[derive(Default)]
struct State {
    /// Suffixes that are present, with the place of their sums in the lower half; sorted by suffix.
    present: Vec<u64>,
    sums: Vec<f64>,
    /// The place of each suffix, or ABSENT.
    places: Vec<u32>,
    /// Runs of suffixes with one first code.
    runs: Vec<(u32, Range<u32>)>,
}

const ABSENT: u32 = u32::MAX;

impl Trie {
    pub fn new(combinations: &Combinations, layout: &Layout) -> Self {
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

    /// The number of distinct suffixes, summed over the columns.
    pub fn suffixes(&self) -> usize {
        self.levels.iter().map(|level| level.tails.len()).sum()
    }

    /// The number of distinct suffixes after j = 1, 2, .. columns.
    pub fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        self.levels.iter().map(|level| level.tails.len())
    }

    pub fn run(
        &self,
        (combinations, kernels, layout): (&Combinations, &[Kernel], &Layout),
        slice: &Slice,
        scratch: &mut Scratch,
        emit: impl FnMut(usize, &[f64]),
    ) {
        if scratch.states.len() != self.levels.len() {
            let states = self.levels.iter();
            scratch.states = states
                .map(|level| State { places: vec![ABSENT; level.tails.len()], ..State::default() })
                .collect();
        }
        let values = combinations.values();
        let state = &mut scratch.states[0];
        state.clear();
        let kernel = &kernels[layout.columns[0]];
        let person = layout.code(combinations, slice.people.start, 0);
        for (code, rows) in layout.runs(combinations, slice.block.clone(), 0) {
            let weight = kernel.weight(person, code);
            if weight > 0.0 {
                for row in rows {
                    let sums = state.at(self.first[row as usize], values);
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
    layout: &'a Layout,
    levels: &'a [Level],
    emit: E,
}

impl<E: FnMut(usize, &[f64])> Walk<'_, E> {
    /// Contracts the columns after `depth` + 1 for people who share the columns up to there.
    fn descend(&mut self, depth: usize, people: Range<u32>, states: &mut [State]) {
        let Some((state, rest)) = states.split_first_mut() else { return };
        let values = self.combinations.values();
        if rest.is_empty() {
            normalise(&mut state.sums);
            (self.emit)(self.layout.order[people.start as usize] as usize, &state.sums);
            return;
        }
        let level = &self.levels[depth];
        state.sort(&level.heads);
        let kernel = &self.kernels[self.layout.columns[depth + 1]];
        for (person, people) in self.layout.runs(self.combinations, people, depth + 1) {
            let next = &mut rest[0];
            next.clear();
            for (code, run) in &state.runs {
                let weight = kernel.weight(person, *code);
                if weight > 0.0 {
                    for present in &state.present[run.start as usize..run.end as usize] {
                        let (suffix, place) = ((present >> 32) as usize, *present as u32 as usize);
                        let sums = &state.sums[place * values..][..values];
                        add(next.at(level.tails[suffix], values), sums, weight);
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

    /// The sums of a suffix, zero if it is new.
    fn at(&mut self, suffix: u32, values: usize) -> &mut [f64] {
        let place = &mut self.places[suffix as usize];
        if *place == ABSENT {
            *place = self.present.len() as u32;
            self.present.push(u64::from(suffix) << 32 | u64::from(*place));
            self.sums.resize(self.sums.len() + values, 0.0);
        }
        &mut self.sums[*place as usize * values..][..values]
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
