//! Which numbers count as nearly the same, and how many people of a group can a few intervals of them hold?
//!
//! Mathematics 10. The values of a column are put in order; a place is a position in this order. What a window of the
//! width of the rule can hold is a run of places, and a value that is no number is a run of its own. From here on only
//! places and counts matter.
//!
//! **Only windows that lie in no other one are targets.** Let W be contained in W'. In every group W' holds at least as
//! many people, and together with the windows that are ruled out it leaves at most as many. So T, V and all five
//! statistics of W' are at most those of W, and its breach is at least that of W.
//!
//! **What l windows hold outside W.** A ruled out window that overlaps W counts with what it holds outside W: the values
//! on one side of W, which a window that ends just before W (or begins just after it) holds too. So the most people
//! outside W that l windows hold is the largest sum of j windows left of W and l - j right of it. Both are found for all
//! W at once by dynamic programming: of the first i values, j windows hold either the most without the last value, or the
//! widest window that ends there and the most that j - 1 windows hold before it.
//!
//! Memory: O(values) for the places; for a group O(its values x l), with l at most [`MOST_LAYERS`].

use super::shape::Outline;
use crate::math::exact::{Rational, parse_fraction};
use std::fmt;
use std::ops::Range;

/// How wide a window is: from its lowest to its highest value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Within {
    /// Numbers that differ by at most this much.
    Absolute(Rational),
    /// Numbers with the same sign that differ by at most this share of the one nearer to 0.
    Relative(Rational),
}

impl Within {
    /// Reads `1000`, `0.5`, `1/2` or `5%`; `None` if it is something else or negative.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, is_share) = match text.trim().strip_suffix('%') {
            Some(share) => (share.trim_end(), true),
            None => (text, false),
        };
        let width = parse_fraction(number).filter(|width| *width >= Rational::ZERO)?;
        Some(if is_share { Within::Relative(width / Rational::from(100)) } else { Within::Absolute(width) })
    }

    /// Whether a window holds nothing but equal numbers.
    pub fn is_empty(&self) -> bool {
        let (Within::Absolute(width) | Within::Relative(width)) = self;
        *width == Rational::ZERO
    }

    /// Whether one window holds both of two numbers, the lower one first.
    pub fn holds(&self, low: &Rational, high: &Rational) -> bool {
        match self {
            Within::Absolute(width) => high - low <= *width,
            Within::Relative(share) => {
                let zero = Rational::ZERO;
                let (near, far) = if *low > zero { (low, high) } else { (high, low) };
                let wider = near * (Rational::ONE + share);
                low == high || (*low > zero && *far <= wider) || (*high < zero && *far >= wider)
            }
        }
    }
}

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Within::Absolute(width) => write!(f, "{width}"),
            Within::Relative(share) => write!(f, "{}%", share * Rational::from(100)),
        }
    }
}

/// A run of places that one window holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The first place.
    pub first: u32,
    /// The last place.
    pub last: u32,
}

/// The values of a column in their order, and what windows of them hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows {
    within: Within,
    /// The code at each place: values that are no numbers, then numbers in ascending order.
    codes: Vec<u32>,
    /// The place of each code; [`ABSENT`] if it does not occur.
    places: Vec<u32>,
    /// For each place the last one that a window holds together with it; ascending.
    reach: Vec<u32>,
    /// The number of values that are no numbers.
    apart: usize,
    /// Whether each number is below 0.
    negative: Vec<bool>,
    /// The windows that lie in no other one; both ends ascend.
    targets: Vec<Window>,
}

/// The place of a code that does not occur.
const ABSENT: u32 = u32::MAX;

