//! Policies and release directories.

use serde_json::Value;
use std::path::Path;

use super::tables::{answer, check};
use crate::support::{printed, skyveil as run, text_file};

const POLICY: &str = r#"
[columns]
sensitive = "sick"
drop = ["name"]
[columns.quasi.age]
[privacy]
minimum_group_size = 2
[[privacy.skyline]]
l = 0
k = 0
m = 0
confidence = "3/5"
[[privacy.skyline]]
for = ["gout"]
l = 0
k = 1
m = 0
confidence = 0.9
"#;

fn release(directory: &Path, style: &str, policy: &str) {
    let manifest =
        serde_json::json!({"policy": policy, "style": style, "sensitive": "sick", "values": "single"});
    text_file(directory, "manifest.json", &manifest.to_string());
}

/// Whether every point holds, in a release that nobody checked because it was written by hand.
fn holds(answer: &Value) -> bool {
    assert!(answer["safe"] == false && answer["altered"].is_array(), "{answer}");
    answer["points"].as_array().unwrap().iter().all(|point| point["safe"] == true)
}

fn table(directory: &Path, folder: &str, text: &str) {
    std::fs::create_dir_all(directory.join(folder)).unwrap();
    text_file(&directory.join(folder), "part-0.csv", text);
}

#[test]
fn a_policy_checks_a_table_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let policy = text_file(directory.path(), "policy.toml", POLICY);
    let people =
        text_file(directory.path(), "people.csv", "name,age,sick\na,1,flu\nb,1,gout\nc,2,flu\nd,2,ague\n");
    let output = check(&people, &["--policy", policy.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let answer = answer(&people, &["--policy", policy.to_str().unwrap()]);
    assert_eq!((&answer["groups"], &answer["minimum_group_size"]), (&2.into(), &2.into()));
    let points = answer["points"].as_array().unwrap();
    let told: Vec<_> = points
        .iter()
        .map(|point| (point["value"].as_str().unwrap(), &point["breach_exact"], &point["safe"]))
        .collect();
    let half = serde_json::json!("1/2");
    let one = serde_json::json!("1");
    let (yes, no) = (true.into(), false.into());
    assert_eq!(
        told,
        [("ague", &half, &yes), ("flu", &half, &yes), ("gout", &half, &yes), ("gout", &one, &no)]
    );
}

#[test]
fn a_protected_value_that_nobody_has_is_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    let policy = text_file(directory.path(), "policy.toml", POLICY);
    let people = text_file(directory.path(), "people.csv", "name,age,sick\na,1,flu\nb,1,ague\n");
    let output = check(&people, &["--policy", policy.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    let warning = "warning: the policy protects \"gout\", which column `sick` does not hold\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), warning);
}

#[test]
fn a_generalized_release_is_checked_by_its_own_policy() {
    let directory = tempfile::tempdir().unwrap();
    release(directory.path(), "generalized", POLICY);
    table(directory.path(), "data", "group,age,sick\n0,[1,flu\n0,[1,gout\n0,[1,ague\n1,[2,flu\n1,[2,ague\n");
    assert!(holds(&answer(directory.path(), &[])));
    let stricter = ["--point", "0,1,0,0.9", "--value", "flu"];
    let answer = answer(directory.path(), &stricter);
    assert!(!holds(&answer) && answer["points"].as_array().unwrap().len() == 1);
}

#[test]
fn a_bucketized_release_counts_people_and_values_apart() {
    let directory = tempfile::tempdir().unwrap();
    release(directory.path(), "bucketized", POLICY);
    table(directory.path(), "quasi", "group,age\n0,1\n0,2\n0,3\n1,4\n1,5\n");
    table(
        directory.path(),
        "sensitive",
        "group,sick,count\n0,flu,1\n0,gout,1\n0,ague,1\n1,flu,1\n1,ague,1\n",
    );
    let told = answer(directory.path(), &[]);
    assert_eq!((holds(&told), &told["individuals"], &told["groups"]), (true, &5.into(), &2.into()));
    table(directory.path(), "sensitive", "group,sick,count\n0,flu,2\n0,gout,1\n1,flu,1\n1,ague,1\n");
    assert!(!holds(&answer(directory.path(), &[])));
}

#[test]
fn a_release_that_contradicts_itself_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    release(directory.path(), "bucketized", POLICY);
    table(directory.path(), "quasi", "group,age\n0,1\n0,2\n1,4\n1,5\n");
    for values in [
        "group,sick,count\n0,flu,1\n0,gout,2\n1,flu,1\n1,ague,1\n",
        "group,sick,count\n0,flu,1\n0,gout,1\n1,flu,1\n1,ague,1\n2,flu,1\n",
        "group,sick,count\n0,flu,1\n0,gout,1\n",
        "group,sick,count\n0,flu,1\n0,gout,1\n1,flu,-1\n1,ague,1\n",
        "group,sick,count\n0,flu,1\n0,gout,1\n1,flu,\n1,ague,1\n",
    ] {
        table(directory.path(), "sensitive", values);
        let output = check(directory.path(), &[]);
        assert_eq!(output.status.code(), Some(1), "{values}");
        assert!(printed(&output).contains("not judged: "), "{}", printed(&output));
    }
    text_file(directory.path(), "manifest.json", "{}");
    assert_eq!(check(directory.path(), &[]).status.code(), Some(2));
}

#[test]
fn a_row_with_another_label_is_a_group_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    release(directory.path(), "generalized", POLICY);
    let honest = "group,age,sick\n0,[1,flu\n0,[1,gout\n0,[1,ague\n1,[2,flu\n1,[2,ague\n";
    table(directory.path(), "data", honest);
    assert_eq!(answer(directory.path(), &[])["groups"], 2);
    // In the middle of a group, so that the rows of the group are no longer contiguous, and at its end.
    for relabelled in [
        "group,age,sick\n0,[1,flu\n0,[9,gout\n0,[1,ague\n1,[2,flu\n1,[2,ague\n",
        "group,age,sick\n0,[1,flu\n0,[1,gout\n0,[9,ague\n1,[2,flu\n1,[2,ague\n",
    ] {
        table(directory.path(), "data", relabelled);
        let told = answer(directory.path(), &[]);
        assert_eq!((&told["safe"], &told["groups"]), (&false.into(), &3.into()), "{told}");
        assert_eq!(told["smallest_group"], 1);
    }
}

