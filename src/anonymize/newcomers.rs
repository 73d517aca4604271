//! Who of a table is new?
//!
//! The rows of the table and of those who wait are marked and sorted by person, and joined with the ledger in one
//! stream. Whoever is new is copied to an encrypted file without a name, from which the night is made, or which becomes
//! the file of those who wait.
//!
//! Memory: the sorter; a bit for each row; one batch per thread.

use crate::encode::person::{MARK_BYTES, PERSON_BYTES, PersonMark, PersonMarker};
use crate::error::{Error, Result, number_of};
use crate::model::Policy;
use crate::release::ledger::{LedgerReader, LedgerRecord};
use crate::resources::Resources;
use crate::resources::budget::Reservation;
use crate::resources::sorter::Sorter;
use crate::resources::spill_stream::SpillStream;
use crate::table::read::{ColumnRequest, Morsel, ReadOptions, SpoolPlace, Table};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_cast::cast;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use std::io::{Read, Write};
use std::sync::Arc;

/// What was found out about the people of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PeopleFound {
    /// Published before, with the same values.
    pub known: u64,
    /// Published or waiting with other values.
    pub changed: u64,
    /// In several rows.
    pub repeated: u64,
    /// Waiting already.
    pub waiting: u64,
}

/// The people who are new, and those who wait.
pub(super) struct Newcomers {
    /// How many.
    pub people: u64,
    /// How many of them did not wait before.
    pub joined: u64,
    /// The others of the table.
    pub found: PeopleFound,
    /// Their rows as a table.
    pub rows: Arc<SpillStream>,
}

/// The rows that are copied; all of them without a list.
type Chosen = Option<RowSet>;

/// Where the people of a night come from.
pub(super) struct Arrivals<'a> {
    pub table: &'a Table,
    /// Those who wait.
    pub waiting: Option<&'a Table>,
    pub policy: &'a Policy,
    /// Marks people, if a column names them.
    pub marker: Option<&'a PersonMarker>,
    pub resources: &'a Resources<'a>,
}

impl Arrivals<'_> {
    /// Joins them with the ledger, and copies whoever is new.
    pub fn find(&self, ledger: LedgerReader) -> Result<Newcomers> {
        let mut sets = [Chosen::None, Chosen::None];
        let mut found = PeopleFound::default();
        if let Some(marker) = self.marker {
            let spill = self.resources.new_spill()?;
            let mut sorter = Sorter::new(&self.resources.budget, &spill)?;
            let mut rows = [0; 2];
            for (place, source) in self.sources().enumerate() {
                rows[place] = self.mark(source, place as u8, marker, &mut sorter)?;
            }
            let mut join = Join::new(ledger, rows, self.resources)?;
            sorter.finish(|record| join.push(record))?;
            (sets, found) = join.finish()?;
        } else {
            let mut ledger = ledger;
            while ledger.next()?.is_some() {}
        }
        let rows = Arc::new(self.resources.new_spill_stream()?);
        let schema = self.copied_schema();
        let writer = StreamWriter::try_new(SpillWriter(&rows), &schema);
        let mut writer = writer.map_err(|error| unfit(&error))?;
        let mut copied = [0; 2];
        for (place, source) in self.sources().enumerate() {
            copied[place] = self.copy(source, &sets[place], &schema, &mut writer)?;
        }
        writer.finish().map_err(|error| unfit(&error))?;
        drop(writer);
        let (waited, joined) = match self.waiting {
            Some(_) => (copied[0], copied[1]),
            None => (0, copied[0]),
        };
        Ok(Newcomers { people: waited + joined, joined, found, rows })
    }

    /// Those who wait, and then the table.
    fn sources(&self) -> impl Iterator<Item = &Table> {
        self.waiting.into_iter().chain([self.table])
    }

    fn mark(&self, source: &Table, place: u8, marker: &PersonMarker, sorter: &mut Sorter<'_>) -> Result<u64> {
        let person = self.policy.nights.as_ref().and_then(|nights| nights.person.as_deref());
        let sensitive = self.policy.columns.sensitive.iter().map(|column| column.name.as_str());
        let columns: Vec<_> = person.into_iter().chain(sensitive).map(ColumnRequest::canonical).collect();
        let work = |morsel: Morsel<'_>| {
            let first = morsel.first_row();
            let mut marks: Vec<PersonMark> = Vec::new();
            for batch in morsel {
                let batch = batch?;
                marks.extend(marker.marks(batch.column(0), &batch.columns()[1..])?);
            }
            Ok((first, marks))
        };
        let mut rows = 0;
        self.resources.progress.start("looking for newcomers", source.rows());
        source.scan(&columns, self.resources, work, |(first, marks)| {
            self.resources.progress.advance(marks.len() as u64);
            rows = first + marks.len() as u64;
            let mut numbered = (first..).zip(&marks);
            numbered.try_for_each(|(row, mark)| sorter.push(&[mark, &[place], &row.to_be_bytes()]))
        })?;
        self.resources.progress.finish();
        Ok(rows)
    }

    /// The columns that the policy names, without dictionaries.
    fn copied_schema(&self) -> SchemaRef {
        let fields = self.table.schema().fields();
        let unnamed = self.policy.unnamed(fields.iter().map(|field| field.name().as_str()));
        let named = fields.iter().filter(|field| !unnamed.contains(&field.name().as_str()));
        let plain = |field: &Arc<Field>| match field.data_type() {
            DataType::Dictionary(_, value) => Field::new(field.name(), value.as_ref().clone(), true),
            other => Field::new(field.name(), other.clone(), true),
        };
        Arc::new(Schema::new(named.map(plain).collect::<Vec<_>>()))
    }

    fn copy(
        &self,
        source: &Table,
        chosen: &Chosen,
        schema: &SchemaRef,
        writer: &mut StreamWriter<SpillWriter<'_>>,
    ) -> Result<u64> {
        for field in schema.fields() {
            let kind = source.kind(field.name())?;
            if kind != self.table.kind(field.name())? {
                return Err(other_type(field.name()));
            }
        }
        let columns: Vec<ColumnRequest> =
            schema.fields().iter().map(|field| ColumnRequest::as_is(field.name())).collect();
        let work = |morsel: Morsel<'_>| {
            let mut row = morsel.first_row();
            let mut batches = Vec::new();
            for batch in morsel {
                let batch = batch?;
                let kept = match chosen {
                    None => batch.clone(),
                    Some(set) => {
                        let is_chosen =
                            (row..row + batch.num_rows() as u64).map(|row| Some(set.contains(row)));
                        filter_record_batch(&batch, &is_chosen.collect::<BooleanArray>())
                            .map_err(|error| unfit(&error))?
                    }
                };
                row += batch.num_rows() as u64;
                if kept.num_rows() > 0 {
                    batches.push(plain(&kept, schema)?);
                }
            }
            Ok(batches)
        };
        let mut rows = 0;
        self.resources.progress.start("copying newcomers", source.rows());
        source.scan(&columns, self.resources, work, |batches: Vec<RecordBatch>| {
            for batch in batches {
                rows += batch.num_rows() as u64;
                writer.write(&batch).map_err(|error| unfit(&error))?;
            }
            Ok(())
        })?;
        self.resources.progress.finish();
        Ok(rows)
    }
}

