//! The skyline, the worst case and the page, as a user gets them.
use crate::support::{Folder, draws, skyveil};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The release of the paper's third figure.
const FIGURE_3: &str = "grp,disease\n1,AIDS\n1,AIDS\n1,Flu\n1,Flu\n2,AIDS\n2,Cancer\n2,Flu\n2,Flu\n";

const POLICY: &str = r#"
accept = ["unique kept values"]
[columns]
sensitive = "disease"
drop = ["name"]
keep = ["cost<b>"]
[columns.quasi.age]
grid = 1
[columns.quasi.city]
[privacy]
k_anonymity = 4
[[privacy.skyline]]
l = 1
k = 2
m = 1
confidence = 0.9
"#;

fn text(arguments: &[&str]) -> String {
    let output = skyveil(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(&[arguments, &["--json"]].concat())).unwrap()
}

/// Asserts that the command fails with code 2 and prints `says`.
fn refused(arguments: &[&str], says: &str) {
    let output = skyveil(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?} {error}");
    assert!(error.contains(says), "{error}");
}

/// A table of people, some of whose values look like markup.
fn people() -> String {
    let mut table = String::from("name,age,city,cost<b>,disease\n");
    let mut pick = draws(7);
    let diseases = ["Flu", "<script>alert(1)</script>", "Asthma", "Ulcer", "Injury"];
    for i in 0..600 {
        let (age, city) = (20 + pick(50), ["Bonn", "Celle", "Essen"][pick(3) as usize]);
        let disease = diseases[pick(5) as usize];
        table.push_str(&format!("p{i},{age},{city},{},{disease}\n", pick(1000)));
    }
    table
}

/// Makes a release with these lines at the end of the policy.
fn release(folder: &Folder, name: &str, more: &str) -> PathBuf {
    let table = folder.write("people.csv", &people());
    let policy = folder.write("policy.toml", &format!("{POLICY}{more}"));
    let out = folder.path(name);
    text(&["anonymize", &table, "--policy", &policy, "--out", out.to_str().unwrap()]);
    out
}

#[test]
fn a_skyline_is_a_grid_and_a_list_of_points() {
    let folder = Folder::new();
    let table = folder.write("t.csv", FIGURE_3);
    let shown = text(&[
        "skyline",
        &table,
        "--group",
        "grp",
        "--sensitive",
        "disease",
        "--value",
        "AIDS",
        "--confidence",
        "0.8",
    ]);
    let expected = "AIDS: below 4/5 up to these points\n\n  largest k  m=0  m=1\n  l=0          1    0\n\n  \
                    l,k,m:  0,0,1  0,1,0\n";
    assert_eq!(shown, expected);
}

#[test]
fn skylines_are_json_as_documented() {
    let folder = Folder::new();
    let table = folder.write("t.csv", FIGURE_3);
    let base = ["skyline", &table, "--group", "grp", "--sensitive", "disease", "--confidence"];
    assert_eq!(
        json(&[&base[..], &["19/20", "--value", "Cancer"]].concat()),
        json!({"value": "Cancer", "confidence": "19/20", "points": [[0, 1, 1], [0, 2, 0], [1, 0, 2]], "always_safe": false}),
    );
    assert_eq!(
        json(&[&base[..], &["0.9", "--value", "AIDS", "--values", "set"]].concat())["points"],
        json!([["inf", 0, 1], ["inf", 1, 0]]),
    );
    let all = json(&[&base[..], &["0.9", "--all"]].concat());
    let names: Vec<&str> = all.as_array().unwrap().iter().map(|one| one["value"].as_str().unwrap()).collect();
    assert_eq!(names, ["AIDS", "Cancer", "Flu"]);
    refused(&[&base[..], &["0.9", "--value", "Cold"]].concat(), "does not hold the value");
    refused(
        &[&base[..], &["0.9", "--value", "AIDS", "--value", "Cancr"]].concat(),
        "did you mean \"Cancer\"?",
    );
    let unsafe_at_once = json(&[&base[..], &["1/2", "--value", "AIDS"]].concat());
    assert_eq!(unsafe_at_once["points"], json!([]));
    let ended = json(&[&base[..], &["0.95", "--value", "Cancer", "--up-to", "0,1,9"]].concat());
    assert_eq!((&ended["points"], &ended["ended_by_up_to"]), (&json!([[0, 0, 2], [0, 1, 1]]), &json!(true)));
}

