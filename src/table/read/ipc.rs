//! How are the rows of an Arrow IPC file or stream decoded?
//!
//! A piece is a record batch. The messages of a stream are split by one reader and decoded by the workers; those of a
//! file are also read by the workers. Memory: a record batch per thread, and the dictionaries; both are known before they
//! are read, and refused if the budget has no room for them.
//!
//! Invariant: no memory is reserved for a length declared in a message before the length is checked.

use std::collections::HashMap;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{RecordBatchDecoder, read_dictionary, read_footer_length};
use arrow_ipc::{Message as Header, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::ArrowError;
use arrow_schema::{Schema, SchemaRef};

use super::batch::Batch;
use super::contain::damaged;
use super::input_file::InputFile;
use super::plan::FilePlan;
use super::room::{BATCH_BYTES, COPIES, Need};
use super::scan::{Batches, Cutting, Piece, Pieces};
use crate::error::{Error, Result};

/// The first bytes of an IPC file; a stream begins with a message.
pub(super) const FILE_MAGIC: &[u8] = b"ARROW1\0\0";

/// The bytes before the length of each message.
pub(super) const CONTINUATION: &[u8] = &[0xff; 4];

/// The largest number of rows that a record batch may have.
const BATCH_ROWS: u64 = i32::MAX as u64;

/// The largest expansion of a compressed byte; above what LZ4 and Zstandard reach.
const EXPANSION: u64 = 1 << 16;

/// How many times larger than its message a compressed batch is assumed to be.
const COMPRESSION: u64 = 5;

/// The longest header of a message; a greater value is not a valid length.
const HEADER_BYTES: u64 = 1 << 28;

type Dictionaries = HashMap<i64, ArrayRef>;

/// An Arrow IPC file whose footer has been read.
pub(super) struct IpcFile {
    input: InputFile,
    schema: SchemaRef,
    /// Where the dictionary messages begin.
    dictionaries: Vec<u64>,
    /// Where the record batches begin, their rows, and what decoding them takes.
    batches: Vec<(u64, u64, u64)>,
}

impl IpcFile {
    /// Reads the footer, and the header of each record batch.
    pub fn open(input: InputFile) -> Result<Self> {
        let path = input.path();
        let file = input.open()?;
        let length = file.length(path)?;
        let mut source = BufReader::new(file);

        let cut = || damaged(path, "the file ends too early");
        let trailer_at = length.checked_sub(10).ok_or_else(cut)?;
        let trailer = read_at(path, &mut source, trailer_at, 10)?;
        let trailer: [u8; 10] = trailer.try_into().map_err(|_| cut())?;
        let footer_length =
            read_footer_length(trailer).map_err(|error| damaged(path, error.to_string()))? as u64;
        let footer_at = trailer_at.checked_sub(footer_length).ok_or_else(cut)?;
        let footer = read_at(path, &mut source, footer_at, footer_length)?;
        let footer = root_as_footer(&footer).map_err(|_| damaged(path, "the footer cannot be decoded"))?;
        let schema = footer.schema().ok_or_else(|| damaged(path, "the footer has no schema"))?;
        let schema = decode_schema(path, schema)?;

        let offset = |offset: i64| u64::try_from(offset).map_err(|_| damaged(path, "a block has no place"));
        let dictionaries = footer.dictionaries().into_iter().flatten().map(|block| offset(block.offset()));
        let dictionaries = dictionaries.collect::<Result<Vec<u64>>>()?;
        let mut batches = Vec::new();
        for block in footer.recordBatches().into_iter().flatten() {
            let at = offset(block.offset())?;
            source.seek(SeekFrom::Start(at)).map_err(|error| Error::io(path, error))?;
            let header = read_header(path, &mut source)?.ok_or_else(cut)?;
            let header = parse(path, &header)?;
            batches.push((at, batch_rows_of(path, &header)?, decoding_bytes(&header)));
        }
        Ok(IpcFile { input, schema, dictionaries, batches })
    }

    /// The schema as the file declares it.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.batches.iter().map(|(_, rows, _)| rows).sum()
    }

    /// What decoding any record batch takes.
    pub fn largest_need(&self) -> Need {
        Need::of(self.batches.iter().map(|&(_, _, bytes)| bytes).max().unwrap_or(0))
    }

    /// The pieces of the file.
    pub fn pieces<'t>(&'t self, plan: FilePlan, cutting: Cutting<'t>) -> Result<Pieces<'t>> {
        let (input, path) = (&self.input, self.input.path());
        let mut dictionaries = Dictionaries::new();
        for &at in &self.dictionaries {
            let message = message_at(input, at, |need| cutting.room.keep(path, need))?;
            message.decode_dictionary(path, &self.schema, &mut dictionaries)?;
        }
        let schema = self.schema.clone();
        let shared = Arc::new(Decoding { path, schema, plan, batch_rows: cutting.batch_rows });
        let dictionaries = Arc::new(dictionaries);
        Ok(Box::new(self.batches.iter().map(move |&(at, rows, bytes)| {
            let (shared, dictionaries) = (shared.clone(), dictionaries.clone());
            let decode = Box::new(move || shared.batches(&message_at(input, at, |_| Ok(()))?, &dictionaries));
            Ok(Piece { rows, need: Need::of(bytes), decode })
        })))
    }
}

