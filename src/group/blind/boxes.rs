//! How is a box of quasi-identifiers cut without looking at anybody's values?
//!
//! The widest column is cut at the grid line in its middle; a column with a hierarchy is cut into the children of its
//! node. If a part would have too few people, the next column is tried. Where a column is cut depends on the box alone,
//! and the whole box is the label of a group.

use crate::encode::attribute::{Attribute, Coding};
use crate::encode::column::{CodeTree, Column, Splitting};
use crate::encode::grid::OccupiedCells;
use crate::group::tree::Cut;
use std::ops::Range;

/// One column of a box.
#[derive(Debug, Clone, PartialEq)]
enum Side {
    /// The keys from the first to the last, both included.
    Keys(i64, i64),
    /// Codes of categories.
    Codes(Range<u32>),
    /// A node of the column's hierarchy.
    Node(usize),
}

/// A box: one side per column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QuasiBox {
    sides: Vec<Side>,
    /// The codes of each column.
    pub extent: Vec<Range<u32>>,
}

/// The axes along which boxes are cut.
pub(super) struct Axes<'a> {
    axes: Vec<Axis<'a>>,
}

/// A quasi-identifier.
#[derive(Clone, Copy)]
struct Axis<'a> {
    attribute: &'a Attribute,
    column: &'a Column,
}

impl<'a> Axes<'a> {
    pub(super) fn new(attributes: &'a [Attribute], columns: &'a [Column]) -> Self {
        let axes = attributes.iter().zip(columns).map(|(attribute, column)| Axis { attribute, column });
        Axes { axes: axes.collect() }
    }

    /// The whole space.
    pub(super) fn whole(&self) -> QuasiBox {
        let extent = self.axes.iter().map(|axis| 0..axis.column.codes).collect();
        QuasiBox { sides: self.axes.iter().map(Axis::whole).collect(), extent }
    }

    /// A cut of a box, and its parts: the first one is that of the widest column, and the others follow by width. `None`
    /// if there are not so many.
    pub(super) fn cut(&self, of: &QuasiBox, number: usize) -> Option<(Cut, Vec<QuasiBox>)> {
        let lines = self.axes.iter().zip(&of.sides).zip(&of.extent).enumerate();
        let lines = lines.filter_map(|(column, ((axis, side), extent))| {
            let parts = axis.parts(side, extent)?;
            Some((axis.width(side), column, parts))
        });
        let mut lines: Vec<_> = lines.collect();
        lines.sort_by(|one, other| other.0.total_cmp(&one.0));
        let (_, column, parts) = lines.into_iter().nth(number)?;
        let boundaries = parts.iter().skip(1).map(|(_, extent)| extent.start).collect();
        let boxes = parts.into_iter().map(|(side, extent)| {
            let mut part = of.clone();
            (part.sides[column], part.extent[column]) = (side, extent);
            part
        });
        let boxes = boxes.collect();
        Some((Cut { column, boundaries }, boxes))
    }
}

impl Axis<'_> {
    fn whole(&self) -> Side {
        match (&self.attribute.coding, &self.column.splitting) {
            (_, Splitting::Tree(_)) => Side::Node(CodeTree::ROOT),
            (Coding::Numbers(cells), _) => {
                let occupied = cells.cells().first().zip(cells.cells().last());
                match (cells.grid().domain(), occupied) {
                    (Some(domain), _) => Side::Keys(domain.first, domain.last),
                    (None, Some((first, last))) => Side::Keys(first.first, last.last),
                    (None, None) => Side::Codes(0..self.column.codes),
                }
            }
            _ => Side::Codes(0..self.column.codes),
        }
    }

    /// From 0 to 1.
    fn width(&self, side: &Side) -> f64 {
        let share =
            |codes: Range<u32>| f64::from(codes.end - codes.start) / f64::from(self.column.codes.max(1));
        match (side, &self.column.splitting, &self.attribute.coding) {
            (Side::Node(node), Splitting::Tree(tree), _) => share(tree.codes(*node)),
            (&Side::Keys(first, last), _, Coding::Numbers(cells)) => {
                let length = |first, last| cells.scale().coordinate(last) - cells.scale().coordinate(first);
                match self.whole() {
                    Side::Keys(low, high) if length(low, high) > 0.0 => {
                        (length(first, last) / length(low, high)).clamp(0.0, 1.0)
                    }
                    _ => 0.0,
                }
            }
            (Side::Codes(codes), _, _) => share(codes.clone()),
            _ => 0.0,
        }
    }

    /// The parts of a side with their codes; `None` if no line crosses it.
    fn parts(&self, side: &Side, extent: &Range<u32>) -> Option<Vec<(Side, Range<u32>)>> {
        match (side, &self.column.splitting, &self.attribute.coding) {
            (Side::Node(node), Splitting::Tree(tree), _) => {
                let mut node = *node;
                // A child that covers the whole node is no part of it.
                while let [only] = *tree.children(node) {
                    node = only;
                }
                let children = tree.children(node);
                let part = |&child: &usize| (Side::Node(child), tree.codes(child));
                (children.len() > 1).then(|| children.iter().map(part).collect())
            }
            (&Side::Keys(first, last), _, Coding::Numbers(cells)) => {
                let line = middle_line(cells, first, last)?;
                let below = cells.cells().partition_point(|cell| cell.first < line) as u32;
                // A null lies below all numbers.
                let code = self.attribute.shifted(below).clamp(extent.start, extent.end);
                Some(vec![
                    (Side::Keys(first, line - 1), extent.start..code),
                    (Side::Keys(line, last), code..extent.end),
                ])
            }
            (Side::Codes(codes), _, _) if codes.end - codes.start > 1 => {
                let middle = codes.start + (codes.end - codes.start) / 2;
                let part = |codes: Range<u32>| (Side::Codes(codes.clone()), codes);
                Some(vec![part(codes.start..middle), part(middle..codes.end)])
            }
            _ => None,
        }
    }
}

/// The first key of the cell in the middle, or of the next one; `None` if all keys lie in one cell.
fn middle_line(cells: &OccupiedCells, first: i64, last: i64) -> Option<i64> {
    let scale = cells.scale();
    let (low, high) = (scale.coordinate(first), scale.coordinate(last));
    let middle = low + 0.5 * (high - low);
    // The least key at or above the middle: keys and coordinates ascend together.
    let (mut below, mut at) = (i128::from(first) - 1, i128::from(last));
    while at - below > 1 {
        let between = (at + below).div_euclid(2);
        if scale.coordinate(between as i64) >= middle { at = between } else { below = between }
    }
    let cell = cells.grid().cell(at as i64)?;
    let next = cell.last.checked_add(1)?;
    [cell.first, next].into_iter().find(|&line| line > first && line <= last)
}
