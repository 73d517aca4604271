use super::slab::SLAB_ROWS;
use super::writer::{Compression, StoredStatistics};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, ListArray,
    RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_cast::cast;
use arrow_ipc::reader::FileReader as ArrowFileReader;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::take::take;
use proptest::prelude::*;

use super::*;
use crate::error::Error;

const FORMATS: [&str; 3] = ["parquet", "arrow", "csv"];

/// Small pseudo-random numbers.
fn noise(row: usize) -> u64 {
    (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

fn labels(row: usize) -> Option<String> {
    (!noise(row).is_multiple_of(11)).then(|| format!("label {}", noise(row / 37) % 60))
}

fn dictionary(texts: impl IntoIterator<Item = Option<String>>) -> ArrayRef {
    let array: DictionaryArray<Int32Type> =
        texts.into_iter().collect::<Vec<_>>().iter().map(|text| text.as_deref()).collect();
    Arc::new(array)
}

/// A table with common types, nulls, runs, and more rows than a slab and a row group.
fn table(rows: usize) -> RecordBatch {
    let all = || 0..rows;
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("number", Arc::new(Int64Array::from_iter_values(all().map(|row| row as i64))), false),
        (
            "some",
            Arc::new(all().map(|r| (r % 7 != 0).then(|| noise(r) as i32)).collect::<Int32Array>()),
            true,
        ),
        ("real", Arc::new(Float64Array::from_iter_values(all().map(|r| noise(r) as f64 / 8.0))), false),
        ("flag", Arc::new(all().map(|r| (r % 5 != 0).then_some(r % 3 == 0)).collect::<BooleanArray>()), true),
        ("text", Arc::new(all().map(labels).collect::<StringArray>()), true),
        ("label", dictionary(all().map(labels)), true),
        ("run", dictionary(all().map(|row| Some(format!("[{},{})", row / 500, row / 500 + 1)))), false),
        (
            "time",
            Arc::new(TimestampMicrosecondArray::from_iter_values(all().map(|row| row as i64 * 1_000_000))),
            false,
        ),
    ];
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, column, nullable)| Field::new(*name, column.data_type().clone(), *nullable))
        .collect();
    RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        columns.into_iter().map(|(_, column, _)| column).collect(),
    )
    .expect("a table")
}

fn options(threads: usize) -> WriteOptions {
    WriteOptions { threads, row_group_rows: 100_000, ..WriteOptions::default() }
}

fn write_cut(path: &Path, table: &RecordBatch, cuts: &[usize], options: &WriteOptions) -> Vec<u8> {
    let mut writer = TableWriter::create(path, table.schema(), options).expect("create");
    let mut start = 0;
    for rows in cuts.iter().copied().cycle() {
        let rows = rows.min(table.num_rows() - start);
        writer.write(&table.slice(start, rows)).expect("write");
        start += rows;
        if start == table.num_rows() {
            break;
        }
    }
    let written = writer.finish().expect("finish");
    let bytes = fs::read(path).expect("the file");
    assert_eq!(written, WrittenFile { rows: table.num_rows() as u64, bytes: bytes.len() as u64 });
    bytes
}

fn read_parquet(path: &Path) -> RecordBatch {
    let file = fs::File::open(path).expect("open");
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file");
    let schema = builder.schema().clone();
    let batches: Vec<_> = builder.build().expect("reader").map(|batch| batch.expect("batch")).collect();
    concat_batches(&schema, &batches).expect("one table")
}

fn plain(batch: &RecordBatch) -> Vec<ArrayRef> {
    let decoded = |column: &ArrayRef| match column.data_type() {
        DataType::Dictionary(_, value) => cast(column, value).expect("cast"),
        _ => column.clone(),
    };
    batch.columns().iter().map(decoded).collect()
}

