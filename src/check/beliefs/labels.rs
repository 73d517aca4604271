//! Which group of a generalized release contains a person of the original?
//!
//! The published labels decide: groups are boxes of codes that do not overlap, so a combination of
//! quasi-identifiers lies in exactly one of them. Where a label leaves open whether it covers a code, a group
//! that definitely covers it takes precedence. Nothing is read about how the groups were made.
//!
//! Memory: O(groups x columns) for the boxes, reserved from the budget, and O(groups) for the boundaries that
//! separate them. Invariant: a person in no group, or in two, is an error, because a release must not be
//! judged by a table other than its own.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use crate::error::{Error, Result};
use crate::model::beliefs::original::{Original, Roles, other_table};
use crate::release::covers::{LabelCover, PublishedLabels, unfit};
use crate::release::rows::GROUP;
use crate::resources::Resources;
use crate::resources::budget::Reservation;
use crate::table::read::{ColumnRequest, Table};

/// Boxes of a leaf, which are tested one after the other.
const LEAF: usize = 8;

/// A group, and the codes that its label covers in every column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct LabelledGroup {
    number: i64,
    covers: Vec<LabelCover>,
}

impl LabelledGroup {
    fn ends(&self, column: usize) -> (u32, u32) {
        self.covers[column].cover.ends().unwrap_or((0, 0))
    }

    fn covers(&self, codes: &[u32]) -> bool {
        self.covers.iter().zip(codes).all(|(cover, &code)| cover.covers(code))
    }

    fn surely_covers(&self, codes: &[u32]) -> bool {
        self.covers.iter().zip(codes).all(|(cover, &code)| cover.surely_covers(code))
    }
}

/// The groups of a release by what their labels cover.
pub struct LabelledGroups {
    groups: Vec<LabelledGroup>,
    nodes: Vec<Node>,
    _room: Reservation,
}

/// A set of groups.
enum Node {
    /// The groups below a code of a column, and the others, as the indices of their nodes.
    Boundary { column: usize, code: u32, below: usize, others: usize },
    /// The groups of a leaf, as a range of indices.
    Leaf(std::ops::Range<usize>),
}

impl LabelledGroups {
    /// Reads the labels of a release in the codes of its original.
    pub fn read(
        release: &Table,
        table: &Table,
        original: &Original,
        roles: &Roles,
        resources: &Resources<'_>,
    ) -> Result<Self> {
        let kinds = roles.quasi.iter().map(|quasi| table.kind(&quasi.name)).collect::<Result<Vec<_>>>()?;
        let labels =
            PublishedLabels::new(roles.quasi.iter().collect(), &kinds, &original.attributes, release);
        let names = std::iter::once(GROUP.to_string()).chain(labels.columns());
        let wanted: Vec<ColumnRequest> = names.map(ColumnRequest::canonical).collect();
        let mut all: HashSet<LabelledGroup> = HashSet::new();
        let mut room = resources.budget.reserve(STAGE, 0)?;
        resources.progress.start("reading labels", release.rows());
        let work = |morsel: crate::table::read::Morsel<'_>| {
            let (mut found, mut known, mut last) = (Vec::new(), labels.known(), None);
            for batch in morsel {
                let batch = batch?;
                let (number, columns) = batch.columns().split_first().ok_or_else(unfit)?;
                let numbers = number.as_primitive_opt::<Int64Type>().ok_or_else(unfit)?;
                let opened = labels.open(columns)?;
                for row in 0..batch.num_rows() {
                    let group = LabelledGroup {
                        number: numbers.value(row),
                        covers: labels.covers(&opened, row, &mut known)?,
                    };
                    if last.as_ref() != Some(&group) {
                        found.push(group.clone());
                        last = Some(group);
                    }
                }
                resources.progress.advance(batch.num_rows() as u64);
            }
            Ok(found)
        };
        let mut held = 0;
        let outcome = release.scan(&wanted, resources, work, |found| {
            for group in found {
                let own = bytes(&group);
                held += if all.insert(group) { own } else { 0 };
            }
            room.resize(STAGE, held)
        });
        resources.progress.finish();
        outcome?;
        let mut groups: Vec<LabelledGroup> = all.into_iter().collect();
        groups.sort_by_key(|group| group.number);
        let nodes = separated(&mut groups, roles.quasi.len());
        Ok(LabelledGroups { groups, nodes, _room: room })
    }

    /// The number of the group with these codes, in which everybody must be.
    pub fn group(&self, codes: &[u32]) -> Result<i64> {
        self.find(codes)?.ok_or_else(not_everybody)
    }

    /// The number of the group with these codes; `None` if there is none.
    pub fn find(&self, codes: &[u32]) -> Result<Option<i64>> {
        let mut node = 0;
        let range = loop {
            match &self.nodes[node] {
                Node::Leaf(range) => break range.clone(),
                Node::Boundary { column, code, below, others } => {
                    node = if codes[*column] < *code { *below } else { *others };
                }
            }
        };
        let groups = &self.groups[range];
        let one = |covers: &dyn Fn(&LabelledGroup) -> bool| {
            let mut found = groups.iter().filter(|group| covers(group)).map(|group| group.number);
            let first = found.next()?;
            Some(found.all(|other| other == first).then_some(first))
        };
        match one(&|group| group.surely_covers(codes)) {
            Some(Some(surely)) => Ok(Some(surely)),
            _ => match one(&|group| group.covers(codes)) {
                Some(None) => Err(not_everybody()),
                Some(found) => Ok(found),
                None => Ok(None),
            },
        }
    }
}

