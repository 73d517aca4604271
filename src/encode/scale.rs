//! Numbers, dates and times as ordered keys, and the plainest value between two others.
//!
//! Integers, floats, decimals, dates, times and timestamps each have an `i64` key with the same order.

use arrow_array::temporal_conversions::{date32_to_datetime, timestamp_ms_to_datetime};
use arrow_schema::TimeUnit;
use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, Timelike};

/// What the keys of an ordered column represent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// The number itself.
    Integer,
    /// 0 for false, 1 for true.
    Boolean,
    /// The bits of a binary64, flipped so that they sort like the numbers.
    Float,
    /// The number times ten to this power.
    Decimal(i8),
    /// Days since 1970-01-01.
    Date,
    /// Units since 1970-01-01T00:00:00.
    Timestamp(TimeUnit),
    /// Nanoseconds since midnight.
    Time,
}

/// The key of a float; -0 becomes 0. NaN has no place in the order and must not be passed.
pub fn float_key(value: f64) -> i64 {
    let bits = (value + 0.0).to_bits() as i64;
    if bits < 0 { i64::MIN - bits } else { bits }
}

/// The float of a key.
pub fn key_float(key: i64) -> f64 {
    f64::from_bits(if key < 0 { i64::MIN - key } else { key } as u64)
}

impl Scale {
    /// The key as a number on which distances can be measured.
    pub fn coordinate(self, key: i64) -> f64 {
        match self {
            Scale::Float => key_float(key),
            _ => key as f64,
        }
    }

    /// The value as labels write it.
    pub fn text(self, key: i64) -> String {
        match self {
            Scale::Integer => key.to_string(),
            Scale::Boolean => (key != 0).to_string(),
            Scale::Float => key_float(key).to_string(),
            Scale::Decimal(scale) => decimal_text(key, scale),
            Scale::Date => date(key).map_or_else(|| format!("day {key}"), |date| date.to_string()),
            Scale::Timestamp(unit) => match moment(key, unit) {
                Some(moment) if moment.time() == NaiveTime::MIN => moment.date().to_string(),
                Some(moment) => moment.format("%Y-%m-%dT%H:%M:%S%.f").to_string(),
                None => format!("{key}"),
            },
            Scale::Time => {
                let (seconds, nanos) = (key / 1_000_000_000, key % 1_000_000_000);
                let time = u32::try_from(seconds)
                    .ok()
                    .and_then(|seconds| NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanos as u32));
                time.map_or_else(|| key.to_string(), |time| time.format("%H:%M:%S%.f").to_string())
            }
        }
    }

    /// Reads a value as [`Scale::text`] writes it.
    pub fn parse(self, text: &str) -> Option<i64> {
        let text = text.trim();
        match self {
            Scale::Integer => text.parse().ok(),
            Scale::Boolean => text.parse::<bool>().ok().map(i64::from),
            Scale::Float => text.parse::<f64>().ok().filter(|value| !value.is_nan()).map(float_key),
            Scale::Decimal(scale) => parse_decimal(text, scale),
            Scale::Date => match text.strip_prefix("day ") {
                Some(number) => number.parse().ok(),
                None => text.parse::<NaiveDate>().ok().map(day_number),
            },
            Scale::Timestamp(unit) => {
                let moment = text.parse::<NaiveDateTime>().ok();
                let moment = moment.or_else(|| text.parse::<NaiveDate>().ok()?.and_hms_opt(0, 0, 0));
                moment.map_or_else(|| text.parse().ok(), |moment| units(moment, unit))
            }
            Scale::Time => {
                let Ok(time) = text.parse::<NaiveTime>() else { return text.parse().ok() };
                Some(
                    i64::from(time.num_seconds_from_midnight()) * 1_000_000_000
                        + i64::from(time.nanosecond()),
                )
            }
        }
    }

    /// Reads a value in any usual notation: `1.0` is the whole number 1, and a day is its midnight.
    pub fn key_of(self, text: &str) -> Option<i64> {
        self.parse(text).or_else(|| match self {
            Scale::Integer => parse_decimal(text.trim(), 0),
            Scale::Date => {
                let second = Scale::Timestamp(TimeUnit::Second);
                let moment = text.trim().parse::<NaiveDateTime>().ok()?;
                let midnight = moment.time() == NaiveTime::MIN;
                midnight.then(|| units(moment, TimeUnit::Second).map(|key| second.day(key))).flatten()
            }
            _ => None,
        })
    }

    /// The one text shared by all notations of a value; `None` if it is not a value of this scale.
    pub fn canonical(self, text: &str) -> Option<String> {
        self.key_of(text).map(|key| self.text(key))
    }

    /// The day of a date or timestamp, counted from 1970-01-01.
    pub fn day(self, key: i64) -> i64 {
        match self {
            Scale::Timestamp(unit) => key.div_euclid(86_400 * per_second(unit)),
            _ => key,
        }
    }

    /// The key at which a day begins.
    pub fn of_day(self, day: i64) -> i64 {
        match self {
            Scale::Timestamp(unit) => day.saturating_mul(86_400 * per_second(unit)),
            _ => day,
        }
    }

    /// The distance between neighbouring values: a range `[a, b)` contains nothing above `b` minus this.
    pub fn step(self) -> f64 {
        match self {
            Scale::Float => 0.0,
            _ => 1.0,
        }
    }

    /// The roundest value above `below` and not above `from`, and how round it is.
    pub fn roundest(self, below: i64, from: i64) -> (i64, u8) {
        match self {
            Scale::Integer | Scale::Decimal(_) | Scale::Time => roundest_integer(below, from),
            Scale::Boolean => (from, 0),
            Scale::Float => roundest_float(below, from),
            Scale::Date => roundest_date(below, from),
            Scale::Timestamp(unit) => roundest_moment(below, from, unit),
        }
    }
}

