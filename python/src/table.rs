//! How does a table come in from Python?
//!
//! By path, or as anything that has `__arrow_c_stream__`. Such a stream can be read once, and a release reads its table
//! several times: so the stream is written to the private spill while it is read for the first time.
//!
//! Memory: one batch of [`BATCH_ROWS`] rows, besides the batch that the producer holds.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_cast::cast;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};
use skyveil::{Error, ReadOptions, Result, Table};

/// The name that errors give to a table without a file.
const NAME: &str = "the given table";

/// Rows that are written to the spill together.
const BATCH_ROWS: usize = 1 << 14;

/// A table as Python gave it, before it is read.
pub enum GivenTable {
    /// Files.
    Paths(Vec<PathBuf>),
    /// A stream of batches.
    Stream(Box<RecordBatchStreamReader>),
}

impl GivenTable {
    /// Opens the table; reads the beginning of a stream.
    pub fn open(self, options: &ReadOptions) -> Result<Table> {
        match self {
            GivenTable::Paths(paths) => Table::open(&paths, options),
            GivenTable::Stream(stream) => {
                Table::from_reader(NAME, Box::new(StreamBytes::new(*stream)?), options)
            }
        }
    }

    /// What a policy for it calls it.
    pub fn name(&self) -> String {
        match self {
            GivenTable::Paths(paths) => {
                paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
            }
            GivenTable::Stream(_) => NAME.to_string(),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for GivenTable {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if given.hasattr("__arrow_c_stream__")? {
            return stream(&given).map(|stream| GivenTable::Stream(Box::new(stream)));
        }
        if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
            return Ok(GivenTable::Paths(given.extract()?));
        }
        match given.extract::<PathBuf>() {
            Ok(path) => Ok(GivenTable::Paths(vec![path])),
            Err(_) => Err(PyTypeError::new_err(format!(
                "a table is a path, a list of paths, or an object with __arrow_c_stream__ (pyarrow, polars, pandas 2.2, \
                 duckdb), not {}",
                given.get_type().name()?
            ))),
        }
    }
}

fn stream(given: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = given.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let place = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream by the Arrow PyCapsule interface. It is moved out of the capsule,
    // which then holds a released stream.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(place.as_ptr()) };
    RecordBatchStreamReader::try_new(stream).map_err(|_| {
        PyTypeError::new_err(
            "the columns of this stream cannot be read: it is no table, or its schema is damaged",
        )
    })
}

/// A stream of batches as the bytes of an Arrow IPC stream.
struct StreamBytes {
    batches: RecordBatchStreamReader,
    schema: SchemaRef,
    /// Nothing once the end is written.
    writer: Option<StreamWriter<Vec<u8>>>,
    /// The rest of the batch whose rows are being written.
    rest: Option<RecordBatch>,
    bytes: Vec<u8>,
    /// Bytes that were read already.
    read: usize,
}

impl StreamBytes {
    fn new(batches: RecordBatchStreamReader) -> Result<Self> {
        let schema = plain_schema(&batches.schema());
        let mut writer = StreamWriter::try_new(Vec::new(), &schema).map_err(|_| {
            Error::input("a column of the given table has a type that is not supported", "leave it out")
        })?;
        let bytes = std::mem::take(writer.get_mut());
        Ok(StreamBytes { batches, schema, writer: Some(writer), rest: None, bytes, read: 0 })
    }

    /// Writes some rows, or the end.
    fn write(&mut self, writer: &mut StreamWriter<Vec<u8>>) -> std::result::Result<Rest, ArrowError> {
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match self.batches.next().transpose()? {
                Some(batch) => batch,
                None => return writer.finish().map(|()| Rest::Nothing),
            },
        };
        let rows = batch.num_rows().min(BATCH_ROWS);
        writer.write(&plain(&batch.slice(0, rows), &self.schema)?)?;
        if rows < batch.num_rows() {
            self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        Ok(Rest::Something)
    }
}

/// Whether there are more rows.
enum Rest {
    Something,
    Nothing,
}

impl Read for StreamBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.bytes.len() {
            let Some(mut writer) = self.writer.take() else { return Ok(0) };
            // The message of the producer may hold values of cells.
            let rest = self.write(&mut writer).map_err(|_| {
                io::Error::other(Error::input(
                    "the stream of the given table failed before its end",
                    "read it to its end without skyveil to see why",
                ))
            })?;
            (self.bytes, self.read) = (std::mem::take(writer.get_mut()), 0);
            self.writer = matches!(rest, Rest::Something).then_some(writer);
        }
        let length = buffer.len().min(self.bytes.len() - self.read);
        buffer[..length].copy_from_slice(&self.bytes[self.read..][..length]);
        self.read += length;
        Ok(length)
    }
}

/// The same columns, with one type for all texts: views hold more than the rows that are written, and a kept column is
/// published in the type in which it comes.
fn plain_schema(schema: &Schema) -> SchemaRef {
    let field =
        |field: &Arc<Field>| Field::new(field.name(), plain_type(field.data_type()), field.is_nullable());
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

fn plain_type(own: &DataType) -> DataType {
    let item = |item: &Arc<Field>| Arc::new(Field::new("item", plain_type(item.data_type()), true));
    match own {
        DataType::LargeUtf8 | DataType::Utf8View | DataType::Utf8 => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::List(inner)
        | DataType::LargeList(inner)
        | DataType::ListView(inner)
        | DataType::LargeListView(inner) => DataType::List(item(inner)),
        other => other.clone(),
    }
}

fn plain(batch: &RecordBatch, schema: &SchemaRef) -> std::result::Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()));
    RecordBatch::try_new(schema.clone(), columns.collect::<std::result::Result<_, _>>()?)
}
