//! A tree of candidate groups, and what of it is published.

use super::exact::ExactRule;
use super::limits::{LimitRule, ShareLimits};
use super::point::BlindPoint;

/// A candidate for a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateNode {
    /// How many people it holds.
    pub people: u64,
    /// The nodes that it divides into; none for a leaf.
    pub children: Vec<usize>,
}

/// Nested candidate groups; children come before their parents, so the root is the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateTree {
    nodes: Vec<CandidateNode>,
}

/// How it was decided what is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// All arrangements were counted.
    Exact,
    /// By limits for which safety is proved.
    Limits,
}

/// What the rule publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The nodes that become groups, in tree order; `None` if the root fails.
    pub nodes: Option<Vec<usize>>,
    /// How that was decided.
    pub counting: Counting,
    /// The leaves that failed.
    pub failed_leaves: usize,
}

impl CandidateTree {
    /// Creates it from nodes of which children come before their parents; the last is the root, and every other node
    /// is the child of one node.
    pub fn new(nodes: Vec<CandidateNode>) -> Self {
        debug_assert!(
            nodes.iter().enumerate().all(|(at, node)| node.children.iter().all(|&child| child < at))
        );
        CandidateTree { nodes }
    }

    /// All nodes.
    pub fn nodes(&self) -> &[CandidateNode] {
        &self.nodes
    }

    /// The place of the root.
    pub fn root(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The leaves, in tree order.
    pub fn leaves(&self) -> Vec<usize> {
        let (mut open, mut leaves) = (vec![self.root()], vec![]);
        while let Some(node) = open.pop() {
            match &self.nodes[node].children[..] {
                [] => leaves.push(node),
                children => open.extend(children.iter().rev()),
            }
        }
        leaves
    }

    /// The counts of all nodes, given those of the leaves; inner places of `counts` are overwritten.
    pub fn add_up(&self, counts: &mut [Vec<u64>]) {
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| !node.children.is_empty()) {
            let mut sum = vec![0; counts[node.children[0]].len()];
            for &child in &node.children {
                sum.iter_mut().zip(&counts[child]).for_each(|(sum, count)| *sum += count);
            }
            counts[at] = sum;
        }
    }

    /// What is published of a table with these counts per node and value.
    pub fn publish(&self, counts: &[Vec<u64>], points: &[BlindPoint], limits: &ShareLimits) -> Publication {
        match ExactRule::new(self, &counts[self.root()], points) {
            Some(rule) => self.walk(Counting::Exact, counts, |node, counts| rule.is_bad(node, counts)),
            None => self.publish_within(counts, limits),
        }
    }

    /// What is published by limits alone.
    pub(super) fn publish_within(&self, counts: &[Vec<u64>], limits: &ShareLimits) -> Publication {
        let rule = LimitRule::new(self, limits);
        self.walk(Counting::Limits, counts, |node, counts| rule.is_bad(node, counts))
    }

    /// Walks the tree from its leaves; `is_bad` says whether a node may not publish itself.
    fn walk(
        &self,
        counting: Counting,
        counts: &[Vec<u64>],
        is_bad: impl Fn(usize, &[u64]) -> bool,
    ) -> Publication {
        let mut out: Vec<Option<Vec<usize>>> = Vec::with_capacity(self.nodes.len());
        let mut failed_leaves = 0;
        for (at, node) in self.nodes.iter().enumerate() {
            let parts: Option<Vec<Vec<usize>>> =
                node.children.iter().map(|&child| out[child].take()).collect();
            let own = match parts {
                Some(parts) if !node.children.is_empty() => Some(parts.concat()),
                _ if is_bad(at, &counts[at]) => {
                    failed_leaves += usize::from(node.children.is_empty());
                    None
                }
                _ => Some(vec![at]),
            };
            out.push(own);
        }
        Publication { nodes: out.pop().flatten(), counting, failed_leaves }
    }
}
