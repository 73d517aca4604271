//! People, numbers and domains mean the same in the whole table as in its groups, and in `check` as in `anonymize`.

use super::tables::{answer, arrow_file, check, parquet_file};
use crate::support::{Folder, printed, remove_release, skyveil, text};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use std::path::Path;
use std::sync::Arc;

const NAN: Option<f64> = Some(f64::NAN);

fn floats(values: &[Option<f64>]) -> ArrayRef {
    Arc::new(values.iter().copied().collect::<Float64Array>())
}

fn numbers(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .unwrap()
}

/// Runs a test on the same rows in every format that has a NaN. In a CSV file it is a text like any other.
fn in_every_format(folder: &Folder, rows: &RecordBatch, test: impl Fn(&Path)) {
    let (parquet, arrow) = (folder.path("t.parquet"), folder.path("t.arrow"));
    parquet_file(&parquet, rows, 2);
    arrow_file(&arrow, rows, 2);
    [parquet, arrow].iter().for_each(|path| test(path));
}

/// The exit code of a run that must not fail.
fn code(arguments: &[&str]) -> i32 {
    let output = skyveil(arguments);
    let code = output.status.code().unwrap();
    assert!(code < 2, "{}", printed(&output));
    code
}

#[test]
fn t_closeness_counts_people_in_the_whole_table_too() {
    let folder = Folder::new();
    let rows = "who,q,grp,s\np1,1,1,a\np1,1,1,a\np1,1,1,a\np2,2,2,b\np3,2,2,b\n";
    let table = folder.write("t.csv", rows);
    let policy = "accept = [\"ends of ranges\"]\n[columns]\nindividual = \"who\"\nsensitive = \"s\"\nquasi = [\"q\"]\ndrop = [\"grp\"]\n[privacy]\n\
                  t_closeness = { t = 0.65 }\n";
    let policy = folder.write("p.toml", policy);
    let found = answer(Path::new(&table), &["--policy", &policy, "--group", "grp", "--memory", "1MiB"]);
    assert_eq!(found["safe"], false);
    assert_eq!(found["points"][0]["measured_exact"], "2/3", "{found}");
    // One group is as close to the table as can be, so this is what is published.
    let (out, table) = (folder.text("out"), table.as_str());
    assert_eq!(code(&["anonymize", table, "--policy", &policy, "--out", &out]), 0);
    assert_eq!(answer(Path::new(&out), &[])["groups"], 1);
}

#[test]
fn smoothing_uses_the_order_that_the_policy_states() {
    let folder = Folder::new();
    let table = folder.write("t.csv", "q,s,grp\n2,b,0\n2,a,1\n1,b,0\n2,c,1\n");
    let policy = |t: &str| {
        let policy = format!(
            "accept = [\"ends of ranges\"]\n[columns]\nquasi = [\"q\"]\ndrop = [\"grp\"]\n[columns.sensitive.s]\n\
             order = [\"a\", \"b\", \"c\", \"d\"]\n[privacy]\nmodel = \"beliefs\"\nsmooth = 0.75\n[[privacy.beliefs]]\nbandwidth = 0.5\nt = {t}\n"
        );
        folder.write("p.toml", &policy)
    };
    // The largest distance is 0.0079165; without d it would be 0.0033274.
    for (t, expected) in [("0.0079164", 1), ("0.0079166", 0)] {
        assert_eq!(code(&["check", &table, "--group", "grp", "--policy", &policy(t)]), expected, "{t}");
    }
    let policy = policy("0.0079166");
    let out = folder.text("out");
    let attack = skyveil(&["attack", &table, "--group", "grp", "--policy", &policy, "--json"]);
    assert!(printed(&attack).contains("0.00791"), "{}", printed(&attack));
    assert_eq!(code(&["anonymize", &table, "--policy", &policy, "--out", &out]), 0);
    assert_eq!(code(&["check", &out, "--original", &table]), 0);
}

