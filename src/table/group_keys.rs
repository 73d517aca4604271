//! Where does one group end and the next begin?
//!
//! A key is a row of the group columns as bytes that compare as the values do; null is a separate value. Neighbors are
//! compared by their columns within a batch, and by their keys across batches. A column may be a `RunArray` of a
//! dictionary; then the work grows with its runs.
//! Memory: O(groups that begin in a batch).

use std::ops::{BitOr, BitXor};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RunArray, UInt32Array};
use arrow_ord::partition::partition;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::DataType;
use arrow_select::take::take;

use crate::error::{Error, Result};

/// Turns group columns of fixed types into keys.
pub(crate) struct KeyConverter {
    encoding: KeyEncoding,
}

enum KeyEncoding {
    /// One column of whole numbers, by far the most frequent case.
    Integer,
    Rows(RowConverter),
}

/// The runs of equal keys in one batch.
pub(crate) struct KeyRuns {
    /// Where each run ends.
    pub ends: Vec<usize>,
    keys: KeyBytes,
}

enum KeyBytes {
    Integers(Vec<[u8; 9]>),
    Rows(Rows),
}

impl KeyRuns {
    /// The key of a run.
    pub fn key(&self, run: usize) -> &[u8] {
        match &self.keys {
            KeyBytes::Integers(keys) => &keys[run],
            KeyBytes::Rows(rows) => rows.row(run).data(),
        }
    }
}

impl KeyConverter {
    /// Creates a converter for columns of these types.
    pub fn new<'a>(types: impl IntoIterator<Item = &'a DataType>) -> Result<Self> {
        let types: Vec<DataType> = types.into_iter().map(value_type).cloned().collect();
        if types == [DataType::Int64] {
            return Ok(KeyConverter { encoding: KeyEncoding::Integer });
        }
        let fields = types.into_iter().map(SortField::new).collect();
        let converter = RowConverter::new(fields).map_err(|_| no_key())?;
        Ok(KeyConverter { encoding: KeyEncoding::Rows(converter) })
    }

    /// The runs of a batch's group columns.
    pub fn runs(&self, columns: &[ArrayRef]) -> Result<KeyRuns> {
        match &self.encoding {
            KeyEncoding::Integer if is_runs(&columns[0]) => {
                let runs = Runs::of(columns[0].as_run());
                let values = runs.integers();
                let ends = runs.ends(|one, other| values[one] == values[other]);
                let keys = runs.of_starts(&ends).map(|run| integer_key(values[run as usize])).collect();
                Ok(KeyRuns { ends, keys: KeyBytes::Integers(keys) })
            }
            KeyEncoding::Integer => {
                let column = columns[0].as_primitive::<Int64Type>();
                let ends = match column.nulls().filter(|nulls| nulls.null_count() > 0) {
                    None => changes(column.values()),
                    Some(_) => column_ends(columns)?,
                };
                let starts = starts(&ends);
                let key = |row: usize| match column.is_valid(row) {
                    true => integer_key(column.value(row)),
                    false => [0; 9],
                };
                let keys = KeyBytes::Integers(starts.map(key).collect());
                Ok(KeyRuns { ends, keys })
            }
            KeyEncoding::Rows(converter) => {
                let ends = column_ends(columns)?;
                let first: UInt32Array = starts(&ends).map(|row| row as u32).collect();
                let firsts = columns.iter().map(|column| match is_runs(column) {
                    false => take(column, &first, None),
                    true => {
                        let runs = Runs::of(column.as_run());
                        let first: UInt32Array = runs.of_starts(&ends).collect();
                        match value_type(column.data_type()) {
                            DataType::Int64 => take(&Int64Array::from(runs.integers()), &first, None),
                            _ => take(runs.values, &first, None),
                        }
                    }
                });
                let firsts: Result<Vec<ArrayRef>, _> = firsts.collect();
                let rows =
                    firsts.and_then(|firsts| converter.convert_columns(&firsts)).map_err(|_| no_key())?;
                Ok(KeyRuns { ends, keys: KeyBytes::Rows(rows) })
            }
        }
    }

    /// The key of every row, for columns whose neighbors are rarely equal.
    pub fn rows(&self, columns: &[ArrayRef]) -> Result<KeyRuns> {
        let rows = columns[0].len();
        let keys = match &self.encoding {
            KeyEncoding::Integer => {
                let column = columns[0].as_primitive::<Int64Type>();
                KeyBytes::Integers(column.iter().map(|value| value.map_or([0; 9], integer_key)).collect())
            }
            KeyEncoding::Rows(converter) => {
                KeyBytes::Rows(converter.convert_columns(columns).map_err(|_| no_key())?)
            }
        };
        Ok(KeyRuns { ends: (1..=rows).collect(), keys })
    }
}

fn is_runs(column: &ArrayRef) -> bool {
    matches!(column.data_type(), DataType::RunEndEncoded(..))
}

