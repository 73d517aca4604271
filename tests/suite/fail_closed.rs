//! A careless policy stops, is loud, or is measured; it is never called safe.

use crate::support::library::{Outcome, Rational, Run, Values, parse_fraction, read, rows};
use crate::support::naive::{self, Row};
use crate::support::{Folder, dataset, draws, json, printed, skyveil, text};
use serde_json::{Value, json};

/// Runs `anonymize`; returns the exit code, standard output and standard error.
fn anonymize(folder: &Folder, table: &str, policy: &str, out: &str, more: &[&str]) -> (i32, String, String) {
    let policy = folder.write(&format!("{out}.toml"), policy);
    let out = folder.text(out);
    let output = skyveil(&[&["anonymize", table, "--policy", &policy, "--out", &out], more].concat());
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(output.status.success(), std::path::Path::new(&out).exists(), "{stderr}");
    (output.status.code().unwrap(), stdout, stderr)
}

/// A table of this many people with columns `q` and `s`, whose values follow `value`.
fn people(folder: &Folder, many: usize, value: impl Fn(usize) -> String) -> String {
    let rows: String = (0..many).map(|i| format!("{},{}\n", i / 4 % 50, value(i))).collect();
    folder.write("people.csv", &format!("q,s\n{rows}"))
}

const COLUMNS: &str = "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\ndomain = [0, 50]\ngrid = 1\n";
const POINT: &str = "[[privacy.skyline]]\nconfidence = 0.9\n";

fn census(accept: &str, privacy: &str) -> String {
    let policy = std::fs::read_to_string(dataset("census.toml")).unwrap();
    let (columns, _) = policy.split_once("[privacy]").unwrap();
    let columns = columns
        .replace("\"census-tract.csv\"", &format!("{:?}", text(&dataset("census-tract.csv"))))
        .replace("\"census-marital.csv\"", &format!("{:?}", text(&dataset("census-marital.csv"))));
    format!("{accept}{columns}{privacy}")
}

#[test]
fn values_that_nothing_protects_stop_the_release() {
    let folder = Folder::new();
    let table = dataset("census.csv");
    let only_one = census("", "[[privacy.skyline]]\nfor = [\"HIV\"]\nconfidence = 0.5\n");
    let (code, _, error) = anonymize(&folder, text(&table), &only_one, "one", &[]);
    assert_eq!(code, 2, "{error}");
    let having =
        std::fs::read_to_string(&table).unwrap().lines().filter(|line| line.contains(",HIV,")).count();
    assert!(
        error.contains("unprotected values") && error.contains(&format!("{} people", 5000 - having)),
        "{error}"
    );
    assert!(
        error.contains("not_sensitive = ") && error.contains("accept = [\"unprotected values\"]"),
        "{error}"
    );
    // What is excepted must be declared, or protected otherwise.
    let excepted = |more: &str| {
        census("", &format!("[[privacy.skyline]]\nexcept = [\"None\"]\nl = 1\nconfidence = 0.5\n{more}"))
    };
    let (code, _, error) = anonymize(&folder, text(&table), &excepted(""), "two", &[]);
    assert!(code == 2 && error.contains("1 value of column \"diagnosis\""), "{error}");
    let otherwise = excepted("[[privacy.skyline]]\nfor = [\"None\"]\nconfidence = 0.9\n");
    let (code, out, error) = anonymize(&folder, text(&table), &otherwise, "three", &[]);
    assert!(code == 0 && out.starts_with("safe release"), "{out}{error}");
    let declared = excepted("").replace(
        "sensitive = \"diagnosis\"",
        "[columns.sensitive.diagnosis]\nnot_sensitive = [\"None\"]\n[columns]",
    );
    let declared = declared
        .replacen("[columns]\n", "", 1)
        .replace("\n[columns]\n", "\n")
        .replace("# person_id", "[columns]\n# person_id");
    let (code, out, error) = anonymize(&folder, text(&table), &declared, "four", &[]);
    assert!(code == 0 && out.starts_with("safe release"), "{out}{error}");
    let manifest = std::fs::read_to_string(folder.path("four/manifest.json")).unwrap();
    assert!(
        manifest.contains("not_sensitive = [\\\"None\\\"]\\n")
            && manifest.contains("except = [\\\"None\\\"]")
    );
    let checked = json(&skyveil(&["check", &folder.text("four"), "--json"]));
    assert_eq!(checked["safe"], true);
    assert!(checked["points"].as_array().unwrap().iter().all(|point| point["value"] != "None"), "{checked}");
}

