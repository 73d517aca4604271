//! Which files make up the table, and do they agree?
//!
//! Invariant: after [`Table::open`] every file has the same columns, by name, of the same kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::contain::{contain, damaged};
use super::csv::{CsvFile, CsvType, OrderedCells, TypeGuess};
use super::input_file::InputFile;
use super::ipc::{self, IpcFile, IpcStream};
use super::parquet::ParquetFile;
use super::plan::{ColumnRequest, FilePlan, ScanRequest, kind_of, missing};
use super::room::{DecodeRoom, Need, ScanMeans};
use super::scan::{self, Cutting, FileScan, Morsel, Pieces};
use crate::error::{Error, Result};
use crate::table::kind::ColumnKind;

/// The path that means standard input.
const STANDARD_INPUT: &str = "-";

/// File name extensions of tables, used to find them in a directory.
const EXTENSIONS: [&str; 7] = ["parquet", "arrow", "arrows", "feather", "ipc", "csv", "tsv"];

/// How to read files whose format does not specify everything.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The delimiter of a CSV file; default: a tab for `.tsv` files and a comma otherwise.
    pub delimiter: Option<u8>,
    /// Types of CSV columns that should not be guessed.
    pub types: BTreeMap<String, CsvType>,
    /// CSV columns that hold numbers, or dates and times, as the policy uses them: a cell that is none is an error.
    pub ordered: BTreeMap<String, OrderedCells>,
    /// Texts that mean null in a CSV file, besides the empty cell.
    pub null_texts: Vec<String>,
    /// The largest number of rows in a batch.
    pub batch_rows: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            delimiter: None,
            types: BTreeMap::new(),
            ordered: BTreeMap::new(),
            null_texts: Vec::new(),
            batch_rows: 8192,
        }
    }
}

/// One or more files with the same schema.
pub struct Table {
    schema: SchemaRef,
    files: Vec<TableFile>,
    batch_rows: usize,
    scans: AtomicU64,
    bytes_read: Arc<AtomicU64>,
}

/// A file of a table.
pub struct TableFile {
    path: PathBuf,
    bytes: Option<u64>,
    content: Content,
    access: Access,
    /// The number of rows that a scan found.
    rows_found: OnceLock<u64>,
}

/// How often a file can be read.
enum Access {
    Again(InputFile),
    /// The source is positioned after what was read to open it.
    Once(Mutex<Option<Box<dyn Read + Send>>>),
}

enum Content {
    Parquet(ParquetFile),
    Arrow(IpcFile),
    Stream { stream: IpcStream, body: u64 },
    Csv(CsvFile),
}

impl TableFile {
    /// Its path; `-` for standard input.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size in bytes, if known.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    fn schema(&self) -> SchemaRef {
        match &self.content {
            Content::Parquet(file) => file.schema().clone(),
            Content::Arrow(file) => file.schema().clone(),
            Content::Stream { stream, .. } => stream.schema().clone(),
            Content::Csv(file) => file.schema(),
        }
    }

    fn rows(&self) -> Option<u64> {
        match &self.content {
            Content::Parquet(file) => Some(file.rows()),
            Content::Arrow(file) => Some(file.rows()),
            Content::Stream { .. } | Content::Csv(_) => None,
        }
    }

    /// What decoding any piece takes, as far as it is known before the file is read.
    fn largest_need(&self, plan: &FilePlan, bytes_read: &Arc<AtomicU64>) -> Result<Need> {
        match &self.content {
            Content::Parquet(file) => contain(&self.path, || file.largest_need(plan, bytes_read)),
            Content::Arrow(file) => Ok(file.largest_need()),
            Content::Stream { stream, .. } => Ok(stream.largest_need()),
            Content::Csv(file) => Ok(file.largest_need()),
        }
    }

    fn pieces<'t>(
        &'t self,
        plan: FilePlan,
        cutting: Cutting<'t>,
        bytes_read: &'t Arc<AtomicU64>,
    ) -> Result<Pieces<'t>> {
        let path = &self.path;
        match &self.content {
            Content::Parquet(file) => file.pieces(plan, cutting, bytes_read),
            Content::Arrow(file) => file.pieces(plan, cutting),
            Content::Csv(file) => Ok(file.pieces(path, self.source(file.body())?, plan, cutting)),
            Content::Stream { stream, body } => {
                let source = Box::new(std::io::BufReader::new(self.source(*body)?));
                Ok(stream.pieces_of(path, source, plan, cutting))
            }
        }
    }

    /// The bytes from this place on.
    fn source(&self, from: u64) -> Result<Box<dyn Read + Send>> {
        match &self.access {
            Access::Again(input) => {
                let mut file = input.open()?;
                file.seek(SeekFrom::Start(from)).map_err(|error| Error::io(&self.path, error))?;
                Ok(Box::new(file))
            }
            Access::Once(source) => {
                source.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(|| {
                    Error::input(
                        format!("{} can be read only once, and this needs another scan", self.path.display()),
                        "write the input to a file, and give the file",
                    )
                    .of_file(&self.path)
                })
            }
        }
    }

    #[cfg(test)]
    pub(super) fn pretend_rows(&self, rows: u64) {
        self.rows_found.set(rows).unwrap();
    }

    fn expect_unchanged(&self) -> Result<()> {
        match &self.access {
            Access::Again(input) => input.expect_unchanged(),
            Access::Once(_) => Ok(()),
        }
    }
}

