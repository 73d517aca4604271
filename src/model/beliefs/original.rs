//! What does an adversary know about the table?
//!
//! The quasi-identifiers and the sensitive column of the original rows are read twice: for their values, and
//! for the combinations that occur. Every value needs its own code, so a quasi-identifier may have at most
//! 65,535 values.
//!
//! Memory: 4 B x columns + 8 B per distinct combination and 12 B per distinct (combination, sensitive value), twice while
//! they are sorted, reserved from the budget; counting them spills.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef};

use crate::encode::attribute::{Attribute, Coding, Leaves};
use crate::encode::column_values::ValueSet;
use crate::encode::combination::SensitiveColumns;
use crate::encode::encoder::{Encoder, append_codes};
use crate::encode::grid::ColumnGrid;
use crate::encode::page::Layout;
use crate::encode::rows::{Rows, Sensitive};
use crate::encode::scale::Scale;
use crate::encode::sensitive::SensitiveCoding;
use crate::encode::source::{Source, SourceBatches};
use crate::encode::source_columns::{SensitiveSource, SourceColumns};
use crate::error::{Error, Result};
use crate::math::beliefs::combinations::Combinations;
use crate::math::beliefs::distance::Distance;
use crate::math::exact::{Rational, parse_fraction};
use crate::math::skyline::Values;
use crate::model::suppression::SuppressedShare;
use crate::model::{Policy, Target};
use crate::policy::hierarchy::Hierarchy;
use crate::policy::{Nearness, Quasi, QuasiShape};
use crate::resources::Resources;
use crate::resources::budget::{Budget, Reservation};
use crate::resources::spill::Spill;
use crate::resources::tally::Tally;
use crate::table::ColumnKind;
use crate::table::read::Table;

/// Which columns the adversary knows, and which one they want to learn.
#[derive(Debug, Clone, PartialEq)]
pub struct Roles {
    /// The quasi-identifiers. The adversary knows values, not the cells in which they are published.
    pub quasi: Vec<Quasi>,
    /// The sensitive column.
    pub sensitive: String,
    /// The value that a null in it represents.
    pub null_is: Option<String>,
    /// The distances between its values.
    pub nearness: Nearness,
    /// How many people of the original may be missing from a release.
    pub suppress: SuppressedShare,
}

impl Roles {
    /// As a policy declares them for one target.
    pub fn of(policy: &Policy, target: &Target) -> Result<Self> {
        let [name] = &target.columns[..] else {
            return Err(Error::input(
                format!(
                    "beliefs are followed about single columns, and {} are protected together",
                    target.columns.join(", ")
                ),
                "give the combination a column of its own in the table",
            ));
        };
        let several = match (&policy.columns.individual, &policy.columns.count) {
            (Some(name), _) => Some((name, "columns.individual", "a person may have several rows", "one")),
            (None, Some(name)) => {
                Some((name, "columns.count", "a row may stand for several people", "a row of its own"))
            }
            (None, None) => None,
        };
        if let Some((name, key, why, give)) = several {
            return Err(Error::input(
                format!("beliefs are followed where each row is a person, and by column `{name}` {why}"),
                format!("make a table that gives each person {give}, and leave out {key}"),
            ));
        }
        let declared = policy.columns.sensitive(name);
        Ok(Roles {
            quasi: policy.columns.quasi.iter().map(Quasi::value_by_value).collect(),
            sensitive: name.clone(),
            null_is: declared.and_then(|column| column.null_is.clone()),
            nearness: declared.map_or(Nearness::Equal, |column| column.nearness.clone()),
            suppress: policy.privacy.suppress.clone(),
        })
    }

    /// Columns given by name only.
    pub fn plain(quasi: &[String], sensitive: &str) -> Self {
        Roles {
            quasi: quasi.iter().map(|name| Quasi::plain(name).value_by_value()).collect(),
            sensitive: sensitive.to_string(),
            null_is: None,
            nearness: Nearness::Equal,
            suppress: SuppressedShare::NOBODY,
        }
    }

    fn sensitive_source(&self) -> SensitiveSource<'_> {
        SensitiveSource { name: &self.sensitive, null_is: self.null_is.as_deref(), values: Values::Single }
    }

    /// The names of the quasi-identifiers.
    pub fn names(&self) -> Vec<&str> {
        self.quasi.iter().map(|quasi| quasi.name.as_str()).collect()
    }
}

