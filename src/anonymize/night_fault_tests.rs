//! A disk that fails, or loses its power, at any operation of a night: the last whole night is left, and the next run
//! goes on from it.

use super::{Anonymize, Append, Appended, Erase, EraseMode};
use crate::check::integrity;
use crate::check::release::Release;
use crate::error::{Error, Result};
use crate::model::Policy;
use crate::release::chain::Chain;
use crate::resources::Resources;
use crate::resources::budget::Budget;
use crate::resources::faults::{Fault, arm};
use crate::resources::progress::Progress;
use crate::resources::spill::SpillForm;
use crate::table::read::{ReadOptions, Table};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const POLICY: &str = "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\ndomain = [0, 100]\n[privacy]\n\
                      k_anonymity = 2\nl_diversity = { c = 3, l = 2 }\n[nights]\nperson = \"name\"\nbatch = 12\n";

fn table(folder: &Path, names: std::ops::Range<u32>) -> Table {
    let value = |i: u32| ["flu", "cold", "asthma", "none"][(i * 7 % 11 % 4) as usize];
    let rows = names.clone().map(|i| format!("{i},{},{}\n", i * 37 % 97, value(i)));
    // Outside of the folder that fails.
    let path = folder.join(format!("{}-{}.csv", names.start, names.end));
    std::fs::write(&path, format!("name,q,s\n{}", rows.collect::<String>())).unwrap();
    Table::open(&[path], &ReadOptions::default()).unwrap()
}

fn policy() -> Policy {
    Policy::parse(POLICY, "policy.toml").unwrap()
}

fn first_night(folder: &Path, tables: &Path) {
    let (table, policy) = (table(tables, 0..30), policy());
    let job = Anonymize {
        temp: folder.to_path_buf(),
        memory: 32 << 20,
        threads: 1,
        ..Anonymize::new(&table, &policy, folder.join("release"))
    };
    job.run(&Progress::default()).unwrap();
}

fn night(folder: &Path, tables: &Path, names: std::ops::Range<u32>) -> Result<Appended> {
    let (table, policy) = (table(tables, names), policy());
    let job = Append {
        temp: folder.to_path_buf(),
        memory: 32 << 20,
        threads: 1,
        ..Append::new(&table, &policy, folder.join("release"))
    };
    job.run(&Progress::default())
}

fn erase(folder: &Path, tables: &Path) -> Result<()> {
    let people = table(tables, 5..6);
    let job = Erase {
        people: &people,
        release: folder.join("release"),
        key: None,
        mode: EraseMode::Withdraw,
        temp: folder.to_path_buf(),
        spill: SpillForm::Encrypted,
        memory: 32 << 20,
        threads: 1,
    };
    job.run(&Progress::default()).map(drop)
}

fn contents(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => contents(root, &path, files),
            false => {
                files.insert(path.strip_prefix(root).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
}

fn release(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    contents(&folder.join("release"), &folder.join("release"), &mut files);
    files
}

fn expect_whole(folder: &Path) {
    let progress = Progress::default();
    let chain = Chain::read(&folder.join("release")).unwrap();
    let altered = integrity::nights(chain.nights(), None, &progress).unwrap();
    assert!(altered.is_empty(), "{altered:?}");
    let resources = Resources::new(Budget::new(32 << 20), &progress);
    assert!(Release::open(folder.join("release")).unwrap().check(None, &resources).unwrap().is_safe());
}

/// Lets every operation of `step` fail in turn; then the same step, and one more night, lead to the same bytes.
fn fail_everywhere(fault: Fault, step: fn(&Path, &Path) -> Result<()>) -> u64 {
    let start = |folder: &Path, tables: &Path| {
        first_night(folder, tables);
        assert!(matches!(night(folder, tables, 30..35), Ok(Appended::Waiting(_))));
    };
    let tables = tempfile::tempdir().unwrap();
    let oracle = tempfile::tempdir().unwrap();
    start(oracle.path(), tables.path());
    let before = release(oracle.path());
    step(oracle.path(), tables.path()).unwrap();
    let after = release(oracle.path());
    night(oracle.path(), tables.path(), 60..80).unwrap();
    let last = release(oracle.path());
    assert!(before != after && after != last);
    for at in 1.. {
        let place = tempfile::tempdir().unwrap();
        start(place.path(), tables.path());
        let armed = arm(place.path(), fault, at);
        let outcome = step(place.path(), tables.path());
        if fault == Fault::PowerLoss {
            armed.lose_what_was_not_synced();
        }
        let tripped = armed.tripped();
        drop(armed);
        let left = release(place.path());
        expect_whole(place.path());
        match outcome {
            Ok(()) => assert!(left == after, "{fault:?} at {at}: called done, and not there"),
            Err(Error::Undurable { .. }) => assert!(left == after, "{fault:?} at {at}"),
            Err(error) => assert!(left == before || left == after, "{fault:?} at {at}: {error}"),
        }
        if !tripped {
            return at - 1;
        }
        if left == before {
            step(place.path(), tables.path()).unwrap();
            assert!(release(place.path()) == after, "{fault:?} at {at}: the next run makes the same night");
        }
        night(place.path(), tables.path(), 60..80).unwrap();
        assert!(
            release(place.path()) == last,
            "{fault:?} at {at}: nobody was lost, and nobody published twice"
        );
        expect_whole(place.path());
    }
    unreachable!()
}

fn second_night(folder: &Path, tables: &Path) -> Result<()> {
    night(folder, tables, 35..60).map(|appended| assert!(matches!(appended, Appended::Published { .. })))
}

#[test]
fn a_disk_that_fails_at_any_operation_of_a_night_leaves_the_last_whole_night() {
    assert!(fail_everywhere(Fault::Once, second_night) > 20);
}

#[test]
fn a_loss_of_power_at_any_operation_of_a_night_leaves_the_last_whole_night() {
    assert!(fail_everywhere(Fault::PowerLoss, second_night) > 20);
}

#[test]
fn a_disk_that_fails_at_any_operation_of_an_erasure_leaves_the_release_whole() {
    assert!(fail_everywhere(Fault::Once, erase) > 20);
}

/// Threads stand in for processes: the turn belongs to an open file.
#[test]
fn of_two_nights_at_once_one_publishes_and_the_other_is_told_to_wait() {
    let (place, tables) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    first_night(place.path(), tables.path());
    let outcomes: Vec<Result<Appended>> = std::thread::scope(|scope| {
        let run = |names| {
            let (place, tables) = (place.path(), tables.path());
            move || night(place, tables, names)
        };
        let runs = [scope.spawn(run(30..50)), scope.spawn(run(50..70))];
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for outcome in &outcomes {
        assert!(matches!(outcome, Ok(Appended::Published { .. }) | Err(Error::Busy { .. })), "{outcome:?}");
    }
    expect_whole(place.path());
    for names in [30..50, 50..70] {
        night(place.path(), tables.path(), names).unwrap();
    }
    expect_whole(place.path());
    let chain = Chain::read(&place.path().join("release")).unwrap();
    assert_eq!(chain.nights().iter().map(|night| night.manifest.individuals).sum::<u64>(), 70);
}