/// An Arrow IPC stream whose schema has been read.
pub(super) struct IpcStream {
    schema: SchemaRef,
    /// What the largest record batch of an earlier scan took.
    largest: AtomicU64,
}

impl IpcStream {
    /// Reads the schema, and leaves the source positioned after it.
    pub fn open(path: &Path, source: &mut dyn Read) -> Result<Self> {
        let message = Message::read(path, source, |_| Ok(()))?;
        let message = message.ok_or_else(|| damaged(path, "the stream is empty"))?;
        let schema = parse(path, &message.header)?
            .header_as_schema()
            .ok_or_else(|| damaged(path, "the stream does not begin with a schema"))
            .and_then(|schema| decode_schema(path, schema))?;
        Ok(IpcStream { schema, largest: AtomicU64::new(0) })
    }

    /// The schema as the stream declares it.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What decoding a record batch takes, as far as earlier scans saw.
    pub fn largest_need(&self) -> Need {
        Need::of(self.largest.load(Ordering::Relaxed))
    }

    /// The pieces of a source that is positioned after the schema.
    pub fn pieces_of<'t>(
        &'t self,
        path: &'t Path,
        mut source: Box<dyn Read + Send + 't>,
        plan: FilePlan,
        cutting: Cutting<'t>,
    ) -> Pieces<'t> {
        let schema = self.schema.clone();
        let shared = Arc::new(Decoding { path, schema, plan, batch_rows: cutting.batch_rows });
        let mut dictionaries = Arc::new(Dictionaries::new());
        Box::new(std::iter::from_fn(move || {
            let mut next = || -> Result<Option<Piece<'t>>> {
                let room = |need: &Need| cutting.room.expect(path, need);
                while let Some(message) = Message::read(path, &mut source, room)? {
                    if parse(path, &message.header)?.header_type() == MessageHeader::DictionaryBatch {
                        cutting.room.keep(path, &Need::of(decoding_bytes(&parse(path, &message.header)?)))?;
                        // Workers may still use the old ones.
                        let dictionaries = Arc::make_mut(&mut dictionaries);
                        message.decode_dictionary(path, &shared.schema, dictionaries)?;
                        continue;
                    }
                    let header = parse(path, &message.header)?;
                    let (rows, bytes) = (batch_rows_of(path, &header)?, decoding_bytes(&header));
                    self.largest.fetch_max(bytes, Ordering::Relaxed);
                    let (shared, dictionaries) = (shared.clone(), dictionaries.clone());
                    let decode = Box::new(move || shared.batches(&message, &dictionaries));
                    return Ok(Some(Piece { rows, need: Need::of(bytes), decode }));
                }
                Ok(None)
            };
            next().transpose()
        }))
    }
}

/// What the workers need to decode a record batch.
struct Decoding<'t> {
    path: &'t Path,
    schema: SchemaRef,
    plan: FilePlan,
    batch_rows: usize,
}

impl<'t> Decoding<'t> {
    fn batches(self: &Arc<Self>, message: &Message, dictionaries: &Dictionaries) -> Result<Batches<'t>> {
        let batch = message.decode_batch(self.path, &self.schema, dictionaries, &self.plan.indices())?;
        let row_bytes = message.body.len() / batch.num_rows().max(1);
        let step = (BATCH_BYTES / row_bytes.max(1)).clamp(1, self.batch_rows);
        let shared = self.clone();
        let starts = (0..batch.num_rows()).step_by(step);
        Ok(Box::new(starts.map(move |start| {
            let part = batch.slice(start, step.min(batch.num_rows() - start));
            shared.plan.shape(shared.path, &part).map(Batch::from)
        })))
    }
}

/// A message: its header, a flatbuffer, and the buffers that the header describes.
struct Message {
    header: Vec<u8>,
    body: Buffer,
}

impl Message {
    /// The next message; `None` at the end of the stream. `room` may refuse it before it is read.
    fn read(
        path: &Path,
        source: &mut dyn Read,
        room: impl FnOnce(&Need) -> Result<()>,
    ) -> Result<Option<Self>> {
        let Some(header) = read_header(path, source)? else { return Ok(None) };
        let parsed = parse(path, &header)?;
        let length = u64::try_from(parsed.bodyLength())
            .map_err(|_| damaged(path, "a message has a negative length"))?;
        room(&Need::of(decoding_bytes(&parsed)))?;
        let body = Buffer::from_vec(read_exactly(path, source, length)?);
        Ok(Some(Message { header, body }))
    }

    fn decode_batch(
        &self,
        path: &Path,
        schema: &SchemaRef,
        dictionaries: &Dictionaries,
        columns: &[usize],
    ) -> Result<RecordBatch> {
        let header = parse(path, &self.header)?;
        let batch =
            header.header_as_record_batch().ok_or_else(|| damaged(path, "a block is not a record batch"))?;
        self.check_buffers(path, &batch)?;
        let version = header.version();
        let decode = || -> Result<RecordBatch, ArrowError> {
            let decoder =
                RecordBatchDecoder::try_new(&self.body, batch, schema.clone(), dictionaries, &version)?;
            decoder.with_projection(Some(columns)).read_record_batch()
        };
        // The decoder's message is dropped: validation may quote what it rejects.
        decode().map_err(|_| damaged(path, "a record batch cannot be decoded"))
    }

