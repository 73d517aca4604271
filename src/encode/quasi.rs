//! The codes and cuts of a quasi-identifier, from its description in the policy and the values that the first scan
//! found.

use crate::encode::attribute::{Attribute, Coding, Leaves};
use crate::encode::column_values::{Collector, ColumnValues, Frequencies, Grain, ListedTexts, ValueSet};
use crate::encode::distinct::DistinctValues;
use crate::encode::grid::ColumnGrid;
use crate::encode::scale::Scale;
use crate::error::{Error, Result, number_of};
use crate::math::exact::{Rational, parse_fraction};
use crate::math::hash_sample::SampleKey;
use crate::policy::hierarchy::{self, DateLevel, Hierarchy, Problem};
use crate::policy::{End, Quasi, QuasiShape};
use crate::table::ColumnKind;

impl<'a> Collector<'a> {
    /// Creates a collector for a quasi-identifier of this kind.
    ///
    /// # Errors
    /// A domain or a grid that is not of this kind.
    pub fn of_quasi(quasi: &'a Quasi, kind: &ColumnKind) -> Result<Self> {
        let grain = match (&quasi.shape, Scale::of(kind)) {
            (QuasiShape::Dates(_), _) => Grain::Day,
            (QuasiShape::Plain, Some(scale)) => Grain::Cell(ColumnGrid::of(quasi, scale)?),
            _ => Grain::Value,
        };
        Ok(Collector::new(&quasi.name, kind, listed(quasi)).with_grain(grain))
    }
}

/// The texts that the policy lists for a column, if there is no place for others.
fn listed(quasi: &Quasi) -> Option<ListedTexts<'_>> {
    match &quasi.shape {
        QuasiShape::Hierarchy(hierarchy) => Some(ListedTexts::Tree(hierarchy)),
        QuasiShape::Order(values) if quasi.other.is_none() => Some(ListedTexts::Order(values)),
        _ => None,
    }
}

/// The error for values that the policy does not list: how many values and rows there are, and what to do about it.
fn uncovered(quasi: &Quasi, values: ColumnValues) -> Error {
    let (name, rows) = (&quasi.name, number_of(values.uncovered, "row", "rows"));
    let covers = |text: &str| listed(quasi).is_none_or(|listed| listed.covers(text));
    let exact = values.set.is_exact();
    let values = match values.set {
        ValueSet::Numbers(scale, distinct) => {
            distinct.into_sorted().iter().filter(|&&key| !covers(&scale.text(key))).count()
        }
        ValueSet::Texts(distinct, _) => distinct.into_sorted().iter().filter(|text| !covers(text)).count(),
    };
    let are = if values == 1 { "is" } else { "are" };
    let values = number_of(values as u64, "value", "values");
    let at_least = if exact { "" } else { "at least " };
    let (listed, other) = match quasi.shape {
        QuasiShape::Order(_) => ("order", "the name of one that is listed"),
        _ => ("hierarchy", "a name of your choice"),
    };
    Error::input(
        format!("column {name:?}: {at_least}{values} on {rows} {are} not in the {listed} of the policy"),
        format!("add them to columns.quasi.{name}.{listed}, or send them to one node: other = \"{other}\""),
    )
}

impl Attribute {
    /// The codes of a quasi-identifier.
    pub fn of_quasi(quasi: &Quasi, values: ColumnValues) -> Result<Self> {
        if values.uncovered > 0 {
            return Err(uncovered(quasi, values));
        }
        if let (1.., ValueSet::Numbers(scale, _)) = (values.outside, &values.set) {
            return Err(ColumnGrid::of(quasi, *scale)?.without_cell(&quasi.name));
        }
        let coding = match values.set {
            ValueSet::Numbers(scale, distinct) => number_coding(quasi, scale, distinct)?,
            ValueSet::Texts(distinct, frequencies) => text_coding(quasi, distinct, &frequencies)?,
        };
        let attribute = Attribute { name: quasi.name.clone(), nulls: values.nulls > 0, coding };
        if attribute.codes() > 65_536 {
            return Err(too_many(&quasi.name));
        }
        Ok(attribute)
    }
}

