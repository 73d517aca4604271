//! Audits and strategies as a user runs them.

use crate::support::library::{read, rows};
use crate::support::{beside, dataset, skyveil, skyveil_in};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn flag(text: &str) -> &Path {
    Path::new(text)
}

/// The audit of a table by the functions of the paper, and the exit code.
fn audited(table: &str) -> (Value, i32) {
    let (table, policy) = (dataset(table), dataset("exclusive.toml"));
    let functions = dataset("exclusive-functions.csv");
    let output = skyveil(&[
        flag("audit"),
        &table,
        flag("--policy"),
        &policy,
        flag("--functions"),
        &functions,
        flag("--json"),
    ]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code().unwrap())
}

/// Size and largest share of each set of a function.
fn sets(audit: &Value, function: usize) -> [(String, String); 3] {
    ["rearrangements", "inclusive", "exclusive"].map(|set| {
        let set = &audit["functions"][function - 1][set];
        assert_eq!(set["exact"], true);
        let text = |value: &Value| value.as_str().unwrap().to_string();
        (text(&set["size"]), text(&set["largest"]["share"]))
    })
}

fn pairs(expected: [(&str, &str); 3]) -> [(String, String); 3] {
    expected.map(|(size, share)| (size.to_string(), share.to_string()))
}

fn published(audit: &Value) -> [Option<u64>; 3] {
    ["inclusive", "exclusive", "naive"].map(|strategy| audit[strategy]["publishes"].as_u64())
}

#[test]
fn the_numbers_of_the_paper_come_out() {
    let (audit, code) = audited("exclusive-table2.csv");
    assert_eq!(sets(&audit, 1), pairs([("16", "1"), ("16", "1"), ("16", "1")]));
    assert_eq!(sets(&audit, 2), pairs([("144", "1/2"), ("16", "1"), ("16", "1")]));
    assert_eq!(sets(&audit, 3), pairs([("432", "1/2"), ("100", "19/25"), ("68", "11/17")]));
    assert_eq!(published(&audit), [None, None, Some(2)]);
    let learned = &audit["naive"]["replay"];
    assert_eq!((&learned["holds"], &learned["size"]), (&Value::from(false), &Value::from("16")));
    assert_eq!((&learned["largest"]["row"], &learned["largest"]["value"]), (&5.into(), &"c4".into()));
    assert_eq!(code, 1);

    let (audit, code) = audited("exclusive-table4-ga.csv");
    assert_eq!((published(&audit), code), ([Some(1); 3], 0));
    let (audit, code) = audited("exclusive-table4-gb.csv");
    assert_eq!((published(&audit), code), ([None, Some(3), Some(3)], 0));
    assert_eq!(audit["naive"]["replay"]["holds"], true);
}

/// A folder with a table, its policy and optionally group numbers.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
        Place { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `audit` with these additional arguments; returns standard output, standard error and the exit code.
    fn audit(&self, more: &[&str]) -> (String, String, i32) {
        let (table, policy) = (self.path("table.csv"), self.path("policy.toml"));
        let mut arguments = vec![flag("audit"), &table, flag("--policy"), &policy];
        arguments.extend(more.iter().map(|text| flag(text)));
        self.outcome(&arguments)
    }

    fn outcome(&self, arguments: &[&Path]) -> (String, String, i32) {
        let output = skyveil_in(self.folder.path(), arguments);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr), output.status.code().unwrap())
    }

    fn json(&self, more: &[&str]) -> (Value, i32) {
        let (out, error, code) = self.audit(&[more, &["--json"]].concat());
        assert_eq!(error, "");
        (serde_json::from_str(&out).unwrap(), code)
    }
}

const SMALL: &str = "\
[columns]
sensitive = \"v\"
[columns.quasi.q]
grid = 1
[privacy]
l_diversity = { c = 2, l = 2 }
";

const FUNCTIONS: &str = "[[audit.function]]\nq = 2\n[[audit.function]]\nq = \"*\"\n";

#[test]
fn the_strategies_are_incomparable_with_groups_in_the_order_of_the_table() {
    let place = Place::new(&[
        ("table.csv", "q,v\n0,d\n1,a\n2,d\n3,a\n4,b\n5,b\n6,a\n"),
        ("policy.toml", SMALL),
        ("groups.csv", "g1,g2,g3\n1,x,1\n1,x,1\n1,x,2\n2,x,2\n2,y,2\n2,y,2\n2,y,2\n"),
    ]);
    let (audit, code) = place.json(&["--functions", "groups.csv"]);
    assert_eq!((published(&audit), code), ([None, Some(3), Some(3)], 0));
}

