//! The chosen cut of a node is the best one that the criterion admits, found by trying all of them.

use super::count::Counted;
use super::frontier::OpenNode;
use super::plan::SplitPlan;
use super::propose::{ProposalRoom, ProposedCut};
use super::rank::{ColumnHistogram, CutOrder, CutStanding, RankedCut, Run};
use super::rows::InMemory;
use crate::encode::codes::Codes;
use crate::encode::column::{CodeTree, Column, Splitting, Width};
use crate::encode::group_counts::{GroupCounts, Part};
use crate::encode::rows::{Rows, Sensitive};
use crate::group::tree::Cut;
use crate::math::confidence::Confidence;
use crate::math::exact::ratio;
use crate::math::shares::{Ground, ShareRule};
use crate::math::skyline::{Knowledge, Point, ProtectedCodes, SkylineState, Values};
use crate::model::implications::split::ImplicationsTest;
use crate::model::several::{ProjectedTest, Several};
use crate::model::shares::SharesTest;
use crate::model::skyline::split::SkylineTest;
use crate::model::split::{Every, MinimumSizes, Scratch, SplitTest};
use proptest::prelude::*;
use std::cmp::Ordering;

const DISTINCT: usize = 6;
const HALF: u16 = DISTINCT as u16 / 2;

#[derive(Debug, Clone)]
enum Criterion {
    Skyline,
    Implications(usize),
    WithShares,
    Several,
    /// The first half of the codes is a column of single values, the other half a list.
    Beside,
}

#[derive(Debug, Clone)]
struct Sample {
    rows: Vec<([u16; 3], Vec<u16>)>,
    values: Values,
    points: Vec<(ProtectedCodes, Point)>,
    minimum: MinimumSizes,
    order: CutOrder,
    criterion: Criterion,
    /// Groups accepted before, so that a cut may be refused because of them.
    others: Vec<Vec<u64>>,
}

prop_compose! {
    fn point()(
        l in 0u64..3, k in 0u64..4, m in 0u64..3,
        confidence in prop::sample::select(vec!["0.4", "0.5", "0.6", "0.75", "0.9", "1"]),
        codes in prop::option::of(prop::collection::vec(0u32..DISTINCT as u32, 1..4)),
    ) -> (ProtectedCodes, Point) {
        let confidence = Confidence::parse(confidence).unwrap();
        let codes = codes.map_or(ProtectedCodes::Every, ProtectedCodes::These);
        (codes, Point { knowledge: Knowledge { l, k, m }, confidence })
    }
}

prop_compose! {
    fn sample()(
        values in prop::sample::select(vec![Values::Single, Values::Single, Values::Set, Values::Multiset]),
        codes in prop::collection::vec((0u16..40, 0u16..6, 0u16..5), 2..300),
        lists in prop::collection::vec(prop::collection::vec(0u16..DISTINCT as u16, 0..4), 300),
        skew in 0u16..3,
        points in prop::collection::vec(point(), 1..4),
        people in 1u64..9, distinct in 1usize..4,
        order in prop::sample::select(vec![CutOrder::Mondrian, CutOrder::Gain, CutOrder::GainAndRoom]),
        criterion in prop::sample::select(vec![
            Criterion::Skyline, Criterion::Skyline, Criterion::Implications(1), Criterion::Implications(3),
            Criterion::WithShares, Criterion::Several, Criterion::Beside,
        ]),
        others in prop::collection::vec(prop::collection::vec(0u64..30, DISTINCT), 0..3),
    ) -> Sample {
        let criterion = match (values, criterion) {
            (Values::Single, Criterion::Beside) => Criterion::Several,
            (Values::Single, criterion) => criterion,
            (_, Criterion::Several | Criterion::Beside) => Criterion::Beside,
            _ => Criterion::Skyline,
        };
        let beside = matches!(criterion, Criterion::Beside);
        let rows = codes.into_iter().zip(lists).map(|((a, b, c), mut list)| {
            if beside {
                let single = if skew == 0 { list.first().map_or(0, |value| *value) } else { a / (4 * skew) };
                list.iter_mut().for_each(|value| *value = *value % HALF + HALF);
                list.insert(0, single % HALF);
            }
            match values {
                // The values of neighbours may be alike, so that growing parts become unsafe again.
                Values::Single => list = vec![if skew == 0 { list.first().map_or(0, |value| *value) } else { (a / (4 * skew)) % DISTINCT as u16 }],
                Values::Set => { list.sort_unstable(); list.dedup(); }
                Values::Multiset => {}
            }
            ([a, b, c], list)
        });
        let others = if values == Values::Single { others } else { vec![] };
        let minimum = MinimumSizes { people, distinct };
        Sample { rows: rows.collect(), values, points, minimum, order, criterion, others }
    }
}