/// Whether the groups follow from the values: without values there are none.
fn has_no_list(shape: &QuasiShape) -> bool {
    matches!(
        shape,
        QuasiShape::Widths(_) | QuasiShape::Ends(_) | QuasiShape::Prefix(_) | QuasiShape::Dates(_)
    )
}

fn text_coding(
    quasi: &Quasi,
    distinct: DistinctValues<Box<str>>,
    frequencies: &Frequencies,
) -> Result<Coding> {
    let name = &quasi.name;
    if distinct.is_empty() && has_no_list(&quasi.shape) {
        return Ok(Coding::texts(distinct, frequencies));
    }
    Ok(match &quasi.shape {
        QuasiShape::Plain => Coding::texts(distinct, frequencies),
        QuasiShape::Hierarchy(tree) => Coding::Tree { hierarchy: tree.clone(), leaves: Leaves::Text },
        QuasiShape::Order(values) => ordered(values, quasi.other.as_ref()),
        QuasiShape::Prefix(lengths) => {
            let values = exact(name, distinct)?;
            let tree = hierarchy::by_prefixes(values.iter().map(|value| &**value), lengths);
            Coding::Tree { hierarchy: built(name, tree)?, leaves: Leaves::Text }
        }
        QuasiShape::Widths(_) => return Err(not_for(name, "levels", "numbers")),
        QuasiShape::Ends(_) => return Err(not_for(name, "ends", "numbers, dates and timestamps")),
        QuasiShape::Dates(_) => return Err(not_for(name, "dates", "dates and timestamps")),
    })
}

fn number_coding(quasi: &Quasi, scale: Scale, distinct: DistinctValues<i64>) -> Result<Coding> {
    let name = &quasi.name;
    let text = |key: &i64| scale.text(*key);
    if distinct.is_empty() && has_no_list(&quasi.shape) {
        return Ok(Coding::numbers(ColumnGrid::of(&Quasi::plain(name), scale)?, distinct));
    }
    let (keys, tree) = match &quasi.shape {
        QuasiShape::Plain => return Ok(Coding::numbers(ColumnGrid::of(quasi, scale)?, distinct)),
        QuasiShape::Dates(levels) => return date_coding(name, scale, distinct, levels),
        QuasiShape::Order(_) => return Err(not_for(name, "order", "texts")),
        QuasiShape::Hierarchy(tree) => (exact(name, distinct)?, tree.clone()),
        QuasiShape::Prefix(lengths) => {
            let keys = exact(name, distinct)?;
            let texts: Vec<String> = keys.iter().map(text).collect();
            let tree = hierarchy::by_prefixes(texts.iter().map(String::as_str), lengths);
            (keys, built(name, tree)?)
        }
        QuasiShape::Widths(widths) => {
            let keys = exact(name, distinct)?;
            let value = |key: &i64| Some((parse_fraction(&text(key))?, text(key)));
            let values: Option<Vec<(Rational, String)>> = keys.iter().map(value).collect();
            let values = values.ok_or_else(|| not_for(name, "levels", "numbers"))?;
            (keys, built(name, hierarchy::by_widths(&values, widths))?)
        }
        QuasiShape::Ends(levels) => {
            let keys = exact(name, distinct)?;
            let end = |end: &End| Some((scale.parse(&end.text)?, end.text.clone()));
            let levels: Option<Vec<Vec<(i64, String)>>> =
                levels.iter().map(|ends| ends.iter().map(end).collect()).collect();
            let levels =
                levels.ok_or_else(|| not_for(name, "ends of another type", "values of that type"))?;
            let values: Vec<(i64, String)> = keys.iter().map(|key| (*key, text(key))).collect();
            (keys, built(name, hierarchy::by_ends(&values, &levels))?)
        }
    };
    let leaf = |key: &i64| Some((*key, tree.leaf(&text(key))?));
    let leaves: Option<Vec<(i64, u32)>> = keys.iter().map(leaf).collect();
    let leaves = leaves.ok_or_else(|| not_for(name, "this hierarchy", "the values that it lists"))?;
    Ok(Coding::Tree { hierarchy: tree, leaves: Leaves::Key(scale, leaves) })
}

