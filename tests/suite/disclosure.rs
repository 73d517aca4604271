//! Does `skyveil disclosure` match the definitions, and are releases against implications safe?

use crate::support::library::{Rational, parse_fraction, ratio};
use crate::support::{dataset, skyveil, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Output;

/// The JSON answer of a command that ends with one of these exit codes.
fn answer(arguments: &[&str], codes: &[i32]) -> Value {
    let output = skyveil(&[arguments, &["--json"]].concat());
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(codes.contains(&output.status.code().unwrap()), "{arguments:?}: {complaint}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn exact(curve: &Value) -> Vec<String> {
    curve.as_array().unwrap().iter().map(|point| point["exact"].as_str().unwrap().to_string()).collect()
}

/// Each group as consecutive rows; a group is a number, a value is a letter.
fn table(folder: &Path, name: &str, groups: &[(u64, &str)]) -> PathBuf {
    let path = folder.join(name);
    let rows =
        groups.iter().flat_map(|(group, values)| values.chars().map(move |v| format!("{group},{v}\n")));
    std::fs::write(&path, format!("grp,sick\n{}", rows.collect::<String>())).unwrap();
    path
}

fn disclosure(table: &Path, up_to: &str) -> Value {
    answer(&["disclosure", text(table), "--group", "grp", "--sensitive", "sick", "--up-to", up_to], &[0])
}

#[test]
fn the_figures_of_the_specification_come_out() {
    let hospital = dataset("hospital-generalized.csv");
    let arguments =
        ["disclosure", text(&hospital), "--group", "zip,age,sex", "--sensitive", "disease", "--up-to", "4"];
    let answer = answer(&arguments, &[0]);
    assert_eq!(exact(&answer["implications"]), ["2/5", "2/3", "1", "1", "1"]);
    assert_eq!(exact(&answer["negations"]), ["2/5", "2/3", "1", "1", "1"]);
    assert_eq!((answer["individuals"].as_u64(), answer["groups"].as_u64()), (Some(10), Some(2)));
    for point in answer["implications"].as_array().unwrap() {
        let exact = parse_fraction(point["exact"].as_str().unwrap()).unwrap();
        assert!(Rational::try_from(point["disclosure"].as_f64().unwrap()).unwrap() >= exact);
    }
    let folder = tempfile::tempdir().unwrap();
    let two = table(folder.path(), "two.csv", &[(1, "aaabbccde"), (2, "aabbcdf")]);
    let answer = disclosure(&two, "5");
    assert_eq!(exact(&answer["implications"]), ["1/3", "4/9", "3/5", "3/4", "1", "1"]);
    assert_eq!(exact(&answer["negations"]), ["1/3", "3/7", "3/5", "3/4", "1", "1"]);
}

#[test]
fn the_vectors_pass_exactly() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/martin.json");
    let vectors: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (number, case) in vectors["cases"].as_array().unwrap().iter().enumerate().step_by(5) {
        let bucket = |bucket: &Value| -> String {
            let counts = bucket.as_object().unwrap().iter();
            counts.map(|(value, count)| value.repeat(count.as_u64().unwrap() as usize)).collect()
        };
        let buckets: Vec<String> = case["buckets"].as_array().unwrap().iter().map(bucket).collect();
        let groups: Vec<(u64, &str)> = (0..).zip(buckets.iter().map(String::as_str)).collect();
        let k = case["k"].as_u64().unwrap();
        let answer = disclosure(&table(folder.path(), "case.csv", &groups), &k.to_string());
        let last = |curve: &str| answer[curve][k as usize]["exact"].clone();
        assert_eq!(last("implications"), case["max_disclosure"], "case {number}");
        assert_eq!(last("negations"), case["max_disclosure_negated_atoms"], "case {number}");
    }
}

/// Every way to assign the values of a group to its people.
fn arrangements(values: &str) -> BTreeSet<String> {
    if values.len() <= 1 {
        return BTreeSet::from([values.to_string()]);
    }
    let without = |i: usize| format!("{}{}", &values[..i], &values[i + 1..]);
    let first =
        |i: usize| arrangements(&without(i)).into_iter().map(move |rest| format!("{}{rest}", &values[i..=i]));
    (0..values.len()).flat_map(first).collect()
}

/// The share of worlds in which the target holds, among those consistent with what is known.
fn share(
    groups: &[(u64, &str)],
    target: &Value,
    agrees: impl Fn(&dyn Fn(&Value) -> bool) -> bool,
) -> Rational {
    let mut worlds: Vec<BTreeMap<u64, String>> = vec![BTreeMap::new()];
    let mut row = 1;
    for (_, values) in groups {
        let extend = |world: BTreeMap<u64, String>| {
            arrangements(values).into_iter().map(move |way| {
                let mut world = world.clone();
                world.insert(row, way);
                world
            })
        };
        worlds = worlds.into_iter().flat_map(extend).collect();
        row += values.len() as u64;
    }
    let (mut possible, mut with_target) = (0, 0);
    for world in &worlds {
        let holds = |atom: &Value| {
            let person = atom["person"].as_u64().unwrap() as usize - 1;
            world[&atom["first_row"].as_u64().unwrap()][person..=person] == *atom["value"].as_str().unwrap()
        };
        if agrees(&holds) {
            possible += 1;
            with_target += u64::from(holds(target));
        }
    }
    ratio(with_target, possible)
}

#[test]
fn the_named_atoms_attain_the_maximum() {
    let folder = tempfile::tempdir().unwrap();
    let tables: [&[(u64, &str)]; 4] = [
        &[(1, "aabbc"), (2, "aabcd")],
        &[(1, "aaaabcd"), (2, "bbccde")],
        &[(7, "abcde"), (3, "ffgh")],
        &[(1, "aab"), (2, "cd"), (3, "eefg")],
    ];
    for groups in tables {
        let answer = disclosure(&table(folder.path(), "tiny.csv", groups), "3");
        for (curve, known) in [("implications", "antecedents"), ("negations", "negated")] {
            for point in answer[curve].as_array().unwrap() {
                let (target, known) = (&point["target"], point[known].as_array().unwrap());
                assert!(known.len() as u64 <= point["k"].as_u64().unwrap());
                let reached = share(groups, target, |holds| match curve {
                    "implications" => known.iter().all(|atom| !holds(atom) || holds(target)),
                    _ => known.iter().all(|atom| !holds(atom)),
                });
                assert_eq!(reached.to_string(), point["exact"].as_str().unwrap(), "{groups:?}: {point}");
            }
        }
    }
}

/// The same rows in a fixed scrambled order.
fn scattered(path: &Path, to: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    lines.sort_by_key(|line| {
        line.bytes().rev().fold(7u64, |hash, byte| hash.wrapping_mul(31) ^ u64::from(byte))
    });
    let middle = lines.len() / 2;
    lines.rotate_left(middle);
    std::fs::write(to, format!("grp,sick\n{}\n", lines.join("\n"))).unwrap();
}

#[test]
fn scattered_rows_and_threads_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let values = |i: u64| -> String {
        (0..5 + i % 7).map(|j| char::from(b'a' + ((i * j * j + j * 3 + i / 5) % 9) as u8)).collect()
    };
    let groups: Vec<(u64, String)> = (0..3000).map(|i| (i, values(i))).collect();
    let groups: Vec<(u64, &str)> = groups.iter().map(|(i, values)| (*i, values.as_str())).collect();
    let clustered = table(folder.path(), "clustered.csv", &groups);
    let disorder = folder.path().join("scattered.csv");
    scattered(&clustered, &disorder);
    let ask = |path: &Path, threads: &str| {
        let flags = ["--group", "grp", "--sensitive", "sick", "--up-to", "6", "--threads", threads];
        answer(&[&["disclosure", text(path)][..], &flags].concat(), &[0])
    };
    let one = ask(&clustered, "1");
    assert_eq!(ask(&clustered, "4"), one);
    let other = ask(&disorder, "3");
    assert_eq!(other["scattered"], true);
    for curve in ["implications", "negations"] {
        assert_eq!(exact(&other[curve]), exact(&one[curve]));
    }
}

