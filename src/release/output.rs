//! Which files does a group go to?
//!
//! A single-valued generalized release is one table, `data/`. Otherwise people and values are in two tables, `quasi/`
//! and `sensitive/`, joined by group: it must not be revealed which person has which value.
//!
//! Memory: a batch per table; rows that travel go through the sorter.

use crate::encode::combination::SensitiveColumns;
use crate::encode::payload::Payload;
use crate::encode::rows::Sensitive;
use crate::error::{Error, Result};
use crate::group::groups::{Group, PlacedRows};
use crate::group::tree::TreeLeaf;
use crate::math::skyline::Values;
use crate::policy::{Ranges, Style};
use crate::release::label::Labels;
use crate::release::part_writer::{PartOptions, PartWriter};
use crate::release::person_log::PersonLog;
use crate::release::rows::{GroupLabel, GroupRows, GroupValues, RowColumns};
use crate::resources::budget::Budget;
use crate::resources::sorter::Sorter;
use crate::resources::spill::{Extent, Spill};
use std::path::Path;
use std::sync::Arc;

/// The form of a release.
pub struct ReleaseShape<'a> {
    /// Generalized or bucketized.
    pub style: Style,
    /// How many sensitive values a person may have.
    pub values: Values,
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

impl ReleaseShape<'_> {
    /// Whether people and values are in one table.
    pub fn is_joined(&self) -> bool {
        self.style == Style::Generalized && self.values == Values::Single
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
        let joined = shape.is_joined();
        let rows = GroupRows::new(RowColumns {
            labels: if shape.style == Style::Generalized { shape.labels.to_vec() } else { vec![] },
            ranges: shape.ranges,
            payload: shape.payload,
            sensitive: joined.then_some(shape.sensitive),
        });
        let table = if joined { "data" } else { "quasi" };
        let people = PartWriter::create(&folder.join(table), rows.schema().clone(), options.clone())?;
        let values = match joined {
            true => None,
            false => {
                let values = GroupValues::new(shape.sensitive);
                let writer = PartWriter::create(&folder.join("sensitive"), values.schema().clone(), options)?;
                Some((values, writer))
            }
        };
        let (labels, log) = (LabelLog::new(spill), PersonLog::default());
        Ok(Output { shape, rows, people, values, labels, people_before: 0, travelled: 0, labelled: 0, log })
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
        let Some(payload) = self.shape.payload else { return Ok(()) };
        let mut sorter = Sorter::new(budget, spill)?;
        rows.each_page(|rows, travelling| {
            for (row, bytes) in travelling.rows().enumerate() {
                let node = tree.tree.find(|column| rows.columns[column].get(row));
                let TreeLeaf::Group(group) = tree.leaf(node) else { continue };
                let (bytes, mark) = payload.split_mark(bytes);
                if let Some(mark) = mark {
                    self.log.push(&mark, self.shape.groups_before + group, spill)?;
                }
                // Nothing next to the quasi-identifiers of a person may hint at their value, not even the order.
                let code = match &rows.sensitive {
                    Sensitive::Single(codes) if self.shape.is_joined() => codes.get(row),
                    _ => 0,
                };
                sorter.push(&[&group.to_be_bytes(), &code.to_be_bytes(), bytes])?;
            }
            Ok(())
        })?;
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
            let code = if self.shape.is_joined() { code } else { 0 };
            sorter.push(&[&group.to_be_bytes(), &code.to_be_bytes(), bytes])?;
        }
        self.push_sorted(sorter)
    }

    fn push_sorted(&mut self, sorter: Sorter<'_>) -> Result<()> {
        let spill = self.labels.spill;
        let mut labels = std::mem::replace(&mut self.labels, LabelLog::new(spill)).read()?;
        let mut current: Option<GroupLabel> = None;
        sorter.finish(|record| {
            let (head, payload) = record.split_at(10);
            let group = head[..8].iter().fold(0, |group, &byte| group << 8 | u64::from(byte));
            let code = u16::from_be_bytes([head[8], head[9]]);
            while self.labelled < group {
                self.labelled += 1;
                current = labels.next()?;
                self.people.begin_group(self.travelled, || self.rows.take())?;
            }
            let Some(label) = &current else {
                return Err(Error::input("a row belongs to no group", "this is a defect; please report it"));
            };
            self.travelled += 1;
            self.rows.push_row(self.shape.groups_before + group, label, code, payload, |batch| {
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
            self.block.resize(extent.length as usize, 0);
            self.spill.read(extent.offset, &mut self.block)?;
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
