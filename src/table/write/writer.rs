//! Writes a table to one file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::errors::ParquetError;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use super::csv::{CsvOutput, CsvSink};
use super::ipc::IpcSink;
use super::parquet::ParquetSink;
use super::slab::{Cutter, SLAB_ROWS, Slab};
use crate::error::{Error, Result};
use crate::resources::disk::DiskFile;
use crate::resources::threads::thread_pool;
use crate::resources::unfinished;
use crate::table::formulas::CsvTexts;

/// The file formats, chosen by the extension of the file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// `.parquet`
    Parquet,
    /// `.arrow` or `.feather`: the Arrow IPC file format.
    Arrow,
    /// `.csv`: comma, header line, quotes where needed.
    Csv,
    /// `.csv.gz`: the same, compressed; the file holds no time and no name.
    CsvGz,
}

impl OutputFormat {
    /// All formats with their names in a policy, which are also the extensions of their files.
    pub const NAMES: [(&'static str, OutputFormat); 4] = [
        ("parquet", OutputFormat::Parquet),
        ("arrow", OutputFormat::Arrow),
        ("csv", OutputFormat::Csv),
        ("csv.gz", OutputFormat::CsvGz),
    ];

    /// The format for the extension of `path`.
    pub fn of(path: &Path) -> Result<OutputFormat> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let known = Self::NAMES.iter().chain(&[("feather", OutputFormat::Arrow)]);
        let ending = |(extension, _): &&(&str, OutputFormat)| {
            name.strip_suffix(extension).is_some_and(|stem| stem.len() > 1 && stem.ends_with('.'))
        };
        known.copied().find(|named| ending(&named)).map(|(_, format)| format).ok_or_else(|| {
            Error::input(
                format!("{}: the name does not say the format of the table", path.display()),
                "end it in .parquet, .arrow, .feather, .csv or .csv.gz",
            )
        })
    }

    /// The name, which is also the extension.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// Whether it is text, which does not say of which types the columns are.
    pub fn is_text(self) -> bool {
        matches!(self, OutputFormat::Csv | OutputFormat::CsvGz)
    }
}

/// How the bytes of Parquet and Arrow files are compressed; the name of a CSV file says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    None,
    /// Fast: Snappy in Parquet, LZ4 in Arrow files.
    Fast,
    /// Small files: Zstandard, level 1.
    Small,
}

/// The column statistics that Parquet files contain in addition to the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredStatistics {
    /// None.
    None,
    /// The least and the greatest value and the number of nulls, for each column of a row group.
    RowGroup,
    /// The same, and also for each page.
    Page,
}

/// How a table is written.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// Number of encoding threads; affects the time, never the bytes.
    pub threads: usize,
    /// Number of rows in a Parquet row group, at least 1; a smaller number means less memory and larger files.
    pub row_group_rows: usize,
    /// See [`Compression`].
    pub compression: Compression,
    /// See [`StoredStatistics`].
    pub statistics: StoredStatistics,
    /// How texts are written to CSV files.
    pub texts: CsvTexts,
}

impl Default for WriteOptions {
    fn default() -> Self {
        WriteOptions {
            threads: 1,
            row_group_rows: 1 << 20,
            compression: Compression::Small,
            statistics: StoredStatistics::RowGroup,
            texts: CsvTexts::Plain,
        }
    }
}

/// A summary of the written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenFile {
    /// Rows of the table.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

enum Sink {
    Parquet(Box<ParquetSink>),
    Arrow(Box<IpcSink>),
    Csv(CsvSink),
}

/// Writes one table to one file, batch by batch.
///
/// Memory: one slab of rows and one encoded row group. Dictionary columns are written fastest if values occur in runs.
/// Metadata of the schema and of its fields never reaches the file.
pub struct TableWriter {
    path: PathBuf,
    schema: SchemaRef,
    rows: u64,
    cutter: Cutter,
    /// Before `unfinished`: the file is closed before it is removed.
    sink: Sink,
    unfinished: Unfinished,
}

impl TableWriter {
    /// Creates the file, replacing an existing one; the format is determined by the extension.
    pub fn create(
        path: impl Into<PathBuf>,
        schema: SchemaRef,
        options: &WriteOptions,
    ) -> Result<TableWriter> {
        let path = path.into();
        let format = OutputFormat::of(&path)?;
        if options.row_group_rows == 0 || options.threads == 0 {
            return Err(Error::input(
                "a table cannot be written with 0 threads or 0 rows in a row group",
                "give at least 1",
            ));
        }
        let fields = schema.fields().iter().map(without_metadata).collect::<Vec<_>>();
        let schema = Arc::new(Schema::new(fields));
        let pool = thread_pool(options.threads)?;
        let (file, unfinished) = Unfinished::create(&path).map_err(|source| Error::io(&path, source))?;
        let (sink, row_group_rows) = match format {
            OutputFormat::Parquet => {
                let sink = ParquetSink::new(file, schema.clone(), options, pool).map_err(|e| e.at(&path))?;
                (Sink::Parquet(Box::new(sink)), options.row_group_rows)
            }
            OutputFormat::Arrow => {
                let sink = IpcSink::new(file, &schema, options).map_err(|e| e.at(&path))?;
                (Sink::Arrow(Box::new(sink)), options.row_group_rows.min(SLAB_ROWS))
            }
            OutputFormat::Csv | OutputFormat::CsvGz => {
                let file = match format {
                    OutputFormat::CsvGz => CsvOutput::gzip(file),
                    _ => CsvOutput::Plain(file),
                };
                let sink = CsvSink::new(file, &schema, options.texts, pool).map_err(|e| e.at(&path))?;
                (Sink::Csv(sink), SLAB_ROWS)
            }
        };
        Ok(TableWriter { path, schema, rows: 0, cutter: Cutter::new(row_group_rows), sink, unfinished })
    }

