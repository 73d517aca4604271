//! Rows as pages of codes.
//!
//! Pages are kept in memory while the budget allows, and in the spill beyond that. Every page can be read
//! any number of times, in any order, by any thread.
//!
//! Memory: the pages that fit; while reading, one page per thread.

use super::attribute::Attribute;
use super::codes::Codes;
use super::combination::SensitiveColumns;
use super::rows::{Rows, Sensitive};
use crate::error::Result;
use crate::resources::budget::{Budget, Reservation, release_freed};
use crate::resources::spill::{Extent, Spill};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// A page holds at most this many rows.
pub const PAGE_ROWS: usize = 1 << 15;

/// While pages are emptied into others, freed memory is returned to the system at this interval: threads that did not
/// allocate it do not use it again.
pub const PAGES_BETWEEN_RELEASES: usize = 256;

/// A page is full when its codes, or its payload and its lists of sensitive values, have this many bytes.
pub const PAGE_BYTES: usize = 1 << 20;

/// How many codes each column of a page has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Number of codes per quasi-identifier.
    pub columns: Vec<u32>,
    /// Number of sensitive codes.
    pub values: u32,
    /// Whether a row has one sensitive value or a list of them.
    pub lists: Lists,
}

/// How many sensitive values a row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// Exactly one.
    One,
    /// Any number.
    Many,
}

impl Layout {
    /// Creates the layout for these columns.
    pub fn of(attributes: &[Attribute], sensitive: &SensitiveColumns) -> Self {
        let lists = if sensitive.holds_lists() { Lists::Many } else { Lists::One };
        let columns = attributes.iter().map(Attribute::codes).collect();
        Layout { columns, values: sensitive.len() as u32, lists }
    }

    /// Empty rows with capacity for `rows` rows.
    pub fn empty(&self, rows: usize) -> Rows {
        let sensitive = match self.lists {
            Lists::One => Sensitive::Single(Codes::with_capacity(self.values, rows)),
            Lists::Many => {
                Sensitive::Lists { lists: Vec::with_capacity(rows), offsets: vec![0], values: vec![] }
            }
        };
        let columns = self.columns.iter().map(|&codes| Codes::with_capacity(codes, rows)).collect();
        Rows { columns, sensitive }
    }

    /// The number of rows of a full page, unless their lists or their payload fill it earlier.
    pub fn page_rows(&self) -> usize {
        (PAGE_BYTES / self.row_bytes()).clamp(1, PAGE_ROWS)
    }

    /// Bytes of a row's codes, not counting lists.
    pub fn row_bytes(&self) -> usize {
        let sensitive = match self.lists {
            Lists::One => Codes::row_bytes(self.values),
            Lists::Many => 8,
        };
        self.columns.iter().map(|&codes| Codes::row_bytes(codes)).sum::<usize>() + sensitive
    }
}

/// The number of bytes that the rows hold.
pub fn rows_bytes(rows: &Rows) -> u64 {
    let sensitive = match &rows.sensitive {
        Sensitive::Single(codes) => codes.bytes().len(),
        Sensitive::Lists { lists, offsets, values } => lists.len() * 4 + offsets.len() * 4 + values.len() * 2,
    };
    (rows.columns.iter().map(|codes| codes.bytes().len()).sum::<usize>() + sensitive) as u64
}

/// The codes of some rows and the payload that travels with them.
#[derive(Debug)]
pub struct Page {
    /// The codes.
    pub rows: Rows,
    /// The payload of the rows, if columns travel.
    pub payload: Travelling,
}

/// One byte string per row, or none at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Travelling {
    /// The length of each row's bytes.
    pub lengths: Vec<u32>,
    /// The bytes of all rows.
    pub bytes: Vec<u8>,
}

