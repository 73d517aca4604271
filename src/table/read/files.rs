//! The files of a table, and how they are scanned.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_array::ArrayRef;
use arrow_schema::{Schema, SchemaRef};

use super::agree::{common_schema, settle_types};
use super::contain::contain;
use super::csv::{CsvFile, CsvType, OrderedCells};
use super::input_file::InputFile;
use super::ipc::{IpcFile, IpcStream};
use super::keys::KeyColumn;
use super::open::{open_again, open_found, open_pipe};
use super::packing::Packing;
use super::parquet::ParquetFile;
use super::paths::find;
use super::plan::{ColumnRequest, FilePlan, ScanRequest, kind_of, missing};
use super::room::{DecodeRoom, Need, RoomTaken, ScanMeans};
use super::scan::{self, Cutting, FileScan, Morsel, Pieces, Work};
use super::spool::SpoolPlace;
use crate::error::{Error, Result};
use crate::table::formulas::CsvTexts;
use crate::table::kind::ColumnKind;

/// How to read files whose format does not specify everything.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The delimiter of a CSV file; default: a tab for `.tsv` files and a comma otherwise.
    pub delimiter: Option<u8>,
    /// Types of CSV columns that should not be guessed. In files of all formats, whole numbers and truth values that are
    /// declared as text are read as text.
    pub types: BTreeMap<String, CsvType>,
    /// CSV columns that hold numbers, or dates and times, as the policy uses them: a cell that is none is an error.
    pub ordered: BTreeMap<String, OrderedCells>,
    /// Texts that mean null in a CSV file, besides the empty cell.
    pub null_texts: Vec<String>,
    /// Whether a CSV file marks texts that a spreadsheet would run.
    pub texts: CsvTexts,
    /// The largest number of rows in a batch; of codes, four times as many.
    pub batch_rows: usize,
    /// Where standard input and other pipes are copied while they are read, so that they can be read again.
    pub spool: SpoolPlace,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            delimiter: None,
            types: BTreeMap::new(),
            ordered: BTreeMap::new(),
            null_texts: Vec::new(),
            texts: CsvTexts::Plain,
            batch_rows: 8192,
            spool: SpoolPlace::default(),
        }
    }
}

/// One or more files with the same schema.
pub struct Table {
    schema: SchemaRef,
    files: Vec<TableFile>,
    notes: Vec<String>,
    batch_rows: usize,
    scans: AtomicU64,
    bytes_read: Arc<AtomicU64>,
}

/// A file of a table.
pub struct TableFile {
    pub(super) input: InputFile,
    pub(super) packing: Packing,
    pub(super) content: Content,
    /// Columns in the names of its folders.
    pub(super) keys: Vec<KeyColumn>,
    /// The number of rows that a scan found.
    pub(super) rows_found: OnceLock<u64>,
}

pub(super) enum Content {
    Parquet(ParquetFile),
    Arrow(IpcFile),
    Stream { stream: IpcStream, body: u64 },
    Csv(CsvFile),
}

impl TableFile {
    /// Its path; `-` for standard input.
    pub fn path(&self) -> &Path {
        self.input.path()
    }

    /// The columns of the file, and then its keys.
    pub(super) fn schema(&self) -> SchemaRef {
        let stored = match &self.content {
            Content::Parquet(file) => file.schema().clone(),
            Content::Arrow(file) => file.schema().clone(),
            Content::Stream { stream, .. } => stream.schema().clone(),
            Content::Csv(file) => file.schema(),
        };
        if self.keys.is_empty() {
            return stored;
        }
        let keys = self.keys.iter().map(|key| Arc::new(key.field()));
        Arc::new(Schema::new(stored.fields().iter().cloned().chain(keys).collect::<Vec<_>>()))
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
            Content::Parquet(file) => contain(self.path(), || file.largest_need(plan, bytes_read)),
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
        let path = self.path();
        match &self.content {
            Content::Parquet(file) => file.pieces(plan, cutting, bytes_read),
            Content::Arrow(file) => file.pieces(plan, cutting),
            Content::Csv(file) => {
                Ok(file.pieces(path, self.source(file.body(), cutting.room)?, plan, cutting))
            }
            Content::Stream { stream, body } => {
                let source = Box::new(std::io::BufReader::new(self.source(*body, cutting.room)?));
                Ok(stream.pieces_of(path, source, plan, cutting))
            }
        }
    }

    /// The bytes from this place on, decompressed.
    fn source<'t>(&'t self, from: u64, room: &'t DecodeRoom<'t>) -> Result<Box<dyn Read + Send + 't>> {
        let io = |error| Error::io(self.path(), error);
        let mut bytes = self.input.open()?;
        if self.packing == Packing::Plain {
            bytes.seek(SeekFrom::Start(from)).map_err(io)?;
            return Ok(Box::new(bytes));
        }
        let room = room.hold(self.path(), &self.packing.need())?;
        let mut source = self.packing.unpack(self.path(), bytes)?;
        std::io::copy(&mut source.by_ref().take(from), &mut std::io::sink()).map_err(io)?;
        Ok(Box::new(Roomy { source, _room: room }))
    }

    #[cfg(test)]
    pub(super) fn pretend_rows(&self, rows: u64) {
        self.rows_found.set(rows).unwrap();
    }

    pub(super) fn expect_unchanged(&self) -> Result<()> {
        self.input.expect_unchanged()
    }
}

/// A source that needs memory while it is read.
struct Roomy<'t> {
    source: Box<dyn Read + Send + 't>,
    _room: RoomTaken<'t>,
}

