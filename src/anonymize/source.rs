//! What does the table hold? The two scans of the source.

use super::{Job, prepare};
use crate::encode::attribute::Attribute;
use crate::encode::collect::Collector;
use crate::encode::encoder::{Encoder, Fingerprint};
use crate::encode::page::{Layout, Page, PageStore};
use crate::encode::sensitive::SensitiveCoding;
use crate::error::{Error, Result};
use crate::memory::Budget;
use crate::plan::criterion::Part;
use crate::policy::{Quasi, Role, Style};
use crate::publish::payload::Payload;
use crate::read::{Column, Morsel};
use crate::skyline::Values;
use crate::spill::Spill;
use arrow::array::Array;
use arrow::datatypes::Field;
use std::sync::{Arc, Mutex, PoisonError};

/// The columns of a table by their role, in the order of the table.
pub struct Source<'a> {
    job: &'a Job<'a>,
    values: Values,
    quasi: Vec<(usize, &'a Quasi)>,
    sensitive: usize,
    /// Columns that travel: those kept, and for a bucketized release the quasi-identifiers too.
    travelling: Vec<usize>,
}

/// The rows as codes.
pub struct Encoded<'s> {
    /// The pages.
    pub store: PageStore<'s>,
    /// All rows counted together.
    pub whole: Part,
    /// What was read.
    pub fingerprint: Fingerprint,
}

impl<'a> Source<'a> {
    /// Binds the columns of the table to their roles.
    pub fn new(job: &'a Job<'a>, values: Values) -> Result<Self> {
        let names: Vec<&str> =
            job.table.schema().fields().iter().map(|field| field.name().as_str()).collect();
        let roles = job.policy.bind(&names)?;
        let (mut quasi, mut sensitive, mut travelling) = (vec![], None, vec![]);
        for (i, role) in roles.iter().enumerate() {
            match role {
                Role::Quasi(at) => quasi.push((i, &job.policy.columns.quasi[*at])),
                Role::Sensitive(_) => sensitive = Some(i),
                Role::Keep => travelling.push(i),
                Role::Drop => {}
                Role::Individual | Role::Count => {
                    return Err(Error::input(
                        format!("column {:?}: anonymize takes one row per person", names[i]),
                        "group the rows by person first, with their values in a list column",
                    ));
                }
            }
            if matches!(role, Role::Quasi(_)) && job.policy.publish.style == Style::Bucketized {
                travelling.push(i);
            }
        }
        let sensitive = sensitive.ok_or_else(|| {
            Error::input("the policy names no sensitive column", "name one in columns.sensitive")
        })?;
        if quasi.is_empty() {
            return Err(Error::input(
                "the policy names no quasi-identifier",
                "name what an adversary may know of a person in columns.quasi",
            ));
        }
        Ok(Source { job, values, quasi, sensitive, travelling })
    }

