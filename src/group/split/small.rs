//! Which groups does a table in memory fall into?
//!
//! The same groups as [`Growth`](super::grow::Growth) makes of a table that is finished in memory as a whole.

use super::frontier::OpenNode;
use super::grow::group;
use super::plan::SplitPlan;
use super::rows::InMemory;
use super::subtree::Subtree;
use crate::encode::group_counts::{GroupCounts, Part};
use crate::encode::rows::Rows;
use crate::error::Result;
use crate::group::groups::Group;
use crate::model::split::SplitTest;

impl SplitPlan<'_> {
    /// The groups of these rows, whose counts are `whole` and admitted by the criterion.
    pub fn groups(
        &self,
        rows: Rows,
        whole: &GroupCounts,
        criterion: &mut dyn SplitTest,
    ) -> Result<Option<Vec<Group>>> {
        criterion.accept(&[Part::of(whole)]);
        let mut rows = InMemory::new(self.columns, rows);
        let root = OpenNode::root(self.columns, whole);
        let Some(Subtree { tree, leaves, .. }) = self.finish(&mut rows, root, criterion)? else {
            return Ok(None);
        };
        let groups: Result<_> = leaves.into_iter().map(|node| group(&rows, &tree, node)).collect();
        groups.map(Some)
    }
}
