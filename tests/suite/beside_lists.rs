//! Lists beside other sensitive columns: every column is protected as if it were alone, and nothing tells which of its values
//! goes with which of another.

use crate::support::engine::FileEngine;
use crate::support::library::{Outcome, Run, Values, parse_fraction, read, rows, write};
use crate::support::naive::{breach, groups};
use crate::support::{Folder, beside, contents, draws, json, printed, remove_release, skyveil_in};
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const INSURANCES: [&str; 3] = ["none", "private", "public"];
const INCOMES: [&str; 4] = ["high", "low", "middle", "none"];
const DRUGS: [&str; 6] = ["aspirin", "ibuprofen", "insulin", "none", "statin", "zinc"];
const ITEMS: [&str; 5] = ["beer", "bread", "milk", "none", "wine"];

struct Person {
    id: String,
    age: i64,
    city: &'static str,
    insurance: &'static str,
    income: &'static str,
    drugs: Vec<&'static str>,
    items: Vec<&'static str>,
}

fn people(many: u64, seed: u64) -> Vec<Person> {
    let mut draw = draws(seed);
    let person = |number: u64| {
        let age = draw(60);
        // The young are often private, and take few drugs.
        let insurance = INSURANCES[(if draw(3) == 0 { age / 25 } else { draw(3) }) as usize];
        let income = INCOMES[((age / 20 + draw(4) / 2) % 4) as usize];
        let (drugs, items) = (draw(2 + age / 20), draw(5));
        Person {
            id: format!("p{number}"),
            age: age as i64,
            city: ["east", "north", "west"][draw(3) as usize],
            insurance,
            income,
            drugs: (0..drugs).map(|_| DRUGS[draw(6) as usize]).collect(),
            items: (0..items).map(|_| ITEMS[draw(5) as usize]).collect(),
        }
    };
    (0..many).map(person).collect()
}

impl Person {
    fn of(&self, column: &str) -> Vec<&'static str> {
        match column {
            "insurance" => vec![self.insurance],
            "income" => vec![self.income],
            "drug" => self.drugs.clone(),
            _ => self.items.clone(),
        }
    }

    /// Their rows in a long table: the first drug beside the first item, and so on.
    fn rows(&self) -> Vec<[String; 7]> {
        let own = |list: &[&str], at: usize| list.get(at).map_or(String::new(), |value| value.to_string());
        let many = self.drugs.len().max(self.items.len()).max(1);
        let row = |at: usize| {
            let [drug, item] = [own(&self.drugs, at), own(&self.items, at)];
            let [insurance, income] = [self.insurance, self.income].map(str::to_string);
            [self.id.clone(), self.age.to_string(), drug, self.city.to_string(), insurance, item, income]
        };
        (0..many).map(row).collect()
    }
}

/// Lists stand before and between single values.
const NAMES: [&str; 7] = ["id", "age", "drug", "city", "insurance", "item", "income"];

const SENSITIVE: [&str; 4] = ["insurance", "income", "drug", "item"];

/// A row for each person, with lists.
fn write_lists(path: &Path, people: &[&Person]) {
    let texts = |of: fn(&Person) -> &str| -> ArrayRef {
        Arc::new(people.iter().map(|person| Some(of(person))).collect::<StringArray>())
    };
    let lists = |of: fn(&Person) -> &Vec<&'static str>| -> ArrayRef {
        let mut builder = ListBuilder::new(StringBuilder::new());
        for person in people {
            of(person).iter().for_each(|value| builder.values().append_value(value));
            builder.append(!of(person).is_empty());
        }
        Arc::new(builder.finish())
    };
    let ages: ArrayRef = Arc::new(people.iter().map(|person| Some(person.age)).collect::<Int64Array>());
    let columns = [
        texts(|person| &person.id),
        ages,
        lists(|person| &person.drugs),
        texts(|person| person.city),
        texts(|person| person.insurance),
        lists(|person| &person.items),
        texts(|person| person.income),
    ];
    write(path, &RecordBatch::try_from_iter(NAMES.into_iter().zip(columns)).unwrap());
}

/// A row for each value, in no order.
fn write_long(path: &Path, people: &[&Person], salt: u64) {
    let mut draw = draws(salt);
    let mut lines: Vec<(u64, String)> =
        people.iter().flat_map(|person| person.rows()).map(|row| (draw(1 << 40), row.join(","))).collect();
    lines.sort();
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    std::fs::write(path, format!("{}\n{}\n", NAMES.join(","), lines.join("\n"))).unwrap();
}

