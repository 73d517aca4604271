//! Columns that are not in a file but in the names of its folders.

use std::path::Path;

use arrow_array::ArrayRef;
use arrow_schema::Field;

use super::csv::{CsvType, TypeGuess, TypeOrigin, is_null, one_cell};
use super::files::ReadOptions;
use super::paths::HiveKey;
use crate::error::{Error, Result};

/// A key of a file, with the type that it has in all files of the table.
pub(super) struct KeyColumn {
    name: String,
    /// Nothing for null.
    cell: Option<String>,
    value: ArrayRef,
}

impl KeyColumn {
    /// A key whose type is not known yet.
    pub fn new(key: HiveKey, options: &ReadOptions) -> Self {
        let cell = key.value.filter(|value| !is_null(value, &options.null_texts));
        let value = arrow_array::new_null_array(&CsvType::Text.data_type(), 1);
        KeyColumn { name: key.name, cell, value }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key as the name of the folder says it.
    pub fn key(&self) -> HiveKey {
        HiveKey { name: self.name.clone(), value: self.cell.clone() }
    }

    /// What its cell says about the type.
    pub fn guess(&self) -> TypeGuess {
        let mut guess = TypeGuess::new();
        self.cell.iter().for_each(|cell| guess.see(cell));
        guess
    }

    /// Reads the cell as this type.
    pub fn settle(&mut self, path: &Path, kind: CsvType, origin: TypeOrigin) -> Result<()> {
        let read = one_cell(kind, self.cell.as_deref(), origin);
        self.value = read.ok_or_else(|| {
            Error::input(
                format!("{}: the key `{}` of a folder is not of type {kind}", path.display(), self.name),
                "rename the folder, or declare another type (text fits everything)",
            )
            .of_column(&self.name)
            .of_file(path)
        })?;
        Ok(())
    }

    /// The column.
    pub fn field(&self) -> Field {
        Field::new(&self.name, self.value.data_type().clone(), true)
    }

    /// Its value, as a column of one row.
    pub fn value(&self) -> &ArrayRef {
        &self.value
    }
}
