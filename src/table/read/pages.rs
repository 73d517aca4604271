//! How large are the pages of a Parquet file?
//!
//! The footer gives the size of a column chunk only as a whole. The headers of its pages say how large each page is
//! once it is decompressed, and they are read without the pages.

use std::io::{BufReader, Chain, Cursor, Read};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::{Compression, Type};
use parquet::column::page::PageReader;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::input_file::InputBytes;
use super::parquet::FilePages;
use super::plan::StringForm;

/// A chunk of at most this many bytes may as well be one page.
const SMALL_CHUNK: u64 = 256 << 10;

/// The start of a page header: its type and its sizes.
const HEAD: usize = 24;

/// The different values of a dictionary, at least, if the file does not say how long its texts are.
const FEWEST_ENTRIES: u64 = 256;

/// The sizes of the pages of a column chunk, decompressed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PageSizes {
    /// Bytes of the dictionary.
    dictionary: u64,
    /// Bytes of the largest other page.
    largest: u64,
    /// The most bytes per value of any other page.
    bytes_per_value: u64,
}

impl PageSizes {
    /// The sizes of the pages of a chunk. A chunk that cannot be followed page by page counts as one page; decoding it
    /// will fail.
    pub fn of(pages: FilePages, chunk: &ColumnChunkMetaData, rows: u64) -> PageSizes {
        let whole = u64::try_from(chunk.uncompressed_size()).unwrap_or(u64::MAX);
        let values = u64::try_from(chunk.num_values()).unwrap_or(0).max(1);
        let as_one = PageSizes {
            dictionary: if chunk.dictionary_page_offset().is_some() { whole } else { 0 },
            largest: whole,
            bytes_per_value: whole.div_ceil(values),
        };
        if whole <= SMALL_CHUNK { as_one } else { follow(pages, chunk, rows).unwrap_or(as_one) }
    }

    /// The memory that decoding the chunk takes in addition to its batches.
    pub fn decoding_bytes(&self, chunk: &ColumnChunkMetaData) -> u64 {
        // A compressed page is in memory twice for a moment, and a dictionary becomes an array.
        let copies = if chunk.compression() == Compression::UNCOMPRESSED { 1 } else { 2 };
        copies * self.largest + 2 * self.dictionary
    }

    /// The bytes of an average row of a batch of the chunk; of a row of its densest page, if texts are stored one by one.
    pub fn row_bytes(&self, chunk: &ColumnChunkMetaData, strings: StringForm, rows: u64) -> u64 {
        let values = u64::try_from(chunk.num_values()).unwrap_or(0);
        let width = match chunk.column_type() {
            // Where a dictionary grew too long, pages hold texts, and the densest one tells.
            Type::BYTE_ARRAY if self.dictionary > 0 && strings == StringForm::Plain => {
                let stated =
                    chunk.unencoded_byte_array_data_bytes().and_then(|bytes| u64::try_from(bytes).ok());
                let average = stated.map(|bytes| bytes.div_ceil(values.max(1)));
                4 + average.unwrap_or(self.dictionary / FEWEST_ENTRIES).max(self.bytes_per_value)
            }
            Type::BYTE_ARRAY => 4 + self.bytes_per_value,
            Type::FIXED_LEN_BYTE_ARRAY => self.bytes_per_value.max(16),
            _ => 8,
        };
        width.saturating_mul(values.div_ceil(rows.max(1)).max(1))
    }
}

/// Goes from page to page.
fn follow(pages: FilePages, chunk: &ColumnChunkMetaData, rows: u64) -> Option<PageSizes> {
    let headers = Arc::new(Headers { pages, last: Mutex::new([0; HEAD]) });
    let mut reader =
        SerializedPageReader::new(headers.clone(), chunk, usize::try_from(rows).ok()?, None).ok()?;
    let mut sizes = PageSizes::default();
    while let Some(page) = reader.peek_next_page().ok()? {
        let bytes = decompressed_bytes(&*headers.last.lock().unwrap_or_else(PoisonError::into_inner))?;
        if page.is_dict {
            sizes.dictionary = sizes.dictionary.max(bytes);
        } else {
            let values = page.num_levels.or(page.num_rows).unwrap_or(1).max(1) as u64;
            sizes.largest = sizes.largest.max(bytes);
            sizes.bytes_per_value = sizes.bytes_per_value.max(bytes.div_ceil(values));
        }
        reader.skip_next_page().ok()?;
    }
    Some(sizes)
}

/// Remembers the start of the page header that was read last.
struct Headers {
    pages: FilePages,
    last: Mutex<[u8; HEAD]>,
}

impl Length for Headers {
    fn len(&self) -> u64 {
        self.pages.len()
    }
}

impl ChunkReader for Headers {
    type T = Chain<Cursor<Vec<u8>>, BufReader<InputBytes>>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        let mut rest = self.pages.get_read(start)?;
        let mut head = Vec::with_capacity(HEAD);
        rest.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = [0; HEAD];
        last[..head.len()].copy_from_slice(&head);
        Ok(Cursor::new(head).chain(rest))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        self.pages.get_bytes(start, length)
    }
}

/// The size that a page has once it is decompressed: the second field of its header, after its type. Both are integers
/// of the Thrift compact protocol.
fn decompressed_bytes(head: &[u8]) -> Option<u64> {
    let mut bytes = head.iter();
    let mut field = || {
        // The next field, an integer of 32 bits.
        if *bytes.next()? != 0x15 {
            return None;
        }
        let mut number = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = *bytes.next()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                // Zigzag; the sizes are not negative.
                return (number & 1 == 0).then_some(number >> 1);
            }
        }
        None
    };
    field()?;
    field()
}
