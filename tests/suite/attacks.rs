//! Whom the attacks affect in the releases of the datasets; a change that affects more people shows here.

use crate::support::{Folder, json, printed, root, skyveil_in};
use serde_json::Value;

/// A release of a dataset, and whom the attacks on it affect.
struct Golden {
    policy: &'static str,
    table: &'static str,
    /// How it is made and how it is attacked, besides.
    made_with: &'static [&'static str],
    attacked_with: &'static [&'static str],
    /// People affected by certainty, ends of ranges and missing lookalikes.
    people: [u64; 3],
    /// People whom correlations affect, by threshold.
    correlations: &'static [u64],
    /// People whom a replay brings to the confidence, by estimate and at most; otherwise why it is not measured.
    replay: Result<[u64; 2], &'static str>,
}

const MODEL: &str = "not measured for this model";
const GIVEN: &str = "other groups than the release has";
const FUNCTIONS: [&str; 4] = ["--functions", "exclusive-functions.csv", "--strategy", "exclusive"];

const fn golden(policy: &'static str, table: &'static str, people: [u64; 3]) -> Golden {
    Golden {
        policy,
        table,
        made_with: &[],
        attacked_with: &[],
        people,
        correlations: &[],
        replay: Err(MODEL),
    }
}

fn all() -> Vec<Golden> {
    vec![
        Golden { replay: Ok([0, 0]), ..golden("patients.toml", "patients.csv", [0, 4, 8]) },
        golden("hospital.toml", "hospital.csv", [0, 4, 10]),
        Golden { replay: Ok([3, 81]), ..golden("clinic.toml", "clinic.csv", [0, 0, 240]) },
        Golden { replay: Ok([18, 2755]), ..golden("census.toml", "census.csv", [0, 366, 4982]) },
        Golden {
            correlations: &[0, 0, 0, 10, 0, 0],
            ..golden("census-beliefs.toml", "census.csv", [0, 54, 150])
        },
        golden("census-robust.toml", "census.csv", [0, 4019, 2530]),
        Golden {
            attacked_with: &["--sensitive", "diagnosis"],
            replay: Err("not measured for several sensitive columns"),
            ..golden("census-two.toml", "census.csv", [0, 123, 4982])
        },
        Golden {
            made_with: &FUNCTIONS,
            replay: Err(GIVEN),
            ..golden("exclusive.toml", "exclusive-table4-gb.csv", [0, 6, 10])
        },
        Golden {
            made_with: &FUNCTIONS,
            replay: Err(GIVEN),
            ..golden("exclusive-names.toml", "exclusive-table6.csv", [0, 6, 10])
        },
    ]
}

/// The people of all lines of an attack.
fn people(report: &Value, attack: &str, field: &str) -> Vec<u64> {
    let lines = report["attacks"].as_array().unwrap().iter();
    lines.filter(|line| line["attack"] == attack).filter_map(|line| line[field].as_u64()).collect()
}

fn datasets() -> Folder {
    let folder = Folder::new();
    for entry in std::fs::read_dir(root().join("datasets")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, folder.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
        }
    }
    folder
}

#[test]
fn the_releases_of_the_datasets_expose_as_many_people_as_before() {
    for own in all() {
        let folder = datasets();
        let make = ["anonymize", own.table, "--policy", own.policy, "--out", "release"];
        folder.ends_with(0, &[&make[..], own.made_with].concat());
        let attack = [&["attack", "release", "--original", own.table, "--json"], own.attacked_with].concat();
        let report: Value = serde_json::from_slice(&folder.run(&attack).stdout).unwrap();
        let found =
            ["certainty", "range ends", "unique people"].map(|name| people(&report, name, "people")[0]);
        assert_eq!(found, own.people, "{}", own.policy);
        assert_eq!(people(&report, "correlations", "people"), own.correlations, "{}", own.policy);
        let replay = folder.run(&[&attack[..], &["--replay", "--samples", "200"]].concat());
        match own.replay {
            Ok([estimated, at_most]) => {
                let report: Value = serde_json::from_slice(&replay.stdout).unwrap();
                let found = ["people", "at_most"].map(|field| people(&report, "replay", field)[0]);
                assert_eq!(found, [estimated, at_most], "{}", own.policy);
            }
            Err(why) => {
                assert_eq!(replay.status.code(), Some(2), "{}", own.policy);
                assert!(printed(&replay).contains(why), "{}: {}", own.policy, printed(&replay));
            }
        }
    }
}

#[test]
fn people_of_several_rows_are_not_followed_and_it_is_said() {
    for name in ["visits", "prescriptions", "purchases"] {
        let folder = datasets();
        let [policy, table] = [format!("{name}.toml"), format!("{name}.csv")];
        folder.ends_with(0, &["anonymize", &table, "--policy", &policy, "--out", "release"]);
        let refused = folder.ends_with(2, &["attack", "release", "--original", &table]);
        assert!(refused.contains("attacks follow one value of each person"), "{refused}");
    }
}

