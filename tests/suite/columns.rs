//! Several sensitive columns, several rows per person, and rows that represent several people.

use crate::support::library::{Outcome, Result, Run, Summary, read, rows, write};
use crate::support::{
    Folder, beside, dataset, decode, json, printed, remove_release, scramble, skyveil, skyveil_in,
    text as path_text,
};
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a table is read.
#[derive(Clone, Copy)]
struct Means {
    memory: u64,
    threads: usize,
    batch_rows: usize,
}

const PLENTY: Means = Means { memory: 64 << 20, threads: 2, batch_rows: 8192 };
/// Little memory: nodes are small, and most of the pages spill.
const LITTLE: Means = Means { memory: 3 << 20, threads: 1, batch_rows: 100 };

fn anonymize(table: &Path, policy: &str, out: &Path, means: Means) -> Result<Outcome> {
    let Means { memory, threads, batch_rows } = means;
    Run { paths: &[table.to_path_buf()], policy, memory, threads, batch_rows, out: out.to_path_buf() }
        .outcome()
}

fn publish(table: &Path, policy: &str, out: &Path, means: Means) -> Summary {
    match anonymize(table, policy, out, means).unwrap() {
        Outcome::Published(summary) => *summary,
        outcome => panic!("{outcome:?}"),
    }
}

/// Every file of a release with its bytes; for the manifest, only what does not come from the text of the policy.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for table in ["data", "quasi", "sensitive"] {
        for entry in std::fs::read_dir(folder.join(table)).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_string();
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
    files.insert("tree".to_string(), std::fs::read(beside(folder, ".tree")).unwrap());
    let mut manifest: Value =
        serde_json::from_slice(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    for key in ["policy", "policy_sha256", "files"] {
        manifest.as_object_mut().unwrap().remove(key).unwrap();
    }
    files.insert("manifest".to_string(), manifest.to_string().into_bytes());
    files
}

fn rows_of(folder: &Path, columns: &[&str]) -> Vec<Vec<String>> {
    rows(&read(folder, columns))
}

fn write_csv(path: &Path, header: &str, rows: impl IntoIterator<Item = String>) {
    let lines: Vec<String> = std::iter::once(header.to_string()).chain(rows).collect();
    std::fs::write(path, lines.join("\n") + "\n").unwrap();
}

/// The rows in another order.
fn shuffled<T>(rows: Vec<T>, salt: u64) -> Vec<T> {
    let mut keyed: Vec<(u64, T)> =
        rows.into_iter().enumerate().map(|(i, row)| (scramble(i as u64 ^ salt << 32), row)).collect();
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, row)| row).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

// Several sensitive columns.

const TWO: &str = "age,city,disease,job";

fn two_columns(people: u64) -> Vec<String> {
    let person = |i: u64| {
        let pick = |salt: u64, n: u64| scramble(i * 8 + salt) % n;
        // The job follows from the age, mostly, and the disease from the city: both are hard to hide.
        let (age, city) = (18 + pick(1, 60), pick(2, 6));
        let job = ["Clerk", "Cook", "Nurse", "Smith"][((age / 15 + pick(4, 8) / 6) % 4) as usize];
        let disease = ["Asthma", "Flu", "HIV", "Injury", "Ulcer"][((city + pick(3, 12) / 7) % 5) as usize];
        format!("{age},city{city},{disease},{job}")
    };
    (0..people).map(person).collect()
}

fn two_policy(sensitive: &str, rest: &str) -> String {
    let drop = match sensitive {
        "\"disease\"" => "[\"job\"]",
        "\"job\"" => "[\"disease\"]",
        _ => "[]",
    };
    format!(
        "accept = [\"ends of ranges\"]\n[columns]\nsensitive = {sensitive}\ndrop = {drop}\nquasi = [\"age\", \"city\"]\n{rest}"
    )
}

const BELOW: &str = "[[privacy.skyline]]\nl = 0\nk = 0\nm = 0\nconfidence = 0.6\n";
const BOTH: &str = "[\"disease\", \"job\"]";

