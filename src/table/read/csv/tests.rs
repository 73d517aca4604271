//! Cells, records and types of CSV text.

use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};
use arrow_select::concat::concat_batches;
use proptest::prelude::*;

use super::cell::{CsvType, TypeGuess, TypeOrigin, date, float, integer, timestamp, timestamp_utc};
use super::file::PREFIX_BYTES;
use super::record::{CsvCells, Dialect, whole_records};
use crate::error::Result;
use crate::table::read::plan::ColumnForm;
use crate::table::read::{ColumnRequest, ReadOptions, Table};

fn read(text: impl Into<Vec<u8>>, options: &ReadOptions) -> Result<RecordBatch> {
    let table = Table::from_reader("t.csv", Box::new(Cursor::new(text.into())), options)?;
    let names = table.schema().fields().iter().map(|field| field.name().clone());
    let columns: Vec<ColumnRequest> =
        names.map(|name| ColumnRequest { name, form: ColumnForm::AsIs }).collect();
    let mut all = Vec::new();
    table.scan(
        &columns,
        2,
        |morsel| morsel.collect::<Result<Vec<_>>>(),
        |batches| {
            all.extend(batches);
            Ok(())
        },
    )?;
    Ok(concat_batches(table.schema(), &all).expect("one schema"))
}

fn column(batch: &RecordBatch, index: usize) -> Vec<String> {
    let plain = cast(batch.column(index), &DataType::Utf8).unwrap();
    plain.as_string::<i32>().iter().map(|cell| cell.unwrap_or("~").to_string()).collect()
}

fn refused(text: impl Into<Vec<u8>>) -> String {
    read(text, &ReadOptions::default()).unwrap_err().to_string()
}

fn guessed(cells: &[&str]) -> CsvType {
    let mut guess = TypeGuess::new();
    cells.iter().for_each(|cell| guess.see(cell));
    guess.best()
}

#[test]
fn types_are_guessed_narrowly() {
    assert_eq!(guessed(&[]), CsvType::Text);
    assert_eq!(guessed(&["1", "-2", "0"]), CsvType::Integer);
    assert_eq!(guessed(&["1", "2.5", "1e3"]), CsvType::Float);
    assert_eq!(guessed(&["true", "False"]), CsvType::Boolean);
    assert_eq!(guessed(&["2024-02-29", "1899-12-31"]), CsvType::Date);
    assert_eq!(guessed(&["1/2/2024", "29.2.2024"]), CsvType::DayMonthYear);
    assert_eq!(guessed(&["01/02/2024", "02-29-2024"]), CsvType::MonthDayYear);
    // Nobody but the owner knows whether the day or the month comes first.
    assert_eq!(guessed(&["1/2/2024", "12/12/2024"]), CsvType::Text);
    assert_eq!(guessed(&["30/2/2024"]), CsvType::Text);
    assert_eq!(guessed(&["2024-02-29T10:00", "2024-02-29 10:00:01.5"]), CsvType::Timestamp);
    assert_eq!(guessed(&["2024-02-29T10:00Z", "2024-02-29T10:00:00+01:00"]), CsvType::TimestampUtc);
    for text in [
        &["01234", "90210"][..],
        &["+49301234"],
        &["12345678901234567890"],
        &["0.5", "9007199254740993"],
        &["nan"],
        &["1", "true"],
        &["2023-02-29"],
        &["2024-02-29", "2024-02-29T10:00"],
        &["2024-02-29T10:00", "2024-02-29T10:00Z"],
        &["2024-02-29T10:00:00.123456789"],
        &[" 1"],
        &["-"],
        &["e"],
    ] {
        assert_eq!(guessed(text), CsvType::Text, "{text:?}");
    }
}

