//! `check` of a clustered table against only decoding the same two columns with the parquet crate.
//!
//! Prints the ratio of both in one run, same threads: `cargo bench --bench check_scan [ROWS]`.

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use skyveil::check::{Absent, Columns, Requirements, Subject, check};
use skyveil::generate::{Kind, Table as Synthetic, write};
use skyveil::math::skyline::{Confidence, Knowledge, Point};
use skyveil::resources::Resources;
use skyveil::resources::budget::Budget;
use skyveil::resources::progress::Progress;
use skyveil::table::read::{ReadOptions, Table};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const THREADS: usize = 2;

/// Decodes the columns `group` and `value`, row groups shared between the threads.
fn decode(path: &Path) -> usize {
    let open = || ParquetRecordBatchReaderBuilder::try_new(File::open(path).expect("the table was written"));
    let row_groups = open().expect("a Parquet file").metadata().num_row_groups();
    let (next, rows) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let row_group = next.fetch_add(1, Ordering::Relaxed);
                    if row_group >= row_groups {
                        return;
                    }
                    let builder = open().expect("a Parquet file");
                    let columns = ProjectionMask::columns(builder.parquet_schema(), ["group", "value"]);
                    let builder = builder.with_projection(columns).with_row_groups(vec![row_group]);
                    for batch in builder.with_batch_size(8192).build().expect("a reader") {
                        rows.fetch_add(batch.expect("a batch").num_rows(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    rows.into_inner()
}

fn main() {
    let rows = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(5_000_000);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("groups.parquet");
    let synthetic = Synthetic { kind: Kind::Groups, rows, seed: 1 };
    write(&synthetic, &path, THREADS, &mut |_| {}).expect("the table is written");
    let knowledge = Knowledge { l: 3, k: 4, m: 2 };
    let confidence = Confidence::parse("1").expect("a confidence");
    let columns = Columns::single(vec!["group".to_string()], "value".to_string());
    let requirements = Requirements {
        skyline: vec![(None, Point { knowledge, confidence })],
        shares: Vec::new(),
        beliefs: None,
        minimum_group_size: 1,
        minimum_distinct_values: 0,
        implications: None,
        absent: Absent::Refuse,
    };
    let checked = || {
        let table = Table::open(std::slice::from_ref(&path), &ReadOptions::default()).expect("a table");
        let progress = Progress::default();
        let resources = Resources {
            threads: THREADS,
            budget: Budget::new(64 << 20),
            temp: folder.path().to_path_buf(),
            progress: &progress,
        };
        check(&Subject::Table(&table), &columns, &requirements, &resources).expect("a report").records
    };
    let (mut decoding, mut checking) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..5 {
        let start = Instant::now();
        assert_eq!(decode(&path) as u64, rows);
        decoding = decoding.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        assert_eq!(checked(), rows);
        checking = checking.min(start.elapsed().as_secs_f64());
    }
    let line = format!(
        "{rows} rows, {THREADS} threads: decode {decoding:.3} s, check {checking:.3} s, ratio {:.2}\n",
        checking / decoding
    );
    let _ = std::io::stdout().write_all(line.as_bytes());
}
