//! How do groups become the rows of a table?
//!
//! A group is its label, its sensitive values and their counts; if no columns travel, its rows are written from these,
//! sorted by sensitive value. Kept columns arrive as payload, in the order of their contents.
//!
//! Memory: one batch of at most [`BATCH_ROWS`] rows, or [`BATCH_BYTES`] of payload and labels.

use super::label::Labels;
use crate::encode::cells::keys_array;
use crate::encode::combination::SensitiveColumns;
use crate::encode::payload::Payload;
use crate::encode::sensitive::{SensitiveCoding, SensitiveValues};
use crate::error::{Error, Result};
use crate::group::groups::Group;
use crate::policy::Ranges;
use crate::table::ColumnKind;
use arrow_array::builder::StringBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const BATCH_ROWS: usize = 1 << 16;
const BATCH_BYTES: usize = 1 << 20;
/// What a label takes besides its text.
const TEXT_BYTES: usize = 48;

/// The name of the column that numbers the groups.
pub const GROUP: &str = "group";

/// The name of the column that counts the occurrences of a value in a group.
pub const COUNT: &str = "count";

/// The quasi-identifiers of every row of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupLabel {
    /// A label per quasi-identifier.
    texts: Vec<String>,
    /// The two ends per quasi-identifier that is published as bounds.
    bounds: Vec<(Option<i64>, Option<i64>)>,
}

/// The columns of the rows to be written, after `group`.
pub struct RowColumns<'a> {
    /// Quasi-identifiers that are published as labels.
    pub labels: Vec<(String, Labels<'a>)>,
    /// How their ranges are written.
    pub ranges: Ranges,
    /// Columns that travel.
    pub payload: Option<&'a Payload>,
    /// The sensitive columns, if they are in the same table.
    pub sensitive: Option<&'a SensitiveColumns>,
}

/// Turns groups into batches of rows.
pub struct GroupRows<'a> {
    columns: RowColumns<'a>,
    schema: SchemaRef,
    values: Option<SensitiveArrays<'a>>,
    pending: Pending,
}

/// Rows of a batch that is not yet full.
#[derive(Default)]
struct Pending {
    groups: Vec<i64>,
    /// The labels of the batch, by column, and the position of each row's label among them.
    texts: Vec<StringBuilder>,
    bounds: Vec<Vec<(Option<i64>, Option<i64>)>>,
    labels: i32,
    label: Vec<i32>,
    payload: Vec<Vec<u8>>,
    /// Bytes of payload and labels.
    bytes: usize,
    values: Vec<i32>,
}

impl<'a> GroupRows<'a> {
    /// Creates it for these columns.
    pub fn new(columns: RowColumns<'a>) -> Self {
        let mut fields = vec![Field::new(GROUP, DataType::Int64, false)];
        for (name, labels) in &columns.labels {
            match labels.kind().filter(|_| columns.ranges == Ranges::Bounds) {
                Some(kind) => fields.extend(
                    ["from", "to"].map(|end| Field::new(format!("{name}_{end}"), kind.data_type(), true)),
                ),
                None => fields.push(Field::new(name, text_type(), false)),
            }
        }
        fields.extend(columns.payload.iter().flat_map(|payload| payload.fields().iter().cloned()));
        let values = columns.sensitive.map(SensitiveArrays::new);
        fields.extend(values.iter().flat_map(SensitiveArrays::fields));
        let pending = Pending::with_capacity(0, columns.labels.len());
        GroupRows { columns, schema: Arc::new(Schema::new(fields)), values, pending }
    }

