//! The distinct values of a column: the state of the first scan of a table.
//!
//! Memory: what [`DistinctValues`] holds per column.
//! Invariant: merging is commutative and associative, and the result depends only on the set of rows.

use super::attribute::MOST_IN_A_SET;
use super::cells::{CellKeys, CellTexts, keys};
use super::codes::Codes;
use super::distinct::DistinctValues;
use super::grid::{ColumnGrid, GridCell};
use super::numbering::{MOST_NUMBERS, NULL_NUMBER, Numbering, SeenCells};
use super::scale::Scale;
use crate::error::{Error, Result};
use crate::policy::hierarchy::Hierarchy;
use crate::table::ColumnKind;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use std::collections::BTreeMap;

/// The distinct values of a column by their type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSet {
    /// Numbers, dates or times.
    Numbers(Scale, DistinctValues<i64>),
    /// Texts, and how often each one occurs as long as there are few of them.
    Texts(DistinctValues<Box<str>>, Frequencies),
}

/// How often each text of a column occurs; empty if there are more than [`MOST_IN_A_SET`] of them.
pub type Frequencies = BTreeMap<Box<str>, u64>;

/// The values of one column in some of the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnValues {
    /// The values.
    pub set: ValueSet,
    /// Rows without a value (for lists: null items).
    pub nulls: u64,
    /// Rows whose value is not among the texts listed in the policy.
    pub uncovered: u64,
    /// Rows whose value lies in no cell of the column's grid.
    pub outside: u64,
}

impl ValueSet {
    fn empty(kind: &ColumnKind) -> Self {
        let item = match kind {
            ColumnKind::List(item) => item,
            kind => kind,
        };
        match Scale::of(item) {
            Some(scale) => ValueSet::Numbers(scale, DistinctValues::default()),
            None => ValueSet::Texts(DistinctValues::default(), Frequencies::default()),
        }
    }

    /// Whether all values are present, rather than a sample.
    pub fn is_exact(&self) -> bool {
        match self {
            ValueSet::Numbers(_, distinct) => distinct.is_exact(),
            ValueSet::Texts(distinct, _) => distinct.is_exact(),
        }
    }
}

impl ColumnValues {
    /// Adds the values of other rows in the same column.
    pub fn merge(&mut self, other: ColumnValues) -> Result<()> {
        match (&mut self.set, other.set) {
            (ValueSet::Numbers(scale, own), ValueSet::Numbers(others, more)) if *scale == others => {
                own.merge(more);
            }
            (ValueSet::Texts(own, frequencies), ValueSet::Texts(more, others)) => {
                own.merge(more);
                for (text, rows) in others {
                    *frequencies.entry(text).or_default() += rows;
                }
                forget_many(own, frequencies);
            }
            _ => {
                return Err(Error::input(
                    "two parts of a column have different types",
                    "this is a defect; please report it",
                ));
            }
        }
        self.nulls += other.nulls;
        self.uncovered += other.uncovered;
        self.outside += other.outside;
        Ok(())
    }
}

/// Frequencies matter only if the column is published as sets of its texts.
fn forget_many(distinct: &DistinctValues<Box<str>>, frequencies: &mut Frequencies) {
    if !distinct.is_exact() || distinct.len() > MOST_IN_A_SET {
        frequencies.clear();
    }
}

/// Collects the values of one column.
pub struct Collector<'a> {
    name: &'a str,
    grain: Grain,
    /// The only texts that are allowed, if the policy lists them.
    listed: Option<ListedTexts<'a>>,
    seen: SeenCells,
    numbering: Option<Numbering>,
    values: ColumnValues,
}

/// Finds the number of the cell of each key.
struct CellNumbers<'c> {
    scale: Scale,
    grain: &'c Grain,
    seen: &'c mut SeenCells,
    numbering: &'c mut Option<Numbering>,
    distinct: &'c mut DistinctValues<i64>,
    outside: &'c mut u64,
}

