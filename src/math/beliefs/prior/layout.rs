//! In which order are columns contracted, and which people form a slice?
//!
//! Memory: 4 B per combination and 24 B per slice. Invariant: the columns of a layout begin with those that
//! cut the table into blocks; combinations are sorted by the columns in that order, so blocks, slices and
//! prefixes are ranges.

use std::ops::Range;

use crate::math::beliefs::combinations::Combinations;
use crate::math::beliefs::kernel::Kernel;

pub(super) struct PriorLayout {
    /// The contracted columns, those with the most codes first, since they leave the fewest suffixes.
    pub columns: Vec<usize>,
    /// Combinations in the order of the layout.
    pub order: Vec<u32>,
    pub slices: Vec<PeopleSlice>,
    /// For j = 0, 1, ..: how many prefixes of the block and the first j columns occur.
    pub prefixes: Vec<u64>,
}

/// People who share a block and the code of the first contracted column, and the rows of their block.
#[derive(Clone)]
pub(super) struct PeopleSlice {
    pub people: Range<u32>,
    /// The rows of the block, as positions and as slices.
    pub block: Range<u32>,
    slices: Range<u32>,
}

impl PriorLayout {
    pub fn new(combinations: &Combinations, kernels: &[Kernel]) -> Self {
        let (cutting, mut columns): (Vec<usize>, Vec<usize>) =
            (0..kernels.len()).partition(|column| kernels[*column].is_identity());
        columns.sort_by_key(|column| std::cmp::Reverse(kernels[*column].codes()));
        let keys: Vec<usize> = cutting.iter().chain(&columns).copied().collect();
        let mut order: Vec<u32> = (0..combinations.len() as u32).collect();
        if !keys.is_sorted() {
            order.sort_unstable_by(|a, b| {
                let (a, b) = (combinations.codes(*a as usize), combinations.codes(*b as usize));
                keys.iter().map(|key| a[*key]).cmp(keys.iter().map(|key| b[*key]))
            });
        }
        let mut layout =
            PriorLayout { slices: Vec::new(), prefixes: vec![0; columns.len() + 1], columns, order };
        layout.cut(combinations, &keys, cutting.len());
        layout
    }

    /// Finds where blocks and slices begin, and counts prefixes.
    fn cut(&mut self, combinations: &Combinations, keys: &[usize], cutting: usize) {
        let count = self.order.len() as u32;
        let mut block = 0;
        let mut first_of_block = 0;
        for position in 0..count {
            let shared = match position {
                0 => 0,
                _ => {
                    let before = combinations.codes(self.order[position as usize - 1] as usize);
                    let here = combinations.codes(self.order[position as usize] as usize);
                    keys.iter().take_while(|key| before[**key] == here[**key]).count()
                }
            };
            let new_block = position == 0 || shared < cutting;
            for (j, prefixes) in self.prefixes.iter_mut().enumerate() {
                *prefixes += u64::from(position == 0 || shared < cutting + j);
            }
            if new_block {
                self.close(first_of_block, block..position);
                (block, first_of_block) = (position, self.slices.len());
            }
            if new_block || shared <= cutting {
                if let Some(last) = self.slices.last_mut().filter(|_| !new_block) {
                    last.people.end = position;
                }
                let slices = first_of_block as u32..0;
                self.slices.push(PeopleSlice { people: position..count, block: block..count, slices });
            }
        }
        self.close(first_of_block, block..count);
    }

    /// Ends the slices of a block.
    fn close(&mut self, first: usize, block: Range<u32>) {
        if let Some(last) = self.slices.last_mut() {
            last.people.end = block.end;
        }
        let end = self.slices.len() as u32;
        for slice in &mut self.slices[first..] {
            slice.slices.end = end;
            slice.block.end = block.end;
        }
    }

    /// All slices of the block of a slice; their people are the rows of the block by first code.
    pub fn block(&self, slice: &PeopleSlice) -> &[PeopleSlice] {
        &self.slices[slice.slices.start as usize..slice.slices.end as usize]
    }

    /// The code that a combination, by its position, has in the j-th contracted column.
    pub fn code(&self, combinations: &Combinations, position: u32, j: usize) -> u32 {
        combinations.codes(self.order[position as usize] as usize)[self.columns[j]]
    }

    /// The runs of equal codes of the j-th contracted column in a range that shares the columns before it.
    pub fn runs<'a>(
        &'a self,
        combinations: &'a Combinations,
        range: Range<u32>,
        j: usize,
    ) -> impl Iterator<Item = (u32, Range<u32>)> + 'a {
        let mut start = range.start;
        std::iter::from_fn(move || {
            if start >= range.end {
                return None;
            }
            let code = self.code(combinations, start, j);
            let mut end = start + 1;
            while end < range.end && self.code(combinations, end, j) == code {
                end += 1;
            }
            let run = start..end;
            start = end;
            Some((code, run))
        })
    }
}
