//! `skyline --all`, `explain` and `report` of a census release as ratios to `check`, all in one run.
//!
//! `cargo bench --bench explore [ROWS]`; the commands run as a user runs them, with two threads each.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets/census.toml");

/// The time that a command takes, in seconds.
fn time(arguments: &[&str]) -> f64 {
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_skyveil"));
    let status = command.args(arguments).args(["--threads", "2"]).stdout(Stdio::null()).status();
    assert!(status.expect("the command runs").success(), "{arguments:?}");
    start.elapsed().as_secs_f64()
}

fn best(arguments: &[&str]) -> f64 {
    (0..3).map(|_| time(arguments)).fold(f64::INFINITY, f64::min)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let rows = words.iter().find_map(|word| word.parse::<u64>().ok()).unwrap_or(10_000_000);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let text = |path: &Path| path.to_str().expect("a plain path").to_string();
    let (table, release) =
        (text(&folder.path().join("census.parquet")), text(&folder.path().join("release")));
    let page = text(&folder.path().join("page.html"));
    time(&["generate", "census", "--rows", &rows.to_string(), "--out", &table]);
    time(&["anonymize", &table, "--policy", POLICY, "--out", &release]);
    let check = best(&["check", &release]);
    let mut lines = format!("{rows} rows, 2 threads\ncheck                {check:>8.3} s    1.00\n");
    for (name, arguments) in [
        ("skyline --all", vec!["skyline", &release, "--all", "--confidence", "0.8", "--up-to", "20,100,40"]),
        ("explain", vec!["explain", &release, "--value", "HIV", "--point", "2,3,2"]),
        ("report", vec!["report", &release, "--out", &page]),
        ("report --original", vec!["report", &release, "--original", &table, "--out", &page]),
    ] {
        let seconds = best(&arguments);
        lines.push_str(&format!("{name:<20} {seconds:>8.3} s  {:>6.2}\n", seconds / check));
    }
    let _ = std::io::stdout().write_all(lines.as_bytes());
}