impl CellNumbers<'_> {
    /// The number of the cell that a key lies in, or of null.
    #[inline(always)]
    fn number(&mut self, key: i64) -> u16 {
        match self.seen.get(key) {
            Some(number) => number,
            None => self.find(key),
        }
    }

    /// The same for a cell that was not seen, apart so that the loops over known ones stay short.
    #[cold]
    #[inline(never)]
    fn find(&mut self, key: i64) -> u16 {
        let Some(cell) = self.grain.cell(self.scale, key) else {
            *self.outside += 1;
            return NULL_NUMBER;
        };
        let (number, new) = self.seen.find(key, cell, self.numbering.as_mut(), self.distinct.len());
        if new {
            self.distinct.insert(cell.first);
        }
        number
    }
}

/// How finely the values of a column are distinguished.
#[derive(Debug, Clone, PartialEq)]
pub enum Grain {
    /// Value by value.
    Value,
    /// Dates and timestamps by day; the key of a day is the key at which it begins.
    Day,
    /// By the cells of a grid; the key of a cell is its first key.
    Cell(ColumnGrid),
}

impl Grain {
    /// The keys that are not distinguished from this one; `None` if it lies outside of the grid.
    #[inline]
    fn cell(&self, scale: Scale, key: i64) -> Option<GridCell> {
        match self {
            Grain::Value => Some(GridCell { first: key, last: key }),
            Grain::Day => {
                let day = scale.day(key);
                Some(GridCell {
                    first: scale.of_day(day),
                    last: key.max(scale.of_day(day + 1).saturating_sub(1)),
                })
            }
            Grain::Cell(grid) => grid.cell(key),
        }
    }
}

/// The texts that a policy lists for a column.
#[derive(Clone, Copy)]
pub enum ListedTexts<'a> {
    /// The leaves of a hierarchy.
    Tree(&'a Hierarchy),
    /// A list.
    Order(&'a [String]),
}

impl ListedTexts<'_> {
    /// Whether the text is listed, or there is a place for unlisted texts.
    pub fn covers(&self, text: &str) -> bool {
        match self {
            ListedTexts::Tree(hierarchy) => hierarchy.leaf(text).is_some(),
            ListedTexts::Order(values) => values.iter().any(|value| value == text),
        }
    }
}

impl<'a> Collector<'a> {
    /// Creates a collector for a column of this kind; for a list column, the items are collected.
    pub fn new(name: &'a str, kind: &ColumnKind, listed: Option<ListedTexts<'a>>) -> Self {
        let values = ColumnValues { set: ValueSet::empty(kind), nulls: 0, uncovered: 0, outside: 0 };
        Collector { name, grain: Grain::Value, listed, seen: SeenCells::new(1), numbering: None, values }
    }

    /// Sets the grain.
    pub fn with_grain(self, grain: Grain) -> Self {
        let width = match (&grain, &self.values.set) {
            (Grain::Cell(grid), _) => grid.step(),
            (Grain::Day, ValueSet::Numbers(scale, _)) => scale.of_day(1).unsigned_abs(),
            _ => 1,
        };
        Collector { grain, seen: SeenCells::new(width), ..self }
    }

    /// Also numbers the values.
    pub fn numbered(self) -> Self {
        let most = match &self.grain {
            // Null, and an end of the domain that is a cell of its own.
            Grain::Cell(grid) => grid.most_cells().map_or(MOST_NUMBERS, |cells| cells.saturating_add(2)),
            Grain::Value | Grain::Day => MOST_NUMBERS,
        };
        let scale = match &self.values.set {
            ValueSet::Numbers(scale, _) => Some(*scale),
            ValueSet::Texts(..) => None,
        };
        Collector { numbering: Some(Numbering::new(scale, most)), ..self }
    }

    /// The numbers of the values, if they are numbered.
    pub fn numbering(&self) -> Option<&Numbering> {
        self.numbering.as_ref()
    }

    /// Observes a canonical column. With `counts`, each row represents that many equal rows, at least one.
    pub fn observe(&mut self, array: &ArrayRef, counts: Option<&[u64]>) -> Result<()> {
        self.observe_into(array, counts, None)
    }

