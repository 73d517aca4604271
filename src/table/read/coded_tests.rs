//! Rows that are read as codes are the rows of the ordinary reader, however a file stores them.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{WriterProperties, WriterVersion};
use proptest::prelude::*;

use super::code_stream::{CodePiece, CodeStream};
use super::{ColumnRequest, Morsel, ReadOptions, Table};
use crate::error::Result;
use crate::table::ColumnKind;

/// How a test file stores its two columns.
#[derive(Debug, Clone)]
struct Storage {
    version: WriterVersion,
    compression: Compression,
    /// Rows of a row group and of a page, at most.
    group_rows: usize,
    page_rows: usize,
    /// A longer dictionary is given up in the middle of a chunk.
    dictionary_bytes: usize,
    dictionary: bool,
    /// Whether a column may hold nulls.
    nullable: bool,
    types: (DataType, DataType),
    batch_rows: usize,
}

fn storage() -> impl Strategy<Value = Storage> {
    let types = || {
        prop_oneof![
            Just(DataType::Int64),
            Just(DataType::Int32),
            Just(DataType::Utf8),
            Just(DataType::LargeUtf8)
        ]
    };
    let version = prop_oneof![Just(WriterVersion::PARQUET_1_0), Just(WriterVersion::PARQUET_2_0)];
    let compression = prop_oneof![Just(Compression::UNCOMPRESSED), Just(Compression::SNAPPY)];
    let sizes =
        (prop_oneof![Just(20usize), Just(400)], 1usize..200, prop_oneof![Just(20usize), Just(1 << 20)]);
    let rest = (
        prop::bool::weighted(0.9),
        any::<bool>(),
        (types(), types()),
        prop_oneof![Just(7usize), Just(64), Just(8192)],
    );
    (version, compression, sizes, rest).prop_map(|(version, compression, sizes, rest)| Storage {
        version,
        compression,
        group_rows: sizes.0,
        page_rows: sizes.1,
        dictionary_bytes: sizes.2,
        dictionary: rest.0,
        nullable: rest.1,
        types: rest.2,
        batch_rows: rest.3,
    })
}

/// Rows in runs: how long each is, and its values; few are null.
fn rows() -> impl Strategy<Value = Vec<(Option<i32>, Option<i32>)>> {
    let cell = |most: i32| prop::option::weighted(0.995, -3..most);
    let run = (1usize..40, cell(30), prop_oneof![Just(1), Just(4), Just(300)]);
    let runs = prop::collection::vec((run, any::<u32>()), 1..30);
    runs.prop_map(|runs| {
        let mut rows = Vec::new();
        for ((length, group, values), seed) in runs {
            let value = |row: u32| seed.wrapping_add(row.wrapping_mul(2_654_435_761)) >> 7;
            rows.extend((0..length as u32).map(|row| (group, Some((value(row) % values) as i32))));
        }
        rows
    })
}

fn array(values: impl Iterator<Item = Option<i32>>, to: &DataType) -> ArrayRef {
    match to {
        DataType::Int32 => Arc::new(values.collect::<Int32Array>()),
        DataType::Int64 => {
            Arc::new(values.map(|value| Some(i64::from(value?) << 33)).collect::<Int64Array>())
        }
        text => {
            let texts: StringArray = values.map(|value| Some(format!("text {}", value?))).collect();
            cast(&texts, text).unwrap()
        }
    }
}

