//! Where are the rows of a part?

use super::elsewhere::HeldRows;
use crate::encode::page::{Layout, PageStore, Travelling};
use crate::encode::rows::Rows;
use crate::error::Result;

/// The rows of a table, or of a part of it.
pub enum PartRows<'s> {
    /// Pages in the memory and the spill of this process.
    Here(PageStore<'s>),
    /// With the tasks of an engine.
    Elsewhere(HeldRows<'s>),
}

impl<'s> PartRows<'s> {
    /// The layout of a page.
    pub fn layout(&self) -> &Layout {
        match self {
            PartRows::Here(store) => store.layout(),
            PartRows::Elsewhere(rows) => rows.layout(),
        }
    }

    /// The pages, if they are here.
    pub fn here(&self) -> Option<&PageStore<'s>> {
        match self {
            PartRows::Here(store) => Some(store),
            PartRows::Elsewhere(_) => None,
        }
    }

    /// Passes the codes of every page to `each`, with what travels with them.
    pub fn each_page(&self, mut each: impl FnMut(&Rows, &Travelling) -> Result<()>) -> Result<()> {
        let store = match self {
            PartRows::Here(store) => store,
            PartRows::Elsewhere(rows) => return rows.fetch(|page| each(&page.rows, &page.payload)),
        };
        let mut room = (store.layout().empty(0), Travelling::default());
        for page in 0..store.len() {
            each(store.load(page, &mut room.0)?, store.load_payload(page, &mut room.1)?)?;
        }
        Ok(())
    }

    /// Moves a page from memory to the spill; returns whether there was one.
    pub(super) fn spill_page(&mut self) -> Result<bool> {
        match self {
            PartRows::Here(store) => store.spill_page(),
            PartRows::Elsewhere(_) => Ok(false),
        }
    }

    /// Moves pages from the spill to memory, as long as this many bytes of the budget stay free.
    pub(super) fn read_back(&mut self, free: u64) -> Result<()> {
        match self {
            PartRows::Here(store) => store.read_back(free),
            PartRows::Elsewhere(_) => Ok(()),
        }
    }

    /// The bytes that the pages in the spill would take in memory.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.here().map_or(0, PageStore::spilled_bytes)
    }

    /// Removes all rows; an engine forgets them when nobody needs any that were sorted with them.
    pub(super) fn clear(&mut self) {
        if let PartRows::Here(store) = self {
            store.clear();
        }
    }
}
