//! Figure 8: does SkylineAnonymize scale to tables much larger than memory?
//!
//! Each run is a separate process, so that its peak memory can be measured. Tables, releases and spills are in a folder
//! below `temp` and removed after each size. Memory: what `skyveil generate` takes.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use super::{ExperimentFindings, ExperimentSetting, ResultTable, child};
use crate::error::{Error, Result};
use crate::generate::{Generator, SyntheticTable, write};
use crate::report::chart::{Axis, Chart, Series};

/// Size of a tuple in the paper, in bytes.
const TUPLE_BYTES: u64 = 44;
/// Expected disk space per row before it was measured: table, spill and release.
const EXPECTED_BYTES: f64 = 70.0;

/// The two privacy settings of the paper.
const POINTS: [[u64; 3]; 2] = [[0, 1000, 0], [3, 1000, 10]];

/// One run.
struct Measured {
    point: usize,
    rows: u64,
    groups: u64,
    seconds: f64,
    peak_bytes: u64,
    spilled_bytes: u64,
    scans: u64,
}

impl Measured {
    fn microseconds_per_row(&self) -> f64 {
        self.seconds * 1e6 / self.rows as f64
    }
}

pub fn run(setting: &ExperimentSetting<'_>) -> Result<ExperimentFindings> {
    const MILLION: u64 = 1_000_000;
    let paper = [1, 10, 20, 40, 80, 100].map(|millions| millions * MILLION);
    let small = [MILLION / 4, MILLION, 2 * MILLION, 6 * MILLION];
    let sizes = match setting.rows {
        [] => setting.scale.pick(&paper[..], &small[..], &[20_000, 30_000]),
        rows => rows,
    };
    let (flag, mebibytes) = setting.scale.pick(("256MiB", 256), ("64MiB", 64), ("64MiB", 64));
    let budget = MemoryBudget { flag, bytes: mebibytes << 20 };
    let work = setting.scratch("scale-up")?;
    let mut runs: Vec<Measured> = Vec::new();
    let mut stopped = None;
    let mut bytes_per_row = EXPECTED_BYTES;
    for &rows in sizes {
        stopped = lacking_disk(work.path(), rows, bytes_per_row);
        if stopped.is_some() {
            break;
        }
        let (of_size, most_bytes) = measure(setting, work.path(), rows, budget.flag)?;
        runs.extend(of_size);
        // A tenth more than the measured size.
        bytes_per_row = most_bytes as f64 * 1.1 / rows as f64;
    }
    if runs.is_empty() {
        let why = stopped.unwrap_or_else(|| "there is no table size".into());
        return Err(Error::input(
            format!("{}: {why}", setting.temp.display()),
            "give a folder with more free space, or smaller tables",
        ));
    }
    Ok(findings(&runs, &budget, stopped))
}

/// Why a table of this size cannot be tested.
fn lacking_disk(work: &Path, rows: u64, bytes_per_row: f64) -> Option<String> {
    let needed = (rows as f64 * bytes_per_row) as u64;
    let free = free_bytes(work).filter(|free| *free < needed)?;
    Some(format!(
        "Stopped before {:.0} million rows: they need about {:.1} GB of disk, and {:.1} GB were free.",
        millions(rows),
        needed as f64 / 1e9,
        free as f64 / 1e9
    ))
}

/// Runs all settings on a table of this size; returns the largest disk space that one of them took.
fn measure(
    setting: &ExperimentSetting<'_>,
    work: &Path,
    rows: u64,
    budget: &str,
) -> Result<(Vec<Measured>, u64)> {
    let table = work.join("table.parquet");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let synthetic = SyntheticTable { generator: Generator::Agrawal, rows, seed: 1 };
    let written = write(&synthetic, &table, threads, &mut |_| ())?;
    let (mut runs, mut most) = (Vec::new(), 0);
    for (point, [l, k, m]) in POINTS.into_iter().enumerate() {
        let (measured, release_bytes) = anonymize(setting, work, &table, budget, point)?;
        (setting.tell)(&format!(
            "{:.2} million rows, ({l}, {k}, {m}): {:.1} s, {} MiB, {} groups",
            millions(rows),
            measured.seconds,
            measured.peak_bytes >> 20,
            measured.groups
        ));
        most = most.max(written.bytes + release_bytes + measured.spilled_bytes);
        runs.push(measured);
    }
    std::fs::remove_file(&table).map_err(|source| Error::io(&table, source))?;
    Ok((runs, most))
}

/// Anonymizes in a separate process; the release is measured and removed.
fn anonymize(
    setting: &ExperimentSetting<'_>,
    work: &Path,
    table: &Path,
    budget: &str,
    point: usize,
) -> Result<(Measured, u64)> {
    let [l, k, m] = POINTS[point];
    // The release and its receipt.
    let made = work.join("made");
    std::fs::create_dir(&made).map_err(|source| Error::io(&made, source))?;
    let (policy, release) = (made.join("policy.toml"), made.join("release"));
    let text = format!(
        "accept = [\"ends of ranges\"]\n[columns]\nsensitive = \"zipcode\"\ndrop = [\"record\", \"class\"]\n\
         quasi = [\"salary\", \"commission\", \"age\", \"elevel\", \"car\", \"hvalue\", \"hyears\", \"loan\"]\n\n\
         [[privacy.skyline]]\nl = {l}\nk = {k}\nm = {m}\nconfidence = 0.5\n"
    );
    std::fs::write(&policy, text).map_err(|source| Error::io(&policy, source))?;
    let limits: [&OsStr; 4] = ["--memory".as_ref(), budget.as_ref(), "--temp".as_ref(), work.as_ref()];
    let said = child::anonymize(setting.skyveil, table, &policy, &release, &limits)?;
    let count = |key: &str| said[key].as_u64().unwrap_or(0);
    let measured = Measured {
        point,
        rows: count("records"),
        groups: count("groups"),
        seconds: said["seconds"].as_f64().unwrap_or(0.0),
        peak_bytes: count("peak_memory_bytes"),
        spilled_bytes: count("spilled_bytes"),
        scans: count("source_scans"),
    };
    let bytes = folder_bytes(&release)?;
    std::fs::remove_dir_all(&made).map_err(|source| Error::io(&made, source))?;
    Ok((measured, bytes))
}

