//! How coarsely is a column counted?
//!
//! A node with a very large number of rows is first cut between bins of neighbouring codes, which takes little memory
//! to count. The bins depend only on the column, so the cuts do not depend on the available memory.

use crate::encode::column::{CodeTree, Column, Splitting, Width};
use crate::group::tree::Cut;
use std::collections::VecDeque;

/// Neighbouring codes that are counted as one.
#[derive(Debug, Clone, PartialEq)]
pub struct Binning {
    /// The column with bins in place of codes.
    pub column: Column,
    /// The bin of each code.
    pub bins: Bins,
    /// The first code of each bin.
    start: Vec<u32>,
}

/// Which bin is a code in?
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bins {
    /// The code without its lowest bits.
    Shift(u32),
    /// By code.
    Table(Vec<u16>),
}

impl Bins {
    /// The bin of a code.
    #[inline]
    pub fn of(&self, code: usize) -> usize {
        match self {
            Bins::Shift(bits) => code >> bits,
            Bins::Table(bins) => usize::from(bins[code]),
        }
    }
}

impl Binning {
    /// Creates at most `most` bins; exactly one per code if that is enough.
    pub fn new(column: &Column, most: u32) -> Self {
        match &column.splitting {
            Splitting::Ordered => {
                let per_bin = column.codes.div_ceil(most.max(1)).next_power_of_two();
                let start: Vec<u32> = (0..column.codes).step_by(per_bin as usize).collect();
                let bins = Bins::Shift(per_bin.trailing_zeros());
                Binning { column: binned(column, &start, &[]), bins, start }
            }
            Splitting::Tree(tree) => {
                let start = frontier(tree, most);
                let mut bins = vec![0; column.codes as usize];
                for (number, &first) in start.iter().enumerate() {
                    bins[first as usize..].fill(number as u16);
                }
                Binning { column: binned(column, &start, &bins), bins: Bins::Table(bins), start }
            }
        }
    }

    /// Converts a cut between bins into a cut between codes.
    pub fn cut_of_codes(&self, cut: Cut) -> Cut {
        let boundaries = cut.boundaries.iter().map(|&bin| self.start[bin as usize]).collect();
        Cut { boundaries, ..cut }
    }
}

/// The starts of the finest nodes whose number does not exceed `most`, level by level.
fn frontier(tree: &CodeTree, most: u32) -> Vec<u32> {
    let mut open = VecDeque::from([CodeTree::ROOT]);
    let mut closed = vec![];
    while let Some(node) = open.pop_front() {
        let children = tree.children(node);
        if children.is_empty() || open.len() + closed.len() + children.len() > most as usize {
            closed.push(tree.codes(node).start);
        } else {
            open.extend(children);
        }
    }
    closed.sort_unstable();
    closed.dedup();
    closed
}

/// `bins` are those of a hierarchy.
fn binned(column: &Column, start: &[u32], bins: &[u16]) -> Column {
    let codes = start.len() as u32;
    let splitting = match &column.splitting {
        Splitting::Ordered => Splitting::Ordered,
        Splitting::Tree(tree) => Splitting::Tree(tree.binned(codes, bins)),
    };
    let width = match &column.width {
        Width::Span(coordinate) => Width::Span(start.iter().map(|&code| coordinate[code as usize]).collect()),
        Width::Share => Width::Share,
    };
    Column { codes, splitting, width }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_codes_have_a_bin_each_and_many_share_bins() {
        let column = Column::evenly_spaced(100);
        assert_eq!(Binning::new(&column, 256).column, column);
        let binning = Binning::new(&column, 30);
        assert_eq!(binning.column.codes, 25);
        assert_eq!(binning.bins.of(99), 24);
        let cut = binning.cut_of_codes(Cut { column: 0, boundaries: [3].into() });
        assert_eq!(*cut.boundaries, [12]);
    }

    #[test]
    fn a_hierarchy_is_counted_at_its_upper_nodes() {
        let mut tree = CodeTree::new(8);
        for half in 0..2 {
            let node = tree.add(CodeTree::ROOT, half * 4..half * 4 + 4);
            (0..4).for_each(|leaf| {
                tree.add(node, half * 4 + leaf..half * 4 + leaf + 1);
            });
        }
        let column = Column { codes: 8, splitting: Splitting::Tree(tree), width: Width::Share };
        let binning = Binning::new(&column, 5);
        assert_eq!(binning.start, [0, 1, 2, 3, 4]);
        let Splitting::Tree(tree) = &binning.column.splitting else { panic!() };
        assert_eq!(tree.codes(tree.smallest_cover((0, 3))), 0..4);
        assert_eq!(Binning::new(&column, 8).start, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
