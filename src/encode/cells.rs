//! The cells of an Arrow column as keys and texts.

use super::scale::{Scale, float_key};
use crate::error::{Error, Result};
use crate::table::ColumnKind;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, BooleanArray, DictionaryArray, Int64Array, PrimitiveArray, StringArray};
use arrow_buffer::NullBuffer;
use arrow_schema::TimeUnit;
use std::borrow::Cow;

impl Scale {
    /// How values of this kind are keyed; `None` for texts and lists.
    pub fn of(kind: &ColumnKind) -> Option<Scale> {
        match kind {
            ColumnKind::Integer => Some(Scale::Integer),
            ColumnKind::Decimal { scale } => Some(Scale::Decimal(*scale)),
            ColumnKind::Float => Some(Scale::Float),
            ColumnKind::Boolean => Some(Scale::Boolean),
            ColumnKind::Date => Some(Scale::Date),
            ColumnKind::Timestamp { unit, .. } => Some(Scale::Timestamp(*unit)),
            ColumnKind::Time => Some(Scale::Time),
            ColumnKind::Text | ColumnKind::List(_) => None,
        }
    }
}

/// One key per row; rows marked in `nulls` have none.
pub struct CellKeys<'a> {
    /// The keys.
    pub values: Cow<'a, [i64]>,
    /// Which rows are null (or not a number).
    pub nulls: Option<NullBuffer>,
}

impl CellKeys<'_> {
    /// The key of a row; `None` for null.
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        match &self.nulls {
            Some(nulls) if nulls.is_null(row) => None,
            _ => Some(self.values[row]),
        }
    }
}

/// The keys of a canonical column that is not text; `column` names it in errors.
pub fn keys<'a>(array: &'a ArrayRef, scale: Scale, column: &str) -> Result<CellKeys<'a>> {
    fn plain<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef) -> CellKeys<'_> {
        let array: &PrimitiveArray<T> = array.as_primitive();
        CellKeys { values: Cow::Borrowed(array.values()), nulls: array.nulls().cloned() }
    }
    let nulls = array.nulls().cloned();
    Ok(match scale {
        Scale::Integer => plain::<Int64Type>(array),
        Scale::Time => plain::<Time64NanosecondType>(array),
        Scale::Timestamp(TimeUnit::Second) => plain::<TimestampSecondType>(array),
        Scale::Timestamp(TimeUnit::Millisecond) => plain::<TimestampMillisecondType>(array),
        Scale::Timestamp(TimeUnit::Microsecond) => plain::<TimestampMicrosecondType>(array),
        Scale::Timestamp(TimeUnit::Nanosecond) => plain::<TimestampNanosecondType>(array),
        Scale::Date => {
            let days = array.as_primitive::<Date32Type>().values();
            CellKeys { values: days.iter().map(|&day| i64::from(day)).collect(), nulls }
        }
        Scale::Boolean => {
            let flags: &BooleanArray = array.as_boolean();
            CellKeys { values: flags.values().iter().map(i64::from).collect(), nulls }
        }
        Scale::Float => {
            let floats = array.as_primitive::<Float64Type>().values();
            let numbers = NullBuffer::from_iter(floats.iter().map(|value| !value.is_nan()));
            let nulls = if numbers.null_count() > 0 {
                NullBuffer::union(nulls.as_ref(), Some(&numbers))
            } else {
                nulls
            };
            CellKeys {
                values: floats
                    .iter()
                    .map(|&value| if value.is_nan() { 0 } else { float_key(value) })
                    .collect(),
                nulls,
            }
        }
        Scale::Decimal(_) => {
            let decimals = array.as_primitive::<Decimal128Type>();
            let key =
                |row: usize| if decimals.is_null(row) { Ok(0) } else { i64::try_from(decimals.value(row)) };
            let values: Result<Vec<i64>, _> = (0..decimals.len()).map(key).collect();
            let values = values.map_err(|_| {
                Error::input(
                    format!("column {column:?} has decimals of more than 18 digits"),
                    "cast the column to a shorter decimal or to double",
                )
            })?;
            CellKeys { values: values.into(), nulls }
        }
    })
}

/// The texts of a canonical text column: a dictionary, and an index into it per row.
pub struct CellTexts<'a> {
    /// The dictionary; entries may be unused.
    pub dictionary: &'a StringArray,
    array: &'a DictionaryArray<Int32Type>,
}

impl<'a> CellTexts<'a> {
    /// Wraps a canonical text column.
    pub fn new(array: &'a ArrayRef) -> Self {
        let array = array.as_dictionary::<Int32Type>();
        CellTexts { dictionary: array.values().as_string(), array }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.array.len()
    }

    /// The dictionary entry of a row; `None` for null.
    #[inline]
    pub fn entry(&self, row: usize) -> Option<usize> {
        (!self.array.keys().is_null(row))
            .then(|| self.array.keys().value(row) as usize)
            .filter(|&entry| !self.dictionary.is_null(entry))
    }

    /// How many rows use each dictionary entry, and how many are null. With `counts`, each row represents that many
    /// rows.
    pub fn used(&self, counts: Option<&[u64]>) -> (Vec<u64>, u64) {
        let mut used = vec![0; self.dictionary.len()];
        let mut nulls = 0;
        for row in 0..self.rows() {
            let times = counts.map_or(1, |counts| counts[row]);
            match self.entry(row) {
                Some(entry) => used[entry] += times,
                None => nulls += times,
            }
        }
        (used, nulls)
    }
}

/// The text of each cell of a canonical column, as labels write it; `None` for null. `kind` is the kind of the column.
pub fn cell_texts(array: &ArrayRef, kind: &ColumnKind, column: &str) -> Result<Vec<Option<String>>> {
    match Scale::of(kind) {
        Some(scale) => {
            let keys = keys(array, scale, column)?;
            Ok((0..keys.values.len()).map(|row| keys.get(row).map(|key| scale.text(key))).collect())
        }
        None => {
            let texts = CellTexts::new(array);
            let text = |row| texts.entry(row).map(|entry| texts.dictionary.value(entry).to_string());
            Ok((0..texts.rows()).map(text).collect())
        }
    }
}

/// Keys as an Arrow array of their kind, for publishing.
pub fn keys_array(kind: &ColumnKind, keys: &[Option<i64>]) -> ArrayRef {
    let integers = Int64Array::from_iter(keys.iter().copied());
    let array: ArrayRef = match kind {
        ColumnKind::Float => std::sync::Arc::new(PrimitiveArray::<Float64Type>::from_iter(
            keys.iter().map(|key| key.map(super::scale::key_float)),
        )),
        ColumnKind::Boolean => {
            std::sync::Arc::new(BooleanArray::from_iter(keys.iter().map(|key| key.map(|k| k != 0))))
        }
        ColumnKind::Date => std::sync::Arc::new(PrimitiveArray::<Date32Type>::from_iter(
            keys.iter().map(|key| key.map(|day| day as i32)),
        )),
        ColumnKind::Decimal { .. } => std::sync::Arc::new(
            PrimitiveArray::<Decimal128Type>::from_iter(keys.iter().map(|key| key.map(i128::from)))
                .with_data_type(kind.data_type()),
        ),
        ColumnKind::Timestamp { .. } | ColumnKind::Time => {
            let reinterpreted = integers.into_data().into_builder().data_type(kind.data_type());
            // The layout of both types is one i64 per row.
            arrow_array::make_array(reinterpreted.build().expect("an i64 is reinterpreted"))
        }
        ColumnKind::Integer | ColumnKind::Text | ColumnKind::List(_) => std::sync::Arc::new(integers),
    };
    array
}
