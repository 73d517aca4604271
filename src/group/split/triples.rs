//! How many people in a node have this attribute value and this sensitive value?
//!
//! Memory: 8 bytes per triple, never more triples than sensitive values in the node; while counting, also a dense table
//! of at most [`DENSE_PER_ROW`] x rows counters, or one counter per code.

use super::rank::Run;
use crate::encode::codes::Codes;
use std::ops::Range;

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
const DENSE_PER_ROW: usize = 1;

/// Rows are sorted by counting codes if there are at most this many codes per row: then there are no more words of bits
/// than rows.
const CODES_PER_ROW: usize = 64;

/// For fewer rows, looking at every code costs more than noting those that occur.
const FEW_ROWS: usize = 256;

/// Scratch memory for counting the triples of one column of one node after the other.
#[derive(Debug, Default)]
pub struct Counter {
    keys: Vec<u32>,
    swap: Vec<u32>,
    dense: Vec<u32>,
    occurring: OccurringCodes,
    triples: Vec<Triple>,
    runs: Vec<Run>,
    first_triples: Vec<usize>,
}

impl Counter {
    /// The codes that occur in some rows, with the people below each; `codes` is the range of codes that can occur.
    pub fn runs(&mut self, codes: Range<u32>, column: &Codes, rows: Range<usize>) -> &[Run] {
        match column {
            Codes::Narrow(column) if rows.len() >= NARROW_ROWS => {
                self.runs.clear();
                push_runs(&mut self.runs, codes.start, count_narrow(&codes, &column[rows]));
                &self.runs
            }
            Codes::Narrow(column) => {
                self.runs_of_rows(codes, column[rows].iter().map(|&code| u16::from(code)))
            }
            Codes::Wide(column) => self.runs_of_rows(codes, column[rows].iter().copied()),
        }
    }

    fn runs_of_rows(&mut self, codes: Range<u32>, of_rows: impl ExactSizeIterator<Item = u16>) -> &[Run] {
        self.runs.clear();
        if codes.len() > CODES_PER_ROW * of_rows.len() {
            self.keys.clear();
            self.keys.extend(of_rows.map(u32::from));
            sort_by_bytes(&mut self.keys, &mut self.swap);
            let mut people_below = 0;
            for run in self.keys.chunk_by(|a, b| a == b) {
                self.runs.push(Run { code: run[0], people_below });
                people_below += run.len() as u64;
            }
            return &self.runs;
        }
        if of_rows.len() < codes.len().max(FEW_ROWS) {
            let mut people_below = 0;
            self.occurring.count(&codes, of_rows);
            self.occurring.drain(|code, count| {
                self.runs.push(Run { code: codes.start + code, people_below });
                people_below += u64::from(count);
            });
            return &self.runs;
        }
        count_codes(&mut self.dense, &codes, of_rows);
        let dense = std::mem::take(&mut self.dense);
        push_runs(&mut self.runs, codes.start, dense.iter().map(|&count| u64::from(count)));
        self.dense = dense;
        &self.runs
    }

    /// The same for counters of people by code.
    pub fn runs_of(&mut self, people: impl Iterator<Item = u64>) -> &[Run] {
        self.runs.clear();
        push_runs(&mut self.runs, 0, people);
        &self.runs
    }

    /// The triples counted last, the codes that occur, and the first triple of each.
    pub fn runs_of_triples(&mut self, people_of: impl Fn(&Triple) -> u64) -> (&[Triple], &[Run], &[usize]) {
        self.runs.clear();
        self.first_triples.clear();
        let (mut people_below, mut last) = (0, None);
        for (number, triple) in self.triples.iter().enumerate() {
            if last != Some(triple.code) {
                last = Some(triple.code);
                self.runs.push(Run { code: u32::from(triple.code), people_below });
                self.first_triples.push(number);
            }
            people_below += people_of(triple);
        }
        (&self.triples, &self.runs, &self.first_triples)
    }

    /// Counts `pairs` (attribute code, sensitive code) into triples in ascending order of codes; a pair may be spread
    /// over several triples. `codes` is the range of attribute codes that can occur, `values` the number of sensitive
    /// codes.
    pub fn count(
        &mut self,
        codes: Range<u32>,
        values: usize,
        pairs: impl ExactSizeIterator<Item = (u16, u16)> + Clone,
    ) {
        self.triples.clear();
        let cells = codes.len() * values;
        if cells <= DENSE_PER_ROW * pairs.len() {
            self.count_dense(codes.start, cells, values, pairs);
        } else if codes.len() <= CODES_PER_ROW * pairs.len() {
            self.count_scattered(codes, pairs);
        } else {
            self.count_sorted(pairs);
        }
    }

    /// The triples of dense counters, `values` per code. Triples hold 32-bit counts; a larger count becomes several
    /// triples of the same pair.
    pub fn triples_of(&mut self, cells: &[u64], values: usize) {
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
    }

