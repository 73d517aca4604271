//! The columns of a table by role, what its rows represent, and the state of the first scan.
//!
//! Memory: what [`ColumnValues`] holds per column, shared by all threads and reserved; one batch per thread.

use super::codes::Codes;
use super::column_values::{Collector, ColumnValues};
use super::numbering::Numbering;
use super::repeated_ids::IdColumn;
use super::sensitive::SensitiveCoding;
use crate::error::{Error, Result, Setting, number_of};
use crate::math::skyline::Values;
use crate::policy::{Quasi, Role, Style, TableRules, is_no_id};
use crate::resources::budget::{Budget, Reservation};
use crate::table::read::{ColumnRequest, Table};
use crate::table::{ColumnKind, RowCounts};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The most quasi-identifiers; cuts number their columns in two bytes.
const MOST_QUASI: usize = 10_000;

/// The columns of a table that are read, with their roles.
#[derive(Debug, Clone)]
pub struct SourceColumns<'a> {
    /// What the rows represent.
    pub rows: RowsAre<'a>,
    /// The quasi-identifiers, in the order of their codes.
    pub quasi: Vec<&'a Quasi>,
    /// The sensitive columns.
    pub sensitive: Vec<SensitiveSource<'a>>,
    /// Columns that travel unchanged with their rows.
    pub travelling: Vec<&'a str>,
    /// Columns that are not published and could identify people; the first scan looks at them.
    pub watched: Vec<&'a str>,
    /// The column that names people, if the release is continued.
    pub person: Option<&'a str>,
}

/// What the rows of a table represent; the text is the name of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsAre<'a> {
    /// Each row is a person.
    People,
    /// Each row represents as many equal people as this column says.
    Counted(&'a str),
    /// Each row holds values of the person identified by this column.
    ValuesOf(&'a str),
}

/// A sensitive column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SensitiveSource<'a> {
    /// Its name.
    pub name: &'a str,
    /// The value that null means.
    pub null_is: Option<&'a str>,
    /// How many values a person may have.
    pub values: Values,
}

impl<'a> SourceColumns<'a> {
    /// Binds the columns of a policy to those of a table, in table order; `values` says how many values a person may have in
    /// a sensitive column. Quasi-identifiers also travel if they are published unchanged.
    pub fn bound(table: &'a Table, rules: &'a TableRules, values: impl Fn(&str) -> Values) -> Result<Self> {
        let names: Vec<&str> = table.schema().fields().iter().map(|field| field.name().as_str()).collect();
        let (quasi, sensitive, travelling, watched) = (vec![], vec![], vec![], vec![]);
        let person = rules.nights.as_ref().and_then(|nights| nights.person.as_deref());
        let rows = RowsAre::People;
        let mut own = SourceColumns { rows, quasi, sensitive, travelling, watched, person };
        let columns = &rules.columns;
        for (role, &name) in rules.bind(&names)?.iter().zip(&names) {
            match role {
                Role::Quasi(at) => own.quasi.push(&columns.quasi[*at]),
                Role::Sensitive(at) => {
                    let null_is = columns.sensitive[*at].null_is.as_deref();
                    own.sensitive.push(SensitiveSource { name, null_is, values: values(name) });
                }
                Role::Keep => own.travelling.push(name),
                Role::Drop => own.watched.push(name),
                Role::Count => own.rows = RowsAre::Counted(name),
                Role::Individual => own.rows = RowsAre::ValuesOf(name),
            }
            if matches!(role, Role::Quasi(_)) && rules.publish.style == Style::Bucketized {
                own.travelling.push(name);
            }
        }
        if own.quasi.len() > MOST_QUASI {
            return Err(Error::input(
                format!("the policy names more than {MOST_QUASI} quasi-identifiers"),
                "drop columns, or combine several into one",
            ));
        }
        match own.rows {
            // Where a column names people, the ledger finds out whether they have several rows.
            RowsAre::People if person.is_some() => own.watched.clear(),
            RowsAre::People => own.watched.retain(|name| !is_no_id(name)),
            RowsAre::Counted(_) | RowsAre::ValuesOf(_) => own.watched.clear(),
        }
        if own.quasi.is_empty() {
            return Err(Error::input(
                "the policy names no quasi-identifier",
                "name what an adversary may know of a person in columns.quasi",
            ));
        }
        Ok(own)
    }

