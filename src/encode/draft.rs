//! The rows of a table, kept while their values are being found, so that one scan is enough.
//!
//! A draft holds numbers in place of codes ([`numbering`](super::numbering)); once the codes are known, each number is
//! replaced by its code. Tables with more values in a column than numbers, with several rows or lists of values per
//! person, with several sensitive columns, or with columns that travel are read twice.
//!
//! Memory: at most half of the budget for pages; one page per thread.

use super::attribute::Attribute;
use super::codes::Codes;
use super::combination::SensitiveColumns;
use super::fingerprint::{Fingerprint, RowHasher};
use super::group_counts::GroupCounts;
use super::numbering::{NULL_NUMBER, NumberedValues, Numbering};
use super::page::{Layout, Lists, Page, PageStore, Travelling};
use super::rows::{Rows, Sensitive};
use super::sensitive::SensitiveCoding;
use super::source::{DecidedCodes, Encoded, Source};
use super::source_columns::{RowsAre, SensitiveSource, SourceBatch, TableValues};
use crate::error::{Error, Result, Setting};
use crate::math::skyline::Values;
use crate::resources::spill::Spill;
use crate::resources::threads::thread_pool;
use std::sync::{Mutex, PoisonError};

/// Rows whose values are numbered.
pub struct Draft<'s> {
    rows: NumberedRows<'s>,
    /// The codes by number, of each quasi-identifier.
    quasi: Vec<Vec<u16>>,
    /// The codes by number, of the sensitive column.
    values: Vec<u16>,
}

/// The rows as they were read.
struct NumberedRows<'s> {
    store: PageStore<'s>,
    fingerprint: Fingerprint,
}

impl Source<'_> {
    /// Runs the first scan and derives the codes from its result. The rows are kept, if they can be.
    pub fn read_values_and_draft<'s>(
        &self,
        hasher: &RowHasher<'_>,
        spill: &'s Spill,
    ) -> Result<(DecidedCodes, Option<Draft<'s>>)> {
        let columns = &self.columns;
        let alone = columns.travelling.is_empty() && columns.person.is_none();
        let single = matches!(columns.sensitive[..], [SensitiveSource { values: Values::Single, .. }]);
        if !(columns.rows == RowsAre::People && single && alone) {
            return Ok((self.read_values()?, None));
        }
        match self.draft(hasher, spill) {
            Ok((values, rows, numberings)) => {
                let values = values.judged(columns.counted())?;
                let codes = self.decide_codes(values, |codings| self.find_combinations(codings))?;
                let draft = rows.map(|rows| Draft::new(rows, &numberings, &codes)).transpose()?;
                Ok((codes, draft))
            }
            // Without the draft there is more memory for the values.
            Err(Error::Input { setting: Some(Setting::Memory), .. }) => Ok((self.read_values()?, None)),
            Err(error) => Err(error),
        }
    }

    /// The values of the table; its rows, if they have numbers; and the numbers of the quasi-identifiers, and then of the
    /// sensitive column.
    fn draft<'s>(
        &self,
        hasher: &RowHasher<'_>,
        spill: &'s Spill,
    ) -> Result<(TableValues, Option<NumberedRows<'s>>, Vec<Numbering>)> {
        let budget = &self.resources.budget;
        let found = self.columns.first_scan(self.table, budget)?.numbered();
        let mut columns = found.most_numbers();
        let values = columns.pop().unwrap_or_default();
        let layout = Layout { columns, values, lists: Lists::One };
        let store = PageStore::new(layout.clone(), budget, spill).within(budget.total() / 2);
        let store = Mutex::new(store);
        let append = |batch: &SourceBatch, page: &mut Page, morsel| {
            if !found.is_numbered() {
                return found.observe(batch, morsel, None);
            }
            // The sensitive column is the last of the judged ones.
            let Rows { columns, sensitive: Sensitive::Single(values) } = &mut page.rows else {
                return found.observe(batch, morsel, None);
            };
            columns.push(std::mem::replace(values, Codes::Narrow(Vec::new())));
            let outcome = found.observe(batch, morsel, Some(columns));
            *values = columns.pop().unwrap_or_else(|| Codes::Narrow(Vec::new()));
            outcome
        };
        let push = |page: Page| match found.is_numbered() {
            true => PageStore::push_shared(&store, page),
            false => {
                store.lock().unwrap_or_else(PoisonError::into_inner).clear();
                Ok(())
            }
        };
        let fingerprint = self.scan_pages(&layout, hasher, append, push)?;
        let numbered = found.is_numbered();
        let (values, numberings) = found.finish_numbered();
        let store = store.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((values, numbered.then_some(NumberedRows { store, fingerprint }), numberings))
    }
}