    /// One triple per pair, in the order of codes.
    fn count_scattered(
        &mut self,
        codes: Range<u32>,
        pairs: impl ExactSizeIterator<Item = (u16, u16)> + Clone,
    ) {
        let codes_of = pairs.clone().map(|(code, _)| code);
        self.occurring.count(&codes, codes_of.clone());
        self.occurring.number();
        self.triples.resize(pairs.len(), Triple { code: 0, value: 0, count: 1 });
        for (code, value) in pairs {
            let next = &mut self.occurring.counts[(u32::from(code) - codes.start) as usize];
            self.triples[*next as usize] = Triple { code, value, count: 1 };
            *next += 1;
        }
        codes_of.for_each(|code| self.occurring.counts[(u32::from(code) - codes.start) as usize] = 0);
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

/// Which codes occur in a few rows, and how often: what is done depends on these rows, not on all codes there are.
#[derive(Debug, Default)]
struct OccurringCodes {
    /// By code, counted from the first one that can occur; all 0 between uses.
    counts: Vec<u32>,
    /// A bit for each code that occurs.
    words: Vec<u64>,
}

impl OccurringCodes {
    fn count(&mut self, codes: &Range<u32>, of_rows: impl Iterator<Item = u16>) {
        if self.counts.len() < codes.len() {
            self.counts.resize(codes.len(), 0);
        }
        self.words.clear();
        self.words.resize(codes.len().div_ceil(u64::BITS as usize), 0);
        for code in of_rows {
            let at = u32::from(code) - codes.start;
            self.counts[at as usize] += 1;
            self.words[(at / u64::BITS) as usize] |= 1 << (at % u64::BITS);
        }
    }

    /// Passes on each code that occurs, in ascending order, with its counter.
    fn each(&mut self, mut each: impl FnMut(u32, &mut u32)) {
        for (first, word) in (0..).step_by(u64::BITS as usize).zip(&self.words) {
            let mut bits = *word;
            while bits != 0 {
                let code = first + bits.trailing_zeros();
                bits &= bits - 1;
                each(code, &mut self.counts[code as usize]);
            }
        }
    }

    /// Passes on each code that occurs, in ascending order, with its count, and forgets them.
    fn drain(&mut self, mut each: impl FnMut(u32, u32)) {
        self.each(|code, count| each(code, std::mem::take(count)));
    }

    /// Replaces each count by the number of rows with lower codes.
    fn number(&mut self) {
        let mut below = 0;
        self.each(|_, count| below += std::mem::replace(count, below));
    }
}

/// Neighboring rows are counted in so many tables: with few codes they often have the same one, and an addition to a
/// counter must wait for the one before it.
const TABLES: usize = 4;

/// Sets `counts` to the number of rows by code.
fn count_codes(counts: &mut Vec<u32>, codes: &Range<u32>, of_rows: impl ExactSizeIterator<Item = u16>) {
    counts.clear();
    let many = codes.len();
    if many > 1 << 8 || of_rows.len() < TABLES * many {
        counts.resize(many, 0);
        return of_rows.for_each(|code| counts[(u32::from(code) - codes.start) as usize] += 1);
    }
    counts.resize(TABLES * many, 0);
    for (row, code) in of_rows.enumerate() {
        counts[row % TABLES * many + (u32::from(code) - codes.start) as usize] += 1;
    }
    let (total, others) = counts.split_at_mut(many);
    for other in others.chunks_exact(many) {
        total.iter_mut().zip(other).for_each(|(total, other)| *total += other);
    }
    counts.truncate(many);
}

/// For fewer rows a table for every narrow code does not pay.
const NARROW_ROWS: usize = 512;

/// The number of rows by code. Every narrow code has a counter in each table, so no index is checked.
fn count_narrow(codes: &Range<u32>, of_rows: &[u8]) -> impl Iterator<Item = u64> {
    let mut tables = [[0u32; 1 << 8]; TABLES];
    let (chunks, rest) = of_rows.as_chunks::<TABLES>();
    for chunk in chunks {
        tables.iter_mut().zip(chunk).for_each(|(table, &code)| table[usize::from(code)] += 1);
    }
    rest.iter().for_each(|&code| tables[0][usize::from(code)] += 1);
    codes.clone().map(move |code| tables.iter().map(|table| u64::from(table[code as usize])).sum())
}

fn push_runs(runs: &mut Vec<Run>, first: u32, people: impl Iterator<Item = u64>) {
    let mut people_below = 0;
    for (code, people) in (first..).zip(people) {
        if people > 0 {
            runs.push(Run { code, people_below });
            people_below += people;
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
        fn triples_are_counted_the_same_in_every_way(
            pairs in prop::collection::vec((100u16..1100, 0u16..7), 0..900), range in 0usize..4,
        ) {
            // The last range has few codes.
            let few = |(code, value): (u16, u16)| (if range == 3 { 100 + code % 40 } else { code }, value);
            let pairs: Vec<(u16, u16)> = pairs.into_iter().map(few).collect();
            let mut expected = BTreeMap::new();
            for &pair in &pairs {
                *expected.entry(pair).or_insert(0u32) += 1;
            }
            let codes = [0..65_536, 100..1100, 0..4000, 90..150][range].clone();
            let mut counter = Counter::default();
            counter.count(codes.clone(), 7, pairs.iter().copied());
            let (triples, runs, firsts) = counter.runs_of_triples(|triple| triple.count.into());
            prop_assert!(triples.is_sorted_by_key(|triple| triple.code));
            let mut counted = BTreeMap::new();
            for triple in triples {
                *counted.entry((triple.code, triple.value)).or_insert(0u32) += triple.count;
            }
            prop_assert_eq!(counted, expected);
            let (runs, firsts) = (runs.to_vec(), firsts.to_vec());
            prop_assert_eq!(runs.len(), firsts.len());
            let column = Codes::Wide(pairs.iter().map(|pair| pair.0).collect());
            prop_assert_eq!(counter.runs(codes, &column, 0..pairs.len()), &runs[..]);
        }

        #[test]
        fn narrow_codes_are_counted_as_wide_ones(
            codes in prop::collection::vec(30u8..200, 0..2000), from in any::<prop::sample::Index>(),
        ) {
            let rows = from.index(codes.len() + 1)..codes.len();
            let wide = Codes::Wide(codes.iter().map(|&code| code.into()).collect());
            let (mut counter, mut other) = (Counter::default(), Counter::default());
            let expected = counter.runs(30..200, &wide, rows.clone());
            prop_assert_eq!(other.runs(30..200, &Codes::Narrow(codes), rows), expected);
        }
    }
}
