//! In which form do rows reach whoever counts them?

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch};
use arrow_schema::{Field, Schema};

use crate::error::{Error, Result};

/// Some rows of a table.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The requested columns, without the last one if there are `codes`.
    pub rows: RecordBatch,
    /// The last requested column, if a file stores it as codes of one byte.
    pub codes: Option<ByteCodes>,
}

/// A column as codes of one byte, which are counted without a look at what they stand for.
///
/// Invariant: every code has an entry.
#[derive(Debug, Clone)]
pub struct ByteCodes {
    name: Arc<str>,
    codes: Vec<u8>,
    entries: ArrayRef,
}

impl ByteCodes {
    /// The codes of the column with this name; `None` if one of them has no entry.
    pub(crate) fn new(name: &Arc<str>, codes: Vec<u8>, entries: &ArrayRef) -> Option<Self> {
        let largest = codes.iter().copied().max();
        let fits = largest.is_none_or(|largest| usize::from(largest) < entries.len());
        fits.then(|| ByteCodes { name: name.clone(), codes, entries: entries.clone() })
    }

    /// The code of each row.
    pub fn codes(&self) -> &[u8] {
        &self.codes
    }

    /// The values by code, without nulls.
    pub fn entries(&self) -> &ArrayRef {
        &self.entries
    }
}

impl From<RecordBatch> for Batch {
    fn from(rows: RecordBatch) -> Self {
        Batch { rows, codes: None }
    }
}

impl Batch {
    /// The same rows with all columns as arrays.
    pub(super) fn into_rows(self) -> Result<RecordBatch> {
        let Some(ByteCodes { name, codes, entries }) = self.codes else { return Ok(self.rows) };
        let codes: Int32Array = codes.into_iter().map(|code| Some(i32::from(code))).collect();
        let with_codes = DictionaryArray::try_new(codes, entries).and_then(|last| {
            let mut fields = self.rows.schema().fields().to_vec();
            fields.push(Arc::new(Field::new(&*name, last.data_type().clone(), true)));
            let columns = self.rows.columns().iter().cloned().chain([Arc::new(last) as ArrayRef]);
            RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect())
        });
        with_codes.map_err(|_| Error::defect("a code has no entry"))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;

    use super::*;

    #[test]
    fn a_code_without_an_entry_is_refused() {
        let entries: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
        let of = |codes: &[u8]| ByteCodes::new(&"x".into(), codes.to_vec(), &entries);
        assert!(of(&[]).is_some() && of(&[2, 0, 1, 2]).is_some());
        assert!(of(&[2, 0, 3, 1]).is_none() && of(&[255]).is_none());
    }
}