impl<'s> Draft<'s> {
    /// The numbers are needed no longer once there is a code for each.
    fn new(rows: NumberedRows<'s>, numberings: &[Numbering], codes: &DecidedCodes) -> Result<Self> {
        let (of_sensitive, of_quasi) = numberings.split_last().ok_or_else(unnumbered)?;
        let quasi = codes.attributes.iter().zip(of_quasi);
        Ok(Draft {
            rows,
            quasi: quasi.map(|(own, numbering)| quasi_codes(own, numbering)).collect::<Result<_>>()?,
            values: sensitive_codes(&codes.sensitive.columns()[0], of_sensitive)?,
        })
    }

    /// Moves pages to the spill until this many bytes of the budget are free, or none is left in memory.
    pub fn spill_until_free(&mut self, bytes: u64) -> Result<()> {
        let store = &mut self.rows.store;
        while store.budget().free() < bytes && store.spill_page()? {}
        Ok(())
    }

    /// The rows with their codes.
    pub fn encode(
        self,
        source: &Source<'_>,
        attributes: &[Attribute],
        sensitive: &SensitiveColumns,
        spill: &'s Spill,
    ) -> Result<Encoded<'s>> {
        let layout = source.layout(attributes, sensitive);
        let Draft { rows: NumberedRows { store: drafts, fingerprint }, quasi, values } = self;
        let recode = |draft: Page| {
            let mut rows = layout.empty(draft.rows.len());
            let columns = draft.rows.columns.iter().zip(&quasi).zip(&mut rows.columns);
            columns.for_each(|((numbers, table), codes)| codes.extend_mapped(numbers, table));
            if let (Sensitive::Single(numbers), Sensitive::Single(codes)) =
                (&draft.rows.sensitive, &mut rows.sensitive)
            {
                codes.extend_mapped(numbers, &values);
            }
            Page { rows, payload: Travelling::default() }
        };
        let resources = source.resources;
        let store = Mutex::new(PageStore::new(layout.clone(), &resources.budget, spill));
        let whole = Mutex::new(GroupCounts::none(sensitive.len()));
        resources.progress.start("giving codes", Some(drafts.rows()));
        let drafts = Mutex::new(drafts);
        let work = || -> Result<()> {
            let mut own = GroupCounts::none(sensitive.len());
            while let Some(draft) = PageStore::take_shared(&drafts)? {
                resources.progress.go_on()?;
                let page = recode(draft);
                own.add(&page.rows.total(sensitive.len()));
                resources.progress.advance(page.rows.len() as u64);
                PageStore::push_shared(&store, page)?;
            }
            whole.lock().unwrap_or_else(PoisonError::into_inner).add(&own);
            Ok(())
        };
        let outcome = thread_pool(resources.threads)?.broadcast(|_| work());
        resources.progress.finish();
        outcome.into_iter().collect::<Result<()>>()?;
        Ok(Encoded {
            store: store.into_inner().unwrap_or_else(PoisonError::into_inner),
            whole: whole.into_inner().unwrap_or_else(PoisonError::into_inner),
            fingerprint,
        })
    }
}

/// The code of each number of a quasi-identifier.
fn quasi_codes(attribute: &Attribute, numbering: &Numbering) -> Result<Vec<u16>> {
    let code = |code: Option<u32>| code.map(|code| attribute.shifted(code) as u16);
    match numbering.values() {
        NumberedValues::Keys(_, numbers) => {
            let codes =
                numbers.iter().map(|(&key, &number)| (number, code(attribute.coding.number_code(key))));
            table(&attribute.name, numbers.len(), attribute.nulls.then_some(0), codes)
        }
        NumberedValues::Texts(numbers) => {
            let codes =
                numbers.iter().map(|(text, &number)| (number, code(attribute.coding.text_code(text))));
            table(&attribute.name, numbers.len(), attribute.nulls.then_some(0), codes)
        }
    }
}

/// The code of each number of a sensitive column.
fn sensitive_codes(coding: &SensitiveCoding, numbering: &Numbering) -> Result<Vec<u16>> {
    match numbering.values() {
        NumberedValues::Keys(scale, numbers) => {
            // A meaning of null that is no number makes texts of all numbers.
            let code = |key: i64| coding.number_code(key).or_else(|| coding.code_of_text(&scale.text(key)));
            let codes = numbers.iter().map(|(&key, &number)| (number, code(key)));
            table(&coding.name, numbers.len(), coding.null, codes)
        }
        NumberedValues::Texts(numbers) => {
            let codes = numbers.iter().map(|(text, &number)| (number, coding.code_of_text(text)));
            table(&coding.name, numbers.len(), coding.null, codes)
        }
    }
}

/// Codes by number. A number without a code is a defect, which is reported as a column that changed. Where null occurs it
/// has a code: the first scan counts nulls, and those without a meaning are refused before there are codes.
fn table(
    name: &str,
    numbers: usize,
    null: Option<u16>,
    codes: impl Iterator<Item = (u16, Option<u16>)>,
) -> Result<Vec<u16>> {
    let mut table = vec![0; numbers + 1];
    table[usize::from(NULL_NUMBER)] = null.unwrap_or(0);
    for (number, code) in codes {
        table[usize::from(number)] = code.ok_or_else(|| Error::changed(name))?;
    }
    Ok(table)
}

