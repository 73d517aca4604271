//! What is in each group of a table whose groups are contiguous?
//!
//! A worker counts the rows of its morsel. The groups in the middle are complete, so it judges them itself;
//! the first and the last may continue beyond the morsel and are passed on as counts. They are joined in
//! table order, so a group that crosses any number of borders is judged once and exactly.
//!
//! Memory: [`SharedEvidence`], and per worker one group and 8 bytes for each group of the morsel.

use std::sync::{Arc, Mutex, PoisonError};

use super::cells::{Cells, Gaps};
use super::evidence::{SharedEvidence, Worker, Workers};
use super::job::{ColumnRoles, not_together};
use super::recurrence::{Begins, Finished, Returned, Trail};
use super::values::ValueCodes;
use crate::error::Result;
use crate::model::counted_group::CountedGroup;
use crate::model::judge::{Charge, Judge};
use crate::resources::Resources;
use crate::resources::budget::{Reservation, release_freed};
use crate::resources::byte_form::{ByteForm, ByteReader};
use crate::table::group_keys::KeyConverter;
use crate::table::read::{Batch, Table};

/// The result of a single scan.
pub(super) enum ClusteredScan {
    /// The table is clustered; these are its counts.
    CountedRows(Box<CountedRows>),
    /// A group may have recurred, so the counts are meaningless.
    Scattered,
}

/// All groups of a table, judged.
pub(super) struct CountedRows {
    pub judge: Judge,
    pub rows: u64,
    /// Values and counts that are missing from rows.
    pub gaps: Gaps,
    /// The memory of the judge.
    pub room: Reservation,
}

/// What a worker found in a run of consecutive rows.
pub(super) struct Stretch {
    rows: u64,
    gaps: Gaps,
    groups: Option<Groups>,
}

struct Groups {
    trail: Trail,
    first: Border,
    /// `None` if the first group is also the last.
    last: Option<Border>,
}

/// A group that may continue beyond a border.
struct Border {
    key: Box<[u8]>,
    /// The row at which it begins.
    number: u64,
    count: CountedGroup,
}

/// Counts a table in one scan.
pub(super) fn count(
    table: &Table,
    columns: &ColumnRoles,
    charge: &Arc<Charge>,
    codes: &ValueCodes,
    resources: &Resources<'_>,
) -> Result<ClusteredScan> {
    join(charge, resources, |evidence, each| {
        scan(table, 0, columns, (charge, evidence), codes, resources, each)
    })
}

/// Passes on the stretches of a table whose first row has this number, in order.
pub(super) fn scan(
    table: &Table,
    first_row: u64,
    columns: &ColumnRoles,
    (charge, evidence): (&Arc<Charge>, &Mutex<SharedEvidence>),
    codes: &ValueCodes,
    resources: &Resources<'_>,
    each: &mut dyn FnMut(Stretch) -> Result<()>,
) -> Result<()> {
    let workers = Workers::new(charge, evidence);
    resources.progress.start("checking", table.rows());
    let outcome = table.scan(
        &columns.counting_requests(),
        resources,
        |morsel| {
            let first_row = first_row + morsel.first_row();
            let batches = morsel.decoded().inspect(|batch| {
                let rows = batch.as_ref().map_or(0, |batch| batch.rows.num_rows());
                resources.progress.advance(rows as u64);
            });
            workers.judge(first_row, |worker| count_part(batches, first_row, columns, worker, codes))
        },
        each,
    );
    resources.progress.finish();
    outcome.and_then(|()| workers.hand_over())
}

/// Joins the stretches of a table.
pub(super) fn join(
    charge: &Arc<Charge>,
    resources: &Resources<'_>,
    pass: impl FnOnce(&Mutex<SharedEvidence>, &mut dyn FnMut(Stretch) -> Result<()>) -> Result<()>,
) -> Result<ClusteredScan> {
    let evidence = Mutex::new(SharedEvidence::new(charge, &resources.budget)?);
    let mut joined = JoinedParts::new(Worker::new(charge, &evidence), resources);
    let mut returned = Returned::Never;
    let outcome = pass(&evidence, &mut |stretch| {
        returned = joined.add(stretch)?;
        if returned == Returned::Perhaps { Err(not_together()) } else { Ok(()) }
    });
    if returned == Returned::Perhaps {
        return Ok(ClusteredScan::Scattered);
    }
    outcome?;
    let (rows, gaps) = joined.finish()?;
    let (judge, room) = evidence.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?;
    // Workers left behind what they handed over.
    release_freed();
    Ok(ClusteredScan::CountedRows(Box::new(CountedRows { judge, rows, gaps, room })))
}

impl Stretch {
    /// The rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends what was found.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        (self.rows, (self.gaps.values, self.gaps.counts)).write(bytes);
        self.groups.is_some().write(bytes);
        let Some(Groups { trail, first, last }) = &self.groups else { return };
        trail.write(bytes);
        first.write(bytes);
        last.is_some().write(bytes);
        last.iter().for_each(|last| last.write(bytes));
    }

    /// Reads it; `codes` are those of the values here.
    pub fn read(codes: &[u32], bytes: &mut ByteReader<'_>) -> Option<Self> {
        let (rows, (values, counts)) = ByteForm::read(bytes)?;
        let groups = match bool::read(bytes)? {
            false => None,
            true => Some(Groups {
                trail: Trail::read(bytes)?,
                first: Border::read(codes, bytes)?,
                last: if bool::read(bytes)? { Some(Border::read(codes, bytes)?) } else { None },
            }),
        };
        Some(Stretch { rows, gaps: Gaps { values, counts }, groups })
    }
}

