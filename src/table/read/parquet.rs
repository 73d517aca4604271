//! How are the rows of a Parquet file decoded?
//!
//! A piece is a row group, a run of very small ones, or a part of a very large one. Its pages are read one by one as they
//! are decoded, so a huge row group is not held in memory. Strings are requested as dictionaries, which is how most files
//! store them.
//!
//! Memory, per piece: a page and the dictionary of each column, and a batch; the sizes are known before ([`PageSizes`]).

use std::collections::HashMap;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::batch::Batch;
use super::coded::{CodedColumn, NamedColumn, OrdinaryBatches, OrdinaryPiece, StoredCodes};
use super::contain::damaged;
use super::input_file::{InputBytes, InputFile};
use super::pages::PageSizes;
use super::plan::{FilePlan, StringForm, is_string};
use super::room::{BATCH_BYTES, COPIES, Need};
use super::scan::{Batches, Cutting, Piece, Pieces};
use crate::error::{Error, Result};
use crate::table::kind::text_type;

/// Row groups with fewer rows than this are combined into one piece.
#[cfg(not(test))]
const PIECE_ROWS: u64 = 1 << 16;
/// Small in tests, so that small files have several pieces.
#[cfg(test)]
const PIECE_ROWS: u64 = 8;

/// A batch of codes has so many times as many rows, which are about those of a page: a run is one step, however long.
const CODED_BATCHES: usize = 4;

/// A Parquet file whose footer has been read.
pub(super) struct ParquetFile {
    input: InputFile,
    metadata: ArrowReaderMetadata,
    /// Rows of each row group.
    group_rows: Vec<u64>,
    /// The pages that were measured, by row group and leaf column.
    sizes: Mutex<HashMap<(usize, usize), PageSizes>>,
}

/// Row groups, or some rows of one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PieceRows {
    groups: Range<usize>,
    /// The rows before the piece in its row groups, and its own rows.
    before: u64,
    rows: u64,
}

impl ParquetFile {
    /// Reads the footer.
    pub fn open(input: InputFile, bytes_read: &Arc<AtomicU64>) -> Result<Self> {
        let path = input.path();
        let pages = FilePages::open(&input, bytes_read)?;
        // The footer contains names of columns, types and sizes; its errors quote no cell.
        let metadata = ArrowReaderMetadata::load(&pages, ArrowReaderOptions::new())
            .map_err(|error| footer_error(path, error))?;
        let group_rows: Option<Vec<u64>> = metadata
            .metadata()
            .row_groups()
            .iter()
            .map(|group| u64::try_from(group.num_rows()).ok())
            .collect();
        let group_rows = group_rows
            .filter(|rows| rows.iter().try_fold(0u64, |sum, &r| sum.checked_add(r)).is_some())
            .ok_or_else(|| damaged(path, "a row group has an impossible number of rows"))?;
        Ok(ParquetFile { input, metadata, group_rows, sizes: Mutex::default() })
    }

