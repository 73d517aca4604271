//! `skyveil check` and `skyveil disclosure` of a clustered table, compared with only decoding the same two columns with the
//! parquet crate.
//!
//! Prints medians of the ratios of the same round, with the same threads: `cargo bench --bench check_scan [ROWS]`.

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const THREADS: usize = 2;
const ROUNDS: usize = 5;

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
    let disclosure = [
        "disclosure",
        table,
        "--group",
        "group",
        "--sensitive",
        "value",
        "--up-to",
        "12",
        "--memory",
        "64MiB",
    ];
    let (mut checks, mut disclosures) = (Vec::new(), Vec::new());
    let mut out = std::io::stdout();
    for round in 1..=ROUNDS {
        let decoding = seconds(|| assert_eq!(decode(&path), rows));
        let (check, disclosure) = (seconds(|| skyveil(&check)), seconds(|| skyveil(&disclosure)));
        checks.push(check / decoding);
        disclosures.push(disclosure / decoding);
        let _ = writeln!(
            out,
            "{rows} rows, round {round}: decode {decoding:.3} s, check {check:.3} s, disclosure {disclosure:.3} s"
        );
    }
    for (name, ratios) in [("check", &mut checks), ("disclosure", &mut disclosures)] {
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ROUNDS / 2];
        let _ =
            writeln!(out, "{rows} rows: {name} / decode, elapsed: {median:.2} (median of {ROUNDS} rounds)");
    }
}