#[test]
fn the_chart_is_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), "two.csv", &[(1, "aaabbccde"), (2, "aabbcdf")]);
    let draw = |name: &str| {
        let path = folder.path().join(name);
        let flags = ["--group", "grp", "--sensitive", "sick", "--up-to", "5", "--svg", text(&path)];
        let output = skyveil(&[&["disclosure", text(&table)][..], &flags].concat());
        assert_eq!(output.status.code(), Some(0));
        (String::from_utf8(output.stdout).unwrap(), std::fs::read_to_string(path).unwrap())
    };
    let (told, svg) = draw("a.svg");
    assert_eq!((told.clone(), svg.clone()), draw("b.svg"));
    // 1/3 is rounded up.
    assert!(told.contains("0.333334") && told.contains("4/9") && told.contains("each of these implies it"));
    for part in ["maximum disclosure (probability)", "k (number)", "implications", "negated atoms"] {
        assert!(svg.contains(part), "{part}");
    }
}

#[test]
fn mistakes_are_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), "two.csv", &[(1, "aab"), (2, "ab")]);
    let table = text(&table);
    for (arguments, problem) in [
        (vec!["--up-to", "2", "--sensitive", "sick"], "no group columns"),
        (vec!["--up-to", "2", "--group", "grp"], "no sensitive column"),
        (vec!["--up-to", "257", "--group", "grp", "--sensitive", "sick"], "257"),
        (vec!["--up-to", "-1", "--group", "grp", "--sensitive", "sick"], "-1"),
        (vec!["--up-to", "2", "--group", "grp", "--sensitive", "grp"], "two roles"),
    ] {
        let output = skyveil(&[&["disclosure", table][..], &arguments].concat());
        let complaint = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(complaint.contains(problem), "{arguments:?}: {complaint}");
    }
}

