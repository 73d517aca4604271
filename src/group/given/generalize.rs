//! What does a value become under a generalization function?
//!
//! Values are codes of an [`Attribute`], and a function assigns a label to every code. People whose labels agree in all
//! columns form a group. Nothing here looks at sensitive values.
//!
//! Memory: one label per code. Invariant: every value has its own code, so a label never depends on a sample. Null is a
//! separate value, `null`, except where the whole column becomes `*`.
//! Not here: which functions are tried, and in which order.

use crate::encode::attribute::{Attribute, Coding};
use crate::encode::column_values::{ColumnValues, ValueSet};
use crate::encode::grid::GridCell;
use crate::encode::scale::Scale;
use crate::error::{Error, Result};
use crate::math::exact::{Rational, parse_fraction};
use crate::policy::hierarchy::{decimal_text, range_label};
use crate::policy::{Coarseness, Quasi, QuasiShape};

/// The label of a column that reveals nothing.
const ALL: &str = "*";

/// The codes of a quasi-identifier, one for every value.
pub fn attribute(quasi: &Quasi, found: ColumnValues) -> Result<Attribute> {
    if !found.set.is_exact() {
        return Err(Error::input(
            format!("column {:?} has too many different values for generalization functions", quasi.name),
            "round or shorten its values first",
        ));
    }
    match (&quasi.shape, found) {
        // A large number of texts would become ranges, in which a value has no label of its own.
        (QuasiShape::Plain, ColumnValues { set: ValueSet::Texts(distinct, _), nulls, .. }) => Ok(Attribute {
            name: quasi.name.clone(),
            nulls: nulls > 0,
            coding: Coding::Set { values: distinct.into_sorted(), other: None },
        }),
        (_, found) => Attribute::of_quasi(quasi, found),
    }
}

/// The label of every code of a column; `attribute` must come from [`attribute`].
pub fn labels(attribute: &Attribute, coarseness: &Coarseness) -> Result<Vec<String>> {
    let null = attribute.nulls.then(|| "null".to_string());
    let values: Vec<String> = match (coarseness, &attribute.coding) {
        (Coarseness::Level(level), Coding::Tree { hierarchy, .. }) if *level < hierarchy.top_level() => {
            let name = |code| hierarchy.name(hierarchy.ancestor_at(code, *level)).to_string();
            (0..hierarchy.leaf_count()).map(name).collect()
        }
        (Coarseness::Level(0), Coding::Numbers(ordered)) => {
            ordered.cells().iter().map(|&cell| ordered.text(cell)).collect()
        }
        (Coarseness::Level(0), Coding::Set { values, .. }) => {
            values.iter().map(|value| value.to_string()).collect()
        }
        (Coarseness::Width(width), Coding::Numbers(ordered)) => {
            let of_key = |key: i64| range(ordered.scale(), key, width).ok_or_else(|| no_width(attribute));
            let label = |cell: &GridCell| match (of_key(cell.first)?, of_key(cell.last)?) {
                (low, high) if low == high => Ok(low),
                _ => Err(crosses(attribute)),
            };
            ordered.cells().iter().map(label).collect::<Result<_>>()?
        }
        (Coarseness::Width(_), _) => return Err(no_width(attribute)),
        (Coarseness::All | Coarseness::Level(_), _) => {
            return Ok(vec![ALL.to_string(); attribute.codes() as usize]);
        }
    };
    Ok(null.into_iter().chain(values).collect())
}

/// The range between two multiples of `width` that contains the number; `None` if the key is not a finite number.
fn range(scale: Scale, key: i64, width: &Rational) -> Option<String> {
    let numeric = matches!(scale, Scale::Integer | Scale::Decimal(_) | Scale::Float);
    let number = numeric.then(|| parse_fraction(&scale.text(key))).flatten()?;
    let low = Rational::from((number / width).floor()) * width;
    let high = &low + width;
    Some(range_label(Some(&decimal_text(&low)), Some(&decimal_text(&high))))
}

fn crosses(attribute: &Attribute) -> Error {
    let name = &attribute.name;
    Error::input(
        format!("column {name:?}: a cell of its grid is not inside a range of a width in audit.function"),
        format!("write a columns.quasi.{name}.grid of which every width is a multiple"),
    )
}

