//! How sure can an adversary with the knowledge of a skyline point become?
//!
//! Memory: five statistics for every value seen and every point required of it, regardless of the number of
//! groups.

use std::collections::HashMap;
use std::sync::Arc;

use super::policy::{ProtectedValues, SkylineModel, SkylineRequirement};
use crate::error::{Error, Result};
use crate::math::confidence::ThresholdVerdict;
use crate::math::skyline::shape::{GroupShape, Outline};
use crate::math::skyline::{
    Breach, HarmlessGroups, Knowledge, LargestCounts, Point, Ranking, Statistics, Values,
};
use crate::model::counted_group::CountedGroup;
use crate::model::finding::{
    Amount, Claim, ClaimSubject, ClaimVerdict, Datum, Limit, Measurement, Note, Side,
};
use crate::policy::{closest, nearly_the_same};
use crate::resources::byte_form::{ByteForm, ByteReader, write_count, write_items};

/// Skyline points with the sensitive values that each protects.
pub type SkylinePoints = Vec<(ProtectedValues, Point)>;

impl SkylineModel {
    /// The points that protect single values, with the names of these.
    pub(in crate::model) fn named_points(&self) -> Result<SkylinePoints> {
        let point = |required: &SkylineRequirement| {
            if matches!(required.values, ProtectedValues::Near(_)) {
                return None;
            }
            Some(required.point().map(|point| (required.values.clone(), point)))
        };
        self.points.iter().filter_map(point).collect()
    }
}

/// How a named value that does not occur in the table is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// It is a mistake.
    Refuse,
    /// Nobody has it today: it is reported with a breach of 0, unless somebody has a value that is nearly the same,
    /// which the policy does not name.
    Report,
}

/// The points required of each value, by its code.
pub struct PointsByValue {
    values: Values,
    every: Vec<Point>,
    named: HashMap<u32, Vec<Point>>,
}

impl PointsByValue {
    /// Assigns codes to the named values.
    pub fn new(
        values: Values,
        points: &SkylinePoints,
        code: &mut dyn FnMut(&str) -> Result<u32>,
    ) -> Result<Self> {
        let mut named: HashMap<u32, Vec<Point>> = HashMap::new();
        let mut coded = Vec::new();
        for (protected, point) in points {
            let codes = protected.named().iter().map(|name| code(name)).collect::<Result<Vec<u32>>>()?;
            named.extend(codes.iter().map(|&code| (code, Vec::new())));
            coded.push((protected, codes, point));
        }
        let mut every = Vec::new();
        for (protected, codes, point) in coded {
            let add = |points: &mut Vec<Point>| {
                if !points.contains(point) {
                    points.push(point.clone());
                }
            };
            let these = matches!(protected, ProtectedValues::These(_));
            if !these {
                add(&mut every);
            }
            named
                .iter_mut()
                .filter(|(code, _)| codes.contains(code) == these)
                .for_each(|(_, points)| add(points));
        }
        Ok(PointsByValue { values, every, named })
    }

    pub(in crate::model) fn of(&self, code: u32) -> &[Point] {
        self.named.get(&code).unwrap_or(&self.every)
    }
}

/// What a value takes besides its statistics: its place in the list, and as much for an allocation.
const VALUE_BYTES: u64 = 32;

/// The statistics of every value seen, at every point required of it.
pub struct SkylineJudge {
    points: Arc<PointsByValue>,
    ranking: Ranking,
    by_code: Vec<Option<Box<[Statistics]>>>,
    dismissed: Dismissed,
}

/// The groups that lower no statistic of any value, so that most groups are dismissed without a look at their values.
///
/// Invariant: exactly the groups that every value dismisses by itself, or none, while statistics fall. They are looked
/// for again after as many values were observed as there are, so the search adds a constant to each.
struct Dismissed {
    harmless: HarmlessGroups,
    /// The values below this code were all seen before.
    codes: usize,
    /// The largest l of a point.
    l: u64,
    /// Values observed since a statistic fell.
    observed: usize,
}

impl Dismissed {
    /// No group.
    const NONE: Dismissed = Dismissed { harmless: HarmlessGroups::UNKNOWN, codes: 0, l: 0, observed: 0 };

    fn contains(&self, group: &CountedGroup, ranking: &mut Ranking) -> bool {
        if self.codes == 0 || group.code_limit() > self.codes {
            return false;
        }
        let counts = || group.counts().map(|(_, count)| count);
        let values = self.l.saturating_add(1);
        // None of these is larger than the largest one, which is found sooner than they are.
        let largest = counts().max().unwrap_or(0);
        let at_most = LargestCounts { largest, sum: largest.saturating_mul(values) };
        if self.harmless.excludes(group.people, at_most) {
            return true;
        }
        let largest = ranking.largest(counts(), values);
        largest.is_some_and(|largest| self.harmless.excludes(group.people, largest))
    }

