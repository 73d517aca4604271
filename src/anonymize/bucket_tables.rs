//! The two tables of a release of similar people.
//!
//! `quasi/` has a row for each person, in the order of the contents of a group; `sensitive/` has a row for
//! each value of a group. Memory: a batch per table, a count per sensitive value, and the list of the people
//! left out.

use super::job::Workplace;
use super::suppressed::Suppressed;
use crate::encode::combination::SensitiveColumns;
use crate::encode::group_counts::{GroupCounts, Part};
use crate::encode::payload::Payload;
use crate::error::Result;
use crate::group::groups::Group;
use crate::group::tree::CutTree;
use crate::policy::Ranges;
use crate::release::part_writer::{PartOptions, PartWriter};
use crate::release::penalty::Utility;
use crate::release::rows::{GroupLabel, GroupRows, GroupValues, RowColumns};

/// The two tables of a release while they are written, and the people who are in neither.
pub(super) struct BucketTables<'a> {
    rows: GroupRows<'a>,
    people_table: PartWriter,
    values: GroupValues<'a>,
    values_table: PartWriter,
    suppressed: Suppressed<'a>,
    label: GroupLabel,
    groups: u64,
    people: u64,
    squares: u128,
}

impl<'a> BucketTables<'a> {
    pub(super) fn create(
        payload: &'a Payload,
        sensitive: &'a SensitiveColumns,
        options: PartOptions,
        workplace: &'a Workplace<'_>,
    ) -> Result<Self> {
        let (folder, resources) = (workplace.staging.folder(), &workplace.resources);
        let columns =
            RowColumns { labels: vec![], ranges: Ranges::Label, payload: Some(payload), sensitive: None };
        let rows = GroupRows::new(columns);
        let values = GroupValues::new(sensitive);
        let part = Part::of(&GroupCounts::none(sensitive.len()));
        let group = Group { node: CutTree::ROOT, present: vec![], part, obstacle: None };
        let label = rows.label(&group);
        Ok(BucketTables {
            people_table: PartWriter::create(&folder.join("quasi"), rows.schema().clone(), options.clone())?,
            values_table: PartWriter::create(&folder.join("sensitive"), values.schema().clone(), options)?,
            rows,
            values,
            suppressed: Suppressed::new(&resources.budget, &workplace.spill)?,
            label,
            groups: 0,
            people: 0,
            squares: 0,
        })
    }

    /// The people left out, and the utility of the groups, which have no labels.
    pub(super) fn finish(mut self) -> Result<(Suppressed<'a>, Utility)> {
        self.people_table.write(self.rows.take()?)?;
        self.people_table.finish()?;
        self.values_table.write(self.values.take()?)?;
        self.values_table.finish()?;
        let utility = Utility {
            average_group_size: self.people as f64 / self.groups.max(1) as f64,
            discernibility: self.squares,
            columns: Vec::new(),
        };
        Ok((self.suppressed, utility))
    }

    /// Writes the next group, with the published data of its people.
    pub(super) fn group(&mut self, number: u64, group: &Group, people: &[&[u8]]) -> Result<()> {
        self.groups = number;
        self.values_table.begin_group(self.people, || self.values.take())?;
        self.people_table.begin_group(self.people, || self.rows.take())?;
        self.people += people.len() as u64;
        self.squares += (people.len() as u128).pow(2);
        self.values.push_group(number, group, |batch| self.values_table.write(batch))?;
        for person in people {
            self.rows.push_row(number, &self.label, 0, person, |batch| self.people_table.write(batch))?;
        }
        Ok(())
    }

    /// Leaves a row out.
    pub(super) fn suppress(&mut self, row: u64) -> Result<()> {
        self.suppressed.push(row)
    }
}
