//! What does a published label mean?
//!
//! The inverse of [`label`](super::label), whose header contains the grammar. How a label is read depends on the policy
//! for the column and the type of its values: `2020-07` is a month for one column and a text for another.
//!
//! ```
//! use skyveil::{Cell, ColumnKind, LabelReader};
//!
//! let ages = LabelReader::unstated(&ColumnKind::Integer);
//! let label = ages.read("null|[20,30)")?;
//! assert!(ages.covers(&label, Cell::Key(20)) && ages.covers(&label, Cell::Null));
//! assert!(!ages.covers(&label, ages.cell("30")?));
//!
//! let jobs = LabelReader::unstated(&ColumnKind::Text);
//! let label = jobs.read(r"{clerk|cook \| baker}")?;
//! assert!(jobs.covers(&label, Cell::Text("cook | baker")));
//! # Ok::<(), skyveil::Error>(())
//! ```
//!
//! Invariant: the label of a group covers the values of everyone in it; a label that cannot be read is an error.
//! Memory: O(label). Not here: which values occur in the table.

use crate::encode::scale::Scale;
use crate::error::{Error, Result};
use crate::math::exact::{Rational, parse_fraction, ratio};
use crate::policy::hierarchy::{DateLevel, Hierarchy, Node};
use crate::policy::{Quasi, QuasiShape};
use crate::table::ColumnKind;

/// A parsed label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Whether people without a value may be in the group.
    pub null: bool,
    /// The values that people of the group may have.
    pub values: Covered,
}

impl Label {
    /// The label `*`.
    pub fn everything() -> Self {
        Label { null: true, values: Covered::Everything }
    }
}

/// The values that a label covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Covered {
    /// No value: nobody in the group has one.
    Nothing,
    /// All values.
    Everything,
    /// Numbers, dates or times by their keys ([`Scale`]); `None` is an open end.
    Keys {
        /// The least that is covered.
        from: Option<i64>,
        /// Where the range ends.
        to: Option<Upper>,
    },
    /// Texts from one (included) to another (excluded); `None` is an open end.
    Texts {
        /// The least that is covered.
        from: Option<String>,
        /// The first text that is no longer covered.
        to: Option<String>,
    },
    /// These texts.
    Set(Vec<String>),
    /// The values below a node of the policy's hierarchy.
    Node(Node),
    /// All longer texts with this prefix.
    Prefix(String),
    /// The days of a calendar period, such as `2020-Q3`.
    Period(DateLevel, String),
}

/// The upper end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upper {
    /// The first key that is no longer covered.
    Open(i64),
    /// The last key that is covered.
    Closed(i64),
}

/// A value of the original table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    /// No value.
    Null,
    /// The key of a number, date or time.
    Key(i64),
    /// A text.
    Text(&'a str),
}

/// Reads the labels of one column.
#[derive(Debug, Clone)]
pub struct LabelReader<'a> {
    name: &'a str,
    scale: Option<Scale>,
    shape: &'a QuasiShape,
    other: Option<&'a str>,
    highest: Option<i64>,
}

impl<'a> LabelReader<'a> {
    /// Creates a reader for a column of the original table, as described in the policy.
    pub fn new(quasi: &'a Quasi, kind: &ColumnKind) -> Self {
        let scale = Scale::of(kind);
        let highest = scale.zip(quasi.domain.as_ref()).and_then(|(scale, [_, high])| scale.parse(&high.text));
        LabelReader { name: &quasi.name, scale, shape: &quasi.shape, other: quasi.other.as_deref(), highest }
    }

