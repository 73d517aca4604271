//! Writing CSV.
//!
//! A CSV file does not say of which types its columns are ([`stated_types`]), and cannot tell an empty text from a
//! missing value: where no value may be missing, an empty text is refused.
//!
//! Memory: the text of one slab. Threads format parts of a slab; the parts are written in order.

use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, Schema};
use flate2::Compression;
use flate2::write::GzEncoder;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::slab::Slab;
use super::writer::SinkError;
use crate::error::{Error, Result as CrateResult};
use crate::resources::disk::DiskFile;
use crate::table::formulas::{CsvTexts, guarded};
use crate::table::read::CsvType;

/// The text that is compressed at a time. What the encoder makes of a text depends on the pieces in which it gets it,
/// and these must not depend on the number of threads.
const PIECE: usize = 1 << 16;

/// Compressed or not.
pub(super) enum CsvOutput {
    Plain(DiskFile),
    Gzip {
        encoder: Box<GzEncoder<DiskFile>>,
        /// Less than [`PIECE`].
        piece: Vec<u8>,
    },
}

impl CsvOutput {
    /// The header of the file holds no time and no name.
    pub fn gzip(file: DiskFile) -> Self {
        let encoder = Box::new(GzEncoder::new(file, Compression::default()));
        CsvOutput::Gzip { encoder, piece: Vec::with_capacity(PIECE) }
    }

    fn write_all(&mut self, mut text: &[u8]) -> std::io::Result<()> {
        match self {
            CsvOutput::Plain(file) => file.write_all(text),
            CsvOutput::Gzip { encoder, piece } => {
                while !text.is_empty() {
                    let (now, later) = text.split_at(text.len().min(PIECE - piece.len()));
                    piece.extend_from_slice(now);
                    text = later;
                    if piece.len() == PIECE {
                        encoder.write_all(piece)?;
                        piece.clear();
                    }
                }
                Ok(())
            }
        }
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            CsvOutput::Plain(_) => Ok(()),
            CsvOutput::Gzip { mut encoder, piece } => {
                encoder.write_all(&piece)?;
                encoder.finish().map(drop)
            }
        }
    }
}

pub(super) struct CsvSink {
    columns: Vec<CsvColumn>,
    file: CsvOutput,
    pool: ThreadPool,
}

/// How the cells of a column are written.
#[derive(Clone)]
struct CsvColumn {
    name: String,
    texts: CsvTexts,
    /// Whether an empty cell can only mean an empty text.
    is_complete: bool,
}

impl CsvSink {
    pub fn new(
        mut file: CsvOutput,
        schema: &Schema,
        texts: CsvTexts,
        pool: ThreadPool,
    ) -> Result<Self, SinkError> {
        let fields = schema.fields();
        if let Some(field) = fields.iter().find(|field| field.data_type().is_nested()) {
            let problem = format!("column {} is of type {}", field.name(), field.data_type());
            return Err(SinkError::Unwritable(problem));
        }
        let column = |field: &Field| CsvColumn {
            name: field.name().clone(),
            texts: if is_text(field.data_type()) { texts } else { CsvTexts::Plain },
            is_complete: is_text(field.data_type()) && !field.is_nullable(),
        };
        let columns: Vec<CsvColumn> = fields.iter().map(|field| column(field)).collect();
        let mut header = csv::Writer::from_writer(Vec::new());
        header.write_record(columns.iter().map(|column| written_as(&column.name, texts).into_owned()))?;
        file.write_all(&written(header)?)?;
        Ok(CsvSink { columns, file, pool })
    }

    pub fn encode(&mut self, slab: &Slab) -> Result<(), SinkError> {
        let arrays = (0..self.columns.len()).map(|i| slab.column(i)).collect::<Result<Vec<_>, _>>()?;
        for (column, array) in self.columns.iter().zip(&arrays) {
            let floats = array.as_primitive_opt::<Float64Type>();
            if floats.is_some_and(|floats| floats.iter().flatten().any(|number| !number.is_finite())) {
                let problem = format!("column {} holds a number that is not finite", column.name);
                return Err(SinkError::Unwritable(problem));
            }
        }
        let part_rows = slab.rows.div_ceil(self.pool.current_num_threads());
        let starts: Vec<usize> = (0..slab.rows).step_by(part_rows).collect();
        let columns = &self.columns;
        let parts: Vec<Vec<u8>> = self.pool.install(|| {
            let text = |&start: &usize| lines(columns, &arrays, start..(start + part_rows).min(slab.rows));
            starts.par_iter().map(text).collect::<Result<_, _>>()
        })?;
        for part in parts {
            self.file.write_all(&part)?;
        }
        Ok(())
    }

    pub fn finish(self) -> Result<(), SinkError> {
        Ok(self.file.finish()?)
    }
}

/// Formats some rows as text; null is an empty cell.
fn lines(columns: &[CsvColumn], arrays: &[ArrayRef], rows: Range<usize>) -> Result<Vec<u8>, SinkError> {
    let options = FormatOptions::default().with_null("");
    let cells: Vec<ArrayFormatter<'_>> =
        arrays.iter().map(|column| ArrayFormatter::try_new(column, &options)).collect::<Result<_, _>>()?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut text = String::new();
    for row in rows {
        for (column, cell) in columns.iter().zip(&cells) {
            text.clear();
            cell.value(row).write(&mut text)?;
            if text.is_empty() && column.is_complete {
                let problem = format!("column {} holds an empty text, which would be no value", column.name);
                return Err(SinkError::Unwritable(problem));
            }
            writer.write_field(written_as(&text, column.texts).as_bytes())?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    written(writer)
}

fn written_as(text: &str, texts: CsvTexts) -> Cow<'_, str> {
    match texts {
        CsvTexts::Plain => Cow::Borrowed(text),
        CsvTexts::Guarded => guarded(text),
    }
}

fn written(writer: csv::Writer<Vec<u8>>) -> Result<Vec<u8>, SinkError> {
    writer.into_inner().map_err(|error| SinkError::Io(error.into_error()))
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// The types by which the columns of a CSV file are read back as they were.
///
/// # Errors
/// A column without nulls whose type no CSV file can state. Others are read back as texts.
pub fn stated_types(schema: &Schema) -> CrateResult<Vec<(String, CsvType)>> {
    let stated = |field: &Field| {
        let kind = match field.data_type() {
            text if is_text(text) => CsvType::Text,
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => CsvType::Integer,
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => CsvType::Integer,
            DataType::Float16 | DataType::Float32 | DataType::Float64 => CsvType::Float,
            DataType::Boolean => CsvType::Boolean,
            DataType::Date32 => CsvType::Date,
            DataType::Timestamp(_, None) => CsvType::Timestamp,
            DataType::Timestamp(_, Some(_)) => CsvType::TimestampUtc,
            _ if field.is_nullable() => CsvType::Text,
            other => {
                return Err(Error::input(
                    format!("column `{}` is {other}, which a CSV file cannot hold exactly", field.name()),
                    "publish Parquet or Arrow files",
                )
                .of_column(field.name()));
            }
        };
        Ok((field.name().clone(), kind))
    };
    schema.fields().iter().map(|field| stated(field)).collect()
}
