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
//! A number, date or time alone is the only value of its cell.
//! Ends that are texts are quoted, with backslashes as in Rust. Between braces, each of `\`, `|`, `{`, `}` that is part
//! of a value is preceded by a backslash; a single value or name is put in braces only where it could be mistaken for
//! something else. `null` is named only where it occurs. A label is the smallest range of cells, set or node that holds
//! its group: it shows which cells are occupied and nothing of where people are within them.
//! [`LabelReader`](super::reader::LabelReader) parses labels.

use crate::encode::attribute::{Attribute, Coding, Leaves};
use crate::encode::grid::GridCell;
use crate::encode::scale::Scale;
use crate::group::groups::Present;
use crate::policy::hierarchy::{Node, range_label};
use crate::release::reader::{Covered, Label, Upper};
use crate::table::ColumnKind;

/// How the groups of one column are labelled.
#[derive(Debug, Clone)]
pub struct Labels<'a> {
    attribute: &'a Attribute,
    kind: ColumnKind,
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
    /// The first value that may no longer occur, or the configured end of the column.
    pub to: Option<i64>,
}

impl<'a> Labels<'a> {
    /// Creates the labels for a column with values of this kind.
    pub fn new(attribute: &'a Attribute, kind: ColumnKind) -> Self {
        Labels { attribute, kind, texts: Texts::Values }
    }

    /// Marks the texts of the column as labels: a single one is published as it is.
    pub fn of_labels(self) -> Self {
        Labels { texts: Texts::Labels, ..self }
    }

    /// The type of the column's values, if its labels are ranges.
    pub fn kind(&self) -> Option<ColumnKind> {
        match &self.attribute.coding {
            Coding::Numbers(ordered) if ordered.scale() != Scale::Boolean => Some(self.kind.clone()),
            _ => None,
        }
    }

    /// Where a code begins: its cell, or the value or leaf that it is.
    pub fn start(&self, code: u32) -> String {
        let Some(code) = self.attribute.unshifted(code) else { return "null".to_string() };
        match &self.attribute.coding {
            Coding::Numbers(ordered) => match ordered.cells()[code as usize] {
                cell if ordered.is_open(cell).0 => "*".to_string(),
                cell => ordered.scale().text(cell.first),
            },
            Coding::TextRanges { starts } => match code.checked_sub(1) {
                Some(i) => starts[i as usize].to_string(),
                None => "*".to_string(),
            },
            Coding::Set { values, .. } => values[code as usize].to_string(),
            Coding::Tree { hierarchy, .. } => hierarchy.name(hierarchy.leaf_node(code)).to_string(),
        }
    }

    /// The first code that does not begin before a place that [`Labels::start`] wrote, perhaps for another table; `None`
    /// if this column has no such order.
    pub fn code_from(&self, start: &str) -> Option<u32> {
        let before = |place: usize| Some(self.attribute.shifted(place as u32));
        match &self.attribute.coding {
            Coding::Numbers(_) if start == "*" => before(0),
            Coding::Numbers(ordered) => {
                let key = ordered.scale().parse(start)?;
                before(ordered.cells().partition_point(|cell| cell.first < key))
            }
            Coding::TextRanges { .. } if start == "*" => before(0),
            Coding::TextRanges { starts } => before(1 + starts.partition_point(|own| **own < *start)),
            Coding::Set { values, .. } => before(values.iter().position(|value| **value == *start)?),
            Coding::Tree { hierarchy, leaves } => match (hierarchy.node(start), leaves) {
                (Some(node), _) => before(hierarchy.range(node).start as usize),
                (None, Leaves::Key(scale, keys)) => {
                    let key = scale.parse(start)?;
                    let place = keys.partition_point(|(own, _)| *own < key);
                    before(keys.get(place).map_or(hierarchy.leaf_count(), |(_, code)| *code) as usize)
                }
                (None, _) => None,
            },
        }
    }