    /// The schema as the file declares it.
    pub fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.group_rows.iter().sum()
    }

    /// The pieces of the file.
    pub fn pieces<'t>(
        &'t self,
        plan: FilePlan,
        cutting: Cutting<'t>,
        bytes_read: &'t Arc<AtomicU64>,
    ) -> Result<Pieces<'t>> {
        let path = self.input.path();
        let metadata = self.with_packed_strings(&plan);
        let mask = ProjectionMask::roots(metadata.parquet_schema(), plan.indices());
        let demands = self.demands(&plan, bytes_read)?;
        let shared = Arc::new((metadata, mask, plan));
        Ok(Box::new(self.cut(cutting.morsel_rows).map(move |PieceRows { groups, before, rows }| {
            let demands = &demands[groups.clone()];
            let need = demands.iter().fold(Need::default(), |most, own| most.or_larger(own.need.clone()));
            let row_bytes = demands.iter().map(|own| own.row_bytes).max().unwrap_or(0);
            let of_batch =
                |most: usize| (BATCH_BYTES as u64 / row_bytes.max(1)).clamp(1, most as u64) as usize;
            let batch_rows = of_batch(cutting.batch_rows);
            let coded_rows = of_batch(cutting.batch_rows.saturating_mul(CODED_BATCHES));
            let whole = rows == self.group_rows[groups.clone()].iter().sum::<u64>();
            let shared = shared.clone();
            let group = (whole && groups.len() == 1).then_some(groups.start);
            let ordinary: OrdinaryPiece<'t> = {
                let shared = shared.clone();
                Box::new(move || -> Result<OrdinaryBatches<'t>> {
                    let (metadata, mask, _) = &*shared;
                    let pages = FilePages::open(&self.input, bytes_read)?;
                    let mut reader =
                        ParquetRecordBatchReaderBuilder::new_with_metadata(pages, metadata.clone())
                            .with_row_groups(groups.clone().collect())
                            .with_projection(mask.clone())
                            .with_batch_size(batch_rows);
                    if !whole {
                        let part = [RowSelector::skip(before as usize), RowSelector::select(rows as usize)];
                        reader = reader.with_row_selection(RowSelection::from(part.to_vec()));
                    }
                    let reader = reader.build().map_err(|error| decode_error(path, &groups, &error))?;
                    Ok(Box::new(reader.map(move |batch| {
                        let batch = batch.map_err(|error| decode_error(path, &groups, &error))?;
                        shared.2.shape(path, &batch)
                    })))
                })
            };
            let decode = Box::new(move || -> Result<Batches<'t>> {
                match group.map(|group| self.coded(group, &shared.2, bytes_read)).transpose()?.flatten() {
                    Some(columns) => {
                        Ok(Box::new(StoredCodes::new(path, columns, rows, coded_rows, ordinary)))
                    }
                    None => Ok(Box::new(ordinary()?.map(|batch| batch.map(Batch::from)))),
                }
            });
            Ok(Piece { rows, need, decode })
        })))
    }

    /// The requested columns of a row group as codes, if all of them may be.
    fn coded(
        &self,
        group: usize,
        plan: &FilePlan,
        bytes_read: &Arc<AtomicU64>,
    ) -> Result<Option<Vec<NamedColumn>>> {
        let Some(requests) = plan.coded() else { return Ok(None) };
        let (schema, rows) = (self.metadata.parquet_schema(), self.group_rows[group]);
        let mut columns = Vec::with_capacity(requests.len());
        for request in requests {
            let leaf =
                (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == request.index);
            let Some(leaf) = leaf else { return Ok(None) };
            let file = FilePages::open(&self.input, bytes_read)?;
            let chunk = self.metadata.metadata().row_group(group).column(leaf);
            let stored = self.metadata.schema().field(request.index).data_type();
            let Some(column) = CodedColumn::open(file, chunk, rows, (stored, request.kind), request.form)
            else {
                return Ok(None);
            };
            columns.push((request.name.into(), column));
        }
        Ok(Some(columns))
    }

    /// What decoding any piece takes.
    pub fn largest_need(&self, plan: &FilePlan, bytes_read: &Arc<AtomicU64>) -> Result<Need> {
        let demands = self.demands(plan, bytes_read)?;
        Ok(demands.into_iter().fold(Need::default(), |most, own| most.or_larger(own.need)))
    }

    /// What decoding each row group takes.
    fn demands(&self, plan: &FilePlan, bytes_read: &Arc<AtomicU64>) -> Result<Vec<Demand>> {
        let schema = self.metadata.parquet_schema();
        let mut known = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut demands = Vec::with_capacity(self.group_rows.len());
        for (number, group) in self.metadata.metadata().row_groups().iter().enumerate() {
            let rows = self.group_rows[number];
            let mut demand = Demand { need: Need::of(COPIES * BATCH_BYTES as u64), row_bytes: 0 };
            let mut most = 0;
            for leaf in 0..schema.num_columns() {
                let root = schema.get_column_root_idx(leaf);
                let Ok(place) = plan.wanted.binary_search_by_key(&root, |wanted| wanted.index) else {
                    continue;
                };
                let chunk = group.column(leaf);
                let sizes = match known.get(&(number, leaf)) {
                    Some(sizes) => *sizes,
                    None => {
                        let sizes = PageSizes::of(FilePages::open(&self.input, bytes_read)?, chunk, rows);
                        known.insert((number, leaf), sizes);
                        sizes
                    }
                };
                let bytes = sizes.decoding_bytes(chunk);
                if bytes > most {
                    most = bytes;
                    demand.need.column = Some(schema.get_column_root(leaf).name().to_string());
                }
                demand.need.bytes = demand.need.bytes.saturating_add(bytes);
                let row_bytes = sizes.row_bytes(chunk, plan.wanted[place].strings, rows);
                demand.row_bytes = demand.row_bytes.saturating_add(row_bytes);
            }
            demands.push(demand);
        }
        Ok(demands)
    }

    /// The row groups of the file in pieces of at most about `morsel_rows` rows.
    fn cut(&self, morsel_rows: u64) -> impl Iterator<Item = PieceRows> + use<'_> {
        self.joined_groups().flat_map(move |groups| {
            let all: u64 = self.group_rows[groups.clone()].iter().sum();
            let parts = if groups.len() == 1 { all.div_ceil(morsel_rows).max(1) } else { 1 };
            let step = all.div_ceil(parts).max(1);
            (0..parts).map(move |part| {
                let before = (part * step).min(all);
                PieceRows { groups: groups.clone(), before, rows: step.min(all - before) }
            })
        })
    }

    fn joined_groups(&self) -> impl Iterator<Item = Range<usize>> + use<'_> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let first = next;
            let mut rows = 0;
            while next < self.group_rows.len()
                && (next == first || rows + self.group_rows[next] <= PIECE_ROWS)
            {
                rows += self.group_rows[next];
                next += 1;
            }
            (first < next).then_some(first..next)
        })
    }

    /// The metadata with the requested strings declared as dictionaries, where the reader supports this.
    fn with_packed_strings(&self, plan: &FilePlan) -> ArrowReaderMetadata {
        let schema = self.metadata.schema();
        let mut fields: Vec<Arc<Field>> = schema.fields().iter().cloned().collect();
        for wanted in plan.wanted.iter().filter(|w| w.strings == StringForm::Packed) {
            let field = &fields[wanted.index];
            if let Some(packed) = packed(field.data_type()) {
                fields[wanted.index] = Arc::new(field.as_ref().clone().with_data_type(packed));
            }
        }
        let hint = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        if hint == *schema {
            return self.metadata.clone();
        }
        let options = ArrowReaderOptions::new().with_schema(hint);
        ArrowReaderMetadata::try_new(self.metadata.metadata().clone(), options)
            .unwrap_or_else(|_| self.metadata.clone())
    }
}