fn anonymize(table: &Path, policy: &Path, out: &Path, more: &[&str]) -> Output {
    let arguments = ["anonymize", text(table), "--policy", text(policy), "--out", text(out)];
    skyveil(&[&arguments[..], more].concat())
}

/// The hospital's policy with another threshold.
fn hospital_policy(folder: &Path, implications: u64, confidence: &str) -> PathBuf {
    let policy = std::fs::read_to_string(dataset("hospital.toml")).unwrap();
    let policy = policy.replace("implications = 1", &format!("implications = {implications}"));
    let policy = policy.replace("confidence   = 0.7", &format!("confidence = \"{confidence}\""));
    let path = folder.join(format!("policy-{implications}.toml"));
    std::fs::write(&path, policy).unwrap();
    path
}

#[test]
fn a_release_of_the_hospital_is_safe_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    for style in ["generalized", "bucketized"] {
        let policy = hospital_policy(folder.path(), 1, "0.7");
        let stated = std::fs::read_to_string(&policy).unwrap();
        std::fs::write(&policy, format!("{stated}\n[publish]\nstyle = \"{style}\"\n")).unwrap();
        let out = folder.path().join(style);
        let output = anonymize(&dataset("hospital.csv"), &policy, &out, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let checked = answer(&["check", text(&out)], &[0]);
        assert_eq!(checked["model"], "implications");
        let point = &checked["points"][0];
        let disclosed = parse_fraction(point["disclosure_exact"].as_str().unwrap()).unwrap();
        assert!(disclosed < ratio(7, 10) && point["safe"] == true);
        // The release is checked against its own numbers, and the manifest and the measure agree with them.
        let measured = answer(&["disclosure", text(&out), "--up-to", "2"], &[0]);
        assert_eq!(measured["implications"][1]["exact"], point["disclosure_exact"]);
        let manifest: Value =
            serde_json::from_slice(&std::fs::read(out.join("manifest.json")).unwrap()).unwrap();
        assert_eq!(manifest["points"][0]["disclosure_exact"], point["disclosure_exact"]);
        assert_eq!(manifest["points"][0]["curve"].as_array().unwrap().len(), 2);
        // But no more than that: the same release is unsafe for a threshold that it just reaches.
        let strict = hospital_policy(folder.path(), 1, &disclosed.to_string());
        let checked = answer(&["check", text(&out), "--policy", text(&strict)], &[1]);
        assert_eq!((&checked["safe"], &checked["points"][0]["safe"]), (&false.into(), &false.into()));
    }
}

#[test]
fn a_table_that_cannot_be_released_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    // The hospital has 6 diseases: 5 implications disclose everything.
    let policy = hospital_policy(folder.path(), 5, "1");
    let out = folder.path().join("out");
    let output = anonymize(&dataset("hospital.csv"), &policy, &out, &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["obstacles"][0]["implications"], 5);
    assert_eq!(told["obstacles"][0]["disclosure"], 1.0);
    assert!(!out.exists());
}

#[test]
fn a_census_is_released_with_the_same_bytes_for_any_memory_and_threads() {
    let folder = tempfile::tempdir().unwrap();
    let census = folder.path().join("census.csv");
    let made = skyveil(&["generate", "census", "--rows", "20000", "--seed", "3", "--out", text(&census)]);
    assert_eq!(made.status.code(), Some(0));
    let policy = std::fs::read_to_string(dataset("census.toml")).unwrap();
    let (columns, _) = policy.split_once("[privacy]").unwrap();
    let policy = folder.path().join("policy.toml");
    let privacy = "[privacy]\nmodel = \"implications\"\nimplications = 2\nconfidence = 0.8\n";
    std::fs::write(&policy, format!("{columns}{privacy}")).unwrap();
    for name in ["census-tract.csv", "census-marital.csv"] {
        std::fs::copy(dataset(name), folder.path().join(name)).unwrap();
    }
    let release = |name: &str, flags: &[&str]| {
        let out = folder.path().join(name);
        let output = anonymize(&census, &policy, &out, flags);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        (std::fs::read(out.join("manifest.json")).unwrap(), out)
    };
    let (manifest, out) = release("one", &["--threads", "1", "--memory", "64MiB"]);
    // The manifest holds the hashes of all files.
    assert_eq!(release("two", &["--threads", "3", "--memory", "1GiB"]).0, manifest);
    let checked = answer(&["check", text(&out)], &[0]);
    assert!(checked["groups"].as_u64().unwrap() > 50, "{checked}");
    let disclosed = parse_fraction(checked["points"][0]["disclosure_exact"].as_str().unwrap()).unwrap();
    assert!(disclosed < ratio(4, 5) && disclosed > ratio(1, 2), "{disclosed}");
}
