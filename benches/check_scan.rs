//! `skyveil check` of a clustered table, compared with only decoding the same two columns with the parquet crate.
//!
//! Prints the ratio of the two from one run with the same threads: `cargo bench --bench check_scan [ROWS]`.

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
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

/// Runs a command as a user does, with the same number of threads.
fn skyveil(arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skyveil"));
    command.args(arguments).args(["--threads", &THREADS.to_string()]).stdout(Stdio::null());
    // A breach is also a valid answer; anything else is a failure.
    let code = command.status().expect("the command runs").code();
    assert!(matches!(code, Some(0 | 1)), "{arguments:?}");
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn main() {
    let rows = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(5_000_000);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("groups.parquet");
    let table = path.to_str().expect("a plain path");
    skyveil(&["generate", "groups", "--rows", &rows.to_string(), "--out", table]);
    let check = [
        "check",
        table,
        "--group",
        "group",
        "--sensitive",
        "value",
        "--point",
        "3,4,2,1",
        "--memory",
        "64MiB",
    ];
    let (mut decoding, mut checking) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..5 {
        decoding = decoding.min(seconds(|| assert_eq!(decode(&path), rows)));
        checking = checking.min(seconds(|| skyveil(&check)));
    }
    let line = format!(
        "{rows} rows, {THREADS} threads: decode {decoding:.3} s, check {checking:.3} s, ratio {:.2}\n",
        checking / decoding
    );
    let _ = std::io::stdout().write_all(line.as_bytes());
}
