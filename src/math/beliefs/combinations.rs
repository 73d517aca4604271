//! Which combinations of quasi-identifier values occur, and with which sensitive values?
//!
//! Memory: 4 B x columns + 8 B per distinct combination, 12 B per distinct (combination, sensitive value);
//! independent of the number of rows.
//! Invariant: combinations are in strictly ascending order of their codes; counts are positive.

use crate::{Error, Result};

/// The rows of a table, merged by their quasi-identifier codes.
#[derive(Debug, Clone)]
pub struct Combinations {
    columns: usize,
    values: usize,
    rows: u64,
    codes: Vec<u32>,
    /// Where the counts of each combination begin; one more than there are combinations.
    starts: Vec<usize>,
    sensitive: Vec<u32>,
    counts: Vec<u64>,
}

/// Above this, counts would not be exact as floats.
const MAX_ROWS: u64 = 1 << 53;

impl Combinations {
    /// No rows yet, for a table with this number of quasi-identifiers and distinct sensitive values.
    pub fn new(columns: usize, values: usize) -> Self {
        let (codes, sensitive, counts) = (Vec::new(), Vec::new(), Vec::new());
        Combinations { columns, values, rows: 0, codes, starts: vec![0], sensitive, counts }
    }

    /// Merges rows in any order: their codes and sensitive value.
    pub fn from_rows(columns: usize, values: usize, mut rows: Vec<(Vec<u32>, u32)>) -> Result<Self> {
        rows.sort_unstable();
        let mut merged = Combinations::new(columns, values);
        for (codes, value) in &rows {
            merged.push(codes, *value, 1)?;
        }
        Ok(merged)
    }

    /// Adds `count` rows; rows must come in ascending order of (codes, value), equal ones may repeat.
    pub fn push(&mut self, codes: &[u32], value: u32, count: u64) -> Result<()> {
        let wrong =
            |problem: &str| Error::input(format!("priors: {problem}"), "this is a mistake of the caller");
        if codes.len() != self.columns || value as usize >= self.values {
            return Err(wrong("a row has another number of columns, or an unknown sensitive value"));
        }
        if count == 0 {
            return Ok(());
        }
        self.rows =
            self.rows.checked_add(count).filter(|rows| *rows < MAX_ROWS).ok_or_else(|| wrong("2^53 rows"))?;
        let last = self.len().checked_sub(1).map(|last| self.codes(last).cmp(codes));
        match last {
            Some(std::cmp::Ordering::Greater) => return Err(wrong("rows are not sorted")),
            Some(std::cmp::Ordering::Equal) => match self.sensitive.last().map(|last| last.cmp(&value)) {
                Some(std::cmp::Ordering::Greater) => return Err(wrong("sensitive values are not sorted")),
                Some(std::cmp::Ordering::Equal) => {
                    if let Some(last) = self.counts.last_mut() {
                        *last += count;
                    }
                    return Ok(());
                }
                _ => {}
            },
            _ => {
                self.codes.extend_from_slice(codes);
                self.starts.push(self.sensitive.len());
            }
        }
        self.sensitive.push(value);
        self.counts.push(count);
        if let Some(end) = self.starts.last_mut() {
            *end = self.sensitive.len();
        }
        Ok(())
    }

    /// The number of distinct combinations.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of quasi-identifiers.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of distinct sensitive values.
    pub fn values(&self) -> usize {
        self.values
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of distinct (combination, sensitive value).
    pub fn entries(&self) -> usize {
        self.counts.len()
    }

    /// The codes of a combination.
    pub fn codes(&self, combination: usize) -> &[u32] {
        &self.codes[combination * self.columns..(combination + 1) * self.columns]
    }

    /// The sensitive values of a combination and how many rows have each.
    pub fn histogram(&self, combination: usize) -> impl Iterator<Item = (u32, u64)> + '_ {
        let range = self.starts[combination]..self.starts[combination + 1];
        self.sensitive[range.clone()].iter().copied().zip(self.counts[range].iter().copied())
    }

    /// The number of a combination.
    pub fn find(&self, codes: &[u32]) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.codes(middle).cmp(codes) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_merged_and_found() {
        let rows = vec![(vec![1, 0], 2), (vec![0, 5], 1), (vec![1, 0], 0), (vec![1, 0], 2)];
        let table = Combinations::from_rows(2, 3, rows).unwrap();
        assert_eq!((table.len(), table.rows(), table.entries()), (2, 4, 3));
        assert_eq!(table.find(&[1, 0]), Some(1));
        assert_eq!(table.find(&[1, 1]), None);
        assert_eq!(table.histogram(1).collect::<Vec<_>>(), [(0, 1), (2, 2)]);
        assert_eq!(table.histogram(0).collect::<Vec<_>>(), [(1, 1)]);
    }

    #[test]
    fn unsorted_or_foreign_rows_are_errors() {
        let mut table = Combinations::new(1, 2);
        table.push(&[3], 1, 1).unwrap();
        assert!(table.push(&[2], 0, 1).is_err());
        assert!(table.push(&[3], 0, 1).is_err());
        assert!(table.push(&[4], 2, 1).is_err());
        assert!(table.push(&[4, 4], 0, 1).is_err());
        assert!(table.push(&[4], 0, u64::MAX).is_err());
    }
}