/// The largest share that a value (or combination) has in its group.
fn largest_share(rows: &[Vec<String>]) -> f64 {
    let mut groups: BTreeMap<&str, BTreeMap<&[String], f64>> = BTreeMap::new();
    for row in rows {
        *groups.entry(&row[0]).or_default().entry(&row[1..]).or_default() += 1.0;
    }
    let share = |values: &BTreeMap<&[String], f64>| {
        values.values().fold(0f64, |most, &n| most.max(n)) / values.values().sum::<f64>()
    };
    groups.values().map(share).fold(0.0, f64::max)
}

#[test]
fn all_columns_hold_at_once_and_each_of_them_constrains() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("t.csv");
    write_csv(&table, TWO, two_columns(3_000));
    let release = |sensitive: &str, name: &str| {
        let out = folder.path().join(name);
        let policy = two_policy(sensitive, &format!("[privacy]\n{BELOW}"));
        (publish(&table, &policy, &out, PLENTY), out.join("data"))
    };
    let (disease, _) = release("\"disease\"", "disease");
    let (job, _) = release("\"job\"", "job");
    let (both, data) = release(BOTH, "both");
    assert!(both.groups < disease.groups && both.groups < job.groups, "{both:?} {disease:?} {job:?}");
    for column in ["disease", "job"] {
        let share = largest_share(&rows_of(&data, &["group", column]));
        assert!((0.3..0.6).contains(&share), "{column}: {share}");
    }
    // Nobody is lost, and the two values of a person stay together.
    let mut published = rows_of(&data, &["disease", "job"]);
    let mut read: Vec<Vec<String>> =
        two_columns(3_000).iter().map(|row| row.split(',').skip(2).map(str::to_string).collect()).collect();
    published.sort();
    read.sort();
    assert_eq!(published, read);
    let manifest = std::fs::read_to_string(folder.path().join("both/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["sensitive"], serde_json::json!(["disease", "job"]));
    let of_job = manifest["points"].as_array().unwrap().iter().filter(|point| point["column"] == "job");
    assert_eq!(of_job.count(), 4);
}

#[test]
fn a_combination_is_protected_beside_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("t.csv");
    write_csv(&table, TWO, two_columns(3_000));
    let policy = |confidence: &str, values: &str| {
        let mut policy = two_policy(BOTH, &format!("[privacy]\n{BELOW}"));
        policy = policy.replace("drop = []", "joint = [\"job\", \"disease\"]");
        policy
            + &format!(
                "[privacy.column.\"disease+job\"]\n[[privacy.column.\"disease+job\".skyline]]\n{values}\
             l = 0\nk = 0\nm = 0\nconfidence = {confidence}\n"
            )
    };
    let release = |confidence: &str, values: &str, name: &str| {
        let out = folder.path().join(name);
        let summary = publish(&table, &policy(confidence, values), &out, PLENTY);
        (summary.groups, rows_of(&out.join("data"), &["group", "disease", "job"]))
    };
    let (loose, _) = release("1", "", "loose");
    let (strict, rows) = release("0.15", "", "strict");
    assert!(strict < loose && largest_share(&rows) < 0.15, "{strict} {loose} {}", largest_share(&rows));
    // One combination alone, by its name.
    let named = "for = [\"HIV + Nurse\"]\n";
    let (one, rows) = release("0.1", named, "one");
    let share = |name: &[&str]| {
        let groups: BTreeSet<&String> = rows.iter().map(|row| &row[0]).collect();
        let of = |group: &String| {
            let own: Vec<_> = rows.iter().filter(|row| row[0] == *group).collect();
            own.iter().filter(|row| row[1..] == *name).count() as f64 / own.len() as f64
        };
        groups.into_iter().map(of).fold(0.0, f64::max)
    };
    assert!(one < loose && share(&["HIV", "Nurse"]) < 0.1 && share(&["Flu", "Nurse"]) > 0.1);
    let unknown = policy("0.1", "for = [\"HIV+Nurse\"]\n");
    let refused = anonymize(&table, &unknown, &folder.path().join("unknown"), PLENTY).unwrap_err();
    assert!(refused.to_string().contains("`disease+job`"), "{refused}");
    // The commands examine one of them, by name.
    let release = folder.path().join("strict");
    let release = release.to_str().unwrap();
    let explained = skyveil_in(
        folder.path(),
        &["explain", release, "--sensitive", "disease+job", "--value", "Flu + Nurse", "--point", "0,0,0"],
    );
    assert!(text(&explained.stdout).contains("Flu + Nurse at l=0"), "{explained:?}");
    let several = skyveil_in(folder.path(), &["skyline", release, "--all", "--confidence", "0.5"]);
    assert_eq!(several.status.code(), Some(2));
    assert!(text(&several.stderr).contains("disease, job, disease+job"), "{several:?}");
    for column in ["disease", "job", "disease+job"] {
        let command = ["skyline", release, "--all", "--confidence", "0.6", "--sensitive", column];
        assert_eq!(skyveil_in(folder.path(), &command).status.code(), Some(0), "{column}");
        let command = ["disclosure", release, "--up-to", "2", "--sensitive", column];
        assert_eq!(skyveil_in(folder.path(), &command).status.code(), Some(0), "{column}");
    }
    let page = std::fs::read_to_string(folder.path().join("strict/report.html")).unwrap();
    for column in ["disease", "job", "disease+job"] {
        assert!(page.contains(&format!("<h3><code><bdi>{column}</bdi></code></h3>")), "{column}");
    }
    assert!(skyveil_in(folder.path(), &["report", release]).status.success());
}

