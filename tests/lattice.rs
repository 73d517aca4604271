//! Are full-domain releases safe, minimal and the same every time?

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn skyveil(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skyveil"));
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn dataset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets").join(name)
}

/// The census of the repository with its columns and other privacy.
fn policy(folder: &Path, privacy: &str) -> PathBuf {
    let stated = std::fs::read_to_string(dataset("census.toml")).unwrap();
    let (columns, _) = stated.split_once("[privacy]").unwrap();
    for name in ["census-tract.csv", "census-marital.csv"] {
        std::fs::copy(dataset(name), folder.join(name)).unwrap();
    }
    let path = folder.join("policy.toml");
    std::fs::write(&path, format!("{columns}[privacy]\n{privacy}")).unwrap();
    path
}

fn release(policy: &Path, out: &Path, flags: &[&str]) -> (Value, Vec<u8>) {
    let census = dataset("census.csv");
    let fixed =
        ["anonymize", text(&census), "--policy", text(policy), "--out", text(out), "--search", "lattice"];
    let output = skyveil(&[&fixed[..], &["--json"], flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let manifest = std::fs::read(out.join("manifest.json")).unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), manifest)
}

const IMPLICATIONS: &str = "model = \"implications\"\nimplications = 2\nconfidence = 0.8\n";

#[test]
fn a_lattice_release_is_safe_and_the_same_for_any_memory_and_threads() {
    let folder = tempfile::tempdir().unwrap();
    for (number, privacy) in
        [IMPLICATIONS, "k_anonymity = 20\nl_diversity = { c = 3, l = 3 }\n"].iter().enumerate()
    {
        let policy = policy(folder.path(), privacy);
        let out = |name: &str| folder.path().join(format!("{name}{number}"));
        let (told, manifest) = release(&policy, &out("one"), &["--threads", "1", "--memory", "64MiB"]);
        assert_eq!(release(&policy, &out("two"), &["--threads", "3"]).1, manifest);
        assert_eq!(skyveil(&["check", text(&out("one"))]).status.code(), Some(0));
        let minimal = told["lattice"]["minimal_safe"].as_array().unwrap();
        assert!(minimal.contains(&told["lattice"]["levels"]));
        // None of them lies below another.
        let levels = |node: &Value| -> Vec<u64> {
            node.as_array().unwrap().iter().map(|level| level.as_u64().unwrap()).collect()
        };
        for a in minimal {
            let below = |b: &&Value| a != *b && levels(a).iter().zip(levels(b)).all(|(a, b)| *a <= b);
            assert!(!minimal.iter().any(|b| below(&b)), "{minimal:?}");
        }
    }
}

#[test]
fn a_lattice_release_generalizes_everybody_alike() {
    use skyveil::read::{Column, ReadOptions, Table};
    let folder = tempfile::tempdir().unwrap();
    let policy = policy(folder.path(), IMPLICATIONS);
    let mut published = BTreeSet::new();
    for measure in ["discernibility", "group-size", "certainty", "entropy"] {
        let out = folder.path().join(measure);
        let (told, _) = release(&policy, &out, &["--measure", measure]);
        published.insert(told["lattice"]["levels"].to_string());
        let table = Table::open(&[out.join("data")], &ReadOptions::default()).unwrap();
        let mut ages = BTreeSet::new();
        let columns = [Column::canonical("age")];
        table
            .scan(
                &columns,
                1,
                |morsel| morsel.collect::<skyveil::Result<Vec<_>>>(),
                |batches| {
                    for batch in batches {
                        for row in 0..batch.num_rows() {
                            let age = batch.column(0);
                            ages.insert(arrow::util::display::array_value_to_string(age, row).unwrap());
                        }
                    }
                    Ok(())
                },
            )
            .unwrap();
        // Intervals of one level do not overlap: each begins where, or after, another ends.
        let ends = |label: &String| -> Option<(u32, u32)> {
            let (from, to) = label.strip_prefix('[')?.strip_suffix([')', ']'])?.split_once(',')?;
            Some((from.parse().ok()?, to.parse().ok()?))
        };
        let ends: Vec<(u32, u32)> = ages.iter().filter_map(ends).collect();
        for a in &ends {
            assert!(ends.iter().all(|b| a == b || a.1 <= b.0 || b.1 <= a.0), "{measure}: {ages:?}");
        }
    }
    assert!(!published.is_empty());
}

#[test]
fn a_lattice_needs_single_values_and_a_known_measure() {
    let folder = tempfile::tempdir().unwrap();
    let policy = policy(folder.path(), IMPLICATIONS);
    let (census, out) = (dataset("census.csv"), folder.path().join("out"));
    let fixed = ["anonymize", text(&census), "--policy", text(&policy), "--out", text(&out)];
    let run = |flags: &[&str]| {
        let output = skyveil(&[&fixed[..], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(!out.exists());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(run(&["--search", "lattice", "--measure", "beauty"]).contains("expected one of discernibility"));
    assert!(run(&["--search", "shelf"]).contains("lattice"));
    let little = run(&["--search", "lattice", "--memory", "300KiB"]);
    assert!(little.contains("memory") || little.contains("cells"), "{little}");
}
