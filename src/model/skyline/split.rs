//! The privacy skyline as a split test.

use super::policy::{ProtectedValues, SkylineModel};
use crate::encode::group_counts::{GrowingPart, Part};
use crate::error::Result;
use crate::math::skyline::{
    GroupCount, Point, ProtectedCodes, RankedGroup, Ranking, SkylineState, TargetPoint,
};
use crate::model::obstacle::{Objection, ObstructingRule};
use crate::model::protection::CodedTarget;
use crate::model::split::{MinimumSizes, Scratch, SplitTest};

/// The statistics of every skyline point over all groups accepted.
#[derive(Debug, Clone)]
pub struct SkylineTest {
    minimum: MinimumSizes,
    least_people: u64,
    /// The different points.
    points: Vec<Point>,
    pub(in crate::model) state: SkylineState,
}

impl SkylineTest {
    /// With no group accepted yet.
    pub fn new(state: SkylineState, minimum: MinimumSizes, distinct: usize) -> Self {
        let least_people = minimum.people.max(state.least_people(distinct)).max(1);
        SkylineTest { minimum, least_people, points: state.points(), state }
    }
}

impl SplitTest for SkylineTest {
    fn admits(&self, parts: &[Part], scratch: &mut Scratch) -> bool {
        if !parts.iter().all(|part| part.people >= self.least_people && self.minimum.holds(part)) {
            return false;
        }
        let Scratch { rankings, counts, .. } = scratch;
        rankings.resize_with(parts.len().max(rankings.len()), Ranking::default);
        count_by_code(parts, counts);
        let mut ranked = rankings.iter_mut().zip(parts).map(|(ranking, part)| rank(ranking, part));
        match parts {
            [_, _] => match (ranked.next(), ranked.next()) {
                (Some(below), Some(from)) => self.state.admits(&[below, from], counts),
                _ => false,
            },
            _ => self.state.admits(&ranked.collect::<Vec<_>>(), counts),
        }
    }

    fn accept(&mut self, parts: &[Part]) -> bool {
        let (mut ranking, mut changed) = (Ranking::default(), false);
        for part in parts {
            changed |= self.state.observe_group(&rank(&mut ranking, part), part.counts(), 0);
        }
        changed
    }

    fn least_people(&self) -> u64 {
        self.least_people
    }

    fn least_people_with(&self, part: &GrowingPart, _scratch: &mut Scratch) -> u64 {
        let known = self.least_people.max(self.minimum.least_people_with(part));
        match known > part.people() {
            true => known,
            false => self.state.size_bars().least_people_with(part.people(), part.counts()),
        }
    }

    fn fork(&self) -> Box<dyn SplitTest> {
        Box::new(self.clone())
    }

    fn afresh(&self) -> Box<dyn SplitTest> {
        Box::new(SkylineTest { points: self.points.clone(), state: self.state.afresh(), ..*self })
    }

    fn bytes(&self) -> u64 {
        self.state.bytes()
    }

    fn objection(&self, parts: &[Part], scratch: &mut Scratch) -> Option<Objection> {
        let by_size = self.minimum.objection(parts, scratch);
        if by_size.is_some() {
            return by_size;
        }
        let Scratch { rankings, counts, .. } = scratch;
        rankings.resize_with(parts.len().max(rankings.len()), Ranking::default);
        count_by_code(parts, counts);
        let ranked: Vec<RankedGroup<'_>> =
            rankings.iter_mut().zip(parts).map(|(ranking, part)| rank(ranking, part)).collect();
        let mut furthest: Option<(&TargetPoint, f64)> = None;
        let mut refusing: Option<u32> = None;
        let mut several = false;
        for (entry, excess) in self.state.excesses(&ranked, counts) {
            if excess >= AT_LIMIT {
                several |= refusing.is_some_and(|code| code != entry.code);
                refusing = Some(entry.code);
            }
            if furthest.is_none_or(|(_, most)| excess > most) {
                furthest = Some((entry, excess));
            }
        }
        let (entry, excess) = furthest?;
        let point = self.points.iter().position(|point| *point == *entry.point)?;
        let rule = ObstructingRule::Point {
            point: u16::try_from(point).ok()?,
            code: u16::try_from(entry.code).ok().filter(|_| !several),
        };
        Some(Objection::new(rule, excess))
    }
}

/// From here on a value counts as refusing a cut; what is refused is decided exactly, elsewhere.
const AT_LIMIT: f64 = 1.0 - 1e-9;

/// Sets `counts` to the values that occur in the parts, sorted by code.
fn count_by_code(parts: &[Part], counts: &mut Vec<GroupCount>) {
    counts.clear();
    for (group, part) in (0..).zip(parts) {
        counts.extend(part.counts().iter().map(|&(code, count)| GroupCount { code, group, count }));
    }
    counts.sort_unstable();
}

fn rank<'r>(ranking: &'r mut Ranking, part: &Part) -> RankedGroup<'r> {
    ranking.rank(part.people, part.counts().iter().map(|&(_, count)| count))
}

impl SkylineModel {
    pub(in crate::model) fn split_tests(&self, coded: &CodedTarget<'_>) -> Result<Vec<Box<dyn SplitTest>>> {
        let values = SkylineTest::new(self.state(coded)?, coded.minimum, coded.values.texts.len());
        let mut tests: Vec<Box<dyn SplitTest>> = vec![Box::new(values)];
        tests.extend(self.near_test(coded)?);
        Ok(tests)
    }

    /// No group observed yet.
    pub(in crate::model) fn state(&self, coded: &CodedTarget<'_>) -> Result<SkylineState> {
        // What does not occur needs no protection.
        let occurring =
            |texts: &[String]| texts.iter().filter_map(|text| coded.values.code(text)).collect::<Vec<u32>>();
        let mut skyline = Vec::new();
        for requirement in &self.points {
            let codes = match &requirement.values {
                ProtectedValues::Every => ProtectedCodes::Every,
                ProtectedValues::These(texts) => ProtectedCodes::These(occurring(texts)),
                ProtectedValues::Except(texts) => ProtectedCodes::Except(occurring(texts)),
                ProtectedValues::Near(_) => continue,
            };
            skyline.push((codes, requirement.point()?));
        }
        Ok(SkylineState::new(coded.target.values, coded.values.texts.len(), &skyline))
    }
}
