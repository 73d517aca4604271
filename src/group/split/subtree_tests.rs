//! Nodes that are grown ahead of their turn, against growing them one after the other.

use super::frontier::OpenNode;
use super::lookahead::Lookahead;
use super::plan::SplitPlan;
use super::rows::InMemory;
use super::subtree::NodeGroups;
use super::tests::{DISTINCT, Sample, criterion, rows, sample};
use crate::encode::group_counts::Part;
use crate::encode::rows::Rows;
use crate::model::remembering::Remembering;
use crate::model::split::{Scratch, SplitTest};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// What a node became, without the places of rows, which nothing depends on.
fn outcome(NodeGroups { tree, groups, left_out }: &NodeGroups) -> String {
    assert!(left_out.is_empty());
    format!("{tree:?} {groups:?}")
}

/// What became of a node that was grown ahead of its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Committed {
    AsGrown,
    GrownAgain,
}

/// The rows from one of these numbers to the next, which are ascending.
fn nodes(sample: &Sample, starts: &[usize]) -> Vec<(Rows, OpenNode)> {
    let ends = starts[1..].iter().copied().chain([sample.rows.len()]);
    let node = |(start, end): (usize, usize)| {
        let mut own = sample.clone();
        own.rows = sample.rows[start..end].to_vec();
        let rows = rows(&own);
        let root = OpenNode::root(&own.columns, &rows.total(DISTINCT));
        (rows, root)
    };
    starts.iter().copied().zip(ends).map(node).collect()
}

/// Grows each node against the state of so many commits before its turn; `None` if the nodes are not safe at first.
fn grow_ahead<'a>(
    sample: &'a Sample,
    starts: &[usize],
    lags: &[usize],
    lookahead: Option<Lookahead<'a>>,
) -> Option<Vec<Committed>> {
    let plan = SplitPlan {
        columns: &sample.columns,
        order: sample.order,
        least_people: sample.minimum.people,
        lookahead,
    };
    let mut one_by_one = criterion(sample);
    let parts: Vec<Part> = nodes(sample, starts).into_iter().map(|(_, root)| root.part).collect();
    if !one_by_one.admits(&parts, &mut Scratch::default()) {
        return None;
    }
    one_by_one.accept(&parts);
    let mut states: Vec<Box<dyn SplitTest>> = vec![one_by_one.fork()];
    let mut outcomes = Vec::new();
    for (i, (rows, root)) in nodes(sample, starts).into_iter().enumerate() {
        let mut in_turn = InMemory::new(&sample.columns, rows.clone());
        let expected = plan.finish(&mut in_turn, root.clone(), &mut *one_by_one).unwrap().unwrap();
        let expected = NodeGroups::of(expected, &in_turn).unwrap();
        let earlier = &states[i - lags[i % lags.len()].min(i)];
        let mut grown = plan.grow(rows, root, earlier.fork()).unwrap();
        let mut state = Remembering::new(states[i].fork());
        outcomes.push(match grown.merge(&mut state) {
            true => Committed::AsGrown,
            false => {
                grown.grow(&plan, &mut state).unwrap();
                Committed::GrownAgain
            }
        });
        assert_eq!(outcome(&grown.groups.unwrap()), outcome(&expected), "{sample:?} {starts:?} {lags:?}");
        states.push(state.fork());
    }
    Some(outcomes)
}

#[test]
fn a_node_grown_ahead_of_its_turn_is_what_it_would_be_in_its_turn() {
    let mut runner = TestRunner::deterministic();
    // Skewed: the groups of some codes have values that others rarely have.
    let row = (0u16..9, 0u16..6, 0u16..5, 0u16..12).prop_map(|(a, b, c, value)| {
        let value =
            if value < DISTINCT as u16 { value } else { (a / 3 + u16::from(value > 8)) % DISTINCT as u16 };
        (vec![a, b, c], vec![value])
    });
    let strategy = (sample(), vec(row, 60..240), vec(1usize..240, 1..6), vec(0usize..5, 1..6));
    let (mut as_grown, mut again) = (0, 0);
    for _ in 0..600 {
        let (mut sample, rows, starts, lags) = strategy.new_tree(&mut runner).unwrap().current();
        sample.rows = rows;
        let mut starts: Vec<usize> = starts.into_iter().filter(|&start| start < sample.rows.len()).collect();
        starts.push(0);
        starts.sort_unstable();
        starts.dedup();
        let untouched = criterion(&sample);
        for lookahead in [None, Lookahead::new(&*untouched, sample.rows.len() as u64)] {
            let committed = grow_ahead(&sample, &starts, &lags, lookahead);
            for committed in committed.into_iter().flatten().skip(1) {
                match committed {
                    Committed::AsGrown => as_grown += 1,
                    Committed::GrownAgain => again += 1,
                }
            }
        }
    }
    assert!(as_grown > 100 && again > 0, "{as_grown} as grown, {again} again");
}
