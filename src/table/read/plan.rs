//! Which columns of a file are decoded, and how are they turned into the requested columns?

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;

use super::coded::CodeForm;
use super::contain::damaged;
use super::header::{looks_like_data, wrong_delimiter};
use crate::error::{Error, Result};
use crate::table::kind::{ColumnKind, exact_cast};

/// A column to read, and the form to read it in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRequest {
    /// Its name in the table.
    pub name: String,
    /// The form in which its values are passed on.
    pub form: ColumnForm,
}

impl ColumnRequest {
    /// A column in one of the few types of [`ColumnKind`].
    pub fn canonical(name: impl Into<String>) -> Self {
        ColumnRequest { name: name.into(), form: ColumnForm::Canonical }
    }

    /// A column that tells groups apart: canonical, but NaN is not null and -0 is not 0, because whoever reads the table
    /// can tell them apart, and larger groups look safer.
    pub fn of_groups(name: impl Into<String>) -> Self {
        ColumnRequest { name: name.into(), form: ColumnForm::Apart }
    }

    /// As [`ColumnRequest::of_groups`], or as runs where a file stores such ([`ColumnForm::Runs`]).
    pub fn in_runs(name: impl Into<String>) -> Self {
        ColumnRequest { name: name.into(), form: ColumnForm::Runs }
    }

    /// As [`ColumnRequest::canonical`], or as codes where a file stores such ([`ColumnForm::Codes`]); the last column.
    pub fn in_codes(name: impl Into<String>) -> Self {
        ColumnRequest { name: name.into(), form: ColumnForm::Codes }
    }

    /// A column in the type of the table's schema.
    pub fn as_is(name: impl Into<String>) -> Self {
        ColumnRequest { name: name.into(), form: ColumnForm::AsIs }
    }
}

/// The form in which the values of a column are passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnForm {
    /// In the type of the column's [`ColumnKind`].
    Canonical,
    /// The same, but everything that can be told apart stays apart.
    Apart,
    /// In the type of the table's schema, unchanged.
    AsIs,
    /// As `Apart`, or a `RunArray` of `Dictionary(Int32, type)`. All columns of a batch are codes, or none is; those of
    /// the next batch may be otherwise.
    Runs,
    /// As `Canonical`, or as [`ByteCodes`](super::ByteCodes), or `Dictionary(Int32, type)`, or a `RunArray` of that.
    Codes,
}

/// How a decoder that can choose should deliver strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StringForm {
    /// As `Dictionary(Int32, Utf8)`, which avoids copying each string.
    Packed,
    /// As the file's schema says.
    Plain,
}

/// What becomes of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    AsIs,
    Canonical(ColumnKind),
    Apart(ColumnKind),
}

/// The columns that a scan requests, resolved against the table.
pub(super) struct ScanRequest {
    /// The schema of the batches that the scan produces.
    pub schema: SchemaRef,
    columns: Vec<(String, Shape)>,
    /// The form of the codes of each column; none if some column must not be codes.
    codes: Vec<CodeForm>,
}

impl ScanRequest {
    /// Resolves `columns`; fails before any row is read if one is missing or has no canonical form.
    pub fn new(table: &Schema, columns: &[ColumnRequest]) -> Result<Self> {
        let mut fields = Vec::with_capacity(columns.len());
        let mut resolved = Vec::with_capacity(columns.len());
        for ColumnRequest { name, form } in columns {
            let field = table.field_with_name(name).map_err(|_| missing(table, name))?;
            let shape = match form {
                ColumnForm::AsIs => Shape::AsIs,
                ColumnForm::Canonical | ColumnForm::Codes => Shape::Canonical(kind_of(field)?),
                ColumnForm::Apart | ColumnForm::Runs => Shape::Apart(kind_of(field)?),
            };
            let data_type = match &shape {
                Shape::AsIs => field.data_type().clone(),
                Shape::Canonical(kind) | Shape::Apart(kind) => kind.data_type(),
            };
            fields.push(Field::new(name, data_type, true));
            resolved.push((name.clone(), shape));
        }
        let last = columns.len().saturating_sub(1);
        let codes = columns.iter().enumerate().map(|(place, column)| match column.form {
            ColumnForm::Runs => Some(CodeForm::Runs),
            ColumnForm::Codes if place == last => Some(CodeForm::RunsOrRows),
            _ => None,
        });
        let codes = codes.collect::<Option<_>>().unwrap_or_default();
        Ok(ScanRequest { schema: Arc::new(Schema::new(fields)), columns: resolved, codes })
    }

