//! Round trips through real files, the order of parallel scans, and the handling of bad input.

use super::plan::ColumnForm;
use std::fs::{self, File};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::parquet::arrow::ArrowWriter;
use ::parquet::file::properties::WriterProperties;
use arrow_array::cast::AsArray;
use arrow_array::*;
use arrow_buffer::{OffsetBuffer, i256};
use arrow_cast::cast;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::*;
use arrow_select::concat::concat_batches;
use tempfile::TempDir;

use super::*;
use crate::error::{Error, Result};
use crate::table::ColumnKind;
use crate::table::kind::text_type;

fn write_parquet(path: &Path, batch: &RecordBatch, group_rows: usize) {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)).build();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn write_arrow(path: &Path, batch: &RecordBatch, batch_rows: usize, compression: Option<CompressionType>) {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer =
        FileWriter::try_new_with_options(File::create(path).unwrap(), &batch.schema(), options).unwrap();
    for start in (0..batch.num_rows()).step_by(batch_rows) {
        writer.write(&batch.slice(start, batch_rows.min(batch.num_rows() - start))).unwrap();
    }
    writer.finish().unwrap();
}

fn stream_bytes(batch: &RecordBatch, batch_rows: usize) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    for start in (0..batch.num_rows()).step_by(batch_rows) {
        writer.write(&batch.slice(start, batch_rows.min(batch.num_rows() - start))).unwrap();
    }
    writer.into_inner().unwrap()
}

fn open(paths: &[&Path]) -> Result<Table> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    Table::open(&paths, &ReadOptions { batch_rows: 3, ..Default::default() })
}

/// All rows as one batch; checks order, row numbers and batch sizes on the way.
fn read_with(table: &Table, columns: &[ColumnRequest], threads: usize) -> Result<RecordBatch> {
    let mut all = Vec::new();
    let mut morsels = 0;
    let mut rows = 0;
    table.scan(
        columns,
        threads,
        |morsel| {
            let (index, first_row, announced) = (morsel.index(), morsel.first_row(), morsel.rows());
            Ok((index, first_row, announced, morsel.collect::<Result<Vec<_>>>()?))
        },
        |(index, first_row, announced, batches)| {
            assert_eq!((index, first_row), (morsels, rows));
            morsels += 1;
            rows += batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>();
            assert_eq!(rows, first_row + announced);
            assert!(batches.iter().all(|batch| batch.num_rows() <= 3));
            all.extend(batches);
            Ok(())
        },
    )?;
    let schema = all.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
    Ok(concat_batches(&schema, &all).unwrap())
}

fn read(table: &Table, columns: &[ColumnRequest]) -> Result<RecordBatch> {
    read_with(table, columns, 2)
}

fn canonical(names: &[&str]) -> Vec<ColumnRequest> {
    names.iter().map(|name| ColumnRequest::canonical(*name)).collect()
}

fn one(array: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([("x", array, true)]).unwrap()
}

/// Text of a column in its canonical form, null as `~`.
fn texts(array: &ArrayRef) -> Vec<String> {
    let plain = cast(array, &DataType::Utf8).unwrap();
    plain.as_string::<i32>().iter().map(|cell| cell.unwrap_or("~").to_string()).collect()
}

fn message(result: Result<impl Sized>) -> String {
    match result {
        Err(error) => error.to_string(),
        Ok(_) => panic!("this should have failed"),
    }
}

