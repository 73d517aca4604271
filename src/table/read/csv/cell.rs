//! The value of a cell, and the type that fits a column of cells.
//!
//! Cells are read strictly: a number with a leading zero or a plus sign is a code, such as a zip code or a telephone
//! number, and stays text unless a type is declared.
//!
//! Invariant: the cells from which a type was guessed can be read as that type.

use std::fmt;
use std::str::FromStr;

use arrow_schema::{DataType, TimeUnit};

/// The type of a CSV column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CsvType {
    /// Whole numbers of 64 bits.
    Integer,
    /// Binary floating point of 64 bits.
    Float,
    /// `true` or `false`, also written `True`, `TRUE`, `False`, `FALSE`.
    Boolean,
    /// `2024-02-29`.
    Date,
    /// `29/2/2024`, also with points or hyphens.
    DayMonthYear,
    /// `2/29/2024`, also with points or hyphens.
    MonthDayYear,
    /// `2024-02-29T23:59:59.123456` without a zone; a space may replace the T, and seconds may be omitted.
    Timestamp,
    /// Like a timestamp, with `Z` or an offset such as `+01:00`.
    TimestampUtc,
    /// Anything.
    Text,
}

/// The zone of [`CsvType::TimestampUtc`], as an offset because zone names need a time zone database.
pub(super) const UTC: &str = "+00:00";

/// Every type, the narrowest first; text comes last and fits everything.
const NARROW_TO_WIDE: [(CsvType, &str); 9] = [
    (CsvType::Integer, "integer"),
    (CsvType::Float, "float"),
    (CsvType::Boolean, "boolean"),
    (CsvType::Date, "date"),
    (CsvType::DayMonthYear, "day_month_year"),
    (CsvType::MonthDayYear, "month_day_year"),
    (CsvType::Timestamp, "timestamp"),
    (CsvType::TimestampUtc, "timestamp_utc"),
    (CsvType::Text, "text"),
];

impl CsvType {
    /// The names of all types, for messages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NARROW_TO_WIDE.iter().map(|(_, name)| *name)
    }

    /// The Arrow type of such a column.
    pub fn data_type(self) -> DataType {
        match self {
            CsvType::Integer => DataType::Int64,
            CsvType::Float => DataType::Float64,
            CsvType::Boolean => DataType::Boolean,
            CsvType::Date | CsvType::DayMonthYear | CsvType::MonthDayYear => DataType::Date32,
            CsvType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            CsvType::TimestampUtc => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
            CsvType::Text => DataType::Utf8,
        }
    }

    fn fits(self, cell: &str) -> bool {
        match self {
            CsvType::Integer => integer(cell, TypeOrigin::Guessed).is_some(),
            CsvType::Float => float(cell, TypeOrigin::Guessed).is_some(),
            CsvType::Boolean => boolean(cell).is_some(),
            CsvType::Date => date(cell).is_some(),
            CsvType::DayMonthYear => day_month_year(cell).is_some(),
            CsvType::MonthDayYear => month_day_year(cell).is_some(),
            CsvType::Timestamp => timestamp(cell).is_some(),
            CsvType::TimestampUtc => timestamp_utc(cell).is_some(),
            CsvType::Text => true,
        }
    }
}

impl fmt::Display for CsvType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NARROW_TO_WIDE.iter().find(|(t, _)| t == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl FromStr for CsvType {
    /// The sentence that lists the valid names.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        NARROW_TO_WIDE.iter().find(|(_, name)| *name == text).map(|(t, _)| *t).ok_or_else(|| {
            format!("the column types are {}", CsvType::names().collect::<Vec<_>>().join(", "))
        })
    }
}

/// What the cells of a column must be, where text cannot be meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderedCells {
    /// Numbers.
    Numbers,
    /// Dates or timestamps.
    Times,
}

impl OrderedCells {
    fn allows(self, kind: CsvType) -> bool {
        match self {
            OrderedCells::Numbers => matches!(kind, CsvType::Integer | CsvType::Float),
            OrderedCells::Times => {
                !matches!(kind, CsvType::Integer | CsvType::Float | CsvType::Boolean | CsvType::Text)
            }
        }
    }
}

