//! How is a column with few texts encoded without looking at every text?
//!
//! A release consists of long runs: all rows of a group share their labels. The parquet crate hashes and compares every
//! value; here only the dictionary keys are scanned, and any further work grows with the number of runs.
//!
//! Memory: the distinct texts of a row group, some 20 bytes for each of them, and its encoded pages. Pages are not compressed: run lengths already do
//! that.
//! Invariant: only texts that occur in a row are written, in the order in which they first occur; other entries of an
//! array's dictionary never reach the file.
//! Measured: a release of 10 million Agrawal rows takes 8 to 10 % longer without it, and its files are 40 % larger.

use std::hash::BuildHasher;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;
use bytes::Bytes;
use hashbrown::HashTable;
use parquet::basic::{Compression as Codec, Encoding, EncodingMask};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics as ChunkStatistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::hybrid::CodeRuns;
use super::writer::StoredStatistics;
use crate::resources::disk::DiskFile;

/// Number of rows in a page.
const PAGE_ROWS: u32 = 1 << 17;
/// Longer texts are not copied into the statistics.
const LONGEST_STATISTIC: usize = 64;

/// Encodes one column chunk of type `Dictionary(_, Utf8)`.
pub(super) struct RunEncoder {
    descr: ColumnDescPtr,
    statistics: StoredStatistics,
    rows: u64,
    nulls: u64,
    page_rows: u32,
    codes: CodeRuns,
    /// 1 where a row has a value, 0 where it is null.
    present: CodeRuns,
    pages: Vec<DataPage>,
    texts: ChunkDictionary,
    known: KnownKeys,
}

struct DataPage {
    rows: u32,
    bytes: Vec<u8>,
}

/// The dictionary of the chunk: codes in the order of first appearance.
#[derive(Default)]
struct ChunkDictionary {
    /// The codes, by their texts.
    codes: HashTable<u32>,
    /// Where the text of each code begins in the page.
    starts: Vec<usize>,
    /// Lengths and bytes, as in the dictionary page.
    page: Vec<u8>,
    hasher: foldhash::fast::RandomState,
}

impl ChunkDictionary {
    fn code(&mut self, text: &str) -> u32 {
        let ChunkDictionary { codes, starts, page, hasher } = self;
        let hash = hasher.hash_one(text.as_bytes());
        if let Some(&code) = codes.find(hash, |&code| text_of(starts, page, code) == text.as_bytes()) {
            return code;
        }
        let code = starts.len() as u32;
        page.extend_from_slice(&(text.len() as u32).to_le_bytes());
        starts.push(page.len());
        page.extend_from_slice(text.as_bytes());
        codes.insert_unique(hash, code, |&code| hasher.hash_one(text_of(starts, page, code)));
        code
    }

    /// The texts, by code.
    fn texts(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.starts.len() as u32).map(|code| text_of(&self.starts, &self.page, code))
    }

    /// Number of bits in a code.
    fn width(&self) -> u32 {
        (self.starts.len() as u32).saturating_sub(1).checked_ilog2().map_or(0, |bits| bits + 1)
    }
}

/// A text of the dictionary page; the length of the next one follows it.
fn text_of<'p>(starts: &[usize], page: &'p [u8], code: u32) -> &'p [u8] {
    let end = starts.get(code as usize + 1).map_or(page.len(), |next| next - size_of::<u32>());
    &page[starts[code as usize]..end]
}

/// The codes of the keys of the previous array; arrays of a table mostly share their dictionary.
#[derive(Default)]
struct KnownKeys {
    values: Option<ArrayRef>,
    code_of_key: Vec<KeyCode>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyCode {
    NotSeen,
    Null,
    Text(u32),
}

impl RunEncoder {
    /// Whether a column of this type is encoded here.
    pub fn takes(data_type: &DataType) -> bool {
        matches!(data_type, DataType::Dictionary(_, value) if **value == DataType::Utf8)
    }

    pub fn new(descr: ColumnDescPtr, statistics: StoredStatistics) -> Self {
        RunEncoder {
            descr,
            statistics,
            rows: 0,
            nulls: 0,
            page_rows: 0,
            codes: CodeRuns::default(),
            present: CodeRuns::default(),
            pages: Vec::new(),
            texts: ChunkDictionary::default(),
            known: KnownKeys::default(),
        }
    }

    pub fn encode(&mut self, array: &ArrayRef) -> Result<(), ParquetError> {
        let array = array.as_any_dictionary();
        self.known.look_at(array.values());
        let exact = CastOptions { safe: false, ..CastOptions::default() };
        let keys = cast_with_options(array.keys(), &DataType::Int32, &exact)?;
        let keys = keys.as_primitive::<Int32Type>();
        let texts = array.values().as_string::<i32>();
        let nulls = keys.nulls().filter(|nulls| nulls.null_count() > 0);
        let numbers = keys.values();
        let mut row = 0;
        while row < numbers.len() {
            let key = numbers[row];
            let (code, length) = match nulls {
                None => (self.code(key, texts), equal_at_start(&numbers[row..])),
                Some(nulls) if nulls.is_null(row) => {
                    (KeyCode::Null, (row..numbers.len()).take_while(|&row| nulls.is_null(row)).count())
                }
                Some(nulls) => {
                    let same = |&row: &usize| numbers[row] == key && nulls.is_valid(row);
                    (self.code(key, texts), (row..numbers.len()).take_while(same).count())
                }
            };
            row += length;
            self.push(code, length);
        }
        Ok(())
    }

