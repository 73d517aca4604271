//! Which code does a number have?

use super::grid::GridCell;
use crate::resources::budget::{Budget, Reservation};
use std::sync::Arc;

/// A table has at most this many entries.
const TABLE_CODES: u64 = 1 << 21;

/// Keys that span at most this many values are looked up in a table.
const TABLE_KEYS: u64 = 1 << 32;

/// Stands for keys in no cell.
pub(super) const NO_CODE: u16 = u16::MAX;

/// Codes by key: all borders between cells are multiples of a step from the first of them, so all keys of a step have the
/// same code. Keys below the first border, or from the last one on, have the codes of the outermost cells.
///
/// Memory: 2 bytes for each step, at most [`TABLE_CODES`] of them; a table that stays in the cache is several times as fast.
pub(super) struct CellTable {
    /// One step below the first border.
    low: i64,
    /// The last key that is told apart, counted from `low`.
    last: i64,
    step: Divisor,
    codes: Vec<u16>,
    /// All keys that are in a cell or between two of them.
    reach: GridCell,
    _room: Reservation,
}

/// Divides by multiplying with the reciprocal: exact below 2^32 (rounding up adds less than 1 / divisor to a quotient).
#[derive(Debug, Clone, Copy)]
pub(super) struct Divisor {
    reciprocal: u64,
}

impl Divisor {
    /// Of at least 2, or 1.
    pub(super) fn new(divisor: u64) -> Self {
        Divisor { reciprocal: if divisor > 1 { u64::MAX / divisor + 1 } else { 0 } }
    }

    #[inline]
    pub(super) fn quotient(self, number: u64) -> u64 {
        match self.reciprocal {
            0 => number,
            reciprocal => ((u128::from(number) * u128::from(reciprocal)) >> 64) as u64,
        }
    }
}

impl CellTable {
    /// The table for the cells of a column, which are ascending; the first of them has the code `first`. `None` if it
    /// would be too large, or does not fit in the budget.
    pub(super) fn new(cells: &[GridCell], first: u32, budget: &Arc<Budget>) -> Option<Self> {
        let (lowest, highest) = (cells.first()?, cells.last()?);
        let begins = cells[1..].iter().map(|cell| cell.first);
        let ends = cells[..cells.len() - 1].iter().map(|cell| cell.last + 1);
        let (low, step) = match cells.len() {
            1 => (lowest.first, 1),
            _ => {
                let border = lowest.last + 1;
                let step = begins.chain(ends).map(|place| place.abs_diff(border)).fold(0, gcd).max(1);
                (border.checked_sub_unsigned(step)?, step)
            }
        };
        let span = highest.first.abs_diff(low).saturating_add(1);
        if span > TABLE_KEYS || span / step >= TABLE_CODES {
            return None;
        }
        let (last, step) = (span as i64 - 1, Divisor::new(step));
        let entries = step.quotient(last as u64) + 1;
        let mut table = CellTable {
            low,
            last,
            step,
            codes: Vec::new(),
            reach: GridCell { first: lowest.first, last: highest.last },
            _room: budget.try_reserve(2 * entries)?,
        };
        table.codes.resize(entries as usize, NO_CODE);
        for (code, cell) in (first..).zip(cells) {
            let (from, to) = (table.place(cell.first), table.place(cell.last));
            table.codes[from..=to].fill(code as u16);
        }
        Some(table)
    }

    /// The code of the cell that holds a key, or [`NO_CODE`].
    #[inline]
    pub(super) fn code(&self, key: i64) -> u16 {
        match self.reach.holds(key) {
            true => self.codes[self.place(key)],
            false => NO_CODE,
        }
    }

    #[inline]
    fn place(&self, key: i64) -> usize {
        self.step.quotient(key.saturating_sub(self.low).clamp(0, self.last) as u64) as usize
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        /// Ascending cells whose borders are multiples of a step, with gaps and open ends.
        fn cells()(
            start in prop::sample::select(vec![-1_000_007i64, 0, 12]),
            step in prop::sample::select(vec![1i64, 2, 3, 10, 1000, 65_536]),
            widths in prop::collection::vec((0i64..3, 1i64..4), 1..20),
            open in (any::<bool>(), any::<bool>()),
            narrow in (0i64..3, 0i64..3),
        ) -> Vec<GridCell> {
            let mut at = start;
            let mut cells: Vec<GridCell> = widths.into_iter().map(|(gap, width)| {
                let first = at + gap * step;
                at = first + width * step;
                GridCell { first, last: at - 1 }
            }).collect();
            let end = cells.len() - 1;
            cells[0].first = if open.0 { i64::MIN } else { cells[0].first.max(cells[0].last - narrow.0) };
            cells[end].last = if open.1 { i64::MAX } else { cells[end].last.min(cells[end].first + narrow.1) };
            cells
        }
    }

    proptest! {
        #[test]
        fn a_table_gives_the_code_of_the_cell_that_holds_a_key(
            cells in cells(), keys in prop::collection::vec(-1_100_000i64..1_100_000, 1..50), first in 0u32..2,
        ) {
            let budget = Budget::new(1 << 24);
            let table = CellTable::new(&cells, first, &budget).unwrap();
            let borders = cells.iter().flat_map(|cell| [cell.first, cell.last]);
            let near = borders.flat_map(|key| [key.saturating_sub(1), key, key.saturating_add(1)]);
            for key in near.chain(keys).chain([i64::MIN, i64::MAX]) {
                let held = cells.iter().position(|cell| cell.holds(key));
                let expected = held.map_or(NO_CODE, |place| place as u16 + first as u16);
                prop_assert_eq!(table.code(key), expected, "{}", key);
            }
        }

        #[test]
        fn products_with_reciprocals_are_quotients(divisor in 1u64..1 << 32, number in 0u64..1 << 32) {
            for number in [number, number / divisor * divisor, (number / divisor * divisor).saturating_sub(1)] {
                prop_assert_eq!(Divisor::new(divisor).quotient(number), number / divisor);
            }
        }
    }

    #[test]
    fn a_table_that_would_be_too_large_is_not_made() {
        let cell = |first: i64| GridCell { first, last: first };
        let budget = Budget::new(1 << 24);
        assert!(CellTable::new(&[cell(0), cell(1), cell(1 << 22)], 0, &budget).is_none());
        assert!(CellTable::new(&[cell(i64::MIN), cell(i64::MAX)], 0, &budget).is_none());
        assert!(CellTable::new(&[], 0, &budget).is_none());
    }
}
