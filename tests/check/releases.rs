//! Policies and release directories.

use std::path::Path;

use super::tables::{answer, check, text_file};

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
    assert_eq!(answer(directory.path(), &[])["safe"], true);
    let stricter = ["--point", "0,1,0,0.9", "--value", "flu"];
    let answer = answer(directory.path(), &stricter);
    assert_eq!((&answer["safe"], answer["points"].as_array().unwrap().len()), (&false.into(), 1));
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
    assert_eq!((&told["safe"], &told["individuals"], &told["groups"]), (&true.into(), &5.into(), &2.into()));
    table(directory.path(), "sensitive", "group,sick,count\n0,flu,2\n0,gout,1\n1,flu,1\n1,ague,1\n");
    assert_eq!(answer(directory.path(), &[])["safe"], false);
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
        assert_eq!(output.status.code(), Some(2), "{values}");
    }
    text_file(directory.path(), "manifest.json", "{}");
    assert_eq!(check(directory.path(), &[]).status.code(), Some(2));
}
