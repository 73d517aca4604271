//! Tables so large that they are grown in parts, and releases of several files; forced with small sizes.

use crate::support::library::{Outcome, Run, read, rows, write};
use crate::support::{beside, contents, ends_with, remove_release, scramble};
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_select::take::take_record_batch;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const POLICY: &str = r#"
accept = ["repeated ids", "unique kept values"]
[columns]
sensitive = "disease"
drop = ["id", "cost"]
[columns.quasi.age]
grid = 1
[columns.quasi.city]
[columns.quasi.zip]
prefix = [3, 1]
[privacy]
k_anonymity = 3
[[privacy.skyline]]
l = 1
k = 1
m = 1
confidence = 0.9
"#;

const PEOPLE: usize = 6_000;

fn people(values: impl Fn(u64) -> ArrayRef) -> RecordBatch {
    let rows = 0..PEOPLE as u64;
    let pick = |salt: u64, n: u64| rows.clone().map(move |i| scramble(i * 8 + salt) % n);
    let text = |texts: Vec<String>| Arc::new(StringArray::from(texts)) as ArrayRef;
    RecordBatch::try_from_iter([
        ("id", text(rows.clone().map(|i| format!("p{i}")).collect())),
        ("age", Arc::new(pick(1, 70).map(|age| age as i64).collect::<Int64Array>()) as ArrayRef),
        ("city", text(pick(3, 5).map(|city| format!("city {city}")).collect())),
        ("zip", text(pick(2, 300).map(|zip| format!("{:05}", 1_000 + zip * 7)).collect())),
        ("cost", Arc::new(pick(4, 9000).map(|cost| cost as i64).collect::<Int64Array>()) as ArrayRef),
        ("disease", values(7)),
    ])
    .unwrap()
}

fn single(diseases: u64) -> ArrayRef {
    let disease = |i: u64| format!("disease {}", scramble(i * 8 + 5) % diseases);
    Arc::new((0..PEOPLE as u64).map(|i| Some(disease(i))).collect::<StringArray>())
}

fn lists(diseases: u64) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for i in 0..PEOPLE as u64 {
        for salt in 5..5 + scramble(i) % 3 {
            lists.values().append_value(format!("disease {}", scramble(i * 8 + salt) % diseases));
        }
        lists.append(true);
    }
    Arc::new(lists.finish())
}

fn publish(run: &Run<'_>) -> u64 {
    match run.in_small_parts().unwrap() {
        Outcome::Published(summary) => summary.groups,
        outcome => panic!("{outcome:?}"),
    }
}

/// The numbers of the groups in each file of a table, in the order of their names.
fn groups_by_file(folder: &Path) -> Vec<Vec<u64>> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let groups = |path: &PathBuf| {
        rows(&read(path, &["group"])).into_iter().map(|row| row[0].parse().unwrap()).collect()
    };
    files.iter().map(groups).collect()
}

/// Which file each group belongs to: a file ends at the first border after every 700 people.
fn expected_files(people: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let all: Vec<u64> = people.concat();
    let mut files: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    let mut before = 0;
    for group in all.chunk_by(|one, other| one == other) {
        files.entry(before / 700).or_default().extend(group);
        before += group.len();
    }
    files.into_values().collect()
}

/// The groups of the tree of cuts from left to right, through the lines that it refers to.
fn groups_of_tree(lines: &[Value], at: &Value, found: &mut Vec<u64>) {
    match (at.as_u64(), at["line"].as_u64(), at["parts"].as_array()) {
        (Some(group), _, _) => found.push(group),
        (_, Some(line), _) => groups_of_tree(lines, &lines[line as usize - 1], found),
        (_, _, Some(parts)) => parts.iter().for_each(|part| groups_of_tree(lines, part, found)),
        _ => panic!("{at}"),
    }
}