impl Read for Roomy<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.source.read(buffer)
    }
}

impl Table {
    /// Opens files, directories of files, patterns such as `2024-*.csv`, and `-` for standard input, and checks that they
    /// agree.
    ///
    /// Reads only the footers of Parquet and Arrow files and the beginning of CSV files.
    pub fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Table> {
        let (mut files, mut notes) = (Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        let bytes_read = Arc::new(AtomicU64::new(0));
        for path in paths {
            let found = find(path)?;
            notes.extend(found.notes);
            for file in found.files {
                // The name of a pipe may lead nowhere.
                let same = file.path.canonicalize().unwrap_or_else(|_| file.path.clone());
                if !seen.insert(same) {
                    return Err(Error::input(
                        format!("{} is given twice", file.path.display()),
                        "give every file once: a row that is counted twice hides a risk",
                    ));
                }
                files.push(open_found(file, options, &bytes_read)?);
            }
        }
        Table::of(files, notes, options, bytes_read)
    }

    /// A table from a source that can be read only once; its rows can be scanned several times all the same.
    pub fn from_reader(
        name: impl Into<PathBuf>,
        source: Box<dyn Read + Send>,
        options: &ReadOptions,
    ) -> Result<Table> {
        let bytes_read = Arc::default();
        let file = open_pipe(name.into(), source, options, &bytes_read)?;
        Table::of(vec![file], Vec::new(), options, bytes_read)
    }

    fn of(
        mut files: Vec<TableFile>,
        notes: Vec<String>,
        options: &ReadOptions,
        bytes_read: Arc<AtomicU64>,
    ) -> Result<Table> {
        settle_types(&mut files, options)?;
        let schema = common_schema(&files, options)?;
        for name in options.types.keys() {
            if schema.field_with_name(name).is_err() {
                return Err(missing(&schema, name));
            }
        }
        Ok(Table {
            schema,
            files,
            notes,
            batch_rows: options.batch_rows.max(1),
            scans: AtomicU64::new(0),
            bytes_read,
        })
    }

    /// The same files, which must not have changed, read with other options.
    pub fn reopened(&self, options: &ReadOptions) -> Result<Table> {
        let bytes_read = Arc::default();
        let files = self.files.iter().map(|file| open_again(file, options, &bytes_read));
        Table::of(files.collect::<Result<_>>()?, Vec::new(), options, bytes_read)
    }

    /// The same table with only some of its files, by their positions; they keep the types that all files agree on.
    pub fn with_files(mut self, positions: std::ops::Range<usize>) -> Self {
        let mut position = 0..;
        self.files.retain(|_| position.next().is_some_and(|own| positions.contains(&own)));
        self
    }

    /// The columns, in the order and with the types of the first file.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The kind of a column, which is also its canonical type.
    pub fn kind(&self, name: &str) -> Result<ColumnKind> {
        kind_of(self.schema.field_with_name(name).map_err(|_| missing(&self.schema, name))?)
    }

    /// The types with which the cells of CSV files are read, by column; none if there are other files.
    pub fn csv_types(&self) -> Vec<(&str, CsvType)> {
        let is_csv = |file: &TableFile| matches!(file.content, Content::Csv(_));
        match self.files.first().map(|file| &file.content) {
            Some(Content::Csv(file)) if self.files.iter().all(is_csv) => file.typed_names().collect(),
            _ => Vec::new(),
        }
    }

    /// The number of rows, if the files declare it.
    pub fn rows(&self) -> Option<u64> {
        self.files.iter().try_fold(0u64, |sum, file| sum.checked_add(file.rows()?))
    }

    /// The files, in the order of their rows.
    pub fn files(&self) -> &[TableFile] {
        &self.files
    }

    /// What was found next to the files and is not read.
    pub fn notes(&self) -> &[String] {
        &self.notes
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
        mut consume: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        // Only this part is compiled for each type of result.
        let waiting = Mutex::new(BTreeMap::new());
        let waiting = || waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let work = |morsel: Morsel<'_>| {
            let index = morsel.index();
            let result = work(morsel)?;
            waiting().insert(index, result);
            Ok(())
        };
        let mut consume = |index| {
            let result = waiting().remove(&index);
            result.map_or_else(|| Err(Error::defect("a morsel has no result")), &mut consume)
        };
        self.scan_morsels(columns, means.into(), &work, &mut consume)
    }

    fn scan_morsels(
        &self,
        columns: &[ColumnRequest],
        means: ScanMeans<'_>,
        work: &Work<'_>,
        consume: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let request = ScanRequest::new(&self.schema, columns)?;
        let room = DecodeRoom::new(means.budget);
        let (batch_rows, morsel_rows) = (self.batch_rows, means.morsel_rows);
        let cutting = Cutting { batch_rows, morsel_rows, room: &room };
        let mut parts = Vec::with_capacity(self.files.len());
        for file in &self.files {
            let keys: Vec<ArrayRef> = file.keys.iter().map(|key| key.value().clone()).collect();
            let plan = request.plan(file.path(), &file.schema(), &keys)?;
            room.expect(file.path(), &file.largest_need(&plan, &self.bytes_read)?)?;
            let open = Box::new(move || file.pieces(plan, cutting, &self.bytes_read));
            parts.push(FileScan { path: file.path(), rows_found: &file.rows_found, open });
        }
        self.scans.fetch_add(1, Ordering::Relaxed);
        let outcome = scan::scan(parts, &room, means, work, consume);
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
