//! Do the files of a table agree, and on which columns?
//!
//! Invariant: every file has the same columns, by name, of the same kinds. Their order may differ. A column that is
//! declared as text may be stored as whole numbers or truth values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::csv::{CsvType, TypeGuess, settled};
use super::files::{Content, ReadOptions, TableFile};
use crate::error::{Error, Result};
use crate::table::kind::ColumnKind;

/// Guesses the types of CSV columns from the beginnings of all CSV files, and those of keys from all folders, so that
/// the files agree.
pub(super) fn settle_types(files: &mut [TableFile], options: &ReadOptions) -> Result<()> {
    let mut joined: BTreeMap<String, TypeGuess> = BTreeMap::new();
    for file in files.iter() {
        let csv = match &file.content {
            Content::Csv(csv) => Some(csv),
            _ => None,
        };
        let cells = csv.iter().flat_map(|csv| csv.guesses()).map(|(name, guess)| (name, guess.clone()));
        for (name, guess) in cells.chain(file.keys.iter().map(|key| (key.name(), key.guess()))) {
            joined.entry(name.to_string()).and_modify(|known| known.join(&guess)).or_insert(guess);
        }
    }
    for file in files {
        if let Content::Csv(csv) = &mut file.content {
            let guesses: Vec<TypeGuess> =
                csv.guesses().map(|(name, guess)| joined.get(name).unwrap_or(guess).clone()).collect();
            csv.settle(&guesses, options);
        }
        for key in &mut file.keys {
            let guess = joined.get(key.name()).cloned().unwrap_or_else(|| key.guess());
            let (kind, origin) = settled(key.name(), &guess, options);
            key.settle(file.input.path(), kind, origin)?;
        }
    }
    Ok(())
}

/// The common schema of all files; an error names the column that differs, and the file.
pub(super) fn common_schema(files: &[TableFile], options: &ReadOptions) -> Result<SchemaRef> {
    let Some(first) = files.first() else {
        return Err(Error::input(
            "no table is given",
            "give a file, a directory of files, or - for standard input",
        ));
    };
    let schema = typed_columns(files, &first.schema(), options);
    for file in files {
        let own = file.schema();
        if let Some(name) = repeated_name(&own) {
            if file.keys.iter().any(|key| key.name() == name) {
                return Err(Error::input(
                    format!("{}: the column `{name}` is also the key of a folder", file.path().display()),
                    "rename one of them, or give the files by name: then their folders are not read",
                )
                .of_column(name));
            }
            return Err(Error::input(
                format!("{}: the column `{name}` occurs twice", file.path().display()),
                "give every column its own name",
            ));
        }
        let differs = |problem: String| {
            Err(Error::input(
                format!("{}: {problem} {}", file.path().display(), first.path().display()),
                "all files of a table need the same columns of the same types: read the others apart",
            ))
        };
        if let Some(extra) = own.fields().iter().find(|field| schema.field_with_name(field.name()).is_err()) {
            return differs(format!("column `{}` is not in", extra.name()));
        }
        for field in schema.fields() {
            let Ok(own) = own.field_with_name(field.name()) else {
                return differs(format!("there is no column `{}` as in", field.name()));
            };
            let (own, known) = (own.data_type(), field.data_type());
            let as_text = is_declared_text(field.name(), own, options);
            if !same_kind(own, known) && !as_text && *own != DataType::Null {
                return differs(format!("column `{}` is {own}, and {known} in", field.name()));
            }
        }
    }
    Ok(schema)
}

/// The columns of the first file, without the metadata of the source. If a column contains only nulls there and has no
/// type, the type is taken from another file. Codes that are declared as text are text.
fn typed_columns(files: &[TableFile], first: &Schema, options: &ReadOptions) -> SchemaRef {
    let type_in =
        |file: &TableFile, name: &str| Some(file.schema().field_with_name(name).ok()?.data_type().clone());
    let fields = first.fields().iter().map(|field| {
        let mut types = files.iter().filter_map(|file| type_in(file, field.name()));
        let stored = types.find(|t| *t != DataType::Null).unwrap_or(DataType::Null);
        let as_text = is_declared_text(field.name(), &stored, options);
        Field::new(field.name(), if as_text { CsvType::Text.data_type() } else { stored }, true)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Whether a column is stored as numbers or truth values, and is to be read as text.
fn is_declared_text(name: &str, stored: &DataType, options: &ReadOptions) -> bool {
    options.types.get(name) == Some(&CsvType::Text)
        && ColumnKind::of(stored).is_some_and(|kind| kind.has_texts())
}

fn same_kind(a: &DataType, b: &DataType) -> bool {
    a == b || ColumnKind::of(a).is_some_and(|kind| Some(kind) == ColumnKind::of(b))
}

fn repeated_name(schema: &Schema) -> Option<&str> {
    let mut names = BTreeSet::new();
    schema.fields().iter().map(|field| field.name().as_str()).find(|name| !names.insert(*name))
}
