//! What if the tasks of an engine check the files of a table, one each?
//!
//! A task judges the groups of its file as a worker does those of a morsel ([`clustered`]). What it
//! found is joined in the order of the files, with the functions that join the morsels of one machine. Groups are counted
//! here instead where evidence does not travel: two tables, windows, shares, or groups that may have recurred.
//!
//! Memory: the evidence of one file, and that of the judge.

use std::sync::{Arc, Mutex, PoisonError};

use super::clustered::{self, ClusteredScan, Stretch};
use super::evidence::SharedEvidence;
use super::job::{Subject, validate};
use super::policy::Task;
use super::values::ValueCodes;
use crate::encode::sealed_pages::damaged;
use crate::error::Result;
use crate::model::judge::{Basis, Charge, Judge, ValueRules};
use crate::model::skyline::knowledge::WantedSkylines;
use crate::resources::Resources;
use crate::resources::byte_form::{ByteForm, ByteReader, Parcel, PolicyStamp, write_count};
use crate::resources::spill::{Extent, Spill};
use crate::table::read::Table;

/// What a task found in a file.
pub struct FileEvidence {
    /// For each protected column; nothing if the evidence about it does not travel.
    columns: Vec<Option<ColumnEvidence>>,
}

/// What a task found about a protected column.
struct ColumnEvidence {
    /// The number of the first row of the file.
    first_row: u64,
    /// The value of each code.
    names: Vec<String>,
    /// The stretches and the judge, in these codes.
    found: Vec<u8>,
}

impl ByteForm for ColumnEvidence {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.first_row.write(bytes);
        self.names.write(bytes);
        self.found.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let (first_row, names) = ByteForm::read(bytes)?;
        Some(ColumnEvidence { first_row, names, found: ByteForm::read(bytes)? })
    }
}

impl ByteForm for FileEvidence {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.columns.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        ByteForm::read(bytes).map(|columns| FileEvidence { columns })
    }
}

impl Parcel for FileEvidence {
    const KIND: u8 = 11;
    const NAME: &'static str = "what a task found in a file";
}

impl FileEvidence {
    /// Checks the rows of a file, the first of which has this number in its table.
    pub fn of(
        table: &Table,
        first_row: u64,
        tasks: &[Task],
        stamp: &PolicyStamp,
        resources: &Resources<'_>,
    ) -> Result<Vec<u8>> {
        let columns: Result<_> =
            tasks.iter().map(|task| ColumnEvidence::of(table, first_row, task, resources)).collect();
        Ok(stamp.seal(&FileEvidence { columns: columns? }))
    }
}

impl ColumnEvidence {
    fn of(table: &Table, first_row: u64, task: &Task, resources: &Resources<'_>) -> Result<Option<Self>> {
        let Task { columns, requirements } = task;
        let counts = matches!(requirements.basis(), Basis::Counts) && columns.individual.is_none();
        if !counts || !requirements.near.is_empty() || !requirements.shares.is_empty() {
            return Ok(None);
        }
        let subject = Subject::Table(table);
        validate(&subject, columns, requirements)?;
        let codes = ValueCodes::new(&subject, columns, &resources.budget)?;
        let (rules, wanted) = (ValueRules::default(), WantedSkylines::of(requirements.skyline()));
        let code = &mut |name: &str| codes.named(name);
        let charge = Arc::new(Charge::new(columns.values, requirements, rules, &wanted, code)?);
        if !charge.travels() {
            return Ok(None);
        }
        let evidence = Mutex::new(SharedEvidence::new(&charge, &resources.budget)?);
        let mut stretches: Vec<Stretch> = Vec::new();
        clustered::scan(table, first_row, columns, (&charge, &evidence), &codes, resources, &mut |own| {
            stretches.push(own);
            Ok(())
        })?;
        let (judge, _room) = evidence.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?;
        let mut found = Vec::new();
        write_count(stretches.len(), &mut found);
        stretches.iter().for_each(|own| own.write(&mut found));
        judge.write(&mut found);
        let names = codes.names().iter().map(|name| name.to_string()).collect();
        Ok(Some(ColumnEvidence { first_row, names, found }))
    }

    /// The stretches and the judge, in the codes of this process.
    fn open(&self, charge: &Arc<Charge>, codes: &ValueCodes) -> Result<(Vec<Stretch>, Judge)> {
        let codes: Vec<u32> = self.names.iter().map(|name| codes.code(name)).collect::<Result<_>>()?;
        let bytes = &mut ByteReader::new(&self.found);
        let mut read = || {
            let many = bytes.count(1)?;
            let stretches: Option<_> = (0..many).map(|_| Stretch::read(&codes, bytes)).collect();
            Some((stretches?, Judge::read(charge, &codes, bytes)?))
        };
        read().ok_or_else(|| damaged("what a task found in a file cannot be read"))
    }
}

/// What tasks found in the files of a table, in order.
pub struct FilesEvidence<'a> {
    /// Where it is.
    pub spill: &'a Spill,
    /// The evidence of each file.
    pub files: &'a [Extent],
    /// The rows that all files have together.
    pub rows: u64,
    /// Marks it.
    pub stamp: PolicyStamp,
}

/// The same about the protected column at one place.
pub(super) struct FoundByTasks<'a> {
    pub files: &'a FilesEvidence<'a>,
    pub place: usize,
}