/// Where the type of a column comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::table::read) enum TypeOrigin {
    /// From the cells: a later cell that looks like a code contradicts it.
    Guessed,
    /// From the user, who may want codes read as numbers.
    Declared,
    /// From the policy, which uses the column as numbers or dates; it may want codes read as numbers, too.
    Used,
}

/// The types that fit all cells seen so far.
#[derive(Debug, Clone)]
pub(in crate::table::read) struct TypeGuess {
    fitting: Vec<CsvType>,
    /// Those that fit the first cell.
    first: Vec<CsvType>,
    seen: bool,
}

impl TypeGuess {
    pub fn new() -> Self {
        TypeGuess {
            fitting: NARROW_TO_WIDE.iter().map(|(t, _)| *t).collect(),
            first: Vec::new(),
            seen: false,
        }
    }

    /// Takes a cell that is not null into account.
    pub fn see(&mut self, cell: &str) {
        self.fitting.retain(|t| t.fits(cell));
        if !self.seen {
            self.first = self.fitting.clone();
        }
        self.seen = true;
    }

    /// Takes the cells of another file into account.
    pub fn join(&mut self, other: &TypeGuess) {
        if !self.seen {
            self.first = other.first.clone();
        }
        self.seen |= other.seen;
        self.fitting.retain(|t| other.fitting.contains(t));
    }

    /// The narrowest type of these cells that fits; if none does, one that the cells do not all fit, so that reading them
    /// finds the one that does not.
    pub fn best_of(&self, cells: OrderedCells) -> CsvType {
        let allowed = |types: &[CsvType]| {
            let first = types.iter().copied().find(|kind| cells.allows(*kind));
            first.filter(|_| !is_ambiguous(types))
        };
        let usual = match cells {
            OrderedCells::Numbers => CsvType::Float,
            OrderedCells::Times => CsvType::Date,
        };
        allowed(&self.fitting).or_else(|| allowed(&self.first)).unwrap_or(usual)
    }

    /// The narrowest type that fits; text if no cell was seen, because it fits everything.
    pub fn best(&self) -> CsvType {
        match self.fitting.first() {
            Some(narrowest) if self.seen && !is_ambiguous(&self.fitting) => *narrowest,
            _ => CsvType::Text,
        }
    }
}

/// Whether dates could begin with the day as well as with the month: nobody but the owner knows.
fn is_ambiguous(types: &[CsvType]) -> bool {
    types.contains(&CsvType::DayMonthYear) && types.contains(&CsvType::MonthDayYear)
}

/// True if a number is written as only codes are: with a leading zero or a plus sign.
fn looks_like_a_code(cell: &str) -> bool {
    let digits = cell.strip_prefix('-').unwrap_or(cell).as_bytes();
    digits.first() == Some(&b'+')
        || (digits.first() == Some(&b'0') && digits.get(1).is_some_and(u8::is_ascii_digit))
}

pub(super) fn integer(cell: &str, origin: TypeOrigin) -> Option<i64> {
    if origin == TypeOrigin::Guessed && looks_like_a_code(cell) {
        return None;
    }
    cell.parse().ok()
}

pub(super) fn float(cell: &str, origin: TypeOrigin) -> Option<f64> {
    // Words such as `nan` and `inf` are not numbers here, and integers that floats cannot represent are ids.
    let is_number = cell.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    if !is_number || (origin == TypeOrigin::Guessed && looks_like_a_code(cell)) {
        return None;
    }
    let is_whole = cell.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-'));
    if is_whole
        && origin == TypeOrigin::Guessed
        && cell.parse::<i64>().ok()?.unsigned_abs() > 1 << f64::MANTISSA_DIGITS
    {
        return None;
    }
    cell.parse().ok().filter(|value: &f64| value.is_finite())
}