    /// The plan for one file of the table, whose last columns have the same value in every row: `constants`, of one row.
    pub fn plan(&self, path: &Path, file: &Schema, constants: &[ArrayRef]) -> Result<FilePlan> {
        let stored = file.fields().len() - constants.len();
        let mut requested = Vec::with_capacity(self.columns.len());
        for ((name, shape), target) in self.columns.iter().zip(self.schema.fields()) {
            let index = file.index_of(name).map_err(|_| missing(file, name))?;
            let own = file.field(index).data_type();
            let as_text =
                is_string(target.data_type()) && ColumnKind::of(own).is_some_and(|kind| kind.has_texts());
            if *shape == Shape::AsIs && own != target.data_type() && !as_text && *own != DataType::Null {
                let first = target.data_type();
                return Err(Error::input(
                    format!(
                        "{}: column `{name}` is {own} here, and {first} in the first file",
                        path.display()
                    ),
                    "a kept column needs the same type in every file: convert the files, or drop the column",
                )
                .of_column(name)
                .of_file(path));
            }
            requested.push((index, shape));
        }
        let mut indices: Vec<usize> =
            requested.iter().map(|(index, _)| *index).filter(|index| *index < stored).collect();
        indices.sort_unstable();
        indices.dedup();
        let place = |index: usize| match index.checked_sub(stored) {
            None => Place::Decoded(indices.partition_point(|i| *i < index)),
            Some(constant) => Place::Constant(constants[constant].clone()),
        };
        let places = requested.iter().map(|&(index, shape)| (place(index), shape.clone())).collect();
        let wanted = indices
            .iter()
            .map(|&index| {
                let plain = requested.iter().any(|(i, shape)| *i == index && **shape == Shape::AsIs);
                DecodedColumn { index, strings: if plain { StringForm::Plain } else { StringForm::Packed } }
            })
            .collect();
        Ok(FilePlan { wanted, places, codes: self.codes.clone(), schema: self.schema.clone() })
    }
}

/// A column of a file that has to be decoded.
pub(super) struct DecodedColumn {
    /// Its position in the file.
    pub index: usize,
    /// The form of its strings.
    pub strings: StringForm,
}

/// What to decode from one file, and how to turn it into the requested columns.
pub(super) struct FilePlan {
    /// The columns to decode, once each, in the order of the file.
    pub wanted: Vec<DecodedColumn>,
    /// For each requested column: where its values come from, and what becomes of them.
    places: Vec<(Place, Shape)>,
    /// As in [`ScanRequest`].
    codes: Vec<CodeForm>,
    schema: SchemaRef,
}

/// A requested column that may be read as codes.
pub(super) struct CodedRequest<'p> {
    /// Its name in the table.
    pub name: &'p str,
    /// Its position in the file.
    pub index: usize,
    /// What its values are.
    pub kind: &'p ColumnKind,
    /// The form of the codes.
    pub form: CodeForm,
}

/// Where the values of a requested column come from.
enum Place {
    /// A position in `wanted`.
    Decoded(usize),
    /// One value for all rows of the file.
    Constant(ArrayRef),
}

impl FilePlan {
    /// The positions of the columns to decode.
    pub fn indices(&self) -> Vec<usize> {
        self.wanted.iter().map(|w| w.index).collect()
    }

