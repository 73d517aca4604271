//! The model "beliefs" as a user sees it: attack, check and anonymize, compared with values worked out by hand and by
//! enumeration.

use crate::support::library::{Outcome, Run};
use crate::support::{beside, dataset, remove_release, skyveil, text, text_file};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The paper's Table I in groups of three.
const TABLE_ONE: &str = "age,sex,disease,grp
69,M,Emphysema,1
45,F,Cancer,1
52,F,Flu,1
43,F,Gastritis,2
42,F,Flu,2
47,F,Cancer,2
50,M,Flu,3
56,M,Emphysema,3
52,M,Gastritis,3
";

fn json(arguments: &[&str]) -> (Value, Option<i32>) {
    let output = skyveil(arguments);
    let value = serde_json::from_slice(&output.stdout);
    (value.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))), output.status.code())
}

fn refused(arguments: &[&str]) -> String {
    let output = skyveil(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Beliefs that move by 0.0956 if ages are compared, and hardly if decades of them are.
#[test]
fn beliefs_are_about_values_and_not_about_cells() {
    let folder = tempfile::tempdir().unwrap();
    let table = text_file(folder.path(), "t.csv", "age,d\n0,b\n10,b\n10,b\n20,b\n20,b\n45,a\n");
    let columns = |grid| {
        format!("[columns]\nsensitive = \"d\"\n[columns.quasi.age]\ndomain = [0, 100]\ngrid = {grid}\n")
    };
    let beliefs = "model = \"beliefs\"\nbeliefs = [{ bandwidth = 0.7, t = 0.01 }]\n";
    let out = folder.path().join("r");
    for style in ["generalized", "bucketized"] {
        let policy = format!("{}[privacy]\n{beliefs}[publish]\nstyle = \"{style}\"\n", columns(50));
        let policy = text_file(folder.path(), "p.toml", &policy);
        let make = ["anonymize", text(&table), "--policy", text(&policy), "--out", text(&out)];
        assert!(refused(&make).contains("column `age` has values inside the cells of its grid"));
    }
    let policy = format!("accept = [\"unprotected values\"]\n{}[privacy]\nk_anonymity = 2\n", columns(50));
    let policy = text_file(folder.path(), "k.toml", &policy);
    let made = skyveil(&["anonymize", text(&table), "--policy", text(&policy), "--out", text(&out)]);
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    let attack =
        ["attack", text(&out), "--original", text(&table), "--bandwidth", "0.7", "--t", "0.01", "--json"];
    let (report, _) = json(&attack);
    assert!(report["points"][0]["thresholds"][0]["vulnerable"].as_u64().unwrap() > 0, "{report}");
}

#[test]
fn what_the_estimate_accepts_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let table = text_file(folder.path(), "table.csv", TABLE_ONE);
    let flags = ["--group", "grp", "--quasi", "age,sex", "--sensitive", "disease", "--json"];
    let arguments =
        [&["attack", text(&table), "--bandwidth", "age=1/2,sex=2", "--t", "0.15,0.2"], &flags[..]];
    let (report, code) = json(&arguments.concat());
    assert_eq!(code, Some(0));
    let point = &report["points"][0];
    assert_eq!(
        (&report["people"], &report["groups"], &point["exact_people"]),
        (&9.into(), &3.into(), &9.into())
    );
    let worst = &point["largest_move"];
    assert!(worst["at_least"].as_f64().unwrap() > 0.19951 && worst["at_most"].as_f64().unwrap() < 0.19952);
    let omega = point["largest_move_by_omega"].as_f64().unwrap();
    assert!(omega > 0.14232 && omega < 0.14233);
    let at = &point["thresholds"][0];
    assert!(at["vulnerable"].as_u64().unwrap() > 0 && at["vulnerable_by_omega"] == 0 && at["undecided"] == 0);
    assert_eq!(point["thresholds"][1]["vulnerable"], 0);

    for (t, code) in [("0.15", 1), ("0.1995", 1), ("0.2", 0)] {
        let policy = format!(
            "accept = [\"ends of ranges\"]\n[columns]\nsensitive = \"disease\"\nquasi = [\"age\", \"sex\"]\ndrop = [\"grp\"]\n[privacy]\n\
             model = \"beliefs\"\n[[privacy.beliefs]]\nbandwidth = {{ age = 0.5, sex = 2 }}\nt = {t}\n"
        );
        let policy = text_file(folder.path(), "policy.toml", &policy);
        let arguments = ["check", text(&table), "--policy", text(&policy), "--group", "grp", "--json"];
        let (report, answer) = json(&arguments);
        assert_eq!((answer, &report["safe"]), (Some(code), &(code == 0).into()), "t = {t}");
        assert_eq!(report["model"], "beliefs");
    }
}

/// An l-diverse release of the census sample.
const DIVERSE: &str = r#"
[columns]
sensitive = "diagnosis"
quasi = { age = { grid = 1 }, sex = {}, education = {} }
drop = ["person_id", "region", "county", "tract", "marital", "occupation", "industry", "cost"]
[privacy]
k_anonymity = 4
distinct_l_diversity = 3
probabilistic_l_diversity = 3
[publish]
style = "STYLE"
"#;

fn released(folder: &Path, policy: &str, name: &str) -> PathBuf {
    let policy = text_file(folder, &format!("{name}.toml"), policy);
    let out = folder.join(name);
    let table = dataset("census.csv");
    let output =
        skyveil(&["anonymize", text(&table), "--policy", text(&policy), "--out", text(&out), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    out
}

#[test]
fn an_l_diverse_release_leaves_people_vulnerable_in_either_style() {
    let folder = tempfile::tempdir().unwrap();
    let original = dataset("census.csv");
    let attack = |release: &Path| {
        let arguments = ["attack", text(release), "--original", text(&original), "--bandwidth", "0.3"];
        json(&[&arguments[..], &["--t", "0.2", "--json"]].concat()).0
    };
    let generalized = released(folder.path(), &DIVERSE.replace("STYLE", "generalized"), "generalized");
    let bucketized = released(folder.path(), &DIVERSE.replace("STYLE", "bucketized"), "bucketized");
    let report = attack(&generalized);
    assert_eq!(report, attack(&bucketized), "who is in which group is told by the tree and by the table");
    let at = &report["points"][0]["thresholds"][0];
    assert_eq!(report["people"], 5000);
    assert!(at["vulnerable"].as_u64().unwrap() > 1000);

    // Neither fewer people nor a different table is accepted as the original.
    let text_of = std::fs::read_to_string(&original).unwrap();
    let fewer: Vec<&str> = text_of.lines().take(4000).collect();
    let fewer = text_file(folder.path(), "fewer.csv", &fewer.join("\n"));
    // The same number of people with the same columns, but everybody has the diagnosis of the next person.
    let rows: Vec<Vec<&str>> = text_of.lines().map(|line| line.split(',').collect()).collect();
    let diagnosis = rows[0].iter().position(|name| *name == "diagnosis").unwrap();
    let mut turned = rows.clone();
    for row in 1..rows.len() {
        turned[row][diagnosis] = rows[if row + 1 < rows.len() { row + 1 } else { 1 }][diagnosis];
    }
    let turned: Vec<String> = turned.iter().map(|row| row.join(",")).collect();
    let turned = text_file(folder.path(), "turned.csv", &turned.join("\n"));
    for release in [&generalized, &bucketized] {
        for other in [&fewer, &turned] {
            let error = refused(&["attack", text(release), "--original", text(other), "--bandwidth", "0.3"]);
            assert!(error.contains("not the table that the release was made from"), "{error}");
        }
        let error = refused(&["attack", text(release), "--original", text(&fewer), "--bandwidth", "0.3"]);
        assert!(error.contains("the release has 5000 people, this one has 3999"), "{error}");
        // The receipt names the table; without it, somebody has to.
        std::fs::remove_file(release.with_extension("receipt.json")).unwrap();
        assert!(refused(&["attack", text(release), "--bandwidth", "0.3"]).contains("--original"));
    }
}

#[test]
fn a_release_is_private_checked_and_the_same_for_any_threads_and_row_order() {
    let folder = tempfile::tempdir().unwrap();
    let policy = dataset("census-beliefs.toml");
    let census = std::fs::read_to_string(dataset("census.csv")).unwrap();
    let mut lines: Vec<&str> = census.lines().take(1501).collect();
    let forward = text_file(folder.path(), "forward.csv", &lines.join("\n"));
    lines[1..].reverse();
    let backward = text_file(folder.path(), "backward.csv", &lines.join("\n"));
    let make = |table: &Path, name: &str, threads: &str| {
        let out = folder.path().join(name);
        let arguments = ["anonymize", text(table), "--policy", text(&policy), "--out", text(&out)];
        let (told, code) = json(&[&arguments[..], &["--threads", threads, "--json"]].concat());
        assert_eq!(code, Some(0));
        assert!(told["groups"].as_u64().unwrap() > 5, "{told}");
        out
    };
    let one = make(&forward, "one", "1");
    let other = make(&backward, "other", "3");
    let read = |path: PathBuf| std::fs::read(path).unwrap();
    assert_eq!(read(one.join("manifest.json")), read(other.join("manifest.json")));
    assert_eq!(read(beside(&one, ".tree")), read(beside(&other, ".tree")));
    let manifest = std::fs::read_to_string(one.join("manifest.json")).unwrap();
    assert!(manifest.contains("\"bandwidth\"") && !manifest.contains("largest_move"));

    let (report, code) = json(&["check", text(&one), "--original", text(&forward), "--json"]);
    assert_eq!(
        (code, &report["safe"], &report["beliefs"][0]["private"]),
        (Some(0), &true.into(), &true.into())
    );
    for point in report["beliefs"][0]["points"].as_array().unwrap() {
        let at = &point["thresholds"][0];
        assert_eq!((&at["vulnerable"], &at["undecided"]), (&0.into(), &0.into()));
    }
    assert!(refused(&["check", text(&one)]).contains("--original"), "without the original nothing is said");
    let other = text_file(folder.path(), "other.csv", &census);
    let error = refused(&["check", text(&one), "--original", text(&other)]);
    assert!(error.contains("not the table that the release was made from"), "{error}");
    // A stricter policy does not hold, and says so.
    let strict = std::fs::read_to_string(&policy).unwrap().replace("= 0.1\n", "= 0.001\n");
    let strict = strict.replace("census-marital.csv", text(&dataset("census-marital.csv")));
    let strict = text_file(folder.path(), "strict.toml", &strict);
    let arguments = ["check", text(&one), "--original", text(&forward), "--policy", text(&strict), "--json"];
    assert_eq!(json(&arguments).1, Some(1));
}

#[test]
fn a_table_of_many_subtrees_is_private_and_the_same_for_any_memory_and_row_order() {
    let folder = tempfile::tempdir().unwrap();
    let census = std::fs::read_to_string(dataset("census.csv")).unwrap();
    let mut lines: Vec<&str> = census.lines().collect();
    let forward = [text_file(folder.path(), "forward.csv", &lines.join("\n"))];
    lines[1..].reverse();
    let backward = [text_file(folder.path(), "backward.csv", &lines.join("\n"))];
    let policy = std::fs::read_to_string(dataset("census-beliefs.toml")).unwrap();
    let policy = policy.replace("census-marital.csv", text(&dataset("census-marital.csv")));
    let make = |paths: &[PathBuf], name: &str, memory: u64, threads: usize| {
        let out = folder.path().join(name);
        let run = Run { memory, threads, ..Run::new(paths, &policy, out.clone()) };
        // Nodes of more than some 4,000 rows are split on pages, and each of the others is finished on its own.
        match run.outcome().unwrap() {
            Outcome::Published(summary) => assert!(summary.groups > 50, "{}", summary.groups),
            outcome => panic!("{outcome:?}"),
        }
        out
    };
    let one = make(&forward, "one", 16 << 20, 1);
    let other = make(&backward, "other", 256 << 20, 3);
    let read = |path: PathBuf| std::fs::read(path).unwrap();
    assert_eq!(read(one.join("manifest.json")), read(other.join("manifest.json")));
    assert_eq!(read(beside(&one, ".tree")), read(beside(&other, ".tree")));
    let (report, code) = json(&["check", text(&one), "--original", text(&forward[0]), "--json"]);
    assert_eq!((code, &report["safe"]), (Some(0), &true.into()));
}

/// Eight kinds of 30 people, each of which is a group in which nothing moves, and two people of a kind of their own, who are
/// too few for a group; and a policy that allows a share of them to be left out.
fn few_are_left_out(folder: &Path, share: &str, style: &str) -> [PathBuf; 3] {
    let mut lines: Vec<String> = Vec::new();
    for kind in 0..8 {
        let value = |at: usize| if at < 3 + 2 * kind { "a" } else { ["b", "c"][at % 2] };
        lines.extend((0..30).map(|at| format!("k{kind},{}", value(at))));
    }
    lines.extend(["other,a".to_string(), "other,b".to_string()]);
    let forward = text_file(folder, "forward.csv", &format!("kind,v\n{}\n", lines.join("\n")));
    lines.reverse();
    let backward = text_file(folder, "backward.csv", &format!("kind,v\n{}\n", lines.join("\n")));
    let policy = format!(
        "[columns]\nsensitive = \"v\"\nquasi = [\"kind\"]\n[privacy]\nmodel = \"beliefs\"\nk_anonymity = 3\n\
         suppress = \"{share}\"\n[[privacy.beliefs]]\nbandwidth = 0.5\nt = 0\n[publish]\nstyle = \"{style}\"\n"
    );
    [forward, backward, text_file(folder, "policy.toml", &policy)]
}

#[test]
fn people_for_whom_no_group_is_proved_are_left_out_as_far_as_the_policy_allows() {
    for style in ["generalized", "bucketized"] {
        let folder = tempfile::tempdir().unwrap();
        let [forward, backward, policy] = few_are_left_out(folder.path(), "20%", style);
        let make = |table: &Path, name: &str, threads: &str| {
            let out = folder.path().join(name);
            let arguments = ["anonymize", text(table), "--policy", text(&policy), "--out", text(&out)];
            let (told, code) = json(&[&arguments[..], &["--threads", threads, "--json"]].concat());
            assert_eq!(code, Some(0));
            (out, told)
        };
        let ((one, told), (other, _)) = (make(&forward, "one", "1"), make(&backward, "other", "3"));
        let suppressed = told["suppressed"].as_u64().unwrap();
        assert!((2..=48).contains(&suppressed) && told["groups"].as_u64().unwrap() >= 7, "{told}");
        assert_eq!(told["records"].as_u64().unwrap() + suppressed, 242);
        let read = |path: PathBuf| std::fs::read(path).unwrap();
        assert_eq!(read(one.join("manifest.json")), read(other.join("manifest.json")));
        assert_eq!(read(beside(&one, ".tree")), read(beside(&other, ".tree")));
        // The list is that of the input: the same people, wherever their rows are.
        let listed = |name: &str| -> Vec<u64> {
            let list = std::fs::read_to_string(folder.path().join(format!("{name}.suppressed.csv"))).unwrap();
            list.lines().skip(1).map(|row| row.parse().unwrap()).collect()
        };
        let mut turned: Vec<u64> = listed("other").iter().map(|row| 243 - row).collect();
        turned.sort_unstable();
        assert_eq!((listed("one").len() as u64, listed("one")), (suppressed, turned));
        let receipt: Value = serde_json::from_slice(&read(folder.path().join("one.receipt.json"))).unwrap();
        assert_eq!(receipt["suppressed"]["rows"], suppressed);
        // How many are missing is for the owner; that some may be, and why, is for everybody.
        let manifest: Value = serde_json::from_slice(&read(one.join("manifest.json"))).unwrap();
        assert!(manifest["not_covered"].as_str().unwrap().contains("people are left out"), "{manifest}");
        assert_eq!(manifest.get("suppressed"), None);

        let (report, code) = json(&["check", text(&one), "--original", text(&forward), "--json"]);
        assert_eq!((code, &report["safe"]), (Some(0), &true.into()), "{report}");
        let beliefs = &report["beliefs"][0];
        assert_eq!((&beliefs["left_out"], &beliefs["people"]), (&suppressed.into(), &told["records"]));
        assert!(beliefs["left_out_as_group"].is_boolean());
        // Nobody who is listed has a row: without them the table has exactly the published people.
        let rows = std::fs::read_to_string(&forward).unwrap();
        let missing = listed("one");
        let kept = rows.lines().enumerate().filter(|(row, _)| !missing.contains(&(*row as u64)));
        let kept: Vec<&str> = kept.map(|(_, line)| line).collect();
        assert_eq!(kept.len() as u64, 243 - suppressed);
        // More people than the policy allows are another table.
        let half = kept.len() / 2;
        let more = [&rows.lines().collect::<Vec<_>>()[..], &kept[1..half]].concat().join("\n");
        let more = text_file(folder.path(), "more.csv", &more);
        let error = refused(&["check", text(&one), "--original", text(&more)]);
        assert!(error.contains("not the table that the release was made from"), "{error}");
    }
}

#[test]
fn more_people_than_the_policy_allows_are_not_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let [forward, _, policy] = few_are_left_out(folder.path(), "1/242", "generalized");
    let out = folder.path().join("out");
    let error = refused(&["anonymize", text(&forward), "--policy", text(&policy), "--out", text(&out)]);
    assert!(
        error.contains("people fit in no safe group, and by the policy at most 0.42% may be left out"),
        "{error}"
    );
    assert!(error.contains("suppress = \""), "{error}");
    assert!(!out.exists() && !beside(&out, ".suppressed.csv").exists());
}

#[test]
fn t_closeness_and_l_diversity_hold_and_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let policy = r#"
[columns]
quasi = { age = { grid = 1 }, sex = {}, marital = {} }
drop = ["person_id", "region", "county", "tract", "occupation", "industry", "diagnosis", "cost"]
[columns.sensitive.education]
order = ["No schooling", "Primary", "Lower secondary", "Upper secondary", "Vocational", "Bachelor", "Master", "Doctorate"]
[privacy]
k_anonymity = 5
t_closeness = { t = 0.15, distance = "DISTANCE" }
probabilistic_l_diversity = 2
"#;
    for (distance, t) in [("ordered", "0.14"), ("equal", "0.14")] {
        let policy = policy.replace("DISTANCE", distance);
        let release = released(folder.path(), &policy, distance);
        let (report, code) = json(&["check", text(&release), "--json"]);
        assert_eq!(code, Some(0));
        let points = report["points"].as_array().unwrap();
        assert_eq!(points.len(), 2);
        assert!(points.iter().all(|point| point["safe"] == true));
        assert!(points[0]["criterion"].as_str().unwrap().contains(distance));
        let measured = points[0]["measured"].as_f64().unwrap();
        assert!(measured > 0.1 && measured <= 0.15, "{measured}");
        let strict = text_file(folder.path(), "strict.toml", &policy.replace("0.15", t));
        let (_, code) = json(&["check", text(&release), "--policy", text(&strict), "--json"]);
        assert_eq!(code, Some(i32::from(measured > 0.14)));
    }
    let impossible = policy.replace("DISTANCE", "equal").replace("diversity = 2", "diversity = 40");
    let impossible = text_file(folder.path(), "impossible.toml", &impossible);
    let out = folder.path().join("none");
    let table = dataset("census.csv");
    let output = skyveil(&["anonymize", text(&table), "--policy", text(&impossible), "--out", text(&out)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().contains("l-diversity") && !out.exists());
}

#[test]
fn mistakes_are_told_with_a_remedy_and_no_release_appears() {
    let folder = tempfile::tempdir().unwrap();
    let table = text_file(folder.path(), "table.csv", TABLE_ONE);
    let known = ["attack", text(&table), "--sensitive", "disease"];
    let attack = |rest: &[&str]| refused(&[&known[..], rest].concat());
    assert!(attack(&["--bandwidth", "0.3", "--quasi", "age"]).contains("--group"));
    assert!(attack(&["--bandwidth", "0.3", "--group", "grp"]).contains("--quasi"));
    assert!(attack(&["--bandwidth", "0", "--group", "grp", "--quasi", "age"]).contains("above 0"));
    assert!(attack(&["--bandwidth", "zip=1", "--group", "grp", "--quasi", "age"]).contains("zip"));
    assert!(attack(&["--bandwidth", "sex=1", "--group", "grp", "--quasi", "age,sex"]).contains("age"));
    assert!(
        attack(&["--bandwidth", "1", "--t", "1.5", "--group", "grp", "--quasi", "age"]).contains("below 1")
    );
    assert!(attack(&["--bandwidth", "0.3", "--group", "grp", "--quasi", "zip"]).contains("zip"));
    // Each group would have to be the whole table, and even there beliefs move.
    let policy = "accept = [\"ends of ranges\"]\n[columns]\nsensitive = \"disease\"\nquasi = [\"age\", \"sex\"]\ndrop = [\"grp\"]\n[privacy]\n\
                  model = \"beliefs\"\n[[privacy.beliefs]]\nbandwidth = { age = 0.5, sex = 2 }\nt = 0.001\n";
    let policy = text_file(folder.path(), "policy.toml", policy);
    let out = folder.path().join("out");
    let arguments = ["anonymize", text(&table), "--policy", text(&policy), "--out", text(&out)];
    let output = skyveil(&arguments);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("raise t") && !out.exists());
    assert!(refused(&[&arguments[..], &["--search", "lattice"]].concat()).contains("lattice"));
}

/// The same people, with a setting for how their column is published.
fn shaped(folder: &Path, stated: &str, model: &str) -> PathBuf {
    let policy = format!(
        "accept = [\"ends of ranges\"]\n[columns]\nsensitive = \"sick\"\ndrop = [\"grp\"]\n[columns.quasi.q]\n{stated}\n[privacy]\n{model}\n"
    );
    text_file(folder, "shaped.toml", &policy)
}

#[test]
fn what_is_believed_does_not_depend_on_the_ranges_that_are_published() {
    let folder = tempfile::tempdir().unwrap();
    let beliefs = "model = \"beliefs\"\n[[privacy.beliefs]]\nbandwidth = 0.3\nt = 0.1";
    let (dates, ends) = ("dates = [\"year\", \"decade\"]", "ends = [[\"1950-01-01\", \"1960-01-01\"]]");
    let numbers = ["", "levels = [10, 20]", "ends = [[20, 40]]"];
    let value: [fn(usize) -> String; 2] =
        [|i| format!("{}-{:02}-01", 1940 + i / 2, 1 + i % 12), |i| i.to_string()];
    for (value, shapes) in value.into_iter().zip([["", dates, ends], numbers]) {
        // Neighbours form a group with one value, which someone who knows the column only roughly did not expect.
        let row = |i: usize| format!("{},{},{}\n", value(i), i / 6, ["a", "b", "c"][i / 6 % 3]);
        let table = text_file(
            folder.path(),
            "shaped.csv",
            &format!("q,grp,sick\n{}", (0..60).map(row).collect::<String>()),
        );
        let mut told: Vec<(Value, Value, u64)> = Vec::new();
        for stated in shapes {
            let policy = shaped(folder.path(), stated, "k_anonymity = 5");
            let flags = ["--group", "grp", "--policy", text(&policy), "--bandwidth", "0.3", "--json"];
            let mut attacked = json(&[&["attack", text(&table)], &flags[..]].concat()).0;
            // What ends of ranges show depends on the ranges.
            attacked.as_object_mut().unwrap().remove("attacks");
            let policy = shaped(folder.path(), stated, beliefs);
            let flags = ["--group", "grp", "--policy", text(&policy), "--json"];
            let (checked, code) = json(&[&["check", text(&table)], &flags[..]].concat());
            assert_eq!(code, Some(1), "{stated}");
            let vulnerable = attacked["points"][0]["thresholds"][0]["vulnerable"].as_u64().unwrap();
            told.push((attacked, checked["beliefs"].clone(), vulnerable));
        }
        assert!(told[0].2 > 10, "{}", told[0].0);
        assert!(told.iter().all(|other| *other == told[0]), "{told:?}");
        // A release by periods or ranges passes the check, and means the same adversary.
        for (i, stated) in shapes.iter().enumerate() {
            let policy = shaped(folder.path(), stated, &beliefs.replace("t = 0.1", "t = 0.6"));
            let out = folder.path().join(format!("release{i}"));
            let arguments =
                ["anonymize", text(&table), "--policy", text(&policy), "--out", text(&out), "--json"];
            assert_eq!(json(&arguments).1, Some(0), "{stated}");
            let (report, code) = json(&["check", text(&out), "--original", text(&table), "--json"]);
            assert_eq!((code, &report["beliefs"][0]["private"]), (Some(0), &true.into()), "{stated}");
            remove_release(&out);
        }
    }
}

/// What a command prints for human readers.
fn told(arguments: &[&str]) -> String {
    let output = skyveil(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_attack_takes_from_the_policy_what_the_flags_leave_open() {
    let folder = tempfile::tempdir().unwrap();
    let table = text_file(folder.path(), "table.csv", TABLE_ONE);
    let policy = |smooth: &str| {
        let policy = format!(
            "[columns]\nquasi = [\"age\", \"sex\"]\ndrop = [\"grp\"]\n[columns.sensitive.disease]\n\
             order = [\"Flu\", \"Gastritis\", \"Emphysema\", \"Cancer\"]\n[privacy]\nmodel = \"beliefs\"\n{smooth}\
             [[privacy.beliefs]]\nbandwidth = {{ age = 0.5, sex = 2 }}\nt = 0.2\n"
        );
        text_file(folder.path(), "policy.toml", &policy)
    };
    let attack = |policy: &Path, flags: &[&str]| {
        let fixed = ["attack", text(&table), "--group", "grp", "--t", "0.15", "--policy", text(policy)];
        [&fixed[..], flags].concat().iter().map(|flag| flag.to_string()).collect::<Vec<String>>()
    };
    let run = |arguments: Vec<String>| told(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let plain = run(attack(&policy(""), &[]));
    assert!(plain.contains("bandwidth          age 1/2, sex 2\nsmoothing          none\n"), "{plain}");
    assert!(plain.contains("0.1996") && !plain.contains("without smoothing"), "{plain}");
    let smoothed = run(attack(&policy("smooth = 0.5\n"), &[]));
    assert!(smoothed.contains("smoothing          1/2\n"), "{smoothed}");
    assert!(smoothed.contains("without smoothing  0.1996\n") && smoothed.matches("0.1996").count() == 1);
    assert_eq!(run(attack(&policy("smooth = 0.5\n"), &["--smooth", "0"])), plain, "flags win");
    let narrow = run(attack(&policy(""), &["--bandwidth", "0.01"]));
    assert!(narrow.contains("bandwidth          age 1/100, sex 1/100\n"), "{narrow}");
    // Each of the nine is of a separate kind, which such an adversary knew before.
    assert!(narrow.contains("certain before     9 people"), "{narrow}");
    assert!(plain.contains("certain before     1 person,"), "{plain}");
    let checked = told(&["check", text(&table), "--policy", text(&policy("")), "--group", "grp"]);
    assert!(checked.lines().all(|line| line.len() < 110), "{checked}");
    assert!(checked.contains("no belief moves further than it may\n"), "{checked}");

    let sensitive = "[columns]\nquasi = [\"age\"]\nsensitive = [\"disease\", \"sex\"]\ndrop = [\"grp\"]\n";
    let several =
        text_file(folder.path(), "several.toml", &format!("{sensitive}[privacy]\nk_anonymity = 2\n"));
    let flags = ["--group", "grp", "--policy", text(&several)];
    let error = refused(&[&["attack", text(&table), "--bandwidth", "1"], &flags[..]].concat());
    assert!(error.contains("disease, sex"), "{error}");
    let told = told(&[&["attack", text(&table), "--sensitive", "sex"], &flags[..]].concat());
    assert!(
        told.lines().any(|line| line.starts_with("correlations") && line.ends_with("needs --bandwidth")),
        "{told}"
    );
    for key in ["individual", "count"] {
        let policy = format!(
            "[columns]\nquasi = [\"age\"]\nsensitive = \"disease\"\ndrop = [\"sex\"]\n{key} = \"grp\"\n\
             [privacy]\nk_anonymity = 2\n"
        );
        let policy = text_file(folder.path(), "long.toml", &policy);
        let flags = ["--bandwidth", "1", "--group", "age", "--policy", text(&policy)];
        let error = refused(&[&["attack", text(&table)], &flags[..]].concat());
        assert!(error.contains("`grp`") && error.contains(key) && !error.contains("model"), "{error}");
    }
}
