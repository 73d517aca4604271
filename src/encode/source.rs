//! What does the table hold? The two scans of the source; a third one between them, of the sensitive columns alone,
//! where there are several.

use super::long_table::LongTable;
use super::prepare;
use crate::encode::attribute::Attribute;
use crate::encode::collect::{Collected, Collector};
use crate::encode::combination::{Combinations, SensitiveColumns};
use crate::encode::encoder::{Encoder, Fingerprint, single_codes};
use crate::encode::group_counts::GroupCounts;
use crate::encode::page::{Layout, Page, PageStore};
use crate::encode::payload::Payload;
use crate::encode::sensitive::SensitiveCoding;
use crate::error::{Error, Result, number_of};
use crate::math::skyline::Values;
use crate::policy::TableRules;
use crate::policy::{Quasi, Role, Shape, Style};
use crate::resources::Resources;
use crate::resources::budget::Budget;
use crate::resources::spill::Spill;
use crate::table::read::Table;
use crate::table::read::{Column, Kind, Morsel, RowCounts};
use arrow::array::{BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{filter_record_batch, take_record_batch};
use arrow::datatypes::Field;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The columns of a table by their role, in the order of the table.
pub struct Source<'a> {
    table: &'a Table,
    policy: &'a TableRules,
    resources: &'a Resources<'a>,
    values: Values,
    quasi: Vec<(usize, &'a Quasi)>,
    sensitive: Vec<usize>,
    /// Columns that travel: those kept, and for a bucketized release the quasi-identifiers too.
    travelling: Vec<usize>,
    rows: RowsAre,
}

/// What the rows of a table are; the number is that of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowsAre {
    /// People.
    People,
    /// As many equal people as the column says.
    Counted(usize),
    /// Values of the person that the column names.
    ValuesOf(usize),
}

/// The rows as codes.
pub struct Encoded<'s> {
    /// The pages.
    pub store: PageStore<'s>,
    /// All rows counted together.
    pub whole: GroupCounts,
    /// What was read.
    pub fingerprint: Fingerprint,
}

impl<'a> Source<'a> {
    /// Binds the columns of the table to their roles.
    pub fn new(
        table: &'a Table,
        policy: &'a TableRules,
        values: Values,
        resources: &'a Resources<'a>,
    ) -> Result<Self> {
        let names: Vec<&str> = table.schema().fields().iter().map(|field| field.name().as_str()).collect();
        let roles = policy.bind(&names)?;
        let (mut quasi, mut sensitive, mut travelling) = (vec![], vec![], vec![]);
        let mut rows = RowsAre::People;
        for (i, role) in roles.iter().enumerate() {
            match role {
                Role::Quasi(at) => quasi.push((i, &policy.columns.quasi[*at])),
                Role::Sensitive(_) => sensitive.push(i),
                Role::Keep => travelling.push(i),
                Role::Drop => {}
                Role::Count => rows = RowsAre::Counted(i),
                Role::Individual => rows = RowsAre::ValuesOf(i),
            }
            if matches!(role, Role::Quasi(_)) && policy.publish.style == Style::Bucketized {
                travelling.push(i);
            }
        }
        if quasi.is_empty() {
            return Err(Error::input(
                "the policy names no quasi-identifier",
                "name what an adversary may know of a person in columns.quasi",
            ));
        }
        Ok(Source { table, policy, resources, values, quasi, sensitive, travelling, rows })
    }

