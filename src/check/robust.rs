//! Which people and values are in each group, for an adversary who knows distributions?
//!
//! People and values are brought together by group, out of core, and each group is assessed on its own.
//! Nothing depends on how the groups were made.
//!
//! Memory: the sorter's share of the budget, the groups of one batch, the states of one group per thread.

use std::sync::Mutex;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use rayon::prelude::*;

use super::job::{Buckets, ColumnRoles, Subject};
use crate::encode::scale::Scale;
use crate::error::{Error, Result, Setting};
use crate::math::robust::{Assessment, PublishedGroup};
use crate::math::skyline::Values;
use crate::model::finding::Finding;
use crate::model::robust::census::{Census, CountedColumns};
use crate::model::robust::dictionary::{Coder, UNKNOWN};
use crate::model::robust::judge::{RobustJudge, Robustness, assessed};
use crate::model::robust::remainder::Remainder;
use crate::model::robust::{Distributions, KnownDistributions, known_columns};
use crate::resources::Resources;
use crate::resources::sorter::Sorter;
use crate::resources::threads::thread_pool;
use crate::table::group_keys::{KeyConverter, integer_of_key};
use crate::table::read::{ColumnRequest, Table};

/// The number of signatures that are judged at once.
const BATCH: usize = 1 << 18;

/// The distributions that the adversary knows: read from the file that the policy names, or estimated from
/// the original.
pub(super) fn known(
    robustness: &Robustness,
    columns: &ColumnRoles,
    original: Option<&Table>,
    resources: &Resources<'_>,
) -> Result<KnownDistributions> {
    let (robust, null_is) = (&robustness.model, columns.null_is.as_deref());
    match (&robust.distributions, original) {
        (Distributions::File { path, .. }, _) if !path.is_file() => Err(Error::missing(
            format!("{}: the distributions of the policy are not there", path.display()),
            "give the policy that the release was made with, next to its distributions",
            Setting::Policy,
        )),
        (Distributions::File { path, .. }, _) => {
            KnownDistributions::from_file(path, robust, &columns.sensitive, null_is, resources)
        }
        (Distributions::Estimated, None) => Err(Error::missing(
            "what the adversary knows is estimated from the original table, which is not given",
            "give the table that the release was made from, or a policy with privacy.distributions = \"FILE\"",
            Setting::Original,
        )),
        (Distributions::Estimated, Some(table)) => {
            let known = known_columns(robust);
            let counted = CountedColumns { columns: &known, sensitive: &columns.sensitive, null_is };
            KnownDistributions::estimated(
                &Census::read(table, &counted, resources)?,
                robust,
                &resources.budget,
            )
        }
    }
}

/// Adds to the finding what an adversary who has the `known` distributions learns; the known columns hold
/// their original values.
pub(super) fn add(
    finding: &mut Finding,
    subject: &Subject<'_>,
    columns: &ColumnRoles,
    robustness: &Robustness,
    known: &KnownDistributions,
    resources: &Resources<'_>,
) -> Result<()> {
    let charge = RobustCharge { known, robustness };
    let (judge, remainder) = judge(subject, columns, &charge, resources)?;
    let subtracted = remainder.map(|own| own.judged(known, robustness)).transpose()?;
    judge.finish(robustness, &known.value_texts(), subtracted.as_ref(), finding)
}

/// Distributions require people with one row and one value each.
pub(super) fn expect_rows(columns: &ColumnRoles) -> Result<()> {
    if columns.values != Values::Single || columns.individual.is_some() || columns.count.is_some() {
        return Err(Error::input(
            "the model \"robust\" is defined for one row and one value per person",
            "leave columns.individual, columns.count and privacy.values out of the policy, and give a table with one \
             row for each person",
        ));
    }
    Ok(())
}

/// What every group is assessed against.
struct RobustCharge<'a> {
    known: &'a KnownDistributions,
    robustness: &'a Robustness,
}

