//! Which few types represent the many that occur in files?
//!
//! A canonical column has one of the types of [`ColumnKind::data_type`], whatever the width, encoding or format of the
//! file.
//!
//! Invariant: a canonical array has the same nulls and the same values as its source, with two exceptions for floats:
//! NaN becomes null, because it is no number, and -0 becomes 0, because they are equal. A null entry of a dictionary
//! becomes a null row. A text dictionary may contain duplicate or unused entries.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{Array, ArrayRef, Float64Array, ListArray, new_null_array};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::ArrowError;
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};

/// The kind of values in a column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// Whole numbers: `Int64`. Only `UInt64`, which may not fit, is a [`ColumnKind::Decimal`] of scale 0.
    Integer,
    /// Exact decimals: `Decimal128(38, scale)`.
    Decimal {
        /// Digits after the decimal point.
        scale: i8,
    },
    /// Binary floating point of any width: `Float64`.
    Float,
    /// `Boolean`.
    Boolean,
    /// Strings of any encoding, and columns that contain only nulls: `Dictionary(Int32, Utf8)`.
    Text,
    /// Days: `Date32`.
    Date,
    /// Points in time, in the unit and zone of the file: `Timestamp`.
    Timestamp {
        /// The unit of the file.
        unit: TimeUnit,
        /// The zone of the file, if it has one.
        zone: Option<Arc<str>>,
    },
    /// Times of day: `Time64(Nanosecond)`.
    Time,
    /// Lists of any layout: `List` of a kind that is not a list.
    List(Box<ColumnKind>),
}

/// The precision that every canonical decimal has.
const DECIMAL_DIGITS: u8 = 38;

impl ColumnKind {
    /// The kind of a column in a file; `None` for structs, maps, binary, intervals and lists of lists.
    pub fn of(data_type: &DataType) -> Option<ColumnKind> {
        use DataType::*;
        Some(match data_type {
            Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => ColumnKind::Integer,
            UInt64 => ColumnKind::Decimal { scale: 0 },
            Decimal32(_, scale) | Decimal64(_, scale) | Decimal128(_, scale) | Decimal256(_, scale) => {
                ColumnKind::Decimal { scale: *scale }
            }
            Float16 | Float32 | Float64 => ColumnKind::Float,
            Boolean => ColumnKind::Boolean,
            Utf8 | LargeUtf8 | Utf8View | Null => ColumnKind::Text,
            Date32 | Date64 => ColumnKind::Date,
            Timestamp(unit, zone) => ColumnKind::Timestamp { unit: *unit, zone: zone.clone() },
            Time32(_) | Time64(_) => ColumnKind::Time,
            Dictionary(_, value) => ColumnKind::of(value)?,
            RunEndEncoded(_, value) => ColumnKind::of(value.data_type())?,
            List(item) | LargeList(item) | FixedSizeList(item, _) | ListView(item) | LargeListView(item) => {
                match ColumnKind::of(item.data_type())? {
                    ColumnKind::List(_) => return None,
                    kind => ColumnKind::List(Box::new(kind)),
                }
            }
            _ => return None,
        })
    }

    /// Whether each value has one text, the same in every format, so that the column may be read as text.
    pub fn has_texts(&self) -> bool {
        matches!(self, ColumnKind::Integer | ColumnKind::Decimal { scale: 0 } | ColumnKind::Boolean)
    }

    /// The Arrow type of a canonical column of this kind.
    pub fn data_type(&self) -> DataType {
        match self {
            ColumnKind::Integer => DataType::Int64,
            ColumnKind::Decimal { scale } => DataType::Decimal128(DECIMAL_DIGITS, *scale),
            ColumnKind::Float => DataType::Float64,
            ColumnKind::Boolean => DataType::Boolean,
            ColumnKind::Text => text_type(),
            ColumnKind::Date => DataType::Date32,
            ColumnKind::Timestamp { unit, zone } => DataType::Timestamp(*unit, zone.clone()),
            ColumnKind::Time => DataType::Time64(TimeUnit::Nanosecond),
            ColumnKind::List(item) => DataType::List(item_field(item)),
        }
    }

