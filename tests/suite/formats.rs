//! Releases in every format are the same release: checked, read back, explained and reported alike.

use crate::support::{Folder, contents, dataset, ends_with, json, printed, remove_release, skyveil, text};
use serde_json::Value;
use std::io::Read;
use std::path::Path;

const FORMATS: [&str; 4] = ["parquet", "arrow", "csv", "csv.gz"];

fn anonymize(table: &Path, policy: &Path, out: &Path, more: &[&str]) {
    remove_release(out);
    let arguments = ["anonymize", text(table), "--policy", text(policy), "--out", text(out)];
    let output = skyveil(&[&arguments, more].concat());
    assert_eq!(output.status.code(), Some(0), "{more:?}: {}", printed(&output));
}

fn answer(arguments: &[&str]) -> Value {
    let output = skyveil(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", printed(&output));
    json(&output)
}

/// The text of a CSV file of a release, compressed or not.
fn plain(release: &Path, table: &str) -> String {
    let name = |ending: &str| release.join(table).join(format!("part-00000.{ending}"));
    match std::fs::File::open(name("csv.gz")) {
        Ok(file) => {
            let mut text = String::new();
            flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
            text
        }
        Err(_) => std::fs::read_to_string(name("csv")).unwrap(),
    }
}

#[test]
fn every_format_gives_the_same_answers() {
    let folder = Folder::new();
    for name in ["clinic", "census-two", "visits"] {
        let table = dataset(&format!("{}.csv", name.split('-').next().unwrap()));
        let policy = dataset(&format!("{name}.toml"));
        let mut expected: Option<[Value; 3]> = None;
        for format in FORMATS {
            let out = folder.path("r");
            anonymize(&table, &policy, &out, &["--format", format]);
            let shown = ends_with(0, &["show", text(&out)]);
            let sensitive = if name == "census-two" { &["--sensitive", "diagnosis"][..] } else { &[] };
            let skyline = ["skyline", text(&out), "--all", "--confidence", "0.9"];
            let answers = [
                answer(&["check", text(&out)]),
                answer(&[&skyline[..], sensitive].concat()),
                Value::String(shown),
            ];
            match &expected {
                None => expected = Some(answers),
                Some(expected) => assert_eq!(&answers, expected, "{name} as {format}"),
            }
            ends_with(0, &["report", text(&out), "--out", &folder.text("page.html")]);
        }
    }
}

const TEXTS: &str = r#"
[columns]
sensitive = "sick"
keep = ["=note"]
[columns.quasi.age]
domain = [0, 100]
[columns.quasi.town]
[publish]
format = "csv"
[[privacy.skyline]]
l = 1
k = 1
m = 1
confidence = 0.9
"#;

#[test]
fn a_spreadsheet_runs_nothing_and_every_text_comes_back() {
    let folder = Folder::new();
    let sick = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "'quoted'", "@SUM(A1)", "a, \"b\"\nc"];
    let towns = ["=HYPERLINK(\"x\")", "-7", "plain", "+1 2", "\tx"];
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut table = String::from("age,town,sick,=note\n");
    for i in 0..240 {
        let draw = crate::support::scramble(i) as usize;
        let (town, sick) = (quoted(towns[draw % 5]), quoted(sick[draw / 32 % 6]));
        table.push_str(&format!("{},{town},{sick},{}\n", draw / 1024 % 90, quoted("=A1")));
    }
    let table = folder.write("t.csv", &table);
    let policy = folder.write("p.toml", &format!("accept = [\"unique kept values\"]\n{TEXTS}"));
    let (table, policy, out) = (Path::new(&table), Path::new(&policy), folder.path("r"));
    anonymize(table, policy, &out, &[]);
    let text = plain(&out, "data");
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let mut guarded = 0;
    for record in reader.records() {
        for cell in &record.unwrap() {
            let number = cell.parse::<f64>().is_ok();
            assert!(number || !cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{cell:?}");
            guarded += usize::from(cell.starts_with('\''));
        }
    }
    assert!(guarded > 240, "{guarded}");
    let stated = answer(&["check", text_of(&out)]);
    let values: Vec<&str> =
        stated["points"].as_array().unwrap().iter().map(|point| point["value"].as_str().unwrap()).collect();
    assert!(sick.iter().all(|value| values.contains(value)), "{values:?}");
    // The flag takes precedence, and what was published as Parquet is judged alike.
    anonymize(table, policy, &out, &["--format", "parquet"]);
    assert!(out.join("data/part-00000.parquet").exists() && !out.join("data/columns.json").exists());
    assert_eq!(answer(&["check", text_of(&out)])["points"], stated["points"]);
}

fn text_of(path: &Path) -> &str {
    text(path)
}

#[test]
fn the_bytes_of_every_format_depend_on_the_table_alone() {
    let folder = Folder::new();
    let (table, policy) = (dataset("census.csv"), dataset("census.toml"));
    for format in &FORMATS[1..] {
        let mut expected = None;
        for run in [["--threads", "1", "--memory", "64MiB"], ["--threads", "3", "--memory", "1GiB"]] {
            let out = folder.path("r");
            anonymize(&table, &policy, &out, &[&["--format", format], &run[..]].concat());
            let bytes = contents(&out);
            assert!(expected.get_or_insert_with(|| bytes.clone()) == &bytes, "{format}");
        }
    }
    // No time and no name: the flags and the time of a gzip header are zero.
    let file = std::fs::read(folder.path("r/data/part-00000.csv.gz")).unwrap();
    assert_eq!(file[3..8], [0; 5]);
}

#[test]
fn what_csv_cannot_hold_is_refused_before_a_release_appears() {
    let folder = Folder::new();
    let policy = "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\n[privacy]\nminimum_distinct = 2\n";
    let policy = format!("accept = [\"unprotected values\", \"ends of ranges\"]\n{policy}");
    let policy = folder.write("p.toml", &policy);
    let words = arrow_array::StringArray::from(vec!["", "x", "", "y"]);
    let numbers = arrow_array::Int64Array::from(vec![1, 2, 3, 4]);
    let columns: [(&str, arrow_array::ArrayRef); 2] =
        [("q", std::sync::Arc::new(numbers)), ("s", std::sync::Arc::new(words))];
    let batch = arrow_array::RecordBatch::try_from_iter(columns).unwrap();
    crate::support::library::write(&folder.path("t.parquet"), &batch);
    let (table, out) = (folder.text("t.parquet"), folder.text("r"));
    let run =
        |format| skyveil(&["anonymize", &table, "--policy", &policy, "--out", &out, "--format", format]);
    let refused = run("csv");
    assert_eq!(refused.status.code(), Some(2), "{}", printed(&refused));
    assert!(printed(&refused).contains("column s holds an empty text"), "{}", printed(&refused));
    assert!(!folder.path("r").exists());
    let made = run("arrow");
    assert_eq!(made.status.code(), Some(0), "{}", printed(&made));
}

#[test]
fn types_that_were_changed_are_noticed() {
    let folder = Folder::new();
    let out = folder.path("r");
    anonymize(&dataset("census.csv"), &dataset("census.toml"), &out, &["--format", "csv"]);
    let types = out.join("data/columns.json");
    let text = std::fs::read_to_string(&types).unwrap();
    std::fs::write(&types, text.replace("\"group\": \"integer\"", "\"group\": \"float\"")).unwrap();
    assert_eq!(skyveil(&["check", text_of(&out)]).status.code(), Some(1));
    std::fs::write(&types, "[]").unwrap();
    assert!(ends_with(1, &["check", text_of(&out)]).contains("columns.json"));
    std::fs::remove_file(&types).unwrap();
    assert_eq!(skyveil(&["check", text_of(&out)]).status.code(), Some(1));
}
