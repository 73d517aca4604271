//! The prior over the dense grid of the columns after the first.
//!
//! Memory: 8 B x values x product of the codes of all contracted columns but the first.

use super::layout::{PeopleSlice, PriorLayout};
use super::pairs::normalise;
use crate::math::beliefs::combinations::Combinations;
use crate::math::beliefs::kernel::Kernel;

/// Doubles contracted together; one column of them stays in the fastest cache.
const STRIP: usize = 64;

#[derive(Default)]
pub(super) struct GridScratch {
    cells: Vec<f64>,
    strip: Vec<f64>,
    prior: Vec<f64>,
}

/// The number of sums in the grid of one slice; `None` if it is beyond counting.
pub(super) fn size(layout: &PriorLayout, kernels: &[Kernel], values: usize) -> Option<usize> {
    let codes = layout.columns.iter().skip(1).map(|column| kernels[*column].codes());
    codes.chain([values]).try_fold(1usize, usize::checked_mul)
}

pub(super) fn run(
    (combinations, kernels, layout): (&Combinations, &[Kernel], &PriorLayout),
    slice: &PeopleSlice,
    scratch: &mut GridScratch,
    mut emit: impl FnMut(usize, &[f64]),
) {
    let values = combinations.values();
    let dimensions: Vec<usize> =
        layout.columns.iter().skip(1).map(|column| kernels[*column].codes()).collect();
    let cell = |position: u32| {
        let codes = dimensions.iter().enumerate();
        codes.fold(0, |cell, (j, size)| cell * size + layout.code(combinations, position, j + 1) as usize)
            * values
    };
    scratch.cells.clear();
    scratch.cells.resize(dimensions.iter().product::<usize>() * values, 0.0);
    let first = &kernels[layout.columns[0]];
    let person = layout.code(combinations, slice.people.start, 0);
    for PeopleSlice { people: rows, .. } in layout.block(slice) {
        let weight = first.weight(person, layout.code(combinations, rows.start, 0));
        if weight > 0.0 {
            for row in rows.clone() {
                let sums = &mut scratch.cells[cell(row)..];
                for (value, count) in combinations.histogram(layout.order[row as usize] as usize) {
                    sums[value as usize] += weight * count as f64;
                }
            }
        }
    }
    let mut inner = scratch.cells.len();
    for (j, size) in dimensions.iter().enumerate() {
        inner /= size;
        contract(&mut scratch.cells, *size, inner, &kernels[layout.columns[j + 1]], &mut scratch.strip);
    }
    for person in slice.people.clone() {
        scratch.prior.clear();
        scratch.prior.extend_from_slice(&scratch.cells[cell(person)..][..values]);
        normalise(&mut scratch.prior);
        emit(layout.order[person as usize] as usize, &scratch.prior);
    }
}

/// Replaces every line of `size` cells along one column by its weighted sums, `inner` apart.
fn contract(cells: &mut [f64], size: usize, inner: usize, kernel: &Kernel, strip: &mut Vec<f64>) {
    for block in cells.chunks_exact_mut(size * inner) {
        for start in (0..inner).step_by(STRIP) {
            let width = STRIP.min(inner - start);
            strip.clear();
            for line in block.chunks_exact(inner) {
                strip.extend_from_slice(&line[start..start + width]);
            }
            let mut shared = [0.0; STRIP];
            if kernel.floor() > 0.0 {
                strip.chunks_exact(width).for_each(|source| add(&mut shared, source, kernel.floor()));
            }
            for (person, line) in block.chunks_exact_mut(inner).enumerate() {
                let target = &mut line[start..start + width];
                target.copy_from_slice(&shared[..width]);
                for (row, source) in strip.chunks_exact(width).enumerate() {
                    let above = kernel.above_floor(person as u32, row as u32);
                    if above > 0.0 {
                        add(target, source, above);
                    }
                }
            }
        }
    }
}

/// target += weight x source.
#[inline]
fn add(target: &mut [f64], source: &[f64], weight: f64) {
    for (target, source) in target.iter_mut().zip(source) {
        *target += weight * source;
    }
}
