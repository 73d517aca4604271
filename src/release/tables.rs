//! How are the tables of a release read back?
//!
//! A CSV file does not say of which types its columns are: `columns.json` next to it does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_schema::Schema;

use crate::error::{Error, Result};
use crate::resources::disk;
use crate::resources::whole_file::{JSON_BYTES, read_at_most};
use crate::table::CsvTexts;
use crate::table::read::{CsvType, ReadOptions, Table};
use crate::table::write::stated_types;

/// The name of the file with the types of the columns.
pub const COLUMNS: &str = "columns.json";

/// Writes the types of the columns of CSV files next to them.
pub fn write_types(folder: &Path, schema: &Schema) -> Result<()> {
    let types = stated_types(schema)?;
    let named = types.iter().map(|(name, kind)| (name, kind.to_string()));
    let path = folder.join(COLUMNS);
    let text = serde_json::to_string_pretty(&named.collect::<BTreeMap<_, _>>());
    let text = text.map_err(|source| Error::io(&path, source.into()))? + "\n";
    disk::write(&path, text).map_err(|source| Error::io(&path, source))
}

/// Opens a table of a release.
pub fn open(folder: &Path) -> Result<Table> {
    open_all(&[folder.to_path_buf()])
}

/// Opens a table that is in several folders, in this order; the first one says the types of the columns.
pub fn open_all(folders: &[PathBuf]) -> Result<Table> {
    open_files(folders.first().map_or(Path::new(""), PathBuf::as_path), folders)
}

/// Opens files whose types the folder of a table says.
pub fn open_files(folder: &Path, files: &[PathBuf]) -> Result<Table> {
    let path = folder.join(COLUMNS);
    if !path.exists() {
        return Table::open(files, &ReadOptions::default());
    }
    let text = read_at_most(&path, JSON_BYTES).map_err(|source| Error::io(&path, source))?;
    let named: Option<BTreeMap<String, String>> = serde_json::from_slice(&text).ok();
    let typed = |(name, kind): (String, String)| Some((name, kind.parse::<CsvType>().ok()?));
    let types = named.and_then(|named| named.into_iter().map(typed).collect());
    let types =
        types.ok_or_else(|| Error::Format { path, problem: "these are not types of columns".into() })?;
    let options = ReadOptions { types, texts: CsvTexts::Guarded, ..ReadOptions::default() };
    Table::open(files, &options)
}