#[test]
fn every_point_of_a_skyline_passes_the_check_and_no_larger_one_does() {
    let folder = Folder::new();
    let out = release(&folder, "r", "");
    let out = out.to_str().unwrap();
    let found = json(&["skyline", out, "--value", "Flu", "--confidence", "0.7"]);
    let points = found["points"].as_array().unwrap();
    assert!(points.len() > 2, "{found}");
    let safe = |l: u64, k: u64, m: u64| {
        let point = format!("{l},{k},{m},0.7");
        skyveil(&["check", out, "--value", "Flu", "--point", &point]).status.code() == Some(0)
    };
    for point in points {
        let [l, k, m] = [0, 1, 2].map(|i| point[i].as_u64().unwrap());
        assert!(safe(l, k, m), "{point}");
        assert!(!safe(l + 1, k, m) && !safe(l, k + 1, m) && !safe(l, k, m + 1), "{point}");
    }
}

#[test]
fn skylines_are_drawn_and_their_names_cannot_break_out() {
    let folder = Folder::new();
    let out = release(&folder, "r", "");
    let drawing = folder.path("s.svg");
    let flags = ["--all", "--confidence", "0.9", "--svg", drawing.to_str().unwrap()];
    text(&[&["skyline", out.to_str().unwrap()], &flags[..]].concat());
    let drawing = std::fs::read_to_string(drawing).unwrap();
    assert!(drawing.starts_with("<svg") && drawing.ends_with("</svg>\n"));
    assert!(drawing.contains("Asthma") && drawing.contains("members of the family"));
    assert!(!drawing.contains("<script"));
}

#[test]
fn an_explanation_tells_each_step() {
    let folder = Folder::new();
    let table = folder.write("t.csv", FIGURE_3);
    let shown = text(&[
        "explain",
        &table,
        "--group",
        "grp",
        "--sensitive",
        "disease",
        "--value",
        "AIDS",
        "--point",
        "0,1,0",
    ]);
    let expected = "\
AIDS at l=0, k=1, m=0: an adversary can become sure to 0.666667  (2/3)

target      one of 4 people with grp=1, among whom AIDS occurs 2 times
            for example row 1
rule out    no value
ask         1 other person of the same group: 1 with Flu
            for example row 3
family      nobody

what is known            how sure
the release alone        0.500000  (1/2)
and the ruled out values 0.500000  (1/2)
and the others           0.666667  (2/3)
and the family           0.666667  (2/3)
";
    assert_eq!(shown, expected);
}

#[test]
fn explanations_end_at_the_breach_of_the_check_in_every_style() {
    let folder = Folder::new();
    for (name, more) in [("g", ""), ("b", "[publish]\nstyle = \"bucketized\"\n")] {
        let out = release(&folder, name, more);
        let out = out.to_str().unwrap();
        for point in ["0,0,0", "1,2,1", "2,1,3", "0,5,0"] {
            let told = json(&["explain", out, "--value", "Flu", "--point", point]);
            let confidence = format!("{point},1");
            let output = skyveil(&["check", out, "--value", "Flu", "--point", &confidence, "--json"]);
            let checked: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(told["breach"], checked["points"][0]["breach"], "{name} {point}");
            assert_eq!(told["steps"][3]["exact"], checked["points"][0]["breach_exact"], "{name} {point}");
            assert!(!told["target"]["rows"].as_array().unwrap().is_empty());
        }
    }
}

