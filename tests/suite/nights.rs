//! Releases that are continued: what later nights publish, what waits, and what is noticed.

use crate::support::{Folder, contents, draws, json, printed, skyveil_in};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Output;

const POLICY: &str = "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\ndomain = [0, 100]\n[privacy]\n\
                      k_anonymity = 2\nl_diversity = { c = 3, l = 2 }\n[nights]\nperson = \"name\"\nbatch = 20\n";

/// A person: name, number, sensitive value.
type Person = (u32, u32, &'static str);

/// People whose values are spread well enough for small groups.
fn people(names: std::ops::Range<u32>) -> Vec<Person> {
    let value = |i: u32| ["flu", "cold", "asthma", "none"][(i * 7 % 11 % 4) as usize];
    names.map(|i| (i, i * 37 % 97, value(i))).collect()
}

struct Place(Folder);

impl Place {
    /// A first night of these people.
    fn new(policy: &str, first: &[Person]) -> Self {
        let place = Place(Folder::new());
        place.0.write("p.toml", policy);
        place.table(first);
        place.ends_with(0, &["anonymize", "t.csv", "--policy", "p.toml", "--out", "r"]);
        place
    }

    fn table(&self, people: &[Person]) {
        let rows = people.iter().map(|(name, q, s)| format!("{name},{q},{s}\n"));
        self.0.write("t.csv", &format!("name,q,s\n{}", rows.collect::<String>()));
    }

    fn run(&self, arguments: &[&str]) -> Output {
        skyveil_in(&self.0.path(""), arguments)
    }

    #[track_caller]
    fn ends_with(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{}", printed(&output));
        printed(&output)
    }

    #[track_caller]
    fn night(&self, code: i32, people: &[Person]) -> Value {
        self.table(people);
        let output = self.run(&["anonymize", "t.csv", "--policy", "p.toml", "--append", "r", "--json"]);
        assert_eq!(output.status.code(), Some(code), "{}", printed(&output));
        json(&output)
    }

    fn release(&self) -> BTreeMap<String, Vec<u8>> {
        contents(&self.0.path("r"))
    }

    fn check(&self) -> Value {
        let output = self.run(&["check", "r", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
        json(&output)
    }
}

#[test]
fn newcomers_become_groups_of_their_own_and_the_union_is_safe() {
    let place = Place::new(POLICY, &people(0..60));
    let first = place.release();
    // Ten were published before.
    let night = place.night(0, &people(50..90));
    assert_eq!((&night["night"], &night["records"], &night["known"]), (&2.into(), &30.into(), &10.into()));
    let second = place.release();
    assert!(
        first.iter().all(|(path, bytes)| second.get(path) == Some(bytes)),
        "published files stay as they are"
    );
    let all = place.check();
    assert_eq!((&all["safe"], &all["records"]), (&true.into(), &90.into()));
    place.night(0, &people(90..130));
    assert_eq!(place.check()["records"], 130);
    for (night, records) in [("1", 60), ("2", 30), ("3", 40)] {
        let output = place.run(&["check", "r", "--night", night, "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
        assert_eq!(json(&output)["records"], records);
    }
    let alone = place.ends_with(2, &["check", "r", "--night", "4"]);
    assert!(alone.contains("has no night 4"), "{alone}");
}

#[test]
fn the_same_history_gives_the_same_bytes_in_any_order_and_with_any_threads() {
    let places = [0, 1].map(|turned| {
        let place = Place::new(POLICY, &people(0..60));
        for newcomers in [60..75, 75..90, 90..130] {
            let mut newcomers = people(newcomers);
            if turned == 1 {
                newcomers.reverse();
            }
            place.night(0, &newcomers);
        }
        place
    });
    let [one, other] = places.each_ref().map(Place::release);
    assert!(one == other);
}

#[test]
fn a_night_publishes_by_number_and_everybody_waits_until_then() {
    let place = Place::new(POLICY, &people(0..60));
    let first = place.release();
    let waiting = place.night(0, &people(60..70));
    assert_eq!((&waiting["waiting"], &waiting["waiting_for"]), (&10.into(), &"others".into()));
    assert_eq!(place.release(), first, "nothing of it is visible");
    let file = std::fs::read(place.0.path("r.pending")).unwrap();
    assert!(!file.windows(6).any(|bytes| bytes == b"asthma"), "it is encrypted");
    #[cfg(unix)]
    for private in ["r.pending", "r.ledger"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(place.0.path(private)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{private}");
    }
    // Nobody new: nothing changes, not even the file of those who wait.
    let nothing = place.night(0, &people(0..70));
    assert_eq!((&nothing["night"], &nothing["waiting"]), (&Value::Null, &10.into()));
    assert_eq!(std::fs::read(place.0.path("r.pending")).unwrap(), file);
    let night = place.night(0, &people(65..80));
    assert_eq!((&night["night"], &night["records"]), (&2.into(), &20.into()));
    assert!(!place.0.path("r.pending").exists());
    assert_eq!(place.check()["records"], 80);
}

#[test]
fn a_batch_that_is_not_safe_waits_and_needs_an_acknowledgement() {
    let place = Place::new(POLICY, &people(0..60));
    let same: Vec<Person> = (100..120).map(|i| (i, i % 97, "flu")).collect();
    let waiting = place.night(1, &same);
    assert_eq!((&waiting["waiting"], &waiting["waiting_for"]), (&20.into(), &"safety".into()));
    // Others who would make it safe do not undo that they waited because of their values.
    let waiting = place.night(1, &people(120..180));
    assert_eq!((&waiting["waiting"], &waiting["waiting_for"]), (&80.into(), &"acknowledgement".into()));
    assert_eq!(place.check()["records"], 60);
    place.0.write("p.toml", &format!("accept = [\"waited by values\"]\n{POLICY}"));
    let night = place.night(0, &people(0..10));
    assert_eq!(night["records"], 80);
    assert_eq!(place.check()["records"], 140);
    let page = std::fs::read_to_string(place.0.path("r/nights/00002/report.html")).unwrap();
    assert!(page.contains("what that tells is not covered"));
    let receipt = std::fs::read_to_string(place.0.path("r.night-00002.receipt.json")).unwrap();
    assert!(receipt.contains("waited because of their values"), "{receipt}");
}

#[test]
fn a_changed_value_or_a_second_row_is_an_error() {
    let place = Place::new(POLICY, &people(0..60));
    let before = place.release();
    let mut changed = people(50..90);
    changed[0].2 = if changed[0].2 == "flu" { "cold" } else { "flu" };
    place.table(&changed);
    let append = ["anonymize", "t.csv", "--policy", "p.toml", "--append", "r"];
    let message = place.ends_with(2, &append);
    assert!(message.contains("1 person was published before"), "{message}");
    place.table(&[people(60..90), people(60..61)].concat());
    let message = place.ends_with(2, &append);
    assert!(message.contains("1 newcomer is in several rows"), "{message}");
    place.0.write("p.toml", &POLICY.replace("batch", "again = \"refuse\"\nbatch"));
    place.table(&people(60..90));
    let message = place.ends_with(2, &append);
    assert!(message.contains("was made by another policy"), "{message}");
    assert_eq!(place.release(), before);
    let twice = Place(Folder::new());
    twice.0.write("p.toml", POLICY);
    twice.table(&[people(0..60), people(0..1)].concat());
    let message = twice.ends_with(2, &["anonymize", "t.csv", "--policy", "p.toml", "--out", "r"]);
    assert!(message.contains("1 person is in several rows"), "{message}");
    assert!(!twice.0.path("r").exists() && !twice.0.path("r.ledger").exists());
}

#[test]
fn a_lost_a_foreign_and_a_damaged_ledger_are_noticed() {
    let place = Place::new(POLICY, &people(0..60));
    let ledger = place.0.path("r.ledger");
    let own = std::fs::read(&ledger).unwrap();
    assert_eq!((own.len() - 32) % 32, (own.len() - 60 * 32) % 32);
    let append = ["anonymize", "t.csv", "--policy", "p.toml", "--append", "r"];
    place.night(0, &people(60..90));
    let later = std::fs::read(&ledger).unwrap();
    place.table(&people(90..130));
    std::fs::write(&ledger, &own).unwrap();
    let message = place.ends_with(2, &append);
    assert!(
        message.contains("is the ledger of night 1 of a release, not of night 2 of this one"),
        "{message}"
    );
    std::fs::remove_file(&ledger).unwrap();
    assert!(place.ends_with(2, &append).contains("without it nobody knows who was published"));
    let mut damaged = later.clone();
    let middle = damaged.len() - 100;
    damaged[middle] ^= 1;
    std::fs::write(&ledger, &damaged).unwrap();
    assert!(place.ends_with(2, &append).contains("is damaged, or was written with another key"));
    std::fs::write(&ledger, &later[..later.len() - 1]).unwrap();
    assert!(place.ends_with(2, &append).contains("is damaged"));
    let other = Place::new(POLICY, &people(0..60));
    other.night(0, &people(60..90));
    std::fs::copy(other.0.path("r.ledger"), &ledger).unwrap();
    assert!(place.ends_with(2, &append).contains("is damaged, or was written with another key"));
    std::fs::write(&ledger, &later).unwrap();
    assert_eq!(place.night(0, &people(90..130))["night"], 3);
}

#[test]
fn a_chain_that_was_altered_is_not_called_safe() {
    let place = Place::new(POLICY, &people(0..60));
    place.night(0, &people(60..90));
    place.night(0, &people(90..120));
    let manifest = place.0.path("r/nights/00002/manifest.json");
    let own = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, own.replace("\"records\": 30", "\"records\": 31")).unwrap();
    let message = place.ends_with(1, &["check", "r"]);
    assert!(message.contains("it does not continue the night before it"), "{message}");
    assert!(message.contains("`records` of all nights does not agree with the rows"), "{message}");
    std::fs::write(&manifest, own).unwrap();
    place.ends_with(0, &["check", "r"]);
    std::fs::write(place.0.path("r/nights/00003/data/part-00001.parquet"), "x").unwrap();
    place.ends_with(1, &["check", "r"]);
    std::fs::remove_file(place.0.path("r/nights/00003/data/part-00001.parquet")).unwrap();
    std::fs::remove_dir_all(place.0.path("r/nights/00002")).unwrap();
    assert!(place.ends_with(2, &["check", "r"]).contains("night 2 is missing"));
}

#[test]
fn what_compares_with_the_whole_table_is_refused() {
    let place = Place(Folder::new());
    place.table(&people(0..60));
    for (rule, reason) in [
        ("t_closeness = { t = 0.3 }", "compares groups with the whole table"),
        (
            "model = \"beliefs\"\nbeliefs = [{ bandwidth = 0.3, t = 0.2 }]",
            "compares groups with the whole table",
        ),
    ] {
        place.0.write("p.toml", &POLICY.replace("l_diversity = { c = 3, l = 2 }", rule));
        let message = place.ends_with(2, &["anonymize", "t.csv", "--policy", "p.toml", "--out", "r"]);
        assert!(message.contains(reason), "{message}");
    }
    place.0.write(
        "p.toml",
        &POLICY.replace("person = \"name\"\n", "").replace("[columns]", "[columns]\ndrop = [\"name\"]"),
    );
    let message = place.ends_with(2, &["anonymize", "t.csv", "--policy", "p.toml", "--out", "r"]);
    assert!(message.contains("unchecked newcomers"), "{message}");
}

/// Every night's groups are judged beside all others: the union of random histories satisfies the policy, whatever the
/// knowledge about several groups at once.
#[test]
fn random_histories_stay_safe_together() {
    let policy = "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\ndomain = [0, 100]\n[privacy]\n\
                  skyline = [{ l = 1, k = 1, m = 2, confidence = 0.9 }]\n[nights]\nperson = \"name\"\nbatch = 12\n";
    for seed in 0..4u64 {
        let mut random = draws(seed + 100);
        let mut draw = move |below: u64| random(below) as u32;
        let value = |draw: &mut dyn FnMut(u64) -> u32| ["a", "b", "c", "d", "e"][draw(5) as usize];
        let mut next = 60;
        let first: Vec<Person> = (0..60).map(|i| (i, draw(97), value(&mut draw))).collect();
        let place = Place::new(policy, &first);
        let mut known = first;
        for _ in 0..6 {
            let newcomers = draw(30);
            let mut table: Vec<Person> =
                (next..next + newcomers).map(|i| (i, draw(97), value(&mut draw))).collect();
            next += newcomers;
            let before = place.release();
            let again: Vec<Person> = known.iter().filter(|_| draw(4) == 0).copied().collect();
            known.extend(&table);
            table.extend(again);
            place.table(&table);
            let output = place.run(&["anonymize", "t.csv", "--policy", "p.toml", "--append", "r"]);
            let code = output.status.code().unwrap();
            assert!(code < 2, "{}", printed(&output));
            let after = place.release();
            assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)));
            place.ends_with(0, &["check", "r"]);
            if code == 1 {
                break;
            }
        }
    }
}

#[test]
fn whoever_leaves_takes_the_whole_group_along_for_good() {
    let place = Place::new(POLICY, &people(0..60));
    place.night(0, &people(60..90));
    place.night(0, &people(90..95));
    let before = place.release();
    let count = |arguments: &[&str]| -> Value {
        let output = place.run(&[&["erase", "r", "--people", "leavers.csv", "--json"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
        json(&output)
    };
    place.0.write("leavers.csv", "name\n7\n65\n92\n1000\n");
    let dry = count(&["--dry-run"]);
    assert_eq!(place.release(), before, "a dry run changes nothing");
    assert_eq!((&dry["named"], &dry["published"], &dry["waiting"]), (&4.into(), &2.into(), &1.into()));
    assert_eq!(dry["groups"], 2);
    let gone = dry["people"].as_u64().unwrap();
    assert!(gone >= 4);
    let erased = count(&[]);
    assert_eq!((&erased["people"], &erased["night"]), (&dry["people"], &3.into()));
    assert_eq!(place.check()["records"], 90 - gone);
    for night in ["1", "2"] {
        place.ends_with(0, &["check", "r", "--night", night]);
    }
    assert!(place.ends_with(2, &["check", "r", "--night", "3"]).contains("has no night 3"));
    // Nobody of the withdrawn groups comes back, and a second erasure finds nothing.
    let night = place.night(0, &people(0..115));
    assert_eq!((&night["night"], &night["known"]), (&4.into(), &90.into()));
    // 95 to 115 are new, 90, 91, 93 and 94 waited, and 92 is back.
    assert_eq!(night["records"], 25);
    assert_eq!(place.check()["records"], 90 - gone + 25);
    let again = count(&[]);
    assert_eq!((&again["withdrawn_before"], &again["published"]), (&2.into(), &1.into()));
    let changed: Vec<String> = place
        .release()
        .into_iter()
        .filter(|(path, bytes)| before.get(path) != Some(bytes))
        .map(|(path, _)| path)
        .collect();
    assert!(
        changed.iter().all(|path| !path.ends_with("manifest.json") || path.contains("nights/0000")),
        "{changed:?}"
    );
}

#[test]
fn a_person_who_is_nowhere_changes_nothing() {
    let place = Place::new(POLICY, &people(0..60));
    let before = place.release();
    place.0.write("leavers.csv", "id\n5000\n");
    place.ends_with(0, &["erase", "r", "--people", "leavers.csv"]);
    assert_eq!(place.release(), before);
    place.0.write("leavers.csv", "id,other\n5000,1\n");
    assert!(place.ends_with(2, &["erase", "r", "--people", "leavers.csv"]).contains("has no column `name`"));
    place.0.write("leavers.csv", "id\nsomebody\n");
    assert!(place.ends_with(2, &["erase", "r", "--people", "leavers.csv"]).contains("has another type"));
}

#[test]
fn releases_that_are_published_again_give_people_away_and_nights_do_not() {
    let place = Place::new(POLICY, &people(0..60));
    std::fs::copy(place.0.path("t.csv"), place.0.path("one.csv")).unwrap();
    place.table(&people(0..61));
    place.ends_with(0, &["anonymize", "t.csv", "--policy", "p.toml", "--out", "again"]);
    let attack = |arguments: &[&str]| -> Value {
        let output = place.run(&[&["attack"], arguments, &["--person", "name", "--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
        json(&output)
    };
    let both = attack(&["r", "again", "--original", "one.csv", "t.csv"]);
    assert_eq!(both["people"], 61);
    assert_eq!(both["after"][0]["certain"], 0, "{both}");
    // The newcomer is the only one who is new in their group.
    assert!(both["after"][1]["certain"].as_u64().unwrap() >= 1, "{both}");
    assert_eq!(both["first_exposing"], 2);
    // Tables of anybody: who moved, and to where.
    place.0.write("a.csv", "p,g,s\nA,1,s\nB,1,a\nC,2,b\nD,2,c\n");
    place.0.write("b.csv", "p,g,s\nA,1,s\nC,1,b\nB,2,a\nD,2,c\n");
    let output = place.run(&[
        "attack",
        "a.csv",
        "b.csv",
        "--person",
        "p",
        "--group",
        "g",
        "--sensitive",
        "s",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert_eq!(
        (&json(&output)["after"][0]["certain"], &json(&output)["after"][1]["certain"]),
        (&0.into(), &4.into())
    );
}
