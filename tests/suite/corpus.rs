//! The cases that fuzzing found, and a few to begin with, replayed: see `fuzz` and CONTRIBUTING.md.

#[path = "../../fuzz/targets.rs"]
mod targets;

use crate::support::root;

/// Replays the cases of a target; returns what each of them gave.
fn replay<T>(target: &str, run: impl Fn(&[u8]) -> T) -> Vec<T> {
    let folder = root().join("tests/corpus").join(target);
    let mut cases: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(!cases.is_empty());
    cases.iter().map(|case| run(&std::fs::read(case).unwrap())).collect()
}

#[test]
fn policies() {
    replay("policy", targets::policy);
    for dataset in ["clinic.toml", "census.toml", "hospital.toml", "visits.toml", "adult.toml"] {
        targets::policy(&std::fs::read(root().join("datasets").join(dataset)).unwrap());
    }
}

#[test]
fn labels() {
    replay("labels", targets::labels);
}

#[test]
fn hierarchies() {
    replay("hierarchies", targets::hierarchies);
}

#[test]
fn csv() {
    replay("csv", targets::csv);
}

#[test]
fn manifests() {
    replay("manifest", targets::manifest);
}

#[test]
fn whole_runs_agree_with_the_naive_model() {
    let published = replay("check", targets::check);
    assert!(published.contains(&true) && published.contains(&false), "{published:?}");
}
