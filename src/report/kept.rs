//! How many people does a kept column single out?
//!
//! A column that is published unchanged lets someone who knows a person's value in it look for that row. For each
//! column: how many different values there are, and how many people have a value that nobody else in their group has.
//! Values are compared by 128-bit hashes of their bytes.
//!
//! Memory: per worker the hashes of a morsel of [`MORSEL_ROWS`]; [`MOST_HASHES`] for a group and [`MOST_VALUES`] per column for the
//! different values, 16 bytes each. The bounds are fixed, so the answer does not depend on the available memory.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::{RowConverter, Rows, SortField};

use crate::error::{Error, Result};
use crate::resources::Resources;
use crate::table::read::{ColumnRequest, Morsel, ScanMeans, Table};

/// The largest number of different values that is counted exactly.
pub const MOST_VALUES: usize = 1 << 16;
/// Rows times columns of the largest group whose people are compared.
pub const MOST_HASHES: usize = 1 << 20;

/// The rows that a worker hashes at a time: 16 bytes for each kept column and for the groups.
const MORSEL_ROWS: u64 = 1 << 16;

/// The measurements of a kept column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptColumn {
    /// The column.
    pub name: String,
    /// Different values.
    pub distinct: Distinct,
    /// People with a value that nobody else in their group has; `None` if this was not computed.
    pub alone: Option<u64>,
}

impl KeptColumn {
    /// The percentage of people who have a value that nobody else in their group has, if it is more than half: the
    /// column is then as good as a name.
    pub fn identifies(&self, people: u64) -> Option<String> {
        let alone = self.alone.filter(|alone| u128::from(*alone) * 2 > u128::from(people))?;
        Some(format!("{:.1} %", 100.0 * alone.min(people) as f64 / people.max(1) as f64))
    }
}

/// How many different values a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distinct {
    /// Exactly this many.
    Exactly(u64),
    /// More than this many.
    MoreThan(u64),
}

/// Whether the rows of each group are contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// They do.
    Together,
    /// They are not, or this is unknown: people are not compared within their groups.
    Anywhere,
}

/// Measures these columns of a table; rows that agree in all columns of `groups` form a group.
pub fn measure(
    table: &Table,
    groups: &[String],
    names: &[String],
    standing: Standing,
    resources: &Resources<'_>,
) -> Result<Vec<KeptColumn>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let wanted = groups.iter().chain(names);
    let wanted: Vec<ColumnRequest> = wanted.map(|name| ColumnRequest::canonical(name.as_str())).collect();
    let mut current =
        Current { key: None, hashes: vec![Vec::new(); names.len()], alone: vec![0; names.len()] };
    let mut distinct: Vec<HashSet<u128>> = vec![HashSet::new(); names.len()];
    let mut fits = standing == Standing::Together;
    resources.progress.start("comparing kept columns", table.rows());
    let hash = |morsel: Morsel<'_>| {
        let mut batches = Vec::new();
        for batch in morsel {
            let batch = batch?;
            batches.push(Hashed::new(&batch, groups.len())?);
            resources.progress.advance(batch.num_rows() as u64);
        }
        Ok(batches)
    };
    let means = ScanMeans::from(resources).with_morsels_of(MORSEL_ROWS);
    let outcome = table.scan(&wanted, means, hash, |batches| {
        for batch in batches {
            for (distinct, hashes) in distinct.iter_mut().zip(&batch.columns) {
                for &hash in hashes {
                    if distinct.len() > MOST_VALUES {
                        break;
                    }
                    distinct.insert(hash);
                }
            }
            fits = fits && current.take(&batch);
        }
        Ok(())
    });
    resources.progress.finish();
    outcome?;
    current.finish_group();
    let column = |((name, distinct), alone): ((&String, &HashSet<u128>), &u64)| KeptColumn {
        name: name.clone(),
        distinct: match distinct.len() {
            most if most > MOST_VALUES => Distinct::MoreThan(MOST_VALUES as u64),
            values => Distinct::Exactly(values as u64),
        },
        alone: fits.then_some(*alone),
    };
    Ok(names.iter().zip(&distinct).zip(&current.alone).map(column).collect())
}

/// The rows of a batch as hashes, one of the group and one of each kept column.
struct Hashed {
    groups: Vec<u128>,
    columns: Vec<Vec<u128>>,
}

impl Hashed {
    fn new(batch: &RecordBatch, groups: usize) -> Result<Self> {
        let (groups, kept) = batch.columns().split_at(groups);
        let columns = kept.iter().map(|column| hashes(std::slice::from_ref(column)));
        Ok(Hashed { groups: hashes(groups)?, columns: columns.collect::<Result<_>>()? })
    }
}

fn hashes(columns: &[ArrayRef]) -> Result<Vec<u128>> {
    let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let rows: std::result::Result<Rows, _> =
        RowConverter::new(fields).and_then(|converter| converter.convert_columns(columns));
    let rows = rows.map_err(|_| {
        Error::input("a kept column cannot be compared", "keep columns of numbers, text, dates or times")
    })?;
    Ok(rows.iter().map(|row| hash(row.data())).collect())
}

fn hash(bytes: &[u8]) -> u128 {
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(seed);
        hasher.write(bytes);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

/// The group whose rows are being read.
struct Current {
    key: Option<u128>,
    hashes: Vec<Vec<u128>>,
    alone: Vec<u64>,
}

impl Current {
    /// Adds rows; returns whether their groups are small enough to be compared.
    fn take(&mut self, batch: &Hashed) -> bool {
        let most = MOST_HASHES / self.hashes.len().max(1);
        for (row, &group) in batch.groups.iter().enumerate() {
            if self.key != Some(group) {
                self.finish_group();
                self.key = Some(group);
            }
            if self.hashes.first().is_some_and(|hashes| hashes.len() >= most) {
                return false;
            }
            self.hashes.iter_mut().zip(&batch.columns).for_each(|(own, column)| own.push(column[row]));
        }
        true
    }

    fn finish_group(&mut self) {
        for (hashes, alone) in self.hashes.iter_mut().zip(&mut self.alone) {
            hashes.sort_unstable();
            *alone += hashes.chunk_by(|a, b| a == b).filter(|equal| equal.len() == 1).count() as u64;
            hashes.clear();
        }
    }
}