#[test]
fn group_sizes_alone_are_never_called_safe() {
    let folder = Folder::new();
    let table = dataset("census.csv");
    let table = text(&table);
    let alone = |accept: &str| census(accept, "[privacy]\nk_anonymity = 3\n");
    let (code, _, error) = anonymize(&folder, table, &alone(""), "refused", &[]);
    assert!(code == 2 && error.contains("5000 people"), "{error}");
    let accept = "accept = [\"unprotected values\"]\n";
    let (code, out, _) = anonymize(&folder, table, &alone(accept), "r", &[]);
    let data = rows(&read(&folder.path("r/data"), &["group", "diagnosis"]));
    let certain =
        data.chunk_by(|a, b| a[0] == b[0]).filter(|group| group.iter().all(|row| row[1] == group[0][1]));
    let certain: usize = certain.map(<[_]>::len).sum();
    assert!(certain > 20, "{certain}");
    let words = format!("k-anonymous; the value of {certain} people is certain");
    assert!(code == 0 && out.contains(&words) && !out.contains("safe release"), "{out}");
    let (_, out, _) = anonymize(&folder, table, &alone(accept), "again", &["--json"]);
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["safe"], Value::Null);
    let checked = skyveil(&["check", &folder.text("r")]);
    assert_eq!(checked.status.code(), Some(0), "{}", printed(&checked));
    assert!(
        printed(&checked).contains(&words) && !printed(&checked).starts_with("safe"),
        "{}",
        printed(&checked)
    );
    assert_eq!(json(&skyveil(&["check", &folder.text("r"), "--json"]))["safe"], Value::Null);
    let page = std::fs::read_to_string(folder.path("r/report.html")).unwrap();
    assert!(page.contains(&words) && !page.contains("safe by its policy"));
    // A check by the policy without the acknowledgement says no.
    let policy = folder.write("p.toml", &alone(""));
    let checked = skyveil(&["check", &folder.text("r"), "--policy", &policy, "--json"]);
    assert_eq!((checked.status.code(), &json(&checked)["safe"]), (Some(1), &json!(false)));
}

#[test]
fn names_in_accept_are_a_closed_set() {
    let folder = Folder::new();
    let table = people(&folder, 200, |i| format!("v{}", i % 5));
    let with = |accept: &str| format!("accept = [{accept}]\n{COLUMNS}{POINT}");
    let (code, _, error) = anonymize(&folder, &table, &with("\"lookalike\""), "a", &[]);
    assert!(
        code == 2 && error.contains("line 1") && error.contains("did you mean \"lookalikes\"?"),
        "{error}"
    );
    let (code, _, error) = anonymize(&folder, &table, &with("\"lookalikes\", \"lookalikes\""), "b", &[]);
    assert!(code == 2 && error.contains("listed twice"), "{error}");
    let (code, _, error) = anonymize(&folder, &table, &with("\"lookalikes\""), "c", &[]);
    assert!(code == 0 && error.contains("\"lookalikes\" is not needed"), "{error}");
    assert!(
        std::fs::read_to_string(folder.path("c/manifest.json"))
            .unwrap()
            .contains("accept = [\\\"lookalikes\\\"]")
    );
    let both = format!("{COLUMNS}[[privacy.skyline]]\nfor = [\"v1\"]\nexcept = [\"v2\"]\nconfidence = 0.9\n");
    let (code, _, error) = anonymize(&folder, &table, &both, "d", &[]);
    assert!(code == 2 && error.contains("keep either for or except"), "{error}");
}

#[test]
fn lookalikes_stop_the_release() {
    let folder = Folder::new();
    let ways = ["HIV", "HIV ", "hiv", "Me\u{301}nie\u{300}re", "Ménière", "Flu"];
    let table = people(&folder, 240, |i| ways[i % 6].to_string());
    let (code, _, error) = anonymize(&folder, &table, &format!("{COLUMNS}{POINT}"), "a", &[]);
    assert!(code == 2 && error.contains("lookalikes: 5 values of column \"s\""), "{error}");
    assert!(error.contains("200 people") && !error.contains("HIV"), "{error}");
    let accepted = format!("accept = [\"lookalikes\"]\n{COLUMNS}{POINT}");
    let (code, _, error) = anonymize(&folder, &table, &accepted, "b", &[]);
    assert!(code == 0 && error.contains("accepted: lookalikes"), "{error}");
}

