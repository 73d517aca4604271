//! Which codes and cuts follow from the policy and the values that the first scan found?

use crate::encode::attribute::{Attribute, Coding, Leaves};
use crate::encode::collect::{Collected, Collector, Found, Grain, Stated};
use crate::encode::distinct::Distinct;
use crate::encode::scale::Scale;
use crate::error::{Error, Result, number_of};
use crate::math::exact::{Rational, parse_fraction};
use crate::math::skyline::Values;
use crate::policy::hierarchy::{self, Hierarchy, Problem};
use crate::policy::{End, Quasi, Shape};
use crate::table::read::Kind;

/// A collector for a quasi-identifier of this kind.
pub fn collector<'a>(quasi: &'a Quasi, kind: &Kind) -> Collector<'a> {
    let grain = if matches!(quasi.shape, Shape::Dates(_)) { Grain::Day } else { Grain::Value };
    Collector::new(&quasi.name, kind, stated(quasi)).with_grain(grain)
}

/// The texts that the policy lists for a column, if it has no place for others.
fn stated(quasi: &Quasi) -> Option<Stated<'_>> {
    match &quasi.shape {
        Shape::Hierarchy(hierarchy) => Some(Stated::Tree(hierarchy)),
        Shape::Order(values) if quasi.other.is_none() => Some(Stated::Order(values)),
        _ => None,
    }
}

/// How many values and rows the policy does not list, and what to do.
fn uncovered(quasi: &Quasi, collected: Collected) -> Error {
    let (name, rows) = (&quasi.name, number_of(collected.uncovered, "row", "rows"));
    let covers = |text: &str| stated(quasi).is_none_or(|stated| stated.covers(text));
    let (exact, values) = match collected.found {
        Found::Numbers(scale, distinct) => (
            distinct.is_exact(),
            distinct.into_sorted().iter().filter(|&&key| !covers(&scale.text(key))).count(),
        ),
        Found::Texts(distinct, _) => {
            (distinct.is_exact(), distinct.into_sorted().iter().filter(|text| !covers(text)).count())
        }
    };
    let are = if values == 1 { "is" } else { "are" };
    let values = number_of(values as u64, "value", "values");
    let at_least = if exact { "" } else { "at least " };
    let (listed, other) = match quasi.shape {
        Shape::Order(_) => ("order", "the name of one that is listed"),
        _ => ("hierarchy", "a name of your choice"),
    };
    Error::input(
        format!("column {name:?}: {at_least}{values} on {rows} {are} not in the {listed} of the policy"),
        format!("add them to columns.quasi.{name}.{listed}, or send them to one node: other = \"{other}\""),
    )
}

/// Whether the sensitive column of a long table has one value in each row.
pub fn expect_value_per_row(name: &str, kind: &Kind) -> Result<()> {
    match kind {
        Kind::List(_) => Err(Error::input(
            format!("the sensitive column {name:?} holds lists, and people have several rows"),
            "give a table with one value in each row, or leave out columns.individual: each row is then a person",
        )),
        _ => Ok(()),
    }
}

/// Whether the sensitive column has the type that `values` asks for.
pub fn expect_values(name: &str, kind: &Kind, values: Values) -> Result<()> {
    match (kind, values) {
        (Kind::List(_), Values::Single) => Err(Error::input(
            format!("the sensitive column {name:?} holds lists, and a person has a single value"),
            "set privacy.values = \"set\" or \"multiset\"",
        )),
        (Kind::List(_), _) | (_, Values::Single) => Ok(()),
        _ => Err(Error::input(
            format!("the sensitive column {name:?} holds no lists, and a person may have several values"),
            "give a list column, or a table with one row per value and columns.individual",
        )),
    }
}

