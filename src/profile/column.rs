//! What does one column hold?
//!
//! Values become numbers ([`Ids`]): the key of an ordered value, the hash of a text. For texts, only their form is
//! remembered: how long they are and what they look like.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::tally::{DistinctEstimate, DistinctTally};
use crate::encode::cells::{CellTexts as Entries, keys};
use crate::encode::grid::ColumnGrid;
use crate::encode::scale::Scale;
use crate::error::Result;
use crate::math::exact::Rational;
use crate::math::hash_sample::hash_text;
use crate::math::random::mix;
use crate::table::ColumnKind;
use std::collections::BTreeMap;

/// The profile of a column.
#[derive(Debug)]
pub struct ColumnProfile {
    /// Its name.
    pub name: String,
    /// The kind of its values; `None` if they have neither order nor categories.
    pub kind: Option<ColumnKind>,
    /// Rows without a value.
    pub nulls: u64,
    /// Number of different values, not counting null; for a list column, of different items.
    pub counted: DistinctEstimate,
    /// How often each value occurs, most frequent first; `None` if not all were counted.
    pub counts: Option<Vec<u64>>,
    /// A rounded range of the values that leaves out at least the lowest and the highest hundred rows.
    pub range: Option<(String, String)>,
    /// What its texts look like; `None` for other kinds.
    pub texts: Option<TextShape>,
    /// Words that stand for nothing ([`NOTHINGS`]) as the column writes them, with the number of their rows, most
    /// frequent first.
    pub nothings: Vec<(String, u64)>,
    /// Of a CSV column of short numbers, some with zeros before them, the digits of the longest: it may be read as
    /// numbers.
    pub padded: Option<u32>,
    /// The keys of the least and the greatest value: never shown.
    pub(super) ends: Option<(i64, i64)>,
}

impl ColumnProfile {
    /// The width of cells for a column of numbers: what its usual range gives if it is taken for the domain.
    pub(super) fn grid(&self) -> Option<Rational> {
        if let Some(digits) = self.padded {
            let greatest = 10u64.pow(digits) - 1;
            return ColumnGrid::width_for(Scale::Integer, "0", &greatest.to_string());
        }
        let scale = Scale::of(self.kind.as_ref()?)?;
        let ends = |(low, high): (i64, i64)| (scale.text(low), scale.text(high));
        let (low, high) = self.range.clone().or_else(|| self.ends.map(ends)).unwrap_or_default();
        ColumnGrid::width_for(scale, &low, &high)
    }
}

/// The form of texts, counted in rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextShape {
    /// Rows that have a text.
    pub rows: u64,
    /// Total number of characters.
    pub characters: u64,
    /// Total number of blanks.
    pub blanks: u64,
    /// Number of characters in the shortest and the longest text.
    pub lengths: Option<(u64, u64)>,
    /// Rows with nothing but digits.
    pub digits: u64,
    /// Rows with capitals, digits, points and hyphens only, and at least one digit.
    pub codes: u64,
    /// Rows with an `@` between two texts.
    pub addresses: u64,
    /// Rows such as `31/12/1999` or `31.12.99`.
    pub dates: u64,
    /// Rows that end with `*`, the usual notation for prefixes of codes.
    pub starred: u64,
    /// Rows with a word for a sex.
    pub sexes: u64,
    /// Rows with the name of a state of the United States.
    pub states: u64,
}

/// Values that usually say nothing about a person, in lower case with blanks. Only words of this list are ever printed.
pub const NOTHINGS: [&str; 16] = [
    "none",
    "no",
    "nothing",
    "n/a",
    "na",
    "not applicable",
    "not in universe",
    "not in universe or children",
    "not reported",
    "not tested",
    "no injury",
    "no diagnosis",
    "healthy",
    "normal",
    "negative",
    "unknown",
];

const SEXES: [&str; 8] = ["male", "female", "m", "f", "man", "woman", "men", "women"];

const STATES: &str = "alabama,alaska,arizona,arkansas,california,colorado,connecticut,delaware,florida,georgia,hawaii,\
    idaho,illinois,indiana,iowa,kansas,kentucky,louisiana,maine,maryland,massachusetts,michigan,minnesota,mississippi,\
    missouri,montana,nebraska,nevada,new hampshire,new jersey,new mexico,new york,north carolina,north dakota,ohio,\
    oklahoma,oregon,pennsylvania,rhode island,south carolina,south dakota,tennessee,texas,utah,vermont,virginia,\
    washington,west virginia,wisconsin,wyoming";

