//! Releases against an adversary who knows distributions, as a user gets them.

use crate::support::library::{self, Outcome, Run, rows, write};
use crate::support::{contents, dataset, json, printed, skyveil, skyveil_in, text};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

/// The columns of a table and its rows as texts.
fn read(path: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let batch = library::read(path, &[]);
    (batch.schema().fields().iter().map(|field| field.name().clone()).collect(), rows(&batch))
}

/// The first people of the census with a policy of their own.
struct Place {
    folder: tempfile::TempDir,
    table: PathBuf,
    policy: PathBuf,
}

impl Place {
    fn new(rows: usize, privacy: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let census = std::fs::read_to_string(dataset("census.csv")).unwrap();
        let lines: Vec<&str> = census.lines().take(rows + 1).collect();
        let table = folder.path().join("people.csv");
        std::fs::write(&table, lines.join("\n") + "\n").unwrap();
        let stated = std::fs::read_to_string(dataset("census-robust.toml")).unwrap();
        let (columns, _) = stated.split_once("[privacy]").unwrap();
        let policy = folder.path().join("policy.toml");
        let publish = "[publish]\nstyle = \"bucketized\"\n";
        let columns = format!("accept = [\"repeated ids\"]   # the costs\n{columns}");
        std::fs::write(&policy, format!("{columns}[privacy]\nmodel = \"robust\"\n{privacy}\n{publish}"))
            .unwrap();
        Place { folder, table, policy }
    }

