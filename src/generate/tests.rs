use super::synthetic::CHUNK_ROWS;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_cast::cast;
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;

use super::*;
use crate::error::Error;

const KINDS: [Generator; 3] = [Generator::Agrawal, Generator::Groups, Generator::Census];

fn rows_of(generator: Generator, rows: u64, seed: u64) -> RecordBatch {
    SyntheticTable { generator, rows, seed }.batch(0..rows).expect("rows")
}

fn ints(table: &RecordBatch, name: &str) -> Vec<i32> {
    table.column_by_name(name).expect("column").as_primitive::<Int32Type>().values().to_vec()
}

fn texts(table: &RecordBatch, name: &str) -> Vec<String> {
    let column = cast(table.column_by_name(name).expect("column"), &DataType::Utf8).expect("texts");
    column.as_string::<i32>().iter().map(|text| text.expect("no nulls").to_string()).collect()
}

fn file(generator: Generator, extension: &str, rows: u64, threads: usize, folder: &Path) -> Vec<u8> {
    let path = folder.join(format!("t.{extension}"));
    let written =
        write(&SyntheticTable { generator, rows, seed: 3 }, &path, threads, &mut |_| {}).expect("written");
    assert_eq!(written.rows, rows);
    fs::read(path).expect("the file")
}

#[test]
fn threads_change_no_byte() {
    let folder = tempfile::tempdir().expect("folder");
    let rows = 3 * CHUNK_ROWS + 17;
    for generator in KINDS {
        let one = file(generator, "parquet", rows, 1, folder.path());
        assert!(one == file(generator, "parquet", rows, 2, folder.path()), "{generator:?}");
        assert!(one == file(generator, "parquet", rows, 5, folder.path()), "{generator:?}");
    }
    for extension in ["arrow", "csv"] {
        let one = file(Generator::Groups, extension, rows, 1, folder.path());
        assert!(one == file(Generator::Groups, extension, rows, 3, folder.path()), "{extension}");
    }
}

#[test]
fn a_row_depends_on_its_number_alone() {
    for generator in KINDS {
        let table = SyntheticTable { generator, rows: 2_000, seed: 9 };
        let whole = table.batch(0..2_000).expect("rows");
        let parts: Vec<_> =
            [0..1, 1..700, 700..700, 700..2_000].map(|part| table.batch(part).expect("rows")).into();
        assert_eq!(concat_batches(&table.schema(), &parts).expect("one table"), whole);
        let longer = SyntheticTable { rows: 5_000, ..table };
        assert_eq!(longer.batch(0..2_000).expect("rows"), whole);
        let other = SyntheticTable { seed: 10, ..table };
        assert_ne!(other.batch(0..2_000).expect("rows"), whole);
        assert!(matches!(table.batch(1_999..2_001), Err(Error::Input { .. })));
    }
}

