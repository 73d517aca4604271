//! Would a finished group have been cut if its people had other sensitive values?
//!
//! Whoever repeats the algorithm rules out all arrangements of a group's values for which it would have been. The
//! planner itself answers, so this cannot differ from what it does.

use super::count::Counted;
use super::frontier::OpenNode;
use super::plan::SplitPlan;
use super::propose::ProposalRoom;
use super::rows::InMemory;
use crate::encode::codes::Codes;
use crate::encode::column::Column;
use crate::encode::group_counts::{GroupCounts, Part};
use crate::encode::rows::{Rows, Sensitive};
use crate::group::tree::{Cut, CutTree};
use crate::math::beliefs::group::Passes;
use crate::model::split::SplitTest;
use std::ops::Range;

/// A finished group, or a node that was cut, whose sensitive values can be rearranged; one value per person.
pub struct Rearranged<'a> {
    plan: SplitPlan<'a>,
    rows: InMemory<'a>,
    node: OpenNode,
    values: u32,
    room: ProposalRoom,
}

impl<'a> Rearranged<'a> {
    /// Creates it from the rows of a group and the number of sensitive values.
    pub fn new(plan: SplitPlan<'a>, rows: Rows, values: usize) -> Self {
        let extent = plan.columns.iter().map(|column| 0..column.codes).collect();
        Rearranged::of_node(plan, rows, extent, values)
    }

    /// The same for a node with these codes between its cuts.
    pub fn of_node(plan: SplitPlan<'a>, rows: Rows, extent: Vec<Range<u32>>, values: usize) -> Self {
        let columns: &'a [Column] = plan.columns;
        let whole: GroupCounts = rows.total(values);
        let node = OpenNode {
            id: CutTree::ROOT,
            extent,
            part: Part::of(&whole),
            rows: 0..rows.len(),
            passes: Passes::Yes,
            obstacle: None,
        };
        let rows = InMemory::new(columns, rows);
        Rearranged { plan, rows, node, values: values as u32, room: ProposalRoom::default() }
    }

    /// Whether the group is cut no further if its people have these values. `criterion` has accepted all groups of the
    /// release: what it admits, it would have admitted at any time before.
    pub fn stays_whole(&mut self, values: &[u16], criterion: &dyn SplitTest) -> bool {
        self.proposed(values, criterion).is_none()
    }

    /// The cut that is preferred if the people have these values. `criterion` must remember nothing.
    pub fn proposed(&mut self, values: &[u16], criterion: &dyn SplitTest) -> Option<Cut> {
        let mut codes = Codes::with_capacity(self.values, values.len());
        values.iter().for_each(|&value| codes.push(value));
        self.rows.rows.sensitive = Sensitive::Single(codes);
        let counted = Counted { counts: &(), place: 0, node: &self.node };
        let proposed = self.plan.propose(&self.rows, counted, criterion, 1, &mut self.room)?;
        Some(proposed.proposal.cut)
    }
}
