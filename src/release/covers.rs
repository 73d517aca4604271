//! Which codes of the original does a published label cover?
//!
//! A label is a text, or two bounds; [`LabelReader`] reads its meaning, which is then looked up among the codes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use arrow_array::{Array, ArrayRef};

use super::reader::{Cell, Covered, Label, LabelReader, Upper};
use crate::encode::attribute::{Attribute, Coding, Leaves};
use crate::encode::cells::{CellKeys, CellTexts, keys};
use crate::encode::scale::Scale;
use crate::error::{Error, Result, Setting};
use crate::policy::Quasi;
use crate::table::ColumnKind;
use crate::table::read::Table;

/// The codes of a column that a label covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cover {
    /// Neighbouring codes.
    Range(Range<u32>),
    /// These codes, ascending.
    Listed(Vec<u32>),
}

impl Cover {
    /// How many codes are covered.
    pub fn len(&self) -> u64 {
        match self {
            Cover::Range(range) => range.len() as u64,
            Cover::Listed(codes) => codes.len() as u64,
        }
    }

    /// Whether no code is covered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of the covered codes are in a range.
    pub fn within(&self, range: &Range<u32>) -> u64 {
        match self {
            Cover::Range(own) => u64::from(own.end.min(range.end).saturating_sub(own.start.max(range.start))),
            Cover::Listed(codes) => {
                let below = |end: u32| codes.partition_point(|&code| code < end) as u64;
                below(range.end) - below(range.start)
            }
        }
    }

    /// The least and the greatest covered code.
    pub fn ends(&self) -> Option<(u32, u32)> {
        match self {
            Cover::Range(range) => (!range.is_empty()).then(|| (range.start, range.end - 1)),
            Cover::Listed(codes) => codes.first().copied().zip(codes.last().copied()),
        }
    }

    /// The covered codes as ranges of neighbours.
    pub fn runs(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        let (whole, listed) = match self {
            Cover::Range(range) => (Some(range.clone()), &[][..]),
            Cover::Listed(codes) => (None, &codes[..]),
        };
        whole.into_iter().chain(listed.iter().map(|&code| code..code + 1))
    }
}

/// Maps the labels of a generalized release to the codes of its original.
pub struct PublishedLabels<'a> {
    quasi: Vec<&'a Quasi>,
    attributes: &'a [Attribute],
    readers: Vec<(LabelReader<'a>, Form)>,
}

/// How a column is published.
enum Form {
    Label,
    Bounds(Scale),
}

/// The number of labels per column that are cached.
const MOST_LABELS: usize = 1 << 14;

/// The covers found so far, by column and label.
pub type KnownCovers = Vec<HashMap<String, LabelCover>>;

/// The codes that a label covers in one column, and how certain this is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LabelCover {
    /// The codes that people of the group may have.
    pub cover: Cover,
    /// Those of them that people in another group may have instead.
    pub doubtful: Vec<Range<u32>>,
}

impl LabelCover {
    /// Whether people with this code may be in the group.
    pub fn covers(&self, code: u32) -> bool {
        self.cover.within(&(code..code + 1)) == 1
    }

    /// Whether people with this code can be in no other group that agrees in the other columns.
    pub fn surely_covers(&self, code: u32) -> bool {
        self.covers(code) && !self.doubtful.iter().any(|codes| codes.contains(&code))
    }
}

impl<'a> PublishedLabels<'a> {
    /// Creates it for the quasi-identifiers of an original, with the kinds and codes of their columns.
    pub fn new(
        quasi: Vec<&'a Quasi>,
        kinds: &[ColumnKind],
        attributes: &'a [Attribute],
        table: &Table,
    ) -> Self {
        let published = |name: &str| table.schema().fields().iter().any(|field| field.name() == name);
        let reader = |(quasi, kind): (&&'a Quasi, &ColumnKind)| {
            let form = match Scale::of(kind) {
                Some(scale) if !published(&quasi.name) => Form::Bounds(scale),
                _ => Form::Label,
            };
            (LabelReader::new(quasi, kind), form)
        };
        let readers = quasi.iter().zip(kinds).map(reader).collect();
        PublishedLabels { quasi, attributes, readers }
    }

