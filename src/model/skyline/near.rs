//! Skyline points that protect windows of numbers: while groups are made, and while they are judged.
//!
//! The windows depend on all values of the table, which are known before the first group is seen.
//! Memory: five statistics for every window and point; see [`WindowState`]. Cost of a test: O(values of the group x l),
//! and for points with a family also O(windows that hold somebody of the group).

use std::sync::Arc;

use super::judge::{breach_claim, read_statistics, write_statistics};
use super::policy::{ProtectedValues, SkylineModel};
use crate::encode::group_counts::Part;
use crate::error::{Error, Result};
use crate::math::confidence::ThresholdVerdict;
use crate::math::exact::{Rational, parse_fraction};
use crate::math::skyline::{
    Confidence, KeptGroups, NearGroup, Point, Ranking, SharedCounts, Statistics, Values, Window, WindowState,
    Windows, Within,
};
use crate::model::counted_group::CountedGroup;
use crate::model::finding::{Claim, ClaimSubject, ClaimVerdict, Datum, Note};
use crate::model::obstacle::{Objection, ObstructingRule};
use crate::model::protection::CodedTarget;
use crate::model::split::{Scratch, SplitTest};
use crate::resources::byte_form::{ByteForm, ByteReader, write_count};

/// A point that protects windows of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct NearPoint {
    /// How wide a window is.
    pub within: Within,
    /// The value at which the only window begins; `None` for every window.
    pub from: Option<String>,
    /// The point.
    pub point: Point,
}

impl SkylineModel {
    /// The points that protect windows.
    pub(in crate::model) fn near_points(&self) -> Result<Vec<NearPoint>> {
        let near = self.points.iter().filter_map(|required| match &required.values {
            ProtectedValues::Near(within) => Some((within.clone(), required)),
            _ => None,
        });
        near.map(|(within, required)| Ok(NearPoint { within, from: None, point: required.point()? }))
            .collect()
    }

    pub(super) fn near_test(&self, coded: &CodedTarget<'_>) -> Result<Option<Box<dyn SplitTest>>> {
        let points = self.near_points()?;
        if points.is_empty() {
            return Ok(None);
        }
        let values = coded.values;
        let null = values.codings.first().and_then(|coding| coding.null_text());
        let texts = (0u32..).zip(values.texts.iter().map(String::as_str));
        let states = states(&points, values.column, texts, null.as_deref())?;
        Ok(Some(Box::new(NearTest { states })))
    }
}

/// The number that a cell holds, exactly; `None` if it holds none.
pub fn number_of_cell(text: &str) -> Option<Rational> {
    if text.contains('/') { None } else { parse_fraction(text) }
}

/// The state before the first group: one for each width, and for each window that is asked for on its own. `values` are
/// the values that occur, with their codes; only `null` may be something other than a number.
pub fn states<'v>(
    points: &[NearPoint],
    column: &str,
    values: impl Iterator<Item = (u32, &'v str)>,
    null: Option<&str>,
) -> Result<Vec<WindowState>> {
    if points.is_empty() {
        return Ok(Vec::new());
    }
    let mut numbers = Vec::new();
    let mut texts = Vec::new();
    for (code, text) in values {
        let number = number_of_cell(text);
        if number.is_none() && null != Some(text) {
            return Err(Error::input(
                format!(
                    "column `{column}` holds a value that is not a finite number, so it lies in no window"
                ),
                "correct it, or leave out within",
            ));
        }
        texts.push((code, text));
        numbers.push((code, number));
    }
    let mut rules: Vec<(&Within, &Option<String>, Vec<Point>)> = Vec::new();
    for NearPoint { within, from, point } in points {
        match rules.iter_mut().find(|(own, start, _)| *own == within && *start == from) {
            Some((.., points)) => points.push(point.clone()),
            None => rules.push((within, from, vec![point.clone()])),
        }
    }
    let state = |(within, from, points): (&Within, &Option<String>, Vec<Point>)| {
        let mut windows = Windows::new(within.clone(), numbers.iter().cloned());
        if let Some(from) = from {
            let own =
                texts.iter().find(|(_, text)| text == from).and_then(|(code, _)| windows.starting_at(*code));
            let own = own.ok_or_else(|| {
                Error::input(
                    format!("column `{column}` does not hold the value {from:?} at which the window begins"),
                    "name a value that occurs",
                )
            })?;
            windows = windows.only(own);
        }
        Ok(WindowState::new(Arc::new(windows), &points))
    };
    rules.into_iter().map(state).collect()
}

