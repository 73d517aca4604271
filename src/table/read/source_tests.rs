//! Tables as they lie around: compressed files, patterns, folders named `key=value`, directories with other files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_cast::display::array_value_to_string;
use tempfile::TempDir;

use super::*;
use crate::error::{Error, Result};
use crate::resources::Resources;
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(bytes: &[u8], window_log: u32) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(window_log).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn text(rows: usize) -> String {
    let row = |i: usize| format!("{i},\"w,{}\",{}\n", i % 5, if i % 7 == 3 { "" } else { "x" });
    std::iter::once("age,word,mark\n".to_string()).chain((0..rows).map(row)).collect()
}

fn open(paths: &[impl AsRef<Path>]) -> Result<Table> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.as_ref().to_path_buf()).collect();
    Table::open(&paths, &ReadOptions { batch_rows: 7, ..Default::default() })
}

/// The cells of these columns, row by row, null as `~`.
fn rows(table: &Table, columns: &[&str], threads: usize) -> Result<Vec<Vec<String>>> {
    let wanted: Vec<ColumnRequest> = columns.iter().map(|name| ColumnRequest::canonical(*name)).collect();
    let mut all = Vec::new();
    let cells = |batch: &RecordBatch, row: usize| -> Vec<String> {
        let cell = |column: &arrow_array::ArrayRef| match column.is_null(row) {
            true => "~".to_string(),
            false => array_value_to_string(column, row).unwrap(),
        };
        batch.columns().iter().map(cell).collect()
    };
    table.scan(
        &wanted,
        threads,
        |morsel| morsel.collect::<Result<Vec<_>>>(),
        |batches| {
            for batch in &batches {
                all.extend((0..batch.num_rows()).map(|row| cells(batch, row)));
            }
            Ok(())
        },
    )?;
    Ok(all)
}

#[track_caller]
fn message(result: Result<impl Sized>) -> String {
    result.map(|_| panic!("this should have failed")).unwrap_err().to_string()
}

#[test]
fn compressed_files_hold_the_same_rows_in_every_scan() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (plain, tabs) = (text(200), text(200).replace("\"w,", "\"w\t").replace(',', "\t"));
    let half = plain.len() / 2;
    fs::write(path("plain.csv"), &plain).unwrap();
    fs::write(path("a.csv.gz"), gzip(plain.as_bytes())).unwrap();
    fs::write(
        path("members.csv.gz"),
        [gzip(&plain.as_bytes()[..half]), gzip(&plain.as_bytes()[half..])].concat(),
    )
    .unwrap();
    fs::write(path("a.csv.zst"), zstandard(plain.as_bytes(), 23)).unwrap();
    let frames =
        [zstandard(&plain.as_bytes()[..half], 20), zstandard(&plain.as_bytes()[half..], 20)].concat();
    fs::write(path("frames.csv.zst"), frames).unwrap();
    // The contents decide, not the name.
    fs::write(path("unnamed.csv"), gzip(plain.as_bytes())).unwrap();
    let columns = ["mark", "word", "age"];
    let expected = rows(&open(&[path("plain.csv")]).unwrap(), &columns, 1).unwrap();
    assert_eq!(expected.len(), 200);
    for name in ["a.csv.gz", "members.csv.gz", "a.csv.zst", "frames.csv.zst", "unnamed.csv"] {
        let table = open(&[path(name)]).unwrap();
        for threads in [1, 2, 4] {
            assert_eq!(rows(&table, &columns, threads).unwrap(), expected, "{name}");
        }
    }
    fs::write(path("a.tsv.gz"), gzip(tabs.as_bytes())).unwrap();
    let table = open(&[path("a.tsv.gz")]).unwrap();
    assert_eq!(
        rows(&table, &["age"], 2).unwrap(),
        rows(&open(&[path("a.csv.gz")]).unwrap(), &["age"], 2).unwrap()
    );
    let piped =
        Table::from_reader("-", Box::new(fs::File::open(path("a.csv.zst")).unwrap()), &Default::default());
    let piped = piped.unwrap();
    for _ in 0..2 {
        assert_eq!(rows(&piped, &columns, 2).unwrap(), expected);
    }
}