fn assert_parts(out: &Path, tables: &[&str], groups: u64) {
    let people = groups_by_file(&out.join(tables[0]));
    assert!(people.len() >= PEOPLE / 700, "{} files", people.len());
    assert_eq!(people, expected_files(&people));
    for table in &tables[1..] {
        let once = |files: Vec<Vec<u64>>| {
            files.into_iter().map(|mut groups| {
                groups.dedup();
                groups
            })
        };
        let values: Vec<Vec<u64>> = once(groups_by_file(&out.join(table))).collect();
        // A group in which nobody has a value has no row there.
        let valued: BTreeSet<u64> = values.concat().into_iter().collect();
        let of_people = once(people.clone()).map(|mut groups| {
            groups.retain(|group| valued.contains(group));
            groups
        });
        assert_eq!(values, of_people.collect::<Vec<_>>(), "{table}");
    }
    let tree = std::fs::read_to_string(beside(out, ".tree")).unwrap();
    let lines: Vec<Value> = tree.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() > PEOPLE / 2_500 + 2, "{} lines", lines.len());
    let mut found = vec![];
    groups_of_tree(&lines, &lines[lines.len() - 1], &mut found);
    assert_eq!(found, (1..=groups).collect::<Vec<_>>());
}

#[test]
fn a_table_in_parts_gives_the_same_files_for_any_memory_threads_and_order() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let keep = POLICY.replace("drop = [\"id\", \"cost\"]", "keep = [\"cost\"]\ndrop = [\"id\"]");
    let buckets = format!("{keep}\n[publish]\nstyle = \"bucketized\"\n");
    let set = keep.replace("[privacy]", "[privacy]\nvalues = \"set\"");
    let styles: [(&str, &str, &[&str], RecordBatch); 4] = [
        ("plain", POLICY, &["data"], people(single)),
        ("keep", &keep, &["data"], people(single)),
        ("buckets", &buckets, &["quasi", "sensitive"], people(single)),
        ("set", &set, &["quasi", "sensitive"], people(lists)),
    ];
    for (style, policy, tables, table) in styles {
        let (whole, backwards) = (place(&format!("{style}.parquet")), place(&format!("{style}-b.parquet")));
        write(&whole, &table);
        let order: UInt64Array = (0..PEOPLE as u64).rev().collect();
        write(&backwards, &take_record_batch(&table, &order).unwrap());
        let (whole, backwards) = ([whole], [backwards]);
        let first = Run::new(&whole, policy, place(&format!("{style}-first")));
        let groups = publish(&first);
        assert!(groups > 100, "{groups}");
        assert_parts(&first.out, tables, groups);
        let expected = (contents(&first.out), std::fs::read(beside(&first.out, ".tree")).unwrap());
        for (name, paths, memory, threads) in [
            ("tight", &whole, 1 << 19, 1),
            ("threads", &whole, 8 << 20, 5),
            ("order", &backwards, 1 << 20, 2),
        ] {
            let out = place(&format!("{style}-{name}"));
            let variant = Run { memory, threads, ..Run::new(paths, policy, out) };
            publish(&variant);
            let own = (contents(&variant.out), std::fs::read(beside(&variant.out, ".tree")).unwrap());
            assert!(own == expected, "{style} {name} differs");
            remove_release(&variant.out);
        }
        let out = first.out.to_str().unwrap();
        let original = whole[0].to_str().unwrap();
        assert!(ends_with(0, &["check", out]).starts_with("safe: 6000 people"));
        let receipt = beside(&first.out, ".receipt.json");
        ends_with(0, &["check", out, "--receipt", receipt.to_str().unwrap(), "--original", original]);
        ends_with(0, &["report", out, "--out", place(&format!("{style}.html")).to_str().unwrap()]);
        ends_with(0, &["skyline", out, "--value", "disease 1", "--confidence", "0.9"]);
    }
}

#[test]
fn a_missing_or_added_part_of_a_release_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let table = [folder.path().join("t.parquet")];
    write(&table[0], &people(single));
    let run = Run::new(&table, POLICY, folder.path().join("out"));
    publish(&run);
    let out = run.out.to_str().unwrap();
    let part = |number: usize| run.out.join(format!("data/part-{number:05}.parquet"));
    let hidden = folder.path().join("hidden.parquet");
    std::fs::rename(part(3), &hidden).unwrap();
    assert!(ends_with(1, &["check", out]).contains("data/part-00003.parquet"));
    std::fs::rename(&hidden, part(3)).unwrap();
    ends_with(0, &["check", out]);
    std::fs::copy(part(0), part(99)).unwrap();
    assert!(ends_with(1, &["check", out]).contains("data/part-00099.parquet"));
}
