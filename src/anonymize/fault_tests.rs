//! A disk that fails, or loses its power, at any operation of a run: the release is absent or whole.
//!
//! The same table and policy give the same bytes, so a release of an undisturbed run is the oracle.

use super::{Anonymize, OlderRelease, Outcome};
use crate::error::{Error, Result};
use crate::model::Policy;
use crate::release::manifest::{MANIFEST, hash};
use crate::release::receipt::Receipt;
use crate::resources::faults::{Fault, arm};
use crate::resources::progress::Progress;
use crate::table::read::{ReadOptions, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn run(folder: &Path) -> Result<Outcome> {
    let policy = Policy::read("datasets/clinic.toml")?;
    run_by(folder, &policy, None)
}

fn run_by(folder: &Path, policy: &Policy, replace: Option<OlderRelease>) -> Result<Outcome> {
    run_on(Path::new("datasets/clinic.csv"), folder, policy, replace)
}

fn run_on(table: &Path, folder: &Path, policy: &Policy, replace: Option<OlderRelease>) -> Result<Outcome> {
    let table = Table::open(&[table.to_path_buf()], &ReadOptions::default())?;
    let job = Anonymize {
        temp: folder.to_path_buf(),
        memory: 32 << 20,
        threads: 1,
        replace,
        ..Anonymize::new(&table, policy, folder.join("release"))
    };
    job.run(&Progress::default())
}

/// Every file below a folder, with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(contents(&path));
        } else {
            files.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    files
}

/// The release in a folder relative to it.
fn release(folder: &Path) -> Option<BTreeMap<PathBuf, Vec<u8>>> {
    let release = folder.join("release");
    let relative =
        |(path, bytes): (PathBuf, Vec<u8>)| (path.strip_prefix(&release).unwrap().to_owned(), bytes);
    release.exists().then(|| contents(&release).into_iter().map(relative).collect())
}

/// Lets the first operation fail, then the second, and so on until a run is not disturbed; returns how many there are.
fn fail_everywhere(fault: Fault) -> u64 {
    let place = tempfile::tempdir().unwrap();
    run(place.path()).unwrap();
    let reference = release(place.path()).unwrap();
    assert!(reference.len() >= 3);
    for at in 1.. {
        let place = tempfile::tempdir().unwrap();
        let armed = arm(place.path(), fault, at);
        let outcome = run(place.path());
        if fault == Fault::PowerLoss {
            armed.lose_what_was_not_synced();
        }
        let tripped = armed.tripped();
        drop(armed);
        let left = release(place.path());
        assert!(left.as_ref().is_none_or(|left| *left == reference), "{fault:?} at {at}: {left:?}");
        match outcome {
            Ok(_) => assert!(left.is_some(), "{fault:?} at {at}: called safe, and not there"),
            Err(Error::Undurable { .. }) => assert!(left.is_some(), "{fault:?} at {at}"),
            Err(error) => assert!(left.is_none(), "{fault:?} at {at}: {error}"),
        }
        if !tripped {
            return at - 1;
        }
        assert!(
            left.is_none() || place.path().join("release.receipt.json").exists(),
            "{fault:?} at {at}: no receipt"
        );
        if left.is_none() {
            // What is left of a dead run does not disturb the next one; a receipt without a release is the owner's.
            for private in ["release.receipt.json", "release.tree", "release.receipt.key"] {
                let _ = std::fs::remove_file(place.path().join(private));
            }
            run(place.path()).unwrap();
            assert_eq!(release(place.path()).as_ref(), Some(&reference), "{fault:?} at {at}");
        }
        let visible = |path: &PathBuf| {
            path.strip_prefix(place.path()).is_ok_and(|name| !name.to_string_lossy().starts_with('.'))
        };
        let hidden = contents(place.path()).into_keys().find(|path| !visible(path));
        assert!(left.is_some() || hidden.is_none(), "{fault:?} at {at}: {hidden:?} is left");
    }
    unreachable!()
}

/// The values are known from the first scan when the rows are read; here the file changes even before.
#[test]
fn a_table_that_changed_since_it_was_opened_is_not_published() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("clinic.csv");
    let text = std::fs::read_to_string("datasets/clinic.csv").unwrap();
    std::fs::write(&path, &text).unwrap();
    let policy = Policy::read("datasets/clinic.toml").unwrap();
    let table = Table::open(std::slice::from_ref(&path), &ReadOptions::default()).unwrap();
    std::fs::write(&path, text + "P9999,1850-01-01,2024-01-01T00:00:00,99999,farmer,yes,plague\n").unwrap();
    let job = Anonymize::new(&table, &policy, place.path().join("release"));
    let outcome = job.run(&Progress::default());
    assert!(matches!(&outcome, Err(Error::Changed { file: Some(file), .. }) if *file == path), "{outcome:?}");
    assert_eq!(release(place.path()), None);
}

#[test]
fn a_disk_that_fails_at_any_operation_leaves_no_partial_release() {
    assert!(fail_everywhere(Fault::Once) > 20);
}

#[test]
fn a_loss_of_power_at_any_operation_leaves_no_partial_release() {
    assert!(fail_everywhere(Fault::PowerLoss) > 20);
}

