//! What tasks found in files, joined, against the check of the whole table.

use super::super::job::{ColumnRoles, ValuedRows, count_with};
use super::super::verdict::JudgedColumn;
use super::*;
use crate::math::exact::ratio;
use crate::math::shares::Ground;
use crate::math::skyline::{Confidence, Knowledge, Point, Values, Within};
use crate::model::judge::{Requirements, ShareRequirement};
use crate::model::shares::ShareCriterion;
use crate::model::skyline::ProtectedValues;
use crate::model::skyline::near::NearPoint;
use crate::policy::Nearness;
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use crate::table::read::ReadOptions;
use crate::table::read::Table;
use proptest::prelude::*;
use std::path::Path;

/// People with their groups and values, which are small numbers.
type People = Vec<(usize, u8)>;

/// Skyline points only.
fn task() -> Task {
    let confidence = Confidence::parse("0.6").unwrap();
    let point = Point { knowledge: Knowledge { l: 1, k: 1, m: 1 }, confidence };
    let requirements = Requirements::points(vec![(ProtectedValues::Every, point)]);
    Task { columns: ColumnRoles::single(vec!["group".into()], "sick".into()), requirements }
}

/// Shares and windows in addition.
fn task_of_the_whole() -> Task {
    let mut task = task();
    let share = |criterion| ShareRequirement { criterion, nearness: Nearness::Numeric };
    let closeness = |distance| share(ShareCriterion::Closeness { t: ratio(1, 3), distance });
    let diversity = share(ShareCriterion::LargestShare { l: ratio(2, 1) });
    task.requirements.shares = vec![closeness(Ground::Equal), closeness(Ground::Ordered), diversity];
    let confidence = Confidence::parse("0.7").unwrap();
    let point = Point { knowledge: Knowledge { l: 1, k: 1, m: 1 }, confidence };
    let within = Within::parse("1").unwrap();
    task.requirements.near = vec![NearPoint { within, from: None, point }];
    task
}

fn values_of(people: &People) -> WholeValues {
    let mut values = WholeValues::new();
    people.iter().for_each(|(_, value)| *values.entry(value.to_string()).or_default() += 1);
    values
}

/// A table of these people, or two if values are apart.
struct Tables {
    people: Table,
    values: Option<Table>,
}

impl Tables {
    fn write(folder: &Path, name: &str, people: &People, apart: bool) -> Self {
        let open = |table: &str, text: String| {
            let path = folder.join(format!("{name}-{table}.csv"));
            std::fs::write(&path, text).unwrap();
            Table::open(&[path], &ReadOptions::default()).unwrap()
        };
        if !apart {
            let rows: String = people.iter().map(|(group, value)| format!("{group},{value}\n")).collect();
            return Tables { people: open("data", format!("group,sick\n{rows}")), values: None };
        }
        let mut counts: BTreeMap<(usize, u8), u64> = BTreeMap::new();
        people.iter().for_each(|own| *counts.entry(*own).or_default() += 1);
        let rows: String = people.iter().map(|(group, _)| format!("{group}\n")).collect();
        let values: String =
            counts.iter().map(|((group, value), count)| format!("{group},{value},{count}\n")).collect();
        let values = open("sensitive", format!("group,sick,count\n{values}"));
        Tables { people: open("quasi", format!("group\n{rows}")), values: Some(values) }
    }

    fn subject(&self) -> Subject<'_> {
        match &self.values {
            None => Subject::Table(&self.people),
            Some(values) => Subject::Buckets(Buckets { people: &self.people, values, count: "count".into() }),
        }
    }

    fn judge(
        &self,
        Task { columns, requirements }: &Task,
        found: Option<&FilesEvidence<'_>>,
        resources: &Resources<'_>,
    ) -> Result<JudgedColumn> {
        let wanted = WantedSkylines::of(requirements.skyline());
        let found = found.map(|files| FoundByTasks { files, place: 0 });
        let subject = self.subject();
        let counted = count_with(&subject, (columns, found.as_ref()), requirements, &wanted, resources)?;
        counted.finish(columns, requirements)
    }
}

/// Everything that a check says.
fn said(judged: JudgedColumn) -> impl PartialEq + std::fmt::Debug {
    let JudgedColumn { finding, records, groups, smallest_group, sizes, order, .. } = judged;
    (finding, records, groups, smallest_group, sizes, order)
}

