//! Which groups decide how much an adversary may know?
//!
//! In addition to the verdict, a scan can keep for some values the groups that the knowledge skyline needs.
//! Memory: O(kept groups) per value, see [`KeptGroups`]; values share the counts of the groups that they keep.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::policy::ProtectedValues;
use crate::error::Result;
use crate::math::skyline::Point;
use crate::math::skyline::{Confidence, KeptGroups, Ranking, SharedCounts, Values};
use crate::model::counted_group::CountedGroup;

/// The values for which the relevant groups are kept, and the confidence for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedSkylines {
    /// For every value of the table that is not named.
    pub every: Option<Confidence>,
    /// For the values with these names; `None` for none.
    pub these: Vec<(String, Option<Confidence>)>,
    /// For every window that a point protects.
    pub windows: Option<Confidence>,
    /// Which groups are relevant.
    pub depth: SkylineDepth,
}

/// Which groups are relevant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SkylineDepth {
    /// Those that decide the knowledge skyline for the one confidence.
    #[default]
    OneConfidence,
    /// Those that decide the breach at every point, for every confidence.
    EveryPoint,
}

impl WantedSkylines {
    /// For no value.
    pub const NOTHING: WantedSkylines =
        WantedSkylines { every: None, these: Vec::new(), windows: None, depth: SkylineDepth::OneConfidence };

    /// For all values that have a point: the groups that decide at every point.
    pub fn of(points: &[(ProtectedValues, Point)]) -> Self {
        let mut wanted = WantedSkylines { depth: SkylineDepth::EveryPoint, ..WantedSkylines::NOTHING };
        let lower = |own: &mut Option<Confidence>, other: &Confidence| {
            if own.as_ref().is_none_or(|own| other.value() < own.value()) {
                *own = Some(other.clone());
            }
        };
        let mut named: BTreeMap<&String, Option<Confidence>> = BTreeMap::new();
        named.extend(points.iter().flat_map(|(protected, _)| protected.named()).map(|name| (name, None)));
        for (protected, point) in points {
            let these = matches!(protected, ProtectedValues::These(_));
            if !these {
                lower(&mut wanted.every, &point.confidence);
            }
            named
                .iter_mut()
                .filter(|(name, _)| protected.named().contains(name) == these)
                .for_each(|(_, confidence)| lower(confidence, &point.confidence));
        }
        wanted.these = named.into_iter().map(|(name, confidence)| (name.clone(), confidence)).collect();
        wanted
    }
}

/// The same by code.
pub struct WantedByCode {
    every: Option<Arc<Confidence>>,
    these: HashMap<u32, Option<Arc<Confidence>>>,
}

impl WantedByCode {
    /// No value.
    pub fn nothing() -> Self {
        WantedByCode { every: None, these: HashMap::new() }
    }

    /// Assigns codes to the named values.
    pub fn new(wanted: &WantedSkylines, code: &mut dyn FnMut(&str) -> Result<u32>) -> Result<Self> {
        let coded = |(name, confidence): &(String, Option<Confidence>)| {
            Ok((code(name)?, confidence.clone().map(Arc::new)))
        };
        let these = wanted.these.iter().map(coded).collect::<Result<_>>()?;
        Ok(WantedByCode { every: wanted.every.clone().map(Arc::new), these })
    }

    /// Whether no value is wanted.
    pub fn is_empty(&self) -> bool {
        self.every.is_none() && self.these.is_empty()
    }

    pub(super) fn confidence(&self, code: u32) -> Option<&Arc<Confidence>> {
        self.these.get(&code).map_or(self.every.as_ref(), Option::as_ref)
    }

    /// The wanted values that are named.
    pub(super) fn named(&self) -> Vec<u32> {
        self.these.iter().filter(|(_, wanted)| wanted.is_some()).map(|(&code, _)| code).collect()
    }
}