    /// The policy allows this share of the people to be left out.
    fn suppressing(self, share: &str) -> Self {
        let policy = std::fs::read_to_string(&self.policy).unwrap();
        let suppressing = policy.replace("[privacy]", &format!("[privacy]\nsuppress = \"{share}\""));
        std::fs::write(&self.policy, suppressing).unwrap();
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn anonymize(&self, out: &str, flags: &[&str]) -> Output {
        let out = self.path(out);
        let fixed = ["anonymize", text(&self.table), "--policy", text(&self.policy), "--out", text(&out)];
        skyveil(&[&fixed[..], flags].concat())
    }

    fn released(&self, out: &str, flags: &[&str]) -> BTreeMap<String, Vec<u8>> {
        let output = self.anonymize(out, flags);
        assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
        contents(&self.path(out))
    }

    fn check(&self, out: &str, flags: &[&str]) -> Output {
        let out = self.path(out);
        let fixed = ["check", text(&out), "--original", text(&self.table)];
        skyveil(&[&fixed[..], flags].concat())
    }
}

const KNOWN: &str = "r = 2\nknown = [[\"sex\", \"marital\"], [\"education\"]]";

#[test]
fn a_release_is_robust_and_the_same_for_any_memory_threads_order_and_format() {
    let place = Place::new(1200, KNOWN);
    let first = place.released("one", &["--threads", "1", "--memory", "64MiB"]);
    let checked = place.check("one", &["--json"]);
    assert_eq!(checked.status.code(), Some(0), "{}", printed(&checked));
    let report = json(&checked);
    assert_eq!((&report["safe"], &report["model"]), (&true.into(), &"robust".into()));
    assert!(report["distributions"]["worst_posterior"].as_f64().unwrap() <= 0.5);
    assert_eq!(place.released("two", &["--threads", "3"]), first);

    let census = std::fs::read_to_string(&place.table).unwrap();
    let (head, rows) = census.split_once('\n').unwrap();
    let reversed: Vec<&str> = rows.lines().rev().collect();
    let (halves, parquet) =
        (["half1.csv", "half2.csv"].map(|name| place.path(name)), place.path("p.parquet"));
    for (path, rows) in halves.iter().zip(reversed.chunks(700)) {
        std::fs::write(path, format!("{head}\n{}\n", rows.join("\n"))).unwrap();
    }
    let again = |name: &str, tables: &[&Path]| {
        let out = place.path(name);
        let mut arguments = vec!["anonymize"];
        arguments.extend(tables.iter().map(|path| text(path)));
        arguments.extend(["--policy", text(&place.policy), "--out", text(&out)]);
        assert_eq!(skyveil(&arguments).status.code(), Some(0));
        contents(&out)
    };
    assert_eq!(again("three", &[&halves[0], &halves[1]]), first);
    write(&parquet, &library::read(&place.table, &[]));
    assert_eq!(again("four", &[&parquet]), first);
}

#[test]
fn by_default_pairs_of_columns_are_known_as_far_as_their_people_support_it() {
    let place = Place::new(1200, "r = 2").suppressing("99%");
    place.released("default", &[]);
    let checked = place.check("default", &["--json"]);
    assert_eq!(checked.status.code(), Some(0), "{}", printed(&checked));
    let manifest = std::fs::read_to_string(place.path("default").join("manifest.json")).unwrap();
    assert!(manifest.contains("support = 100"), "{manifest}");
    assert!(manifest.contains("[\\\"age\\\", \\\"sex\\\"]"), "{manifest}");
    // Known as they are, the same pairs leave many people without a group.
    let suppressed = |name: &str| {
        let list = std::fs::read_to_string(place.path(&format!("{name}.suppressed.csv"))).unwrap();
        list.lines().count()
    };
    let raw = std::fs::read_to_string(&place.policy).unwrap().replace("r = 2", "r = 2\nsupport = 0");
    std::fs::write(&place.policy, raw).unwrap();
    place.released("raw", &[]);
    assert!(
        suppressed("default") * 10 < suppressed("raw"),
        "{} {}",
        suppressed("default"),
        suppressed("raw")
    );
}

#[test]
fn a_dry_run_says_that_a_release_must_be_made() {
    let place = Place::new(300, KNOWN);
    let output = place.anonymize("none", &["--dry-run"]);
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    assert!(printed(&output).contains("make the release, and look at its report"), "{}", printed(&output));
}

#[test]
fn support_is_for_estimated_distributions() {
    let place = Place::new(100, "r = 2\nsupport = 5\ndistributions = \"known.csv\"");
    let output = place.anonymize("out", &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        printed(&output).contains("distributions from a file are taken as they are"),
        "{}",
        printed(&output)
    );
}

#[test]
fn parts_give_robust_groups_that_are_the_same_for_any_memory_threads_and_order() {
    // In the second case no prior distinguishes people of the same sex, so they are distributed over the parts.
    for privacy in [KNOWN, "r = 2\nknown = [[\"sex\"]]"] {
        expect_the_same_parts(privacy);
    }
}

fn expect_the_same_parts(privacy: &str) {
    let place = Place::new(1500, privacy).suppressing("20%");
    let policy = std::fs::read_to_string(&place.policy).unwrap();
    let census = std::fs::read_to_string(&place.table).unwrap();
    let (head, rows) = census.split_once('\n').unwrap();
    let reversed: Vec<&str> = rows.lines().rev().collect();
    let backwards = place.path("backwards.csv");
    std::fs::write(&backwards, format!("{head}\n{}\n", reversed.join("\n"))).unwrap();
    let released = |name: &str, table: &Path, threads: usize, memory: u64| {
        let out = place.path(name);
        let (paths, list) = ([table.to_path_buf()], place.path(&format!("{name}.list")));
        let run = Run { memory, threads, ..Run::new(&paths, &policy, out.clone()) };
        let Outcome::Published(summary) = run.in_parts(200, &list).unwrap() else {
            panic!("nothing was published")
        };
        let robust = summary.suppression.unwrap();
        assert_eq!(summary.records + robust.suppressed, 1500);
        assert!(robust.finding.safe && robust.suppressed < 300);
        contents(&out)
    };
    let first = released("one", &place.table, 1, 1 << 30);
    assert_eq!(released("two", &place.table, 3, 12 << 20), first);
    assert_eq!(released("three", &backwards, 2, 1 << 30), first);
    assert_eq!(place.check("one", &[]).status.code(), Some(0));
}

#[test]
fn suppressed_rows_are_listed_in_private_and_nobody_else_is_missing() {
    // The adversary knows so much that few people are alike.
    let place = Place::new(800, "r = 3\nknown = [[\"age\", \"sex\"], [\"education\", \"marital\"]]");
    let refused = place.anonymize("out", &[]);
    assert_eq!(refused.status.code(), Some(2), "{}", printed(&refused));
    assert!(
        printed(&refused).contains("fit in no safe group, and by the policy nobody may be left out"),
        "{}",
        printed(&refused)
    );
    assert_eq!(
        std::fs::read_dir(place.folder.path()).unwrap().count(),
        2,
        "only the table and the policy are left"
    );
    let place = place.suppressing("1%");
    let refused = place.anonymize("out", &[]);
    assert_eq!(refused.status.code(), Some(2), "{}", printed(&refused));
    assert!(printed(&refused).contains("at most 1% may be left out"), "{}", printed(&refused));
    // The share that the message names is enough.
    let told = printed(&refused);
    let (_, needed) = told.split_once("suppress = \"").unwrap();
    let (needed, _) = needed.split_once('"').unwrap();
    let stated = std::fs::read_to_string(&place.policy).unwrap().replace("\"1%\"", &format!("\"{needed}\""));
    std::fs::write(&place.policy, stated).unwrap();
    let output = place.anonymize("out", &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let summary = json(&output);
    let suppressed = summary["suppressed"].as_u64().unwrap();
    assert!(
        suppressed > 400
            && printed(&output).contains(&format!("warning: {suppressed} of 800 rows are suppressed")),
        "{}",
        printed(&output)
    );
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(place.path("out/manifest.json")).unwrap()).unwrap();
    // How many are missing, and what their absence changes, is for the owner.
    for private in ["suppressed", "input", "distributions"] {
        assert_eq!(manifest.get(private), None);
    }
    let receipt: Value =
        serde_json::from_slice(&std::fs::read(place.path("out.receipt.json")).unwrap()).unwrap();
    let (likely, unavoidable) = (&summary["already_likely"], &summary["unavoidable"]);
    assert!(unavoidable.as_u64().unwrap() <= suppressed);
    let listed = serde_json::json!({
        "rows": suppressed, "list": "out.suppressed.csv", "already_likely": likely, "unavoidable": unavoidable,
    });
    assert_eq!(receipt["suppressed"], listed);
    assert_eq!(receipt["distributions"], summary["distributions"]);
    let page = std::fs::read_to_string(place.path("out/report.html")).unwrap();
    // Published values, subtracted from the counts behind the distributions, leave those of the suppressed people.
    let open = "counts behind the distributions";
    assert!(manifest["not_covered"].as_str().unwrap().contains(open) && page.contains(open));
    let told = printed(&place.anonymize("told", &[]));
    assert!(told.lines().any(|line| line.starts_with("not covered: ") && line.contains(open)), "{told}");
    assert!(!page.contains("largest posterior") && !page.contains(&format!("{suppressed} rows")));
    // Groups without labels have no penalty.
    assert_eq!(receipt["utility"]["certainty_penalty"], Value::Null);
    assert!(page.contains("skyveil check RELEASE --original TABLE"));
    assert_eq!(manifest["records"].as_u64().unwrap() + suppressed, 800);
    let list = place.path("out.suppressed.csv");
    assert!(!contents(&place.path("out")).keys().any(|name| name.contains("suppressed")));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&list).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let listed = std::fs::read_to_string(&list).unwrap();
    let mut lines = listed.lines();
    assert_eq!(lines.next(), Some("row"));
    let rows: Vec<usize> = lines.map(|line| line.parse().unwrap()).collect();
    assert_eq!(rows.len() as u64, suppressed);
    assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));

    let (names, people) = read(&place.table);
    let (told_names, told_people) = read(&place.path("out/quasi"));
    let pick = |names: &[String], row: &[String]| -> Vec<String> {
        let quasi = ["age", "sex", "education", "marital", "occupation"];
        let place = |name: &&str| row[names.iter().position(|own| own == name).unwrap()].clone();
        quasi.iter().map(place).collect()
    };
    let kept = (1..).zip(&people).filter(|(row, _)| !rows.contains(row));
    let mut expected: Vec<Vec<String>> = kept.map(|(_, row)| pick(&names, row)).collect();
    let mut published: Vec<Vec<String>> = told_people.iter().map(|row| pick(&told_names, row)).collect();
    expected.sort();
    published.sort();
    assert_eq!(published, expected);

    // An existing list is not overwritten, and a list inside the release would be published.
    let again = place.anonymize("other", &["--suppressed", text(&list)]);
    assert_eq!(again.status.code(), Some(2));
    assert!(printed(&again).contains("exists already"));
    for inside in ["other/list.csv", "./other/list.csv", "x/../other/list.csv"] {
        let inside = place.anonymize("other", &["--suppressed", text(&place.path(inside))]);
        assert!(inside.status.code() == Some(2) && printed(&inside).contains("is inside the release"));
    }
    let list = place.path("other/list.csv");
    let fixed = ["anonymize", "people.csv", "--policy", "policy.toml", "--out", "other"];
    let inside = skyveil_in(&place.path(""), &[&fixed[..], &["--suppressed", text(&list)]].concat());
    assert!(inside.status.code() == Some(2) && printed(&inside).contains("is inside the release"));
    assert!(!place.path("other").exists());
}