impl FoundByTasks<'_> {
    /// Joins the evidence; scattered if there is none about the column, so that it must be counted here.
    pub fn join(
        &self,
        charge: &Arc<Charge>,
        codes: &ValueCodes,
        resources: &Resources<'_>,
    ) -> Result<ClusteredScan> {
        let FilesEvidence { spill, files, rows: all, stamp } = self.files;
        resources.progress.start("joining what tasks found", None);
        let joined = clustered::join(charge, resources, |evidence, each| {
            let mut rows = 0;
            for extent in *files {
                let mut bytes = vec![0; extent.length as usize];
                spill.read(extent.offset, &mut bytes)?;
                let FileEvidence { columns } = stamp.open(&bytes)?;
                let own = columns.get(self.place).and_then(Option::as_ref);
                let own = own.ok_or_else(|| damaged("a task did not check a protected column"))?;
                if own.first_row != rows {
                    return Err(damaged("a task checked another file than the one that was written"));
                }
                let (stretches, judge) = own.open(charge, codes)?;
                let room = judge.bytes();
                evidence.lock().unwrap_or_else(PoisonError::into_inner).merge(judge, room)?;
                for stretch in stretches {
                    rows += stretch.rows();
                    each(stretch)?;
                }
            }
            match rows == *all {
                true => Ok(()),
                false => Err(damaged("tasks checked other rows than were written")),
            }
        });
        resources.progress.finish();
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::{ColumnRoles, count_with};
    use super::super::verdict::Order;
    use super::*;
    use crate::math::skyline::{Confidence, Knowledge, Point};
    use crate::model::judge::Requirements;
    use crate::model::skyline::ProtectedValues;
    use crate::resources::budget::Budget;
    use crate::resources::progress::Progress;
    use crate::table::read::ReadOptions;
    use proptest::prelude::*;
    use std::path::Path;

    fn task() -> Task {
        let confidence = Confidence::parse("0.6").unwrap();
        let point = Point { knowledge: Knowledge { l: 1, k: 1, m: 1 }, confidence };
        let requirements = Requirements::points(vec![(ProtectedValues::Every, point)]);
        Task { columns: ColumnRoles::single(vec!["group".into()], "sick".into()), requirements }
    }

    fn open(folder: &Path, name: &str, rows: &[(usize, char)]) -> Table {
        let path = folder.join(name);
        let text: String = rows.iter().map(|(group, value)| format!("{group},{value}\n")).collect();
        std::fs::write(&path, format!("group,sick\n{text}")).unwrap();
        Table::open(&[path], &ReadOptions::default()).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// A file may even end in the middle of a group.
        #[test]
        fn files_that_tasks_checked_give_the_finding_of_the_whole_table(
            groups in prop::collection::vec(prop::collection::vec(prop::char::range('a', 'e'), 1..6), 1..9),
            cut in any::<prop::sample::Index>(),
        ) {
            let rows: Vec<(usize, char)> = groups
                .iter()
                .enumerate()
                .flat_map(|(group, values)| values.iter().map(move |&value| (group, value)))
                .collect();
            let cut = 1 + cut.index(rows.len());
            let (place, progress) = (tempfile::tempdir().unwrap(), Progress::default());
            let resources = Resources::new(Budget::new(64 << 20), &progress);
            let (spill, stamp, tasks) = (resources.new_spill().unwrap(), PolicyStamp::new("ab12"), [task()]);
            let (mut first_row, mut files) = (0, Vec::new());
            for (number, part) in [&rows[..cut], &rows[cut..]].into_iter().enumerate() {
                if part.is_empty() {
                    continue;
                }
                let table = open(place.path(), &format!("{number}.csv"), part);
                let found = FileEvidence::of(&table, first_row, &tasks, &stamp, &resources).unwrap();
                first_row += part.len() as u64;
                files.push(spill.append(&found).unwrap());
            }
            let whole = open(place.path(), "whole.csv", &rows);
            let (Task { columns, requirements }, subject) = (&tasks[0], Subject::Table(&whole));
            let wanted = WantedSkylines::of(requirements.skyline());
            let judged = |found: Option<&FoundByTasks<'_>>| {
                let counted = count_with(&subject, (columns, found), requirements, &wanted, &resources)?;
                counted.finish(columns, requirements)
            };
            let all = rows.len() as u64;
            let evidence = FilesEvidence { spill: &spill, files: &files, rows: all, stamp: stamp.clone() };
            let together = judged(Some(&FoundByTasks { files: &evidence, place: 0 })).unwrap();
            let alone = judged(None).unwrap();
            prop_assert_eq!(together.order, Order::Clustered);
            prop_assert_eq!(&together.finding, &alone.finding);
            prop_assert_eq!(
                (together.records, together.groups, together.smallest_group, together.sizes),
                (alone.records, alone.groups, alone.smallest_group, alone.sizes)
            );
            // The evidence of a file that is missing, or of another one, is not taken for the whole.
            let first = files[..1].to_vec();
            files.rotate_left(1);
            if files.len() > 1 {
                for files in [&first, &files] {
                    let evidence = FilesEvidence { spill: &spill, files, rows: all, stamp: stamp.clone() };
                    let refused = judged(Some(&FoundByTasks { files: &evidence, place: 0 })).is_err();
                    prop_assert!(refused);
                }
            }
        }
    }
}
