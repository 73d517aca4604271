//! What did the check find?

use std::sync::Arc;

use super::explorable::Explorable;
use crate::math::skyline::Values;
use crate::model::finding::{Finding, Note};
use crate::model::group_sizes::GroupSizes;
use crate::release::manifest::PublishedColumn;
use crate::resources::budget::Reservation;

/// The verdict on a release, or any table of groups.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// Each protected column; at least one.
    pub columns: Vec<JudgedColumn>,
}

/// One protected column.
#[derive(Debug, Clone)]
pub struct JudgedColumn {
    /// The findings about it.
    pub finding: Finding,
    /// The groups that decide about its values at every point; empty unless requested.
    pub explorable: Explorable,
    /// How many sensitive values a person may have.
    pub values: Values,
    /// Rows of the table.
    pub records: u64,
    /// Different people.
    pub individuals: u64,
    /// Groups.
    pub groups: u64,
    /// People in the smallest group.
    pub smallest_group: u64,
    /// Different sensitive values in the group with the fewest.
    pub fewest_values: u64,
    /// The required minimum group size.
    pub minimum_group_size: u64,
    /// The required minimum number of different values.
    pub minimum_distinct_values: u64,
    /// Groups by size.
    pub sizes: GroupSizes,
    /// The order of the groups in the table. It determines how groups are numbered in the findings: by the
    /// row, from 0, at which they begin if they are contiguous; otherwise by the value of their only group
    /// column if that is a whole number; otherwise the numbers only distinguish groups.
    pub order: Order,
    /// Bytes that did not fit in memory.
    pub spilled_bytes: u64,
    /// The memory of the findings and of what can be explored.
    pub(super) _room: Arc<Reservation>,
}

/// The order of the groups in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The rows of each group were contiguous: one scan was enough.
    Clustered,
    /// A group recurred, or memory was too small to rule it out: the table was scanned a second time.
    Scattered,
    /// Rows had to be brought together by person first.
    ByPerson,
    /// People and values came from two tables.
    Bucketized,
}

impl Verdict {
    /// Whether every requirement is proven for every column.
    pub fn is_safe(&self) -> bool {
        self.columns.iter().all(|column| column.finding.safe)
    }

    /// Whether it may be published: it is safe, or the owner accepts values that nothing protects.
    pub fn stands(&self) -> bool {
        self.findings().all(Finding::stands)
    }

    /// Whether it is safe; `None` if it is not protected, as the owner accepts.
    pub fn safety(&self) -> Option<bool> {
        (self.is_safe() || !self.stands()).then(|| self.is_safe())
    }

    /// What holds for values that nothing protects, in words; `None` if everything is protected.
    pub fn unprotected(&self) -> Option<String> {
        let of_column = |finding: &Finding| Some((finding.column.clone(), finding.unprotected?.in_words()));
        let words: Vec<(String, String)> = self.findings().filter_map(of_column).collect();
        match &words[..] {
            [] => None,
            [(_, only)] if self.columns.len() == 1 => Some(only.clone()),
            several => {
                let named = several.iter().map(|(column, words)| format!("{column}: {words}"));
                Some(named.collect::<Vec<_>>().join("; "))
            }
        }
    }

    /// How many people have a value that nothing protects: the most of all columns.
    pub fn unprotected_people(&self) -> u64 {
        self.findings().filter_map(|finding| Some(finding.unprotected?.people)).max().unwrap_or(0)
    }

    /// Whether every requirement that was judged is proven.
    pub fn holds_as_far_as_judged(&self) -> bool {
        self.findings().all(Finding::holds_as_far_as_judged)
    }

    /// Whether something was not judged.
    pub fn is_open(&self) -> bool {
        self.findings().any(Finding::is_open)
    }

    /// What the owner may not expect.
    pub fn warnings(&self) -> Vec<String> {
        let notes = self.findings().flat_map(|finding| &finding.notes);
        let warning = |note: &Note| match note {
            Note::Warning(text) => Some(text.clone()),
            _ => None,
        };
        notes.filter_map(warning).collect()
    }

    /// The findings of all columns.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.columns.iter().map(|column| &column.finding)
    }

    /// The first column; anything that does not depend on values is the same for all.
    pub fn first(&self) -> &JudgedColumn {
        &self.columns[0]
    }
}

impl<'a> From<&'a JudgedColumn> for PublishedColumn<'a> {
    fn from(column: &'a JudgedColumn) -> Self {
        PublishedColumn {
            finding: &column.finding,
            values: column.values,
            records: column.records,
            individuals: column.individuals,
            groups: column.groups,
            smallest_group: column.smallest_group,
            discernibility: column.sizes.squares(),
        }
    }
}
