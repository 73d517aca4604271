//! The scans of a table.
//!
//! The first scan finds the values, which determine the codes. If there are several sensitive columns, a second scan
//! finds their combinations. The last scan turns rows into codes, batch by batch or as pages.
//!
//! Memory: what [`FirstScan`](super::source_columns::FirstScan) holds; pages while they fit.

use super::attribute::Attribute;
use super::column_values::ColumnValues;
use super::combination::{CombinationsFound, SensitiveColumns};
use super::encoder::{Encoder, single_codes};
use super::fingerprint::{Fingerprint, FingerprintKey, RowHasher};
use super::group_counts::GroupCounts;
use super::long_table::LongTable;
use super::page::{Layout, Page, PageStore, Travelling};
use super::payload::Payload;
use super::person::PersonMarker;
use super::repeated_ids::{IdColumn, RepeatedIds};
use super::sensitive::SensitiveCoding;
use super::source_columns::{RowsAre, SensitiveSource, SourceBatch, SourceColumns, TableValues};
use crate::error::Result;
use crate::math::skyline::Values;
use crate::policy::{Quasi, QuasiShape};
use crate::resources::Resources;
use crate::resources::spill::Spill;
use crate::table::read::{Morsel, Table};
use arrow_schema::Field;
use std::sync::{Mutex, PoisonError};

/// A table whose columns have roles.
pub struct Source<'a> {
    /// The table.
    pub table: &'a Table,
    /// The roles of its columns.
    pub columns: SourceColumns<'a>,
    /// The resources that scans may use.
    pub resources: &'a Resources<'a>,
}

/// The rows as codes.
pub struct Encoded<'s> {
    /// The pages.
    pub store: PageStore<'s>,
    /// All rows counted together.
    pub whole: GroupCounts,
    /// The rows that were read.
    pub fingerprint: Fingerprint,
}

/// The codes of the values of a table.
pub struct DecidedCodes {
    /// Those of the quasi-identifiers.
    pub attributes: Vec<Attribute>,
    /// Those of the sensitive columns.
    pub sensitive: SensitiveColumns,
    /// Columns that are not published and could hold ids.
    pub ids: Vec<RepeatedIds>,
}

/// Consecutive batches of a source, for one worker.
pub struct SourceBatches<'s> {
    source: &'s Source<'s>,
    morsel: Morsel<'s>,
    hasher: Option<&'s RowHasher<'s>>,
    fingerprint: Fingerprint,
}

impl<'s> SourceBatches<'s> {
    /// The position of the first row in the table, counted from 0.
    pub fn first_row(&self) -> u64 {
        self.morsel.first_row()
    }

    /// The same batches, which are fingerprinted while they are read.
    pub fn hashed_by(self, hasher: &'s RowHasher<'s>) -> Self {
        SourceBatches { hasher: Some(hasher), ..self }
    }

    /// The fingerprint of the batches that were read.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

impl Iterator for SourceBatches<'_> {
    type Item = Result<SourceBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.morsel.next()?.and_then(|batch| {
            self.source.resources.progress.advance(batch.num_rows() as u64);
            if let Some(hasher) = self.hasher {
                self.fingerprint.merge(hasher.hash(batch.columns(), batch.num_rows())?);
            }
            self.source.columns.split(batch)
        });
        Some(batch)
    }
}

