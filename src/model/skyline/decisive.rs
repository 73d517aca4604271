//! Which groups decide how sure an adversary becomes, at any point?
//!
//! In addition to the verdict, a scan can keep the groups from which the breach of some values follows at every point.
//! Memory: see [`DecisiveGroups`]; values share the counts of the groups that they keep.

use std::sync::Arc;

use super::knowledge::WantedByCode;
use crate::math::skyline::{DecisiveGroups, OfferedGroup, Ranking, Values};
use crate::model::counted_group::CountedGroup;

/// The groups that were kept so far, for the wanted values.
pub struct DecisiveEvidence {
    values: Values,
    /// The values; their confidences do not matter.
    wanted: Arc<WantedByCode>,
    ranking: Ranking,
    by_code: Vec<Option<Box<DecisiveGroups>>>,
}

impl DecisiveEvidence {
    /// No groups yet.
    pub fn new(values: Values, wanted: &Arc<WantedByCode>) -> Self {
        DecisiveEvidence { values, wanted: wanted.clone(), ranking: Ranking::default(), by_code: Vec::new() }
    }

    /// Adds a group.
    pub fn observe(&mut self, group: &CountedGroup, number: u64) {
        if self.wanted.is_empty() {
            return;
        }
        let ranked = self.ranking.rank(group.people, group.counts().map(|(_, count)| count));
        let by_code = || group.counts().collect();
        let mut offered = OfferedGroup::new(&ranked, number, &by_code);
        for (code, count) in group.counts() {
            if self.wanted.confidence(code).is_some() {
                decisive_of(&mut self.by_code, code, self.values).observe(&mut offered, count);
            }
        }
    }

    /// Adds the groups of another part.
    pub fn merge(&mut self, other: DecisiveEvidence) {
        for (code, decisive) in (0u32..).zip(other.by_code) {
            let Some(decisive) = decisive else { continue };
            decisive_of(&mut self.by_code, code, self.values).merge(*decisive);
        }
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        let kept: u64 = self.by_code.iter().flatten().map(|decisive| decisive.bytes()).sum();
        kept + self.by_code.capacity() as u64 * 8
    }

    /// The groups by value, sorted by name; includes named values that do not occur.
    pub fn finish(mut self, names: &[Arc<str>]) -> Vec<(String, DecisiveGroups)> {
        for code in self.wanted.named() {
            decisive_of(&mut self.by_code, code, self.values);
        }
        let named = self.by_code.into_iter().zip(names);
        let mut all: Vec<_> = named.filter_map(|(own, name)| Some((name.to_string(), *own?))).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}

fn decisive_of(
    by_code: &mut Vec<Option<Box<DecisiveGroups>>>,
    code: u32,
    values: Values,
) -> &mut DecisiveGroups {
    let code = code as usize;
    if by_code.len() <= code {
        by_code.resize_with(code + 1, || None);
    }
    by_code[code].get_or_insert_with(|| Box::new(DecisiveGroups::new(values)))
}