#[test]
fn ids_that_repeat_stop_the_release() {
    let folder = Folder::new();
    let rows = |id: &dyn Fn(usize) -> usize| -> String {
        (0..120).map(|i| format!("{},{},v{}\n", id(i), i / 4, i % 5)).collect()
    };
    let policy = |drop: &str| {
        format!("{COLUMNS}{POINT}")
            .replace("sensitive = \"s\"", &format!("sensitive = \"s\"\ndrop = [{drop:?}]"))
    };
    for (name, id, concerned) in [
        ("patient_id", &(|i: usize| if i < 12 { 0 } else { i }) as &dyn Fn(usize) -> usize, Some("1 person")),
        ("patient_id", &|i| i, None),
        ("code", &|i| i / 2, Some("60 people")),
        ("code", &|i| i / 3, None),
    ] {
        let table = folder.write("t.csv", &format!("{name},q,s\n{}", rows(id)));
        let out = format!("{name}{}", concerned.unwrap_or(""));
        let (code, _, error) = anonymize(&folder, &table, &policy(name), &out, &[]);
        match concerned {
            None => assert_eq!(code, 0, "{error}"),
            Some(people) => {
                assert!(code == 2 && error.contains("repeated ids") && error.contains(people), "{error}");
                assert!(error.contains(&format!("individual = {name:?}")), "{error}");
            }
        }
    }
}

#[test]
fn kept_columns_and_close_numbers_stop_the_release() {
    let folder = Folder::new();
    let rows: String = (0..200).map(|i| format!("{},n{i},{}\n", i / 4, 25_000 + i % 40)).collect();
    let table = folder.write("t.csv", &format!("q,who,s\n{rows}"));
    let policy =
        format!("{COLUMNS}{POINT}").replace("sensitive = \"s\"", "sensitive = \"s\"\nkeep = [\"who\"]");
    let (code, _, error) = anonymize(&folder, &table, &policy, "a", &[]);
    assert!(
        code == 2 && error.contains("distinct numbers") && error.contains("40 different numbers"),
        "{error}"
    );
    let policy = format!("accept = [\"distinct numbers\"]\n{policy}");
    let (code, _, error) = anonymize(&folder, &table, &policy, "b", &[]);
    assert!(code == 2 && error.contains("unique kept values") && error.contains("200 people"), "{error}");
    let both = policy.replace("[\"distinct numbers\"]", "[\"distinct numbers\", \"unique kept values\"]");
    let (code, _, error) = anonymize(&folder, &table, &both, "c", &[]);
    assert!(code == 0 && error.matches("accepted: ").count() == 2, "{error}");
}

#[test]
fn numbers_with_a_comma_stop_the_release() {
    let folder = Folder::new();
    let table = |cost: &dyn Fn(usize) -> String| {
        let rows: String = (0..200).map(|i| format!("{};{}\n", i / 4, cost(i % 40))).collect();
        folder.write("t.csv", &format!("q;s\n{rows}"))
    };
    let policy =
        format!("{COLUMNS}{POINT}").replace("sensitive = \"s\"", "sensitive = \"s\"\ndelimiter = \";\"");
    let (code, _, error) = anonymize(&folder, &table(&|i| format!("-1.{:03},50", i)), &policy, "a", &[]);
    assert!(code == 2 && error.contains("40 different numbers with a comma"), "{error}");
    // The comma may stand before decimals or between thousands: the remedy must not turn 12,345 into 12.345.
    let (code, _, error) = anonymize(&folder, &table(&|i| format!("12,{i:03}")), &policy, "a", &[]);
    assert!(code == 2 && error.contains("40 different numbers with a comma"), "{error}");
    assert!(error.contains(
        "write a point where the comma stands before decimals, and nothing where it separates thousands"
    ));
    let accepted = format!("accept = [\"distinct numbers\"]\n{policy}");
    let (code, _, error) = anonymize(&folder, &table(&|i| format!("{i},5")), &accepted, "b", &[]);
    assert_eq!(code, 0, "{error}");
    let (code, _, error) = anonymize(&folder, &table(&|i| format!("E{i},5")), &policy, "c", &[]);
    assert_eq!(code, 0, "{error}");
}

