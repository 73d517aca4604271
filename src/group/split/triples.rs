//! How many people in a node have this attribute value and this sensitive value?
//!
//! Memory: 8 bytes per triple, never more triples than sensitive values in the node; while counting, also a dense table
//! of at most [`DENSE_PER_ROW`] x rows counters.

/// (attribute value, sensitive value, count): all that a cut of one column needs to know about a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Triple {
    /// Code of the attribute value.
    pub code: u16,
    /// Code of the sensitive value; one past the last represents the person.
    pub value: u16,
    /// How often both occur together.
    pub count: u32,
}

/// A dense table is used if it has at most this many counters per row.
const DENSE_PER_ROW: usize = 4;

/// Scratch memory for counting the triples of one column of one node after the other.
#[derive(Debug, Default)]
pub struct Counter {
    keys: Vec<u32>,
    swap: Vec<u32>,
    dense: Vec<u32>,
    triples: Vec<Triple>,
}

impl Counter {
    /// Counts `pairs` (attribute code, sensitive code) into triples in ascending order. `codes` is the range
    /// of attribute codes that can occur, `values` the number of sensitive codes.
    pub fn count(
        &mut self,
        codes: std::ops::Range<u32>,
        values: usize,
        pairs: impl ExactSizeIterator<Item = (u16, u16)>,
    ) -> &[Triple] {
        self.triples.clear();
        let cells = (codes.end - codes.start) as usize * values;
        if cells <= DENSE_PER_ROW * pairs.len() {
            self.count_dense(codes.start, cells, values, pairs);
        } else {
            self.count_sorted(pairs);
        }
        &self.triples
    }

    /// The triples of dense counters, `values` per code. Triples hold 32-bit counts; a larger count becomes several
    /// triples of the same pair.
    pub fn triples_of(&mut self, cells: &[u64], values: usize) -> &[Triple] {
        self.triples.clear();
        for (cell, &count) in cells.iter().enumerate() {
            let mut left = count;
            while left > 0 {
                let part = left.min(u64::from(u32::MAX));
                let (code, value) = ((cell / values) as u16, (cell % values) as u16);
                self.triples.push(Triple { code, value, count: part as u32 });
                left -= part;
            }
        }
        &self.triples
    }

    fn count_dense(
        &mut self,
        first: u32,
        cells: usize,
        values: usize,
        pairs: impl Iterator<Item = (u16, u16)>,
    ) {
        self.dense.clear();
        self.dense.resize(cells, 0);
        for (code, value) in pairs {
            self.dense[(u32::from(code) - first) as usize * values + usize::from(value)] += 1;
        }
        for (offset, row) in self.dense.chunks_exact(values).enumerate() {
            let code = (first as usize + offset) as u16;
            for (value, &count) in row.iter().enumerate() {
                if count > 0 {
                    self.triples.push(Triple { code, value: value as u16, count });
                }
            }
        }
    }

    fn count_sorted(&mut self, pairs: impl Iterator<Item = (u16, u16)>) {
        self.keys.clear();
        self.keys.extend(pairs.map(|(code, value)| u32::from(code) << 16 | u32::from(value)));
        sort_by_bytes(&mut self.keys, &mut self.swap);
        for run in self.keys.chunk_by(|a, b| a == b) {
            let (code, value) = ((run[0] >> 16) as u16, run[0] as u16);
            self.triples.push(Triple { code, value, count: run.len() as u32 });
        }
    }
}

/// Sorts by counting bytes from the lowest to the highest, skipping bytes that are all equal.
fn sort_by_bytes(keys: &mut Vec<u32>, swap: &mut Vec<u32>) {
    if keys.len() < 256 {
        keys.sort_unstable();
        return;
    }
    swap.clear();
    swap.resize(keys.len(), 0);
    for shift in [0, 8, 16, 24] {
        let mut starts = [0usize; 256];
        for &key in keys.iter() {
            starts[usize::from((key >> shift) as u8)] += 1;
        }
        if starts.contains(&keys.len()) {
            continue;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        for &key in keys.iter() {
            let start = &mut starts[usize::from((key >> shift) as u8)];
            swap[*start] = key;
            *start += 1;
        }
        std::mem::swap(keys, swap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn triples_are_counted_the_same_densely_and_sorted(
            pairs in prop::collection::vec((100u16..1100, 0u16..7), 0..900), wide in any::<bool>(),
        ) {
            let mut expected = BTreeMap::new();
            for &pair in &pairs {
                *expected.entry(pair).or_insert(0u32) += 1;
            }
            let codes = if wide { 0..65_536 } else { 100..1100 };
            let mut counter = Counter::default();
            let triples = counter.count(codes, 7, pairs.iter().copied());
            let expected: Vec<Triple> =
                expected.into_iter().map(|((code, value), count)| Triple { code, value, count }).collect();
            prop_assert_eq!(triples, &expected[..]);
        }
    }
}
