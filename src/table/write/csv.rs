//! Writing CSV.
//!
//! Memory: the text of one slab. Threads format parts of a slab; the parts are written in order.

use std::io::Write;
use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::SchemaRef;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::slab::Slab;
use super::writer::SinkError;
use crate::resources::disk::DiskFile;

pub(super) struct CsvSink {
    columns: usize,
    file: DiskFile,
    pool: ThreadPool,
}

impl CsvSink {
    pub fn new(mut file: DiskFile, schema: SchemaRef, pool: ThreadPool) -> Result<Self, SinkError> {
        let fields = schema.fields();
        if let Some(field) = fields.iter().find(|field| field.data_type().is_nested()) {
            let problem = format!("column {} is of type {}", field.name(), field.data_type());
            return Err(SinkError::Unwritable(problem));
        }
        let mut header = csv::Writer::from_writer(Vec::new());
        header.write_record(fields.iter().map(|field| field.name()))?;
        file.write_all(&written(header)?)?;
        Ok(CsvSink { columns: fields.len(), file, pool })
    }

    pub fn encode(&mut self, slab: &Slab) -> Result<(), SinkError> {
        let columns = (0..self.columns).map(|i| slab.column(i)).collect::<Result<Vec<_>, _>>()?;
        let part_rows = slab.rows.div_ceil(self.pool.current_num_threads());
        let starts: Vec<usize> = (0..slab.rows).step_by(part_rows).collect();
        let parts: Vec<Vec<u8>> = self.pool.install(|| {
            let text = |&start: &usize| lines(&columns, start..(start + part_rows).min(slab.rows));
            starts.par_iter().map(text).collect::<Result<_, _>>()
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

/// Formats some rows as text; null is an empty cell.
fn lines(columns: &[ArrayRef], rows: Range<usize>) -> Result<Vec<u8>, SinkError> {
    let options = FormatOptions::default().with_null("");
    let cells: Vec<ArrayFormatter<'_>> =
        columns.iter().map(|column| ArrayFormatter::try_new(column, &options)).collect::<Result<_, _>>()?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut text = String::new();
    for row in rows {
        for cell in &cells {
            text.clear();
            cell.value(row).write(&mut text)?;
            writer.write_field(&text)?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    written(writer)
}

fn written(writer: csv::Writer<Vec<u8>>) -> Result<Vec<u8>, SinkError> {
    writer.into_inner().map_err(|error| SinkError::Io(error.into_error()))
}
