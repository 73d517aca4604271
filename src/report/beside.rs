//! What would groups be worth that protect against nobody who knows distributions?
//!
//! Mondrian with median cuts on the same people, where no value is more frequent than 1/r in any group: what is usually made
//! in place of an r-robust release. It answers the same queries from the range of codes of each group.
//!
//! Memory: two bytes per person and column, twelve per person; taken from the budget, and without them nothing is compared.
//! Work: a few passes over the people for each doubling of the number of groups, so no table of more than [`MOST_PEOPLE`] is
//! compared.
//! Invariant: neither the order of the rows nor the number of threads matters.

use crate::encode::attribute::Attribute;
use crate::encode::column::Width;
use crate::encode::encoder::Encoder;
use crate::encode::rows::{Rows, Sensitive};
use crate::encode::source::{Source, SourceBatches};
use crate::error::{Error, Result};
use crate::group::mondrian::{MedianColumn, MedianCuts};
use crate::math::robust::Requirement;
use crate::report::utility::{Cover, QueryErrors, Released, Workload};

use super::comparison::CodedOriginal;

/// The most people who are grouped for comparison.
pub const MOST_PEOPLE: u64 = 1 << 20;

/// The errors of queries that are answered from probabilistically diverse Mondrian groups.
#[derive(Debug, Clone, PartialEq)]
pub enum DiverseMondrian {
    /// There are more than [`MOST_PEOPLE`].
    TooManyPeople,
    /// There is no memory to group them.
    TooLittleMemory,
    /// What the groups are worth.
    Measured {
        /// How many groups there are.
        groups: u64,
        /// The errors of the answers.
        errors: QueryErrors,
    },
}

/// The people of a table, who are read once.
pub(super) struct OriginalPeople<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) original: &'a CodedOriginal<'a>,
    pub(super) many: u64,
}

impl DiverseMondrian {
    /// Groups these people and answers the queries; `counts` are the true answers.
    pub(super) fn measure(
        people: &OriginalPeople<'_>,
        requirement: &Requirement,
        workload: &Workload,
        counts: &[u64],
    ) -> Result<Self> {
        if people.many > MOST_PEOPLE {
            return Ok(DiverseMondrian::TooManyPeople);
        }
        match DiverseMondrian::group(people, requirement, workload, counts) {
            Err(Error::Memory { .. }) => Ok(DiverseMondrian::TooLittleMemory),
            measured => measured,
        }
    }

    fn group(
        people: &OriginalPeople<'_>,
        requirement: &Requirement,
        workload: &Workload,
        counts: &[u64],
    ) -> Result<Self> {
        let attributes = &people.original.attributes;
        let bytes = people.many * (2 * (attributes.len() as u64 + 1) + 12);
        let _room = people.source.resources.budget.reserve("groups to compare with", bytes)?;
        let (columns, values) = people.codes()?;
        let column = |(codes, attribute): (Vec<u16>, &Attribute)| MedianColumn {
            codes: codes.into(),
            places: places(attribute),
        };
        let cuts = MedianCuts { columns: columns.into_iter().zip(attributes).map(column).collect() };
        let mut tally = Tally::new(&values, people.original.sensitive.len());
        let resources = people.source.resources;
        let groups = cuts.groups(|part| {
            resources.progress.go_on()?;
            let most = tally.count(part).iter().map(|&(_, count)| count).max();
            Ok(requirement.allows_share(most.unwrap_or(0), part.len() as u64))
        })?;
        let mut answers = workload.no_answers();
        for group in &groups {
            let covers = cuts.columns.iter().map(|column| Cover::Range(column.extent(group))).collect();
            let values = tally.count(group).to_vec();
            workload.answer(&Released { people: group.len() as u64, covers, values }, &mut answers);
        }
        let errors = QueryErrors::of(counts, &answers, QueryErrors::least_of(people.many));
        Ok(DiverseMondrian::Measured { groups: groups.len() as u64, errors })
    }
}

/// Counts values in time that depends on the people alone, not on how many values there are.
struct Tally<'v> {
    /// The value of each person.
    values: &'v [u16],
    /// For each value; 0 between two counts.
    counts: Vec<u64>,
    found: Vec<(u32, u64)>,
}

impl<'v> Tally<'v> {
    fn new(values: &'v [u16], many: usize) -> Self {
        Tally { values, counts: vec![0; many], found: Vec::new() }
    }

    /// How often each value occurs among these people, in ascending order of the values.
    fn count(&mut self, people: &[u32]) -> &[(u32, u64)] {
        self.found.clear();
        for &row in people {
            let value = self.values[row as usize];
            let count = &mut self.counts[usize::from(value)];
            if *count == 0 {
                self.found.push((u32::from(value), 0));
            }
            *count += 1;
        }
        for (value, count) in &mut self.found {
            *count = std::mem::take(&mut self.counts[*value as usize]);
        }
        self.found.sort_unstable();
        &self.found
    }
}

impl OriginalPeople<'_> {
    /// The codes of the quasi-identifiers, column by column, and of the sensitive values.
    fn codes(&self) -> Result<(Vec<Vec<u16>>, Vec<u16>)> {
        let CodedOriginal { attributes, sensitive, .. } = self.original;
        let encoder = Encoder::new(attributes, sensitive, &self.source.resources.budget);
        let work = |batches: SourceBatches<'_>| {
            let mut parts: Vec<Rows> = Vec::new();
            for batch in batches {
                parts.push(encoder.rows(&batch?)?);
            }
            Ok(parts)
        };
        let (mut columns, mut values) = (vec![Vec::new(); attributes.len()], Vec::new());
        self.source.scan("reading people to compare", work, |parts| {
            for rows in parts {
                for (all, own) in columns.iter_mut().zip(&rows.columns) {
                    all.extend((0..own.len()).map(|row| own.get(row)));
                }
                if let Sensitive::Single(own) = &rows.sensitive {
                    values.extend((0..own.len()).map(|row| own.get(row)));
                }
            }
            Ok(())
        })?;
        Ok((columns, values))
    }
}

/// Where the codes of a column lie: by their values, or by their order where there is no distance.
fn places(attribute: &Attribute) -> Vec<f64> {
    match attribute.column().width {
        Width::Span(coordinates) => coordinates,
        Width::Share => (0..attribute.codes()).map(f64::from).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_reset_between_two_parts() {
        let values = [3, 1, 3, 0, 1, 3];
        let mut tally = Tally::new(&values, 5);
        assert_eq!(tally.count(&[0, 1, 2, 5]), [(1, 1), (3, 3)]);
        assert_eq!(tally.count(&[]), []);
        assert_eq!(tally.count(&[5, 4, 3, 1]), [(0, 1), (1, 2), (3, 1)]);
        assert!(tally.counts.iter().all(|&count| count == 0));
    }
}
