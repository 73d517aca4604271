//! Nearly equal numbers are protected together: `within` in `anonymize`, `check` and `explain`.

use crate::support::library::{Outcome, Rational, Run, parse_fraction, ratio};
use crate::support::naive::{Width, near_breach};
use crate::support::{Folder, draws, ends_with, json, printed, skyveil, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

type Groups = Vec<Vec<Option<i64>>>;

const WIDTHS: [Width; 6] = [
    Width::Absolute(1),
    Width::Absolute(4),
    Width::Absolute(9),
    Width::Percent(10),
    Width::Percent(50),
    Width::Percent(120),
];

fn cell(value: Option<i64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// The rows of a table with columns `grp` and `s`; a missing number is empty.
fn csv(groups: &Groups) -> String {
    let rows = groups.iter().enumerate();
    let rows = rows.flat_map(|(i, group)| group.iter().map(move |value| format!("{i},{}\n", cell(*value))));
    format!("grp,s\n{}", rows.collect::<String>())
}

const NULL: &str = "[columns]\nquasi = [\"grp\"]\n[columns.sensitive.s]\nnull_is = \"none\"\n";

fn fraction(value: &Value) -> Rational {
    parse_fraction(value.as_str().unwrap_or_else(|| panic!("{value}"))).unwrap()
}

/// The starts of all windows: the values that occur.
fn starts(groups: &Groups) -> Vec<Option<i64>> {
    let mut starts: Vec<Option<i64>> = groups.iter().flatten().copied().collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// The values of the sensitive column in the groups of a release.
fn released(folder: &Path) -> Groups {
    let mut groups: BTreeMap<String, Vec<Option<i64>>> = BTreeMap::new();
    let batch = crate::support::library::read(&folder.join("data"), &["group", "s"]);
    for row in crate::support::library::rows(&batch) {
        groups.entry(row[0].clone()).or_default().push(row[1].parse::<f64>().ok().map(|value| value as i64));
    }
    groups.into_values().collect()
}

#[test]
fn the_vectors_pass_through_the_command() {
    let folder = Folder::new();
    let vectors =
        std::fs::read_to_string(crate::support::root().join("tests/vectors/closeness.json")).unwrap();
    let vectors: Value = serde_json::from_str(&vectors).unwrap();
    for vector in vectors["cases"].as_array().unwrap().iter().filter(|case| case["within"] != 0).step_by(5) {
        let groups: Groups = serde_json::from_value(vector["groups"].clone()).unwrap();
        let table = folder.write("t.csv", &csv(&groups));
        let (within, from) = (vector["within"].to_string(), vector["from"].to_string());
        let point = format!("{},{},{}", vector["l"], vector["k"], vector["m"]);
        let common = ["--group", "grp", "--sensitive", "s", "--within", &within, "--value", &from, "--json"];
        let (confident, certain) = (format!("{point},1"), [table.as_str()]);
        let checked = skyveil(&[&["check"], &certain[..], &common[..], &["--point", &confident]].concat());
        let found = &json(&checked)["points"];
        assert_eq!(found.as_array().unwrap().len(), 1, "{vector}");
        assert_eq!(found[0]["breach_exact"], vector["breach"], "{vector} {found}");
        let explained = skyveil(&[&["explain"], &certain[..], &common[..], &["--point", &point]].concat());
        assert_eq!(explained.status.code(), Some(0), "{vector} {}", printed(&explained));
        assert_eq!(json(&explained)["steps"][3]["exact"], vector["breach"], "{vector}");
    }
}

#[test]
fn check_agrees_with_brute_force_about_every_window() {
    let folder = Folder::new();
    let mut draw = draws(41);
    for round in 0..24 {
        let width = WIDTHS[round % WIDTHS.len()];
        let value = |draw: &mut dyn FnMut(u64) -> u64| (draw(9) > 0).then(|| draw(24) as i64 - 8);
        let groups: Groups =
            (0..1 + draw(3)).map(|_| (0..1 + draw(7)).map(|_| value(&mut draw)).collect()).collect();
        let size = [draw(3), draw(3), draw(3)];
        let table = folder.write("t.csv", &csv(&groups));
        let policy = format!(
            "{NULL}[privacy]\nskyline = [{{ within = {:?}, l = {}, k = {}, m = {}, confidence = 0.5 }}]\n",
            width.text(),
            size[0],
            size[1],
            size[2]
        );
        let policy = folder.write("p.toml", &policy);
        let found = json(&skyveil(&["check", &table, "--policy", &policy, "--json"]));
        let name = |value: Option<i64>| value.map_or("none".to_string(), |value| value.to_string());
        let windows: Vec<(Option<i64>, String)> = starts(&groups)
            .into_iter()
            .map(|start| {
                let held = |other: &Option<i64>| match (start, *other) {
                    (Some(start), Some(other)) => width.holds(start, other),
                    (start, other) => start == other,
                };
                let all: Vec<Option<i64>> = starts(&groups).into_iter().filter(held).collect();
                let (first, last) = (all[0], all[all.len() - 1]);
                let words = format!("{} to {}", name(first), name(last));
                (start, if first == last { name(first) } else { words })
            })
            .collect();
        let points = found["points"].as_array().unwrap();
        let mut worst = Rational::ZERO;
        for point in points {
            let (start, _) = windows.iter().find(|(_, name)| point["window"] == *name).unwrap();
            let expected = near_breach(&groups, width, *start, size);
            assert_eq!(fraction(&point["breach_exact"]), expected, "{groups:?} {point}");
            assert_eq!(
                (&point["safe"], &point["within"]),
                (&(expected < ratio(1, 2)).into(), &width.text().into())
            );
            worst = worst.max(expected);
        }
        // Windows that lie in another one are left out, and none of them is worse.
        let all = windows.iter().map(|(start, _)| near_breach(&groups, width, *start, size));
        assert_eq!(all.max(), Some(worst), "{groups:?} {size:?} {width:?}");
    }
}

#[test]
fn what_is_published_is_safe_and_nothing_safe_is_withheld() {
    let folder = Folder::new();
    let mut draw = draws(7);
    let mut published = 0;
    for round in 0..40 {
        let width = WIDTHS[round % WIDTHS.len()];
        let people = 6 + draw(60);
        let spread = [6, 30, 2000][round % 3];
        let nulls = round % 4 == 0;
        let table: String = (0..people)
            .map(|_| {
                let value = (!nulls || draw(8) > 0).then(|| draw(spread) as i64 - 3);
                format!("{},{},{}\n", draw(20), draw(3), cell(value))
            })
            .collect();
        let path = folder.path("t.csv");
        std::fs::write(&path, format!("a,b,s\n{table}")).unwrap();
        let size = [draw(3), draw(3), draw(3)];
        let c = 3 + draw(6);
        let mut policy = format!(
            "accept = [\"ends of ranges\"]\n[columns]\nquasi = [\"a\", \"b\"]\n[columns.sensitive.s]\nnull_is = \"none\"\n[privacy]\n\
             [[privacy.skyline]]\nwithin = {:?}\nl = {}\nk = {}\nm = {}\nconfidence = \"{c}/10\"\n",
            width.text(),
            size[0],
            size[1],
            size[2]
        );
        if round % 2 == 0 {
            policy.push_str("[[privacy.skyline]]\nl = 1\nm = 1\nconfidence = 0.9\n");
        }
        if round % 5 == 0 {
            policy.push_str("[[privacy.skyline]]\nwithin = 3\nk = 1\nconfidence = 0.9\n");
        }
        let out = folder.path(&format!("out{round}"));
        let paths = [path.clone()];
        let run = Run { threads: 1 + round % 3, ..Run::new(&paths, &policy, out.clone()) };
        let limit = ratio(c, 10);
        let worst = |groups: &Groups| {
            starts(groups).into_iter().map(|start| near_breach(groups, width, start, size)).max().unwrap()
        };
        match run.outcome().unwrap() {
            Outcome::Published(_) => {
                published += 1;
                let groups = released(&out);
                assert_eq!(groups.iter().map(Vec::len).sum::<usize>() as u64, people);
                assert!(worst(&groups) < limit, "{policy}\n{table}");
                ends_with(0, &["check", text(&out)]);
            }
            _ if round % 2 == 1 && round % 5 != 0 => {
                let whole = table.lines().map(|row| row.rsplit(',').next().unwrap().parse().ok()).collect();
                assert!(worst(&vec![whole]) >= limit, "{policy}\n{table}");
            }
            _ => {}
        }
    }
    assert!(published > 10, "{published}");
}

#[test]
fn the_knowledge_skyline_of_a_window_is_where_checks_turn() {
    let folder = Folder::new();
    let mut draw = draws(3);
    let groups: Groups = (0..4).map(|_| (0..9).map(|_| Some(draw(40) as i64)).collect()).collect();
    let table = folder.write("t.csv", &csv(&groups));
    let width = Width::Absolute(5);
    let common =
        [&table, "--group", "grp", "--sensitive", "s", "--within", "5", "--confidence", "4/5", "--json"];
    let start = groups[0][0].unwrap();
    let one = skyveil(&[&["skyline"], &common[..], &["--value", &start.to_string()]].concat());
    let safe = |size: [u64; 3]| near_breach(&groups, width, Some(start), size) < ratio(4, 5);
    let found = json(&one);
    let points: Vec<[u64; 3]> = serde_json::from_value(found["points"].clone()).unwrap();
    assert!(!points.is_empty(), "{found}");
    for [l, k, m] in &points {
        assert!(safe([*l, *k, *m]), "{found}");
        assert!(!safe([l + 1, *k, *m]) && !safe([*l, k + 1, *m]) && !safe([*l, *k, m + 1]), "{found}");
    }
    for size in [[0, 0, 0], [1, 0, 0], [0, 3, 0], [0, 1, 3], [2, 1, 0], [1, 2, 1]] {
        let covered = points.iter().any(|point| (0..3).all(|i| size[i] <= point[i]));
        assert_eq!(covered, safe(size), "{size:?} {found}");
    }
    let all = json(&skyveil(&[&["skyline"], &common[..], &["--all"]].concat()));
    assert!(all.as_array().unwrap().len() > 2);
}

#[test]
fn numbers_that_differ_by_one_are_not_diverse() {
    let folder = Folder::new();
    let rows: String = (0..40).map(|i| format!("{},{}\n", i / 10, 25_950 + i)).collect();
    let table = folder.write("t.csv", &format!("grp,pay\n{rows}"));
    let common = ["check", &table, "--group", "grp", "--sensitive", "pay", "--point", "0,0,0,0.5"];
    ends_with(0, &common);
    let told = ends_with(1, &[&common[..], &["--within", "5%"]].concat());
    assert!(
        told.contains("25950 to 25989") && told.contains("0 of 1 points for windows within 5% hold"),
        "{told}"
    );
    ends_with(0, &[&common[..], &["--within", "3"]].concat());
    ends_with(1, &[&common[..], &["--within", "4"]].concat());
}

#[test]
fn what_is_no_number_is_refused_by_its_row() {
    let folder = Folder::new();
    let policy = |within: &str, more: &str| {
        let policy = format!(
            "accept = [\"ends of ranges\"]\n[columns]\nquasi = [\"grp\"]\n[columns.sensitive.s]\n{more}[privacy]\n\
             skyline = [{{ {within}, confidence = 0.9 }}]\n"
        );
        folder.write("p.toml", &policy)
    };
    let refused = |table: &str, policy: &str| {
        let out = folder.text("out");
        let check = ends_with(2, &["check", table, "--policy", policy]);
        assert_eq!(ends_with(2, &["anonymize", table, "--policy", policy, "--out", &out]), check);
        check
    };
    let table = folder.write("t.csv", "grp,s\n1,5\n1,7\n1,abc\n2,9\n2,secret\n");
    let told = refused(&table, &policy("within = 5", ""));
    assert!(told.contains("column `s`: row 3 is not a number") && !told.contains("abc"), "{told}");
    let dates = folder.write("t.csv", "grp,s\n1,2020-01-01\n1,2020-01-02\n1,2020-01-05\n");
    assert!(refused(&dates, &policy("within = 5", "")).contains("holds dates or times"));
    // What null means need not be a number; it is near nothing.
    let table = folder.write("t.csv", "grp,s\n1,5\n1,\n1,7\n1,\n1,9\n");
    let stated = policy("within = 5", "null_is = \"unknown\"\n");
    let found = json(&skyveil(&["check", &table, "--policy", &stated, "--json"]));
    let windows: Vec<_> = found["points"].as_array().unwrap().iter().map(|point| &point["window"]).collect();
    assert_eq!(windows, ["unknown", "5 to 9"], "{found}");
    let out = folder.text("with-nulls");
    ends_with(0, &["anonymize", &table, "--policy", &stated, "--out", &out]);
    ends_with(0, &["check", &out]);
    // A number that null means lies among the others.
    let stated = policy("within = 5", "null_is = \"6\"\n");
    let found = json(&skyveil(&["check", &table, "--policy", &stated, "--json"]));
    assert_eq!(found["points"][0]["window"], "5 to 9");
    assert_eq!(found["points"][0]["breach_exact"], "1");
    for (within, more, why) in [
        ("within = 5, for = [\"5\"]", "", "cannot stand beside for"),
        ("within = 0", "", "is not a width"),
        ("within = \"-5%\"", "", "is not a width"),
        ("within = \"near\"", "", "is not a width"),
    ] {
        let told = ends_with(2, &["check", &table, "--policy", &policy(within, more)]);
        assert!(told.contains(why) && told.contains("privacy.skyline[0].within"), "{told}");
    }
    let sets = format!("values = \"set\"\n{}", "skyline = [{ within = 5, confidence = 0.9 }]\n");
    let sets = folder
        .write("p.toml", &format!("[columns]\nquasi = [\"grp\"]\nsensitive = \"s\"\n[privacy]\n{sets}"));
    assert!(
        ends_with(2, &["check", &table, "--policy", &sets])
            .contains("within is defined where every person has one value")
    );
    let joint = "[columns]\nsensitive = [\"grp\", \"s\"]\njoint = [\"grp\", \"s\"]\nquasi = []\n[privacy]\n\
                 skyline = [{ within = 5, confidence = 0.9 }]\n";
    let joint = folder.write("p.toml", joint);
    let told = ends_with(2, &["check", &table, "--policy", &joint]);
    assert!(told.contains("a joint column holds combinations"), "{told}");
}