fn date(days: i64) -> Option<NaiveDate> {
    date32_to_datetime(i32::try_from(days).ok()?).map(|moment| moment.date())
}

fn day_number(date: NaiveDate) -> i64 {
    (date - NaiveDate::default()).num_days()
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn moment(key: i64, unit: TimeUnit) -> Option<NaiveDateTime> {
    let per_second = per_second(unit);
    let (seconds, rest) = (key.div_euclid(per_second), key.rem_euclid(per_second));
    let whole = timestamp_ms_to_datetime(seconds.checked_mul(1000)?)?;
    whole.with_nanosecond((rest * (1_000_000_000 / per_second)) as u32)
}

fn units(moment: NaiveDateTime, unit: TimeUnit) -> Option<i64> {
    let per_second = per_second(unit);
    let utc = moment.and_utc();
    let rest = i64::from(utc.timestamp_subsec_nanos()) / (1_000_000_000 / per_second);
    utc.timestamp().checked_mul(per_second)?.checked_add(rest)
}

fn decimal_text(key: i64, scale: i8) -> String {
    if scale <= 0 {
        return format!("{key}{}", "0".repeat(usize::from(scale.unsigned_abs())));
    }
    let digits = format!("{:0>width$}", key.unsigned_abs(), width = scale as usize + 1);
    let (whole, part) = digits.split_at(digits.len() - scale as usize);
    let part = part.trim_end_matches('0');
    let sign = if key < 0 { "-" } else { "" };
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

fn parse_decimal(text: &str, scale: i8) -> Option<i64> {
    let exact = crate::math::exact::parse_fraction(text)?;
    let ten = crate::math::exact::ratio(10, 1);
    let scaled = exact * ten.pow(isize::from(scale));
    scaled.is_int().then(|| i64::try_from(scaled.into_parts().0).ok()).flatten()
}

/// Steps 1, 2, 5, 10, ... from the largest; a multiple of the largest step that fits is the roundest.
fn roundest_integer(below: i64, from: i64) -> (i64, u8) {
    for exponent in (0..=18u32).rev() {
        for (rank, factor) in [(2, 5i64), (1, 2), (0, 1)] {
            let Some(step) = 10i64.pow(exponent).checked_mul(factor) else { continue };
            let candidate = from.div_euclid(step) * step;
            if candidate > below {
                return (candidate, exponent as u8 * 3 + rank);
            }
        }
    }
    (from, 0)
}

/// Fewer significant decimals are rounder.
fn roundest_float(below: i64, from: i64) -> (i64, u8) {
    let (low, high) = (key_float(below), key_float(from));
    for digits in 0..17usize {
        let Ok(near) = format!("{high:.digits$e}").parse::<f64>() else { break };
        let ulp_of_digits = format!("1e{}", high.abs().log10().floor() as i32 - digits as i32);
        let down = near - ulp_of_digits.parse::<f64>().unwrap_or(0.0);
        let down = format!("{down:.digits$e}").parse::<f64>().unwrap_or(down);
        for candidate in [near, down] {
            if candidate > low && candidate <= high {
                return (float_key(candidate), 40 - digits as u8);
            }
        }
    }
    (from, 0)
}

fn roundest_date(below: i64, from: i64) -> (i64, u8) {
    let Some(day) = date(from) else { return (from, 0) };
    let year = day.year();
    let starts = [
        NaiveDate::from_ymd_opt(year - year.rem_euclid(10), 1, 1),
        NaiveDate::from_ymd_opt(year, 1, 1),
        NaiveDate::from_ymd_opt(year, (day.month() - 1) / 3 * 3 + 1, 1),
        NaiveDate::from_ymd_opt(year, day.month(), 1),
    ];
    for (rank, start) in starts.into_iter().enumerate() {
        if let Some(start) = start.map(day_number)
            && start > below
        {
            return (start, 4 - rank as u8);
        }
    }
    (from, 0)
}

fn roundest_moment(below: i64, from: i64, unit: TimeUnit) -> (i64, u8) {
    let per_second = per_second(unit);
    let day = 86_400 * per_second;
    let (day_below, day_from) = (below.div_euclid(day), from.div_euclid(day));
    let (start, rank) = roundest_date(day_below, day_from);
    if let Some(start) = start.checked_mul(day)
        && start > below
    {
        return (start, 10 + rank);
    }
    for (rank, step) in [(3, 3600 * per_second), (2, 60 * per_second), (1, per_second)] {
        let candidate = from.div_euclid(step) * step;
        if candidate > below {
            return (candidate, rank);
        }
    }
    (from, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roundest_number_in_a_gap_is_found() {
        assert_eq!(roundest_integer(29, 30).0, 30);
        assert_eq!(roundest_integer(20_137, 20_941).0, 20_500);
        assert_eq!(roundest_integer(-7, 3).0, 0);
        assert_eq!(roundest_integer(-30, -24).0, -25);
        assert_eq!(roundest_integer(41, 42).0, 42);
        let float = |a: f64, b: f64| key_float(roundest_float(float_key(a), float_key(b)).0);
        assert_eq!(float(0.1234, 0.1267), 0.126);
        assert_eq!(float(3.99, 4.2), 4.0);
        assert_eq!(float(-2.7, -1.2), -2.0);
        assert_eq!(float(1.0, f64::from_bits(1.0f64.to_bits() + 1)), f64::from_bits(1.0f64.to_bits() + 1));
    }

    #[test]
    fn texts_are_read_back() {
        for (scale, key) in [
            (Scale::Integer, -42),
            (Scale::Float, float_key(-0.125)),
            (Scale::Decimal(2), -1250),
            (Scale::Decimal(-1), 7),
            (Scale::Date, 18_000),
            (Scale::Timestamp(TimeUnit::Millisecond), 1_600_000_000_123),
            (Scale::Timestamp(TimeUnit::Second), 86_400 * 365),
            (Scale::Time, 3_723_000_000_001),
            (Scale::Boolean, 1),
        ] {
            assert_eq!(scale.parse(&scale.text(key)), Some(key), "{scale:?} {}", scale.text(key));
        }
    }

    #[test]
    fn all_ways_of_writing_a_value_have_one_text() {
        let moments = Scale::Timestamp(TimeUnit::Microsecond);
        for (scale, ways, text) in [
            (Scale::Integer, &["7", "7.0", "+7", " 07"][..], "7"),
            (Scale::Float, &["1", "1.0", "1e0", "1.00"], "1"),
            (Scale::Float, &["0", "-0.0", "0.0"], "0"),
            (Scale::Decimal(2), &["2.5", "2.50"], "2.5"),
            (Scale::Date, &["2020-01-01", "2020-01-01T00:00:00"], "2020-01-01"),
            (moments, &["2020-01-01", "2020-01-01T00:00:00", "2020-01-01T00:00:00.000"], "2020-01-01"),
            (moments, &["2020-01-01T10:00:00", "2020-01-01T10:00:00.0"], "2020-01-01T10:00:00"),
        ] {
            for way in ways {
                assert_eq!(scale.canonical(way).as_deref(), Some(text), "{scale:?} {way}");
            }
        }
        assert_eq!(Scale::Integer.canonical("7.5"), None);
        assert_eq!(Scale::Date.canonical("2020-01-01T10:00:00"), None);
        assert_eq!(Scale::Float.canonical("none"), None);
    }

    #[test]
    fn float_keys_keep_the_order() {
        let values = [f64::NEG_INFINITY, -2.5, -f64::MIN_POSITIVE, 0.0, 1e-300, 1.0, f64::INFINITY];
        assert!(values.windows(2).all(|pair| float_key(pair[0]) < float_key(pair[1])));
        assert_eq!(float_key(-0.0), float_key(0.0));
        assert!(values.iter().all(|&value| key_float(float_key(value)) == value));
    }

    #[test]
    fn dates_are_cut_at_the_start_of_a_year_rather_than_at_a_birthday() {
        let day = |text: &str| Scale::Date.parse(text).unwrap();
        let cut = |a: &str, b: &str| Scale::Date.text(roundest_date(day(a), day(b)).0);
        assert_eq!(cut("1984-03-05", "1985-06-17"), "1985-01-01");
        assert_eq!(cut("1989-12-31", "1990-06-17"), "1990-01-01");
        assert_eq!(cut("1985-06-10", "1985-06-17"), "1985-06-17");
        assert_eq!(cut("1985-05-10", "1985-06-17"), "1985-06-01");
    }
}