fn columns() -> Vec<Column> {
    let mut tree = CodeTree::new(6);
    for half in 0..2 {
        let node = tree.add(CodeTree::ROOT, half * 3..half * 3 + 3);
        (0..3).for_each(|leaf| {
            tree.add(node, half * 3 + leaf..half * 3 + leaf + 1);
        });
    }
    let hierarchy = Column { codes: 6, splitting: Splitting::Tree(tree), width: Width::Share };
    let set = Column { width: Width::Share, ..Column::evenly_spaced(5) };
    vec![Column::evenly_spaced(40), hierarchy, set]
}

fn criterion(sample: &Sample) -> Box<dyn SplitTest> {
    let skyline = |distinct: usize, points: &[(ProtectedCodes, Point)]| {
        let state = SkylineState::new(sample.values, distinct, points);
        Box::new(SkylineTest::new(state, sample.minimum, distinct))
    };
    match sample.criterion {
        Criterion::Skyline => skyline(DISTINCT, &sample.points),
        Criterion::Implications(known) => {
            let confidence = sample.points[0].1.confidence.clone();
            Box::new(ImplicationsTest::new(known, confidence, sample.minimum))
        }
        Criterion::WithShares => {
            let near = ShareRule::closeness(
                ratio(1, 3),
                Ground::Ordered,
                (0..DISTINCT as u32).collect(),
                DISTINCT,
                &[5; DISTINCT],
            );
            Box::new(Every::new(vec![
                skyline(DISTINCT, &sample.points),
                Box::new(SharesTest::new(vec![near])),
            ]))
        }
        Criterion::Several => {
            let every = (ProtectedCodes::Every, sample.points[0].1.clone());
            let first = ProjectedTest {
                code: [0, 0, 1, 1, 2, 2].map(Some).into(),
                values: 3,
                test: skyline(3, &[every]),
            };
            let all = ProjectedTest {
                code: (0..DISTINCT as u16).map(Some).collect(),
                values: DISTINCT,
                test: skyline(DISTINCT, &sample.points),
            };
            Box::new(Several::new(vec![first, all]))
        }
        Criterion::Beside => {
            let test = |values: Values, place: usize| {
                let point = sample.points[place % sample.points.len()].1.clone();
                let state = SkylineState::new(values, HALF.into(), &[(ProtectedCodes::Every, point)]);
                Box::new(SkylineTest::new(state, sample.minimum, HALF.into()))
            };
            let code = |of: fn(u16) -> Option<u16>| (0..DISTINCT as u16).map(of).collect();
            let single = code(|code| (code < HALF).then_some(code));
            let list = code(|code| code.checked_sub(HALF));
            Box::new(Several::new(vec![
                ProjectedTest { code: single, values: HALF.into(), test: test(Values::Single, 0) },
                ProjectedTest { code: list, values: HALF.into(), test: test(sample.values, 1) },
            ]))
        }
    }
}

