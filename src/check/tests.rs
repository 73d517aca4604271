//! Borders between parts are joined exactly, wherever they fall.

use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use super::clustered::{JoinedParts, count_part};
use super::evidence::{SharedEvidence, Worker, Workers};
use super::job::ColumnRoles;
use super::recurrence::Returned;
use super::values::ValueCodes;
use crate::math::skyline::{Confidence, Knowledge, Point, Values};
use crate::model::counted_group::CountedGroup;
use crate::model::finding::Finding;
use crate::model::implications::judge::Implications;
use crate::model::judge::{Adversary, Charge, Judge, Requirements, ValueNames, ValueRules};
use crate::model::skyline::ProtectedValues;
use crate::model::skyline::knowledge::WantedSkylines;
use crate::resources::Resources;
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use crate::table::read::{Batch, ByteCodes};

fn columns() -> ColumnRoles {
    ColumnRoles::single(vec!["grp".to_string()], "sick".to_string())
}

fn skyline() -> Requirements {
    let point =
        |l, k, m| Point { knowledge: Knowledge { l, k, m }, confidence: Confidence::parse("0.5").unwrap() };
    let every = ProtectedValues::Every;
    Requirements::points(vec![(every.clone(), point(1, 1, 1)), (every, point(0, 2, 0))])
}

fn implications() -> Requirements {
    let implications = Implications { up_to: 4, confidence: Confidence::parse("0.5") };
    Requirements { adversary: Adversary::Implications(implications), ..Requirements::nothing() }
}

fn batch(rows: &[(i64, &str)]) -> RecordBatch {
    let groups: Int64Array = rows.iter().map(|row| Some(row.0)).collect();
    let sick: StringArray = rows.iter().map(|row| Some(row.1)).collect();
    RecordBatch::try_from_iter([("grp", Arc::new(groups) as ArrayRef), ("sick", Arc::new(sick) as ArrayRef)])
        .unwrap()
}

/// The same rows, with the values as codes of one byte.
fn coded(rows: &[(i64, &str)]) -> Batch {
    const VALUES: [&str; 4] = ["d", "b", "a", "c"];
    let code = |value: &str| VALUES.iter().position(|own| *own == value).unwrap() as u8;
    let codes = rows.iter().map(|row| code(row.1)).collect();
    let entries: ArrayRef = Arc::new(StringArray::from(VALUES.to_vec()));
    let codes = ByteCodes::new(&"sick".into(), codes, &entries);
    Batch { rows: batch(rows).project(&[0]).unwrap(), codes }
}

/// How the batches of a test hold values.
#[derive(Debug, Clone, Copy)]
enum Form {
    Rows,
    Codes,
}

/// Counts the table in the given parts; each part is again cut into batches of two rows.
fn counted(requirements: &Requirements, parts: &[&[(i64, &str)]]) -> Option<(Finding, u64, u64)> {
    counted_in(Form::Rows, requirements, parts)
}

fn counted_in(
    form: Form,
    requirements: &Requirements,
    parts: &[&[(i64, &str)]],
) -> Option<(Finding, u64, u64)> {
    let progress = Progress::default();
    let budget = Budget::new(1 << 20);
    let resources = Resources {
        threads: 1,
        budget: budget.clone(),
        temp: std::env::temp_dir(),
        spill: Default::default(),
        progress: &progress,
    };
    let codes = ValueCodes::with("sick", vec![None], &budget).unwrap();
    let charge = charge(requirements, &codes);
    let evidence = Mutex::new(SharedEvidence::new(&charge, &budget).unwrap());
    let workers = Workers::new(&charge, &evidence);
    let mut joined = JoinedParts::new(Worker::new(&charge, &evidence), &resources);
    let mut first_row = 0;
    for part in parts {
        let batches = part.chunks(2).map(|rows| match form {
            Form::Rows => Ok(batch(rows).into()),
            Form::Codes => Ok(coded(rows)),
        });
        let count = |worker: &mut Worker<'_>| count_part(batches, first_row, &columns(), worker, &codes);
        let part_count = workers.judge(first_row, count).unwrap();
        first_row += part.len() as u64;
        if joined.add(part_count).unwrap() == Returned::Perhaps {
            return None;
        }
    }
    let (rows, _) = joined.finish().unwrap();
    workers.hand_over().unwrap();
    drop(workers);
    let (mut judge, _room) = evidence.into_inner().unwrap().finish().unwrap();
    let mut finding = finding(&mut judge, &codes).unwrap();
    finding.sort_by_value();
    Some((finding, rows, judge.sizes.groups))
}

fn charge(requirements: &Requirements, codes: &ValueCodes) -> Arc<Charge> {
    let code = &mut |name: &str| codes.named(name);
    let wanted = WantedSkylines::NOTHING;
    Arc::new(Charge::new(Values::Single, requirements, ValueRules::default(), &wanted, code).unwrap())
}

fn finding(judge: &mut Judge, codes: &ValueCodes) -> crate::Result<Finding> {
    judge.finish(&ValueNames { column: "sick", names: &codes.names(), possible: &|_| true })
}

#[test]
fn every_cut_of_a_table_gives_the_same_evidence() {
    let rows: Vec<(i64, &str)> = [(1, "aabbc"), (2, "b"), (5, "abcddda"), (4, "ccba"), (9, "ab")]
        .iter()
        .flat_map(|(group, values)| (0..values.len()).map(move |i| (*group, &values[i..=i])))
        .collect();
    for requirements in [skyline(), implications()] {
        let whole = counted(&requirements, &[&rows]).unwrap();
        assert_eq!((whole.1, whole.2), (rows.len() as u64, 5));
        for first in 0..=rows.len() {
            for second in first..=rows.len() {
                let parts = [&rows[..first], &rows[first..second], &rows[second..]];
                for form in [Form::Rows, Form::Codes] {
                    let found = counted_in(form, &requirements, &parts).unwrap();
                    assert_eq!(found, whole, "{form:?}, cut at {first} and {second}");
                }
            }
        }
        let single: Vec<_> = rows.chunks(1).collect();
        assert_eq!(counted(&requirements, &single).unwrap(), whole);
    }
}

#[test]
fn a_group_that_comes_back_is_noticed_wherever_the_cut_is() {
    let rows = [(1, "a"), (1, "b"), (2, "a"), (3, "b"), (2, "b"), (4, "a")];
    for cut in 0..=rows.len() {
        assert!(counted(&skyline(), &[&rows[..cut], &rows[cut..]]).is_none(), "cut at {cut}");
    }
}

#[test]
fn counts_that_overflow_fit_no_number_of_people() {
    let codes = ValueCodes::with("sick", vec![None], &Budget::new(1 << 20)).unwrap();
    let mut group = CountedGroup::of(4);
    // Modulo 2^64 these are four.
    for (code, times) in [(0, u64::MAX), (1, 3), (2, 2)] {
        group.add(code, times);
    }
    assert_eq!(group.counts().map(|(_, count)| count).fold(0, u64::wrapping_add), 4);
    let mut judge = Judge::new(&charge(&skyline(), &codes));
    judge.observe(&group, 0);
    assert!(finding(&mut judge, &codes).is_err());
}