    /// For a table in which each row is a person with one sensitive value.
    pub fn of_people(quasi: Vec<&'a Quasi>, sensitive: SensitiveSource<'a>) -> Self {
        let (sensitive, travelling, watched) = (vec![sensitive], vec![], vec![]);
        SourceColumns { rows: RowsAre::People, quasi, sensitive, travelling, watched, person: None }
    }

    /// The column that determines what the rows represent, if there is one.
    fn of_rows(&self) -> Option<&'a str> {
        match self.rows {
            RowsAre::People => None,
            RowsAre::Counted(name) | RowsAre::ValuesOf(name) => Some(name),
        }
    }

    /// The column that counts the people of a row, if there is one.
    pub fn counted(&self) -> Option<&'a str> {
        match self.rows {
            RowsAre::Counted(name) => Some(name),
            RowsAre::People | RowsAre::ValuesOf(_) => None,
        }
    }

    /// The columns that decide about groups: the column that determines what the rows represent, the
    /// quasi-identifiers, and the sensitive columns.
    pub fn deciding(&self) -> impl Iterator<Item = &'a str> {
        let quasi = self.quasi.iter().map(|quasi| quasi.name.as_str());
        self.of_rows().into_iter().chain(quasi).chain(self.sensitive.iter().map(|column| column.name))
    }

    /// The columns to read: those that decide about groups, those that are watched, those that travel, and the person.
    pub fn wanted(&self) -> Vec<ColumnRequest> {
        let travelling = self.travelling.iter().map(|name| ColumnRequest::as_is(*name));
        let judged = self.deciding().chain(self.watched.iter().copied());
        let person = self.person.map(ColumnRequest::canonical);
        judged.map(ColumnRequest::canonical).chain(travelling).chain(person).collect()
    }

    /// Starts the first scan of a table. Fails if a column is unsuitable for its role.
    pub fn first_scan(&self, table: &Table, budget: &Arc<Budget>) -> Result<FirstScan<'a>> {
        let mut collectors = Vec::new();
        for quasi in &self.quasi {
            let kind = table.kind(&quasi.name)?;
            if matches!(kind, ColumnKind::List(_)) {
                return Err(Error::input(
                    format!("column {:?} holds lists, and a quasi-identifier has one value", quasi.name),
                    "give a column with one value per row, or drop the column",
                ));
            }
            collectors.push(Mutex::new(Collector::of_quasi(quasi, &kind)?));
        }
        for column in &self.sensitive {
            let kind = table.kind(column.name)?;
            self.expect_sensitive(column, &kind)?;
            collectors.push(Mutex::new(Collector::new(column.name, &kind, None)));
        }
        self.expect_rows(table)?;
        let counted = self.counted();
        let (rows, people, wrong_counts) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let room = Mutex::new(FoundRoom {
            columns: vec![0; collectors.len()],
            room: budget.reserve(FIRST_SCAN, 0)?,
        });
        let mut ids = Vec::new();
        for (place, name) in self.watched.iter().enumerate() {
            ids.extend(IdColumn::new(name, &table.kind(name)?).map(|column| (place, Mutex::new(column))));
        }
        let unnumbered = AtomicBool::new(false);
        let quasi = self.quasi.len();
        Ok(FirstScan { collectors, ids, quasi, counted, rows, people, wrong_counts, unnumbered, room })
    }

    /// Fails if a sensitive column does not hold the required number of values per row.
    fn expect_sensitive(&self, column: &SensitiveSource<'_>, kind: &ColumnKind) -> Result<()> {
        let &SensitiveSource { name, values, .. } = column;
        let long = matches!(self.rows, RowsAre::ValuesOf(_));
        let (problem, remedy) = match (kind, values) {
            (ColumnKind::List(_), _) if long => (
                "holds lists, and people have several rows",
                "give a table with one value in each row, or leave out columns.individual: each row is then a person",
            ),
            (ColumnKind::List(_), Values::Single) => (
                "holds lists, and a person has a single value",
                "set privacy.values, or values below the [privacy.column.NAME] of this column, to \"set\" or \"multiset\"",
            ),
            (ColumnKind::List(_), _) | (_, Values::Single) => return Ok(()),
            _ if long => return Ok(()),
            _ => (
                "holds no lists, and a person may have several values",
                "give a list column, or a table with one row per value and columns.individual",
            ),
        };
        Err(Error::input(format!("the sensitive column {name:?} {problem}"), remedy))
    }

    /// Fails if the column that determines what the rows represent is unsuitable.
    fn expect_rows(&self, table: &Table) -> Result<()> {
        let Some(name) = self.of_rows() else { return Ok(()) };
        match (self.rows, &table.kind(name)?) {
            (RowsAre::Counted(_), kind) => RowCounts::expect(name, kind),
            (_, ColumnKind::List(_)) => Err(Error::input(
                format!("column {name:?} holds lists, which cannot distinguish people"),
                "name a column of numbers, text, dates or times in columns.individual",
            )),
            _ => Ok(()),
        }
    }

    /// The codes of each sensitive column, from the result of the first scan.
    pub fn sensitive_codings(&self, table: &Table, found: Vec<ColumnValues>) -> Result<Vec<SensitiveCoding>> {
        let codings = self.sensitive.iter().zip(found).map(|(column, found)| {
            let &SensitiveSource { name, null_is, values } = column;
            if values == Values::Single && found.nulls > 0 && null_is.is_none() {
                return Err(Error::input(
                    format!(
                        "the sensitive column {name:?} is null in {}",
                        number_of(found.nulls, "row", "rows")
                    ),
                    "say what that means with columns.null_is = \"a value name\"",
                ));
            }
            SensitiveCoding::new(column, &table.kind(name)?, found)
        });
        codings.collect()
    }

    /// Splits a batch of the requested columns by role.
    pub fn split(&self, mut batch: RecordBatch) -> Result<SourceBatch> {
        let of_rows = self.of_rows().map(|_| batch.remove_column(0));
        let person = self.person.map(|_| batch.remove_column(batch.num_columns() - 1));
        let (mut counts, mut wrong_counts) = (None, 0);
        if let (RowsAre::Counted(_), Some(column)) = (self.rows, &of_rows) {
            let read = RowCounts::of(column);
            if read.counts.contains(&0) {
                let counted: BooleanArray = read.counts.iter().map(|&count| Some(count > 0)).collect();
                batch = filter_record_batch(&batch, &counted).map_err(|_| unfit())?;
            }
            wrong_counts = read.wrong;
            counts = Some(read.counts.into_iter().filter(|&count| count > 0).collect());
        }
        let (quasi, sensitive, watched) = (self.quasi.len(), self.sensitive.len(), self.watched.len());
        Ok(SourceBatch { of_rows, person, batch, quasi, sensitive, watched, counts, wrong_counts })
    }
}