/// Sensitive columns with the number of values per person; the others are dropped.
type Modes = [(&'static str, Values)];

const CASES: [&Modes; 6] = [
    &[("insurance", Values::Single), ("drug", Values::Set)],
    &[("income", Values::Single), ("item", Values::Multiset)],
    &[("insurance", Values::Single), ("income", Values::Single), ("drug", Values::Set)],
    &[("drug", Values::Set), ("item", Values::Multiset)],
    &[("insurance", Values::Single), ("drug", Values::Multiset), ("item", Values::Set)],
    &[
        ("insurance", Values::Single),
        ("income", Values::Single),
        ("drug", Values::Set),
        ("item", Values::Multiset),
    ],
];

const POINT: [u64; 3] = [1, 1, 1];
const CONFIDENCE: &str = "0.95";

fn policy(modes: &Modes, id: &str, publish: &str) -> String {
    let sensitive: Vec<&str> = modes.iter().map(|(name, _)| *name).collect();
    let others = SENSITIVE.iter().filter(|name| !sensitive.contains(name));
    let others: Vec<&str> = others.copied().collect();
    let [l, k, m] = POINT;
    let mut policy = format!(
        "accept = [\"unique kept values\", \"unprotected values\"]\n[columns]\nsensitive = {sensitive:?}\ndrop = {others:?}\n{id}\n\
         quasi = {{ age = {{ domain = [0, 60], grid = 1 }}, city = {{}} }}\n[privacy]\nk_anonymity = 2\n"
    );
    for (name, values) in modes.iter().filter(|(_, values)| *values != Values::Single) {
        policy += &format!("[privacy.column.{name}]\nvalues = \"{}\"\n", values.name());
    }
    // One value less for single values, which are harder to hide.
    for (name, values) in modes {
        let l = if *values == Values::Single { 0 } else { l };
        policy += &format!(
            "[[privacy.column.{name}.skyline]]\nl = {l}\nk = {k}\nm = {m}\nconfidence = {CONFIDENCE}\n"
        );
    }
    policy + publish
}

fn size(values: Values) -> [u64; 3] {
    if values == Values::Single { [0, POINT[1], POINT[2]] } else { POINT }
}

/// The counts of a column in each group, as `sensitive/` states them.
fn published(out: &Path, column: &str) -> BTreeMap<i64, BTreeMap<String, u64>> {
    let mut groups: BTreeMap<i64, BTreeMap<String, u64>> = BTreeMap::new();
    for row in rows(&read(&out.join("sensitive"), &["group", column, "count"])) {
        if !row[1].is_empty() {
            let own = groups.entry(row[0].parse().unwrap()).or_default();
            *own.entry(row[1].clone()).or_default() += row[2].parse::<u64>().unwrap();
        }
    }
    groups
}

/// Compares a release whose people are named with what a naive model makes of its groups.
fn agrees_with_the_naive_model(out: &Path, modes: &Modes, people: &[Person]) -> Result<(), TestCaseError> {
    let quasi = rows(&read(&out.join("quasi"), &["group", "id"]));
    let group_of: BTreeMap<&str, i64> =
        quasi.iter().map(|row| (row[1].as_str(), row[0].parse().unwrap())).collect();
    prop_assert_eq!(group_of.len(), people.len());
    let manifest: Value = serde_json::from_slice(&std::fs::read(out.join("manifest.json")).unwrap()).unwrap();
    let sorted: BTreeMap<&str, Values> = modes.iter().copied().collect();
    let names: Vec<&&str> = sorted.keys().collect();
    prop_assert_eq!(&manifest["sensitive"], &serde_json::json!(names));
    let words: Vec<&str> = sorted.values().map(|values| values.name()).collect();
    prop_assert_eq!(&manifest["values"], &serde_json::json!(words));
    for &(column, values) in modes {
        let people = people.iter().enumerate();
        let people: Vec<(u64, i64, Vec<&'static str>)> = people
            .map(|(number, person)| (number as u64, group_of[person.id.as_str()], person.of(column)))
            .collect();
        let naive = groups(&people, values);
        let stated = published(out, column);
        for (group, (_, counts)) in &naive {
            let own: BTreeMap<String, u64> =
                counts.iter().map(|(value, count)| (value.to_string(), *count)).collect();
            prop_assert_eq!(&own, &stated.get(group).cloned().unwrap_or_default(), "{} {}", column, group);
        }
        let points = manifest["points"].as_array().unwrap().iter();
        let points: Vec<&Value> = points.filter(|point| point["column"] == column).collect();
        let occurring: BTreeSet<&str> = people.iter().flat_map(|(_, _, own)| own.iter().copied()).collect();
        prop_assert_eq!(points.len(), occurring.len());
        for point in points {
            let value = point["value"].as_str().unwrap();
            let expected = breach(&naive, values, value, size(values));
            prop_assert!(expected < parse_fraction(CONFIDENCE).unwrap(), "{} {}", column, value);
            prop_assert_eq!(
                point["breach_exact"].as_str().unwrap(),
                expected.to_string(),
                "{} {}",
                column,
                value
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 36, ..ProptestConfig::default() })]

    #[test]
    fn every_column_is_counted_and_judged_as_if_it_were_alone(
        case in 0usize..6, many in 40u64..300, seed in any::<u64>(), bucketized in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (table, modes, people) = (folder.path().join("t.parquet"), CASES[case], people(many, seed));
        write_lists(&table, &people.iter().collect::<Vec<_>>());
        let publish = if bucketized { "[publish]\nstyle = \"bucketized\"\n" } else { "" };
        let policy = policy(modes, "keep = [\"id\"]", publish);
        let run = [table];
        let run = Run::new(&run, &policy, folder.path().join("out"));
        if let Outcome::Published(_) = run.outcome().unwrap() {
            agrees_with_the_naive_model(&run.out, modes, &people)?;
            let checked = skyveil_in(folder.path(), &["check", "out"]);
            prop_assert!(checked.status.success(), "{}", printed(&checked));
        }
    }
}

#[test]
fn the_same_bytes_for_lists_and_rows_and_any_memory_threads_order_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let all = people(1_500, 5);
    let forward: Vec<&Person> = all.iter().collect();
    let backward: Vec<&Person> = all.iter().rev().collect();
    let write = |name: &str, people: &[&Person]| -> PathBuf {
        write_lists(&place(name), people);
        place(name)
    };
    let whole = [write("lists.parquet", &forward)];
    let arrow = [write("lists.arrow", &backward)];
    let files = [write("one.parquet", &backward[..400]), write("two.parquet", &backward[400..])];
    let long = [place("long.csv")];
    write_long(&long[0], &forward, 3);
    for (number, modes) in CASES.into_iter().enumerate() {
        let (by_row, by_person) =
            (policy(modes, "individual = \"id\"", ""), policy(modes, "rest = \"drop\"", ""));
        let first = Run::new(&whole, &by_person, place(&format!("first-{number}")));
        assert!(first.publish().groups > 10, "{number}: {}", first.publish().groups);
        let bytes = |out: &Path| {
            let mut files = contents(out);
            let manifest: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
            files.retain(|name, _| name != "manifest.json" && name != "report.html");
            (files, manifest["points"].clone(), std::fs::read(beside(out, ".tree")).unwrap())
        };
        let expected = bytes(&first.out);
        for (name, paths, policy, memory, threads) in [
            ("tight", &whole[..], &by_person, 4 << 20, 1),
            ("arrow", &arrow[..], &by_person, 64 << 20, 3),
            ("files", &files[..], &by_person, 8 << 20, 2),
            ("long", &long[..], &by_row, 64 << 20, 2),
            ("long and tight", &long[..], &by_row, 4 << 20, 3),
        ] {
            let other =
                Run { memory, threads, ..Run::new(paths, policy, place(&format!("{name}-{number}"))) };
            other.publish();
            assert!(bytes(&other.out) == expected, "{number} {name}");
            remove_release(&other.out);
        }
    }
}

#[test]
fn tasks_of_an_engine_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let all = people(1_000, 9);
    let all: Vec<&Person> = all.iter().collect();
    let write = |name: &str, people: &[&Person]| -> PathBuf {
        write_lists(&place(name), people);
        place(name)
    };
    let whole = [write("whole.parquet", &all)];
    let parts = [
        write("a.parquet", &all[700..]),
        write("b.parquet", &all[..200]),
        write("c.parquet", &all[200..700]),
    ];
    for (number, modes) in [CASES[2], CASES[4]].into_iter().enumerate() {
        let file = place(&format!("{number}.toml"));
        std::fs::write(&file, policy(modes, "keep = [\"id\"]", "")).unwrap();
        let (alone, out) = (place(&format!("alone-{number}")), place(&format!("out-{number}")));
        let made = FileEngine::new(&whole, &file, 0).release_alone(&alone).unwrap();
        assert!(matches!(made, Outcome::Published(_)), "{made:?}");
        let made = FileEngine::new(&parts, &file, 3).release(&out).unwrap();
        assert!(matches!(made, Outcome::Published(_)), "{made:?}");
        assert!(contents(&out) == contents(&alone), "{number}");
    }
}

/// A release of insurances beside drugs, in a folder of its own.
fn insured() -> Folder {
    let folder = Folder::new();
    let people = people(300, 2);
    write_lists(&folder.path("t.parquet"), &people.iter().collect::<Vec<_>>());
    folder.write("p.toml", &policy(CASES[0], "rest = \"drop\"", ""));
    let made = folder.run(&["anonymize", "t.parquet", "--policy", "p.toml", "--out", "out"]);
    assert!(made.status.success(), "{}", printed(&made));
    assert!(printed(&made).contains("protected            drug, insurance"), "{}", printed(&made));
    folder
}

#[test]
fn every_command_looks_at_one_column_after_the_other() {
    let folder = insured();
    let sensitive = read(&folder.path("out/sensitive"), &[]);
    let names: Vec<String> = sensitive.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["group", "drug", "insurance", "count"]);
    assert!(rows(&sensitive).iter().all(|row| row[1].is_empty() != row[2].is_empty()));
    let names: Vec<String> = read(&folder.path("out/quasi"), &[])
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(names, ["group", "age", "city"]);
    let verdict = folder.ends_with(0, &["check", "out"]);
    assert!(
        verdict.contains("insurance: safe: 300 people") && verdict.contains("drug: safe: 300 people"),
        "{verdict}"
    );
    assert_eq!(
        json(&folder.run(&["check", "out", "--json"]))["values"],
        serde_json::json!(["set", "single"])
    );
    for (column, value) in [("insurance", "private"), ("drug", "insulin")] {
        let told = folder
            .ends_with(0, &["explain", "out", "--sensitive", column, "--value", value, "--point", "0,1,0"]);
        assert!(told.starts_with(&format!("{value} at l=0, k=1, m=0")), "{told}");
        folder.ends_with(0, &["skyline", "out", "--all", "--confidence", "0.9", "--sensitive", column]);
    }
    assert!(folder.ends_with(0, &["show", "out"]).contains("insurance"));
    let tried =
        folder.ends_with(0, &["anonymize", "t.parquet", "--policy", "p.toml", "--out", "x", "--dry-run"]);
    assert!(tried.contains("the policy as it is"), "{tried}");
    let compared = folder.run(&["report", "out", "--original", "t.parquet"]);
    assert!(compared.status.success() && printed(&compared).contains("the values of a list stand apart"));
    let attacked = ["attack", "out", "--original", "t.parquet", "--sensitive", "insurance"];
    assert!(folder.ends_with(2, &attacked).contains("several values of column \"drug\""));
    assert!(folder.run(&["report", "out"]).status.success());
    let page = std::fs::read_to_string(folder.path("out/report.html")).unwrap();
    for column in ["insurance", "drug"] {
        assert!(page.contains(&format!("<h3><code><bdi>{column}</bdi></code></h3>")), "{column}");
    }
    // The table that it was made from is judged in the same way, by its rows.
    let by_block = folder.run(&["check", "t.parquet", "--policy", "p.toml", "--group", "city", "--json"]);
    assert_eq!(json(&by_block)["values"], serde_json::json!(["set", "single"]));
}