#[test]
fn progress_ends_at_the_last_row() {
    let folder = tempfile::tempdir().expect("folder");
    let mut heard = Vec::new();
    let table = SyntheticTable { generator: Generator::Groups, rows: 2 * CHUNK_ROWS + 1, seed: 1 };
    write(&table, &folder.path().join("t.parquet"), 2, &mut |rows| heard.push(rows)).expect("written");
    assert_eq!(heard, [CHUNK_ROWS, 2 * CHUNK_ROWS, 2 * CHUNK_ROWS + 1]);
    let empty = SyntheticTable { rows: 0, ..table };
    assert_eq!(write(&empty, &folder.path().join("e.csv"), 2, &mut |_| {}).expect("written").rows, 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_the_threads() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("full.csv");
    std::os::unix::fs::symlink("/dev/full", &path).expect("link");
    let table = SyntheticTable { generator: Generator::Agrawal, rows: 20 * CHUNK_ROWS, seed: 1 };
    assert!(matches!(write(&table, &path, 3, &mut |_| {}), Err(Error::Io { .. })));
}

#[test]
fn agrawal_follows_the_paper() {
    let table = rows_of(Generator::Agrawal, 100_000, 1);
    let records = table.column_by_name("record").expect("column").as_primitive::<Int64Type>();
    assert!(records.values().iter().copied().eq(1..=100_000));
    let uniform = |name: &str, low: i32, high: i32| {
        let values = ints(&table, name);
        assert!(values.iter().all(|value| (low..=high).contains(value)), "{name}");
        let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64;
        let (middle, width) = (f64::from(low + high) / 2.0, f64::from(high - low + 1));
        // Five standard deviations of the mean of a uniform value.
        assert!((mean - middle).abs() < 5.0 * width / (12.0 * values.len() as f64).sqrt(), "{name}: {mean}");
        if width <= 61.0 {
            assert_eq!(
                values.iter().collect::<std::collections::HashSet<_>>().len(),
                width as usize,
                "{name}"
            );
        }
    };
    uniform("salary", 20_000, 150_000);
    uniform("age", 20, 80);
    uniform("elevel", 0, 4);
    uniform("car", 1, 20);
    uniform("zipcode", 1, 9);
    uniform("hyears", 1, 30);
    uniform("loan", 0, 500_000);
    let [salary, commission, age, zipcode, hvalue, class] =
        ["salary", "commission", "age", "zipcode", "hvalue", "class"].map(|name| ints(&table, name));
    for row in 0..salary.len() {
        match salary[row] >= 75_000 {
            true => assert_eq!(commission[row], 0),
            false => assert!((10_000..=75_000).contains(&commission[row])),
        }
        assert!((zipcode[row] * 50_000..=zipcode[row] * 150_000).contains(&hvalue[row]));
        assert_eq!(class[row], i32::from(age[row] < 40 || age[row] >= 60));
    }
}

#[test]
fn groups_are_clustered_and_uniform() {
    let table = rows_of(Generator::Groups, 100_050, 1);
    let groups = table.column_by_name("group").expect("column").as_primitive::<Int64Type>();
    assert!(groups.values().iter().copied().eq((0..100_050).map(|row| row / 100 + 1)));
    let mut counts = BTreeMap::new();
    for value in texts(&table, "value") {
        *counts.entry(value).or_insert(0u32) += 1;
    }
    let names: Vec<String> = (1..=20).map(|number| format!("v{number:02}")).collect();
    assert!(counts.keys().eq(&names));
    // 5,002 each, standard deviation 69.
    assert!(counts.values().all(|count| (4_650..5_350).contains(count)), "{counts:?}");
}

/// The share of the rows that satisfy `of` among those that satisfy `among`.
fn share(rows: usize, among: impl Fn(usize) -> bool, of: impl Fn(usize) -> bool) -> f64 {
    let all: Vec<usize> = (0..rows).filter(|&row| among(row)).collect();
    assert!(all.len() > 300, "{} rows are too few to judge", all.len());
    all.iter().filter(|&&row| of(row)).count() as f64 / all.len() as f64
}

#[test]
fn the_census_is_a_plausible_country() {
    const ROWS: usize = 200_000;
    let table = rows_of(Generator::Census, ROWS as u64, 1);
    let age = ints(&table, "age");
    let [sex, region, education, marital, occupation, industry, diagnosis] =
        ["sex", "region", "education", "marital", "occupation", "industry", "diagnosis"]
            .map(|name| texts(&table, name));
    let anybody = |_| true;

    assert!(age.iter().all(|age| (0..100).contains(age)));
    assert!(share(ROWS, |r| age[r] >= 80, |r| sex[r] == "female") > 0.6);
    assert!((0.45..0.55).contains(&share(ROWS, |r| age[r] < 40, |r| sex[r] == "female")));
    assert!(share(ROWS, |r| age[r] < 16, |r| marital[r] == "Never married") == 1.0);
    assert!(share(ROWS, |r| age[r] >= 80, |r| marital[r] == "Widowed") > 0.3);
    let degree = |r: usize| matches!(education[r].as_str(), "Bachelor" | "Master" | "Doctorate");
    assert!(share(ROWS, |r| age[r] < 19, degree) == 0.0);
    let [young, old] = [25..45, 65..100].map(|ages| share(ROWS, |r| ages.contains(&age[r]), degree));
    assert!(young > 2.0 * old, "{young} {old}");
    let professional = |r: usize| occupation[r] == "Professional";
    let works = |r: usize| industry[r] != "None";
    assert!(share(ROWS, |r| works(r) && degree(r), professional) > 0.3);
    assert!(share(ROWS, |r| works(r) && education[r] == "Primary", professional) < 0.01);
    assert!(share(ROWS, |r| occupation[r] == "Farm worker", |r| industry[r] == "Agriculture") > 0.8);
    assert!(
        (0..ROWS).all(|r| works(r) != matches!(occupation[r].as_str(), "Unemployed" | "Not in labour force"))
    );

    let mut counts: HashMap<&str, usize> = HashMap::new();
    diagnosis.iter().for_each(|name| *counts.entry(name).or_default() += 1);
    assert_eq!(counts.len(), 26);
    let healthy = share(ROWS, anybody, |r| diagnosis[r] == "None");
    assert!((0.2..0.35).contains(&healthy), "{healthy}");
    assert!(counts.iter().all(|(&name, &count)| name == "None" || count < ROWS / 8), "{counts:?}");
    assert!(counts.values().any(|&count| count < ROWS / 300), "some diagnoses are rare");
    let diagnosis = &diagnosis;
    let has = |name: &'static str| move |r: usize| diagnosis[r] == name;
    assert!(
        share(ROWS, |r| age[r] >= 75, has("Dementia")) > 20.0 * share(ROWS, |r| age[r] < 60, has("Dementia"))
    );
    assert!(
        share(ROWS, |r| sex[r] == "female", has("Migraine"))
            > 1.8 * share(ROWS, |r| sex[r] == "male", has("Migraine"))
    );
    assert!(
        share(ROWS, |r| region[r] == "1", has("HIV")) > 2.0 * share(ROWS, |r| region[r] != "1", has("HIV"))
    );
}

fn datasets(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets").join(name)
}

#[test]
fn tracts_begin_with_their_county_and_region() {
    let table = rows_of(Generator::Census, 50_000, 4);
    let hierarchy = fs::read_to_string(datasets("census-tract.csv")).expect("the hierarchy");
    let mut parents = HashMap::new();
    for line in hierarchy.lines() {
        let [tract, county, region, "*"] = line.split(';').collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert!(parents.insert(tract, (county, region)).is_none(), "{line}");
    }
    let [region, county, tract] = ["region", "county", "tract"].map(|name| texts(&table, name));
    for ((tract, county), region) in tract.iter().zip(&county).zip(&region) {
        assert_eq!([tract.len(), county.len(), region.len()], [6, 3, 1]);
        assert!(tract.starts_with(county.as_str()) && county.starts_with(region.as_str()));
        assert_eq!(parents.get(tract.as_str()), Some(&(county.as_str(), region.as_str())));
    }
    let seen: std::collections::HashSet<&String> = tract.iter().collect();
    assert_eq!(seen.len(), parents.len(), "every tract is somebody's home");
}

#[test]
fn the_census_in_the_repository_is_that_of_seed_1() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("census.csv");
    write(&SyntheticTable { generator: Generator::Census, rows: 5_000, seed: 1 }, &path, 2, &mut |_| {})
        .expect("written");
    assert!(fs::read(path).expect("new") == fs::read(datasets("census.csv")).expect("old"));
}
