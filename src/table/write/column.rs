//! Which encoder does a column of a Parquet row group use?
//!
//! Memory: the encoded pages of one column chunk.

use arrow_array::ArrayRef;
use arrow_schema::{FieldRef, Schema};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};

use super::runs::{RunChunk, RunEncoder};
use super::writer::StoredStatistics;
use crate::resources::disk::DiskFile;

/// Encodes one column of one row group.
pub(super) enum ColumnEncoder {
    /// By the parquet crate, value by value; a nested column has several leaves.
    Values { field: FieldRef, leaves: Vec<ArrowColumnWriter> },
    /// By this crate, run by run.
    Runs(Box<RunEncoder>),
}

/// An encoded column of a row group.
pub(super) enum ColumnChunk {
    Values(Vec<ArrowColumnChunk>),
    Runs(Box<RunChunk>),
}

impl ColumnEncoder {
    /// The encoders of a new row group, one per column of the table. Only the parquet crate can write page statistics,
    /// so requesting them forces its slower encoder.
    pub fn for_row_group(
        schema: &Schema,
        writer: &SerializedFileWriter<DiskFile>,
        factory: &ArrowRowGroupWriterFactory,
        row_group: usize,
        statistics: StoredStatistics,
    ) -> Result<Vec<ColumnEncoder>, ParquetError> {
        let descr = writer.schema_descr();
        let empty = |field: &FieldRef| ColumnEncoder::Values { field: field.clone(), leaves: Vec::new() };
        let mut columns: Vec<ColumnEncoder> = schema.fields().iter().map(empty).collect();
        for (leaf, leaf_writer) in factory.create_column_writers(row_group)?.into_iter().enumerate() {
            let column = &mut columns[descr.get_column_root_idx(leaf)];
            if let ColumnEncoder::Values { field, leaves } = column {
                if statistics != StoredStatistics::Page && RunEncoder::takes(field.data_type()) {
                    *column = ColumnEncoder::Runs(Box::new(RunEncoder::new(descr.column(leaf), statistics)));
                } else {
                    leaves.push(leaf_writer);
                }
            }
        }
        Ok(columns)
    }

    pub fn encode(&mut self, array: &ArrayRef) -> Result<(), ParquetError> {
        match self {
            ColumnEncoder::Values { field, leaves } => {
                for (leaf, writer) in compute_leaves(field, array)?.iter().zip(leaves) {
                    writer.write(leaf)?;
                }
                Ok(())
            }
            ColumnEncoder::Runs(runs) => runs.encode(array),
        }
    }

    pub fn close(self) -> Result<ColumnChunk, ParquetError> {
        match self {
            ColumnEncoder::Values { leaves, .. } => Ok(ColumnChunk::Values(
                leaves.into_iter().map(ArrowColumnWriter::close).collect::<Result<_, _>>()?,
            )),
            ColumnEncoder::Runs(runs) => Ok(ColumnChunk::Runs(Box::new(runs.close()?))),
        }
    }
}

impl ColumnChunk {
    /// Appends the chunk to the file; call in the order of the columns.
    pub fn append_to(
        self,
        row_group: &mut SerializedRowGroupWriter<'_, DiskFile>,
    ) -> Result<(), ParquetError> {
        match self {
            ColumnChunk::Values(leaves) => {
                leaves.into_iter().try_for_each(|leaf| leaf.append_to_row_group(row_group))
            }
            ColumnChunk::Runs(runs) => runs.append_to(row_group),
        }
    }
}
