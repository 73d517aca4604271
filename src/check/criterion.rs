//! Are the groups seen so far safe?
//!
//! A criterion takes in one counted group after another; two criteria that saw different groups merge, in
//! any order with the same result. Memory: O(values met x points), whatever the number of groups.

use std::collections::HashMap;
use std::sync::Arc;

use super::implications::ImplicationsEvidence;
use super::knowledge::{KnowledgeEvidence, Sought, SoughtCodes};
use super::report::{DisclosureReport, PointReport, ShareReport, Sizes};
use super::shares::{ShareEvidence, ShareRequirement};
use super::values::Codes;
use crate::error::{Error, Result, number_of};
use crate::math::confidence::Confidence;
use crate::math::shares::ShareRule;
use crate::math::skyline::{Point, ProtectedCodes, Ranking, Statistics, Values, Verdict};
use crate::model::beliefs::Question;
use crate::policy::closest;
use crate::resources::budget::{Budget, Reservation};

/// What a table must fulfil.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirements {
    /// Skyline points, each for all sensitive values (`None`) or for those with these names.
    pub skyline: Vec<(Option<Vec<String>>, Point)>,
    /// Knowledge of implications, in place of skyline points.
    pub implications: Option<Implications>,
    /// Criteria of other tools, beside the model.
    pub shares: Vec<ShareRequirement>,
    /// How far beliefs may move. The counts of a table do not tell: it is unsafe until
    /// [`CheckReport::with_beliefs`](super::CheckReport::with_beliefs) says otherwise.
    pub beliefs: Option<Box<Question>>,
    /// People that each group must have at least; 1 always holds.
    pub minimum_group_size: u64,
    /// Different sensitive values that each group must have at least; 0 always holds.
    pub minimum_distinct_values: u64,
    /// What becomes of a named value that the table does not hold.
    pub absent: Absent,
}

impl Requirements {
    /// Nothing that could fail.
    pub fn nothing() -> Self {
        Requirements {
            skyline: Vec::new(),
            implications: None,
            shares: Vec::new(),
            beliefs: None,
            minimum_group_size: 1,
            minimum_distinct_values: 0,
            absent: Absent::Report,
        }
    }

    /// Fails if nothing is required: the answer would look like a verdict.
    pub fn validate(&self) -> Result<()> {
        if self.skyline.is_empty()
            && self.implications.is_none()
            && self.shares.is_empty()
            && self.beliefs.is_none()
            && self.minimum_group_size <= 1
            && self.minimum_distinct_values == 0
        {
            return Err(Error::input(
                "nothing is required, so nothing can be checked",
                "give a point with --point L,K,M,C, a minimum group size, or a policy",
            ));
        }
        Ok(())
    }
}

/// An adversary who knows implications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Implications {
    /// How many they know; everything is measured for fewer, too.
    pub up_to: usize,
    /// The maximum disclosure must be below this; `None` to measure it only.
    pub confidence: Option<Confidence>,
}

/// What becomes of a named value that the table does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// It is a mistake.
    Refuse,
    /// Nobody can have it: it is reported with a breach of 0. Among numbers, dates and times it is a mistake all the
    /// same, since it may be another way of writing a value that somebody has.
    Report,
}

/// The people of one group and how often each sensitive value occurs among them.
#[derive(Debug, Default)]
pub(super) struct GroupCount {
    /// People, with and without a value.
    pub people: u64,
    counts: Vec<u64>,
    present: Vec<u32>,
    /// The values of one person, while they are being counted once each.
    person: Vec<u32>,
}

impl GroupCount {
    /// Adds `times` > 0 occurrences of a value.
    #[inline]
    pub fn add(&mut self, code: u32, times: u64) {
        let place = code as usize;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        if self.counts[place] == 0 {
            self.present.push(code);
        }
        // A sum that saturates equals no number of people, so it is refused and never wraps to one that fits.
        self.counts[place] = self.counts[place].saturating_add(times);
    }

