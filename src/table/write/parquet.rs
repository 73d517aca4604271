//! Writing Parquet.
//!
//! Memory: one slab of rows and the encoded pages of one row group. The columns of a slab are encoded in parallel; a
//! column chunk is encoded by one thread at a time. The file says which program wrote it, not from which source: no
//! metadata of a source, and no Arrow schema unless a type needs it.

use std::sync::Arc;

use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::arrow::arrow_writer::ArrowRowGroupWriterFactory;
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata, parquet_to_arrow_schema};
use parquet::basic::{Compression as Codec, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::SchemaDescriptor;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::column::{ColumnChunk, ColumnEncoder};
use super::slab::{Slab, SlabEnd};
use super::writer::{Compression, SinkError, StoredStatistics, WriteOptions};
use crate::resources::disk::DiskFile;

pub(super) struct ParquetSink {
    schema: SchemaRef,
    statistics: StoredStatistics,
    /// The encoders of the current row group, one per column of the table; empty between row groups.
    columns: Vec<ColumnEncoder>,
    row_groups: usize,
    factory: ArrowRowGroupWriterFactory,
    writer: SerializedFileWriter<DiskFile>,
    pool: ThreadPool,
}

impl ParquetSink {
    pub fn new(
        file: DiskFile,
        schema: SchemaRef,
        options: &WriteOptions,
        pool: ThreadPool,
    ) -> Result<Self, SinkError> {
        let parquet_schema = ArrowSchemaConverter::new().convert(&schema)?;
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("skyveil version ", env!("CARGO_PKG_VERSION")).to_string())
            .set_compression(match options.compression {
                Compression::None => Codec::UNCOMPRESSED,
                Compression::Fast => Codec::SNAPPY,
                Compression::Small => Codec::ZSTD(ZstdLevel::try_new(1)?),
            })
            .set_statistics_enabled(match options.statistics {
                StoredStatistics::None => EnabledStatistics::None,
                StoredStatistics::RowGroup => EnabledStatistics::Chunk,
                StoredStatistics::Page => EnabledStatistics::Page,
            })
            .set_offset_index_disabled(options.statistics != StoredStatistics::Page)
            // Row groups are cut here, by their rows and the bytes of these.
            .set_max_row_group_row_count(None)
            .build();
        if needs_arrow_schema(&schema, &parquet_schema)? {
            add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
        }
        let writer = SerializedFileWriter::new(file, parquet_schema.root_schema_ptr(), Arc::new(properties))?;
        let factory = ArrowRowGroupWriterFactory::new(&writer, schema.clone());
        Ok(ParquetSink {
            schema,
            statistics: options.statistics,
            columns: Vec::new(),
            row_groups: 0,
            factory,
            writer,
            pool,
        })
    }

    pub fn encode(&mut self, slab: &Slab) -> Result<(), SinkError> {
        if self.columns.is_empty() {
            self.columns = ColumnEncoder::for_row_group(
                &self.schema,
                &self.writer,
                &self.factory,
                self.row_groups,
                self.statistics,
            )?;
        }
        let ParquetSink { columns, pool, .. } = self;
        pool.install(|| {
            columns
                .par_iter_mut()
                .enumerate()
                .try_for_each(|(index, column)| column.encode(&slab.column(index)?).map_err(SinkError::from))
        })?;
        match slab.end {
            SlabEnd::Open => Ok(()),
            SlabEnd::RowGroup => self.finish_row_group(),
        }
    }

    pub fn finish(mut self) -> Result<(), SinkError> {
        if !self.columns.is_empty() {
            self.finish_row_group()?;
        }
        self.writer.close()?;
        Ok(())
    }

    fn finish_row_group(&mut self) -> Result<(), SinkError> {
        let columns = std::mem::take(&mut self.columns);
        let chunks: Vec<ColumnChunk> = self.pool.install(|| {
            columns.into_par_iter().map(ColumnEncoder::close).collect::<Result<_, ParquetError>>()
        })?;
        let mut row_group = self.writer.next_row_group()?;
        for chunk in chunks {
            chunk.append_to(&mut row_group)?;
        }
        row_group.close()?;
        self.row_groups += 1;
        Ok(())
    }
}

/// Whether a reader that sees only the Parquet schema would see different values; the in-memory encoding of strings is
/// not worth metadata.
fn needs_arrow_schema(schema: &Schema, parquet_schema: &SchemaDescriptor) -> Result<bool, ParquetError> {
    let seen = parquet_to_arrow_schema(parquet_schema, None)?;
    Ok(schema.fields().iter().zip(seen.fields()).any(|(ours, theirs)| {
        let (ours, theirs) = (plain(ours.data_type()), plain(theirs.data_type()));
        !ours.is_nested() && ours != theirs
    }))
}

fn plain(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, value) => plain(value),
        DataType::RunEndEncoded(_, value) => plain(value.data_type()),
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    }
}