#[test]
fn what_cannot_be_grouped_is_refused_with_the_arithmetic() {
    let place = Place::new(300, "r = 9\nknown = [[\"sex\"]]");
    let output = place.anonymize("out", &[]);
    assert_eq!(output.status.code(), Some(1));
    let (names, people) = read(&place.table);
    let column = names.iter().position(|name| name == "diagnosis").unwrap();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    people.iter().for_each(|row| *counts.entry(&row[column]).or_default() += 1);
    let most = counts.values().max().unwrap();
    assert!(
        printed(&output).contains(&format!("{most} x 9 = {} > 300 tuples", most * 9)),
        "{}",
        printed(&output)
    );
    let left: Vec<_> = std::fs::read_dir(place.folder.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "only the table and the policy are left");
    // A minimum group size is respected, too.
    let place = Place::new(300, "r = 2\nminimum_group_size = 9\nknown = [[\"sex\"]]");
    assert!(printed(&place.anonymize("out", &[])).contains(&format!("{most} x 9 = {}", most * 9)));
    let place = Place::new(300, "r = 2\nminimum_group_size = 3\nknown = [[\"sex\"]]");
    let summary = json(&place.anonymize("out", &["--json"]));
    assert!(summary["average_group_size"].as_f64().unwrap() >= 3.0);
    assert_eq!(place.check("out", &[]).status.code(), Some(0));
    assert_eq!(json(&place.check("out", &["--json"]))["minimum_group_size"], 3);
}

