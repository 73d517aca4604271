//! The header of a CSV file and the types of its columns.
//!
//! Types are guessed from the first [`PREFIX_BYTES`] of each file, or declared by the user.
//!
//! An empty cell is null, quoted or not. Not here: decompressing, encodings other than UTF-8.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::{Field, Schema, SchemaRef};

use super::cell::{CsvType, TypeGuess, TypeOrigin};
use super::record::{CsvCells, Dialect, record_end, whole_records};
use super::{decode, pieces};
use crate::error::{Error, Result};
use crate::table::formulas::{CsvTexts, unguarded};
use crate::table::read::files::ReadOptions;
use crate::table::read::paths::has_extension;
use crate::table::read::plan::FilePlan;
use crate::table::read::room::Need;
use crate::table::read::scan::{Cutting, Piece, Pieces};

/// How much of a file is used to guess its types.
pub(super) const PREFIX_BYTES: usize = 4 << 20;

/// The mark that some programs put at the start of UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A CSV file whose header has been read.
pub(in crate::table::read) struct CsvFile {
    pub(super) dialect: Dialect,
    pub(super) null_texts: Vec<String>,
    pub(super) texts: CsvTexts,
    pub(super) names: Vec<String>,
    guesses: Vec<TypeGuess>,
    pub(super) types: Vec<(CsvType, TypeOrigin)>,
    /// Where the first record begins.
    body: u64,
    /// What the largest piece of an earlier scan took.
    largest: AtomicU64,
}

impl CsvFile {
    /// Reads the header and guesses types.
    pub fn open(path: &Path, source: &mut dyn Read, options: &ReadOptions) -> Result<Self> {
        let delimiter = delimiter(path, options)?;
        let mut prefix = Vec::new();
        let limit = PREFIX_BYTES as u64;
        let length = source.take(limit).read_to_end(&mut prefix).map_err(|error| Error::io(path, error))?;
        let mark = if prefix.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let header = match record_end(&prefix, mark, delimiter) {
            None if length == PREFIX_BYTES => {
                return Err(Error::input(
                    format!("{}: the header does not end within {} MiB", path.display(), PREFIX_BYTES >> 20),
                    "give a CSV file whose first line names its columns, or a Parquet or Arrow file",
                ));
            }
            header => header.unwrap_or(length),
        };
        let mut names = names(path, &prefix[mark..header], delimiter)?;
        if options.texts == CsvTexts::Guarded {
            names.iter_mut().for_each(|name| *name = unguarded(name).to_string());
        }
        let dialect = Dialect { delimiter, columns: names.len() };

        let body = prefix.split_off(header);
        // The text is cut where the prefix ends: leave out the incomplete record, unless the file ends there too.
        let whole = if length < PREFIX_BYTES { body.len() } else { whole_records(&body, dialect).1 };
        let mut file = CsvFile {
            dialect,
            null_texts: options.null_texts.clone(),
            texts: options.texts,
            guesses: vec![TypeGuess::new(); names.len()],
            types: Vec::new(),
            names,
            body: header as u64,
            largest: AtomicU64::new(0),
        };
        file.guess(path, &body[..whole])?;
        file.settle(&file.guesses.clone(), options);
        Ok(file)
    }