#[test]
fn nan_is_null_for_everybody() {
    let folder = Folder::new();
    let rows = batch(vec![
        ("q", floats(&[NAN, None, Some(1.0)])),
        ("grp", numbers(&[1, 1, 1])),
        ("s", floats(&[NAN, None, Some(1.0)])),
    ]);
    let policy = |c: &str| {
        let policy = format!(
            "accept = [\"ends of ranges\"]\n[columns]\nquasi = [\"q\"]\ndrop = [\"grp\"]\n[columns.sensitive.s]\nnull_is = \"m\"\n[privacy]\n\
             skyline = [{{ confidence = {c} }}]\n"
        );
        folder.write("p.toml", &policy)
    };
    in_every_format(&folder, &rows, |path| {
        let table = text(path);
        for (c, unsafe_) in [("0.6", 1), ("0.7", 0)] {
            let policy = policy(c);
            let out = folder.text("out");
            assert_eq!(
                code(&["check", table, "--group", "grp", "--policy", &policy]),
                unsafe_,
                "{table} {c}"
            );
            assert_eq!(
                code(&["anonymize", table, "--policy", &policy, "--out", &out]),
                unsafe_,
                "{table} {c}"
            );
        }
        remove_release(&folder.path("out"));
        let found = answer(path, &["--group", "grp", "--policy", &policy("0.7")]);
        let values: Vec<_> =
            found["points"].as_array().unwrap().iter().map(|point| &point["value"]).collect();
        assert_eq!(values, ["1", "m"], "{found}");
    });
    // Without a meaning for null there is none for NaN.
    let path = folder.path("t.parquet");
    let output = check(&path, &["--group", "grp", "--sensitive", "s", "--point", "0,0,0,0.9"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(printed(&output).contains("null in 2 rows"), "{}", printed(&output));
}

#[test]
fn nan_does_not_join_a_group_that_readers_can_tell_from_it() {
    let folder = Folder::new();
    let rows = batch(vec![
        ("grp", floats(&[NAN, None, Some(0.0), Some(-0.0)])),
        ("s", texts(&["a", "b", "a", "b"])),
    ]);
    for path in [folder.path("t.parquet"), folder.path("t.arrow")] {
        match path.extension().is_some_and(|format| format == "arrow") {
            true => arrow_file(&path, &rows, 3),
            false => parquet_file(&path, &rows, 3),
        }
        let found = answer(&path, &["--group", "grp", "--sensitive", "s", "--point", "0,0,0,0.6"]);
        assert_eq!((&found["groups"], &found["safe"]), (&4.into(), &false.into()), "{found}");
    }
}

#[test]
fn zero_is_one_person_whatever_its_sign() {
    let folder = Folder::new();
    let rows = batch(vec![
        ("who", floats(&[Some(0.0), Some(-0.0), Some(1.0), Some(2.0)])),
        ("q", numbers(&[1, 1, 1, 1])),
        ("grp", numbers(&[1, 1, 1, 1])),
        ("s", texts(&["a", "a", "b", "c"])),
    ]);
    let policy = "accept = [\"ends of ranges\"]\n[columns]\nindividual = \"who\"\nsensitive = \"s\"\nquasi = [\"q\"]\ndrop = [\"grp\"]\n[privacy]\n\
                  minimum_group_size = 3\nskyline = [{ confidence = 0.4 }]\n";
    let policy = folder.write("p.toml", policy);
    crate::support::library::write(&folder.path("t.csv"), &rows);
    let test = |path: &Path| {
        let found = answer(path, &["--policy", &policy, "--group", "grp"]);
        assert_eq!((&found["individuals"], &found["safe"]), (&3.into(), &true.into()), "{path:?} {found}");
        let out = folder.text("out");
        assert_eq!(code(&["anonymize", text(path), "--policy", &policy, "--out", &out]), 0);
        assert_eq!(answer(Path::new(&out), &[])["individuals"], 3);
        remove_release(&folder.path("out"));
    };
    in_every_format(&folder, &rows, test);
    test(&folder.path("t.csv"));
}

#[test]
fn infinite_numbers_are_published_and_read_back() {
    let folder = Folder::new();
    let ends = [f64::INFINITY, f64::NEG_INFINITY, 1.5, 2.5, 1e300];
    let rows = batch(vec![
        ("q", floats(&(0..60).map(|i| Some(ends[i % 5])).collect::<Vec<_>>())),
        ("s", texts(&(0..60).map(|i| ["a", "b", "c"][i % 3]).collect::<Vec<_>>())),
    ]);
    let policy =
        "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\n[privacy]\nskyline = [{ confidence = 0.9 }]\n";
    let policy = folder.write("p.toml", policy);
    in_every_format(&folder, &rows, |path| {
        let out = folder.text("out");
        assert_eq!(code(&["anonymize", text(path), "--policy", &policy, "--out", &out]), 0);
        assert_eq!(code(&["check", &out]), 0);
        assert_eq!(code(&["report", &out, "--original", text(path), "--out", &folder.text("r.html")]), 0);
        let receipt = std::fs::read_to_string(folder.path("out.receipt.json")).unwrap();
        let receipt: serde_json::Value = serde_json::from_str(&receipt).unwrap();
        assert!(receipt["utility"]["certainty_penalty"]["published"].is_f64(), "{receipt}");
        remove_release(&folder.path("out"));
    });
}

#[test]
fn a_grid_that_is_finer_than_its_numbers_is_refused() {
    let folder = Folder::new();
    let rows = batch(vec![
        ("q", floats(&(0..40).map(|i| Some(1e16 + f64::from(i) * 2.0)).collect::<Vec<_>>())),
        ("s", texts(&(0..40).map(|i| ["a", "b", "c"][i % 3]).collect::<Vec<_>>())),
    ]);
    let policy = |grid: &str| {
        let columns = format!("[columns]\nsensitive = \"s\"\n[columns.quasi.q]\ngrid = {grid}\n");
        folder.write("p.toml", &format!("{columns}[privacy]\nskyline = [{{ confidence = 0.9 }}]\n"))
    };
    in_every_format(&folder, &rows, |path| {
        let out = folder.text("out");
        let refused = skyveil(&["anonymize", text(path), "--policy", &policy("0.5"), "--out", &out]);
        assert!(
            refused.status.code() == Some(2) && printed(&refused).contains("finer"),
            "{}",
            printed(&refused)
        );
        assert_eq!(code(&["anonymize", text(path), "--policy", &policy("10"), "--out", &out]), 0);
        remove_release(&folder.path("out"));
    });
}

#[test]
fn nan_names_nobody() {
    let folder = Folder::new();
    let rows = batch(vec![
        ("who", floats(&[NAN, Some(1.0), Some(2.0)])),
        ("q", numbers(&[1, 1, 1])),
        ("s", texts(&["a", "b", "c"])),
    ]);
    let policy =
        "[columns]\nindividual = \"who\"\nsensitive = \"s\"\nquasi = [\"q\"]\n[privacy]\nk_anonymity = 2\n";
    let policy = folder.write("p.toml", policy);
    in_every_format(&folder, &rows, |path| {
        for command in [
            &["check", text(path), "--policy", &policy][..],
            &["anonymize", text(path), "--policy", &policy, "--out", &folder.text("out")],
        ] {
            let output = skyveil(command);
            assert_eq!(output.status.code(), Some(2), "{command:?}");
            assert!(printed(&output).contains("is null in 1 row"), "{}", printed(&output));
        }
    });
}
