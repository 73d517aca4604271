//! Which keys does the file contain, of which kind, and on which line?
//!
//! Numbers are parsed from their text, never through binary floating point. Every function that finds a mistake records
//! it and continues, so that one run shows all of them.

use std::ops::RangeInclusive;

use toml::de::{DeTable, DeValue};

use crate::error::Mistake;
use crate::math::exact::{MOST_DIGITS, Rational, parse_fraction};

/// The mistakes found so far, each with its position in the text.
pub(crate) struct Mistakes<'t> {
    text: &'t str,
    found: Vec<(usize, Mistake)>,
}

impl<'t> Mistakes<'t> {
    pub fn new(text: &'t str) -> Self {
        Mistakes { text, found: Vec::new() }
    }

    /// Records a mistake at a byte of the text, or about the whole text.
    pub fn add(
        &mut self,
        at: impl Into<Option<usize>>,
        key: &str,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let at = at.into();
        let mistake = Mistake {
            line: at.map(|at| self.line(at)),
            key: key.to_string(),
            problem: problem.into(),
            remedy: remedy.into(),
        };
        self.found.push((at.unwrap_or(0), mistake));
    }

    /// The line of a byte of the text, counted from 1.
    pub fn line(&self, at: usize) -> usize {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// All mistakes in file order.
    pub fn into_sorted(mut self) -> Vec<Mistake> {
        self.found.sort_by_key(|(at, _)| *at);
        // A parser that recovers may stumble twice over the same thing.
        self.found.dedup();
        self.found.into_iter().map(|(_, mistake)| mistake).collect()
    }
}

/// A table of the file.
#[derive(Clone)]
pub(crate) struct Section<'a> {
    pub key: String,
    pub at: usize,
    table: &'a DeTable<'a>,
}

/// A value of the file, with the key it belongs to.
#[derive(Clone)]
pub(crate) struct Item<'a> {
    pub key: String,
    pub at: usize,
    value: &'a DeValue<'a>,
}

impl<'a> Section<'a> {
    pub fn whole_file(table: &'a DeTable<'a>) -> Self {
        Section { key: String::new(), at: 0, table }
    }

    fn inside(&self, name: &str) -> String {
        let bare =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        let name = if bare { name.to_string() } else { quoted(name) };
        if self.key.is_empty() { name } else { format!("{}.{name}", self.key) }
    }

    pub fn get(&self, name: &str) -> Option<Item<'a>> {
        let (_, value) = self.table.iter().find(|(key, _)| key.get_ref() == name)?;
        Some(Item { key: self.inside(name), at: value.span().start, value: value.get_ref() })
    }

    /// All names with their values, in file order.
    pub fn entries(&self) -> Vec<(String, Item<'a>)> {
        let mut entries: Vec<(usize, String, Item<'a>)> = Vec::new();
        for (name, value) in self.table {
            let item =
                Item { key: self.inside(name.get_ref()), at: name.span().start, value: value.get_ref() };
            entries.push((name.span().start, name.get_ref().to_string(), item));
        }
        entries.sort_by_key(|(at, ..)| *at);
        entries.into_iter().map(|(_, name, item)| (name, item)).collect()
    }

    /// Records every key that is not a known one.
    pub fn only(&self, known: &[&str], mistakes: &mut Mistakes) {
        for (name, item) in self.entries() {
            if !known.contains(&name.as_str()) {
                let remedy = match closest(&name, known.iter().copied()) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("known here: {}", known.join(", ")),
                };
                mistakes.add(item.at, &item.key, "is not a known key", remedy);
            }
        }
    }

    /// Records a missing required key.
    pub fn missing(&self, name: &str, remedy: &str, mistakes: &mut Mistakes) {
        let at = if self.key.is_empty() { None } else { Some(self.at) };
        mistakes.add(at, &self.inside(name), "is missing", remedy);
    }
}