    /// The quasi-identifiers as the policy describes them.
    pub fn quasi(&self) -> impl Iterator<Item = &'a Quasi> {
        self.quasi.iter().map(|&(_, quasi)| quasi)
    }

    /// How the columns that travel do so; `None` if there are none.
    pub fn payload(&self) -> Result<Option<Payload>> {
        let fields: Vec<&Field> = self.travelling.iter().map(|&i| self.table.schema().field(i)).collect();
        if fields.is_empty() { Ok(None) } else { Payload::new(&fields).map(Some) }
    }

    fn name(&self, column: usize) -> &'a str {
        self.table.schema().field(column).name()
    }

    /// The columns that say what the rows are, the quasi-identifiers and the sensitive columns.
    fn columns(&self) -> Vec<Column> {
        let quasi = self.quasi.iter().map(|&(i, _)| i);
        let rows = self.of_rows().into_iter();
        rows.chain(quasi)
            .chain(self.sensitive.iter().copied())
            .map(|i| Column::canonical(self.name(i)))
            .collect()
    }

    /// The column that says what the rows are, if there is one.
    fn of_rows(&self) -> Option<usize> {
        match self.rows {
            RowsAre::People => None,
            RowsAre::Counted(column) | RowsAre::ValuesOf(column) => Some(column),
        }
    }

    /// Takes the column that says what the rows are, the first one, out of a batch. Counts come along, and rows that
    /// stand for nobody are gone.
    fn open(&self, batch: RecordBatch, wrong: &AtomicU64) -> Result<(RecordBatch, Option<Vec<u64>>)> {
        if self.rows == RowsAre::People {
            return Ok((batch, None));
        }
        let mut batch = batch;
        let column = batch.remove_column(0);
        let RowsAre::Counted(_) = self.rows else { return Ok((batch, None)) };
        let RowCounts { counts, wrong: own } = RowCounts::of(&column);
        wrong.fetch_add(own, Ordering::Relaxed);
        if counts.contains(&0) {
            let counted: BooleanArray = counts.iter().map(|&count| Some(count > 0)).collect();
            batch = filter_record_batch(&batch, &counted).map_err(|_| unfit())?;
        }
        Ok((batch, Some(counts.into_iter().filter(|&count| count > 0).collect())))
    }

    /// The first scan: which values are there?
    pub fn read_values(&self) -> Result<(Vec<Attribute>, SensitiveColumns)> {
        let (table, progress) = (self.table, self.resources.progress);
        let mut collectors: Vec<Collector<'_>> = Vec::new();
        for &(i, quasi) in &self.quasi {
            collectors.push(prepare::collector(quasi, &table.kind(self.name(i))?));
        }
        for &i in &self.sensitive {
            let kind = table.kind(self.name(i))?;
            match self.rows {
                RowsAre::ValuesOf(_) => prepare::expect_value_per_row(self.name(i), &kind)?,
                _ => prepare::expect_values(self.name(i), &kind, self.values)?,
            }
            collectors.push(Collector::new(self.name(i), &kind, None));
        }
        self.expect_rows()?;
        let wrong = AtomicU64::new(0);
        progress.start("reading values", table.rows());
        let work = |morsel: Morsel<'_>| {
            // Workers begin at different columns, so that they seldom wait for each other.
            let first = morsel.index() as usize;
            let mut rows = 0;
            for batch in morsel {
                let batch = batch?;
                progress.advance(batch.num_rows() as u64);
                let (batch, counts) = self.open(batch, &wrong)?;
                for i in 0..collectors.len() {
                    let column = (first + i) % collectors.len();
                    match &counts {
                        None => collectors[column].observe(batch.column(column))?,
                        Some(counts) => collectors[column].observe_counted(batch.column(column), counts)?,
                    }
                }
                rows += batch.num_rows() as u64;
            }
            Ok(rows)
        };
        let mut rows = 0;
        table.scan(&self.columns(), self.resources.threads, work, |part| {
            rows += part;
            Ok(())
        })?;
        if let RowsAre::Counted(column) = self.rows {
            RowCounts::judge(self.name(column), wrong.into_inner())?;
        }
        if rows == 0 {
            return Err(Error::input(
                "the table has no rows",
                "there is nothing to publish; check the input",
            ));
        }
        let mut collected: Vec<_> = collectors.into_iter().map(Collector::finish).collect();
        let found = collected.split_off(self.quasi.len());
        let codings = self.sensitive.iter().zip(found).map(|(&i, found)| self.coding(self.name(i), found));
        let sensitive = self.combined(codings.collect::<Result<_>>()?)?;
        let attributes = self.quasi().zip(collected).map(|(quasi, found)| prepare::attribute(quasi, found));
        Ok((attributes.collect::<Result<_>>()?, sensitive))
    }

    /// Fails if the column that says what the rows are cannot do so.
    fn expect_rows(&self) -> Result<()> {
        let Some(column) = self.of_rows() else { return Ok(()) };
        let (name, kind) = (self.name(column), self.table.kind(self.name(column))?);
        match (self.rows, &kind) {
            (RowsAre::Counted(_), kind) => RowCounts::expect(name, kind),
            (_, Kind::List(_)) => Err(Error::input(
                format!("column {name:?} holds lists, which cannot tell people apart"),
                "name a column of numbers, text, dates or times in columns.individual",
            )),
            _ => Ok(()),
        }
    }

    /// The codes of one sensitive column.
    fn coding(&self, name: &str, found: Collected) -> Result<SensitiveCoding> {
        let meaning = self.policy.columns.sensitive(name).and_then(|stated| stated.null_is.as_deref());
        if self.values == Values::Single && found.nulls > 0 && meaning.is_none() {
            return Err(Error::input(
                format!("the sensitive column {name:?} is null in {}", number_of(found.nulls, "row", "rows")),
                "say what that means with columns.null_is = \"a value name\"",
            ));
        }
        SensitiveCoding::new(name, &self.table.kind(name)?, found, meaning)
    }

    /// The combinations of values that occur, where there are several columns.
    fn combined(&self, mut codings: Vec<SensitiveCoding>) -> Result<SensitiveColumns> {
        if codings.len() == 1
            && let Some(only) = codings.pop()
        {
            return Ok(SensitiveColumns::one(only));
        }
        let (table, progress) = (self.table, self.resources.progress);
        let columns = self.of_rows().into_iter().chain(self.sensitive.iter().copied());
        let columns: Vec<Column> = columns.map(|i| Column::canonical(self.name(i))).collect();
        let found = Combinations::default();
        progress.start("reading combinations", table.rows());
        let work = |morsel: Morsel<'_>| {
            for batch in morsel {
                let batch = batch?;
                progress.advance(batch.num_rows() as u64);
                let (batch, _) = self.open(batch, &AtomicU64::new(0))?;
                let codes =
                    codings.iter().zip(batch.columns()).map(|(coding, array)| single_codes(coding, array));
                found.observe(&codes.collect::<Result<Vec<_>>>()?);
            }
            Ok(())
        };
        table.scan(&columns, self.resources.threads, work, |()| Ok(()))?;
        SensitiveColumns::several(codings, found)
    }

    /// What a page of codes looks like.
    pub fn layout(&self, attributes: &[Attribute], sensitive: &SensitiveColumns) -> Layout {
        Layout {
            columns: attributes.iter().map(Attribute::codes).collect(),
            values: sensitive.len() as u32,
            lists: Encoder::lists(self.values),
        }
    }

    /// The second scan: the rows as pages of codes. The values of people with several rows are brought together, and
    /// what follows from the number of people with a value is settled only then: `attributes` may change.
    pub fn read_rows<'s>(
        &self,
        layout: &Layout,
        attributes: &mut [Attribute],
        sensitive: &SensitiveColumns,
        payload: Option<&Payload>,
        budget: &Arc<Budget>,
        spill: &'s Spill,
    ) -> Result<Encoded<'s>> {
        let mut columns = self.columns();
        columns.extend(self.travelling.iter().map(|&i| Column::as_is(self.name(i))));
        let RowsAre::ValuesOf(individual) = self.rows else {
            return self.read_people(&columns, layout, attributes, sensitive, payload, budget, spill);
        };
        let long = LongTable {
            table: self.table,
            resources: self.resources,
            individual: self.name(individual),
            columns,
            values: self.values,
            layout,
            sensitive,
            payload,
            budget,
        };
        let plain: Vec<bool> = self.quasi().map(|quasi| matches!(quasi.shape, Shape::Plain)).collect();
        long.read(attributes, &plain, spill)
    }

    /// Rows that are people, or stand for several of them.
    #[expect(clippy::too_many_arguments, reason = "all that the second scan needs")]
    fn read_people<'s>(
        &self,
        columns: &[Column],
        layout: &Layout,
        attributes: &[Attribute],
        sensitive: &SensitiveColumns,
        payload: Option<&Payload>,
        budget: &Arc<Budget>,
        spill: &'s Spill,
    ) -> Result<Encoded<'s>> {
        let encoder = Encoder::new(attributes, sensitive, self.values, budget);
        let store = Mutex::new(PageStore::new(layout.clone(), budget, spill));
        // Pages that a morsel left half full wait here for the next one.
        let open: Mutex<Vec<Page>> = Mutex::default();
        let distinct = sensitive.len();
        let progress = self.resources.progress;
        progress.start("reading rows", self.table.rows());
        let work = |morsel: Morsel<'_>| {
            let waiting = open.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut page = waiting.unwrap_or_else(|| Page::empty(layout));
            let mut fingerprint = Fingerprint::default();
            let mut whole = GroupCounts { people: 0, counts: vec![0; distinct] };
            let mut append = |batch: &RecordBatch| {
                let (quasi, rest) = batch.columns().split_at(attributes.len());
                let (values, travelling) = rest.split_at(self.sensitive.len());
                fingerprint.merge(encoder.append(quasi, values, &mut page.rows)?);
                if let Some(payload) = payload {
                    payload.append(travelling, &mut page.payload.lengths, &mut page.payload.bytes)?;
                }
                if page.is_full() {
                    whole.add(&page.rows.total(distinct));
                    PageStore::push_shared(&store, std::mem::replace(&mut page, Page::empty(layout)))?;
                }
                Ok(())
            };
            for batch in morsel {
                let batch = batch?;
                progress.advance(batch.num_rows() as u64);
                match self.open(batch, &AtomicU64::new(0))? {
                    (batch, None) => append(&batch)?,
                    (batch, Some(counts)) => repeated(&batch, &counts, &mut append)?,
                }
            }
            open.lock().unwrap_or_else(PoisonError::into_inner).push(page);
            Ok((whole, fingerprint))
        };
        let mut whole = GroupCounts { people: 0, counts: vec![0; distinct] };
        let mut fingerprint = Fingerprint::default();
        self.table.scan(columns, self.resources.threads, work, |(part, of_part)| {
            whole.add(&part);
            fingerprint.merge(of_part);
            Ok(())
        })?;
        for page in open.into_inner().unwrap_or_else(PoisonError::into_inner) {
            whole.add(&page.rows.total(distinct));
            PageStore::push_shared(&store, page)?;
        }
        let store = store.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Encoded { store, whole, fingerprint })
    }
}

/// Rows that a batch holds at most when counted rows are written out.
const REPEATED_ROWS: usize = 8192;

/// Hands the rows of a batch to `each`, every one as often as its count says.
fn repeated(
    batch: &RecordBatch,
    counts: &[u64],
    mut each: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let mut rows: Vec<u32> = Vec::with_capacity(REPEATED_ROWS);
    let mut flush = |rows: &mut Vec<u32>| {
        let taken = take_record_batch(batch, &UInt32Array::from(std::mem::take(rows)));
        each(&taken.map_err(|_| unfit())?)
    };
    for (row, &count) in (0..).zip(counts) {
        let mut left = count;
        while left > 0 {
            let some = left.min((REPEATED_ROWS - rows.len()) as u64);
            rows.extend(std::iter::repeat_n(row, some as usize));
            left -= some;
            if rows.len() == REPEATED_ROWS {
                flush(&mut rows)?;
            }
        }
    }
    if rows.is_empty() { Ok(()) } else { flush(&mut rows) }
}

fn unfit() -> Error {
    Error::input("the rows of the table cannot be repeated", "this is a defect; please report it")
}