/// The codes of a quasi-identifier.
pub fn attribute(quasi: &Quasi, collected: Collected) -> Result<Attribute> {
    let name = &quasi.name;
    if collected.uncovered > 0 {
        return Err(uncovered(quasi, collected));
    }
    let nulls = collected.nulls > 0;
    let coding = match (&quasi.shape, collected.found) {
        (Shape::Plain, Found::Numbers(scale, distinct)) => Coding::numbers(scale, distinct),
        (Shape::Plain, Found::Texts(distinct, frequencies)) => Coding::texts(distinct, &frequencies),
        (Shape::Hierarchy(tree), Found::Numbers(scale, distinct)) => {
            let keys = exact(name, distinct)?;
            numbered(name, scale, &keys, tree.clone(), |key| scale.text(key))?
        }
        (Shape::Hierarchy(tree), Found::Texts(..)) => {
            Coding::Tree { hierarchy: tree.clone(), leaves: Leaves::ByText }
        }
        (Shape::Order(values), found) => ordered(quasi, values, &found)?,
        (Shape::Prefix(lengths), Found::Texts(distinct, _)) => {
            let values = exact(name, distinct)?;
            let tree = hierarchy::by_prefixes(values.iter().map(|value| &**value), lengths);
            Coding::Tree { hierarchy: built(name, tree)?, leaves: Leaves::ByText }
        }
        (Shape::Prefix(lengths), Found::Numbers(scale, distinct)) => {
            let keys = exact(name, distinct)?;
            let texts: Vec<String> = keys.iter().map(|&key| scale.text(key)).collect();
            let tree = hierarchy::by_prefixes(texts.iter().map(String::as_str), lengths);
            numbered(name, scale, &keys, built(name, tree)?, |key| scale.text(key))?
        }
        (Shape::Widths(widths), Found::Numbers(scale, distinct)) => {
            let keys = exact(name, distinct)?;
            let value = |&key: &i64| Some((parse_fraction(&scale.text(key))?, scale.text(key)));
            let values: Option<Vec<(Rational, String)>> = keys.iter().map(value).collect();
            let values = values.ok_or_else(|| not_for(name, "levels", "numbers"))?;
            let tree = hierarchy::by_widths(&values, widths);
            numbered(name, scale, &keys, built(name, tree)?, |key| scale.text(key))?
        }
        (Shape::Ends(levels), Found::Numbers(scale, distinct)) => {
            let keys = exact(name, distinct)?;
            let end = |end: &End| Some((scale.parse(&end.text)?, end.text.clone()));
            let levels: Option<Vec<Vec<(i64, String)>>> =
                levels.iter().map(|ends| ends.iter().map(end).collect()).collect();
            let levels =
                levels.ok_or_else(|| not_for(name, "ends of another type", "values of that type"))?;
            let values: Vec<(i64, String)> = keys.iter().map(|&key| (key, scale.text(key))).collect();
            let tree = hierarchy::by_ends(&values, &levels);
            numbered(name, scale, &keys, built(name, tree)?, |key| scale.text(key))?
        }
        (Shape::Dates(levels), Found::Numbers(scale @ (Scale::Date | Scale::Timestamp(_)), distinct)) => {
            let keys = exact(name, distinct)?;
            let days: Vec<i64> = keys.iter().map(|&key| scale.day(key)).collect();
            let tree = built(name, hierarchy::by_dates(&days, levels))?;
            let leaf = |&day: &i64| Some((day, tree.leaf(&hierarchy::DateLevel::Day.label(day))?));
            let leaves: Option<Vec<(i64, u32)>> = days.iter().map(leaf).collect();
            let leaves = leaves.ok_or_else(|| not_for(name, "dates", "days that the calendar names"))?;
            Coding::Tree { hierarchy: tree, leaves: Leaves::ByDay(scale, leaves) }
        }
        (Shape::Widths(_), _) => return Err(not_for(name, "levels", "numbers")),
        (Shape::Ends(_), _) => return Err(not_for(name, "ends", "numbers, dates and timestamps")),
        (Shape::Dates(_), _) => return Err(not_for(name, "dates", "dates and timestamps")),
    };
    let attribute = Attribute { name: name.clone(), nulls, coding };
    if attribute.codes() > 65_536 {
        return Err(too_many(name));
    }
    Ok(attribute)
}

fn ordered(quasi: &Quasi, values: &[String], found: &Found) -> Result<Coding> {
    if !matches!(found, Found::Texts(..)) {
        return Err(not_for(&quasi.name, "order", "texts"));
    }
    let mut values: Vec<Box<str>> = values.iter().map(|value| value.as_str().into()).collect();
    let place = |other: &String| {
        let listed = values.iter().position(|value| **value == **other);
        listed.unwrap_or_else(|| {
            values.push(other.as_str().into());
            values.len() - 1
        }) as u32
    };
    let other = quasi.other.as_ref().map(place);
    Ok(Coding::Set { values, other })
}

fn exact<K: crate::math::hash_sample::SampleKey + Ord>(name: &str, distinct: Distinct<K>) -> Result<Vec<K>> {
    if distinct.is_exact() { Ok(distinct.into_sorted()) } else { Err(too_many(name)) }
}

fn numbered(
    name: &str,
    scale: Scale,
    keys: &[i64],
    hierarchy: Hierarchy,
    text: impl Fn(i64) -> String,
) -> Result<Coding> {
    let leaf = |&key: &i64| Some((key, hierarchy.leaf(&text(key))?));
    let leaves: Option<Vec<(i64, u32)>> = keys.iter().map(leaf).collect();
    let leaves = leaves.ok_or_else(|| not_for(name, "this hierarchy", "the values that it lists"))?;
    Ok(Coding::Tree { hierarchy, leaves: Leaves::ByKey(scale, leaves) })
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
        format!("column {name:?}: {what} can be stated only for {only}"),
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
    use arrow::array::{ArrayRef, TimestampSecondArray};
    use arrow::datatypes::TimeUnit;
    use std::sync::Arc;

    #[test]
    fn moments_are_told_apart_by_the_day_where_periods_are_stated() {
        let levels = vec![hierarchy::DateLevel::Week];
        let shape = Shape::Dates(levels);
        let quasi = Quasi { name: "seen".into(), shape, domain: None, grid: None, other: None };
        let kind = Kind::Timestamp { unit: TimeUnit::Second, zone: None };
        let collector = collector(&quasi, &kind);
        // More moments than a column may have values, on 96 days, some of them before 1970.
        let moments = (0..83_000).map(|i| 100 * i - 3 * 86_400);
        let array: ArrayRef = Arc::new(TimestampSecondArray::from_iter_values(moments));
        collector.observe(&array).unwrap();
        let attribute = attribute(&quasi, collector.finish()).unwrap();
        assert_eq!(attribute.codes(), 97);
        let code = |seconds: i64| attribute.coding.number_code(seconds);
        assert_eq!(code(-3 * 86_400), Some(0));
        assert_eq!((code(-1), code(0), code(86_399), code(86_400)), (Some(2), Some(3), Some(3), Some(4)));
        assert_eq!(code(1000 * 86_400), None);
    }
}
