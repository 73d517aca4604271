//! The codes of the values of a quasi-identifier, and where the column may be cut.
//!
//! Codes are dense and follow the order of the values. Code 0 is null if the column has nulls, so null is a value of
//! its own below all others, and every label that covers it names it. Up to 65,535 values (cells of the grid, for
//! numbers and times) each have their own code; beyond that, a code is a bin between two values or cells drawn from a
//! sample, and cuts fall only between bins.

use super::column_values::Frequencies;
use super::distinct::DistinctValues;
use super::grid::{ColumnGrid, GridOrigin, OccupiedCells};
use super::scale::Scale;
use crate::encode::column::{CodeTree, Column, Splitting, Width};
use crate::policy::hierarchy::{Hierarchy, Node};
use std::ops::Range;

/// A text column with at most this many values is published as sets of values, a longer one as ranges.
pub const MOST_IN_A_SET: usize = 256;

/// A quasi-identifier with its codes.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// The column's name.
    pub name: String,
    /// Whether code 0 is null.
    pub nulls: bool,
    /// The codes of all other values.
    pub coding: Coding,
}

/// Where the ends of a column's labels come from, and so what they show of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelEnds {
    /// A hierarchy, levels, ends, prefixes, periods or an order of the policy, or the names of categories.
    Named,
    /// Cells of a grid.
    Grid(GridOrigin),
    /// The values themselves: ranges of texts.
    Values,
}

/// How values become codes.
#[derive(Debug, Clone)]
pub enum Coding {
    /// Numbers, dates and times: a code is a cell of the column's grid, or a bin of cells.
    Numbers(OccupiedCells),
    /// Texts in a declared order, or by frequency: code i is `values[i]`.
    Set {
        /// One per code.
        values: Vec<Box<str>>,
        /// The code for values that are not listed.
        other: Option<u32>,
    },
    /// A large number of texts: code i begins at `starts[i - 1]`.
    TextRanges {
        /// Ascending; one fewer than codes.
        starts: Vec<Box<str>>,
    },
    /// A hierarchy: codes are its leaves.
    Tree {
        /// The hierarchy.
        hierarchy: Hierarchy,
        /// How values find their leaf.
        leaves: Leaves,
    },
}

/// How a value finds its leaf.
#[derive(Debug, Clone)]
pub enum Leaves {
    /// By its text.
    Text,
    /// By its key: ascending keys with their leaf codes.
    Key(Scale, Vec<(i64, u32)>),
    /// By its day: ascending days with their leaf codes.
    Day(Scale, Vec<(i64, u32)>),
}

impl Coding {
    /// Creates the coding for the occupied cells of a grid, or a sample of them, given by their first keys.
    pub fn numbers(grid: ColumnGrid, distinct: DistinctValues<i64>) -> Self {
        let exact = distinct.is_exact();
        Coding::Numbers(OccupiedCells::new(grid, &distinct.into_sorted(), exact))
    }

    /// Creates the coding for the distinct texts (or a sample of them) of a column without an order or a hierarchy.
    ///
    /// If there are few texts, they are ordered by the number of people who have them, most frequent first: a cut then
    /// separates the frequent values, which can stand alone, from the rare ones, which must be grouped.
    pub fn texts(distinct: DistinctValues<Box<str>>, frequencies: &Frequencies) -> Self {
        let exact = distinct.is_exact();
        let mut values = distinct.into_sorted();
        if exact && values.len() <= MOST_IN_A_SET {
            values.sort_by_key(|value| std::cmp::Reverse(frequencies.get(value).copied()));
            return Coding::Set { values, other: None };
        }
        let starts = values.windows(2).map(|pair| shortest_between(&pair[0], &pair[1]).into()).collect();
        Coding::TextRanges { starts }
    }

    /// Number of codes.
    pub fn len(&self) -> u32 {
        match self {
            Coding::Numbers(ordered) => ordered.cells().len() as u32,
            Coding::Set { values, .. } => values.len() as u32,
            Coding::TextRanges { starts } => starts.len() as u32 + 1,
            Coding::Tree { hierarchy, .. } => hierarchy.leaf_count(),
        }
    }

    /// The code of a number.
    pub fn number_code(&self, key: i64) -> Option<u32> {
        match self {
            Coding::Numbers(ordered) => ordered.code(key),
            Coding::Tree { leaves: Leaves::Key(_, keys), hierarchy } => {
                leaf_of(key, keys).or_else(|| hierarchy.other())
            }
            Coding::Tree { leaves: Leaves::Day(scale, days), .. } => leaf_of(scale.day(key), days),
            _ => None,
        }
    }

    /// The code of a text.
    pub fn text_code(&self, text: &str) -> Option<u32> {
        match self {
            Coding::Set { values, other } => {
                values.iter().position(|value| **value == *text).map(|code| code as u32).or(*other)
            }
            Coding::TextRanges { starts } => Some(starts.partition_point(|start| **start <= *text) as u32),
            Coding::Tree { hierarchy, leaves: Leaves::Text } => hierarchy.leaf(text),
            _ => None,
        }
    }
}

fn leaf_of(key: i64, leaves: &[(i64, u32)]) -> Option<u32> {
    leaves.binary_search_by_key(&key, |&(key, _)| key).ok().map(|place| leaves[place].1)
}

/// The shortest text above `below` and not above `from`.
fn shortest_between<'a>(below: &str, from: &'a str) -> &'a str {
    let ends = from.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.map(|end| &from[..end]).find(|prefix| *prefix > below).unwrap_or(from)
}