impl Travelling {
    /// The bytes of each row.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.bytes[..];
        self.lengths.iter().map(move |&length| {
            let (row, after) = rest.split_at(length as usize);
            rest = after;
            row
        })
    }

    /// Where the bytes of each row begin.
    pub fn starts(&self) -> Vec<usize> {
        let mut end = 0;
        let start = |&length: &u32| {
            let start = end;
            end += length as usize;
            start
        };
        self.lengths.iter().map(start).collect()
    }

    /// Appends the rows of `other` with these numbers; `starts` are [`Travelling::starts`] of `other`. Nothing if
    /// nothing travels.
    pub fn extend_rows(&mut self, other: &Travelling, starts: &[usize], rows: &[u32]) {
        if other.lengths.is_empty() {
            return;
        }
        for &row in rows {
            let (start, length) = (starts[row as usize], other.lengths[row as usize]);
            self.lengths.push(length);
            self.bytes.extend_from_slice(&other.bytes[start..start + length as usize]);
        }
    }

    fn size(&self) -> u64 {
        (self.lengths.len() * 4 + self.bytes.len()) as u64
    }
}

impl Page {
    /// A page without rows.
    pub fn empty(layout: &Layout) -> Self {
        Page { rows: layout.empty(layout.page_rows()), payload: Travelling::default() }
    }

    /// Bytes that the page takes in memory.
    fn footprint(&self) -> u64 {
        footprint(rows_bytes(&self.rows) + self.payload.size(), self.rows.columns.len())
    }

    /// Whether no more rows should be added.
    pub fn is_full(&self, layout: &Layout) -> bool {
        let bytes = self.payload.bytes.len() + self.rows.list_bytes();
        self.rows.len() >= layout.page_rows() || bytes >= PAGE_BYTES
    }

    fn shrink(&mut self) {
        self.rows.shrink();
        self.payload.lengths.shrink_to_fit();
        self.payload.bytes.shrink_to_fit();
    }
}

/// Bytes that a page with this many bytes takes in memory: an eighth more, for the allocator.
fn footprint(bytes: u64, columns: usize) -> u64 {
    bytes + bytes / 8 + 512 + 64 * columns as u64
}

#[derive(Debug)]
enum Stored {
    Memory(Box<Page>, Reservation),
    Disk(PagePlace),
}

/// Where a page is in the spill.
#[derive(Debug, Clone, Copy)]
struct PagePlace {
    codes: Extent,
    rows: usize,
    values: usize,
    payload: Extent,
}

impl PagePlace {
    fn read(self, layout: &Layout, spill: &Spill) -> Result<Page> {
        let PagePlace { codes, rows, values, payload } = self;
        let mut page = Page { rows: layout.empty(rows), payload: Travelling::default() };
        read(&mut page.rows, spill, codes, rows, values)?;
        if payload.length > 0 {
            read_payload(&mut page.payload, spill, payload, rows)?;
        }
        Ok(page)
    }

    /// Reads the page, and releases its place.
    fn take(self, layout: &Layout, spill: &Spill) -> Result<Page> {
        let page = self.read(layout, spill)?;
        self.release(spill);
        Ok(page)
    }

    fn release(self, spill: &Spill) {
        [self.codes, self.payload].into_iter().for_each(|extent| spill.release(extent));
    }
}

/// A page that left its store, and may still have to be read.
#[derive(Debug)]
pub struct UnreadPage<'s> {
    stored: Stored,
    layout: Layout,
    spill: &'s Spill,
    then: AfterReading,
}

/// What becomes of a page in the spill that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterReading {
    /// Nobody needs it any more.
    Release,
    /// It stays.
    Keep,
}

impl UnreadPage<'_> {
    /// The page; its memory, or its place in the spill, is released.
    pub fn read(self) -> Result<Page> {
        match (self.stored, self.then) {
            (Stored::Memory(page, _), _) => Ok(*page),
            (Stored::Disk(place), AfterReading::Release) => place.take(&self.layout, self.spill),
            (Stored::Disk(place), AfterReading::Keep) => place.read(&self.layout, self.spill),
        }
    }
}

/// All pages of a table.
#[derive(Debug)]
pub struct PageStore<'s> {
    layout: Layout,
    budget: Arc<Budget>,
    spill: &'s Spill,
    pages: Vec<Stored>,
    rows: u64,
    /// The most bytes that pages may take in memory, even if there is more.
    most: u64,
    /// The bytes that they take.
    held: u64,
}

impl<'s> PageStore<'s> {
    /// Creates an empty store; pages that do not fit in `budget` go to `spill`.
    pub fn new(layout: Layout, budget: &Arc<Budget>, spill: &'s Spill) -> Self {
        let budget = budget.clone();
        PageStore { layout, budget, spill, pages: vec![], rows: 0, most: u64::MAX, held: 0 }
    }