/// A source array, and what its canonical form must equal.
fn canonical_pairs() -> Vec<(ArrayRef, ArrayRef)> {
    let integers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(7), Some(0), Some(120)]));
    let floats: ArrayRef =
        Arc::new(Float64Array::from(vec![Some(1.5), None, Some(0.0), Some(-2.25), Some(8.0)]));
    let strings: ArrayRef =
        Arc::new(StringArray::from(vec![Some("flu"), None, Some(""), Some("flu"), Some("größe")]));
    let text = cast(&strings, &text_type()).unwrap();
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(0), None, Some(19_000), Some(-1), Some(1)]));
    let times: ArrayRef = Arc::new(Time64NanosecondArray::from(vec![
        Some(0),
        None,
        Some(3_000_000_000),
        Some(1_000_000_000),
        Some(86_399_000_000_000),
    ]));
    let decimals: ArrayRef = Arc::new(
        Decimal128Array::from(vec![Some(125), None, Some(-5), Some(0), Some(99_999)])
            .with_precision_and_scale(38, 2)
            .unwrap(),
    );
    let whole: ArrayRef = Arc::new(
        Decimal128Array::from(vec![Some(1), None, Some(i128::from(u64::MAX)), Some(0), Some(5)])
            .with_precision_and_scale(38, 0)
            .unwrap(),
    );
    let unsigned: ArrayRef =
        Arc::new(UInt64Array::from(vec![Some(1), None, Some(u64::MAX), Some(0), Some(5)]));
    let booleans: ArrayRef =
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true), None]));
    let stamps: ArrayRef = Arc::new(
        TimestampMillisecondArray::from(vec![Some(5), None, Some(-7), Some(0), Some(1 << 40)])
            .with_timezone("+01:00"),
    );
    let mut pairs = vec![(booleans.clone(), booleans), (stamps.clone(), stamps), (unsigned, whole)];
    let mut pair = |from: DataType, canonical: &ArrayRef| {
        pairs.push((cast(canonical, &from).unwrap(), canonical.clone()));
    };
    let packed = |key: DataType, value: DataType| DataType::Dictionary(Box::new(key), Box::new(value));
    for width in [DataType::Int8, DataType::Int16, DataType::Int32, DataType::Int64] {
        pair(width, &integers);
    }
    for width in [DataType::UInt8, DataType::UInt16, DataType::UInt32] {
        pair(width, &integers);
    }
    pair(packed(DataType::Int8, DataType::Int32), &integers);
    for width in [DataType::Float16, DataType::Float32, DataType::Float64] {
        pair(width, &floats);
    }
    for encoding in [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View] {
        pair(encoding, &text);
    }
    for key in [DataType::Int8, DataType::UInt16, DataType::Int32, DataType::Int64] {
        pair(packed(key.clone(), DataType::Utf8), &text);
        pair(packed(key, DataType::LargeUtf8), &text);
    }
    for width in [DataType::Date32, DataType::Date64] {
        pair(width, &days);
    }
    for width in [DataType::Time32(TimeUnit::Second), DataType::Time32(TimeUnit::Millisecond)] {
        pair(width, &times);
    }
    for width in [DataType::Time64(TimeUnit::Microsecond), DataType::Time64(TimeUnit::Nanosecond)] {
        pair(width, &times);
    }
    for width in [DataType::Decimal32(9, 2), DataType::Decimal64(12, 2), DataType::Decimal128(10, 2)] {
        pair(width, &decimals);
    }
    pair(DataType::Decimal256(60, 2), &decimals);
    pairs
}

/// Two rows of lists in several layouts, and their canonical form.
fn list_pairs() -> Vec<(ArrayRef, ArrayRef)> {
    let item = |t: DataType| Arc::new(Field::new("element", t, true));
    let strings: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("b"), None, Some("a")]));
    let offsets = OffsetBuffer::from_lengths([2, 0, 2, 0]);
    let nulls = Some(vec![true, false, true, true].into());
    let list = ListArray::new(item(DataType::Utf8), offsets.clone(), strings.clone(), nulls.clone());
    let packed = cast(&strings, &text_type()).unwrap();
    let expected: ArrayRef =
        Arc::new(ListArray::new(Arc::new(Field::new("item", text_type(), true)), offsets, packed, nulls));
    let list: ArrayRef = Arc::new(list);
    let large = cast(&list, &DataType::LargeList(item(DataType::LargeUtf8))).unwrap();
    let numbers = |t: DataType, name: &str| -> FieldRef { Arc::new(Field::new(name, t, true)) };
    let fixed: ArrayRef = Arc::new(FixedSizeListArray::new(
        numbers(DataType::Int32, "item"),
        2,
        Arc::new(Int32Array::from(vec![1, 2, 3, 4])),
        None,
    ));
    let fixed_expected: ArrayRef = Arc::new(ListArray::new(
        numbers(DataType::Int64, "item"),
        OffsetBuffer::from_lengths([2, 2]),
        Arc::new(Int64Array::from(vec![1, 2, 3, 4])),
        None,
    ));
    vec![(list, expected.clone()), (large, expected), (fixed, fixed_expected)]
}

