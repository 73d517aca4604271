//! Known distributions from a file.
//!
//! One row per signature and value: the known columns, the sensitive column (or `value`) and `probability`.
//! With one attribute set every row belongs to that set. With several, a row belongs to the set of the
//! columns that are filled; the others are left empty, so a null cannot be part of a signature. Memory: one
//! entry per signature and one per row, taken from the budget.

use std::path::{Path, PathBuf};

use super::RobustModel;
use super::dictionary::{Dictionary, Map};
use super::{KnownDistributions, KnownSet, PRIOR_BYTES, SIGNATURE_BYTES, known_columns, places, probability};
use crate::encode::cells::cell_texts;
use crate::encode::scale::Scale;
use crate::error::{Error, Result};
use crate::math::exact::Rational;
use crate::math::robust::PriorsBuilder;
use crate::resources::Resources;
use crate::table::ColumnKind;
use crate::table::read::{ColumnRequest, CsvType, Morsel, ReadOptions, Table};

/// The column of probabilities.
const PROBABILITY: &str = "probability";
/// The column of sensitive values; default: the one with the name of the sensitive column.
const VALUE: &str = "value";

/// The rows of one attribute set while they are read.
#[derive(Default)]
struct SetRows {
    signatures: Map<Box<[u32]>, u32>,
    priors: Vec<(u32, u32, Rational)>,
}

impl KnownDistributions {
    /// Reads the distributions of a policy from a CSV, Parquet or Arrow file.
    pub fn from_file(
        path: &Path,
        robust: &RobustModel,
        sensitive: &str,
        null_is: Option<&str>,
        resources: &Resources<'_>,
    ) -> Result<KnownDistributions> {
        let columns = known_columns(robust);
        let table = open(path, &columns, sensitive)?;
        let value_column = value_column(&table, sensitive);
        let mut names: Vec<&str> = columns.iter().map(String::as_str).collect();
        names.extend([value_column, PROBABILITY]);
        expect_columns(path, &table, &names)?;
        let kinds: Vec<ColumnKind> = names.iter().map(|name| table.kind(name)).collect::<Result<_>>()?;
        let canonical = |text: &str| Scale::of(&kinds[columns.len()]).and_then(|scale| scale.canonical(text));
        let null_is = null_is.map(|text| canonical(text).unwrap_or_else(|| text.to_string()));

        let mut read = FileRows {
            path,
            null_is: null_is.as_deref(),
            places: robust.known.iter().map(|set| places(&columns, set)).collect::<Result<_>>()?,
            rows: 0,
            dictionaries: vec![Dictionary::default(); columns.len()],
            values: Dictionary::default(),
            sets: robust.known.iter().map(|_| SetRows::default()).collect(),
        };
        let mut room = resources.budget.reserve("the known distributions", 0)?;
        let wanted: Vec<ColumnRequest> = names.iter().map(|name| ColumnRequest::canonical(*name)).collect();
        resources.progress.start("reading distributions", table.rows());
        // There are few rows compared with a table, so the workers only decode.
        let work = |morsel: Morsel<'_>| {
            let mut all: Vec<Vec<Cells>> = Vec::new();
            for batch in morsel {
                let batch = batch?;
                let columns = batch.columns().iter().zip(&kinds).zip(&names);
                let texts = columns.map(|((array, kind), name)| cell_texts(array, kind, name));
                all.push(texts.collect::<Result<_>>()?);
            }
            Ok(all)
        };
        table.scan(&wanted, resources, work, |batches| {
            for cells in batches {
                let rows = cells.first().map_or(0, Vec::len);
                (0..rows).try_for_each(|row| read.row(|column| cells[column][row].as_deref()))?;
            }
            room.resize("the known distributions", read.bytes())
        })?;
        resources.progress.finish();

        let mut builder = PriorsBuilder::new(read.values.len() as u32);
        let mut known = Vec::new();
        for ((set, places), names) in read.sets.into_iter().zip(read.places).zip(&robust.known) {
            check_set(path, &set, names)?;
            builder.given(set.signatures.len() as u32, set.priors)?;
            known.push(KnownSet { columns: places, signatures: set.signatures });
        }
        Ok(KnownDistributions {
            columns,
            dictionaries: read.dictionaries,
            sets: known,
            values: read.values,
            priors: builder.build(),
            source: path.display().to_string(),
            counted: None,
            _room: room,
        })
    }
}

/// The texts of a column of a batch; `None` for null.
type Cells = Vec<Option<String>>;

/// The content of the rows read so far.
struct FileRows<'a> {
    path: &'a Path,
    null_is: Option<&'a str>,
    /// The positions of the columns of each attribute set.
    places: Vec<Vec<usize>>,
    rows: u64,
    dictionaries: Vec<Dictionary>,
    values: Dictionary,
    sets: Vec<SetRows>,
}