/// What decoding a row group takes.
struct Demand {
    need: Need,
    /// Bytes of a row of a batch.
    row_bytes: u64,
}

/// The type with its strings as dictionaries, or `None` if it contains no strings.
fn packed(data_type: &DataType) -> Option<DataType> {
    let packed_item = |item: &Field| Some(Arc::new(item.clone().with_data_type(packed(item.data_type())?)));
    match data_type {
        string if is_string(string) => Some(text_type()),
        DataType::List(item) => packed_item(item).map(DataType::List),
        DataType::LargeList(item) => packed_item(item).map(DataType::LargeList),
        _ => None,
    }
}

/// Reports why the footer cannot be read: the operating system, or the file.
fn footer_error(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => Error::io(path, *source),
            Err(other) => damaged(path, other.to_string()),
        },
        other => damaged(path, other.to_string()),
    }
}

/// Reports where decoding failed; includes the decoder's own message only where it cannot quote a cell.
fn decode_error(path: &Path, groups: &Range<usize>, error: &dyn std::error::Error) -> Error {
    let place = if groups.len() == 1 {
        format!("row group {}", groups.start)
    } else {
        format!("row groups {} to {}", groups.start, groups.end.saturating_sub(1))
    };
    // The reader flattens its errors to text. Those of the system end in a number; of the others, only unsupported
    // features are worth distinguishing.
    let text = error.to_string();
    let number = text.split_once("(os error ").and_then(|(_, rest)| rest.split(')').next()?.parse().ok());
    if let Some(number) = number {
        return Error::io(path, std::io::Error::from_raw_os_error(number));
    }
    match text.split_once("NYI: ") {
        Some((_, feature)) => damaged(path, format!("{place} needs what is not supported: {feature}")),
        None => damaged(path, format!("{place} cannot be decoded")),
    }
}