fn judge<'a>(
    subject: &Subject<'_>,
    columns: &ColumnRoles,
    charge: &RobustCharge<'a>,
    resources: &Resources<'_>,
) -> Result<(RobustJudge, Option<Remainder<'a>>)> {
    let spill = resources.new_spill()?;
    let sorter = Mutex::new(Sorter::new(&resources.budget, &spill)?);
    match subject {
        Subject::Table(table) => {
            let cells = Cells { people: true, values: true, count: None };
            gather(table, &cells, columns, charge.known, resources, &sorter)?;
        }
        Subject::Buckets(Buckets { people, values, count }) => {
            let cells = Cells { people: true, values: false, count: None };
            gather(people, &cells, columns, charge.known, resources, &sorter)?;
            let cells = Cells { people: false, values: true, count: Some(count) };
            gather(values, &cells, columns, charge.known, resources, &sorter)?;
        }
    }
    let sorter = sorter.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let pool = thread_pool(resources.threads)?;
    let mut judge = RobustJudge::new(charge.known.priors().values());
    let mut remainder = Remainder::of(charge.known);
    let mut batch = Batch::default();
    resources.progress.start("judging groups", None);
    sorter.finish(|record| {
        let length = usize::from(u16::from_be_bytes([record[0], record[1]]));
        let (key, rest) = record[2..].split_at(length);
        if batch.key != key || batch.groups.is_empty() {
            if batch.numbers >= BATCH {
                resources.progress.go_on()?;
                let done = pool.install(|| batch.assessed(charge))?;
                resources.progress.advance(done.len() as u64);
                batch.hand_to(&mut judge, remainder.as_mut(), &done);
                batch = Batch::default();
            }
            batch.key = key.to_vec();
            batch.groups.push(Group { name: integer_of_key(key), ..Group::default() });
        }
        batch.add(rest);
        Ok(())
    })?;
    let done = pool.install(|| batch.assessed(charge))?;
    batch.hand_to(&mut judge, remainder.as_mut(), &done);
    resources.progress.finish();
    Ok((judge, remainder))
}

/// What the rows of a table hold.
struct Cells<'a> {
    people: bool,
    values: bool,
    count: Option<&'a String>,
}

/// The positions of the columns in a batch.
struct Places {
    names: Vec<String>,
    groups: Vec<usize>,
    known: Vec<usize>,
    sensitive: usize,
    count: usize,
}

impl Places {
    fn new(cells: &Cells<'_>, columns: &ColumnRoles, known: &KnownDistributions) -> Self {
        let mut names: Vec<String> = Vec::new();
        let people = known.columns().iter().filter(|_| cells.people);
        let value = cells.values.then_some(&columns.sensitive);
        for name in columns.groups.iter().chain(people).chain(value).chain(cells.count) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let place = |name: &String| names.iter().position(|own| own == name).unwrap_or(0);
        let known = known.columns().iter().filter(|_| cells.people).map(place).collect();
        Places {
            groups: columns.groups.iter().map(place).collect(),
            known,
            sensitive: place(&columns.sensitive),
            count: cells.count.map_or(0, place),
            names,
        }
    }
}

/// Rows that do not occur in the distributions.
#[derive(Clone, Copy, Default)]
struct Unknown {
    people: u64,
    values: u64,
}

/// Sorts the rows of a table by group.
fn gather(
    table: &Table,
    cells: &Cells<'_>,
    columns: &ColumnRoles,
    known: &KnownDistributions,
    resources: &Resources<'_>,
    sorter: &Mutex<Sorter<'_>>,
) -> Result<()> {
    let places = Places::new(cells, columns, known);
    let request = |name: &String| match columns.groups.contains(name) {
        true => ColumnRequest::of_groups(name),
        false => ColumnRequest::canonical(name),
    };
    let wanted: Vec<ColumnRequest> = places.names.iter().map(request).collect();
    resources.progress.start("reading groups", table.rows());
    let work = |morsel: crate::table::read::Morsel<'_>| {
        let mut rows = RowReader::new(table, cells, &places, columns, known)?;
        for batch in morsel {
            let batch = batch?;
            rows.push(&batch, sorter)?;
            resources.progress.advance(batch.num_rows() as u64);
        }
        Ok(rows.unknown)
    };
    let mut unknown = Unknown::default();
    table.scan(&wanted, resources, work, |part| {
        unknown.people += part.people;
        unknown.values += part.values;
        Ok(())
    })?;
    resources.progress.finish();
    refuse_unknown(unknown, columns, known)
}