impl FileRows<'_> {
    /// Adds a row: the known columns, the value and the probability.
    fn row<'c>(&mut self, cell: impl Fn(usize) -> Option<&'c str>) -> Result<()> {
        self.rows += 1;
        let known = self.dictionaries.len();
        let at = set_of(&self.places, |place| cell(place).is_some())
            .ok_or_else(|| no_set(self.path, self.rows))?;
        let null_is = self.null_is;
        let value = match cell(known) {
            Some(value) => self.values.add(Some(value)),
            None => {
                let meaning =
                    null_is.ok_or_else(|| row_mistake(self.path, self.rows, "has no sensitive value"))?;
                self.values.add(Some(meaning))
            }
        };
        let given = cell(known + 1)
            .and_then(probability)
            .ok_or_else(|| row_mistake(self.path, self.rows, "has no probability from 0 to 1"))?;
        let (places, dictionaries) = (&self.places[at], &mut self.dictionaries);
        let key: Box<[u32]> = places.iter().map(|&place| dictionaries[place].add(cell(place))).collect();
        let set = &mut self.sets[at];
        let next = set.signatures.len() as u32;
        let signature = *set.signatures.entry(key).or_insert(next);
        set.priors.push((signature, value, given));
        Ok(())
    }

    fn bytes(&self) -> u64 {
        let of_set = |set: &SetRows| {
            set.signatures.len() as u64 * SIGNATURE_BYTES + set.priors.len() as u64 * PRIOR_BYTES
        };
        self.sets.iter().map(of_set).sum()
    }
}

/// Opens the file with probabilities as text, if it has no types of its own, so that they are read exactly.
fn open(path: &Path, columns: &[String], sensitive: &str) -> Result<Table> {
    if columns.iter().any(|name| name == PROBABILITY) || sensitive == PROBABILITY {
        return Err(Error::input(
            format!("a column of the policy is called {PROBABILITY:?}, as is the one of {}", path.display()),
            "rename the column, or estimate the distributions from the table",
        ));
    }
    let paths = [PathBuf::from(path)];
    let plain = Table::open(&paths, &ReadOptions::default())?;
    if plain.schema().field_with_name(PROBABILITY).is_err() {
        return Ok(plain);
    }
    let types = [(PROBABILITY.to_string(), CsvType::Text)].into();
    Table::open(&paths, &ReadOptions { types, ..ReadOptions::default() })
}

fn value_column<'a>(table: &Table, sensitive: &'a str) -> &'a str {
    if table.schema().field_with_name(sensitive).is_ok() { sensitive } else { VALUE }
}

/// Expects exactly these columns: an unknown one would be silently ignored.
fn expect_columns(path: &Path, table: &Table, names: &[&str]) -> Result<()> {
    let found: Vec<&str> = table.schema().fields().iter().map(|field| field.name().as_str()).collect();
    if let Some(missing) = names.iter().find(|name| !found.contains(name)) {
        return Err(Error::input(
            format!("{}: the column {missing:?} is missing", path.display()),
            format!("a file of distributions has the columns {}", names.join(", ")),
        ));
    }
    match found.iter().find(|name| !names.contains(name)) {
        None => Ok(()),
        Some(unknown) => Err(Error::input(
            format!("{}: the column {unknown:?} is in no set of privacy.known", path.display()),
            format!("leave it out; the columns are {}", names.join(", ")),
        )),
    }
}

/// The attribute set whose columns are filled; if there is only one set, that one.
fn set_of(sets: &[Vec<usize>], filled: impl Fn(usize) -> bool) -> Option<usize> {
    if sets.len() == 1 {
        return Some(0);
    }
    let most = sets.iter().flatten().max().map_or(0, |&most| most + 1);
    let own: Vec<usize> = (0..most).filter(|&place| filled(place)).collect();
    sets.iter().position(|set| *set == own)
}

/// Checks that each signature and value occurs once, and that no distribution exceeds 1.
fn check_set(path: &Path, set: &SetRows, names: &[String]) -> Result<()> {
    let by = if names.is_empty() { "no column".to_string() } else { names.join(", ") };
    if set.priors.is_empty() {
        return Err(Error::input(
            format!("{}: there is no distribution by {by}", path.display()),
            "add rows for every set of privacy.known, or take the set out of it",
        ));
    }
    let mut pairs: Vec<(u32, u32)> =
        set.priors.iter().map(|&(signature, value, _)| (signature, value)).collect();
    pairs.sort_unstable();
    let repeated = pairs.windows(2).filter(|pair| pair[0] == pair[1]).count();
    if repeated > 0 {
        return Err(Error::input(
            format!("{}: {repeated} rows by {by} repeat a signature and value", path.display()),
            "give each signature and value once",
        ));
    }
    let mut sums = vec![Rational::ZERO; set.signatures.len()];
    set.priors.iter().for_each(|(signature, _, given)| sums[*signature as usize] += given);
    let above = sums.iter().filter(|sum| **sum > Rational::ONE).count();
    if above > 0 {
        return Err(Error::input(
            format!("{}: {above} distributions by {by} sum to more than 1", path.display()),
            "the probabilities of a signature sum to 1, or to less if it may have values that the table lacks",
        ));
    }
    Ok(())
}

fn no_set(path: &Path, row: u64) -> Error {
    Error::input(
        format!("{}: row {row} fills columns that are no set of privacy.known", path.display()),
        "fill the columns of one set, and leave the others empty",
    )
}

fn row_mistake(path: &Path, row: u64, problem: &str) -> Error {
    Error::input(
        format!("{}: row {row} {problem}", path.display()),
        "write a value and a probability such as 0.25 or 1/4 in every row",
    )
}