impl Attribute {
    /// Where the ends of its labels come from.
    pub fn label_ends(&self) -> LabelEnds {
        match &self.coding {
            Coding::Numbers(ordered) => LabelEnds::Grid(ordered.grid().origin()),
            Coding::TextRanges { .. } => LabelEnds::Values,
            Coding::Set { .. } | Coding::Tree { .. } => LabelEnds::Named,
        }
    }

    /// Number of codes, null included.
    pub fn codes(&self) -> u32 {
        self.coding.len() + u32::from(self.nulls)
    }

    /// The bytes that the codes take, here and in the [`Column`] that the planner sees.
    pub fn memory(&self) -> u64 {
        let texts = |texts: &[Box<str>]| texts.iter().map(|text| text.len() + 32).sum::<usize>();
        let own = match &self.coding {
            // The ends of a cell, and its start.
            Coding::Numbers(_) => 40 * self.codes() as usize,
            Coding::Set { values, .. } => texts(values),
            Coding::TextRanges { starts } => texts(starts),
            // A node, its names and its leaf.
            Coding::Tree { hierarchy, .. } => 320 * hierarchy.nodes().count(),
        };
        // A rank, a coordinate and a bin for each code.
        own as u64 + 12 * u64::from(self.codes())
    }

    /// Converts a code of the coding into a code of the attribute.
    pub fn shifted(&self, code: u32) -> u32 {
        code + u32::from(self.nulls)
    }

    /// Converts a code of the attribute into a code of the coding; `None` for null.
    pub fn unshifted(&self, code: u32) -> Option<u32> {
        code.checked_sub(u32::from(self.nulls))
    }

    /// The column as the planner sees it.
    pub fn column(&self) -> Column {
        let codes = self.codes();
        let splitting = match &self.coding {
            Coding::Tree { hierarchy, .. } => Splitting::Tree(self.code_tree(hierarchy)),
            _ => Splitting::Ordered,
        };
        let width = match &self.coding {
            Coding::Numbers(ordered) => Width::Span(self.spread(ordered.places().into_iter())),
            Coding::TextRanges { starts } => {
                Width::Span(self.spread((0..=starts.len()).map(|rank| rank as f64)))
            }
            Coding::Set { .. } | Coding::Tree { .. } => Width::Share,
        };
        Column { codes, splitting, width }
    }

    /// Coordinates scaled to [0, 1]; null is placed at the least value.
    fn spread(&self, coordinates: impl Iterator<Item = f64>) -> Vec<f64> {
        let coordinates: Vec<f64> = coordinates.map(|x| x.clamp(f64::MIN / 4.0, f64::MAX / 4.0)).collect();
        let low = coordinates.first().copied().unwrap_or(0.0);
        let range = coordinates.last().copied().unwrap_or(0.0) - low;
        let scale = if range > 0.0 { range } else { 1.0 };
        let null = self.nulls.then_some(0.0);
        null.into_iter().chain(coordinates.iter().map(|x| (x - low) / scale)).collect()
    }

    /// The hierarchy over codes; null, if it occurs, is the first child of the root.
    fn code_tree(&self, hierarchy: &Hierarchy) -> CodeTree {
        let mut tree = CodeTree::new(self.codes());
        if self.nulls {
            tree.add(CodeTree::ROOT, 0..1);
        }
        let shift = |range: Range<u32>| self.shifted(range.start)..self.shifted(range.end);
        let mut open: Vec<(Node, usize)> = vec![(hierarchy.root(), CodeTree::ROOT)];
        while let Some((node, place)) = open.pop() {
            for &child in hierarchy.children(node) {
                let child_place = tree.add(place, shift(hierarchy.range(child)));
                open.push((child, child_place));
            }
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Quasi;

    fn numbers(values: impl IntoIterator<Item = i64>) -> Coding {
        let mut distinct = DistinctValues::default();
        values.into_iter().for_each(|value| distinct.insert(value));
        Coding::numbers(ColumnGrid::of(&Quasi::plain("q"), Scale::Integer).unwrap(), distinct)
    }

    #[test]
    fn each_of_few_numbers_has_its_code_and_others_have_none() {
        let coding = numbers([17, 23, 41, 90]);
        for (code, key) in [17, 23, 41, 90].into_iter().enumerate() {
            assert_eq!(coding.number_code(key), Some(code as u32));
        }
        assert_eq!([16, 18, 91].map(|key| coding.number_code(key)), [None; 3]);
    }

    #[test]
    fn many_numbers_fall_into_bins_without_overflow() {
        let coding = numbers((0..300_000).map(|i| i * 3));
        assert!(coding.len() <= 65_536);
        let mut last = 0;
        for key in (0..900_000).step_by(997) {
            let code = coding.number_code(key).unwrap();
            assert!(code >= last && code < coding.len());
            last = code;
        }
    }

    #[test]
    fn texts_are_cut_at_short_prefixes() {
        assert_eq!(shortest_between("Martin", "Miller"), "Mi");
        assert_eq!(shortest_between("Mart", "Martin"), "Marti");
        assert_eq!(shortest_between("", "a"), "a");
        let mut distinct = DistinctValues::default();
        (0..1000).for_each(|i| distinct.insert_text(&format!("name{i:04}")));
        let coding = Coding::texts(distinct, &Frequencies::default());
        assert_eq!(coding.text_code("name0000"), Some(0));
        assert_eq!(coding.text_code("name0999"), Some(999));
    }

    #[test]
    fn null_is_a_code_below_all_values() {
        let attribute = Attribute { name: "age".into(), nulls: true, coding: numbers([5, 10, 20]) };
        assert_eq!(attribute.codes(), 4);
        let column = attribute.column();
        assert_eq!(column.width_of((1, 3), 3), 1.0);
        assert_eq!(attribute.unshifted(0), None);
        assert_eq!(attribute.unshifted(3), Some(2));
    }
}