#[test]
fn ends_that_show_where_people_are_stop_the_release() {
    let folder = Folder::new();
    let rows: String = (0..1200)
        .map(|i| format!("{},{}.5,2020-01-{:02},n{:03},v{}\n", i % 90, i % 70, 1 + i % 28, i % 300, i % 5))
        .collect();
    let table = folder.write("t.csv", &format!("age,size,day,name,s\n{rows}"));
    let policy = |age: &str, name: &str| {
        format!(
            "[columns]\nsensitive = \"s\"\n[columns.quasi.age]\n{age}\n[columns.quasi.size]\n{age}\n\
             [columns.quasi.day]\ngrid = \"month\"\n[columns.quasi.name]\n{name}\n[privacy]\nk_anonymity = 5\n{POINT}"
        )
    };
    let prefix = "prefix = [3, 2]";
    let (code, _, error) = anonymize(&folder, &table, &policy("", prefix), "a", &[]);
    assert!(code == 2 && error.contains("ends of ranges") && error.contains("1200 people"), "{error}");
    assert!(error.contains("columns \"age\", \"size\"") && error.contains("[columns.quasi.age]"), "{error}");
    assert!(!error.contains("\"day\"") && !error.contains("\"name\""), "{error}");
    let (code, _, error) = anonymize(&folder, &table, &policy("domain = [0, 100]", ""), "b", &[]);
    assert!(code == 2 && error.contains("column \"name\"") && error.contains("prefix = "), "{error}");
    assert!(!error.contains("age"), "{error}");
    for (stated, out) in [("domain = [0, 100]", "c"), ("grid = 1", "d"), ("levels = [10, 50]", "e")] {
        let (code, _, error) = anonymize(&folder, &table, &policy(stated, prefix), out, &[]);
        assert!(code == 0 && !error.contains("accepted"), "{stated}: {error}");
    }
    let accepted = format!("accept = [\"ends of ranges\"]\n{}", policy("", ""));
    let (code, _, error) = anonymize(&folder, &table, &accepted, "f", &[]);
    assert!(code == 0 && error.matches("accepted: ends of ranges").count() == 2, "{error}");
    // Exact values have no ends.
    let exact = policy("", "") + "[publish]\nstyle = \"bucketized\"\n";
    assert_eq!(anonymize(&folder, &table, &exact, "g", &[]).0, 0);
}

#[test]
fn a_cell_that_is_no_number_is_named_by_its_row() {
    let folder = Folder::new();
    let rows: String = (0..100)
        .map(|i| format!("{},v{}\n", if i == 70 { "abc".into() } else { i.to_string() }, i % 5))
        .collect();
    let table = folder.write("t.csv", &format!("q,s\n{rows}"));
    for shape in ["domain = [0, 100]", "levels = [10, 50]", "ends = [10, 50]"] {
        let policy = format!("[columns]\nsensitive = \"s\"\n[columns.quasi.q]\n{shape}\n{POINT}");
        let (code, _, error) = anonymize(&folder, &table, &policy, "a", &[]);
        assert!(
            code == 2 && error.contains("row 71 after the header") && error.contains("`q`"),
            "{shape}: {error}"
        );
        assert!(!error.contains("abc"), "{error}");
    }
    let table =
        folder.write("d.csv", &format!("q,s\n{}", rows.replace("abc,", "x,").replace(",v", "-01-01,v")));
    let policy = format!("[columns]\nsensitive = \"s\"\n[columns.quasi.q]\ndates = [\"year\"]\n{POINT}");
    let (code, _, error) = anonymize(&folder, &table, &policy, "a", &[]);
    assert!(code == 2 && error.contains("as date"), "{error}");
}

#[test]
fn a_first_line_of_data_is_not_printed() {
    let folder = Folder::new();
    let table = folder.write("t.csv", "Ann Smith,34,HIV\nBob Jones,35,Flu\n");
    let policy = "[columns]\nsensitive = \"s\"\ndrop = [\"name\"]\n[columns.quasi.q]\n";
    for types in ["", "types = { q = \"integer\" }\n"] {
        let policy = policy.replace("drop", &format!("{types}drop"));
        let (code, _, error) = anonymize(&folder, &table, &format!("{policy}{POINT}"), "a", &[]);
        assert!(code == 2 && error.contains("no header"), "{error}");
        for cell in ["Ann", "34", "HIV"] {
            assert!(!error.contains(cell), "{error}");
        }
    }
}