/// The original table as codes, merged by combination.
pub struct Original {
    /// The quasi-identifiers.
    pub attributes: Vec<Attribute>,
    /// The sensitive column.
    pub sensitive: SensitiveCoding,
    /// Which combinations occur, and with which values.
    pub combinations: Combinations,
    /// The memory reserved for the combinations.
    _room: Reservation,
}

impl Original {
    /// Reads a table.
    pub fn read(table: &Table, roles: &Roles, resources: &Resources<'_>) -> Result<Self> {
        if roles.quasi.is_empty() {
            return Err(Error::input(
                "no quasi-identifier is given",
                "name what an adversary knows in columns.quasi",
            ));
        }
        if matches!(table.kind(&roles.sensitive)?, ColumnKind::List(_)) {
            return Err(Error::input(
                format!(
                    "beliefs are followed about single values, and column `{}` holds lists",
                    roles.sensitive
                ),
                "give a table with one value for each person",
            ));
        }
        let columns = SourceColumns::of_people(roles.quasi.iter().collect(), roles.sensitive_source());
        let source = Source { table, columns, resources };
        let (attributes, column) = exact_values(&source)?;
        let spill = Arc::new(resources.new_spill()?);
        let gatherer = Gatherer::new(&spill, &resources.budget)?;
        let encoder = Encoder::new(&attributes, &column, &resources.budget);
        let work = |batches: SourceBatches<'_>| {
            for batch in batches {
                gatherer.add(&encoder.rows(&batch?)?, |value| value)?;
            }
            Ok(())
        };
        source.scan("counting combinations", work, |()| Ok(()))?;
        drop(encoder);
        let sensitive = column.columns()[0].clone();
        let (combinations, room) = gatherer.finish(attributes.len(), sensitive.len(), &resources.budget)?;
        Ok(Original { attributes, sensitive, combinations, _room: room })
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        let combinations = 0..self.combinations.len();
        combinations
            .flat_map(|combination| self.combinations.histogram(combination))
            .map(|(_, count)| count)
            .sum()
    }

    /// The codes of some rows' quasi-identifiers, which must be values of the original.
    pub fn codes(&self, columns: &[ArrayRef]) -> Result<Rows> {
        let sensitive = SensitiveColumns::one(self.sensitive.clone());
        let layout = Layout::of(&self.attributes, &sensitive);
        let mut rows = layout.empty(columns.first().map_or(0, |column| column.len()));
        for ((attribute, array), codes) in self.attributes.iter().zip(columns).zip(&mut rows.columns) {
            append_codes(attribute, array, codes).map_err(|_| foreign(&attribute.name))?;
        }
        Ok(rows)
    }
}

fn foreign(column: &str) -> Error {
    other_table(&format!("column `{column}` of the release holds a value that this table does not"))
}

/// The first scan; every value must have its own code.
fn exact_values(source: &Source<'_>) -> Result<(Vec<Attribute>, SensitiveColumns)> {
    let found = source.find_values()?;
    let mut attributes = Vec::new();
    for (quasi, found) in source.quasi().zip(found.quasi) {
        if !found.set.is_exact() {
            return Err(too_fine(&quasi.name));
        }
        attributes.push(Attribute::of_quasi(quasi, found)?);
    }
    Ok((attributes, source.sensitive_columns(found.sensitive)?))
}

