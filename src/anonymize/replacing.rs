//! Which groups of people who leave are replaced by those who stay?
//!
//! Whoever has both versions of a group has two groups: those who left and those who stayed (mathematics 11). So a group
//! is replaced only if both are admitted as groups in addition to everything published. That all others are withdrawn
//! depends on values, and so the policy must accept it.
//!
//! Rows and people know each other by the keyed tags of values in the ledger. A group whose rows have other tags than
//! its people is withdrawn.
//!
//! Memory: the people of the groups of whoever leaves, taken from the budget.

use crate::check::Subject;
use crate::check::release::{GROUP, Release};
use crate::encode::cells::cell_texts;
use crate::encode::combination::{CombinationsFound, SensitiveColumns};
use crate::encode::group_counts::{GroupCounts, Part};
use crate::encode::person::{PERSON_BYTES, PersonMarker, ValueTag};
use crate::encode::scale::Scale;
use crate::encode::sensitive::{SensitiveCoding, SensitiveValues};
use crate::error::{Error, Result};
use crate::math::skyline::Values;
use crate::model::Policy;
use crate::model::protection::Protection;
use crate::model::published::{PastGroups, PastRecorder};
use crate::model::split::Scratch;
use crate::release::ledger::LedgerReader;
use crate::resources::Resources;
use crate::table::ColumnKind;
use crate::table::read::{ColumnRequest, Morsel, Table};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

/// How many people have each tag.
pub(super) type TagCounts = BTreeMap<ValueTag, u64>;

/// The groups that are replaced.
pub(super) struct Replaced {
    /// The tags of the people who leave, by group.
    pub groups: BTreeMap<u64, TagCounts>,
    /// The groups that decide about later nights, with those that the replacements show.
    pub decisive: PastGroups,
}

/// What is asked.
pub(super) struct Replacing<'a> {
    /// The release.
    pub release: &'a Path,
    /// Its policy.
    pub policy: &'a Policy,
    /// The groups of whoever leaves.
    pub groups: &'a BTreeSet<u64>,
    /// Who leaves.
    pub named: &'a HashSet<[u8; PERSON_BYTES]>,
    /// Marks people and values.
    pub marker: &'a PersonMarker,
    pub resources: &'a Resources<'a>,
}

/// The people of a group.
#[derive(Default)]
struct Members {
    all: TagCounts,
    leaving: TagCounts,
}

/// The values of a group by their tags, and how often they occur; `None` if a tag stands for several values.
type GroupRows = BTreeMap<ValueTag, Option<(Vec<String>, u64)>>;

/// Bytes of a person or a row of the groups, with the entries of the maps.
const ENTRY_BYTES: u64 = 160;
const STAGE: &str = "the groups of people who leave";

impl Replacing<'_> {
    /// Decides group by group, in the order of their numbers.
    pub fn decide(&self, ledger: LedgerReader) -> Result<Replaced> {
        let before = ledger.head().decisive.clone();
        let mut room = self.resources.budget.reserve(STAGE, 0)?;
        let members = self.members(ledger)?;
        let people: u64 = members.values().flat_map(|own| own.all.values()).sum();
        room.resize(STAGE, people * ENTRY_BYTES)?;
        let release = Release::open(self.release)?;
        let Subject::Table(table) = release.subject() else {
            return Ok(Replaced { groups: BTreeMap::new(), decisive: before });
        };
        let mut rows = self.rows(table)?;
        rows.retain(|group, own| members.get(group).is_some_and(|members| agree(own, members)));
        if rows.is_empty() {
            return Ok(Replaced { groups: BTreeMap::new(), decisive: before });
        }
        let coded = CodedValues::new(self.kinds(table)?, &rows)?;
        let (protection, mut scratch) = (Protection::new(self.policy)?, Scratch::default());
        let whole = GroupCounts::none(coded.sensitive.len());
        let mut test = protection.split_test_after(&before, &coded.sensitive, &whole, None)?;
        let mut decisive = PastRecorder::after(test.fork());
        let mut groups = BTreeMap::new();
        for (number, own) in &rows {
            let Some(Members { all, leaving }) = members.get(number) else { continue };
            let staying = all.iter().map(|(tag, people)| (*tag, people - leaving.get(tag).unwrap_or(&0)));
            let parts = [coded.part(own, leaving)?, coded.part(own, &staying.collect())?];
            if parts[1].people > 0 && test.admits(&parts, &mut scratch) {
                test.accept(&parts);
                parts.iter().for_each(|part| decisive.observe(part));
                groups.insert(*number, leaving.clone());
            }
        }
        let decisive = decisive.finish(&coded.sensitive, &before);
        Ok(Replaced { groups, decisive: protection.decisive(decisive, &coded.sensitive)? })
    }

    fn members(&self, mut ledger: LedgerReader) -> Result<BTreeMap<u64, Members>> {
        let mut members: BTreeMap<u64, Members> = BTreeMap::new();
        while let Some(record) = ledger.next()? {
            if record.is_withdrawn() || !self.groups.contains(&record.group()) {
                continue;
            }
            let own = members.entry(record.group()).or_default();
            let tag: ValueTag =
                record.tag().try_into().map_err(|_| Error::defect("a tag of the ledger is short"))?;
            *own.all.entry(tag).or_default() += 1;
            if self.named.contains(record.person()) {
                *own.leaving.entry(tag).or_default() += 1;
            }
        }
        Ok(members)
    }

    /// The sensitive columns with their kinds.
    fn kinds(&self, table: &Table) -> Result<Vec<(String, ColumnKind)>> {
        let columns = self.policy.columns.sensitive.iter();
        columns.map(|column| Ok((column.name.clone(), table.kind(&column.name)?))).collect()
    }

    /// The published values of the groups.
    fn rows(&self, table: &Table) -> Result<BTreeMap<u64, GroupRows>> {
        let kinds = self.kinds(table)?;
        let names = std::iter::once(GROUP).chain(kinds.iter().map(|(name, _)| name.as_str()));
        let columns: Vec<ColumnRequest> = names.map(ColumnRequest::canonical).collect();
        let work = |morsel: Morsel<'_>| {
            let mut found: Vec<(u64, ValueTag, Option<Vec<String>>)> = Vec::new();
            for batch in morsel {
                let batch = batch?;
                let (numbers, sensitive) = batch.columns().split_at(1);
                let numbers = numbers[0].as_primitive_opt::<Int64Type>().ok_or_else(super::erase::unfit)?;
                let tags = self.marker.tags(sensitive, batch.num_rows())?;
                let texts = sensitive.iter().zip(&kinds);
                let texts: Vec<Vec<Option<String>>> = texts
                    .map(|(array, (name, kind))| cell_texts(array, kind, name))
                    .collect::<Result<_>>()?;
                for (row, &number) in numbers.values().iter().enumerate() {
                    if self.groups.contains(&(number as u64)) {
                        let values = texts.iter().map(|column| column[row].clone()).collect();
                        found.push((number as u64, tags[row], values));
                    }
                }
            }
            Ok(found)
        };
        let mut rows: BTreeMap<u64, GroupRows> = BTreeMap::new();
        table.scan(&columns, self.resources, work, |found| {
            for (number, tag, values) in found {
                let own = rows.entry(number).or_default().entry(tag);
                match (own, values) {
                    (std::collections::btree_map::Entry::Vacant(own), values) => {
                        own.insert(values.map(|values| (values, 1)));
                    }
                    (std::collections::btree_map::Entry::Occupied(mut own), values) => match own.get_mut() {
                        Some((known, count)) if Some(&*known) == values.as_ref() => *count += 1,
                        other => *other = None,
                    },
                }
            }
            Ok(())
        })?;
        Ok(rows)
    }
}