/// The groups that were kept so far.
pub struct KnowledgeEvidence {
    values: Values,
    wanted: Arc<WantedByCode>,
    ranking: Ranking,
    by_code: Vec<Option<Box<KeptGroups>>>,
}

impl KnowledgeEvidence {
    /// No groups yet.
    pub fn new(values: Values, wanted: &Arc<WantedByCode>) -> Self {
        KnowledgeEvidence { values, wanted: wanted.clone(), ranking: Ranking::default(), by_code: Vec::new() }
    }

    /// Adds a group.
    pub fn observe(&mut self, group: &CountedGroup) {
        if self.wanted.is_empty() {
            return;
        }
        let ranked = self.ranking.rank(group.people, group.counts().map(|(_, count)| count));
        let mut counts = SharedCounts::of(&ranked);
        for (code, count) in group.counts() {
            if let Some(confidence) = self.wanted.confidence(code) {
                kept_of(&mut self.by_code, code, self.values, confidence).observe(&mut counts, count);
            }
        }
    }

    /// Adds the kept groups of another part.
    pub fn merge(&mut self, other: KnowledgeEvidence) {
        for (code, kept) in (0u32..).zip(other.by_code) {
            let Some(kept) = kept else { continue };
            kept_of(&mut self.by_code, code, self.values, kept.confidence()).merge(*kept);
        }
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        let kept: u64 = self.by_code.iter().flatten().map(|kept| kept.bytes()).sum();
        kept + self.by_code.capacity() as u64 * 8
    }

    /// About the most bytes that a group adds.
    pub fn most_bytes(&self, group: &CountedGroup) -> u64 {
        if self.wanted.is_empty() {
            return 0;
        }
        let wanted =
            group.counts().filter(|(code, _)| self.wanted.confidence(*code).is_some()).count() as u64;
        let prefix = if wanted > 0 { group.distinct() * size_of::<u64>() as u64 } else { 0 };
        wanted * KeptGroups::BYTES_OF_GROUP + prefix
    }

    /// The kept groups by value, sorted by name; includes named values that do not occur.
    pub fn finish(mut self, names: &[Arc<str>]) -> Vec<(String, KeptGroups)> {
        for (&code, confidence) in &self.wanted.these {
            let Some(confidence) = confidence else { continue };
            kept_of(&mut self.by_code, code, self.values, confidence);
        }
        let named = self.by_code.into_iter().zip(names);
        let mut all: Vec<_> = named.filter_map(|(kept, name)| Some((name.to_string(), *kept?))).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}

fn kept_of<'k>(
    by_code: &'k mut Vec<Option<Box<KeptGroups>>>,
    code: u32,
    values: Values,
    confidence: &Arc<Confidence>,
) -> &'k mut KeptGroups {
    let code = code as usize;
    if by_code.len() <= code {
        by_code.resize_with(code + 1, || None);
    }
    by_code[code].get_or_insert_with(|| Box::new(KeptGroups::new(values, confidence.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a group of n different values each of them can be ruled out n - 3 times: with counts of its own, every value
    /// would keep n numbers.
    #[test]
    fn the_values_of_a_group_share_its_counts() {
        let wanted = WantedSkylines { every: Confidence::parse("1/2"), ..WantedSkylines::NOTHING };
        let wanted = Arc::new(WantedByCode::new(&wanted, &mut |_| Ok(0)).unwrap());
        let mut evidence = KnowledgeEvidence::new(Values::Single, &wanted);
        let mut group = CountedGroup::of(2000);
        (0..2000).for_each(|code| group.add(code, 1));
        evidence.observe(&group);
        evidence.observe(&group);
        assert!(evidence.bytes() < 2000 * 400, "{} bytes", evidence.bytes());
        let names: Vec<Arc<str>> = (0..2000).map(|code| code.to_string().into()).collect();
        let kept = evidence.finish(&names);
        assert!(kept.len() == 2000 && kept.iter().all(|(_, kept)| kept.bytes() < 20_000));
    }
}