#[test]
fn what_null_means_in_one_column_says_nothing_of_the_rows_of_another() {
    let folder = Folder::new();
    let lines: String = people(200, 4)
        .iter()
        .flat_map(|person| person.rows())
        .map(|row| row.join(",").replace(",private,", ",,") + "\n")
        .collect();
    folder.write("t.csv", &format!("{}\n{lines}", NAMES.join(",")));
    let policy = policy(CASES[0], "individual = \"id\"", "")
        + "[columns.sensitive.insurance]\nnull_is = \"private\"\n";
    let policy = policy.replace("sensitive = [\"insurance\", \"drug\"]\n", "");
    let policy = policy
        .replace("[columns.sensitive.insurance]", "[columns.sensitive.drug]\n[columns.sensitive.insurance]");
    folder.write("p.toml", &policy);
    for format in ["parquet", "csv"] {
        let made =
            folder.run(&["anonymize", "t.csv", "--policy", "p.toml", "--out", format, "--format", format]);
        assert!(made.status.success(), "{}", printed(&made));
        folder.ends_with(0, &["check", format]);
        let sums: BTreeMap<i64, u64> = published(&folder.path(format), "insurance")
            .into_iter()
            .map(|(group, counts)| (group, counts.values().sum()))
            .collect();
        assert_eq!(sums.values().sum::<u64>(), 200, "{format}");
    }
}

