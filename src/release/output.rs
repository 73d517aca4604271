//! Which files does a group go to?
//!
//! A single-valued generalized release is one table, `data/`. Otherwise people and values are in two tables, `quasi/`
//! and `sensitive/`, joined by group: it must not be revealed which person has which value.
//!
//! Memory: a batch per table; rows that travel go through the sorter.

use crate::encode::combination::SensitiveColumns;
use crate::encode::page::Travelling;
use crate::encode::payload::Payload;
use crate::encode::person::PersonMark;
use crate::encode::rows::{Rows, Sensitive};
use crate::error::{Error, Result};
use crate::group::groups::{Group, PlacedRows};
use crate::group::tree::{NumberedTree, TreeLeaf};
use crate::policy::{Ranges, Style};
use crate::release::label::Labels;
use crate::release::part_writer::{PartOptions, PartWriter};
use crate::release::person_log::PersonLog;
use crate::release::rows::{GroupLabel, GroupRows, GroupValues, RowColumns};
use crate::resources::budget::Budget;
use crate::resources::sorter::Sorter;
use crate::resources::spill::{Extent, Spill};
use crate::table::write::OutputFormat;
use std::path::Path;
use std::sync::Arc;

/// The form of a release.
pub struct ReleaseShape<'a> {
    /// Generalized or bucketized.
    pub style: Style,
    /// How ranges are written.
    pub ranges: Ranges,
    /// The quasi-identifiers.
    pub labels: &'a [(String, Labels<'a>)],
    /// The sensitive columns.
    pub sensitive: &'a SensitiveColumns,
    /// The columns that travel.
    pub payload: Option<&'a Payload>,
    /// Groups that earlier nights numbered.
    pub groups_before: u64,
}

impl<'a> ReleaseShape<'a> {
    /// Whether people and values are in one table.
    pub fn is_joined(&self) -> bool {
        self.style == Style::Generalized && !self.sensitive.holds_lists()
    }

    /// Fails if files of this format cannot tell an empty text from no value, where rows without a value occur.
    pub fn expect_told_apart(&self, format: OutputFormat) -> Result<()> {
        let apart = format.is_text() && self.sensitive.are_apart();
        let mut columns = self.sensitive.columns().iter().filter(|_| apart);
        match columns.find(|column| column.code_of_text("").is_some()) {
            Some(column) => Err(Error::input(
                format!(
                    "column {:?} holds an empty text, which would be no value in a CSV file",
                    column.name
                ),
                "publish Parquet or Arrow files, or give the empty text a name",
            )
            .of_column(&column.name)),
            None => Ok(()),
        }
    }

    /// The table of people with its name, and that of values, if there are two.
    pub fn tables(&self) -> ((&'static str, GroupRows<'a>), Option<(&'static str, GroupValues<'a>)>) {
        let joined = self.is_joined();
        let rows = GroupRows::new(RowColumns {
            labels: if self.style == Style::Generalized { self.labels.to_vec() } else { vec![] },
            ranges: self.ranges,
            payload: self.payload,
            sensitive: joined.then_some(self.sensitive),
        });
        match joined {
            true => (("data", rows), None),
            false => (("quasi", rows), Some(("sensitive", GroupValues::new(self.sensitive)))),
        }
    }

    /// Passes on what travels with each row of a page, with its group and its sensitive code, and the mark of its person.
    pub fn place(
        &self,
        (rows, travelling): (&Rows, &Travelling),
        tree: &NumberedTree<'_>,
        mut each: impl FnMut(PlacedRow<'_>, Option<PersonMark>) -> Result<()>,
    ) -> Result<()> {
        let Some(payload) = self.payload else { return Ok(()) };
        for (row, bytes) in travelling.rows().enumerate() {
            let node = tree.tree.find(|column| rows.columns[column].get(row));
            let TreeLeaf::Group(group) = tree.leaf(node) else { continue };
            let (bytes, mark) = payload.split_mark(bytes);
            // Nothing next to the quasi-identifiers of a person may hint at their value, not even the order.
            let code = match &rows.sensitive {
                Sensitive::Single(codes) if self.is_joined() => codes.get(row),
                _ => 0,
            };
            each(PlacedRow { group, code, bytes }, mark)?;
        }
        Ok(())
    }
}

/// What travels with a row whose group is known.
#[derive(Debug, Clone, Copy)]
pub struct PlacedRow<'b> {
    /// The number of its group.
    pub group: u64,
    /// Its sensitive code, if people and values are in one table.
    pub code: u16,
    /// What travels.
    pub bytes: &'b [u8],
}