/// The type of the values of a column: of runs, that of the values which their dictionary holds, unless these are texts.
fn value_type(column: &DataType) -> &DataType {
    match column {
        DataType::RunEndEncoded(_, run) => match run.data_type() {
            DataType::Dictionary(_, value) if **value == DataType::Int64 => value,
            other => other,
        },
        other => other,
    }
}

/// The runs of a column that is stored as such, without nulls.
struct Runs<'a> {
    ends: &'a [i32],
    /// A dictionary, with one row for each run.
    values: &'a ArrayRef,
}

impl<'a> Runs<'a> {
    fn of(column: &'a RunArray<Int32Type>) -> Self {
        Runs { ends: column.run_ends().values(), values: column.values() }
    }

    /// The value of each run.
    fn integers(&self) -> Vec<i64> {
        let dictionary = self.values.as_dictionary::<Int32Type>();
        let entries = dictionary.values().as_primitive::<Int64Type>().values();
        dictionary.keys().values().iter().map(|&code| entries[code as usize]).collect()
    }

    /// The rows at which runs end, if the next one is not the same.
    fn ends(&self, same: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let last = self.ends.len().saturating_sub(1);
        let ends = self.ends.iter().enumerate().filter(|(run, _)| *run == last || !same(*run, run + 1));
        ends.map(|(_, &end)| end as usize).collect()
    }

    /// The runs in which the rows after these ends begin, without the last end.
    fn of_starts(&self, ends: &[usize]) -> impl Iterator<Item = u32> {
        let mut run = 0;
        starts(ends).map(move |row| {
            while self.ends[run] as usize <= row {
                run += 1;
            }
            run as u32
        })
    }
}

fn no_key() -> Error {
    Error::input("the group columns cannot be compared", "group by columns of numbers, text, dates or times")
}

fn starts(ends: &[usize]) -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(ends.iter().copied()).take(ends.len())
}

/// A byte that means "not null", then the number encoded so that bytes compare as numbers do.
pub(crate) fn integer_key(value: i64) -> [u8; 9] {
    let mut key = [1; 9];
    key[1..].copy_from_slice(&((value as u64) ^ (1 << 63)).to_be_bytes());
    key
}

/// The number of an [`integer_key`]; null is the least number.
pub(crate) fn integer_of_key(key: &[u8]) -> Option<i64> {
    let (&head, bytes) = key.split_first()?;
    let bytes: [u8; 8] = bytes.try_into().ok()?;
    Some(if head == 0 { i64::MIN } else { (u64::from_be_bytes(bytes) ^ (1 << 63)) as i64 })
}

/// How many neighbors are compared at once; enough for the compiler to use vector instructions.
const BLOCK: usize = 16;

fn changes<T: Copy + PartialEq + BitXor<Output = T> + BitOr<Output = T> + Default>(
    values: &[T],
) -> Vec<usize> {
    let mut ends = Vec::new();
    let Some(&first) = values.first() else { return ends };
    let mut current = first;
    let mut row = 0;
    for block in values.chunks(BLOCK) {
        let differences = block.iter().fold(T::default(), |all, &value| all | (value ^ current));
        if differences != T::default() {
            for (i, &value) in block.iter().enumerate() {
                if value != current {
                    ends.push(row + i);
                    current = value;
                }
            }
        }
        row += block.len();
    }
    ends.push(values.len());
    ends
}

/// Where a run of equal rows ends: where one of the columns changes.
fn column_ends(columns: &[ArrayRef]) -> Result<Vec<usize>> {
    let mut all = Vec::new();
    for column in columns {
        let ends = one_column_ends(column)?;
        // Label columns mostly change where the group number does.
        if all != ends {
            all.extend(ends);
            all.sort_unstable();
            all.dedup();
        }
    }
    Ok(all)
}

