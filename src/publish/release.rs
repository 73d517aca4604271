//! How do groups become the files of a release?
//!
//! A group is its label, its sensitive values and their counts; where nothing else is kept, its rows are written
//! from these, sorted by sensitive value, so that the order of the input leaves no trace.
//!
//! Memory: one batch of rows being built, [`AHEAD`] batches waiting and what the writer holds.

use super::label::Labels;
use crate::encode::keys::keys_array;
use crate::encode::sensitive::{SensitiveCoding, SensitiveValues};
use crate::error::{Error, Result};
use crate::plan::subtree::Group;
use crate::policy::Ranges;
use crate::read::Kind;
use crate::write::{TableWriter, WriteOptions};
use arrow::array::{ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};
use crossbeam_channel::{Receiver, Sender};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Rows of a batch that is handed to the writer.
const BATCH_ROWS: usize = 1 << 16;

/// Batches that may wait for the writer.
const AHEAD: usize = 2;

/// The name of the column that numbers the groups.
pub const GROUP: &str = "group";

/// A table of a release that is being written on a thread of its own.
pub struct PartWriter {
    batches: Option<Sender<RecordBatch>>,
    writer: Option<JoinHandle<Result<PathBuf>>>,
}

impl PartWriter {
    /// Writes `folder/part-00000.parquet`, making the folder.
    pub fn create(folder: &Path, schema: SchemaRef, options: WriteOptions) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
        let path = folder.join("part-00000.parquet");
        let mut table = TableWriter::create(&path, schema, &options)?;
        let (sender, receiver): (Sender<RecordBatch>, Receiver<RecordBatch>) =
            crossbeam_channel::bounded(AHEAD);
        let writer = std::thread::spawn(move || {
            for batch in receiver {
                table.write(&batch)?;
            }
            table.finish()?;
            Ok(path)
        });
        Ok(PartWriter { batches: Some(sender), writer: Some(writer) })
    }

    /// Hands a batch to the writer.
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

/// Turns groups into rows.
pub struct GroupRows<'a> {
    labels: Vec<(String, Labels<'a>)>,
    ranges: Ranges,
    sensitive: &'a SensitiveCoding,
    dictionary: ArrayRef,
    schema: SchemaRef,
    pending: Pending,
}

/// One end of a range per row; `None` is open.
type Ends = Vec<Option<i64>>;

/// Rows of a batch that is not yet full.
#[derive(Default)]
struct Pending {
    groups: Vec<i64>,
    /// Per quasi-identifier: the labels of the batch, and one index per row.
    labels: Vec<(Vec<String>, Vec<i32>)>,
    /// Per quasi-identifier: where the label of each row begins and ends.
    bounds: Vec<(Ends, Ends)>,
    values: Vec<i32>,
}

impl<'a> GroupRows<'a> {
    /// For these quasi-identifiers, in their order.
    pub fn new(labels: Vec<(String, Labels<'a>)>, ranges: Ranges, sensitive: &'a SensitiveCoding) -> Self {
        let mut fields = vec![Field::new(GROUP, DataType::Int64, false)];
        for (name, labels) in &labels {
            match labels.kind().filter(|_| ranges == Ranges::Bounds) {
                Some(kind) => {
                    fields.push(Field::new(format!("{name}_from"), kind.data_type(), true));
                    fields.push(Field::new(format!("{name}_to"), kind.data_type(), true));
                }
                None => fields.push(Field::new(name, text_type(), false)),
            }
        }
        fields.push(Field::new(&sensitive.name, sensitive.kind.data_type(), false));
        let dictionary: ArrayRef = match &sensitive.values {
            SensitiveValues::Texts(texts) => {
                Arc::new(StringArray::from_iter_values(texts.iter().map(|text| &**text)))
            }
            SensitiveValues::Numbers(_, keys) => {
                let keys: Vec<Option<i64>> = keys.iter().map(|&key| Some(key)).collect();
                keys_array(&sensitive.kind, &keys)
            }
        };
        let schema = Arc::new(Schema::new(fields));
        let pending = Pending::new(labels.len());
        GroupRows { labels, ranges, sensitive, dictionary, schema, pending }
    }

    /// The columns of the table.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds the rows of a group; full batches go to `write`.
    pub fn push(
        &mut self,
        number: u64,
        group: &Group,
        mut write: impl FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let texts: Vec<String> = self
            .labels
            .iter()
            .zip(group.extent.iter().zip(&group.present))
            .map(|((_, labels), (extent, present))| labels.label(extent, present))
            .collect();
        self.pending.begin_group(&texts);
        for (code, &count) in group.part.counts.iter().enumerate() {
            let mut left = count as usize;
            while left > 0 {
                let rows = left.min(BATCH_ROWS - self.pending.groups.len());
                self.pending.push_rows(number as i64, code as i32, rows);
                if self.ranges == Ranges::Bounds {
                    for (i, (_, labels)) in self.labels.iter().enumerate() {
                        let bounds = labels.bounds(&group.extent[i], &group.present[i]);
                        let (from, to) = &mut self.pending.bounds[i];
                        from.extend(std::iter::repeat_n(bounds.from, rows));
                        to.extend(std::iter::repeat_n(bounds.to, rows));
                    }
                }
                left -= rows;
                if self.pending.groups.len() == BATCH_ROWS {
                    write(self.take()?)?;
                    self.pending.begin_group(&texts);
                }
            }
        }
        Ok(())
    }

    /// The rows that did not fill a batch.
    pub fn finish(mut self) -> Result<RecordBatch> {
        self.take()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        let pending = std::mem::replace(&mut self.pending, Pending::new(self.labels.len()));
        let mut columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(pending.groups))];
        for (((_, labels), (texts, keys)), (from, to)) in
            self.labels.iter().zip(pending.labels).zip(pending.bounds)
        {
            match labels.kind().filter(|_| self.ranges == Ranges::Bounds) {
                Some(kind) => columns.extend([keys_array(&kind, &from), keys_array(&kind, &to)]),
                None => columns.push(dictionary_array(keys, Arc::new(StringArray::from(texts)))),
            }
        }
        let values = Int32Array::from(pending.values);
        columns.push(match self.sensitive.kind {
            Kind::Text => dictionary_array(values.values().to_vec(), self.dictionary.clone()),
            _ => arrow::compute::take(&self.dictionary, &values, None).map_err(|_| internal())?,
        });
        RecordBatch::try_new(self.schema.clone(), columns).map_err(|_| internal())
    }
}

fn internal() -> Error {
    Error::input("the rows of a release do not fit its columns", "this is a defect; please report it")
}

fn dictionary_array(keys: Vec<i32>, values: ArrayRef) -> ArrayRef {
    let keys = Int32Array::from(keys);
    Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values).expect("keys are places in the dictionary"))
}

fn text_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

impl Pending {
    fn new(columns: usize) -> Self {
        Pending {
            labels: vec![Default::default(); columns],
            bounds: vec![Default::default(); columns],
            ..Default::default()
        }
    }

    /// From here on rows have these labels; a label that did not change is not repeated.
    fn begin_group(&mut self, texts: &[String]) {
        for ((labels, _), text) in self.labels.iter_mut().zip(texts) {
            if labels.last() != Some(text) {
                labels.push(text.clone());
            }
        }
    }

    fn push_rows(&mut self, group: i64, value: i32, rows: usize) {
        self.groups.extend(std::iter::repeat_n(group, rows));
        self.values.extend(std::iter::repeat_n(value, rows));
        for (labels, keys) in &mut self.labels {
            keys.extend(std::iter::repeat_n(labels.len() as i32 - 1, rows));
        }
    }
}