pub(super) fn boolean(cell: &str) -> Option<bool> {
    match cell {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Days since 1970-01-01 of `YYYY-MM-DD`.
pub(super) fn date(cell: &str) -> Option<i32> {
    let bytes = cell.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    day_number(digits(&bytes[..4])?, digits(&bytes[5..7])?, digits(&bytes[8..])?)
}

/// Days since 1970-01-01 of `D/M/YYYY`.
pub(super) fn day_month_year(cell: &str) -> Option<i32> {
    let [day, month, year] = three_numbers(cell)?;
    day_number(year, month, day)
}

/// Days since 1970-01-01 of `M/D/YYYY`.
pub(super) fn month_day_year(cell: &str) -> Option<i32> {
    let [month, day, year] = three_numbers(cell)?;
    day_number(year, month, day)
}

/// Two numbers of one or two digits and one of four, between two slashes, points or hyphens.
fn three_numbers(cell: &str) -> Option<[i64; 3]> {
    let separator = cell.bytes().find(|b| matches!(b, b'/' | b'.' | b'-'))?;
    let mut parts = cell.as_bytes().split(|b| *b == separator);
    let (first, second, year) = (parts.next()?, parts.next()?, parts.next()?);
    let short = |part: &[u8]| matches!(part.len(), 1 | 2);
    if parts.next().is_some() || !short(first) || !short(second) || year.len() != 4 {
        return None;
    }
    Some([digits(first)?, digits(second)?, digits(year)?])
}

/// Days since 1970-01-01, if there is such a day.
fn day_number(year: i64, month: i64, day: i64) -> Option<i32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=longest).contains(&day) {
        return None;
    }
    // Count years from March, so that the leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = days + (153 * month + 2) / 5 + day - 1;
    const MARCH_0000_TO_1970: i64 = 719_468;
    i32::try_from(days - MARCH_0000_TO_1970).ok()
}

/// Microseconds since 1970-01-01 of a timestamp without a zone.
pub(super) fn timestamp(cell: &str) -> Option<i64> {
    let (day, time) = (cell.get(..10)?, cell.get(11..)?);
    if !matches!(cell.as_bytes()[10], b'T' | b' ') {
        return None;
    }
    i64::from(date(day)?).checked_mul(86_400_000_000)?.checked_add(time_of_day(time.as_bytes())?)
}

/// Microseconds since 1970-01-01 UTC of a timestamp with a zone.
pub(super) fn timestamp_utc(cell: &str) -> Option<i64> {
    if let Some(local) = cell.strip_suffix('Z') {
        return timestamp(local);
    }
    let split = cell.len().checked_sub(6)?;
    let (local, offset) = (cell.get(..split)?, cell.as_bytes().get(split..)?);
    let minutes = 60 * digits(&offset[1..3])? + digits(&offset[4..])?;
    let offset = match (offset[0], offset[3]) {
        (b'+', b':') => minutes,
        (b'-', b':') => -minutes,
        _ => return None,
    };
    timestamp(local)?.checked_sub(offset * 60_000_000)
}

/// Microseconds since midnight of `HH:MM`, `HH:MM:SS` or `HH:MM:SS.ffffff`; finer digits must be zero.
fn time_of_day(time: &[u8]) -> Option<i64> {
    if time.len() < 5 || time[2] != b':' {
        return None;
    }
    let (hour, minute) = (digits(&time[..2])?, digits(&time[3..5])?);
    let (second, fraction) = match &time[5..] {
        [] => (0, &[][..]),
        [b':', a, b] => (digits(&[*a, *b])?, &[][..]),
        [b':', a, b, b'.', fraction @ ..] if (1..=9).contains(&fraction.len()) => {
            (digits(&[*a, *b])?, fraction)
        }
        _ => return None,
    };
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut micros = 0;
    for place in 0..fraction.len().max(6) {
        let digit = digits(fraction.get(place..place + 1).unwrap_or(b"0"))?;
        match place {
            0..6 => micros = 10 * micros + digit,
            _ if digit != 0 => return None,
            _ => {}
        }
    }
    Some(((hour * 60 + minute) * 60 + second) * 1_000_000 + micros)
}

fn digits(bytes: &[u8]) -> Option<i64> {
    bytes.iter().try_fold(0, |value, b| b.is_ascii_digit().then(|| 10 * value + i64::from(b - b'0')))
}