/// Fails unless these descriptions of the quasi-identifiers tell all values apart, and each by its place: beliefs that are
/// measured between cells, or between days, would move less than those of someone who knows the values.
///
/// One more scan, if a column may have cells of several values.
pub fn expect_values_apart(
    table: &Table,
    quasi: &[Quasi],
    roles: &Roles,
    resources: &Resources<'_>,
) -> Result<()> {
    let mut doubtful = Vec::new();
    for quasi in quasi {
        let Some(scale) = Scale::of(&table.kind(&quasi.name)?) else { continue };
        let apart = match (&quasi.shape, scale) {
            (QuasiShape::Plain, _) => ColumnGrid::of(quasi, scale)?.is_of_values(),
            (QuasiShape::Dates(_), Scale::Timestamp(_)) => false,
            _ => true,
        };
        if !apart {
            doubtful.push((quasi, Quasi { shape: QuasiShape::Plain, ..quasi.clone() }.value_by_value()));
        }
    }
    if doubtful.is_empty() {
        return Ok(());
    }
    let exact = doubtful.iter().map(|(_, exact)| exact).collect();
    let columns = SourceColumns::of_people(exact, roles.sensitive_source());
    let found = Source { table, columns, resources }.find_values()?;
    for ((quasi, _), found) in doubtful.iter().zip(found.quasi) {
        let ValueSet::Numbers(scale, distinct) = found.set else { continue };
        if !distinct.is_exact() {
            return Err(too_fine(&quasi.name));
        }
        let grid = ColumnGrid::of(quasi, scale)?;
        let begins = |key: i64| match quasi.shape {
            QuasiShape::Dates(_) => scale.of_day(scale.day(key)) == key,
            // What lies outside of the grid is refused elsewhere.
            _ => grid.cell(key).is_none_or(|cell| cell.first == key),
        };
        if !distinct.into_sorted().into_iter().all(begins) {
            return Err(Error::input(
                format!(
                    "column `{0}` has values inside the {1}, and beliefs are measured between values",
                    quasi.name,
                    match quasi.shape {
                        QuasiShape::Dates(_) => "days of its periods",
                        _ => "cells of its grid",
                    }
                ),
                format!(
                    "write columns.quasi.{}.grid so that a cell begins at every value, such as grid = 1 for whole numbers, \
                     or round the column before it is read",
                    quasi.name
                ),
            )
            .of_column(&quasi.name));
        }
    }
    Ok(())
}

fn too_fine(column: &str) -> Error {
    Error::input(
        format!("column `{column}` has more than 65,535 different values, too many for beliefs"),
        "round the column before it is read: nobody knows it so finely",
    )
}

/// Merges rows by their codes, out of core.
pub struct Gatherer {
    tally: Mutex<Tally>,
}

impl Gatherer {
    /// No rows yet.
    pub fn new(spill: &Arc<Spill>, budget: &Arc<Budget>) -> Result<Self> {
        Ok(Gatherer { tally: Mutex::new(Tally::new(spill, budget, 2)?) })
    }

    /// Adds rows with one sensitive code each; `value` turns the code into a value.
    pub fn add(&self, rows: &Rows, value: impl Fn(u16) -> u16) -> Result<()> {
        let Sensitive::Single(values) = &rows.sensitive else {
            return Err(Error::input(
                "beliefs are defined for single values only",
                "set privacy.values = \"single\"",
            ));
        };
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key = Vec::with_capacity(2 * rows.columns.len());
        for row in 0..rows.len() {
            codes_of(rows, row, &mut key);
            tally.add(&key, &value(values.get(row)).to_be_bytes(), 1)?;
        }
        Ok(())
    }

    /// The combinations, and the memory reserved for them.
    pub fn finish(
        self,
        columns: usize,
        values: usize,
        budget: &Arc<Budget>,
    ) -> Result<(Combinations, Reservation)> {
        let tally = self.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut room = budget.reserve("the combinations of quasi-identifiers", 0)?;
        let (mut codes, mut ends) = (Vec::<u16>::new(), Vec::<usize>::new());
        let mut entries = Vec::<(u16, u64)>::new();
        let bytes = |combinations: usize, entries: usize| {
            (combinations * (6 * columns + 28) + entries * (16 + 12)) as u64
        };
        tally.finish(&mut |key, items| {
            codes.extend(key.chunks_exact(2).map(|code| u16::from_be_bytes([code[0], code[1]])));
            let pair = |(item, count): &(&[u8], u64)| {
                (item.first_chunk().map_or(0, |item| u16::from_be_bytes(*item)), *count)
            };
            entries.extend(items.iter().map(pair));
            ends.push(entries.len());
            let needed = bytes(ends.len(), entries.len());
            if needed > room.bytes() {
                let grown = room.resize("the combinations of quasi-identifiers", needed + needed / 4);
                return grown.map_err(|_| too_many(ends.len(), needed, budget));
            }
            Ok(())
        })?;
        let own = |combination: u32| &codes[combination as usize * columns..][..columns];
        let mut order: Vec<u32> = (0..ends.len() as u32).collect();
        order.sort_unstable_by(|a, b| own(*a).cmp(own(*b)));
        let mut combinations = Combinations::new(columns, values);
        let mut wide = Vec::with_capacity(columns);
        for place in order {
            wide.clear();
            wide.extend(own(place).iter().map(|code| u32::from(*code)));
            let place = place as usize;
            let start = if place == 0 { 0 } else { ends[place - 1] };
            for (value, count) in &entries[start..ends[place]] {
                combinations.push(&wide, u32::from(*value), *count)?;
            }
        }
        Ok((combinations, room))
    }
}

