//! What is stored for a case, and how it is compared.

use crate::support::{Decoded, beside, decode, root};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Lists longer than this are stored as this many digests.
const RUNS: usize = 16;

/// Texts longer than this are stored as a digest.
const LONG: usize = 120;

/// Fields that depend on the machine or on encodings, and what binds, which has tests of its own.
const VOLATILE: [&str; 8] =
    ["out", "peak_memory_bytes", "seconds", "phases", "spilled_bytes", "bytes", "sha256", "binds"];

/// A field: what is stored, and the full text for the message.
struct Field {
    kept: String,
    full: String,
}

/// The fields of one case by their names.
#[derive(Default)]
pub struct Snapshot {
    fields: BTreeMap<String, Field>,
}

fn digest(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let hex: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("#{hex}")
}

/// A cell, written so that no text looks like null.
fn shown(cell: &Option<String>) -> String {
    cell.as_ref().map_or("null".to_string(), |text| format!("'{text}'"))
}

impl Snapshot {
    /// Records a text under a name.
    pub fn text(&mut self, name: &str, text: &str) {
        let text = text.replace('\n', "\\n");
        let kept = if text.len() > LONG { digest(&text) } else { text.clone() };
        let twice = self.fields.insert(name.to_string(), Field { kept, full: text });
        assert!(twice.is_none(), "{name} is noted twice");
    }

    /// Records a list: its length and its elements, or runs of them.
    fn list(&mut self, name: &str, elements: &[String]) {
        self.text(&format!("{name}.length"), &elements.len().to_string());
        let run = elements.len().div_ceil(RUNS).max(1);
        for (number, run_elements) in elements.chunks(run).enumerate() {
            let from = number * run;
            let place = match run {
                1 => format!("{name}[{from:03}]"),
                _ => format!("{name}[{from:05}..{:05}]", from + run_elements.len()),
            };
            self.text(&place, &run_elements.join("; "));
        }
    }

    /// Records every field of a JSON value.
    pub fn json(&mut self, name: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                let kept = fields.iter().filter(|(key, _)| !VOLATILE.contains(&key.as_str()));
                kept.for_each(|(key, value)| self.json(&format!("{name}.{key}"), value));
            }
            Value::Array(elements) if elements.iter().any(|element| element.is_object()) => {
                self.list(name, &elements.iter().map(Value::to_string).collect::<Vec<_>>());
            }
            Value::String(text) => self.text(name, text),
            other => self.text(name, &other.to_string()),
        }
    }

    /// Records a table: its columns, its rows in order, and each column on its own.
    pub fn table(&mut self, name: &str, table: &Decoded) {
        for (column, (title, data_type)) in table.names.iter().zip(&table.types).enumerate() {
            let cells: Vec<String> = table.rows.iter().map(|row| shown(&row[column])).collect();
            self.text(
                &format!("{name}.column[{column:02}]"),
                &format!("{title}: {data_type} {}", digest(&cells.join("\n"))),
            );
        }
        self.list(
            &format!("{name}.rows"),
            &table
                .rows
                .iter()
                .map(|row| row.iter().map(shown).collect::<Vec<_>>().join(","))
                .collect::<Vec<_>>(),
        );
    }

    /// Records a release directory.
    pub fn release(&mut self, folder: &Path) {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let mut manifest: Value = serde_json::from_str(&read("manifest.json")).unwrap();
        let paths = manifest["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap());
        let paths: Vec<String> = paths.filter(|path| *path != "report.html").map(str::to_string).collect();
        manifest.as_object_mut().unwrap().remove("files");
        self.json("manifest", &manifest);
        self.text("files", &paths.join(" "));
        if let Ok(tree) = std::fs::read_to_string(beside(folder, ".tree")) {
            let tree: Value = serde_json::from_str(&tree).unwrap();
            self.text("tree", &tree.to_string());
        }
        let receipt = std::fs::read_to_string(beside(folder, ".receipt.json")).unwrap();
        let mut receipt: Value = serde_json::from_str(&receipt).unwrap();
        for key in ["resources", "input", "asked", "manifest_sha256"] {
            receipt.as_object_mut().unwrap().remove(key);
        }
        self.json("receipt", &receipt);
        for table in ["data", "quasi", "sensitive"].iter().filter(|name| folder.join(name).is_dir()) {
            self.table(table, &decode(&folder.join(table)));
        }
    }
}

/// The snapshots of a family of cases, compared with their reference.
pub struct Family {
    name: &'static str,
    cases: Vec<(String, Snapshot)>,
}

impl Family {
    pub fn new(name: &'static str) -> Self {
        Family { name, cases: Vec::new() }
    }