/// Reads rows as signatures and values.
struct RowReader<'a> {
    cells: &'a Cells<'a>,
    places: &'a Places,
    known: &'a KnownDistributions,
    coders: Vec<Coder<'a>>,
    value_coder: Option<Coder<'a>>,
    /// The value that a null represents.
    null_value: Option<u32>,
    /// The codes of a batch: those of the known columns, and the values.
    codes: Vec<Vec<u32>>,
    values: Vec<u32>,
    unknown: Unknown,
}

impl<'a> RowReader<'a> {
    fn new(
        table: &Table,
        cells: &'a Cells<'a>,
        places: &'a Places,
        columns: &'a ColumnRoles,
        known: &'a KnownDistributions,
    ) -> Result<Self> {
        let coders: Vec<Coder<'a>> = if cells.people { known.coders(table)? } else { Vec::new() };
        let value_coder = match cells.values {
            true => Some(Coder::new(known.values(), table, &columns.sensitive)?),
            false => None,
        };
        let null_value = columns.null_is.as_deref().and_then(|name| {
            let scale = table.kind(&columns.sensitive).ok().and_then(|kind| Scale::of(&kind));
            let canonical = scale.and_then(|scale| scale.canonical(name));
            known.values().code(Some(canonical.as_deref().unwrap_or(name)))
        });
        let codes = vec![Vec::new(); coders.len()];
        let (values, unknown) = (Vec::new(), Unknown::default());
        Ok(RowReader { cells, places, known, coders, value_coder, null_value, codes, values, unknown })
    }

    /// Reads the codes of a batch.
    fn read(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = self.coders.iter_mut().zip(&mut self.codes).zip(&self.places.known);
        for ((coder, codes), &at) in columns {
            codes.clear();
            coder.codes(batch.column(at), codes)?;
        }
        if let Some(coder) = &mut self.value_coder {
            self.values.clear();
            let column = batch.column(self.places.sensitive);
            coder.codes(column, &mut self.values)?;
            if let (Some(meaning), Some(nulls)) = (self.null_value, column.logical_nulls()) {
                let null = (0..column.len()).filter(|&row| nulls.is_null(row));
                null.for_each(|row| self.values[row] = meaning);
            }
        }
        Ok(())
    }

    /// Sorts the rows of a batch by group.
    fn push(&mut self, batch: &RecordBatch, sorter: &Mutex<Sorter<'_>>) -> Result<()> {
        let groups: Vec<ArrayRef> = self.places.groups.iter().map(|&at| batch.column(at).clone()).collect();
        let keys = KeyConverter::new(groups.iter().map(|column| column.data_type()))?.rows(&groups)?;
        self.read(batch)?;
        let counts = match self.cells.count {
            Some(name) => Some(counts(batch.column(self.places.count), name)?),
            None => None,
        };
        let (mut row_codes, mut key, mut signatures) = (vec![0; self.codes.len()], Vec::new(), Vec::new());
        let mut sorter = sorter.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for row in 0..batch.num_rows() {
            let group = keys.key(row);
            let head = u16::try_from(group.len()).map_err(|_| long_key())?.to_be_bytes();
            if self.cells.people {
                row_codes.iter_mut().zip(&self.codes).for_each(|(own, codes)| *own = codes[row]);
                signatures.clear();
                match self.known.signatures(&row_codes, &mut key, &mut signatures) {
                    true => {
                        let bytes: Vec<u8> = signatures.iter().flat_map(|own| own.to_be_bytes()).collect();
                        sorter.push(&[&head, group, &[0], &bytes])?;
                    }
                    false => self.unknown.people += 1,
                }
            }
            if self.cells.values {
                self.unknown.values += u64::from(self.values[row] == UNKNOWN);
                let count = counts.as_ref().map_or(1, |counts| counts[row]);
                let bytes = [self.values[row].to_be_bytes(), count.to_be_bytes()].concat();
                sorter.push(&[&head, group, &[1], &bytes])?;
            }
        }
        Ok(())
    }
}

