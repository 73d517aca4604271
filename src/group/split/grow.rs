//! Which groups does a table fall into if it may not fit in memory?
//!
//! Nodes above a fixed number of rows are split on pages, level by level; then the rows are sorted into the remaining
//! nodes, and each of these is finished in memory, one after the other in tree order. A table with more rows than a part
//! may have is first split into parts in the same way, and each part is grown on its own before the next one begins. The
//! order of decisions depends only on the table and the policy; memory and threads only affect how counts are made.
//!
//! Memory: [`SubtreeLimits::working_bytes`]: 8 bytes x nodes counted at once x bins x sensitive values per thread, then
//! one node of at most [`SUBTREE_BYTES`](super::limits::SUBTREE_BYTES) of codes with its triples; the tree of one part.

use super::frontier::OpenNode;
use super::leaf::{Distribution, Pages, PlaceRows, load_all};
use super::limits::SubtreeLimits;
use super::plan::{SplitNodes, SplitPlan};
use super::rows::{InMemory, OnPages, Smallest};
use crate::encode::group_counts::GroupCounts;
use crate::encode::page::PageStore;
use crate::error::Result;
use crate::group::groups::{Group, GroupSink, PlacedRows};
use crate::group::tree::{CutTree, NodeId, NumberedTree, TreeLeaf};
use crate::model::split::SplitTest;
use crate::resources::budget::{Budget, Reservation, release_freed};
use crate::resources::progress::Progress;
use crate::resources::spill::Spill;
use std::collections::BTreeMap;
use std::sync::Arc;

const STAGE: &str = "growing the tree of groups";

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
    criterion: &'g mut dyn SplitTest,
    sink: &'g mut dyn GroupSink,
    /// Groups so far.
    groups: u64,
}

