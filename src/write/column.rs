//! Which encoder does a column of a Parquet row group take?
//!
//! Memory: the encoded pages of one column chunk.

use std::fs::File;

use arrow::array::ArrayRef;
use arrow::datatypes::{FieldRef, Schema};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};

/// Encodes one column of one row group.
pub(super) enum ColumnEncoder {
    /// By the parquet crate, value after value; a nested column has several leaves.
    Values { field: FieldRef, leaves: Vec<ArrowColumnWriter> },
}

/// An encoded column of a row group.
pub(super) enum ColumnChunk {
    Values(Vec<ArrowColumnChunk>),
}

impl ColumnEncoder {
    /// The encoders of a new row group, one per column of the table.
    pub fn for_row_group(
        schema: &Schema,
        writer: &SerializedFileWriter<File>,
        factory: &ArrowRowGroupWriterFactory,
        row_group: usize,
    ) -> Result<Vec<ColumnEncoder>, ParquetError> {
        let mut leaves: Vec<Vec<ArrowColumnWriter>> = schema.fields().iter().map(|_| Vec::new()).collect();
        for (leaf, leaf_writer) in factory.create_column_writers(row_group)?.into_iter().enumerate() {
            leaves[writer.schema_descr().get_column_root_idx(leaf)].push(leaf_writer);
        }
        let columns = schema.fields().iter().zip(leaves);
        Ok(columns.map(|(field, leaves)| ColumnEncoder::Values { field: field.clone(), leaves }).collect())
    }

    pub fn encode(&mut self, array: &ArrayRef) -> Result<(), ParquetError> {
        match self {
            ColumnEncoder::Values { field, leaves } => {
                for (leaf, writer) in compute_leaves(field, array)?.iter().zip(leaves) {
                    writer.write(leaf)?;
                }
                Ok(())
            }
        }
    }

    pub fn close(self) -> Result<ColumnChunk, ParquetError> {
        match self {
            ColumnEncoder::Values { leaves, .. } => Ok(ColumnChunk::Values(
                leaves.into_iter().map(ArrowColumnWriter::close).collect::<Result<_, _>>()?,
            )),
        }
    }
}

impl ColumnChunk {
    /// Appends the chunk to the file; call in the order of the columns.
    pub fn append_to(self, row_group: &mut SerializedRowGroupWriter<'_, File>) -> Result<(), ParquetError> {
        match self {
            ColumnChunk::Values(leaves) => {
                leaves.into_iter().try_for_each(|leaf| leaf.append_to_row_group(row_group))
            }
        }
    }
}