impl Table {
    /// Opens files, directories of files, and `-` for standard input, and checks that they agree.
    ///
    /// Reads only the footers of Parquet and Arrow files and the beginning of CSV files.
    pub fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Table> {
        let mut files = Vec::new();
        let mut seen = BTreeSet::new();
        let bytes_read = Arc::new(AtomicU64::new(0));
        for path in paths {
            for path in expand(path)? {
                let same =
                    if path.as_os_str() == STANDARD_INPUT { Ok(path.clone()) } else { path.canonicalize() };
                if !seen.insert(same.map_err(|error| Error::io(&path, error))?) {
                    return Err(Error::input(
                        format!("{} is given twice", path.display()),
                        "give every file once: a row that is counted twice hides a risk",
                    ));
                }
                files.push(if path.as_os_str() == STANDARD_INPUT {
                    open_once(path, Box::new(std::io::stdin()), options)?
                } else {
                    open_file(path, options, &bytes_read)?
                });
            }
        }
        Table::of(files, options, bytes_read)
    }

    /// A table from a source that can be read only once: CSV, or an Arrow IPC stream or file.
    pub fn from_reader(
        name: impl Into<PathBuf>,
        source: Box<dyn Read + Send>,
        options: &ReadOptions,
    ) -> Result<Table> {
        Table::of(vec![open_once(name.into(), source, options)?], options, Arc::default())
    }

    fn of(mut files: Vec<TableFile>, options: &ReadOptions, bytes_read: Arc<AtomicU64>) -> Result<Table> {
        settle_csv_types(&mut files, options);
        let schema = common_schema(&files)?;
        for name in options.types.keys() {
            if schema.field_with_name(name).is_err() {
                return Err(missing(&schema, name));
            }
        }
        Ok(Table {
            schema,
            files,
            batch_rows: options.batch_rows.max(1),
            scans: AtomicU64::new(0),
            bytes_read,
        })
    }

    /// The columns, in the order and with the types of the first file.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The kind of a column, which is also its canonical type.
    pub fn kind(&self, name: &str) -> Result<ColumnKind> {
        kind_of(self.schema.field_with_name(name).map_err(|_| missing(&self.schema, name))?)
    }

    /// The number of rows, if the files declare it.
    pub fn rows(&self) -> Option<u64> {
        self.files.iter().try_fold(0u64, |sum, file| sum.checked_add(file.rows()?))
    }

    /// The files, in the order of their rows.
    pub fn files(&self) -> &[TableFile] {
        &self.files
    }

    /// How many scans were started.
    pub fn scans(&self) -> u64 {
        self.scans.load(Ordering::Relaxed)
    }

    /// Bytes of Parquet pages read so far; shows that only the needed columns are read.
    pub fn page_bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Reads `columns` of all rows: runs `work` on morsels, on the threads of `means`, and passes the results to
    /// `consume` on this thread, in table order. Given [`Resources`](crate::resources::Resources), decoders keep to
    /// their budget; given a number of threads, they use what they need.
    ///
    /// The batches have exactly `columns`, in that order; `columns` may be empty if only rows are counted. A failing
    /// morsel stops the scan; if several fail, the first in table order is returned. A panic in `work` is resumed on
    /// this thread. A file that changed since the table was opened is an error.
    ///
    /// # Memory
    /// At most `2 x threads` results wait to be consumed, and at most `threads` morsels are being decoded, fewer if their
    /// pages and batches do not fit. A part of a file that does not fit alone is an error.
    pub fn scan<'b, T: Send>(
        &self,
        columns: &[ColumnRequest],
        means: impl Into<ScanMeans<'b>>,
        work: impl Fn(Morsel<'_>) -> Result<T> + Sync,
        consume: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let means = means.into();
        let request = ScanRequest::new(&self.schema, columns)?;
        let room = DecodeRoom::new(means.budget);
        let (batch_rows, morsel_rows) = (self.batch_rows, means.morsel_rows);
        let cutting = Cutting { batch_rows, morsel_rows, room: &room };
        let mut parts = Vec::with_capacity(self.files.len());
        for file in &self.files {
            let plan = request.plan(&file.path, &file.schema())?;
            room.expect(&file.path, &file.largest_need(&plan, &self.bytes_read)?)?;
            let open = Box::new(move || file.pieces(plan, cutting, &self.bytes_read));
            parts.push(FileScan { path: &file.path, rows_found: &file.rows_found, open });
        }
        self.scans.fetch_add(1, Ordering::Relaxed);
        let outcome = scan::scan(parts, &room, means.threads, work, consume);
        // Looked at first: a file that changed explains whatever else went wrong.
        self.expect_unchanged()?;
        outcome
    }