#[test]
fn the_five_people_of_the_documentation_are_audited() {
    let policy = SMALL.replace(
        "l_diversity = { c = 2, l = 2 }",
        "[[privacy.skyline]]\nl = 0\nk = 0\nm = 0\nconfidence = \"2/3\"",
    );
    let document = include_str!("../../docs/explanation/algorithm-knowledge.md");
    let (_, groups) = document.split_once("```text\ng1,").unwrap();
    let groups = format!("g1,{}", groups.split_once("```").unwrap().0);
    let place = Place::new(&[
        ("table.csv", "q,v\n20,b\n30,c\n40,a\n50,a\n60,d\n"),
        ("policy.toml", &policy),
        ("groups.csv", &groups),
    ]);
    let (audit, _) = place.json(&["--functions", "groups.csv"]);
    assert_eq!(published(&audit), [Some(3), None, Some(2)]);
    let learned = &audit["naive"]["replay"];
    assert_eq!((&learned["size"], &learned["largest"]["share"]), (&"4".into(), &"1".into()));
    assert_eq!((&learned["largest"]["row"], &learned["largest"]["value"]), (&3.into(), &"a".into()));
    assert_eq!(sets(&audit, 3)[1], ("24".to_string(), "1/2".to_string()));
}

#[test]
fn people_are_joined_by_name_in_any_order() {
    let rows = "H,4,3,3\nA,1,1,1\nC,2,2,1\nB,1,1,1\nD,2,2,2\nJ,5,4,3\nE,3,2,2\nF,3,3,2\nG,4,3,2\nI,5,4,3\n";
    let table = std::fs::read_to_string(dataset("exclusive-table2.csv")).unwrap();
    let policy = std::fs::read_to_string(dataset("exclusive.toml")).unwrap();
    let groups = format!("person,g1,g2,g3\n{rows}");
    let place = Place::new(&[("table.csv", &table), ("policy.toml", &policy), ("groups.csv", &groups)]);
    let (audit, _) = place.json(&["--functions", "groups.csv"]);
    assert_eq!(sets(&audit, 3), pairs([("432", "1/2"), ("100", "19/25"), ("68", "11/17")]));
}

#[test]
fn what_cannot_be_counted_is_never_safe() {
    let place = Place::new(&[
        ("table.csv", "q,v\n0,a\n1,b\n2,c\n3,c\n4,b\n5,a\n"),
        ("policy.toml", &(SMALL.to_string() + FUNCTIONS)),
    ]);
    let (audit, code) = place.json(&[]);
    assert_eq!((published(&audit)[1], code), (Some(2), 0));
    let (audit, code) = place.json(&["--limit-steps", "1"]);
    let set = &audit["functions"][1]["exclusive"];
    assert_eq!((&set["exact"], &set["holds"]), (&Value::from(false), &Value::Null));
    assert!(set["refused"].as_str().unwrap().contains("more than 1 steps"));
    assert!(set["estimate"]["largest"]["share_between"][1].as_f64().unwrap() > 0.3);
    assert_eq!((published(&audit)[1], &audit["exclusive"]["undecided"], code), (None, &2.into(), 1));
    let (text, _, _) = place.audit(&["--limit-steps", "1"]);
    assert!(text.contains("NOT KNOWN") && text.contains("estimate"), "{text}");
}

#[test]
fn the_exit_code_is_that_of_the_strategy_of_the_policy() {
    let table = std::fs::read_to_string(dataset("exclusive-table4-gb.csv")).unwrap();
    let groups = std::fs::read_to_string(dataset("exclusive-functions.csv")).unwrap();
    let policy = std::fs::read_to_string(dataset("exclusive.toml")).unwrap();
    for (strategy, expected) in [("exclusive", 0), ("inclusive", 1)] {
        let policy = format!("{policy}\n[publish]\nstrategy = \"{strategy}\"\n");
        let place = Place::new(&[("table.csv", &table), ("policy.toml", &policy), ("groups.csv", &groups)]);
        let (text, error, code) = place.audit(&["--functions", "groups.csv"]);
        assert_eq!(code, expected, "{error}");
        assert!(text.contains("inclusive  publishes nothing\nexclusive  publishes function 3"), "{text}");
    }
}

