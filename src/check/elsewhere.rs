//! What if the tasks of an engine check the files of a table, one each?
//!
//! A task judges the groups of its file as a worker does those of a morsel ([`clustered`]). What it
//! found is joined in the order of the files, with the functions that join the morsels of one machine. Windows and
//! t-closeness depend on the values of the whole table, so a task is told which these are; what it found counts if all files
//! together have them. Otherwise, and where groups may have recurred, groups are counted here.
//!
//! Memory: the evidence of one file and that of the judge; where a rule depends on the values of the whole table, also the
//! name of each and how many people have it, twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::cells::Gaps;
use super::clustered::{self, ClusteredScan, CountedRows, Stretch};
use super::evidence::SharedEvidence;
use super::job::{Buckets, Subject, validate, value_rules};
use super::policy::Task;
use super::scattered::{self, CountedBuckets};
use super::share_rules::count_whole;
use super::value_rows::stand_apart;
use super::values::ValueCodes;
use crate::encode::sealed_pages::damaged;
use crate::error::Result;
use crate::model::counted_group::CountedGroup;
use crate::model::judge::{Basis, Charge, Judge};
use crate::model::skyline::knowledge::WantedSkylines;
use crate::resources::Resources;
use crate::resources::byte_form::{ByteForm, ByteReader, Parcel, PolicyStamp, write_count};
use crate::resources::spill::{Extent, Spill};

/// How many people have each value of a protected column.
pub type WholeValues = BTreeMap<String, u64>;

/// What a task found in a file.
pub struct FileEvidence {
    /// Whether no row holds values of columns that are published apart.
    apart: bool,
    /// For each protected column; nothing if the evidence about it does not travel.
    columns: Vec<Option<ColumnEvidence>>,
}

/// What a task found about a protected column.
struct ColumnEvidence {
    /// The number of the first row of the file.
    first_row: u64,
    /// If a rule depends on the values of the whole table: these, as the task was told, and those of the file.
    values: Option<(WholeValues, WholeValues)>,
    /// The value of each code.
    names: Vec<String>,
    /// The stretches of a table, or the totals of two, and the judge, in these codes.
    found: Vec<u8>,
}

impl ByteForm for ColumnEvidence {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.first_row.write(bytes);
        self.values.is_some().write(bytes);
        self.values.iter().for_each(|values| values.write(bytes));
        self.names.write(bytes);
        self.found.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let first_row = u64::read(bytes)?;
        let values = if bool::read(bytes)? { Some(ByteForm::read(bytes)?) } else { None };
        let (names, found) = ByteForm::read(bytes)?;
        Some(ColumnEvidence { first_row, values, names, found })
    }
}

/// What was found in a file of each of two tables.
struct BucketTotals {
    rows: u64,
    gaps: Gaps,
    /// The lowest and the highest number of a group.
    numbers: (u64, u64),
}

impl ByteForm for BucketTotals {
    fn write(&self, bytes: &mut Vec<u8>) {
        (self.rows, (self.gaps.values, self.gaps.counts)).write(bytes);
        self.numbers.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let (rows, (values, counts)) = ByteForm::read(bytes)?;
        Some(BucketTotals { rows, gaps: Gaps { values, counts }, numbers: ByteForm::read(bytes)? })
    }
}

impl ByteForm for FileEvidence {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.apart.write(bytes);
        self.columns.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        ByteForm::read(bytes).map(|(apart, columns)| FileEvidence { apart, columns })
    }
}

impl Parcel for FileEvidence {
    const KIND: u8 = 11;
    const NAME: &'static str = "what a task found in a file";
}