    /// Observes the cells of the prefix. Flaws are left to the scan, which can report the row.
    fn guess(&mut self, path: &Path, body: &[u8]) -> Result<()> {
        let text = match std::str::from_utf8(body) {
            Ok(text) => text,
            Err(_) => return Err(decode::not_utf8(path, body, 0, self.dialect)),
        };
        let mut cells = CsvCells::new(text, self.dialect);
        while cells.find_record() {
            for guess in &mut self.guesses {
                let Ok(cell) = cells.cell() else { return Ok(()) };
                if !is_null(&cell.text, &self.null_texts) {
                    guess.see(&cell.text);
                }
                if cell.last {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The guessed types by column name, to be joined with those of the other files.
    pub fn guesses(&self) -> impl Iterator<Item = (&str, &TypeGuess)> {
        self.names.iter().map(String::as_str).zip(&self.guesses)
    }

    /// Fixes the types: as declared, or as guessed from all files.
    pub fn settle(&mut self, guesses: &[TypeGuess], options: &ReadOptions) {
        let types = self.names.iter().zip(guesses).map(|(name, guess)| settled(name, guess, options));
        self.types = types.collect();
    }

    /// The settled types by column name.
    pub fn typed_names(&self) -> impl Iterator<Item = (&str, CsvType)> {
        self.names.iter().zip(&self.types).map(|(name, (kind, _))| (name.as_str(), *kind))
    }

    /// The schema with the settled types.
    pub fn schema(&self) -> SchemaRef {
        let fields =
            self.names.iter().zip(&self.types).map(|(name, (t, _))| Field::new(name, t.data_type(), true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// Where the first record begins.
    pub fn body(&self) -> u64 {
        self.body
    }

    /// The pieces of a source that is positioned after the header.
    pub fn pieces<'t>(
        &'t self,
        path: &'t Path,
        source: Box<dyn Read + Send + 't>,
        plan: FilePlan,
        cutting: Cutting<'t>,
    ) -> Pieces<'t> {
        let plan = Arc::new(plan);
        let texts = pieces::CsvPieces::new(path, source, self.dialect, cutting.room);
        Box::new(texts.map(move |text| {
            let (text, plan) = (text?, plan.clone());
            let rows = text.rows;
            let need = pieces::need(text.bytes.len());
            self.largest.fetch_max(need.bytes, Ordering::Relaxed);
            let decode = Box::new(move || decode::batches(self, path, text, plan, cutting.batch_rows));
            Ok(Piece { rows, need, decode })
        }))
    }

    /// What decoding a piece takes, as far as earlier scans saw.
    pub fn largest_need(&self) -> Need {
        Need::of(self.largest.load(Ordering::Relaxed))
    }
}

/// The type of a column of cells: as declared, as the policy uses it, or as guessed.
pub(in crate::table::read) fn settled(
    name: &str,
    guess: &TypeGuess,
    options: &ReadOptions,
) -> (CsvType, TypeOrigin) {
    match (options.types.get(name), options.ordered.get(name)) {
        (Some(declared), _) => (*declared, TypeOrigin::Declared),
        (None, Some(cells)) => (guess.best_of(*cells), TypeOrigin::Used),
        (None, None) => (guess.best(), TypeOrigin::Guessed),
    }
}

pub(in crate::table::read) fn is_null(cell: &str, null_texts: &[String]) -> bool {
    cell.is_empty() || null_texts.iter().any(|null| null == cell)
}

fn delimiter(path: &Path, options: &ReadOptions) -> Result<u8> {
    let by_name = if has_extension(path, &["tsv"]) { b'\t' } else { b',' };
    match options.delimiter.unwrap_or(by_name) {
        b'"' | b'\r' | b'\n' | 128.. => Err(Error::input(
            "the delimiter of a CSV file cannot be a quote, a line end or a character beyond ASCII",
            "use a comma, a semicolon, a tab or a bar",
        )),
        delimiter => Ok(delimiter),
    }
}

/// The names of the columns.
fn names(path: &Path, line: &[u8], delimiter: u8) -> Result<Vec<String>> {
    let refuse =
        |problem: String, remedy: &str| Err(Error::input(format!("{}: {problem}", path.display()), remedy));
    if line.is_empty() {
        return refuse(
            "the file is empty".into(),
            "a CSV file needs a header line with the names of its columns",
        );
    }
    let Ok(line) = std::str::from_utf8(line) else {
        return refuse("the header is not UTF-8".into(), decode::CONVERT);
    };
    let mut cells = CsvCells::new(line, Dialect { delimiter, columns: 1 });
    let mut names: Vec<String> = Vec::new();
    loop {
        let Ok(cell) = cells.cell() else {
            return refuse(
                format!("the header is broken after column {}", names.len()),
                "close every quote, and put a delimiter or line end after it",
            );
        };
        if cell.text.is_empty() {
            return refuse(
                format!("column {} has no name in the header", names.len() + 1),
                "give every column a name",
            );
        }
        if cell.text.contains('\r') {
            return refuse(
                "the lines end in a bare carriage return".into(),
                "convert the line ends to \\n or \\r\\n",
            );
        }
        names.push(cell.text.into_owned());
        if cell.last {
            return Ok(names);
        }
    }
}
