//! Files that change between two scans of a table, in every format.

use std::fs::{File, FileTimes};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use super::{ColumnRequest, Morsel, ReadOptions, Table};
use crate::error::{Error, Result};
use crate::table::write::{TableWriter, WriteOptions};

const FORMATS: [&str; 6] = ["csv", "csv.gz", "csv.zst", "parquet", "arrow", "arrows"];

/// Ages from `first` on.
fn write(path: &Path, rows: i64, first: i64) {
    let ages: ArrayRef = Arc::new((first..first + rows).collect::<Int64Array>());
    let names: ArrayRef =
        Arc::new((0..rows).map(|row| Some(format!("n{}", row % 10))).collect::<StringArray>());
    let batch = RecordBatch::try_from_iter([("age", ages), ("name", names)]).unwrap();
    if path.extension().is_some_and(|extension| extension == "arrows") {
        let mut writer =
            arrow_ipc::writer::StreamWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        return writer.finish().unwrap();
    }
    let packed = path.extension().is_some_and(|extension| extension == "gz" || extension == "zst");
    let plain = if packed { path.with_file_name("plain.csv") } else { path.to_path_buf() };
    let mut writer = TableWriter::create(&plain, batch.schema(), &WriteOptions::default()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    if packed {
        let text = std::fs::read(&plain).unwrap();
        std::fs::write(path, pack(path, &text)).unwrap();
    }
}

fn pack(path: &Path, text: &[u8]) -> Vec<u8> {
    if path.extension().is_some_and(|extension| extension == "zst") {
        return zstd::encode_all(text, 3).unwrap();
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn scan(table: &Table) -> Result<u64> {
    let mut rows = 0;
    let work = |morsel: Morsel<'_>| {
        let mut rows = 0;
        for batch in morsel {
            rows += batch?.num_rows() as u64;
        }
        Ok(rows)
    };
    table.scan(&[ColumnRequest::canonical("age")], 2, work, |part| {
        rows += part;
        Ok(())
    })?;
    Ok(rows)
}

/// Scans a table, changes its file, and scans it again.
#[track_caller]
fn refuses(format: &str, change: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("t").with_extension(format);
    write(&path, 1_000, 100);
    let table = Table::open(std::slice::from_ref(&path), &ReadOptions::default()).unwrap();
    assert_eq!(scan(&table).unwrap(), 1_000, "{format}");
    assert_eq!(scan(&table).unwrap(), 1_000, "{format}");
    change(&path);
    match scan(&table) {
        Err(Error::Changed { file, .. }) => assert_eq!(file.as_deref(), Some(&*path), "{format}"),
        other => panic!("{format}: {other:?}"),
    }
}

#[test]
fn a_file_that_is_rewritten_is_refused() {
    FORMATS.iter().for_each(|format| refuses(format, |path| write(path, 1_000, 500)));
}

#[test]
fn a_file_that_is_shortened_or_lengthened_is_refused() {
    FORMATS.iter().for_each(|format| refuses(format, |path| write(path, 900, 100)));
    FORMATS.iter().for_each(|format| refuses(format, |path| write(path, 1_100, 100)));
    let cut = |path: &Path| File::options().write(true).open(path).unwrap().set_len(700).unwrap();
    FORMATS.iter().for_each(|format| refuses(format, cut));
}

#[test]
fn a_file_that_is_swapped_or_removed_is_refused() {
    for format in FORMATS {
        refuses(format, |path| {
            let other = path.with_file_name("other").with_extension(format);
            write(&other, 1_000, 100);
            std::fs::rename(other, path).unwrap();
        });
    }
}

/// Contents and modification time are as before; the system still knows that it was written to.
#[cfg(unix)]
#[test]
fn a_file_whose_time_is_set_back_is_refused() {
    refuses("csv", |path| {
        let before = path.metadata().unwrap().modified().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(path, text.replace("100,", "900,")).unwrap();
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_times(FileTimes::new().set_modified(before))
            .unwrap();
        assert_eq!(path.metadata().unwrap().modified().unwrap(), before);
    });
}

#[test]
fn a_file_that_changes_during_a_scan_is_refused_whatever_else_went_wrong() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t").with_extension(format);
        write(&path, 1_000, 100);
        let table = Table::open(std::slice::from_ref(&path), &ReadOptions::default()).unwrap();
        let mut changed = false;
        let outcome = table.scan(
            &[ColumnRequest::canonical("age")],
            1,
            |morsel| Ok(morsel.count()),
            |_| {
                if !std::mem::replace(&mut changed, true) {
                    write(&path, 10, 500);
                }
                Ok(())
            },
        );
        assert!(matches!(outcome, Err(Error::Changed { .. })), "{format}: {outcome:?}");
    }
}

/// As if a file had been rewritten within one tick of the clock: only its number of rows differs.
#[test]
fn every_scan_finds_the_same_number_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    write(&path, 1_000, 100);
    let table = Table::open(std::slice::from_ref(&path), &ReadOptions::default()).unwrap();
    table.files()[0].pretend_rows(999);
    assert!(matches!(scan(&table), Err(Error::Changed { .. })));
}

#[test]
fn a_value_that_was_not_there_before_names_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    write(&path, 10, 100);
    let table = Table::open(std::slice::from_ref(&path), &ReadOptions::default()).unwrap();
    let outcome = table.scan(
        &[ColumnRequest::canonical("age")],
        1,
        |_| Err::<(), _>(Error::changed("age")),
        |()| Ok(()),
    );
    let error = outcome.unwrap_err();
    assert_eq!((error.column(), error.file()), (Some("age"), Some(&*path)));
    assert!(error.may_pass() && error.to_string().contains("`age`"), "{error}");
}
