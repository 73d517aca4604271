//! Whom the attacks affect in the releases of the datasets; a change that affects more people shows here.

use crate::support::{root, skyveil_in};
use serde_json::Value;

/// A policy and its table, and the people affected by certainty, ends of ranges and missing lookalikes.
const EXPECTED: [(&str, &str, [u64; 3]); 5] = [
    ("patients.toml", "patients.csv", [0, 4, 8]),
    ("hospital.toml", "hospital.csv", [0, 4, 10]),
    ("clinic.toml", "clinic.csv", [0, 0, 240]),
    ("census.toml", "census.csv", [0, 164, 4890]),
    ("census-beliefs.toml", "census.csv", [0, 54, 150]),
];

#[test]
fn the_releases_of_the_datasets_expose_as_many_people_as_before() {
    for (policy, table, expected) in EXPECTED {
        let folder = tempfile::tempdir().unwrap();
        let [policy, table] = [policy, table].map(|name| root().join("datasets").join(name));
        let (policy, table) = (policy.to_str().unwrap(), table.to_str().unwrap());
        let made = skyveil_in(folder.path(), &["anonymize", table, "--policy", policy, "--out", "release"]);
        assert!(made.status.success(), "{policy}");
        let attack = skyveil_in(folder.path(), &["attack", "release", "--original", table, "--json"]);
        let report: Value = serde_json::from_slice(&attack.stdout).unwrap();
        let people = |name: &str| {
            let attacks = report["attacks"].as_array().unwrap();
            attacks.iter().find(|line| line["attack"] == name).unwrap()["people"].as_u64().unwrap()
        };
        assert_eq!(["certainty", "range ends", "lookalikes"].map(people), expected, "{policy}");
    }
}

#[test]
fn a_table_of_another_tool_is_attacked_by_its_groups() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "age,class,pay\n20,1,1000\n21,1,1001\n30,2,10\n31,2,500\n32,2,900\n32,3,7\n32,3,7\n";
    std::fs::write(folder.path().join("theirs.csv"), rows).unwrap();
    let arguments =
        ["attack", "theirs.csv", "--group", "class", "--quasi", "age", "--sensitive", "pay", "--json"];
    let attack = skyveil_in(folder.path(), &arguments);
    assert!(attack.status.success(), "{}", String::from_utf8_lossy(&attack.stderr));
    let report: Value = serde_json::from_slice(&attack.stdout).unwrap();
    let people: Vec<Option<u64>> =
        report["attacks"].as_array().unwrap().iter().map(|line| line["people"].as_u64()).collect();
    // Class 3 has one value, classes 1 and 3 have close ones; 20 and 21 are the ends of class 1, 30 and 32 of class 2;
    // three people share the age of 32.
    assert_eq!(people, [Some(2), Some(4), Some(4), Some(4), None, None], "{report}");
    let replay = skyveil_in(folder.path(), &[&arguments[..], &["--replay"]].concat());
    assert_eq!(replay.status.code(), Some(2));
}
