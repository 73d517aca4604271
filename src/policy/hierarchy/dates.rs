//! To which week, month, quarter, year or decade does a day belong?
//!
//! Days are counted from 1970-01-01 in the proleptic Gregorian calendar.

/// A step of the calendar; finer ones come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DateLevel {
    /// `2020-07-01`
    Day,
    /// `2020-W27`, by ISO 8601: weeks start on Monday
    Week,
    /// `2020-07`
    Month,
    /// `2020-Q3`
    Quarter,
    /// `2020`
    Year,
    /// `2020s`
    Decade,
}

/// The range of days that labels can name; it includes timestamps in nanoseconds and all four-digit years.
const NAMED_DAYS: i64 = 1 << 40;

impl DateLevel {
    /// All levels with their names in a policy.
    pub const NAMES: [(&'static str, DateLevel); 6] = [
        ("day", DateLevel::Day),
        ("week", DateLevel::Week),
        ("month", DateLevel::Month),
        ("quarter", DateLevel::Quarter),
        ("year", DateLevel::Year),
        ("decade", DateLevel::Decade),
    ];

    /// The name in a policy.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// Whether every period of this level lies inside one period of `wider`; a week may cross a month.
    pub fn nests_in(self, wider: DateLevel) -> bool {
        self < wider && (self != DateLevel::Week)
    }

    /// The first and the last day of the period that contains a day; `None` beyond the days that labels can name.
    pub fn period(self, day: i64) -> (Option<i64>, Option<i64>) {
        if day < -NAMED_DAYS {
            return (None, Some(-NAMED_DAYS - 1));
        }
        if day > NAMED_DAYS {
            return (Some(NAMED_DAYS + 1), None);
        }
        let (year, month, _) = civil(day);
        let months = |from_year: i64, from_month: i64, months: i64| {
            let next = from_month - 1 + months;
            (days(from_year, from_month, 1), days(from_year + next / 12, next % 12 + 1, 1) - 1)
        };
        let (first, last) = match self {
            DateLevel::Day => (day, day),
            DateLevel::Week => {
                let monday = day - (day + 3).rem_euclid(7);
                (monday, monday + 6)
            }
            DateLevel::Month => months(year, month, 1),
            DateLevel::Quarter => months(year, (month - 1) / 3 * 3 + 1, 3),
            DateLevel::Year => months(year, 1, 12),
            DateLevel::Decade => months(year.div_euclid(10) * 10, 1, 120),
        };
        (Some(first.max(-NAMED_DAYS)), Some(last.min(NAMED_DAYS)))
    }

    /// The first and the last day of the period with this label.
    pub fn days_of(self, label: &str) -> Option<(i64, i64)> {
        let (sign, digits) = label.strip_prefix('-').map_or((1, label), |digits| (-1, digits));
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let (year, rest) = (sign * digits[..end].parse::<i64>().ok()?, &digits[end..]);
        let number = |text: &str| text.parse::<i64>().ok();
        let day = match self {
            DateLevel::Day => {
                let (month, day) = rest.strip_prefix('-')?.split_once('-')?;
                days(year, number(month)?, number(day)?)
            }
            // The fourth of January is always in the first week.
            DateLevel::Week => days(year, 1, 4) + 7 * (number(rest.strip_prefix("-W")?)? - 1),
            DateLevel::Month => days(year, number(rest.strip_prefix('-')?)?, 1),
            DateLevel::Quarter => days(year, 3 * number(rest.strip_prefix("-Q")?)? - 2, 1),
            DateLevel::Year | DateLevel::Decade => days(year, 1, 1),
        };
        let (first, last) = self.period(day);
        (self.label(day) == label).then_some(first.zip(last)).flatten()
    }

    /// The label of the period that contains a day.
    pub fn label(self, day: i64) -> String {
        let (number, month, of_month) = civil(day);
        let year = year_text(number);
        match self {
            DateLevel::Day => format!("{year}-{month:02}-{of_month:02}"),
            DateLevel::Week => {
                // The year of an ISO week is the year of its Thursday; 1970-01-01 was one.
                let day = day.clamp(-NAMED_DAYS, NAMED_DAYS);
                let thursday = day + 3 - (day + 3).rem_euclid(7);
                let (year, ..) = civil(thursday);
                let week = (thursday - days(year, 1, 1)) / 7 + 1;
                format!("{}-W{week:02}", year_text(year))
            }
            DateLevel::Month => format!("{year}-{month:02}"),
            DateLevel::Quarter => format!("{year}-Q{}", (month + 2) / 3),
            DateLevel::Year => year,
            DateLevel::Decade => format!("{}s", year_text(number.div_euclid(10) * 10)),
        }
    }
}

fn year_text(year: i64) -> String {
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}", year.unsigned_abs())
}

/// Reads the day of `2020-07-01` or `2020-07-01T12:00:00`; `None` if there is no such day.
pub fn parse_day(text: &str) -> Option<i64> {
    let date = text.get(..10)?;
    let (bytes, after) = (date.as_bytes(), &text[10..]);
    if bytes[4] != b'-' || bytes[7] != b'-' || !(after.is_empty() || after.starts_with(['T', 't', ' '])) {
        return None;
    }
    let number = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<i64>().ok())?;
    let (year, month, day) = (number(&date[..4])?, number(&date[5..7])?, number(&date[8..])?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let count = days(year, month, day);
    (civil(count) == (year, month, day)).then_some(count)
}

/// Days since 1970-01-01. Years start in March here, so that a leap day ends its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of month; the inverse of [`days`].
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day.clamp(-NAMED_DAYS, NAMED_DAYS) + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, of_month)
}