/// Some rows of a table; rows with a count of 0 are left out.
pub struct SourceBatch {
    of_rows: Option<ArrayRef>,
    person: Option<ArrayRef>,
    batch: RecordBatch,
    quasi: usize,
    sensitive: usize,
    watched: usize,
    counts: Option<Vec<u64>>,
    wrong_counts: u64,
}

impl SourceBatch {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// The column that identifies the person of each row, or counts its people.
    pub fn of_rows(&self) -> Option<&ArrayRef> {
        self.of_rows.as_ref()
    }

    /// The column that names people.
    pub fn person(&self) -> Option<&ArrayRef> {
        self.person.as_ref()
    }

    /// The quasi-identifiers.
    pub fn quasi(&self) -> &[ArrayRef] {
        &self.batch.columns()[..self.quasi]
    }

    /// The sensitive columns.
    pub fn sensitive(&self) -> &[ArrayRef] {
        &self.batch.columns()[self.quasi..][..self.sensitive]
    }

    /// The quasi-identifiers and then the sensitive columns.
    pub fn judged(&self) -> &[ArrayRef] {
        &self.batch.columns()[..self.quasi + self.sensitive]
    }

    /// The columns that travel.
    pub fn travelling(&self) -> &[ArrayRef] {
        &self.batch.columns()[self.quasi + self.sensitive + self.watched..]
    }

    /// The columns that are watched.
    fn watched(&self) -> &[ArrayRef] {
        &self.batch.columns()[self.quasi + self.sensitive..][..self.watched]
    }