#[test]
fn the_policy_of_the_repository_publishes_most_of_the_census() {
    let folder = tempfile::tempdir().unwrap();
    let (out, census, policy) =
        (folder.path().join("out"), dataset("census.csv"), dataset("census-robust.toml"));
    let output =
        skyveil(&["anonymize", text(&census), "--policy", text(&policy), "--out", text(&out), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let summary = json(&output);
    assert!(summary["suppressed"] == 0 && summary["distributions"]["r_robust"] == true);
    assert!(
        summary["distributions"]["left_out"] == 0 && summary["distributions"]["by_counts"] == "not computed"
    );
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("r-robust for r = 2"));
    let report = skyveil(&["report", text(&out), "--original", text(&census)]);
    assert_eq!(report.status.code(), Some(0), "{}", printed(&report));
    assert!(String::from_utf8_lossy(&report.stdout).contains("r-robust for r = 2"));
    let without = skyveil(&["check", text(&out)]);
    assert_eq!(without.status.code(), Some(2));
    assert!(printed(&without).contains("--original TABLE"));
}

/// A table of people called t00, t01, ... with priors of their own.
struct Given {
    folder: tempfile::TempDir,
}

impl Given {
    /// `signatures` and `values` by person, priors by signature and value.
    fn new(signatures: &[&str], values: &[&str], priors: &[(&str, &str, &str)], privacy: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Given { folder };
        let people = signatures.iter().zip(values).enumerate();
        let rows: String = people.map(|(i, (s, value))| format!("t{i:02},{s},1,{value}\n")).collect();
        std::fs::write(place.path("people.csv"), format!("who,sig,group,disease\n{rows}")).unwrap();
        let rows: String = priors.iter().map(|(s, value, p)| format!("{s},{value},{p}\n")).collect();
        place.distributions(&format!("sig,value,probability\n{rows}"));
        let policy = format!(
            "[columns]\nsensitive = \"disease\"\nquasi = [\"sig\", \"who\"]\ndrop = [\"group\"]\n\
             [privacy]\nmodel = \"robust\"\nknown = [[\"sig\"]]\ndistributions = \"known.csv\"\nsuppress = \"99%\"\n{privacy}\n\
             [publish]\nstyle = \"bucketized\"\n"
        );
        std::fs::write(place.path("policy.toml"), policy).unwrap();
        place
    }

    fn distributions(&self, csv: &str) {
        std::fs::write(self.path("known.csv"), csv).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn anonymize(&self, out: &str) -> Output {
        let [table, policy, out] = ["people.csv", "policy.toml", out].map(|name| self.path(name));
        skyveil(&["anonymize", text(&table), "--policy", text(&policy), "--out", text(&out), "--json"])
    }

    /// Checks all people as one group.
    fn check(&self) -> Output {
        let [table, policy] = ["people.csv", "policy.toml"].map(|name| self.path(name));
        skyveil(&["check", text(&table), "--policy", text(&policy), "--group", "group", "--json"])
    }
}

#[test]
fn the_witnesses_against_the_printed_condition_are_found_unsafe() {
    let three = Given::new(
        &["a", "b", "c"],
        &["x", "y", "z"],
        &[
            ("a", "x", "1/2"),
            ("a", "y", "1/4"),
            ("a", "z", "1/4"),
            ("b", "x", "1/3"),
            ("b", "y", "2/5"),
            ("b", "z", "4/15"),
            ("c", "x", "1/3"),
            ("c", "y", "4/15"),
            ("c", "z", "2/5"),
        ],
        "r = 2",
    );
    let family = |names: &[&'static str], high: &'static str, low: &'static str| {
        let mut priors = Vec::new();
        for (i, &tuple) in names.iter().enumerate() {
            for (j, &value) in names.iter().enumerate() {
                priors.push((tuple, value, if (i == 0) == (j == 0) { high } else { low }));
            }
        }
        Given::new(names, names, &priors, "r = 2")
    };
    let five = family(&["v0", "v1", "v2", "v3", "v4"], "1/10", "1/37");
    for (case, exact) in [(three, 26.0 / 51.0), (five, 1369.0 / 1769.0)] {
        let output = case.check();
        assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
        let report = &json(&output)["distributions"];
        let worst = report["worst_posterior"].as_f64().unwrap();
        assert!(worst >= exact && worst - exact < 1e-12, "{worst}");
        assert_eq!((&report["groups_above"], &report["r_robust"]), (&1.into(), &false.into()));
    }
}

#[test]
fn a_group_that_only_the_printed_condition_accepts_is_not_published() {
    let names = ["v0", "v1", "v2", "v3", "v4"];
    let mut priors = Vec::new();
    for (i, &tuple) in names.iter().enumerate() {
        for (j, &value) in names.iter().enumerate() {
            priors.push((tuple, value, if (i == 0) == (j == 0) { "1/10" } else { "1/37" }));
        }
    }
    let delta = Given::new(&names, &names, &priors, "r = 2\nminimum_group_size = 5\ntest = \"delta\"");
    let output = delta.anonymize("out");
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    assert!(
        printed(&output).contains("privacy.test")
            && printed(&output).contains("write \"ratio\" or \"exact\"")
    );
    let ratio = Given::new(&names, &names, &priors, "r = 2\nminimum_group_size = 5");
    let output = ratio.anonymize("out");
    assert_eq!(output.status.code(), Some(1));
    assert!(printed(&output).contains("everybody would have to be suppressed"));
    assert!(!ratio.path("out").exists() && !ratio.path("out.suppressed.csv").exists());
}

#[test]
fn small_tables_are_grouped_as_the_vectors_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/robust.json");
    let vectors: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_string()).collect()
    };
    for case in vectors["art"].as_array().unwrap() {
        let (signatures, values) = (texts(&case["signatures"]), texts(&case["values"]));
        // The index of a person is their position in the order of contents: everybody gets a signature in that order.
        let own: Vec<String> = (0..values.len()).map(|at| format!("s{at:02}")).collect();
        let mut priors: Vec<(String, String, String)> = Vec::new();
        for (own, signature) in own.iter().zip(&signatures) {
            for (value, p) in case["prior"][signature].as_object().unwrap() {
                priors.push((own.clone(), value.clone(), p.as_str().unwrap().to_string()));
            }
        }
        for test in ["ratio", "exact"] {
            let privacy = format!("r = \"{}\"\ntest = \"{test}\"", case["r"].as_str().unwrap());
            let borrowed: Vec<(&str, &str, &str)> =
                priors.iter().map(|(s, v, p)| (s.as_str(), v.as_str(), p.as_str())).collect();
            let given = Given::new(
                &own.iter().map(String::as_str).collect::<Vec<_>>(),
                &values.iter().map(String::as_str).collect::<Vec<_>>(),
                &borrowed,
                &privacy,
            );
            expect_groups(&given, &case["result"][test]);
        }
    }
}