fn rows(sample: &Sample) -> Rows {
    let columns = columns();
    let column = |i: usize| {
        let mut codes = Codes::with_capacity(columns[i].codes, 0);
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
    Rows { columns: (0..3).map(column).collect(), sensitive }
}

fn part(sample: &Sample, holds: impl Fn(&[u16; 3]) -> bool) -> GroupCounts {
    let mut part = GroupCounts::none(DISTINCT);
    for (_, values) in sample.rows.iter().filter(|(codes, _)| holds(codes)) {
        part.people += 1;
        values.iter().for_each(|&value| part.counts[usize::from(value)] += 1);
    }
    part
}

/// Every cut of every column, in the order of columns and codes.
fn all_cuts(sample: &Sample, columns: &[Column], least: u64) -> Vec<ProposedCut> {
    let mut all = vec![];
    for (number, column) in columns.iter().enumerate() {
        let mut codes: Vec<u16> = sample.rows.iter().map(|(codes, _)| codes[number]).collect();
        codes.sort_unstable();
        codes.dedup();
        let below = |code: u16| sample.rows.iter().filter(|(codes, _)| codes[number] < code).count() as u64;
        let runs: Vec<Run> =
            codes.iter().map(|&code| Run { code: code.into(), people_below: below(code) }).collect();
        let spread = ColumnHistogram { column, runs: &runs, people: sample.rows.len() as u64 };
        let mut add = |starts: &[usize], cut: Cut| {
            let of = |at: usize| part(sample, |codes| cut.part(codes[number]) == at);
            let parts = (0..=cut.boundaries.len()).map(|at| Part::of(&of(at))).collect();
            let standing = CutStanding { rank: spread.rank(starts, sample.order, least), column: number };
            all.push(ProposedCut { cut, parts, standing });
        };
        match &column.splitting {
            Splitting::Ordered => {
                for (start, run) in runs.iter().enumerate().skip(1) {
                    add(&[start], Cut { column: number, boundaries: [run.code].into() });
                }
            }
            Splitting::Tree(_) => {
                if let Some((starts, boundaries)) = spread.children() {
                    add(&starts, Cut { column: number, boundaries });
                }
            }
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_best_admitted_cut_is_chosen(sample in sample(), at_once in 1usize..4) {
        let columns = columns();
        let rows = rows(&sample);
        let whole = rows.total(DISTINCT);
        let mut criterion = criterion(&sample);
        let others = sample.others.iter().map(|counts| {
            Part::of(&GroupCounts { people: counts.iter().sum(), counts: counts.clone() })
        });
        for group in others.chain([Part::of(&whole)]) {
            if group.people > 0 && criterion.admits(std::slice::from_ref(&group), &mut Scratch::default()) {
                criterion.accept(&[group]);
            }
        }
        let plan = SplitPlan { columns: &columns, order: sample.order, least_people: 1, lookahead: None };
        let node = OpenNode { rows: 0..rows.len(), ..OpenNode::root(&columns, &whole) };
        let rows = InMemory::new(&columns, rows);
        let counted = Counted { counts: &(), place: 0, node: &node };
        let mut room = ProposalRoom::default();
        let chosen = plan.propose(&rows, counted, &*criterion, at_once, &mut room);
        let mut expected: Option<ProposedCut> = None;
        for cut in all_cuts(&sample, &columns, criterion.least_people()) {
            let better = expected.as_ref().is_none_or(|best| cut.preference(best) == Ordering::Greater);
            if better && criterion.admits(&cut.parts, &mut Scratch::default()) {
                expected = Some(cut);
            }
        }
        prop_assert_eq!(chosen.map(|chosen| chosen.proposal), expected);
    }

    /// The rank of a cut in two is computed in a shorter way.
    #[test]
    fn cuts_in_two_have_the_rank_of_any_cut(sample in sample(), least in 1u64..40) {
        let column = Column::evenly_spaced(40);
        let mut people = [0u64; 40];
        sample.rows.iter().for_each(|(codes, _)| people[usize::from(codes[0])] += 1);
        let mut runs = vec![];
        let mut people_below = 0;
        for (code, people) in (0..).zip(people).filter(|(_, people)| *people > 0) {
            runs.push(Run { code, people_below });
            people_below += people;
        }
        let spread = ColumnHistogram { column: &column, runs: &runs, people: people_below };
        let large = |start: &usize| {
            let below = runs[*start].people_below;
            below >= least && people_below - below >= least
        };
        let expected: Vec<RankedCut> = (1..runs.len())
            .filter(large)
            .map(|start| RankedCut { start, rank: spread.rank(&[start], sample.order, least) })
            .collect();
        let cuts: Vec<RankedCut> = spread.cuts(sample.order, least, least).collect();
        prop_assert_eq!(cuts, expected);
    }
}