fn not_everybody() -> Error {
    other_table("the labels of the release do not put everybody of this table into one group")
}

const STAGE: &str = "the labels of the groups";

fn bytes(group: &LabelledGroup) -> u64 {
    let cover = |cover: &LabelCover| match &cover.cover {
        crate::release::covers::Cover::Range(_) => 96,
        crate::release::covers::Cover::Listed(codes) => 96 + 4 * codes.len() as u64,
    };
    64 + group.covers.iter().map(cover).sum::<u64>()
}

/// Arranges the groups in the order of the leaves, separated by boundaries that no group crosses.
fn separated(groups: &mut [LabelledGroup], columns: usize) -> Vec<Node> {
    let mut nodes = vec![Node::Leaf(0..groups.len())];
    let mut open = vec![0];
    while let Some(node) = open.pop() {
        let Node::Leaf(range) = &nodes[node] else { continue };
        let range = range.clone();
        if range.len() <= LEAF {
            continue;
        }
        let own = &mut groups[range.clone()];
        let best = (0..columns).filter_map(|column| boundary(own, column)).max_by_key(|found| found.balance);
        let Some(Boundary { column, code, .. }) = best else { continue };
        own.sort_by_key(|group| group.ends(column).0);
        let middle = range.start + own.partition_point(|group| group.ends(column).0 < code);
        let (below, others) = (nodes.len(), nodes.len() + 1);
        nodes.push(Node::Leaf(range.start..middle));
        nodes.push(Node::Leaf(middle..range.end));
        nodes[node] = Node::Boundary { column, code, below, others };
        open.extend([below, others]);
    }
    nodes
}

/// A code that no group crosses.
struct Boundary {
    column: usize,
    code: u32,
    /// How many groups are on the smaller side.
    balance: usize,
}

/// The boundary of a column that splits the groups most evenly.
fn boundary(groups: &mut [LabelledGroup], column: usize) -> Option<Boundary> {
    groups.sort_by_key(|group| group.ends(column).0);
    let mut highest = groups[0].ends(column).1;
    let mut best: Option<Boundary> = None;
    for (at, group) in groups.iter().enumerate().skip(1) {
        let (low, high) = group.ends(column);
        let balance = at.min(groups.len() - at);
        if low > highest && best.as_ref().is_none_or(|best| balance > best.balance) {
            best = Some(Boundary { column, code: low, balance });
        }
        highest = highest.max(high);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::covers::Cover;
    use crate::resources::budget::Budget;

    fn group(number: i64, ranges: &[std::ops::Range<u32>]) -> LabelledGroup {
        let cover = |range: &std::ops::Range<u32>| LabelCover {
            cover: Cover::Range(range.clone()),
            doubtful: Vec::new(),
        };
        LabelledGroup { number, covers: ranges.iter().map(cover).collect() }
    }

    fn labelled(mut groups: Vec<LabelledGroup>) -> LabelledGroups {
        let nodes = separated(&mut groups, 2);
        let room = Budget::new(1 << 20).reserve("test", 0).unwrap();
        LabelledGroups { groups, nodes, _room: room }
    }

    #[test]
    fn everybody_finds_the_box_that_holds_them() {
        // The columns of a grid, each cut at its own places.
        let mut groups = Vec::new();
        for x in 0..12u32 {
            for y in 0..9u32 {
                let (low, high) = (y * 3 + x % 3, y * 3 + 3 + x % 3);
                let low = if y == 0 { 0 } else { low };
                groups.push(group(i64::from(x * 9 + y), &[x * 2..x * 2 + 2, low..high]));
            }
        }
        let all = labelled(groups.clone());
        assert!(all.nodes.len() > 20, "boundaries separate the groups");
        for group in &groups {
            for x in group.ends(0).0..=group.ends(0).1 {
                for y in group.ends(1).0..=group.ends(1).1 {
                    assert_eq!(all.group(&[x, y]).unwrap(), group.number);
                }
            }
        }
        assert!(all.group(&[0, 90]).is_err(), "in no group");
    }

    #[test]
    fn a_sure_label_comes_before_a_doubtful_one_and_a_tie_is_refused() {
        let mut star = group(1, &[0..5, 0..1]);
        star.covers[0].doubtful.push(0..1);
        let null = group(2, &[0..1, 0..1]);
        let both = labelled(vec![star.clone(), null]);
        assert_eq!([both.group(&[0, 0]).unwrap(), both.group(&[3, 0]).unwrap()], [2, 1]);
        assert_eq!(labelled(vec![star]).group(&[0, 0]).unwrap(), 1, "nobody else can hold it");
        let twice = labelled(vec![group(1, &[0..5, 0..1]), group(2, &[4..9, 0..1])]);
        assert!(twice.group(&[4, 0]).is_err() && twice.group(&[3, 0]).is_ok());
    }
}