    /// Creates a reader for a column that the policy only declares to be a quasi-identifier.
    pub fn unstated(kind: &ColumnKind) -> LabelReader<'static> {
        LabelReader {
            name: "label",
            scale: Scale::of(kind),
            shape: &QuasiShape::Plain,
            other: None,
            highest: None,
        }
    }

    /// Reads a label.
    ///
    /// # Errors
    /// Text that is not a label of such a column; the error does not quote it.
    pub fn read(&self, label: &str) -> Result<Label> {
        let (null, values) = match label {
            "null" => return Ok(Label { null: true, values: Covered::Nothing }),
            label => label.strip_prefix("null|").map_or((false, label), |rest| (true, rest)),
        };
        let inner = self.hierarchy().and_then(|tree| tree.node("*").filter(|&node| node != tree.root()));
        let values = match (values, inner) {
            ("*", Some(node)) => return Ok(Label { null: true, values: Covered::Node(node) }),
            ("*", None) => return Ok(Label { null: true, values: Covered::Everything }),
            _ => self.values(values).ok_or_else(|| self.unreadable())?,
        };
        Ok(Label { null, values })
    }

    /// Reads the two cells of a column that is published as `NAME_from` and `NAME_to`, given as keys.
    ///
    /// Bounds do not show whether null occurs, nor whether the configured end of the column does: both count as
    /// covered.
    pub fn read_bounds(&self, from: Option<i64>, to: Option<i64>) -> Label {
        let upper = |to: i64| if self.highest == Some(to) { Upper::Closed(to) } else { Upper::Open(to) };
        let values = match (from, to) {
            (None, None) => Covered::Everything,
            (from, to) => Covered::Keys { from, to: to.map(upper) },
        };
        Label { null: true, values }
    }

    /// A value written as text, as in labels and CSV files.
    ///
    /// # Errors
    /// Text that is not a value of the column's type.
    pub fn cell<'b>(&self, text: &'b str) -> Result<Cell<'b>> {
        match self.scale {
            None => Ok(Cell::Text(text)),
            Some(scale) => scale.parse(text).map(Cell::Key).ok_or_else(|| {
                Error::input(
                    format!("column {:?}: a text is no value of its type", self.name),
                    "give a value as the original table has it",
                )
            }),
        }
    }

    /// Whether people who have this value may be in a group with this label.
    pub fn covers(&self, label: &Label, value: Cell<'_>) -> bool {
        let written;
        let (key, text) = match value {
            Cell::Null => return label.null,
            Cell::Key(key) => {
                written = match (&label.values, self.scale) {
                    (Covered::Keys { .. }, _) | (_, None) => String::new(),
                    (_, Some(scale)) => scale.text(key),
                };
                (Some(key), written.as_str())
            }
            Cell::Text(text) => (self.scale.and_then(|scale| scale.parse(text)), text),
        };
        match &label.values {
            Covered::Nothing => false,
            Covered::Everything => true,
            Covered::Keys { from, to } => key.is_some_and(|key| {
                let below = match *to {
                    None => true,
                    Some(Upper::Open(end)) => key < end,
                    Some(Upper::Closed(end)) => key <= end,
                };
                below && from.is_none_or(|from| from <= key)
            }),
            Covered::Texts { from, to } => {
                from.as_deref().is_none_or(|from| from <= text) && to.as_deref().is_none_or(|to| text < to)
            }
            Covered::Set(values) => values.iter().any(|own| own == self.listed(text)),
            Covered::Node(node) => self
                .hierarchy()
                .is_some_and(|tree| tree.leaf(text).is_some_and(|leaf| tree.range(*node).contains(&leaf))),
            Covered::Prefix(prefix) => text.starts_with(prefix) && text.len() > prefix.len(),
            Covered::Period(level, name) => {
                key.zip(self.scale).is_some_and(|(key, scale)| level.label(scale.day(key)) == *name)
            }
        }
    }

    fn hierarchy(&self) -> Option<&'a Hierarchy> {
        match self.shape {
            QuasiShape::Hierarchy(tree) => Some(tree),
            _ => None,
        }
    }

    /// The value that represents a text: itself, or the `other` of a declared order.
    fn listed<'b>(&'b self, text: &'b str) -> &'b str {
        match (self.shape, self.other) {
            (QuasiShape::Order(values), Some(other)) if !values.iter().any(|value| value == text) => other,
            _ => text,
        }
    }

    fn values(&self, label: &str) -> Option<Covered> {
        match (self.shape, self.scale) {
            (QuasiShape::Hierarchy(tree), _) => tree.node(&single(label)?).map(Covered::Node),
            (QuasiShape::Prefix(lengths), _) => {
                let name = single(label)?;
                let prefix = name
                    .strip_suffix('*')
                    .filter(|prefix| lengths.contains(&(prefix.chars().count() as u64)));
                Some(match prefix {
                    Some(prefix) => Covered::Prefix(prefix.to_string()),
                    None => Covered::Set(vec![name]),
                })
            }
            (QuasiShape::Dates(_), Some(_)) => Some(Covered::Period(level_of(label)?, label.to_string())),
            (_, Some(scale)) => match ends(label) {
                Some((from, to, closed)) => key_range(scale, from, to, closed),
                None => {
                    let key = scale.parse(label)?;
                    Some(Covered::Keys { from: Some(key), to: Some(Upper::Closed(key)) })
                }
            },
            (QuasiShape::Order(_), None) => set(label).map(Covered::Set),
            (_, None) => match label.starts_with('[') || label.starts_with("(,") {
                true => text_range(label),
                false => set(label).map(Covered::Set),
            },
        }
    }

    fn unreadable(&self) -> Error {
        Error::input(
            format!("column {:?} holds a text that is no label of such a column", self.name),
            "give a release as it was written, and the policy that it was made with",
        )
    }
}