fn write(path: &Path, rows: &[(Option<i32>, Option<i32>)], storage: &Storage) {
    let known = |value: Option<i32>| if storage.nullable { value } else { value.or(Some(77)) };
    let (group_type, value_type) = &storage.types;
    let columns = vec![
        array(rows.iter().map(|(group, _)| known(*group)), group_type),
        array(rows.iter().map(|(_, value)| known(*value)), value_type),
    ];
    let schema = Schema::new(vec![
        Field::new("group", group_type.clone(), storage.nullable),
        Field::new("value", value_type.clone(), storage.nullable),
    ]);
    let batch = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    let properties = WriterProperties::builder()
        .set_writer_version(storage.version)
        .set_compression(storage.compression)
        .set_max_row_group_row_count(Some(storage.group_rows))
        .set_data_page_row_count_limit(storage.page_rows)
        .set_write_batch_size(storage.page_rows.min(16))
        .set_dictionary_page_size_limit(storage.dictionary_bytes)
        .set_dictionary_enabled(storage.dictionary)
        .build();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// The rows as texts, and how many of them were codes.
fn read(
    path: &Path,
    requests: &[ColumnRequest],
    batch_rows: usize,
) -> Result<(Vec<[Option<String>; 2]>, usize)> {
    let options = ReadOptions { batch_rows, ..ReadOptions::default() };
    let table = Table::open(&[path.to_path_buf()], &options)?;
    let (mut rows, mut coded) = (Vec::new(), 0);
    table.scan(
        requests,
        2,
        |morsel| morsel.collect::<Result<Vec<RecordBatch>>>(),
        |batches| {
            for batch in batches {
                if matches!(batch.column(0).data_type(), DataType::RunEndEncoded(..)) {
                    coded += batch.num_rows();
                }
                let texts = batch.columns().iter().map(|column| {
                    let kind = ColumnKind::of(column.data_type()).unwrap();
                    cast(&kind.apart(column).unwrap(), &DataType::Utf8).unwrap()
                });
                let texts: Vec<ArrayRef> = texts.collect();
                let cell = |column: usize, row: usize| {
                    let cells = texts[column].as_string::<i32>();
                    cells.iter().nth(row).flatten().map(str::to_string)
                };
                rows.extend((0..batch.num_rows()).map(|row| [cell(0, row), cell(1, row)]));
            }
            Ok(())
        },
    )?;
    Ok((rows, coded))
}

fn as_codes(path: &Path, batch_rows: usize) -> Result<(Vec<[Option<String>; 2]>, usize)> {
    read(path, &[ColumnRequest::in_runs("group"), ColumnRequest::in_codes("value")], batch_rows)
}

fn as_rows(path: &Path, batch_rows: usize) -> Result<Vec<[Option<String>; 2]>> {
    let requests = [ColumnRequest::of_groups("group"), ColumnRequest::canonical("value")];
    read(path, &requests, batch_rows).map(|(rows, _)| rows)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn codes_are_the_rows_of_the_ordinary_reader(rows in rows(), storage in storage()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        write(&path, &rows, &storage);
        let (coded, in_codes) = as_codes(&path, storage.batch_rows).unwrap();
        prop_assert_eq!(&coded, &as_rows(&path, 8192).unwrap());
        prop_assert_eq!(coded.len(), rows.len());
        let nulls = storage.nullable && rows.iter().any(|(group, value)| group.is_none() || value.is_none());
        if storage.dictionary && storage.dictionary_bytes > 1000 && !nulls && rows.len() > 40 {
            prop_assert!(in_codes >= rows.len() - 20, "{in_codes} of {} rows", rows.len());
        }
    }

    /// Whatever the bytes say, both find the same rows, or both report damage. What the ordinary reader notices depends on
    /// where its batches end.
    #[test]
    fn a_damaged_file_has_no_other_rows(
        rows in rows(),
        mut storage in storage(),
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        (storage.compression, storage.dictionary) = (Compression::UNCOMPRESSED, true);
        write(&path, &rows, &storage);
        let mut bytes = std::fs::read(&path).unwrap();
        let pages = end_of_pages(&bytes);
        for (at, byte) in damages {
            bytes[4 + at.index(pages - 4)] = byte;
        }
        std::fs::write(&path, bytes).unwrap();
        match (as_codes(&path, storage.batch_rows), as_rows(&path, storage.batch_rows)) {
            (Ok((coded, _)), Ok(ordinary)) => prop_assert_eq!(coded, ordinary),
            (Ok(_), Err(error)) => prop_assert!(false, "only the ordinary reader fails: {error}"),
            (Err(error), Ok(_)) => prop_assert!(false, "only the reader of codes fails: {error}"),
            (Err(_), Err(_)) => {}
        }
    }

    /// Any bytes end, and give no more rows than announced.
    #[test]
    fn a_stream_of_any_bytes_ends(bytes in prop::collection::vec(any::<u8>(), 0..60), rows in 0usize..5000) {
        let Some(mut stream) = CodeStream::new(Bytes::from(bytes), rows) else { return Ok(()) };
        let mut seen = 0;
        while stream.left() > 0 {
            match stream.next(100) {
                Some(CodePiece::Same(_, times)) => seen += times,
                Some(CodePiece::Each(codes)) => seen += codes.len(),
                Some(CodePiece::Bytes(codes)) => seen += codes.len(),
                None => return Ok(()),
            }
        }
        prop_assert_eq!(seen, rows);
    }
}

#[test]
fn few_values_that_change_are_passed_on_as_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let storage = Storage {
        version: WriterVersion::PARQUET_1_0,
        compression: Compression::UNCOMPRESSED,
        group_rows: 400,
        page_rows: 100,
        dictionary_bytes: 1 << 20,
        dictionary: true,
        nullable: true,
        types: (DataType::Int64, DataType::Utf8),
        batch_rows: 64,
    };
    let mut in_bytes = Vec::new();
    for values in [1, 256, 257] {
        let rows: Vec<_> = (0..400).map(|row| (Some(row / 10), Some(row * 7 % values))).collect();
        write(&path, &rows, &storage);
        let table = Table::open(std::slice::from_ref(&path), &ReadOptions::default()).unwrap();
        let requests = [ColumnRequest::in_runs("group"), ColumnRequest::in_codes("value")];
        let are_bytes = |morsel: Morsel<'_>| {
            let batches = morsel.decoded().collect::<Result<Vec<_>>>()?;
            Ok(batches.iter().all(|batch| batch.codes.is_some()))
        };
        let note = |found| {
            in_bytes.push(found);
            Ok(())
        };
        table.scan(&requests, 1, are_bytes, note).unwrap();
    }
    assert_eq!(in_bytes, [false, true, false]);
}

