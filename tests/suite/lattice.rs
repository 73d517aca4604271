//! Are full-domain releases safe, minimal and the same every time?

use crate::support::{beside, dataset, skyveil, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A policy for the census of the repository, with its columns and different privacy requirements.
fn policy(folder: &Path, privacy: &str) -> PathBuf {
    let stated = std::fs::read_to_string(dataset("census.toml")).unwrap();
    let (columns, _) = stated.split_once("[privacy]").unwrap();
    for name in ["census-tract.csv", "census-marital.csv"] {
        std::fs::copy(dataset(name), folder.join(name)).unwrap();
    }
    let path = folder.join("policy.toml");
    std::fs::write(&path, format!("{columns}[privacy]\n{privacy}")).unwrap();
    path
}

fn release(policy: &Path, out: &Path, flags: &[&str]) -> (Value, Vec<u8>) {
    let census = dataset("census.csv");
    let fixed =
        ["anonymize", text(&census), "--policy", text(policy), "--out", text(out), "--search", "lattice"];
    let output = skyveil(&[&fixed[..], &["--json"], flags].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let manifest = std::fs::read(out.join("manifest.json")).unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), manifest)
}

const IMPLICATIONS: &str = "model = \"implications\"\nimplications = 2\nconfidence = 0.8\n";

#[test]
fn a_lattice_release_is_safe_and_the_same_for_any_memory_and_threads() {
    let folder = tempfile::tempdir().unwrap();
    for (number, privacy) in
        [IMPLICATIONS, "k_anonymity = 20\nl_diversity = { c = 3, l = 3 }\n"].iter().enumerate()
    {
        let policy = policy(folder.path(), privacy);
        let out = |name: &str| folder.path().join(format!("{name}{number}"));
        let (told, manifest) = release(&policy, &out("one"), &["--threads", "1", "--memory", "64MiB"]);
        assert_eq!(release(&policy, &out("two"), &["--threads", "3"]).1, manifest);
        assert_eq!(skyveil(&["check", text(&out("one"))]).status.code(), Some(0));
        let minimal = told["lattice"]["minimal_safe"].as_array().unwrap();
        assert!(minimal.contains(&told["lattice"]["levels"]));
        // No node lies below another.
        let levels = |node: &Value| -> Vec<u64> {
            node.as_array().unwrap().iter().map(|level| level.as_u64().unwrap()).collect()
        };
        for a in minimal {
            let below = |b: &&Value| a != *b && levels(a).iter().zip(levels(b)).all(|(a, b)| *a <= b);
            assert!(!minimal.iter().any(|b| below(&b)), "{minimal:?}");
        }
    }
}

const AGE_AND_SEX: &str = r#"
[columns]
sensitive = "diagnosis"
drop = ["person_id", "region", "county", "tract", "education", "marital", "occupation", "industry", "cost"]
[columns.quasi.age]
grid = 1
[columns.quasi.sex]
[privacy]
k_anonymity = 30
distinct_l_diversity = 2
"#;

/// The smallest number of people who agree in the interval of their age and, if it is published, in their sex.
fn smallest_group(width: u64, tells_sex: bool) -> u64 {
    let census = std::fs::read_to_string(dataset("census.csv")).unwrap();
    let mut groups = BTreeMap::new();
    for line in census.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let sex = if tells_sex { cells[2] } else { "*" };
        *groups.entry((cells[1].parse::<u64>().unwrap() / width, sex)).or_insert(0) += 1;
    }
    groups.into_values().min().unwrap()
}

#[test]
fn a_lattice_release_is_the_one_that_counting_by_hand_finds() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, AGE_AND_SEX).unwrap();
    let mut safe = Vec::new();
    for (age, width) in [1, 5, 10, 20, 40, 1000].into_iter().enumerate() {
        safe.extend((0..2).filter(|&sex| smallest_group(width, sex == 0) >= 30).map(|sex| (age, sex)));
    }
    let lowest = |node: &&(usize, usize)| {
        !safe.iter().any(|other| other != *node && other.0 <= node.0 && other.1 <= node.1)
    };
    let expected: BTreeSet<(usize, usize)> = safe.iter().filter(lowest).copied().collect();
    for measure in ["discernibility", "group-size", "certainty", "entropy"] {
        let out = folder.path().join(measure);
        let (told, _) = release(&policy, &out, &["--measure", measure]);
        let node = |node: &Value| (node[0].as_u64().unwrap() as usize, node[1].as_u64().unwrap() as usize);
        let minimal = told["lattice"]["minimal_safe"].as_array().unwrap();
        assert_eq!(minimal.iter().map(node).collect::<BTreeSet<_>>(), expected, "{measure}");
        // Everybody's age is cut at the same points.
        let tree: Value = serde_json::from_slice(&std::fs::read(beside(&out, ".tree")).unwrap()).unwrap();
        let width = [1, 5, 10, 20, 40][node(&told["lattice"]["levels"]).0];
        assert_eq!(tree["column"], "age");
        for (i, cut) in (1..).zip(tree["from"].as_array().unwrap()) {
            assert_eq!(cut.as_str().unwrap(), (i * width).to_string(), "{measure}");
        }
        assert_eq!(skyveil(&["check", text(&out)]).status.code(), Some(0));
    }
}

#[test]
fn a_policy_may_set_the_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.toml");
    let run = |stated: &str, people: u64| {
        let text =
            AGE_AND_SEX.replace("[columns.quasi.age]\ngrid = 1", &format!("[columns.quasi.age]\n{stated}"));
        std::fs::write(&policy, text.replace("= 30", &format!("= {people}"))).unwrap();
        let out = folder.path().join(people.to_string());
        let (told, _) = release(&policy, &out, &[]);
        let tree: Value = serde_json::from_slice(&std::fs::read(beside(&out, ".tree")).unwrap()).unwrap();
        (told["lattice"]["levels"].clone(), tree)
    };
    // The smallest group with this width is just large enough; with a narrower width it is not.
    let people = smallest_group(35, true);
    assert!(people > smallest_group(7, true));
    let (levels, tree) = run("levels = [7, 35]", people);
    assert_eq!(levels, serde_json::json!([2, 0]));
    assert_eq!(tree["from"], serde_json::json!(["35", "70"]));
    let (levels, tree) = run("ends = [[18, 40, 65], [18, 65]]", 300);
    assert_eq!(levels, serde_json::json!([1, 0]));
    assert_eq!(tree["from"], serde_json::json!(["18", "40", "65"]));
}

#[test]
fn a_lattice_needs_single_values_and_a_known_measure() {
    let folder = tempfile::tempdir().unwrap();
    let policy = policy(folder.path(), IMPLICATIONS);
    let (census, out) = (dataset("census.csv"), folder.path().join("out"));
    let fixed = ["anonymize", text(&census), "--policy", text(&policy), "--out", text(&out)];
    let run = |flags: &[&str]| {
        let output = skyveil(&[&fixed[..], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(!out.exists());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(run(&["--search", "lattice", "--measure", "beauty"]).contains("expected one of discernibility"));
    assert!(run(&["--search", "shelf"]).contains("lattice"));
    let little = run(&["--search", "lattice", "--memory", "300KiB"]);
    assert!(little.contains("memory") || little.contains("cells"), "{little}");
}
