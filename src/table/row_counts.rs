//! A column that says how many rows each row represents.
//!
//! A column of counts makes a long table short: a row with the count 3 represents three equal rows, a row with the
//! count 0 represents none. Counts may be stored as whole numbers, decimals or floating point, as long as they are
//! whole.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};

use super::kind::ColumnKind;
use crate::error::{Error, Result, number_of};

/// The counts of some rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// One per row; 0 where a row has no usable count.
    pub counts: Vec<u64>,
    /// Rows without a whole number from 0 to [`MOST_EQUAL_ROWS`].
    pub wrong: u64,
}

/// The most rows that a row may represent; sums of counts then stay far from overflow.
pub const MOST_EQUAL_ROWS: u64 = u32::MAX as u64;

impl RowCounts {
    /// Reads the counts of a canonical column.
    pub fn of(array: &ArrayRef) -> RowCounts {
        let count: &dyn Fn(usize) -> Option<u64> = match ColumnKind::of(array.data_type()) {
            Some(ColumnKind::Integer) => {
                &|row| u64::try_from(array.as_primitive::<Int64Type>().value(row)).ok()
            }
            Some(ColumnKind::Float) => &|row| {
                let value = array.as_primitive::<Float64Type>().value(row);
                (value >= 0.0 && value <= MOST_EQUAL_ROWS as f64 && value.fract() == 0.0)
                    .then_some(value as u64)
            },
            Some(ColumnKind::Decimal { scale }) => &move |row| {
                let value = array.as_primitive::<Decimal128Type>().value(row);
                let power = 10i128.checked_pow(u32::from(scale.unsigned_abs()))?;
                match scale {
                    0.. => (value % power == 0).then(|| u64::try_from(value / power).ok()).flatten(),
                    _ => u64::try_from(value.checked_mul(power)?).ok(),
                }
            },
            _ => &|_| None,
        };
        let mut wrong = 0;
        let mut checked = |row: usize| {
            let own = if array.is_valid(row) { count(row) } else { None };
            own.filter(|&count| count <= MOST_EQUAL_ROWS).unwrap_or_else(|| {
                wrong += 1;
                0
            })
        };
        RowCounts { counts: (0..array.len()).map(&mut checked).collect(), wrong }
    }

    /// Fails if a column cannot contain counts.
    pub fn expect(name: &str, kind: &ColumnKind) -> Result<()> {
        match kind {
            ColumnKind::Integer | ColumnKind::Float | ColumnKind::Decimal { .. } => Ok(()),
            _ => Err(Error::input(
                format!("column `{name}` holds no numbers, but should say how many people a row stands for"),
                "name a column of whole numbers as the count",
            )),
        }
    }

    /// Fails if `wrong`, the number of rows with unusable counts, is not 0.
    pub fn judge(name: &str, wrong: u64) -> Result<()> {
        if wrong == 0 {
            return Ok(());
        }
        Err(Error::input(
            format!(
                "column `{name}` should say how many people a row stands for, but {} no such number",
                number_of(wrong, "row holds", "rows hold")
            ),
            "give every row a whole number from 0 to 4,294,967,295; 0 means that the row does not count",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Decimal128Array, Float64Array, Int64Array, StringArray};
    use std::sync::Arc;

    fn read(array: impl Array + 'static) -> (Vec<u64>, u64) {
        let read = RowCounts::of(&(Arc::new(array) as ArrayRef));
        (read.counts, read.wrong)
    }

    #[test]
    fn whole_numbers_of_any_type_are_counts_and_nothing_else_is() {
        let integers = Int64Array::from(vec![Some(3), Some(0), None, Some(-1), Some(1 << 40)]);
        assert_eq!(read(integers), (vec![3, 0, 0, 0, 0], 3));
        let floats = Float64Array::from(vec![2.0, 2.5, f64::NAN, f64::INFINITY, -1.0, -0.0]);
        assert_eq!(read(floats), (vec![2, 0, 0, 0, 0, 0], 4));
        let decimals = Decimal128Array::from(vec![300, 250, -100]).with_precision_and_scale(38, 2).unwrap();
        assert_eq!(read(decimals), (vec![3, 0, 0], 2));
        let hundreds = Decimal128Array::from(vec![3]).with_precision_and_scale(38, -2).unwrap();
        assert_eq!(read(hundreds), (vec![300], 0));
        assert_eq!(read(StringArray::from(vec!["3"])), (vec![0], 1));
    }
}