    /// The quasi-identifiers as the policy describes them.
    pub fn quasi(&self) -> impl Iterator<Item = &'a Quasi> {
        self.quasi.iter().map(|&(_, quasi)| quasi)
    }

    /// How the columns that travel do so; `None` if there are none.
    pub fn payload(&self) -> Result<Option<Payload>> {
        let fields: Vec<&Field> = self.travelling.iter().map(|&i| self.job.table.schema().field(i)).collect();
        if fields.is_empty() { Ok(None) } else { Payload::new(&fields).map(Some) }
    }

    fn name(&self, column: usize) -> &'a str {
        self.job.table.schema().field(column).name()
    }

    /// The quasi-identifiers, the sensitive column, and then those that travel.
    fn columns(&self) -> Vec<Column> {
        let quasi = self.quasi.iter().map(|&(i, _)| i);
        quasi.chain([self.sensitive]).map(|i| Column::canonical(self.name(i))).collect()
    }

    /// The first scan: which values are there?
    pub fn read_values(&self) -> Result<(Vec<Attribute>, SensitiveCoding)> {
        let (table, progress) = (self.job.table, self.job.progress);
        let mut collectors: Vec<Collector<'_>> = Vec::new();
        for &(i, quasi) in &self.quasi {
            collectors.push(prepare::collector(quasi, &table.kind(self.name(i))?));
        }
        let name = self.name(self.sensitive);
        let kind = table.kind(name)?;
        prepare::expect_values(name, &kind, self.values)?;
        collectors.push(Collector::new(name, &kind, None));
        progress.start("reading values", table.rows());
        let work = |morsel: Morsel<'_>| {
            // Workers begin at different columns, so that they seldom wait for each other.
            let first = morsel.index() as usize;
            let mut rows = 0;
            for batch in morsel {
                let batch = batch?;
                for i in 0..collectors.len() {
                    let column = (first + i) % collectors.len();
                    collectors[column].observe(batch.column(column))?;
                }
                rows += batch.num_rows() as u64;
                progress.advance(batch.num_rows() as u64);
            }
            Ok(rows)
        };
        let mut rows = 0;
        table.scan(&self.columns(), self.job.threads, work, |part| {
            rows += part;
            Ok(())
        })?;
        if rows == 0 {
            return Err(Error::input(
                "the table has no rows",
                "there is nothing to publish; check the input",
            ));
        }
        let mut collected: Vec<_> = collectors.into_iter().map(Collector::finish).collect();
        let found = collected.pop().ok_or_else(|| Error::input("no column was read", "check the policy"))?;
        let meaning = self.job.policy.columns.sensitive(name).and_then(|stated| stated.null_is.as_deref());
        if self.values == Values::Single && found.nulls > 0 && meaning.is_none() {
            return Err(Error::input(
                format!("the sensitive column {name:?} is null in {} rows", found.nulls),
                "say what that means with columns.null_is = \"a value name\"",
            ));
        }
        let sensitive = SensitiveCoding::new(name, &kind, found, meaning)?;
        let attributes = self.quasi().zip(collected).map(|(quasi, found)| prepare::attribute(quasi, found));
        Ok((attributes.collect::<Result<_>>()?, sensitive))
    }

    /// What a page of codes looks like.
    pub fn layout(&self, attributes: &[Attribute], sensitive: &SensitiveCoding) -> Layout {
        Layout {
            columns: attributes.iter().map(Attribute::codes).collect(),
            values: sensitive.len() as u32,
            lists: Encoder::lists(self.values),
        }
    }

    /// The second scan: the rows as pages of codes.
    pub fn read_rows<'s>(
        &self,
        layout: &Layout,
        attributes: &[Attribute],
        sensitive: &SensitiveCoding,
        payload: Option<&Payload>,
        budget: &Arc<Budget>,
        spill: &'s Spill,
    ) -> Result<Encoded<'s>> {
        let encoder = Encoder::new(attributes, sensitive, self.values, budget);
        let store = Mutex::new(PageStore::new(layout.clone(), budget, spill));
        // Pages that a morsel left half full wait here for the next one.
        let open: Mutex<Vec<Page>> = Mutex::default();
        let distinct = sensitive.len();
        let progress = self.job.progress;
        progress.start("reading rows", self.job.table.rows());
        let work = |morsel: Morsel<'_>| {
            let waiting = open.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut page = waiting.unwrap_or_else(|| Page::empty(layout));
            let mut fingerprint = Fingerprint::default();
            let mut whole = Part { people: 0, counts: vec![0; distinct] };
            for batch in morsel {
                let batch = batch?;
                let (quasi, rest) = batch.columns().split_at(attributes.len());
                fingerprint.merge(encoder.append(quasi, &rest[0], &mut page.rows)?);
                if let Some(payload) = payload {
                    payload.append(&rest[1..], &mut page.payload.lengths, &mut page.payload.bytes)?;
                }
                progress.advance(rest[0].len() as u64);
                if page.is_full() {
                    whole.add(&page.rows.total(distinct));
                    PageStore::push_shared(&store, std::mem::replace(&mut page, Page::empty(layout)))?;
                }
            }
            open.lock().unwrap_or_else(PoisonError::into_inner).push(page);
            Ok((whole, fingerprint))
        };
        let mut whole = Part { people: 0, counts: vec![0; distinct] };
        let mut fingerprint = Fingerprint::default();
        let mut columns = self.columns();
        columns.extend(self.travelling.iter().map(|&i| Column::as_is(self.name(i))));
        self.job.table.scan(&columns, self.job.threads, work, |(part, of_part)| {
            whole.add(&part);
            fingerprint.merge(of_part);
            Ok(())
        })?;
        for page in open.into_inner().unwrap_or_else(PoisonError::into_inner) {
            whole.add(&page.rows.total(distinct));
            PageStore::push_shared(&store, page)?;
        }
        let store = store.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Encoded { store, whole, fingerprint })
    }
}
