use super::*;
use crate::encode::column::{CodeTree, Column, Splitting, Width};
use crate::encode::group_counts::Part;
use crate::math::implications::Confidence;
use crate::model::implications::split::ImplicationsTest;
use crate::model::split::{MinimumSizes, Scratch, SplitTest};
use proptest::prelude::*;

fn tree_column() -> Column {
    let mut tree = CodeTree::new(5);
    let left = tree.add(CodeTree::ROOT, 0..3);
    // A leaf next to deeper ones.
    tree.add(CodeTree::ROOT, 3..4);
    let right = tree.add(CodeTree::ROOT, 4..5);
    for code in 0..3 {
        tree.add(left, code..code + 1);
    }
    tree.add(right, 4..5);
    Column { codes: 5, splitting: Splitting::Tree(tree), width: Width::Share }
}

#[test]
fn levels_are_nested_and_end_with_all() {
    let tree = ColumnLevels::of_column(&tree_column());
    let cells = |level: usize| (0..5).map(|code| tree.cell(level, code)).collect::<Vec<_>>();
    assert_eq!(tree.len(), 3);
    assert_eq!(cells(0), [0, 1, 2, 3, 4]);
    assert_eq!(cells(1), [0, 0, 0, 1, 2]);
    assert_eq!(cells(2), [0; 5]);
    assert_eq!((tree.range(1, 0), tree.range(1, 2)), (0..3, 4..5));
    // Ages 17 to 90 with a null.
    let ages: Vec<Option<f64>> =
        [None].into_iter().chain((17..=90).map(|age| Some(f64::from(age)))).collect();
    let ages = ColumnLevels::intervals(&ages);
    assert_eq!(ages.len(), 6);
    // 17 to 19 is the cell after null, then 20 to 24.
    assert_eq!((ages.range(1, 0), ages.range(1, 1), ages.range(1, 2)), (0..1, 1..4, 4..9));
    assert_eq!(ages.range(4, 1), 1..24);
    assert_eq!(ages.range(5, 0), 0..75);
    // Salaries by thousands.
    let salaries: Vec<Option<f64>> = (20..=150).map(|salary| Some(f64::from(salary) * 1000.0)).collect();
    assert_eq!(ColumnLevels::intervals(&salaries).range(1, 0), 0..5);
}

/// Rows of three columns and a sensitive value.
type Row = (u16, u16, u16, u16);

fn columns() -> Vec<Column> {
    vec![Column::evenly_spaced(30), tree_column(), Column::evenly_spaced(2)]
}

fn levels() -> Vec<ColumnLevels> {
    let age: Vec<Option<f64>> = (0..30).map(|age| Some(f64::from(age))).collect();
    let columns = columns();
    vec![
        ColumnLevels::intervals(&age),
        ColumnLevels::of_column(&columns[1]),
        ColumnLevels::of_column(&columns[2]),
    ]
}

fn finest(rows: &[Row]) -> LatticeCells {
    let mut cells = LatticeCells::new(4);
    rows.iter().for_each(|&(a, b, c, value)| cells.add(&[a, b, c], value));
    cells
}

fn is_safe(cells: &LatticeCells) -> bool {
    let confidence = Confidence::parse("0.9").unwrap();
    let criterion = ImplicationsTest::new(1, confidence, MinimumSizes { people: 3, distinct: 1 });
    criterion.admits(&cells.parts().map(Part::of).collect::<Vec<_>>(), &mut Scratch::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_lowest_safe_nodes_are_those_of_testing_every_node(
        rows in prop::collection::vec((0u16..30, 0u16..5, 0u16..2, 0u16..4), 1..120)
    ) {
        let (levels, finest) = (levels(), finest(&rows));
        let counts: Vec<usize> = levels.iter().map(ColumnLevels::len).collect();
        let safe: Vec<LatticeNode> = nodes(&counts).unwrap().into_iter()
            .filter(|node| is_safe(&finest.rolled_up(&levels, node))).collect();
        let below = |a: &LatticeNode, b: &LatticeNode| a != b && a.iter().zip(b).all(|(a, b)| a <= b);
        let expected: Vec<&LatticeNode> =
            safe.iter().filter(|node| !safe.iter().any(|other| below(other, node))).collect();
        let mut tested = 0;
        let found = minimal_safe(&counts, |node| {
            tested += 1;
            Ok(is_safe(&finest.rolled_up(&levels, node)))
        }).unwrap();
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
        prop_assert!(tested <= nodes(&counts).unwrap().len() - safe.len() + found.len());
    }

    /// Rolling up merges people, and every measure reports a loss.
    #[test]
    fn going_up_keeps_the_people_and_costs_more(
        rows in prop::collection::vec((0u16..30, 0u16..5, 0u16..2, 0u16..4), 1..120)
    ) {
        let (levels, columns, finest) = (levels(), columns(), finest(&rows));
        let counts: Vec<usize> = levels.iter().map(ColumnLevels::len).collect();
        for node in nodes(&counts).unwrap() {
            let cells = finest.rolled_up(&levels, &node);
            prop_assert_eq!(cells.parts().map(|part| part.people).sum::<u64>(), rows.len() as u64);
            for column in 0..node.len() {
                let mut up = node.clone();
                up[column] += 1;
                if up[column] == counts[column] {
                    continue;
                }
                let above = finest.rolled_up(&levels, &up);
                for (name, measure) in LatticeMeasure::NAMES {
                    let cost = |node: &[usize], cells| measure.cost((node, cells), &finest, &levels, &columns);
                    prop_assert!(cost(&node, &cells) <= cost(&up, &above) + 1e-9, "{name}");
                }
            }
        }
    }
}

#[test]
fn a_lattice_that_is_too_large_is_refused() {
    assert!(nodes(&[100; 4]).is_err());
    assert!(nodes(&[usize::MAX; 2]).is_err());
    assert_eq!(nodes(&[]).unwrap(), [Vec::<usize>::new()]);
}
