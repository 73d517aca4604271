//! Into which cells do the codes of a column fall at each level?

use crate::encode::column::{CodeTree, Column, Splitting};
use std::ops::Range;

/// The levels of a column: a cell is a range of codes.
///
/// Invariant: each level merges cells of the previous one, and the last has one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnLevels {
    codes: u32,
    /// First code of each cell except the first, ascending; the finest level first.
    boundaries: Vec<Vec<u32>>,
}

/// Widths of intervals, in units of the column.
const WIDTHS: [f64; 4] = [5.0, 10.0, 20.0, 40.0];

impl ColumnLevels {
    /// Creates the levels of a column with `codes` codes. Boundaries that are missing from the previous level, and
    /// levels that change nothing, are left out; the level of all codes is added.
    pub fn new(codes: u32, levels: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let mut boundaries: Vec<Vec<u32>> = Vec::new();
        for mut level in levels.into_iter().chain([Vec::new()]) {
            if let Some(finer) = boundaries.last() {
                level.retain(|boundary| finer.binary_search(boundary).is_ok());
            }
            if boundaries.last() != Some(&level) {
                boundaries.push(level);
            }
        }
        ColumnLevels { codes, boundaries }
    }

    /// Each value, then all; a hierarchy level by level.
    pub fn of_column(column: &Column) -> Self {
        match &column.splitting {
            Splitting::Ordered => ColumnLevels::new(column.codes, [(1..column.codes).collect()]),
            Splitting::Tree(tree) => ColumnLevels::new(column.codes, depths(tree)),
        }
    }

    /// Each value, intervals of 5, 10, 20 and 40 units, then all. The unit is the largest power of ten, at least 1, for
    /// which 40 units fit into the column. `coordinates` are ascending, one per code; null has none and is never inside
    /// an interval.
    pub fn intervals(coordinates: &[Option<f64>]) -> Self {
        let known = || coordinates.iter().flatten();
        let range = known().next_back().zip(known().next()).map_or(0.0, |(high, low)| high - low);
        let unit = 10f64.powf((range / WIDTHS[3]).log10().floor().max(0.0));
        let changes = |place: &dyn Fn(f64) -> f64| -> Vec<u32> {
            let cells = coordinates.iter().map(|coordinate| coordinate.map(place)).collect::<Vec<_>>();
            (1..).zip(cells.windows(2)).filter(|(_, pair)| pair[0] != pair[1]).map(|(code, _)| code).collect()
        };
        let codes = coordinates.len() as u32;
        let finest = std::iter::once((1..codes).collect());
        ColumnLevels::new(codes, finest.chain(WIDTHS.map(|width| changes(&|x| (x / (width * unit)).floor()))))
    }

    /// Number of levels.
    pub fn len(&self) -> usize {
        self.boundaries.len()
    }

    /// Never true: a column has at least the level of all codes.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The cell of a code.
    pub fn cell(&self, level: usize, code: u16) -> u16 {
        self.boundaries[level].partition_point(|&boundary| boundary <= u32::from(code)) as u16
    }

    /// The codes of a cell.
    pub fn range(&self, level: usize, cell: u16) -> Range<u32> {
        let (boundaries, cell) = (&self.boundaries[level], usize::from(cell));
        let start = cell.checked_sub(1).map_or(0, |before| boundaries[before]);
        start..boundaries.get(cell).copied().unwrap_or(self.codes)
    }
}

/// The boundaries between the nodes of each depth, the deepest first.
fn depths(tree: &CodeTree) -> Vec<Vec<u32>> {
    let mut levels = Vec::new();
    let mut nodes = vec![CodeTree::ROOT];
    loop {
        levels.push(nodes.iter().skip(1).map(|&node| tree.codes(node).start).collect());
        // A leaf that is less deep than others stays as it is.
        let below: Vec<usize> = nodes
            .iter()
            .flat_map(|&node| match tree.children(node) {
                [] => vec![node],
                children => children.to_vec(),
            })
            .collect();
        if below == nodes {
            levels.reverse();
            return levels;
        }
        nodes = below;
    }
}
