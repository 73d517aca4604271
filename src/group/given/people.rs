//! The people of a table as codes.
//!
//! Memory: the columns in use for all people, both as read and as codes, reserved from the budget. Tables with more than [`MOST_PEOPLE`] are
//! rejected while they are read.

use super::audited::{GivenFunctions, ReadFor};
use super::generalize;
use crate::encode::attribute::Attribute;
use crate::encode::cells::cell_texts;
use crate::encode::combination::SensitiveColumns;
use crate::encode::encoder::Encoder;
use crate::encode::page::Layout;
use crate::encode::repeated_ids::{IdColumn, RepeatedIds};
use crate::encode::rows::{Rows, Sensitive};
use crate::encode::sensitive::SensitiveCoding;
use crate::encode::source_columns::{RowsAre, SourceBatch, SourceColumns};
use crate::error::{Error, Result};
use crate::math::disclosure_sets::Partition;
use crate::math::skyline::Values;
use crate::resources::Resources;
use crate::resources::budget::{Budget, Reservation};
use crate::table::ColumnKind;
use crate::table::read::{ColumnRequest, Morsel, Table};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Field;
use std::sync::{Mutex, PoisonError};

/// Tables with more people are rejected: their disclosure sets are far too large to count.
pub const MOST_PEOPLE: usize = 20_000;

/// Memory to speed up encoding; without it, encoding is just slower.
const LOOKUP_BYTES: u64 = 16 << 20;

/// The columns read in addition to the quasi-identifiers and the sensitive column.
pub struct ExtraColumns<'a> {
    /// The column that identifies the person in a table of group numbers.
    pub id: Option<&'a str>,
    /// Whether the columns that travel are needed.
    pub purpose: ReadFor,
}

/// The people of a table, in table order.
pub struct CodedPeople {
    /// The quasi-identifiers in table order; every value has its own code.
    pub attributes: Vec<Attribute>,
    /// For each of them, its position in `columns.quasi` of the policy.
    pub places: Vec<usize>,
    /// The sensitive values.
    pub sensitive: SensitiveCoding,
    /// The codes of every person.
    pub rows: Rows,
    /// The columns that travel, as in the table, with their batches.
    pub travelling: (Vec<Field>, Vec<Vec<ArrayRef>>),
    /// Columns that are not published and could hold ids of people with several rows.
    pub ids_of_rows: Vec<RepeatedIds>,
    /// The identifier of each person in the table of group numbers.
    pub(super) ids: Option<Vec<Option<String>>>,
    _room: Reservation,
}

impl CodedPeople {
    /// Reads the table of a job, once.
    pub fn read(job: &GivenFunctions<'_>, extra: &ExtraColumns<'_>) -> Result<Self> {
        let mut columns = columns(job)?;
        let mut travelling = std::mem::take(&mut columns.travelling);
        if extra.purpose == ReadFor::Report {
            travelling.clear();
            columns.watched.clear();
        }
        columns.watched.retain(|name| Some(*name) != extra.id);
        let judged = columns.wanted();
        let mut wanted = judged.clone();
        wanted.extend(extra.id.map(ColumnRequest::canonical));
        wanted.extend(travelling.iter().map(|name| ColumnRequest::as_is(*name)));
        let (batches, room) = read_all(job.table, &wanted, job.resources)?;

        let judged: Vec<usize> = (0..judged.len()).collect();
        let split = |batch: &RecordBatch| columns.split(batch.project(&judged).map_err(|_| unfit())?);
        let people: Vec<SourceBatch> = batches.iter().map(split).collect::<Result<_>>()?;
        let scan = columns.first_scan(job.table, &job.resources.budget)?;
        people.iter().try_for_each(|batch| scan.observe(batch, 0, None))?;
        let found = scan.finish()?;
        let attributes = columns.quasi.iter().zip(found.quasi);
        let attributes = attributes.map(|(quasi, found)| generalize::attribute(quasi, found));
        let attributes: Vec<Attribute> = attributes.collect::<Result<_>>()?;
        let sensitive = columns.sensitive_codings(job.table, found.sensitive)?.remove(0);

        let budget = Budget::new(LOOKUP_BYTES);
        let only = SensitiveColumns::one(sensitive.clone());
        let encoder = Encoder::new(&attributes, &only, &budget);
        let mut rows = Layout::of(&attributes, &only).empty(0);
        for batch in &people {
            encoder.append(batch.quasi(), batch.sensitive(), &mut rows)?;
        }
        let ids = match extra.id {
            Some(id) => Some(texts(job.table, id, batches.iter().map(|batch| batch.column(judged.len())))?),
            None => None,
        };
        let first = judged.len() + usize::from(extra.id.is_some());
        let schema = job.table.schema();
        let fields = travelling.iter().filter_map(|name| schema.field_with_name(name).ok()).cloned();
        let travelling =
            (fields.collect(), batches.iter().map(|batch| batch.columns()[first..].to_vec()).collect());
        let place = |name: &str| job.policy.columns.quasi.iter().position(|own| own.name == name);
        let places = columns.quasi.iter().filter_map(|quasi| place(&quasi.name)).collect();
        let ids_of_rows = found.ids.into_iter().filter_map(IdColumn::finish).collect();
        Ok(CodedPeople { attributes, places, sensitive, rows, travelling, ids_of_rows, ids, _room: room })
    }

