//! What if the tasks of an engine write the files of a release?
//!
//! Where files end follows from the sizes of the groups alone, so each file is written by a task of its own, with the
//! functions that write all files on one machine ([`Output`]). The run sends a file the groups that it holds; rows that
//! travel were sorted by file before. What a task [returns](super::task_files) has no name: an attempt that failed, or was
//! too slow, leaves nothing behind.
//!
//! Memory: [`PIECE`] bytes of groups, and a piece of a file.

use super::manifest::ManifestFile;
use super::output::{Output, PlacedRow, ReleaseShape};
use super::part_writer::{FileBorders, PartOptions, create_folder, part_name};
use super::task_files::{PIECE, TaskFiles, store};
use crate::encode::elsewhere::HeldRows;
use crate::encode::page::{PAGE_BYTES, PAGE_ROWS, Travelling};
use crate::encode::sealed_pages::{SealedPages, damaged};
use crate::error::{Error, Result};
use crate::group::groups::{Group, PlacedRows};
use crate::group::split::part_rows::PartRows;
use crate::group::tree::{CutTree, NumberedTree};
use crate::resources::Resources;
use crate::resources::byte_form::{ByteForm, ByteReader, Parcel, write_items};
use crate::resources::spill::{Extent, Spill};
use crate::table::write::{OutputFormat, WriteOptions};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// At most so many files are written at once.
const MOST_FILES: usize = 8;

/// What a task must know of the file that it writes.
pub struct FileOrder {
    format: OutputFormat,
    /// People in the files before.
    pub people_before: u64,
    /// Groups in the files before.
    groups_before: u64,
    groups: u64,
    people: u64,
    /// How many people of the table have each sensitive value, by code.
    pub whole: Arc<[u64]>,
}

impl ByteForm for FileOrder {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.format.name().to_string().write(bytes);
        [self.people_before, self.groups_before, self.groups, self.people]
            .iter()
            .for_each(|own| own.write(bytes));
        write_items(self.whole.iter(), bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let name = String::read(bytes)?;
        Some(FileOrder {
            format: OutputFormat::NAMES.into_iter().find(|(own, _)| *own == name)?.1,
            people_before: u64::read(bytes)?,
            groups_before: u64::read(bytes)?,
            groups: u64::read(bytes)?,
            people: u64::read(bytes)?,
            whole: Vec::read(bytes)?.into(),
        })
    }
}

impl Parcel for FileOrder {
    const KIND: u8 = 12;
    const NAME: &'static str = "an order to write a file";
}

/// Some groups of a file.
struct GroupPiece(Vec<Group>);

impl ByteForm for GroupPiece {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.0.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        ByteForm::read(bytes).map(GroupPiece)
    }
}

impl Parcel for GroupPiece {
    const KIND: u8 = 13;
    const NAME: &'static str = "some groups of a file";
}

/// How tasks find the files of rows that travel.
struct PlaceRequest {
    tree: CutTree,
    /// Groups before the first one of the tree.
    before: u64,
    /// The first group of each file but the first.
    firsts: Vec<u64>,
}

impl ByteForm for PlaceRequest {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.tree.write(bytes);
        self.before.write(bytes);
        self.firsts.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let (tree, before) = (CutTree::read(bytes)?, u64::read(bytes)?);
        Some(PlaceRequest { tree, before, firsts: ByteForm::read(bytes)? })
    }
}

impl Parcel for PlaceRequest {
    const KIND: u8 = 14;
    const NAME: &'static str = "a request to place rows";
}

/// Rows that travel and whose groups are known, as records.
struct PlacedRecords(Travelling);

impl ByteForm for PlacedRecords {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.0.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        ByteForm::read(bytes).map(PlacedRecords)
    }
}

impl Parcel for PlacedRecords {
    const KIND: u8 = 15;
    const NAME: &'static str = "rows whose groups are known";
}

/// A file whose groups are being found, or all of whose groups are known.
struct WaitingFile<'a> {
    number: u64,
    order: FileOrder,
    /// Its groups: those in the spill, and the last ones.
    pieces: Vec<Extent>,
    last: Vec<Group>,
    last_bytes: u64,
    /// The rows that travel, by part.
    rows: Vec<HeldRows<'a>>,
}

/// The files of a release that tasks write.
pub struct FilesElsewhere<'a> {
    held: HeldRows<'a>,
    folder: PathBuf,
    tables: Vec<&'static str>,
    format: OutputFormat,
    travels: bool,
    borders: FileBorders,
    people_before: u64,
    /// How many people of the table have each sensitive value, by code.
    whole: Arc<[u64]>,
    /// Files that no task was given yet; groups are added to the last one.
    waiting: VecDeque<WaitingFile<'a>>,
    /// The first group of each file that began in the current part, and the file in which the part began.
    firsts: Vec<u64>,
    part_file: u64,
    /// Files that tasks write, with the rows that they need.
    writing: VecDeque<(u64, Vec<HeldRows<'a>>)>,
    spill: &'a Spill,
    written: TaskResults,
}

