//! Tables that are grown in parts, against a naive model of the order of decisions.

use super::grow::Growth;
use super::leaf::Pages;
use super::limits::SubtreeLimits;
use super::part_rows::PartRows;
use super::plan::SplitPlan;
use super::tests::{DISTINCT, Naive, Sample, criterion, cuts, rows, safe, sample};
use crate::encode::group_counts::Part;
use crate::encode::page::{Layout, Lists, Page, PageStore, Travelling};
use crate::error::Result;
use crate::group::groups::{Group, GroupSink, PlacedRows};
use crate::group::tree::{CutTree, NumberedTree, TreeLeaf};
use crate::math::skyline::Values;
use crate::model::split::Scratch;
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use crate::resources::spill::Spill;
use crate::resources::threads::thread_pool;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

/// Rows of a node that is finished in memory, and of the two sizes of parts.
#[derive(Debug, Clone, Copy)]
struct Sizes(usize, u64, u64);

/// How a table is grown; must not matter.
#[derive(Debug, Clone, Copy)]
struct Means {
    page_rows: usize,
    memory: u64,
    threads: usize,
    pages: Pages,
}

/// Everything that a sink is told.
#[derive(Debug, Default, PartialEq)]
struct Told {
    groups: Vec<Group>,
    /// How many groups there were when each node, and each part, ended.
    nodes: Vec<usize>,
    parts: Vec<usize>,
    trees: Vec<(CutTree, u64, BTreeMap<u32, TreeLeaf>)>,
    /// The group of every row that was kept.
    placed: BTreeMap<u32, u64>,
}

impl GroupSink for Told {
    fn group(&mut self, number: u64, group: Group) -> Result<()> {
        self.groups.push(group);
        assert_eq!(number, self.groups.len() as u64);
        Ok(())
    }

    fn left_out(&mut self, _extent: &[std::ops::Range<u32>], _people: u64) -> Result<()> {
        panic!("nobody may be left out")
    }

    fn end_node(&mut self) {
        self.nodes.push(self.groups.len());
    }

    fn end_part(&mut self, rows: Option<PlacedRows<'_>>) -> Result<()> {
        self.parts.push(self.groups.len());
        let Some(PlacedRows { rows, tree }) = rows else { return Ok(()) };
        rows.each_page(|rows, travelling| {
            for (row, bytes) in travelling.rows().enumerate() {
                let node = tree.tree.find(|column| rows.columns[column].get(row));
                let TreeLeaf::Group(group) = tree.leaf(node) else { panic!("a row of another part") };
                self.placed.insert(u32::from_le_bytes(bytes.try_into().unwrap()), group);
            }
            Ok(())
        })
    }

    fn tree(&mut self, tree: &NumberedTree<'_>) -> Result<u64> {
        self.trees.push((tree.tree.clone(), tree.before, tree.leaves.clone()));
        Ok(self.trees.len() as u64)
    }
}

impl Told {
    /// The group of a row, found through the trees from the last one down.
    fn find(&self, codes: &[u16]) -> u64 {
        let mut line = self.trees.len();
        loop {
            let (tree, before, leaves) = &self.trees[line - 1];
            let tree = NumberedTree { tree, before: *before, leaves: leaves.clone() };
            match tree.leaf(tree.tree.find(|column| codes[column])) {
                TreeLeaf::Group(group) => return group,
                TreeLeaf::Line(next) => line = next as usize,
                TreeLeaf::LeftOut => panic!("nobody may be left out"),
            }
        }
    }
}

fn grown(sample: &Sample, Sizes(subtree, small, large): Sizes, means: Means) -> Told {
    let all = rows(sample);
    let whole = all.total(DISTINCT);
    let (criterion, mut told) = (criterion(sample), Told::default());
    if !criterion.admits(&[Part::of(&whole)], &mut Scratch::default()) {
        return told;
    }
    let folder = tempfile::tempdir().unwrap();
    let (budget, spill) = (Budget::new(means.memory), Spill::create(folder.path()).unwrap());
    let layout = Layout {
        columns: sample.columns.iter().map(|column| column.codes).collect(),
        values: DISTINCT as u32,
        lists: if sample.values == Values::Single { Lists::One } else { Lists::Many },
    };
    let store = Mutex::new(PageStore::new(layout.clone(), &budget, &spill));
    let row_bytes = layout.row_bytes();
    let limits =
        SubtreeLimits { bytes: subtree * row_bytes, rows: subtree, values: 0, part_rows: [small, large] };
    // As a run does: pages must not take the memory that splitting will need.
    let working = limits.working_bytes(&sample.columns, DISTINCT + 1, means.threads);
    let reserved = budget.reserve("a test", working).unwrap();
    let numbers: Vec<u32> = (0..all.len() as u32).collect();
    for numbers in numbers.chunks(means.page_rows) {
        let (mut rows, mut payload) = (layout.empty(0), Travelling::default());
        rows.extend_rows(&all, numbers).unwrap();
        if means.pages == Pages::Kept {
            payload.lengths = vec![4; numbers.len()];
            payload.bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        }
        PageStore::push_shared(&store, Page { rows, payload }).unwrap();
    }
    drop(reserved);
    let growth = Growth {
        plan: SplitPlan {
            columns: &sample.columns,
            order: sample.order,
            least_people: sample.minimum.people,
            lookahead: None,
        },
        pool: &thread_pool(means.threads).unwrap(),
        budget: &budget,
        spill: &spill,
        limits,
        pages: means.pages,
        progress: &Progress::default(),
    };
    let mut store = PartRows::Here(store.into_inner().unwrap());
    growth.grow(&mut store, &whole, criterion, &mut told).unwrap().unwrap();
    told
}

