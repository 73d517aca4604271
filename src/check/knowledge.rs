//! Which groups decide how much an adversary may know?
//!
//! Beside the verdict, a scan can keep for some values the groups that the knowledge skyline needs.
//! Memory: O(kept groups) per value, see [`KeptGroups`]; and the numbers of groups by size.

use std::collections::HashMap;
use std::sync::Arc;

use super::criterion::GroupCount;
use super::values::Codes;
use crate::error::Result;
use crate::skyline::{Confidence, KeptGroups, Ranking, Values};

/// For which values the groups that matter are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sought {
    /// For none.
    Nothing,
    /// For every value of the table, at this confidence.
    Every(Confidence),
    /// For the values with these names, each at its confidence.
    These(Vec<(String, Confidence)>),
}

/// The same by code.
pub(super) enum SoughtCodes {
    Nothing,
    Every(Confidence),
    These(HashMap<u32, Confidence>),
}

impl SoughtCodes {
    /// Gives the named values their codes.
    pub fn new(sought: &Sought, codes: &Codes) -> Result<Self> {
        Ok(match sought {
            Sought::Nothing => SoughtCodes::Nothing,
            Sought::Every(confidence) => SoughtCodes::Every(confidence.clone()),
            Sought::These(names) => {
                let coded =
                    names.iter().map(|(name, confidence)| Ok((codes.code(name)?, confidence.clone())));
                SoughtCodes::These(coded.collect::<Result<_>>()?)
            }
        })
    }

    fn confidence(&self, code: u32) -> Option<&Confidence> {
        match self {
            SoughtCodes::Nothing => None,
            SoughtCodes::Every(confidence) => Some(confidence),
            SoughtCodes::These(codes) => codes.get(&code),
        }
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
        if matches!(*self.sought, SoughtCodes::Nothing) {
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
        if let SoughtCodes::These(named) = &*self.sought {
            for (&code, confidence) in named {
                let new = || KeptGroups::new(self.values, confidence.clone());
                self.by_code.entry(code).or_insert_with(new);
            }
        }
        let names = codes.names();
        let name = |(code, kept): (u32, KeptGroups)| (names[code as usize].to_string(), kept);
        let mut all: Vec<_> = self.by_code.into_iter().map(name).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}