#[test]
fn several_columns_give_the_same_bytes_whatever_the_memory_threads_and_order() {
    let folder = tempfile::tempdir().unwrap();
    let (table, other) = (folder.path().join("t.csv"), folder.path().join("other.csv"));
    write_csv(&table, TWO, two_columns(2_000));
    write_csv(&other, TWO, shuffled(two_columns(2_000), 1));
    for style in ["generalized", "bucketized"] {
        let policy = two_policy(BOTH, &format!("[privacy]\n{BELOW}[publish]\nstyle = \"{style}\"\n"));
        let out = |name: &str| folder.path().join(format!("{style}-{name}"));
        publish(&table, &policy, &out("one"), PLENTY);
        publish(&other, &policy, &out("two"), LITTLE);
        assert!(contents(&out("one")) == contents(&out("two")), "{style}");
        let checked = skyveil_in(folder.path(), &["check", out("one").to_str().unwrap()]);
        let verdict = text(&checked.stdout);
        assert!(verdict.contains("disease: safe") && verdict.contains("job: safe"), "{verdict}");
    }
}

#[test]
fn a_release_that_is_safe_for_one_column_and_not_for_the_other_is_caught() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("t.csv");
    let rows = ["1,Flu,Nurse", "1,HIV,Nurse", "1,Ulcer,Nurse", "2,Flu,Cook", "2,HIV,Smith", "2,Ulcer,Nurse"];
    write_csv(&table, "block,disease,job", rows.map(str::to_string));
    let policy =
        format!("[columns]\nsensitive = {BOTH}\njoint = {BOTH}\nquasi = [\"block\"]\n[privacy]\n{BELOW}");
    std::fs::write(folder.path().join("p.toml"), policy).unwrap();
    let check = skyveil_in(folder.path(), &["check", "t.csv", "--policy", "p.toml"]);
    assert_eq!(check.status.code(), Some(1));
    let verdict = text(&check.stdout);
    assert!(verdict.contains("disease: safe") && verdict.contains("job: unsafe"), "{verdict}");
    assert!(verdict.contains("disease+job: safe") && verdict.contains("HIV + Smith"), "{verdict}");
    let one = skyveil_in(folder.path(), &["check", "t.csv", "--policy", "p.toml", "--sensitive", "disease"]);
    assert_eq!(one.status.code(), Some(0));
}

