//! Which groups follow from the values themselves?
//!
//! Each builder sorts the values, writes a row `value; group; ...; *` for each, and lets `from_rows` build the tree, so
//! that every group is a run of neighbours.

use dashu_base::{DivRemEuclid, Sign};
use dashu_int::UBig;

use super::dates::DateLevel;
use super::rows::{Problem, Row, from_rows};
use super::tree::Hierarchy;
use crate::math::exact::Rational;

/// Numbers under half-open ranges whose ends are the multiples of each width, narrow widths first.
///
/// Each width must be a positive multiple of the one before it.
pub fn by_widths(values: &[(Rational, String)], widths: &[Rational]) -> Result<Hierarchy, Vec<Problem>> {
    let sorted = sorted(values);
    grow(sorted.iter().map(|(number, name)| {
        let ranges = widths.iter().filter(|width| **width > Rational::ZERO).map(|width| {
            let low = Rational::from((number / width).floor()) * width;
            let high = &low + width;
            range_label(Some(&decimal_text(&low)), Some(&decimal_text(&high)))
        });
        [name.clone()].into_iter().chain(ranges).collect()
    }))
}

/// Values of any ordered type under half-open ranges between configured ends, narrow levels first.
///
/// Each level is ascending and a subset of the one before it; values outside are in an open range.
pub fn by_ends<K: Ord>(
    values: &[(K, String)],
    levels: &[Vec<(K, String)>],
) -> Result<Hierarchy, Vec<Problem>> {
    let sorted = sorted(values);
    grow(sorted.iter().map(|(key, name)| {
        let ranges = levels.iter().filter(|ends| !ends.is_empty()).map(|ends| {
            let above = ends.partition_point(|(end, _)| end <= key);
            let low = above.checked_sub(1).map(|low| ends[low].1.as_str());
            range_label(low, ends.get(above).map(|(_, text)| text.as_str()))
        });
        [name.clone()].into_iter().chain(ranges).collect()
    }))
}

/// Codes under their first characters, longest prefixes first; the label of a prefix is `123*`.
pub fn by_prefixes<'a>(
    values: impl IntoIterator<Item = &'a str>,
    lengths: &[u64],
) -> Result<Hierarchy, Vec<Problem>> {
    let mut values: Vec<&str> = values.into_iter().collect();
    values.sort_unstable();
    values.dedup();
    grow(values.into_iter().map(|value| {
        let prefixes = lengths.iter().map(|&length| {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            match value.char_indices().nth(length) {
                Some((end, _)) => format!("{}*", &value[..end]),
                None => value.to_string(),
            }
        });
        [value.to_string()].into_iter().chain(prefixes).collect()
    }))
}

/// Days (counted from 1970-01-01) under the calendar periods that contain them, fine levels first.
pub fn by_dates(days: &[i64], levels: &[DateLevel]) -> Result<Hierarchy, Vec<Problem>> {
    let mut days = days.to_vec();
    days.sort_unstable();
    days.dedup();
    grow(days.into_iter().map(|day| {
        let periods = levels.iter().map(|level| level.label(day));
        [DateLevel::Day.label(day)].into_iter().chain(periods).collect()
    }))
}

/// The label of a half-open range; a missing end is open.
pub fn range_label(low: Option<&str>, high: Option<&str>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("[{low},{high})"),
        (Some(low), None) => format!("[{low},)"),
        (None, Some(high)) => format!("(,{high})"),
        (None, None) => "*".to_string(),
    }
}

/// A number as a decimal if its expansion terminates, otherwise as a fraction `p/q`; always exact.
pub fn decimal_text(number: &Rational) -> String {
    let mut below = number.denominator().clone();
    let mut places = [0usize; 2];
    for (factor, count) in [2u8, 5].into_iter().zip(&mut places) {
        loop {
            let (quotient, rest) = (&below).div_rem_euclid(UBig::from(factor));
            if rest != UBig::ZERO {
                break;
            }
            below = quotient;
            *count += 1;
        }
    }
    if below != UBig::ONE {
        return number.to_string();
    }
    let places = places[0].max(places[1]);
    let scaled = number * Rational::from(UBig::from(10u8).pow(places));
    let (sign, digits) = scaled.numerator().clone().into_parts();
    let digits = format!("{:0>width$}", digits.to_string(), width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    let minus = if sign == Sign::Negative { "-" } else { "" };
    if places == 0 { format!("{minus}{whole}") } else { format!("{minus}{whole}.{part}") }
}

fn sorted<K: Ord>(values: &[(K, String)]) -> Vec<&(K, String)> {
    let mut sorted: Vec<_> = values.iter().collect();
    sorted.sort();
    sorted
}

fn grow(rows: impl Iterator<Item = Vec<String>>) -> Result<Hierarchy, Vec<Problem>> {
    let row = |(at, mut names): (usize, Vec<String>)| {
        names.push("*".to_string());
        Row { line: at + 1, names }
    };
    from_rows(&rows.enumerate().map(row).collect::<Vec<_>>())
}