/// The canonical order taken literally: a node is split level by level until its nodes are no larger than the next
/// smaller size, then each of them begins again, in tree order. Everything ever accepted counts.
fn naive(sample: &Sample, sizes: Sizes) -> Vec<Naive> {
    fn grow(sample: &Sample, root: Naive, sizes: Sizes, seen: &mut Vec<Naive>) -> Vec<Naive> {
        let steps = [sizes.2 as usize, sizes.1 as usize, sizes.0, 0];
        let smallest = steps.into_iter().find(|&rows| root.len() > rows).unwrap_or(0);
        let mut queue = VecDeque::from([(vec![], root)]);
        let mut ended: BTreeMap<Vec<usize>, Vec<Naive>> = BTreeMap::new();
        let mut small = BTreeMap::new();
        while let Some((path, node)) = queue.pop_front() {
            if node.len() <= smallest {
                small.insert(path, node);
                continue;
            }
            let admitted = cuts(sample, &node)
                .into_iter()
                .find(|(_, _, parts)| safe(sample, &[seen.clone(), parts.clone()].concat()));
            match admitted {
                None => drop(ended.insert(path, vec![node])),
                Some((_, _, parts)) => {
                    seen.extend(parts.clone());
                    let child = |(i, part)| ([path.clone(), vec![i]].concat(), part);
                    queue.extend(parts.into_iter().enumerate().map(child));
                }
            }
        }
        for (path, node) in small {
            let groups = grow(sample, node, sizes, seen);
            ended.insert(path, groups);
        }
        ended.into_values().flatten().collect()
    }
    let root: Naive = (0..sample.rows.len()).collect();
    match safe(sample, std::slice::from_ref(&root)) {
        true => grow(sample, root.clone(), sizes, &mut vec![root]),
        false => vec![],
    }
}

prop_compose! {
    fn sizes()(subtree in 1usize..12, small in 1u64..30, larger in 0u64..30) -> Sizes {
        Sizes(subtree, small.max(subtree as u64), small.max(subtree as u64) + larger)
    }
}

const PLENTY: Means = Means { page_rows: 7, memory: 1 << 24, threads: 2, pages: Pages::Kept };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn parts_are_grown_in_the_canonical_order(sample in sample(), sizes in sizes()) {
        let told = grown(&sample, sizes, PLENTY);
        let expected = naive(&sample, sizes);
        let mut groups: Vec<Naive> = vec![vec![]; told.groups.len()];
        for (&row, &group) in &told.placed {
            groups[group as usize - 1].push(row as usize);
        }
        prop_assert_eq!(&groups, &expected);
        for (group, rows) in told.groups.iter().zip(&expected) {
            prop_assert_eq!(group.part.people, rows.len() as u64);
        }
        for (row, (codes, _)) in sample.rows.iter().enumerate().filter(|_| !expected.is_empty()) {
            prop_assert_eq!(told.find(codes), told.placed[&(row as u32)]);
        }
    }

    #[test]
    fn parts_do_not_depend_on_memory_threads_or_pages(
        sample in sample(), sizes in sizes(), page_rows in 1usize..20, threads in 2usize..7, tight: bool,
    ) {
        let memory = if tight { 1 << 14 } else { 1 << 24 };
        let told = grown(&sample, sizes, PLENTY);
        let kept = grown(&sample, sizes, Means { page_rows, memory, threads: 1, pages: Pages::Kept });
        prop_assert_eq!(&kept, &told);
        let consumed = grown(&sample, sizes, Means { page_rows, memory, threads, pages: Pages::Consumed });
        prop_assert_eq!(&consumed, &Told { placed: BTreeMap::new(), ..told });
    }
}
