//! Which groups does a table fall into if everyone's values are generalized to the same levels?
//!
//! One pass over the code pages counts the cells at the finest levels; the lattice is searched on these counts.
//! Memory: twice the cells that contain people, taken from the budget; if there are too many, the search fails.

use super::{ColumnLevels, LatticeCells, LatticeMeasure, LatticeNode, minimal_safe};
use crate::encode::attribute::{Attribute, Coding};
use crate::encode::column::Column;
use crate::encode::group_counts::{GroupCounts, Part};
use crate::encode::page::PageStore;
use crate::encode::rows::Sensitive;
use crate::error::{Error, Result};
use crate::group::groups::{Group, Present};
use crate::group::tree::{Cut, CutTree, NodeId};
use crate::model::split::{Scratch, SplitTest};
use crate::resources::budget::Budget;
use std::ops::Range;
use std::sync::Arc;

/// The result of searching the lattice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    /// The lowest safe nodes: a level for each quasi-identifier, where 0 means its values.
    pub minimal: Vec<LatticeNode>,
    /// The one that is published.
    pub chosen: LatticeNode,
    /// Nodes whose groups were judged.
    pub tested: u64,
}

/// The inputs of a search, which it does not change.
pub struct FullDomain<'a> {
    /// The quasi-identifiers.
    pub columns: &'a [Column],
    /// Their levels.
    pub levels: Vec<ColumnLevels>,
    /// Decides which of the lowest safe nodes is best.
    pub measure: LatticeMeasure,
    /// The memory budget.
    pub budget: &'a Arc<Budget>,
}

/// The levels of a quasi-identifier.
pub fn levels(attribute: &Attribute, column: &Column) -> ColumnLevels {
    match &attribute.coding {
        Coding::Numbers(ordered) => {
            let null = attribute.nulls.then_some(None);
            let known = ordered.places().into_iter().map(Some);
            ColumnLevels::intervals(&null.into_iter().chain(known).collect::<Vec<_>>())
        }
        Coding::Tree { hierarchy, .. } => {
            // By level, not by depth: a group that does not change from one level to the next is less deep.
            let place = |code: u32, level: u32| {
                attribute.unshifted(code).map(|leaf| hierarchy.ancestor_at(leaf, level))
            };
            let changes = |level: u32| {
                (1..column.codes).filter(|&code| place(code - 1, level) != place(code, level)).collect()
            };
            ColumnLevels::new(column.codes, (0..hierarchy.top_level()).map(changes))
        }
        _ => ColumnLevels::of_column(column),
    }
}

/// Whether all cells may be groups. Cells are judged one by one, so that the first bad one ends the search; a cell that
/// is rejected alongside some of the others is rejected alongside all of them.
fn is_safe(cells: &LatticeCells, mut criterion: Box<dyn SplitTest>) -> bool {
    cells.parts().map(|part| [Part::of(part)]).all(|part| {
        let admitted = criterion.admits(&part, &mut Scratch::default());
        if admitted {
            criterion.accept(&part);
        }
        admitted
    })
}

/// How often the memory of the cells is checked, in rows.
const PERIOD: usize = 4096;