    /// So many values were observed, and no statistic fell.
    fn go_on(&mut self, values: usize, by_code: &[Option<Box<[Statistics]>>]) {
        self.observed = self.observed.saturating_add(values);
        if self.codes == 0 && self.observed >= by_code.len() {
            let seen = || by_code.iter().map_while(Option::as_ref);
            self.codes = seen().count();
            self.l = seen().flatten().map(|own| own.size().l).max().unwrap_or(0);
            self.harmless =
                seen().flatten().map(Statistics::harmless).fold(HarmlessGroups::ALL, HarmlessGroups::and);
        }
    }
}

impl SkylineJudge {
    /// Nothing observed yet.
    pub fn new(points: Arc<PointsByValue>) -> Self {
        SkylineJudge { points, ranking: Ranking::default(), by_code: Vec::new(), dismissed: Dismissed::NONE }
    }

    /// Adds a group.
    pub fn observe(&mut self, group: &CountedGroup, number: u64) {
        if self.dismissed.contains(group, &mut self.ranking) {
            return;
        }
        let ranked = self.ranking.rank(group.people, group.counts().map(|(_, count)| count));
        let mut fell = false;
        for (code, count) in group.counts() {
            for statistics in statistics_of(&self.points, &mut self.by_code, code) {
                fell |= statistics.observe(&ranked, count, number);
            }
        }
        match fell {
            true => self.dismissed = Dismissed::NONE,
            false => self.dismissed.go_on(ranked.distinct(), &self.by_code),
        }
    }

    /// Adds what another judge with the same points observed.
    pub fn merge(&mut self, other: SkylineJudge) {
        self.dismissed = Dismissed::NONE;
        for (code, others) in other.by_code.into_iter().enumerate() {
            let Some(others) = others else { continue };
            let own = statistics_of(&self.points, &mut self.by_code, code as u32);
            own.iter_mut().zip(&others).for_each(|(own, others)| own.merge(others));
        }
    }

    /// Bytes of evidence, which grow with the values seen.
    pub fn bytes(&self) -> u64 {
        let points = self.by_code.iter().flatten().flatten().map(Statistics::bytes).sum::<u64>();
        points + self.by_code.capacity() as u64 * VALUE_BYTES / 2
    }

    /// The most bytes that a group adds.
    pub fn most_bytes(&self, group: &CountedGroup) -> u64 {
        if self.points.values != Values::Set && group.code_limit() <= self.dismissed.codes {
            return 0;
        }
        let is_new = |code: u32| self.by_code.get(code as usize).is_none_or(Option::is_none);
        let of_value = |code| -> u64 {
            let points = self.points.of(code).iter();
            let most =
                |point: &Point| Statistics::most_bytes(self.points.values, point.knowledge, group.distinct());
            VALUE_BYTES + points.map(most).sum::<u64>()
        };
        // Only sets lengthen the statistics of a value that was seen before.
        let grows = |code: &u32| self.points.values == Values::Set || is_new(*code);
        group.counts().map(|(code, _)| code).filter(grows).map(of_value).sum()
    }

