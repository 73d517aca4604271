//! Which hierarchy file could be a starting point for a column?
//!
//! Numbers are grouped into ranges of nested widths, dates into calendar periods, codes by their first characters, and
//! categories directly under `*`. Such a file lists the values of the column, so it must not be published.
//!
//! Memory: the different values of the column, at most 65,535.

use super::column::ColumnScan;
use crate::encode::attribute::{Attribute, Coding};
use crate::encode::column_values::{Collector, ValueSet};
use crate::encode::scale::Scale;
use crate::error::{Error, Result};
use crate::math::exact::{Rational, parse_fraction, ratio};
use crate::policy::hierarchy::{DateLevel, Hierarchy, Row, from_rows};
use crate::policy::{Hint, hint};
use crate::policy::{Quasi, QuasiShape};
use crate::resources::Resources;
use crate::table::read::{ColumnRequest, Morsel, Table};
use std::sync::{Mutex, PoisonError};

/// Reads one column and groups its values.
pub fn hierarchy_of(table: &Table, column: &str, resources: &Resources<'_>) -> Result<Hierarchy> {
    let progress = resources.progress;
    let kind = table.kind(column)?;
    let shared = Mutex::new((Collector::new(column, &kind, None), ColumnScan::new(column, kind.clone(), 1)));
    progress.start("reading values", table.rows());
    let work = |morsel: Morsel<'_>| {
        for batch in morsel {
            let batch = batch?;
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.0.observe(batch.column(0), None)?;
            shared.1.observe(batch.column(0))?;
            progress.advance(batch.num_rows() as u64);
        }
        Ok(())
    };
    table.scan(&[ColumnRequest::canonical(column)], resources, work, |()| Ok(()))?;
    let (collector, form) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    let profile = form.finish();
    let mut found = collector.finish();
    // Nulls are not part of a hierarchy.
    found.nulls = 0;
    let shape = match &mut found.set {
        ValueSet::Numbers(scale @ (Scale::Date | Scale::Timestamp(_)), distinct) if distinct.is_exact() => {
            let keys = std::mem::take(distinct).into_sorted();
            return by_calendar(column, *scale, &keys);
        }
        ValueSet::Numbers(scale @ (Scale::Integer | Scale::Float | Scale::Decimal(_)), _) => {
            let ends = profile.ends.map(|(low, high)| (scale.text(low), scale.text(high)));
            let ends = ends.and_then(|(low, high)| Some((parse_fraction(&low)?, parse_fraction(&high)?)));
            let widths = ends.map_or(Vec::new(), |(low, high)| widths(&(high - low)));
            if widths.is_empty() { QuasiShape::Plain } else { QuasiShape::Widths(widths) }
        }
        ValueSet::Texts(..) => match profile.texts.and_then(|texts| Some((texts, texts.lengths?))) {
            Some((texts, (_, most))) if texts.starred == 0 && (2..=12).contains(&most) => {
                let coded = hint(column) == Hint::Code || texts.mostly(texts.codes);
                if coded { QuasiShape::Prefix((1..most).rev().collect()) } else { QuasiShape::Plain }
            }
            _ => QuasiShape::Plain,
        },
        ValueSet::Numbers(..) => QuasiShape::Plain,
    };
    if let QuasiShape::Plain = shape {
        return flat(column, found.set);
    }
    let quasi = Quasi { shape, ..Quasi::plain(column) };
    match Attribute::of_quasi(&quasi, found)?.coding {
        Coding::Tree { hierarchy, .. } => Ok(hierarchy),
        _ => Err(cannot(column)),
    }
}

/// Widths of 5, 10, 50, 100, ... units; the unit is the power of ten that leaves at most 50 of the narrowest ranges.
fn widths(range: &Rational) -> Vec<Rational> {
    let mut width = ratio(5, 1);
    let ten = ratio(10, 1);
    while &width * ratio(50, 1) < *range {
        width *= &ten;
    }
    while width > Rational::ZERO && &width > range && *range > Rational::ZERO {
        width /= &ten;
    }
    let mut widths = Vec::new();
    let mut times_two = true;
    while width < *range && widths.len() < 5 {
        widths.push(width.clone());
        width *= if times_two { ratio(2, 1) } else { ratio(5, 1) };
        times_two = !times_two;
    }
    widths
}

fn by_calendar(column: &str, scale: Scale, keys: &[i64]) -> Result<Hierarchy> {
    let levels = [DateLevel::Day, DateLevel::Month, DateLevel::Quarter, DateLevel::Year, DateLevel::Decade];
    tree(
        column,
        keys.iter().map(|&key| {
            let periods = levels.iter().map(|level| level.label(scale.day(key)));
            let periods = periods.skip(usize::from(scale == Scale::Date));
            [scale.text(key)].into_iter().chain(periods).collect()
        }),
    )
}

fn flat(column: &str, found: ValueSet) -> Result<Hierarchy> {
    let exact = match &found {
        ValueSet::Numbers(_, distinct) => distinct.is_exact(),
        ValueSet::Texts(distinct, _) => distinct.is_exact(),
    };
    if !exact {
        return Err(Error::input(
            format!("column {column:?} has more than 65,535 different values, too many for a hierarchy"),
            "round or shorten its values first",
        ));
    }
    match found {
        ValueSet::Numbers(scale, distinct) => {
            tree(column, distinct.into_sorted().into_iter().map(|key| vec![scale.text(key)]))
        }
        ValueSet::Texts(distinct, _) => {
            tree(column, distinct.into_sorted().into_iter().map(|text| vec![text.into_string()]))
        }
    }
}

fn tree(column: &str, rows: impl Iterator<Item = Vec<String>>) -> Result<Hierarchy> {
    let row = |(at, mut names): (usize, Vec<String>)| {
        names.push("*".to_string());
        Row { line: at + 1, names }
    };
    from_rows(&rows.enumerate().map(row).collect::<Vec<_>>()).map_err(|_| cannot(column))
}

fn cannot(column: &str) -> Error {
    Error::input(
        format!("the values of column {column:?} do not make a hierarchy"),
        "it has no values, or one that is empty or named like a group; write the file by hand: value;group;*",
    )
}