    /// The canonical form of an array whose type is of this kind, or is all null, or has texts if this is text.
    ///
    /// # Errors
    /// A number that does not fit the canonical type. The error text may quote the number: do not show it.
    pub fn canonical(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        match (self, self.apart(array)?) {
            (ColumnKind::Float, array) => Ok(equal_floats(&array)),
            (ColumnKind::List(item), array) if **item == ColumnKind::Float => {
                let (field, offsets, items, nulls) = array.as_list::<i32>().clone().into_parts();
                Ok(Arc::new(ListArray::try_new(field, offsets, equal_floats(&items), nulls)?))
            }
            (_, array) => Ok(array),
        }
    }

    /// The same type, in which whatever can be told apart stays apart, even NaN from null and -0 from 0.
    ///
    /// # Errors
    /// As [`ColumnKind::canonical`].
    pub fn apart(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        match array.data_type() {
            DataType::Null => return Ok(new_null_array(&self.data_type(), array.len())),
            DataType::RunEndEncoded(_, value) => {
                return self.apart(&exact_cast(array, value.data_type())?);
            }
            DataType::Dictionary(_, value) if *self != ColumnKind::Text => {
                return self.apart(&exact_cast(array, value)?);
            }
            _ => {}
        }
        match self {
            ColumnKind::Text => canonical_text(array),
            ColumnKind::List(item) => canonical_list(array, item),
            _ => exact_cast(array, &self.data_type()),
        }
    }
}

/// `Dictionary(Int32, Utf8)`.
pub(crate) fn text_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

fn item_field(item: &ColumnKind) -> FieldRef {
    Arc::new(Field::new("item", item.data_type(), true))
}

/// A cast that fails if a value does not fit, rather than making it null.
pub(crate) fn exact_cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == to {
        return Ok(array.clone());
    }
    cast_with_options(array, to, &CastOptions { safe: false, ..Default::default() })
}

/// Floats of which two are equal exactly if their bits are: NaN becomes null, -0 becomes 0.
fn equal_floats(array: &ArrayRef) -> ArrayRef {
    let floats = array.as_primitive::<Float64Type>();
    let differs = |value: &f64| value.is_nan() || value.to_bits() == (-0.0f64).to_bits();
    if !floats.values().iter().any(differs) {
        return array.clone();
    }
    let equal = |value: f64| if value == 0.0 { 0.0 } else { value };
    let numbers = floats.iter().map(|value| value.filter(|value| !value.is_nan()).map(equal));
    Arc::new(numbers.collect::<Float64Array>())
}

fn canonical_text(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let text = exact_cast(array, &text_type())?;
    let entries = text.as_dictionary::<Int32Type>().values();
    if entries.null_count() == 0 {
        return Ok(text);
    }
    // Null entries: unpacking turns them into null rows, and packing again leaves no null among the entries.
    exact_cast(&exact_cast(&text, &DataType::Utf8)?, &text_type())
}

fn canonical_list(array: &ArrayRef, item: &ColumnKind) -> Result<ArrayRef, ArrowError> {
    let plain: ArrayRef = match array.data_type() {
        DataType::List(_) => array.clone(),
        DataType::LargeList(f) | DataType::FixedSizeList(f, _) => {
            exact_cast(array, &DataType::List(f.clone()))?
        }
        DataType::ListView(f) | DataType::LargeListView(f) => exact_cast(array, &DataType::List(f.clone()))?,
        other => return Err(ArrowError::CastError(format!("{other} is not a list"))),
    };
    let list = plain.as_list::<i32>();
    // A slice of a long list array shares all of its items: convert only those that its rows use.
    let (first, last) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
    let items = list.values().slice(first as usize, (last - first) as usize);
    let offsets: ScalarBuffer<i32> = list.value_offsets().iter().map(|offset| offset - first).collect();
    let items = item.apart(&items)?;
    let list =
        ListArray::try_new(item_field(item), OffsetBuffer::new(offsets), items, list.nulls().cloned())?;
    Ok(Arc::new(list))
}