    /// Keeps at most this many bytes of pages in memory.
    pub fn within(self, most: u64) -> Self {
        PageStore { most, ..self }
    }

    /// The layout of a page.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The budget that pages in memory are taken from.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Number of pages.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Total number of rows on all pages.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a page to a store that several threads share.
    pub fn push_shared(store: &Mutex<Self>, mut page: Page) -> Result<()> {
        page.shrink();
        let (reserved, spill) = {
            let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
            let bytes = page.footprint();
            let full = cfg!(feature = "force-spill") || store.held.saturating_add(bytes) > store.most;
            let room = if full { None } else { store.budget.try_reserve(bytes) };
            store.held += room.as_ref().map_or(0, Reservation::bytes);
            (room, store.spill)
        };
        let rows = page.rows.len() as u64;
        let stored = match reserved {
            Some(reservation) => Stored::Memory(Box::new(page), reservation),
            None => write(&page, spill)?,
        };
        let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
        store.rows += rows;
        store.pages.push(stored);
        Ok(())
    }

    /// Removes all pages.
    pub fn clear(&mut self) {
        for stored in self.pages.drain(..) {
            if let Stored::Disk(place) = stored {
                place.release(self.spill);
            }
        }
        self.rows = 0;
        self.held = 0;
    }

    /// Moves a page from memory to the spill; returns whether there was one.
    pub fn spill_page(&mut self) -> Result<bool> {
        let in_memory = |stored: &Stored| matches!(stored, Stored::Memory(..));
        let Some(place) = self.pages.iter().position(in_memory) else { return Ok(false) };
        if let Stored::Memory(page, room) = &self.pages[place] {
            self.held -= room.bytes();
            self.pages[place] = write(page, self.spill)?;
        }
        Ok(true)
    }

    /// Moves pages from the spill to memory, as long as this many bytes of the budget stay free.
    pub fn read_back(&mut self, free: u64) -> Result<()> {
        let PageStore { layout, budget, spill, pages, most, held, .. } = self;
        let mut coming = Vec::new();
        for stored in pages {
            let Stored::Disk(place) = *stored else { continue };
            let bytes = footprint(place.codes.length + place.payload.length, layout.columns.len());
            let full = cfg!(feature = "force-spill") || held.saturating_add(bytes) > *most;
            let room = if full || budget.free() < free + bytes { None } else { budget.try_reserve(bytes) };
            let Some(room) = room else { break };
            *held += bytes;
            coming.push((stored, place, room));
        }
        coming.into_par_iter().try_for_each(|(stored, place, room)| {
            *stored = Stored::Memory(Box::new(place.take(layout, spill)?), room);
            Ok(())
        })
    }

    /// The bytes that the pages in the spill would take in memory.
    pub fn spilled_bytes(&self) -> u64 {
        let of_page = |stored: &Stored| match stored {
            Stored::Memory(..) => 0,
            Stored::Disk(place) => {
                footprint(place.codes.length + place.payload.length, self.layout.columns.len())
            }
        };
        self.pages.iter().map(of_page).sum()
    }

    /// Removes a page and returns it; its memory is released.
    pub fn take(&mut self) -> Result<Option<Page>> {
        self.take_unread().map(UnreadPage::read).transpose()
    }

    /// Removes a page of a store that several threads share; they read from disk side by side.
    pub fn take_shared(store: &Mutex<Self>) -> Result<Option<Page>> {
        let (unread, left) = {
            let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
            (store.take_unread(), store.len())
        };
        if left.is_multiple_of(PAGES_BETWEEN_RELEASES) {
            release_freed();
        }
        unread.map(UnreadPage::read).transpose()
    }

