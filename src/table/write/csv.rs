//! How do rows become lines of text?
//!
//! Memory: the text of one slab. Threads format parts of a slab; the parts are written in order.

use std::fs::File;
use std::io::Write;

use arrow::array::RecordBatch;
use arrow::csv::WriterBuilder;
use arrow::datatypes::SchemaRef;
use rayon::prelude::*;

use super::parquet::pool;
use super::slab::Slab;
use super::table::{SinkError, WriteOptions};

pub(super) struct CsvSink {
    schema: SchemaRef,
    file: File,
    pool: rayon::ThreadPool,
}

impl CsvSink {
    pub fn new(mut file: File, schema: SchemaRef, options: &WriteOptions) -> Result<Self, SinkError> {
        for field in schema.fields() {
            if field.data_type().is_nested() {
                return Err(SinkError::Unwritable(format!(
                    "column {} is of type {}",
                    field.name(),
                    field.data_type()
                )));
            }
        }
        let mut header = Vec::new();
        WriterBuilder::new()
            .with_header(true)
            .build(&mut header)
            .write(&RecordBatch::new_empty(schema.clone()))?;
        file.write_all(&header)?;
        Ok(CsvSink { schema, file, pool: pool(options)? })
    }

    pub fn encode(&mut self, slab: &Slab) -> Result<(), SinkError> {
        let columns =
            (0..self.schema.fields().len()).map(|i| slab.column(i)).collect::<Result<Vec<_>, _>>()?;
        let batch = RecordBatch::try_new(self.schema.clone(), columns)?;
        let part_rows = slab.rows.div_ceil(self.pool.current_num_threads());
        let starts: Vec<usize> = (0..slab.rows).step_by(part_rows).collect();
        let parts: Vec<Vec<u8>> = self.pool.install(|| {
            starts
                .par_iter()
                .map(|&start| {
                    let mut text = Vec::new();
                    WriterBuilder::new()
                        .with_header(false)
                        .build(&mut text)
                        .write(&batch.slice(start, part_rows.min(slab.rows - start)))?;
                    Ok::<_, SinkError>(text)
                })
                .collect::<Result<_, _>>()
        })?;
        for part in parts {
            self.file.write_all(&part)?;
        }
        Ok(())
    }

    pub fn finish(self) -> Result<(), SinkError> {
        Ok(())
    }
}
