//! Which rows were left out?
//!
//! A private file next to the release, never inside it: the row numbers of the input, counted from 1 in the
//! order in which its files were given, and nothing else.
//!
//! Memory: a sorter's share of the budget.

use std::io::{BufWriter, Write};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::model::Policy;
use crate::model::robust::already_known::AlreadyKnown;
use crate::model::suppression::SuppressedShare;
use crate::release::private_file::PrivateFile;
use crate::resources::budget::Budget;
use crate::resources::sorter::Sorter;
use crate::resources::spill::Spill;

/// Fails unless the policy allows so many of the people to be left out; `remedy` lets more of them into groups.
pub(super) fn expect_allowed(policy: &Policy, left_out: u64, people: u64, remedy: &str) -> Result<()> {
    let share = &policy.privacy.suppress;
    if share.allows(left_out, people) {
        return Ok(());
    }
    let allowed = match share.allows_some() {
        true => format!("at most {} may be left out", share.in_words()),
        false => "nobody may be left out".to_string(),
    };
    Err(Error::input(
        format!("{left_out} of {people} people fit in no safe group, and by the policy {allowed}"),
        format!(
            "{remedy}; or allow it: suppress = \"{}\" below [privacy]; who is left out is chosen by their values, \
             and what that tells is not covered",
            SuppressedShare::needed(left_out, people)
        ),
    ))
}

/// The rows that are left out, while they are being found.
pub(super) struct Suppressed<'s> {
    rows: Sorter<'s>,
    count: u64,
}

impl<'s> Suppressed<'s> {
    pub(super) fn new(budget: &Arc<Budget>, spill: &'s Spill) -> Result<Self> {
        Ok(Suppressed { rows: Sorter::new(budget, spill)?, count: 0 })
    }

    /// Adds a row, counted from 0.
    pub(super) fn push(&mut self, row: u64) -> Result<()> {
        self.count += 1;
        self.rows.push(&[&row.to_be_bytes()])
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Writes the rows to `list`, in ascending order.
    pub(super) fn write(self, mut list: PrivateFile) -> Result<SuppressedList> {
        let path = list.path().to_path_buf();
        let io = |source| Error::io(&path, source);
        let mut out = BufWriter::new(list.create()?);
        out.write_all(b"row\n").map_err(io)?;
        self.rows.finish(|record| {
            let row = record.iter().fold(0u64, |row, &byte| row << 8 | u64::from(byte));
            writeln!(out, "{}", row + 1).map_err(io)
        })?;
        out.flush().map_err(io)?;
        drop(out);
        Ok(SuppressedList { rows: self.count, file: list, already_known: None })
    }
}

/// The finished list.
pub(super) struct SuppressedList {
    /// How many rows it has.
    pub rows: u64,
    pub file: PrivateFile,
    /// What distributions give away about all people.
    pub already_known: Option<AlreadyKnown>,
}
