//! What later nights publish, what waits, and what is noticed.

use super::place::{APPEND, POLICY, Person, Place, people};
use crate::support::{Folder, draws, printed};
use serde_json::Value;

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
        assert_eq!(place.answer(&["check", "r", "--night", night])["records"], records);
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
    let message = place.ends_with(2, &APPEND);
    assert!(message.contains("1 person was published before"), "{message}");
    place.table(&[people(60..90), people(60..61)].concat());
    let message = place.ends_with(2, &APPEND);
    assert!(message.contains("1 newcomer is in several rows"), "{message}");
    place.0.write("p.toml", &POLICY.replace("batch", "again = \"refuse\"\nbatch"));
    place.table(&people(60..90));
    let message = place.ends_with(2, &APPEND);
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
fn people_who_were_published_before_may_stop_a_night() {
    let place = Place::new(&POLICY.replace("batch", "again = \"refuse\"\nbatch"), &people(0..60));
    let before = place.release();
    place.table(&people(57..90));
    let message = place.ends_with(2, &APPEND);
    assert!(
        message.contains("3 people were published before") && message.contains("again = \"skip\""),
        "{message}"
    );
    assert_eq!(place.release(), before);
    assert_eq!(place.night(0, &people(60..90))["records"], 30);
}

#[test]
fn without_a_column_of_people_nobody_checks_newcomers_and_the_report_says_so() {
    let unchecked = POLICY
        .replace("person = \"name\"\n", "")
        .replace("[columns]", "accept = [\"unchecked newcomers\"]\n[columns]\ndrop = [\"name\"]");
    let place = Place::new(&unchecked, &people(0..60));
    // The same people once more are taken for others.
    let night = place.night(0, &people(30..60));
    assert_eq!((&night["night"], &night["records"], &night["known"]), (&2.into(), &30.into(), &0.into()));
    assert_eq!(place.check()["records"], 90);
    for page in ["r/report.html", "r/nights/00002/report.html"] {
        let page = std::fs::read_to_string(place.0.path(page)).unwrap();
        assert!(page.contains("nobody checked whether newcomers were published in an earlier night"));
    }
    place.0.write("leavers.csv", "name\n7\n");
    let message = place.ends_with(2, &["erase", "r", "--people", "leavers.csv"]);
    assert!(message.contains("names no column of people"), "{message}");
}

/// Implications are judged over all nights; windows of numbers would begin at the values of one night.
#[test]
fn implications_go_on_over_nights_and_windows_are_refused() {
    let implications = POLICY.replace(
        "l_diversity = { c = 3, l = 2 }",
        "model = \"implications\"\nimplications = 1\nconfidence = 0.9",
    );
    let place = Place::new(&implications, &people(0..60));
    for newcomers in [60..90, 90..130, 130..150] {
        place.night(0, &people(newcomers));
    }
    let all = place.check();
    assert_eq!((&all["safe"], &all["records"]), (&true.into(), &150.into()));
    let near = Place(Folder::new());
    near.0.write(
        "p.toml",
        &POLICY.replace("l_diversity = { c = 3, l = 2 }", "skyline = [{ within = 5, confidence = 0.9 }]"),
    );
    let rows = (0..60).map(|i| format!("{i},{},{}\n", i * 37 % 97, i * 7 % 50));
    near.0.write("t.csv", &format!("name,q,s\n{}", rows.collect::<String>()));
    let message = near.ends_with(2, &["anonymize", "t.csv", "--policy", "p.toml", "--out", "r"]);
    assert!(message.contains("protects windows that begin at the values of one table"), "{message}");
    assert!(message.contains("leave out `within`, or leave out [nights]"), "{message}");
}

#[test]
fn a_lost_a_foreign_and_a_damaged_ledger_are_noticed() {
    let place = Place::new(POLICY, &people(0..60));
    let ledger = place.0.path("r.ledger");
    let own = std::fs::read(&ledger).unwrap();
    assert_eq!((own.len() - 32) % 32, (own.len() - 60 * 32) % 32);
    place.night(0, &people(60..90));
    let later = std::fs::read(&ledger).unwrap();
    place.table(&people(90..130));
    std::fs::write(&ledger, &own).unwrap();
    let message = place.ends_with(2, &APPEND);
    assert!(
        message.contains("is the ledger of night 1 of a release, not of night 2 of this one"),
        "{message}"
    );
    std::fs::remove_file(&ledger).unwrap();
    assert!(place.ends_with(2, &APPEND).contains("without it nobody knows who was published"));
    let mut damaged = later.clone();
    let middle = damaged.len() - 100;
    damaged[middle] ^= 1;
    std::fs::write(&ledger, &damaged).unwrap();
    assert!(place.ends_with(2, &APPEND).contains("is damaged, or was written with another key"));
    std::fs::write(&ledger, &later[..later.len() - 1]).unwrap();
    assert!(place.ends_with(2, &APPEND).contains("is damaged"));
    let other = Place::new(POLICY, &people(0..60));
    other.night(0, &people(60..90));
    std::fs::copy(other.0.path("r.ledger"), &ledger).unwrap();
    assert!(place.ends_with(2, &APPEND).contains("is damaged, or was written with another key"));
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
            let output = place.run(&APPEND);
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
