//! Releases as a user gets them: safe, identical for any memory and number of threads, and never incomplete.

use crate::support::library::{Outcome, Run, read, rows, write};
use crate::support::{command, contents, remove_release, scramble};
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_cast::display::array_value_to_string;
use arrow_select::take::take_record_batch;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

const POLICY: &str = r#"
accept = ["repeated ids", "unique kept values"]   # the costs
[columns]
sensitive = "disease"
drop = ["name"]
[columns.quasi.age]
grid = 1
[columns.quasi.zip]
prefix = [3, 1]
[columns.quasi.city]
[privacy]
k_anonymity = 4
[[privacy.skyline]]
l = 1
k = 1
m = 1
confidence = 0.9
"#;

/// The people with the numbers `rows` of an endless table.
fn people(rows: impl Iterator<Item = u64> + Clone) -> RecordBatch {
    let pick = |salt: u64, n: u64| rows.clone().map(move |i| scramble(i * 8 + salt) % n);
    let text = |values: Vec<String>| Arc::new(StringArray::from(values)) as ArrayRef;
    let age: Int64Array =
        pick(1, 74).map(|age| if age == 73 { None } else { Some(17 + age as i64) }).collect();
    let cities = ["Aachen", "Bonn", "Celle", "Dresden", "Essen"];
    let diseases = ["Asthma", "Flu", "HIV", "Injury", "None", "Ulcer", "Vertigo"];
    RecordBatch::try_from_iter([
        ("name", text(rows.clone().map(|i| format!("p{i}")).collect())),
        ("age", Arc::new(age) as ArrayRef),
        ("zip", text(pick(2, 400).map(|zip| format!("{:05}", 1_000 + zip * 7)).collect())),
        ("city", text(pick(3, 5).map(|city| cities[city as usize].to_string()).collect())),
        ("cost", Arc::new(pick(4, 9000).map(|cost| cost as i64).collect::<Int64Array>()) as ArrayRef),
        ("disease", text(pick(5, 7).map(|disease| diseases[disease as usize].to_string()).collect())),
    ])
    .unwrap()
}

/// The rows of a table as texts, in ascending order.
fn sorted_rows(batch: &RecordBatch) -> Vec<Vec<String>> {
    let mut rows = rows(batch);
    rows.sort();
    rows
}

#[test]
fn the_release_is_the_same_whatever_the_memory_threads_batches_order_files_and_format() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let table = people(0..20_000);
    write(&place("whole.parquet"), &table);
    write(&place("whole.arrow"), &table);
    write(&place("whole.csv"), &table);
    let backwards =
        take_record_batch(&table, &(0..20_000u64).rev().collect::<arrow_array::UInt64Array>()).unwrap();
    write(&place("b1.parquet"), &backwards.slice(0, 7_001));
    write(&place("b2.parquet"), &backwards.slice(7_001, 12_999));
    let styles = [
        ("plain", POLICY.replace("[\"name\"]", "[\"name\", \"cost\"]")),
        ("keep", POLICY.replace("drop", "keep = [\"cost\"]\ndrop")),
        (
            "buckets",
            format!(
                "{}\n[publish]\nstyle = \"bucketized\"\n",
                POLICY.replace("[\"name\"]", "[\"name\", \"cost\"]")
            ),
        ),
        (
            "bounds",
            format!(
                "{}\n[publish]\nranges = \"bounds\"\n",
                POLICY.replace("[\"name\"]", "[\"name\", \"cost\"]")
            ),
        ),
    ];
    for (style, policy) in styles {
        let whole = [place("whole.parquet")];
        let first = Run::new(&whole, &policy, place(&format!("{style}-first")));
        let summary = first.publish();
        assert_eq!(summary.records, 20_000);
        // Columns that travel with their rows are left to a second scan.
        let travelling = ["keep", "buckets"].contains(&style);
        assert_eq!(summary.source_scans, 1 + u64::from(travelling));
        assert!(summary.groups > 500, "{}", summary.groups);
        let expected = contents(&first.out);
        let variants: [(&str, &[PathBuf], u64, usize, usize); 5] = [
            ("tight", &whole, 3 << 20, 1, 8192),
            ("threads", &whole, 8 << 20, 5, 1000),
            ("arrow", &[place("whole.arrow")], 64 << 20, 2, 333),
            ("csv", &[place("whole.csv")], 64 << 20, 3, 8192),
            ("order", &[place("b1.parquet"), place("b2.parquet")], 4 << 20, 2, 8192),
        ];
        for (name, paths, memory, threads, batch_rows) in variants {
            let out = place(&format!("{style}-{name}"));
            let variant = Run { memory, threads, batch_rows, ..Run::new(paths, &policy, out) };
            variant.publish();
            let own = contents(&variant.out);
            assert_eq!(own.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
            for (file, bytes) in &own {
                assert!(*bytes == expected[file], "{style} {name}: {file} differs");
            }
        }
    }
}

