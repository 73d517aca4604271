//! What if an engine reads the rows, each of its tasks some of them?
//!
//! The stages are those of [`source`](super::source), as functions of values with a byte form: tasks observe the values of
//! their rows, which merge; the codes follow from the merged values, everywhere the same; if there are several sensitive
//! columns, tasks find their combinations, which merge too; then tasks turn their rows into pages, which the engine holds
//! and passes on to later tasks. Rows meet in one place only if they are fetched.

use super::attribute::Attribute;
use super::byte_forms::{CodedPage, Travels};
use super::combination::{CombinationsFound, SensitiveColumns};
use super::fingerprint::{Fingerprint, FingerprintKey};
use super::group_counts::GroupCounts;
use super::page::{Layout, Page, PageStore};
use super::payload::Payload;
use super::sealed_pages::{SealedPages, damaged};
use super::sensitive::SensitiveCoding;
use super::source::{DecidedCodes, Source};
use super::source_columns::{RowsAre, TableValues};
use crate::error::{Error, Result};
use crate::resources::Resources;
use crate::resources::byte_form::{ByteForm, ByteReader, Parcel, PolicyStamp};
use crate::resources::secret::secret;
use crate::resources::spill::Spill;
use std::sync::{Arc, Mutex, PoisonError};

/// An engine whose tasks read the rows of a table.
///
/// It need not understand the bytes that it moves. Every row must be seen by exactly one task of each stage, however often
/// tasks are tried; which task sees it makes no difference.
pub trait RowEngine: Sync {
    /// The values of all rows: what [`TaskRows::observe`] returned for each task, merged in any order.
    fn values(&self) -> Result<Vec<u8>>;

    /// The combinations of sensitive values in all rows: what [`TaskRows::combine`] returned, merged in any order.
    fn combinations(&self, order: &[u8]) -> Result<Vec<u8>>;

    /// Holds what [`TaskRows::encode`] passed on in all tasks, as the set [`ALL_ROWS`]. Returns what [`TaskCodes::total`]
    /// returned, merged in any order. All later stages belong to the same order.
    fn encode(&self, order: &[u8]) -> Result<Vec<u8>>;

    /// The counts of the pages of a set, merged in any order.
    fn count(&self, rows: RowSet, request: &[u8]) -> Result<Vec<u8>>;

    /// Sorts the pages of a set into so many new sets, which have consecutive numbers from the one returned.
    fn sort(&self, rows: RowSet, request: &[u8], sets: usize, gathered: SetPlacement) -> Result<RowSet>;

    /// Grows nodes, each from all pages of a set that was gathered together; returns what became of them, in order.
    fn grow(&self, nodes: &[(RowSet, Vec<u8>)]) -> Result<Vec<Vec<u8>>>;

    /// Sorts the pages of a set into those of so many files, which become sets with consecutive numbers from the one
    /// returned.
    fn place(&self, rows: RowSet, request: &[u8], sets: usize) -> Result<RowSet>;

    /// Gives the next piece of the order to write a file.
    fn order_file(&self, file: u64, piece: &[u8]) -> Result<()>;

    /// Begins to write a file from its order, all of which was given, and the pages of these sets.
    fn begin_file(&self, file: u64, rows: &[RowSet]) -> Result<()>;

    /// Waits for a file; passes on what its task returned, in order.
    fn finish_file(&self, file: u64, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;

    /// Passes on the pages of a set, once each and in any order.
    fn pages(&self, rows: RowSet, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;

    /// The sets that came out of a sort are not needed any more; `first` is the first of them.
    fn forget(&self, first: RowSet) -> Result<()>;

    /// How many tasks run at once.
    fn tasks_at_once(&self) -> usize;
}

/// Some of the rows that an engine holds, by number.
pub type RowSet = u64;

/// All rows of the table.
pub const ALL_ROWS: RowSet = 0;

/// Who gets the pages of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetPlacement {
    /// One task gets all of them.
    Together,
    /// Several tasks may share them.
    Loosely,
}

/// What tasks need to know to encode their rows.
struct EncodeOrder {
    values: TableValues,
    /// Nothing until they are known.
    combinations: Option<CombinationsFound>,
    fingerprint_key: Vec<u8>,
    page_key: Vec<u8>,
}

impl ByteForm for EncodeOrder {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.values.write(bytes);
        self.combinations.write(bytes);
        self.fingerprint_key.write(bytes);
        self.page_key.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some(EncodeOrder {
            values: TableValues::read(bytes)?,
            combinations: ByteForm::read(bytes)?,
            fingerprint_key: ByteForm::read(bytes)?,
            page_key: ByteForm::read(bytes)?,
        })
    }
}

impl Parcel for EncodeOrder {
    const KIND: u8 = 4;
    const NAME: &'static str = "an order to encode rows";
}