fn too_many(combinations: usize, needed: u64, budget: &Budget) -> Error {
    Error::input(
        format!(
            "the quasi-identifiers have more than {combinations} different combinations, which need over {} MiB of \
             memory, and the budget is {} MiB",
            needed >> 20,
            budget.total() >> 20
        ),
        "give more memory, or fewer or coarser quasi-identifiers",
    )
}

/// The codes of a row, two bytes each, so that the order of the bytes is the order of the codes.
pub fn codes_of(rows: &Rows, row: usize, key: &mut Vec<u8>) {
    key.clear();
    for codes in &rows.columns {
        key.extend_from_slice(&codes.get(row).to_be_bytes());
    }
}

/// The distances between the values of a quasi-identifier: numbers and times by their difference, even if
/// ranges or periods are declared for them; listed categories by their positions; others by their hierarchy.
pub fn distance(attribute: &Attribute, quasi: &Quasi) -> Result<Distance> {
    if matches!(&attribute.coding, Coding::Numbers(ordered) if !ordered.is_exact()) {
        return Err(too_fine(&attribute.name));
    }
    let null = || attribute.nulls.then_some(None).into_iter();
    let number = |scale: Scale, key: i64| -> Result<Option<Rational>> {
        scale.number(key).map(Some).ok_or_else(|| {
            Error::input(
                format!("column `{}` holds a number that has no exact fraction", attribute.name),
                "remove infinite and enormous numbers from the column",
            )
        })
    };
    Ok(match (&attribute.coding, &quasi.shape) {
        (Coding::Numbers(ordered), _) => {
            let numbers = ordered.cells().iter().map(|cell| number(ordered.scale(), cell.first));
            Distance::Numeric(null().map(Ok).chain(numbers).collect::<Result<_>>()?)
        }
        (
            Coding::Tree { leaves: Leaves::Key(scale, keys), hierarchy },
            QuasiShape::Widths(_) | QuasiShape::Ends(_),
        ) => {
            let mut numbers = vec![None; hierarchy.leaf_count() as usize];
            for &(key, leaf) in keys {
                numbers[leaf as usize] = number(*scale, key)?;
            }
            Distance::Numeric(null().chain(numbers).collect())
        }
        (Coding::Tree { leaves: Leaves::Day(_, days), hierarchy }, _) => {
            let mut numbers = vec![None; hierarchy.leaf_count() as usize];
            for &(day, leaf) in days {
                numbers[leaf as usize] = Some(Rational::from(day));
            }
            Distance::Numeric(null().chain(numbers).collect())
        }
        (Coding::Set { values, .. }, QuasiShape::Order(_)) => {
            let places = (0..values.len()).map(|place| Some(Rational::from(place)));
            Distance::Numeric(null().chain(places).collect())
        }
        (Coding::Set { .. } | Coding::TextRanges { .. }, _) => Distance::Flat(attribute.codes() as usize),
        (Coding::Tree { hierarchy, leaves: Leaves::Text | Leaves::Key(..) }, _) => {
            let (mut parents, mut nodes) = tree(hierarchy);
            if attribute.nulls {
                // Null has nothing in common with any value, so it gets its own root.
                nodes.insert(0, parents.len() as u32);
                parents.push(None);
            }
            Distance::Hierarchy { parents, nodes }
        }
    })
}

/// The distances between the values of the sensitive domain: those of the sensitive codes, followed by the values that the
/// policy states, as an order or a hierarchy, and that do not occur.
pub fn sensitive_domain(nearness: &Nearness, sensitive: &SensitiveCoding) -> Result<Distance> {
    let texts = sensitive.texts();
    let without = |what: &str, remedy: &str| {
        let name = &sensitive.name;
        Error::input(
            format!("column `{name}` holds a value that {what}"),
            format!("{remedy} of columns.sensitive.{name}"),
        )
    };
    Ok(match nearness {
        Nearness::Equal => Distance::Flat(texts.len()),
        Nearness::Numeric => {
            let number = |text: &String| {
                parse_fraction(text).map(Some).ok_or_else(|| without("is no number", "change the order"))
            };
            Distance::Numeric(texts.iter().map(number).collect::<Result<_>>()?)
        }
        Nearness::Order(_) => {
            let places = nearness.places(&texts);
            let (mut places, domain) =
                places.ok_or_else(|| without("its order does not list", "add it to the order"))?;
            let absent: Vec<u32> = (0..domain as u32).filter(|place| !places.contains(place)).collect();
            places.extend(absent);
            Distance::Numeric(places.into_iter().map(|place| Some(Rational::from(place))).collect())
        }
        Nearness::Hierarchy(hierarchy) => {
            let (parents, leaves) = tree(hierarchy);
            let node = |text: &String| {
                let leaf = hierarchy.leaf(text);
                leaf.map(|leaf| leaves[leaf as usize])
                    .ok_or_else(|| without("its hierarchy does not list", "add it to the hierarchy"))
            };
            let mut nodes: Vec<u32> = texts.iter().map(node).collect::<Result<_>>()?;
            let occurring: HashSet<u32> = nodes.iter().copied().collect();
            nodes.extend(leaves.into_iter().filter(|node| !occurring.contains(node)));
            Distance::Hierarchy { parents, nodes }
        }
    })
}

