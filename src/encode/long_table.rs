//! The people of a table that has several rows per person, in any order.
//!
//! The rows, as codes, are sorted by person out of core. Each person is then assembled from their rows, which must all
//! describe the same person. Some codes depend on how many people have a value, which is known only then, so these
//! codes are settled last.
//!
//! Memory: half of the free budget for the sorter; the values of one person; pages while they fit.
//! Invariant: the result equals that of a table with one row per person and a list of values. The order of the rows
//! does not matter, and the column that identifies people is not used outside this file.

use super::attribute::{Attribute, Coding};
use super::cells::{CellTexts, keys};
use super::codes::Codes;
use super::combination::SensitiveColumns;
use super::encoder::Encoder;
use super::fingerprint::{Fingerprint, RowHasher};
use super::group_counts::GroupCounts;
use super::page::{Layout, Page, PageStore, Travelling};
use super::payload::Payload;
use super::rows::{Rows, Sensitive, end_list};
use super::scale::Scale;
use super::source::{Encoded, Source, SourceBatches};
use super::source_columns::{SourceBatch, SourceColumns};
use crate::error::{Error, Result, number_of};
use crate::math::hash_sample::hash_text;
use crate::math::skyline::Values;
use crate::resources::budget::Budget;
use crate::resources::sorter::Sorter;
use crate::resources::spill::Spill;
use crate::table::ColumnKind;
use arrow_array::{Array, ArrayRef};
use arrow_row::{RowConverter, Rows as PersonKeys, SortField};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A table with several rows per person.
pub struct LongTable<'a> {
    /// The table.
    pub source: &'a Source<'a>,
    /// The column that identifies people.
    pub individual: &'a str,
    /// The layout of a page.
    pub layout: &'a Layout,
    /// The codes of the sensitive values.
    pub sensitive: &'a SensitiveColumns,
    /// Encodes the columns that travel with their rows.
    pub payload: Option<&'a Payload>,
    /// Fingerprints the rows.
    pub hasher: &'a RowHasher<'a>,
}

/// The code of a row without a value; it comes after all others.
const NO_VALUE: u32 = u32::MAX;

/// The values of one person are sorted, and repetitions in sets dropped, when there are so many.
const SORTED_VALUES: usize = 1 << 10;

/// An error names at most so many rows.
const NAMED_ROWS: usize = 10;

