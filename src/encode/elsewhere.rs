//! What if an engine reads the rows, each of its tasks some of them?
//!
//! The stages are those of [`source`](super::source), as functions of values with a byte form: tasks observe the values of
//! their rows, which merge; the codes follow from the merged values, everywhere the same; if there are several sensitive
//! columns, tasks find their combinations, which merge too; then tasks turn their rows into pages. Only the values, the
//! combinations and the pages travel, and only these meet in one place.
//!
//! Pages are personal data, and an engine may store them on its way: they are encrypted with a key that exists in the
//! memory of the run and of its tasks only.

use super::attribute::Attribute;
use super::byte_forms::{CodedPage, Travels};
use super::combination::{CombinationsFound, SensitiveColumns};
use super::fingerprint::{Fingerprint, FingerprintKey};
use super::group_counts::GroupCounts;
use super::page::{Page, PageStore};
use super::payload::Payload;
use super::source::{DecidedCodes, Encoded, Source};
use super::source_columns::{RowsAre, TableValues};
use crate::error::{Error, Result};
use crate::resources::byte_form::{ByteForm, ByteReader, Parcel, PolicyStamp};
use crate::resources::secret::secret;
use crate::resources::spill::Spill;
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use std::sync::{Mutex, PoisonError};

/// An engine whose tasks read the rows of a table.
///
/// It need not understand the bytes that it moves. Every row must be seen by exactly one task of each stage, however often
/// tasks are tried; which task sees it makes no difference.
pub trait RowEngine: Sync {
    /// The values of all rows: what [`TaskRows::observe`] returned for each task, merged in any order.
    fn values(&self) -> Result<Vec<u8>>;

    /// The combinations of sensitive values in all rows: what [`TaskRows::combine`] returned, merged in any order.
    fn combinations(&self, order: &[u8]) -> Result<Vec<u8>>;

    /// Passes on what [`TaskRows::encode`] passed on in all tasks, once each and in any order.
    fn pages(&self, order: &[u8], each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;
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
            let codes: Vec<usize> = codings.iter().map(|coding| coding.len()).collect();
            if !combinations.fits(&codes) {
                return Err(damaged("combinations of sensitive values have no code"));
            }
            found = Some(combinations.clone());
            Ok(combinations)
        })?;
        self.order.combinations = found;
        Ok(codes)
    }

    /// The rows as pages of these codes.
    pub fn read_pages<'s>(
        &self,
        source: &Source<'_>,
        codes: (&[Attribute], &SensitiveColumns),
        payload: Option<&Payload>,
        spill: &'s Spill,
    ) -> Result<Encoded<'s>> {
        let (attributes, sensitive) = codes;
        let (resources, layout) = (source.resources, source.layout(attributes, sensitive));
        let travels = if payload.is_some() { Travels::Something } else { Travels::Nothing };
        let store = Mutex::new(PageStore::new(layout.clone(), &resources.budget, spill));
        let (mut whole, mut fingerprint) = (GroupCounts::none(sensitive.len()), Fingerprint::default());
        let people = match source.columns.counted() {
            Some(_) => self.order.values.people,
            None => self.order.values.rows,
        };
        resources.progress.start("receiving rows", Some(people));
        self.engine.pages(&self.stamp.seal(&self.order), &mut |sealed| {
            resources.progress.go_on()?;
            let CodedPage { page, fingerprint: own } =
                self.stamp.open(&unseal(sealed, &self.order.page_key)?)?;
            if !page.fits(&layout, travels) {
                return Err(damaged("a page of rows has codes that no value has"));
            }
            resources.progress.advance(page.rows.len() as u64);
            fingerprint.merge(own);
            if page.rows.is_empty() {
                return Ok(());
            }
            whole.add(&page.rows.total(sensitive.len()));
            PageStore::push_shared(&store, page)
        })?;
        resources.progress.finish();
        // Whatever an engine does with tasks that failed or were slow, it must not lose or repeat their rows.
        if whole.people != people {
            return Err(Error::Changed { file: None, column: None });
        }
        let store = store.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Encoded { store, whole, fingerprint })
    }
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
        let key = FingerprintKey::from_bytes(&fingerprint_key)
            .ok_or_else(|| damaged("the key of the fingerprint has another length"))?;
        let DecidedCodes { attributes, sensitive, .. } =
            self.source.decide_codes(values, |_| Ok(combinations.unwrap_or_default()))?;
        let (payload, hasher) = (self.source.payload(&key)?, self.source.hasher(&key));
        let send = |page: CodedPage| pass(seal(self.stamp.seal(&page), &page_key)?);
        let push = |page: Page| send(CodedPage { page, fingerprint: Fingerprint::default() });
        let source = self.source.without_watched();
        let (_, fingerprint) =
            source.encode_people(&attributes, &sensitive, payload.as_ref(), &hasher, push)?;
        let nobody = Page::empty(&self.source.layout(&attributes, &sensitive));
        send(CodedPage { page: nobody, fingerprint })
    }
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

fn damaged(problem: &str) -> Error {
    Error::input(problem, "run again; if it happens again, the engine damages what it moves")
}

const NONCE: usize = 12;

/// Encrypts with a nonce that nobody else drew: its random bytes stand in front.
fn seal(bytes: Vec<u8>, key: &[u8]) -> Result<Vec<u8>> {
    let nonce: [u8; NONCE] = secret().map_err(|why| Error::io("random numbers", why))?;
    let mut sealed = Vec::with_capacity(NONCE + bytes.len());
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(&bytes);
    keystream(key, &nonce)?.apply_keystream(&mut sealed[NONCE..]);
    Ok(sealed)
}

fn unseal(sealed: &[u8], key: &[u8]) -> Result<Vec<u8>> {
    let (nonce, bytes) =
        sealed.split_first_chunk::<NONCE>().ok_or_else(|| damaged("a page of rows is too short"))?;
    let mut bytes = bytes.to_vec();
    keystream(key, nonce)?.apply_keystream(&mut bytes);
    Ok(bytes)
}

fn keystream(key: &[u8], nonce: &[u8; NONCE]) -> Result<ChaCha20> {
    let key: [u8; 32] = key.try_into().map_err(|_| damaged("the key of the pages has another length"))?;
    Ok(ChaCha20::new(&key.into(), &(*nonce).into()))
}
