//! What must hold for any bytes: the bodies of the fuzz targets, which the tests replay over `tests/corpus`.
//!
//! Nothing panics on any input. Where there is a naive model or a second way, both agree.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each target uses one of them, and stops where it cannot go on"
)]

#[allow(clippy::duplicate_mod, reason = "the fuzz targets are built without the suite")]
#[path = "../tests/suite/support/naive.rs"]
mod naive;

/// What the naive model uses of the library.
mod library {
    pub use skyveil::{Rational, Values};

    pub fn ratio(above: u64, below: u64) -> Rational {
        Rational::from(above) / Rational::from(below)
    }
}

use arrow_cast::display::array_value_to_string;
use library::{Rational, Values};
use skyveil::{
    Anonymize, Budget, ColumnKind, ColumnRequest, LabelReader, Morsel, Outcome, Policy, Progress,
    ReadOptions, Release, Resources, Result, Table, parse_fraction,
};
use std::io::Cursor;
use std::path::Path;

/// A policy: what is accepted means the same in its canonical form.
pub fn policy(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Other files are the matter of another target.
    if ["hierarchy", "distributions", "from"].iter().any(|key| text.contains(key)) {
        return;
    }
    if let Ok(policy) = Policy::parse(text, "policy.toml") {
        let again = Policy::parse(&policy.canonical(), "policy.toml");
        let again = again.unwrap_or_else(|error| panic!("the canonical form is refused: {error}"));
        assert_eq!(again.canonical(), policy.canonical());
    }
}

/// A label: reading it and asking what it covers never fails but with an error.
pub fn labels(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (label, value) = text.split_once('\n').unwrap_or((text, "1"));
    for kind in
        [ColumnKind::Integer, ColumnKind::Float, ColumnKind::Text, ColumnKind::Date, ColumnKind::Boolean]
    {
        let reader = LabelReader::unstated(&kind);
        if let (Ok(label), Ok(cell)) = (reader.read(label), reader.cell(value)) {
            reader.covers(&label, cell);
        }
        let all = reader.read("*").unwrap();
        assert!(reader.cell(value).map_or(true, |cell| reader.covers(&all, cell)), "{kind:?}");
    }
}

/// A hierarchy file.
pub fn hierarchies(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("h.csv"), data).unwrap();
    let text = "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\nhierarchy = \"h.csv\"\n[privacy]\nk_anonymity = 2\n\
                l_diversity = { c = 3, l = 2 }\n";
    if let Ok(policy) = Policy::parse(text, folder.path().join("policy.toml")) {
        assert!(!policy.canonical().is_empty());
    }
}

/// A CSV file: the same rows, or an error, for any number of threads and any size of a batch, from a file or a pipe.
pub fn csv(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, data).unwrap();
    let options = |batch_rows| ReadOptions { batch_rows, ..ReadOptions::default() };
    let file = |batch_rows, threads| {
        Table::open(std::slice::from_ref(&path), &options(batch_rows)).and_then(|table| rows(&table, threads))
    };
    let pipe = Table::from_reader("t.csv", Box::new(Cursor::new(data.to_vec())), &options(3));
    let pipe = pipe.and_then(|table| rows(&table, 2));
    let readings = [file(8192, 1), file(1, 3), pipe].map(|rows| rows.ok());
    assert!(readings[0] == readings[1] && readings[1] == readings[2]);
}

/// The rows of a table as texts.
fn rows(table: &Table, threads: usize) -> Result<Vec<Vec<String>>> {
    let names = table.schema().fields().iter().map(|field| ColumnRequest::as_is(field.name().as_str()));
    let mut rows = Vec::new();
    let work = |morsel: Morsel<'_>| {
        let mut part = Vec::new();
        for batch in morsel {
            let batch = batch?;
            let text =
                |row: usize| batch.columns().iter().map(move |c| array_value_to_string(c, row).unwrap());
            part.extend((0..batch.num_rows()).map(|row| text(row).collect::<Vec<String>>()));
        }
        Ok(part)
    };
    table.scan(&names.collect::<Vec<_>>(), threads, work, |part| {
        rows.extend(part);
        Ok(())
    })?;
    Ok(rows)
}