impl LongTable<'_> {
    /// Reads the people as pages of codes. `by_frequency` marks the quasi-identifiers whose texts are ordered by the
    /// number of people who have them.
    pub fn read<'s>(
        &self,
        attributes: &mut [Attribute],
        by_frequency: &[bool],
        spill: &'s Spill,
    ) -> Result<Encoded<'s>> {
        let (sorter, fingerprint) = self.sort(attributes, spill)?;
        let mut gathering = Gathering::new(self, attributes, spill);
        self.source.resources.progress.start("bringing people together", None);
        sorter.finish(|record| gathering.take(record))?;
        let (store, frequencies) = gathering.finish()?;
        let orders = attributes.iter_mut().zip(frequencies).zip(by_frequency);
        let orders: Vec<Option<Vec<u16>>> = orders
            .map(|((own, people), &ordered)| if ordered { reorder(own, &people) } else { None })
            .collect();
        let (store, whole) = self.settle(store, &orders, spill)?;
        Ok(Encoded { store, whole, fingerprint })
    }

    /// The rows as records, sorted by person, and their fingerprint.
    fn sort<'s>(&self, attributes: &[Attribute], spill: &'s Spill) -> Result<(Sorter<'s>, Fingerprint)> {
        let encoder = Encoder::new(attributes, self.sensitive, self.budget());
        let converter = self.converter()?;
        let sorter = Mutex::new(Sorter::new(self.budget(), spill)?);
        let nameless = AtomicU64::new(0);
        let work = |batches: SourceBatches<'_>| {
            let mut batches = batches.hashed_by(self.hasher);
            for batch in batches.by_ref() {
                let batch = batch?;
                let nulls = batch.of_rows().map_or(0, |person| person.logical_null_count());
                nameless.fetch_add(nulls as u64, Ordering::Relaxed);
                self.push(&batch, attributes, &encoder, &converter, &sorter)?;
            }
            Ok(batches.fingerprint())
        };
        let mut fingerprint = Fingerprint::default();
        self.source.scan("sorting rows by person", work, |part| {
            fingerprint.merge(part);
            Ok(())
        })?;
        match nameless.into_inner() {
            0 => Ok((sorter.into_inner().unwrap_or_else(PoisonError::into_inner), fingerprint)),
            rows => Err(Error::input(
                format!(
                    "column {:?} is null in {}, so nobody knows whose they are",
                    self.individual,
                    number_of(rows, "row", "rows")
                ),
                "give every row its person",
            )),
        }
    }

    fn converter(&self) -> Result<RowConverter> {
        let kind = self.source.table.kind(self.individual)?;
        RowConverter::new(vec![SortField::new(kind.data_type())]).map_err(|_| no_key(self.individual))
    }

    /// The key of the person of each row of a batch.
    fn keys(&self, converter: &RowConverter, batch: &SourceBatch) -> Result<PersonKeys> {
        let persons = batch.of_rows().map_or(&[][..], std::slice::from_ref);
        converter.convert_columns(persons).map_err(|_| no_key(self.individual))
    }

    /// Adds the rows of a batch: the person, the codes, the numbers that distinguish more values than the codes do, the
    /// sensitive codes, the columns that travel, and their length.
    fn push(
        &self,
        batch: &SourceBatch,
        attributes: &[Attribute],
        encoder: &Encoder<'_>,
        converter: &RowConverter,
        sorter: &Mutex<Sorter<'_>>,
    ) -> Result<()> {
        let quasi = batch.quasi();
        let persons = self.keys(converter, batch)?;
        let codes = encoder.quasi_codes(quasi)?;
        let finer: Vec<Vec<u64>> = attributes
            .iter()
            .zip(quasi)
            .filter(|(attribute, _)| is_coarse(attribute))
            .map(|(attribute, array)| finer(attribute, array))
            .collect::<Result<_>>()?;
        let values = encoder.values_of_rows(batch.sensitive())?;
        let mut payload = Travelling::default();
        match self.payload {
            Some(kept) => kept.append(batch.travelling(), &mut payload.lengths, &mut payload.bytes)?,
            None => payload.lengths = vec![0; batch.len()],
        }
        let mut fixed = Vec::new();
        let mut sorter = sorter.lock().unwrap_or_else(PoisonError::into_inner);
        for (row, own) in payload.rows().enumerate() {
            fixed.clear();
            codes.iter().for_each(|codes| fixed.extend_from_slice(&codes.get(row).to_be_bytes()));
            finer.iter().for_each(|finer| fixed.extend_from_slice(&finer[row].to_be_bytes()));
            let codes = values.iter().map(|values| values[row].map_or(NO_VALUE, u32::from).to_be_bytes());
            codes.for_each(|code| fixed.extend_from_slice(&code));
            let length = own.len() as u32;
            let person = persons.row(row);
            sorter.push(&[person.as_ref(), &fixed, own, &length.to_be_bytes()])?;
        }
        Ok(())
    }

    /// Puts the codes of the pages into their final order, and counts them.
    fn settle<'s>(
        &self,
        mut store: PageStore<'s>,
        orders: &[Option<Vec<u16>>],
        spill: &'s Spill,
    ) -> Result<(PageStore<'s>, GroupCounts)> {
        let distinct = self.sensitive.len();
        let mut whole = GroupCounts::none(distinct);
        let mut observe = |rows: &Rows| whole.add(&rows.total(distinct));
        if orders.iter().all(Option::is_none) {
            let mut room = self.layout.empty(0);
            for page in 0..store.len() {
                observe(store.load(page, &mut room)?);
            }
            return Ok((store, whole));
        }
        let settled = Mutex::new(PageStore::new(self.layout.clone(), self.budget(), spill));
        while let Some(Page { mut rows, payload }) = store.take()? {
            let columns = rows.columns.iter_mut().zip(orders).zip(&self.layout.columns);
            for ((codes, order), &many) in columns {
                if let Some(order) = order {
                    let mut new = Codes::with_capacity(many, codes.len());
                    (0..codes.len()).for_each(|row| new.push(order[usize::from(codes.get(row))]));
                    *codes = new;
                }
            }
            observe(&rows);
            PageStore::push_shared(&settled, Page { rows, payload })?;
        }
        let store = settled.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((store, whole))
    }
}