#[test]
fn every_type_becomes_canonical_from_every_format() {
    let directory = TempDir::new().unwrap();
    for (source, expected) in canonical_pairs().into_iter().chain(list_pairs()) {
        let batch = one(source.clone());
        let (parquet, arrow) = (directory.path().join("t.parquet"), directory.path().join("t.arrow"));
        let stream = directory.path().join("t.arrows");
        fs::write(&stream, stream_bytes(&batch, 2)).unwrap();
        write_arrow(&arrow, &batch, batch.num_rows(), None);
        write_parquet(&parquet, &batch, 2);
        for path in [parquet, arrow, stream] {
            let table = open(&[&path]).unwrap();
            let back = read(&table, &canonical(&["x"])).unwrap();
            let place = format!("{} from {}", source.data_type(), path.display());
            assert_eq!(back.column(0).data_type(), expected.data_type(), "{place}");
            assert_eq!(back.column(0).data_type(), &table.kind("x").unwrap().data_type(), "{place}");
            assert_eq!(back.num_rows(), expected.len(), "{place}");
            match expected.data_type() {
                DataType::Dictionary(..) => assert_eq!(texts(back.column(0)), texts(&expected), "{place}"),
                DataType::List(field) if matches!(field.data_type(), DataType::Dictionary(..)) => {
                    let plain = DataType::new_list(DataType::Utf8, true);
                    let (back, expected) = (cast(back.column(0), &plain), cast(&expected, &plain));
                    assert_eq!(&back.unwrap(), &expected.unwrap(), "{place}");
                }
                _ => assert_eq!(back.column(0), &expected, "{place}"),
            }
            let as_is = read(&table, &[ColumnRequest::as_is("x")]).unwrap();
            assert_eq!(as_is.column(0).data_type(), table.schema().field(0).data_type(), "{place}");
        }
    }
}

/// Twenty rows with a number, a text with nulls, and a flag.
fn sample() -> RecordBatch {
    let ages: ArrayRef = Arc::new(Int32Array::from_iter_values(0..20));
    let words: ArrayRef =
        Arc::new(StringArray::from_iter((0..20).map(|i| (i % 7 != 3).then(|| format!("w{}", i % 5)))));
    let flags: ArrayRef = Arc::new(BooleanArray::from_iter((0..20).map(|i| Some(i % 3 == 0))));
    RecordBatch::try_from_iter_with_nullable([
        ("age", ages, true),
        ("word", words, true),
        ("flag", flags, true),
    ])
    .unwrap()
}

fn sample_csv() -> String {
    let mut text = String::from("age,word,flag\n");
    for i in 0..20 {
        let word = if i % 7 == 3 { String::new() } else { format!("w{}", i % 5) };
        text.push_str(&format!("{i},{word},{}\n", i % 3 == 0));
    }
    text
}

#[test]
fn the_order_does_not_depend_on_threads_or_format() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    write_parquet(&path("a.parquet"), &sample(), 3);
    write_arrow(&path("a.arrow"), &sample(), 3, None);
    write_arrow(&path("lz4.feather"), &sample(), 7, Some(CompressionType::LZ4_FRAME));
    write_arrow(&path("zstd.ipc"), &sample(), 7, Some(CompressionType::ZSTD));
    fs::write(path("a.arrows"), stream_bytes(&sample(), 4)).unwrap();
    fs::write(path("a.csv"), sample_csv()).unwrap();
    fs::write(path("a.tsv"), sample_csv().replace(',', "\t")).unwrap();
    let columns = [
        ColumnRequest::canonical("flag"),
        ColumnRequest::canonical("word"),
        ColumnRequest::canonical("age"),
        ColumnRequest::as_is("word"),
    ];
    let expected = sample();
    for name in ["a.parquet", "a.arrow", "lz4.feather", "zstd.ipc", "a.arrows", "a.csv", "a.tsv"] {
        let table = open(&[&path(name)]).unwrap();
        for threads in [1, 2, 5] {
            let back = read_with(&table, &columns, threads).unwrap();
            assert_eq!(back.column(0), expected.column(2), "{name}");
            assert_eq!(texts(back.column(1)), texts(expected.column(1)), "{name}");
            assert_eq!(back.column(1).data_type(), &text_type());
            assert_eq!(texts(back.column(2)), texts(expected.column(0)), "{name}");
            assert_eq!(back.column(3), expected.column(1), "{name}");
        }
        assert_eq!(table.scans(), 3);
        assert!(table.rows().is_none_or(|rows| rows == 20));
    }
    // Every file, by name, of whatever format. A directory of them is not meant as one table.
    assert!(message(open(&[directory.path()])).contains("which may be the same rows twice"));
    let mut names: Vec<PathBuf> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let table = open(&names.iter().map(PathBuf::as_path).collect::<Vec<_>>()).unwrap();
    assert_eq!(table.files().len(), 7);
    assert_eq!(table.rows(), None);
    for threads in [1, 2, 5] {
        let back = read_with(&table, &canonical(&["age"]), threads).unwrap();
        let expected: Vec<String> = (0..140).map(|i| (i % 20).to_string()).collect();
        assert_eq!(texts(back.column(0)), expected);
    }
}