/// The parent of each node, and the node of each leaf.
fn tree(hierarchy: &Hierarchy) -> (Vec<Option<u32>>, Vec<u32>) {
    let parents = hierarchy.nodes().map(|node| hierarchy.parent(node).map(|above| above.index() as u32));
    let leaves = (0..hierarchy.leaf_count()).map(|leaf| hierarchy.leaf_node(leaf).index() as u32);
    (parents.collect(), leaves.collect())
}

/// The release cannot have been made from the table that stands for the original.
pub(crate) fn other_table(why: &str) -> Error {
    Error::input(
        format!("this is not the table that the release was made from: {why}"),
        "give the table that the release was made from",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::beliefs::distance::Metric;
    use crate::math::exact::ratio;
    use crate::resources::progress::Progress;
    use crate::table::read::{CsvType, ReadOptions};

    /// The distances between the values of a column with its declarations in a policy.
    fn distances(
        declared: &str,
        kind: Option<CsvType>,
        cells: &[&str],
        between: &[(&str, &str)],
    ) -> Vec<Rational> {
        apart_or_why(declared, kind, cells, between).unwrap()
    }

    fn apart_or_why(
        declared: &str,
        kind: Option<CsvType>,
        cells: &[&str],
        between: &[(&str, &str)],
    ) -> Result<Vec<Rational>> {
        let folder = tempfile::tempdir().unwrap();
        let rows: String = cells.iter().map(|cell| format!("{cell},a\n")).collect();
        let (csv, toml) = (folder.path().join("t.csv"), folder.path().join("p.toml"));
        std::fs::write(&csv, format!("q,s\n{rows}")).unwrap();
        std::fs::write(
            &toml,
            format!(
                "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\n{declared}\n[privacy]\nk_anonymity = 2\n"
            ),
        )
        .unwrap();
        let policy = Policy::read(&toml).unwrap();
        let types = kind.map(|kind| ("q".to_string(), kind)).into_iter().collect();
        let options = ReadOptions { types, ..ReadOptions::default() };
        let table = Table::open(&[csv], &options).unwrap();
        let progress = Progress::default();
        let resources = Resources {
            threads: 1,
            budget: Budget::new(1 << 28),
            temp: folder.path().to_path_buf(),
            spill: Default::default(),
            progress: &progress,
        };
        let roles = Roles::of(&policy, &policy.privacy.targets[0]).unwrap();
        expect_values_apart(&table, &roles.quasi, &roles, &resources)?;
        let known = Original::read(&table, &roles, &resources)?;
        let attribute = &known.attributes[0];
        let metric = Metric::new(&distance(attribute, &roles.quasi[0]).unwrap(), "q").unwrap();
        let code = |cell: &str| {
            let scale = match &attribute.coding {
                Coding::Numbers(ordered) => Some(ordered.scale()),
                Coding::Tree { leaves: Leaves::Key(scale, _) | Leaves::Day(scale, _), .. } => Some(*scale),
                _ => None,
            };
            let code = match scale {
                _ if cell.is_empty() => return 0,
                Some(scale) => attribute.coding.number_code(scale.parse(cell).unwrap()),
                None => attribute.coding.text_code(cell),
            };
            attribute.shifted(code.unwrap())
        };
        Ok(between.iter().map(|(a, b)| metric.between(code(a), code(b))).collect())
    }

    #[test]
    fn numbers_and_times_are_apart_by_their_difference_whatever_ranges_are_declared() {
        let expected = [ratio(1, 10), ratio(9, 10), ratio(1, 1), ratio(1, 1), Rational::ZERO];
        let numbers = ["0", "10", "100", "50", ""];
        let pairs = [("0", "10"), ("10", "100"), ("0", "100"), ("", "10"), ("", "")];
        for declared in
            ["", "levels = [20, 40]", "ends = [[-1, 5, 60], [60]]", "domain = [0, 200]", "grid = 70"]
        {
            for kind in [None, Some(CsvType::Float)] {
                assert_eq!(distances(declared, kind, &numbers, &pairs), expected, "{declared} {kind:?}");
            }
        }
        // Ten days of a hundred, over the ends of months and years.
        let days = ["2019-12-25", "2020-01-04", "2020-04-03", "2020-02-01", ""];
        let midnights = days[..4].iter().map(|day| format!("{day}T00:00:00")).chain([String::new()]);
        let midnights: Vec<String> = midnights.collect();
        let midnights: Vec<&str> = midnights.iter().map(String::as_str).collect();
        let pairs = [
            ("2019-12-25", "2020-01-04"),
            ("2020-01-04", "2020-04-03"),
            ("2019-12-25", "2020-04-03"),
            ("", "2020-01-04"),
            ("", ""),
        ];
        let ends = "ends = [[\"2020-01-01\", \"2020-03-01\"]]";
        for declared in
            ["", "dates = [\"year\", \"decade\"]", "dates = [\"month\"]", "dates = [\"day\", \"week\"]", ends]
        {
            assert_eq!(distances(declared, None, &days, &pairs), expected, "{declared}");
            let kind = Some(CsvType::Timestamp);
            assert_eq!(distances(declared, kind, &midnights, &pairs), expected, "timestamps, {declared}");
        }
        // Times within one day are times, whatever cells they are published in; periods hold days only.
        let moments = ["2020-01-01T06:00:00", "2020-01-01T18:00:00", "2020-01-03T12:00:00"];
        let pairs = [(moments[0], moments[1]), (moments[1], moments[2])];
        let apart = |declared: &str| distances(declared, Some(CsvType::Timestamp), &moments, &pairs);
        for declared in ["", "grid = \"hour\"", "grid = \"year\""] {
            assert_eq!(apart(declared), [ratio(2, 9), ratio(7, 9)], "{declared}");
        }
        let refused =
            apart_or_why("dates = [\"month\"]", Some(CsvType::Timestamp), &moments, &pairs).unwrap_err();
        assert!(refused.to_string().contains("has values inside the days"), "{refused}");
    }

    #[test]
    fn categories_are_apart_by_their_place_their_hierarchy_or_not_at_all() {
        let cells = ["a", "b", "d", "c", ""];
        let pairs = [("a", "b"), ("a", "c"), ("b", "d"), ("", "a")];
        let one = || ratio(1, 1);
        assert_eq!(distances("", None, &cells, &pairs), [one(), one(), one(), one()]);
        let order = "order = [\"a\", \"b\", \"c\", \"d\"]";
        assert_eq!(distances(order, None, &cells, &pairs), [ratio(1, 3), ratio(2, 3), ratio(2, 3), one()]);
        let tree = "hierarchy = { x = [\"a\", \"b\"], y = [\"c\", \"d\"] }";
        assert_eq!(distances(tree, None, &cells, &pairs), [ratio(1, 2), one(), one(), one()]);
        // A hierarchy and a prefix also turn numbers into categories.
        let cells = ["11", "12", "21", ""];
        let pairs = [("11", "12"), ("12", "21"), ("", "11")];
        let tree = "hierarchy = { x = [\"11\", \"12\"], y = [\"21\"] }";
        for declared in [tree, "prefix = [1]"] {
            for kind in [None, Some(CsvType::Text)] {
                assert_eq!(
                    distances(declared, kind, &cells, &pairs),
                    [ratio(1, 2), one(), one()],
                    "{declared} {kind:?}"
                );
            }
        }
        // More texts than a label lists.
        let many: Vec<String> = (0..300).map(|i| format!("v{i}")).collect();
        let mut cells: Vec<&str> = many.iter().map(String::as_str).collect();
        cells.push("");
        assert_eq!(
            distances("", None, &cells, &[("v1", "v2"), ("v7", "v299"), ("", "v1"), ("v5", "v5")]),
            [one(), one(), one(), Rational::ZERO]
        );
    }
}
