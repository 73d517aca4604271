//! How do groups become the two tables of a release?
//!
//! `quasi/` has a row for each person, in the order of the contents of a group; `sensitive/` has a row for each value of
//! a group. Memory: a batch per table, a count per sensitive value, and the list of who is left out.

use std::path::Path;
use std::sync::Arc;

use super::suppressed::Suppressed;
use crate::encode::combination::SensitiveColumns;
use crate::encode::group_counts::GroupCounts;
use crate::encode::payload::Payload;
use crate::error::Result;
use crate::group::groups::Group;
use crate::group::tree::CutTree;
use crate::policy::Ranges;
use crate::release::release::PartWriter;
use crate::release::rows::{Columns, GroupLabel, GroupRows, GroupValues};
use crate::resources::budget::Budget;
use crate::resources::spill::Spill;
use crate::table::write::WriteOptions;

/// The two tables of a release while they are written, and who is in neither.
pub(super) struct BucketTables<'a> {
    rows: GroupRows<'a>,
    people: PartWriter,
    values: GroupValues<'a>,
    sensitive: PartWriter,
    suppressed: Suppressed<'a>,
    label: GroupLabel,
    sizes: GroupSizes,
}

/// How many groups there are, and the sum of their squared sizes.
#[derive(Default)]
pub(super) struct GroupSizes {
    pub(super) groups: u64,
    pub(super) squares: u128,
}

impl<'a> BucketTables<'a> {
    pub(super) fn create(
        folder: &Path,
        payload: &'a Payload,
        sensitive: &'a SensitiveColumns,
        threads: usize,
        budget: &Arc<Budget>,
        spill: &'a Spill,
    ) -> Result<Self> {
        let options = WriteOptions { threads, ..WriteOptions::default() };
        let columns =
            Columns { labels: vec![], ranges: Ranges::Label, payload: Some(payload), sensitive: None };
        let rows = GroupRows::new(columns);
        let values = GroupValues::new(sensitive);
        let part = GroupCounts { people: 0, counts: vec![0; sensitive.len()] };
        let group = Group { node: CutTree::ROOT, extent: vec![], present: vec![], part };
        let label = rows.label(&group);
        Ok(BucketTables {
            people: PartWriter::create(&folder.join("quasi"), rows.schema().clone(), options.clone())?,
            sensitive: PartWriter::create(&folder.join("sensitive"), values.schema().clone(), options)?,
            rows,
            values,
            suppressed: Suppressed::new(budget, spill)?,
            label,
            sizes: GroupSizes::default(),
        })
    }

    pub(super) fn finish(mut self) -> Result<(Suppressed<'a>, GroupSizes)> {
        self.people.write(self.rows.finish()?)?;
        self.people.finish()?;
        self.sensitive.write(self.values.finish()?)?;
        self.sensitive.finish()?;
        Ok((self.suppressed, self.sizes))
    }

    /// Writes the next group, with what travels of its people.
    pub(super) fn group(&mut self, number: u64, group: &Group, people: &[&[u8]]) -> Result<()> {
        self.sizes.groups = number;
        self.sizes.squares += (people.len() as u128).pow(2);
        self.values.push_group(number, group, |batch| self.sensitive.write(batch))?;
        for person in people {
            self.rows.push_row(number, &self.label, 0, person, |batch| self.people.write(batch))?;
        }
        Ok(())
    }

    /// Leaves a row out.
    pub(super) fn suppress(&mut self, row: u64) -> Result<()> {
        self.suppressed.push(row)
    }
}