#[test]
fn rows_can_be_counted_without_columns() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    write_parquet(&path("a.parquet"), &sample(), 3);
    write_arrow(&path("a.arrow"), &sample(), 3, None);
    fs::write(path("a.csv"), sample_csv()).unwrap();
    for name in ["a.parquet", "a.arrow", "a.csv"] {
        let mut rows = 0;
        let count = |morsel: Morsel<'_>| morsel.map(|batch| Ok(batch?.num_rows())).sum::<Result<usize>>();
        let table = open(&[&path(name)]).unwrap();
        table
            .scan(&[], 2, count, |n| {
                rows += n;
                Ok(())
            })
            .unwrap();
        assert_eq!(rows, 20, "{name}");
    }
}

#[test]
fn only_needed_columns_are_read() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("t.parquet");
    let wide: ArrayRef = Arc::new(StringArray::from_iter_values((0..2000).map(|i| format!("{i:0>200}"))));
    let narrow: ArrayRef = Arc::new(BooleanArray::from_iter((0..2000).map(|i| Some(i % 2 == 0))));
    let batch = RecordBatch::try_from_iter([("wide", wide), ("narrow", narrow)]).unwrap();
    write_parquet(&path, &batch, 500);
    let bytes = |column: &str| {
        let table = open(&[&path]).unwrap();
        let before = table.page_bytes_read();
        read(&table, &canonical(&[column])).unwrap();
        table.page_bytes_read() - before
    };
    assert!(bytes("wide") > 2000 * 200);
    assert!(bytes("narrow") < 2000);
}

#[test]
fn a_dictionary_entry_that_is_null_is_a_null_row() {
    let entries = StringArray::from(vec![Some("a"), None, Some("a")]);
    let source =
        DictionaryArray::new(Int8Array::from(vec![Some(1), Some(0), None, Some(2)]), Arc::new(entries));
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("t.arrow");
    write_arrow(&path, &one(Arc::new(source)), 4, None);
    let back = read(&open(&[&path]).unwrap(), &canonical(&["x"])).unwrap();
    assert_eq!(texts(back.column(0)), ["~", "a", "~", "a"]);
    assert_eq!(back.column(0).null_count(), 2);
}

#[test]
fn a_file_of_nulls_agrees_with_a_typed_one() {
    let directory = TempDir::new().unwrap();
    let (nulls, numbers) = (directory.path().join("a.parquet"), directory.path().join("b.parquet"));
    write_parquet(&nulls, &one(Arc::new(NullArray::new(2))), 10);
    write_parquet(&numbers, &one(Arc::new(Int16Array::from(vec![7]))), 10);
    for paths in [[&*nulls, &*numbers], [&*numbers, &*nulls]] {
        let table = open(&paths).unwrap();
        assert_eq!(table.kind("x").unwrap(), ColumnKind::Integer);
        for column in [ColumnRequest::canonical("x"), ColumnRequest::as_is("x")] {
            let back = read(&table, &[column]).unwrap();
            assert_eq!((back.num_rows(), back.column(0).null_count()), (3, 2));
        }
    }
    let table = open(&[&nulls]).unwrap();
    assert_eq!(read(&table, &canonical(&["x"])).unwrap().column(0).data_type(), &text_type());
}

#[test]
fn a_pipe_is_read_as_often_as_needed() {
    let options = ReadOptions { batch_rows: 3, ..Default::default() };
    let mut file = FileWriter::try_new(Vec::new(), &sample().schema()).unwrap();
    file.write(&sample()).unwrap();
    let inputs = [sample_csv().into_bytes(), stream_bytes(&sample(), 6), file.into_inner().unwrap()];
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("t.parquet");
    write_parquet(&path, &sample(), 10);
    let spool = SpoolPlace { directory: directory.path().into(), ..Default::default() };
    let options = ReadOptions { spool, ..options };
    for input in inputs.into_iter().chain([fs::read(&path).unwrap()]) {
        let table = Table::from_reader("-", Box::new(Cursor::new(input)), &options).unwrap();
        for threads in [1, 2, 5] {
            let back = read_with(&table, &canonical(&["word", "age"]), threads).unwrap();
            assert_eq!(texts(back.column(0)), texts(sample().column(1)));
            assert_eq!(texts(back.column(1)), texts(sample().column(0)));
        }
        // The copy has no name.
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
    assert!(message(Table::from_reader("-", Box::new(std::io::empty()), &options)).contains("empty"));
}

#[test]
fn files_must_agree() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    let numbers = |t: DataType| cast(&(Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef), &t).unwrap();
    write_parquet(&path("wide.parquet"), &one(numbers(DataType::Int64)), 10);
    write_parquet(&path("narrow.parquet"), &one(numbers(DataType::Int16)), 10);
    write_parquet(&path("text.parquet"), &one(numbers(DataType::Utf8)), 10);
    write_parquet(&path("other.parquet"), &sample(), 10);

    let table = open(&[&path("wide.parquet"), &path("narrow.parquet")]).unwrap();
    assert_eq!(texts(read(&table, &canonical(&["x"])).unwrap().column(0)), ["1", "2", "1", "2"]);
    let kept = message(read(&table, &[ColumnRequest::as_is("x")]));
    assert!(kept.contains("narrow.parquet") && kept.contains("`x` is Int16"), "{kept}");

    let text = message(open(&[&path("wide.parquet"), &path("text.parquet")]));
    assert!(text.contains("text.parquet: column `x` is Utf8, and Int64 in"), "{text}");
    let other = message(open(&[&path("wide.parquet"), &path("other.parquet")]));
    assert!(other.contains("other.parquet: column `age` is not in"), "{other}");
    let twice = message(open(&[&path("wide.parquet"), directory.path()]));
    assert!(twice.contains("given twice"), "{twice}");
}