    /// The columns of the table.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The label shared by the rows of a group.
    pub fn label(&self, group: &Group) -> GroupLabel {
        let label = |(i, (_, labels)): (usize, &(String, Labels<'_>))| labels.label(&group.present[i]);
        let bounds = |(i, (_, labels)): (usize, &(String, Labels<'_>))| {
            let bounds = labels.bounds(&group.present[i]);
            (bounds.from, bounds.to)
        };
        let columns = || self.columns.labels.iter().enumerate();
        let bounds = match self.columns.ranges {
            Ranges::Label => vec![],
            Ranges::Bounds => columns().map(bounds).collect(),
        };
        GroupLabel { texts: columns().map(label).collect(), bounds }
    }

    /// Adds all rows of a group from its counts; full batches go to `write`.
    pub fn push_group(
        &mut self,
        number: u64,
        group: &Group,
        mut write: impl FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let label = self.label(group);
        match self.columns.sensitive {
            None => self.push(number, &label, 0, group.part.people, &mut write),
            Some(_) => {
                group.part.counts().iter().try_for_each(|&(code, count)| {
                    self.push(number, &label, i32::from(code), count, &mut write)
                })
            }
        }
    }

    fn push(
        &mut self,
        number: u64,
        label: &GroupLabel,
        code: i32,
        rows: u64,
        mut write: impl FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let mut left = rows;
        while left > 0 {
            let rows = left.min((BATCH_ROWS - self.pending.groups.len()) as u64) as usize;
            self.pending.push(number, label, code, rows);
            left -= rows as u64;
            if self.pending.is_full() {
                write(self.take()?)?;
            }
        }
        Ok(())
    }

    /// Adds one row with its payload.
    pub fn push_row(
        &mut self,
        number: u64,
        label: &GroupLabel,
        code: u16,
        payload: &[u8],
        mut write: impl FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        self.pending.payload.push(payload.to_vec());
        self.pending.bytes += payload.len() + TEXT_BYTES;
        self.pending.push(number, label, i32::from(code), 1);
        if self.pending.is_full() {
            write(self.take()?)?;
        }
        Ok(())
    }

    /// Returns the rows that have not filled a batch yet.
    pub fn take(&mut self) -> Result<RecordBatch> {
        let rows = self.pending.groups.len();
        let mut pending =
            std::mem::replace(&mut self.pending, Pending::with_capacity(rows, self.columns.labels.len()));
        let mut columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(pending.groups))];
        // All label columns share the positions, which are validated once.
        let positions = Arc::new(Int32Array::from_iter_values(0..pending.labels));
        let positions = DictionaryArray::<Int32Type>::try_new(pending.label.into(), positions);
        let positions = positions.map_err(|_| unfit())?;
        for (i, (_, labels)) in self.columns.labels.iter().enumerate() {
            match labels.kind().filter(|_| self.columns.ranges == Ranges::Bounds) {
                Some(kind) => {
                    let own = |place: &i32| pending.bounds[i][*place as usize];
                    let (from, to): (Vec<_>, Vec<_>) = positions.keys().values().iter().map(own).unzip();
                    columns.extend([keys_array(&kind, &from), keys_array(&kind, &to)]);
                }
                None => {
                    let texts = Arc::new(pending.texts[i].finish());
                    columns.push(Arc::new(positions.with_values(texts)));
                }
            }
        }
        if let Some(payload) = self.columns.payload {
            columns.extend(payload.columns(&pending.payload)?);
        }
        if let Some(values) = &self.values {
            columns.extend(values.columns(pending.values)?);
        }
        RecordBatch::try_new(self.schema.clone(), columns).map_err(|_| unfit())
    }
}

impl Pending {
    fn with_capacity(rows: usize, labels: usize) -> Self {
        Pending {
            groups: Vec::with_capacity(rows),
            texts: (0..labels).map(|_| StringBuilder::new()).collect(),
            bounds: vec![vec![]; labels],
            label: Vec::with_capacity(rows),
            values: Vec::with_capacity(rows),
            ..Pending::default()
        }
    }

    fn is_full(&self) -> bool {
        self.groups.len() == BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    fn push(&mut self, number: u64, label: &GroupLabel, code: i32, rows: usize) {
        if self.groups.last() != Some(&(number as i64)) {
            self.texts.iter_mut().zip(&label.texts).for_each(|(texts, text)| texts.append_value(text));
            self.bounds.iter_mut().zip(&label.bounds).for_each(|(bounds, own)| bounds.push(*own));
            self.labels += 1;
            self.bytes += label.texts.iter().map(|text| text.len() + TEXT_BYTES).sum::<usize>();
        }
        let place = self.labels - 1;
        self.groups.extend(std::iter::repeat_n(number as i64, rows));
        self.label.extend(std::iter::repeat_n(place, rows));
        self.values.extend(std::iter::repeat_n(code, rows));
    }
}

/// Turns groups into rows with the group, the sensitive value (or combination of values) and the count.
pub struct GroupValues<'a> {
    sensitive: SensitiveArrays<'a>,
    schema: SchemaRef,
    groups: Vec<i64>,
    values: Vec<i32>,
    counts: Vec<i64>,
}

impl<'a> GroupValues<'a> {
    /// Creates it for these sensitive columns.
    pub fn new(sensitive: &'a SensitiveColumns) -> Self {
        let sensitive = SensitiveArrays::new(sensitive);
        let mut fields = vec![Field::new(GROUP, DataType::Int64, false)];
        fields.extend(sensitive.fields());
        fields.push(Field::new(COUNT, DataType::Int64, false));
        let schema = Arc::new(Schema::new(fields));
        GroupValues { sensitive, schema, groups: vec![], values: vec![], counts: vec![] }
    }

