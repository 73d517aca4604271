//! Writing Arrow IPC files.
//!
//! Memory: one slab, plain and encoded. Every slab is a record batch of the file. Dictionaries are written as plain
//! values and the bytes under nulls are cleared: neither the layout of a dictionary nor the bytes under a null are part
//! of the rows, so they must not reach the file.

use std::io::BufWriter;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_cast::cast;
use arrow_data::transform::MutableArrayData;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::ArrowError;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::slab::Slab;
use super::writer::{Compression, SinkError, WriteOptions};
use crate::resources::disk::DiskFile;

pub(super) struct IpcSink {
    schema: SchemaRef,
    writer: FileWriter<BufWriter<DiskFile>>,
}

impl IpcSink {
    pub fn new(file: DiskFile, schema: &Schema, options: &WriteOptions) -> Result<Self, SinkError> {
        let fields = schema.fields().iter().map(|field| match field.data_type() {
            DataType::Dictionary(_, value) => {
                Arc::new(Field::new(field.name(), value.as_ref().clone(), field.is_nullable()))
            }
            _ => field.clone(),
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let compression = match options.compression {
            Compression::None => None,
            Compression::Fast => Some(CompressionType::LZ4_FRAME),
            Compression::Small => Some(CompressionType::ZSTD),
        };
        let ipc = IpcWriteOptions::default().try_with_compression(compression)?;
        let writer = FileWriter::try_new_with_options(BufWriter::new(file), &schema, ipc)?;
        Ok(IpcSink { schema, writer })
    }

    pub fn encode(&mut self, slab: &Slab) -> Result<(), SinkError> {
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for (index, field) in self.schema.fields().iter().enumerate() {
            columns.push(canonical(&cast(&slab.column(index)?, field.data_type())?)?);
        }
        self.writer.write(&RecordBatch::try_new(self.schema.clone(), columns)?)?;
        Ok(())
    }

    pub fn finish(mut self) -> Result<(), SinkError> {
        self.writer.finish()?;
        Ok(())
    }
}

/// The same values in new buffers, with nothing under the nulls and no bits after the last row.
fn canonical(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let data = array.to_data();
    let mut copy = MutableArrayData::new(vec![&data], array.null_count() > 0, array.len());
    let mut row = 0;
    while row < array.len() {
        let null = array.is_null(row);
        let start = row;
        while row < array.len() && array.is_null(row) == null {
            row += 1;
        }
        if null {
            copy.try_extend_nulls(row - start)?;
        } else {
            copy.try_extend(0, start, row)?;
        }
    }
    Ok(make_array(copy.freeze()))
}