/// Headers of pages are read this many bytes at a time, which most of them are shorter than.
const HEADER_BYTES: usize = 512;

/// The bytes of a Parquet file. Counts what is read, and rejects lengths that exceed the file before memory is reserved
/// for them.
pub(super) struct FilePages {
    file: InputBytes,
    length: u64,
    bytes_read: Arc<AtomicU64>,
}

impl FilePages {
    fn open(input: &InputFile, bytes_read: &Arc<AtomicU64>) -> Result<Self> {
        let file = input.open()?;
        let length = file.length(input.path())?;
        Ok(FilePages { file, length, bytes_read: bytes_read.clone() })
    }
}

impl Length for FilePages {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for FilePages {
    type T = BufReader<InputBytes>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(BufReader::with_capacity(HEADER_BYTES, self.file.at(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF("a page reaches beyond the end of the file".into()));
        }
        self.bytes_read.fetch_add(length as u64, Ordering::Relaxed);
        let mut bytes = vec![0; length];
        self.file.at(start)?.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use arrow_array::cast::AsArray;
    use arrow_array::{ArrayRef, RecordBatch, StringArray};
    use arrow_cast::cast;
    use parquet::arrow::ArrowWriter;

    use super::*;
    use crate::table::read::plan::{ColumnRequest, ScanRequest};
    use crate::table::read::room::DecodeRoom;

    #[test]
    fn the_reader_agrees_to_pack_strings() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("t.parquet");
        let words: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "a"]));
        let list = |item| DataType::new_list(item, true);
        for stored in [
            DataType::Utf8,
            DataType::LargeUtf8,
            DataType::Utf8View,
            DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)),
            list(DataType::Utf8),
            list(DataType::LargeUtf8),
        ] {
            let batch = RecordBatch::try_from_iter([("x", cast(&words, &stored).unwrap())]).unwrap();
            let mut writer =
                ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
            let counter = Arc::default();
            let input = InputFile::new(&path, &path.metadata().unwrap());
            let file = ParquetFile::open(input, &counter).unwrap();
            let plan = ScanRequest::new(file.schema(), &[ColumnRequest::canonical("x")]).unwrap();
            let plan = plan.plan(&path, file.schema(), &[]).unwrap();
            let packed = file.with_packed_strings(&plan);
            let field = packed.schema().field(0);
            let item = match field.data_type() {
                DataType::List(item) => item.data_type(),
                scalar => scalar,
            };
            assert_eq!(*item, text_type(), "{stored}");
            // Three rows of two words: the words are stored once.
            let room = DecodeRoom::new(None);
            let cutting = Cutting { batch_rows: 10, morsel_rows: u64::MAX, room: &room };
            let pieces = file.pieces(plan, cutting, &counter).unwrap().next().unwrap().unwrap();
            let batch = (pieces.decode)().unwrap().next().unwrap().unwrap().rows;
            let column = batch.column(0).as_list_opt::<i32>().map_or(batch.column(0), |list| list.values());
            assert_eq!(column.as_any_dictionary().values().len(), 2, "{stored}");
        }
    }
}