/// The files that tasks wrote and checked. Memory: some hundred bytes of each file.
#[derive(Default)]
pub struct TaskResults {
    /// What was found in each, in the spill.
    pub evidence: Vec<Extent>,
    /// The files as they were when they were checked.
    pub files: Vec<ManifestFile>,
}

impl<'a> FilesElsewhere<'a> {
    /// Creates the folders of the tables below `folder`; tasks hold the rows.
    pub fn create(
        folder: &Path,
        shape: &ReleaseShape<'_>,
        (held, whole): (HeldRows<'a>, &[u64]),
        spill: &'a Spill,
        options: &PartOptions,
    ) -> Result<Self> {
        let ((people, rows), values) = shape.tables();
        create_folder(&folder.join(people), rows.schema(), options.format)?;
        let mut tables = vec![people];
        if let Some((name, values)) = values {
            create_folder(&folder.join(name), values.schema(), options.format)?;
            tables.push(name);
        }
        let mut files = FilesElsewhere {
            held,
            folder: folder.to_path_buf(),
            tables,
            format: options.format,
            travels: shape.payload.is_some(),
            borders: FileBorders::new(options.file_people),
            people_before: 0,
            whole: whole.into(),
            waiting: VecDeque::new(),
            firsts: Vec::new(),
            part_file: 0,
            writing: VecDeque::new(),
            spill,
            written: TaskResults::default(),
        };
        files.open_file(0, 0);
        Ok(files)
    }

    fn open_file(&mut self, number: u64, groups_before: u64) {
        let order = FileOrder {
            format: self.format,
            people_before: self.people_before,
            groups_before,
            groups: 0,
            people: 0,
            whole: self.whole.clone(),
        };
        let (pieces, last, last_bytes, rows) = (Vec::new(), Vec::new(), 0, Vec::new());
        self.waiting.push_back(WaitingFile { number, order, pieces, last, last_bytes, rows });
    }

    /// Adds the next group.
    pub fn push(&mut self, number: u64, group: Group) -> Result<()> {
        if self.borders.begins_file(self.people_before) {
            let file = self.waiting.back().map_or(0, |file| file.number + 1);
            self.open_file(file, number - 1);
            match self.travels {
                true => self.firsts.push(number),
                false => self.begin_all_but(1)?,
            }
        }
        self.people_before += group.part.people;
        let (pages, spill) = (self.held.pages(), self.spill);
        let Some(file) = self.waiting.back_mut() else { return Err(Error::defect("no file is open")) };
        file.order.groups += 1;
        file.order.people += group.part.people;
        file.last_bytes += group.bytes();
        file.last.push(group);
        if file.last_bytes >= PIECE as u64 { file.seal_last(pages, spill) } else { Ok(()) }
    }

    /// Lets tasks sort the rows of a part, whose groups are the last ones added, into files.
    pub fn push_travelling(&mut self, placed: PlacedRows<'_>) -> Result<()> {
        let PartRows::Elsewhere(rows) = placed.rows else {
            return Err(Error::defect("rows are here and files elsewhere"));
        };
        let NumberedTree { tree, before, .. } = placed.tree;
        let firsts = std::mem::take(&mut self.firsts);
        let sets = firsts.len() + 1;
        let request = PlaceRequest { tree: (*tree).clone(), before: *before, firsts };
        let sets = self.held.place(rows, &request, sets)?;
        for (file, set) in (self.part_file..).zip(sets) {
            if let Some(own) = self.waiting.iter_mut().find(|own| own.number == file) {
                own.rows.push(set);
            }
        }
        self.part_file = self.waiting.back().map_or(0, |file| file.number);
        self.begin_all_but(1)
    }

    /// Gives the files whose groups and rows are complete to tasks.
    fn begin_all_but(&mut self, open: usize) -> Result<()> {
        while self.waiting.len() > open {
            let Some(mut file) = self.waiting.pop_front() else { break };
            while self.writing.len() >= self.held.tasks_at_once().min(MOST_FILES) {
                self.store_first()?;
            }
            let (pages, spill) = (self.held.pages(), self.spill);
            file.seal_last(pages, spill)?;
            self.held.order_file(file.number, &pages.seal_secret(&file.order)?)?;
            let mut bytes = Vec::new();
            for piece in &file.pieces {
                spill.load(*piece, &mut bytes)?;
                self.held.order_file(file.number, &bytes)?;
            }
            self.held.begin_file(file.number, &file.rows)?;
            self.writing.push_back((file.number, file.rows));
        }
        Ok(())
    }

    /// Waits for the first of the files that are written, and stores what its task returned.
    fn store_first(&mut self) -> Result<()> {
        let Some((number, _rows)) = self.writing.pop_front() else { return Ok(()) };
        let (pages, name) = (self.held.pages(), part_name(number, self.format));
        let (evidence, mut files) =
            store(pages, &self.folder, (&self.tables, &name), |each| self.held.finish_file(number, each))?;
        self.written.evidence.push(self.spill.append(&evidence)?);
        self.written.files.append(&mut files);
        Ok(())
    }

    /// Waits until everything is written.
    pub fn finish(mut self) -> Result<TaskResults> {
        self.begin_all_but(0)?;
        while !self.writing.is_empty() {
            self.store_first()?;
        }
        Ok(self.written)
    }
}

impl WaitingFile<'_> {
    /// Moves the last groups to the spill.
    fn seal_last(&mut self, pages: &SealedPages, spill: &Spill) -> Result<()> {
        let piece = GroupPiece(std::mem::take(&mut self.last));
        self.last_bytes = 0;
        if !piece.0.is_empty() {
            self.pieces.push(spill.append(&pages.seal_secret(&piece)?)?);
        }
        Ok(())
    }
}