/// Whether a code may represent several values.
fn is_coarse(attribute: &Attribute) -> bool {
    match &attribute.coding {
        Coding::Numbers(ordered) => ordered.are_coarse(),
        Coding::TextRanges { .. } => true,
        Coding::Set { other, .. } => other.is_some(),
        Coding::Tree { hierarchy, .. } => hierarchy.other().is_some(),
    }
}

/// Numbers that differ whenever the values differ.
fn finer(attribute: &Attribute, array: &ArrayRef) -> Result<Vec<u64>> {
    match ColumnKind::of(array.data_type()).and_then(|kind| Scale::of(&kind)) {
        Some(scale) => {
            let keys = keys(array, scale, &attribute.name)?;
            Ok((0..array.len()).map(|row| keys.get(row).map_or(0, |key| key as u64)).collect())
        }
        None => {
            let texts = CellTexts::new(array);
            let entries: Vec<u64> = texts.dictionary.iter().map(|text| text.map_or(0, hash_text)).collect();
            Ok((0..array.len()).map(|row| texts.entry(row).map_or(0, |entry| entries[entry])).collect())
        }
    }
}

/// Orders the texts of a column by the number of people who have them, as in a table with one row per person. Returns
/// the new code for each code, or `None` if nothing changes.
fn reorder(attribute: &mut Attribute, people: &[u64]) -> Option<Vec<u16>> {
    let null = u16::from(attribute.nulls);
    let Coding::Set { values, other: None } = &mut attribute.coding else { return None };
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&one, &other| {
        let people = |place: usize| Reverse(people[place + usize::from(null)]);
        people(one).cmp(&people(other)).then_with(|| values[one].cmp(&values[other]))
    });
    if order.is_sorted() {
        return None;
    }
    *values = order.iter().map(|&place| values[place].clone()).collect();
    let mut codes: Vec<u16> = (0..people.len() as u16).collect();
    for (new, &old) in (null..).zip(&order) {
        codes[old + usize::from(null)] = new;
    }
    Some(codes)
}

fn no_key(column: &str) -> Error {
    Error::input(
        format!("column {column:?} cannot distinguish people"),
        "name a column of numbers, text, dates or times in columns.individual",
    )
}

/// People while they are assembled from sorted records.
struct Gathering<'t, 's> {
    table: &'t LongTable<'t>,
    names: Vec<String>,
    /// Which quasi-identifiers have finer numbers, in their order.
    coarse: Vec<usize>,
    /// How many sensitive codes a record has.
    values: usize,
    store: Mutex<PageStore<'s>>,
    page: Page,
    person: Option<Person>,
    /// How many people have each code of each quasi-identifier.
    frequencies: Vec<Vec<u64>>,
    /// For each column, the number of people whose rows differ in it.
    differing: BTreeMap<String, u64>,
    /// The key of one of these people.
    example: Vec<u8>,
}

/// One person.
struct Person {
    key: Vec<u8>,
    /// The codes, and the numbers that are finer than the codes.
    quasi: Vec<u8>,
    payload: Vec<u8>,
    values: Vec<u16>,
    /// The values are sorted when there are so many.
    sort_at: usize,
    /// Columns in which the person's rows differ.
    differing: BTreeSet<String>,
}

impl<'t, 's> Gathering<'t, 's> {
    fn new(table: &'t LongTable<'t>, attributes: &[Attribute], spill: &'s Spill) -> Self {
        let coarse = (0..attributes.len()).filter(|&i| is_coarse(&attributes[i])).collect();
        Gathering {
            table,
            names: attributes.iter().map(|attribute| attribute.name.clone()).collect(),
            coarse,
            values: table.sensitive.codes_of_row(),
            store: Mutex::new(PageStore::new(table.layout.clone(), table.budget(), spill)),
            page: Page::empty(table.layout),
            person: None,
            frequencies: attributes.iter().map(|attribute| vec![0; attribute.codes() as usize]).collect(),
            differing: BTreeMap::new(),
            example: Vec::new(),
        }
    }