impl InOrder<'_> {
    /// Passes the next group on; returns its number.
    fn publish(&mut self, group: Group) -> Result<u64> {
        self.groups += 1;
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
    /// Grows the tree from its root, which the criterion must have accepted, and passes every group with its number to
    /// `sink`, in tree order. Returns `None` if the criterion judges rows and there are people for whom no group that
    /// fits in memory passes.
    pub fn grow(
        &self,
        store: &mut PageStore<'_>,
        whole: &GroupCounts,
        criterion: &mut dyn SplitTest,
        sink: &mut dyn GroupSink,
    ) -> Result<Option<()>> {
        let root = OpenNode::root(self.plan.columns, whole);
        let grown = self.grow_part(store, root, &mut InOrder { criterion, sink, groups: 0 })?;
        Ok(grown.map(drop))
    }

    /// Grows the tree of a part from its root; the pages hold its rows. Returns where its tree was written.
    fn grow_part(
        &self,
        store: &mut PageStore<'_>,
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
        store: &mut PageStore<'_>,
        root: OpenNode,
        rows: u64,
        order: &mut InOrder<'_>,
    ) -> Result<Option<u64>> {
        let (mut tree, before) = (CutTree::default(), order.groups);
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
        let mut stores = self.distribute(Pages::Consumed, store, &ids, &tree)?;
        let _tree = self.budget.reserve(STAGE, tree.bytes())?;
        let mut leaves = BTreeMap::new();
        let mut small: BTreeMap<NodeId, OpenNode> = small.into_iter().map(|node| (node.id, node)).collect();
        for node in tree.groups_below(CutTree::ROOT) {
            let place = ids.partition_point(|&id| id < node);
            let leaf = match (giants.remove(&node), small.remove(&node)) {
                (Some(giant), _) => {
                    let tree = CutTree::numbered();
                    let tree = NumberedTree { tree: &tree, before: order.groups, leaves: BTreeMap::new() };
                    let number = order.publish(giant)?;
                    order.sink.end_node();
                    self.end_part(stores.get(place).unwrap_or(store), &tree, order)?;
                    TreeLeaf::Group(number)
                }
                (None, Some(root)) => {
                    self.make_room_for_part(root.part.people, stores.get_mut(place + 1..))?;
                    let own = &mut stores[place];
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
        order.sink.tree(&NumberedTree { tree: &tree, before, leaves }).map(Some)
    }

    /// Splits a node that is a part on pages until its nodes fit in memory, and finishes each of them there.
    fn grow_subtrees(
        &self,
        store: &mut PageStore<'_>,
        root: OpenNode,
        order: &mut InOrder<'_>,
    ) -> Result<Option<u64>> {
        let (mut tree, before, people) = (CutTree::default(), order.groups, root.part.people);
        let Some(PagedNodes { small, mut giants }) =
            self.split_pages(store, root, Smallest::Subtree(self.limits), &mut tree, order)?
        else {
            return Ok(None);
        };
        let ids: Vec<NodeId> = small.iter().map(|node| node.id).collect();
        let mut stores = self.distribute(self.pages, store, &ids, &tree)?;
        self.progress.start("splitting in memory", Some(people));
        let mut small: BTreeMap<NodeId, (usize, OpenNode)> =
            small.into_iter().enumerate().map(|(place, node)| (node.id, (place, node))).collect();
        let mut room = self.budget.reserve(STAGE, 0)?;
        let mut leaves = LeafBytes::default();
        for node in tree.groups_below(CutTree::ROOT) {
            if let Some(giant) = giants.remove(&node) {
                tree.number(node, order.publish(giant)? - before);
                order.sink.end_node();
            } else if let Some((place, root)) = small.remove(&node) {
                let threads = self.pool.current_num_threads();
                let people = root.part.people;
                let working = self.limits.working_bytes(self.plan.columns, 1, threads);
                let wanted = tree.bytes() + working + leaves.expected_bytes(people);
                let later = stores.get_mut(place + 1..).unwrap_or_default();
                make_room(&mut room, tree.bytes(), wanted, later, Some(store))?;
                let rows = match stores.get_mut(place) {
                    Some(own) => load_all(own, Pages::Consumed)?,
                    None => load_all(store, self.pages)?,
                };
                let mut rows = InMemory::new(self.plan.columns, rows);
                let split = self.pool.install(|| self.plan.finish(&mut rows, root, order.criterion))?;
                let Some(mut subtree) = split else { return Ok(None) };
                leaves.saw(people, subtree.leaves.len() as u64, self.plan.columns.len());
                for node in std::mem::take(&mut subtree.leaves) {
                    let id = node.id;
                    let group = group(&rows, &subtree.tree, node)?;
                    subtree.tree.number(id, order.publish(group)? - before);
                }
                order.sink.end_node();
                tree.graft(node, subtree.tree);
            }
        }
        drop((room, stores));
        let tree = NumberedTree { tree: &tree, before, leaves: BTreeMap::new() };
        self.end_part(store, &tree, order)?;
        order.sink.tree(&tree).map(Some)
    }

    /// All groups of a part are known, and the pages that were kept hold its rows.
    fn end_part(
        &self,
        store: &PageStore<'_>,
        tree: &NumberedTree<'_>,
        order: &mut InOrder<'_>,
    ) -> Result<()> {
        order.sink.end_part((self.pages == Pages::Kept).then_some(PlacedRows { store, tree }))
    }

    /// Splits every node that is larger than `smallest`; `None` if a criterion that judges rows cannot judge one.
    fn split_pages(
        &self,
        store: &PageStore<'_>,
        root: OpenNode,
        smallest: Smallest,
        tree: &mut CutTree,
        order: &mut InOrder<'_>,
    ) -> Result<Option<PagedNodes>> {
        self.progress.start("splitting on pages", None);
        let mut rows = OnPages::new(self.plan.columns, store, self.budget, self.progress, smallest);
        let SplitNodes { mut leaves, left: mut small, .. } =
            self.pool.install(|| self.plan.split(&mut rows, root, tree, order.criterion))?;
        if order.criterion.asks_for_rows() && !leaves.is_empty() {
            return Ok(None);
        }
        let criterion = &*order.criterion;
        self.pool.install(|| self.plan.find_obstacles(&rows, tree, &mut leaves, criterion))?;
        small.sort_unstable_by_key(|node| node.id);
        let giants: Result<_> =
            leaves.into_iter().map(|node| Ok((node.id, group(&rows, tree, node)?))).collect();
        Ok(Some(PagedNodes { small, giants: giants? }))
    }

    /// Sorts the rows into one store per node; no store is needed if the only node is the root.
    fn distribute<'s>(
        &self,
        pages: Pages,
        store: &mut PageStore<'_>,
        nodes: &[NodeId],
        tree: &CutTree,
    ) -> Result<Vec<PageStore<'s>>>
    where
        Self: 's,
    {
        self.progress.start("sorting rows into parts", None);
        let Growth { limits, budget, spill, .. } = *self;
        let distribution = Distribution { pages, limits, budget, spill };
        let stores = self.pool.install(|| distribution.run(store, nodes, tree))?;
        release_freed();
        Ok(stores)
    }

    /// Moves pages of later parts to the spill until a part of so many people can be grown.
    fn make_room_for_part(&self, people: u64, later: Option<&mut [PageStore<'_>]>) -> Result<()> {
        let (limits, threads) = (&self.limits, self.pool.current_num_threads());
        let later = later.unwrap_or_default();
        let slots = later.first().map_or(1, |store| store.layout().values as usize + 1);
        let waiting = limits.waiting_bytes(people, threads, self.budget.total());
        let wanted = limits.working_bytes(self.plan.columns, slots, threads).max(waiting);
        make_room(&mut self.budget.reserve(STAGE, 0)?, 0, wanted, later, None)
    }
}

/// Reserves the memory for the tree and for finishing a node; pages that are needed later go to the spill to make room.
/// Once they are all there, only the tree must fit: splitting was promised its memory before pages were made.
fn make_room(
    room: &mut Reservation,
    tree: u64,
    wanted: u64,
    later: &mut [PageStore<'_>],
    mut whole: Option<&mut PageStore<'_>>,
) -> Result<()> {
    while room.resize(STAGE, wanted).is_err() {
        let mut spilled = false;
        for store in later.iter_mut().rev() {
            spilled = store.spill_page()?;
            if spilled {
                break;
            }
        }
        if let (false, Some(whole)) = (spilled, whole.as_deref_mut()) {
            spilled = whole.spill_page()?;
        }
        if !spilled {
            return room.resize(STAGE, tree);
        }
    }
    Ok(())
}

/// How many leaves nodes had that were finished in memory.
#[derive(Default)]
struct LeafBytes {
    /// The most leaf bytes per person.
    bytes_per_person: u64,
}

impl LeafBytes {
    fn saw(&mut self, people: u64, leaves: u64, columns: usize) {
        // A node with its extents and its counts.
        let leaf = 256 + 8 * columns as u64;
        self.bytes_per_person = self.bytes_per_person.max((leaves * leaf).div_ceil(people.max(1)));
    }

    fn expected_bytes(&self, people: u64) -> u64 {
        self.bytes_per_person * people
    }
}

/// A node that becomes a group.
pub(super) fn group(rows: &impl PlaceRows, tree: &CutTree, node: OpenNode) -> Result<Group> {
    let present = rows.present(tree, &node)?;
    Ok(Group { node: node.id, present, part: node.part.unpack(), obstacle: node.obstacle })
}