    /// Number of people.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The code of every person's sensitive value.
    pub fn values(&self) -> Vec<u32> {
        (0..self.len()).map(|person| self.value(person).into()).collect()
    }

    /// The code of a person's sensitive value.
    pub fn value(&self, person: usize) -> u16 {
        match &self.rows.sensitive {
            Sensitive::Single(codes) => codes.get(person),
            Sensitive::Lists { .. } => 0,
        }
    }

    /// Groups the people whose labels agree in all columns, given `labels[column][code]`.
    pub fn grouped(&self, labels: &[Vec<String>]) -> Partition {
        let label = |person: usize| -> Vec<&str> {
            let columns = labels.iter().zip(&self.rows.columns);
            columns.map(|(labels, codes)| labels[usize::from(codes.get(person))].as_str()).collect()
        };
        Partition::by_label((0..self.len()).map(label))
    }
}

/// The columns of a job's table: one row per person, one sensitive column.
fn columns<'a>(job: &GivenFunctions<'a>) -> Result<SourceColumns<'a>> {
    let columns = SourceColumns::bound(job.table, job.policy, |_| Values::Single)?;
    if let RowsAre::Counted(name) | RowsAre::ValuesOf(name) = columns.rows {
        return Err(Error::input(
            format!("column {name:?}: an audit takes one row per person"),
            "give a table with one row and one sensitive value per person",
        ));
    }
    match columns.sensitive.len() {
        1 => Ok(columns),
        _ => Err(Error::input(
            "an audit takes one sensitive column",
            "name one in columns.sensitive, and drop or keep the others",
        )),
    }
}

/// The batches of a small table, and the memory that they take.
pub(super) fn read_all(
    table: &Table,
    columns: &[ColumnRequest],
    resources: &Resources<'_>,
) -> Result<(Vec<RecordBatch>, Reservation)> {
    const STAGE: &str = "reading the people of an audit";
    let room = Mutex::new(resources.budget.reserve(STAGE, 0)?);
    let within = |rows: u64| {
        if rows <= MOST_PEOPLE as u64 {
            return Ok(());
        }
        Err(Error::input(
            format!("the table has more than {MOST_PEOPLE} people, the most that an audit takes"),
            "audit a part of the table, such as one district: functions and policy stay the same",
        ))
    };
    table.rows().map_or(Ok(()), within)?;
    let work = |morsel: Morsel<'_>| {
        let mut rows = 0;
        let mut batches = Vec::new();
        for batch in morsel {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            within(rows)?;
            let mut room = room.lock().unwrap_or_else(PoisonError::into_inner);
            // Once as read, once as texts or codes.
            let bytes = room.bytes() + 2 * batch.get_array_memory_size() as u64;
            room.resize(STAGE, bytes)?;
            batches.push(batch);
        }
        Ok((rows, batches))
    };
    let (mut rows, mut all) = (0, Vec::new());
    table.scan(columns, resources, work, |(more, batches)| {
        rows += more;
        all.extend(batches);
        within(rows)
    })?;
    if rows == 0 {
        return Err(Error::input("the table has no rows", "there is nothing to audit; check the input"));
    }
    Ok((all, room.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

/// The text of every cell of a canonical column; `None` for null.
pub(super) fn texts<'a>(
    table: &Table,
    name: &str,
    arrays: impl Iterator<Item = &'a ArrayRef>,
) -> Result<Vec<Option<String>>> {
    let kind = table.kind(name)?;
    if matches!(kind, ColumnKind::List(_)) {
        return Err(Error::input(
            format!("column {name:?} holds lists, which name neither groups nor people"),
            "give numbers or texts",
        ));
    }
    let mut all = Vec::new();
    for array in arrays {
        all.extend(cell_texts(array, &kind, name)?);
    }
    Ok(all)
}

fn unfit() -> Error {
    Error::input("a batch lacks columns that were requested", "this is a defect; please report it")
}