    /// Adds the next record.
    fn take(&mut self, record: &[u8]) -> Result<()> {
        let broken = || Error::input("a row of the spill is broken", "this is a defect; please report it");
        let (rest, length) = record.split_last_chunk::<4>().ok_or_else(broken)?;
        let length = u32::from_be_bytes(*length) as usize;
        let (rest, payload) = rest.split_at_checked(rest.len().wrapping_sub(length)).ok_or_else(broken)?;
        let (rest, values) =
            rest.split_at_checked(rest.len().wrapping_sub(4 * self.values)).ok_or_else(broken)?;
        let width = 2 * self.names.len() + 8 * self.coarse.len();
        let (key, quasi) = rest.split_at_checked(rest.len().wrapping_sub(width)).ok_or_else(broken)?;
        if self.person.as_ref().is_none_or(|person| person.key != key) {
            self.finish_person()?;
            self.person = Some(Person {
                key: key.to_vec(),
                quasi: quasi.to_vec(),
                payload: payload.to_vec(),
                values: Vec::new(),
                sort_at: SORTED_VALUES,
                differing: BTreeSet::new(),
            });
        }
        let Some(person) = &mut self.person else { return Ok(()) };
        if person.quasi != quasi {
            differing_quasi(&person.quasi, quasi, &self.names, &self.coarse, &mut person.differing);
        }
        if let Some(kept) = self.table.payload.filter(|_| person.payload != payload) {
            let columns = kept.columns(&[person.payload.clone(), payload.to_vec()])?;
            let differ =
                kept.fields().iter().zip(columns).filter(|(_, two)| two.slice(0, 1) != two.slice(1, 1));
            person.differing.extend(differ.map(|(field, _)| field.name().clone()));
        }
        let values =
            values.chunks_exact(4).map(|code| u32::from_be_bytes([code[0], code[1], code[2], code[3]]));
        values.flat_map(u16::try_from).try_for_each(|value| self.table.add_value(value, person))
    }

    /// Completes the current person.
    fn finish_person(&mut self) -> Result<()> {
        let Some(mut person) = self.person.take() else { return Ok(()) };
        self.table.sort_values(&mut person);
        if !person.differing.is_empty() {
            self.example = person.key;
        }
        for column in person.differing {
            *self.differing.entry(column).or_default() += 1;
        }
        let Page { rows, payload } = &mut self.page;
        let codes = person.quasi.chunks_exact(2).map(|code| u16::from_be_bytes([code[0], code[1]]));
        for ((codes, frequencies), code) in rows.columns.iter_mut().zip(&mut self.frequencies).zip(codes) {
            codes.push(code);
            frequencies[usize::from(code)] += 1;
        }
        match &mut rows.sensitive {
            Sensitive::Single(codes) => codes.push(person.values.first().copied().unwrap_or(0)),
            Sensitive::Lists { lists, offsets, values } => {
                values.extend(person.values);
                end_list(lists, offsets, values.len())?;
            }
        }
        if self.table.payload.is_some() {
            payload.lengths.push(person.payload.len() as u32);
            payload.bytes.extend(person.payload);
        }
        if self.page.is_full(self.table.layout) {
            let full = std::mem::replace(&mut self.page, Page::empty(self.table.layout));
            PageStore::push_shared(&self.store, full)?;
        }
        Ok(())
    }

    /// Returns all people, and how many have each code.
    fn finish(mut self) -> Result<(PageStore<'s>, Vec<Vec<u64>>)> {
        self.finish_person()?;
        PageStore::push_shared(&self.store, self.page)?;
        if !self.differing.is_empty() {
            return Err(self.table.disagreement(&self.differing, &self.table.rows_of(&self.example)?));
        }
        Ok((self.store.into_inner().unwrap_or_else(PoisonError::into_inner), self.frequencies))
    }
}