/// The groups of a release are those of a vector, and larger ones of people whom the vector suppresses.
fn expect_groups(given: &Given, result: &Value) {
    let output = given.anonymize("out");
    if result.is_null() || output.status.code() == Some(1) {
        assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
        assert!(result.is_null() || result["groups"].as_array().unwrap().is_empty());
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let name = |at: &Value| format!("t{:02}", at.as_u64().unwrap());
    let mut expected: Vec<Vec<String>> = result["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group.as_array().unwrap().iter().map(name).collect())
        .collect();
    expected.sort();
    let (names, people) = read(&given.path("out/quasi"));
    let place = |name: &str| names.iter().position(|own| own == name).unwrap();
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in &people {
        groups.entry(&row[place("group")]).or_default().push(row[place("who")].clone());
    }
    let mut groups: Vec<Vec<String>> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.sort());
    groups.sort();
    let (vectors, larger): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| expected.contains(group));
    // Whole groups may be dissolved to take somebody in.
    let dissolved: Vec<String> =
        expected.iter().filter(|group| !vectors.contains(group)).flatten().cloned().collect();
    let listed = std::fs::read_to_string(given.path("out.suppressed.csv")).unwrap();
    let listed = listed.lines().skip(1).map(|row| format!("t{:02}", row.parse::<u64>().unwrap() - 1));
    let mut left: Vec<String> = larger.concat().into_iter().chain(listed).collect();
    left.sort();
    let suppressed = result["suppressed"].as_array().unwrap().iter().map(name);
    let mut without_group: Vec<String> = suppressed.chain(dissolved).collect();
    without_group.sort();
    assert_eq!(left, without_group);
}

#[test]
fn mistakes_in_a_file_of_distributions_are_named() {
    let half = [("a", "x", "1/2"), ("a", "y", "0.5"), ("b", "x", "0.4"), ("b", "y", "0.6")];
    let given = Given::new(&["a", "a", "b", "b"], &["x", "y", "x", "y"], &half, "r = 2");
    for (csv, problem) in [
        (
            "sig,value,probability\na,x,0.5\na,y,0.5\n",
            "has no distribution for 2 rows of the table, by column sig",
        ),
        ("sig,value,probability\na,x,0.5\nb,x,0.5\n", "lacks 1 value of the sensitive column \"disease\""),
        ("sig,value,probability\na,x,1\na,y,0\nb,x,0.5\nb,y,0.5\n", "contradicts the table: 1 row has"),
        (
            "sig,value,probability\na,x,0.6\na,y,0.5\nb,x,0.5\nb,y,0.5\n",
            "1 distributions by sig sum to more than 1",
        ),
        ("sig,value,probability\na,x,1.5\n", "row 1 has no probability from 0 to 1"),
        ("sig,value,probability\na,x,0.5\na,y,-0.5\n", "row 2 has no probability from 0 to 1"),
        ("sig,value,probability\na,x,0.5\na,x,0.5\n", "1 rows by sig repeat a signature and value"),
        ("sig,value,probability\na,,0.5\n", "row 1 has no sensitive value"),
        ("sig,value\na,x\n", "the column \"probability\" is missing"),
        ("value,probability\nx,1\n", "the column \"sig\" is missing"),
        ("sig,town,value,probability\na,b,x,1\n", "the column \"town\" is in no set of privacy.known"),
    ] {
        given.distributions(csv);
        let output = given.anonymize("out");
        assert_eq!(output.status.code(), Some(2), "{csv}: {}", printed(&output));
        assert!(printed(&output).contains(problem), "{csv}: {}", printed(&output));
        assert!(!given.path("out").exists() && !given.path("out.suppressed.csv").exists());
    }
    // The name of the sensitive column is accepted for `value`, and the probability missing from a signature belongs to
    // values that nobody has.
    given.distributions("sig,disease,probability\na,x,0.3\na,y,3/10\nb,x,0.3\nb,y,0.3\nc,x,1\n");
    let output = given.anonymize("out");
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let (out, policy) = (given.path("out"), given.path("policy.toml"));
    assert_eq!(skyveil(&["check", text(&out), "--policy", text(&policy)]).status.code(), Some(0));
    let without = skyveil(&["check", text(&out)]);
    assert!(without.status.code() == Some(2) && printed(&without).contains("--policy"));
}

#[test]
fn kept_columns_travel_and_nulls_have_their_meaning() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let rows: String = (0..40).map(|i| format!("{},{},n{i}\n", i % 2, ["flu", ""][i / 2 % 2])).collect();
    std::fs::write(path("people.csv"), format!("sex,disease,note\n{rows}")).unwrap();
    let policy = "accept = [\"unique kept values\"]\n[columns]\nsensitive = \"disease\"\nquasi = [\"sex\"]\nkeep = [\"note\"]\nnull_is = \"none\"\n\
                  [privacy]\nmodel = \"robust\"\nr = 2\n[publish]\nstyle = \"bucketized\"\n";
    std::fs::write(path("policy.toml"), policy).unwrap();
    let [table, policy, out] = ["people.csv", "policy.toml", "out"].map(path);
    let output = skyveil(&["anonymize", text(&table), "--policy", text(&policy), "--out", text(&out)]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let checked = skyveil(&["check", text(&out), "--original", text(&table)]);
    assert_eq!(checked.status.code(), Some(0), "{}", printed(&checked));
    let (names, people) = read(&out.join("quasi"));
    assert_eq!(names, ["group", "sex", "note"]);
    let mut notes: Vec<&str> = people.iter().map(|row| row[2].as_str()).collect();
    notes.sort_unstable();
    notes.dedup();
    assert_eq!(notes.len(), 40);
    assert!(read(&out.join("sensitive")).1.iter().any(|row| row[1] == "none"));
}

