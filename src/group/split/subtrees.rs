//! Which groups do the nodes of a part fall into, several of which are grown at once?
//!
//! Nodes are decided one after the other, in tree order. To use several threads, a wave of them is grown side by side
//! against what was accepted before the wave; then each is committed in its turn, which nearly always finds that nothing
//! changes ([`GrownNode::commit`]). The first nodes change what is remembered most, so waves begin with one node and
//! double. The groups of a wave are published while the next one grows.
//!
//! Memory: [`SubtreeLimits::node_bytes`](super::limits::SubtreeLimits::node_bytes) of each node of the wave and of the one
//! before it. A smaller wave gives the same groups.

use super::elsewhere::ReturnedNode;
use super::frontier::OpenNode;
use super::grow::{Growth, Publisher, STAGE, group, spill_until_free};
use super::leaf::{Pages, load_all};
use super::part_rows::PartRows;
use super::plan::SplitPlan;
use super::subtree::{Committed, GrownNode, Subtree};
use crate::encode::group_counts::Part;
use crate::encode::page::PageStore;
use crate::error::{Error, Result};
use crate::group::groups::Group;
use crate::group::tree::{CutTree, NodeId};
use crate::model::remembering::Remembering;
use crate::model::split::SplitTest;
use crate::resources::budget::{Reservation, release_freed};
use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// A node of a part that is not split on pages.
pub(super) enum PartNode<N> {
    /// It is a group.
    Giant(Group),
    /// It is finished in memory.
    Node(N),
}

impl<N> PartNode<N> {
    fn node(&self) -> Option<&N> {
        match self {
            PartNode::Node(node) => Some(node),
            PartNode::Giant(_) => None,
        }
    }

    fn node_mut(&mut self) -> Option<&mut N> {
        match self {
            PartNode::Node(node) => Some(node),
            PartNode::Giant(_) => None,
        }
    }
}

/// A node whose rows have not been read yet.
pub(super) struct UnreadNode<'s> {
    pub(super) root: OpenNode,
    /// Its rows; `None` if they are all rows of the part, which are here.
    pub(super) store: Option<PartRows<'s>>,
}

