//! Which groups come out if the cuts of another table are followed?
//!
//! From the root downwards, a cut is followed if all parts with people are admitted in addition to everything before;
//! otherwise its node is a group. So parts that fail are joined to the nearest node above them that passes. Nothing but
//! the given cuts is tried: the groups are safe, and not called minimal.
//!
//! Memory: 8 bytes per node and sensitive value, and the codes of each group, taken from the budget.

use crate::encode::column::{Column, Width};
use crate::encode::group_counts::{GroupCounts, Part};
use crate::encode::page::PageStore;
use crate::encode::rows::{Rows, Sensitive};
use crate::error::Result;
use crate::group::groups::{Group, Present};
use crate::group::tree::{CutTree, NodeId};
use crate::model::split::{Scratch, SplitTest};
use crate::resources::budget::Budget;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Cuts that were made elsewhere.
pub struct FollowedCuts<'a> {
    /// The cuts, in the codes of this table; groups have no numbers yet.
    pub tree: CutTree,
    /// The quasi-identifiers.
    pub columns: &'a [Column],
    /// The memory budget.
    pub budget: &'a Arc<Budget>,
}

const STAGE: &str = "the counts below the cuts of another release";

impl FollowedCuts<'_> {
    /// Passes the groups with their numbers to `sink`, in the order of the tree. `test` has accepted the whole table.
    pub fn publish(
        mut self,
        store: &PageStore<'_>,
        values: usize,
        test: &mut dyn SplitTest,
        mut sink: impl FnMut(u64, Group) -> Result<()>,
    ) -> Result<CutTree> {
        let _counts = self.budget.reserve(STAGE, (self.tree.len() * (8 * values + 48)) as u64)?;
        let parts = self.count(store, values)?;
        self.choose(&parts, test);
        let groups = self.tree.groups_below(CutTree::ROOT);
        let groups = groups.into_iter().filter(|node| parts[*node as usize].people > 0);
        let numbered: BTreeMap<NodeId, u64> = groups.zip(1..).collect();
        // The nodes of a tree are not in its order.
        let mut by_number: Vec<(u64, NodeId)> =
            numbered.iter().map(|(node, number)| (*number, *node)).collect();
        by_number.sort_unstable();
        let mut present = self.present(store, &numbered)?;
        for (number, node) in by_number {
            self.tree.number(node, number);
            let part = Part::of(&parts[node as usize]);
            let present = present.remove(&node).unwrap_or_default();
            let present = present.into_iter().map(Occurring::finish).collect();
            sink(number, Group { node, present, part, obstacle: None })?;
        }
        Ok(self.tree)
    }

    /// The people and values of each node.
    fn count(&self, store: &PageStore<'_>, values: usize) -> Result<Vec<GroupCounts>> {
        let mut parts = vec![GroupCounts::none(values); self.tree.len()];
        for_each_row(store, |rows, row| {
            let part = &mut parts[self.tree.find(|column| rows.columns[column].get(row)) as usize];
            part.people += 1;
            match &rows.sensitive {
                Sensitive::Single(codes) => part.counts[usize::from(codes.get(row))] += 1,
                Sensitive::Lists { .. } => {
                    rows.list(row).iter().for_each(|code| part.counts[usize::from(*code)] += 1);
                }
            }
        })?;
        // Children come after their parents.
        for node in (0..self.tree.len()).rev() {
            for child in self.tree.children(node as NodeId).into_iter().flatten() {
                let own = parts[child as usize].clone();
                parts[node].add(&own);
            }
        }
        Ok(parts)
    }

    /// Joins every node whose parts are not admitted.
    fn choose(&mut self, parts: &[GroupCounts], test: &mut dyn SplitTest) {
        let (mut open, mut scratch) = (vec![CutTree::ROOT], Scratch::default());
        while let Some(node) = open.pop() {
            let Some(children) = self.tree.children(node) else { continue };
            let here: Vec<NodeId> = children.filter(|child| parts[*child as usize].people > 0).collect();
            let own: Vec<Part> = here.iter().map(|child| Part::of(&parts[*child as usize])).collect();
            match own.len() {
                // The same people once more.
                0 | 1 => open.extend(here),
                _ if test.admits(&own, &mut scratch) => {
                    test.accept(&own);
                    open.extend(here.into_iter().rev());
                }
                _ => self.tree.join(node),
            }
        }
    }

    /// The codes that occur in each group.
    fn present(
        &self,
        store: &PageStore<'_>,
        groups: &BTreeMap<NodeId, u64>,
    ) -> Result<BTreeMap<NodeId, Vec<Occurring>>> {
        let empty = || vec![Occurring::default(); self.columns.len()];
        let mut present: BTreeMap<NodeId, Vec<Occurring>> =
            groups.keys().map(|node| (*node, empty())).collect();
        for_each_row(store, |rows, row| {
            let node = self.tree.find(|column| rows.columns[column].get(row));
            let Some(own) = present.get_mut(&node) else { return };
            for ((own, column), codes) in own.iter_mut().zip(self.columns).zip(&rows.columns) {
                own.add(column, codes.get(row));
            }
        })?;
        Ok(present)
    }
}

/// The codes of a column that occur in a group.
#[derive(Debug, Clone, Default)]
struct Occurring {
    ends: Option<(u16, u16)>,
    least_above: Option<u16>,
    /// All of them, for columns whose width depends on their number.
    codes: BTreeSet<u16>,
}

impl Occurring {
    fn add(&mut self, column: &Column, code: u16) {
        let (low, high) = self.ends.unwrap_or((code, code));
        self.ends = Some((low.min(code), high.max(code)));
        if code > 0 {
            self.least_above = Some(self.least_above.map_or(code, |least| least.min(code)));
        }
        if column.width == Width::Share {
            self.codes.insert(code);
        }
    }

    fn finish(self) -> Present {
        let (low, high) = self.ends.unwrap_or_default();
        Present {
            ends: (low.into(), high.into()),
            least_above: self.least_above.unwrap_or(0).into(),
            codes: self.codes.into_iter().collect(),
        }
    }
}

fn for_each_row(store: &PageStore<'_>, mut each: impl FnMut(&Rows, usize)) -> Result<()> {
    let mut room = store.layout().empty(0);
    for page in 0..store.len() {
        let rows = store.load(page, &mut room)?;
        (0..rows.len()).for_each(|row| each(rows, row));
    }
    Ok(())
}
