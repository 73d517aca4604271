//! Columns that travel with their rows.
//!
//! Columns that are published unchanged become one byte string per row. The order of the byte strings is the order of
//! their contents: the rows of a group are sorted by it, so that the order of the input leaves no trace.
//! Memory: one batch.

use super::person::{MARK_BYTES, PersonMark, PersonMarker};
use super::source_columns::SourceBatch;
use crate::error::{Error, Result};
use arrow_array::ArrayRef;
use arrow_row::{RowConverter, SortField};
use arrow_schema::Field;

/// Turns columns into byte strings and back.
pub struct Payload {
    converter: RowConverter,
    fields: Vec<Field>,
    /// Marks the person of each row; the mark is the end of the byte string.
    marker: Option<PersonMarker>,
}

impl Payload {
    /// Creates a converter for columns of these types.
    pub fn new(fields: &[&Field]) -> Result<Self> {
        for field in fields {
            if !RowConverter::supports_fields(&[SortField::new(field.data_type().clone())]) {
                return Err(Error::input(
                    format!("column {:?} has a type that cannot be carried along", field.name()),
                    "cast it to text or numbers, or drop it",
                ));
            }
        }
        let sorted = fields.iter().map(|field| SortField::new(field.data_type().clone())).collect();
        let converter = RowConverter::new(sorted).map_err(|_| unfit())?;
        // A dictionary column is decoded into plain values.
        let nothing: [arrow_row::Row<'_>; 0] = [];
        let back = converter.convert_rows(nothing).map_err(|_| unfit())?;
        let plain = |(field, array): (&&Field, &ArrayRef)| {
            Field::new(field.name(), array.data_type().clone(), field.is_nullable())
        };
        let fields = fields.iter().zip(&back).map(plain).collect();
        Ok(Payload { converter, fields, marker: None })
    }

    /// The same columns, and the mark of the person of each row.
    pub fn marked_by(self, marker: PersonMarker) -> Self {
        Payload { marker: Some(marker), ..self }
    }

    /// The columns as they are decoded.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Appends one byte string per row to `bytes`, and their lengths to `lengths`.
    pub fn append(&self, columns: &[ArrayRef], lengths: &mut Vec<u32>, bytes: &mut Vec<u8>) -> Result<()> {
        let rows = self.converter.convert_columns(columns).map_err(|_| unfit())?;
        for row in &rows {
            let data = row.as_ref();
            lengths.push(u32::try_from(data.len()).map_err(|_| unfit())?);
            bytes.extend_from_slice(data);
        }
        Ok(())
    }

    /// As [`Payload::append`], for rows of a source, with the marks of their people.
    pub fn append_people(
        &self,
        people: &SourceBatch,
        lengths: &mut Vec<u32>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let (Some(marker), Some(person)) = (&self.marker, people.person()) else {
            return self.append(people.travelling(), lengths, bytes);
        };
        let marks = marker.marks(person, people.sensitive())?;
        let rows = match self.fields.is_empty() {
            true => None,
            false => Some(self.converter.convert_columns(people.travelling()).map_err(|_| unfit())?),
        };
        for (row, mark) in marks.iter().enumerate() {
            let start = bytes.len();
            if let Some(rows) = &rows {
                bytes.extend_from_slice(rows.row(row).as_ref());
            }
            bytes.extend_from_slice(mark);
            lengths.push(u32::try_from(bytes.len() - start).map_err(|_| unfit())?);
        }
        Ok(())
    }

    /// Takes the mark off a row that has one.
    pub fn split_mark<'b>(&self, row: &'b [u8]) -> (&'b [u8], Option<PersonMark>) {
        match (&self.marker, row.split_last_chunk::<MARK_BYTES>()) {
            (Some(_), Some((row, mark))) => (row, Some(*mark)),
            _ => (row, None),
        }
    }

    /// Decodes the columns of these rows.
    pub fn columns(&self, rows: &[Vec<u8>]) -> Result<Vec<ArrayRef>> {
        if self.fields.is_empty() {
            return Ok(Vec::new());
        }
        let parser = self.converter.parser();
        self.converter.convert_rows(rows.iter().map(|row| parser.parse(row))).map_err(|_| unfit())
    }
}

fn unfit() -> Error {
    Error::input("a kept row does not fit its columns", "drop the kept columns, or cast them to text")
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Array, Float64Array, StringArray};
    use arrow_schema::DataType;
    use std::sync::Arc;

    #[test]
    fn columns_come_back_as_they_were() {
        let fields = [Field::new("note", DataType::Utf8, true), Field::new("cost", DataType::Float64, true)];
        let payload = Payload::new(&[&fields[0], &fields[1]]).unwrap();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(vec![Some("b"), None, Some("")])),
            Arc::new(Float64Array::from(vec![Some(1.5), Some(f64::NAN), None])),
        ];
        let (mut lengths, mut bytes) = (vec![], vec![]);
        payload.append(&columns, &mut lengths, &mut bytes).unwrap();
        let mut rest = &bytes[..];
        let rows: Vec<Vec<u8>> =
            lengths.iter().map(|&n| rest.split_off(..n as usize).unwrap().to_vec()).collect();
        let back = payload.columns(&rows).unwrap();
        assert_eq!(back[0].to_data(), columns[0].to_data());
        assert_eq!(back[1].len(), 3);
        assert_eq!(payload.fields()[1].data_type(), &DataType::Float64);
    }
}
