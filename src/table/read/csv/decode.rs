//! Turns records of text into record batches.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, StringBuilder, StringDictionaryBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};

use super::cell::{self, CsvType, TypeOrigin};
use super::file::{CsvFile, is_null};
use super::pieces::CsvPiece;
use super::record::{CsvCells, Dialect, Flaw, whole_records};
use crate::error::{Error, Result};
use crate::table::formulas::{CsvTexts, unguarded};
use crate::table::read::batch::Batch;
use crate::table::read::contain::damaged;
use crate::table::read::header::wrong_delimiter;
use crate::table::read::plan::{FilePlan, StringForm};
use crate::table::read::room::BATCH_BYTES;
use crate::table::read::scan::Batches;

/// What to do about text in another encoding.
pub(super) const CONVERT: &str =
    "convert the file to UTF-8, for example: iconv -f windows-1252 -t utf-8 OLD.csv > NEW.csv";

/// The batches of a piece of text.
pub(super) fn batches<'t>(
    file: &'t CsvFile,
    path: &'t Path,
    text: CsvPiece,
    plan: Arc<FilePlan>,
    batch_rows: usize,
) -> Result<Batches<'t>> {
    let CsvPiece { bytes, first_row, .. } = text;
    let text = String::from_utf8(bytes)
        .map_err(|error| not_utf8(path, error.as_bytes(), first_row, file.dialect))?;
    let mut position = 0;
    let mut row = first_row;
    Ok(Box::new(std::iter::from_fn(move || {
        let mut reading = Reading { file, path, plan: &plan, row };
        let mut cells = CsvCells::new(&text[position..], file.dialect);
        let decoded = reading.batch(&mut cells, batch_rows).transpose()?;
        position += cells.position();
        row = reading.row;
        Some(decoded.and_then(|batch| plan.shape(path, &batch)).map(Batch::from))
    })))
}

/// The state of reading one batch.
struct Reading<'a> {
    file: &'a CsvFile,
    path: &'a Path,
    plan: &'a FilePlan,
    /// The row being read, counted from 0 in its file.
    row: u64,
}

