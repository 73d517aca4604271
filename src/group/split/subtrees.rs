//! Which groups do the nodes of a part fall into, several of which are grown at once?
//!
//! Nodes are decided one after the other, in tree order. To use several threads, the next node in this order begins to
//! grow as soon as a thread is free, against everything that was accepted until then; each is committed in its turn,
//! which nearly always finds that nothing changes ([`GrownNode::merge`]). The first nodes change what is remembered most,
//! so at first only a few begin before those before them are committed. Groups are published while nodes grow.
//!
//! Memory: [`SubtreeLimits::node_bytes`](super::limits::SubtreeLimits::node_bytes) of each node that grows or waits for
//! its turn, and the groups of those that had it. With less memory fewer grow at once, which gives the same groups.

use super::elsewhere::{HeldRows, ReturnedNode};
use super::frontier::OpenNode;
use super::grow::{Growth, Publisher, STAGE, spill_until_free};
use super::leaf::{Pages, load_all};
use super::part_rows::PartRows;
use super::subtree::{GrownNode, NodeGroups};
use crate::encode::group_counts::Part;
use crate::encode::page::PageStore;
use crate::encode::rows::Rows;
use crate::error::{Error, Result};
use crate::group::groups::Group;
use crate::group::tree::{CutTree, NodeId};
use crate::model::remembering::Remembering;
use crate::model::split::SplitTest;
use crate::resources::budget::{Reservation, release_freed};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc;

/// Nodes per thread that may have begun before they are committed.
const AHEAD: usize = 2;

/// Nodes that begin at once although nothing was accepted before them.
const FIRST_NODES: usize = 2;

/// Groups are freed by another thread than the one that made them; what was freed is returned to the system after this
/// many nodes.
const NODES_BETWEEN_RELEASES: usize = 32;

/// A node of a part that is not split on pages.
pub(super) enum PartNode<'s> {
    /// It is a group.
    Giant(Group),
    /// It is finished in memory.
    Node(UnreadNode<'s>),
}

impl<'s> PartNode<'s> {
    fn node_mut(&mut self) -> Option<&mut UnreadNode<'s>> {
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
    /// At the node's turn, its groups; `None` if there are people whom no group passes.
    fn commit(mut self, growth: &Growth<'_>, accepted: &mut Remembering) -> Result<Option<NodeGroups>> {
        let as_grown = match &mut self {
            Grown::Here(node) => node.merge(accepted),
            Grown::Elsewhere(node) => node.merge(accepted),
        };
        growth.progress.count_node(!as_grown);
        if !as_grown {
            match &mut self {
                Grown::Here(node) => growth.pool.install(|| node.grow(&growth.plan, accepted))?,
                Grown::Elsewhere(node) => node.grow_again(growth.plan.columns, accepted)?,
            }
        }
        Ok(match self {
            Grown::Here(node) => node.groups,
            Grown::Elsewhere(node) => Some(node.into_groups()),
        })
    }
}

/// The rows of a node that a thread grows.
enum NodeRows<'s> {
    OnPages(PageStore<'s>),
    InMemory(Rows),
}

