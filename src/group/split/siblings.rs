//! Which nodes need not be counted, because their parent and their siblings are?
//!
//! The largest part of a node has the counts of the node without those of the other parts, so only the rows of these are
//! counted: at most half of the rows, if nodes are cut in two.

use super::frontier::OpenNode;
use super::page_counts::{Histograms, NOWHERE};
use crate::group::tree::{CutTree, NodeId};
use crate::resources::budget::Reservation;
use std::cmp::Reverse;

/// The nodes of a batch, and their counts.
pub struct BatchCounts {
    /// By place.
    pub(super) histograms: Histograms,
    /// The nodes by place, and the people in them.
    pub(super) nodes: Vec<(NodeId, u64)>,
}

/// What is kept of the batch before.
pub(super) struct KeptCounts {
    pub(super) batch: BatchCounts,
    pub(super) _room: Reservation,
}

/// A node whose counts follow from those of others.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DerivedNode {
    /// Its place; what is counted here are its siblings without a place of their own.
    pub(super) place: usize,
    /// The place of its parent in the batch before.
    pub(super) parent: usize,
    /// The places of its siblings.
    pub(super) siblings: Vec<usize>,
}

/// The nodes of a batch that are derived, if `before` are the nodes of the batch before; changes `place_of`, which says for
/// each node of the tree where it is counted.
pub(super) fn derive_largest(
    tree: &CutTree,
    batch: &[OpenNode],
    before: &[(NodeId, u64)],
    place_of: &mut [u32],
) -> Vec<DerivedNode> {
    let mut derived = Vec::new();
    for (parent, &(node, people)) in before.iter().enumerate() {
        let Some(children) = tree.children(node) else { continue };
        let places = children.clone().map(|child| place_of[child as usize]).filter(|&place| place != NOWHERE);
        let places: Vec<usize> = places.map(|place| place as usize).collect();
        let largest = places.iter().copied().max_by_key(|&place| (batch[place].part.people, Reverse(place)));
        let Some(place) = largest else { continue };
        let own = batch[place].part.people;
        let closed = people - places.iter().map(|&place| batch[place].part.people).sum::<u64>();
        if closed >= own {
            continue;
        }
        for child in children {
            let counted = &mut place_of[child as usize];
            *counted = match *counted {
                NOWHERE => place as u32,
                other if other as usize == place => NOWHERE,
                other => other,
            };
        }
        let siblings = places.into_iter().filter(|&other| other != place).collect();
        derived.push(DerivedNode { place, parent, siblings });
    }
    derived
}

#[cfg(test)]
mod tests {
    use super::super::page_counts::{NodeCounter, NodePlaces, coarsely};
    use super::*;
    use crate::encode::codes::Codes;
    use crate::encode::column::Column;
    use crate::encode::group_counts::{GroupCounts, Part};
    use crate::encode::rows::{Rows, Sensitive};
    use crate::group::tree::Cut;
    use crate::math::beliefs::group::Passes;
    use proptest::prelude::*;

    const VALUES: usize = 3;

    fn columns() -> [Column; 2] {
        [Column::evenly_spaced(300), Column::evenly_spaced(9)]
    }

    fn rows(people: &[(u16, u8, u8)]) -> Rows {
        let columns = vec![
            Codes::Wide(people.iter().map(|person| person.0).collect()),
            Codes::Narrow(people.iter().map(|person| person.1).collect()),
        ];
        let values = people.iter().map(|person| person.2).collect();
        Rows { columns, sensitive: Sensitive::Single(Codes::Narrow(values)) }
    }