#[test]
fn numbers_and_times_have_their_values() {
    assert_eq!(integer("007", TypeOrigin::Guessed), None);
    assert_eq!(integer("007", TypeOrigin::Declared), Some(7));
    assert_eq!(float("-0.25", TypeOrigin::Guessed), Some(-0.25));
    assert_eq!(float("1e999", TypeOrigin::Declared), None);
    assert_eq!(float("inf", TypeOrigin::Declared), None);
    assert_eq!(date("1970-01-01"), Some(0));
    assert_eq!(date("2000-03-01"), Some(11_017));
    assert_eq!(date("1969-12-31"), Some(-1));
    assert_eq!(date("0000-01-01"), Some(-719_528));
    for bad in
        ["2024-13-01", "2024-00-01", "2024-04-31", "1900-02-29", "2024-1-01", "2024-01-0x", "２024-01-1"]
    {
        assert_eq!(date(bad), None, "{bad}");
    }
    assert_eq!(timestamp("1970-01-02 00:00:01.25"), Some(86_401_250_000));
    assert_eq!(timestamp("1970-01-01T00:00:00.123456000"), Some(123_456));
    assert_eq!(timestamp("1970-01-01T24:00"), None);
    assert_eq!(timestamp_utc("1970-01-01T01:00:00+01:00"), Some(0));
    assert_eq!(timestamp_utc("1970-01-01T00:00-00:30"), Some(1_800_000_000));
    assert_eq!(timestamp_utc("größe größe"), None);
    for name in CsvType::names() {
        assert_eq!(name.parse::<CsvType>().unwrap().to_string(), name);
    }
    assert!("string".parse::<CsvType>().unwrap_err().contains("timestamp_utc"));
}

proptest! {
    #[test]
    fn dates_are_those_of_arrow(days in -719_528i32..2_932_897) {
        let text = arrow_array::temporal_conversions::date32_to_datetime(days).unwrap().date().to_string();
        prop_assert_eq!(date(&text), Some(days));
    }

    #[test]
    fn records_survive_any_text(rows in prop::collection::vec(prop::collection::vec("[a,\"\n\r;é ]{0,6}", 3), 0..30)) {
        // With the first column, no record is an empty line.
        let mut text = String::from("k,x,y,z\r\n");
        for row in &rows {
            let cells: Vec<String> = row.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
            text.push_str(&format!("k,{}\n", cells.join(",")));
        }
        let batch = read(text, &ReadOptions { batch_rows: 4, ..Default::default() }).unwrap();
        prop_assert_eq!(batch.num_rows(), rows.len());
        for index in 0..3 {
            let expected: Vec<String> =
                rows.iter().map(|row| if row[index].is_empty() { "~".into() } else { row[index].clone() }).collect();
            prop_assert_eq!(column(&batch, index + 1), expected);
        }
    }

    #[test]
    fn cutting_and_reading_see_the_same_records(text in "[a,\"\n\r]{0,40}", columns in 1usize..3) {
        let dialect = Dialect { delimiter: b',', columns };
        let (records, end) = whole_records(text.as_bytes(), dialect);
        let mut cells = CsvCells::new(&text[..end], dialect);
        let mut seen = 0;
        'records: while cells.find_record() {
            loop {
                match cells.cell() {
                    Ok(cell) if cell.last => break,
                    Ok(_) => {}
                    // A flaw stops the scan with an error, so the count no longer matters.
                    Err(_) => break 'records,
                }
            }
            seen += 1;
        }
        if cells.position() == end {
            prop_assert_eq!(seen, records);
        } else {
            prop_assert!(seen < records);
        }
    }
}

#[test]
fn quotes_line_ends_and_blank_lines() {
    let text = "\u{feff}a,\"b\"\"c\"\r\n1,\"x,\ny\"\r\n\r\n2,say \"hi\"\n\n3,\"\"";
    let batch = read(text, &ReadOptions::default()).unwrap();
    assert_eq!(batch.schema().field(0).name(), "a");
    assert_eq!(batch.schema().field(1).name(), "b\"c");
    assert_eq!(batch.column(0).data_type(), &DataType::Int64);
    assert_eq!(column(&batch, 0), ["1", "2", "3"]);
    assert_eq!(column(&batch, 1), ["x,\ny", "say \"hi\"", "~"]);
    // In a table of one column an empty line is a person without a value.
    assert_eq!(column(&read("a\nx\n\ny\n", &ReadOptions::default()).unwrap(), 0), ["x", "~", "y"]);
    assert_eq!(read("a,b\n", &ReadOptions::default()).unwrap().num_rows(), 0);
    assert_eq!(read("a,b", &ReadOptions::default()).unwrap().num_rows(), 0);
}

