//! Who writes the groups of a release that are found by splitting?

use crate::encode::group_counts::GroupCounts;
use crate::error::Result;
use crate::group::groups::{Group, PlacedRows};
use crate::group::split::part_rows::PartRows;
use crate::release::files_elsewhere::{FilesElsewhere, TaskResults};
use crate::release::output::{Output, ReleaseShape};
use crate::release::part_writer::PartOptions;
use crate::release::person_log::PersonLog;
use crate::resources::budget::Budget;
use crate::resources::spill::Spill;
use std::path::Path;
use std::sync::Arc;

/// Who writes the groups.
pub(super) enum Writing<'a> {
    /// This process.
    Here(Box<Output<'a>>),
    /// The tasks of an engine, a file each.
    Elsewhere(Box<FilesElsewhere<'a>>),
}

impl<'a> Writing<'a> {
    /// Creates the tables below `folder`; whoever has the rows writes them.
    pub fn begin(
        (rows, whole): (&PartRows<'a>, &'a GroupCounts),
        folder: &Path,
        shape: &'a ReleaseShape<'a>,
        spill: &'a Spill,
        options: PartOptions,
    ) -> Result<Self> {
        Ok(match rows {
            PartRows::Here(_) => Writing::Here(Box::new(Output::create(folder, shape, spill, options)?)),
            PartRows::Elsewhere(held) => {
                let held = (held.clone(), &whole.counts[..]);
                let files = FilesElsewhere::create(folder, shape, held, spill, &options)?;
                Writing::Elsewhere(Box::new(files))
            }
        })
    }

    /// Adds the next group.
    pub fn push(&mut self, number: u64, group: Group) -> Result<()> {
        match self {
            Writing::Here(output) => output.push(number, &group),
            Writing::Elsewhere(files) => files.push(number, group),
        }
    }

    /// Writes the rows that travel, of which the groups are the last ones added.
    pub fn push_travelling(&mut self, rows: PlacedRows<'_>, budget: &Arc<Budget>) -> Result<()> {
        match self {
            Writing::Here(output) => output.push_travelling(rows, budget),
            Writing::Elsewhere(files) => files.push_travelling(rows),
        }
    }

    /// Waits until everything is written; returns who went to which group, and the files of tasks.
    pub fn finish(self) -> Result<(PersonLog, Option<TaskResults>)> {
        match self {
            Writing::Here(output) => Ok((output.finish()?, None)),
            Writing::Elsewhere(files) => Ok((PersonLog::default(), Some(files.finish()?))),
        }
    }
}