/// A node that was grown ahead of its turn.
enum Grown<'a, 's> {
    /// By a thread of this process.
    Here(GrownNode<'a>),
    /// By a task of an engine.
    Elsewhere(ReturnedNode<'s>),
}

impl Grown<'_, '_> {
    fn commit(&mut self, plan: &SplitPlan<'_>, accepted: &mut Remembering) -> Result<Committed> {
        match self {
            Grown::Here(node) => node.commit(plan, accepted),
            Grown::Elsewhere(node) => node.commit(plan.columns, accepted),
        }
    }

    fn part(&self) -> &Part {
        match self {
            Grown::Here(node) => node.part(),
            Grown::Elsewhere(node) => node.part(),
        }
    }

    /// The bytes of its groups; `None` if there are people whom no group passes.
    fn leaf_bytes(&self) -> Option<u64> {
        match self {
            Grown::Here(node) => Some(node.subtree.as_ref()?.leaves.iter().map(OpenNode::bytes).sum()),
            Grown::Elsewhere(node) => Some(node.group_bytes()),
        }
    }

    /// The nodes whose people are left out.
    fn left_out(&self) -> &[OpenNode] {
        match self {
            Grown::Here(node) => node.subtree.as_ref().map_or(&[], |subtree| &subtree.left_out),
            // An engine has no rows to judge by.
            Grown::Elsewhere(_) => &[],
        }
    }

    /// Passes every group to `publish`, which gives it a number; returns the cuts with the numbers.
    fn publish(self, mut publish: impl FnMut(Group) -> Result<u64>) -> Result<CutTree> {
        let mut number = |tree: &mut CutTree, group: Group| {
            let id = group.node;
            publish(group).map(|number| tree.number(id, number))
        };
        match self {
            Grown::Here(GrownNode { rows, subtree, .. }) => {
                let Some(Subtree { mut tree, leaves, .. }) = subtree else { return Ok(CutTree::default()) };
                for leaf in leaves {
                    let group = group(&rows, &tree, leaf)?;
                    number(&mut tree, group)?;
                }
                Ok(tree)
            }
            Grown::Elsewhere(node) => {
                let (mut tree, groups) = node.into_groups();
                groups.into_iter().try_for_each(|group| number(&mut tree, group))?;
                Ok(tree)
            }
        }
    }
}

/// Nodes that are grown side by side, in tree order.
type Wave<N> = Vec<(NodeId, PartNode<N>)>;

/// The nodes of a part whose groups are not published yet.
pub(super) struct Subtrees<'w, 's> {
    growth: &'w Growth<'w>,
    /// In tree order.
    waiting: VecDeque<(NodeId, PartNode<UnreadNode<'s>>)>,
    /// Groups before the part.
    before: u64,
    room: Reservation,
    leaves: LeafBytes,
    /// Nodes committed so far.
    committed: usize,
}

impl<'w, 's> Subtrees<'w, 's> {
    pub(super) fn new(
        growth: &'w Growth<'w>,
        waiting: VecDeque<(NodeId, PartNode<UnreadNode<'s>>)>,
        before: u64,
        room: Reservation,
    ) -> Self {
        Subtrees { growth, waiting, before, room, leaves: LeafBytes::default(), committed: 0 }
    }

    /// Grows every node and publishes all groups in order; `None` if there are people whom no group passes.
    pub(super) fn finish(
        mut self,
        store: &mut PartRows<'_>,
        tree: &mut CutTree,
        criterion: &mut Remembering,
        publisher: &mut Publisher<'_>,
    ) -> Result<Option<()>> {
        let growth = self.growth;
        let mut grown: Wave<Grown<'_, 's>> = Vec::new();
        while !self.waiting.is_empty() {
            let Some(wave) = self.next_wave(&grown, store, tree, &*criterion)? else {
                // The wave before must go first.
                self.publish(std::mem::take(&mut grown), tree, publisher)?;
                continue;
            };
            let (mut next, test) = (Ok(Vec::new()), &*criterion);
            growth.pool.in_place_scope(|scope| {
                scope.spawn(|_| next = growth.grow_wave(wave, store, test));
                self.publish(std::mem::take(&mut grown), tree, publisher)
            })?;
            grown = next?;
            // Leaves are freed by another thread than the one that made them.
            release_freed();
            for (_, step) in &mut grown {
                let Some(node) = step.node_mut() else { continue };
                let committed = growth.pool.install(|| node.commit(&growth.plan, criterion))?;
                growth.progress.count_node(committed == Committed::GrownAgain);
                self.committed += 1;
                let Some(leaves) = node.leaf_bytes() else { return Ok(None) };
                self.leaves.saw(node.part().people, leaves);
            }
        }
        self.publish(grown, tree, publisher).map(Some)
    }

    /// Takes the next nodes, for as many as there is room; `None` if there is none as long as the wave before is not
    /// published.
    fn next_wave(
        &mut self,
        before: &Wave<Grown<'_, 's>>,
        store: &mut PartRows<'_>,
        tree: &CutTree,
        criterion: &dyn SplitTest,
    ) -> Result<Option<Wave<UnreadNode<'s>>>> {
        let at_once = store.grown_at_once(self.growth.pool.current_num_threads());
        let mut many = self.committed.clamp(1, at_once);
        loop {
            let wanted = tree.bytes() + self.bytes_of_wave(many, before, criterion);
            if self.make_room(wanted, many, store)? {
                break;
            }
            match (many, before.is_empty()) {
                (1, false) => return Ok(None),
                // All pages are in the spill, and splitting was promised its memory before pages were made.
                (1, true) => break self.room.resize(STAGE, tree.bytes())?,
                _ => many -= 1,
            }
        }
        let mut wave = Vec::new();
        while let Some((id, step)) = self.waiting.pop_front_if(|_| many > 0) {
            many -= usize::from(matches!(step, PartNode::Node(_)));
            wave.push((id, step));
        }
        Ok(Some(wave))
    }

    /// The memory for growing the next `many` nodes while the groups of the wave before are written.
    fn bytes_of_wave(&self, many: usize, before: &Wave<Grown<'_, 's>>, criterion: &dyn SplitTest) -> u64 {
        let Growth { limits, pool, .. } = self.growth;
        let growing = self.waiting.iter().filter_map(|(_, step)| Some(&step.node()?.root.part));
        let written = before.iter().filter_map(|(_, step)| Some(step.node()?.part()));
        let of_node = |part| limits.node_bytes(part) + self.leaves.expected_bytes(part.people);
        let nodes: u64 = growing.take(many).chain(written).map(of_node).sum();
        // Each node has its own test while it grows, and afterwards what that remembers.
        let remembered = 2 * many as u64 * criterion.bytes();
        nodes + remembered + limits.scratch_bytes(pool.current_num_threads())
    }

    /// Reserves this much; pages that are needed later go to the spill to make room. Returns whether there is room.
    fn make_room(&mut self, wanted: u64, many: usize, whole: &mut PartRows<'_>) -> Result<bool> {
        let waiting = self.waiting.iter_mut();
        let stores = waiting.filter_map(|(_, step)| step.node_mut()?.store.as_mut());
        let later: Vec<_> = stores.skip(many).collect();
        Ok(spill_until_free(&mut self.room, wanted, later.into_iter())?
            || spill_until_free(&mut self.room, wanted, std::iter::once(whole))?)
    }

    /// Publishes the groups of nodes whose turn has come.
    fn publish(
        &self,
        wave: Wave<Grown<'_, 's>>,
        tree: &mut CutTree,
        publisher: &mut Publisher<'_>,
    ) -> Result<()> {
        for (node, step) in wave {
            match step {
                PartNode::Giant(giant) => tree.number(node, publisher.publish(giant)? - self.before),
                PartNode::Node(grown) => {
                    for node in grown.left_out() {
                        publisher.sink.left_out(&node.extent, node.part.people)?;
                    }
                    let own = grown.publish(|group| Ok(publisher.publish(group)? - self.before))?;
                    tree.graft(node, own);
                }
            }
            publisher.sink.end_node();
        }
        Ok(())
    }
}

impl<'a> Growth<'a> {
    /// Grows each of the nodes against the same test.
    fn grow_wave<'s>(
        &self,
        wave: Wave<UnreadNode<'s>>,
        whole: &mut PartRows<'_>,
        test: &Remembering,
    ) -> Result<Wave<Grown<'a, 's>>> {
        match whole {
            PartRows::Here(whole) => self.grow_here(wave, whole, test),
            PartRows::Elsewhere(_) => self.grow_elsewhere(wave, test),
        }
    }

    /// Reads the rows of the nodes and grows them on the threads of this process.
    fn grow_here<'s>(
        &self,
        wave: Wave<UnreadNode<'s>>,
        whole: &mut PageStore<'_>,
        test: &dyn SplitTest,
    ) -> Result<Wave<Grown<'a, 's>>> {
        let whole = Mutex::new(whole);
        let grow = |(id, step)| match step {
            PartNode::Giant(group) => Ok((id, PartNode::Giant(group))),
            PartNode::Node(UnreadNode { root, store }) => {
                let rows = match store {
                    Some(PartRows::Here(mut own)) => load_all(&mut own, Pages::Consumed)?,
                    _ => load_all(&mut whole.lock().unwrap_or_else(PoisonError::into_inner), self.pages)?,
                };
                Ok((id, PartNode::Node(Grown::Here(self.plan.grow(rows, root, test)?))))
            }
        };
        wave.into_par_iter().with_max_len(1).map(grow).collect()
    }

    /// Lets the tasks of an engine grow the nodes.
    fn grow_elsewhere<'s>(
        &self,
        wave: Wave<UnreadNode<'s>>,
        test: &Remembering,
    ) -> Result<Wave<Grown<'a, 's>>> {
        let (mut steps, mut places, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        for (id, step) in wave {
            match step {
                PartNode::Giant(group) => steps.push((id, PartNode::Giant(group))),
                PartNode::Node(UnreadNode { root, store: Some(PartRows::Elsewhere(rows)) }) => {
                    places.push((steps.len() + places.len(), id));
                    nodes.push((rows, root));
                }
                PartNode::Node(_) => return Err(Error::defect("a node is here and its part elsewhere")),
            }
        }
        for ((place, id), node) in
            places.into_iter().zip(ReturnedNode::grow(nodes, self.plan.columns, test.changes())?)
        {
            steps.insert(place, (id, PartNode::Node(Grown::Elsewhere(node))));
        }
        Ok(steps)
    }
}

/// How large the leaves of nodes were that were finished in memory.
#[derive(Default)]
struct LeafBytes {
    /// The most leaf bytes per person.
    bytes_per_person: u64,
}

impl LeafBytes {
    fn saw(&mut self, people: u64, leaves: u64) {
        self.bytes_per_person = self.bytes_per_person.max(leaves.div_ceil(people.max(1)));
    }

    fn expected_bytes(&self, people: u64) -> u64 {
        self.bytes_per_person * people
    }
}