fn refuse_unknown(unknown: Unknown, columns: &ColumnRoles, known: &KnownDistributions) -> Result<()> {
    let problem = match (unknown.people, unknown.values) {
        (0, 0) => return Ok(()),
        (0, rows) => format!(
            "column `{}`: {} a value for which no distribution is known",
            columns.sensitive,
            if rows == 1 { "1 row has".to_string() } else { format!("{rows} rows have") }
        ),
        (people, _) => format!(
            "{} a combination of {} for which no distribution is known",
            if people == 1 { "1 person has".to_string() } else { format!("{people} people have") },
            known.columns().join(", ")
        ),
    };
    Err(Error::missing(
        problem,
        "the known columns must hold original values, as in a bucketized release; give the table that it was made from, \
         or distributions for all that occurs",
        Setting::Original,
    ))
}

fn counts(column: &ArrayRef, name: &str) -> Result<Vec<u32>> {
    let numbers = column.as_primitive_opt::<Int64Type>().filter(|numbers| numbers.null_count() == 0);
    let counts: Option<Vec<u32>> =
        numbers.and_then(|numbers| numbers.values().iter().map(|&count| u32::try_from(count).ok()).collect());
    counts.ok_or_else(|| {
        Error::input(format!("column `{name}` does not hold counts"), "give a release as skyveil writes it")
    })
}

fn long_key() -> Error {
    Error::missing(
        "the group columns hold a very long text",
        "number the groups, and name that column",
        Setting::Groups,
    )
}

#[derive(Default)]
struct Group {
    name: Option<i64>,
    signatures: Vec<u32>,
    values: Vec<(u32, u32)>,
}

/// Groups that are judged at once.
#[derive(Default)]
struct Batch {
    key: Vec<u8>,
    groups: Vec<Group>,
    numbers: usize,
}

impl Batch {
    /// Adds a record to the last group.
    fn add(&mut self, record: &[u8]) {
        let Some(group) = self.groups.last_mut() else { return };
        let number = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let mut numbers = record[1..].chunks_exact(4).map(number);
        self.numbers += record.len() / 4;
        match record[0] {
            0 => group.signatures.extend(numbers),
            _ => {
                let (value, count) = (numbers.next().unwrap_or(UNKNOWN), numbers.next().unwrap_or(0));
                match group.values.last_mut().filter(|last| last.0 == value) {
                    Some(last) => last.1 = last.1.saturating_add(count),
                    None => group.values.push((value, count)),
                }
            }
        }
    }

    /// The assessment of each group.
    fn assessed(&self, charge: &RobustCharge<'_>) -> Result<Vec<Assessment>> {
        let one = |group: &Group| {
            let published = PublishedGroup { signatures: &group.signatures, values: &group.values };
            assessed(charge.known, &charge.robustness.requirement, published)
        };
        self.groups.par_iter().map(one).collect()
    }

    fn hand_to(
        &self,
        judge: &mut RobustJudge,
        mut remainder: Option<&mut Remainder<'_>>,
        assessed: &[Assessment],
    ) {
        for (group, assessed) in self.groups.iter().zip(assessed) {
            judge.observe(&group.values, group.name, assessed);
            if let Some(remainder) = &mut remainder {
                remainder.subtract(&group.signatures, &group.values);
            }
        }
    }
}
