//! Random tables, clustered and shuffled, with several thread counts and budgets, give the naive answer.

use super::tables::{Row, answer, arrow_file, list_batch, long_batch, parquet_file, single_batch};
use crate::support::library::{Values, ratio};
use crate::support::naive::{breach, groups};

const VALUES: [&str; 7] = ["flu", "aids", "cancer", "ulcer", "mumps", "gout", "ague"];
const POINTS: [[u64; 3]; 4] = [[0, 0, 0], [1, 1, 1], [2, 0, 3], [0, 3, 1]];

/// A small deterministic generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// The order of the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rows {
    Ascending,
    /// Clustered, but the groups are in no particular order.
    AnyGroupOrder,
    Shuffled,
}

fn people(dice: &mut Dice, values: Values, order: Rows) -> Vec<Row> {
    let group_count = 1 + dice.below(12) as i64;
    let mut rows: Vec<Row> = Vec::new();
    for group in 0..group_count {
        let key = if order == Rows::AnyGroupOrder { (group * 5 + 2) % 13 - 6 } else { group - 3 };
        for _ in 0..1 + dice.below(30) {
            let how_many = if values == Values::Single { 1 } else { dice.below(4) };
            let own = (0..how_many).map(|_| VALUES[dice.below(7).min(dice.below(7)) as usize]).collect();
            rows.push((rows.len() as u64, key, own));
        }
    }
    if order == Rows::Shuffled {
        for i in (1..rows.len()).rev() {
            rows.swap(i, dice.below(i as u64 + 1) as usize);
        }
    }
    rows
}

fn agrees(table: &std::path::Path, rows: &[Row], values: Values, arguments: &[&str]) {
    let mut all = vec!["--group", "grp", "--sensitive", "sick", "--values", values.name()];
    let points: Vec<String> = POINTS.iter().map(|[l, k, m]| format!("{l},{k},{m},0.6")).collect();
    points.iter().for_each(|point| all.extend(["--point", point]));
    all.extend(arguments);
    let answer = answer(table, &all);
    let groups = groups(rows, values);
    let context = || format!("{all:?} {groups:?}");
    assert_eq!(answer["individuals"], rows.len(), "{}", context());
    assert_eq!(answer["groups"], groups.len(), "{}", context());
    let smallest = groups.values().map(|(people, _)| people).min().unwrap();
    assert_eq!(answer["smallest_group"], *smallest, "{}", context());
    let mut found: Vec<&str> = groups.values().flat_map(|(_, counts)| counts.keys().copied()).collect();
    found.sort();
    found.dedup();
    let reported = answer["points"].as_array().unwrap();
    assert_eq!(reported.len(), found.len() * POINTS.len(), "{}", context());
    for (point, (value, size)) in
        reported.iter().zip(found.iter().flat_map(|value| POINTS.iter().map(move |size| (*value, *size))))
    {
        let expected = breach(&groups, values, value, size);
        assert_eq!(point["value"], value, "{}", context());
        assert_eq!([&point["l"], &point["k"], &point["m"]].map(|n| n.as_u64().unwrap()), size);
        assert_eq!(point["breach_exact"], expected.to_string(), "{value} {size:?} {}", context());
        assert_eq!(point["safe"], expected < ratio(3, 5), "{value} {size:?}");
    }
}

#[test]
fn clustered_and_shuffled_tables_give_the_naive_answer() {
    let directory = tempfile::tempdir().unwrap();
    let mut dice = Dice(1);
    for round in 0..12u64 {
        for order in [Rows::Ascending, Rows::AnyGroupOrder, Rows::Shuffled] {
            for values in [Values::Single, Values::Set, Values::Multiset] {
                let rows = people(&mut dice, values, order);
                let batch = if values == Values::Single { single_batch(&rows) } else { list_batch(&rows) };
                let path = directory.path().join("table.arrow");
                arrow_file(&path, &batch, 1 + dice.below(9) as usize);
                let threads = (1 + round % 4).to_string();
                let memory = ["300KiB", "64MiB"][round as usize % 2];
                agrees(&path, &rows, values, &["--threads", &threads, "--memory", memory]);
            }
        }
    }
}

#[test]
fn long_tables_in_any_order_give_the_naive_answer() {
    let directory = tempfile::tempdir().unwrap();
    let mut dice = Dice(2);
    for round in 0..12u64 {
        for values in [Values::Set, Values::Multiset] {
            let order = if round % 2 == 0 { Rows::Ascending } else { Rows::Shuffled };
            let rows = people(&mut dice, values, order);
            let path = directory.path().join("long.parquet");
            parquet_file(&path, &long_batch(&rows), 1 + dice.below(20) as usize);
            let memory = ["300KiB", "64MiB"][round as usize % 2];
            agrees(&path, &rows, values, &["--individual", "who", "--memory", memory, "--threads", "2"]);
        }
    }
}

/// More groups than a small budget can hold, so that counting spills and splits its partitions again.
#[test]
fn a_large_shuffled_table_is_counted_out_of_core() {
    let directory = tempfile::tempdir().unwrap();
    let mut dice = Dice(3);
    let rows: Vec<Row> = (0..40_000)
        .map(|who| (who, dice.below(7_000) as i64, vec![VALUES[dice.below(7) as usize]]))
        .collect();
    let path = directory.path().join("large.parquet");
    parquet_file(&path, &single_batch(&rows), 5_000);
    agrees(&path, &rows, Values::Single, &["--memory", "400KiB", "--threads", "2"]);
    let arguments = ["--group", "grp", "--sensitive", "sick", "--point", "0,0,0,0.6", "--memory", "400KiB"];
    let small = answer(&path, &arguments);
    assert_eq!(small["scattered"], true);
    assert!(small["spilled_bytes"].as_u64().unwrap() > 0);
}