    /// Passes on the same rows, each repeated according to its count, a few thousand at a time.
    pub fn each_person(&self, mut each: impl FnMut(&SourceBatch) -> Result<()>) -> Result<()> {
        let Some(counts) = &self.counts else { return each(self) };
        let mut rows: Vec<u32> = Vec::with_capacity(REPEATED_ROWS);
        let mut flush = |rows: &mut Vec<u32>| {
            let taken = take_record_batch(&self.batch, &UInt32Array::from(std::mem::take(rows)));
            let batch = taken.map_err(|_| unfit())?;
            let (quasi, sensitive, watched) = (self.quasi, self.sensitive, self.watched);
            each(&SourceBatch {
                of_rows: None,
                person: None,
                batch,
                quasi,
                sensitive,
                watched,
                counts: None,
                wrong_counts: 0,
            })
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
}

/// The most people that the counts of a table may stand for; a release of more rows would take days.
const MOST_REPEATED_ROWS: u64 = 1_000_000_000;

/// The most rows in a batch when counted rows are repeated.
const REPEATED_ROWS: usize = 8192;

fn unfit() -> Error {
    Error::input("the rows of the table cannot be repeated", "this is a defect; please report it")
}

/// The first scan in progress; threads share it, so its memory does not grow with their number.
pub struct FirstScan<'a> {
    collectors: Vec<Mutex<Collector<'a>>>,
    /// The watched columns that could hold ids, with their places among them.
    ids: Vec<(usize, Mutex<IdColumn>)>,
    quasi: usize,
    counted: Option<&'a str>,
    rows: AtomicU64,
    people: AtomicU64,
    wrong_counts: AtomicU64,
    /// Whether a column has more values than numbers.
    unnumbered: AtomicBool,
    room: Mutex<FoundRoom>,
}

/// The memory that the values of all columns take.
struct FoundRoom {
    columns: Vec<u64>,
    room: Reservation,
}

/// The stage that needs the memory.
const FIRST_SCAN: &str = "finding the values of the columns";

impl FoundRoom {
    fn resize(&mut self, column: usize, (name, bytes): (&str, u64)) -> Result<()> {
        let all = self.room.bytes() - self.columns[column] + bytes;
        self.room.resize(FIRST_SCAN, all).map_err(|error| match error {
            Error::Memory { needed, budget, .. } => Error::missing(
                format!(
                    "the different values of the columns take more than the {} MiB of memory; column {name:?} was \
                     the last to grow",
                    budget.div_ceil(1 << 20)
                ),
                format!(
                    "give a budget of {} MiB or more, or round the values of columns with many, or drop columns",
                    needed.saturating_mul(2).div_ceil(1 << 20)
                ),
                Setting::Memory,
            ),
            other => other,
        })?;
        self.columns[column] = bytes;
        Ok(())
    }
}

impl FirstScan<'_> {
    /// The same scan, which also numbers the values of every column.
    pub fn numbered(self) -> Self {
        let collectors = self.collectors.into_iter();
        let collectors = collectors
            .map(|own| Mutex::new(own.into_inner().unwrap_or_else(PoisonError::into_inner).numbered()));
        FirstScan { collectors: collectors.collect(), ..self }
    }