    /// Adds the values of `times` people with the same values, each of them once.
    pub fn add_once(&mut self, codes: impl Iterator<Item = u32>, times: u64) {
        let mut person = std::mem::take(&mut self.person);
        person.clear();
        person.extend(codes);
        person.sort_unstable();
        person.dedup();
        person.iter().for_each(|&code| self.add(code, times));
        self.person = person;
    }

    /// The values that occur, each once, with their counts.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        self.present.iter().map(|&code| (code, self.counts[code as usize]))
    }

    /// Back to an empty group; O(values that occurred).
    pub fn clear(&mut self) {
        self.people = 0;
        for code in self.present.drain(..) {
            self.counts[code as usize] = 0;
        }
    }
}

/// What is asked of each value, by its code; or of all at once.
pub(super) struct Asked {
    values: Values,
    implications: Option<Implications>,
    every: Vec<Point>,
    named: HashMap<u32, Vec<Point>>,
    rules: Vec<ShareRule>,
    sought: Arc<SoughtCodes>,
}

impl Asked {
    /// Gives the named values their codes.
    pub fn new(
        values: Values,
        requirements: &Requirements,
        rules: Vec<ShareRule>,
        sought: &Sought,
        codes: &Codes,
    ) -> Result<Self> {
        let mut targets = Vec::new();
        for (names, point) in &requirements.skyline {
            let target = match names {
                None => ProtectedCodes::Every,
                Some(names) => {
                    ProtectedCodes::These(names.iter().map(|name| codes.named(name)).collect::<Result<_>>()?)
                }
            };
            targets.push((target, point.clone()));
        }
        let mut named: HashMap<u32, Vec<Point>> = HashMap::new();
        let mut every = Vec::new();
        for (target, _) in &targets {
            if let ProtectedCodes::These(codes) = target {
                named.extend(codes.iter().map(|&code| (code, Vec::new())));
            }
        }
        for (target, point) in targets {
            let add = |points: &mut Vec<Point>| {
                if !points.contains(&point) {
                    points.push(point.clone());
                }
            };
            match target {
                ProtectedCodes::Every => {
                    add(&mut every);
                    named.values_mut().for_each(add);
                }
                ProtectedCodes::These(codes) => {
                    for code in codes {
                        add(named.entry(code).or_default());
                    }
                }
            }
        }
        let implications = requirements.implications.clone();
        let sought = Arc::new(SoughtCodes::new(sought, codes)?);
        Ok(Asked { values, implications, every, named, rules, sought })
    }

    fn points(&self, code: u32) -> &[Point] {
        self.named.get(&code).unwrap_or(&self.every)
    }
}

/// The privacy model that judges, with its evidence so far.
pub(super) enum Criterion {
    /// The privacy skyline.
    Skyline(SkylineEvidence),
    /// The worst k implications.
    Implications(Box<ImplicationsEvidence>),
}

/// The statistics of every value met, at every point asked of it.
pub(super) struct SkylineEvidence {
    asked: Arc<Asked>,
    ranking: Ranking,
    by_code: Vec<Option<Box<[Statistics]>>>,
}

impl Criterion {
    /// Nothing observed yet.
    pub fn new(asked: &Arc<Asked>) -> Self {
        match &asked.implications {
            Some(implications) => Criterion::Implications(Box::new(ImplicationsEvidence::new(implications))),
            None => Criterion::Skyline(SkylineEvidence {
                asked: asked.clone(),
                ranking: Ranking::default(),
                by_code: Vec::new(),
            }),
        }
    }

    /// Takes in a group; `number` tells groups apart in the evidence.
    pub fn observe(&mut self, group: &GroupCount, number: u64) {
        match self {
            Criterion::Skyline(evidence) => evidence.observe(group, number),
            Criterion::Implications(evidence) => evidence.observe(group, number),
        }
    }

    /// Takes in what another criterion with the same requirements observed.
    pub fn merge(&mut self, other: Criterion) {
        match (self, other) {
            (Criterion::Skyline(own), Criterion::Skyline(other)) => own.merge(other),
            (Criterion::Implications(own), Criterion::Implications(other)) => own.merge(*other),
            _ => unreachable!("criteria with the same requirements are of the same model"),
        }
    }