#[test]
fn what_does_not_fit_goes_to_disk_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let input = [folder.path().join("t.parquet")];
    write(&input[0], &people(0..400_000));
    let policy = POLICY.replace("[\"name\"]", "[\"name\", \"cost\"]");
    let tight = Run { memory: 1 << 20, ..Run::new(&input, &policy, folder.path().join("tight")) };
    let summary = tight.publish();
    assert!(summary.spilled_bytes > 400_000, "{}", summary.spilled_bytes);
    assert_eq!(summary.source_scans, 1);
}

#[test]
fn nothing_is_lost_and_kept_values_stay_with_their_disease() {
    let folder = tempfile::tempdir().unwrap();
    let input = [folder.path().join("t.parquet")];
    let table = people(0..5_000);
    write(&input[0], &table);
    let keep = POLICY.replace("drop", "keep = [\"cost\"]\ndrop");
    let run = Run { memory: 2 << 20, ..Run::new(&input, &keep, folder.path().join("keep")) };
    run.publish();
    let released = read(&run.out.join("data"), &["cost", "disease"]);
    let source = table.project(&[4, 5]).unwrap();
    assert_eq!(sorted_rows(&released), sorted_rows(&source));

    let buckets = format!("{keep}\n[publish]\nstyle = \"bucketized\"\n");
    let run = Run::new(&input, &buckets, folder.path().join("buckets"));
    run.publish();
    let released = read(&run.out.join("quasi"), &["age", "zip", "city", "cost"]);
    assert_eq!(sorted_rows(&released), sorted_rows(&table.project(&[1, 2, 3, 4]).unwrap()));
    let counts = read(&run.out.join("sensitive"), &["count"]);
    let counts: i64 = counts.column(0).as_primitive::<Int64Type>().values().iter().sum();
    assert_eq!(counts, 5_000);
}

#[test]
fn labels_hold_the_people_of_their_group() {
    let folder = tempfile::tempdir().unwrap();
    let input = [folder.path().join("t.parquet")];
    write(&input[0], &people(0..3_000));
    let policy = POLICY.replace("drop", "keep = [\"cost\"]\ndrop");
    let labels = Run::new(&input, &policy, folder.path().join("labels"));
    labels.publish();
    let buckets = format!("{policy}\n[publish]\nstyle = \"bucketized\"\n");
    let exact = Run::new(&input, &buckets, folder.path().join("exact"));
    exact.publish();
    let labels = read(&labels.out.join("data"), &["group", "age", "zip", "city"]);
    let mut of_group = BTreeMap::new();
    for row in rows(&labels) {
        of_group.insert(row[0].clone(), row);
    }
    let exact = read(&exact.out.join("quasi"), &["group", "age", "zip", "city"]);
    for row in rows(&exact) {
        let label = &of_group[&row[0]];
        assert!(range_holds(&label[1], &row[1]), "age {} in {}", row[1], label[1]);
        assert!(row[2].starts_with(label[2].trim_end_matches('*')), "zip {} in {}", row[2], label[2]);
        assert!(label[3] == "*" || label[3].contains(&row[3]), "city {} in {}", row[3], label[3]);
    }
}

