//! The tree of boxes, and what of it is published.
//!
//! The pages are read once per level of the tree, and once more for the sensitive values of the leaves.
//! Memory: the boxes of the tree, and 8 bytes per leaf and sensitive value, taken from the budget.

use super::boxes::{Axes, QuasiBox};
use crate::encode::attribute::Attribute;
use crate::encode::column::Column;
use crate::encode::group_counts::{GroupCounts, Part};
use crate::encode::page::PageStore;
use crate::encode::rows::Sensitive;
use crate::error::{Error, Result};
use crate::group::groups::{Group, Present};
use crate::group::tree::{CutTree, NodeId};
use crate::math::blind::{CandidateNode, CandidateTree, Counting, least_leaf};
use crate::model::skyline::BlindRequirements;
use crate::resources::budget::Budget;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Candidates between the root and the leaves have up to so many times the people of the smallest leaf; in a large table up
/// to the square root of the number of leaves: there are more of them, and each must fail more rarely.
const SIZE_STEP: u64 = 16;

/// The inputs of a blind choice of groups.
pub struct BlindGroups<'a> {
    /// The quasi-identifiers.
    pub attributes: &'a [Attribute],
    /// The same as columns.
    pub columns: &'a [Column],
    /// What must hold.
    pub requirements: &'a BlindRequirements,
    /// The fewest people that the policy allows in a group.
    pub least_people: u64,
    /// The memory budget.
    pub budget: &'a Arc<Budget>,
}

/// How the groups were chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct BlindOutcome {
    /// The cuts down to the published groups, which have their numbers; `None` if nothing may be published.
    pub tree: Option<CutTree>,
    /// The fewest people of a leaf.
    pub least_people: u64,
    /// Leaves of the tree of boxes.
    pub leaves: usize,
    /// Leaves that were not safe on their own.
    pub failed_leaves: usize,
    /// An upper bound of the leaves that were expected to fail by the declared shares.
    pub expected_failures: f64,
    /// How it was decided what is published.
    pub counting: Counting,
}

/// The tree of boxes.
struct BoxTree {
    tree: CutTree,
    /// By node.
    people: Vec<u64>,
    boxes: BTreeMap<NodeId, QuasiBox>,
}

impl BlindGroups<'_> {
    /// Passes the published groups with their numbers to `sink`, in tree order.
    pub fn choose(
        &self,
        store: &PageStore<'_>,
        whole: &GroupCounts,
        mut sink: impl FnMut(u64, Group) -> Result<()>,
    ) -> Result<BlindOutcome> {
        let BlindRequirements { points, limits } = self.requirements;
        let least = least_leaf(whole.people, limits).max(self.least_people).max(1);
        let mut grown = self.grow(store, whole.people, least)?;
        let leaves = grown.tree.groups_below(CutTree::ROOT);
        let values = whole.counts.len();
        let _counts =
            self.budget.reserve("the counts of the candidate groups", (16 * leaves.len() * values) as u64)?;
        let of_leaves = count_values(store, &grown.tree, &leaves, values)?;
        let (candidates, nodes) = grown.candidates(least);
        let mut of_leaves: BTreeMap<NodeId, Vec<u64>> = leaves.iter().copied().zip(of_leaves).collect();
        let mut counts: Vec<Vec<u64>> =
            nodes.iter().map(|node| of_leaves.remove(node).unwrap_or_default()).collect();
        candidates.add_up(&mut counts);
        let publication = candidates.publish(&counts, points, limits);
        let smallest = leaves.iter().map(|&leaf| grown.people[leaf as usize]).min().unwrap_or(1);
        let expected_failures =
            leaves.iter().map(|&leaf| limits.chance_of_failure(grown.people[leaf as usize], smallest)).sum();
        let published = publication.nodes.map(|published| {
            let mut tree = std::mem::take(&mut grown.tree);
            published.iter().for_each(|&place| tree.join(nodes[place]));
            (tree, published)
        });
        let tree = match published {
            None => None,
            Some((mut tree, published)) => {
                for (number, place) in (1..).zip(published) {
                    let node = nodes[place];
                    tree.number(node, number);
                    let part =
                        GroupCounts { people: grown.people[node as usize], counts: counts[place].clone() };
                    sink(number, self.group(node, &grown.boxes[&node], part))?;
                }
                Some(tree)
            }
        };
        Ok(BlindOutcome {
            tree,
            least_people: least,
            leaves: leaves.len(),
            failed_leaves: publication.failed_leaves,
            expected_failures,
            counting: publication.counting,
        })
    }

    /// Cuts boxes for as long as all parts have enough people.
    fn grow(&self, store: &PageStore<'_>, people: u64, least: u64) -> Result<BoxTree> {
        let axes = Axes::new(self.attributes, self.columns);
        let mut grown = BoxTree {
            tree: CutTree::default(),
            people: vec![people],
            boxes: BTreeMap::from([(CutTree::ROOT, axes.whole())]),
        };
        // With the cut that is to be tried next.
        let mut open = vec![(CutTree::ROOT, 0)];
        while !open.is_empty() {
            let mut tried = vec![];
            for (node, number) in open.drain(..).filter(|&(node, _)| grown.people[node as usize] >= 2 * least)
            {
                let Some((cut, parts)) = axes.cut(&grown.boxes[&node], number) else { continue };
                let first = grown.tree.split(node, cut);
                let children = first..first + parts.len() as NodeId;
                grown.boxes.extend(children.clone().zip(parts));
                tried.push((node, number, children));
            }
            if tried.is_empty() {
                break;
            }
            let counted = count_people(store, &grown.tree)?;
            grown.people.resize(counted.len(), 0);
            for (node, number, children) in tried {
                let refused = children.clone().any(|child| counted[child as usize] < least);
                if refused {
                    grown.tree.join(node);
                    open.push((node, number + 1));
                }
                for child in children {
                    match refused {
                        true => drop(grown.boxes.remove(&child)),
                        false => {
                            grown.people[child as usize] = counted[child as usize];
                            open.push((child, 0));
                        }
                    }
                }
            }
        }
        Ok(grown)
    }

    /// A group is labelled by its whole box, even if nobody has some of its values.
    fn group(&self, node: NodeId, own: &QuasiBox, part: GroupCounts) -> Group {
        let codes = |extent: &std::ops::Range<u32>| extent.clone().map(|code| code as u16).collect();
        let present = self.columns.iter().zip(&own.extent);
        let present = present.map(|(column, extent)| Present::new(column, codes(extent))).collect();
        Group { node, present, part: Part::of(&part), obstacle: None }
    }
}

