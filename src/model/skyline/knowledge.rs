//! Which groups decide how much an adversary may know?
//!
//! In addition to the verdict, a scan can keep for some values the groups that the knowledge skyline needs.
//! Memory: O(kept groups) per value, see [`KeptGroups`]; and the numbers of groups by size.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::error::Result;
use crate::math::skyline::Point;
use crate::math::skyline::{Confidence, KeptGroups, Ranking, Values};
use crate::model::counted_group::CountedGroup;

/// The values for which the relevant groups are kept, and the confidence for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedSkylines {
    /// For every value of the table that is not named.
    pub every: Option<Confidence>,
    /// For the values with these names.
    pub these: Vec<(String, Confidence)>,
    /// For every window that a point protects.
    pub windows: Option<Confidence>,
}

impl WantedSkylines {
    /// For no value.
    pub const NOTHING: WantedSkylines = WantedSkylines { every: None, these: Vec::new(), windows: None };

    /// For all values that have a point, each at the lowest confidence required of it.
    pub fn of(points: &[(Option<Vec<String>>, Point)]) -> Self {
        let mut wanted = WantedSkylines::NOTHING;
        let lower = |own: &mut Option<Confidence>, other: &Confidence| {
            if own.as_ref().is_none_or(|own| other.value() < own.value()) {
                *own = Some(other.clone());
            }
        };
        let mut named: BTreeMap<&String, Option<Confidence>> = BTreeMap::new();
        for (names, point) in points {
            match names {
                None => lower(&mut wanted.every, &point.confidence),
                Some(names) => {
                    names.iter().for_each(|name| lower(named.entry(name).or_default(), &point.confidence));
                }
            }
        }
        for (name, mut confidence) in named {
            if let Some(every) = &wanted.every {
                lower(&mut confidence, every);
            }
            wanted.these.extend(confidence.map(|confidence| (name.clone(), confidence)));
        }
        wanted
    }
}

/// The same by code.
pub struct WantedByCode {
    every: Option<Confidence>,
    these: HashMap<u32, Confidence>,
}

impl WantedByCode {
    /// Assigns codes to the named values.
    pub fn new(wanted: &WantedSkylines, code: &mut dyn FnMut(&str) -> Result<u32>) -> Result<Self> {
        let coded = |(name, confidence): &(String, Confidence)| Ok((code(name)?, confidence.clone()));
        let these = wanted.these.iter().map(coded).collect::<Result<_>>()?;
        Ok(WantedByCode { every: wanted.every.clone(), these })
    }

    fn is_empty(&self) -> bool {
        self.every.is_none() && self.these.is_empty()
    }

    fn confidence(&self, code: u32) -> Option<&Confidence> {
        self.these.get(&code).or(self.every.as_ref())
    }
}

/// The groups that were kept so far.
pub struct KnowledgeEvidence {
    values: Values,
    wanted: Arc<WantedByCode>,
    ranking: Ranking,
    by_code: HashMap<u32, KeptGroups>,
}

impl KnowledgeEvidence {
    /// No groups yet.
    pub fn new(values: Values, wanted: &Arc<WantedByCode>) -> Self {
        KnowledgeEvidence {
            values,
            wanted: wanted.clone(),
            ranking: Ranking::default(),
            by_code: HashMap::new(),
        }
    }

    /// Adds a group.
    pub fn observe(&mut self, group: &CountedGroup) {
        if self.wanted.is_empty() {
            return;
        }
        let ranked = self.ranking.rank(group.people, group.counts().map(|(_, count)| count));
        for (code, count) in group.counts() {
            if let Some(confidence) = self.wanted.confidence(code) {
                let new = || KeptGroups::new(self.values, confidence.clone());
                self.by_code.entry(code).or_insert_with(new).observe(&ranked, count);
            }
        }
    }

    /// Adds the kept groups of another part.
    pub fn merge(&mut self, other: KnowledgeEvidence) {
        for (code, kept) in other.by_code {
            let new = || KeptGroups::new(self.values, kept.confidence().clone());
            self.by_code.entry(code).or_insert_with(new).merge(kept);
        }
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        self.by_code.values().map(|kept| kept.bytes() + 64).sum()
    }

    /// The kept groups by value, sorted by name; includes named values that do not occur.
    pub fn finish(mut self, names: &[Arc<str>]) -> Vec<(String, KeptGroups)> {
        for (&code, confidence) in &self.wanted.these {
            let new = || KeptGroups::new(self.values, confidence.clone());
            self.by_code.entry(code).or_insert_with(new);
        }
        let name = |(code, kept): (u32, KeptGroups)| (names[code as usize].to_string(), kept);
        let mut all: Vec<_> = self.by_code.into_iter().map(name).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}