/// Passes on the rows of the pages of a task, each with the place of its file.
pub fn place_pages(
    sealed: &SealedPages,
    shape: &ReleaseShape<'_>,
    request: &[u8],
    pages: impl Iterator<Item = Result<Vec<u8>>>,
    mut pass: impl FnMut(usize, Vec<u8>) -> Result<()>,
) -> Result<()> {
    let PlaceRequest { tree, before, firsts } = sealed.stamp.open(request)?;
    if tree.highest_column().is_some_and(|column| column >= shape.labels.len()) {
        return Err(damaged("a tree cuts a column that there is not"));
    }
    let tree = NumberedTree { tree: &tree, before, leaves: BTreeMap::new() };
    let mut open: Vec<Travelling> = firsts.iter().map(|_| Travelling::default()).collect();
    open.push(Travelling::default());
    let mut flush = |place: usize, records: &mut Travelling| match records.lengths.is_empty() {
        true => Ok(()),
        false => pass(place, sealed.seal_secret(&PlacedRecords(std::mem::take(records)))?),
    };
    for page in pages {
        let page = sealed.open(&page?)?.page;
        shape.place((&page.rows, &page.payload), &tree, |row, _| {
            let place = firsts.partition_point(|&first| first <= row.group);
            let own = &mut open[place];
            let head = row.head();
            own.lengths.push((head.len() + row.bytes.len()) as u32);
            own.bytes.extend_from_slice(&head);
            own.bytes.extend_from_slice(row.bytes);
            let full = own.lengths.len() >= PAGE_ROWS || own.bytes.len() >= PAGE_BYTES;
            if full { flush(place, own) } else { Ok(()) }
        })?;
    }
    open.iter_mut().enumerate().try_for_each(|(place, records)| flush(place, records))
}

/// Writes a file of each table below `folder`, from its order, its groups and its rows; returns the order and the files.
pub fn write_file(
    sealed: &SealedPages,
    shape: &ReleaseShape<'_>,
    folder: &Path,
    (request, mut rows): (&[Vec<u8>], impl Iterator<Item = Result<Vec<u8>>>),
    (write, resources): (WriteOptions, &Resources<'_>),
) -> Result<(FileOrder, TaskFiles)> {
    let [order, pieces @ ..] = request else { return Err(damaged("an order to write a file is missing")) };
    let order: FileOrder = sealed.open_secret(order)?;
    let options = PartOptions { write, format: order.format, file_people: u64::MAX };
    let spill = resources.new_spill()?;
    let ((people, _), values) = shape.tables();
    let tables: Vec<_> = [people].into_iter().chain(values.map(|(name, _)| name)).collect();
    let files = TaskFiles::create(folder, &tables, order.format)?;
    let mut output = Output::create(folder, shape, &spill, options)?.after(order.groups_before);
    let (mut group_number, mut people) = (order.groups_before, 0);
    for piece in pieces {
        let GroupPiece(groups) = sealed.open_secret(piece)?;
        for group in groups {
            let codes = shape.labels.len() == group.present.len();
            if !codes || group.part.values() != shape.sensitive.len() {
                return Err(damaged("a group has codes that no value has"));
            }
            group_number += 1;
            people += group.part.people;
            output.push(group_number, &group)?;
        }
    }
    if (group_number - order.groups_before, people) != (order.groups, order.people) {
        return Err(damaged("groups of a file were lost or repeated"));
    }
    if shape.payload.is_some() {
        let (first, mut records) = (order.groups_before, 0);
        let known = |record: &[u8]| {
            PlacedRow::of_record(record).is_some_and(|row| {
                (first + 1..=group_number).contains(&row.group)
                    && usize::from(row.code) < shape.sensitive.len()
            })
        };
        let placed = std::iter::from_fn(|| {
            let page = rows.next()?.and_then(|page| sealed.open_secret(&page));
            Some(page.and_then(|PlacedRecords(page)| {
                records += page.lengths.len() as u64;
                let all_known = page.rows().all(known);
                if all_known { Ok(page) } else { Err(damaged("a row belongs to another file")) }
            }))
        });
        output.push_records(placed, &resources.budget)?;
        if records != order.people {
            return Err(damaged("rows of a file were lost or repeated"));
        }
    }
    output.finish()?;
    Ok((order, files))
}