/// The ends of `[low,high)`, `[low,)`, `(,high)` or `[low,high]`, and whether the upper one is closed.
fn ends(label: &str) -> Option<(Option<&str>, Option<&str>, bool)> {
    let (inner, closed) = match (label.strip_suffix(')'), label.strip_suffix(']')) {
        (Some(inner), _) => (inner, false),
        (_, Some(inner)) => (inner, true),
        _ => return None,
    };
    if let Some(high) = inner.strip_prefix("(,") {
        return Some((None, Some(high), closed));
    }
    let (low, high) = inner.strip_prefix('[')?.split_once(',')?;
    let high = Some(high).filter(|high| !high.is_empty());
    (high.is_some() || !closed).then_some((Some(low), high, closed))
}

fn key_range(scale: Scale, from: Option<&str>, to: Option<&str>, closed: bool) -> Option<Covered> {
    let from = match from {
        None => None,
        Some(text) => Some(first_key(scale, text)?),
    };
    let to = match (to, closed) {
        (None, _) => None,
        (Some(text), true) => Some(Upper::Closed(scale.parse(text)?)),
        (Some(text), false) => match first_key(scale, text)? {
            // The end may be beyond all keys.
            i64::MAX => Some(Upper::Closed(i64::MAX)),
            key => Some(Upper::Open(key)),
        },
    };
    Some(Covered::Keys { from, to })
}

/// The least key that is not below an end; an end between two keys has no key of its own.
fn first_key(scale: Scale, end: &str) -> Option<i64> {
    if let Some(key) = scale.parse(end) {
        return Some(key);
    }
    let number = parse_fraction(end)?;
    let ceiling = |number: &Rational| match i64::try_from(number.ceil()) {
        Ok(key) => key,
        Err(_) if *number < Rational::ZERO => i64::MIN,
        Err(_) => i64::MAX,
    };
    match scale {
        Scale::Integer => Some(ceiling(&number)),
        Scale::Decimal(places) => Some(ceiling(&(number * ratio(10, 1).pow(isize::from(places))))),
        Scale::Float => {
            let mut key = crate::encode::scale::float_key(crate::math::exact::f64_at_least(&number));
            let value = |key: i64| parse_fraction(&scale.text(key));
            while value(key.checked_sub(1)?).is_some_and(|below| below >= number) {
                key -= 1;
            }
            while value(key).is_some_and(|at| at < number) {
                key = key.checked_add(1)?;
            }
            Some(key)
        }
        _ => None,
    }
}

fn text_range(label: &str) -> Option<Covered> {
    let (inner, from) = match label.strip_prefix("(,") {
        Some(inner) => (inner, None),
        None => {
            let (low, rest) = quoted(label.strip_prefix('[')?)?;
            (rest.strip_prefix(',')?, Some(low))
        }
    };
    let (rest, to) = match quoted(inner) {
        Some((high, rest)) => (rest, Some(high)),
        None => (inner, None),
    };
    (rest == ")" && (from.is_some() || to.is_some())).then_some(Covered::Texts { from, to })
}

/// A quoted text at the beginning, and the rest after it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('"')?.chars();
    let mut value = String::new();
    loop {
        match rest.next()? {
            '"' => return Some((value, rest.as_str())),
            '\\' => value.push(match rest.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '0' => '\0',
                'u' => {
                    let (digits, after) = rest.as_str().strip_prefix('{')?.split_once('}')?;
                    rest = after.chars();
                    char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
                }
                itself @ ('"' | '\\' | '\'') => itself,
                _ => return None,
            }),
            c => value.push(c),
        }
    }
}

/// The values of a set, which may be one value without braces.
fn set(label: &str) -> Option<Vec<String>> {
    let Some(inner) = label.strip_prefix('{') else { return Some(vec![label.to_string()]) };
    let mut values = vec![String::new()];
    let mut chars = inner.chars();
    loop {
        match (chars.next()?, values.last_mut()?) {
            ('}', _) => return chars.next().is_none().then_some(values),
            ('|', _) => values.push(String::new()),
            ('\\', last) => last.push(chars.next()?),
            (c, last) => last.push(c),
        }
    }
}

/// The value of a set with one element.
fn single(label: &str) -> Option<String> {
    let mut values = set(label)?;
    values.pop().filter(|_| values.is_empty())
}

/// The level whose periods have names in this form.
fn level_of(label: &str) -> Option<DateLevel> {
    let form: String = label
        .strip_prefix('-')
        .unwrap_or(label)
        .chars()
        .map(|c| if c.is_ascii_digit() { '9' } else { c })
        .collect();
    let (year, rest) = form.split_at_checked(form.chars().take_while(|&c| c == '9').count())?;
    (year.len() >= 4).then_some(())?;
    Some(match rest {
        "-99-99" => DateLevel::Day,
        "-W99" => DateLevel::Week,
        "-99" => DateLevel::Month,
        "-Q9" => DateLevel::Quarter,
        "" => DateLevel::Year,
        "s" => DateLevel::Decade,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
