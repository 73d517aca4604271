//! Does a dry run estimate what a release would be, and publish nothing?

use crate::support::{Folder, dataset, printed, skyveil_in, text};
use serde_json::Value;

const POLICY: &str = "[columns]\nsensitive = \"diagnosis\"\nrest = \"drop\"\n\
    quasi = { age = { domain = [0, 100] }, sex = {}, education = {} }\n\
    [privacy]\nk_anonymity = 5\n[[privacy.skyline]]\nl = 1\nk = 5\nm = 1\nconfidence = 0.4\n";

fn run(folder: &Folder, code: i32, arguments: &[&str]) -> Value {
    let output = skyveil_in(&folder.path(""), arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{}", printed(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_dry_run_finds_the_release_without_making_it_in_any_order_and_with_any_threads() {
    let folder = Folder::new();
    let census = std::fs::read_to_string(dataset("census.csv")).unwrap();
    let (header, rows) = census.split_once('\n').unwrap();
    let mut lines: Vec<&str> = rows.lines().take(2000).collect();
    folder.write("t.csv", &format!("{header}\n{}\n", lines.join("\n")));
    lines.reverse();
    folder.write("backwards.csv", &format!("{header}\n{}\n", lines.join("\n")));
    folder.write("p.toml", POLICY);
    let dry = |table: &str, threads: &str| {
        run(
            &folder,
            0,
            &["anonymize", table, "--policy", "p.toml", "--dry-run", "--json", "--threads", threads],
        )
    };
    let found = dry("t.csv", "1");
    assert_eq!(found, dry("backwards.csv", "3"));
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 3);
    assert_eq!((&found["estimate"], &found["sampled"]), (&false.into(), &2000.into()));
    // All people were tried, so the release is the same.
    let made = run(&folder, 0, &["anonymize", "t.csv", "--policy", "p.toml", "--out", "out", "--json"]);
    assert_eq!(found["policy"]["groups"], made["groups"]);
    assert_eq!(found["policy"]["certainty_penalty"], made["certainty_penalty"]["published"]);
    assert_eq!(found["policy"]["binds"], made["binds"]);
    let report =
        skyveil_in(&folder.path(""), &["report", "out", "--original", "t.csv", "--out", "page.html"]);
    let median = 100.0 * found["policy"]["median_query_error"].as_f64().unwrap();
    let expected = format!("; median query error {median:.1} %");
    assert!(printed(&report).contains(&expected), "{expected}\n{}", printed(&report));
    let relaxed = found["relaxed"].as_array().unwrap();
    let changes: Vec<&str> = relaxed.iter().map(|own| own["change"].as_str().unwrap()).collect();
    for change in ["l = 0 at (1,5,1)", "k_anonymity = 2", "without sex", "age: grid = 10", "age: grid = 1"] {
        assert!(changes.contains(&change), "{changes:?}");
    }
    let errors: Vec<f64> = relaxed.iter().map(|own| own["median_query_error"].as_f64().unwrap()).collect();
    assert!(errors.is_sorted(), "{errors:?}");
    // A relaxed policy is what it says: the release with the changed line has these groups.
    let looser = relaxed.iter().find(|own| own["change"] == "l = 0 at (1,5,1)").unwrap();
    folder.write("looser.toml", &POLICY.replace("l = 1", "l = 0"));
    let made =
        run(&folder, 0, &["anonymize", "t.csv", "--policy", "looser.toml", "--out", "loose", "--json"]);
    assert_eq!(looser["groups"], made["groups"]);
}

#[test]
fn a_dry_run_of_an_impossible_policy_ends_with_no() {
    let folder = Folder::new();
    folder.write("p.toml", &POLICY.replace("confidence = 0.4", "confidence = 0.01"));
    let table = dataset("census.csv");
    let found = run(&folder, 1, &["anonymize", text(&table), "--policy", "p.toml", "--dry-run", "--json"]);
    assert_eq!(found["policy"]["groups"], 0);
}