/// The rows that an engine reads, as the run sees them.
pub struct RowsElsewhere<'e> {
    engine: &'e dyn RowEngine,
    stamp: PolicyStamp,
    order: EncodeOrder,
}

impl<'e> RowsElsewhere<'e> {
    /// Lets the engine find the values of all rows.
    pub fn observe(
        engine: &'e dyn RowEngine,
        stamp: PolicyStamp,
        source: &Source<'_>,
        key: &FingerprintKey,
    ) -> Result<Self> {
        if let RowsAre::ValuesOf(individual) = source.columns.rows {
            return Err(Error::input(
                format!("people have several rows, which column {individual:?} brings together"),
                "an engine does not do that: give a table with a row for each person",
            ));
        }
        let values = stamp.open::<TableValues>(&engine.values()?)?.judged(source.columns.counted())?;
        let page_key = secret::<32>().map_err(|why| Error::io("random numbers", why))?;
        let (fingerprint_key, page_key) = (key.bytes().to_vec(), page_key.to_vec());
        let order = EncodeOrder { values, combinations: None, fingerprint_key, page_key };
        Ok(RowsElsewhere { engine, stamp, order })
    }

    /// The codes of the values.
    pub fn decide_codes(&mut self, source: &Source<'_>) -> Result<DecidedCodes> {
        let mut found = None;
        let codes = source.decide_codes(self.order.values.clone(), |codings| {
            let combinations: CombinationsFound =
                self.stamp.open(&self.engine.combinations(&self.stamp.seal(&self.order))?)?;
            let codings = codings.iter().filter(|coding| coding.is_single());
            let codes: Vec<usize> = codings.map(SensitiveCoding::len).collect();
            if !combinations.fits(&codes) {
                return Err(damaged("combinations of sensitive values have no code"));
            }
            found = Some(combinations.clone());
            Ok(combinations)
        })?;
        self.order.combinations = found;
        Ok(codes)
    }

    /// Lets the engine encode all rows with these codes, and hold them.
    pub fn encode(
        &self,
        source: &Source<'_>,
        (attributes, sensitive): (&[Attribute], &SensitiveColumns),
        payload: Option<&Payload>,
    ) -> Result<HeldTable<'e>> {
        let people = match source.columns.counted() {
            Some(_) => self.order.values.people,
            None => self.order.values.rows,
        };
        source.resources.progress.start("encoding rows elsewhere", None);
        let TableTotals { whole, fingerprint } =
            self.stamp.open(&self.engine.encode(&self.stamp.seal(&self.order))?)?;
        source.resources.progress.finish();
        if whole.counts.len() != sensitive.len() {
            return Err(damaged("rows have sensitive values that no value has"));
        }
        // Whatever an engine does with tasks that failed or were slow, it must not lose or repeat their rows.
        if whole.people != people {
            return Err(Error::Changed { file: None, column: None });
        }
        let travels = if payload.is_some() { Travels::Something } else { Travels::Nothing };
        let layout = source.layout(attributes, sensitive);
        let pages = SealedPages { stamp: self.stamp.clone(), key: self.order.page_key.clone(), layout };
        let held = Held { engine: self.engine, pages, travels, whole: whole.clone() };
        let rows = HeldRows { held: Arc::new(held), sorted: None, set: ALL_ROWS };
        Ok(HeldTable { rows, whole, fingerprint })
    }
}

/// All rows, with an engine.
pub struct HeldTable<'e> {
    /// The rows.
    pub rows: HeldRows<'e>,
    /// All rows counted together.
    pub whole: GroupCounts,
    /// The rows that were read.
    pub fingerprint: Fingerprint,
}

/// Rows that an engine holds.
#[derive(Clone)]
pub struct HeldRows<'e> {
    held: Arc<Held<'e>>,
    /// Keeps the engine from forgetting them.
    #[expect(dead_code, reason = "held for as long as the rows are needed")]
    sorted: Option<Arc<Sorted<'e>>>,
    set: RowSet,
}

struct Held<'e> {
    engine: &'e dyn RowEngine,
    pages: SealedPages,
    travels: Travels,
    whole: GroupCounts,
}

/// Rows that were sorted together; forgotten when nobody needs any of them.
struct Sorted<'e> {
    engine: &'e dyn RowEngine,
    first: RowSet,
}

impl Drop for Sorted<'_> {
    fn drop(&mut self) {
        // What an engine keeps too long goes with it.
        let _ = self.engine.forget(self.first);
    }
}

impl<'e> HeldRows<'e> {
    /// The layout of a page.
    pub fn layout(&self) -> &Layout {
        &self.held.pages.layout
    }

    /// All rows of the table counted together.
    pub fn whole(&self) -> &GroupCounts {
        &self.held.whole
    }