#[test]
fn a_value_that_the_check_does_not_find_is_not_taken_for_safe() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("t.csv");
    let row = |i: u64| format!("{},{}.5,{}", i, i % 4, ["a", "b+c"][(i / 4 % 2) as usize]);
    write_csv(&table, "age,dose,kind", (0..64).map(row).chain(["70,1.0,a".to_string()]));
    let publish = |value: &str, out: &str| {
        let policy = format!(
            "accept = [\"unprotected values\"]\n[columns]\nsensitive = [\"dose\", \"kind\"]\n\
             joint = [\"dose\", \"kind\"]\nquasi = {{ age = {{ grid = 1 }} }}\n[privacy]\nk_anonymity = 8\n[[privacy.column.\"dose+kind\".skyline]]\nfor = ['{value}']\n\
             l = 0\nk = 0\nm = 0\nconfidence = 0.5\n"
        );
        anonymize(&table, &policy, &folder.path().join(out), PLENTY)
    };
    for (value, out) in [("0.5 + a", "one"), ("1.5 + b\\+c", "two"), ("1.0 + a", "three"), ("1 + a", "four")]
    {
        assert!(matches!(publish(value, out).unwrap(), Outcome::Published(_)), "{value}");
        let checked = skyveil_in(folder.path(), &["check", out, "--sensitive", "dose+kind", "--json"]);
        let answer: Value = serde_json::from_slice(&checked.stdout).unwrap();
        assert!(answer["points"][0]["breach"].as_f64().unwrap() > 0.0, "{answer}");
    }
    assert!(publish("1.5 + b+c + a", "five").unwrap_err().to_string().contains("does not hold"));
    assert!(!folder.path().join("five").exists());
}

#[test]
fn columns_with_one_value_in_each_row_are_no_lists() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("t.csv");
    write_csv(&table, TWO, two_columns(50));
    let policy = two_policy(BOTH, &format!("[privacy]\nvalues = \"set\"\n{BELOW}"));
    let refused = anonymize(&table, &policy, &folder.path().join("out"), PLENTY).unwrap_err();
    assert!(refused.to_string().contains("holds no lists, and a person may have several"), "{refused}");
}

// Rows that represent several people.

#[test]
fn counted_rows_give_the_bytes_of_the_table_they_stand_for() {
    let folder = tempfile::tempdir().unwrap();
    let (long, short) = (folder.path().join("long.csv"), folder.path().join("short.csv"));
    let times = |i: u64| [0, 1, 1, 2, 7, 40][(scramble(i + 77) % 6) as usize];
    let people = two_columns(600);
    let pairs = || people.iter().zip(0..).map(|(row, i)| (row, times(i)));
    write_csv(&long, TWO, pairs().flat_map(|(row, times)| vec![row.clone(); times]));
    // A row with a count of 0 adds no value.
    let nobody = "99,nowhere,Plague,King,0".to_string();
    let counted = pairs().map(|(row, times)| format!("{row},{times}")).chain([nobody]);
    write_csv(&short, &format!("{TWO},people"), shuffled(counted.collect(), 3));
    for (sensitive, extra) in [
        ("\"disease\"", ""),
        (BOTH, ""),
        (BOTH, "[publish]\nstyle = \"bucketized\"\n"),
        ("\"disease\"", "keep job"),
    ] {
        let policy = match extra {
            "keep job" => two_policy(sensitive, &format!("[privacy]\n{BELOW}")).replace("drop", "keep"),
            extra => two_policy(sensitive, &format!("[privacy]\n{BELOW}{extra}")),
        };
        let counted = policy.replace("[columns]\n", "[columns]\ncount = \"people\"\n");
        let out = folder.path().join("out");
        let expected = {
            publish(&long, &policy, &out, PLENTY);
            contents(&out)
        };
        for means in [PLENTY, LITTLE] {
            remove_release(&out);
            publish(&short, &counted, &out, means);
            assert!(contents(&out) == expected, "{sensitive} {extra}");
        }
        remove_release(&out);
    }
}

#[test]
fn counts_that_are_no_counts_are_refused_by_their_number() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("t.csv");
    let policy = two_policy(BOTH, &format!("[privacy]\n{BELOW}"));
    let policy = policy.replace("[columns]\n", "[columns]\ncount = \"n\"\n");
    for (counts, told) in [
        (["1", "", "-3", "2"], "2 rows hold"),
        (["1", "2.5", "3", "2"], "1 row hold"),
        (["a", "b", "c", "d"], "holds no numbers"),
        (["0", "0", "0", "0"], "no rows"),
    ] {
        let rows = counts.iter().zip(0..).map(|(count, i)| format!("{i},here,Flu{i},Cook,{count}"));
        write_csv(&table, &format!("{TWO},n"), rows);
        let refused = anonymize(&table, &policy, &folder.path().join("out"), PLENTY).unwrap_err().to_string();
        assert!(refused.contains(told), "{refused}");
        let arguments =
            ["check", "t.csv", "--group", "city", "--sensitive", "job", "--point", "0,0,0,1", "--count", "n"];
        let check = skyveil_in(folder.path(), &arguments);
        let refused = text(&check.stderr);
        assert!(check.status.code() == Some(2) && refused.contains(told), "{refused}");
    }
}