    fn code(&mut self, key: i32, texts: &StringArray) -> KeyCode {
        let code = &mut self.known.code_of_key[key as usize];
        if *code == KeyCode::NotSeen {
            *code = match texts.is_null(key as usize) {
                true => KeyCode::Null,
                false => KeyCode::Text(self.texts.code(texts.value(key as usize))),
            };
        }
        *code
    }

    fn push(&mut self, code: KeyCode, mut length: usize) {
        while length > 0 {
            let part = (length as u64).min(u64::from(PAGE_ROWS - self.page_rows)) as u32;
            match code {
                KeyCode::Text(code) => {
                    self.codes.push(code, part);
                    self.present.push(1, part);
                }
                KeyCode::Null | KeyCode::NotSeen => {
                    self.present.push(0, part);
                    self.nulls += u64::from(part);
                }
            }
            self.page_rows += part;
            length -= part as usize;
            if self.page_rows == PAGE_ROWS {
                self.finish_page();
            }
        }
    }

    fn finish_page(&mut self) {
        let mut bytes = Vec::new();
        if self.descr.max_def_level() > 0 {
            bytes.extend_from_slice(&[0; 4]);
            self.present.encode(1, &mut bytes);
            let length = (bytes.len() - 4) as u32;
            bytes[..4].copy_from_slice(&length.to_le_bytes());
        }
        let width = self.texts.width();
        bytes.push(width as u8);
        self.codes.encode(width, &mut bytes);
        self.codes.clear();
        self.present.clear();
        self.rows += u64::from(self.page_rows);
        self.pages.push(DataPage { rows: std::mem::take(&mut self.page_rows), bytes });
    }

    pub fn close(mut self) -> Result<RunChunk, ParquetError> {
        if self.page_rows > 0 {
            self.finish_page();
        }
        if i32::try_from(self.texts.page.len()).is_err() {
            return Err(ParquetError::General(format!(
                "column {} has more than 2 GiB of different texts in a row group",
                self.descr.name()
            )));
        }
        let statistics = self.chunk_statistics();
        let mut sink = TrackedWrite::new(Vec::new());
        let mut writer = SerializedPageWriter::new(&mut sink);
        let size = self.texts.page.len();
        let dictionary = Page::DictionaryPage {
            buf: self.texts.page.into(),
            num_values: self.texts.starts.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let first_page = writer.write_page(CompressedPage::new(dictionary, size))?.bytes_written;
        for DataPage { rows, bytes } in self.pages {
            let size = bytes.len();
            let page = Page::DataPage {
                buf: bytes.into(),
                num_values: rows,
                encoding: Encoding::RLE_DICTIONARY,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            writer.write_page(CompressedPage::new(page, size))?;
        }
        let bytes: Vec<u8> = sink.into_inner()?;
        let encodings = [Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY];
        let mut metadata = ColumnChunkMetaData::builder(self.descr)
            .set_compression(Codec::UNCOMPRESSED)
            .set_encodings_mask(EncodingMask::new_from_encodings(encodings.iter()))
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(bytes.len() as i64)
            .set_num_values(self.rows as i64)
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(first_page as i64);
        if let Some(statistics) = statistics {
            metadata = metadata.set_statistics(statistics);
        }
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.rows,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok(RunChunk { bytes: bytes.into(), close })
    }

    fn chunk_statistics(&self) -> Option<ChunkStatistics> {
        if self.statistics == StoredStatistics::None {
            return None;
        }
        let texts = || self.texts.texts();
        let short = |text: &&[u8]| text.len() <= LONGEST_STATISTIC;
        let least = texts().min().filter(short).map(ByteArray::from);
        let greatest = texts().max().filter(short).map(ByteArray::from);
        Some(ChunkStatistics::new(least, greatest, None, Some(self.nulls), false))
    }
}

impl KnownKeys {
    fn look_at(&mut self, values: &ArrayRef) {
        let same = self.values.as_ref().is_some_and(|known| known.to_data().ptr_eq(&values.to_data()));
        if !same {
            self.values = Some(values.clone());
            self.code_of_key.clear();
            self.code_of_key.resize(values.len(), KeyCode::NotSeen);
        }
    }
}

/// How many numbers at the start are equal; `numbers` is not empty.
fn equal_at_start(numbers: &[i32]) -> usize {
    let first = numbers[0];
    numbers.iter().position(|&number| number != first).unwrap_or(numbers.len())
}

/// An encoded column chunk.
pub(super) struct RunChunk {
    bytes: Bytes,
    close: ColumnCloseResult,
}

impl RunChunk {
    pub fn append_to(
        self,
        row_group: &mut SerializedRowGroupWriter<'_, DiskFile>,
    ) -> Result<(), ParquetError> {
        row_group.append_column(&self.bytes, self.close)
    }
}
