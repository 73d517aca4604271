//! What does one scan of a table show?
//!
//! Every column is counted on its own; for the columns that others are most likely to know, pairs, triples and the
//! combination of all are counted too. These columns are chosen by name before the scan, since there is only one scan.

use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::ArrayRef;

use super::column::{ColumnProfile, ColumnScan, Ids, NULL};
use super::tally::{DistinctEstimate, DistinctTally};
use crate::encode::distinct::MOST;
use crate::error::{Error, Result};
use crate::math::hash_sample::HashSample;
use crate::math::random::mix;
use crate::policy::{Hint, hint};
use crate::resources::Resources;
use crate::table::ColumnKind;
use crate::table::read::{ColumnRequest, Morsel, Table};

/// Total number of counters for all columns; a column has at most [`MOST`] of them.
pub const COLUMN_SLOTS: usize = 1 << 20;

/// Total number of counters for all combinations.
pub const COMBINATION_SLOTS: usize = 1 << 19;

/// What all counters take.
const PROFILE_BYTES: u64 = 60 << 20;

/// How many columns are combined with each other.
const COMBINED: usize = 8;

/// Values of people of a long table that are tracked column by column, over all columns.
const PERSON_SLOTS: usize = 1 << 19;

/// The profile of a table.
#[derive(Debug)]
pub struct Profile {
    /// Number of rows.
    pub rows: u64,
    /// Its columns, in their order.
    pub columns: Vec<ColumnProfile>,
    /// Small combinations of columns that others may know, and the combination of all these columns.
    pub combinations: Vec<ColumnCombination>,
    /// The column that identifies people, if a name suggests one.
    pub persons: Option<Persons>,
}

/// Columns taken together.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnCombination {
    /// Their positions in the table, ascending.
    pub columns: Vec<usize>,
    /// The different combinations of their values, including null.
    pub counted: DistinctEstimate,
}

/// The people of a table that may have several rows per person.
#[derive(Debug)]
pub struct Persons {
    /// The position of the column that identifies people.
    pub column: usize,
    /// Which columns differ between the rows of one person, based on a sample of the people.
    pub varies: Vec<bool>,
}

/// The first value in each column of some people.
struct PersonScan {
    column: usize,
    first: HashSample<u64, Box<[u64]>>,
}

/// Replaces a first value that another row contradicts.
const VARIES: u64 = 0x7661_7269_6573_2121;

impl PersonScan {
    fn observe(&mut self, ids: &[Option<Ids>], row: usize) {
        let value = |column: &Option<Ids>| column.as_ref().map_or(NULL, |ids| ids.rows[row]);
        let person = value(&ids[self.column]);
        if person == NULL {
            return;
        }
        let contradict = |first: &mut Box<[u64]>| {
            for (known, column) in first.iter_mut().zip(ids) {
                if *known != value(column) {
                    *known = VARIES;
                }
            }
        };
        self.first.upsert(person, || ids.iter().map(value).collect(), contradict);
    }

    fn finish(self, columns: usize) -> Persons {
        let varies = |column: usize| self.first.entries().values().any(|first| first[column] == VARIES);
        Persons { column: self.column, varies: (0..columns).map(varies).collect() }
    }
}

/// All counters of a scan; workers share them.
struct Scan<'a> {
    names: &'a [&'a str],
    /// The columns that can be read, in the order of the batches.
    columns: Vec<Mutex<ScannedColumn>>,
    combinations: Vec<(Vec<usize>, Mutex<DistinctTally>)>,
    person: Option<Mutex<PersonScan>>,
}

/// One column with its position in the table.
struct ScannedColumn {
    place: usize,
    scan: ColumnScan,
    readable: Readable,
}