#[test]
fn a_counted_table_is_checked_as_the_table_it_stands_for() {
    let folder = tempfile::tempdir().unwrap();
    let (long, short) = (folder.path().join("long.csv"), folder.path().join("short.csv"));
    for (salt, order) in [(1, "sorted"), (2, "shuffled")] {
        let row = |i: u64| {
            let pick = |of: u64, n: u64| scramble(i * 8 + of + salt * 7919) % n;
            (format!("{},{},{}", pick(1, 12), ["a", "b", "c"][pick(2, 3) as usize], pick(3, 2)), pick(4, 5))
        };
        let mut rows: Vec<(String, u64)> = (0..300).map(row).collect();
        rows.push(("77,z,0".to_string(), 0));
        if order == "sorted" {
            rows.sort();
        }
        let header = "block,value,job";
        write_csv(&long, header, rows.iter().flat_map(|(row, n)| vec![row.clone(); *n as usize]));
        write_csv(&short, &format!("{header},n"), rows.iter().map(|(row, n)| format!("{row},{n}")));
        let answer = |arguments: &[&str]| {
            let output = skyveil_in(folder.path(), arguments);
            let mut answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            for curve in ["implications", "negations"] {
                for step in answer.get_mut(curve).and_then(Value::as_array_mut).into_iter().flatten() {
                    // Groups are identified by their rows, which differ.
                    let step = step.as_object_mut().unwrap();
                    step.retain(|key, _| ["k", "disclosure", "exact"].contains(&key.as_str()));
                }
            }
            (answer, output.status.code())
        };
        let commands: [&[&str]; 3] = [
            &["check", "FILE", "--point", "1,2,1,0.9", "--json"],
            &["disclosure", "FILE", "--up-to", "3", "--json"],
            &["skyline", "FILE", "--all", "--confidence", "0.9", "--json"],
        ];
        for command in commands {
            let of = |file: &str, more: &[&str]| {
                let columns = ["--group", "block", "--sensitive", "value"];
                let command = command.iter().map(|&word| if word == "FILE" { file } else { word });
                answer(&command.chain(columns).chain(more.iter().copied()).collect::<Vec<_>>())
            };
            assert_eq!(of("short.csv", &["--count", "n"]), of("long.csv", &[]), "{order} {command:?}");
        }
    }
}

// Several rows per person.