    /// The counts of the nodes, and how many rows were counted for them.
    fn count(
        tree: &CutTree,
        batch: &[OpenNode],
        before: Option<&BatchCounts>,
        rows: &Rows,
    ) -> (BatchCounts, u64) {
        let ids: Vec<NodeId> = batch.iter().map(|node| node.id).collect();
        let mut places = NodePlaces::new(tree, &ids);
        let derived = before.map_or(vec![], |before| places.derive(tree, batch, &before.nodes));
        let binnings = coarsely(&columns());
        let mut histograms = Histograms::new(&binnings, VALUES, batch.len());
        let mut counter = NodeCounter::new(&places, &binnings, VALUES);
        counter.add(rows);
        counter.empty_into(&mut histograms);
        let counted = (0..batch.len()).map(|place| histograms.column(place, 0).1.iter().sum::<u64>()).sum();
        if let Some(before) = before {
            derived.iter().for_each(|node| histograms.derive(node, &before.histograms));
        }
        (
            BatchCounts { histograms, nodes: batch.iter().map(|node| (node.id, node.part.people)).collect() },
            counted,
        )
    }

    /// These groups as nodes that may still be cut.
    fn open(tree: &CutTree, ids: &[NodeId], rows: &Rows) -> Vec<OpenNode> {
        let found = |row: usize| tree.find(|column| rows.columns[column].get(row));
        let found: Vec<NodeId> = (0..rows.len()).map(found).collect();
        let people = |id| found.iter().filter(|&&found| found == id).count() as u64;
        let node = |&id: &NodeId| OpenNode {
            id,
            extent: vec![],
            part: Part::of(&GroupCounts { people: people(id), counts: vec![0; VALUES] }),
            rows: 0..0,
            passes: Passes::Yes,
            obstacle: None,
        };
        ids.iter().map(node).collect()
    }

    proptest! {
        #[test]
        fn derived_counts_are_those_that_counting_gives(
            people in prop::collection::vec((0u16..300, 0u8..9, 0u8..3), 0..300),
            levels in prop::collection::vec(
                prop::collection::vec((0usize..2, prop::collection::btree_set(1u32..300, 1..4), 0u8..4), 8), 1..5,
            ),
        ) {
            let rows = rows(&people);
            let mut tree = CutTree::default();
            let mut batch = open(&tree, &[CutTree::ROOT], &rows);
            let mut before = None;
            for level in levels {
                if batch.is_empty() {
                    break;
                }
                let (counts, counted) = count(&tree, &batch, before.as_ref(), &rows);
                let (all, every) = count(&tree, &batch, None, &rows);
                prop_assert_eq!(&counts.histograms, &all.histograms);
                prop_assert!(counted <= every);
                let mut next = vec![];
                for (node, (column, boundaries, kept)) in batch.iter().zip(level) {
                    // Some nodes are not cut, and some parts are not cut later.
                    if kept == 0 {
                        continue;
                    }
                    let boundaries: Box<[u32]> =
                        boundaries.into_iter().filter(|&boundary| boundary < columns()[column].codes).collect();
                    if !boundaries.is_empty() {
                        let parts = boundaries.len() as u32 + 1;
                        let first = tree.split(node.id, Cut { column, boundaries });
                        next.extend((first..first + parts).filter(|part| kept < 3 || part % 2 == 0));
                    }
                }
                before = Some(counts);
                batch = open(&tree, &next, &rows);
            }
        }
    }

    #[test]
    fn of_two_parts_only_the_smaller_one_is_counted() {
        let people: Vec<(u16, u8, u8)> = (0..100).map(|person| (person, 0, 0)).collect();
        let rows = rows(&people);
        let mut tree = CutTree::default();
        let (before, counted) = count(&tree, &open(&tree, &[CutTree::ROOT], &rows), None, &rows);
        assert_eq!(counted, 100);
        let first = tree.split(CutTree::ROOT, Cut { column: 0, boundaries: [30].into() });
        for (parts, expected) in [(vec![first, first + 1], 30), (vec![first + 1], 30), (vec![first], 30)] {
            let (counts, counted) = count(&tree, &open(&tree, &parts, &rows), Some(&before), &rows);
            assert_eq!(counted, expected, "{parts:?}");
            let (all, _) = count(&tree, &open(&tree, &parts, &rows), None, &rows);
            assert_eq!(counts.histograms, all.histograms);
        }
    }
}