impl<'a> Scan<'a> {
    fn new(names: &'a [&'a str], kinds: &[Option<ColumnKind>]) -> Self {
        let readable = kinds.iter().enumerate().filter_map(|(i, kind)| Some((i, kind.clone()?)));
        let readable: Vec<(usize, ColumnKind)> = readable.collect();
        let person = readable.iter().map(|(i, _)| *i).find(|&i| hint(names[i]) == Hint::Person);
        let people = PERSON_SLOTS / names.len().max(1);
        let slots = (COLUMN_SLOTS / readable.len().max(1)).min(MOST);
        let column = |(place, kind): (usize, ColumnKind)| {
            let scan = ColumnScan::new(names[place], kind, slots);
            Mutex::new(ScannedColumn { place, scan, readable: Readable::Yes })
        };
        let sets = combinations(&likely(names, kinds));
        let set_slots = COMBINATION_SLOTS / sets.len().max(1);
        Scan {
            names,
            columns: readable.into_iter().map(column).collect(),
            combinations: sets
                .into_iter()
                .map(|set| (set, Mutex::new(DistinctTally::new(set_slots))))
                .collect(),
            person: person
                .map(|column| Mutex::new(PersonScan { column, first: HashSample::new(people, usize::MAX) })),
        }
    }

    /// Observes a batch. Workers begin at different columns, so that they rarely wait for each other.
    fn observe(&self, columns: &[ArrayRef], first: usize, rows: usize) {
        let mut ids: Vec<Option<Ids>> = self.names.iter().map(|_| None).collect();
        for at in (0..self.columns.len()).map(|i| (first + i) % self.columns.len()) {
            let mut column = locked(&self.columns[at]);
            match column.scan.observe(&columns[at]) {
                Ok(own) => ids[column.place] = Some(own),
                Err(_) => column.readable = Readable::No,
            }
        }
        for at in (0..self.combinations.len()).map(|i| (first + i) % self.combinations.len()) {
            let (set, tally) = &self.combinations[at];
            let own: Option<Vec<&[u64]>> =
                set.iter().map(|&i| ids[i].as_ref().map(|ids| ids.rows.as_slice())).collect();
            let Some(own) = own else { continue };
            let mut tally = locked(tally);
            for row in 0..rows {
                tally.add(own.iter().fold(0, |hash, column| mix(hash ^ column[row]).rotate_left(5)), 1);
            }
        }
        if let Some(person) = &self.person {
            let mut person = locked(person);
            (0..rows).for_each(|row| person.observe(&ids, row));
        }
    }

    fn finish(self, rows: u64) -> Profile {
        let mut columns: Vec<ColumnProfile> = self.names.iter().map(|name| unread(name)).collect();
        for column in self.columns {
            let ScannedColumn { place, scan, readable } = unlocked(column);
            if matches!(readable, Readable::Yes) {
                columns[place] = scan.finish();
            }
        }
        let combination = |(columns, tally): (Vec<usize>, Mutex<DistinctTally>)| ColumnCombination {
            columns,
            counted: unlocked(tally).counted(),
        };
        Profile {
            rows,
            columns,
            combinations: self.combinations.into_iter().map(combination).collect(),
            persons: self.person.map(|person| unlocked(person).finish(self.names.len())),
        }
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unlocked<T>(shared: Mutex<T>) -> T {
    shared.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Profile {
    /// Reads the table once.
    ///
    /// Memory: [`PROFILE_BYTES`], reserved, and what reading needs.
    pub fn of(table: &Table, resources: &Resources<'_>) -> Result<Profile> {
        let _counters = resources.budget.reserve("profiling the columns", PROFILE_BYTES)?;
        let progress = resources.progress;
        let names: Vec<&str> = table.schema().fields().iter().map(|field| field.name().as_str()).collect();
        expect_names(&names)?;
        let kinds: Vec<Option<ColumnKind>> = names.iter().map(|name| table.kind(name).ok()).collect();
        let scan = Scan::new(&names, &kinds);
        let readable = names.iter().zip(&kinds).filter(|(_, kind)| kind.is_some());
        let columns: Vec<ColumnRequest> = readable.map(|(name, _)| ColumnRequest::canonical(*name)).collect();
        progress.start("profiling", table.rows());
        let work = |morsel: Morsel<'_>| {
            let first = morsel.index() as usize;
            let mut rows = 0;
            for batch in morsel {
                let batch = batch?;
                scan.observe(batch.columns(), first, batch.num_rows());
                rows += batch.num_rows() as u64;
                progress.advance(batch.num_rows() as u64);
            }
            Ok(rows)
        };
        let mut rows = 0;
        table.scan(&columns, resources, work, |part| {
            rows += part;
            Ok(())
        })?;
        let mut profile = scan.finish(rows);
        for (name, _) in table.csv_types() {
            let own = profile.columns.iter_mut().filter(|column| column.name == name);
            own.for_each(|column| column.padded = column.texts.and_then(|texts| texts.padded()));
        }
        Ok(profile)
    }

    /// The share of rows whose values in these columns are shared by no other row.
    pub fn alone(&self, combination: &ColumnCombination) -> f64 {
        (combination.counted.once as f64 / self.rows.max(1) as f64).min(1.0)
    }

    /// A column, other than `aside`, that determines another: each of its values occurs with only one value of the
    /// other.
    pub fn determined_by(&self, column: usize, aside: usize) -> Option<usize> {
        let distinct =
            |i: usize| Some(&self.columns[i]).filter(|own| own.counted.error == 0.0 && own.nulls == 0);
        let pairs =
            self.combinations.iter().filter(|pair| pair.columns.len() == 2 && pair.counted.error == 0.0);
        let others = pairs.filter_map(|pair| match pair.columns[..] {
            [a, b] if a == column => Some((b, pair)),
            [a, b] if b == column => Some((a, pair)),
            _ => None,
        });
        let own = distinct(column)?.counted.distinct;
        let mut finer = others.filter(|(other, _)| *other != aside).filter(|(other, pair)| {
            let other = distinct(*other).map(|other| other.counted.distinct);
            own > 1
                && other.is_some_and(|other| {
                    // A column of nearly unique values determines everything, which is not informative.
                    other > own && other == pair.counted.distinct && other * 5 <= self.rows
                })
        });
        finer.next().map(|(other, _)| other)
    }
}

/// Whether the values of a column could be counted.
enum Readable {
    Yes,
    No,
}

fn expect_names(names: &[&str]) -> Result<()> {
    for (at, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(Error::input(
                format!("column {} of the table has no name", at + 1),
                "name it in the table: a policy gives every column a role by its name",
            ));
        }
        if names[..at].contains(name) {
            return Err(Error::input(
                format!("the table has two columns {name:?}"),
                "rename one of them in the table",
            ));
        }
    }
    Ok(())
}