#[test]
fn functions_with_groups_below_the_minimum_size_are_left_out() {
    let policy = SMALL.replace("[privacy]\n", "[privacy]\nk_anonymity = 3\n") + FUNCTIONS;
    let table = "q,v\n0,a\n1,b\n2,c\n3,d\n4,e\n5,f\n";
    let place = Place::new(&[("table.csv", table), ("policy.toml", &policy)]);
    let (audit, code) = place.json(&[]);
    assert_eq!(audit["functions"][0]["left_out"], true);
    assert_eq!(audit["functions"][0].get("exclusive"), None);
    // Nothing was rejected before it, so a replay rules nothing out.
    assert_eq!(audit["functions"][1]["exclusive"]["size"], "720");
    assert_eq!((published(&audit), code), ([Some(2); 3], 0));
    let policy = policy.replace("k_anonymity = 3", "k_anonymity = 7");
    let place = Place::new(&[("table.csv", table), ("policy.toml", &policy)]);
    let (audit, code) = place.json(&[]);
    assert_eq!((published(&audit), code), ([None; 3], 1));
}

#[test]
fn mistakes_are_named_with_a_remedy_and_without_a_value() {
    let table = "id,q,v\n7001,0,secret\n7002,1,b\n7003,2,c\n";
    let policy = SMALL.replace("[columns.quasi.q]", "drop = [\"id\"]\n[columns.quasi.q]");
    let with = |text: &str| policy.replace("l_diversity = { c = 2, l = 2 }\n", text) + FUNCTIONS;
    let point = |text: &str| with(&format!("[[privacy.skyline]]\n{text}\nconfidence = 0.5\n"));
    let good = "g1\n1\n1\n1\n";
    let stated = policy.clone() + FUNCTIONS;
    for (policy, groups, expected) in [
        (policy.clone(), None, "no generalization function is given"),
        (point("l = 0\nk = 1\nm = 0"), None, "the skyline point (0,1,0) depends on more"),
        (point("l = 0\nk = 0\nm = 2"), None, "the skyline point (0,0,2) depends on more"),
        (with("model = \"implications\"\nimplications = 1\nconfidence = 0.5\n"), None, "the privacy model"),
        (with("k_anonymity = 2\n"), None, "requires nothing of sensitive values"),
        (with("distinct_l_diversity = 2\n"), None, "distinct values are not judged"),
        (stated.replace("q = 2", "q = \"x\""), None, "audit.function"),
        (point("for = [\"sacret\"]\nl = 0\nk = 0\nm = 0"), None, "nearly the same"),
        (stated.clone(), Some("g1\n1\n1\n"), "for 2 people, the table has 3"),
        (stated.clone(), Some("g1,g3\n1,1\n1,1\n1,1\n"), "without a gap"),
        (stated.clone(), Some("a,b,g1\n1,1,1\n1,1,1\n1,1,1\n"), "other columns: a, b"),
        (stated.clone(), Some("g1,g2\n1,1\n1,\n1,1\n"), "has empty cells"),
        (stated.clone(), Some("who,g1\n1,1\n2,1\n3,1\n"), "no column `who`"),
        (stated.clone(), Some("id,g1\n7001,1\n7001,1\n7003,1\n"), "row 2 of the group numbers"),
        (stated.clone(), Some("id,g1\n7001,1\n7002,1\n7004,1\n"), "row 3 of the table"),
    ] {
        let place = Place::new(&[
            ("table.csv", table),
            ("policy.toml", &policy),
            ("groups.csv", groups.unwrap_or(good)),
        ]);
        let more: &[&str] = if groups.is_some() { &["--functions", "groups.csv"] } else { &[] };
        let (out, error, code) = place.audit(more);
        assert_eq!((out.as_str(), code), ("", 2), "{expected}: {error}");
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(error.lines().count() >= 2, "{expected}: a remedy is missing");
        assert!(!error.contains("secret") && !error.contains("700"), "{error}");
    }
}

#[test]
fn too_many_people_are_refused() {
    let rows: String = (0..20_001).map(|i| format!("{i},{}\n", i % 5)).collect();
    let policy = SMALL.to_string() + FUNCTIONS;
    let place = Place::new(&[("table.csv", &format!("q,v\n{rows}")), ("policy.toml", &policy)]);
    let (_, error, code) = place.audit(&[]);
    assert_eq!(code, 2);
    assert!(error.contains("more than 20000 people"), "{error}");
}