/// One row per person with a list of values, and one row per value; both in some order.
fn visits(people: u64, salt: u64) -> (RecordBatch, RecordBatch) {
    let pick = |i: u64, of: u64, n: u64| scramble(i * 64 + of + salt * 104_729) % n;
    let of_list = |i: u64| (0..pick(i, 9, 5)).map(|v| format!("d{}", pick(i, 10 + v, 6) % 6)).collect();
    let lists: Vec<Vec<String>> = (0..people).map(of_list).collect();
    let age = |i: u64| (pick(i, 1, 40) != 0).then(|| 18 + pick(i, 1, 40) as i64);
    // People with many values are from the north, so that rows and people count differently.
    let city = |i: u64| {
        if lists[i as usize].len() > 2 { "north" } else { ["east", "south", "west"][pick(i, 2, 3) as usize] }
    };
    let insurer = |i: u64| format!("insurer {}", pick(i, 3, 3));
    let batch = |rows: &[u64], values: ArrayRef, key: bool| {
        let ages: Int64Array = rows.iter().map(|&i| age(i)).collect();
        let cities: StringArray = rows.iter().map(|&i| Some(city(i))).collect();
        let insurers: StringArray = rows.iter().map(|&i| Some(insurer(i))).collect();
        let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
        if key {
            let keys: StringArray = rows.iter().map(|&i| Some(format!("p{}", scramble(i)))).collect();
            columns.push(("patient", Arc::new(keys)));
        }
        columns.push(("age", Arc::new(ages)));
        columns.push(("city", Arc::new(cities)));
        columns.push(("insurer", Arc::new(insurers)));
        columns.push(("diagnosis", values));
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
            .unwrap()
    };
    let mut builder = ListBuilder::new(StringBuilder::new());
    for list in &lists {
        list.iter().for_each(|value| builder.values().append_value(value));
        builder.append(true);
    }
    let grouped = batch(&(0..people).collect::<Vec<_>>(), Arc::new(builder.finish()), false);
    let one = |i: u64| {
        let values = lists[i as usize].iter().map(|value| Some(value.clone()));
        let none = lists[i as usize].is_empty().then_some(None);
        values.chain(none).map(move |value| (i, value)).collect::<Vec<_>>()
    };
    let rows: Vec<(u64, Option<String>)> = shuffled((0..people).flat_map(one).collect(), salt);
    let (who, values): (Vec<u64>, Vec<Option<String>>) = rows.into_iter().unzip();
    (grouped, batch(&who, Arc::new(StringArray::from(values)), true))
}

fn visits_policy(values: &str, rest: &str) -> (String, String) {
    let grouped = format!(
        "[columns]\nsensitive = \"diagnosis\"\nkeep = [\"insurer\"]\nquasi = {{ age = {{ grid = 1 }}, city = {{}} }}\n\
         [privacy]\nvalues = \"{values}\"\n[[privacy.skyline]]\nl = 1\nk = 2\nm = 1\nconfidence = 0.8\n{rest}"
    );
    let long = grouped.replace("[columns]\n", "[columns]\nindividual = \"patient\"\n");
    (grouped, long)
}

fn both_ways(folder: &Path, people: u64, salt: u64) -> (PathBuf, PathBuf) {
    let (grouped, long) = visits(people, salt);
    let paths = (folder.join("grouped.parquet"), folder.join("long.parquet"));
    write(&paths.0, &grouped);
    write(&paths.1, &long);
    paths
}

#[test]
fn a_long_table_gives_the_bytes_of_the_table_with_a_list_for_each_person() {
    let folder = tempfile::tempdir().unwrap();
    let (grouped, long) = both_ways(folder.path(), 2_500, 5);
    for (values, style, keeps) in [
        ("set", "generalized", "drop"),
        ("multiset", "generalized", "drop"),
        ("multiset", "generalized", "keep"),
        ("set", "bucketized", "keep"),
    ] {
        let rest = format!("[publish]\nstyle = \"{style}\"\n");
        let (of_grouped, of_long) = visits_policy(values, &rest);
        let out = folder.path().join("out");
        let groups = publish(&grouped, &of_grouped.replace("keep", keeps), &out, PLENTY).groups;
        assert!(groups > 20, "{groups}");
        let expected = contents(&out);
        for means in [PLENTY, LITTLE, Means { threads: 3, batch_rows: 1000, ..LITTLE }] {
            remove_release(&out);
            let summary = publish(&long, &of_long.replace("keep", keeps), &out, means);
            assert!(contents(&out) == expected, "{values} {style} {keeps}");
            assert_eq!(summary.records, 2_500);
        }
        for table in ["quasi", "sensitive"] {
            assert!(decode(&out.join(table)).names.iter().all(|name| name != "patient"));
        }
        remove_release(&out);
    }
}