impl Reading<'_> {
    /// At most `batch_rows` records, and no more of them once they take [`BATCH_BYTES`]; `None` at the end of the text.
    fn batch(&mut self, cells: &mut CsvCells<'_>, batch_rows: usize) -> Result<Option<RecordBatch>> {
        let mut columns: Vec<Builder> = Vec::with_capacity(self.plan.wanted.len());
        // Each cell takes at least one byte: the one that ends it.
        let rows = (BATCH_BYTES / self.file.names.len().max(1)).clamp(1, batch_rows.min(1024));
        let mut wanted: Vec<Option<usize>> = vec![None; self.file.names.len()];
        for column in &self.plan.wanted {
            wanted[column.index] = Some(columns.len());
            columns.push(Builder::new(self.file.types[column.index].0, column.strings, rows));
        }
        let mut rows = 0;
        while rows < batch_rows && cells.position() < BATCH_BYTES && cells.find_record() {
            self.record(cells, &wanted, &mut columns)?;
            self.row += 1;
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let arrays: Vec<ArrayRef> = columns.iter_mut().map(Builder::finish).collect();
        let names = self.plan.wanted.iter().map(|w| &self.file.names[w.index]);
        let fields =
            names.zip(&arrays).map(|(name, array)| Field::new(name, array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        RecordBatch::try_new_with_options(
            schema,
            arrays,
            &RecordBatchOptions::new().with_row_count(Some(rows)),
        )
        .map(Some)
        .map_err(|_| damaged(self.path, "columns of different lengths"))
    }

    fn record(
        &self,
        cells: &mut CsvCells<'_>,
        wanted: &[Option<usize>],
        columns: &mut [Builder],
    ) -> Result<()> {
        let count = wanted.len();
        for (index, wanted) in wanted.iter().enumerate() {
            let cell = cells.cell().map_err(|flaw| self.flaw(flaw, index))?;
            if cell.last != (index + 1 == count) {
                return Err(self.flaw(Flaw::Ragged { cells: index + 1 }, index));
            }
            let Some(column) = wanted else { continue };
            let (kind, origin) = self.file.types[index];
            let text = match (kind, self.file.texts) {
                (CsvType::Text, CsvTexts::Guarded) => unguarded(&cell.text),
                _ => &*cell.text,
            };
            let value = (!is_null(&cell.text, &self.file.null_texts)).then_some(text);
            columns[*column].append(value, origin).ok_or_else(|| self.misfit(index, kind, origin))?;
        }
        Ok(())
    }

    fn place(&self) -> String {
        format!("{}: row {} after the header", self.path.display(), self.row + 1)
    }

    fn flaw(&self, flaw: Flaw, index: usize) -> Error {
        let (place, column) = (self.place(), &self.file.names[index]);
        if let (Flaw::Ragged { .. }, Some(error)) = (&flaw, wrong_delimiter(&self.file.names)) {
            return error.of_file(self.path);
        }
        let error = match flaw {
            Flaw::OpenQuote => {
                Error::input(format!("{place}: a quote in column `{column}` is not closed"), "close it")
            }
            Flaw::AfterQuote => Error::input(
                format!("{place}: text follows the closing quote in column `{column}`"),
                "double the quotes that belong to the text",
            ),
            Flaw::Ragged { cells } if cells < self.file.names.len() => Error::input(
                format!("{place} has {cells} cells, the header has {}", self.file.names.len()),
                "give every row the same number of cells; is the delimiter right?",
            ),
            Flaw::Ragged { .. } => Error::input(
                format!("{place} has more cells than the header, which has {}", self.file.names.len()),
                "give every row the same number of cells; quote cells that hold the delimiter",
            ),
        };
        error.of_column(column).of_file(self.path)
    }

    fn misfit(&self, index: usize, kind: CsvType, origin: TypeOrigin) -> Error {
        let (place, column) = (self.place(), &self.file.names[index]);
        let error = match origin {
            TypeOrigin::Guessed => Error::input(
                format!("{place}: column `{column}` looked like {kind}, but this cell does not fit"),
                format!("declare the type of `{column}` (text fits everything), or a text that means null"),
            ),
            TypeOrigin::Used => Error::input(
                format!("{place}: the policy uses column `{column}` as {kind}, and this cell is none"),
                format!(
                    "correct the cell or leave it empty; types = {{ {column:?} = \"text\" }} reads it as text"
                ),
            ),
            TypeOrigin::Declared => Error::input(
                format!("{place}: the cell of column `{column}` does not fit the declared type {kind}"),
                "correct the cell, or declare another type (text fits everything)",
            ),
        };
        error.of_column(column).of_file(self.path)
    }
}

/// The error for bytes that are not text, naming the row.
pub(super) fn not_utf8(path: &Path, bytes: &[u8], first_row: u64, dialect: Dialect) -> Error {
    let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let row = first_row + whole_records(&bytes[..valid], dialect).0 + 1;
    Error::input(format!("{}: row {row} after the header is not UTF-8", path.display()), CONVERT)
        .of_file(path)
}

/// A column of one cell; `None` if the cell does not fit the type.
pub(in crate::table::read) fn one_cell(
    kind: CsvType,
    cell: Option<&str>,
    origin: TypeOrigin,
) -> Option<ArrayRef> {
    let mut column = Builder::new(kind, StringForm::Plain, 1);
    column.append(cell, origin)?;
    Some(column.finish())
}

/// Collects the values of one column.
enum Builder {
    Integer(Int64Builder),
    Float(Float64Builder),
    Boolean(BooleanBuilder),
    Date(Date32Builder, fn(&str) -> Option<i32>),
    Timestamp(TimestampMicrosecondBuilder),
    TimestampUtc(TimestampMicrosecondBuilder),
    Text(StringBuilder),
    Packed(StringDictionaryBuilder<Int32Type>),
}

impl Builder {
    /// Without values, and with space for `rows` of them.
    fn new(kind: CsvType, strings: StringForm, rows: usize) -> Self {
        match (kind, strings) {
            (CsvType::Integer, _) => Builder::Integer(Int64Builder::with_capacity(rows)),
            (CsvType::Float, _) => Builder::Float(Float64Builder::with_capacity(rows)),
            (CsvType::Boolean, _) => Builder::Boolean(BooleanBuilder::with_capacity(rows)),
            (CsvType::Date, _) => Builder::Date(Date32Builder::with_capacity(rows), cell::date),
            (CsvType::DayMonthYear, _) => {
                Builder::Date(Date32Builder::with_capacity(rows), cell::day_month_year)
            }
            (CsvType::MonthDayYear, _) => {
                Builder::Date(Date32Builder::with_capacity(rows), cell::month_day_year)
            }
            (CsvType::Timestamp, _) => Builder::Timestamp(TimestampMicrosecondBuilder::with_capacity(rows)),
            (CsvType::TimestampUtc, _) => Builder::TimestampUtc(
                TimestampMicrosecondBuilder::with_capacity(rows).with_timezone(cell::UTC),
            ),
            (CsvType::Text, StringForm::Plain) => Builder::Text(StringBuilder::with_capacity(rows, 0)),
            (CsvType::Text, StringForm::Packed) => {
                Builder::Packed(StringDictionaryBuilder::with_capacity(rows, 0, 0))
            }
        }
    }

    /// Appends a cell or a null; `None` if the cell does not fit.
    fn append(&mut self, cell: Option<&str>, origin: TypeOrigin) -> Option<()> {
        /// A null stays a null; a cell must be readable.
        fn read<T>(cell: Option<&str>, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
            cell.map_or(Some(None), |cell| read(cell).map(Some))
        }
        match self {
            Builder::Integer(column) => column.append_option(read(cell, |c| cell::integer(c, origin))?),
            Builder::Float(column) => column.append_option(read(cell, |c| cell::float(c, origin))?),
            Builder::Boolean(column) => column.append_option(read(cell, cell::boolean)?),
            Builder::Date(column, date) => column.append_option(read(cell, *date)?),
            Builder::Timestamp(column) => column.append_option(read(cell, cell::timestamp)?),
            Builder::TimestampUtc(column) => column.append_option(read(cell, cell::timestamp_utc)?),
            Builder::Text(column) => column.append_option(cell),
            Builder::Packed(column) => column.append_option(cell),
        }
        Some(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Integer(column) => Arc::new(column.finish()),
            Builder::Float(column) => Arc::new(column.finish()),
            Builder::Boolean(column) => Arc::new(column.finish()),
            Builder::Date(column, _) => Arc::new(column.finish()),
            Builder::Timestamp(column) | Builder::TimestampUtc(column) => Arc::new(column.finish()),
            Builder::Text(column) => Arc::new(column.finish()),
            Builder::Packed(column) => Arc::new(column.finish()),
        }
    }
}