fn range_holds(label: &str, value: &str) -> bool {
    if value.is_empty() {
        return label == "*" || label.starts_with("null");
    }
    let label = label.strip_prefix("null|").unwrap_or(label);
    if label == "*" {
        return true;
    }
    let Some((low, high)) = label.get(1..label.len() - 1).and_then(|ends| ends.split_once(',')) else {
        return label == value;
    };
    let value: i64 = value.parse().unwrap();
    let above = low.is_empty() || value >= low.parse::<i64>().unwrap();
    above && (high.is_empty() || value < high.parse::<i64>().unwrap())
}

#[test]
fn people_with_several_values_are_published_apart_from_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let input = [folder.path().join("t.parquet")];
    let mut lists = ListBuilder::new(StringBuilder::new());
    for i in 0..4_000u64 {
        for item in 0..scramble(i) % 4 {
            lists.values().append_value(format!("d{}", scramble(i * 31 + item) % 9));
        }
        lists.append(true);
    }
    let base = people(0..4_000);
    let mut columns: Vec<(&str, ArrayRef)> =
        vec![("age", base.column(1).clone()), ("city", base.column(3).clone())];
    columns.push(("disease", Arc::new(lists.finish())));
    write(&input[0], &RecordBatch::try_from_iter(columns).unwrap());
    for values in ["set", "multiset"] {
        let policy = format!(
            "[columns]\nsensitive = \"disease\"\nquasi = {{ age = {{ grid = 1 }}, city = {{}} }}\n[privacy]\nvalues = \"{values}\"\n\
             [[privacy.skyline]]\nl = 1\nk = 2\nm = 1\nconfidence = 0.7\n"
        );
        let first = Run::new(&input, &policy, folder.path().join(format!("{values}-1")));
        let summary = first.publish();
        assert!(summary.groups > 50, "{values}: {}", summary.groups);
        let second = Run {
            memory: 3 << 20,
            threads: 1,
            ..Run::new(&input, &policy, folder.path().join(format!("{values}-2")))
        };
        second.publish();
        assert!(contents(&first.out) == contents(&second.out), "{values}");
        assert_eq!(read(&first.out.join("quasi"), &["group"]).num_rows(), 4_000);
    }
}

#[test]
fn an_unsafe_whole_is_refused_with_its_reason_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let input = [folder.path().join("t.parquet")];
    write(&input[0], &people(0..100));
    let policy = POLICY.replace("[\"name\"]", "[\"name\", \"cost\"]").replace("k = 1", "k = 100");
    let run = Run::new(&input, &policy, folder.path().join("out"));
    assert!(
        matches!(run.outcome().unwrap(), Outcome::Impossible(findings) if findings[0].failing().count() == 7)
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// The arguments that anonymize `input` into `out`, with the policy next to it.
fn arguments(folder: &Path, out: &str) -> Vec<String> {
    let place = |name: &str| folder.join(name).to_str().unwrap().to_string();
    std::fs::write(place("policy.toml"), POLICY.replace("[\"name\"]", "[\"name\", \"cost\"]")).unwrap();
    let mut all = vec!["anonymize".to_string(), place("t.parquet")];
    for (flag, value) in [("--policy", "policy.toml"), ("--out", out), ("--temp", "")] {
        all.extend([flag.to_string(), place(value)]);
    }
    all
}

#[test]
fn a_killed_run_leaves_no_release_and_the_next_one_sweeps_up() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("t.parquet"), &people(0..60_000));
    for delay in [5, 20, 60, 120, 240] {
        let mut child =
            command().args(arguments(folder.path(), "out")).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        remove_release(&folder.path().join("out"));
    }
    let done = command().args(arguments(folder.path(), "out")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut left: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    let private = ["out.receipt.json", "out.receipt.key", "out.tree"];
    assert_eq!(left, [&["out"][..], &private, &["policy.toml", "t.parquet"]].concat());
}

#[test]
fn an_older_release_is_never_touched() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("t.parquet"), &people(0..500));
    std::fs::create_dir(folder.path().join("out")).unwrap();
    std::fs::write(folder.path().join("out/precious"), "x").unwrap();
    let done = command().args(arguments(folder.path(), "out")).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("exists already"));
    assert_eq!(std::fs::read(folder.path().join("out/precious")).unwrap(), b"x");
}

