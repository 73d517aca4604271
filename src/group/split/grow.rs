//! Which groups does a table fall into if it may not fit in memory?
//!
//! Nodes above a fixed number of rows are split on pages, level by level; then the rows are sorted into the remaining
//! nodes, and each of these is finished in memory, one after the other in tree order. A table with more rows than a part
//! may have is first split into parts in the same way, and each part is grown on its own before the next one begins. The
//! order of decisions depends only on the table and the policy; memory and threads only affect how counts are made.
//!
//! Memory: [`SubtreeLimits::working_bytes`]: 8 bytes x nodes counted at once x bins x sensitive values per thread, then
//! one node of at most [`SUBTREE_BYTES`](super::limits::SUBTREE_BYTES) of codes with its triples; the tree of one part.

use super::elsewhere::{self, SetPlacement};
use super::frontier::OpenNode;
use super::leaf::{Distribution, Pages, PlaceRows};
use super::limits::SubtreeLimits;
use super::part_rows::PartRows;
use super::plan::{SplitNodes, SplitPlan};
use super::rows::{OnPages, Smallest};
use super::subtrees::{PartNode, Subtrees, UnreadNode};
use crate::encode::group_counts::{GroupCounts, Part};
use crate::error::{Error, Result};
use crate::group::groups::{Group, GroupSink, PlacedRows};
use crate::group::tree::{CutTree, NodeId, NumberedTree, TreeLeaf};
use crate::model::remembering::Remembering;
use crate::model::split::SplitTest;
use crate::resources::budget::{Budget, Reservation, release_freed};
use crate::resources::progress::Progress;
use crate::resources::spill::Spill;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const STAGE: &str = "growing the tree of groups";

/// The inputs for growing the tree, which do not change.
pub struct Growth<'a> {
    /// The quasi-identifiers, and which safe cut is preferred.
    pub plan: SplitPlan<'a>,
    /// Threads to count and propose on.
    pub pool: &'a rayon::ThreadPool,
    /// The memory budget.
    pub budget: &'a Arc<Budget>,
    /// Where rows go that do not fit in memory.
    pub spill: &'a Spill,
    /// The largest node that is finished in memory, and the largest parts.
    pub limits: SubtreeLimits,
    /// Whether the pages of a part are kept until its groups are known.
    pub pages: Pages,
    /// Where the phases are told.
    pub progress: &'a Progress,
}

/// Groups in their order: what decides about them, and where they go.
struct InOrder<'g> {
    criterion: Remembering,
    publisher: Publisher<'g>,
}

/// Where the groups go.
pub(super) struct Publisher<'g> {
    pub(super) sink: &'g mut dyn GroupSink,
    /// Groups so far, and the people in them.
    groups: u64,
    people: u64,
    /// All people.
    whole: u64,
}

impl Publisher<'_> {
    /// Passes the next group on; returns its number.
    pub(super) fn publish(&mut self, group: Group) -> Result<u64> {
        self.groups += 1;
        self.people += group.part.people;
        self.sink.group(self.groups, group)?;
        Ok(self.groups)
    }
}

/// The nodes that are split no further on pages.
struct PagedNodes {
    /// Nodes that are small enough, by id.
    small: Vec<OpenNode>,
    /// Groups that are not small enough, but cannot be split.
    giants: BTreeMap<NodeId, Group>,
}