#[test]
fn the_order_of_columns_may_differ_between_files() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("a.csv"), "x,y\n1,a\n").unwrap();
    fs::write(directory.path().join("b.csv"), "y,x\nb,2\n").unwrap();
    let back = read(&open(&[directory.path()]).unwrap(), &canonical(&["y", "x"])).unwrap();
    assert_eq!(texts(back.column(0)), ["a", "b"]);
    assert_eq!(texts(back.column(1)), ["1", "2"]);
}

#[test]
fn csv_types_are_guessed_from_all_files() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("a.csv"), "zip,age,note\n12345,1,\n").unwrap();
    fs::write(directory.path().join("b.csv"), "zip,age,note\n01234,2.5,\n").unwrap();
    let table = open(&[directory.path()]).unwrap();
    assert_eq!(table.kind("zip").unwrap(), ColumnKind::Text);
    assert_eq!(table.kind("age").unwrap(), ColumnKind::Float);
    assert_eq!(table.kind("note").unwrap(), ColumnKind::Text);
    let back = read(&table, &canonical(&["zip", "age"])).unwrap();
    assert_eq!(texts(back.column(0)), ["12345", "01234"]);
}

#[test]
fn codes_that_are_declared_as_text_are_texts_in_every_format() {
    let directory = TempDir::new().unwrap();
    let (parquet, csv) = (directory.path().join("a.parquet"), directory.path().join("b.csv"));
    let columns: [(&str, ArrayRef); 4] = [
        ("sex", Arc::new(Int8Array::from(vec![Some(1), None, Some(-2)]))),
        ("big", Arc::new(UInt64Array::from(vec![u64::MAX, 0, 7]))),
        ("insured", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("wage", Arc::new(Float64Array::from(vec![1.5, 2.0, 3.0]))),
    ];
    write_parquet(&parquet, &RecordBatch::try_from_iter(columns).unwrap(), 2);
    fs::write(&csv, "sex,big,insured,wage\n01,5,false,4.5\n").unwrap();
    let types = ["sex", "big", "insured", "wage"].map(|name| (name.to_string(), CsvType::Text));
    let options =
        ReadOptions { types: types[..3].iter().cloned().collect(), batch_rows: 3, ..Default::default() };
    let table = Table::open(&[parquet.clone(), csv.clone()], &options).unwrap();
    assert_eq!(table.kind("sex").unwrap(), ColumnKind::Text);
    let names = ["sex", "big", "insured"];
    let as_is = names.map(ColumnRequest::as_is);
    for columns in [&canonical(&names)[..], &as_is] {
        let back = read(&table, columns).unwrap();
        let plain = |at: usize| cast(back.column(at), &DataType::Utf8).unwrap();
        let expected = [
            vec![Some("1"), None, Some("-2"), Some("01")],
            vec![Some("18446744073709551615"), Some("0"), Some("7"), Some("5")],
            vec![Some("true"), Some("false"), Some("true"), Some("false")],
        ];
        for (at, expected) in expected.into_iter().enumerate() {
            assert_eq!(plain(at).as_string::<i32>(), &StringArray::from(expected));
        }
    }
    // A fraction has several texts: how it is stored decides.
    let options = ReadOptions { types: types.into(), ..Default::default() };
    assert_eq!(Table::open(&[parquet], &options).unwrap().kind("wage").unwrap(), ColumnKind::Float);
}

#[test]
fn missing_and_unusable_columns_are_named() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("t.parquet");
    let blob: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"secret"]));
    let batch = RecordBatch::try_from_iter([("disease", blob)]).unwrap();
    write_parquet(&path, &batch, 10);
    let table = open(&[&path]).unwrap();
    let near = message(read(&table, &canonical(&["diseases"])));
    assert!(near.contains("no column `diseases`") && near.contains("did you mean `disease`?"), "{near}");
    let binary = message(read(&table, &canonical(&["disease"])));
    assert!(binary.contains("`disease` is Binary") && binary.contains("drop it"), "{binary}");
    assert_eq!(table.scans(), 0);
    assert_eq!(read(&table, &[ColumnRequest::as_is("disease")]).unwrap().column(0), batch.column(0));
}