/// People in groups, and how many of them the first file has.
fn people_in_groups() -> impl Strategy<Value = (People, usize)> {
    let groups = prop::collection::vec(prop::collection::vec(0u8..5, 1..6), 1..9);
    (groups, any::<prop::sample::Index>()).prop_map(|(groups, cut)| {
        let of_group = |(group, values): (usize, Vec<u8>)| {
            values.into_iter().map(move |value| (group, value)).collect::<People>()
        };
        let people: People = groups.into_iter().enumerate().flat_map(of_group).collect();
        let cut = 1 + cut.index(people.len());
        (people, cut)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A file may even end in the middle of a group.
    #[test]
    fn files_that_tasks_checked_give_the_finding_of_the_whole_table(
        (people, cut) in people_in_groups(),
        (of_whole, apart, misled) in any::<(bool, bool, bool)>(),
    ) {
        let task = if of_whole { task_of_the_whole() } else { task() };
        let (place, progress) = (tempfile::tempdir().unwrap(), Progress::default());
        let resources = Resources::new(Budget::new(64 << 20), &progress);
        let (spill, stamp) = (resources.new_spill().unwrap(), PolicyStamp::new("ab12"));
        // As if somebody of the table were in no group.
        let mut told = values_of(&people);
        *told.entry("1".to_string()).or_default() += u64::from(misled);
        let tasks = [(task.clone(), told)];
        let (mut first_row, mut files) = (0, Vec::new());
        for (number, part) in [&people[..cut], &people[cut..]].into_iter().enumerate() {
            if part.is_empty() {
                continue;
            }
            let tables = Tables::write(place.path(), &number.to_string(), &part.to_vec(), apart);
            let found = FileEvidence::of((&tables.subject(), first_row), &tasks, &stamp, &resources).unwrap();
            first_row += part.len() as u64;
            files.push(spill.append(&found).unwrap());
        }
        let whole = Tables::write(place.path(), "whole", &people, apart);
        let alone = said(whole.judge(&task, None, &resources).unwrap());
        let rows = people.len() as u64;
        let evidence = FilesEvidence { spill: &spill, files: &files, rows, stamp: stamp.clone() };
        prop_assert_eq!(&said(whole.judge(&task, Some(&evidence), &resources).unwrap()), &alone);

        // Where evidence suffices, nobody looks at the table.
        let inside = people.get(cut).is_some_and(|next| next.0 == people[cut - 1].0);
        let other = Tables::write(place.path(), "other", &vec![(0, 0), (0, 1)], apart);
        let seen = other.judge(&task, Some(&evidence), &resources).map(said);
        if !(of_whole && misled || apart && inside) {
            prop_assert_eq!(&seen.unwrap(), &alone);
            // The evidence of a file that is missing, or of another one, is not taken for the whole.
            if files.len() > 1 {
                let first = files[..1].to_vec();
                files.rotate_left(1);
                for files in [&first, &files] {
                    let evidence = FilesEvidence { spill: &spill, files, rows, stamp: stamp.clone() };
                    // Whoever cannot use it looks at the table.
                    let seen = other.judge(&task, Some(&evidence), &resources).map(|judged| judged.records);
                    prop_assert!(matches!(seen, Err(_) | Ok(2)) && (of_whole || seen.is_err()));
                }
            }
        } else if rows != 2 {
            prop_assert_ne!(&seen.unwrap(), &alone);
        }
    }
}

/// The counts of every column stay as they were, so only the rows tell.
#[test]
fn the_evidence_of_a_file_says_whether_values_stand_apart() {
    let (place, progress) = (tempfile::tempdir().unwrap(), Progress::default());
    let resources = Resources::new(Budget::new(64 << 20), &progress);
    let (spill, stamp) = (resources.new_spill().unwrap(), PolicyStamp::new("ab12"));
    let task = |name: &str, values| {
        let columns = ColumnRoles { values, ..ColumnRoles::single(vec!["group".into()], name.into()) };
        let columns = columns.of_release(ValuedRows::OfTheColumn);
        (Task { columns, ..task() }, WholeValues::new())
    };
    let tasks = [task("sick", Values::Single), task("drug", Values::Set)];
    let open = |name: &str, text: &str| {
        let path = place.path().join(name);
        std::fs::write(&path, text).unwrap();
        Table::open(&[path], &ReadOptions::default()).unwrap()
    };
    let people = open("quasi.csv", "group\n1\n1\n");
    let evidence = |values: &str| {
        let values = open("sensitive.csv", &format!("group,sick,drug,count\n{values}"));
        let subject = Subject::Buckets(Buckets { people: &people, values: &values, count: "count".into() });
        spill.append(&FileEvidence::of((&subject, 0), &tasks, &stamp, &resources).unwrap()).unwrap()
    };
    let apart = evidence("1,cold,,1\n1,flu,,1\n1,,insulin,1\n");
    let together = evidence("1,cold,,1\n1,flu,insulin,1\n");
    for (files, expected) in [(&[apart][..], true), (&[apart, together], false), (&[together, apart], false)]
    {
        let files = FilesEvidence { spill: &spill, files, rows: 2, stamp: stamp.clone() };
        assert_eq!(files.stand_apart().unwrap(), expected);
    }
}