fn date_coding(
    name: &str,
    scale: Scale,
    distinct: DistinctValues<i64>,
    levels: &[DateLevel],
) -> Result<Coding> {
    if !matches!(scale, Scale::Date | Scale::Timestamp(_)) {
        return Err(not_for(name, "dates", "dates and timestamps"));
    }
    let days: Vec<i64> = exact(name, distinct)?.iter().map(|&key| scale.day(key)).collect();
    let tree = built(name, hierarchy::by_dates(&days, levels))?;
    let leaf = |&day: &i64| Some((day, tree.leaf(&DateLevel::Day.label(day))?));
    let leaves: Option<Vec<(i64, u32)>> = days.iter().map(leaf).collect();
    let leaves = leaves.ok_or_else(|| not_for(name, "dates", "days that the calendar names"))?;
    Ok(Coding::Tree { hierarchy: tree, leaves: Leaves::Day(scale, leaves) })
}

/// Texts in a declared order; `other` is the one that replaces texts that are not listed.
fn ordered(values: &[String], other: Option<&String>) -> Coding {
    let mut values: Vec<Box<str>> = values.iter().map(|value| value.as_str().into()).collect();
    let place = |other: &String| {
        let listed = values.iter().position(|value| **value == **other);
        listed.unwrap_or_else(|| {
            values.push(other.as_str().into());
            values.len() - 1
        }) as u32
    };
    let other = other.map(place);
    Coding::Set { values, other }
}

fn exact<K: SampleKey + Ord>(name: &str, distinct: DistinctValues<K>) -> Result<Vec<K>> {
    if distinct.is_exact() { Ok(distinct.into_sorted()) } else { Err(too_many(name)) }
}

fn built(name: &str, tree: Result<Hierarchy, Vec<Problem>>) -> Result<Hierarchy> {
    tree.map_err(|_| {
        Error::input(
            format!("column {name:?}: its levels do not nest"),
            format!("let each level of columns.quasi.{name} lie inside the next one"),
        )
    })
}

fn not_for(name: &str, what: &str, only: &str) -> Error {
    Error::input(
        format!("column {name:?}: {what} can be declared only for {only}"),
        format!("change columns.quasi.{name}, or the type of the column in columns.types"),
    )
}

fn too_many(name: &str) -> Error {
    Error::input(
        format!("column {name:?} has more than 65,535 different values, too many for a hierarchy"),
        format!("leave the hierarchy out of columns.quasi.{name}: it is then cut by value, in bins"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, TimestampSecondArray};
    use arrow_schema::TimeUnit;
    use std::sync::Arc;

    #[test]
    fn moments_are_distinguished_by_the_day_where_periods_are_declared() {
        let levels = vec![DateLevel::Week];
        let shape = QuasiShape::Dates(levels);
        let quasi = Quasi { name: "seen".into(), shape, domain: None, grid: None, other: None };
        let kind = ColumnKind::Timestamp { unit: TimeUnit::Second, zone: None };
        let mut collector = Collector::of_quasi(&quasi, &kind).unwrap();
        // More moments than a column may have values, on 96 days, some of them before 1970.
        let moments = (0..83_000).map(|i| 100 * i - 3 * 86_400);
        let array: ArrayRef = Arc::new(TimestampSecondArray::from_iter_values(moments));
        collector.observe(&array, None).unwrap();
        let attribute = Attribute::of_quasi(&quasi, collector.finish()).unwrap();
        assert_eq!(attribute.codes(), 97);
        let code = |seconds: i64| attribute.coding.number_code(seconds);
        assert_eq!(code(-3 * 86_400), Some(0));
        assert_eq!((code(-1), code(0), code(86_399), code(86_400)), (Some(2), Some(3), Some(3), Some(4)));
        assert_eq!(code(1000 * 86_400), None);
    }
}
