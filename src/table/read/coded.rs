//! How are rows read as codes of the dictionary that a Parquet file stores?
//!
//! Columns with few values are stored as codes, long runs as such. Whoever counts equal neighbors needs no value of each
//! row: [`StoredCodes`] passes on [`ByteCodes`], with longer dictionaries `Dictionary(Int32, values)`, and where equal rows
//! stand together `RunArray`s of that.
//!
//! Only what is common is read here: flat columns of whole numbers or texts without nulls, in pages of codes. From the
//! first row on that is stored in another way, or is found to be damaged, the ordinary reader goes on. A file has one
//! meaning: both readers find the same rows, or both report an error. All rows that it announces are read, or it is an
//! error.
//!
//! Memory: a page and the dictionary of each column, and a batch.

use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, RunArray,
    StringArray,
};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::batch::{Batch, ByteCodes};
use super::code_stream::{CodePiece, CodeStream};
use super::contain::damaged;
use super::parquet::FilePages;
use super::plan::is_string;
use crate::error::Result;
use crate::table::kind::ColumnKind;

/// How the codes of a column are passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeForm {
    /// As runs.
    Runs,
    /// As runs if they are long, otherwise one for each row.
    RunsOrRows,
}

/// Runs are long if there is at most one for so many rows.
const ROWS_PER_RUN: usize = 8;

/// Longer dictionaries of numbers that are counted are not read as such: each number gets a name, which takes more
/// memory than its entry.
const MOST_NUMBERS: u32 = 1 << 16;

/// A dictionary with so many entries has codes of one byte.
const BYTE_CODES: usize = 1 << u8::BITS;

/// Reads the whole piece with the ordinary reader. Rows that were passed on are decoded once more: if that reader were
/// asked for the others alone, it would not notice that a page announces more rows than the piece has.
pub(super) type OrdinaryPiece<'t> = Box<dyn FnOnce() -> Result<OrdinaryBatches<'t>> + 't>;

/// The batches of the ordinary reader.
pub(super) type OrdinaryBatches<'t> = Box<dyn Iterator<Item = Result<RecordBatch>> + 't>;

/// A column with the name that it has in the table.
pub(super) type NamedColumn = (Arc<str>, CodedColumn);

/// The batches of a row group.
pub(super) struct StoredCodes<'t> {
    path: &'t Path,
    names: Vec<Arc<str>>,
    batch_rows: usize,
    rows: u64,
    /// Rows that were passed on.
    done: u64,
    columns: Vec<CodedColumn>,
    reader: Reader<'t>,
}

enum Reader<'t> {
    Codes(OrdinaryPiece<'t>),
    /// The rows from this one on.
    Ordinary(OrdinaryBatches<'t>, usize),
    Ended,
}

impl<'t> StoredCodes<'t> {
    /// The rows of these columns, with their names.
    pub fn new(
        path: &'t Path,
        columns: Vec<NamedColumn>,
        rows: u64,
        batch_rows: usize,
        ordinary: OrdinaryPiece<'t>,
    ) -> Self {
        let (names, columns) = columns.into_iter().unzip();
        StoredCodes { path, names, batch_rows, rows, done: 0, columns, reader: Reader::Codes(ordinary) }
    }

    /// The next rows; `None` if some of them are not codes.
    fn batch(&mut self) -> Option<Batch> {
        let mut rows = usize::try_from(self.rows - self.done).unwrap_or(usize::MAX).min(self.batch_rows);
        for column in &mut self.columns {
            rows = rows.min(column.rows_of_page()?);
        }
        let (mut fields, mut arrays) = (Vec::new(), Vec::with_capacity(self.columns.len()));
        let mut codes = None;
        for (name, column) in self.names.iter().zip(&mut self.columns) {
            match column.take(rows)? {
                Taken::Array(array) => {
                    fields.push(Field::new(&**name, array.data_type().clone(), true));
                    arrays.push(array);
                }
                Taken::Bytes(bytes) => codes = Some(ByteCodes::new(name, bytes, &column.entries)?),
            }
        }
        let schema = Arc::new(Schema::new(fields));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let rows = RecordBatch::try_new_with_options(schema, arrays, &options).ok()?;
        Some(Batch { rows, codes })
    }
}

impl Iterator for StoredCodes<'_> {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Reader::Ordinary(batches, known) = &mut self.reader {
            let batch = batches.find_map(|batch| after_rows(batch, known).transpose());
            return batch.map(|batch| batch.map(Batch::from));
        }
        let Reader::Codes(ordinary) = std::mem::replace(&mut self.reader, Reader::Ended) else { return None };
        if self.done == self.rows {
            // As everywhere: a file that contradicts itself about its number of rows is not counted.
            let more = !self.columns.iter_mut().all(CodedColumn::is_at_end);
            return more.then(|| Err(damaged(self.path, "it does not hold the rows it announces")));
        }
        if let Some(batch) = self.batch() {
            self.done += batch.rows.num_rows() as u64;
            self.reader = Reader::Codes(ordinary);
            return Some(Ok(batch));
        }
        match ordinary() {
            Ok(batches) => self.reader = Reader::Ordinary(batches, self.done as usize),
            Err(error) => return Some(Err(error)),
        }
        self.next()
    }
}