    /// Bytes of evidence, which grow with the values met.
    pub fn bytes(&self) -> u64 {
        match self {
            Criterion::Skyline(evidence) => {
                let points = evidence.by_code.iter().flatten().map(|points| points.len()).sum::<usize>();
                (points * size_of::<Statistics>() + evidence.by_code.capacity() * 16) as u64
            }
            Criterion::Implications(evidence) => evidence.bytes(),
        }
    }
}

/// The statistics of a value, one for each point asked of it.
#[inline]
fn statistics_of<'a>(
    asked: &Asked,
    by_code: &'a mut Vec<Option<Box<[Statistics]>>>,
    code: u32,
) -> &'a mut [Statistics] {
    let place = code as usize;
    if place >= by_code.len() {
        by_code.resize_with(place + 1, || None);
    }
    by_code[place].get_or_insert_with(|| {
        let points = asked.points(code).iter();
        points.map(|point| Statistics::new(asked.values, point.knowledge)).collect()
    })
}

impl SkylineEvidence {
    /// Whether a value was met.
    fn met(&self, code: u32) -> bool {
        self.by_code.get(code as usize).is_some_and(|points| points.is_some())
    }

    fn of(&mut self, code: u32) -> &mut [Statistics] {
        statistics_of(&self.asked, &mut self.by_code, code)
    }

    fn observe(&mut self, group: &GroupCount, number: u64) {
        let ranked = self.ranking.rank(group.people, group.counts().map(|(_, count)| count));
        for (code, count) in group.counts() {
            for statistics in statistics_of(&self.asked, &mut self.by_code, code) {
                statistics.observe(&ranked, count, number);
            }
        }
    }

    fn merge(&mut self, other: SkylineEvidence) {
        for (code, others) in other.by_code.into_iter().enumerate() {
            for (own, others) in self.of_many(code, others.as_deref()) {
                own.merge(others);
            }
        }
    }

    fn of_many<'a>(
        &'a mut self,
        code: usize,
        others: Option<&'a [Statistics]>,
    ) -> impl Iterator<Item = (&'a mut Statistics, &'a Statistics)> {
        let own = if others.is_some() { self.of(code as u32) } else { &mut [] };
        own.iter_mut().zip(others.unwrap_or(&[]))
    }

    /// Gives the named values that occur nowhere the statistics of no group at all, or refuses them.
    fn add_absent(&mut self, requirements: &Requirements, codes: &Codes, column: &str) -> Result<()> {
        for name in requirements.skyline.iter().flat_map(|(names, _)| names.iter().flatten()) {
            let code = codes.named(name)?;
            let mistake = requirements.absent == Absent::Refuse || codes.are_ordered();
            if mistake && !self.met(code) {
                return Err(absent(column, name, codes, |code| self.met(code)));
            }
            self.of(code);
        }
        Ok(())
    }

    fn report(&self, names: &[Arc<str>]) -> Vec<PointReport> {
        let mut reports = Vec::new();
        for (code, statistics) in self.by_code.iter().enumerate() {
            let points = self.asked.points(code as u32).iter();
            for (point, statistics) in points.zip(statistics.iter().flatten()) {
                reports.push(PointReport {
                    value: names[code].to_string(),
                    point: point.clone(),
                    breach: statistics.breach(),
                    safe: statistics.verdict(&point.confidence) == Verdict::Safe,
                    statistics: statistics.clone(),
                });
            }
        }
        reports.sort_by(|a, b| a.value.cmp(&b.value));
        reports
    }
}

/// A name was asked for that no value has; says which one may be meant.
pub(super) fn absent(column: &str, name: &str, codes: &Codes, met: impl Fn(u32) -> bool) -> Error {
    let names = codes.names();
    let occurring = names.iter().zip(0..).filter(|(_, code)| met(*code)).map(|(name, _)| &**name);
    let remedy = match closest(name, occurring) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "check its spelling; skyveil check --json with a point and without --value lists the values"
            .to_string(),
    };
    Error::input(format!("column `{column}` does not hold the value {name:?} that was asked for"), remedy)
}