#[test]
fn a_number_that_does_not_fit_is_not_quoted() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("t.arrow");
    let huge = i256::from_string("987654321987654321987654321987654321987654321").unwrap();
    let huge = Decimal256Array::from(vec![huge]).with_precision_and_scale(60, 0).unwrap();
    write_arrow(&path, &one(Arc::new(huge)), 10, None);
    let error = message(read(&open(&[&path]).unwrap(), &canonical(&["x"])));
    assert!(
        error.contains("column `x` holds a value that does not fit") && !error.contains("9876"),
        "{error}"
    );
}

#[test]
fn places_without_tables_are_refused() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path(".hidden.csv"), "x\n1\n").unwrap();
    fs::write(path("readme.txt"), "x\n1\n").unwrap();
    let none = message(open(&[directory.path()]));
    assert!(none.contains("holds no table") && none.contains(".parquet"), "{none}");
    assert!(message(open(&[])).contains("no table is given"));
    assert!(matches!(open(&[&path("absent.csv")]), Err(Error::Io { .. })));
    for name in ["e.csv", "e.parquet", "e.arrow"] {
        fs::write(path(name), "").unwrap();
        assert!(message(open(&[&path(name)])).contains("the file is empty"), "{name}");
    }
    fs::write(path("lie.parquet"), "x,y\n1,2\n").unwrap();
    assert!(message(open(&[&path("lie.parquet")])).contains("not a Parquet file"));
    fs::write(path("lie.arrow"), "x,y\n1,2\n").unwrap();
    assert!(message(open(&[&path("lie.arrow")])).contains("not an Arrow IPC file"));
}

#[test]
fn truncated_files_are_errors() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    write_parquet(&path("t.parquet"), &sample(), 5);
    write_arrow(&path("t.arrow"), &sample(), 5, None);
    for name in ["t.parquet", "t.arrow"] {
        let whole = fs::read(path(name)).unwrap();
        for length in (0..whole.len()).step_by(7) {
            fs::write(path(name), &whole[..length]).unwrap();
            assert!(open(&[&path(name)]).is_err(), "{name} {length}");
        }
    }
}

#[test]
fn the_first_error_wins_whatever_the_threads() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("t.parquet");
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..400));
    write_parquet(&path, &one(numbers), 8);
    let table = open(&[&path]).unwrap();
    for threads in [1, 2, 5] {
        let mut consumed = 0;
        let result = table.scan(
            &canonical(&["x"]),
            threads,
            |morsel| match morsel.index() {
                index @ (11 | 12 | 30) => Err(Error::input(format!("morsel {index}"), "")),
                _ => morsel.map(|batch| Ok(batch?.num_rows())).sum::<Result<usize>>(),
            },
            |rows| {
                consumed += rows;
                Ok(())
            },
        );
        assert!(message(result).starts_with("morsel 11"));
        assert_eq!(consumed, 11 * 8);

        let stop = table.scan(
            &canonical(&["x"]),
            threads,
            |morsel| Ok(morsel.index()),
            |index| {
                if index == 3 { Err(Error::defect("enough")) } else { Ok(()) }
            },
        );
        assert!(matches!(stop, Err(Error::Defect { .. })));
    }
}

#[test]
fn a_late_failure_does_not_hide_an_earlier_one() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("t.parquet");
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..400));
    write_parquet(&path, &one(numbers), 8);
    let table = open(&[&path]).unwrap();
    for threads in [2, 5] {
        let failed = AtomicBool::new(false);
        let result = table.scan(
            &canonical(&["x"]),
            threads,
            |morsel| match morsel.index() {
                11 => {
                    while !failed.load(Ordering::SeqCst) {
                        std::thread::yield_now();
                    }
                    // Let the failure of the next morsel take effect before this one is read.
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    let rows = morsel.map(|batch| Ok(batch?.num_rows())).sum::<Result<usize>>()?;
                    Err(Error::input(format!("morsel 11 with {rows} rows"), ""))
                }
                12 => {
                    failed.store(true, Ordering::SeqCst);
                    Err(Error::input("morsel 12", ""))
                }
                _ => Ok(()),
            },
            |()| Ok(()),
        );
        assert!(message(result).starts_with("morsel 11 with 8 rows"));
    }
}