impl<'b> PlacedRow<'b> {
    /// What comes before the bytes in a record. The order of records is that of the rows in a table.
    pub fn head(&self) -> [u8; 10] {
        let mut head = [0; 10];
        head[..8].copy_from_slice(&self.group.to_be_bytes());
        head[8..].copy_from_slice(&self.code.to_be_bytes());
        head
    }

    /// The row of a record; `None` if it is too short.
    pub fn of_record(record: &'b [u8]) -> Option<Self> {
        let (group, rest) = record.split_first_chunk()?;
        let (code, bytes) = rest.split_first_chunk()?;
        Some(PlacedRow { group: u64::from_be_bytes(*group), code: u16::from_be_bytes(*code), bytes })
    }
}

/// The tables of a release while they are written.
pub struct Output<'a> {
    shape: &'a ReleaseShape<'a>,
    rows: GroupRows<'a>,
    people: PartWriter,
    values: Option<(GroupValues<'a>, PartWriter)>,
    labels: LabelLog<'a>,
    /// People in the groups so far.
    people_before: u64,
    /// Rows that travelled so far, and the last group whose label was read for them.
    travelled: u64,
    labelled: u64,
    /// Who went to which group, if people are named.
    log: PersonLog,
}

impl<'a> Output<'a> {
    /// Creates the tables below `folder`.
    pub fn create(
        folder: &Path,
        shape: &'a ReleaseShape<'a>,
        spill: &'a Spill,
        options: PartOptions,
    ) -> Result<Self> {
        let ((name, rows), values) = shape.tables();
        let people = PartWriter::create(&folder.join(name), rows.schema().clone(), options.clone())?;
        let values = match values {
            None => None,
            Some((name, values)) => {
                let writer = PartWriter::create(&folder.join(name), values.schema().clone(), options)?;
                Some((values, writer))
            }
        };
        let (labels, log) = (LabelLog::new(spill), PersonLog::default());
        Ok(Output { shape, rows, people, values, labels, people_before: 0, travelled: 0, labelled: 0, log })
    }

    /// The same, for groups that come after so many others.
    pub fn after(self, groups: u64) -> Self {
        Output { labelled: groups, ..self }
    }

    /// Adds the next group.
    pub fn push(&mut self, number: u64, group: &Group) -> Result<()> {
        let (before, public) = (self.people_before, self.shape.groups_before + number);
        self.people_before += group.part.people;
        if let Some((values, writer)) = &mut self.values {
            writer.begin_group(before, || values.take())?;
            values.push_group(public, group, |batch| writer.write(batch))?;
        }
        match self.shape.payload {
            None => {
                self.people.begin_group(before, || self.rows.take())?;
                self.rows.push_group(public, group, |batch| self.people.write(batch))
            }
            Some(_) => self.labels.push(&self.rows.label(group)),
        }
    }

    /// Writes the rows that travel, ordered by group and then by content; their groups are the last ones added.
    pub fn push_travelling(&mut self, rows: PlacedRows<'_>, budget: &Arc<Budget>) -> Result<()> {
        let (PlacedRows { rows, tree }, spill) = (rows, self.labels.spill);
        if self.shape.payload.is_none() {
            return Ok(());
        }
        let mut sorter = Sorter::new(budget, spill)?;
        rows.each_page(|rows, travelling| {
            self.shape.place((rows, travelling), tree, |row, mark| {
                if let Some(mark) = mark {
                    self.log.push(&mark, self.shape.groups_before + row.group, spill)?;
                }
                sorter.push(&[&row.head(), row.bytes])
            })
        })?;
        self.push_sorted(sorter)
    }