fn one_column_ends(column: &ArrayRef) -> Result<Vec<usize>> {
    let nulls = column.null_count() > 0;
    match column.data_type() {
        DataType::RunEndEncoded(..) => {
            let runs = Runs::of(column.as_run());
            if *value_type(column.data_type()) == DataType::Int64 {
                let values = runs.integers();
                return Ok(runs.ends(|one, other| values[one] == values[other]));
            }
            let dictionary = runs.values.as_dictionary::<Int32Type>();
            let (codes, entries) = (dictionary.keys().values(), dictionary.values().as_string::<i32>());
            let text = |run: usize| entries.value(codes[run] as usize);
            Ok(runs.ends(|one, other| text(one) == text(other)))
        }
        DataType::Int64 if !nulls => Ok(changes(column.as_primitive::<Int64Type>().values())),
        DataType::Dictionary(key, value)
            if **key == DataType::Int32 && **value == DataType::Utf8 && !nulls =>
        {
            let dictionary = column.as_dictionary::<Int32Type>();
            let keys = dictionary.keys().values();
            let entries = dictionary.values().as_string::<i32>();
            let mut ends = changes(keys);
            // Two dictionary entries may have the same text.
            ends.retain(|&end| {
                end == keys.len() || {
                    let (before, after) = (keys[end - 1] as usize, keys[end] as usize);
                    entries.is_null(before) != entries.is_null(after)
                        || entries.value(before) != entries.value(after)
                }
            });
            Ok(ends)
        }
        _ => {
            let runs = partition(std::slice::from_ref(column)).map_err(|_| no_key())?;
            Ok(runs.ranges().into_iter().map(|range| range.end).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{DictionaryArray, Int64Array, StringArray};
    use std::sync::Arc;

    fn naive(values: &[Option<i64>]) -> Vec<usize> {
        (1..=values.len()).filter(|&i| i == values.len() || values[i] != values[i - 1]).collect()
    }

    #[test]
    fn runs_end_where_neighbors_differ() {
        let mut state = 7u64;
        for length in [0, 1, 15, 16, 17, 100, 1000] {
            for null in [false, true] {
                let mut current = 0;
                let values: Vec<Option<i64>> = (0..length)
                    .map(|_| {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        if (state >> 60) == 0 {
                            current = (state >> 33) as i64 % 3 - 1;
                        }
                        if null && (state >> 50) & 31 == 0 { None } else { Some(current) }
                    })
                    .collect();
                let column: ArrayRef = Arc::new(Int64Array::from(values.clone()));
                let runs = KeyConverter::new([&DataType::Int64]).unwrap().runs(&[column]).unwrap();
                assert_eq!(runs.ends, naive(&values));
            }
        }
    }

    #[test]
    fn keys_compare_as_values_do() {
        let values = [None, Some(i64::MIN), Some(-1), Some(0), Some(1), Some(i64::MAX)];
        let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
        let runs = KeyConverter::new([&DataType::Int64]).unwrap().rows(&[column]).unwrap();
        assert!((1..values.len()).all(|i| runs.key(i - 1) < runs.key(i)));
    }

    /// Runs of a column have the keys of its rows, even if two entries are equal.
    #[test]
    fn runs_have_the_keys_of_their_rows() {
        let codes = [(3, 0), (4, 2), (9, 1), (10, 3), (12, 0)];
        let in_runs = |entries: ArrayRef| -> ArrayRef {
            let keys = codes.iter().map(|(_, code)| *code).collect::<Vec<i32>>();
            let values = DictionaryArray::<Int32Type>::new(keys.into(), entries);
            let ends = codes.iter().map(|(end, _)| *end).collect::<Vec<i32>>();
            Arc::new(RunArray::<Int32Type>::try_new(&ends.into(), &values).unwrap())
        };
        let rows = |row: i32| codes.iter().find(|(end, _)| row < *end).map(|(_, code)| *code as usize);
        let of_rows = |row| rows(row).unwrap();
        let (numbers, texts) = ([7, 3, 7, 8], ["a", "b", "a", "b"]);
        let number_runs = in_runs(Arc::new(Int64Array::from(numbers.to_vec())));
        let text_runs = in_runs(Arc::new(StringArray::from(texts.to_vec())));
        let number_rows: ArrayRef =
            Arc::new((0..12).map(|row| numbers[of_rows(row)]).collect::<Int64Array>());
        let text_rows: ArrayRef =
            Arc::new((0..12).map(|row| texts[of_rows(row)]).collect::<DictionaryArray<Int32Type>>());
        for (in_runs, in_rows, ends) in [
            (vec![number_runs.clone()], vec![number_rows.clone()], vec![4, 9, 10, 12]),
            (vec![text_runs.clone()], vec![text_rows.clone()], vec![4, 10, 12]),
            (vec![text_runs, number_runs], vec![text_rows, number_rows], vec![4, 9, 10, 12]),
        ] {
            let keys = |columns: &[ArrayRef]| {
                let converter = KeyConverter::new(columns.iter().map(|column| column.data_type())).unwrap();
                let runs = converter.runs(columns).unwrap();
                let keys = (0..runs.ends.len()).map(|run| runs.key(run).to_vec()).collect::<Vec<_>>();
                (runs.ends, keys)
            };
            assert_eq!(keys(&in_runs), keys(&in_rows));
            assert_eq!(keys(&in_runs).0, ends);
        }
    }

    #[test]
    fn repeated_dictionary_entries_are_one_key() {
        let entries = Arc::new(StringArray::from(vec!["a", "b", "a"]));
        let column = DictionaryArray::<Int32Type>::new(vec![0, 2, 1, 0].into(), entries);
        let column: ArrayRef = Arc::new(column);
        let runs =
            KeyConverter::new([column.data_type()]).unwrap().runs(std::slice::from_ref(&column)).unwrap();
        assert_eq!(runs.ends, [2, 3, 4]);
        assert_eq!(runs.key(0), runs.key(2));
        assert_ne!(runs.key(0), runs.key(1));
        let number: ArrayRef = Arc::new(Int64Array::from(vec![1, 1, 1, 1]));
        let both = [number, column];
        let runs =
            KeyConverter::new(both.iter().map(|column| column.data_type())).unwrap().runs(&both).unwrap();
        assert_eq!(runs.ends, [2, 3, 4]);
    }
}