impl<'a> Item<'a> {
    pub fn wrong(&self, problem: impl Into<String>, remedy: impl Into<String>, mistakes: &mut Mistakes) {
        mistakes.add(self.at, &self.key, problem, remedy);
    }

    fn not_a(&self, wanted: &str, example: &str, mistakes: &mut Mistakes) {
        let kind = match self.value {
            DeValue::String(_) => "text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.wrong(format!("is {kind}, not {wanted}"), format!("write {example}"), mistakes);
    }

    pub fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    pub fn is_list(&self) -> bool {
        matches!(self.value, DeValue::Array(_))
    }

    /// The text, if the value is one.
    pub fn as_text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    pub fn text(&self, example: &str, mistakes: &mut Mistakes) -> Option<String> {
        match self.as_text() {
            Some("") => {
                self.wrong("is empty", format!("write {example}"), mistakes);
                None
            }
            Some(text) => Some(text.to_string()),
            None => {
                self.not_a("text", example, mistakes);
                None
            }
        }
    }

    /// A value of a table as text: text, a number, true or false, a date.
    pub fn label(&self, mistakes: &mut Mistakes) -> Option<String> {
        match self.value {
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_string()),
            DeValue::Float(number) => Some(number.as_str().to_string()),
            DeValue::Boolean(yes) => Some(yes.to_string()),
            DeValue::Datetime(time) => Some(time.to_string()),
            _ => self.text("a value in quotes", mistakes),
        }
    }