#[test]
fn bytes_depend_on_the_rows_alone() {
    let folder = tempfile::tempdir().expect("folder");
    let table = table(150_003);
    for format in FORMATS {
        let path = folder.path().join(format!("t.{format}"));
        let whole = write_cut(&path, &table, &[usize::MAX], &options(1));
        for (threads, cuts) in
            [(2, vec![usize::MAX]), (1, vec![1000, 1, 0, 70_001]), (3, vec![65_536]), (2, vec![777])]
        {
            let cut = write_cut(&path, &table, &cuts, &options(threads));
            assert!(whole == cut, "{format}, {threads} threads, cuts {cuts:?}");
        }
    }
}

#[test]
fn what_was_written_is_read_back() {
    let folder = tempfile::tempdir().expect("folder");
    let table = table(150_003);
    let parquet = folder.path().join("t.parquet");
    for statistics in [StoredStatistics::None, StoredStatistics::RowGroup, StoredStatistics::Page] {
        for compression in [Compression::None, Compression::Fast, Compression::Small] {
            let options = WriteOptions { statistics, compression, ..options(2) };
            write_cut(&parquet, &table, &[9_999], &options);
            assert!(plain(&read_parquet(&parquet)) == plain(&table), "{options:?}");
        }
    }
    let arrow = folder.path().join("t.feather");
    write_cut(&arrow, &table, &[9_999], &options(2));
    let reader = ArrowFileReader::try_new(fs::File::open(arrow).expect("open"), None).expect("an Arrow file");
    let schema = reader.schema();
    let batches: Vec<_> = reader.map(|batch| batch.expect("batch")).collect();
    assert!(batches.iter().all(|batch| batch.num_rows() <= SLAB_ROWS));
    assert!(concat_batches(&schema, &batches).expect("one table").columns() == plain(&table));

    let csv = folder.path().join("t.csv");
    let text = String::from_utf8(write_cut(&csv, &table, &[9_999], &options(2))).expect("text");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("number,some,real,flag,text,label,run,time"));
    assert_eq!(lines.next(), Some("0,,1296111.125,,label 49,label 49,\"[0,1)\",1970-01-01T00:00:00"));
    assert_eq!(lines.count(), 150_002);
}

#[test]
fn row_groups_are_cut_by_rows() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("t.parquet");
    write_cut(&path, &table(250_000), &[30_000], &options(2));
    let reader = SerializedFileReader::new(fs::File::open(&path).expect("open")).expect("a Parquet file");
    let rows: Vec<i64> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(rows, [100_000, 100_000, 50_000]);
}

#[test]
fn an_empty_table_has_a_schema() {
    let folder = tempfile::tempdir().expect("folder");
    let table = table(0);
    for format in FORMATS {
        let path = folder.path().join(format!("t.{format}"));
        let bytes = write_cut(&path, &table, &[1], &options(1));
        assert!(!bytes.is_empty(), "{format}");
    }
    let parquet = read_parquet(&folder.path().join("t.parquet"));
    assert_eq!((parquet.num_rows(), parquet.num_columns()), (0, 8));
}

#[test]
fn the_layout_of_a_dictionary_does_not_reach_the_file() {
    let folder = tempfile::tempdir().expect("folder");
    let texts =
        StringArray::from(vec![Some("unseen secret"), Some("b"), Some("a"), None, Some("b"), Some("c")]);
    let keys: Int32Array = (0..1000).map(|row| (row % 9 != 0).then_some(1 + (row / 13) % 5)).collect();
    let unusual: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(texts)));
    let plain = cast(&unusual, &DataType::Utf8).expect("cast");
    let usual = cast(&plain, unusual.data_type()).expect("cast");
    let schema = Arc::new(Schema::new(vec![Field::new("c", usual.data_type().clone(), true)]));
    for format in FORMATS {
        let path = folder.path().join(format!("t.{format}"));
        let options = WriteOptions { compression: Compression::None, ..options(1) };
        let [one, other] = [&unusual, &usual].map(|column| {
            let table = RecordBatch::try_new(schema.clone(), vec![column.clone()]).expect("table");
            write_cut(&path, &table, &[usize::MAX], &options)
        });
        assert!(one == other, "{format}");
        assert!(!one.windows(6).any(|window| window == b"secret"), "{format}");
    }
    assert!(read_parquet(&folder.path().join("t.parquet")).column(0) == &plain);
}

