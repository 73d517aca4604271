//! What if the tasks of an engine hold the rows?
//!
//! The loop stays where it is: the run decides, in the order of the nodes. Tasks count the pages of a part, sort them by
//! node, and grow the nodes that fit in memory, with the functions that the run uses for pages of its own. Only counts,
//! trees, groups and the parts that changed what is remembered come back.
//!
//! Memory: the counts of one batch of nodes; the groups of the nodes that tasks grow at once.

use super::count::Fineness;
use super::frontier::OpenNode;
use super::leaf::{CodesSeen, Pages};
use super::page_counts::{Histograms, NodeCounter, NodePlaces, coarsely, finely, most_nodes, slots};
use super::part_rows::PartRows;
use super::plan::SplitPlan;
use super::rows::OnPages;
use super::subtree::{GrownNode, NodeGroups};
use super::walk::{RowsByNode, Walk};
use crate::encode::column::Column;
pub use crate::encode::elsewhere::{HeldRows, SetPlacement};
use crate::encode::group_counts::{GroupCounts, Part};
use crate::encode::page::{Page, Travelling};
use crate::encode::sealed_pages::{SealedPages, damaged};
use crate::error::Result;
use crate::group::groups::Group;
use crate::group::tree::{CutTree, NodeId};
use crate::math::beliefs::group::Passes;
use crate::model::remembering::Remembering;
use crate::model::split::SplitTest;
use crate::resources::byte_form::{ByteForm, ByteReader, Parcel, PolicyStamp};

/// What tasks count.
struct CountRequest {
    tree: CutTree,
    nodes: Vec<NodeId>,
    /// The bins; `None` to find the codes that occur in the only node.
    fineness: Option<Fineness>,
}

impl ByteForm for CountRequest {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.tree.write(bytes);
        self.nodes.write(bytes);
        let fineness = self.fineness.map(|fineness| match fineness {
            Fineness::Coarse => None,
            Fineness::Finely(column) => Some(column),
        });
        fineness.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let (tree, nodes) = (CutTree::read(bytes)?, ByteForm::read(bytes)?);
        let fineness = Option::<Option<u32>>::read(bytes)?
            .map(|column| column.map_or(Fineness::Coarse, Fineness::Finely));
        Some(CountRequest { tree, nodes, fineness })
    }
}

impl Parcel for CountRequest {
    const KIND: u8 = 6;
    const NAME: &'static str = "a request to count pages";
}

/// Counts of some pages; those of others are added cell by cell.
struct CellCounts(Vec<u64>);

impl ByteForm for CellCounts {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.0.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        ByteForm::read(bytes).map(CellCounts)
    }
}

impl Parcel for CellCounts {
    const KIND: u8 = 7;
    const NAME: &'static str = "the counts of some pages";
}

/// How tasks sort pages.
struct SortRequest {
    tree: CutTree,
    nodes: Vec<NodeId>,
    /// Whether what travels with the rows goes along.
    travels: bool,
}

impl ByteForm for SortRequest {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.tree.write(bytes);
        self.nodes.write(bytes);
        self.travels.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let (tree, nodes) = (CutTree::read(bytes)?, ByteForm::read(bytes)?);
        Some(SortRequest { tree, nodes, travels: bool::read(bytes)? })
    }
}

impl Parcel for SortRequest {
    const KIND: u8 = 8;
    const NAME: &'static str = "a request to sort pages";
}

/// Which node a task grows, and against what.
struct GrowRequest {
    /// The codes between the cuts, per column.
    extent: Vec<(u32, u32)>,
    part: Part,
    /// The whole table.
    whole: GroupCounts,
    /// What was accepted and changed what is remembered.
    changes: Vec<Part>,
}

impl ByteForm for GrowRequest {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.extent.write(bytes);
        self.part.write(bytes);
        self.whole.write(bytes);
        self.changes.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some(GrowRequest {
            extent: ByteForm::read(bytes)?,
            part: ByteForm::read(bytes)?,
            whole: ByteForm::read(bytes)?,
            changes: ByteForm::read(bytes)?,
        })
    }
}

impl Parcel for GrowRequest {
    const KIND: u8 = 9;
    const NAME: &'static str = "a request to grow a node";
}

