//! What does the public read in place of a value?
//!
//! ```text
//! label   = "*" | "null" | [ "null|" ] ( range | set | node )
//! range   = "[" low "," high ")" | "[" low ",)" | "(," high ")" | "[" low "," high "]"
//! set     = value | "{" value { "|" value } "}"
//! node    = name | "{" name "}"
//! ```
//!
//! `low` belongs to a range, `high` does not, except for the configured upper end of the whole column, which is closed.
//! Ends that are texts are quoted, with backslashes as in Rust. Between braces, each of `\`, `|`, `{`, `}` that is part
//! of a value is preceded by a backslash; a single value or name is put in braces only where it could be mistaken for
//! something else. `null` is named only where it occurs. Ends are cut points, configured ends or multiples of a
//! configured grid, never the least or greatest value of a group. [`LabelReader`](super::reader::LabelReader) parses
//! labels.

use crate::encode::attribute::{Attribute, Coding};
use crate::encode::scale::Scale;
use crate::error::{Error, Result};
use crate::group::groups::Present;
use crate::math::exact::{Rational, parse_fraction};
use crate::policy::hierarchy::range_label;
use crate::policy::{Grid, Quasi};
use crate::table::ColumnKind;
use std::ops::Range;

/// How the groups of one column are labelled.
#[derive(Debug, Clone)]
pub struct Labels<'a> {
    attribute: &'a Attribute,
    kind: ColumnKind,
    domain: Option<(i64, i64)>,
    grid: Option<&'a Grid>,
    texts: Texts,
}

/// The meaning of the texts of a flat category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Texts {
    Values,
    /// Already labels, assigned by a generalization function.
    Labels,
}

/// The two ends of a range of numbers; `None` means open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The least value that may occur.
    pub from: Option<i64>,
    /// The first value that may no longer occur.
    pub to: Option<i64>,
    /// Whether `to` itself may occur, because it is the configured end of the column.
    pub closed: bool,
}

impl<'a> Labels<'a> {
    /// Creates the labels for a column as described in the policy.
    pub fn new(attribute: &'a Attribute, quasi: &'a Quasi, kind: ColumnKind) -> Result<Self> {
        let domain = match (&quasi.domain, &attribute.coding) {
            (Some([low, high]), Coding::Numbers { scale, samples, .. }) => {
                let parsed = scale.parse(&low.text).zip(scale.parse(&high.text));
                let (low, high) = parsed.ok_or_else(|| {
                    Error::input(
                        format!("column {:?}: the ends of its domain are not of its type", quasi.name),
                        format!("write them as values of the column in columns.quasi.{}.domain", quasi.name),
                    )
                })?;
                let outside = samples.first().is_some_and(|&least| least < low)
                    || samples.last().is_some_and(|&greatest| greatest > high);
                if outside {
                    return Err(Error::input(
                        format!("column {:?} has values outside its domain", quasi.name),
                        format!("widen columns.quasi.{}.domain, or leave it out for open ends", quasi.name),
                    ));
                }
                Some((low, high))
            }
            _ => None,
        };
        Ok(Labels { attribute, kind, domain, grid: quasi.grid.as_ref(), texts: Texts::Values })
    }

    /// Marks the texts of the column as labels: a single one is published as it is.
    pub fn of_labels(self) -> Self {
        Labels { texts: Texts::Labels, ..self }
    }

    /// The ends of the column configured in the policy, as keys.
    pub fn domain(&self) -> Option<(i64, i64)> {
        self.domain
    }

    /// The type of the column's values, if its labels are ranges.
    pub fn kind(&self) -> Option<ColumnKind> {
        match &self.attribute.coding {
            Coding::Numbers { .. } => Some(self.kind.clone()),
            _ => None,
        }
    }

    /// Where a code begins: its cut point, or the value or leaf that it is.
    pub fn start(&self, code: u32) -> String {
        let Some(code) = self.attribute.unshifted(code) else { return "null".to_string() };
        match &self.attribute.coding {
            Coding::Numbers { scale, starts, .. } => match code.checked_sub(1) {
                Some(i) => scale.text(starts[i as usize]),
                None => "*".to_string(),
            },
            Coding::TextRanges { starts } => match code.checked_sub(1) {
                Some(i) => starts[i as usize].to_string(),
                None => "*".to_string(),
            },
            Coding::Set { values, .. } => values[code as usize].to_string(),
            Coding::Tree { hierarchy, .. } => hierarchy.name(hierarchy.leaf_node(code)).to_string(),
        }
    }