    /// How many numbers each column may have, null included: those of the quasi-identifiers, then the sensitive columns.
    pub fn most_numbers(&self) -> Vec<u32> {
        let most = |own: &Mutex<Collector<'_>>| {
            own.lock().unwrap_or_else(PoisonError::into_inner).numbering().map_or(0, Numbering::most)
        };
        self.collectors.iter().map(most).collect()
    }

    /// Whether every value that was found has a number.
    pub fn is_numbered(&self) -> bool {
        !self.unnumbered.load(Ordering::Relaxed)
    }

    /// Observes a batch. Threads that begin at different columns rarely wait for each other. With `numbers`, the numbers
    /// of the values are appended to it; it has a buffer for each column.
    pub fn observe(
        &self,
        batch: &SourceBatch,
        begin_at: usize,
        mut numbers: Option<&mut [Codes]>,
    ) -> Result<()> {
        self.rows.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.wrong_counts.fetch_add(batch.wrong_counts, Ordering::Relaxed);
        // A batch has at most 2^31 rows of less than 2^32 people; the sum of a table may not overflow either.
        let people = batch.counts.iter().flatten().sum();
        let add = |sum: u64| Some(sum.saturating_add(people));
        let _ = self.people.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        let many = self.collectors.len();
        for column in (0..many).map(|i| (begin_at + i) % many) {
            let mut collector = self.collectors[column].lock().unwrap_or_else(PoisonError::into_inner);
            let before = collector.memory().1;
            let numbers = numbers.as_mut().map(|numbers| &mut numbers[column]);
            collector.observe_into(&batch.judged()[column], batch.counts.as_deref(), numbers)?;
            if collector.numbering().is_some_and(|numbering| !numbering.is_complete()) {
                self.unnumbered.store(true, Ordering::Relaxed);
            }
            let now = collector.memory();
            if now.1 > before {
                self.room.lock().unwrap_or_else(PoisonError::into_inner).resize(column, now)?;
            }
        }
        let many = self.ids.len();
        for (place, column) in (0..many).map(|i| &self.ids[(begin_at + i) % many]) {
            column.lock().unwrap_or_else(PoisonError::into_inner).observe(&batch.watched()[*place])?;
        }
        Ok(())
    }

    /// Returns the result for a whole table; one without rows, or with invalid counts, is an error.
    pub fn finish(self) -> Result<TableValues> {
        let counted = self.counted;
        self.of_part().judged(counted)
    }

    /// Returns the result for some of the rows.
    pub fn of_part(self) -> TableValues {
        self.finish_numbered().0
    }

    /// Returns the result for some of the rows, and the numbers of the values of each column, if they have numbers.
    pub fn finish_numbered(self) -> (TableValues, Vec<Numbering>) {
        let collected = self.collectors.into_iter();
        let collected = collected.map(|own| own.into_inner().unwrap_or_else(PoisonError::into_inner));
        let (mut quasi, numberings): (Vec<_>, Vec<_>) = collected.map(Collector::finish_numbered).unzip();
        let sensitive = quasi.split_off(self.quasi);
        let ids =
            self.ids.into_iter().map(|(_, own)| own.into_inner().unwrap_or_else(PoisonError::into_inner));
        let values = TableValues {
            rows: self.rows.into_inner(),
            people: self.people.into_inner(),
            wrong_counts: self.wrong_counts.into_inner(),
            quasi,
            sensitive,
            ids: ids.collect(),
        };
        (values, numberings.into_iter().flatten().collect())
    }
}

/// The result of the first scan for some rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableValues {
    /// Number of rows that represent at least one person.
    pub rows: u64,
    /// The people that counted rows stand for.
    pub people: u64,
    /// Rows whose count is none.
    pub wrong_counts: u64,
    /// The values of each quasi-identifier.
    pub quasi: Vec<ColumnValues>,
    /// The values of each sensitive column.
    pub sensitive: Vec<ColumnValues>,
    /// The watched columns that could hold ids.
    pub ids: Vec<IdColumn>,
}

impl TableValues {
    /// The result for all rows; `counted` is the column that counts the people of a row, if there is one.
    pub fn judged(self, counted: Option<&str>) -> Result<Self> {
        if let Some(name) = counted {
            RowCounts::judge(name, self.wrong_counts)?;
            if self.people > MOST_REPEATED_ROWS {
                return Err(Error::input(
                    format!(
                        "the counts in column {name:?} stand for more than {MOST_REPEATED_ROWS} people, and a \
                         release has a row for each"
                    ),
                    "publish the table in parts, such as one per district, or divide all counts by the same number",
                ));
            }
        }
        match self.rows {
            0 => Err(Error::input("the table has no rows", "give a table that holds people")),
            _ => Ok(self),
        }
    }