    /// Appends the rows of `batch`, whose columns have the types of the schema, in its order.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_columns(batch.columns())?;
        let mut offset = 0;
        while let Some(slab) = self.cutter.take(batch.columns(), batch.num_rows(), &mut offset) {
            self.encode(&slab)?;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Writes the remaining rows and closes the file.
    pub fn finish(mut self) -> Result<WrittenFile> {
        if let Some(slab) = self.cutter.cut() {
            self.encode(&slab)?;
        }
        match self.sink {
            Sink::Parquet(sink) => sink.finish(),
            Sink::Arrow(sink) => sink.finish(),
            Sink::Csv(sink) => sink.finish(),
        }
        .map_err(|e| e.at(&self.path))?;
        self.unfinished.keep();
        let bytes = std::fs::metadata(&self.path).map_err(|source| Error::io(&self.path, source))?.len();
        Ok(WrittenFile { rows: self.rows, bytes })
    }

    fn encode(&mut self, slab: &Slab) -> Result<()> {
        match &mut self.sink {
            Sink::Parquet(sink) => sink.encode(slab),
            Sink::Arrow(sink) => sink.encode(slab),
            Sink::Csv(sink) => sink.encode(slab),
        }
        .map_err(|e| e.at(&self.path))
    }

    fn check_columns(&self, columns: &[ArrayRef]) -> Result<()> {
        let fields = self.schema.fields();
        if fields.len() != columns.len() {
            return Err(Error::input(
                format!(
                    "{}: a batch has {} columns instead of {}",
                    self.path.display(),
                    columns.len(),
                    fields.len()
                ),
                "write batches of the schema that the file was created with",
            ));
        }
        for (field, column) in fields.iter().zip(columns) {
            if !field.data_type().equals_datatype(column.data_type()) {
                return Err(Error::input(
                    format!(
                        "{}: column {} is of type {} in a batch instead of {}",
                        self.path.display(),
                        field.name(),
                        column.data_type(),
                        field.data_type()
                    ),
                    "write batches of the schema that the file was created with",
                ));
            }
            if !field.is_nullable() && column.logical_null_count() > 0 {
                return Err(Error::input(
                    format!("{}: column {} has nulls in a batch", self.path.display(), field.name()),
                    "create the file with a schema in which the column is nullable",
                ));
            }
        }
        Ok(())
    }
}

/// Why a sink stopped; the writer adds the path.
#[derive(Debug)]
pub(super) enum SinkError {
    Io(io::Error),
    /// The format or its library cannot represent these columns.
    Unwritable(String),
}

impl SinkError {
    fn at(self, path: &Path) -> Error {
        match self {
            SinkError::Io(source) => Error::io(path, source),
            SinkError::Unwritable(problem) => Error::input(
                format!("{}: the table cannot be written in this format: {problem}", path.display()),
                "choose another format by the extension, or other column types",
            ),
        }
    }
}

impl From<io::Error> for SinkError {
    fn from(source: io::Error) -> Self {
        SinkError::Io(source)
    }
}

impl From<ArrowError> for SinkError {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, source) => SinkError::Io(source),
            ArrowError::ExternalError(source) => from_boxed(source),
            other => SinkError::Unwritable(other.to_string()),
        }
    }
}

impl From<::csv::Error> for SinkError {
    fn from(error: ::csv::Error) -> Self {
        SinkError::Io(error.into())
    }
}

impl From<ParquetError> for SinkError {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(source) => from_boxed(source),
            other => SinkError::Unwritable(other.to_string()),
        }
    }
}

fn from_boxed(source: Box<dyn std::error::Error + Send + Sync>) -> SinkError {
    match source.downcast::<io::Error>() {
        Ok(source) => SinkError::Io(*source),
        Err(other) => SinkError::Unwritable(other.to_string()),
    }
}

/// A file that is removed on drop unless it was finished.
struct Unfinished {
    path: Option<PathBuf>,
}

impl Unfinished {
    /// Devices and pipes must not be removed, and opening a pipe waits for its reader.
    fn create(path: &Path) -> io::Result<(DiskFile, Self)> {
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Ok((DiskFile::create(path)?, Unfinished { path: None }));
        }
        let create = || DiskFile::create(path).map(|file| (path.to_path_buf(), file));
        let (path, file) = unfinished::make(create)?;
        Ok((file, Unfinished { path: Some(path) }))
    }

    fn keep(&mut self) {
        if let Some(path) = self.path.take() {
            unfinished::keep(&path);
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            unfinished::remove(path);
        }
    }
}

/// The field without its metadata, including nested fields: metadata of a source must not reach the file.
fn without_metadata(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::List(item) => DataType::List(without_metadata(item)),
        DataType::LargeList(item) => DataType::LargeList(without_metadata(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(without_metadata(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(without_metadata).collect()),
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, field.is_nullable()))
}
