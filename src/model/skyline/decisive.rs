//! Which groups decide how sure an adversary becomes, at any point?
//!
//! In addition to the verdict, a scan can keep the groups from which the breach of some values follows at every point.
//! Memory: see [`DecisiveGroups`]; values share the counts of the groups that they keep.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::knowledge::WantedByCode;
use crate::math::skyline::{DecisiveGroup, DecisiveGroups, OfferedGroup, Ranking, Values};
use crate::model::counted_group::CountedGroup;
use crate::resources::byte_form::{ByteForm, ByteReader, write_count, write_items};

/// Groups are kept for at most this many values: nobody explores more, and a page of them would be long.
pub const MOST_VALUES: usize = if cfg!(test) { 50 } else { 1 << 14 };

/// What a value takes in the counts of a group that is kept.
const COUNT_BYTES: u64 = 24;

/// The groups that were kept so far, for the wanted values.
pub struct DecisiveEvidence {
    values: Values,
    /// The values; their confidences do not matter.
    wanted: Arc<WantedByCode>,
    ranking: Ranking,
    kept: KeptByCode,
}

/// The groups of each value, as long as there are at most [`MOST_VALUES`]. Their number does not depend on the order of
/// the groups.
struct KeptByCode {
    by_code: Vec<Option<Box<DecisiveGroups>>>,
    values: usize,
}

impl KeptByCode {
    fn has_too_many(&self) -> bool {
        self.values > MOST_VALUES
    }

    /// What is kept for a value.
    fn of(&mut self, code: u32, values: Values) -> &mut DecisiveGroups {
        let code = code as usize;
        if self.by_code.len() <= code {
            self.by_code.resize_with(code + 1, || None);
        }
        self.by_code[code].get_or_insert_with(|| {
            self.values += 1;
            Box::new(DecisiveGroups::new(values))
        })
    }

    /// Keeps nothing if there are too many values.
    fn limit(&mut self) {
        if self.has_too_many() {
            self.by_code = Vec::new();
        }
    }
}

impl DecisiveEvidence {
    /// No groups yet.
    pub fn new(values: Values, wanted: &Arc<WantedByCode>) -> Self {
        let kept = KeptByCode { by_code: Vec::new(), values: 0 };
        DecisiveEvidence { values, wanted: wanted.clone(), ranking: Ranking::default(), kept }
    }

    /// Adds a group.
    pub fn observe(&mut self, group: &CountedGroup, number: u64) {
        if self.wanted.is_empty() || self.kept.has_too_many() {
            return;
        }
        let ranked = self.ranking.rank(group.people, group.counts().map(|(_, count)| count));
        let by_code = || group.counts().collect();
        let mut offered = OfferedGroup::new(&ranked, number, &by_code);
        for (code, count) in group.counts() {
            if self.wanted.confidence(code).is_some() {
                self.kept.of(code, self.values).observe(&mut offered, count);
            }
        }
        self.kept.limit();
    }

    /// Whether there are so many values that nothing is kept.
    pub fn has_given_up(&self) -> bool {
        self.kept.has_too_many()
    }

    /// Keeps nothing from now on.
    pub fn give_up(&mut self) {
        self.kept.values = MOST_VALUES + 1;
        self.kept.limit();
    }

    /// Adds the groups of another part.
    pub fn merge(&mut self, other: DecisiveEvidence) {
        if self.kept.has_too_many() || other.kept.has_too_many() {
            return self.give_up();
        }
        for (code, decisive) in (0u32..).zip(other.kept.by_code) {
            let Some(decisive) = decisive else { continue };
            self.kept.of(code, self.values).merge(*decisive);
        }
        self.kept.limit();
    }

    /// Appends the evidence: the groups, each once, and what does not follow from them.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        self.has_given_up().write(bytes);
        let kept = || (0u32..).zip(&self.kept.by_code).filter_map(|(code, own)| Some((code, own.as_ref()?)));
        write_count(kept().count(), bytes);
        for (code, own) in kept() {
            code.write(bytes);
            (own.occurrences(), (own.certain_from(), own.unknown_from())).write(bytes);
        }
        let groups: BTreeMap<u64, &DecisiveGroup> =
            kept().flat_map(|(_, own)| own.groups()).map(|group| (group.number, group)).collect();
        write_count(groups.len(), bytes);
        for (number, group) in groups {
            (number, group.people).write(bytes);
            write_items(group.counts().iter(), bytes);
        }
    }

    /// Reads the evidence of a judge with the same wanted values; `codes` are those of its values here.
    pub fn read(
        values: Values,
        wanted: &Arc<WantedByCode>,
        codes: &[u32],
        bytes: &mut ByteReader<'_>,
    ) -> Option<Self> {
        type Found = (u64, (Option<u64>, u64));
        type Numbered = ((u64, u64), Vec<(u32, u64)>);
        let mut evidence = DecisiveEvidence::new(values, wanted);
        let given_up = bool::read(bytes)?;
        let found = Vec::<(u32, Found)>::read(bytes)?;
        for ((number, people), counts) in Vec::<Numbered>::read(bytes)? {
            let mut group = CountedGroup::of(people);
            for (code, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
                group.add(*codes.get(code as usize)?, count);
            }
            evidence.observe(&group, number);
        }
        for (code, (occurrences, (certain_from, unknown_from))) in found {
            let code = *codes.get(code as usize)?;
            evidence.kept.of(code, values).amend(occurrences, certain_from, unknown_from);
        }
        evidence.kept.limit();
        if given_up {
            evidence.give_up();
        }
        Some(evidence)
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        let kept: u64 = self.kept.by_code.iter().flatten().map(|decisive| decisive.bytes()).sum();
        kept + self.kept.by_code.capacity() as u64 * 8
    }

    /// The most bytes that a group adds.
    pub fn most_bytes(&self, group: &CountedGroup) -> u64 {
        if self.wanted.is_empty() || self.kept.has_too_many() {
            return 0;
        }
        match group.counts().filter(|(code, _)| self.wanted.confidence(*code).is_some()).count() as u64 {
            0 => 0,
            wanted => wanted * DecisiveGroups::MOST_BYTES_OF_GROUP + group.distinct() * COUNT_BYTES,
        }
    }

    /// The groups by value, sorted by name; includes named values that do not occur.
    pub fn finish(mut self, names: &[Arc<str>]) -> Vec<(String, DecisiveGroups)> {
        if self.kept.has_too_many() {
            return Vec::new();
        }
        for code in self.wanted.named() {
            self.kept.of(code, self.values);
        }
        let named = self.kept.by_code.into_iter().zip(names);
        let mut all: Vec<_> = named.filter_map(|(own, name)| Some((name.to_string(), *own?))).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}
