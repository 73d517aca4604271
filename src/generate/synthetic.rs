//! Generates a synthetic table in parallel and writes it in order.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::SchemaRef;

use super::census::Country;
use super::{agrawal, groups};
use crate::error::{Error, Result};
use crate::resources::threads::start_in;
use crate::table::write::{TableWriter, WriteOptions, WrittenFile};

/// Number of rows that a thread generates at a time.
pub const CHUNK_ROWS: u64 = 1 << 16;

/// Chunks that may wait for the writer, per thread.
const CHUNKS_WAITING: usize = 2;

/// The synthetic tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generator {
    /// Nine attributes of people with salaries and houses, after Agrawal, Imielinski and Swami.
    Agrawal,
    /// Groups of 100 people with one of 20 values each, clustered.
    Groups,
    /// People of an invented country: age, sex, place, education, work, and a diagnosis.
    Census,
}

/// A synthetic table, given by its generator, its size and its seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyntheticTable {
    /// What the rows are about.
    pub generator: Generator,
    /// Number of rows; a longer table with the same seed begins with the same rows.
    pub rows: u64,
    /// Selects one table of this generator.
    pub seed: u64,
}

impl SyntheticTable {
    /// The columns of the table.
    pub fn schema(&self) -> SchemaRef {
        Arc::new(match self.generator {
            Generator::Agrawal => agrawal::schema(),
            Generator::Groups => groups::schema(),
            Generator::Census => Country::schema(),
        })
    }

    /// The rows with these numbers, counted from 0; `rows` may be any part of the table.
    pub fn batch(&self, rows: Range<u64>) -> Result<RecordBatch> {
        self.make(&self.maker(), rows)
    }

    fn maker(&self) -> Maker {
        match self.generator {
            Generator::Agrawal => Maker::Agrawal,
            Generator::Groups => Maker::Groups(groups::values()),
            Generator::Census => Maker::Census(Box::new(Country::new())),
        }
    }

    fn make(&self, maker: &Maker, rows: Range<u64>) -> Result<RecordBatch> {
        if rows.start > rows.end || rows.end > self.rows {
            return Err(Error::input(
                format!("rows {} to {} are not all in a table of {} rows", rows.start, rows.end, self.rows),
                "ask for rows that the table has",
            ));
        }
        let columns = match maker {
            Maker::Agrawal => agrawal::columns(self.seed, rows),
            Maker::Groups(values) => groups::columns(values, self.seed, rows),
            Maker::Census(country) => country.columns(self.seed, rows),
        };
        Ok(RecordBatch::try_new(self.schema(), columns).expect("columns follow their schema"))
    }
}

/// Data that is computed once for all rows of a table.
enum Maker {
    Agrawal,
    Groups(ColumnLabels),
    Census(Box<Country>),
}

/// Generates `table` with `threads` threads and writes it to `path`, in the format of its extension; `progress` is
/// called with the number of rows written so far.
pub fn write(
    table: &SyntheticTable,
    path: &Path,
    threads: usize,
    progress: &mut dyn FnMut(u64),
) -> Result<WrittenFile> {
    let options = WriteOptions { threads, ..WriteOptions::default() };
    let mut writer = TableWriter::create(path, table.schema(), &options)?;
    let maker = table.maker();
    let chunks = table.rows.div_ceil(CHUNK_ROWS);
    std::thread::scope(|scope| -> Result<()> {
        // Thread t generates the chunks t, t + threads, ...; reading the threads in turn keeps the order.
        let mut made = Vec::with_capacity(threads);
        for first in 0..threads as u64 {
            let (sender, receiver) = crossbeam_channel::bounded(CHUNKS_WAITING);
            let maker = &maker;
            start_in(scope, move || {
                for chunk in (first..chunks).step_by(threads) {
                    let start = chunk * CHUNK_ROWS;
                    let batch = table.make(maker, start..(start + CHUNK_ROWS).min(table.rows));
                    // The writer has stopped and reports why.
                    if sender.send(batch).is_err() {
                        return;
                    }
                }
            })?;
            made.push(receiver);
        }
        let mut rows = 0;
        for chunk in 0..chunks {
            let batch = made[(chunk % threads as u64) as usize].recv().map_err(|_| {
                Error::input("a thread that makes rows stopped", "report this as a mistake of the program")
            })??;
            writer.write(&batch)?;
            rows += batch.num_rows() as u64;
            progress(rows);
        }
        Ok(())
    })?;
    writer.finish()
}

/// The texts of a column, numbered from 0 and shared by all its parts.
pub(super) struct ColumnLabels {
    texts: Arc<StringArray>,
}

impl ColumnLabels {
    pub fn new<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        ColumnLabels { texts: Arc::new(StringArray::from_iter_values(texts)) }
    }

    /// A column of these texts; every code is the number of a text.
    pub fn column(&self, codes: Vec<i32>) -> ArrayRef {
        Arc::new(DictionaryArray::new(Int32Array::from(codes), self.texts.clone()))
    }
}
