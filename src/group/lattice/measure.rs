//! What does a node cost?
//!
//! Sums are taken over whole numbers or in code order, so that equal tables have bit-identical costs.

use super::cells::LatticeCells;
use super::levels::ColumnLevels;
use crate::encode::column::Column;

/// A measure of information loss; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatticeMeasure {
    /// The sum of the squared group sizes.
    Discernibility,
    /// People per group.
    AverageGroupSize,
    /// The average width of people's cells.
    CertaintyPenalty,
    /// The number of bits of people's values that their cells hide, on average.
    Entropy,
}

impl LatticeMeasure {
    /// All measures with their names.
    pub const NAMES: [(&'static str, LatticeMeasure); 4] = [
        ("discernibility", LatticeMeasure::Discernibility),
        ("group-size", LatticeMeasure::AverageGroupSize),
        ("certainty", LatticeMeasure::CertaintyPenalty),
        ("entropy", LatticeMeasure::Entropy),
    ];

    /// The cost of a node, given its cells and the cells at the finest levels.
    pub fn cost(
        self,
        (node, cells): (&[usize], &LatticeCells),
        finest: &LatticeCells,
        levels: &[ColumnLevels],
        columns: &[Column],
    ) -> f64 {
        let people: u64 = cells.parts().map(|part| part.people).sum();
        let each = |column: &dyn Fn(usize) -> f64| -> f64 {
            (0..columns.len()).map(column).sum::<f64>() / people.max(1) as f64
        };
        match self {
            LatticeMeasure::Discernibility => {
                cells.parts().map(|part| u128::from(part.people).pow(2)).sum::<u128>() as f64
            }
            LatticeMeasure::AverageGroupSize => people as f64 / cells.len().max(1) as f64,
            LatticeMeasure::CertaintyPenalty => each(&|i| {
                let in_cells = (0..).zip(cells.marginal(i));
                let width = |(cell, people): (u16, u64)| {
                    let range = levels[i].range(node[i], cell);
                    people as f64 * columns[i].width_of((range.start, range.end - 1), range.len())
                };
                in_cells.map(width).sum()
            }),
            LatticeMeasure::Entropy => each(&|i| {
                let whole = cells.marginal(i);
                let hidden = |(finest, people): (u16, u64)| {
                    let code = levels[i].range(0, finest).start as u16;
                    let whole = whole[usize::from(levels[i].cell(node[i], code))];
                    if people == 0 { 0.0 } else { people as f64 * (whole as f64 / people as f64).log2() }
                };
                (0..).zip(finest.marginal(i)).map(hidden).sum()
            }),
        }
    }
}