#[test]
fn options_override_what_is_guessed() {
    let mut options =
        ReadOptions { delimiter: Some(b';'), null_texts: vec!["NA".into()], ..Default::default() };
    let text = "zip;n\n01234;5\n90210;NA\n";
    let batch = read(text, &options).unwrap();
    assert_eq!(column(&batch, 0), ["01234", "90210"]);
    assert_eq!((batch.column(1).data_type(), batch.column(1).null_count()), (&DataType::Int64, 1));
    options.types = [("zip".to_string(), CsvType::Integer), ("n".to_string(), CsvType::Text)].into();
    let batch = read(text, &options).unwrap();
    assert_eq!(column(&batch, 0), ["1234", "90210"]);
    assert_eq!(column(&batch, 1), ["5", "~"]);
    options.types = [("zap".to_string(), CsvType::Integer)].into();
    assert!(read(text, &options).unwrap_err().to_string().contains("did you mean `zip`?"));
    let declared = ReadOptions { types: [("n".to_string(), CsvType::Integer)].into(), ..options };
    let error = read("zip;n\n1;2\n2;secret\n", &declared).unwrap_err().to_string();
    assert!(
        error.contains("row 2") && error.contains("`n`") && error.contains("declared type integer"),
        "{error}"
    );
    let quote = ReadOptions { delimiter: Some(b'"'), ..Default::default() };
    assert!(read("a\n", &quote).unwrap_err().to_string().contains("delimiter"));
}

#[test]
fn times_have_types() {
    let batch =
        read("d,t,u\n2024-01-01,2024-01-01T00:00,2024-01-01T00:00Z\n", &ReadOptions::default()).unwrap();
    assert_eq!(batch.column(0).data_type(), &DataType::Date32);
    assert_eq!(batch.column(1).data_type(), &DataType::Timestamp(TimeUnit::Microsecond, None));
    assert_eq!(
        batch.column(2).data_type(),
        &DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()))
    );
}

#[test]
fn flaws_name_the_row_and_never_the_cell() {
    let long = "secret,1\n".repeat(100);
    for (tail, words) in [
        ("secret\n", "row 101 after the header has 1 cells, the header has 2"),
        ("secret,1,2\n", "row 101 after the header has more cells than the header"),
        ("secret,\"1", "row 101 after the header: a quote in column `b` is not closed"),
        ("secret,\"1\"x\n", "row 101 after the header: text follows the closing quote in column `b`"),
    ] {
        let error = refused(format!("a,b\n{long}{tail}secret,3\n"));
        assert!(error.contains(words) && !error.contains("secret"), "{error}");
    }
    let error = refused([b"a,b\n", long.as_bytes(), b"x,2\nsecret\xff,2\n"].concat());
    assert!(error.contains("row 102 after the header is not UTF-8") && error.contains("iconv"), "{error}");
    for (header, words) in [
        ("a,a\n1,2\n", "column `a` occurs twice"),
        ("a,,b\n", "column 2 has no name"),
        ("\na\n", "column 1 has no name"),
        ("\"a\n", "the header is broken after column 0"),
        ("a,b\r1,2\r", "bare carriage return"),
    ] {
        assert!(refused(header).contains(words), "{}", refused(header));
    }
    assert!(refused(&b"a\xff,b\n"[..]).contains("the header is not UTF-8"));
    assert!(refused("\u{feff}").contains("empty"));
}

#[test]
fn a_late_cell_that_does_not_fit_names_column_and_remedy() {
    let mut text = String::from("name,age\n");
    let rows = PREFIX_BYTES / 8 + 10;
    (0..rows).for_each(|_| text.push_str("secret,1\n"));
    text.push_str("secret,secret\n");
    let error = refused(text);
    let row = format!("row {}", rows + 1);
    assert!(error.contains(&row) && error.contains("column `age` looked like integer"), "{error}");
    assert!(error.contains("declare the type of `age`") && !error.contains("secret"), "{error}");
}