impl Border {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.key.write(bytes);
        (self.number, self.count.people).write(bytes);
        self.count.counts().collect::<Vec<_>>().write(bytes);
    }

    fn read(codes: &[u32], bytes: &mut ByteReader<'_>) -> Option<Self> {
        let (key, (number, people)) = ByteForm::read(bytes)?;
        let mut count = CountedGroup::of(people);
        for (code, times) in Vec::<(u32, u64)>::read(bytes)?.into_iter().filter(|(_, times)| *times > 0) {
            count.add(*codes.get(code as usize)?, times);
        }
        Some(Border { key, number, count })
    }
}

/// Counts consecutive rows that begin at `first_row`; the batches hold the group columns and those of the value.
pub(super) fn count_part(
    batches: impl Iterator<Item = Result<Batch>>,
    first_row: u64,
    columns: &ColumnRoles,
    judge: &mut Worker<'_>,
    codes: &ValueCodes,
) -> Result<Stretch> {
    let mut cells = Cells::new(columns, codes)?;
    let mut keys = None;
    let mut open: Option<Open> = None;
    let (mut row, mut rows) = (first_row, 0);
    for batch in batches {
        let Batch { rows: batch, codes: bytes } = batch?;
        let (group_columns, value_columns) = batch.columns().split_at(columns.groups.len());
        let keys = match &mut keys {
            Some(keys) => keys,
            None => keys.insert(KeyConverter::new(group_columns.iter().map(|column| column.data_type()))?),
        };
        let runs = keys.runs(group_columns)?;
        let batch_cells = match &bytes {
            Some(bytes) => cells.open_bytes(bytes)?,
            None => cells.open(value_columns)?,
        };
        let mut start = 0;
        for (run, &end) in runs.ends.iter().enumerate() {
            let number = row + start as u64;
            let open = match &mut open {
                None => open.insert(Open::new(runs.key(run), number)),
                Some(open) => {
                    open.turn_to(runs.key(run), number, judge)?;
                    open
                }
            };
            cells.count(&batch_cells, start..end, &mut open.current);
            start = end;
        }
        row += batch.num_rows() as u64;
        rows += batch_cells.rows(batch.num_rows());
    }
    Ok(Stretch { rows, gaps: cells.gaps, groups: open.map(Open::close) })
}

/// The groups of a morsel while its rows pass.
struct Open {
    trail: Trail,
    /// The first group, once another has begun.
    first: Option<Border>,
    /// The group of the last row, and where it began.
    current: CountedGroup,
    number: u64,
}

impl Open {
    fn new(key: &[u8], number: u64) -> Self {
        Open { trail: Trail::new(key), first: None, current: CountedGroup::default(), number }
    }

    /// The next rows have this key: the group continues, or another one begins.
    fn turn_to(&mut self, key: &[u8], number: u64, judge: &mut Worker<'_>) -> Result<()> {
        if *self.trail.last == *key {
            return Ok(());
        }
        if self.first.is_none() {
            let count = std::mem::take(&mut self.current);
            self.first = Some(Border { key: self.trail.last.clone(), number: self.number, count });
        } else {
            judge.observe(&self.current, self.number)?;
            self.current.clear();
        }
        self.trail.push(key);
        self.number = number;
        Ok(())
    }

    fn close(self) -> Groups {
        let border = Border { key: self.trail.last.clone(), number: self.number, count: self.current };
        let (first, last) = match self.first {
            None => (border, None),
            Some(first) => (first, Some(border)),
        };
        Groups { trail: self.trail, first, last }
    }
}

/// The parts of a table, joined in table order.
pub(super) struct JoinedParts<'e> {
    judge: Worker<'e>,
    finished: Finished,
    /// The last group, which may continue in the next part.
    border: Option<Border>,
    rows: u64,
    gaps: Gaps,
}

impl<'e> JoinedParts<'e> {
    /// No parts yet.
    pub fn new(judge: Worker<'e>, resources: &Resources<'_>) -> Self {
        let finished = Finished::new(&resources.budget);
        JoinedParts { judge, finished, border: None, rows: 0, gaps: Gaps::default() }
    }

    /// Adds the next part of the table.
    pub fn add(&mut self, part: Stretch) -> Result<Returned> {
        self.rows += part.rows;
        self.gaps.add(part.gaps);
        let Some(Groups { trail, mut first, last }) = part.groups else { return Ok(Returned::Never) };
        let begins = match self.border.take() {
            Some(border) if border.key == first.key => {
                first.number = border.number;
                first.count.join(&border.count);
                Begins::WithMoreOfTheLast
            }
            Some(border) => {
                self.judge.observe(&border.count, border.number)?;
                Begins::Anew
            }
            None => Begins::Anew,
        };
        let returned = self.finished.add(trail, begins);
        self.border = Some(match last {
            None => first,
            Some(last) => {
                self.judge.observe(&first.count, first.number)?;
                last
            }
        });
        Ok(returned)
    }

    /// Ends the table; returns its rows and what is missing from them.
    pub fn finish(mut self) -> Result<(u64, Gaps)> {
        if let Some(border) = self.border.take() {
            self.judge.observe(&border.count, border.number)?;
        }
        self.judge.hand_over()?;
        Ok((self.rows, self.gaps))
    }
}