#[test]
fn a_misspelt_value_is_an_error_and_an_absent_one_a_note() {
    let folder = Folder::new();
    let table = people(&folder, 200, |i| ["HIV", "Flu", "Ulcer", "None"][i % 4].to_string());
    let policy = |value: &str| {
        let every = "[[privacy.skyline]]\nconfidence = 0.9\n";
        format!("{COLUMNS}{every}[[privacy.skyline]]\nfor = [{value:?}]\nconfidence = 0.8\n")
    };
    for misspelt in ["hiv", "HIV ", "HVI", "Ulcr"] {
        let written = folder.write("p.toml", &policy(misspelt));
        let checked = skyveil(&["check", &table, "--policy", &written]);
        let error = printed(&checked);
        assert_eq!(checked.status.code(), Some(2), "{error}");
        assert!(
            error.contains("`for`") && error.contains("nearly the same") && error.contains(misspelt),
            "{error}"
        );
        let (code, _, error) = anonymize(&folder, &table, &policy(misspelt), "a", &[]);
        assert!(code == 2 && error.contains("nearly the same"), "{error}");
    }
    let (code, _, error) = anonymize(&folder, &table, &policy("Tuberculosis"), "b", &[]);
    assert!(code == 0 && error.contains("\"Tuberculosis\""), "{error}");
    let checked = skyveil(&["check", &folder.text("b")]);
    assert!(checked.status.code() == Some(0) && printed(&checked).contains("warning: the policy protects"));
}

#[test]
fn columns_of_nulls_and_long_confidences_are_taken() {
    let folder = Folder::new();
    let rows: String = (0..60).map(|i| format!("{},,v{}\n", i / 4, i % 5)).collect();
    let table = folder.write("t.csv", &format!("q,nothing,s\n{rows}"));
    for shape in ["levels = [5, 10]", "ends = [5, 10]", "dates = [\"year\"]", "prefix = [2]"] {
        let policy = format!("{COLUMNS}[columns.quasi.nothing]\n{shape}\n{POINT}");
        let (code, _, error) = anonymize(&folder, &table, &policy, &shape[..4], &[]);
        assert_eq!(code, 0, "{shape}: {error}");
    }
    let table = people(&folder, 200, |i| format!("v{}", i % 5));
    let policy =
        |digits: usize| format!("{COLUMNS}[[privacy.skyline]]\nconfidence = 0.{}\n", "7".repeat(digits));
    assert_eq!(anonymize(&folder, &table, &policy(400), "long", &[]).0, 0);
    let (code, _, error) = anonymize(&folder, &table, &policy(2000), "longer", &[]);
    assert!(code == 2 && error.contains("at most 1000"), "{error}");
}

#[test]
fn what_is_not_covered_is_said_in_a_line_and_on_the_page() {
    let folder = Folder::new();
    let table = people(&folder, 200, |i| format!("v{}", i % 5));
    let (code, out, _) = anonymize(&folder, &table, &format!("{COLUMNS}{POINT}"), "a", &[]);
    let line = "not covered: identity, membership, several releases, replays, closeness of numbers; this is not differential privacy";
    assert!(code == 0 && out.lines().any(|own| own == line), "{out}");
    let page = std::fs::read_to_string(folder.path("a/report.html")).unwrap();
    assert!(page.contains("What is covered, and what is not?") && page.contains("not differential privacy"));
    let with_size = format!("{COLUMNS}[privacy]\nk_anonymity = 4\n{POINT}");
    let (_, out, _) = anonymize(&folder, &table, &with_size, "b", &[]);
    assert!(out.contains("not covered: membership, several releases, replays"), "{out}");
}

const VALUES: [&str; 5] = ["ague", "boils", "cough", "dropsy", "eczema"];

/// A random point: the values that it names, how, its knowledge and its confidence.
struct RandomPoint {
    named: Vec<&'static str>,
    is_exception: bool,
    size: [u64; 3],
    confidence: &'static str,
}

impl RandomPoint {
    fn covers(&self, value: &str) -> bool {
        self.named.is_empty() || self.named.contains(&value) != self.is_exception
    }