/// A release, one that takes its place, and the table of both.
struct Exchange {
    older: Policy,
    newer: Policy,
    table: PathBuf,
}

impl Exchange {
    /// Both have a tree.
    fn of_trees() -> Self {
        let text = std::fs::read_to_string("datasets/clinic.toml").unwrap();
        let newer = format!("accept = [\"repeated releases\"]\n{text}");
        Exchange {
            older: Policy::read("datasets/clinic.toml").unwrap(),
            newer: Policy::parse(&newer, "datasets/clinic.toml").unwrap(),
            table: "datasets/clinic.csv".into(),
        }
    }

    /// One has a list of suppressed rows, and the other a tree.
    fn of_a_list_and_a_tree(folder: &Path, list_first: bool) -> Self {
        let table = folder.join("t.csv");
        let rows: String = (0..8).map(|i| format!("{},{}\n", ["f", "m"][i / 4], ["a", "b"][i % 2])).collect();
        std::fs::write(&table, format!("q,s\n{rows}")).unwrap();
        let policy = |privacy: &str| {
            let columns = "accept = [\"repeated releases\"]\n[columns]\nsensitive = \"s\"\nquasi = [\"q\"]\n";
            Policy::parse(&format!("{columns}[privacy]\n{privacy}"), folder.join("p.toml")).unwrap()
        };
        let list = "model = \"robust\"\nr = \"3/2\"\nsuppress = \"50%\"\n[publish]\nstyle = \"bucketized\"\n";
        let (list, tree) = (policy(list), policy("l_diversity = { c = 3, l = 2 }\n"));
        let (older, newer) = if list_first { (list, tree) } else { (tree, list) };
        Exchange { older, newer, table }
    }

    /// Lets every operation fail in turn: the older release or the newer one is there, and a receipt that names its
    /// manifest; the next exchange leaves nothing but its own.
    fn fail_everywhere(&self, fault: Fault, kept: OlderRelease) -> u64 {
        let first = |place: &Path| run_on(&self.table, place, &self.older, None);
        let exchange = |place: &Path| run_on(&self.table, place, &self.newer, Some(kept));
        // A folder that could not be removed is hidden.
        let names = |place: &Path| -> BTreeSet<String> {
            let names = std::fs::read_dir(place).unwrap();
            let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.filter(|name| !name.starts_with('.')).collect()
        };
        let oracle = tempfile::tempdir().unwrap();
        first(oracle.path()).unwrap();
        let before = release(oracle.path()).unwrap();
        exchange(oracle.path()).unwrap();
        let after = release(oracle.path()).unwrap();
        assert!(before != after);
        let expected = names(oracle.path());
        let both = ["release.tree", "release.suppressed.csv"].iter().all(|name| expected.contains(*name));
        assert!(!both, "a file of the older release is left");
        let belongs = |place: &Path, receipt: &str| {
            let manifest = hash(&place.join("release").join(MANIFEST)).unwrap().1;
            Receipt::read(&place.join(receipt)).is_ok_and(|receipt| receipt.manifest_sha256 == manifest)
        };
        for at in 1.. {
            let place = tempfile::tempdir().unwrap();
            first(place.path()).unwrap();
            let armed = arm(place.path(), fault, at);
            let outcome = exchange(place.path());
            if fault == Fault::PowerLoss {
                armed.lose_what_was_not_synced();
            }
            let tripped = armed.tripped();
            drop(armed);
            let left = release(place.path()).unwrap();
            match outcome {
                Ok(_) | Err(Error::Undurable { .. }) => assert!(left == after, "{fault:?} at {at}"),
                Err(error) => assert!(left == before || left == after, "{fault:?} at {at}: {error}"),
            }
            assert!(
                belongs(place.path(), "release.receipt.json")
                    || belongs(place.path(), "release.receipt.json.next"),
                "{fault:?} at {at}: no receipt names the release that is there"
            );
            if !tripped {
                return at - 1;
            }
            exchange(place.path()).unwrap();
            assert!(release(place.path()).unwrap() == after, "{fault:?} at {at}");
            assert!(belongs(place.path(), "release.receipt.json"), "{fault:?} at {at}");
            assert_eq!(names(place.path()), expected, "{fault:?} at {at}");
        }
        unreachable!()
    }
}

#[test]
fn a_disk_that_fails_at_any_operation_of_an_exchange_leaves_a_release_with_its_receipt() {
    assert!(Exchange::of_trees().fail_everywhere(Fault::Once, OlderRelease::Kept) > 20);
}

#[test]
fn a_loss_of_power_at_any_operation_of_an_exchange_leaves_a_release_with_its_receipt() {
    assert!(Exchange::of_trees().fail_everywhere(Fault::PowerLoss, OlderRelease::Removed) > 20);
}

#[test]
fn whenever_an_exchange_ends_private_files_go_with_their_release() {
    for list_first in [true, false] {
        for fault in [Fault::Once, Fault::PowerLoss] {
            let folder = tempfile::tempdir().unwrap();
            let exchange = Exchange::of_a_list_and_a_tree(folder.path(), list_first);
            assert!(exchange.fail_everywhere(fault, OlderRelease::Removed) > 20);
        }
    }
}