    /// Writes rows that travel and were placed elsewhere, from their records in any order; all groups were added.
    pub fn push_records(
        &mut self,
        records: impl Iterator<Item = Result<Travelling>>,
        budget: &Arc<Budget>,
    ) -> Result<()> {
        let mut sorter = Sorter::new(budget, self.labels.spill)?;
        for page in records {
            page?.rows().try_for_each(|record| sorter.push(&[record]))?;
        }
        self.push_sorted(sorter)
    }

    /// Writes rows that travel, each with its group number and its sensitive code.
    pub fn push_rows<'r>(
        &mut self,
        rows: impl Iterator<Item = (u64, u16, &'r [u8])>,
        budget: &Arc<Budget>,
    ) -> Result<()> {
        let mut sorter = Sorter::new(budget, self.labels.spill)?;
        for (group, code, bytes) in rows {
            let row = PlacedRow { group, code: if self.shape.is_joined() { code } else { 0 }, bytes };
            sorter.push(&[&row.head(), row.bytes])?;
        }
        self.push_sorted(sorter)
    }

    fn push_sorted(&mut self, sorter: Sorter<'_>) -> Result<()> {
        let spill = self.labels.spill;
        let mut labels = std::mem::replace(&mut self.labels, LabelLog::new(spill)).read()?;
        let mut current: Option<GroupLabel> = None;
        sorter.finish(|record| {
            let Some(PlacedRow { group, code, bytes }) = PlacedRow::of_record(record) else {
                return Err(Error::defect("a row has no group"));
            };
            while self.labelled < group {
                self.labelled += 1;
                current = labels.next()?;
                self.people.begin_group(self.travelled, || self.rows.take())?;
            }
            let Some(label) = &current else {
                return Err(Error::input("a row belongs to no group", "this is a defect; please report it"));
            };
            self.travelled += 1;
            self.rows.push_row(self.shape.groups_before + group, label, code, bytes, |batch| {
                self.people.write(batch)
            })
        })
    }

    /// Waits until everything is written; returns who went to which group.
    pub fn finish(mut self) -> Result<PersonLog> {
        self.people.write(self.rows.take()?)?;
        self.people.finish()?;
        if let Some((mut values, mut writer)) = self.values {
            writer.write(values.take()?)?;
            writer.finish()?;
        }
        Ok(self.log)
    }
}

/// The labels of all groups in order, for rows that are written later.
struct LabelLog<'s> {
    spill: &'s Spill,
    block: Vec<u8>,
    blocks: Vec<Extent>,
}

const BLOCK: usize = 1 << 16;

impl<'s> LabelLog<'s> {
    fn new(spill: &'s Spill) -> Self {
        LabelLog { spill, block: vec![], blocks: vec![] }
    }

    fn push(&mut self, label: &GroupLabel) -> Result<()> {
        let text = serde_json::to_vec(label).map_err(|source| Error::io("labels", source.into()))?;
        self.block.extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.block.extend_from_slice(&text);
        if self.block.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.blocks.push(self.spill.append(&self.block)?);
        self.block.clear();
        Ok(())
    }

    fn read(mut self) -> Result<LabelReader<'s>> {
        self.flush()?;
        Ok(LabelReader { spill: self.spill, blocks: self.blocks.into_iter(), block: vec![], position: 0 })
    }
}

struct LabelReader<'s> {
    spill: &'s Spill,
    blocks: std::vec::IntoIter<Extent>,
    block: Vec<u8>,
    position: usize,
}

impl LabelReader<'_> {
    fn next(&mut self) -> Result<Option<GroupLabel>> {
        while self.position == self.block.len() {
            let Some(extent) = self.blocks.next() else { return Ok(None) };
            self.spill.load(extent, &mut self.block)?;
            self.position = 0;
        }
        let (length, rest) = self.block[self.position..].split_at(4);
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let label =
            serde_json::from_slice(&rest[..length]).map_err(|source| Error::io("labels", source.into()))?;
        self.position += 4 + length;
        Ok(Some(label))
    }
}