    /// Adds the result for other rows of the same table; commutative and associative.
    pub fn merge(&mut self, other: TableValues) -> Result<()> {
        self.rows += other.rows;
        self.people = self.people.saturating_add(other.people);
        self.wrong_counts += other.wrong_counts;
        self.ids.iter_mut().zip(other.ids).for_each(|(own, other)| own.merge(other));
        let own = self.quasi.iter_mut().chain(&mut self.sensitive);
        let others = other.quasi.into_iter().chain(other.sensitive);
        own.zip(others).try_for_each(|(own, other)| own.merge(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::byte_form::PolicyStamp;
    use crate::table::read::{CsvType, Morsel, ReadOptions};
    use arrow_array::Int64Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// The result of the first scan for some rows of a counted table; `None` if there are none.
    fn values(rows: &[(u8, Option<u8>, u64)]) -> Option<TableValues> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let row = |(age, illness, count): &(u8, Option<u8>, u64)| {
            let illness = illness.map_or(String::new(), |illness| format!("i{illness}"));
            format!("{age},{illness},{count}\n")
        };
        let text: String = rows.iter().map(row).collect();
        std::fs::write(&path, format!("age,illness,people\n{text}")).unwrap();
        let types = [("age", CsvType::Integer), ("illness", CsvType::Text), ("people", CsvType::Integer)];
        let types = types.map(|(name, kind)| (name.to_string(), kind)).into();
        let table = Table::open(&[path], &ReadOptions { types, ..ReadOptions::default() }).unwrap();
        let age = Quasi::plain("age");
        let sensitive = SensitiveSource { name: "illness", null_is: Some("none"), values: Values::Single };
        let columns = SourceColumns {
            rows: RowsAre::Counted("people"),
            ..SourceColumns::of_people(vec![&age], sensitive)
        };
        let scan = columns.first_scan(&table, &Budget::new(1 << 26)).unwrap();
        let work = |morsel: Morsel<'_>| {
            morsel.into_iter().try_for_each(|batch| scan.observe(&columns.split(batch?)?, 1, None))
        };
        table.scan(&columns.wanted(), 1, work, |()| Ok(())).unwrap();
        scan.finish().ok()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn first_scans_of_parts_merge_in_any_order(
            rows in prop::collection::vec((any::<u8>(), prop::option::of(0..5u8), 0..4u64), 3..30),
            cuts in (0usize..30, 0usize..30),
        ) {
            let (low, high) = (cuts.0.min(cuts.1).min(rows.len()), cuts.0.max(cuts.1).min(rows.len()));
            let parts = [&rows[..low], &rows[low..high], &rows[high..]].map(values);
            let parts: Vec<TableValues> = parts.into_iter().flatten().collect();
            // Every part travels as bytes.
            let stamp = PolicyStamp::new("policy");
            let sent = |part: &TableValues| stamp.open::<TableValues>(&stamp.seal(part)).unwrap();
            let merged = |parts: &mut dyn Iterator<Item = &TableValues>| {
                parts.map(sent).reduce(|mut all, part| all.merge(part).map(|()| all).unwrap())
            };
            let whole = values(&rows);
            prop_assert_eq!(&merged(&mut parts.iter()), &whole);
            prop_assert_eq!(&merged(&mut parts.iter().rev()), &whole);
            let last: Option<TableValues> = merged(&mut parts.iter().skip(1));
            prop_assert_eq!(&merged(&mut parts.iter().take(1).chain(&last)), &whole);
        }
    }

    #[test]
    fn counted_rows_are_repeated_and_those_of_nobody_left_out() {
        let age = Quasi::plain("age");
        let sensitive = SensitiveSource { name: "illness", null_is: None, values: Values::Single };
        let columns = SourceColumns {
            rows: RowsAre::Counted("people"),
            ..SourceColumns::of_people(vec![&age], sensitive)
        };
        let column = |numbers: [i64; 3]| Arc::new(Int64Array::from(numbers.to_vec())) as ArrayRef;
        let many = REPEATED_ROWS as i64;
        let arrays =
            [("people", column([2, 0, many])), ("age", column([5, 6, 7])), ("illness", column([1, 2, 3]))];
        let batch = columns.split(RecordBatch::try_from_iter(arrays).unwrap()).unwrap();
        let mut ages = Vec::new();
        let each = |batch: &SourceBatch| {
            assert!(batch.len() <= REPEATED_ROWS);
            ages.extend_from_slice(batch.quasi()[0].as_primitive::<Int64Type>().values());
            Ok(())
        };
        batch.each_person(each).unwrap();
        let expected: Vec<i64> = [5, 5].into_iter().chain(std::iter::repeat_n(7, REPEATED_ROWS)).collect();
        assert_eq!(ages, expected);
    }
}