/// What became of a node.
struct GrownGroups {
    tree: CutTree,
    /// In tree order.
    groups: Vec<Group>,
    changes: Vec<Part>,
}

impl ByteForm for GrownGroups {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.tree.write(bytes);
        self.groups.write(bytes);
        self.changes.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some(GrownGroups {
            tree: ByteForm::read(bytes)?,
            groups: ByteForm::read(bytes)?,
            changes: ByteForm::read(bytes)?,
        })
    }
}

impl Parcel for GrownGroups {
    const KIND: u8 = 10;
    const NAME: &'static str = "the groups of a node";
}

impl GrownGroups {
    /// Whether these can be the groups of a node.
    fn fit(&self, columns: &[Column], node: &Part) -> bool {
        let known = |group: &Group| {
            let codes = group.present.iter().zip(columns);
            group.part.values() == node.values()
                && group.present.len() == columns.len()
                && codes.into_iter().all(|(own, column)| {
                    own.ends.0 <= own.ends.1
                        && own.ends.1 < column.codes
                        && own.least_above < column.codes
                        && own.codes.iter().all(|&code| u32::from(code) < column.codes)
                })
        };
        let people: u64 = self.groups.iter().map(|group| group.part.people).sum();
        let leaves = self.tree.groups_below(CutTree::ROOT);
        people == node.people
            && self.tree.highest_column().is_none_or(|column| column < columns.len())
            && leaves.iter().eq(self.groups.iter().map(|group| &group.node))
            && self.groups.iter().all(known)
            && self.changes.iter().all(|part| part.values() == node.values())
    }
}

/// The counts of the nodes of a part.
pub(super) fn histograms(
    rows: &HeldRows<'_>,
    tree: &CutTree,
    nodes: &[OpenNode],
    fineness: Fineness,
    pages: &OnPages<'_>,
) -> Result<Histograms> {
    pages.progress.go_on()?;
    let ids = nodes.iter().map(|node| node.id).collect();
    let request = CountRequest { tree: tree.clone(), nodes: ids, fineness: Some(fineness) };
    let CellCounts(cells) = rows.count(&request)?;
    Histograms::of_cells(&pages.binnings(fineness), pages.slots, nodes.len(), cells)
        .ok_or_else(|| damaged("the counts of pages are those of other nodes"))
}

/// The codes that occur in a node, by column.
pub(super) fn codes_seen(
    rows: &HeldRows<'_>,
    columns: &[Column],
    tree: &CutTree,
    node: NodeId,
) -> Result<Vec<Vec<bool>>> {
    let request = CountRequest { tree: tree.clone(), nodes: vec![node], fineness: None };
    let CellCounts(cells) = rows.count(&request)?;
    let all: usize = columns.iter().map(|column| column.codes as usize).sum();
    if cells.len() != all {
        return Err(damaged("the codes of a node are those of other columns"));
    }
    let mut cells = cells.into_iter().map(|rows| rows > 0);
    Ok(columns.iter().map(|column| cells.by_ref().take(column.codes as usize).collect()).collect())
}

/// Sorts the rows of a part into those of its nodes.
pub(super) fn sort<'e>(
    rows: &HeldRows<'e>,
    pages: Pages,
    gathered: SetPlacement,
    nodes: &[NodeId],
    tree: &CutTree,
) -> Result<Vec<PartRows<'e>>> {
    if nodes.is_empty() {
        return Ok(vec![]);
    }
    let request =
        SortRequest { tree: tree.clone(), nodes: nodes.to_vec(), travels: pages == Pages::Consumed };
    Ok(rows.sort(&request, nodes.len(), gathered)?.into_iter().map(PartRows::Elsewhere).collect())
}

/// A node that a task grew.
pub(super) struct ReturnedNode<'e> {
    rows: HeldRows<'e>,
    root: OpenNode,
    grown: GrownGroups,
}