fn no_width(attribute: &Attribute) -> Error {
    let name = &attribute.name;
    Error::input(
        format!("column {name:?}: a width in audit.function is only for finite numbers"),
        format!("write 0 or \"*\", or state levels of the column in columns.quasi.{name}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::distinct::DistinctValues;
    use crate::encode::scale::float_key;
    use crate::math::exact::ratio;
    use crate::policy::hierarchy::DateLevel;

    fn quasi(shape: QuasiShape) -> Quasi {
        Quasi { name: "column".into(), shape, domain: None, grid: None, other: None }
    }

    fn coded(shape: QuasiShape, scale: Scale, keys: &[i64], nulls: u64) -> Attribute {
        let mut distinct = DistinctValues::default();
        keys.iter().for_each(|&key| distinct.insert(key));
        let set = ValueSet::Numbers(scale, distinct);
        attribute(&quasi(shape), ColumnValues { set, nulls, uncovered: 0, outside: 0 }).unwrap()
    }

    fn texts(shape: QuasiShape, values: &[&str]) -> Attribute {
        let mut distinct = DistinctValues::default();
        values.iter().for_each(|value| distinct.insert_text(value));
        let set = ValueSet::Texts(distinct, Default::default());
        attribute(&quasi(shape), ColumnValues { set, nulls: 0, uncovered: 0, outside: 0 }).unwrap()
    }

    #[test]
    fn numbers_fall_between_multiples_of_a_width() {
        let ages = coded(QuasiShape::Plain, Scale::Integer, &[-3, 0, 19, 20], 2);
        let tens = labels(&ages, &Coarseness::Width(ratio(10, 1))).unwrap();
        assert_eq!(tens, ["null", "[-10,0)", "[0,10)", "[10,20)", "[20,30)"]);
        assert_eq!(labels(&ages, &Coarseness::Level(0)).unwrap(), ["null", "-3", "0", "19", "20"]);
        assert_eq!(labels(&ages, &Coarseness::All).unwrap(), ["*"; 5]);
        let halves = coded(QuasiShape::Plain, Scale::Float, &[float_key(0.25), float_key(0.5)], 0);
        assert_eq!(labels(&halves, &Coarseness::Width(ratio(1, 2))).unwrap(), ["[0,0.5)", "[0.5,1)"]);
        let infinite = coded(QuasiShape::Plain, Scale::Float, &[float_key(f64::INFINITY)], 0);
        assert!(labels(&infinite, &Coarseness::Width(ratio(1, 2))).is_err());
        assert!(labels(&texts(QuasiShape::Plain, &["a"]), &Coarseness::Width(ratio(1, 2))).is_err());
    }

    #[test]
    fn levels_are_those_of_the_column() {
        let widths = QuasiShape::Widths(vec![ratio(5, 1), ratio(10, 1)]);
        let ages = coded(widths, Scale::Integer, &[1, 7, 12], 1);
        let at = |level| labels(&ages, &Coarseness::Level(level)).unwrap();
        assert_eq!(at(0), ["null", "1", "7", "12"]);
        assert_eq!(at(1), ["null", "[0,5)", "[5,10)", "[10,15)"]);
        assert_eq!(at(2), ["null", "[0,10)", "[0,10)", "[10,20)"]);
        assert_eq!(at(3), ["*"; 4]);
        let codes = texts(QuasiShape::Prefix(vec![2, 1]), &["120", "121", "130"]);
        assert_eq!(labels(&codes, &Coarseness::Level(1)).unwrap(), ["12*", "12*", "13*"]);
        let days =
            coded(QuasiShape::Dates(vec![DateLevel::Month, DateLevel::Year]), Scale::Date, &[0, 40], 0);
        assert_eq!(labels(&days, &Coarseness::Level(1)).unwrap(), ["1970-01", "1970-02"]);
        assert_eq!(labels(&days, &Coarseness::Level(2)).unwrap(), ["1970", "1970"]);
        let ordered = texts(QuasiShape::Order(vec!["low".into(), "high".into()]), &["high"]);
        assert_eq!(labels(&ordered, &Coarseness::Level(0)).unwrap(), ["low", "high"]);
        assert_eq!(labels(&ordered, &Coarseness::Level(1)).unwrap(), ["*", "*"]);
    }

    #[test]
    fn many_texts_keep_a_label_each() {
        let names: Vec<String> = (0..1000).map(|i| format!("name{i:04}")).collect();
        let column = texts(QuasiShape::Plain, &names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(labels(&column, &Coarseness::Level(0)).unwrap(), names);
    }
}