    /// The requested columns if they may all be read as codes; otherwise none.
    pub fn coded(&self) -> Option<Vec<CodedRequest<'_>>> {
        if self.codes.is_empty() {
            return None;
        }
        let names = self.schema.fields().iter().map(|field| field.name().as_str());
        let coded =
            self.places.iter().zip(&self.codes).zip(names).map(|((column, form), name)| match column {
                (Place::Decoded(at), Shape::Canonical(kind) | Shape::Apart(kind)) => {
                    Some(CodedRequest { name, index: self.wanted[*at].index, kind, form: *form })
                }
                _ => None,
            });
        coded.collect()
    }

    /// Turns the decoded columns into the requested ones.
    pub fn shape(&self, path: &Path, decoded: &RecordBatch) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.places.len());
        for ((place, shape), field) in self.places.iter().zip(self.schema.fields()) {
            let array = match place {
                Place::Decoded(index) => decoded.column(*index),
                Place::Constant(value) => value,
            };
            let array = match shape {
                Shape::AsIs if array.data_type() == field.data_type() => Ok(array.clone()),
                // The column contains only nulls in this file, and has no type.
                Shape::AsIs if *array.data_type() == DataType::Null => {
                    Ok(new_null_array(field.data_type(), array.len()))
                }
                // Codes that are declared as text.
                Shape::AsIs => exact_cast(array, field.data_type()),
                Shape::Canonical(kind) => kind.canonical(array),
                Shape::Apart(kind) => kind.apart(array),
            };
            let array = match place {
                Place::Decoded(_) => array,
                Place::Constant(_) => array.and_then(|one| take(&one, &zeros(decoded.num_rows()), None)),
            };
            // The error text could quote the number that does not fit.
            columns.push(array.map_err(|_| {
                Error::input(
                    format!(
                        "{}: column `{}` holds a value that does not fit {}",
                        path.display(),
                        field.name(),
                        field.data_type()
                    ),
                    "store the column with a narrower type, or drop it",
                )
                .of_column(field.name())
                .of_file(path)
            })?);
        }
        let rows = RecordBatchOptions::new().with_row_count(Some(decoded.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &rows)
            .map_err(|_| damaged(path, "the decoded columns do not match the schema"))
    }
}

/// The position of the one value, for each row.
fn zeros(rows: usize) -> UInt32Array {
    UInt32Array::from(vec![0; rows])
}

/// The kind of a field, or an error that says what to do.
pub(super) fn kind_of(field: &Field) -> Result<ColumnKind> {
    ColumnKind::of(field.data_type()).ok_or_else(|| {
        Error::input(
            format!(
                "column `{}` is {}, which has no order and no categories",
                field.name(),
                field.data_type()
            ),
            "keep it as it is, drop it, or convert it to numbers, text, dates or a flat list of these",
        )
        .of_column(field.name())
    })
}

/// The error for a column that is not in the table, with the name that was probably meant.
pub(super) fn missing(schema: &Schema, name: &str) -> Error {
    let names = || schema.fields().iter().map(|f| f.name().as_str());
    let near = names().min_by_key(|other| strsim::damerau_levenshtein(name, other));
    if let Some(error) = wrong_delimiter(&names().collect::<Vec<_>>()) {
        return error;
    }
    if looks_like_data(&names().collect::<Vec<_>>()) {
        return Error::input(
            format!(
                "the table has no column `{name}`, and seems to have no header: its first line looks like data"
            ),
            "add a first line with the names of the columns",
        );
    }
    let remedy = match near {
        Some(near) if strsim::damerau_levenshtein(name, near) <= 1 + name.chars().count() / 4 => {
            format!("did you mean `{near}`?")
        }
        Some(_) => format!("its columns are: {}", names().collect::<Vec<_>>().join(", ")),
        None => "it has no columns".to_string(),
    };
    Error::input(format!("the table has no column `{name}`"), remedy).of_column(name)
}

/// True for strings, whatever their encoding.
pub(super) fn is_string(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, value) => is_string(value),
        _ => false,
    }
}