fn unnumbered() -> Error {
    Error::input("the rows of the table have no numbers", "this is a defect; please report it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::fingerprint::FingerprintKey;
    use crate::encode::source_columns::{SensitiveSource, SourceColumns};
    use crate::policy::{End, Quasi};
    use crate::resources::Resources;
    use crate::resources::budget::Budget;
    use crate::resources::progress::Progress;
    use crate::table::read::{CsvType, ReadOptions, Table};
    use proptest::prelude::*;

    type Row = (i64, Option<u8>, Option<i32>, Option<u8>);

    /// The rows of all pages, in ascending order.
    fn rows_of(encoded: &mut Encoded<'_>) -> Vec<Vec<u16>> {
        let mut rows = Vec::new();
        while let Some(page) = encoded.store.take().unwrap() {
            let Sensitive::Single(values) = &page.rows.sensitive else { panic!("a single value") };
            let columns = || page.rows.columns.iter().chain([values]);
            rows.extend((0..page.rows.len()).map(|row| columns().map(|codes| codes.get(row)).collect()));
        }
        rows.sort();
        rows
    }

    /// The codes of a table by one scan, if it is enough, and by two.
    fn both(table: &Table, domain: [i64; 2], memory: u64) -> (Option<Vec<Vec<u16>>>, Vec<Vec<u16>>) {
        let end = |number: i64| End { text: number.to_string(), number: None };
        let quasi = ["age", "zip", "weight"]
            .map(|name| Quasi { domain: (name == "age").then(|| domain.map(end)), ..Quasi::plain(name) });
        let sensitive = SensitiveSource { name: "illness", null_is: Some("none"), values: Values::Single };
        let columns = SourceColumns::of_people(quasi.iter().collect(), sensitive);
        let progress = Progress::default();
        let resources = &Resources { threads: 2, ..Resources::new(Budget::new(memory), &progress) };
        let source = Source { table, columns, resources };
        let (key, spill) = (FingerprintKey::from_bytes(&[7; 32]).unwrap(), resources.new_spill().unwrap());
        let hasher = source.hasher(&key);
        let (codes, draft) = source.read_values_and_draft(&hasher, &spill).unwrap();
        let DecidedCodes { mut attributes, sensitive, .. } = codes;
        let once = draft.map(|mut draft| {
            draft.spill_until_free(memory / 4 * 3).unwrap();
            draft.encode(&source, &attributes, &sensitive, &spill).unwrap()
        });
        let again = source.read_values().unwrap();
        assert_eq!(format!("{:?}", again.attributes), format!("{attributes:?}"));
        let mut twice = source.read_rows(&mut attributes, &sensitive, None, &hasher, &spill).unwrap();
        let once = once.map(|mut once| {
            assert_eq!((&once.whole, once.fingerprint), (&twice.whole, twice.fingerprint));
            rows_of(&mut once)
        });
        (once, rows_of(&mut twice))
    }

    fn table(folder: &tempfile::TempDir, text: &str) -> Table {
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        let types = [("age", CsvType::Integer), ("zip", CsvType::Text), ("weight", CsvType::Float)];
        let types = types.map(|(name, kind)| (name.to_string(), kind)).into();
        Table::open(&[path], &ReadOptions { types, ..ReadOptions::default() }).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn one_scan_gives_the_codes_of_two(
            rows in prop::collection::vec(
                (18i64..91, prop::option::of(0u8..9), prop::option::of(any::<i32>()), prop::option::of(0u8..5)), 1..200,
            ),
            numbers in any::<bool>(),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let write = |(age, zip, weight, illness): &Row| {
                let zip = zip.map_or(String::new(), |zip| format!("z{zip}"));
                let weight = weight.map_or(String::new(), |weight| format!("{}", f64::from(weight) / 8.0));
                let prefix = if numbers { "" } else { "i" };
                let illness = illness.map_or(String::new(), |illness| format!("{prefix}{illness}"));
                format!("{age},{zip},{weight},{illness}\n")
            };
            let text: String = rows.iter().map(write).collect();
            let table = table(&folder, &format!("age,zip,weight,illness\n{text}"));
            let (once, twice) = both(&table, [18, 90], 1 << 24);
            prop_assert_eq!(once, Some(twice));
        }
    }

    #[test]
    fn a_column_with_more_values_than_numbers_takes_two_scans() {
        let folder = tempfile::tempdir().unwrap();
        let text: String = (0..70_000).map(|row| format!("{},z{row},1,i{}\n", row % 70, row % 3)).collect();
        let table = table(&folder, &format!("age,zip,weight,illness\n{text}"));
        let (once, twice) = both(&table, [0, 100], 1 << 26);
        assert_eq!((once, twice.len()), (None, 70_000));
    }
}
