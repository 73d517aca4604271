//! Numbers, dates and times as ordered keys.
//!
//! Integers, floats, decimals, dates, times and timestamps each have an `i64` key with the same order.

use crate::math::exact::{Rational, parse_fraction, ratio};
use arrow_array::temporal_conversions::{date32_to_datetime, timestamp_ms_to_datetime};
use arrow_schema::TimeUnit;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime, Timelike};

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

    /// The key as an exact number in the units of the column; `None` for infinities.
    pub fn number(self, key: i64) -> Option<Rational> {
        match self {
            Scale::Float | Scale::Decimal(_) => parse_fraction(&self.text(key)),
            _ => Some(Rational::from(key)),
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
    let scaled = parse_fraction(text)? * ratio(10, 1).pow(isize::from(scale));
    scaled.is_int().then(|| i64::try_from(scaled.into_parts().0).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
