use super::frontier::OpenNode;
use super::grow::group;
use super::part_rows::PartRows;
use super::plan::SplitPlan;
use super::rank::CutOrder;
use super::rows::{InMemory, OnPages, Smallest};
use super::subtree::Subtree;
use crate::encode::codes::Codes;
use crate::encode::column::{CodeTree, Column, Splitting, Width};
use crate::encode::group_counts::{GroupCounts, Part};
use crate::encode::page::{Layout, Lists, Page, PageStore};
use crate::encode::rows::{Rows, Sensitive};
use crate::group::groups::{Group, Present};
use crate::group::tree::CutTree;
use crate::math::confidence::ThresholdVerdict;
use crate::math::exact::ratio;
use crate::math::implications::{Bucket, Scanner};
use crate::math::shares::ShareRule;
use crate::math::skyline::{Confidence, Knowledge, Point, ProtectedCodes, SkylineState, Values};
use crate::model::implications::split::ImplicationsTest;
use crate::model::obstacle::ObstructingRule;
use crate::model::shares::SharesTest;
use crate::model::skyline::split::SkylineTest;
use crate::model::split::{Every, MinimumSizes, Scratch, SplitTest};
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use crate::resources::spill::Spill;
use proptest::prelude::*;
use std::sync::Mutex;

/// A small table: codes per row, then the sensitive codes of the row.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<(Vec<u16>, Vec<u16>)>,
    pub(super) values: Values,
    adversary: Adversary,
    pub(super) minimum: MinimumSizes,
    pub(super) order: CutOrder,
}