/// Windows of numbers as a split test.
struct NearTest {
    states: Vec<WindowState>,
}

impl SplitTest for NearTest {
    fn admits(&self, parts: &[Part], scratch: &mut Scratch) -> bool {
        if parts.iter().any(|part| part.people < self.least_people()) {
            return false;
        }
        scratch.near.resize_with(parts.len().max(scratch.near.len()), NearGroup::default);
        let near = &mut scratch.near[..parts.len()];
        self.states.iter().all(|state| {
            near.iter_mut().zip(parts).for_each(|(near, part)| read(near, state, part));
            state.admits(near)
        })
    }

    fn accept(&mut self, parts: &[Part]) -> bool {
        let (mut near, mut changed) = (NearGroup::default(), false);
        for state in &mut self.states {
            for part in parts {
                read(&mut near, state, part);
                changed |= state.observe(&mut near, 0);
            }
        }
        changed
    }

    fn least_people(&self) -> u64 {
        self.states.iter().map(WindowState::least_people).max().unwrap_or(1)
    }

    fn fork(&self) -> Box<dyn SplitTest> {
        Box::new(NearTest { states: self.states.clone() })
    }

    fn afresh(&self) -> Box<dyn SplitTest> {
        Box::new(NearTest { states: self.states.iter().map(WindowState::afresh).collect() })
    }

    fn bytes(&self) -> u64 {
        self.states.iter().map(WindowState::bytes).sum()
    }

    fn objection(&self, _parts: &[Part], _scratch: &mut Scratch) -> Option<Objection> {
        Some(Objection::at_limit(ObstructingRule::Windows))
    }
}

fn read(near: &mut NearGroup, state: &WindowState, part: &Part) {
    near.read(
        state.windows(),
        part.people,
        part.counts().iter().map(|&(code, count)| (u32::from(code), count)),
    );
}

/// The statistics of every window at every point, and the groups that its knowledge skyline needs.
pub struct NearJudge {
    states: Vec<WindowState>,
    /// By state, then by window; empty if no skyline is wanted.
    kept: Vec<Vec<KeptGroups>>,
    group: NearGroup,
    ranking: Ranking,
}

impl NearJudge {
    /// Nothing observed yet; `skylines` is the confidence of the wanted knowledge skylines.
    pub fn new(states: &[WindowState], skylines: Option<&Confidence>) -> Self {
        let kept = |confidence: &Confidence| {
            let new = |_: &Window| KeptGroups::new(Values::Single, confidence.clone());
            let of = |state: &WindowState| state.windows().targets().iter().map(new).collect();
            states.iter().map(of).collect()
        };
        NearJudge {
            states: states.to_vec(),
            kept: skylines.map_or(Vec::new(), kept),
            group: NearGroup::default(),
            ranking: Ranking::default(),
        }
    }

    /// Adds a group.
    pub fn observe(&mut self, group: &CountedGroup, number: u64) {
        for (i, state) in self.states.iter_mut().enumerate() {
            self.group.read(state.windows(), group.people, group.counts());
            state.observe(&mut self.group, number);
            if let Some(kept) = self.kept.get_mut(i) {
                self.group.ranked(state.windows(), |targets, inside, counts| {
                    let ranked = self.ranking.rank(group.people, counts.iter().copied());
                    let mut shared = SharedCounts::of(&ranked);
                    kept[targets].iter_mut().for_each(|kept| kept.observe(&mut shared, inside));
                });
            }
        }
    }

    /// Adds what another judge of the same windows observed.
    pub fn merge(&mut self, other: NearJudge) {
        self.states.iter_mut().zip(&other.states).for_each(|(own, other)| own.merge(other));
        let kept = self.kept.iter_mut().flatten().zip(other.kept.into_iter().flatten());
        kept.for_each(|(own, other)| own.merge(other));
    }