impl LongTable<'_> {
    fn budget(&self) -> &Arc<Budget> {
        &self.source.resources.budget
    }

    /// Adds the value of another row to a person.
    fn add_value(&self, value: u16, person: &mut Person) -> Result<()> {
        // The code of the single-valued columns comes first and stays there.
        if let (Values::Single, Some(&first)) = (self.sensitive.per_person(value), person.values.first()) {
            if first != value {
                let columns = self.sensitive.columns().iter().enumerate();
                let differ = columns
                    .filter(|(i, _)| self.sensitive.value(first, *i) != self.sensitive.value(value, *i))
                    .map(|(_, column)| column.name.clone());
                person.differing.extend(differ);
            }
            return Ok(());
        }
        person.values.push(value);
        let limit = self.budget().total() / 4;
        if person.values.len() >= person.sort_at || 2 * person.values.len() as u64 > limit {
            self.sort_values(person);
            person.sort_at = (2 * person.values.len()).max(SORTED_VALUES);
        }
        let bytes = 2 * person.values.len() as u64;
        if bytes > limit {
            let (stage, needed) = ("keeping the values of one person", 8 * bytes);
            return Err(Error::Memory { stage, needed, budget: self.budget().total() });
        }
        Ok(())
    }

    /// Sorts the values of a person, and drops those that a set repeats.
    fn sort_values(&self, person: &mut Person) {
        person.values.sort_unstable();
        person.values.dedup_by(|one, other| one == other && self.sensitive.per_person(*one) == Values::Set);
    }

    /// The numbers of the first [`NAMED_ROWS`] rows of a person, counted from 1.
    fn rows_of(&self, person: &[u8]) -> Result<Vec<u64>> {
        let Source { table, columns, resources } = self.source;
        let (quasi, sensitive, travelling, watched) = (vec![], vec![], vec![], vec![]);
        let columns =
            SourceColumns { quasi, sensitive, travelling, watched, person: None, ..columns.clone() };
        let converter = self.converter()?;
        let work = |batches: SourceBatches<'_>| {
            let (mut first, mut found) = (batches.first_row() + 1, Vec::new());
            for batch in batches {
                let batch = batch?;
                let keys = self.keys(&converter, &batch)?;
                let own = (first..).zip(&keys).filter(|(_, key)| key.as_ref() == person);
                found.extend(own.map(|(row, _)| row).take(NAMED_ROWS));
                first += batch.len() as u64;
            }
            Ok(found)
        };
        let mut rows = Vec::new();
        Source { table, columns, resources }.scan("looking for rows", work, |found| {
            rows.extend(found);
            Ok(())
        })?;
        rows.sort_unstable();
        rows.truncate(NAMED_ROWS);
        Ok(rows)
    }

    /// `rows` are those of one of the people.
    fn disagreement(&self, differing: &BTreeMap<String, u64>, rows: &[u64]) -> Error {
        let found = differing.iter().map(|(column, people)| {
            format!("column {column:?} differs for {}", number_of(*people, "person", "people"))
        });
        let sensitive = |column: &String| self.sensitive.columns().iter().any(|own| own.name == *column);
        let remedy = match differing.keys().all(sensitive) {
            true => {
                "give every person one value, or set privacy.values, or values below the [privacy.column.NAME] of this \
                 column, to \"set\" or \"multiset\""
            }
            false => {
                "let all rows of a person agree in what is not sensitive, or drop the column; if people have several \
                 sensitive values, set privacy.values = \"set\" as well"
            }
        };
        Error::input(
            format!(
                "the rows of some people disagree: {}, as in rows {}",
                found.collect::<Vec<_>>().join(", "),
                rows.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
            ),
            remedy,
        )
    }
}

/// The quasi-identifiers in which two rows differ.
fn differing_quasi(
    one: &[u8],
    other: &[u8],
    names: &[String],
    coarse: &[usize],
    differing: &mut BTreeSet<String>,
) {
    let (one_codes, one_finer) = one.split_at(2 * names.len());
    let (other_codes, other_finer) = other.split_at(2 * names.len());
    let codes = one_codes.chunks(2).zip(other_codes.chunks(2)).zip(names);
    differing.extend(codes.filter(|((one, other), _)| one != other).map(|(_, name)| name.clone()));
    let finer = one_finer.chunks(8).zip(other_finer.chunks(8)).zip(coarse);
    differing.extend(finer.filter(|((one, other), _)| one != other).map(|(_, &at)| names[at].clone()));
}