/// The second and the third term of the bound (mathematics 1.4): the others are with the family, or with the target.
#[test]
fn others_are_asked_where_it_pays_most() {
    let folder = Folder::new();
    let rows = |group: &str, counts: &[(&str, usize)]| -> String {
        counts.iter().map(|(value, n)| format!("{group},{value}\n").repeat(*n)).collect()
    };
    let different =
        |group: &str, n: usize| -> String { (0..n).map(|i| format!("{group},{group}{i}\n")).collect() };
    let lopsided = ["grp,disease\n", &rows("big", &[("A", 144), ("s", 20)]), &different("big", 57)].concat()
        + &rows("small", &[("s", 1)])
        + &different("small", 11);
    let even = String::from("grp,disease\n")
        + &rows("big", &[("a", 3), ("c", 3), ("d", 3), ("s", 4)])
        + &rows("small", &[("b", 2), ("d", 3), ("s", 1)]);
    for (table, point, breach, [target, others, family], place) in [
        (lopsided, "2,1,3", "55/167", ["big", "small", "small"], "the family's group"),
        (even, "1,1,2", "13/19", ["small", "small", "big"], "the target's group"),
    ] {
        let table = folder.write("t.csv", &table);
        let flags = ["--group", "grp", "--sensitive", "disease", "--value", "s", "--point", point];
        let told = json(&[&["explain", &table], &flags[..]].concat());
        assert_eq!(told["steps"][3]["exact"], breach);
        assert_eq!(told["others"]["in"], place);
        let group = |who: &str| told[who]["group"]["label"]["grp"].as_str().unwrap().to_string();
        assert_eq!([group("target"), group("others"), group("family")], [target, others, family]);
    }
}

#[test]
fn scattered_groups_are_found_by_their_number_or_refused() {
    let folder = Folder::new();
    let scattered = "grp,disease\n1,AIDS\n2,AIDS\n1,AIDS\n2,Cancer\n1,Flu\n2,Flu\n1,Flu\n2,Flu\n";
    let numbers = folder.write("n.csv", scattered);
    let flags = ["--group", "grp", "--sensitive", "disease", "--value", "AIDS", "--point", "0,1,0"];
    let told = json(&[&["explain", &numbers], &flags[..]].concat());
    assert_eq!(told["steps"][3]["exact"], "2/3");
    assert_eq!(told["target"]["rows"], json!([1]));
    let names = folder.write("t.csv", &scattered.replace("1,", "one,").replace("2,", "two,"));
    refused(&[&["explain", &names], &flags[..]].concat(), "sorted by its group columns");
}

#[test]
fn bad_calls_are_refused_with_a_remedy() {
    let folder = Folder::new();
    let table = folder.write("t.csv", FIGURE_3);
    let base = ["--group", "grp", "--sensitive", "disease"];
    let with = |head: &str, more: &[&str]| {
        let all: Vec<String> =
            [head, table.as_str()].iter().chain(&base).chain(more).map(|text| text.to_string()).collect();
        all
    };
    for (arguments, says) in [
        (with("skyline", &["--value", "AIDS", "--confidence", "1.5"]), "at most 1"),
        (with("skyline", &["--value", "AIDS", "--confidence", "0"]), "above 0"),
        (with("skyline", &["--confidence", "0.5"]), "--value"),
        (with("skyline", &["--all", "--value", "AIDS", "--confidence", "0.5"]), "--all"),
        (with("skyline", &["--all", "--confidence", "0.5", "--up-to", "1,2"]), "L,K,M"),
        (with("explain", &["--value", "Cold", "--point", "0,0,0"]), "does not hold"),
        (with("explain", &["--value", "AIDS", "--point", "0,-1,0"]), "whole number"),
    ] {
        refused(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), says);
    }
    refused(&["skyline", &table, "--group", "grp", "--all", "--confidence", "0.5"], "--sensitive");
    refused(&["report", &table], "no sensitive column");
}

