//! How far is each released column from the original one?
//!
//! The Kullback-Leibler divergence of the released marginal q from the original marginal p, in bits: the sum of p
//! log2(p / q) over the codes. q spreads the people of each group evenly over the codes that its label covers. A code
//! without people in the original adds 0; a code with people that no label covers makes the divergence infinite, and is
//! reported as such.
//!
//! Memory: 24 bytes per code.

use super::released::Released;

/// Fractions of a person: shares are whole multiples of these.
const PART_BITS: u32 = 40;

/// Bins of a column whose marginals are drawn.
const MOST_BINS: usize = 32;

/// Both marginals of every column while they are accumulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marginals {
    original: Vec<Vec<u64>>,
    /// The difference between each code and the previous one, in fractions of a person.
    released: Vec<Vec<i128>>,
    people: u64,
}

/// The divergence of one column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Divergence {
    /// In bits; infinity if somebody's value is covered by no label.
    pub bits: f64,
    /// People of the original whose value is covered by no label.
    pub uncovered: u64,
}

impl Marginals {
    /// Creates empty marginals for columns with these numbers of codes.
    pub fn new(codes: &[u32]) -> Self {
        Marginals {
            original: codes.iter().map(|&codes| vec![0; codes as usize]).collect(),
            released: codes.iter().map(|&codes| vec![0; codes as usize + 1]).collect(),
            people: 0,
        }
    }

    /// Adds a code of a person of the original.
    #[inline]
    pub fn add_person(&mut self, column: usize, code: u32) {
        self.original[column][code as usize] += 1;
    }

    /// Adds a group of the release.
    pub fn add_group(&mut self, group: &Released) {
        self.people += group.people;
        for (released, cover) in self.released.iter_mut().zip(&group.covers) {
            if cover.is_empty() {
                continue;
            }
            let share = (i128::from(group.people) << PART_BITS) / i128::from(cover.len());
            for run in cover.runs() {
                released[run.start as usize] += share;
                released[run.end as usize] -= share;
            }
        }
    }

    /// Adds a person of a release that publishes exact codes.
    pub fn add_released_person(&mut self, codes: &[u32]) {
        self.people += 1;
        for (released, &code) in self.released.iter_mut().zip(codes) {
            released[code as usize] += 1 << PART_BITS;
            released[code as usize + 1] -= 1 << PART_BITS;
        }
    }

    /// Number of people in the original.
    pub fn original_people(&self) -> u64 {
        self.original.first().map_or(0, |counts| counts.iter().sum())
    }

    /// Adds the counts of other people.
    pub fn merge(&mut self, other: &Marginals) {
        let original = self.original.iter_mut().flatten().zip(other.original.iter().flatten());
        original.for_each(|(own, theirs)| *own += theirs);
        let released = self.released.iter_mut().flatten().zip(other.released.iter().flatten());
        released.for_each(|(own, theirs)| *own += theirs);
        self.people += other.people;
    }

    /// The shares of people before and after, by column, in the order of the codes; at most [`MOST_BINS`] of each.
    pub fn shares(&self) -> Vec<Vec<(f64, f64)>> {
        let columns = self.original.iter().zip(&self.released);
        columns.map(|(original, released)| self.column_shares(original, released)).collect()
    }

    fn column_shares(&self, original: &[u64], released: &[i128]) -> Vec<(f64, f64)> {
        let bins = original.len().min(MOST_BINS);
        let mut counts = vec![(0u64, 0i128); bins];
        let mut mass = 0;
        for (code, (&count, &more)) in original.iter().zip(released).enumerate() {
            mass += more;
            let bin = &mut counts[code * bins / original.len()];
            (bin.0, bin.1) = (bin.0 + count, bin.1 + mass);
        }
        let people = original.iter().sum::<u64>().max(1) as f64;
        let all_parts = ((self.people.max(1) as i128) << PART_BITS) as f64;
        counts.into_iter().map(|(before, after)| (before as f64 / people, after as f64 / all_parts)).collect()
    }

    /// The divergence of each column.
    pub fn divergences(&self) -> Vec<Divergence> {
        let columns = self.original.iter().zip(&self.released);
        columns.map(|(original, released)| self.divergence(original, released)).collect()
    }

    fn divergence(&self, original: &[u64], released: &[i128]) -> Divergence {
        let people: u64 = original.iter().sum();
        let all_parts = ((self.people as i128) << PART_BITS) as f64;
        let mut mass = 0;
        let (mut bits, mut uncovered) = (0.0, 0);
        for (&count, &more) in original.iter().zip(released) {
            mass += more;
            match (count, mass) {
                (0, _) => {}
                (count, 0) => uncovered += count,
                (count, mass) => {
                    let p = count as f64 / people as f64;
                    bits += p * (p / (mass as f64 / all_parts)).log2();
                }
            }
        }
        // Rounded shares may give slightly less than 0, which a divergence never is.
        let bits = if uncovered > 0 { f64::INFINITY } else { bits.max(0.0) };
        Divergence { bits, uncovered }
    }
}