fn folder_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).map_err(|source| Error::io(folder, source))? {
        let path = entry.map_err(|source| Error::io(folder, source))?.path();
        let metadata = std::fs::metadata(&path).map_err(|source| Error::io(&path, source))?;
        bytes += if metadata.is_dir() { folder_bytes(&path)? } else { metadata.len() };
    }
    Ok(bytes)
}

/// Free bytes on the disk of a folder, as reported by `df`; `None` if there is no such command.
fn free_bytes(folder: &Path) -> Option<u64> {
    let output = Command::new("df").arg("-Pk").arg(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().nth(1)?.split_whitespace().nth(3)?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

fn millions(rows: u64) -> f64 {
    rows as f64 / 1e6
}

fn name(point: usize) -> String {
    let [l, k, m] = POINTS[point];
    format!("(l, k, m) = ({l}, {k}, {m})")
}

/// The memory that a run may use, as a flag and in bytes.
struct MemoryBudget {
    flag: &'static str,
    bytes: u64,
}

impl MemoryBudget {
    /// The size of a table of the paper's tuples as a multiple of the budget.
    fn times(&self, rows: u64) -> f64 {
        (rows * TUPLE_BYTES) as f64 / self.bytes as f64
    }
}

fn findings(runs: &[Measured], budget: &MemoryBudget, stopped: Option<String>) -> ExperimentFindings {
    let mut compared = scaling(runs, budget);
    compared.extend(stopped);
    ExperimentFindings {
        run: vec![
            format!(
                "`skyveil generate agrawal` and `skyveil anonymize --memory {}` with the quasi-identifiers salary, commission, age, \
                 education level, car, house value, years owned and loan; zipcode is sensitive.",
                budget.flag
            ),
            "Confidence 0.5 for every zipcode; the paper does not print its own. Elapsed time is that of the whole command: \
             reading, splitting, writing and checking the release."
                .to_string(),
        ],
        compared,
        tables: vec![table(runs, budget)],
        charts: vec![
            chart(runs, "Elapsed time", "elapsed (s)", |run| run.seconds),
            chart(runs, "Peak resident memory", "peak memory (MiB)", |run| mebibytes(run.peak_bytes)),
            chart(runs, "Spilled to disk", "spilled (MB)", |run| run.spilled_bytes as f64 / 1e6),
        ],
    }
}

fn table(runs: &[Measured], budget: &MemoryBudget) -> ResultTable {
    let mut table = ResultTable::new(
        "8",
        "Figure 8, each run in a process of its own",
        &[
            "setting",
            "rows",
            "table (44 B a row) / budget",
            "groups",
            "elapsed (s)",
            "µs per row",
            "peak memory (MiB)",
            "spilled (MB)",
            "scans",
        ],
    );
    for run in runs {
        table.push(vec![
            name(run.point).into(),
            run.rows.into(),
            budget.times(run.rows).into(),
            run.groups.into(),
            run.seconds.into(),
            run.microseconds_per_row().into(),
            mebibytes(run.peak_bytes).into(),
            (run.spilled_bytes as f64 / 1e6).into(),
            run.scans.into(),
        ]);
    }
    table
}

fn chart(runs: &[Measured], title: &str, vertical: &str, of: fn(&Measured) -> f64) -> Chart {
    let series = |point: usize| {
        let own = runs.iter().filter(|run| run.point == point);
        Series::line(name(point), own.map(|run| (millions(run.rows), of(run))).collect())
    };
    Chart {
        title: title.to_string(),
        horizontal: Axis::from_zero("rows (million)"),
        vertical: Axis::from_zero(vertical),
        series: (0..POINTS.len()).map(series).collect(),
    }
}

/// How the time per row and the memory change with the size.
fn scaling(runs: &[Measured], budget: &MemoryBudget) -> Vec<String> {
    let mut compared = Vec::new();
    for point in 0..POINTS.len() {
        let own: Vec<&Measured> = runs.iter().filter(|run| run.point == point).collect();
        if let (Some(first), Some(last)) = (own.first(), own.last()) {
            compared.push(format!(
                "{}: from {:.2} to {:.2} million rows ({:.1} to {:.1} times the budget) the time per row goes from {:.3} to {:.3} \
                 µs; the paper: well-behaved.",
                name(point),
                millions(first.rows),
                millions(last.rows),
                budget.times(first.rows),
                budget.times(last.rows),
                first.microseconds_per_row(),
                last.microseconds_per_row()
            ));
        }
    }
    let peak = runs.iter().map(|run| run.peak_bytes).max().unwrap_or(0);
    compared.push(format!(
        "Peak resident memory of any run: {:.0} MiB with a budget of {}; 48 MiB are documented in addition to the budget.",
        mebibytes(peak),
        budget.flag
    ));
    compared
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