#[test]
fn a_release_answers_without_options_about_what_is_nearest_to_its_limit() {
    let folder = Folder::new();
    let out = release(&folder, "g", "");
    let path = out.to_str().unwrap();
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("manifest.json")).unwrap()).unwrap();
    let margin = |point: &Value| {
        let (above, below) = point["confidence"].as_str().unwrap().split_once('/').unwrap();
        above.parse::<f64>().unwrap() / below.parse::<f64>().unwrap() - point["breach"].as_f64().unwrap()
    };
    let points = manifest["points"].as_array().unwrap().iter().filter(|point| point["value"].is_string());
    let near = points.min_by(|one, other| margin(one).total_cmp(&margin(other))).unwrap();
    let (value, confidence) = (near["value"].as_str().unwrap(), near["confidence"].as_str().unwrap());
    let size = format!("{},{},{}", near["l"], near["k"], near["m"]);
    let same = |command: &str, full: &[&str]| {
        assert_eq!(text(&[command, path]), text(&[&[command, path], full].concat()), "{command}");
    };
    same("explain", &["--value", value, "--point", &size]);
    same("skyline", &["--value", value, "--confidence", confidence]);
    same("disclosure", &["--up-to", "5"]);
    assert_eq!(
        text(&["skyline", path, "--value", value]),
        text(&["skyline", path, "--value", value, "--confidence", confidence])
    );
}

#[test]
fn a_release_carries_its_report_and_the_command_makes_the_same() {
    let folder = Folder::new();
    for (name, more) in [("g", ""), ("b", "[publish]\nstyle = \"bucketized\"\n")] {
        let out = release(&folder, name, more);
        let page = std::fs::read_to_string(out.join("report.html")).unwrap();
        assert_eq!(text(&["report", out.to_str().unwrap()]), page, "{name}");
        let again = folder.path("again.html");
        text(&["report", out.to_str().unwrap(), "--out", again.to_str().unwrap()]);
        assert_eq!(std::fs::read_to_string(again).unwrap(), page);
        holds_together(&page, &out);
    }
}