/// The text in lower case with blanks in place of `_` and `-`, if it is short enough to be a known word.
fn plain_word(text: &str) -> Option<String> {
    let longest = 30;
    (text.len() <= longest).then(|| text.to_ascii_lowercase().replace(['_', '-'], " "))
}

impl TextShape {
    fn see(&mut self, text: &str, rows: u64) {
        let length = text.chars().count() as u64;
        self.rows += rows;
        self.characters += length * rows;
        self.blanks += text.bytes().filter(|&b| b == b' ').count() as u64 * rows;
        let (least, most) = self.lengths.unwrap_or((length, length));
        self.lengths = Some((least.min(length), most.max(length)));
        let all = |fits: fn(u8) -> bool| !text.is_empty() && text.bytes().all(fits);
        let any_digit = text.bytes().any(|b| b.is_ascii_digit());
        let add = |to: &mut u64, holds: bool| *to += if holds { rows } else { 0 };
        add(&mut self.digits, all(|b| b.is_ascii_digit()));
        let code = all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-'));
        add(&mut self.codes, code && any_digit);
        let address = text.split_once('@').is_some_and(|(one, other)| !one.is_empty() && other.contains('.'));
        add(&mut self.addresses, address);
        add(&mut self.dates, is_date(text));
        add(&mut self.starred, text.ends_with('*'));
        let word = plain_word(text);
        add(&mut self.sexes, word.as_deref().is_some_and(|word| SEXES.contains(&word)));
        add(&mut self.states, word.is_some_and(|word| STATES.split(',').any(|state| state == word)));
    }

    /// The digits of the longest text, if all are short numbers.
    pub(super) fn padded(&self) -> Option<u32> {
        let (_, most) = self.lengths.filter(|_| self.rows > 0 && self.digits == self.rows)?;
        u32::try_from(most).ok().filter(|digits| *digits <= 3)
    }

    /// Whether `rows` is nearly all rows.
    pub fn mostly(&self, rows: u64) -> bool {
        self.rows > 0 && rows as f64 >= 0.98 * self.rows as f64
    }
}

/// Three numbers between slashes or points.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['/', '.']).collect();
    let number = |part: &&str| (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    parts.len() == 3 && text.len() >= 6 && parts.iter().all(number)
}

/// A column while it is scanned.
pub(super) struct ColumnScan {
    name: String,
    kind: ColumnKind,
    scale: Option<Scale>,
    tally: DistinctTally,
    rows: u64,
    nulls: u64,
    ends: Option<(i64, i64)>,
    texts: Option<TextShape>,
    /// By their places in [`NOTHINGS`]; of several spellings the least.
    nothings: BTreeMap<usize, (String, u64)>,
}

/// A number for each row of a batch; equal values have equal numbers.
pub(super) struct Ids {
    /// One per row; [`NULL`] where there is no value.
    pub rows: Vec<u64>,
}

/// Represents null among other values.
pub(super) const NULL: u64 = 0x6e75_6c6c_6e75_6c6c;

impl ColumnScan {
    pub fn new(name: &str, kind: ColumnKind, slots: usize) -> Self {
        let item = match &kind {
            ColumnKind::List(item) => (**item).clone(),
            kind => kind.clone(),
        };
        let scale = Scale::of(&item);
        let texts = scale.is_none().then(TextShape::default);
        let (name, tally) = (name.to_string(), DistinctTally::new(slots));
        let nothings = BTreeMap::new();
        ColumnScan { name, kind, scale, tally, rows: 0, nulls: 0, ends: None, texts, nothings }
    }

    /// Counts the values of a canonical column; all ids of a list column are [`NULL`].
    pub fn observe(&mut self, array: &ArrayRef) -> Result<Ids> {
        self.rows += array.len() as u64;
        if let Some(list) = array.as_list_opt::<i32>() {
            let offsets = list.value_offsets();
            let (first, last) = (offsets[0] as usize, offsets[list.len()] as usize);
            let before = self.nulls;
            self.count(&list.values().slice(first, last - first))?;
            self.nulls = before + list.null_count() as u64;
            return Ok(Ids { rows: vec![NULL; array.len()] });
        }
        self.count(array)
    }