fn end_of_pages(file: &[u8]) -> usize {
    file.len() - 8 - u32::from_le_bytes(*file[..file.len() - 4].last_chunk().unwrap()) as usize
}

/// In the second column the dictionary is given up, so the ordinary reader goes on after a few rows.
#[test]
fn no_flipped_bit_is_noticed_by_one_reader_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let storage = Storage {
        version: WriterVersion::PARQUET_1_0,
        compression: Compression::UNCOMPRESSED,
        group_rows: 400,
        page_rows: 8,
        dictionary_bytes: 20,
        dictionary: true,
        nullable: false,
        types: (DataType::Int64, DataType::Int32),
        batch_rows: 64,
    };
    let rows: Vec<_> = (0..20).map(|row| (Some(row / 10), Some(row * 7 % 9))).collect();
    write(&path, &rows, &storage);
    let (_, in_codes) = as_codes(&path, storage.batch_rows).unwrap();
    assert!(0 < in_codes && in_codes < rows.len());
    let file = std::fs::read(&path).unwrap();
    for place in 4..end_of_pages(&file) {
        for bit in 0..8 {
            let mut damaged = file.clone();
            damaged[place] ^= 1 << bit;
            std::fs::write(&path, damaged).unwrap();
            let (coded, ordinary) = (as_codes(&path, storage.batch_rows), as_rows(&path, storage.batch_rows));
            let (coded, ordinary) = (coded.ok().map(|(rows, _)| rows), ordinary.ok());
            assert_eq!(coded, ordinary, "bit {bit} of byte {place}");
        }
    }
}

fn codes(bytes: &[u8], rows: usize, most: usize) -> Option<Vec<u32>> {
    let mut stream = CodeStream::new(Bytes::copy_from_slice(bytes), rows)?;
    let mut codes = Vec::new();
    while stream.left() > 0 {
        match stream.next(most)? {
            CodePiece::Same(code, times) => codes.resize(codes.len() + times, code),
            CodePiece::Each(each) => codes.extend(each),
            CodePiece::Bytes(each) => codes.extend(each.iter().map(|&code| u32::from(code))),
        }
    }
    Some(codes)
}

#[test]
fn codes_of_every_width_are_unpacked() {
    for width in 0..=32u32 {
        let code = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & ((1u64 << width) - 1);
        // 300 codes in 38 groups, the last one padded.
        let mut packed = vec![0u8; 38 * width as usize];
        for i in 0..300u64 {
            for bit in (0..u64::from(width)).filter(|bit| code(i) >> bit & 1 == 1) {
                let place = (i * u64::from(width) + bit) as usize;
                packed[place / 8] |= 1 << (place % 8);
            }
        }
        let mut bytes = vec![width as u8, 38 << 1 | 1];
        bytes.extend(packed);
        let expected: Vec<u32> = (0..300).map(|i| code(i) as u32).collect();
        for most in [1, 7, 8, 1000] {
            assert_eq!(codes(&bytes, 300, most).as_ref(), Some(&expected), "{width} bits");
        }
    }
}

#[test]
fn pages_that_are_not_as_they_should_be_end() {
    assert_eq!(codes(&[3, 5 << 1, 6, 1 << 1, 7], 6, 100), Some(vec![6, 6, 6, 6, 6, 7]));
    let wrong: [(&str, &[u8], usize); 9] = [
        ("a code of more than its bits", &[3, 1 << 1, 8], 1),
        ("more than 32 bits", &[33, 2, 0, 0, 0, 0, 0], 1),
        ("no width", &[], 1),
        ("a run beyond the page", &[3, 7 << 1, 6], 6),
        ("a run of nothing", &[3, 0, 6], 6),
        ("no group", &[3, 1], 6),
        ("a group beyond the page", &[3, 2 << 1 | 1, 0, 0, 0, 0, 0, 0], 8),
        ("missing bytes", &[3, 1 << 1 | 1, 0, 0], 8),
        ("an endless number", &[3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 8),
    ];
    for (what, bytes, rows) in wrong {
        assert_eq!(codes(bytes, rows, 100), None, "{what}");
    }
}