impl BoxTree {
    /// The candidates with their nodes: the root, the leaves, and between them the first node on each path that is small
    /// enough.
    fn candidates(&self, least: u64) -> (CandidateTree, Vec<NodeId>) {
        let leaves = self.people[CutTree::ROOT as usize] / least;
        let small = least.saturating_mul(SIZE_STEP.max(leaves.isqrt()));
        let step = |people: u64| u32::from(people >= small);
        // Every node with the candidate above it; children after their parents.
        let mut order: Vec<(NodeId, Option<usize>)> = vec![];
        let mut open: Vec<(NodeId, Option<usize>, u32)> = vec![(CutTree::ROOT, None, u32::MAX)];
        while let Some((node, above, last)) = open.pop() {
            let own = step(self.people[node as usize]);
            let children = self.tree.children(node);
            let above = match children.is_none() || own < last {
                true => {
                    order.push((node, above));
                    Some(order.len() - 1)
                }
                false => above,
            };
            open.extend(children.into_iter().flatten().rev().map(|child| (child, above, own)));
        }
        let last = order.len() - 1;
        let place = |at: usize| last - at;
        let mut nodes: Vec<CandidateNode> = order
            .iter()
            .rev()
            .map(|(node, _)| CandidateNode { people: self.people[*node as usize], children: vec![] })
            .collect();
        for (at, (_, above)) in order.iter().enumerate() {
            if let Some(above) = above {
                nodes[place(*above)].children.push(place(at));
            }
        }
        (CandidateTree::new(nodes), order.into_iter().rev().map(|(node, _)| node).collect())
    }
}

/// How many people are in each node that is not cut.
fn count_people(store: &PageStore<'_>, tree: &CutTree) -> Result<Vec<u64>> {
    let mut counts = vec![0; tree.len()];
    let mut room = store.layout().empty(0);
    for page in 0..store.len() {
        let rows = store.load(page, &mut room)?;
        for row in 0..rows.len() {
            counts[tree.find(|column| rows.columns[column].get(row)) as usize] += 1;
        }
    }
    Ok(counts)
}

/// How many people of each leaf have each sensitive value.
fn count_values(
    store: &PageStore<'_>,
    tree: &CutTree,
    leaves: &[NodeId],
    values: usize,
) -> Result<Vec<Vec<u64>>> {
    let mut place = vec![0; tree.len()];
    leaves.iter().enumerate().for_each(|(at, &leaf)| place[leaf as usize] = at);
    let mut counts = vec![vec![0; values]; leaves.len()];
    let mut room = store.layout().empty(0);
    for page in 0..store.len() {
        let rows = store.load(page, &mut room)?;
        let Sensitive::Single(codes) = &rows.sensitive else {
            return Err(Error::defect("blind cuts were made for people with several values"));
        };
        for row in 0..rows.len() {
            let leaf = tree.find(|column| rows.columns[column].get(row));
            counts[place[leaf as usize]][usize::from(codes.get(row))] += 1;
        }
    }
    Ok(counts)
}
