//! Reading tables without the code under test.

use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A table as text, rows in order; null has no text.
pub struct Decoded {
    pub names: Vec<String>,
    pub types: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
}

/// Decodes the Parquet files of a folder, in the order of their names.
pub fn decode(folder: &Path) -> Decoded {
    let mut parts: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    parts.sort();
    let mut table = Decoded { names: vec![], types: vec![], rows: vec![] };
    for part in parts {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&part).unwrap()).unwrap();
        let fields = reader.schema().fields().clone();
        table.names = fields.iter().map(|field| field.name().clone()).collect();
        table.types = fields.iter().map(|field| logical(field.data_type())).collect();
        for batch in reader.build().unwrap() {
            let batch = batch.unwrap();
            let cell = |row: usize, column: usize| {
                let column = batch.column(column);
                column.is_valid(row).then(|| array_value_to_string(column, row).unwrap())
            };
            let row = |row: usize| (0..batch.num_columns()).map(|column| cell(row, column)).collect();
            table.rows.extend((0..batch.num_rows()).map(row));
        }
    }
    table
}

/// The type of the values, regardless of their encoding.
fn logical(data_type: &DataType) -> String {
    match data_type {
        DataType::Dictionary(_, values) => values.to_string(),
        other => other.to_string(),
    }
}