#[test]
fn what_lies_under_a_null_does_not_reach_the_file() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("t.arrow");
    let valid: Vec<bool> = (0..1000).map(|row| row % 3 != 0).collect();
    let schema = Arc::new(Schema::new(vec![Field::new("c", DataType::Int32, true)]));
    let [one, other] = [0, 7].map(|hidden| {
        let numbers = valid.iter().map(|&valid| if valid { 5 } else { hidden }).collect::<Vec<i32>>();
        let array = Int32Array::new(numbers.into(), Some(valid.clone().into()));
        let table = RecordBatch::try_new(schema.clone(), vec![Arc::new(array)]).expect("table");
        write_cut(&path, &table, &[usize::MAX], &options(1))
    });
    assert!(one == other);
}

#[test]
fn metadata_of_a_source_does_not_reach_the_file() {
    let folder = tempfile::tempdir().expect("folder");
    let note = || HashMap::from([("note".to_string(), "from the ward".to_string())]);
    let field = Field::new("c", DataType::Int32, false).with_metadata(note());
    let schema = Arc::new(Schema::new(vec![field]).with_metadata(note()));
    let table = RecordBatch::try_new(schema, vec![Arc::new(Int32Array::from(vec![1, 2]))]).expect("table");
    for format in FORMATS {
        let path = folder.path().join(format!("t.{format}"));
        let bytes = write_cut(&path, &table, &[usize::MAX], &options(1));
        assert!(!bytes.windows(4).any(|window| window == b"ward"), "{format}");
        assert!(!bytes.windows(12).any(|window| window == b"ARROW:schema"), "{format}");
    }
}

#[test]
fn statistics_are_those_of_the_column() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("t.parquet");
    let texts = ["m", "b", "x", "b"].into_iter().map(|text| Some(text.to_string())).chain([None]);
    let column = dictionary(texts);
    let schema = Arc::new(Schema::new(vec![Field::new("c", column.data_type().clone(), true)]));
    let table = RecordBatch::try_new(schema, vec![column]).expect("table");
    for (statistics, expected) in [
        (StoredStatistics::None, None),
        (StoredStatistics::RowGroup, Some(("b", "x"))),
        (StoredStatistics::Page, Some(("b", "x"))),
    ] {
        write_cut(&path, &table, &[usize::MAX], &WriteOptions { statistics, ..options(1) });
        let reader = SerializedFileReader::new(fs::File::open(&path).expect("open")).expect("a Parquet file");
        let found = reader.metadata().row_group(0).column(0).statistics().map(|found| {
            assert_eq!(found.null_count_opt(), Some(1));
            (
                found.min_bytes_opt().expect("least").to_vec(),
                found.max_bytes_opt().expect("greatest").to_vec(),
            )
        });
        let expected =
            expected.map(|(least, greatest)| (least.as_bytes().to_vec(), greatest.as_bytes().to_vec()));
        assert_eq!(found, expected, "{statistics:?}");
    }
}

