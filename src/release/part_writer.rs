//! How are the files of a release written while the groups are still being formed?
//!
//! Memory: [`AHEAD`] waiting batches and what the writer holds.

use super::tables::write_types;
use crate::error::{Error, Result};
use crate::resources::disk;
use crate::resources::threads::start;
use crate::table::write::{OutputFormat, TableWriter, WriteOptions};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use crossbeam_channel::{Receiver, Sender};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Batches that may wait for the writer.
const AHEAD: usize = 2;

/// A table of a release that is written on its own thread.
pub struct PartWriter {
    batches: Option<Sender<RecordBatch>>,
    writer: Option<JoinHandle<Result<PathBuf>>>,
}

/// How the files of a table are written.
#[derive(Debug, Clone)]
pub struct PartOptions {
    /// How each file is written.
    pub write: WriteOptions,
    /// The format of all of them.
    pub format: OutputFormat,
}

impl PartWriter {
    /// Writes `folder/part-00000.parquet`, or with the extension of another format, creating the folder.
    pub fn create(folder: &Path, schema: SchemaRef, options: PartOptions) -> Result<Self> {
        let PartOptions { write, format } = options;
        disk::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
        if format.is_text() {
            write_types(folder, &schema)?;
        }
        let path = folder.join(format!("part-00000.{}", format.name()));
        let mut table = TableWriter::create(&path, schema, &write)?;
        let (sender, receiver): (Sender<RecordBatch>, Receiver<RecordBatch>) =
            crossbeam_channel::bounded(AHEAD);
        let writer = start(move || {
            for batch in receiver {
                table.write(&batch)?;
            }
            table.finish()?;
            Ok(path)
        })?;
        Ok(PartWriter { batches: Some(sender), writer: Some(writer) })
    }

    /// Passes a batch to the writer.
    pub fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let taken = self.batches.as_ref().is_some_and(|batches| batches.send(batch).is_ok());
        if taken { Ok(()) } else { self.join().map(|_| ()) }
    }

    /// Waits until everything is written; returns the file.
    pub fn finish(mut self) -> Result<PathBuf> {
        self.join()
    }

    fn join(&mut self) -> Result<PathBuf> {
        self.batches = None;
        match self.writer.take().map(JoinHandle::join) {
            Some(Ok(written)) => written,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(Error::input("the release is closed already", "run again")),
        }
    }
}

impl Drop for PartWriter {
    fn drop(&mut self) {
        if self.writer.is_some() {
            let _ = self.join();
        }
    }
}