    /// The columns of the release that hold labels.
    pub fn columns(&self) -> Vec<String> {
        let of_column = |(quasi, (_, form)): (&&Quasi, &(LabelReader<'_>, Form))| match form {
            Form::Label => vec![quasi.name.clone()],
            Form::Bounds(_) => ["from", "to"].map(|end| format!("{}_{end}", quasi.name)).to_vec(),
        };
        self.quasi.iter().zip(&self.readers).flat_map(of_column).collect()
    }

    /// An empty cache.
    pub fn known(&self) -> KnownCovers {
        self.readers.iter().map(|_| HashMap::new()).collect()
    }

    /// The label columns of a batch, ready to be read.
    pub fn open<'b>(&self, columns: &'b [ArrayRef]) -> Result<Vec<OpenedLabels<'b>>> {
        let mut columns = columns.iter();
        let mut next = || columns.next().ok_or_else(unfit);
        let open = |(quasi, (_, form)): (&&Quasi, &(LabelReader<'_>, Form))| {
            Ok(match form {
                Form::Label => OpenedLabels::Label(WrittenLabel::new(next()?, &quasi.name)?),
                Form::Bounds(scale) => OpenedLabels::Bounds(
                    *scale,
                    [WrittenLabel::new(next()?, &quasi.name)?, WrittenLabel::new(next()?, &quasi.name)?],
                ),
            })
        };
        self.quasi.iter().zip(&self.readers).map(open).collect()
    }