/// The rows of a batch after the next `known` ones, which are taken off; `None` if there is none.
fn after_rows(batch: Result<RecordBatch>, known: &mut usize) -> Result<Option<RecordBatch>> {
    let batch = batch?;
    let here = batch.num_rows().min(*known);
    *known -= here;
    let left = batch.num_rows() - here;
    Ok((left > 0).then(|| batch.slice(here, left)))
}

/// The codes of a column chunk, page by page.
pub(super) struct CodedColumn {
    form: CodeForm,
    /// Whether a page says which rows have a value.
    has_levels: bool,
    /// Whether runs were short lately.
    short_runs: bool,
    /// The values by code.
    entries: ArrayRef,
    page: CodeStream,
    pages: SerializedPageReader<FilePages>,
}

impl CodedColumn {
    /// Opens a chunk that stores values of this type, which are needed in the canonical form of this kind. `None` if it
    /// is not worth a try.
    pub fn open(
        file: FilePages,
        chunk: &ColumnChunkMetaData,
        rows: u64,
        (stored, kind): (&DataType, &ColumnKind),
        form: CodeForm,
    ) -> Option<Self> {
        let column = chunk.column_descr();
        let is_flat = column.path().parts().len() == 1
            && column.max_rep_level() == 0
            && (0..=1).contains(&column.max_def_level());
        if !is_flat
            || chunk.dictionary_page_offset().is_none()
            || u64::try_from(chunk.num_values()).ok() != Some(rows)
        {
            return None;
        }
        let values = match (chunk.column_type(), stored, kind) {
            (Type::INT64, DataType::Int64, ColumnKind::Integer) => decode_integers::<8>,
            (Type::INT32, DataType::Int32, ColumnKind::Integer) => decode_integers::<4>,
            (Type::BYTE_ARRAY, text, ColumnKind::Text) if is_string(text) => decode_texts,
            _ => return None,
        };
        let total_rows = usize::try_from(rows).ok()?;
        let mut pages = SerializedPageReader::new(Arc::new(file), chunk, total_rows, None).ok()?;
        let Page::DictionaryPage { buf, num_values, encoding, .. } = pages.get_next_page().ok()?? else {
            return None;
        };
        let is_plain = encoding == Encoding::PLAIN || is_dictionary(encoding);
        if form == CodeForm::RunsOrRows && kind == &ColumnKind::Integer && num_values > MOST_NUMBERS {
            return None;
        }
        let entries = if is_plain { values(&buf, usize::try_from(num_values).ok()?)? } else { return None };
        let has_levels = column.max_def_level() > 0;
        Some(CodedColumn { form, has_levels, short_runs: false, entries, page: CodeStream::empty(), pages })
    }

    /// The rows that are left of the page, at least one; `None` if there is no more page of codes.
    fn rows_of_page(&mut self) -> Option<usize> {
        while self.page.left() == 0 {
            self.page = self.next_page()?;
        }
        Some(self.page.left())
    }

    fn next_page(&mut self) -> Option<CodeStream> {
        let (levels, codes, rows) = match self.pages.get_next_page().ok()?? {
            Page::DataPage { mut buf, num_values, encoding, def_level_encoding, .. }
                if is_dictionary(encoding) =>
            {
                let levels = match self.has_levels {
                    false => None,
                    true if def_level_encoding != Encoding::RLE => return None,
                    true => {
                        let length = u32::from_le_bytes(*buf.first_chunk()?) as usize;
                        (length <= buf.len() - 4).then_some(())?;
                        Some(buf.split_to(4 + length).split_off(4))
                    }
                };
                (levels, buf, num_values)
            }
            Page::DataPageV2 {
                mut buf,
                num_values,
                encoding,
                num_nulls: 0,
                num_rows,
                def_levels_byte_len,
                rep_levels_byte_len: 0,
                ..
            } if is_dictionary(encoding) && num_rows == num_values => {
                let length = def_levels_byte_len as usize;
                (length <= buf.len()).then_some(())?;
                let levels = buf.split_to(length);
                (self.has_levels.then_some(levels), buf, num_values)
            }
            _ => return None,
        };
        let rows = usize::try_from(rows).ok()?;
        (levels.is_none_or(|levels| all_present(levels, rows)) && rows > 0).then_some(())?;
        CodeStream::new(codes, rows)
    }

    fn is_at_end(&mut self) -> bool {
        self.page.left() == 0 && matches!(self.pages.get_next_page(), Ok(None))
    }