impl FileEvidence {
    /// Checks a file of each table, where the first person has this number. Each task comes with the values of the whole
    /// table, as far as they are known.
    pub fn of(
        (subject, first_row): (&Subject<'_>, u64),
        tasks: &[(Task, WholeValues)],
        stamp: &PolicyStamp,
        resources: &Resources<'_>,
    ) -> Result<Vec<u8>> {
        let of_column = |(task, whole): &(Task, WholeValues)| {
            ColumnEvidence::of((subject, first_row), (task, whole), resources)
        };
        let apart = match subject {
            Subject::Table(_) => true,
            Subject::Buckets(buckets) => {
                stand_apart(buckets.values, tasks.iter().map(|(task, _)| task), resources)?
            }
        };
        let columns = tasks.iter().map(of_column).collect::<Result<_>>()?;
        Ok(stamp.seal(&FileEvidence { apart, columns }))
    }
}

impl ColumnEvidence {
    fn of(
        (subject, first_row): (&Subject<'_>, u64),
        (task, whole): (&Task, &WholeValues),
        resources: &Resources<'_>,
    ) -> Result<Option<Self>> {
        let Task { columns, requirements } = task;
        if !matches!(requirements.basis(), Basis::Counts) || columns.individual.is_some() {
            return Ok(None);
        }
        validate(subject, columns, requirements)?;
        let codes = ValueCodes::new(subject, columns, &resources.budget)?;
        let (mut values, mut known) = (None, None);
        if requirements.depend_on_table() {
            let whole: WholeValues =
                whole.iter().map(|(name, &people)| (codes.name_of(name), people)).collect();
            known = Some(coded(&whole, &codes)?);
            let own = named(&count_whole(subject, columns, &codes, resources)?, &codes);
            values = Some((whole, own));
        }
        let rules = value_rules(subject, columns, &codes, (requirements, known.as_ref()), resources)?;
        let wanted = WantedSkylines::of(requirements.skyline());
        let code = &mut |name: &str| codes.named(name);
        let charge = Arc::new(Charge::new(columns.values, requirements, rules, &wanted, code)?);
        if !charge.travels() {
            return Ok(None);
        }
        let mut found = Vec::new();
        match subject {
            Subject::Buckets(buckets) => {
                let judged = (&charge, &codes);
                let Some(counted) = judge_buckets(buckets, task, judged, resources, &mut found)? else {
                    return Ok(None);
                };
                counted.judge.write(&mut found);
            }
            Subject::Table(table) => {
                let evidence = Mutex::new(SharedEvidence::new(&charge, &resources.budget)?);
                let mut stretches: Vec<Stretch> = Vec::new();
                let judged = (&charge, &evidence);
                clustered::scan(table, first_row, columns, judged, &codes, resources, &mut |own| {
                    stretches.push(own);
                    Ok(())
                })?;
                let (judge, _room) =
                    evidence.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?;
                write_count(stretches.len(), &mut found);
                stretches.iter().for_each(|own| own.write(&mut found));
                judge.write(&mut found);
            }
        }
        let names = codes.names().iter().map(|name| name.to_string()).collect();
        Ok(Some(ColumnEvidence { first_row, values, names, found }))
    }

    /// What comes before the judge, and the judge, in the codes of this process.
    fn open<T>(
        &self,
        charge: &Arc<Charge>,
        codes: &ValueCodes,
        read: impl FnOnce(&[u32], &mut ByteReader<'_>) -> Option<T>,
    ) -> Result<(T, Judge)> {
        let codes: Vec<u32> = self.names.iter().map(|name| codes.code(name)).collect::<Result<_>>()?;
        let bytes = &mut ByteReader::new(&self.found);
        let found = read(&codes, bytes).and_then(|own| Some((own, Judge::read(charge, &codes, bytes)?)));
        found.ok_or_else(|| damaged("what a task found in a file cannot be read"))
    }
}

/// Judges a file of each of two tables, and appends the totals; `None` if its groups have no numbers.
fn judge_buckets(
    buckets: &Buckets<'_>,
    task: &Task,
    (charge, codes): (&Arc<Charge>, &ValueCodes),
    resources: &Resources<'_>,
    found: &mut Vec<u8>,
) -> Result<Option<CountedRows>> {
    let spill = Arc::new(resources.new_spill()?);
    let CountedBuckets { counted, numbers } =
        scattered::by_bucket(buckets, &task.columns, charge, codes, &spill, resources)?;
    let Some(numbers) = numbers else { return Ok(None) };
    BucketTotals { rows: counted.rows, gaps: counted.gaps, numbers }.write(found);
    Ok(Some(counted))
}

/// The people of each value by its code here.
fn coded(values: &WholeValues, codes: &ValueCodes) -> Result<CountedGroup> {
    let mut group = CountedGroup::default();
    for (name, &people) in values.iter().filter(|&(_, &people)| people > 0) {
        group.add(codes.code(name)?, people);
    }
    Ok(group)
}

/// The people of each value by its name.
fn named(group: &CountedGroup, codes: &ValueCodes) -> WholeValues {
    let names = codes.names();
    let counts = group.counts().filter(|&(_, people)| people > 0);
    counts.map(|(code, people)| (names[code as usize].to_string(), people)).collect()
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

impl FilesEvidence<'_> {
    /// Whether no row of the files holds values of columns that are published apart.
    pub fn stand_apart(&self) -> Result<bool> {
        let mut all = true;
        self.each(|own| {
            all &= own.apart;
            Ok(())
        })?;
        Ok(all)
    }

    /// Passes on what each task found, in order.
    fn each(&self, mut pass: impl FnMut(&FileEvidence) -> Result<()>) -> Result<()> {
        let mut bytes = Vec::new();
        for extent in self.files {
            self.spill.load(*extent, &mut bytes)?;
            pass(&self.stamp.open(&bytes)?)?;
        }
        Ok(())
    }
}

/// The same about the protected column at one place.
pub(super) struct FoundByTasks<'a> {
    pub files: &'a FilesEvidence<'a>,
    pub place: usize,
}

impl FoundByTasks<'_> {
    /// Passes on what each task found about the column, in order; `None` if it did not judge the column.
    fn each(&self, mut pass: impl FnMut(Option<&ColumnEvidence>) -> Result<()>) -> Result<()> {
        self.files.each(|own| pass(own.columns.get(self.place).and_then(Option::as_ref)))
    }