    fn count(&mut self, array: &ArrayRef) -> Result<Ids> {
        let rows = match self.scale {
            Some(scale) => {
                let keys = keys(array, scale, &self.name)?;
                let mut rows = Vec::with_capacity(array.len());
                for row in 0..array.len() {
                    let Some(key) = keys.get(row) else {
                        self.nulls += 1;
                        rows.push(NULL);
                        continue;
                    };
                    let (low, high) = self.ends.unwrap_or((key, key));
                    self.ends = Some((low.min(key), high.max(key)));
                    self.tally.add(key as u64, 1);
                    rows.push(mix(key as u64));
                }
                rows
            }
            None => {
                let entries = Entries::new(array);
                let mut used = vec![0; entries.dictionary.len()];
                for row in 0..entries.rows() {
                    match entries.entry(row) {
                        Some(entry) => used[entry] += 1,
                        None => self.nulls += 1,
                    }
                }
                let mut hashes = vec![NULL; used.len()];
                for (entry, &times) in used.iter().enumerate().filter(|&(_, &times)| times > 0) {
                    let text = entries.dictionary.value(entry);
                    hashes[entry] = hash_text(text);
                    self.tally.add(hashes[entry], times);
                    if let Some(texts) = &mut self.texts {
                        texts.see(text, times);
                    }
                    let word = plain_word(text);
                    if let Some(place) = NOTHINGS.iter().position(|known| Some(*known) == word.as_deref()) {
                        let (spelling, rows) =
                            self.nothings.entry(place).or_insert_with(|| (text.to_string(), 0));
                        *rows += times;
                        if text < spelling.as_str() {
                            *spelling = text.to_string();
                        }
                    }
                }
                (0..entries.rows())
                    .map(|row| entries.entry(row).map_or(NULL, |entry| hashes[entry]))
                    .collect()
            }
        };
        Ok(Ids { rows })
    }

    pub fn finish(self) -> ColumnProfile {
        let counts = self.tally.is_exact().then(|| {
            let mut counts: Vec<u64> = self.tally.counts().map(|(_, count)| count).collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            counts
        });
        let range = self.scale.and_then(|scale| range(scale, &self.tally, self.rows));
        let mut nothings: Vec<(String, u64)> = self.nothings.into_values().collect();
        nothings.sort_by(|(one, rows), (other, others)| others.cmp(rows).then_with(|| one.cmp(other)));
        ColumnProfile {
            name: self.name,
            kind: Some(self.kind),
            nulls: self.nulls,
            counted: self.tally.counted(),
            counts,
            range,
            texts: self.texts,
            nothings,
            padded: None,
            ends: self.ends,
        }
    }
}

/// Rows that a range leaves out at each end of a column: at least this many, and at least one in a hundred.
const LEFT_OUT: u64 = 100;

/// The range of the values, without the lowest and highest rows that are left out, rounded outwards.
fn range(scale: Scale, tally: &DistinctTally, rows: u64) -> Option<(String, String)> {
    let mut counts: Vec<(i64, u64)> = tally.counts().map(|(id, count)| (id as i64, count)).collect();
    counts.sort_unstable();
    // A sample is cut by shares, a complete count by rows; both leave out at least `LEFT_OUT` rows.
    let kept: u64 = counts.iter().map(|(_, count)| count).sum();
    let aside = LEFT_OUT.max(rows / 100).checked_mul(kept)?.div_ceil(rows.max(1));
    if kept < 4 * aside || rows < 10 * LEFT_OUT {
        return None;
    }
    let past = |sum: &mut u64, &(key, count): &(i64, u64)| {
        *sum += count;
        Some((*sum > aside).then_some(key))
    };
    let low = counts.iter().scan(0, past).flatten().next()?;
    let high = counts.iter().rev().scan(0, past).flatten().next()?;
    match scale {
        Scale::Date | Scale::Timestamp(_) => {
            let year = |key: i64| crate::policy::hierarchy::DateLevel::Year.label(scale.day(key));
            Some((year(low), year(high)))
        }
        Scale::Integer | Scale::Float | Scale::Decimal(_) => {
            let number = |key: i64| scale.text(key).parse::<f64>().ok().filter(|x| x.is_finite());
            let (low, high) = (number(low)?, number(high)?);
            let step = 10f64.powf((high - low).abs().max(1.0).log10().floor());
            let text = |x: f64| if step >= 1.0 { format!("{x:.0}") } else { format!("{x}") };
            Some((text((low / step).floor() * step), text((high / step).floor() * step + step)))
        }
        Scale::Boolean | Scale::Time => None,
    }
}