    /// Fails if a file was written to, or replaced by another one, since the table was opened. Every scan does this; so
    /// should whoever reads the files in another way.
    pub fn expect_unchanged(&self) -> Result<()> {
        self.files.iter().try_for_each(TableFile::expect_unchanged)
    }
}

/// The files that a path refers to: itself, or the tables in a directory, by name.
fn expand(path: &Path) -> Result<Vec<PathBuf>> {
    if path.as_os_str() == STANDARD_INPUT || !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|error| Error::io(path, error))? {
        let file = entry.map_err(|error| Error::io(path, error))?.path();
        let hidden = file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && has_extension(&file, &EXTENSIONS) && file.is_file() {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(Error::input(
            format!("the directory {} holds no table", path.display()),
            format!("tables end in .{}; subdirectories are not searched", EXTENSIONS.join(", .")),
        ));
    }
    files.sort();
    Ok(files)
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|own| extensions.iter().any(|e| own.eq_ignore_ascii_case(e)))
}

fn open_file(path: PathBuf, options: &ReadOptions, bytes_read: &Arc<AtomicU64>) -> Result<TableFile> {
    let io = |error| Error::io(&path, error);
    let mut file = File::open(&path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        // A named pipe or a device: it can be read, but only once.
        return open_once(path, Box::new(file), options);
    }
    if metadata.len() == 0 {
        return Err(damaged(&path, "the file is empty"));
    }
    let mut start = Vec::new();
    Read::by_ref(&mut file).take(8).read_to_end(&mut start).map_err(io)?;
    file.rewind().map_err(io)?;
    let input = InputFile::new(&path, &metadata);
    let content = contain(&path, || {
        let content = match InputFormat::of(&path, &start)? {
            InputFormat::Parquet => Content::Parquet(ParquetFile::open(input.clone(), bytes_read)?),
            InputFormat::Arrow => Content::Arrow(IpcFile::open(input.clone())?),
            InputFormat::Stream => {
                let stream = IpcStream::open(&path, &mut file)?;
                Content::Stream { stream, body: file.stream_position().map_err(io)? }
            }
            InputFormat::Csv => Content::Csv(CsvFile::open(&path, &mut file, options)?.0),
        };
        Ok(content)
    })?;
    input.expect_unchanged()?;
    let access = Access::Again(input);
    Ok(TableFile { path, bytes: Some(metadata.len()), content, access, rows_found: OnceLock::new() })
}

