//! Groups of a table in memory: Mondrian's, and what they are worth.
//!
//! Categories are ordered by their codes. The anonymizer of this crate tries all cuts; it is not used here, because the
//! papers compare with the median.
//! Memory: two bytes per cell and four per row.

use super::adult::Coded;
use crate::error::Result;
pub use crate::group::mondrian::Groups;
use crate::group::mondrian::{MedianColumn, MedianCuts};
use crate::math::beliefs::group::Passes;
use crate::report::utility::{Cover, QueryErrors, Released, Workload};

/// A table in codes.
pub struct CodedRows<'a> {
    /// The quasi-identifiers.
    pub quasi: Vec<&'a Coded>,
    /// The sensitive column.
    pub sensitive: &'a Coded,
}

/// Relative errors of count queries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// The average.
    pub mean: f64,
    /// About half of the queries have at most this error.
    pub median: f64,
}

impl<'a> CodedRows<'a> {
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

    /// The quasi-identifiers, as Mondrian cuts them.
    fn cuts(&self) -> MedianCuts<'a> {
        let column = |column: &&'a Coded| {
            let numbers: Option<Vec<f64>> = column.texts.iter().map(|text| text.parse().ok()).collect();
            let places = numbers.unwrap_or_else(|| (0..column.texts.len()).map(|code| code as f64).collect());
            MedianColumn { codes: column.codes.as_slice().into(), places }
        };
        MedianCuts { columns: self.quasi.iter().map(column).collect() }
    }

    /// Groups that cannot be cut further at a median; `admits` decides whether a part satisfies the requirement.
    pub fn mondrian(&self, admits: impl FnMut(&[u32]) -> Result<bool>) -> Result<Groups> {
        self.cuts().groups(admits)
    }

    /// Groups that are certainly admitted; see [`MedianCuts::proved`].
    pub fn proved(&self, admits: &mut impl FnMut(&[u32]) -> Result<Passes>) -> Result<Groups> {
        self.cuts().proved(admits)
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
        let columns = self.cuts().columns;
        let cost = |group: &Vec<u32>| {
            let widths = columns.iter().map(|column| column.width(&column.extent(group)));
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
        let (mut answers, columns) = (workload.no_answers(), self.cuts().columns);
        for group in groups {
            let covers = columns.iter().map(|column| Cover::Range(column.extent(group))).collect();
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