impl<'e> ReturnedNode<'e> {
    /// Lets tasks grow nodes, each against what was accepted and changed what is remembered.
    pub(super) fn grow(
        nodes: Vec<(HeldRows<'e>, OpenNode)>,
        columns: &[Column],
        changes: &[Part],
    ) -> Result<Vec<Self>> {
        let Some((any, _)) = nodes.first() else { return Ok(vec![]) };
        let request = |root: &OpenNode| GrowRequest {
            extent: root.extent.iter().map(|codes| (codes.start, codes.end)).collect(),
            part: root.part.clone(),
            whole: any.whole().clone(),
            changes: changes.to_vec(),
        };
        let requests: Vec<_> = nodes.iter().map(|(rows, root)| (rows, request(root))).collect();
        let grown: Vec<GrownGroups> = any.grow(&requests)?;
        drop(requests);
        let returned =
            nodes.into_iter().zip(grown).map(|((rows, root), grown)| match grown.fit(columns, &root.part) {
                true => Ok(ReturnedNode { rows, root, grown }),
                false => Err(damaged("the groups of a node are those of another one")),
            });
        returned.collect()
    }

    /// As [`GrownNode::merge`](super::subtree::GrownNode::merge).
    pub(super) fn merge(&self, accepted: &mut Remembering) -> bool {
        accepted.merge(&self.grown.changes)
    }

    /// As [`GrownNode::grow`](super::subtree::GrownNode::grow).
    pub(super) fn grow_again(&mut self, columns: &[Column], accepted: &mut Remembering) -> Result<()> {
        let node = vec![(self.rows.clone(), self.root.clone())];
        for again in ReturnedNode::grow(node, columns, accepted.changes())? {
            *self = again;
        }
        match self.merge(accepted) {
            true => Ok(()),
            false => Err(damaged("a node was grown against something else than what was accepted")),
        }
    }

    /// Its groups. An engine has no rows to judge by, so nobody is left out.
    pub(super) fn into_groups(self) -> NodeGroups {
        let GrownGroups { tree, groups, .. } = self.grown;
        NodeGroups { tree, groups, left_out: Vec::new() }
    }
}

/// The counts of the pages of a task.
pub fn count_pages(
    sealed: &SealedPages,
    columns: &[Column],
    request: &[u8],
    pages: impl Iterator<Item = Result<Vec<u8>>>,
) -> Result<Vec<u8>> {
    let CountRequest { tree, nodes, fineness } = sealed.stamp.open(request)?;
    expect_nodes(&tree, &nodes, columns)?;
    let slots = slots(&sealed.layout);
    let binnings = match fineness {
        None => {
            let mut seen = CodesSeen::new(columns, &tree, nodes.first().copied().unwrap_or(CutTree::ROOT));
            for page in pages {
                seen.add(&sealed.open(&page?)?.page.rows);
            }
            let cells = seen.seen.into_iter().flatten().map(u64::from).collect();
            return Ok(sealed.stamp.seal(&CellCounts(cells)));
        }
        Some(Fineness::Coarse) => coarsely(columns),
        Some(Fineness::Finely(column)) => finely(columns, column as usize, slots),
    };
    if nodes.len() > most_nodes(&binnings, slots) {
        return Err(damaged("more nodes are to be counted than can be at once"));
    }
    let places = NodePlaces::new(&tree, &nodes);
    let mut counter = NodeCounter::new(&places, &binnings, slots);
    let mut total = Histograms::new(&binnings, slots, nodes.len());
    for page in pages {
        let page = sealed.open(&page?)?.page;
        if counter.is_full(&page.rows) {
            counter.empty_into(&mut total);
        }
        counter.add(&page.rows);
    }
    counter.empty_into(&mut total);
    Ok(sealed.stamp.seal(&CellCounts(total.into_cells())))
}

/// The counts of two tasks; commutative and associative.
pub fn merge_counts(stamp: &PolicyStamp, one: &[u8], other: &[u8]) -> Result<Vec<u8>> {
    let (CellCounts(mut one), CellCounts(other)) = (stamp.open(one)?, stamp.open(other)?);
    if one.len() != other.len() {
        return Err(damaged("counts of pages are those of other nodes"));
    }
    one.iter_mut().zip(other).for_each(|(own, other)| *own = own.saturating_add(other));
    Ok(stamp.seal(&CellCounts(one)))
}

/// Passes the rows of the pages of a task on, each with the place of its node; rows of other nodes are left out.
pub fn sort_pages(
    sealed: &SealedPages,
    columns: &[Column],
    request: &[u8],
    pages: impl Iterator<Item = Result<Vec<u8>>>,
    mut pass: impl FnMut(usize, Vec<u8>) -> Result<()>,
) -> Result<()> {
    let SortRequest { tree, nodes, travels } = sealed.stamp.open(request)?;
    expect_nodes(&tree, &nodes, columns)?;
    let mut place_of = vec![u32::MAX; tree.len()];
    nodes.iter().zip(0..).for_each(|(&node, place)| place_of[node as usize] = place);
    let (walk, mut sorted) = (Walk::new(&tree), RowsByNode::default());
    let mut sort = |page: Page| {
        sorted.sort(&walk, &page.rows, &place_of, nodes.len());
        let starts = page.payload.starts();
        for place in 0..nodes.len() {
            let own = sorted.of(place);
            if own.is_empty() {
                continue;
            }
            let mut piece = Page { rows: sealed.layout.empty(own.len()), payload: Travelling::default() };
            piece.rows.extend_rows(&page.rows, own)?;
            if travels {
                piece.payload.extend_rows(&page.payload, &starts, own);
            }
            pass(place, sealed.seal(piece)?)?;
        }
        Ok(())
    };
    // Pieces of pieces become ever smaller, so small pages are sorted as one.
    let mut waiting = Page::empty(&sealed.layout);
    for page in pages {
        let Page { rows, payload } = sealed.open(&page?)?.page;
        waiting.rows.append(rows)?;
        waiting.payload.lengths.extend(payload.lengths);
        waiting.payload.bytes.extend(payload.bytes);
        if waiting.is_full(&sealed.layout) {
            sort(std::mem::replace(&mut waiting, Page::empty(&sealed.layout)))?;
        }
    }
    sort(waiting)
}

/// What the whole table holds of which a request wants a node to be grown.
pub fn requested_table(sealed: &SealedPages, request: &[u8]) -> Result<GroupCounts> {
    sealed.stamp.open::<GrowRequest>(request).map(|request| request.whole)
}

/// Grows a node from all its pages; `untouched` is the test of the [`requested_table`], of which nothing was accepted yet.
pub fn grow_pages(
    sealed: &SealedPages,
    plan: &SplitPlan<'_>,
    untouched: Box<dyn SplitTest>,
    request: &[u8],
    pages: impl Iterator<Item = Result<Vec<u8>>>,
) -> Result<Vec<u8>> {
    let GrowRequest { extent, part, changes, .. } = sealed.stamp.open(request)?;
    let known = |(codes, column): (&(u32, u32), &Column)| codes.0 <= codes.1 && codes.1 <= column.codes;
    if extent.len() != plan.columns.len() || !extent.iter().zip(plan.columns).all(known) {
        return Err(damaged("a node has codes that no value has"));
    }
    let mut rows = sealed.layout.empty(part.people.min(1 << 20) as usize);
    for page in pages {
        rows.append(sealed.open(&page?)?.page.rows)?;
    }
    // An engine that tries tasks again must not lose or repeat what they passed on.
    if Part::of(&rows.total(sealed.layout.values as usize)) != part {
        return Err(damaged("rows of a node were lost or repeated"));
    }
    let mut accepted = Remembering::new(untouched);
    if !accepted.merge(&changes) {
        return Err(damaged("what was accepted is not safe"));
    }
    let root = OpenNode {
        id: CutTree::ROOT,
        extent: extent.into_iter().map(|(from, to)| from..to).collect(),
        part,
        rows: 0..0,
        passes: Passes::Yes,
        obstacle: None,
    };
    let GrownNode { groups, changes, .. } = plan.grow(rows, root, accepted.fork())?;
    let Some(NodeGroups { tree, groups, .. }) = groups else {
        return Err(damaged("a group by counts was judged by its rows"));
    };
    sealed.seal_secret(&GrownGroups { tree, groups, changes })
}

/// Fails if a tree or its nodes are not those of these columns.
fn expect_nodes(tree: &CutTree, nodes: &[NodeId], columns: &[Column]) -> Result<()> {
    let known = nodes.iter().all(|&node| (node as usize) < tree.len())
        && tree.highest_column().is_none_or(|column| column < columns.len());
    if known { Ok(()) } else { Err(damaged("a tree cuts columns that there are not")) }
}