    /// The codes that the labels of a row cover.
    pub fn covers(
        &self,
        labels: &[OpenedLabels<'_>],
        row: usize,
        known: &mut KnownCovers,
    ) -> Result<Vec<LabelCover>> {
        let mut covers = Vec::with_capacity(labels.len());
        for (i, label) in labels.iter().enumerate() {
            let (reader, _) = &self.readers[i];
            let attribute = &self.attributes[i];
            covers.push(match label {
                OpenedLabels::Bounds(scale, ends) => {
                    let [from, to] = [0, 1].map(|end| ends[end].key(row, *scale));
                    bounded(attribute, reader, from?, to?)
                }
                OpenedLabels::Label(written) => {
                    let text = written.text(row);
                    match known[i].get(&*text) {
                        Some(cover) => cover.clone(),
                        None => {
                            let cover = covered_codes(attribute, reader, &reader.read(&text)?);
                            // A star covers all values, and null only if somebody has no value.
                            let doubtful = if attribute.nulls && text == "*" {
                                std::iter::once(0..1).collect()
                            } else {
                                Vec::new()
                            };
                            let cover = LabelCover { cover, doubtful };
                            if known[i].len() == MOST_LABELS {
                                known[i].clear();
                            }
                            known[i].insert(text.into_owned(), cover.clone());
                            cover
                        }
                    }
                }
            });
        }
        Ok(covers)
    }
}

/// The codes that two bounds cover. They do not show whether null occurs, nor whether the upper end of the domain does;
/// two open ends may also mean that nobody has a value.
fn bounded(
    attribute: &Attribute,
    reader: &LabelReader<'_>,
    from: Option<i64>,
    to: Option<i64>,
) -> LabelCover {
    let mut label = reader.read_bounds(from, to);
    let null = u32::from(attribute.nulls);
    let least = match &attribute.coding {
        Coding::Numbers(ordered) => ordered.cells().first().map(|cell| cell.first),
        _ => None,
    };
    // Null comes before all values, so only the lowest group can hold it.
    label.null = attribute.nulls && from.is_none_or(|from| least.is_none_or(|least| from <= least));
    let cover = covered_codes(attribute, reader, &label);
    let mut doubtful = Vec::new();
    match (from, to, &label.values) {
        (None, None, _) if attribute.nulls => doubtful.push(null..attribute.codes()),
        (from, Some(end), Covered::Keys { to: Some(Upper::Closed(_)), .. }) => {
            doubtful.extend(label.null.then_some(0..1));
            if from != Some(end)
                && let Some((_, last)) = cover.ends()
            {
                doubtful.push(last..last + 1);
            }
        }
        _ => doubtful.extend(label.null.then_some(0..1)),
    }
    LabelCover { cover, doubtful }
}

/// The error for tables that do not belong together.
pub fn unfit() -> Error {
    Error::missing(
        "the release and the original do not fit together",
        "give the table that the release was made from",
        Setting::Original,
    )
}

/// The labels of one column in a batch.
pub enum OpenedLabels<'a> {
    /// One text.
    Label(WrittenLabel<'a>),
    /// Two ends.
    Bounds(Scale, [WrittenLabel<'a>; 2]),
}

/// A published column: texts, or values that a CSV file made look like numbers.
pub enum WrittenLabel<'a> {
    /// Texts.
    Texts(CellTexts<'a>),
    /// Numbers, dates or times.
    Keys(Scale, CellKeys<'a>),
}

impl<'a> WrittenLabel<'a> {
    /// Wraps a canonical column.
    pub fn new(array: &'a ArrayRef, name: &str) -> Result<Self> {
        let kind = ColumnKind::of(array.data_type()).ok_or_else(unfit)?;
        Ok(match Scale::of(&kind) {
            None => WrittenLabel::Texts(CellTexts::new(array)),
            Some(scale) => WrittenLabel::Keys(scale, keys(array, scale, name)?),
        })
    }

    /// The label of a row.
    pub fn text(&self, row: usize) -> Cow<'_, str> {
        match self {
            WrittenLabel::Texts(texts) => {
                texts.entry(row).map_or(Cow::Borrowed("null"), |entry| texts.dictionary.value(entry).into())
            }
            WrittenLabel::Keys(scale, keys) => {
                keys.get(row).map_or(Cow::Borrowed("null"), |key| scale.text(key).into())
            }
        }
    }

    /// The key of an end, in the scale of the original; `None` if it is open.
    pub fn key(&self, row: usize, wanted: Scale) -> Result<Option<i64>> {
        match self {
            WrittenLabel::Keys(scale, keys) if *scale == wanted => Ok(keys.get(row)),
            WrittenLabel::Keys(scale, keys) => match keys.get(row) {
                None => Ok(None),
                Some(key) => wanted.parse(&scale.text(key)).map(Some).ok_or_else(unfit),
            },
            // A CSV column in which every end is open.
            WrittenLabel::Texts(texts) => match texts.entry(row) {
                None => Ok(None),
                Some(entry) => wanted.parse(texts.dictionary.value(entry)).map(Some).ok_or_else(unfit),
            },
        }
    }
}

/// The codes of the original that a label covers.
pub fn covered_codes(attribute: &Attribute, reader: &LabelReader<'_>, label: &Label) -> Cover {
    let null = label.null && attribute.nulls;
    let shift = |codes: Range<u32>| attribute.shifted(codes.start)..attribute.shifted(codes.end);
    let values = match (&label.values, &attribute.coding) {
        (Covered::Nothing, _) => 0..0,
        (Covered::Everything, coding) => shift(0..coding.len()),
        (Covered::Keys { from, to }, Coding::Numbers(ordered)) => {
            let cells = ordered.cells();
            let first = from.map_or(0, |from| cells.partition_point(|cell| cell.last < from));
            let last = match *to {
                None => cells.len(),
                Some(Upper::Open(end)) => cells.partition_point(|cell| cell.first < end),
                Some(Upper::Closed(last)) => cells.partition_point(|cell| cell.first <= last),
            };
            shift(first as u32..last.max(first) as u32)
        }
        (Covered::Texts { from, to }, coding @ Coding::TextRanges { starts }) => {
            let first = from.as_deref().and_then(|from| coding.text_code(from)).unwrap_or(0);
            let last = to
                .as_deref()
                .map_or(coding.len(), |to| starts.partition_point(|start| **start < *to) as u32 + 1);
            shift(first..last)
        }
        (Covered::Node(node), Coding::Tree { hierarchy, .. }) => shift(hierarchy.range(*node)),
        (Covered::Set(values), coding @ (Coding::Set { .. } | Coding::TextRanges { .. })) => {
            let mut codes: Vec<u32> = values
                .iter()
                .filter_map(|value| coding.text_code(value))
                .map(|code| attribute.shifted(code))
                .collect();
            codes.extend(null.then_some(0));
            codes.sort_unstable();
            codes.dedup();
            return Cover::Listed(codes);
        }
        // Nodes that were built from the values: their leaves are neighbours.
        (_, Coding::Tree { hierarchy, leaves }) => {
            let mut covered = 0..0;
            let mut add = |leaf: u32| {
                covered = if covered.is_empty() {
                    leaf..leaf + 1
                } else {
                    covered.start.min(leaf)..covered.end.max(leaf + 1)
                };
            };
            match leaves {
                Leaves::Day(scale, days) => {
                    let own = |day: i64| reader.covers(label, Cell::Key(scale.of_day(day)));
                    days.iter().filter(|(day, _)| own(*day)).for_each(|(_, leaf)| add(*leaf));
                }
                Leaves::Key(_, keys) => {
                    let own = keys.iter().filter(|(key, _)| reader.covers(label, Cell::Key(*key)));
                    own.for_each(|(_, leaf)| add(*leaf));
                }
                Leaves::Text => (0..hierarchy.leaf_count())
                    .filter(|&leaf| {
                        reader.covers(label, Cell::Text(hierarchy.name(hierarchy.leaf_node(leaf))))
                    })
                    .for_each(add),
            }
            if covered.is_empty() { covered } else { shift(covered) }
        }
        _ => 0..0,
    };
    match (null, values.is_empty(), values.start) {
        (false, ..) => Cover::Range(values),
        (true, true, _) => Cover::Range(0..1),
        (true, false, 1) => Cover::Range(0..values.end),
        (true, false, _) => Cover::Listed([0].into_iter().chain(values).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::column_values::Collector;
    use crate::group::groups::Present;
    use crate::model::Policy;
    use crate::policy::Quasi;
    use crate::release::label::Labels;
    use arrow_array::{Int64Array, StringArray};
    use std::sync::Arc;

    fn quasi(table: &str) -> Quasi {
        let text = format!(
            "[columns]\nsensitive = \"s\"\n[columns.quasi]\nq = {{ {table} }}\n[privacy]\nk_anonymity = 2\n"
        );
        Policy::parse(&text, "policy.toml").unwrap().columns.quasi[0].clone()
    }

    /// For the label of every possible group, checks which codes it covers, and then each value.
    fn assert_covers(quasi: &Quasi, kind: &ColumnKind, array: ArrayRef, cells: &[Cell<'_>]) {
        let mut collector = Collector::of_quasi(quasi, kind).unwrap();
        collector.observe(&kind.canonical(&array).unwrap(), None).unwrap();
        let attribute = Attribute::of_quasi(quasi, collector.finish()).unwrap();
        let (labels, reader) = (Labels::new(&attribute, kind.clone()), LabelReader::new(quasi, kind));
        for low in 0..attribute.codes() {
            for high in low..attribute.codes() {
                let codes = (low..=high).map(|code| code as u16).collect();
                let text =
                    labels.label(&Present { ends: (low, high), least_above: low.max(1).min(high), codes });
                let label = reader.read(&text).unwrap();
                let cover = covered_codes(&attribute, &reader, &label);
                for &cell in cells {
                    let code = match cell {
                        Cell::Null => 0,
                        Cell::Key(key) => attribute.shifted(attribute.coding.number_code(key).unwrap()),
                        Cell::Text(text) => attribute.shifted(attribute.coding.text_code(text).unwrap()),
                    };
                    let covered = cover.within(&(code..code + 1)) == 1;
                    assert_eq!(covered, reader.covers(&label, cell), "{text} {cell:?}");
                }
                assert!(cover.len() >= u64::from(high - low + 1));
            }
        }
    }

    #[test]
    fn the_codes_of_a_label_are_those_of_the_values_it_covers() {
        let numbers = [None, Some(3), Some(7), Some(18), Some(19), Some(40), Some(41), Some(90)];
        let cells = numbers.map(|key| key.map_or(Cell::Null, Cell::Key));
        for shape in ["", "domain = [0, 90]", "levels = [10, 50]", "ends = [7, 40]", "prefix = [1]"] {
            let array = Arc::new(Int64Array::from_iter(numbers)) as ArrayRef;
            assert_covers(&quasi(shape), &ColumnKind::Integer, array, &cells);
        }
        let texts = ["a", "b", "ba", "|", "c"];
        let cells = texts.map(Cell::Text);
        for shape in [
            "",
            "order = [\"c\", \"b\", \"ba\", \"|\", \"a\"]",
            "hierarchy = { x = [\"a\", \"|\"], y = [\"b\", \"ba\", \"c\"] }",
            "prefix = [1]",
        ] {
            let array = Arc::new(StringArray::from_iter_values(texts)) as ArrayRef;
            assert_covers(&quasi(shape), &ColumnKind::Text, array, &cells);
        }
    }
}