impl Windows {
    /// The windows of these values, each with its code; `None` is a value that is no number.
    pub fn new(within: Within, values: impl IntoIterator<Item = (u32, Option<Rational>)>) -> Self {
        let mut sorted: Vec<(Option<Rational>, u32)> =
            values.into_iter().map(|(code, value)| (value, code)).collect();
        sorted.sort();
        let apart = sorted.iter().filter(|(value, _)| value.is_none()).count();
        let mut places = vec![ABSENT; sorted.iter().map(|(_, code)| *code as usize + 1).max().unwrap_or(0)];
        (0u32..).zip(&sorted).for_each(|(place, (_, code))| places[*code as usize] = place);
        let mut reach = Vec::with_capacity(sorted.len());
        let mut last = 0;
        for (place, (low, _)) in sorted.iter().enumerate() {
            last = last.max(place);
            while let (Some(low), Some((Some(next), _))) = (low, sorted.get(last + 1))
                && within.holds(low, next)
            {
                last += 1;
            }
            reach.push(last as u32);
        }
        let is_target = |place: &usize| *place == 0 || reach[*place] > reach[place - 1];
        let window = |place: usize| Window { first: place as u32, last: reach[place] };
        let targets = (0..reach.len()).filter(is_target).map(window).collect();
        let negative =
            sorted.iter().flat_map(|(value, _)| value).map(|value| *value < Rational::ZERO).collect();
        let codes = sorted.into_iter().map(|(_, code)| code).collect();
        Windows { within, codes, places, reach, apart, negative, targets }
    }

    /// The rule.
    pub fn within(&self) -> &Within {
        &self.within
    }

    /// The windows that lie in no other one, in ascending order.
    pub fn targets(&self) -> &[Window] {
        &self.targets
    }

    /// The window that starts at a value: upwards, or away from 0 if its width is relative; `None` if the value does not
    /// occur.
    pub fn starting_at(&self, code: u32) -> Option<Window> {
        let place = *self.places.get(code as usize).filter(|place| **place != ABSENT)?;
        let number = (place as usize).checked_sub(self.apart);
        let downwards =
            matches!(self.within, Within::Relative(_)) && number.is_some_and(|i| self.negative[i]);
        Some(match downwards {
            true => Window { first: self.reach.partition_point(|&last| last < place) as u32, last: place },
            false => Window { first: place, last: self.reach[place as usize] },
        })
    }

    /// The same values with only this window as a target.
    pub fn only(self, window: Window) -> Self {
        Windows { targets: vec![window], ..self }
    }

    /// The codes of the first and the last value that a window holds.
    pub fn ends(&self, window: Window) -> (u32, u32) {
        (self.codes[window.first as usize], self.codes[window.last as usize])
    }

    /// Whether a window holds a value.
    pub fn holds(&self, window: Window, code: u32) -> bool {
        self.places.get(code as usize).is_some_and(|place| (window.first..=window.last).contains(place))
    }
}

/// More windows than this are not placed one by one: see [`NearGroup::outlines`].
pub const MOST_LAYERS: usize = 64;

/// One group in the order of its values; reused from group to group.
#[derive(Debug, Clone, Default)]
pub struct NearGroup {
    /// People.
    pub people: u64,
    /// The places that occur, ascending.
    places: Vec<u32>,
    /// `sums[i]` people have one of the first i values.
    sums: Vec<u64>,
    /// For each value, the first one that the widest window ending there holds, and the last one that the widest window
    /// starting there holds.
    back: Vec<usize>,
    ahead: Vec<usize>,
    /// The numbers of windows that were placed: 0 to `layers`.
    layers: usize,
    /// `left[j][i]`: the most people that j windows hold among the first i values; `right[j][i]`: from value i on.
    left: Vec<Vec<u64>>,
    right: Vec<Vec<u64>>,
    /// Gathers the values.
    counts: Vec<(u32, u64)>,
    /// Whether somebody has a value of which the windows know nothing, so that nothing can be said of the group.
    is_foreign: bool,
}

