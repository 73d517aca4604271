//! What does a node cost?
//!
//! Sums run over whole numbers or in the order of the codes, so that equal tables have equal costs, bit by bit.

use super::cells::Cells;
use super::levels::Levels;
use crate::encode::column::Column;

/// A measure of what is lost; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The sum of the squared group sizes.
    Discernibility,
    /// People per group.
    AverageGroupSize,
    /// The average width of people's cells.
    CertaintyPenalty,
    /// The bits that a person's cells hide of their values.
    Entropy,
}

impl Measure {
    /// All measures with their names.
    pub const NAMES: [(&'static str, Measure); 4] = [
        ("discernibility", Measure::Discernibility),
        ("group-size", Measure::AverageGroupSize),
        ("certainty", Measure::CertaintyPenalty),
        ("entropy", Measure::Entropy),
    ];

    /// The cost of a node, given its cells and those of the finest levels.
    pub fn cost(
        self,
        (node, cells): (&[usize], &Cells),
        finest: &Cells,
        levels: &[Levels],
        columns: &[Column],
    ) -> f64 {
        let people: u64 = cells.parts().map(|part| part.people).sum();
        let each = |column: &dyn Fn(usize) -> f64| -> f64 {
            (0..columns.len()).map(column).sum::<f64>() / people.max(1) as f64
        };
        match self {
            Measure::Discernibility => {
                cells.parts().map(|part| u128::from(part.people).pow(2)).sum::<u128>() as f64
            }
            Measure::AverageGroupSize => people as f64 / cells.len().max(1) as f64,
            Measure::CertaintyPenalty => each(&|i| {
                let in_cells = (0..).zip(cells.marginal(i));
                let width = |(cell, people): (u16, u64)| {
                    let range = levels[i].range(node[i], cell);
                    people as f64 * columns[i].width_of((range.start, range.end - 1), range.len())
                };
                in_cells.map(width).sum()
            }),
            Measure::Entropy => each(&|i| {
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