impl<'a> Source<'a> {
    /// The quasi-identifiers as described in the policy.
    pub fn quasi(&self) -> impl Iterator<Item = &'a Quasi> {
        self.columns.quasi.iter().copied()
    }

    /// Encodes the columns that travel with their rows, and marks the people of a release that is continued; `None` if
    /// there is nothing to carry along.
    pub fn payload(&self, key: &FingerprintKey) -> Result<Option<Payload>> {
        let schema = self.table.schema();
        let fields = self.columns.travelling.iter().filter_map(|name| schema.field_with_name(name).ok());
        let fields: Vec<&Field> = fields.collect();
        match self.marker(key) {
            Some(marker) => Ok(Some(Payload::new(&fields)?.marked_by(marker))),
            None if fields.is_empty() => Ok(None),
            None => Payload::new(&fields).map(Some),
        }
    }

    /// Marks the people of a release that is continued.
    pub fn marker(&self, key: &FingerprintKey) -> Option<PersonMarker> {
        let sensitive = self.columns.sensitive.iter().map(|column| column.name);
        self.columns.person.map(|person| PersonMarker::new(key, person, sensitive))
    }

    /// Scans all rows: `work` runs on the worker threads, `consume` receives the results in table order.
    pub fn scan<T: Send>(
        &self,
        phase: &'static str,
        work: impl Fn(SourceBatches<'_>) -> Result<T> + Sync,
        consume: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let progress = self.resources.progress;
        progress.start(phase, self.table.rows());
        let work = |morsel: Morsel<'_>| {
            work(SourceBatches { source: self, morsel, hasher: None, fingerprint: Fingerprint::default() })
        };
        let outcome = self.table.scan(&self.columns.wanted(), self.resources, work, consume);
        progress.finish();
        outcome
    }

    /// The same table with other columns.
    fn with(&self, columns: SourceColumns<'a>) -> Source<'a> {
        Source { table: self.table, columns, resources: self.resources }
    }

    /// The same table without the columns that only the first scan looks at.
    pub fn without_watched(&self) -> Source<'a> {
        self.with(SourceColumns { watched: vec![], ..self.columns.clone() })
    }

    /// The first scan: the values of the quasi-identifiers and the sensitive columns.
    pub fn find_values(&self) -> Result<TableValues> {
        self.observe()?.judged(self.columns.counted())
    }

    /// The first scan of a table that is a part of another one, and may be empty.
    pub fn observe(&self) -> Result<TableValues> {
        let judged = self.with(SourceColumns { travelling: vec![], person: None, ..self.columns.clone() });
        let found = judged.columns.first_scan(self.table, &self.resources.budget)?;
        let work = |batches: SourceBatches<'_>| {
            let begin_at = batches.morsel.index() as usize;
            batches.into_iter().try_for_each(|batch| found.observe(&batch?, begin_at, None))
        };
        judged.scan("reading values", work, |()| Ok(()))?;
        Ok(found.of_part())
    }

    /// The watched columns that could hold ids, in a scan of their own.
    pub fn find_ids(&self) -> Result<Vec<RepeatedIds>> {
        if self.columns.watched.is_empty() {
            return Ok(Vec::new());
        }
        let alone = SourceColumns { quasi: vec![], sensitive: vec![], ..self.columns.clone() };
        Ok(self.with(alone).find_values()?.ids.into_iter().filter_map(IdColumn::finish).collect())
    }

    /// Runs the first scan and derives the codes from its result.
    pub fn read_values(&self) -> Result<DecidedCodes> {
        self.decide_codes(self.find_values()?, |codings| self.find_combinations(codings))
    }

    /// The codes that follow from the values of a table. If there are several single-valued sensitive columns, `combinations`
    /// finds out which values occur together.
    pub fn decide_codes(
        &self,
        found: TableValues,
        combinations: impl FnOnce(&[SensitiveCoding]) -> Result<CombinationsFound>,
    ) -> Result<DecidedCodes> {
        let sensitive = self.code_sensitive(found.sensitive, combinations)?;
        let attributes =
            self.quasi().zip(found.quasi).map(|(quasi, found)| Attribute::of_quasi(quasi, found));
        let ids = found.ids.into_iter().filter_map(IdColumn::finish);
        Ok(DecidedCodes { attributes: attributes.collect::<Result<_>>()?, sensitive, ids: ids.collect() })
    }

    /// The codes of the sensitive columns. If several are single-valued, reads which combinations occur.
    pub fn sensitive_columns(&self, found: Vec<ColumnValues>) -> Result<SensitiveColumns> {
        self.code_sensitive(found, |codings| self.find_combinations(codings))
    }

    fn code_sensitive(
        &self,
        found: Vec<ColumnValues>,
        combinations: impl FnOnce(&[SensitiveCoding]) -> Result<CombinationsFound>,
    ) -> Result<SensitiveColumns> {
        let codings = self.columns.sensitive_codings(self.table, found)?;
        let combinations = match codings.iter().filter(|coding| coding.is_single()).count() {
            0 | 1 => CombinationsFound::default(),
            _ => combinations(&codings)?,
        };
        SensitiveColumns::several(codings, combinations)
    }

    /// The combinations of values that occur in the single-valued sensitive columns.
    pub fn find_combinations(&self, codings: &[SensitiveCoding]) -> Result<CombinationsFound> {
        let single = |column: &&SensitiveSource<'a>| column.values == Values::Single;
        let alone = SourceColumns {
            quasi: vec![],
            sensitive: self.columns.sensitive.iter().filter(single).copied().collect(),
            travelling: vec![],
            watched: vec![],
            person: None,
            ..self.columns.clone()
        };
        let combinations = Mutex::new(CombinationsFound::default());
        let work = |batches: SourceBatches<'_>| {
            for batch in batches {
                let batch = batch?;
                let columns = codings.iter().filter(|coding| coding.is_single()).zip(batch.sensitive());
                let codes = columns.map(|(coding, array)| single_codes(coding, array));
                let own = CombinationsFound::of(&codes.collect::<Result<Vec<_>>>()?);
                combinations.lock().unwrap_or_else(PoisonError::into_inner).merge(own);
            }
            Ok(())
        };
        self.with(alone).scan("reading combinations", work, |()| Ok(()))?;
        Ok(combinations.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Hashes the rows of this source.
    pub fn hasher<'k>(&self, key: &'k FingerprintKey) -> RowHasher<'k> {
        RowHasher::new(key, self.columns.deciding())
    }

    /// A scan of its own for the fingerprint of all rows.
    pub fn fingerprint(&self, hasher: &RowHasher<'_>) -> Result<Fingerprint> {
        let judged = self.with(SourceColumns { travelling: vec![], person: None, ..self.columns.clone() });
        let work = |batches: SourceBatches<'_>| {
            let mut batches = batches.hashed_by(hasher);
            batches.by_ref().try_for_each(|batch| batch.map(drop))?;
            Ok(batches.fingerprint())
        };
        let mut fingerprint = Fingerprint::default();
        judged.scan("fingerprinting", work, |part| {
            fingerprint.merge(part);
            Ok(())
        })?;
        Ok(fingerprint)
    }

    /// The layout of a page of codes.
    pub fn layout(&self, attributes: &[Attribute], sensitive: &SensitiveColumns) -> Layout {
        Layout::of(attributes, sensitive)
    }

    /// The last scan, unless the first one kept the rows: the rows as pages of codes. If a person has several rows, their
    /// values are collected first, and codes that depend on the number of people with a value are settled only then:
    /// `attributes` may change.
    pub fn read_rows<'s>(
        &self,
        attributes: &mut [Attribute],
        sensitive: &SensitiveColumns,
        payload: Option<&Payload>,
        hasher: &RowHasher<'_>,
        spill: &'s Spill,
    ) -> Result<Encoded<'s>> {
        let source = &self.without_watched();
        let RowsAre::ValuesOf(individual) = self.columns.rows else {
            return source.read_people(attributes, sensitive, payload, hasher, spill);
        };
        let layout = self.layout(attributes, sensitive);
        let long = LongTable { source, individual, layout: &layout, sensitive, payload, hasher };
        let plain: Vec<bool> = self.quasi().map(|quasi| matches!(quasi.shape, QuasiShape::Plain)).collect();
        long.read(attributes, &plain, spill)
    }

    /// Reads a table in which each row is a person, or represents several people.
    fn read_people<'s>(
        &self,
        attributes: &[Attribute],
        sensitive: &SensitiveColumns,
        payload: Option<&Payload>,
        hasher: &RowHasher<'_>,
        spill: &'s Spill,
    ) -> Result<Encoded<'s>> {
        let store = PageStore::new(self.layout(attributes, sensitive), &self.resources.budget, spill);
        let store = Mutex::new(store);
        let push = |page: Page| PageStore::push_shared(&store, page);
        let (whole, fingerprint) = self.encode_people(attributes, sensitive, payload, hasher, push)?;
        let store = store.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Encoded { store, whole, fingerprint })
    }

    /// Passes the rows of such a table on as pages, on any thread; returns what they hold together.
    pub fn encode_people(
        &self,
        attributes: &[Attribute],
        sensitive: &SensitiveColumns,
        payload: Option<&Payload>,
        hasher: &RowHasher<'_>,
        push: impl Fn(Page) -> Result<()> + Sync,
    ) -> Result<(GroupCounts, Fingerprint)> {
        let encoder = Encoder::new(attributes, sensitive, &self.resources.budget);
        let append = |people: &SourceBatch, page: &mut Page, _| {
            encoder.append(people.quasi(), people.sensitive(), &mut page.rows)?;
            match payload {
                None => Ok(()),
                Some(payload) => {
                    let Travelling { lengths, bytes } = &mut page.payload;
                    payload.append_people(people, lengths, bytes)
                }
            }
        };
        let distinct = sensitive.len();
        let whole = Mutex::new(GroupCounts::none(distinct));
        let push = |page: Page| {
            whole.lock().unwrap_or_else(PoisonError::into_inner).add(&page.rows.total(distinct));
            push(page)
        };
        let fingerprint = self.scan_pages(&self.layout(attributes, sensitive), hasher, append, push)?;
        Ok((whole.into_inner().unwrap_or_else(PoisonError::into_inner), fingerprint))
    }

    /// Scans all rows, which `append` adds to pages, and passes the pages on, on any thread. `append` also receives the
    /// number of the rows' morsel. Returns the fingerprint of the rows.
    pub(super) fn scan_pages(
        &self,
        layout: &Layout,
        hasher: &RowHasher<'_>,
        append: impl Fn(&SourceBatch, &mut Page, usize) -> Result<()> + Sync,
        push: impl Fn(Page) -> Result<()> + Sync,
    ) -> Result<Fingerprint> {
        // Partly filled pages that a morsel left for the next one.
        let open: Mutex<Vec<Page>> = Mutex::default();
        let work = |batches: SourceBatches<'_>| {
            let waiting = open.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut page = waiting.unwrap_or_else(|| Page::empty(layout));
            let morsel = batches.morsel.index() as usize;
            let mut batches = batches.hashed_by(hasher);
            for batch in batches.by_ref() {
                batch?.each_person(|people| {
                    append(people, &mut page, morsel)?;
                    match page.is_full(layout) {
                        true => push(std::mem::replace(&mut page, Page::empty(layout))),
                        false => Ok(()),
                    }
                })?;
            }
            open.lock().unwrap_or_else(PoisonError::into_inner).push(page);
            Ok(batches.fingerprint())
        };
        let mut fingerprint = Fingerprint::default();
        self.scan("reading rows", work, |of_part| {
            fingerprint.merge(of_part);
            Ok(())
        })?;
        open.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().try_for_each(push)?;
        Ok(fingerprint)
    }
}