    /// Appends the evidence.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let seen = || (0u32..).zip(&self.by_code).filter_map(|(code, own)| Some((code, own.as_ref()?)));
        write_count(seen().count(), bytes);
        for (code, statistics) in seen() {
            code.write(bytes);
            statistics.iter().for_each(|own| write_statistics(own, bytes));
        }
    }

    /// Reads the evidence of a judge with the same points; `codes` are those of its values here.
    pub fn read(points: Arc<PointsByValue>, codes: &[u32], bytes: &mut ByteReader<'_>) -> Option<Self> {
        let mut judge = SkylineJudge::new(points);
        for _ in 0..bytes.count(size_of::<u32>())? {
            let code = *codes.get(u32::read(bytes)? as usize)?;
            for own in statistics_of(&judge.points, &mut judge.by_code, code) {
                *own = read_statistics(own.values(), own.size(), bytes)?;
            }
        }
        Some(judge)
    }

    /// Every value seen at every point required of it.
    pub fn evidence(&self) -> impl Iterator<Item = (u32, &Point, &Statistics)> {
        self.by_code.iter().enumerate().flat_map(|(code, statistics)| {
            let points = self.points.of(code as u32).iter();
            points.zip(statistics.iter().flatten()).map(move |(point, own)| (code as u32, point, own))
        })
    }

    /// Gives a named value that does not occur the statistics of no groups, or refuses it.
    pub fn expect(
        &mut self,
        value: &NamedValue<'_>,
        names: &[Arc<str>],
        known: &[u32],
        absent: Absent,
    ) -> Result<()> {
        let met = |code: u32| {
            let own = self.by_code.get(code as usize).and_then(Option::as_ref);
            own.is_some_and(|own| own.first().is_none_or(Statistics::occurs))
        };
        if !met(value.code) {
            if absent == Absent::Refuse {
                return Err(refused(value, names, met));
            }
            let mut others = names.iter().zip(0u32..).filter(|(_, code)| met(*code) && !known.contains(code));
            if others.any(|(other, _)| nearly_the_same(value.name, other)) {
                return Err(misspelt(value.column, value.name));
            }
        }
        statistics_of(&self.points, &mut self.by_code, value.code);
        Ok(())
    }

    /// Adds the findings: a claim for every value and point, in the order of the codes. Returns the notes.
    pub fn finish(&self, names: &[Arc<str>], all_claims: &mut Vec<Claim>) -> Vec<Note> {
        let before = all_claims.len();
        // There may be many: a list that grows would take twice as much.
        all_claims.reserve_exact(self.evidence().count());
        all_claims.extend(self.evidence().map(|(code, point, statistics)| {
            breach_claim(ClaimSubject::Value(names[code as usize].to_string()), point, statistics)
        }));
        let claims = &all_claims[before..];
        let unsafe_claims = claims.iter().filter(|claim| !claim.is_safe()).count();
        let mut notes = Vec::new();
        let all = claims.len();
        match (all, all - unsafe_claims) {
            (0, _) => {}
            (1, 1) => notes.push(Note::Summary("the point holds".to_string())),
            (_, held) if held == all => notes.push(Note::Summary(format!("all {all} points hold"))),
            (_, held) => notes.push(Note::Summary(format!("{held} of {all} points hold"))),
        }
        notes
    }

    /// The values that have a point but do not occur.
    pub fn absent(&self) -> Vec<u32> {
        let mut codes: Vec<u32> =
            self.evidence().filter(|(.., own)| !own.occurs()).map(|(code, ..)| code).collect();
        codes.dedup();
        codes
    }
}

/// The error that a point names a value that nobody has, while somebody has one that is nearly the same.
pub(crate) fn misspelt(column: &str, name: &str) -> Error {
    Error::input(
        format!(
            "`for` of privacy.skyline names {name:?}, which column `{column}` does not hold; it holds a value that is \
             nearly the same"
        ),
        "correct the spelling; if they are two values, name the other one in `for` or in not_sensitive too",
    )
}

/// A value that a point names.
pub struct NamedValue<'a> {
    /// The sensitive column.
    pub column: &'a str,
    /// As the point names it.
    pub name: &'a str,
    /// Its code.
    pub code: u32,
}

pub(super) fn write_statistics(statistics: &Statistics, bytes: &mut Vec<u8>) {
    for attained in statistics.attained() {
        attained.is_some().write(bytes);
        let Some((shape, group)) = attained else { continue };
        [shape.people, shape.target, shape.top_sum, group].iter().for_each(|own| own.write(bytes));
        write_items(shape.top().iter(), bytes);
    }
}

pub(super) fn read_statistics(
    values: Values,
    size: Knowledge,
    bytes: &mut ByteReader<'_>,
) -> Option<Statistics> {
    let mut read = || {
        if !bool::read(bytes)? {
            return Some(None);
        }
        let outline =
            Outline { people: u64::read(bytes)?, target: u64::read(bytes)?, top_sum: u64::read(bytes)? };
        let (group, top): (u64, Box<[u64]>) = ByteForm::read(bytes)?;
        let possible = outline.people > 0 && outline.target > 0;
        possible.then(|| Some((GroupShape::with_top(outline, top), group)))
    };
    let attained = [read()?, read()?, read()?, read()?, read()?];
    Some(Statistics::of_attained(values, size, attained))
}

/// The statistics of a value, one for each point required of it.
#[inline]
fn statistics_of<'a>(
    points: &PointsByValue,
    by_code: &'a mut Vec<Option<Box<[Statistics]>>>,
    code: u32,
) -> &'a mut [Statistics] {
    let place = code as usize;
    if place >= by_code.len() {
        by_code.resize_with(place + 1, || None);
    }
    by_code[place].get_or_insert_with(|| {
        let of_value = points.of(code).iter();
        of_value.map(|point| Statistics::new(points.values, point.knowledge)).collect()
    })
}