    /// The people of the whole table who have each value; `None` if tasks judged by others.
    pub fn whole_table(&self, codes: &ValueCodes) -> Result<Option<CountedGroup>> {
        let (mut told, mut all, mut agree): (Option<WholeValues>, _, _) = (None, WholeValues::new(), true);
        self.each(|own| {
            let Some((whole, own)) = own.and_then(|own| own.values.as_ref()) else {
                agree = false;
                return Ok(());
            };
            own.iter().for_each(|(name, people)| *all.entry(name.clone()).or_default() += people);
            agree &= told.get_or_insert_with(|| whole.clone()) == whole;
            Ok(())
        })?;
        match told {
            Some(mut told) if agree => {
                told.retain(|_, people| *people > 0);
                if told == all { coded(&all, codes).map(Some) } else { Ok(None) }
            }
            _ => Ok(None),
        }
    }

    /// Joins what was found in two tables; `None` if it does not tell that no group is in two files.
    pub fn join_buckets(
        &self,
        charge: &Arc<Charge>,
        codes: &ValueCodes,
        resources: &Resources<'_>,
    ) -> Result<Option<CountedRows>> {
        let mut evidence = SharedEvidence::new(charge, &resources.budget)?;
        let (mut rows, mut gaps) = (0, Gaps::default());
        let (mut last, mut apart): (Option<u64>, _) = (None, true);
        self.each(|own| {
            let Some(own) = own else {
                apart = false;
                return Ok(());
            };
            if own.first_row != rows {
                return Err(damaged("a task checked another file than the one that was written"));
            }
            let (totals, judge) = own.open(charge, codes, |_, bytes| BucketTotals::read(bytes))?;
            let (low, high) = totals.numbers;
            apart &= last.is_none_or(|last| last < low) && low <= high;
            last = Some(high);
            rows += totals.rows;
            gaps.add(totals.gaps);
            let room = judge.bytes();
            evidence.merge(judge, room)
        })?;
        if !apart {
            return Ok(None);
        }
        if rows != self.files.rows {
            return Err(damaged("tasks checked other rows than were written"));
        }
        let (judge, room) = evidence.finish()?;
        Ok(Some(CountedRows { judge, rows, gaps, room }))
    }

    /// Joins the evidence about one table.
    pub fn join(
        &self,
        charge: &Arc<Charge>,
        codes: &ValueCodes,
        resources: &Resources<'_>,
    ) -> Result<ClusteredScan> {
        let all = self.files.rows;
        resources.progress.start("joining what tasks found", None);
        let joined = clustered::join(charge, resources, |evidence, each| {
            let mut rows = 0;
            self.each(|own| {
                let own = own.ok_or_else(|| damaged("a task did not check a protected column"))?;
                if own.first_row != rows {
                    return Err(damaged("a task checked another file than the one that was written"));
                }
                let (stretches, judge) = own.open(charge, codes, read_stretches)?;
                let room = judge.bytes();
                evidence.lock().unwrap_or_else(PoisonError::into_inner).merge(judge, room)?;
                for stretch in stretches {
                    rows += stretch.rows();
                    each(stretch)?;
                }
                Ok(())
            })?;
            match rows == all {
                true => Ok(()),
                false => Err(damaged("tasks checked other rows than were written")),
            }
        });
        resources.progress.finish();
        joined
    }
}

fn read_stretches(codes: &[u32], bytes: &mut ByteReader<'_>) -> Option<Vec<Stretch>> {
    let many = bytes.count(1)?;
    (0..many).map(|_| Stretch::read(codes, bytes)).collect()
}

#[cfg(test)]
#[path = "elsewhere_tests.rs"]
mod tests;