    /// How many tasks run at once.
    pub fn tasks_at_once(&self) -> usize {
        self.held.engine.tasks_at_once().max(1)
    }

    /// Lets tasks count the rows.
    pub fn count<R: Parcel, T: Parcel>(&self, request: &R) -> Result<T> {
        let Held { engine, pages, .. } = &*self.held;
        pages.stamp.open(&engine.count(self.set, &pages.stamp.seal(request))?)
    }

    /// Lets tasks sort the rows into so many sets.
    pub fn sort<R: Parcel>(
        &self,
        request: &R,
        sets: usize,
        gathered: SetPlacement,
    ) -> Result<Vec<HeldRows<'e>>> {
        let Held { engine, pages, .. } = &*self.held;
        Ok(self.sets(engine.sort(self.set, &pages.stamp.seal(request), sets, gathered)?, sets))
    }

    /// Lets tasks grow nodes, each of which has all rows of a set; returns what became of them, in order.
    pub fn grow<R: Parcel, T: Parcel>(&self, nodes: &[(&HeldRows<'e>, R)]) -> Result<Vec<T>> {
        let Held { engine, pages, .. } = &*self.held;
        let requests: Vec<_> =
            nodes.iter().map(|(rows, request)| (rows.set, pages.stamp.seal(request))).collect();
        let grown = engine.grow(&requests)?;
        match grown.len() == nodes.len() {
            true => grown.iter().map(|sealed| pages.open_secret(sealed)).collect(),
            false => Err(damaged("nodes were lost while they were grown")),
        }
    }

    /// How pages travel.
    pub fn pages(&self) -> &SealedPages {
        &self.held.pages
    }

    /// Lets tasks sort rows into those of so many files.
    pub fn place<R: Parcel>(&self, rows: &HeldRows<'_>, request: &R, sets: usize) -> Result<Vec<Self>> {
        let Held { engine, pages, .. } = &*self.held;
        Ok(self.sets(engine.place(rows.set, &pages.stamp.seal(request), sets)?, sets))
    }

    /// Passes on the next piece of the order to write a file.
    pub fn order_file(&self, file: u64, piece: &[u8]) -> Result<()> {
        self.held.engine.order_file(file, piece)
    }

    /// Lets a task write a file from its order and these rows, of the same engine.
    pub fn begin_file(&self, file: u64, rows: &[HeldRows<'_>]) -> Result<()> {
        let sets: Vec<RowSet> = rows.iter().map(|rows| rows.set).collect();
        self.held.engine.begin_file(file, &sets)
    }

    /// Waits for a file; passes on what its task returned, in order.
    pub fn finish_file(&self, file: u64, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.held.engine.finish_file(file, &mut each)
    }

    /// The sets that came out of a sort, from the first on.
    fn sets(&self, first: RowSet, sets: usize) -> Vec<Self> {
        let sorted = Arc::new(Sorted { engine: self.held.engine, first });
        let set = |set| HeldRows { held: self.held.clone(), sorted: Some(sorted.clone()), set };
        (first..first + sets as u64).map(set).collect()
    }

    /// Brings the rows here, page by page, with what travels with them.
    pub fn fetch(&self, mut each: impl FnMut(Page) -> Result<()>) -> Result<()> {
        let Held { engine, pages, travels, .. } = &*self.held;
        engine.pages(self.set, &mut |sealed| {
            let page = pages.open(sealed)?.page;
            if page.rows.is_empty() {
                return Ok(());
            }
            match (travels, page.payload.lengths.is_empty()) {
                (Travels::Something, true) => Err(damaged("rows lost what travels with them")),
                _ => each(page),
            }
        })
    }

    /// Brings the rows here.
    pub fn fetch_all<'s>(&self, resources: &Resources<'_>, spill: &'s Spill) -> Result<PageStore<'s>> {
        resources.progress.start("receiving rows", Some(self.held.whole.people));
        let store = Mutex::new(PageStore::new(self.layout().clone(), &resources.budget, spill));
        self.fetch(|page| {
            resources.progress.go_on()?;
            resources.progress.advance(page.rows.len() as u64);
            PageStore::push_shared(&store, page)
        })?;
        resources.progress.finish();
        Ok(store.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What all rows of a table, or of some tasks, hold together.
pub struct TableTotals {
    whole: GroupCounts,
    fingerprint: Fingerprint,
}

impl ByteForm for TableTotals {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.whole.write(bytes);
        self.fingerprint.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some(TableTotals { whole: ByteForm::read(bytes)?, fingerprint: ByteForm::read(bytes)? })
    }
}

impl Parcel for TableTotals {
    const KIND: u8 = 5;
    const NAME: &'static str = "the totals of some pages";
}

/// The rows of one task.
pub struct TaskRows<'a> {
    /// The table that they are.
    pub source: Source<'a>,
    /// Marks what the task returns.
    pub stamp: PolicyStamp,
}

impl TaskRows<'_> {
    /// The values of the rows.
    pub fn observe(&self) -> Result<Vec<u8>> {
        Ok(self.stamp.seal(&self.source.observe()?))
    }

    /// The combinations of sensitive values in the rows.
    pub fn combine(&self, order: &[u8]) -> Result<Vec<u8>> {
        let order: EncodeOrder = self.stamp.open(order)?;
        let codings = self.source.columns.sensitive_codings(self.source.table, order.values.sensitive)?;
        Ok(self.stamp.seal(&self.source.find_combinations(&codings)?))
    }

    /// Passes the rows on as pages, on any thread, and at last a page without rows, which tells how many there were.
    pub fn encode(&self, order: &[u8], pass: impl Fn(Vec<u8>) -> Result<()> + Sync) -> Result<()> {
        let EncodeOrder { values, combinations, fingerprint_key, page_key } = self.stamp.open(order)?;
        let key = FingerprintKey::from_bytes(&fingerprint_key).ok_or_else(wrong_key)?;
        let DecidedCodes { attributes, sensitive, .. } =
            self.source.decide_codes(values, |_| Ok(combinations.unwrap_or_default()))?;
        let (payload, hasher) = (self.source.payload(&key)?, self.source.hasher(&key));
        let layout = self.source.layout(&attributes, &sensitive);
        let pages = SealedPages { stamp: self.stamp.clone(), key: page_key, layout };
        let push = |page: Page| pass(pages.seal(page)?);
        let source = self.source.without_watched();
        let (_, fingerprint) =
            source.encode_people(&attributes, &sensitive, payload.as_ref(), &hasher, push)?;
        let page = Page::empty(&pages.layout);
        pass(pages.seal_secret(&CodedPage { page, fingerprint })?)
    }

    /// What tasks that are given pages must know.
    pub fn codes(&self, order: &[u8]) -> Result<TaskCodes> {
        let EncodeOrder { values, combinations, fingerprint_key, page_key } = self.stamp.open(order)?;
        let key = FingerprintKey::from_bytes(&fingerprint_key).ok_or_else(wrong_key)?;
        let DecidedCodes { attributes, sensitive, .. } =
            self.source.decide_codes(values, |_| Ok(combinations.unwrap_or_default()))?;
        let layout = self.source.layout(&attributes, &sensitive);
        let pages = SealedPages { stamp: self.stamp.clone(), key: page_key, layout };
        Ok(TaskCodes { attributes, sensitive, payload: self.source.payload(&key)?, pages })
    }
}

fn wrong_key() -> Error {
    damaged("the key of the fingerprint has another length")
}

/// The values of the rows of two tasks, or of two such results.
pub fn merge_values(stamp: &PolicyStamp, one: &[u8], other: &[u8]) -> Result<Vec<u8>> {
    let mut values: TableValues = stamp.open(one)?;
    values.merge(stamp.open(other)?)?;
    Ok(stamp.seal(&values))
}

/// The combinations in the rows of two tasks, or of two such results.
pub fn merge_combinations(stamp: &PolicyStamp, one: &[u8], other: &[u8]) -> Result<Vec<u8>> {
    let mut combinations: CombinationsFound = stamp.open(one)?;
    combinations.merge(stamp.open(other)?);
    Ok(stamp.seal(&combinations))
}

/// The codes of a run, in a task that is given pages.
pub struct TaskCodes {
    /// Those of the quasi-identifiers.
    pub attributes: Vec<Attribute>,
    /// Those of the sensitive columns.
    pub sensitive: SensitiveColumns,
    /// The columns that travel.
    pub payload: Option<Payload>,
    /// How pages travel.
    pub pages: SealedPages,
}

impl TaskCodes {
    /// What some pages hold together.
    pub fn total(&self, pages: impl Iterator<Item = Result<Vec<u8>>>) -> Result<Vec<u8>> {
        let (mut whole, mut fingerprint) = (GroupCounts::none(self.sensitive.len()), Fingerprint::default());
        for sealed in pages {
            let CodedPage { page, fingerprint: own } = self.pages.open(&sealed?)?;
            whole.add(&page.rows.total(self.sensitive.len()));
            fingerprint.merge(own);
        }
        Ok(self.pages.stamp.seal(&TableTotals { whole, fingerprint }))
    }
}

/// What the pages of two tasks hold together; commutative and associative.
pub fn merge_totals(stamp: &PolicyStamp, one: &[u8], other: &[u8]) -> Result<Vec<u8>> {
    let (mut one, other): (TableTotals, TableTotals) = (stamp.open(one)?, stamp.open(other)?);
    one.whole.add(&other.whole);
    one.fingerprint.merge(other.fingerprint);
    Ok(stamp.seal(&one))
}
