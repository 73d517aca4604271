//! Which codes do the rows of Adult have?
//!
//! Memory: two bytes per cell of the requested columns.

use std::collections::BTreeMap;
use std::path::Path;

use arrow_array::{Array, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;

use crate::error::{Error, Result};
use crate::table::read::{ColumnRequest, CsvType, ReadOptions, Table};

/// The sensitive column of every paper.
pub const OCCUPATION: &str = "occupation";

/// A column as codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coded {
    /// Its name.
    pub name: String,
    /// The text of each code, in ascending order; numbers by their value.
    pub texts: Vec<String>,
    /// The code of each row.
    pub codes: Vec<u16>,
}

impl Coded {
    /// Renumbers the texts in the given order, which must contain all texts of the column.
    pub fn reordered(&self, order: &[&str]) -> Result<Coded> {
        let place = |text: &String| order.iter().position(|known| known == text);
        let map: Option<Vec<u16>> = self.texts.iter().map(|text| place(text).map(|at| at as u16)).collect();
        let map = map.ok_or_else(|| {
            Error::input(
                format!("column `{}` holds a value that Adult does not have", self.name),
                "give the file that scripts/fetch.sh adult writes",
            )
        })?;
        Ok(Coded {
            name: self.name.clone(),
            texts: order.iter().map(|text| text.to_string()).collect(),
            codes: self.codes.iter().map(|&code| map[usize::from(code)]).collect(),
        })
    }
}

/// Fails with instructions for getting the file if it is missing.
pub fn require(path: &Path) -> Result<()> {
    if path.is_file() {
        return Ok(());
    }
    Err(Error::input(
        format!("this experiment needs UCI Adult, and {} is not there", path.display()),
        "run scripts/fetch.sh adult first, or give the file with --data",
    ))
}

/// Reads columns of Adult.
pub fn read(path: &Path, names: &[&str]) -> Result<Vec<Coded>> {
    require(path)?;
    let types = names.iter().map(|name| (name.to_string(), CsvType::Text)).collect();
    let table = Table::open(&[path.to_path_buf()], &ReadOptions { types, ..ReadOptions::default() })?;
    let columns: Vec<ColumnRequest> = names.iter().map(|&name| ColumnRequest::as_is(name)).collect();
    let mut cells: Vec<Vec<String>> = vec![Vec::new(); names.len()];
    let damaged = |problem: &str| Error::Format { path: path.to_path_buf(), problem: problem.to_string() };
    table.scan(
        &columns,
        1,
        |morsel| morsel.collect::<Result<Vec<_>>>(),
        |batches| {
            for batch in batches {
                for (cells, column) in cells.iter_mut().zip(batch.columns()) {
                    let texts = cast(column, &DataType::Utf8).map_err(|_| damaged("a column is not text"))?;
                    let texts = texts.as_any().downcast_ref::<StringArray>();
                    let texts = texts.ok_or_else(|| damaged("a column is not text"))?;
                    if texts.null_count() > 0 {
                        return Err(damaged("it has empty cells"));
                    }
                    cells.extend(texts.iter().flatten().map(str::to_string));
                }
            }
            Ok(())
        },
    )?;
    Ok(names.iter().zip(cells).map(|(name, cells)| code(name, &cells)).collect())
}

fn code(name: &str, cells: &[String]) -> Coded {
    // Numbers sort by value, followed by texts.
    let key = |text: &String| (text.parse::<u64>().unwrap_or(u64::MAX), text.clone());
    let mut codes: BTreeMap<(u64, String), u16> = cells.iter().map(|cell| (key(cell), 0)).collect();
    codes.values_mut().zip(0..).for_each(|(code, next)| *code = next);
    Coded {
        name: name.to_string(),
        codes: cells.iter().map(|cell| codes[&key(cell)]).collect(),
        texts: codes.into_keys().map(|(_, text)| text).collect(),
    }
}