    /// As [`Collector::observe`]; appends the number of each row's value to `numbers`.
    pub fn observe_into(
        &mut self,
        array: &ArrayRef,
        counts: Option<&[u64]>,
        numbers: Option<&mut Codes>,
    ) -> Result<()> {
        if let Some(list) = array.as_list_opt::<i32>() {
            let offsets = list.value_offsets();
            let (first, last) = (offsets[0] as usize, offsets[list.len()] as usize);
            // The frequencies of items are not needed: only sensitive columns contain lists.
            return self.observe(&list.values().slice(first, last - first), None);
        }
        match &self.values.set {
            ValueSet::Numbers(scale, _) => self.observe_keys(&keys(array, *scale, self.name)?, numbers),
            ValueSet::Texts(..) => self.observe_texts(&CellTexts::new(array), counts, numbers),
        }
        Ok(())
    }

    fn observe_keys(&mut self, keys: &CellKeys<'_>, numbers: Option<&mut Codes>) {
        let ColumnValues { set: ValueSet::Numbers(scale, distinct), nulls, uncovered, outside } =
            &mut self.values
        else {
            return;
        };
        *nulls += keys.nulls.as_ref().map_or(0, |nulls| nulls.null_count() as u64);
        let present = || (0..keys.values.len()).filter_map(|row| keys.get(row));
        if let Some(listed) = self.listed {
            *uncovered += present().filter(|&key| !listed.covers(&scale.text(key))).count() as u64;
        }
        let (grain, seen, numbering) = (&self.grain, &mut self.seen, &mut self.numbering);
        let mut cells = CellNumbers { scale: *scale, grain, seen, numbering, distinct, outside };
        let mut number = |key: i64| cells.number(key);
        match (numbers, &keys.nulls) {
            (Some(Codes::Narrow(codes)), None) => {
                codes.extend(keys.values.iter().map(|&key| number(key) as u8))
            }
            (Some(Codes::Wide(codes)), None) => codes.extend(keys.values.iter().map(|&key| number(key))),
            (Some(codes), Some(_)) => {
                let rows = 0..keys.values.len();
                rows.for_each(|row| codes.push(keys.get(row).map_or(NULL_NUMBER, &mut number)));
            }
            (None, _) => present().for_each(|key| {
                number(key);
            }),
        }
    }

    fn observe_texts(&mut self, texts: &CellTexts<'_>, counts: Option<&[u64]>, numbers: Option<&mut Codes>) {
        let ColumnValues { set: ValueSet::Texts(distinct, frequencies), nulls, uncovered, .. } =
            &mut self.values
        else {
            return;
        };
        let (used, without) = texts.used(counts);
        *nulls += without;
        let mut entries = vec![NULL_NUMBER; used.len()];
        for (entry, &rows) in used.iter().enumerate().filter(|&(_, &rows)| rows > 0) {
            let text = texts.dictionary.value(entry);
            distinct.insert_text(text);
            if distinct.is_exact() && distinct.len() <= MOST_IN_A_SET {
                match frequencies.get_mut(text) {
                    Some(frequency) => *frequency += rows,
                    None => {
                        frequencies.insert(text.into(), rows);
                    }
                }
            }
            if self.listed.is_some_and(|listed| !listed.covers(text)) {
                *uncovered += rows;
            }
            if let Some(numbering) = &mut self.numbering {
                entries[entry] = numbering.text(text);
            }
        }
        forget_many(distinct, frequencies);
        if let Some(codes) = numbers {
            let rows = 0..texts.rows();
            rows.for_each(|row| codes.push(texts.entry(row).map_or(NULL_NUMBER, |entry| entries[entry])));
        }
    }

    /// The column, and the bytes that its values take.
    pub fn memory(&self) -> (&'a str, u64) {
        let distinct = match &self.values.set {
            ValueSet::Numbers(_, distinct) => distinct.memory(),
            ValueSet::Texts(distinct, _) => distinct.memory(),
        };
        let numbered = self.numbering.as_ref().map_or(0, Numbering::memory);
        (self.name, distinct + self.seen.memory() + numbered)
    }

