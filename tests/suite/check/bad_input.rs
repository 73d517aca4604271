//! A request that cannot be answered is rejected with exit code 2 and a remedy, without quoting a cell.

use std::path::Path;

use super::tables::{arrow_file, check, empty_batch, list_batch, parquet_file, single_batch};
use crate::support::text_file;

const SECRET: &str = "cell-of-a-person";

/// Runs the check and returns its error message.
fn refused(table: &Path, arguments: &[&str]) -> String {
    let output = check(table, arguments);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
    assert_eq!(output.stdout, b"", "{arguments:?}");
    assert!(complaint.starts_with("error: "), "{complaint}");
    assert!(!complaint.contains("panicked") && !complaint.contains(SECRET), "{complaint}");
    complaint
}

const GOOD: [&str; 6] = ["--group", "grp", "--sensitive", "sick", "--point", "0,0,0,0.5"];

fn refused_text(text: &str, arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    refused(&text_file(directory.path(), "table.csv", text), arguments)
}

#[test]
fn mistakes_in_the_call() {
    let table = format!("grp,sick\n1,{SECRET}\n1,b\n");
    for (arguments, expected) in [
        (&["--group", "nope", "--sensitive", "sick", "--point", "0,0,0,1"][..], "`nope`"),
        (&["--group", "grp", "--sensitive", "sik", "--point", "0,0,0,1"], "`sick`"),
        (&["--group", "grp", "--sensitive", "sick", "--point", "0,0,0,1", "--individual", "who"], "`who`"),
        (&["--group", "grp", "--sensitive", "grp", "--point", "0,0,0,1"], "two roles"),
        (&["--group", "grp", "--point", "0,0,0,1"], "--sensitive"),
        (&["--sensitive", "sick", "--point", "0,0,0,1"], "--group"),
        (&["--group", "grp", "--sensitive", "sick"], "--point"),
        (&["--group", "grp", "--sensitive", "sick", "--value", "b"], "--point"),
        (
            &["--group", "grp", "--sensitive", "sick", "--point", "0,0,0,1", "--value", "unknown"],
            "\"unknown\"",
        ),
        (&["--group", "grp", "--sensitive", "sick", "--point", "0,0,0,1", "--temp", "/nowhere/at/all"], ""),
    ] {
        if expected.is_empty() {
            // The directory is needed only if the rows of the table are scattered.
            let table = format!("grp,sick\n1,{SECRET}\n2,b\n1,b\n");
            assert!(refused_text(&table, arguments).contains("/nowhere/at/all"));
        } else {
            let complaint = refused_text(&table, arguments);
            assert!(complaint.contains(expected), "{arguments:?}: {complaint}");
        }
    }
}

#[test]
fn impossible_points() {
    let columns = ["--group", "grp", "--sensitive", "sick", "--point"];
    for point in [
        "0,0,0,0",
        "0,0,0,1.5",
        "0,0,0,abc",
        "0,0,0,-0.5",
        "-1,0,0,0.5",
        "0,-1,0,0.5",
        "0,0,-1,0.5",
        "99999999999999999999999,0,0,0.5",
        "0,0,0",
        "",
        "0,0,0,1/0",
        "0,0,0,nan",
    ] {
        refused_text("grp,sick\n1,a\n", &[&columns[..], &[point]].concat());
    }
}

#[test]
fn a_huge_point_is_answered() {
    let directory = tempfile::tempdir().unwrap();
    let table = text_file(directory.path(), "table.csv", "grp,sick\n1,a\n1,b\n");
    for point in ["1000000000,0,0,1", "0,1000000000,0,1", "0,0,1000000000,1"] {
        let arguments = ["--group", "grp", "--sensitive", "sick", "--point", point];
        assert_eq!(check(&table, &arguments).status.code(), Some(1), "{point}");
    }
}

#[test]
fn empty_tables() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty.parquet");
    parquet_file(&path, &empty_batch(), 10);
    assert!(refused(&path, &GOOD).contains("no rows"));
    assert!(refused_text("grp,sick\n", &GOOD).contains("no rows"));
    refused_text("", &GOOD);
}

#[test]
fn missing_and_repeated_values() {
    let nulls = format!("grp,sick\n1,{SECRET}\n1,\n2,\n");
    assert!(refused_text(&nulls, &GOOD).contains("`sick` is null in 2 rows"));
    let long = [&GOOD[..], &["--individual", "who"]].concat();
    let twice = format!("who,grp,sick\n{SECRET},1,a\n{SECRET},1,b\nq,1,a\n");
    assert!(refused_text(&twice, &long).contains("several for 1 person"));
    let two_groups = format!("who,grp,sick\n{SECRET},1,a\n{SECRET},2,b\nq,1,a\n");
    for values in ["single", "set", "multiset"] {
        let complaint = refused_text(&two_groups, &[&long[..], &["--values", values]].concat());
        assert!(complaint.contains("more than one group for 1 person"), "{complaint}");
    }
    let nobody = "who,grp,sick\n,1,a\nq,1,a\n";
    assert!(refused_text(nobody, &long).contains("`who` is null in 1 row,"));
}

#[test]
fn lists_where_they_do_not_belong() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lists.arrow");
    arrow_file(&path, &list_batch(&[(0, 1, vec!["a"])]), 1);
    assert!(refused(&path, &GOOD).contains("--values single, set or multiset"));
    let swapped = ["--group", "sick", "--sensitive", "grp", "--point", "0,0,0,1"];
    assert!(refused(&path, &swapped).contains("`sick` holds lists"));
}

#[test]
fn damaged_files() {
    let directory = tempfile::tempdir().unwrap();
    let rows: Vec<_> = (0..500).map(|i| (i, i as i64 / 10, vec![SECRET])).collect();
    let whole = directory.path().join("whole.parquet");
    parquet_file(&whole, &single_batch(&rows), 100);
    let bytes = std::fs::read(&whole).unwrap();
    let damaged = directory.path().join("damaged.parquet");
    for length in [0, 3, 4, 100, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&damaged, &bytes[..length]).unwrap();
        assert!(refused(&damaged, &GOOD).contains("damaged.parquet"));
    }
    assert!(refused(&directory.path().join("absent.parquet"), &GOOD).contains("absent.parquet"));
    refused_text(&format!("grp,sick\n1,{SECRET}\n1,{SECRET},3\n"), &GOOD);
    let invalid = directory.path().join("invalid.csv");
    std::fs::write(&invalid, b"grp,sick\n1,\xff\xfe\n").unwrap();
    assert!(refused(&invalid, &GOOD).contains("invalid.csv"));
}

#[test]
fn directories() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(refused(&empty, &GOOD).contains("empty"));
    let mixed = directory.path().join("mixed");
    std::fs::create_dir(&mixed).unwrap();
    text_file(&mixed, "a.csv", "grp,sick\n1,a\n");
    text_file(&mixed, "b.csv", "grp,ill\n1,a\n");
    assert!(refused(&mixed, &GOOD).contains("b.csv"));
}

#[test]
fn a_budget_that_is_too_small_says_what_would_do() {
    let table = "grp,sick\n1,a\n2,b\n1,b\n";
    let complaint = refused_text(table, &[&GOOD[..], &["--memory", "1000"]].concat());
    assert!(complaint.contains("--memory"), "{complaint}");
}