    /// The columns of the table.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds the values of a group; full batches go to `write`.
    pub fn push_group(
        &mut self,
        number: u64,
        group: &Group,
        mut write: impl FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        for &(code, count) in group.part.counts() {
            self.groups.push(number as i64);
            self.values.push(i32::from(code));
            self.counts.push(count as i64);
            if self.groups.len() == BATCH_ROWS {
                write(self.take()?)?;
            }
        }
        Ok(())
    }

    /// Returns the rows that have not filled a batch yet.
    pub fn take(&mut self) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(std::mem::take(&mut self.groups)))];
        columns.extend(self.sensitive.columns(std::mem::take(&mut self.values))?);
        columns.push(Arc::new(Int64Array::from(std::mem::take(&mut self.counts))));
        RecordBatch::try_new(self.schema.clone(), columns).map_err(|_| unfit())
    }
}

/// Turns codes into the arrays of the sensitive columns.
struct SensitiveArrays<'a> {
    sensitive: &'a SensitiveColumns,
    /// The values of each column by code.
    dictionaries: Vec<ArrayRef>,
}

impl<'a> SensitiveArrays<'a> {
    fn new(sensitive: &'a SensitiveColumns) -> Self {
        SensitiveArrays { sensitive, dictionaries: sensitive.columns().iter().map(dictionary).collect() }
    }

    fn fields(&self) -> impl Iterator<Item = Field> {
        // A value of a list has a row of its own, in which the other columns are null.
        let nullable = self.sensitive.are_apart();
        let field =
            move |column: &SensitiveCoding| Field::new(&column.name, column.kind.data_type(), nullable);
        self.sensitive.columns().iter().map(field)
    }

    fn columns(&self, codes: Vec<i32>) -> Result<Vec<ArrayRef>> {
        if let ([column], [dictionary]) = (self.sensitive.columns(), &self.dictionaries[..]) {
            return Ok(vec![values_array(column, dictionary, codes.into())?]);
        }
        let columns = self.sensitive.columns().iter().zip(&self.dictionaries).enumerate();
        let array = |(place, (column, dictionary)): (usize, (&SensitiveCoding, &ArrayRef))| {
            let own = codes.iter().map(|&code| self.sensitive.value(code as u16, place).map(i32::from));
            values_array(column, dictionary, own.collect())
        };
        columns.map(array).collect()
    }
}

/// The sensitive values by code.
fn dictionary(sensitive: &SensitiveCoding) -> ArrayRef {
    match &sensitive.values {
        SensitiveValues::Texts(texts) => {
            Arc::new(StringArray::from_iter_values(texts.iter().map(|text| &**text)))
        }
        SensitiveValues::Numbers(_, keys) => {
            let keys: Vec<Option<i64>> = keys.iter().map(|&key| Some(key)).collect();
            keys_array(&sensitive.kind, &keys)
        }
    }
}

fn values_array(sensitive: &SensitiveCoding, dictionary: &ArrayRef, codes: Int32Array) -> Result<ArrayRef> {
    match sensitive.kind {
        ColumnKind::Text => {
            let array = DictionaryArray::<Int32Type>::try_new(codes, dictionary.clone());
            Ok(Arc::new(array.map_err(|_| unfit())?))
        }
        _ => arrow_select::take::take(dictionary, &codes, None).map_err(|_| unfit()),
    }
}

fn unfit() -> Error {
    Error::input("the rows of a release do not fit its columns", "this is a defect; please report it")
}

fn text_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}