#[test]
fn single_values_of_a_long_table_must_agree() {
    let folder = tempfile::tempdir().unwrap();
    let (once, long) = (folder.path().join("once.csv"), folder.path().join("long.csv"));
    let people = two_columns(1_500);
    write_csv(&once, TWO, people.clone());
    let visits = people.iter().zip(0u64..).flat_map(|(row, i)| {
        vec![format!("{},{row}", scramble(i) >> 20); 1 + (scramble(i + 9) % 4) as usize]
    });
    let visits: Vec<String> = shuffled(visits.collect(), 8);
    write_csv(&long, &format!("id,{TWO}"), visits.clone());
    let policy = two_policy(BOTH, &format!("[privacy]\n{BELOW}"));
    let of_long = policy.replace("[columns]\n", "[columns]\nindividual = \"id\"\n");
    publish(&once, &policy, &folder.path().join("once"), PLENTY);
    for (means, name) in [(PLENTY, "plenty"), (LITTLE, "little")] {
        publish(&long, &of_long, &folder.path().join(name), means);
        assert!(contents(&folder.path().join(name)) == contents(&folder.path().join("once")), "{name}");
    }
    // The check finds the same people in both tables.
    let verdict = |file: &str, more: &[&str]| {
        let columns = ["--group", "city", "--sensitive", "job", "--point", "1,2,0,0.99", "--json"];
        let command: Vec<&str> =
            ["check", file].into_iter().chain(columns).chain(more.iter().copied()).collect();
        let answer: Value = serde_json::from_slice(&skyveil_in(folder.path(), &command).stdout).unwrap();
        (answer["safe"].clone(), answer["individuals"].clone(), answer["points"].clone())
    };
    assert_eq!(verdict("long.csv", &["--individual", "id"]), verdict("once.csv", &[]));
    let fails = |extra: &[&str], policy: &str| {
        let rows = visits.iter().cloned().chain(extra.iter().map(|row| row.to_string()));
        write_csv(&long, &format!("id,{TWO}"), rows);
        anonymize(&long, policy, &folder.path().join("out"), PLENTY).unwrap_err().to_string()
    };
    let two = ["1,30,city1,Flu,Cook", "1,31,city1,Flu,Cook", "2,30,city1,Flu,Cook", "2,30,city1,Flu,Nurse"];
    let told = fails(&two, &of_long);
    assert!(
        told.contains("column \"age\" differs for 1 person, column \"job\" differs for 1 person"),
        "{told}"
    );
    let told = fails(&two[2..], &of_long);
    assert!(told.contains("\"job\"") && told.contains("privacy.values"), "{told}");
    assert!(!told.contains("Nurse"), "{told}");
    let told = fails(&[",30,city1,Flu,Cook", ",31,city1,Flu,Cook"], &of_long);
    assert!(told.contains("\"id\" is null in 2 rows"), "{told}");
    let kept = two_policy("\"disease\"", &format!("[privacy]\n{BELOW}")).replace("drop", "keep");
    let told = fails(&two[2..], &kept.replace("[columns]\n", "[columns]\nindividual = \"id\"\n"));
    assert!(told.contains("column \"job\" differs for 1 person"), "{told}");
    let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().contains("out")));
}

#[test]
fn values_that_share_a_code_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("t.csv");
    // More numbers than codes: neighbours share a code.
    let rows = (0..140_000u64).map(|i| format!("{i},{},{}", i * 3, scramble(i) % 4));
    write_csv(&table, "id,income,value", rows.chain(["7,22,1".to_string()]));
    let policy = "[columns]\nsensitive = \"value\"\nindividual = \"id\"\nquasi = [\"income\"]\n\
                  types = { value = \"text\" }\n[privacy]\nvalues = \"set\"\nk_anonymity = 1000\n";
    let means = Means { memory: 256 << 20, ..PLENTY };
    let refused = anonymize(&table, policy, &folder.path().join("out"), means).unwrap_err().to_string();
    assert!(refused.contains("column \"income\" differs for 1 person"), "{refused}");
}