#[test]
fn several_sets_of_one_file_are_told_apart_by_the_columns_that_are_filled() {
    let given = Given::new(&["a", "a", "b", "b"], &["x", "y", "x", "y"], &[], "r = 2");
    let policy = std::fs::read_to_string(given.path("policy.toml")).unwrap();
    let policy = policy.replace("known = [[\"sig\"]]", "known = [[\"sig\"], [\"who\"]]");
    std::fs::write(given.path("policy.toml"), policy).unwrap();
    let mut csv = "sig,who,disease,probability\na,,x,0.5\na,,y,0.5\nb,,x,0.5\nb,,y,0.5\n".to_string();
    for who in ["t00", "t01", "t02", "t03"] {
        csv.push_str(&format!(",{who},x,0.5\n,{who},y,0.5\n"));
    }
    given.distributions(&csv);
    let output = given.anonymize("out");
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    given.distributions(&(csv + "a,t00,x,1\n"));
    assert!(
        printed(&given.anonymize("more")).contains("row 13 fills columns that are no set of privacy.known")
    );
}

#[test]
fn the_check_catches_a_broken_release_and_contradictory_distributions() {
    let priors = [("a", "x", "0.9"), ("a", "y", "0.1"), ("b", "x", "0.1"), ("b", "y", "0.9")];
    let place = Given::new(&["a", "a", "b", "b"], &["x", "y", "x", "y"], &priors, "r = 2");
    let output = place.anonymize("out");
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let (out, policy) = (place.path("out"), place.path("policy.toml"));
    let check = || skyveil(&["check", text(&out), "--policy", text(&policy), "--json"]);
    assert_eq!(check().status.code(), Some(0));
    // Two people change places: the groups have the same sizes and values, but a and b are together.
    let quasi = place.path("out/quasi/part-00000.parquet");
    let batch = library::read(&quasi, &[]);
    let mut groups: Vec<i64> = batch.column(0).as_primitive::<Int64Type>().values().to_vec();
    groups.swap(1, 2);
    let mut arrays: Vec<ArrayRef> = batch.columns().to_vec();
    arrays[0] = Arc::new(Int64Array::from(groups));
    write(&quasi, &RecordBatch::try_new(batch.schema(), arrays).unwrap());
    let broken = check();
    assert_eq!(broken.status.code(), Some(1), "{}", printed(&broken));
    let report = &json(&broken)["distributions"];
    assert_eq!(report["groups_above"], 2);
    assert!((report["worst_posterior"].as_f64().unwrap() - 0.81 / 0.82).abs() < 1e-12);

    let certain = [("a", "x", "1"), ("b", "x", "1"), ("c", "y", "1")];
    let contradiction = Given::new(&["a", "b"], &["x", "y"], &certain, "r = 2");
    let output = contradiction.check();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        printed(&output).contains("the distributions contradict the table: they make 1 group impossible")
    );
    // A person about whom nothing is known cannot be judged.
    let stranger = Given::new(&["a", "d"], &["x", "y"], &certain, "r = 2");
    let output = stranger.check();
    assert!(
        output.status.code() == Some(2) && printed(&output).contains("1 person has a combination of sig")
    );
}

#[test]
fn a_group_too_large_for_posteriors_is_safe_only_by_the_ratio_condition() {
    let names: Vec<String> = (0..30).map(|i| format!("v{i:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut priors: Vec<(&str, &str, &str)> =
        names.iter().flat_map(|s| names.iter().map(move |v| (*s, *v, "1/30"))).collect();
    let even = Given::new(&names, &names, &priors, "r = 30");
    let output = even.check();
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert_eq!(json(&output)["distributions"]["groups_by_bound"], 1);
    priors[0].2 = "1/31";
    let uneven = Given::new(&names, &names, &priors, "r = 30");
    let output = uneven.check();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(json(&output)["distributions"]["groups_not_shown"], 1);
}

#[test]
fn rows_that_are_not_people_and_flags_that_say_so_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let policy = |name: &str, role: &str, drop: &str| {
        let policy = format!(
            "[columns]\nsensitive = \"dis\"\n{role}\ndrop = [{drop}]\n[columns.quasi.sex]\n\
             [privacy]\nmodel = \"robust\"\nr = 2\nknown = [[\"sex\"]]\n[publish]\nstyle = \"bucketized\"\n"
        );
        std::fs::write(at(name), policy).unwrap();
    };
    policy("count.toml", "count = \"n\"", "\"pid\", \"g\"");
    policy("person.toml", "individual = \"pid\"", "\"n\", \"g\"");
    policy("plain.toml", "", "\"pid\", \"n\", \"g\"");
    let rows = "sex,pid,n,g,dis\nm,1,1000,0,a\nm,1,1,0,b\nm,1,1,0,c\nm,1,1,0,d\n";
    std::fs::write(at("t.csv"), rows).unwrap();
    let ask = |command: &str, policy: &str, flags: &[&str]| {
        let (table, policy) = (at("t.csv"), at(policy));
        let given = [command, text(&table), "--policy", text(&policy), "--group", "g"];
        let original = ["--original", text(&table)];
        let original = if command == "check" { &original[..] } else { &[] };
        skyveil(&[&given[..], original, flags].concat())
    };
    let plain = ask("check", "plain.toml", &[]);
    assert_eq!(plain.status.code(), Some(0), "{}", printed(&plain));
    for policy in ["count.toml", "person.toml"] {
        let output = ask("check", policy, &[]);
        assert_eq!(output.status.code(), Some(2), "{policy}: {}", printed(&output));
        assert!(printed(&output).contains("one row and one value per person"), "{}", printed(&output));
    }
    for flag in [["--count", "n"], ["--individual", "pid"], ["--values", "set"], ["--sensitive", "sex"]] {
        for command in ["check", "report"] {
            let output = ask(command, "plain.toml", &flag);
            assert_eq!(output.status.code(), Some(2), "{command} {flag:?}: {}", printed(&output));
            assert!(printed(&output).contains(flag[0]), "{}", printed(&output));
        }
    }
    let output = ask("report", "plain.toml", &["--point", "0,0,0,0.5"]);
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    assert!(printed(&output).contains("--point"), "{}", printed(&output));
}

#[test]
fn a_null_that_means_a_number_is_that_number_for_known_distributions() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("t.csv"), "sex,g,v\nm,0,1.0\nm,0,\nm,0,2.5\nm,0,3.5\n").unwrap();
    let given = "sex,v,probability\nm,,0.5\nm,2.5,0.25\nm,3.5,0.25\n";
    std::fs::write(at("d.csv"), given).unwrap();
    for meaning in ["1", "1.0"] {
        for known in ["", "distributions = \"d.csv\"\n"] {
            let policy = format!(
                "[columns]\nsensitive = \"v\"\nnull_is = {meaning:?}\ndrop = [\"g\"]\n[columns.quasi.sex]\n\
                 [privacy]\nmodel = \"robust\"\nr = 3\nknown = [[\"sex\"]]\n{known}\
                 [publish]\nstyle = \"bucketized\"\n"
            );
            std::fs::write(at("p.toml"), policy).unwrap();
            let (table, policy) = (at("t.csv"), at("p.toml"));
            let flags = ["--policy", text(&policy), "--group", "g", "--original", text(&table), "--json"];
            let output = skyveil(&[&["check", text(&table)], &flags[..]].concat());
            assert_eq!(output.status.code(), Some(1), "{meaning} {known}: {}", printed(&output));
            let worst = json(&output)["distributions"]["worst_posterior"].as_f64().unwrap();
            assert!((0.5..0.51).contains(&worst), "{}", printed(&output));
        }
    }
}