fn open_once(path: PathBuf, mut source: Box<dyn Read + Send>, options: &ReadOptions) -> Result<TableFile> {
    let mut start = Vec::new();
    source.by_ref().take(8).read_to_end(&mut start).map_err(|error| Error::io(&path, error))?;
    if start.is_empty() {
        return Err(damaged(&path, "the input is empty"));
    }
    let format = InputFormat::of(&path, &start)?;
    if format == InputFormat::Arrow {
        // After its magic bytes and some padding, a file is a stream.
        start.clear();
        while start.iter().all(|byte| *byte == 0) {
            start.clear();
            if source.by_ref().take(8).read_to_end(&mut start).map_err(|error| Error::io(&path, error))? == 0
            {
                break;
            }
        }
    }
    // The bytes that were read to detect the format are read again.
    let mut source: Box<dyn Read + Send> = Box::new(Cursor::new(start).chain(source));
    let (content, read) = contain(&path, || match format {
        InputFormat::Parquet => Err(Error::input(
            format!(
                "{}: Parquet cannot be read from a pipe, because its index is at the end",
                path.display()
            ),
            "write the input to a file, and give the file",
        )),
        InputFormat::Arrow | InputFormat::Stream => {
            let stream = IpcStream::open(&path, &mut source)?;
            Ok((Content::Stream { stream, body: 0 }, Vec::new()))
        }
        InputFormat::Csv => {
            let (file, read) = CsvFile::open(&path, &mut source, options)?;
            Ok((Content::Csv(file), read))
        }
    })?;
    let source: Box<dyn Read + Send> = Box::new(Cursor::new(read).chain(source));
    let access = Access::Once(Mutex::new(Some(source)));
    Ok(TableFile { path, bytes: None, content, access, rows_found: OnceLock::new() })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputFormat {
    Parquet,
    /// Arrow IPC with a footer.
    Arrow,
    /// Arrow IPC without one.
    Stream,
    Csv,
}

impl InputFormat {
    /// Detects the format by the first bytes; a conflicting file name is an error.
    fn of(path: &Path, start: &[u8]) -> Result<InputFormat> {
        let by_content = match start {
            start if start.starts_with(b"PAR1") => InputFormat::Parquet,
            start if start.starts_with(ipc::FILE_MAGIC) => InputFormat::Arrow,
            start if start.starts_with(ipc::CONTINUATION) => InputFormat::Stream,
            start if start.starts_with(&[0x1f, 0x8b]) || start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => {
                return Err(Error::input(
                    format!("{} is compressed as a whole", path.display()),
                    "decompress it, for example into a pipe that is given as -",
                ));
            }
            _ => InputFormat::Csv,
        };
        let is_text = by_content == InputFormat::Csv;
        if is_text && has_extension(path, &["parquet"]) {
            return Err(damaged(path, "this is not a Parquet file"));
        }
        if is_text && has_extension(path, &["arrow", "arrows", "feather", "ipc"]) {
            return Err(damaged(path, "this is not an Arrow IPC file or stream"));
        }
        Ok(by_content)
    }
}

/// Guesses the types of CSV columns from the beginnings of all CSV files, so that the files agree.
fn settle_csv_types(files: &mut [TableFile], options: &ReadOptions) {
    let mut joined: BTreeMap<String, TypeGuess> = BTreeMap::new();
    for file in files.iter() {
        let Content::Csv(csv) = &file.content else { continue };
        for (name, guess) in csv.guesses() {
            joined
                .entry(name.to_string())
                .and_modify(|known| known.join(guess))
                .or_insert_with(|| guess.clone());
        }
    }
    for file in files {
        let Content::Csv(csv) = &mut file.content else { continue };
        let guesses: Vec<TypeGuess> =
            csv.guesses().map(|(name, guess)| joined.get(name).unwrap_or(guess).clone()).collect();
        csv.settle(&guesses, options);
    }
}

/// The common schema of all files; an error names the column that differs, and the file.
fn common_schema(files: &[TableFile]) -> Result<SchemaRef> {
    let Some(first) = files.first() else {
        return Err(Error::input(
            "no table is given",
            "give a file, a directory of files, or - for standard input",
        ));
    };
    let schema = typed_columns(files, &first.schema());
    for file in files {
        let own = file.schema();
        if let Some(name) = repeated_name(&own) {
            return Err(Error::input(
                format!("{}: the column `{name}` occurs twice", file.path.display()),
                "give every column its own name",
            ));
        }
        let differs = |problem: String| {
            Err(Error::input(
                format!("{}: {problem} {}", file.path.display(), first.path.display()),
                "all files of a table need the same columns of the same types: read the others apart",
            ))
        };
        if let Some(extra) = own.fields().iter().find(|field| schema.field_with_name(field.name()).is_err()) {
            return differs(format!("column `{}` is not in", extra.name()));
        }
        for field in schema.fields() {
            let Ok(own) = own.field_with_name(field.name()) else {
                return differs(format!("there is no column `{}` as in", field.name()));
            };
            let (own, known) = (own.data_type(), field.data_type());
            if !same_kind(own, known) && *own != DataType::Null {
                return differs(format!("column `{}` is {own}, and {known} in", field.name()));
            }
        }
    }
    Ok(schema)
}

/// The columns of the first file, without the metadata of the source. If a column contains only nulls there and has no
/// type, the type is taken from another file.
fn typed_columns(files: &[TableFile], first: &Schema) -> SchemaRef {
    let type_in =
        |file: &TableFile, name: &str| Some(file.schema().field_with_name(name).ok()?.data_type().clone());
    let fields = first.fields().iter().map(|field| {
        let mut types = files.iter().filter_map(|file| type_in(file, field.name()));
        Field::new(field.name(), types.find(|t| *t != DataType::Null).unwrap_or(DataType::Null), true)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn same_kind(a: &DataType, b: &DataType) -> bool {
    a == b || ColumnKind::of(a).is_some_and(|kind| Some(kind) == ColumnKind::of(b))
}

fn repeated_name(schema: &Schema) -> Option<&str> {
    let mut names = BTreeSet::new();
    schema.fields().iter().map(|field| field.name().as_str()).find(|name| !names.insert(*name))
}