#[test]
fn a_file_that_contradicts_itself_about_its_rows_is_damaged() {
    for announced in [19, 21] {
        let decode =
            || -> Result<scan::Batches<'static>> { Ok(Box::new(std::iter::once(Ok(sample().into())))) };
        let piece =
            move || scan::Piece { rows: announced, need: Default::default(), decode: Box::new(decode) };
        let open = move || -> Result<scan::Pieces<'static>> {
            Ok(Box::new(std::iter::once_with(move || Ok(piece()))))
        };
        let rows_found = Box::leak(Box::default());
        let file = scan::FileScan { path: Path::new("t"), rows_found, open: Box::new(open) };
        let read = |mut morsel: Morsel<'_>| morsel.try_for_each(|batch| batch.map(drop));
        let room = Box::leak(Box::new(room::DecodeRoom::new(None)));
        let result = scan::scan(vec![file], room, 2.into(), &read, &mut |_| Ok(()));
        assert!(message(result).contains("does not hold the rows it announces"));
    }
}

#[test]
fn a_slice_of_a_list_keeps_its_own_items() {
    let (list, expected) = list_pairs().swap_remove(0);
    let kind = ColumnKind::of(list.data_type()).unwrap();
    let plain = DataType::new_list(DataType::Utf8, true);
    let back = kind.canonical(&list.slice(2, 2)).unwrap();
    assert_eq!(&cast(&back, &plain).unwrap(), &cast(&expected.slice(2, 2), &plain).unwrap());
    assert_eq!(back.as_list::<i32>().values().len(), 2);
}

#[test]
fn views_and_runs_become_canonical_too() {
    let (list, _) = list_pairs().swap_remove(0);
    let plain = DataType::new_list(DataType::Utf8, true);
    let DataType::List(item) = list.data_type().clone() else { panic!("a list") };
    for layout in [DataType::ListView(item.clone()), DataType::LargeListView(item)] {
        let view = cast(&list, &layout).unwrap();
        let back = ColumnKind::of(&layout).unwrap().canonical(&view).unwrap();
        assert_eq!(&cast(&back, &plain).unwrap(), &cast(&list, &plain).unwrap(), "{layout}");
    }
    let words: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("a"), None]));
    let ends = Arc::new(Field::new("run_ends", DataType::Int32, false));
    let runs = DataType::RunEndEncoded(ends, Arc::new(Field::new("values", DataType::Utf8, true)));
    let back = ColumnKind::of(&runs).unwrap().canonical(&cast(&words, &runs).unwrap()).unwrap();
    assert_eq!((back.data_type(), texts(&back)), (&text_type(), texts(&words)));
    assert_eq!(ColumnKind::of(&DataType::new_list(plain, true)), None);
    assert_eq!(ColumnKind::of(&DataType::Binary), None);
}

#[test]
fn a_panic_of_the_work_reaches_the_caller() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("t.csv");
    fs::write(&path, sample_csv()).unwrap();
    let table = open(&[&path]).unwrap();
    for threads in [1, 2, 5] {
        let scan = std::panic::AssertUnwindSafe(|| {
            let work = |morsel: Morsel<'_>| {
                assert!(morsel.index() < 2, "a bug");
                Ok(())
            };
            table.scan(&canonical(&["age"]), threads, work, |()| Ok(()))
        });
        assert!(std::panic::catch_unwind(scan).is_err());
    }
    assert!(!panic_is_contained());
}

#[test]
fn a_panic_of_a_decoder_is_a_damaged_file() {
    let hook_saw_it = contain::contain(Path::new("t.parquet"), || -> Result<()> {
        assert!(panic_is_contained());
        panic!("a cell")
    });
    let error = message(hook_saw_it);
    assert!(error.starts_with("t.parquet") && !error.contains("a cell"), "{error}");
    assert!(!panic_is_contained());
}

mod damaged_files {
    //! Whatever the bytes: an answer or an error, no panic, no endless loop.

    use super::*;
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;

    /// One change to the bytes of a file.
    #[derive(Debug, Clone)]
    enum Damage {
        Flip { at: usize, bit: u8 },
        Set { at: usize, to: u8 },
        Cut { at: usize },
        Splice { from: usize, to: usize, length: usize },
        Drop { at: usize, length: usize },
    }

