//! How are the files of a release written while the groups are still being formed?
//!
//! Where a file ends depends on the sizes of the groups alone, so that files do not show how groups were found.
//! Memory: [`AHEAD`] waiting batches and what the writer holds.

use super::tables::write_types;
use crate::error::{Error, Result};
use crate::resources::disk;
use crate::resources::threads::start;
use crate::table::write::{OutputFormat, TableWriter, WriteOptions};
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use crossbeam_channel::{Receiver, Sender};
use std::path::Path;
use std::thread::JoinHandle;

/// Batches that may wait for the writer.
const AHEAD: usize = 2;

/// A table of a release that is written on its own thread, in files that end between groups.
pub struct PartWriter {
    steps: Option<Sender<WriteStep>>,
    writer: Option<JoinHandle<Result<()>>>,
    borders: FileBorders,
}

/// Where files end: at the first border between groups after every so many people.
#[derive(Debug)]
pub struct FileBorders {
    file_people: u64,
    /// How many times `file_people` people came before the current file.
    file: u64,
}

impl FileBorders {
    /// No group yet.
    pub fn new(file_people: u64) -> Self {
        FileBorders { file_people: file_people.max(1), file: 0 }
    }

    /// Whether a new file begins with the group that comes after so many people.
    pub fn begins_file(&mut self, people_before: u64) -> bool {
        let file = people_before / self.file_people;
        std::mem::replace(&mut self.file, file) != file
    }
}

/// The name of a file of a table.
pub fn part_name(number: u64, format: OutputFormat) -> String {
    format!("part-{number:05}.{}", format.name())
}

/// Creates the folder of a table with these columns.
pub fn create_folder(folder: &Path, schema: &Schema, format: OutputFormat) -> Result<()> {
    disk::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
    if format.is_text() { write_types(folder, schema) } else { Ok(()) }
}

enum WriteStep {
    Rows(RecordBatch),
    NextFile,
}

/// How the files of a table are written.
#[derive(Debug, Clone)]
pub struct PartOptions {
    /// How each file is written.
    pub write: WriteOptions,
    /// The format of all of them.
    pub format: OutputFormat,
    /// A file ends at the first border between groups after every so many people, at least 1.
    pub file_people: u64,
}

impl PartWriter {
    /// Writes `folder/part-00000.parquet`, or with the extension of another format, and those that follow; creates the
    /// folder.
    pub fn create(folder: &Path, schema: SchemaRef, options: PartOptions) -> Result<Self> {
        let PartOptions { write, format, file_people } = options;
        create_folder(folder, &schema, format)?;
        let folder = folder.to_path_buf();
        let file = move |number: u64| {
            TableWriter::create(folder.join(part_name(number, format)), schema.clone(), &write)
        };
        let mut table = file(0)?;
        let (sender, receiver): (Sender<WriteStep>, Receiver<WriteStep>) = crossbeam_channel::bounded(AHEAD);
        let writer = start(move || {
            let mut number = 0;
            for step in receiver {
                match step {
                    WriteStep::Rows(batch) => table.write(&batch)?,
                    WriteStep::NextFile => {
                        table.finish()?;
                        number += 1;
                        table = file(number)?;
                    }
                }
            }
            table.finish().map(drop)
        })?;
        Ok(PartWriter { steps: Some(sender), writer: Some(writer), borders: FileBorders::new(file_people) })
    }

    /// Called before the rows of each group, with the number of people in all groups before it. Begins a new file where
    /// one has ended; `pending` gives the rows of earlier groups that were not passed on yet.
    pub fn begin_group(
        &mut self,
        people_before: u64,
        pending: impl FnOnce() -> Result<RecordBatch>,
    ) -> Result<()> {
        if !self.borders.begins_file(people_before) {
            return Ok(());
        }
        self.write(pending()?)?;
        self.send(WriteStep::NextFile)
    }

    /// Passes a batch to the writer.
    pub fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.send(WriteStep::Rows(batch))
    }

    fn send(&mut self, step: WriteStep) -> Result<()> {
        let taken = self.steps.as_ref().is_some_and(|steps| steps.send(step).is_ok());
        if taken { Ok(()) } else { self.join() }
    }

    /// Waits until everything is written.
    pub fn finish(mut self) -> Result<()> {
        self.join()
    }

    fn join(&mut self) -> Result<()> {
        self.steps = None;
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