/// The first people of the census, with functions on several kinds of columns.
fn census(strategy: &str, style: &str) -> Place {
    let table = std::fs::read_to_string(dataset("census.csv")).unwrap();
    let table: String = table.lines().take(41).map(|line| format!("{line}\n")).collect();
    let marital = std::fs::read_to_string(dataset("census-marital.csv")).unwrap();
    let policy = format!(
        r#"
accept = ["repeated ids"]   # the costs
[columns]
sensitive = "diagnosis"
drop = ["person_id", "region", "county", "occupation", "industry", "education", "cost"]
[columns.quasi.age]
grid = 1
[columns.quasi.sex]
[columns.quasi.tract]
prefix = [3, 1]
[columns.quasi.marital]
hierarchy = "marital.csv"
[privacy]
[[privacy.skyline]]
l = 0
k = 0
m = 0
confidence = 0.6
[publish]
style = "{style}"
{strategy}
[[audit.function]]
age = 20
sex = 0
[[audit.function]]
age = 50
marital = 1
[[audit.function]]
age = 50
[[audit.function]]
tract = 1
"#
    );
    Place::new(&[("table.csv", &table), ("policy.toml", &policy), ("marital.csv", &marital)])
}

#[test]
fn a_policy_states_functions_on_columns_of_all_kinds() {
    let (audit, _) = census("", "generalized").json(&["--limit-steps", "1000"]);
    assert_eq!(audit["people"], 40);
    let names: Vec<&str> = (0..4).map(|at| audit["functions"][at]["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "age 20, sex 0, tract *, marital *",
            "age 50, sex *, tract *, marital 1",
            "age 50, sex *, tract *, marital *",
            "age *, sex *, tract 1, marital *",
        ]
    );
    // The groups by hand: twenty years by sex, and the first digit of the tract.
    let text = std::fs::read_to_string(dataset("census.csv")).unwrap();
    let mut groups = [BTreeMap::new(), BTreeMap::new()];
    for line in text.lines().skip(1).take(40) {
        let cells: Vec<&str> = line.split(',').collect();
        let age: u32 = cells[1].parse().unwrap();
        *groups[0].entry(format!("{} {}", age / 20, cells[2])).or_insert(0) += 1;
        *groups[1].entry(cells[5][..1].to_string()).or_insert(0) += 1;
    }
    for (function, groups) in [0, 3].into_iter().zip(&groups) {
        let found = &audit["functions"][function];
        assert_eq!(found["groups"], groups.len());
        assert_eq!(found["smallest_group"], *groups.values().min().unwrap());
    }
}

/// The cells of some columns of a release's table, in its order.
fn cells(folder: &Path, columns: &[&str]) -> Vec<Vec<String>> {
    rows(&read(folder, columns))
}

fn released(table: &str, strategy: &str) -> (Place, String, i32) {
    let place = Place::new(&[]);
    let (table, policy) = (dataset(table), dataset("exclusive.toml"));
    let (functions, out) = (dataset("exclusive-functions.csv"), place.path("release"));
    let (_, error, code) = place.outcome(&[
        flag("anonymize"),
        &table,
        flag("--policy"),
        &policy,
        flag("--strategy"),
        flag(strategy),
        flag("--functions"),
        &functions,
        flag("--out"),
        &out,
        flag("--temp"),
        flag("."),
    ]);
    (place, error, code)
}

