//! A finished group, in the form shared by all ways to form groups.

use super::split::part_rows::PartRows;
use super::tree::{NodeId, NumberedTree};
use crate::encode::column::{Column, Width};
use crate::encode::group_counts::Part;
use crate::error::Result;
use crate::model::obstacle::Obstacle;
use std::ops::Range;

/// Where finished groups go.
pub trait GroupSink {
    /// The next group, with its number.
    fn group(&mut self, number: u64, group: Group) -> Result<()>;

    /// People are left out: all those with codes in these ranges, one per column.
    fn left_out(&mut self, extent: &[Range<u32>], people: u64) -> Result<()>;

    /// All groups of a node that was finished as one were passed. What is added up over groups is added up node by
    /// node, and then part by part, so that rounding does not depend on where nodes are finished.
    fn end_node(&mut self);

    /// All groups of a part were passed; `rows` are its rows if they were kept.
    fn end_part(&mut self, rows: Option<PlacedRows<'_>>) -> Result<()>;

    /// The tree of a part; returns the line that it was written to. A tree comes after those that it refers to.
    fn tree(&mut self, tree: &NumberedTree<'_>) -> Result<u64>;
}

/// Rows with the tree that says which group each of them is in.
#[derive(Clone, Copy)]
pub struct PlacedRows<'a> {
    /// The rows.
    pub rows: &'a PartRows<'a>,
    /// The tree.
    pub tree: &'a NumberedTree<'a>,
}

/// A finished group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its node in the tree of cuts.
    pub node: NodeId,
    /// The codes that occur, per column.
    pub present: Vec<Present>,
    /// The counts that it publishes.
    pub part: Part,
    /// What refuses its best cut, if it was made by cuts.
    pub obstacle: Option<Obstacle>,
}

impl Group {
    /// The bytes that it takes, with its allocations.
    pub fn bytes(&self) -> u64 {
        let codes: usize = self.present.iter().map(|own| size_of_val(&*own.codes)).sum();
        let lists = size_of_val(&*self.present) + codes + size_of_val(self.part.counts());
        (size_of::<Group>() + lists + 16 * (2 + self.present.len())) as u64
    }
}

/// The codes of one column that occur in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// Least and greatest.
    pub ends: (u32, u32),
    /// The least one above 0, which may be null; 0 if there is none.
    pub least_above: u32,
    /// All of them, for columns whose width depends on their number; otherwise empty.
    pub codes: Vec<u16>,
}

impl Present {
    /// Creates it from the ascending codes that occur; a group has at least one row.
    pub fn new(column: &Column, codes: Vec<u16>) -> Self {
        let end = |code: Option<&u16>| code.map_or(0, |&code| u32::from(code));
        let ends = (end(codes.first()), end(codes.last()));
        let least_above = end(codes.iter().find(|&&code| code > 0));
        Present { ends, least_above, codes: if column.width == Width::Share { codes } else { vec![] } }
    }

    /// Creates it from the codes of the group's rows, in any order.
    pub fn of_rows(column: &Column, codes: impl Iterator<Item = u16> + Clone) -> Self {
        let ends = codes.clone().fold((u16::MAX, 0), |(low, high), code| (low.min(code), high.max(code)));
        // 0 becomes the largest number, and if there is nothing else, 0 again.
        let above =
            codes.clone().fold(u16::MAX, |least, code| least.min(code.wrapping_sub(1))).wrapping_add(1);
        let codes = match column.width {
            Width::Span(_) => vec![],
            Width::Share => {
                let mut seen = vec![false; usize::from(ends.1.saturating_sub(ends.0)) + 1];
                codes.for_each(|code| seen[usize::from(code - ends.0)] = true);
                (ends.0..=ends.1).filter(|code| seen[usize::from(code - ends.0)]).collect()
            }
        };
        Present { ends: (u32::from(ends.0), u32::from(ends.1)), least_above: u32::from(above), codes }
    }
}