/// The largest share of any value for any person, over all arrangements in which every group has its published values and
/// every signature its counted ones: what somebody concludes who subtracts. People are (group, signature, value).
fn largest_share_by_counts(people: &[(usize, usize, usize)]) -> (u64, u64) {
    let counts = |values: &[usize]| {
        let mut counts: BTreeMap<(bool, usize, usize), u64> = BTreeMap::new();
        for (&(group, signature, _), &value) in people.iter().zip(values) {
            *counts.entry((true, group, value)).or_default() += 1;
            *counts.entry((false, signature, value)).or_default() += 1;
        }
        counts
    };
    let truth = counts(&people.iter().map(|person| person.2).collect::<Vec<_>>());
    let (mut all, mut having) = (0, vec![[0u64; 3]; people.len()]);
    for code in 0..3usize.pow(people.len() as u32) {
        let values: Vec<usize> = (0..people.len() as u32).map(|at| code / 3usize.pow(at) % 3).collect();
        if counts(&values) == truth {
            all += 1;
            having.iter_mut().zip(values).for_each(|(own, value)| own[value] += 1);
        }
    }
    (having.into_iter().flatten().max().unwrap(), all)
}

#[test]
fn distributions_times_counts_minus_published_values_give_nobody_away() {
    let folder = tempfile::tempdir().unwrap();
    let (mut published, mut withheld) = (0, 0);
    for seed in 0..60u64 {
        let mut pick = crate::support::draws(seed);
        let people: Vec<(u64, u64)> = (0..6 + pick(3)).map(|_| (pick(2), pick(3))).collect();
        let rows: String =
            people.iter().enumerate().map(|(at, (sig, value))| format!("p{at},s{sig},v{value}\n")).collect();
        let table = folder.path().join("t.csv");
        std::fs::write(&table, format!("who,sig,disease\n{rows}")).unwrap();
        let policy = "[columns]\nsensitive = \"disease\"\nquasi = [\"who\", \"sig\"]\n[privacy]\nmodel = \"robust\"\nr = 2\n\
                      known = [[\"sig\"]]\ntest = \"exact\"\n[publish]\nstyle = \"bucketized\"\n";
        let (paths, out) = ([table], folder.path().join(format!("out{seed}")));
        match Run::new(&paths, policy, out.clone()).outcome() {
            Ok(Outcome::Published(summary)) => {
                assert_eq!(summary.suppression.unwrap().suppressed, 0);
                published += 1;
            }
            Ok(_) => {
                withheld += 1;
                continue;
            }
            Err(why) => {
                assert!(why.to_string().contains("fit in no safe group"), "{why}");
                withheld += 1;
                continue;
            }
        }
        let (names, listed) = read(&out.join("quasi"));
        let column = |name: &str| names.iter().position(|own| own == name).unwrap();
        let group_of = |who: &str| {
            let row = listed.iter().find(|row| row[column("who")] == who);
            row.map_or(0, |row| row[column("group")].parse::<usize>().unwrap())
        };
        let as_seen: Vec<(usize, usize, usize)> = people
            .iter()
            .enumerate()
            .map(|(at, (sig, value))| (group_of(&format!("p{at}")), *sig as usize, *value as usize))
            .collect();
        let (having, all) = largest_share_by_counts(&as_seen);
        assert!(having * 2 <= all, "seed {seed}: {having} of {all} in {as_seen:?}");
    }
    assert!(published > 10 && withheld > 5, "{published} {withheld}");
}