/// A criterion together with what holds beside every model: how large the groups are.
pub(super) struct Judge {
    asked: Arc<Asked>,
    criterion: Criterion,
    shares: ShareEvidence,
    /// The groups that were asked for beside the verdict.
    pub knowledge: KnowledgeEvidence,
    /// The sizes of the groups observed.
    pub sizes: Sizes,
    /// Groups that contradict the declared kind of values.
    impossible: u64,
}

impl Judge {
    /// Nothing observed yet.
    pub fn new(asked: &Arc<Asked>) -> Self {
        Judge {
            asked: asked.clone(),
            criterion: Criterion::new(asked),
            shares: ShareEvidence::default(),
            knowledge: KnowledgeEvidence::new(asked.values, &asked.sought),
            sizes: Sizes::default(),
            impossible: 0,
        }
    }

    /// Takes in a group; `number` tells groups apart in the evidence.
    pub fn observe(&mut self, group: &GroupCount, number: u64) {
        // All rows of a group may stand for nobody.
        if group.people == 0 && group.present.is_empty() {
            return;
        }
        let possible = match self.asked.values {
            Values::Single => {
                group.counts().fold(0u64, |sum, (_, count)| sum.saturating_add(count)) == group.people
            }
            Values::Set => group.counts().all(|(_, count)| count <= group.people),
            Values::Multiset => group.people > 0,
        };
        if !possible || group.people == 0 {
            self.impossible += 1;
            return;
        }
        self.sizes.observe(group.people, group.present.len() as u64);
        self.criterion.observe(group, number);
        self.shares.observe(&self.asked.rules, group, number);
        self.knowledge.observe(group);
    }

    /// Takes in what another judge with the same requirements observed.
    pub fn merge(&mut self, other: Judge) {
        self.sizes.merge(&other.sizes);
        self.impossible += other.impossible;
        self.criterion.merge(other.criterion);
        self.shares.merge(other.shares);
        self.knowledge.merge(other.knowledge);
    }

    /// Keeps the reservation at what the evidence takes.
    pub fn account(&self, reserved: &mut Reservation) -> Result<()> {
        let bytes = self.criterion.bytes() + self.knowledge.bytes();
        if bytes > reserved.bytes() {
            reserved.resize("the statistics of the sensitive values", bytes)
        } else {
            Ok(())
        }
    }

    /// A reservation for [`Judge::account`].
    pub fn reservation(budget: &Arc<Budget>) -> Result<Reservation> {
        budget.reserve("the statistics of the sensitive values", 0)
    }

    /// What was found; fails if the table contradicts what was said of it.
    pub fn findings(&mut self, requirements: &Requirements, codes: &Codes, column: &str) -> Result<Findings> {
        if self.impossible > 0 {
            let (rule, remedy) = match self.asked.values {
                Values::Single => ("people and values differ in number", "say --values set or multiset"),
                Values::Set => ("a value occurs more often than there are people", "say --values multiset"),
                Values::Multiset => ("there are values but no people", "check that no rows are missing"),
            };
            return Err(Error::input(
                format!("column `{column}`: in {} {rule}", number_of(self.impossible, "group", "groups")),
                format!("{remedy}, if that is what the table holds"),
            ));
        }
        let shares = self.shares.report(&self.asked.rules);
        match &mut self.criterion {
            Criterion::Skyline(evidence) => {
                evidence.add_absent(requirements, codes, column)?;
                Ok(Findings { points: evidence.report(&codes.names()), disclosure: None, shares })
            }
            Criterion::Implications(evidence) => {
                let disclosure = evidence.report(&codes.names(), column)?;
                Ok(Findings { points: Vec::new(), disclosure: Some(disclosure), shares })
            }
        }
    }
}

/// What the model found in all groups.
#[derive(Debug, PartialEq)]
pub(super) struct Findings {
    /// The evidence by value and point, sorted by value.
    pub points: Vec<PointReport>,
    /// The evidence on implications.
    pub disclosure: Option<DisclosureReport>,
    /// The evidence on shares, one for each criterion asked.
    pub shares: Vec<ShareReport>,
}