impl Newcomers {
    /// Their rows as a table.
    pub fn open(&self, place: SpoolPlace) -> Result<Table> {
        let source = SpillReader { stream: self.rows.clone(), at: 0 };
        Table::from_reader(
            "newcomers",
            Box::new(source),
            &ReadOptions { spool: place, ..ReadOptions::default() },
        )
    }
}

/// Opens the rows of those who wait.
pub(super) fn open_waiting(rows: impl Read + Send + 'static, place: SpoolPlace) -> Result<Table> {
    Table::from_reader(
        "people who wait",
        Box::new(rows),
        &ReadOptions { spool: place, ..ReadOptions::default() },
    )
}

/// Copies the rows of those who wait whom `stays` keeps, by the canonical column of their names.
pub(super) fn copy_rows(
    table: &Table,
    person: &str,
    stays: impl Fn(&ArrayRef) -> Result<BooleanArray> + Sync,
    resources: &Resources<'_>,
) -> Result<(Arc<SpillStream>, u64)> {
    let rows = Arc::new(resources.new_spill_stream()?);
    let schema = table.schema();
    let mut writer = StreamWriter::try_new(SpillWriter(&rows), schema).map_err(|error| unfit(&error))?;
    let all = schema.fields().iter().map(|field| ColumnRequest::as_is(field.name()));
    let columns: Vec<ColumnRequest> = [ColumnRequest::canonical(person)].into_iter().chain(all).collect();
    let work = |morsel: Morsel<'_>| {
        let mut kept = Vec::new();
        for batch in morsel {
            let mut batch = batch?;
            let stays = stays(&batch.remove_column(0))?;
            kept.push(plain(&filter_record_batch(&batch, &stays).map_err(|error| unfit(&error))?, schema)?);
        }
        Ok(kept)
    };
    let mut people = 0;
    table.scan(&columns, resources, work, |kept: Vec<RecordBatch>| {
        for batch in kept {
            people += batch.num_rows() as u64;
            writer.write(&batch).map_err(|error| unfit(&error))?;
        }
        Ok(())
    })?;
    writer.finish().map_err(|error| unfit(&error))?;
    drop(writer);
    Ok((rows, people))
}

fn plain(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let column = |(array, field): (&ArrayRef, &Arc<Field>)| match array.data_type() == field.data_type() {
        true => Ok(array.clone()),
        false => cast(array, field.data_type()).map_err(|_| other_type(field.name())),
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column).collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(schema.clone(), columns).map_err(|error| unfit(&error))
}

pub(super) fn other_type(column: &str) -> Error {
    Error::input(
        format!("column `{column}` has another type than in an earlier night"),
        "declare it in columns.types, or cast the column of the table",
    )
}

fn unfit(_: &arrow_schema::ArrowError) -> Error {
    Error::input("the rows of the newcomers cannot be stored", "cast unusual columns to text or numbers")
}