/// The claim that a point holds for a value, or for a window of values.
pub(super) fn breach_claim(subject: ClaimSubject, point: &Point, statistics: &Statistics) -> Claim {
    let fraction = |value: &Option<crate::math::exact::Rational>| {
        value.as_ref().map_or(Datum::Nothing, Datum::fraction_at_most)
    };
    let five = statistics.exact().map_or(Datum::Nothing, |five| Datum::list(five.iter().map(fraction)));
    let size = point.knowledge;
    Claim {
        subject,
        knows: vec![("l", size.l.into()), ("k", size.k.into()), ("m", size.m.into())],
        measured: Measurement {
            name: "breach",
            amount: match statistics.breach() {
                Breach::Exact(exact) => Amount::Exact(exact),
                Breach::AtMost(bound) => Amount::AtMost(bound),
            },
        },
        limit: Limit { name: "confidence", side: Side::Below, value: point.confidence.value().clone() },
        group: None,
        verdict: ClaimVerdict::from(statistics.verdict(&point.confidence) == ThresholdVerdict::Safe),
        counts: Vec::new(),
        evidence: vec![("statistics", five)],
    }
}

/// The error that a point names a value that nobody has; suggests which one may be meant.
fn refused(value: &NamedValue<'_>, names: &[Arc<str>], met: impl Fn(u32) -> bool) -> Error {
    let NamedValue { column, name, .. } = value;
    let occurring = names.iter().zip(0..).filter(|(_, code)| met(*code)).map(|(name, _)| &**name);
    let remedy = match closest(name, occurring) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "check its spelling; a point for every value lists the values".to_string(),
    };
    Error::input(format!("column `{column}` does not hold the value {name:?} that a point names"), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::confidence::Confidence;
    use proptest::prelude::*;

    proptest! {
        /// A group that the judge dismisses as a whole would be dismissed by each of its values.
        #[test]
        fn dismissed_groups_change_no_statistic(
            groups in prop::collection::vec(prop::collection::vec(0u64..12, 5), 1..60),
            larger in 0usize..60,
            l in 0u64..4,
            k in 0u64..3,
        ) {
            let point = |l| {
                let confidence = Confidence::parse("0.9").unwrap();
                Point { knowledge: Knowledge { l, k, m: 1 }, confidence }
            };
            let points = vec![
                (ProtectedValues::Every, point(l)),
                (ProtectedValues::These(vec!["2".to_string()]), point(l + 1)),
            ];
            let code = &mut |name: &str| Ok(name.parse().unwrap());
            let points = Arc::new(PointsByValue::new(Values::Single, &points, code).unwrap());
            let mut judge = SkylineJudge::new(points.clone());
            let mut each: Vec<Option<Box<[Statistics]>>> = Vec::new();
            for (number, counts) in (0u64..).zip(&groups) {
                // Groups of the same shape, larger and larger, are dismissed.
                for times in 1..=if number as usize == larger { 20 } else { 1 } {
                    let mut group = CountedGroup::of(times * counts.iter().sum::<u64>());
                    let some = (0u32..).zip(counts).filter(|(_, count)| **count > 0);
                    some.for_each(|(code, count)| group.add(code, times * count));
                    judge.observe(&group, 100 * number + times);
                    let mut ranking = Ranking::default();
                    let ranked = ranking.rank(group.people, group.counts().map(|(_, count)| count));
                    for (code, count) in group.counts() {
                        for statistics in statistics_of(&points, &mut each, code) {
                            let top_sum = ranked.top_sum(statistics.size().l, count);
                            // Ratio by ratio, without what is harmless for all of them.
                            let outline = Outline { people: group.people, target: count, top_sum };
                            statistics.observe_outline(outline, 100 * number + times);
                        }
                    }
                }
            }
            prop_assert_eq!(&judge.by_code, &each);
        }
    }

    #[test]
    fn a_group_that_shows_nothing_new_is_dismissed() {
        let confidence = Confidence::parse("0.9").unwrap();
        let point = Point { knowledge: Knowledge { l: 1, k: 1, m: 1 }, confidence };
        let code = &mut |_: &str| unreachable!("no value has a name");
        let points = PointsByValue::new(Values::Single, &vec![(ProtectedValues::Every, point)], code);
        let mut judge = SkylineJudge::new(Arc::new(points.unwrap()));
        let group = |times: u64, values: u32| {
            let mut group = CountedGroup::of(times * u64::from(values));
            (0..values).for_each(|code| group.add(code, times));
            group
        };
        (0..3).for_each(|number| judge.observe(&group(4, 5), number));
        let mut dismisses = |group| judge.dismissed.contains(&group, &mut judge.ranking);
        assert!(dismisses(group(4, 5)));
        // More of a value, fewer people, or a value that was not seen before.
        assert!(!dismisses(group(5, 5)) && !dismisses(group(4, 4)) && !dismisses(group(4, 6)));
    }
}