/// Whether the rows of a group have the tags of its people.
fn agree(rows: &GroupRows, members: &Members) -> bool {
    rows.len() == members.all.len()
        && rows.iter().zip(&members.all).all(|((tag, own), (other, people))| {
            tag == other && own.as_ref().is_some_and(|(_, count)| count == people)
        })
}

/// The values of some groups by codes.
struct CodedValues {
    sensitive: SensitiveColumns,
}

impl CodedValues {
    fn new(kinds: Vec<(String, ColumnKind)>, rows: &BTreeMap<u64, GroupRows>) -> Result<Self> {
        let all: Vec<&Vec<String>> =
            rows.values().flat_map(BTreeMap::values).flatten().map(|(values, _)| values).collect();
        let mut codings = Vec::new();
        for (place, (name, kind)) in kinds.into_iter().enumerate() {
            let texts: BTreeSet<&str> = all.iter().map(|values| values[place].as_str()).collect();
            let values = match Scale::of(&kind) {
                None => SensitiveValues::Texts(texts.into_iter().map(Box::from).collect()),
                Some(scale) => {
                    let keys: Option<BTreeSet<i64>> =
                        texts.into_iter().map(|text| scale.key_of(text)).collect();
                    let keys = keys.ok_or_else(|| Error::defect("a published value is not of its column"))?;
                    SensitiveValues::Numbers(scale, keys.into_iter().collect())
                }
            };
            codings.push(SensitiveCoding { name, kind, values, null: None, per_person: Values::Single });
        }
        if codings.len() == 1 {
            return Ok(CodedValues { sensitive: SensitiveColumns::one(codings.remove(0)) });
        }
        let code = |(place, coding): (usize, &SensitiveCoding)| {
            all.iter().map(|values| coding.code_of_text(&values[place]).unwrap_or_default()).collect()
        };
        let codes: Vec<Vec<u16>> = codings.iter().enumerate().map(code).collect();
        let found = CombinationsFound::of(&codes);
        Ok(CodedValues { sensitive: SensitiveColumns::several(codings, found)? })
    }

    /// Some people of a group.
    fn part(&self, rows: &GroupRows, people: &TagCounts) -> Result<Part> {
        let unknown = || Error::defect("a value of a group has no code");
        let mut counts = GroupCounts::none(self.sensitive.len());
        for (tag, people) in people {
            let (values, _) = rows.get(tag).and_then(Option::as_ref).ok_or_else(unknown)?;
            let codes = values.iter().zip(self.sensitive.columns());
            let codes: Option<Vec<u16>> = codes.map(|(text, coding)| coding.code_of_text(text)).collect();
            let code = codes.and_then(|codes| self.sensitive.code(&codes)).ok_or_else(unknown)?;
            counts.counts[usize::from(code)] += people;
            counts.people += people;
        }
        Ok(Part::of(&counts))
    }
}
