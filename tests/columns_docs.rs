//! What the page on several columns says of a column alone.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

/// As the document says: a rule more makes fewer groups.
#[test]
fn one_column_alone_has_more_groups() {
    let folder = tempfile::tempdir().unwrap();
    let datasets = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets");
    let policy = std::fs::read_to_string(datasets.join("census-two.toml")).unwrap();
    let (head, _) = policy.split_once("[privacy.column.occupation]").unwrap();
    let alone = head
        .replace("sensitive = [\"diagnosis\", \"occupation\"]", "sensitive = \"diagnosis\"")
        .replace("joint     = [\"diagnosis\", \"occupation\"]\n", "")
        .replace("drop      = [", "drop      = [\"occupation\", ");
    for name in ["census-tract.csv", "census-marital.csv"] {
        std::fs::copy(datasets.join(name), folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("alone.toml"), alone).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_skyveil"))
        .args([
            "anonymize",
            datasets.join("census.csv").to_str().unwrap(),
            "--policy",
            "alone.toml",
            "--out",
            "out",
            "--json",
        ])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(answer["groups"].as_u64().unwrap() > 89, "{answer}");
}