    impl Damage {
        fn apply(&self, bytes: &mut Vec<u8>) {
            let size = bytes.len().max(1);
            if bytes.is_empty() {
                return;
            }
            match *self {
                // Counted from the end as often as from the start: that is where footers are.
                Damage::Flip { at, bit } => bytes[at % size] ^= 1 << (bit % 8),
                Damage::Set { at, to } => bytes[size - 1 - at % size] = to,
                Damage::Cut { at } => bytes.truncate(at % size),
                Damage::Splice { from, to, length } => {
                    let from = from % size;
                    let piece = bytes[from..(from + length % 64).min(size)].to_vec();
                    let to = to % size;
                    bytes.splice(to..to, piece);
                }
                Damage::Drop { at, length } => {
                    let at = at % size;
                    bytes.drain(at..(at + length % 16).min(size));
                }
            }
        }
    }

    fn damage() -> impl Strategy<Value = Damage> {
        let at = || any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20));
        prop_oneof![
            4 => (at(), any::<u8>()).prop_map(|(at, bit)| Damage::Flip { at, bit }),
            4 => (at(), any::<u8>()).prop_map(|(at, to)| Damage::Set { at, to }),
            1 => at().prop_map(|at| Damage::Cut { at }),
            1 => (at(), at(), at()).prop_map(|(from, to, length)| Damage::Splice { from, to, length }),
            1 => (at(), at()).prop_map(|(at, length)| Damage::Drop { at, length }),
        ]
    }

    fn rich() -> RecordBatch {
        let base = sample();
        let lists = ListArray::new(
            Arc::new(Field::new("item", DataType::Utf8, true)),
            OffsetBuffer::from_lengths((0..20).map(|i| i % 3)),
            Arc::new(StringArray::from_iter_values((0..19).map(|i| format!("v{i}")))),
            None,
        );
        let packed = cast(base.column(1), &text_type()).unwrap();
        let floats = cast(base.column(0), &DataType::Float32).unwrap();
        let decimals = cast(base.column(0), &DataType::Decimal128(10, 2)).unwrap();
        let columns: [(&str, ArrayRef, bool); 7] = [
            ("age", base.column(0).clone(), true),
            ("word", base.column(1).clone(), true),
            ("flag", base.column(2).clone(), true),
            ("list", Arc::new(lists), true),
            ("packed", packed, true),
            ("float", floats, true),
            ("decimal", decimals, true),
        ];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    fn originals() -> Vec<(&'static str, Vec<u8>)> {
        let directory = TempDir::new().unwrap();
        let path = |name: &str| directory.path().join(name);
        write_parquet(&path("t.parquet"), &rich(), 6);
        write_arrow(&path("t.arrow"), &rich(), 6, None);
        write_arrow(&path("t.ipc"), &rich(), 6, Some(CompressionType::ZSTD));
        write_arrow(&path("t.feather"), &rich(), 6, Some(CompressionType::LZ4_FRAME));
        fs::write(path("t.arrows"), stream_bytes(&rich(), 6)).unwrap();
        fs::write(path("t.csv"), sample_csv().replace("w2", "\"w,\"\"2\r\n\"")).unwrap();
        ["t.parquet", "t.arrow", "t.ipc", "t.feather", "t.arrows", "t.csv"]
            .map(|name| (name, fs::read(path(name)).unwrap()))
            .into()
    }

    /// Opens and reads everything that the damaged file claims to contain.
    fn survive(name: &str, bytes: &[u8]) -> Result<()> {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        let table = open(&[&path])?;
        let names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
        for form in [ColumnForm::Canonical, ColumnForm::AsIs] {
            let columns: Vec<ColumnRequest> = names
                .iter()
                .filter(|name| form == ColumnForm::AsIs || table.kind(name).is_ok())
                .map(|name| ColumnRequest { name: name.clone(), form })
                .collect();
            table.scan(
                &columns,
                2,
                |morsel| {
                    // A file may claim to be endless; a thousand batches are enough to test reading it.
                    for batch in morsel.take(1000) {
                        batch?;
                    }
                    Ok(())
                },
                |()| Ok(()),
            )?;
        }
        Ok(())
    }

    #[test]
    fn undamaged_files_are_read() {
        for (name, bytes) in originals() {
            survive(name, &bytes).unwrap();
        }
    }

    #[test]
    fn damaged_files_never_panic() {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !panic_is_contained() {
                print(info);
            }
        }));
        let originals = originals();
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let strategy = (0..originals.len(), prop::collection::vec(damage(), 1..4));
        for _ in 0..1500 {
            let (file, damages) = strategy.new_tree(&mut runner).unwrap().current();
            let (name, mut bytes) = originals[file].clone();
            damages.iter().for_each(|damage| damage.apply(&mut bytes));
            // Ok and Err are both fine.
            let _ = survive(name, &bytes);
        }
    }
}