#[test]
fn the_memory_that_a_run_takes_stays_below_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("t.parquet"), &people(0..400_000));
    let mut peaks = vec![];
    for memory in ["32MiB", "1GiB"] {
        let mut all = arguments(folder.path(), memory);
        all.extend(["--memory", memory, "--threads", "2", "--json"].map(String::from));
        let done = command().args(all).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        peaks.push(json["peak_memory_bytes"].as_u64().unwrap());
    }
    assert!(peaks[0] <= (32 + 48) << 20, "peak {} MiB", peaks[0] >> 20);
}

/// The check must be able to fail: it catches a release with one changed value in a tight group.
#[test]
fn a_broken_release_is_caught_by_the_check() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("t.parquet"), &people(0..2_000));
    assert!(command().args(arguments(folder.path(), "out")).output().unwrap().status.success());
    let out = folder.path().join("out");
    let check = || command().arg("check").arg(&out).output().unwrap().status.code();
    assert_eq!(check(), Some(0));
    let data = out.join("data");
    let names = ["group", "age", "zip", "city", "disease"];
    let rows = read(&data, &names);
    let one_value = StringArray::from(vec!["Flu"; rows.num_rows()]);
    let groups = rows.column(0).as_primitive::<Int64Type>();
    let broken: StringArray = (0..rows.num_rows())
        .map(|i| {
            let own = array_value_to_string(rows.column(4), i).unwrap();
            Some(if groups.value(i) == 7 { one_value.value(i).to_string() } else { own })
        })
        .collect();
    let mut columns: Vec<(&str, ArrayRef)> =
        names.iter().copied().zip(rows.columns().iter().cloned()).collect();
    columns[4].1 = Arc::new(broken);
    write(&data.join("part-00000.parquet"), &RecordBatch::try_from_iter(columns).unwrap());
    assert_eq!(check(), Some(1));
}

#[test]
fn one_giant_group_is_published_whole() {
    let folder = tempfile::tempdir().unwrap();
    let input = [folder.path().join("t.parquet")];
    write(&input[0], &people(0..20_000));
    let policy = POLICY
        .replace("[\"name\"]", "[\"name\", \"cost\"]")
        .replace("k_anonymity = 4", "k_anonymity = 15000");
    let run = Run { memory: 1 << 20, ..Run::new(&input, &policy, folder.path().join("out")) };
    assert_eq!(run.publish().groups, 1);
    let labels = read(&run.out.join("data"), &["age", "zip", "city"]);
    assert_eq!(labels.num_rows(), 20_000);
    assert!(
        sorted_rows(&labels)
            .iter()
            .flatten()
            .all(|label| ["*", "0*", "null|[17,90)"].contains(&label.as_str()))
    );
}

#[test]
fn a_hundred_quasi_identifiers_fit() {
    let folder = tempfile::tempdir().unwrap();
    let input = [folder.path().join("t.parquet")];
    let names: Vec<String> = (0..100).map(|i| format!("q{i}")).collect();
    let numbers = |salt: u64, n: u64| -> ArrayRef {
        Arc::new((0..2_000u64).map(|row| (scramble(row * 101 + salt) % n) as i64).collect::<Int64Array>())
    };
    let mut columns: Vec<(&str, ArrayRef)> =
        names.iter().enumerate().map(|(i, name)| (name.as_str(), numbers(i as u64, 50))).collect();
    columns.push(("disease", numbers(100, 6)));
    write(&input[0], &RecordBatch::try_from_iter(columns).unwrap());
    let policy = format!(
        "accept = [\"ends of ranges\"]\n[columns]\nsensitive = \"disease\"\nquasi = {names:?}\n[privacy]\nk_anonymity = 20\ndistinct_l_diversity = 2\n"
    );
    let first = Run::new(&input, &policy, folder.path().join("one"));
    assert!(first.publish().groups > 40);
    let second = Run { memory: 4 << 20, threads: 1, ..Run::new(&input, &policy, folder.path().join("two")) };
    second.publish();
    assert!(contents(&first.out) == contents(&second.out));
}