/// As documented: an additional rule makes fewer groups.
#[test]
fn one_column_alone_has_more_groups() {
    let folder = tempfile::tempdir().unwrap();
    let policy = std::fs::read_to_string(dataset("census-two.toml")).unwrap();
    let (head, _) = policy.split_once("[privacy.column.occupation]").unwrap();
    let alone = head
        .replace("sensitive = [\"diagnosis\", \"occupation\"]", "sensitive = \"diagnosis\"")
        .replace("joint     = [\"diagnosis\", \"occupation\"]\n", "")
        .replace("drop      = [", "drop      = [\"occupation\", ");
    for name in ["census-tract.csv", "census-marital.csv"] {
        std::fs::copy(dataset(name), folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("alone.toml"), alone).unwrap();
    let (census, both) = (dataset("census.csv"), dataset("census-two.toml"));
    let groups = |policy: &str, out: &str| {
        let arguments = ["anonymize", path_text(&census), "--policy", policy, "--out", out, "--json"];
        json(&skyveil_in(folder.path(), &arguments))["groups"].as_u64().unwrap()
    };
    assert!(groups("alone.toml", "alone") > groups(path_text(&both), "both"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn random_long_tables_agree_with_their_people(people in 30u64..200, salt in 0u64..1_000_000, set in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let (grouped, long) = both_ways(folder.path(), people, salt);
        let (of_grouped, of_long) = visits_policy(if set { "set" } else { "multiset" }, "");
        let out = |name: &str| folder.path().join(name);
        let expected = anonymize(&grouped, &of_grouped, &out("grouped"), PLENTY).unwrap();
        let outcome = anonymize(&long, &of_long, &out("long"), LITTLE).unwrap();
        prop_assert_eq!(
            matches!(&expected, Outcome::Published(_)),
            matches!(&outcome, Outcome::Published(_))
        );
        if matches!(outcome, Outcome::Published(_)) {
            prop_assert!(contents(&out("grouped")) == contents(&out("long")));
        }
    }

    #[test]
    fn random_counts_agree_with_the_rows_they_stand_for(
        rows in prop::collection::vec((0u8..9, 0u8..3, 0u8..4, 0u8..3, 0usize..4), 20..120),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (long, short) = (folder.path().join("long.csv"), folder.path().join("short.csv"));
        let row = |row: &(u8, u8, u8, u8, usize)| format!("{},c{},d{},j{}", row.0, row.1, row.2, row.3);
        write_csv(&long, TWO, rows.iter().flat_map(|own| vec![row(own); own.4]));
        write_csv(&short, &format!("{TWO},n"), rows.iter().map(|own| format!("{},{}", row(own), own.4)));
        let policy = two_policy(BOTH, "[privacy]\nl_diversity = { c = 3, l = 2 }\n");
        let counted = policy.replace("[columns]\n", "[columns]\ncount = \"n\"\n");
        let out = |name: &str| folder.path().join(name);
        let expected = anonymize(&long, &policy, &out("l"), PLENTY).unwrap();
        let outcome = anonymize(&short, &counted, &out("s"), LITTLE).unwrap();
        match (expected, outcome) {
            (Outcome::Published(_), Outcome::Published(_)) => {
                prop_assert!(contents(&out("l")) == contents(&out("s")));
            }
            (Outcome::Impossible(one), Outcome::Impossible(other)) => prop_assert_eq!(one, other),
            outcomes => prop_assert!(false, "{:?}", outcomes),
        }
    }
}

#[test]
fn columns_that_the_policy_does_not_name_are_dropped_as_the_rest_and_listed() {
    let folder = Folder::new();
    let table =
        folder.write("people.csv", "name,age,disease,phone\na,1,flu,5\nb,2,cold,6\nc,3,flu,7\nd,4,cold,8\n");
    let policy = |rest: &str| {
        let text = format!(
            "[columns]\nsensitive = \"disease\"\n{rest}\n[columns.quasi.age]\ndomain = [0, 10]\ngrid = 1\n\
             [privacy]\nl_diversity = {{ c = 2, l = 2 }}\n"
        );
        folder.write("policy.toml", &text)
    };
    let call = |policy: &str, out: &str| {
        skyveil(&["anonymize", &table, "--policy", policy, "--out", &folder.text(out)])
    };
    let refused = call(&policy(""), "none");
    assert_eq!(refused.status.code(), Some(2));
    assert!(printed(&refused).contains("drop = [\"name\", \"phone\"]"), "{}", printed(&refused));
    let dropped = call(&policy("rest = \"drop\""), "release");
    assert!(dropped.status.success(), "{}", printed(&dropped));
    assert!(printed(&dropped).contains("not named, dropped   name, phone"), "{}", printed(&dropped));
    let listed = call(&policy("drop = [\"name\", \"phone\"]"), "listed");
    assert!(listed.status.success());
    assert!(!printed(&listed).contains("not named"));
}