#[test]
fn a_strategy_publishes_what_it_allows_and_nothing_else() {
    let (place, error, code) = released("exclusive-table4-gb.csv", "exclusive");
    assert_eq!(code, 0, "{error}");
    let release = place.path("release");
    let rows = cells(&release.join("data"), &["group", "condition"]);
    let group = |number: &str| -> Vec<&str> {
        rows.iter().filter(|row| row[0] == number).map(|row| row[1].as_str()).collect()
    };
    assert_eq!(group("1"), ["c1", "c2", "c3"]);
    assert_eq!(group("2"), ["c2", "c4", "c4", "c6"]);
    assert_eq!(group("3"), ["c5", "c6", "c7"]);
    let ages = cells(&release.join("data"), &["group", "age"]);
    // Whole numbers are cells of their own: the policy has no domain and no grid.
    assert!(
        ages.iter()
            .all(|row| row[1] == ["[21,32)", "[36,53)", "[58,68)"][row[0].parse::<usize>().unwrap() - 1]),
        "{ages:?}"
    );

    let manifest = std::fs::read_to_string(release.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let receipt: Value =
        serde_json::from_slice(&std::fs::read(beside(&release, ".receipt.json")).unwrap()).unwrap();
    let audit = &receipt["audit"];
    assert_eq!((&audit["strategy"], &audit["function"]), (&"exclusive".into(), &3.into()));
    assert_eq!(audit["rearrangements"]["size"], "432");
    assert_eq!(audit["disclosure_set"]["size"], "68");
    assert_eq!(audit["disclosure_set"]["largest_share"], "11/17");
    // The release itself says nothing that would distinguish the 68 tables that are left.
    assert_eq!((manifest.get("input"), manifest.get("audit")), (None, None));
    assert!(!manifest.to_string().contains("4/5"));
    let (_, error, code) = place.outcome(&[flag("check"), &release]);
    assert_eq!(code, 0, "{error}");

    for (table, strategy, reason) in [
        ("exclusive-table2.csv", "exclusive", "function 2 looks safe, but not to an adversary"),
        ("exclusive-table2.csv", "inclusive", "no function is safe"),
        ("exclusive-table4-gb.csv", "inclusive", "no function is safe"),
    ] {
        let (place, error, code) = released(table, strategy);
        assert_eq!(code, 1, "{error}");
        assert!(error.contains(reason), "{error}");
        assert_eq!(std::fs::read_dir(place.folder.path()).unwrap().count(), 0, "nothing is left behind");
    }
}

#[test]
fn a_strategy_of_the_policy_releases_labels_or_buckets() {
    for style in ["generalized", "bucketized"] {
        let place = census("strategy = \"exclusive\"", style);
        let (audit, _) = place.json(&["--limit-steps", "100000"]);
        let function = audit["exclusive"]["publishes"].as_u64().expect("a function is safe");
        let (table, policy) = (place.path("table.csv"), place.path("policy.toml"));
        let out = place.path("release");
        let arguments = [flag("anonymize"), &table, flag("--policy"), &policy, flag("--out"), &out];
        let (text, error, code) = place.outcome(&arguments);
        assert_eq!(code, 0, "{text}{error}");
        let manifest: Value =
            serde_json::from_slice(&std::fs::read(out.join("manifest.json")).unwrap()).unwrap();
        let receipt: Value =
            serde_json::from_slice(&std::fs::read(beside(&out, ".receipt.json")).unwrap()).unwrap();
        assert_eq!(receipt["audit"]["function"], function);
        let set = &audit["functions"][function as usize - 1]["exclusive"];
        assert_eq!(receipt["audit"]["disclosure_set"]["size"], set["size"]);
        let groups = &audit["functions"][function as usize - 1]["groups"];
        assert_eq!(&manifest["groups"], groups);
        let people = match style {
            "generalized" => cells(&out.join("data"), &["group", "age", "sex", "marital"]),
            _ => cells(&out.join("quasi"), &["group", "age", "sex", "marital"]),
        };
        assert_eq!(people.len(), 40);
        let mut ages: Vec<&str> = people.iter().map(|row| row[1].as_str()).collect();
        ages.sort_unstable();
        ages.dedup();
        if style == "generalized" {
            assert!(ages.iter().all(|age| ["*", "[0,50)", "[50,100)"].contains(age)), "{ages:?}");
        } else {
            assert!(ages.iter().all(|age| age.parse::<u32>().is_ok()), "{ages:?}");
        }
        let (_, error, code) = place.outcome(&[flag("check"), &out]);
        assert_eq!(code, 0, "{error}");
    }
}

#[test]
fn a_strategy_that_is_undecided_publishes_nothing() {
    let policy = SMALL.to_string() + FUNCTIONS;
    let place = Place::new(&[("table.csv", "q,v\n0,a\n1,b\n2,c\n3,c\n4,b\n5,a\n"), ("policy.toml", &policy)]);
    let (table, policy, out) = (place.path("table.csv"), place.path("policy.toml"), place.path("release"));
    let common = [flag("anonymize"), &table, flag("--policy"), &policy, flag("--out"), &out];
    let more = ["--strategy", "exclusive", "--limit-steps", "1", "--json"].map(flag);
    let (text, error, code) = place.outcome(&[&common[..], &more].concat());
    assert_eq!(code, 1, "{error}");
    assert!(error.contains("cannot decide on function 2"), "{error}");
    assert!(text.contains("\"safe\":false"), "{text}");
    assert!(!out.exists());
    let (_, error, code) = place.outcome(&[&common[..], &["--strategy", "exclusive"].map(flag)].concat());
    assert_eq!(code, 0, "{error}");
    // Functions without a strategy to choose among them are a mistake.
    let (_, error, code) = place.outcome(&[&common[..], &["--functions", "table.csv"].map(flag)].concat());
    assert_eq!(code, 2);
    assert!(error.contains("no strategy"), "{error}");
}