    /// Appends the evidence, without what knowledge skylines need.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        for state in &self.states {
            state.saw_foreign().write(bytes);
            write_count(state.touched().count(), bytes);
            for (place, statistics) in state.touched() {
                (place as u64).write(bytes);
                statistics.iter().for_each(|own| write_statistics(own, bytes));
            }
        }
    }

    /// Reads the evidence of a judge of the same windows; `states` are those before the first group.
    pub fn read(states: &[WindowState], bytes: &mut ByteReader<'_>) -> Option<Self> {
        let mut read = |state: &WindowState| {
            let saw_foreign = bool::read(bytes)?;
            let mut touched = Vec::new();
            for _ in 0..bytes.count(size_of::<u64>())? {
                let place = usize::try_from(u64::read(bytes)?).ok()?;
                let statistics = state.untouched().iter();
                let statistics: Option<_> =
                    statistics.map(|own| read_statistics(own.values(), own.size(), bytes)).collect();
                touched.push((place, statistics?));
            }
            state.after(touched, saw_foreign)
        };
        let states: Vec<WindowState> = states.iter().map(&mut read).collect::<Option<_>>()?;
        Some(NearJudge { states, ..NearJudge::new(&[], None) })
    }

    /// The groups that the knowledge skylines need, by window.
    pub fn kept(self, names: &[Arc<str>]) -> Vec<(String, KeptGroups)> {
        let of = |(state, kept): (&WindowState, Vec<KeptGroups>)| {
            let name =
                |(window, kept): (&Window, KeptGroups)| (window_name(state.windows(), *window, names), kept);
            state.windows().targets().iter().zip(kept).map(name).collect::<Vec<_>>()
        };
        self.states.iter().zip(self.kept).flat_map(of).collect()
    }

    /// Bytes of evidence.
    pub fn bytes(&self) -> u64 {
        let kept = self.kept.iter().flatten().map(|kept| kept.bytes() + 64).sum::<u64>();
        self.states.iter().map(WindowState::bytes).sum::<u64>() + kept
    }

    /// About the most bytes that a group adds.
    pub fn most_bytes(&self, group: &CountedGroup) -> u64 {
        let of_window: u64 = self.states.iter().map(WindowState::bytes_of_window).sum();
        let kept = self.kept.len() as u64 * KeptGroups::BYTES_OF_GROUP;
        group.distinct() * (of_window + kept)
    }

    /// Every window at every point.
    pub fn evidence(&self) -> impl Iterator<Item = (&Windows, Window, &Statistics)> {
        self.states.iter().flat_map(|state| {
            let windows: &Windows = state.windows();
            state.entries().map(move |(window, _, own)| (windows, window, own))
        })
    }

    /// The findings: a claim for every window and point.
    pub fn finish(&self, names: &[Arc<str>]) -> (Vec<Claim>, Vec<Note>) {
        let (mut claims, mut notes) = (Vec::new(), Vec::new());
        for state in &self.states {
            let own: Vec<Claim> = state
                .entries()
                .map(|(window, point, statistics)| {
                    let subject = ClaimSubject::Window(window_name(state.windows(), window, names));
                    let mut claim = breach_claim(subject, point, statistics);
                    let verdict = state.verdict(point, statistics);
                    claim.verdict = ClaimVerdict::from(verdict == ThresholdVerdict::Safe);
                    claim.knows.push(("within", Datum::Text(state.windows().within().to_string())));
                    claim
                })
                .collect();
            let (all, held) = (own.len(), own.iter().filter(|claim| claim.is_safe()).count());
            let holding = if held == all { format!("all {all}") } else { format!("{held} of {all}") };
            let within = state.windows().within();
            notes.push(Note::Summary(format!("{holding} points for windows within {within} hold")));
            claims.extend(own);
        }
        (claims, notes)
    }
}

/// The lowest and the highest value that a window holds.
pub fn window_name(windows: &Windows, window: Window, names: &[Arc<str>]) -> String {
    let (first, last) = windows.ends(window);
    match first == last {
        true => names[first as usize].to_string(),
        false => format!("{} to {}", names[first as usize], names[last as usize]),
    }
}