    fn decode_dictionary(&self, path: &Path, schema: &Schema, dictionaries: &mut Dictionaries) -> Result<()> {
        let failed = || damaged(path, "a dictionary cannot be decoded");
        let header = parse(path, &self.header)?;
        let dictionary = header.header_as_dictionary_batch().ok_or_else(failed)?;
        self.check_buffers(path, &dictionary.data().ok_or_else(failed)?)?;
        read_dictionary(&self.body, dictionary, schema, dictionaries, &header.version()).map_err(|_| failed())
    }

    /// Rejects buffers outside the message, and those that claim to decompress to more than is possible.
    fn check_buffers(&self, path: &Path, batch: &arrow_ipc::RecordBatch<'_>) -> Result<()> {
        for buffer in batch.buffers().iter().flatten() {
            let range = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
            let stored = range
                .and_then(|(at, length)| self.body.get(at..)?.get(..length))
                .ok_or_else(|| damaged(path, "a buffer reaches beyond its message"))?;
            // A compressed buffer begins with its decompressed length, or with -1.
            let declared = stored.first_chunk::<8>().map_or(0, |bytes| i64::from_le_bytes(*bytes));
            let limit = (stored.len() as u64).saturating_mul(EXPANSION);
            if batch.compression().is_some() && u64::try_from(declared).is_ok_and(|declared| declared > limit)
            {
                return Err(damaged(path, "a compressed buffer declares an impossible length"));
            }
        }
        Ok(())
    }
}

/// A message of a file; `room` may refuse it before it is read.
fn message_at(input: &InputFile, at: u64, room: impl FnOnce(&Need) -> Result<()>) -> Result<Message> {
    let path = input.path();
    let mut file = input.open()?;
    file.seek(SeekFrom::Start(at)).map_err(|source| Error::io(path, source))?;
    Message::read(path, &mut file, room)?.ok_or_else(|| damaged(path, "the file ends too early"))
}

/// What decoding a message takes: its body, what compressed buffers become, and batches.
fn decoding_bytes(header: &Header<'_>) -> u64 {
    let body = u64::try_from(header.bodyLength()).unwrap_or(u64::MAX);
    let batch = header.header_as_record_batch();
    let batch =
        batch.or_else(|| header.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()));
    let compressed = batch.is_some_and(|batch| batch.compression().is_some());
    let copies = if compressed { COMPRESSION } else { 1 };
    body.saturating_mul(copies).saturating_add(COPIES * (BATCH_BYTES as u64).min(body))
}

/// The header of the next message; `None` at the end of the stream.
fn read_header(path: &Path, source: &mut dyn Read) -> Result<Option<Vec<u8>>> {
    let mut length = Vec::new();
    source.take(4).read_to_end(&mut length).map_err(|error| Error::io(path, error))?;
    if length.is_empty() {
        return Ok(None);
    }
    if length == CONTINUATION {
        length = read_exactly(path, source, 4)?;
    }
    let length: [u8; 4] = length.try_into().map_err(|_| damaged(path, "the file ends too early"))?;
    match u64::from(u32::from_le_bytes(length)) {
        0 => Ok(None),
        HEADER_BYTES.. => Err(damaged(path, "a message has an impossible length")),
        length => read_exactly(path, source, length).map(Some),
    }
}

fn parse<'a>(path: &Path, header: &'a [u8]) -> Result<Header<'a>> {
    root_as_message(header).map_err(|_| damaged(path, "a message cannot be decoded"))
}

fn batch_rows_of(path: &Path, header: &Header<'_>) -> Result<u64> {
    let batch =
        header.header_as_record_batch().ok_or_else(|| damaged(path, "a block is not a record batch"))?;
    u64::try_from(batch.length())
        .ok()
        .filter(|rows| *rows <= BATCH_ROWS)
        .ok_or_else(|| damaged(path, "a record batch has an impossible number of rows"))
}

fn decode_schema(path: &Path, schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err(damaged(path, "the bytes of its numbers are in the order of another machine"));
    }
    try_fb_to_schema(schema).map(Arc::new).map_err(|error| damaged(path, error.to_string()))
}

fn read_at(path: &Path, source: &mut (impl Read + Seek), at: u64, length: u64) -> Result<Vec<u8>> {
    source.seek(SeekFrom::Start(at)).map_err(|error| Error::io(path, error))?;
    read_exactly(path, source, length)
}

/// Reads exactly `length` bytes; memory grows only with the data that is actually present.
fn read_exactly(path: &Path, source: &mut dyn Read, length: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = source.take(length).read_to_end(&mut bytes).map_err(|error| Error::io(path, error))?;
    if (read as u64) < length {
        return Err(damaged(path, "the file ends too early"));
    }
    Ok(bytes)
}