    /// Removes a page.
    pub fn take_unread(&mut self) -> Option<UnreadPage<'s>> {
        let stored = self.pages.pop()?;
        if let Stored::Memory(_, room) = &stored {
            self.held -= room.bytes();
        }
        let then = AfterReading::Release;
        Some(UnreadPage { stored, layout: self.layout.clone(), spill: self.spill, then })
    }

    /// A copy of the codes of a page, without what travels with them; `None` if there are fewer pages.
    pub fn copy_unread(&self, page: usize) -> Option<UnreadPage<'s>> {
        let stored = match self.pages.get(page)? {
            // Not reserved: it takes the place of a page that is read.
            Stored::Memory(page, room) => {
                let copy = Page { rows: page.rows.clone(), payload: Travelling::default() };
                Stored::Memory(Box::new(copy), room.none())
            }
            Stored::Disk(place) => Stored::Disk(PagePlace { payload: Extent::EMPTY, ..*place }),
        };
        let then = AfterReading::Keep;
        Some(UnreadPage { stored, layout: self.layout.clone(), spill: self.spill, then })
    }

    /// The codes of a page; the scratch buffer `room`, of the same layout, is overwritten if the page must be read from
    /// disk.
    pub fn load<'a>(&'a self, page: usize, room: &'a mut Rows) -> Result<&'a Rows> {
        match &self.pages[page] {
            Stored::Memory(page, _) => Ok(&page.rows),
            Stored::Disk(PagePlace { codes, rows, values, .. }) => {
                room.clear();
                read(room, self.spill, *codes, *rows, *values)?;
                Ok(room)
            }
        }
    }

    /// The payload of the rows of a page; the scratch buffer `room` is overwritten if it must be read from disk.
    pub fn load_payload<'a>(&'a self, page: usize, room: &'a mut Travelling) -> Result<&'a Travelling> {
        match &self.pages[page] {
            Stored::Memory(page, _) => Ok(&page.payload),
            Stored::Disk(PagePlace { rows, payload, .. }) => {
                read_payload(room, self.spill, *payload, *rows)?;
                Ok(room)
            }
        }
    }
}

/// Writes the columns of a page one after the other, followed by its payload.
fn write(page: &Page, spill: &Spill) -> Result<Stored> {
    let Page { rows, payload } = page;
    let mut bytes = Vec::with_capacity(rows_bytes(rows) as usize);
    rows.columns.iter().for_each(|codes| bytes.extend_from_slice(codes.bytes()));
    let values = match &rows.sensitive {
        Sensitive::Single(codes) => {
            bytes.extend_from_slice(codes.bytes());
            0
        }
        Sensitive::Lists { lists, offsets, values } => {
            bytes.extend_from_slice(bytemuck::cast_slice(lists));
            bytes.extend_from_slice(bytemuck::cast_slice(offsets));
            bytes.extend_from_slice(bytemuck::cast_slice(values));
            values.len()
        }
    };
    let codes = spill.append(&bytes)?;
    bytes.clear();
    bytes.extend_from_slice(bytemuck::cast_slice(&payload.lengths));
    bytes.extend_from_slice(&payload.bytes);
    let payload = spill.append(&bytes)?;
    Ok(Stored::Disk(PagePlace { codes, rows: rows.len(), values, payload }))
}

fn read_payload(payload: &mut Travelling, spill: &Spill, at: Extent, rows: usize) -> Result<()> {
    payload.lengths.resize(rows, 0);
    let lengths: &mut [u8] = bytemuck::cast_slice_mut(&mut payload.lengths);
    spill.read(at, 0, lengths)?;
    let start = lengths.len();
    payload.bytes.resize(at.length as usize - start, 0);
    spill.read(at, start as u64, &mut payload.bytes)
}

fn read(page: &mut Rows, spill: &Spill, codes: Extent, rows: usize, list_values: usize) -> Result<()> {
    let mut from = 0;
    let mut fill = |bytes: &mut [u8]| {
        spill.read(codes, from, bytes)?;
        from += bytes.len() as u64;
        Ok(())
    };
    for codes in &mut page.columns {
        fill(codes.grow(rows))?;
    }
    match &mut page.sensitive {
        Sensitive::Single(codes) => fill(codes.grow(rows)),
        Sensitive::Lists { lists, offsets, values } => {
            lists.resize(rows, 0);
            offsets.resize(rows + 1, 0);
            values.resize(list_values, 0);
            fill(bytemuck::cast_slice_mut(lists))?;
            fill(bytemuck::cast_slice_mut(offsets))?;
            fill(bytemuck::cast_slice_mut(values))
        }
    }
}