impl Growth<'_> {
    /// Grows the tree from its root, which the criterion must admit, and passes every group with its number to
    /// `sink`, in tree order. Returns `None` if the criterion judges rows and there are people for whom no group that
    /// fits in memory passes.
    pub fn grow(
        &self,
        store: &mut PartRows<'_>,
        whole: &GroupCounts,
        criterion: Box<dyn SplitTest>,
        sink: &mut dyn GroupSink,
    ) -> Result<Option<()>> {
        let root = OpenNode::root(self.plan.columns, whole);
        let mut criterion = Remembering::new(criterion);
        criterion.accept(&[Part::of(whole)]);
        let mut order =
            InOrder { criterion, publisher: Publisher { sink, groups: 0, people: 0, whole: whole.people } };
        let grown = self.grow_part(store, root, &mut order)?;
        Ok(grown.map(drop))
    }

    /// Grows the tree of a part from its root; the pages hold its rows. Returns where its tree was written.
    fn grow_part(
        &self,
        store: &mut PartRows<'_>,
        root: OpenNode,
        order: &mut InOrder<'_>,
    ) -> Result<Option<u64>> {
        match self.limits.part_rows_of(root.part.people) {
            Some(rows) => self.grow_parts(store, root, rows, order),
            None => self.grow_subtrees(store, root, order),
        }
    }

    /// Splits a node into parts of at most `rows` rows, and grows each of them.
    fn grow_parts(
        &self,
        store: &mut PartRows<'_>,
        root: OpenNode,
        rows: u64,
        order: &mut InOrder<'_>,
    ) -> Result<Option<u64>> {
        let (mut tree, before) = (CutTree::default(), order.publisher.groups);
        let Some(PagedNodes { small, mut giants }) =
            self.split_pages(store, root, Smallest::Part(rows), &mut tree, order)?
        else {
            return Ok(None);
        };
        let mut ids: Vec<NodeId> = small.iter().map(|node| node.id).collect();
        if self.pages == Pages::Kept {
            ids.extend(giants.keys());
            ids.sort_unstable();
        }
        let mut stores = self.distribute((Pages::Consumed, SetPlacement::Loosely), store, &ids, &tree)?;
        let mut room = self.budget.reserve(STAGE, 0)?;
        if !spill_until_free(&mut room, tree.bytes(), stores.iter_mut())? {
            room.resize(STAGE, tree.bytes())?;
        }
        let mut leaves = BTreeMap::new();
        let mut small: BTreeMap<NodeId, OpenNode> = small.into_iter().map(|node| (node.id, node)).collect();
        for node in tree.groups_below(CutTree::ROOT) {
            let place = ids.partition_point(|&id| id < node);
            let leaf = match (giants.remove(&node), small.remove(&node)) {
                (Some(giant), _) => {
                    let tree = CutTree::numbered();
                    let tree =
                        NumberedTree { tree: &tree, before: order.publisher.groups, leaves: BTreeMap::new() };
                    let number = order.publisher.publish(giant)?;
                    order.publisher.sink.end_node();
                    self.end_part(stores.get(place).unwrap_or(store), &tree, order)?;
                    TreeLeaf::Group(number)
                }
                (None, Some(root)) => {
                    let (own, later) = stores[place..].split_first_mut().ok_or_else(no_rows)?;
                    self.read_part(own, root.part.people, later)?;
                    let root = OpenNode { id: CutTree::ROOT, ..root };
                    let Some(line) = self.grow_part(own, root, order)? else { return Ok(None) };
                    own.clear();
                    release_freed();
                    TreeLeaf::Line(line)
                }
                (None, None) => continue,
            };
            leaves.insert(node, leaf);
        }
        order.publisher.sink.tree(&NumberedTree { tree: &tree, before, leaves }).map(Some)
    }

    /// Splits a node that is a part on pages until its nodes fit in memory, and finishes each of them there.
    fn grow_subtrees(
        &self,
        store: &mut PartRows<'_>,
        root: OpenNode,
        order: &mut InOrder<'_>,
    ) -> Result<Option<u64>> {
        let (mut tree, before) = (CutTree::default(), order.publisher.groups);
        let Some(PagedNodes { small, giants }) =
            self.split_pages(store, root, Smallest::Subtree(self.limits), &mut tree, order)?
        else {
            return Ok(None);
        };
        let ids: Vec<NodeId> = small.iter().map(|node| node.id).collect();
        let mut stores =
            self.distribute((self.pages, SetPlacement::Together), store, &ids, &tree)?.into_iter();
        // Parts take turns; what is said of the progress is about the whole table.
        self.progress.resume("splitting in memory", order.publisher.whole, order.publisher.people);
        let small = small.into_iter().map(|root| {
            let id = root.id;
            (id, PartNode::Node(UnreadNode { root, store: stores.next() }))
        });
        let giants = giants.into_iter().map(|(id, giant)| (id, PartNode::Giant(giant)));
        let mut steps: BTreeMap<NodeId, PartNode<'_>> = small.chain(giants).collect();
        let in_order = tree.groups_below(CutTree::ROOT).into_iter();
        let waiting = in_order.filter_map(|id| steps.remove_entry(&id)).collect();
        let InOrder { criterion, publisher } = order;
        let subtrees = Subtrees::new(self, waiting, before, self.budget.reserve(STAGE, 0)?);
        if subtrees.finish(store, &mut tree, criterion, publisher)?.is_none() {
            return Ok(None);
        }
        let tree = NumberedTree { tree: &tree, before, leaves: BTreeMap::new() };
        self.end_part(store, &tree, order)?;
        order.publisher.sink.tree(&tree).map(Some)
    }

    /// All groups of a part are known, and the pages that were kept hold its rows.
    fn end_part(&self, store: &PartRows<'_>, tree: &NumberedTree<'_>, order: &mut InOrder<'_>) -> Result<()> {
        order.publisher.sink.end_part((self.pages == Pages::Kept).then_some(PlacedRows { rows: store, tree }))
    }

    /// Splits every node that is larger than `smallest`; `None` if a criterion that judges rows cannot judge one.
    fn split_pages(
        &self,
        store: &PartRows<'_>,
        root: OpenNode,
        smallest: Smallest,
        tree: &mut CutTree,
        order: &mut InOrder<'_>,
    ) -> Result<Option<PagedNodes>> {
        self.progress.start("splitting on pages", None);
        let mut rows = OnPages::new(self.plan.columns, store, self.budget, self.progress, smallest);
        let SplitNodes { mut leaves, left: mut small, .. } =
            self.pool.install(|| self.plan.split(&mut rows, root, tree, &mut order.criterion))?;
        if order.criterion.asks_for_rows() && !leaves.is_empty() {
            return Ok(None);
        }
        let criterion = &order.criterion;
        self.pool.install(|| self.plan.find_obstacles(&rows, tree, &mut leaves, criterion))?;
        small.sort_unstable_by_key(|node| node.id);
        let giants: Result<_> =
            leaves.into_iter().map(|node| Ok((node.id, group(&rows, tree, node)?))).collect();
        Ok(Some(PagedNodes { small, giants: giants? }))
    }

    /// Sorts the rows into one store per node. Here, no store is needed if the only node is the root.
    fn distribute<'r: 's, 's>(
        &self,
        (pages, gathered): (Pages, SetPlacement),
        store: &mut PartRows<'r>,
        nodes: &[NodeId],
        tree: &CutTree,
    ) -> Result<Vec<PartRows<'s>>>
    where
        Self: 's,
    {
        let phase = "sorting rows into parts";
        let Growth { limits, budget, spill, progress, .. } = *self;
        let store = match store {
            PartRows::Here(store) => store,
            PartRows::Elsewhere(rows) => {
                progress.start(phase, None);
                return elsewhere::sort(rows, pages, gathered, nodes, tree);
            }
        };
        progress.start(phase, Some(store.rows()));
        let distribution = Distribution { pages, limits, budget, spill, progress };
        let stores = self.pool.install(|| distribution.run(store, nodes, tree))?;
        release_freed();
        Ok(stores.into_iter().map(PartRows::Here).collect())
    }

    /// Makes room for growing a part of so many people, and for its pages, which every level of the tree reads again: later
    /// parts go to the spill, and this one comes from there, as far as there is memory.
    fn read_part(&self, own: &mut PartRows<'_>, people: u64, later: &mut [PartRows<'_>]) -> Result<()> {
        let (limits, threads) = (&self.limits, self.pool.current_num_threads());
        let slots = own.layout().values as usize + 1;
        let waiting = limits.waiting_bytes(people, threads, self.budget.total());
        let wanted = limits.working_bytes(self.plan.columns, slots, threads).max(waiting);
        let mut room = self.budget.reserve(STAGE, 0)?;
        spill_until_free(&mut room, wanted + own.spilled_bytes(), later.iter_mut())?;
        drop(room);
        self.pool.install(|| own.read_back(wanted))
    }
}

fn no_rows() -> Error {
    Error::defect("a part has no rows")
}

/// Reserves this much; pages go to the spill to make room, those of the last store first. Returns whether there is room.
pub(super) fn spill_until_free<'p, 's: 'p>(
    room: &mut Reservation,
    wanted: u64,
    stores: impl DoubleEndedIterator<Item = &'p mut PartRows<'s>>,
) -> Result<bool> {
    for store in stores.rev() {
        while room.resize(STAGE, wanted).is_err() {
            if !store.spill_page()? {
                break;
            }
        }
    }
    Ok(room.resize(STAGE, wanted).is_ok())
}

/// A node that becomes a group.
pub(super) fn group(rows: &impl PlaceRows, tree: &CutTree, node: OpenNode) -> Result<Group> {
    let present = rows.present(tree, &node)?;
    Ok(Group { node: node.id, present, part: node.part, obstacle: node.obstacle })
}