/// Nodes that begin to grow at the same time, and what they are grown against.
enum Batch<'s> {
    /// One, on a thread of this process.
    Here { rows: NodeRows<'s>, root: OpenNode, accepted: Box<dyn SplitTest> },
    /// Several, as tasks of an engine.
    Elsewhere { nodes: Vec<(HeldRows<'s>, OpenNode)>, changes: Vec<Part> },
}

impl<'s> Batch<'s> {
    fn grow<'a>(self, growth: &Growth<'a>) -> Result<Vec<Grown<'a, 's>>> {
        Ok(match self {
            Batch::Here { rows, root, accepted } => {
                let rows = match rows {
                    NodeRows::OnPages(mut store) => load_all(&mut store, Pages::Consumed)?,
                    NodeRows::InMemory(rows) => rows,
                };
                vec![Grown::Here(growth.plan.grow(rows, root, accepted)?)]
            }
            Batch::Elsewhere { nodes, changes } => {
                let grown = ReturnedNode::grow(nodes, growth.plan.columns, &changes)?;
                grown.into_iter().map(Grown::Elsewhere).collect()
            }
        })
    }
}

/// A node that began, and whose groups are not all published.
enum Begun<'a, 's> {
    /// It grows, or it is grown and waits for its turn.
    Ahead { part: Part, grown: Option<Box<Grown<'a, 's>>> },
    /// It had its turn.
    Decided(DecidedNode),
}

/// A node of which it is decided what is published.
struct DecidedNode {
    /// Its cuts; `None` if it is a group.
    tree: Option<CutTree>,
    /// The groups that are left.
    groups: std::vec::IntoIter<Group>,
    /// The nodes whose people are left out, until this is told.
    left_out: Vec<OpenNode>,
    /// What all its groups took.
    bytes: u64,
}

/// The nodes of a part whose groups are not published yet.
pub(super) struct Subtrees<'w, 's> {
    growth: &'w Growth<'w>,
    /// In tree order; those that begun come before those that did not.
    begun: VecDeque<(NodeId, Begun<'w, 's>)>,
    waiting: VecDeque<(NodeId, PartNode<'s>)>,
    /// Groups before the part.
    before: u64,
    room: Reservation,
    leaves: LeafBytes,
    /// Nodes committed so far.
    committed: usize,
    /// Nodes published so far.
    published: usize,
    /// Batches that grow.
    growing: usize,
}

impl<'w, 's> Subtrees<'w, 's> {
    pub(super) fn new(
        growth: &'w Growth<'w>,
        waiting: VecDeque<(NodeId, PartNode<'s>)>,
        before: u64,
        room: Reservation,
    ) -> Self {
        let (begun, leaves) = (VecDeque::new(), LeafBytes::default());
        Subtrees { growth, begun, waiting, before, room, leaves, committed: 0, published: 0, growing: 0 }
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
        let (give, grown) = mpsc::channel();
        growth.pool.in_place_scope(|scope| {
            loop {
                if self.commit(criterion)?.is_none() {
                    return Ok(None);
                }
                while let Some((ids, batch)) = self.next_batch(store, tree, criterion)? {
                    let give = give.clone();
                    self.growing += 1;
                    scope.spawn(move |_| {
                        let outcome = catch_unwind(AssertUnwindSafe(|| batch.grow(growth)));
                        // Nobody listens once another node failed.
                        let _ = give.send((ids, outcome));
                    });
                }
                // Whether more nodes can begin depends on whole nodes.
                let arrived = loop {
                    match self.publish_group(tree, publisher)? {
                        Published::Group => match grown.try_recv() {
                            Ok(arrived) => break Some(arrived),
                            Err(_) => continue,
                        },
                        Published::Node => break grown.try_recv().ok(),
                        Published::Nothing if self.growing > 0 => break grown.recv().ok(),
                        Published::Nothing => return Ok(Some(())),
                    }
                };
                if let Some((ids, outcome)) = arrived {
                    self.arrive(ids, outcome.unwrap_or_else(|panic| resume_unwind(panic))?);
                }
            }
        })
    }

    /// Notes that nodes are grown.
    fn arrive(&mut self, ids: Vec<NodeId>, nodes: Vec<Grown<'w, 's>>) {
        self.growing -= 1;
        let mut nodes = ids.into_iter().zip(nodes).collect::<Vec<_>>().into_iter().peekable();
        for (id, begun) in &mut self.begun {
            if let (Begun::Ahead { grown, .. }, Some((_, node))) =
                (begun, nodes.next_if(|(grown, _)| grown == id))
            {
                *grown = Some(Box::new(node));
            }
        }
    }

    /// Commits the nodes whose turn has come; `None` if there are people whom no group passes.
    fn commit(&mut self, criterion: &mut Remembering) -> Result<Option<()>> {
        for (_, begun) in &mut self.begun {
            let (part, node) = match begun {
                Begun::Decided(_) => continue,
                Begun::Ahead { part, grown } => match grown.take() {
                    None => break,
                    Some(node) => (part, node),
                },
            };
            let Some(node) = node.commit(self.growth, criterion)? else { return Ok(None) };
            self.committed += 1;
            let bytes = node.bytes();
            self.leaves.saw(part.people, bytes);
            let NodeGroups { tree, groups, left_out } = node;
            let groups = groups.into_iter();
            *begun = Begun::Decided(DecidedNode { tree: Some(tree), groups, left_out, bytes });
        }
        Ok(Some(()))
    }

    /// Takes the next nodes, if somebody is free to grow them and there is room.
    fn next_batch(
        &mut self,
        store: &mut PartRows<'_>,
        tree: &CutTree,
        criterion: &Remembering,
    ) -> Result<Option<(Vec<NodeId>, Batch<'s>)>> {
        self.pass_giants();
        let (ahead, threads) = (self.ahead(), self.growth.pool.current_num_threads());
        let (free, most) = match store {
            // A thread that waits gains nothing.
            PartRows::Here(_) => {
                (usize::from(self.growing < threads), (AHEAD * threads).min(self.committed + FIRST_NODES))
            }
            // Tasks have the same work, so they begin together, once all before them are committed.
            PartRows::Elsewhere(rows) if ahead == 0 => {
                (rows.tasks_at_once(), rows.tasks_at_once().min(self.committed.max(1)))
            }
            PartRows::Elsewhere(_) => (0, 1),
        };
        let most = most.saturating_sub(ahead);
        let many = self.make_room(free.min(most).min(self.waiting.len()), tree.bytes(), criterion, store)?;
        match (many, store) {
            (0, _) => Ok(None),
            (_, PartRows::Here(whole)) => self.begin_here(whole, criterion).map(Some),
            (_, PartRows::Elsewhere(_)) => self.begin_elsewhere(many, criterion).map(Some),
        }
    }

    /// Nodes that grow or wait for their turn.
    fn ahead(&self) -> usize {
        self.begun.iter().filter(|(_, begun)| matches!(begun, Begun::Ahead { .. })).count()
    }

    /// About the next nodes there may be nothing to decide.
    fn pass_giants(&mut self) {
        while let Some((id, PartNode::Giant(group))) =
            self.waiting.pop_front_if(|(_, node)| matches!(node, PartNode::Giant(_)))
        {
            let (bytes, groups) = (group.bytes(), vec![group].into_iter());
            let giant = DecidedNode { tree: None, groups, left_out: Vec::new(), bytes };
            self.begun.push_back((id, Begun::Decided(giant)));
        }
    }

    /// Takes the next node, which a thread of this process grows.
    fn begin_here(
        &mut self,
        whole: &mut PageStore<'_>,
        criterion: &Remembering,
    ) -> Result<(Vec<NodeId>, Batch<'s>)> {
        let (id, UnreadNode { root, store }) = self.begin_next()?;
        let rows = match store {
            Some(PartRows::Here(own)) => NodeRows::OnPages(own),
            Some(PartRows::Elsewhere(_)) => return Err(elsewhere()),
            None => NodeRows::InMemory(load_all(whole, self.growth.pages)?),
        };
        Ok((vec![id], Batch::Here { rows, root, accepted: criterion.fork() }))
    }

    /// Takes the next nodes, which the tasks of an engine grow.
    fn begin_elsewhere(&mut self, many: usize, criterion: &Remembering) -> Result<(Vec<NodeId>, Batch<'s>)> {
        let (mut ids, mut nodes) = (Vec::new(), Vec::new());
        while ids.len() < many && !self.waiting.is_empty() {
            let (id, UnreadNode { root, store: Some(PartRows::Elsewhere(rows)) }) = self.begin_next()? else {
                return Err(elsewhere());
            };
            ids.push(id);
            nodes.push((rows, root));
            self.pass_giants();
        }
        Ok((ids, Batch::Elsewhere { nodes, changes: criterion.changes().to_vec() }))
    }

    fn begin_next(&mut self) -> Result<(NodeId, UnreadNode<'s>)> {
        let Some((id, PartNode::Node(node))) = self.waiting.pop_front() else {
            return Err(Error::defect("there is no node left to grow"));
        };
        self.begun.push_back((id, Begun::Ahead { part: node.root.part.clone(), grown: None }));
        Ok((id, node))
    }

    /// Reserves memory for the nodes that began and for up to `many` more; returns for how many there is enough.
    fn make_room(
        &mut self,
        mut many: usize,
        tree: u64,
        criterion: &dyn SplitTest,
        whole: &mut PartRows<'_>,
    ) -> Result<usize> {
        while many > 0 {
            let wanted = tree + self.bytes_with(many, criterion);
            if self.room.resize(STAGE, wanted).is_ok() || self.spill_for(wanted, many, whole)? {
                break;
            }
            many -= 1;
            if many == 0 && self.begun.is_empty() {
                // All pages are in the spill, and splitting was promised its memory before pages were made.
                self.room.resize(STAGE, tree)?;
                return Ok(1);
            }
        }
        Ok(many)
    }

    /// The memory of the nodes that began, and for growing the next `many`.
    fn bytes_with(&self, many: usize, criterion: &dyn SplitTest) -> u64 {
        let Growth { limits, pool, .. } = self.growth;
        let of_node = |part: &Part| {
            // A node has its own test while it grows, and afterwards what that remembers.
            limits.node_bytes(part) + self.leaves.expected_bytes(part.people) + 2 * criterion.bytes()
        };
        let begun = self.begun.iter().map(|(_, begun)| match begun {
            Begun::Ahead { part, .. } => of_node(part),
            Begun::Decided(node) => node.bytes,
        });
        let next = self.waiting.iter().filter_map(|(_, node)| match node {
            PartNode::Node(node) => Some(of_node(&node.root.part)),
            PartNode::Giant(_) => None,
        });
        begun.chain(next.take(many)).sum::<u64>() + limits.scratch_bytes(pool.current_num_threads())
    }

    /// Reserves this much after pages that are needed later went to the spill. Returns whether there is room.
    fn spill_for(&mut self, wanted: u64, many: usize, whole: &mut PartRows<'_>) -> Result<bool> {
        // Reading pages back costs more than a thread gains that is one node further ahead.
        if self.ahead() >= self.growth.pool.current_num_threads() {
            return Ok(false);
        }
        let waiting = self.waiting.iter_mut();
        let stores = waiting.filter_map(|(_, node)| node.node_mut()?.store.as_mut());
        let later: Vec<_> = stores.skip(many).collect();
        Ok(spill_until_free(&mut self.room, wanted, later.into_iter())?
            || spill_until_free(&mut self.room, wanted, std::iter::once(whole))?)
    }

    /// Publishes the next group, if its turn has come.
    fn publish_group(&mut self, tree: &mut CutTree, publisher: &mut Publisher<'_>) -> Result<Published> {
        let Some((id, Begun::Decided(node))) = self.begun.front_mut() else { return Ok(Published::Nothing) };
        for node in node.left_out.drain(..) {
            publisher.sink.left_out(&node.extent, node.part.people)?;
        }
        let Some(group) = node.groups.next() else {
            if let Some(own) = node.tree.take() {
                tree.graft(*id, own);
            }
            self.begun.pop_front();
            publisher.sink.end_node();
            self.published += 1;
            if self.published.is_multiple_of(NODES_BETWEEN_RELEASES) {
                release_freed();
            }
            return Ok(Published::Node);
        };
        let within = group.node;
        let number = publisher.publish(group)? - self.before;
        match &mut node.tree {
            Some(own) => own.number(within, number),
            None => tree.number(*id, number),
        }
        Ok(Published::Group)
    }
}

/// What was published.
enum Published {
    Group,
    /// Nothing is left of a node.
    Node,
    Nothing,
}

fn elsewhere() -> Error {
    Error::defect("a node is not where its part is")
}

/// How large the groups of nodes were that were finished in memory.
#[derive(Default)]
struct LeafBytes {
    /// The most bytes of groups per person.
    bytes_per_person: u64,
}

impl LeafBytes {
    fn saw(&mut self, people: u64, groups: u64) {
        self.bytes_per_person = self.bytes_per_person.max(groups.div_ceil(people.max(1)));
    }

    fn expected_bytes(&self, people: u64) -> u64 {
        self.bytes_per_person * people
    }
}