/// Rows by their numbers.
pub(super) struct RowSet {
    bits: Vec<u64>,
    _room: Reservation,
}

impl RowSet {
    fn new(rows: u64, resources: &Resources<'_>) -> Result<Self> {
        let words = rows.div_ceil(64);
        let room = resources.budget.reserve("the numbers of the newcomers' rows", words * 8)?;
        Ok(RowSet { bits: vec![0; words as usize], _room: room })
    }

    fn insert(&mut self, row: u64) {
        self.bits[(row / 64) as usize] |= 1 << (row % 64);
    }

    fn contains(&self, row: u64) -> bool {
        self.bits.get((row / 64) as usize).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }
}

/// The rows of one person.
struct PersonRows {
    person: [u8; PERSON_BYTES],
    tag: Vec<u8>,
    /// Whether all rows have the same values.
    agree: bool,
    /// Rows of those who wait, and of the table; the table alone if nobody waits.
    rows: [u64; 2],
    /// The row that is kept.
    chosen: (u8, u64),
}

/// Joins sorted rows with the ledger.
struct Join {
    ledger: LedgerReader,
    next: Option<LedgerRecord>,
    current: Option<PersonRows>,
    sets: [RowSet; 2],
    found: PeopleFound,
}

impl Join {
    fn new(mut ledger: LedgerReader, rows: [u64; 2], resources: &Resources<'_>) -> Result<Self> {
        let next = ledger.next()?;
        let sets = [RowSet::new(rows[0], resources)?, RowSet::new(rows[1], resources)?];
        Ok(Join { ledger, next, current: None, sets, found: PeopleFound::default() })
    }

    fn push(&mut self, record: &[u8]) -> Result<()> {
        let broken = || Error::defect("a row that was marked cannot be read");
        let (mark, place) = record.split_at_checked(MARK_BYTES).ok_or_else(broken)?;
        let (person, tag) = mark.split_at(PERSON_BYTES);
        let [place, row @ ..] = place else { return Err(broken()) };
        let row = u64::from_be_bytes(row.try_into().map_err(|_| broken())?);
        if self.current.as_ref().is_none_or(|current| current.person != *person) {
            self.close()?;
            self.current = Some(PersonRows {
                person: person.try_into().map_err(|_| broken())?,
                tag: tag.to_vec(),
                agree: true,
                rows: [0; 2],
                chosen: (*place, row),
            });
        }
        if let Some(current) = &mut self.current {
            current.agree &= current.tag == tag;
            current.rows[usize::from(*place)] += 1;
            current.chosen = current.chosen.min((*place, row));
        }
        Ok(())
    }

    /// All rows of a person are known.
    fn close(&mut self) -> Result<()> {
        let Some(person) = self.current.take() else { return Ok(()) };
        while self.next.as_ref().is_some_and(|next| next.person() < &person.person[..]) {
            self.next = self.ledger.next()?;
        }
        let known = self.next.as_ref().filter(|next| next.person() == person.person);
        let found = &mut self.found;
        match known {
            Some(known) if person.agree && known.tag() == person.tag => found.known += 1,
            Some(_) => found.changed += 1,
            None if person.rows.iter().any(|rows| *rows > 1) => found.repeated += 1,
            None if !person.agree => found.changed += 1,
            None => {
                found.waiting += u64::from(person.rows == [1, 1]);
                let (place, row) = person.chosen;
                self.sets[usize::from(place)].insert(row);
            }
        }
        Ok(())
    }

    /// Reads the rest of the ledger too, so that its seal is checked.
    fn finish(mut self) -> Result<([Chosen; 2], PeopleFound)> {
        self.close()?;
        while self.next.is_some() {
            self.next = self.ledger.next()?;
        }
        Ok((self.sets.map(Some), self.found))
    }
}

impl PeopleFound {
    /// Fails if somebody cannot be published: a second value, or a second row, would be subtracted from the first.
    pub fn expect_publishable(&self, column: &str) -> Result<()> {
        if self.repeated > 0 {
            return Err(Error::input(
                format!(
                    "column `{column}` names people, and {} in several rows",
                    number_of(self.repeated, "newcomer is", "newcomers are")
                ),
                "give one row for each person",
            ));
        }
        if self.changed > 0 {
            return Err(Error::input(
                format!(
                    "{} published before, or waiting, with another sensitive value",
                    number_of(self.changed, "person was", "people were")
                ),
                "leave them out of the table: a second value would publish them twice, and the first one stays known",
            ));
        }
        Ok(())
    }
}

/// Appends to a stream in a spill.
struct SpillWriter<'s>(&'s SpillStream);

impl Write for SpillWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.append(bytes).map_err(std::io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Reads a stream in a spill from its beginning.
struct SpillReader {
    stream: Arc<SpillStream>,
    at: u64,
}

impl Read for SpillReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.stream.bytes() - self.at;
        let here = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        self.stream.read(self.at, &mut buffer[..here]).map_err(std::io::Error::other)?;
        self.at += here as u64;
        Ok(here)
    }
}
