//! The parts of the library that the tests use; no other file of the suite uses its paths.

use arrow_array::RecordBatch;
use arrow_cast::display::array_value_to_string;
use arrow_select::concat::concat_batches;
use skyveil::Anonymize;
use skyveil::CanonicalSizes;
use skyveil::Policy;
use skyveil::Progress;
use skyveil::{ColumnRequest, Morsel, ReadOptions, Table};
use skyveil::{TableWriter, WriteOptions};
use std::path::{Path, PathBuf};

pub use skyveil::Result;
pub use skyveil::Values;
pub use skyveil::{Outcome, Summary};
pub use skyveil::{Rational, parse_fraction};

/// The rows of a table, unchanged; of the given columns, or of all columns if none are given.
pub fn read(path: &Path, columns: &[&str]) -> RecordBatch {
    let table = Table::open(&[path.to_path_buf()], &ReadOptions::default()).unwrap();
    let all = table.schema().fields().iter().map(|field| field.name().as_str());
    let names: Vec<&str> = if columns.is_empty() { all.collect() } else { columns.to_vec() };
    let columns: Vec<ColumnRequest> = names.into_iter().map(ColumnRequest::as_is).collect();
    let mut batches: Vec<RecordBatch> = vec![];
    let collect = |part: Vec<RecordBatch>| {
        batches.extend(part);
        Ok(())
    };
    table.scan(&columns, 1, |morsel: Morsel<'_>| morsel.collect::<Result<Vec<_>>>(), collect).unwrap();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// The rows of a table as text.
pub fn rows(batch: &RecordBatch) -> Vec<Vec<String>> {
    let row =
        |i: usize| batch.columns().iter().map(|column| array_value_to_string(column, i).unwrap()).collect();
    (0..batch.num_rows()).map(row).collect()
}

/// Writes a table; the format is determined by the file name.
pub fn write(path: &Path, batch: &RecordBatch) {
    let mut writer = TableWriter::create(path, batch.schema(), &WriteOptions::default()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// A run of the anonymizer.
pub struct Run<'a> {
    pub paths: &'a [PathBuf],
    pub policy: &'a str,
    pub memory: u64,
    pub threads: usize,
    pub batch_rows: usize,
    pub out: PathBuf,
}

impl<'a> Run<'a> {
    pub fn new(paths: &'a [PathBuf], policy: &'a str, out: PathBuf) -> Self {
        Run { paths, policy, memory: 64 << 20, threads: 2, batch_rows: 8192, out }
    }

    /// Runs with subtrees so small that most nodes of small tables are split like those of large tables.
    pub fn outcome(&self) -> Result<Outcome> {
        self.with_job(|job| job.sizes.subtree_bytes = job.sizes.subtree_bytes.min(1 << 14))
    }

    /// Runs with parts of at most 600 rows inside of parts of at most 2,500, and files that end after every 700 people.
    pub fn in_small_parts(&self) -> Result<Outcome> {
        let sizes = CanonicalSizes { subtree_bytes: 1 << 11, part_rows: [600, 2_500], file_people: 700 };
        self.with_job(|job| job.sizes = sizes)
    }

    /// Runs the model "robust", with parts of this many people.
    pub fn in_parts(&self, part_people: usize, suppressed: &Path) -> Result<Outcome> {
        self.with_job(|job| {
            job.part_people = part_people as u64;
            job.suppressed = Some(suppressed.to_path_buf());
        })
    }

    fn with_job(&self, adapt: impl FnOnce(&mut Anonymize<'_>)) -> Result<Outcome> {
        let folder = self.out.parent().unwrap();
        let policy = Policy::parse(self.policy, folder.join("policy.toml"))?;
        let options = ReadOptions { batch_rows: self.batch_rows, ..ReadOptions::default() };
        let table = Table::open(self.paths, &options)?;
        let mut job = Anonymize {
            temp: folder.to_path_buf(),
            memory: self.memory,
            threads: self.threads,
            ..Anonymize::new(&table, &policy, &self.out)
        };
        adapt(&mut job);
        job.run(&Progress::default())
    }

    pub fn publish(&self) -> Summary {
        match self.outcome().unwrap() {
            Outcome::Published(summary) => *summary,
            outcome => panic!("{outcome:?}"),
        }
    }
}

/// A fraction.
pub fn ratio(above: u64, below: u64) -> Rational {
    Rational::from(above) / Rational::from(below)
}