    fn text(&self) -> String {
        let [l, k, m] = self.size;
        let named = match (self.named.is_empty(), self.is_exception) {
            (true, _) => String::new(),
            (false, true) => format!("except = {:?}\n", self.named),
            (false, false) => format!("for = {:?}\n", self.named),
        };
        format!("[[privacy.skyline]]\n{named}l = {l}\nk = {k}\nm = {m}\nconfidence = {}\n", self.confidence)
    }
}

fn subset(pick: &mut impl FnMut(u64) -> u64) -> Vec<&'static str> {
    VALUES.into_iter().filter(|_| pick(3) == 0).collect()
}

/// Whatever is called safe passes a recount of every value that is not declared harmless.
#[test]
fn safe_releases_pass_a_recount_of_every_value() {
    let folder = tempfile::tempdir().unwrap();
    let (mut safe, mut stopped, mut accepted) = (0, 0, 0);
    for seed in 0..160 {
        let mut pick = draws(seed);
        let rare = pick(4) + 1;
        let table = folder.path().join("t.csv");
        let people: String = (0..40 + pick(80))
            .map(|_| format!("{},{}\n", pick(12), VALUES[pick(5).min(pick(5 * rare) / rare) as usize]))
            .collect();
        std::fs::write(&table, format!("q,s\n{people}")).unwrap();
        let points: Vec<RandomPoint> = (0..pick(3))
            .map(|_| RandomPoint {
                named: subset(&mut pick),
                is_exception: pick(2) == 0,
                size: [pick(2), pick(2), pick(2)],
                confidence: ["0.7", "0.9", "1"][pick(3) as usize],
            })
            .collect();
        let harmless = subset(&mut pick);
        let accepts = pick(4) == 0;
        let policy = format!(
            "{}[columns]\nquasi = {{ q = {{ domain = [0, 12], grid = 1 }} }}\n[columns.sensitive.s]\nnot_sensitive = {harmless:?}\n\
             [privacy]\nk_anonymity = {}\n{}",
            if accepts { "accept = [\"unprotected values\"]\n" } else { "" },
            2 + pick(4),
            points.iter().map(RandomPoint::text).collect::<String>()
        );
        let out = folder.path().join(format!("out{seed}"));
        let paths = [table.clone()];
        let summary = match Run::new(&paths, &policy, out.clone()).outcome() {
            Ok(Outcome::Published(summary)) => summary,
            Ok(_) => continue,
            Err(why) => {
                assert!(why.to_string().contains("unprotected values"), "{policy}\n{why}");
                stopped += 1;
                continue;
            }
        };
        let published: Vec<Row> = rows(&read(&out.join("data"), &["group", "s"]))
            .iter()
            .zip(0..)
            .map(|(row, person)| {
                let value = VALUES.into_iter().find(|value| *value == row[1]).unwrap();
                (person, row[0].parse().unwrap(), vec![value])
            })
            .collect();
        let groups = naive::groups(&published, Values::Single);
        let occurs = |value: &str| groups.values().any(|(_, counts)| counts.contains_key(value));
        let bare = VALUES
            .into_iter()
            .filter(|value| occurs(value) && !harmless.contains(value))
            .filter(|value| !points.iter().any(|point| point.covers(value)));
        let bare: Vec<&str> = bare.collect();
        match summary.safe {
            Some(true) => {
                safe += 1;
                assert!(bare.is_empty(), "{policy}\n{bare:?}");
                for value in VALUES.into_iter().filter(|value| !harmless.contains(value) && occurs(value)) {
                    for point in points.iter().filter(|point| point.covers(value)) {
                        let breach = naive::breach(&groups, Values::Single, value, point.size);
                        assert!(
                            breach < parse_fraction(point.confidence).unwrap(),
                            "{policy}\n{value} {breach}"
                        );
                    }
                    assert!(naive::breach(&groups, Values::Single, value, [0; 3]) < Rational::ONE);
                }
            }
            told => {
                accepted += 1;
                assert!(told.is_none() && accepts && !bare.is_empty(), "{policy}");
                let certain = groups
                    .values()
                    .filter(|(people, counts)| bare.iter().any(|value| counts.get(value) == Some(people)));
                let certain: u64 = certain.map(|(people, _)| people).sum();
                let noun = if certain == 1 { "person" } else { "people" };
                let words = format!("k-anonymous; the value of {certain} {noun} is certain");
                assert_eq!(summary.unprotected, Some(words), "{policy}");
            }
        }
    }
    assert!(safe > 15 && stopped > 15 && accepted > 5, "{safe} {stopped} {accepted}");
}
