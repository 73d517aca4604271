//! What does an experiment find?

use serde::{Deserialize, Serialize};

use crate::math::exact::{Rational, decimal_at_least};
use crate::report::chart::Chart;
use crate::report::digits::grouped;

/// The results of an experiment.
#[derive(Debug, Clone, Default)]
pub struct ExperimentFindings {
    /// What was run, with every choice that the paper leaves open.
    pub run: Vec<String>,
    /// How it compares with the paper, in sentences that contain the numbers found.
    pub compared: Vec<String>,
    /// The numbers.
    pub tables: Vec<ResultTable>,
    /// The plot.
    pub charts: Vec<Chart>,
}

/// Numbers with a heading for each column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultTable {
    /// Short and unique, for the CSV file.
    pub name: String,
    /// For human readers.
    pub title: String,
    /// Headings with units.
    pub columns: Vec<String>,
    /// One cell for each heading.
    pub rows: Vec<Vec<ResultCell>>,
}

impl ResultTable {
    /// A table without rows.
    pub fn new(name: &str, title: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| column.to_string()).collect();
        ResultTable { name: name.to_string(), title: title.to_string(), columns, rows: Vec::new() }
    }

    /// Adds a row; it must have a cell for each column.
    pub fn push(&mut self, row: Vec<ResultCell>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ResultCell {
    /// A count.
    Whole(u64),
    /// A measured number; always finite.
    Real(f64),
    /// A name, an exact fraction, or why there is no number.
    Text(String),
}

impl From<u64> for ResultCell {
    fn from(number: u64) -> Self {
        ResultCell::Whole(number)
    }
}

impl From<usize> for ResultCell {
    fn from(number: usize) -> Self {
        ResultCell::Whole(number as u64)
    }
}

impl From<f64> for ResultCell {
    fn from(number: f64) -> Self {
        if number.is_finite() { ResultCell::Real(number) } else { ResultCell::Text("not finite".to_string()) }
    }
}

impl From<&str> for ResultCell {
    fn from(text: &str) -> Self {
        ResultCell::Text(text.to_string())
    }
}

impl From<String> for ResultCell {
    fn from(text: String) -> Self {
        ResultCell::Text(text)
    }
}

impl ResultCell {
    /// A risk, rounded up to four places.
    pub fn risk(risk: &Rational) -> Self {
        decimal_at_least(risk, 4).parse::<f64>().map_or_else(|_| "".into(), ResultCell::from)
    }

    /// For human readers: digits in groups, four of them if there is a fraction.
    pub fn shown(&self) -> String {
        match self {
            ResultCell::Whole(number) => grouped(*number),
            ResultCell::Real(number) => rounded(*number),
            ResultCell::Text(text) => text.clone(),
        }
    }

    fn raw(&self) -> String {
        match self {
            ResultCell::Whole(number) => number.to_string(),
            ResultCell::Real(number) => number.to_string(),
            ResultCell::Text(text) if text.contains([',', '"', '\n']) => {
                format!("\"{}\"", text.replace('"', "\"\""))
            }
            ResultCell::Text(text) => text.clone(),
        }
    }
}

/// Rounded to four significant digits.
pub(super) fn rounded(number: f64) -> String {
    let size = number.abs();
    match size {
        0.0 => "0".to_string(),
        1000.0.. => {
            let sign = if number < 0.0 { "-" } else { "" };
            format!("{sign}{}", grouped(size.round() as u64))
        }
        0.0001.. => format!("{number:.*}", (3.0 - size.log10().floor()).max(0.0) as usize),
        _ => format!("{number:.3e}"),
    }
}

/// One line for each cell: table, row counted from 1, column, value.
pub fn to_csv(tables: &[ResultTable]) -> String {
    let mut csv = String::from("table,row,column,value\n");
    for table in tables {
        for (at, row) in table.rows.iter().enumerate() {
            for (column, cell) in table.columns.iter().zip(row) {
                let column = ResultCell::Text(column.clone()).raw();
                csv.push_str(&format!("{},{},{column},{}\n", table.name, at + 1, cell.raw()));
            }
        }
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_four_digits() {
        let shown =
            [0.0, 0.012345, 1.23456, 140.26, 1234.5, 1e-7].map(|number| ResultCell::from(number).shown());
        assert_eq!(shown, ["0", "0.01235", "1.235", "140.3", "1,235", "1.000e-7"]);
        assert_eq!(ResultCell::from(7_778_625_148u64).shown(), "7,778,625,148");
        assert_eq!(ResultCell::from(f64::NAN), ResultCell::from("not finite"));
    }

    #[test]
    fn cells_with_commas_are_quoted() {
        let mut table = ResultTable::new("a", "A", &["x, y", "n"]);
        table.push(vec!["(0,4,0)".into(), 3u64.into()]);
        assert_eq!(to_csv(&[table]), "table,row,column,value\na,1,\"x, y\",\"(0,4,0)\"\na,1,n,3\n");
    }
}