/// The manifest of a release: whatever it says, checking the release never fails but with an error.
pub fn manifest(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let made = Case::decode(&[0, 4, 0, 9, 18, 27, 36, 45, 54, 63]).unwrap().publish(folder.path());
    assert!(matches!(made, Ok(Outcome::Published(_))), "{made:?}");
    let release = folder.path().join("release");
    std::fs::write(release.join("manifest.json"), data).unwrap();
    if let Ok(release) = Release::open(&release) {
        let progress = Progress::default();
        let _ = release.check(None, &Resources::new(Budget::new(16 << 20), &progress));
    }
}

/// A whole small run: what is published, or called impossible, is so by the naive model; returns whether it was
/// published.
pub fn check(data: &[u8]) -> bool {
    let Some(case) = Case::decode(data) else { return false };
    let folder = tempfile::tempdir().unwrap();
    match case.publish(folder.path()) {
        Ok(Outcome::Published(_)) => {
            let release = folder.path().join("release");
            assert!(case.breaches(&case.published(&release)).all(|breach| breach < case.limit()));
            let progress = Progress::default();
            let resources = Resources::new(Budget::new(16 << 20), &progress);
            assert!(Release::open(&release).unwrap().check(None, &resources).unwrap().is_safe());
            true
        }
        Ok(Outcome::Impossible(_)) => {
            let one: Vec<naive::Row> = case.rows.iter().map(|(_, value)| (0, 0, vec![*value])).collect();
            assert!(case.breaches(&one).any(|breach| breach >= case.limit()));
            false
        }
        Ok(Outcome::Withheld(_)) | Err(_) => false,
    }
}

const VALUES: [&str; 6] = ["flu", "cold", "cancer", "ulcer", "asthma", "gout"];

const LIMITS: [&str; 5] = ["1/4", "1/3", "1/2", "2/3", "9/10"];

/// A table of a few people, and what an adversary may know about them.
struct Case {
    knowledge: [u64; 3],
    limit: &'static str,
    rows: Vec<(u8, &'static str)>,
}

impl Case {
    /// Two bytes for the adversary, one for each person.
    fn decode(data: &[u8]) -> Option<Case> {
        let [shape, limit, people @ ..] = data else { return None };
        let person = |byte: &u8| (20 + (byte >> 3), VALUES[usize::from(byte & 7) % VALUES.len()]);
        Some(Case {
            knowledge: [0, 2, 4].map(|shift| u64::from(shape >> shift & 3)),
            limit: LIMITS[usize::from(*limit) % LIMITS.len()],
            rows: people.iter().take(60).map(person).collect(),
        })
    }

    fn limit(&self) -> Rational {
        parse_fraction(self.limit).unwrap()
    }

    fn publish(&self, folder: &Path) -> Result<Outcome> {
        let rows: String = self.rows.iter().map(|(age, value)| format!("{age},{value}\n")).collect();
        let path = folder.join("t.csv");
        std::fs::write(&path, format!("age,illness\n{rows}")).unwrap();
        let [l, k, m] = self.knowledge;
        let text = format!(
            "[columns]\nsensitive = \"illness\"\n[columns.quasi.age]\ndomain = [0, 120]\n[privacy]\n\
             model = \"skyline\"\n[[privacy.skyline]]\nl = {l}\nk = {k}\nm = {m}\nconfidence = \"{}\"\n",
            self.limit
        );
        let policy = Policy::parse(&text, folder.join("policy.toml"))?;
        let table = Table::open(&[path], &ReadOptions::default())?;
        let job = Anonymize {
            temp: folder.to_path_buf(),
            memory: 32 << 20,
            threads: 1,
            ..Anonymize::new(&table, &policy, folder.join("release"))
        };
        job.run(&Progress::default())
    }

    /// The groups and values that anybody can read.
    fn published(&self, release: &Path) -> Vec<naive::Row> {
        let table = Table::open(&[release.join("data")], &ReadOptions::default()).unwrap();
        let place = |name: &str| table.schema().index_of(name).unwrap();
        let (group, illness) = (place("group"), place("illness"));
        let row = |row: Vec<String>| {
            let value = VALUES.into_iter().find(|value| *value == row[illness]).unwrap();
            (0, row[group].parse().unwrap(), vec![value])
        };
        rows(&table, 1).unwrap().into_iter().map(row).collect()
    }

    fn breaches<'a>(&'a self, rows: &[naive::Row]) -> impl Iterator<Item = Rational> + use<'a> {
        let groups = naive::groups(rows, Values::Single);
        let occur = VALUES.into_iter().filter(|value| self.rows.iter().any(|(_, own)| own == value));
        occur.map(move |value| naive::breach(&groups, Values::Single, value, self.knowledge))
    }
}