fn holds_together(page: &str, out: &Path) {
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("manifest.json")).unwrap()).unwrap();
    let files: Vec<&Value> = manifest["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert!(files.contains(&&json!("report.html")), "the manifest binds the page");
    for part in [
        "safe by its policy",
        manifest["policy_sha256"].as_str().unwrap(),
        "&lt;script&gt;alert(1)",
        "cost&lt;b&gt;",
        "Knowledge skyline of ",
        "Groups by size",
        "Not computed, because it needs the original table",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // The data and the script of this crate, and nothing else that could run.
    assert_eq!((page.matches("<script").count(), page.matches("<script>").count()), (2, 1));
    assert!(page.contains("content=\"default-src 'none'; style-src 'sha256-"));
    for never in ["http://", "https://", "<link", "NaN", "src=", out.to_str().unwrap()] {
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains(never), "{never}");
    }
    for tag in ["svg", "table", "figure", "div", "pre", "h2", "dl"] {
        let open = page.matches(&format!("<{tag} ")).count() + page.matches(&format!("<{tag}>")).count();
        assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn explore_finds_the_page_of_a_release_or_writes_another() {
    let folder = Folder::new();
    let out = release(&folder, "e", "");
    let out = out.to_str().unwrap();
    let found = text(&["explore", out, "--no-open"]);
    assert!(found.starts_with(&format!("{out}/report.html: safe, 600 people in ")), "{found}");
    let mine = folder.text("mine.html");
    let written = text(&["explore", out, "--no-open", "--point", "0,0,0,1", "--out", &mine]);
    assert!(written.starts_with(&format!("{mine}: safe")), "{written}");
    assert!(std::fs::read_to_string(mine).unwrap().contains("safe at the requested points"));
    let unsafe_point =
        skyveil(&["explore", out, "--no-open", "--point", "3,9,9,1/10", "--out", &folder.text("no")]);
    assert_eq!(unsafe_point.status.code(), Some(1));
}

#[test]
fn the_data_of_a_page_is_what_the_release_shows() {
    let folder = Folder::new();
    let out = release(&folder, "d", "");
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    let start = "type=\"application/json\">";
    let from = page.find(start).unwrap() + start.len();
    let data: Value =
        serde_json::from_str(&page[from..from + page[from..].find("</script>").unwrap()]).unwrap();
    let data = &data[0];
    let shown = json(&["show", out.to_str().unwrap(), "--groups", "1000"]);
    let number = |value: &Value| value.as_u64().unwrap() as usize;
    assert_eq!(data["columns"], json!(["group", "age", "city"]));
    let groups = data["groups"].as_array().unwrap();
    // Most groups can never be the worst.
    assert!(!groups.is_empty() && groups.len() < shown["shown"].as_array().unwrap().len());
    for group in groups {
        let label: Vec<&str> = group[2]
            .as_array()
            .unwrap()
            .iter()
            .map(|at| data["texts"][number(at)].as_str().unwrap())
            .collect();
        let own = &shown["shown"][label[0].parse::<usize>().unwrap() - 1];
        assert_eq!((&own["label"]["age"], &own["label"]["city"]), (&json!(label[1]), &json!(label[2])));
        assert_eq!(own["people"], group[1]);
        let mut counts: Vec<(String, u64)> = group[3]
            .as_array()
            .unwrap()
            .chunks(2)
            .map(|pair| {
                (data["names"][number(&pair[0])].as_str().unwrap().to_string(), pair[1].as_u64().unwrap())
            })
            .collect();
        let values = own["values"]["disease"].as_array().unwrap();
        let mut expected: Vec<(String, u64)> = values
            .iter()
            .map(|count| (count["value"].as_str().unwrap().to_string(), count["count"].as_u64().unwrap()))
            .collect();
        counts.sort();
        expected.sort();
        assert_eq!(counts, expected);
    }
}

#[test]
fn show_prints_groups_as_the_release_has_them() {
    let folder = Folder::new();
    let out = release(&folder, "shown", "");
    let out = out.to_str().unwrap();
    let all = json(&["check", out])["groups"].as_u64().unwrap();
    let shown = json(&["show", out, "--groups", "1000"]);
    let groups = shown["shown"].as_array().unwrap();
    assert_eq!((shown["groups"].as_u64(), groups.len() as u64), (Some(all), all));
    let people = |group: &Value| group["people"].as_u64().unwrap();
    assert_eq!(groups.iter().map(people).sum::<u64>(), 600);
    for group in groups {
        let counts = group["values"]["disease"].as_array().unwrap();
        let sum: u64 = counts.iter().map(|count| count["count"].as_u64().unwrap()).sum();
        assert_eq!(sum, people(group));
        assert!(group["label"]["age"].is_string() && group["label"]["city"].is_string());
    }
    let table = text(&["show", out, "--groups", "2"]);
    assert_eq!(table.lines().count(), 5, "{table}");
    refused(&["show", out, "--from", "0"], "numbered from 1");
    refused(&["show", &folder.write("no.csv", "a\n1\n")], "not a release");
}

#[test]
fn a_quiet_command_prints_results_only() {
    let folder = Folder::new();
    let table = folder.write("people.csv", &people());
    let policy = folder.write("policy.toml", POLICY);
    let run = |out: &str, more: &[&str]| {
        let out = folder.text(out);
        skyveil(&[&["anonymize", &table, "--policy", &policy, "--out", &out], more].concat())
    };
    let (loud, quiet) = (run("loud", &[]), run("quiet", &["--quiet"]));
    assert!(!loud.stderr.is_empty(), "the kept column should cause a warning");
    assert!(quiet.status.success() && quiet.stderr.is_empty() && !quiet.stdout.is_empty());
}

#[test]
fn shells_and_manuals_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&["completions", shell]);
        assert!(script.contains("anonymize") && script.contains("show"), "{shell}");
    }
    let folder = Folder::new();
    let pages = folder.path("man");
    assert!(text(&["man"]).contains(".TH skyveil"));
    text(&["man", "--out", pages.to_str().unwrap()]);
    assert!(pages.join("skyveil-anonymize.1").is_file());
}
