//! Who is in the table, as codes?
//!
//! Memory: the columns in use of all people, as they are read and as codes. Tables of more than [`MOST_PEOPLE`]
//! are refused while they are read.

use super::{Job, Purpose};
use crate::encode::attribute::Attribute;
use crate::encode::collect::Collector;
use crate::encode::combination::SensitiveColumns;
use crate::encode::encoder::Encoder;
use crate::encode::keys::{Texts, keys};
use crate::encode::page::Layout;
use crate::encode::prepare;
use crate::encode::rows::{Rows, Sensitive};
use crate::encode::scale::Scale;
use crate::encode::sensitive::SensitiveCoding;
use crate::error::{Error, Result, number_of};
use crate::group::given::generalize;
use crate::math::disclosure_sets::Partition;
use crate::math::skyline::Values;
use crate::policy::{Role, Style};
use crate::resources::budget::Budget;
use crate::table::read::{Column, Kind, Morsel, Table};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::Field;

/// Tables with more people are refused: their disclosure sets are far beyond counting.
pub const MOST_PEOPLE: usize = 20_000;

/// Bytes that speed up encoding; without them it is only slower.
const LOOKUP_BYTES: u64 = 16 << 20;

/// What is read beside the quasi-identifiers and the sensitive column.
pub struct Extra<'a> {
    /// The column that names the person in a table of group numbers.
    pub id: Option<&'a str>,
    /// Whether the columns that travel are needed.
    pub purpose: Purpose,
}

/// The people of a table, in its order.
pub struct People {
    /// The quasi-identifiers in the order of the table, every value with a code of its own.
    pub attributes: Vec<Attribute>,
    /// For each of them its place in `columns.quasi` of the policy.
    pub places: Vec<usize>,
    /// The sensitive values.
    pub sensitive: SensitiveCoding,
    /// The codes of every person.
    pub rows: Rows,
    /// The columns that travel, as the table has them, with their batches.
    pub travelling: (Vec<Field>, Vec<Vec<ArrayRef>>),
    /// The person's name in the table of group numbers.
    pub(super) ids: Option<Vec<Option<String>>>,
}

impl People {
    /// Reads the table of a job, once.
    pub fn read(job: &Job<'_>, extra: &Extra<'_>) -> Result<Self> {
        let roles = Roles::bind(job)?;
        let schema = job.table.schema();
        let name = |column: usize| schema.field(column).name().as_str();
        let judged: Vec<usize> = roles.quasi.iter().map(|&(at, _)| at).chain([roles.sensitive]).collect();
        let mut columns: Vec<Column> = judged.iter().map(|&at| Column::canonical(name(at))).collect();
        columns.extend(extra.id.map(Column::canonical));
        let travelling = if extra.purpose == Purpose::Release { roles.travelling } else { vec![] };
        columns.extend(travelling.iter().map(|&at| Column::as_is(name(at))));
        let batches = read_all(job.table, &columns, job.threads)?;

        let stated = |place: usize| &job.policy.columns.quasi[place];
        let mut attributes = Vec::new();
        for (i, &(at, place)) in roles.quasi.iter().enumerate() {
            let collector = prepare::collector(stated(place), &job.table.kind(name(at))?);
            batches.iter().try_for_each(|batch| collector.observe(batch.column(i)))?;
            attributes.push(generalize::attribute(stated(place), collector.finish())?);
        }
        let sensitive = read_sensitive(job, name(roles.sensitive), attributes.len(), &batches)?;
        let layout = Layout {
            columns: attributes.iter().map(Attribute::codes).collect(),
            values: sensitive.len() as u32,
            lists: Encoder::lists(Values::Single),
        };
        let budget = Budget::new(LOOKUP_BYTES);
        let only = SensitiveColumns::one(sensitive.clone());
        let encoder = Encoder::new(&attributes, &only, Values::Single, &budget);
        let mut rows = layout.empty(0);
        for batch in &batches {
            let (quasi, rest) = batch.columns().split_at(attributes.len());
            encoder.append(quasi, &rest[..1], &mut rows)?;
        }
        let ids = match extra.id {
            Some(id) => Some(texts(job.table, id, batches.iter().map(|batch| batch.column(judged.len())))?),
            None => None,
        };
        let first = judged.len() + usize::from(extra.id.is_some());
        let fields = travelling.iter().map(|&at| schema.field(at).clone()).collect();
        let travelling = (fields, batches.iter().map(|batch| batch.columns()[first..].to_vec()).collect());
        let places = roles.quasi.iter().map(|&(_, place)| place).collect();
        Ok(People { attributes, places, sensitive, rows, travelling, ids })
    }

    /// How many people there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is nobody; such a table is not read.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The code of every person's sensitive value.
    pub fn values(&self) -> Vec<u32> {
        (0..self.len()).map(|person| self.value(person).into()).collect()
    }