    /// A whole number within limits.
    pub fn whole(&self, limits: RangeInclusive<u64>, mistakes: &mut Mistakes) -> Option<u64> {
        let DeValue::Integer(number) = self.value else {
            self.not_a("a whole number", &limits.start().to_string(), mistakes);
            return None;
        };
        let (low, high) = (limits.start(), limits.end());
        match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) if number < i128::from(*low) => {
                self.wrong(format!("{number} is too small"), format!("the least is {low}"), mistakes);
                None
            }
            Ok(number) if number <= i128::from(*high) => u64::try_from(number).ok(),
            _ => {
                self.wrong(format!("{number} is too large"), format!("the most is {high}"), mistakes);
                None
            }
        }
    }

    /// The text of a number, or of a fraction in quotes.
    fn written(&self) -> Option<&str> {
        match self.value {
            DeValue::Integer(number) => Some(number.as_str()),
            DeValue::Float(number) => Some(number.as_str()),
            DeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// An exact number: a decimal, or a fraction in quotes.
    pub fn fraction(&self, example: &str, mistakes: &mut Mistakes) -> Option<Rational> {
        let read = match self.value {
            DeValue::Integer(number) if number.radix() == 10 => parse_fraction(number.as_str()),
            DeValue::Float(number) => parse_fraction(number.as_str()),
            DeValue::String(text) => parse_fraction(text),
            _ => None,
        };
        if read.is_none() {
            let long = self.written().is_some_and(|text| text.len() > MOST_DIGITS as usize);
            let problem = match long {
                true => "has too many digits: at most 1000 are read exactly",
                false => "is not a number that can be read exactly",
            };
            self.wrong(problem, format!("write a decimal or a fraction, such as {example}"), mistakes);
        }
        read
    }

    /// An exact number that satisfies `holds`; `rule` describes the condition.
    pub fn fraction_where(
        &self,
        holds: impl Fn(&Rational) -> bool,
        rule: &str,
        example: &str,
        mistakes: &mut Mistakes,
    ) -> Option<Rational> {
        let number = self.fraction(example, mistakes)?;
        if !holds(&number) {
            self.wrong(format!("{number} is out of range"), rule, mistakes);
            return None;
        }
        Some(number)
    }

    /// The items of a list, or the value itself as a list of one.
    pub fn items(&self) -> Vec<Item<'a>> {
        match self.value {
            DeValue::Array(list) => {
                let item = |(at, value): (usize, &'a toml::Spanned<DeValue<'a>>)| Item {
                    key: format!("{}[{at}]", self.key),
                    at: value.span().start,
                    value: value.get_ref(),
                };
                list.iter().enumerate().map(item).collect()
            }
            _ => vec![self.clone()],
        }
    }

    /// One text or a list of different texts.
    pub fn texts(&self, example: &str, mistakes: &mut Mistakes) -> Vec<(String, usize)> {
        if !self.is_list() && self.as_text().is_none() {
            self.not_a("a list of names", example, mistakes);
            return Vec::new();
        }
        self.different(self.items(), |item, mistakes| item.text("a name in quotes", mistakes), mistakes)
    }

    /// A list of different values of a table.
    pub fn labels(&self, mistakes: &mut Mistakes) -> Vec<String> {
        let labels = self.different(self.items(), |item, mistakes| item.label(mistakes), mistakes);
        labels.into_iter().map(|(label, _)| label).collect()
    }

    fn different(
        &self,
        items: Vec<Item<'a>>,
        read: impl Fn(&Item<'a>, &mut Mistakes) -> Option<String>,
        mistakes: &mut Mistakes,
    ) -> Vec<(String, usize)> {
        let mut texts: Vec<(String, usize)> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for item in items {
            let Some(text) = read(&item, mistakes) else { continue };
            if seen.insert(text.clone()) {
                texts.push((text, item.at));
            } else {
                item.wrong("is listed twice", "list it once", mistakes);
            }
        }
        texts
    }

    pub fn section(&self, example: &str, mistakes: &mut Mistakes) -> Option<Section<'a>> {
        match self.value {
            DeValue::Table(table) => Some(Section { key: self.key.clone(), at: self.at, table }),
            _ => {
                self.not_a("a table", example, mistakes);
                None
            }
        }
    }

    /// Tables under one key: `[[key]]` repeated, or one `[key]`.
    pub fn sections(&self, mistakes: &mut Mistakes) -> Vec<Section<'a>> {
        let example = format!("[[{}]]", self.key);
        self.items().iter().filter_map(|item| item.section(&example, mistakes)).collect()
    }

    /// One of the named choices.
    pub fn choice<T: Clone>(&self, choices: &[(&str, T)], mistakes: &mut Mistakes) -> Option<T> {
        let names: Vec<String> = choices.iter().map(|(name, _)| quoted(name)).collect();
        let names = names.join(", ");
        let Some(text) = self.as_text() else {
            self.not_a("one of the choices", &names, mistakes);
            return None;
        };
        let chosen = choices.iter().find(|(name, _)| *name == text).map(|(_, value)| value.clone());
        if chosen.is_none() {
            let remedy = match closest(text, choices.iter().map(|(name, _)| *name)) {
                Some(near) => format!("did you mean {}?", quoted(near)),
                None => format!("write one of {names}"),
            };
            self.wrong(format!("{} is not a choice", quoted(text)), remedy, mistakes);
        }
        chosen
    }
}

/// A name as a TOML key, without quotes if possible.
pub(crate) fn quoted_key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { name.to_string() } else { quoted(name) }
}

/// Text as a TOML string.
pub(crate) fn quoted(text: &str) -> String {
    let mut written = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => written.extend(['\\', c]),
            c if c.is_control() => written.push_str(&format!("\\U{:08X}", c as u32)),
            c => written.push(c),
        }
    }
    written.push('"');
    written
}

/// The name closest to a misspelt one, if one is close enough to be meant.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let near = |known: &&str| {
        let length = wanted.chars().count().max(known.chars().count());
        let limit = if length < 2 { 0 } else { (length / 3).max(1) };
        strsim::osa_distance(&wanted, &known.to_lowercase()) <= limit
    };
    known.into_iter().filter(near).min_by_key(|known| strsim::osa_distance(&wanted, &known.to_lowercase()))
}