impl FullDomain<'_> {
    /// Finds the best of the lowest safe nodes and passes its groups with their numbers to `sink`, in tree order.
    /// `criterion` creates a criterion that has accepted nothing yet; the whole table must be safe.
    pub fn search(
        &self,
        store: &PageStore<'_>,
        values: usize,
        criterion: impl Fn() -> Result<Box<dyn SplitTest>>,
        mut sink: impl FnMut(u64, Group) -> Result<()>,
    ) -> Result<(CutTree, Searched)> {
        let mut reserved = self.budget.reserve("the cells of the lattice", 0)?;
        let finest = self.count(store, values, &mut |bytes, cells| {
            reserved.resize("the cells of the lattice", 2 * bytes).map_err(|_| {
                Error::input(
                    format!("the finest levels of the lattice have more than {cells} cells, too many for the budget"),
                    "allow more memory, or give quasi-identifiers with fewer values",
                )
            })
        })?;
        let counts: Vec<usize> = self.levels.iter().map(ColumnLevels::len).collect();
        let mut tested = 0;
        let minimal = minimal_safe(&counts, |node| {
            tested += 1;
            Ok(is_safe(&finest.rolled_up(&self.levels, node), criterion()?))
        })?;
        let cost = |node: &LatticeNode| {
            let cells = finest.rolled_up(&self.levels, node);
            self.measure.cost((node, &cells), &finest, &self.levels, self.columns)
        };
        let best = minimal.iter().map(|node| (cost(node), node)).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, chosen)) = best else {
            return Err(Error::input(
                "no node of the lattice is safe",
                "this is a defect, as the whole table is safe; please report it",
            ));
        };
        let cells = finest.rolled_up(&self.levels, chosen).into_sorted();
        let (mut tree, mut groups) = (CutTree::default(), Vec::new());
        self.cut(&mut tree, CutTree::ROOT, chosen, &cells, 0, &mut groups);
        for ((number, node), (cell, part)) in (1..).zip(groups).zip(cells) {
            tree.number(node, number);
            sink(number, self.group(node, chosen, &cell, part))?;
        }
        let searched = Searched { chosen: chosen.clone(), minimal, tested };
        Ok((tree, searched))
    }

    fn count(
        &self,
        store: &PageStore<'_>,
        values: usize,
        account: &mut dyn FnMut(u64, usize) -> Result<()>,
    ) -> Result<LatticeCells> {
        let mut cells = LatticeCells::new(values);
        let mut room = store.layout().empty(0);
        let mut cell = vec![0; self.columns.len()];
        for page in 0..store.len() {
            let rows = store.load(page, &mut room)?;
            let Sensitive::Single(codes) = &rows.sensitive else {
                return Err(Error::input(
                    "the lattice is searched for single values only: elsewhere merging groups can raise a risk",
                    "search the tree of cuts instead of the lattice",
                ));
            };
            for row in 0..rows.len() {
                for (place, (levels, column)) in cell.iter_mut().zip(self.levels.iter().zip(&rows.columns)) {
                    *place = levels.cell(0, column.get(row));
                }
                cells.add(&cell, codes.get(row));
                if row % PERIOD == 0 {
                    account(cells.bytes(self.columns.len()), cells.len())?;
                }
            }
        }
        account(cells.bytes(self.columns.len()), cells.len())?;
        Ok(cells)
    }

    /// Cuts the node of these sorted cells by one column after the other, between cells that contain people; `groups`
    /// receives the node of each cell.
    fn cut(
        &self,
        tree: &mut CutTree,
        node: NodeId,
        chosen: &[usize],
        cells: &[(Vec<u16>, GroupCounts)],
        column: usize,
        groups: &mut Vec<NodeId>,
    ) {
        if column == self.columns.len() {
            groups.push(node);
            return;
        }
        let runs: Vec<&[(Vec<u16>, GroupCounts)]> =
            cells.chunk_by(|a, b| a.0[column] == b.0[column]).collect();
        let level =
            |run: &&[(Vec<u16>, GroupCounts)]| self.levels[column].range(chosen[column], run[0].0[column]);
        let boundaries: Box<[u32]> = runs.iter().skip(1).map(|run| level(run).start).collect();
        let first = if boundaries.is_empty() { node } else { tree.split(node, Cut { column, boundaries }) };
        for (child, run) in (first..).zip(runs) {
            self.cut(tree, child, chosen, run, column + 1, groups);
        }
    }

    /// A group is labelled by its whole cells, even if nobody has some of their values.
    fn group(&self, node: NodeId, chosen: &[usize], cell: &[u16], part: GroupCounts) -> Group {
        let places = self.levels.iter().zip(chosen).zip(cell);
        let extent = places.map(|((levels, &level), &cell)| levels.range(level, cell));
        let codes = |extent: Range<u32>| extent.map(|code| code as u16).collect();
        let present =
            self.columns.iter().zip(extent).map(|(column, extent)| Present::new(column, codes(extent)));
        Group { node, present: present.collect(), part: Part::of(&part), obstacle: None }
    }
}