#[test]
fn compressed_data_that_ends_too_early_or_is_damaged_is_never_a_shorter_table() {
    let folder = TempDir::new().unwrap();
    let plain = text(2_000);
    for (name, packed) in
        [("t.csv.gz", gzip(plain.as_bytes())), ("t.csv.zst", zstandard(plain.as_bytes(), 20))]
    {
        let path = folder.path().join(name);
        let attempt = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            open(&[&path]).and_then(|table| rows(&table, &["age"], 2))
        };
        for cut in (1..packed.len()).step_by(packed.len() / 40).chain([packed.len() - 1, packed.len() - 8]) {
            let failed = message(attempt(&packed[..cut]));
            assert!(failed.contains(name), "{cut}: {failed}");
        }
        let mut damaged = packed.clone();
        let last = damaged.len() - 3;
        damaged[last] ^= 0x40;
        assert!(message(attempt(&damaged)).contains("damaged"), "{name}");
        let trailing = [&packed[..], b"more"].concat();
        assert!(message(attempt(&trailing)).contains("damaged"), "{name}");
        assert_eq!(attempt(&packed).unwrap().len(), 2_000);
    }
}

#[test]
fn what_is_not_read_compressed_is_refused_with_a_remedy() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("t.csv.gz"), gzip(&gzip(b"a\n1\n"))).unwrap();
    assert!(message(open(&[path("t.csv.gz")])).contains("compressed twice"));
    fs::write(path("t.parquet.gz"), gzip(b"PAR1 and so on")).unwrap();
    assert!(message(open(&[path("t.parquet.gz")])).contains("decompress it"));
    fs::write(path("t.csv.zst"), zstandard(text(100).as_bytes(), 27)).unwrap();
    assert!(message(open(&[path("t.csv.zst")])).contains("window of more than 8 MiB"));
    fs::write(path("empty.csv.gz"), gzip(b"")).unwrap();
    assert!(message(open(&[path("empty.csv.gz")])).contains("empty"));
}

#[test]
fn the_window_of_a_compressed_file_is_taken_from_the_budget() {
    let folder = TempDir::new().unwrap();
    let paths: Vec<PathBuf> = (0..5).map(|i| folder.path().join(format!("{i}.csv.zst"))).collect();
    paths.iter().for_each(|path| fs::write(path, zstandard(text(50).as_bytes(), 20)).unwrap());
    let table = open(&paths).unwrap();
    let progress = Progress::default();
    let scan = |bytes| {
        let budget = Budget::new(bytes);
        let resources = Resources { threads: 2, ..Resources::new(budget.clone(), &progress) };
        let mut rows = 0;
        let wanted = [ColumnRequest::canonical("age")];
        let count = |morsel: Morsel<'_>| Ok(morsel.map(|batch| batch.unwrap().num_rows()).sum::<usize>());
        table.scan(&wanted, &resources, count, |part| {
            rows += part;
            Ok(())
        })?;
        assert_eq!(budget.free(), budget.total());
        Ok::<usize, Error>(rows)
    };
    // Five files need one window, one after the other.
    assert_eq!(scan(1 << 20).unwrap(), 250);
}