impl NearGroup {
    /// Reads a group: its people and how many of them have each value, by code.
    pub fn read(&mut self, windows: &Windows, people: u64, counts: impl IntoIterator<Item = (u32, u64)>) {
        let mut own = std::mem::take(&mut self.counts);
        own.clear();
        own.extend(
            counts
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(code, count)| (windows.places.get(code as usize).copied().unwrap_or(ABSENT), count)),
        );
        own.sort_unstable();
        self.is_foreign = own.last().is_some_and(|(place, _)| *place == ABSENT);
        self.people = people;
        self.places.clear();
        self.sums.clear();
        self.sums.push(0);
        let mut sum = 0u64;
        for &(place, count) in &own {
            sum = sum.saturating_add(count);
            self.places.push(place);
            self.sums.push(sum);
        }
        self.counts = own;
        let reach = |i: usize| windows.reach.get(self.places[i] as usize).copied().unwrap_or(self.places[i]);
        let values = self.places.len();
        self.back.clear();
        self.ahead.clear();
        let (mut first, mut last) = (0, 0);
        for i in 0..values {
            while reach(first) < self.places[i] {
                first += 1;
            }
            last = last.max(i);
            while last + 1 < values && reach(i) >= self.places[last + 1] {
                last += 1;
            }
            self.back.push(first);
            self.ahead.push(last);
        }
        self.layers = 0;
        for side in [&mut self.left, &mut self.right] {
            side.resize_with(side.len().max(1), Vec::new);
            side[0].clear();
            side[0].resize(values + 1, 0);
        }
    }

    /// Prepares [`NearGroup::outlines`] for up to `l` windows.
    pub fn place_windows(&mut self, l: u64) {
        let values = self.places.len();
        let wanted = usize::try_from(l).unwrap_or(usize::MAX).min(MOST_LAYERS);
        // More windows than hold everybody change nothing.
        while self.layers < wanted && self.left[self.layers][values] < self.sums[values] {
            let j = self.layers + 1;
            for side in [&mut self.left, &mut self.right] {
                side.resize_with(side.len().max(j + 1), Vec::new);
            }
            let mut left = std::mem::take(&mut self.left[j]);
            left.clear();
            left.push(0);
            for i in 0..values {
                let first = self.back[i];
                let with = self.left[j - 1][first] + (self.sums[i + 1] - self.sums[first]);
                left.push(with.max(left[i]));
            }
            self.left[j] = left;
            let mut right = std::mem::take(&mut self.right[j]);
            right.clear();
            right.resize(values + 1, 0);
            for i in (0..values).rev() {
                let end = self.ahead[i] + 1;
                let with = self.right[j - 1][end] + (self.sums[end] - self.sums[i]);
                right[i] = with.max(right[i + 1]);
            }
            self.right[j] = right;
            self.layers = j;
        }
    }

    /// The values of the group that a window holds, as a range of them.
    fn range(&self, window: Window) -> (usize, usize) {
        let first = self.places.partition_point(|&place| place < window.first);
        (first, self.places.partition_point(|&place| place <= window.last))
    }

    /// People of the group in a window.
    #[cfg(test)]
    pub fn inside(&self, window: Window) -> u64 {
        let (first, end) = self.range(window);
        self.sums[end] - self.sums[first]
    }

    /// What [`NearGroup::outlines`] finds for one window.
    #[cfg(test)]
    pub fn ruled_out(&self, window: Window, l: u64) -> u64 {
        self.ruled_out_beside(self.range(window), l)
    }

    /// The most people outside a window that `l` windows can hold, or a bound above it; after
    /// [`NearGroup::place_windows`]. The window holds this range of the values.
    ///
    /// Exact up to [`MOST_LAYERS`] windows. Of l windows, give each person to one that holds them: the 64 that have the
    /// most people have at least 64/l of them all, so l windows hold at most l/64 of what 64 can hold.
    fn ruled_out_beside(&self, (first, end): (usize, usize), l: u64) -> u64 {
        let values = self.places.len();
        let outside = self.sums[values] - (self.sums[end] - self.sums[first]);
        let placed = self.layers.min(usize::try_from(l).unwrap_or(usize::MAX));
        let most = (0..=placed).map(|j| self.left[j][first] + self.right[placed - j][end]).max().unwrap_or(0);
        if l <= placed as u64 {
            return most;
        }
        if self.left[self.layers][values] == self.sums[values] {
            return outside;
        }
        let scaled = u128::from(most) * u128::from(l) / placed.max(1) as u128;
        u64::try_from(scaled).unwrap_or(u64::MAX).min(outside)
    }

    /// The windows among `targets` that hold somebody of the group, in runs of windows that hold the same values of it:
    /// each run with the people inside, and the range of values.
    fn runs<'a>(&'a self, targets: &'a [Window]) -> impl Iterator<Item = Run> + 'a {
        let mut next = 0;
        let (mut first, mut end) = (0, 0);
        std::iter::from_fn(move || {
            loop {
                let window = targets.get(next)?;
                while first < self.places.len() && self.places[first] < window.first {
                    first += 1;
                }
                while end < self.places.len() && self.places[end] <= window.last {
                    end += 1;
                }
                let start = next;
                // Both ends ascend: the run ends where the next value leaves or enters.
                let leaves = self.places.get(first).copied().unwrap_or(ABSENT);
                let enters = self.places.get(end).copied().unwrap_or(ABSENT);
                next = start
                    + 1
                    + targets[start + 1..].partition_point(|w| w.first <= leaves && w.last < enters);
                if first < end {
                    let inside = self.sums[end] - self.sums[first];
                    return Some(Run { windows: start..next, values: (first, end), inside });
                }
            }
        })
    }

    /// For every target that holds somebody of the group, what decides about it if `l` windows are ruled out; in runs of
    /// consecutive targets, ascending. O(values of the group x (l + log(targets))).
    pub fn outlines(&mut self, windows: &Windows, l: u64, mut each: impl FnMut(Range<usize>, Outline)) {
        self.place_windows(l);
        for Run { windows, values, inside } in self.runs(&windows.targets) {
            let top_sum = self.ruled_out_beside(values, l);
            each(windows, Outline { people: self.people, target: inside, top_sum });
        }
    }

    /// For every target that holds somebody of the group, counts that stand for the group whatever the number of ruled
    /// out windows: the people inside, and then as many as each further window adds, or more.
    ///
    /// Sorted by size, the first l of these counts are at least what l windows hold.
    pub fn ranked(&mut self, windows: &Windows, mut each: impl FnMut(Range<usize>, u64, &[u64])) {
        self.place_windows(u64::MAX);
        let mut counts = Vec::new();
        let all = self.sums[self.places.len()];
        for Run { windows, values, inside } in self.runs(&windows.targets) {
            counts.clear();
            counts.push(inside);
            let mut sum = 0;
            for l in 1..=self.layers as u64 {
                let more = self.ruled_out_beside(values, l);
                counts.push(more - sum);
                sum = more;
            }
            // Beyond the windows that are placed one by one, each adds at most the average of those.
            let average = sum.div_ceil(MOST_LAYERS as u64).max(1);
            while sum < all - inside {
                let more = average.min(all - inside - sum);
                counts.push(more);
                sum += more;
            }
            each(windows, inside, &counts);
        }
    }

    /// Whether somebody has a value of which the windows know nothing: then nothing can be said of the group.
    pub fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// The windows that hold the most people outside a window, `l` at most, as ranges of places. What lies inside the
    /// window does not count.
    pub fn widest_outside(&mut self, window: Window, l: u64) -> Vec<Window> {
        self.place_windows(l);
        let (start, end) = self.range(window);
        let placed = self.layers.min(usize::try_from(l).unwrap_or(usize::MAX));
        let most = (0..=placed).max_by_key(|&j| self.left[j][start] + self.right[placed - j][end]);
        let (left, right) = (most.unwrap_or(0), placed - most.unwrap_or(0));
        let mut found = Vec::new();
        let (mut j, mut i) = (left, start);
        while j > 0 && i > 0 {
            if self.left[j][i] == self.left[j][i - 1] {
                i -= 1;
                continue;
            }
            let first = self.back[i - 1];
            found.push(Window { first: self.places[first], last: self.places[i - 1] });
            (i, j) = (first, j - 1);
        }
        let (mut j, mut i) = (right, end);
        while j > 0 && i < self.places.len() {
            if self.right[j][i] == self.right[j][i + 1] {
                i += 1;
                continue;
            }
            let last = self.ahead[i];
            found.push(Window { first: self.places[i], last: self.places[last] });
            (i, j) = (last + 1, j - 1);
        }
        found
    }
}

/// Consecutive targets that hold the same values of a group.
struct Run {
    windows: Range<usize>,
    values: (usize, usize),
    inside: u64,
}