#[derive(Debug, Clone, Copy)]
enum Adversary {
    Skyline(u64, u64, u64, &'static str),
    Implications(usize, &'static str),
    /// A skyline for the first value alone: here groups breach together more often that do not alone.
    FirstValue(u64, u64, u64, &'static str),
    /// A skyline, and no value has more than this share of a group.
    Diverse(u64, u64, u64, &'static str, (u64, u64)),
}

use Adversary::{Diverse, FirstValue, Implications, Skyline};

pub(super) const DISTINCT: usize = 4;

fn tree_column() -> Column {
    let mut tree = CodeTree::new(6);
    let left = tree.add(CodeTree::ROOT, 0..3);
    let right = tree.add(CodeTree::ROOT, 3..6);
    for code in 0..6 {
        tree.add(if code < 3 { left } else { right }, code..code + 1);
    }
    Column { codes: 6, splitting: Splitting::Tree(tree), width: Width::Share }
}

fn set_column() -> Column {
    Column { width: Width::Share, ..Column::evenly_spaced(5) }
}

prop_compose! {
    pub(super) fn sample()(
        values in prop::sample::select(vec![Values::Single, Values::Set, Values::Multiset]),
        codes in prop::collection::vec((0u16..9, 0u16..6, 0u16..5), 1..60),
        lists in prop::collection::vec(prop::collection::vec(0u16..DISTINCT as u16, 0..3), 60),
        skyline in prop::sample::select(vec![
            Skyline(0, 0, 0, "0.6"), Skyline(1, 0, 0, "0.9"), Skyline(0, 2, 1, "0.8"), Skyline(1, 1, 1, "1"),
            Skyline(2, 1, 2, "1"), Skyline(1, 0, 2, "0.75"), FirstValue(2, 0, 4, "0.75"),
            FirstValue(1, 0, 8, "0.6"),
        ]),
        implications in prop::sample::select(vec![
            None, Some(Implications(0, "0.6")), Some(Implications(1, "0.75")), Some(Implications(1, "1")),
            Some(Implications(2, "0.95")), Some(Implications(2, "1")), Some(Implications(2, "0.8")),
            Some(Diverse(1, 0, 1, "0.95", (2, 3))), Some(Diverse(0, 1, 0, "1", (1, 2))),
        ]),
        people in 1u64..4, distinct in 1usize..3,
        order in prop::sample::select(vec![CutOrder::Mondrian, CutOrder::Gain, CutOrder::GainAndRoom]),
    ) -> Sample {
        let rows = codes.into_iter().zip(lists).map(|((a, b, c), mut list)| {
            match values {
                Values::Single => { list.push((a + b) % DISTINCT as u16); list.truncate(1); }
                Values::Set => { list.sort_unstable(); list.dedup(); }
                Values::Multiset => {}
            }
            (vec![a, b, c], list)
        });
        let adversary = if values == Values::Single { implications.unwrap_or(skyline) } else { skyline };
        Sample {
            columns: vec![Column::evenly_spaced(9), tree_column(), set_column()],
            rows: rows.collect(), values, adversary, minimum: MinimumSizes { people, distinct }, order,
        }
    }
}

fn state(
    values: Values,
    protected: ProtectedCodes,
    (l, k, m, confidence): (u64, u64, u64, &str),
) -> SkylineState {
    let confidence = Confidence::parse(confidence).unwrap();
    let point = Point { knowledge: Knowledge { l, k, m }, confidence };
    SkylineState::new(values, DISTINCT, &[(protected, point)])
}

pub(super) fn criterion(sample: &Sample) -> Box<dyn SplitTest> {
    match sample.adversary {
        Skyline(l, k, m, confidence) => {
            let state = state(sample.values, ProtectedCodes::Every, (l, k, m, confidence));
            Box::new(SkylineTest::new(state, sample.minimum, DISTINCT))
        }
        FirstValue(l, k, m, confidence) => {
            let state = state(sample.values, ProtectedCodes::These(vec![0]), (l, k, m, confidence));
            Box::new(SkylineTest::new(state, sample.minimum, DISTINCT))
        }
        Implications(known, confidence) => {
            let confidence = Confidence::parse(confidence).unwrap();
            Box::new(ImplicationsTest::new(known, confidence, sample.minimum))
        }
        Diverse(l, k, m, confidence, (share, of)) => {
            let state = state(sample.values, ProtectedCodes::Every, (l, k, m, confidence));
            let rule = ShareRule::LargestShare { most: ratio(share, of) };
            Box::new(Every::new(vec![
                Box::new(SkylineTest::new(state, sample.minimum, DISTINCT)),
                Box::new(SharesTest::new(vec![rule])),
            ]))
        }
    }
}

pub(super) fn rows(sample: &Sample) -> Rows {
    let column = |i: usize| {
        let mut codes = Codes::with_capacity(sample.columns[i].codes, 0);
        sample.rows.iter().for_each(|(row, _)| codes.push(row[i]));
        codes
    };
    let sensitive = match sample.values {
        Values::Single => {
            Sensitive::Single(Codes::Narrow(sample.rows.iter().map(|(_, v)| v[0] as u8).collect()))
        }
        _ => {
            let mut offsets = vec![0];
            sample.rows.iter().for_each(|(_, v)| offsets.push(offsets.last().unwrap() + v.len() as u32));
            let values = sample.rows.iter().flat_map(|(_, v)| v.clone()).collect();
            Sensitive::Lists { lists: (0..sample.rows.len() as u32).collect(), offsets, values }
        }
    };
    Rows { columns: (0..sample.columns.len()).map(column).collect(), sensitive }
}

/// The tree and the groups if every node is split on pages of `page_rows` rows.
fn planned_on_pages(sample: &Sample, page_rows: usize) -> (CutTree, Vec<Group>) {
    let all = rows(sample);
    let whole = all.total(DISTINCT);
    let mut criterion = criterion(sample);
    let mut tree = CutTree::default();
    if !criterion.admits(&[Part::of(&whole)], &mut Scratch::default()) {
        return (tree, vec![]);
    }
    criterion.accept(&[Part::of(&whole)]);
    let folder = tempfile::tempdir().unwrap();
    let (budget, spill) = (Budget::new(1 << 24), Spill::create(folder.path()).unwrap());
    let layout = Layout {
        columns: sample.columns.iter().map(|column| column.codes).collect(),
        values: DISTINCT as u32,
        lists: if sample.values == Values::Single { Lists::One } else { Lists::Many },
    };
    let store = Mutex::new(PageStore::new(layout.clone(), &budget, &spill));
    for first in (0..all.len()).step_by(page_rows) {
        let mut page = layout.empty(0);
        let rows: Vec<u32> = (first as u32..all.len().min(first + page_rows) as u32).collect();
        page.extend_rows(&all, &rows).unwrap();
        PageStore::push_shared(&store, Page { rows: page, payload: Default::default() }).unwrap();
    }
    let store = PartRows::Here(store.into_inner().unwrap());
    let plan = SplitPlan {
        columns: &sample.columns,
        order: sample.order,
        least_people: sample.minimum.people,
        lookahead: None,
    };
    let progress = Progress::default();
    let mut pages = OnPages::new(&sample.columns, &store, &budget, &progress, Smallest::Part(0));
    let root = OpenNode::root(&sample.columns, &whole);
    let mut split = plan.split(&mut pages, root, &mut tree, &mut *criterion).unwrap();
    plan.find_obstacles(&pages, &tree, &mut split.leaves, &*criterion).unwrap();
    assert!(split.left.is_empty() && split.inner.is_empty());
    let mut groups: Vec<Group> =
        split.leaves.into_iter().map(|node| group(&pages, &tree, node).unwrap()).collect();
    let order = tree.groups_below(CutTree::ROOT);
    groups.sort_by_key(|group| order.iter().position(|&node| node == group.node));
    (tree, groups)
}

fn planned(sample: &Sample) -> (CutTree, Vec<Group>) {
    let rows = rows(sample);
    let whole = rows.total(DISTINCT);
    let mut criterion = criterion(sample);
    if !criterion.admits(&[Part::of(&whole)], &mut Scratch::default()) {
        return (CutTree::default(), vec![]);
    }
    criterion.accept(&[Part::of(&whole)]);
    let plan = SplitPlan {
        columns: &sample.columns,
        order: sample.order,
        least_people: sample.minimum.people,
        lookahead: None,
    };
    let root = OpenNode::root(&sample.columns, &whole);
    let mut rows = InMemory::new(&sample.columns, rows);
    let Subtree { tree, leaves, .. } = plan.finish(&mut rows, root, &mut *criterion).unwrap().unwrap();
    let groups = leaves.into_iter().map(|node| group(&rows, &tree, node).unwrap()).collect();
    (tree, groups)
}

/// A group of the naive model: numbers of its rows.
pub(super) type Naive = Vec<usize>;

fn part(sample: &Sample, group: &Naive) -> GroupCounts {
    let mut part = GroupCounts { people: group.len() as u64, counts: vec![0; DISTINCT] };
    group.iter().flat_map(|&row| &sample.rows[row].1).for_each(|&value| part.counts[value as usize] += 1);
    part
}

/// Whether a set of groups is safe, computed from scratch; in set and multiset mode, replaced groups also count.
pub(super) fn safe(sample: &Sample, groups: &[Naive]) -> bool {
    let parts: Vec<GroupCounts> = groups.iter().map(|group| part(sample, group)).collect();
    let diverse = match sample.adversary {
        Diverse(.., (share, of)) => {
            let holds = |part: &GroupCounts| part.counts.iter().all(|&n| n * of <= share * part.people);
            parts.iter().all(holds)
        }
        _ => true,
    };
    let verdict = match sample.adversary {
        Skyline(l, k, m, confidence) | FirstValue(l, k, m, confidence) | Diverse(l, k, m, confidence, _) => {
            let protected = match sample.adversary {
                FirstValue(..) => ProtectedCodes::These(vec![0]),
                _ => ProtectedCodes::Every,
            };
            let mut state = state(sample.values, protected, (l, k, m, confidence));
            let mut ranking = Default::default();
            parts.iter().for_each(|part| state.observe(&mut ranking, part.people, &part.counts, 0));
            state.verdict()
        }
        Implications(known, confidence) => {
            let mut scanner = Scanner::new(known);
            for (part, number) in parts.iter().zip(0..) {
                scanner.observe(&Bucket::from_counts(part.counts.clone(), known).unwrap(), number);
            }
            scanner.finish().verdict(&Confidence::parse(confidence).unwrap())
        }
    };
    diverse
        && verdict == ThresholdVerdict::Safe
        && parts.iter().all(|part| sample.minimum.holds(&Part::of(part)))
}

/// Every cut of a group: its parts and its rank, computed from the rows.
pub(super) fn cuts(sample: &Sample, group: &Naive) -> Vec<(f64, f64, Vec<Naive>)> {
    let code = |row: &usize, column: usize| sample.rows[*row].0[column];
    let width = |rows: &Naive, number: usize| {
        let mut codes: Vec<u16> = rows.iter().map(|row| code(row, number)).collect();
        codes.sort_unstable();
        codes.dedup();
        sample.columns[number].width_of((codes[0].into(), codes[codes.len() - 1].into()), codes.len())
    };
    let least = criterion(sample).least_people() as usize;
    let mut all = vec![];
    for (number, column) in sample.columns.iter().enumerate() {
        let mut codes: Vec<u16> = group.iter().map(|row| code(row, number)).collect();
        codes.sort_unstable();
        codes.dedup();
        let by = |part: &dyn Fn(u16) -> u32| {
            let mut keys: Vec<u32> = codes.iter().map(|&code| part(code)).collect();
            keys.dedup();
            let rows_of =
                |key: &u32| group.iter().copied().filter(|row| part(code(row, number)) == *key).collect();
            keys.iter().map(rows_of).collect::<Vec<Naive>>()
        };
        let partitions: Vec<Vec<Naive>> = match &column.splitting {
            Splitting::Ordered => codes[1..].iter().map(|&cut| by(&|code| u32::from(code >= cut))).collect(),
            Splitting::Tree(tree) => {
                let cover = tree.smallest_cover((codes[0].into(), codes[codes.len() - 1].into()));
                vec![by(&|code| tree.boundaries(cover).filter(|&b| b <= code.into()).count() as u32)]
            }
        };
        for parts in partitions.into_iter().filter(|parts| parts.len() > 1) {
            let largest = parts.iter().map(Vec::len).max().unwrap() as f64;
            let penalty: f64 = parts.iter().map(|part| part.len() as f64 * width(part, number)).sum();
            let major = match sample.order {
                CutOrder::Mondrian => width(group, number),
                CutOrder::Gain => group.len() as f64 * width(group, number) - penalty,
                CutOrder::GainAndRoom => {
                    let room: usize = parts.iter().map(|part| part.len() / least).sum();
                    let left = room as f64 / (group.len() / least).max(1) as f64;
                    (group.len() as f64 * width(group, number) - penalty) * left
                }
            };
            all.push((major, group.len() as f64 / 2.0 - largest, parts));
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    all
}

/// SkylineAnonymize taken literally: a queue of groups, the first safe cut in order of preference.
fn naive(sample: &Sample) -> Vec<Naive> {
    let root: Naive = (0..sample.rows.len()).collect();
    if !safe(sample, std::slice::from_ref(&root)) {
        return vec![];
    }
    let mut seen = vec![root.clone()];
    let mut queue = std::collections::VecDeque::from([root]);
    let mut finished = vec![];
    while let Some(group) = queue.pop_front() {
        let admitted = cuts(sample, &group).into_iter().find(|(_, _, parts)| {
            let live = match sample.values {
                Values::Single => [finished.clone(), Vec::from(queue.clone()), parts.clone()].concat(),
                _ => [seen.clone(), parts.clone()].concat(),
            };
            safe(sample, &live)
        });
        match admitted {
            None => finished.push(group),
            Some((_, _, parts)) => {
                seen.extend(parts.clone());
                queue.extend(parts);
            }
        }
    }
    finished
}

/// The rows of each planned group, found by walking the tree of cuts.
fn members(sample: &Sample, tree: &CutTree, groups: &[Group]) -> Vec<Naive> {
    let node = |row: usize| tree.find(|column| sample.rows[row].0[column]);
    let rows_of = |group: &Group| (0..sample.rows.len()).filter(|&row| node(row) == group.node).collect();
    groups.iter().map(rows_of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_planner_equals_the_naive_model(sample in sample()) {
        let (tree, groups) = planned(&sample);
        let mut own = members(&sample, &tree, &groups);
        let mut expected = naive(&sample);
        for (group, rows) in groups.iter().zip(&own) {
            prop_assert_eq!(group.part.unpack(), part(&sample, rows));
        }
        own.sort();
        expected.sort();
        prop_assert_eq!(own, expected);
    }

    #[test]
    fn single_valued_groups_are_minimal_and_safe(sample in sample()) {
        let (tree, groups) = planned(&sample);
        let all = members(&sample, &tree, &groups);
        prop_assert!(all.is_empty() || safe(&sample, &all));
        if sample.values == Values::Single {
            for (i, group) in all.iter().enumerate() {
                for (_, _, parts) in cuts(&sample, group) {
                    let replaced = [&all[..i], &all[i + 1..], &parts].concat();
                    prop_assert!(!safe(&sample, &replaced), "group {group:?} could be split");
                }
            }
        }
    }

    /// Pages are counted in one pass for all nodes, rows in memory node by node: every proposal must be the same.
    #[test]
    fn rows_on_pages_are_split_like_rows_in_memory(sample in sample(), page_rows in 1usize..9) {
        prop_assert_eq!(planned_on_pages(&sample, page_rows), planned(&sample));
    }

    /// A value is named only if nothing else refuses the best cut, and otherwise nothing alone does.
    #[test]
    fn what_binds_is_what_refuses_the_best_cut(sample in sample()) {
        let Skyline(l, k, m, confidence) = sample.adversary else { return Ok(()) };
        let (tree, groups) = planned(&sample);
        for (group, rows) in groups.iter().zip(members(&sample, &tree, &groups)) {
            let all = cuts(&sample, &rows);
            let large = |parts: &[Naive]| parts.iter().all(|part| part.len() as u64 >= sample.minimum.people);
            let Some((_, _, best)) = all.iter().find(|(_, _, parts)| large(parts)) else {
                let expected =
                    if all.is_empty() { ObstructingRule::NothingToCut } else { ObstructingRule::People };
                prop_assert_eq!(group.obstacle.unwrap().rule, expected);
                continue;
            };
            let parts: Vec<GroupCounts> = best.iter().map(|own| part(&sample, own)).collect();
            let least = sample.minimum.distinct;
            if least > 1 && parts.iter().any(|part| part.distinct() < least) {
                prop_assert_eq!(group.obstacle.unwrap().rule, ObstructingRule::Distinct);
                continue;
            }
            let refuses = |code: &u16| {
                let point = state(sample.values, ProtectedCodes::Every, (l, k, m, confidence)).points().remove(0);
                let only = ProtectedCodes::These(vec![u32::from(*code)]);
                let mut state = SkylineState::new(sample.values, DISTINCT, &[(only, point)]);
                let mut ranking = Default::default();
                parts.iter().for_each(|part| state.observe(&mut ranking, part.people, &part.counts, 0));
                state.verdict() != ThresholdVerdict::Safe
            };
            let refusing: Vec<u16> = (0..DISTINCT as u16).filter(refuses).collect();
            let ObstructingRule::Point { point: 0, code } = group.obstacle.unwrap().rule else {
                prop_assert!(parts.iter().all(|part| part.distinct() == 0), "{:?}", group.obstacle);
                continue;
            };
            match refusing[..] {
                [] => prop_assert!(code.is_some()),
                [only] => prop_assert_eq!(code, Some(only)),
                _ => prop_assert_eq!(code, None),
            }
        }
    }

    /// The codes that a group is said to hold are those of its people.
    #[test]
    fn groups_hold_their_people(sample in sample()) {
        let (tree, groups) = planned(&sample);
        for (group, rows) in groups.iter().zip(members(&sample, &tree, &groups)) {
            for row in rows {
                for (column, &code) in sample.rows[row].0.iter().enumerate() {
                    let Present { ends: (low, high), least_above, .. } = group.present[column];
                    prop_assert!((low..=high).contains(&code.into()));
                    prop_assert!(code == 0 || least_above <= code.into());
                }
            }
        }
    }
}
