//! Which groups decide how much an adversary may know?
//!
//! Beside the verdict, a scan can keep for some values the groups that the knowledge skyline needs.
//! Memory: O(kept groups) per value, see [`KeptGroups`]; and the numbers of groups by size.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::criterion::{GroupCount, Requirements};
use super::values::Codes;
use crate::error::Result;
use crate::math::skyline::{Confidence, KeptGroups, Ranking, Values};

/// For which values the groups that matter are kept, and at which confidence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sought {
    /// For every value of the table that is not named.
    pub every: Option<Confidence>,
    /// For the values with these names.
    pub these: Vec<(String, Confidence)>,
}

impl Sought {
    /// For no value.
    pub const NOTHING: Sought = Sought { every: None, these: Vec::new() };

    /// For all values that have a point, each at the least confidence that is asked of it.
    pub fn of(requirements: &Requirements) -> Self {
        let mut sought = Sought::NOTHING;
        let lower = |own: &mut Option<Confidence>, other: &Confidence| {
            if own.as_ref().is_none_or(|own| other.value() < own.value()) {
                *own = Some(other.clone());
            }
        };
        let mut named: BTreeMap<&String, Option<Confidence>> = BTreeMap::new();
        for (names, point) in &requirements.skyline {
            match names {
                None => lower(&mut sought.every, &point.confidence),
                Some(names) => {
                    names.iter().for_each(|name| lower(named.entry(name).or_default(), &point.confidence));
                }
            }
        }
        for (name, mut confidence) in named {
            if let Some(every) = &sought.every {
                lower(&mut confidence, every);
            }
            sought.these.extend(confidence.map(|confidence| (name.clone(), confidence)));
        }
        sought
    }
}

/// The same by code.
pub(super) struct SoughtCodes {
    every: Option<Confidence>,
    these: HashMap<u32, Confidence>,
}

impl SoughtCodes {
    /// Gives the named values their codes.
    pub fn new(sought: &Sought, codes: &Codes) -> Result<Self> {
        let coded = |(name, confidence): &(String, Confidence)| Ok((codes.named(name)?, confidence.clone()));
        let these = sought.these.iter().map(coded).collect::<Result<_>>()?;
        Ok(SoughtCodes { every: sought.every.clone(), these })
    }

    fn is_empty(&self) -> bool {
        self.every.is_none() && self.these.is_empty()
    }

    fn confidence(&self, code: u32) -> Option<&Confidence> {
        self.these.get(&code).or(self.every.as_ref())
    }
}

/// What was kept so far.
pub(super) struct KnowledgeEvidence {
    values: Values,
    sought: Arc<SoughtCodes>,
    ranking: Ranking,
    by_code: HashMap<u32, KeptGroups>,
}

impl KnowledgeEvidence {
    /// Of no group yet.
    pub fn new(values: Values, sought: &Arc<SoughtCodes>) -> Self {
        KnowledgeEvidence {
            values,
            sought: sought.clone(),
            ranking: Ranking::default(),
            by_code: HashMap::new(),
        }
    }

    /// Takes in a group.
    pub fn observe(&mut self, group: &GroupCount) {
        if self.sought.is_empty() {
            return;
        }
        let ranked = self.ranking.rank(group.people, group.counts().map(|(_, count)| count));
        for (code, count) in group.counts() {
            if let Some(confidence) = self.sought.confidence(code) {
                let new = || KeptGroups::new(self.values, confidence.clone());
                self.by_code.entry(code).or_insert_with(new).observe(&ranked, count);
            }
        }
    }

    /// Takes in what was kept of other groups.
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

    /// The kept groups by value, sorted by name; values that were named and do not occur are there too.
    pub fn finish(mut self, codes: &Codes) -> Vec<(String, KeptGroups)> {
        for (&code, confidence) in &self.sought.these {
            let new = || KeptGroups::new(self.values, confidence.clone());
            self.by_code.entry(code).or_insert_with(new);
        }
        let names = codes.names();
        let name = |(code, kept): (u32, KeptGroups)| (names[code as usize].to_string(), kept);
        let mut all: Vec<_> = self.by_code.into_iter().map(name).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}
