//! Tables whose rows are read by the tasks of an engine: the bytes of one machine, whatever the tasks are.

use crate::support::engine::{FileEngine, FileFate};
use crate::support::library::Outcome;
use crate::support::{contents, root, scramble};
use skyveil::CanonicalSizes;
use std::path::{Path, PathBuf};

/// The rows of a CSV file in another order, in so many files.
fn dealt(table: &Path, files: usize, folder: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(table).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_by_key(|row| row.bytes().fold(7, |hash, byte| scramble(hash ^ u64::from(byte))));
    let write = |file: usize| {
        let own: String = rows.iter().skip(file).step_by(files).map(|row| format!("{row}\n")).collect();
        let path = folder.join(format!("part-{file}.csv"));
        std::fs::write(&path, format!("{header}\n{own}")).unwrap();
        path
    };
    (0..files).map(write).collect()
}

/// Policies for the same table in one place and in tasks: kept columns, people and values apart, several sensitive columns,
/// counted rows.
fn cases(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let datasets = root().join("datasets");
    let census = std::fs::read_to_string(datasets.join("census.toml")).unwrap();
    let census = census.replace("\"census-", &format!("\"{}/census-", datasets.display()));
    let changed = |name: &str, from: &str, to: &str| {
        assert!(census.contains(from));
        let path = folder.join(name);
        std::fs::write(&path, census.replace(from, to)).unwrap();
        path
    };
    let keeping = changed("keeping.toml", "\"occupation\", \"industry\", ", "\"industry\", ");
    let text = std::fs::read_to_string(&keeping).unwrap();
    std::fs::write(&keeping, text.replace("drop  ", "keep = [\"occupation\"]\ndrop  ")).unwrap();
    let apart = changed("apart.toml", "style  = \"generalized\"", "style = \"bucketized\"");
    let of_census = [datasets.join("census.toml"), datasets.join("census-two.toml"), keeping, apart];
    let mut cases: Vec<_> =
        of_census.into_iter().map(|policy| (datasets.join("census.csv"), policy)).collect();
    cases.push((datasets.join("households-counted.csv"), datasets.join("households-counted.toml")));
    cases
}

#[test]
fn tasks_give_the_bytes_of_one_machine() {
    let place = tempfile::tempdir().unwrap();
    for (number, (table, policy)) in cases(place.path()).into_iter().enumerate() {
        let alone = place.path().join(format!("alone-{number}"));
        let whole = [table.clone()];
        let made = FileEngine::new(&whole, &policy, 0).release_alone(&alone).unwrap();
        assert!(matches!(made, Outcome::Published(_)), "{made:?}");
        for (files, seed) in [(1, 0), (3, 1), (7, 2)] {
            let folder = place.path().join(format!("parts-{number}-{files}"));
            std::fs::create_dir(&folder).unwrap();
            let paths = dealt(&table, files, &folder);
            let out = place.path().join(format!("out-{number}-{files}"));
            let engine = FileEngine::new(&paths, &policy, seed);
            let made = engine.release(&out).unwrap();
            assert!(matches!(made, Outcome::Published(_)), "{made:?}");
            assert!(contents(&out) == contents(&alone), "{} in {files} files", policy.display());
            assert_eq!(engine.sets_left(), 0, "rows that nobody needs are forgotten");
        }
    }
}

/// Two tiers of parts, several files, and nodes of some twenty people, so that some must be grown again.
#[test]
fn tiny_parts_and_nodes_give_the_bytes_of_one_machine() {
    let place = tempfile::tempdir().unwrap();
    let sizes = CanonicalSizes { subtree_bytes: 200, part_rows: [500, 2_000], file_people: 900 };
    for (number, (table, policy)) in cases(place.path()).into_iter().enumerate() {
        let paths = dealt(&table, 3, place.path());
        let [alone, out] = ["alone", "out"].map(|name| place.path().join(format!("{name}-{number}")));
        let engine = FileEngine::new(&paths, &policy, number as u64).with_sizes(sizes);
        let made = engine.release_alone(&alone).unwrap();
        assert!(matches!(made, Outcome::Published(_)), "{made:?}");
        engine.release(&out).unwrap();
        assert!(contents(&out) == contents(&alone), "{}", policy.display());
        assert_eq!(engine.sets_left(), 0, "rows that nobody needs are forgotten");
    }
}

#[test]
fn an_engine_that_loses_or_repeats_rows_is_noticed() {
    let place = tempfile::tempdir().unwrap();
    let policy = root().join("datasets/census.toml");
    let paths = dealt(&root().join("datasets/census.csv"), 3, place.path());
    for arriving in [&[0, 2][..], &[0, 1, 1, 2]] {
        let out = place.path().join("out");
        let error = FileEngine::new(&paths, &policy, 0).arriving(arriving).release(&out).unwrap_err();
        assert!(error.to_string().contains("changed while it was read"), "{error}");
        assert!(!out.exists());
    }
    let out = place.path().join("out");
    let error = FileEngine::new(&paths, &policy, 0).losing(1).release(&out).unwrap_err();
    assert!(error.to_string().contains("lost or repeated"), "{error}");
    assert!(!out.exists());
}

#[test]
fn a_file_that_is_not_the_one_that_was_checked_is_not_published() {
    let place = tempfile::tempdir().unwrap();
    let [rows, here] = ["rows", "here"].map(|name| place.path().join(name));
    for folder in [&rows, &here] {
        std::fs::create_dir(folder).unwrap();
    }
    let policy = root().join("datasets/census.toml");
    let paths = dealt(&root().join("datasets/census.csv"), 3, &rows);
    let sizes = CanonicalSizes { file_people: 900, ..CanonicalSizes::default() };
    let out = here.join("out");
    for (fate, reason) in [
        (FileFate::AlteredOnTheWay, "changed on its way"),
        (FileFate::AlteredInPlace(here.clone()), "changed while it was read"),
    ] {
        let engine = FileEngine::new(&paths, &policy, 0).with_sizes(sizes).altering(fate);
        let error = engine.release(&out).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert!(!out.exists());
    }
    FileEngine::new(&paths, &policy, 0).with_sizes(sizes).release(&out).unwrap();
}

#[test]
fn what_tasks_cannot_do_is_refused_before_they_begin() {
    let place = tempfile::tempdir().unwrap();
    let datasets = root().join("datasets");
    for (table, policy, reason) in [
        ("census.csv", "census-beliefs.toml", "more of the people than counts"),
        ("census.csv", "census-robust.toml", "more of the people than counts"),
        ("visits.csv", "visits.toml", "people have several rows"),
    ] {
        let paths = [datasets.join(table)];
        let engine = FileEngine::new(&paths, &datasets.join(policy), 0);
        let error = engine.release(&place.path().join("out")).unwrap_err();
        assert!(error.to_string().contains(reason), "{policy}: {error}");
    }
}