#[test]
fn lists_reach_parquet_and_arrow_but_not_csv() {
    let folder = tempfile::tempdir().expect("folder");
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..1000).map(|row| (row % 4 != 0).then(|| (0..row % 5).map(Some).collect::<Vec<_>>())),
    );
    let schema = Arc::new(Schema::new(vec![Field::new("c", lists.data_type().clone(), true)]));
    let table = RecordBatch::try_new(schema.clone(), vec![Arc::new(lists)]).expect("table");
    let path = folder.path().join("t.parquet");
    write_cut(&path, &table, &[333], &options(2));
    let read = read_parquet(&path);
    assert!((0..1000).all(|row| {
        let [ours, theirs] = [&table, &read].map(|table| table.column(0).as_list::<i32>().clone());
        ours.is_null(row) == theirs.is_null(row)
            && (ours.is_null(row) || ours.value(row) == theirs.value(row))
    }));
    write_cut(&folder.path().join("t.arrow"), &table, &[333], &options(2));
    let csv = folder.path().join("t.csv");
    let Err(Error::Input { problem, .. }) = TableWriter::create(&csv, schema, &options(1)) else { panic!() };
    assert!(problem.contains("column c"), "{problem}");
    assert!(!csv.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_with_the_path() {
    let folder = tempfile::tempdir().expect("folder");
    let table = table(150_003);
    for format in FORMATS {
        let path = folder.path().join(format!("full.{format}"));
        std::os::unix::fs::symlink("/dev/full", &path).expect("link");
        let result = (|| {
            let mut writer = TableWriter::create(&path, table.schema(), &options(2))?;
            writer.write(&table)?;
            writer.finish()
        })();
        let Err(Error::Io { path: reported, source }) = result else { panic!("{format}: {result:?}") };
        assert_eq!((reported, source.kind()), (path.clone(), std::io::ErrorKind::StorageFull));
        assert!(path.is_symlink(), "a device is not ours to remove");
    }
}

#[test]
fn an_unfinished_file_is_removed() {
    let folder = tempfile::tempdir().expect("folder");
    let table = table(10);
    for format in FORMATS {
        let path = folder.path().join(format!("t.{format}"));
        let mut writer = TableWriter::create(&path, table.schema(), &options(1)).expect("create");
        writer.write(&table).expect("write");
        assert!(path.exists());
        drop(writer);
        assert!(!path.exists(), "{format}");
    }
}

fn problem(path: PathBuf, schema: SchemaRef, options: &WriteOptions) -> Error {
    TableWriter::create(path, schema, options).err().expect("an error")
}

#[test]
fn bad_calls_are_errors() {
    let folder = tempfile::tempdir().expect("folder");
    let table = table(10);
    let at = |name: &str| folder.path().join(name);
    for name in ["t.xlsx", "t", ".parquet"] {
        assert!(matches!(problem(at(name), table.schema(), &options(1)), Error::Input { .. }), "{name}");
    }
    assert!(matches!(problem(at("none/t.csv"), table.schema(), &options(1)), Error::Io { .. }));
    let none = WriteOptions { row_group_rows: 0, ..options(1) };
    assert!(matches!(problem(at("t.csv"), table.schema(), &none), Error::Input { .. }));
    assert!(matches!(problem(at("t.csv"), table.schema(), &options(0)), Error::Input { .. }));
    let mut writer = TableWriter::create(at("t.parquet"), table.schema(), &options(1)).expect("create");
    let fewer = table.project(&[0]).expect("project");
    assert!(matches!(writer.write(&fewer), Err(Error::Input { .. })));
    let swapped = table.project(&[1, 0, 2, 3, 4, 5, 6, 7]).expect("project");
    assert!(matches!(writer.write(&swapped), Err(Error::Input { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Runs of every length with codes of every width, with and without nulls, across pages.
    #[test]
    fn runs_are_read_back(
        distinct in prop_oneof![1u32..5, 5u32..300, 300u32..70_000],
        runs in prop::collection::vec((any::<u32>(), prop_oneof![1usize..4, 4usize..30, Just(300_000)]), 1..200),
        null_every in prop_oneof![Just(u32::MAX), 1u32..6],
    ) {
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..distinct).map(|code| format!("t{code}"))));
        let mut keys = Vec::new();
        for (number, length) in runs {
            let key = (null_every == u32::MAX || number % null_every != 0).then_some((number % distinct) as i32);
            keys.resize((keys.len() + length).min(1_000_000), key);
        }
        let keys = Int32Array::from(keys);
        let expected = take(&texts, &keys, None).expect("take");
        let nullable = null_every != u32::MAX;
        let column: ArrayRef = Arc::new(DictionaryArray::new(keys, texts));
        let schema = Arc::new(Schema::new(vec![Field::new("c", column.data_type().clone(), nullable)]));
        let table = RecordBatch::try_new(schema, vec![column]).expect("table");
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("t.parquet");
        write_cut(&path, &table, &[usize::MAX], &WriteOptions { row_group_rows: 400_000, ..options(1) });
        prop_assert!(read_parquet(&path).column(0) == &expected);
    }
}
