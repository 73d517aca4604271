//! Which values do the columns have? The first scan of the table.
//!
//! Memory: what [`Distinct`] holds per column, shared by all threads.

use super::attribute::MOST_IN_A_SET;
use super::distinct::Distinct;
use super::keys::{Texts, keys};
use super::scale::Scale;
use crate::error::Result;
use crate::policy::hierarchy::Hierarchy;
use crate::table::read::Kind;
use arrow::array::{Array, ArrayRef, AsArray};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// What a column turned out to hold.
#[derive(Debug)]
pub enum Found {
    /// Numbers, dates or times.
    Numbers(Scale, Distinct<i64>),
    /// Texts, and how often each occurs while they are few.
    Texts(Distinct<Box<str>>, Frequencies),
}

/// How often each text of a column occurs, as long as there are at most [`MOST_IN_A_SET`] of them.
pub type Frequencies = BTreeMap<Box<str>, u64>;

/// The values of a column while they are collected.
#[derive(Debug)]
pub struct Collected {
    /// The values.
    pub found: Found,
    /// Rows without a value (for lists: null items).
    pub nulls: u64,
    /// Rows whose value the stated texts do not cover.
    pub uncovered: u64,
}

/// Collects the values of one column; may be shared by threads.
pub struct Collector<'a> {
    name: &'a str,
    grain: Grain,
    /// Texts that are allowed, if the policy lists them.
    stated: Option<Stated<'a>>,
    collected: Mutex<Collected>,
}

/// How finely the values of a column are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// Value by value.
    Value,
    /// Dates and timestamps by the day, which has the key at which it begins.
    Day,
}

/// The texts that a policy lists for a column.
#[derive(Clone, Copy)]
pub enum Stated<'a> {
    /// The leaves of a hierarchy.
    Tree(&'a Hierarchy),
    /// A list.
    Order(&'a [String]),
}

impl Stated<'_> {
    /// Whether the list has this text, or a place for whatever it lacks.
    pub fn covers(&self, text: &str) -> bool {
        match self {
            Stated::Tree(hierarchy) => hierarchy.leaf(text).is_some(),
            Stated::Order(values) => values.iter().any(|value| value == text),
        }
    }
}

impl<'a> Collector<'a> {
    /// For a column of this kind; for a list its items are collected.
    pub fn new(name: &'a str, kind: &Kind, stated: Option<Stated<'a>>) -> Self {
        let item = match kind {
            Kind::List(item) => item,
            kind => kind,
        };
        let found = match Scale::of(item) {
            Some(scale) => Found::Numbers(scale, Distinct::default()),
            None => Found::Texts(Distinct::default(), Frequencies::default()),
        };
        let collected = Mutex::new(Collected { found, nulls: 0, uncovered: 0 });
        Collector { name, grain: Grain::Value, stated, collected }
    }

    /// The same, with this grain.
    pub fn with_grain(self, grain: Grain) -> Self {
        Collector { grain, ..self }
    }

    /// Takes in a canonical column.
    pub fn observe(&self, array: &ArrayRef) -> Result<()> {
        self.take_in(array, None)
    }

    /// Takes in a canonical column whose rows stand for so many equal rows each, and none of them for no row.
    pub fn observe_counted(&self, array: &ArrayRef, counts: &[u64]) -> Result<()> {
        self.take_in(array, Some(counts))
    }

    fn take_in(&self, array: &ArrayRef, counts: Option<&[u64]>) -> Result<()> {
        if let Some(list) = array.as_list_opt::<i32>() {
            let offsets = list.value_offsets();
            let (first, last) = (offsets[0] as usize, offsets[list.len()] as usize);
            // How often items occur is not asked: lists are sensitive values.
            return self.take_in(&list.values().slice(first, last - first), None);
        }
        let mut collected = self.collected.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Collected { found, nulls, uncovered } = &mut *collected;
        match found {
            Found::Numbers(scale, distinct) => {
                let keys = keys(array, *scale, self.name)?;
                *nulls += keys.nulls.as_ref().map_or(0, |nulls| nulls.null_count() as u64);
                let covered = |key: i64| self.stated.is_none_or(|stated| stated.covers(&scale.text(key)));
                let mut last = None;
                for row in 0..keys.values.len() {
                    let key = keys.get(row).map(|key| match self.grain {
                        Grain::Value => key,
                        Grain::Day => scale.of_day(scale.day(key)),
                    });
                    if key != last
                        && let Some(key) = key
                    {
                        distinct.insert(key);
                    }
                    if let Some(key) = key
                        && self.stated.is_some()
                        && !covered(key)
                    {
                        *uncovered += 1;
                    }
                    last = key;
                }
            }
            Found::Texts(distinct, frequencies) => {
                let texts = Texts::new(array);
                let (used, without) = texts.used(counts);
                *nulls += without;
                for (entry, &rows) in used.iter().enumerate().filter(|&(_, &rows)| rows > 0) {
                    let text = texts.dictionary.value(entry);
                    distinct.insert_text(text);
                    if distinct.len() <= MOST_IN_A_SET {
                        match frequencies.get_mut(text) {
                            Some(frequency) => *frequency += rows,
                            None => {
                                frequencies.insert(text.into(), rows);
                            }
                        }
                    }
                    if self.stated.is_some_and(|stated| !stated.covers(text)) {
                        *uncovered += rows;
                    }
                }
            }
        }
        Ok(())
    }

    /// What was collected.
    pub fn finish(self) -> Collected {
        self.collected.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
