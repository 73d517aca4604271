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

    /// Removes all rows; an engine forgets them when nobody needs any that were sorted with them.
    pub(super) fn clear(&mut self) {
        if let PartRows::Here(store) = self {
            store.clear();
        }
    }

    /// How many nodes are grown at once, where this process has so many threads.
    pub(super) fn grown_at_once(&self, threads: usize) -> usize {
        match self {
            PartRows::Here(_) => threads,
            PartRows::Elsewhere(rows) => rows.tasks_at_once(),
        }
    }
}
