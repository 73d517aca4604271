//! Which rows are in parts of the table that are left out?
//!
//! Groups are boxes of codes, and so are the parts that no group holds. Their rows are found by reading the table once more.
//!
//! Memory: the ends of every box; a batch of codes per thread.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::suppressed::Suppressed;
use crate::encode::attribute::Attribute;
use crate::encode::combination::SensitiveColumns;
use crate::encode::encoder::Encoder;
use crate::encode::rows::Rows;
use crate::encode::source::{Source, SourceBatches};
use crate::error::{Error, Result};

/// The parts of a table that are left out.
#[derive(Debug, Default)]
pub(super) struct LeftOutBoxes {
    boxes: Vec<Box<[Range<u32>]>>,
    /// Everybody in them.
    pub people: u64,
}

impl LeftOutBoxes {
    /// Adds a part: the people whose codes are in these ranges, one per column.
    pub(super) fn add(&mut self, extent: &[Range<u32>], people: u64) {
        self.boxes.push(extent.into());
        self.people += people;
    }

    /// Reads the table once more and lists the rows in these parts.
    pub(super) fn list(
        &self,
        source: &Source<'_>,
        attributes: &[Attribute],
        sensitive: &SensitiveColumns,
        rows: &mut Suppressed<'_>,
    ) -> Result<()> {
        if self.boxes.is_empty() {
            return Ok(());
        }
        let source = &source.without_watched();
        let (layout, index) = (source.layout(attributes, sensitive), BoxIndex::new(&self.boxes));
        let encoder = Encoder::new(attributes, sensitive, &source.resources.budget);
        let rows = Mutex::new(rows);
        let work = |batches: SourceBatches<'_>| {
            let mut first = batches.first_row();
            for batch in batches {
                let batch = batch?;
                let mut codes = layout.empty(batch.len());
                encoder.append(batch.quasi(), batch.sensitive(), &mut codes)?;
                let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
                (0..codes.len())
                    .filter(|&row| index.holds(&codes, row))
                    .try_for_each(|row| rows.push(first + row as u64))?;
                first += codes.len() as u64;
            }
            Ok(())
        };
        source.scan("listing who is left out", work, |()| Ok(()))?;
        let listed = rows.into_inner().unwrap_or_else(PoisonError::into_inner).count();
        match listed == self.people {
            true => Ok(()),
            false => Err(Error::Changed { file: None, column: None }),
        }
    }
}

/// The boxes by the codes that they hold of the column in which they differ most.
struct BoxIndex<'a> {
    boxes: &'a [Box<[Range<u32>]>],
    column: usize,
    by_code: Vec<Vec<u32>>,
}

impl<'a> BoxIndex<'a> {
    fn new(boxes: &'a [Box<[Range<u32>]>]) -> Self {
        let columns = boxes.first().map_or(0, |own| own.len());
        let held = |column: usize| {
            boxes.iter().map(|own| u64::from(own[column].end - own[column].start)).sum::<u64>()
        };
        let codes = |column: usize| boxes.iter().map(|own| own[column].end).max().unwrap_or(0);
        // The least expected number of boxes for a code.
        let column =
            (0..columns).min_by_key(|&column| held(column) / u64::from(codes(column).max(1))).unwrap_or(0);
        let mut by_code = vec![Vec::new(); if columns == 0 { 0 } else { codes(column) as usize }];
        for (number, own) in (0..).zip(boxes).filter(|(_, own)| !own.is_empty()) {
            own[column].clone().for_each(|code| by_code[code as usize].push(number));
        }
        BoxIndex { boxes, column, by_code }
    }

    fn holds(&self, rows: &Rows, row: usize) -> bool {
        let code = |column: usize| u32::from(rows.columns[column].get(row));
        let near = self.by_code.get(code(self.column) as usize).map_or(&[][..], Vec::as_slice);
        near.iter().any(|&number| {
            let own = &self.boxes[number as usize];
            own.iter().enumerate().all(|(column, range)| range.contains(&code(column)))
        })
    }
}