    /// The code of a person's sensitive value.
    pub fn value(&self, person: usize) -> u16 {
        match &self.rows.sensitive {
            Sensitive::Single(codes) => codes.get(person),
            Sensitive::Lists { .. } => 0,
        }
    }

    /// The people whose labels agree in all columns; `labels[column][code]`.
    pub fn grouped(&self, labels: &[Vec<String>]) -> Partition {
        let label = |person: usize| -> Vec<&str> {
            let columns = labels.iter().zip(&self.rows.columns);
            columns.map(|(labels, codes)| labels[usize::from(codes.get(person))].as_str()).collect()
        };
        Partition::by_label((0..self.len()).map(label))
    }
}

struct Roles {
    /// Places in the table and in the policy.
    quasi: Vec<(usize, usize)>,
    sensitive: usize,
    travelling: Vec<usize>,
}

impl Roles {
    fn bind(job: &Job<'_>) -> Result<Self> {
        let names: Vec<&str> =
            job.table.schema().fields().iter().map(|field| field.name().as_str()).collect();
        let (mut quasi, mut sensitive, mut travelling) = (vec![], None, vec![]);
        for (at, role) in job.policy.bind(&names)?.into_iter().enumerate() {
            match role {
                Role::Quasi(place) => {
                    quasi.push((at, place));
                    if job.policy.publish.style == Style::Bucketized {
                        travelling.push(at);
                    }
                }
                Role::Sensitive(_) => sensitive = Some(at),
                Role::Keep => travelling.push(at),
                Role::Drop => {}
                Role::Individual | Role::Count => {
                    return Err(Error::input(
                        format!("column {:?}: an audit takes one row per person", names[at]),
                        "give a table with one row and one sensitive value per person",
                    ));
                }
            }
        }
        let sensitive = sensitive.ok_or_else(|| {
            Error::input("the policy names no sensitive column", "name one in columns.sensitive")
        })?;
        Ok(Roles { quasi, sensitive, travelling })
    }
}

/// The batches of a small table.
pub(super) fn read_all(table: &Table, columns: &[Column], threads: usize) -> Result<Vec<RecordBatch>> {
    let within = |rows: u64| {
        if rows <= MOST_PEOPLE as u64 {
            return Ok(());
        }
        Err(Error::input(
            format!("the table has more than {MOST_PEOPLE} people, the most that an audit takes"),
            "audit a part of the table, such as one district: functions and policy stay the same",
        ))
    };
    table.rows().map_or(Ok(()), within)?;
    let work = |morsel: Morsel<'_>| {
        let mut rows = 0;
        let mut batches = Vec::new();
        for batch in morsel {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            within(rows)?;
            batches.push(batch);
        }
        Ok((rows, batches))
    };
    let (mut rows, mut all) = (0, Vec::new());
    table.scan(columns, threads, work, |(more, batches)| {
        rows += more;
        all.extend(batches);
        within(rows)
    })?;
    if rows == 0 {
        return Err(Error::input("the table has no rows", "there is nothing to audit; check the input"));
    }
    Ok(all)
}

fn read_sensitive(
    job: &Job<'_>,
    name: &str,
    column: usize,
    batches: &[RecordBatch],
) -> Result<SensitiveCoding> {
    let kind = job.table.kind(name)?;
    prepare::expect_values(name, &kind, Values::Single)?;
    let collector = Collector::new(name, &kind, None);
    batches.iter().try_for_each(|batch| collector.observe(batch.column(column)))?;
    let found = collector.finish();
    let meaning = job.policy.columns.sensitive(name).and_then(|stated| stated.null_is.as_deref());
    if found.nulls > 0 && meaning.is_none() {
        return Err(Error::input(
            format!("the sensitive column {name:?} is null in {}", number_of(found.nulls, "row", "rows")),
            "say what that means with columns.null_is = \"a value name\"",
        ));
    }
    SensitiveCoding::new(name, &kind, found, meaning)
}

/// The text of every cell of a canonical column; `None` for null.
pub(super) fn texts<'a>(
    table: &Table,
    name: &str,
    arrays: impl Iterator<Item = &'a ArrayRef>,
) -> Result<Vec<Option<String>>> {
    let kind = table.kind(name)?;
    if matches!(kind, Kind::List(_)) {
        return Err(Error::input(
            format!("column {name:?} holds lists, which name neither groups nor people"),
            "give numbers or texts",
        ));
    }
    let mut all = Vec::new();
    for array in arrays {
        match Scale::of(&kind) {
            Some(scale) => {
                let keys = keys(array, scale, name)?;
                all.extend((0..keys.values.len()).map(|row| keys.get(row).map(|key| scale.text(key))));
            }
            None => {
                let texts = Texts::new(array);
                let text = |row| texts.entry(row).map(|entry| texts.dictionary.value(entry).to_string());
                all.extend((0..texts.rows()).map(text));
            }
        }
    }
    Ok(all)
}