#[test]
fn the_number_and_the_label_of_a_group_are_still_told() {
    let directory = tempfile::tempdir().unwrap();
    release(directory.path(), "generalized", POLICY);
    table(directory.path(), "data", "group,age,sick\n0,[1,flu\n0,[1,gout\n0,[1,ague\n1,[2,flu\n1,[2,ague\n");
    let path = directory.path().to_str().unwrap();
    let output = run(&["explain", path, "--value", "gout", "--point", "0,1,0"]);
    assert!(printed(&output).contains("with group=0, age=[1, among"), "{}", printed(&output));
    let output = run(&["skyline", path, "--value", "gout", "--confidence", "0.9"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
}

const NUMBERS: &str = "[columns]\nsensitive = \"v\"\nNULL\n[columns.quasi.g]\n[[privacy.skyline]]\nFOR\nl = 0\nk = 0\nm = 0\nconfidence = 0.5\n";

#[test]
fn a_null_that_means_a_number_is_that_number_however_it_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let table =
        text_file(directory.path(), "t.csv", &("g,v\n".to_string() + &"1,0.5\n1,\n1,1.0\n".repeat(9)));
    let joint = "g,v,w\n".to_string() + &"1,0.5,x\n1,,x\n1,1.0,x\n".repeat(9);
    let joint = text_file(directory.path(), "j.csv", &joint);
    for meaning in ["1", "1.0", "1.00"] {
        let policy = NUMBERS.replace("NULL", &format!("null_is = {meaning:?}")).replace("FOR", "");
        let path = text_file(directory.path(), "p.toml", &policy);
        let policy = ["--policy", path.to_str().unwrap()];
        let told = answer(&table, &policy);
        assert_eq!(told["safe"], false, "{meaning}: {told}");
        let out = directory.path().join("out");
        let table = table.to_str().unwrap();
        let output = run(&["anonymize", table, "--policy", policy[1], "--out", out.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{meaning}: {}", printed(&output));
        let both = format!(
            "[columns]\nsensitive = [\"v\", \"w\"]\njoint = [\"v\", \"w\"]\nnull_is = {meaning:?}\n[columns.quasi.g]\n\
             [privacy]\nk_anonymity = 2\n\
             [[privacy.column.\"v+w\".skyline]]\nfor = [\"1.0 + x\"]\nl = 0\nk = 0\nm = 0\nconfidence = 0.5\n"
        );
        text_file(directory.path(), "p.toml", &both);
        let told = answer(&joint, &[&policy[..], &["--sensitive", "v+w"]].concat());
        assert_eq!(told["safe"], false, "{meaning}: {told}");
    }
}

#[test]
fn a_release_of_numbers_with_a_meaning_of_null_is_published() {
    let directory = tempfile::tempdir().unwrap();
    let rows = "g,v\n".to_string() + &"1,0.5\n1,\n1,1.0\n2,2.5\n2,0.5\n2,1.0\n3,2.5\n".repeat(9);
    let table = text_file(directory.path(), "t.csv", &rows);
    for meaning in ["1.0", "7", "none"] {
        for asked in ["", "for = [\"0.50\"]"] {
            if meaning == "none" && !asked.is_empty() {
                continue;
            }
            let policy = NUMBERS.replace("NULL", &format!("null_is = {meaning:?}")).replace("FOR", asked);
            let accept = if asked.is_empty() { "" } else { "accept = [\"unprotected values\"]\n" };
            let policy = text_file(directory.path(), "p.toml", &format!("{accept}{policy}"));
            let out = directory.path().join(format!("out{meaning}{}", asked.len()));
            let (table, policy) = (table.to_str().unwrap(), policy.to_str().unwrap());
            let output = run(&["anonymize", table, "--policy", policy, "--out", out.to_str().unwrap()]);
            assert_eq!(output.status.code(), Some(0), "{meaning} {asked}: {}", printed(&output));
            let safe = if asked.is_empty() { true.into() } else { Value::Null };
            assert_eq!(answer(&out, &[])["safe"], safe);
        }
    }
}

#[test]
fn a_named_number_or_time_is_found_however_it_is_written() {
    let directory = tempfile::tempdir().unwrap();
    for (value, other, ways) in [
        ("1.0", "2.5", &["1", "1.0", "1e0"][..]),
        ("2.50", "3.75", &["2.5", "2.50"]),
        ("7", "8", &["7", "7.0"]),
        ("2020-01-01", "2020-01-02", &["2020-01-01", "2020-01-01T00:00:00"]),
        ("2020-01-01T00:00:00", "2020-01-02T10:00:00", &["2020-01-01", "2020-01-01T00:00:00"]),
    ] {
        let rows = format!("g,v\n{}0,{other}\n", format!("0,{value}\n").repeat(4));
        let table = text_file(directory.path(), "t.csv", &rows);
        for way in ways {
            let policy = NUMBERS.replace("NULL", "").replace("FOR", &format!("for = [{way:?}]"));
            let policy = text_file(directory.path(), "p.toml", &policy);
            let told = answer(&table, &["--policy", policy.to_str().unwrap()]);
            assert_eq!(
                (&told["safe"], &told["points"][0]["breach_exact"]),
                (&false.into(), &"4/5".into()),
                "{way}"
            );
            let table = table.to_str().unwrap();
            let flags = ["--group", "g", "--sensitive", "v", "--value", way];
            let explained = run(&[&["explain", table, "--point", "0,1,0"], &flags[..]].concat());
            assert_eq!(explained.status.code(), Some(0), "{way}: {}", printed(&explained));
            let skyline = run(&[&["skyline", table, "--confidence", "0.9"], &flags[..]].concat());
            assert_eq!(skyline.status.code(), Some(0), "{way}: {}", printed(&skyline));
        }
        let policy = NUMBERS.replace("NULL", "").replace("FOR", "for = [\"x\"]");
        let policy = text_file(directory.path(), "p.toml", &policy);
        let output = check(&table, &["--policy", policy.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    }
}