#[test]
fn what_lists_do_not_go_with_is_refused_with_a_reason() {
    let folder = Folder::new();
    let people = people(60, 7);
    let all: Vec<&Person> = people.iter().collect();
    write_lists(&folder.path("t.parquet"), &all);
    let refused = |policy: &str, more: &[&str], told: &[&str]| {
        folder.write("p.toml", policy);
        let command = ["anonymize", "t.parquet", "--policy", "p.toml", "--out", "out"];
        let said = folder.ends_with(2, &[&command[..], more].concat());
        told.iter().for_each(|own| assert!(said.contains(own), "{own} in\n{said}"));
    };
    let listed = policy(CASES[0], "rest = \"drop\"", "");
    let joint = listed.replace("drop = ", "joint = [\"insurance\", \"drug\"]\ndrop = ");
    refused(&joint, &[], &["privacy.column.drug.values: a list has no single value that could be joined"]);
    let nights = format!("{listed}[nights]\nbatch = 10\nperson = \"id\"\n");
    refused(&nights, &[], &["column \"drug\" holds lists beside another sensitive column"]);
    refused(&listed, &["--search", "lattice"], &["single values only"]);
    let blind = format!("{listed}[publish]\ncuts = \"blind\"\n[publish.shares]\nprivate = 0.3\n");
    refused(&blind, &[], &["cuts = \"blind\""]);
    let believed =
        "\n[privacy.column.insurance]\nmodel = \"beliefs\"\nbeliefs = [{ bandwidth = 0.5, t = 0.3 }]\n";
    let without = listed.split("[[privacy.column.insurance.skyline]]").collect::<Vec<_>>();
    let rest = without[1].split_once("[[").map_or(String::new(), |(_, rest)| format!("[[{rest}"));
    refused(&format!("{}{believed}{rest}", without[0]), &[], &["\"drug\" holds lists", "\"beliefs\""]);
    let third = listed.replace("drop = [\"income\", \"item\"]", "drop = [\"income\"]");
    refused(
        &third.replace("[\"insurance\", \"drug\"]", "[\"insurance\", \"drug\", \"item\"]"),
        &[],
        &["\"item\" holds lists"],
    );
    // A single value that is not the same in all rows of a person is named by its column and its rows.
    let rows = people.iter().flat_map(Person::rows).map(|row| row.join(","));
    let mut rows: Vec<String> = rows.chain(["x,1,,east,none,,low".into()]).collect();
    rows.insert(2, "x,1,zinc,east,public,,low".into());
    folder.write("long.csv", &format!("{}\n{}\n", NAMES.join(","), rows.join("\n")));
    folder.write("p.toml", &policy(CASES[0], "individual = \"id\"", ""));
    let said = folder.ends_with(2, &["anonymize", "long.csv", "--policy", "p.toml", "--out", "out"]);
    let named = format!("column \"insurance\" differs for 1 person, as in rows 3, {}", rows.len());
    assert!(said.contains(&named), "{said}");
    assert!(!said.contains("public") && !folder.path("out").exists(), "{said}");
}

#[test]
fn an_empty_text_is_not_taken_for_no_value() {
    let folder = Folder::new();
    let mut people = people(300, 2);
    people.iter_mut().filter(|person| person.insurance == "none").for_each(|person| person.insurance = "");
    write_lists(&folder.path("t.parquet"), &people.iter().collect::<Vec<_>>());
    folder.write("p.toml", &policy(CASES[0], "rest = \"drop\"", ""));
    let call = |out: &str, more: &[&str]| {
        let command = ["anonymize", "t.parquet", "--policy", "p.toml", "--out", out];
        folder.run(&[&command[..], more].concat())
    };
    let refused = call("csv", &["--format", "csv"]);
    assert!(printed(&refused).contains("\"insurance\" holds an empty text"), "{}", printed(&refused));
    assert!(call("parquet", &[]).status.success());
    folder.ends_with(0, &["check", "parquet"]);
}