    /// The next rows, which the page still holds.
    fn take(&mut self, rows: usize) -> Option<Taken> {
        if self.form == CodeForm::RunsOrRows && self.short_runs {
            return self.take_rows(RunList::default(), rows);
        }
        let mut runs = RunList::default();
        while runs.rows < rows {
            match self.page.next(rows - runs.rows)? {
                CodePiece::Same(code, times) => runs.push(code, times),
                CodePiece::Each(codes) => codes.iter().for_each(|&code| runs.push(code, 1)),
                CodePiece::Bytes(codes) => codes.iter().for_each(|&code| runs.push(u32::from(code), 1)),
            }
            if self.form == CodeForm::RunsOrRows && runs.codes.len() > rows / ROWS_PER_RUN {
                return self.take_rows(runs, rows);
            }
        }
        let values = self.dictionary(runs.codes)?;
        let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(runs.ends), &values).ok()?;
        Some(Taken::Array(Arc::new(runs)))
    }

    /// The codes one by one, after those of the first rows.
    fn take_rows(&mut self, first: RunList, rows: usize) -> Option<Taken> {
        Some(match self.entries.len() <= BYTE_CODES {
            true => Taken::Bytes(self.each(&first, rows)?),
            false => {
                let codes = self.each(&first, rows)?;
                Taken::Array(Arc::new(self.dictionary(codes)?))
            }
        })
    }

    fn each<C: Copy + From<u8> + TryFrom<u32>>(&mut self, first: &RunList, rows: usize) -> Option<Vec<C>> {
        let mut codes = Vec::with_capacity(rows);
        for (&code, &end) in first.codes.iter().zip(&first.ends) {
            codes.resize(end as usize, C::try_from(code as u32).ok()?);
        }
        let mut in_runs = 0;
        while codes.len() < rows {
            match self.page.next(rows - codes.len())? {
                CodePiece::Same(code, times) => {
                    in_runs += times;
                    codes.resize(codes.len() + times, C::try_from(code).ok()?);
                }
                CodePiece::Bytes(each) => codes.extend(each.iter().map(|&code| C::from(code))),
                CodePiece::Each(each) => {
                    for &code in each {
                        codes.push(C::try_from(code).ok()?);
                    }
                }
            }
        }
        self.short_runs = in_runs < rows - rows / ROWS_PER_RUN;
        Some(codes)
    }

    /// The values of these codes; `None` if there is no such value.
    fn dictionary(&self, codes: Vec<i32>) -> Option<DictionaryArray<Int32Type>> {
        DictionaryArray::try_new(Int32Array::from(codes), self.entries.clone()).ok()
    }
}

/// Rows of a column.
enum Taken {
    Array(ArrayRef),
    Bytes(Vec<u8>),
}

/// Codes with the rows at which they end; neighbors differ.
#[derive(Default)]
struct RunList {
    codes: Vec<i32>,
    ends: Vec<i32>,
    rows: usize,
}

impl RunList {
    fn push(&mut self, code: u32, times: usize) {
        self.rows += times;
        let (code, end) = (code as i32, self.rows as i32);
        match self.ends.last_mut() {
            Some(last) if self.codes.last() == Some(&code) => *last = end,
            _ => {
                self.codes.push(code);
                self.ends.push(end);
            }
        }
    }
}

/// Whether data pages of this encoding hold codes.
fn is_dictionary(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
}

/// Whether these levels say that every row has a value.
fn all_present(levels: Bytes, rows: usize) -> bool {
    let mut levels = CodeStream::of_width(levels, 1, rows);
    while levels.left() > 0 {
        match levels.next(rows) {
            Some(CodePiece::Same(1, _)) => {}
            Some(CodePiece::Bytes(each)) if each.iter().all(|&level| level == 1) => {}
            _ => return false,
        }
    }
    true
}

/// Whole numbers of so many bytes, as their canonical type.
fn decode_integers<const BYTES: usize>(page: &[u8], count: usize) -> Option<ArrayRef> {
    let integer = |bytes: &[u8; BYTES]| {
        // The sign is that of the last byte.
        let mut whole = [if bytes[BYTES - 1] < 0x80 { 0 } else { 0xff }; 8];
        whole[..BYTES].copy_from_slice(bytes);
        i64::from_le_bytes(whole)
    };
    let (values, rest) = page.as_chunks::<BYTES>();
    let complete = values.len() == count && rest.is_empty() && i32::try_from(count).is_ok();
    complete.then(|| Arc::new(Int64Array::from_iter_values(values.iter().map(integer))) as ArrayRef)
}

/// Texts, each after its length.
fn decode_texts(page: &[u8], count: usize) -> Option<ArrayRef> {
    if count > page.len() / 4 || i32::try_from(page.len()).is_err() {
        return (count == 0 && page.is_empty()).then(|| Arc::new(StringArray::new_null(0)) as ArrayRef);
    }
    let (mut offsets, mut texts) =
        (Vec::with_capacity(count + 1), Vec::with_capacity(page.len() - 4 * count));
    offsets.push(0);
    let mut rest = page;
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        texts.extend_from_slice(text);
        offsets.push(texts.len() as i32);
        rest = after;
    }
    let offsets = OffsetBuffer::new(offsets.into());
    Some(Arc::new(StringArray::try_new(offsets, Buffer::from(texts), None).ok()?))
}
