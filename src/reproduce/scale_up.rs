//! Figure 8: does SkylineAnonymize scale to tables much larger than memory?
//!
//! Each run is a process of its own, so that its peak memory is its own. Tables, releases and spills are in a folder
//! of `temp` and removed after each size. Memory: what `skyveil generate` takes.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use super::{Findings, Setting, Table, child};
use crate::error::{Error, Result};
use crate::generate::{Generator, SyntheticTable, write};
use crate::report::chart::{Axis, Chart, Series};

/// Bytes of a tuple in the paper.
const TUPLE_BYTES: u64 = 44;
/// Disk that a row is expected to take before it was measured: table, spill and release.
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

pub fn run(setting: &Setting<'_>) -> Result<Findings> {
    const MILLION: u64 = 1_000_000;
    let paper = [1, 10, 20, 40, 80, 100].map(|millions| millions * MILLION);
    let small = [MILLION / 4, MILLION, 4 * MILLION, 12 * MILLION];
    let sizes = match setting.rows {
        [] => setting.scale.pick(&paper[..], &small[..], &[20_000, 30_000]),
        rows => rows,
    };
    let budget = setting.scale.pick("256MiB", "48MiB", "48MiB");
    let budget_bytes = setting.scale.pick(256u64, 48, 48) << 20;
    let work = tempfile::Builder::new()
        .prefix("skyveil-scale-up-")
        .tempdir_in(setting.temp)
        .map_err(|source| Error::io(setting.temp, source))?;
    let mut runs: Vec<Measured> = Vec::new();
    let mut stopped = None;
    let mut bytes_per_row = EXPECTED_BYTES;
    for &rows in sizes {
        let needed = (rows as f64 * bytes_per_row) as u64;
        if let Some(free) = free_bytes(work.path())
            && free < needed
        {
            stopped = Some(format!(
                "Stopped before {:.0} million rows: they need about {:.1} GB of disk, and {:.1} GB were free.",
                millions(rows),
                needed as f64 / 1e9,
                free as f64 / 1e9
            ));
            break;
        }
        let table = work.path().join("table.parquet");
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let synthetic = SyntheticTable { generator: Generator::Agrawal, rows, seed: 1 };
        let written = write(&synthetic, &table, threads, &mut |_| ())?;
        let mut most = 0;
        for (point, [l, k, m]) in POINTS.into_iter().enumerate() {
            let (measured, release_bytes) = anonymize(setting, work.path(), &table, budget, point)?;
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
        // A tenth more than what was seen.
        bytes_per_row = most as f64 * 1.1 / rows as f64;
        std::fs::remove_file(&table).map_err(|source| Error::io(&table, source))?;
    }
    if runs.is_empty() {
        return Err(Error::input(
            format!(
                "{}: {}",
                setting.temp.display(),
                stopped.unwrap_or_else(|| "there is no table size".into())
            ),
            "give a folder with more room by --temp, or smaller tables by --rows",
        ));
    }
    Ok(findings(&runs, budget, budget_bytes, stopped))
}

/// Anonymizes in a process of its own; the release is measured and removed.
fn anonymize(
    setting: &Setting<'_>,
    work: &Path,
    table: &Path,
    budget: &str,
    point: usize,
) -> Result<(Measured, u64)> {
    let [l, k, m] = POINTS[point];
    let (policy, release) = (work.join("policy.toml"), work.join("release"));
    let text = format!(
        "[columns]\nsensitive = \"zipcode\"\ndrop = [\"record\", \"class\"]\n\
         quasi = [\"salary\", \"commission\", \"age\", \"elevel\", \"car\", \"hvalue\", \"hyears\", \"loan\"]\n\n\
         [[privacy.skyline]]\nl = {l}\nk = {k}\nm = {m}\nconfidence = 0.5\n"
    );
    std::fs::write(&policy, text).map_err(|source| Error::io(&policy, source))?;
    let arguments: [&OsStr; 11] = [
        "anonymize".as_ref(),
        table.as_ref(),
        "--policy".as_ref(),
        policy.as_ref(),
        "--out".as_ref(),
        release.as_ref(),
        "--memory".as_ref(),
        budget.as_ref(),
        "--temp".as_ref(),
        work.as_ref(),
        "--json".as_ref(),
    ];
    let said = child::json(setting.skyveil, &arguments)?;
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
    std::fs::remove_dir_all(&release).map_err(|source| Error::io(&release, source))?;
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

/// Free bytes of the disk of a folder as `df` tells them; `None` where there is none.
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

fn findings(runs: &[Measured], budget: &str, budget_bytes: u64, stopped: Option<String>) -> Findings {
    let times_budget = |rows: u64| (rows * TUPLE_BYTES) as f64 / budget_bytes as f64;
    let mut table = Table::new(
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
            times_budget(run.rows).into(),
            run.groups.into(),
            run.seconds.into(),
            (run.seconds * 1e6 / run.rows as f64).into(),
            (run.peak_bytes as f64 / f64::from(1 << 20)).into(),
            (run.spilled_bytes as f64 / 1e6).into(),
            run.scans.into(),
        ]);
    }
    let chart = |title: &str, vertical: &str, of: fn(&Measured) -> f64| Chart {
        title: title.to_string(),
        horizontal: Axis::from_zero("rows (million)"),
        vertical: Axis::from_zero(vertical),
        series: (0..POINTS.len())
            .map(|point| {
                Series::line(
                    name(point),
                    runs.iter()
                        .filter(|run| run.point == point)
                        .map(|run| (millions(run.rows), of(run)))
                        .collect(),
                )
            })
            .collect(),
    };
    let mut compared = vec![];
    for point in 0..POINTS.len() {
        let own: Vec<&Measured> = runs.iter().filter(|run| run.point == point).collect();
        if let (Some(first), Some(last)) = (own.first(), own.last()) {
            compared.push(format!(
                "{}: from {:.2} to {:.2} million rows ({:.1} to {:.1} times the budget) the time per row goes from {:.3} to {:.3} \
                 µs; the paper: well-behaved.",
                name(point),
                millions(first.rows),
                millions(last.rows),
                times_budget(first.rows),
                times_budget(last.rows),
                first.seconds * 1e6 / first.rows as f64,
                last.seconds * 1e6 / last.rows as f64
            ));
        }
    }
    let peak = runs.iter().map(|run| run.peak_bytes).max().unwrap_or(0);
    compared.push(format!(
        "Peak resident memory of any run: {:.0} MiB with a budget of {budget}; {} is stated beside the budget.",
        peak as f64 / f64::from(1 << 20),
        "48 MiB"
    ));
    compared.extend(stopped);
    Findings {
        run: vec![
            format!(
                "`skyveil generate agrawal` and `skyveil anonymize --memory {budget}` with the quasi-identifiers salary, commission, \
                 age, education level, car, house value, years owned and loan; zipcode is sensitive."
            ),
            "Confidence 0.5 for every zipcode; the paper does not print its own. Elapsed time is that of the whole command: \
             reading, splitting, writing and checking the release."
                .to_string(),
        ],
        compared,
        tables: vec![table],
        charts: vec![
            chart("Elapsed time", "elapsed (s)", |run| run.seconds),
            chart("Peak resident memory", "peak memory (MiB)", |run| run.peak_bytes as f64 / f64::from(1 << 20)),
            chart("Spilled to disk", "spilled (MB)", |run| run.spilled_bytes as f64 / 1e6),
        ],
    }
}