#[test]
fn people_who_are_missing_from_a_table_are_judged_as_a_group() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let people: Vec<String> = (0..201).map(|i| format!("m,{},{}\n", i / 3, ["a", "b", "c"][i % 3])).collect();
    std::fs::write(at("original.csv"), format!("sex,g,v\n{}", people.concat())).unwrap();
    let check = |rows: &[String], suppress: &str| {
        let policy = format!(
            "[columns]\nsensitive = \"v\"\ndrop = [\"g\"]\n[columns.quasi.sex]\n[privacy]\nmodel = \"robust\"\nr = 2\n{suppress}\
             known = [[\"sex\"]]\n[publish]\nstyle = \"bucketized\"\n"
        );
        std::fs::write(at("p.toml"), policy).unwrap();
        std::fs::write(at("t.csv"), format!("sex,g,v\n{}", rows.concat())).unwrap();
        let [table, policy, original] = ["t.csv", "p.toml", "original.csv"].map(at);
        let flags = ["--policy", text(&policy), "--group", "g", "--original", text(&original), "--json"];
        let output = skyveil(&[&["check", text(&table)], &flags[..]].concat());
        (output.status.code(), printed(&output), output.stdout)
    };
    let told = |stdout: &[u8]| -> (Value, Value) {
        let told: Value = serde_json::from_slice(stdout).unwrap();
        let own = &told["distributions"];
        (own["left_out"].clone(), own["left_out_as_group"].clone())
    };
    // A whole group is missing: whoever subtracts is left with three values for three people.
    let (code, text, stdout) = check(&people[3..], "");
    assert_eq!((code, told(&stdout)), (Some(0), (3.into(), true.into())), "{text}");
    // Two people with the same value are missing: it is theirs.
    let without: Vec<String> =
        people.iter().filter(|row| !["m,0,a\n", "m,1,a\n"].contains(&row.as_str())).cloned().collect();
    let (code, text, stdout) = check(&without, "");
    assert_eq!((code, told(&stdout)), (Some(1), (2.into(), false.into())), "{text}");
    // Two of 201 are a little less than 1 %.
    for (share, expected) in [("1%", 0), ("1/101", 1)] {
        let (code, text, stdout) = check(&without, &format!("suppress = \"{share}\"\n"));
        assert_eq!((code, told(&stdout)), (Some(expected), (2.into(), false.into())), "{share}: {text}");
    }
    // Somebody who is not in the original.
    let more = [&people[..], &["m,67,a\n".to_string(), "m,67,b\n".to_string()]].concat();
    let (code, text, _) = check(&more, "");
    assert!(code == Some(2) && text.contains("are not in the original table"), "{text}");
}

/// Everybody young has value "none"; the others have one of four values.
fn given_away(folder: &Path, suppress: &str) -> (PathBuf, PathBuf) {
    let mut rows = String::from("stage,district,school\n");
    for person in 0..400u32 {
        let district = person % 5;
        match person < 80 {
            true => rows.push_str(&format!("young,{district},none\n")),
            false => rows.push_str(&format!("grown,{district},school {}\n", person / 5 % 4)),
        }
    }
    let (table, policy) = (folder.join("people.csv"), folder.join("policy.toml"));
    std::fs::write(&table, rows).unwrap();
    let columns = "[columns]\nsensitive = \"school\"\nquasi = [\"stage\", \"district\"]\n";
    let privacy =
        format!("[privacy]\nmodel = \"robust\"\nr = 2\nknown = [[\"stage\"], [\"district\"]]\n{suppress}\n");
    std::fs::write(&policy, format!("{columns}{privacy}[publish]\nstyle = \"bucketized\"\n")).unwrap();
    (table, policy)
}

#[test]
fn the_owner_is_told_who_cannot_be_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let run = |suppress: &str, flags: &[&str]| {
        let (table, policy) = given_away(folder.path(), suppress);
        let fixed = ["anonymize", text(&table), "--policy", text(&policy), "--out", text(&out)];
        skyveil(&[&fixed[..], flags].concat())
    };
    let refused = run("", &[]);
    assert_eq!(refused.status.code(), Some(2), "{}", printed(&refused));
    for said in [
        "80 of 400 people have a value that the distributions alone make more likely than 1/2, most of them by column \"stage\"",
        "at least 80 must be left out, whatever the groups: column \"stage\" as good as says who has \"none\"",
    ] {
        assert!(printed(&refused).contains(said), "{said}: {}", printed(&refused));
    }
    let released = run("suppress = \"30%\"", &["--json"]);
    assert_eq!(released.status.code(), Some(0), "{}", printed(&released));
    let said = json(&released);
    assert_eq!((&said["unavoidable"], &said["already_likely"]), (&80.into(), &80.into()));
    assert!(said["suppressed"].as_u64() >= Some(80), "{said}");
    let receipt = std::fs::read_to_string(folder.path().join("out.receipt.json")).unwrap();
    assert!(
        receipt.contains("\"unavoidable\": 80") && receipt.contains("\"already_likely\": 80"),
        "{receipt}"
    );
    let published = contents(&out);
    let manifest = String::from_utf8_lossy(&published["manifest.json"]);
    assert!(!manifest.contains("unavoidable") && !manifest.contains("already_likely"), "only for the owner");
}
