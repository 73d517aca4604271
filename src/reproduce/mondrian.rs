//! Which groups does plain Mondrian make under a requirement?
//!
//! The baseline of the papers: the column with the widest normalized range is cut at the median; if a part would not
//! satisfy the requirement, the next column is tried. Categories are ordered by their codes. The anonymizer of this
//! crate tries all cuts; it is not used here, because the papers compare with the median.
//! Memory: two bytes per cell and four per row.

use std::ops::Range;

use super::adult::Coded;
use crate::error::Result;
use crate::math::beliefs::group::Passes;
use crate::report::utility::{Cover, QueryErrors, Released, Workload};

/// A table in codes.
pub struct CodedRows<'a> {
    /// The quasi-identifiers.
    pub quasi: Vec<&'a Coded>,
    /// The sensitive column.
    pub sensitive: &'a Coded,
}

/// The rows of each group.
pub type Groups = Vec<Vec<u32>>;

/// Relative errors of count queries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// The average.
    pub mean: f64,
    /// About half of the queries have at most this error.
    pub median: f64,
}

impl CodedRows<'_> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.sensitive.codes.len()
    }

    /// How often each sensitive value occurs in a group.
    pub fn counts(&self, group: &[u32]) -> Vec<u64> {
        let mut counts = vec![0; self.sensitive.texts.len()];
        group.iter().for_each(|&row| counts[usize::from(self.sensitive.codes[row as usize])] += 1);
        counts
    }

    /// The range of codes of a column that a group spans.
    fn extent(&self, column: usize, group: &[u32]) -> Range<u32> {
        let codes = group.iter().map(|&row| u32::from(self.quasi[column].codes[row as usize]));
        let (low, high) = codes.fold((u32::MAX, 0), |(low, high), code| (low.min(code), high.max(code)));
        low..high + 1
    }

    /// The share of its column that an extent spans, from 0 to 1.
    fn width(&self, column: usize, extent: &Range<u32>) -> f64 {
        let texts = &self.quasi[column].texts;
        let number = |code: u32| texts[code as usize].parse::<f64>();
        let last = texts.len().saturating_sub(1) as u32;
        match (number(extent.start), number(extent.end - 1), number(0), number(last)) {
            (Ok(low), Ok(high), Ok(least), Ok(most)) if most > least => (high - low) / (most - least),
            _ => f64::from(extent.end - 1 - extent.start) / f64::from(last.max(1)),
        }
    }

    /// Groups that cannot be cut further at a median; `admits` decides whether a part satisfies the requirement.
    pub fn mondrian(&self, mut admits: impl FnMut(&[u32]) -> Result<bool>) -> Result<Groups> {
        let mut open: Groups = vec![(0..self.len() as u32).collect()];
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
        let all: Vec<u32> = (0..self.len() as u32).collect();
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
        let mut columns: Vec<(f64, usize)> = (0..self.quasi.len())
            .map(|column| (self.width(column, &self.extent(column, group)), column))
            .filter(|(width, _)| *width > 0.0)
            .collect();
        columns.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        columns.into_iter().map(|(_, column)| column).collect()
    }

    /// The two sides of the median of a column with several values.
    fn halves(&self, group: &[u32], column: usize) -> (Vec<u32>, Vec<u32>) {
        let code = |row: u32| self.quasi[column].codes[row as usize];
        let mut codes: Vec<u16> = group.iter().map(|&row| code(row)).collect();
        let middle = (codes.len() - 1) / 2;
        let median = *codes.select_nth_unstable(middle).1;
        let (left, right): (Vec<u32>, Vec<u32>) = group.iter().partition(|&&row| code(row) <= median);
        match right.is_empty() {
            true => group.iter().partition(|&&row| code(row) < median),
            false => (left, right),
        }
    }

    /// The sum of the squared group sizes.
    pub fn discernibility(&self, groups: &Groups) -> u64 {
        groups.iter().map(|group| (group.len() * group.len()) as u64).sum()
    }

    /// The average width of the people's labels, from 0 to 1; 1 if nothing is published.
    pub fn certainty_penalty(&self, groups: &Groups) -> f64 {
        if groups.is_empty() {
            return 1.0;
        }
        let people: usize = groups.iter().map(Vec::len).sum();
        let cost = |group: &Vec<u32>| {
            let widths = (0..self.quasi.len()).map(|column| self.width(column, &self.extent(column, group)));
            widths.sum::<f64>() * group.len() as f64
        };
        groups.iter().map(cost).sum::<f64>() / (people * self.quasi.len()).max(1) as f64
    }

    /// The number of codes of each quasi-identifier.
    pub fn codes(&self) -> Vec<u32> {
        self.quasi.iter().map(|column| column.texts.len() as u32).collect()
    }

    /// The answers to queries from the labels of the groups.
    pub fn generalized(&self, groups: &Groups, workload: &Workload) -> Vec<f64> {
        let mut answers = workload.no_answers();
        for group in groups {
            let covers =
                (0..self.quasi.len()).map(|column| Cover::Range(self.extent(column, group))).collect();
            workload.answer(&Released::new(group.len() as u64, covers, &self.counts(group)), &mut answers);
        }
        answers.people()
    }

    /// The answers to queries if people keep their quasi-identifiers and a group shares its values.
    pub fn bucketized(&self, groups: &Groups, workload: &Workload) -> Vec<f64> {
        let mut answers = vec![0.0; workload.queries().len()];
        for group in groups {
            let counts = self.counts(group);
            let rows: Vec<Vec<u32>> = group.iter().map(|&row| self.row(row)).collect();
            for (answer, query) in answers.iter_mut().zip(workload.queries()) {
                let asked =
                    |row: &&Vec<u32>| query.quasi.iter().all(|(column, range)| range.contains(&row[*column]));
                let people = rows.iter().filter(asked).count();
                if people > 0 {
                    let values = query.sensitive.start as usize..query.sensitive.end as usize;
                    let share = counts[values].iter().sum::<u64>() as f64 / group.len() as f64;
                    *answer += people as f64 * share;
                }
            }
        }
        answers
    }

    /// Mean and median of the relative errors of answers, relative to at least one person in a thousand.
    pub fn errors(&self, workload: &Workload, answers: &[f64]) -> Errors {
        let mut counts = workload.no_counts();
        for row in 0..self.len() as u32 {
            workload.count(&self.row(row), self.sensitive.codes[row as usize].into(), &mut counts);
        }
        let least = QueryErrors::least_of(self.len() as u64);
        let error = |(&count, answer): (&u64, &f64)| (answer - count as f64).abs() / count.max(least) as f64;
        let mut errors: Vec<f64> = counts.iter().zip(answers).map(error).collect();
        errors.sort_by(f64::total_cmp);
        let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        Errors { mean, median: errors.get(errors.len() / 2).copied().unwrap_or(0.0) }
    }

    fn row(&self, row: u32) -> Vec<u32> {
        self.quasi.iter().map(|column| column.codes[row as usize].into()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, texts: &[&str], codes: &[u16]) -> Coded {
        let texts = texts.iter().map(|text| text.to_string()).collect();
        Coded { name: name.to_string(), texts, codes: codes.to_vec() }
    }

    #[test]
    fn groups_keep_the_requirement_and_cover_every_row_once() {
        let age = column("age", &["20", "30", "40", "90"], &[0, 1, 2, 3, 0, 1, 2, 3]);
        let sex = column("sex", &["f", "m"], &[0, 0, 0, 0, 1, 1, 1, 1]);
        let sick = column("sick", &["a", "b"], &[0, 1, 0, 1, 1, 0, 1, 0]);
        let rows = CodedRows { quasi: vec![&age, &sex], sensitive: &sick };
        let mut groups = rows.mondrian(|part| Ok(part.len() >= 2)).unwrap();
        groups.sort();
        assert_eq!(groups, [[0, 1], [2, 3], [4, 5], [6, 7]]);
        assert_eq!(rows.discernibility(&groups), 16);
        // Half of the people span 10 of 70 years, half 50 of 70, and nobody both sexes.
        assert!((rows.certainty_penalty(&groups) - (10.0 / 70.0 + 50.0 / 70.0) / 4.0).abs() < 1e-12);
        assert_eq!(rows.mondrian(|_| Ok(false)).unwrap().len(), 1);
    }
}
