//! The commands of the documents on columns do what the documents say.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

const DOCUMENTS: [&str; 2] =
    [include_str!("../docs/how-to/several-columns.md"), include_str!("../docs/how-to/long-and-weighted-tables.md")];

/// The words of a command line; quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let quoted = line.split('"').enumerate();
    let mut words = Vec::new();
    for (i, piece) in quoted {
        match i % 2 {
            1 => words.push(piece.to_string()),
            _ => words.extend(piece.split_whitespace().map(str::to_string)),
        }
    }
    words
}

#[test]
fn every_command_answers_as_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let datasets = folder.path().join("datasets");
    std::fs::create_dir(&datasets).unwrap();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, datasets.join(path.file_name().unwrap())).unwrap();
        }
    }
    let mut commands = 0;
    for block in DOCUMENTS.iter().flat_map(|document| document.split("```console\n").skip(1)) {
        let (block, _) = block.split_once("```").unwrap();
        let (command, answer) = block.split_once('\n').unwrap();
        let command = words(command.strip_prefix("$ skyveil ").unwrap());
        let output = Command::new(env!("CARGO_BIN_EXE_skyveil"))
            .args(&command)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        for line in answer.lines() {
            assert!(printed.lines().any(|own| own == line), "{command:?}\n{line}\nprinted:\n{printed}");
        }
        let expected = i32::from(answer.starts_with("unsafe"));
        assert_eq!(output.status.code(), Some(expected), "{command:?}");
        commands += 1;
    }
    assert_eq!(commands, 9);
}

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