    /// Returns the collected values.
    pub fn finish(self) -> ColumnValues {
        self.values
    }

    /// Returns the collected values and their numbers.
    pub fn finish_numbered(self) -> (ColumnValues, Option<Numbering>) {
        (self.values, self.numbering)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Int64Array};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn numbers(rows: &[Option<i64>]) -> ColumnValues {
        let listed = ["1".to_string(), "2".to_string()];
        let mut collector = Collector::new("n", &ColumnKind::Integer, Some(ListedTexts::Order(&listed)));
        collector.observe(&(Arc::new(Int64Array::from(rows.to_vec())) as ArrayRef), None).unwrap();
        collector.finish()
    }

    fn texts(rows: &[Option<u16>]) -> ColumnValues {
        let rows: Vec<Option<String>> = rows.iter().map(|row| row.map(|row| format!("t{row}"))).collect();
        let array: DictionaryArray<Int32Type> = rows.iter().map(Option::as_deref).collect();
        let mut collector = Collector::new("t", &ColumnKind::Text, None);
        collector.observe(&(Arc::new(array) as ArrayRef), None).unwrap();
        collector.finish()
    }

    fn merged(parts: impl IntoIterator<Item = ColumnValues>) -> ColumnValues {
        parts.into_iter().reduce(|mut all, part| all.merge(part).map(|()| all).unwrap()).unwrap()
    }

    /// Merging in any order and any nesting gives the same result as one scan of all rows.
    fn assert_merges(a: &ColumnValues, b: &ColumnValues, c: &ColumnValues, all: &ColumnValues) {
        let [a, b, c] = [a, b, c].map(|part| || part.clone());
        assert_eq!(&merged([a(), b(), c()]), all);
        assert_eq!(&merged([c(), a(), b()]), all);
        assert_eq!(&merged([a(), merged([b(), c()])]), all);
    }

    proptest! {
        #[test]
        fn values_merge_in_any_order(
            rows in prop::collection::vec(prop::option::of(0i64..9), 0..60),
            cuts in (0usize..60, 0usize..60),
        ) {
            let (low, high) = (cuts.0.min(cuts.1).min(rows.len()), cuts.0.max(cuts.1).min(rows.len()));
            let parts = [&rows[..low], &rows[low..high], &rows[high..]];
            let [a, b, c] = parts.map(numbers);
            assert_merges(&a, &b, &c, &numbers(&rows));
        }

        /// Keys that are near each other are remembered; far ones are not.
        #[test]
        fn every_number_is_found(
            rows in prop::collection::vec(
                prop_oneof![0i64..900, -90_000i64..90_000, any::<i64>(), Just(i64::MIN), Just(i64::MAX)], 0..400,
            ),
        ) {
            let mut collector = Collector::new("n", &ColumnKind::Integer, None);
            for rows in rows.chunks(50) {
                collector.observe(&(Arc::new(Int64Array::from(rows.to_vec())) as ArrayRef), None).unwrap();
            }
            let ValueSet::Numbers(_, found) = collector.finish().set else { panic!("not numbers") };
            let expected: std::collections::BTreeSet<i64> = rows.into_iter().collect();
            prop_assert_eq!(found.into_sorted(), expected.into_iter().collect::<Vec<_>>());
        }

        /// Up to 400 texts: more than are published as a set, so that their frequencies are forgotten.
        #[test]
        fn frequencies_merge_until_there_are_too_many_texts(
            rows in prop::collection::vec(prop::option::of(0u16..400), 0..900),
            cuts in (0usize..900, 0usize..900),
        ) {
            let (low, high) = (cuts.0.min(cuts.1).min(rows.len()), cuts.0.max(cuts.1).min(rows.len()));
            let parts = [&rows[..low], &rows[low..high], &rows[high..]];
            let [a, b, c] = parts.map(texts);
            assert_merges(&a, &b, &c, &texts(&rows));
        }
    }

    #[test]
    fn columns_of_different_types_do_not_merge() {
        assert!(numbers(&[Some(1)]).merge(texts(&[Some(1)])).is_err());
    }
}