#[test]
fn what_was_recorded_is_in_the_receipt_and_on_the_page_of_the_owner() {
    let folder = datasets();
    for out in ["release", "other"] {
        folder.ends_with(0, &["anonymize", "clinic.csv", "--policy", "clinic.toml", "--out", out]);
    }
    let page = |receipt: &str| {
        folder.ends_with(0, &["report", "release", "--receipt", receipt, "--out", "page.html"]);
        std::fs::read_to_string(folder.path("page.html")).unwrap()
    };
    assert!(page("release.receipt.json").contains("--record"));
    let attack = ["attack", "release", "--original", "clinic.csv"];
    let record = ["--receipt", "release.receipt.json", "--record"];
    folder.ends_with(0, &[&attack[..], &record].concat());
    let recorded = || -> Value {
        serde_json::from_slice(&std::fs::read(folder.path("release.receipt.json")).unwrap()).unwrap()
    };
    let before = recorded();
    assert_eq!(before["attacks"]["people"], 240);
    assert_eq!(people(&before["attacks"], "unique people", "people"), [240]);
    assert!(
        people(&before["attacks"], "replay", "people").is_empty() && before["attacks"]["replay"].is_null()
    );
    // A later attack takes its place, and nothing else changes.
    folder.ends_with(0, &[&attack[..], &record, &["--replay"]].concat());
    let mut after = recorded();
    assert_eq!(people(&after["attacks"], "replay", "people"), [0]);
    assert_eq!(after["attacks"]["replay"]["groups_exhaustive"], 21);
    after["attacks"] = before["attacks"].clone();
    assert_eq!(after, before);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = folder.path("release.receipt.json").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    folder.ends_with(0, &["check", "release", "--receipt", "release.receipt.json"]);
    // The receipt names the table: as long as it is the same, nothing need be said.
    let said = |arguments: &[&str]| String::from_utf8(folder.run(arguments).stdout).unwrap();
    assert_eq!(said(&["attack", "release"]), said(&attack));
    let table = std::fs::read_to_string(folder.path("clinic.csv")).unwrap();
    let (most, _) = table.trim_end().rsplit_once('\n').unwrap();
    std::fs::write(folder.path("clinic.csv"), most).unwrap();
    assert_eq!(folder.run(&["attack", "release"]).status.code(), Some(1));
    std::fs::remove_file(folder.path("clinic.csv")).unwrap();
    let told = folder.ends_with(2, &["attack", "release"]);
    assert!(told.contains("--original TABLE"), "{told}");
    std::fs::write(folder.path("clinic.csv"), table).unwrap();
    let page = page("release.receipt.json");
    assert!(page.contains("Whom do attacks affect?") && page.contains("nobody else has these"), "{page}");
    // The public page knows nothing of it.
    folder.ends_with(0, &["report", "release", "--out", "page.html"]);
    let public = std::fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(!public.contains("Whom do attacks affect?"));
    folder.ends_with(2, &[&attack[..], &["--record"]].concat());
    let other = ["--receipt", "other.receipt.json", "--record"];
    let own = std::fs::read(folder.path("other.receipt.json")).unwrap();
    let told = folder.run(&[&attack[..], &other].concat());
    // The same table and policy: the other receipt names the same manifest.
    assert_eq!(told.status.code(), Some(0));
    assert_ne!(std::fs::read(folder.path("other.receipt.json")).unwrap(), own);
    folder.ends_with(0, &["anonymize", "patients.csv", "--policy", "patients.toml", "--out", "third"]);
    let own = std::fs::read(folder.path("third.receipt.json")).unwrap();
    let third = ["--receipt", "third.receipt.json", "--record"];
    assert_eq!(folder.run(&[&attack[..], &third].concat()).status.code(), Some(1));
    assert_eq!(std::fs::read(folder.path("third.receipt.json")).unwrap(), own);
}

#[test]
fn what_was_refused_above_groups_tells_more_in_either_style() {
    let folder = datasets();
    let columns = "[columns]\nsensitive = \"diagnosis\"\nrest = \"drop\"\n[columns.quasi.age]\ndomain = [0, 100]\n\
                   [columns.quasi.sex]\n[columns.quasi.education]\n";
    let replayed = |style: &str, m: u64, more: &[&str]| {
        let point = format!("[[privacy.skyline]]\nl = 0\nk = 0\nm = {m}\nconfidence = \"2/3\"\n");
        folder.write("own.toml", &format!("{columns}{point}[publish]\nstyle = \"{style}\"\n"));
        let out = format!("{style}{m}{}", more.len());
        folder.ends_with(0, &["anonymize", "census.csv", "--policy", "own.toml", "--out", &out]);
        let attack = ["attack", &out, "--original", "census.csv", "--replay", "--samples", "50", "--json"];
        folder.run(&[&attack[..], more].concat())
    };
    let told = ["generalized", "bucketized"]
        .map(|style| [&[][..], &["--above"]].map(|more| json(&replayed(style, 0, more))["replay"].clone()));
    assert_eq!(told[0], told[1]);
    let telling = told[0].clone().map(|report| report["groups_that_tell"].as_u64().unwrap());
    assert!(0 < telling[0] && telling[0] < telling[1], "{telling:?}");
    let refused = replayed("generalized", 1, &["--above"]);
    assert!(
        refused.status.code() == Some(2) && printed(&refused).contains("m above 0"),
        "{}",
        printed(&refused)
    );
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
    assert_eq!(people, [Some(2), Some(4), Some(4), Some(4), None, None, None], "{report}");
    let replay = skyveil_in(folder.path(), &[&arguments[..], &["--replay"]].concat());
    assert_eq!(replay.status.code(), Some(2));
}
