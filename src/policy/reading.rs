//! How is a table read that this policy is about?

use super::columns::ColumnType;
use super::document::TableRules;
use super::quasi::{End, Grid, Quasi, QuasiShape};
use crate::table::read::{CsvType, OrderedCells, ReadOptions};

impl TableRules {
    /// What the policy says about files whose format does not say everything.
    pub fn read_options(&self) -> ReadOptions {
        let types = self.columns.types.iter();
        ReadOptions {
            delimiter: self.columns.delimiter,
            types: types.map(|(name, declared)| (name.clone(), CsvType::from(*declared))).collect(),
            ordered: self.columns.quasi.iter().filter_map(ordered_cells).collect(),
            ..ReadOptions::default()
        }
    }
}

/// What the cells of a quasi-identifier must be, where the policy says so.
fn ordered_cells(quasi: &Quasi) -> Option<(String, OrderedCells)> {
    let of_end = |end: &End| match end.number {
        Some(_) => OrderedCells::Numbers,
        None => OrderedCells::Times,
    };
    let cells = match (&quasi.shape, &quasi.domain, &quasi.grid) {
        (QuasiShape::Widths(_), ..) | (QuasiShape::Plain, None, Some(Grid::Width(_))) => {
            OrderedCells::Numbers
        }
        (QuasiShape::Dates(_), ..) | (QuasiShape::Plain, None, Some(Grid::Date(_))) => OrderedCells::Times,
        (QuasiShape::Ends(levels), ..) => of_end(levels.first()?.first()?),
        (QuasiShape::Plain, Some([low, _]), _) => of_end(low),
        _ => return None,
    };
    Some((quasi.name.clone(), cells))
}

impl From<ColumnType> for CsvType {
    fn from(declared: ColumnType) -> Self {
        match declared {
            ColumnType::Integer => CsvType::Integer,
            ColumnType::Number => CsvType::Float,
            ColumnType::Text => CsvType::Text,
            ColumnType::Boolean => CsvType::Boolean,
            ColumnType::Date => CsvType::Date,
            ColumnType::DayMonthYear => CsvType::DayMonthYear,
            ColumnType::MonthDayYear => CsvType::MonthDayYear,
            ColumnType::Timestamp => CsvType::Timestamp,
        }
    }
}

impl ColumnType {
    /// The type of a CSV column as a policy names it; `None` for timestamps with a zone, which have no name there.
    pub fn of_csv(read: CsvType) -> Option<Self> {
        ColumnType::NAMES.into_iter().map(|(_, own)| own).find(|own| CsvType::from(*own) == read)
    }
}
