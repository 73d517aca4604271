//! What does the dynamic program of the paper say? An independent reference for the five statistics.
//!
//! It places the k others and the m members of the family over the groups in every possible way, which
//! requires none of the arguments behind the five statistics, and O(k^2 m^2) steps per group. Memory: O(k m),
//! two rolling tables and the ratios of one group.

use super::group::RankedGroup;
use super::point::Knowledge;
use super::shape::{GroupShape, Ratio, Values};
use crate::math::exact::Rational;

/// The least negated ratio over all placements, in the arithmetic of `N`.
#[derive(Debug, Clone)]
pub struct Program<N> {
    values: Values,
    size: Knowledge,
    /// `without[i][j]`: i others and j of the family are placed, the target is not.
    without: Table<N>,
    with: Table<N>,
    next_without: Table<N>,
    next_with: Table<N>,
    target: Vec<Option<N>>,
    family: Table<N>,
}

/// Rows for i = 0..=k others, columns for j = 0..=m of the family; `None` is infinite.
#[derive(Debug, Clone)]
struct Table<N> {
    columns: usize,
    cells: Vec<Option<N>>,
}

impl<N: Number> Table<N> {
    fn infinite(rows: usize, columns: usize) -> Self {
        Table { columns, cells: vec![None; rows * columns] }
    }

    fn row(&self, i: usize) -> &[Option<N>] {
        &self.cells[i * self.columns..(i + 1) * self.columns]
    }

    fn row_mut(&mut self, i: usize) -> &mut [Option<N>] {
        &mut self.cells[i * self.columns..(i + 1) * self.columns]
    }
}

/// The arithmetic of the program, in two variants.
pub trait Number: Clone + PartialOrd {
    /// The neutral factor.
    fn one() -> Self;
    /// A ratio of a group.
    fn ratio(shape: &GroupShape, values: Values, which: Ratio, size: Knowledge) -> Self;
    /// V(j, k) of a group for j = 0, 1, ... .
    fn families(shape: &GroupShape, values: Values, k: u64, row: &mut [Option<Self>]) {
        for (j, cell) in row.iter_mut().enumerate() {
            let size = Knowledge { l: 0, k, m: j as u64 };
            *cell = Some(Self::ratio(shape, values, Ratio::FamilyWithOthers, size));
        }
    }
    /// The product.
    fn times(&self, other: &Self) -> Self;
}

impl Number for f64 {
    fn one() -> Self {
        1.0
    }
    fn ratio(shape: &GroupShape, values: Values, which: Ratio, size: Knowledge) -> Self {
        shape.rounded(values, which, size).value
    }
    fn families(shape: &GroupShape, values: Values, k: u64, row: &mut [Option<Self>]) {
        for (cell, v) in row.iter_mut().zip(shape.families_rounded(values, k)) {
            *cell = Some(v);
        }
    }
    #[inline]
    fn times(&self, other: &Self) -> Self {
        self * other
    }
}

impl Number for Rational {
    fn one() -> Self {
        Rational::ONE
    }
    fn ratio(shape: &GroupShape, values: Values, which: Ratio, size: Knowledge) -> Self {
        shape.exact(values, which, size).expect("the reference is used on groups of moderate size")
    }
    fn times(&self, other: &Self) -> Self {
        self * other
    }
}

impl<N: Number> Program<N> {
    /// No groups yet; `size` must be small, since the tables have k x m cells.
    pub fn new(values: Values, size: Knowledge) -> Self {
        let (rows, columns) = (size.k as usize + 2, size.m as usize + 1);
        let mut without = Table::infinite(rows, columns);
        without.row_mut(0)[0] = Some(N::one());
        Program {
            values,
            size,
            with: Table::infinite(rows, columns),
            next_without: without.clone(),
            next_with: without.clone(),
            family: without.clone(),
            target: vec![None; rows],
            without,
        }
    }

    /// Adds a group in which the target value occurs `target` times.
    pub fn observe(&mut self, group: &RankedGroup<'_>, target: u64) {
        if target == 0 {
            return self.pass_by();
        }
        let shape = GroupShape::new(self.values, group, self.size.l, target);
        let k = self.size.k as usize;
        for i in 0..=k + 1 {
            let others = Knowledge { l: self.size.l, k: i as u64, m: 0 };
            self.target[i] = Some(N::ratio(&shape, self.values, Ratio::TargetWithOthers, others));
            N::families(&shape, self.values, i as u64, self.family.row_mut(i));
        }
        for i in 0..=k {
            self.place(i);
        }
        std::mem::swap(&mut self.without, &mut self.next_without);
        std::mem::swap(&mut self.with, &mut self.next_with);
    }

    /// A group without the target value: V is 1 and T infinite, so only "at most" sizes carry over.
    fn pass_by(&mut self) {
        for table in [&mut self.without, &mut self.with] {
            for i in 0..=self.size.k as usize {
                for j in 0..table.columns {
                    let below = (i > 0).then(|| table.row(i - 1)[j].clone()).flatten();
                    let left = (j > 0).then(|| table.row(i)[j - 1].clone()).flatten();
                    let cell = &mut table.row_mut(i)[j];
                    lower(cell, below);
                    lower(cell, left);
                }
            }
        }
    }

    /// Fills row `i` of the next tables: `here` of the `i` others are in this group.
    fn place(&mut self, i: usize) {
        let m = self.size.m as usize;
        self.next_without.row_mut(i).fill(None);
        self.next_with.row_mut(i).fill(None);
        for here in 0..=i {
            let before_without = self.without.row(i - here);
            let before_with = self.with.row(i - here);
            let family = self.family.row(here);
            let family_beside_target = self.family.row(here + 1);
            let target = &self.target[here];
            let next_without = self.next_without.row_mut(i);
            let next_with = self.next_with.row_mut(i);
            for before in 0..=m {
                let without = &before_without[before];
                let placed = without.as_ref().zip(target.as_ref()).map(|(a, b)| a.times(b));
                for j in before..=m {
                    let product =
                        |a: &Option<N>, b: &Option<N>| a.as_ref().zip(b.as_ref()).map(|(a, b)| a.times(b));
                    lower(&mut next_without[j], product(without, &family[j - before]));
                    lower(&mut next_with[j], product(&before_with[before], &family[j - before]));
                    lower(&mut next_with[j], product(&placed, &family_beside_target[j - before]));
                }
            }
        }
    }

    /// minNR; `None` is infinite: the value does not occur.
    pub fn min_negated_ratio(&self) -> Option<N> {
        self.with.row(self.size.k as usize)[self.size.m as usize].clone()
    }
}

#[inline]
fn lower<N: PartialOrd>(cell: &mut Option<N>, candidate: Option<N>) {
    if let Some(candidate) = candidate
        && cell.as_ref().is_none_or(|current| candidate < *current)
    {
        *cell = Some(candidate);
    }
}