    pub fn add(&mut self, case: &str, snapshot: Snapshot) {
        assert!(self.cases.iter().all(|(other, _)| other != case), "two cases {case}");
        self.cases.push((case.to_string(), snapshot));
    }

    fn path(&self) -> PathBuf {
        let folder = root().join("tests/suite/frozen");
        let spilled = folder.join(format!("{}-spilled.txt", self.name));
        match cfg!(feature = "force-spill") && spilled.exists() {
            true => spilled,
            false => folder.join(format!("{}.txt", self.name)),
        }
    }

    fn write(&self) {
        let mut text = String::new();
        for (case, snapshot) in &self.cases {
            text.push_str(&format!("[{case}]\n"));
            for (name, field) in &snapshot.fields {
                text.push_str(&format!("{name} = {}\n", field.kept));
            }
        }
        std::fs::write(self.path(), text).unwrap();
    }

    /// Fails with every difference, or writes the reference if `SKYVEIL_FREEZE` is set.
    pub fn compare(self) {
        if std::env::var_os("SKYVEIL_FREEZE").is_some() {
            return self.write();
        }
        let text = std::fs::read_to_string(self.path()).unwrap();
        let reference = parse(&text);
        let mut differences = Vec::new();
        for (case, snapshot) in &self.cases {
            match reference.get(case.as_str()) {
                Some(fields) => differences.extend(differing(case, fields, snapshot)),
                None => differences.push(format!("{case}: has no reference")),
            }
        }
        let made = |case: &&&str| self.cases.iter().any(|(own, _)| own == **case);
        differences
            .extend(reference.keys().filter(|case| !made(case)).map(|case| format!("{case}: is gone")));
        assert!(differences.is_empty(), "{} differs:\n{}", self.path().display(), differences.join("\n"));
    }
}

type Fields<'a> = BTreeMap<&'a str, &'a str>;

fn parse(text: &str) -> BTreeMap<&str, Fields<'_>> {
    let mut cases = BTreeMap::new();
    let mut open = "";
    for line in text.lines() {
        match line.split_once(" = ") {
            Some((name, kept)) => {
                let fields: &mut Fields<'_> = cases.entry(open).or_default();
                fields.insert(name, kept);
            }
            None => open = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap(),
        }
    }
    cases
}

fn differing(case: &str, reference: &Fields<'_>, snapshot: &Snapshot) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, field) in &snapshot.fields {
        let full: String = field.full.chars().take(600).collect();
        match reference.get(name.as_str()) {
            Some(kept) if *kept == field.kept => {}
            Some(kept) => differences.push(format!("{case}: {name} was {kept}, is {}: {full}", field.kept)),
            None => differences.push(format!("{case}: {name} is new: {full}")),
        }
    }
    let gone = reference.iter().filter(|(name, _)| !snapshot.fields.contains_key(**name));
    differences.extend(gone.map(|(name, kept)| format!("{case}: {name} is gone, was {kept}")));
    differences
}

/// A changed cell, two swapped rows, a new field and a missing one are each reported.
#[test]
fn a_change_is_reported() {
    let snapshot = |rows: &[&str], json: &str| {
        let rows =
            rows.iter().map(|row| row.split(',').map(|cell| Some(cell.to_string())).collect()).collect();
        let [names, types] = ["group,age", "u64,text"].map(|t| t.split(',').map(str::to_string).collect());
        let mut snapshot = Snapshot::default();
        snapshot.table("data", &Decoded { names, types, rows });
        snapshot.json("manifest", &serde_json::from_str(json).unwrap());
        snapshot
    };
    let before = snapshot(&["1,20", "1,21", "2,30"], r#"{"groups": 2, "seconds": 1}"#);
    let kept: Fields<'_> =
        before.fields.iter().map(|(name, field)| (name.as_str(), field.kept.as_str())).collect();
    let found = |rows: &[&str], json: &str| differing("case", &kept, &snapshot(rows, json)).join("\n");
    assert_eq!(found(&["1,20", "1,21", "2,30"], r#"{"groups": 2, "seconds": 5}"#), "");
    assert!(
        found(&["1,20", "1,22", "2,30"], r#"{"groups": 2}"#)
            .contains("data.rows[001] was '1','21', is '1','22'")
    );
    assert!(found(&["1,21", "1,20", "2,30"], r#"{"groups": 2}"#).contains("data.rows[000]"));
    assert!(found(&["1,20", "1,21"], r#"{"groups": 2}"#).contains("data.rows.length was 3, is 2"));
    assert!(found(&["1,20", "1,21", "2,30"], r#"{"groups": 3}"#).contains("manifest.groups was 2, is 3"));
    let renamed = found(&["1,20", "1,21", "2,30"], r#"{"people": 2}"#);
    assert!(renamed.contains("manifest.people is new") && renamed.contains("manifest.groups is gone"));
}
