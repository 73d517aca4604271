//! Which groups does plain Mondrian make under a requirement?
//!
//! The baseline of the papers: the column with the widest normalized range is cut at the median; if a part would not
//! satisfy the requirement, the next column is tried. Releases are not made with it: the anonymizer tries all cuts.
//! Memory: four bytes per row, in addition to the columns. Invariant: the groups do not depend on the order of the rows.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::Result;
use crate::math::beliefs::group::Passes;

/// The rows of each group.
pub type Groups = Vec<Vec<u32>>;

/// A column that may be cut.
#[derive(Debug, Clone)]
pub struct MedianColumn<'a> {
    /// The code of each row.
    pub codes: Cow<'a, [u16]>,
    /// Where each code lies, ascending.
    pub places: Vec<f64>,
}

impl MedianColumn<'_> {
    /// The range of codes that a group spans.
    pub fn extent(&self, group: &[u32]) -> Range<u32> {
        let codes = group.iter().map(|&row| u32::from(self.codes[row as usize]));
        let (low, high) = codes.fold((u32::MAX, 0), |(low, high), code| (low.min(code), high.max(code)));
        low..high + 1
    }

    /// The share of the column that an extent spans, from 0 to 1.
    pub fn width(&self, extent: &Range<u32>) -> f64 {
        let between = |low: u32, high: u32| self.places[high as usize] - self.places[low as usize];
        let whole = between(0, self.places.len().saturating_sub(1) as u32);
        if whole > 0.0 { between(extent.start, extent.end - 1) / whole } else { 0.0 }
    }
}

/// The quasi-identifiers of a table.
#[derive(Debug, Clone)]
pub struct MedianCuts<'a> {
    /// The columns; all have the same rows.
    pub columns: Vec<MedianColumn<'a>>,
}

impl MedianCuts<'_> {
    fn all(&self) -> Vec<u32> {
        (0..self.columns.first().map_or(0, |column| column.codes.len()) as u32).collect()
    }

    /// Groups that cannot be cut further at a median; `admits` decides whether a part satisfies the requirement.
    pub fn groups(&self, mut admits: impl FnMut(&[u32]) -> Result<bool>) -> Result<Groups> {
        let mut open: Groups = vec![self.all()];
        let mut done = Groups::new();
        while let Some(group) = open.pop() {
            match self.split(&group, &mut admits)? {
                Some((left, right)) => open.extend([right, left]),
                None => done.push(group),
            }
        }
        Ok(done)
    }

    /// Groups that are certainly admitted, or none if the whole table cannot be. Where no cut gives two parts that are
    /// admitted, one whose parts are not decided may be cut further; if that does not lead to parts that are admitted, they
    /// are joined again.
    pub fn proved(&self, admits: &mut impl FnMut(&[u32]) -> Result<Passes>) -> Result<Groups> {
        let all = self.all();
        let whole = admits(&all)?;
        Ok(self.proved_parts(all, whole, admits)?.unwrap_or_default())
    }

    fn proved_parts(
        &self,
        group: Vec<u32>,
        own: Passes,
        admits: &mut impl FnMut(&[u32]) -> Result<Passes>,
    ) -> Result<Option<Groups>> {
        let mut best = None;
        for column in self.columns_by_width(&group) {
            let (left, right) = self.halves(&group, column);
            let first = admits(&left)?;
            let second = if first == Passes::No { Passes::No } else { admits(&right)? };
            let both = first.and(second);
            if both == Passes::Yes || (both == Passes::Unknown && best.is_none()) {
                best = Some([(left, first), (right, second)]);
            }
            if both == Passes::Yes {
                break;
            }
        }
        let mut groups = Groups::new();
        for (part, passes) in best.into_iter().flatten() {
            match self.proved_parts(part, passes, admits)? {
                Some(parts) => groups.extend(parts),
                None => return Ok((own == Passes::Yes).then(|| vec![group])),
            }
        }
        Ok(match groups.is_empty() {
            true => (own == Passes::Yes).then(|| vec![group]),
            false => Some(groups),
        })
    }

    fn split(
        &self,
        group: &[u32],
        admits: &mut impl FnMut(&[u32]) -> Result<bool>,
    ) -> Result<Option<(Vec<u32>, Vec<u32>)>> {
        for column in self.columns_by_width(group) {
            let (left, right) = self.halves(group, column);
            if admits(&left)? && admits(&right)? {
                return Ok(Some((left, right)));
            }
        }
        Ok(None)
    }

    /// The columns that can be cut, the widest first.
    fn columns_by_width(&self, group: &[u32]) -> Vec<usize> {
        let mut columns: Vec<(f64, usize)> = (0..self.columns.len())
            .map(|column| (self.columns[column].width(&self.columns[column].extent(group)), column))
            .filter(|(width, _)| *width > 0.0)
            .collect();
        columns.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        columns.into_iter().map(|(_, column)| column).collect()
    }

    /// The two sides of the median of a column with several values.
    fn halves(&self, group: &[u32], column: usize) -> (Vec<u32>, Vec<u32>) {
        let code = |row: u32| self.columns[column].codes[row as usize];
        let mut codes: Vec<u16> = group.iter().map(|&row| code(row)).collect();
        let middle = (codes.len() - 1) / 2;
        let median = *codes.select_nth_unstable(middle).1;
        let (left, right): (Vec<u32>, Vec<u32>) = group.iter().partition(|&&row| code(row) <= median);
        match right.is_empty() {
            true => group.iter().partition(|&&row| code(row) < median),
            false => (left, right),
        }
    }
}