    /// The label of a group in which these codes occur.
    pub fn label(&self, present: &Present) -> String {
        let Some((least, greatest)) = self.values(present) else { return "null".to_string() };
        let values = match &self.attribute.coding {
            Coding::Numbers(ordered) => {
                let cell = |code: u32| ordered.cells()[code as usize];
                ordered.text(GridCell { first: cell(least).first, last: cell(greatest).last })
            }
            Coding::TextRanges { .. } => {
                let (low, high) = self.texts(least, greatest);
                let quoted = |end: Option<&str>| end.map(|end| format!("{end:?}"));
                range_label(quoted(low).as_deref(), quoted(high).as_deref())
            }
            Coding::Set { values, .. } => {
                let codes: Vec<u32> =
                    present.codes.iter().filter_map(|&code| self.attribute.unshifted(code.into())).collect();
                match (self.texts, &codes[..]) {
                    (Texts::Labels, [only]) => values[*only as usize].to_string(),
                    _ => set_label(values, &codes),
                }
            }
            Coding::Tree { hierarchy, .. } => self.node_text(hierarchy.smallest_cover(least, greatest)),
        };
        match (self.holds_null(present), values.as_str()) {
            (true, "*") | (false, _) => values,
            (true, _) => format!("null|{values}"),
        }
    }

    /// The ends of a range of numbers. Null counts as below all values: with it the lower end is that of the column.
    pub fn bounds(&self, present: &Present) -> Bounds {
        let nothing = Bounds { from: None, to: None };
        let Coding::Numbers(ordered) = &self.attribute.coding else { return nothing };
        let Some((least, greatest)) = self.values(present) else { return nothing };
        let (low, high) = (ordered.cells()[least as usize], ordered.cells()[greatest as usize]);
        let domain = ordered.grid().domain();
        let from = match self.holds_null(present) {
            true => domain.map(|domain| domain.first),
            false => (!ordered.is_open(low).0 || low.first == high.last).then_some(low.first),
        };
        let closed = domain.is_some_and(|domain| domain.last == high.last);
        let to = if closed { Some(high.last) } else { high.last.checked_add(1) };
        Bounds { from, to: to.filter(|_| !ordered.is_open(high).1) }
    }

    fn holds_null(&self, present: &Present) -> bool {
        self.attribute.unshifted(present.ends.0).is_none()
    }

    /// The name of a node of the column's hierarchy.
    pub(super) fn node_text(&self, node: Node) -> String {
        match &self.attribute.coding {
            Coding::Tree { hierarchy, .. } => plain_or_braced(hierarchy.name(node), &["{"]),
            _ => "*".to_string(),
        }
    }

    /// What the label of the codes from `least` to `greatest` of an ordered column means.
    pub(super) fn keys(&self, least: u32, greatest: u32) -> Label {
        let Coding::Numbers(ordered) = &self.attribute.coding else { return Label::everything() };
        let (low, high) = (ordered.cells()[least as usize], ordered.cells()[greatest as usize]);
        let one = low.first == high.last;
        if ordered.scale() == Scale::Boolean && !one {
            return Label::everything();
        }
        let from = (one || !ordered.is_open(low).0).then_some(low.first);
        let to = (one || !ordered.is_open(high).1).then_some(Upper::Closed(high.last));
        // Floats up to an end have no last value to speak of.
        let to = match (to, ordered.grid().domain()) {
            (Some(Upper::Closed(last)), Some(domain)) if domain.last == last => Some(Upper::Closed(last)),
            (Some(Upper::Closed(last)), _) if !one => Some(Upper::Open(last + 1)),
            (to, _) => to,
        };
        match (from, to) {
            (None, None) => Label::everything(),
            (from, to) => Label { null: false, values: Covered::Keys { from, to } },
        }
    }

    /// The ends of the range of texts with the codes from `least` to `greatest`.
    pub(super) fn texts(&self, least: u32, greatest: u32) -> (Option<&str>, Option<&str>) {
        let Coding::TextRanges { starts } = &self.attribute.coding else { return (None, None) };
        let start = |code: u32| code.checked_sub(1).and_then(|before| starts.get(before as usize));
        (start(least).map(|start| &**start), start(greatest + 1).map(|start| &**start))
    }

    /// The least and the greatest code of a value; `None` if there is only null.
    pub(super) fn values(&self, present: &Present) -> Option<(u32, u32)> {
        let least = if self.holds_null(present) { present.least_above } else { present.ends.0 };
        self.attribute.unshifted(least).zip(self.attribute.unshifted(present.ends.1))
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