#[test]
fn keys_of_folders_are_columns() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("visits");
    let write = |place: &str, name: &str, text: &str| {
        fs::create_dir_all(root.join(place)).unwrap();
        fs::write(root.join(place).join(name), text).unwrap();
    };
    write("year=2023/city=S%C3%A3o%20Paulo", "part-0.csv", "age\n1\n2\n");
    write("year=2024/city=__HIVE_DEFAULT_PARTITION__", "part-0.csv", "age\n3\n");
    write("year=2024/city=Rio", "part-0.csv", "age\n4\n");
    write("year=2024/city=Rio", "_SUCCESS", "");
    write("year=2024/city=Rio", ".part-0.csv.crc", "");
    let table = open(&[&root]).unwrap();
    assert!(table.notes().is_empty());
    assert_eq!(table.kind("year").unwrap(), crate::table::ColumnKind::Integer);
    for threads in [1, 3] {
        let found = rows(&table, &["city", "age", "year"], threads).unwrap();
        let expected = [
            ["São Paulo", "1", "2023"],
            ["São Paulo", "2", "2023"],
            ["Rio", "4", "2024"],
            ["~", "3", "2024"],
        ];
        assert_eq!(found, expected);
        // Only keys: nothing of the files is decoded.
        assert_eq!(rows(&table, &["year"], threads).unwrap(), [["2023"], ["2023"], ["2024"], ["2024"]]);
    }
    let types = [("year".to_string(), CsvType::Text)].into();
    let typed =
        Table::open(std::slice::from_ref(&root), &ReadOptions { types, ..Default::default() }).unwrap();
    assert_eq!(typed.kind("year").unwrap(), crate::table::ColumnKind::Text);
    // A pattern names the folders that it stands for.
    let pattern = root.join("year=2024").join("*").join("*.csv");
    assert_eq!(rows(&open(&[pattern]).unwrap(), &["age", "city"], 1).unwrap(), [["4", "Rio"], ["3", "~"]]);

    write("year=2025", "part-0.csv", "age\n5\n");
    assert!(message(open(&[&root])).contains("there is no column `city`"));
    fs::remove_dir_all(root.join("year=2025")).unwrap();
    write("year=2024/city=Rio", "part-1.csv", "age,year\n5,2024\n");
    let twice = message(open(&[&root]));
    assert!(twice.contains("`year` is also the key of a folder"), "{twice}");
}

#[test]
fn codes_in_folders_stay_codes() {
    let folder = TempDir::new().unwrap();
    for month in ["01", "12"] {
        let place = folder.path().join(format!("month={month}"));
        fs::create_dir(&place).unwrap();
        fs::write(place.join("t.csv"), "age\n1\n").unwrap();
    }
    let table = open(&[folder.path()]).unwrap();
    assert_eq!(rows(&table, &["month"], 1).unwrap(), [["01"], ["12"]]);
}

#[test]
fn patterns_are_expanded() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, age) in [("2024-02.csv", 2), ("2024-01.csv", 1), ("2023-12.csv", 0), ("a[1].csv", 9)] {
        fs::write(path(name), format!("age\n{age}\n")).unwrap();
    }
    assert_eq!(rows(&open(&[path("2024-*.csv")]).unwrap(), &["age"], 1).unwrap(), [["1"], ["2"]]);
    assert_eq!(rows(&open(&[path("202?-1*.csv")]).unwrap(), &["age"], 1).unwrap(), [["0"]]);
    // A file of that very name is meant.
    assert_eq!(rows(&open(&[path("a[1].csv")]).unwrap(), &["age"], 1).unwrap(), [["9"]]);
    assert!(message(open(&[path("2022-*.csv")])).contains("no file matches"));
    assert!(message(open(&[path("a***b")])).contains("cannot be read"));
    assert!(message(open(&[path("*.csv"), path("2024-01.csv")])).contains("given twice"));
}

#[test]
fn a_directory_says_what_is_not_read() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("b.csv"), "age\n1\n").unwrap();
    fs::write(path("a.csv.gz"), gzip(b"age\n2\n")).unwrap();
    assert!(open(&[folder.path()]).unwrap().notes().is_empty());
    fs::write(path("README.md"), "").unwrap();
    fs::create_dir(path("old")).unwrap();
    let table = open(&[folder.path()]).unwrap();
    let note = table.notes().join("\n");
    assert!(note.ends_with("these are read: a.csv.gz, b.csv; not read: README.md, old"), "{note}");
    assert_eq!(rows(&table, &["age"], 1).unwrap(), [["2"], ["1"]]);

    fs::write(path("b.csv.gz"), gzip(b"age\n1\n")).unwrap();
    assert!(message(open(&[folder.path()])).contains("b.csv and b.csv.gz, which may be the same rows twice"));
    fs::remove_file(path("b.csv.gz")).unwrap();
    fs::write(path("b.parquet"), "").unwrap();
    assert!(message(open(&[folder.path()])).contains("a.csv.gz and b.parquet"));
    fs::create_dir(path("_delta_log")).unwrap();
    assert!(message(open(&[folder.path()])).contains("Delta table"));
}