    /// The label of a group with the codes `extent` between its cuts, of which those in `present` occur.
    pub fn label(&self, extent: &Range<u32>, present: &Present) -> String {
        let least = self.attribute.unshifted(present.ends.0);
        let Some(greatest) = self.attribute.unshifted(present.ends.1) else { return "null".to_string() };
        let values = match &self.attribute.coding {
            Coding::Numbers { scale, .. } => {
                let bounds = self.bounds(extent, present);
                let text = |key: Option<i64>| key.map(|key| scale.text(key));
                let label = range_label(text(bounds.from).as_deref(), text(bounds.to).as_deref());
                if bounds.closed { format!("{}]", &label[..label.len() - 1]) } else { label }
            }
            Coding::TextRanges { starts } => {
                let range = self.value_range(extent);
                let start = |code: u32| code.checked_sub(1).map(|i| format!("{:?}", starts[i as usize]));
                let end = (range.end < self.attribute.coding.len()).then(|| start(range.end)).flatten();
                range_label(start(range.start).as_deref(), end.as_deref())
            }
            Coding::Set { values, .. } => {
                let codes: Vec<u32> =
                    present.codes.iter().filter_map(|&code| self.attribute.unshifted(code.into())).collect();
                match (self.texts, &codes[..]) {
                    (Texts::Labels, [only]) => values[*only as usize].to_string(),
                    _ => set_label(values, &codes),
                }
            }
            Coding::Tree { hierarchy, .. } => {
                let least = present.codes.iter().find_map(|&code| self.attribute.unshifted(code.into()));
                let node = hierarchy.smallest_cover(least.unwrap_or(greatest), greatest);
                plain_or_braced(hierarchy.name(node), &["{"])
            }
        };
        match (least.is_none(), values.as_str()) {
            (true, "*") | (false, _) => values,
            (true, _) => format!("null|{values}"),
        }
    }

    /// The ends of a range of numbers.
    pub fn bounds(&self, extent: &Range<u32>, present: &Present) -> Bounds {
        let Coding::Numbers { scale, starts, samples } = &self.attribute.coding else {
            return Bounds { from: None, to: None, closed: false };
        };
        let range = self.value_range(extent);
        if range.is_empty() {
            return Bounds { from: None, to: None, closed: false };
        }
        let start = |code: u32| starts[code as usize - 1];
        let mut bounds = Bounds {
            from: if range.start == 0 { self.domain.map(|(low, _)| low) } else { Some(start(range.start)) },
            to: if range.end == samples.len() as u32 {
                self.domain.map(|(_, high)| high)
            } else {
                Some(start(range.end))
            },
            closed: range.end == samples.len() as u32 && self.domain.is_some(),
        };
        if let Some(grid) = self.grid
            && let (Some(least), Some(greatest)) = (
                self.attribute.unshifted(present.ends.0.max(u32::from(self.attribute.nulls))),
                self.attribute.unshifted(present.ends.1),
            )
        {
            // A bin may contain values on both sides of its sample, so only its ends are certain.
            let lowest = if least == 0 { samples[0] } else { start(least) };
            let highest = if greatest + 1 == samples.len() as u32 {
                samples[greatest as usize]
            } else {
                start(greatest + 1) - 1
            };
            if let Some((low, high)) = on_grid(*scale, grid, lowest, highest) {
                bounds.from = Some(bounds.from.map_or(low, |from| from.max(low)));
                if bounds.to.is_none_or(|to| high <= to) {
                    (bounds.to, bounds.closed) = (Some(high), false);
                }
            }
        }
        bounds
    }

    /// The codes of values between the cuts, without null.
    fn value_range(&self, extent: &Range<u32>) -> Range<u32> {
        let null = u32::from(self.attribute.nulls);
        extent.start.saturating_sub(null)..extent.end - null
    }
}

/// The multiples of the grid around two keys: the last one not above the first key, and the first one above the second.
fn on_grid(scale: Scale, grid: &Grid, low: i64, high: i64) -> Option<(i64, i64)> {
    match grid {
        Grid::Width(width) => {
            let multiple = |key: i64, more: i64| {
                let value: Rational = parse_fraction(&scale.text(key))?;
                let index = (value / width).floor() + dashu_int::IBig::from(more);
                scale.parse(&crate::policy::hierarchy::decimal_text(&(Rational::from(index) * width)))
            };
            Some((multiple(low, 0)?, multiple(high, 1)?))
        }
        Grid::Date(level) => {
            let period = |day: i64| level.label(day);
            let (mut first, mut after) = (scale.day(low), scale.day(high));
            let (begins, ends) = (period(first), period(after));
            while period(first - 1) == begins {
                first -= 1;
            }
            while period(after) == ends {
                after += 1;
            }
            Some((scale.of_day(first), scale.of_day(after)))
        }
    }
}

fn set_label(values: &[Box<str>], codes: &[u32]) -> String {
    match codes {
        [only] if &*values[*only as usize] == "*" => "{*}".to_string(),
        [only] => plain_or_braced(&values[*only as usize], &["{", "[", "(,"]),
        codes if codes.len() == values.len() => "*".to_string(),
        codes => {
            let mut texts: Vec<&str> = codes.iter().map(|&code| &*values[code as usize]).collect();
            texts.sort_unstable();
            let escaped: Vec<String> = texts.into_iter().map(escape).collect();
            format!("{{{}}}", escaped.join("|"))
        }
    }
}

/// The name itself, or in braces if it could be read as null or begins like one of `openings`.
fn plain_or_braced(name: &str, openings: &[&str]) -> String {
    let taken = name == "null" || name.starts_with("null|");
    if taken || openings.iter().any(|opening| name.starts_with(opening)) {
        return format!("{{{}}}", escape(name));
    }
    name.to_string()
}

fn escape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '\\' | '|' | '{' | '}') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}
