//! Which groups does a table fall into if it may not fit in memory?
//!
//! Nodes above a fixed number of rows are split on pages, level by level; then the rows are sorted into the remaining
//! nodes, and each of these is finished in memory, one after the other in tree order. The order of decisions depends
//! only on the table and the policy; memory and threads only affect how counts are made.
//!
//! Memory: [`SubtreeLimits::working_bytes`]: 8 bytes x nodes counted at once x bins x sensitive values per thread, then
//! one node of at most [`SUBTREE_BYTES`](super::limits::SUBTREE_BYTES) of codes with its triples.

use super::frontier::OpenNode;
use super::join::{join, settle};
use super::leaf::{Distribution, Pages, PlaceRows, load_all};
use super::limits::SubtreeLimits;
use super::plan::{SplitNodes, SplitPlan};
use super::rows::{InMemory, OnPages};
use crate::encode::group_counts::GroupCounts;
use crate::encode::page::PageStore;
use crate::error::Result;
use crate::group::groups::Group;
use crate::group::tree::{CutTree, NodeId};
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
    /// The largest node that is finished in memory.
    pub limits: SubtreeLimits,
    /// Whether the pages are kept.
    pub pages: Pages,
    /// Where the phases are told.
    pub progress: &'a Progress,
}

impl Growth<'_> {
    /// Grows the tree from its root, which the criterion must have accepted, and passes every group with its number to
    /// `sink`, in tree order. Returns `None` if the criterion judges rows and there are people for whom no group that
    /// fits in memory passes.
    pub fn grow(
        &self,
        store: &mut PageStore<'_>,
        whole: GroupCounts,
        criterion: &mut dyn SplitTest,
        mut sink: impl FnMut(u64, Group) -> Result<()>,
    ) -> Result<Option<CutTree>> {
        let (mut tree, people) = (CutTree::default(), whole.people);
        self.progress.start("splitting on pages", None);
        let (mut small, mut giants) =
            self.pool.install(|| self.split_pages(store, whole, &mut tree, criterion))?;
        if criterion.asks_for_rows() && !giants.is_empty() {
            return Ok(None);
        }
        small.sort_unstable_by_key(|node| node.id);
        let Growth { pages, limits, budget, spill, .. } = *self;
        let distribution = Distribution { pages, limits, budget, spill };
        self.progress.start("sorting rows into parts", None);
        let mut stores = self.pool.install(|| distribution.run(store, &small, &tree))?;
        release_freed();
        self.progress.start("splitting in memory", Some(people));
        let mut small: BTreeMap<NodeId, (usize, OpenNode)> =
            small.into_iter().enumerate().map(|(place, node)| (node.id, (place, node))).collect();
        let mut room = budget.reserve(STAGE, 0)?;
        let mut leaves = LeafBytes::default();
        let mut number = 0;
        let mut publish = |tree: &mut CutTree, group: Group| {
            number += 1;
            tree.number(group.node, number);
            sink(number, group)
        };
        for node in tree.groups_below(CutTree::ROOT) {
            if let Some(giant) = giants.remove(&node) {
                publish(&mut tree, giant)?;
            } else if let Some((place, root)) = small.remove(&node) {
                let threads = self.pool.current_num_threads();
                let people = root.part.people;
                let working = limits.working_bytes(self.plan.columns, 1, threads);
                let wanted = tree.bytes() + working + leaves.expected_bytes(people);
                let later = stores.get_mut(place + 1..).unwrap_or_default();
                self.make_room(&mut room, tree.bytes(), wanted, later, store)?;
                let rows = match stores.get_mut(place) {
                    Some(own) => load_all(own, Pages::Consumed)?,
                    None => load_all(store, pages)?,
                };
                let mut rows = InMemory::new(self.plan.columns, rows);
                let split = self.pool.install(|| self.plan.finish(&mut rows, root, &mut tree, criterion))?;
                let Some(groups) = split else { return Ok(None) };
                leaves.saw(people, groups.len() as u64, self.plan.columns.len());
                for node in groups {
                    let group = group(&rows, &tree, node)?;
                    publish(&mut tree, group)?;
                }
                drop(rows);
            }
        }
        Ok(Some(tree))
    }

    /// Reserves the memory for the tree and for finishing a node; pages that are needed later go to the spill to make
    /// room. Once they are all there, only the tree must fit: splitting was promised its memory before pages were made.
    fn make_room(
        &self,
        room: &mut Reservation,
        tree: u64,
        wanted: u64,
        later: &mut [PageStore<'_>],
        store: &mut PageStore<'_>,
    ) -> Result<()> {
        while room.resize(STAGE, wanted).is_err() {
            let mut spilled = false;
            for store in later.iter_mut().rev() {
                spilled = store.spill_page()?;
                if spilled {
                    break;
                }
            }
            if !spilled && !store.spill_page()? {
                return room.resize(STAGE, tree);
            }
        }
        Ok(())
    }

    /// Splits every node that does not fit in memory. Returns the nodes that do fit, and the groups that do not fit and
    /// cannot be split.
    fn split_pages(
        &self,
        store: &PageStore<'_>,
        whole: GroupCounts,
        tree: &mut CutTree,
        criterion: &mut dyn SplitTest,
    ) -> Result<(Vec<OpenNode>, BTreeMap<NodeId, Group>)> {
        let columns = self.plan.columns;
        let mut rows = OnPages::new(columns, store, self.budget, &whole, self.limits);
        let root = OpenNode::root(columns, &whole);
        let SplitNodes { mut leaves, left, .. } = self.plan.split(&mut rows, root, tree, criterion)?;
        self.plan.find_obstacles(&rows, tree, &mut leaves, &*criterion)?;
        let giants: Result<_> =
            leaves.into_iter().map(|node| Ok((node.id, group(&rows, tree, node)?))).collect();
        Ok((left, giants?))
    }
}

impl SplitPlan<'_> {
    /// Splits a node whose rows are all in memory and returns the resulting groups in tree order; `None` if the
    /// criterion judges rows and neither any cut of the node nor the node as a whole passes.
    pub fn finish(
        &self,
        rows: &mut InMemory<'_>,
        root: OpenNode,
        tree: &mut CutTree,
        criterion: &mut dyn SplitTest,
    ) -> Result<Option<Vec<OpenNode>>> {
        let mut root = OpenNode { rows: 0..rows.rows.len(), ..root };
        let id = root.id;
        if criterion.asks_for_rows() {
            root.passes = settle(&rows.rows, &root, &*criterion);
        }
        let SplitNodes { mut leaves, inner, .. } = self.split(rows, root, tree, criterion)?;
        if criterion.asks_for_rows() {
            match join(&rows.rows, leaves, inner, tree, &*criterion) {
                Some(joined) => leaves = joined,
                None => return Ok(None),
            }
        }
        self.find_obstacles(rows, tree, &mut leaves, &*criterion)?;
        let place: hashbrown::HashMap<NodeId, usize, foldhash::fast::FixedState> =
            tree.groups_below(id).into_iter().enumerate().map(|(place, node)| (node, place)).collect();
        leaves.sort_unstable_by_key(|node| place[&node.id]);
        Ok(Some(leaves))
    }
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