fn unread(name: &str) -> ColumnProfile {
    let counted = DistinctEstimate { distinct: 0, once: 0, most: None, error: 0.0 };
    let name = name.to_string();
    ColumnProfile {
        name,
        kind: None,
        nulls: 0,
        counted,
        counts: None,
        range: None,
        texts: None,
        nothings: Vec::new(),
        padded: None,
        ends: None,
    }
}

/// The columns that others are most likely to know, by name; those that are obviously known come first.
fn likely(names: &[&str], kinds: &[Option<ColumnKind>]) -> Vec<usize> {
    let usable = |i: &usize| !matches!(kinds[*i], None | Some(ColumnKind::List(_)));
    let of = |wanted: Hint| (0..names.len()).filter(move |&i| hint(names[i]) == wanted).filter(usable);
    let mut chosen: Vec<usize> = of(Hint::Known).chain(of(Hint::Code)).chain(of(Hint::Nothing)).collect();
    chosen.truncate(COMBINED);
    chosen.sort_unstable();
    chosen
}

/// All pairs and triples, and the combination of all.
fn combinations(columns: &[usize]) -> Vec<Vec<usize>> {
    let mut sets = Vec::new();
    for (i, &a) in columns.iter().enumerate() {
        for (j, &b) in columns.iter().enumerate().skip(i + 1) {
            sets.push(vec![a, b]);
            sets.extend(columns.iter().skip(j + 1).map(|&c| vec![a, b, c]));
        }
    }
    if columns.len() > 3 {
        sets.push(columns.to_vec());
    }
    sets
}
