//! Whoever leaves a release that is continued.

use super::place::{POLICY, Person, Place, people};
use crate::support::Folder;
use serde_json::Value;

#[test]
fn whoever_leaves_takes_the_whole_group_along_for_good() {
    let place = Place::new(POLICY, &people(0..60));
    place.night(0, &people(60..90));
    place.night(0, &people(90..95));
    let before = place.release();
    let count = |arguments: &[&str]| -> Value {
        place.answer(&[&["erase", "r", "--people", "leavers.csv"], arguments].concat())
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
fn the_last_group_is_not_erased() {
    for format in ["csv", "parquet"] {
        let place = Place(Folder::new());
        place.0.write("p.toml", &format!("{POLICY}[publish]\nformat = \"{format}\"\n"));
        place.table(&two_groups());
        place.ends_with(0, &["anonymize", "t.csv", "--policy", "p.toml", "--out", "r"]);
        let before = place.release();
        place.0.write("leavers.csv", "name\n3\n33\n");
        let message = place.ends_with(2, &["erase", "r", "--people", "leavers.csv"]);
        assert!(message.contains("nobody would be left in the release"), "{message}");
        assert_eq!(place.release(), before);
    }
}

/// 40 people in two cells, so in two groups; the values go round.
fn two_groups() -> Vec<Person> {
    let value = |i: u32| ["flu", "cold", "asthma", "none"][(i % 4) as usize];
    (0..40).map(|i| (i, if i < 20 { 10 } else { 90 }, value(i))).collect()
}

#[test]
fn a_group_is_replaced_by_those_who_stay_only_if_both_parts_pass_and_the_policy_accepts_it() {
    let replace = POLICY.replace("batch", "erase = \"replace\"\nbatch");
    let refused = Place(Folder::new());
    refused.0.write("p.toml", &replace);
    refused.table(&two_groups());
    let message = refused.ends_with(2, &["anonymize", "t.csv", "--policy", "p.toml", "--out", "r"]);
    assert!(message.contains("replaced groups") && message.contains("erase = \"withdraw\""), "{message}");
    let accepted = format!("accept = [\"replaced groups\"]\n{replace}");
    let place = Place::new(&accepted, &two_groups());
    assert_eq!(place.check()["groups"], 2);
    // Four people of the first group with four values pass as a group; one person of the second does not.
    place.0.write("leavers.csv", "name\n0\n1\n2\n3\n30\n");
    let erase = ["erase", "r", "--people", "leavers.csv"];
    let dry = place.answer(&[&erase[..], &["--dry-run"]].concat());
    assert_eq!((&dry["groups"], &dry["replaced"], &dry["people"]), (&1.into(), &1.into(), &24.into()));
    let message = place.ends_with(0, &erase);
    assert!(
        message.contains("replaced             1 group, by those who stay; what that tells is not covered"),
        "{message}"
    );
    let left = place.check();
    assert_eq!((&left["records"], &left["groups"], &left["safe"]), (&16.into(), &1.into(), &true.into()));
    let page = std::fs::read_to_string(place.0.path("r/nights/00002/report.html")).unwrap();
    assert!(page.contains("may have been replaced or withdrawn because of their values"));
    // Whoever left is not published again, nor are those who were withdrawn with them.
    let night = place.night(0, &[two_groups(), people(100..130)].concat());
    assert_eq!((&night["known"], &night["records"]), (&40.into(), &30.into()));
    // One more person alone: the rest of the group goes.
    place.0.write("leavers.csv", "name\n4\n");
    let gone = place.answer(&erase);
    assert_eq!((&gone["groups"], &gone["replaced"], &gone["people"]), (&1.into(), &0.into(), &16.into()));
    assert_eq!(place.check()["records"], 30);
}

#[test]
fn rows_that_tell_whose_they_are_cannot_be_replaced() {
    let place = Place(Folder::new());
    place.table(&two_groups());
    let policy =
        format!("accept = [\"replaced groups\"]\n{}", POLICY.replace("batch", "erase = \"replace\"\nbatch"));
    place.0.write("p.toml", &format!("{policy}[publish]\nstyle = \"bucketized\"\n"));
    let message = place.ends_with(2, &["anonymize", "t.csv", "--policy", "p.toml", "--out", "r"]);
    assert!(
        message.contains("erase = \"replace\" needs rows of which nobody can say whose they are"),
        "{message}"
    );
}
